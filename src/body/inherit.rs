//! A child of a body: the whole directory, without its memory, under another id.
//!
//! [`find`] reads the parent into a list of what comes along and what stays, [`make`] builds the child aside
//! and renames it. Nothing of the parent is ever written to.

mod name;
mod names;

use std::path::{Component, Path, PathBuf};

use names::Names;

use super::build::{self, BuildError};
use super::memory::Memory;
use super::template;
use crate::loadout::surface::Surface;
use crate::loadout::{Level, LoadoutError, digest, transport};
use crate::sys::disk::{self, Kind, PathError};
use crate::sys::shown;
use crate::text::name::AgentId;
use crate::tree::card::{self, AgentFile};
use crate::tree::dotdirs::Dotdirs;
use crate::tree::secrets;
use crate::tree::transport::{self as by_name, Why};

/// At most this many things in a body.
const MAX_ITEMS: usize = 1_000_000;
/// At most this many directories deep.
const MAX_DEPTH: usize = 256;
/// The harness whose surface the loadout's hash is over.
const HARNESS: &str = "claude";

/// Something that comes along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its path in the body.
    pub rel: PathBuf,
    /// What it is.
    pub what: What,
}

/// What comes along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A directory with these permission bits.
    Dir(u32),
    /// A file, byte for byte.
    File,
    /// A file with one line changed, and its permission bits.
    Edited(Vec<u8>, u32),
    /// A link with this text.
    Link(PathBuf),
    /// A named pipe with these permission bits.
    Pipe(u32),
}

/// Something that stays behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path in the parent.
    pub rel: PathBuf,
    /// Why.
    pub why: String,
}

/// What a child is made of.
#[derive(Debug)]
pub struct Inheritance {
    /// The parent, real.
    pub parent: PathBuf,
    /// How the child's identity file names it.
    pub named: String,
    /// What comes along, a directory before what is in it.
    pub items: Vec<Item>,
    /// What stays behind, sorted.
    pub left_out: Vec<LeftOut>,
    /// What is to be said besides.
    pub notes: Vec<String>,
    /// The hash of the parent's loadout without what must not travel: the child's.
    pub loadout: String,
    mode: u32,
}

/// Why nothing can be inherited; then nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum InheritError {
    /// Something about the parent does not allow it.
    #[error("inherit from {}: {why}", shown::path(.path))]
    Unfit {
        /// Which file or directory.
        path: PathBuf,
        /// The line, from 1.
        line: Option<usize>,
        /// What is wrong.
        why: String,
    },
    /// The parent's loadout can't be read.
    #[error(transparent)]
    Loadout(#[from] LoadoutError),
    /// The child could not be put on the disk.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The disk.
    #[error(transparent)]
    Disk(#[from] PathError),
}

fn unfit(path: &Path, line: Option<usize>, why: impl Into<String>) -> InheritError {
    InheritError::Unfit { path: path.to_owned(), line, why: why.into() }
}

/// Reads what a child in `child` (absolute, as real as it gets) inherits. `top` bounds how far a relative
/// path to the parent may go; from farther away the child names its parent by id.
///
/// # Errors
/// As [`InheritError`] says.
pub fn find(
    card: &AgentFile,
    parent: &Path,
    child: &Path,
    id: &AgentId,
    top: &Path,
    dotdirs: &Dotdirs,
) -> Result<Inheritance, InheritError> {
    let memory = Memory::new(&card.memory).map_err(|why| unfit(&card.path, None, why))?;
    let level = Level { dir: parent.to_owned(), dotdirs: dotdirs.clone(), state: PathBuf::new() };
    let whole = Surface::of(&level, HARNESS, &[]).unwrap_or_default();
    let untransportable = transport::failing(parent, &whole)?;
    let portable = Surface { left_out: untransportable.iter().map(|one| one.path.clone()).collect(), ..whole };
    let mode = disk::look(parent)?.map_or(0o755, |meta| meta.mode & 0o7777);
    let named = name_of_parent(card, parent, child, top);
    let mut found = Inheritance {
        parent: parent.to_owned(),
        named,
        items: Vec::new(),
        left_out: Vec::new(),
        notes: Vec::new(),
        loadout: digest::of(parent, &portable)?,
        mode,
    };
    let names = Names::of(parent, &memory)?;
    let walk = Walk { parent, child, memory, dotdirs, portable: &portable, names };
    let mut open = vec![PathBuf::new()];
    while let Some(dir) = open.pop() {
        if dir.components().count() > MAX_DEPTH {
            return Err(unfit(&parent.join(&dir), None, format!("it is more than {MAX_DEPTH} directories deep")));
        }
        for entry in disk::list(&parent.join(&dir))? {
            let rel = dir.join(&entry.name);
            match walk.look(&rel, entry.kind)? {
                Ok(what) => {
                    if matches!(what, What::Dir(_)) {
                        open.push(rel.clone());
                    }
                    found.items.push(Item { rel, what });
                }
                Err(why) => found.left_out.push(LeftOut { rel, why }),
            }
            if found.items.len() > MAX_ITEMS {
                return Err(unfit(parent, None, format!("there are more than {MAX_ITEMS} files in it")));
            }
        }
    }
    found.items.sort_by(|a, b| a.rel.cmp(&b.rel));
    found.left_out.sort_by(|a, b| a.rel.cmp(&b.rel));
    name::rename(&mut found, card, id)?;
    Ok(found)
}

/// How the child names its parent: by a relative path where both lie below one top, else by id. Never by a
/// path of this machine.
fn name_of_parent(card: &AgentFile, parent: &Path, child: &Path, top: &Path) -> String {
    let by_id = || card.id.value.to_string();
    if !(parent.starts_with(top) && child.starts_with(top)) && parent.parent() != child.parent() {
        return by_id();
    }
    let common = parent.components().zip(child.components()).take_while(|(a, b)| a == b).count();
    let mut path = PathBuf::new();
    path.extend(child.components().skip(common).map(|_| ".."));
    path.extend(parent.components().skip(common));
    path.to_str().filter(|path| !path.chars().any(shown::hidden)).map_or_else(by_id, str::to_owned)
}

struct Walk<'a> {
    parent: &'a Path,
    child: &'a Path,
    memory: Memory,
    dotdirs: &'a Dotdirs,
    portable: &'a Surface,
    names: Names,
}

