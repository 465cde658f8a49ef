//! One tick: everything that is due, each part by itself.

use std::cmp::Reverse;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::Clock;
use crate::clock::decide;
use crate::clock::runs::Processes;
use crate::clock::trust::Trust;
use crate::sys::time::Moment;

/// A step of the wall clock below this is drift.
const STEP: SignedDuration = SignedDuration::from_secs(1);

impl<P: Processes> Clock<P> {
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

    pub(super) fn guard(&mut self, name: &str, now: Moment, act: fn(&mut Self, Moment)) {
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
    pub(super) fn compare_clocks(&mut self, now: Moment) {
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
        let names: Vec<Arc<str>> = self.slots.keys().cloned().collect();
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
    pub(super) fn refresh_trust(&mut self, now: Moment) {
        match self.trust.refresh(&self.root.state, &self.root.dir) {
            Ok(changed) => self.loads += u64::from(changed),
            Err(error) => {
                self.say("grants", format!("nothing is allowed: failed to {error}: {}", error.source), now);
                self.trust = Trust::default();
            }
        }
    }

    /// Takes in what hooks said about a block; with `patience`, those that are at it are waited for.
    pub fn hear(&mut self, now: Moment, patience: Duration) {
        for words in self.procs.heard(patience) {
            self.say("on-block-report", words, now);
        }
    }

    pub(super) fn health(&mut self, now: Moment) {
        self.hear(now, Duration::ZERO);
        self.write_ledger(now);
        if self.store.is_long(self.slots.len()) {
            self.fold(now, false);
        }
    }

    /// Writes what the ledger has not taken yet; where that fails, it is said, and the lines wait.
    pub(super) fn write_ledger(&mut self, now: Moment) {
        if !self.ledger.is_waiting() {
            return;
        }
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
}
