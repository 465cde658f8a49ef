//! Commands that copy, move, link, remove and make: the ones for which a row of the table is not enough.

use super::super::act::ActKind;
use super::call::{Call, remote};
use super::engine::{Engine, Shell, UNK, fd_path};
use super::picture::{self, Left, join, split};
use super::{Ground, Kind, pattern};

/// Most entries of a tree that is copied.
const MAX_TREE: usize = 3000;

/// Which files `rsync` takes.
#[derive(Clone, Copy, Debug)]
struct Only {
    /// Those that are at their destination, those that are not; none for both.
    there: Option<bool>,
    /// Also what looks the same by length and time.
    alike: bool,
}

impl Only {
    fn of(c: &Call) -> Self {
        let there = if c.has(&["--existing", "--ignore-non-existing"]) {
            Some(true)
        } else if c.has(&["--ignore-existing"]) {
            Some(false)
        } else {
            None
        };
        Self { there, alike: c.has(&["-I", "--ignore-times", "-c", "--checksum"]) }
    }

    fn takes(self, there: bool) -> bool {
        self.there.is_none_or(|wanted| wanted == there)
    }
}

/// The file that an address of the `file:` kind names.
fn local_file(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("file://")?;
    rest.strip_prefix("localhost").or_else(|| rest.strip_prefix("127.0.0.1")).unwrap_or(rest).starts_with('/').then_some(())?;
    rest.find('/').map(|i| &rest[i..])
}

