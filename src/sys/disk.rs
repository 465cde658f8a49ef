//! The disk: reads that can't be fooled into blocking, writes that can't leave half a file.

use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::fault::step;
use super::shown;

mod alter;
mod copy;
mod read;
mod rename;
mod write;

pub use alter::{
    empty, is_pipe, make_link, make_pipe, mask, remove_dir, remove_file, remove_tree, set_mode, sync_dir, sync_dirs, sync_parent, sync_tree,
};
pub use copy::copy_file;
pub(in crate::sys) use read::open_own;
pub use read::{any_piece, read, read_bounded, read_end, read_if_there, read_pieces, read_start};
use read::{open_regular, open_unfollowed, read_at_most};
pub(super) use rename::noreplace_by_look;
pub use rename::{exchange, mend_exchange, mend_rename, rename, rename_noreplace};
pub use write::{
    TEMP_PREFIX, append, append_unsynced, make_dir, make_dirs, remove_known, replace, replace_known, replace_unsynced, rewrite,
    sweep_temps, write_aside, write_copy, write_new,
};

/// An operation on a path that could not be carried out; reads on after "failed to …".
#[derive(Debug, thiserror::Error)]
#[error("{verb} {}", shown::path(.path))]
pub struct PathError {
    /// What was tried, as a verb: `read`, `rename`, …
    pub verb: &'static str,
    /// On which path.
    pub path: PathBuf,
    /// Why it failed.
    #[source]
    pub source: io::Error,
}

impl PathError {
    /// Makes one; also for `map_err`.
    pub fn new(verb: &'static str, path: &Path, source: io::Error) -> Self {
        Self { verb, path: path.to_owned(), source }
    }
}

/// The outcome of an operation on the disk.
pub type Outcome<T = ()> = Result<T, PathError>;

fn tell<T>(verb: &'static str, path: &Path, result: io::Result<T>) -> Outcome<T> {
    result.map_err(|source| PathError::new(verb, path, source))
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Link,
    /// A pipe, a socket, a device: never opened.
    Other,
}

impl From<fs::FileType> for Kind {
    fn from(kind: fs::FileType) -> Self {
        if kind.is_file() {
            Self::File
        } else if kind.is_dir() {
            Self::Dir
        } else if kind.is_symlink() {
            Self::Link
        } else {
            Self::Other
        }
    }
}

/// What the disk says about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    /// What stands there.
    pub kind: Kind,
    /// Length in bytes.
    pub len: u64,
    /// Permission bits, as in `0o644`.
    pub mode: u32,
    /// Device and inode: the identity of the object.
    pub id: (u64, u64),
    /// Time of the last change of content, in nanoseconds since 1970.
    pub mtime_ns: i128,
    /// Who owns it on disk (user id).
    pub uid: u32,
}

impl From<fs::Metadata> for Meta {
    fn from(meta: fs::Metadata) -> Self {
        Self {
            kind: meta.file_type().into(),
            len: meta.len(),
            mode: meta.mode() & 0o7777,
            id: (meta.dev(), meta.ino()),
            mtime_ns: i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec()),
            uid: meta.uid(),
        }
    }
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: OsString,
    /// What it is; links are not followed.
    pub kind: Kind,
    /// The inode, as the directory names it.
    pub inode: u64,
}

/// Whether an error means that nothing is there.
#[must_use]
pub fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What stands at `path`, links not followed; `None` where nothing does.
///
/// # Errors
/// Where the disk can't say (no permission to look, a loop of links above it, a name too long).
pub fn look(path: &Path) -> Outcome<Option<Meta>> {
    tell("look at", path, present(fs::symlink_metadata(path)).map(|meta| meta.map(Meta::from)))
}

/// What stands at `path`, links followed; `None` where nothing does, also behind a dangling link.
///
/// # Errors
/// As [`look`].
pub fn look_through(path: &Path) -> Outcome<Option<Meta>> {
    tell("look at", path, present(fs::metadata(path)).map(|meta| meta.map(Meta::from)))
}

/// When anything about what stands at `path` has last changed (content, mode, names), by the disk's own clock,
/// in nanoseconds since 1970; links not followed. No program can set it. `None` where it can't be told.
#[must_use]
pub fn changed_ns(path: &Path) -> Option<i128> {
    let meta = fs::symlink_metadata(path).ok()?;
    Some(i128::from(meta.ctime()) * 1_000_000_000 + i128::from(meta.ctime_nsec()))
}

/// How many names a regular file has; 1 where that can't be told.
#[must_use]
pub fn names_of(path: &Path) -> u64 {
    fs::symlink_metadata(path).map_or(1, |meta| meta.nlink())
}

/// Whether a directory is there, links followed. What can't be looked at counts as not there.
#[must_use]
pub fn is_dir(path: &Path) -> bool {
    matches!(look_through(path), Ok(Some(Meta { kind: Kind::Dir, .. })))
}

/// Whether a regular file is there, links followed. What can't be looked at counts as not there.
#[must_use]
pub fn is_file(path: &Path) -> bool {
    matches!(look_through(path), Ok(Some(Meta { kind: Kind::File, .. })))
}

