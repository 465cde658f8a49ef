//! What a command has changed in the layers over others' directories: as files before and after.

use std::path::{Path, PathBuf};

use crate::custody::changes::FileChange;
use crate::custody::gitpatch::LINK;
use crate::sys::disk::{self, Kind, PathError};
use crate::sys::jail::layer;
use crate::sys::process::Identity;
use crate::sys::shown;

/// How many changed files are taken up.
const MAX_FILES: usize = 5_000;
/// The largest file that is taken up, in bytes.
const MAX_FILE: u64 = 16 << 20;
/// The most of all of them.
const MAX_ALL: usize = 64 << 20;
/// The deepest directory that is looked into.
const MAX_DEPTH: usize = 512;

/// What was changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Harvest {
    /// File by file; removals come first.
    pub files: Vec<FileChange>,
    /// What no change of a file says, and why.
    pub left: Vec<(PathBuf, &'static str)>,
    /// Files whose mode would be one that a patch does not say.
    pub modes: Vec<(PathBuf, u32)>,
    /// How many files were rewritten with what stood in them before.
    pub same: usize,
    bytes: usize,
}

/// The directories of one layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// The directory that it goes over.
    pub over: PathBuf,
    /// Where changes land.
    pub upper: PathBuf,
    /// For the kernel.
    pub work: PathBuf,
}

/// Makes the directories for layers over these directories in the state folder, each run in its own.
///
/// # Errors
/// Where they can't be made.
pub fn prepare(state: &Path, over: &[PathBuf]) -> Result<(PathBuf, Vec<Layer>), PathError> {
    let all = state.join("captures");
    disk::make_dirs(&all)?;
    sweep(&all);
    let me = Identity::of_self();
    let base = all.join(format!("{}.{}", me.pid, me.start));
    remove(&base)?;
    disk::make_dirs(&base)?;
    let mut layers = Vec::new();
    for (at, over) in over.iter().enumerate() {
        let dir = base.join(at.to_string());
        let layer = Layer { over: over.clone(), upper: dir.join("upper"), work: dir.join("work") };
        disk::make_dirs(&layer.upper)?;
        disk::make_dirs(&layer.work)?;
        if let Some(meta) = disk::look(over)? {
            disk::set_mode(&layer.upper, meta.mode)?;
        }
        layers.push(layer);
    }
    Ok((base, layers))
}

/// The name of a file in a run's directories: somebody was told that something lies there.
const TOLD: &str = "told";

/// Leaves a run's directories for whoever is told of them, also where a program in the background still writes there;
/// their name from then on.
///
/// # Errors
/// Where that can't be noted: then the next run takes them away.
pub fn leave(base: &Path, ended: bool) -> Result<PathBuf, PathError> {
    let kept = base.with_extension("kept");
    if ended && disk::rename(base, &kept).is_ok() {
        return Ok(kept);
    }
    disk::write_new(&base.join(TOLD), b"", 0o600)?;
    Ok(base.to_owned())
}

/// Takes away what runs that were killed have left, and nothing that somebody was told of.
fn sweep(all: &Path) {
    let boot = Identity::of_self().boot;
    for entry in disk::list_unsorted(all).unwrap_or_default() {
        let parts = entry
            .name
            .to_str()
            .and_then(|name| name.split_once('.'))
            .and_then(|(pid, start)| Some((pid.parse().ok()?, start.parse().ok()?)));
        if let Some((pid, start)) = parts
            && !(Identity { pid, start, boot: boot.clone() }).is_alive()
            && matches!(disk::look(&all.join(&entry.name).join(TOLD)), Ok(None))
        {
            let _ = remove(&all.join(entry.name));
        }
    }
}

/// Removes a run's directories. The kernel leaves one that nobody may look into.
///
/// # Errors
/// Where something can't be removed.
pub fn remove(base: &Path) -> Result<(), PathError> {
    if disk::look(base)?.is_none() {
        return Ok(());
    }
    open_up(base, 0);
    disk::remove_tree(base)
}

fn open_up(dir: &Path, depth: usize) {
    let _ = disk::set_mode(dir, 0o700);
    if depth < MAX_DEPTH {
        for entry in disk::list_unsorted(dir).unwrap_or_default().into_iter().filter(|entry| entry.kind == Kind::Dir) {
            open_up(&dir.join(entry.name), depth + 1);
        }
    }
}

/// Reads what landed in a layer.
pub fn harvest(layer: &Layer, out: &mut Harvest) {
    below(&layer.over, &layer.upper, false, 0, out);
    // Making needs the place that removing clears.
    out.files.sort_by_key(|file| file.will.is_some());
}

