//! A change as files before and after, kept beside a message so that it can be brought in later.
//!
//! What the message shows is made from the same two contents, so what is applied is what was shown. A
//! change in which something was masked is not kept: a secret must not lie there in another form.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::letter;
use super::maildir::{MailError, Mailbox};
use crate::sys::disk;
use crate::text::digest;

/// The most of both contents of all files of one change, in bytes.
const MAX: usize = 4 << 20;

/// The most of the file that keeps them: bytes that are no text are written as numbers.
const MAX_KEPT: u64 = (MAX as u64) * 5 + (1 << 20);

/// One file of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileChange {
    /// Which: a real path.
    #[serde(with = "crate::sys::wire::path")]
    pub path: PathBuf,
    /// The permission bits it gets; `None` keeps them. `0o120000`: it becomes a link with this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// What stood there; `None`: nothing.
    #[serde(with = "crate::sys::wire::maybe_bytes")]
    pub was: Option<Vec<u8>>,
    /// What would stand there; `None`: nothing.
    #[serde(with = "crate::sys::wire::maybe_bytes")]
    pub will: Option<Vec<u8>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    schema: u32,
    files: Vec<FileChange>,
}

/// The text that keeps a change, and the name of its file beside the message of that key; `None` where
/// there is nothing to keep, or too much.
pub(super) fn kept(key: &str, files: &[FileChange]) -> Option<(String, Vec<u8>)> {
    let size = |side: &Option<Vec<u8>>| side.as_ref().map_or(0, Vec::len);
    let total: usize = files.iter().map(|file| size(&file.was) + size(&file.will)).sum();
    if files.is_empty() || total > MAX {
        return None;
    }
    let text = serde_json::to_vec(&Kept { schema: 1, files: files.to_vec() }).ok()?;
    let seal = digest::sha256(&text);
    Some((format!("{key}.{}.json", seal.get(..16)?), text))
}

/// Why a change can't be had.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// The message carries none.
    #[error("find a change in it that can be applied: it was masked, is too large, or is none that is known file by file")]
    None,
    /// What was kept is not what the message names.
    #[error("trust {0}: it is not what was kept with the message")]
    Altered(String),
    /// The inbox.
    #[error(transparent)]
    Mail(#[from] MailError),
}

/// Reads the change of a message. `name` is what the message says; only a name that a delivery makes,
/// with the digest of its content in it, is taken.
///
/// # Errors
/// Where there is none, or it is not as it was kept.
pub fn read(mailbox: &Mailbox, key: &str, name: Option<&str>) -> Result<Vec<FileChange>, Unusable> {
    let name = name.ok_or(Unusable::None)?;
    let altered = || Unusable::Altered(name.to_owned());
    let seal = name.strip_prefix(key).and_then(|rest| rest.strip_prefix('.')).and_then(|rest| rest.strip_suffix(".json"));
    let seal = seal.filter(|seal| letter::is_key(seal)).ok_or_else(altered)?;
    let path: PathBuf = Path::new(mailbox.dir()).join("held").join(name);
    let data = disk::read_bounded(&path, MAX_KEPT).map_err(MailError::from)?.ok_or_else(altered)?;
    if !digest::sha256(&data).starts_with(seal) {
        return Err(altered());
    }
    let kept: Kept = serde_json::from_slice(&data).map_err(|_| altered())?;
    if kept.schema == 1 { Ok(kept.files) } else { Err(altered()) }
}
