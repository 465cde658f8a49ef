//! A loop as its file says it: `.loci-clock/loops/NAME.md`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::beat::terminal;
use super::parse::{MODEL_RUNS, deliverables, inside};
use super::read::{At, Fields};
use super::{Action, Job, LoadError, digest, is_name};
use crate::clock::loops::{Definition, Next, exit};
use crate::clock::schedule::When;
use crate::hooks::answer::MOST_CHARACTERS;
use crate::text;

const KNOWN: &[&str] =
    &["hooks", "exit", "next", "max_rounds", "max_per_day", "target", "agent", "deliverables", "timeout", "kill_grace", "note", "armed"];

/// How many rounds a loop has where its file does not say.
const ROUNDS: u32 = 20;
/// The most hooks that a loop names.
const MAX_HOOKS: usize = 64;

/// A loop that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Loop {
    /// What it does from round to round.
    pub definition: Definition,
    /// One round of it, as a job: a turn of the body with the prompt as its message.
    pub job: Job,
    /// What is to be said about its file.
    pub notices: Vec<String>,
}

/// Reads the loop `name` out of its file.
///
/// # Errors
/// The first thing that is wrong, with its line and its field.
pub fn parse(name: &str, path: &Path, bytes: &[u8]) -> Result<Loop, LoadError> {
    if !is_name(name) {
        return Err(LoadError::file(path, "the name of a loop is 1-100 letters, digits, `-`, `_` and `.`"));
    }
    if ["stop", "index", "cycle"].contains(&name) {
        return Err(LoadError::file(path, format!("`{name}` is a word of `next`; a loop needs another name")));
    }
    let fields = Fields::read(path, bytes, KNOWN)?;
    let exit = match fields.get("exit") {
        None => return Err(fields.lacks("exit", "it is missing: an expression over `state`, as in `exit: state.tests_pass`")),
        Some((at, value)) => predicate(at, value)?,
    };
    let prompt = fields.body()?;
    if prompt.is_empty() {
        return Err(LoadError::file(path, "the prompt is missing: the text below the front matter"));
    }
    if prompt.chars().count() > MOST_CHARACTERS {
        return Err(LoadError::file(path, format!("the prompt has more than {MOST_CHARACTERS} characters: no harness takes more")));
    }
    let max_rounds = fields.read_as("max_rounds", |at, value| at.count(value, 1, 10_000))?.unwrap_or(ROUNDS);
    let max_per_day = fields.read_as("max_per_day", |at, value| at.count(value, 1, 1_000_000))?;
    let length = |name: &str, default: u64| -> Result<Duration, LoadError> {
        Ok(fields.read_as(name, |at, value| at.length(value))?.unwrap_or(Duration::from_secs(default)))
    };
    let timeout = match length("timeout", 3600)? {
        Duration::ZERO => return Err(fields.lacks("timeout", "it has to be 1s or more")),
        timeout => timeout,
    };
    let mut notices = Vec::new();
    if fields.get("armed").is_some() {
        notices.push(format!("{name}: `armed` in a file means nothing: arming is machine-local (`loci jobs arm loop:{name}`)"));
    }
    let nothing = Value::Null;
    let does: Vec<&Value> =
        KNOWN.iter().filter(|key| !matches!(**key, "note" | "armed")).map(|key| fields.header.value(key).unwrap_or(&nothing)).collect();
    let text = Value::from(prompt);
    let body = fields.read_as("agent", |at, value| inside(at, at.text(value)?))?.unwrap_or_else(|| PathBuf::from("."));
    let definition = Definition {
        name: name.to_owned(),
        hooks: fields.read_as("hooks", names)?.unwrap_or_default(),
        exit,
        next: fields.read_as("next", next)?.unwrap_or_default(),
        max_rounds,
        max_per_day: max_per_day.unwrap_or(MODEL_RUNS.max(max_rounds)),
        terminal: fields.read_as("target", terminal)?.flatten(),
        deliverables: fields.read_as("deliverables", deliverables)?.unwrap_or_default(),
        prompt: prompt.to_owned(),
    };
    if definition.terminal.is_some() {
        crate::clock::mirror::is_typable(prompt).map_err(|error| LoadError::file(path, format!("the prompt can't be typed: {error}")))?;
    }
    let job = Job {
        timeout,
        kill_grace: length("kill_grace", 10)?,
        does: digest(&does.into_iter().chain([&text]).collect::<Vec<_>>()),
        file: text::digest::bytes_of_parts([bytes]),
        ..Job::of_body(&Definition::job_name(name), When::Every(Duration::MAX), Action::Agent { body, message: prompt.into() })
    };
    Ok(Loop { definition, job, notices })
}

fn predicate(at: At<'_>, value: &Value) -> Result<String, LoadError> {
    let text = match value {
        // `exit: false` is a loop that ends by its ceiling.
        Value::Bool(flag) => return Ok(flag.to_string()),
        other => at.text(other)?,
    };
    exit::check(text).map_err(|why| at.error(why))?;
    Ok(text.to_owned())
}

fn names(at: At<'_>, value: &Value) -> Result<Vec<String>, LoadError> {
    let items = value.as_array().ok_or_else(|| at.error("it has to be a list of names"))?;
    if items.len() > MAX_HOOKS {
        return Err(at.error(format!("it names more than {MAX_HOOKS}")));
    }
    items.iter().map(|item| at.text(item).map(str::to_owned)).collect()
}

fn next(at: At<'_>, value: &Value) -> Result<Next, LoadError> {
    match value {
        Value::Object(map) => {
            at.known(map, &["run"])?;
            let line = at.text(map.get("run").ok_or_else(|| at.error("`run` is missing"))?)?;
            if line.trim().is_empty() || line.contains('\0') {
                return Err(at.error("`run` is no command"));
            }
            Ok(Next::Run(line.to_owned()))
        }
        other => Ok(match at.text(other)? {
            "stop" => Next::Stop,
            "index" => Next::Index,
            "cycle" => Next::Cycle,
            name if is_name(name) => Next::Named(name.to_owned()),
            odd => return Err(at.error(format!("`{odd}` is neither a loop nor stop, index, cycle or {{run: …}}"))),
        }),
    }
}
