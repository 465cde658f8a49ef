//! The one resolver: a source ladder crossed with a table of slots.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::climb;
use super::diagnostic::{Code, Diagnostic};
use super::dotdirs::{self, Dotdir, Dotdirs};
use super::duplicates::{self, Candidate};
use super::find::{self, Budget, Item, Place};
use super::real;
use super::slot::{self, Grammar, Row};
use super::uses;
use crate::sys::disk::{self, Kind};
use crate::text::digest;
use crate::text::header::{self, Header};
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
    let mut gather = Gather {
        row: &row,
        slot: &request.slot,
        budget: Budget::default(),
        diagnostics,
        home: Vec::new(),
        candidates: Vec::new(),
        off: Vec::new(),
        start_of: None,
    };
    for (at, level) in levels.iter().enumerate() {
        gather.level(at, level);
    }
    let Gather { mut diagnostics, candidates, off, .. } = gather;
    let (files, dropped) = duplicates::drop_them(candidates, &row, &mut diagnostics);
    duplicates::say_names(&files, &row, &mut diagnostics);
    Ok(Resolution { levels, files, dropped, off, diagnostics })
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

struct Gather<'a> {
    row: &'a Row,
    slot: &'a str,
    budget: Budget,
    diagnostics: Vec<Diagnostic>,
    /// What the home level has: names in `_use.yaml` are looked up here.
    home: Vec<Item>,
    candidates: Vec<Candidate>,
    off: Vec<Off>,
    /// For a sweep: of a file that is longer than this, only its start is looked at, and it is not
    /// handed out.
    start_of: Option<u64>,
}

/// Everything of a slot at one level, for a sweep over many: files longer than `start_of` are looked
/// at and not handed out. `home` is what names in `_use.yaml` mean.
pub(super) fn one_level(level: &Level, slot: &str, home: &[Item], budget: &mut Budget, start_of: u64) -> Resolution {
    let row = slot::row(slot);
    let mut gather = Gather {
        row: &row,
        slot,
        budget: budget.clone(),
        diagnostics: Vec::new(),
        home: home.to_vec(),
        candidates: Vec::new(),
        off: Vec::new(),
        start_of: Some(start_of),
    };
    gather.level(0, level);
    let Gather { mut diagnostics, candidates, off, budget: left, .. } = gather;
    *budget = left;
    let (files, dropped) = duplicates::drop_them(candidates, &row, &mut diagnostics);
    duplicates::say_names(&files, &row, &mut diagnostics);
    Resolution { levels: vec![level.clone()], files, dropped, off, diagnostics }
}

