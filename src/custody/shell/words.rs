//! Takes a word apart: quotes, escapes, expansions. Works on the text as written, since the parser leaves that whole.

use super::syntax::{Param, Part, Word};

/// Takes one word apart.
pub(crate) fn word(raw: &str) -> Word {
    let braces = raw.contains('{') && (raw.contains(',') || raw.contains(".."));
    Word { raw: raw.to_owned(), parts: parts(raw), braces }
}

/// Takes the text of an unquoted here-document apart (double-quote rules, but `"` is plain).
pub(crate) fn here_text(text: &str) -> Vec<Part> {
    let chars: Vec<char> = text.chars().collect();
    vec![Part::Double(Scan { c: &chars, i: 0 }.double(None, false))]
}

/// The parts of a word outside of quotes.
pub(crate) fn parts(raw: &str) -> Vec<Part> {
    if raw.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.' | b'-' | b'_' | b'=' | b',' | b':' | b'+' | b'%' | b'@')) {
        return vec![Part::Plain(raw.to_owned())];
    }
    let chars: Vec<char> = raw.chars().collect();
    Scan { c: &chars, i: 0 }.plain()
}

/// The parts of a text that stands inside double quotes, such as the word of `"${x:-word}"`.
pub(crate) fn double_parts(raw: &str) -> Vec<Part> {
    let chars: Vec<char> = raw.chars().collect();
    Scan { c: &chars, i: 0 }.double(None, true)
}

pub(super) struct Scan<'a> {
    pub(super) c: &'a [char],
    pub(super) i: usize,
}

