//! Texts by characters and columns: `tr`, `cut`, base64.

use super::echo::unescape;
use super::engine::UNK;
use super::options::Call;

pub(super) fn set_of(spec: &str) -> Option<Vec<char>> {
    let (t, _) = unescape(spec);
    let t = t
        .replace("[:upper:]", "A-Z")
        .replace("[:lower:]", "a-z")
        .replace("[:digit:]", "0-9")
        .replace("[:space:]", " \t\n")
        .replace("[:blank:]", " \t")
        .replace("[:alpha:]", "A-Za-z")
        .replace("[:alnum:]", "A-Za-z0-9");
    if t.contains('[') && t.contains(':') {
        return None;
    }
    let c: Vec<char> = t.chars().collect();
    let mut out = Vec::new();
    let mut i = 0;
    while i < c.len() {
        if c.get(i + 1) == Some(&'-') && i + 2 < c.len() && c[i] <= c[i + 2] {
            out.extend((c[i]..=c[i + 2]).take(300));
            i += 3;
        } else {
            out.push(c[i]);
            i += 1;
        }
    }
    Some(out)
}

pub(super) fn translate(t: &str, c: &Call) -> Option<String> {
    let a = set_of(c.args.first()?)?;
    let inverse = c.has(&["-c", "-C", "--complement"]);
    if c.has(&["-d", "--delete"]) {
        return Some(t.chars().filter(|x| *x == UNK || a.contains(x) == inverse).collect());
    }
    if inverse {
        return None;
    }
    let b = match c.args.get(1) {
        Some(b) => set_of(b)?,
        None => a.clone(),
    };
    let last = *b.last()?;
    let mut out = String::new();
    for x in t.chars() {
        let y = a.iter().rposition(|k| *k == x).map_or(x, |i| b.get(i).copied().unwrap_or(last));
        if c.has(&["-s", "--squeeze-repeats"]) && out.ends_with(y) && b.contains(&y) {
            continue;
        }
        out.push(y);
    }
    Some(out)
}

pub(super) fn ranges(spec: &str) -> Option<Vec<(usize, usize)>> {
    spec.split(',')
        .map(|r| match r.split_once('-') {
            None => r.parse().ok().map(|n| (n, n)),
            Some((a, b)) => Some((if a.is_empty() { 1 } else { a.parse().ok()? }, if b.is_empty() { usize::MAX } else { b.parse().ok()? })),
        })
        .collect()
}

pub(super) fn cut(t: &str, c: &Call) -> Option<String> {
    let mut out = String::new();
    if let Some(f) = c.value(&["-f", "--fields"]) {
        let r = ranges(f)?;
        let d = c.value(&["-d", "--delimiter"]).and_then(|d| d.chars().next()).unwrap_or('\t');
        for l in t.lines() {
            if !l.contains(d) {
                if !c.has(&["-s"]) {
                    out.push_str(l);
                    out.push('\n');
                }
                continue;
            }
            let picked: Vec<&str> =
                l.split(d).enumerate().filter(|(i, _)| r.iter().any(|(a, b)| (*a..=*b).contains(&(i + 1)))).map(|x| x.1).collect();
            out.push_str(&picked.join(&d.to_string()));
            out.push('\n');
        }
        return Some(out);
    }
    let r = ranges(c.value(&["-c", "-b", "--characters", "--bytes"])?)?;
    for l in t.lines() {
        out.extend(l.chars().enumerate().filter(|(i, _)| r.iter().any(|(a, b)| (*a..=*b).contains(&(i + 1)))).map(|x| x.1));
        out.push('\n');
    }
    Some(out)
}

/// Decodes base64; `None` where it is none.
pub(crate) fn base64(t: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (mut acc, mut bits) = (0u32, 0);
    for b in t.bytes() {
        let v = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' | b'\n' | b'\r' | b' ' => continue,
            _ => return None,
        };
        acc = acc << 6 | u32::from(v);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((acc >> bits) as u8);
            acc &= (1 << bits) - 1;
        }
    }
    Some(out)
}
