//! Texts cut and replaced by patterns: `${x#p}`, `${x%p}`, `${x/p/t}`.

use super::engine::UNK;
use super::pattern;

pub(super) fn boundaries(v: &str) -> Vec<usize> {
    v.char_indices().map(|(i, _)| i).chain([v.len()]).collect()
}

/// `${v#pat}`
pub(crate) fn trim_front(v: &str, pat: &str, longest: bool) -> String {
    let mut ends = boundaries(v);
    if ends.len() > 2000 {
        return v.to_owned();
    }
    if longest {
        ends.reverse();
    }
    ends.into_iter().find(|&i| pattern::matches(pat, &v[..i])).map_or_else(|| v.to_owned(), |i| v[i..].to_owned())
}

/// `${v%pat}`
pub(crate) fn trim_back(v: &str, pat: &str, longest: bool) -> String {
    let mut starts = boundaries(v);
    if starts.len() > 2000 {
        return v.to_owned();
    }
    if !longest {
        starts.reverse();
    }
    starts.into_iter().find(|&i| pattern::matches(pat, &v[i..])).map_or_else(|| v.to_owned(), |i| v[..i].to_owned())
}

/// `pat/with`, cut at the first slash that is neither quoted nor escaped.
pub(super) fn split_slash(arg: &str) -> (String, String) {
    let mut quote = None;
    let mut skip = false;
    for (i, c) in arg.char_indices() {
        if skip {
            skip = false;
            continue;
        }
        match (c, quote) {
            ('\\', None | Some('"')) => skip = true,
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(q)) if c == q => quote = None,
            ('/', None) if i > 0 => return (arg[..i].to_owned(), arg[i + 1..].to_owned()),
            _ => {}
        }
    }
    (arg.to_owned(), String::new())
}

pub(super) fn replace(v: &str, pat: &str, with: &str, op: &str) -> String {
    let b = boundaries(v);
    if b.len() > 400 {
        // long values: only plain patterns
        if pattern::alive(pat) {
            return UNK.to_string();
        }
        let plain = pattern::unescape(pat);
        return if op == "//" { v.replace(&plain, with) } else { v.replacen(&plain, with, 1) };
    }
    if pat.is_empty() {
        return v.to_owned();
    }
    match op {
        "/#" => {
            if let Some(&e) = b.iter().rev().find(|&&e| pattern::matches(pat, &v[..e])) {
                return format!("{with}{}", &v[e..]);
            }
            return v.to_owned();
        }
        "/%" => {
            if let Some(&s) = b.iter().find(|&&s| pattern::matches(pat, &v[s..])) {
                return format!("{}{with}", &v[..s]);
            }
            return v.to_owned();
        }
        _ => {}
    }
    let mut out = String::new();
    let mut i = 0;
    while i < b.len() {
        let s = b[i];
        let hit = b[i..].iter().rposition(|&e| e > s && pattern::matches(pat, &v[s..e])).map(|k| i + k);
        match hit {
            Some(k) => {
                out.push_str(with);
                i = k;
                if op == "/" {
                    out.push_str(&v[b[i]..]);
                    return out;
                }
            }
            None => {
                let e = b.get(i + 1).copied().unwrap_or(v.len());
                out.push_str(&v[s..e]);
                i += 1;
            }
        }
    }
    out
}
