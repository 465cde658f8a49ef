//! A loop at the seams of its session: the relay of a harness comes by here. Before the hooks of an event are asked, the
//! loop's own are put on; after they have left their state, at the end of a turn, the loop is asked whether it is done.
//!
//! Nothing holds the session up: whatever goes wrong is said, and the loop stays as it is.

use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use super::decide::{self, Exit, Facts, Step};
use super::{Active, How, LoopError, Phase, State, exit, read};
use crate::clock::deliverable::{self, Stamps};
use crate::clock::trust::Trust;
use crate::hooks::active::Active as Hooks;
use crate::hooks::answer::Answer;
use crate::hooks::dispatch::Turn;
use crate::hooks::event::{Seam, Take};
use crate::hooks::relay::Guest;
use crate::hooks::state::{self, Memory};
use crate::sys::env::{self, Env};
use crate::sys::time::Moment;
use crate::sys::{disk, shown};

/// How fresh a person's prompt may be for a loop in a terminal to wait.
pub const HUMAN_FRESH: SignedDuration = SignedDuration::from_secs(120);
/// The most files of roots that are looked through for a session.
const MAX_ROOTS: usize = 200;

/// What the relays of harnesses are given.
pub const GUEST: Guest = Guest { before, after };

/// The loops that go on, of all roots: their files.
fn all(state: &Path) -> Vec<(PathBuf, State)> {
    let Ok(Some(entries)) = disk::list_at_most(&super::folder(state), MAX_ROOTS) else { return Vec::new() };
    let files = entries.into_iter().filter(|entry| entry.name.to_str().is_some_and(|name| name.ends_with(".json")));
    let paths = files.map(|entry| super::folder(state).join(entry.name));
    paths.filter_map(|path| Some((path.clone(), read(&path).ok()??))).filter(|(_, known)| known.active.is_some()).collect()
}

/// Whether a turn is one of a loop's: its session is known, or this is the first that is heard of it.
fn is_of(active: &Active, turn: &Turn, ticket: Option<&str>) -> bool {
    let event = &turn.event;
    // One that is done is nobody's any more: its hooks have left.
    if !matches!(active.phase, Phase::Due | Phase::Turn) {
        return false;
    }
    match &active.session {
        Some(session) => event.session.as_ref() == Some(session),
        None if active.phase != Phase::Turn => false,
        None => match &active.definition.terminal {
            None => ticket.is_some_and(|ticket| ticket == active.ticket && !ticket.is_empty()),
            // What was typed arrives as a prompt.
            Some(_) => {
                let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
                event.seam == Seam::BeforeIteration
                    && event.prompt.as_deref().is_some_and(|prompt| words(prompt) == words(&active.definition.prompt))
            }
        },
    }
}

/// The root of the loop that a turn belongs to.
fn root_of(turn: &Turn, env: &Env) -> Option<PathBuf> {
    // A sub-agent's turns are not the loop's.
    if turn.event.agent_id.is_some() || turn.event.session.is_none() {
        return None;
    }
    let ticket = env.get(env::LOCI_LOOP).and_then(|ticket| ticket.to_str());
    let known = all(&turn.state);
    known
        .into_iter()
        .find(|(_, known)| known.active.as_ref().is_some_and(|active| is_of(active, turn, ticket)))
        .map(|(_, known)| known.root)
}

fn before(turn: &mut Turn, answer: &mut Answer, env: &Env) {
    let worn = turn.memory.active.by_loop.clone();
    if worn.is_none() && !matches!(disk::look(&super::folder(&turn.state)), Ok(Some(_))) {
        return;
    }
    let Some(root) = root_of(turn, env) else {
        if worn.is_some() && turn.event.agent_id.is_none() {
            // Its loop is over, and was ended by somebody who could not reach this session.
            turn.remember(answer, take_off);
        }
        return;
    };
    let session = turn.event.session.clone();
    let ticket = env.get(env::LOCI_LOOP).and_then(|ticket| ticket.to_str()).map(str::to_owned);
    let bound = super::change(&turn.state.clone(), &root, |known| {
        let active = known.active.as_mut().filter(|active| is_of(active, turn, ticket.as_deref()))?;
        active.session = session;
        Some(active.clone())
    });
    match bound {
        Ok(Some(active)) if worn.as_deref() != Some(&*active.definition.name) => turn.remember(answer, |memory| put_on(memory, &active)),
        Ok(_) => {}
        Err(error) => answer.notes.push(trouble(&error)),
    }
}

/// The loop's hooks are on from here, and what an earlier session of it left is there.
fn put_on(memory: &mut Memory, active: &Active) {
    let was = std::mem::replace(&mut memory.active, Hooks::of_loop(&active.definition.name, &active.definition.hooks));
    if was.by_loop.is_none() {
        memory.before_loop = Some(was);
    }
    for (key, value) in &active.state {
        if !memory.state.contains_key(key) {
            memory.state.insert(key.clone(), value.clone());
        }
    }
}

fn take_off(memory: &mut Memory) {
    if memory.active.by_loop.is_some() {
        memory.active = memory.before_loop.take().unwrap_or_default();
    }
}

/// The hooks of a loop leave the session that had them.
///
/// # Errors
/// Where what is remembered of the session can't be changed.
pub fn leave(state: &Path, session: &str) -> Result<(), state::StateError> {
    match state::read(state, session)? {
        Some(memory) if memory.active.by_loop.is_some() => state::change(state, session, take_off),
        _ => Ok(()),
    }
}

