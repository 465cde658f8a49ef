//! Which lines of a file a call has read, as far as its arguments and its result tell.

use serde_json::Value;

/// First and last line; `None` for a whole file, and where nothing tells.
pub(super) fn of(input: &Value, response: Option<&Value>) -> Option<(u64, u64)> {
    let number = |value: &Value, keys: &[&str]| keys.iter().find_map(|key| value.get(*key)?.as_u64());
    let offset = number(input, &["offset"]);
    let limit = number(input, &["limit"]);
    if let (Some(first), Some(last)) =
        (number(input, &["start_line", "startLine", "line_start"]), number(input, &["end_line", "endLine", "line_end"]))
    {
        return range(first, last);
    }
    if offset.is_none() && limit.is_none() {
        return None;
    }
    // What was read says more than what was asked for.
    if let Some(file) = response.and_then(|response| response.get("file"))
        && let (Some(first), Some(count)) = (number(file, &["startLine"]), number(file, &["numLines"]))
    {
        return range(first, first.checked_add(count)?.checked_sub(1)?);
    }
    let first = offset.unwrap_or(1).max(1);
    range(first, first.checked_add(limit?)?.checked_sub(1)?)
}

fn range(first: u64, last: u64) -> Option<(u64, u64)> {
    (1..=last).contains(&first).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::of;

    #[test]
    fn arguments_and_results_tell() {
        assert_eq!(of(&json!({ "file_path": "/a" }), None), None);
        assert_eq!(of(&json!({ "offset": 10, "limit": 20 }), None), Some((10, 29)));
        assert_eq!(of(&json!({ "limit": 20 }), None), Some((1, 20)));
        assert_eq!(of(&json!({ "offset": 0, "limit": 20 }), None), Some((1, 20)));
        assert_eq!(of(&json!({ "offset": 10 }), None), None);
        assert_eq!(of(&json!({ "start_line": 3, "end_line": 4 }), None), Some((3, 4)));
        let read = json!({ "file": { "startLine": 10, "numLines": 5, "totalLines": 14 } });
        assert_eq!(of(&json!({ "offset": 10, "limit": 20 }), Some(&read)), Some((10, 14)));
    }

    #[test]
    fn what_can_not_be_is_nothing() {
        for odd in [
            json!({ "offset": u64::MAX, "limit": u64::MAX }),
            json!({ "offset": 5, "limit": 0 }),
            json!({ "offset": -1, "limit": "x" }),
            json!({ "start_line": 9, "end_line": 2 }),
            json!([]),
            json!(null),
        ] {
            assert_eq!(of(&odd, Some(&json!({ "file": { "startLine": u64::MAX, "numLines": 7 } }))), None, "{odd}");
        }
    }
}
