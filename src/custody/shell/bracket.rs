//! `test` and `[`.

use super::Kind;
use super::engine::{Engine, UNK};
use super::state::Shell;

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

impl Engine<'_> {
    /// `test` and `[`.
    pub(super) fn bracket(&mut self, sh: &mut Shell, a: &[String]) -> Option<i32> {
        let r = self.bracket_or(sh, a, 0);
        r.map(|b| i32::from(!b))
    }

    pub(super) fn bracket_or(&mut self, sh: &mut Shell, a: &[String], depth: u32) -> Option<bool> {
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
            "-f" if self.is_pipe(&full) => Some(false),
            "-f" => Some(at.kind == Some(Kind::File)),
            "-d" => Some(at.kind == Some(Kind::Dir)),
            "-L" | "-h" => Some(at.kind == Some(Kind::Link)),
            "-s" => Some(m.is_some_and(|m| m.len > 0 || m.kind == Kind::Dir)),
            "-r" | "-w" | "-O" | "-G" | "-N" => m.is_some().then_some(true).or(Some(false)),
            "-x" => match m {
                None => Some(false),
                Some(m) => Some(m.kind == Kind::Dir || m.mode & 0o111 != 0),
            },
            "-p" if self.is_pipe(&full) => Some(true),
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
                    (Some(_), Some(_)) if op == "-nt" => self.fs.newer(&pa.path, &pb.path),
                    (Some(_), Some(_)) => self.fs.newer(&pb.path, &pa.path),
                    (Some(_), None) => Some(op == "-nt"),
                    (None, Some(_)) => Some(op == "-ot"),
                    (None, None) => Some(false),
                }
            }
            _ => None,
        }
    }
}
