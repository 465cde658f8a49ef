use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn item() -> Value {
    json!({ "hooks": [{ "type": "command", "command": "loci gate" }] })
}

/// The position of what [`item`] put in.
fn ours(text: &str) -> Vec<usize> {
    elements(text, "Pre").unwrap().iter().enumerate().filter(|(_, element)| **element == item()).map(|(at, _)| at).collect()
}

/// Puts it in and takes it out, and shows what it looked like in between.
fn there_and_back(text: &str) -> (String, String) {
    let made = missing(text, "Pre").unwrap();
    let there = insert(text, "Pre", &[item()]).unwrap();
    let back = remove(&there, "Pre", &ours(&there), made).unwrap();
    (there, back)
}

#[test]
fn every_byte_is_kept_and_comes_back() {
    for text in [
        "",
        "{\n  \"a\": 1\n}\n",
        "{\n  \"a\": 1, // about a\n}\n",
        "{\n  \"a\": 1 // about a\n}\n",
        "{\n\t\"a\": [1, 2],\n\t\"hooks\": {\n\t\t\"Pre\": [\n\t\t\t{\"x\": 1}\n\t\t]\n\t}\n}",
        "{\r\n  \"a\": 1,\r\n  \"hooks\": {\"Post\": []}\r\n}\r\n",
        "\u{feff}{\"a\":1}",
        "// first\n{ \"a\": {} /* in */, }\n// last",
        "{\"hooks\":{\"Pre\":[{\"x\":1},]}}",
        "{\"hooks\":{\"Pre\":[{\"x\":1} /* x */, // y\n]}}",
        "{\"hooks\":{\"Pre\":[{\"x\":\"// no comment, }\"}]}}",
        "{\"hooks\":{\"Pre\":[\n]}}",
        "{\"hooks\":{\"Pre\":[]},\"z\":1}",
        "{\"hooks\":{},\"hooks\":{\"Pre\":[1]}}",
        "{\"hooks\":{\"Pre\":[1],\"Pre\":[2]}}",
        "{\"a\":1.50,\"b\":1e3,\"c\":\"\\u00e9\",\"d\":12345678901234567890123}",
        "{}",
        "{\n}\n",
        "{\"hooks\":{\n}}",
    ] {
        let (there, back) = there_and_back(text);
        assert_eq!(ours(&there).len(), 1, "{text:?} → {there:?}");
        assert_eq!(back.replace(char::is_whitespace, ""), text.replace(char::is_whitespace, ""), "{there}");
        // White space alone is let go, in what was empty but for it: the connector keeps the old bytes beside.
        if !text.is_empty() && !text.contains("[\n]") && !text.contains("{\n}") {
            assert_eq!(back, text, "{there}");
        }
    }
}

#[test]
fn it_looks_as_the_file_does() {
    let there = insert("{\n\t\"a\": 1 // about a\n}\n", "Pre", &[json!({ "b": [] })]).unwrap();
    assert_eq!(there, "{\n\t\"a\": 1, // about a\n\t\"hooks\": {\n\t\t\"Pre\": [\n\t\t\t{\n\t\t\t\t\"b\": []\n\t\t\t}\n\t\t]\n\t}\n}\n");
    assert_eq!(insert("{}", "Pre", &[json!(1)]).unwrap(), "{\n  \"hooks\": {\n    \"Pre\": [\n      1\n    ]\n  }\n}");
    assert!(insert("{\r\n \"a\": 1\r\n}", "Pre", &[json!(1)]).unwrap().split("\r\n").all(|line| !line.contains('\n')));
}

#[test]
fn neighbours_and_their_comments_stay() {
    let text = "{\"hooks\":{\"Pre\":[\n  1, // one\n  2, // two\n  3 // three\n]}}";
    assert_eq!(remove(text, "Pre", &[1], Made::Whole).unwrap(), "{\"hooks\":{\"Pre\":[\n  1, // one // two\n  3 // three\n]}}");
    assert_eq!(remove(text, "Pre", &[0, 2], Made::Whole).unwrap(), "{\"hooks\":{\"Pre\":[ // one\n  2 // two // three\n]}}");
    // What was made along goes only where nothing else is in it.
    assert_eq!(remove("{\"a\":1,\"hooks\":{\"Pre\":[1]}}", "Pre", &[0], Made::Hooks).unwrap(), "{\"a\":1}");
    assert_eq!(remove("{\"hooks\":{\"Pre\":[1],\"b\":2}}", "Pre", &[0], Made::Whole).unwrap(), "{\"hooks\":{\"b\":2}}");
    assert_eq!(remove("{\"hooks\":{\"Pre\":[1]}}", "Pre", &[0], Made::Elements).unwrap(), "{\"hooks\":{\"Pre\":[]}}");
}

