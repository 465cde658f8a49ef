//! Work that is handed over: messages, answers, requests.

use std::fs;

use super::custody::{refused, repo};
use super::engine::{Row, words};
use crate::sandbox::{Run, Sandbox};

/// With one message of alice's to bob.
fn with_mail() -> Sandbox {
    let world = repo();
    let mut command = world.command("r");
    command.args(["gate", "--for", "claude"]);
    Run::of(&mut command, Some(refused(&world).as_bytes())).exits(2);
    world
}

/// The id of the one message in an inbox.
fn letter(world: &Sandbox, place: &str) -> String {
    let list = world.loci(place, ["inbox", "--json"]).json();
    list["messages"][0]["id"].as_str().unwrap_or_else(|| panic!("{list}")).to_owned()
}

fn about(world: &Sandbox, verb: &str, more: &[&str]) -> Vec<String> {
    let mut args = words(verb);
    args.push(letter(world, "r/owned"));
    args.extend(more.iter().map(|word| (*word).to_owned()));
    args
}

/// With a request of alice's for a verb that only a person carries out.
fn with_request() -> Sandbox {
    let world = repo();
    let mut command = world.command("r");
    command.args(["own", "free", "--as", "alice"]).env("LOCI_ANCESTORS", "claude");
    Run::of(&mut command, None).exits(1);
    world
}

/// With a request for a change of what is a person's.
fn with_patch() -> Sandbox {
    let world = repo();
    let payload = serde_json::json!({
        "session_id": "s-1", "cwd": world.path("r"), "hook_event_name": "PreToolUse", "tool_name": "Write",
        "tool_input": { "file_path": world.path("r/.claude/settings.json"), "content": "{}\n" },
    });
    let mut command = world.command("r");
    command.args(["gate", "--for", "claude"]);
    Run::of(&mut command, Some(payload.to_string().as_bytes())).exits(2);
    world
}

fn approval(world: &Sandbox) -> Vec<String> {
    let list = world.loci("home", ["requests", "--json"]).json();
    let id = list["requests"][0]["id"].as_str().unwrap_or_else(|| panic!("{list}"));
    let shown = world.loci("home", ["approve", id, "--json"]).exits(1).json();
    words(&format!("approve {id} --hash {}", shown["hash"].as_str().unwrap()))
}

fn denial(world: &Sandbox) -> Vec<String> {
    let list = world.loci("home", ["requests", "--json"]).json();
    words(&format!("deny {} --why No", list["requests"][0]["id"].as_str().unwrap()))
}

fn with_branch() -> Sandbox {
    let world = repo();
    fs::write(world.path("change.patch"), "--- a/owned/a.txt\n+++ b/owned/a.txt\n@@ -1,3 +1,3 @@\n alpha\n-beta\n+BETA\n gamma\n").unwrap();
    world
}

pub(super) fn rows() -> Vec<Row> {
    const LETTERS: Option<&str> = Some("a message, its logs and its answer are files of their own");
    const ORDER: Option<&str> = Some("the deed is whole before its answer is");
    vec![
        Row { between: LETTERS, again: 1, ..Row::new("inbox take", with_mail, "r/owned", |world| about(world, "inbox take", &[])) },
        Row {
            between: LETTERS,
            again: 1,
            ..Row::new("inbox done", with_mail, "r/owned", |world| about(world, "inbox done", &["--reply", "It is done"]))
        },
        Row {
            between: LETTERS,
            again: 1,
            ..Row::new("inbox decline", with_mail, "r/owned", |world| about(world, "inbox decline", &["--why", "It is not"]))
        },
        Row { between: ORDER, again: 1, ..Row::new("inbox apply", with_mail, "r/owned", |world| about(world, "inbox apply", &[])) },
        Row { between: LETTERS, ..Row::new("handover", with_mail, "r", |world| about(world, "handover", &["I read it"])) },
        Row {
            between: LETTERS,
            ..Row::new("delegate", with_branch, "r", |world| {
                let mut args = words("delegate bob --reads owned/a.txt --idea Once --patch");
                args.push(world.path("change.patch").to_string_lossy().into_owned());
                args
            })
        },
        Row {
            note: "filed by an agent",
            code: 1,
            again: 1,
            env: &[("LOCI_ANCESTORS", "claude")],
            between: LETTERS,
            ..Row::new("own", repo, "r", |_| words("own free --as alice"))
        },
        Row { note: "a verb", again: 1, between: ORDER, ..Row::new("approve", with_request, "home", approval) },
        Row { note: "a change", again: 1, between: ORDER, ..Row::new("approve", with_patch, "home", approval) },
        Row { again: 1, between: LETTERS, ..Row::new("deny", with_request, "home", denial) },
    ]
}

#[test]
fn what_is_handed_over() {
    super::engine::sweep(&rows());
}
