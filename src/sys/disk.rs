//! The disk: reads that can't be fooled into blocking, writes that can't leave half a file.

use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirEntryExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering as Atomic};

use super::fault::step;
use super::nameless;
use super::shown;

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

/// Opens a regular file for reading; anything else is refused before it can block (a pipe) or have
/// an effect (a device). With its length.
fn open_regular(path: &Path) -> io::Result<(File, u64)> {
    let file = OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY).open(path)?;
    let meta = file.metadata()?;
    if meta.is_file() { Ok((file, meta.len())) } else { Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")) }
}

/// Reads at most `max` bytes. A file that gives what its length says is at its end; one without a
/// length (as in `/proc`) is read until nothing comes.
fn read_at_most(mut file: File, len: u64, max: u64) -> io::Result<Vec<u8>> {
    let wanted = usize::try_from(len.min(max)).unwrap_or(usize::MAX);
    let mut data = vec![0; wanted.min(1 << 26)];
    let mut filled = 0;
    while let Some(rest) = data.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    data.truncate(filled);
    if filled < wanted || len == 0 {
        file.take(max.saturating_sub(filled as u64)).read_to_end(&mut data)?;
    }
    Ok(data)
}

/// Reads a whole regular file, links followed.
///
/// # Errors
/// Where it is not there, not a regular file, or can't be read.
pub fn read(path: &Path) -> Outcome<Vec<u8>> {
    tell("read", path, open_regular(path).and_then(|(file, len)| read_at_most(file, len, u64::MAX)))
}

