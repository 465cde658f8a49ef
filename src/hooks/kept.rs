//! What a hook is run from: the file that was looked at, with all that lies beside it, and nothing that came
//! since. A folder is read once; what was read is compared with what is trusted, and the same bytes are
//! written to a folder of loci's own, by their digest. So whoever renames something over the hook between
//! the look and the start changes nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::trust::{self, TrustError};
use crate::sys::disk::{self, Kind, PathError};
use crate::sys::random;
use crate::text::digest;

/// The folder of the copies, in the state folder.
const COPIES: &str = "hook-copies";
/// So many copies may stay; the oldest go where there are more.
const MOST_COPIES: usize = 64;
/// The most that lies in a folder of hooks, in bytes.
pub const MAX_FOLDER: u64 = 64 << 20;
/// How deep a folder is looked into; what lies deeper is not passed over, it is an error.
const MAX_DEPTH: usize = 8;

/// A file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether it may be run by itself.
    pub runs: bool,
}

/// A folder of hooks as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folder {
    /// Its files, relative.
    pub files: BTreeMap<PathBuf, Piece>,
    dirs: usize,
    bytes: u64,
}

impl Folder {
    /// Reads a folder and all below, links followed; one that is not there has no files.
    ///
    /// # Errors
    /// Where there is more of it than anybody looks through, or something that is no file: what a pipe will say
    /// can't be looked at.
    pub fn read(folder: &Path) -> Result<Self, TrustError> {
        let mut found = Self::default();
        if disk::is_dir(folder) {
            found.gather(folder, Path::new(""), 0)?;
        }
        Ok(found)
    }

    fn gather(&mut self, root: &Path, rel: &Path, depth: usize) -> Result<(), TrustError> {
        let folder = root.join(rel);
        self.dirs += 1;
        if depth > MAX_DEPTH {
            return Err(TrustError::TooDeep(folder));
        }
        if self.dirs > trust::MAX_FILES {
            return Err(TrustError::TooMany(root.to_owned()));
        }
        for entry in disk::list(&folder)? {
            let (path, rel) = (folder.join(&entry.name), rel.join(&entry.name));
            let meta = if entry.kind == Kind::Link { disk::look_through(&path)? } else { disk::look(&path)? };
            match meta {
                // A link that leads nowhere, or a file that went just now.
                None => {}
                Some(meta) if meta.kind == Kind::Dir => self.gather(root, &rel, depth + 1)?,
                Some(meta) if meta.kind == Kind::File => {
                    if self.files.len() >= trust::MAX_FILES {
                        return Err(TrustError::TooMany(root.to_owned()));
                    }
                    let bytes = disk::read_bounded(&path, trust::MAX_FILE)?.ok_or_else(|| TrustError::TooLarge(path.clone()))?;
                    self.bytes += bytes.len() as u64;
                    if self.bytes > MAX_FOLDER {
                        return Err(TrustError::TooMuch(root.to_owned()));
                    }
                    self.files.insert(rel, Piece { bytes, runs: meta.mode & 0o100 != 0 });
                }
                Some(_) => return Err(TrustError::NoFile(path)),
            }
        }
        Ok(())
    }

    /// Where a copy of it lies, made where there is none yet. Nobody but its user can look into it.
    ///
    /// # Errors
    /// Where it can't be written.
    pub fn placed(&self, state: &Path) -> Result<PathBuf, PathError> {
        let copies = state.join(COPIES);
        let dir = copies.join(self.digest());
        if disk::is_dir(&dir) {
            if self.is_whole(&dir) {
                return Ok(dir);
            }
            // A crash has left part of it: nobody waited for the disk.
            disk::remove_tree(&dir)?;
        }
        disk::make_dirs(&copies)?;
        disk::set_mode(&copies, 0o700)?;
        let salt = random::hex20().map_err(|error| PathError::new("write", &copies, error))?;
        let aside = copies.join(format!(".{salt}"));
        let made = self.write(&aside).and_then(|()| match disk::rename_noreplace(&aside, &dir) {
            // Somebody else was as quick; theirs says the same.
            Err(_) if disk::is_dir(&dir) => disk::remove_tree(&aside),
            other => other,
        });
        if let Err(error) = made {
            let _ = disk::remove_tree(&aside);
            return Err(error);
        }
        thin_out(&copies, &dir);
        Ok(dir)
    }

    fn write(&self, aside: &Path) -> Result<(), PathError> {
        disk::make_dir(aside)?;
        for (rel, piece) in &self.files {
            let path = aside.join(rel);
            if let Some(parent) = path.parent() {
                disk::make_dirs(parent)?;
            }
            disk::write_copy(&path, &piece.bytes, if piece.runs { 0o500 } else { 0o400 })?;
        }
        Ok(())
    }

    /// Whether a copy says what it should.
    fn is_whole(&self, dir: &Path) -> bool {
        let same = |(rel, piece): (&PathBuf, &Piece)| {
            disk::read_bounded(&dir.join(rel), trust::MAX_FILE).is_ok_and(|bytes| bytes.as_ref() == Some(&piece.bytes))
        };
        self.files.iter().all(same)
    }

    fn digest(&self) -> String {
        let mut parts: Vec<&[u8]> = Vec::new();
        for (rel, piece) in &self.files {
            let mode: &[u8] = if piece.runs { b"x" } else { b"-" };
            parts.extend([rel.as_os_str().as_encoded_bytes(), mode, piece.bytes.as_slice()]);
        }
        digest::sha256_of_parts(parts)
    }
}

/// Copies that nobody has made lately go, and what was begun and never ended.
fn thin_out(copies: &Path, but: &Path) {
    let Ok(entries) = disk::list(copies) else { return };
    if entries.len() <= MOST_COPIES {
        return;
    }
    let age = |path: &PathBuf| disk::look(path).ok().flatten().map_or(0, |meta| meta.mtime_ns);
    let mut old: Vec<(i128, PathBuf)> = entries.into_iter().map(|entry| copies.join(entry.name)).map(|path| (age(&path), path)).collect();
    old.sort();
    let most = old.len().saturating_sub(MOST_COPIES / 2);
    for (_, path) in old.into_iter().take(most).filter(|(_, path)| path != but) {
        let _ = disk::remove_tree(&path);
    }
}
