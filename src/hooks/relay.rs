//! `loci hook SEAM`: what a harness says around a turn, taken in by what is built in (the trail, the
//! place, the persona, the human's lock), then by the hooks that are there.
//!
//! None of it holds anybody up: whatever goes wrong is a line for people, and the turn goes on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use serde_json::json;

use super::after;
use super::answer::{Answer, Reply};
use super::dispatch::{BUDGET, Turn};
use super::event::{Event, Seam, Take};
use super::gate::{self, ARRIVAL, PATIENCE};
use super::harness::Adapter;
use super::state::{self, Memory, Persona, Piece};
use super::tools::{self, Class, Intent};
use super::{hold, persona, place, trust, typed};
use crate::custody::act::Act;
use crate::custody::trail;
use crate::sys::env::{self, Env};
use crate::sys::process::LastWords;
use crate::sys::{disk, fault, process, shown, term, time};
use crate::tree::settings;

/// What is built in, by name.
pub const BUILT_IN: [(&str, &str); 4] = [
    ("loci:trail", "records each step of a session"),
    ("loci:place", "tells the rules of the place that was entered, and drops those of the one that was left"),
    ("loci:persona", "tells the persona that was declared"),
    ("loci:human-lock", "keeps the clock from typing while a person does"),
];

/// Who goes along with a session without being one of its hooks: the loops of the clock, which stands above this room.
#[derive(Debug, Clone, Copy)]
pub struct Guest {
    /// Comes by before the hooks of an event are asked.
    pub before: fn(&mut Turn, &mut Answer, &Env),
    /// Comes by when they have answered.
    pub after: fn(&mut Turn, &mut Answer, &Env),
}

/// Takes an event in, and answers it.
#[must_use]
pub fn answer(adapter: &'static Adapter, seam: Seam, env: &Env, guest: &Guest) -> Reply {
    let late = unasked(seam, &format!("it took longer than {PATIENCE} s"));
    process::set_last_words(LastWords { stdout: Vec::new(), stderr: late.into_bytes(), code: 0 });
    let work = AssertUnwindSafe(|| taken(adapter, seam, env));
    let taken = catch_unwind(work).unwrap_or_else(|_| Err("the relay itself failed; please report it".to_owned()));
    // What follows has limits of its own.
    process::end_not();
    let (mut turn, mut answer, mut pieces, trouble) = match taken {
        Ok(taken) => taken,
        Err(why) => return Reply { stderr: unasked(seam, &why), ..Reply::default() },
    };
    let work = AssertUnwindSafe(|| {
        (guest.before)(&mut turn, &mut answer, env);
        turn.scripts(seam, &mut answer, &mut pieces);
        if turn.event.failed && seam == Seam::AfterTool {
            turn.scripts(Seam::OnError, &mut answer, &mut pieces);
        }
        if matches!(seam, Seam::BeforeRun | Seam::BeforeIteration) && answer.block.is_none() {
            turn.scripts(Seam::BeforeSystemPrompt, &mut answer, &mut pieces);
        }
        (guest.after)(&mut turn, &mut answer, env);
        turn.flush(&mut answer, pieces);
    });
    if catch_unwind(work).is_err() {
        answer.notes.push("loci: the hooks were not all asked: loci itself failed; please report it".to_owned());
    }
    let mut reply = adapter.reply(seam, Some(&turn.event.native), &answer);
    if let Some(why) = trouble {
        reply.stderr.push_str(&after::not_recorded(&why));
    }
    reply
}

fn unasked(seam: Seam, why: &str) -> String {
    if seam == Seam::AfterTool { after::not_recorded(why) } else { format!("loci: this event was not taken in: {}\n", shown::text(why)) }
}

/// What came of what is built in: the turn, the answer so far, the texts for the model, and why the step
/// is not in the trail.
type Taken = (Turn, Answer, Vec<Piece>, Option<String>);