impl Gather<'_> {
    fn level(&mut self, at: usize, level: &Level) {
        let provenance =
            |dotdir: &Dotdir| Provenance { root: level.root, level: level.path.clone(), dotdir: dotdir.name.clone(), via: None };
        if let (Grammar::Named { level: names, .. }, Some(first), true) =
            (self.row.grammar, level.dotdirs.first(), level.root != RootKind::Home)
        {
            self.named(at, (&level.path, &level.path), names, &provenance(first));
        }
        for dotdir in level.dotdirs.iter().filter(|dotdir| self.row.reads(dotdir.layer)) {
            let provenance = provenance(dotdir);
            if let Grammar::Named { dotdir: names, .. } = self.row.grammar {
                self.named(at, (&dotdir.path, &dotdir.real), names, &provenance);
                continue;
            }
            let Some(real) = slot_folder(dotdir, level, self.slot, self.row, &mut self.diagnostics) else { continue };
            let path = dotdir.path.join(self.slot);
            let place = Place { path: &path, real: &real, linked: !real.starts_with(&level.path) };
            let contents = find::folder(place, self.row, &mut self.budget, &mut self.diagnostics);
            self.off.extend(contents.off.into_iter().map(|item| Off { path: item.path, rel: item.rel, provenance: provenance.clone() }));
            if level.root == RootKind::Home {
                self.home.extend(contents.on.iter().cloned());
            }
            let mut items: Vec<(Item, Option<Via>)> = contents.on.into_iter().map(|item| (item, None)).collect();
            if let Some(file) = contents.uses {
                let used = uses::read(&file, self.row, &self.home, &mut self.budget, &mut self.diagnostics);
                items.extend(used.into_iter().map(|(item, via)| (item, Some(via))));
                items.sort_by(|(a, _), (b, _)| disk::by_bytes(a.rel.as_os_str(), b.rel.as_os_str()));
            }
            for (item, via) in items {
                self.take(at, Provenance { via, ..provenance.clone() }, item);
            }
        }
    }

    /// Files that are found by their name alone, in a directory as reached and as it really lies.
    fn named(&mut self, at: usize, (dir, real_dir): (&Path, &Path), names: &[&str], provenance: &Provenance) {
        for name in names {
            let path = dir.join(name);
            let real = match disk::look(&path) {
                Ok(None) => continue,
                Ok(Some(meta)) if meta.kind == Kind::File => real_dir.join(name),
                Ok(Some(meta)) if meta.kind == Kind::Link => match dotdirs::follow(&path) {
                    Ok((real, Kind::File)) => real,
                    Ok(_) => continue,
                    Err(diagnostic) => {
                        self.diagnostics.push(diagnostic);
                        continue;
                    }
                },
                Ok(Some(_)) => continue,
                Err(error) => {
                    self.diagnostics.push(Diagnostic::unreadable(&path, &error));
                    continue;
                }
            };
            self.take(at, provenance.clone(), Item { rel: PathBuf::from(name), path, real });
        }
    }

    fn take(&mut self, level: usize, provenance: Provenance, item: Item) {
        let read = match self.start_of {
            // Of a long file without a first fence there is nothing to be said.
            Some(start) => match disk::read_bounded(&item.path, start) {
                Ok(Some(bytes)) => Ok((bytes, false)),
                Ok(None) => disk::read_start(&item.path, 8).and_then(|(first, _)| {
                    if first.windows(3).any(|three| three == b"---") { disk::read_start(&item.path, start) } else { Ok((first, true)) }
                }),
                Err(error) => Err(error),
            },
            None => disk::read_bounded(&item.path, MAX_FILE).map(|bytes| bytes.map_or((Vec::new(), true), |bytes| (bytes, false))),
        };
        match read {
            Ok((_, true)) if self.start_of.is_none() => {
                let text = format!("is larger than {} MiB; not read", MAX_FILE >> 20);
                self.diagnostics.push(Diagnostic::new(Code::Unreadable, &item.path, &text));
            }
            Ok((bytes, more)) => {
                // A cut can go through a letter.
                let whole = if more { bytes.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len()) } else { bytes.len() };
                let header = header::parse(bytes.get(..whole).unwrap_or_default());
                if item.path.extension().is_some_and(|ending| ending == "md") {
                    self.diagnostics.extend(of_header(&item.path, &header));
                }
                if !more {
                    self.candidates.push(Candidate { level, provenance, item, header, bytes });
                }
            }
            Err(error) => self.diagnostics.push(Diagnostic::unreadable(&item.path, &error)),
        }
    }
}

/// What is to be said about a file's front matter.
pub fn of_header<'a>(path: &'a Path, header: &'a Header) -> impl Iterator<Item = Diagnostic> + 'a {
    header.notes.iter().filter_map(|note| Some(Diagnostic::new(Code::of_status(note.status)?, path, &note.text).on(note.line)))
}

/// Where a slot folder of a dotdir really lies; `None` where there is none to read. A slot that is a
/// link into another dotdir of the same level is read there only.
pub fn slot_folder(dotdir: &Dotdir, level: &Level, slot: &str, row: &Row, diagnostics: &mut Vec<Diagnostic>) -> Option<PathBuf> {
    let path = dotdir.path.join(slot);
    let meta = match disk::look(&path) {
        Ok(meta) => meta?,
        Err(error) => {
            diagnostics.push(Diagnostic::unreadable(&path, &error));
            return None;
        }
    };
    let (real, kind) = match meta.kind {
        Kind::Link => match dotdirs::follow(&path) {
            Ok(there) => there,
            Err(diagnostic) => {
                diagnostics.push(diagnostic);
                return None;
            }
        },
        kind => (dotdir.real.join(slot), kind),
    };
    if kind != Kind::Dir {
        diagnostics.push(Diagnostic::new(Code::SlotIsFile, &path, "is a file; a slot is a directory"));
        return None;
    }
    let elsewhere = |other: &Dotdir| {
        let theirs = other.real.join(slot);
        let deep = matches!(row.grammar, Grammar::Folder { max: usize::MAX, .. });
        other.name != dotdir.name && row.reads(other.layer) && (real == theirs || deep && real.starts_with(&theirs))
    };
    // Of two names for one folder, the one that is no link reads it.
    let linked = meta.kind == Kind::Link || dotdir.real != dotdir.path;
    if linked && level.dotdirs.iter().any(|other| elsewhere(other) && other.real == other.path) {
        return None;
    }
    Some(real)
}
