//! git brings commits in: `merge`, `pull`, `rebase`, `cherry-pick`, `revert`, and what of it is others' work arriving.

use super::engine::{Engine, UNK};
use super::gitask::Repo;
use super::gitout;
use super::options::Call;
use super::state::Shell;

impl Engine<'_> {
    /// Whether going to a commit is a fast-forward.
    pub(super) fn forward(&mut self, r: &Repo, target: &str) -> bool {
        self.counts(r, target).is_some_and(|(left, _)| left == 0)
    }

    /// Commits that only this side has, and that only the other has.
    pub(super) fn counts(&mut self, r: &Repo, target: &str) -> Option<(u32, u32)> {
        let range = format!("HEAD...{target}");
        let t = self.word(r, &["rev-list", "--left-right", "--count", &range, "--"])?;
        let (a, b) = t.split_once('\t')?;
        Some((a.parse().ok()?, b.parse().ok()?))
    }

    pub(super) fn is_upstream(&mut self, r: &Repo, target: &str) -> bool {
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

    pub(super) fn dirty(&mut self, r: &Repo) -> Vec<String> {
        self.status(r, false).unwrap_or_default().into_iter().filter(super::gitask::Line::tracked).map(|l| l.path).collect()
    }

    pub(super) fn git_merge(&mut self, sh: &Shell, r: &Repo, c: &Call) {
        if c.has(&["--continue", "--quit"]) || matches!(c.value(&["-s", "--strategy"]), Some("ours")) {
            return;
        }
        if c.has(&["--abort"]) {
            let d: Vec<String> =
                self.status(r, false).unwrap_or_default().into_iter().filter(|l| l.tracked() && l.index != ' ').map(|l| l.path).collect();
            self.git_files(sh, r, &d, false, &gitout::abort("git merge"));
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
    pub(super) fn git_bring(&mut self, sh: &Shell, r: &Repo, t: &str, ff_only: bool, no_ff: bool, autostash: bool) {
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
            self.git_files(sh, r, &dirty, false, &gitout::autostash());
        } else if dirty.iter().any(|d| files.contains(d)) {
            self.unknown("git would refuse: uncommitted changes", &r.verb);
            return;
        }
        let arriving = left == 0 && !no_ff && self.is_upstream(r, t);
        self.git_files(sh, r, &files, arriving, &gitout::bring(t));
    }

    pub(super) fn git_pull(&mut self, sh: &Shell, r: &Repo, c: &Call) {
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
    pub(super) fn git_onto(&mut self, sh: &Shell, r: &Repo, onto: &str, autostash: bool) {
        let counts = self.counts(r, onto);
        let Some((left, right)) = self.told(r, counts) else { return };
        let dirty = self.dirty(r);
        if !dirty.is_empty() && !autostash {
            self.unknown("git would refuse: uncommitted changes", &r.verb);
            return;
        }
        if autostash {
            self.git_files(sh, r, &dirty, false, &gitout::autostash());
        }
        if right == 0 {
            return;
        }
        let d = self.differ(r, &["HEAD", onto], None);
        let d = self.told(r, d).unwrap_or_default();
        let arriving = left == 0 && self.is_upstream(r, onto);
        self.git_files(sh, r, &d, arriving, &gitout::bring(onto));
    }

    pub(super) fn git_rebase(&mut self, sh: &mut Shell, r: &Repo, c: &Call) {
        if c.has(&["--continue", "--skip", "--quit", "--edit-todo", "--show-current-patch"]) {
            self.unknown("what is left of a rebase is not known", "git rebase");
            return;
        }
        if c.has(&["--abort"]) {
            let d = self.dirty(r);
            self.git_files(sh, r, &d, false, &gitout::abort("git rebase"));
            let d = self.differ(r, &["HEAD", "ORIG_HEAD"], None).unwrap_or_default();
            self.git_files(sh, r, &d, false, &gitout::abort("git rebase"));
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

    pub(super) fn git_pick(&mut self, sh: &Shell, r: &Repo, c: &Call, revert: bool) {
        if c.has(&["--continue", "--quit", "--skip"]) {
            return;
        }
        if c.has(&["--abort"]) {
            let d = self.dirty(r);
            self.git_files(sh, r, &d, false, &gitout::abort(&r.verb));
            return;
        }
        let dirty = self.dirty(r);
        let mut commits = c.args.clone();
        if c.has(&["--stdin"]) {
            commits.extend(self.take(sh, 0).split_whitespace().map(str::to_owned));
        }
        if c.has(&["--all", "--branches", "--tags", "--remotes", "--glob", "--not"])
            || commits.iter().any(|t| t.starts_with('^') || t.contains(UNK))
        {
            self.unknown("which commits are taken is not known", &r.verb);
        }
        for t in &commits {
            let files = if t.contains("..") {
                self.changed(
                    r,
                    &["log", "--format=", "--raw", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--max-count=500", t, "--"],
                )
            } else {
                let parent = format!("{t}^");
                self.differ(r, &[&parent, t], None).or_else(|| {
                    self.changed(r, &["show", "--format=", "--raw", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", t, "--"])
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
            self.git_files(sh, r, &files, false, &gitout::pick(t));
        }
    }
}
