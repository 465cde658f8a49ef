//! `rsync`, followed over the picture of the disk.

use super::super::act::ActKind;
use super::call::remote;
use super::copy::{MAX_TREE, Only};
use super::engine::{Engine, UNK};
use super::options::Call;
use super::picture::{self, NANOS, join, split};
use super::state::Shell;
use super::{Kind, pattern};

/// Whether rsync's excludes leave a path out.
pub(super) fn left_out(kept: &[String], rel: &str, dir: bool) -> bool {
    let name = picture::split(rel).1;
    let hit = |k: &str| {
        let (k, only_dir) = k.strip_suffix('/').map_or((k, false), |k| (k, true));
        if only_dir && !dir {
            return false;
        }
        match k.strip_prefix('/') {
            Some(top) => pattern::matches(top, rel),
            None if k.contains('/') => pattern::matches(k, rel) || pattern::matches(&format!("*/{k}"), rel),
            None => pattern::matches(k, name),
        }
    };
    for k in kept {
        match k.strip_prefix("+ ") {
            Some(k) if hit(k) => return false,
            None if hit(k) => return true,
            _ => {}
        }
    }
    false
}

impl Engine<'_> {
    pub(crate) fn rsync(&mut self, sh: &mut Shell, marks: &str, c: &Call) {
        if c.has(&["-n", "--dry-run", "--list-only"]) {
            return;
        }
        self.effects(sh, marks, c);
        let Some((to, sources)) = c.args.split_last() else { return };
        if sources.is_empty() {
            return;
        }
        // a directory for what is replaced is used where something is
        let replaced = c.args.iter().rev().skip(1).any(|from| {
            let dir = from.ends_with('/') || self.what(sh, from) != Some(Kind::File);
            dir || self.exists(sh, &join(to, split(from).1)) || self.what(sh, to) == Some(Kind::File)
        });
        let names: &[&str] = match (replaced, c.has(&["--delay-updates"])) {
            (true, true) => &["--backup-dir", "-T", "--temp-dir", "--partial-dir"],
            (true, false) => &["--backup-dir", "-T", "--temp-dir"],
            (false, true) => &["-T", "--temp-dir", "--partial-dir"],
            (false, false) => &["-T", "--temp-dir"],
        };
        for d in c
            .values(names)
            .into_iter()
            .map(|d| if self.what(sh, to) == Some(Kind::Dir) || to.ends_with('/') { join(to, d) } else { join(split(to).0, d) })
            .collect::<Vec<_>>()
        {
            if !remote(to) {
                self.effect(sh, 'd', &d, false);
            }
        }
        // rules in order: the first that matches decides; a plus in front lets through
        let kept: Vec<String> = c
            .opts
            .iter()
            .filter_map(|(o, v)| match (o.as_str(), v.as_deref()) {
                ("--exclude", Some(v)) => Some(v.to_owned()),
                ("--include", Some(v)) => Some(format!("+ {v}")),
                ("-f" | "--filter", Some(v)) => {
                    v.strip_prefix("- ").map(str::to_owned).or_else(|| v.starts_with("+ ").then(|| v.to_owned()))
                }
                _ => None,
            })
            .collect();
        let strange = c.has(&["--exclude-from", "--include-from"])
            || c.values(&["-f", "--filter"]).iter().any(|f| !f.starts_with("- ") && !f.starts_with("+ "));
        if let Some(s) = c.opts.iter().find(|o| o.0 == "--remove-source-files") {
            let _ = s;
            for s in sources.iter().filter(|s| !remote(s)) {
                self.act(sh, ActKind::Remove, s.trim_end_matches('/'), true, true);
            }
        }
        if c.args.iter().any(|word| remote(word)) {
            // the program that leads to the other machine; its words go on with the name of that
            let own = sh.vars.get("RSYNC_RSH").is_some_and(|var| var.exported).then(|| self.var(sh, "RSYNC_RSH")).flatten();
            if let Some(shell) = c.value(&["-e", "--rsh"]).map(str::to_owned).or(own).filter(|shell| !shell.is_empty()) {
                let words: Vec<String> =
                    super::environs::split(&shell).into_iter().chain(["host".to_owned(), "rsync".to_owned()]).collect();
                let mut sub = self.child(sh, true);
                self.call(&mut sub, words, false);
            }
        }
        if remote(to) {
            return;
        }
        if c.value(&["--link-dest"]).is_some() {
            let full = self.full(sh, to);
            self.fs.doubt(&full);
        }
        let links = c.has(&["-a", "-l", "--archive", "--links"]) && !c.has(&["-L", "--copy-links", "--no-links", "-k", "--copy-dirlinks"]);
        let list = c.value(&["--files-from"]).map(str::to_owned).map(|f| if f == "-" { self.take(sh, 0) } else { self.content(sh, &f) });
        let deep = c.has(&["-r", "-a", "--recursive", "--archive", "-d", "--dirs"]) || list.is_some();
        let mut copied: Vec<String> = Vec::new();
        for s in sources {
            if remote(s) || s.contains(UNK) {
                self.act(sh, ActKind::Create, &join(to, &UNK.to_string()), true, false);
                continue;
            }
            if let Some(l) = &list {
                for name in l.split(['\n', '\0']).filter(|n| !n.is_empty()) {
                    let name = name.trim_start_matches('/');
                    self.act(sh, ActKind::Write, &join(to, name), false, false);
                }
                continue;
            }
            let from = self.full(sh, s);
            let inside = s.ends_with('/') || s.ends_with("/.") || s == ".";
            if links && !inside && self.fs.at(&from, false).kind == Some(Kind::Link) {
                let full = self.full(sh, to);
                let within = self.fs.is_dir(&full) || to.ends_with('/') || sources.len() > 1;
                let dst = if within { join(to, split(s).1) } else { to.clone() };
                self.act(sh, ActKind::Link, &dst, false, false);
                let full = self.full(sh, &dst);
                self.fs.carry(&from, &full, true);
                continue;
            }
            match self.fs.what(&from) {
                Some(Kind::Dir) if deep => {
                    let base = if inside || c.has(&["-R"]) { String::new() } else { split(s).1.to_owned() };
                    let base = if c.has(&["-R", "--relative"]) { s.trim_start_matches('/').to_owned() } else { base };
                    let mut budget = MAX_TREE;
                    let only = Only::of(c);
                    self.rsync_tree(sh, &from, to, &base, &kept, only, &mut copied, &mut budget, 0);
                    if budget == 0 {
                        self.unknown("too many files", s);
                    }
                }
                Some(Kind::Dir) => {}
                _ => {
                    let full = self.full(sh, to);
                    let dst =
                        if self.fs.is_dir(&full) || to.ends_with('/') || sources.len() > 1 { join(to, split(s).1) } else { to.clone() };
                    if !Only::of(c).takes(self.exists(sh, &dst)) {
                        continue;
                    }
                    self.act(sh, ActKind::Write, &dst, false, false);
                }
            }
        }
        let deletes = c.opts.iter().any(|(o, _)| o.starts_with("--del"));
        if deletes && !strange {
            let full = self.full(sh, to);
            let roots: Vec<String> = sources
                .iter()
                .map(|s| if s.ends_with('/') || s.ends_with("/.") || s == "." { String::new() } else { split(s).1.to_owned() })
                .collect();
            for r in roots {
                let there = if r.is_empty() { full.clone() } else { join(&full, &r) };
                let mut budget = MAX_TREE;
                self.rsync_delete(sh, &there, &r, to, &kept, &copied, &mut budget, 0);
            }
        }
    }

    /// Whether `rsync` takes two files for the same without looking into them: length and time. The mode has to be the same as
    /// well, since that is brought along.
    pub(super) fn alike(&self, sh: &Shell, from: &str, to: &str) -> bool {
        let meta = |path: &str| self.fs.meta(&self.fs.at(path, false).path).filter(|meta| meta.kind == Kind::File);
        matches!((meta(from), meta(&self.full(sh, to))), (Some(a), Some(b)) if (a.len, a.mtime / NANOS, a.mode) == (b.len, b.mtime / NANOS, b.mode))
    }

    #[expect(clippy::too_many_arguments, reason = "a walk that carries its rules along")]
    pub(super) fn rsync_tree(
        &mut self,
        sh: &mut Shell,
        from: &str,
        to: &str,
        rel: &str,
        kept: &[String],
        only: Only,
        copied: &mut Vec<String>,
        budget: &mut usize,
        depth: u32,
    ) {
        let Some(names) = self.fs.list(from) else { return };
        if !rel.is_empty() {
            copied.push(rel.to_owned());
            let dst = join(to, rel);
            if !self.exists(sh, &dst) {
                if only.there == Some(true) {
                    return;
                }
                self.act(sh, ActKind::Create, &dst, false, false);
            }
        }
        for (name, kind) in names.iter() {
            if *budget == 0 || depth > 40 {
                return;
            }
            *budget -= 1;
            let r = if rel.is_empty() { name.clone() } else { format!("{rel}/{name}") };
            if left_out(kept, &r, *kind == Kind::Dir) {
                continue;
            }
            if *kind == Kind::Dir {
                self.rsync_tree(sh, &join(from, name), to, &r, kept, only, copied, budget, depth + 1);
            } else {
                copied.push(r.clone());
                let dst = join(to, &r);
                if only.takes(self.exists(sh, &dst)) && (only.alike || !self.alike(sh, &join(from, name), &dst)) {
                    self.copied(sh, &join(from, name), &dst, false);
                    if *kind == Kind::Link {
                        let full = self.full(sh, &dst);
                        self.fs.carry(&join(from, name), &full, true);
                    }
                }
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a walk that carries its rules along")]
    pub(super) fn rsync_delete(
        &mut self,
        sh: &mut Shell,
        there: &str,
        rel: &str,
        to: &str,
        kept: &[String],
        copied: &[String],
        budget: &mut usize,
        depth: u32,
    ) {
        let Some(names) = self.fs.list(there) else { return };
        for (name, kind) in names.iter() {
            if *budget == 0 || depth > 40 {
                return;
            }
            *budget -= 1;
            let r = if rel.is_empty() { name.clone() } else { format!("{rel}/{name}") };
            if left_out(kept, &r, *kind == Kind::Dir) {
                continue;
            }
            if copied.contains(&r) {
                if *kind == Kind::Dir {
                    self.rsync_delete(sh, &join(there, name), &r, to, kept, copied, budget, depth + 1);
                }
            } else {
                self.act(sh, ActKind::Remove, &join(to, &r), false, *kind == Kind::Dir);
            }
        }
    }
}
