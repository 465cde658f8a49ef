//! The seam that no harness has: the clock asks at a block report.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Turn;
use crate::hooks::answer::Answer;
use crate::hooks::event::{Event, Seam};
use crate::hooks::state::Memory;
use crate::sys::env::Env;

/// Runs the hooks of `on-block-report`: the clock calls it with the report and the rendered text, before
/// anything is cleaned up. What is to be said about it, for people; nothing is held up.
#[must_use]
pub fn block_report(env: &Env, root: &Path, report: Map<String, Value>, text: &str) -> Vec<String> {
    let Some(state) = env.state() else { return Vec::new() };
    let settings = env.home().and_then(|home| crate::tree::settings::load(&home).ok()).unwrap_or_default();
    let mut rest = Map::new();
    rest.insert("report".to_owned(), Value::Object(report));
    rest.insert("text".to_owned(), json!(text));
    let event = Event {
        seam: Seam::OnBlockReport,
        native: "block-report".to_owned(),
        session: None,
        cwd: Some(root.to_owned()),
        agent_id: None,
        agent_type: None,
        tool: String::new(),
        input: Value::Null,
        call: None,
        response: None,
        failed: false,
        lines: None,
        prompt: None,
        rest,
    };
    let memory = Memory { launch: Some(root.to_owned()), ..Memory::default() };
    let asker = crate::custody::asker::from_launch(root).0;
    let mut turn = Turn {
        harness: "loci",
        point: None,
        event,
        asker,
        acts: Vec::new(),
        state,
        home: env.home(),
        dotdirs: settings.dotdirs,
        memory,
        // No harness waits.
        left: Duration::MAX,
    };
    let (mut answer, mut pieces) = (Answer::default(), Vec::new());
    turn.scripts(Seam::OnBlockReport, &mut answer, &mut pieces);
    answer.notes.extend(pieces.into_iter().map(|piece| piece.text));
    answer.notes
}
