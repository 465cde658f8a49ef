//! Calls of programs: options taken apart by the marks of a row, effects carried out, and the way to those that need more.

use super::super::act::ActKind;
use super::Kind;
use super::deeds::{fd_path, is_device};
use super::engine::{Engine, UNK};
use super::options::{Call, mark_for, parse};
use super::picture::{self, Left};
use super::state::{Fd, Shell};

impl Engine<'_> {
    /// A program that the table knows.
    pub(crate) fn by_row(&mut self, sh: &mut Shell, marks: &str, argv: &[String]) {
        let c = parse(marks, argv);
        if c.args.is_empty() && c.has(&["--help", "--version"]) {
            self.put(sh, 1, &UNK.to_string());
            return;
        }
        if marks == "?" {
            self.unknown("a program that can do anything", &c.name);
            self.put(sh, 1, &UNK.to_string());
            return;
        }
        if let Some(special) = marks.split_ascii_whitespace().find_map(|m| m.strip_prefix('*'))
            && self.special(sh, special, marks, &c, argv)
        {
            return;
        }
        self.effects(sh, marks, &c);
        self.print(sh, &c, argv);
    }

    /// Carries out what a row says.
    pub(crate) fn effects(&mut self, sh: &mut Shell, marks: &str, c: &Call) {
        let mut below = false;
        let mut armed = !marks.split_ascii_whitespace().any(|m| m.starts_with('-') && m.ends_with('?'));
        let mut off = false;
        for (o, _) in &c.opts {
            match mark_for(marks, o) {
                Some(m) if m.contains('!') => return,
                Some(m) if m.contains('/') => off = true,
                Some(m) if m.contains('?') => armed = true,
                Some(m) if m.contains('+') => below = true,
                _ => {}
            }
        }
        for (o, v) in &c.opts {
            if let (Some(m), Some(v)) = (mark_for(marks, o), v)
                && let Some(e) = m.trim_start_matches(':').chars().next()
            {
                self.effect(sh, e, v, false);
            }
        }
        if off || !armed {
            return;
        }
        for m in marks.split_ascii_whitespace() {
            let Some(rest) = m.strip_prefix('@') else { continue };
            let Some(e) = rest.chars().last() else { continue };
            let which = &rest[..rest.len() - 1];
            let picked: Vec<&String> = match which {
                "" => c.args.iter().collect(),
                "$" => {
                    if c.args.len() > 1 {
                        c.args.last().into_iter().collect()
                    } else {
                        Vec::new()
                    }
                }
                w => {
                    let n = w.trim_end_matches('+').parse::<usize>().unwrap_or(1).max(1);
                    let many = w.ends_with('+');
                    c.args.iter().skip(n - 1).take(if many { usize::MAX } else { 1 }).collect()
                }
            };
            for p in picked {
                self.effect(sh, e, p, below);
            }
        }
    }

    /// Carries out one effect on one path.
    pub(crate) fn effect(&mut self, sh: &mut Shell, e: char, path: &str, below: bool) {
        if path.is_empty() || path == "-" {
            return;
        }
        let full = self.full(sh, path);
        match e {
            'W' => self.write(sh, path),
            'U' => {
                let exists = !full.contains(UNK) && self.fs.what(&full).is_some();
                self.act(sh, if exists { ActKind::Mode } else { ActKind::Create }, path, true, false);
                if exists {
                    let there = self.fs.at(&full, true).path;
                    self.fs.touched(&there, true);
                }
                if !exists && fd_path(&full).is_none() {
                    self.fs.leave(&full, true, Left::File(Some("".into())));
                }
            }
            'M' => self.act(sh, ActKind::Mode, path, true, below),
            'X' => self.remove(sh, path, below),
            'R' => self.remove(sh, path, true),
            'D' => {
                self.act(sh, ActKind::Create, path, false, false);
                self.fs.leave(&full, false, Left::Dir);
            }
            'L' => self.act(sh, ActKind::Link, path, false, false),
            'I' => {
                self.act(sh, ActKind::Write, path, false, below);
                if !is_device(&full) && !below {
                    self.fs.untie(&self.fs.at(&full, false).path);
                    self.fs.leave(&full, false, Left::File(None));
                }
            }
            'F' => self.act(sh, ActKind::Rename, path, false, false),
            'p' => self.make_pipe(sh, path),
            'P' => self.act(sh, ActKind::Create, &format!("{path}{UNK}"), true, false),
            'd' => self.act(sh, ActKind::Create, &picture::join(path, &UNK.to_string()), true, false),
            'B' => self.act(sh, ActKind::Write, path, true, true),
            'Y' => {
                let mut sub = self.child(sh, true);
                self.script(&mut sub, path);
                self.end(&mut sub);
            }
            _ => {}
        }
    }

    fn special(&mut self, sh: &mut Shell, special: &str, marks: &str, c: &Call, argv: &[String]) -> bool {
        match special {
            "cp" => self.cp(sh, c),
            "mv" => self.mv(sh, c),
            "ln" | "link" => self.ln(sh, c),
            "install" => self.install(sh, c),
            "rm" => self.rm(sh, c),
            "rmdir" => self.rmdir(sh, c),
            "mkdir" => self.mkdir(sh, c),
            "mktemp" => self.mktemp(sh, c),
            "touch" => self.touch(sh, c),
            "chmod" | "chown" => self.chmod(sh, c, argv, special == "chown"),
            "truncate" => {
                for a in &c.args {
                    let full = self.full(sh, a);
                    if c.has(&["-c", "--no-create"]) && self.fs.what(&full).is_none() && !full.contains(UNK) {
                        continue;
                    }
                    self.write(sh, a);
                }
            }
            "tee" => {
                let text = self.take(sh, 0);
                let append = c.has(&["-a", "--append"]);
                for a in &c.args {
                    let full = self.full(sh, a);
                    let old = if append { self.content(sh, a) } else { String::new() };
                    if fd_path(&full).is_some() {
                        self.write_text(sh, a, &text);
                    } else {
                        self.write_text(sh, a, &(old + &text));
                    }
                }
                self.put(sh, 1, &text);
                sh.status = Some(0);
            }
            "sponge" => {
                let text = self.take(sh, 0);
                match c.args.first() {
                    Some(a) => self.write_text(sh, a, &text),
                    None => self.put(sh, 1, &text),
                }
            }
            "mknod" => {
                let pipe = c.args.get(1).is_some_and(|kind| kind == "p");
                if let Some(path) = c.args.first() {
                    self.effect(sh, if pipe { 'p' } else { 'L' }, path, false);
                }
            }
            "dd" => self.dd(sh, argv),
            "split" => {
                let prefix = c.args.get(1).map_or("x", String::as_str).to_owned();
                if let Some(f) = c.value(&["--filter"]) {
                    let mut sub = self.child(sh, true);
                    let v = format!("FILE={prefix}{UNK}");
                    self.assignment(&mut sub, &v, true, true);
                    self.script(&mut sub, f);
                } else {
                    self.effect(sh, 'P', &prefix, false);
                }
            }
            "csplit" => {
                let prefix = c.value(&["-f", "--prefix"]).unwrap_or("xx").to_owned();
                self.effect(sh, 'P', &prefix, false);
            }
            "sort" | "grep" | "show" | "xxd" | "fd" => {
                if special == "xxd"
                    && let Some(a) = c.args.get(1)
                {
                    self.effect(sh, 'W', a, false);
                }
                if special == "fd" {
                    return self.fd(sh, argv);
                }
                self.effects(sh, marks, c);
                if let Some(p) = c.value(&["--pre"]).filter(|p| !p.is_empty()) {
                    let call = vec![p.to_owned(), c.args.get(1).cloned().unwrap_or_else(|| ".".into())];
                    self.call(&mut sh.clone(), call, false);
                }
                if matches!(c.name.as_str(), "less" | "more" | "man" | "zless") && sh.vars.contains_key("LESSOPEN") {
                    let open = self.var(sh, "LESSOPEN").unwrap_or_default();
                    let open = open.trim_start_matches(['|', '-']).replace("%s", c.args.first().map_or("", String::as_str));
                    self.effect(sh, 'Y', &open, false);
                }
                if let Some(o) = c.value(&["-o", "--output"])
                    && special == "sort"
                {
                    let text = self.printed(sh, c, argv);
                    self.write_text(sh, o, &text);
                    return true;
                }
                self.print(sh, c, argv);
            }
            "uniq" => match c.args.get(1) {
                Some(o) if o != "-" => {
                    let mut c2 = c.clone();
                    c2.args.truncate(1);
                    let text = self.printed(sh, &c2, argv);
                    self.write_text(sh, o, &text);
                }
                _ => self.print(sh, c, argv),
            },
            "yq" | "ruff" => {
                let skip = usize::from(
                    c.args.first().is_some_and(|a| matches!(a.as_str(), "e" | "eval" | "ea" | "eval-all" | "check" | "format")),
                );
                let first = if special == "ruff" {
                    if c.args.first().is_some_and(|a| a == "format") && !c.has(&["--check", "--diff"]) {
                        for a in c.args.iter().skip(1) {
                            self.effect(sh, 'B', a, false);
                        }
                        return true;
                    }
                    skip
                } else {
                    skip + usize::from(!c.has(&["--from-file"]))
                };
                if c.has(&["-i", "--inplace", "--in-place", "--fix"]) {
                    for a in c.args.iter().skip(first) {
                        self.effect(sh, if special == "ruff" { 'B' } else { 'I' }, a, false);
                    }
                }
                self.put(sh, 1, &UNK.to_string());
            }
            "sed" => self.sed(sh, c),
            "awk" => self.awk(sh, c),
            "perl" | "ruby" | "python" | "node" | "php" => self.interpreter(sh, special, argv),
            "patch" => self.patch(sh, c),
            "loci" => self.loci(sh, argv),
            "apply_patch" => self.apply_patch(sh, c),
            "ed" => self.ed(sh, c),
            "vim" => self.vim(sh, c, argv),
            "mount" => {
                let options = c.values(&["-o", "--options"]);
                let bind = c.has(&["-B", "--bind", "-R", "--rbind"])
                    || options.iter().flat_map(|list| list.split(',')).any(|option| matches!(option, "bind" | "rbind"));
                match c.args.as_slice() {
                    [from, to] if bind => {
                        let (from, to) = (self.full(sh, from), self.full(sh, to));
                        self.fs.leave(&to, true, Left::Link(from));
                    }
                    [] if c.value(&["--source", "--target"]).is_none() => self.put(sh, 1, &UNK.to_string()),
                    _ => self.unknown("a program that can do anything", "mount"),
                }
            }
            "dos2unix" => {
                if c.has(&["-n", "--newfile"]) {
                    for pair in c.args.chunks(2) {
                        if let [_, out] = pair {
                            self.effect(sh, 'W', out, false);
                        }
                    }
                } else if !c.has(&["-O", "--to-stdout", "-i", "--info"]) {
                    for a in &c.args {
                        self.effect(sh, 'I', a, false);
                    }
                }
            }
            "rename" => self.rename(sh, c),
            "sqlite" => self.sqlite(sh, c),
            "sshkeygen" => {
                if let Some(f) = c.value(&["-f"])
                    && !c.has(&["-l", "-y", "-F", "-e", "-B"])
                {
                    let f = f.to_owned();
                    self.effect(sh, 'W', &f, false);
                    self.effect(sh, 'W', &format!("{f}.pub"), false);
                }
            }
            "tar" => self.tar(sh, argv),
            "unzip" => self.unzip(sh, c, argv),
            "zip" => self.zip(sh, c),
            "zipsplit" => {
                if !c.has(&["-t", "-h", "-v"]) {
                    let dir = c.value(&["-b"]).unwrap_or(".").to_owned();
                    self.effect(sh, 'd', &dir, false);
                }
            }
            "cpio" => self.cpio(sh, c),
            "ar" => self.ar(sh, argv),
            "pack" => self.pack(sh, c),
            "sevenzip" | "unrar" => self.sevenzip(sh, argv),
            "jar" => self.jar(sh, argv),
            "rsync" => self.rsync(sh, marks, c),
            "scp" => {
                if let [sources @ .., to] = c.args.as_slice()
                    && !remote(to)
                {
                    let full = self.full(sh, to);
                    if self.fs.is_dir(&full) || to.ends_with('/') {
                        for s in sources {
                            let n = picture::split(s).1;
                            let n = n.rsplit(':').next().unwrap_or(n);
                            self.act(sh, ActKind::Create, &picture::join(to, n), true, false);
                        }
                    } else {
                        self.write(sh, to);
                    }
                }
            }
            "curl" => self.curl(sh, marks, c, argv),
            "wget" => self.wget(sh, marks, c),
            "cc" => self.compile(sh, marks, argv),
            "ld" | "as" => self.link(sh, special, marks, argv),
            "rustc" => self.rustc(sh, c),
            "go" => self.go_tool(sh, argv),
            "strip" => self.strip(sh, marks, c),
            "convert" => {
                let args: Vec<&String> = argv[1..].iter().collect();
                if let Some(last) = args.last().filter(|_| args.len() > 1) {
                    let p = last
                        .rsplit_once(':')
                        .filter(|(k, _)| k.chars().all(|c| c.is_ascii_lowercase()) && k.len() > 1)
                        .map_or(last.as_str(), |x| x.1);
                    self.effect(sh, 'W', p, false);
                }
            }
            "ffmpeg" => self.ffmpeg(sh, argv),
            "make" => self.make(sh, argv),
            "npm" => self.npm(sh, argv),
            "dc" => self.dc(sh, c),
            "m4" => self.m4(sh, marks, c),
            "ctags" => {
                self.effects(sh, marks, c);
                if !c.has(&["-f", "-o"]) {
                    self.effect(sh, 'W', "tags", false);
                }
            }
            "indent" => {
                self.effects(sh, marks, c);
                if !c.has(&["-o"]) && argv.iter().all(|a| a != "-st") && c.args.len() == 1 {
                    self.effect(sh, 'W', &c.args[0], false);
                }
            }
            "anything" => {
                let look = argv.iter().skip(1).any(|a| matches!(a.as_str(), "--version" | "-V" | "--help" | "-h" | "help"));
                if !look {
                    self.unknown("a program that can do anything", &c.name);
                }
                self.put(sh, 1, &UNK.to_string());
            }
            _ => return false,
        }
        true
    }

    /// Whether the command's input leads anywhere but to the end of input.
    pub(crate) fn reads_input(&self, sh: &Shell) -> bool {
        !matches!(sh.fd(0), Fd::Term | Fd::Null)
    }

    /// What stands at a name, links followed; `None` also where the name is not known.
    pub(crate) fn what(&self, sh: &Shell, name: &str) -> Option<Kind> {
        let full = self.full(sh, name);
        if full.contains(UNK) { None } else { self.fs.what(&full) }
    }
}

/// Whether a name is one on another machine.
pub(crate) fn remote(name: &str) -> bool {
    match name.find(':') {
        Some(i) => !name[..i].contains('/') || name.starts_with("rsync://"),
        None => false,
    }
}
