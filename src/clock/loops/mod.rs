//! A loop is data: a prompt, the hooks that are on while it goes on, a predicate over the state that these
//! hooks leave, and what comes next. There is no thread for it: the end of a turn is its tick.
//!
//! [`decide`] says what a turn's end means; [`seam`] asks it where a harness tells of that end; the clock
//! delivers prompts, and chooses what comes next. What they know of each other is one file a root, changed under a lock.

pub mod decide;
pub mod exit;
pub mod seam;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::deliverable::{Deliverable, Stamps};
use super::instant;
use crate::sys::disk::{self, PathError};
use crate::sys::lock::{self, LockError};
use crate::sys::process::Identity;
use crate::sys::shown;
use crate::text::digest;

/// What the names of loops begin with, where jobs are named too.
pub const PREFIX: &str = "loop:";
/// The most bytes of the file of a root.
const MAX_FILE: u64 = 4 << 20;
/// The most of the order of loops that is read, in bytes, and the most names in it.
const MAX_ORDER: (u64, usize) = (64 << 10, 1_000);
/// How long somebody else's change is waited for.
const PATIENCE: Duration = Duration::from_millis(1500);

/// What follows a loop that is done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Next {
    /// Nothing.
    #[default]
    Stop,
    /// The next one of the order.
    Index,
    /// The next one of the order, and after the last the first.
    Cycle,
    /// That one.
    Named(String),
    /// The one that a command names.
    Run(String),
}

/// What a loop is, as its file said when it was started.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// Its name: that of its file.
    pub name: String,
    /// The hooks that are on while it goes on, besides those of the home level.
    pub hooks: Vec<String>,
    /// When it is done: an expression over `state`.
    pub exit: String,
    /// What follows.
    pub next: Next,
    /// How many rounds it has at most.
    pub max_rounds: u32,
    /// How many rounds a day, over all its starts.
    pub max_per_day: u32,
    /// The terminal that the prompt is typed into; `None`: a turn of the runtime.
    pub terminal: Option<String>,
    /// What has to be there besides, changed since it was started.
    pub deliverables: Vec<Deliverable>,
    /// What is delivered.
    pub prompt: String,
}

impl Definition {
    /// What a loop is called among jobs: in grants, claims, runs and the ledger.
    #[must_use]
    pub fn job_name(name: &str) -> String {
        format!("{PREFIX}{name}")
    }
}

/// How far a loop is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Its prompt is to be delivered, by the clock.
    #[default]
    Due,
    /// A turn is on.
    Turn,
    /// It is done; the clock chooses what comes next.
    Next,
    /// A command is asked for that.
    Asking,
}

/// The loop that goes on in a root.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Active {
    /// What it is.
    pub definition: Definition,
    /// What arming it was bound to.
    pub hash: String,
    /// How far it is.
    pub phase: Phase,
    /// The round it is in, from 1: how often its prompt was delivered.
    pub round: u32,
    /// What the turn that is on has in its environment: `LOCI_LOOP`.
    pub ticket: String,
    /// The session of that turn, as soon as it is known.
    pub session: Option<String>,
    /// What its hooks had left at the end of the last turn.
    pub state: Map<String, Value>,
    /// What was said last about why it is not done.
    pub said: Option<String>,
    /// Since when.
    #[serde(with = "instant::maybe")]
    pub since: Option<Timestamp>,
    /// The clock that delivers its prompts.
    pub clock: Option<Identity>,
    /// The directory that its deliverables are relative to.
    #[serde(with = "crate::sys::wire::path")]
    pub dir: PathBuf,
    /// What stood at their places before.
    pub before: Option<Stamps>,
}

/// How a loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// Its predicate held.
    Done,
    /// It came to a limit, or could not go on.
    Stopped,
    /// The clock or the session ended within it.
    Interrupted,
    /// A person ended it.
    Ended,
}

impl How {
    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Stopped => "stopped",
            Self::Interrupted => "interrupted",
            Self::Ended => "ended",
        }
    }
}

/// What came of a loop last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Last {
    /// How it ended.
    pub how: How,
    /// Why.
    pub why: String,
    /// After how many rounds.
    pub rounds: u32,
    /// When.
    #[serde(with = "instant")]
    pub at: Timestamp,
    /// Whether the ledger has it.
    #[serde(default)]
    pub told: bool,
    /// What its hooks had left.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub state: Map<String, Value>,
}

/// What is known of the loops of a root.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// Version of the format: 1.
    pub schema: u32,
    /// The root.
    #[serde(with = "crate::sys::wire::path")]
    pub root: PathBuf,
    /// The one that goes on.
    pub active: Option<Active>,
    /// What came of each last.
    pub last: BTreeMap<String, Last>,
    /// The day that rounds are counted for, and how many there were, by loop.
    pub days: BTreeMap<String, (String, u32)>,
}

