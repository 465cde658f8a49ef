//! Programs that git runs: those that the command names, and hooks that can be read.

use super::Kind;
use super::engine::Engine;
use super::git::Global;
use super::gitask::Repo;
use super::gitwords::moves;
use super::options::Call;
use super::picture::join;
use super::state::{Shell, Value};

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
        let diffs =
            matches!(verb, "diff" | "show" | "log" | "stash" | "format-patch" | "diff-tree" | "diff-files" | "diff-index" | "blame");
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
        let edits = match verb {
            "commit" => !c.has(&["-m", "-F", "--no-edit", "-C", "--message", "--file", "--dry-run"]) || c.has(&["-e", "--edit"]),
            "tag" => c.has(&["-a", "-s", "--annotate"]) && !c.has(&["-m", "-F", "--message"]),
            "merge" | "revert" => !c.has(&["--no-edit"]) && set(sh, "GIT_EDITOR").is_some(),
            "rebase" => {
                c.has(&["-i", "--interactive"]) && {
                    let r = self.repo(sh, &g.dir, g.git_dir.clone(), g.work_tree.clone());
                    c.has(&["--autostash"]) || r.is_none_or(|r| self.dirty(&r).is_empty())
                }
            }
            "branch" => c.has(&["--edit-description"]),
            "notes" => c.args.first().is_some_and(|a| a == "edit" || a == "add"),
            "config" => c.has(&["-e", "--edit"]),
            _ => false,
        };
        if edits {
            let msg = format!("{}/.git/COMMIT_EDITMSG", g.dir);
            let e = if verb == "rebase" { set(sh, "GIT_SEQUENCE_EDITOR").or_else(|| conf("sequence.editor")) } else { None };
            // one that was there before the command comes before what the command sets
            let inherited = self.var(sh, "GIT_EDITOR").is_some();
            let e = e.or_else(|| set(sh, "GIT_EDITOR")).or_else(|| {
                let others = || conf("core.editor").or_else(|| set(sh, "VISUAL")).or_else(|| set(sh, "EDITOR"));
                if inherited { None } else { others() }
            });
            run.extend(e.map(|e| format!("{e} {msg}")));
        }
        if matches!(verb, "fetch" | "pull" | "push" | "clone" | "ls-remote" | "archive") {
            let words: Vec<&String> = c.args.iter().collect();
            if words.iter().any(|w| w.contains("ssh:") || w.contains('@')) {
                run.extend(set(sh, "GIT_SSH_COMMAND"));
                run.extend(set(sh, "GIT_SSH"));
                run.extend(conf("core.sshcommand"));
            }
            run.extend(c.value(&["-u", "--upload-pack", "--receive-pack", "--exec"]).map(str::to_owned));
            for w in words {
                if let Some(e) = w.strip_prefix("ext::") {
                    run.push(e.replace("% ", "\\ ").replace('%', ""));
                }
            }
        }
        if matches!(verb, "status" | "diff" | "add" | "commit" | "checkout" | "stash" | "switch" | "restore") {
            run.extend(conf("core.fsmonitor").filter(|v| v != "true" && v != "false" && !v.is_empty()));
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
        run.extend(conf("gpg.program").filter(|_| c.has(&["-S", "--gpg-sign", "-s"])));
        if verb == "difftool" || verb == "grep" {
            run.extend(c.value(&["-x", "--extcmd", "-O", "--open-files-in-pager"]).map(str::to_owned));
        }
        for t in run {
            let mut child = self.child(sh, true);
            if let Some(r) = self.repo(sh, &g.dir, g.git_dir.clone(), g.work_tree.clone())
                && !r.top.is_empty()
            {
                child.cwd = r.top;
            }
            self.script(&mut child, &t);
            self.end(&mut child);
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
            let p = join(&dir, n);
            let at = self.fs.at(&p, true);
            if at.kind == Some(Kind::File) && self.fs.meta(&at.path).is_some_and(|m| m.mode & 0o111 != 0) {
                let mut sub = sh.clone();
                sub.cwd.clone_from(&r.top);
                self.call(&mut sub, vec![at.path], false);
            }
        }
    }
}
