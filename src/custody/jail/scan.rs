//! What of the tree matters to the mounts, read off the disk: whose the places are, what its owner
//! leaves to everybody, git's own folders, and the wall.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::links::{Links, Met};
use super::plan::{Point, Zone};
use crate::custody::asker::Asker;
use crate::custody::judge::OwnerFile;
use crate::custody::ruling::{Surroundings, Verdict, Why};
use crate::custody::{find, grants, judge, linked, wall};
use crate::sys::disk::{self, Kind};
use crate::sys::shown;
use crate::sys::time::Timestamp;
use crate::tree::climb;
use crate::tree::marks::{self, Go};

/// The name that stands for anything somebody might write. No glob but one for everything names it.
const ANYTHING: &str = "\u{1}anything";

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Points at which another zone begins.
    pub points: BTreeMap<PathBuf, Point>,
    /// Directories above which nothing has to be held: from each one down, ancestors are pinned.
    pub above: Vec<PathBuf>,
    /// Parts of the wall that are not there, and that nobody but a person makes.
    pub absent: Vec<PathBuf>,
    /// Files of others that have another name somewhere.
    pub linked: Vec<PathBuf>,
    /// What is to be said.
    pub notes: Vec<String>,
}

impl Found {
    /// Adds what was found in another tree; what stands here already stays.
    pub fn add(&mut self, other: Self) {
        for (path, point) in other.points {
            self.points.entry(path).or_insert(point);
        }
        self.above.extend(other.above);
        self.absent.extend(other.absent);
        self.absent.sort();
        self.absent.dedup();
        self.linked.extend(other.linked);
        self.notes.extend(other.notes);
    }
}

/// The marks of a tree: what is not judged yet.
#[derive(Debug, Default)]
struct Marks {
    places: Vec<PathBuf>,
    gits: Vec<PathBuf>,
    walls: BTreeSet<PathBuf>,
    dirs: BTreeMap<(PathBuf, &'static str), Kind>,
    /// Directories of the wall's names somewhere below which a link stands.
    led: HashSet<PathBuf>,
    files: Met,
}

impl Marks {
    fn add(&mut self, other: Self) {
        self.places.extend(other.places);
        self.gits.extend(other.gits);
        self.walls.extend(other.walls);
        self.dirs.extend(other.dirs);
        self.led.extend(other.led);
        self.files.add(other.files);
    }
}

/// Looks at the tree below `root`, a real directory, at the places `beside` it, and at what is the machine's own. With
/// `capture`, what is others' will not be shut, so that what of the wall lies in it matters.
#[must_use]
pub fn scan(root: &Path, beside: &[PathBuf], asker: &Asker, surroundings: &Surroundings, now: Timestamp, capture: bool) -> Found {
    let mut found = Found { above: vec![root.to_owned()], ..Found::default() };
    let mut marks = marks(root, &surroundings.wall, &mut found);
    for dir in beside {
        marks.add(self::marks(dir, &surroundings.wall, &mut found));
        marks.places.push(dir.clone());
    }
    // What stands here first stays, and the wall stands above all: it comes last.
    let mut shut = places(root, &marks, asker, surroundings, now, &mut found);
    for git in marks.gits {
        found.points.entry(git).or_insert_with(|| Point { zone: Zone::Common, whose: String::new() });
    }
    if permits(asker, surroundings, now, &mut found) || capture {
        shut.clear();
    }
    let own_memory = asker.body.as_ref().map(|body| body.join(".loci/memory"));
    for ((dir, first), kind) in &marks.dirs {
        // What was just seen to be a directory is not looked at again for each name in it.
        let inside = (*kind == Kind::Dir).then(|| dir.join(first));
        // Below what is shut, only a link leads to where something is to be shut.
        if shut.contains(dir) && (*kind == Kind::File || inside.as_ref().is_some_and(|inside| !marks.led.contains(inside))) {
            continue;
        }
        for (names, _) in wall::rows().filter(|(names, _)| names.first() == Some(first)) {
            match (&inside, names) {
                (Some(inside), [_, rest @ ..]) => close(inside, rest, own_memory.as_deref(), &mut found),
                _ => close(dir, names, own_memory.as_deref(), &mut found),
            }
        }
    }
    marks.walls.iter().for_each(|path| wall_off(path.clone(), &mut found));
    machine(asker, surroundings, own_memory.as_deref(), &mut found);
    found
}

/// One walk for everything that has a name.
fn marks(root: &Path, globs: &[String], found: &mut Found) -> Marks {
    let firsts: BTreeSet<&'static str> =
        wall::rows().filter_map(|(names, _)| names.first().copied()).filter(|name| *name != "etc").collect();
    let globs = glob_set(globs);
    let mut marks = Marks::default();
    let seen = marks::walk(root, &mut |dir, name, kind| {
        if name == b".git" {
            if kind == Kind::Dir {
                marks.gits.push(dir.join(".git"));
            }
            return Go::Past;
        }
        if name == b".loci" {
            marks.places.push(dir.to_owned());
        }
        if let Some(first) = std::str::from_utf8(name).ok().and_then(|name| firsts.get(name)) {
            marks.dirs.insert((dir.to_owned(), first), kind);
        }
        if let Some(globs) = &globs {
            let path = dir.join(OsStr::from_bytes(name));
            let whole = kind == Kind::Dir && globs.is_match(path.join(ANYTHING));
            if whole || (kind != Kind::Dir && globs.is_match(&path)) {
                marks.walls.insert(path);
            }
            if whole {
                return Go::Past;
            }
        }
        match kind {
            Kind::File => marks.files.meet(dir, name),
            Kind::Link => {
                let named = |dir: &&Path| dir.file_name().and_then(OsStr::to_str).is_some_and(|name| firsts.contains(name));
                marks.led.extend(climb::up(dir).take_while(|dir| dir.starts_with(root)).filter(named).map(Path::to_owned));
            }
            _ => {}
        }
        Go::In
    });
    marks.places.sort();
    if let Some(first) = seen.unread.first() {
        let more = seen.unread.len() - 1;
        let and = if more == 0 { String::new() } else { format!(" and {more} more") };
        found.notes.push(format!("{}{and} can't be read: what is owned in there is not held", shown::path(first)));
    }
    marks
}

fn glob_set(globs: &[String]) -> Option<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        if let Ok(glob) = GlobBuilder::new(glob).literal_separator(true).build() {
            set.add(glob);
        }
    }
    set.build().ok().filter(|_| !globs.is_empty())
}

