//! Directories for walks over whole trees: opened from their parent, read in one buffer, links not
//! followed.
//!
//! Four system calls a directory and no allocation for a name; the standard `read_dir` takes five,
//! looks every path up from the root again, and allocates for each entry.

use std::io;
use std::path::Path;

use super::disk::Kind;

#[cfg(target_os = "linux")]
pub use linux::{Buffer, OpenDir};
#[cfg(not(target_os = "linux"))]
pub use portable::{Buffer, OpenDir};

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::CStr;
    use std::os::fd::{AsRawFd as _, OwnedFd};

    use nix::fcntl::{AtFlags, OFlag};
    use nix::sys::stat::{Mode, SFlag};

    use super::{Kind, Path, io};

    /// Where entries are read into; one serves a whole walk.
    #[derive(Debug)]
    pub struct Buffer(Vec<u64>);

    impl Default for Buffer {
        fn default() -> Self {
            Self(vec![0; 32 * 1024 / 8])
        }
    }

    /// A directory that is open for reading.
    #[derive(Debug)]
    pub struct OpenDir(OwnedFd);

    const FLAGS: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_CLOEXEC).union(OFlag::O_NONBLOCK);

    impl OpenDir {
        /// Opens a directory by its path, links followed.
        ///
        /// # Errors
        /// Where there is none, or it can't be read.
        pub fn open(path: &Path) -> io::Result<Self> {
            Ok(Self(nix::fcntl::open(path, FLAGS, Mode::empty())?))
        }

        /// Opens a directory in this one; a link is refused.
        ///
        /// # Errors
        /// As [`OpenDir::open`].
        pub fn child(&self, name: &CStr) -> io::Result<Self> {
            Ok(Self(nix::fcntl::openat(&self.0, name, FLAGS | OFlag::O_NOFOLLOW, Mode::empty())?))
        }

        /// Hands every entry but `.` and `..` to `each`, in the order of the disk.
        ///
        /// # Errors
        /// Where the directory can't be read; entries before that were handed out.
        pub fn each(&self, buffer: &mut Buffer, mut each: impl FnMut(&CStr, Kind)) -> io::Result<()> {
            loop {
                let filled = self.fill(buffer)?;
                if filled == 0 {
                    return Ok(());
                }
                // A record: 8 bytes inode, 8 bytes offset, 2 bytes its length, 1 byte type, name, NUL.
                let bytes: &[u8] = bytes(buffer.0.as_slice());
                let mut rest = bytes.get(..filled).unwrap_or_default();
                while let Some(length) = rest.get(16..18).and_then(|two| two.try_into().ok()).map(u16::from_ne_bytes) {
                    let Some((record, next)) = rest.split_at_checked(usize::from(length)).filter(|_| length > 19) else { break };
                    rest = next;
                    let Some(name) = record.get(19..).and_then(|name| CStr::from_bytes_until_nul(name).ok()) else { continue };
                    if matches!(name.to_bytes(), b"." | b"..") {
                        continue;
                    }
                    let kind = match record.get(18).copied().unwrap_or(0) {
                        nix::libc::DT_REG => Kind::File,
                        nix::libc::DT_DIR => Kind::Dir,
                        nix::libc::DT_LNK => Kind::Link,
                        nix::libc::DT_UNKNOWN => self.kind(name),
                        _ => Kind::Other,
                    };
                    each(name, kind);
                }
            }
        }

        /// Some file systems do not say the kind along with the name.
        fn kind(&self, name: &CStr) -> Kind {
            match nix::sys::stat::fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW)
                .map(|stat| SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT)
            {
                Ok(SFlag::S_IFREG) => Kind::File,
                Ok(SFlag::S_IFDIR) => Kind::Dir,
                Ok(SFlag::S_IFLNK) => Kind::Link,
                _ => Kind::Other,
            }
        }

        #[expect(unsafe_code, reason = "nix reads directories only through the C library's own allocated stream")]
        fn fill(&self, buffer: &mut Buffer) -> io::Result<usize> {
            let size = std::mem::size_of_val(buffer.0.as_slice());
            // SAFETY: the kernel writes at most `size` bytes to the buffer, which is exclusively ours
            // and aligned to 8 as the records want; the descriptor is open for as long as `self` lives.
            let filled = unsafe { nix::libc::syscall(nix::libc::SYS_getdents64, self.0.as_raw_fd(), buffer.0.as_mut_ptr(), size) };
            usize::try_from(filled).map_err(|_| io::Error::last_os_error())
        }
    }

    #[expect(unsafe_code, reason = "the bytes of a buffer of whole numbers")]
    fn bytes(words: &[u64]) -> &[u8] {
        // SAFETY: every bit pattern of a `u64` is eight valid bytes, and the length is that of the slice.
        unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), std::mem::size_of_val(words)) }
    }
}

#[cfg(not(target_os = "linux"))]
mod portable {
    use std::ffi::{CStr, CString, OsStr};
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::path::PathBuf;

    use super::{Kind, Path, io};

    /// Nothing is needed here.
    #[derive(Debug, Default)]
    pub struct Buffer;

    /// A directory that is read by its path.
    #[derive(Debug)]
    pub struct OpenDir(PathBuf);

    impl OpenDir {
        /// Opens a directory by its path.
        ///
        /// # Errors
        /// Where it can't be looked at.
        pub fn open(path: &Path) -> io::Result<Self> {
            std::fs::metadata(path)?;
            Ok(Self(path.to_owned()))
        }

        /// Opens a directory in this one; a link is refused.
        ///
        /// # Errors
        /// As [`OpenDir::open`].
        pub fn child(&self, name: &CStr) -> io::Result<Self> {
            let path = self.0.join(OsStr::from_bytes(name.to_bytes()));
            if std::fs::symlink_metadata(&path)?.is_dir() { Ok(Self(path)) } else { Err(io::ErrorKind::NotADirectory.into()) }
        }

        /// Hands every entry to `each`, in the order of the disk.
        ///
        /// # Errors
        /// Where the directory can't be read.
        pub fn each(&self, _: &mut Buffer, mut each: impl FnMut(&CStr, Kind)) -> io::Result<()> {
            for entry in std::fs::read_dir(&self.0)? {
                let entry = entry?;
                if let Ok(name) = CString::new(entry.file_name().into_vec()) {
                    each(&name, entry.file_type()?.into());
                }
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn entries_with_their_kinds() {
        let dir = std::env::temp_dir().join(format!("dirs-{}", std::process::id()));
        fs::create_dir_all(dir.join("d")).unwrap();
        fs::write(dir.join("f"), "").unwrap();
        std::os::unix::fs::symlink("d", dir.join("l")).unwrap();
        for nth in 0..2000 {
            fs::write(dir.join("d").join(format!("a-file-with-a-long-name-{nth:040}")), "").unwrap();
        }
        let open = OpenDir::open(&dir).unwrap();
        let mut buffer = Buffer::default();
        let mut seen = Vec::new();
        open.each(&mut buffer, |name, kind| seen.push((name.to_str().unwrap().to_owned(), kind))).unwrap();
        seen.sort();
        assert_eq!(seen, [("d".to_owned(), Kind::Dir), ("f".to_owned(), Kind::File), ("l".to_owned(), Kind::Link)]);
        let mut count = 0;
        open.child(c"d").unwrap().each(&mut buffer, |_, kind| count += usize::from(kind == Kind::File)).unwrap();
        assert_eq!(count, 2000);
        assert!(open.child(c"l").is_err() && open.child(c"f").is_err());
        fs::remove_dir_all(dir).unwrap();
    }
}
