//! Claude Code: `PreToolUse`. Paths of its file tools come absolute, with `..` and `~` worked out and
//! links as they are; `cwd` follows the agent's `cd`. Sub-agents have an `agent_id`; a main agent
//! that was started as a named one has only the `agent_type`.

use serde_json::{Value, json};

use super::{Adapter, After, Call, Event, Relay, Unreadable, Wiring, flat, flat_after, universal};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "claude",
    title: "Claude Code",
    read,
    answer: universal,
    after,
    wiring: Wiring {
        folder: ".claude",
        moved_by: ("CLAUDE_CONFIG_DIR", ""),
        file: "settings.json",
        shared: ".claude/settings.json",
        local: Some(".claude/settings.local.json"),
        relay: Relay::Groups { event: "PreToolUse", groups, after: AFTER, after_group, off: Some((&["disableAllHooks"], true)) },
        needs: &[],
        needs_shared: &[],
    },
};

/// The tools that write, and the shells. Only for them a gate that is gone, crashed or slow blocks
/// the call: nobody is kept from reading.
const WRITERS: &str = "Write|Edit|MultiEdit|NotebookEdit|Bash|Monitor";

/// Seconds; the gate answers in two.
const TIMEOUT: u64 = 10;

/// Two groups that no call is in both of.
fn groups(call: &Call) -> Vec<Value> {
    let command = call.command();
    vec![
        json!({ "matcher": WRITERS, "hooks": [{ "type": "command", "command": command, "timeout": TIMEOUT, "onFailure": "block" }] }),
        json!({ "matcher": format!("^(?!({WRITERS})$)"), "hooks": [{ "type": "command", "command": command, "timeout": TIMEOUT }] }),
    ]
}

/// The events after a tool call.
const AFTER: &[&str] = &["PostToolUse", "PostToolUseFailure"];

/// Without a matcher: every tool.
fn after_group(call: &Call) -> Value {
    json!({ "hooks": [{ "type": "command", "command": call.after(), "timeout": TIMEOUT }] })
}

fn read(payload: &[u8]) -> Result<Event, Unreadable> {
    flat(payload, &["PreToolUse"])
}

fn after(payload: &[u8]) -> Result<After, Unreadable> {
    flat_after(payload, AFTER)
}
