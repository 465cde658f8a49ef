//! What holds for every tree and every set.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use loci::loadout::set::Set;
use loci::loadout::surface::Surface;
use loci::loadout::{Level, LoadoutError, digest, wear};
use loci::sys::plan::{Plan, Step};
use loci::tree::dotdirs::Dotdirs;
use proptest::prelude::*;

use crate::sandbox::{Run, Sandbox};

/// The names that trees and sets are made of.
const ITEMS: [(&str, &str, &str); 9] = [
    ("skills", "k", "skills/k/SKILL.md"),
    ("skills", "no", "skills/no/SKILL.md"),
    ("rules", "a.md", "rules/a.md"),
    ("rules", "a b.md", "rules/a b.md"),
    ("rules", "t/a.md", "rules/t/a.md"),
    ("agents", "x.md", "agents/x.md"),
    ("agents", "y.md", "agents/y.md"),
    ("hooks", "h.sh", "hooks/h.sh"),
    ("hooks", "h.py", "hooks/h.py"),
];

/// On, off, both, off with a directory in the way of `on`, absent.
fn tree() -> impl Strategy<Value = Vec<(bool, usize, u8)>> {
    proptest::collection::vec((any::<bool>(), 0..ITEMS.len(), 0_u8..10), 0..14)
}

/// Which item, by full name or stem, on or off.
fn set() -> impl Strategy<Value = Vec<(usize, bool, bool)>> {
    proptest::collection::vec((0..ITEMS.len(), any::<bool>(), any::<bool>()), 0..8)
}

fn build(tree: &[(bool, usize, u8)]) -> (Sandbox, Level) {
    let world = Sandbox::new();
    world.dir("r/.loci").dir("r/.claude");
    for (nth, (vendor, item, state)) in tree.iter().enumerate() {
        let path = format!("r/{}/{}", if *vendor { ".claude" } else { ".loci" }, ITEMS[*item].2);
        let off = format!("{path}.inactive");
        let taken = |path: &str| std::fs::symlink_metadata(world.path(path)).is_ok();
        let put = |path: &str| {
            if !taken(path) {
                world.file(path, format!("content {nth} of {path}"));
            }
        };
        match state {
            0..=3 => put(&path),
            4..=7 => put(&off),
            8 => {
                put(&path);
                put(&off);
            }
            _ if !taken(&path) && !taken(&off) => {
                put(&off);
                world.file(format!("{path}/in the way"), "x");
            }
            _ => {}
        }
    }
    let level = Level { dir: world.path("r"), dotdirs: Dotdirs::new([".claude", ".loci"]), state: world.path("state/loci") };
    (world, level)
}

fn text(set: &[(usize, bool, bool)]) -> String {
    let mut sections: BTreeMap<&str, BTreeMap<String, bool>> = BTreeMap::new();
    for (item, stem, on) in set {
        let (section, name, _) = ITEMS[*item];
        let name = if *stem { Path::new(name).with_extension("").to_string_lossy().into_owned() } else { name.to_owned() };
        sections.entry(section).or_default().insert(name, *on);
    }
    serde_json::to_string(&sections).unwrap()
}

fn parse(set: &[(usize, bool, bool)]) -> Set {
    Set::parse(&text(set), true).unwrap()
}

type Tree = BTreeMap<PathBuf, String>;

