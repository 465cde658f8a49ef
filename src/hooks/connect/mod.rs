//! Connectors: putting the relays into a harness's own configuration, and taking them out.
//!
//! What stands in the configuration is a harness's and its user's: nothing in it changes but the
//! relays. What is needed to give back every byte is kept in the state folder: a receipt for each
//! file, and the file as it was.

mod bare;
pub mod check;
mod file;
mod ground;
mod jsonc;
mod link;
mod put;
mod receipt;
mod relay;
pub mod splice;
mod strict;
mod tables;
mod take;
pub mod tamper;
pub mod trust;
mod whole;
mod yaml;

use std::path::{Path, PathBuf};

pub use file::SEVERAL;
pub use ground::Spot;
pub use link::{Settings, mend_link, settings};
pub use put::connect;
pub use take::disconnect;
pub use whole::calls_us;
pub use whole::{CHANGED, TAKEN};

use splice::Unfit;

use crate::sys::disk::PathError;
use crate::sys::env::Env;
use crate::sys::plan::Plan;
use crate::sys::shown;

/// Whose configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// The user's: every project.
    User,
    /// One user's in a project: the file is not tracked with it.
    Project(PathBuf),
    /// Everybody's in a project: the file is tracked with it.
    Shared(PathBuf),
}

/// Where things are on this machine.
#[derive(Debug, Clone)]
pub struct Ground<'a> {
    /// The environment, for the variables that move a harness's folder.
    pub env: &'a Env,
    /// The home that holds the registry.
    pub home: &'a Path,
    /// The user's own home, which harnesses use.
    pub user_home: &'a Path,
    /// The machine-local state folder.
    pub state: &'a Path,
}

/// What becomes of one file.
#[derive(Debug, Clone)]
pub struct Edit {
    /// The file (real, where it is there).
    pub file: PathBuf,
    /// What stands in it; `None` where it is not there.
    pub before: Option<Vec<u8>>,
    /// What will stand in it; `None` where it will not be there.
    pub after: Option<Vec<u8>>,
}

/// What is to be done to one harness, as a value.
#[derive(Debug, Clone)]
pub struct Change {
    /// The name that the harness reads its configuration by; of several files, the first one.
    pub name: PathBuf,
    /// Where that leads.
    pub file: PathBuf,
    /// The files, in their order.
    pub edits: Vec<Edit>,
    /// Commands that stand in it and call another `loci` than relays do: they are left alone.
    pub foreign: Vec<String>,
    /// The folders that were made for files which are taken out.
    folders: Vec<PathBuf>,
    /// All that has to be done; empty where it is done already.
    pub plan: Plan,
}

impl Change {
    fn of(spot: &Spot) -> Self {
        Self {
            name: spot.name.clone(),
            file: spot.file.clone(),
            edits: Vec::new(),
            foreign: Vec::new(),
            folders: Vec::new(),
            plan: Plan::default(),
        }
    }

    /// The file of an edit, by its name where it is the first one.
    fn spot(&self, edit: &Edit) -> Spot {
        Spot { name: if edit.file == self.file { self.name.clone() } else { edit.file.clone() }, file: edit.file.clone() }
    }
}

/// Why a configuration can't be worked on; reads on after "failed to …". Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// What stands in the file does not allow it.
    #[error("change {}: {}", shown::path(.path), .unfit.why)]
    Unfit {
        /// The file.
        path: PathBuf,
        /// Where and why.
        unfit: Unfit,
    },
    /// The file can't be used at all.
    #[error("change {}: {why}", shown::path(.path))]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        why: &'static str,
    },
    /// The harness reads no such file.
    #[error("connect {title} for one user in a project: it reads no file there that is not tracked")]
    NoLocal {
        /// The harness.
        title: &'static str,
    },
    /// The harness reads no file of a project.
    #[error("connect {title} for a project: it reads no hooks there")]
    NoShared {
        /// The harness.
        title: &'static str,
    },
    /// The disk.
    #[error(transparent)]
    Disk(#[from] PathError),
}
