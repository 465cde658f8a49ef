use proptest::prelude::*;

use super::*;

/// The recorded payloads of a harness: name of the file and what the hook got on its standard input.
fn recorded(harness: &str) -> Vec<(String, Vec<u8>)> {
    let folder = format!("{}/fixtures/harness/{harness}", env!("CARGO_MANIFEST_DIR"));
    let mut found: Vec<(String, Vec<u8>)> = walkdir::WalkDir::new(folder)
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.path().extension().is_some_and(|ending| ending == "json"))
        .filter_map(|entry| {
            let record: Value = serde_json::from_slice(&crate::sys::disk::read(entry.path()).unwrap()).unwrap();
            let payload = record.get("stdin")?;
            Some((entry.file_name().to_string_lossy().into_owned(), serde_json::to_vec(payload).unwrap()))
        })
        .collect();
    found.sort();
    found
}

#[test]
fn recorded_calls_are_read_and_other_events_are_not() {
    for (harness, before) in [("claude", "PreToolUse-"), ("codex", "PreToolUse-"), ("gemini", "BeforeTool-"), ("pi", "tool_call-")] {
        let adapter = named(harness).unwrap();
        let payloads = recorded(harness);
        let calls = payloads.iter().filter(|(name, _)| name.starts_with(before)).count();
        assert!(calls >= 4, "{harness}: only {calls} recorded calls");
        for (name, payload) in payloads {
            let read = (adapter.read)(&payload);
            if name.starts_with(before) {
                let event = read.unwrap_or_else(|error| panic!("{harness}/{name}: {error}"));
                assert!(event.cwd.is_some() && event.session.is_some() && event.input.is_object(), "{harness}/{name}: {event:?}");
                assert_eq!(tool_name(&payload), Some(event.tool), "{harness}/{name}");
            } else {
                assert!(matches!(read, Err(Unreadable::OtherEvent(_))), "{harness}/{name}: {read:?}");
            }
        }
    }
}

#[test]
fn recorded_results_are_read_and_other_events_are_not() {
    for (harness, after) in [("claude", "PostToolUse-"), ("codex", "PostToolUse-"), ("gemini", "AfterTool-")] {
        let adapter = named(harness).unwrap();
        let mut count = 0;
        for (name, payload) in recorded(harness) {
            let read = (adapter.after)(&payload);
            if name.starts_with(after) {
                count += 1;
                let After { event, failed, .. } = read.unwrap_or_else(|error| panic!("{harness}/{name}: {error}"));
                assert!(event.cwd.is_some() && event.session.is_some() && event.input.is_object() && !failed, "{harness}/{name}");
            } else if name != "PostToolUse.json" {
                assert!(matches!(read, Err(Unreadable::OtherEvent(_) | Unreadable::Missing(_))), "{harness}/{name}: {read:?}");
            }
        }
        assert!(count >= 4, "{harness}: only {count} recorded results");
    }
}

