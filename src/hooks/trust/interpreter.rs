//! What runs a hook: the program that its first line names. Where that lies in the directory that is trusted it is as much
//! the directory's as the hook is.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::TrustError;
use crate::hooks::kept::MAX_FOLDER;
use crate::sys::disk;

/// The absolute paths in the first line of a hook.
pub(super) fn named(bytes: &[u8]) -> impl Iterator<Item = PathBuf> + '_ {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let words = first.strip_prefix(b"#!").unwrap_or_default().split(u8::is_ascii_whitespace);
    words.filter(|word| word.starts_with(b"/")).map(|word| PathBuf::from(OsStr::from_bytes(word)))
}

/// What trust in a real directory has to know of such a program: its path, and its bytes; of a name in it that leads out
/// of it, where to. `None` where neither lies in it.
pub(super) fn seen(root: &Path, program: &Path) -> Result<Option<(PathBuf, Vec<u8>)>, TrustError> {
    let Ok(real) = disk::canonical(program) else { return Ok(None) };
    if real.starts_with(root) {
        if !disk::is_file(&real) {
            return Ok(None);
        }
        let bytes = disk::read_bounded(&real, MAX_FOLDER)?.ok_or_else(|| TrustError::TooLarge(real.clone()))?;
        return Ok(Some((real, bytes)));
    }
    Ok(program.starts_with(root).then(|| (program.to_owned(), real.into_os_string().into_encoded_bytes())))
}