/// Puts what only a person changes on the list, where it is there: names below a real directory.
fn close(dir: &Path, names: &[&str], own_memory: Option<&Path>, found: &mut Found) {
    let path: PathBuf = dir.iter().chain(names.iter().map(OsStr::new)).collect();
    // Loci's own verbs write there for the agent whose it is, also from inside.
    if own_memory == Some(&path) {
        return;
    }
    match real_below(dir, names) {
        Some(real) => wall_off(real, found),
        None => found.absent.push(path),
    }
}

/// Where names below a real directory lead; `None` where nothing is there. Only a link is worth the whole way from the top:
/// there are a few such names in each place, and there may be a thousand places.
fn real_below(dir: &Path, names: &[&str]) -> Option<PathBuf> {
    let mut path = dir.to_owned();
    for (at, name) in names.iter().enumerate() {
        path.push(name);
        match disk::look(&path) {
            Ok(Some(meta)) if meta.kind != Kind::Link => {}
            Ok(None) => return None,
            _ => {
                path.extend(names.iter().skip(at + 1));
                return disk::canonical(&path).ok();
            }
        }
    }
    Some(path)
}

fn wall_off(real: PathBuf, found: &mut Found) {
    found.points.insert(real, Point { zone: Zone::Walled, whose: "the human".to_owned() });
}

/// The folders of this machine: the homes, loci's policy and state, settings that the environment
/// moves elsewhere.
fn machine(asker: &Asker, surroundings: &Surroundings, own_memory: Option<&Path>, found: &mut Found) {
    let real = |path: &Path| disk::canonical(path).unwrap_or_else(|_| path.to_owned());
    let (home, user_home) = (real(&surroundings.home), real(&surroundings.user_home));
    let below = |dir: &Path, only: &dyn Fn(&str) -> bool, found: &mut Found| {
        let mut absent_first: BTreeSet<&str> = BTreeSet::new();
        for (names, _) in wall::rows() {
            let Some(first) = names.first() else { continue };
            if absent_first.contains(first) || !only(first) {
                continue;
            }
            if !matches!(disk::look(&dir.join(first)), Ok(Some(_))) {
                absent_first.insert(first);
                continue;
            }
            close(dir, names, own_memory, found);
        }
    };
    for dir in std::iter::once(&home).chain(Some(&user_home).filter(|user_home| **user_home != home)) {
        below(dir, &|_| true, found);
        found.above.extend(
            disk::list_unsorted(dir).into_iter().flatten().filter(|entry| entry.kind == Kind::Dir).map(|entry| dir.join(entry.name)),
        );
    }
    below(Path::new("/etc"), &|first| !first.starts_with('.'), found);
    below(Path::new("/"), &|first| first == "etc", found);
    for (folder, name) in &surroundings.moved {
        let names: Vec<&str> = name.iter().filter_map(OsStr::to_str).collect();
        for (row, _) in wall::rows() {
            if let Some(rest) = row.strip_prefix(names.as_slice()) {
                close(folder, rest, own_memory, found);
            }
        }
    }
    close(&user_home, &[".claude.json"], own_memory, found);
    for (path, _) in surroundings.linked.iter().cloned().chain(linked::of_homes(&home, &user_home)) {
        // Its own memory, through whatever link, is written by loci's verbs from inside.
        if own_memory.is_none_or(|own| real(own) != path) {
            if disk::look(&path).is_ok_and(|there| there.is_some()) { wall_off(path, found) } else { found.absent.push(path) }
        }
    }
    let registry = home.join(".loci");
    if asker.body.as_deref() == Some(&*home) {
        for name in wall::POLICY {
            close(&home, &[".loci", name], own_memory, found);
        }
    } else if let Ok(real) = disk::canonical(&registry) {
        wall_off(real, found);
    }
    let state = real(&surroundings.state);
    if disk::is_dir(&state) {
        wall_off(state.clone(), found);
        if !state.starts_with(&home) && !state.starts_with(&user_home) {
            found.above.extend(climb::above(&state).next().map(Path::to_owned));
        }
        // What is parked for delivery, and what was done: both only grow, and grant nothing.
        for name in ["outbox", "trail"] {
            let path = state.join(name);
            if disk::is_dir(&path) {
                found.points.insert(path, Point { zone: Zone::Open, whose: String::new() });
            }
        }
    }
}

