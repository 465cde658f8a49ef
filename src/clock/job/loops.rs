//! The record of a loop: `.loci-clock/loops/NAME.md`.

use std::path::Path;

use serde_json::Value;

use super::read::{At, Fields};
use super::{LoadError, is_name};
use crate::text;

const KNOWN: &[&str] = &["hooks", "exit", "next", "max_rounds", "target", "note", "armed"];

/// A loop: a prompt, the hooks that write its state, the predicate over that state, and what is next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// Its name: that of its file.
    pub name: String,
    /// The hooks that are active while it is.
    pub hooks: Vec<String>,
    /// When it is done: an expression over `state`.
    pub exit: String,
    /// What follows.
    pub next: Next,
    /// How many rounds at most.
    pub max_rounds: u32,
    /// The terminal that the prompt is typed into; `None`: a turn of the runtime.
    pub terminal: Option<String>,
    /// What is delivered.
    pub prompt: String,
    /// SHA-256 of the file.
    pub file: [u8; 32],
}

/// What follows a loop that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Nothing.
    Stop,
    /// The next one of `order.yaml`.
    Index,
    /// The next one of `order.yaml`, and after the last the first.
    Cycle,
    /// That one.
    Named(String),
    /// What a command says.
    Run(String),
}

/// Reads the loop `name` out of its file.
///
/// # Errors
/// The first thing that is wrong, with its line and its field.
pub fn parse(name: &str, path: &Path, bytes: &[u8]) -> Result<Loop, LoadError> {
    if !is_name(name) {
        return Err(LoadError::file(path, "the name of a loop is 1-100 letters, digits, `-`, `_` and `.`"));
    }
    let fields = Fields::read(path, bytes, KNOWN)?;
    let exit = match fields.get("exit") {
        None => return Err(fields.lacks("exit", "it is missing: an expression over `state`")),
        Some((at, value)) => at.text(value)?.to_owned(),
    };
    let prompt = fields.body()?;
    if prompt.is_empty() {
        return Err(LoadError::file(path, "the prompt is missing: the text below the front matter"));
    }
    Ok(Loop {
        name: name.to_owned(),
        hooks: fields.read_as("hooks", names)?.unwrap_or_default(),
        exit,
        next: fields.read_as("next", next)?.unwrap_or(Next::Stop),
        max_rounds: fields.read_as("max_rounds", |at, value| at.count(value, 1, 10_000))?.unwrap_or(20),
        terminal: fields.read_as("target", terminal)?.flatten(),
        prompt: prompt.to_owned(),
        file: text::digest::bytes_of_parts([bytes]),
    })
}

fn names(at: At<'_>, value: &Value) -> Result<Vec<String>, LoadError> {
    let items = value.as_array().ok_or_else(|| at.error("it has to be a list of names"))?;
    items.iter().map(|item| at.text(item).map(str::to_owned)).collect()
}

fn next(at: At<'_>, value: &Value) -> Result<Next, LoadError> {
    match value {
        Value::Object(map) => {
            at.known(map, &["run"])?;
            let line = map.get("run").ok_or_else(|| at.error("`run` is missing"))?;
            Ok(Next::Run(at.text(line)?.to_owned()))
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

fn terminal(at: At<'_>, value: &Value) -> Result<Option<String>, LoadError> {
    match value {
        Value::String(word) if word == "runtime" => Ok(None),
        Value::Object(map) => {
            at.known(map, &["terminal"])?;
            let name = map.get("terminal").ok_or_else(|| at.error("`terminal` is missing"))?;
            Ok(Some(at.text(name)?.to_owned()))
        }
        other => Err(at.error(format!("`{other}` is neither `runtime` nor {{terminal: NAME}}"))),
    }
}
