//! Data files that stand where one thing is expected.

use serde_json::Value;

use crate::text::header;

/// Whether a data file is a list of things, at its top or under `objects`.
pub(super) fn is_list_of_objects(name: &str, bytes: &[u8]) -> bool {
    if name.ends_with(".jsonl") || name.ends_with(".csv") {
        return bytes.iter().filter(|byte| **byte == b'\n').count() > 1;
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    if !header::is_bounded(text) {
        return false;
    }
    // JSON is YAML; the bounds of front matter hold here too.
    let header = header::parse_yaml(bytes);
    header.status == header::Status::NonMapping && text.trim_start().starts_with(['[', '-'])
        || ["objects", "items", "entities"].iter().any(|key| matches!(header.value(key), Some(Value::Array(_) | Value::Object(_))))
}
