//! A script of `sed`, as steps.

use super::engine::UNK;
use super::regex::{self, Flavor, Regex};

#[derive(Clone, Debug)]
pub(super) enum Addr {
    Line(usize),
    Last,
    Match(Option<Regex>),
    Other,
}

#[derive(Clone, Debug)]
pub(super) enum Do {
    Subst {
        re: Option<Regex>,
        with: String,
        all: bool,
        print: bool,
        run: bool,
        nth: usize,
    },
    Delete,
    Print,
    Quit,
    Open,
    Close,
    Insert(String),
    Append(String),
    Change(String),
    Translate(Vec<char>, Vec<char>),
    Nothing,
    /// Something that is not followed: what is printed is not known.
    Strange,
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) from: Option<Addr>,
    pub(super) to: Option<Addr>,
    pub(super) not: bool,
    pub(super) what: Do,
}

/// A script, taken apart.
#[derive(Default)]
pub(super) struct Script {
    pub(super) steps: Vec<Step>,
    pub(super) writes: Vec<String>,
    pub(super) runs: Vec<String>,
    pub(super) strange: bool,
}

pub(super) struct P<'a> {
    pub(super) c: &'a [char],
    pub(super) i: usize,
    pub(super) flavor: Flavor,
}

impl P<'_> {
    pub(super) fn at(&self) -> char {
        self.c.get(self.i).copied().unwrap_or('\0')
    }

    fn rest_of_line(&mut self) -> String {
        let start = self.i;
        while self.i < self.c.len() && self.at() != '\n' {
            self.i += 1;
        }
        self.c[start..self.i].iter().collect::<String>().trim_start().to_owned()
    }

    /// Text up to the delimiter, which is passed.
    fn until(&mut self, d: char) -> String {
        let mut out = String::new();
        let mut class = false;
        while self.i < self.c.len() {
            let x = self.at();
            if x == d && !class {
                break;
            }
            match x {
                '\\' => {
                    self.i += 1;
                    let n = self.at();
                    if n == d && !"().*[]^$+?{}|&".contains(d) {
                        out.push(n);
                    } else {
                        out.push('\\');
                        out.push(n);
                    }
                }
                _ => out.push(x),
            }
            if x == '[' && d != '[' && !out.ends_with("\\[") {
                class = self.c[self.i + 1..].iter().take(60).any(|y| *y == ']')
                    && self.c[self.i + 1..].iter().take_while(|y| **y != ']').any(|y| *y == d);
            } else if x == ']' {
                class = false;
            }
            self.i += 1;
        }
        self.i += 1;
        out
    }

    fn addr(&mut self) -> Option<Addr> {
        match self.at() {
            '0'..='9' => {
                let start = self.i;
                while self.at().is_ascii_digit() {
                    self.i += 1;
                }
                let n = self.c[start..self.i].iter().collect::<String>().parse().unwrap_or(0);
                if self.at() == '~' {
                    self.i += 1;
                    while self.at().is_ascii_digit() {
                        self.i += 1;
                    }
                    return Some(Addr::Other);
                }
                Some(Addr::Line(n))
            }
            '$' => {
                self.i += 1;
                Some(Addr::Last)
            }
            '+' | '~' => {
                self.i += 1;
                while self.at().is_ascii_digit() {
                    self.i += 1;
                }
                Some(Addr::Other)
            }
            '/' | '\\' => {
                if self.at() == '\\' {
                    self.i += 1;
                }
                let d = self.at();
                self.i += 1;
                let t = self.until(d);
                let mut fold = false;
                while matches!(self.at(), 'I' | 'M') {
                    fold |= self.at() == 'I';
                    self.i += 1;
                }
                Some(Addr::Match(regex::compile(&t, self.flavor, fold)))
            }
            _ => None,
        }
    }

    pub(super) fn script(&mut self) -> Script {
        let mut s = Script::default();
        while self.i < self.c.len() && s.steps.len() < 500 {
            while matches!(self.at(), ' ' | '\t' | '\n' | ';') {
                self.i += 1;
            }
            if self.i >= self.c.len() {
                break;
            }
            let from = self.addr();
            let mut to = None;
            if self.at() == ',' {
                self.i += 1;
                to = self.addr();
            }
            while self.at() == ' ' {
                self.i += 1;
            }
            let mut not = false;
            while self.at() == '!' {
                not = true;
                self.i += 1;
            }
            while self.at() == ' ' {
                self.i += 1;
            }
            let cmd = self.at();
            self.i += 1;
            let what = match cmd {
                '#' => {
                    self.rest_of_line();
                    Do::Nothing
                }
                '{' => Do::Open,
                '}' => Do::Close,
                's' => self.subst(&mut s),
                'y' => {
                    let d = self.at();
                    self.i += 1;
                    let a = self.until(d).chars().collect();
                    let b = self.until(d).chars().collect();
                    Do::Translate(a, b)
                }
                'w' | 'W' => {
                    let f = self.rest_of_line();
                    s.writes.push(f);
                    Do::Nothing
                }
                'r' | 'R' => {
                    self.rest_of_line();
                    Do::Strange
                }
                'e' => {
                    let t = self.rest_of_line();
                    s.runs.push(if t.is_empty() { UNK.to_string() } else { t });
                    Do::Strange
                }
                'a' | 'i' | 'c' => {
                    let mut t = self.rest_of_line();
                    while t.ends_with('\\') && self.i < self.c.len() {
                        t.pop();
                        self.i += 1;
                        let more = self.rest_of_line();
                        if !t.is_empty() {
                            t.push('\n');
                        }
                        t.push_str(&more);
                    }
                    let t = t.strip_prefix('\\').unwrap_or(&t).trim_start().to_owned();
                    match cmd {
                        'a' => Do::Append(t),
                        'i' => Do::Insert(t),
                        _ => Do::Change(t),
                    }
                }
                'd' => Do::Delete,
                'p' => Do::Print,
                'q' | 'Q' => {
                    while self.at().is_ascii_digit() || self.at() == ' ' {
                        self.i += 1;
                    }
                    if cmd == 'q' { Do::Quit } else { Do::Strange }
                }
                ':' | 'b' | 't' | 'T' => {
                    while !matches!(self.at(), '\n' | ';' | '}' | '\0') {
                        self.i += 1;
                    }
                    Do::Strange
                }
                _ => Do::Strange,
            };
            s.strange |= matches!(what, Do::Strange);
            s.steps.push(Step { from, to, not, what });
        }
        s
    }

    pub(super) fn subst(&mut self, s: &mut Script) -> Do {
        let d = self.at();
        self.i += 1;
        let pat = self.until(d);
        let with = self.until(d);
        let (mut all, mut print, mut run, mut fold, mut nth) = (false, false, false, false, 1);
        loop {
            match self.at() {
                'g' => all = true,
                'p' => print = true,
                'e' => run = true,
                'i' | 'I' => fold = true,
                'm' | 'M' => {}
                '0'..='9' => nth = self.at() as usize - '0' as usize,
                'w' => {
                    self.i += 1;
                    let f = self.rest_of_line();
                    s.writes.push(f);
                    break;
                }
                _ => break,
            }
            self.i += 1;
        }
        Do::Subst { re: regex::compile(&pat, self.flavor, fold), with, all, print, run, nth }
    }
}
