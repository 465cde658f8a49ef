//! Reads the disk into the judge's facts: real paths, the stations on the way up, what lies below,
//! what of the wall is hit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::act::{Act, ActKind};
use super::asker::Asker;
use super::judge::{self, ActFacts, Facts, OwnerFile, Station, WallHit};
use super::ruling::{Ruling, Surroundings, Who};
use super::wall::{self, Grounds, Walled};
use crate::sys::disk::{self, Kind};
use crate::sys::shown;
use crate::text::name::AgentId;
use crate::tree::card::{self, CardError};
use crate::tree::climb;
use crate::tree::real;

/// Who lives in a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The id.
    pub id: AgentId,
    /// The identity file.
    pub file: PathBuf,
}

/// How many entries the look below a directory takes in at most.
const MAX_BELOW: usize = 200_000;

/// Reads the identity file of a directory; `None` where there is none.
#[must_use]
pub fn identity(dir: &Path) -> Option<Result<Identity, CardError>> {
    card::agent(dir).map(|card| card.map(|card| Identity { id: card.id.value, file: card.path }))
}

/// The nearest body up from a directory, and who lives there.
#[must_use]
pub fn body_around(dir: &Path) -> Option<(PathBuf, Result<Identity, CardError>)> {
    let dir = real::real(dir, true).path;
    climb::up(&dir).find_map(|dir| Some((dir.to_owned(), identity(dir)?)))
}

/// What has to be known to rule on these acts.
#[must_use]
pub fn facts(acts: &[Act], asker: &Asker, surroundings: &Surroundings) -> Facts {
    let mut look = Look::new(asker, surroundings);
    let acts = acts.iter().map(|act| look.at(act)).collect();
    Facts { acts, notes: look.notes }
}

/// One call's look at the disk: no directory is read twice.
struct Look<'a> {
    asker: &'a Asker,
    body_id: Option<(u64, u64)>,
    surroundings: &'a Surroundings,
    home: PathBuf,
    user_home: PathBuf,
    state: PathBuf,
    known: BTreeMap<PathBuf, Option<Station>>,
    notes: Vec<String>,
}

