//! Saved loadouts: a folder each, with the pieces as they were and what they are known by.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::digest::{self, Entry};
use super::surface::Surface;
use super::{Level, LoadoutError, Settled, history, wear};
use crate::sys::disk::{self, Kind};
use crate::sys::journal::{Held, Scratch};
use crate::sys::pinned::Pins;
use crate::sys::plan::{Plan, Step};
use crate::sys::{random, shown, time};

/// The file in an archive that says what it is.
const RECORD: &str = "loadout.json";
/// The folder in an archive that holds the pieces.
const FILES: &str = "files";
/// What the names of backups start with; people can't give such names.
pub const RESERVED: char = '_';

/// Where archives are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stores {
    /// The home level's: also for backups and the history.
    pub home: PathBuf,
    /// The place's own, for a team; looked at first.
    pub place: Option<PathBuf>,
}

impl Stores {
    /// Both, the nearer one first.
    pub fn all(&self) -> impl Iterator<Item = &Path> {
        self.place.as_deref().into_iter().chain([self.home.as_path()])
    }
}

/// What an archive says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Version of the format.
    pub schema: u32,
    /// The hash of its content.
    pub hash: String,
    /// The harness whose surface it is.
    pub harness: String,
    /// The surface.
    pub surface: Surface,
    /// When it was made (RFC 3339).
    pub made: String,
}

/// A saved loadout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub dir: PathBuf,
    /// What it says of itself.
    pub record: Record,
}

impl Archive {
    /// The folder that stands for the directory it was taken from.
    #[must_use]
    pub fn files(&self) -> PathBuf {
        self.dir.join(FILES)
    }

    /// Whether it is a backup that an inject made.
    #[must_use]
    pub fn is_backup(&self) -> bool {
        self.name.starts_with(RESERVED)
    }

    /// Its entries, checked against the hash it is known by.
    ///
    /// # Errors
    /// [`LoadoutError::Damaged`] where somebody changed it.
    pub fn verified(&self) -> Result<Vec<Entry>, LoadoutError> {
        let entries = digest::list(&self.files(), &self.record.surface)?;
        if digest::hash(&entries) == self.record.hash {
            Ok(entries)
        } else {
            Err(LoadoutError::Damaged { name: self.name.clone(), path: self.dir.clone() })
        }
    }
}

/// Checks the name for an archive: one path component, not hidden, not one of ours.
///
/// # Errors
/// [`LoadoutError::BadName`].
pub fn check_name(name: &str) -> Result<(), LoadoutError> {
    let fits = !name.is_empty()
        && name.len() <= 200
        && !name.starts_with(['.', '-', RESERVED])
        && !name.chars().any(|c| c == '/' || c == '\\' || shown::hidden(c));
    if fits { Ok(()) } else { Err(LoadoutError::BadName(name.to_owned())) }
}

/// The archive of a name in a store.
///
/// # Errors
/// Where it is there and can't be read.
pub fn load(store: &Path, name: &str) -> Result<Option<Archive>, LoadoutError> {
    let dir = store.join(name);
    let path = dir.join(RECORD);
    let Some(text) = disk::read_if_there(&path)? else { return Ok(None) };
    let record: Record = wear::parse(&path, &text)?;
    let bad = |why: &str| LoadoutError::Record { path: path.clone(), why: why.to_owned() };
    if record.schema != 1 {
        return Err(bad("its version is not 1"));
    }
    if !record.surface.fits(&record.harness) {
        return Err(bad("its surface names what is no piece of a loadout"));
    }
    Ok(Some(Archive { name: name.to_owned(), dir, record }))
}

/// The archive of a name, the place's own store first.
///
/// # Errors
/// [`LoadoutError::NoSuchArchive`], or where it can't be read.
pub fn find(stores: &Stores, name: &str) -> Result<Archive, LoadoutError> {
    let missing = || LoadoutError::NoSuchArchive(name.to_owned());
    let plain = !name.is_empty() && !name.starts_with('.') && !name.contains('/') && !name.contains('\0');
    if !plain {
        return Err(missing());
    }
    for store in stores.all() {
        if let Some(archive) = load(store, name)? {
            return Ok(archive);
        }
    }
    Err(missing())
}

/// All archives, sorted bytewise by name, the nearer store first; and the folders that could not be
/// read as one.
///
/// # Errors
/// Where a store can't be listed.
pub fn all(stores: &Stores) -> Result<(Vec<Archive>, Vec<LoadoutError>), LoadoutError> {
    let (mut archives, mut broken) = (Vec::new(), Vec::new());
    for store in stores.all() {
        if !disk::is_dir(store) {
            continue;
        }
        for entry in disk::list(store)?.into_iter().filter(|entry| entry.kind == Kind::Dir) {
            let Some(name) = entry.name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            match load(store, name) {
                Ok(Some(archive)) => archives.push(archive),
                Ok(None) => {}
                Err(error) => broken.push(error),
            }
        }
    }
    // Stable: of one name in both stores, the nearer stays first.
    archives.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
    Ok((archives, broken))
}

