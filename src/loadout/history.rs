//! What was worn when: one line an inject, newest last.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::archive::{self, Stores};
use super::surface::Surface;
use super::{Level, LoadoutError, digest, wear};
use crate::sys::disk;
use crate::sys::plan::Step;

/// How many lines are kept; the oldest go first.
const KEPT: usize = 1000;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Version of the format.
    pub schema: u32,
    /// When (RFC 3339).
    pub at: String,
    /// Which directory.
    #[serde(with = "crate::sys::wire::path")]
    pub level: PathBuf,
    /// What was put in: the name of the archive; `null`: the place was emptied again.
    pub name: Option<String>,
    /// The hash of what stood there afterwards; it differs from the archive's where loci's relays
    /// were put back.
    pub hash: String,
    /// The backup of what stood there before, or `empty`.
    pub was: String,
    /// The harness whose surface it is.
    pub harness: String,
    /// The surface.
    pub surface: Surface,
}

/// The word in [`Line::was`] for a place where nothing stood.
pub const EMPTY: &str = "empty";

fn path(stores: &Stores) -> PathBuf {
    stores.home.join("history.jsonl")
}

/// The lines of a level, oldest first. A line that can't be read (a torn last one, one of a later
/// version) is skipped.
///
/// # Errors
/// Where the file can't be read.
pub fn of(stores: &Stores, level: &Path) -> Result<Vec<Line>, LoadoutError> {
    Ok(all(stores)?.into_iter().filter(|line| line.level == level).collect())
}

/// The lines of every level, oldest first.
///
/// # Errors
/// As [`of`].
pub fn all(stores: &Stores) -> Result<Vec<Line>, LoadoutError> {
    let text = disk::read_if_there(&path(stores))?.unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Line>(line).ok());
    Ok(lines.filter(|line| line.schema == 1).collect())
}

/// The step that adds a line.
pub(super) fn append(stores: &Stores, line: &Line) -> Result<Step, LoadoutError> {
    let path = path(stores);
    let was = disk::read_if_there(&path)?;
    let old = was.as_deref().unwrap_or_default();
    let mut lines: Vec<&[u8]> = old.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let extra = (lines.len() + 1).saturating_sub(KEPT);
    lines.drain(..extra);
    let mut data = lines.join(&b'\n');
    if !data.is_empty() {
        data.push(b'\n');
    }
    data.extend(wear::to_text(&path, line)?);
    Ok(Step::Write { path, data, mode: Some(0o644), was })
}

/// How it is known what is worn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchedBy {
    /// The files are those of the archive.
    Hash,
    /// Only the record says so.
    History,
}

/// What is worn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Active {
    /// The archive.
    pub name: String,
    /// How that is known.
    pub matched_by: MatchedBy,
    /// Other archives with the same content.
    pub also: Vec<String>,
    /// What has to be said about it.
    pub note: Option<String>,
}

/// Which archive a level wears, by what its files are.
///
/// # Errors
/// Where the files or the store can't be read.
pub fn active(level: &Level, stores: &Stores) -> Result<Option<Active>, LoadoutError> {
    let lines = of(stores, &level.dir)?;
    let mut hashes: Vec<(Surface, String)> = Vec::new();
    let mut live = |surface: &Surface| -> Result<String, LoadoutError> {
        if let Some((_, hash)) = hashes.iter().find(|(one, _)| one == surface) {
            return Ok(hash.clone());
        }
        let hash = digest::of(&level.dir, surface)?;
        hashes.push((surface.clone(), hash.clone()));
        Ok(hash)
    };
    let mut matches: Vec<String> = Vec::new();
    for one in archive::all(stores)?.0 {
        if !matches.contains(&one.name) && live(&one.record.surface)? == one.record.hash {
            matches.push(one.name);
        }
    }
    let last_of = |name: &str| lines.iter().rposition(|line| line.name.as_deref() == Some(name));
    // The newest in the history, then bytewise; those of ours only if there is no other.
    matches.sort_by_key(|name| (name.starts_with(archive::RESERVED), std::cmp::Reverse(last_of(name)), name.clone()));
    if !matches.is_empty() {
        let name = matches.remove(0);
        return Ok(Some(Active { name, matched_by: MatchedBy::Hash, also: matches, note: None }));
    }
    let Some(last) = lines.last() else { return Ok(None) };
    let Some(name) = last.name.clone() else { return Ok(None) };
    if live(&last.surface)? == last.hash {
        let note = "the files are as they were injected: those of the archive, with loci's own relays";
        return Ok(Some(Active { name, matched_by: MatchedBy::Hash, also: Vec::new(), note: Some(note.to_owned()) }));
    }
    let note = "the files match no archive; the record only says what was injected last, and they have changed since";
    Ok(Some(Active { name, matched_by: MatchedBy::History, also: Vec::new(), note: Some(note.to_owned()) }))
}
