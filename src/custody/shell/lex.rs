//! A program in another language as tokens: names, strings with what stands inside of them, operators.

use super::narrow::{DEDENT, INDENT};

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

/// Takes a program into tokens.
pub(crate) fn lex(text: &str, lang: Lang) -> Vec<Tok> {
    let c: Vec<char> = text.chars().collect();
    L { c: &c, i: 0, lang, out: Vec::new(), depth: 0, indents: Vec::new(), brackets: 0, counted: 0 }.all()
}

pub(super) struct L<'a> {
    pub(super) c: &'a [char],
    pub(super) i: usize,
    pub(super) lang: Lang,
    pub(super) out: Vec<Tok>,
    pub(super) depth: u32,
    /// How far the open blocks are set in (Python).
    pub(super) indents: Vec<usize>,
    /// Brackets that are open, and up to which token they are counted.
    pub(super) brackets: i32,
    pub(super) counted: usize,
}

impl L<'_> {
    pub(super) fn at(&self, k: usize) -> char {
        self.c.get(self.i + k).copied().unwrap_or('\0')
    }

    pub(super) fn all(mut self) -> Vec<Tok> {
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
                    | "my"
                    | "our"
                    | "local"
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
                if self.lang == Lang::Python {
                    self.blocks();
                }
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
                    Lang::Python if format => 'f',
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
                        && d != '>'
                        && (self.i == save || d != '#')
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

    /// Says where a block begins or ends, by how far the line is set in.
    fn blocks(&mut self) {
        let line = &self.c[self.i.min(self.c.len())..];
        let deep = line.iter().take_while(|c| matches!(c, ' ' | '\t')).count();
        if matches!(line.get(deep), None | Some('\n' | '\r' | '#')) || self.open_brackets() {
            return;
        }
        while self.indents.last().is_some_and(|last| *last > deep) {
            self.indents.pop();
            self.out.push(Tok::Op(DEDENT.into()));
        }
        if self.indents.last().copied().unwrap_or(0) < deep {
            self.indents.push(deep);
            self.out.push(Tok::Op(INDENT.into()));
        }
    }

    /// Whether a bracket is open: then the end of a line means nothing.
    fn open_brackets(&mut self) -> bool {
        for tok in &self.out[self.counted..] {
            match tok {
                Tok::Op(o) if matches!(o.as_str(), "(" | "[" | "{") => self.brackets += 1,
                Tok::Op(o) if matches!(o.as_str(), ")" | "]" | "}") => self.brackets -= 1,
                _ => {}
            }
        }
        self.counted = self.out.len();
        self.brackets > 0
    }

    fn skip_line(&mut self) {
        while self.i < self.c.len() && self.at(0) != '\n' {
            self.i += 1;
        }
    }
}