/// Saves the loadout of a level under a name.
///
/// # Errors
/// Where the name is taken or none, the surface is empty, or the copy fails or differs; then nothing
/// is left behind.
pub fn save(level: &Level, store: &Path, name: &str, harness: &str, surface: &Surface) -> Result<(Archive, Settled), LoadoutError> {
    save_if(level, store, name, harness, surface, |_| true)
}

/// As [`save`], where `judge` lets the directory be made: it is asked under the lock, since what was judged before may
/// lead elsewhere by now.
///
/// # Errors
/// As [`save`], and [`LoadoutError::Elsewhere`] where it is not let.
pub fn save_if(
    level: &Level,
    store: &Path,
    name: &str,
    harness: &str,
    surface: &Surface,
    judge: impl FnOnce(&Path) -> bool,
) -> Result<(Archive, Settled), LoadoutError> {
    check_name(name)?;
    let (held, settled) = wear::begin(level, "loci loadout archive")?;
    if !judge(&store.join(name)) {
        return Err(LoadoutError::Elsewhere(level.dir.clone()));
    }
    Ok((put(&held, level, store, name, harness, surface)?, settled))
}

/// Copies a level's surface to a store, under the journal that is held.
pub(super) fn put(held: &Held, level: &Level, store: &Path, name: &str, harness: &str, surface: &Surface) -> Result<Archive, LoadoutError> {
    let dir = store.join(name);
    if disk::look(&dir)?.is_some() {
        return Err(LoadoutError::NameTaken(name.to_owned()));
    }
    let entries = digest::list(&level.dir, surface)?;
    if entries.is_empty() {
        return Err(LoadoutError::Empty(level.dir.clone()));
    }
    let record = Record {
        schema: 1,
        hash: digest::hash(&entries),
        harness: harness.to_owned(),
        surface: surface.clone(),
        made: time::to_second(time::now()),
    };
    let is_new = disk::look(store)?.is_none();
    disk::make_dirs(store)?;
    let kept = keep(held, level, store, name, surface, record);
    if kept.is_err() && is_new {
        // Nothing came of it: the folder goes again, where it is empty.
        let _ = disk::remove_dir(store);
    }
    kept
}

/// Copies what a record is about to a store that is there.
fn keep(held: &Held, level: &Level, store: &Path, name: &str, surface: &Surface, record: Record) -> Result<Archive, LoadoutError> {
    let dir = store.join(name);
    let stage = store.join(format!(".loci-new-{}", random::hex20().map_err(LoadoutError::Random)?));
    let scratch = [Scratch { path: stage.clone(), seal: None }];
    held.prepare(&scratch)?;
    let made = fill(level, &stage, surface, &record);
    let plan = Plan { steps: vec![Step::Rename { from: stage, to: dir.clone() }] };
    match made.and_then(|()| Ok(held.apply_with(&plan, &scratch, &|_, _| true)?)) {
        Ok(_) => Ok(Archive { name: name.to_owned(), dir, record }),
        Err(error) => {
            // Where even that fails, the next change does it.
            let _ = held.abandon();
            Err(error)
        }
    }
}

fn fill(level: &Level, stage: &Path, surface: &Surface, record: &Record) -> Result<(), LoadoutError> {
    let files = stage.join(FILES);
    disk::make_dir(stage)?;
    disk::make_dir(&files)?;
    copy(&level.dir, &files, surface)?;
    // Read back: what was written is what counts, and what changed while it was copied is not what
    // was hashed.
    let found = digest::of(&files, surface)?;
    if found != record.hash {
        return Err(LoadoutError::ChangedMeanwhile(level.dir.clone()));
    }
    let path = stage.join(RECORD);
    disk::write_new(&path, &wear::to_text(&path, record)?, 0o644)?;
    Ok(disk::sync_tree(stage)?)
}

/// Copies a surface from one base to another: files with their modes, links as links.
pub(super) fn copy(from: &Path, to: &Path, surface: &Surface) -> Result<(), LoadoutError> {
    for piece in surface.pieces() {
        if disk::look(&from.join(piece))?.is_some()
            && let Some(parent) = to.join(piece).parent()
        {
            disk::make_dirs(parent)?;
        }
        copy_thing(from, to, &surface.only(piece))?;
    }
    Ok(())
}

fn copy_thing(from: &Path, to: &Path, surface: &Surface) -> Result<(), LoadoutError> {
    for seen in digest::walk(from, surface)? {
        copy_one(&from.join(&seen.path), &to.join(&seen.path), seen.kind)?;
    }
    Ok(())
}

