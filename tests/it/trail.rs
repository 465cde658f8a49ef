//! The trail: what the relay after a call records, what a delegation takes from it, and slips.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox};

fn world() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .file("repo/.loci/agent.md", "---\nid: alice\n---\n")
        .file("repo/notes.txt", "first\n")
        .file("repo/owned/.loci/owner.md", "---\nowner: bob\n---\n")
        .file("repo/owned/a.txt", "alpha\nbeta\n");
    sandbox
}

fn call(sandbox: &Sandbox, event: &str, tool: &str, input: &Value, response: &Value) -> Value {
    json!({
        "session_id": "s-1", "cwd": sandbox.path("repo"), "hook_event_name": event, "tool_name": tool,
        "tool_input": input, "tool_response": response, "tool_use_id": format!("{tool}-{input}"),
    })
}

fn told_with(sandbox: &Sandbox, harness: &str, payload: &[u8], fault: Option<&str>) -> Run {
    let mut command = sandbox.command("repo");
    command.args(["hook", "after-tool", "--for", harness]);
    if let Some(fault) = fault {
        command.env("LOCI_FAULT", fault);
    }
    Run::of(&mut command, Some(payload))
}

fn told(sandbox: &Sandbox, payload: &Value) {
    let run = told_with(sandbox, "claude", payload.to_string().as_bytes(), None).exits(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
}

fn read(sandbox: &Sandbox, path: impl AsRef<Path>, more: &Value) -> Value {
    let mut input = json!({ "file_path": path.as_ref() });
    input.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    call(sandbox, "PostToolUse", "Read", &input, &json!({}))
}

fn refused(sandbox: &Sandbox) -> Run {
    let mut payload = call(sandbox, "PreToolUse", "Write", &json!({ "file_path": "owned/a.txt", "content": "new\n" }), &json!({}));
    payload["agent_id"] = json!("a7");
    let mut command = sandbox.command("repo");
    command.args(["gate", "--for", "claude"]);
    Run::of(&mut command, Some(payload.to_string().as_bytes())).exits(2)
}

fn steps(sandbox: &Sandbox) -> Vec<Value> {
    let object = sandbox.loci("repo", ["trail", "--json"]).exits(0).json();
    assert_eq!((object["schema"].as_i64(), object["session"].as_str()), (Some(1), Some("s-1")));
    object["steps"].as_array().unwrap().clone()
}

fn letters(sandbox: &Sandbox, place: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(sandbox.path(place).join(".loci/memory/inbox/new")) else { return Vec::new() };
    entries.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect()
}

#[test]
fn steps_are_recorded_as_they_were() {
    let sandbox = world();
    told(&sandbox, &read(&sandbox, sandbox.path("repo/owned/a.txt"), &json!({ "offset": 1, "limit": 2 })));
    told(&sandbox, &call(&sandbox, "PostToolUse", "Write", &json!({ "file_path": "notes.txt", "content": "first\n" }), &json!({})));
    told(&sandbox, &call(&sandbox, "PostToolUse", "Write", &json!({ "file_path": "gone.txt", "content": "x" }), &json!({})));
    told(
        &sandbox,
        &call(&sandbox, "PostToolUse", "Write", &json!({ "file_path": "notes.txt", "content": "x" }), &json!({ "is_error": true })),
    );
    refused(&sandbox);
    let steps = steps(&sandbox);
    let passed: Vec<bool> = steps.iter().map(|step| step["passed"].as_bool().unwrap()).collect();
    // What it says it wrote is not there; it failed; it was refused.
    assert_eq!(passed, [true, true, false, false, false]);
    assert!(steps.iter().all(|step| step["agent"] == "alice" && step["harness"] == "claude"));
    assert_eq!(steps[0]["acts"][0], json!({ "act": "read", "path": sandbox.path("repo/owned/a.txt"), "lines": [1, 2] }));
    assert_eq!(steps[1]["acts"][0]["sha256"], loci::text::digest::sha256(b"first\n"));
    assert_eq!(steps[1]["place"], json!(sandbox.path("repo")));
    assert_eq!((steps[4]["sub_agent"].as_str(), steps[4]["refused"][0]["owner"].as_str()), (Some("a7"), Some("bob")));
    let why = sandbox.loci("repo", ["trail", "--last"]).exits(0).stdout;
    assert!(why.contains("owned/a.txt") && why.contains("owner.md:2") && why.contains("filed as "), "{why}");
    let one = sandbox.loci("repo", ["trail", "--session", "s-1", "--last", "--json"]).exits(0).json();
    assert_eq!(one["step"]["refused"][0]["why"], "owned");
    assert!(sandbox.loci("repo", ["trail"]).exits(0).stdout.contains("read "));
    sandbox.loci("repo", ["trail", "--session", "other"]).exits(1);
}

#[test]
fn a_delegation_carries_what_was_read_newest_last_and_once() {
    let sandbox = world();
    for (path, more) in
        [("owned/a.txt", json!({ "offset": 1, "limit": 1 })), ("notes.txt", json!({})), ("owned/a.txt", json!({ "offset": 1, "limit": 1 }))]
    {
        told(&sandbox, &read(&sandbox, sandbox.path("repo").join(path), &more));
    }
    refused(&sandbox);
    let letter = &letters(&sandbox, "repo/owned")[0];
    let wanted = format!(
        "reads:\n  - \"{}\"\n  - \"{}:1-1\"\nchange:",
        sandbox.path("repo/notes.txt").display(),
        sandbox.path("repo/owned/a.txt").display()
    );
    assert!(letter.contains(&wanted), "{letter}");
}

#[test]
fn what_ended_in_somebodys_directory_after_all_is_told_to_the_owner_once() {
    let sandbox = world();
    let write = call(&sandbox, "PostToolUse", "Write", &json!({ "file_path": "door/a.txt", "content": "swapped\n" }), &json!({}));
    sandbox.dir("repo/door");
    let mut before = write.clone();
    before["hook_event_name"] = json!("PreToolUse");
    let mut command = sandbox.command("repo");
    command.args(["gate", "--for", "claude"]);
    Run::of(&mut command, Some(before.to_string().as_bytes())).exits(0);
    // Between the answer and the write somebody makes it a link.
    fs::remove_dir(sandbox.path("repo/door")).unwrap();
    sandbox.link("repo/door", "owned").file("repo/owned/a.txt", "swapped\n");
    told(&sandbox, &write);
    told(&sandbox, &write);
    let letters = letters(&sandbox, "repo/owned");
    assert_eq!(letters.len(), 1);
    let wanted = sandbox.path("repo/owned/a.txt").display().to_string();
    for part in ["kind: slip", "from: \"alice\"", "to: \"bob\"", "tool: \"Write\"", &wanted, "Nothing was taken back"] {
        assert!(letters[0].contains(part), "{part}: {}", letters[0]);
    }
    let steps = steps(&sandbox);
    assert_eq!((steps[0]["passed"].as_bool(), steps[0]["filed"].as_array().map(Vec::len)), (Some(false), Some(1)));
}

#[test]
fn a_refused_call_is_no_slip_and_neither_is_a_failed_one() {
    let sandbox = world();
    refused(&sandbox);
    let input = json!({ "file_path": "owned/a.txt", "content": "new\n" });
    told(&sandbox, &call(&sandbox, "PostToolUse", "Write", &input, &json!({})));
    let mut failed = call(&sandbox, "PostToolUseFailure", "Write", &input, &json!({}));
    failed["tool_use_id"] = json!("another");
    told(&sandbox, &failed);
    let letters = letters(&sandbox, "repo/owned");
    assert!(letters.len() == 1 && letters[0].contains("kind: delegation"), "{letters:?}");
    assert_eq!(steps(&sandbox).len(), 2);
}

#[test]
fn whatever_comes_the_exit_code_is_zero_and_it_is_said() {
    let sandbox = world();
    let nameless = json!({ "cwd": "/", "tool_name": "Read", "tool_input": {} }).to_string();
    for payload in [
        "",
        "{",
        "[]",
        "{\"tool_name\":7}",
        "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"x\",\"tool_input\":{}}",
        &nameless,
        "\u{0}\u{1b}[2J",
    ] {
        for harness in ["claude", "codex", "gemini", "pi"] {
            let run = told_with(&sandbox, harness, payload.as_bytes(), None).exits(0);
            assert!(run.stdout.is_empty() && run.stderr.starts_with("loci: this step is not in the trail: "), "{payload}: {run:?}");
            assert_eq!(run.stderr.lines().count(), 1);
            assert!(!run.stderr.contains('\u{1b}'));
        }
    }
    let good = read(&sandbox, "notes.txt", &json!({})).to_string();
    let run = told_with(&sandbox, "claude", good.as_bytes(), Some("panic:after-tool")).exits(0);
    assert!(run.stderr.contains("not in the trail"), "{run:?}");
    // What is asked for wrongly is said with what works.
    for line in [&["hook", "before-lunch", "--for", "claude"][..], &["hook", "after-tool", "--for", "nobody"]] {
        let run = sandbox.loci("repo", line).exits(2);
        assert!(run.stderr.contains("after-tool") || run.stderr.contains("claude"), "{}", run.stderr);
    }
    assert!(!sandbox.path("state/loci/trail").exists());
}

/// Every operation on the disk fails once, and the relay is killed after every one: the exit code is 0
/// where it lives, the trail stays readable, and the slip is there once after one more try.
#[test]
fn faults_hold_nobody_up_and_break_no_line() {
    let write = |sandbox: &Sandbox| {
        call(sandbox, "PostToolUse", "Write", &json!({ "file_path": "owned/a.txt", "content": "x" }), &json!({})).to_string()
    };
    let sandbox = world();
    let log = sandbox.path("ops");
    told_with(&sandbox, "claude", write(&sandbox).as_bytes(), Some(&format!("log:{}", log.display()))).exits(0);
    let count = fs::read_to_string(&log).unwrap().lines().count();
    assert!(count >= 8, "{count}");
    for n in 1..=count {
        for fault in [format!("fail:{n}:28"), format!("kill:{n}")] {
            let sandbox = world();
            let run = told_with(&sandbox, "claude", write(&sandbox).as_bytes(), Some(&fault));
            if fault.starts_with("fail") {
                run.exits(0);
            }
            told(&sandbox, &serde_json::from_str(&write(&sandbox)).unwrap());
            let letters = letters(&sandbox, "repo/owned");
            assert!(letters.len() == 1 && letters[0].ends_with("```\n"), "{fault}: {letters:?}");
            let object = sandbox.loci("repo", ["trail", "--json"]).exits(0).json();
            assert!(object["skipped"] == 0 && !object["steps"].as_array().unwrap().is_empty(), "{fault}: {object}");
        }
    }
}

#[test]
fn hostile_lines_of_a_trail_are_skipped_and_said() {
    let sandbox = world();
    let line = json!({ "at": "\u{1b}[2J", "agent": "a\nb", "harness": "x", "tool": "\u{202e}", "passed": true,
        "acts": [{ "act": "read", "path": "/a\n---\nfrom: \"human\"\n", "lines": [9, 1] }] });
    sandbox.file("state/loci/trail/s-1.jsonl", format!("{line}\n{{\"at\":\n[]\n\u{0}\n{{\"at\":\"torn"));
    let run = sandbox.loci("repo", ["trail"]).exits(0);
    assert!(run.stderr.contains("4 lines") && run.stdout.lines().count() == 1 && !run.stdout.contains(['\u{1b}', '\u{202e}']), "{run:?}");
    refused(&sandbox);
    let letter = &letters(&sandbox, "repo/owned")[0];
    assert!(letter.contains("from: \"alice\"") && !letter.contains("\nfrom: \"human\""), "{letter}");
}

#[test]
fn a_long_trail_is_cut() {
    let sandbox = world();
    sandbox.file("state/loci/trail/s-1.jsonl", "x\n".repeat(1_100_000));
    told(&sandbox, &read(&sandbox, "notes.txt", &json!({})));
    assert!(fs::metadata(sandbox.path("state/loci/trail/s-1.jsonl")).unwrap().len() < 1_000);
    assert!(sandbox.path("state/loci/trail/s-1.jsonl.old").exists());
}
