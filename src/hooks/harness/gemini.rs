//! Gemini CLI: `BeforeTool`. Paths come as the model wrote them; a shell call may name a `dir_path`.
//! A denial without `decision` is a pass for it, whatever the exit code. Its sub-agents can't be told
//! from the main one.

use serde_json::{Value, json};

use super::{Adapter, After, Call, Event, Relay, Unreadable, Wiring, flat, flat_after, universal};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "gemini",
    title: "Gemini CLI",
    read,
    answer: universal,
    after,
    wiring: Wiring {
        folder: ".gemini",
        moved_by: ("GEMINI_CLI_HOME", ".gemini"),
        file: "settings.json",
        shared: ".gemini/settings.json",
        local: None,
        relay: Relay::Groups { event: "BeforeTool", groups, after: AFTER, after_group, off: Some((&["hooksConfig", "enabled"], false)) },
        needs: &["Gemini CLI reads its hooks when it starts: start running sessions again."],
        needs_shared: &["Hooks of a project run only in a folder that you have trusted in Gemini CLI."],
    },
};

/// The tools that write, and the shell.
const WRITERS: &str = "write_file|replace|run_shell_command";

/// Milliseconds; the gate answers in two thousand.
const TIMEOUT: u64 = 10_000;

/// Two groups that no call is in both of: Gemini CLI takes a missing program for a denial, which is
/// right for what writes, and must not keep anybody from reading.
fn groups(call: &Call) -> Vec<Value> {
    let hook = |command: String| json!([{ "type": "command", "name": "loci", "command": command, "timeout": TIMEOUT }]);
    vec![
        json!({ "matcher": format!("^({WRITERS})$"), "hooks": hook(call.command()) }),
        json!({ "matcher": format!("^(?!({WRITERS})$)"), "hooks": hook(call.lenient()) }),
    ]
}

/// The events after a tool call.
const AFTER: &[&str] = &["AfterTool"];

/// Without a matcher: every tool.
fn after_group(call: &Call) -> Value {
    json!({ "hooks": [{ "type": "command", "name": "loci", "command": call.after(), "timeout": TIMEOUT }] })
}

fn read(payload: &[u8]) -> Result<Event, Unreadable> {
    flat(payload, &["BeforeTool"])
}

fn after(payload: &[u8]) -> Result<After, Unreadable> {
    flat_after(payload, AFTER)
}
