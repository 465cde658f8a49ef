//! Files that a program opens: which call opens for writing, and what it hands on.

use super::engine::UNK;
use super::found::Found;
use super::lex::{Lang, Tok};
use super::scan::{Args, Val};

/// Flags of a call that opens for writing, in all languages.
const FLAGS: &[&str] = &["WRONLY", "RDWR", "CREAT", "TRUNC", "APPEND"];

impl Found<'_, '_> {
    /// `IO::File->new(FILE, MODE)`, `$handle->open("> FILE")`: Perl's handles as objects.
    fn handle(&mut self, file: &Val, a: &Args) -> Val {
        let opened = Val { from: "open".into(), ..Val::default() };
        if FLAGS.iter().any(|flag| a.says(flag)) {
            self.effect('W', file);
            return opened;
        }
        match a.pos.get(1) {
            None => {
                for text in file.any.clone() {
                    let bare = text.trim_start_matches(['+', '>', '<']).trim();
                    if text.starts_with('>') || text.starts_with("+<") || text.starts_with("+>") {
                        self.effect('W', &Val::text(bare));
                    }
                }
                opened
            }
            mode => self.open(file, mode, false),
        }
    }

    /// Whether the flags of a call, at this place, open for writing: by name or as a number.
    fn flags(&mut self, a: &Args, at: usize, name: &str) -> bool {
        if FLAGS.iter().any(|flag| a.says(flag)) {
            return true;
        }
        let named = a.raw.iter().any(|tok| matches!(tok, Tok::Name(n) if n.starts_with("O_") || n.contains(".O_")));
        let number = a
            .raw
            .iter()
            .rev()
            .find_map(|tok| if let Tok::Num(n) = tok { Some(n.trim_start_matches(['0', 'x', 'o']).to_owned()) } else { None });
        match (a.pos.get(at), number) {
            (None, _) => false,
            (Some(_), Some(number)) if !named => !number.is_empty(),
            (Some(_), None) if !named => {
                self.e.unknown("how a file is opened is not known", name);
                false
            }
            _ => false,
        }
    }

