//! Which mounts hold what was found: a pure function.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::tree::climb;

/// What holds from a point of the tree down to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Zone {
    /// The asker may write: nobody's, its own, or permitted.
    Open,
    /// The owner leaves it to everybody (commons, the plumbing of git). Opens only what an owner closes.
    Common,
    /// Somebody else's.
    Theirs,
    /// Only a person changes it.
    Walled,
}

/// A point of the tree at which another zone begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// What begins there.
    pub zone: Zone,
    /// Whose it is, for people; empty where nobody is shut out.
    pub whose: String,
}

/// What a mount is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Nothing below can be changed.
    Shut,
    /// Changes below are taken up, and the directory stays as it is.
    Layer,
    /// It stays open below something that is shut.
    Opened,
    /// It stays as it is, and can't be renamed or replaced.
    Pinned,
}

impl Use {
    /// The word for people and `--json`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Shut => "read-only",
            Self::Layer => "captured",
            Self::Opened => "writable",
            Self::Pinned => "pinned",
        }
    }
}

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Where: a real path that is there.
    pub path: PathBuf,
    /// What for.
    pub what: Use,
    /// Whose it is, for people; empty where nobody is shut out.
    pub whose: String,
}

/// The state of a zone below its enclosing one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Shut,
    Layer,
}

fn state(zone: Zone, enclosing: State, capture: bool) -> State {
    match zone {
        Zone::Open => State::Open,
        // What only a person opens stays shut, whoever leaves it to everybody.
        Zone::Common => State::Open,
        Zone::Theirs if capture && enclosing != State::Shut => State::Layer,
        Zone::Theirs | Zone::Walled => State::Shut,
    }
}

