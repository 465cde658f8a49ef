//! `rsync`, followed over the picture of the disk.

use super::super::act::ActKind;
use super::call::remote;
use super::copy::MAX_TREE;
use super::engine::{Engine, UNK};
use super::options::Call;
use super::picture::{self, Left, NANOS, join, split};
use super::state::Shell;
use super::{Kind, pattern};

/// What becomes of the links that `rsync` comes upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Links {
    /// They are left out.
    Left,
    /// They are made again.
    Kept,
    /// What they lead to is copied.
    Followed,
}

/// What `rsync` takes, and how.
#[derive(Debug)]
struct Takes {
    /// Those that are at their destination, those that are not; none for both.
    there: Option<bool>,
    /// Also what looks the same by length and time.
    alike: bool,
    links: Links,
    /// What links to directories lead to is copied.
    dirs: bool,
    /// Links that lead out of the tree are left out.
    safe: bool,
    /// A link to a directory at the destination is as good as one.
    through: bool,
    /// What is the same in one of these becomes one file with it.
    twins: Vec<String>,
    /// Whether it is the same is told in another way than by length, time and mode.
    loose: bool,
    /// Rules for names that are left out.
    kept: Vec<String>,
}

/// A walk over what is copied.
struct Walk {
    takes: Takes,
    /// Names below the destination that were brought there.
    copied: Vec<String>,
    budget: usize,
}

