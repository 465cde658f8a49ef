//! Gathering what lies in a slot, level by level: which folder of a dotdir it is, what is on and off in it, what is named
//! from elsewhere. Which of it counts is decided afterwards.

use std::path::{Path, PathBuf};

use super::diagnostic::{Code, Diagnostic};
use super::dotdirs::{self, Dotdir};
use super::duplicates::{self, Candidate};
use super::find::{self, Budget, Item, Place};
use super::resolve::{Level, MAX_FILE, Off, Provenance, Resolution, RootKind, Via};
use super::slot::{self, Grammar, Row};
use super::uses;
use crate::sys::disk::{self, Kind};
use crate::text::header::{self, Header};

/// What was found so far.
pub(super) struct Gather<'a> {
    row: &'a Row,
    slot: &'a str,
    budget: Budget,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// What the home level has: names in `_use.yaml` are looked up here.
    home: Vec<Item>,
    candidates: Vec<Candidate>,
    off: Vec<Off>,
    /// For a sweep: of a file that is longer than this, only its start is looked at, and it is not
    /// handed out.
    start_of: Option<u64>,
}

impl<'a> Gather<'a> {
    /// Nothing yet. `start_of`: of a longer file only so much is looked at, and it is not handed out.
    pub(super) fn new(row: &'a Row, slot: &'a str, budget: Budget, home: Vec<Item>, start_of: Option<u64>) -> Self {
        Self { row, slot, budget, diagnostics: Vec::new(), home, candidates: Vec::new(), off: Vec::new(), start_of }
    }

    /// What counts of it.
    pub(super) fn decide(self, levels: Vec<Level>) -> (Resolution, Budget) {
        let Self { row, mut diagnostics, candidates, off, budget, .. } = self;
        let (files, dropped) = duplicates::drop_them(candidates, row, &mut diagnostics);
        duplicates::say_names(&files, row, &mut diagnostics);
        (Resolution { levels, files, dropped, off, diagnostics }, budget)
    }
}

/// Everything of a slot at one level, for a sweep over many: files longer than `start_of` are looked
/// at and not handed out. `home` is what names in `_use.yaml` mean.
pub(super) fn one_level(level: &Level, slot: &str, home: &[Item], budget: &mut Budget, start_of: u64) -> Resolution {
    let row = slot::row(slot);
    let mut gather = Gather::new(&row, slot, budget.clone(), home.to_vec(), Some(start_of));
    gather.level(0, level);
    let (found, left) = gather.decide(vec![level.clone()]);
    *budget = left;
    found
}

impl Gather<'_> {
    /// Adds what lies at a level.
    pub(super) fn level(&mut self, at: usize, level: &Level) {
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
fn of_header<'a>(path: &'a Path, header: &'a Header) -> impl Iterator<Item = Diagnostic> + 'a {
    header.notes.iter().filter_map(|note| Some(Diagnostic::new(Code::of_status(note.status)?, path, &note.text).on(note.line)))
}

/// Where a slot folder of a dotdir really lies; `None` where there is none to read. A slot that is a
/// link into another dotdir of the same level is read there only.
pub(super) fn slot_folder(dotdir: &Dotdir, level: &Level, slot: &str, row: &Row, diagnostics: &mut Vec<Diagnostic>) -> Option<PathBuf> {
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
