//! A tolerant look at a program in another language: literals, simple variables, and calls with their arguments. It does not
//! know the grammars; it finds expressions wherever they stand, and says "not known" for all it does not understand.

use super::engine::UNK;
use super::lex::{Lang, Piece, Tok};
use std::collections::{HashMap, HashSet};

/// What an expression may be: any of `any`, or a list whose members these are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Val {
    /// Possible texts; empty means that nothing is known.
    pub(crate) any: Vec<String>,
    /// It is a list of them, in order.
    pub(crate) list: bool,
    /// Where it came from, for methods: `path`, `open`, `args`, a dotted name.
    pub(crate) from: String,
}

impl Val {
    pub(crate) fn text(t: impl Into<String>) -> Self {
        Self { any: vec![t.into()], ..Self::default() }
    }

    pub(crate) fn many(any: Vec<String>) -> Self {
        Self { any, list: true, ..Self::default() }
    }

    /// The texts, a marker where nothing is known.
    pub(crate) fn texts(&self) -> Vec<String> {
        if self.any.is_empty() { vec![UNK.to_string()] } else { self.any.clone() }
    }

    /// A function itself, that is not called: by what name it is known.
    pub(crate) fn function(&self) -> Option<&str> {
        let name = self.from.strip_prefix("fn:").unwrap_or(&self.from);
        (self.any.is_empty() && !name.is_empty() && !matches!(name, "open" | "path" | "args" | "walk") || self.from == "fn:open")
            .then_some(name)
            .filter(|name| !name.starts_with("archive:"))
    }

    pub(super) fn join(&self, other: &Self, between: &str) -> Self {
        let mut out = Vec::new();
        for a in self.texts() {
            for b in other.texts() {
                if out.len() < 200 && a.len() + b.len() < 16_384 {
                    out.push(format!("{a}{between}{b}"));
                }
            }
        }
        Self { any: out, ..Self::default() }
    }

    pub(super) fn or(mut self, other: Self) -> Self {
        self.any.extend(other.any);
        self.any.dedup();
        self.any.truncate(400);
        self
    }
}

/// Arguments of a call: positions and names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Args {
    pub(crate) pos: Vec<Val>,
    pub(crate) named: Vec<(String, Val)>,
    /// The tokens of all of them, for flags such as `O_WRONLY`.
    pub(crate) raw: Vec<Tok>,
}

impl Args {
    pub(crate) fn named(&self, n: &str) -> Option<&Val> {
        self.named.iter().find(|(k, _)| k == n).map(|(_, v)| v)
    }

    /// Whether a named argument is said to be false.
    pub(crate) fn denies(&self, word: &str) -> bool {
        self.raw.windows(3).any(|t| matches!(t, [Tok::Name(n), Tok::Op(_), Tok::Name(no)] if n == word && no == "False"))
    }

    pub(crate) fn says(&self, word: &str) -> bool {
        self.raw.iter().any(|t| matches!(t, Tok::Name(n) if n.contains(word)))
    }
}

/// Answers calls: what they give, and what they do.
pub(crate) trait Host {
    fn call(&mut self, name: &str, recv: Option<&Val>, args: &Args) -> Option<Val>;
    fn name(&mut self, name: &str) -> Option<Val>;
    fn run(&mut self, script: &str);
    /// Something is called that is not known by name.
    fn reached(&mut self);
}

/// Goes over a program and tells the host of its calls.
pub(crate) struct Walk<'h> {
    pub(crate) lang: Lang,
    pub(crate) vars: HashMap<String, Val>,
    /// Functions of the program itself, with their parameters.
    pub(crate) defs: HashMap<String, Vec<String>>,
    pub(crate) host: &'h mut dyn Host,
    pub(crate) fuel: u32,
    pub(crate) assigned: HashSet<String>,
    /// Other names for functions.
    pub(crate) renames: HashMap<String, String>,
}

pub(super) const KEYWORDS: &[&str] = &[
    "let", "const", "var", "my", "our", "local", "await", "new", "return", "yield", "async", "public", "private", "static", "do", "then",
    "else", "try", "begin", "lambda", "not", "unless", "if", "elif", "while", "until", "with", "print", "puts", "echo", "export",
    "default", "void", "typeof", "delete", "end", "raise", "throw", "die", "and", "or", "in", "is", "of", "foreach", "for", "say",
    "assert",
];

