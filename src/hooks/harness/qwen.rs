//! Qwen Code. Its events have the names of Claude Code's, and its tools those of Gemini CLI's. File paths
//! come absolute. A sub-agent has an `agent_id`. It does not rewrite a call.

use serde_json::{Value, json};

use super::{Adapter, Call, Point, Relay, Rewriting, Seam, Take, Wiring, flat, spoken};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "qwen",
    title: "Qwen Code",
    points: POINTS,
    workdir: Some("directory"),
    rewriting: Rewriting::USUAL,
    read: flat,
    answer: spoken,
    wiring: Wiring {
        folder: ".qwen",
        moved_by: ("QWEN_HOME", ""),
        file: "settings.json",
        shared: Some(".qwen/settings.json"),
        local: None,
        relay: Relay::Groups { comments: true, mark: true, groups, more: &[], off: Some((&["disableAllHooks"], true)) },
        needs: &["Qwen Code reads its hooks when it starts: start running sessions again."],
        needs_shared: &[
            "Qwen Code reads this file only where it is started in this very directory, not in one below: connect each one that agents are started in, or the user's settings, which hold everywhere.",
            "Hooks of a project run only in a folder that you have trusted in Qwen Code, where it asks for that.",
        ],
    },
};

/// Its events. A prompt is told again after each turn of tools.
const POINTS: &[Point] = &[
    Point { native: "SessionStart", seam: Seam::BeforeRun, takes: &[Take::Context] },
    Point { native: "SessionEnd", seam: Seam::AfterRun, takes: &[] },
    Point { native: "UserPromptSubmit", seam: Seam::BeforeIteration, takes: &[Take::Block, Take::Context] },
    Point { native: "Stop", seam: Seam::AfterIteration, takes: &[Take::Block] },
    Point { native: "PreToolUse", seam: Seam::BeforeTool, takes: &[Take::Block] },
    Point { native: "PostToolUse", seam: Seam::AfterTool, takes: &[Take::Context] },
    Point { native: "PostToolUseFailure", seam: Seam::AfterTool, takes: &[] },
];

/// The tools that write, the shells, and the one that calls others.
const WRITERS: &str = "write_file|edit|replace|notebook_edit|run_shell_command|monitor|tool_call";

/// Milliseconds; the gate answers in two thousand, and hooks that it asks in their own time after that.
const TIMEOUT: u64 = 35_000;

/// Before a tool call two groups that no call is in both of: only what writes is refused where no gate
/// answers.
fn groups(call: &Call, point: &Point) -> Vec<Value> {
    let hook = |command: String| json!([{ "type": "command", "name": "loci", "command": command, "timeout": TIMEOUT }]);
    match point.seam {
        Seam::BeforeTool => vec![
            json!({ "matcher": format!("^({WRITERS})$"), "hooks": hook(call.closing("")) }),
            json!({ "matcher": format!("^(?!({WRITERS})$)"), "hooks": hook(call.command()) }),
        ],
        seam => vec![json!({ "hooks": hook(call.hook(seam)) })],
    }
}
