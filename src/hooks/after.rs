//! After a tool call: the step goes into the trail, and the same paths are resolved once more. If
//! one has ended in somebody's directory after all, the owner gets a slip that says so.
//!
//! Nothing is held up by it: whatever goes wrong is one line for people.

use std::path::Path;

use super::event::Event;
use super::harness::Adapter;
use crate::custody::act::{Act, ActKind};
use crate::custody::asker::Asker;
use crate::custody::slip::{self, Happened};
use crate::custody::trail::{self, Step, Touched};
use crate::custody::{self, Ruling, Surroundings, Verdict};
use crate::sys::{disk, shown, time};
use crate::text::digest;
use crate::tree::dotdirs::{self, Dotdirs};
use crate::tree::{climb, real};

/// The largest file whose digest is recorded.
const MAX_DIGESTED: u64 = 1 << 20;

/// What is said where a step could not be recorded.
pub(super) fn not_recorded(why: &str) -> String {
    format!("loci: this step is not in the trail: {}\n", shown::text(why))
}

/// Records the step that an event is about, with the messages that it became while it ran (`held`). What the
/// gate has refused did not happen, and is there already.
pub(super) fn record(
    adapter: &Adapter,
    event: &Event,
    acts: &[Act],
    asker: &Asker,
    surroundings: &Surroundings,
    dotdirs: &Dotdirs,
    held: Vec<String>,
) -> Result<(), String> {
    let Some(session) = event.session.as_deref() else { return Err("the payload names no session".to_owned()) };
    let cwd = event.cwd.clone().unwrap_or_default();
    let ruling = custody::rule(acts, asker, surroundings);
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
        place: place(&cwd, dotdirs),
        acts: touched,
        more,
        passed: !event.failed && !refused && there && held.is_empty(),
        refused: Vec::new(),
        filed: held,
    };
    let mut trouble = None;
    if refused && !event.failed {
        let happened = Happened {
            asker,
            harness: adapter.name,
            session,
            call: event.call.as_deref(),
            sub_agent: sub_agent.as_deref(),
            tool: &event.tool,
            at,
        };
        for outcome in slip::send(&happened, &ruling, surroundings) {
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
