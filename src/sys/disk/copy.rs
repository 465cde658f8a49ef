//! Copies of files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use super::read::open_unfollowed;
use super::{Outcome, step, tell};

/// Copies a regular file to a name that is free, with its permission bits and its holes; a link is not followed.
/// Not synced: see [`sync_tree`](super::sync_tree).
///
/// # Errors
/// Where it can't be read, something is there already, or the write fails.
pub fn copy_file(from: &Path, to: &Path) -> Outcome {
    let mut source = tell("read", from, open_unfollowed(from))?;
    let copied = step("copy", to, || {
        let meta = source.metadata()?;
        let mut target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
        // What takes less room than it is long has holes: filled with zeros it could be larger than the disk.
        if meta.blocks().saturating_mul(512) < meta.len() {
            with_holes(&mut source, &mut target, meta.len())?;
        } else {
            io::copy(&mut source, &mut target)?;
        }
        target.set_permissions(fs::Permissions::from_mode(meta.mode() & 0o7777))
    });
    tell("copy to", to, copied)
}

/// Copies what is data, each piece to its place.
#[cfg(any(target_os = "linux", target_os = "freebsd"))]
fn with_holes(source: &mut File, target: &mut File, len: u64) -> io::Result<()> {
    use nix::errno::Errno;
    use nix::unistd::{Whence, lseek};
    let mut at = 0;
    while at < len {
        let seek = |from: u64, whence| lseek(&*source, i64::try_from(from).map_err(|_| Errno::EOVERFLOW)?, whence);
        let start = match seek(at, Whence::SeekData) {
            Ok(start) => u64::try_from(start).unwrap_or(len),
            // Nothing but a hole is left.
            Err(Errno::ENXIO) => break,
            // A disk that knows of none.
            Err(Errno::EINVAL) if at == 0 => {
                source.rewind()?;
                return io::copy(source, target).map(drop);
            }
            Err(error) => return Err(error.into()),
        };
        let end = u64::try_from(seek(start, Whence::SeekHole)?).unwrap_or(len);
        source.seek(SeekFrom::Start(start))?;
        target.seek(SeekFrom::Start(start))?;
        io::copy(&mut (&*source).take(end - start), target)?;
        at = end;
    }
    // It may have become longer since: what was looked at is what comes along.
    let now = target.metadata()?.len();
    target.set_len(len.max(now))
}

#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
fn with_holes(source: &mut File, target: &mut File, _: u64) -> io::Result<()> {
    io::copy(source, target).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_stay_holes() {
        let dir = std::env::temp_dir().join(format!("copy-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let (from, to) = (dir.join("a"), dir.join("b"));
        let _ = fs::remove_file(&to);
        let mut file = File::create(&from).unwrap();
        io::Write::write_all(&mut file, b"begin").unwrap();
        file.seek(SeekFrom::Start(1 << 30)).unwrap();
        io::Write::write_all(&mut file, b"middle").unwrap();
        file.set_len(3 << 30).unwrap();
        copy_file(&from, &to).unwrap();
        let (one, other) = (fs::metadata(&from).unwrap(), fs::metadata(&to).unwrap());
        assert_eq!(one.len(), other.len());
        // Where the disk has no holes, there is nothing to be kept.
        assert!(one.blocks() > 1 << 20 || other.blocks() < 1 << 12, "{} {}", one.blocks(), other.blocks());
        let mut copy = File::open(&to).unwrap();
        let mut piece = [0; 6];
        for (at, wanted) in [(0, *b"begin\0"), (1 << 30, *b"middle"), ((3 << 30) - 6, [0; 6])] {
            copy.seek(SeekFrom::Start(at)).unwrap();
            copy.read_exact(&mut piece).unwrap();
            assert_eq!(piece, wanted, "{at}");
        }
        fs::remove_dir_all(dir).unwrap();
    }
}
