//! Putting a body on the disk: built aside and renamed into place, or added to what is there.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::layout::{self, IMPORT};
use super::{Node, What};
use crate::sys::disk::{self, Kind, PathError};
use crate::sys::plan::{Plan, PlanError, Step};
use crate::sys::process::Identity;
use crate::sys::shown;

/// Prefix of the hidden directories that bodies are built in; the rest is the builder's identity:
/// `.loci-new-PID-START-BOOT`.
const ASIDE: &str = ".loci-new-";

/// Why a body was not made; then nothing of it is there.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Something stands where the body should be.
    #[error("make {}: something is there already", shown::path(.path))]
    Taken {
        /// Where.
        path: PathBuf,
    },
    /// A link could not be made: not every file system has them.
    #[error(transparent)]
    NoLinks(PathError),
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] PathError),
    /// Something came in the way of what was to be added.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// The name of the directory that `builder` builds in.
fn aside_name(builder: &Identity) -> OsString {
    format!("{ASIDE}{}-{}-{}", builder.pid, builder.start, builder.boot).into()
}

/// The builder that such a name tells; `None` for any other name.
fn builder(name: &OsStr) -> Option<Identity> {
    let mut parts = name.to_str()?.strip_prefix(ASIDE)?.splitn(3, '-');
    let (pid, start, boot) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.to_owned());
    let found = Identity { pid, start, boot };
    // Only the one way of writing it counts: `+1` or `01` is somebody else's name.
    (aside_name(&found) == name).then_some(found)
}

/// Whether a path lies in a directory that a body is, or was, being built in.
#[must_use]
pub fn is_aside(path: &Path) -> bool {
    path.iter().any(|part| builder(part).is_some())
}

/// Directories in `parent` that a killed run left behind: their builder is gone.
///
/// # Errors
/// Where `parent` can't be listed.
pub fn leftovers(parent: &Path) -> Result<Vec<PathBuf>, PathError> {
    if !disk::is_dir(parent) {
        return Ok(Vec::new());
    }
    let dead = |name: &OsStr| builder(name).is_some_and(|who| !who.is_alive());
    let found = disk::list(parent)?.into_iter().filter(|entry| entry.kind == Kind::Dir && dead(&entry.name));
    Ok(found.map(|entry| parent.join(entry.name)).collect())
}

/// Directories that had to be made above something; taken back unless kept.
struct Parents {
    made: Vec<PathBuf>,
}

impl Parents {
    fn make(path: &Path) -> Result<Self, PathError> {
        let mut parents = Self { made: Vec::new() };
        match parents.up_to(path) {
            Ok(()) => Ok(parents),
            Err(error) => {
                parents.take_back();
                Err(error)
            }
        }
    }

    fn up_to(&mut self, path: &Path) -> Result<(), PathError> {
        if disk::is_dir(path) {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            self.up_to(parent)?;
        }
        disk::make_dir(path)?;
        self.made.push(path.to_owned());
        Ok(())
    }

    fn take_back(&self) {
        for dir in self.made.iter().rev() {
            // One that somebody else uses by now is not empty and stays.
            let _ = disk::remove_dir(dir);
        }
    }
}

/// Builds a body aside and renames it to `dir`, where nothing or an empty directory is.
///
/// # Errors
/// As [`BuildError`] says; then `dir` is as it was.
pub fn fresh(nodes: &[Node], dir: &Path) -> Result<(), BuildError> {
    aside(dir, |aside| fill(nodes, aside))
}

/// Has something built in a directory beside `dir`, and renames it to that. `build` makes the directory.
///
/// # Errors
/// Those of `build`, and as [`BuildError`] says; then `dir` is as it was.
pub fn aside<E: From<BuildError>>(dir: &Path, build: impl FnOnce(&Path) -> Result<(), E>) -> Result<(), E> {
    let taken = || BuildError::Taken { path: dir.to_owned() };
    let (Some(parent), Some(_)) = (dir.parent(), dir.file_name()) else { return Err(taken().into()) };
    let parents = Parents::make(parent).map_err(BuildError::from)?;
    let aside = parent.join(aside_name(&Identity::of_self()));
    let result = build(&aside).and_then(|()| Ok(place(&aside, dir, parent)?));
    if result.is_err() {
        // The first error is the one to tell; what stays is recognised by the next run.
        let _ = disk::remove_tree(&aside);
        parents.take_back();
    }
    result
}

