//! git: which files of the work tree a sub-command would change.

use super::super::act::ActKind;
use super::call::{Call, parse};
use super::engine::{Engine, Fd, Shell, UNK, Value};
use super::gitask::{Repo, Specs, clone_name};
use super::patchfile;
use super::picture::{join, split, tidy};
use super::{Kind, pattern};

const PATHSPEC: &str = "name the paths that are yours, behind `--`";

/// Options with a value, of the sub-commands that matter.
fn marks(verb: &str) -> &'static str {
    match verb {
        "checkout" => "-b: -B: --orphan: --conflict: --pathspec-from-file: -U:",
        "switch" => "-c: -C: --create: --force-create: --orphan: --conflict:",
        "restore" => "-s: --source: --conflict: --pathspec-from-file:",
        "reset" => "--pathspec-from-file:",
        "merge" => "-m: -F: --file: -s: --strategy: -X: --strategy-option: --into-name: --cleanup:",
        "pull" => "-s: --strategy: -X: --strategy-option: --upload-pack: --depth: -j: --jobs:",
        "rebase" => "-s: --strategy: -X: --strategy-option: --onto: -x: --exec: -C:",
        "cherry-pick" | "revert" => "-m: --mainline: -s: --strategy: -X: --strategy-option: --cleanup:",
        "stash" => "-m: --message: --pathspec-from-file:",
        "apply" => "-p: --directory: --exclude: --include: -C: --whitespace: --build-fake-ancestor:W",
        "am" => "-p: --directory: --exclude: --include: -C: --patch-format: --whitespace: --resolvemsg: -S::",
        "clean" => "-e: --exclude:",
        "rm" | "mv" => "--pathspec-from-file:",
        "read-tree" => "--prefix: --index-output: --exclude-per-directory:",
        "checkout-index" => "--prefix: --stage:",
        "clone" => {
            "-b: --branch: -o: --origin: -u: --upload-pack: --reference: --reference-if-able: --template: --depth: --separate-git-dir: -c: --config: -j: --jobs: --filter: --shallow-since: --shallow-exclude: --server-option: --bundle-uri:"
        }
        "init" => "--template: --separate-git-dir: --object-format: -b: --initial-branch: --shared::",
        "config" => "-f: --file: --blob: --type: --default: --value: --comment:",
        "archive" => "-o:W --output:W --format: --prefix: --remote: --exec: --add-file: --add-virtual-file: --mtime:",
        "format-patch" => {
            "-o: --output-directory: --subject-prefix: --in-reply-to: --to: --cc: --from:: --suffix: --start-number: -v: --reroll-count: --base: --range-diff: --interdiff: --output:W --attach:: -U: -N: --signature: --cover-from-description: -l:"
        }
        "log" | "show" | "diff" | "diff-tree" | "diff-index" | "diff-files" | "stash-show" | "whatchanged" | "range-diff" | "reflog" => {
            "--output:W --format: --pretty:: --author: --grep: --since: --until: --after: --before: -n: -S: -G: -L: -O: -U: --max-count: --skip: --date: -l: --committer: --diff-filter:"
        }
        "worktree" => "-b: -B: --reason: --expire: --orphan",
        "submodule" => "-b: --branch: --reference: --depth: --name: -j: --jobs:",
        "bisect" => "--term-new: --term-old: --term-good: --term-bad:",
        "difftool" => "-x: --extcmd: -t: --tool:",
        "grep" => "-e: -f: -A: -B: -C: -m: --max-depth: --threads: -O:: --open-files-in-pager::",
        "bugreport" | "diagnose" => "-o: --output-directory: -s: --suffix: --mode:",
        "commit" => {
            "-m: -F: --message: --file: -C: -c: --reuse-message: --reedit-message: --fixup: --squash: --author: --date: -t: --template: --cleanup: --trailer: -S:: --gpg-sign:: -u:: --pathspec-from-file:"
        }
        "tag" => "-m: -F: -u: --message: --file: --sort: --contains:: --points-at: --format: -n::",
        "fetch" => "--upload-pack: --depth: --deepen: -o: -j: --refmap: --shallow-since: --negotiation-tip:",
        "push" => "--receive-pack: --exec: -o: --push-option: --repo:",
        "fast-export" => "--export-marks:W --import-marks: --signed-tags: --tag-of-filtered-object: --refspec:",
        "fast-import" => "--export-marks:W --import-marks: --export-pack-edges:W --depth: --active-branches: --max-pack-size:",
        "mailinfo" => "--encoding:",
        "daemon" => "--pid-file:W",
        "interpret-trailers" => "--trailer: --where: --if-exists: --if-missing:",
        "mailsplit" => "-o: -d: -f:",
        "subtree" => "-P: --prefix: -m: --message: -b: --branch: --onto:",
        "svn" | "p4" => "",
        "pack-objects" => "--window: --depth:",
        "index-pack" => "-o:W --keep::",
        "filter-branch" => {
            "--env-filter: --tree-filter: --index-filter: --parent-filter: --msg-filter: --commit-filter: --tag-name-filter: --subdirectory-filter: --original: -d: --state-branch: --setup:"
        }
        "blame" | "annotate" => "-L: -S: --contents: --date: --ignore-rev: --ignore-revs-file:",
        "ls-files" => "-x: -X: --exclude: --exclude-from: --with-tree: --format:",
        "sparse-checkout" => "",
        "credential-store" => "--file:",
        _ => "--output:W",
    }
}

/// Sub-commands that change nothing in a work tree.
const QUIET: &[&str] = &[
    "log",
    "show",
    "diff",
    "diff-tree",
    "diff-index",
    "diff-files",
    "status",
    "blame",
    "annotate",
    "shortlog",
    "describe",
    "rev-parse",
    "rev-list",
    "cat-file",
    "ls-files",
    "ls-tree",
    "ls-remote",
    "branch",
    "tag",
    "remote",
    "fetch",
    "push",
    "add",
    "stage",
    "commit",
    "notes",
    "reflog",
    "gc",
    "prune",
    "repack",
    "fsck",
    "count-objects",
    "for-each-ref",
    "symbolic-ref",
    "update-ref",
    "update-index",
    "hash-object",
    "write-tree",
    "commit-tree",
    "mktree",
    "mktag",
    "merge-base",
    "merge-tree",
    "name-rev",
    "cherry",
    "grep",
    "whatchanged",
    "range-diff",
    "show-branch",
    "show-ref",
    "var",
    "version",
    "help",
    "check-ignore",
    "check-attr",
    "check-ref-format",
    "config",
    "archive",
    "bundle",
    "format-patch",
    "pack-refs",
    "pack-objects",
    "index-pack",
    "unpack-objects",
    "replace",
    "rerere",
    "request-pull",
    "send-email",
    "verify-commit",
    "verify-tag",
    "verify-pack",
    "get-tar-commit-id",
    "patch-id",
    "stripspace",
    "column",
    "credential",
    "maintenance",
    "multi-pack-index",
    "commit-graph",
    "fast-export",
    "fast-import",
    "interpret-trailers",
    "mailinfo",
    "mailsplit",
    "fmt-merge-msg",
    "bugreport",
    "diagnose",
    "daemon",
    "instaweb",
    "web--browse",
    "imap-send",
    "prune-packed",
    "show-index",
    "update-server-info",
    "upload-pack",
    "receive-pack",
    "difftool",
    "gui",
    "gitk",
    "citool",
];

/// Whether a sub-command changes what git goes by: where its references stand, the index, its settings. New branches
/// and tags are followed by themselves.
pub(super) fn moves(verb: &str, c: &Call) -> bool {
    match verb {
        "fetch" | "pull" | "commit" | "reset" | "merge" | "rebase" | "cherry-pick" | "revert" | "am" | "stash" | "checkout" | "switch"
        | "bisect" | "rm" | "mv" | "read-tree" | "update-index" | "update-ref" | "replace" | "fast-import" => true,
        "restore" => c.has(&["-S", "--staged"]),
        "apply" => c.has(&["--cached", "--index", "-3", "--3way"]),
        "symbolic-ref" => c.args.len() > 1,
        "config" => c.args.iter().any(|word| {
            let key = word.to_lowercase();
            ["core.", "alias.", "include", "merge.", "filter.", "extensions."].iter().any(|start| key.starts_with(start))
        }),
        _ => false,
    }
}

