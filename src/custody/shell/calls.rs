//! Names and calls of programs in other languages: what each gives, and what it does.

use super::engine::UNK;
use super::found::Found;
use super::lex::Lang;
use super::picture::Left;
use super::scan::{Args, Host, Val};
use super::writers::named;

/// How a call brings something to another place.
#[derive(Clone, Copy, Debug)]
enum Brings {
    /// It is there afterwards, and not where it was.
    Moved,
    /// A file is copied, or the link to it where that is not followed.
    Copied {
        /// The link is followed.
        follow: bool,
    },
    /// A tree is copied with the links in it.
    Tree {
        /// A link in the place of the tree itself is followed.
        follow: bool,
    },
    /// A tree is copied, and links in it become what they lead to.
    Flat,
    /// The files of a tree get a second name there.
    Tied,
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
        let done = self
            .opens(&name, &last, recv, a)
            .or_else(|| self.gives(&name, &last, recv, a))
            .or_else(|| self.reads(&last, recv, a))
            .or_else(|| self.launches(&name, &last, recv, a))
            .or_else(|| self.changes(&name, &last, recv, a))
            .or_else(|| self.writes(&name, &last, recv, a));
        if done.is_none() {
            self.handed_on(recv, a);
        }
        done
    }
}

impl Found<'_, '_> {
    /// A call that changes what it does not open.
    pub(super) fn changes(&mut self, name: &str, last: &str, recv: Option<&Val>, a: &Args) -> Option<Val> {
        let empty = Val::default();
        let arg = |n: usize| a.pos.get(n).unwrap_or(&empty);
        match (last, self.lang) {
            ("basicConfig", Lang::Python) => {
                if let Some(file) = a.named("filename").cloned() {
                    self.effect('W', &file);
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
            ("rename" | "replace" | "move", Lang::Python) if recv.is_some_and(|r| r.from == "path") => {
                let r = recv.cloned().unwrap_or_default();
                self.effect('F', &r);
                self.effect('F', arg(0));
                self.brought(&r, arg(0), Brings::Moved);
                return Some(Val::default());
            }
            ("rename" | "copy" | "move" | "copy_to" | "move_to", Lang::Ruby | Lang::Perl) if recv.is_some_and(|r| r.from == "path") => {
                let r = recv.cloned().unwrap_or_default();
                if !last.starts_with("copy") {
                    self.effect('F', &r);
                }
                self.effect('T', arg(0));
                self.brought(&r, arg(0), if last.starts_with("copy") { Brings::Copied { follow: true } } else { Brings::Moved });
                return Some(Val::default());
            }
            _ => {}
        }
        None
    }

    /// How a call of the table brings its first argument to the second one; none where it does not.
    fn how(&self, name: &str, effects: &str, a: &Args) -> Option<Brings> {
        match effects {
            "0F 1T" | "0F 1F" => Some(Brings::Moved),
            "1T" => Some(Brings::Copied { follow: self.lang != Lang::Python || !a.denies("follow_symlinks") }),
            "1B" if self.lang == Lang::Python && !a.says("symlinks") => Some(Brings::Flat),
            "1B" if name.contains("cp_lr") || name.contains("link_entry") => Some(Brings::Tied),
            "1B" => Some(Brings::Tree { follow: self.lang != Lang::Node }),
            _ => None,
        }
    }

    /// What a call has brought to another place: the picture of the disk has it there.
    fn brought(&mut self, from: &Val, to: &Val, how: Brings) {
        let one = |v: &Val| (v.any.len() == 1).then(|| v.any[0].clone()).filter(|path| !path.contains(UNK));
        let full = one(to).map(|to| self.e.full(&self.sh, &to));
        let Some(to) = full else { return };
        let Some(from) = one(from).map(|from| self.e.full(&self.sh, &from)) else {
            // something came there; nobody knows what
            self.e.fs.doubt(&to);
            return;
        };
        let name = super::picture::split(&from).1.to_owned();
        let into = matches!(how, Brings::Moved | Brings::Copied { .. }) && self.e.fs.is_dir(&to);
        let to = if into { super::picture::join(&to, &name) } else { to };
        match how {
            Brings::Moved => self.e.fs.carry(&from, &to, false),
            Brings::Copied { follow: true } => self.e.fs.copy_of(&from, &to),
            Brings::Copied { follow: false } => self.e.fs.carry(&from, &to, true),
            Brings::Flat if self.e.fs.is_dir(&to) => {}
            Brings::Flat => self.e.fs.leave(&to, false, Left::Dir),
            Brings::Tied => self.e.fs.doubt(&to),
            Brings::Tree { follow } => {
                let from = self.e.fs.at(&from, follow);
                if from.kind == Some(super::Kind::Dir) && self.e.fs.is_dir(&to) {
                    let mut budget = super::copy::MAX_TREE;
                    let mut sh = self.sh.clone();
                    self.e.copy_tree(&mut sh, &from.path, &to, &mut budget, 0);
                    if budget == 0 {
                        self.e.unknown("too many files", &to);
                    }
                } else {
                    self.e.fs.carry(&from.path, &to, true);
                }
            }
        }
    }

    /// A link is made: what is written to its name later goes where it leads.
    fn linked(&mut self, name: &str, recv: Option<&Val>, a: &Args) {
        let on_path = matches!(name, "symlink_to" | "hardlink_to" | "link_to");
        let target = a.pos.first().or_else(|| a.named("src"));
        let link = if on_path { recv } else { a.pos.get(1).or_else(|| a.named("dst")) };
        let one = |v: Option<&Val>| v.filter(|v| v.any.len() == 1).map(|v| v.any[0].clone());
        let Some(link) = one(link).filter(|link| !link.contains(UNK)) else { return };
        let target = one(target).unwrap_or_else(|| UNK.to_string());
        let link = self.e.full(&self.sh, &link);
        let soft = name.contains("sym") || name.contains("ln_s") || target.contains(UNK);
        if soft {
            self.e.fs.leave(&link, false, Left::Link(target));
        } else {
            let from = self.e.full(&self.sh, &target);
            let real = self.e.fs.at(&from, true).path;
            self.e.fs.copy_of(&real, &link);
            self.e.fs.tie(&real, &link);
        }
    }

    /// A call that the table knows.
    fn writes(&mut self, name: &str, last: &str, recv: Option<&Val>, a: &Args) -> Option<Val> {
        for (n, effects) in named(self.lang_name(), last).iter().copied() {
            let on_path = recv.is_some_and(|r| r.from == "path" && !r.any.is_empty());
            let hit = if effects.starts_with('r') {
                on_path
            } else {
                n == name
                    || n.starts_with('.')
                    || self.lang == Lang::Ruby && self.file_utils && n.strip_prefix("FileUtils.") == Some(name)
                    || self.lang == Lang::Node
                        && !n.contains('.')
                        && (recv.is_none_or(|r| r.any.is_empty() || r.from.contains("fs")) || name.contains("fs"))
                    || self.lang == Lang::Python && n.contains('.') && name.strip_suffix(n).is_some_and(|head| head.ends_with('.'))
                    || matches!(self.lang, Lang::Perl | Lang::Php) && recv.is_none()
            };
            if !hit {
                continue;
            }
            // `list.remove(x)`, `map.delete(k)`: not about files
            if self.lang == Lang::Node
                && matches!(last, "remove" | "move" | "copy" | "rename" | "link" | "cp" | "rm")
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
                        } else if let Some(v) =
                            ["dst", "path", "filename", "cfile", "file", "target"].iter().find_map(|k| a.named(k)).cloned()
                        {
                            self.effect(kind, &v);
                        }
                    }
                }
            }
            if effects.ends_with('L') && (n.contains("link") || n.contains(".ln")) {
                self.linked(n, recv, a);
            }
            if let Some(how) = self.how(n, effects, a)
                && let (Some(from), Some(to)) = (a.pos.first().or_else(|| a.named("src")), a.pos.get(1).or_else(|| a.named("dst")))
            {
                self.brought(from, to, how);
            }
            return Some(Val::default());
        }
        None
    }
}
