//! The clock of one root: ticks over jobs, runs and records. One thread decides; everything that takes
//! time is a process of its own.
//!
//! What is right is decided by [`super::decide`]; this finds what it has to know, and does what it says.
//! Time is an argument of every tick, and processes are behind [`Processes`], so that a test can let a
//! year pass.

mod fire;
mod load;
mod loops;
mod perceive;
mod reap;
mod start;
mod view;
mod voice;
mod wish;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

pub use load::Knock;
pub use view::{JobView, Why};
pub use voice::Notice;

use super::decide;
use super::job::Job;
use super::ledger::{Fold, Ledger};
use super::record::{Outcome, Record};
use super::runs::{Processes, Run};
use super::store::Store;
use super::trust::Trust;
use crate::loadout::scope::Worn;
use crate::sys::disk::{self, PathError};
use crate::sys::process;
use crate::sys::time::Moment;
use crate::tree::dotdirs::Dotdirs;

/// How often everything is looked at, whatever knocked.
const SWEEP: Duration = Duration::from_secs(60);
/// A step of the wall clock below this is drift.
const STEP: SignedDuration = SignedDuration::from_secs(1);

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
    job: Option<Arc<Job>>,
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
    /// The definition that is in force.
    fn live(&self) -> Option<&Arc<Job>> {
        self.job.as_ref().filter(|_| self.refused.is_none() && self.record.gone.is_none())
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
    slots: BTreeMap<Box<str>, Slot>,
    heap: BinaryHeap<Reverse<(Timestamp, Box<str>)>>,
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
    /// How often a record changed.
    saves: u64,
}

impl<P: Processes> Clock<P> {
    /// Opens the clock of a root: what was left half done is settled, the jobs are read, runs that are
    /// still on are taken up again. Nothing fires before the first tick.
    ///
    /// # Errors
    /// Where the state folder can't be used.
    pub fn open(root: Root, procs: P, now: Moment) -> Result<Self, PathError> {
        let (store, found) = Store::open(&root.state, &root.dir, now)?;
        let (ledger, said) = Ledger::open(&root.dir);
        let mut clock = Self {
            trust: Trust::default(),
            store,
            ledger,
            procs,
            slots: BTreeMap::new(),
            heap: BinaryHeap::new(),
            busy: BTreeSet::new(),
            flights: BTreeMap::new(),
            voice: voice::Voice::default(),
            reference: now,
            knocked: load::Knocked::default(),
            swept: None,
            sweeps: load::Sweeps::default(),
            future_lock: None,
            posts: BTreeMap::new(),
            wished: None,
            only: None,
            perceived: None,
            polls: 0,
            looked: loops::Looked::default(),
            ticket: None,
            ticks: 0,
            saves: 0,
            root,
        };
        for notice in found.notices {
            clock.say("state", notice, now);
        }
        if let Some(said) = said {
            clock.say("ledger", said, now);
        }
        for (job, record) in found.records {
            clock.slots.insert(job.into(), Slot { record, ..Slot::default() });
        }
        clock.take_up(now);
        clock.sweep(now);
        if let Some((at, boot, id)) = found.clocks
            && id == process::boot()
        {
            // A correction while nobody looked.
            clock.reference = Moment { wall: at, boot, ..now };
            clock.compare_clocks(now);
            clock.reference = now;
        }
        clock.restore_sets(now);
        clock.settle_claims(now);
        clock.fold(now, true);
        Ok(clock)
    }

    /// One tick: everything that is due. A tick of it that panics is caught and said; the others go on.
    pub fn tick(&mut self, now: Moment) {
        self.ticks += 1;
        self.guard("clocks", now, Self::compare_clocks);
        self.guard("reap", now, Self::reap);
        self.guard("reload", now, Self::reload);
        self.guard("perception", now, Self::perceive);
        self.guard("wishes", now, Self::grant_wishes);
        self.guard("fire", now, Self::fire);
        self.guard("loops", now, Self::loops);
        self.guard("health check", now, Self::health);
    }

    fn guard(&mut self, name: &str, now: Moment, act: fn(&mut Self, Moment)) {
        let went = catch_unwind(AssertUnwindSafe(|| {
            self.procs.point(name);
            act(self, now);
        }));
        let key = format!("tick {name}");
        match went {
            Ok(()) => self.voice.over(&key),
            Err(panic) => {
                let why = panic.downcast_ref::<&str>().map(|text| (*text).to_owned()).or_else(|| panic.downcast_ref::<String>().cloned());
                self.say(&key, format!("the {name} tick failed: {}; the others go on", why.unwrap_or_default()), now);
            }
        }
    }

    /// Whether the wall clock was set against the time since boot.
    fn compare_clocks(&mut self, now: Moment) {
        let wall = now.wall.duration_since(self.reference.wall);
        let boot = |at: Moment| SignedDuration::try_from(at.boot).unwrap_or_default();
        let by = wall.saturating_sub(boot(now).saturating_sub(boot(self.reference)));
        if by.abs() < STEP {
            return;
        }
        self.reference = now;
        for slot in self.slots.values_mut() {
            if let Some(job) = &slot.job {
                decide::set_clock(&job.when, &mut slot.record, by, now.wall);
                slot.dealt = slot.record.last.filter(|last| *last <= now.wall);
            }
        }
        let names: Vec<Box<str>> = self.slots.keys().cloned().collect();
        self.heap.clear();
        for name in names {
            self.schedule(&name);
        }
        self.fold(now, true);
        if by.abs() > decide::CORRECTION {
            self.say("clock set", format!("the wall clock was set by {} s: the calendar begins anew from here", by.as_secs()), now);
        }
    }

