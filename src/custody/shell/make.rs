//! `make` and `npm run`: what their files say to run, where that is plain.

use super::engine::{Engine, UNK};
use super::picture::join;
use super::state::Shell;
use std::collections::{HashMap, HashSet};

#[derive(Default)]
struct Rules {
    pub(super) vars: HashMap<String, String>,
    rules: Vec<(Vec<String>, Vec<String>, Vec<String>)>,
    pub(super) strange: bool,
}

impl Engine<'_> {
    pub(crate) fn make(&mut self, sh: &mut Shell, argv: &[String]) {
        let marks = "-C: --directory: -f: --file: --makefile: -I: --include-dir: -j:: --jobs:: -l:: -o: -W: --eval: -E: -O:: --old-file: --what-if:";
        let c = super::options::parse(marks, argv);
        let mut sub = self.child(sh, true);
        for d in c.values(&["-C", "--directory"]) {
            sub.cwd = join(&sub.cwd, d);
        }
        if c.has(&["-v", "--version", "-h", "--help"]) {
            return;
        }
        let dry = c.has(&["-n", "--just-print", "--dry-run", "--recon", "-q", "--question", "-p"]);
        let mut r = Rules::default();
        let mut text = String::new();
        for e in c.values(&["--eval", "-E"]) {
            text = text + e + "\n";
        }
        let files: Vec<String> = c.values(&["-f", "--file", "--makefile"]).into_iter().map(str::to_owned).collect();
        if files.is_empty() {
            let found = ["GNUmakefile", "makefile", "Makefile"].into_iter().find(|n| self.what(&sub, n).is_some());
            match found {
                Some(n) => text.push_str(&self.content(&sub, n)),
                None if text.is_empty() => {
                    sh.status = Some(2);
                    return;
                }
                None => {}
            }
        }
        for f in files {
            let t = if f == "-" { self.take(sh, 0) } else { self.content(&sub, &f) };
            text.push_str(&t);
            text.push('\n');
        }
        if text.contains(UNK) {
            self.unknown("a makefile can't be read", "make");
            return;
        }
        let mut goals: Vec<String> = Vec::new();
        let mut given: Vec<(String, String)> = Vec::new();
        for a in &c.args {
            match a.split_once('=') {
                Some((k, v)) => given.push((k.trim_end_matches(':').to_owned(), v.to_owned())),
                None => goals.push(a.clone()),
            }
        }
        read_rules(&text, &mut r);
        for (k, v) in given {
            r.vars.insert(k, v);
        }
        if r.strange {
            self.unknown("a makefile is more than is read here", "make");
        }
        // `$(shell …)` runs whenever the file is read
        for s in shell_calls(&text) {
            let s = expand(&s, &r, "", &[], 0);
            let mut child = self.child(&sub, true);
            self.script(&mut child, &s);
        }
        if dry {
            return;
        }
        if goals.is_empty() {
            goals.extend(r.rules.iter().flat_map(|x| &x.0).find(|t| !t.starts_with('.') && !t.contains('%')).cloned());
        }
        let mut done = HashSet::new();
        for g in goals {
            self.make_goal(&mut sub, &r, &g, &mut done, 0);
        }
        self.put(sh, 1, &UNK.to_string());
    }

    fn make_goal(&mut self, sh: &mut Shell, r: &Rules, goal: &str, done: &mut HashSet<String>, depth: u32) {
        if depth > 20 || !done.insert(goal.to_owned()) || !self.step() {
            return;
        }
        let mut hit = false;
        for (targets, needs, recipe) in &r.rules {
            let mut stem = String::new();
            let found = targets.iter().any(|t| {
                t == goal
                    || t.split_once('%').is_some_and(|(a, b)| {
                        let ok = goal.len() >= a.len() + b.len() && goal.starts_with(a) && goal.ends_with(b);
                        if ok {
                            stem = goal[a.len()..goal.len() - b.len()].to_owned();
                        }
                        ok
                    })
            });
            if !found {
                continue;
            }
            hit = true;
            let needs: Vec<String> = needs.iter().map(|n| n.replace('%', &stem)).collect();
            for n in &needs {
                self.make_goal(sh, r, n, done, depth + 1);
            }
            for line in recipe {
                let line = expand(line, r, goal, &needs, 0);
                let line = line.trim_start_matches(['@', '-', '+', ' ', '\t']);
                let mut child = self.child(sh, true);
                for (k, v) in &r.vars {
                    if k.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '_') {
                        self.assign(&mut child, k, expand(v, r, "", &[], 0));
                    }
                }
                self.script(&mut child, line);
                self.end(&mut child);
            }
        }
        if !hit && self.what(sh, goal).is_none() && r.strange {
            self.unknown("a goal is not known", goal);
        }
    }

    /// `npm run NAME` and its like; anything else is a program that can do anything.
    pub(crate) fn npm(&mut self, sh: &mut Shell, argv: &[String]) {
        let c = super::options::parse("--prefix: -C: --workspace: -w: --registry: --cwd: --loglevel:", argv);
        if c.args.is_empty() && c.has(&["--version", "-v", "--help", "-h"]) || c.has(&["--help"]) {
            return;
        }
        let mut sub = self.child(sh, true);
        if let Some(d) = c.value(&["--prefix", "-C", "--cwd"]) {
            sub.cwd = self.full(sh, d);
        }
        let verb = c.args.first().map_or("", String::as_str).to_owned();
        let name = match verb.as_str() {
            "run" | "run-script" => c.args.get(1).cloned(),
            "test" | "start" | "stop" | "restart" | "t" | "tst" => Some(if verb.starts_with('t') { "test".into() } else { verb.clone() }),
            "ls" | "list" | "view" | "info" | "outdated" | "search" | "help" | "whoami" | "ping" | "root" | "bin" | "audit" | "explain"
            | "why" | "pkg" | "prefix" | "version" => {
                self.put(sh, 1, &UNK.to_string());
                return;
            }
            "exec" | "x" | "dlx" => {
                let rest: Vec<String> = c.args[1..].to_vec();
                self.call(&mut sub, rest, false);
                return;
            }
            v if argv[0].ends_with("yarn") || argv[0].ends_with("pnpm") => Some(v.to_owned()),
            _ => None,
        };
        let Some(name) = name else {
            self.unknown("a program that can do anything", "npm");
            return;
        };
        let text = self.content(&sub, "package.json");
        let scripts = scripts(&text);
        let mut any = false;
        for n in [format!("pre{name}"), name.clone(), format!("post{name}")] {
            if let Some(s) = scripts.iter().find(|(k, _)| *k == n).map(|x| x.1.clone()) {
                any = true;
                let mut child = self.child(&sub, true);
                let extra: Vec<String> = if n == name {
                    c.args
                        .iter()
                        .skip(if verb.starts_with("run") { 2 } else { 1 })
                        .map(|a| format!("'{}'", a.replace('\'', "'\\''")))
                        .collect()
                } else {
                    Vec::new()
                };
                let line = if extra.is_empty() { s } else { format!("{s} {}", extra.join(" ")) };
                self.script(&mut child, &line);
                self.end(&mut child);
            }
        }
        if !(any || text.contains("\"scripts\"") && verb.starts_with("run")) {
            self.unknown("a program that can do anything", "npm");
        }
        self.put(sh, 1, &UNK.to_string());
    }
}

