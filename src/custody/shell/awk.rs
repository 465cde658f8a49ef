//! awk: the files and pipes that a program prints to, and what it prints where it only picks columns.

use super::super::act::ActKind;
use super::call::Call;
use super::engine::{Engine, Fd, Shell, UNK};
use std::collections::HashMap;

#[derive(Clone, Debug, PartialEq)]
enum Tok {
    Str(String),
    Num(String),
    Name(String),
    Op(String),
    Regex,
    End,
}

fn lex(text: &str) -> Vec<Tok> {
    let c: Vec<char> = text.chars().collect();
    let mut out: Vec<Tok> = Vec::new();
    let mut i = 0;
    while i < c.len() && out.len() < 20_000 {
        let x = c[i];
        match x {
            '\n' => {
                out.push(Tok::End);
                i += 1;
            }
            '\\' if c.get(i + 1) == Some(&'\n') => i += 2,
            x if x.is_whitespace() => i += 1,
            '#' => {
                while i < c.len() && c[i] != '\n' {
                    i += 1;
                }
            }
            '"' => {
                let start = i + 1;
                i += 1;
                while i < c.len() && c[i] != '"' {
                    if c[i] == '\\' {
                        i += 1;
                    }
                    i += 1;
                }
                out.push(Tok::Str(super::words::ansi_c(&c[start.min(c.len())..i.min(c.len())])));
                i += 1;
            }
            '/' if !matches!(out.last(), Some(Tok::Str(_) | Tok::Num(_) | Tok::Name(_)))
                && out.last() != Some(&Tok::Op(")".into()))
                && out.last() != Some(&Tok::Op("]".into())) =>
            {
                i += 1;
                let mut class = false;
                while i < c.len() && (c[i] != '/' || class) && c[i] != '\n' {
                    match c[i] {
                        '\\' => i += 1,
                        '[' => class = true,
                        ']' => class = false,
                        _ => {}
                    }
                    i += 1;
                }
                i += 1;
                out.push(Tok::Regex);
            }
            x if x.is_ascii_digit() || x == '.' && c.get(i + 1).is_some_and(char::is_ascii_digit) => {
                let start = i;
                while i < c.len() && (c[i].is_ascii_alphanumeric() || c[i] == '.') {
                    i += 1;
                }
                out.push(Tok::Num(c[start..i].iter().collect()));
            }
            x if x.is_ascii_alphabetic() || x == '_' => {
                let start = i;
                while i < c.len() && (c[i].is_ascii_alphanumeric() || c[i] == '_') {
                    i += 1;
                }
                out.push(Tok::Name(c[start..i].iter().collect()));
            }
            ';' => {
                out.push(Tok::End);
                i += 1;
            }
            _ => {
                let two: String = c[i..(i + 2).min(c.len())].iter().collect();
                if [">>", "==", ">=", "<=", "!=", "&&", "||", "|&", "++", "--", "+=", "-=", "!~"].contains(&two.as_str()) {
                    out.push(Tok::Op(two));
                    i += 2;
                } else {
                    out.push(Tok::Op(x.to_string()));
                    i += 1;
                }
            }
        }
    }
    out
}

struct Values {
    vars: HashMap<String, Vec<String>>,
    lines: Vec<Vec<String>>,
    files: Vec<String>,
    /// `ARGV`, without the program's name.
    args: Vec<String>,
}

impl Values {
    /// The name under which an element is kept, with the place of its closing bracket: by itself where its index is plain,
    /// else all elements together.
    fn element(toks: &[Tok], i: usize) -> Option<(String, usize)> {
        let Tok::Name(n) = toks.get(i)? else { return None };
        if toks.get(i + 1) != Some(&Tok::Op("[".into())) {
            return None;
        }
        match (toks.get(i + 2), toks.get(i + 3)) {
            (Some(Tok::Str(k) | Tok::Num(k)), Some(Tok::Op(c))) if c == "]" => Some((format!("{n}[{k}]"), i + 3)),
            _ => {
                let mut depth = 0;
                let end = (i + 1..toks.len()).find(|k| {
                    match &toks[*k] {
                        Tok::Op(o) if o == "[" => depth += 1,
                        Tok::Op(o) if o == "]" => depth -= 1,
                        _ => {}
                    }
                    depth == 0
                })?;
                Some((format!("{n}[]"), end))
            }
        }
    }

