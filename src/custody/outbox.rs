//! Mail that can't be delivered from where it is written: in a jail the inboxes of others are read-only.
//! It waits in the sender's outbox until somebody outside drains it.
//!
//! What waits is the attempt, not the message: whoever drains takes the sender from where the outbox
//! stands, judges again, and writes the message anew. So nothing that was put there by hand says more
//! than its own sender could have said.

mod answers;

use std::path::{Path, PathBuf};

pub use answers::park as park_answer;
use serde::{Deserialize, Serialize};

use super::act::{Act, ActKind};
use super::asker::Asker;
use super::delegation::{Attempt, Change, Delivery, Read, deliver_now};
use super::maildir::{MailError, its_own, of_memory};
use super::ruling::Surroundings;
use crate::sys::disk::{self, Kind, PathError};
use crate::sys::time::Timestamp;
use crate::text::digest;

/// How many attempts wait at most; further ones are refused.
const MAX_WAITING: usize = 256;
/// The largest one, in bytes.
const MAX_BYTES: u64 = 24 << 20;

/// An attempt as it waits.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parked {
    schema: u32,
    at: String,
    harness: String,
    session: Option<String>,
    sub_agent: Option<String>,
    tool: String,
    #[serde(default)]
    hops: usize,
    idea: Option<String>,
    acts: Vec<ParkedAct>,
    reads: Vec<ParkedRead>,
    change: Change,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ParkedAct {
    act: ActKind,
    #[serde(with = "crate::sys::wire::path")]
    path: PathBuf,
    follow: bool,
    below: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ParkedRead {
    #[serde(with = "crate::sys::wire::path")]
    path: PathBuf,
    lines: Option<(u64, u64)>,
}

/// Where the mail of a sender waits: in its body, else in the state folder.
#[must_use]
pub fn dir(asker: &Asker, state: &Path) -> PathBuf {
    asker.body.as_deref().map_or_else(|| state.join("outbox"), |body| body.join(".loci/memory/outbox"))
}

/// Whether an inbox could not be written because it is read-only from here.
#[must_use]
pub fn is_shut(error: &MailError) -> bool {
    matches!(error, MailError::Disk(error) if error.source.kind() == std::io::ErrorKind::ReadOnlyFilesystem)
}

/// The outbox of a sender, made ready for one more.
fn room(asker: &Asker, state: &Path) -> Result<PathBuf, PathError> {
    let dir = match &asker.body {
        Some(body) => of_memory(body, "outbox")?,
        None => dir(asker, state),
    };
    disk::make_dirs(&dir)?;
    if disk::list_at_most(&dir, MAX_WAITING)?.is_none() {
        return Err(PathError::new("park another message in", &dir, std::io::ErrorKind::QuotaExceeded.into()));
    }
    Ok(dir)
}

/// Parks an attempt, or the part of it that is about these acts; the directory it waits in.
///
/// # Errors
/// Where it can't be written, or too much waits already.
pub(super) fn park(attempt: &Attempt<'_>, idea: Option<&str>, acts: &[Act], surroundings: &Surroundings) -> Result<PathBuf, PathError> {
    let dir = room(attempt.asker, &surroundings.state)?;
    let parked = Parked {
        schema: 1,
        at: attempt.at.to_string(),
        harness: attempt.harness.to_owned(),
        session: attempt.session.map(str::to_owned),
        sub_agent: attempt.sub_agent.map(str::to_owned),
        tool: attempt.tool.to_owned(),
        hops: surroundings.hops,
        idea: idea.map(str::to_owned),
        acts: acts.iter().map(|act| ParkedAct { act: act.kind, path: act.path.clone(), follow: act.follow, below: act.below }).collect(),
        reads: attempt.reads.iter().map(|read| ParkedRead { path: read.path.clone(), lines: read.lines }).collect(),
        change: attempt.change.clone(),
    };
    let text = serde_json::to_vec(&parked).map_err(|error| PathError::new("park a message in", &dir, error.into()))?;
    // The same attempt waits once: without the time in the name.
    let same = serde_json::to_vec(&Parked { at: String::new(), ..parked }).unwrap_or_default();
    let name: String = digest::sha256(&same).chars().take(16).collect();
    let path = dir.join(format!("{name}.json"));
    match disk::look(&path)? {
        Some(_) => Ok(dir),
        None => disk::write_new(&path, &text, 0o600).map(|()| dir),
    }
}

/// What became of a message that waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Drained {
    /// It was delivered.
    Delivered(Box<Delivery>),
    /// An answer is in the inbox of whoever waited for it.
    Answered {
        /// Its id.
        id: String,
        /// Who waited.
        to: String,
    },
    /// It is not the sender's to hand over any more, or can't be read; it was removed.
    Dropped(&'static str),
    /// It could not be delivered, and waits on.
    Waits(String),
}

/// Delivers what waits for a sender.
#[must_use]
pub fn drain(asker: &Asker, surroundings: &Surroundings) -> Vec<Drained> {
    let dir = dir(asker, &surroundings.state);
    if let Some(Err(error)) = asker.body.as_deref().map(|body| its_own(body, "outbox")) {
        return vec![Drained::Waits(format!("failed to {error}: {}", error.source))];
    }
    let Ok(Some(entries)) = disk::list_at_most(&dir, MAX_WAITING * 2) else { return Vec::new() };
    let mut done = Vec::new();
    for entry in entries {
        let is = |suffix| entry.name.to_str().and_then(|name| name.strip_suffix(suffix)).is_some_and(super::letter::is_key);
        let path = dir.join(&entry.name);
        let outcome = match entry.kind {
            Kind::File if is(".json") => one(&path, asker, surroundings),
            Kind::File if is(answers::SUFFIX) => vec![answers::one(&path, asker, surroundings)],
            _ => continue,
        };
        let over = outcome.iter().all(|one| !matches!(one, Drained::Waits(_)));
        // Delivered twice is filed once: the name of a message tells.
        if over && disk::remove_file(&path).is_err() {
            continue;
        }
        done.extend(outcome);
    }
    done
}

fn one(path: &Path, asker: &Asker, surroundings: &Surroundings) -> Vec<Drained> {
    let parked = match disk::read_bounded(path, MAX_BYTES) {
        Ok(data) => data.and_then(|data| serde_json::from_slice::<Parked>(&data).ok()).filter(|parked| parked.schema == 1),
        Err(error) => return vec![Drained::Waits(format!("failed to {error}"))],
    };
    let Some((parked, at)) = parked.and_then(|parked| parked.at.parse::<Timestamp>().ok().map(|at| (parked, at))) else {
        return vec![Drained::Dropped("it is no message")];
    };
    let acts: Vec<Act> =
        parked.acts.iter().map(|act| Act { kind: act.act, path: act.path.clone(), follow: act.follow, below: act.below }).collect();
    let ruling = super::rule(&acts, asker, surroundings);
    if ruling.refused().next().is_none() {
        return vec![Drained::Dropped("nothing of it is somebody else's by now")];
    }
    let attempt = Attempt {
        asker,
        harness: &parked.harness,
        session: parked.session.as_deref(),
        sub_agent: parked.sub_agent.as_deref(),
        tool: &parked.tool,
        change: parked.change,
        ruling: &ruling,
        reads: parked.reads.into_iter().map(|read| Read { path: read.path, lines: read.lines }).collect(),
        at,
    };
    let surroundings = &Surroundings { hops: parked.hops.max(surroundings.hops), ..surroundings.clone() };
    let deliveries = deliver_now(&attempt, parked.idea.as_deref(), surroundings);
    deliveries
        .into_iter()
        .map(|delivery| match &delivery.outcome {
            Ok(_) => Drained::Delivered(Box::new(delivery)),
            Err(why) => Drained::Waits(why.clone()),
        })
        .collect()
}
