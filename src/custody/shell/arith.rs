//! Shell arithmetic over 64-bit numbers. `None` is "not known" (or an error, which bash reports and gives no value).

/// Where variables come from and go to.
pub(crate) trait Vars {
    /// The value of a name; `None` where it is not known, an empty text where it is not set.
    fn get(&mut self, name: &str) -> Option<String>;
    /// Sets a name; `None` makes it not known.
    fn set(&mut self, name: &str, value: Option<i64>);
}

/// Works out an expression.
pub(crate) fn eval(text: &str, vars: &mut dyn Vars, depth: u32) -> Option<i64> {
    if depth > 8 || text.len() > 4096 {
        return None;
    }
    let c: Vec<char> = text.chars().collect();
    let mut p = P { c: &c, i: 0, vars, depth, nest: 0 };
    p.ws();
    if p.i >= c.len() {
        return Some(0);
    }
    let v = p.comma();
    p.ws();
    if p.i < c.len() { None } else { v }
}

struct P<'a> {
    pub(super) c: &'a [char],
    pub(super) i: usize,
    pub(super) vars: &'a mut dyn Vars,
    pub(super) depth: u32,
    nest: u32,
}

const LEVELS: [&[&str]; 10] =
    [&["||"], &["&&"], &["|"], &["^"], &["&"], &["==", "!="], &["<=", ">=", "<", ">"], &["<<", ">>"], &["+", "-"], &["*", "/", "%"]];

