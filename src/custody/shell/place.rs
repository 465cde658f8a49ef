//! The directory in force and the stack of directories.

use super::engine::{Engine, UNK};
use super::picture::{join, tidy};
use super::state::Shell;

/// The place in the stack of directories that `+N` (from the front) or `-N` (from the back) names.
pub(super) fn nth(word: &str, len: usize) -> Option<usize> {
    let n = word.get(1..)?.parse::<usize>().ok().filter(|n| *n < len)?;
    match word.as_bytes()[0] {
        b'+' => Some(n),
        b'-' => Some(len - 1 - n),
        _ => None,
    }
}

pub(super) fn is_nth(word: &str) -> bool {
    word.starts_with(['+', '-']) && word.len() > 1 && word[1..].chars().all(|c| c.is_ascii_digit())
}

impl Engine<'_> {
    /// Goes to a directory.
    pub(super) fn go(&mut self, sh: &mut Shell, to: String) {
        sh.oldpwd = Some(std::mem::replace(&mut sh.cwd, to));
    }

    /// Where `cd DIR` leads; none where it fails.
    pub(super) fn cd_target(&mut self, sh: &Shell, dir: &str, physical: bool) -> Option<String> {
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

    pub(super) fn cd(&mut self, sh: &mut Shell, args: &[String]) -> Option<i32> {
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

    pub(super) fn pushd(&mut self, sh: &mut Shell, args: &[String]) -> Option<i32> {
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
}
