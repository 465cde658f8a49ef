//! The name of the tool in a payload that can't be read as a whole: too large, cut, or broken further
//! on. Only the top of the object is looked at, and nothing is built.

/// The tool that a payload names, as far as it can be told from its beginning.
#[must_use]
pub fn tool_name(payload: &[u8]) -> Option<String> {
    const INNER: [(&[u8], &[u8]); 2] = [(b"tool_call", b"name"), (b"preToolUse", b"toolName")];
    first(payload, &|outer, key| match outer {
        None => matches!(key, b"tool_name" | b"toolName"),
        Some(outer) => INNER.contains(&(outer, key)),
    })
}

/// The event that a payload names, likewise.
#[must_use]
pub fn event_name(payload: &[u8]) -> Option<String> {
    first(payload, &|outer, key| outer.is_none() && matches!(key, b"hook_event_name" | b"hookEventName"))
}

/// Whether a key is wanted, by the key of the object around it.
type Wanted<'a> = dyn Fn(Option<&[u8]>, &[u8]) -> bool + 'a;

/// The first text whose key is wanted, at the top of the object or one step below: `wanted` is asked with the
/// key of the object around it, and the key.
fn first(payload: &[u8], wanted: &Wanted<'_>) -> Option<String> {
    let mut scan = Scan { rest: payload };
    let mut depth = 0_usize;
    // The keys at the top and one step below.
    let mut keys: [Option<&[u8]>; 2] = [None; 2];
    let mut value_next = false;
    while let Some(byte) = scan.next() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                value_next = byte == b'[' && depth <= 2;
                if let Some(key) = keys.get_mut(depth - 1) {
                    *key = None;
                }
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                value_next = true;
            }
            b':' => value_next = true,
            b',' => value_next = false,
            b'"' => {
                let raw = scan.string()?;
                let Some(at) = depth.checked_sub(1).filter(|at| *at < 2) else { continue };
                if !value_next {
                    if let Some(key) = keys.get_mut(at) {
                        *key = Some(raw);
                    }
                    continue;
                }
                let outer = if at == 1 { keys[0] } else { None };
                if let Some(key) = keys.get(at).copied().flatten()
                    && (at == 0 || outer.is_some())
                    && wanted(outer, key)
                {
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
    use super::{event_name, tool_name};

    #[test]
    fn the_top_of_a_cut_payload_tells() {
        let name = |text: &str| tool_name(text.as_bytes());
        assert_eq!(name(r#"{"cwd":"/x","tool_name":"Write","tool_input":{"content":"aaaa"#).as_deref(), Some("Write"));
        assert_eq!(name(r#"{"tool_input":{"tool_name":"Read","a":["tool_name"]},"toolName":"bash""#).as_deref(), Some("bash"));
        assert_eq!(name(r#"{"a":"tool_name","tool_name" : "Wr\u0069te"}"#).as_deref(), Some("Write"));
        assert_eq!(name(r#"{"a\"tool_name":"x","tool_name":"y"}"#).as_deref(), Some("y"));
        let inner = r#"{"a":{"name":"x","tool_call":{"name":"z"}},"l":["tool_call",{"name":"l"}],"tool_call":{"id":"name","name":"editor","input":"#;
        assert_eq!(name(inner).as_deref(), Some("editor"));
        assert_eq!(name(r#"{"preToolUse":{"parameters":{"toolName":"x"},"toolName":"editor"#).as_deref(), None);
        assert_eq!(name(r#"{"preToolUse":{"parameters":{"toolName":"x"},"toolName":"editor"}"#).as_deref(), Some("editor"));
        assert_eq!(event_name(br#"{"x":{"hook_event_name":"a"},"hook_event_name":"ConfigChange","#).as_deref(), Some("ConfigChange"));
    }

    #[test]
    fn what_does_not_tell_is_nothing() {
        for text in ["", "{", "[\"tool_name\",\"x\"]", r#"{"tool_name":"Wri"#, r#"{"tool_name":7}"#, "}", "\"tool_name\"", "{\"\\"] {
            assert_eq!(tool_name(text.as_bytes()), None, "{text}");
        }
    }
}
