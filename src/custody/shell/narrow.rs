//! Conditions on the names that a variable may hold: `if name.endswith(".md"):` leaves only those in its block.
//!
//! A condition that is not understood leaves all of them, and so does what is not known of a name.

use super::engine::UNK;
use super::lex::{Lang, Tok};
use super::picture::split;
use super::scan::Walk;

/// The end of a block in Python, as a token.
pub(super) const DEDENT: &str = "\u{1}";
/// The beginning of one.
pub(super) const INDENT: &str = "\u{2}";

/// What a condition compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Starts,
    Ends,
    Is,
    Holds,
}

/// One comparison of a name with texts.
#[derive(Clone, Debug)]
struct Test {
    name: String,
    /// `.suffix`, `.name` or `.stem` of a path, or nothing.
    part: String,
    how: How,
    texts: Vec<String>,
    not: bool,
}

impl Test {
    fn passes(&self, value: &str) -> bool {
        let last = split(value).1;
        let value = match self.part.as_str() {
            "suffix" => last.rfind('.').filter(|at| *at > 0).map_or("", |at| &last[at..]),
            "stem" => last.rsplit_once('.').map_or(last, |parts| parts.0),
            "name" => last,
            _ => value,
        };
        let one = |text: &String| match self.how {
            How::Starts => value.starts_with(text.as_str()),
            How::Ends => value.ends_with(text.as_str()),
            How::Is => value == text,
            How::Holds => value.contains(text.as_str()),
        };
        self.texts.iter().any(one) != self.not
    }
}

fn op(t: &[Tok], i: usize, o: &str) -> bool {
    matches!(t.get(i), Some(Tok::Op(x)) if x == o)
}

fn word(t: &[Tok], i: usize) -> Option<&str> {
    if let Some(Tok::Name(n)) = t.get(i) { Some(n) } else { None }
}

/// How many brackets more are open after a token than before.
fn depth(tok: &Tok) -> i32 {
    match tok {
        Tok::Op(o) if matches!(o.as_str(), "(" | "[" | "{") => 1,
        Tok::Op(o) if matches!(o.as_str(), ")" | "]" | "}") => -1,
        _ => 0,
    }
}

