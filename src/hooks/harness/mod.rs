//! The languages of the harnesses: what each one says at a seam, and how it wants to be answered.
//! Pure: bytes in, bytes out. One file a harness, and one line in [`ALL`].
//!
//! An adapter is data as far as it can be: [`Adapter::points`] lists the events that the harness has,
//! which seam each one is, and what the harness does with an answer there. Where its payload is one
//! flat object with keys in snake or camel case, `read` is `flat`; where it understands the JSON
//! that most of them do, `answer` is `spoken` or `spoken_with`. To add a harness: a file with an
//! `ADAPTER`, a line in [`ALL`], and recorded payloads in `fixtures/harness/`.

mod claude;
mod cline;
mod codex;
mod copilot;
mod gemini;
mod hermes;
mod lenient;
mod lines;
mod opencode;
mod peek;
mod pi;
mod qwen;
mod shim;
mod wiring;

use std::path::PathBuf;

use serde_json::{Map, Value, json};

pub use peek::{event_name, tool_name};
pub use wiring::{Call, More, NO_ANSWER, Ours, Relay, Whose, Wiring, whose};

use super::answer::{Answer, Reply};
use super::event::{Event, Point, Seam, Take};

/// How a harness is read: its events, the seam that is asked about, and the payload.
pub type Read = fn(&'static [Point], Seam, &[u8]) -> Result<Event, Unreadable>;

/// One harness as the gate sees it.
#[derive(Debug, Clone, Copy)]
pub struct Adapter {
    /// The word for it on the command line.
    pub name: &'static str,
    /// Its name as its makers write it.
    pub title: &'static str,
    /// The events that it has, as seams; what is not here it does not have.
    pub points: &'static [Point],
    /// The argument of its own shell tools that names the directory which they run in.
    pub workdir: Option<&'static str>,
    /// How it takes what a hook makes of a call.
    pub rewriting: Rewriting,
    /// Reads what it says at a seam. A payload that names no event is taken for the first one of it.
    pub read: Read,
    /// Says an answer in its language, at the event of that name. What the point does not take was
    /// left out before.
    pub answer: fn(&Point, &Answer) -> Reply,
    /// Where and how it is told to ask the gate.
    pub wiring: Wiring,
}

/// How a harness takes a call that a hook has rewritten.
#[derive(Debug, Clone, Copy)]
pub struct Rewriting {
    /// It is put over the input that was given, whose other arguments stay; else it stands for it.
    pub over: bool,
    /// It is taken only together with leave for the call.
    pub with_leave: bool,
    /// Whether no user is asked before a command runs: a rewritten one goes past nobody's approval then.
    pub never_asks: fn(&Event) -> bool,
    /// Its shell goes on from where the last command has ended.
    pub goes_on: bool,
    /// No hook is asked about what is typed into a command that goes on.
    pub types: bool,
}

impl Rewriting {
    /// As most do it.
    pub const USUAL: Self = Self { over: true, with_leave: false, never_asks: |_| false, goes_on: false, types: false };
}

/// All that are supported, in the order of their names.
pub const ALL: [&Adapter; 9] = [
    &claude::ADAPTER,
    &cline::ADAPTER,
    &codex::ADAPTER,
    &copilot::ADAPTER,
    &gemini::ADAPTER,
    &hermes::ADAPTER,
    &opencode::ADAPTER,
    &pi::ADAPTER,
    &qwen::ADAPTER,
];

/// The adapter of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Adapter> {
    ALL.into_iter().find(|adapter| adapter.name == name)
}

/// The names of all adapters, for people.
#[must_use]
pub fn names() -> String {
    ALL.map(|adapter| adapter.name).join(", ")
}