impl Takes {
    fn of(c: &Call, twins: Vec<String>, kept: Vec<String>) -> Self {
        let there = if c.has(&["--existing", "--ignore-non-existing"]) {
            Some(true)
        } else if c.has(&["--ignore-existing"]) {
            Some(false)
        } else {
            None
        };
        let links = if c.has(&["-L", "--copy-links"]) {
            Links::Followed
        } else if c.has(&["-a", "-l", "--archive", "--links"]) && !c.has(&["--no-links", "--no-l"]) {
            Links::Kept
        } else {
            Links::Left
        };
        Self {
            there,
            alike: c.has(&["-I", "--ignore-times", "-c", "--checksum"]),
            links,
            dirs: c.has(&["-k", "--copy-dirlinks"]),
            safe: c.has(&["--safe-links"]),
            through: c.has(&["-K", "--keep-dirlinks"]),
            twins,
            loose: c.has(&["-c", "--checksum", "--size-only", "--modify-window", "-@", "--no-perms", "--no-p"]),
            kept,
        }
    }
}

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
        let full = self.full(sh, to);
        let takes = Takes::of(c, c.values(&["--link-dest"]).into_iter().map(|dir| join(&full, dir)).collect(), kept);
        if !takes.twins.is_empty() && (takes.loose || c.args.iter().any(|word| remote(word))) {
            self.fs.doubt(&full);
        }
        let list = c.value(&["--files-from"]).map(str::to_owned).map(|f| if f == "-" { self.take(sh, 0) } else { self.content(sh, &f) });
        let deep = c.has(&["-r", "-a", "--recursive", "--archive", "-d", "--dirs"]);
        let relative = c.has(&["-R", "--relative"]);
        let mut walk = Walk { takes, copied: Vec::new(), budget: MAX_TREE };
        for s in sources {
            if remote(s) || s.contains(UNK) {
                self.act(sh, ActKind::Create, &join(to, &UNK.to_string()), true, false);
                continue;
            }
            if let Some(l) = &list {
                if l.contains(UNK) {
                    self.unknown("a list of files is not known", s);
                    self.fs.doubt(&full);
                }
                for name in l.split(['\n', '\0']).filter(|n| !n.is_empty()) {
                    let name = picture::tidy(name);
                    self.rsync_above(sh, to, &name[1..]);
                    let from = self.full(sh, &join(s, &name[1..]));
                    self.rsync_one(sh, &from, to, &name[1..], deep && !c.has(&["-a"]), &mut walk, 0);
                }
                continue;
            }
            let from = self.full(sh, s);
            let inside = s.ends_with('/') || s.ends_with("/.") || s == ".";
            let kind = self.fs.at(&from, inside).kind;
            let within = self.fs.is_dir(&full) || to.ends_with('/') || sources.len() > 1;
            if c.has(&["--mkpath"]) {
                let dir = if within || kind == Some(Kind::Dir) { to } else { split(to).0 };
                self.make_dirs(sh, dir);
            }
            let base = if relative {
                // what stands behind `/./` is made anew there
                let named = s.split_once("/./").map_or(s.as_str(), |parts| parts.1);
                let named = picture::tidy(named)[1..].to_owned();
                self.rsync_above(sh, to, &named);
                named
            } else if inside {
                String::new()
            } else {
                split(s).1.to_owned()
            };
            if kind == Some(Kind::Dir) && !deep {
                continue;
            }
            if base.is_empty() || kind == Some(Kind::Dir) || relative || within {
                if !self.fs.is_dir(&full) && !full.contains(UNK) {
                    self.effect(sh, 'D', to.trim_end_matches('/'), false);
                }
                self.rsync_one(sh, &from, to, &base, deep, &mut walk, 0);
            } else {
                let (dir, name) = split(to);
                self.rsync_one(sh, &from, dir, name, deep, &mut walk, 0);
            }
            if walk.budget == 0 {
                self.unknown("too many files", s);
            }
        }
        let (kept, copied) = (walk.takes.kept, walk.copied);
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
    fn alike(&self, from: &str, to: &str) -> bool {
        let meta = |path: &str| self.fs.meta(&self.fs.at(path, false).path).filter(|meta| meta.kind == Kind::File);
        matches!((meta(from), meta(to)), (Some(a), Some(b)) if (a.len, a.mtime / NANOS, a.mode) == (b.len, b.mtime / NANOS, b.mode))
    }

    /// The directories above a name that is made anew with its way.
    fn rsync_above(&mut self, sh: &mut Shell, to: &str, name: &str) {
        for (i, _) in name.match_indices('/') {
            let dir = join(to, &name[..i]);
            if self.what(sh, &dir) != Some(Kind::Dir) {
                self.effect(sh, 'D', &dir, false);
            }
        }
    }

    /// One thing is brought to a name below the destination; a directory with all in it, where `deep`.
    #[expect(clippy::too_many_arguments, reason = "a walk that carries its rules along")]
    fn rsync_one(&mut self, sh: &mut Shell, from: &str, to: &str, rel: &str, deep: bool, walk: &mut Walk, depth: u32) {
        if walk.budget == 0 || depth > 40 {
            walk.budget = 0;
            return;
        }
        walk.budget -= 1;
        if !rel.is_empty() {
            walk.copied.push(rel.to_owned());
        }
        let dst = if rel.is_empty() { to.to_owned() } else { join(to, rel) };
        let full = self.full(sh, &dst);
        let mut kind = self.fs.at(from, rel.is_empty()).kind;
        if kind == Some(Kind::Link) {
            let target = self.fs.link(&self.fs.at(from, false).path).map(|link| link.0);
            let outside = target.as_deref().is_none_or(|target| target.starts_with('/') || target.contains(".."));
            let dir = walk.takes.dirs && self.fs.is_dir(from);
            match walk.takes.links {
                _ if dir => kind = Some(Kind::Dir),
                Links::Left => return,
                Links::Kept if walk.takes.safe && outside => return,
                Links::Kept => {
                    if walk.takes.there.is_none_or(|wanted| wanted == self.exists(sh, &dst)) {
                        self.copied(sh, from, &dst, false);
                        self.fs.carry(from, &full, true);
                    }
                    return;
                }
                Links::Followed => kind = self.fs.what(from),
            }
        }
        if kind == Some(Kind::Dir) {
            // a link in the place of a directory makes way for one
            let there = self.fs.at(&full, false).kind;
            if there == Some(Kind::Link) && !rel.is_empty() && !walk.takes.through {
                self.remove(sh, &dst, false);
            }
            if !self.exists(sh, &dst) {
                if walk.takes.there == Some(true) {
                    return;
                }
                self.effect(sh, 'D', &dst, false);
            }
            if !deep {
                return;
            }
            let Some(names) = self.fs.list(from) else { return };
            for (name, kind) in names.iter() {
                let r = if rel.is_empty() { name.clone() } else { format!("{rel}/{name}") };
                if !left_out(&walk.takes.kept, &r, *kind == Kind::Dir) {
                    self.rsync_one(sh, &join(from, name), to, &r, deep, walk, depth + 1);
                }
            }
            return;
        }
        let there = self.exists(sh, &dst);
        if walk.takes.there.is_some_and(|wanted| wanted != there) || !walk.takes.alike && self.alike(from, &full) {
            return;
        }
        self.copied(sh, from, &dst, false);
        if full.contains(UNK) {
            return;
        }
        match kind {
            Some(Kind::File) => self.fs.copy_over(from, &full),
            _ => self.fs.leave(&full, false, Left::File(None)),
        }
        let twin = walk.takes.twins.iter().map(|dir| join(dir, rel)).find(|twin| !there && self.alike(from, twin));
        if let Some(twin) = twin {
            self.fs.tie(&twin, &full);
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