/// What stands in front of the sub-command.
pub(super) struct Global {
    pub(super) dir: String,
    pub(super) config: Vec<(String, String)>,
    git_dir: Option<String>,
    work_tree: Option<String>,
}

impl Engine<'_> {
    pub(crate) fn git(&mut self, sh: &mut Shell, argv: &[String]) {
        let mut g = Global { dir: sh.cwd.clone(), config: Vec::new(), git_dir: None, work_tree: None };
        let mut i = 1;
        while let Some(a) = argv.get(i) {
            let next = argv.get(i + 1).cloned().unwrap_or_default();
            match a.as_str() {
                "-C" => {
                    g.dir = join(&g.dir, &next);
                    i += 1;
                }
                "-c" | "--config-env" => {
                    let (k, v) = next.split_once('=').unwrap_or((&next, "true"));
                    let v = if a == "-c" { v.to_owned() } else { self.var(sh, v).unwrap_or_default() };
                    g.config.push((k.to_lowercase(), v));
                    i += 1;
                }
                "--git-dir" => {
                    g.git_dir = Some(next);
                    i += 1;
                }
                "--work-tree" => {
                    g.work_tree = Some(next);
                    i += 1;
                }
                "--namespace" | "--super-prefix" | "--exec-path" if a != "--exec-path" => i += 1,
                "--version" | "--help" | "-h" | "--html-path" | "--man-path" | "--info-path" => return,
                a if a.starts_with("--git-dir=") => g.git_dir = Some(a[10..].to_owned()),
                a if a.starts_with("--work-tree=") => g.work_tree = Some(a[12..].to_owned()),
                a if a.starts_with('-') => {}
                _ => break,
            }
            i += 1;
        }
        let mut own = self.git_config.clone();
        own.extend(self.git_given(sh));
        own.append(&mut g.config);
        g.config = own;
        self.git_included(sh, &mut g.config);
        let Some(verb) = argv.get(i).cloned() else { return };
        if g.dir.contains(UNK) || verb.contains(UNK) {
            self.unknown("git works in a place that is not known", &verb);
            return;
        }
        let rest = argv[i + 1..].to_vec();
        self.git_verb(sh, &g, &verb, &rest, 0);
    }

    fn git_verb(&mut self, sh: &mut Shell, g: &Global, verb: &str, rest: &[String], depth: u32) {
        let mut sub = sh.clone();
        sub.cwd.clone_from(&g.dir);
        // an alias that this command itself brings along
        if let Some((_, v)) = g.config.iter().rev().find(|(k, _)| *k == format!("alias.{verb}")) {
            let v = v.clone();
            self.git_alias(&mut sub, g, &v, rest, depth);
            return;
        }
        let mut words = vec![verb.to_owned()];
        words.extend(rest.iter().cloned());
        let c = parse(marks(verb), &words);
        self.by = format!("git {verb}");
        if c.has(&["-h", "--help"]) && rest.len() == 1 {
            return;
        }
        self.git_programs(&mut sub, g, verb, &c);
        self.git_traces(&mut sub, g, verb, &c);
        // Git is asked as things are now. What an earlier command of this line has done to its references, its index or
        // its settings is in no answer.
        let asked_too_early = self.git_moved;
        self.git_moved |= moves(verb, &c);
        if asked_too_early && !QUIET.contains(&verb) {
            self.unknown("an earlier git command of this line has changed what git goes by", &format!("git {verb}"));
        }
        match verb {
            "clone" => return self.git_clone(&mut sub, &c),
            "init" => return self.git_init(&mut sub, &c, g),
            _ => {}
        }
        let repo = self.repo(&sub, &g.dir, g.git_dir.clone(), g.work_tree.clone());
        if QUIET.contains(&verb) {
            self.git_quiet(&mut sub, g, verb, &c, rest, repo.as_ref());
            sh.status = sub.status;
            return;
        }
        if verb == "apply" {
            return self.git_apply(&mut sub, repo.as_ref(), &c);
        }
        if verb == "credential-store" {
            if let Some(f) = c.value(&["--file"]).filter(|_| c.args.iter().any(|a| a == "store" || a == "erase")) {
                self.effect(&mut sub, 'W', f, false);
            }
            return;
        }
        if verb == "merge-file" {
            if !c.has(&["-p", "--stdout"])
                && let Some(f) = rest.iter().find(|a| !a.starts_with('-'))
            {
                self.effect(&mut sub, 'W', f, false);
            }
            return;
        }
        let Some(mut r) = repo else {
            sh.status = Some(128);
            return;
        };
        r.verb = format!("git {verb}");
        self.hooks(&mut sub, g, &r, verb, &c);
        self.by = format!("git {verb}");
        if c.has(&["--abort"]) {
            // only where something is under way
            let marks = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer"];
            if !marks.iter().any(|m| self.fs.what(&join(&r.git_dir, m)).is_some()) && self.out.acts.is_empty() {
                sh.status = Some(128);
                return;
            }
        }
        match verb {
            "checkout" => self.git_checkout(&sub, &r, &c, rest),
            "switch" => self.git_switch(&sub, &r, &c),
            "restore" => self.git_restore(&sub, &r, &c),
            "reset" => self.git_reset(&sub, &r, &c),
            "merge" => self.git_merge(&sub, &r, &c),
            "pull" => self.git_pull(&sub, &r, &c),
            "rebase" => self.git_rebase(&mut sub, &r, &c),
            "cherry-pick" | "revert" => self.git_pick(&sub, &r, &c, verb == "revert"),
            "stash" => self.git_stash(&sub, &r, &c, rest),
            "am" => self.git_am(&mut sub, &r, &c),
            "clean" => self.git_clean(&sub, &r, &c),
            "rm" => self.git_rm(&sub, &r, &c),
            "mv" => self.git_mv(&mut sub, &c),
            "read-tree" => {
                if c.has(&["-u"]) && !c.has(&["-n", "--dry-run"]) {
                    if let Some(p) = c.value(&["--prefix"]) {
                        let p = p.to_owned();
                        self.act(&sub, ActKind::Create, &join(&r.top, &p), false, false);
                    } else if let Some(t) = c.args.last().cloned() {
                        let d = self.differ(&r, &["HEAD", &t], None);
                        let mut d = self.told(&r, d).unwrap_or_default();
                        if c.has(&["--reset"]) {
                            d.extend(
                                self.status(&r, false).unwrap_or_default().into_iter().filter(super::gitask::Line::tracked).map(|l| l.path),
                            );
                        }
                        self.git_files(&sub, &r, &d, false, None);
                    }
                }
            }
            "checkout-index" => self.git_checkout_index(&sub, &r, &c),
            "worktree" => match c.args.first().map(String::as_str) {
                Some("add") => {
                    if let Some(p) = c.args.get(1) {
                        self.act(&sub, ActKind::Create, p, false, false);
                        // much the same tree as this one
                        let full = self.full(&sub, p);
                        if !full.contains(UNK) {
                            self.fs.leave(&full, false, super::picture::Left::From(r.top.clone()));
                        }
                    }
                }
                Some("remove") => {
                    if let Some(p) = c.args.get(1) {
                        self.remove(&sub, p, true);
                    }
                }
                Some("move") => {
                    for p in c.args.iter().skip(1) {
                        self.act(&sub, ActKind::Rename, p, false, true);
                    }
                }
                _ => {}
            },
            "submodule" => self.git_submodule(&mut sub, &r, &c, rest),
            "bisect" => self.git_bisect(&mut sub, &r, &c, rest),
            "sparse-checkout" => self.git_sparse(&sub, &r, &c),
            "subtree" => {
                if let Some(p) = c.value(&["-P", "--prefix"])
                    && c.args.first().is_some_and(|a| matches!(a.as_str(), "add" | "merge" | "pull"))
                {
                    let p = join(&r.top, p);
                    self.act(&sub, ActKind::Write, &p, false, true);
                }
            }
            "filter-branch" | "filter-repo" => {
                for k in ["--tree-filter", "--setup", "--env-filter", "--index-filter", "--msg-filter", "--commit-filter"] {
                    if let Some(t) = c.value(&[k]) {
                        let t = t.to_owned();
                        // runs in a temporary tree: only what leaves it is ours to see
                        let mut away = sub.clone();
                        away.cwd = UNK.to_string();
                        self.effect(&mut away, 'Y', &t, false);
                    }
                }
                self.unknown("git rewrites history", verb);
            }
            "unpack-file" => self.effect(&mut sub, 'd', ".", false),
            "lfs" | "annex" | "svn" | "p4" | "cvsimport" | "mergetool" | "gui" | "flow" | "cola" => {
                let reads = matches!(c.args.first().map(String::as_str), Some("ls-files" | "status" | "env" | "version" | "logs"));
                if !reads {
                    self.unknown("a program that can do anything", &r.verb);
                }
            }
            _ => {
                if depth == 0 {
                    let key = format!("alias.{verb}");
                    if let Some(v) = self.word(&r, &["config", "--get", &key]) {
                        self.git_alias(&mut sub, g, &v, rest, depth);
                        return;
                    }
                }
                self.unknown("a sub-command that nothing is known about", &r.verb);
            }
        }
        sh.status = None;
    }

    fn git_alias(&mut self, sub: &mut Shell, g: &Global, text: &str, rest: &[String], depth: u32) {
        if depth > 4 {
            return;
        }
        if let Some(cmd) = text.strip_prefix('!') {
            let mut child = self.child(sub, true);
            if let Some(r) = self.repo(sub, &g.dir, g.git_dir.clone(), g.work_tree.clone()) {
                child.cwd = r.top;
            }
            child.args = rest.to_vec();
            // As git itself does it, whatever the text makes of its words by itself.
            let text = if rest.is_empty() { cmd.to_owned() } else { format!("{cmd} \"$@\"") };
            self.script(&mut child, &text);
            self.end(&mut child);
            return;
        }
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        words.extend(rest.iter().cloned());
        let Some((verb, rest)) = words.split_first() else { return };
        self.git_verb(sub, g, verb, rest, depth + 1);
    }

    /// Programs that the command itself names for git to run.
    fn git_programs(&mut self, sh: &mut Shell, g: &Global, verb: &str, c: &Call) {
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
            let e = e
                .or_else(|| set(sh, "GIT_EDITOR"))
                .or_else(|| conf("core.editor"))
                .or_else(|| set(sh, "VISUAL"))
                .or_else(|| set(sh, "EDITOR"));
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
            run.extend(
                helpers.filter_map(|(_, v)| v.strip_prefix('!').or_else(|| v.starts_with('/').then_some(v.as_str()))).map(str::to_owned),
            );
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
    fn hooks(&mut self, sh: &mut Shell, g: &Global, r: &Repo, verb: &str, c: &Call) {
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

    fn git_quiet(&mut self, sh: &mut Shell, g: &Global, verb: &str, c: &Call, rest: &[String], r: Option<&Repo>) {
        if verb != "config" {
            let m = marks(verb);
            self.effects(sh, m, c);
        }
        if let Some(r) = r.cloned() {
            self.hooks(sh, g, &r, verb, c);
        }
        match verb {
            "config" => {
                let file = c.value(&["-f", "--file"]).map(str::to_owned);
                let reads = c.has(&[
                    "--get",
                    "--get-all",
                    "--get-regexp",
                    "-l",
                    "--list",
                    "--get-urlmatch",
                    "--get-color",
                    "--get-colorbool",
                    "--show-origin",
                    "--show-scope",
                    "--name-only",
                ]) || c.args.first().is_some_and(|a| matches!(a.as_str(), "get" | "list"))
                    || c.args.len() < 2 && !c.has(&["--unset", "--unset-all", "--remove-section", "--rename-section", "-e", "--edit"]);
                if !reads {
                    if let [k, v, ..] = c.args.as_slice() {
                        let (k, v) =
                            if k == "set" { (v.clone(), c.args.get(2).cloned().unwrap_or_default()) } else { (k.clone(), v.clone()) };
                        self.git_config.push((k.to_lowercase(), v));
                    }
                    if let Some(f) = file {
                        self.act(sh, ActKind::Write, &f, true, false);
                    } else if c.has(&["--global"]) {
                        let home = self.var(sh, "HOME").unwrap_or_else(|| UNK.to_string());
                        self.act(sh, ActKind::Write, &join(&home, ".gitconfig"), true, false);
                    } else if let Some(r) = r {
                        let p = join(&r.git_dir, "config");
                        self.act(sh, ActKind::Write, &p, true, false);
                    }
                }
            }
            "format-patch" if !c.has(&["--stdout", "--output"]) => {
                let dir = c.value(&["-o", "--output-directory"]).unwrap_or(".").to_owned();
                let before = self.out.unknown.len();
                self.act(sh, ActKind::Create, &join(&dir, &UNK.to_string()), true, false);
                if !dir.contains(UNK) {
                    self.out.unknown.truncate(before);
                }
            }
            "bundle" => {
                if c.args.first().is_some_and(|a| a == "create")
                    && let Some(f) = c.args.get(1)
                {
                    self.effect(sh, 'W', f, false);
                }
            }
            "bugreport" | "diagnose" => {
                let d = c.value(&["-o", "--output-directory"]).unwrap_or(".").to_owned();
                self.effect(sh, 'd', &d, false);
            }
            "mailinfo" => {
                for f in c.args.iter().take(2) {
                    self.effect(sh, 'W', f, false);
                }
            }
            "mailsplit" => {
                let d = rest.iter().find_map(|a| a.strip_prefix("-o")).unwrap_or(".").to_owned();
                self.effect(sh, 'd', &d, false);
            }
            "interpret-trailers" if c.has(&["--in-place"]) => {
                for file in &c.args {
                    self.effect(sh, 'I', file, false);
                }
            }
            "branch" | "tag" => {
                if let Some(n) = c.args.first().filter(|_| !c.has(&["-d", "-D", "-l", "--list", "--contains", "--merged"])) {
                    let to = c.args.get(1).cloned().unwrap_or_else(|| "HEAD".into());
                    let to = self.refs.get(&to).cloned().unwrap_or(to);
                    self.refs.insert(n.clone(), to);
                }
            }
            "update-ref" => {
                if let [n, t, ..] = c.args.as_slice() {
                    let short = n.trim_start_matches("refs/heads/").trim_start_matches("refs/tags/").to_owned();
                    self.refs.insert(short, t.clone());
                    self.refs.insert(n.clone(), t.clone());
                }
            }
            "fetch" => {
                for spec in c.args.iter().skip(1).filter(|_| c.args[0] == ".") {
                    if let Some((a, b)) = spec.trim_start_matches('+').split_once(':') {
                        self.refs.insert(b.to_owned(), a.to_owned());
                    } else {
                        self.refs.insert("FETCH_HEAD".into(), spec.clone());
                    }
                }
            }
            "push" | "commit" => {
                if let Some(r) = r.cloned() {
                    if verb == "commit" && c.has(&["-a", "--all"]) {
                        self.takes_in(&r, None);
                    }
                }
            }
            "add" | "stage" => {
                if let Some(r) = r.cloned().filter(|_| !c.has(&["-n", "--dry-run"])) {
                    let whole = c.has(&["-A", "--all", "-u", "--update"]) || c.args.iter().any(|a| a == "." || a == ":/");
                    if whole {
                        let specs = Specs::new(self, &r, &c.args);
                        self.takes_in(&r, Some(&specs));
                    }
                }
            }
            "fast-import" => {}
            _ => {}
        }
        if matches!(sh.fd(1), Fd::Term | Fd::Null) || c.has(&["--output"]) {
            return;
        }
        if verb == "archive"
            && !c.has(&["-o"])
            && let (Some(r), Some(t)) = (r.cloned(), c.args.first().cloned())
        {
            let mut args = vec!["ls-tree".to_owned(), "-r".into(), "-z".into(), "--name-only".into(), t, "--".into()];
            args.extend(c.args.iter().skip(1).map(|p| p.trim_end_matches('/').to_owned()));
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            if let Some(n) = self.names(&r, &args) {
                let p = c.value(&["--prefix"]).unwrap_or("").to_owned();
                let text =
                    format!("{}{}\n{UNK}", super::engine::MEMBERS, n.iter().map(|n| format!("{p}{n}")).collect::<Vec<_>>().join("\n"));
                self.put(sh, 1, &text);
                return;
            }
        }
        let text = self.git_prints(sh, verb, rest, r);
        self.put(sh, 1, &text);
    }

    /// Uncommitted changes that would be staged.
    fn takes_in(&mut self, r: &Repo, specs: Option<&Specs>) {
        let lines = self.status(r, specs.is_some()).unwrap_or_default();
        for l in lines {
            if l.index != '!' && l.work != ' ' && specs.is_none_or(|s| s.touches(&l.path)) && self.out.staged.len() < 1000 {
                let p = std::path::PathBuf::from(join(&r.top, &l.path));
                if !self.out.staged.contains(&p) {
                    self.out.staged.push(p);
                }
            }
        }
        if self.out.way_out.is_none() && !self.out.staged.is_empty() {
            self.out.way_out = Some("stage only your own paths: git add -- PATH…".into());
        }
    }

    /// What a reading sub-command prints: asked, where its options are known to be harmless.
    fn git_prints(&mut self, sh: &Shell, verb: &str, rest: &[String], r: Option<&Repo>) -> String {
        let unk = UNK.to_string();
        let Some(r) = r else { return unk };
        if self.asks_too_late(sh, verb, rest, r) {
            return unk;
        }
        if verb == "rev-parse" && rest.iter().any(|a| a == "--show-toplevel") {
            return format!("{}\n", r.top);
        }
        if verb == "rev-parse" && rest.iter().any(|a| a == "--git-dir" || a == "--absolute-git-dir") {
            return format!("{}\n", r.git_dir);
        }
        let lists = match verb {
            "ls-files" | "ls-tree" | "rev-parse" | "status" | "branch" | "symbolic-ref" => true,
            "diff" => !rest.iter().any(|a| a == "--stat" || a == "--no-index"),
            "log" | "diff-tree" | "diff-index" | "diff-files" => rest.iter().any(|a| matches!(a.as_str(), "--name-only" | "-p")),
            "show" => true,
            "format-patch" => rest.iter().any(|a| a == "--stdout"),
            "grep" => rest.iter().any(|a| {
                a.starts_with('-') && !a.starts_with("--") && a.contains('l') || a == "--files-with-matches" || a == "--name-only"
            }),
            "cat-file" => rest.iter().any(|a| a == "-p" || a == "blob"),
            _ => false,
        };
        let fine = |a: &str| {
            !a.starts_with('-')
                || matches!(
                    a,
                    "--" | "--name-only"
                        | "--cached"
                        | "--staged"
                        | "--others"
                        | "--modified"
                        | "--deleted"
                        | "--exclude-standard"
                        | "--porcelain"
                        | "--short"
                        | "--full-name"
                        | "--merge-base"
                        | "--full-tree"
                        | "--abbrev-ref"
                        | "--verify"
                        | "--no-renames"
                        | "--relative"
                        | "--untracked-files=all"
                        | "--untracked-files=no"
                        | "-uall"
                        | "-uno"
                        | "--format="
                        | "--pretty=format:"
                        | "--show-current"
                        | "--files-with-matches"
                        | "--oneline"
                        | "--root"
                        | "--no-commit-id"
                        | "--stdout"
                        | "--binary"
                        | "--no-color"
                        | "--full-index"
                )
                || a.starts_with("--diff-filter=")
                || a.len() < 6 && !a.starts_with("--") && a[1..].chars().all(|ch| "zrmodcslniEFw1234567890pqv".contains(ch))
        };
        if !lists || !rest.iter().all(|a| fine(a)) {
            return unk;
        }
        let mut args = vec![verb];
        if matches!(verb, "diff" | "log" | "show" | "diff-tree" | "diff-index" | "diff-files" | "format-patch") {
            args.extend(["--no-ext-diff", "--no-textconv"]);
        }
        args.extend(rest.iter().map(String::as_str));
        match self.ask(&r.as_written(), &args) {
            Some(a) if a.stdout.len() <= super::engine::MAX_TEXT => String::from_utf8_lossy(&a.stdout).into_owned(),
            _ => unk,
        }
    }

    fn git_clone(&mut self, sh: &mut Shell, c: &Call) {
        let Some(url) = c.args.first() else { return };
        let dir = c.args.get(1).cloned().unwrap_or_else(|| clone_name(url));
        let full = self.full(sh, &dir);
        // into a directory that has something, it refuses
        if self.fs.list(&full).is_some_and(|l| !l.is_empty()) {
            sh.status = Some(128);
            return;
        }
        self.act(sh, ActKind::Create, &dir, false, false);
        if let Some(d) = c.value(&["--separate-git-dir"]) {
            let d = d.to_owned();
            self.act(sh, ActKind::Create, &d, false, false);
        }
        self.unknown_inside(sh, &dir);
    }

    /// A directory that is new and whose content is not known: later words that lead into it can't be checked.
    fn unknown_inside(&mut self, sh: &Shell, dir: &str) {
        let full = self.full(sh, dir);
        if !full.contains(UNK) {
            self.fs.leave(&full, false, super::picture::Left::Dir);
        }
    }

    fn git_init(&mut self, sh: &mut Shell, c: &Call, g: &Global) {
        let dir = c.args.first().cloned().unwrap_or_else(|| ".".into());
        let full = self.full(sh, &dir);
        let own = self.var(sh, "GIT_DIR").filter(|dir| !dir.is_empty());
        let git = g
            .git_dir
            .clone()
            .or(own)
            .as_ref()
            .map_or_else(|| if c.has(&["--bare"]) { dir.clone() } else { join(&dir, ".git") }, Clone::clone);
        if self.fs.is_dir(&full) {
            let p = self.full(sh, &git);
            if self.fs.what(&p).is_none() || c.has(&["--bare"]) {
                self.act(sh, ActKind::Create, &git, false, false);
            }
        } else {
            self.act(sh, ActKind::Create, &dir, false, false);
            self.unknown_inside(sh, &dir);
        }
        if let Some(d) = c.value(&["--separate-git-dir"]) {
            let d = d.to_owned();
            self.act(sh, ActKind::Create, &d, false, false);
        }
    }

    /// The work tree goes to another commit; without `force` it stays as it is where changes would be lost.
    fn git_goto(&mut self, sh: &Shell, r: &Repo, target: &str, force: bool, merge: bool) {
        let changed = self.differ(r, &["HEAD", target], None);
        let Some(mut changed) = self.told(r, changed) else { return };
        if !changed.is_empty() || force {
            let dirty: Vec<String> =
                self.status(r, false).unwrap_or_default().into_iter().filter(super::gitask::Line::tracked).map(|l| l.path).collect();
            if force {
                changed.extend(dirty);
            } else if !merge && dirty.iter().any(|d| changed.contains(d)) {
                self.unknown("git would refuse: uncommitted changes", &r.verb);
                return;
            }
        }
        self.git_files(sh, r, &changed, false, Some(PATHSPEC));
    }

    fn git_checkout(&mut self, sh: &Shell, r: &Repo, c: &Call, rest: &[String]) {
        let force = c.has(&["-f", "--force"]);
        let merge = c.has(&["-m", "--merge"]);
        let create = c.has(&["-b", "-B"]);
        let dashes = rest.iter().position(|a| a == "--");
        let (mut refs, mut paths): (Vec<String>, Vec<String>) = match dashes {
            Some(d) => {
                let n = rest[d + 1..].len();
                let k = c.args.len().saturating_sub(n);
                (c.args[..k].to_vec(), c.args[k..].to_vec())
            }
            None => (c.args.clone(), Vec::new()),
        };
        if let Some(f) = c.value(&["--pathspec-from-file"]) {
            let f = f.to_owned();
            let t = if f == "-" { self.take(sh, 0) } else { self.content(sh, &f) };
            paths.extend(t.lines().map(str::to_owned));
        }
        if let Some(o) = c.opts.iter().find(|o| o.0 == "--orphan") {
            let _ = o;
            return;
        }
        if dashes.is_none() && paths.is_empty() && !refs.is_empty() && !create {
            let first = refs[0].clone();
            let name = if first == "-" { "@{-1}".to_owned() } else { first.clone() };
            let is_ref = self.commit(r, &name).is_some() || {
                let remote = format!("refs/remotes/origin/{name}");
                refs.len() == 1 && self.what(sh, &first).is_none() && self.commit(r, &remote).is_some() && {
                    refs[0] = remote;
                    true
                }
            };
            if !is_ref {
                paths = std::mem::take(&mut refs);
            } else {
                if refs.len() > 1 {
                    paths = refs.split_off(1);
                }
                if first == "-" {
                    refs[0] = name;
                }
            }
        }
        let patch = c.has(&["-p", "--patch"]);
        if patch {
            let answers = self.take(sh, 0);
            if !answers.contains(['y', 'a']) && !answers.contains(UNK) {
                return;
            }
        }
        if paths.is_empty() && !(patch || dashes.is_some() && refs.is_empty()) {
            if let Some(t) = refs.first() {
                let t = t.clone();
                self.git_goto(sh, r, &t, force, merge);
            } else if force && !create {
                self.git_goto(sh, r, "HEAD", true, false);
            }
            return;
        }
        self.git_take_paths(sh, r, refs.first().map(String::as_str), &paths, true);
    }

    /// Files are taken from a commit or the index into the work tree.
    fn git_take_paths(&mut self, sh: &Shell, r: &Repo, source: Option<&str>, paths: &[String], overlay: bool) {
        let specs = Specs::new(self, r, paths);
        let range: Vec<&str> = source.into_iter().collect();
        // without a source: the work tree against the index
        let changed = self.differ(r, &range, if overlay { Some("--diff-filter=a") } else { None });
        let Some(changed) = self.told(r, changed) else { return };
        let mut hit: Vec<String> = changed.into_iter().filter(|p| specs.has(p)).collect();
        // a file that is named itself is written again even where it is the same
        let exact = specs.exact(self, r);
        for e in exact {
            let in_tree = match source {
                Some(s) => {
                    let rev = format!("{s}:{e}");
                    self.ask(r, &["rev-parse", "--verify", "-q", &rev]).is_some_and(|a| a.ok)
                }
                None => self.names(r, &["ls-files", "-z", "--full-name", "--", &format!(":/{e}")]).is_some_and(|n| !n.is_empty()),
            };
            if in_tree && !hit.contains(&e) {
                hit.push(e);
            }
        }
        self.git_files(sh, r, &hit, false, Some(PATHSPEC));
    }

    fn git_switch(&mut self, sh: &Shell, r: &Repo, c: &Call) {
        if c.has(&["--orphan"]) {
            let all = self.names(r, &["ls-files", "-z", "--full-name"]);
            let all = self.told(r, all).unwrap_or_default();
            self.git_removes(sh, r, &all);
            return;
        }
        let force = c.has(&["-f", "--force", "--discard-changes"]);
        let target = match c.args.first().map(String::as_str) {
            Some("-") => "@{-1}".to_owned(),
            Some(t) => {
                if self.commit(r, t).is_some() {
                    t.to_owned()
                } else {
                    format!("refs/remotes/origin/{t}")
                }
            }
            None if force => "HEAD".into(),
            None => return,
        };
        self.git_goto(sh, r, &target, force, c.has(&["-m", "--merge"]));
    }

    fn git_restore(&mut self, sh: &Shell, r: &Repo, c: &Call) {
        let staged = c.has(&["-S", "--staged"]);
        if staged && !c.has(&["-W", "--worktree"]) {
            return;
        }
        if c.has(&["-p", "--patch"]) {
            let answers = self.take(sh, 0);
            if !answers.contains(['y', 'a']) && !answers.contains(UNK) {
                return;
            }
        }
        let mut paths = c.args.clone();
        if let Some(f) = c.value(&["--pathspec-from-file"]) {
            let f = f.to_owned();
            let t = if f == "-" { self.take(sh, 0) } else { self.content(sh, &f) };
            paths.extend(t.lines().map(str::to_owned));
        }
        let source = c.value(&["-s", "--source"]).map(str::to_owned).or_else(|| staged.then(|| "HEAD".to_owned()));
        self.git_take_paths(sh, r, source.as_deref(), &paths, c.has(&["--overlay"]) || source.is_none());
    }

    fn git_reset(&mut self, sh: &Shell, r: &Repo, c: &Call) {
        let hard = c.has(&["--hard"]);
        if !hard && !c.has(&["--merge", "--keep"]) {
            return;
        }
        let target = c.args.first().cloned().unwrap_or_else(|| "HEAD".into());
        let changed = if target == "HEAD" { Some(Vec::new()) } else { self.differ(r, &["HEAD", &target], None) };
        let Some(changed) = self.told(r, changed) else { return };
        let status = self.status(r, false).unwrap_or_default();
        let dirty: Vec<String> = status.iter().filter(|l| l.tracked() && (hard || l.index != ' ')).map(|l| l.path.clone()).collect();
        if !hard && status.iter().any(|l| l.tracked() && l.work != ' ' && changed.contains(&l.path)) {
            self.unknown("git would refuse: uncommitted changes", &r.verb);
            return;
        }
        // to the tracked upstream, forward: what arrives is others' work; what is lost is not
        let arriving = !changed.is_empty() && self.forward(r, &target) && self.is_upstream(r, &target);
        let clean: Vec<String> = changed.iter().filter(|p| !dirty.contains(p)).cloned().collect();
        self.git_files(sh, r, &clean, arriving, Some(PATHSPEC));
        self.git_files(sh, r, &dirty, false, Some("git restore -- the paths that are yours"));
    }

    /// Whether going to a commit is a fast-forward.
    fn forward(&mut self, r: &Repo, target: &str) -> bool {
        self.counts(r, target).is_some_and(|(left, _)| left == 0)
    }

    /// Commits that only this side has, and that only the other has.
    fn counts(&mut self, r: &Repo, target: &str) -> Option<(u32, u32)> {
        let range = format!("HEAD...{target}");
        let t = self.word(r, &["rev-list", "--left-right", "--count", &range, "--"])?;
        let (a, b) = t.split_once('\t')?;
        Some((a.parse().ok()?, b.parse().ok()?))
    }

    fn is_upstream(&mut self, r: &Repo, target: &str) -> bool {
        // a branch of one's own that is set as upstream is no others' work
        let name = self.word(r, &["rev-parse", "--symbolic-full-name", "@{upstream}"]);
        if !name.is_some_and(|name| name.starts_with("refs/remotes/")) {
            return false;
        }
        if matches!(target, "@{u}" | "@{upstream}" | "HEAD@{upstream}" | "HEAD@{u}") {
            return self.commit(r, "@{upstream}").is_some();
        }
        let up = self.word(r, &["rev-parse", "--verify", "-q", "@{upstream}"]);
        up.is_some() && up == self.commit(r, target)
    }

    fn dirty(&mut self, r: &Repo) -> Vec<String> {
        self.status(r, false).unwrap_or_default().into_iter().filter(super::gitask::Line::tracked).map(|l| l.path).collect()
    }

    fn git_merge(&mut self, sh: &Shell, r: &Repo, c: &Call) {
        if c.has(&["--continue", "--quit"]) || matches!(c.value(&["-s", "--strategy"]), Some("ours")) {
            return;
        }
        if c.has(&["--abort"]) {
            let d: Vec<String> =
                self.status(r, false).unwrap_or_default().into_iter().filter(|l| l.tracked() && l.index != ' ').map(|l| l.path).collect();
            self.git_files(sh, r, &d, false, None);
            return;
        }
        let mut targets = c.args.clone();
        if targets.is_empty() {
            targets.push("@{upstream}".into());
        }
        for t in targets {
            self.git_bring(sh, r, &t, c.has(&["--ff-only"]), c.has(&["--no-ff"]), c.has(&["--autostash"]));
        }
    }

    /// Another line of history is brought in.
    fn git_bring(&mut self, sh: &Shell, r: &Repo, t: &str, ff_only: bool, no_ff: bool, autostash: bool) {
        let counts = self.counts(r, t);
        let Some((left, right)) = self.told(r, counts) else { return };
        if right == 0 || ff_only && left > 0 {
            return;
        }
        let theirs = self.differ(r, &["HEAD", t], None);
        let Some(theirs) = self.told(r, theirs) else { return };
        let mut files = theirs;
        if left > 0 {
            let range = format!("HEAD...{t}");
            let since = self.differ(r, &[&range], None);
            let Some(since) = self.told(r, since) else { return };
            files.retain(|f| since.contains(f));
        }
        let dirty = self.dirty(r);
        if autostash {
            self.git_files(sh, r, &dirty, false, Some("commit or stash your own changes by path first"));
        } else if dirty.iter().any(|d| files.contains(d)) {
            self.unknown("git would refuse: uncommitted changes", &r.verb);
            return;
        }
        let arriving = left == 0 && !no_ff && self.is_upstream(r, t);
        self.git_files(sh, r, &files, arriving, Some("ask the owner: a branch can be handed over"));
    }

    fn git_pull(&mut self, sh: &Shell, r: &Repo, c: &Call) {
        let rebase = c.opts.iter().any(|(o, v)| o == "-r" || o == "--rebase" && v.as_deref() != Some("false"));
        let local = c.args.first().is_some_and(|a| a == ".");
        let target = match (local, c.args.get(1)) {
            (true, Some(b)) => b.split(':').next().unwrap_or(b).to_owned(),
            (true, None) => return,
            (false, Some(b)) => format!("{}/{}", c.args[0], b.split(':').next().unwrap_or(b)),
            (false, None) => "@{upstream}".to_owned(),
        };
        if !local {
            // what the remote has is known only once it has been fetched
            self.unknown("what would arrive has not been fetched", "git pull");
            self.out.way_out = Some("git fetch, then git merge --ff-only @{u}".into());
            if self.commit(r, &target).is_none() {
                return;
            }
        }
        if rebase {
            self.git_onto(sh, r, &target, c.has(&["--autostash"]));
        } else {
            self.git_bring(sh, r, &target, c.has(&["--ff-only"]), c.has(&["--no-ff"]), c.has(&["--autostash"]));
        }
    }

    /// The commits of this branch are replayed on another one: the work tree goes through that.
    fn git_onto(&mut self, sh: &Shell, r: &Repo, onto: &str, autostash: bool) {
        let counts = self.counts(r, onto);
        let Some((left, right)) = self.told(r, counts) else { return };
        let dirty = self.dirty(r);
        if !dirty.is_empty() && !autostash {
            self.unknown("git would refuse: uncommitted changes", &r.verb);
            return;
        }
        if autostash {
            self.git_files(sh, r, &dirty, false, Some("commit or stash your own changes by path first"));
        }
        if right == 0 {
            return;
        }
        let d = self.differ(r, &["HEAD", onto], None);
        let d = self.told(r, d).unwrap_or_default();
        let arriving = left == 0 && self.is_upstream(r, onto);
        self.git_files(sh, r, &d, arriving, Some("ask the owner: a branch can be handed over"));
    }

    fn git_rebase(&mut self, sh: &mut Shell, r: &Repo, c: &Call) {
        if c.has(&["--continue", "--skip", "--quit", "--edit-todo", "--show-current-patch"]) {
            self.unknown("what is left of a rebase is not known", "git rebase");
            return;
        }
        if c.has(&["--abort"]) {
            let d = self.dirty(r);
            self.git_files(sh, r, &d, false, None);
            let d = self.differ(r, &["HEAD", "ORIG_HEAD"], None).unwrap_or_default();
            self.git_files(sh, r, &d, false, None);
            return;
        }
        let dirty_stop = !c.has(&["--autostash"]) && !self.dirty(r).is_empty();
        for x in c.values(&["-x", "--exec"]).into_iter().map(str::to_owned).collect::<Vec<_>>() {
            if !dirty_stop {
                let mut at_top = sh.clone();
                at_top.cwd.clone_from(&r.top);
                self.effect(&mut at_top, 'Y', &x, false);
            }
        }
        if let Some(b) = c.args.get(1).cloned()
            && !dirty_stop
        {
            self.git_goto(sh, r, &b, false, false);
        }
        let onto = c.value(&["--onto"]).map(str::to_owned).or_else(|| c.args.first().cloned()).unwrap_or_else(|| "@{upstream}".into());
        self.git_onto(sh, r, &onto, c.has(&["--autostash"]));
    }

    fn git_pick(&mut self, sh: &Shell, r: &Repo, c: &Call, revert: bool) {
        if c.has(&["--continue", "--quit", "--skip"]) {
            return;
        }
        if c.has(&["--abort"]) {
            let d = self.dirty(r);
            self.git_files(sh, r, &d, false, None);
            return;
        }
        let dirty = self.dirty(r);
        for t in &c.args {
            let files = if t.contains("..") {
                self.names(
                    r,
                    &[
                        "log",
                        "--format=",
                        "--name-only",
                        "-z",
                        "--no-renames",
                        "--no-ext-diff",
                        "--no-textconv",
                        "--max-count=500",
                        t,
                        "--",
                    ],
                )
            } else {
                let parent = format!("{t}^");
                self.differ(r, &[&parent, t], None).or_else(|| {
                    self.names(r, &["show", "--format=", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", t, "--"])
                })
            };
            let Some(files) = self.told(r, files) else { continue };
            if dirty.iter().any(|d| files.contains(d)) {
                self.unknown("git would refuse: uncommitted changes", &r.verb);
                continue;
            }
            // what is already so is not written
            let other = if revert { format!("{t}^") } else { t.clone() };
            let files: Vec<String> = if t.contains("..") {
                files
            } else {
                // The first commit has none before it: undone, all of it goes.
                match self.differ(r, &["HEAD", &other], None) {
                    Some(d) => files.into_iter().filter(|f| d.contains(f)).collect(),
                    None => files,
                }
            };
            self.git_files(sh, r, &files, false, Some("ask the owner: a branch can be handed over"));
        }
    }

    fn git_stash(&mut self, sh: &Shell, r: &Repo, c: &Call, rest: &[String]) {
        let verb = c.args.first().map_or("push", String::as_str);
        match verb {
            "show" if c.has(&["-p", "--patch"]) => {
                let s = c.args.get(1).cloned().unwrap_or_else(|| "stash@{0}".into());
                let base = format!("{s}^1");
                let text = match self.ask(r, &["diff", "-p", "--no-ext-diff", "--no-textconv", &base, &s, "--"]) {
                    Some(a) if a.ok => String::from_utf8_lossy(&a.stdout).into_owned(),
                    _ => UNK.to_string(),
                };
                self.put(sh, 1, &text);
            }
            "list" | "show" | "drop" | "clear" | "create" | "store" => {}
            "pop" | "apply" | "branch" => {
                let n = usize::from(verb == "branch") + 1;
                let s = c.args.get(n).cloned().unwrap_or_else(|| "stash@{0}".into());
                let s = if s.chars().all(|ch| ch.is_ascii_digit()) { format!("stash@{{{s}}}") } else { s };
                let base = format!("{s}^1");
                let files = self.differ(r, &[&base, &s], None);
                let Some(mut files) = self.told(r, files) else { return };
                let dirty = self.dirty(r);
                if dirty.iter().any(|d| files.contains(d)) {
                    self.unknown("git would refuse: uncommitted changes", &r.verb);
                    return;
                }
                let others = format!("{s}^3");
                if self.commit(r, &others).is_some() {
                    files.extend(self.names(r, &["ls-tree", "-r", "-z", "--name-only", "--full-tree", &others]).unwrap_or_default());
                }
                if verb == "branch" {
                    files.extend(self.differ(r, &["HEAD", &base], None).unwrap_or_default());
                }
                self.git_files(sh, r, &files, false, Some(PATHSPEC));
            }
            _ => {
                if c.has(&["--keep-index"]) && rest.is_empty() {
                    return;
                }
                let mut paths: Vec<String> = c.args.clone();
                if matches!(verb, "push" | "save") && !paths.is_empty() {
                    paths.remove(0);
                }
                if verb == "save" {
                    paths.clear();
                }
                let specs = Specs::new(self, r, &paths);
                let others = c.has(&["-u", "--include-untracked", "-a", "--all"]);
                let lines = self.status(r, others);
                let Some(lines) = self.told(r, lines) else { return };
                if c.has(&["-p", "--patch"]) {
                    let answers = self.take(sh, 0);
                    if !answers.contains(['y', 'a']) && !answers.contains(UNK) {
                        return;
                    }
                }
                let files: Vec<String> = lines
                    .iter()
                    .filter(|l| match l.index {
                        '?' => others,
                        '!' => c.has(&["-a", "--all"]),
                        i => !c.has(&["-S", "--staged"]) || i != ' ',
                    })
                    .map(|l| l.path.clone())
                    .filter(|p| specs.touches(p))
                    .collect();
                self.git_files(sh, r, &files, false, Some("git stash push -- the paths that are yours"));
            }
        }
    }

    /// Files that a patch changes, as git takes it.
    fn git_patch(&mut self, sh: &Shell, r: Option<&Repo>, c: &Call, text: &str, base: &str) {
        let level = c.value(&["-p"]).and_then(|p| p.parse().ok()).unwrap_or(1);
        let dir = c.value(&["--directory"]).unwrap_or("").to_owned();
        let (no, yes) = (c.values(&["--exclude"]), c.values(&["--include"]));
        let mut files: Vec<String> = Vec::new();
        for ch in patchfile::changes(text) {
            for n in [ch.old, ch.new].into_iter().flatten() {
                let Some(n) = patchfile::strip(&n, level) else { continue };
                let n = if dir.is_empty() { n } else { join(&dir, &n) };
                if no.iter().any(|e| pattern::matches(e, &n)) || !yes.is_empty() && !yes.iter().any(|e| pattern::matches(e, &n)) {
                    continue;
                }
                let full = tidy(&join(base, &n));
                // names that climb out are refused by git
                if n.starts_with('/') || !full.starts_with(base) && !c.has(&["--unsafe-paths"]) {
                    continue;
                }
                if self.fs.what(&full) == Some(Kind::File) && !c.has(&["-3", "--3way", "--reject", "-C"]) && text.len() < 100_000 {
                    if let Some(content) = self.fs.text(&full)
                        && !patchfile::fits(text, &full, &content, c.has(&["-R", "--reverse"]))
                    {
                        // one part that does not fit, and git changes nothing
                        self.unknown("the patch does not apply", &n);
                        return;
                    }
                } else if self.fs.what(&full).is_none()
                    && files.is_empty()
                    && !text.contains("/dev/null")
                    && !text.contains("rename ")
                    && !c.has(&["--reject"])
                    && self.out.unknown.is_empty()
                {
                    self.unknown("the patch does not apply", &n);
                    return;
                }
                if !files.contains(&full) {
                    files.push(full);
                }
            }
        }
        if text.contains(UNK) {
            self.unknown("a patch can't be read", "git apply");
        }
        let fallback = Repo { verb: "git apply".into(), ..Repo::default() };
        let r = r.cloned().map_or(fallback, |r| Repo { top: String::new(), ..r });
        let files: Vec<String> = files.into_iter().map(|f| f.trim_start_matches('/').to_owned()).collect();
        let r = Repo { top: "/".into(), ..r };
        self.git_files(sh, &r, &files, false, Some("hand the patch to the owner"));
    }

    fn git_apply(&mut self, sh: &mut Shell, r: Option<&Repo>, c: &Call) {
        self.effects(sh, marks("apply"), c);
        if c.has(&["--check", "--stat", "--numstat", "--summary", "--cached", "--build-fake-ancestor"]) && !c.has(&["--apply"]) {
            return;
        }
        let r2 = r.map(|r| Repo { verb: "git apply".into(), ..r.clone() });
        let base = self.fs.at(&sh.cwd, true).path;
        let mut text = String::new();
        let files: Vec<String> = if c.args.is_empty() { vec!["-".into()] } else { c.args.clone() };
        for f in &files {
            let t = if f == "-" { self.take(sh, 0) } else { self.content(sh, f) };
            text.push_str(&t);
            text.push('\n');
        }
        // inside a repository names start at its root, and only what is below the current directory is taken
        match r2.as_ref().filter(|r| !r.top.is_empty()) {
            Some(r) => {
                let top = r.top.clone();
                let prefix = base.strip_prefix(&top).unwrap_or("").trim_start_matches('/').to_owned();
                let git_style = text.contains("diff --git ");
                if prefix.is_empty() {
                    self.git_patch(sh, Some(r), c, &text, &top);
                } else if git_style {
                    let before = self.out.acts.len();
                    self.git_patch(sh, Some(r), c, &text, &top);
                    let here = format!("{base}/");
                    let mut k = 0;
                    self.out.acts.retain(|a| {
                        k += 1;
                        k <= before || a.act.path.to_string_lossy().starts_with(&here)
                    });
                } else {
                    self.git_patch(sh, Some(r), c, &text, &base);
                }
            }
            None => self.git_patch(sh, None, c, &text, &base),
        }
    }

    fn git_am(&mut self, sh: &mut Shell, r: &Repo, c: &Call) {
        if c.has(&["--continue", "--skip", "--quit", "--resolved", "-r", "--show-current-patch"]) {
            self.unknown("what is left of a mailbox is not known", "git am");
            return;
        }
        if c.has(&["--abort"]) {
            let d = self.dirty(r);
            self.git_files(sh, r, &d, false, None);
            return;
        }
        let mut text = String::new();
        if c.args.is_empty() {
            text = self.take(sh, 0);
        }
        for f in &c.args {
            text.push_str(&self.content(sh, f));
            text.push('\n');
        }
        let top = r.top.clone();
        self.git_patch(sh, Some(r), c, &text, &top);
    }

    fn git_clean(&mut self, sh: &Shell, r: &Repo, c: &Call) {
        if c.has(&["-n", "--dry-run"]) {
            return;
        }
        if !c.has(&["-f", "--force"]) {
            if c.has(&["-i", "--interactive"]) {
                let t = self.take(sh, 0);
                if t.is_empty() {
                    return;
                }
            } else if self.word(r, &["config", "--get", "clean.requireForce"]).as_deref() != Some("false") {
                return;
            }
        }
        let lines = self.status(r, true);
        let Some(lines) = self.told(r, lines) else { return };
        let mut specs = Specs::new(self, r, &c.args);
        let here = [".".to_owned()];
        if specs.empty() {
            specs = Specs::new(self, r, &here);
        }
        let kept: Vec<&str> = c.values(&["-e", "--exclude"]);
        let dirs = c.has(&["-d"]);
        let files: Vec<String> = lines
            .into_iter()
            .filter(|l| match l.index {
                '?' => !c.has(&["-X"]),
                '!' => c.has(&["-x", "-X"]),
                _ => false,
            })
            .map(|l| l.path)
            .filter(|p| (dirs || !p.ends_with('/') || specs.yes_inside(p)) && specs.touches(p))
            .filter(|p| {
                !kept.iter().any(|k| {
                    pattern::matches(k, p.trim_end_matches('/'))
                        || pattern::matches(k.trim_end_matches('/'), split(p).1)
                        || p.trim_end_matches('/').starts_with(&format!("{}/", k.trim_matches('/')))
                })
            })
            .collect();
        self.git_removes(sh, r, &files);
    }

    fn git_rm(&mut self, sh: &Shell, r: &Repo, c: &Call) {
        if c.has(&["--cached", "-n", "--dry-run"]) {
            return;
        }
        let mut paths = c.args.clone();
        if let Some(f) = c.value(&["--pathspec-from-file"]) {
            let f = f.to_owned();
            paths.extend(self.content(sh, &f).lines().map(str::to_owned));
        }
        let specs = Specs::new(self, r, &paths);
        if specs.empty() {
            return;
        }
        let all = self.names(r, &["ls-files", "-z", "--full-name", ":/"]);
        let Some(all) = self.told(r, all) else { return };
        let hit: Vec<String> = all.into_iter().filter(|f| specs.has(f)).collect();
        if !c.has(&["-f", "--force"]) {
            let dirty = self.dirty(r);
            if hit.iter().any(|h| dirty.contains(h)) {
                self.unknown("git would refuse: uncommitted changes", &r.verb);
                return;
            }
        }
        self.git_removes(sh, r, &hit);
    }

    fn git_mv(&mut self, sh: &mut Shell, c: &Call) {
        if c.has(&["-n", "--dry-run"]) {
            return;
        }
        let call = Call { name: "mv".into(), opts: c.opts.clone(), args: c.args.clone() };
        self.mv(sh, &call);
    }

    fn git_checkout_index(&mut self, sh: &Shell, r: &Repo, c: &Call) {
        if c.has(&["-n", "--no-create"]) && !c.has(&["-f"]) {
            return;
        }
        let all = if c.has(&["-a", "--all"]) {
            self.names(r, &["ls-files", "-z", "--full-name", ":/"])
        } else {
            let mut v = c.args.clone();
            if c.has(&["--stdin"]) {
                let t = self.take(sh, 0);
                v.extend(t.split(['\n', '\0']).filter(|x| !x.is_empty()).map(str::to_owned));
            }
            let top = r.top.clone();
            let here = self.fs.at(&r.dir, true).path;
            Some(v.into_iter().map(|p| tidy(&join(&here, &p)).strip_prefix(&format!("{top}/")).map_or(p, str::to_owned)).collect())
        };
        let Some(all) = self.told(r, all) else { return };
        if let Some(p) = c.value(&["--prefix"]) {
            let p = p.to_owned();
            for f in all {
                let path = join(&r.top, &format!("{p}{f}"));
                self.act(sh, ActKind::Write, &path, true, false);
            }
            return;
        }
        let force = c.has(&["-f", "--force"]);
        let files: Vec<String> = all.into_iter().filter(|f| force || self.fs.at(&join(&r.top, f), false).kind.is_none()).collect();
        // what is as the index has it is not written again
        let changed = self.differ(r, &[], None);
        let files: Vec<String> = match changed {
            Some(ch) => files.into_iter().filter(|f| ch.contains(f) || !c.has(&["-a", "--all"])).collect(),
            None => files,
        };
        self.git_files(sh, r, &files, false, Some(PATHSPEC));
    }

    fn git_submodule(&mut self, sh: &mut Shell, r: &Repo, c: &Call, rest: &[String]) {
        match c.args.first().map(String::as_str) {
            Some("add") => {
                let p = c.args.get(2).cloned().or_else(|| c.args.get(1).map(|u| clone_name(u)));
                if let Some(p) = p {
                    self.act(sh, ActKind::Create, &p, false, false);
                }
                self.act(sh, ActKind::Write, &join(&r.top, ".gitmodules"), false, false);
            }
            Some("foreach") => {
                let words: Vec<String> = rest
                    .iter()
                    .skip_while(|a| *a != "foreach")
                    .skip(1)
                    .filter(|a| *a != "--recursive" && *a != "--quiet")
                    .cloned()
                    .collect();
                let text = words.join(" ");
                let modules = self.content(sh, &join(&r.top, ".gitmodules"));
                for p in modules.lines().filter_map(|l| l.trim().strip_prefix("path").map(|p| p.trim_start_matches([' ', '=']).to_owned()))
                {
                    let mut sub = sh.clone();
                    sub.cwd = join(&r.top, &p);
                    self.effect(&mut sub, 'Y', &text, false);
                }
            }
            Some("update" | "deinit" | "sync" | "absorbgitdirs" | "set-branch" | "set-url") => {
                let verb = c.args[0].clone();
                let modules = self.content(sh, &join(&r.top, ".gitmodules"));
                if verb == "update" || verb == "deinit" {
                    for p in
                        modules.lines().filter_map(|l| l.trim().strip_prefix("path").map(|p| p.trim_start_matches([' ', '=']).to_owned()))
                    {
                        if c.args.len() == 1 || c.args.iter().any(|a| a.trim_end_matches('/') == p) {
                            self.git_files(sh, r, &[format!("{p}/")], false, Some(PATHSPEC));
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn git_bisect(&mut self, sh: &mut Shell, r: &Repo, c: &Call, rest: &[String]) {
        match c.args.first().map(String::as_str) {
            Some("start") => {
                let refs: Vec<String> = c.args[1..].to_vec();
                if refs.len() < 2 || c.has(&["--no-checkout"]) {
                    return;
                }
                let bad = refs[0].clone();
                let goods: Vec<String> = refs[1..].iter().map(|g| format!("^{g}")).collect();
                let mut args = vec!["rev-list", "--bisect", &bad];
                args.extend(goods.iter().map(String::as_str));
                args.push("--");
                let mid = self.word(r, &args);
                let Some(mid) = self.told(r, mid) else { return };
                self.git_goto(sh, r, &mid, false, false);
            }
            Some("run") => {
                let words: Vec<String> = rest.iter().skip_while(|a| *a != "run").skip(1).cloned().collect();
                let mut sub = sh.clone();
                sub.cwd.clone_from(&r.top);
                self.call(&mut sub, words, false);
                self.unknown("which commits a search goes through is not known", "git bisect");
            }
            Some("reset") => {
                let start = self.fs.text(&join(&r.git_dir, "BISECT_START"));
                if let Some(s) = start {
                    let t = c.args.get(1).cloned().unwrap_or_else(|| s.trim().to_owned());
                    self.git_goto(sh, r, &t, false, false);
                }
            }
            Some("good" | "bad" | "new" | "old" | "skip" | "next" | "replay") => {
                self.unknown("which commits a search goes through is not known", "git bisect")
            }
            _ => {}
        }
    }

    fn git_sparse(&mut self, sh: &Shell, r: &Repo, c: &Call) {
        let verb = c.args.first().map_or("", String::as_str);
        if !matches!(verb, "set" | "add" | "init" | "disable" | "reapply") || verb == "add" || verb == "disable" {
            if verb == "disable" || verb == "add" {
                self.unknown("which files come back is not known", "git sparse-checkout");
            }
            return;
        }
        let keep: Vec<String> = c.args[1..].iter().map(|d| d.trim_matches('/').to_owned()).collect();
        if verb == "reapply" {
            return;
        }
        let all = self.names(r, &["ls-files", "-z", "--full-name", ":/"]);
        let Some(all) = self.told(r, all) else { return };
        let dirty = self.dirty(r);
        let gone: Vec<String> = all
            .into_iter()
            .filter(|f| {
                let top = !f.contains('/');
                !top && !dirty.contains(f)
                    && !keep.iter().any(|k| f.starts_with(&format!("{k}/")) || k.starts_with(&format!("{}/", split(f).0)))
            })
            .collect();
        self.git_removes(sh, r, &gone);
    }
}
