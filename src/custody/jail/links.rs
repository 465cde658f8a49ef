//! Files of others that have a second name somewhere: through that one they can be written.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::sys::disk;
use crate::tree::climb;

/// How many files are looked at.
const MAX_LOOKED: usize = 2_000;
/// How many of those that have one are told.
const MAX_TOLD: usize = 5;
/// How many files a walk remembers.
const MAX_MET: usize = 20_000;

/// The files that a walk has met, as many as can be remembered: whose they are turns out later.
#[derive(Debug, Default)]
pub(super) struct Met {
    dirs: Vec<(PathBuf, Vec<OsString>)>,
    files: usize,
}

impl Met {
    /// One more.
    pub(super) fn meet(&mut self, dir: &Path, name: &[u8]) {
        if self.files >= MAX_MET {
            return;
        }
        self.files += 1;
        let name = OsStr::from_bytes(name).to_owned();
        match self.dirs.last_mut() {
            Some((last, names)) if last == dir => names.push(name),
            _ => self.dirs.push((dir.to_owned(), vec![name])),
        }
    }

    /// Whether there may have been more than are remembered.
    pub(super) fn is_full(&self) -> bool {
        self.files >= MAX_MET
    }

    /// Those of another walk.
    pub(super) fn add(&mut self, other: Self) {
        self.dirs.extend(other.dirs);
        self.files += other.files;
    }
}

/// What was looked at, and what came of it.
#[derive(Debug, Default)]
pub(super) struct Links {
    looked: usize,
    /// The files that have another name.
    pub(super) told: Vec<PathBuf>,
}

impl Links {
    /// Whether no further file is looked at.
    pub(super) fn enough(&self) -> bool {
        self.looked >= MAX_LOOKED || self.told.len() >= MAX_TOLD
    }

    /// Looks at a file, unless that is enough.
    pub(super) fn look(&mut self, path: PathBuf) {
        if self.enough() {
            return;
        }
        self.looked += 1;
        if disk::names_of(&path) > 1 {
            self.told.push(path);
        }
    }

    /// Looks at the files whose nearest place is one of `wanted`.
    pub(super) fn of_places(&mut self, met: &Met, wanted: &HashSet<PathBuf>, places: &HashSet<&Path>) {
        for (dir, names) in &met.dirs {
            let place = climb::up(dir).find(|dir| places.contains(dir));
            if place.is_some_and(|place| wanted.contains(place)) {
                names.iter().for_each(|name| self.look(dir.join(name)));
            }
        }
    }
}
