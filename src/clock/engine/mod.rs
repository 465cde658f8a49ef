//! The clock of one root: ticks over jobs, runs and records. One thread decides; everything that takes
//! time is a process of its own.
//!
//! What is right is decided by [`super::decide`]; this finds what it has to know, and does what it says.
//! Time is an argument of every tick, and processes are behind [`Processes`](crate::clock::runs::Processes), so that a test can let a
//! year pass.

mod definition;
mod fire;
mod keep;
mod load;
mod loops;
mod open;
mod perceive;
mod reap;
mod recover;
mod start;
mod tick;
mod view;
mod voice;
mod wish;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

pub use load::Knock;
pub use view::{JobView, Why};
pub use voice::Notice;

use definition::Definition;

use super::job::Job;
use super::ledger::Ledger;
use super::record::{Outcome, Record};
use super::runs::Run;
use super::store::Store;
use super::trust::Trust;
use crate::loadout::scope::Worn;
use crate::sys::time::Moment;
use crate::tree::dotdirs::Dotdirs;

/// How often everything is looked at, whatever knocked.
const SWEEP: Duration = Duration::from_secs(60);

/// One root, and where things of this machine are.
#[derive(Debug, Clone)]
pub struct Root {
    /// Its real path.
    pub dir: PathBuf,
    /// The state folder of loci.
    pub state: PathBuf,
    /// The home that saved sets are looked for in.
    pub home: PathBuf,
    /// The user's own home, which harnesses use.
    pub user_home: PathBuf,
    /// The dotdirs that sets switch things in.
    pub dotdirs: Dotdirs,
}

impl Root {
    /// The folder of what runs here.
    #[must_use]
    pub fn dotdir(&self) -> PathBuf {
        self.dir.join(".loci-clock")
    }
}

/// An instant that waits to be dealt with.
#[derive(Debug, Clone)]
struct Pending {
    instant: Timestamp,
    attempt: u32,
    /// Since when, by the time since boot.
    since: Duration,
    late: bool,
    /// One of several that are made up for: they wait for each other.
    queued: bool,
}

/// One job: its file, its definition, its record.
#[derive(Debug, Default)]
struct Slot {
    stamp: Option<load::FileStamp>,
    job: Option<Definition>,
    /// Why its file is refused; an earlier definition may be in force all the same.
    error: Option<Box<str>>,
    /// Why its needs can't be met.
    refused: Option<Box<str>>,
    record: Record,
    waiting: VecDeque<Pending>,
    /// Instants up to here were handed out.
    dealt: Option<Timestamp>,
    /// When it is due next, where it stands in the heap.
    next: Option<Timestamp>,
}

impl Slot {
    /// Whether its file is there, or may be.
    fn is_there(&self) -> bool {
        self.record.gone.is_none()
    }

    /// The definition that is in force.
    fn live(&self) -> Option<&Definition> {
        self.job.as_ref().filter(|_| self.refused.is_none() && self.record.gone.is_none())
    }

    /// All of the definition that is in force.
    fn live_job(&self, name: &str) -> Option<Arc<Job>> {
        self.live().and_then(|definition| definition.job(name))
    }
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// It is being ended, since when (running time), and for what.
    Ending {
        since: Duration,
        why: Outcome,
    },
    /// It is gone, since when (running time); files may still come.
    Settling {
        since: Duration,
    },
    /// It was judged, and that has to be noted still.
    Judged(Outcome),
}

/// A run that is on.
#[derive(Debug)]
struct Flight {
    run: Run,
    phase: Phase,
    /// The definition it began with; `None` after a restart.
    job: Option<Arc<Job>>,
    /// The set that is worn for it.
    worn: Option<Worn>,
}

/// The clock of one root.
#[derive(Debug)]
pub struct Clock<P> {
    root: Root,
    procs: P,
    store: Store,
    ledger: Ledger,
    /// Each in a place of its own: a map that is filled in order leaves half of its nodes empty.
    slots: BTreeMap<Arc<str>, Box<Slot>>,
    /// The directories of bodies that runs embody, relative to the root; `None`: to be gathered again.
    embodied: Option<BTreeSet<PathBuf>>,
    heap: BinaryHeap<Reverse<(Timestamp, Arc<str>)>>,
    /// Jobs with something to deal with at the next tick.
    busy: BTreeSet<Box<str>>,
    flights: BTreeMap<String, Flight>,
    trust: Trust,
    voice: voice::Voice,
    /// When wall and boot time were last compared.
    reference: Moment,
    knocked: load::Knocked,
    swept: Option<Duration>,
    sweeps: load::Sweeps,
    /// A lock from the future: when it was first seen (time since boot), and its time.
    future_lock: Option<(Duration, i128)>,
    /// The inboxes of bodies that mail may wake, by the name of the job.
    posts: BTreeMap<String, perceive::Post>,
    /// When the folder of what is to be run now was last looked into.
    wished: Option<i128>,
    /// The one job that is dealt with; the others are left alone.
    only: Option<Box<str>>,
    perceived: Option<Duration>,
    polls: u64,
    looked: loops::Looked,
    /// What the turn of a loop that is being started has in its environment.
    ticket: Option<String>,
    ticks: u64,
    /// How often all files of jobs, or all grants, were read.
    loads: u64,
    /// How often a record changed.
    saves: u64,
}