/// Where a link points to, as it is written.
///
/// # Errors
/// Where it is no link, or can't be read.
pub fn read_link(path: &Path) -> Outcome<PathBuf> {
    tell("read the link", path, fs::read_link(path))
}

/// What a path is to somebody who follows links by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing is there.
    Absent,
    /// Something that is no link.
    Solid,
    /// A link with this text.
    Link(PathBuf),
}

/// Looks whether a path is a link, in one call.
///
/// # Errors
/// Where the disk can't say (no permission to look, a name too long).
pub fn step_at(path: &Path) -> Outcome<Step> {
    match fs::read_link(path) {
        Ok(target) => Ok(Step::Link(target)),
        Err(error) if error.raw_os_error() == Some(nix::libc::EINVAL) => Ok(Step::Solid),
        Err(error) if is_absent(&error) => Ok(Step::Absent),
        Err(error) => Err(PathError::new("look at", path, error)),
    }
}

/// The real path: all links followed, no `.` or `..`.
///
/// # Errors
/// Where something on the way does not exist or can't be looked at.
pub fn canonical(path: &Path) -> Outcome<PathBuf> {
    tell("resolve", path, fs::canonicalize(path))
}

/// The entries of a directory, sorted bytewise by name.
///
/// # Errors
/// Where it is not a directory or can't be read.
pub fn list(path: &Path) -> Outcome<Vec<Entry>> {
    let mut entries = tell("list", path, entries(path))?;
    entries.sort_by(|a, b| by_bytes(&a.name, &b.name));
    Ok(entries)
}

/// The entries of a directory in the order of the disk: for walks that sort later or never.
///
/// # Errors
/// As [`list`].
pub fn list_unsorted(path: &Path) -> Outcome<Vec<Entry>> {
    tell("list", path, entries(path))
}

/// The entries of a directory in the order of the disk; `None` where it has more than `max`.
///
/// # Errors
/// As [`list`].
pub fn list_at_most(path: &Path, max: usize) -> Outcome<Option<Vec<Entry>>> {
    let entries = tell("list", path, some_entries(path, max.saturating_add(1)))?;
    Ok(Some(entries).filter(|entries| entries.len() <= max))
}

fn entries(path: &Path) -> io::Result<Vec<Entry>> {
    some_entries(path, usize::MAX)
}

fn some_entries(path: &Path, max: usize) -> io::Result<Vec<Entry>> {
    fs::read_dir(path)?
        .take(max)
        .map(|entry| {
            let entry = entry?;
            Ok(Entry { kind: entry.file_type()?.into(), inode: entry.ino(), name: entry.file_name() })
        })
        .collect()
}

/// The order of names everywhere: bytewise.
#[must_use]
pub fn by_bytes(a: &OsStr, b: &OsStr) -> Ordering {
    a.as_bytes().cmp(b.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("disk-{}-{name}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn a_pipe_is_refused_not_waited_for() {
        let dir = scratch("pipe");
        let pipe = dir.join("p");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(read(&pipe).unwrap_err().source.kind(), io::ErrorKind::InvalidInput);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn temporary_files_of_the_dead_are_swept_those_of_the_living_stay() {
        let dir = scratch("sweep");
        let mine = dir.join(format!("{TEMP_PREFIX}{}-7", std::process::id()));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let theirs = dir.join(format!("{TEMP_PREFIX}{}-7", child.id()));
        child.wait().unwrap();
        for path in [&mine, &theirs, &dir.join(".loci-tmp-notes")] {
            fs::write(path, "").unwrap();
        }
        assert_eq!(sweep_temps(&dir).unwrap(), 1);
        assert!(mine.exists() && !theirs.exists() && dir.join(".loci-tmp-notes").exists());
        fs::remove_dir_all(dir).unwrap();
    }

    /// Whoever waited for a file that was replaced appends to the new one.
    #[test]
    fn nothing_that_is_appended_while_a_file_is_rewritten_is_lost() {
        let dir = scratch("rewrite");
        let log = dir.join("log");
        fs::write(&log, "").unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let log = &log;
                scope.spawn(move || (0..100).for_each(|n| append_unsynced(log, format!("{writer} {n}\n").as_bytes()).unwrap()));
                scope.spawn(move || {
                    for _ in 0..20 {
                        assert!(rewrite(log, u64::MAX, |data| Some(data.to_vec())).unwrap());
                    }
                });
            }
        });
        let text = fs::read_to_string(&log).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!((lines.len(), text.lines().count()), (400, 400));
        // What is too long, and what nobody wants otherwise, stays the file that it is.
        let before = look(&log).unwrap().unwrap().id;
        assert!(!rewrite(&log, 10, |_| Some(Vec::new())).unwrap() && !rewrite(&log, u64::MAX, |_| None).unwrap());
        assert_eq!(look(&log).unwrap().unwrap().id, before);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_torn_last_line_does_not_swallow_the_next_record() {
        let dir = scratch("append");
        let log = dir.join("log");
        fs::write(&log, "{\"torn\":").unwrap();
        append(&log, b"{\"a\":1}\n").unwrap();
        assert_eq!(fs::read_to_string(&log).unwrap(), "{\"torn\":\n{\"a\":1}\n");
        fs::remove_dir_all(dir).unwrap();
    }
}