    /// The time after which [`Self::tick`] has something to do, at the latest in a second.
    #[must_use]
    pub fn pause(&self, now: Moment) -> Duration {
        // The next full second, so that what is due at a second is not a second late.
        let into = u64::try_from(now.wall.subsec_millisecond()).unwrap_or(0);
        Duration::from_millis(1000 - into.min(999))
    }

    /// When the next instant is due by the calendar.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Whether nothing runs and nothing waits.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.flights.is_empty() && self.busy.is_empty()
    }

    /// Reads again what a person allowed, where that has changed.
    fn refresh_trust(&mut self, now: Moment) {
        if let Err(error) = self.trust.refresh(&self.root.state, &self.root.dir) {
            self.say("grants", format!("nothing is allowed: failed to {error}: {}", error.source), now);
            self.trust = Trust::default();
        }
    }

    /// Takes in what hooks said about a block; with `patience`, those that are at it are waited for.
    pub fn hear(&mut self, now: Moment, patience: Duration) {
        for words in self.procs.heard(patience) {
            self.say("on-block-report", words, now);
        }
    }

    fn health(&mut self, now: Moment) {
        self.hear(now, Duration::ZERO);
        if self.ledger.is_waiting() {
            match self.ledger.flush() {
                Ok(()) => self.voice.over("ledger"),
                // It was said that it can't even be read.
                Err(_) if self.voice.holds("ledger") => {}
                Err(error) => {
                    let why = format!("ledger.jsonl can't be written (failed to {error}: {}); its lines wait in memory", error.source);
                    self.say("ledger", why, now);
                }
            }
        }
        if self.store.is_long(self.slots.len()) {
            self.fold(now, false);
        }
    }

    fn fold(&mut self, now: Moment, must: bool) {
        let old = now.wall.checked_sub(SignedDuration::from_hours(7 * 24)).unwrap_or(now.wall);
        self.slots.retain(|_, slot| slot.record.gone.is_none_or(|gone| gone > old) || slot.record.running.is_some());
        let records = self.slots.iter().map(|(name, slot)| (&**name, &slot.record));
        match self.store.fold(records, now) {
            Ok(()) => self.voice.over("state file"),
            Err(error) if must || self.ticks.is_multiple_of(60) => {
                let why = format!("state.json can't be written (failed to {error}: {})", error.source);
                self.say("state file", why, now);
            }
            Err(_) => {}
        }
    }

    /// Writes what is known of a job; where that fails, it is said.
    fn save(&mut self, name: &str, now: Moment) -> bool {
        let Some(slot) = self.slots.get(name) else { return true };
        self.saves += 1;
        match self.store.write(name, Some(&slot.record), now) {
            Ok(()) => {
                self.voice.over("disk");
                true
            }
            Err(error) => {
                self.say("disk", format!("the state can't be written (failed to {error}: {}); nothing is started", error.source), now);
                false
            }
        }
    }

    /// Puts a job where it is due next.
    fn schedule(&mut self, name: &str) {
        let Some(slot) = self.slots.get_mut(name) else { return };
        slot.next = slot.live().and_then(|job| decide::next(job, &slot.record, slot.dealt));
        if let Some(next) = slot.next {
            self.heap.push(Reverse((next, name.into())));
        }
    }

    fn say(&mut self, about: &str, text: String, now: Moment) {
        self.voice.say(about, text, now.wall);
    }

    /// What has been said since this was last asked.
    pub fn notices(&mut self) -> Vec<Notice> {
        self.voice.take()
    }

    /// The processes.
    pub fn processes(&mut self) -> &mut P {
        &mut self.procs
    }

    /// Changes whenever something happened that the status tells of.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.saves.wrapping_add(self.voice.count)
    }

    /// Writes the status file. It only tells: where it can't be written, nothing depends on it.
    pub fn write_status(&self, now: Moment) {
        let path = self.store.dir().join("status.json");
        let _ = disk::replace(&path, format!("{}\n", self.status(now)).as_bytes(), Some(0o600));
    }

    /// What is known of a job.
    #[must_use]
    pub fn record(&self, name: &str) -> Option<&Record> {
        self.slots.get(name).map(|slot| &slot.record)
    }

    /// What the ledger says.
    #[must_use]
    pub fn ledger(&self) -> &Fold {
        &self.ledger.fold
    }

    /// How often anything outside was asked.
    #[must_use]
    pub fn polls(&self) -> u64 {
        self.polls
    }
}

/// The real path of the directory that a job's body is in, where it stays below the root.
fn below(root: &Path, rel: &Path) -> Option<PathBuf> {
    disk::canonical(&root.join(rel)).ok().filter(|dir| dir.starts_with(root) && disk::is_dir(dir))
}
