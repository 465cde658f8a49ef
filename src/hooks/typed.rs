//! Prompts that loci has typed into a terminal: the harness there tells of them as of any other, and they are no
//! person's. Each leaves a mark before it is typed, which the relay that hears of it takes away.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::sys::disk::{self, PathError};
use crate::sys::time::Timestamp;
use crate::text::digest;

/// How long a mark holds: a harness that is busy takes a prompt later.
const HOLDS: Duration = Duration::from_secs(3600);

/// Harnesses cut blanks off, and have their own idea of line ends.
fn file(state: &Path, text: &str) -> PathBuf {
    let words: Vec<&str> = text.split_whitespace().collect();
    state.join("typed").join(digest::sha256(words.join(" ").as_bytes()).chars().take(32).collect::<String>())
}

/// Says that this text is about to be typed.
///
/// # Errors
/// Where the disk does not take it.
pub fn mark(state: &Path, text: &str) -> Result<(), PathError> {
    let path = file(state, text);
    disk::make_dirs(&state.join("typed"))?;
    disk::replace(&path, b"typed\n", Some(0o600))
}

/// Whether a prompt is one that was typed by loci; it is asked once.
#[must_use]
pub fn take(state: &Path, prompt: &str, now: Timestamp) -> bool {
    let path = file(state, prompt);
    let Ok(Some(meta)) = disk::look(&path) else { return false };
    let _ = disk::remove_file(&path);
    let age = i128::from(now.as_second()) - meta.mtime_ns.div_euclid(1_000_000_000);
    age <= i128::from(HOLDS.as_secs())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests lay files out themselves")]

    use super::*;
    use crate::sys::time;

    #[test]
    fn a_prompt_is_known_once_whatever_became_of_its_blanks() {
        let state = std::env::temp_dir().join(format!("loci-typed-{}", std::process::id()));
        mark(&state, "Go on.\n\n  Please. \n").unwrap();
        assert!(!take(&state, "Go on.", time::now()));
        assert!(take(&state, "Go on. Please.", time::now()));
        assert!(!take(&state, "Go on. Please.", time::now()));
        mark(&state, "x").unwrap();
        let later = time::now().checked_add(jiff::SignedDuration::from_hours(2)).unwrap();
        assert!(!take(&state, "x", later), "an old mark holds no more");
        disk::remove_tree(&state).unwrap();
    }
}
