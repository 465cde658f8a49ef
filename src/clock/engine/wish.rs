//! A job that a person wants to run now: its instant is now, and all else is as with any other.

use jiff::Timestamp;

use super::{Clock, Pending};
use crate::clock::runs::Processes;
use crate::clock::store::Store;
use crate::sys::time::Moment;

impl<P: Processes> Clock<P> {
    /// Lets a job be due for an instant that is now. `false` where no such job is in force.
    pub fn run_now(&mut self, name: &str, instant: Timestamp, now: Moment) -> bool {
        let Some(slot) = self.slots.get_mut(name).filter(|slot| slot.live().is_some()) else { return false };
        if !slot.waiting.iter().any(|waiting| waiting.instant == instant) {
            slot.waiting.push_back(Pending { instant, attempt: 0, since: now.boot, late: false, queued: false });
        }
        self.busy.insert(name.into());
        true
    }

    /// From now on this job alone is dealt with: the others are left as they are.
    pub fn only(&mut self, name: &str) {
        self.only = Some(name.into());
    }

    /// Whether a job has nothing to do and waits for nothing.
    #[must_use]
    pub fn is_done(&self, name: &str) -> bool {
        self.slots
            .get(name)
            .is_none_or(|slot| slot.record.past.running.is_none() && slot.waiting.is_empty() && slot.record.past.retry.is_none())
    }

    /// What was asked for from outside. It is forgotten when something came of it, so that a clock that is killed in
    /// between finds it again; its claim keeps it from being started twice.
    pub(super) fn grant_wishes(&mut self, now: Moment) {
        let stamp = self.store.wished();
        if stamp == self.wished {
            return;
        }
        let mut open = false;
        for (file, job, at) in self.store.wishes() {
            let record = self.slots.get(&*job).map(|slot| &slot.record);
            let dealt = record.is_some_and(|record| record.last >= Some(at) || record.past.claims.contains(&Store::claim_name(&job, at)));
            if dealt {
                self.store.forget_wish(&file);
            } else if self.run_now(&job, at, now) {
                open = true;
            } else {
                self.say(&format!("now {job}"), format!("{job}: it is to run now, and no such job is in force"), now);
                self.store.forget_wish(&file);
            }
        }
        // Looked at again until something came of each.
        self.wished = if open { None } else { self.store.wished() };
    }
}
