//! Separate worktrees of git: an agent may change owned files in one, on a branch of its own. It is a
//! proposal; the shared tree stays guarded, and bringing the branch back there is judged like any
//! other write.

use std::path::{Path, PathBuf};

use crate::tree::{
    card,
    worktree::{self, Linked},
};

/// Whether an owned directory is the copy that a separate worktree has of one that is guarded in the
/// shared tree. Git's own records have to agree in both directions, the worktree has to be on a
/// branch, and the original has to be there with the same owner.
#[must_use]
pub fn is_copy(owned: &Path) -> bool {
    is_copy_in(owned, worktree::around(owned).as_ref())
}

/// As [`is_copy`], for whoever knows already which worktree the directory lies in.
#[must_use]
pub fn is_copy_in(owned: &Path, linked: Option<&Linked>) -> bool {
    let original = linked.filter(|linked| linked.on_branch).and_then(|linked| linked.original(owned));
    original.is_some_and(|original| match (card::owner(owned), card::owner(&original)) {
        (Some(Ok(copy)), Some(Ok(original))) => copy.owner.value == original.owner.value,
        _ => false,
    })
}

/// The directory that one in a separate worktree is the copy of, where both are the body of the same agent or
/// have the same owner.
#[must_use]
pub fn original_of(place: &Path) -> Option<PathBuf> {
    let original = worktree::around(place)?.original(place)?;
    let body = |dir: &Path| Some(card::agent(dir)?.ok()?.id.value);
    let owner = |dir: &Path| Some(card::owner(dir)?.ok()?.owner.value);
    let same = match (body(place), body(&original)) {
        (None, None) => owner(place).is_some_and(|id| owner(&original) == Some(id)),
        (copy, there) => copy == there,
    };
    same.then_some(original)
}

/// Whether all bodies and owned directories at and below a directory are copies of ones that the shared tree has.
#[must_use]
pub fn only_copies(dir: &Path) -> bool {
    let somebodys = |place: &PathBuf| card::agent(place).is_some() || card::owner(place).is_some();
    super::find::all_below(dir).into_iter().filter(somebodys).all(|place| original_of(&place).is_some())
}

/// Where what is addressed to a place outlives a worktree: the place itself, or what it is the copy of.
#[must_use]
pub fn stays(place: &Path) -> PathBuf {
    original_of(place).unwrap_or_else(|| place.to_owned())
}
