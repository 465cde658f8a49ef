//! A job out of its file.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use jiff::tz::TimeZone;
use serde_json::Value;

use super::read::{At, Fields};
use super::{Action, Job, LoadError, Loaded, Loadout, Missed, Need, Overlap, digest, is_name, names_a_runtime, schedule_of};
use crate::clock::deliverable::{self, Deliverable};
use crate::clock::schedule::{self, Cron, When};
use crate::text;

const KNOWN: &[&str] = &[
    "when",
    "run",
    "agent",
    "deliverables",
    "needs",
    "wait_for_needs",
    "timeout",
    "kill_grace",
    "settle",
    "retry",
    "overlap",
    "missed",
    "missed_window",
    "missed_max",
    "max_per_day",
    "loadout",
    "only_if",
    "notify",
    "log_max",
    "note",
    "tz",
    "armed",
];

/// How many runs a day call a model where the job does not say.
pub(in crate::clock) const MODEL_RUNS: u32 = 24;

/// Reads the job `name` out of its file.
///
/// # Errors
/// The first thing that is wrong, with its line and its field.
pub fn parse(name: &str, path: &Path, bytes: &[u8]) -> Result<Loaded, LoadError> {
    if !is_name(name) {
        return Err(LoadError::file(
            path,
            "the name of a job is 1-100 letters, digits, `-`, `_` and `.`, and starts with a letter, a digit or `_`",
        ));
    }
    if name == super::HEARTBEAT {
        return Err(LoadError::file(path, "`heartbeat` is the name of heartbeat.md; a job needs another one"));
    }
    let fields = Fields::read(path, bytes, KNOWN)?;
    let zone = zone(&fields)?;
    let (when, of_cron) = match fields.get("when") {
        None => return Err(fields.lacks("when", "it is missing: {cron: …}, {every: …} or {at: …}")),
        Some((at, value)) => when(at, value, zone.as_ref())?,
    };
    let action = action(&fields)?;
    let calls_model = match &action {
        Action::Agent { .. } | Action::Wake { .. } => true,
        Action::Run(line) => names_a_runtime(line),
    };
    let max_per_day = fields.read_as("max_per_day", |at, value| at.count(value, 1, 1_000_000))?;
    let (retry, retry_wait) = retry(&fields)?;
    let length = |name: &str, default: u64| -> Result<Duration, LoadError> {
        Ok(fields.read_as(name, |at, value| at.length(value))?.unwrap_or(Duration::from_secs(default)))
    };
    let mut notices = Vec::new();
    if fields.get("armed").is_some() {
        notices.push(format!("{name}: `armed` in a job file means nothing: arming is machine-local (`loci jobs arm {name}`)"));
    }
    let nothing = Value::Null;
    let of = |name: &str| fields.header.value(name).unwrap_or(&nothing);
    let body = Value::from(fields.body()?);
    let job = Job {
        name: name.into(),
        zone: zone.or(of_cron).unwrap_or(TimeZone::UTC),
        deliverables: fields.read_as("deliverables", deliverables)?.unwrap_or_default().into(),
        needs: fields.read_as("needs", needs)?.unwrap_or_default().into(),
        wait_for_needs: length("wait_for_needs", 0)?,
        timeout: match length("timeout", 3600)? {
            Duration::ZERO => return Err(fields.lacks("timeout", "it has to be 1s or more")),
            timeout => timeout,
        },
        kill_grace: length("kill_grace", 10)?,
        settle: length("settle", 0)?,
        retry,
        retry_wait,
        overlap: fields
            .read_as("overlap", |at, value| {
                at.one_of(value, &[("skip", Overlap::Skip), ("queue", Overlap::Queue), ("replace", Overlap::Replace)])
            })?
            .unwrap_or_default(),
        missed: fields
            .read_as("missed", |at, value| at.one_of(value, &[("once", Missed::Once), ("skip", Missed::Skip), ("all", Missed::All)]))?
            .unwrap_or_default(),
        missed_window: length("missed_window", 24 * 3600)?,
        missed_max: fields.read_as("missed_max", |at, value| at.count(value, 1, 1000))?.unwrap_or(1),
        max_per_day: max_per_day.or(calls_model.then_some(MODEL_RUNS)),
        loadout: fields.read_as("loadout", loadout)?.map(Box::new),
        only_if: fields.read_as("only_if", glob)?,
        notify: fields.read_as("notify", |at, value| at.flag(value))?.unwrap_or(true),
        log_max: fields.read_as("log_max", size)?.unwrap_or(1_000_000),
        beat: None,
        calls_model,
        schedule: schedule_of(&[of("when"), of("tz")]),
        does: digest(&[of("run"), of("agent"), of("loadout"), of("only_if"), of("max_per_day"), of("retry"), &body]),
        file: text::digest::bytes_of_parts([bytes]),
        action,
        when,
    };
    Ok(Loaded { job, notices })
}

