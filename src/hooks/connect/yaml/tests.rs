use proptest::prelude::*;
use serde_json::json;

use super::*;

fn item() -> Value {
    json!({ "matcher": "a|b", "command": "sh -c 'x \"y\" # \\ é'", "timeout": 10 })
}

fn ours(text: &str) -> Vec<usize> {
    elements(text, "pre").unwrap().iter().enumerate().filter(|(_, element)| **element == item()).map(|(at, _)| at).collect()
}

#[test]
fn every_byte_is_kept_and_comes_back() {
    for text in [
        "",
        "a: 1\n",
        "a: 1\r\n# end\r\n",
        "# top\nmodel:\n  default: x # y\n\n# last\n",
        "hooks:\n  pre:\n    - command: mine\n      timeout: 3\n  # about post\n  post:\n    - command: theirs\nz: 1\n",
        "hooks:\n  pre:\n  - command: mine\n\n# about z\nz: |\n  hooks:\n    pre: x\n",
        "hooks:\n    post:\n        - {command: x}\n",
        "x:\n  hooks:\n    pre: 1\n\"hooks\":\n  \"pre\":\n    - command: mine\n",
        "hooks: # mine\n  post:\n    - command: >-\n        long\n        text\n",
    ] {
        let made = missing(text, "pre").unwrap();
        let there = insert(text, "pre", &[item(), item()]).unwrap();
        assert_eq!(ours(&there).len(), 2, "{there}");
        assert_eq!(remove(&there, "pre", &ours(&there), made).unwrap(), text, "{there}");
    }
}

#[test]
fn it_stands_where_it_belongs() {
    let there = insert("hooks:\n  pre:\n  - command: mine # my own\nz: 1\n", "pre", &[json!({ "command": "x", "timeout": 1 })]).unwrap();
    assert_eq!(there, "hooks:\n  pre:\n  - command: mine # my own\n  - command: \"x\"\n    timeout: 1\nz: 1\n");
    let there = insert("hooks: {} # none\nz: 1", "pre", &[json!({ "command": "x" })]).unwrap();
    assert_eq!(there, "hooks: # none\n  pre:\n    - command: \"x\"\nz: 1\n");
    let there = insert("hooks:\n  pre: []\n", "pre", &[json!({ "command": "x" })]).unwrap();
    assert_eq!(there, "hooks:\n  pre:\n    - command: \"x\"\n");
}

#[test]
fn what_another_program_has_written_anew_is_taken_out_all_the_same() {
    let text =
        "a: 1\nhooks:\n  pre:\n  - command: mine\n  - command: 'sh -c ''x \"y\" # \\\n      é'''\n    matcher: a|b\n    timeout: 10\n";
    assert_eq!(ours(text), [1]);
    assert_eq!(remove(text, "pre", &[1], Made::Whole).unwrap(), "a: 1\nhooks:\n  pre:\n  - command: mine\n");
}

#[test]
fn what_is_not_a_block_is_refused_with_its_line() {
    for (text, line) in [
        ("a: 1\nhooks: {pre: [{command: x}]}\n", 2),
        ("hooks:\n  pre: [{command: x}]\n", 2),
        ("a: 1\nhooks: 7\n", 2),
        ("hooks:\n  pre: text\n", 2),
        ("a: [\n", 2),
        ("- 1\n", 1),
    ] {
        assert_eq!(insert(text, "pre", &[item()]).unwrap_err().line, line, "{text}");
    }
}

#[test]
fn a_form_that_is_no_plain_block_is_called_by_its_name() {
    for (text, line, word) in [
        ("a: 1\nhooks: &h\n  pre:\n    - command: x\n", 2, "anchor `&h`"),
        ("x: &h\n  pre: []\nhooks: *h\n", 3, "another place (`*h`)"),
        ("hooks: !!map\n  pre:\n    - command: x\n", 1, "tag `!!map`"),
        ("hooks:\n  pre: &p\n    - command: x\n", 2, "anchor `&p`"),
        ("hooks: {\n  pre: [{command: x}]\n}\n", 1, "brackets"),
        ("hooks:\n  pre: [\n    {command: x}\n  ]\n", 2, "brackets"),
        ("{a: 1, hooks: {}}\n", 1, "the whole file is written in brackets"),
        ("# mine\n  a: 1\n  b: 2\n", 2, "left edge"),
        ("a: 1\n... # end\n", 2, "ends the document"),
        ("? hooks\n: pre:\n    - command: x\n", 1, "`?`"),
        ("\"ho\\u006fks\":\n  pre: []\n", 1, "left edge"),
    ] {
        let unfit = insert(text, "pre", &[item()]).unwrap_err();
        assert!(unfit.line == line && unfit.why.contains(word), "{text}: {unfit:?}");
    }
}

#[test]
fn a_byte_order_mark_stays_and_hides_no_key() {
    for text in ["\u{feff}a: 1\n", "\u{feff}hooks:\n  pre:\n    - command: mine\n", "\u{feff}hooks:\n  post: []\n"] {
        let put = insert(text, "pre", &[item()]).unwrap();
        assert!(put.starts_with('\u{feff}') && put.matches("hooks:").count() == 1, "{put:?}");
        let read: serde_yaml::Value = serde_yaml::from_str(put.trim_start_matches('\u{feff}')).unwrap();
        assert!(read["hooks"]["pre"].is_sequence(), "{put:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_worked_on_or_refused(text in "(hooks|pre|post|  |- |: |\\{\\}|\\[|\\]|\n|#|x|\"|'|\\||\t){0,40}") {
        if let Ok(made) = missing(&text, "pre")
            && let Ok(there) = insert(&text, "pre", &[item()])
        {
            let at = ours(&there);
            prop_assert!(!at.is_empty());
            let _ = remove(&there, "pre", &at, made);
        }
    }
}
