//! What stood at the places of the deliverables before a run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Deliverable, pattern};
use crate::sys::disk::{self, Kind, PathError};
use crate::text::digest::Running;

/// How many members of patterns are stamped, and how many entries are looked at for them.
const MAX_MEMBERS: usize = 20_000;
const MAX_ENTRIES: usize = 200_000;
/// How deep a pattern looks.
const MAX_DEPTH: usize = 64;
/// Files up to here have the digest of their content in the stamp; of longer ones, inode, size and
/// time have to do.
const MAX_HASHED: u64 = 32 << 20;

/// What a file was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Its inode.
    pub inode: u64,
    /// Its length.
    pub size: u64,
    /// When its content last changed, in nanoseconds, as the file system says; compared with itself only.
    pub mtime_ns: i128,
    /// SHA-256 of its content, where it is not too long.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sha256: Option<String>,
}

impl Stamp {
    /// The stamp of a file as it is now; `None` where no regular file is there, or none that is below `dir`.
    pub(super) fn of(dir: &Path, path: &Path) -> Option<(Self, PathBuf)> {
        let real = disk::canonical(path).ok()?;
        if !real.starts_with(dir) {
            return None;
        }
        let meta = disk::look(&real).ok().flatten().filter(|meta| meta.kind == Kind::File)?;
        let sha256 = (meta.len <= MAX_HASHED).then(|| hash(&real)).flatten();
        Some((Self { inode: meta.id.1, size: meta.len, mtime_ns: meta.mtime_ns, sha256 }, real))
    }
}

fn hash(path: &Path) -> Option<String> {
    let (mut hasher, mut buffer) = (Running::default(), vec![0; 64 * 1024]);
    disk::read_pieces(path, &mut buffer, |piece| hasher.add(piece)).ok()?;
    Some(hasher.finish())
}

/// The stamps of everything that was there, by path relative to the directory of the job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamps(pub BTreeMap<String, Stamp>);

/// Takes the stamps before a run. `dir` is the real directory of the job.
#[must_use]
pub fn take(dir: &Path, deliverables: &[Deliverable]) -> Stamps {
    let mut stamps = Stamps::default();
    for one in deliverables {
        let paths = if one.is_glob() { members(dir, &one.path).unwrap_or_default() } else { vec![one.path.to_string()] };
        for path in paths {
            if let Some((stamp, _)) = Stamp::of(dir, &dir.join(&path)) {
                stamps.0.insert(path, stamp);
            }
        }
    }
    stamps
}

/// The files below `dir` that a pattern names, relative, in order; links to directories are not
/// followed, names that are not UTF-8 are passed over.
pub(super) fn members(dir: &Path, glob: &str) -> Result<Vec<String>, PathError> {
    let mut found = Vec::new();
    walk(dir, glob, &mut |path| {
        found.push(path.to_owned());
        found.len() < MAX_MEMBERS
    })?;
    found.sort();
    Ok(found)
}

/// Whether anything below `dir` is named by a pattern, directories included.
///
/// # Errors
/// Where the disk can't say.
pub fn any_match(dir: &Path, glob: &str) -> Result<bool, PathError> {
    if !glob.contains(['*', '?', '[', '{']) {
        return Ok(disk::look_through(&dir.join(glob))?.is_some());
    }
    let mut any = false;
    walk(dir, glob, &mut |_| {
        any = true;
        false
    })?;
    Ok(any)
}

/// Hands on each match until `each` says that it is enough.
fn walk(dir: &Path, glob: &str, each: &mut dyn FnMut(&str) -> bool) -> Result<(), PathError> {
    let Ok(matcher) = pattern(glob) else { return Ok(()) };
    let glob = glob.trim_start_matches("./");
    // The part before the first pattern is gone to directly.
    let fixed = glob.split('/').take_while(|part| !part.contains(['*', '?', '[', '{'])).collect::<Vec<_>>().join("/");
    let deep = if glob.contains("**") { MAX_DEPTH } else { glob.split('/').count() };
    let start = dir.join(&fixed);
    match disk::canonical(&start) {
        Ok(real) if real.starts_with(dir) => {}
        _ => return Ok(()),
    }
    let (mut left, mut stack) = (MAX_ENTRIES, vec![(fixed, 0_usize)]);
    while let Some((rel, depth)) = stack.pop() {
        let entries = match disk::list(&dir.join(&rel)) {
            Ok(entries) => entries,
            Err(error) if disk::is_absent(&error.source) => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            if left == 0 {
                return Ok(());
            }
            left -= 1;
            let Some(name) = entry.name.to_str() else { continue };
            let path = if rel.is_empty() { name.to_owned() } else { format!("{rel}/{name}") };
            if matcher.is_match(&path) && !each(&path) {
                return Ok(());
            }
            if entry.kind == Kind::Dir && depth + 1 < deep {
                stack.push((path, depth + 1));
            }
        }
    }
    Ok(())
}