fn taken(adapter: &'static Adapter, seam: Seam, env: &Env) -> Result<Taken, String> {
    let term::Taken { bytes: payload, more, late } = gate::arrived().map_err(|error| format!("the payload can't be read: {error}"))?;
    if late {
        return Err(format!("the payload did not come within {ARRIVAL} s"));
    }
    if more {
        return Err("the payload is larger than 16 MiB".to_owned());
    }
    let event = adapter.event(seam, &payload).map_err(|error| format!("the payload {error}"))?;
    fault::point(seam.word());
    if seam == Seam::AfterTool && event.session.is_none() {
        return Err("the payload names no session".to_owned());
    }
    let Some(state) = env.state() else { return Err("neither HOME nor LOCI_HOME is set".to_owned()) };
    // Settings that can't be used are the gate's to say.
    let settings = env.home().and_then(|home| settings::load(&home).ok()).unwrap_or_default();
    let cwd = event.cwd.clone().unwrap_or_default();
    let Intent { acts, class, .. } = tools::read_call(&event.tool, &event.input, &cwd, env.user_home().as_deref(), &settings.write_tools);
    let acts: Vec<Act> = acts.into_iter().filter(|act| act.path.is_absolute()).collect();
    let surroundings = gate::surroundings(env, settings.wall.clone());
    let mut answer = Answer::default();
    let mut notes = Vec::new();
    let asker = gate::asker(adapter, env, &event, &surroundings, &mut notes);
    let launch = gate::stands(adapter, &event);
    let point = adapter.point(seam, Some(&event.native));
    let memory = event.session.as_deref().and_then(|session| state::read(&state, session).ok().flatten()).unwrap_or_default();
    let acted = acts.iter().map(|act| (act.kind, act.path.clone())).collect();
    let mut turn = Turn {
        harness: adapter.name,
        point,
        event,
        asker,
        acts: acted,
        state: state.clone(),
        home: env.home(),
        dotdirs: settings.dotdirs.clone(),
        memory,
        left: BUDGET,
    };
    let switches = turn.switches();
    let mut trouble = None;
    let mut pieces = Vec::new();
    let mut held = hold::After::default();
    if seam == Seam::AfterTool && matches!(class, Class::Shell(_)) {
        let happening =
            hold::Happening { adapter, event: &turn.event, asker: &turn.asker, surroundings: &surroundings, dotdirs: &settings.dotdirs };
        held = catch_unwind(AssertUnwindSafe(|| happening.after())).unwrap_or_default();
        answer.notes.append(&mut held.notes);
        pieces.extend(held.context.take().map(|text| Piece { name: "what has changed".to_owned(), text }));
    }
    if seam == Seam::AfterTool && switches.are_on("loci:trail", true) {
        let work = AssertUnwindSafe(|| {
            fault::point("trail");
            after::record(adapter, &turn.event, &acts, &turn.asker, &surroundings, &settings.dotdirs, held.filed)
        });
        trouble = catch_unwind(work).unwrap_or_else(|_| Err("the relay itself failed; please report it".to_owned())).err();
    }
    // A prompt that a run of ours submits, or that the clock has typed, is no person's.
    let typed = || turn.event.prompt.as_deref().is_some_and(|prompt| typed::take(&state, prompt, time::now()));
    if seam == Seam::BeforeIteration && !typed() && env.get(env::LOCI_RUN).is_none() && switches.are_on("loci:human-lock", true) {
        let work = AssertUnwindSafe(|| {
            fault::point("human-lock");
            touch_human_lock(&turn, &mut answer);
        });
        if catch_unwind(work).is_err() {
            answer.notes.push("loci: the clock does not know that you are here: loci itself failed; please report it".to_owned());
        }
    }
    // A sub-agent has a context of its own: what it enters, its parent has not entered.
    let happened = !was_refused(&turn) && turn.event.agent_id.is_none();
    let entered =
        (seam == Seam::AfterTool && happened).then(|| place::scraped(&turn.event, &class, &acts, env.user_home().as_deref())).flatten();
    let tells = matches!(seam, Seam::BeforeRun | Seam::BeforeIteration | Seam::AfterTool) && happened;
    if tells || turn.memory.launch.is_none() {
        let told = (switches.are_on("loci:place", true) && tells, switches.are_on("loci:persona", true) && tells);
        let started = launch.clone();
        let work = AssertUnwindSafe(|| tell(&mut turn, &mut answer, launch, entered, told, &mut pieces));
        if catch_unwind(work).is_err() {
            // The hooks of where the session was started are found from here all the same.
            turn.memory.launch = turn.memory.launch.take().or(started);
            answer.notes.push("loci: the rules of this place were not told: loci itself failed; please report it".to_owned());
        }
    }
    Ok((turn, answer, pieces, trouble))
}