impl Scan<'_> {
    pub(super) fn peek(&self, ahead: usize) -> Option<char> {
        self.c.get(self.i + ahead).copied()
    }

    fn plain(&mut self) -> Vec<Part> {
        let mut out = Vec::new();
        let mut text = String::new();
        macro_rules! flush {
            () => {
                if !text.is_empty() {
                    out.push(Part::Plain(std::mem::take(&mut text)));
                }
            };
        }
        while let Some(ch) = self.peek(0) {
            match ch {
                '\\' => {
                    self.i += 1;
                    match self.peek(0) {
                        Some('\n') => self.i += 1,
                        Some(n) => {
                            flush!();
                            out.push(Part::Quoted(n.to_string()));
                            self.i += 1;
                        }
                        None => {
                            flush!();
                            out.push(Part::Quoted("\\".into()));
                        }
                    }
                }
                '\'' => {
                    flush!();
                    self.i += 1;
                    let start = self.i;
                    while self.peek(0).is_some_and(|x| x != '\'') {
                        self.i += 1;
                    }
                    out.push(Part::Quoted(self.c[start..self.i].iter().collect()));
                    self.i += 1;
                }
                '"' => {
                    flush!();
                    self.i += 1;
                    let inner = self.double(Some('"'), true);
                    out.push(Part::Double(inner));
                }
                '$' if self.peek(1) == Some('\'') => {
                    flush!();
                    self.i += 2;
                    let start = self.i;
                    while let Some(x) = self.peek(0) {
                        match x {
                            '\\' => self.i += 2,
                            '\'' => break,
                            _ => self.i += 1,
                        }
                    }
                    let end = self.i.min(self.c.len());
                    out.push(Part::Quoted(ansi_c(&self.c[start..end])));
                    self.i = end + 1;
                }
                '$' if self.peek(1) == Some('"') => {
                    flush!();
                    self.i += 2;
                    let inner = self.double(Some('"'), true);
                    out.push(Part::Double(inner));
                }
                '$' => match self.dollar() {
                    Some(p) => {
                        flush!();
                        out.push(p);
                    }
                    None => {
                        text.push('$');
                        self.i += 1;
                    }
                },
                '`' => {
                    flush!();
                    out.push(self.backquote(false));
                }
                '<' | '>' if self.peek(1) == Some('(') => {
                    flush!();
                    self.i += 2;
                    let script = self.until_paren();
                    out.push(Part::Process { out: ch == '>', script });
                }
                _ => {
                    text.push(ch);
                    self.i += 1;
                }
            }
        }
        flush!();
        out
    }

    /// Inside double quotes, up to `end`. In a here-document a quote is plain and can't be escaped.
    fn double(&mut self, end: Option<char>, quote_escapes: bool) -> Vec<Part> {
        let mut out = Vec::new();
        let mut text = String::new();
        while let Some(ch) = self.peek(0) {
            if Some(ch) == end {
                self.i += 1;
                break;
            }
            let part = match ch {
                '\\' => {
                    match self.peek(1) {
                        Some('\n') => {}
                        Some(n @ ('$' | '`' | '\\')) => text.push(n),
                        Some('"') if quote_escapes => text.push('"'),
                        Some(n) => {
                            text.push('\\');
                            text.push(n);
                        }
                        None => text.push('\\'),
                    }
                    self.i += 2;
                    None
                }
                '$' => {
                    let p = self.dollar();
                    if p.is_none() {
                        text.push('$');
                        self.i += 1;
                    }
                    p
                }
                '`' => Some(self.backquote(true)),
                _ => {
                    text.push(ch);
                    self.i += 1;
                    None
                }
            };
            if let Some(p) = part {
                if !text.is_empty() {
                    out.push(Part::Quoted(std::mem::take(&mut text)));
                }
                out.push(p);
            }
        }
        if !text.is_empty() {
            out.push(Part::Quoted(text));
        }
        out
    }

    fn backquote(&mut self, in_double: bool) -> Part {
        self.i += 1;
        let mut script = String::new();
        while let Some(x) = self.peek(0) {
            self.i += 1;
            match x {
                '`' => break,
                '\\' => match self.peek(0) {
                    Some(n @ ('$' | '`' | '\\')) => {
                        script.push(n);
                        self.i += 1;
                    }
                    Some('"') if in_double => {
                        script.push('"');
                        self.i += 1;
                    }
                    _ => script.push('\\'),
                },
                _ => script.push(x),
            }
        }
        Part::Command(script)
    }

    /// At a `$`: an expansion, or none and the position is unchanged.
    fn dollar(&mut self) -> Option<Part> {
        let start = self.i;
        match self.peek(1)? {
            '(' if self.peek(2) == Some('(') => {
                self.i += 3;
                let text = self.until_paren();
                if self.peek(0) == Some(')') {
                    self.i += 1;
                    return Some(Part::Arith(text));
                }
                // `$((a); b)` is a command substitution that starts with a subshell
                self.i = start + 2;
                Some(Part::Command(self.until_paren()))
            }
            '(' => {
                self.i += 2;
                Some(Part::Command(self.until_paren()))
            }
            '[' => {
                let mut depth = 0usize;
                let mut j = self.i + 1;
                while let Some(x) = self.c.get(j) {
                    match x {
                        '[' => depth += 1,
                        ']' => {
                            depth -= 1;
                            if depth == 0 {
                                break;
                            }
                        }
                        _ => {}
                    }
                    j += 1;
                }
                let text = self.c[(self.i + 2).min(j)..j].iter().collect();
                self.i = j + 1;
                Some(Part::Arith(text))
            }
            '{' => {
                self.i += 2;
                let inner = self.until_brace();
                if let Some(rest) = inner.strip_prefix([' ', '\t', '\n', '|']) {
                    return Some(Part::Command(rest.to_owned()));
                }
                Some(Part::Param(Box::new(param(&inner))))
            }
            x if x.is_ascii_alphabetic() || x == '_' => {
                self.i += 1;
                let from = self.i;
                while self.peek(0).is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
                    self.i += 1;
                }
                let name = self.c[from..self.i].iter().collect();
                Some(Part::Param(Box::new(Param { name, ..Param::default() })))
            }
            x if x.is_ascii_digit() || "@*#?$!-".contains(x) => {
                self.i += 2;
                Some(Part::Param(Box::new(Param { name: x.to_string(), ..Param::default() })))
            }
            _ => None,
        }
    }
}

