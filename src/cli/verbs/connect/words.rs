//! What a change of settings looks like.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::cli::context::Context;
use crate::custody::diff;
use crate::hooks::connect::{Change, Edit};
use crate::hooks::harness::Adapter;
use crate::sys::plan::Step;
use crate::sys::shown;

/// What is being done, in words.
pub(super) struct Doing<'a> {
    pub(super) verb: &'a str,
    pub(super) done: &'a str,
    pub(super) command: &'a str,
    pub(super) dry_run: bool,
    pub(super) needs: Vec<String>,
}

pub(super) fn steps(context: &Context, change: &Change) -> String {
    change.plan.steps.iter().fold(String::new(), |mut text, step| {
        let _ = match step {
            Step::Link { path, target } => writeln!(text, "link {} to {}", context.shown(path), context.shown(target)),
            step => writeln!(text, "{} {}", step.verb(), context.shown(step.path())),
        };
        text
    })
}

/// The change as a unified diff; characters that would act on a terminal are shown instead.
pub(super) fn diff(change: &Change, shown: impl Fn(&Path) -> String) -> String {
    change.edits.iter().map(|edit| diff_of(edit, &shown(&edit.file))).collect()
}

fn diff_of(edit: &Edit, file: &str) -> String {
    let text = |data: &Option<Vec<u8>>| String::from_utf8_lossy(data.as_deref().unwrap_or_default()).into_owned();
    let (before, after) = (text(&edit.before), text(&edit.after));
    if before == after {
        return String::new();
    }
    diff::unified(&before, &after, (file, file), 2).lines().fold(String::new(), |mut text, line| {
        let tabs = line.split('\t').map(|part| shown::text(part).to_string()).collect::<Vec<_>>().join("\t");
        text.push_str(&tabs);
        text.push('\n');
        text
    })
}

pub(super) fn object(adapter: &Adapter, change: &Change, doing: &Doing<'_>, done: bool) -> Value {
    let steps: Vec<Value> =
        change.plan.steps.iter().map(|step| json!({ "do": step.verb(), "path": step.path().to_string_lossy() })).collect();
    let file = change.file.to_string_lossy();
    json!({
        "schema": 1, "verb": doing.verb, "done": done, "harness": adapter.name, "file": file, "plan": steps,
        "diff": diff(change, |path| path.to_string_lossy().into_owned()), "needs": doing.needs,
    })
}
