//! Claude Code. Paths of its file tools come absolute, with `..` and `~` worked out and
//! links as they are; `cwd` follows the agent's `cd`. Sub-agents have an `agent_id`; a main agent
//! that was started as a named one has only the `agent_type`.

use serde_json::{Value, json};

use super::{Adapter, Answer, Call, Event, Point, Relay, Reply, Rewriting, Seam, Take, Wiring, flat, spoken_with};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "claude",
    title: "Claude Code",
    points: POINTS,
    workdir: None,
    rewriting: Rewriting { over: false, never_asks: bypasses, goes_on: true, ..Rewriting::USUAL },
    read: flat,
    answer,
    wiring: Wiring {
        folder: ".claude",
        moved_by: ("CLAUDE_CONFIG_DIR", ""),
        file: "settings.json",
        shared: Some(".claude/settings.json"),
        local: Some(".claude/settings.local.json"),
        relay: Relay::Groups {
            comments: false,
            mark: true,
            groups,
            more: &[("ConfigChange", config_change)],
            off: Some((&["disableAllHooks"], true)),
        },
        needs: &[],
        needs_shared: &[
            "Claude Code reads this file only where it is started in this very directory, not in one below: connect each one that agents are started in, or the user's settings, which hold everywhere.",
        ],
    },
};

/// Whether its user has it run everything unasked.
fn bypasses(event: &Event) -> bool {
    event.rest.get("permission_mode").and_then(Value::as_str) == Some("bypassPermissions")
}

/// Its events. A rewritten input needs no decision, and replaces the whole one.
const POINTS: &[Point] = &[
    Point { native: "SessionStart", seam: Seam::BeforeRun, takes: &[Take::Context] },
    Point { native: "SessionEnd", seam: Seam::AfterRun, takes: &[] },
    Point { native: "UserPromptSubmit", seam: Seam::BeforeIteration, takes: &[Take::Block, Take::Context] },
    Point { native: "Stop", seam: Seam::AfterIteration, takes: &[Take::Block] },
    Point { native: "PreToolUse", seam: Seam::BeforeTool, takes: &[Take::Block, Take::Context, Take::Input] },
    Point { native: "PostToolUse", seam: Seam::AfterTool, takes: &[Take::Context] },
    Point { native: "PostToolUseFailure", seam: Seam::AfterTool, takes: &[Take::Context] },
];

fn answer(point: &Point, answer: &Answer) -> Reply {
    spoken_with(point, answer, |specific| {
        if let Some(input) = &answer.input {
            specific.insert("updatedInput".to_owned(), input.clone());
        }
    })
}

/// The tools that write, and the shells. Only for them a gate that is gone, crashed or slow blocks
/// the call: nobody is kept from reading.
const WRITERS: &str = "Write|Edit|MultiEdit|NotebookEdit|Bash|Monitor";

/// Seconds; the gate answers in two, and hooks that it asks in their own time after that.
const TIMEOUT: u64 = 35;

/// Before a tool call two groups that no call is in both of; elsewhere one without a matcher.
fn groups(call: &Call, point: &Point) -> Vec<Value> {
    match point.seam {
        Seam::BeforeTool => {
            let command = call.command();
            vec![
                json!({ "matcher": WRITERS, "hooks": [{ "type": "command", "command": command, "timeout": TIMEOUT, "onFailure": "block" }] }),
                json!({ "matcher": format!("^(?!({WRITERS})$)"), "hooks": [{ "type": "command", "command": command, "timeout": TIMEOUT }] }),
            ]
        }
        seam => vec![json!({ "hooks": [{ "type": "command", "command": call.hook(seam), "timeout": TIMEOUT }] })],
    }
}

/// It reads its settings live: the gate is asked about a change of them as well, and refuses one that
/// would switch it off.
fn config_change(call: &Call) -> Vec<Value> {
    if call.observe {
        return Vec::new();
    }
    vec![json!({ "hooks": [{ "type": "command", "command": call.lenient(), "timeout": TIMEOUT }] })]
}
