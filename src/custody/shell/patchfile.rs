//! Patches: the files that one names, and `patch` itself.

use super::super::act::ActKind;
use super::super::patch::{SectionKind, sections};
use super::engine::{Engine, UNK};
use super::options::Call;
use super::picture::Left;
use super::state::Shell;

/// One file that a patch changes, as it names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// The name before; none for a new file.
    pub(crate) old: Option<String>,
    /// The name after; none for a removed one.
    pub(crate) new: Option<String>,
    /// Where the link leads that the file is made; a marker where the patch does not say it as a whole.
    pub(crate) link: Option<String>,
}

/// A file name in a patch: up to a tab or a date, quotes taken off.
fn name(t: &str) -> Option<String> {
    let t = t.trim_end_matches('\r');
    let t = if let Some(q) = t.strip_prefix('"') {
        let c: Vec<char> = q.chars().collect();
        let end = c.iter().enumerate().position(|(i, x)| *x == '"' && (i == 0 || c[i - 1] != '\\')).unwrap_or(c.len());
        super::words::ansi_c(&c[..end])
    } else {
        let t = t.split('\t').next().unwrap_or(t);
        t.trim_end().to_owned()
    };
    if t == "/dev/null" || t.is_empty() { None } else { Some(t) }
}

/// The files that a patch changes.
pub(crate) fn changes(text: &str) -> Vec<Change> {
    let mut out: Vec<Change> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut i = 0;
    // lines of a hunk that are still to come: what looks like a header inside of one is none
    let (mut minus, mut plus) = (0usize, 0usize);
    while i < lines.len() && out.len() < 4000 {
        let l = lines[i];
        if minus > 0 || plus > 0 {
            match l.chars().next() {
                Some('-') => minus = minus.saturating_sub(1),
                Some('+') => plus = plus.saturating_sub(1),
                Some('\\') => {}
                _ => {
                    minus = minus.saturating_sub(1);
                    plus = plus.saturating_sub(1);
                }
            }
            i += 1;
            continue;
        }
        if let Some(h) = l.strip_prefix("@@ -") {
            let count = |s: &str| s.split_once(',').map_or(Some(1), |(_, n)| n.parse::<usize>().ok()).unwrap_or(1);
            let mut it = h.split(' ');
            minus = it.next().map_or(0, count);
            plus = it.next().map_or(0, |s| count(s.trim_start_matches('+')));
        } else if let Some(h) = l.strip_prefix("diff --git ") {
            // names come from the lines that follow; a pure mode change or an empty file has only this one
            let mut c = Change::default();
            if let Some(mid) = h.find(" b/") {
                c.old = name(&h[..mid]);
                c.new = name(&h[mid + 1..]);
            }
            let mut k = i + 1;
            let mut real = false;
            while k < lines.len() && !lines[k].starts_with("diff --git ") && !lines[k].starts_with("@@ ") {
                let m = lines[k];
                if m.ends_with(" 120000") && !m.starts_with("deleted ") && !m.starts_with("old ") {
                    let target = lines[k..].iter().take(8).find_map(|l| l.strip_prefix('+').filter(|t| !t.starts_with("++ ")));
                    c.link = Some(target.map_or_else(|| UNK.to_string(), str::to_owned));
                }
                if let Some(n) = m.strip_prefix("rename from ").or_else(|| m.strip_prefix("copy from ")) {
                    c.old = name(&format!("a/{n}")).filter(|_| m.starts_with("rename"));
                    real = true;
                } else if let Some(n) = m.strip_prefix("rename to ").or_else(|| m.strip_prefix("copy to ")) {
                    c.new = name(&format!("b/{n}"));
                    real = true;
                } else if let Some(n) = m.strip_prefix("--- ")
                    && lines.get(k + 1).is_some_and(|x| x.starts_with("+++ "))
                {
                    c.old = name(n);
                    c.new = lines.get(k + 1).and_then(|x| name(&x[4..]));
                    real = true;
                    k += 1;
                }
                k += 1;
            }
            let _ = real;
            out.push(c);
            i = k;
            continue;
        } else if l.starts_with("--- ") && lines.get(i + 1).is_some_and(|n| n.starts_with("+++ ")) {
            out.push(Change { old: name(&l[4..]), new: lines.get(i + 1).and_then(|n| name(&n[4..])), link: None });
            i += 2;
            continue;
        } else if l.starts_with("*** ") && lines.get(i + 1).is_some_and(|n| n.starts_with("--- ")) && !l.ends_with("****") {
            out.push(Change { old: name(&l[4..]), new: lines.get(i + 1).and_then(|n| name(&n[4..])), link: None });
            i += 2;
            continue;
        } else if let Some(n) = l.strip_prefix("Index: ")
            && !lines.iter().skip(i + 1).take(4).any(|x| x.starts_with("--- ") || x.starts_with("*** "))
        {
            out.push(Change { old: name(n), new: name(n), link: None });
        }
        i += 1;
    }
    out
}