impl Walk<'_> {
    /// Texts as they stand: one, or several in brackets.
    fn plain_texts(&mut self, t: &[Tok]) -> Option<Vec<String>> {
        let mut out = Vec::new();
        for tok in t {
            match tok {
                Tok::Str(pieces) => out.extend(self.string(pieces).any),
                Tok::Op(o) if matches!(o.as_str(), "(" | ")" | "[" | "]" | "{" | "}" | ",") => {}
                _ => return None,
            }
        }
        (!out.is_empty() && !out.iter().any(|text| text.contains(UNK))).then_some(out)
    }

    /// One comparison, where it is one that is understood.
    fn test(&mut self, t: &[Tok]) -> Option<Test> {
        let mut t = t;
        let mut not = false;
        loop {
            if matches!(word(t, 0), Some("not")) || op(t, 0, "!") {
                not = !not;
                t = &t[1..];
            } else if op(t, 0, "(")
                && op(t, t.len() - 1, ")")
                && t[..t.len() - 1]
                    .iter()
                    .scan(0, |d, tok| {
                        *d += depth(tok);
                        Some(*d)
                    })
                    .all(|d| d > 0)
            {
                t = &t[1..t.len() - 1];
            } else {
                break;
            }
        }
        if let (Some(Tok::Str(_)), Some("in"), Some(name), 3) = (t.first(), word(t, 1), word(t, 2), t.len()) {
            let (name, texts) = (name.to_owned(), self.plain_texts(&t[..1])?);
            return Some(Test { name, part: String::new(), how: How::Holds, texts, not });
        }
        let name = word(t, 0)?.to_owned();
        let mut k = 1;
        let mut part = String::new();
        if op(t, k, ".") && matches!(word(t, k + 1), Some("suffix" | "name" | "stem")) {
            part = word(t, k + 1)?.to_owned();
            k += 2;
        } else if op(t, k, "[") && matches!(t.get(k + 1), Some(Tok::Num(n)) if n == "0") && op(t, k + 2, "]") && op(t, k + 3, "==") {
            let texts = self.plain_texts(&t[k + 4..]).filter(|texts| texts.iter().all(|text| text.chars().count() == 1))?;
            return Some(Test { name, part, how: How::Starts, texts, not });
        }
        if op(t, k, ".") && op(t, k + 2, "(") && op(t, t.len() - 1, ")") {
            let how = match word(t, k + 1)? {
                "startswith" | "startsWith" => How::Starts,
                "endswith" | "endsWith" => How::Ends,
                "includes" => How::Holds,
                _ => return None,
            };
            let texts = self.plain_texts(&t[k + 3..t.len() - 1])?;
            return Some(Test { name, part, how, texts, not });
        }
        let (not, from) = match t.get(k)? {
            Tok::Op(o) if o == "==" || o == "===" => (not, k + 1),
            Tok::Op(o) if o == "!=" || o == "!==" => (!not, k + 1),
            Tok::Name(n) if n == "in" && self.lang == Lang::Python && depth(t.get(k + 1)?) == 1 => (not, k + 1),
            Tok::Name(n) if n == "not" && word(t, k + 1) == Some("in") => (!not, k + 2),
            _ => return None,
        };
        let texts = self.plain_texts(&t[from..])?;
        Some(Test { name, part, how: How::Is, texts, not })
    }

    /// The comparisons that all hold where a condition does; with `negate`, where it does not.
    fn tests(&mut self, t: &[Tok], negate: bool) -> Vec<Test> {
        let is = |tok: &Tok, words: &[&str]| matches!(tok, Tok::Name(o) | Tok::Op(o) if words.contains(&o.as_str()));
        let (mut level, mut from, mut parts) = (0, 0, Vec::new());
        let (mut ands, mut ors) = (false, false);
        for (i, tok) in t.iter().enumerate() {
            level += depth(tok);
            if level == 0 && is(tok, &["and", "&&", "or", "||"]) {
                ands |= is(tok, &["and", "&&"]);
                ors |= is(tok, &["or", "||"]);
                parts.push(&t[from..i]);
                from = i + 1;
            }
        }
        parts.push(&t[from..]);
        let all = if negate { !ands } else { !ors };
        if ands && ors || !all {
            return Vec::new();
        }
        let found = parts.into_iter().filter(|part| !part.is_empty()).filter_map(|part| self.test(part));
        found.collect::<Vec<_>>().into_iter().map(|test| Test { not: test.not != negate, ..test }).collect()
    }

    /// Leaves in the variables only what a condition lets through; what they held before.
    fn narrow(&mut self, cond: &[Tok], negate: bool) -> Vec<(String, super::scan::Val)> {
        let mut before = Vec::new();
        for test in self.tests(cond, negate) {
            let Some(held) = self.vars.get(&test.name).cloned() else { continue };
            let any = held.any.iter().filter(|value| value.contains(UNK) || test.passes(value)).cloned().collect();
            self.vars.insert(test.name.clone(), super::scan::Val { any, ..held.clone() });
            before.push((test.name, held));
        }
        before
    }

    fn widen(&mut self, before: Vec<(String, super::scan::Val)>) {
        for (name, held) in before.into_iter().rev() {
            self.vars.insert(name, held);
        }
    }

    /// `if CONDITION:` in Python, with what stands in its block.
    pub(super) fn python_if(&mut self, t: &[Tok], i: usize) -> Option<usize> {
        let (mut level, mut colon) = (0, i + 1);
        loop {
            let tok = t.get(colon)?;
            level += depth(tok);
            match tok {
                Tok::Op(o) if o == ":" && level == 0 => break,
                Tok::Line if level == 0 => return None,
                _ => colon += 1,
            }
        }
        let cond = &t[i + 1..colon];
        let mut k = 0;
        while k < cond.len() && self.fuel > 0 {
            self.fuel -= 1;
            k = self.expr(cond, k, 1).1.max(k + 1);
        }
        let (from, to) = body(t, colon + 1);
        let before = self.narrow(cond, false);
        self.range(t, from, to);
        self.widen(before);
        // `if not …: continue`: what follows in the block is about the others
        let rest: Vec<&Tok> = t[from..to].iter().filter(|tok| !matches!(tok, Tok::Line)).collect();
        if let [Tok::Name(only)] | [Tok::Name(only), Tok::Op(_)] = rest.as_slice()
            && only == "continue"
        {
            let before = self.narrow(cond, true);
            let end = closing(t, to + usize::from(op(t, to, DEDENT)));
            self.range(t, to, end);
            self.widen(before);
            return Some(end);
        }
        Some(to)
    }

    fn range(&mut self, t: &[Tok], from: usize, to: usize) {
        let mut k = from;
        while k < to && self.fuel > 0 {
            self.fuel -= 1;
            k = self.statement(&t[..to], k).max(k + 1);
        }
    }

    /// `[x for x in LIST if CONDITION]`: from `if` to the closing bracket; what the variables held before, and where it ends.
    pub(super) fn only_if(&mut self, t: &[Tok], i: usize) -> (Vec<(String, super::scan::Val)>, usize) {
        let mut level = 0;
        let end = (i + 1..t.len())
            .find(|k| {
                level += depth(&t[*k]);
                level < 0
            })
            .unwrap_or(t.len());
        let cond = t[i + 1..end].to_vec();
        (self.narrow(&cond, false), end)
    }

    pub(super) fn as_before(&mut self, before: Vec<(String, super::scan::Val)>) {
        self.widen(before);
    }

    /// `list.filter(name => CONDITION)`: what of the list is left.
    pub(super) fn filtered(&mut self, list: &super::scan::Val, raw: &[Tok]) -> super::scan::Val {
        let Some(arrow) = raw.iter().position(|tok| matches!(tok, Tok::Op(o) if o == "=>")) else { return list.clone() };
        let tests = self.tests(&raw[arrow + 1..], false);
        let passes = |value: &&String| value.contains(UNK) || tests.iter().all(|test| test.passes(value));
        let any = list.any.iter().filter(passes).cloned().collect();
        super::scan::Val { any, ..list.clone() }
    }
}

/// The tokens of the block that follows a colon.
fn body(t: &[Tok], from: usize) -> (usize, usize) {
    if !matches!(t.get(from), Some(Tok::Line)) {
        let end = (from..t.len()).find(|k| matches!(t[*k], Tok::Line)).unwrap_or(t.len());
        return (from, end);
    }
    let start = (from..t.len()).find(|k| !matches!(t[*k], Tok::Line)).unwrap_or(t.len());
    if !op(t, start, INDENT) {
        return (start, start);
    }
    (start + 1, closing(t, start + 1))
}

/// Where the block ends that a token stands in.
fn closing(t: &[Tok], from: usize) -> usize {
    let mut level = 0;
    (from..t.len())
        .find(|k| {
            level += i32::from(op(t, *k, INDENT)) - i32::from(op(t, *k, DEDENT));
            level < 0
        })
        .unwrap_or(t.len())
}
