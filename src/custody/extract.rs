//! Moving files down into a directory of their own: the place keeps reading them through links, and
//! whoever owns the new directory owns the writing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::own::{self, ASIDE, Ground};
use super::requests::missing_dirs;
use crate::sys::disk::{self, Kind, PathError};
use crate::sys::plan::{Plan, Step};
use crate::sys::shown;
use crate::tree::climb;

/// A thing that is to move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Where it is: its directory is real, its own name no link.
    pub path: PathBuf,
    /// The directory that it stands in.
    pub parent: PathBuf,
    /// Its name.
    pub name: OsString,
    /// What it is.
    pub kind: Kind,
    /// The device that it is on.
    pub device: u64,
    /// Whether something of its name stands in the new directory already.
    pub taken: bool,
    /// Whether it is the link that moving it leaves: it was moved before.
    pub moved: bool,
}

/// The directory that things move into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    /// Where (real as far as it exists).
    pub dir: PathBuf,
    /// What stands there.
    pub kind: Option<Kind>,
    /// Directories that have to be made, outermost first; the child itself is the last.
    pub missing: Vec<PathBuf>,
    /// The device that it is on, or will be.
    pub device: u64,
}

/// Why things can't be moved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("extract {}: {why}", shown::path(.path))]
pub struct Unfit {
    /// What is in the way.
    pub path: PathBuf,
    /// Why.
    pub why: String,
}

fn unfit(path: &Path, why: impl Into<String>) -> Unfit {
    Unfit { path: path.to_owned(), why: why.into() }
}

/// Looks at the directory that things are to move into.
///
/// # Errors
/// Where the disk can't say.
pub fn child(dir: &Path) -> Result<Child, PathError> {
    let kind = disk::look(dir)?.map(|meta| meta.kind);
    let mut missing = missing_dirs(dir)?;
    let standing = missing.first().map_or(dir, |first| first).parent().filter(|_| kind.is_none()).unwrap_or(dir);
    let device = disk::look_through(standing)?.map_or(0, |meta| meta.id.0);
    if kind.is_none() {
        missing.push(dir.to_owned());
    }
    Ok(Child { dir: dir.to_owned(), kind, missing, device })
}

/// Looks at a thing that is to move. `path` has a real directory and a name of its own.
///
/// # Errors
/// Where it is not there, or the disk can't say.
pub fn item(path: &Path, child: &Child) -> Result<Result<Item, Unfit>, PathError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(Err(unfit(path, "it has no name"))) };
    let Some(meta) = disk::look(path)? else { return Ok(Err(unfit(path, "it is not there"))) };
    let taken = child.kind.is_some() && disk::look(&child.dir.join(name))?.is_some();
    let moved = taken && meta.kind == Kind::Link && disk::read_link(path)? == link(&child.dir.join(name), parent);
    Ok(Ok(Item {
        path: path.to_owned(),
        parent: parent.to_owned(),
        name: name.to_owned(),
        kind: meta.kind,
        device: meta.id.0,
        taken,
        moved,
    }))
}

/// The text of the link that stays: the new directory lies below the one that the link stands in.
fn link(to: &Path, parent: &Path) -> PathBuf {
    to.strip_prefix(parent).unwrap_or(to).to_owned()
}

/// Whether these things can move there.
///
/// # Errors
/// What is in the way, first of all.
pub fn check(items: &[Item], child: &Child) -> Result<(), Unfit> {
    if child.kind.is_some_and(|kind| kind != Kind::Dir) {
        return Err(unfit(&child.dir, "something that is no directory is there"));
    }
    for (at, item) in items.iter().enumerate() {
        let path = &item.path;
        if child.dir.starts_with(path) {
            return Err(unfit(path, "the new directory would lie in it"));
        }
        if child.dir == item.parent {
            return Err(unfit(path, "it is in that directory already"));
        }
        if !child.dir.starts_with(&item.parent) {
            return Err(unfit(path, format!("{} does not lie below {}", shown::path(&child.dir), shown::path(&item.parent))));
        }
        if item.moved {
            continue;
        }
        if item.taken {
            return Err(unfit(&child.dir.join(&item.name), "something is there already"));
        }
        if items.iter().take(at).any(|other| other.name == item.name) {
            return Err(unfit(path, "another one of that name would move there too"));
        }
        if item.name == ".git" || item.name.to_string_lossy().starts_with(ASIDE) {
            return Err(unfit(path, "it belongs to the directory that it is in"));
        }
        match item.kind {
            Kind::File | Kind::Dir => {}
            Kind::Link => return Err(unfit(path, "it is a link; one level further down it would lead elsewhere")),
            Kind::Other => return Err(unfit(path, "it is neither a file nor a directory")),
        }
        if item.device != child.device {
            return Err(unfit(path, "it is on another file system, where a move is a copy that can be cut off half-way"));
        }
    }
    Ok(())
}

