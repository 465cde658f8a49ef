//! What a person allowed: an append-only log in the state folder, and its fold.
//!
//! One line a grant, one line where it is taken back. A permit says "yes" to an agent for some paths and
//! some time; it opens what is an agent's, never the wall.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::asker::Asker;
use crate::sys::disk::{self, PathError};
use crate::sys::time::{self, Timestamp};
use crate::text::digest;
use crate::text::name::AgentId;

/// The most of the log that is read: its end. A permit lasts at most [`MAX_SECONDS`], so what is older
/// than that many lines is over.
const MAX_LOG: u64 = 4 << 20;

/// The longest a permit lasts.
pub const MAX_SECONDS: i64 = 7 * 24 * 3600;

/// The most paths that one permit names.
pub const MAX_PATHS: usize = 256;

/// Leave to write, for a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permit {
    /// Its id in the log.
    pub id: String,
    /// Who may; `None`: everybody.
    pub agent: Option<AgentId>,
    /// Where (real paths), with all below; empty: everywhere.
    pub paths: Vec<PathBuf>,
    /// Until when, exclusive.
    pub until: Timestamp,
}

impl Permit {
    /// Whether it lets this asker write there now.
    #[must_use]
    pub fn covers(&self, asker: &Asker, real: &Path, now: Timestamp) -> bool {
        now < self.until
            && (self.agent.is_none() || self.agent == asker.agent)
            && (self.paths.is_empty() || self.paths.iter().any(|path| real.starts_with(path)))
    }
}

/// A grant that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Its id.
    pub id: String,
    /// What kind: `permit`, or one that another verb writes.
    pub kind: String,
    /// When it was given.
    pub at: String,
    /// What it allows, where it is a permit.
    pub permit: Option<Permit>,
    /// The line.
    pub record: Value,
}

/// The log, folded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// What was given and not taken back, oldest first; permits that are over included.
    pub all: Vec<Grant>,
    /// How many lines can't be read: they grant nothing.
    pub skipped: usize,
}

/// Where the log is.
#[must_use]
pub fn file(state: &Path) -> PathBuf {
    state.join("grants.jsonl")
}

/// Reads the log; one look where there is none.
///
/// # Errors
/// Where it is there and can't be read.
pub fn read(state: &Path) -> Result<Grants, PathError> {
    let path = file(state);
    if disk::look(&path)?.is_none() {
        return Ok(Grants::default());
    }
    let (data, more) = disk::read_end(&path, MAX_LOG)?;
    // Where the start is left out, the first line is half a line.
    let start = if more { data.iter().position(|byte| *byte == b'\n').map_or(data.len(), |at| at + 1) } else { 0 };
    Ok(fold(data.get(start..).unwrap_or_default()))
}

/// Whether a person armed the clock to wake an agent's body for mail.
#[must_use]
pub fn wakes(state: &Path, agent: &str, body: &Path) -> bool {
    let is = |grant: &Grant| {
        let text = |key: &str| grant.record.get(key).and_then(Value::as_str);
        grant.kind == "arm"
            && text("job").and_then(|job| job.strip_prefix("wake:")) == Some(agent)
            && text("root").zip(text("body")).is_some_and(|(root, rel)| Path::new(root).join(rel) == body)
    };
    read(state).is_ok_and(|grants| grants.all.iter().any(is))
}

/// Folds the log.
#[must_use]
pub fn fold(data: &[u8]) -> Grants {
    let mut grants = Grants::default();
    for line in data.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let Some(record) = serde_json::from_slice::<Value>(line).ok().filter(Value::is_object) else {
            grants.skipped += 1;
            continue;
        };
        let text = |key: &str| record.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        match text("event").as_str() {
            "granted" => match granted(&record, text("id"), text("kind"), text("at")) {
                Some(grant) => grants.all.push(grant),
                None => grants.skipped += 1,
            },
            "revoked" => grants.all.retain(|grant| grant.id != text("id")),
            // Of a newer version: it grants nothing here.
            _ => {}
        }
    }
    grants
}

fn granted(record: &Value, id: String, kind: String, at: String) -> Option<Grant> {
    if id.is_empty() || kind.is_empty() {
        return None;
    }
    let permit = if kind == "permit" { Some(permit(record, &id)?) } else { None };
    Some(Grant { id, kind, at, permit, record: record.clone() })
}

/// Strict: what is not exactly a permit is none. Leaving a key out must not mean "everybody".
fn permit(record: &Value, id: &str) -> Option<Permit> {
    let agent = match record.get("agent")? {
        Value::Null => None,
        agent => Some(AgentId::new(agent.as_str()?).ok()?),
    };
    let paths = match record.get("paths")? {
        Value::Null if agent.is_none() => Vec::new(),
        Value::Array(paths) if !paths.is_empty() => {
            let path = |path: &Value| path.as_str().map(PathBuf::from).filter(|path| path.is_absolute());
            paths.iter().map(path).collect::<Option<Vec<PathBuf>>>()?
        }
        _ => return None,
    };
    let until = record.get("until")?.as_str()?.parse().ok()?;
    Some(Permit { id: id.to_owned(), agent, paths, until })
}

/// The line of a permit, and its id. `None` where a path is not UTF-8.
#[must_use]
pub fn permit_line(agent: Option<&AgentId>, paths: &[PathBuf], until: Timestamp, at: Timestamp, salt: &str) -> Option<(String, Value)> {
    let texts: Option<Vec<&str>> = paths.iter().map(|path| path.to_str()).collect();
    let texts = texts?;
    let paths = if texts.is_empty() { Value::Null } else { json!(texts) };
    let (at, until) = (time::to_second(at), time::to_second(until));
    let parts = [b"grant".as_slice(), at.as_bytes(), salt.as_bytes()];
    let id: String = digest::sha256_of_parts(parts.iter().copied()).chars().take(12).collect();
    let record = json!({
        "schema": 1, "at": at, "event": "granted", "id": id, "kind": "permit", "agent": agent, "paths": paths, "until": until,
    });
    Some((id, record))
}