impl Walk<'_> {
    /// What comes along of a thing, or why nothing does.
    fn look(&self, rel: &Path, kind: Kind) -> Result<Result<What, String>, InheritError> {
        let path = self.parent.join(rel);
        let names = self.names.of_path(rel);
        if let Some(why) = self.memory.of_any(&names) {
            return Ok(Err(why));
        }
        if kind == Kind::File && self.names.is_remembered(&path)? {
            return Ok(Err("memory: another name of a file in it".to_owned()));
        }
        if build::is_aside(rel) || rel.file_name().is_some_and(|name| name.to_string_lossy().starts_with(disk::TEMP_PREFIX)) {
            return Ok(Err("it is being built".to_owned()));
        }
        let held_back = self.portable.left_out.iter().any(|one| one == rel) || names.iter().any(|name| self.in_dotdir(name));
        if held_back && let Some(why) = transport::of(self.parent, rel, kind)? {
            return Ok(Err(why.text().to_owned()));
        }
        if self.is_secret(rel, &names, kind)? {
            return Ok(Err(Why::Token.text().to_owned()));
        }
        Ok(match kind {
            Kind::Dir => match card::agent(&path) {
                Some(Ok(card)) => Err(format!("another agent lives there: {}", card.id.value)),
                Some(Err(_)) => Err("another agent lives there".to_owned()),
                None => Ok(What::Dir(self.mode(&path)?)),
            },
            Kind::Link => self.link(rel, disk::read_link(&path)?)?,
            Kind::File if rel.file_name().is_some_and(|name| name == ".git") => self.pointer(rel, &path)?,
            Kind::File => Ok(What::File),
            Kind::Other if disk::is_pipe(&path)? => Ok(What::Pipe(self.mode(&path)?)),
            Kind::Other => Err("it is a socket or a device of this machine".to_owned()),
        })
    }

    /// Whether a thing is a secret by any of its names, or a file says so: of the loadout it has been asked already.
    fn is_secret(&self, rel: &Path, names: &[PathBuf], kind: Kind) -> Result<bool, PathError> {
        match kind {
            Kind::Dir => Ok(names.iter().any(|name| secrets::in_folder(name))),
            Kind::File if names.iter().any(|name| by_name::by_name(name) == Some(Why::Token)) => Ok(true),
            Kind::File if self.names.is_secret(&self.parent.join(rel))? => Ok(true),
            Kind::File => disk::any_piece(&self.parent.join(rel), |piece| secrets::line(piece).is_some()),
            Kind::Link | Kind::Other => Ok(false),
        }
    }

    fn mode(&self, path: &Path) -> Result<u32, PathError> {
        Ok(disk::look(path)?.map_or(0o700, |meta| meta.mode & 0o7777))
    }

    /// Whether a path lies in a config dotdir: there the transport test holds.
    fn in_dotdir(&self, rel: &Path) -> bool {
        rel.parent().into_iter().flat_map(Path::iter).any(|part| part.to_str().is_some_and(|part| self.dotdirs.layer(part).is_some()))
    }

    /// A link comes along with its text. One whose text means another place there is no heir's.
    fn link(&self, rel: &Path, text: PathBuf) -> Result<Result<What, String>, InheritError> {
        let from = |base: &Path| plain(&base.join(rel).parent().unwrap_or(base).join(&text));
        let (before, after) = (from(self.parent), from(self.child));
        if text.is_absolute() {
            let inside = before.starts_with(self.parent);
            return Ok(if inside {
                Err("it is a link into the parent by a path of this machine".to_owned())
            } else {
                Ok(What::Link(text))
            });
        }
        if before.starts_with(self.parent) && after.starts_with(self.child) || before == after && !before.starts_with(self.parent) {
            return Ok(Ok(What::Link(text)));
        }
        let why = format!("its link {} leads out of it, and would lead elsewhere from {}", shown::path(rel), shown::path(self.child));
        Err(unfit(&self.parent.join(rel), None, why))
    }

    /// A `.git` that is a file leads to a repository. One elsewhere keeps count of the parent's files only.
    fn pointer(&self, rel: &Path, path: &Path) -> Result<Result<What, String>, InheritError> {
        let (text, _) = disk::read_start(path, 4096)?;
        let text = String::from_utf8_lossy(&text);
        let target = text.trim().strip_prefix("gitdir:").map(|target| PathBuf::from(target.trim()));
        let inside = target
            .filter(|target| !target.is_absolute())
            .is_some_and(|target| plain(&self.parent.join(rel).parent().unwrap_or(self.parent).join(target)).starts_with(self.parent));
        Ok(if inside { Ok(What::File) } else { Err("it leads to a repository that is the parent's".to_owned()) })
    }
}

