//! How far is looked for what is to be held.

use std::path::{Path, PathBuf};

use crate::sys::disk::{self, PathError};
use crate::tree::climb;
use crate::tree::dotdirs::Dotdirs;

/// The outermost directory up from here, below the home, that is the top of a repository or carries a
/// dotdir; else this one.
///
/// # Errors
/// Where it can't be reached.
pub fn top(from: &Path, home: &Path, dotdirs: &Dotdirs) -> Result<PathBuf, PathError> {
    let here = disk::canonical(from)?;
    let home = disk::canonical(home).unwrap_or_else(|_| home.to_owned());
    let there = |path: &Path| matches!(disk::look(path), Ok(Some(_)));
    let marked = |dir: &&Path| there(&dir.join(".git")) || dotdirs.iter().any(|(name, _)| there(&dir.join(name)));
    let inside = |dir: &&Path| **dir != home && !home.starts_with(dir);
    Ok(climb::up(&here).take_while(inside).filter(marked).last().unwrap_or(&here).to_owned())
}