impl<'a> Look<'a> {
    fn new(asker: &'a Asker, surroundings: &'a Surroundings) -> Self {
        let real = |path: &Path| real::real(path, true).path;
        let body = asker.body.as_deref();
        Self {
            asker,
            body_id: body.and_then(|body| disk::look_through(body).ok().flatten()).map(|meta| meta.id),
            surroundings,
            home: real(&surroundings.home),
            user_home: real(&surroundings.user_home),
            state: real(&surroundings.state),
            known: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    fn at(&mut self, act: &Act) -> ActFacts {
        let bare = ActFacts { act: act.clone(), real: None, up: Vec::new(), below: Vec::new(), wall: None };
        if matches!(act.kind, ActKind::Read | ActKind::Run) {
            return bare;
        }
        let found = real::real(&act.path, act.follow);
        let up = self.up(&found.path, act.follow);
        let wall = self.wall(act, &found);
        if let Some(trouble) = &found.trouble {
            // What is known of the path may still be enough: what is owned up to there is owned.
            let decided = wall.is_some() || up.iter().any(|station| station.home || station.owner.is_some());
            let real = if decided { Ok(found.path) } else { Err(trouble.to_string()) };
            return ActFacts { real: Some(real), up, wall, ..bare };
        }
        let below = if act.below && found.exists && wall.is_none() { self.below(&found.path) } else { Vec::new() };
        ActFacts { real: Some(Ok(found.path)), up, below, wall, ..bare }
    }

    /// The stations from a path up to the first that decides. A link that is not followed belongs
    /// to the directory that it stands in.
    fn up(&mut self, path: &Path, followed: bool) -> Vec<Station> {
        let is_link = !followed && matches!(disk::look(path), Ok(Some(meta)) if meta.kind == Kind::Link);
        let mut stations = Vec::new();
        for dir in climb::up(path).skip(usize::from(is_link)) {
            let Some(station) = self.station(dir) else { continue };
            let decides = station.home || station.owner.is_some();
            stations.push(station);
            if decides {
                break;
            }
        }
        stations
    }

    fn station(&mut self, dir: &Path) -> Option<Station> {
        if let Some(known) = self.known.get(dir) {
            return known.clone();
        }
        let found = self.read_station(dir);
        self.known.insert(dir.to_owned(), found.clone());
        found
    }

    fn read_station(&self, dir: &Path) -> Option<Station> {
        let (owner, agent) = card::both(dir);
        let home = self.is_home(dir);
        if owner.is_none() && agent.is_none() && !home {
            return None;
        }
        let identity = agent.map(|agent| agent.map_or_else(|error| error.path, |card| card.path));
        Some(Station { dir: dir.to_owned(), home, owner: owner.map(|owner| owner_file(dir, owner)), identity })
    }

    /// Compared by the directory itself where the names differ: a disk that folds case has many
    /// names for one.
    fn is_home(&self, dir: &Path) -> bool {
        let Some(body) = self.asker.body.as_deref() else { return false };
        dir == body || (dir.as_os_str().eq_ignore_ascii_case(body.as_os_str()) && self.body_id.is_some() && id(dir) == self.body_id)
    }

    fn grounds(&self, folds: bool) -> Grounds<'_> {
        Grounds {
            home: &self.home,
            user_home: &self.user_home,
            state: &self.state,
            globs: &self.surroundings.wall,
            at_home: self.asker.body.as_deref() == Some(&*self.home),
            folds,
        }
    }

    fn wall(&self, act: &Act, found: &real::Real) -> Option<WallHit> {
        let grounds = self.grounds(found.folds);
        let hit = |path: &Path, what: Walled| {
            let decided_by = (what == Walled::Glob).then(|| self.home.join(".loci/config.yaml"));
            WallHit { path: path.to_owned(), what, decided_by }
        };
        if let Some(what) = wall::inside(&found.path, &grounds) {
            return Some(hit(&found.path, what));
        }
        // A harness that reads a dotdir through a link reads it by its name.
        let plain = act.path.components().all(|part| !matches!(part, std::path::Component::ParentDir));
        if let Some(what) = wall::inside(&act.path, &grounds).filter(|_| plain) {
            return Some(hit(&act.path, what));
        }
        let exists = |path: &Path| !matches!(disk::look(path), Ok(None));
        wall::covered(&found.path, act, &grounds)
            .into_iter()
            .find(|(path, _, brings)| exists(path) || (*brings && !found.exists))
            .map(|(path, what, _)| hit(&path, what))
    }

    /// Owned directories and bodies below. Only what is git's own is passed over: a marker that
    /// somebody drops must not hide a place.
    fn below(&mut self, top: &Path) -> Vec<Station> {
        let mut found = Vec::new();
        let mut seen = 0;
        let mut open = vec![top.to_owned()];
        while let Some(dir) = open.pop() {
            // A directory that can't be listed can't be emptied either.
            let Ok(entries) = disk::list_unsorted(&dir) else { continue };
            seen += entries.len();
            if seen > MAX_BELOW {
                self.notes.push(format!("not everything below {} was looked at: more than {MAX_BELOW} entries", shown::path(top)));
                break;
            }
            for entry in entries.into_iter().filter(|entry| entry.kind == Kind::Dir && entry.name != ".git") {
                if entry.name == ".loci" {
                    if dir != top {
                        found.extend(self.station(&dir));
                    }
                } else {
                    open.push(dir.join(entry.name));
                }
            }
        }
        // The directory itself was asked for on the way up; its identity goes along all the same.
        if let Some(station) = self.station(top).filter(|station| station.owner.is_some() || station.identity.is_some()) {
            found.push(station);
        }
        found.sort_by(|a, b| a.dir.cmp(&b.dir));
        found
    }
}

fn id(path: &Path) -> Option<(u64, u64)> {
    disk::look_through(path).ok().flatten().map(|meta| meta.id)
}

fn owner_file(dir: &Path, read: Result<card::OwnerFile, CardError>) -> (PathBuf, OwnerFile) {
    match read {
        Err(error) => (error.path, OwnerFile::Broken { line: error.line, why: error.why }),
        Ok(card) => {
            let bad =
                card.commons.iter().find_map(|glob| judge::check_glob(glob).err().map(|why| format!("`commons` holds `{glob}`: {why}")));
            if let Some(why) = bad {
                return (card.path, OwnerFile::Broken { line: None, why });
            }
            let body = card.body.map(|body| real::real(&dir.join(body), true).path);
            let note = Some(card.note.trim().to_owned()).filter(|note| !note.is_empty());
            (card.path, OwnerFile::Clear { owner: card.owner.value, line: card.owner.line, body, commons: card.commons, note })
        }
    }
}

/// Puts the owner's body to each refused act, where one that carries the owner's id is found: the
/// one that the owner file names, the owned directory itself, or one above it.
pub fn bodies(ruling: &mut Ruling) {
    for owner in ruling.acts.iter_mut().filter_map(|act| act.owner.as_mut()) {
        let Who::Agent(id) = &owner.who else { continue };
        let lives = |dir: &Path| matches!(identity(dir), Some(Ok(found)) if found.id == *id);
        owner.body = match owner.body.take() {
            Some(pinned) => lives(&pinned).then_some(pinned),
            None => climb::up(&owner.dir).find(|dir| lives(dir)).map(Path::to_owned),
        };
    }
}
