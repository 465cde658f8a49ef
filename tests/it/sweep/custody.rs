//! Whose it is: owners, permits, trust, and what the gate and its like write.

use serde_json::{Value, json};

use super::engine::{Row, words};
use crate::sandbox::Sandbox;

/// A repository of alice's, in which bob owns a directory.
pub(super) fn repo() -> Sandbox {
    let world = Sandbox::in_memory();
    world
        .file("home/.loci/agent.md", "---\nid: me\n---\n")
        .file("r/.git/HEAD", "ref: refs/heads/main\n")
        .file("r/.loci/agent.md", "---\nid: alice\n---\n")
        .file("r/owned/.loci/owner.md", "---\nowner: bob\n---\n")
        .file("r/owned/.loci/agent.md", "---\nid: bob\n---\n")
        .file("r/owned/a.txt", "alpha\nbeta\ngamma\n")
        .file("r/free/x.txt", "x one\nx two\n")
        .file("r/notes.txt", "a note\n");
    world
}

fn bare() -> Sandbox {
    let world = repo();
    world.dir("r/bare");
    world
}

fn with_rules() -> Sandbox {
    let world = repo();
    world.file("r/free/.loci/rules/a.md", "a rule");
    world
}

fn owned_bare() -> Sandbox {
    let world = bare();
    world.file("r/bare/.loci/owner.md", "---\nowner: alice\n---\n");
    world
}

fn permitted() -> Sandbox {
    let world = repo();
    world.loci("r", ["permit", "alice", "owned", "--for", "1h"]).exits(0);
    world
}

fn revoke(world: &Sandbox) -> Vec<String> {
    let grants = world.loci("r", ["grants", "--json"]).exits(0).json();
    let id = grants.to_string();
    let id = id.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_else(|| panic!("{grants}"));
    words(&format!("permit --revoke {id}"))
}

fn with_hooks() -> Sandbox {
    let world = repo();
    world.exec("r/.loci/hooks/note.sh", "#!/bin/sh\n# hook-events: after-tool, before-run\ncat >/dev/null\necho '{\"state\":{\"n\":1}}'\n");
    world.file("r/.loci/rules/kind.md", "Be kind.\n");
    world
}

fn trusted() -> Sandbox {
    let world = with_hooks();
    world.loci("r", ["trust", ".", "--yes"]).exits(0);
    world
}

/// A tool call as Claude Code tells it.
pub(super) fn call(world: &Sandbox, event: &str, tool: &str, input: Value) -> String {
    let input = if input.is_null() { json!({}) } else { input };
    json!({
        "session_id": "s-1", "cwd": world.path("r"), "hook_event_name": event, "transcript_path": "/t.jsonl",
        "tool_name": tool, "tool_input": input, "tool_response": {}, "tool_use_id": "t-1", "prompt": "go", "source": "startup",
    })
    .to_string()
}

pub(super) fn refused(world: &Sandbox) -> String {
    call(world, "PreToolUse", "Write", json!({ "file_path": world.path("r/owned/a.txt"), "content": "x\n" }))
}

fn ran(world: &Sandbox) -> String {
    call(world, "PostToolUse", "Read", json!({ "file_path": world.path("r/notes.txt") }))
}

fn begun(world: &Sandbox) -> String {
    call(world, "SessionStart", "", Value::Null)
}

pub(super) fn rows() -> Vec<Row> {
    const LETTERS: Option<&str> = Some("a message, its logs and its answer are files of their own");
    vec![
        Row { note: "no dotdir", ..Row::new("own", bare, "r", |_| words("own bare --as alice")) },
        Row { note: "a dotdir", ..Row::new("own", with_rules, "r", |_| words("own free --as alice")) },
        Row { note: "a whole dotdir", again: 1, ..Row::new("disown", owned_bare, "r", |_| words("disown bare")) },
        Row { note: "of a body", again: 1, ..Row::new("disown", repo, "r", |_| words("disown owned")) },
        Row { again: 2, ..Row::new("extract", repo, "r", |_| words("extract notes.txt free --into deep/child --as alice")) },
        Row::new("permit", repo, "r", |_| words("permit alice owned --for 1h")),
        Row { note: "--revoke", again: 2, ..Row::new("permit", permitted, "r", revoke) },
        Row::new("trust", with_hooks, "r", |_| words("trust . --yes")),
        Row { note: "--revoke", again: 1, ..Row::new("trust", trusted, "r", |_| words("trust . --revoke")) },
        Row {
            note: "a refusal",
            code: 2,
            again: 2,
            between: LETTERS,
            stdin: Some(refused),
            ..Row::new("gate", repo, "r", |_| words("gate --for claude"))
        },
        Row {
            note: "after-tool",
            between: LETTERS,
            stdin: Some(ran),
            ..Row::new("hook", trusted, "r", |_| words("hook after-tool --for claude"))
        },
        Row {
            note: "before-run",
            between: LETTERS,
            stdin: Some(begun),
            ..Row::new("hook", trusted, "r", |_| words("hook before-run --for claude"))
        },
        Row { note: "for a body", ..Row::new("hooks activate", trusted, "r", |_| words("hooks activate note --body .")) },
        Row { note: "for a body", ..Row::new("hooks deactivate", trusted, "r", |_| words("hooks deactivate note --body .")) },
        Row { note: "for a session", ..Row::new("hooks only", trusted, "r", |_| words("hooks only note --session s-1")) },
    ]
}

#[test]
fn whose_it_is() {
    super::engine::sweep(&rows());
}
