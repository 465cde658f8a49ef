//! `_use.yaml`: what a slot uses from elsewhere, named by reference. Naming is importing is
//! activating.
//!
//! The file is a list of texts. A text that starts with a dot is a path relative to the slot folder;
//! any other is a name at the home level. Each is found as if it stood in this folder.

use std::path::{Path, PathBuf};

use super::diagnostic::{Code, Diagnostic};
use super::find::{self, Budget, Item, Place};
use super::real;
use super::resolve::Via;
use super::slot::{Grammar, INACTIVE, Row, Take, USE};
use crate::sys::disk::{self, Kind};
use crate::text::{header, yaml};

/// How many references one file may hold.
const MAX_REFERENCES: usize = 256;
/// How many files may refer to one another in a row.
const MAX_CHAIN: usize = 16;

/// What a `_use.yaml` names, with the line that names it.
pub(super) fn read(file: &Path, row: &Row, home: &[Item], budget: &mut Budget, diagnostics: &mut Vec<Diagnostic>) -> Vec<(Item, Via)> {
    let mut uses = Uses { row, home, budget, diagnostics, chain: Vec::new() };
    uses.file(file)
}

struct Uses<'a> {
    row: &'a Row,
    home: &'a [Item],
    budget: &'a mut Budget,
    diagnostics: &'a mut Vec<Diagnostic>,
    /// The slot folders that are being read, real.
    chain: Vec<PathBuf>,
}

impl Uses<'_> {
    fn say(&mut self, code: Code, via: &Via, text: &str) {
        self.diagnostics.push(Diagnostic::new(code, &via.path, text).on(via.line));
    }

    fn file(&mut self, file: &Path) -> Vec<(Item, Via)> {
        let Some(folder) = file.parent().map(|folder| real::real(folder, true).path) else { return Vec::new() };
        self.chain.push(folder.clone());
        let mut items = Vec::new();
        for (line, reference) in self.references(file) {
            let via = Via { path: file.to_owned(), line };
            let found = if reference.starts_with('.') { self.path(&folder, &reference, &via) } else { self.name(&reference, &via) };
            items.extend(found.into_iter().map(|item| (item, via.clone())));
        }
        self.chain.pop();
        items
    }

    /// The references in a file, each with its line.
    fn references(&mut self, file: &Path) -> Vec<(usize, String)> {
        let list =
            disk::read_start(file, header::MAX_BYTES as u64).map_err(|error| (1, error.source.to_string())).and_then(|(bytes, more)| {
                let text = String::from_utf8(bytes).map_err(|_| (1, "is not UTF-8".to_owned()))?;
                if more || !header::is_bounded(&text) {
                    return Err((1, "is too large".to_owned()));
                }
                let list: Option<Vec<String>> = serde_yaml::from_str(&text).map_err(|error| {
                    let (line, why) = yaml::refusal(&text, &error);
                    (line.unwrap_or(1), format!("is no list of names: {why}"))
                })?;
                Ok((text, list.unwrap_or_default()))
            });
        let (text, list) = match list {
            Ok(read) => read,
            Err((line, why)) => {
                self.diagnostics.push(Diagnostic::new(Code::Unreadable, file, &why).on(line));
                return Vec::new();
            }
        };
        if list.len() > MAX_REFERENCES {
            self.diagnostics.push(Diagnostic::new(Code::Unreadable, file, "names too much; the rest is not read").on(1));
        }
        let lines: Vec<usize> =
            text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with('-')).map(|(at, _)| at + 1).collect();
        // One item a line, or all in one line.
        let line_of = |nth: usize| if lines.len() == list.len() { lines.get(nth).copied().unwrap_or(1) } else { 1 };
        list.iter().take(MAX_REFERENCES).enumerate().map(|(nth, name)| (line_of(nth), name.clone())).collect()
    }

    /// A name at the home level: the relative path, or without its ending, or a skill's folder.
    fn name(&mut self, name: &str, via: &Via) -> Vec<Item> {
        let is = |item: &&Item| {
            let rel = &item.rel;
            rel == Path::new(name)
                || self.row.is_folder_item() && rel.parent() == Some(Path::new(name))
                || !self.row.is_folder_item() && rel.with_extension("") == Path::new(name)
        };
        match self.home.iter().find(is) {
            Some(item) => vec![item.clone()],
            None => {
                self.say(Code::UseDangling, via, &format!("names `{name}`, which is not at the home level"));
                Vec::new()
            }
        }
    }

    fn path(&mut self, folder: &Path, reference: &str, via: &Via) -> Vec<Item> {
        let real = real::real(&folder.join(reference), true);
        let off = real.path.iter().any(|part| part.to_string_lossy().ends_with(INACTIVE));
        let kind = disk::look(&real.path).ok().flatten().map(|meta| meta.kind);
        let name = real.path.file_name().map(PathBuf::from).unwrap_or_default();
        let item = |rel: PathBuf, path: PathBuf| vec![Item { rel, real: path.clone(), path }];
        let Grammar::Folder { take, .. } = self.row.grammar else { return Vec::new() };
        match (kind, take) {
            _ if off || real.trouble.is_some() => {}
            (Some(Kind::Dir), Take::Named(stands)) if lists(&real.path, stands) => {
                return item(name.join(stands), real.path.join(stands));
            }
            (Some(Kind::Dir), _) => return self.folder(real.path, via),
            (Some(Kind::File), Take::Named(stands)) if name == Path::new(stands) => {
                let skill = real.path.parent().and_then(Path::file_name).map(PathBuf::from).unwrap_or_default();
                return item(skill.join(stands), real.path);
            }
            (Some(Kind::File), take) if take.takes(&name.to_string_lossy()) => return item(name, real.path),
            _ => {}
        }
        self.say(Code::UseDangling, via, &format!("names `{reference}`, where nothing of this slot is"));
        Vec::new()
    }

    /// Everything in another slot folder, and what that one uses.
    fn folder(&mut self, folder: PathBuf, via: &Via) -> Vec<Item> {
        let up = self.chain.last().is_some_and(|here| here.starts_with(&folder));
        if up || self.chain.contains(&folder) || self.chain.len() >= MAX_CHAIN {
            self.say(Code::UseCycle, via, "leads back to itself");
            return Vec::new();
        }
        // What lies there is reached from elsewhere, like through a link.
        let contents = find::folder(Place { path: &folder, real: &folder, linked: true }, self.row, self.budget, self.diagnostics);
        let mut items = contents.on;
        if disk::is_file(&folder.join(USE)) {
            items.extend(self.file(&folder.join(USE)).into_iter().map(|(item, _)| item));
        }
        items
    }
}

/// Whether a directory lists exactly this name.
fn lists(dir: &Path, name: &str) -> bool {
    disk::list_unsorted(dir).is_ok_and(|entries| entries.iter().any(|entry| entry.name == name))
}
