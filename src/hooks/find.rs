//! The hooks that are there: every file of the slot that says what it binds to, found by the one
//! resolver, with where it comes from and whether it is trusted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::declare::{self, Declared};
use super::kept::Folder;
use super::place::Ground;
use super::trust::Standing;
use crate::sys::{disk, shown};
use crate::tree::climb;
use crate::tree::dotdirs::{IDENTITY, RUNTIME};
use crate::tree::resolve::{Found, RootKind, resolve};

/// A hook file.
#[derive(Debug, Clone)]
pub struct Hook {
    /// Its file's name.
    pub name: String,
    /// The file.
    pub found: Found,
    /// What it says about itself.
    pub declared: Declared,
    /// Whether it may run.
    pub standing: Standing,
    /// What it runs from, where that is not the file itself: its folder as it was looked at.
    pub folder: Option<Arc<Folder>>,
}

impl Hook {
    /// Whether it is of the home level.
    #[must_use]
    pub fn is_home(&self) -> bool {
        self.found.provenance.root == RootKind::Home
    }
}

/// What was found.
#[derive(Debug, Default)]
pub struct Hooks {
    /// In the order in which they run: home, launch far to near, place far to near; by name at one level.
    pub all: Vec<Hook>,
    /// Files whose header can't be made sense of, with why.
    pub bad: Vec<(PathBuf, Vec<String>)>,
    /// What the resolver has to say.
    pub notes: Vec<String>,
}

/// Whether there may be any hook: one look for each folder that could hold some. Most sessions have none,
/// and somebody waits for each call.
#[must_use]
pub fn may_be_there(home: Option<&Path>, launch: Option<&Path>, place: Option<&Path>) -> bool {
    let has = |dir: &Path| [IDENTITY, RUNTIME].iter().any(|dotdir| !matches!(disk::look(&dir.join(dotdir).join("hooks")), Ok(None)));
    let above = |start: &Path, but: Option<&Path>| climb::up(start).take_while(|dir| but.is_none_or(|but| !but.starts_with(dir))).any(has);
    home.is_some_and(has) || launch.is_some_and(|launch| above(launch, None)) || place.is_some_and(|place| above(place, launch))
}

/// Finds them.
#[must_use]
pub fn hooks(ground: &Ground<'_>) -> Hooks {
    let mut hooks = Hooks::default();
    let Ok(found) = resolve(&ground.request("hooks")) else { return hooks };
    hooks.notes = found.diagnostics.iter().map(|one| format!("{}: {}", shown::path(&one.path), shown::text(&one.text))).collect();
    let mut folders = BTreeMap::new();
    for file in found.files {
        match declare::header(&file.bytes) {
            None => {}
            Some(Err(remarks)) => hooks.bad.push((file.path, remarks)),
            Some(Ok(declared)) => {
                let name = file.rel.to_string_lossy().into_owned();
                let (standing, folder) = ground.trust.of_hook(&file, &mut folders);
                hooks.all.push(Hook { name, found: file, declared, standing, folder });
            }
        }
    }
    hooks
}
