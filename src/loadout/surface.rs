//! What of a directory makes up an agent's identity: the pieces that are saved and exchanged as one.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Level, Section};
use crate::sys::disk;
use crate::tree::dotdirs::IDENTITY;

/// The pieces of a harness.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The harness.
    pub harness: &'static str,
    /// Its dotdir.
    pub dotdir: &'static str,
    /// Pieces that are files.
    pub files: &'static [&'static str],
    /// Pieces that are directories.
    pub dirs: &'static [&'static str],
    /// The file that loci's own relays are written to, among others' hooks.
    pub relays: &'static str,
}

/// The table: one row a harness.
pub const TABLE: &[Row] = &[Row {
    harness: "claude",
    dotdir: ".claude",
    files: &[".mcp.json", ".claude/settings.json", ".claude/settings.local.json", "CLAUDE.md"],
    dirs: &[".claude/rules", ".claude/hooks"],
    relays: ".claude/settings.json",
}];

/// What the vendor links of a body of ours point at.
const BODY_FILES: [&str; 1] = ["AGENTS.md"];
const BODY_DIRS: [&str; 2] = [".loci/rules", ".loci/hooks"];

/// Which paths count, relative to the directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Surface {
    /// Pieces that are files.
    pub files: Vec<PathBuf>,
    /// Pieces that are directories, with all that is below them.
    pub dirs: Vec<PathBuf>,
    /// Paths in them that do not count: what must not travel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<PathBuf>,
}

impl Surface {
    /// The surface of a level for a harness; `with` adds sections of both layers. `None` where the
    /// harness has no row.
    #[must_use]
    pub fn of(level: &Level, harness: &str, with: &[Section]) -> Option<Self> {
        let row = TABLE.iter().find(|row| row.harness == harness)?;
        let mut files: Vec<PathBuf> = row.files.iter().map(PathBuf::from).collect();
        let mut dirs: Vec<PathBuf> = row.dirs.iter().map(PathBuf::from).collect();
        if disk::is_file(&level.dir.join(IDENTITY).join("agent.md")) {
            files.extend(BODY_FILES.iter().map(PathBuf::from));
            dirs.extend(BODY_DIRS.iter().map(PathBuf::from));
        }
        for section in with {
            for dotdir in [row.dotdir, IDENTITY] {
                let dir = Path::new(dotdir).join(section.name());
                if !dirs.contains(&dir) {
                    dirs.push(dir);
                }
            }
        }
        Some(Self { files, dirs, left_out: Vec::new() })
    }

    /// Every piece.
    pub fn pieces(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().chain(&self.dirs).map(PathBuf::as_path)
    }

    /// One of its pieces by itself.
    #[must_use]
    pub fn only(&self, piece: &Path) -> Self {
        let left_out = self.left_out.iter().filter(|path| path.starts_with(piece)).cloned().collect();
        Self { files: vec![piece.to_owned()], dirs: Vec::new(), left_out }
    }

    /// Whether every piece is one that the surface of the harness can have. An archive may come from
    /// elsewhere: it must not name what is no piece, such as a repository's own hooks.
    #[must_use]
    pub fn fits(&self, harness: &str) -> bool {
        let Some(row) = TABLE.iter().find(|row| row.harness == harness) else { return false };
        let is_file = |path: &Path| row.files.iter().chain(&BODY_FILES).any(|one| path == Path::new(one));
        let is_section = |path: &Path| {
            let added = [Section::Skills, Section::Agents].into_iter();
            added.flat_map(|section| [row.dotdir, IDENTITY].map(|dotdir| Path::new(dotdir).join(section.name()))).any(|one| path == one)
        };
        let is_dir = |path: &Path| row.dirs.iter().chain(&BODY_DIRS).any(|one| path == Path::new(one)) || is_section(path);
        let below = |path: &Path| {
            path.components().all(|part| matches!(part, std::path::Component::Normal(_)))
                && self.pieces().any(|piece| path.starts_with(piece))
        };
        self.files.iter().all(|path| is_file(path))
            && self.dirs.iter().all(|path| is_dir(path))
            && self.left_out.iter().all(|path| below(path))
    }
}
