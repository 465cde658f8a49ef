//! The name of the tool in a payload that can't be read as a whole: too large, cut, or broken further
//! on. Only the top of the object is looked at, and nothing is built.

/// The tool that a payload names, as far as it can be told from its beginning.
#[must_use]
pub fn tool_name(payload: &[u8]) -> Option<String> {
    let mut scan = Scan { rest: payload };
    let (mut depth, mut key) = (0_usize, None::<&[u8]>);
    let mut value_next = false;
    while let Some(byte) = scan.next() {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b':' if depth == 1 => value_next = true,
            b',' if depth == 1 => (key, value_next) = (None, false),
            b'"' => {
                let raw = scan.string()?;
                if depth == 1 && !value_next {
                    key = Some(raw);
                } else if depth == 1 && key.is_some_and(|key| key == b"tool_name" || key == b"toolName") {
                    // A name with escapes in it is read like any other JSON text.
                    let quoted = [b"\"", raw, b"\""].concat();
                    return serde_json::from_slice(&quoted).ok();
                }
            }
            _ => {}
        }
    }
    None
}

struct Scan<'a> {
    rest: &'a [u8],
}

impl<'a> Scan<'a> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// What stands in a string whose opening quote was just read; `None` where its end is missing.
    fn string(&mut self) -> Option<&'a [u8]> {
        let mut at = 0;
        loop {
            match self.rest.get(at)? {
                b'\\' => at += 2,
                b'"' => break,
                _ => at += 1,
            }
        }
        let (inside, rest) = self.rest.split_at_checked(at)?;
        self.rest = rest.get(1..)?;
        Some(inside)
    }
}

#[cfg(test)]
mod tests {
    use super::tool_name;

    #[test]
    fn the_top_of_a_cut_payload_tells() {
        let name = |text: &str| tool_name(text.as_bytes());
        assert_eq!(name(r#"{"cwd":"/x","tool_name":"Write","tool_input":{"content":"aaaa"#).as_deref(), Some("Write"));
        assert_eq!(name(r#"{"tool_input":{"tool_name":"Read","a":["tool_name"]},"toolName":"bash""#).as_deref(), Some("bash"));
        assert_eq!(name(r#"{"a":"tool_name","tool_name" : "Wr\u0069te"}"#).as_deref(), Some("Write"));
        assert_eq!(name(r#"{"a\"tool_name":"x","tool_name":"y"}"#).as_deref(), Some("y"));
    }

    #[test]
    fn what_does_not_tell_is_nothing() {
        for text in ["", "{", "[\"tool_name\",\"x\"]", r#"{"tool_name":"Wri"#, r#"{"tool_name":7}"#, "}", "\"tool_name\"", "{\"\\"] {
            assert_eq!(tool_name(text.as_bytes()), None, "{text}");
        }
    }
}