    /// What an element may hold.
    fn held(&self, key: &str) -> Option<Vec<String>> {
        if let Some(v) = self.vars.get(key) {
            return Some(v.clone());
        }
        let name = key.split('[').next()?;
        if name == "ARGV" {
            let n = key.trim_start_matches("ARGV[").trim_end_matches(']').parse::<usize>().ok();
            return match n {
                Some(n) => self.args.get(n.checked_sub(1)?).map(|arg| vec![arg.clone()]),
                None => Some(self.args.clone()).filter(|args| !args.is_empty()),
            };
        }
        if key.ends_with("[]") {
            let all: Vec<String> = self
                .vars
                .iter()
                .filter(|(k, _)| k.split('[').next() == Some(name) && k.contains('['))
                .flat_map(|(_, v)| v.clone())
                .collect();
            return Some(all).filter(|all| !all.is_empty());
        }
        self.vars.get(&format!("{name}[]")).cloned()
    }
}

impl Values {
    /// What a run of tokens may be as text; the marker stands for what is not known.
    fn text(&self, toks: &[Tok]) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut i = 0;
        while i < toks.len() {
            let mut next: Vec<String> = vec![UNK.to_string()];
            match &toks[i] {
                Tok::Str(s) | Tok::Num(s) => next = vec![s.clone()],
                Tok::Op(o) if o == "(" || o == ")" => {
                    i += 1;
                    continue;
                }
                Tok::Op(o) if o == "$" => {
                    match toks.get(i + 1) {
                        Some(Tok::Num(n)) => {
                            let k: usize = n.parse().unwrap_or(1);
                            next = self.lines.iter().filter_map(|l| l.get(k)).cloned().collect();
                            i += 1;
                        }
                        Some(Tok::Name(n)) if n == "NF" => {
                            next = self.lines.iter().filter(|l| l.len() > 1).filter_map(|l| l.last()).cloned().collect();
                            i += 1;
                        }
                        Some(Tok::Name(_)) => i += 1,
                        _ => {}
                    }
                    if next.is_empty() {
                        next = vec![UNK.to_string()];
                    }
                }
                Tok::Name(n) if n == "FILENAME" => next.clone_from(&self.files),
                Tok::Name(_) if Self::element(toks, i).is_some() => {
                    if let Some((key, end)) = Self::element(toks, i) {
                        next = self.held(&key).unwrap_or_default();
                        i = end;
                    }
                }
                Tok::Name(n) => {
                    if let Some(v) = self.vars.get(n) {
                        next.clone_from(v);
                    } else if toks.get(i + 1) == Some(&Tok::Op("(".into())) {
                        // a call or an element: all of it is unknown
                        let mut depth = 0;
                        while i + 1 < toks.len() {
                            i += 1;
                            match &toks[i] {
                                Tok::Op(o) if o == "(" || o == "[" => depth += 1,
                                Tok::Op(o) if o == ")" || o == "]" => {
                                    depth -= 1;
                                    if depth == 0 {
                                        break;
                                    }
                                }
                                _ => {}
                            }
                        }
                    }
                }
                Tok::Op(_) | Tok::Regex | Tok::End => {}
            }
            if next.is_empty() {
                next.push(UNK.to_string());
            }
            let mut joined = Vec::new();
            for a in &all {
                for b in &next {
                    if joined.len() < 64 && a.len() + b.len() < 512 {
                        joined.push(format!("{a}{b}"));
                    }
                }
            }
            all = joined;
            i += 1;
        }
        all
    }
}

