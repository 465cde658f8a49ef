//! One flat list of places, read five ways. Nobody keeps a map: each reading is a function of the
//! list.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::diagnostic::Diagnostic;
use super::dotdirs::{self, Dotdirs, RENDER};
use super::find::{self, Budget};
use super::gather;
use super::places::{Owner, Place};
use super::resolve::{Level, RootKind};
use super::slot;
use crate::sys::disk::{self, Kind};

/// How the list is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Who rules writes where.
    Gate,
    /// What a place looks like.
    Way,
    /// Who can be reached.
    Scope,
    /// What can be done where, and where one can go from there.
    Learn,
    /// Every body is a card.
    Roster,
}

impl Reading {
    /// The words, in the order of the list.
    pub const WORDS: [&str; 5] = ["gate", "way", "scope", "learn", "roster"];

    /// The reading of a word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        match word {
            "gate" => Some(Self::Gate),
            "way" => Some(Self::Way),
            "scope" => Some(Self::Scope),
            "learn" => Some(Self::Learn),
            "roster" => Some(Self::Roster),
            _ => None,
        }
    }
}

/// The places with an owner of their own: the gates of the tree.
pub fn gates(places: &[Place]) -> impl Iterator<Item = (&Place, &Owner)> {
    places.iter().filter_map(|place| Some((place, place.owner.as_deref()?))).filter(|(place, owner)| owner.dir == place.path)
}

/// The places that look like something, each with its image.
pub fn ways(places: &[Place]) -> impl Iterator<Item = (&Place, Option<PathBuf>)> {
    places.iter().filter(|place| place.dotdirs.iter().any(|name| name == RENDER)).map(|place| (place, image(&place.path)))
}

/// The image of a place: in its `.loci-view`, `image.*` before others, else the first by name.
#[must_use]
pub fn image(place: &Path) -> Option<PathBuf> {
    let dir = place.join(RENDER);
    let entries = disk::list(&dir).ok()?;
    let is_image = |name: &str| [".png", ".jpg", ".jpeg", ".webp", ".gif", ".svg"].iter().any(|ending| name.ends_with(ending));
    let mut names = entries
        .iter()
        .filter(|entry| matches!(entry.kind, Kind::File | Kind::Link))
        .map(|entry| &entry.name)
        .filter(|name| is_image(&name.to_string_lossy()));
    let first = names.clone().next();
    names.find(|name| name.to_string_lossy().starts_with("image.")).or(first).map(|name| dir.join(name))
}

/// The owners in the list, by id, each with the directories it owns here.
#[must_use]
pub fn contacts(places: &[Place]) -> BTreeMap<&str, Vec<&Place>> {
    let mut contacts: BTreeMap<&str, Vec<&Place>> = BTreeMap::new();
    for (place, owner) in gates(places) {
        if let Some(id) = owner.id() {
            contacts.entry(id).or_default().push(place);
        }
    }
    contacts
}

/// For each place the places one can go to from it: those below with none in between. `places` is in
/// the order of paths.
#[must_use]
pub fn exits(places: &[Place]) -> Vec<Vec<usize>> {
    let mut exits = vec![Vec::new(); places.len()];
    let mut above: Vec<usize> = Vec::new();
    for (at, place) in places.iter().enumerate() {
        while above.last().and_then(|top| places.get(*top)).is_some_and(|top| !place.path.starts_with(&top.path)) {
            above.pop();
        }
        if let Some(list) = above.last().and_then(|top| exits.get_mut(*top)) {
            list.push(at);
        }
        above.push(at);
    }
    exits
}

/// The names of the skills that are on at one place, in order, each once.
#[must_use]
pub fn skills(place: &Path, dotdirs: &Dotdirs, budget: &mut Budget, diagnostics: &mut Vec<Diagnostic>) -> Vec<String> {
    let row = slot::row("skills");
    let level = Level { root: RootKind::Launch, path: place.to_owned(), dotdirs: dotdirs::at(place, dotdirs, diagnostics) };
    let mut names = Vec::new();
    for dotdir in level.dotdirs.iter().filter(|dotdir| row.reads(dotdir.layer)) {
        let Some(real) = gather::slot_folder(dotdir, &level, row.name, &row, diagnostics) else { continue };
        let path = dotdir.path.join(row.name);
        let place = find::Place { path: &path, real: &real, linked: !real.starts_with(&level.path) };
        let items = find::folder(place, &row, budget, diagnostics).on;
        names.extend(items.iter().filter_map(|item| Some(item.rel.parent()?.to_string_lossy().into_owned())));
    }
    names.sort();
    names.dedup();
    names
}

/// The bodies in the list that can be read, by id: more than one place under an id is a fault.
#[must_use]
pub fn bodies(places: &[Place]) -> BTreeMap<&str, Vec<&Place>> {
    let mut bodies: BTreeMap<&str, Vec<&Place>> = BTreeMap::new();
    for place in places {
        if let Some(Ok(body)) = &place.body {
            bodies.entry(body.id.value.as_str()).or_default().push(place);
        }
    }
    bodies
}