fn after(turn: &mut Turn, answer: &mut Answer, env: &Env) {
    let seam = turn.event.seam;
    if !matches!(seam, Seam::AfterIteration | Seam::AfterRun) || turn.memory.active.by_loop.is_none() || answer.block.is_some() {
        return;
    }
    let Some(root) = root_of(turn, env) else { return };
    let now = Moment::now().wall;
    let can_block = turn.point.is_some_and(|point| point.takes(Take::Block));
    let told = turn_ended(
        &turn.state,
        &root,
        &Ended {
            state: &turn.memory.state,
            can_block,
            session_over: seam == Seam::AfterRun,
            human: human_is_there(&turn.state, now),
            at: now,
        },
    );
    match told {
        Ok(told) => {
            if told.over {
                turn.remember(answer, take_off);
            }
            answer.block = told.block;
            answer.notes.extend(told.note.map(|note| format!("loci: {note}")));
        }
        Err(error) => answer.notes.push(trouble(&error)),
    }
}

fn trouble(error: &LoopError) -> String {
    format!("loci: the loop is not looked after: failed to {}", shown::text(&error.to_string()))
}

fn human_is_there(state: &Path, now: Timestamp) -> bool {
    let Ok(Some(meta)) = disk::look_through(&state.join("human.lock")) else { return false };
    let age = i128::from(now.as_second()) - meta.mtime_ns.div_euclid(1_000_000_000);
    age < i128::from(HUMAN_FRESH.as_secs())
}

/// A turn of a loop that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Ended<'a> {
    /// What its hooks have left.
    pub state: &'a serde_json::Map<String, serde_json::Value>,
    /// Whether the stop can be blocked.
    pub can_block: bool,
    /// Whether the session has ended with it.
    pub session_over: bool,
    /// Whether a person was active lately.
    pub human: bool,
    /// When.
    pub at: Timestamp,
}

/// What is to be told about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// The stop is blocked with this prompt.
    pub block: Option<String>,
    /// Its hooks leave.
    pub over: bool,
    /// A line for people, where there is anything new.
    pub note: Option<String>,
}

/// Takes in that a turn of the loop of a root has ended, and decides what follows.
///
/// # Errors
/// Where what is known of it can't be read or written: then nothing has changed.
pub fn turn_ended(state: &Path, root: &Path, ended: &Ended<'_>) -> Result<Told, LoopError> {
    let armed = |active: &Active| {
        let name = super::Definition::job_name(&active.definition.name);
        Trust::read(state, root).is_ok_and(|trust| trust.enrolled && trust.arms(&name, &active.hash))
    };
    super::change(state, root, |known| {
        let day = day(ended.at);
        let Some(active) = &mut known.active else { return Told::default() };
        if active.phase != Phase::Turn {
            return Told::default();
        }
        active.state = ended.state.clone();
        let exit = asked(active);
        let mut told = Told::default();
        if let Exit::Unclear(why) = &exit
            && active.said.as_ref() != Some(why)
        {
            told.note = Some(format!("the loop {} is not done, as far as can be said: exit: {why}", active.definition.name));
            active.said = Some(why.clone());
        }
        let (definition, round) = (active.definition.clone(), active.round);
        let facts = Facts {
            can_block: ended.can_block && !ended.session_over,
            armed: armed(active),
            human: ended.human && definition.terminal.is_some(),
            rounds_today: known.days.get(&definition.name).filter(|(one, _)| *one == day).map_or(0, |(_, rounds)| *rounds),
        };
        match decide::turn_over(&definition, round, &exit, facts) {
            Step::Done => {
                if let Some(active) = known.active.clone() {
                    known.note(&active, How::Done, "exit holds", ended.at);
                }
                if let Some(active) = &mut known.active {
                    active.phase = Phase::Next;
                }
                told.over = true;
                told.note = Some(format!("the loop {} is done after {round} round(s)", definition.name));
            }
            Step::Stop(why) => {
                told.over = true;
                told.note = Some(format!("the loop {} is stopped: {why}", definition.name));
                known.end(How::Stopped, why, ended.at);
            }
            // A session that somebody has left is not gone on with; a run of the clock is told of by its end.
            Step::Block | Step::Deliver if ended.session_over && definition.terminal.is_some() => {
                told.over = true;
                known.end(How::Interrupted, "its session has ended", ended.at);
            }
            Step::Deliver if ended.session_over => {}
            Step::Block => {
                known.count_round(&day);
                told.block = Some(definition.prompt);
            }
            Step::Deliver => active.phase = Phase::Due,
        }
        told
    })
}

/// The day that rounds are counted for.
#[must_use]
pub fn day(at: Timestamp) -> String {
    jiff::tz::TimeZone::UTC.to_datetime(at).date().to_string()
}

/// What the predicate says, and what has to be there besides.
fn asked(active: &Active) -> Exit {
    match exit::holds(&active.definition.exit, &active.state, active.round) {
        Ok(false) => Exit::NotYet,
        Err(why) => Exit::Unclear(why),
        Ok(true) => {
            let none = Stamps::default();
            let before = active.before.as_ref().unwrap_or(&none);
            match deliverable::judge(&active.dir, &active.definition.deliverables, before).first() {
                None => Exit::Met,
                Some(lack) => Exit::Unclear(lack.to_string()),
            }
        }
    }
}
