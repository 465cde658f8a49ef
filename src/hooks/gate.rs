//! The gate: one tool call in, one verdict out, in the harness's language.
//!
//! One process start, no daemon. On the way of a call that passes nothing is written but, at the
//! first event of a session, who asks in it. **Evidence of ownership closes, absence of it opens,
//! neither is silent**: whatever keeps the gate from checking a call is said, and a call of a tool
//! that surely writes is refused where the check did not come to its end.

mod steps;
mod unchecked;

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use steps::{remember, remember_hook};
use unchecked::{Kind, UNCHECKED, last_words, not_checked, unchecked};

use super::answer::{Answer, Reply};
use super::connect::{self, tamper};
use super::dispatch::{BUDGET, Turn};
use super::elsewhere;
use super::event::{Event, Seam};
use super::find;
use super::harness::{Adapter, Unreadable, tool_name};
use super::hold;
use super::log::{self, Failure};
use super::relay;
use super::tools::{self, Class, Intent};
use crate::custody::act::{Act, ActKind};
use crate::custody::asker::{self, Asker};
use crate::custody::delegation::{self, Attempt, Change};
use crate::custody::trail;
use crate::custody::{self, ActRuling, Ruling, Surroundings, Why, message};
use crate::sys::env::{self, Env};
use crate::sys::term::Taken;
use crate::sys::{fault, process, shown, term, time};
use crate::tree::real::{self, Trouble};
use crate::tree::settings;

/// The most of a payload that is read.
pub const MAX_PAYLOAD: u64 = 16 << 20;

/// The most acts of a call that hooks are told.
const MAX_TOLD: usize = 256;

/// How many seconds the gate takes at most from when it has the payload: shorter than the timeout of any harness.
pub const PATIENCE: u32 = 2;

/// How many seconds it waits for the payload. A machine under load hands it over late, and that the call
/// can't be read then is no reason to let it go on.
pub(super) const ARRIVAL: u32 = 4;

/// Answers one call: the payload comes on standard input.
///
/// Where the work takes longer than [`PATIENCE`] from when the payload is there, the process ends with the
/// answer to that, wherever it is.
#[must_use]
pub fn answer(adapter: &'static Adapter, env: &Env) -> Reply {
    let (kind, turn) = (OnceCell::new(), OnceCell::new());
    process::set_last_words(last_words(adapter, None));
    // Nothing of what the work has touched is looked at after a panic but `kind`, which is whole.
    let work = AssertUnwindSafe(|| judged(adapter, env, &kind, &turn));
    let answer = catch_unwind(work).unwrap_or_else(|_| unchecked(kind.get(), "the gate itself failed; please report it"));
    // Two answers would be none.
    process::end_not();
    keep_unchecked(adapter, env, &answer);
    let answer = match turn.into_inner() {
        Some(turn) => asked(adapter, env, turn, answer, kind.get()),
        None => answer,
    };
    adapter.reply(Seam::BeforeTool, None, &answer)
}

/// Keeps that a call went on unchecked, for `loci hooks status`: several harnesses show nobody what the gate says then.
fn keep_unchecked(adapter: &Adapter, env: &Env, answer: &Answer) {
    for why in answer.notes.iter().filter_map(|note| note.strip_prefix(UNCHECKED)) {
        // `loci connect --check` asks with a call that is none.
        if env.get(env::LOCI_PROBE).is_some() {
            return;
        }
        let Some(state) = env.state() else { return };
        let failure = Failure {
            at: time::to_second(time::now()),
            session: None,
            hook: format!("loci gate --for {}", adapter.name),
            seam: Seam::BeforeTool.word().to_owned(),
            why: format!("custody was not checked: {why}"),
        };
        log::append(&state, &failure);
    }
}

