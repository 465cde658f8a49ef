use super::*;
use proptest::prelude::*;
use serde_json::json;

fn fields(text: &str) -> (Status, Value) {
    let header = parse(text.as_bytes());
    (header.status, header.object())
}

#[test]
fn the_body_is_a_slice_of_the_file() {
    for (file, body) in [
        ("---\na: b\n---\nbody\n", "body\n"),
        ("---\r\na: b\r\n---\r\nbody\r\nx\r\n", "body\r\nx\r\n"),
        ("\u{feff}---\na: b\n---\nbody", "body"),
        ("---\n---\nhi", "hi"),
        ("---  \na: b\n---\t\nb\n", "b\n"),
        ("---\na: b\n---", ""),
        ("---", "---"),
        ("---\n", "---\n"),
        ("---\na: b\n", "---\na: b\n"),
        ("+++\na = 1\n+++\nb\n", "+++\na = 1\n+++\nb\n"),
        ("\n---\na: b\n---\n", "\n---\na: b\n---\n"),
        ("----\na: b\n---\n", "----\na: b\n---\n"),
        ("---\na: b\n---\nx\n---\ny", "x\n---\ny"),
        ("", ""),
    ] {
        assert_eq!(parse(file.as_bytes()).body_of(file.as_bytes()), body.as_bytes(), "{file:?}");
    }
}

#[test]
fn statuses() {
    for (file, status) in [
        ("---\na: b\n---\n", Status::Ok),
        ("a: b\n", Status::None),
        ("---\n# c\n\n---\n", Status::Empty),
        ("---\n---\n", Status::Empty),
        ("---\na: b: c\n---\n", Status::Lenient),
        ("---\na: 1\na: 2\n---\n", Status::Lenient),
        ("---\n{a: [\n---\n", Status::Malformed),
        ("---\na: b\n", Status::Unterminated),
        ("---\n- a\n---\n", Status::NonMapping),
        ("---\ntext\n---\n", Status::NonMapping),
        ("---\n\"a\n---\n", Status::Malformed),
    ] {
        assert_eq!(parse(file.as_bytes()).status, status, "{file:?}");
    }
    assert_eq!(parse(b"---\na: \xff\n---\n").status, Status::NotUtf8);
    assert_eq!(parse(format!("---\na: {}\n---\n", "b".repeat(MAX_BYTES)).as_bytes()).status, Status::TooLarge);
}

#[test]
fn lines_and_text_as_written() {
    let header = parse(b"---\n# c\nv: 1.10\nid: 0123\nn: ~\nempty:\nq: \"12\"\nlist: [a, b]\nt: True\n---\n");
    for (key, text, line) in [
        ("v", Some("1.10"), 3),
        ("id", Some("0123"), 4),
        ("n", Some("~"), 5),
        ("empty", Some(""), 6),
        ("q", Some("12"), 7),
        ("list", None, 8),
        ("t", Some("True"), 9),
    ] {
        assert_eq!((header.text(key), header.line(key)), (text, Some(line)), "{key}");
    }
    assert_eq!(header.value("q"), Some(&json!("12")));
    assert_eq!(header.value("n"), Some(&Value::Null));
}

#[test]
fn the_last_of_two_equal_keys_counts_and_is_said() {
    let header = parse(b"---\na: 1\nb: 2\na: 3\n---\n");
    assert_eq!(header.object(), json!({"a": 3, "b": 2}));
    assert_eq!(header.line("a"), Some(4));
    assert_eq!(header.notes.len(), 1);
    assert_eq!((header.notes[0].status, header.notes[0].line), (Status::Lenient, 4));
}

#[test]
fn what_people_write() {
    for (inner, wanted) in [
        ("description: Use when: asked\n", json!({"description": "Use when: asked"})),
        ("description: [beta] a tool\n", json!({"description": "[beta] a tool"})),
        ("name: a\nm:\n\tk: v\n", json!({"name": "a"})),
        ("path: \"C:\\dir\"\nb: c\n", json!({"path": "C:\\dir", "b": "c"})),
        ("a: Use: this\n  and that\nb: 2\n", json!({"a": "Use: this and that", "b": 2})),
        ("a: @x\n", json!({"a": "@x"})),
        ("a: *x\nb: 1\n", json!({"a": "*x", "b": 1})),
        ("a: x: y # c\n", json!({"a": "x: y"})),
    ] {
        assert_eq!(fields(&format!("---\n{inner}---\n")), (Status::Lenient, wanted), "{inner:?}");
    }
    let header = parse(b"---\nname: a\ndescription: Use when: asked\n---\n");
    assert_eq!((header.notes[0].line, header.line("description")), (3, Some(3)));
}

