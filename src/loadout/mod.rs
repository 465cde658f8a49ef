//! What is worn: the loadout of a level is the state of its files.
//!
//! **Present = active.** Off is the same *file* with `.inactive` appended, which every loader ignores
//! because of the shape of the name. There is no index and no registry, so nothing can fall out of
//! date. [`find`] reads what is there, [`algebra`] decides which renames a set needs, [`wear`] and
//! [`scope`] perform them.
//!
//! The whole identity surface of a body can be saved, known by its hash and exchanged as one unit:
//! [`surface`], [`digest`], [`archive`], [`inject`], [`history`].

pub mod algebra;
pub mod archive;
pub mod digest;
pub mod find;
pub mod history;
pub mod inject;
mod relay;
pub mod scope;
pub mod set;
pub mod surface;
pub mod transport;
pub mod wear;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::sys::disk::PathError;
use crate::sys::journal::{JournalError, Recovered};
use crate::sys::shown;
use crate::tree::dotdirs::{Dotdirs, Layer};
use crate::tree::slot::INACTIVE;

/// What can be switched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    /// Sub-agents.
    Agents,
    /// Hooks.
    Hooks,
    /// Rules.
    Rules,
    /// Skills.
    Skills,
}

impl Section {
    /// All of them, in the order of their names.
    pub const ALL: [Self; 4] = [Self::Agents, Self::Hooks, Self::Rules, Self::Skills];

    /// Its name, which is the name of its folder in a dotdir.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Agents => "agents",
            Self::Hooks => "hooks",
            Self::Rules => "rules",
            Self::Skills => "skills",
        }
    }

    /// The section of a name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.name() == name)
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The file has its own name.
    On,
    /// The file has `.inactive` at the end of its name.
    Off,
}

impl State {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::On => Self::Off,
            Self::Off => Self::On,
        }
    }

    /// `on` or `off`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// One thing that can be switched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its section.
    pub section: Section,
    /// Its path in the section: `deploy`, `style.md`, `team/review.md`.
    pub name: PathBuf,
    /// The dotdir that it lies in.
    pub dotdir: String,
    /// Its path when it is on.
    pub active: PathBuf,
    /// Its path when it is off.
    pub inactive: PathBuf,
    /// Whether it is there under its own name.
    pub is_on: bool,
    /// Whether it is there with the ending; together with `is_on`, it counts as on.
    pub is_off: bool,
    /// Whether something that is no item stands at the name it would be switched to.
    pub barred: bool,
    /// Whether it lies in a dotdir that belongs to a harness.
    pub vendor: bool,
    /// Whether its file lies outside the dotdirs of this level (a folder that is a link), so that
    /// switching it would change what others use.
    pub outside: bool,
    /// Whether it is a linked folder: its link is renamed, and loaders that look into every folder
    /// still see what is behind it.
    pub linked_folder: bool,
}

impl Item {
    /// Whether it is on; an active file wins over an inactive one.
    #[must_use]
    pub fn state(&self) -> State {
        if self.is_on { State::On } else { State::Off }
    }

    /// Whether it is there under both names.
    #[must_use]
    pub fn is_both(&self) -> bool {
        self.is_on && self.is_off
    }

    /// `section/item`, safe to print.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{}/{}", self.section, shown::path(&self.name))
    }

    /// `dotdir/section/item`, safe to print.
    #[must_use]
    pub fn full_label(&self) -> String {
        format!("{}/{}", self.dotdir, self.label())
    }
}

/// One place whose loadout is meant, with what has to be known to change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// The directory that carries the dotdirs: real and absolute.
    pub dir: PathBuf,
    /// The dotdirs that count, in table order.
    pub dotdirs: Dotdirs,
    /// The machine-local state folder.
    pub state: PathBuf,
}

impl Level {
    /// The key of its lock and its journal.
    #[must_use]
    pub fn key(&self) -> String {
        crate::text::digest::key("level", &self.dir)
    }

    /// Whether a dotdir belongs to a harness.
    #[must_use]
    pub fn is_vendor(&self, dotdir: &str) -> bool {
        Layer::of(dotdir) == Layer::Vendor
    }
}

/// Why a set can't be applied to a level as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The section.
    pub section: Section,
    /// The item as the set names it.
    pub name: String,
    /// What is wrong.
    pub why: ConflictKind,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConflictKind {
    /// The stem names several items.
    Ambiguous(Vec<String>),
    /// Something stands at the name it would get.
    TargetExists(PathBuf),
    /// The set says both on and off.
    Contradiction,
}