/// The mounts, parents before what lies below them. `above` bounds where ancestors are pinned: from it
/// down to each mount nothing can be renamed, so that no directory can be put in the place of another.
/// `submounts` are places where something is mounted already.
#[must_use]
pub fn plan(points: &BTreeMap<PathBuf, Point>, above: &[PathBuf], submounts: &[PathBuf], capture: bool) -> Vec<Planned> {
    let mut mounts: BTreeMap<PathBuf, Planned> = BTreeMap::new();
    let mut stack: Vec<(&Path, State, Zone, &str)> = Vec::new();
    let mut states: Vec<(&Path, State)> = Vec::new();
    // The order of components, not of bytes: `a/b` comes before `a-b`, right behind `a`.
    for (path, point) in points {
        while stack.last().is_some_and(|(top, ..)| !path.starts_with(top)) {
            stack.pop();
        }
        let (outer, zone_above, whose_above) =
            stack.last().map_or((State::Open, Zone::Open, ""), |(_, state, zone, whose)| (*state, *zone, *whose));
        let common = point.zone == Zone::Common;
        let (own, zone, whose) = if common && zone_above != Zone::Theirs {
            (outer, zone_above, whose_above)
        } else {
            (state(point.zone, outer, capture), point.zone, point.whose.as_str())
        };
        if own != outer {
            let what = match own {
                State::Open => Use::Opened,
                State::Shut => Use::Shut,
                State::Layer => Use::Layer,
            };
            mounts.insert(path.clone(), Planned { path: path.clone(), what, whose: whose.to_owned() });
        }
        stack.push((path, own, zone, whose));
        states.push((path, own));
    }
    // A layer shows the directory alone: what is mounted below it is put there again, shut.
    let layers: Vec<PathBuf> = mounts.values().filter(|mount| mount.what == Use::Layer).map(|mount| mount.path.clone()).collect();
    for point in submounts {
        if let Some(layer) = layers.iter().find(|layer| point.starts_with(layer) && point != *layer) {
            let whose = mounts.get(layer).map(|mount| mount.whose.clone()).unwrap_or_default();
            mounts.entry(point.clone()).or_insert(Planned { path: point.clone(), what: Use::Shut, whose });
        }
    }
    let open_at = |path: &Path| {
        let nearest = climb::up(path).find_map(|dir| states.binary_search_by(|(point, _)| (*point).cmp(dir)).ok());
        nearest.and_then(|at| states.get(at)).is_none_or(|(_, state)| *state == State::Open)
    };
    let mut pins: Vec<PathBuf> = Vec::new();
    for mount in mounts.keys() {
        let Some(bound) = above.iter().filter(|bound| mount.starts_with(bound)).max_by_key(|bound| bound.as_os_str().len()) else {
            continue;
        };
        let between = climb::above(mount).take_while(|dir| dir.starts_with(bound));
        pins.extend(between.filter(|dir| !mounts.contains_key(*dir) && open_at(dir)).map(Path::to_owned));
    }
    for pin in pins {
        mounts.entry(pin.clone()).or_insert(Planned { path: pin, what: Use::Pinned, whose: String::new() });
    }
    mounts.into_values().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn points(list: &[(&str, Zone)]) -> BTreeMap<PathBuf, Point> {
        list.iter().map(|(path, zone)| (PathBuf::from(path), Point { zone: *zone, whose: "bob".to_owned() })).collect()
    }

    fn planned(list: &[(&str, Zone)], capture: bool) -> Vec<(String, Use)> {
        let mounts = plan(&points(list), &[PathBuf::from("/r")], &[PathBuf::from("/r/bob/mnt"), PathBuf::from("/proc")], capture);
        mounts.into_iter().map(|mount| (mount.path.to_str().unwrap().to_owned(), mount.what)).collect()
    }

    fn wanted(list: &[(&str, Use)]) -> Vec<(String, Use)> {
        list.iter().map(|(path, what)| ((*path).to_owned(), *what)).collect()
    }

    #[test]
    fn only_a_change_needs_a_mount_and_the_way_to_it_is_pinned() {
        let list = [
            ("/r", Zone::Open),
            ("/r/a/b/bob", Zone::Theirs),
            ("/r/a/b/bob/.git", Zone::Common),
            ("/r/a/b/bob/alice", Zone::Open),
            ("/r/a/b/bob/alice/bob", Zone::Theirs),
            ("/r/a/b/bob/carol", Zone::Theirs),
            ("/r/a/b/bob/.loci/memory", Zone::Walled),
            ("/r/alice/.git", Zone::Common),
        ];
        assert_eq!(
            planned(&list, false),
            wanted(&[
                ("/r", Use::Pinned),
                ("/r/a", Use::Pinned),
                ("/r/a/b", Use::Pinned),
                ("/r/a/b/bob", Use::Shut),
                ("/r/a/b/bob/.git", Use::Opened),
                ("/r/a/b/bob/alice", Use::Opened),
                ("/r/a/b/bob/alice/bob", Use::Shut),
            ])
        );
    }

    #[test]
    fn what_only_a_person_changes_stays_shut() {
        let list = [
            ("/r/.loci/memory", Zone::Walled),
            ("/r/.loci/memory/.git", Zone::Common),
            ("/r/.loci/memory/outbox", Zone::Open),
            ("/r/bob", Zone::Theirs),
            ("/r/bob/target", Zone::Common),
            ("/r/bob/target/x/.claude/settings.json", Zone::Walled),
        ];
        assert_eq!(
            planned(&list, false),
            wanted(&[
                ("/r", Use::Pinned),
                ("/r/.loci", Use::Pinned),
                ("/r/.loci/memory", Use::Shut),
                ("/r/.loci/memory/outbox", Use::Opened),
                ("/r/bob", Use::Shut),
                ("/r/bob/target", Use::Opened),
                ("/r/bob/target/x", Use::Pinned),
                ("/r/bob/target/x/.claude", Use::Pinned),
                ("/r/bob/target/x/.claude/settings.json", Use::Shut),
            ])
        );
    }

    #[test]
    fn a_layer_keeps_its_walls_and_its_mounts_shut() {
        let list =
            [("/r/bob", Zone::Theirs), ("/r/bob/.loci/owner.md", Zone::Walled), ("/r/bob/alice", Zone::Open), ("/r/bobby", Zone::Open)];
        assert_eq!(
            planned(&list, true),
            wanted(&[
                ("/r", Use::Pinned),
                ("/r/bob", Use::Layer),
                ("/r/bob/.loci/owner.md", Use::Shut),
                ("/r/bob/alice", Use::Opened),
                ("/r/bob/mnt", Use::Shut),
            ])
        );
        assert!(planned(&[("/r", Zone::Open), ("/r/x", Zone::Open)], false).is_empty());
    }

    prop_compose! {
        fn trees()(list in prop::collection::vec((prop::collection::vec(0_u8..3, 1..6), 0_u8..4), 0..12)) -> BTreeMap<PathBuf, Point> {
            list.into_iter().map(|(names, zone)| {
                let path = names.iter().fold(PathBuf::from("/r"), |path, name| path.join(format!("d{name}")));
                let zone = [Zone::Open, Zone::Common, Zone::Theirs, Zone::Walled][usize::from(zone)];
                (path, Point { zone, whose: String::new() })
            }).collect()
        }
    }

    /// What a path is under a list of mounts: the last one above it says.
    fn under(mounts: &[Planned], path: &Path) -> bool {
        let nearest = mounts.iter().filter(|mount| path.starts_with(&mount.path)).max_by_key(|mount| mount.path.as_os_str().len());
        nearest.is_none_or(|mount| matches!(mount.what, Use::Opened | Use::Pinned))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Each point is what its zone says, whatever lies around it; parents come first; nothing is
        /// mounted twice; and every open directory on the way to a mount is one itself.
        #[test]
        fn mounts_say_what_the_zones_say(points in trees()) {
            let mounts = plan(&points, &[PathBuf::from("/r")], &[], false);
            for (path, point) in &points {
                match point.zone {
                    Zone::Open => prop_assert!(under(&mounts, path)),
                    Zone::Theirs | Zone::Walled => prop_assert!(!under(&mounts, path)),
                    Zone::Common => {}
                }
            }
            for (at, mount) in mounts.iter().enumerate() {
                prop_assert!(mounts[at + 1..].iter().all(|later| later.path > mount.path));
                for dir in climb::above(&mount.path).take_while(|dir| dir.starts_with("/r")) {
                    prop_assert!(mounts.iter().any(|other| other.path == dir) || !under(&mounts, dir), "{} on the way to {}", dir.display(), mount.path.display());
                }
            }
        }
    }
}
