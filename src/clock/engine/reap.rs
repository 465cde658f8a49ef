//! What is in flight: looked at, ended when its time is over, judged when it is gone.

use std::time::Duration;

use super::{Clock, Flight, Phase};
use crate::clock::decide;
use crate::clock::deliverable;
use crate::clock::ledger::{Event, Failure};
use crate::clock::record::{Judged, Outcome, Retry};
use crate::clock::runs::{self, Life, Processes, Run};
use crate::clock::wake;
use crate::sys::disk;
use crate::sys::lineage::Signal;
use crate::sys::shown;
use crate::sys::time::Moment;

/// How long what was killed may take to be gone, before it is named and left.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

impl<P: Processes> Clock<P> {
    /// Runs that were on when the clock ended are taken up again, by their identity.
    pub(super) fn take_up(&mut self, now: Moment) {
        let running: Vec<(std::sync::Arc<str>, String)> =
            self.slots.iter().filter_map(|(name, slot)| Some((name.clone(), slot.record.past.running.clone()?))).collect();
        for (name, id) in running {
            match Run::read(&self.store.run_dir(&id)) {
                Some(run) => {
                    // One that was judged, by a clock that was killed before it noted that, is not judged again.
                    let phase = run.outcome.map_or(Phase::Running, Phase::Judged);
                    self.flights.insert(id, Flight { run, phase, job: None, worn: None });
                }
                None => {
                    self.say(&format!("run {name}"), format!("{name}: nothing is known of its run {id}; it is not judged"), now);
                    if let Some(slot) = self.slots.get_mut(&*name) {
                        slot.record.past.running = None;
                        slot.record.past.outcome = Some(Outcome::Unjudged);
                    }
                    self.save(&name, now);
                }
            }
        }
    }

    pub(super) fn reap(&mut self, now: Moment) {
        let ids: Vec<String> = self.flights.keys().cloned().collect();
        for id in ids {
            // Taken out for the time of the look: what it does may need the rest of the clock.
            if let Some(mut flight) = self.flights.remove(&id)
                && !self.look_at_run(&mut flight, now)
            {
                self.flights.insert(id, flight);
            }
        }
    }

    /// Looks at one run; whether it is over.
    fn look_at_run(&mut self, flight: &mut Flight, now: Moment) -> bool {
        let folder = self.store.run_dir(&flight.run.id);
        match flight.phase {
            Phase::Running => {
                runs::rotate(&folder, flight.run.log_max);
                match self.procs.life(&flight.run) {
                    Life::Running => {
                        if flight.run.age(now.up) >= Duration::from_secs(flight.run.timeout_s) {
                            self.procs.signal(&flight.run, Signal::SIGTERM);
                            flight.phase = Phase::Ending { since: now.up, why: Outcome::Timeout };
                        }
                        false
                    }
                    Life::Ended(exit) => {
                        flight.run.exit = flight.run.exit.or(exit);
                        if matches!(disk::look(&runs::begun(&folder)), Ok(None)) {
                            // The clock that started it was killed before it opened the gate.
                            self.finish(flight, Outcome::Interrupted, Vec::new(), now);
                            return true;
                        }
                        if self.follow(flight, now) {
                            return false;
                        }
                        runs::rotate(&folder, flight.run.log_max);
                        flight.phase = Phase::Settling { since: now.up };
                        self.settle(flight, now.up, now)
                    }
                }
            }
            Phase::Settling { since } => self.settle(flight, since, now),
            Phase::Judged(outcome) => {
                self.finish(flight, outcome, Vec::new(), now);
                true
            }
            Phase::Ending { since, why } => {
                // Asked for its own status first, so that it does not stay as a zombie.
                let _ = self.procs.life(&flight.run);
                let grace = Duration::from_secs(flight.run.kill_grace_s);
                let passed = now.up.saturating_sub(since);
                let left = if passed >= grace { self.procs.signal(&flight.run, Signal::SIGKILL) } else { self.procs.living(&flight.run) };
                let gone = self.procs.life(&flight.run) != Life::Running;
                if left.is_empty() && gone {
                    self.finish(flight, why, Vec::new(), now);
                    return true;
                }
                if passed >= grace + KILL_PATIENCE {
                    let names = left.iter().map(|one| format!("{} (pid {})", shown::text(&one.name), one.identity.pid)).collect();
                    self.finish(flight, why, names, now);
                    return true;
                }
                false
            }
        }
    }