fn action(fields: &Fields<'_>) -> Result<Action, LoadError> {
    match (fields.get("run"), fields.get("agent")) {
        (Some((at, _)), Some(_)) => Err(at.error("`run` and `agent` exclude each other")),
        (None, None) => Err(fields.lacks("run", "it is missing: `run` (a command) or `agent` (a body)")),
        (Some((at, value)), None) => {
            let line = at.text(value)?;
            if line.trim().is_empty() || line.contains('\0') {
                return Err(at.error("it is no command"));
            }
            Ok(Action::Run(line.into()))
        }
        (None, Some((at, value))) => {
            let message = fields.body()?;
            if message.is_empty() {
                return Err(at.error("the message is missing: the text below the front matter"));
            }
            Ok(Action::Agent { body: inside(at, at.text(value)?)?, message: message.into() })
        }
    }
}

/// A relative path that stays below the directory of the job, as far as its words say.
pub(super) fn inside(at: At<'_>, text: &str) -> Result<PathBuf, LoadError> {
    let path = Path::new(text);
    let plain = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if text.is_empty() || text.contains('\0') || !plain {
        return Err(at.error(format!("`{text}` has to be a path below the directory of the job")));
    }
    Ok(path.to_owned())
}

pub(super) fn zone(fields: &Fields<'_>) -> Result<Option<TimeZone>, LoadError> {
    fields.read_as("tz", |at, value| schedule::zone(at.text(value)?).map_err(|error| at.schedule(&error)))
}

fn when(at: At<'_>, value: &Value, zone: Option<&TimeZone>) -> Result<(When, Option<TimeZone>), LoadError> {
    let Some(map) = value.as_object() else {
        return Err(at.error("it has to be {cron: …}, {every: …} or {at: …}"));
    };
    at.known(map, &["cron", "tz", "every", "at"])?;
    let text = |key: &str| map.get(key).map(|value| at.text(value)).transpose();
    let own = text("tz")?.map(|name| schedule::zone(name).map_err(|error| at.schedule(&error))).transpose()?;
    let tell = |error: schedule::ScheduleError| at.schedule(&error);
    match (text("cron")?, text("every")?, text("at")?) {
        (Some(cron), None, None) => {
            let cron = Cron::parse(cron).map_err(tell)?;
            let zone = own.or_else(|| zone.cloned()).unwrap_or(TimeZone::UTC);
            Ok((When::Cron { cron, zone: zone.clone() }, Some(zone)))
        }
        (None, Some(every), None) => Ok((When::Every(schedule::every(every).map_err(tell)?), own)),
        (None, None, Some(instant)) => Ok((When::At(schedule::at(instant).map_err(tell)?), own)),
        _ => Err(at.error("it has to hold exactly one of cron, every and at")),
    }
}

fn needs(at: At<'_>, value: &Value) -> Result<Vec<Need>, LoadError> {
    let items = value.as_array().ok_or_else(|| at.error("it has to be a list"))?;
    let one = |item: &Value| match item {
        Value::String(job) => Ok(Need { job: job.as_str().into(), within: None }),
        Value::Object(map) => {
            at.known(map, &["job", "within"])?;
            let job = map.get("job").ok_or_else(|| at.error("`job` is missing"))?;
            Ok(Need { job: at.text(job)?.into(), within: map.get("within").map(|value| at.length(value)).transpose()? })
        }
        other => Err(at.error(format!("`{other}` is neither a name nor {{job, within}}"))),
    };
    items.iter().map(one).collect()
}