impl Walk<'_> {
    /// All statements.
    pub(crate) fn program(&mut self, t: &[Tok]) {
        let mut i = 0;
        while i < t.len() && self.fuel > 0 {
            self.fuel -= 1;
            i = self.statement(t, i).max(i + 1);
        }
    }

    pub(super) fn op(t: &[Tok], i: usize, o: &str) -> bool {
        matches!(t.get(i), Some(Tok::Op(x)) if x == o)
    }

    pub(crate) fn expr(&mut self, t: &[Tok], i: usize, depth: u32) -> (Val, usize) {
        if self.fuel == 0 || depth > 30 {
            self.fuel = self.fuel.saturating_sub(1);
            return (Val::default(), i + 1);
        }
        self.fuel -= 1;
        let (mut v, mut i) = self.primary(t, i, depth);
        while let Some(Tok::Op(o)) = t.get(i) {
            match (o.as_str(), self.lang) {
                ("+", _) | (".", Lang::Perl | Lang::Php) => {
                    let (r, n) = self.primary(t, i + 1, depth);
                    v = if v.list && r.list { v.or(r) } else { v.join(&r, "") };
                    i = n;
                }
                ("/", Lang::Python | Lang::Ruby) if v.from == "path" => {
                    let (r, n) = self.primary(t, i + 1, depth);
                    v = Val { from: "path".into(), ..v.join(&r, "/") };
                    i = n;
                }
                ("%", Lang::Python) if !v.any.is_empty() => {
                    let (r, n) = self.primary(t, i + 1, depth);
                    v = Val { any: v.any.iter().map(|f| fill(f, &r.any)).collect(), ..Val::default() };
                    i = n;
                }
                ("||" | "??" | "//", _) => {
                    let (r, n) = self.expr(t, i + 1, depth + 1);
                    v = v.or(r);
                    i = n;
                }
                ("?", Lang::Node | Lang::Perl | Lang::Php | Lang::Ruby) => {
                    let (a, n) = self.expr(t, i + 1, depth + 1);
                    if !Self::op(t, n, ":") {
                        i = n;
                        break;
                    }
                    let (b, n) = self.expr(t, n + 1, depth + 1);
                    v = a.or(b);
                    i = n;
                }
                ("==" | "!=" | "===" | "!==" | "<" | ">" | "<=" | ">=" | "&&" | "=~" | "-" | "*" | "&" | "|" | "<=>", _) => {
                    let (_, n) = self.primary(t, i + 1, depth);
                    v = Val::default();
                    i = n;
                }
                _ => break,
            }
        }
        (v, i)
    }

    pub(super) fn string(&mut self, p: &[Piece]) -> Val {
        let mut v = Val::text("");
        for x in p {
            let r = match x {
                Piece::Text(t) => Val::text(t.clone()),
                Piece::Code(c) => {
                    let (r, _) = self.expr(c, 0, 4);
                    r
                }
            };
            v = v.join(&r, "");
        }
        v
    }

    /// Arguments up to the closing bracket.
    pub(super) fn args(&mut self, t: &[Tok], mut i: usize, close: &str, depth: u32) -> (Args, usize) {
        let mut a = Args::default();
        let start = i;
        while i < t.len() && self.fuel > 0 {
            self.fuel -= 1;
            if Self::op(t, i, close) {
                a.raw = t[start..i].to_vec();
                return (a, i + 1);
            }
            match &t[i] {
                Tok::Line => i += 1,
                Tok::Op(o) if o == "," || o == "=>" || o == ";" => i += 1,
                Tok::Op(o) if matches!(o.as_str(), ")" | "]" | "}") => {
                    a.raw = t[start..i].to_vec();
                    return (a, i);
                }
                Tok::Name(n)
                    if (Self::op(t, i + 1, "=") || Self::op(t, i + 1, ":") && !Self::op(t, i + 2, ":")) && self.lang != Lang::Perl =>
                {
                    let n = n.clone();
                    let (v, next) = self.expr(t, i + 2, depth + 1);
                    a.named.push((n, v));
                    i = next.max(i + 1);
                }
                _ => {
                    let (v, next) = self.expr(t, i, depth + 1);
                    a.pos.push(v);
                    let next = next.max(i + 1);
                    // `x for x in LIST`, or anything else that follows: looked at for calls
                    i = next;
                    if matches!(t.get(i), Some(Tok::Name(n)) if n == "for") && self.lang == Lang::Python {
                        let from = i;
                        i = self.for_in(t, i);
                        let mut before = Vec::new();
                        if matches!(t.get(i), Some(Tok::Name(n)) if n == "if") {
                            (before, i) = self.only_if(t, i);
                        }
                        // the head is worked out again, now that its name is known
                        let head = t[start..from].to_vec();
                        let (v, _) = self.expr(&head, 0, depth + 1);
                        self.as_before(before);
                        a.pos = vec![Val { list: true, ..v }];
                    }
                }
            }
        }
        a.raw = t[start.min(t.len())..i.min(t.len())].to_vec();
        (a, i)
    }
}

fn fill(f: &str, args: &[String]) -> String {
    let mut out = String::new();
    let mut it = f.chars().peekable();
    let mut n = 0;
    while let Some(c) = it.next() {
        if c == '%' {
            match it.next() {
                Some('%') => out.push('%'),
                Some(_) => {
                    out.push_str(args.get(n).map_or(&UNK.to_string(), |a| a));
                    n += 1;
                }
                None => {}
            }
        } else {
            out.push(c);
        }
    }
    out
}
