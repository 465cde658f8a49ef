//! Reading: regular files only, and never more than was asked for.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::{Meta, Outcome, is_absent, tell};

/// Opens a regular file for reading; anything else is refused before it can block (a pipe) or have
/// an effect (a device). With its length.
pub(super) fn open_regular(path: &Path) -> io::Result<(File, u64)> {
    let file = OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY).open(path)?;
    let meta = file.metadata()?;
    if meta.is_file() { Ok((file, meta.len())) } else { Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")) }
}

/// Opens a file of loci's own to be written in place (a lock, a log, what a run says). Only a regular file of that very
/// name: through a link, or into a device, such a write would change what is somebody else's.
///
/// # Errors
/// Where it can't be opened, or is no regular file.
pub(in crate::sys) fn open_own(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY;
    let file = options.custom_flags(flags).open(path).map_err(|error| match error.raw_os_error() {
        Some(nix::libc::ELOOP) => io::Error::new(io::ErrorKind::InvalidInput, "it is a link, which is not followed"),
        // A pipe that nobody reads.
        Some(nix::libc::ENXIO) => io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"),
        _ => error,
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")) }
}

/// Reads at most `max` bytes. A file that gives what its length says is at its end; one without a
/// length (as in `/proc`) is read until nothing comes.
pub(super) fn read_at_most(mut file: File, len: u64, max: u64) -> io::Result<Vec<u8>> {
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

pub(super) fn open_unfollowed(path: &Path) -> io::Result<File> {
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

/// Whether `found` says so of any piece of a regular file, of any length; a link is not followed. Each piece reaches to
/// the end of a line where one is within reach.
///
/// # Errors
/// As [`read_pieces`].
pub fn any_piece(path: &Path, mut found: impl FnMut(&[u8]) -> bool) -> Outcome<bool> {
    const PIECE: usize = 1 << 18;
    /// What of a line that is longer than a piece is looked at once more, with what comes behind it.
    const AGAIN: usize = 1 << 12;
    let (mut open, mut is) = (Vec::with_capacity(2 * PIECE), false);
    read_pieces(path, &mut vec![0; PIECE], |piece| {
        if is {
            return;
        }
        open.extend_from_slice(piece);
        is = found(&open);
        let rest = open.iter().rev().take(PIECE).position(|byte| *byte == b'\n').unwrap_or(AGAIN).min(open.len());
        open.drain(..open.len() - rest);
    })?;
    Ok(is)
}
