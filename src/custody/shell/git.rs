//! git: which files of the work tree a sub-command would change.

use super::super::act::ActKind;
use super::Ground;
use super::engine::{Engine, UNK};
use super::gitask::{Repo, clone_name};
use super::gitout;
use super::gitsettings::key;
use super::gitwords::{QUIET, marks, moves};
use super::options::Call;
use super::options::parse;
use super::picture::{Left, join};
use super::state::Shell;

/// What stands in front of the sub-command.
pub(super) struct Global {
    pub(super) dir: String,
    pub(super) config: Vec<(String, String)>,
    pub(super) git_dir: Option<String>,
    pub(super) work_tree: Option<String>,
}

impl Engine<'_> {
    pub(crate) fn git(&mut self, sh: &mut Shell, argv: &[String]) {
        let mut g = Global { dir: sh.cwd.clone(), config: Vec::new(), git_dir: None, work_tree: None };
        let mut i = 1;
        let icase = "GIT_ICASE_PATHSPECS";
        let set = sh.vars.get(icase).is_some_and(|var| var.exported);
        self.git_icase = set && self.var(sh, icase).is_some_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
        while let Some(a) = argv.get(i) {
            let next = argv.get(i + 1).cloned().unwrap_or_default();
            match a.as_str() {
                "-C" => {
                    g.dir = join(&g.dir, &next);
                    i += 1;
                }
                "-c" => {
                    let (k, v) = next.split_once('=').unwrap_or((&next, "true"));
                    g.config.push((key(k), v.to_owned()));
                    i += 1;
                }
                "--config-env" => {
                    g.config.extend(self.git_from_variable(sh, &next));
                    i += 1;
                }
                a if a.starts_with("--config-env=") => g.config.extend(self.git_from_variable(sh, &a[13..])),
                a if a.starts_with("--exec-path=") => self.unknown("a place that git takes its own programs from", &a[12..]),
                "--git-dir" => {
                    g.git_dir = Some(next);
                    i += 1;
                }
                "--work-tree" => {
                    g.work_tree = Some(next);
                    i += 1;
                }
                "--namespace" | "--super-prefix" | "--attr-source" | "--shallow-file" => i += 1,
                "--version" | "--exec-path" | "--html-path" | "--man-path" | "--info-path" => return,
                a if a.starts_with("--git-dir=") => g.git_dir = Some(a[10..].to_owned()),
                a if a.starts_with("--work-tree=") => g.work_tree = Some(a[12..].to_owned()),
                "--icase-pathspecs" => self.git_icase = true,
                a if a.starts_with('-') => {}
                _ => break,
            }
            i += 1;
        }
        let mut own = self.git_config.clone();
        own.extend(self.git_given(sh));
        own.append(&mut g.config);
        g.config = own;
        self.git_settings_here(sh, &mut g);
        self.git_included(sh, &mut g.config);
        let help = argv[..i.min(argv.len())].iter().any(|word| matches!(word.as_str(), "--help" | "-h"));
        let Some(verb) = argv.get(i).cloned() else { return };
        let verb = if help { "help".to_owned() } else { verb };
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
        if let Some((_, v)) = g.config.iter().rev().find(|(k, _)| *k == key(&format!("alias.{verb}"))) {
            let v = v.clone();
            self.git_alias(&mut sub, g, &v, rest, depth);
            return;
        }
        let mut words = vec![verb.to_owned()];
        words.extend(rest.iter().cloned());
        let c = parse(marks(verb), &words);
        self.by = format!("git {verb}");
        if c.has(&["-h", "--help"]) && rest.len() == 1 {
            self.git_programs(&mut sub, g, "help", &c);
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
            "clone" => return self.git_clone(&mut sub, &c, g),
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
        let c = self.git_revisions(&r, verb, c, rest);
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
                        self.git_files(&sub, &r, &d, false, &gitout::read_tree(&t));
                    }
                }
            }
            "checkout-index" => self.git_checkout_index(&sub, &r, &c),
            "worktree" => match c.args.first().map(String::as_str) {
                Some("add") => {
                    if let Some(p) = c.args.get(1) {
                        self.act(&sub, ActKind::Create, p, false, false);
                        let commit = c.args.get(2).map_or("HEAD", String::as_str).to_owned();
                        self.same_tree(&sub, p, &r, &commit);
                    }
                }
                Some("remove") => {
                    if let Some(p) = c.args.get(1) {
                        // one on a branch of its own holds proposals, and nobody's files
                        let full = self.full(&sub, p);
                        let own = self.repo(&sub, &full, None, None).and_then(|there| there.own_branch);
                        let ground = own.map_or(Ground::Plain, |branch| Ground::OwnWorktree { branch });
                        let old = std::mem::replace(&mut self.ground, ground);
                        self.remove(&sub, p, true);
                        self.ground = old;
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
            "hook" if c.args.first().is_some_and(|word| word == "run") => {
                let name = c.args.get(1).cloned().unwrap_or_default();
                self.git_hook(&sub, g, &r, &name);
            }
            "sparse-checkout" => self.git_sparse(&sub, &r, &c),
            "subtree" => {
                if let Some(p) = c.value(&["-P", "--prefix"])
                    && c.args.first().is_some_and(|a| matches!(a.as_str(), "add" | "merge" | "pull"))
                {
                    let p = join(&r.top, p);
                    self.act(&sub, ActKind::Write, &p, false, true);
                    self.fs.doubt(&p);
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
            "unpack-file" => {
                let top = r.top.clone();
                self.effect(&mut sub, 'd', &top, false);
            }
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

    fn git_clone(&mut self, sh: &mut Shell, c: &Call, g: &Global) {
        let Some(url) = c.args.first() else { return };
        let dir = c.args.get(1).cloned().unwrap_or_else(|| clone_name(url));
        let full = self.full(sh, &dir);
        // into a directory that has something, it refuses
        if self.fs.list(&full).is_some_and(|l| !l.is_empty()) {
            sh.status = Some(128);
            return;
        }
        self.by = "git clone".into();
        self.act(sh, ActKind::Create, &dir, false, false);
        self.cloned(sh, c, g, &full);
        if let Some(d) = c.value(&["--separate-git-dir"]) {
            let d = d.to_owned();
            self.act(sh, ActKind::Create, &d, false, false);
        }
        // from a work tree of this machine: its own commit
        let source = self.full(sh, url);
        let there = if source.contains(UNK) { None } else { self.repo(sh, &source, None, None) };
        match there.filter(|there| !there.top.is_empty() && there.top == self.fs.at(&source, true).path) {
            Some(there) => {
                let commit = c.value(&["-b", "--branch"]).unwrap_or("HEAD").to_owned();
                self.same_tree(sh, &dir, &there, &commit);
            }
            None => self.unknown_inside(sh, &dir),
        }
    }

    /// A directory that becomes a commit of a repository: much the same as its work tree; links that differ lead anywhere.
    fn same_tree(&mut self, sh: &Shell, dir: &str, r: &Repo, commit: &str) {
        let full = self.full(sh, dir);
        if full.contains(UNK) {
            return;
        }
        let Some(files) = self.differ(r, &[commit], None) else { return self.unknown_inside(sh, dir) };
        self.fs.leave(&full, false, Left::From(r.top.clone()));
        for f in files {
            let p = join(&full, &f);
            if self.git_plain.contains(&join(&r.top, &f)) {
                self.fs.leave(&p, false, Left::File(None));
            } else {
                self.fs.doubt(&p);
            }
        }
    }

    /// A directory that is new and whose content is not known: later words that lead into it can't be checked.
    pub(super) fn unknown_inside(&mut self, sh: &Shell, dir: &str) {
        let full = self.full(sh, dir);
        if !full.contains(UNK) {
            self.fs.leave(&full, false, Left::Dir);
            self.fs.doubt(&full);
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
            if !full.contains(UNK) {
                self.fs.leave(&full, false, Left::Dir);
            }
        }
        if let Some(d) = c.value(&["--separate-git-dir"]) {
            let d = d.to_owned();
            self.act(sh, ActKind::Create, &d, false, false);
        }
    }
}
