//! The one resolver: a source ladder crossed with a table of slots.

use std::collections::HashSet;
use std::path::PathBuf;

use super::climb;
use super::diagnostic::{Code, Diagnostic};
use super::dotdirs::{self, Dotdir, Dotdirs};
use super::find::Budget;
use super::gather::Gather;
use super::real;
use super::slot;
use crate::text::digest;
use crate::text::header::Header;
use crate::text::name::{self, NameError};

/// The largest file that is read, in bytes. Caps on what a model sees belong to consumers; this one
/// only keeps a stranger's file from filling the memory.
pub const MAX_FILE: u64 = 64 * 1024 * 1024;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The home level: always on, and the registry.
    pub home: Option<PathBuf>,
    /// Where the agent was started.
    pub launch: Option<PathBuf>,
    /// Where it stands now.
    pub active: Option<PathBuf>,
    /// The slot: one path component.
    pub slot: String,
    /// The dotdirs that count.
    pub dotdirs: Dotdirs,
}

/// Which rung of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RootKind {
    /// The home level.
    Home,
    /// The walk from where the agent was started.
    Launch,
    /// The walk from where it stands.
    Active,
}

impl RootKind {
    /// The rung in a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Home => "home",
            Self::Launch => "launch",
            Self::Active => "active",
        }
    }
}

/// One place on a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// Which rung it is on.
    pub root: RootKind,
    /// The directory, real.
    pub path: PathBuf,
    /// The dotdirs it carries, in the order they are read.
    pub dotdirs: Vec<Dotdir>,
}

/// The line that named a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Via {
    /// The `_use.yaml`.
    pub path: PathBuf,
    /// The line in it, from 1.
    pub line: usize,
}

/// Where a found file came from; stamped where it is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// Which rung of the ladder.
    pub root: RootKind,
    /// Which directory.
    pub level: PathBuf,
    /// Which dotdir of it.
    pub dotdir: String,
    /// Who named it, where it does not lie there.
    pub via: Option<Via>,
}

/// A file that was found, whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// As reached.
    pub path: PathBuf,
    /// Where it really lies.
    pub real: PathBuf,
    /// Relative to its slot.
    pub rel: PathBuf,
    /// Where it came from.
    pub provenance: Provenance,
    /// Its front matter.
    pub header: Header,
    /// All its bytes.
    pub bytes: Vec<u8>,
}

impl Found {
    /// What stands below the front matter.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        self.header.body_of(&self.bytes)
    }

    /// SHA-256 of the whole file, as hex.
    #[must_use]
    pub fn digest(&self) -> String {
        digest::sha256(&self.bytes)
    }
}

/// Why a file that lies in a slot was not handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Same {
    /// It is the same file, reached another way.
    File,
    /// Another file has the same content.
    Content,
}

/// A file that lies in a slot and was not handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// As reached.
    pub path: PathBuf,
    /// Relative to its slot.
    pub rel: PathBuf,
    /// Where it came from.
    pub provenance: Provenance,
    /// Which one stays.
    pub kept: PathBuf,
    /// Why.
    pub same: Same,
}

/// A file that is switched off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Off {
    /// As it is called now.
    pub path: PathBuf,
    /// Relative to its slot, as it is called when it is on.
    pub rel: PathBuf,
    /// Where it came from.
    pub provenance: Provenance,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Resolution {
    /// The levels of the ladder, nearest last.
    pub levels: Vec<Level>,
    /// The files, nearest last: iterate reversed, and the nearest refines.
    pub files: Vec<Found>,
    /// What was found a second time.
    pub dropped: Vec<Dropped>,
    /// What is switched off.
    pub off: Vec<Off>,
    /// What is to be said.
    pub diagnostics: Vec<Diagnostic>,
}

/// Finds every file of a slot.
///
/// # Errors
/// Where the slot's name is none. What can't be read is no error but a diagnostic.
pub fn resolve(request: &Request) -> Result<Resolution, NameError> {
    name::slot(&request.slot)?;
    let row = slot::row(&request.slot);
    let mut diagnostics = Vec::new();
    let levels = ladder(request, &mut diagnostics);
    let mut gather = Gather::new(&row, &request.slot, Budget::default(), Vec::new(), None);
    gather.diagnostics = diagnostics;
    for (at, level) in levels.iter().enumerate() {
        gather.level(at, level);
    }
    Ok(gather.decide(levels).0)
}

/// The levels in the order they are emitted: home, launch far to near, active far to near; each
/// directory once.
pub fn ladder(request: &Request, diagnostics: &mut Vec<Diagnostic>) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    let mut seen: HashSet<PathBuf> = HashSet::new();
    if let Some(home) = &request.home {
        let path = real::real(home, true).path;
        let dotdirs = dotdirs::at(&path, &request.dotdirs, diagnostics);
        if !dotdirs.is_empty() {
            seen.insert(path.clone());
            levels.push(Level { root: RootKind::Home, path, dotdirs });
        }
    }
    for (root, start) in [(RootKind::Launch, &request.launch), (RootKind::Active, &request.active)] {
        let Some(start) = start else { continue };
        let start = real::real(start, true);
        if let Some(trouble) = &start.trouble {
            diagnostics.push(Diagnostic::new(Code::Unreadable, &start.path, &trouble.to_string()));
        }
        // A dotdir is a slot of its directory, not a place.
        let chain = climb::chain(&start.path, |dir| {
            let carried = if request.dotdirs.names(dir) { Vec::new() } else { dotdirs::at(dir, &request.dotdirs, diagnostics) };
            (!carried.is_empty()).then_some(carried)
        });
        for (path, dotdirs) in chain.into_iter().rev() {
            if seen.insert(path.clone()) {
                levels.push(Level { root, path, dotdirs });
            }
        }
    }
    // The gap above two walks can be the same.
    let mut once = HashSet::new();
    diagnostics.retain(|one| once.insert((one.path.clone(), one.code)));
    levels
}
