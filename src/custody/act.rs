//! What a tool call would do, in our own words. The judge takes acts, never tools.

use std::path::PathBuf;

/// The kind of an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActKind {
    /// Reads; never intercepted.
    Read,
    /// Changes what is there.
    Write,
    /// Makes something new.
    Create,
    /// Takes something away.
    Remove,
    /// Takes it away under this name, or brings it in under this name.
    Rename,
    /// Makes a link here.
    Link,
    /// Changes mode, owner or times.
    Mode,
    /// Runs a program.
    Run,
}

impl ActKind {
    /// The word in records and `--json`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Create => "create",
            Self::Remove => "remove",
            Self::Rename => "rename",
            Self::Link => "link",
            Self::Mode => "mode",
            Self::Run => "run",
        }
    }
}

/// What a tool call would do to one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// What.
    pub kind: ActKind,
    /// To which path: absolute, joined to the directory in force; links and `..` are *not* resolved
    /// yet.
    pub path: PathBuf,
    /// Whether a link at the end of the path is followed (`>` follows, `rm` does not).
    pub follow: bool,
    /// Whether everything below the path is affected as well (removing or renaming a directory).
    pub below: bool,
}
