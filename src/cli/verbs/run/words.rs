//! What `loci run` says: what would be started, and what came of it.

use std::path::Path;

use serde_json::{Value, json};

use super::{Start, variables};
use crate::body::embody::{Holder, Run};
use crate::cli::near::word;
use crate::sys::hosted::Over;
use crate::sys::shown;

/// What came of it.
pub(super) fn object(start: &Start, over: &Over, record: &Run, ended: &str, session: Option<&str>, reply: String) -> Value {
    json!({
        "schema": 1, "agent": start.card.id.value, "body": start.dir.to_string_lossy(), "runtime": start.socket.name, "run": start.run,
        "exit": over.code, "reply": reply, "cut": over.cut, "started": record.since, "ended": ended, "session": session,
        "left": over.behind.left.iter().map(|one| json!({ "pid": one.identity.pid, "name": one.name })).collect::<Vec<_>>(),
    })
}

/// What would be started, for people.
pub(super) fn plan(start: &Start) -> String {
    let mut text = format!("in     {}\n", shown::path(&start.dir));
    for (name, value) in variables(start) {
        text.push_str(&format!("set    {name}={}\n", shown::path(Path::new(&value))));
    }
    let words = std::iter::once(word(&start.program)).chain(start.call.args.iter().map(|one| word(Path::new(one))));
    text.push_str(&format!("run    {}\n", words.collect::<Vec<_>>().join(" ")));
    if let Some(capture) = start.jail {
        text.push_str(if capture { "held   by the kernel, with layers\n" } else { "held   by the kernel\n" });
    }
    if start.call.message_on_stdin {
        text.push_str("stdin  the message\n");
    }
    text
}

/// The same as an object.
pub(super) fn plan_object(start: &Start, holders: &[Holder], warning: Option<&str>) -> Value {
    let vars: serde_json::Map<String, Value> =
        variables(start).into_iter().map(|(name, value)| (name.to_owned(), json!(value.to_string_lossy()))).collect();
    json!({
        "schema": 1, "dry_run": true, "agent": start.card.id.value, "body": start.dir.to_string_lossy(), "runtime": start.socket.name,
        "socket": start.socket.file.as_deref().map(Path::to_string_lossy), "program": start.program.to_string_lossy(),
        "args": start.call.args.iter().map(|one| one.to_string_lossy()).collect::<Vec<_>>(), "message_on_stdin": start.call.message_on_stdin,
        "interactive": start.message.is_none(), "jail": start.jail.is_some(), "capture": start.jail == Some(true), "env": vars, "session": start.session, "warning": warning,
        "embodied": holders.iter().map(|one| json!({
            "run": one.run.run, "runtime": one.run.runtime, "pid": one.run.process.pid, "since": one.run.since,
        })).collect::<Vec<_>>(),
    })
}
