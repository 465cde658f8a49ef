//! `make`: what its files say to run, where that is plain.

use super::Kind;
use super::engine::{Engine, UNK};
use super::makefile::{Rules, calls, expand, read_rules};
use super::picture::join;
use super::state::Shell;
use std::collections::HashSet;

/// Endings that make's own rules make a file from.
const SOURCES: &[&str] = &["", ".c", ".cc", ".cpp", ".C", ".s", ".S", ".sh", ".f", ".p", ".o", ".y", ".l", ".tex", ",v"];

impl Engine<'_> {
    pub(crate) fn make(&mut self, sh: &mut Shell, argv: &[String]) {
        let argv = &self.make_words(sh, argv);
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
            // without a file there are still its own rules
            if let Some(n) = found {
                text.push_str(&self.content(&sub, n));
            }
        }
        for f in files {
            let t = if f == "-" { self.take(sh, 0) } else { self.content(&sub, &f) };
            text.push_str(&t);
            text.push('\n');
        }
        let more = sh.vars.get("MAKEFILES").is_some_and(|var| var.exported).then(|| self.var(sh, "MAKEFILES")).flatten();
        for f in more.unwrap_or_default().split_ascii_whitespace() {
            text = self.content(&sub, f) + "\n" + &text;
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
        r.touch = !dry && c.has(&["-t", "--touch"]);
        r.dry = dry || r.touch;
        read_rules(&text, &mut r);
        for (k, v) in given {
            r.vars.insert(k, v);
        }
        if r.strange {
            self.unknown("a makefile is more than is read here", "make");
        }
        // `$(shell …)` runs whenever the file is read
        for s in calls(&text, "shell").into_iter().chain(std::mem::take(&mut r.shells)) {
            let s = expand(&s, &r, "", &[], 0);
            let mut child = self.child(&sub, true);
            self.script(&mut child, &s);
        }
        // `$(file >NAME,…)` writes
        for call in calls(&text, "file") {
            let call = expand(&call, &r, &UNK.to_string(), &[], 0);
            if let Some(to) = call.trim().strip_prefix('>') {
                let to = to.trim_start_matches('>').split(',').next().unwrap_or("").trim().to_owned();
                self.effect(&mut sub, 'W', &to, false);
            }
        }
        if goals.is_empty() {
            // a name that begins with a dot is none that is made by itself, unless it is a path
            let plain = |t: &&String| (!t.starts_with('.') || t.contains('/')) && !t.contains('%');
            goals.extend(r.rules.iter().flat_map(|x| &x.0).find(plain).cloned());
            goals.extend(r.vars.get(".DEFAULT_GOAL").cloned());
        }
        let before = self.out.acts.len();
        let mut done = HashSet::new();
        for g in goals {
            self.make_goal(&mut sub, &r, &g, &mut done, 0);
        }
        if text.is_empty() && self.out.acts.len() == before {
            sh.status = Some(2);
            return;
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
            self.make_recipe(sh, r, goal, &needs, recipe);
        }
        if !hit && self.what(sh, goal).is_none() {
            if let Some(rule) = r.rules.iter().find(|rule| rule.0.iter().any(|target| target == ".DEFAULT")) {
                self.make_recipe(sh, r, goal, &[], &rule.2);
            }
            if r.strange {
                self.unknown("a goal is not known", goal);
            }
        }
        if !hit && !r.dry {
            // its own rules make it from what has the same name
            let stem = goal.rsplit_once('.').filter(|parts| !parts.1.contains('/')).map_or(goal, |parts| parts.0);
            if SOURCES.iter().any(|end| format!("{stem}{end}") != goal && self.what(sh, &format!("{stem}{end}")) == Some(Kind::File)) {
                self.effect(sh, 'W', goal, false);
            }
        }
    }

    /// The lines that make a goal.
    fn make_recipe(&mut self, sh: &mut Shell, r: &Rules, goal: &str, needs: &[String], recipe: &[String]) {
        let phony = || r.rules.iter().any(|(targets, needs, _)| targets.iter().any(|t| t == ".PHONY") && needs.iter().any(|n| n == goal));
        if r.touch && !recipe.is_empty() && !phony() {
            self.effect(sh, 'U', goal, false);
        }
        // under `-n` only what is marked, and make itself, runs
        let runs = |line: &&String| {
            let marked = line.trim_start_matches(['@', '-', ' ', '\t']).starts_with('+');
            !r.dry || marked || line.contains("$(MAKE)") || line.contains("${MAKE}")
        };
        let mut lines: Vec<String> = recipe
            .iter()
            .filter(runs)
            .map(|line| expand(line, r, goal, needs, 0).trim_start_matches(['@', '-', '+', ' ', '\t']).to_owned())
            .collect();
        if r.one_shell {
            lines = vec![lines.join("\n")];
        }
        let other =
            r.vars.get("SHELL").filter(|shell| !matches!(shell.as_str(), "sh" | "bash" | "/bin/sh" | "/bin/bash" | "/usr/bin/bash"));
        let flags = r.vars.get(".SHELLFLAGS").map_or("-c", String::as_str);
        for line in lines {
            let mut child = self.child(sh, true);
            for (k, v) in &r.vars {
                if k.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '_') {
                    self.assign(&mut child, k, expand(v, r, "", &[], 0));
                }
            }
            if let Some(shell) = other {
                let words = expand(shell, r, goal, needs, 0);
                let words = words.split_ascii_whitespace().chain(flags.split_ascii_whitespace()).map(str::to_owned);
                self.call(&mut child, words.chain([line]).collect(), false);
            } else {
                self.script(&mut child, &line);
            }
            self.end(&mut child);
        }
    }

    /// The words of a call of make, with those that its variables put in front.
    fn make_words(&mut self, sh: &Shell, argv: &[String]) -> Vec<String> {
        let mut all = argv.to_vec();
        for name in ["MAKEFLAGS", "GNUMAKEFLAGS", "MFLAGS"] {
            if !sh.vars.get(name).is_some_and(|var| var.exported) {
                continue;
            }
            let text = self.var(sh, name).unwrap_or_default();
            // a blank inside of a word is written with a backslash, and letters alone are options
            let mut words: Vec<String> = vec![String::new()];
            let mut chars = text.chars();
            let mut depth = 0_i32;
            while let Some(ch) = chars.next() {
                match ch {
                    '\\' => words.last_mut().into_iter().for_each(|word| word.extend(chars.clone().next())),
                    ' ' | '\t' if depth <= 0 => words.push(String::new()),
                    _ => words.last_mut().into_iter().for_each(|word| word.push(ch)),
                }
                match ch {
                    '\\' => {
                        chars.next();
                    }
                    '(' | '{' => depth += 1,
                    ')' | '}' => depth -= 1,
                    _ => {}
                }
            }
            words.retain(|word| !word.is_empty());
            if let Some(first) = words.first_mut()
                && !first.starts_with('-')
                && !first.contains('=')
            {
                first.insert(0, '-');
            }
            all.splice(1..1, words);
        }
        all
    }
}
