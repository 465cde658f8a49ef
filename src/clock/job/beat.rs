//! The heartbeat: `.loci-clock/heartbeat.md`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::civil::Time;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::parse::{MODEL_RUNS, glob, inside, loadout, zone};
use super::read::{At, Fields};
use super::{Action, Beat, HEARTBEAT, Job, LoadError, Loaded, digest, schedule_of};
use crate::clock::schedule::{self, When};
use crate::text;

const KNOWN: &[&str] = &[
    "every",
    "active",
    "tz",
    "loadout",
    "only_if",
    "target",
    "lock_fresh",
    "agent",
    "timeout",
    "kill_grace",
    "max_per_day",
    "note",
    "armed",
];

/// Reads the heartbeat out of its file; `None` where its text is empty: no beat.
///
/// # Errors
/// The first thing that is wrong, with its line and its field.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Option<Loaded>, LoadError> {
    let fields = Fields::read(path, bytes, KNOWN)?;
    let every = match fields.get("every") {
        None => return Err(fields.lacks("every", "it is missing, as in `every: 30m`")),
        Some((at, value)) => schedule::every(at.text(value)?).map_err(|error| at.schedule(&error))?,
    };
    let zone = zone(&fields)?.unwrap_or(TimeZone::UTC);
    let active = fields.read_as("active", active)?;
    let terminal = fields.read_as("target", terminal)?.flatten();
    if let (Some(_), Some((at, _))) = (&terminal, fields.get("loadout")) {
        return Err(at.error("a beat that is typed into a terminal has no end at which a set could be taken back"));
    }
    let lock_fresh = fields.read_as("lock_fresh", |at, value| at.length(value))?.unwrap_or(Duration::from_secs(120));
    let body = fields.read_as("agent", |at, value| inside(at, at.text(value)?))?.unwrap_or_else(|| PathBuf::from("."));
    let length = |name: &str, default: u64| -> Result<Duration, LoadError> {
        Ok(fields.read_as(name, |at, value| at.length(value))?.unwrap_or(Duration::from_secs(default)))
    };
    let mut notices = Vec::new();
    if fields.get("armed").is_some() {
        notices.push("heartbeat: `armed` in a file means nothing: arming is machine-local (`loci jobs arm heartbeat`)".to_owned());
    }
    let message = fields.body()?;
    let nothing = Value::Null;
    let of = |name: &str| fields.header.value(name).unwrap_or(&nothing);
    let job = Job {
        zone,
        timeout: length("timeout", 3600)?,
        kill_grace: length("kill_grace", 10)?,
        max_per_day: Some(fields.read_as("max_per_day", |at, value| at.count(value, 1, 1_000_000))?.unwrap_or(MODEL_RUNS)),
        loadout: fields.read_as("loadout", loadout)?.map(Box::new),
        only_if: fields.read_as("only_if", glob)?,
        beat: Some(Box::new(Beat { active, lock_fresh, terminal: terminal.clone() })),
        schedule: schedule_of(&[of("every")]),
        does: digest(&[of("target"), of("agent"), of("loadout"), of("only_if"), of("max_per_day"), of("every"), &Value::from(message)]),
        file: text::digest::bytes_of_parts([bytes]),
        ..Job::of_body(HEARTBEAT, When::Every(every), Action::Agent { body, message: message.into() })
    };
    if terminal.is_some() && !message.is_empty() {
        crate::clock::mirror::is_typable(message).map_err(|error| LoadError::file(path, format!("the text can't be typed: {error}")))?;
    }
    Ok((!message.is_empty()).then_some(Loaded { job, notices }))
}

fn active(at: At<'_>, value: &Value) -> Result<(Time, Time), LoadError> {
    let text = at.text(value)?;
    let time = |text: &str| -> Option<Time> {
        let (hour, minute) = text.trim().split_once(':')?;
        Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
    };
    let both = text.split_once('-').and_then(|(from, to)| Some((time(from)?, time(to)?)));
    both.ok_or_else(|| at.error(format!("`{text}` is no span like 08:00-20:00")))
}

/// Where a prompt goes: `None` is a turn of the runtime, else the terminal of that name.
pub(super) fn terminal(at: At<'_>, value: &Value) -> Result<Option<String>, LoadError> {
    match value {
        Value::String(word) if word == "runtime" => Ok(None),
        Value::Object(map) => {
            at.known(map, &["terminal"])?;
            let name = at.text(map.get("terminal").ok_or_else(|| at.error("`terminal` is missing"))?)?;
            crate::clock::mirror::is_name(name).then(|| Some(name.to_owned())).ok_or_else(|| {
                at.error(format!("`{name}` is no name of a terminal session: 1-100 characters without blanks, `:`, `.` and controls"))
            })
        }
        other => Err(at.error(format!("`{other}` is neither `runtime` nor {{terminal: NAME}}"))),
    }
}