/// Whether what a patch takes away stands in a file: the old side of each hunk, or the new one where `reverse`.
pub(crate) fn fits(text: &str, file_name: &str, content: &str, reverse: bool) -> bool {
    let mut here = false;
    let mut block = String::new();
    let mut ok = true;
    let (mut minus, mut plus) = (0usize, 0usize);
    let count = |s: &str| s.split_once(',').map_or(Some(1), |(_, n)| n.parse::<usize>().ok()).unwrap_or(1);
    for l in text.lines() {
        if minus == 0 && plus == 0 {
            if let Some(n) = l.strip_prefix("+++ ") {
                here = name(n).is_some_and(|n| file_name.ends_with(strip(&n, 1).as_deref().unwrap_or(&n)));
            } else if l.starts_with("--- ") || l.starts_with("diff --git ") {
                here = false;
            } else if let Some(h) = l.strip_prefix("@@ -") {
                let mut it = h.split(' ');
                minus = it.next().map_or(0, count);
                plus = it.next().map_or(0, |s| count(s.trim_start_matches('+')));
                block.clear();
            }
            continue;
        }
        let (kind, rest) = l.split_at(l.chars().next().map_or(0, char::len_utf8));
        match kind {
            "-" => minus = minus.saturating_sub(1),
            "+" => plus = plus.saturating_sub(1),
            "\\" => {}
            _ => {
                minus = minus.saturating_sub(1);
                plus = plus.saturating_sub(1);
            }
        }
        if kind != "\\" && kind != (if reverse { "-" } else { "+" }) {
            block.push_str(rest);
            block.push('\n');
        }
        if minus == 0 && plus == 0 && here {
            let b = block.trim_end_matches('\n');
            ok &= b.is_empty()
                || content == b
                || content.starts_with(&block)
                || content.contains(&format!("\n{block}"))
                || content.ends_with(&format!("\n{b}"))
                || content == block;
        }
    }
    ok
}

/// Takes leading components off.
pub(crate) fn strip(n: &str, level: usize) -> Option<String> {
    let mut rest = n;
    for _ in 0..level {
        rest = rest.split_once('/')?.1.trim_start_matches('/');
    }
    Some(rest.to_owned())
}

