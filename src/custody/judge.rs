//! Whose it is, and what follows: a total function over what was found.

mod commons;

use std::path::{Path, PathBuf};

use super::act::{Act, ActKind};
use super::asker::Asker;
use super::grants::Permit;
use super::ruling::{ActRuling, Owner, Pinned, Ruling, Verdict, Who, Why};
use super::wall::Walled;
use crate::sys::shown;
use crate::sys::time::{self, Timestamp};
use crate::text::name::AgentId;
use commons::nobodys;
pub use commons::{commons_set, names};

/// What an owner file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnerFile {
    /// It can be read.
    Clear {
        /// Whose the directory is.
        owner: AgentId,
        /// The line that says so.
        line: Option<usize>,
        /// The body that alone is meant, where it names one (real).
        body: Option<PathBuf>,
        /// The line that names it.
        body_line: Option<usize>,
        /// What is nobody's, as globs.
        commons: Vec<String>,
        /// The note for each delegation.
        note: Option<String>,
    },
    /// It can't: somebody owns the directory.
    Broken {
        /// The line, where one is to blame.
        line: Option<usize>,
        /// What is wrong.
        why: String,
    },
}

/// A directory on the way up that says something about whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Station {
    /// The directory (real).
    pub dir: PathBuf,
    /// Whether it is the asker's own body.
    pub home: bool,
    /// Its owner file, with the path of it.
    pub owner: Option<(PathBuf, OwnerFile)>,
    /// Its identity file.
    pub identity: Option<PathBuf>,
    /// Whether it is the copy that a separate worktree has of an owned directory.
    pub copy: bool,
}

/// Something walled off that an act would hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WallHit {
    /// Which path of it.
    pub path: PathBuf,
    /// What it is.
    pub what: Walled,
    /// The file that says so; `None` for the built-in table.
    pub decided_by: Option<PathBuf>,
}

/// What was found about one act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActFacts {
    /// The act.
    pub act: Act,
    /// Its real path; or why there is none. `None` where nobody has to look (a read).
    pub real: Option<Result<PathBuf, String>>,
    /// Stations from the path upward, nearest first.
    pub up: Vec<Station>,
    /// Owned directories and bodies below the path, where the act takes all of it.
    pub below: Vec<Station>,
    /// What of the wall it hits.
    pub wall: Option<WallHit>,
}

/// What was found for a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Act by act.
    pub acts: Vec<ActFacts>,
    /// What a person permitted.
    pub permits: Permits,
}

/// What a person permitted, as far as it was looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permits {
    /// The time that it is asked at.
    pub now: Timestamp,
    /// The permits, whether over or not.
    pub all: Vec<Permit>,
    /// The log that they stand in.
    pub file: PathBuf,
    /// What is wrong with that log.
    pub note: Option<String>,
}

/// How many notes a ruling has at most.
const MAX_NOTES: usize = 4;

/// Rules on each act; the strictest verdict is the verdict of all.
#[must_use]
pub fn judge(facts: &Facts, asker: &Asker) -> Ruling {
    let acts: Vec<ActRuling> = facts.acts.iter().map(|act| one(act, asker, &facts.permits)).collect();
    let verdict = strictest(&acts);
    let said = acts.iter().filter_map(|act| match &act.why {
        Why::Unresolved(why) => Some(format!("whose {} is was not checked: {why}", shown::path(&act.act.path))),
        Why::Permitted { id, until } => Some(format!("{} is written by permit {id}, until {until}", shown::path(act.path()))),
        _ => None,
    });
    let notes = facts.permits.note.iter().cloned().chain(said).take(MAX_NOTES).collect();
    Ruling { verdict, acts, notes }
}

/// The verdict on several acts; allow where there are none.
#[must_use]
pub fn strictest(acts: &[ActRuling]) -> Verdict {
    acts.iter().map(|act| act.verdict).max().unwrap_or(Verdict::Allow)
}

/// A verdict and what decided it.
struct Said {
    verdict: Verdict,
    why: Why,
    owner: Option<Owner>,
    decided_by: Option<PathBuf>,
    line: Option<usize>,
}

impl Said {
    fn plain(verdict: Verdict, why: Why) -> Self {
        Self { verdict, why, owner: None, decided_by: None, line: None }
    }
}

