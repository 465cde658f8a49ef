//! Who embodies a body now, and which session it was last: kept on this machine, in the state folder.
//!
//! `bodies/KEY/run-ID.json` stands for one embodiment while it lasts; KEY names the body's real path. It is
//! believed for as long as the process that wrote it lives, or anything that carries its mark: never by
//! age. `bodies/KEY/session-RUNTIME.json` is the last session of that runtime here.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::sys::disk::{self, Kind, PathError};
use crate::sys::env;
use crate::sys::lineage::{Lineage, Member};
use crate::sys::process::Identity;
use crate::text::digest;

/// The longest record that is read.
const MAX_RECORD: u64 = 64 * 1024;
/// How many records are looked at.
const MAX_RECORDS: usize = 1024;

/// One embodiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The version of this record: 1.
    pub schema: u32,
    /// Its unique id, as in `LOCI_RUN`.
    pub run: String,
    /// The agent.
    pub agent: String,
    /// The body (real).
    #[serde(with = "crate::sys::wire::path")]
    pub body: PathBuf,
    /// The runtime.
    pub runtime: String,
    /// The process that stands by it.
    pub process: Identity,
    /// Since when (RFC 3339).
    pub since: String,
}

/// An embodiment that goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// What its record says.
    pub run: Run,
    /// Who of it lives where the process that stood by it is gone; empty while that lives.
    pub orphans: Vec<Member>,
}

/// The last session of a runtime here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// The version of this record: 1.
    pub schema: u32,
    /// The body (real).
    #[serde(with = "crate::sys::wire::path")]
    pub body: PathBuf,
    /// The session's id, as the runtime has it.
    pub session: String,
    /// The embodiment that it was.
    pub run: String,
    /// When that ended.
    pub at: String,
}

/// Where the records of a body are.
#[must_use]
pub fn folder(state: &Path, body: &Path) -> PathBuf {
    state.join("bodies").join(digest::key("body", body))
}

fn record(state: &Path, run: &Run) -> PathBuf {
    folder(state, &run.body).join(format!("run-{}.json", run.run))
}

/// Everything of a run that lives, by its mark.
fn living(run: &Run) -> Vec<Member> {
    // Nobody has the number 0: only the mark leads to it.
    let leader = Identity { pid: 0, start: u64::MAX, boot: run.process.boot.clone() };
    Lineage { leader, mark: Some((env::LOCI_RUN.to_owned(), run.run.clone().into())), descent: false }.living()
}

/// Who embodies a body now, and the records of those that are gone.
///
/// # Errors
/// Where the records can't be read.
pub fn holders(state: &Path, body: &Path) -> Result<(Vec<Holder>, Vec<PathBuf>), PathError> {
    let folder = folder(state, body);
    let (mut holders, mut stale) = (Vec::new(), Vec::new());
    if disk::look(&folder)?.is_none() {
        return Ok((holders, stale));
    }
    for entry in disk::list_at_most(&folder, MAX_RECORDS)?.unwrap_or_default() {
        let named = entry.name.to_str().is_some_and(|name| name.starts_with("run-") && name.ends_with(".json"));
        if entry.kind != Kind::File || !named {
            continue;
        }
        let path = folder.join(&entry.name);
        // One that can't be read was never begun: it is written whole before anything starts.
        let run = disk::read_bounded(&path, MAX_RECORD)?.and_then(|text| serde_json::from_slice::<Run>(&text).ok());
        let Some(run) = run.filter(|run| run.schema == 1 && run.body == body) else {
            stale.push(path);
            continue;
        };
        let stands_by = run.process.is_alive();
        let orphans = if stands_by { Vec::new() } else { living(&run) };
        if stands_by || !orphans.is_empty() {
            holders.push(Holder { run, orphans });
        } else {
            stale.push(path);
        }
    }
    Ok((holders, stale))
}

/// Writes that a body is embodied. Needs the lock of the body, so that nobody else looks in between.
///
/// # Errors
/// Where it can't be written; then nothing is.
pub fn begin(state: &Path, run: &Run, stale: &[PathBuf]) -> Result<(), PathError> {
    disk::make_dirs(&folder(state, &run.body))?;
    let text = serde_json::to_vec(run).unwrap_or_default();
    disk::write_new(&record(state, run), &text, 0o600)?;
    for path in stale {
        disk::remove_file(path)?;
    }
    disk::sweep_temps(&folder(state, &run.body))?;
    Ok(())
}

/// Takes it back.
///
/// # Errors
/// Where it can't be removed; by its identity it is no longer believed all the same.
pub fn end(state: &Path, run: &Run) -> Result<(), PathError> {
    disk::remove_file(&record(state, run))?;
    // Empty where no session is remembered.
    let _ = disk::remove_dir(&folder(state, &run.body));
    Ok(())
}

fn session_file(state: &Path, body: &Path, runtime: &str) -> PathBuf {
    folder(state, body).join(format!("session-{runtime}.json"))
}

/// The last session of a runtime in a body.
///
/// # Errors
/// Where the record can't be read.
pub fn remembered(state: &Path, body: &Path, runtime: &str) -> Result<Option<Remembered>, PathError> {
    let path = session_file(state, body, runtime);
    if disk::look(&path)?.is_none() {
        return Ok(None);
    }
    let found = disk::read_bounded(&path, MAX_RECORD)?.and_then(|text| serde_json::from_slice::<Remembered>(&text).ok());
    Ok(found.filter(|one| one.schema == 1 && one.body == body))
}

/// Remembers a session.
///
/// # Errors
/// Where it can't be written.
pub fn remember(state: &Path, runtime: &str, session: &Remembered) -> Result<(), PathError> {
    let path = session_file(state, &session.body, runtime);
    disk::make_dirs(&folder(state, &session.body))?;
    let text = serde_json::to_vec(session).unwrap_or_default();
    if disk::look(&path)?.is_some() { disk::replace(&path, &text, None) } else { disk::write_new(&path, &text, 0o600) }
}

/// An id of a session for a runtime that takes one: a random UUID (version 4) made of 20 hex digits and
/// more.
#[must_use]
pub fn session_id(random: &str) -> String {
    let hex: String = digest::sha256(random.as_bytes()).chars().take(32).collect();
    let part = |from: usize, count: usize| hex.chars().skip(from).take(count).collect::<String>();
    let variant = ["8", "9", "a", "b"].into_iter().cycle().nth(usize::from(hex.as_bytes().first().copied().unwrap_or(0))).unwrap_or("8");
    format!("{}-{}-4{}-{variant}{}-{}", part(0, 8), part(8, 4), part(13, 3), part(17, 3), part(20, 12))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_uuid_of_version_4() {
        let id = session_id("0123456789abcdef0123");
        let shape: String = id.chars().map(|c| if c.is_ascii_hexdigit() { 'x' } else { c }).collect();
        assert_eq!(shape, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");
        assert_eq!((&id[14..15], "89ab".contains(&id[19..20])), ("4", true));
        assert_ne!(id, session_id("0123456789abcdef0124"));
    }
}
