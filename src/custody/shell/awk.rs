//! awk: the files and pipes that a program prints to, and what it prints where it only picks columns.

use super::super::act::ActKind;
use super::awkprint::{awk_prints, printed, without_line};
use super::awktext::{Tok, Values, lex};
use super::engine::{Engine, UNK};
use super::options::Call;
use super::state::{Fd, Shell};
use std::collections::HashMap;

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
