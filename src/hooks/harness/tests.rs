use proptest::prelude::*;

use super::*;

/// The recorded payloads of a harness: name of the file and what the hook got on its standard input.
fn recorded(harness: &str) -> Recorded {
    let folder = format!("{}/fixtures/harness/{harness}", env!("CARGO_MANIFEST_DIR"));
    let mut found: Recorded = walkdir::WalkDir::new(folder)
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

fn claude(payload: &[u8]) -> Result<Event, Unreadable> {
    named("claude").unwrap().event(Seam::BeforeTool, payload)
}

/// Names of files, and what a hook got.
type Recorded = Vec<(String, Vec<u8>)>;

/// All of them, read once.
static PAYLOADS: std::sync::LazyLock<std::collections::BTreeMap<&str, Recorded>> =
    std::sync::LazyLock::new(|| ALL.into_iter().map(|adapter| (adapter.name, recorded(adapter.name))).collect());

/// What an event is called: as the payload says, or (Copilot CLI, Cline) as the file does that it was recorded in.
fn native_of(name: &str, payload: &[u8]) -> String {
    let said = serde_json::from_slice::<Value>(payload).unwrap();
    let mut plain = name.strip_suffix(".json").unwrap();
    for tag in [".agent", ".more", ".cwd", ".stdin"] {
        plain = plain.strip_suffix(tag).unwrap_or(plain);
    }
    let file = plain.split_once('-').map_or(plain, |(event, _)| event);
    said["hook_event_name"].as_str().unwrap_or(file).to_owned()
}

/// Seams of a harness that a run without a terminal does not come by; known from its documents or source.
const UNSEEN: &[(&str, Seam)] =
    &[("cline", Seam::BeforeIteration), ("cline", Seam::AfterRun), ("hermes", Seam::AfterRun), ("qwen", Seam::AfterRun)];

#[test]
fn each_recorded_event_is_read_at_its_own_seam_and_at_no_other() {
    for adapter in ALL {
        let mut seen = std::collections::BTreeSet::new();
        for (name, payload) in recorded(adapter.name) {
            let native = native_of(&name, &payload);
            for seam in Seam::ALL {
                let read = adapter.event(seam, &payload);
                // What was recorded inside of pi is not what the shim says of a result.
                if adapter.point(seam, Some(&native)).is_some() && name.starts_with("tool_result") {
                    continue;
                }
                match adapter.point(seam, Some(&native)) {
                    Some(_) => {
                        let event = read.unwrap_or_else(|error| panic!("{}/{name}: {error}", adapter.name));
                        assert_eq!((event.seam, event.native.as_str()), (seam, native.as_str()));
                        assert!(event.cwd.is_some(), "{}/{name}", adapter.name);
                        assert_eq!(event.tool.is_empty(), !matches!(seam, Seam::BeforeTool | Seam::AfterTool), "{}/{name}", adapter.name);
                        let prompt = seam == Seam::BeforeIteration && adapter.name != "pi";
                        assert_eq!(event.prompt.is_some() && seam == Seam::BeforeIteration, prompt, "{}/{name}", adapter.name);
                        seen.insert(seam);
                    }
                    // Its payloads name no event: whoever calls says which one it is.
                    None if adapter.name == "copilot" => {}
                    None => assert!(matches!(read, Err(Unreadable::OtherEvent(_))), "{}/{name}: {read:?}", adapter.name),
                }
            }
        }
        let known: std::collections::BTreeSet<Seam> = adapter.points.iter().map(|point| point.seam).collect();
        let unseen: std::collections::BTreeSet<Seam> =
            UNSEEN.iter().filter(|(name, _)| *name == adapter.name).map(|(_, seam)| *seam).chain([Seam::AfterTool]).collect();
        assert!(seen.is_superset(&known.difference(&unseen).copied().collect()), "{}: {seen:?}", adapter.name);
    }
}

#[test]
fn what_an_answer_says_stands_where_the_harness_reads_it() {
    let answer = Answer { context: "Read this.".to_owned(), notes: vec!["a line".to_owned()], ..Answer::default() };
    for (harness, seam, native) in [
        ("claude", Seam::BeforeRun, "SessionStart"),
        ("claude", Seam::AfterTool, "PostToolUseFailure"),
        ("codex", Seam::BeforeIteration, "UserPromptSubmit"),
        ("gemini", Seam::AfterTool, "AfterTool"),
    ] {
        let reply = named(harness).unwrap().reply(seam, Some(native), &answer);
        let wanted = json!({
            "hookSpecificOutput": { "additionalContext": "Read this.", "hookEventName": native }, "systemMessage": "a line",
        });
        assert_eq!((serde_json::from_str::<Value>(&reply.stdout).unwrap(), reply.stderr.as_str(), reply.code), (wanted, "a line\n", 0));
    }
    let reply = named("pi").unwrap().reply(Seam::AfterTool, None, &answer);
    assert_eq!((reply.stdout.as_str(), reply.stderr.as_str()), ("{\"context\":\"Read this.\"}\n", "a line\n"));
    let rewrite = Answer { input: Some(json!({ "command": "ls" })), ..Answer::default() };
    for (harness, place) in [("claude", "/hookSpecificOutput/updatedInput"), ("gemini", "/hookSpecificOutput/tool_input"), ("pi", "/input")]
    {
        let reply = named(harness).unwrap().reply(Seam::BeforeTool, None, &rewrite);
        assert_eq!(serde_json::from_str::<Value>(&reply.stdout).unwrap().pointer(place), rewrite.input.as_ref(), "{harness}");
    }
    let go_on = named("codex").unwrap().reply(Seam::AfterIteration, None, &Answer::block("Not yet."));
    assert_eq!((go_on.stdout.as_str(), go_on.code), ("{\"decision\":\"block\",\"reason\":\"Not yet.\"}\n", 0));
}

#[test]
fn recorded_calls_are_read_and_other_events_are_not() {
    for (harness, before) in [
        ("claude", "PreToolUse-"),
        ("cline", "PreToolUse-"),
        ("codex", "PreToolUse-"),
        ("copilot", "preToolUse-"),
        ("gemini", "BeforeTool-"),
        ("hermes", "pre_tool_call-"),
        ("opencode", "tool.execute.before-"),
        ("pi", "tool_call-"),
        ("qwen", "PreToolUse-"),
    ] {
        let adapter = named(harness).unwrap();
        let payloads = recorded(harness);
        let calls = payloads.iter().filter(|(name, _)| name.starts_with(before)).count();
        assert!(calls >= 4, "{harness}: only {calls} recorded calls");
        for (name, payload) in payloads {
            let read = adapter.event(Seam::BeforeTool, &payload);
            if name.starts_with(before) {
                let event = read.unwrap_or_else(|error| panic!("{harness}/{name}: {error}"));
                let patch = event.input.as_str().is_some_and(|text| harness == "copilot" && text.starts_with("*** Begin Patch"));
                assert!(
                    event.cwd.is_some() && event.session.is_some() && (event.input.is_object() || patch),
                    "{harness}/{name}: {event:?}"
                );
                assert_eq!(tool_name(&payload), Some(event.tool), "{harness}/{name}");
            } else if harness != "copilot" || !name.contains("ToolUse") {
                let other = matches!(read, Err(Unreadable::OtherEvent(_))) || (harness == "copilot" && read.is_err());
                assert!(other, "{harness}/{name}: {read:?}");
            }
        }
    }
}

#[test]
fn recorded_results_are_read_and_other_events_are_not() {
    for (harness, after) in [
        ("claude", "PostToolUse-"),
        ("cline", "PostToolUse-"),
        ("codex", "PostToolUse-"),
        ("copilot", "postToolUse"),
        ("gemini", "AfterTool-"),
        ("hermes", "post_tool_call-"),
        ("opencode", "tool.execute.after-"),
        ("qwen", "PostToolUse"),
    ] {
        let adapter = named(harness).unwrap();
        let mut count = 0;
        for (name, payload) in recorded(harness) {
            let read = adapter.event(Seam::AfterTool, &payload);
            if name.starts_with(after) {
                count += 1;
                let event = read.unwrap_or_else(|error| panic!("{harness}/{name}: {error}"));
                assert!(event.cwd.is_some() && event.session.is_some() && !event.input.is_null(), "{harness}/{name}");
                // What was recorded a second time is a patch that went well, and calls that did not.
                assert_eq!(event.failed, name.contains(".more") && !name.contains("patch"), "{harness}/{name}");
            } else if name != "PostToolUse.json" && harness != "copilot" {
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
        named("claude").unwrap().event(Seam::AfterTool, payload.as_bytes()).unwrap().failed
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
    for (harness, kind) in [("claude", "general-purpose"), ("codex", ""), ("copilot", "general-purpose"), ("opencode", "general")] {
        let adapter = named(harness).unwrap();
        let events: Vec<Event> =
            recorded(harness).iter().filter_map(|(_, payload)| adapter.event(Seam::BeforeTool, payload).ok()).collect();
        let sub = events.iter().find(|event| event.agent_id.is_some()).unwrap_or_else(|| panic!("{harness}: no call of a sub-agent"));
        assert!(sub.agent_type.as_deref().is_some_and(|is| kind.is_empty() || is == kind), "{sub:?}");
        assert!(events.iter().any(|event| event.agent_id.is_none()));
    }
}

#[test]
fn a_sub_agent_is_of_its_session_where_the_harness_says_whose_it_is() {
    for (harness, main, sub) in [
        ("copilot", "preToolUse-task.json", "preToolUse-create.agent.json"),
        ("opencode", "tool.execute.before-task.json", "tool.execute.before-write.agent.json"),
        ("qwen", "PreToolUse-agent.json", "PreToolUse-write_file.agent.json"),
    ] {
        let payloads = recorded(harness);
        let event = |wanted: &str| {
            let (_, payload) = payloads.iter().find(|(name, _)| name == wanted).unwrap_or_else(|| panic!("{harness}/{wanted}"));
            named(harness).unwrap().event(Seam::BeforeTool, payload).unwrap()
        };
        let (main, sub) = (event(main), event(sub));
        assert_eq!(main.agent_id, None, "{harness}");
        assert!(sub.agent_id.is_some(), "{harness}");
        // Copilot's sessions are numbered anew in each record.
        if harness != "copilot" {
            assert_eq!(main.session, sub.session, "{harness}");
        } else {
            assert_ne!(sub.session, sub.agent_id);
        }
    }
    let hermes: Vec<Event> =
        recorded("hermes").iter().filter_map(|(_, payload)| named("hermes").unwrap().event(Seam::BeforeTool, payload).ok()).collect();
    assert!(hermes.iter().any(|event| event.agent_id.as_deref().is_some_and(|id| id.starts_with("sa-"))));
    assert!(hermes.iter().any(|event| event.agent_id.is_none()) && hermes.iter().all(|event| event.call.is_some()));
    // Cline names an agent always, and a parent only for a sub-agent.
    let cline = |parent: &str| {
        let payload = format!(
            r#"{{"hookName":"tool_call","taskId":"t","workspaceRoots":["/w"],"agent_id":"a","parent_agent_id":{parent},"tool_call":{{"id":"c","name":"editor","input":{{"path":"x"}}}}}}"#
        );
        named("cline").unwrap().event(Seam::BeforeTool, payload.as_bytes()).unwrap()
    };
    assert_eq!((cline("null").agent_id, cline("\"p\"").agent_id.as_deref()), (None, Some("a")));
    assert_eq!((cline("null").session.as_deref(), cline("null").cwd), (Some("t"), Some("/w".into())));
}

#[test]
fn relays_of_every_harness_name_the_harness_and_where_no_gate_answers_speak_its_language() {
    for adapter in ALL {
        for (program, observe) in
            [(Some("/h/.loci/bin/loci".to_owned()), false), (None, false), (Some("/h/.loci/bin/loci".to_owned()), true)]
        {
            let call = Call { program, harness: adapter.name, observe };
            let texts: Vec<String> = match adapter.wiring.relay {
                Relay::Groups { groups, .. } => adapter
                    .points
                    .iter()
                    .filter(|point| call.at(point.seam))
                    .flat_map(|point| groups(&call, point))
                    .map(|group| group.to_string())
                    .collect(),
                Relay::Yaml(items) => adapter
                    .points
                    .iter()
                    .filter(|point| call.at(point.seam))
                    .flat_map(|point| items(&call, point))
                    .map(|item| item.to_string())
                    .collect(),
                Relay::Files(files) => files(&call).into_iter().map(|ours| ours.text).collect(),
            };
            assert!(!texts.is_empty() && texts.iter().all(|text| text.contains(adapter.name)), "{}", adapter.name);
            assert!(
                ["__NAME", "__PROGRAM", "__SEAMS", "__GUARDED", "__PATIENCE", "__SPEAKS"]
                    .iter()
                    .all(|place| !texts.iter().any(|text| text.contains(place))),
                "{}: a place in it was not filled in",
                adapter.name
            );
            // A shim can do it all; its list of seams says what it does.
            let seams = |text: &str| text.lines().find(|line| line.starts_with("const SEAMS")).map(str::to_owned);
            let asks = |text: &String| match seams(text) {
                Some(seams) => seams.contains("before-tool"),
                None => text.contains(&format!("gate --for {}", adapter.name)),
            };
            let gate = texts.iter().any(asks);
            assert_eq!(gate, !observe, "{}", adapter.name);
        }
    }
}

#[test]
fn camel_case_and_a_byte_order_mark_are_read_too() {
    let payload =
        "\u{feff}{\"sessionId\":\"s\",\"cwd\":\"/x\",\"toolName\":\"Write\",\"toolInput\":{\"a\":1},\"agentId\":\"7\",\"toolUseId\":\"c\"}";
    let event = claude(payload.as_bytes()).unwrap();
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
        let error = claude(payload.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(why), "{error}");
    }
}

#[test]
fn a_working_directory_that_is_not_absolute_is_none() {
    let event = claude(br#"{"cwd":"src","tool_name":"Write","tool_input":{}}"#).unwrap();
    assert_eq!(event.cwd, None);
}

#[test]
fn a_denial_has_every_spelling_and_is_never_silent() {
    for adapter in ALL.into_iter().filter(|adapter| adapter.name != "cline") {
        for reason in ["It is bob's.", ""] {
            let answer = adapter.reply(Seam::BeforeTool, None, &Answer::block(reason));
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
        for seam in Seam::ALL {
            assert_eq!(adapter.reply(seam, None, &Answer::default()), Reply::default());
        }
        let note = adapter.reply(Seam::BeforeTool, None, &Answer::note("not checked"));
        assert_eq!((note.code, note.stderr.as_str()), (0, "not checked\n"));
        if ["claude", "codex", "gemini", "qwen"].contains(&adapter.name) {
            assert_eq!(serde_json::from_str::<Value>(&note.stdout).unwrap(), json!({ "systemMessage": "not checked" }));
        } else {
            assert!(note.stdout.is_empty());
        }
    }
}

#[test]
fn a_text_is_no_longer_than_a_harness_takes() {
    let answer = named("codex").unwrap().reply(Seam::BeforeTool, None, &Answer::block("é".repeat(20_000)));
    assert_eq!(answer.stderr.trim_end().chars().count(), 10_000);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_said_to_be_unreadable(payload in proptest::collection::vec(any::<u8>(), 0..400)) {
        for adapter in ALL {
            for seam in Seam::ALL {
                let _ = adapter.event(seam, &payload);
            }
        }
        let _ = tool_name(&payload);
    }

    #[test]
    fn a_payload_cut_or_bent_anywhere_never_panics(at in 0_usize..2000, byte in any::<u8>(), which in any::<proptest::sample::Index>()) {
        for adapter in ALL {
            let (_, payload) = which.get(&PAYLOADS[adapter.name]);
            let at = at % payload.len();
            let _ = adapter.event(Seam::BeforeTool, &payload[..at]);
            let _ = tool_name(&payload[..at]);
            let mut bent = payload.clone();
            bent[at] = byte;
            let _ = adapter.event(Seam::AfterTool, &bent);
            let _ = adapter.event(Seam::BeforeTool, &bent);
            let _ = tool_name(&bent);
        }
    }
}