/// Reads a regular file, links followed; `None` where nothing is there.
///
/// # Errors
/// As [`read`].
pub fn read_if_there(path: &Path) -> Outcome<Option<Vec<u8>>> {
    match read(path) {
        Ok(data) => Ok(Some(data)),
        Err(error) if is_absent(&error.source) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a whole regular file of at most `max` bytes; `None` for a longer one, which is not read.
///
/// # Errors
/// As [`read`].
pub fn read_bounded(path: &Path, max: u64) -> Outcome<Option<Vec<u8>>> {
    let data = open_regular(path)
        .and_then(|(file, len)| if len > max { Ok(None) } else { read_at_most(file, len, max.saturating_add(1)).map(Some) });
    Ok(tell("read", path, data)?.filter(|data| data.len() as u64 <= max))
}

/// Reads the first `max` bytes of a regular file; `true` says that there is more.
///
/// # Errors
/// As [`read`].
pub fn read_start(path: &Path, max: u64) -> Outcome<(Vec<u8>, bool)> {
    let mut data = tell("read", path, open_regular(path).and_then(|(file, len)| read_at_most(file, len, max.saturating_add(1))))?;
    let more = data.len() as u64 > max;
    if more {
        data.truncate(usize::try_from(max).unwrap_or(usize::MAX));
    }
    Ok((data, more))
}

/// Reads the last `max` bytes of a regular file; `true` says that there is more before them.
///
/// # Errors
/// As [`read`].
pub fn read_end(path: &Path, max: u64) -> Outcome<(Vec<u8>, bool)> {
    let end = open_regular(path).and_then(|(mut file, len)| {
        let skipped = len.saturating_sub(max);
        file.seek(io::SeekFrom::Start(skipped))?;
        let mut data = Vec::new();
        // What is appended meanwhile is the next reader's.
        file.take(max).read_to_end(&mut data)?;
        Ok((data, skipped > 0))
    });
    tell("read", path, end)
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

/// Makes one directory.
///
/// # Errors
/// Where something is there already, or the parent is not.
pub fn make_dir(path: &Path) -> Outcome {
    tell("make the directory", path, step("mkdir", path, || fs::create_dir(path)))
}

/// Makes a directory and what is missing above it; one that is there is left as it is.
///
/// # Errors
/// Where something else stands in the way, or it can't be made.
pub fn make_dirs(path: &Path) -> Outcome {
    if is_dir(path) {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_dirs(parent)?;
    }
    match make_dir(path) {
        // Somebody else was quicker.
        Err(error) if error.source.kind() == io::ErrorKind::AlreadyExists && is_dir(path) => Ok(()),
        other => other,
    }
}

/// Prefix of the temporary files that are made beside their targets.
pub const TEMP_PREFIX: &str = ".loci-tmp-";

fn temp_beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    loop {
        let count = COUNT.fetch_add(1, Atomic::Relaxed);
        let temp = path.with_file_name(format!("{TEMP_PREFIX}{}-{count}", std::process::id()));
        // What is written may itself be somebody's temporary file.
        if temp != path {
            return temp;
        }
    }
}

/// Writes and syncs a temporary file beside `path`. `mode` as it is given counts exactly; without
/// one a new file gets what the umask leaves of `0o666`.
fn write_temp(path: &Path, data: &[u8], mode: Option<u32>) -> io::Result<PathBuf> {
    let temp = temp_beside(path);
    let written = step("write", &temp, || {
        match fs::remove_file(&temp) {
            Err(error) if !is_absent(&error) => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode.unwrap_or(0o666)).open(&temp)?;
        file.write_all(data)?;
        if let Some(mode) = mode {
            file.set_permissions(fs::Permissions::from_mode(mode))?;
        }
        file.sync_all()
    });
    match written {
        Ok(()) => Ok(temp),
        Err(error) => {
            let _ = fs::remove_file(&temp);
            Err(error)
        }
    }
}

fn land(temp: &Path, rename: io::Result<()>) -> io::Result<()> {
    if rename.is_err() {
        let _ = fs::remove_file(temp);
    }
    rename
}

/// Writes a file that must not be there yet, and syncs it: it appears whole or not at all.
/// `mode` counts exactly.
///
/// # Errors
/// Where something is there, or the write fails; then nothing is left behind.
pub fn write_new(path: &Path, data: &[u8], mode: u32) -> Outcome {
    let result = match present(fs::symlink_metadata(path)) {
        Ok(None) => appear(path, data, mode),
        Ok(Some(_)) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) => Err(error),
    };
    tell("write", path, result)?;
    sync_parent(path).inspect_err(|_| {
        // It is there, but nobody may count on it.
        let _ = fs::remove_file(path);
    })
}

fn appear(path: &Path, data: &[u8], mode: u32) -> io::Result<()> {
    if let Some(file) = step("write", path, || nameless::write(path, data, mode))?
        && step("link", path, || file.name(path))?
    {
        return Ok(());
    }
    let temp = write_temp(path, data, Some(mode))?;
    land(&temp, step("rename", path, || noreplace(&temp, path)))
}

/// Writes and syncs a file in a directory that nobody reads yet: one that is built aside and renamed
/// as a whole. Without a `mode` it gets what the umask leaves of `0o666`.
///
/// # Errors
/// Where something is there, or the write fails; whoever builds removes what was begun.
pub fn write_aside(path: &Path, data: &[u8], mode: Option<u32>) -> Outcome {
    let result = step("write", path, || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode.unwrap_or(0o666)).open(path)?;
        file.write_all(data)?;
        if let Some(mode) = mode {
            file.set_permissions(fs::Permissions::from_mode(mode))?;
        }
        file.sync_all()
    });
    tell("write", path, result)
}

/// As [`write_aside`], without the sync: for copies that whoever reads them compares first.
///
/// # Errors
/// As [`write_aside`].
pub fn write_copy(path: &Path, data: &[u8], mode: u32) -> Outcome {
    let result = step("write", path, || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        file.write_all(data)?;
        file.set_permissions(fs::Permissions::from_mode(mode))
    });
    tell("write", path, result)
}

