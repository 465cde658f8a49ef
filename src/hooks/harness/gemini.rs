//! Gemini CLI. Paths come as the model wrote them; a shell call may name a `dir_path`.
//! A denial without `decision` is a pass for it, whatever the exit code. Its sub-agents can't be told
//! from the main one.

use serde_json::{Value, json};

use super::{Adapter, Answer, Call, Point, Relay, Reply, Seam, Take, Wiring, flat, spoken_with};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "gemini",
    title: "Gemini CLI",
    points: POINTS,
    read: flat,
    answer,
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

/// Its events. Before a tool call the model can't be told anything but a denial; a rewritten input is
/// merged with the one that was given.
const POINTS: &[Point] = &[
    Point { native: "SessionStart", seam: Seam::BeforeRun, takes: &[Take::Context] },
    Point { native: "SessionEnd", seam: Seam::AfterRun, takes: &[] },
    Point { native: "BeforeAgent", seam: Seam::BeforeIteration, takes: &[Take::Block, Take::Context] },
    Point { native: "AfterAgent", seam: Seam::AfterIteration, takes: &[Take::Block] },
    Point { native: "BeforeTool", seam: Seam::BeforeTool, takes: &[Take::Block, Take::Input] },
    Point { native: "AfterTool", seam: Seam::AfterTool, takes: &[Take::Context] },
];

fn answer(point: &Point, answer: &Answer) -> Reply {
    spoken_with(point, answer, |specific| {
        if let Some(input) = &answer.input {
            specific.insert("tool_input".to_owned(), input.clone());
        }
    })
}

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