fn one(facts: &ActFacts, asker: &Asker, permits: &Permits) -> ActRuling {
    let (real, said) = match (&facts.act.kind, &facts.real) {
        (ActKind::Read, _) => (None, Said::plain(Verdict::Allow, Why::Reads)),
        (ActKind::Run, _) => (None, Said::plain(Verdict::Unknown, Why::CannotKnow)),
        (_, None) => (None, Said::plain(Verdict::Unknown, Why::Unresolved("nobody looked".to_owned()))),
        (_, Some(Err(why))) => (None, Said::plain(Verdict::Unknown, Why::Unresolved(why.clone()))),
        (_, Some(Ok(real))) => (Some(real.clone()), ruled(facts, real, asker, permits)),
    };
    let Said { verdict, why, owner, decided_by, line } = said;
    ActRuling { act: facts.act.clone(), real, owner, verdict, decided_by, line, why, by: String::new(), way_out: None }
}

fn ruled(facts: &ActFacts, real: &Path, asker: &Asker, permits: &Permits) -> Said {
    if let Some(hit) = &facts.wall {
        let dir = hit.path.parent().unwrap_or(&hit.path).to_owned();
        return Said {
            verdict: Verdict::Refuse,
            why: Why::Wall(hit.what),
            owner: Some(Owner { who: Who::Human, dir, file: None, body: None, note: None }),
            decided_by: hit.decided_by.clone(),
            line: None,
        };
    }
    let mut here = climb(&facts.up, real, asker);
    if here.verdict == Verdict::Refuse {
        let Some(permit) = permits.all.iter().find(|permit| permit.covers(asker, real, permits.now)) else { return here };
        let why = Why::Permitted { id: permit.id.clone(), until: time::to_second(permit.until) };
        here = Said { verdict: Verdict::Allow, why, decided_by: Some(permits.file.clone()), line: None, owner: here.owner };
    }
    // What takes an owned place away takes its owner file, which is the human's: no permit opens that.
    facts.below.iter().find_map(|station| taken_along(station, asker)).unwrap_or(here)
}

/// The way up: the nearest station that knows decides.
fn climb(up: &[Station], real: &Path, asker: &Asker) -> Said {
    for station in up {
        if station.home {
            return Said { decided_by: station.identity.clone(), ..Said::plain(Verdict::Allow, Why::Home) };
        }
        let Some((file, owner)) = &station.owner else { continue };
        return match owner {
            OwnerFile::Broken { line, why } => Said {
                verdict: Verdict::Refuse,
                why: Why::Broken(why.clone()),
                owner: Some(Owner { who: Who::Unclear, dir: station.dir.clone(), file: Some(file.clone()), body: None, note: None }),
                decided_by: Some(file.clone()),
                line: *line,
            },
            OwnerFile::Clear { owner, line, body, body_line, commons, note } => {
                let (verdict, why) = if is_owner(owner, body.as_deref(), asker) {
                    (Verdict::Allow, Why::Yours)
                } else if let Some(why) = nobodys(&station.dir, real, commons) {
                    (Verdict::Allow, why)
                } else if station.copy {
                    (Verdict::Allow, Why::Worktree)
                } else {
                    // The right name in the wrong body: who reads the refusal has to be told that.
                    let pinned = body.clone().filter(|_| asker.agent.as_ref() == Some(owner));
                    let why = pinned.map(|body| Pinned { body, line: *body_line, yours: asker.body.clone() });
                    (Verdict::Refuse, why.map_or(Why::Owned, Why::Pinned))
                };
                let body = body.clone();
                let owner =
                    Owner { who: Who::Agent(owner.clone()), dir: station.dir.clone(), file: Some(file.clone()), body, note: note.clone() };
                Said { verdict, why, owner: Some(owner), decided_by: Some(file.clone()), line: *line }
            }
        };
    }
    Said::plain(Verdict::Allow, Why::Nobodys)
}

/// With a pinned body only that body is the owner, whatever another one calls itself.
fn is_owner(owner: &AgentId, pinned: Option<&Path>, asker: &Asker) -> bool {
    asker.agent.as_ref() == Some(owner) && pinned.is_none_or(|body| asker.body.as_deref() == Some(body))
}

