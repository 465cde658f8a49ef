//! Text with rules: names that were checked, digests, and values that know where they came from.

pub mod digest;
pub mod header;
pub mod name;
pub mod near;
pub mod yaml;

use std::path::PathBuf;

/// A value that knows where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// The file that says so.
    pub path: PathBuf,
    /// The line in it, from 1; `None` where the file as a whole says so.
    pub line: Option<usize>,
}
