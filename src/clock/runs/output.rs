//! What a run leaves in its folder besides its record: that it began, and what it said.

use std::path::{Path, PathBuf};

use crate::sys::{disk, shown};

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

/// The longest line of an error that is told, in characters.
const MAX_SAID: usize = 200;

/// What a run that failed said first on standard error, made fit for people; `None` where it said nothing.
#[must_use]
pub fn first_error(folder: &Path) -> Option<String> {
    let (start, _) = disk::read_start(&folder.join("err"), 4096).ok()?;
    let text = String::from_utf8_lossy(&start);
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    // What loci notes on the way is no reason.
    let line = lines().find(|line| !line.starts_with("loci: note: ")).or_else(|| lines().next())?;
    let (cut, more): (String, bool) = (line.chars().take(MAX_SAID).collect(), line.chars().count() > MAX_SAID);
    Some(format!("{}{}", shown::text(&cut), if more { "…" } else { "" }))
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