/// Asks the hooks that are there, after custody has let the call go on; each has its own limit. What one
/// of them makes of the call is judged like the call itself.
fn asked(adapter: &Adapter, env: &Env, turn: Turn, answer: Answer, kind: Option<&Kind>) -> Answer {
    let before = answer.clone();
    let work = AssertUnwindSafe(|| {
        let given = adapter.rewriting.over.then(|| turn.event.input.clone());
        let mut answer = answer;
        let held = answer.input.take();
        let (turn, mut answer) = relay::before_tool(turn, answer);
        if answer.block.is_some() {
            remember_hook(adapter, &turn, &answer);
        } else if let Some(input) = &answer.input {
            process::end_after(PATIENCE);
            let mut ruled = rule(adapter, env, &turn.event, kind, &RefCell::default());
            if let Some(given) = given.filter(|_| ruled.block.is_none()) {
                let event = Event { input: over(given, input), ..turn.event.clone() };
                ruled = rule(adapter, env, &event, kind, &RefCell::default());
            }
            process::end_not();
            if ruled.block.is_some() {
                answer = ruled;
            } else {
                // What the hooks have made of it is held as the call itself would have been.
                answer.leave = ruled.leave;
                answer.input = ruled.input.or(answer.input);
            }
        } else {
            answer.input = held;
        }
        answer
    });
    catch_unwind(work).unwrap_or_else(|_| {
        let mut answer = before;
        answer.notes.push("loci: the hooks were not all asked: loci itself failed; please report it".to_owned());
        answer
    })
}

/// An input with what a hook has made of it put over it.
fn over(given: Value, input: &Value) -> Value {
    match (given, input) {
        (Value::Object(mut all), Value::Object(new)) => {
            all.extend(new.clone());
            Value::Object(all)
        }
        (_, input) => input.clone(),
    }
}

/// Reads the payload; the time for the work begins when it is there.
///
/// # Errors
/// Where standard input can't be read.
pub(super) fn arrived() -> std::io::Result<Taken> {
    process::end_after(ARRIVAL + PATIENCE);
    let taken = term::stdin_within(MAX_PAYLOAD, Duration::from_secs(ARRIVAL.into()));
    process::end_after(PATIENCE);
    taken
}

fn judged(adapter: &'static Adapter, env: &Env, kind: &OnceCell<Kind>, turn: &OnceCell<Turn>) -> Answer {
    let Taken { bytes: payload, more, late } = match arrived() {
        Ok(taken) => taken,
        Err(error) => return not_checked(&format!("the payload can't be read: {error}")),
    };
    // Until its name is known, a call may be one that writes; looking for it reads the payload once.
    process::set_last_words(last_words(adapter, Some(&Kind::unknown())));
    let peeked = tool_name(&payload).as_deref().map(Kind::of);
    process::set_last_words(last_words(adapter, peeked.as_ref()));
    if more || late {
        // Nothing that only reads is asked for with so much, and a call that can't be read yet may write: a tool that
        // can't be told does.
        let kind = peeked.unwrap_or_else(Kind::unknown);
        let why =
            if late { format!("the payload did not come within {ARRIVAL} s") } else { "the payload is larger than 16 MiB".to_owned() };
        return unchecked(Some(&kind), &why);
    }
    if let Some(change) = tamper::change(adapter, env, &payload) {
        return change.map_or_else(Answer::default, Answer::block);
    }
    let event = match adapter.event(Seam::BeforeTool, &payload) {
        Ok(event) => event,
        Err(error @ Unreadable::OtherEvent(_)) => return not_checked(&format!("the payload {error}")),
        Err(error) => return unchecked(peeked.as_ref(), &format!("the payload {error}")),
    };
    process::set_last_words(last_words(adapter, Some(kind.get_or_init(|| Kind::of(&event.tool)))));
    fault::point("gate");
    let acts = RefCell::default();
    let answer = rule(adapter, env, &event, kind.get(), &acts);
    if answer.block.is_none()
        && let Some(with_hooks) = with_hooks(adapter, env, event, acts.into_inner())
    {
        let _ = turn.set(with_hooks);
    }
    answer
}

/// The turn of a call, where there may be hooks that are to be asked about it.
fn with_hooks(adapter: &'static Adapter, env: &Env, event: Event, acts: Vec<(ActKind, PathBuf)>) -> Option<Turn> {
    let home = env.home();
    let mut memory = relay::memory(&event, env).unwrap_or_default();
    if memory.launch.is_none() {
        memory.launch = stands(adapter, &event);
    }
    if memory.waiting.is_empty() && !find::may_be_there(home.as_deref(), memory.launch.as_deref(), memory.place.as_deref()) {
        return None;
    }
    let settings = home.as_deref().and_then(|home| settings::load(home).ok()).unwrap_or_default();
    let surroundings = surroundings(env, settings.wall);
    let asker = asker(adapter, env, &event, &surroundings, &mut Vec::new());
    let point = adapter.point(Seam::BeforeTool, Some(&event.native));
    Some(Turn {
        harness: adapter.name,
        point,
        event,
        asker,
        acts,
        state: surroundings.state,
        home,
        dotdirs: settings.dotdirs,
        memory,
        left: BUDGET,
    })
}

