//! What a clock knows, says and writes down.

use std::cmp::Reverse;
use std::sync::Arc;

use jiff::SignedDuration;

use super::{Clock, Notice};
use crate::clock::decide;
use crate::clock::ledger::Fold;
use crate::clock::record::Record;
use crate::clock::runs::Processes;
use crate::sys::disk;
use crate::sys::time::Moment;

impl<P: Processes> Clock<P> {
    pub(super) fn fold(&mut self, now: Moment, must: bool) {
        let old = now.wall.checked_sub(SignedDuration::from_hours(7 * 24)).unwrap_or(now.wall);
        let store = &self.store;
        self.slots.retain(|_, slot| {
            let kept = slot.record.gone.is_none_or(|gone| gone > old) || slot.record.past.running.is_some();
            if !kept {
                // A claim that stays behind would be taken for one that was interrupted.
                store.forget(&slot.record);
            }
            kept
        });
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
    pub(super) fn save(&mut self, name: &str, now: Moment) -> bool {
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
    pub(super) fn schedule(&mut self, name: &str) {
        let Some(known) = self.slots.get_key_value(name).map(|(known, _)| Arc::clone(known)) else { return };
        let Some(slot) = self.slots.get_mut(name) else { return };
        slot.next = slot.live().and_then(|job| decide::next(&job.when, &slot.record, slot.dealt));
        if let Some(next) = slot.next {
            self.heap.push(Reverse((next, known)));
        }
    }

    pub(super) fn say(&mut self, about: &str, text: String, now: Moment) {
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
        let _ = disk::replace_unsynced(&path, format!("{}\n", self.status(now)).as_bytes(), 0o600);
    }

    /// How often all files of jobs, or all grants, were read.
    #[must_use]
    pub fn loads(&self) -> u64 {
        self.loads
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
