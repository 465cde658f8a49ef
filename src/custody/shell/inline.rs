//! Programs for interpreters: where their text comes from, and which of their calls write.

#![expect(clippy::nonminimal_bool, reason = "the conditions stand in the order of the language that they describe")]

use super::engine::{Engine, Shell, UNK};
use super::picture::{self, join};
use super::reach::unnamed;
use super::scan::{Args, Host, Lang, Tok, Val, Walk, lex};
use super::{Kind, echo};
use std::collections::{HashMap, HashSet};

/// Calls that write: language (`*` for all), name, and effects by argument position. The name is the end of the dotted name;
/// `=` in front wants all of it, `.` stands for the receiver (position `r`).
const CALLS: &[(&str, &str, &str)] = &[
    // Python
    ("python", "os.remove os.unlink os.rmdir os.removedirs", "0X"),
    ("python", "os.mkdir os.makedirs os.mknod os.mkfifo", "0D"),
    ("python", "os.rename os.replace os.renames shutil.move", "0F 1T"),
    ("python", "os.symlink os.link", "1L"),
    ("python", "os.chmod os.chown os.lchown os.utime os.truncate os.setxattr", "0M"),
    ("python", "shutil.rmtree", "0R"),
    ("python", "shutil.copy shutil.copy2 shutil.copyfile", "1T"),
    ("python", "shutil.copymode shutil.copystat", "1M"),
    ("python", "shutil.copytree", "1B"),
    ("python", "shutil.chown", "0M"),
    ("python", "shutil.make_archive", "0P"),
    ("python", "shutil.unpack_archive", "0A"),
    ("python", "urlretrieve urllib.request.urlretrieve", "1W"),
    ("python", "sqlite3.connect dbm.open shelve.open", "0W"),
    ("python", "write_text write_bytes", "rW"),
    ("python", ".to_csv .to_json .to_excel .to_parquet .to_pickle .savefig .savetxt", "0W"),
    ("python", "logging.FileHandler FileHandler RotatingFileHandler TimedRotatingFileHandler WatchedFileHandler", "0W"),
    ("python", "touch", "rU"),
    ("python", "unlink rmdir", "rX"),
    ("python", "mkdir", "rD"),
    ("python", "symlink_to hardlink_to link_to", "rL"),
    ("python", "chmod", "rM"),
    ("python", "tempfile.mkdtemp tempfile.mkstemp tempfile.NamedTemporaryFile", "=d"),
    // Node and its like
    (
        "node",
        "writeFileSync writeFile appendFileSync appendFile createWriteStream outputFile outputFileSync writeJson writeJsonSync writeTextFile writeTextFileSync truncateSync truncate ensureFileSync",
        "0W",
    ),
    ("node", "unlinkSync unlink", "0X"),
    ("node", "rmSync rm rmdirSync rmdir removeSync rimraf rimrafSync emptyDirSync remove", "0R"),
    ("node", "mkdirSync mkdir ensureDirSync mkdtempSync mkdirpSync", "0D"),
    ("node", "renameSync rename moveSync move", "0F 1F"),
    ("node", "copyFileSync copyFile", "1W"),
    ("node", "cpSync cp copySync copy", "1B"),
    ("node", "symlinkSync symlink linkSync link", "1L"),
    ("node", "chmodSync chmod chownSync chown utimesSync utimes lchownSync lutimesSync", "0M"),
    ("node", "Bun.write WriteStream process.report.writeReport v8.writeHeapSnapshot", "0W"),
    // Perl
    ("perl", "unlink", "*X"),
    ("perl", "rename move mv", "0F 1T"),
    ("perl", "copy cp", "1T"),
    ("perl", "mkdir", "0D"),
    ("perl", "make_path mkpath", "*D"),
    ("perl", "rmdir", "*X"),
    ("perl", "rmtree remove_tree", "*R"),
    ("perl", "symlink link", "1L"),
    ("perl", "truncate write_file spew append_file spurt", "0W"),
    ("perl", "chmod", "1+M"),
    ("perl", "chown utime", "2+M"),
    ("perl", "touch", "rU"),
    ("perl", "spew_utf8 spew_raw append append_utf8", "rW"),
    // Ruby
    ("ruby", "File.write IO.write File.binwrite IO.binwrite File.truncate", "0W"),
    ("ruby", "File.delete File.unlink FileUtils.rm FileUtils.rm_f FileUtils.remove FileUtils.safe_unlink", "*X"),
    (
        "ruby",
        "FileUtils.rm_r FileUtils.rm_rf FileUtils.rmtree FileUtils.remove_dir FileUtils.remove_entry FileUtils.remove_entry_secure FileUtils.remove_file FileUtils.rmdir Dir.rmdir Dir.delete Dir.unlink",
        "*R",
    ),
    ("ruby", "Logger.new PStore.new", "0W"),
    ("ruby", "IO.copy_stream", "1W"),
    ("ruby", "File.rename FileUtils.mv FileUtils.move", "0F 1T"),
    ("ruby", "FileUtils.cp FileUtils.copy FileUtils.copy_file FileUtils.install", "1T"),
    ("ruby", "FileUtils.cp_r FileUtils.copy_entry", "1B"),
    ("ruby", "FileUtils.mkdir FileUtils.mkdir_p FileUtils.makedirs FileUtils.mkpath Dir.mkdir", "*D"),
    ("ruby", "FileUtils.touch", "*U"),
    ("ruby", "FileUtils.ln FileUtils.ln_s FileUtils.ln_sf FileUtils.symlink File.symlink File.link FileUtils.link", "1L"),
    ("ruby", "FileUtils.chmod FileUtils.chmod_R File.chmod", "1+M"),
    ("ruby", "FileUtils.chown FileUtils.chown_R File.chown File.utime", "2+M"),
    ("ruby", "delete unlink rmtree rmdir", "rR"),
    ("ruby", "write binwrite", "rW"),
    ("ruby", "mkpath mkdir", "rD"),
    // PHP
    ("php", "file_put_contents ftruncate", "0W"),
    ("php", "unlink rmdir", "0X"),
    ("php", "rename", "0F 1F"),
    ("php", "copy move_uploaded_file", "1W"),
    ("php", "mkdir", "0D"),
    ("php", "touch", "0U"),
    ("php", "chmod chown chgrp", "0M"),
    ("php", "symlink link", "1L"),
    ("php", "tempnam", "0d"),
];

