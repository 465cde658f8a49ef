//! What the shell does itself: the directory, variables, tests, control, and calling functions and scripts.

use super::engine::{Engine, Fd, Flow, MAX_DEPTH, Shell, UNK, Value, Var};
use super::expand::after_call;
use super::picture::{self, join, tidy};
use super::{Kind, echo};
use std::rc::Rc;

impl Engine<'_> {
    /// Calls a function, a builtin or a program. `shell`: the caller is a shell, so that the first two exist.
    pub(crate) fn call(&mut self, sh: &mut Shell, argv: Vec<String>, shell: bool) -> Flow {
        let Some(name) = argv.first() else { return Flow::Next };
        if self.depth >= MAX_DEPTH * 2 || !self.step() {
            self.unknown("nested too deep", name);
            return Flow::Next;
        }
        super::fuel::did(2_000 + 4 * argv.iter().map(|a| a.len() + 8).sum::<usize>());
        if shell {
            if let Some(body) = sh.funcs.get(name).cloned() {
                return self.function(sh, &body, &argv[1..]);
            }
            let old = std::mem::replace(&mut self.by, name.clone());
            if let Some(flow) = self.builtin(sh, &argv) {
                self.by = old;
                return flow;
            }
        }
        if name.contains(UNK) {
            self.unknown("the program is not known", name);
            sh.status = None;
            self.put(sh, 1, &UNK.to_string());
            return Flow::Next;
        }
        if name.is_empty() {
            sh.status = Some(127);
            return Flow::Next;
        }
        self.depth += 1;
        self.by = picture::split(name).1.to_owned();
        sh.status = None;
        self.external(sh, &argv);
        self.depth -= 1;
        Flow::Next
    }

    fn function(&mut self, sh: &mut Shell, body: &Rc<super::syntax::Cmd>, args: &[String]) -> Flow {
        if self.depth >= MAX_DEPTH {
            self.unknown("a function calls itself too deep", "");
            return Flow::Next;
        }
        let saved = std::mem::replace(&mut sh.args, args.to_vec());
        let loops = std::mem::take(&mut sh.loops);
        sh.locals.push(Vec::new());
        self.depth += 1;
        let flow = self.run(sh, body);
        self.depth -= 1;
        sh.loops = loops;
        for (name, old) in sh.locals.pop().unwrap_or_default().into_iter().rev() {
            match old {
                Some(v) => sh.vars.insert(name, v),
                None => sh.vars.remove(&name),
            };
        }
        sh.args = saved;
        after_call(flow)
    }

    fn builtin(&mut self, sh: &mut Shell, argv: &[String]) -> Option<Flow> {
        let args = &argv[1..];
        let mut status = Some(0);
        match argv[0].as_str() {
            ":" | "wait" | "times" | "ulimit" | "jobs" | "fg" | "bg" | "disown" | "caller" | "complete" | "bind" | "suspend" | "umask"
            | "compopt" | "help" => {}
            "enable" => {
                if args.iter().any(|a| a.starts_with('-') && a.contains('f')) {
                    self.unknown("a builtin that is loaded from a file", &args.join(" "));
                }
            }
            "history" => self.history(sh, args),
            "true" => {}
            "false" => status = Some(1),
            "kill" => {
                sh.killed = true;
                status = None;
            }
            "cd" | "chdir" => status = self.cd(sh, args),
            "pushd" => status = self.pushd(sh, args),
            "popd" => {
                if args.iter().any(|a| a == "-n") {
                    sh.dirs.pop();
                } else if let Some(d) = sh.dirs.pop() {
                    self.go(sh, d);
                } else {
                    status = Some(1);
                }
            }
            "dirs" => {
                if args.iter().any(|a| a == "-c") {
                    sh.dirs.clear();
                }
                let all = sh.stack();
                let one = args.iter().find_map(|a| nth(a, all.len()));
                let text = match one {
                    Some(n) => all.get(n).cloned().unwrap_or_default(),
                    None => all.join(if args.iter().any(|a| a.starts_with('-') && a.contains(['p', 'v'])) { "\n" } else { " " }),
                };
                self.put(sh, 1, &(text + "\n"));
            }
            "pwd" => {
                let p = if args.iter().any(|a| a == "-P") { self.fs.at(&sh.cwd, true).path } else { sh.cwd.clone() };
                self.put(sh, 1, &(p + "\n"));
            }
            "echo" => {
                let text = echo::echo(args, sh.opts.posix);
                self.put(sh, 1, &text);
            }
            "printf" => self.printf(sh, args),
            "read" => status = self.read(sh, args),
            "mapfile" | "readarray" => self.mapfile(sh, args),
            "test" => status = self.bracket(sh, args),
            "[" => {
                let a = args.strip_suffix(&["]".to_owned()]).unwrap_or(args);
                status = self.bracket(sh, a);
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => self.declare(sh, &argv[0], args),
            "unset" => {
                for a in args.iter().filter(|a| !a.starts_with('-')) {
                    if args.iter().any(|x| x == "-f") || !sh.vars.contains_key(a) && sh.funcs.contains_key(a) {
                        sh.funcs.remove(a);
                    } else if let Some((n, i)) = a.split_once('[') {
                        let at = self.number(sh, i.trim_end_matches(']'));
                        if let (Some(Value::List(l)), Some(at)) = (sh.vars.get_mut(n).map(|v| &mut v.value), at) {
                            l.remove(&at);
                        }
                    } else {
                        sh.vars.insert(a.clone(), Var { value: Value::Unset, exported: false, shape: ' ' });
                    }
                }
            }
            "set" => self.set(sh, args),
            "shopt" => {
                let says = |flag: char| args.iter().any(|a| a.starts_with('-') && a.contains(flag));
                let on = says('s');
                if on || says('u') {
                    for a in args.iter().filter(|a| !a.starts_with('-')) {
                        let option = if says('o') { sh.opts.named(a) } else { sh.opts.shopted(a) };
                        if let Some(option) = option {
                            *option = on;
                        }
                    }
                }
            }
            "shift" => {
                let n = args.first().map_or(Some(1), |a| a.parse::<usize>().ok()).unwrap_or(1);
                if n <= sh.args.len() {
                    sh.args.drain(..n);
                } else {
                    status = Some(1);
                }
            }
            "eval" => return Some(self.script(sh, &args.join(" "))),
            "." | "source" => return Some(self.source(sh, args)),
            "exec" => {
                let mut a = args;
                let mut name = None;
                while let Some(f) = a.first() {
                    match f.as_str() {
                        "-a" => {
                            name = a.get(1).cloned();
                            a = a.get(2..).unwrap_or(&[]);
                        }
                        "-c" | "-l" | "-cl" | "-lc" | "--" => a = &a[1..],
                        _ => break,
                    }
                }
                let _ = name;
                if a.is_empty() {
                    sh.status = Some(0);
                    return Some(Flow::Next);
                }
                self.call(sh, a.to_vec(), false);
                return Some(Flow::Exit);
            }
            // neither is a login shell, what a harness starts, nor what a script starts without saying so
            "logout" => status = Some(1),
            "exit" => {
                if let Some(n) = args.first() {
                    sh.status = n.parse().ok();
                }
                return Some(Flow::Exit);
            }
            "return" if sh.locals.is_empty() && sh.sourced == 0 && !sh.opts.posix => status = Some(2),
            "return" => {
                if let Some(n) = args.first() {
                    sh.status = n.parse().ok();
                }
                return Some(Flow::Return);
            }
            "break" | "continue" if sh.loops == 0 => {}
            "break" => return Some(Flow::Break(args.first().and_then(|n| n.parse().ok()).unwrap_or(1))),
            "continue" => return Some(Flow::Continue(args.first().and_then(|n| n.parse().ok()).unwrap_or(1))),
            "trap" => Self::trap(sh, args),
            "alias" => {
                for a in args {
                    if let Some((k, v)) = a.split_once('=') {
                        sh.new_aliases.push((k.to_owned(), v.to_owned()));
                    }
                }
            }
            "unalias" => {
                for a in args {
                    sh.aliases.remove(a);
                    if a == "-a" {
                        sh.aliases.clear();
                    }
                }
            }
            "let" => {
                for a in args {
                    status = self.number(sh, a).map(|n| i32::from(n == 0));
                }
            }
            "getopts" => status = self.getopts(sh, args),
            "command" => {
                let mut a = args;
                let mut look = false;
                while let Some(f) = a.first().filter(|f| f.starts_with('-') && f.len() > 1) {
                    look |= f.contains(['v', 'V']) && f != "--";
                    a = &a[1..];
                }
                if look {
                    if let Some(n) = a.first() {
                        self.put(sh, 1, &format!("{n}\n"));
                    }
                    status = None;
                } else {
                    let funcs = std::mem::take(&mut sh.funcs);
                    let flow = self.call(sh, a.to_vec(), true);
                    sh.funcs = funcs;
                    return Some(flow);
                }
            }
            "builtin" => {
                let funcs = std::mem::take(&mut sh.funcs);
                let flow = self.call(sh, args.to_vec(), true);
                sh.funcs = funcs;
                return Some(flow);
            }
            "hash" => {
                if let Some(at) = args.iter().position(|a| a == "-p")
                    && let (Some(path), Some(names)) = (args.get(at + 1), args.get(at + 2..))
                {
                    sh.hashed.extend(names.iter().map(|name| (name.clone(), path.clone())));
                } else if args.iter().any(|a| a.starts_with('-') && a.contains(['r', 'd'])) {
                    sh.hashed.clear();
                }
                self.put(sh, 1, &UNK.to_string());
            }
            "compgen" => self.compgen(sh, args),
            "type" => {
                status = None;
                self.put(sh, 1, &UNK.to_string());
            }
            _ => return None,
        }
        sh.status = status;
        Some(Flow::Next)
    }

    fn trap(sh: &mut Shell, args: &[String]) {
        let args: Vec<&String> = args.iter().filter(|a| *a != "--" && *a != "-p" && *a != "-l").collect();
        let Some((body, signals)) = args.split_first() else { return };
        for s in signals {
            let s = s.strip_prefix("SIG").unwrap_or(s);
            let s = if s == "0" { "EXIT" } else { s };
            sh.traps.retain(|(k, _)| k != s);
            if body.as_str() != "-" {
                sh.traps.push((s.to_owned(), (*body).clone()));
            }
        }
    }

    /// Goes to a directory.
    fn go(&mut self, sh: &mut Shell, to: String) {
        sh.oldpwd = Some(std::mem::replace(&mut sh.cwd, to));
    }

    /// Where `cd DIR` leads; none where it fails.
    fn cd_target(&mut self, sh: &Shell, dir: &str, physical: bool) -> Option<String> {
        if dir.contains(UNK) {
            return Some(join(&sh.cwd, dir));
        }
        let mut full = self.full(sh, dir);
        if !dir.starts_with('/')
            && !dir.starts_with('.')
            && let Some(paths) = self.var(sh, "CDPATH")
        {
            for p in paths.split(':') {
                let base = if p.is_empty() { sh.cwd.clone() } else { self.full(sh, p) };
                let there = join(&base, dir);
                if self.fs.is_dir(&there) {
                    full = there;
                    break;
                }
            }
        }
        if full.contains(UNK) {
            return Some(full);
        }
        if !self.fs.is_dir(&full) {
            // what an unread program may have made can't be ruled out
            return if self.out.unknown.is_empty() { None } else { Some(tidy(&full)) };
        }
        Some(if physical { self.fs.at(&full, true).path } else { tidy(&full) })
    }

    fn cd(&mut self, sh: &mut Shell, args: &[String]) -> Option<i32> {
        let mut physical = sh.opts.physical;
        let mut rest = args;
        while let Some(a) = rest.first() {
            match a.as_str() {
                "--" => {
                    rest = &rest[1..];
                    break;
                }
                a if a.len() > 1 && a.starts_with('-') && a[1..].chars().all(|c| "PLe@".contains(c)) => {
                    physical = a.contains('P') || physical && !a.contains('L');
                    rest = &rest[1..];
                }
                _ => break,
            }
        }
        let dir = match rest.first().map(String::as_str) {
            None => self.var(sh, "HOME").or_else(|| self.input.home.map(|h| h.to_string_lossy().into_owned())),
            Some("-") => {
                let d = sh.oldpwd.clone().or_else(|| self.var(sh, "OLDPWD"));
                if let Some(d) = &d {
                    self.put(sh, 1, &format!("{d}\n"));
                }
                d
            }
            Some("") => return Some(0),
            Some(d) => Some(d.to_owned()),
        };
        let Some(dir) = dir else { return Some(1) };
        match self.cd_target(sh, &dir, physical) {
            Some(to) => {
                self.go(sh, to);
                Some(0)
            }
            None => Some(1),
        }
    }

    fn pushd(&mut self, sh: &mut Shell, args: &[String]) -> Option<i32> {
        let stay = args.iter().any(|a| a == "-n");
        let dir = args.iter().find(|a| *a != "-n" && *a != "--");
        match dir.map(String::as_str) {
            None => {
                let Some(top) = sh.dirs.pop() else { return Some(1) };
                sh.dirs.push(sh.cwd.clone());
                self.go(sh, top);
            }
            Some(r) if is_nth(r) => {
                let mut all = sh.stack();
                let Some(n) = nth(r, all.len()) else { return Some(1) };
                all.rotate_left(n);
                let top = all.remove(0);
                all.reverse();
                sh.dirs = all;
                self.go(sh, top);
            }
            Some(d) => {
                let Some(to) = self.cd_target(sh, d, false) else { return Some(1) };
                if stay {
                    sh.dirs.push(to);
                } else {
                    sh.dirs.push(sh.cwd.clone());
                    self.go(sh, to);
                }
            }
        }
        Some(0)
    }

    fn read(&mut self, sh: &mut Shell, args: &[String]) -> Option<i32> {
        let (mut array, mut fd, mut delim, mut raw, mut count) = (None, 0, '\n', false, None);
        let mut names: Vec<String> = Vec::new();
        let mut i = 0;
        while i < args.len() {
            let a = &args[i];
            if a == "--" {
                names.extend(args[i + 1..].iter().cloned());
                break;
            }
            if !a.starts_with('-') || a.len() < 2 {
                names.push(a.clone());
                i += 1;
                continue;
            }
            let letters: Vec<char> = a[1..].chars().collect();
            for (k, c) in letters.iter().enumerate() {
                if "adinNptu".contains(*c) {
                    let glued: String = letters[k + 1..].iter().collect();
                    let value = if glued.is_empty() {
                        i += 1;
                        args.get(i).cloned().unwrap_or_default()
                    } else {
                        glued
                    };
                    match c {
                        'a' => array = Some(value),
                        'd' => delim = value.chars().next().unwrap_or('\0'),
                        'n' | 'N' => count = value.parse::<usize>().ok(),
                        'u' => fd = value.parse().unwrap_or(0),
                        _ => {}
                    }
                    break;
                }
                raw |= *c == 'r';
            }
            i += 1;
        }
        let line = self.line(sh, fd, delim);
        let got = line.is_some();
        let mut line = line.unwrap_or_default();
        if let Some(n) = count {
            line = line.chars().take(n).collect();
        }
        if !raw && line.contains('\\') {
            let mut out = String::new();
            let mut it = line.chars();
            while let Some(c) = it.next() {
                out.push(if c == '\\' { it.next().unwrap_or('\\') } else { c });
            }
            line = out;
        }
        let ifs = self.var(sh, "IFS").unwrap_or_else(|| " \t\n".into());
        if let Some(a) = array {
            let items = split_ifs(&line, &ifs, usize::MAX);
            self.set_list(sh, &a, items);
        } else if names.is_empty() {
            self.assign(sh, "REPLY", line);
        } else {
            let items = split_ifs(&line, &ifs, names.len());
            let unknown = line.contains(UNK);
            for (k, n) in names.iter().enumerate() {
                let v = match items.get(k) {
                    Some(v) => v.clone(),
                    None if unknown => UNK.to_string(),
                    None => String::new(),
                };
                match n.split_once('[') {
                    Some((n, at)) => self.assign_at(sh, n, at.trim_end_matches(']'), v, false),
                    None => self.assign(sh, n, v),
                }
            }
        }
        Some(i32::from(!got))
    }

    fn mapfile(&mut self, sh: &mut Shell, args: &[String]) {
        let mut name = "MAPFILE".to_owned();
        let (mut trim, mut fd, mut delim, mut skip, mut max) = (false, 0, '\n', 0usize, usize::MAX);
        let mut called: Option<String> = None;
        let mut i = 0;
        while i < args.len() {
            let a = &args[i];
            let value = |i: &mut usize| {
                if a.len() > 2 {
                    a[2..].to_owned()
                } else {
                    *i += 1;
                    args.get(*i).cloned().unwrap_or_default()
                }
            };
            match a.as_str() {
                "-t" => trim = true,
                a if a.starts_with("-d") => delim = value(&mut i).chars().next().unwrap_or('\0'),
                a if a.starts_with("-u") => fd = value(&mut i).parse().unwrap_or(0),
                a if a.starts_with("-s") => skip = value(&mut i).parse().unwrap_or(0),
                a if a.starts_with("-n") => max = value(&mut i).parse().unwrap_or(usize::MAX),
                a if a.starts_with("-C") => called = Some(value(&mut i)),
                a if a.starts_with("-c") || a.starts_with("-O") => {
                    value(&mut i);
                }
                a => name = a.to_owned(),
            }
            i += 1;
        }
        let mut items = Vec::new();
        while let Some(l) = self.line(sh, fd, delim) {
            if items.len() > 4000 {
                break;
            }
            items.push(if trim { l } else { format!("{l}{delim}") });
        }
        let items: Vec<String> = items.into_iter().skip(skip).take(if max == 0 { usize::MAX } else { max }).collect();
        if let Some(called) = called {
            // called with the index and the line, after so many lines; that it is called at all is what matters
            for (n, line) in items.iter().enumerate().take(64) {
                self.script(sh, &format!("{called} {n} '{}'", line.replace('\'', "'\\''")));
            }
        }
        self.set_list(sh, &name, items);
    }

    fn declare(&mut self, sh: &mut Shell, verb: &str, args: &[String]) {
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

    fn set(&mut self, sh: &mut Shell, args: &[String]) {
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
    fn history(&mut self, sh: &mut Shell, args: &[String]) {
        if args.iter().any(|a| a.starts_with('-') && a.contains(['w', 'a'])) {
            let file = args.iter().find(|a| !a.starts_with('-')).cloned();
            if let Some(file) = file.or_else(|| self.var(sh, "HISTFILE")) {
                self.write(sh, &file);
            }
        }
    }

    /// `compgen`: what makes words for a completion is run or expanded here and now.
    fn compgen(&mut self, sh: &mut Shell, args: &[String]) {
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

    fn getopts(&mut self, sh: &mut Shell, args: &[String]) -> Option<i32> {
        let (Some(spec), Some(name)) = (args.first(), args.get(1)) else { return Some(1) };
        let list: Vec<String> = if args.len() > 2 { args[2..].to_vec() } else { sh.args.clone() };
        let set = self.var(sh, "OPTIND").and_then(|v| v.parse::<usize>().ok()).unwrap_or(1);
        let mut pos = if sh.getopts / 1000 == set { sh.getopts % 1000 } else { 1 };
        let mut ind = set;
        let end = |e: &mut Self, sh: &mut Shell, ind: usize| {
            e.assign(sh, name, "?".into());
            e.assign(sh, "OPTIND", ind.to_string());
            Some(1)
        };
        let Some(word) = list.get(ind - 1) else { return end(self, sh, ind) };
        if word == "--" {
            return end(self, sh, ind + 1);
        }
        if !word.starts_with('-') || word.len() < 2 {
            return end(self, sh, ind);
        }
        let letters: Vec<char> = word.chars().collect();
        let c = letters.get(pos).copied().unwrap_or('?');
        pos += 1;
        let takes = spec.find(c).is_some_and(|i| spec[i + c.len_utf8()..].starts_with(':'));
        if takes {
            let glued: String = letters[pos.min(letters.len())..].iter().collect();
            if glued.is_empty() {
                let v = list.get(ind).cloned().unwrap_or_default();
                self.assign(sh, "OPTARG", v);
                ind += 2;
            } else {
                self.assign(sh, "OPTARG", glued);
                ind += 1;
            }
            pos = 1;
        } else if pos >= letters.len() {
            ind += 1;
            pos = 1;
        }
        let known = c != ':' && spec.contains(c);
        self.assign(sh, name, if known { c.to_string() } else { "?".into() });
        self.assign(sh, "OPTIND", ind.to_string());
        sh.getopts = ind * 1000 + pos;
        Some(0)
    }

    fn source(&mut self, sh: &mut Shell, args: &[String]) -> Flow {
        let args = if args.first().is_some_and(|a| a == "--") { &args[1..] } else { args };
        let Some(name) = args.first() else { return Flow::Next };
        let full = self.full(sh, name);
        if full.contains(UNK) {
            self.unknown("the script is not known", name);
            return Flow::Next;
        }
        if !full.starts_with("/dev/") && self.fs.what(&full) != Some(Kind::File) {
            if !name.contains('/') && self.fs.what(&full).is_none() {
                self.unknown("the script is not known", name);
            }
            sh.status = Some(1);
            return Flow::Next;
        }
        let text = self.content(sh, name);
        let saved = (args.len() > 1).then(|| std::mem::replace(&mut sh.args, args[1..].to_vec()));
        sh.sourced += 1;
        let flow = self.script(sh, &text);
        sh.sourced -= 1;
        if let Some(s) = saved {
            sh.args = s;
        }
        after_call(flow)
    }

    /// Runs a script file as a shell of its own.
    pub(crate) fn run_file(&mut self, sh: &Shell, file: &str, args: &[String], posix: bool) -> Option<i32> {
        let text = self.content(sh, file);
        if text.contains(UNK) {
            self.unknown("a script can't be read", file);
        }
        let mut sub = self.child(sh, posix);
        sub.args = args.to_vec();
        sub.arg0 = file.to_owned();
        self.script(&mut sub, &text);
        self.end(&mut sub);
        sub.status
    }

    /// A new shell that a program starts: only what is exported goes along.
    pub(crate) fn child(&self, sh: &Shell, posix: bool) -> Shell {
        let mut vars = sh.vars.clone();
        for (name, v) in &mut vars {
            if !v.exported {
                // what hides the environment stays hidden only where it was unset
                if !matches!(v.value, Value::Unset) || !self.input.env.contains_key(name) {
                    v.value = Value::Unset;
                }
            }
        }
        vars.retain(|n, v| v.exported || self.input.env.contains_key(n));
        let shared = |name: &String| !posix && sh.shared.contains(name);
        Shell {
            funcs: sh.funcs.iter().filter(|(name, _)| shared(name)).map(|(name, body)| (name.clone(), Rc::clone(body))).collect(),
            shared: sh.shared.clone(),
            vars,
            no_env: sh.no_env,
            cwd: sh.cwd.clone(),
            fds: sh.fds.clone(),
            arg0: "bash".into(),
            status: Some(0),
            oldpwd: sh.oldpwd.clone(),
            opts: super::engine::Opts { posix, ..Default::default() },
            ..Shell::default()
        }
    }

    /// `test` and `[`.
    fn bracket(&mut self, sh: &mut Shell, a: &[String]) -> Option<i32> {
        let r = self.bracket_or(sh, a, 0);
        r.map(|b| i32::from(!b))
    }

    fn bracket_or(&mut self, sh: &mut Shell, a: &[String], depth: u32) -> Option<bool> {
        if depth > 16 {
            return None;
        }
        match a.len() {
            0 => return Some(false),
            1 => return if a[0].contains(UNK) { None } else { Some(!a[0].is_empty()) },
            2 if a[0] == "!" => return self.bracket_or(sh, &a[1..], depth + 1).map(|b| !b),
            2 => return self.test_one(sh, &a[0], &a[1]),
            3 if !matches!(a[1].as_str(), "-a" | "-o") && a[0] != "!" && a[0] != "(" => return self.test_two(sh, &a[0], &a[1], &a[2]),
            _ => {}
        }
        if let Some(i) = a.iter().position(|x| x == "-o") {
            let l = self.bracket_or(sh, &a[..i], depth + 1);
            let r = self.bracket_or(sh, &a[i + 1..], depth + 1);
            return if l == Some(true) || r == Some(true) { Some(true) } else { l.zip(r).map(|(l, r)| l || r) };
        }
        if let Some(i) = a.iter().position(|x| x == "-a") {
            let l = self.bracket_or(sh, &a[..i], depth + 1);
            let r = self.bracket_or(sh, &a[i + 1..], depth + 1);
            return if l == Some(false) || r == Some(false) { Some(false) } else { l.zip(r).map(|(l, r)| l && r) };
        }
        if a[0] == "!" {
            return self.bracket_or(sh, &a[1..], depth + 1).map(|b| !b);
        }
        if a[0] == "(" && a.last().is_some_and(|l| l == ")") {
            return self.bracket_or(sh, &a[1..a.len() - 1], depth + 1);
        }
        None
    }

    /// A test of one operand.
    pub(crate) fn test_one(&mut self, sh: &mut Shell, op: &str, v: &str) -> Option<bool> {
        match op {
            "-v" => {
                let p = super::words::word(&format!("${{{v}+x}}"));
                return Some(!self.one(sh, &p).is_empty());
            }
            "-t" => return Some(false),
            "-o" => return None,
            _ => {}
        }
        if v.contains(UNK) {
            return None;
        }
        if op == "-z" || op == "-n" {
            return Some(v.is_empty() == (op == "-z"));
        }
        if v.is_empty() {
            return Some(false);
        }
        let full = self.full(sh, v);
        if full.contains(UNK) || !full.starts_with('/') {
            return None;
        }
        let at = self.fs.at(&full, !matches!(op, "-L" | "-h"));
        let m = self.fs.meta(&at.path);
        match op {
            "-e" | "-a" => Some(m.is_some()),
            "-f" => Some(at.kind == Some(Kind::File)),
            "-d" => Some(at.kind == Some(Kind::Dir)),
            "-L" | "-h" => Some(at.kind == Some(Kind::Link)),
            "-s" => Some(m.is_some_and(|m| m.len > 0 || m.kind == Kind::Dir)),
            "-r" | "-w" | "-O" | "-G" | "-N" => m.is_some().then_some(true).or(Some(false)),
            "-x" => match m {
                None => Some(false),
                Some(m) => Some(m.kind == Kind::Dir || m.mode & 0o111 != 0),
            },
            "-p" | "-S" | "-b" | "-c" => Some(at.kind == Some(Kind::Other)),
            "-u" | "-g" | "-k" => Some(false),
            _ => None,
        }
    }

    /// A test of two operands.
    pub(crate) fn test_two(&mut self, sh: &mut Shell, a: &str, op: &str, b: &str) -> Option<bool> {
        if a.contains(UNK) || b.contains(UNK) {
            return None;
        }
        match op {
            "=" | "==" => Some(a == b),
            "!=" => Some(a != b),
            "<" => Some(a < b),
            ">" => Some(a > b),
            "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => compare(op, a.trim().parse().ok()?, b.trim().parse().ok()?),
            "-nt" | "-ot" | "-ef" => {
                let (fa, fb) = (self.full(sh, a), self.full(sh, b));
                let (pa, pb) = (self.fs.at(&fa, true), self.fs.at(&fb, true));
                if op == "-ef" {
                    return Some(pa.path == pb.path && pa.kind.is_some());
                }
                let (ma, mb) = (self.fs.meta(&pa.path), self.fs.meta(&pb.path));
                match (ma, mb) {
                    (Some(x), Some(y)) => Some(if op == "-nt" { x.mtime > y.mtime } else { x.mtime < y.mtime }),
                    (Some(_), None) => Some(op == "-nt"),
                    (None, Some(_)) => Some(op == "-ot"),
                    (None, None) => Some(false),
                }
            }
            _ => None,
        }
    }

    fn printf(&mut self, sh: &mut Shell, args: &[String]) {
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

    /// Whether a descriptor gives anything at all.
    pub(crate) fn has_input(&self, sh: &Shell) -> bool {
        matches!(sh.fd(0), Fd::In(_) | Fd::Read(..) | Fd::File(_))
    }
}

/// The place in the stack of directories that `+N` (from the front) or `-N` (from the back) names.
fn nth(word: &str, len: usize) -> Option<usize> {
    let n = word.get(1..)?.parse::<usize>().ok().filter(|n| *n < len)?;
    match word.as_bytes()[0] {
        b'+' => Some(n),
        b'-' => Some(len - 1 - n),
        _ => None,
    }
}

fn is_nth(word: &str) -> bool {
    word.starts_with(['+', '-']) && word.len() > 1 && word[1..].chars().all(|c| c.is_ascii_digit())
}

impl Shell {
    /// The stack of directories, the one in force first.
    fn stack(&self) -> Vec<String> {
        std::iter::once(&self.cwd).chain(self.dirs.iter().rev()).cloned().collect()
    }
}

/// Compares numbers as `test` does.
pub(crate) fn compare(op: &str, a: i64, b: i64) -> Option<bool> {
    Some(match op {
        "-eq" => a == b,
        "-ne" => a != b,
        "-lt" => a < b,
        "-le" => a <= b,
        "-gt" => a > b,
        "-ge" => a >= b,
        _ => return None,
    })
}

/// Splits a line as `read` does: the last name gets the rest.
fn split_ifs(line: &str, ifs: &str, max: usize) -> Vec<String> {
    let is = |c: char| ifs.contains(c);
    let blank = |c: char| ifs.contains(c) && c.is_whitespace();
    let mut rest = line.trim_start_matches(blank);
    let mut out = Vec::new();
    while !rest.is_empty() {
        if out.len() + 1 == max {
            out.push(rest.trim_end_matches(blank).to_owned());
            return out;
        }
        let end = rest.find(is).unwrap_or(rest.len());
        out.push(rest[..end].to_owned());
        rest = rest[end..].trim_start_matches(blank);
        if rest.starts_with(|c| is(c) && !blank(c)) {
            let n = rest.chars().next().map_or(0, char::len_utf8);
            rest = rest[n..].trim_start_matches(blank);
        }
    }
    out
}