impl Adapter {
    /// The event that is meant at a seam, by its own name or as the first of the seam; `None` where
    /// the harness has none.
    #[must_use]
    pub fn point(&self, seam: Seam, native: Option<&str>) -> Option<&'static Point> {
        point(self.points, seam, native)
    }

    /// Reads what the harness says at a seam.
    ///
    /// # Errors
    /// Where the payload is about no such event, or can't be read.
    pub fn event(&self, seam: Seam, payload: &[u8]) -> Result<Event, Unreadable> {
        (self.read)(self.points, seam, payload)
    }

    /// Says an answer at a seam, at the event of that name. A harness that has no such event is told
    /// nothing.
    #[must_use]
    pub fn reply(&self, seam: Seam, native: Option<&str>, answer: &Answer) -> Reply {
        self.point(seam, native).or_else(|| self.point(seam, None)).map_or_else(Reply::default, |point| (self.answer)(point, answer))
    }
}

fn point(points: &'static [Point], seam: Seam, native: Option<&str>) -> Option<&'static Point> {
    points.iter().find(|point| point.seam == seam && native.is_none_or(|native| point.native == native))
}

/// Why a payload says nothing about a tool call; reads on after "the payload …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Not one JSON object.
    #[error("is not one JSON object: {0}")]
    NotAnObject(String),
    /// Something that has to be there is not, or is of another kind.
    #[error("has no {0}")]
    Missing(&'static str),
    /// Another event than the one before a tool call.
    #[error("is about the event `{}`, which is not asked about here", crate::sys::shown::text(.0))]
    OtherEvent(String),
}

/// A denial that all harnesses understand which read a hook's standard output: every spelling of
/// it in one object, the same text on standard error, exit code 2. Each part is there for one that reads
/// only that part, or that takes the answer for a pass where it is missing.
fn denial(reason: &str) -> Reply {
    let object = json!({
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        },
        "permissionDecision": "deny",
        "permissionDecisionReason": reason,
        "decision": "block",
        "reason": reason,
    });
    Reply { stdout: format!("{object}\n"), stderr: format!("{reason}\n"), code: 2 }
}

/// The answer for a harness that reads JSON on a hook's standard output and can't rewrite a call: a
/// denial before a tool call is [`denial`], a block elsewhere `decision` and `reason`; text for the model
/// is `additionalContext`, a line for the user `systemMessage`.
fn spoken(point: &Point, answer: &Answer) -> Reply {
    spoken_with(point, answer, |_| {})
}

/// As `spoken`, for one that has more in `hookSpecificOutput`: `more` puts it there.
fn spoken_with(point: &Point, answer: &Answer, more: impl FnOnce(&mut Map<String, Value>)) -> Reply {
    let reason = answer.reason();
    if let Some(reason) = reason.as_ref().filter(|_| point.seam == Seam::BeforeTool) {
        return denial(reason);
    }
    let mut object = Map::new();
    if let Some(reason) = reason {
        object.insert("decision".to_owned(), json!("block"));
        object.insert("reason".to_owned(), json!(reason));
    }
    let mut specific = Map::new();
    if !answer.context.is_empty() {
        specific.insert("additionalContext".to_owned(), json!(answer.context));
    }
    more(&mut specific);
    if !specific.is_empty() {
        specific.insert("hookEventName".to_owned(), json!(point.native));
        object.insert("hookSpecificOutput".to_owned(), Value::Object(specific));
    }
    let said = answer.said();
    if let Some(said) = &said {
        object.insert("systemMessage".to_owned(), json!(said));
    }
    let stdout = if object.is_empty() { String::new() } else { format!("{}\n", Value::Object(object)) };
    Reply { stdout, stderr: said.map(|said| format!("{said}\n")).unwrap_or_default(), code: 0 }
}

/// An answer that denies nothing, of one whose texts and inputs stand at the top of the object, under these keys.
fn spoken_at_top(answer: &Answer, context: &str, input: &str) -> Reply {
    let mut object = Map::new();
    if !answer.context.is_empty() {
        object.insert(context.to_owned(), answer.context.as_str().into());
    }
    if let Some(given) = &answer.input {
        object.insert(input.to_owned(), given.clone());
    }
    let stdout = if object.is_empty() { String::new() } else { format!("{}\n", Value::Object(object)) };
    Reply { stdout, stderr: answer.said().map(|said| format!("{said}\n")).unwrap_or_default(), code: 0 }
}