/// The contents alone: what must never get lost.
fn contents(tree: &Tree) -> Vec<&str> {
    let mut all: Vec<&str> = tree.values().map(String::as_str).filter(|what| what.starts_with("file")).collect();
    all.sort_unstable();
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn plan_then_inverse_is_the_identity(tree in tree(), set in set(), vendor: bool) {
        let (world, level) = build(&tree);
        let before = world.snapshot("r");
        match wear::plan(&level, &[&parse(&set)], vendor) {
            Err(LoadoutError::Conflict(_)) => {}
            Err(error) => panic!("{error}"),
            Ok(decision) => {
                let steps = decision.renames.iter().map(|one| Step::Rename { from: one.from.clone(), to: one.to.clone() });
                let plan = Plan { steps: steps.collect() };
                plan.apply().unwrap();
                let after = world.snapshot("r");
                prop_assert_eq!(contents(&after), contents(&before));
                prop_assert_eq!(after == before, plan.is_empty());
                plan.inverse().apply().unwrap();
                prop_assert_eq!(world.snapshot("r"), before);
            }
        }
    }

    #[test]
    fn applied_twice_renames_nothing_and_the_undo_set_undoes(tree in tree(), set in set(), vendor: bool) {
        let (world, level) = build(&tree);
        let before = world.snapshot("r");
        match wear::apply(&level, "test", &["set".to_owned()], &[&parse(&set)], vendor) {
            Err(LoadoutError::Conflict(_)) => prop_assert_eq!(world.snapshot("r"), before),
            Err(error) => panic!("{error}"),
            Ok(report) => {
                let after = world.snapshot("r");
                let again = wear::apply(&level, "test", &[], &[&parse(&set)], vendor).unwrap();
                prop_assert_eq!(again.decision.renames.len(), 0);
                prop_assert_eq!(world.snapshot("r"), after.clone());
                // As a file would hold it.
                let undo = Set::parse(&report.decision.undo.to_yaml(), false).unwrap();
                let undone = wear::apply(&level, "test", &[], &[&undo], vendor).unwrap();
                prop_assert_eq!(undone.decision.renames.len(), report.decision.renames.len());
                prop_assert_eq!(world.snapshot("r"), before.clone());
                // And what is remembered does it as well.
                wear::apply(&level, "test", &[], &[&parse(&set)], vendor).unwrap();
                wear::unequip(&level).unwrap();
                prop_assert_eq!(world.snapshot("r"), before);
            }
        }
    }

    #[test]
    fn equal_trees_have_equal_hashes_and_unequal_ones_do_not(
        files in proptest::collection::btree_map("[a-c]{1,2}(/[a-c]{1,2})?", ("[a-b]{0,3}", 0_u8..3), 1..8), at in any::<prop::sample::Index>(), how in 0_u8..4
    ) {
        let lay = |world: &Sandbox| {
            for (name, (text, kind)) in &files {
                // A name that is a file can't be a folder as well.
                if files.keys().any(|other| other.starts_with(&format!("{name}/"))) {
                    continue;
                }
                match kind {
                    0 => _ = world.file(format!("t/{name}"), text),
                    1 => _ = world.exec(format!("t/{name}"), text),
                    _ => _ = world.link(format!("t/{name}"), format!("{text}x")),
                }
            }
        };
        let (one, two) = (Sandbox::new(), Sandbox::new());
        lay(&one);
        lay(&two);
        let surface = Surface { dirs: vec!["t".into()], ..Surface::default() };
        let hash = |world: &Sandbox| digest::of(&world.path(""), &surface).unwrap();
        prop_assert_eq!(hash(&one), hash(&two));
        // One change of any kind shows.
        let paths: Vec<PathBuf> = two.snapshot("t").into_iter().filter(|(_, what)| !what.starts_with("dir")).map(|(path, _)| path).collect();
        let path = Path::new("t").join(at.get(&paths));
        match how {
            0 => std::fs::rename(two.path(&path), two.path("t/renamed")).unwrap(),
            1 => std::fs::remove_file(two.path(&path)).unwrap(),
            2 => _ = two.file("t/added", ""),
            _ => {
                std::fs::remove_file(two.path(&path)).unwrap();
                two.file(&path, "changed!");
            }
        }
        prop_assert_ne!(hash(&one), hash(&two));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn kills_and_recoveries_lose_nothing(tree in tree(), sets in proptest::collection::vec((set(), 1_u64..40), 1..4)) {
        let (world, level) = build(&tree);
        let start = world.snapshot("r");
        let run = |args: &[&str], fault: Option<u64>| {
            let mut command = world.command("r");
            // Only `.claude` and `.loci` are there, as in the library's level.
            command.args(args);
            if let Some(n) = fault {
                command.env("LOCI_FAULT", format!("kill:{n}"));
            }
            Run::of(&mut command, None)
        };
        for (nth, (set, kill)) in sets.iter().enumerate() {
            let file = format!("set{nth}.json");
            // Hooks are for people, and who runs the tests is not known.
            let set: Vec<_> = set.iter().filter(|(item, ..)| ITEMS[*item].0 != "hooks").copied().collect();
            world.file(&file, text(&set));
            let old = world.snapshot("r");
            let new = match wear::plan(&level, &[&parse(&set)], false) {
                Err(_) => old.clone(),
                Ok(decision) => {
                    // The model: the renames, on paper.
                    let mut new = old.clone();
                    for one in &decision.renames {
                        let rel = |path: &Path| path.strip_prefix(world.path("r")).unwrap().to_owned();
                        let what = new.remove(&rel(&one.from)).unwrap();
                        new.insert(rel(&one.to), what);
                    }
                    new
                }
            };
            run(&["equip", &format!("../{file}")], Some(*kill));
            run(&["toggle", "rules/none", "on"], None).exits(1);
            let now = world.snapshot("r");
            prop_assert!(now == old || now == new, "neither before nor after");
            prop_assert_eq!(contents(&now), contents(&start));
        }
    }
}