/// Asks the judge about each place, and looks for what its owner leaves to everybody. The places that are shut and have
/// nothing open in them.
fn places(root: &Path, marks: &Marks, asker: &Asker, surroundings: &Surroundings, now: Timestamp, found: &mut Found) -> HashSet<PathBuf> {
    let mut dirs: Vec<&Path> = vec![root];
    dirs.extend(marks.places.iter().map(PathBuf::as_path).filter(|dir| *dir != root));
    let facts = find::facts_in(&dirs, ANYTHING, asker, surroundings, now);
    // Where the bodies of the owners are matters to whoever delegates, not here.
    let ruling = judge::judge(&facts, asker);
    let mut links = Links::default();
    let mut shut = HashSet::new();
    for ((dir, act), facts) in dirs.iter().zip(&ruling.acts).zip(&facts.acts) {
        let whose = act.owner.as_ref().map_or("somebody", |owner| owner.who.name()).to_owned();
        let (zone, whose) = match (act.verdict, &act.why) {
            (Verdict::Refuse, Why::Wall(_)) => (Zone::Walled, whose),
            (Verdict::Refuse, _) => (Zone::Theirs, whose),
            (Verdict::Allow, _) => (Zone::Open, String::new()),
            (Verdict::Unknown, _) => {
                found.notes.push(format!("whose {} is can't be told: it is not held", shown::path(dir)));
                continue;
            }
        };
        found.points.insert((*dir).to_owned(), Point { zone, whose });
        let Some(owner) = act.owner.as_ref().filter(|_| zone == Zone::Theirs) else { continue };
        if owner.dir != **dir && *dir != root {
            continue;
        }
        let commons = facts.up.iter().filter(|station| station.dir == owner.dir).find_map(|station| match &station.owner {
            Some((_, OwnerFile::Clear { commons, .. })) => Some(commons.as_slice()),
            _ => None,
        });
        let set = judge::commons_set(commons.unwrap_or_default());
        if set.is_empty() {
            shut.insert((*dir).to_owned());
        } else {
            inside(dir, &owner.dir, &set, &mut links, found);
        }
    }
    if marks.files.is_full() {
        for dir in dirs.iter().filter(|dir| shut.contains(**dir)) {
            inside(dir, dir, &GlobSet::empty(), &mut links, found);
        }
    } else {
        links.of_places(&marks.files, &shut, &dirs.into_iter().collect());
    }
    found.linked.extend(links.told);
    shut
}

/// What in an owned directory is common, and which of its files have another name elsewhere.
fn inside(dir: &Path, base: &Path, commons: &GlobSet, links: &mut Links, found: &mut Found) {
    let mut common = Vec::new();
    marks::walk(dir, &mut |at, name, kind| {
        if name == b".git" || (kind == Kind::Dir && at != dir && name == b".loci") {
            return Go::Past;
        }
        let path = at.join(OsStr::from_bytes(name));
        if path.strip_prefix(base).is_ok_and(|rest| commons.is_match(rest)) {
            // A mount over a link would be one over what it leads to.
            if kind != Kind::Link {
                common.push(path);
            }
            return Go::Past;
        }
        if commons.is_empty() && links.enough() {
            return Go::Stop;
        }
        match kind {
            // Another owner's, or somebody's own: looked at by itself.
            Kind::Dir if matches!(disk::look(&path.join(".loci")), Ok(Some(_))) => return Go::Past,
            Kind::File => links.look(path),
            _ => {}
        }
        Go::In
    });
    for path in common {
        found.points.entry(path).or_insert(Point { zone: Zone::Common, whose: String::new() });
    }
}

/// What a person permitted below something that is closed; whether anything is.
fn permits(asker: &Asker, surroundings: &Surroundings, now: Timestamp, found: &mut Found) -> bool {
    let Ok(grants) = grants::read(&surroundings.state) else { return false };
    let mut any = false;
    for permit in grants.all.into_iter().filter_map(|grant| grant.permit) {
        for path in permit.paths.iter().filter(|path| permit.covers(asker, path, now)) {
            any = true;
            if matches!(disk::look(path), Ok(Some(meta)) if meta.kind != Kind::Link) {
                found.points.entry(path.clone()).or_insert(Point { zone: Zone::Common, whose: String::new() });
            }
        }
    }
    any
}
