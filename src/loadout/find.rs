//! Reads what can be switched at a level, on or off.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use super::{CLOCK, INACTIVE, Item, Level, OWN, Section, with_ending};
use crate::sys::disk::{self, Entry, Kind, PathError};

/// The deepest folder of rules that is looked into.
const MAX_DEPTH: usize = 64;

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// The items, sorted by section, name (bytewise) and dotdir (table order).
    pub items: Vec<Item>,
    /// Folders that could not be looked into.
    pub problems: Vec<PathError>,
}

/// One section of one dotdir, where it really lies.
struct Place<'a> {
    section: Section,
    dotdir: &'a str,
    dir: PathBuf,
    outside: bool,
}

/// A link that may be an item of its own or lead to one in another dotdir.
struct Linked {
    item: Item,
    /// What it leads to, as far as that can be told.
    target: PathBuf,
}

/// Reads a level.
#[must_use]
pub fn items(level: &Level) -> Found {
    let mut find = Find { level, homes: homes(level), seen: BTreeSet::new(), links: Vec::new(), found: Found::default() };
    let places = find.places();
    for place in &places {
        match place.section {
            Section::Skills => find.skills(place),
            Section::Agents => find.flat(place, |name| name.ends_with(b".md")),
            Section::Hooks => find.flat(place, |name| !name.starts_with(b"_") && !name.starts_with(b".")),
            Section::Rules => find.rules(place, &place.dir, Path::new(""), 0),
        }
    }
    find.settle_links();
    let Find { mut found, .. } = find;
    let rank = |item: &Item| level.dotdirs().position(|one| one == item.dotdir);
    found.items.sort_by(|a, b| {
        (a.section, a.name.as_os_str().as_bytes(), rank(a), &a.active).cmp(&(b.section, b.name.as_os_str().as_bytes(), rank(b), &b.active))
    });
    found
}

/// The real path of every dotdir of the level, with its name.
fn homes(level: &Level) -> Vec<(String, PathBuf)> {
    level.dotdirs().filter_map(|dotdir| Some((dotdir.to_owned(), disk::canonical(&level.dir.join(dotdir)).ok()?))).collect()
}

struct Find<'a> {
    level: &'a Level,
    homes: Vec<(String, PathBuf)>,
    /// Real folders that were read, per section: each is read once.
    seen: BTreeSet<(Section, PathBuf)>,
    links: Vec<Linked>,
    found: Found,
}