/// Reads a payload that is one flat object, keys in snake or camel case.
fn flat(points: &'static [Point], seam: Seam, payload: &[u8]) -> Result<Event, Unreadable> {
    let mut object = lenient::object(payload)?;
    let native = take_text(&mut object, &["hook_event_name", "hookEventName"]);
    let Some(point) = point(points, seam, native.as_deref()) else {
        return Err(Unreadable::OtherEvent(native.unwrap_or_else(|| seam.word().to_owned())));
    };
    let about_a_tool = matches!(seam, Seam::BeforeTool | Seam::AfterTool | Seam::OnError);
    let tool = take_text(&mut object, &["tool_name", "toolName"]);
    if tool.is_none() && about_a_tool {
        return Err(Unreadable::Missing("tool name"));
    }
    let session = take_text(&mut object, &["session_id", "sessionId"]);
    let cwd = take_text(&mut object, &["cwd"]).map(PathBuf::from).filter(|cwd| cwd.is_absolute());
    let call = take_text(&mut object, &["tool_use_id", "toolUseId", "tool_call_id", "toolCallId"]);
    let agent_id = take_text(&mut object, &["agent_id", "agentId"]);
    let agent_type = take_text(&mut object, &["agent_type", "agentType"]);
    let prompt = take_text(&mut object, &["prompt", "user_prompt", "userPrompt"]);
    let input = ["tool_input", "toolInput", "tool_args", "toolArgs"].iter().find_map(|key| object.remove(*key));
    let input = match input {
        Some(input) => lenient::unwrapped(input),
        None if about_a_tool => return Err(Unreadable::Missing("tool input")),
        None => Value::Null,
    };
    let response = ["tool_response", "toolResponse", "tool_result", "toolResult"].iter().find_map(|key| object.remove(*key));
    let after = matches!(seam, Seam::AfterTool | Seam::OnError);
    let failure = after && (seam == Seam::OnError || point.native.ends_with("Failure"));
    let failed = failure || (after && response.as_ref().is_some_and(says_failed));
    let lines = after.then(|| lines::of(&input, response.as_ref())).flatten();
    Ok(Event {
        seam,
        native: native.unwrap_or_else(|| point.native.to_owned()),
        session,
        cwd,
        agent_id,
        agent_type,
        tool: tool.unwrap_or_default(),
        input,
        call,
        response,
        failed,
        lines,
        prompt,
        rest: object,
    })
}

/// Whether a result says that the call failed, in one of the ways that are known.
fn says_failed(response: &Value) -> bool {
    let flag = |key: &str, value: bool| response.get(key) == Some(&Value::Bool(value));
    let code = |key: &str| response.get(key).and_then(Value::as_i64).is_some_and(|code| code != 0);
    let error = response.get("error").is_some_and(|error| !matches!(error, Value::Null | Value::Bool(false)) && error.as_str() != Some(""));
    let exit = response.as_str().and_then(|text| text.strip_prefix("Exit code: ")).and_then(|rest| rest.lines().next());
    flag("is_error", true)
        || flag("isError", true)
        || flag("success", false)
        || flag("interrupted", true)
        || code("exit_code")
        || code("exitCode")
        || error
        || exit.is_some_and(|code| code.trim() != "0")
}

/// Takes out the first of some keys that holds a text which is not empty.
fn take_text(object: &mut Map<String, Value>, keys: &[&str]) -> Option<String> {
    let key = keys.iter().find(|key| object.get(**key).and_then(Value::as_str).is_some_and(|text| !text.is_empty()))?;
    match object.shift_remove(*key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
