//! Names and calls of programs in other languages: what each gives, and what it does.

#![expect(clippy::nonminimal_bool, reason = "the conditions stand in the order of the language that they describe")]

use super::columns::base64;
use super::engine::UNK;
use super::found::Found;
use super::lex::{Lang, Tok};
use super::picture::{self, join};
use super::scan::{Args, Host, Val};
use super::writers::CALLS;

impl Host for Found<'_, '_> {
    fn run(&mut self, script: &str) {
        self.shell(script);
    }

    fn reached(&mut self) {
        self.e.unknown("a call of what is not known by name", self.lang_name());
    }

    fn name(&mut self, name: &str) -> Option<Val> {
        let env = |s: &mut Self, n: &str| {
            let sh = s.sh.clone();
            Some(s.e.var(&sh, n).map_or_else(Val::default, Val::text))
        };
        if let Some(k) = name.strip_prefix("process.env.") {
            return env(self, k);
        }
        for p in ["os.environ[", "process.env[", "ENV[", "_ENV[", "environ["] {
            if let Some(k) = name.strip_prefix(p) {
                return env(self, k.trim_end_matches(']'));
            }
        }
        if let Some(p) = name.strip_prefix("Dir[") {
            return Some(self.glob(&Val::text(p.trim_end_matches(']'))));
        }
        let args = |s: &Self, first: &[&str]| {
            let mut v: Vec<String> = first.iter().map(|x| (*x).to_owned()).collect();
            v.extend(s.args.iter().cloned());
            Some(Val { list: true, any: v, from: "args".into() })
        };
        match (name, self.lang) {
            ("sys.argv" | "argv", Lang::Python) => args(self, &["-c"]),
            ("process.argv", Lang::Node) => args(self, &["node"]),
            ("<>", _) => {
                let (sh, files) = (self.sh.clone(), self.args.clone());
                let text = self.e.input_text(&sh, &files);
                Some(Val { any: vec![text], list: false, from: "open".into() })
            }
            ("ARGV" | "@ARGV", Lang::Perl) | ("ARGV" | "$*", Lang::Ruby) => args(self, &[]),
            ("argv", Lang::Php) => args(self, &["-"]),
            ("shift", Lang::Perl) | ("ARGV.first", Lang::Ruby) => Some(self.args.first().cloned().map_or_else(Val::default, Val::text)),
            ("ARGV.shift", Lang::Ruby) => Some(self.args.first().cloned().map_or_else(Val::default, Val::text)),
            ("STDIN" | "sys.stdin" | "stdin" | "gets" | "STDIN.read" | "process.stdin", _) => {
                let t = match &self.stdin {
                    Some(t) => t.clone(),
                    None => {
                        let sh = self.sh.clone();
                        let t = self.e.take(&sh, 0);
                        self.stdin = Some(t.clone());
                        t
                    }
                };
                Some(Val { any: vec![t], list: false, from: "open".into() })
            }
            ("__dirname" | "Dir.pwd", _) => Some(Val::text(self.sh.cwd.clone())),
            ("os.sep" | "path.sep", _) => Some(Val::text("/")),
            _ => None,
        }
    }