/// The line that takes a grant back.
#[must_use]
pub fn revoke_line(id: &str, at: Timestamp) -> Value {
    json!({ "schema": 1, "at": time::to_second(at), "event": "revoked", "id": id })
}

/// Appends lines to the log, in one write.
///
/// # Errors
/// Where it can't be written.
pub fn append(state: &Path, lines: &[Value]) -> Result<(), PathError> {
    disk::make_dirs(state)?;
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    disk::append(&file(state), text.as_bytes())
}

impl Grants {
    /// What stands at a time.
    pub fn standing(&self, now: Timestamp) -> impl Iterator<Item = &Grant> {
        self.all.iter().filter(move |grant| grant.permit.as_ref().is_none_or(|permit| now < permit.until))
    }
}

/// Seconds of `90s`, `30m`, `2h`, `1d`.
///
/// # Errors
/// What is wrong with it.
pub fn seconds(text: &str) -> Result<i64, String> {
    if text.starts_with('-') {
        return Err("it can't be negative: it has to be from 1s to 7d, as 30m".to_owned());
    }
    let at = text.len().saturating_sub(1);
    let unit = match text.get(at..) {
        Some("s") => 1,
        Some("m") => 60,
        Some("h") => 3600,
        Some("d") => 24 * 3600,
        _ => return Err("it has to be a number and s, m, h or d, as in 30m".to_owned()),
    };
    let number =
        text.get(..at).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit())).and_then(|digits| digits.parse::<i64>().ok());
    let seconds = number.and_then(|number| number.checked_mul(unit)).ok_or("it has to be a number and s, m, h or d, as in 30m")?;
    if (1..=MAX_SECONDS).contains(&seconds) { Ok(seconds) } else { Err("it has to be from 1s to 7d".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn alice() -> Asker {
        Asker { agent: Some(AgentId::new("alice").unwrap()), body: None }
    }

    fn line(agent: Option<&str>, paths: &[&str], salt: &str) -> (String, String) {
        let agent = agent.map(|id| AgentId::new(id).unwrap());
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        let (id, line) = permit_line(agent.as_ref(), &paths, at("2026-11-30T11:00:00Z"), at("2026-11-30T10:00:00Z"), salt).unwrap();
        (id, format!("{line}\n"))
    }

    #[test]
    fn a_permit_holds_for_one_agent_some_paths_and_some_time() {
        let (_, text) = line(Some("alice"), &["/r/bob", "/r/x.txt"], "");
        let grants = fold(text.as_bytes());
        let permit = grants.all[0].permit.clone().unwrap();
        let before = at("2026-11-30T10:59:59Z");
        for (path, wanted) in [("/r/bob/a", true), ("/r/bob", true), ("/r/x.txt", true), ("/r/bobby/a", false), ("/r", false)] {
            assert_eq!(permit.covers(&alice(), Path::new(path), before), wanted, "{path}");
        }
        assert!(!permit.covers(&alice(), Path::new("/r/bob/a"), at("2026-11-30T11:00:00Z")), "it is over");
        assert!(!permit.covers(&Asker::default(), Path::new("/r/bob/a"), before));
        assert_eq!((grants.standing(before).count(), grants.standing(at("2026-11-30T11:00:00Z")).count()), (1, 0));
        let all = fold(line(None, &[], "").1.as_bytes()).all[0].permit.clone().unwrap();
        assert!(all.covers(&Asker::default(), Path::new("/anywhere"), before));
    }

    #[test]
    fn what_is_torn_or_no_permit_grants_nothing() {
        let (id, one) = line(Some("alice"), &["/r"], "1");
        let (_, two) = line(Some("alice"), &["/s"], "2");
        let revoked = revoke_line(&id, at("2026-11-30T10:01:00Z"));
        let torn = &two[..two.len() / 2];
        let grants = fold(format!("{one}{two}{revoked}\n{torn}").as_bytes());
        assert_eq!((grants.all.len(), grants.skipped), (1, 1));
        assert_eq!(grants.all[0].permit.as_ref().unwrap().paths, [Path::new("/s")]);
        for (from, to) in [
            ("\"agent\":\"alice\",", ""),
            ("[\"/r\"]", "null"),
            ("[\"/r\"]", "[]"),
            ("[\"/r\"]", "[\"r\"]"),
            ("\"alice\"", "7"),
            ("2026-11-30T11:00:00Z", "whenever"),
        ] {
            let odd = one.replace(from, to);
            assert_ne!(odd, one);
            let grants = fold(odd.as_bytes());
            assert_eq!((grants.all.len(), grants.skipped), (0, 1), "{odd}");
        }
        let other = json!({ "event": "granted", "id": "x", "kind": "trust", "at": "t" });
        assert_eq!(fold(other.to_string().as_bytes()).all[0].permit, None);
    }

    #[test]
    fn a_time_is_a_number_and_a_unit() {
        assert_eq!([seconds("90s"), seconds("30m"), seconds("2h"), seconds("7d")], [Ok(90), Ok(1800), Ok(7200), Ok(MAX_SECONDS)]);
        for odd in ["", "m", "30", "0m", "-1m", "8d", "1.5h", "30 m", "999999999999999999d", "3é", "+3m"] {
            assert!(seconds(odd).is_err(), "{odd}");
        }
    }
}
