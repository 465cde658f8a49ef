//! Where a harness's settings are on this machine.

use std::path::{Path, PathBuf};

use super::{ConnectError, Ground, Reach};
use crate::hooks::harness::{Adapter, Call};
use crate::sys::disk::{self, Kind};
use crate::tree::climb;

impl Ground<'_> {
    /// The name of the program that stays true over upgrades: a link.
    #[must_use]
    pub fn link(&self) -> PathBuf {
        self.home.join(".loci/bin/loci")
    }

    /// The configuration folder of a harness.
    #[must_use]
    pub fn folder(&self, adapter: &Adapter) -> PathBuf {
        let (variable, tail) = adapter.wiring.moved_by;
        let moved = self.env.get(variable).map(Path::new).filter(|path| path.is_absolute());
        moved.map_or_else(|| self.user_home.join(adapter.wiring.folder), |folder| folder.join(tail))
    }

    /// The file that a relay goes into; of several, the first one.
    ///
    /// # Errors
    /// Where the harness has none of that kind, or a link leads nowhere.
    pub fn spot(&self, adapter: &Adapter, reach: &Reach) -> Result<Spot, ConnectError> {
        let path = match reach {
            Reach::User => self.folder(adapter).join(adapter.wiring.file),
            Reach::Shared(project) => match adapter.wiring.shared {
                Some(shared) => project.join(shared),
                None => return Err(ConnectError::NoShared { title: adapter.title }),
            },
            Reach::Project(project) => match adapter.wiring.local {
                Some(local) => project.join(local),
                None => return Err(ConnectError::NoLocal { title: adapter.title }),
            },
        };
        Spot::at(path)
    }

    /// How the relays call us.
    pub(super) fn call(&self, adapter: &Adapter, reach: &Reach, observe: bool) -> Result<Call, ConnectError> {
        let link = self.link();
        let program = match reach {
            Reach::Shared(_) => None,
            Reach::User | Reach::Project(_) => match link.to_str() {
                Some(text) => Some(text.to_owned()),
                None => return Err(ConnectError::File { path: link, why: "its name is not UTF-8, so no configuration can name it" }),
            },
        };
        Ok(Call { program, harness: adapter.name, observe })
    }
}

/// A file of a harness. What counts is the name: a harness reads what it finds under it, wherever that lies
/// and whatever it is called there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// The name that the harness reads it by.
    pub name: PathBuf,
    /// Where a link of that name leads; else the name itself.
    pub file: PathBuf,
}

impl Spot {
    /// What lies under a name.
    ///
    /// # Errors
    /// Where that is no file, or a link on the way to it leads nowhere.
    pub fn at(name: PathBuf) -> Result<Self, ConnectError> {
        let file = real(name.clone())?;
        Ok(Self { name, file })
    }

    /// The file of another name in the same folder.
    pub(super) fn beside(&self, name: &str) -> Result<Self, ConnectError> {
        Self::at(self.name.with_file_name(name))
    }

    /// Whether the name is a link.
    pub(super) fn is_link(&self) -> bool {
        self.name != self.file
    }
}

/// The file that a name leads to.
pub(super) fn real(path: PathBuf) -> Result<PathBuf, ConnectError> {
    match disk::look(&path)?.map(|meta| meta.kind) {
        Some(Kind::File) => Ok(path),
        None => {
            let gone = climb::above(&path).find_map(dangling);
            gone.map_or(Ok(path), |path| Err(ConnectError::File { path, why: "it is a link that leads to no folder" }))
        }
        Some(Kind::Link) if disk::is_file(&path) => Ok(disk::canonical(&path)?),
        Some(Kind::Link) => Err(ConnectError::File { path, why: "it is a link that leads to no file" }),
        Some(_) => Err(ConnectError::File { path, why: "it is not a file" }),
    }
}

/// A folder that is a link to nothing: none can be made in its place.
fn dangling(dir: &Path) -> Option<PathBuf> {
    let link = matches!(disk::look(dir), Ok(Some(meta)) if meta.kind == Kind::Link);
    (link && matches!(disk::look_through(dir), Ok(None))).then(|| dir.to_owned())
}
