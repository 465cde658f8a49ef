//! Loops as the clock deals with them: their prompts are delivered, what comes next is chosen, what came of
//! them goes into the ledger. When a turn of one is over, the relay of its session says; see
//! [`crate::clock::loops::seam`].

mod ends;
mod next;

use std::sync::Arc;

use super::{Clock, Pending};
use crate::clock::deliverable;
use crate::clock::job::{self, Job, Loop};
use crate::clock::loops::decide;
use crate::clock::loops::seam::{self, Ended, day};
use crate::clock::loops::{self, Active, Definition, How, PREFIX, Phase, State};
use crate::clock::record::Outcome;
use crate::clock::runs::Processes;
use crate::clock::trust;
use crate::hooks::state as session;
use crate::sys::process::Identity;
use crate::sys::time::Moment;
use crate::sys::{disk, random};

/// How far the clock has looked at loops.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// The file, as it was when nothing of it was left to do.
    stamp: Option<(u64, u64, i128)>,
    /// Whether this clock has looked at all.
    before: bool,
    /// Whether it leaves loops alone: it does not stay.
    pub(super) never: bool,
}

impl<P: Processes> Clock<P> {
    /// Leaves loops alone: this clock does one tick, and there is none that stays to deliver what follows.
    pub fn without_loops(&mut self) {
        self.looked.never = true;
    }

    /// This clock ends: the loop that it delivered prompts for ends with it, and its hooks leave.
    pub fn end_loops(&mut self, now: Moment) {
        let known = loops::read(&loops::file(&self.root.state, &self.root.dir)).ok().flatten();
        let ours = known.and_then(|known| known.active).is_some_and(|active| active.clock == Some(Identity::of_self()));
        if ours && !self.looked.never {
            self.end_loop(How::Interrupted, "the clock that kept it has ended", now);
            self.tell_ends(now);
        }
    }

    /// Does for the loop of this root what is to be done now.
    pub(super) fn loops(&mut self, now: Moment) {
        if self.looked.never {
            return;
        }
        let path = loops::file(&self.root.state, &self.root.dir);
        let stamp = disk::look(&path).ok().flatten().map(|meta| (meta.id.1, meta.len, meta.mtime_ns));
        if stamp.is_none() || (stamp == self.looked.stamp && self.looked.before) {
            return;
        }
        let known = match loops::read(&path) {
            Ok(Some(known)) => known,
            Ok(None) => return,
            Err(error) => {
                self.say("loops", format!("loops stand still: failed to {error}"), now);
                return;
            }
        };
        self.voice.over("loops");
        let first = !std::mem::replace(&mut self.looked.before, true);
        let me = Identity::of_self();
        // The hooks of a loop leave with the clock that kept it: who goes on after that is for a person to say.
        if first && known.active.as_ref().is_some_and(|active| active.clock.as_ref().is_some_and(|clock| *clock != me)) {
            self.end_loop(How::Interrupted, "the clock that kept it has ended", now);
        } else if let Some(active) = known.active.clone() {
            self.go_on(&known, &active, now);
        } else {
            self.end_turns(&known, now);
        }
        self.tell_ends(now);
        // Nothing is left to do before the file changes, but where a turn or a person is waited for.
        let after = loops::read(&path).ok().flatten();
        let waits = after.as_ref().is_none_or(|after| {
            after.active.as_ref().is_some_and(|active| self.is_waited_for(active)) || after.last.values().any(|last| !last.told)
        });
        self.looked.stamp = if waits || after != Some(known) { None } else { stamp };
    }

    fn is_waited_for(&self, active: &Active) -> bool {
        active.phase != Phase::Turn || active.definition.terminal.is_none()
    }

    fn change_loops<T>(&mut self, now: Moment, what: impl FnOnce(&mut State) -> T) -> Option<T> {
        match loops::change(&self.root.state, &self.root.dir, what) {
            Ok(done) => Some(done),
            Err(error) => {
                self.say("loops", format!("loops stand still: failed to {error}"), now);
                None
            }
        }
    }

    fn go_on(&mut self, known: &State, active: &Active, now: Moment) {
        let job = Definition::job_name(&active.definition.name);
        let on = self.slots.get(&*job).is_some_and(|slot| slot.record.past.running.is_some());
        match active.phase {
            // The turn before it comes to its end first.
            Phase::Due | Phase::Next if on => {}
            Phase::Due => self.deliver(known, active, &job, now),
            Phase::Turn if active.definition.terminal.is_none() && !on => self.turn_is_over(active, &job, now),
            Phase::Turn => {}
            Phase::Next => self.choose(active, now),
            Phase::Asking if !on => self.take_answer(active, &job, now),
            Phase::Asking => {}
        }
    }

    /// A loop as its file is now, where it may run.
    fn loop_that_may(&self, name: &str) -> Result<(Loop, String), String> {
        let path = self.root.dotdir().join("loops").join(format!("{name}.md"));
        let bytes = match disk::read_bounded(&path, job::MAX_BYTES) {
            Ok(bytes) => bytes.unwrap_or_default(),
            Err(error) if disk::is_absent(&error.source) => return Err(format!("there is no loop `{name}` any more")),
            Err(error) => return Err(format!("failed to {error}: {}", error.source)),
        };
        let one = job::parse_loop(name, &path, &bytes).map_err(|error| error.to_string())?;
        let (accept, arm) = trust::loop_hashes(&one, &self.root.dir);
        if !self.trust.accepts(&one.job.name, &accept) {
            return Err(format!("it is not accepted as it is (loci jobs accept {})", one.job.name));
        }
        if !self.trust.arms(&one.job.name, &arm) {
            return Err(format!("it is not armed as it is (loci jobs arm {})", one.job.name));
        }
        Ok((one, arm))
    }

