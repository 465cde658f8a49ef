//! sed: what its script writes, and what it prints where that is plain enough to follow.

use super::super::act::ActKind;
use super::engine::{Engine, UNK};
use super::options::Call;
use super::picture;
use super::picture::Left;
use super::regex::{Flavor, Regex};
use super::sedscript::{Addr, Do, P, Script};
use super::state::Shell;

/// One substitution, as `sed` and Perl do it.
fn substitute(re: &Regex, with: &str, all: bool, nth: usize, perl: bool, line: &str) -> Option<String> {
    let t: Vec<char> = line.chars().collect();
    let mut out = String::new();
    let (mut from, mut count, mut hit) = (0, 0, false);
    while from <= t.len() {
        let Some(m) = re.find(&t, from) else { break };
        let Some((a, b)) = m[0] else { break };
        count += 1;
        out.extend(&t[from..a]);
        if count >= nth {
            hit = true;
            let mut it = with.chars().peekable();
            while let Some(c) = it.next() {
                let group = |n: usize| m.get(n).copied().flatten().map(|(x, y)| t[x..y].iter().collect::<String>()).unwrap_or_default();
                match c {
                    '\\' => match it.next() {
                        Some(d) if d.is_ascii_digit() => out.push_str(&group(d as usize - '0' as usize)),
                        Some('n') => out.push('\n'),
                        Some('t') => out.push('\t'),
                        Some('U' | 'L' | 'E' | 'u' | 'l') => return None,
                        Some(x) => out.push(x),
                        None => {}
                    },
                    '&' if !perl => out.push_str(&group(0)),
                    '$' if perl => match it.peek().copied() {
                        Some('&') => {
                            it.next();
                            out.push_str(&group(0));
                        }
                        Some(d) if d.is_ascii_digit() => {
                            it.next();
                            out.push_str(&group(d as usize - '0' as usize));
                        }
                        _ => return None,
                    },
                    c => out.push(c),
                }
            }
        } else {
            out.extend(&t[a..b]);
        }
        from = b;
        if b == a {
            if let Some(c) = t.get(b) {
                out.push(*c);
            }
            from += 1;
        }
        if hit && !all {
            break;
        }
    }
    if from < t.len() {
        out.extend(&t[from..]);
    }
    Some(out)
}

/// Applies `tar --transform` to a name, in which a basic expression stands unless there is an `x` behind it. Marked as not
/// known where it can't be worked out.
pub(crate) fn substitute_name(expr: &str, name: &str) -> String {
    let c: Vec<char> = expr.trim().chars().collect();
    let flags = c.get(1).and_then(|d| expr.rsplit(*d).next()).unwrap_or("");
    // flags that say which kinds of members it is for, and several expressions in one, are rare
    if c.first() != Some(&'s') || c.get(1).is_none_or(|d| d.is_alphanumeric()) || !flags.chars().all(|f| matches!(f, 'g' | 'i' | 'x')) {
        return UNK.to_string();
    }
    let mut s = Script::default();
    let flavor = if flags.contains('x') { Flavor::Extended } else { Flavor::Basic };
    let mut p = P { c: &c, i: 1, flavor };
    match p.subst(&mut s) {
        Do::Subst { re: Some(re), with, all, .. } => substitute(&re, &with, all, 1, false, name).unwrap_or_else(|| UNK.to_string()),
        _ => UNK.to_string(),
    }
}

/// Applies Perl's `s/…/…/` to a name; `None` where that is not known.
pub(crate) fn substitute_once(expr: &str, text: &str) -> Option<String> {
    let e = expr.trim().trim_end_matches(';');
    let c: Vec<char> = e.chars().collect();
    if c.first() != Some(&'s') || c.get(1).is_none_or(|d| d.is_alphanumeric()) {
        return Some(UNK.to_string());
    }
    let mut s = Script::default();
    let mut p = P { c: &c, i: 1, flavor: Flavor::Extended };
    match p.subst(&mut s) {
        Do::Subst { re: Some(re), with, all, .. } => substitute(&re, &with, all, 1, true, text).or_else(|| Some(UNK.to_string())),
        _ => Some(UNK.to_string()),
    }
}

