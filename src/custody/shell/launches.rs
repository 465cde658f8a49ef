//! Calls that run something: commands, programs in the same language, modules.

use super::found::Found;
use super::lex::{Lang, Tok};
use super::picture;
use super::scan::{Args, Host, Val};

impl Found<'_, '_> {
    /// A call that runs a command, a program or a module.
    pub(super) fn launches(&mut self, name: &str, last: &str, recv: Option<&Val>, a: &Args) -> Option<Val> {
        let empty = Val::default();
        let arg = |n: usize| a.pos.get(n).unwrap_or(&empty);
        match (last, self.lang) {
            (
                "system"
                | "popen"
                | "getoutput"
                | "getstatusoutput"
                | "execSync"
                | "shell_exec"
                | "passthru"
                | "proc_open"
                | "capture2"
                | "capture2e"
                | "capture3"
                | "create_subprocess_shell"
                | "spawn"
                | "exec"
                | "pipeline"
                | "readpipe"
                | "popen2"
                | "popen2e"
                | "popen3",
                _,
            ) if !(last == "exec" && (self.lang == Lang::Python || self.lang == Lang::Node && recv.is_some_and(|r| !r.any.is_empty())))
                && !(last == "spawn" && matches!(self.lang, Lang::Node | Lang::Python)) =>
            {
                if self.lang == Lang::Node
                    && last == "exec"
                    && !(name.contains("child") || name.contains("cp.") || name == "exec" || recv.is_some_and(|r| r.from.contains("child")))
                {
                    return None;
                }
                // `IO.popen(COMMAND, "w")`, `popen(COMMAND, "r")`: how the pipe is opened is no word of the command
                let pipe =
                    |v: &Val| v.any.iter().all(|mode| matches!(mode.as_str(), "r" | "w" | "a" | "r+" | "w+" | "rb" | "wb" | "re" | "we"));
                let named: Vec<&Val> = a.pos.iter().filter(|p| !(p.any.is_empty() || last == "popen" && pipe(p))).collect();
                if let Some(first) = named.first() {
                    if first.list {
                        self.argv(&(*first).clone(), &[], a.named("cwd"));
                    } else if named.len() > 1 && matches!(self.lang, Lang::Perl | Lang::Ruby) {
                        let rest: Vec<Val> = named[1..].iter().map(|v| (*v).clone()).collect();
                        self.argv(&(*first).clone(), &rest, None);
                    } else {
                        let saved = self.sh.cwd.clone();
                        if let Some(d) = a.named("cwd").and_then(|c| c.any.first()).cloned() {
                            self.sh.cwd = self.e.full(&self.sh, &d);
                        }
                        for s in first.texts() {
                            self.shell(&s);
                        }
                        self.sh.cwd = saved;
                    }
                } else if !a.pos.is_empty() {
                    self.e.unknown("a command inside of a program is not known", name);
                }
                return Some(Val::default());
            }
            ("run" | "call" | "check_call" | "check_output" | "Popen" | "create_subprocess_exec", Lang::Python)
                if name.starts_with("subprocess")
                    || matches!(last, "check_call" | "check_output" | "Popen")
                    || self.aliases.contains_key(name)
                    || name.contains("create_sub")
                    || name.contains("sp.") =>
            {
                let first = a.pos.first().or_else(|| a.named("args")).cloned().unwrap_or_default();
                let shell = a.raw.windows(3).any(|w| {
                    matches!(&w[0], Tok::Name(n) if n == "shell")
                        && matches!(&w[2], Tok::Name(n) | Tok::Num(n) if matches!(n.as_str(), "True" | "1"))
                });
                if let Some(out) = a.named("stdout") {
                    let _ = out;
                }
                let saved = self.sh.cwd.clone();
                if let Some(d) = a.named("cwd").and_then(|c| c.any.first()).cloned() {
                    self.sh.cwd = self.e.full(&self.sh, &d);
                }
                if first.any.is_empty() {
                    self.e.unknown("a command inside of a program is not known", name);
                } else if shell {
                    let s = first.any.first().cloned().unwrap_or_default();
                    self.shell(&s);
                } else if first.list {
                    self.argv(&first, &[], None);
                } else if a.pos.len() > 1 && last == "create_subprocess_exec" {
                    self.argv(&first, &a.pos[1..], None);
                } else {
                    for s in first.any.clone() {
                        self.argv(&Val::text(s), &[], None);
                    }
                }
                self.sh.cwd = saved;
                return Some(Val::default());
            }
            ("execv" | "execve" | "execvp" | "execvpe" | "execl" | "execlp" | "execle" | "posix_spawn" | "posix_spawnp", Lang::Python) => {
                let words: Vec<Val> = a.pos.iter().skip(1).cloned().collect();
                if let Some(w) = words.first() {
                    self.argv(w, &words[1..], None);
                }
                return Some(Val::default());
            }
            // the mode comes first
            ("spawnl" | "spawnlp" | "spawnle" | "spawnlpe" | "spawnv" | "spawnvp" | "spawnve" | "spawnvpe", Lang::Python) => {
                let words: Vec<Val> = a.pos.iter().skip(2).cloned().collect();
                if let Some(w) = words.first() {
                    self.argv(w, &words[1..], None);
                }
                return Some(Val::default());
            }
            ("spawn", Lang::Python) if name == "pty.spawn" => {
                self.argv(arg(0), &[], None);
                return Some(Val::default());
            }
            ("spawnSync" | "spawn" | "execFileSync" | "execFile" | "fork" | "execa" | "execaSync", Lang::Node) => {
                let rest: Vec<Val> = a.pos.get(1).filter(|v| v.list).cloned().into_iter().collect();
                let shell = a.says("shell");
                if shell {
                    let saved = self.sh.cwd.clone();
                    if let Some(dir) = a.named("cwd").and_then(|dir| dir.any.first()).cloned() {
                        self.sh.cwd = self.e.full(&self.sh, &dir);
                    }
                    let mut t = arg(0).any.first().cloned().unwrap_or_default();
                    for r in &rest {
                        t = t + " " + &r.any.join(" ");
                    }
                    self.shell(&t);
                    self.sh.cwd = saved;
                } else {
                    self.argv(arg(0), &rest, a.named("cwd"));
                }
                return Some(Val::default());
            }
            // functions by their names
            ("array_map" | "array_walk" | "call_user_func" | "call_user_func_array" | "array_filter" | "usort", Lang::Php) => {
                let at =
                    a.pos.iter().position(|p| !p.list && p.any.len() == 1 && p.any[0].chars().all(|c| c.is_alphanumeric() || c == '_'))?;
                let function = arg(at).any.first()?.clone();
                let pos = a.pos.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, v)| v);
                let pos = if last.starts_with("array_") {
                    pos.map(|v| Val { list: false, ..v.clone() }).collect()
                } else {
                    pos.flat_map(|v| if v.list { v.any.iter().cloned().map(Val::text).collect() } else { vec![v.clone()] }).collect()
                };
                return self.call(&function, None, &Args { pos, ..Args::default() });
            }
            ("chdir", _) | ("cd", Lang::Ruby) => {
                if let Some(d) = arg(0).any.first().cloned() {
                    self.sh.cwd = picture::tidy(&self.e.full(&self.sh, &d));
                }
                return Some(Val::default());
            }
            ("eval" | "exec" | "instance_eval" | "vm.runInNewContext" | "runInThisContext", _) => {
                if a.pos.iter().any(|text| text.any.is_empty()) && !matches!(self.lang, Lang::Perl | Lang::Ruby) {
                    self.e.unknown("a program inside of a program is not known", name);
                }
                for t in arg(0).any.clone() {
                    self.program(&t);
                }
                return Some(Val::default());
            }
            ("runpy.run_path" | "run_path" | "execfile" | "run_module", Lang::Python) => {
                self.e.unknown("a program that can do anything", name);
                return Some(Val::default());
            }
            ("Worker", Lang::Node) => {
                for text in arg(0).any.clone() {
                    if a.says("eval") { self.program(&text) } else { self.file(&text) }
                }
                return Some(Val::default());
            }
            // `Function("a", "b", BODY)`
            ("Function", Lang::Node) => {
                match a.pos.last().map(|body| body.any.clone()).filter(|body| !body.is_empty()) {
                    Some(body) => body.iter().for_each(|text| self.program(text)),
                    None => self.e.unknown("a program inside of a program is not known", name),
                }
                return Some(Val::default());
            }
            ("require" | "import", Lang::Node) => {
                let m = arg(0).any.first().cloned().unwrap_or_default();
                if m.starts_with('.') || m.starts_with('/') {
                    self.file(&m);
                }
                return Some(Val { from: m, ..Val::default() });
            }
            (
                "load" | "require_relative" | "do" | "include" | "require_once" | "include_once" | "require",
                Lang::Ruby | Lang::Perl | Lang::Php,
            ) => {
                let m = arg(0).any.first().cloned().unwrap_or_default();
                if m.contains('/') || m.contains('.') {
                    self.file(&m);
                }
                return Some(Val::default());
            }
            _ => {}
        }
        None
    }
}
