//! An open handle that whoever started us has named by its number.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};

/// One that is ours alone: what we start does not get it.
#[derive(Debug)]
pub struct Handle(File);

impl Handle {
    /// Takes it, and keeps it from what is started later.
    ///
    /// # Errors
    /// Where no such handle is open.
    pub fn take(number: RawFd) -> io::Result<Self> {
        if number < 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        #[expect(unsafe_code, reason = "a handle that was named by its number has no owner here")]
        // SAFETY: it is looked at, and copied where it is open.
        let fd = unsafe { BorrowedFd::borrow_raw(number) };
        fcntl(fd, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
        Ok(Self(File::from(fd.try_clone_to_owned()?)))
    }

    /// Writes to it.
    ///
    /// # Errors
    /// Where that fails.
    pub fn write(mut self, text: &OsStr) -> io::Result<()> {
        self.0.write_all(text.as_bytes())
    }
}
