//! Which program a name runs: what the command itself has put in the way (`hash -p`, its own `PATH`, a file that it made),
//! scripts that can be read, and the table for the rest.

use super::engine::{Engine, UNK};
use super::state::Shell;
use super::{Kind, picture, table};

/// Where programs lie that are what their name says.
const SYSTEM_BIN: [&str; 6] = ["/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/", "/opt/homebrew/bin/"];

fn of_the_system(path: &str) -> bool {
    SYSTEM_BIN.iter().any(|dir| path.starts_with(dir))
}

impl Engine<'_> {
    /// A program is run.
    pub(crate) fn external(&mut self, sh: &mut Shell, argv: &[String]) {
        if !argv[0].contains('/') {
            let Some(found) = self.in_the_way(sh, &argv[0]) else { return self.known(sh, argv) };
            let mut there = argv.to_vec();
            there[0] = found;
            return self.by_path(sh, &there);
        }
        self.by_path(sh, argv);
    }

    fn by_path(&mut self, sh: &mut Shell, argv: &[String]) {
        if of_the_system(&argv[0]) {
            return self.known(sh, argv);
        }
        if argv[0] == "/proc/self/exe" {
            let mut shell = argv.to_vec();
            shell[0] = "bash".into();
            return self.known(sh, &shell);
        }
        let full = self.full(sh, &argv[0]);
        let real = self.fs.at(&full, true);
        if of_the_system(&real.path) && real.path != full {
            // the program behind the link; one that is many goes by the name it was called by
            let many = matches!(picture::split(&real.path).1, "busybox" | "toybox" | "coreutils");
            let mut there = argv.to_vec();
            there[0] = if many { picture::split(&argv[0]).1.to_owned() } else { real.path };
            return self.known(sh, &there);
        }
        if self.run_path(sh, argv) {
            return;
        }
        if let Some(copied) = self.fs.came_from(&real.path).filter(|from| of_the_system(from)) {
            let mut there = argv.to_vec();
            there[0] = copied;
            return self.known(sh, &there);
        }
        if self.fs.made(&real.path) {
            self.unknown("a program that this command itself has put there", &argv[0]);
            self.put(sh, 1, &UNK.to_string());
            return;
        }
        self.known(sh, argv);
    }

    /// What a name without a slash runs in place of the program that it names: where the command has said so, has changed
    /// `PATH`, or has made a file in one of its directories.
    fn in_the_way(&mut self, sh: &Shell, name: &str) -> Option<String> {
        if let Some((_, path)) = sh.hashed.iter().rev().find(|(hashed, _)| hashed == name) {
            return Some(path.clone());
        }
        let own = sh.vars.contains_key("PATH");
        if !own && !self.fs.made_named(name) {
            return None;
        }
        let paths = self.var(sh, "PATH")?;
        for dir in paths.split(':') {
            let file = picture::join(&self.full(sh, if dir.is_empty() { "." } else { dir }), name);
            if file.contains(UNK) {
                continue;
            }
            if own && !of_the_system(&file) {
                if self.fs.what(&file) == Some(Kind::File) {
                    return Some(file);
                }
            } else if self.fs.made(&file) && self.fs.what(&file) == Some(Kind::File) {
                return Some(file);
            }
        }
        None
    }

    /// A program that is what its name says.
    pub(super) fn known(&mut self, sh: &mut Shell, argv: &[String]) {
        let base = picture::split(&argv[0]).1.to_owned();
        let more = self.environs(sh, &base, argv);
        let argv = more.as_deref().unwrap_or(argv);
        if self.wrapper(sh, &base, argv) {
            return;
        }
        if base == "git" {
            self.git(sh, argv);
            return;
        }
        if base == "find" || base == "gfind" {
            self.find(sh, argv);
            return;
        }
        match table::row(&base) {
            Some(marks) => self.by_row(sh, marks, argv),
            None => {
                let handler =
                    ["command_not_found_handle", "command_not_found_handler"].into_iter().find(|name| sh.funcs.contains_key(*name));
                if let Some(handler) = handler {
                    let call = std::iter::once(handler.to_owned()).chain(argv.iter().cloned()).collect();
                    let mut sub = self.subshell(sh);
                    self.call(&mut sub, call, true);
                }
                self.unknown("a program that nothing is known about", &base);
                self.put(sh, 1, &UNK.to_string());
            }
        }
    }

    /// A program named by its path: a script that can be read is followed.
    fn run_path(&mut self, sh: &mut Shell, argv: &[String]) -> bool {
        let full = self.full(sh, &argv[0]);
        let Some(text) = self.fs.text(&full) else { return false };
        let first = text.lines().next().unwrap_or("");
        let Some(line) = first.strip_prefix("#!") else {
            if text.contains(UNK) || text.starts_with('\u{7f}') {
                return false;
            }
            sh.status = self.run_file(sh, &argv[0], &argv[1..], false);
            return true;
        };
        let mut bits: Vec<String> = line.split_ascii_whitespace().map(str::to_owned).collect();
        if bits.first().is_some_and(|b| b.ends_with("/env")) {
            bits.remove(0);
            bits.retain(|b| b != "-S");
        }
        if bits.is_empty() {
            return false;
        }
        bits.push(argv[0].clone());
        bits.extend(argv[1..].iter().cloned());
        self.call(sh, bits, false);
        true
    }
}
