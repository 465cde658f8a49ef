//! JSON as the harnesses write it, which is more than our parser takes: halves of surrogate pairs,
//! nesting without end, numbers out of range. A payload that only we refuse must not pass unread.

use serde_json::{Map, Value};

use super::Unreadable;

/// How deep values are kept; what is deeper is null. Below the parser's own bound.
const MAX_DEPTH: usize = 100;

/// Reads one JSON object: as it is, and where that fails, mended.
pub(super) fn object(payload: &[u8]) -> Result<Map<String, Value>, Unreadable> {
    // Some programs put a byte order mark before what they write.
    let payload = payload.strip_prefix(b"\xef\xbb\xbf").unwrap_or(payload);
    serde_json::from_slice(payload)
        .or_else(|error| serde_json::from_slice(&mended(payload)).map_err(|_| Unreadable::NotAnObject(error.to_string())))
}

/// Arguments that are an object written as text are that object.
pub(super) fn unwrapped(mut input: Value) -> Value {
    // Text in text in text: nobody means that.
    for _ in 0..3 {
        let Value::String(text) = &input else { break };
        if !text.trim_start().starts_with('{') {
            break;
        }
        let Ok(object) = object(text.as_bytes()) else { break };
        input = Value::Object(object);
    }
    input
}

/// The same JSON in a form that the parser takes.
fn mended(payload: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(payload);
    let mut rest = text.as_bytes();
    let mut out = Vec::with_capacity(rest.len());
    let mut depth = 0_usize;
    while let Some((first, after)) = rest.split_first() {
        let kept = depth <= MAX_DEPTH;
        let taken = match first {
            b'"' => {
                let length = string_length(rest);
                if kept {
                    string(rest.get(..length).unwrap_or(rest), &mut out);
                }
                length
            }
            b'{' | b'[' => {
                depth += 1;
                if depth <= MAX_DEPTH {
                    out.push(*first);
                } else if kept {
                    out.extend(b"null");
                }
                1
            }
            b'}' | b']' => {
                if kept {
                    out.push(*first);
                }
                depth = depth.saturating_sub(1);
                1
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => {
                if kept {
                    out.push(*first);
                }
                1
            }
            _ => {
                let length = 1 + after.iter().take_while(|byte| !b"\"{}[],: \t\n\r".contains(byte)).count();
                let token = rest.get(..length).unwrap_or(rest);
                if kept {
                    out.extend(if serde_json::from_slice::<Value>(token).is_ok() { token } else { b"null" });
                }
                length
            }
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    out
}

/// How long the string at the start is, with its quotes; all that is left where it has no end.
fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// A string with each half of a surrogate pair replaced, as every decoder of UTF-16 does.
fn string(text: &[u8], out: &mut Vec<u8>) {
    let code = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let (length, broken) = match (byte, code(at)) {
            (b'\\', Some(0xd800..=0xdbff)) if matches!(code(at + 6), Some(0xdc00..=0xdfff)) => (12, false),
            (b'\\', Some(0xd800..=0xdfff)) => (6, true),
            (b'\\', Some(_)) => (6, false),
            (b'\\', None) => (2, false),
            _ => (1, false),
        };
        out.extend(if broken { b"\\ufffd" } else { text.get(at..at + length).unwrap_or_default() });
        at += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> Value {
        Value::Object(object(text.as_bytes()).unwrap())
    }

    #[test]
    fn what_only_the_parser_refuses_is_read() {
        for (text, wanted) in [
            (r#"{"a":"x \ud83d y","p":"/o"}"#, json!({ "a": "x \u{fffd} y", "p": "/o" })),
            (r#"{"a":"\ude00\\ud83d\ud83d\ude00\"","p":1}"#, json!({ "a": "\u{fffd}\\ud83d😀\"", "p": 1 })),
            (r#"{"a":1e999,"b":-Infinity,"c":NaN,"p":[1.5,true]}"#, json!({ "a": null, "b": null, "c": null, "p": [1.5, true] })),
        ] {
            assert_eq!(read(text), wanted, "{text}");
        }
        assert_eq!(Value::Object(object(b"{\"a\":\"\xff\"}").unwrap()), json!({ "a": "\u{fffd}" }));
        let deep = format!(r#"{{"x":{}"]"{},"p":"/o"}}"#, "[".repeat(5_000), "]".repeat(5_000));
        assert_eq!(read(&deep)["p"], "/o");
        let deep = format!(r#"{{"x":{}1{},"p":"/o"}}"#, "{\"y\":".repeat(100_000), "}".repeat(100_000));
        assert_eq!(read(&deep)["p"], "/o");
    }

    #[test]
    fn what_is_no_object_stays_none() {
        for text in ["", "[]", "{", r#"{"a":"#, r#"{"a":"x"#, "{}{}", "nonsense", "{\"\\"] {
            assert!(object(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn arguments_as_text_are_unwrapped() {
        let input = json!({ "file_path": "/o" });
        let text = Value::String(input.to_string());
        assert_eq!(unwrapped(text.clone()), input);
        assert_eq!(unwrapped(Value::String(text.to_string())), Value::String(text.to_string()));
        assert_eq!(unwrapped(json!("*** Begin Patch")), json!("*** Begin Patch"));
    }
}
