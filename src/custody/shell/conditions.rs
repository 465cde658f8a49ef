//! `[[ … ]]`, `case`, and whether a command that is skipped would have mattered.

use super::engine::{Engine, UNK};
use super::pattern;
use super::state::{Flow, Shell};
use super::syntax::{Arm, Cmd, Part, Test, Word};

/// Whether skipping a command could change what follows it: variables, the directory, or leaving.
pub(super) fn changes(c: &Cmd) -> bool {
    match c {
        Cmd::Simple { assigns, words, .. } => {
            if words.is_empty() {
                return !assigns.is_empty();
            }
            match words.first().and_then(|w| w.parts.first()) {
                Some(Part::Plain(n)) => {
                    matches!(
                        n.as_str(),
                        "cd" | "pushd"
                            | "popd"
                            | "export"
                            | "read"
                            | "set"
                            | "shift"
                            | "exit"
                            | "return"
                            | "break"
                            | "continue"
                            | "source"
                            | "."
                            | "eval"
                            | "declare"
                            | "typeset"
                            | "local"
                            | "readonly"
                            | "unset"
                            | "mapfile"
                            | "readarray"
                            | "printf"
                            | "exec"
                            | "let"
                            | "shopt"
                            | "ln"
                            | "mv"
                            | "rm"
                            | "getopts"
                    ) || words[0].parts.len() > 1
                        || words[0].parts.is_empty()
                        || !is_program(n)
                }
                _ => true,
            }
        }
        Cmd::Pipe(_) | Cmd::Subshell(_) | Cmd::Coproc { .. } | Cmd::Test(_) | Cmd::Empty => false,
        Cmd::List(items) => items.iter().any(|i| changes(&i.0)),
        Cmd::Lines(items) => items.iter().any(changes),
        Cmd::Not(c) | Cmd::Redirected(c, _) => changes(c),
        Cmd::If { then, other, .. } => changes(then) || other.as_deref().is_some_and(changes),
        Cmd::While { body, .. } | Cmd::For { body, .. } | Cmd::ForArith { body, .. } => changes(body),
        Cmd::Case { arms, .. } => arms.iter().any(|a| a.body.as_ref().is_some_and(changes)),
        Cmd::Arith(_) | Cmd::Function { .. } => true,
    }
}

/// A name that the table knows is a program and no function of the script.
pub(super) fn is_program(n: &str) -> bool {
    n.contains('/') || super::table::row(n).is_some() || matches!(n, "echo" | "true" | "false" | ":" | "git" | "test" | "[")
}

impl Engine<'_> {
    pub(super) fn case(&mut self, sh: &mut Shell, word: &Word, arms: &[Arm]) -> Flow {
        let text = self.one(sh, word);
        let mut falling = false;
        for arm in arms {
            let hit = falling || {
                let mut hit = false;
                for p in &arm.patterns {
                    let p = self.pattern(sh, p);
                    let fold = sh.opts.nocasematch;
                    hit = if text.contains(UNK) || p.contains(UNK) {
                        p == "*" || self.decide(true, true)
                    } else if fold {
                        pattern::matches_fold(&p, &text)
                    } else {
                        pattern::matches(&p, &text)
                    };
                    if hit {
                        break;
                    }
                }
                hit
            };
            if !hit {
                continue;
            }
            if let Some(b) = &arm.body {
                let flow = self.run(sh, b);
                if flow != Flow::Next {
                    return flow;
                }
            }
            falling = arm.falls;
            if !arm.falls && !arm.tests_on {
                return Flow::Next;
            }
        }
        Flow::Next
    }

    /// `[[ … ]]`; `None` where it is not known.
    pub(super) fn test(&mut self, sh: &mut Shell, t: &Test) -> Option<bool> {
        match t {
            Test::And(a, b) => match self.test(sh, a) {
                Some(false) => Some(false),
                Some(true) => self.test(sh, b),
                None => match self.test(sh, b) {
                    Some(false) => Some(false),
                    _ => None,
                },
            },
            Test::Or(a, b) => match self.test(sh, a) {
                Some(true) => Some(true),
                Some(false) => self.test(sh, b),
                None => match self.test(sh, b) {
                    Some(true) => Some(true),
                    _ => None,
                },
            },
            Test::Not(a) => self.test(sh, a).map(|b| !b),
            Test::Word(w) => {
                let v = self.one(sh, w);
                if v.contains(UNK) { None } else { Some(!v.is_empty()) }
            }
            Test::Unary(op, w) => {
                let v = self.one(sh, w);
                self.test_one(sh, op, &v)
            }
            Test::Binary(op, l, r) => {
                let a = self.one(sh, l);
                match op.as_str() {
                    "=" | "==" | "!=" => {
                        let p = self.pattern(sh, r);
                        if a.contains(UNK) || p.contains(UNK) {
                            return None;
                        }
                        let hit = if sh.opts.nocasematch { pattern::matches_fold(&p, &a) } else { pattern::matches(&p, &a) };
                        Some(hit == (op != "!="))
                    }
                    "=~" => {
                        let p = self.regex_word(sh, r);
                        if a.contains(UNK) {
                            return None;
                        }
                        let re = super::regex::compile(&p, super::regex::Flavor::Extended, sh.opts.nocasematch)?;
                        let t: Vec<char> = a.chars().collect();
                        let m = re.find(&t, 0);
                        let groups = m.iter().flatten().map(|g| g.map_or(String::new(), |(x, y)| t[x..y].iter().collect())).collect();
                        self.set_list(sh, "BASH_REMATCH", groups);
                        Some(m.is_some())
                    }
                    "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                        let b = self.one(sh, r);
                        let (x, y) = (self.number(sh, &a), self.number(sh, &b));
                        super::bracket::compare(op, x?, y?)
                    }
                    _ => {
                        let b = self.one(sh, r);
                        self.test_two(sh, &a, op, &b)
                    }
                }
            }
        }
    }
}
