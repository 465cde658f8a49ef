//! The languages of the harnesses: what each one says about a tool call, and how it wants to be
//! answered. Pure: bytes in, bytes out. One file a harness, and one line in [`ALL`].

mod claude;
mod codex;
mod gemini;
mod lenient;
mod lines;
mod peek;
mod pi;

use std::path::PathBuf;

use serde_json::{Map, Value, json};

pub use peek::tool_name;

/// One harness as the gate sees it.
#[derive(Debug, Clone, Copy)]
pub struct Adapter {
    /// The word for it on the command line.
    pub name: &'static str,
    /// Its name as its makers write it.
    pub title: &'static str,
    /// Reads what it says before a tool call.
    pub read: fn(&[u8]) -> Result<Event, Unreadable>,
    /// Says the verdict in its language.
    pub answer: fn(&Verdict) -> Answer,
    /// Reads what it says after a tool call.
    pub after: fn(&[u8]) -> Result<After, Unreadable>,
    /// Where and how it is told to ask the gate.
    pub wiring: Wiring,
}

/// Where a harness keeps its hooks, and what stands there when it is connected.
#[derive(Debug, Clone, Copy)]
pub struct Wiring {
    /// Its configuration folder below the user's home.
    pub folder: &'static str,
    /// The variable that moves the folder, and what is added to its value.
    pub moved_by: (&'static str, &'static str),
    /// The file in that folder.
    pub file: &'static str,
    /// The file below a project that is tracked with it.
    pub shared: &'static str,
    /// The file below a project that is one user's alone; `None` where the harness reads none.
    pub local: Option<&'static str>,
    /// What is put there.
    pub relay: Relay,
    /// What the harness still wants before it asks, in sentences; empty where it asks at once.
    pub needs: &'static [&'static str],
    /// What it wants besides for a file that is part of a project.
    pub needs_shared: &'static [&'static str],
}

/// What is put into a harness's configuration.
#[derive(Debug, Clone, Copy)]
pub enum Relay {
    /// Elements of the list `hooks.EVENT` of a JSON file.
    Groups {
        /// The name of the event before a tool call.
        event: &'static str,
        /// The elements.
        groups: fn(&Call) -> Vec<Value>,
        /// The names of the events after a tool call.
        after: &'static [&'static str],
        /// The element of each of them.
        after_group: fn(&Call) -> Value,
        /// A setting that switches all hooks off: the keys on the way to it, and its value.
        off: Option<(&'static [&'static str], bool)>,
    },
    /// A file that is ours as a whole, run inside the harness.
    File(fn(&Call) -> String),
}

/// How a relay calls the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The program, by the name that stays true; `None` where whoever has the file has a home of
    /// their own, and perhaps no loci: the call then passes where the program is missing.
    pub program: Option<String>,
    /// The harness.
    pub harness: &'static str,
}

impl Call {
    /// The command for a shell.
    #[must_use]
    pub fn command(&self) -> String {
        if self.program.is_none() { self.lenient() } else { format!("{} gate --for {}", self.word(), self.harness) }
    }

    /// The command of the relay after a tool call, for a shell: where the program is missing nothing
    /// happens.
    #[must_use]
    pub fn after(&self) -> String {
        let (program, harness) = (self.word(), self.harness);
        format!("[ -x {program} ] || exit 0; exec {program} hook after-tool --for {harness}")
    }

    /// The command that passes where the program is missing, also for a harness that takes a missing
    /// one for a denial.
    #[must_use]
    pub fn lenient(&self) -> String {
        let (program, harness) = (self.word(), self.harness);
        format!("[ -x {program} ] || exit 0; exec {program} gate --for {harness}")
    }

    /// The program as one word of a shell.
    fn word(&self) -> String {
        match &self.program {
            None => "\"${LOCI_HOME:-$HOME}/.loci/bin/loci\"".to_owned(),
            Some(path) if path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+@".contains(&byte)) => path.clone(),
            Some(path) => format!("'{}'", path.replace('\'', "'\\''")),
        }
    }
}

/// All that are supported, in the order of their names.
pub const ALL: [&Adapter; 4] = [&claude::ADAPTER, &codex::ADAPTER, &gemini::ADAPTER, &pi::ADAPTER];

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

/// A tool call that is about to happen, as the harness describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The session, where the harness says so.
    pub session: Option<String>,
    /// Where the agent stands: absolute, never taken from the process of the gate.
    pub cwd: Option<PathBuf>,
    /// The tool, by the harness's own name.
    pub tool: String,
    /// What it is called with.
    pub input: Value,
    /// The id of the call.
    pub call: Option<String>,
    /// The sub-agent that calls; `None` for the main one, and where the harness does not tell.
    pub agent_id: Option<String>,
    /// What kind of agent calls, where the harness says so.
    pub agent_type: Option<String>,
}