impl Engine<'_> {
    pub(crate) fn awk(&mut self, sh: &mut Shell, c: &Call) {
        let mut args = c.args.clone();
        let mut program = String::new();
        for (o, v) in &c.opts {
            match (o.as_str(), v) {
                ("-f" | "--file" | "-E" | "--exec", Some(f)) => {
                    let t = if f == "-" { self.take(sh, 0) } else { self.content(sh, f) };
                    program = program + &t + "\n";
                }
                ("-e" | "--source", Some(t)) => program = program + t + "\n",
                ("-o" | "--pretty-print" | "-d" | "--dump-variables" | "-p" | "--profile", v) => {
                    let f = v.clone().unwrap_or_else(|| if o.contains('d') { "awkvars.out".into() } else { "awkprof.out".into() });
                    self.effect(sh, 'W', &f, false);
                }
                _ => {}
            }
        }
        if program.is_empty() && !c.has(&["-f", "--file", "-e", "--source"]) {
            if args.is_empty() {
                return;
            }
            program = args.remove(0);
        }
        if program.contains(UNK) {
            self.unknown("part of an awk program is not known", "");
        }
        let mut v = Values { vars: HashMap::new(), lines: Vec::new(), files: Vec::new(), args: args.clone() };
        for a in c.values(&["-v", "--assign"]) {
            if let Some((k, x)) = a.split_once('=') {
                v.vars.insert(k.to_owned(), vec![x.to_owned()]);
            }
        }
        let mut files = Vec::new();
        for a in &args {
            match a.split_once('=') {
                Some((k, x)) if !k.is_empty() && k.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '_') => {
                    v.vars.insert(k.to_owned(), vec![x.to_owned()]);
                }
                _ => files.push(a.clone()),
            }
        }
        if c.values(&["-i", "--include"]).iter().any(|i| i.starts_with("inplace")) {
            for f in &files {
                self.effect(sh, 'I', f, false);
            }
            if let Some(s) = v.vars.get("inplace::suffix").or_else(|| v.vars.get("INPLACE_SUFFIX")).and_then(|s| s.first()).cloned() {
                for f in &files {
                    self.act(sh, ActKind::Create, &format!("{f}{s}"), false, false);
                }
            }
        }
        let toks = lex(&program);
        let reads = toks.first() != Some(&Tok::Name("BEGIN".into())) || toks.iter().any(|t| matches!(t, Tok::Op(o) if o == "$"));
        if reads {
            let text = self.input_text(sh, &files);
            let fs = c.value(&["-F", "--field-separator"]).map(str::to_owned).or_else(|| v.vars.get("FS").and_then(|f| f.first().cloned()));
            let fs = fs.map(|f| super::echo::unescape(&f).0);
            for l in text.lines().take(200) {
                let mut row = vec![l.to_owned()];
                match fs.as_deref() {
                    None | Some(" ") => row.extend(l.split_whitespace().map(str::to_owned)),
                    Some(f) if f.chars().count() == 1 => row.extend(l.split(f).map(str::to_owned)),
                    Some(f) => match super::regex::compile(f, super::regex::Flavor::Extended, false) {
                        Some(re) => {
                            let t: Vec<char> = l.chars().collect();
                            let mut from = 0;
                            while let Some((a, b)) = re.find(&t, from).and_then(|m| m[0]).filter(|(a, b)| b > a) {
                                row.push(t[from..a].iter().collect());
                                from = b;
                            }
                            row.push(t[from..].iter().collect());
                        }
                        None => row.push(UNK.to_string()),
                    },
                }
                v.lines.push(row);
            }
        }
        v.files = files;
        if v.files.is_empty() {
            v.files.push(String::new());
        }
        self.awk_program(sh, &toks, &mut v);
        if !c.has(&["-i"]) {
            let out = awk_prints(&toks, &v);
            self.put(sh, 1, &out);
        }
    }

    fn awk_program(&mut self, sh: &mut Shell, toks: &[Tok], v: &mut Values) {
        // assignments first: what a name may hold
        for i in 0..toks.len() {
            let Tok::Name(n) = &toks[i] else { continue };
            let (key, last) = Values::element(toks, i).unwrap_or_else(|| (n.clone(), i));
            if matches!(toks.get(last + 1), Some(Tok::Op(eq)) if eq == "=") {
                let end = (last + 2..toks.len())
                    .find(|k| matches!(&toks[*k], Tok::End) || matches!(&toks[*k], Tok::Op(o) if o == "}" || o == "," || o == "{"))
                    .unwrap_or(toks.len());
                let t = v.text(&toks[last + 2..end]);
                v.hold(key.clone(), t);
            }
            if n == "ENVIRON"
                && let Some(Tok::Str(name)) = toks.get(i + 2)
            {
                let value = self.var(sh, name).unwrap_or_default();
                v.hold(key, vec![value]);
            }
        }
        // what a function's parameters hold is what it is called with
        for i in 0..toks.len() {
            let [Tok::Name(word), Tok::Name(name), Tok::Op(open), ..] = &toks[i..] else { continue };
            if !matches!(word.as_str(), "function" | "func") || open != "(" {
                continue;
            }
            let params: Vec<&Tok> = toks[i + 3..close(toks, i + 2)].iter().filter(|t| matches!(t, Tok::Name(_))).collect();
            for call in 0..toks.len() {
                let called = matches!(&toks[call], Tok::Name(n) if n == name) && call != i + 1;
                if !called || toks.get(call + 1) != Some(&Tok::Op("(".into())) {
                    continue;
                }
                let args = toks[call + 2..close(toks, call + 1).max(call + 2)].split(|t| *t == Tok::Op(",".into()));
                let given: Vec<Vec<String>> = args.map(|arg| v.text(arg)).collect();
                for (param, texts) in params.iter().zip(given) {
                    if let Tok::Name(param) = param {
                        v.hold(param.clone(), texts);
                    }
                }
            }
        }
        // what is printed into one program is one text
        let mut into: Vec<(String, String)> = Vec::new();
        let mut i = 0;
        while i < toks.len() {
            match &toks[i] {
                Tok::Name(n) if n == "print" || n == "printf" => {
                    let mut depth = 0i32;
                    let mut k = i + 1;
                    while k < toks.len() {
                        match &toks[k] {
                            Tok::Op(o) if matches!(o.as_str(), "(" | "[") => depth += 1,
                            Tok::Op(o) if matches!(o.as_str(), ")" | "]") => depth -= 1,
                            Tok::Op(o) if depth == 0 && o == "}" => break,
                            Tok::Op(o) if depth <= 0 && matches!(o.as_str(), ">" | ">>" | "|" | "|&") => {
                                let end = (k + 1..toks.len())
                                    .find(|e| matches!(&toks[*e], Tok::End) || matches!(&toks[*e], Tok::Op(o) if o == "}"))
                                    .unwrap_or(toks.len());
                                let targets = v.text(&toks[k + 1..end]);
                                let unknown_line = [vec![UNK.to_string()]];
                                let lines: &[Vec<String>] =
                                    if without_line(toks, i) || v.lines.is_empty() { &unknown_line } else { &v.lines };
                                let body = &toks[i + 1..k];
                                for t in targets {
                                    if o.starts_with('>') {
                                        self.effect(sh, 'W', &t, false);
                                        continue;
                                    }
                                    let said: String = lines.iter().take(200).map(|line| printed(body, n == "printf", line, v)).collect();
                                    match into.iter_mut().find(|(program, _)| *program == t) {
                                        Some((_, text)) => text.push_str(&said),
                                        None => into.push((t, said)),
                                    }
                                }
                                k = end;
                                break;
                            }
                            Tok::End => break,
                            _ => {}
                        }
                        k += 1;
                    }
                    i = k;
                }
                Tok::Name(n) if n == "system" => {
                    let end = close(toks, i + 1);
                    for t in v.text(&toks[(i + 1).min(toks.len())..end]) {
                        self.effect(sh, 'Y', &t, false);
                    }
                    i = end;
                }
                Tok::Op(o) if (o == "|" || o == "|&") && toks.get(i + 1) == Some(&Tok::Name("getline".into())) => {
                    for t in v.text(&toks[operand(toks, i)..i]) {
                        // one that is also printed to has its input from there
                        if !into.iter().any(|(program, _)| *program == t) {
                            self.effect(sh, 'Y', &t, false);
                        }
                    }
                }
                _ => {}
            }
            i += 1;
        }
        for (program, text) in into {
            let mut child = self.child(sh, true);
            let id = self.stream(text);
            child.set_fd(0, Fd::In(id));
            self.script(&mut child, &program);
            self.end(&mut child);
        }
    }
}