#[test]
fn a_result_says_that_it_failed_in_many_ways() {
    let failed = |event: &str, response: &str| {
        let payload = format!(r#"{{"hook_event_name":"{event}","tool_name":"x","tool_input":{{}},"tool_response":{response}}}"#);
        flat_after(payload.as_bytes(), &["PostToolUse", "PostToolUseFailure"]).unwrap().failed
    };
    assert!(failed("PostToolUseFailure", "null"));
    for response in [
        r#"{"is_error":true}"#,
        r#"{"isError":true}"#,
        r#"{"success":false}"#,
        r#"{"interrupted":true}"#,
        r#"{"exit_code":3}"#,
        r#"{"error":"no"}"#,
        r#""Exit code: 1\nWall time""#,
    ] {
        assert!(failed("PostToolUse", response), "{response}");
    }
    for response in ["null", "{}", r#"{"error":null,"exit_code":0,"interrupted":false}"#, r#""Exit code: 0\n""#, r#""text""#] {
        assert!(!failed("PostToolUse", response), "{response}");
    }
}

#[test]
fn a_sub_agent_is_told_from_the_main_one() {
    for (harness, kind) in [("claude", "general-purpose"), ("codex", "")] {
        let adapter = named(harness).unwrap();
        let events: Vec<Event> = recorded(harness).iter().filter_map(|(_, payload)| (adapter.read)(payload).ok()).collect();
        let sub = events.iter().find(|event| event.agent_id.is_some()).unwrap_or_else(|| panic!("{harness}: no call of a sub-agent"));
        assert!(sub.agent_type.as_deref().is_some_and(|is| kind.is_empty() || is == kind), "{sub:?}");
        assert!(events.iter().any(|event| event.agent_id.is_none()));
    }
}

#[test]
fn camel_case_and_a_byte_order_mark_are_read_too() {
    let payload =
        "\u{feff}{\"sessionId\":\"s\",\"cwd\":\"/x\",\"toolName\":\"Write\",\"toolInput\":{\"a\":1},\"agentId\":\"7\",\"toolUseId\":\"c\"}";
    let event = flat(payload.as_bytes(), &["PreToolUse"]).unwrap();
    assert_eq!(
        (event.session.as_deref(), event.tool.as_str(), event.agent_id.as_deref(), event.call.as_deref()),
        (Some("s"), "Write", Some("7"), Some("c"))
    );
    assert_eq!(event.input, json!({ "a": 1 }));
}

#[test]
fn what_says_nothing_about_a_call_is_unreadable() {
    let deep = "[".repeat(100_000);
    for (payload, why) in [
        ("", "is not one JSON object"),
        ("[]", "is not one JSON object"),
        ("{} {}", "is not one JSON object"),
        (&deep, "is not one JSON object"),
        ("{}", "has no tool name"),
        (r#"{"tool_name":7,"tool_input":{}}"#, "has no tool name"),
        (r#"{"tool_name":"Write"}"#, "has no tool input"),
        (r#"{"tool_name":"Write","tool_input":{},"hook_event_name":"PostToolUse"}"#, "is about the event `PostToolUse`"),
    ] {
        let error = flat(payload.as_bytes(), &["PreToolUse"]).unwrap_err().to_string();
        assert!(error.starts_with(why), "{error}");
    }
}

#[test]
fn a_working_directory_that_is_not_absolute_is_none() {
    let event = flat(br#"{"cwd":"src","tool_name":"Write","tool_input":{}}"#, &[]).unwrap();
    assert_eq!(event.cwd, None);
}

#[test]
fn a_denial_has_every_spelling_and_is_never_silent() {
    for adapter in ALL {
        for reason in ["It is bob's.", ""] {
            let answer = (adapter.answer)(&Verdict::Refuse(reason.to_owned()));
            assert_eq!(answer.code, 2);
            let said: Value = serde_json::from_str(&answer.stdout).unwrap();
            let text = answer.stderr.trim_end();
            assert!(!text.is_empty() && (reason.is_empty() || text == reason));
            for place in ["/reason", "/permissionDecisionReason", "/hookSpecificOutput/permissionDecisionReason"] {
                assert_eq!(said.pointer(place).and_then(Value::as_str), Some(text), "{}: {place}", adapter.name);
            }
            for place in ["/permissionDecision", "/hookSpecificOutput/permissionDecision"] {
                assert_eq!(said.pointer(place).and_then(Value::as_str), Some("deny"), "{}: {place}", adapter.name);
            }
            assert_eq!(said["decision"], "block");
            assert_eq!(said["hookSpecificOutput"]["hookEventName"], "PreToolUse");
            // One that sees it ends its whole run.
            assert!(said.get("cancel").is_none());
        }
    }
}

#[test]
fn a_pass_says_nothing_and_a_note_is_seen() {
    for adapter in ALL {
        assert_eq!((adapter.answer)(&Verdict::Pass), Answer { stdout: String::new(), stderr: String::new(), code: 0 });
        let note = (adapter.answer)(&Verdict::Note("not checked".to_owned()));
        assert_eq!((note.code, note.stderr.as_str()), (0, "not checked\n"));
        if adapter.name == "pi" {
            assert!(note.stdout.is_empty());
        } else {
            assert_eq!(serde_json::from_str::<Value>(&note.stdout).unwrap(), json!({ "systemMessage": "not checked" }));
        }
    }
}

#[test]
fn a_text_is_no_longer_than_a_harness_takes() {
    let answer = universal(&Verdict::Refuse("é".repeat(20_000)));
    assert_eq!(answer.stderr.trim_end().chars().count(), 10_000);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_said_to_be_unreadable(payload in proptest::collection::vec(any::<u8>(), 0..400)) {
        for adapter in ALL {
            let _ = (adapter.read)(&payload);
        }
        let _ = tool_name(&payload);
    }

    #[test]
    fn a_payload_cut_or_bent_anywhere_never_panics(at in 0_usize..2000, byte in any::<u8>(), which in any::<proptest::sample::Index>()) {
        for adapter in ALL {
            let payloads = recorded(adapter.name);
            let (_, payload) = which.get(&payloads);
            let at = at % payload.len();
            let _ = (adapter.read)(&payload[..at]);
            let _ = tool_name(&payload[..at]);
            let mut bent = payload.clone();
            bent[at] = byte;
            let _ = (adapter.read)(&bent);
            let _ = tool_name(&bent);
        }
    }
}