/// Whether a directory below goes along that is not the asker's, or a body at all: taking a body
/// away takes its identity file.
fn taken_along(station: &Station, asker: &Asker) -> Option<Said> {
    let why = Why::Below(station.dir.clone());
    if let Some((file, owner)) = &station.owner {
        let (who, line, body, note) = match owner {
            OwnerFile::Broken { line, .. } => (Who::Unclear, *line, None, None),
            OwnerFile::Clear { owner, line, body, note, .. } => {
                if is_owner(owner, body.as_deref(), asker) {
                    // Its own, but the owner file in it is the human's.
                    (Who::Human, *line, None, None)
                } else {
                    (Who::Agent(owner.clone()), *line, body.clone(), note.clone())
                }
            }
        };
        let owner = Owner { who, dir: station.dir.clone(), file: Some(file.clone()), body, note };
        return Some(Said { verdict: Verdict::Refuse, why, owner: Some(owner), decided_by: Some(file.clone()), line });
    }
    station.identity.as_ref().map(|file| {
        let owner = Owner { who: Who::Human, dir: station.dir.clone(), file: Some(file.clone()), body: None, note: None };
        Said { verdict: Verdict::Refuse, why, owner: Some(owner), decided_by: Some(file.clone()), line: None }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(name: &str) -> AgentId {
        AgentId::new(name).unwrap()
    }

    fn owned(dir: &str, owner: &str, body: Option<&str>, commons: &[&str]) -> Station {
        let file = OwnerFile::Clear {
            owner: id(owner),
            line: Some(2),
            body: body.map(PathBuf::from),
            body_line: body.map(|_| 3),
            commons: commons.iter().map(|glob| (*glob).to_owned()).collect(),
            note: None,
        };
        Station { dir: dir.into(), home: false, owner: Some((Path::new(dir).join(".loci/owner.md"), file)), identity: None, copy: false }
    }

    fn on(kind: ActKind, path: &str, up: Vec<Station>) -> ActFacts {
        let act = Act { kind, path: path.into(), follow: true, below: false };
        ActFacts { act, real: Some(Ok(path.into())), up, below: Vec::new(), wall: None }
    }

    fn verdict(facts: ActFacts, asker: &Asker) -> (Verdict, &'static str) {
        let ruling = judge(&Facts { acts: vec![facts], ..Facts::default() }, asker);
        (ruling.verdict, ruling.acts[0].why.word())
    }

    fn alice() -> Asker {
        Asker { agent: Some(id("alice")), body: Some("/alice".into()) }
    }

    #[test]
    fn the_nearest_station_that_knows_decides() {
        let home = Station { dir: "/r/b/alice".into(), home: true, owner: None, identity: None, copy: false };
        let other = Station { dir: "/r/c".into(), home: false, owner: None, identity: Some("/r/c/.loci/agent.md".into()), copy: false };
        let outer = || owned("/r", "bob", None, &[]);
        assert_eq!(verdict(on(ActKind::Write, "/r/b/alice/x", vec![home, outer()]), &alice()), (Verdict::Allow, "home"));
        assert_eq!(verdict(on(ActKind::Write, "/r/c/x", vec![other, outer()]), &alice()), (Verdict::Refuse, "owned"));
        let inner = owned("/r/a", "alice", None, &[]);
        assert_eq!(verdict(on(ActKind::Write, "/r/a/x", vec![inner, outer()]), &alice()), (Verdict::Allow, "yours"));
        assert_eq!(verdict(on(ActKind::Write, "/x", vec![]), &alice()), (Verdict::Allow, "nobodys"));
    }

    #[test]
    fn the_strictest_of_several_acts_counts() {
        let acts = [
            on(ActKind::Write, "/x", vec![]),
            on(ActKind::Run, "/", vec![]),
            on(ActKind::Write, "/r/x", vec![owned("/r", "bob", None, &[])]),
        ];
        let ruled = |count: usize| judge(&Facts { acts: acts[..count].to_vec(), ..Facts::default() }, &alice()).verdict;
        assert_eq!([ruled(0), ruled(1), ruled(2), ruled(3)], [Verdict::Allow, Verdict::Allow, Verdict::Unknown, Verdict::Refuse]);
    }

    #[test]
    fn the_wall_comes_before_home() {
        let home = Station { dir: "/alice".into(), home: true, owner: None, identity: None, copy: false };
        let mut facts = on(ActKind::Write, "/alice/.loci/agent.md", vec![home]);
        facts.wall = Some(WallHit { path: "/alice/.loci/agent.md".into(), what: Walled::Identity, decided_by: None });
        let ruling = judge(&Facts { acts: vec![facts], ..Facts::default() }, &alice());
        assert_eq!((ruling.verdict, &ruling.acts[0].owner.as_ref().unwrap().who), (Verdict::Refuse, &Who::Human));
    }

    prop_compose! {
        /// Stations from a path of eight levels upward: some owned, some broken, some only bodies.
        fn stations()(kinds in prop::collection::vec(0_u8..6, 8), names in prop::collection::vec(prop::sample::select(vec!["bob", "carol", "dave"]), 8)) -> Vec<Station> {
            (1..=8).rev().zip(kinds).zip(names).filter_map(|((depth, kind), name)| {
                let dir = format!("/{}", vec!["d"; depth].join("/"));
                match kind {
                    0 => Some(owned(&dir, name, None, &[])),
                    1 => Some(owned(&dir, name, Some("/elsewhere"), &["*.lock"])),
                    2 => {
                        let broken = OwnerFile::Broken { line: None, why: "why".to_owned() };
                        Some(Station { owner: Some((Path::new(&dir).join(".loci/owner.md"), broken)), ..owned(&dir, name, None, &[]) })
                    }
                    3 => Some(Station { owner: None, identity: Some(Path::new(&dir).join(".loci/agent.md")), ..owned(&dir, name, None, &[]) }),
                    _ => None,
                }
            }).collect()
        }
    }

    const PATH: &str = "/d/d/d/d/d/d/d/d/file.txt";

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// To a stranger an owner file more never opens what was closed.
        #[test]
        fn one_more_owner_never_opens(up in stations(), at in 0_usize..9, owner in prop::sample::select(vec!["bob", "eve"])) {
            let before = verdict(on(ActKind::Write, PATH, up.clone()), &alice()).0;
            let mut more = up;
            let dir = more.get(at.min(more.len().saturating_sub(1))).map_or_else(|| "/d".to_owned(), |station| station.dir.to_string_lossy().into_owned());
            more.insert(at.min(more.len()), owned(&dir, owner, None, &[]));
            let after = verdict(on(ActKind::Write, PATH, more), &alice()).0;
            prop_assert!(after >= before);
            prop_assert_eq!(after, Verdict::Refuse);
        }

        /// Nobody is refused at home, and nobody but the owner is let in elsewhere.
        #[test]
        fn home_is_always_yours(up in stations(), at in 0_usize..9) {
            let mut more = up;
            let at = at.min(more.len());
            more.insert(at, Station { dir: "/alice".into(), home: true, owner: None, identity: None, copy: false });
            let nearer_owner = more.iter().take(at).any(|station| station.owner.is_some());
            let (verdict, why) = verdict(on(ActKind::Write, PATH, more), &alice());
            prop_assert_eq!(verdict == Verdict::Refuse, nearer_owner);
            prop_assert!(nearer_owner || why == "home");
        }

        /// A read passes whatever stands there.
        #[test]
        fn reads_pass(up in stations()) {
            prop_assert_eq!(verdict(on(ActKind::Read, PATH, up), &alice()).0, Verdict::Allow);
        }

        /// The order of acts does not matter to the verdict, and no act makes it milder.
        #[test]
        fn more_acts_are_never_milder(ups in prop::collection::vec(stations(), 1..5)) {
            let facts: Vec<ActFacts> = ups.into_iter().map(|up| on(ActKind::Write, PATH, up)).collect();
            let all = judge(&Facts { acts: facts.clone(), ..Facts::default() }, &alice()).verdict;
            let turned = judge(&Facts { acts: facts.iter().rev().cloned().collect(), ..Facts::default() }, &alice()).verdict;
            prop_assert_eq!(all, turned);
            for fact in facts {
                let one = judge(&Facts { acts: vec![fact], ..Facts::default() }, &alice()).verdict;
                prop_assert!(one <= all);
            }
        }
    }
}