/// Replaces a file in one step: temporary file beside it, sync, rename, sync of the directory.
/// The mode of a file that was there is kept unless `mode` says otherwise. A link at `path` is
/// replaced, not followed.
///
/// # Errors
/// Where any of it fails; then the old file is still there, whole.
pub fn replace(path: &Path, data: &[u8], mode: Option<u32>) -> Outcome {
    let mode = match mode {
        Some(mode) => mode,
        None => look(path)?.filter(|meta| meta.kind == Kind::File).map_or(0o644, |meta| meta.mode),
    };
    let renamed = write_temp(path, data, Some(mode)).and_then(|temp| land(&temp, step("rename", path, || fs::rename(&temp, path))));
    tell("write", path, renamed)?;
    sync_parent(path)
}

/// As [`replace`], where `was` stands in the file. What was replaced is looked at once more after it has changed places
/// with the new text, and put back where somebody has replaced it between the look and that moment. What somebody
/// writes into the old file through a name or handle that they opened before can't be seen.
///
/// # Errors
/// As [`replace`]; also where something else stands there: then that stays.
pub fn replace_known(path: &Path, data: &[u8], mode: Option<u32>, was: &[u8]) -> Outcome {
    let mode = match mode {
        Some(mode) => mode,
        None => look(path)?.filter(|meta| meta.kind == Kind::File).map_or(0o644, |meta| meta.mode),
    };
    let replaced =
        write_temp(path, data, Some(mode)).and_then(|temp| land(&temp, step("rename", path, || put_for(&temp, path, data, was))));
    tell("write", path, replaced)?;
    sync_parent(path)
}

/// What is told where somebody else was quicker.
fn changed() -> io::Error {
    io::Error::other("it changed in the meantime")
}

/// Puts a temporary file in the place of one in which `was` stands.
fn put_for(temp: &Path, path: &Path, data: &[u8], was: &[u8]) -> io::Result<()> {
    let says = |path: &Path, text: &[u8]| {
        open_regular(path).and_then(|(file, len)| read_at_most(file, len, u64::MAX)).is_ok_and(|data| data == text)
    };
    if !says(path, was) {
        return Err(changed());
    }
    if !swap_in_one(temp, path)? {
        // The best that can be had there.
        return fs::rename(temp, path);
    }
    if says(temp, was) {
        return fs::remove_file(temp);
    }
    // Somebody has put a newer one there: it goes back. Where a still newer one has come since, that one does.
    let mut put = data.to_vec();
    for _ in 0..64 {
        let newer = open_regular(temp).and_then(|(file, len)| read_at_most(file, len, u64::MAX))?;
        swap_in_one(temp, path)?;
        if says(temp, &put) {
            break;
        }
        put = newer;
    }
    Err(changed())
}

