//! Makefiles: rules, variables, and calls of make's own functions, as far as they are plain.

use super::engine::UNK;
use std::collections::HashMap;

/// What a makefile says.
#[derive(Default)]
pub(super) struct Rules {
    pub(super) vars: HashMap<String, String>,
    pub(super) rules: Vec<(Vec<String>, Vec<String>, Vec<String>)>,
    pub(super) strange: bool,
    /// Commands that run while the file is read: `NAME != COMMAND`.
    pub(super) shells: Vec<String>,
    /// A recipe is one script (`.ONESHELL`).
    pub(super) one_shell: bool,
    /// Nothing is run but what says that it always is (`-n`).
    pub(super) dry: bool,
    /// Goals get a new time in place of what their recipes do (`-t`).
    pub(super) touch: bool,
}

/// What make's own variables hold, where the makefile does not say.
const OWN: &[(&str, &str)] = &[
    ("RM", "rm -f"),
    ("CC", "cc"),
    ("CXX", "g++"),
    ("AR", "ar"),
    ("AS", "as"),
    ("LD", "ld"),
    ("CPP", "cc -E"),
    ("CO", "co"),
    ("LEX", "lex"),
    ("YACC", "yacc"),
    ("TEX", "tex"),
];

/// Reads the text of a makefile.
pub(super) fn read_rules(text: &str, r: &mut Rules) {
    let joined = text.replace("\\\n", " ");
    let mut open = false;
    let mut define = false;
    for line in joined.lines() {
        if define {
            define = line.trim() != "endef";
            continue;
        }
        if let Some(cmd) = line.strip_prefix('\t') {
            if open && let Some(last) = r.rules.last_mut() {
                last.2.push(cmd.to_owned());
            }
            continue;
        }
        let line = line.split('#').next().unwrap_or("").trim_end();
        let t = line.trim();
        if t.is_empty() {
            continue;
        }
        let first = t.split_whitespace().next().unwrap_or("");
        if first == ".ONESHELL:" || t.starts_with(".ONESHELL ") {
            r.one_shell = true;
            open = false;
            continue;
        }
        if matches!(first, "load" | "-load" | ".RECIPEPREFIX" | "private" | "undefine" | "unexport") {
            r.strange = true;
        }
        if matches!(first, "include" | "-include" | "sinclude" | "ifeq" | "ifneq" | "ifdef" | "ifndef" | "else" | "endif" | "vpath")
            || t.starts_with("$(eval")
        {
            r.strange = true;
            continue;
        }
        if first == "define" {
            r.strange = true;
            define = true;
            continue;
        }
        let t = t.strip_prefix("export ").or_else(|| t.strip_prefix("override ")).unwrap_or(t);
        let eq = t.find('=');
        let colon = t.find(':');
        if let Some(e) = eq.filter(|e| colon.is_none_or(|c| c + 1 >= *e || c + 2 >= *e && t[c..].starts_with("::="))) {
            let name = t[..e].trim_end_matches([':', '?', '+', '!']).trim().to_owned();
            let value = t[e + 1..].trim().to_owned();
            if t[..e].ends_with('!') {
                r.shells.push(value);
                r.vars.insert(name, UNK.to_string());
                open = false;
                continue;
            }
            if t[..e].ends_with('+') {
                let old = r.vars.entry(name).or_default();
                old.push(' ');
                old.push_str(&value);
            } else if !(t[..e].ends_with('?') && r.vars.contains_key(&name)) {
                r.vars.insert(name, value);
            }
            open = false;
            continue;
        }
        if let Some(c) = colon {
            let targets: Vec<String> = expand(&t[..c], r, "", &[], 0).split_whitespace().map(str::to_owned).collect();
            let rest = t[c + 1..].trim_start_matches(':');
            let (needs, cmd) = rest.split_once(';').map_or((rest, None), |(n, c)| (n, Some(c.to_owned())));
            // a variable of this goal alone
            r.strange |= needs.contains('=') && !needs.contains("$(");
            let needs = expand(needs, r, "", &[], 0).split_whitespace().filter(|n| *n != "|").map(str::to_owned).collect();
            r.rules.push((targets, needs, cmd.into_iter().collect()));
            open = true;
        }
    }
}

/// The texts that a function of make is called with.
pub(super) fn calls(text: &str, function: &str) -> Vec<String> {
    let mut out = Vec::new();
    let starts = [(format!("$({function} "), '(', ')'), (format!("${{{function} "), '{', '}')];
    let all = starts
        .iter()
        .flat_map(|(start, open, close)| text.match_indices(start.as_str()).map(move |(i, _)| (i + start.len(), *open, *close)));
    for (i, open, close) in all.take(50) {
        let body = &text[i..];
        let mut depth = 1;
        for (k, ch) in body.char_indices() {
            match ch {
                c if c == open => depth += 1,
                c if c == close => {
                    depth -= 1;
                    if depth == 0 {
                        out.push(body[..k].to_owned());
                        break;
                    }
                }
                _ => {}
            }
        }
    }
    out
}

/// Variables in a line of a makefile.
pub(super) fn expand(t: &str, r: &Rules, goal: &str, needs: &[String], depth: u32) -> String {
    if depth > 8 || !t.contains('$') {
        return t.to_owned();
    }
    let c: Vec<char> = t.chars().collect();
    let mut out = String::new();
    let mut i = 0;
    while i < c.len() {
        if c[i] != '$' {
            out.push(c[i]);
            i += 1;
            continue;
        }
        match c.get(i + 1) {
            Some('$') => {
                out.push('$');
                i += 2;
            }
            Some('@') => {
                out.push_str(goal);
                i += 2;
            }
            Some('<') => {
                out.push_str(needs.first().map_or("", String::as_str));
                i += 2;
            }
            Some('*' | '%' | '|') => {
                out.push(UNK);
                i += 2;
            }
            Some('^' | '?' | '+') => {
                out.push_str(&needs.join(" "));
                i += 2;
            }
            Some(o @ ('(' | '{')) => {
                let close = if *o == '(' { ')' } else { '}' };
                let mut depth2 = 0;
                let mut k = i + 1;
                while k < c.len() {
                    if c[k] == *o {
                        depth2 += 1;
                    } else if c[k] == close {
                        depth2 -= 1;
                        if depth2 == 0 {
                            break;
                        }
                    }
                    k += 1;
                }
                let name: String = c[(i + 2).min(c.len())..k.min(c.len())].iter().collect();
                match name.as_str() {
                    "MAKE" => out.push_str("make"),
                    "CURDIR" => out.push('.'),
                    "@D" => out.push_str(super::picture::split(goal).0),
                    "@F" => out.push_str(super::picture::split(goal).1),
                    n => match r.vars.get(n) {
                        Some(v) => out.push_str(&expand(v, r, goal, needs, depth + 1)),
                        None if n.contains([' ', ':', '*', '%', '<', '^']) => out.push(UNK),
                        None if OWN.iter().any(|own| own.0 == n) => {
                            out.push_str(OWN.iter().find(|own| own.0 == n).map_or("", |own| own.1));
                        }
                        // the environment has it, or nobody
                        None => out.push_str(&format!("${{{n}}}")),
                    },
                }
                i = k + 1;
            }
            Some(x) => {
                if let Some(v) = r.vars.get(&x.to_string()) {
                    out.push_str(&expand(v, r, goal, needs, depth + 1))
                }
                i += 2;
            }
            None => i += 1,
        }
    }
    out
}