fn fill(nodes: &[Node], aside: &Path) -> Result<(), BuildError> {
    disk::make_dir(aside)?;
    for node in nodes {
        let path = aside.join(&node.rel);
        match &node.what {
            What::Dir => disk::make_dir(&path)?,
            What::File { data, mode } => disk::write_aside(&path, data, *mode)?,
            What::Link(text) => disk::make_link(&path, text).map_err(BuildError::NoLinks)?,
        }
    }
    for node in nodes.iter().rev().filter(|node| node.what == What::Dir) {
        disk::sync_dir(&aside.join(&node.rel))?;
    }
    Ok(disk::sync_dir(aside)?)
}

fn place(aside: &Path, dir: &Path, parent: &Path) -> Result<(), BuildError> {
    let taken = |error: PathError| match error.source.kind() {
        std::io::ErrorKind::AlreadyExists | std::io::ErrorKind::DirectoryNotEmpty | std::io::ErrorKind::NotADirectory => {
            BuildError::Taken { path: dir.to_owned() }
        }
        _ => error.into(),
    };
    let before = disk::look(dir)?;
    if let Some(meta) = before {
        if meta.kind != Kind::Dir {
            return Err(BuildError::Taken { path: dir.to_owned() });
        }
        // An empty directory is replaced in one step; the kernel refuses one that is not empty.
        disk::set_mode(aside, meta.mode)?;
        disk::rename(aside, dir).map_err(taken)?;
    } else {
        disk::rename_noreplace(aside, dir).map_err(taken)?;
    }
    if let Err(error) = disk::sync_dir(parent) {
        // The name may not survive a crash, so it is not promised: taken back.
        disk::rename_noreplace(dir, aside)?;
        if before.is_some() {
            disk::make_dir(dir)?;
        }
        return Err(error.into());
    }
    Ok(())
}

/// Something that is there already, and stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Where.
    pub path: PathBuf,
    /// What to know about it; `None` where it is just there.
    pub note: Option<String>,
}

/// What is missing in an existing directory, and what is there.
#[derive(Debug, Clone, Default)]
pub struct Missing {
    /// What is missing: a directory comes before what is in it.
    pub nodes: Vec<Node>,
    /// What stays as it is.
    pub kept: Vec<Kept>,
}

/// Adds nodes that are missing (see [`missing`]) to `dir`: files are written aside, inside of `dir`, and renamed to where
/// nothing is. Killed at any moment each file is there whole or not at all, and one more run
/// completes the rest.
///
/// # Errors
/// As [`BuildError`] says; then `dir` is as it was.
pub fn add(nodes: &[Node], dir: &Path) -> Result<(), BuildError> {
    if nodes.is_empty() {
        return Ok(());
    }
    let aside = dir.join(aside_name(&Identity::of_self()));
    let result = add_from(nodes, dir, &aside);
    if result.is_err() {
        let _ = disk::remove_tree(&aside);
    }
    result
}