/// Exchanges two files in one step; whether the file system can.
#[cfg(target_os = "linux")]
fn swap_in_one(path: &Path, with: &Path) -> io::Result<bool> {
    use nix::errno::Errno;
    use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
    match renameat2(AT_FDCWD, path, AT_FDCWD, with, RenameFlags::RENAME_EXCHANGE) {
        Ok(()) => Ok(true),
        Err(Errno::EINVAL | Errno::ENOSYS) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn swap_in_one(_: &Path, _: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Removes a file in which `was` stands: it is taken aside, looked at, and put back where it says something else.
///
/// # Errors
/// As [`remove_file`]; also where something else stands there: then that stays.
pub fn remove_known(path: &Path, was: &[u8]) -> Outcome {
    let result = step("unlink", path, || {
        let temp = temp_beside(path);
        noreplace(path, &temp)?;
        let said = open_regular(&temp).and_then(|(file, len)| read_at_most(file, len, u64::MAX));
        if said.is_ok_and(|data| data == was) {
            return fs::remove_file(&temp);
        }
        noreplace(&temp, path)?;
        Err(changed())
    });
    tell("remove", path, result)
}

/// Removes the temporary files in a directory whose makers are gone; says how many. A directory
/// that is not there has none.
///
/// # Errors
/// Where it can't be listed, or one can't be removed.
pub fn sweep_temps(dir: &Path) -> Outcome<usize> {
    let mut swept = 0;
    if look_through(dir)?.is_none_or(|meta| meta.kind != Kind::Dir) {
        return Ok(0);
    }
    for entry in list(dir)? {
        let maker = entry.name.to_str().and_then(|name| name.strip_prefix(TEMP_PREFIX)?.split('-').next()?.parse::<i32>().ok());
        let gone = |pid| nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None) == Err(nix::errno::Errno::ESRCH);
        if entry.kind == Kind::File && maker.is_some_and(|pid| pid > 0 && gone(pid)) {
            remove_file(&dir.join(entry.name))?;
            swept += 1;
        }
    }
    Ok(swept)
}

/// Appends one record with one `write`, under a lock on the file, and syncs it. A torn last line
/// (no line end) is closed first, so that the new record stands on its own line.
///
/// # Errors
/// Where the file can't be opened, locked or written; a record is never half-counted: a reader
/// skips a last line without its end.
pub fn append(path: &Path, record: &[u8]) -> Outcome {
    tell("append to", path, step("append", path, || append_to(path, record, 0o644)?.sync_data()))
}

/// As [`append`], readable for nobody else, and without the sync: for records that only tell, and that
/// somebody waits for.
///
/// # Errors
/// As [`append`].
pub fn append_unsynced(path: &Path, record: &[u8]) -> Outcome {
    tell("append to", path, step("append", path, || append_to(path, record, 0o600).map(|_| ())))
}

fn append_to(path: &Path, record: &[u8], mode: u32) -> io::Result<nix::fcntl::Flock<File>> {
    let (file, len) = loop {
        let file = lock_file(OpenOptions::new().read(true).append(true).create(true).mode(mode).open(path)?)?;
        let meta = file.metadata()?;
        // Replaced while the lock was waited for: what is appended to the old one nobody reads.
        if is_still(path, &meta)? {
            break (file, meta.len());
        }
    };
    let mut data = Vec::with_capacity(record.len() + 1);
    if len > 0 {
        let mut last = [0_u8; 1];
        std::os::unix::fs::FileExt::read_exact_at(&*file, &mut last, len - 1)?;
        if last != *b"\n" {
            data.push(b'\n');
        }
    }
    data.extend_from_slice(record);
    (&*file).write_all(&data)?;
    Ok(file)
}

fn lock_file(file: File) -> io::Result<nix::fcntl::Flock<File>> {
    nix::fcntl::Flock::lock(file, nix::fcntl::FlockArg::LockExclusive).map_err(|(_, errno)| errno.into())
}

/// Whether a path still leads to this file.
fn is_still(path: &Path, file: &fs::Metadata) -> io::Result<bool> {
    Ok(present(fs::metadata(path))?.is_some_and(|now| (now.dev(), now.ino()) == (file.dev(), file.ino())))
}

/// Replaces a file that others append to ([`append`]) by what `make` makes of it, in one step: records that
/// are appended meanwhile wait, and come into the new file. `None` of `make` leaves it as it is, and so is
/// one that is longer than `max` bytes. Says whether it was replaced.
///
/// # Errors
/// Where it can't be read, locked or replaced; then the old file is still there, whole.
pub fn rewrite(path: &Path, max: u64, make: impl FnOnce(&[u8]) -> Option<Vec<u8>>) -> Outcome<bool> {
    let locked = || {
        loop {
            let file = lock_file(open_unfollowed(path)?)?;
            let meta = file.metadata()?;
            if is_still(path, &meta)? {
                return Ok((file, meta.len()));
            }
        }
    };
    let (file, len) = tell("lock", path, locked())?;
    if len > max {
        return Ok(false);
    }
    let mut data = Vec::with_capacity(usize::try_from(len).unwrap_or_default());
    tell("read", path, (&*file).read_to_end(&mut data))?;
    match make(&data) {
        None => Ok(false),
        Some(data) => replace(path, &data, None).map(|()| true),
    }
}

/// Renames, replacing what stands at `to`.
///
/// # Errors
/// Where the kernel refuses.
pub fn rename(from: &Path, to: &Path) -> Outcome {
    tell("rename", from, step("rename", from, || fs::rename(from, to)))
}

/// Renames where nothing stands at `to`; a race can't overwrite either.
///
/// # Errors
/// `AlreadyExists` where something is there; else as [`rename`].
pub fn rename_noreplace(from: &Path, to: &Path) -> Outcome {
    tell("rename", from, step("rename", from, || noreplace(from, to)))
}

#[cfg(target_os = "linux")]
fn noreplace(from: &Path, to: &Path) -> io::Result<()> {
    use nix::errno::Errno;
    use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
    match renameat2(AT_FDCWD, from, AT_FDCWD, to, RenameFlags::RENAME_NOREPLACE) {
        // Some network file systems do not know the flag.
        Err(Errno::EINVAL | Errno::ENOSYS) => noreplace_by_look(from, to),
        other => other.map_err(io::Error::from),
    }
}

#[cfg(not(target_os = "linux"))]
fn noreplace(from: &Path, to: &Path) -> io::Result<()> {
    noreplace_by_look(from, to)
}

/// The best that can be had without the flag: a hard link fails where the name is taken; what can't
/// be linked is looked at first, and a race stays possible there.
fn noreplace_by_look(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(from)?.is_file() {
        fs::hard_link(from, to)?;
        return fs::remove_file(from);
    }
    if present(fs::symlink_metadata(to))?.is_some() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

/// Exchanges what stands at two paths of one file system, in one step where the kernel can.
///
/// # Errors
/// Where one of them is not there, or the kernel refuses.
pub fn exchange(path: &Path, with: &Path) -> Outcome {
    tell("exchange", path, step("exchange", path, || swap(path, with)))
}

#[cfg(target_os = "linux")]
fn swap(path: &Path, with: &Path) -> io::Result<()> {
    use nix::errno::Errno;
    use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
    match renameat2(AT_FDCWD, path, AT_FDCWD, with, RenameFlags::RENAME_EXCHANGE) {
        Err(Errno::EINVAL | Errno::ENOSYS) => swap_by_renames(path, with),
        other => other.map_err(io::Error::from),
    }
}

#[cfg(not(target_os = "linux"))]
fn swap(path: &Path, with: &Path) -> io::Result<()> {
    swap_by_renames(path, with)
}

/// Where the first of two things is put while they change places: a name that recovery can compute.
fn aside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".loci-swap-");
    name.push(path.file_name().unwrap_or_default());
    path.with_file_name(name)
}

fn swap_by_renames(path: &Path, with: &Path) -> io::Result<()> {
    let aside = aside(path);
    noreplace(path, &aside)?;
    let put = |from: &Path, to: &Path| noreplace(from, to);
    if let Err(error) = put(with, path) {
        put(&aside, path)?;
        return Err(error);
    }
    if let Err(error) = put(&aside, with) {
        put(path, with)?;
        put(&aside, path)?;
        return Err(error);
    }
    Ok(())
}

/// Where an exchange without the kernel's help was cut off in the middle: puts things back to
/// before or after it. Says whether there was something to mend.
///
/// # Errors
/// Where a rename fails.
pub fn mend_exchange(path: &Path, with: &Path) -> Outcome<bool> {
    let aside = aside(path);
    if look(&aside)?.is_none() {
        return Ok(false);
    }
    let to = if look(path)?.is_none() { path } else { with };
    rename_noreplace(&aside, to).map(|()| true)
}

/// Where a rename that had to go by hard link was cut off between its two halves: takes the first
/// half back. Says whether there was something to mend.
///
/// # Errors
/// Where the disk can't be looked at, or the second name can't be removed.
pub fn mend_rename(from: &Path, to: &Path) -> Outcome<bool> {
    match (look(from)?, look(to)?) {
        (Some(one), Some(two)) if one.kind == Kind::File && one.id == two.id => remove_file(to).map(|()| true),
        _ => Ok(false),
    }
}

/// Makes a file empty; it stays the same file.
///
/// # Errors
/// Where it is not there, or can't be written.
pub fn empty(path: &Path) -> Outcome {
    tell("empty", path, step("truncate", path, || OpenOptions::new().write(true).open(path)?.set_len(0)))
}

/// Removes a file or a link (never what it points to).
///
/// # Errors
/// Where nothing is there, or it is a directory.
pub fn remove_file(path: &Path) -> Outcome {
    tell("remove", path, step("unlink", path, || fs::remove_file(path)))
}

/// Removes an empty directory.
///
/// # Errors
/// Where it is not empty, or not there.
pub fn remove_dir(path: &Path) -> Outcome {
    tell("remove", path, step("rmdir", path, || fs::remove_dir(path)))
}

/// Removes everything at `path`; links in it are removed, not followed. Nothing there is fine.
///
/// # Errors
/// At the first thing that can't be removed; the rest stays.
pub fn remove_tree(path: &Path) -> Outcome {
    match look(path)? {
        None => Ok(()),
        Some(Meta { kind: Kind::Dir, .. }) => {
            for entry in list(path)? {
                remove_tree(&path.join(entry.name))?;
            }
            remove_dir(path)
        }
        Some(_) => remove_file(path),
    }
}

/// Makes a link at `path` with the text `target`.
///
/// # Errors
/// Where something is there already.
pub fn make_link(path: &Path, target: &Path) -> Outcome {
    tell("make the link", path, step("symlink", path, || std::os::unix::fs::symlink(target, path)))
}

/// Whether a named pipe stands at `path`; a link is not followed.
///
/// # Errors
/// Where that can't be looked at.
pub fn is_pipe(path: &Path) -> Outcome<bool> {
    use std::os::unix::fs::FileTypeExt as _;
    tell("look at", path, fs::symlink_metadata(path).map(|meta| meta.file_type().is_fifo()))
}

/// Makes a named pipe with these permission bits.
///
/// # Errors
/// Where something is there already, or the file system has none.
pub fn make_pipe(path: &Path, mode: u32) -> Outcome {
    let made = step("mkfifo", path, || {
        nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRUSR)?;
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    });
    tell("make the pipe", path, made)
}

