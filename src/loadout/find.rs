//! Reads what can be switched at a level, on or off: the slots' own walk, with where each thing lies.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::{Item, Level, Section, with_ending};
use crate::sys::disk::{self, Kind};
use crate::tree::diagnostic::Diagnostic;
use crate::tree::find::{self, Budget};
use crate::tree::slot;

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// The items, sorted by section, name (bytewise) and dotdir (table order).
    pub items: Vec<Item>,
    /// What the walk has to say: folders that could not be read, links that lead nowhere.
    pub diagnostics: Vec<Diagnostic>,
}

/// One section of one dotdir, where it really lies.
struct Place<'a> {
    section: Section,
    dotdir: &'a str,
    dir: PathBuf,
    outside: bool,
}

/// An item on the way to the list.
struct Candidate {
    item: Item,
    /// Whether its name is the path it lies at, not one through a link.
    plain: bool,
    /// What its link leads to, where it is one.
    target: Option<PathBuf>,
}

/// Reads a level.
#[must_use]
pub fn items(level: &Level) -> Found {
    let homes: Vec<(&str, PathBuf)> =
        level.dotdirs.iter().filter_map(|(name, _)| Some((name, disk::canonical(&level.dir.join(name)).ok()?))).collect();
    let mut find = Find { level, homes, seen: BTreeMap::new(), diagnostics: Vec::new() };
    let mut budget = Budget::default();
    for place in find.places() {
        let row = slot::row(place.section.name());
        let folder = find::Place { path: &place.dir, real: &place.dir, linked: place.outside };
        let contents = find::folder(folder, &row, &mut budget, &mut find.diagnostics);
        for one in &contents.on {
            find.take(&place, &one.rel, &one.path, true);
        }
        for one in &contents.off {
            find.take(&place, &one.rel, &one.path, false);
        }
    }
    let diagnostics = std::mem::take(&mut find.diagnostics);
    let mut items = find.settled();
    let rank = |item: &Item| level.dotdirs.iter().position(|(one, _)| one == item.dotdir);
    items.sort_by(|a, b| {
        (a.section, a.name.as_os_str().as_bytes(), rank(a), &a.active).cmp(&(b.section, b.name.as_os_str().as_bytes(), rank(b), &b.active))
    });
    Found { items, diagnostics }
}

