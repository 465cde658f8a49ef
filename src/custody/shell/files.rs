//! Commands that copy, move, link, remove and make: the ones for which a row of the table is not enough.

use super::super::act::ActKind;
use super::Kind;
use super::engine::{Engine, UNK};
use super::options::Call;
use super::picture::{Left, join, split};
use super::state::Shell;

impl Engine<'_> {
    /// Whether something stands at a name, the link itself where it is one.
    pub(crate) fn exists(&self, sh: &Shell, name: &str) -> bool {
        let full = self.full(sh, name);
        !full.contains(UNK) && self.fs.at(&full, false).kind.is_some()
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

    pub(super) fn make_dirs(&mut self, sh: &mut Shell, path: &str) {
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
            if c.has(&["-d", "-t", "-r", "--date", "--reference"]) {
                let told = c.value(&["-d", "--date"]).and_then(|date| date.strip_prefix('@')?.parse::<i64>().ok());
                match (c.value(&["-r", "--reference"]).map(str::to_owned), told) {
                    (Some(other), _) => {
                        let other = self.full(sh, &other);
                        self.fs.kept_time(&other, &full);
                    }
                    (None, told) => self.fs.dated(&full, told),
                }
            }
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
