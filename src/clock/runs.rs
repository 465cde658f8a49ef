//! Runs: what is started, how it is known again, and how it is ended.

mod machine;
mod output;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use machine::{Held, Machine};
pub use output::{begun, first_error, handed_back, rotate};

use super::deliverable::{Deliverable, Lack, Stamps};
use super::instant;
use super::job::Job;
use super::record::Outcome;
use super::wake::Awaited;
use crate::sys::disk::{self, PathError};
use crate::sys::env;
use crate::sys::fault;
use crate::sys::lineage::{Lineage, Member, Signal};
use crate::sys::process::{self, Identity};

/// What is on disk about a run, before it begins and after it ended: `runs/ID/run.json`. It holds all
/// that judging needs, so that a run is judged by the definition it began with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Version of the format.
    pub schema: u32,
    /// Its id; the value of `LOCI_JOB` in the environment of all that it starts.
    pub id: String,
    /// The job.
    pub job: String,
    /// For which instant.
    #[serde(with = "instant")]
    pub instant: Timestamp,
    /// Which try, from 0.
    pub attempt: u32,
    /// When it was started.
    #[serde(with = "instant")]
    pub started: Timestamp,
    /// The same by the clock that stops when the machine sleeps, in milliseconds.
    pub started_up_ms: u64,
    /// Whether it was started later than it was due.
    pub late: bool,
    /// The process: the one that was started, or the one that was handed back.
    pub process: Identity,
    /// Whether that is one that was handed back.
    #[serde(default)]
    pub handed: bool,
    /// The directory it runs in; its deliverables are relative to it.
    #[serde(with = "crate::sys::wire::path")]
    pub dir: PathBuf,
    /// Whether a person armed what it does.
    #[serde(default)]
    pub armed: bool,
    /// The messages that it has to answer.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub answers: Vec<Awaited>,
    /// What it must leave behind.
    pub deliverables: Vec<Deliverable>,
    /// What was there before.
    pub before: Stamps,
    /// How long it may take.
    pub timeout_s: u64,
    /// Between TERM and KILL.
    pub kill_grace_s: u64,
    /// How long files are waited for after the end.
    pub settle_s: u64,
    /// How many bytes of each output are kept.
    pub log_max: u64,
    /// Whether a block is told.
    pub notify: bool,
    /// What came of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub outcome: Option<Outcome>,
    /// When it had ended.
    #[serde(with = "instant::maybe", skip_serializing_if = "Option::is_none", default)]
    pub ended: Option<Timestamp>,
    /// Its exit status, where it is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exit: Option<i32>,
    /// What was missing.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub missing: Vec<Lack>,
}

impl Run {
    /// How long it has been running, in running time.
    #[must_use]
    pub fn age(&self, up: Duration) -> Duration {
        up.saturating_sub(Duration::from_millis(self.started_up_ms))
    }

    /// All that descends from it.
    #[must_use]
    pub fn lineage(&self) -> Lineage {
        Lineage { leader: self.process.clone(), mark: Some((env::LOCI_JOB.to_owned(), self.id.clone().into())), descent: false }
    }

    /// Writes it into its folder, synced.
    ///
    /// # Errors
    /// Where the disk does not take it.
    pub fn write(&self, folder: &Path) -> Result<(), PathError> {
        let path = folder.join("run.json");
        disk::replace(&path, &super::store::to_text(&path, self)?, Some(0o600))
    }

    /// Reads it out of its folder; `None` where nothing readable is there.
    #[must_use]
    pub fn read(folder: &Path) -> Option<Self> {
        let text = disk::read_bounded(&folder.join("run.json"), 64 << 20).ok()??;
        serde_json::from_slice(&text).ok()
    }
}

/// What is to be started.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// The id of the run.
    pub run: &'a str,
    /// The job.
    pub job: &'a Job,
    /// The real directory it runs in.
    pub dir: &'a Path,
    /// The folder of the run, for its output.
    pub folder: &'a Path,
    /// Of a turn of a loop: what tells its session.
    pub ticket: Option<&'a str>,
    /// Of a body that mail wakes: what it is told.
    pub message: Option<&'a str>,
    /// How many delegations led to it.
    pub hops: usize,
    /// Whether a person armed what it does.
    pub armed: bool,
}

/// Whether a process is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It is.
    Running,
    /// It is not; its exit status, where it is known.
    Ended(Option<i32>),
}

/// Processes as the clock deals with them. The clock decides; this starts, looks and signals.
pub trait Processes {
    /// Starts a run, up to its gate: nothing of it runs yet.
    ///
    /// # Errors
    /// Where it can't be started.
    fn start(&mut self, order: &Order<'_>) -> io::Result<Identity>;

    /// Opens the gate of a run.
    ///
    /// # Errors
    /// Where it is no longer there.
    fn release(&mut self, run: &str) -> io::Result<()>;

    /// Takes back a run that is still at its gate.
    fn abandon(&mut self, run: &str);

    /// Whether the process of a run is there.
    fn life(&mut self, run: &Run) -> Life;

    /// Who else of a run is there.
    fn living(&mut self, run: &Run) -> Vec<Member>;

    /// Sends a signal to all of a run; who was there.
    fn signal(&mut self, run: &Run, signal: Signal) -> Vec<Member>;

    /// The process of a number that a run handed back.
    fn identify(&mut self, pid: i32) -> Option<Identity>;

    /// Tells the hooks of `on-block-report`; nothing waits for them.
    fn report(&mut self, _root: &Path, _report: Map<String, Value>, _text: &str) {}

    /// What those hooks have said since; with `patience`, those that are at it are waited for.
    fn heard(&mut self, _patience: Duration) -> Vec<String> {
        Vec::new()
    }

    /// Types a prompt into a terminal that is attached by a name, and submits it; `false` where `may`, which is
    /// asked last, said no.
    ///
    /// # Errors
    /// Why it can't be typed.
    fn type_in(&mut self, state: &Path, terminal: &str, text: &str, may: &dyn Fn() -> bool) -> Result<bool, String>;

    /// A named point of a tick, at which a test can make it panic.
    fn point(&mut self, tick: &str) {
        fault::point(tick);
    }
}

/// The run of a clock of this machine that this very process belongs to, and that `id` names: it is on, and
/// this process descends from it. What stands in an environment alone proves nothing.
#[must_use]
pub fn of_this_process(state: &Path, id: &str) -> Option<Run> {
    let plain = !id.is_empty() && !id.starts_with('.') && !id.contains('/');
    let roots = disk::list(&state.join("clock")).ok().filter(|_| plain)?;
    let mut found = roots.iter().filter_map(|root| Run::read(&state.join("clock").join(&root.name).join("runs").join(id)));
    found.find(|run| run.id == id && run.outcome.is_none() && process::is_below(&run.process))
}
