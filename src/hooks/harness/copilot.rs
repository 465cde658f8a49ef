//! Copilot CLI. Keys in camel case, and no name of the event in a payload. Its gpt models get
//! `apply_patch`, whose arguments are the patch itself. A sub-agent has a session of its own and names
//! the one it belongs to. Without JSON on standard output a denial loses its reason.

use serde_json::{Map, Value, json};

use super::wiring::{NO_ANSWER, quoted};
use super::{
    Adapter, Answer, Call, Event, Ours, Point, Relay, Reply, Rewriting, Seam, Take, Unreadable, Wiring, denial, flat, spoken_at_top,
};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "copilot",
    title: "Copilot CLI",
    points: POINTS,
    workdir: None,
    rewriting: Rewriting::USUAL,
    read,
    answer,
    wiring: Wiring {
        folder: ".copilot",
        moved_by: ("COPILOT_HOME", ""),
        file: "hooks/loci.json",
        shared: Some(".github/hooks/loci.json"),
        local: None,
        relay: Relay::Files(files),
        needs: &["Copilot CLI reads its hooks when it starts: start running sessions again."],
        needs_shared: &["Hooks of a project run only in a folder that you have trusted in Copilot CLI."],
    },
};

/// Its events.
const POINTS: &[Point] = &[
    Point { native: "sessionStart", seam: Seam::BeforeRun, takes: &[Take::Context] },
    Point { native: "sessionEnd", seam: Seam::AfterRun, takes: &[] },
    Point { native: "userPromptSubmitted", seam: Seam::BeforeIteration, takes: &[Take::Context] },
    Point { native: "agentStop", seam: Seam::AfterIteration, takes: &[] },
    Point { native: "preToolUse", seam: Seam::BeforeTool, takes: &[Take::Block, Take::Context, Take::Input] },
    Point { native: "postToolUse", seam: Seam::AfterTool, takes: &[Take::Context] },
    Point { native: "postToolUseFailure", seam: Seam::AfterTool, takes: &[] },
];

fn read(points: &'static [Point], seam: Seam, payload: &[u8]) -> Result<Event, Unreadable> {
    let mut event = flat(points, seam, payload)?;
    if let Some(parent) = event.rest.get("parentAgentId").and_then(Value::as_str).filter(|parent| !parent.is_empty()) {
        event.session = Some(parent.to_owned());
    }
    if seam == Seam::AfterTool {
        let result = |key: &str| event.response.as_ref().and_then(|response| response.get(key)?.as_str());
        let bad = result("resultType").is_some_and(|kind| kind != "success") || result("textResultForLlm").is_some_and(ended_badly);
        if event.rest.contains_key("error") {
            "postToolUseFailure".clone_into(&mut event.native);
        }
        event.failed |= bad || event.rest.contains_key("error");
    }
    Ok(event)
}

/// A command that failed is a result like any other, whose last line says how it ended.
fn ended_badly(text: &str) -> bool {
    let code = text.trim_end().strip_suffix('>').and_then(|text| text.rsplit_once("completed with exit code "));
    code.is_some_and(|(_, code)| code != "0" && code.bytes().all(|byte| byte.is_ascii_digit()))
}

/// What is not a denial stands at the top of the object.
fn answer(point: &Point, answer: &Answer) -> Reply {
    if let Some(reason) = answer.reason().filter(|_| point.seam == Seam::BeforeTool) {
        return denial(&reason);
    }
    spoken_at_top(answer, "additionalContext", "modifiedArgs")
}

/// Seconds; the gate answers in two, and hooks that it asks in their own time after that.
const TIMEOUT: u64 = 35;

/// Tools that read. Copilot CLI takes any hook that fails for a denial, and all tools come by one hook: so
/// the relay itself lets these through where no gate answers.
const READS: &[&str] = &["view", "grep", "glob", "rg", "show_file", "read_bash", "list_bash"];

/// The name stands before the arguments: what follows them is the model's to write.
fn before(call: &Call) -> String {
    let said = json!({ "permissionDecision": "deny", "permissionDecisionReason": NO_ANSWER }).to_string();
    let reads: Vec<String> = READS.iter().map(|tool| format!("*'\"toolName\":\"{tool}\"'*")).collect();
    let guard = if call.program.is_none() { format!("{}; ", call.guard()) } else { String::new() };
    format!(
        "{guard}p=$(cat); {}; case $r in 0|2) exit $r;; esac; h=${{p%%'\"toolArgs\"'*}}; case $h in {}) echo {} >&2; exit 0;; esac; echo {}; echo {} >&2; exit 2",
        call.piped(),
        reads.join("|"),
        quoted("loci: custody was not checked for this call: the gate did not answer"),
        quoted(&said),
        quoted(NO_ANSWER),
    )
}

fn files(call: &Call) -> Vec<Ours> {
    let hooks: Map<String, Value> = POINTS
        .iter()
        .filter(|point| call.at(point.seam))
        .map(|point| {
            let command = if point.seam == Seam::BeforeTool { before(call) } else { call.hook(point.seam) };
            (point.native.to_owned(), json!([{ "type": "command", "bash": command, "timeoutSec": TIMEOUT }]))
        })
        .collect();
    let text = serde_json::to_string_pretty(&json!({ "version": 1, "hooks": hooks })).unwrap_or_default();
    vec![Ours { name: "loci.json".to_owned(), text: text + "\n", program: false }]
}
