//! Brace expansion, on the text of a word as written, before anything else.

/// Most words that one word may become.
const MAX: usize = 512;

/// Most characters that one word may become, all in all.
const MAX_CHARS: usize = 96 * 1024;

/// The words that a word becomes; itself where there is nothing to expand. Where there would be too many, one word that is
/// known up to its first brace.
pub(crate) fn expand(raw: &str) -> Vec<String> {
    let mut left = MAX_CHARS;
    match go(raw, 0, &mut left) {
        Some(out) if !out.is_empty() => out,
        Some(_) => vec![raw.to_owned()],
        None => {
            let mut head: String = raw.split('{').next().unwrap_or("").to_owned();
            if head.contains(['"', '\'', '`', '$', '\\']) {
                head.clear();
            }
            head.push(super::engine::UNK);
            vec![head]
        }
    }
}

/// `None` where there would be too many.
fn go(raw: &str, depth: usize, left: &mut usize) -> Option<Vec<String>> {
    *left = left.checked_sub(raw.len() + 1)?;
    if depth > 24 {
        return None;
    }
    let c: Vec<char> = raw.chars().collect();
    let mut i = 0;
    while i < c.len() {
        if c[i] != '{' {
            i = skip(&c, i);
            continue;
        }
        let Some((items, end)) = set(&c, i) else {
            i += 1;
            continue;
        };
        let head: String = c[..i].iter().collect();
        let tail: String = c[end.min(c.len())..].iter().collect();
        let tails = go(&tail, depth + 1, left)?;
        let mut out = Vec::new();
        for item in items {
            for a in go(&item, depth + 1, left)? {
                for b in &tails {
                    *left = left.checked_sub(head.len() + a.len() + b.len() + 1)?;
                    if out.len() >= MAX {
                        return None;
                    }
                    out.push(format!("{head}{a}{b}"));
                }
            }
        }
        return Some(out);
    }
    Some(vec![raw.to_owned()])
}

/// The position behind a quoted piece, an expansion or one character.
fn skip(c: &[char], i: usize) -> usize {
    let until = |q: char, mut j: usize| {
        while j < c.len() && c[j] != q {
            if c[j] == '\\' && q != '\'' {
                j += 1;
            }
            j += 1;
        }
        j + 1
    };
    match c[i] {
        '\\' => i + 2,
        '\'' => until('\'', i + 1),
        '"' => until('"', i + 1),
        '`' => until('`', i + 1),
        '$' if matches!(c.get(i + 1), Some('{' | '(')) => {
            let (open, close) = if c[i + 1] == '{' { ('{', '}') } else { ('(', ')') };
            let mut depth = 0usize;
            let mut j = i + 1;
            while j < c.len() {
                if c[j] == open {
                    depth += 1;
                } else if c[j] == close {
                    depth -= 1;
                    if depth == 0 {
                        return j + 1;
                    }
                }
                j += 1;
            }
            j
        }
        _ => i + 1,
    }
}

/// At a `{`: its items and the position behind the `}`.
fn set(c: &[char], start: usize) -> Option<(Vec<String>, usize)> {
    let mut i = start + 1;
    let mut depth = 1usize;
    let mut items: Vec<String> = Vec::new();
    let mut from = i;
    while i < c.len() {
        match c[i] {
            '{' => {
                depth += 1;
                i += 1;
            }
            '}' => {
                depth -= 1;
                if depth == 0 {
                    let last: String = c[from..i].iter().collect();
                    if items.is_empty() {
                        return range(&last).map(|r| (r, i + 1));
                    }
                    items.push(last);
                    return Some((items, i + 1));
                }
                i += 1;
            }
            ',' if depth == 1 => {
                items.push(c[from..i].iter().collect());
                i += 1;
                from = i;
            }
            x if x.is_whitespace() => return None,
            _ => i = skip(c, i),
        }
    }
    None
}

fn range(text: &str) -> Option<Vec<String>> {
    let bits: Vec<&str> = text.split("..").collect();
    if bits.len() < 2 || bits.len() > 3 {
        return None;
    }
    let step: i64 = bits.get(2).map_or(Some(1), |s| s.parse().ok())?;
    let step = step.checked_abs()?.max(1);
    if let (Ok(a), Ok(b)) = (bits[0].parse::<i64>(), bits[1].parse::<i64>()) {
        let padded = |s: &str| s.trim_start_matches('-').starts_with('0') && s.trim_start_matches('-').len() > 1;
        let width = if padded(bits[0]) || padded(bits[1]) { bits[0].len().max(bits[1].len()) } else { 0 };
        let mut out = Vec::new();
        let mut x = a;
        while out.len() < MAX - 1 && (if a <= b { x <= b } else { x >= b }) {
            out.push(format!("{x:0width$}"));
            x = if a <= b { x.checked_add(step)? } else { x.checked_sub(step)? };
        }
        if out.len() == MAX - 1 {
            // too many to go through: something stands in this place
            out = vec![super::engine::UNK.to_string()];
        }
        return Some(out);
    }
    let one = |s: &str| {
        let mut it = s.chars();
        match (it.next(), it.next()) {
            (Some(ch), None) if ch.is_ascii_alphabetic() => Some(ch as i64),
            _ => None,
        }
    };
    let (a, b) = (one(bits[0])?, one(bits[1])?);
    let mut out = Vec::new();
    let mut x = a;
    while if a <= b { x <= b } else { x >= b } {
        out.push(char::from_u32(u32::try_from(x).ok()?)?.to_string());
        x = if a <= b { x.checked_add(step)? } else { x.checked_sub(step)? };
    }
    Some(out)
}