fn below(lower: &Path, upper: &Path, hidden: bool, depth: usize, out: &mut Harvest) {
    let entries = match disk::list(upper) {
        Ok(entries) if depth < MAX_DEPTH => entries,
        _ => return out.left.push((lower.to_owned(), "can't be looked into")),
    };
    if hidden {
        // What is not in the upper directory by that name is gone.
        for entry in disk::list(lower).unwrap_or_default() {
            if !entries.iter().any(|other| other.name == entry.name) {
                gone(&lower.join(entry.name), depth, out);
            }
        }
    }
    for entry in entries {
        let (low, up) = (lower.join(&entry.name), upper.join(&entry.name));
        let stood = disk::look(&low).ok().flatten().map(|meta| meta.kind);
        match entry.kind {
            Kind::Other if layer::is_removed(&up) => gone(&low, depth, out),
            Kind::Other => out.left.push((low, "a pipe, a socket or a device")),
            Kind::Dir => {
                if stood.is_some() && stood != Some(Kind::Dir) {
                    gone(&low, depth, out);
                }
                let hides = hidden || layer::hides_all(&up);
                if stood != Some(Kind::Dir) && disk::list(&up).is_ok_and(|inside| inside.is_empty()) {
                    out.left.push((low, "an empty directory"));
                } else {
                    below(&low, &up, hides && stood == Some(Kind::Dir), depth + 1, out);
                }
            }
            Kind::File | Kind::Link => {
                if stood == Some(Kind::Dir) {
                    gone(&low, depth, out);
                }
                changed(&low, stood, &up, out);
            }
        }
    }
}

/// All files at and below a path were removed.
fn gone(path: &Path, depth: usize, out: &mut Harvest) {
    match disk::look(path).ok().flatten().map(|meta| meta.kind) {
        None => {}
        Some(Kind::Other) => out.left.push((path.to_owned(), "a pipe, a socket or a device")),
        Some(Kind::Dir) if depth >= MAX_DEPTH => out.left.push((path.to_owned(), "too deep")),
        Some(Kind::Dir) => {
            for entry in disk::list(path).unwrap_or_default() {
                gone(&path.join(entry.name), depth + 1, out);
            }
        }
        Some(Kind::File | Kind::Link) => {
            if let Some((was, _)) = content(path, path, out) {
                take(FileChange { path: path.to_owned(), mode: None, was: Some(was), will: None }, out);
            }
        }
    }
}

fn changed(low: &Path, stood: Option<Kind>, up: &Path, out: &mut Harvest) {
    let Some((will, mode)) = content(up, low, out) else { return };
    let before = if matches!(stood, Some(Kind::File | Kind::Link)) {
        let Some(before) = content(low, low, out) else { return };
        Some(before)
    } else {
        None
    };
    if says_less(before.as_ref().map(|(_, mode)| *mode), mode) {
        out.modes.push((low.to_owned(), mode & 0o7777));
    }
    let runs = |mode: u32| mode != LINK && mode & 0o100 != 0;
    let mode = match &before {
        Some((was, old)) if (*old == LINK) == (mode == LINK) && runs(*old) == runs(mode) => {
            if *was == will {
                out.same += 1;
                return;
            }
            (mode == LINK).then_some(LINK)
        }
        _ => Some(if mode == LINK { LINK } else { mode & 0o777 }),
    };
    take(FileChange { path: low.to_owned(), mode, was: before.map(|(was, _)| was), will: Some(will) }, out);
}

/// The content of a file or the text of a link, with its mode; what can't be had is said of the file that is `meant`.
fn content(path: &Path, meant: &Path, out: &mut Harvest) -> Option<(Vec<u8>, u32)> {
    use std::os::unix::ffi::OsStringExt as _;
    let meta = disk::look(path).ok().flatten()?;
    if meta.kind == Kind::Link {
        return disk::read_link(path).ok().map(|text| (text.into_os_string().into_vec(), LINK));
    }
    match disk::read_bounded(path, MAX_FILE) {
        Ok(Some(data)) => Some((data, meta.mode)),
        Ok(None) => {
            out.left.push((meant.to_owned(), "larger than 16 MiB"));
            None
        }
        Err(_) => {
            out.left.push((meant.to_owned(), "can't be read"));
            None
        }
    }
}

/// Whether a patch, which says of a mode only whether the file can be run, leaves something of it out: it was changed, or
/// a new file has not what a file gets by itself.
fn says_less(before: Option<u32>, mode: u32) -> bool {
    const RUNS: u32 = 0o111;
    match before {
        _ if mode == LINK => false,
        Some(before) if before != LINK => (before ^ mode) & 0o7777 & !RUNS != 0,
        _ => mode & 0o7000 != 0 || mode & 0o666 != 0o666 & !disk::mask(),
    }
}

fn take(file: FileChange, out: &mut Harvest) {
    let size = file.was.as_ref().map_or(0, Vec::len) + file.will.as_ref().map_or(0, Vec::len);
    if out.files.len() >= MAX_FILES || out.bytes + size > MAX_ALL {
        return out.left.push((file.path, "there is too much"));
    }
    out.bytes += size;
    out.files.push(file);
}

impl Harvest {
    /// What was left out, a line each.
    pub fn left_out(&self) -> impl Iterator<Item = String> {
        let mode = |(path, mode): &(PathBuf, u32)| {
            format!("{}: its mode {mode:o}: a patch says only whether a file can be run", shown::path(path))
        };
        self.left.iter().map(|(path, why)| format!("{}: {why}", shown::path(path))).chain(self.modes.iter().map(mode))
    }
}
