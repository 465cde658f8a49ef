//! YAML that we write, and what the reader says about YAML that it can't read.

use std::fmt::Write as _;

use crate::sys::shown;

/// A text as a double-quoted scalar of YAML on one line. What YAML can't hold as it is, and what would not show itself,
/// is escaped.
#[must_use]
pub fn scalar(text: &str) -> String {
    written(text, true)
}

/// A text as a string of JSON that is a scalar of YAML, too. JSON alone lets stand what YAML takes for a line end or for no
/// character at all.
#[must_use]
pub fn json(text: &str) -> String {
    written(text, false)
}

/// `wide`: whether hidden characters beyond `U+FFFF` are escaped; the two have no common way for them.
fn written(text: &str, wide: bool) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        let code = u32::from(c);
        // Writing to a string can't fail.
        let _ = match c {
            '"' | '\\' => write!(out, "\\{c}"),
            '\n' => write!(out, "\\n"),
            '\t' => write!(out, "\\t"),
            '\r' => write!(out, "\\r"),
            c if code <= 0xffff && (shown::hidden(c) || code >= 0xfffe) => write!(out, "\\u{code:04x}"),
            c if wide && shown::hidden(c) => write!(out, "\\U{code:08x}"),
            c => write!(out, "{c}"),
        };
    }
    out.push('"');
    out
}

/// The line, from 1, where it is known, and the reason on one line without its positions. YAML ends lines at more
/// characters than `\n`; people, their editors and the rest of loci don't, so the line is counted anew from where the
/// reader stood.
#[must_use]
pub fn refusal(text: &str, error: &serde_yaml::Error) -> (Option<usize>, String) {
    let message = error.to_string();
    let message = message.lines().next().unwrap_or_default();
    let why = message.split(" at line ").next().unwrap_or(message).chars().take(200).collect();
    let line = error.location().map(|at| 1 + text.bytes().take(at.index()).filter(|byte| *byte == b'\n').count());
    (line, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

        /// Whatever stands in a text: it is one line, and comes back as it was.
        #[test]
        fn what_is_quoted_is_read_again(text in "([\\x00-\\xa0\u{2028}-\u{202e}\u{feff}\u{fffd}-\u{ffff}\u{e0000}-\u{e007f}\u{10fffd}]|.){0,12}") {
            for quoted in [scalar(&text), json(&text)] {
                proptest::prop_assert_eq!(serde_yaml::from_str::<String>(&quoted).ok(), Some(text.clone()), "{:?}", quoted);
                proptest::prop_assert!(!quoted.chars().any(char::is_control), "{:?}", quoted);
            }
            proptest::prop_assert_eq!(serde_json::from_str::<String>(&json(&text)).ok(), Some(text.clone()));
        }
    }

    #[test]
    fn lines_are_those_of_an_editor() {
        for (text, line) in [
            ("a: 1\nb: [\n", 3),
            ("a: 1\nb: ]\n", 2),
            ("a: 1\r\nb: ]\r\n", 2),
            ("a: \u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\nb: ]\n", 2),
            ("a: 'x\u{2028}\u{2028}\u{85}\u{2029}y'\nb: ]\nc: d\n", 2),
            ("a: |\n  x\u{2028}  y\u{85}  z\nb: ]\nc: d\n", 3),
            ("a:\r\r\r b\n# \r\rc\nb: ]\n", 3),
        ] {
            let error = serde_yaml::from_str::<serde_yaml::Value>(text).unwrap_err();
            let (at, why) = refusal(text, &error);
            assert_eq!(at, Some(line), "{text:?}: {error}");
            assert!(!why.is_empty() && !why.contains("at line"), "{why}");
        }
    }
}
