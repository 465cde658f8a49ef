//! Copies: `cp`, `install`, and trees of them.

use super::super::act::ActKind;
use super::deeds::fd_path;
use super::engine::{Engine, UNK};
use super::options::Call;
use super::picture::{Left, join, split};
use super::state::{Fd, Shell};
use super::{Ground, Kind};

/// Most entries of a tree that is copied.
pub(super) const MAX_TREE: usize = 3000;

impl Engine<'_> {
    /// Sources, and the target that each of them gets.
    pub(super) fn pairs(&self, sh: &Shell, c: &Call) -> Vec<(String, String)> {
        let into = |dir: &str, src: &str| {
            let n = split(src).1;
            let n = if n == "." || n == ".." { "." } else { n };
            (src.to_owned(), join(dir, n))
        };
        if let Some(dir) = c.value(&["-t", "--target-directory"]) {
            return c.args.iter().map(|s| into(dir, s)).collect();
        }
        let Some((to, sources)) = c.args.split_last() else { return Vec::new() };
        let full = self.full(sh, to);
        let dir = !c.has(&["-T", "--no-target-directory"])
            && (self.fs.is_dir(&full)
                || sources.len() > 1
                || to.ends_with('/') && sources.iter().any(|s| self.what(sh, s) != Some(Kind::Dir)));
        if dir { sources.iter().map(|s| into(to, s)).collect() } else { sources.iter().map(|s| (s.clone(), to.clone())).collect() }
    }

    pub(crate) fn cp(&mut self, sh: &mut Shell, c: &Call) {
        let deep = c.has(&["-r", "-R", "-a", "--recursive", "--archive"]);
        let keep = c.has(&["-P", "-a", "-d", "--no-dereference", "--archive"]) || deep && !c.has(&["-L", "--dereference", "-H"]);
        let gentle = c.has(&["-n", "--no-clobber"]) || c.value(&["--update"]) == Some("none");
        let newer = c.has(&["-u"]) || c.has(&["--update"]) && !gentle;
        for (src, mut dst) in self.pairs(sh, c) {
            if c.has(&["--parents"]) {
                let dir = c.value(&["-t"]).map(str::to_owned).or_else(|| c.args.last().cloned()).unwrap_or_default();
                dst = join(&dir, src.trim_start_matches('/'));
            }
            if gentle && self.exists(sh, &dst) && self.what(sh, &src) != Some(Kind::Dir) {
                continue;
            }
            if newer {
                let (fa, fb) = (self.full(sh, &src), self.full(sh, &dst));
                let (here, there) = (self.fs.at(&fa, true).path, self.fs.at(&fb, true).path);
                if let (Some(a), Some(_)) = (self.fs.meta(&here), self.fs.meta(&there))
                    && a.kind == Kind::File
                    && self.fs.newer(&here, &there) == Some(false)
                {
                    continue;
                }
            }
            let from = self.full(sh, &src);
            if !from.contains(UNK) && fd_path(&from).is_none() && self.fs.at(&from, false).kind.is_none() && self.out.unknown.is_empty() {
                continue;
            }
            let to = self.full(sh, &dst);
            let one = |from: &str, to: &str| self.fs.at(from, !keep).path == self.fs.at(to, true).path;
            if !from.contains(UNK)
                && !to.contains(UNK)
                && !c.has(&["--remove-destination", "-b", "--backup", "-f", "-l", "-s"])
                && one(&from, &to)
            {
                // a file is not copied onto itself
                continue;
            }
            if c.has(&["-s", "--symbolic-link"]) && !src.starts_with('/') && dst.contains('/') {
                // a relative link is made in the current directory only
                continue;
            }
            if c.has(&["-s", "--symbolic-link", "-l", "--link"]) {
                let tree = deep && self.what(sh, &src) == Some(Kind::Dir);
                if self.exists(sh, &dst) && !tree && !c.has(&["-f", "--force", "-b", "--backup"]) {
                    continue;
                }
                let mut budget = MAX_TREE;
                self.link_tree(sh, &src, &dst, c.has(&["-s", "--symbolic-link"]), &mut budget);
                if budget == 0 {
                    self.unknown("too many files", &src);
                }
                continue;
            }
            let replace = c.has(&["--remove-destination", "-b", "--backup"]);
            self.copy(sh, &src, &dst, deep, keep, replace);
            if c.has(&["-p", "-a", "--archive", "--preserve"]) && !from.contains(UNK) && !to.contains(UNK) {
                self.fs.kept_time(&from, &to);
            }
        }
        sh.status = None;
    }

    /// Where a link of the kernel leads that stands for something of the process itself.
    fn magic_link(&self, sh: &Shell, src: &str) -> Option<String> {
        let path = join(&sh.cwd, src);
        if let Some((n, "")) = super::deeds::fd_name(&path) {
            return match sh.fd(n) {
                Fd::Read(file, _) | Fd::Both(file, _) | Fd::File(file) => Some(file),
                _ => None,
            };
        }
        let (process, name) = path.strip_prefix("/proc/")?.split_once('/')?;
        if !matches!(process, "self" | "thread-self") && !process.contains(UNK) {
            return None;
        }
        match name {
            "cwd" => Some(self.fs.at(&sh.cwd, true).path),
            "root" => Some("/".into()),
            _ => None,
        }
    }

    /// Copies one thing, with all below where `deep`.
    pub(super) fn copy(&mut self, sh: &mut Shell, src: &str, dst: &str, deep: bool, keep: bool, replace: bool) {
        let from = self.full(sh, src);
        if let Some(target) = self.magic_link(sh, src).filter(|_| keep) {
            self.act(sh, ActKind::Link, dst, false, false);
            let to = self.full(sh, dst);
            self.fs.leave(&to, false, Left::Link(target));
            return;
        }
        let kind = if from.contains(UNK) { None } else { self.fs.at(&from, !keep).kind };
        match kind {
            Some(Kind::Dir) => {
                if !deep {
                    return;
                }
                let mut budget = MAX_TREE;
                self.copy_tree(sh, &from, dst, &mut budget, 0);
                if budget == 0 {
                    self.unknown("too many files", src);
                }
            }
            Some(Kind::Link) if keep => {
                self.act(sh, ActKind::Link, dst, false, false);
                let to = self.full(sh, dst);
                self.fs.carry(&from, &to, true);
            }
            _ => {
                if replace {
                    self.act(sh, ActKind::Rename, dst, false, false);
                    return;
                }
                let to = self.full(sh, dst);
                if fd_path(&to).is_some() || fd_path(&from).is_some() {
                    let t = self.content(sh, src);
                    self.write_text(sh, dst, &t);
                } else {
                    self.write(sh, dst);
                    if self.fs.what(&to) == Some(Kind::File) && kind == Some(Kind::File) {
                        self.fs.copy_of(&from, &to);
                    }
                }
            }
        }
    }

    /// Links in place of a copy: each file of a tree by itself.
    fn link_tree(&mut self, sh: &mut Shell, src: &str, dst: &str, soft: bool, budget: &mut usize) {
        let (from, to) = (self.full(sh, src), self.full(sh, dst));
        if !from.contains(UNK) && self.fs.at(&from, false).kind == Some(Kind::Dir) {
            if to.contains(UNK) || !self.fs.is_dir(&to) {
                self.effect(sh, 'D', dst, false);
            }
            for (name, _) in self.fs.list(&from).iter().flat_map(|names| names.iter()) {
                if *budget == 0 {
                    return;
                }
                *budget -= 1;
                self.link_tree(sh, &join(src, name), &join(dst, name), soft, budget);
            }
            return;
        }
        let ground = if self.fs.untouched(&from) { Ground::Copied { from: from.clone().into() } } else { Ground::Plain };
        let old = std::mem::replace(&mut self.ground, ground);
        self.act(sh, ActKind::Link, dst, false, false);
        self.ground = old;
        if soft {
            self.fs.leave(&to, false, Left::Link(src.to_owned()));
        } else {
            self.fs.leave(&to, false, Left::File(None));
            self.fs.tie(&from, &to);
        }
    }

    /// Notes that a file becomes a copy of another.
    pub(crate) fn copied(&mut self, sh: &Shell, from: &str, to: &str, follow: bool) {
        // what the command itself has made is no copy of what anybody else made
        let ground = if self.fs.untouched(from) { Ground::Copied { from: self.fs.at(from, true).path.into() } } else { Ground::Plain };
        let old = std::mem::replace(&mut self.ground, ground);
        self.act(sh, ActKind::Write, to, follow, false);
        self.ground = old;
    }

    pub(super) fn copy_tree(&mut self, sh: &mut Shell, from: &str, dst: &str, budget: &mut usize, depth: u32) {
        let to = self.full(sh, dst);
        if !to.contains(UNK) && !self.fs.is_dir(&to) {
            self.effect(sh, 'D', dst, false);
        }
        let Some(names) = self.fs.list(from) else {
            self.act(sh, ActKind::Create, &join(dst, &UNK.to_string()), true, false);
            return;
        };
        for (name, kind) in names.iter() {
            if *budget == 0 || depth > 40 {
                *budget = 0;
                return;
            }
            *budget -= 1;
            let (s, d) = (join(from, name), join(dst, name));
            match kind {
                Kind::Dir => self.copy_tree(sh, &s, &d, budget, depth + 1),
                Kind::Link => {
                    self.act(sh, ActKind::Link, &d, false, false);
                    let to = self.full(sh, &d);
                    self.fs.carry(&s, &to, true);
                }
                _ => {
                    self.copied(sh, &s, &d, true);
                    let to = self.full(sh, &d);
                    self.fs.carry(&s, &to, true);
                }
            }
        }
    }

    pub(crate) fn mv(&mut self, sh: &mut Shell, c: &Call) {
        for (src, dst) in self.pairs(sh, c) {
            if c.has(&["-n", "--no-clobber"]) && self.exists(sh, &dst) {
                continue;
            }
            let (from, to) = (self.full(sh, &src), self.full(sh, &dst));
            if !from.contains(UNK) && self.fs.at(&from, false).kind.is_none() && self.out.unknown.is_empty() {
                continue;
            }
            let (here, there) = (self.fs.at(&from, false).path, self.fs.at(&to, false).path);
            if c.has(&["-u", "--update"])
                && let (Some(a), Some(_)) = (self.fs.meta(&here), self.fs.meta(&there))
                && a.kind == Kind::File
                && self.fs.newer(&here, &there) == Some(false)
            {
                continue;
            }
            let bare = src.trim_end_matches('/').to_owned();
            let dir = self.fs.at(&from, false).kind == Some(Kind::Dir);
            self.act(sh, ActKind::Rename, &bare, false, dir);
            let onto = self.fs.at(&to, false).kind == Some(Kind::Dir) && dir;
            self.act(sh, ActKind::Rename, dst.trim_end_matches('/'), false, onto);
            self.brings(sh, &from, dst.trim_end_matches('/'));
            if !from.contains(UNK) && !to.contains(UNK) {
                self.fs.carry(&from, &to, false);
            }
        }
        sh.status = None;
    }

    /// A directory comes to stand, or to be found, under a hidden name: what is in it is then read there as settings, whatever
    /// stood under that name before.
    fn brings(&mut self, sh: &Shell, from: &str, to: &str) {
        if !split(to).1.starts_with('.') || !self.fs.is_dir(from) {
            return;
        }
        let Some(names) = self.fs.list(from) else { return };
        for (name, kind) in names.iter().take(64) {
            if *kind != Kind::Dir {
                self.act(sh, ActKind::Create, &join(to, name), false, false);
            }
        }
    }

    pub(crate) fn ln(&mut self, sh: &mut Shell, c: &Call) {
        let force = c.has(&["-f", "--force", "-b", "--backup", "-i", "--interactive"]);
        let soft = c.has(&["-s", "--symbolic"]);
        let plain = c.has(&["-n", "--no-dereference", "-T", "--no-target-directory"]);
        let pairs = if c.args.len() == 1 && c.value(&["-t", "--target-directory"]).is_none() {
            vec![(c.args[0].clone(), split(&c.args[0]).1.to_owned())]
        } else if plain && c.args.len() == 2 && c.value(&["-t"]).is_none() {
            let to = self.full(sh, &c.args[1]);
            // a real directory still takes the link in
            if !c.has(&["-T", "--no-target-directory"]) && self.fs.at(&to, false).kind == Some(Kind::Dir) {
                self.pairs(sh, c)
            } else {
                vec![(c.args[0].clone(), c.args[1].clone())]
            }
        } else {
            self.pairs(sh, c)
        };
        for (src, dst) in pairs {
            if self.exists(sh, &dst) && !force {
                continue;
            }
            self.act(sh, ActKind::Link, &dst, false, false);
            let to = self.full(sh, &dst);
            if soft {
                let target = if c.has(&["-r", "--relative"]) { self.full(sh, &src) } else { src };
                let leads = join(split(&to).0, &target);
                self.brings(sh, &leads, &dst);
                // what leads to something of the process itself leads where this shell stands
                let target = if target.starts_with("/proc/") { self.full(sh, &target) } else { target };
                self.fs.leave(&to, false, Left::Link(target));
            } else {
                let from = self.full(sh, &src);
                let content = self.fs.text(&from).map(|t| super::expand::shared(&t));
                let real = self.fs.at(&from, true).path;
                self.fs.untie(&self.fs.at(&to, false).path);
                self.fs.leave(&to, false, Left::File(content));
                self.fs.tie(&real, &to);
            }
        }
        sh.status = None;
    }

    pub(crate) fn install(&mut self, sh: &mut Shell, c: &Call) {
        if c.has(&["-d", "--directory"]) {
            for a in &c.args {
                if c.has(&["-m", "--mode", "-o", "-g", "--owner", "--group"]) && self.exists(sh, a) {
                    self.act(sh, ActKind::Mode, a, true, false);
                } else {
                    self.make_dirs(sh, a);
                }
            }
            return;
        }
        for (src, dst) in self.pairs(sh, c) {
            let full = self.full(sh, &dst);
            if fd_path(&full).is_some() {
                continue;
            }
            self.act(sh, ActKind::Write, &dst, false, false);
            let from = self.full(sh, &src);
            self.fs.leave(&full, false, Left::File(None));
            if self.fs.what(&from) == Some(Kind::File) {
                self.fs.copy_of(&from, &full);
            }
        }
    }
}
