//! What a stricter parser than ours takes: that of the harness itself.

use super::splice::Unfit;

/// The byte order mark, which some editors put first.
pub(super) const MARK: &str = "\u{feff}";

/// Whether a parser takes the text that is stricter than ours: without trailing commas, and perhaps without
/// comments.
///
/// # Errors
/// The line with what it does not take.
pub(super) fn strictly(text: &str, comments: bool) -> Result<(), Unfit> {
    let body = text.strip_prefix(MARK).unwrap_or(text);
    let body = if comments { uncommented(body) } else { body.to_owned() };
    // Where nothing stands there is nothing to be thrown away.
    if body.trim().is_empty() {
        return Ok(());
    }
    match serde_json::from_str::<serde::de::IgnoredAny>(&body) {
        // How deep it may go is our parser's own bound.
        Err(error) if !error.to_string().contains("recursion") => {
            let why = if is_comma(&body, &error) { TRAILING.to_owned() } else { error.to_string() };
            Err(Unfit { line: error.line().max(1), why })
        }
        _ => Ok(()),
    }
}

/// What a comma is called that nothing follows.
pub(super) const TRAILING: &str = "a trailing comma";

/// Whether a parser stopped at the end of a list or of an object because a comma stands before it.
fn is_comma(body: &str, error: &serde_json::Error) -> bool {
    let start: usize = body.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let Some((before, rest)) = body.split_at_checked(start + error.column().saturating_sub(1)) else { return false };
    rest.starts_with(['}', ']']) && before.trim_end().ends_with(',')
}

/// The text with a blank for each byte of a comment; lines stay where they are.
pub(super) fn uncommented(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '"' => {
                let mut escaped = false;
                let end = rest.char_indices().skip(1).find(|(_, c)| {
                    let ends = *c == '"' && !escaped;
                    escaped = *c == '\\' && !escaped;
                    ends
                });
                end.map_or(rest.len(), |(at, _)| at + 1)
            }
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            c => c.len_utf8(),
        };
        let (piece, after) = rest.split_at(len);
        if first == '/' && len > 1 {
            out.extend(piece.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        } else {
            out.push_str(piece);
        }
        rest = after;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stricter_parser_than_ours_says_where_it_stops() {
        let line = |text: &str, comments: bool| strictly(text, comments).err().map(|unfit| unfit.line);
        assert_eq!(line("{\"a\": [1, {}]}", false), None);
        assert_eq!(line("\u{feff}{\n}", false), None);
        assert_eq!(line("{\n// c\n}", false), Some(2));
        assert_eq!(line("{\n// c\n\"a\": \"// no /* c\\\" */\" /* d\n */ }", true), None);
        assert_eq!(line("{\n\"a\": 1,\n}", true), Some(3));
        for odd in ["{\"a\": \"\t\"}", "{\u{a0}\"a\":1}", "{'a':1}", "{}{}"] {
            assert!(line(odd, true).is_some(), "{odd:?}");
        }
    }
}
