//! A tolerant look at a program in another language: literals, simple variables, and calls with their arguments. It does not
//! know the grammars; it finds expressions wherever they stand, and says "not known" for all it does not understand.

#![expect(
    clippy::nonminimal_bool,
    clippy::collapsible_match,
    clippy::while_let_loop,
    reason = "the conditions stand in the order of the language that they describe"
)]

use super::engine::UNK;
use std::collections::{HashMap, HashSet};

/// The languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lang {
    Python,
    Node,
    Perl,
    Ruby,
    Php,
}

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tok {
    /// A name; `$`, `@` and `%` in front are dropped.
    Name(String),
    /// A string: pieces of text, and expressions inside of it.
    Str(Vec<Piece>),
    /// A command in backquotes.
    Run(Vec<Piece>),
    Num(String),
    Op(String),
    Line,
}

/// A piece of a string.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    Text(String),
    Code(Vec<Tok>),
}

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

    fn join(&self, other: &Self, between: &str) -> Self {
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

    fn or(mut self, other: Self) -> Self {
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

/// Takes a program into tokens.
pub(crate) fn lex(text: &str, lang: Lang) -> Vec<Tok> {
    let c: Vec<char> = text.chars().collect();
    L { c: &c, i: 0, lang, out: Vec::new(), depth: 0 }.all()
}

struct L<'a> {
    c: &'a [char],
    i: usize,
    lang: Lang,
    out: Vec<Tok>,
    depth: u32,
}

impl L<'_> {
    fn at(&self, k: usize) -> char {
        self.c.get(self.i + k).copied().unwrap_or('\0')
    }

    fn all(mut self) -> Vec<Tok> {
        while self.i < self.c.len() && self.out.len() < 50_000 {
            self.one();
        }
        self.out
    }

    fn value_before(&self) -> bool {
        match self.out.last() {
            Some(Tok::Name(n)) => !matches!(
                n.as_str(),
                "return"
                    | "and"
                    | "or"
                    | "not"
                    | "in"
                    | "if"
                    | "unless"
                    | "when"
                    | "split"
                    | "grep"
                    | "print"
                    | "puts"
                    | "unlink"
                    | "for"
                    | "foreach"
                    | "rename"
                    | "typeof"
                    | "case"
                    | "while"
            ),
            Some(Tok::Str(_) | Tok::Num(_) | Tok::Run(_)) => true,
            Some(Tok::Op(o)) => matches!(o.as_str(), ")" | "]" | "}"),
            _ => false,
        }
    }

    fn one(&mut self) {
        let x = self.at(0);
        let script = matches!(self.lang, Lang::Python | Lang::Perl | Lang::Ruby | Lang::Php);
        match x {
            '\n' => {
                self.out.push(Tok::Line);
                self.i += 1;
            }
            _ if x.is_whitespace() => self.i += 1,
            '#' if script && !(self.lang == Lang::Perl && self.i > 0 && self.c[self.i - 1] == '$') => self.skip_line(),
            '/' if self.at(1) == '/' && matches!(self.lang, Lang::Node | Lang::Php) => self.skip_line(),
            '/' if self.at(1) == '*' && matches!(self.lang, Lang::Node | Lang::Php) => {
                while self.i < self.c.len() && !(self.at(0) == '*' && self.at(1) == '/') {
                    self.i += 1;
                }
                self.i += 2;
            }
            '/' if matches!(self.lang, Lang::Node | Lang::Perl | Lang::Ruby) && !self.value_before() => {
                self.i += 1;
                self.delimited('/');
                while self.at(0).is_ascii_alphabetic() {
                    self.i += 1;
                }
                self.out.push(Tok::Str(Vec::new()));
            }
            '\'' | '"' => {
                let triple = self.lang == Lang::Python && self.at(1) == x && self.at(2) == x;
                let raw = matches!(self.out.last(), Some(Tok::Name(n)) if matches!(n.as_str(), "r" | "R" | "br" | "rb"))
                    && self.lang == Lang::Python;
                let format = matches!(self.out.last(), Some(Tok::Name(n)) if matches!(n.as_str(), "f" | "F" | "fr" | "rf"))
                    && self.lang == Lang::Python;
                let prefix = raw
                    || format
                    || self.lang == Lang::Python
                        && matches!(self.out.last(), Some(Tok::Name(n)) if matches!(n.as_str(), "b" | "u" | "B" | "U"))
                        && self.i > 0
                        && self.c[self.i - 1].is_alphabetic();
                if prefix && self.i > 0 && self.c[self.i - 1].is_alphabetic() {
                    self.out.pop();
                }
                self.i += if triple { 3 } else { 1 };
                let t = self.quoted(x, triple);
                let interp = match self.lang {
                    Lang::Python => {
                        if format {
                            'f'
                        } else {
                            ' '
                        }
                    }
                    Lang::Perl | Lang::Php if x == '"' => '$',
                    Lang::Ruby if x == '"' => '#',
                    _ => ' ',
                };
                let simple = x == '\'' && matches!(self.lang, Lang::Perl | Lang::Ruby | Lang::Php);
                let p = self.pieces(&t, interp, raw || simple);
                self.out.push(Tok::Str(p));
            }
            '`' => {
                self.i += 1;
                let t = self.quoted('`', false);
                if self.lang == Lang::Node {
                    let p = self.pieces(&t, '{', false);
                    self.out.push(Tok::Str(p));
                } else {
                    let p = self.pieces(&t, if self.lang == Lang::Ruby { '#' } else { '$' }, false);
                    self.out.push(Tok::Run(p));
                }
            }
            '%' if self.lang == Lang::Ruby
                && matches!(self.at(1), 'w' | 'q' | 'Q' | 'x' | 'W' | 'i')
                && "([{<|!/".contains(self.at(2))
                && (!self.value_before() || self.i > 0 && self.c[self.i - 1] == ' ') =>
            {
                let k = self.at(1);
                let open = self.at(2);
                self.i += 3;
                let t = self.nested(open);
                self.quote_word(k, &t);
            }
            ':' if self.lang == Lang::Ruby
                && (self.at(1).is_alphabetic() || self.at(1) == '_')
                && !(self.i > 0 && (self.c[self.i - 1] == ':' || self.c[self.i - 1].is_alphanumeric())) =>
            {
                // a symbol is as good as its name
                self.i += 1;
                let name: String = self.c[self.i..].iter().take_while(|c| c.is_alphanumeric() || **c == '_').collect();
                self.i += name.chars().count();
                self.out.push(Tok::Str(vec![Piece::Text(name)]));
            }
            _ if x.is_ascii_digit() => {
                let start = self.i;
                while self.at(0).is_ascii_alphanumeric() || self.at(0) == '_' || self.at(0) == '.' && self.at(1).is_ascii_digit() {
                    self.i += 1;
                }
                self.out.push(Tok::Num(self.c[start..self.i].iter().collect()));
            }
            '$' | '@' | '%'
                if matches!(self.lang, Lang::Perl | Lang::Php | Lang::Ruby)
                    && (self.at(1).is_alphabetic() || self.at(1) == '_' || self.at(1) == '{' && x != '%')
                    && !(x == '%' && self.value_before()) =>
            {
                self.i += 1
            }
            _ if x.is_alphabetic() || x == '_' || x == '$' && self.lang == Lang::Node => {
                let start = self.i;
                while self.at(0).is_alphanumeric()
                    || self.at(0) == '_'
                    || self.at(0) == '$'
                    || (self.at(0) == '!' || self.at(0) == '?') && self.lang == Lang::Ruby && self.at(1) == '('
                {
                    self.i += 1;
                }
                let n: String = self.c[start..self.i].iter().collect();
                let sigil = start > 0 && matches!(self.c[start - 1], '$' | '@' | '%');
                if self.lang == Lang::Perl && !sigil && matches!(n.as_str(), "q" | "qq" | "qw" | "qx" | "m" | "qr" | "s" | "tr" | "y") {
                    let save = self.i;
                    while self.at(0) == ' ' {
                        self.i += 1;
                    }
                    let d = self.at(0);
                    if !d.is_alphanumeric()
                        && !matches!(d, '\0' | ',' | ';' | ')' | '=' | ' ' | '_')
                        && !(d == '>' || self.i > save && d == '#')
                    {
                        self.i += 1;
                        let t = self.nested(d);
                        match n.as_str() {
                            "q" => self.out.push(Tok::Str(vec![Piece::Text(t)])),
                            "qq" => {
                                let p = self.pieces(&t, '$', false);
                                self.out.push(Tok::Str(p));
                            }
                            "qw" => self.quote_word('w', &t),
                            "qx" => {
                                let p = self.pieces(&t, '$', false);
                                self.out.push(Tok::Run(p));
                            }
                            "s" | "tr" | "y" => {
                                if "([{<".contains(d) {
                                    while self.at(0).is_whitespace() {
                                        self.i += 1;
                                    }
                                    let d2 = self.at(0);
                                    self.i += 1;
                                    self.nested(d2);
                                } else {
                                    self.nested(d);
                                }
                                while self.at(0).is_ascii_alphabetic() {
                                    self.i += 1;
                                }
                                self.out.push(Tok::Str(Vec::new()));
                            }
                            _ => {
                                while self.at(0).is_ascii_alphabetic() {
                                    self.i += 1;
                                }
                                self.out.push(Tok::Str(Vec::new()));
                            }
                        }
                        return;
                    }
                    self.i = save;
                }
                self.out.push(Tok::Name(n));
            }
            '<' if self.lang == Lang::Perl && !self.value_before() && self.globs() => {
                self.i += 1;
                let pattern = self.nested('<');
                let pieces = self.pieces(&pattern, '$', false);
                self.out.extend([Tok::Name("glob".into()), Tok::Op("(".into()), Tok::Str(pieces), Tok::Op(")".into())]);
            }
            '<' if self.at(1) == '<'
                && matches!(self.lang, Lang::Perl | Lang::Ruby | Lang::Php)
                && (self.at(2).is_alphabetic() || matches!(self.at(2), '~' | '-' | '"' | '\'' | '<'))
                && !self.value_before() =>
            {
                self.heredoc()
            }
            _ => {
                for op in [
                    "===", "!==", "**=", "...", "<=>", "=>", "->", "::", "==", "!=", ">=", "<=", "&&", "||", "??", "?.", "+=", "-=", ".=",
                    "//=", "//", ":=", "=~", "++", "--", ">>", "<<",
                ] {
                    if op.chars().enumerate().all(|(k, o)| self.at(k) == o) {
                        self.out.push(Tok::Op(op.into()));
                        self.i += op.len();
                        return;
                    }
                }
                self.out.push(Tok::Op(x.to_string()));
                self.i += 1;
            }
        }
    }

    /// Whether `<…>` is a pattern of file names and no handle.
    fn globs(&self) -> bool {
        let inner: String = self.c[self.i + 1..].iter().take(200).take_while(|c| **c != '>' && **c != '\n').collect();
        inner.contains(['*', '/', '.', '?', '{'])
            && !inner.contains(['<', '=', ';', '('])
            && self.c.get(self.i + 1 + inner.chars().count()) == Some(&'>')
    }

    fn skip_line(&mut self) {
        while self.i < self.c.len() && self.at(0) != '\n' {
            self.i += 1;
        }
    }

    fn delimited(&mut self, d: char) {
        let mut class = false;
        while self.i < self.c.len() && (self.at(0) != d || class) && self.at(0) != '\n' {
            match self.at(0) {
                '\\' => self.i += 1,
                '[' => class = true,
                ']' => class = false,
                _ => {}
            }
            self.i += 1;
        }
        self.i += 1;
    }

    fn quoted(&mut self, q: char, triple: bool) -> String {
        let start = self.i;
        while self.i < self.c.len() {
            if self.at(0) == '\\' {
                self.i += 2;
                continue;
            }
            if self.at(0) == q && (!triple || self.at(1) == q && self.at(2) == q) {
                break;
            }
            self.i += 1;
        }
        let end = self.i.min(self.c.len());
        self.i = end + if triple { 3 } else { 1 };
        self.c[start.min(end)..end].iter().collect()
    }

    fn nested(&mut self, open: char) -> String {
        let close = match open {
            '(' => ')',
            '[' => ']',
            '{' => '}',
            '<' => '>',
            o => o,
        };
        let start = self.i;
        let mut depth = 1;
        while self.i < self.c.len() {
            let x = self.at(0);
            if x == '\\' {
                self.i += 2;
                continue;
            }
            if x == close {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            } else if x == open {
                depth += 1;
            }
            self.i += 1;
        }
        let end = self.i.min(self.c.len());
        self.i = end + 1;
        self.c[start.min(end)..end].iter().collect()
    }

    fn quote_word(&mut self, k: char, t: &str) {
        match k {
            'w' | 'W' | 'i' => {
                self.out.push(Tok::Op("[".into()));
                for w in t.split_whitespace() {
                    self.out.push(Tok::Str(vec![Piece::Text(w.to_owned())]));
                    self.out.push(Tok::Op(",".into()));
                }
                self.out.push(Tok::Op("]".into()));
            }
            'x' => {
                let p = self.pieces(t, '#', false);
                self.out.push(Tok::Run(p));
            }
            _ => {
                let p = self.pieces(t, if k == 'Q' { '#' } else { ' ' }, false);
                self.out.push(Tok::Str(p));
            }
        }
    }

    fn heredoc(&mut self) {
        self.i += 2;
        while matches!(self.at(0), '~' | '-' | '<') {
            self.i += 1;
        }
        let q = self.at(0);
        let word: String = if q == '\'' || q == '"' {
            self.i += 1;
            self.quoted(q, false)
        } else {
            let start = self.i;
            while self.at(0).is_alphanumeric() || self.at(0) == '_' {
                self.i += 1;
            }
            self.c[start..self.i].iter().collect()
        };
        // the body begins on the next line
        let mut k = self.i;
        while k < self.c.len() && self.c[k] != '\n' {
            k += 1;
        }
        let body: String = self.c[k.min(self.c.len())..].iter().collect();
        let mut text = String::new();
        for l in body.split('\n').skip(1) {
            if l.trim() == word || l.trim() == format!("{word};") {
                break;
            }
            text.push_str(l.trim_start());
            text.push('\n');
        }
        self.out.push(Tok::Str(vec![Piece::Text(text)]));
    }

    /// Escapes and inner expressions of a string.
    fn pieces(&mut self, t: &str, interp: char, raw: bool) -> Vec<Piece> {
        let c: Vec<char> = t.chars().collect();
        let mut out = Vec::new();
        let mut text = String::new();
        let mut i = 0;
        let code = |depth: u32, lang: Lang, s: &str| {
            if depth > 4 {
                return Vec::new();
            }
            let c: Vec<char> = s.chars().collect();
            L { c: &c, i: 0, lang, out: Vec::new(), depth: depth + 1 }.all()
        };
        while i < c.len() {
            let braces = |from: usize| {
                let mut depth = 0;
                let mut k = from;
                while k < c.len() {
                    match c[k] {
                        '{' => depth += 1,
                        '}' => {
                            depth -= 1;
                            if depth == 0 {
                                return k;
                            }
                        }
                        _ => {}
                    }
                    k += 1;
                }
                c.len()
            };
            let inner = match (interp, c[i], c.get(i + 1)) {
                ('f', '{', Some('{')) | ('f', '}', Some('}')) => {
                    text.push(c[i]);
                    i += 2;
                    continue;
                }
                ('f', '{', _) => Some((i + 1, braces(i))),
                ('{', '$', Some('{')) | ('#', '#', Some('{')) => Some((i + 2, braces(i + 1))),
                ('$', '$', Some('{')) => Some((i + 2, braces(i + 1))),
                ('$', '{', Some('$')) => Some((i + 1, braces(i))),
                ('$', '$' | '@', Some(n)) if n.is_alphabetic() || *n == '_' => {
                    let mut k = i + 1;
                    while k < c.len() && (c[k].is_alphanumeric() || c[k] == '_') {
                        k += 1;
                    }
                    if c.get(k) == Some(&'[') {
                        while k < c.len() && c[k] != ']' {
                            k += 1;
                        }
                        k = (k + 1).min(c.len());
                    }
                    let s: String = c[i..k].iter().collect();
                    if !text.is_empty() {
                        out.push(Piece::Text(std::mem::take(&mut text)));
                    }
                    out.push(Piece::Code(code(self.depth, self.lang, &s)));
                    i = k;
                    continue;
                }
                _ => None,
            };
            if let Some((from, to)) = inner {
                let s: String = c[from.min(to)..to].iter().collect();
                let s = if interp == 'f' { s.split(['!', ':']).next().unwrap_or("").to_owned() } else { s };
                if !text.is_empty() {
                    out.push(Piece::Text(std::mem::take(&mut text)));
                }
                out.push(Piece::Code(code(self.depth, self.lang, &s)));
                i = to + 1;
                continue;
            }
            if c[i] == '\\' && i + 1 < c.len() {
                let n = c[i + 1];
                if raw {
                    if n == '\'' || n == '\\' {
                        text.push(n);
                    } else {
                        text.push('\\');
                        text.push(n);
                    }
                    i += 2;
                    continue;
                }
                match n {
                    '\n' => {}
                    '$' | '@' | '#' | '`' | '/' => text.push(n),
                    _ => {
                        let mut end = i + 2;
                        if n == 'x' || n == 'u' || n == 'U' || n.is_ascii_digit() {
                            let max = match n {
                                'x' => 2,
                                'u' => 4,
                                'U' => 8,
                                _ => 2,
                            };
                            while end < c.len() && end - i - 2 < max && c[end].is_ascii_hexdigit() {
                                end += 1;
                            }
                        }
                        text.push_str(&super::words::ansi_c(&c[i..end]));
                        i = end;
                        continue;
                    }
                }
                i += 2;
                continue;
            }
            text.push(c[i]);
            i += 1;
        }
        if !text.is_empty() || out.is_empty() {
            out.push(Piece::Text(text));
        }
        out
    }
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

const KEYWORDS: &[&str] = &[
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

    fn op(t: &[Tok], i: usize, o: &str) -> bool {
        matches!(t.get(i), Some(Tok::Op(x)) if x == o)
    }

    fn statement(&mut self, t: &[Tok], i: usize) -> usize {
        // def f(a, b) · function f(a, b) · sub f { my ($a, $b) = @_;
        if let (Some(Tok::Name(k)), Some(Tok::Name(f))) = (t.get(i), t.get(i + 1))
            && matches!(k.as_str(), "def" | "function" | "sub" | "func")
        {
            let mut params = Vec::new();
            let mut k = i + 2;
            if Self::op(t, k, "(") {
                while k < t.len() && !Self::op(t, k, ")") {
                    if let (Tok::Name(n), Some(Tok::Op(prev))) = (&t[k], t.get(k - 1))
                        && (prev == "(" || prev == "," || prev == "*")
                    {
                        params.push(n.clone());
                    }
                    k += 1;
                }
            } else if let Some(p) = (i + 2..(i + 14).min(t.len())).find(|p| matches!(&t[*p], Tok::Name(n) if n == "my")) {
                let end = (p..t.len()).find(|e| Self::op(t, *e, "=")).unwrap_or(p);
                params =
                    t[p + 1..end.max(p + 1)].iter().filter_map(|x| if let Tok::Name(n) = x { Some(n.clone()) } else { None }).collect();
            }
            self.defs.insert(f.clone(), params);
            return k;
        }
        // `unlink for LIST`, `while (<FILE>)`: what `$_` holds
        if self.lang == Lang::Perl {
            self.topic(t, i);
        }
        // for x in LIST · for (const x of LIST) · foreach my $x (LIST)
        if let Some(Tok::Name(k)) = t.get(i)
            && (k == "for" || k == "foreach")
        {
            return self.for_in(t, i);
        }
        // names = expression
        if let Some(end) = self.targets(t, i) {
            let (names, eq) = end;
            let Some(Tok::Op(op)) = t.get(eq) else { return eq };
            let op = op.clone();
            let (v, next) = self.expr(t, eq + 1, 0);
            if self.lang == Lang::Node {
                // `const {writeFileSync: w} = …`: the new name stands for the old
                for w in t[i..eq].windows(3) {
                    if let [Tok::Name(a), Tok::Op(o), Tok::Name(b)] = w
                        && o == ":"
                    {
                        self.renames.insert(b.clone(), a.clone());
                    }
                }
                for w in t[i..eq].windows(4) {
                    if let [Tok::Str(old), Tok::Op(close), Tok::Op(colon), Tok::Name(new)] = w
                        && (close.as_str(), colon.as_str()) == ("]", ":")
                    {
                        let old = self.string(old);
                        self.renames.extend(old.any.into_iter().map(|old| (new.clone(), old)));
                    }
                }
            }
            if names.len() == 1
                && op == "="
                && !t[i..eq].iter().any(|tok| matches!(tok, Tok::Op(o) if matches!(o.as_str(), "{" | "[" | ",")))
                && let Some(name) = v.function()
                && name != names[0]
            {
                self.renames.insert(names[0].clone(), name.to_owned());
            }
            let same = names.len() == 1;
            let taken_apart = t[i..eq].iter().any(|tok| matches!(tok, Tok::Op(o) if o == "{"));
            for (k, n) in names.iter().enumerate() {
                let v = if let Some(module) = v.function().filter(|_| taken_apart) {
                    // `const {unlinkSync} = require("fs")`
                    Val { from: format!("{module}.{n}"), ..Val::default() }
                } else if same {
                    v.clone()
                } else {
                    Val { any: v.any.get(k).map_or_else(|| v.any.clone(), |x| vec![x.clone()]), ..Val::default() }
                };
                let v = match op.as_str() {
                    "=" | ":=" => {
                        if self.assigned.insert(n.clone()) {
                            v
                        } else {
                            self.vars.get(n).cloned().unwrap_or_default().or(v.clone())
                        }
                    }
                    _ => {
                        let old = self.vars.get(n).cloned().unwrap_or_default();
                        if old.list { old.or(v) } else { old.join(&v, "") }
                    }
                };
                let v = if v.any.len() > 200 { Val { any: v.any[..200].to_vec(), ..v } } else { v };
                self.vars.insert(n.clone(), v);
            }
            return next.max(eq + 1);
        }
        let (_, next) = self.expr(t, i, 0);
        next
    }

    fn topic(&mut self, t: &[Tok], i: usize) {
        if matches!(t.get(i), Some(Tok::Name(n)) if n == "while" || n == "until") {
            if Self::op(t, i + 1, "(") && Self::op(t, i + 2, "<") {
                let (lines, _) = self.primary(t, i + 2, 1);
                self.vars.insert("_".into(), Val { list: false, ..lines });
            }
            return;
        }
        let mut level = 0i32;
        for k in i + 1..t.len().min(i + 60) {
            match &t[k] {
                Tok::Op(o) if matches!(o.as_str(), "(" | "[" | "{") => level += 1,
                Tok::Op(o) if matches!(o.as_str(), ")" | "]" | "}") => {
                    level -= 1;
                    if level < 0 {
                        return;
                    }
                }
                Tok::Op(o) if o == ";" && level == 0 => return,
                Tok::Name(n) if level == 0 && (n == "for" || n == "foreach") => {
                    let (list, _) = self.expr(t, k + 1, 1);
                    self.vars.insert("_".into(), Val { any: list.any, ..Val::default() });
                    return;
                }
                _ => {}
            }
        }
    }

    /// `a = `, `let a = `, `a, b = `, `my ($a, $b) = `, `const {a, b} = `.
    fn targets(&self, t: &[Tok], i: usize) -> Option<(Vec<String>, usize)> {
        let mut k = i;
        let mut names = Vec::new();
        while k < t.len() && k < i + 24 {
            match &t[k] {
                Tok::Name(n) if KEYWORDS.contains(&n.as_str()) => {
                    if !matches!(n.as_str(), "let" | "const" | "var" | "my" | "our" | "local" | "export") {
                        return None;
                    }
                }
                Tok::Name(n) => names.push(n.clone()),
                Tok::Op(o)
                    if matches!(o.as_str(), "," | "(" | ")" | "{" | "}" | "$" | "@" | "[" | "]" | ":")
                        && (k == i
                            || matches!(o.as_str(), "," | ")" | "}" | "]" | ":")
                            || !names.is_empty()
                            || matches!(t.get(k - 1), Some(Tok::Name(_)))
                            || o == "[" && (Self::op(t, k - 1, "{") || Self::op(t, k - 1, ","))) =>
                {
                    if o == "(" && matches!(t.get(k.wrapping_sub(1)), Some(Tok::Name(n)) if !matches!(n.as_str(), "my" | "our" | "local"))
                        || o == "(" && k == i
                    {
                        return None;
                    }
                    if matches!(o.as_str(), "[" | "]") && self.lang != Lang::Node || o == ":" && self.lang == Lang::Ruby {
                        return None;
                    }
                }
                // `{["name"]: other}`
                Tok::Str(_) if self.lang == Lang::Node && Self::op(t, k + 1, "]") && Self::op(t, k + 2, ":") => {}
                Tok::Op(o) if matches!(o.as_str(), "=" | ":=" | "+=" | ".=") => {
                    return if names.is_empty() { None } else { Some((names, k)) };
                }
                _ => return None,
            }
            k += 1;
        }
        None
    }

    fn for_in(&mut self, t: &[Tok], i: usize) -> usize {
        let mut names = Vec::new();
        let mut k = i + 1;
        if self.lang == Lang::Perl && !matches!(t.get(k), Some(Tok::Name(_))) {
            names.push("_".to_owned());
        }
        while names.is_empty() && self.lang == Lang::Perl || self.lang != Lang::Perl && k < t.len() && k < i + 20 {
            if k >= t.len() || k >= i + 20 {
                break;
            }
            match &t[k] {
                Tok::Name(n) if n == "in" || n == "of" || n == "as" => break,
                Tok::Name(n) if KEYWORDS.contains(&n.as_str()) => {}
                Tok::Name(n) => names.push(n.clone()),
                Tok::Op(o) if matches!(o.as_str(), "(" | ")" | "," | "$" | "[" | "]") => {}
                _ => return i + 1,
            }
            k += 1;
        }
        if self.lang == Lang::Php {
            // foreach (LIST as $x)
            let (v, _) = self.expr(t, i + 2, 0);
            if let Some(Tok::Name(n)) = t.get(k + 1) {
                self.vars.insert(n.clone(), Val { any: v.any, ..Val::default() });
            }
            return k + 2;
        }
        // Perl's list follows at once; elsewhere a word stands in between
        let at = if self.lang == Lang::Perl { k } else { k + 1 };
        let (v, next) = self.expr(t, at, 0);
        if v.from == "walk" && names.len() == 3 {
            let (dirs, files): (Vec<String>, Vec<String>) = v.any.iter().cloned().partition(|p| p.ends_with('/'));
            self.vars
                .insert(names[0].clone(), Val { any: dirs.iter().map(|d| d.trim_end_matches('/').to_owned()).collect(), ..Val::default() });
            self.vars.insert(names[1].clone(), Val::default());
            self.vars.insert(names[2].clone(), Val { any: files, list: true, ..Val::default() });
            return next;
        }
        for n in names {
            let all = Val { any: v.any.clone(), list: false, from: if v.from == "path" { v.from.clone() } else { String::new() } };
            self.vars.insert(n, all);
        }
        next.max(k + 1)
    }

    pub(crate) fn expr(&mut self, t: &[Tok], i: usize, depth: u32) -> (Val, usize) {
        if self.fuel == 0 || depth > 30 {
            self.fuel = self.fuel.saturating_sub(1);
            return (Val::default(), i + 1);
        }
        self.fuel -= 1;
        let (mut v, mut i) = self.primary(t, i, depth);
        loop {
            let Some(Tok::Op(o)) = t.get(i) else { break };
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

    fn string(&mut self, p: &[Piece]) -> Val {
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
    fn args(&mut self, t: &[Tok], mut i: usize, close: &str, depth: u32) -> (Args, usize) {
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
                        // the head is worked out again, now that its name is known
                        let head = t[start..from].to_vec();
                        let (v, _) = self.expr(&head, 0, depth + 1);
                        a.pos = vec![Val { list: true, ..v }];
                    }
                }
            }
        }
        a.raw = t[start.min(t.len())..i.min(t.len())].to_vec();
        (a, i)
    }

    fn primary(&mut self, t: &[Tok], i: usize, depth: u32) -> (Val, usize) {
        if self.fuel == 0 || depth > 30 {
            return (Val::default(), i + 1);
        }
        self.fuel -= 1;
        let Some(tok) = t.get(i) else { return (Val::default(), i + 1) };
        let (mut v, mut k, mut path) = match tok {
            Tok::Str(p) => {
                let mut v = self.string(p);
                let mut k = i + 1;
                // strings side by side are one
                while self.lang == Lang::Python {
                    let Some(Tok::Str(p)) = t.get(k) else { break };
                    let r = self.string(p);
                    v = v.join(&r, "");
                    k += 1;
                }
                (v, k, String::new())
            }
            Tok::Run(p) => {
                let v = self.string(p);
                for s in v.texts() {
                    self.host.run(&s);
                }
                (Val::default(), i + 1, String::new())
            }
            Tok::Num(n) => (Val::text(n.clone()), i + 1, String::new()),
            Tok::Op(o) if o == "(" => {
                let (a, n) = self.args(t, i + 1, ")", depth + 1);
                let v = if a.pos.len() == 1 {
                    a.pos.into_iter().next().unwrap_or_default()
                } else {
                    Val::many(a.pos.into_iter().flat_map(|p| if p.any.is_empty() { vec![UNK.to_string()] } else { p.any }).collect())
                };
                (v, n, String::new())
            }
            Tok::Op(o) if o == "[" => {
                let (a, n) = self.args(t, i + 1, "]", depth + 1);
                (
                    Val::many(a.pos.into_iter().flat_map(|p| if p.any.is_empty() { vec![UNK.to_string()] } else { p.any }).collect()),
                    n,
                    String::new(),
                )
            }
            Tok::Op(o) if o == "{" && self.lang == Lang::Python => {
                // a dictionary: any of its members
                let (a, n) = self.args(t, i + 1, "}", depth + 1);
                (Val::many(a.pos.into_iter().flat_map(|p| p.any).collect()), n, String::new())
            }
            Tok::Op(o) if matches!(o.as_str(), "!" | "-" | "$" | "@" | "\\" | "&" | "*" | "..." | "~") => {
                let (v, n) = self.primary(t, i + 1, depth + 1);
                return (v, n);
            }
            Tok::Op(o)
                if o == "<" && matches!(t.get(i + 1), Some(Tok::Name(n)) if n == "STDIN")
                    || Self::op(t, i, "<") && Self::op(t, i + 1, ">") =>
            {
                let v = self.host.name(if Self::op(t, i + 1, ">") { "<>" } else { "STDIN" }).unwrap_or_default();
                let end = (i..(i + 4).min(t.len())).find(|k| Self::op(t, *k, ">")).unwrap_or(i);
                // line by line
                let lines = v.any.iter().flat_map(|text| text.lines()).map(str::to_owned).take(400).collect();
                return (Val { any: lines, ..Val::default() }, end + 1);
            }
            Tok::Name(n) if KEYWORDS.contains(&n.as_str()) && !(self.vars.contains_key(n)) => {
                if n == "lambda" {
                    return (Val::default(), i + 1);
                }
                return self.primary(t, i + 1, depth + 1);
            }
            Tok::Name(n) => (self.vars.get(n).cloned().or_else(|| self.host.name(n)).unwrap_or_default(), i + 1, n.clone()),
            _ => return (Val::default(), i + 1),
        };
        loop {
            match t.get(k) {
                Some(Tok::Op(o)) if matches!(o.as_str(), "." | "->" | "::" | "?.") => {
                    // Perl and PHP join texts with a dot
                    if o == "." && matches!(self.lang, Lang::Perl | Lang::Php) {
                        break;
                    }
                    match t.get(k + 1) {
                        Some(Tok::Name(n)) => {
                            let n = n.clone();
                            let is_call = Self::op(t, k + 2, "(")
                                || self.lang == Lang::Ruby
                                    && (matches!(t.get(k + 2), Some(Tok::Str(_)))
                                        || matches!(path.as_str(), "FileUtils" | "File" | "IO" | "Dir")
                                            && matches!(t.get(k + 2), Some(Tok::Name(arg)) if !KEYWORDS.contains(&arg.as_str()))
                                        || path == "FileUtils" && Self::op(t, k + 2, "["));
                            let full = match v.function().filter(|_| self.lang == Lang::Python && path.is_empty()) {
                                Some(module) => format!("{module}.{n}"),
                                None if path.is_empty() => n.clone(),
                                None => format!("{path}.{n}"),
                            };
                            if !is_call {
                                // a method without brackets (Ruby), or a member
                                let got = self
                                    .host
                                    .name(&full)
                                    .or_else(|| if self.lang == Lang::Ruby { self.method(&n, &full, &v, &Args::default()) } else { None });
                                let keep = v.clone();
                                v = got.unwrap_or(Val {
                                    from: full.clone(),
                                    any: if matches!(n.as_str(), "parent" | "name" | "stem") { Vec::new() } else { keep.any },
                                    list: keep.list,
                                });
                                path = full;
                                k += 2;
                                // `list.each { |x| …`, `list.each do |x|`
                                if matches!(n.as_str(), "each" | "map" | "select" | "each_line" | "each_child") {
                                    k = self.block_names(t, k, &v);
                                }
                                continue;
                            }
                            let recv = v.clone();
                            let (a, next) = if Self::op(t, k + 2, "(") {
                                self.call_args(t, k + 3, depth, &n, &recv)
                            } else {
                                self.loose_args(t, k + 2, depth)
                            };
                            v = self.method(&n, &full, &recv, &a).unwrap_or_default();
                            path = String::new();
                            k = next;
                            if self.lang == Lang::Ruby {
                                k = self.block_names(t, k, &v);
                            }
                        }
                        // `$f->(…)`, `f.(…)`, `f?.(…)`
                        Some(Tok::Op(b)) if b == "(" => {
                            let (a, next) = self.args(t, k + 2, ")", depth + 1);
                            v = self.value_call(&v, &path, &a);
                            path = String::new();
                            k = next;
                        }
                        Some(Tok::Op(b)) if matches!(b.as_str(), "[" | "{" | "@") => k += 1,
                        _ => break,
                    }
                }
                Some(Tok::Op(o)) if o == "(" && !path.is_empty() => {
                    let (a, next) = self.args(t, k + 1, ")", depth + 1);
                    v = self.function(&path, &a).unwrap_or_default();
                    path = String::new();
                    k = next;
                }
                Some(Tok::Op(o)) if o == "(" && k > i + 1 && matches!(self.lang, Lang::Python | Lang::Node) => {
                    let (a, next) = self.args(t, k + 1, ")", depth + 1);
                    v = self.value_call(&v, "", &a);
                    k = next;
                }
                Some(Tok::Op(o))
                    if o == "["
                        || o == "{"
                            && self.lang == Lang::Perl
                            && !path.is_empty()
                            && matches!(t.get(k + 2), Some(Tok::Op(c)) if c == "}") =>
                {
                    let close = if o == "[" { "]" } else { "}" };
                    let (a, next) = self.args(t, k + 1, close, depth + 1);
                    let base = std::mem::take(&mut path);
                    let key = match (a.pos.first().and_then(|p| p.any.first()), a.raw.first()) {
                        (Some(k), _) => k.clone(),
                        (None, Some(Tok::Name(n))) => n.clone(),
                        _ => String::new(),
                    };
                    let slice = a.raw.iter().any(|x| matches!(x, Tok::Op(o) if o == ":"));
                    let named = !key.is_empty() && key.parse::<i64>().is_err() && !slice;
                    let member = base.strip_suffix(".__dict__").map(str::to_owned).or_else(|| {
                        (self.lang == Lang::Node && !base.is_empty())
                            .then(|| self.vars.get(&base).and_then(Val::function).map_or_else(|| base.clone(), str::to_owned))
                    });
                    v = match self.host.name(&format!("{base}[{key}]")) {
                        Some(x) => x,
                        None if named && !v.list && member.is_some() => {
                            Val { from: format!("{}.{key}", member.unwrap_or_default()), ..Val::default() }
                        }
                        None if slice && v.list => {
                            let from = key.parse::<usize>().unwrap_or(0);
                            Val::many(v.any.iter().skip(from).cloned().collect())
                        }
                        None if base.is_empty() && self.lang == Lang::Ruby && !v.list => Val::default(),
                        None => match key.parse::<usize>() {
                            Ok(n) if v.list && n < v.any.len() => Val::text(v.any[n].clone()),
                            _ if v.list => Val { any: v.any.clone(), ..Val::default() },
                            _ if base == "Dir" => Val::default(),
                            _ => Val::default(),
                        },
                    };
                    k = next;
                }
                // `unlink "x", "y";` without brackets
                Some(Tok::Str(_) | Tok::Name(_) | Tok::Num(_))
                    if !path.is_empty() && matches!(self.lang, Lang::Perl | Lang::Ruby | Lang::Php) && self.takes_loose(&path, t, k) =>
                {
                    let (a, next) = self.loose_args(t, k, depth);
                    v = self.function(&path, &a).unwrap_or_default();
                    path = String::new();
                    k = next;
                }
                _ => break,
            }
        }
        if v.any.is_empty() && v.from.is_empty() && !path.is_empty() {
            v.from = format!("fn:{path}");
        }
        if k == i + 1 && self.lang == Lang::Perl && matches!(path.as_str(), "unlink" | "rmdir") {
            // without an argument it is about `$_`
            let it = self.vars.get("_").cloned().unwrap_or_default();
            self.function(&path, &Args { pos: vec![it], ..Args::default() });
        }
        if k == i + 1
            && !path.is_empty()
            && matches!(self.lang, Lang::Perl | Lang::Ruby)
            && matches!(path.as_str(), "shift" | "pop" | "gets")
            && let Some(x) = self.host.name(&path)
        {
            return (x, k);
        }
        (v, k)
    }

    /// A value is called.
    fn value_call(&mut self, v: &Val, path: &str, a: &Args) -> Val {
        let name = v.function().map(str::to_owned).or_else(|| self.renames.get(path).cloned());
        match name {
            Some(name) => self.host.call(&name, None, a).unwrap_or_default(),
            None => {
                // without arguments it can only do what is written in the program itself
                if !a.pos.is_empty() {
                    self.host.reached();
                }
                Val::default()
            }
        }
    }

    fn takes_loose(&self, path: &str, t: &[Tok], k: usize) -> bool {
        if KEYWORDS.contains(&path) {
            return false;
        }
        match &t[k] {
            Tok::Str(_) => true,
            Tok::Num(_) => matches!(path, "utime" | "chmod" | "chown"),
            Tok::Name(n) => {
                matches!(
                    path,
                    "open"
                        | "unlink"
                        | "rename"
                        | "mkdir"
                        | "rmdir"
                        | "system"
                        | "exec"
                        | "chdir"
                        | "copy"
                        | "move"
                        | "symlink"
                        | "link"
                        | "truncate"
                        | "rmtree"
                        | "remove_tree"
                        | "make_path"
                        | "mkpath"
                        | "utime"
                        | "chmod"
                        | "chown"
                        | "spit"
                        | "glob"
                        | "require"
                        | "do"
                        | "eval"
                        | "write_file"
                        | "include"
                        | "include_once"
                        | "require_once"
                        | "sysopen"
                        | "load"
                ) && !KEYWORDS.contains(&n.as_str())
            }
            _ => false,
        }
    }

    /// Arguments without brackets, to the end of the statement.
    fn loose_args(&mut self, t: &[Tok], i: usize, depth: u32) -> (Args, usize) {
        let mut end = i;
        let mut level = 0i32;
        while end < t.len() {
            match &t[end] {
                Tok::Op(o) if matches!(o.as_str(), "(" | "[" | "{") => level += 1,
                Tok::Op(o) if matches!(o.as_str(), ")" | "]" | "}") => {
                    level -= 1;
                    if level < 0 {
                        break;
                    }
                }
                Tok::Op(o) if level == 0 && (o == ";" || o == "||" || o == "&&") => break,
                Tok::Line if level == 0 && !matches!(t.get(end.wrapping_sub(1)), Some(Tok::Op(o)) if o == ",") => break,
                Tok::Name(n) if level == 0 && matches!(n.as_str(), "or" | "and" | "if" | "unless" | "for" | "foreach" | "while" | "do") => {
                    break;
                }
                _ => {}
            }
            end += 1;
        }
        // an open brace that begins a block belongs to what follows
        let inner = t[i..end].to_vec();
        let (mut a, _) = self.args(&inner, 0, "\0", depth + 1);
        // `unlink for LIST`: without arguments it is about `$_`
        if self.lang == Lang::Perl
            && inner.is_empty()
            && let Some(topic) = self.vars.get("_")
        {
            a.pos = vec![topic.clone()];
        }
        (a, end)
    }

    fn call_args(&mut self, t: &[Tok], i: usize, depth: u32, method: &str, recv: &Val) -> (Args, usize) {
        // `list.forEach(f => …)`: the name of the function's parameter holds each of them
        if matches!(method, "forEach" | "map" | "filter" | "each" | "some" | "every") {
            let mut k = i;
            while k < t.len() && k < i + 6 {
                match &t[k] {
                    Tok::Op(o) if o == "(" || o == "," || o == ")" => {}
                    Tok::Name(n) if n == "async" || n == "function" => {}
                    Tok::Name(n) => {
                        self.vars.insert(n.clone(), Val { any: recv.any.clone(), ..Val::default() });
                        break;
                    }
                    _ => break,
                }
                k += 1;
            }
        }
        self.args(t, i, ")", depth + 1)
    }

    /// `{ |x|` or `do |x|`
    fn block_names(&mut self, t: &[Tok], k: usize, v: &Val) -> usize {
        let open = Self::op(t, k, "{") || matches!(t.get(k), Some(Tok::Name(n)) if n == "do");
        if open && Self::op(t, k + 1, "|") {
            if let Some(Tok::Name(n)) = t.get(k + 2) {
                self.vars.insert(n.clone(), Val { any: v.any.clone(), ..Val::default() });
            }
            return k + 3;
        }
        k
    }

    fn function(&mut self, name: &str, a: &Args) -> Option<Val> {
        if let Some(params) = self.defs.get(name).cloned() {
            for (p, v) in params.iter().zip(&a.pos) {
                let old = self.vars.get(p).cloned().unwrap_or_default();
                let new = old.or(v.clone());
                self.vars.insert(p.clone(), new);
                self.assigned.insert(p.clone());
            }
            return None;
        }
        let real = self.renames.get(name).cloned().or_else(|| self.vars.get(name).and_then(Val::function).map(str::to_owned));
        if self.lang == Lang::Php
            && let Some(text) = self.vars.get(name).and_then(|v| v.any.first()).cloned()
        {
            return self.host.call(&text, None, a);
        }
        self.host.call(real.as_deref().unwrap_or(name), None, a)
    }

    fn method(&mut self, name: &str, full: &str, recv: &Val, a: &Args) -> Option<Val> {
        let map = |f: &dyn Fn(&str) -> String| {
            Some(Val {
                any: recv.any.iter().map(|x| if x.contains(UNK) { x.clone() } else { f(x) }).collect(),
                list: recv.list,
                from: recv.from.clone(),
            })
        };
        let known = !recv.any.is_empty();
        let first = a.pos.first().and_then(|p| p.any.first()).cloned();
        match name {
            "strip" | "trim" | "chomp" | "rstrip" | "lstrip" | "trimEnd" | "trimStart" if known && !full.contains("fs.") => {
                map(&|x| x.trim().to_owned())
            }
            "upper" | "toUpperCase" | "upcase" if known => map(&str::to_uppercase),
            "lower" | "toLowerCase" | "downcase" if known => map(&str::to_lowercase),
            "replace" | "sub" | "gsub" | "replaceAll" if known && a.pos.len() == 2 && recv.from != "path" => {
                let (x, y) = (first?, a.pos[1].any.first().cloned()?);
                map(&|s| s.replace(&x, &y))
            }
            "join" if self.lang == Lang::Python && known && !full.contains("path") => {
                let sep = recv.any[0].clone();
                Some(Val::text(a.pos.first().map(|p| p.any.join(&sep)).unwrap_or_default()))
            }
            "join" if self.lang != Lang::Python && recv.list && full != "path.join" && full != "File.join" => {
                Some(Val::text(recv.any.join(&first.unwrap_or_else(|| if self.lang == Lang::Node { ",".into() } else { String::new() }))))
            }
            "format" if known && self.lang == Lang::Python => {
                let args: Vec<String> = a.pos.iter().map(|p| p.any.first().cloned().unwrap_or_else(|| UNK.to_string())).collect();
                map(&|s| {
                    let mut out = s.to_owned();
                    for (k, v) in args.iter().enumerate() {
                        out = out.replace(&format!("{{{k}}}"), v).replacen("{}", v, 1);
                    }
                    for (n, v) in &a.named {
                        out = out.replace(&format!("{{{n}}}"), v.any.first().map_or("?", String::as_str));
                    }
                    out
                })
            }
            "split" | "splitlines" | "lines" | "readlines" | "split_lines" if known => {
                let mut out = Vec::new();
                for s in &recv.any {
                    match (&first, name) {
                        (Some(sep), "split") if !sep.is_empty() => out.extend(s.split(sep.as_str()).map(str::to_owned)),
                        (None, "split") => out.extend(s.split_whitespace().map(str::to_owned)),
                        _ => out.extend(s.lines().map(str::to_owned)),
                    }
                }
                out.truncate(400);
                Some(Val::many(out))
            }
            "decode" | "encode" | "toString" | "to_s" | "as_posix" | "resolve" | "absolute" | "expanduser" | "to_path" | "flat"
            | "sort" | "sorted" | "reverse" | "uniq" | "toArray" | "freeze" | "dup" | "copy"
                if known && self.host_knows_not(full) =>
            {
                Some(recv.clone())
            }
            "concat" if known => {
                let r = a.pos.first().cloned().unwrap_or_default();
                Some(recv.join(&r, ""))
            }
            _ => {
                if self.defs.contains_key(name) {
                    return self.function(name, a);
                }
                // a module by another name
                let real = full.split_once('.').and_then(|(head, rest)| Some(format!("{}.{rest}", self.renames.get(head)?)));
                self.host.call(real.as_deref().unwrap_or(full), Some(recv), a)
            }
        }
    }

    fn host_knows_not(&self, full: &str) -> bool {
        !full.starts_with("shutil") && !full.starts_with("fs") && !full.starts_with("path.")
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