/// The plan: the directory, its owner file, and for each thing a rename and a link in its place.
#[must_use]
pub fn plan(items: &[Item], child: &Child, owner: Option<(&Ground, &str)>) -> Plan {
    let mut steps: Vec<Step> = child.missing.iter().map(|path| Step::MakeDir { path: path.clone() }).collect();
    if let Some((ground, text)) = owner {
        steps.extend(own::own(ground, text).steps);
    }
    for item in items.iter().filter(|item| !item.moved) {
        let to = child.dir.join(&item.name);
        let target = link(&to, &item.parent);
        steps.push(Step::Rename { from: item.path.clone(), to });
        steps.push(Step::Link { path: item.path.clone(), target });
    }
    Plan { steps }
}

/// The ground of a directory that is only going to be made.
#[must_use]
pub fn bare_ground(dir: &Path) -> Ground {
    Ground { dir: dir.to_owned(), dotdir: None, owner_file: None, leftover: false }
}

/// The nearest directory up from a path that has an owner file: whose it is, for comparing two places.
#[must_use]
pub fn owned_by(path: &Path) -> Option<PathBuf> {
    climb::up(path).find(|dir| crate::tree::card::owner(dir).is_some()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str, kind: Kind) -> Item {
        let path = PathBuf::from(path);
        Item {
            parent: path.parent().unwrap().to_owned(),
            name: path.file_name().unwrap().to_owned(),
            path,
            kind,
            device: 1,
            taken: false,
            moved: false,
        }
    }

    fn to(dir: &str) -> Child {
        Child { dir: dir.into(), kind: None, missing: vec![dir.into()], device: 1 }
    }

    fn why(items: &[Item], child: &Child) -> String {
        check(items, child).map_or_else(|unfit| unfit.why, |()| "fits".to_owned())
    }

    #[test]
    fn only_downwards_and_only_what_can_move() {
        let file = |path: &str| at(path, Kind::File);
        for (items, child, wanted) in [
            (vec![file("/r/a"), file("/r/x/b")], to("/r/x/new"), "fits"),
            (vec![file("/r/a")], to("/s/new"), "does not lie below"),
            (vec![file("/r/x/a")], to("/r/new"), "does not lie below"),
            (vec![at("/r/d", Kind::Dir)], to("/r/d/new"), "would lie in it"),
            (vec![at("/r/d", Kind::Dir)], to("/r/d"), "would lie in it"),
            (vec![file("/r/a")], to("/r"), "already"),
            (vec![file("/r/a"), file("/r/x/a")], to("/r/x/new"), "another one of that name"),
            (vec![Item { taken: true, ..file("/r/a") }], to("/r/new"), "something is there"),
            (vec![Item { device: 2, ..file("/r/a") }], to("/r/new"), "file system"),
            (vec![at("/r/l", Kind::Link)], to("/r/new"), "link"),
            (vec![at("/r/p", Kind::Other)], to("/r/new"), "neither"),
            (vec![at("/r/.git", Kind::Dir)], to("/r/new"), "belongs"),
            (vec![file("/r/a")], Child { kind: Some(Kind::File), ..to("/r/new") }, "no directory"),
        ] {
            let why = why(&items, &child);
            assert!(why.contains(wanted), "{items:?} {child:?}: {why}");
        }
    }

    #[test]
    fn the_link_is_relative() {
        let plan = plan(&[at("/r/a", Kind::File)], &to("/r/x/new"), None);
        assert_eq!(plan.steps.last(), Some(&Step::Link { path: "/r/a".into(), target: "x/new/a".into() }));
    }
}