struct Find<'a> {
    level: &'a Level,
    /// Every dotdir of the level that is there, with its real path.
    homes: Vec<(&'a str, PathBuf)>,
    /// By the path that the item has when it is on.
    seen: BTreeMap<(Section, PathBuf), Candidate>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Find<'a> {
    /// The dotdir of the level that a real path lies in.
    fn home_of(&self, real: &Path) -> Option<&'a str> {
        self.homes.iter().find(|(_, home)| real.starts_with(home)).map(|(name, _)| *name)
    }

    /// The sections that are there: those that lie where they seem to first, so that what is reached
    /// through a link as well is listed where it lies.
    fn places(&self) -> Vec<Place<'a>> {
        let (mut places, mut linked): (Vec<Place<'a>>, Vec<Place<'a>>) = (Vec::new(), Vec::new());
        for section in Section::ALL {
            let row = slot::row(section.name());
            for (dotdir, layer) in self.level.dotdirs.iter().filter(|(_, layer)| row.reads(*layer)) {
                let _ = layer;
                let dir = self.level.dir.join(dotdir).join(section.name());
                let Ok(real) = disk::canonical(&dir) else { continue };
                if !disk::is_dir(&real) {
                    continue;
                }
                if real == dir {
                    places.push(Place { section, dotdir, dir, outside: false });
                } else {
                    let home = self.home_of(&real);
                    linked.push(Place { section, dotdir: home.unwrap_or(dotdir), dir: real, outside: home.is_none() });
                }
            }
        }
        for place in linked {
            if !places.iter().any(|one| one.section == place.section && one.dir == place.dir) {
                places.push(place);
            }
        }
        places
    }

    /// Takes one file of a slot in. `rel` is its path in the slot without the ending; `path` the one
    /// on disk.
    fn take(&mut self, place: &Place<'a>, rel: &Path, path: &Path, on: bool) {
        let is_skill = place.section == Section::Skills;
        let folder = if is_skill { rel.iter().next().map(|name| place.dir.join(name)) } else { None };
        let name = if is_skill { rel.iter().next().map(PathBuf::from) } else { Some(rel.to_owned()) };
        let Some(name) = name else { return };
        // A skill whose folder is a link: the link is what is switched.
        let linked_folder = match &folder {
            Some(folder) if on => is_link(folder),
            Some(_) => rel.iter().count() == 1 && is_link(path),
            None => false,
        };
        let at = match (&folder, on) {
            (Some(folder), true) if linked_folder => folder.as_path(),
            _ => path,
        };
        let Ok(Some(meta)) = disk::look(at) else { return };
        // A folder that is off is none that a rename of a file made.
        if !linked_folder && !matches!(meta.kind, Kind::File | Kind::Link) || !linked_folder && meta.kind == Kind::Link && disk::is_dir(at)
        {
            return;
        }
        let Some(parent) = at.parent().and_then(|parent| disk::canonical(parent).ok()) else { return };
        let Some(file) = at.file_name() else { return };
        let lies_at = parent.join(file);
        let home = self.home_of(&parent);
        let active = if on { lies_at.clone() } else { without_ending(&lies_at) };
        let target = (meta.kind == Kind::Link && on).then(|| disk::canonical(&lies_at).unwrap_or_else(|_| lies_at.clone()));
        let plain = at == lies_at;
        let candidate = self.seen.entry((place.section, active.clone())).or_insert_with(|| Candidate {
            item: Item {
                section: place.section,
                name: name.clone(),
                dotdir: home.unwrap_or(place.dotdir).to_owned(),
                inactive: with_ending(&active),
                active,
                is_on: false,
                is_off: false,
                barred: false,
                vendor: self.level.is_vendor(home.unwrap_or(place.dotdir)),
                outside: home.is_none(),
                linked_folder,
            },
            plain,
            target: None,
        });
        if plain && !candidate.plain {
            candidate.item.name = name;
            candidate.plain = true;
        }
        if on {
            candidate.item.is_on = true;
            candidate.target = target;
        } else {
            candidate.item.is_off = true;
        }
    }

    /// A link that leads to an item in another dotdir of the level is that item, listed where it
    /// lies; any other is an item of its own.
    fn settled(self) -> Vec<Item> {
        let mut lying: BTreeMap<(Section, PathBuf), String> = BTreeMap::new();
        for Candidate { item, .. } in self.seen.values().filter(|one| one.target.is_none()) {
            let folder = item.active.parent().filter(|_| item.section == Section::Skills).map(Path::to_owned);
            for path in [Some(item.active.clone()), Some(item.inactive.clone()), folder].into_iter().flatten() {
                lying.insert((item.section, path), item.dotdir.clone());
            }
        }
        let mut items = Vec::new();
        for Candidate { mut item, target, .. } in self.seen.into_values() {
            let alias = target.and_then(|target| lying.get(&(item.section, target))).is_some_and(|dotdir| *dotdir != item.dotdir);
            if alias {
                continue;
            }
            let goal = if item.is_on { &item.inactive } else { &item.active };
            item.barred = !(item.is_on && item.is_off) && disk::look(goal).map_or(true, |meta| meta.is_some());
            items.push(item);
        }
        items
    }
}

fn is_link(path: &Path) -> bool {
    matches!(disk::look(path), Ok(Some(meta)) if meta.kind == Kind::Link)
}

fn without_ending(path: &Path) -> PathBuf {
    use std::os::unix::ffi::OsStringExt as _;
    let bytes = path.as_os_str().as_bytes();
    let bytes = bytes.strip_suffix(slot::INACTIVE.as_bytes()).unwrap_or(bytes);
    std::ffi::OsString::from_vec(bytes.to_vec()).into()
}
