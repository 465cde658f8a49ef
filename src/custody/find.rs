//! Reads the disk into the judge's facts: real paths, the stations on the way up, what lies below,
//! what of the wall is hit.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::act::{Act, ActKind};
use super::asker::Asker;
use super::grants;
use super::judge::{ActFacts, Facts, OwnerFile, Permits, Station, WallHit};
use super::linked;
use super::ruling::{Ruling, Surroundings, Who};
use super::wall::{self, Grounds, Walled};
use super::worktree;
use crate::sys::disk::{self, Kind};
use crate::sys::shown;
use crate::sys::time::Timestamp;
use crate::text::name::AgentId;
use crate::tree::card::{self, CardError};
use crate::tree::climb;
use crate::tree::dotdirs::{self, Dotdirs};
use crate::tree::places::{self, Prune};
use crate::tree::worktree::Around;
use crate::tree::{real, settings};

/// Who lives in a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The id.
    pub id: AgentId,
    /// The identity file.
    pub file: PathBuf,
}

/// What custody has to know about this machine: its folders, and the `wall:` of its settings.
///
/// # Errors
/// Where the settings can't be used: a policy with a typo must not pass for none.
pub fn surroundings(home: &Path, user_home: &Path, state: &Path) -> Result<Surroundings, CardError> {
    let wall = settings::load(home)?.wall;
    Ok(Surroundings {
        home: home.to_owned(),
        user_home: user_home.to_owned(),
        state: state.to_owned(),
        wall,
        moved: Vec::new(),
        linked: Vec::new(),
        hops: 0,
    })
}

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

/// The body of an agent as seen from a directory: up from it, or named for it by an owner file on
/// the way.
#[must_use]
pub fn body_of(agent: &AgentId, dir: &Path) -> Option<PathBuf> {
    let dir = real::real(dir, true).path;
    climb::up(&dir).find_map(|dir| {
        if lives(agent, dir) {
            return Some(dir.to_owned());
        }
        let owner = card::owner(dir)?.ok().filter(|owner| owner.owner.value == *agent)?;
        Some(real::real(&dir.join(owner.body?), true).path).filter(|body| lives(agent, body))
    })
}

/// The directories up from `dir` that an agent owns.
#[must_use]
pub fn owned_around(agent: &AgentId, dir: &Path) -> Vec<PathBuf> {
    let dir = real::real(dir, true).path;
    let owns = |dir: &&Path| matches!(card::owner(dir), Some(Ok(owner)) if owner.owner.value == *agent);
    climb::up(&dir).filter(owns).map(Path::to_owned).collect()
}

/// Whether a directory is the body of an agent.
#[must_use]
pub fn lives(agent: &AgentId, dir: &Path) -> bool {
    matches!(identity(dir), Some(Ok(found)) if found.id == *agent)
}

/// What has to be known to rule on these acts.
#[must_use]
pub fn facts(acts: &[Act], asker: &Asker, surroundings: &Surroundings, now: Timestamp) -> Facts {
    let mut look = Look::new(asker, surroundings);
    let acts: Vec<ActFacts> = acts.iter().map(|act| look.at(act)).collect();
    let permits = permits(&acts, asker, &surroundings.state, now);
    Facts { acts, permits }
}

/// What has to be known to rule on making something that is not there, `name`, in each of these directories: real ones that a
/// walk down from the first has just met, so that the way to them needs no second look.
pub(in crate::custody) fn facts_in(dirs: &[&Path], name: &str, asker: &Asker, surroundings: &Surroundings, now: Timestamp) -> Facts {
    let mut look = Look::new(asker, surroundings);
    // Where the disk folds case, the names on the way may not be those that it lists.
    let plain = dirs.first().is_some_and(|first| {
        let real = look.seen.real(first, true);
        !real.folds && real.path == **first
    });
    let acts: Vec<ActFacts> = dirs.iter().map(|dir| look.new_in(dir, name, plain)).collect();
    let permits = permits(&acts, asker, &surroundings.state, now);
    Facts { acts, permits }
}

/// What was permitted: looked for only where something may be somebody else's, so that what passes
/// anyhow pays nothing.
fn permits(acts: &[ActFacts], asker: &Asker, state: &Path, now: Timestamp) -> Permits {
    let others = |station: &Station| match &station.owner {
        Some((_, OwnerFile::Clear { owner, body: None, .. })) => asker.agent.as_ref() != Some(owner),
        owner => owner.is_some(),
    };
    if !acts.iter().any(|act| act.wall.is_none() && act.up.last().is_some_and(|station| !station.home && others(station))) {
        return Permits { now, ..Permits::default() };
    }
    let file = grants::file(state);
    match grants::read(state) {
        Ok(found) => {
            let note = (found.skipped > 0).then(|| {
                format!(
                    "{} of {} can't be read: nothing is granted by that",
                    shown::count(found.skipped, "line", "lines"),
                    shown::path(&file)
                )
            });
            Permits { now, all: found.all.into_iter().filter_map(|grant| grant.permit).collect(), file, note }
        }
        Err(error) => Permits { now, file, note: Some(format!("nothing is permitted: failed to {error}")), ..Permits::default() },
    }
}