fn retry(fields: &Fields<'_>) -> Result<(u32, Box<[Duration]>), LoadError> {
    let Some((at, value)) = fields.get("retry") else { return Ok((0, Box::default())) };
    let map = value.as_object().ok_or_else(|| at.error("it has to be {max: …, wait: […]}"))?;
    at.known(map, &["max", "wait"])?;
    let max = map.get("max").map(|value| at.count(value, 0, 1000)).transpose()?.unwrap_or(0);
    let wait = match map.get("wait") {
        None => vec![Duration::from_secs(30)],
        Some(Value::Array(items)) => items.iter().map(|item| at.length(item)).collect::<Result<_, _>>()?,
        Some(item) => vec![at.length(item)?],
    };
    if wait.is_empty() {
        return Err(at.error("`wait` is empty"));
    }
    Ok((max, wait.into()))
}

pub(super) fn loadout(at: At<'_>, value: &Value) -> Result<Loadout, LoadError> {
    match value {
        Value::String(name) => {
            text::name::slot(name).map_err(|error| at.error(error.to_string()))?;
            Ok(Loadout::Named(name.clone()))
        }
        Value::Object(_) => {
            let text = value.to_string();
            crate::loadout::set::Set::parse(&text, true).map_err(|(_, why)| at.error(why))?;
            Ok(Loadout::Inline(text))
        }
        other => Err(at.error(format!("`{other}` is neither the name of a set nor one"))),
    }
}

pub(super) fn glob(at: At<'_>, value: &Value) -> Result<Box<str>, LoadError> {
    let text = at.text(value)?;
    inside(at, text)?;
    deliverable::pattern(text).map_err(|why| at.error(why))?;
    Ok(text.into())
}

fn size(at: At<'_>, value: &Value) -> Result<u64, LoadError> {
    let odd = || at.error(format!("`{value}` is no size like 500KB or 1MB"));
    let text = match value {
        Value::Number(number) => return number.as_u64().ok_or_else(odd),
        other => other.as_str().ok_or_else(odd)?,
    };
    let (digits, unit) = [("KB", 1_000), ("MB", 1_000_000), ("B", 1)]
        .into_iter()
        .find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?.trim_end(), unit)))
        .ok_or_else(odd)?;
    digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)).filter(|size| *size <= 1 << 30).ok_or_else(odd)
}

pub(super) fn deliverables(at: At<'_>, value: &Value) -> Result<Vec<Deliverable>, LoadError> {
    match value {
        Value::Array(items) => items.iter().map(|item| deliverable(at, item)).collect(),
        other => Ok(vec![deliverable(at, other)?]),
    }
}

fn deliverable(at: At<'_>, value: &Value) -> Result<Deliverable, LoadError> {
    let mut one = Deliverable::default();
    let path = match value {
        Value::String(path) => path,
        Value::Object(map) => {
            at.known(map, &["path", "count", "min_bytes", "json", "match", "changed"])?;
            let path = map.get("path").ok_or_else(|| at.error("`path` is missing"))?;
            one.count = map.get("count").map(|value| deliverable::count(value).map_err(|why| at.error(why))).transpose()?;
            one.min_bytes = match map.get("min_bytes") {
                None => 1,
                Some(value) => value.as_u64().ok_or_else(|| at.error(format!("min_bytes: `{value}` is no whole number")))?,
            };
            one.json = map.get("json").is_some_and(|value| *value == Value::Bool(true));
            one.changed = map.get("changed").is_some_and(|value| *value == Value::Bool(true));
            for flag in ["json", "changed"] {
                if let Some(value) = map.get(flag).filter(|value| !value.is_boolean()) {
                    return Err(at.error(format!("{flag}: `{value}` is neither true nor false")));
                }
            }
            if let Some(value) = map.get("match") {
                let text = at.text(value)?;
                deliverable::regex(text).map_err(|why| at.error(format!("match: {why}")))?;
                one.matches = Some(text.into());
            }
            at.text(path)?
        }
        other => return Err(at.error(format!("`{other}` is neither a path nor {{path, …}}"))),
    };
    inside(at, path)?;
    one.path = path.trim_start_matches("./").into();
    if one.is_glob() {
        deliverable::pattern(path).map_err(|why| at.error(why))?;
    } else if one.count.is_some() {
        return Err(at.error(format!("count: `{path}` is one file; a count needs a pattern like out/*.png")));
    }
    Ok(one)
}
