//! Codex. A patch comes as text in `command`; the working directory that a shell call
//! names is already in `cwd`. It reads standard error where the exit code is 2, and takes a denial
//! on standard output for a pass where the exit code is 1: both are said, with 2.

use serde_json::{Value, json};

use super::{Adapter, Answer, Call, Point, Relay, Reply, Rewriting, Seam, Take, Wiring, flat, spoken_with};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "codex",
    title: "Codex",
    points: POINTS,
    workdir: None,
    rewriting: Rewriting { with_leave: true, types: true, ..Rewriting::USUAL },
    read: flat,
    answer,
    wiring: Wiring {
        folder: ".codex",
        moved_by: ("CODEX_HOME", ""),
        file: "hooks.json",
        shared: Some(".codex/hooks.json"),
        local: None,
        relay: Relay::Groups { comments: false, mark: false, groups, more: &[], off: None },
        needs: &[
            "Codex runs a hook only after you have trusted it: start `codex` and say yes when it shows the new hook (`/hooks` lists them); `loci connect codex --trust` (with `--shared DIR` for those of a project) says it for you. Until then it leaves them out without a word.",
            "Codex reads its hooks when it starts: start running sessions again.",
        ],
        needs_shared: &["Hooks of a project run only in a project that you have trusted in Codex."],
    },
};

/// Its events. It takes a rewritten input only together with leave to run it, which would stand in for
/// its user's: so none is given but where that user has said so.
const POINTS: &[Point] = &[
    Point { native: "SessionStart", seam: Seam::BeforeRun, takes: &[Take::Context] },
    Point { native: "UserPromptSubmit", seam: Seam::BeforeIteration, takes: &[Take::Block, Take::Context] },
    Point { native: "Stop", seam: Seam::AfterIteration, takes: &[Take::Block] },
    Point { native: "PreToolUse", seam: Seam::BeforeTool, takes: &[Take::Block, Take::Context] },
    Point { native: "PostToolUse", seam: Seam::AfterTool, takes: &[Take::Context] },
];

fn answer(point: &Point, answer: &Answer) -> Reply {
    spoken_with(point, answer, |specific| {
        if let Some(input) = answer.input.as_ref().filter(|_| answer.leave) {
            specific.insert("permissionDecision".to_owned(), json!("allow"));
            specific.insert("updatedInput".to_owned(), input.clone());
        }
    })
}

/// Seconds; the gate answers in two, and hooks that it asks in their own time after that.
const TIMEOUT: u64 = 35;

/// One group without a matcher: every tool. It reads with its shell, so that a gate which gives no answer
/// stops reading as well.
fn groups(call: &Call, point: &Point) -> Vec<Value> {
    let command = if point.seam == Seam::BeforeTool { call.closing("") } else { call.hook(point.seam) };
    vec![json!({ "hooks": [{ "type": "command", "command": command, "timeout": TIMEOUT }] })]
}