    /// A run whose own process is gone may have handed on: a process id that it printed, or what it
    /// left in its session. That is what is waited for then.
    fn follow(&mut self, flight: &mut Flight, now: Moment) -> bool {
        let folder = self.store.run_dir(&flight.run.id);
        let handed = if flight.run.handed { None } else { runs::handed_back(&folder).and_then(|pid| self.procs.identify(pid)) };
        let next = handed.or_else(|| self.procs.living(&flight.run).into_iter().next().map(|member| member.identity));
        let Some(next) = next else { return false };
        flight.run.process = next;
        flight.run.handed = true;
        if let Err(error) = flight.run.write(&folder) {
            self.say("disk", format!("{}: its new process can't be noted: failed to {error}", flight.run.job), now);
        }
        true
    }

    /// The process is gone; the files may still come for a while.
    fn settle(&mut self, flight: &mut Flight, since: Duration, now: Moment) -> bool {
        if !flight.run.answers.is_empty() {
            // An answer that was given in a jail may still wait in the outbox.
            self.drain(&flight.run.dir.clone(), now);
        }
        let run = &flight.run;
        let mut missing = deliverable::judge(&run.dir, &run.deliverables, &run.before);
        missing.extend(wake::unanswered(&run.answers));
        if !missing.is_empty() && now.up.saturating_sub(since) < Duration::from_secs(run.settle_s) {
            return false;
        }
        let outcome = match (run.deliverables.is_empty() && run.answers.is_empty(), missing.is_empty()) {
            (true, _) => Outcome::Unjudged,
            (false, true) => Outcome::Success,
            (false, false) => Outcome::Missing,
        };
        flight.run.missing = missing;
        self.finish(flight, outcome, Vec::new(), now);
        true
    }

    /// A run is over: what came of it is told, and tried again where the job says so; then its set is taken back, and
    /// all of it is written down.
    fn finish(&mut self, flight: &mut Flight, outcome: Outcome, left_running: Vec<String>, now: Moment) {
        self.drain(&flight.run.dir.clone(), now);
        let run = &mut flight.run;
        (run.outcome, run.ended) = (Some(outcome), Some(now.wall));
        let name = run.job.clone();
        let Some(slot) = self.slots.get_mut(&*name) else { return self.close(flight, now) };
        let record = &mut slot.record;
        record.past.running = None;
        record.note(outcome, run.instant);
        if outcome == Outcome::Interrupted {
            // Nobody has read it: whoever looks next may be woken for it.
            record.past.woken.retain(|key| !run.answers.iter().any(|one| one.key == *key));
        }
        record.past.judged =
            Some(Box::new(Judged { outcome, at: now.wall, instant: run.instant, run: run.id.clone(), exit: run.exit, late: run.late }));
        let job = slot.live_job(&name).or_else(|| flight.job.clone());
        let again = job.as_ref().filter(|_| slot.is_there()).and_then(|job| decide::retry_after(job, outcome, run.attempt));
        if let Some(wait) = again {
            let due = jiff::SignedDuration::try_from(wait).ok().and_then(|wait| now.wall.checked_add(wait).ok()).unwrap_or(now.wall);
            slot.record.past.retry = Some(Box::new(Retry { instant: run.instant, attempt: run.attempt + 1, due }));
        }
        if again.is_some() || !slot.waiting.is_empty() {
            self.busy.insert(name.as_str().into());
        }
        let gone = !self.slots.get(&*name).is_some_and(|slot| slot.is_there());
        if outcome == Outcome::Success {
            if let Some(entry) = self.ledger.fold.ended(&name, Event::Resolved, Some(&run.id), now.wall) {
                self.ledger.append(entry);
                self.voice.over(&format!("block {name}"));
            }
        } else if self.ledger.fold.open.get(&name).is_some_and(|block| block.entry.run.as_ref() == Some(&run.id)) {
            // The clock that was killed had told it.
        } else if (outcome.is_failure() && again.is_none() && !gone) || !left_running.is_empty() {
            let failure = Failure {
                cause: Some(outcome),
                missing: run.missing.clone(),
                left_running,
                run: Some(run.id.clone()),
                instant: Some(run.instant),
            };
            let notify = run.notify;
            self.block(&name, failure, notify, now);
        }
        self.close(flight, now);
        // Before the state says that it is over: a clock that is killed in between judges it once more, and the ledger
        // knows the run by then.
        self.write_ledger(now);
        self.save(&name, now);
    }