/// Where the agent stands by what the harness says; not where a call would run.
pub(super) fn stands(adapter: &Adapter, event: &Event) -> Option<PathBuf> {
    // Codex says where the call would run, which the model chooses; the hook itself is started where
    // the session is.
    let own = (adapter.name == "codex").then(env::working_directory).flatten();
    own.or_else(|| event.cwd.clone())
}

fn rule(adapter: &Adapter, env: &Env, event: &Event, kind: Option<&Kind>, acted: &RefCell<Vec<(ActKind, PathBuf)>>) -> Answer {
    // A policy with a typo must not pass for none.
    let settings = match env.home().as_deref().map(settings::load).transpose() {
        Ok(settings) => settings.unwrap_or_default(),
        Err(error) => {
            let line = error.line.map(|line| format!(":{line}")).unwrap_or_default();
            return unchecked(kind, &format!("the settings {}{line} can't be used: {}", shown::path(&error.path), error.why));
        }
    };
    let home = env.user_home();
    let cwd = event.cwd.clone().unwrap_or_default();
    let mut intent = tools::read_call(&event.tool, &event.input, &cwd, home.as_deref(), &settings.write_tools);
    if let Some(key) = adapter.workdir {
        intent.obey(key, &event.tool, &event.input, &cwd, home.as_deref());
    }
    match elsewhere::acts(adapter.name, event) {
        Some(more) => intent.acts.extend(more),
        None => return unchecked(kind, "its file is not where it says, and there are too many directories to look through for it"),
    }
    let Intent { acts, class, .. } = &intent;
    if matches!(class, Class::Shell(_)) {
        acted.borrow_mut().extend(acts.iter().map(|act| (act.kind, act.path.clone())));
    }
    if acts.iter().any(|act| act.path.is_relative()) {
        let kind = Kind { tool: event.tool.clone(), writes: class.writes() };
        return unchecked(Some(&kind), "the payload names no working directory, and the call a path that is relative to it");
    }
    if acts.len() > tools::MAX_ACTS && class.writes() {
        let kind = Kind { tool: event.tool.clone(), writes: true };
        return unchecked(Some(&kind), &format!("it names more than {} paths", tools::MAX_ACTS));
    }
    if *class == Class::Patch && acts.iter().all(|act| act.kind == ActKind::Run) {
        return not_checked("it writes, and no file can be read out of the patch");
    }
    if acts.is_empty() && class.writes() && tools::hides_its_file(&event.input) {
        return unchecked(kind, "it names its file in a way that can't be read");
    }
    if acts.is_empty() && class.writes() {
        return not_checked("it writes, and names no path that can be read");
    }
    let with = hold::Settings { custody: settings.custody, rewrite: settings.rewrite };
    let surroundings = surroundings(env, settings.wall);
    let mut notes = Vec::new();
    let asker = asker(adapter, env, event, &surroundings, &mut notes);
    // Commands are read in the environment that the harness hands down; nothing else needs all of it.
    let mut ruling = intent.deeds(|| Env::of_process().texts(), home.as_deref()).rule(&asker, &surroundings);
    if ruling.verdict != custody::Verdict::Refuse
        && class.writes()
        && let Some(why) = ruling.acts.iter().find_map(of_a_process)
    {
        return unchecked(Some(&Kind { tool: event.tool.clone(), writes: true }), &why);
    }
    once_each(&mut ruling);
    acted.borrow_mut().extend(ruling.acts.iter().take(MAX_TOLD).map(|act| (act.act.kind, act.path().to_owned())));
    if ruling.verdict == custody::Verdict::Refuse {
        let sub_agent = event.sub_agent();
        let attempt = Attempt {
            asker: &asker,
            harness: adapter.name,
            session: event.session.as_deref(),
            sub_agent: sub_agent.as_deref(),
            tool: &event.tool,
            change: of_the_refused(intent.change, &ruling),
            ruling: &ruling,
            reads: event.session.as_deref().map(|session| trail::reads(&surroundings.state, session)).unwrap_or_default(),
            at: time::now(),
        };
        let deliveries = delegation::deliver(&attempt, &surroundings);
        let acts: Vec<Act> = ruling.acts.iter().map(|act| act.act.clone()).collect();
        remember(&attempt, event, &acts, &deliveries, &surroundings);
        let message = message::message(&ruling, &deliveries);
        return Answer::block(if notes.is_empty() { message } else { format!("{message}\nAlso: {}.", notes.join("; ")) });
    }
    let mut answer = match &intent.class {
        Class::Shell(call) => {
            hold::Ground { adapter, event, settings: &with, asker: &asker, surroundings: &surroundings }.hold(call, &ruling)
        }
        _ => Answer::default(),
    };
    notes.extend(ruling.notes);
    if !notes.is_empty() {
        answer.notes.insert(0, format!("loci: {}", notes.join("; ")));
    }
    answer
}

