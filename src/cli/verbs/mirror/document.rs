//! What is said of a mirror as JSON: the same on a command line and over HTTP.

use std::path::Path;

use serde_json::{Value, json};

use crate::clock::mirror::{Attached, MirrorError};
use crate::loadout::Item;

/// Why it is not there, without what was to be done.
pub(super) fn why(error: &MirrorError) -> String {
    let why = error.to_string();
    why.split_once(": ").map_or(why.as_str(), |(_, why)| why).to_owned()
}

/// It is not there.
pub(super) fn not_there(name: &str, why: &str) -> Value {
    json!({ "schema": 1, "name": name, "attached": false, "why": why })
}

/// What a name is bound to.
pub(super) fn attached(found: &Attached, is: bool) -> Value {
    json!({
        "schema": 1, "name": found.name, "attached": is, "pane": found.pane, "program": found.program,
        "socket": found.socket.to_string_lossy(),
    })
}

/// What stands on the screen.
pub(super) fn screen(name: &str, screen: &str) -> Value {
    json!({ "schema": 1, "name": name, "attached": true, "screen": screen })
}

/// What was typed, and what stood there afterwards.
pub(super) fn typed(name: &str, done: bool, bytes: usize, seen: Option<&(String, bool)>) -> Value {
    json!({
        "schema": 1, "name": name, "done": done, "bytes": bytes, "screen": seen.map(|(screen, _)| screen),
        "still": seen.map(|(_, still)| still),
    })
}

/// Screen and loadout.
pub(super) fn state(attached: &Attached, dir: &Path, screen: &str, items: &[Item]) -> Value {
    let object =
        |item: &Item| json!({ "section": item.section, "item": item.name.to_string_lossy(), "dotdir": item.dotdir, "state": item.state() });
    json!({
        "schema": 1, "name": attached.name, "attached": true, "program": attached.program, "cwd": dir.to_string_lossy(), "screen": screen,
        "loadout": items.iter().map(object).collect::<Vec<Value>>(),
    })
}