fn read_rules(text: &str, r: &mut Rules) {
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
            let needs = expand(needs, r, "", &[], 0).split_whitespace().filter(|n| *n != "|").map(str::to_owned).collect();
            r.rules.push((targets, needs, cmd.into_iter().collect()));
            open = true;
        }
    }
}

fn shell_calls(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for (i, _) in text.match_indices("$(shell ").take(50) {
        let body = &text[i + 8..];
        let mut depth = 1;
        for (k, ch) in body.char_indices() {
            match ch {
                '(' => depth += 1,
                ')' => {
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
fn expand(t: &str, r: &Rules, goal: &str, needs: &[String], depth: u32) -> String {
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
                        None if n.contains(' ') => out.push(UNK),
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

/// The scripts of a `package.json`: names and texts. No full reader of the format is needed for that.
fn scripts(text: &str) -> Vec<(String, String)> {
    let Some(i) = text.find("\"scripts\"") else { return Vec::new() };
    let Some(open) = text[i..].find('{') else { return Vec::new() };
    let c: Vec<char> = text[i + open + 1..].chars().collect();
    let mut out = Vec::new();
    let mut strings = Vec::new();
    let mut k = 0;
    while k < c.len() && c[k] != '}' {
        if c[k] == '"' {
            let start = k + 1;
            k += 1;
            while k < c.len() && c[k] != '"' {
                if c[k] == '\\' {
                    k += 1;
                }
                k += 1;
            }
            strings.push(super::words::ansi_c(&c[start.min(c.len())..k.min(c.len())]).replace("\\/", "/"));
        }
        k += 1;
    }
    for p in strings.chunks(2) {
        if let [a, b] = p {
            out.push((a.clone(), b.clone()));
        }
    }
    out
}