#[test]
fn bombs_are_refused_cheaply() {
    let mut bomb = String::from("a: &a [x,x,x,x,x,x,x,x,x]\n");
    for (now, last) in "bcdefghi".chars().zip("abcdefgh".chars()) {
        bomb.push_str(&format!("{now}: &{now} [{}]\n", vec![format!("*{last}"); 9].join(",")));
    }
    assert_eq!(fields(&format!("---\n{bomb}---\n")), (Status::TooLarge, json!({})));
    assert_eq!(fields(&format!("---\na: {}\n---\n", "[".repeat(60_000))), (Status::TooLarge, json!({})));
    assert_eq!(fields(&format!("---\n{}\n---\n", "- ".repeat(200))).0, Status::TooLarge);
    // An honest alias is fine.
    assert_eq!(fields("---\na: &x [1]\nb: *x\n---\n"), (Status::Ok, json!({"a": [1], "b": [1]})));
}

#[test]
fn tags_and_odd_numbers_are_read() {
    assert_eq!(
        fields("---\na: !x y\nb: .nan\nc: 123456789012345678901234567890\n---\n"),
        (Status::Ok, json!({"a": "y", "b": ".nan", "c": "123456789012345678901234567890"}))
    );
    assert_eq!(fields("---\n1: a\ntrue: b\n---\n"), (Status::Ok, json!({"1": "a", "true": "b"})));
}

/// A value that people write, or something near it.
fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,12}",
        "[a-zA-Z0-9 :#'\"\\[\\]{}&*!|>%@,.~-]{0,10}",
        "[\\PC]{0,6}",
        "\\p{any}{0,4}",
        Just("null".to_owned()),
        Just("yes".to_owned()),
        Just("True".to_owned()),
        Just("1e5".to_owned()),
        Just("2026-11-30T10:00:00Z".to_owned()),
        Just("12:30".to_owned()),
        "[0-9_.+e-]{1,8}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// The quick way never says anything else than the full way.
    #[test]
    fn quick_and_full_way_agree(lines in prop::collection::vec(("[a-zA-Z][a-z_-]{0,3}|on|true|[ -~]{0,4}", "|:|: |:  |:\t", scalar(), "\n|\r\n|\n\n"), 0..5)) {
        let inner: String = lines.iter().map(|(key, colon, value, end)| format!("{key}{colon}{value}{end}")).collect();
        if let Some(fields) = plain::read(&inner).filter(|fields| !fields.is_empty()) {
            let full = read_in_full(&inner, 0..0);
            prop_assert_eq!(full.status, Status::Ok, "{:?}: {:?}", inner, full.notes);
            prop_assert_eq!(full.fields, fields, "{:?}", inner);
        }
    }

    /// The same for lists, as messages have them.
    #[test]
    fn quick_and_full_way_agree_on_lists(fields in prop::collection::vec(("[a-c]", prop::collection::vec("(  - \"[ -~é]{0,5}\"|  - [a-z]|- \"x\"|   - \"x\"|  -\"x\"|  - \"x\" #|[a-z]: 0|  - \"x\"\r)", 0..4), " ?(\\[\\]|0)?"), 0..4)) {
        let inner: String = fields.iter().map(|(key, items, text)| format!("{key}:{text}\n{}", items.iter().map(|item| format!("{item}\n")).collect::<String>())).collect();
        if let Some(fields) = plain::read(&inner).filter(|fields| !fields.is_empty()) {
            let full = read_in_full(&inner, 0..0);
            prop_assert_eq!(full.status, Status::Ok, "{:?}: {:?}", inner, full.notes);
            prop_assert_eq!(full.fields, fields, "{:?}", inner);
        }
    }

    /// Whatever the bytes are: no panic, and the body is the end of the file.
    #[test]
    fn any_bytes(bytes in prop::collection::vec(prop_oneof![Just(b'-'), Just(b'\n'), Just(b':'), Just(b' '), any::<u8>()], 0..80), fenced in any::<bool>()) {
        let bytes = if fenced { [&b"---\n"[..], &bytes, b"\n---\nb"].concat() } else { bytes };
        let header = parse(&bytes);
        prop_assert_eq!(header.body.end, bytes.len());
        prop_assert!(header.body.start <= bytes.len());
    }
}
