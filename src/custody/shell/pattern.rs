//! Shell patterns: `*`, `?`, `[…]`, extended forms. In a pattern a backslash makes the next character literal.

/// Steps after which matching one name gives up. What one reading may match in all is its work budget.
const FUEL: u32 = 100_000;

/// Whether a pattern has anything alive in it.
pub(crate) fn alive(p: &str) -> bool {
    let mut it = p.chars().peekable();
    while let Some(c) = it.next() {
        match c {
            '\\' => {
                it.next();
            }
            '*' | '?' | '[' => return true,
            '+' | '@' | '!' if it.peek() == Some(&'(') => return true,
            _ => {}
        }
    }
    false
}

/// Takes the backslashes out of a pattern.
pub(crate) fn unescape(p: &str) -> String {
    if !p.contains('\\') {
        return p.to_owned();
    }
    let mut out = String::with_capacity(p.len());
    let mut it = p.chars();
    while let Some(c) = it.next() {
        out.push(if c == '\\' { it.next().unwrap_or('\\') } else { c });
    }
    out
}

/// Makes a text literal inside a pattern.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 4);
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\' | '(' | ')' | '|' | '+' | '@' | '!' | '-' | '^') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Whether the pattern matches the whole text.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    if pattern.len() > 256 {
        super::fuel::did(pattern.len() * 2);
        if super::fuel::empty() {
            super::fuel::doubt();
            return false;
        }
    }
    if !alive(pattern) {
        return unescape(pattern) == text;
    }
    let p: Vec<char> = pattern.chars().collect();
    let t: Vec<char> = text.chars().collect();
    let mut fuel = FUEL;
    go(&p, &t, &mut fuel, 0)
}

/// Case does not count.
pub(crate) fn matches_fold(pattern: &str, text: &str) -> bool {
    matches(&pattern.to_lowercase(), &text.to_lowercase())
}

fn go(p: &[char], t: &[char], fuel: &mut u32, depth: u32) -> bool {
    if *fuel == 0 || depth > 400 || !super::fuel::spend(2) {
        super::fuel::doubt();
        return false;
    }
    *fuel -= 1;
    let Some(&c) = p.first() else { return t.is_empty() };
    if matches!(c, '?' | '*' | '+' | '@' | '!')
        && p.get(1) == Some(&'(')
        && let Some(end) = closing(p)
    {
        return group(c, &p[2..end], &p[end + 1..], t, fuel, depth);
    }
    match c {
        '*' => {
            let mut rest = p;
            while rest.first() == Some(&'*') && rest.get(1) != Some(&'(') {
                rest = &rest[1..];
            }
            if rest.is_empty() {
                return true;
            }
            (0..=t.len()).any(|i| go(rest, &t[i..], fuel, depth + 1))
        }
        '?' => !t.is_empty() && go(&p[1..], &t[1..], fuel, depth),
        '[' => match bracket(p, t.first().copied()) {
            Some((ok, used)) => !t.is_empty() && ok && go(&p[used..], &t[1..], fuel, depth),
            None => t.first() == Some(&'[') && go(&p[1..], &t[1..], fuel, depth),
        },
        '\\' if p.len() > 1 => t.first() == Some(&p[1]) && go(&p[2..], &t[1..], fuel, depth),
        _ => t.first() == Some(&c) && go(&p[1..], &t[1..], fuel, depth),
    }
}

fn closing(p: &[char]) -> Option<usize> {
    let mut depth = 0usize;
    let mut i = 0;
    while i < p.len() {
        match p[i] {
            '\\' => i += 1,
            '(' => depth += 1,
            ')' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(i);
                }
            }
            _ => {}
        }
        i += 1;
    }
    None
}

fn alternatives(inner: &[char]) -> Vec<&[char]> {
    let mut out = Vec::new();
    let (mut depth, mut start, mut i) = (0usize, 0, 0);
    while i < inner.len() {
        match inner[i] {
            '\\' => i += 1,
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => {
                out.push(&inner[start..i]);
                start = i + 1;
            }
            _ => {}
        }
        i += 1;
    }
    out.push(&inner[start.min(inner.len())..]);
    out
}

fn group(kind: char, inner: &[char], rest: &[char], t: &[char], fuel: &mut u32, depth: u32) -> bool {
    let alts = alternatives(inner);
    if kind == '!' {
        return (0..=t.len()).any(|i| !alts.iter().any(|a| go(a, &t[..i], fuel, depth + 1)) && go(rest, &t[i..], fuel, depth + 1));
    }
    if matches!(kind, '?' | '*') && go(rest, t, fuel, depth + 1) {
        return true;
    }
    for i in 0..=t.len() {
        if *fuel == 0 {
            return false;
        }
        if !alts.iter().any(|a| go(a, &t[..i], fuel, depth + 1)) {
            continue;
        }
        if go(rest, &t[i..], fuel, depth + 1) {
            return true;
        }
        if matches!(kind, '*' | '+') && i > 0 && group('*', inner, rest, &t[i..], fuel, depth + 1) {
            return true;
        }
    }
    false
}

/// At a `[`: whether it takes the character, and how long it is.
pub(crate) fn bracket(p: &[char], c: Option<char>) -> Option<(bool, usize)> {
    let mut i = 1;
    let not = matches!(p.get(i), Some('!' | '^'));
    if not {
        i += 1;
    }
    let first = i;
    let mut ok = false;
    let c0 = c.unwrap_or('\0');
    loop {
        let x = *p.get(i)?;
        if x == ']' && i > first {
            return Some((ok != not, i + 1));
        }
        if x == '[' && p.get(i + 1) == Some(&':') {
            let mut j = i + 2;
            let mut name = String::new();
            while let Some(y) = p.get(j) {
                if *y == ':' {
                    break;
                }
                name.push(*y);
                j += 1;
            }
            if p.get(j + 1) == Some(&']') {
                ok |= class(&name, c0);
                i = j + 2;
                continue;
            }
        }
        let (lo, n) = if x == '\\' { (*p.get(i + 1)?, 2) } else { (x, 1) };
        i += n;
        if p.get(i) == Some(&'-') && p.get(i + 1).is_some_and(|y| *y != ']') {
            let (hi, n) = if p.get(i + 1) == Some(&'\\') { (*p.get(i + 2)?, 3) } else { (*p.get(i + 1)?, 2) };
            ok |= lo <= c0 && c0 <= hi;
            i += n;
        } else {
            ok |= lo == c0;
        }
    }
}

fn class(name: &str, c: char) -> bool {
    match name {
        "alpha" => c.is_alphabetic(),
        "digit" => c.is_ascii_digit(),
        "alnum" => c.is_alphanumeric(),
        "upper" => c.is_uppercase(),
        "lower" => c.is_lowercase(),
        "space" => c.is_whitespace(),
        "blank" => c == ' ' || c == '\t',
        "punct" => c.is_ascii_punctuation(),
        "xdigit" => c.is_ascii_hexdigit(),
        "word" => c.is_alphanumeric() || c == '_',
        "print" => !c.is_control(),
        "graph" => !c.is_control() && !c.is_whitespace(),
        "cntrl" => c.is_control(),
        _ => false,
    }
}