/// A path with `.` and `..` worked out as they are written.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

/// Whether something among it takes effect without being read by anybody first.
#[must_use]
pub fn needs_person(found: &Inheritance) -> Option<&Path> {
    found
        .items
        .iter()
        .filter(|item| !matches!(item.what, What::Dir(_)))
        .map(|item| item.rel.as_path())
        .find(|rel| template::needs_person(rel).is_some())
}

/// Builds the child aside and renames it to `child`, where nothing is.
///
/// # Errors
/// As [`InheritError`] says; then nothing is there.
pub fn make(found: &Inheritance, child: &Path, dotdirs: &Dotdirs) -> Result<(), InheritError> {
    build::aside(child, |aside| {
        copy(found, aside)?;
        let level = Level { dir: aside.to_owned(), dotdirs: dotdirs.clone(), state: PathBuf::new() };
        let surface = Surface::of(&level, HARNESS, &[]).unwrap_or_default();
        // Whoever changed the parent meanwhile has made two halves of it.
        if digest::of(aside, &surface)? != found.loadout {
            return Err(unfit(&found.parent, None, "its loadout changed while it was copied: once more"));
        }
        Ok(())
    })
}

fn copy(found: &Inheritance, aside: &Path) -> Result<(), InheritError> {
    disk::make_dir(aside)?;
    for Item { rel, what } in &found.items {
        let to = aside.join(rel);
        match what {
            What::Dir(_) => disk::make_dir(&to)?,
            What::File => disk::copy_file(&found.parent.join(rel), &to)?,
            What::Edited(data, mode) => disk::write_aside(&to, data, Some(*mode))?,
            What::Link(text) => disk::make_link(&to, text).map_err(BuildError::NoLinks)?,
            What::Pipe(mode) => disk::make_pipe(&to, *mode)?,
        }
    }
    // Written before they may be closed to us.
    disk::sync_tree(aside)?;
    for Item { rel, what } in found.items.iter().rev() {
        if let What::Dir(mode) = what {
            disk::set_mode(&aside.join(rel), *mode)?;
        }
    }
    disk::set_mode(aside, found.mode)?;
    Ok(disk::sync_dir(aside)?)
}
