//! Hermes. It starts a hook without a shell and does not look at its exit code: what counts is the JSON on
//! standard output. Details stand in `extra`; a sub-agent has a session of its own, and a `task_id`
//! that begins with `sa-`. It does not rewrite a call.

use serde_json::{Map, Value, json};

use super::wiring::{NO_ANSWER, quoted};
use super::{
    Adapter, Answer, Call, Event, Point, Relay, Reply, Rewriting, Seam, Take, Unreadable, Wiring, denial, flat, lenient, says_failed,
};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "hermes",
    title: "Hermes",
    points: POINTS,
    workdir: Some("workdir"),
    rewriting: Rewriting::USUAL,
    read,
    answer,
    wiring: Wiring {
        folder: ".hermes",
        moved_by: ("HERMES_HOME", ""),
        file: "config.yaml",
        shared: None,
        local: None,
        relay: Relay::Yaml(items),
        needs: &[
            "Hermes runs a hook only after you have agreed to it: start `hermes` at a terminal and say yes to each one, or run `loci connect hermes --trust`. Until then it leaves them out.",
            "Hermes reads its hooks when it starts: start running sessions again.",
        ],
        needs_shared: &[],
    },
};

/// Its events. `on_session_end` is told after each turn, `on_session_finalize` when the session is over.
const POINTS: &[Point] = &[
    Point { native: "on_session_start", seam: Seam::BeforeRun, takes: &[] },
    Point { native: "on_session_finalize", seam: Seam::AfterRun, takes: &[] },
    Point { native: "pre_llm_call", seam: Seam::BeforeIteration, takes: &[Take::Context] },
    Point { native: "on_session_end", seam: Seam::AfterIteration, takes: &[] },
    Point { native: "pre_tool_call", seam: Seam::BeforeTool, takes: &[Take::Block] },
    Point { native: "post_tool_call", seam: Seam::AfterTool, takes: &[] },
];

fn read(points: &'static [Point], seam: Seam, payload: &[u8]) -> Result<Event, Unreadable> {
    let mut event = flat(points, seam, payload)?;
    let Some(Value::Object(extra)) = event.rest.get("extra") else { return Ok(event) };
    let text = |key: &str| extra.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let (call, task, status, result) = (text("tool_call_id"), text("task_id"), text("status"), text("result"));
    let prompt = text("user_message");
    event.call = event.call.or(call);
    event.agent_id = event.agent_id.or(task.filter(|task| task.starts_with("sa-")));
    if seam == Seam::BeforeIteration {
        event.prompt = event.prompt.or(prompt);
    }
    if seam == Seam::AfterTool {
        // A command that failed went well for Hermes; its result, an object as text, says how it ended.
        event.response = event.response.or(result.map(|result| lenient::unwrapped(Value::from(result))));
        event.failed |= status.is_some_and(|status| status != "ok") || event.response.as_ref().is_some_and(says_failed);
    }
    Ok(event)
}

fn answer(point: &Point, answer: &Answer) -> Reply {
    if let Some(reason) = answer.reason().filter(|_| point.seam == Seam::BeforeTool) {
        return denial(&reason);
    }
    let mut object = Map::new();
    if !answer.context.is_empty() {
        object.insert("context".to_owned(), answer.context.as_str().into());
    }
    let stdout = if object.is_empty() { String::new() } else { format!("{}\n", Value::Object(object)) };
    Reply { stdout, stderr: answer.said().map(|said| format!("{said}\n")).unwrap_or_default(), code: 0 }
}

/// The tools that write, and those that run something.
const WRITERS: &str = "write_file|patch|terminal|execute_code|process";

/// Seconds; the gate answers in two, and hooks that it asks in their own time after that.
const TIMEOUT: u64 = 35;

/// Before a tool call two entries that no call is in both of (a matcher has to fit the whole name): only
/// what writes is refused where no gate answers. The script goes to a shell of its own.
fn items(call: &Call, point: &Point) -> Vec<Value> {
    let shell = |script: &str| format!("sh -c {}", quoted(script));
    match point.seam {
        Seam::BeforeTool => {
            let said = json!({ "decision": "block", "reason": NO_ANSWER }).to_string();
            vec![
                json!({ "matcher": WRITERS, "command": shell(&call.closing(&said)), "timeout": TIMEOUT }),
                json!({ "matcher": format!("(?!({WRITERS})$).*"), "command": shell(&call.command()), "timeout": TIMEOUT }),
            ]
        }
        seam => vec![json!({ "command": shell(&call.hook(seam)), "timeout": TIMEOUT })],
    }
}