/// Sets the permission bits.
///
/// # Errors
/// Where that is not allowed.
pub fn set_mode(path: &Path, mode: u32) -> Outcome {
    tell("set the mode of", path, step("chmod", path, || fs::set_permissions(path, fs::Permissions::from_mode(mode))))
}

/// Syncs a directory, so that the names in it survive a crash.
///
/// # Errors
/// Where it can't be opened or synced.
pub fn sync_dir(path: &Path) -> Outcome {
    tell("sync", path, step("fsync", path, || File::open(path)?.sync_all()))
}

/// Syncs the directory that holds `path`.
///
/// # Errors
/// As [`sync_dir`].
pub fn sync_parent(path: &Path) -> Outcome {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_dir(parent),
        _ => Ok(()),
    }
}

/// How many files are synced one by one; for more, the whole file system is quicker.
const FEW: usize = 256;

/// Brings a tree that was just written to the disk, with the names in it.
///
/// # Errors
/// Where something can't be opened or synced.
pub fn sync_tree(path: &Path) -> Outcome {
    tell(
        "sync",
        path,
        step("fsync", path, || {
            let (mut all, mut next) = (Vec::new(), vec![path.to_owned()]);
            while let Some(one) = next.pop() {
                let kind = Kind::from(fs::symlink_metadata(&one)?.file_type());
                if kind == Kind::Dir {
                    next.extend(entries(&one)?.into_iter().map(|entry| one.join(entry.name)));
                }
                if matches!(kind, Kind::Dir | Kind::File) {
                    all.push(one);
                }
                if all.len() > FEW {
                    return sync_file_system(path);
                }
            }
            all.iter().try_for_each(|one| File::open(one)?.sync_all())
        }),
    )
}

