use proptest::prelude::*;

use super::*;

const KEY: &str = "0123456789abcdef";

fn log(lines: &[(&str, &str)]) -> Vec<Value> {
    lines.iter().map(|(event, text)| json!({ "at": "t", "key": KEY, "event": event, "by": "b", "text": text, "held": text })).collect()
}

#[test]
fn the_log_says_where_a_message_stands() {
    let one = |lines: &[(&str, &str)]| fold(&log(lines)).remove(KEY).unwrap_or_default();
    assert_eq!(one(&[]).state, State::New);
    assert_eq!(one(&[("filed", ""), ("again", ""), ("again", "")]).again, 2);
    assert_eq!(one(&[("taken", ""), ("again", "")]).state, State::Taken);
    let done = one(&[("taken", ""), ("added", "idea"), ("done", "yes"), ("taken", "")]);
    assert_eq!((done.state, done.answer.map(|answer| answer.text).as_deref()), (State::Done, Some("yes")));
    assert_eq!((done.added.len(), done.closed.as_deref()), (1, Some("t")));
    assert_eq!(one(&[("declined", "no")]).state, State::Declined);
    let applied = one(&[("applied", ""), ("again", "")]);
    assert_eq!((applied.state, applied.applied), (State::Taken, true));
    assert_eq!(one(&[("done", "yes"), ("pruned", "")]), Standing::default());
    assert_eq!(one(&[("held", "x"), ("held", "x"), ("held", "y")]).held, ["x", "y"]);
    // A further request opens a digest again; the same one once more does not.
    assert_eq!(one(&[("held", "x"), ("done", "ok"), ("held", "x")]).state, State::Done);
    let further = one(&[("held", "x"), ("done", "ok"), ("held", "y")]);
    assert_eq!((further.state, further.answer.is_some(), further.closed), (State::New, true, None));
    assert_eq!(one(&[("held", "x"), ("declined", "no"), ("unkept", "")]).state, State::New);
    let begun = json!({ "at": "t", "key": KEY, "event": "answering", "by": "b", "state": "done", "text": "yes" });
    let standing = |records: &[Value]| fold(records).remove(KEY).unwrap_or_default();
    let waits = standing(std::slice::from_ref(&begun));
    assert_eq!((waits.state, waits.begun.map(|begun| begun.text).as_deref()), (State::New, Some("yes")));
    let given = [vec![begun], log(&[("done", "yes")])].concat();
    assert_eq!((standing(&given).state, standing(&given).begun), (State::Done, None));
    assert_eq!(one(&[("from-the-future", "")]).state, State::New);
    assert!(fold(&[json!({ "key": "../../x", "event": "done" }), json!({})]).is_empty());
}

#[test]
fn a_line_may_be_anything() {
    let lines = [
        format!("{{\"key\":\"{KEY}\",\"event\":\"done\",\"at\":7,\"text\":null}}"),
        format!("{{\"key\":\"{KEY}\",\"event\":\"added\",\"reads\":[1,\"a\"],\"text\":[]}}"),
        format!("{{\"key\":\"{KEY}\",\"event\":\"filed\",\"message\":{{\"id\":5}}}}"),
        format!("{{\"key\":\"{KEY}\",\"event\":\"again\",\"by\":\"\\u0041\",\"key\":\"{KEY}\"}}"),
        "[]".to_owned(),
        "{\"key\":\"0123456789abc".to_owned(),
    ];
    let log = lines.join("\n");
    let (all, skipped) = fold_bytes(log.as_bytes());
    let Noted { standing: one, shows } = &all[&letter::number(KEY).unwrap()];
    assert_eq!((skipped, one.state, one.answer.is_some(), one.closed.as_deref()), (2, State::Done, true, Some("")));
    assert_eq!((one.added[0].reads.as_slice(), one.again, shows.is_none()), (["a".to_owned()].as_slice(), 1, true));
}

fn odd() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[a-z\"\\n]{0,3}".prop_map(Value::from),
        any::<u8>().prop_map(Value::from),
        Just(Value::Null),
        Just(json!(["x", 1])),
        Just(json!({ "id": "x" })),
        Just(Value::from(KEY)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The quick way and the lenient one say the same of every log.
    #[test]
    fn both_folds_agree(lines in prop::collection::vec((prop::sample::select(vec!["filed", "again", "added", "taken", "applied", "pruned", "done", "declined", "answering", "held", "unkept", "x"]), odd(), odd(), odd(), odd(), 0..16_u8), 0..6)) {
        let records: Vec<Value> = lines.iter().map(|(event, text, held, reads, message, which)| {
            let mut record = json!({ "at": "t", "key": KEY, "event": event, "by": "b" });
            for (bit, name, value) in [(1, "text", text), (2, "held", held), (4, "reads", reads), (8, "message", message)] {
                if which & bit != 0 {
                    record[name] = value.clone();
                }
            }
            record
        }).collect();
        let bytes: String = records.iter().map(|record| format!("{record}\n")).collect();
        let (all, skipped) = fold_bytes(bytes.as_bytes());
        let standing = all.get(&letter::number(KEY).unwrap()).map(|noted| noted.standing.clone());
        prop_assert_eq!((standing, skipped), (fold(&records).remove(KEY), 0));
    }
}
