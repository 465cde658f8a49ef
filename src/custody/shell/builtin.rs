//! What the shell does itself: the directory, variables, tests, control, and calling functions and scripts.

use super::engine::{Engine, MAX_DEPTH, UNK};
use super::expand::after_call;
use super::picture;
use super::place::nth;
use super::state::{Fd, Flow, Shell, Value, Var};
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
        self.signalled |= super::traps::sends(&argv);
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
        self.fire(sh, "RETURN", true);
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
                if super::traps::sends(argv) {
                    sh.killed = true;
                    self.fire_signals(sh);
                }
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
            "trap" => self.trap(sh, args),
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
        self.fire(sh, "RETURN", true);
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
            opts: super::state::Opts { posix, ..Default::default() },
            ..Shell::default()
        }
    }

    /// Whether a descriptor gives anything at all.
    pub(crate) fn has_input(&self, sh: &Shell) -> bool {
        matches!(sh.fd(0), Fd::In(_) | Fd::Read(..) | Fd::File(_))
    }
}

impl Shell {
    /// The stack of directories, the one in force first.
    pub(super) fn stack(&self) -> Vec<String> {
        std::iter::once(&self.cwd).chain(self.dirs.iter().rev()).cloned().collect()
    }
}
