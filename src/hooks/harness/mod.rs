//! The languages of the harnesses: what each one says about a tool call, and how it wants to be
//! answered. Pure: bytes in, bytes out. One file a harness, and one line in [`ALL`].

mod claude;
mod codex;
mod gemini;
mod lenient;
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
    #[error("is about the event `{}`, and this gate stands before tool calls", crate::sys::shown::text(.0))]
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
    let object = lenient::object(payload)?;
    if let Some(event) = text(&object, &["hook_event_name", "hookEventName"]).filter(|event| !before.contains(&event.as_str())) {
        return Err(Unreadable::OtherEvent(event));
    }
    let tool = text(&object, &["tool_name", "toolName"]).ok_or(Unreadable::Missing("tool name"))?;
    let session = text(&object, &["session_id", "sessionId"]);
    let cwd = text(&object, &["cwd"]).map(PathBuf::from).filter(|cwd| cwd.is_absolute());
    let call = text(&object, &["tool_use_id", "toolUseId", "tool_call_id", "toolCallId"]);
    let agent_id = text(&object, &["agent_id", "agentId"]);
    let agent_type = text(&object, &["agent_type", "agentType"]);
    let input = first(object, &["tool_input", "toolInput", "tool_args", "toolArgs"]).ok_or(Unreadable::Missing("tool input"))?;
    let input = lenient::unwrapped(input);
    Ok(Event { session, cwd, tool, input, call, agent_id, agent_type })
}

/// The first of some keys that holds a text which is not empty.
fn text(object: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    keys.iter().filter_map(|key| object.get(*key)?.as_str()).find(|text| !text.is_empty()).map(str::to_owned)
}

/// The value of the first of some keys that is there.
fn first(mut object: Map<String, Value>, keys: &[&str]) -> Option<Value> {
    keys.iter().find_map(|key| object.remove(*key))
}

#[cfg(test)]
mod tests;
