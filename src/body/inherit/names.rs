//! By which names a thing in a body can be reached. What is memory is so by its place, and a link can make a place of
//! any other: where `.loci/memory` leads to `mem`, what lies in `mem` is memory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::InheritError;
use crate::body::memory::Memory;
use crate::sys::disk::{self, Kind, PathError};
use crate::tree::climb;
use crate::tree::transport::{self, Why};

/// The most names of one thing that are looked at.
const MOST_NAMES: usize = 64;
/// The most links, and the most directories, of a body that are looked at.
const MOST: usize = 1_000_000;

/// The links of a body, and the files that memory has a name of.
pub(super) struct Names {
    /// By where it leads, the links to it; both in the body.
    links: BTreeMap<PathBuf, Vec<PathBuf>>,
    /// Files in a place of memory that have another name as well: device and inode.
    remembered: BTreeSet<(u64, u64)>,
    /// Files with the name of a secret that have another name as well.
    secret: BTreeSet<(u64, u64)>,
}

impl Names {
    /// Reads them.
    pub(super) fn of(parent: &Path, memory: &Memory) -> Result<Self, InheritError> {
        let mut names = Self { links: BTreeMap::new(), remembered: BTreeSet::new(), secret: BTreeSet::new() };
        let real = disk::canonical(parent)?;
        let mut open = vec![PathBuf::new()];
        let mut count = 0;
        let mut shared = Vec::new();
        while let Some(dir) = open.pop() {
            count += 1;
            if count > MOST || dir.components().count() > super::MAX_DEPTH {
                return Err(super::unfit(&parent.join(&dir), None, "there is more of it than anybody looks through"));
            }
            for entry in disk::list(&parent.join(&dir))? {
                let rel = dir.join(&entry.name);
                let path = parent.join(&rel);
                match entry.kind {
                    Kind::Dir => open.push(rel),
                    Kind::Link => {
                        let target = disk::canonical(&path).ok();
                        let inside = target.and_then(|target| target.strip_prefix(&real).ok().map(Path::to_owned));
                        if let Some(target) = inside.filter(|target| !target.as_os_str().is_empty()) {
                            count += 1;
                            names.links.entry(target).or_default().push(rel);
                        }
                    }
                    Kind::File if disk::names_of(&path) > 1 => shared.push(rel),
                    Kind::File | Kind::Other => {}
                }
            }
        }
        for rel in shared {
            let places = names.of_path(&rel);
            let remembered = places.iter().any(|name| climb::up(name).any(|part| memory.of(part).is_some()));
            let secret = places.iter().any(|name| transport::by_name(name) == Some(Why::Token));
            if (remembered || secret)
                && let Some(meta) = disk::look(&parent.join(&rel))?
            {
                let known = if remembered { &mut names.remembered } else { &mut names.secret };
                known.insert(meta.id);
            }
        }
        Ok(names)
    }

    /// All names of a thing, its own first; those of a folder that is switched off (`.inactive`) are what they were.
    pub(super) fn of_path(&self, rel: &Path) -> Vec<PathBuf> {
        let mut names = vec![rel.to_owned()];
        let mut at = 0;
        while let Some(name) = names.get(at).cloned() {
            at += 1;
            let mut more = vec![switched_on(&name)];
            for target in climb::up(&name) {
                let rest = name.strip_prefix(target).unwrap_or(Path::new(""));
                more.extend(self.links.get(target).into_iter().flatten().map(|link| join(link, rest)));
            }
            for one in more {
                if names.len() < MOST_NAMES && !names.contains(&one) {
                    names.push(one);
                }
            }
        }
        names
    }

    /// Whether memory has a name of this file.
    pub(super) fn is_remembered(&self, path: &Path) -> Result<bool, PathError> {
        holds(&self.remembered, path)
    }

    /// Whether it has another name that is one of a secret.
    pub(super) fn is_secret(&self, path: &Path) -> Result<bool, PathError> {
        holds(&self.secret, path)
    }
}

fn holds(files: &BTreeSet<(u64, u64)>, path: &Path) -> Result<bool, PathError> {
    if files.is_empty() {
        return Ok(false);
    }
    Ok(disk::look(path)?.is_some_and(|meta| files.contains(&meta.id)))
}

/// As [`Path::join`], without a slash at the end for an empty rest.
fn join(link: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { link.to_owned() } else { link.join(rest) }
}

/// The name without `.inactive`, wherever that stands in it.
fn switched_on(rel: &Path) -> PathBuf {
    rel.iter().map(|part| part.to_str().and_then(|part| part.strip_suffix(".inactive")).map_or(part, AsRef::as_ref)).collect()
}