impl State {
    /// The loop that goes on comes to its end; the session that had its hooks.
    pub fn end(&mut self, how: How, why: impl Into<String>, at: Timestamp) -> Option<(String, String)> {
        let active = self.active.take()?;
        self.note(&active, how, why, at);
        active.session.map(|session| (session, active.definition.name))
    }

    /// Notes what came of a loop.
    pub fn note(&mut self, active: &Active, how: How, why: impl Into<String>, at: Timestamp) {
        let last = Last { how, why: why.into(), rounds: active.round, at, told: false, state: active.state.clone() };
        self.last.insert(active.definition.name.clone(), last);
    }

    /// How many rounds a loop had on a day.
    #[must_use]
    pub fn rounds_on(&self, name: &str, day: &str) -> u32 {
        self.days.get(name).filter(|(one, _)| one == day).map_or(0, |(_, rounds)| *rounds)
    }

    /// Counts a round of the loop that goes on.
    pub fn count_round(&mut self, day: &str) {
        let Some(active) = &mut self.active else { return };
        active.round += 1;
        let name = active.definition.name.clone();
        let rounds = self.rounds_on(&name, day) + 1;
        self.days.insert(name, (day.to_owned(), rounds));
    }
}

/// Why what is known of loops can't be used; reads on after "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum LoopError {
    /// The file says what can't be.
    #[error("read {}: {why}", shown::path(.path))]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Somebody else holds it.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The disk.
    #[error(transparent)]
    Disk(#[from] PathError),
}

/// The folder of what is known of loops.
#[must_use]
pub fn folder(state: &Path) -> PathBuf {
    state.join("loops")
}

/// The file of a root. `root` is its real path.
#[must_use]
pub fn file(state: &Path, root: &Path) -> PathBuf {
    folder(state).join(format!("{}.json", digest::key("root", root)))
}

/// Reads a file of the folder; `None` where it is not there.
///
/// # Errors
/// Where it is there and can't be read.
pub fn read(path: &Path) -> Result<Option<State>, LoopError> {
    if disk::look(path)?.is_none() {
        return Ok(None);
    }
    let broken = |why: String| LoopError::Broken { path: path.to_owned(), why };
    match disk::read_bounded(path, MAX_FILE)? {
        Some(data) => serde_json::from_slice(&data).map(Some).map_err(|error| broken(error.to_string())),
        None => Err(broken("it is too large".to_owned())),
    }
}

/// Changes what is known of the loops of a root, alone.
///
/// # Errors
/// Where it can't be locked, read or written.
pub fn change<T>(state: &Path, root: &Path, what: impl FnOnce(&mut State) -> T) -> Result<T, LoopError> {
    let path = file(state, root);
    disk::make_dirs(&folder(state))?;
    let _held = lock::take(&path.with_extension("lock"), "loci loop", PATIENCE)?;
    let before = read(&path)?;
    let mut after = before.clone().unwrap_or_default();
    (after.schema, after.root) = (1, root.to_owned());
    let result = what(&mut after);
    if before.as_ref() != Some(&after) {
        disk::sweep_temps(&folder(state))?;
        disk::replace(&path, &super::store::to_text(&path, &after)?, Some(0o600))?;
    }
    Ok(result)
}

/// The order of the loops of a root: `.loci-clock/loops/order.yaml`, a list of names.
///
/// # Errors
/// What is wrong with it.
pub fn order(root: &Path) -> Result<Vec<String>, String> {
    let path = root.join(".loci-clock/loops/order.yaml");
    let wrong = |why: &str| format!("{}: {why}", shown::path(&path));
    let data = match disk::read_bounded(&path, MAX_ORDER.0) {
        Ok(data) => data.ok_or_else(|| wrong("it is too large"))?,
        Err(error) if disk::is_absent(&error.source) => return Ok(Vec::new()),
        Err(error) => return Err(format!("failed to {error}: {}", error.source)),
    };
    // Names, one a line: nothing of YAML that nests is needed, or read.
    let text = String::from_utf8(data).map_err(|_| wrong("it is not UTF-8"))?;
    let mut names = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#') && *line != "---") {
        let name = line.strip_prefix("- ").map(|name| name.trim().trim_matches(['"', '\'']));
        let name = name.filter(|name| super::job::is_name(name)).ok_or_else(|| wrong(&format!("`{line}` is no line like `- NAME`")))?;
        names.push(name.to_owned());
    }
    if names.len() > MAX_ORDER.1 {
        return Err(wrong("it has too many names"));
    }
    Ok(names)
}
