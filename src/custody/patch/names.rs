//! File names as patches write them: quoted as git does, with its `a/` and `b/`.

/// The name on a `---` or `+++` line; `None` for `/dev/null`.
pub(super) fn file_name(text: &str, side: &str) -> Option<String> {
    let name = if text.starts_with('"') { unquoted(text) } else { text.split('\t').next().unwrap_or(text).trim_end().to_owned() };
    if name == "/dev/null" {
        return None;
    }
    Some(name.strip_prefix(side).map_or_else(|| name.clone(), str::to_owned))
}

/// The two names of a `diff --git` line. Unquoted names may hold blanks; then they can only be told
/// apart where both are the same.
pub(super) fn both_names(text: &str) -> Option<(String, String)> {
    let strip = |name: &str, side: &str| name.strip_prefix(side).unwrap_or(name).to_owned();
    if text.starts_with('"') {
        let end = closing_quote(text)?;
        let (old, new) = text.split_at(end + 1);
        return Some((strip(&unquoted(old), "a/"), strip(&unquoted(new.trim_start()), "b/")));
    }
    text.match_indices(' ').find_map(|(at, _)| {
        let (old, new) = (strip(text.get(..at)?, "a/"), strip(&unquoted(text.get(at + 1..)?), "b/"));
        (old == new || text.matches(' ').count() == 1).then_some((old, new))
    })
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().skip(1).find_map(|(at, c)| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends.then_some(at)
    })
}

/// Takes git's C-style quotes off.
pub(super) fn unquoted(text: &str) -> String {
    let text = text.trim_end();
    let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return text.to_owned() };
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    if let Some(next) = rest.next_if(|byte| (b'0'..=b'7').contains(byte)) {
                        value = value * 8 + u32::from(next - b'0');
                    }
                }
                bytes.push(u8::try_from(value & 0xff).unwrap_or(b'?'));
            }
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
