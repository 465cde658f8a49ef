//! A harness's own file, as it is.

use std::path::{Path, PathBuf};

use super::ConnectError;
use super::splice::Unfit;
use crate::sys::disk;
use crate::tree::climb;

/// The most of a configuration that is worked on.
const MAX_FILE: u64 = 4 << 20;

/// Why a file is not touched.
pub const SEVERAL: &str = "it is a hard link: the same file has another name";

pub(super) fn read(file: &Path) -> Result<Option<Vec<u8>>, ConnectError> {
    if disk::look_through(file)?.is_some_and(|meta| meta.len > MAX_FILE) {
        return Err(ConnectError::File { path: file.to_owned(), why: "it is larger than 4 MiB" });
    }
    Ok(disk::read_if_there(file)?)
}

pub(super) fn text<'a>(file: &Path, data: Option<&'a [u8]>) -> Result<&'a str, ConnectError> {
    let invalid = |error: std::str::Utf8Error| {
        let line = data.unwrap_or_default().iter().take(error.valid_up_to()).filter(|byte| **byte == b'\n').count() + 1;
        ConnectError::Unfit { path: file.to_owned(), unfit: Unfit { line, why: "it is not UTF-8 text".to_owned() } }
    };
    std::str::from_utf8(data.unwrap_or_default()).map_err(invalid)
}

/// A file without the right to write is left alone, though its folder would let us replace it. So is one with
/// several names: it would be another file under one of them afterwards, and the old one under the others.
pub(super) fn may_write(file: &Path) -> Result<(), ConnectError> {
    match disk::look(file)? {
        Some(meta) if meta.mode & 0o200 == 0 => Err(ConnectError::File { path: file.to_owned(), why: "it is read-only" }),
        Some(_) if disk::names_of(file) > 1 => Err(ConnectError::File { path: file.to_owned(), why: SEVERAL }),
        _ => Ok(()),
    }
}

/// The folders above a path that are not there, outermost first.
pub(super) fn missing_above(path: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = climb::up(path).skip(1).take_while(|dir| !disk::is_dir(dir)).map(Path::to_owned).collect();
    folders.reverse();
    folders
}