fn add_from(nodes: &[Node], dir: &Path, aside: &Path) -> Result<(), BuildError> {
    disk::make_dir(aside)?;
    let mut plan = Plan::default();
    let mut dirs = vec![dir.to_owned()];
    for (number, node) in nodes.iter().enumerate() {
        let path = dir.join(&node.rel);
        dirs.extend(path.parent().map(Path::to_owned));
        plan.steps.push(match &node.what {
            What::Dir => {
                dirs.push(path.clone());
                Step::MakeDir { path }
            }
            What::Link(target) => Step::Link { path, target: target.clone() },
            What::File { data, mode } => {
                let from = aside.join(number.to_string());
                disk::write_aside(&from, data, *mode)?;
                Step::Rename { from, to: path }
            }
        });
    }
    dirs.sort();
    dirs.dedup();
    plan.apply().map_err(|error| match error {
        PlanError::Disk(error) if error.verb == "make the link" => BuildError::NoLinks(error),
        other => other.into(),
    })?;
    let done = dirs.iter().try_for_each(|one| disk::sync_dir(one)).and_then(|()| disk::remove_dir(aside));
    if let Err(error) = done {
        plan.inverse().apply()?;
        return Err(error.into());
    }
    Ok(())
}

/// Finds what of a body is missing in `dir`, a real directory. Links in it are never followed.
///
/// # Errors
/// Where the disk can't say what is there.
pub fn missing(nodes: &[Node], dir: &Path) -> Result<Missing, PathError> {
    let mut out = Missing::default();
    // Directories that are not there for real: what would lie in them is left out.
    let mut closed: Vec<&Path> = Vec::new();
    for node in nodes {
        let path = dir.join(&node.rel);
        if closed.iter().any(|above| node.rel.starts_with(above)) {
            continue;
        }
        let there = disk::look(&path)?;
        match (&node.what, there) {
            (What::Dir, Some(meta)) if meta.kind == Kind::Dir => {}
            (What::Dir, Some(meta)) => {
                closed.push(&node.rel);
                let what = if meta.kind == Kind::Link { "it is a link: nothing was added behind it" } else { "it is no directory" };
                out.kept.push(Kept { path, note: Some(what.to_owned()) });
            }
            (_, Some(meta)) => {
                let note = note(node, &path, meta.kind);
                // A place holder that has nothing to hold any more is no news.
                out.kept.push(Kept { path, note });
            }

            (_, None) => {
                // A place holder is for a directory that would be empty.
                if node.rel.file_name() != Some(OsStr::new(".gitkeep")) || is_empty(path.parent())? {
                    out.nodes.push(node.clone());
                }
            }
        }
    }
    Ok(out)
}

fn is_empty(dir: Option<&Path>) -> Result<bool, PathError> {
    match dir {
        Some(dir) if disk::is_dir(dir) => Ok(disk::list(dir)?.is_empty()),
        _ => Ok(true),
    }
}

/// What somebody should know about a thing that stays.
fn note(node: &Node, path: &Path, kind: Kind) -> Option<String> {
    match &node.what {
        What::Link(text) if kind == Kind::Link => {
            let now = disk::read_link(path).ok()?;
            (now != *text).then(|| format!("it points to {}, not to {}", shown::path(&now), shown::path(text)))
        }
        What::Link(_) => {
            let (_, text) = layout::LINKS.iter().find(|(link, _)| node.rel == Path::new(link))?;
            Some(format!("it is no link to {text}: what is equipped in .loci is not seen there"))
        }
        What::File { data, .. } if data.starts_with(IMPORT.as_bytes()) && kind == Kind::File => {
            let (text, _) = disk::read_start(path, 1 << 20).ok()?;
            let imports = text.split(|byte| *byte == b'\n').any(|line| line.trim_ascii() == IMPORT.as_bytes());
            (!imports).then(|| format!("it does not import the instructions: add the line {IMPORT}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_builder_is_told_by_the_name() {
        let me = Identity::of_self();
        assert_eq!(builder(&aside_name(&me)), Some(me.clone()));
        assert_eq!(builder(OsStr::new(".loci-new-1-2-")), Some(Identity { pid: 1, start: 2, boot: String::new() }));
        for name in [
            ".loci-new-",
            ".loci-new-1",
            ".loci-new-1-2",
            ".loci-new-x-2-b",
            ".loci-new-01-2-b",
            ".loci-new-+1-2-b",
            "loci-new-1-2-b",
            ".loci",
        ] {
            assert_eq!(builder(OsStr::new(name)), None, "{name}");
        }
    }
}
