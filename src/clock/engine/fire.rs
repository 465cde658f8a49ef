//! What is due is dealt with: started, skipped, held, or left waiting.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{Clock, Pending, Phase};
use crate::clock::decide::{self, Facts, Verdict};
use crate::clock::deliverable;
use crate::clock::job::{Action, Job};
use crate::clock::record::Outcome;
use crate::clock::runs::Processes;
use crate::clock::schedule::duration;
use crate::sys::time::Moment;
use crate::sys::{disk, shown};

/// A lock this far ahead of the clock is from the future.
const AHEAD: SignedDuration = SignedDuration::from_secs(2);

impl<P: Processes> Clock<P> {
    pub(super) fn fire(&mut self, now: Moment) {
        if let Some(only) = self.only.clone() {
            self.refresh_trust(now);
            if self.busy.remove(&only) {
                self.deal(&only, now);
            }
            return;
        }
        let mut due = Vec::new();
        while self.heap.peek().is_some_and(|Reverse((at, _))| *at <= now.wall) {
            if let Some(Reverse((at, name))) = self.heap.pop()
                && self.slots.get(&name).is_some_and(|slot| slot.next == Some(at))
            {
                due.push(name);
            }
        }
        if due.is_empty() && self.busy.is_empty() {
            return;
        }
        self.refresh_trust(now);
        for name in due {
            self.hand_out(&name, now);
        }
        for name in std::mem::take(&mut self.busy) {
            self.deal(&name, now);
        }
    }

    /// All of the definition that is in force.
    fn in_force(&mut self, name: &str, now: Moment) -> Option<Arc<Job>> {
        let slot = self.slots.get(name)?;
        slot.live()?;
        let job = slot.live_job(name);
        if job.is_none() {
            self.say(
                &format!("job {name}"),
                format!("{name}: what was read can't be read again: is its zone gone? nothing is started"),
                now,
            );
        }
        job
    }

    /// The instants of a job that are due, handed out to be dealt with.
    fn hand_out(&mut self, name: &str, now: Moment) {
        let Some(job) = self.in_force(name, now) else { return };
        let Some(slot) = self.slots.get_mut(name) else { return };
        let due = decide::due(&job, &slot.record, slot.dealt, now.wall);
        slot.dealt = slot.dealt.max(due.last);
        let mut save = false;
        if due.missed > 0 {
            slot.record.past.counts.missed += due.missed;
            if let Some(last) = due.last.filter(|_| due.run.is_empty()) {
                slot.record.past.outcome = Some(Outcome::Missed);
                slot.record.last = slot.record.last.max(Some(last));
            }
            save = true;
        }
        let queued = due.run.len() > 1;
        for instant in due.run {
            let late = now.wall.duration_since(instant) >= decide::ON_TIME;
            // Of several that wait for a run to end, the last one counts.
            if !queued {
                while slot.waiting.front().is_some_and(|old| !old.queued) {
                    if let Some(old) = slot.waiting.pop_front() {
                        let busy = slot.record.past.running.is_some();
                        slot.record.note(if busy { Outcome::SkippedOverlap } else { Outcome::Missed }, old.instant);
                    }
                }
            }
            slot.waiting.push_back(Pending { instant, attempt: 0, since: now.boot, late, queued });
        }
        if !slot.waiting.is_empty() {
            self.busy.insert(name.into());
        }
        if save {
            self.save(name, now);
        }
        self.schedule(name);
    }

    /// Deals with what waits of a job.
    fn deal(&mut self, name: &str, now: Moment) {
        let Some(job) = self.in_force(name, now) else { return };
        let Some(slot) = self.slots.get_mut(name) else { return };
        if let Some(retry) = slot.record.past.retry.clone() {
            if slot.waiting.iter().any(|waiting| waiting.attempt == 0) {
                // A new instant has come: the old one is over, and blocks.
                slot.record.past.retry = None;
                self.block_last(name, now);
            } else if retry.due <= now.wall {
                slot.record.past.retry = None;
                slot.waiting.push_front(Pending {
                    instant: retry.instant,
                    attempt: retry.attempt,
                    since: now.boot,
                    late: false,
                    queued: false,
                });
            } else {
                self.busy.insert(name.into());
            }
        }
        // What is started makes the next one wait: one turn each.
        let turns = self.slots.get(name).map_or(0, |slot| slot.waiting.len());
        for _ in 0..turns {
            let Some(pending) = self.slots.get_mut(name).and_then(|slot| slot.waiting.pop_front()) else { break };
            if !self.deal_with(name, &job, &pending, now) {
                if let Some(slot) = self.slots.get_mut(name) {
                    slot.waiting.push_front(pending);
                }
                self.busy.insert(name.into());
                break;
            }
        }
    }