/// One call's look at the disk: no directory is read twice.
struct Look<'a> {
    asker: &'a Asker,
    body_id: Option<(u64, u64)>,
    surroundings: &'a Surroundings,
    home: PathBuf,
    registry: PathBuf,
    user_home: PathBuf,
    state: PathBuf,
    known: BTreeMap<PathBuf, Option<Station>>,
    seen: real::Seen,
    around: Around,
    /// Where the names of the wall below the homes lead: asked once, where something is to be written.
    links: OnceCell<Vec<(PathBuf, Walled)>>,
}

impl<'a> Look<'a> {
    fn new(asker: &'a Asker, surroundings: &'a Surroundings) -> Self {
        let mut seen = real::Seen::default();
        let mut real = |path: &Path| seen.real(path, true).path;
        let body = asker.body.as_deref();
        let home = real(&surroundings.home);
        let user_home = if surroundings.user_home == surroundings.home { home.clone() } else { real(&surroundings.user_home) };
        Self {
            asker,
            body_id: body.and_then(|body| disk::look_through(body).ok().flatten()).map(|meta| meta.id),
            surroundings,
            registry: real(&home.join(dotdirs::IDENTITY)),
            home,
            user_home,
            state: real(&surroundings.state),
            known: BTreeMap::new(),
            seen,
            around: Around::default(),
            links: OnceCell::new(),
        }
    }

    fn at(&mut self, act: &Act) -> ActFacts {
        let bare = ActFacts { act: act.clone(), real: None, up: Vec::new(), below: Vec::new(), wall: None };
        if matches!(act.kind, ActKind::Read | ActKind::Run) {
            return bare;
        }
        let found = self.seen.real(&act.path, act.follow);
        let up = self.up(&found);
        let wall = self.wall(act, &found);
        if let Some(trouble) = &found.trouble {
            // What is known of the path may still be enough: what is owned up to there is owned.
            let decided = wall.is_some() || up.iter().any(|station| station.home || station.owner.is_some());
            let real = if decided { Ok(found.path) } else { Err(trouble.to_string()) };
            return ActFacts { real: Some(real), up, wall, ..bare };
        }
        let takes = act.below && wall.is_none() && matches!(disk::look(&found.path), Ok(Some(meta)) if meta.kind == Kind::Dir);
        let below = if takes { self.below(&found.path) } else { Vec::new() };
        ActFacts { real: Some(Ok(found.path)), up, below, wall, ..bare }
    }

    /// Where the names of the wall lead that are links.
    fn linked(&self) -> impl Iterator<Item = &(PathBuf, Walled)> {
        let links = self.links.get_or_init(|| linked::of_homes(&self.home, &self.user_home));
        self.surroundings.linked.iter().chain(links)
    }

    /// As [`Self::at`], for what is not there in a directory that was just seen; `plain`: the path is the real one.
    fn new_in(&mut self, dir: &Path, name: &str, plain: bool) -> ActFacts {
        let act = Act { kind: ActKind::Create, path: dir.join(name), follow: false, below: false };
        // Which case names have matters only where one of the wall's is among them, in whatever case.
        let walled = self.surroundings.moved.iter().any(|(folder, _)| act.path.starts_with(folder))
            || self.linked().any(|(path, _)| act.path.starts_with(path))
            || wall::inside(&act.path, &self.grounds(true)).is_some();
        if !plain || walled {
            return self.at(&act);
        }
        let up = self.climb(climb::up(dir));
        ActFacts { real: Some(Ok(act.path.clone())), act, up, below: Vec::new(), wall: None }
    }

    /// The stations from a path up to the first that decides. A link that is not followed belongs
    /// to the directory that it stands in, and so does what is not there or can't be looked at.
    fn up(&mut self, found: &real::Real) -> Vec<Station> {
        let kind = |path: &Path| disk::look(path).ok().flatten().map(|meta| meta.kind);
        let sure = found.exists && found.trouble.is_none();
        let itself = kind(&found.path);
        // A directory or what stands above one; the path itself was just looked at.
        let holds = |dir: &&Path| sure || if **dir == *found.path { itself } else { kind(dir) } == Some(Kind::Dir);
        self.climb(climb::up(&found.path).skip(usize::from(itself == Some(Kind::Link))).skip_while(|dir| !holds(dir)))
    }

