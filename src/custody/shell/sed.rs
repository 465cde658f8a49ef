//! sed: what its script writes, and what it prints where that is plain enough to follow.

use super::super::act::ActKind;
use super::call::Call;
use super::engine::{Engine, Shell, UNK};
use super::picture::{self, Left};
use super::regex::{self, Flavor, Regex};

#[derive(Clone, Debug)]
enum Addr {
    Line(usize),
    Last,
    Match(Option<Regex>),
    Other,
}

#[derive(Clone, Debug)]
enum Do {
    Subst {
        re: Option<Regex>,
        with: String,
        all: bool,
        print: bool,
        run: bool,
        nth: usize,
    },
    Delete,
    Print,
    Quit,
    Open,
    Close,
    Insert(String),
    Append(String),
    Change(String),
    Translate(Vec<char>, Vec<char>),
    Nothing,
    /// Something that is not followed: what is printed is not known.
    Strange,
}

#[derive(Clone, Debug)]
struct Step {
    from: Option<Addr>,
    to: Option<Addr>,
    not: bool,
    what: Do,
}

/// A script, taken apart.
#[derive(Default)]
struct Script {
    steps: Vec<Step>,
    writes: Vec<String>,
    runs: Vec<String>,
    strange: bool,
}

struct P<'a> {
    c: &'a [char],
    i: usize,
    flavor: Flavor,
}

impl P<'_> {
    fn at(&self) -> char {
        self.c.get(self.i).copied().unwrap_or('\0')
    }

    fn rest_of_line(&mut self) -> String {
        let start = self.i;
        while self.i < self.c.len() && self.at() != '\n' {
            self.i += 1;
        }
        self.c[start..self.i].iter().collect::<String>().trim_start().to_owned()
    }

    /// Text up to the delimiter, which is passed.
    fn until(&mut self, d: char) -> String {
        let mut out = String::new();
        let mut class = false;
        while self.i < self.c.len() {
            let x = self.at();
            if x == d && !class {
                break;
            }
            match x {
                '\\' => {
                    self.i += 1;
                    let n = self.at();
                    if n == d && !"().*[]^$+?{}|&".contains(d) {
                        out.push(n);
                    } else {
                        out.push('\\');
                        out.push(n);
                    }
                }
                _ => out.push(x),
            }
            if x == '[' && d != '[' && !out.ends_with("\\[") {
                class = self.c[self.i + 1..].iter().take(60).any(|y| *y == ']')
                    && self.c[self.i + 1..].iter().take_while(|y| **y != ']').any(|y| *y == d);
            } else if x == ']' {
                class = false;
            }
            self.i += 1;
        }
        self.i += 1;
        out
    }

    fn addr(&mut self) -> Option<Addr> {
        match self.at() {
            '0'..='9' => {
                let start = self.i;
                while self.at().is_ascii_digit() {
                    self.i += 1;
                }
                let n = self.c[start..self.i].iter().collect::<String>().parse().unwrap_or(0);
                if self.at() == '~' {
                    self.i += 1;
                    while self.at().is_ascii_digit() {
                        self.i += 1;
                    }
                    return Some(Addr::Other);
                }
                Some(Addr::Line(n))
            }
            '$' => {
                self.i += 1;
                Some(Addr::Last)
            }
            '+' | '~' => {
                self.i += 1;
                while self.at().is_ascii_digit() {
                    self.i += 1;
                }
                Some(Addr::Other)
            }
            '/' | '\\' => {
                if self.at() == '\\' {
                    self.i += 1;
                }
                let d = self.at();
                self.i += 1;
                let t = self.until(d);
                let mut fold = false;
                while matches!(self.at(), 'I' | 'M') {
                    fold |= self.at() == 'I';
                    self.i += 1;
                }
                Some(Addr::Match(regex::compile(&t, self.flavor, fold)))
            }
            _ => None,
        }
    }

    fn script(&mut self) -> Script {
        let mut s = Script::default();
        while self.i < self.c.len() && s.steps.len() < 500 {
            while matches!(self.at(), ' ' | '\t' | '\n' | ';') {
                self.i += 1;
            }
            if self.i >= self.c.len() {
                break;
            }
            let from = self.addr();
            let mut to = None;
            if self.at() == ',' {
                self.i += 1;
                to = self.addr();
            }
            while self.at() == ' ' {
                self.i += 1;
            }
            let mut not = false;
            while self.at() == '!' {
                not = true;
                self.i += 1;
            }
            while self.at() == ' ' {
                self.i += 1;
            }
            let cmd = self.at();
            self.i += 1;
            let what = match cmd {
                '#' => {
                    self.rest_of_line();
                    Do::Nothing
                }
                '{' => Do::Open,
                '}' => Do::Close,
                's' => self.subst(&mut s),
                'y' => {
                    let d = self.at();
                    self.i += 1;
                    let a = self.until(d).chars().collect();
                    let b = self.until(d).chars().collect();
                    Do::Translate(a, b)
                }
                'w' | 'W' => {
                    let f = self.rest_of_line();
                    s.writes.push(f);
                    Do::Nothing
                }
                'r' | 'R' => {
                    self.rest_of_line();
                    Do::Strange
                }
                'e' => {
                    let t = self.rest_of_line();
                    s.runs.push(if t.is_empty() { UNK.to_string() } else { t });
                    Do::Strange
                }
                'a' | 'i' | 'c' => {
                    let mut t = self.rest_of_line();
                    while t.ends_with('\\') && self.i < self.c.len() {
                        t.pop();
                        self.i += 1;
                        let more = self.rest_of_line();
                        if !t.is_empty() {
                            t.push('\n');
                        }
                        t.push_str(&more);
                    }
                    let t = t.strip_prefix('\\').unwrap_or(&t).trim_start().to_owned();
                    match cmd {
                        'a' => Do::Append(t),
                        'i' => Do::Insert(t),
                        _ => Do::Change(t),
                    }
                }
                'd' => Do::Delete,
                'p' => Do::Print,
                'q' | 'Q' => {
                    while self.at().is_ascii_digit() || self.at() == ' ' {
                        self.i += 1;
                    }
                    if cmd == 'q' { Do::Quit } else { Do::Strange }
                }
                ':' | 'b' | 't' | 'T' => {
                    while !matches!(self.at(), '\n' | ';' | '}' | '\0') {
                        self.i += 1;
                    }
                    Do::Strange
                }
                _ => Do::Strange,
            };
            s.strange |= matches!(what, Do::Strange);
            s.steps.push(Step { from, to, not, what });
        }
        s
    }

    fn subst(&mut self, s: &mut Script) -> Do {
        let d = self.at();
        self.i += 1;
        let pat = self.until(d);
        let with = self.until(d);
        let (mut all, mut print, mut run, mut fold, mut nth) = (false, false, false, false, 1);
        loop {
            match self.at() {
                'g' => all = true,
                'p' => print = true,
                'e' => run = true,
                'i' | 'I' => fold = true,
                'm' | 'M' => {}
                '0'..='9' => nth = self.at() as usize - '0' as usize,
                'w' => {
                    self.i += 1;
                    let f = self.rest_of_line();
                    s.writes.push(f);
                    break;
                }
                _ => break,
            }
            self.i += 1;
        }
        Do::Subst { re: regex::compile(&pat, self.flavor, fold), with, all, print, run, nth }
    }
}

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
        if matches!(sh.fd(1), super::engine::Fd::Term | super::engine::Fd::Null)
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