impl P<'_> {
    fn ws(&mut self) {
        while self.c.get(self.i).is_some_and(|x| x.is_whitespace() || *x == '"') {
            self.i += 1;
        }
    }

    fn eat(&mut self, s: &str) -> bool {
        self.ws();
        let ok = s.chars().enumerate().all(|(k, x)| self.c.get(self.i + k) == Some(&x));
        if ok {
            self.i += s.len();
        }
        ok
    }

    pub(super) fn at(&self, k: usize) -> char {
        self.c.get(self.i + k).copied().unwrap_or('\0')
    }

    fn comma(&mut self) -> Option<i64> {
        let mut v = self.assign();
        while self.eat(",") {
            v = self.assign();
        }
        v
    }

    fn assign(&mut self) -> Option<i64> {
        self.nest += 1;
        if self.nest > 60 {
            return None;
        }
        self.ws();
        let start = self.i;
        if let Some(name) = self.name() {
            self.ws();
            for op in ["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="] {
                let here = self.i;
                if self.eat(op) {
                    if op == "=" && self.at(0) == '=' {
                        self.i = here;
                        break;
                    }
                    let right = self.assign();
                    let v = if op == "=" {
                        right
                    } else {
                        let left = self.value(&name);
                        binary(&op[..op.len() - 1], left, right)
                    };
                    self.vars.set(&name, v);
                    self.nest -= 1;
                    return v;
                }
            }
            self.i = start;
        }
        let cond = self.binary(0);
        let v = if self.eat("?") {
            let a = self.assign();
            if !self.eat(":") {
                return None;
            }
            let b = self.assign();
            match cond {
                Some(0) => b,
                Some(_) => a,
                None => None,
            }
        } else {
            cond
        };
        self.nest -= 1;
        v
    }

    fn binary(&mut self, level: usize) -> Option<i64> {
        if level == LEVELS.len() {
            return self.power();
        }
        let mut left = self.binary(level + 1);
        loop {
            self.ws();
            let mut found = None;
            for op in LEVELS[level] {
                let matches = op.chars().enumerate().all(|(k, x)| self.at(k) == x);
                if matches {
                    let next = self.at(op.len());
                    let longer = match *op {
                        "|" => next == '|',
                        "&" => next == '&',
                        "<" => next == '<',
                        ">" => next == '>',
                        "*" => next == '*',
                        _ => false,
                    };
                    if !longer && (next != '=' || op.len() == 2 && *op != "<<" && *op != ">>") {
                        found = Some(*op);
                        break;
                    }
                }
            }
            let Some(op) = found else { return left };
            self.i += op.len();
            let right = self.binary(level + 1);
            left = binary(op, left, right);
        }
    }

    fn power(&mut self) -> Option<i64> {
        let base = self.unary();
        self.ws();
        if self.at(0) == '*' && self.at(1) == '*' {
            self.i += 2;
            let e = self.power()?;
            return base?.checked_pow(u32::try_from(e).ok()?);
        }
        base
    }

    fn unary(&mut self) -> Option<i64> {
        self.nest += 1;
        if self.nest > 60 {
            return None;
        }
        self.ws();
        let v = if self.eat("++") || self.eat("--") {
            let add = if self.c[self.i - 1] == '+' { 1 } else { -1 };
            self.ws();
            match self.name() {
                Some(n) => {
                    let v = self.value(&n).and_then(|x| x.checked_add(add));
                    self.vars.set(&n, v);
                    v
                }
                None => None,
            }
        } else if self.eat("-") {
            self.unary().and_then(i64::checked_neg)
        } else if self.eat("+") {
            self.unary()
        } else if self.at(0) == '!' && self.at(1) != '=' {
            self.i += 1;
            self.unary().map(|x| i64::from(x == 0))
        } else if self.eat("~") {
            self.unary().map(|x| !x)
        } else {
            self.primary()
        };
        self.nest -= 1;
        v
    }

    fn name(&mut self) -> Option<String> {
        let start = self.i;
        if !(self.at(0).is_ascii_alphabetic() || self.at(0) == '_') {
            return None;
        }
        while self.at(0).is_ascii_alphanumeric() || self.at(0) == '_' {
            self.i += 1;
        }
        if self.at(0) == '[' {
            while self.i < self.c.len() && self.at(0) != ']' {
                self.i += 1;
            }
            self.i = (self.i + 1).min(self.c.len());
        }
        Some(self.c[start..self.i].iter().collect())
    }

    fn value(&mut self, name: &str) -> Option<i64> {
        let text = self.vars.get(name)?;
        let t = text.trim();
        if t.is_empty() {
            return Some(0);
        }
        if let Ok(n) = t.parse() {
            return Some(n);
        }
        if t.contains(super::engine::UNK) {
            return None;
        }
        eval(t, self.vars, self.depth + 1)
    }

    fn primary(&mut self) -> Option<i64> {
        self.ws();
        if self.eat("(") {
            let v = self.comma();
            return if self.eat(")") { v } else { None };
        }
        if self.at(0).is_ascii_digit() {
            let start = self.i;
            while self.at(0).is_ascii_alphanumeric() || self.at(0) == '#' || self.at(0) == '_' {
                self.i += 1;
            }
            let t: String = self.c[start..self.i].iter().collect();
            if let Some(h) = t.strip_prefix("0x").or_else(|| t.strip_prefix("0X")) {
                return i64::from_str_radix(h, 16).ok();
            }
            if let Some((b, d)) = t.split_once('#') {
                let b: u32 = b.parse().ok()?;
                return if (2..=36).contains(&b) { i64::from_str_radix(d, b).ok() } else { None };
            }
            if t.len() > 1 && t.starts_with('0') {
                return i64::from_str_radix(&t, 8).ok();
            }
            return t.parse().ok();
        }
        let n = self.name()?;
        let v = self.value(&n);
        if self.eat("++") {
            self.vars.set(&n, v.and_then(|x| x.checked_add(1)));
        } else if self.eat("--") {
            self.vars.set(&n, v.and_then(|x| x.checked_sub(1)));
        }
        v
    }
}

fn binary(op: &str, l: Option<i64>, r: Option<i64>) -> Option<i64> {
    // a side that is not needed may be unknown
    match op {
        "&&" if l == Some(0) || r == Some(0) => return Some(0),
        "||" if l.is_some_and(|x| x != 0) || r.is_some_and(|x| x != 0) => return Some(1),
        _ => {}
    }
    let (l, r) = (l?, r?);
    let t = |b: bool| Some(i64::from(b));
    match op {
        "||" => t(l != 0 || r != 0),
        "&&" => t(l != 0 && r != 0),
        "|" => Some(l | r),
        "^" => Some(l ^ r),
        "&" => Some(l & r),
        "==" => t(l == r),
        "!=" => t(l != r),
        "<=" => t(l <= r),
        ">=" => t(l >= r),
        "<" => t(l < r),
        ">" => t(l > r),
        "<<" => Some(l.wrapping_shl(u32::try_from(r & 63).ok()?)),
        ">>" => Some(l.wrapping_shr(u32::try_from(r & 63).ok()?)),
        "+" => Some(l.wrapping_add(r)),
        "-" => Some(l.wrapping_sub(r)),
        "*" => Some(l.wrapping_mul(r)),
        "/" => l.checked_div(r),
        "%" => l.checked_rem(r),
        _ => None,
    }
}
