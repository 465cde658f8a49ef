//! A loop ends: its hooks leave, and what came of it goes into the ledger.

use crate::clock::deliverable::Lack;
use crate::clock::engine::Clock;
use crate::clock::ledger::{Event, Failure};
use crate::clock::loops::seam;
use crate::clock::loops::{self, Definition, How, Last, PREFIX, State};
use crate::clock::record::Outcome;
use crate::clock::runs::Processes;
use crate::sys::disk;
use crate::sys::time::Moment;

impl<P: Processes> Clock<P> {
    /// The loop that goes on is over; its hooks leave its session.
    pub(super) fn end_loop(&mut self, how: How, why: &str, now: Moment) {
        let why = why.to_owned();
        if let Some(Some((session, _))) = self.change_loops(now, |known| known.end(how, why, now.wall)) {
            self.leave(&session, now);
        }
    }

    pub(super) fn leave(&mut self, session: &str, now: Moment) {
        if let Err(error) = seam::leave(&self.root.state, session) {
            self.say("loops", format!("the hooks of a loop are still on: failed to {error}"), now);
        }
    }

    /// A person has ended a loop whose turn is still on: that ends too.
    pub(super) fn end_turns(&mut self, known: &State, now: Moment) {
        let on: Vec<std::sync::Arc<str>> = self
            .slots
            .iter()
            .filter(|(name, slot)| name.starts_with(PREFIX) && slot.record.past.running.is_some())
            .map(|(name, _)| name.clone())
            .collect();
        let ended = |job: &str| job.strip_prefix(PREFIX).and_then(|name| known.last.get(name)).is_some_and(|last| last.how == How::Ended);
        for name in on.into_iter().filter(|name| ended(name)) {
            self.end_run_of(&name, Outcome::Replaced, now);
        }
    }

    /// What came of loops goes into the ledger, once.
    pub(super) fn tell_ends(&mut self, now: Moment) {
        let Ok(Some(known)) = loops::read(&loops::file(&self.root.state, &self.root.dir)) else { return };
        let new: Vec<(String, Last)> =
            known.last.iter().filter(|(_, last)| !last.told).map(|(name, last)| (name.clone(), last.clone())).collect();
        for (name, last) in &new {
            let job = Definition::job_name(name);
            match last.how {
                How::Done => self.end_block(&job, Event::Resolved, now),
                How::Ended => self.end_block(&job, Event::Withdrawn, now),
                How::Stopped | How::Interrupted => {
                    // A clock that was killed right here has told it already.
                    if self.ledger.fold.open.get(&job).is_some_and(|block| block.entry.instant == Some(last.at)) {
                        continue;
                    }
                    let cause = if last.how == How::Stopped { Outcome::Missing } else { Outcome::Interrupted };
                    let missing = vec![Lack { path: "exit".to_owned(), why: last.why.clone() }];
                    let failure = Failure { cause: Some(cause), missing, instant: Some(last.at), ..Failure::default() };
                    self.block(&job, failure, true, now);
                }
            }
        }
        let gone: Vec<String> =
            self.ledger.fold.open.keys().filter(|job| job.strip_prefix(PREFIX).is_some_and(|name| self.is_gone(name))).cloned().collect();
        for job in gone {
            self.end_block(&job, Event::Withdrawn, now);
        }
        // Only what stands in the file is told: a clock that is killed in between tells it again.
        if !new.is_empty() && self.ledger.flush().is_ok() {
            self.change_loops(now, |known| {
                for (name, told) in new {
                    if let Some(last) = known.last.get_mut(&name).filter(|last| last.at == told.at && last.how == told.how) {
                        last.told = true;
                    }
                }
            });
        }
    }

    pub(super) fn is_gone(&self, name: &str) -> bool {
        matches!(disk::look_through(&self.root.dotdir().join("loops").join(format!("{name}.md"))), Ok(None))
    }

    pub(super) fn end_block(&mut self, job: &str, event: Event, now: Moment) {
        if let Some(entry) = self.ledger.fold.ended(job, event, None, now.wall) {
            self.ledger.append(entry);
            self.voice.over(&format!("block {job}"));
        }
    }
}