/// Syncs directories, so that the names in them survive a crash; of many, their file systems.
///
/// # Errors
/// Where one can't be opened or synced.
pub fn sync_dirs(dirs: &[&Path]) -> Outcome {
    if dirs.len() <= FEW {
        return dirs.iter().try_for_each(|dir| sync_dir(dir));
    }
    let mut devices = Vec::new();
    for dir in dirs {
        let device = look_through(dir)?.map(|meta| meta.id.0);
        if !devices.contains(&device) {
            devices.push(device);
            tell("sync", dir, step("fsync", dir, || sync_file_system(dir)))?;
        }
    }
    Ok(())
}

fn sync_file_system(path: &Path) -> io::Result<()> {
    let dir = File::open(path)?;
    #[cfg(target_os = "linux")]
    nix::unistd::syncfs(&dir)?;
    #[cfg(not(target_os = "linux"))]
    nix::unistd::sync();
    dir.sync_all()
}

fn open_unfollowed(path: &Path) -> io::Result<File> {
    let flags = nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY | nix::libc::O_NOFOLLOW;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")) }
}

/// Hands the content of a regular file to `take`, piece by piece; a link is not followed. Returns
/// what the disk says about the file, with the length that was read.
///
/// # Errors
/// Where it is not there, not a regular file, or can't be read.
pub fn read_pieces(path: &Path, buffer: &mut [u8], mut take: impl FnMut(&[u8])) -> Outcome<Meta> {
    let read = open_unfollowed(path).and_then(|mut file| {
        let meta = Meta::from(file.metadata()?);
        let mut len = 0_u64;
        loop {
            let count = match file.read(buffer) {
                Ok(0) => return Ok(Meta { len, ..meta }),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            len += count as u64;
            take(buffer.get(..count).unwrap_or_default());
        }
    });
    tell("read", path, read)
}

/// Copies a regular file to a name that is free, with its permission bits; a link is not followed.
/// Not synced: see [`sync_tree`].
///
/// # Errors
/// Where it can't be read, something is there already, or the write fails.
pub fn copy_file(from: &Path, to: &Path) -> Outcome {
    let mut source = tell("read", from, open_unfollowed(from))?;
    let copied = step("copy", to, || {
        let mode = source.metadata()?.mode() & 0o7777;
        let mut target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
        io::copy(&mut source, &mut target)?;
        target.set_permissions(fs::Permissions::from_mode(mode))
    });
    tell("copy to", to, copied)
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
    fn rename_never_overwrites() {
        let dir = scratch("rename");
        fs::write(dir.join("a"), "a").unwrap();
        fs::write(dir.join("b"), "b").unwrap();
        let error = rename_noreplace(&dir.join("a"), &dir.join("b")).unwrap_err();
        assert_eq!(error.source.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(noreplace_by_look(&dir.join("a"), &dir.join("b")).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(dir.join("b")).unwrap(), b"b");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn an_exchange_without_the_kernel_can_be_mended_anywhere() {
        let dir = scratch("swap");
        let (a, b) = (dir.join("a"), dir.join("b"));
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        fs::write(&a, "1").unwrap();
        fs::write(&b, "2").unwrap();
        exchange(&a, &b).unwrap();
        assert_eq!((read(&a), read(&b)), ("2".into(), "1".into()));
        swap_by_renames(&a, &b).unwrap();
        assert_eq!((read(&a), read(&b)), ("1".into(), "2".into()));
        assert!(!mend_exchange(&a, &b).unwrap());
        // Cut off after the first rename: taken back.
        fs::rename(&a, aside(&a)).unwrap();
        assert!(mend_exchange(&a, &b).unwrap());
        assert_eq!((read(&a), read(&b)), ("1".into(), "2".into()));
        // Cut off after the second: finished.
        fs::rename(&a, aside(&a)).unwrap();
        fs::rename(&b, &a).unwrap();
        assert!(mend_exchange(&a, &b).unwrap());
        assert_eq!((read(&a), read(&b)), ("2".into(), "1".into()));
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