impl Engine<'_> {
    /// Sources, and the target that each of them gets.
    fn pairs(&self, sh: &Shell, c: &Call) -> Vec<(String, String)> {
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

    /// Whether something stands at a name, the link itself where it is one.
    pub(crate) fn exists(&self, sh: &Shell, name: &str) -> bool {
        let full = self.full(sh, name);
        !full.contains(UNK) && self.fs.at(&full, false).kind.is_some()
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
                let (a, b) = (self.fs.at(&fa, true).path, self.fs.at(&fb, true).path);
                if let (Some(a), Some(b)) = (self.fs.meta(&a), self.fs.meta(&b))
                    && a.kind == Kind::File
                    && b.mtime >= a.mtime
                {
                    continue;
                }
            }
            let from = self.full(sh, &src);
            if !from.contains(UNK) && fd_path(&from).is_none() && self.fs.at(&from, false).kind.is_none() && self.out.unknown.is_empty() {
                continue;
            }
            if c.has(&["-s", "--symbolic-link"]) && !src.starts_with('/') && dst.contains('/') {
                // a relative link is made in the current directory only
                continue;
            }
            if c.has(&["-s", "--symbolic-link", "-l", "--link"]) {
                if self.exists(sh, &dst) && !c.has(&["-f", "--force", "-b", "--backup"]) {
                    continue;
                }
                self.act(sh, ActKind::Link, &dst, false, false);
                let full = self.full(sh, &dst);
                if c.has(&["-s", "--symbolic-link"]) {
                    self.fs.leave(&full, false, Left::Link(src));
                } else {
                    let from = self.full(sh, &src);
                    self.fs.leave(&full, false, Left::File(None));
                    self.fs.tie(&from, &full);
                }
                continue;
            }
            let replace = c.has(&["--remove-destination", "-b", "--backup"]);
            self.copy(sh, &src, &dst, deep, keep, replace);
        }
        sh.status = None;
    }

    /// Copies one thing, with all below where `deep`.
    fn copy(&mut self, sh: &mut Shell, src: &str, dst: &str, deep: bool, keep: bool, replace: bool) {
        let from = self.full(sh, src);
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

    /// Notes that a file becomes a copy of another.
    pub(crate) fn copied(&mut self, sh: &Shell, from: &str, to: &str, follow: bool) {
        // what the command itself has made is no copy of what anybody else made
        let ground = if self.fs.untouched(from) { Ground::Copied { from: from.into() } } else { Ground::Plain };
        let old = std::mem::replace(&mut self.ground, ground);
        self.act(sh, ActKind::Write, to, follow, false);
        self.ground = old;
    }

    fn copy_tree(&mut self, sh: &mut Shell, from: &str, dst: &str, budget: &mut usize, depth: u32) {
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
            if c.has(&["-u", "--update"])
                && let (Some(a), Some(b)) = (self.fs.meta(&self.fs.at(&from, false).path), self.fs.meta(&self.fs.at(&to, false).path))
                && a.kind == Kind::File
                && b.mtime >= a.mtime
            {
                continue;
            }
            let bare = src.trim_end_matches('/').to_owned();
            let dir = self.fs.at(&from, false).kind == Some(Kind::Dir);
            self.act(sh, ActKind::Rename, &bare, false, dir);
            let onto = self.fs.at(&to, false).kind == Some(Kind::Dir) && dir;
            self.act(sh, ActKind::Rename, dst.trim_end_matches('/'), false, onto);
            if !from.contains(UNK) && !to.contains(UNK) {
                self.fs.carry(&from, &to, false);
            }
        }
        sh.status = None;
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
                self.fs.leave(&to, false, Left::Link(target));
            } else {
                let from = self.full(sh, &src);
                let content = self.fs.text(&from).map(|t| super::expand::shared(&t));
                let real = self.fs.at(&from, true).path;
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

    pub(crate) fn rm(&mut self, sh: &mut Shell, c: &Call) {
        let deep = c.has(&["-r", "-R", "--recursive"]);
        let last = c.opts.iter().rev().find(|(o, _)| matches!(o.as_str(), "-i" | "-I" | "-f" | "--force" | "--interactive"));
        if let Some((o, v)) = last {
            let asks = o == "-i"
                || o == "--interactive" && v.as_deref().is_none_or(|v| v == "always" || v == "yes")
                || o == "-I" && (deep || c.args.len() > 3);
            if asks {
                let answer = self.take(sh, 0);
                if !answer.contains(UNK) && !answer.lines().any(|l| l.trim_start().starts_with(['y', 'Y'])) {
                    return;
                }
            }
        }
        let force = c.has(&["-f", "--force"]);
        let mut failed = false;
        for a in &c.args {
            let full = self.full(sh, a);
            if !full.contains(UNK) {
                let kind = self.fs.at(full.trim_end_matches('/'), false).kind;
                if kind == Some(Kind::Dir) && !deep && !(c.has(&["-d", "--dir"]) && self.fs.list(&full).is_some_and(|l| l.is_empty())) {
                    failed = true;
                    continue;
                }
                if matches!(split(a).1, "." | "..") {
                    failed = true;
                    continue;
                }
                if kind == Some(Kind::Link) && a.ends_with('/') {
                    // what is behind the link goes, the link stays
                    if deep {
                        self.act(sh, ActKind::Remove, a.trim_end_matches('/'), true, true);
                    }
                    failed = true;
                    continue;
                }
                if kind.is_none() && self.out.unknown.is_empty() {
                    failed |= !force;
                    continue;
                }
            }
            self.remove(sh, a, deep);
        }
        sh.status = if failed { Some(1) } else { None };
    }

    pub(crate) fn rmdir(&mut self, sh: &mut Shell, c: &Call) {
        for a in &c.args {
            let mut path = a.trim_end_matches('/').to_owned();
            loop {
                let full = self.full(sh, &path);
                let empty = self.fs.list(&full).is_some_and(|l| l.is_empty());
                if full.contains(UNK) || empty {
                    self.act(sh, ActKind::Remove, &path, false, false);
                    self.fs.leave(&full, false, Left::Gone);
                } else {
                    sh.status = Some(1);
                    break;
                }
                if !c.has(&["-p", "--parents"]) || !path.contains('/') {
                    break;
                }
                path = split(&path).0.to_owned();
            }
        }
    }

    fn make_dirs(&mut self, sh: &mut Shell, path: &str) {
        let full = self.full(sh, path);
        if !full.contains(UNK) && self.fs.at(&full, true).kind.is_some() {
            return;
        }
        // what is missing on the way is made as well
        let mut up: Vec<String> = Vec::new();
        let mut p = full.trim_end_matches('/').to_owned();
        while up.len() < 64 && p.len() > 1 {
            if self.fs.is_dir(&p) {
                break;
            }
            up.push(p.clone());
            p = split(&p).0.to_owned();
        }
        self.act(sh, ActKind::Create, path.trim_end_matches('/'), false, false);
        for p in up.iter().rev() {
            if !p.contains(UNK) && !p.ends_with("/..") && !p.ends_with("/.") {
                self.fs.leave(p, false, Left::Dir);
            }
        }
    }

    pub(crate) fn mkdir(&mut self, sh: &mut Shell, c: &Call) {
        let parents = c.has(&["-p", "--parents"]);
        sh.status = Some(0);
        for a in &c.args {
            if parents {
                self.make_dirs(sh, a);
                continue;
            }
            let full = self.full(sh, a.trim_end_matches('/'));
            if !full.contains(UNK) {
                let parent = split(&full).0.to_owned();
                if self.fs.at(&full, false).kind.is_some() || !self.fs.is_dir(&parent) && self.out.unknown.is_empty() {
                    sh.status = Some(1);
                    continue;
                }
            }
            self.effect(sh, 'D', a.trim_end_matches('/'), false);
        }
    }

    pub(crate) fn mktemp(&mut self, sh: &mut Shell, c: &Call) {
        let template = c.args.first().map_or("tmp.XXXXXXXXXX", String::as_str);
        let tmp = self.var(sh, "TMPDIR").filter(|t| !t.is_empty()).unwrap_or_else(|| "/tmp".into());
        let x = template.trim_end_matches('X').len();
        let name = match template.find("XXX") {
            Some(i) => {
                let end = i + template[i..].chars().take_while(|ch| *ch == 'X').count();
                format!("{}{UNK}{}", &template[..i], &template[end..])
            }
            None => template[..x].to_owned(),
        };
        let dir =
            c.value(&["-p", "--tmpdir"]).map(str::to_owned).or_else(|| (c.args.is_empty() || c.has(&["-t", "--tmpdir"])).then_some(tmp));
        let path = match dir {
            Some(d) => join(&d, &name),
            None => name,
        };
        if !c.has(&["-u", "--dry-run"]) {
            // the name is not known, the place is: nothing is left open by that
            let before = self.out.unknown.len();
            self.act(sh, ActKind::Create, &path, false, false);
            if self.full(sh, split(&path).0).starts_with('/') && !split(&path).0.contains(UNK) {
                self.out.unknown.truncate(before);
            }
            let full = self.full(sh, &path);
            self.fs.leave(&full, false, if c.has(&["-d", "--directory"]) { Left::Dir } else { Left::File(Some("".into())) });
        }
        self.put(sh, 1, &format!("{path}\n"));
        sh.status = Some(0);
    }

    pub(crate) fn touch(&mut self, sh: &mut Shell, c: &Call) {
        for a in &c.args {
            let full = self.full(sh, a);
            if c.has(&["-h", "--no-dereference"]) {
                self.act(sh, ActKind::Mode, a, false, false);
                continue;
            }
            if c.has(&["-c", "--no-create"]) && !full.contains(UNK) && self.fs.what(&full).is_none() {
                continue;
            }
            self.effect(sh, 'U', a, false);
        }
        sh.status = None;
    }

    pub(crate) fn chmod(&mut self, sh: &mut Shell, c: &Call, argv: &[String], owner: bool) {
        // `chmod -x f` is a mode, not an option
        let is_mode = |a: &str| a.len() > 1 && a.starts_with('-') && a[1..].chars().all(|ch| "rwxXst,+=ugoa-".contains(ch));
        let attr = |a: &str| c.name == "chattr" && a.starts_with(['+', '-', '=']) && !matches!(a, "-R" | "-V" | "-f" | "-v" | "-p");
        let dashed = !owner && argv.iter().skip(1).any(|a| is_mode(a)) || argv.iter().skip(1).any(|a| attr(a));
        let mut args: Vec<&String> = c.args.iter().filter(|a| !attr(a)).collect();
        if !dashed && !c.has(&["--reference"]) && !args.is_empty() {
            args.remove(0);
        }
        let below = c.has(&["-R", "--recursive"]);
        let mode = if owner || c.name == "chattr" || c.has(&["--reference"]) {
            None
        } else {
            argv.iter().skip(1).find(|a| is_mode(a)).cloned().or_else(|| c.args.first().cloned())
        };
        for a in args {
            if let Some(m) = &mode {
                let full = self.full(sh, a);
                let mut budget = 2000;
                if !full.contains(UNK) && self.mode_is(&full, m, below, true, &mut budget) == Some(true) {
                    continue;
                }
            }
            if self.full(sh, a).contains(UNK) || self.exists(sh, a) || !self.out.unknown.is_empty() {
                let follow = !(c.has(&["-h", "--no-dereference"]) || owner && below && !a.ends_with('/') && !c.has(&["-H", "-L"]));
                self.act(sh, ActKind::Mode, a, follow, below);
            }
        }
    }

    /// Whether a mode would change nothing; `None` where that is not known.
    fn mode_is(&mut self, full: &str, mode: &str, below: bool, top: bool, budget: &mut usize) -> Option<bool> {
        *budget = budget.checked_sub(1)?;
        let at = self.fs.at(full, top);
        if at.kind == Some(Kind::Link) {
            return Some(true);
        }
        let m = self.fs.meta(&at.path)?;
        let old = m.mode & 0o7777;
        let dir = m.kind == Kind::Dir;
        if new_mode(mode, old, dir)? != old {
            return Some(false);
        }
        if below && dir {
            let names = self.fs.list(&at.path)?;
            for (n, _) in names.iter() {
                if self.mode_is(&join(&at.path, n), mode, true, false, budget)? {
                    continue;
                }
                return Some(false);
            }
        }
        Some(true)
    }

    pub(crate) fn dd(&mut self, sh: &mut Shell, argv: &[String]) {
        let get = |k: &str| argv.iter().rev().find_map(|a| a.strip_prefix(k));
        let text = match get("if=") {
            Some(f) => self.content(sh, f),
            None => self.take(sh, 0),
        };
        match get("of=") {
            Some(f) => self.write_text(sh, f, &text),
            None => self.put(sh, 1, if text.is_empty() { "" } else { &text }),
        }
    }

    pub(crate) fn rename(&mut self, sh: &mut Shell, c: &Call) {
        if c.has(&["-n", "--no-act", "--nono", "--just-print", "--dry-run"]) {
            return;
        }
        // Perl's takes an expression, util-linux's two texts; either way the rest are files
        let perl = c.args.first().is_some_and(|a| a.contains(['/', '|', '$', '_']) && !self.exists(sh, a)) || c.has(&["-e"]);
        let files = c
            .args
            .get(
                if c.has(&["-e"]) {
                    0
                } else if perl {
                    1
                } else {
                    2
                }..,
            )
            .unwrap_or(&[]);
        for f in files {
            let to = if perl {
                let expr = c.value(&["-e"]).unwrap_or(c.args[0].as_str()).to_owned();
                super::sed::substitute_once(&expr, f)
            } else {
                Some(f.replacen(&c.args[0], &c.args[1], 1))
            };
            if to.as_deref() == Some(f.as_str()) {
                continue;
            }
            self.act(sh, ActKind::Rename, f, false, false);
            if let Some(t) = to {
                self.act(sh, ActKind::Rename, &t, false, false);
            }
        }
    }

    /// Functions and statements of SQL that write other files than the database.
    fn sql_files(&mut self, sh: &mut Shell, text: &str) {
        let low = text.to_ascii_lowercase();
        for word in ["writefile", "vacuum into", "into outfile", "into dumpfile", "edit("] {
            for (at, _) in low.match_indices(word) {
                match text[at..].split('\'').nth(1).filter(|_| word != "edit(") {
                    Some(file) => self.effect(sh, 'W', file, false),
                    None => self.unknown("a file that a query writes", word),
                }
            }
        }
    }

    pub(crate) fn sqlite(&mut self, sh: &mut Shell, c: &Call) {
        let memory = ":memory:".to_owned();
        let db = c.args.first().unwrap_or(&memory);
        // options with a text, and a script, come before what follows the name
        let mut lines: Vec<String> = c.values(&["-cmd"]).into_iter().map(str::to_owned).collect();
        if let Some(script) = c.value(&["-init"]) {
            let text = self.content(sh, script);
            lines.extend(text.lines().map(str::to_owned));
        }
        if c.args.len() < 2 {
            let input = self.take(sh, 0);
            lines.extend(input.lines().map(str::to_owned));
        } else {
            lines.extend(c.args[1..].iter().flat_map(|arg| arg.lines()).map(str::to_owned));
        }
        let mut text = lines.join("\n");
        let mut i = 0;
        while i < lines.len() && i < 2_000 {
            let dot = lines[i].trim().to_owned();
            i += 1;
            let Some((word, rest)) = dot.strip_prefix('.').map(|dot| dot.split_once(' ').unwrap_or((dot, ""))) else { continue };
            // a command may be cut short where that says enough
            let is = |name: &str, least: usize| word.len() >= least && name.starts_with(word);
            let last = rest.split_ascii_whitespace().next_back().unwrap_or("").trim_matches(['"', '\'']).to_owned();
            if ["output", "once", "backup", "save", "clone", "log", "excel", "trace", "testcase"].iter().any(|name| is(name, 2)) {
                match rest.trim().strip_prefix('|') {
                    Some(program) => self.effect(sh, 'Y', program, false),
                    None if matches!(last.as_str(), "" | "off" | "on" | "stdout" | "stderr") => {}
                    None => self.effect(sh, 'W', &last, false),
                }
            } else if is("shell", 2) || is("system", 2) {
                self.effect(sh, 'Y', rest, false);
            } else if is("read", 3) {
                let script = self.content(sh, &last);
                text.push_str(&script);
                lines.extend(script.lines().map(str::to_owned));
            } else if is("load", 2) {
                self.unknown("a library that can do anything", &last);
            } else if is("cd", 2) {
                self.unknown("where a program goes on in its own words", &dot);
            }
        }
        self.sql_files(sh, &text);
        let low = text.to_lowercase();
        let changes = [
            "create",
            "insert",
            "update",
            "delete",
            "drop",
            "alter",
            "replace",
            "vacuum",
            "reindex",
            "pragma journal",
            "pragma user_version",
            ".import",
            ".restore",
            "begin",
        ]
        .iter()
        .any(|w| low.contains(w));
        if c.has(&["-readonly"]) || db == ":memory:" || db.contains("mode=ro") {
        } else if changes || text.contains(UNK) || !self.exists(sh, db.strip_prefix("file:").unwrap_or(db).split('?').next().unwrap_or(db))
        {
            let path = db.strip_prefix("file:").unwrap_or(db).split('?').next().unwrap_or(db).to_owned();
            self.effect(sh, 'W', &path, false);
        }
        if let Some(i) = low.find("attach")
            && let Some(q) = text[i..].split(['\'', '"']).nth(1)
        {
            let q = q.to_owned();
            self.effect(sh, 'W', &q, false);
        }
        if let Some(i) = low.find("vacuum into").or_else(|| low.find("writefile("))
            && let Some(q) = text[i..].split(['\'', '"']).nth(1)
        {
            let q = q.to_owned();
            self.effect(sh, 'W', &q, false);
        }
        self.put(sh, 1, &UNK.to_string());
    }

    pub(crate) fn curl(&mut self, sh: &mut Shell, marks: &str, c: &Call, argv: &[String]) {
        let dir = c.value(&["--output-dir"]).map(str::to_owned);
        let place = |p: &str| dir.as_deref().map_or_else(|| p.to_owned(), |d| join(d, p));
        for (o, v) in &c.opts {
            if let (true, Some(v)) = (matches!(o.as_str(), "-o" | "--output"), v) {
                // `#1` stands for what a glob in the address matched
                let v = match v.find('#') {
                    Some(i) if v[i + 1..].starts_with(|ch: char| ch.is_ascii_digit()) => format!("{}{UNK}", &v[..i]),
                    _ => v.clone(),
                };
                let p = place(&v);
                self.effect(sh, 'W', &p, false);
            }
        }
        if c.has(&["-O", "--remote-name", "--remote-name-all", "-J"]) {
            let urls: Vec<String> = c.args.iter().cloned().chain(c.values(&["--url"]).into_iter().map(str::to_owned)).collect();
            for u in urls {
                let path = u.split(['?', '#']).next().unwrap_or("");
                let n = path.rsplit('/').next().unwrap_or("").to_owned();
                if !n.is_empty() {
                    let p = place(&n);
                    self.effect(sh, 'W', &p, false);
                }
            }
        }
        let mut rest = c.clone();
        rest.opts.retain(|(o, _)| o != "-o" && o != "--output");
        self.effects(sh, marks, &rest);
        if c.has(&["-T", "--upload-file"]) {
            for url in c.args.iter().map(String::as_str).chain(c.values(&["--url"])).map(str::to_owned).collect::<Vec<_>>() {
                if let Some(path) = local_file(&url) {
                    let name = c.value(&["-T", "--upload-file"]).map_or("", |from| picture::split(from).1);
                    let path = if path.ends_with('/') { join(path, name) } else { path.to_owned() };
                    self.effect(sh, 'W', &path, false);
                }
            }
        }
        if let Some(k) = c.value(&["-K", "--config"]) {
            let t = if k == "-" { self.take(sh, 0) } else { self.content(sh, k) };
            for line in t.lines() {
                let line = line.trim().trim_start_matches('-');
                let (name, v) = line.split_once(['=', ':', ' ']).unwrap_or((line, ""));
                let v = v.trim_start_matches(['=', ':', ' ']).trim_matches('"').to_owned();
                let name = name.trim();
                // the row says which options name a file, in a list as well
                if let Some(e) = super::call::effect_of(marks, name) {
                    self.effect(sh, e, &v, false);
                }
                if matches!(name, "T" | "upload-file") {
                    self.unknown("where a list of options has a file go", k);
                }
            }
            if t.contains(UNK) {
                self.unknown("a list of options can't be read", k);
            }
        }
        if !c.has(&["-o", "--output", "-O", "--remote-name"]) {
            let file = argv.iter().find_map(|a| local_file(a)).map(str::to_owned);
            let text = file.map_or_else(|| UNK.to_string(), |f| self.content(sh, &f));
            self.put(sh, 1, &text);
        }
    }

    pub(crate) fn wget(&mut self, sh: &mut Shell, marks: &str, c: &Call) {
        self.effects(sh, marks, c);
        if c.has(&["--spider"]) {
            return;
        }
        let dir = c.value(&["-P", "--directory-prefix"]).map(str::to_owned);
        match c.value(&["-O", "--output-document"]) {
            Some("-") => self.put(sh, 1, &UNK.to_string()),
            Some(o) => {
                let o = o.to_owned();
                self.effect(sh, 'W', &o, false);
            }
            None => {
                for u in &c.args {
                    let path = u.split_once("://").map_or(u.as_str(), |x| x.1).split(['?', '#']).next().unwrap_or("");
                    let n = if path.contains('/') && !c.has(&["-r", "-m", "--recursive", "--mirror", "-x"]) {
                        path.rsplit('/').next().unwrap_or("")
                    } else {
                        ""
                    };
                    let n =
                        if n.is_empty() { if c.has(&["-r", "-m"]) { UNK.to_string() } else { "index.html".into() } } else { n.to_owned() };
                    let p = dir.as_deref().map_or_else(|| n.clone(), |d| join(d, &n));
                    self.effect(sh, 'W', &p, false);
                }
                if c.has(&["-i", "--input-file"]) {
                    self.effect(sh, 'd', dir.as_deref().unwrap_or("."), false);
                }
            }
        }
    }

    pub(crate) fn ffmpeg(&mut self, sh: &mut Shell, argv: &[String]) {
        let mut i = 1;
        let mut out: Option<&String> = None;
        while i < argv.len() {
            let a = argv[i].as_str();
            if a == "-i" {
                i += 2;
                continue;
            }
            if a.starts_with('-') && a.len() > 1 {
                let flag = matches!(
                    a,
                    "-y" | "-n" | "-vn" | "-an" | "-sn" | "-hide_banner" | "-nostdin" | "-shortest" | "-stats" | "-nostats" | "-re"
                );
                i += if flag { 1 } else { 2 };
                continue;
            }
            out = argv.get(i);
            if let Some(o) = out {
                let o = match o.find('%') {
                    Some(p) => format!("{}{UNK}", &o[..p]),
                    None => o.clone(),
                };
                self.effect(sh, 'W', &o, false);
            }
            i += 1;
        }
        let _ = out;
    }

    pub(crate) fn rsync(&mut self, sh: &mut Shell, marks: &str, c: &Call) {
        if c.has(&["-n", "--dry-run", "--list-only"]) {
            return;
        }
        self.effects(sh, marks, c);
        let Some((to, sources)) = c.args.split_last() else { return };
        if sources.is_empty() {
            return;
        }
        for d in c
            .values(&["--backup-dir", "-T", "--temp-dir", "--partial-dir"])
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
        if remote(to) {
            return;
        }
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
    fn alike(&self, sh: &Shell, from: &str, to: &str) -> bool {
        let meta = |path: &str| self.fs.meta(&self.fs.at(path, false).path).filter(|meta| meta.kind == Kind::File);
        matches!((meta(from), meta(&self.full(sh, to))), (Some(a), Some(b)) if (a.len, a.mtime, a.mode) == (b.len, b.mtime, b.mode))
    }

    #[expect(clippy::too_many_arguments, reason = "a walk that carries its rules along")]
    fn rsync_tree(
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
                }
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a walk that carries its rules along")]
    fn rsync_delete(
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

/// The bits that `chmod` would set; `None` for forms that are not read here.
fn new_mode(mode: &str, old: u32, dir: bool) -> Option<u32> {
    if let Ok(n) = u32::from_str_radix(mode, 8) {
        return Some(if dir { n | old & 0o6000 } else { n });
    }
    let mut bits = old;
    for clause in mode.split(',') {
        let op_at = clause.find(['+', '-', '='])?;
        let (who, rest) = clause.split_at(op_at);
        let mut mask = 0;
        for w in who.chars() {
            mask |= match w {
                'u' => 0o700,
                'g' => 0o070,
                'o' => 0o007,
                'a' => 0o777,
                _ => return None,
            };
        }
        // without "who" the umask counts; the usual one
        let mask = if who.is_empty() { 0o777 } else { mask };
        let masked = who.is_empty();
        let op = rest.chars().next()?;
        let mut set = 0;
        for p in rest[1..].chars() {
            set |= match p {
                'r' => 0o444,
                'w' => 0o222,
                'x' => 0o111,
                'X' if dir || old & 0o111 != 0 => 0o111,
                'X' => 0,
                _ => return None,
            };
        }
        let set = set & mask & if masked { !0o022 } else { !0 };
        bits = match op {
            '+' => bits | set,
            '-' => bits & !set,
            _ => bits & !mask | set,
        };
    }
    Some(bits)
}

/// Whether rsync's excludes leave a path out.
fn left_out(kept: &[String], rel: &str, dir: bool) -> bool {
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
