//! Builtins that set things: variables, options, history, completions; and `printf`.

use super::echo;
use super::engine::{Engine, UNK};
use super::state::{Shell, Value, Var};

impl Engine<'_> {
    pub(super) fn declare(&mut self, sh: &mut Shell, verb: &str, args: &[String]) {
        let mut flags = String::new();
        let local = verb == "local" || matches!(verb, "declare" | "typeset") && !sh.locals.is_empty();
        for a in args {
            if (a.starts_with('-') || a.starts_with('+')) && a.len() > 1 && !a.contains('=') {
                if let Some(set) = a.strip_prefix('-') {
                    flags.push_str(set);
                }
                continue;
            }
            let name = a.split(['=', '[']).next().unwrap_or("").trim_end_matches('+').to_owned();
            if flags.contains(['f', 'F']) && (verb == "export" || flags.contains('x')) {
                sh.shared.insert(name);
                continue;
            }
            if flags.contains('f') || flags.contains('F') || flags.contains('p') {
                continue;
            }
            if local && !flags.contains('g') {
                let old = sh.vars.get(&name).cloned();
                if let Some(frame) = sh.locals.last_mut() {
                    frame.push((name.clone(), old));
                }
                if !a.contains('=') && verb == "local" {
                    sh.vars.insert(name.clone(), Var { value: Value::Unset, exported: false, shape: ' ' });
                }
            }
            if flags.contains('A') && !matches!(sh.vars.get(&name).map(|v| &v.value), Some(Value::Map(_))) {
                sh.vars.insert(name.clone(), Var { value: Value::Map(Vec::new()), exported: false, shape: ' ' });
            }
            let shape = flags.chars().find(|c| "iul".contains(*c));
            if let Some(s) = shape {
                let old = self.var(sh, &name);
                let value = if a.contains('=') { Value::Unset } else { old.map_or(Value::Unset, Value::Text) };
                sh.vars.insert(name.clone(), Var { value, exported: false, shape: s });
            }
            if flags.contains('n')
                && let Some((_, v)) = a.split_once('=')
            {
                sh.vars.insert(name.clone(), Var { value: Value::Ref(v.to_owned()), exported: false, shape: ' ' });
                continue;
            }
            let export = verb == "export" && !flags.contains('n') || flags.contains('x');
            if a.contains('=') {
                self.assignment(sh, a, export, true);
            } else if export && let Some(v) = self.var(sh, &name) {
                let e = sh.vars.entry(name).or_insert(Var { value: Value::Text(v), exported: true, shape: ' ' });
                e.exported = true;
            }
        }
    }

    pub(super) fn set(&mut self, sh: &mut Shell, args: &[String]) {
        let mut i = 0;
        while i < args.len() {
            let a = args[i].as_str();
            if a == "--" || a == "-" {
                sh.args = args[i + 1..].to_vec();
                return;
            }
            let on = a.starts_with('-');
            if !(on || a.starts_with('+')) || a.len() < 2 {
                sh.args = args[i..].to_vec();
                return;
            }
            for c in a[1..].chars() {
                let option = if c == 'o' {
                    i += 1;
                    args.get(i).and_then(|name| sh.opts.named(name))
                } else {
                    sh.opts.letter(c)
                };
                if let Some(option) = option {
                    *option = on;
                }
            }
            i += 1;
        }
    }

    /// `history`: the list itself is nobody's; the file it is written to may be somebody's.
    pub(super) fn history(&mut self, sh: &mut Shell, args: &[String]) {
        if args.iter().any(|a| a.starts_with('-') && a.contains(['w', 'a'])) {
            let file = args.iter().find(|a| !a.starts_with('-')).cloned();
            if let Some(file) = file.or_else(|| self.var(sh, "HISTFILE")) {
                self.write(sh, &file);
            }
        }
    }

    /// `compgen`: what makes words for a completion is run or expanded here and now.
    pub(super) fn compgen(&mut self, sh: &mut Shell, args: &[String]) {
        for pair in args.windows(2) {
            match pair[0].as_str() {
                "-C" => {
                    self.script(sh, &pair[1]);
                }
                "-F" => {
                    self.call(sh, vec![pair[1].clone()], true);
                }
                "-W" => {
                    let parts = super::words::double_parts(&pair[1]);
                    self.text(sh, &parts);
                }
                _ => {}
            }
        }
        self.put(sh, 1, &UNK.to_string());
        sh.status = None;
    }

    pub(super) fn printf(&mut self, sh: &mut Shell, args: &[String]) {
        let (mut var, mut a) = (None, args);
        if let Some(v) = a.first().and_then(|f| f.strip_prefix("-v")) {
            if v.is_empty() {
                var = a.get(1).cloned();
                a = a.get(2..).unwrap_or(&[]);
            } else {
                var = Some(v.to_owned());
                a = &a[1..];
            }
        }
        if a.first().is_some_and(|f| f == "--") {
            a = &a[1..];
        }
        let text = echo::printf(a);
        match var {
            Some(v) => {
                let raw = format!("{v}={text}");
                self.assignment(sh, &raw, false, true);
            }
            None => self.put(sh, 1, &text),
        }
    }
}