fn copy_one(source: &Path, target: &Path, kind: Kind) -> Result<(), LoadoutError> {
    match kind {
        Kind::Dir => {
            disk::make_dir(target)?;
            let mode = disk::look(source)?.map_or(0o755, |meta| meta.mode) | 0o700;
            if disk::look(target)?.is_some_and(|meta| meta.mode != mode) {
                disk::set_mode(target, mode)?;
            }
        }
        Kind::File => disk::copy_file(source, target)?,
        Kind::Link => disk::make_link(target, &disk::read_link(source)?)?,
        Kind::Other => return Err(LoadoutError::Special(source.to_owned())),
    }
    Ok(())
}

/// Copies one file, link or directory to a name that is free; paths in `left_out` (relative to
/// `source`) are not copied.
pub(super) fn copy_to(source: &Path, target: &Path, left_out: &[PathBuf]) -> Result<(), LoadoutError> {
    let (Some(parent), Some(name)) = (source.parent(), source.file_name()) else { return Ok(()) };
    let surface =
        Surface { files: vec![name.into()], dirs: Vec::new(), left_out: left_out.iter().map(|path| Path::new(name).join(path)).collect() };
    for seen in digest::walk(parent, &surface)? {
        let rest = seen.path.strip_prefix(name).unwrap_or(&seen.path);
        let to = if rest.as_os_str().is_empty() { target.to_owned() } else { target.join(rest) };
        copy_one(&parent.join(&seen.path), &to, seen.kind)?;
    }
    Ok(())
}

/// Removes an archive, under the lock of the level: first out of sight in one step, then for good.
///
/// # Errors
/// Where there is none of the name, or it can't be removed.
pub fn remove(level: &Level, stores: &Stores, names: &[String], what: &str) -> Result<Settled, LoadoutError> {
    remove_if(level, stores, names, what, |_| true)
}

/// As [`remove`], where `judge` lets each go: it is asked under the lock, about the directory that is then renamed away.
///
/// # Errors
/// As [`remove`], and [`LoadoutError::Elsewhere`] where one is not let.
pub fn remove_if(
    level: &Level,
    stores: &Stores,
    names: &[String],
    what: &str,
    judge: impl Fn(&Path) -> bool,
) -> Result<Settled, LoadoutError> {
    let (mut held, settled) = wear::begin(level, what)?;
    for name in names {
        let archive = find(stores, name)?;
        let Some(store) = archive.dir.parent() else { continue };
        let pins = Pins::of([archive.dir.as_path()])?;
        if !judge(&pins.real(&archive.dir)) {
            return Err(LoadoutError::Elsewhere(level.dir.clone()));
        }
        held.pin(pins);
        let away = store.join(format!(".loci-old-{}", random::hex20().map_err(LoadoutError::Random)?));
        let plan = Plan { steps: vec![Step::Rename { from: archive.dir.clone(), to: away.clone() }] };
        held.apply_with(&plan, &[Scratch { path: away, seal: None }], &|_, _| true)?;
    }
    Ok(settled)
}

/// The backups beyond the `keep` that were needed last, oldest first.
///
/// # Errors
/// Where a store or the history can't be read.
pub fn prunable(stores: &Stores, keep: usize) -> Result<Vec<Archive>, LoadoutError> {
    let home = Stores { home: stores.home.clone(), place: None };
    let mut backups: Vec<Archive> = all(&home)?.0.into_iter().filter(Archive::is_backup).collect();
    // The same content is kept once: what counts is when it was last put aside, not when first.
    let lines = history::all(stores)?;
    let used = |name: &str| lines.iter().rposition(|line| line.was == name);
    backups.sort_by(|a, b| (used(&a.name), &a.record.made, &a.name).cmp(&(used(&b.name), &b.record.made, &b.name)));
    backups.truncate(backups.len().saturating_sub(keep));
    Ok(backups)
}

/// How two lists of entries differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The path, relative to the directory.
    pub path: PathBuf,
    /// `added`, `removed`, `changed`, as seen from the first list to the second.
    pub how: &'static str,
}

/// What has to change in `one` to make it `two`, sorted by path.
#[must_use]
pub fn differences(one: &[Entry], two: &[Entry]) -> Vec<Difference> {
    let by_path = |entries: &'_ [Entry]| -> BTreeMap<Vec<u8>, Entry> {
        entries.iter().map(|entry| (std::os::unix::ffi::OsStrExt::as_bytes(entry.path.as_os_str()).to_vec(), entry.clone())).collect()
    };
    let (one, two) = (by_path(one), by_path(two));
    let mut found: BTreeMap<&[u8], Difference> = BTreeMap::new();
    for (key, entry) in &one {
        let how = match two.get(key) {
            None => "removed",
            Some(other) if other == entry => continue,
            Some(_) => "changed",
        };
        found.insert(key, Difference { path: entry.path.clone(), how });
    }
    for (key, entry) in two.iter().filter(|(key, _)| !one.contains_key(*key)) {
        found.insert(key, Difference { path: entry.path.clone(), how: "added" });
    }
    found.into_values().collect()
}
