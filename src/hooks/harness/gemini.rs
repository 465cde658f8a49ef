//! Gemini CLI. Paths come as the model wrote them; a shell call may name a `dir_path`.
//! A denial without `decision` is a pass for it, whatever the exit code. Its sub-agents can't be told
//! from the main one.

use serde_json::{Value, json};

use super::wiring::NO_ANSWER;
use super::{Adapter, Answer, Call, Point, Relay, Reply, Rewriting, Seam, Take, Wiring, flat, spoken_with};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "gemini",
    title: "Gemini CLI",
    points: POINTS,
    workdir: Some("dir_path"),
    rewriting: Rewriting::USUAL,
    read: flat,
    answer,
    wiring: Wiring {
        folder: ".gemini",
        moved_by: ("GEMINI_CLI_HOME", ".gemini"),
        file: "settings.json",
        shared: Some(".gemini/settings.json"),
        local: None,
        relay: Relay::Groups { comments: true, mark: false, groups, more: &[], off: Some((&["hooksConfig", "enabled"], false)) },
        needs: &["Gemini CLI reads its hooks when it starts: start running sessions again."],
        needs_shared: &[
            "Gemini CLI reads this file only where it is started in this very directory, not in one below: connect each one that agents are started in, or the user's settings, which hold everywhere.",
            "Hooks of a project run only in a folder that you have trusted in Gemini CLI.",
        ],
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

/// Milliseconds; the gate answers in two thousand, and hooks that it asks in their own time after that.
const TIMEOUT: u64 = 35_000;

/// Before a tool call two groups that no call is in both of: only what writes is refused where no gate
/// answers. (A missing program it takes for a denial by itself.)
fn groups(call: &Call, point: &Point) -> Vec<Value> {
    let hook = |command: String| json!([{ "type": "command", "name": "loci", "command": command, "timeout": TIMEOUT }]);
    match point.seam {
        Seam::BeforeTool => {
            let said = json!({ "decision": "deny", "reason": NO_ANSWER }).to_string();
            vec![
                json!({ "matcher": format!("^({WRITERS})$"), "hooks": hook(call.closing(&said)) }),
                json!({ "matcher": format!("^(?!({WRITERS})$)"), "hooks": hook(call.lenient()) }),
            ]
        }
        seam => vec![json!({ "hooks": hook(call.hook(seam)) })],
    }
}
