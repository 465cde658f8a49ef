//! What lies in one slot folder: one walk for every row of the table.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::diagnostic::{Code, Diagnostic};
use super::dotdirs;
use super::slot::{self, Grammar, INACTIVE, Row, Take, USE};
use crate::sys::disk::{self, Entry, Kind};

/// How deep a slot folder is walked; deeper is said and left.
const MAX_DEPTH: usize = 200;

/// How much may be reached through links that lead out of a slot: what lies in the tree itself is
/// paid for by whoever made it, but one link can lead to anything.
#[derive(Debug, Clone)]
pub struct Budget {
    /// Entries of directories that are left.
    pub linked: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { linked: 20_000 }
    }
}

/// One file that belongs to a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Relative to the slot folder; of one that is off, without the ending.
    pub rel: PathBuf,
    /// As reached.
    pub path: PathBuf,
    /// Where it really lies.
    pub real: PathBuf,
}

/// What a slot folder holds, each list in bytewise order of the relative path.
#[derive(Debug, Default)]
pub struct Contents {
    /// What is on.
    pub on: Vec<Item>,
    /// What is off: files, and folders, whose name ends so.
    pub off: Vec<Item>,
    /// The file that names what is used from elsewhere.
    pub uses: Option<PathBuf>,
}

/// Where a slot folder is.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// As reached.
    pub path: &'a Path,
    /// Where it really lies.
    pub real: &'a Path,
    /// Whether it lies outside of its level: then it is paid for from the budget.
    pub linked: bool,
}

/// Walks a slot folder.
pub fn folder(place: Place<'_>, row: &Row, budget: &mut Budget, diagnostics: &mut Vec<Diagnostic>) -> Contents {
    let Place { path, real, linked } = place;
    let Grammar::Folder { min, max, take, private } = row.grammar else { return Contents::default() };
    let visited = HashSet::from([real.to_owned()]);
    let mut walk =
        Walk { skills: row.is_folder_item(), min, max, take, private, visited, budget, diagnostics, contents: Contents::default() };
    walk.dir(&At { path: path.to_owned(), real: real.to_owned(), rel: PathBuf::new(), depth: 1, linked });
    let mut contents = walk.contents;
    for list in [&mut contents.on, &mut contents.off] {
        list.sort_by(|a, b| disk::by_bytes(a.rel.as_os_str(), b.rel.as_os_str()));
    }
    contents
}

/// A directory on the walk.
struct At {
    path: PathBuf,
    real: PathBuf,
    rel: PathBuf,
    depth: usize,
    /// Whether a link led here.
    linked: bool,
}

struct Walk<'a> {
    skills: bool,
    min: usize,
    max: usize,
    take: Take,
    private: bool,
    visited: HashSet<PathBuf>,
    budget: &'a mut Budget,
    diagnostics: &'a mut Vec<Diagnostic>,
    contents: Contents,
}

