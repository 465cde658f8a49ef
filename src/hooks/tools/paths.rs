//! What a tool may mean by the text of a path.

use std::path::{Component, Path, PathBuf};

/// A path as a tool means it: `~` is the home, `file://` is taken off, what is relative stands in
/// `cwd`. Links and `..` stay.
pub(super) fn absolute(text: &str, cwd: &Path, home: Option<&Path>) -> PathBuf {
    let text = text.strip_prefix("file://").map_or_else(|| text.to_owned(), percent_decoded);
    match (text.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => cwd.join(text),
    }
}

/// What some language takes off the ends of a text: JavaScript the byte order mark, Python the separators of ASCII.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{feff}' | '\u{1c}'..='\u{1f}')
}

/// Every path that a tool may mean by a text, the likeliest first. Tools differ: one takes blanks, an
/// `@`, `~` or `file://` off and the next one makes a file of that name; one lets the disk resolve `..`
/// and the next one strikes it out before. Most texts have one reading.
pub(super) fn readings(text: &str, dirs: &[PathBuf], home: Option<&Path>) -> Vec<PathBuf> {
    let mut texts = vec![text.to_owned()];
    if text.starts_with('@') || text.starts_with(is_blank) || text.ends_with(is_blank) || !text.is_ascii() {
        let blank = |c: char| if is_blank(c) && !matches!(c, '\n' | '\t') { ' ' } else { c };
        let spaced: String = text.chars().map(blank).collect();
        let trimmed = spaced.trim().to_owned();
        let bare = trimmed.strip_prefix('@').map(str::to_owned);
        texts.extend([text.trim_matches(is_blank).to_owned(), spaced, trimmed].into_iter().chain(bare).filter(|text| !text.is_empty()));
    }
    let addresses: Vec<String> = texts.iter().flat_map(|text| addressed(text)).collect();
    texts.extend(addresses);
    // One takes the backslashes of a shell out of a path.
    let bare: Vec<String> = texts.iter().filter(|text| text.contains('\\')).map(|text| unescaped(text)).collect();
    texts.extend(bare);
    let homes: Vec<String> = texts.iter().flat_map(|text| of_users(text, home)).collect();
    texts.extend(homes);
    let mut found: Vec<PathBuf> = Vec::new();
    let mut add = |path: PathBuf| {
        if !found.contains(&path) {
            found.push(path);
        }
    };
    for text in &texts {
        for dir in dirs {
            let literal = (text.starts_with('~') || text.starts_with("file:")).then(|| dir.join(text));
            for path in [Some(absolute(text, dir, home)), literal].into_iter().flatten() {
                let struck = path.components().any(|part| part == Component::ParentDir).then(|| without_dots(&path));
                add(path);
                struck.into_iter().for_each(&mut add);
            }
        }
    }
    // Where the payload names no directory, what can be judged is.
    if found.iter().any(|path| path.is_absolute()) {
        found.retain(|path| path.is_absolute());
    }
    found
}

/// The paths that an address of a file may be taken for: what reads it drops the host, what begins with `?`
/// or `#`, and line ends and tabs in it, or takes some of that for part of a name.
fn addressed(text: &str) -> Vec<String> {
    let Some(rest) = text.get(..5).filter(|start| start.eq_ignore_ascii_case("file:")).and_then(|_| text.get(5..)) else {
        return Vec::new();
    };
    let cleaned: String = rest.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
    let mut found = Vec::new();
    for rest in [rest, &cleaned] {
        for rest in [rest, rest.split(['?', '#']).next().unwrap_or(rest)] {
            let slashed = rest.replace('\\', "/");
            for rest in [rest, slashed.as_str()] {
                let path = match rest.strip_prefix("//") {
                    Some(hosted) => hosted.find('/').and_then(|at| hosted.get(at..)).unwrap_or("/"),
                    None => rest,
                };
                found.extend([path.to_owned(), percent_decoded(path)]);
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Without the backslashes of a shell.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
    }
    out
}

/// `~name/x` in the homes that this user's may have: nothing is looked up.
fn of_users(text: &str, home: Option<&Path>) -> Vec<String> {
    let Some(rest) = text.strip_prefix('~').filter(|rest| !rest.is_empty() && !rest.starts_with('/')) else { return Vec::new() };
    let (user, below) = rest.split_once('/').unwrap_or((rest, ""));
    if user.bytes().any(|byte| !byte.is_ascii_alphanumeric() && !b"._-".contains(&byte)) || user.starts_with('.') {
        return Vec::new();
    }
    let beside = home.and_then(Path::parent).and_then(Path::to_str).unwrap_or("/home").trim_end_matches('/');
    let own = home.filter(|home| home.file_name().is_some_and(|name| name == user)).and_then(Path::to_str);
    let homes = [format!("{beside}/{user}"), format!("/home/{user}"), format!("/Users/{user}")];
    let root = (user == "root").then(|| "/root".to_owned());
    homes.into_iter().chain(root).chain(own.map(str::to_owned)).map(|home| format!("{home}/{below}")).collect()
}

/// A path with each `..` struck out together with the name before it, links or not.
fn without_dots(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = out.pop(),
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code =
            (*first == b'%').then(|| std::str::from_utf8(after.get(..2)?).ok().and_then(|hex| u8::from_str_radix(hex, 16).ok())).flatten();
        bytes.push(code.unwrap_or(*first));
        rest = after.get(if code.is_some() { 2 } else { 0 }..).unwrap_or_default();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_some_language_takes_off_the_ends_is_one_of_the_readings() {
        for blank in [" ", "\u{a0}", "\u{feff}", "\u{1c}", "\u{1f}", "\u{85}", "\u{feff} \u{1d}"] {
            for text in [format!("{blank}../bob/a.txt"), format!("../bob/a.txt{blank}")] {
                let found = readings(&text, &[PathBuf::from("/r/x")], None);
                assert!(found.contains(&PathBuf::from("/r/bob/a.txt")), "{text:?}: {found:?}");
                assert!(found.contains(&PathBuf::from("/r/x").join(&text)), "{text:?}: {found:?}");
            }
        }
    }
}