    fn call(&mut self, name: &str, recv: Option<&Val>, a: &Args) -> Option<Val> {
        let mut name = name.to_owned();
        // `from shutil import rmtree as rt`
        let (head, tail) = name.split_once('.').map_or((name.as_str(), None), |(h, t)| (h, Some(t)));
        if let Some(real) = self.aliases.get(head) {
            name = tail.map_or_else(|| real.clone(), |t| format!("{real}.{t}"));
        }
        let last = name.rsplit('.').next().unwrap_or(&name).to_owned();
        if self.lang == Lang::Python && self.modules.contains(name.split('.').next().unwrap_or(&name)) && !a.pos.is_empty() {
            self.e.unknown("a function of another file", &name);
        }
        if let Some(done) = self.indirect(&name, &last, recv, a) {
            return Some(done);
        }
        let empty = Val::default();
        let arg = |n: usize| a.pos.get(n).unwrap_or(&empty);
        match (last.as_str(), self.lang) {
            // opening
            ("open", Lang::Python) => {
                if name.starts_with("tarfile") || name.starts_with("zipfile") {
                    let p = arg(0).clone();
                    let mut v = self.open(&p, a.named("mode").or(a.pos.get(1)), false);
                    v.from = format!("archive:{}", p.any.first().map_or("", String::as_str));
                    return Some(v);
                }
                if name == "os.open" {
                    if a.says("O_WRONLY") || a.says("O_RDWR") || a.says("O_CREAT") || a.says("O_TRUNC") || a.says("O_APPEND") {
                        self.effect('W', arg(0));
                    }
                    return Some(Val::default());
                }
                if recv.is_some_and(|r| r.from == "path") && !name.starts_with("io.") {
                    let r = recv.cloned().unwrap_or_default();
                    return Some(self.open(&r, a.named("mode").or(a.pos.first()), false));
                }
                let path = a.pos.first().or_else(|| a.named("file")).cloned().unwrap_or_default();
                return Some(self.open(&path, a.named("mode").or(a.pos.get(1)), false));
            }
            ("ZipFile" | "TarFile" | "GzipFile", Lang::Python) => {
                let p = arg(0).clone();
                let mut v = self.open(&p, a.named("mode").or(a.pos.get(1)), false);
                v.from = format!("archive:{}", p.any.first().map_or("", String::as_str));
                return Some(v);
            }
            ("extractall" | "extract", Lang::Python) => {
                let file = recv.and_then(|r| r.from.strip_prefix("archive:").map(str::to_owned)).unwrap_or_else(|| UNK.to_string());
                let dir = a
                    .named("path")
                    .or_else(|| if last == "extract" { a.pos.get(1) } else { a.pos.first() })
                    .and_then(|p| p.any.first().cloned())
                    .unwrap_or_else(|| ".".into());
                let mut sh = self.sh.clone();
                self.e.take_out(&mut sh, &file, &dir);
                return Some(Val::default());
            }
            ("Path" | "PurePath" | "PosixPath", Lang::Python) | ("Pathname", Lang::Ruby) | ("path", Lang::Perl) => {
                let mut v = if a.pos.is_empty() { Val::text(".") } else { arg(0).clone() };
                for p in a.pos.iter().skip(1) {
                    let mut out = Vec::new();
                    for x in v.texts() {
                        for y in p.texts() {
                            out.push(join(&x, &y));
                        }
                    }
                    v = Val { any: out, ..Val::default() };
                }
                v.from = "path".into();
                v.list = false;
                return Some(v);
            }
            ("new", Lang::Ruby) if name.ends_with("Pathname.new") => return Some(Val { from: "path".into(), ..arg(0).clone() }),
            ("joinpath" | "with_name" | "with_suffix", Lang::Python) => {
                let r = recv.cloned().unwrap_or_default();
                let mut out = Vec::new();
                for x in r.texts() {
                    for y in arg(0).texts() {
                        out.push(match last.as_str() {
                            "joinpath" => join(&x, &y),
                            "with_name" => join(picture::split(&x).0, &y),
                            _ => format!("{}{y}", x.rsplit_once('.').map_or(x.as_str(), |s| s.0)),
                        });
                    }
                }
                return Some(Val { any: out, list: false, from: "path".into() });
            }
            ("iterdir" | "children" | "entries", _) => {
                let r = recv.cloned().unwrap_or_default();
                return Some(Val { from: "path".into(), ..self.list_dir(&r, true) });
            }
            ("glob" | "rglob", Lang::Python) if recv.is_some_and(|r| r.from == "path") => {
                let deep = if last == "rglob" { "/**/" } else { "/" };
                let r = recv.cloned().unwrap_or_default();
                let pats: Vec<String> =
                    r.texts().iter().flat_map(|d| arg(0).texts().iter().map(|p| format!("{d}{deep}{p}")).collect::<Vec<_>>()).collect();
                return Some(Val { from: "path".into(), ..self.glob(&Val::many(pats)) });
            }
            ("glob" | "iglob" | "globSync", _) => return Some(self.glob(arg(0))),
            ("scandir", Lang::Python) => return Some(self.list_dir(arg(0), true)),
            ("listdir" | "scandir" | "readdirSync" | "readdir" | "scandir_r", _) => return Some(self.list_dir(arg(0), false)),
            ("walk", Lang::Python) => return Some(self.walk(arg(0))),
            ("join", _) if name.ends_with("path.join") || name == "File.join" || name == "join" && self.lang == Lang::Node => {
                let mut v = arg(0).clone();
                for p in a.pos.iter().skip(1) {
                    let mut out = Vec::new();
                    for x in v.texts() {
                        for y in p.texts() {
                            if out.len() < 400 {
                                out.push(if self.lang == Lang::Python { join(&x, &y) } else { format!("{x}/{y}") });
                            }
                        }
                    }
                    v = Val { any: out, ..Val::default() };
                }
                v.list = false;
                return Some(v);
            }
            (
                "abspath" | "realpath" | "expanduser" | "normpath" | "resolve" | "normalize" | "str" | "String" | "list" | "sorted"
                | "fspath" | "expand_path" | "reversed" | "set" | "tuple" | "iter" | "Array.from",
                _,
            ) => return a.pos.last().cloned(),
            ("getcwd" | "cwd" | "pwd", _) => {
                let from = if name.contains("Path") { "path".to_owned() } else { String::new() };
                return Some(Val { from, ..Val::text(self.sh.cwd.clone()) });
            }
            ("dirname", _) => {
                return Some(Val { any: arg(0).any.iter().map(|p| picture::split(p).0.to_owned()).collect(), ..Val::default() });
            }
            ("basename", _) => {
                return Some(Val { any: arg(0).any.iter().map(|p| picture::split(p).1.to_owned()).collect(), ..Val::default() });
            }
            ("getenv" | "get", _) if last == "getenv" || name.ends_with("environ.get") || name == "ENV.fetch" => {
                let k = arg(0).any.first().cloned().unwrap_or_default();
                let sh = self.sh.clone();
                let v = self.e.var(&sh, &k);
                return Some(v.map_or_else(|| a.pos.get(1).cloned().unwrap_or_default(), Val::text));
            }
            ("chr", _) => {
                return arg(0).any.first().and_then(|n| n.parse().ok()).and_then(char::from_u32).map(|c| Val::text(c.to_string()));
            }
            ("b64decode" | "decode64" | "base64_decode" | "decode_base64" | "atob" | "standard_b64decode" | "strict_decode64", _) => {
                return arg(0).any.first().and_then(|t| base64(t)).map(|b| Val::text(String::from_utf8_lossy(&b)));
            }
            ("from", Lang::Node) if name.ends_with("Buffer.from") => {
                let t = arg(0).any.first().cloned()?;
                return match arg(1).any.first().map(String::as_str) {
                    Some("base64") => base64(&t).map(|b| Val::text(String::from_utf8_lossy(&b))),
                    _ => Some(Val::text(t)),
                };
            }
            // reading
            (
                "read" | "readlines" | "read_text" | "readFileSync" | "readFile" | "readlink" | "slurp" | "slurp_utf8"
                | "file_get_contents" | "lines" | "foreach" | "readline" | "getlines",
                _,
            ) => {
                if recv.is_some_and(|r| r.from == "open") {
                    let r = recv.cloned().unwrap_or_default();
                    return Some(if last == "readlines" {
                        Val::many(r.any.iter().flat_map(|t| t.lines().map(str::to_owned)).collect())
                    } else {
                        Val { any: r.any, ..Val::default() }
                    });
                }
                let p = if a.pos.is_empty() { recv.cloned().unwrap_or_default() } else { arg(0).clone() };
                if p.any.first().is_some_and(|x| x == "0" || x == "/dev/stdin") {
                    return self.name("STDIN");
                }
                let v = self.open(&p, None, false);
                return Some(if matches!(last.as_str(), "readlines" | "lines" | "foreach") {
                    Val::many(v.any.iter().flat_map(|t| t.lines().map(str::to_owned)).collect())
                } else {
                    Val { any: v.any, ..Val::default() }
                });
            }
            ("open" | "new", Lang::Ruby) if name != "new" => {
                if let Some(cmd) = arg(0).any.first().and_then(|c| c.strip_prefix('|')).map(str::to_owned) {
                    self.shell(&cmd);
                    return Some(Val::default());
                }
                if !(name == "open" || name.starts_with("File.") || name.starts_with("IO.") || name.contains("Kernel")) {
                    return None;
                }
                return Some(self.open(arg(0), a.pos.get(1).or_else(|| a.named("mode")), false));
            }
            ("openSync" | "open", Lang::Node) => return Some(self.open(arg(0), a.pos.get(1).filter(|m| !m.any.is_empty()), false)),
            ("fopen" | "gzopen" | "bzopen", Lang::Php) => return Some(self.open(arg(0), a.pos.get(1), false)),
            ("SplFileObject", Lang::Php) => return Some(self.open(arg(0), a.pos.get(1), false)),
            ("open" | "sysopen", Lang::Perl) => {
                if last == "sysopen" {
                    if a.says("O_WRONLY") || a.says("O_RDWR") || a.says("O_CREAT") {
                        self.effect('W', arg(1));
                    }
                    return Some(Val::default());
                }
                // the handle may have been taken as a name without a value
                let strings: Vec<Val> = a.pos.iter().skip(1).cloned().collect();
                match strings.as_slice() {
                    [one] => {
                        for s in one.any.clone() {
                            let t = s.trim();
                            if let Some(cmd) = t.strip_prefix('|').or_else(|| t.strip_suffix('|')) {
                                self.shell(cmd);
                            } else if t.starts_with('>') || t.starts_with("+<") || t.starts_with("+>") {
                                self.effect('W', &Val::text(t.trim_start_matches(['+', '>', '<']).trim()));
                            }
                        }
                    }
                    [mode, path, rest @ ..] => {
                        let m = mode.any.first().cloned().unwrap_or_else(|| UNK.to_string());
                        if m.contains("|-") || m.contains("-|") {
                            if rest.is_empty() {
                                for s in path.texts() {
                                    self.shell(&s);
                                }
                            } else {
                                self.argv(path, rest, None);
                            }
                        } else if m.contains('>') || m.contains('+') {
                            self.effect('W', path);
                        } else if m.contains(UNK) {
                            self.e.unknown("how a file is opened is not known", "");
                        }
                    }
                    [] => {}
                }
                return Some(Val::default());
            }
            ("new", Lang::Perl) if name.contains("IO.File") || name.contains("File.new") => {
                return Some(self.open(arg(0), a.pos.get(1), arg(0).any.first().is_some_and(|p| p.starts_with('>'))));
            }
            // running
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
            ) if !(self.lang == Lang::Python && matches!(last.as_str(), "exec"))
                && !(last == "exec" && recv.is_some_and(|r| !r.any.is_empty()) && self.lang == Lang::Node)
                && !(last == "spawn" && self.lang == Lang::Node) =>
            {
                if self.lang == Lang::Node
                    && last == "exec"
                    && !(name.contains("child") || name.contains("cp.") || name == "exec" || recv.is_some_and(|r| r.from.contains("child")))
                {
                    return None;
                }
                let named: Vec<&Val> = a.pos.iter().filter(|p| !p.any.is_empty()).collect();
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
                    self.e.unknown("a command inside of a program is not known", &name);
                }
                return Some(Val::default());
            }
            ("run" | "call" | "check_call" | "check_output" | "Popen" | "create_subprocess_exec", Lang::Python)
                if name.starts_with("subprocess")
                    || matches!(last.as_str(), "check_call" | "check_output" | "Popen")
                    || self.aliases.contains_key(&name)
                    || name.contains("create_sub")
                    || name.contains("sp.") =>
            {
                let first = a.pos.first().or_else(|| a.named("args")).cloned().unwrap_or_default();
                let shell = a.raw.windows(3).any(|w| {
                    matches!(&w[0], Tok::Name(n) if n == "shell") && matches!(&w[2], Tok::Name(n) if n == "True")
                        || matches!(&w[0], Tok::Name(n) if n == "shell") && matches!(&w[2], Tok::Num(n) if n == "1")
                });
                if let Some(out) = a.named("stdout") {
                    let _ = out;
                }
                let saved = self.sh.cwd.clone();
                if let Some(d) = a.named("cwd").and_then(|c| c.any.first()).cloned() {
                    self.sh.cwd = self.e.full(&self.sh, &d);
                }
                if first.any.is_empty() {
                    self.e.unknown("a command inside of a program is not known", &name);
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
            ("execv" | "execvp" | "execl" | "execlp" | "spawnlp" | "spawnvp" | "posix_spawn", Lang::Python) => {
                let words: Vec<Val> = a.pos.iter().skip(1).cloned().collect();
                if let Some(w) = words.first() {
                    self.argv(w, &words[1..], None);
                }
                return Some(Val::default());
            }
            ("spawnSync" | "spawn" | "execFileSync" | "execFile" | "fork" | "execa" | "execaSync", Lang::Node) => {
                let rest: Vec<Val> = a.pos.get(1).filter(|v| v.list).cloned().into_iter().collect();
                let shell = a.says("shell");
                if shell {
                    let mut t = arg(0).any.first().cloned().unwrap_or_default();
                    for r in &rest {
                        t = t + " " + &r.any.join(" ");
                    }
                    self.shell(&t);
                } else {
                    self.argv(arg(0), &rest, a.named("cwd"));
                }
                return Some(Val::default());
            }
            ("chdir", _) => {
                if let Some(d) = arg(0).any.first().cloned() {
                    self.sh.cwd = picture::tidy(&self.e.full(&self.sh, &d));
                }
                return Some(Val::default());
            }
            ("eval" | "exec" | "instance_eval" | "Function" | "vm.runInNewContext" | "runInThisContext", _) => {
                if a.pos.iter().any(|text| text.any.is_empty()) && !matches!(self.lang, Lang::Perl | Lang::Ruby) {
                    self.e.unknown("a program inside of a program is not known", &name);
                }
                for t in arg(0).any.clone() {
                    self.program(&t);
                }
                return Some(Val::default());
            }
            ("runpy.run_path" | "run_path" | "execfile" | "run_module", Lang::Python) => {
                self.e.unknown("a program that can do anything", &name);
            }
            ("basicConfig", Lang::Python) => {
                if let Some(file) = a.named("filename").cloned() {
                    self.effect('W', &file);
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
            ("FileInput" | "fileinput.input" | "input", Lang::Python) if name.contains("fileinput") => {
                if a.says("inplace") {
                    self.effect('I', arg(0));
                    if let Some(f) = a.named("files").cloned() {
                        self.effect('I', &f);
                    }
                }
                return Some(Val::default());
            }
            ("rename" | "replace", Lang::Python) if recv.is_some_and(|r| r.from == "path") => {
                let r = recv.cloned().unwrap_or_default();
                self.effect('F', &r);
                self.effect('F', arg(0));
                return Some(Val::default());
            }
            ("rename" | "copy" | "move" | "copy_to" | "move_to", Lang::Ruby | Lang::Perl) if recv.is_some_and(|r| r.from == "path") => {
                let r = recv.cloned().unwrap_or_default();
                if !last.starts_with("copy") {
                    self.effect('F', &r);
                }
                self.effect('T', arg(0));
                return Some(Val::default());
            }
            _ => {}
        }
        let me = self.lang_name();
        for (lang, names, effects) in CALLS {
            if *lang != me {
                continue;
            }
            let hit = names.split_ascii_whitespace().any(|n| {
                if effects.starts_with('r') {
                    return n == last && recv.is_some_and(|r| r.from == "path" && !r.any.is_empty());
                }
                n == name
                    || self.lang == Lang::Ruby && self.file_utils && n.strip_prefix("FileUtils.").is_some_and(|bare| bare == name)
                    || n.strip_prefix('.').is_some_and(|method| method == last)
                    || self.lang == Lang::Node
                        && !n.contains('.')
                        && n == last
                        && (recv.is_none_or(|r| r.any.is_empty() || r.from.contains("fs")) || name.contains("fs"))
                    || self.lang == Lang::Python && name.ends_with(&format!(".{n}")) && n.contains('.')
                    || matches!(self.lang, Lang::Perl | Lang::Php) && n == last && recv.is_none()
            });
            if !hit {
                continue;
            }
            // `list.remove(x)`, `map.delete(k)`: not about files
            if self.lang == Lang::Node
                && matches!(last.as_str(), "remove" | "move" | "copy" | "rename" | "link" | "cp" | "rm")
                && !(name.contains("fs") || recv.is_none() || recv.is_some_and(|r| r.from.contains("fs")))
            {
                continue;
            }
            for e in effects.split_ascii_whitespace() {
                let kind = e.chars().last().unwrap_or('W');
                let which = &e[..e.len() - 1];
                match which {
                    "r" => {
                        if let Some(r) = recv.cloned() {
                            self.effect(kind, &r);
                        }
                    }
                    "*" => {
                        for v in a.pos.clone() {
                            self.effect(kind, &v);
                        }
                    }
                    "=" => {
                        let dir = a.named("dir").cloned().unwrap_or_else(|| Val::text("/tmp"));
                        self.effect(kind, &dir);
                    }
                    w => {
                        let n: usize = w.trim_end_matches('+').parse().unwrap_or(0);
                        if w.ends_with('+') {
                            for v in a.pos.iter().skip(n).cloned().collect::<Vec<_>>() {
                                self.effect(kind, &v);
                            }
                        } else if n < a.pos.len() {
                            let v = a.pos[n].clone();
                            self.effect(kind, &v);
                        } else if let Some(v) = a.named("dst").or_else(|| a.named("path")).cloned() {
                            self.effect(kind, &v);
                        }
                    }
                }
            }
            return Some(Val::default());
        }
        self.handed_on(recv, a);
        None
    }
}
