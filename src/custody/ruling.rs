//! What the judge says, with what decided it.

use std::path::{Path, PathBuf};

use super::act::Act;
use super::wall::Walled;
use crate::text::name::AgentId;

/// The verdict on an act. The order is the strictness: of several, the greatest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nobody else's.
    Allow,
    /// Can't be known; it passes, and is said.
    Unknown,
    /// Somebody else's.
    Refuse,
}

impl Verdict {
    /// The word in `--json`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Unknown => "unknown",
            Self::Refuse => "refuse",
        }
    }
}

/// Whose something is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// An agent's.
    Agent(AgentId),
    /// The human's: the machinery that agents work in.
    Human,
    /// Somebody's, but the owner file does not say whose in a way that can be read.
    Unclear,
}

impl Who {
    /// How messages name it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Agent(id) => id.as_str(),
            Self::Human => "the human",
            Self::Unclear => "somebody",
        }
    }
}

/// The owner of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Who it is.
    pub who: Who,
    /// The directory that is owned (real). For the wall, the directory the path stands in.
    pub dir: PathBuf,
    /// The owner file; `None` for the wall.
    pub file: Option<PathBuf>,
    /// The owner's body (real), where one with its id was found.
    pub body: Option<PathBuf>,
    /// The note that goes along with each delegation.
    pub note: Option<String>,
}

/// The body that an owner file pins, where somebody else has the owner's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    /// The body that alone is the owner (real).
    pub body: PathBuf,
    /// The line of the owner file that pins it.
    pub line: Option<usize>,
    /// The asker's body, where it has one.
    pub yours: Option<PathBuf>,
}

/// Why an act is ruled as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Reads are never intercepted.
    Reads,
    /// No owner file up to `/`.
    Nobodys,
    /// It stands in the asker's own body.
    Home,
    /// The asker owns the directory.
    Yours,
    /// The owner's `commons:` names it, with this glob.
    Commons(String),
    /// The plumbing of git.
    Plumbing,
    /// A copy of somebody else's, in a separate worktree on a branch of its own.
    Worktree,
    /// Somebody else's, and a person permitted it for a time.
    Permitted {
        /// The permit.
        id: String,
        /// Until when, in whole seconds.
        until: String,
    },
    /// A fast-forward to the tracked upstream brings it: others' work arriving.
    Arriving,
    /// The machinery of a place that is copied whole into a directory that was not there.
    Copy,
    /// Somebody else owns it.
    Owned,
    /// The asker has the owner's name, and not the body that the owner file pins.
    Pinned(Pinned),
    /// Somebody owns it, and the owner file is broken in this way.
    Broken(String),
    /// Only a person changes it.
    Wall(Walled),
    /// Something below it is somebody else's: this directory.
    Below(PathBuf),
    /// What it does can't be known before it runs.
    CannotKnow,
    /// The path can't be resolved, for this reason.
    Unresolved(String),
}

impl Why {
    /// The stable word in `--json`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Nobodys => "nobodys",
            Self::Home => "home",
            Self::Yours => "yours",
            Self::Commons(_) => "commons",
            Self::Plumbing => "plumbing",
            Self::Worktree => "worktree",
            Self::Permitted { .. } => "permitted",
            Self::Arriving => "arriving",
            Self::Copy => "copy",
            Self::Owned | Self::Pinned(_) => "owned",
            Self::Broken(_) => "broken-owner-file",
            Self::Wall(_) => "wall",
            Self::Below(_) => "owned-below",
            Self::CannotKnow => "cannot-know",
            Self::Unresolved(_) => "unresolved",
        }
    }
}

/// The ruling on one act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActRuling {
    /// The act.
    pub act: Act,
    /// Its path with all links and `..` resolved; `None` where that was not looked for or failed.
    pub real: Option<PathBuf>,
    /// Whose it is.
    pub owner: Option<Owner>,
    /// The verdict.
    pub verdict: Verdict,
    /// The file that decided; `None` where none did (nobody's, or the built-in wall).
    pub decided_by: Option<PathBuf>,
    /// The line in it, from 1.
    pub line: Option<usize>,
    /// Why.
    pub why: Why,
    /// The program or operator of a command that does it, or why it can't be known; empty for the act
    /// of a tool.
    pub by: String,
    /// What to do instead, where there is something.
    pub way_out: Option<String>,
}

impl ActRuling {
    /// The real path, or the path as asked where there is none.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.real.as_deref().unwrap_or(&self.act.path)
    }
}

/// The ruling on a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// The strictest of the verdicts; allow where there are no acts.
    pub verdict: Verdict,
    /// Act by act, in the order asked.
    pub acts: Vec<ActRuling>,
    /// What passes and should be said: a path that can't be resolved.
    pub notes: Vec<String>,
}

impl Ruling {
    /// The acts that were refused.
    pub fn refused(&self) -> impl Iterator<Item = &ActRuling> {
        self.acts.iter().filter(|act| act.verdict == Verdict::Refuse)
    }
}

/// What the judge and the postman need to know about the machine.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The home that holds the registry (`LOCI_HOME`, else `HOME`).
    pub home: PathBuf,
    /// The user's own home, which harnesses use.
    pub user_home: PathBuf,
    /// The machine-local state folder.
    pub state: PathBuf,
    /// `wall:` globs of the settings file; each is matched against whole real paths.
    pub wall: Vec<String>,
    /// Settings folders of harnesses that the environment moves elsewhere (real), with the name below a
    /// home that each one stands for.
    pub moved: Vec<(PathBuf, PathBuf)>,
    /// Files of harnesses that loci has connected, where their names really lead, with what each is.
    pub linked: Vec<(PathBuf, Walled)>,
    /// How many delegations led to what acts here: each message from here says so, so that mail that wakes
    /// mail comes to an end.
    pub hops: usize,
}