    /// Delivers the prompt: the next round. What is known says so before it happens: a clock that is killed in between
    /// has delivered it at most once.
    fn deliver(&mut self, known: &State, active: &Active, job: &str, now: Moment) {
        self.refresh_trust(now);
        let name = active.definition.name.clone();
        let one = match self.loop_that_may(&name) {
            Ok((one, hash)) if hash == active.hash => one,
            Ok(_) => return self.end_loop(How::Stopped, "it was edited since it was started", now),
            Err(why) => return self.end_loop(How::Stopped, &why, now),
        };
        let today = day(now.wall);
        if let Some(why) = decide::limit(&active.definition, active.round, true, known.rounds_on(&name, &today)) {
            return self.end_loop(How::Stopped, &why, now);
        }
        let fresh = std::time::Duration::try_from(seam::HUMAN_FRESH).unwrap_or_default();
        if active.definition.terminal.is_some() && self.human(fresh, now) {
            self.say(&format!("loop {name}"), format!("the loop {name} waits: a person is active"), now);
            return;
        }
        self.voice.over(&format!("loop {name}"));
        let ticket = match random::hex20() {
            Ok(ticket) => ticket,
            Err(error) => return self.end_loop(How::Stopped, &format!("no ticket for its turn: {error}"), now),
        };
        let dir = self.work_dir(&one.job);
        let in_terminal = active.definition.terminal.is_some();
        let stamps = active.before.clone().unwrap_or_else(|| deliverable::take(&dir, &active.definition.deliverables));
        let begun = self.change_loops(now, |known| {
            // A person may have ended it meanwhile.
            let active = known.active.as_mut().filter(|active| active.definition.name == name && active.phase == Phase::Due)?;
            active.phase = Phase::Turn;
            active.ticket.clone_from(&ticket);
            active.clock = Some(Identity::of_self());
            (active.dir, active.before) = (dir, Some(stamps));
            if !in_terminal {
                active.session = None;
            }
            known.count_round(&today);
            Some(())
        });
        if begun.flatten().is_none() {
            return;
        }
        match &active.definition.terminal {
            Some(terminal) => {
                let (state, text) = (self.root.state.clone(), active.definition.prompt.clone());
                let lock = self.root.state.join("human.lock");
                let before = disk::look_through(&lock).ok().flatten().map(|meta| meta.mtime_ns);
                let may = || disk::look_through(&lock).ok().flatten().map(|meta| meta.mtime_ns) == before;
                match self.procs.type_in(&state, terminal, &text, &may) {
                    Ok(true) => {}
                    Ok(false) => self.end_loop(How::Stopped, "a person came while its prompt was to be typed", now),
                    Err(why) => self.end_loop(How::Stopped, &why, now),
                }
            }
            None => self.start_turn(job, &Arc::new(one.job), Some(ticket), now),
        }
    }

    fn start_turn(&mut self, name: &str, job: &Arc<Job>, ticket: Option<String>, now: Moment) {
        let last = self.slots.entry(name.into()).or_default().record.last;
        // Each turn is an instant of its own, whatever the wall clock does.
        let next = last.and_then(|last| last.checked_add(jiff::SignedDuration::from_millis(1)).ok());
        self.ticket = ticket;
        let pending =
            Pending { instant: next.map_or(now.wall, |next| next.max(now.wall)), attempt: 0, since: now.boot, late: false, queued: false };
        self.start(name, job, &pending, now);
        self.ticket = None;
        if self.slots.get(name).is_none_or(|slot| slot.record.past.running.is_none()) {
            self.end_loop(How::Stopped, "its turn could not be started", now);
        }
    }

    /// The process of a turn is gone: where its session has said nothing about the end, this is it.
    fn turn_is_over(&mut self, active: &Active, job: &str, now: Moment) {
        let judged = self.slots.get(job).and_then(|slot| slot.record.past.judged.clone());
        let Some(judged) = judged else { return self.end_loop(How::Interrupted, "nothing is known of its turn", now) };
        match (judged.outcome, judged.exit) {
            (Outcome::Unjudged | Outcome::Success, None | Some(0)) => {}
            (Outcome::Unjudged | Outcome::Success, Some(code)) => {
                return self.end_loop(How::Stopped, &format!("its turn ended with {code}"), now);
            }
            (outcome, _) => return self.end_loop(How::Stopped, &format!("its turn came to nothing: {}", outcome.word()), now),
        }
        let memory = active.session.as_deref().and_then(|id| session::read(&self.root.state, id).ok().flatten());
        let left = memory.map_or_else(|| active.state.clone(), |memory| memory.state);
        let ended = Ended { state: &left, can_block: false, session_over: false, human: false, at: now.wall };
        match seam::turn_ended(&self.root.state, &self.root.dir, &ended) {
            Ok(told) => {
                if let Some(session) = active.session.as_deref().filter(|_| told.over) {
                    self.leave(session, now);
                }
                if let Some(note) = told.note {
                    self.say(&format!("loop {}", active.definition.name), note, now);
                }
            }
            Err(error) => self.say("loops", format!("loops stand still: failed to {error}"), now),
        }
    }
}

/// Whether a name among jobs is that of a loop: the schedule has no part in it.
#[must_use]
pub(super) fn is_ours(name: &str) -> bool {
    name.starts_with(PREFIX)
}