impl Event {
    /// The sub-agent that calls, as records name it: its id, and its kind where that is known.
    #[must_use]
    pub fn sub_agent(&self) -> Option<String> {
        let id = self.agent_id.as_deref()?;
        Some(self.agent_type.as_deref().map_or_else(|| id.to_owned(), |kind| format!("{id} ({kind})")))
    }
}

/// A tool call that has happened, as the harness describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct After {
    /// The call.
    pub event: Event,
    /// Whether the harness says that it failed; not all of them say so.
    pub failed: bool,
    /// First and last line of what was read, where the harness or the arguments tell.
    pub lines: Option<(u64, u64)>,
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

/// What is said to the harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The call goes on; nothing is said.
    Pass,
    /// The call goes on, and a line for the user says what was not checked.
    Note(String),
    /// The call does not happen; the text is what the model reads instead of a result.
    Refuse(String),
}

/// The verdict in the harness's language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// For standard output.
    pub stdout: String,
    /// For standard error.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}

/// Most characters of a text for a model: the least that any of the harnesses takes.
const MOST_CHARACTERS: usize = 10_000;

/// The text of a refusal is never empty: a harness may let a silent one through.
fn text_of(reason: &str) -> String {
    let mut text: String = reason.trim().chars().take(MOST_CHARACTERS).collect();
    if text.is_empty() {
        "Refused by loci: this path belongs to another agent.".clone_into(&mut text);
    }
    text
}

/// The answer that all harnesses understand which read a hook's standard output: every spelling of
/// a denial in one object, the same text on standard error, exit code 2. Each part is there for one
/// that reads only that part, or that takes the answer for a pass where it is missing.
fn universal(verdict: &Verdict) -> Answer {
    match verdict {
        Verdict::Pass => Answer { stdout: String::new(), stderr: String::new(), code: 0 },
        Verdict::Note(note) => {
            let note = text_of(note);
            Answer { stdout: format!("{}\n", json!({ "systemMessage": note })), stderr: format!("{note}\n"), code: 0 }
        }
        Verdict::Refuse(reason) => {
            let reason = text_of(reason);
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
            Answer { stdout: format!("{object}\n"), stderr: format!("{reason}\n"), code: 2 }
        }
    }
}

/// Reads a payload that is one flat object, keys in snake or camel case. `before` are the names that
/// this harness gives the event before a tool call; a payload that names no event is taken for one.
fn flat(payload: &[u8], before: &[&str]) -> Result<Event, Unreadable> {
    event_of(object_of(payload, before)?).map(|(event, _)| event)
}

/// As [`flat`], for the event after a tool call.
fn flat_after(payload: &[u8], after: &[&str]) -> Result<After, Unreadable> {
    let object = object_of(payload, after)?;
    let failure = text(&object, &["hook_event_name", "hookEventName"]).is_some_and(|event| event.ends_with("Failure"));
    let (event, mut rest) = event_of(object)?;
    let response = ["tool_response", "toolResponse", "tool_result", "toolResult"].iter().find_map(|key| rest.remove(*key));
    let failed = failure || response.as_ref().is_some_and(says_failed);
    let lines = lines::of(&event.input, response.as_ref());
    Ok(After { event, failed, lines })
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

fn object_of(payload: &[u8], events: &[&str]) -> Result<Map<String, Value>, Unreadable> {
    let object = lenient::object(payload)?;
    match text(&object, &["hook_event_name", "hookEventName"]).filter(|event| !events.contains(&event.as_str())) {
        Some(event) => Err(Unreadable::OtherEvent(event)),
        None => Ok(object),
    }
}

/// The call in a payload, and what else stands in it.
fn event_of(mut object: Map<String, Value>) -> Result<(Event, Map<String, Value>), Unreadable> {
    let tool = text(&object, &["tool_name", "toolName"]).ok_or(Unreadable::Missing("tool name"))?;
    let session = text(&object, &["session_id", "sessionId"]);
    let cwd = text(&object, &["cwd"]).map(PathBuf::from).filter(|cwd| cwd.is_absolute());
    let call = text(&object, &["tool_use_id", "toolUseId", "tool_call_id", "toolCallId"]);
    let agent_id = text(&object, &["agent_id", "agentId"]);
    let agent_type = text(&object, &["agent_type", "agentType"]);
    let input = ["tool_input", "toolInput", "tool_args", "toolArgs"].iter().find_map(|key| object.remove(*key));
    let input = lenient::unwrapped(input.ok_or(Unreadable::Missing("tool input"))?);
    Ok((Event { session, cwd, tool, input, call, agent_id, agent_type }, object))
}

/// The first of some keys that holds a text which is not empty.
fn text(object: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    keys.iter().filter_map(|key| object.get(*key)?.as_str()).find(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests;
