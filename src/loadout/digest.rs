//! The hash of a surface: SHA-256 over a canonical listing, version `loci1`.
//!
//! One record a file or link, sorted bytewise by path:
//!
//! ```text
//! KIND SP LENGTH SP SHA256 SP PATH NUL
//! ```
//!
//! KIND is `f` (file), `x` (file its owner may execute) or `l` (link); LENGTH (decimal) and SHA256
//! (hex) are those of the content, of a link those of its target's text; PATH is relative to the
//! directory. Times, owners, other permission bits and empty directories do not count.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::LoadoutError;
use super::surface::Surface;
use crate::sys::disk::{self, Kind};
use crate::text::digest::{self, Running};

/// The version of the listing, as the hash is written.
pub const VERSION: &str = "loci1:";

/// How many files and links a surface may have.
const MAX_ENTRIES: usize = 1_000_000;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A file.
    File,
    /// A file that its owner may execute.
    Executable,
    /// A link.
    Link,
}

impl What {
    /// The letter in the listing.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::File => 'f',
            Self::Executable => 'x',
            Self::Link => 'l',
        }
    }
}

/// One file or link of a surface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its path, relative to the directory.
    pub path: PathBuf,
    /// What it is.
    pub what: What,
    /// Length of the content or of the link's text, in bytes.
    pub len: u64,
    /// SHA-256 of the same, as hex.
    pub sha256: String,
}

/// Something found on the walk, not read yet.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
}

/// Every directory, file and link of a surface, directories before what is in them.
pub(super) fn walk(base: &Path, surface: &Surface) -> Result<Vec<Seen>, LoadoutError> {
    let mut all = Vec::new();
    for piece in surface.pieces() {
        let mut next = Vec::new();
        if let Some(meta) = disk::look(&base.join(piece))? {
            next.push(Seen { path: piece.to_owned(), kind: meta.kind });
        }
        while let Some(seen) = next.pop() {
            if surface.left_out.contains(&seen.path) {
                continue;
            }
            let full = base.join(&seen.path);
            match seen.kind {
                Kind::Dir => {
                    for entry in disk::list_unsorted(&full)? {
                        next.push(Seen { path: seen.path.join(entry.name), kind: entry.kind });
                    }
                }
                Kind::Other => return Err(LoadoutError::Special(full)),
                Kind::File | Kind::Link => {}
            }
            all.push(seen);
            if all.len() > MAX_ENTRIES {
                return Err(LoadoutError::TooMany(base.to_owned()));
            }
        }
    }
    Ok(all)
}

/// How many bytes the files of a surface have: what hashing it would read.
///
/// # Errors
/// As [`list`], but no file is opened.
pub fn size(base: &Path, surface: &Surface) -> Result<u64, LoadoutError> {
    let mut size = 0_u64;
    for seen in walk(base, surface)?.iter().filter(|seen| seen.kind == Kind::File) {
        size = size.saturating_add(disk::look(&base.join(&seen.path))?.map_or(0, |meta| meta.len));
    }
    Ok(size)
}

/// Reads a surface: one entry a file or link, sorted bytewise by path.
///
/// # Errors
/// Where something can't be read, or is neither file, directory nor link.
pub fn list(base: &Path, surface: &Surface) -> Result<Vec<Entry>, LoadoutError> {
    let mut seen = walk(base, surface)?;
    seen.retain(|one| one.kind != Kind::Dir);
    seen.sort_by(|a, b| a.path.as_os_str().as_bytes().cmp(b.path.as_os_str().as_bytes()));
    seen.dedup_by(|a, b| a.path == b.path);
    let threads = if seen.len() < 64 { 1 } else { std::thread::available_parallelism().map_or(1, |count| count.get().min(8)) };
    let next = AtomicUsize::new(0);
    let read_some = || -> Result<Vec<(usize, Entry)>, LoadoutError> {
        let mut buffer = vec![0_u8; 1 << 17];
        let mut some = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(one) = seen.get(index) else { return Ok(some) };
            some.push((index, entry(base, one, &mut buffer)?));
        }
    };
    let mut parts = Vec::new();
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(read_some)).collect();
        parts.push(read_some());
        for other in others {
            parts.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
    });
    let mut entries = Vec::with_capacity(seen.len());
    for part in parts {
        entries.extend(part?);
    }
    entries.sort_unstable_by_key(|(index, _)| *index);
    Ok(entries.into_iter().map(|(_, entry)| entry).collect())
}

fn entry(base: &Path, seen: &Seen, buffer: &mut [u8]) -> Result<Entry, LoadoutError> {
    let full = base.join(&seen.path);
    let (what, len, sha256) = if seen.kind == Kind::Link {
        let text = disk::read_link(&full)?;
        let text = text.as_os_str().as_bytes();
        (What::Link, text.len() as u64, digest::sha256(text))
    } else {
        let mut running = Running::default();
        let meta = disk::read_pieces(&full, buffer, |piece| running.add(piece))?;
        let what = if meta.mode & 0o100 == 0 { What::File } else { What::Executable };
        (what, meta.len, running.finish())
    };
    Ok(Entry { path: seen.path.clone(), what, len, sha256 })
}

/// The hash of entries that [`list`] returned.
#[must_use]
pub fn hash(entries: &[Entry]) -> String {
    let mut running = Running::default();
    for Entry { path, what, len, sha256 } in entries {
        running.add(format!("{} {len} {sha256} ", what.letter()).as_bytes());
        running.add(path.as_os_str().as_bytes());
        running.add(b"\0");
    }
    format!("{VERSION}{}", running.finish())
}

/// The hash of a surface as it is on disk.
///
/// # Errors
/// As [`list`].
pub fn of(base: &Path, surface: &Surface) -> Result<String, LoadoutError> {
    Ok(hash(&list(base, surface)?))
}
