//! Answers that wait: in a jail the inbox of whoever gets one is read-only.
//!
//! What waits is what was said to which message: whoever drains looks the message up in the inbox of the
//! one whose outbox it is, and answers it anew. The log of the inbox says so then, and not before.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Drained, room};
use crate::custody::answer::{self, Answered};
use crate::custody::asker::Asker;
use crate::custody::inbox::{self, Message, State};
use crate::custody::maildir::Mailbox;
use crate::custody::mask;
use crate::custody::ruling::Surroundings;
use crate::sys::disk::{self, PathError};
use crate::sys::time::Timestamp;
use crate::text::digest;
use crate::tree::card;

/// The largest one, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// How long whoever deals with the inbox at this moment is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// How the file of one is called, behind its key.
pub(super) const SUFFIX: &str = ".answer.json";

/// An answer as it waits.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parked {
    schema: u32,
    at: String,
    /// The inbox that the message lies in.
    #[serde(with = "crate::sys::wire::path")]
    inbox: PathBuf,
    /// The key of the message.
    key: String,
    /// `done` or `declined`.
    state: String,
    text: String,
}

/// Parks what is said to a message; the directory it waits in.
///
/// # Errors
/// Where it can't be written, or too much waits already.
pub fn park(
    asker: &Asker,
    state_dir: &Path,
    mailbox: &Mailbox,
    message: &Message,
    state: State,
    text: &str,
    at: Timestamp,
) -> Result<PathBuf, PathError> {
    let dir = room(asker, state_dir)?;
    let parked = Parked {
        schema: 1,
        at: at.to_string(),
        inbox: mailbox.dir().to_owned(),
        key: message.key.clone(),
        state: state.word().to_owned(),
        text: mask::mask(text).0,
    };
    let text = serde_json::to_vec(&parked).map_err(|error| PathError::new("park an answer in", &dir, error.into()))?;
    // One answer to one message: the first that was given.
    let name: String = digest::sha256_of_parts([&b"answer"[..], message.id.as_bytes()]).chars().take(16).collect();
    let path = dir.join(format!("{name}{SUFFIX}"));
    match disk::look(&path)? {
        Some(_) => Ok(dir),
        None => disk::write_new(&path, &text, 0o600).map(|()| dir),
    }
}

/// Answers what was said in a file.
pub(super) fn one(path: &Path, asker: &Asker, surroundings: &Surroundings) -> Drained {
    let parked = match disk::read_bounded(path, MAX_BYTES) {
        Ok(data) => data.and_then(|data| serde_json::from_slice::<Parked>(&data).ok()).filter(|parked| parked.schema == 1),
        Err(error) => return Drained::Waits(format!("failed to {error}")),
    };
    let Some((parked, at)) = parked.and_then(|parked| parked.at.parse::<Timestamp>().ok().map(|at| (parked, at))) else {
        return Drained::Dropped("it is no answer");
    };
    let Some(state) = [State::Done, State::Declined].into_iter().find(|state| state.word() == parked.state) else {
        return Drained::Dropped("it is no answer");
    };
    let (Some(agent), Some(mailbox)) = (&asker.agent, Mailbox::at(&parked.inbox)) else {
        return Drained::Dropped("it answers nothing of its sender's");
    };
    // Only one's own mail is answered: that of the body, or of a directory that the same agent owns.
    let body = asker.body.as_deref().map(Mailbox::of);
    let owns = || matches!(card::owner(mailbox.place()), Some(Ok(owner)) if owner.owner.value == *agent);
    if body.as_ref() != Some(&mailbox) && !owns() {
        return Drained::Dropped("it answers a message of somebody else's");
    }
    match said(&mailbox, &parked, agent.as_str(), state, at, surroundings) {
        Ok(drained) => drained,
        Err(error) => Drained::Waits(format!("failed to {error}")),
    }
}

fn said(
    mailbox: &Mailbox,
    parked: &Parked,
    by: &str,
    state: State,
    at: Timestamp,
    surroundings: &Surroundings,
) -> Result<Drained, crate::custody::maildir::MailError> {
    let Some(path) = mailbox.find(&parked.key)? else { return Ok(Drained::Dropped("the message that it answers is gone")) };
    let Some(_lock) = mailbox.lock(PATIENCE)? else { return Ok(Drained::Waits("another process is at the inbox".to_owned())) };
    let mut message = inbox::message(&path, &parked.key, false)?.in_full()?;
    message.standing = inbox::standing(mailbox, &parked.key)?;
    if message.standing.state.is_closed() {
        return Ok(Drained::Dropped("the message is answered already"));
    }
    let first = answer::begun(&message, by, state, &parked.text);
    let (by, state, text) = first.as_ref().map_or((by, state, &parked.text), |first| (first.by.as_str(), first.state, &first.text));
    let answered = answer::answer(mailbox, &surroundings.home, &message, by, state, text, at)?;
    inbox::settle(mailbox)?;
    Ok(match answered {
        Answered::To { id, to, .. } => Drained::Answered { id, to },
        Answered::Nobody(_) => Drained::Dropped("nobody waits for the answer any more; it stands in the log"),
    })
}
