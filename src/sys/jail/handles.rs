//! Handles that came along: they were opened outside, and lead below the mounts.

use std::fs;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::libc;
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use nix::unistd::{Whence, lseek};

use super::mounts::Failed;
use super::{Access, Mount, Stage};

/// How a handle was opened, as far as one that is opened in its place has to be opened the same way.
const KEPT: OFlag = OFlag::O_PATH.union(OFlag::O_NONBLOCK).union(OFlag::O_APPEND).union(OFlag::O_DIRECT);

/// Sees to what the command inherits. Of directories it gets none. A file in a place that is held and that was opened for
/// reading could be opened once more by its handle, for writing and past the mounts: it is opened anew by its path, so that
/// the handle leads through them. What was opened for writing was opened so by who called us: it stays, as do pipes, sockets,
/// devices, and files that lie elsewhere or nowhere any more.
pub(super) fn inherit(mounts: &[Mount]) -> Result<(), Failed> {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return Ok(()) };
    let numbers: Vec<RawFd> = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for number in numbers {
        #[expect(unsafe_code, reason = "a number out of the kernel's own list")]
        // SAFETY: the handle is looked at only here, and is closed nowhere in between.
        let fd = unsafe { BorrowedFd::borrow_raw(number) };
        // What is ours ends where the command starts.
        let passed_on = fcntl(fd, FcntlArg::F_GETFD).is_ok_and(|flags| !FdFlag::from_bits_retain(flags).contains(FdFlag::FD_CLOEXEC));
        let Some(stat) = fstat(fd).ok().filter(|_| passed_on) else { continue };
        match SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT {
            SFlag::S_IFDIR if number > 2 => keep(fd),
            SFlag::S_IFDIR => {
                if let Ok(nothing) = fs::OpenOptions::new().read(true).write(true).open("/dev/null") {
                    replace(number, &nothing.into()).map_err(|errno| (Stage::Handle, None, errno))?;
                }
            }
            SFlag::S_IFREG => match anew(fd, &stat, mounts) {
                Ok(None) => {}
                Ok(Some(new)) => replace(number, &new).map_err(|errno| (Stage::Handle, None, errno))?,
                // A stream that was closed in silence would look like an empty one.
                Err((path, errno)) if number <= 2 => return Err((Stage::Handle, Some(path), errno)),
                Err(_) => keep(fd),
            },
            _ => {}
        }
    }
    Ok(())
}

/// Keeps a handle from the command.
fn keep(fd: BorrowedFd<'_>) {
    let _ = fcntl(fd, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC));
}

fn replace(number: RawFd, by: &OwnedFd) -> Result<(), Errno> {
    #[expect(unsafe_code, reason = "nix wants the target as an owned handle, and what was inherited belongs to nobody")]
    // SAFETY: the handle is replaced in one step; nobody holds it as an owned one.
    let done = unsafe { libc::dup2(by.as_raw_fd(), number) };
    Errno::result(done).map(drop)
}

/// The file of a handle opened anew by its path, where it was opened for reading and lies in a place that is held.
fn anew(fd: BorrowedFd<'_>, stat: &FileStat, mounts: &[Mount]) -> Result<Option<OwnedFd>, (PathBuf, Errno)> {
    let Ok(flags) = fcntl(fd, FcntlArg::F_GETFL).map(OFlag::from_bits_retain) else { return Ok(None) };
    let path_only = flags.contains(OFlag::O_PATH);
    // Without a name it is in nobody's directory.
    if stat.st_nlink == 0 || (flags & OFlag::O_ACCMODE != OFlag::O_RDONLY && !path_only) {
        return Ok(None);
    }
    let Ok(path) = fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())) else { return Ok(None) };
    let Some(layered) = held(&path, mounts) else { return Ok(None) };
    let open = || {
        let new = nix::fcntl::open(&path, (flags & KEPT) | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, Mode::empty())?;
        let found = fstat(&new)?;
        // A layer shows files under the number of a disk of its own.
        if found.st_ino != stat.st_ino || (found.st_dev != stat.st_dev && !layered) {
            return Err(Errno::ESTALE);
        }
        if !path_only {
            lseek(&new, lseek(fd, 0, Whence::SeekCur)?, Whence::SeekSet)?;
        }
        Ok(new)
    };
    open().map(Some).map_err(|errno| (path.clone(), errno))
}

/// Whether a path lies in a place that is held; if so, whether in a layer.
fn held(path: &Path, mounts: &[Mount]) -> Option<bool> {
    match mounts.iter().rfind(|mount| path.starts_with(&mount.path))?.access {
        Access::ReadOnly => Some(false),
        Access::Overlay { .. } => Some(true),
        Access::Keep | Access::Other { .. } => None,
    }
}
