//! awk as tokens, and what its expressions may be as text.

use super::engine::UNK;
use std::collections::HashMap;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tok {
    Str(String),
    Num(String),
    Name(String),
    Op(String),
    Regex,
    End,
}

pub(super) fn lex(text: &str) -> Vec<Tok> {
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

pub(super) struct Values {
    pub(super) vars: HashMap<String, Vec<String>>,
    pub(super) lines: Vec<Vec<String>>,
    pub(super) files: Vec<String>,
    /// `ARGV`, without the program's name.
    pub(super) args: Vec<String>,
}

impl Values {
    /// The name under which an element is kept, with the place of its closing bracket: by itself where its index is plain,
    /// else all elements together.
    pub(super) fn element(toks: &[Tok], i: usize) -> Option<(String, usize)> {
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
    pub(super) fn text(&self, toks: &[Tok]) -> Vec<String> {
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

impl Values {
    /// A name may hold these, too.
    pub(super) fn hold(&mut self, name: String, texts: Vec<String>) {
        let slot = self.vars.entry(name).or_default();
        for text in texts {
            if !slot.contains(&text) && slot.len() < 64 {
                slot.push(text);
            }
        }
    }
}
