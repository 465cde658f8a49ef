//! What went wrong with hooks: one line each in the state folder, for `loci hooks status`. The turn went
//! on all the same.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::sys::disk::{self, PathError};

/// The length at which the log becomes its older half, in bytes.
const MAX_FILE: u64 = 512 << 10;

/// One failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// When: RFC 3339, whole seconds.
    pub at: String,
    /// The session, where the harness told.
    pub session: Option<String>,
    /// The hook's file, or the name of what is built in.
    pub hook: String,
    /// Where in the turn.
    pub seam: String,
    /// What went wrong.
    pub why: String,
}

fn file(state: &Path) -> PathBuf {
    state.join("hooks.jsonl")
}

/// Appends a failure. One that can't be written is lost: nothing hangs on it.
pub fn append(state: &Path, failure: &Failure) {
    let write = || -> Result<(), PathError> {
        let path = file(state);
        match disk::look(&path)? {
            None => disk::make_dirs(state)?,
            Some(meta) if meta.len >= MAX_FILE => disk::rename(&path, &path.with_extension("jsonl.old"))?,
            Some(_) => {}
        }
        let Ok(mut line) = serde_json::to_vec(failure) else { return Ok(()) };
        line.push(b'\n');
        disk::append_unsynced(&path, &line)
    };
    let _ = write();
}

/// The newest failures, newest last.
///
/// # Errors
/// Where the log is there and can't be read.
pub fn newest(state: &Path, most: usize) -> Result<Vec<Failure>, PathError> {
    let path = file(state);
    if disk::look(&path)?.is_none() {
        return Ok(Vec::new());
    }
    let (data, _) = disk::read_end(&path, MAX_FILE * 2)?;
    let mut all: Vec<Failure> = data.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    Ok(all.split_off(all.len().saturating_sub(most)))
}
