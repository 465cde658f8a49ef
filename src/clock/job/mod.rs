//! A job: when it is due, what it does, and what it must leave behind. One file each:
//! `.loci-clock/jobs/NAME.md`; the heartbeat is one more, `.loci-clock/heartbeat.md`.

mod beat;
mod check;
mod loops;
mod parse;
mod read;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::civil::Time;
use jiff::tz::TimeZone;
use serde_json::Value;

pub use beat::parse as parse_beat;
pub use check::refused;
pub use loops::{Loop, parse as parse_loop};
pub(super) use parse::MODEL_RUNS;
pub use parse::parse;

use super::deliverable::Deliverable;
use super::schedule::When;
use crate::custody::person::HARNESSES;
use crate::sys::shown;

/// The largest job file, in bytes.
pub const MAX_BYTES: u64 = 256 * 1024;

/// The name that the heartbeat goes by.
pub const HEARTBEAT: &str = "heartbeat";

/// What a job is judged by and run with.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its name: that of its file.
    pub name: Box<str>,
    /// When it is due.
    pub when: When,
    /// The zone that its day is counted in.
    pub zone: TimeZone,
    /// Tells one schedule from another.
    pub schedule: u64,
    /// What it does.
    pub action: Action,
    /// What it must leave behind; empty: nobody can say whether it succeeded.
    pub deliverables: Box<[Deliverable]>,
    /// What must have succeeded first.
    pub needs: Box<[Need]>,
    /// How long an instant waits for that.
    pub wait_for_needs: Duration,
    /// How long a run may take, in running time.
    pub timeout: Duration,
    /// Between TERM and KILL.
    pub kill_grace: Duration,
    /// How long files are waited for after the end.
    pub settle: Duration,
    /// How often a failed instant is tried again.
    pub retry: u32,
    /// How long to wait before each; the last one holds for all that follow.
    pub retry_wait: Box<[Duration]>,
    /// What happens when an instant comes while a run is on.
    pub overlap: Overlap,
    /// What happens to instants that passed while the clock was off.
    pub missed: Missed,
    /// How far back instants are made up for.
    pub missed_window: Duration,
    /// With `missed: all`: how many of them at most.
    pub missed_max: u32,
    /// How many runs a day, retries included; `None`: as many as are due.
    pub max_per_day: Option<u32>,
    /// A set that is worn for the run.
    pub loadout: Option<Box<Loadout>>,
    /// Without a match of this glob nothing is run.
    pub only_if: Option<Box<str>>,
    /// Whether a block is told.
    pub notify: bool,
    /// How many bytes of each output are kept.
    pub log_max: u64,
    /// What only a heartbeat has.
    pub beat: Option<Box<Beat>>,
    /// Whether it calls a model, as far as its words say.
    pub calls_model: bool,
    /// SHA-256 over what the job does, for arming: an edit of anything else leaves it.
    pub does: [u8; 32],
    /// SHA-256 of the file, for accepting.
    pub file: [u8; 32],
}

impl Job {
    /// One that embodies a body once, as a heartbeat, a wake and a round of a loop do: it needs nothing, leaves no
    /// file that was named, is tried once, and makes up for nothing.
    pub(super) fn of_body(name: &str, when: When, action: Action) -> Self {
        Self {
            name: name.into(),
            when,
            zone: TimeZone::UTC,
            schedule: 0,
            action,
            deliverables: Box::default(),
            needs: Box::default(),
            wait_for_needs: Duration::ZERO,
            timeout: Duration::from_secs(3600),
            kill_grace: Duration::from_secs(10),
            settle: Duration::ZERO,
            retry: 0,
            retry_wait: Box::default(),
            overlap: Overlap::Skip,
            missed: Missed::Skip,
            missed_window: Duration::ZERO,
            missed_max: 1,
            max_per_day: None,
            loadout: None,
            only_if: None,
            notify: true,
            log_max: 1_000_000,
            beat: None,
            calls_model: true,
            does: [0; 32],
            file: [0; 32],
        }
    }
}

