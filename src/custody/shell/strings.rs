//! Strings of other languages: where they end, their escapes, and the expressions inside of them.

use super::lex::{L, Lang, Piece, Tok};

impl L<'_> {
    pub(super) fn delimited(&mut self, d: char) {
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

    pub(super) fn quoted(&mut self, q: char, triple: bool) -> String {
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

    pub(super) fn nested(&mut self, open: char) -> String {
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

    pub(super) fn quote_word(&mut self, k: char, t: &str) {
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

    pub(super) fn heredoc(&mut self) {
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
    pub(super) fn pieces(&mut self, t: &str, interp: char, raw: bool) -> Vec<Piece> {
        let c: Vec<char> = t.chars().collect();
        let mut out = Vec::new();
        let mut text = String::new();
        let mut i = 0;
        let code = |depth: u32, lang: Lang, s: &str| {
            if depth > 4 {
                return Vec::new();
            }
            let c: Vec<char> = s.chars().collect();
            L { c: &c, i: 0, lang, out: Vec::new(), depth: depth + 1, indents: Vec::new(), brackets: 0, counted: 0 }.all()
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
