//! git takes the work tree to another state: `checkout`, `switch`, `restore`, `reset`, `checkout-index`.

use super::super::act::ActKind;
use super::engine::{Engine, UNK};
use super::gitask::{Repo, Specs};
use super::gitout;
use super::options::Call;
use super::picture::{join, tidy};
use super::state::Shell;

impl Engine<'_> {
    /// The work tree goes to another commit; without `force` it stays as it is where changes would be lost.
    pub(super) fn git_goto(&mut self, sh: &Shell, r: &Repo, target: &str, force: bool, merge: bool) {
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
        self.git_files(sh, r, &changed, false, &gitout::goto(target));
    }

    pub(super) fn git_checkout(&mut self, sh: &Shell, r: &Repo, c: &Call, rest: &[String]) {
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
        paths.extend(self.git_listed_paths(sh, r, c));
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
    pub(super) fn git_take_paths(&mut self, sh: &Shell, r: &Repo, source: Option<&str>, paths: &[String], overlay: bool) {
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
        self.git_files(sh, r, &hit, false, &gitout::paths());
    }

    pub(super) fn git_switch(&mut self, sh: &Shell, r: &Repo, c: &Call) {
        if c.has(&["--orphan"]) {
            let all = self.names(r, &["ls-files", "-z", "--full-name"]);
            let all = self.told(r, all).unwrap_or_default();
            self.git_removes(sh, r, &all, &gitout::orphan());
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

    pub(super) fn git_restore(&mut self, sh: &Shell, r: &Repo, c: &Call) {
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
        paths.extend(self.git_listed_paths(sh, r, c));
        let source = c.value(&["-s", "--source"]).map(str::to_owned).or_else(|| staged.then(|| "HEAD".to_owned()));
        self.git_take_paths(sh, r, source.as_deref(), &paths, c.has(&["--overlay"]) || source.is_none());
    }

    pub(super) fn git_reset(&mut self, sh: &Shell, r: &Repo, c: &Call) {
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
        let way_out = gitout::reset(&target, hard);
        self.git_files(sh, r, &clean, arriving, &way_out);
        self.git_files(sh, r, &dirty, false, &way_out);
    }

    pub(super) fn git_checkout_index(&mut self, sh: &Shell, r: &Repo, c: &Call) {
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
        self.git_files(sh, r, &files, false, &gitout::paths());
    }
}
