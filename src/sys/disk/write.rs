//! Writes that leave the old file or the new one, never half of one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering as Atomic};

use super::super::fault::step;
use super::super::nameless;
use super::rename::noreplace;
use super::{
    Kind, Outcome, is_absent, is_dir, list, look, look_through, open_own, open_regular, open_unfollowed, present, read_at_most,
    remove_file, sync_parent, tell,
};

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

/// Writes and, where that is wanted, syncs a temporary file beside `path`. `mode` as it is given counts exactly; without
/// one a new file gets what the umask leaves of `0o666`.
fn write_temp(path: &Path, data: &[u8], mode: Option<u32>, sync: bool) -> io::Result<PathBuf> {
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
        if sync { file.sync_all() } else { Ok(()) }
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
    let temp = write_temp(path, data, Some(mode), true)?;
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
    let renamed = write_temp(path, data, Some(mode), true).and_then(|temp| land(&temp, step("rename", path, || fs::rename(&temp, path))));
    tell("write", path, renamed)?;
    sync_parent(path)
}

/// As [`replace`], without the syncs: for what only tells, and is written again. After a power cut it may be empty.
///
/// # Errors
/// As [`replace`].
pub fn replace_unsynced(path: &Path, data: &[u8], mode: u32) -> Outcome {
    let renamed = write_temp(path, data, Some(mode), false).and_then(|temp| land(&temp, step("rename", path, || fs::rename(&temp, path))));
    tell("write", path, renamed)
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
        write_temp(path, data, Some(mode), true).and_then(|temp| land(&temp, step("rename", path, || put_for(&temp, path, data, was))));
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
        let file = lock_file(open_own(OpenOptions::new().read(true).append(true).create(true).mode(mode), path)?)?;
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
    Ok(present(fs::symlink_metadata(path))?.is_some_and(|now| (now.dev(), now.ino()) == (file.dev(), file.ino())))
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
