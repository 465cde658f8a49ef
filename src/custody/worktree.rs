//! Separate worktrees of git: an agent may change owned files in one, on a branch of its own. It is a
//! proposal; the shared tree stays guarded, and bringing the branch back there is judged like any
//! other write.

use std::path::{Path, PathBuf};

use crate::sys::disk::{self, Kind};
use crate::tree::{card, climb};

/// The most of git's own small files that is read.
const MAX: u64 = 8 << 10;

/// Whether an owned directory is the copy that a separate worktree has of one that is guarded in the
/// shared tree. Git's own records have to agree in both directions, the worktree has to be on a
/// branch, and the original has to be there with the same owner: a `.git` file alone opens nothing.
#[must_use]
pub fn is_copy(owned: &Path) -> bool {
    copied_from(owned).is_some_and(|original| match (card::owner(owned), card::owner(&original)) {
        (Some(Ok(copy)), Some(Ok(original))) => copy.owner.value == original.owner.value,
        _ => false,
    })
}

/// The directory of the shared tree that `owned` is the copy of.
fn copied_from(owned: &Path) -> Option<PathBuf> {
    let top = climb::nearest(owned, |dir| !matches!(disk::look(&dir.join(".git")), Ok(None)))?;
    let link = top.join(".git");
    if disk::look(&link).ok()??.kind != Kind::File {
        return None;
    }
    let records = real(top, small(&link)?.strip_prefix("gitdir:")?.trim())?;
    let common = real(&records, &small(&records.join("commondir"))?)?;
    let belongs = records.parent() == Some(&common.join("worktrees")) && real(&records, &small(&records.join("gitdir"))?)? == link;
    let on_branch = small(&records.join("HEAD"))?.starts_with("ref: refs/heads/");
    let shared = common.parent().filter(|_| common.ends_with(".git"))?;
    let original = shared.join(owned.strip_prefix(top).ok()?);
    (belongs && on_branch && shared != top && original != owned).then_some(original)
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
