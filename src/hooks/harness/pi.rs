//! pi: its events, handed to us by the shim that `loci connect pi` puts in place. The shim
//! reads the exit code and standard error; a note goes to standard error alone, for it to show.

use serde_json::{Map, Value};

use super::{Adapter, Answer, Call, Point, Relay, Reply, Seam, Take, Wiring, flat, spoken};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "pi",
    title: "pi",
    points: POINTS,
    read: flat,
    answer,
    wiring: Wiring {
        folder: ".pi/agent",
        moved_by: ("PI_CODING_AGENT_DIR", ""),
        file: "extensions/loci.ts",
        shared: ".pi/extensions/loci.ts",
        local: None,
        relay: Relay::File(shim),
        needs: &["pi loads extensions when it starts: start running sessions again."],
        needs_shared: &["An extension of a project runs only where you have approved the project in pi (`--approve`)."],
    },
};

/// The shim, with the program it calls written into its first lines.
fn shim(call: &Call) -> String {
    let program = match &call.program {
        None => "join(process.env.LOCI_HOME || homedir(), \".loci\", \"bin\", \"loci\")".to_owned(),
        Some(path) => serde_json::Value::from(path.as_str()).to_string(),
    };
    let guarded = if call.program.is_none() { "true" } else { "false" };
    include_str!("pi-shim.ts").replace("__PROGRAM__", &program).replace("__GUARDED__", guarded)
}

/// Its events, by the names that the shim gives them (`PreToolUse`, `PostToolUse`: as other shims do).
const POINTS: &[Point] = &[
    Point { native: "session_start", seam: Seam::BeforeRun, takes: &[] },
    Point { native: "session_shutdown", seam: Seam::AfterRun, takes: &[] },
    Point { native: "before_agent_start", seam: Seam::BeforeIteration, takes: &[Take::Context] },
    Point { native: "agent_settled", seam: Seam::AfterIteration, takes: &[] },
    Point { native: "tool_call", seam: Seam::BeforeTool, takes: &[Take::Block, Take::Input] },
    Point { native: "PreToolUse", seam: Seam::BeforeTool, takes: &[Take::Block, Take::Input] },
    Point { native: "tool_result", seam: Seam::AfterTool, takes: &[Take::Context] },
    Point { native: "PostToolUse", seam: Seam::AfterTool, takes: &[Take::Context] },
];

/// A block as everywhere. Else standard output is empty or one object for the shim: `context` to be shown
/// to the model, `input` to call the tool with, `data`; lines for the user are on standard error.
fn answer(point: &Point, answer: &Answer) -> Reply {
    if answer.block.is_some() {
        return spoken(point, answer);
    }
    let mut object = Map::new();
    if !answer.context.is_empty() {
        object.insert("context".to_owned(), answer.context.as_str().into());
    }
    if let Some(input) = &answer.input {
        object.insert("input".to_owned(), input.clone());
    }
    if !answer.data.is_empty() {
        object.insert("data".to_owned(), answer.data.clone().into());
    }
    let stdout = if object.is_empty() { String::new() } else { format!("{}\n", Value::Object(object)) };
    Reply { stdout, stderr: answer.said().map(|said| format!("{said}\n")).unwrap_or_default(), code: 0 }
}