/// Why an act could not be checked, where its path leads elsewhere in each process. What a harness has open
/// under a number is nothing that a tool for files has to write to.
fn of_a_process(act: &ActRuling) -> Option<String> {
    let path = act.path();
    if ["/proc/self", "/proc/thread-self", "/dev/fd"].iter().any(|of_each| path.starts_with(of_each)) {
        return Some(format!("{} is another file for each process", shown::path(path)));
    }
    if !matches!(act.why, Why::Unresolved(_)) {
        return None;
    }
    let trouble = real::real(&act.act.path, act.act.follow).trouble?;
    matches!(trouble, Trouble::OfAProcess(_)).then(|| trouble.to_string())
}

/// Several readings of a path that lead to the same are one act.
fn once_each(ruling: &mut Ruling) {
    let mut seen = BTreeSet::new();
    ruling.acts.retain(|act| act.real.as_ref().is_none_or(|real| seen.insert((act.act.kind, real.clone()))));
}

/// The change, named by the reading of its path that was refused.
fn of_the_refused(mut change: Change, ruling: &Ruling) -> Change {
    let mut refused = ruling.acts.iter().filter(|act| act.verdict == custody::Verdict::Refuse).map(|act| &act.act.path);
    if let Change::Content { path, .. } | Change::Edits { path, .. } = &mut change
        && !refused.clone().any(|other| other == path)
        && let Some(other) = refused.next()
    {
        path.clone_from(other);
    }
    change
}

/// Who asks in this session: fixed at its first event.
pub(super) fn asker(adapter: &Adapter, env: &Env, event: &Event, surroundings: &Surroundings, notes: &mut Vec<String>) -> Asker {
    let session = event.session.as_deref().filter(|_| env.state().is_some());
    if env.state().is_none() {
        notes.push("who asks can't be kept for this session, since neither HOME nor LOCI_HOME is set".to_owned());
    }
    // Where the payload does not say where the agent stands, it stands in nobody's place.
    let cwd = stands(adapter, event);
    let cwd = cwd.as_deref().unwrap_or(Path::new("/"));
    match asker::of_session(&surroundings.state, session, env, cwd, time::now()) {
        Ok((asker, note)) => {
            notes.extend(note.map(|note| note.0));
            asker
        }
        Err(error) => {
            notes.push(format!("you are taken for nobody: failed to {error}"));
            Asker::default()
        }
    }
}

/// Where things are on this machine. Without a home there is no registry and no state: a directory
/// that is never there stands for it.
pub(super) fn surroundings(env: &Env, wall: Vec<String>) -> Surroundings {
    let nowhere = || PathBuf::from("/nonexistent");
    let home = env.home().unwrap_or_else(nowhere);
    let state = env.state().unwrap_or_else(|| nowhere().join("loci"));
    let connect::Settings { moved, linked } = connect::settings(env, &state);
    Surroundings { user_home: env.user_home().unwrap_or_else(|| home.clone()), state, home, wall, moved, linked, hops: env.hops() }
}