impl Values {
    /// A name may hold these, too.
    fn hold(&mut self, name: String, texts: Vec<String>) {
        let slot = self.vars.entry(name).or_default();
        for text in texts {
            if !slot.contains(&text) && slot.len() < 64 {
                slot.push(text);
            }
        }
    }
}

/// Where the operand begins that ends before a place: a bracket, or values side by side.
fn operand(toks: &[Tok], end: usize) -> usize {
    let mut from = end;
    let mut depth = 0i32;
    while from > 0 {
        match &toks[from - 1] {
            Tok::Op(o) if o == ")" || o == "]" => depth += 1,
            Tok::Op(o) if o == "(" || o == "[" => {
                if depth == 0 {
                    break;
                }
                depth -= 1;
            }
            Tok::Op(o) if depth == 0 && o != "$" => break,
            Tok::End => break,
            Tok::Name(n) if depth == 0 && matches!(n.as_str(), "while" | "if" | "return") => break,
            _ => {}
        }
        from -= 1;
    }
    from
}

fn close(toks: &[Tok], open: usize) -> usize {
    let mut depth = 0;
    for (k, t) in toks.iter().enumerate().skip(open) {
        match t {
            Tok::Op(o) if o == "(" => depth += 1,
            Tok::Op(o) if o == ")" => {
                depth -= 1;
                if depth <= 0 {
                    return k;
                }
            }
            Tok::End if depth == 0 => return k,
            _ => {}
        }
    }
    toks.len()
}