impl Walk<'_> {
    fn say(&mut self, code: Code, path: &Path, text: &str) {
        self.diagnostics.push(Diagnostic::new(code, path, text));
    }

    fn dir(&mut self, at: &At) {
        if at.depth > MAX_DEPTH {
            return self.say(Code::Unreadable, &at.path, "is nested too deep; not read");
        }
        let mut entries = match disk::list_unsorted(&at.path) {
            Ok(entries) => entries,
            Err(error) => return self.diagnostics.push(Diagnostic::unreadable(&at.path, &error)),
        };
        if at.linked {
            match self.budget.linked.checked_sub(entries.len()) {
                Some(left) => self.budget.linked = left,
                None => return self.say(Code::Unreadable, &at.path, "links lead to too many files; the rest is not read"),
            }
        }
        // The order of the relative paths: a folder counts with its slash.
        entries.sort_by(|a, b| ordered(a).cmp(ordered(b)));
        let exact = self.skills && entries.iter().any(|entry| entry.name == "SKILL.md");
        for entry in &entries {
            self.entry(at, entry, exact);
        }
    }

    fn entry(&mut self, at: &At, entry: &Entry, exact: bool) {
        let name = entry.name.to_string_lossy();
        let path = at.path.join(&entry.name);
        if at.depth == 1 && name == USE {
            self.contents.uses = Some(path);
            return;
        }
        // The lock files of an editor are links to nowhere on purpose.
        if (self.private && name.starts_with(['_', '.'])) || name.starts_with(".#") {
            return;
        }
        if let Some(stem) = name.strip_suffix(INACTIVE) {
            return self.off(at, entry, stem);
        }
        if entry.kind != Kind::File && slot::is_foreign_folder(&name) {
            return;
        }
        match entry.kind {
            Kind::File => {
                let real = at.real.join(&entry.name);
                self.file(at, path, real, &name, exact);
            }
            Kind::Dir => self.child(
                at,
                At { real: at.real.join(&entry.name), rel: at.rel.join(&entry.name), path, depth: at.depth + 1, linked: at.linked },
            ),
            Kind::Link => match dotdirs::follow(&path) {
                Err(diagnostic) => self.diagnostics.push(diagnostic),
                Ok((real, Kind::File)) => self.file(at, path, real, &name, exact),
                Ok((real, Kind::Dir)) if at.real.starts_with(&real) => {
                    self.say(Code::SymlinkLoop, &path, "is a link that leads back up; not followed")
                }
                Ok((real, Kind::Dir)) => {
                    self.child(at, At { real, rel: at.rel.join(&entry.name), path, depth: at.depth + 1, linked: true })
                }
                Ok(_) => self.odd(&path, &name),
            },
            Kind::Other => self.odd(&path, &name),
        }
    }

    fn odd(&mut self, path: &Path, name: &str) {
        if self.take.takes(name) {
            self.say(Code::Unreadable, path, "is a pipe, a socket or a device; not read");
        }
    }

    fn child(&mut self, at: &At, child: At) {
        if at.depth < self.max {
            if self.visited.insert(child.real.clone()) {
                self.dir(&child);
            }
        } else if self.skills && disk::is_file(&child.path.join("SKILL.md")) {
            self.say(Code::NestedSkillIgnored, &child.path.join("SKILL.md"), "is a skill inside another folder; it is not found");
        }
    }

    fn file(&mut self, at: &At, path: PathBuf, real: PathBuf, name: &str, exact: bool) {
        if at.depth >= self.min && self.take.takes(name) {
            let rel = path.file_name().map_or_else(|| at.rel.clone(), |name| at.rel.join(name));
            self.contents.on.push(Item { rel, path, real });
        } else if self.skills && at.depth == 1 && name.ends_with(".md") && !name.eq_ignore_ascii_case("README.md") {
            self.say(Code::FlatSkillIgnored, &path, "is no skill: a skill is a folder with a SKILL.md");
        } else if self.skills && at.depth == 2 && !exact && name.eq_ignore_ascii_case("SKILL.md") {
            self.say(Code::SkillWrongCase, &path, "is not called SKILL.md; it is not found");
        }
    }

    fn off(&mut self, at: &At, entry: &Entry, stem: &str) {
        let path = at.path.join(&entry.name);
        let is_dir = match entry.kind {
            Kind::Link => disk::is_dir(&path),
            kind => kind == Kind::Dir,
        };
        if is_dir && self.skills && at.depth == 1 && disk::is_file(&path.join("SKILL.md")) {
            self.say(Code::InactiveDirStillLive, &path, "is off here, but other programs still find the skill in it");
        }
        if is_dir && at.depth < self.max || !is_dir && at.depth >= self.min && self.take.takes(stem) {
            self.contents.off.push(Item { rel: at.rel.join(stem), real: at.real.join(&entry.name), path });
        }
    }
}

/// The bytes that an entry is ordered by.
fn ordered(entry: &Entry) -> impl Iterator<Item = &u8> {
    let slash: &[u8] = if entry.kind == Kind::File { b"" } else { b"/" };
    entry.name.as_bytes().iter().chain(slash)
}
