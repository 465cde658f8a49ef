//! What the sender keeps of what was sent.

use std::path::{Path, PathBuf};

use super::{Attempt, Filed};
use crate::custody::asker::Asker;
use crate::custody::maildir::{MailError, of_memory};
use crate::custody::ruling::{Surroundings, Who};
use crate::sys::{disk, time};

/// How far back the log of what was sent is looked through.
const MAX_SENT: u64 = 256 << 10;

/// Where records of what was sent are kept: in the sender's body, else in the state folder.
#[must_use]
pub fn sent_log(asker: &Asker, state: &Path) -> PathBuf {
    asker.body.as_deref().map_or_else(|| state.join("sent"), |body| body.join(".loci/memory/sent")).join("log.jsonl")
}

/// Remembers what was sent and where it lies, so that the sender can add to it by its id.
pub(super) fn remember(attempt: &Attempt<'_>, surroundings: &Surroundings, filed: &Filed, who: &Who) -> Result<(), MailError> {
    let log = sent_log(attempt.asker, &surroundings.state);
    // Filed before: then it is known, unless that run was killed in between.
    if filed.again && disk::read_end(&log, MAX_SENT).is_ok_and(|(data, _)| String::from_utf8_lossy(&data).contains(&filed.id)) {
        return Ok(());
    }
    match (&attempt.asker.body, log.parent()) {
        (Some(body), _) => drop(of_memory(body, "sent")?),
        (None, Some(parent)) => disk::make_dirs(parent)?,
        (None, None) => {}
    }
    let to = if let Who::Agent(id) = who { id.as_str() } else { "human" };
    let record = serde_json::json!({
        "at": time::to_second(attempt.at), "id": filed.id, "to": to, "inbox": filed.inbox.to_string_lossy(),
    });
    disk::append(&log, format!("{record}\n").as_bytes())?;
    Ok(())
}
