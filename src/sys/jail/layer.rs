//! What the kernel leaves in the upper directory of a layer.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

/// Whether an entry says that what it covers was removed: a device of no kind.
#[must_use]
pub fn is_removed(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_char_device() && meta.rdev() == 0)
}

/// Whether a directory hides all that it covers.
#[must_use]
pub fn hides_all(path: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        let Ok(name) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
        let mut value = [0_u8; 8];
        #[expect(unsafe_code, reason = "nix has no attributes of files")]
        // SAFETY: both names end in a NUL, and the kernel writes at most the length of the value.
        let length =
            unsafe { nix::libc::lgetxattr(name.as_ptr(), c"user.overlay.opaque".as_ptr(), value.as_mut_ptr().cast(), value.len()) };
        length >= 1 && value.first() == Some(&b'y')
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path.as_os_str().as_bytes();
        false
    }
}
