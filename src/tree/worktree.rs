//! Linked worktrees of git: which directory of the shared checkout one is the copy of.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::climb;
use crate::sys::disk::{self, Kind};

/// The most of git's own small files that is read.
const MAX: u64 = 8 << 10;

/// A linked worktree, as git's own records have it in both directions: a `.git` file alone says nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linked {
    /// Its top directory.
    pub top: PathBuf,
    /// The top of the checkout that it belongs to.
    pub shared: PathBuf,
    /// Whether it is on a branch.
    pub on_branch: bool,
}

impl Linked {
    /// The directory of the shared checkout that one in the worktree is the copy of.
    #[must_use]
    pub fn original(&self, dir: &Path) -> Option<PathBuf> {
        let rest = dir.strip_prefix(&self.top).ok()?;
        // Nothing joined to a path leaves a stroke behind it.
        let original = if rest.as_os_str().is_empty() { self.shared.clone() } else { self.shared.join(rest) };
        Some(original).filter(|original| original != dir)
    }
}

/// The linked worktree that a real directory lies in.
#[must_use]
pub fn around(dir: &Path) -> Option<Linked> {
    at(climb::nearest(dir, |dir| !matches!(disk::look(&dir.join(".git")), Ok(None)))?)
}

/// As [`around`] for many directories that are asked about as of one moment: what lies above them is looked at once.
#[derive(Debug, Default)]
pub struct Around {
    known: BTreeMap<PathBuf, Option<Linked>>,
}

impl Around {
    /// The linked worktree that a real directory lies in.
    pub fn of(&mut self, dir: &Path) -> Option<Linked> {
        let mut passed = Vec::new();
        let mut found = None;
        for dir in climb::up(dir) {
            if let Some(known) = self.known.get(dir) {
                found.clone_from(known);
                break;
            }
            passed.push(dir);
            if !matches!(disk::look(&dir.join(".git")), Ok(None)) {
                found = at(dir);
                break;
            }
        }
        for dir in passed {
            self.known.insert(dir.to_owned(), found.clone());
        }
        found
    }
}

/// The file of the shared checkout that one in a linked worktree is the copy of; any other path is itself, and
/// one in a directory that the shared checkout doesn't have.
#[must_use]
pub fn shared(path: &Path) -> PathBuf {
    let dir = path.parent().unwrap_or(path);
    let original = around(dir).and_then(|linked| linked.original(path));
    let there =
        |original: &PathBuf| original.parent().is_some_and(|dir| matches!(disk::look(dir), Ok(Some(meta)) if meta.kind == Kind::Dir));
    original.filter(there).unwrap_or_else(|| path.to_owned())
}

/// The linked worktree whose top is this directory.
#[must_use]
pub fn at(top: &Path) -> Option<Linked> {
    let link = top.join(".git");
    if disk::look(&link).ok()??.kind != Kind::File {
        return None;
    }
    let records = real(top, small(&link)?.strip_prefix("gitdir:")?.trim())?;
    let common = real(&records, &small(&records.join("commondir"))?)?;
    let belongs = records.parent() == Some(&common.join("worktrees")) && real(&records, &small(&records.join("gitdir"))?)? == link;
    let on_branch = small(&records.join("HEAD"))?.starts_with("ref: refs/heads/");
    let shared = common.parent().filter(|_| common.ends_with(".git"))?.to_owned();
    (belongs && shared != top).then(|| Linked { top: top.to_owned(), shared, on_branch })
}

/// A small text file, without the blanks around it.
fn small(path: &Path) -> Option<String> {
    let (data, more) = disk::read_start(path, MAX).ok()?;
    (!more).then(|| String::from_utf8(data).ok())?.map(|text| text.trim().to_owned())
}

/// A path that one of these files names.
fn real(base: &Path, text: &str) -> Option<PathBuf> {
    disk::canonical(&base.join(text)).ok()
}