impl Engine<'_> {
    /// The patch tool of a harness, typed into a shell: the patch is its argument or its input.
    pub(crate) fn apply_patch(&mut self, sh: &mut Shell, c: &Call) {
        let text = match c.args.first() {
            Some(text) => text.clone(),
            None => self.take(sh, 0),
        };
        if text.contains(UNK) {
            self.unknown("a patch can't be read", "apply_patch");
        }
        for section in sections(&text).into_iter().take(4_000) {
            if section.to.is_some() {
                self.act(sh, ActKind::Rename, &section.path, false, true);
            }
            let kind = match section.kind {
                SectionKind::Add => ActKind::Create,
                SectionKind::Update => ActKind::Write,
                SectionKind::Delete => ActKind::Remove,
            };
            self.act(sh, kind, section.to.as_ref().unwrap_or(&section.path), kind != ActKind::Remove, false);
        }
    }

    pub(crate) fn patch(&mut self, sh: &mut Shell, c: &Call) {
        if c.has(&["--dry-run", "-C"]) {
            return;
        }
        let dir = c.value(&["-d", "--directory"]).unwrap_or(".").to_owned();
        let mut sub = sh.clone();
        let here = self.full(sh, &dir);
        let text = match c.value(&["-i", "--input"]).or_else(|| c.args.get(1).map(String::as_str)) {
            Some("-") | None => self.take(sh, 0),
            Some(f) => {
                let f = f.to_owned();
                self.content(sh, &f)
            }
        };
        sub.cwd = if dir == "." { sh.cwd.clone() } else { super::picture::tidy(&here) };
        if let Some(r) = c.value(&["-r", "--reject-file"]).filter(|r| *r != "-")
            && !self.applies(&sub, c, &text)
        {
            self.effect(&mut sub, 'W', r, false);
        }
        if let Some(o) = c.value(&["-o", "--output"]) {
            let o = o.to_owned();
            self.effect(&mut sub, 'W', &o, false);
            return;
        }
        let backup = c.has(&["-b", "--backup", "-z", "--suffix", "-B", "--prefix", "-V"]);
        let write = |e: &mut Self, s: &mut Shell, p: &str| {
            // it writes beside and moves; a link is refused unless told to follow
            let follow = c.has(&["--follow-symlinks"]);
            e.act(s, ActKind::Write, p, follow, false);
            if backup {
                let b = c
                    .value(&["-B", "--prefix"])
                    .map_or_else(|| format!("{p}{}", c.value(&["-z", "--suffix"]).unwrap_or(".orig")), |pre| format!("{pre}{p}"));
                e.act(s, ActKind::Create, &b, false, false);
            }
        };
        if let Some(f) = c.args.first() {
            let f = f.clone();
            write(self, &mut sub, &f);
            return;
        }
        if text.contains(UNK) {
            self.unknown("a patch can't be read", "patch");
        }
        let level = c.value(&["-p", "--strip"]).and_then(|p| p.parse::<usize>().ok());
        for ch in changes(&text) {
            let pick = |n: &Option<String>| {
                n.as_ref().and_then(|n| level.map_or_else(|| Some(super::picture::split(n).1.to_owned()), |l| strip(n, l)))
            };
            let (mut old, mut new) = (pick(&ch.old), pick(&ch.new));
            if level.is_none() && ch.old.as_ref().is_some_and(|o| o.starts_with("a/")) && text.contains("diff --git ") {
                // a git patch without -p: whole names are tried as well
                old = ch.old.as_ref().and_then(|o| strip(o, 1)).filter(|o| self.exists(&sub, o)).or(old);
                new = ch.new.as_ref().and_then(|o| strip(o, 1)).filter(|o| self.exists(&sub, o)).or(new);
            }
            let reverse = c.has(&["-R", "--reverse"]);
            let target = match (&old, &new) {
                (Some(o), Some(_)) if self.exists(&sub, o) => Some(o.clone()),
                (_, Some(n)) if self.exists(&sub, n) || old.is_none() || reverse => Some(n.clone()),
                (Some(o), None) => Some(o.clone()),
                _ => None,
            };
            if let Some(t) = target {
                if t.split('/').any(|p| p == "..") || t.starts_with('/') {
                    continue;
                }
                write(self, &mut sub, &t);
                if let Some(target) = &ch.link {
                    let full = self.full(&sub, &t);
                    self.fs.leave(&full, false, Left::Link(target.clone()));
                }
                if let (Some(o), Some(n)) = (&old, &new)
                    && o != n
                    && text.contains("rename from")
                {
                    let (o, n) = (o.clone(), n.clone());
                    write(self, &mut sub, &o);
                    write(self, &mut sub, &n);
                }
            }
        }
        sh.status = None;
    }

    /// Whether each part of a patch fits the file that it names, as far as that can be seen: then nothing is rejected.
    fn applies(&self, sh: &Shell, c: &Call, text: &str) -> bool {
        let level = c.value(&["-p", "--strip"]).and_then(|level| level.parse::<usize>().ok());
        let all = changes(text);
        !text.contains(UNK)
            && !all.is_empty()
            && all.iter().all(|change| {
                let name = change.old.as_ref().or(change.new.as_ref()).and_then(|name| strip(name, level?));
                let full = name.map(|name| self.full(sh, &name));
                full.is_some_and(|full| self.fs.text(&full).is_some_and(|content| fits(text, &full, &content, c.has(&["-R", "--reverse"]))))
            })
    }
}
