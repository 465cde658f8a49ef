//! Programs that git runs: those that the command names, and hooks that can be read.

use super::Kind;
use super::engine::Engine;
use super::git::Global;
use super::gitask::Repo;
use super::gitwords::moves;
use super::options::Call;
use super::picture::join;
use super::state::{Shell, Value};

/// Sub-commands that reach for another repository.
pub(super) const REACHES: &[&str] =
    &["fetch", "pull", "push", "clone", "ls-remote", "archive", "fetch-pack", "send-pack", "remote", "submodule"];

/// Settings and variables with a program that is run on the way there.
const REACHED_BY: &[&str] = &[
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_PROXY_COMMAND",
    "GIT_ASKPASS",
    "core.sshcommand",
    "core.gitproxy",
    "core.askpass",
    "uploadpack.packobjectshook",
    "core.alternaterefscommand",
];

/// Ends of the settings of a remote with a program that is run at the far end, which may be this machine.
const FAR_ENDS: &[&str] = &[".uploadpack", ".receivepack"];

impl Engine<'_> {
    /// Programs that the command itself names for git to run.
    pub(super) fn git_programs(&mut self, sh: &mut Shell, g: &Global, verb: &str, c: &Call) {
        let set = |sh: &Shell, n: &str| match sh.vars.get(n) {
            Some(v) if v.exported => match &v.value {
                Value::Text(t) if !t.is_empty() => Some(t.clone()),
                _ => None,
            },
            _ => None,
        };
        let conf = |n: &str| g.config.iter().rev().find(|(k, _)| k == n).map(|(_, v)| v.clone());
        let mut run: Vec<String> = Vec::new();
        let diffs = matches!(
            verb,
            "diff"
                | "show"
                | "log"
                | "stash"
                | "format-patch"
                | "diff-tree"
                | "diff-files"
                | "diff-index"
                | "blame"
                | "annotate"
                | "grep"
                | "cat-file"
                | "whatchanged"
                | "range-diff"
                | "reflog"
                | "request-pull"
        );
        if matches!(verb, "diff" | "diff-tree" | "diff-files" | "diff-index") || diffs && c.has(&["--ext-diff"]) {
            run.extend(set(sh, "GIT_EXTERNAL_DIFF"));
            run.extend(conf("diff.external"));
        }
        if diffs {
            run.extend(
                g.config
                    .iter()
                    .filter(|(k, _)| k.starts_with("diff.") && (k.ends_with(".textconv") || k.ends_with(".command")))
                    .map(|(_, v)| v.clone()),
            );
        }
        run.extend(self.git_editors(sh, g, verb, c));
        run.extend(self.git_set_programs(sh, g, verb, c));
        if REACHES.contains(&verb) {
            run.extend(REACHED_BY.iter().filter_map(|name| if name.starts_with("GIT_") { set(sh, name) } else { conf(name) }));
            let ends = |key: &str| key.starts_with("remote.") && FAR_ENDS.iter().any(|end| key.ends_with(end));
            run.extend(g.config.iter().filter(|(key, _)| ends(key)).map(|(_, value)| value.clone()));
            if verb != "clone" {
                run.extend(self.far_ends(sh, g));
            }
            if g.config.iter().any(|(key, _)| key.starts_with("remote.") && key.ends_with(".vcs")) {
                self.unknown("a program that git is told to reach a repository by", verb);
            }
            run.extend(c.value(&["-u", "--upload-pack", "--receive-pack", "--exec"]).map(str::to_owned));
        }
        run.extend(
            g.config
                .iter()
                .filter(|(k, _)| k.starts_with("filter.") && (k.ends_with(".clean") || k.ends_with(".smudge") || k.ends_with(".process")))
                .map(|(_, v)| v.clone()),
        );
        run.extend(g.config.iter().filter(|(k, _)| k.starts_with("merge.") && k.ends_with(".driver")).map(|(_, v)| v.clone()));
        if verb == "credential"
            || matches!(verb, "fetch" | "pull" | "push" | "clone" | "ls-remote") && c.args.iter().any(|a| a.contains("http"))
        {
            let helpers = g.config.iter().filter(|(k, _)| k.starts_with("credential.") && k.ends_with("helper"));
            let asked = match c.args.first().map(String::as_str).filter(|_| verb == "credential") {
                Some("approve") => "store",
                Some("reject") => "erase",
                _ => "get",
            };
            // a bare name is a program of git's own
            run.extend(helpers.filter(|(_, v)| !v.is_empty()).map(|(_, v)| match v.strip_prefix('!') {
                Some(script) => script.to_owned(),
                None if v.starts_with('/') => format!("{v} {asked}"),
                None => format!("git credential-{v} {asked}"),
            }));
        }
        for t in run {
            let mut child = self.child(sh, true);
            // `clone` stays where it is, even in the work tree of another repository
            if let Some(r) = self.repo(sh, &g.dir, g.git_dir.clone(), g.work_tree.clone())
                && !r.top.is_empty()
                && verb != "clone"
            {
                child.cwd = r.top;
            }
            self.script(&mut child, &t);
            self.end(&mut child);
        }
    }

    /// Programs at the far end that the repository's own settings name.
    fn far_ends(&mut self, sh: &Shell, g: &Global) -> Vec<String> {
        let Some(r) = self.repo(sh, &g.dir, g.git_dir.clone(), g.work_tree.clone()) else { return Vec::new() };
        let all = self.names(&r, &["config", "-z", "--get-regexp", "^remote\\..*\\.(uploadpack|receivepack)$"]);
        all.unwrap_or_default().iter().filter_map(|entry| entry.split_once('\n')).map(|(_, value)| value.to_owned()).collect()
    }

    /// What runs when a clone is there: programs that its settings name, and the hooks that its template brings.
    pub(super) fn cloned(&mut self, sh: &mut Shell, c: &Call, g: &Global, dir: &str) {
        let own = c.values(&["-c", "--config"]);
        let own =
            own.iter().map(|pair| pair.split_once('=').unwrap_or((pair, "true"))).map(|(k, v)| (super::gitsettings::key(k), v.to_owned()));
        let settings: Vec<(String, String)> = g.config.iter().cloned().chain(own).collect();
        let last = |name: &str| settings.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        let mut here = self.child(sh, true);
        here.cwd = dir.to_owned();
        for (key, value) in &settings {
            let program = key.starts_with("filter.") && (key.ends_with(".smudge") || key.ends_with(".process")) || key == "core.fsmonitor";
            let far = key.starts_with("remote.") && key.ends_with(".uploadpack") || key == "core.sshcommand";
            if program && value != "true" && value != "false" {
                self.script(&mut here.clone(), value);
            } else if far && c.values(&["-c", "--config"]).iter().any(|pair| pair.ends_with(value.as_str())) {
                let mut sub = self.child(sh, true);
                self.script(&mut sub, value);
            }
        }
        let templates = c.value(&["--template"]).map(str::to_owned).or_else(|| {
            let own = sh.vars.get("GIT_TEMPLATE_DIR").is_some_and(|var| var.exported);
            own.then(|| self.var(sh, "GIT_TEMPLATE_DIR")).flatten()
        });
        let templates = templates.or_else(|| last("init.templatedir")).map(|from| self.full(sh, &from));
        let hooks = last("core.hookspath").map(|from| join(dir, &from)).or_else(|| templates.map(|from| join(&from, "hooks")));
        let Some(hooks) = hooks else { return };
        for name in ["post-checkout", "reference-transaction", "post-index-change"] {
            self.hook(&here, &join(&hooks, name));
        }
    }

    /// A hook that is run by its name.
    pub(super) fn git_hook(&mut self, sh: &Shell, g: &Global, r: &Repo, name: &str) {
        let set = g.config.iter().rev().find(|(key, _)| key == "core.hookspath");
        let dir = set.map_or_else(|| join(&r.git_dir, "hooks"), |(_, dir)| join(&r.top, dir));
        let mut sub = sh.clone();
        sub.cwd.clone_from(&r.top);
        self.hook(&sub, &join(&dir, name));
    }

    /// Runs a hook where there is one.
    fn hook(&mut self, sh: &Shell, file: &str) {
        let at = self.fs.at(file, true);
        let runs = self.fs.made(&at.path) || self.fs.meta(&at.path).is_some_and(|m| m.mode & 0o111 != 0);
        if at.kind == Some(Kind::File) && runs {
            self.call(&mut sh.clone(), vec![at.path], false);
        }
    }

    /// Hooks of the repository that can be read as scripts.
    pub(super) fn hooks(&mut self, sh: &mut Shell, g: &Global, r: &Repo, verb: &str, c: &Call) {
        let mut names: Vec<&str> = match verb {
            "commit" => vec!["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"],
            "checkout" | "switch" => vec!["post-checkout"],
            "worktree" if c.args.first().is_some_and(|a| a == "add") => vec!["post-checkout"],
            "merge" => vec!["post-merge", "pre-merge-commit", "prepare-commit-msg", "commit-msg"],
            "pull" => vec!["post-merge", "pre-merge-commit"],
            "cherry-pick" | "revert" => vec!["prepare-commit-msg", "commit-msg", "post-commit"],
            "rebase" => vec!["pre-rebase", "post-rewrite", "post-checkout"],
            "push" => vec!["pre-push"],
            "am" => vec!["applypatch-msg", "pre-applypatch", "post-applypatch"],
            "gc" => vec!["pre-auto-gc"],
            "send-email" => vec!["sendemail-validate"],
            _ => Vec::new(),
        };
        let names_ref = matches!(verb, "branch" | "tag" | "update-ref" | "symbolic-ref") && !c.args.is_empty();
        if moves(verb, c) || names_ref || matches!(verb, "push" | "worktree" | "clone") {
            names.push("reference-transaction");
        }
        if moves(verb, c) || matches!(verb, "add" | "stage") {
            names.push("post-index-change");
        }
        if names.is_empty() {
            return;
        }
        let dir =
            g.config.iter().rev().find(|(k, _)| k == "core.hookspath").map_or_else(|| join(&r.git_dir, "hooks"), |(_, v)| join(&r.top, v));
        for n in names {
            let mut sub = sh.clone();
            sub.cwd.clone_from(&r.top);
            self.hook(&sub, &join(&dir, n));
        }
    }
}
