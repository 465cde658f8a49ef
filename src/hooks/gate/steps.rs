//! What the trail is told of a call that was refused. The refusal stands without it.

use std::path::PathBuf;

use crate::custody::Surroundings;
use crate::custody::act::{Act, ActKind};
use crate::custody::delegation::{Attempt, Delivery};
use crate::custody::trail::{self, Grounds, Step};
use crate::hooks::answer::Answer;
use crate::hooks::dispatch::Turn;
use crate::hooks::event::Event;
use crate::hooks::harness::Adapter;
use crate::sys::time;

/// The most characters of a hook's reason that the trail keeps.
const MAX_REASON: usize = 500;

/// Puts a call that a hook has blocked into the trail.
pub(super) fn remember_hook(adapter: &Adapter, turn: &Turn, answer: &Answer) {
    let Some(session) = turn.event.session.as_deref() else { return };
    let act = |(kind, path): &(ActKind, PathBuf)| Act { kind: *kind, path: path.clone(), follow: false, below: false };
    let (touched, more) = trail::touched(&turn.acts.iter().map(act).collect::<Vec<_>>(), None);
    let path = turn.acts.first().map_or_else(String::new, |(_, path)| path.to_string_lossy().into_owned());
    let reason: String = answer.block.as_deref().unwrap_or_default().trim().chars().take(MAX_REASON).collect();
    let by = answer.by.as_deref().map(|path| path.to_string_lossy().into_owned());
    let grounds = Grounds { path, owner: "a hook".to_owned(), why: format!("hook: {reason}"), decided_by: by, line: None };
    let step = Step {
        at: time::to_second(time::now()),
        agent: turn.asker.name().to_owned(),
        sub_agent: turn.event.sub_agent(),
        harness: adapter.name.to_owned(),
        tool: turn.event.tool.clone(),
        call: turn.event.call.clone(),
        place: None,
        acts: touched,
        more,
        passed: false,
        refused: vec![grounds],
        filed: Vec::new(),
    };
    let _ = trail::append(&turn.state, session, &step);
}

/// Puts a refused call into the trail. The refusal stands without it.
pub(super) fn remember(attempt: &Attempt<'_>, event: &Event, acts: &[Act], deliveries: &[Delivery], surroundings: &Surroundings) {
    let Some(session) = attempt.session else { return };
    let (touched, more) = trail::touched(acts, None);
    let step = Step {
        at: time::to_second(attempt.at),
        agent: attempt.asker.name().to_owned(),
        sub_agent: attempt.sub_agent.map(str::to_owned),
        harness: attempt.harness.to_owned(),
        tool: attempt.tool.to_owned(),
        call: event.call.clone(),
        place: None,
        acts: touched,
        more,
        passed: false,
        refused: Grounds::of(attempt.ruling),
        filed: trail::filed(deliveries),
    };
    let _ = trail::append(&surroundings.state, session, &step);
}
