//! A loop is done: what comes next is chosen, by name, by order, or by what a command says.

use std::sync::Arc;

use crate::clock::engine::Clock;
use crate::clock::job::{Action, Job, Loop};
use crate::clock::loops::decide::{self, Pick};
use crate::clock::loops::{self, Active, How, Phase};
use crate::clock::record::Outcome;
use crate::clock::runs::Processes;
use crate::sys::disk;
use crate::sys::process::Identity;
use crate::sys::time::Moment;

/// How much of what a transition says is read.
const MAX_SAID: u64 = 4096;

impl<P: Processes> Clock<P> {
    pub(super) fn choose(&mut self, active: &Active, now: Moment) {
        self.refresh_trust(now);
        let name = &active.definition.name;
        let order = match loops::order(&self.root.dir) {
            Ok(order) => order,
            Err(why) => return self.schedule_fails(active, &why, now),
        };
        let may = |name: &str| self.loop_that_may(name).is_ok();
        let pick = decide::next(&active.definition.next, name, &order, &may);
        match pick {
            Pick::Ask(line) => self.ask(active, &line, now),
            pick => self.take(active, pick, now),
        }
    }

    /// A command says what comes next: a run like any other.
    pub(super) fn ask(&mut self, active: &Active, line: &str, now: Moment) {
        let name = active.definition.name.clone();
        // The line that a person accepted, and no other.
        match self.loop_that_may(&name) {
            Ok((one, hash)) if hash == active.hash => {
                let job = Job { action: Action::Run(line.into()), ..one.job };
                let asked = self.change_loops(now, |known| {
                    let active = known.active.as_mut().filter(|active| active.phase == Phase::Next)?;
                    (active.phase, active.clock) = (Phase::Asking, Some(Identity::of_self()));
                    Some(())
                });
                if asked.flatten().is_some() {
                    let name = job.name.to_string();
                    self.start_turn(&name, &Arc::new(job), None, now);
                }
            }
            Ok(_) => self.schedule_fails(active, "next: the loop was edited since it was started", now),
            Err(why) => self.schedule_fails(active, &format!("next: {why}"), now),
        }
    }

    pub(super) fn take_answer(&mut self, active: &Active, job: &str, now: Moment) {
        self.refresh_trust(now);
        let judged = self.slots.get(job).and_then(|slot| slot.record.past.judged.clone());
        let Some(judged) = judged else { return self.schedule_fails(active, "next: nothing is known of its command", now) };
        let said = disk::read_start(&self.store.run_dir(&judged.run).join("out"), MAX_SAID).map(|(said, _)| said).unwrap_or_default();
        let ended = matches!(judged.outcome, Outcome::Unjudged | Outcome::Success);
        let may = |name: &str| self.loop_that_may(name).is_ok();
        match decide::answered(judged.exit.filter(|_| ended), &String::from_utf8_lossy(&said), &may) {
            Ok(pick) => self.take(active, pick, now),
            Err(why) => self.schedule_fails(active, &why, now),
        }
    }

    /// The loop is done, and what comes next can't be told: nothing goes on.
    pub(super) fn schedule_fails(&mut self, active: &Active, why: &str, now: Moment) {
        self.finish_with(active, None, Some((How::Stopped, why.to_owned())), now);
    }

    pub(super) fn take(&mut self, active: &Active, pick: Pick, now: Moment) {
        let name = active.definition.name.clone();
        let (next, said) = match pick {
            Pick::Loop(next, said) => (Some(next), said),
            Pick::Stop(said) => (None, said),
            Pick::Ask(_) => return,
        };
        if let Some(said) = said {
            self.say(&format!("loop {name}"), format!("after the loop {name}: {said}"), now);
        }
        let next = match next.map(|next| self.loop_that_may(&next)).transpose() {
            Ok(next) => next,
            Err(why) => return self.schedule_fails(active, &format!("next: {why}"), now),
        };
        self.finish_with(active, next, None, now);
    }

    pub(super) fn finish_with(&mut self, active: &Active, next: Option<(Loop, String)>, why: Option<(How, String)>, now: Moment) {
        self.change_loops(now, |known| {
            let going = known.active.as_ref().is_some_and(|one| one.definition.name == active.definition.name && one.phase == active.phase);
            if !going {
                return;
            }
            known.active = next.map(|(one, hash)| {
                // The same terminal is the same session, and what hooks share goes along.
                let session = active
                    .session
                    .clone()
                    .filter(|_| one.definition.terminal.is_some() && one.definition.terminal == active.definition.terminal);
                Active {
                    definition: one.definition,
                    hash,
                    session,
                    state: active.state.clone(),
                    since: Some(now.wall),
                    clock: Some(Identity::of_self()),
                    ..Active::default()
                }
            });
            if let Some((how, why)) = why {
                known.note(active, how, why, now.wall);
            }
        });
    }
}
