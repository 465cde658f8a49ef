//! What of JSON a harness reads. We keep every byte of settings that people write with comments and trailing commas;
//! a harness whose parser is strict throws such a file away, and our relays with it. As tried with the real programs:
//! see `docs/harnesses.md`.

use serde::de::IgnoredAny;

use super::splice::Unfit;

/// How a harness reads its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// JSON as it is defined.
    Strict,
    /// JSON with comments, and nothing else besides.
    Comments,
}

/// What is known of a harness; and whether it takes a byte order mark.
fn of(harness: &str) -> Option<(Dialect, bool)> {
    match harness {
        "claude" => Some((Dialect::Strict, true)),
        "codex" => Some((Dialect::Strict, false)),
        "gemini" | "qwen" => Some((Dialect::Comments, false)),
        _ => None,
    }
}

/// Whether a harness can read a text; an empty one is nobody's mistake.
///
/// # Errors
/// Where it can't: it leaves out all that stands there.
pub(super) fn check(harness: &str, title: &str, text: &str) -> Result<(), Unfit> {
    let Some((dialect, mark)) = of(harness) else { return Ok(()) };
    let body = match text.strip_prefix('\u{feff}') {
        Some(_) if !mark => return Err(Unfit { line: 1, why: format!("{title} reads no file that begins with a byte order mark") }),
        Some(body) => body,
        None => text,
    };
    let body = if dialect == Dialect::Comments { without_comments(body) } else { body.to_owned() };
    if body.trim().is_empty() {
        return Ok(());
    }
    serde_json::from_str::<IgnoredAny>(&body).map(|_| ()).map_err(|error| {
        let line = error.line().max(1);
        let what = reason(&body, line, error.column());
        Unfit { line, why: format!("{title} can't read it, and leaves out all that stands in it: {what}") }
    })
}

/// What is wrong there, in words.
fn reason(text: &str, line: usize, column: usize) -> String {
    let said = text.lines().nth(line - 1).unwrap_or_default();
    let head = said.get(..column).unwrap_or(said);
    let at = head.chars().last();
    match at {
        Some('/') => "it has a comment".to_owned(),
        Some('}' | ']') if head.trim_end_matches(['}', ']']).trim_end().ends_with(',') => "it has a comma before a bracket".to_owned(),
        Some('}' | ']') if head.trim().len() == 1 => "it has a comma before a bracket, or is no JSON in another way".to_owned(),
        Some(c) if c.is_control() => "it has a tab or another control character in a string".to_owned(),
        _ => format!("it is not valid JSON (column {column})"),
    }
}

/// The text with blanks for its comments.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' if quoted => {
                out.push(c);
                out.extend(chars.next());
            }
            '"' => {
                quoted = !quoted;
                out.push(c);
            }
            '/' if !quoted && chars.peek() == Some(&'/') => {
                while let Some(c) = chars.next_if(|c| *c != '\n' && *c != '\r') {
                    let _ = c;
                    out.push(' ');
                }
            }
            '/' if !quoted && chars.peek() == Some(&'*') => {
                chars.next();
                let mut star = false;
                for c in chars.by_ref() {
                    if c == '\n' {
                        out.push('\n');
                    }
                    if star && c == '/' {
                        break;
                    }
                    star = c == '*';
                }
                out.push(' ');
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reads_what_it_was_seen_to_read() {
        let good = |harness: &str, text: &str| check(harness, "X", text).is_ok();
        let all = ["claude", "codex", "gemini", "qwen"];
        for text in ["", " \n", "{}", "{\r\n\"a\": \"// no \\\" comment\"}", "{\"a\":1,\"a\":2}"] {
            assert!(all.iter().all(|harness| good(harness, text)), "{text}");
        }
        for text in ["{ // c\n}", "/* c\n*/{}", "{}\n// end"] {
            assert!(!good("claude", text) && !good("codex", text) && good("gemini", text) && good("qwen", text), "{text}");
        }
        for text in ["{\"a\":1,}", "{\"a\":[1,]}", "{\"a\":\"x\ty\"}", "\u{a0}{}", "\u{c}{}", "{'a':1}"] {
            assert!(all.iter().all(|harness| !good(harness, text)), "{text}");
        }
        assert!(good("claude", "\u{feff}{}") && !good("codex", "\u{feff}{}"));
        // Where the relays are files of ours there is nothing to read.
        assert!(good("copilot", "{,"));
    }

    #[test]
    fn the_line_and_the_reason_are_told() {
        let said = |text: &str| check("claude", "Claude Code", text).unwrap_err();
        assert_eq!(said("{\n  \"a\": 1, // c\n  \"b\": 2\n}").line, 2);
        assert!(said("{\n  // c\n  \"b\": 2\n}").why.contains("a comment"), "{:?}", said("{\n  // c\n}"));
        assert!(said("{\"b\": [1,]}").why.contains("comma"), "{:?}", said("{\"b\": [1,]}"));
        assert!(said("{\"b\": \"a\tb\"}").why.contains("control character"), "{:?}", said("{\"b\": \"a\tb\"}"));
    }
}