pub(super) struct Found<'e, 'a> {
    pub(super) e: &'e mut Engine<'a>,
    pub(super) sh: Shell,
    lang: Lang,
    args: Vec<String>,
    stdin: Option<String>,
    aliases: HashMap<String, String>,
    /// What the program prints, where printing it is all it does.
    printed: Option<String>,
    /// It is run for each line of its input (`-n`, `-p`).
    by_line: bool,
    /// Ruby: `include FileUtils`.
    file_utils: bool,
    /// Where modules are looked for.
    pub(super) dirs: Vec<String>,
    /// Modules that were read, which lie there.
    pub(super) modules: HashSet<String>,
}

impl Found<'_, '_> {
    pub(super) fn lang(&self) -> Lang {
        self.lang
    }

    fn lang_name(&self) -> &'static str {
        match self.lang {
            Lang::Python => "python",
            Lang::Node => "node",
            Lang::Perl => "perl",
            Lang::Ruby => "ruby",
            Lang::Php => "php",
        }
    }

    fn effect(&mut self, e: char, v: &Val) {
        for p in v.texts() {
            let mut sh = self.sh.clone();
            match e {
                'A' => self.e.take_out(&mut sh, &p, "."),
                'F' => {
                    self.e.act(&sh, super::super::act::ActKind::Rename, &p, false, self.e.what(&sh, &p) == Some(Kind::Dir));
                }
                'T' => {
                    // into a directory, under the same name; which one is in the other argument
                    let full = self.e.full(&sh, &p);
                    if !full.contains(UNK) && self.e.fs.is_dir(&full) {
                        self.e.effect(&mut sh, 'd', &p, false);
                    } else {
                        self.e.effect(&mut sh, 'W', &p, false);
                    }
                }
                'D' => {
                    let full = self.e.full(&sh, &p);
                    if full.contains(UNK) || self.e.fs.what(&full).is_none() {
                        self.e.effect(&mut sh, 'D', &p, false);
                    }
                }
                'X' | 'R' => {
                    let full = self.e.full(&sh, &p);
                    if full.contains(UNK) || self.e.exists(&sh, &p) || !self.e.out.unknown.is_empty() {
                        self.e.effect(&mut sh, e, &p, false);
                    }
                }
                _ => self.e.effect(&mut sh, e, &p, e == 'B'),
            }
        }
    }

    fn shell(&mut self, script: &str) {
        let mut child = self.e.child(&self.sh, true);
        self.e.script(&mut child, script);
        self.e.end(&mut child);
    }

    fn argv(&mut self, v: &Val, rest: &[Val], cwd: Option<&Val>) {
        let mut words: Vec<String> = v.texts();
        for r in rest {
            words.extend(r.any.iter().cloned());
        }
        let mut sh = self.sh.clone();
        if let Some(d) = cwd.and_then(|c| c.any.first()) {
            sh.cwd = self.e.full(&self.sh, d);
        }
        self.e.call(&mut sh, words, false);
    }

    /// A file is opened: whether its mode writes.
    fn open(&mut self, path: &Val, mode: Option<&Val>, default_writes: bool) -> Val {
        let writes = match mode {
            None => default_writes,
            Some(m) if m.any.is_empty() || m.any.iter().any(|x| x.contains(UNK)) => {
                self.e.unknown("how a file is opened is not known", &path.texts().join(" "));
                false
            }
            Some(m) => m.any.iter().any(|m| m.contains(['w', 'a', 'x', '+', '>', 'c']) && !m.starts_with('<') || m.contains("+<")),
        };
        if writes {
            self.effect('W', path);
            return Val { from: "open".into(), ..Val::default() };
        }
        let mut texts = Vec::new();
        for p in path.texts().iter().take(8) {
            let sh = self.sh.clone();
            texts.push(self.e.content(&sh, p));
        }
        Val { any: texts, list: false, from: "open".into() }
    }

    fn list_dir(&mut self, v: &Val, joined: bool) -> Val {
        let mut out = Vec::new();
        for d in v.texts() {
            let full = self.e.full(&self.sh, &d);
            match self.e.fs.list(&full) {
                Some(l) => out.extend(l.iter().map(|(n, _)| if joined { join(&d, n) } else { n.clone() })),
                None => out.push(UNK.to_string()),
            }
        }
        Val::many(out)
    }

    fn glob(&mut self, v: &Val) -> Val {
        let mut out = Vec::new();
        for p in v.texts() {
            let mut sh = self.sh.clone();
            sh.opts.globstar = true;
            out.extend(self.e.glob(&sh, &p));
        }
        Val::many(out)
    }

    fn walk(&mut self, v: &Val) -> Val {
        let mut out = Vec::new();
        let mut stack = v.texts();
        while let Some(d) = stack.pop() {
            out.push(format!("{d}/"));
            let full = self.e.full(&self.sh, &d);
            for (n, k) in self.e.fs.list(&full).iter().flat_map(|l| l.iter()) {
                if out.len() > 400 {
                    break;
                }
                if *k == Kind::Dir { stack.push(join(&d, n)) } else { out.push(n.clone()) }
            }
        }
        Val { any: out, list: true, from: "walk".into() }
    }
}

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
                return arg(0).any.first().and_then(|t| echo::base64(t)).map(|b| Val::text(String::from_utf8_lossy(&b)));
            }
            ("from", Lang::Node) if name.ends_with("Buffer.from") => {
                let t = arg(0).any.first().cloned()?;
                return match arg(1).any.first().map(String::as_str) {
                    Some("base64") => echo::base64(&t).map(|b| Val::text(String::from_utf8_lossy(&b))),
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

impl Found<'_, '_> {
    pub(super) fn file(&mut self, m: &str) {
        let sh = self.sh.clone();
        let names = [m.to_owned(), format!("{m}.js"), format!("{m}.rb"), format!("{m}/index.js")];
        for n in names {
            if self.e.what(&sh, &n) == Some(Kind::File) {
                let t = self.e.content(&sh, &n);
                self.program(&t);
                return;
            }
        }
    }

    /// Looks over a whole program, twice: the second time the parameters of its functions hold what they are called with.
    pub(super) fn program(&mut self, text: &str) {
        if self.e.depth > 12 || !self.e.spend(text.len() * 30) {
            self.e.unknown("nested too deep", "");
            return;
        }
        if text.contains(UNK) {
            self.e.unknown("part of a program is not known", "");
        }
        self.e.depth += 1;
        let toks = lex(text, self.lang);
        self.imports(&toks);
        if let Some(name) = unnamed(text, &toks, self.lang) {
            self.e.unknown("a call of what is not known by name", &name);
        }
        self.file_utils |= self.lang == Lang::Ruby
            && toks.windows(2).any(|w| matches!(w, [Tok::Name(a), Tok::Name(b)] if a == "include" && b == "FileUtils"));
        let lang = self.lang;
        let cwd = self.sh.cwd.clone();
        let mut vars = HashMap::new();
        if self.by_line {
            let text = self.name("<>").unwrap_or_default();
            let lines: Vec<String> = text.any.iter().flat_map(|text| text.lines()).map(str::to_owned).collect();
            if lines.len() > 400 {
                self.e.unknown("too many lines", "");
            }
            vars.insert("_".to_owned(), Val { any: lines.into_iter().take(400).collect(), ..Val::default() });
        }
        let mut w = Walk { lang, vars, defs: HashMap::new(), host: self, fuel: 40_000, assigned: HashSet::new(), renames: HashMap::new() };
        w.program(&toks);
        let printed = only_print(&toks, lang).and_then(|from| {
            let (v, next) = w.expr(&toks, from, 0);
            (toks.len() - next <= 1 && !v.list && v.any.len() == 1).then(|| v.any[0].clone())
        });
        let again = w.defs.values().any(|p| !p.is_empty()) || w.vars.contains_key("_");
        let (vars, defs) = (std::mem::take(&mut w.vars), std::mem::take(&mut w.defs));
        if again {
            let params: HashSet<String> = defs.values().flatten().cloned().chain(["_".to_owned()]).collect();
            let vars = vars.into_iter().filter(|(k, _)| params.contains(k)).collect();
            self.sh.cwd = cwd;
            let mut w = Walk { lang, vars, defs, host: self, fuel: 40_000, assigned: params, renames: HashMap::new() };
            w.program(&toks);
        }
        self.printed = printed;
        self.e.depth -= 1;
    }

    /// `import a as b`, `from a import b as c`
    fn imports(&mut self, t: &[Tok]) {
        if self.lang != Lang::Python {
            return;
        }
        self.more_dirs(t);
        let name = |k: usize| if let Some(Tok::Name(n)) = t.get(k) { Some(n.as_str()) } else { None };
        for i in 0..t.len() {
            let module = |from: usize| {
                let mut m = String::new();
                let mut k = from;
                while let Some(n) = name(k) {
                    m.push_str(n);
                    if matches!(t.get(k + 1), Some(Tok::Op(o)) if o == ".") {
                        m.push('.');
                        k += 2;
                    } else {
                        k += 1;
                        break;
                    }
                }
                (m, k)
            };
            match name(i) {
                Some("from") => {
                    let (m, k) = module(i + 1);
                    if name(k) != Some("import") {
                        continue;
                    }
                    self.load(&m);
                    let mut k = k + 1;
                    while k < t.len() {
                        match &t[k] {
                            Tok::Name(n) if name(k + 1) == Some("as") => {
                                if let Some(a) = name(k + 2) {
                                    self.aliases.insert(a.to_owned(), format!("{m}.{n}"));
                                }
                                k += 3;
                            }
                            Tok::Name(n) => {
                                if n != "Path" && n != "open" {
                                    self.aliases.insert(n.clone(), format!("{m}.{n}"));
                                }
                                k += 1;
                            }
                            Tok::Op(o) if o == "*" => {
                                for (_, names, _) in CALLS.iter().filter(|c| c.0 == "python") {
                                    for n in names.split_ascii_whitespace() {
                                        if let Some(f) = n.strip_prefix(&format!("{m}.")) {
                                            self.aliases.insert(f.to_owned(), n.to_owned());
                                        }
                                    }
                                }
                                k += 1;
                            }
                            Tok::Op(o) if o == "," || o == "(" => k += 1,
                            _ => break,
                        }
                    }
                }
                Some("import") if i == 0 || name(i.wrapping_sub(1)).is_none() => {
                    let (m, mut k) = module(i + 1);
                    self.load(&m);
                    if name(k) == Some("as")
                        && let Some(a) = name(k + 1)
                    {
                        self.aliases.insert(a.to_owned(), m);
                    }
                    // `import a, b`
                    while matches!(t.get(k), Some(Tok::Op(o)) if o == ",") {
                        let (m, next) = module(k + 1);
                        self.load(&m);
                        k = next.max(k + 1);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Where the one thing begins that a Python program prints, when printing it is all it does: imports, names, and a last
/// statement `print(…)`.
fn only_print(t: &[Tok], lang: Lang) -> Option<usize> {
    if lang != Lang::Python {
        return None;
    }
    let is = |tok: &Tok, names: &[&str]| matches!(tok, Tok::Name(n) if names.contains(&n.as_str()));
    let end = t.iter().rposition(|tok| !matches!(tok, Tok::Line))?;
    let at = t.iter().position(|tok| is(tok, &["print"]))?;
    let open = matches!(t.get(at + 1), Some(Tok::Op(o)) if o == "(") && matches!(&t[end], Tok::Op(o) if o == ")");
    let plain = !t.iter().any(|tok| is(tok, &["if", "for", "while", "def", "class", "try", "with", "lambda", "exec", "eval", "sys"]));
    let once = t.iter().filter(|tok| is(tok, &["print"])).count() == 1;
    (open && plain && once && end + 1 == t.len()).then_some(at + 2)
}

/// Options of `node` that name what it writes.
const NODE_FILES: &[(&str, char)] = &[
    ("redirect-warnings", 'W'),
    ("cpu-prof-dir", 'd'),
    ("heap-prof-dir", 'd'),
    ("report-directory", 'd'),
    ("report-dir", 'd'),
    ("diagnostic-dir", 'd'),
    ("trace-event-file-pattern", 'W'),
    ("test-reporter-destination", 'W'),
    ("localstorage-file", 'W'),
];

/// Options of an interpreter that take a value.
fn with_value(lang: Lang) -> &'static str {
    match lang {
        Lang::Python => "cmWXQ",
        Lang::Node => "eprC",
        Lang::Perl => "eEIMmFCDx",
        Lang::Ruby => "erICEF",
        Lang::Php => "rRBEFdcftzS",
    }
}

impl Engine<'_> {
    /// An interpreter is run.
    pub(crate) fn interpreter(&mut self, sh: &mut Shell, which: &str, argv: &[String]) {
        let lang = match which {
            "python" => Lang::Python,
            "node" => Lang::Node,
            "perl" => Lang::Perl,
            "ruby" => Lang::Ruby,
            _ => Lang::Php,
        };
        let mut code: Vec<String> = Vec::new();
        let mut inplace: Option<String> = None;
        let mut look = false;
        let mut module: Option<String> = None;
        let mut cwd: Option<String> = None;
        let mut by_line = false;
        let (mut loads, mut dirs): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        let given = self.given_options(sh, lang, argv);
        let argv = given.as_slice();
        let mut i = 1;
        while i < argv.len() {
            let a = argv[i].clone();
            if a == "--" {
                i += 1;
                break;
            }
            if !a.starts_with('-') || a == "-" {
                break;
            }
            if let Some(long) = a.strip_prefix("--") {
                let (n, v) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v.to_owned())));
                match n {
                    "version" | "help" | "copyright" | "check" | "ini" | "info" => look = true,
                    "eval" | "print" | "run" => {
                        code.push(
                            v.or_else(|| {
                                i += 1;
                                argv.get(i).cloned()
                            })
                            .unwrap_or_default(),
                        );
                    }
                    "require" | "import" | "loader" | "experimental-loader" if lang == Lang::Node => loads.extend(v.or_else(|| {
                        i += 1;
                        argv.get(i).cloned()
                    })),
                    "conditions" | "env-file" if lang == Lang::Node && v.is_none() => i += 1,
                    _ if lang == Lang::Node && NODE_FILES.iter().any(|(name, _)| *name == n) => {
                        let v = v.or_else(|| {
                            i += 1;
                            argv.get(i).cloned()
                        });
                        let effect = NODE_FILES.iter().find(|(name, _)| *name == n).map_or('d', |found| found.1);
                        self.effect(sh, effect, &v.unwrap_or_default(), false);
                    }
                    "test" if lang == Lang::Node => self.unknown("a program that can do anything", "node --test"),
                    _ => {}
                }
                i += 1;
                continue;
            }
            let letters: Vec<char> = a[1..].chars().collect();
            let mut k = 0;
            while k < letters.len() {
                let ch = letters[k];
                let glued: String = letters[k + 1..].iter().collect();
                if ch == 'i' && matches!(lang, Lang::Perl | Lang::Ruby) {
                    inplace = Some(glued);
                    break;
                }
                if ch == '0' && lang == Lang::Perl || ch == 'l' && lang == Lang::Perl {
                    // digits belong to it
                    while letters.get(k + 1).is_some_and(char::is_ascii_hexdigit) && letters[k + 1].is_ascii_digit() {
                        k += 1;
                    }
                    k += 1;
                    continue;
                }
                by_line |= matches!((ch, lang), ('n' | 'p', Lang::Perl | Lang::Ruby));
                look |= matches!(
                    (ch, lang),
                    ('V' | 'h', _)
                        | ('v', Lang::Perl | Lang::Node | Lang::Php)
                        | ('c', Lang::Perl | Lang::Ruby | Lang::Node)
                        | ('l' | 'i' | 'm', Lang::Php)
                );
                if with_value(lang).contains(ch) {
                    let bare = matches!((ch, lang), ('M' | 'm' | 'F' | 'C' | 'x' | 'D' | 'I', Lang::Perl) | ('C' | 'F' | 'E', Lang::Ruby))
                        && glued.is_empty()
                        && ch != 'I';
                    let v = if glued.is_empty() && !bare {
                        i += 1;
                        argv.get(i).cloned().unwrap_or_default()
                    } else {
                        glued
                    };
                    match (ch, lang) {
                        ('c', Lang::Python)
                        | ('e' | 'p', Lang::Node)
                        | ('e' | 'E', Lang::Perl)
                        | ('e', Lang::Ruby)
                        | ('r' | 'R' | 'B' | 'E', Lang::Php) => code.push(v),
                        ('m', Lang::Python) => module = Some(v),
                        ('f', Lang::Php) => {
                            let t = self.content(sh, &v);
                            code.push(t);
                        }
                        ('C', Lang::Ruby) => cwd = Some(v),
                        ('I', Lang::Perl | Lang::Ruby) => dirs.push(v),
                        ('r', Lang::Ruby | Lang::Node) => loads.push(v),
                        ('M' | 'm', Lang::Perl) => loads.push(v),
                        _ => {}
                    }
                    break;
                }
                k += 1;
            }
            i += 1;
            if (!code.is_empty() && lang == Lang::Python) || module.is_some() {
                break;
            }
        }
        let mut rest = argv.get(i.min(argv.len())..).unwrap_or(&[]).to_vec();
        dirs.extend(self.module_dirs(sh, lang, rest.first().filter(|_| code.is_empty() && module.is_none())));
        if look && code.is_empty() {
            self.put(sh, 1, &UNK.to_string());
            return;
        }
        if let Some(m) = module {
            self.python_module(sh, &m, &rest);
            return;
        }
        let mut stdin = None;
        let text = if code.is_empty() {
            match rest.first().map(String::as_str) {
                None | Some("-") => {
                    if !rest.is_empty() {
                        rest.remove(0);
                    }
                    let t = self.take(sh, 0);
                    stdin = Some(String::new());
                    t
                }
                Some(f) => {
                    let f = f.to_owned();
                    rest.remove(0);
                    if lang == Lang::Node
                        && matches!(f.as_str(), "run" | "test" | "install" | "x" | "task" | "add" | "build")
                        && self.what(sh, &f).is_none()
                    {
                        self.unknown("a program that can do anything", &argv[0]);
                        return;
                    }
                    if self.what(sh, &f).is_none() && !f.contains(UNK) && self.out.unknown.is_empty() && fd_like(&f) {
                        sh.status = Some(2);
                        return;
                    }
                    self.content(sh, &f)
                }
            }
        } else {
            code.join("\n")
        };
        if let Some(suffix) = inplace {
            for f in &rest {
                let full = self.full(sh, f);
                if full.contains(UNK) || self.fs.what(&full) == Some(Kind::File) || !self.out.unknown.is_empty() {
                    self.effect(sh, 'I', f, false);
                    if !suffix.is_empty() {
                        let b = if suffix.contains('*') { suffix.replace('*', picture::split(f).1) } else { format!("{f}{suffix}") };
                        self.act(sh, super::super::act::ActKind::Create, &b, false, false);
                    }
                }
            }
        }
        let mut sub = sh.clone();
        if let Some(d) = cwd {
            sub.cwd = self.full(sh, &d);
        }
        let mut f = Found {
            e: self,
            sh: sub,
            lang,
            args: rest.clone(),
            stdin,
            aliases: HashMap::new(),
            printed: None,
            by_line,
            file_utils: false,
            dirs,
            modules: HashSet::new(),
        };
        for module in loads {
            f.load(&module);
        }
        f.program(&text);
        let said = f.printed.take().map_or_else(|| UNK.to_string(), |said| said + "\n");
        self.put(sh, 1, &said);
        sh.status = None;
    }

    fn python_module(&mut self, sh: &mut Shell, m: &str, rest: &[String]) {
        match m {
            "json.tool" => {
                let files: Vec<&String> = rest.iter().filter(|a| !a.starts_with('-') || *a == "-").collect();
                if let Some(o) = files.get(1) {
                    let o = (*o).clone();
                    self.effect(sh, 'W', &o, false);
                }
            }
            "zipfile" | "tarfile" => {
                let k = rest.first().map(String::as_str);
                match k {
                    Some("-e" | "--extract") => {
                        let dir = rest.get(2).cloned().unwrap_or_else(|| ".".into());
                        if let Some(f) = rest.get(1) {
                            let f = f.clone();
                            self.take_out(sh, &f, &dir);
                        }
                    }
                    Some("-c" | "--create") => {
                        if let Some(f) = rest.get(1) {
                            self.effect(sh, 'W', f, false);
                        }
                    }
                    _ => {}
                }
            }
            "gzip" => {
                let unpack = rest.iter().any(|a| a == "-d" || a == "--decompress");
                for f in rest.iter().filter(|a| !a.starts_with('-')) {
                    let to = if unpack { f.trim_end_matches(".gz").to_owned() } else { format!("{f}.gz") };
                    self.effect(sh, 'W', &to, false);
                }
            }
            "timeit" => {
                let c =
                    super::call::parse("-n: -r: -u: -s: --number: --repeat: --unit: --setup: .", &[&["timeit".to_owned()], rest].concat());
                let code: Vec<String> = c.values(&["-s", "--setup"]).into_iter().map(str::to_owned).chain(c.args.iter().cloned()).collect();
                self.interpreter(sh, "python", &["python3".to_owned(), "-c".to_owned(), code.join("\n")]);
                return;
            }
            "base64" | "calendar" | "this" | "platform" | "site" | "sysconfig" | "tokenize" | "ast" | "dis" | "http.server"
            | "unittest.mock" | "quopri" | "uuid" | "pydoc" => {}
            "compileall" | "py_compile" => {
                for f in rest.iter().filter(|a| !a.starts_with('-')) {
                    let full = self.full(sh, f);
                    let dir = if self.fs.is_dir(&full) { f.clone() } else { picture::split(f).0.to_owned() };
                    self.effect(sh, 'd', &join(&dir, "__pycache__"), false);
                }
            }
            "venv" | "virtualenv" => {
                for f in rest.iter().filter(|a| !a.starts_with('-')) {
                    self.effect(sh, 'D', f, false);
                }
            }
            "black" | "isort" | "autopep8" | "yapf" | "ruff" => {
                let mut argv = vec![m.to_owned()];
                argv.extend(rest.iter().cloned());
                self.external(sh, &argv);
                return;
            }
            _ => self.unknown("a program that can do anything", m),
        }
        self.put(sh, 1, &UNK.to_string());
    }
}

fn fd_like(f: &str) -> bool {
    !f.starts_with("/dev/")
}
