//! The folders of a body's memory: its own, and kept out of git.

use std::path::{Path, PathBuf};

use crate::sys::disk::{self, Kind, PathError};

/// A folder of a body's memory, made where it is missing; with it the memory is kept out of git.
///
/// # Errors
/// As [`its_own`]; where it can't be made.
pub fn of_memory(body: &Path, name: &str) -> Result<PathBuf, PathError> {
    let dir = its_own(body, name)?;
    disk::make_dirs(&dir)?;
    keep_out_of_git(&body.join(".loci/memory"))?;
    Ok(dir)
}

/// A folder of a body's memory, there or not.
///
/// # Errors
/// Where it, or what it lies in, is anything but a directory: through a link the body's agent could have loci, outside
/// of its jail, write into what is somebody else's, or take away from there.
pub fn its_own(body: &Path, name: &str) -> Result<PathBuf, PathError> {
    let memory = body.join(".loci/memory");
    let dir = memory.join(name);
    for folder in [&body.join(".loci"), &memory, &dir] {
        if disk::look(folder)?.is_some_and(|meta| meta.kind != Kind::Dir) {
            let why = std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is a link or a file, and has to be a directory");
            return Err(PathError::new("use", folder, why));
        }
    }
    Ok(dir)
}

/// Writes `*` into the `.gitignore` of a body's memory where there is none: memory never travels.
///
/// # Errors
/// Where it can't be written.
pub(super) fn keep_out_of_git(memory: &Path) -> Result<(), PathError> {
    let path = memory.join(".gitignore");
    if disk::look(&path)?.is_some() {
        return Ok(());
    }
    match disk::write_new(&path, b"*\n", 0o644) {
        Err(error) if error.source.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}
