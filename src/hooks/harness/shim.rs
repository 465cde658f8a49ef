//! Harnesses that run extensions inside themselves: a small shim of ours hands each event to loci and
//! does what the answer says. It has a part of its own and one that is the same for all of them.

use serde_json::{Map, Value};

use super::super::event::Seam;
use super::{Answer, Call, Point, Reply, spoken};

/// The shim with what it calls written into its first lines; `part` is what is the harness's own.
pub(super) fn text(call: &Call, part: &str) -> String {
    let program = match &call.program {
        None => "join(process.env.LOCI_HOME || homedir(), \".loci\", \"bin\", \"loci\")".to_owned(),
        Some(path) => Value::from(path.as_str()).to_string(),
    };
    let seams: Vec<&str> = Seam::ALL.into_iter().filter(|seam| call.at(*seam)).map(Seam::word).collect();
    let common = include_str!("shim.js")
        .replace("__NAME__", call.harness)
        .replace("__PROGRAM__", &program)
        .replace("__GUARDED__", if call.program.is_none() { "true" } else { "false" })
        .replace("__SEAMS__", &Value::from(seams).to_string())
        .replace("__PATIENCE__", if call.observe { "900" } else { "30000" })
        .replace("__SPEAKS__", if call.observe { "false" } else { "true" });
    common + part
}

/// What a shim reads: a block as everywhere. Else standard output is empty or one object: `context` to be
/// shown to the model, `input` to call the tool with, `data`; lines for the user are on standard error.
pub(super) fn answer(point: &Point, answer: &Answer) -> Reply {
    if answer.block.is_some() {
        return spoken(point, answer);
    }
    let mut object = Map::new();
    if !answer.context.is_empty() {
        object.insert("context".to_owned(), answer.context.as_str().into());
    }
    if let Some(input) = &answer.input {
        object.insert("input".to_owned(), input.clone());
    }
    if !answer.data.is_empty() {
        object.insert("data".to_owned(), answer.data.clone().into());
    }
    let stdout = if object.is_empty() { String::new() } else { format!("{}\n", Value::Object(object)) };
    Reply { stdout, stderr: answer.said().map(|said| format!("{said}\n")).unwrap_or_default(), code: 0 }
}
