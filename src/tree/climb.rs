//! The one upward walk of the program: resolver, gate and wayfinding are the same climb.

use std::path::Path;

/// A real, absolute directory and everything above it, nearest first, up to `/`.
pub fn up(start: &Path) -> impl Iterator<Item = &Path> {
    start.ancestors()
}
