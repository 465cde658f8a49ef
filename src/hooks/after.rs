//! After a tool call: the step goes into the trail, and the same paths are resolved once more. If
//! one has ended in somebody's directory after all, the owner gets a slip that says so.
//!
//! Nothing is held up by it: whatever goes wrong is one line for people, and the exit code is 0.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::event::Seam;
use super::gate::{self, MAX_PAYLOAD, PATIENCE};
use super::harness::Adapter;
use super::tools::{self, Intent};
use crate::custody::act::{Act, ActKind};
use crate::custody::slip::{self, Happened};
use crate::custody::trail::{self, Step, Touched};
use crate::custody::{self, Ruling, Verdict};
use crate::sys::env::Env;
use crate::sys::process::LastWords;
use crate::sys::{disk, fault, process, shown, term, time};
use crate::text::digest;
use crate::tree::dotdirs::{self, Dotdirs};
use crate::tree::{climb, real, settings};

/// The largest file whose digest is recorded.
const MAX_DIGESTED: u64 = 1 << 20;

/// Takes one call in; what is to be said about it, empty where all went well.
#[must_use]
pub fn take(adapter: &'static Adapter, env: &Env) -> String {
    let late = not_recorded(&format!("it took longer than {PATIENCE} s"));
    process::set_last_words(LastWords { stdout: Vec::new(), stderr: late.into_bytes(), code: 0 });
    process::end_after(PATIENCE);
    let work = AssertUnwindSafe(|| recorded(adapter, env));
    let said = catch_unwind(work).unwrap_or_else(|_| Err("the relay itself failed; please report it".to_owned()));
    process::end_not();
    said.map_or_else(|why| not_recorded(&why), |()| String::new())
}

fn not_recorded(why: &str) -> String {
    format!("loci: this step is not in the trail: {}\n", shown::text(why))
}

fn recorded(adapter: &Adapter, env: &Env) -> Result<(), String> {
    let (payload, more) = term::stdin(MAX_PAYLOAD).map_err(|error| format!("the payload can't be read: {error}"))?;
    if more {
        return Err("the payload is larger than 16 MiB".to_owned());
    }
    let event = adapter.event(Seam::AfterTool, &payload).map_err(|error| format!("the payload {error}"))?;
    fault::point("after-tool");
    let Some(session) = event.session.as_deref() else { return Err("the payload names no session".to_owned()) };
    if env.state().is_none() {
        return Err("neither HOME nor LOCI_HOME is set".to_owned());
    }
    // Settings that can't be used are the gate's to say.
    let settings = env.home().and_then(|home| settings::load(&home).ok()).unwrap_or_default();
    let cwd = event.cwd.clone().unwrap_or_default();
    let Intent { acts, .. } = tools::read_call(&event.tool, &event.input, &cwd, env.user_home().as_deref(), &settings.write_tools);
    let acts: Vec<Act> = acts.into_iter().filter(|act| act.path.is_absolute()).collect();
    let surroundings = gate::surroundings(env, settings.wall);
    let mut notes = Vec::new();
    let asker = gate::asker(adapter, env, &event, &surroundings, &mut notes);
    let ruling = custody::rule(&acts, &asker, &surroundings);
    // What the gate has refused did not happen, and is in the trail already.
    if event.call.as_deref().is_some_and(|call| trail::was_refused(&surroundings.state, session, call)) {
        return Ok(());
    }
    let (touched, more, there) = touched(&ruling, event.lines);
    let refused = ruling.verdict == Verdict::Refuse;
    let sub_agent = event.sub_agent();
    let at = time::now();
    let mut step = Step {
        at: time::to_second(at),
        agent: asker.name().to_owned(),
        sub_agent: sub_agent.clone(),
        harness: adapter.name.to_owned(),
        tool: event.tool.clone(),
        call: event.call.clone(),
        place: place(&cwd, &settings.dotdirs),
        acts: touched,
        more,
        passed: !event.failed && !refused && there,
        refused: Vec::new(),
        filed: Vec::new(),
    };
    let mut trouble = None;
    if refused && !event.failed {
        let happened = Happened {
            asker: &asker,
            harness: adapter.name,
            session,
            call: event.call.as_deref(),
            sub_agent: sub_agent.as_deref(),
            tool: &event.tool,
            at,
        };
        for outcome in slip::send(&happened, &ruling, &surroundings) {
            match outcome {
                Ok(id) => step.filed.push(id),
                Err(why) => trouble = Some(format!("it ended in somebody's directory, and that could not be told to the owner: {why}")),
            }
        }
    }
    trail::append(&surroundings.state, session, &step).map_err(|error| format!("failed to {error}"))?;
    trouble.map_or(Ok(()), Err)
}

/// What was touched, with the digest of what was written; how much of it is left out; and whether all
/// that was written is there.
fn touched(ruling: &Ruling, lines: Option<(u64, u64)>) -> (Vec<Touched>, usize, bool) {
    let acts: Vec<Act> = ruling
        .acts
        .iter()
        .map(|act| {
            let known = act.real.clone();
            let path = known.unwrap_or_else(|| real::real(&act.act.path, act.act.follow).path);
            Act { path, ..act.act.clone() }
        })
        .collect();
    let (mut touched, more) = trail::touched(&acts, lines);
    let mut there = true;
    for (touched, act) in touched.iter_mut().zip(&acts) {
        if matches!(act.kind, ActKind::Write | ActKind::Create) {
            there &= matches!(disk::look_through(&act.path), Ok(Some(_)));
            touched.sha256 = disk::read_bounded(&act.path, MAX_DIGESTED).ok().flatten().map(|data| digest::sha256(&data));
        }
    }
    (touched, more, there)
}

/// The nearest directory with a dotdir up from where the agent stands.
fn place(cwd: &Path, dotdirs: &Dotdirs) -> Option<String> {
    let cwd = real::real(cwd, true).path;
    let carries = |dir: &Path| !dotdirs.names(dir) && !dotdirs::at(dir, dotdirs, &mut Vec::new()).is_empty();
    climb::nearest(&cwd, carries).map(|place| place.to_string_lossy().into_owned())
}
