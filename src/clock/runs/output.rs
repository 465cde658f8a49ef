//! What a run leaves in its folder besides its record: that it began, and what it said.

use std::path::{Path, PathBuf};

use crate::sys::disk;

/// The file that is there as soon as the gate of a run was opened.
#[must_use]
pub fn begun(folder: &Path) -> PathBuf {
    folder.join("begun")
}

/// The number that a run handed back: a line `pid: N` among the first of its output.
#[must_use]
pub fn handed_back(folder: &Path) -> Option<i32> {
    let (start, _) = disk::read_start(&folder.join("out"), 4096).ok()?;
    let text = String::from_utf8_lossy(&start);
    let number = text.lines().find_map(|line| line.trim().strip_prefix("pid:")?.trim().parse::<i32>().ok())?;
    (number > 1).then_some(number)
}

/// Cuts an output that has grown too long: what is there goes to `NAME.1`, and the file begins anew.
pub fn rotate(folder: &Path, max: u64) {
    for name in ["out", "err"] {
        let path = folder.join(name);
        let long = matches!(disk::look(&path), Ok(Some(meta)) if meta.kind == disk::Kind::File && meta.len > max.max(1));
        if long && let Ok((end, _)) = disk::read_end(&path, max) {
            let _ = disk::replace(&folder.join(format!("{name}.1")), &end, Some(0o600));
            // The program goes on appending: the file has to stay the same one.
            let _ = disk::empty(&path);
        }
    }
}