    /// Deals with one instant; `false`: it goes on waiting.
    fn deal_with(&mut self, name: &str, job: &Arc<Job>, pending: &Pending, now: Moment) -> bool {
        let facts = self.facts(name, job, pending, now);
        if facts.running && pending.queued {
            return false;
        }
        match decide::fire(job, &facts) {
            Verdict::Wait => false,
            Verdict::Replace => {
                self.end_run_of(name, Outcome::Replaced, now);
                false
            }
            Verdict::Start => self.start(name, job, pending, now),
            Verdict::Skip(outcome) => {
                if outcome == Outcome::SkippedBudget {
                    let day = job.zone.to_datetime(now.wall).date();
                    let most = job.max_per_day.unwrap_or_default();
                    self.say(
                        &format!("budget {name}"),
                        format!("{name}: the budget of {day} is used up: {}", crate::sys::shown::count(most, "run a day", "runs a day")),
                        now,
                    );
                }
                if pending.attempt > 0 {
                    self.block_last(name, now);
                }
                if let Some(slot) = self.slots.get_mut(name) {
                    slot.record.note(outcome, pending.instant);
                    if outcome == Outcome::Held {
                        slot.record.past.held_by = facts.held_by;
                    }
                }
                self.save(name, now);
                true
            }
        }
    }

    /// What has to be known to decide over an instant.
    fn facts(&mut self, name: &str, job: &Job, pending: &Pending, now: Moment) -> Facts {
        let root = &self.root.dir;
        let record = self.slots.get(name).map(|slot| &slot.record);
        let day = job.zone.to_datetime(now.wall).date();
        let held_by = job.needs.iter().find(|need| {
            let record = self.slots.get(&*need.job).map(|slot| &slot.record);
            !decide::is_met(need, record, now.wall)
        });
        let has_work = match &job.only_if {
            None => true,
            Some(glob) => deliverable::any_match(&self.work_dir(job), glob).unwrap_or(false),
        };
        Facts {
            accepted: self.trust.is_accepted(job, root),
            armed: !job.calls_model || self.trust.is_armed(job, root),
            running: record.is_some_and(|record| record.past.running.is_some()),
            held_by: held_by.map(|need| need.job.to_string()),
            waited: now.boot.saturating_sub(pending.since),
            runs_today: record.map_or(0, |record| record.runs_on(day)),
            retry: pending.attempt > 0,
            active: job.beat.as_ref().is_none_or(|beat| decide::is_active(beat, job, now.wall)),
            human: job.beat.as_ref().is_some_and(|beat| self.human(beat.lock_fresh, now)),
            has_work,
        }
    }

    /// The directory that a job's globs and deliverables are relative to: that of the body it embodies, else the root.
    pub(super) fn work_dir(&self, job: &Job) -> PathBuf {
        self.dir_of(match &job.action {
            Action::Agent { body, .. } | Action::Wake { body, .. } => Some(body),
            Action::Run(_) => None,
        })
    }

    /// The directory of a body, where one is embodied; else the root.
    pub(super) fn dir_of(&self, body: Option<&Path>) -> PathBuf {
        body.and_then(|body| below(&self.root.dir, body)).unwrap_or_else(|| self.root.dir.clone())
    }

    /// Whether a person is active, or said that nothing beats.
    pub(super) fn human(&mut self, lock_fresh: Duration, now: Moment) -> bool {
        let said_no = disk::read_bounded(&self.root.state.join("config.yaml"), 64 * 1024).ok().flatten().is_some_and(|text| {
            let header = crate::text::header::parse_yaml(&text);
            header.text("heartbeat").is_some_and(|word| matches!(word, "off" | "false" | "no"))
        });
        if said_no {
            return true;
        }
        let path = self.root.state.join("human.lock");
        let Ok(Some(meta)) = disk::look_through(&path) else { return false };
        let seconds = i64::try_from(meta.mtime_ns.div_euclid(1_000_000_000)).unwrap_or(i64::MAX);
        let age = Timestamp::from_second(seconds).map_or(SignedDuration::MIN, |at| now.wall.duration_since(at));
        if age > -AHEAD {
            self.future_lock = None;
            return decide::is_fresh(age, lock_fresh);
        }
        // From the future: its age counts from when it was first seen.
        let seen = match self.future_lock {
            Some((seen, time)) if time == meta.mtime_ns => seen,
            _ => {
                self.future_lock = Some((now.boot, meta.mtime_ns));
                now.boot
            }
        };
        let fresh = duration::show(lock_fresh);
        self.say(
            "human lock",
            format!("human.lock ({}) is dated in the future: it counts for {fresh} from now on", shown::path(&path)),
            now,
        );
        decide::is_fresh(SignedDuration::try_from(now.boot.saturating_sub(seen)).unwrap_or_default(), lock_fresh)
    }

    /// The run of a job that is on is to end.
    pub(super) fn end_run_of(&mut self, name: &str, why: Outcome, now: Moment) {
        let id = self.slots.get(name).and_then(|slot| slot.record.past.running.clone());
        if let Some(flight) = id.and_then(|id| self.flights.get_mut(&id))
            && !matches!(flight.phase, Phase::Ending { .. })
        {
            flight.phase = Phase::Ending { since: now.up, why };
            self.procs.signal(&flight.run, crate::sys::lineage::Signal::SIGTERM);
        }
    }
}

/// The real path of the directory that a job's body is in, where it stays below the root.
pub(super) fn below(root: &Path, rel: &Path) -> Option<PathBuf> {
    disk::canonical(&root.join(rel)).ok().filter(|dir| dir.starts_with(root) && disk::is_dir(dir))
}