#[test]
fn what_is_unfit_says_its_line() {
    for (text, line, why) in [
        ("{\n  \"a\": ,\n}", 2, "not valid JSON"),
        ("{\n\"a\": 1", 1, "not valid JSON"),
        ("[]", 1, "not a JSON object"),
        ("\n\n7", 3, "not a JSON object"),
        ("{\n\"hooks\": []}", 2, "`hooks` is not an object"),
        ("{\"hooks\":\n{\"Pre\": {}}}", 2, "`hooks.Pre` is not a list"),
        ("{'a': 1}", 1, "not valid JSON"),
        ("{a: 1}", 1, "not valid JSON"),
    ] {
        let error = insert(text, "Pre", &[item()]).unwrap_err();
        assert!(error.why.contains(why), "{text}: {error}");
        assert_eq!(error.line, line, "{text}: {error}");
    }
    assert!(insert(&"[".repeat(100_000), "Pre", &[item()]).is_err());
}

/// JSON as people write it: any spacing, comments, trailing commas.
fn written(value: &Value, taste: &mut impl FnMut() -> u8) -> String {
    let gap = |taste: &mut dyn FnMut() -> u8| match taste() % 9 {
        0 => " ".to_owned(),
        1 => "\n".to_owned(),
        2 => "\r\n\t".to_owned(),
        3 => " // c, ] } \"\n".to_owned(),
        4 => "/* c, ] } \" */".to_owned(),
        5 => "\n    ".to_owned(),
        _ => String::new(),
    };
    let (open, close, children): (_, _, Vec<String>) = match value {
        Value::Array(list) => ('[', ']', list.iter().map(|value| written(value, taste)).collect()),
        Value::Object(object) => {
            let mut children = Vec::new();
            for (key, value) in object {
                let (before, after) = (gap(taste), gap(taste));
                children.push(format!("{}{before}:{after}{}", Value::from(key.as_str()), written(value, taste)));
            }
            ('{', '}', children)
        }
        other => return other.to_string(),
    };
    let mut text = open.to_string();
    let count = children.len();
    for (at, child) in children.into_iter().enumerate() {
        text.push_str(&gap(taste));
        text.push_str(&child);
        text.push_str(&gap(taste));
        if at + 1 < count || taste().is_multiple_of(4) {
            text.push(',');
        }
    }
    text.push_str(&gap(taste));
    text.push(close);
    text
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z/*,\"\\\\}]{0,6}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-z]{0,3}|hooks|Pre", inner, 0..4)
                .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_stands_there_stays(
        mut root in proptest::collection::btree_map("[a-z]{1,3}", any_json(), 0..4),
        list in proptest::option::of(proptest::collection::vec(any_json(), 0..3)),
        others in proptest::collection::btree_map("[a-z]{1,3}", any_json(), 0..2),
        tastes in proptest::collection::vec(any::<u8>(), 1..200),
    ) {
        if let Some(list) = list {
            let mut hooks: serde_json::Map<_, _> = others.into_iter().collect();
            hooks.insert("Pre".to_owned(), Value::from(list));
            root.insert("hooks".to_owned(), hooks.into());
        }
        let mut at = 0;
        let text = written(&root.into_iter().collect::<serde_json::Map<_, _>>().into(), &mut || { at += 1; tastes[at % tastes.len()] });
        let (there, back) = there_and_back(&text);
        prop_assert_eq!(ours(&there).len(), 1);
        let solid = |text: &str| text.replace(char::is_whitespace, "");
        prop_assert_eq!(solid(&back), solid(&text), "{}", there);
    }

    #[test]
    fn any_text_is_worked_on_or_refused(text in "[\\[\\]{}\":,a/* \\n\\\\1]{0,40}") {
        let _ = insert(&text, "Pre", &[item()]);
        let _ = remove(&text, "Pre", &[0], Made::Whole);
    }
}