/// What a job does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A command line for the shell.
    Run(Box<str>),
    /// A body is embodied with a message.
    Agent {
        /// Its directory, relative to that of the job.
        body: PathBuf,
        /// The text below the front matter.
        message: Box<str>,
    },
    /// A body is embodied with the delegations that wait for it.
    Wake {
        /// Its directory, relative to the root.
        body: PathBuf,
        /// Who lives there.
        agent: Box<str>,
    },
}

/// A job that must have succeeded before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// Its name.
    pub job: Box<str>,
    /// How long ago at most; `None`: its last run counts, however old.
    pub within: Option<Duration>,
}

/// An instant comes while a run of the job is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlap {
    /// It is skipped.
    #[default]
    Skip,
    /// It waits; of several that wait, the last one.
    Queue,
    /// The run is ended, then it starts.
    Replace,
}

/// Instants that passed while the clock was off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missed {
    /// One run for all of them: the last one.
    #[default]
    Once,
    /// They are recorded only.
    Skip,
    /// They are made up for, one after the other.
    All,
}

/// A set for the time of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loadout {
    /// A saved one.
    Named(String),
    /// One that stands in the job, as the text of a set file.
    Inline(String),
}

/// What only a heartbeat has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beat {
    /// From when to when it beats, by the clock of its zone; over midnight where the second is earlier.
    pub active: Option<(Time, Time)>,
    /// How old the human lock may be and still bar a beat.
    pub lock_fresh: Duration,
    /// The terminal that the prompt is typed into; `None`: a turn of the runtime.
    pub terminal: Option<String>,
}

/// Why a file is no job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1, where one is to blame.
    pub line: Option<usize>,
    /// The field, where one is to blame.
    pub field: Option<String>,
    /// What is wrong.
    pub why: String,
}

impl LoadError {
    fn file(path: &Path, why: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, field: None, why: why.into() }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", shown::path(&self.path))?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        match &self.field {
            Some(field) => write!(f, ": {}: {}", shown::text(field), shown::text(&self.why)),
            None => write!(f, ": {}", shown::text(&self.why)),
        }
    }
}

impl std::error::Error for LoadError {}

/// A job that was read, and what is to be said about its file.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The job.
    pub job: Job,
    /// What is to be said.
    pub notices: Vec<String>,
}

/// Whether a text does as the name of a job: it becomes part of file names, and is typed by people.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=100).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with(['.', '-'])
}

/// What calls a model besides the [`HARNESSES`]: a command line with one of these words.
const MODELS: [&str; 6] = ["ollama", "llm", "claude-code", "gemini-cli", "qwen-code", "openhands"];

/// Whether a command line calls a model, as far as its words say: the name of a runtime, or
/// `loci run`, anywhere in it.
#[must_use]
pub fn names_a_runtime(line: &str) -> bool {
    let words: Vec<&str> = line
        .split(|c: char| {
            c.is_whitespace() || matches!(c, ';' | '|' | '&' | '(' | ')' | '`' | '"' | '\'' | '=' | '<' | '>' | '{' | '}' | '$')
        })
        .filter(|word| !word.is_empty())
        .map(|word| word.rsplit('/').next().unwrap_or(word))
        .collect();
    let plain = |word: &str| word.split('@').next().unwrap_or(word).replace('\\', "").to_ascii_lowercase();
    let is_loci = |at: usize| words.get(at).is_some_and(|word| plain(word) == "loci");
    words.iter().enumerate().any(|(at, word)| {
        let word = plain(word);
        let word = word.trim_end_matches(".js").trim_end_matches(".mjs");
        HARNESSES.contains(&word) || MODELS.contains(&word) || (matches!(word, "run" | "loop") && at > 0 && (0..at).any(is_loci))
    })
}

/// The digest of the fields that say when.
fn schedule_of(values: &[&Value]) -> u64 {
    digest(values).first_chunk::<8>().map_or(0, |first| u64::from_be_bytes(*first) >> 1)
}

/// The digest of some values, for arming.
pub(super) fn digest(values: &[&Value]) -> [u8; 32] {
    let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    crate::text::digest::bytes_of_parts(texts.iter().map(String::as_bytes))
}