impl<'a> Find<'a> {
    /// The sections that are there: real ones first, so that what is reached through a link as well
    /// is listed where it lies.
    fn places(&mut self) -> Vec<Place<'a>> {
        let (mut real, mut linked) = (Vec::new(), Vec::new());
        for section in Section::ALL {
            for dotdir in self.level.dotdirs().filter(|dotdir| holds(section, dotdir, self.level)) {
                let dir = self.level.dir.join(dotdir).join(section.name());
                if !disk::is_dir(&dir) {
                    continue;
                }
                let Ok(to) = disk::canonical(&dir) else { continue };
                if to == dir {
                    real.push(Place { section, dotdir, dir, outside: false });
                } else {
                    linked.push((section, dotdir, to));
                }
            }
        }
        for (section, dotdir, to) in linked {
            let home = self.homes.iter().find(|(_, home)| to.starts_with(home)).map(|(name, _)| name.clone());
            let lies_in = home.and_then(|name| self.level.dotdirs().find(|one| **one == name));
            real.push(Place { section, dotdir: lies_in.unwrap_or(dotdir), dir: to, outside: lies_in.is_none() });
        }
        real.retain(|place| self.seen.insert((place.section, place.dir.clone())));
        real
    }

    fn list(&mut self, dir: &Path) -> Vec<Entry> {
        disk::list(dir).unwrap_or_else(|error| {
            self.found.problems.push(error);
            Vec::new()
        })
    }

    /// An item of the file `name` in `dir`, by what stands there under both names.
    fn item(&self, place: &Place<'_>, dir: &Path, name: &OsStr, item: PathBuf, kinds: &BTreeMap<&OsStr, Kind>) -> Item {
        let active = dir.join(name);
        let inactive = with_ending(&active);
        let off_name = with_ending(Path::new(name));
        let (on, off) = (kinds.get(name).copied(), kinds.get(off_name.as_os_str()).copied());
        let is_file = |kind: Option<Kind>| matches!(kind, Some(Kind::File | Kind::Link));
        let (is_on, is_off) = (is_file(on), is_file(off));
        Item {
            section: place.section,
            name: item,
            dotdir: place.dotdir.to_owned(),
            active,
            inactive,
            is_on,
            is_off,
            barred: (on.is_some() && !is_on) || (off.is_some() && !is_off),
            vendor: self.level.is_vendor(place.dotdir),
            outside: place.outside,
            linked_folder: false,
        }
    }

    /// Takes an item in; one that is a link waits until all files are known.
    fn take(&mut self, item: Item, kinds: &BTreeMap<&OsStr, Kind>) {
        let linked = item.is_on && item.active.file_name().and_then(|name| kinds.get(name)).is_some_and(|kind| *kind == Kind::Link);
        if linked {
            let target = target_of(&item.active);
            self.links.push(Linked { item, target });
        } else {
            self.found.items.push(item);
        }
    }

    fn flat(&mut self, place: &Place<'_>, fits: impl Fn(&[u8]) -> bool) {
        let entries = self.list(&place.dir);
        let kinds = kinds(&entries);
        for name in switchable(&entries).filter(|name| fits(name.as_bytes())) {
            let item = self.item(place, &place.dir, &name, name.clone().into(), &kinds);
            self.take(item, &kinds);
        }
    }

    fn rules(&mut self, place: &Place<'_>, dir: &Path, below: &Path, depth: usize) {
        let entries = self.list(dir);
        let kinds = kinds(&entries);
        for name in switchable(&entries).filter(|name| name.as_bytes().ends_with(b".md")) {
            // A link to a folder is one, whatever its name.
            if kinds.get(name.as_os_str()) == Some(&Kind::Link) && disk::is_dir(&dir.join(&name)) {
                continue;
            }
            let item = self.item(place, dir, &name, below.join(&name), &kinds);
            self.take(item, &kinds);
        }
        if depth >= MAX_DEPTH {
            return;
        }
        let mut links = Vec::new();
        for entry in &entries {
            if entry.name.as_bytes().ends_with(INACTIVE.as_bytes()) {
                continue;
            }
            let path = dir.join(&entry.name);
            match entry.kind {
                Kind::Dir => {
                    if self.seen.insert((Section::Rules, path.clone())) {
                        self.rules(place, &path, &below.join(&entry.name), depth + 1);
                    }
                }
                Kind::Link if disk::is_dir(&path) => links.push(entry),
                _ => {}
            }
        }
        for entry in links {
            let Ok(real) = disk::canonical(&dir.join(&entry.name)) else { continue };
            if self.seen.insert((Section::Rules, real.clone())) {
                let home = self.homes.iter().find(|(_, home)| real.starts_with(home)).map(|(name, _)| name.clone());
                let lies_in = home.and_then(|name| self.level.dotdirs().find(|one| **one == name));
                let behind = Place {
                    section: place.section,
                    dotdir: lies_in.unwrap_or(place.dotdir),
                    dir: real.clone(),
                    outside: lies_in.is_none(),
                };
                self.rules(&behind, &real, &below.join(&entry.name), depth + 1);
            }
        }
    }

    fn skills(&mut self, place: &Place<'_>) {
        let entries = self.list(&place.dir);
        let kinds = kinds(&entries);
        for entry in &entries {
            let path = place.dir.join(&entry.name);
            match entry.kind {
                Kind::Dir if !entry.name.as_bytes().ends_with(INACTIVE.as_bytes()) => {
                    let inner = self.list(&path);
                    let inner_kinds = self::kinds(&inner);
                    let item = self.item(place, &path, OsStr::new("SKILL.md"), entry.name.clone().into(), &inner_kinds);
                    if item.is_on || item.is_off {
                        self.take(item, &inner_kinds);
                    }
                }
                Kind::Link => {
                    let name = without_ending(&entry.name).unwrap_or_else(|| entry.name.clone());
                    let known = kinds.get(name.as_os_str());
                    // Once for both names, and not where a real folder has the name.
                    if (name != entry.name && known.is_some()) || !has_skill(&path) {
                        continue;
                    }
                    let mut item = self.item(place, &place.dir, &name, name.clone().into(), &kinds);
                    item.linked_folder = true;
                    self.take(item, &kinds);
                }
                _ => {}
            }
        }
    }

    /// A link that leads to an item in another dotdir of the level is that item, listed where it
    /// lies; any other is an item of its own.
    fn settle_links(&mut self) {
        let mut lying: BTreeMap<PathBuf, String> = BTreeMap::new();
        for item in &self.found.items {
            let paths = [
                Some(item.active.as_path()),
                Some(item.inactive.as_path()),
                item.active.parent().filter(|_| item.section == Section::Skills),
            ];
            lying.extend(paths.into_iter().flatten().map(|path| (path.to_owned(), item.dotdir.clone())));
        }
        for Linked { item, target } in std::mem::take(&mut self.links) {
            if lying.get(&target).is_none_or(|dotdir| *dotdir == item.dotdir) {
                self.found.items.push(item);
            }
        }
    }
}

/// Whether a dotdir is read for a section.
fn holds(section: Section, dotdir: &str, level: &Level) -> bool {
    match section {
        Section::Hooks => dotdir == OWN || dotdir == CLOCK,
        _ => dotdir == OWN || level.is_vendor(dotdir),
    }
}

fn kinds(entries: &[Entry]) -> BTreeMap<&OsStr, Kind> {
    entries.iter().map(|entry| (entry.name.as_os_str(), entry.kind)).collect()
}

fn without_ending(name: &OsStr) -> Option<OsString> {
    let bytes = name.as_bytes().strip_suffix(INACTIVE.as_bytes())?;
    (!bytes.is_empty()).then(|| OsString::from_vec(bytes.to_vec()))
}

/// The names that files and links have when they are on, each once.
fn switchable(entries: &[Entry]) -> impl Iterator<Item = OsString> {
    let names: BTreeSet<OsString> = entries
        .iter()
        .filter(|entry| matches!(entry.kind, Kind::File | Kind::Link))
        .map(|entry| without_ending(&entry.name).unwrap_or_else(|| entry.name.clone()))
        .filter(|name| without_ending(name).is_none())
        .collect();
    names.into_iter()
}

fn has_skill(folder: &Path) -> bool {
    disk::is_file(&folder.join("SKILL.md"))
}

/// What a link leads to: its real target, or where that would be if it is not there now (an item
/// that is off has another name).
fn target_of(link: &Path) -> PathBuf {
    if let Ok(real) = disk::canonical(link) {
        return real;
    }
    let Ok(text) = disk::read_link(link) else { return link.to_owned() };
    let from = link.parent().unwrap_or(link).join(text);
    // The folder it leads into may be reached through links as well.
    match (from.parent().map(disk::canonical), from.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => flattened(&from),
    }
}

/// A path without `.` and `..`, by its text.
fn flattened(path: &Path) -> PathBuf {
    let mut flat = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = flat.pop(),
            Component::CurDir => {}
            part => flat.push(part),
        }
    }
    flat
}
