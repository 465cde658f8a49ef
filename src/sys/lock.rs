//! Locks that name their holder and die with him.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};

use super::disk::{self, PathError};
use super::process::Identity;

/// A lock that is held until it is dropped, or its process ends.
#[derive(Debug)]
pub struct Lock {
    _file: Flock<File>,
}

/// Who holds a lock, as far as the lock file says.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct Holder {
    /// The process.
    pub process: Identity,
    /// What it does, in a few words.
    pub what: String,
    /// Since when (RFC 3339).
    pub since: String,
}

/// Why a lock could not be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else has it.
    #[error("take the lock {}: held by {}", super::shown::path(.path), .holder.as_ref().map_or_else(|| "another process".to_owned(), |h| format!("pid {} ({}) since {}", h.process.pid, h.what, h.since)))]
    Held {
        /// The lock file.
        path: PathBuf,
        /// Who, where the file says so.
        holder: Option<Holder>,
    },
    /// The lock file can't be used.
    #[error(transparent)]
    Disk(#[from] PathError),
}

/// Takes the lock at `path`, waiting up to `patience` for whoever has it. The file is made where it
/// is missing, and stays: removing it would let two processes hold two locks of one name.
///
/// # Errors
/// [`LockError::Held`] names the holder; [`LockError::Disk`] where the file can't be opened.
pub fn take(path: &Path, what: &str, patience: Duration) -> Result<Lock, LockError> {
    if let Some(parent) = path.parent() {
        disk::make_dirs(parent)?;
    }
    let file = disk::open_own(OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600), path);
    let file = file.map_err(|source| PathError::new("open the lock", path, source))?;
    let held = wait(file, path, patience)?;
    let me = Holder { process: Identity::of_self(), what: what.to_owned(), since: super::time::to_second(super::time::now()) };
    // The words are for people who wait; the lock holds without them.
    let _ = write_holder(&held, &me);
    Ok(Lock { _file: held })
}

/// Takes the lock on a directory itself, where no file for one should lie. It names no holder.
///
/// # Errors
/// As [`take`]; where it is no directory, or a link to one.
pub fn of_dir(path: &Path, patience: Duration) -> Result<Lock, LockError> {
    let flags = (OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.map_err(|source| PathError::new("open the lock", path, source))?;
    Ok(Lock { _file: wait(file, path, patience)? })
}

fn wait(mut file: File, path: &Path, patience: Duration) -> Result<Flock<File>, LockError> {
    let deadline = Instant::now() + patience;
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(held) => return Ok(held),
            Err((back, Errno::EWOULDBLOCK)) => {
                if Instant::now() >= deadline {
                    return Err(LockError::Held { path: path.to_owned(), holder: read_holder(&back) });
                }
                file = back;
                std::thread::sleep(Duration::from_millis(10));
            }
            Err((_, errno)) => return Err(PathError::new("lock", path, errno.into()).into()),
        }
    }
}

/// What is no list of a holder is left as it is: a second name may have made a lock of somebody's file.
fn write_holder(mut file: &File, holder: &Holder) -> io::Result<()> {
    let text = serde_json::to_vec(holder)?;
    if file.metadata()?.len() > 0 && read_holder(file).is_none() {
        return Ok(());
    }
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&text)
}

fn read_holder(mut file: &File) -> Option<Holder> {
    let mut text = Vec::new();
    file.rewind().ok()?;
    file.take(4096).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make what the floor is tried on")]
mod tests {
    use std::fs;

    use super::super::disk::{append, append_unsynced, empty};
    use super::*;

    /// Whoever can put a link where loci writes in place must not choose what is written.
    #[test]
    fn nothing_is_written_through_a_link() {
        let dir = std::env::temp_dir().join(format!("loci-lock-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let theirs = dir.join("theirs");
        fs::write(&theirs, "what somebody wrote\n").unwrap();
        for (name, to) in [("file", theirs.clone()), ("new", dir.join("not-there")), ("loop", dir.join("loop"))] {
            let link = dir.join(name);
            std::os::unix::fs::symlink(to, &link).unwrap();
            let refused = take(&link, "x", Duration::ZERO).unwrap_err();
            assert!(matches!(&refused, LockError::Disk(error) if error.source.to_string().contains("link")), "{refused:?}");
            for result in [append(&link, b"x\n"), append_unsynced(&link, b"x\n"), empty(&link)] {
                assert!(result.unwrap_err().source.to_string().contains("link"));
            }
        }
        assert!(!dir.join("not-there").exists());
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "what somebody wrote\n");
        // A second name of somebody's file can be locked, and keeps its content.
        fs::hard_link(&theirs, dir.join("second")).unwrap();
        let _lock = take(&dir.join("second"), "x", Duration::ZERO).unwrap();
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "what somebody wrote\n");
        let pipe = dir.join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for result in [append(&pipe, b"x\n"), empty(&pipe)] {
            assert!(result.unwrap_err().source.to_string().contains("not a regular file"));
        }
        assert!(take(&pipe, "x", Duration::ZERO).is_err());
        fs::remove_dir_all(&dir).unwrap();
    }
}