impl ConflictKind {
    /// The stable word for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Ambiguous(_) => "ambiguous",
            Self::TargetExists(_) => "target-exists",
            Self::Contradiction => "contradiction",
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.section, shown::text(&self.name))?;
        match &self.why {
            ConflictKind::Ambiguous(candidates) => write!(f, " names several items: {}", candidates.join(", ")),
            ConflictKind::TargetExists(path) => write!(f, " can't be renamed: {} is there already", shown::path(path)),
            ConflictKind::Contradiction => f.write_str(" is to be both on and off"),
        }
    }
}

/// Why a loadout was not read or changed.
#[derive(Debug, thiserror::Error)]
pub enum LoadoutError {
    /// The set does not fit the level; nothing was touched.
    #[error("apply the set: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Conflict(Vec<Conflict>),
    /// A set file that is none.
    #[error(transparent)]
    Set(#[from] set::SetError),
    /// Locked, or the change itself failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] PathError),
    /// A file of our own state that this program did not write.
    #[error("read {}: {why}", shown::path(.path))]
    Record {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A name that no archive can have.
    #[error("use the name `{}`: a name is one path component that does not start with `.`, `-` or `_`", shown::text(.0))]
    BadName(String),
    /// An archive of that name is there; nothing is overwritten.
    #[error("save the loadout as `{}`: the name is taken", shown::text(.0))]
    NameTaken(String),
    /// No archive of that name.
    #[error("find the loadout `{}`", shown::text(.0))]
    NoSuchArchive(String),
    /// Nothing of the surface is there.
    #[error("save the loadout of {}: there is none", shown::path(.0))]
    Empty(PathBuf),
    /// An archive whose files are not those it is known by.
    #[error("use the loadout `{}`: its files in {} are no longer those that were saved", shown::text(.name), shown::path(.path))]
    Damaged {
        /// Its name.
        name: String,
        /// Its folder.
        path: PathBuf,
    },
    /// A pipe, a socket or a device among the files.
    #[error("read {}: neither a file nor a directory nor a link", shown::path(.0))]
    Special(PathBuf),
    /// More files than a loadout can have.
    #[error("read the loadout of {}: it has too many files", shown::path(.0))]
    TooMany(PathBuf),
    /// Somebody wrote while it was read.
    #[error("copy {}: it changed meanwhile", shown::path(.0))]
    ChangedMeanwhile(PathBuf),
    /// What stood there when it was judged is not what stands there now.
    #[error("change what is worn in {}: it leads elsewhere than when it was judged", shown::path(.0))]
    Elsewhere(PathBuf),
    /// A dotdir that is a link, or no directory.
    #[error("replace what is in {}: it is not a directory of this place", shown::path(.0))]
    LinkedParent(PathBuf),
    /// A settings file that loci's relays can't be put into.
    #[error("put loci's relays into {}: {why}", shown::path(.path))]
    Settings {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// No bytes that nobody can guess.
    #[error("get random bytes: {0}")]
    Random(std::io::Error),
}

impl LoadoutError {
    /// The stable word for it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Conflict(_) => "conflict",
            Self::Set(_) => "bad-set",
            Self::Journal(_) | Self::Disk(_) | Self::Random(_) => "io",
            Self::Record { .. } => "record",
            Self::BadName(_) => "bad-name",
            Self::NameTaken(_) => "name-taken",
            Self::NoSuchArchive(_) => "no-such-archive",
            Self::Empty(_) => "empty-surface",
            Self::Damaged { .. } => "damaged-archive",
            Self::Special(_) => "special-file",
            Self::TooMany(_) => "too-large",
            Self::ChangedMeanwhile(_) | Self::Elsewhere(_) => "changed-meanwhile",
            Self::LinkedParent(_) => "linked-dotdir",
            Self::Settings { .. } => "settings",
        }
    }
}

/// What an earlier, interrupted change left, and what was done about it: for people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    /// An interrupted change that was finished or taken back.
    pub change: Option<Recovered>,
    /// Scopes whose process had died, that were restored.
    pub scopes: Vec<scope::Closed>,
}

impl Settled {
    /// One sentence for each thing that was settled.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        self.change.iter().map(ToString::to_string).chain(self.scopes.iter().map(ToString::to_string)).collect()
    }
}

fn with_ending(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(INACTIVE);
    name.into()
}
