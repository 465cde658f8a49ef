//! Files that have no name until they are whole: a process that is killed leaves nothing behind.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// A file that is written and synced, and has no name yet.
#[derive(Debug)]
pub(super) struct Nameless(File);

/// Writes and syncs a file in the directory of `path`. `None` where the disk or the system has no
/// such files; then a temporary name has to do.
pub(super) fn write(path: &Path, data: &[u8], mode: u32) -> io::Result<Option<Nameless>> {
    let Some(mut file) = open(path)? else { return Ok(None) };
    file.write_all(data)?;
    file.set_permissions(<fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(mode))?;
    file.sync_all()?;
    Ok(Some(Nameless(file)))
}

#[cfg(target_os = "linux")]
fn open(path: &Path) -> io::Result<Option<File>> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let Some(dir) = path.parent() else { return Ok(None) };
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    match fs::OpenOptions::new().write(true).custom_flags(nix::libc::O_TMPFILE).mode(0o600).open(dir) {
        Ok(file) => Ok(Some(file)),
        // What disks and kernels without it say.
        Err(error)
            if matches!(error.raw_os_error(), Some(nix::libc::EOPNOTSUPP | nix::libc::EISDIR | nix::libc::EINVAL | nix::libc::ENOSYS)) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(not(target_os = "linux"))]
fn open(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

impl Nameless {
    /// Gives it a name that is free; `false` where that can't be done here (no `/proc`).
    #[cfg(target_os = "linux")]
    pub(super) fn name(&self, path: &Path) -> io::Result<bool> {
        use std::os::fd::AsRawFd as _;
        let own = format!("/proc/self/fd/{}", self.0.as_raw_fd());
        match nix::unistd::linkat(nix::fcntl::AT_FDCWD, own.as_str(), nix::fcntl::AT_FDCWD, path, nix::fcntl::AtFlags::AT_SYMLINK_FOLLOW) {
            Ok(()) => Ok(true),
            Err(nix::errno::Errno::ENOENT) if fs::symlink_metadata(&own).is_err() => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Gives it a name that is free.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn name(&self, _: &Path) -> io::Result<bool> {
        Ok(false)
    }
}