    fn climb<'b>(&mut self, dirs: impl Iterator<Item = &'b Path>) -> Vec<Station> {
        let mut stations = Vec::new();
        for dir in dirs {
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

    fn read_station(&mut self, dir: &Path) -> Option<Station> {
        let (owner, agent) = card::both(dir);
        let home = self.is_home(dir);
        if owner.is_none() && agent.is_none() && !home {
            return None;
        }
        let identity = agent.map(|agent| agent.map_or_else(|error| error.path, |card| card.path));
        let others = matches!(&owner, Some(Ok(owner)) if self.asker.agent.as_ref() != Some(&owner.owner.value));
        let copy = others && !home && worktree::is_copy_in(dir, self.around.of(dir).as_ref());
        Some(Station { dir: dir.to_owned(), home, owner: owner.map(|owner| owner_file(dir, owner)), identity, copy })
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
            registry: &self.registry,
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
        for (folder, name) in &self.surroundings.moved {
            if let Ok(rest) = found.path.strip_prefix(folder)
                && let Some(what) = wall::inside(&Path::new("/").join(name).join(rest), &grounds)
            {
                return Some(hit(&found.path, what));
            }
        }
        if let Some((name, what)) = found.names.iter().find_map(|name| Some((name, wall::inside(name, &grounds)?))) {
            return Some(hit(name, what));
        }
        let exists = |path: &Path| !matches!(disk::look(path), Ok(None));
        for (path, what) in self.linked() {
            if found.path.starts_with(path) {
                return Some(hit(&found.path, *what));
            }
            if wall::takes(act) && path.starts_with(&found.path) && exists(path) {
                return Some(hit(path, *what));
            }
        }
        wall::covered(&found.path, act, &grounds)
            .into_iter()
            .find(|(path, _, brings)| exists(path) || (*brings && (!found.exists || act.kind == ActKind::Create)))
            .map(|(path, what, _)| hit(&path, what))
    }

    /// Owned directories and bodies below, the directory itself included: its identity goes along.
    fn below(&mut self, top: &Path) -> Vec<Station> {
        let places = carrying(top, Prune::GitOnly);
        let stations = places.iter().filter_map(|dir| self.station(dir));
        stations.filter(|station| station.owner.is_some() || station.identity.is_some()).collect()
    }
}

/// The directories from `top` down that carry a `.loci`, in the order of their paths. Only what is
/// git's own is passed over: a marker that somebody drops must not hide a place. The copy of a place in
/// a worktree inside the same checkout is none.
#[must_use]
pub fn places_below(top: &Path) -> Vec<PathBuf> {
    carrying(top, Prune::Tags)
}

/// As [`places_below`], with what a marker hides and what lies in worktrees.
#[must_use]
pub fn all_below(top: &Path) -> Vec<PathBuf> {
    carrying(top, Prune::GitOnly)
}

/// The places beside a directory that stands in no repository: what lies in the same folder and carries a `.loci`. A
/// folder of agents need not be one itself. Beside the home, and what stands above it, lies nothing of anybody here.
#[must_use]
pub fn beside(top: &Path, home: &Path) -> Vec<PathBuf> {
    let home = disk::canonical(home).unwrap_or_else(|_| home.to_owned());
    let top = real::real(top, true).path;
    let there = |path: &Path| matches!(disk::look(path), Ok(Some(_)));
    let Some(parent) = top.parent().filter(|_| !home.starts_with(&top) && !there(&top.join(".git"))) else { return Vec::new() };
    let dirs = disk::list_unsorted(parent).into_iter().flatten().filter(|entry| entry.kind == Kind::Dir);
    let carries = |dir: &PathBuf| *dir != top && *dir != home && disk::is_dir(&dir.join(dotdirs::IDENTITY));
    let mut found: Vec<PathBuf> = dirs.map(|entry| parent.join(entry.name)).filter(carries).collect();
    found.sort_unstable();
    found
}

fn carrying(top: &Path, prune: Prune) -> Vec<PathBuf> {
    let walked = places::walk(top, &Dotdirs::new::<String>([]), prune);
    walked.spots.into_iter().filter(|spot| spot.dotdirs.iter().any(|name| name == dotdirs::IDENTITY)).map(|spot| spot.path).collect()
}

fn id(path: &Path) -> Option<(u64, u64)> {
    disk::look_through(path).ok().flatten().map(|meta| meta.id)
}

fn owner_file(dir: &Path, read: Result<card::OwnerFile, CardError>) -> (PathBuf, OwnerFile) {
    match read {
        Err(error) => (error.path, OwnerFile::Broken { line: error.line, why: error.why }),
        Ok(card) => {
            let body = card.body.map(|body| real::real(&dir.join(body), true).path);
            let note = Some(card.note.trim().to_owned()).filter(|note| !note.is_empty());
            (
                card.path,
                OwnerFile::Clear {
                    owner: card.owner.value,
                    line: card.owner.line,
                    body,
                    body_line: card.body_line,
                    commons: card.commons,
                    note,
                },
            )
        }
    }
}

/// Puts the owner's body to each refused act, where one that carries the owner's id is found: the
/// one that the owner file names, the owned directory itself, or one above it.
pub fn bodies(ruling: &mut Ruling) {
    for owner in ruling.acts.iter_mut().filter_map(|act| act.owner.as_mut()) {
        let Who::Agent(id) = &owner.who else { continue };
        owner.body = match owner.body.take() {
            Some(pinned) => lives(id, &pinned).then_some(pinned),
            None => climb::up(&owner.dir).find(|dir| lives(id, dir)).map(Path::to_owned),
        };
    }
}
