//! What of a directory trust is about, as it is now.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{MAX_FILE, MAX_FILES, SLOTS, SURFACES, interpreter};
use crate::hooks::kept::{Folder, MAX_FOLDER};
use crate::hooks::persona;
use crate::sys::disk::{self, PathError};
use crate::sys::shown;
use crate::text::digest;
use crate::tree::dotdirs::Dotdirs;
use crate::tree::places::{self, Prune};

/// The largest file whose text is kept, to show later what has changed.
const MAX_KEPT: usize = 64 << 10;

/// A file as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its digest.
    pub sha256: String,
    /// Its text, where it is short and text.
    pub text: Option<String>,
}

/// Why a directory can't be trusted; reads on after "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// More than anybody looks through.
    #[error("trust {}: it has more than {MAX_FILES} files to trust", shown::path(.0))]
    TooMany(PathBuf),
    /// A file nobody looks through.
    #[error("trust {}: it is larger than {} MiB", shown::path(.0), MAX_FILE >> 20)]
    TooLarge(PathBuf),
    /// More than is ever copied.
    #[error("trust {}: more than {} MiB lie in it", shown::path(.0), MAX_FOLDER >> 20)]
    TooMuch(PathBuf),
    /// Folders in folders, or a link that leads in a circle.
    #[error("trust {}: it lies deeper than anybody looks, or a link leads in a circle", shown::path(.0))]
    TooDeep(PathBuf),
    /// What it says can't be looked at.
    #[error("trust {}: it is no file but a pipe, a socket or a device", shown::path(.0))]
    NoFile(PathBuf),
    /// A name that the log can't hold.
    #[error("trust {}: its name is not UTF-8", shown::path(.0))]
    Name(PathBuf),
    /// The disk.
    #[error(transparent)]
    Disk(#[from] PathError),
}

/// Everything in and below a real directory that trust is about: the files of hook, rule and persona
/// folders of each place, and what declares a persona.
///
/// # Errors
/// Where it is too much, or can't be read.
pub fn inside(root: &Path, dotdirs: &Dotdirs) -> Result<BTreeMap<PathBuf, Seen>, TrustError> {
    let mut files = BTreeMap::new();
    for spot in places::walk(root, dotdirs, Prune::GitOnly).spots {
        for name in SURFACES {
            surface(root, &spot.path.join(name), &mut files)?;
        }
        for dotdir in &spot.dotdirs {
            let dotdir = spot.path.join(dotdir);
            surface(root, &dotdir.join("agent.md"), &mut files)?;
            for name in SURFACES {
                surface(root, &dotdir.join(name), &mut files)?;
            }
            for slot in SLOTS {
                let folder = dotdir.join(slot);
                for (rel, piece) in Folder::read(&folder)?.files {
                    insert(root, &folder.join(rel), &piece.bytes, &mut files)?;
                    for program in interpreter::named(&piece.bytes).filter(|_| slot == "hooks") {
                        if let Some((path, bytes)) = interpreter::seen(root, &program)? {
                            insert(root, &path, &bytes, &mut files)?;
                        }
                    }
                }
            }
        }
    }
    Ok(files)
}

/// A file that is trusted only for the persona that it declares.
fn surface(root: &Path, path: &Path, files: &mut BTreeMap<PathBuf, Seen>) -> Result<(), TrustError> {
    if !disk::is_file(path) {
        return Ok(());
    }
    let Some(bytes) = disk::read_bounded(path, MAX_FILE)? else { return Ok(()) };
    if persona::declared(&bytes).is_some() { insert(root, path, &bytes, files) } else { Ok(()) }
}

fn insert(root: &Path, path: &Path, bytes: &[u8], files: &mut BTreeMap<PathBuf, Seen>) -> Result<(), TrustError> {
    let rel = path.strip_prefix(root).unwrap_or(path);
    if rel.to_str().is_none() {
        return Err(TrustError::Name(path.to_owned()));
    }
    if files.len() >= MAX_FILES {
        return Err(TrustError::TooMany(root.to_owned()));
    }
    let text = (bytes.len() <= MAX_KEPT).then(|| std::str::from_utf8(bytes).ok().map(str::to_owned)).flatten();
    files.insert(rel.to_owned(), Seen { sha256: digest::sha256(bytes), text });
    Ok(())
}