/// The inside of `${…}`.
fn param(inner: &str) -> Param {
    let mut p = Param::default();
    let mut rest = inner;
    if rest.len() > 1 && rest.starts_with('#') && !rest[1..].starts_with([':', '%', '=', '+', '}']) {
        p.length = true;
        rest = &rest[1..];
    } else if rest.len() > 1 && rest.starts_with('!') {
        p.indirect = true;
        rest = &rest[1..];
    }
    let len = if rest.starts_with(|c: char| c.is_ascii_digit()) {
        rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())
    } else if rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len())
    } else {
        rest.chars().next().map_or(0, char::len_utf8)
    };
    p.name = rest[..len].to_owned();
    rest = &rest[len..];
    if rest.starts_with('[') {
        let mut depth = 0usize;
        let mut end = rest.len();
        for (i, c) in rest.char_indices() {
            match c {
                '[' => depth += 1,
                ']' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        end = i;
                        break;
                    }
                }
                _ => {}
            }
        }
        p.index = Some(rest[1..end].to_owned());
        rest = rest.get(end + 1..).unwrap_or("");
    }
    for op in [":-", ":=", ":?", ":+", "##", "%%", "//", "/#", "/%", "^^", ",,", "-", "=", "?", "+", "#", "%", "/", "^", ",", ":", "@", "*"]
    {
        if let Some(arg) = rest.strip_prefix(op) {
            p.op = op.to_owned();
            p.arg = arg.to_owned();
            break;
        }
    }
    p
}

/// Decodes the inside of `$'…'`.
pub(crate) fn ansi_c(c: &[char]) -> String {
    let mut bytes: Vec<u8> = Vec::new();
    let mut i = 0;
    let put = |bytes: &mut Vec<u8>, ch: char| {
        let mut b = [0u8; 4];
        bytes.extend_from_slice(ch.encode_utf8(&mut b).as_bytes());
    };
    let number = |from: usize, max: usize, radix: u32| {
        let mut n = 0u32;
        let mut used = 0;
        while used < max {
            match c.get(from + used).and_then(|x| x.to_digit(radix)) {
                Some(d) => n = n.wrapping_mul(radix).wrapping_add(d),
                None => break,
            }
            used += 1;
        }
        (n, used)
    };
    while i < c.len() {
        if c[i] != '\\' || i + 1 >= c.len() {
            put(&mut bytes, c[i]);
            i += 1;
            continue;
        }
        let e = c[i + 1];
        i += 2;
        match e {
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            'r' => bytes.push(b'\r'),
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'e' | 'E' => bytes.push(27),
            'f' => bytes.push(12),
            'v' => bytes.push(11),
            'x' => {
                let braced = c.get(i) == Some(&'{');
                let (n, used) = number(i + usize::from(braced), if braced { 8 } else { 2 }, 16);
                bytes.push(u8::try_from(n & 0xff).unwrap_or(b'?'));
                i += used + if braced { 2 } else { 0 };
            }
            'u' | 'U' => {
                let (n, used) = number(i, if e == 'u' { 4 } else { 8 }, 16);
                put(&mut bytes, char::from_u32(n).unwrap_or('?'));
                i += used;
            }
            'c' => {
                if let Some(x) = c.get(i) {
                    bytes.push((*x as u32 & 0x1f) as u8);
                    i += 1;
                }
            }
            '0'..='7' => {
                let (n, used) = number(i - 1, 3, 8);
                bytes.push(u8::try_from(n & 0xff).unwrap_or(b'?'));
                i += used - 1;
            }
            '\\' | '\'' | '"' | '?' => put(&mut bytes, e),
            _ => {
                bytes.push(b'\\');
                put(&mut bytes, e);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