    /// A call that opens a file or an archive.
    pub(super) fn opens(&mut self, name: &str, last: &str, recv: Option<&Val>, a: &Args) -> Option<Val> {
        let empty = Val::default();
        let arg = |n: usize| a.pos.get(n).unwrap_or(&empty);
        match (last, self.lang) {
            ("open", Lang::Python) if name.starts_with("shelve.") || name.starts_with("dbm.") => {
                // the files of a database have endings of their own
                let flag = a.named("flag").or_else(|| a.pos.get(1)).and_then(|flag| flag.any.first().cloned());
                let flag = flag.unwrap_or_else(|| if name == "dbm.open" { "r".into() } else { "c".into() });
                if flag != "r" {
                    self.effect('P', arg(0));
                }
                return Some(Val::default());
            }
            ("open", Lang::Python) => {
                if name.starts_with("tarfile") || name.starts_with("zipfile") {
                    let p = arg(0).clone();
                    let mut v = self.open(&p, a.named("mode").or(a.pos.get(1)), false);
                    v.from = format!("archive:{}", p.any.first().map_or("", String::as_str));
                    return Some(v);
                }
                if name == "os.open" {
                    if self.flags(a, 1, name) {
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
            ("FileIO", Lang::Python) => return Some(self.open(arg(0), a.named("mode").or(a.pos.get(1)), false)),
            ("ZipFile" | "TarFile" | "GzipFile", Lang::Python) => {
                let p = arg(0).clone();
                let mut v = self.open(&p, a.named("mode").or(a.pos.get(1)), false);
                v.from = format!("archive:{}", p.any.first().map_or("", String::as_str));
                return Some(v);
            }
            ("unpack_archive", Lang::Python) => {
                let into = a.named("extract_dir").or_else(|| a.pos.get(1)).and_then(|dir| dir.any.first().cloned());
                let mut sh = self.sh.clone();
                for file in arg(0).texts() {
                    self.e.take_out(&mut sh, &file, into.as_deref().unwrap_or("."));
                }
                return Some(Val::default());
            }
            ("extract" | "extract_archive", Lang::Perl) => {
                let file = recv.and_then(|r| r.from.strip_prefix("archive:").map(str::to_owned)).or_else(|| arg(0).any.first().cloned())?;
                let mut sh = self.sh.clone();
                self.e.take_out(&mut sh, &file, ".");
                return Some(Val::default());
            }
            ("new", Lang::Perl) if name == "Archive.Tar.new" => {
                return Some(Val { from: format!("archive:{}", arg(0).any.first()?), ..Val::default() });
            }
            ("tempfile" | "tempdir" | "newdir", Lang::Perl) | ("new", Lang::Perl) if last != "new" || name == "File.Temp.new" => {
                let dir = a.pos.iter().position(|p| p.from == "fn:DIR" || p.any.first().is_some_and(|key| key == "DIR"));
                if let Some(dir) = dir.and_then(|at| a.pos.get(at + 1)).cloned() {
                    self.effect('d', &dir);
                }
                return Some(Val::default());
            }
            ("tie", Lang::Perl) => {
                let class = a.pos.iter().position(|p| p.any.first().is_some_and(|c| c.ends_with("_File") || c == "Tie::File"));
                if let (Some(at), false) = (class, a.says("O_RDONLY")) {
                    let one = arg(at).any.first().is_some_and(|class| class == "Tie::File");
                    let file = arg(at + 1).clone();
                    self.effect(if one { 'W' } else { 'P' }, &file);
                }
                return Some(Val::default());
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
            ("reopen", Lang::Ruby) if a.pos.len() > 1 => return Some(self.open(arg(0), a.pos.get(1), false)),
            ("open" | "new" | "sysopen", Lang::Ruby)
                if name == "open"
                    || name.starts_with("File.")
                    || name == "CSV.open"
                    || name.starts_with("IO.")
                    || name.contains("Kernel") =>
            {
                if let Some(cmd) = arg(0).any.first().and_then(|c| c.strip_prefix('|')).map(str::to_owned) {
                    self.shell(&cmd);
                    return Some(Val::default());
                }
                if a.pos.len() > 1 && arg(1).any.is_empty() && a.says("RDONLY") {
                    return Some(self.open(arg(0), None, false));
                }
                if FLAGS.iter().any(|flag| a.says(flag)) {
                    self.effect('W', arg(0));
                    return Some(Val { from: "open".into(), ..Val::default() });
                }
                return Some(self.open(arg(0), a.pos.get(1).or_else(|| a.named("mode")), false));
            }
            ("openSync" | "open", Lang::Node) => return Some(self.open(arg(0), a.pos.get(1).filter(|m| !m.any.is_empty()), false)),
            ("ini_set", Lang::Php) => {
                if arg(0).any.first().is_some_and(|key| key == "error_log" || key == "sendmail_path") {
                    let file = arg(1).clone();
                    self.effect('W', &file);
                }
                return Some(Val::default());
            }
            ("fopen" | "gzopen" | "bzopen", Lang::Php) => return Some(self.open(arg(0), a.pos.get(1), false)),
            ("SplFileObject", Lang::Php) => return Some(self.open(arg(0), a.pos.get(1), false)),
            ("open" | "sysopen", Lang::Perl) => {
                if last == "sysopen" || name == "POSIX.open" {
                    let at = usize::from(last == "sysopen");
                    if self.flags(a, at + 1, name) {
                        self.effect('W', arg(at));
                    }
                    return Some(Val::default());
                }
                if recv.is_some() {
                    // a method of a handle: the file comes first
                    return Some(self.handle(arg(0), a));
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
            // `new IO::File FILE, MODE`
            ("File", Lang::Perl) if name == "IO.File" => return Some(self.handle(arg(0), a)),
            ("new", Lang::Perl) if name.contains("IO.File") || name.contains("File.new") => {
                return Some(self.handle(arg(0), a));
            }
            _ => {}
        }
        None
    }
}