/// Whether the gate has kept the call from happening: then nobody went anywhere.
fn was_refused(turn: &Turn) -> bool {
    let event = &turn.event;
    let (Some(session), Some(call)) = (event.session.as_deref(), event.call.as_deref()) else { return false };
    event.seam == Seam::AfterTool && trail::was_refused(&turn.state, session, call)
}

/// Moves the place, and collects what the model is to be told of rules and persona.
fn tell(
    turn: &mut Turn,
    answer: &mut Answer,
    launch: Option<PathBuf>,
    entered: Option<PathBuf>,
    (rules, who): (bool, bool),
    pieces: &mut Vec<Piece>,
) {
    let trust = trust::load(&turn.state);
    let (home, dotdirs, harness) = (turn.home.clone(), turn.dotdirs.clone(), turn.harness);
    let forgotten = turn.event.is_after_compaction();
    let (told, notes) = turn.remember(answer, |memory: &mut Memory| {
        if memory.launch.is_none() {
            memory.launch = launch;
        }
        if let Some(entered) = entered {
            memory.place = Some(entered);
        }
        if forgotten {
            memory.rules.clear();
            memory.prompts.clear();
            memory.persona.as_mut().map(|persona| persona.told.take());
        }
        let (launch, place) = (memory.launch.clone(), memory.place.clone());
        let ground = place::Ground {
            home: home.as_deref(),
            launch: launch.as_deref(),
            place: place.as_deref(),
            dotdirs: &dotdirs,
            trust: &trust,
            harness,
        };
        let (mut told, mut notes) = (Vec::new(), Vec::new());
        if who {
            fault::point("persona");
            let (frame, said) = persona::tell(&ground, memory);
            told.extend(frame);
            notes.extend(said);
        }
        if rules {
            fault::point("place");
            let absolute = |persona: &Persona| persona.absolute && persona.path.is_some();
            let absolute = who && memory.persona.as_ref().is_some_and(absolute);
            told.extend(place::tell(&ground, memory, absolute));
        }
        (told, notes)
    });
    pieces.extend(told);
    answer.notes.extend(notes.into_iter().map(|note| format!("loci: {note}")));
}

/// A person has submitted a prompt: the clock leaves the agent to them for a while.
fn touch_human_lock(turn: &Turn, answer: &mut Answer) {
    let text = json!({ "schema": 1, "at": time::to_second(time::now()), "session": turn.event.session, "harness": turn.harness });
    let path = turn.state.join("human.lock");
    let write = disk::make_dirs(&turn.state).and_then(|()| disk::replace(&path, format!("{text}\n").as_bytes(), Some(0o600)));
    if let Err(error) = write {
        answer.notes.push(format!("loci: the clock does not know that you are here: failed to {error}"));
    }
}

/// The hooks before a tool call, after custody has let it go on.
#[must_use]
pub fn before_tool(mut turn: Turn, mut answer: Answer) -> (Turn, Answer) {
    let mut pieces = Vec::new();
    turn.scripts(Seam::BeforeTool, &mut answer, &mut pieces);
    if turn.point.is_some_and(|point| point.takes(Take::Context)) || !pieces.is_empty() {
        turn.flush(&mut answer, pieces);
    }
    (turn, answer)
}

/// What is remembered of the session of an event, where that can be read.
#[must_use]
pub fn memory(event: &Event, env: &Env) -> Option<Memory> {
    state::read(&env.state()?, event.session.as_deref()?).ok().flatten()
}