/// What one print puts out for one line.
fn printed(body: &[Tok], formatted: bool, line: &[String], v: &Values) -> String {
    let one = Values { vars: v.vars.clone(), lines: vec![line.to_vec()], files: v.files.clone(), args: v.args.clone() };
    let parts: Vec<String> = if body.is_empty() {
        vec![line.first().cloned().unwrap_or_default()]
    } else {
        body.split(|t| *t == Tok::Op(",".into())).map(|p| one.text(p).into_iter().next().unwrap_or_default()).collect()
    };
    if formatted { super::echo::printf(&parts) } else { parts.join(" ") + "\n" }
}

/// Whether a place in a program belongs to a `BEGIN` or `END`, where there is no line.
fn without_line(toks: &[Tok], at: usize) -> bool {
    let mut depth = 0i32;
    let mut head = 0;
    for (i, t) in toks[..at].iter().enumerate() {
        match t {
            Tok::Op(o) if o == "{" => {
                if depth == 0 {
                    head = i;
                }
                depth += 1;
            }
            Tok::Op(o) if o == "}" => depth -= 1,
            _ => {}
        }
    }
    depth > 0 && head > 0 && matches!(&toks[head - 1], Tok::Name(n) if n == "BEGIN" || n == "END")
}

/// What the prints of a program put out, for all lines alike: conditions are taken as true.
fn awk_prints(toks: &[Tok], v: &Values) -> String {
    let mut out = String::new();
    let begin_only = toks.first() == Some(&Tok::Name("BEGIN".into()));
    let prints: Vec<usize> =
        toks.iter().enumerate().filter(|(_, t)| matches!(t, Tok::Name(n) if n == "print" || n == "printf")).map(|x| x.0).collect();
    if toks.iter().any(|t| matches!(t, Tok::Name(n) if matches!(n.as_str(), "for" | "while" | "sub" | "gsub" | "getline")))
        || prints.len() > 3
    {
        return UNK.to_string();
    }
    let unknown_line = [vec![UNK.to_string()]];
    let lines: &[Vec<String>] = if begin_only { &unknown_line } else { &v.lines };
    let line_test = match toks {
        [Tok::Name(n), Tok::Op(o), Tok::Num(k), rest @ ..]
            if n == "NR" && (rest.is_empty() || matches!(rest.first(), Some(Tok::Op(b)) if b == "{")) =>
        {
            k.parse::<usize>().ok().map(|k| (o.clone(), k))
        }
        _ => None,
    };
    for (n, l) in lines.iter().enumerate() {
        if let Some((op, k)) = &line_test {
            let n = n + 1;
            let hit = match op.as_str() {
                "==" => n == *k,
                "!=" => n != *k,
                ">" => n > *k,
                "<" => n < *k,
                ">=" => n >= *k,
                "<=" => n <= *k,
                _ => true,
            };
            if !hit {
                continue;
            }
        }
        if prints.is_empty() {
            // a pattern alone prints the line
            out.push_str(&l[0]);
            out.push('\n');
        }
        for p in &prints {
            let formatted = toks[*p] == Tok::Name("printf".into());
            let mut depth = 0;
            let end = (*p + 1..toks.len())
                .find(|k| match &toks[*k] {
                    Tok::End => true,
                    Tok::Op(o) if o == "(" => {
                        depth += 1;
                        false
                    }
                    Tok::Op(o) if o == ")" => {
                        depth -= 1;
                        false
                    }
                    Tok::Op(o) => depth == 0 && matches!(o.as_str(), "}" | ">" | ">>" | "|"),
                    _ => false,
                })
                .unwrap_or(toks.len());
            if matches!(toks.get(end), Some(Tok::Op(o)) if o != "}") {
                continue;
            }
            out.push_str(&printed(&toks[*p + 1..end], formatted, l, v));
        }
        if out.len() > 100_000 {
            break;
        }
    }
    out
}