impl Engine<'_> {
    pub(crate) fn sed(&mut self, sh: &mut Shell, c: &Call) {
        let mut text = String::new();
        let mut files = c.args.clone();
        if c.has(&["-e", "--expression", "-f", "--file"]) {
            for (o, v) in &c.opts {
                match (o.as_str(), v) {
                    ("-e" | "--expression", Some(v)) => text = text + v + "\n",
                    ("-f" | "--file", Some(v)) => {
                        let t = if v == "-" { self.take(sh, 0) } else { self.content(sh, v) };
                        text = text + &t + "\n";
                    }
                    _ => {}
                }
            }
        } else if files.is_empty() {
            return;
        } else {
            text = files.remove(0);
        }
        let flavor = if c.has(&["-E", "-r", "--regexp-extended"]) { Flavor::Extended } else { Flavor::Basic };
        let chars: Vec<char> = text.chars().collect();
        let script = P { c: &chars, i: 0, flavor }.script();
        if text.contains(UNK) {
            self.unknown("part of a sed script is not known", &text);
        }
        if !c.has(&["--sandbox"]) {
            for w in &script.writes {
                self.effect(sh, 'W', w, false);
            }
            for r in &script.runs {
                if r.contains(UNK) {
                    self.unknown("sed runs what it reads", "");
                } else {
                    self.effect(sh, 'Y', r, false);
                }
            }
        }
        let quiet = c.has(&["-n", "--quiet", "--silent"]);
        if let Some((_, suffix)) = c.opts.iter().find(|(o, _)| o == "-i" || o == "--in-place") {
            let suffix = suffix.clone();
            for f in &files {
                let full = self.full(sh, f);
                let real = if c.has(&["--follow-symlinks"]) && !full.contains(UNK) { self.fs.at(&full, true).path } else { f.clone() };
                if !full.contains(UNK) && self.fs.what(&full) != Some(super::Kind::File) && self.out.unknown.is_empty() {
                    continue;
                }
                if let Some(s) = &suffix {
                    let (dir, name) = picture::split(f);
                    let backup = if s.contains('*') { s.replace('*', name) } else { format!("{name}{s}") };
                    let backup = if backup.contains('/') || dir == "." { backup } else { picture::join(dir, &backup) };
                    self.act(sh, ActKind::Create, &backup, false, false);
                }
                let old = self.content(sh, f);
                let new = self.sed_lines(sh, &script, &old, quiet);
                self.effect(sh, 'I', &real, false);
                let full = self.full(sh, &real);
                if !full.contains(UNK) {
                    self.fs.leave(&full, false, Left::File(if new.contains(UNK) { None } else { Some(new.into()) }));
                }
            }
            return;
        }
        if matches!(sh.fd(1), super::state::Fd::Term | super::state::Fd::Null)
            && !script.steps.iter().any(|s| matches!(s.what, Do::Subst { run: true, .. }))
        {
            return;
        }
        let t = self.input_text(sh, &files);
        let out = self.sed_lines(sh, &script, &t, quiet);
        self.put(sh, 1, &out);
    }

    fn sed_lines(&mut self, sh: &mut Shell, s: &Script, text: &str, quiet: bool) -> String {
        if text.is_empty() {
            return String::new();
        }
        let follow = !s.strange
            && s.steps.iter().all(|x| {
                !matches!((&x.from, &x.to), (_, Some(_)))
                    || matches!((&x.from, &x.to), (Some(Addr::Line(_)), Some(Addr::Line(_) | Addr::Last)))
            });
        if !follow || !self.spend(text.len() * 8 * (1 + s.steps.len())) {
            return UNK.to_string();
        }
        let lines: Vec<&str> = text.lines().collect();
        let mut out = String::new();
        let mut runs = Vec::new();
        'lines: for (n, line) in lines.iter().enumerate() {
            let mut l = (*line).to_owned();
            let mut after = String::new();
            let mut skip = 0usize;
            for st in &s.steps {
                if skip > 0 {
                    match st.what {
                        Do::Open => skip += 1,
                        Do::Close => skip -= 1,
                        _ => {}
                    }
                    continue;
                }
                let one = |a: &Addr| match a {
                    Addr::Line(k) => *k == n + 1,
                    Addr::Last => n + 1 == lines.len(),
                    Addr::Match(Some(r)) => l.contains(UNK) || r.is_match(&l),
                    Addr::Match(None) | Addr::Other => true,
                };
                let hit = match (&st.from, &st.to) {
                    (None, _) => true,
                    (Some(a), None) => one(a),
                    (Some(Addr::Line(a)), Some(Addr::Line(b))) => n + 1 >= *a && (n < *b) || n + 1 == *a,
                    (Some(Addr::Line(a)), _) => n + 1 >= *a,
                    (Some(a), _) => one(a),
                };
                if hit == st.not {
                    if matches!(st.what, Do::Open) {
                        skip = 1;
                    }
                    continue;
                }
                match &st.what {
                    Do::Subst { re, with, all, print, run, nth } => {
                        let Some(re) = re else { return UNK.to_string() };
                        if l.contains(UNK) {
                            continue;
                        }
                        let Some(new) = substitute(re, with, *all, *nth, false, &l) else { return UNK.to_string() };
                        let changed = new != l;
                        l = new;
                        if changed && *run {
                            runs.push(l.clone());
                            l = UNK.to_string();
                        }
                        if *print && changed {
                            out.push_str(&l);
                            out.push('\n');
                        }
                    }
                    Do::Delete => continue 'lines,
                    Do::Print => {
                        out.push_str(&l);
                        out.push('\n');
                    }
                    Do::Quit => {
                        if !quiet {
                            out.push_str(&l);
                            out.push('\n');
                        }
                        break 'lines;
                    }
                    Do::Insert(t) => {
                        out.push_str(t);
                        out.push('\n');
                    }
                    Do::Append(t) => {
                        after.push_str(t);
                        after.push('\n');
                    }
                    Do::Change(t) => {
                        out.push_str(t);
                        out.push('\n');
                        continue 'lines;
                    }
                    Do::Translate(a, b) => {
                        l = l.chars().map(|x| a.iter().position(|k| *k == x).and_then(|i| b.get(i).copied()).unwrap_or(x)).collect();
                    }
                    Do::Open | Do::Close | Do::Nothing | Do::Strange => {}
                }
            }
            if !quiet {
                out.push_str(&l);
                out.push('\n');
            }
            out.push_str(&after);
        }
        for r in runs {
            self.effect(sh, 'Y', &r, false);
        }
        out
    }
}
