//! Where quotes, parentheses and braces in a word end.

use super::words::Scan;

impl Scan<'_> {
    /// The text up to the closing parenthesis; the position ends behind it.
    pub(super) fn until_paren(&mut self) -> String {
        let start = self.i;
        let mut depth = 1usize;
        let mut cases = 0usize;
        while let Some(x) = self.peek(0) {
            match x {
                '(' => depth += 1,
                ')' if cases > 0 && depth == 1 => {}
                ')' => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                '\\' => self.i += 1,
                '\'' | '"' | '`' => {
                    self.skip_quote(x);
                    continue;
                }
                '#' if self.i == start || self.c.get(self.i.wrapping_sub(1)).is_some_and(|c| c.is_whitespace() || *c == ';') => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.i += 1;
                    }
                    continue;
                }
                '$' if self.peek(1) == Some('{') => {
                    self.i += 2;
                    self.until_brace();
                    continue;
                }
                'c' if self.at_word("case", start) => cases += 1,
                'e' if self.at_word("esac", start) => cases = cases.saturating_sub(1),
                '<' if self.peek(1) == Some('<') && self.peek(2) != Some('<') && self.skip_here() => continue,
                _ => {}
            }
            self.i += 1;
        }
        let end = self.i.min(self.c.len());
        self.i = end + 1;
        self.c[start.min(end)..end].iter().collect()
    }

    pub(super) fn at_word(&self, w: &str, start: usize) -> bool {
        let free = |c: Option<&char>| c.is_none_or(|c| c.is_whitespace() || ";|&()".contains(*c));
        w.chars().enumerate().all(|(k, x)| self.peek(k) == Some(x))
            && (self.i == start || free(self.c.get(self.i - 1)))
            && free(self.c.get(self.i + w.len()))
    }

    /// At `<<`: jumps over the here-document's body where there is one, so that quotes in it do not count.
    pub(super) fn skip_here(&mut self) -> bool {
        let mut j = self.i + 2;
        if self.c.get(j) == Some(&'-') {
            j += 1;
        }
        while self.c.get(j).is_some_and(|c| *c == ' ') {
            j += 1;
        }
        let mut delim = String::new();
        while let Some(x) = self.c.get(j) {
            match x {
                '\'' | '"' | '\\' => {}
                c if c.is_whitespace() || ";|&()<>".contains(*c) => break,
                c => delim.push(*c),
            }
            j += 1;
        }
        if delim.is_empty() {
            return false;
        }
        let rest: String = self.c[j..].iter().collect();
        let Some(line_end) = rest.find('\n') else { return false };
        // what follows on the delimiter's own line is still script; only jump if it holds no parenthesis or quote
        if rest[..line_end].contains(['(', ')', '\'', '"', '`']) {
            return false;
        }
        let mut at = j + rest[..line_end].chars().count() + 1;
        for line in rest[line_end + 1..].split('\n') {
            let len = line.chars().count() + 1;
            if line.trim_start_matches('\t') == delim {
                self.i = (at + len - 1).min(self.c.len());
                return true;
            }
            at += len;
        }
        false
    }

    pub(super) fn skip_quote(&mut self, q: char) {
        let ansi = q == '\'' && self.i > 0 && self.c[self.i - 1] == '$';
        self.i += 1;
        while let Some(x) = self.peek(0) {
            match x {
                '\\' if q != '\'' || ansi => self.i += 1,
                '$' if q == '"' && self.peek(1) == Some('(') => {
                    self.i += 2;
                    self.until_paren();
                    continue;
                }
                '$' if q == '"' && self.peek(1) == Some('{') => {
                    self.i += 2;
                    self.until_brace();
                    continue;
                }
                _ if x == q => {
                    self.i += 1;
                    return;
                }
                _ => {}
            }
            self.i += 1;
        }
    }

    /// The text up to the closing brace; the position ends behind it.
    pub(super) fn until_brace(&mut self) -> String {
        let start = self.i;
        while let Some(x) = self.peek(0) {
            match x {
                '}' => break,
                '\\' => self.i += 1,
                '\'' | '"' | '`' => {
                    self.skip_quote(x);
                    continue;
                }
                '$' if self.peek(1) == Some('{') => {
                    self.i += 2;
                    self.until_brace();
                    continue;
                }
                '$' if self.peek(1) == Some('(') => {
                    self.i += 2;
                    self.until_paren();
                    continue;
                }
                _ => {}
            }
            self.i += 1;
        }
        let end = self.i.min(self.c.len());
        self.i = end + 1;
        self.c[start.min(end)..end].iter().collect()
    }
}