    /// What the ledger has not heard of: the clock that judged it ended while the ledger could not be written.
    pub(super) fn make_up(&mut self, now: Moment) {
        let lost = |name: &str, slot: &super::Slot| {
            let record = &slot.record;
            let over = record.past.running.is_none() && record.past.retry.is_none() && slot.is_there();
            let failed = record.past.judged.as_deref().filter(|judged| judged.outcome.is_failure());
            over && failed.is_some_and(|judged| !self.ledger.fold.knows(name, &judged.run))
        };
        let lost: Vec<String> = self.slots.iter().filter(|(name, slot)| lost(name, slot)).map(|(name, _)| name.to_string()).collect();
        for name in lost {
            self.block_last(&name, now);
        }
    }

    /// After hooks were told: the set that was worn for a run is taken back, and only then the run is over on disk, so
    /// that a clock that is killed in between finds it again.
    fn close(&mut self, flight: &mut Flight, now: Moment) {
        if let Some(worn) = flight.worn.take() {
            match worn.take_back() {
                Ok(closed) if closed.left.is_empty() => {}
                Ok(closed) => {
                    let left: Vec<String> = closed.left.iter().map(ToString::to_string).collect();
                    self.say(
                        "loadout",
                        format!("{}: changed while its set was worn, and left so: {}", flight.run.job, left.join("; ")),
                        now,
                    );
                }
                Err(error) => self.say("loadout", format!("{}: its set is not taken back yet: {error}", flight.run.job), now),
            }
        }
        let run = &flight.run;
        if let Err(error) = run.write(&self.store.run_dir(&run.id)) {
            let why = format!("{}: its run can't be written down: failed to {error}: {}", run.job, error.source);
            self.say("disk", why, now);
        }
    }

    /// The last try of an instant is over, and nothing more comes: what came of it blocks now.
    pub(super) fn block_last(&mut self, name: &str, now: Moment) {
        let Some(judged) = self.slots.get(name).and_then(|slot| slot.record.past.judged.clone()) else { return };
        if !judged.outcome.is_failure() {
            return;
        }
        let run = Run::read(&self.store.run_dir(&judged.run));
        let missing = run.as_ref().map(|run| run.missing.clone()).unwrap_or_default();
        let failure =
            Failure { cause: Some(judged.outcome), missing, run: Some(judged.run), instant: Some(judged.instant), ..Failure::default() };
        self.block(name, failure, run.is_none_or(|run| run.notify), now);
    }

    /// A job is stuck: the ledger says so, and a person is told once.
    pub(super) fn block(&mut self, name: &str, failure: Failure, notify: bool, now: Moment) {
        let entry = self.ledger.fold.failed(name, failure, now.wall);
        let told = entry.event != Event::Again;
        let mut text = describe(name, &entry);
        let report = serde_json::to_value(&entry).ok();
        let folder = entry.run.as_ref().map(|run| self.store.run_dir(run));
        // A program that failed has said why; without that, "missing" is all that anybody hears.
        let judged = self.slots.get(name).and_then(|slot| slot.record.past.judged.as_deref());
        let failed = judged.is_some_and(|judged| entry.run.as_ref() == Some(&judged.run) && judged.lacks_and_failed());
        if let Some(said) = folder.as_deref().filter(|_| failed).and_then(runs::first_error) {
            text.push_str("; it said: ");
            text.push_str(&said);
        }
        self.ledger.append(entry);
        if let Some(serde_json::Value::Object(mut report)) = report.filter(|_| notify && told) {
            report.insert("folder".to_owned(), folder.map_or(serde_json::Value::Null, |folder| folder.to_string_lossy().into()));
            self.procs.report(&self.root.dir, report, &text);
        }
        if notify && told {
            self.say(&format!("block {name}"), text, now);
        }
    }
}

/// A block in one line.
#[must_use]
pub(super) fn describe(name: &str, entry: &crate::clock::ledger::Entry) -> String {
    let mut text = format!("{name} is stuck: {}", entry.cause.map_or("failed", Outcome::word));
    for lack in &entry.missing {
        text.push_str("; ");
        text.push_str(&lack.to_string());
    }
    for one in &entry.left_running {
        text.push_str("; left running: ");
        text.push_str(one);
    }
    text
}
