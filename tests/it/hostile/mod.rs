//! Trees that are out to harm, and trees of any shape: nothing is lost, and the cost is in
//! proportion.

mod nasty;
mod verbs;

use std::fs;
use std::path::{Path, PathBuf};

use loci::tree::diagnostic::Code;
use loci::tree::doctor;
use loci::tree::dotdirs::Dotdirs;
use loci::tree::find::Budget;
use loci::tree::places::{self, Prune};
use proptest::prelude::*;

use crate::sandbox::Sandbox;
use crate::tree::rules;

/// Makes a repository of someone who means ill: links, loops, pipes, odd names, giants; one trap a
/// dotdir.
fn hostile(world: &Sandbox, dotdirs: usize) {
    for nth in 0..dotdirs {
        let dir = world.path(format!("r/d{}/p{nth}", nth / 100));
        let dot = dir.join([".claude", ".loci", ".agents"][nth / TRAPS % 3]);
        fs::create_dir_all(&dir).unwrap();
        trap(&dot, nth % TRAPS);
    }
}

const TRAPS: usize = 14;

fn trap(dot: &Path, which: usize) {
    use std::os::unix::ffi::OsStringExt as _;
    use std::os::unix::fs::symlink;
    let pipe = |path: &Path| nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    // A dotdir that is a link to everything, to itself, or a file.
    match which {
        0 => return symlink("/", dot).unwrap(),
        1 => return symlink(dot, dot).unwrap(),
        2 => return fs::write(dot, "x").unwrap(),
        _ => {}
    }
    let rules = dot.join("rules");
    fs::create_dir_all(&rules).unwrap();
    match which {
        3 => symlink("/", rules.join("root")).unwrap(),
        4 => symlink("..", rules.join("up")).unwrap(),
        5 => {
            symlink("b", rules.join("a")).unwrap();
            symlink("a", rules.join("b")).unwrap();
        }
        6 => symlink("/usr", rules.join("usr")).unwrap(),
        7 => pipe(&rules.join("pipe.md")),
        8 => pipe(&dot.join("owner.md")),
        9 => fs::write(rules.join(std::ffi::OsString::from_vec(b"new\nline\xff.md".to_vec())), "x").unwrap(),
        10 => fs::write(rules.join("bomb.md"), format!("---\na: {}\n---\n", "[".repeat(2000))).unwrap(),
        11 => fs::write(rules.join("_use.yaml"), "- ../../..\n- /\n- ./\n").unwrap(),
        12 => fs::File::create(rules.join("giant.md")).unwrap().set_len(1 << 40).unwrap(),
        _ => fs::write(rules.join("notes.md"), vec![b'-'; 4000]).unwrap(),
    }
}

#[test]
fn a_hostile_repository_costs_in_proportion() {
    let world = Sandbox::in_memory();
    hostile(&world, 10_000);
    let sweep = |world: &Sandbox| doctor::sweep(&world.path("r"), &world.path("home"), &Dotdirs::default());
    let walked = places::walk(&world.path("r"), &Dotdirs::default(), Prune::Foreign);
    // What was made: 100 + 10,000 directories and the root, each read once.
    assert_eq!(walked.dirs, 10_101);
    assert!(walked.entries <= 10_000 * 2 + 200, "{}", walked.entries);
    let large = sweep(&world);
    // A sweep looks at a bounded number of entries for each dotdir, and at a bounded number for all
    // links together.
    assert!(large.looked < 10_000 * 10 + Budget::default().linked * 5, "{}", large.looked);
    assert!(large.findings.len() > 8_000, "{}", large.findings.len());

    let small = Sandbox::in_memory();
    hostile(&small, 1_000);
    let little = sweep(&small);
    assert!(large.looked <= little.looked * 12, "{} against {}", large.looked, little.looked);
}

#[test]
fn a_hostile_level_gives_what_is_honest_in_it() {
    let world = Sandbox::new();
    let dot = world.path("r/.loci");
    fs::create_dir(world.path("r")).unwrap();
    for which in 3..TRAPS {
        trap(&dot, which);
    }
    world.file("r/.loci/rules/honest.md", "---\nname: h\n---\nbody");
    let resolution = rules(&world, "home", "r");
    assert!(resolution.files.iter().any(|file| file.rel == Path::new("honest.md")));
    let codes: Vec<Code> = resolution.diagnostics.iter().map(|one| one.code).collect();
    for code in [Code::SymlinkLoop, Code::Unreadable, Code::FmTooLarge, Code::UseCycle, Code::UseDangling] {
        assert!(codes.contains(&code), "{code:?} in {codes:?}");
    }
    // The pipe that stands for an owner file closes instead of hanging.
    let owner = places::owner_of(&world.path("r")).unwrap();
    assert!(owner.file.is_err());
    // Names are escaped where people see them.
    let run = world.loci("r", ["resolve", "rules"]);
    assert!(run.stdout.contains("new\\u{a}line\\xff.md"), "{}", run.stdout);
}

/// A link farm: each directory links twice to the next. Followed blindly that is 2^30 directories.
#[test]
fn a_link_farm_is_walked_once() {
    let world = Sandbox::new();
    for nth in 0..30 {
        world.link(format!("farm/{nth}/a"), format!("../{}", nth + 1)).link(format!("farm/{nth}/b"), format!("../{}", nth + 1));
    }
    world.file("farm/30/x.md", "x").link("r/.loci/rules/farm", "../../../farm/0");
    let resolution = rules(&world, "home", "r");
    assert_eq!(resolution.files.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    /// Whatever lies in four levels: every file is handed out once or dropped for one that is, the
    /// nearest comes last, and the order in which the files were made does not show.
    #[test]
    fn nothing_is_lost_and_order_is_the_same(
        files in prop::collection::btree_map(("(a/){0,3}", "\\.claude|\\.loci|\\.agents", "(d/)?[xy]\\.md"), "[12]", 0..14),
    ) {
        let mut lists = Vec::new();
        for reversed in [false, true] {
            let world = Sandbox::in_memory();
            let mut entries: Vec<_> = files.iter().collect();
            if reversed {
                entries.reverse();
            }
            for ((level, dotdir, file), text) in entries {
                world.file(format!("r/{level}{dotdir}/rules/{file}"), text);
            }
            world.dir("r/a/a/a");
            let resolution = rules(&world, "home", "r/a/a/a");
            let depth = |path: &Path| path.components().count();
            let depths: Vec<usize> = resolution.files.iter().map(|file| depth(&file.provenance.level)).collect();
            prop_assert!(depths.is_sorted(), "{:?}", depths);
            let found: Vec<PathBuf> = resolution.files.iter().map(|file| file.path.clone()).collect();
            for one in &resolution.dropped {
                prop_assert!(found.contains(&one.kept), "{:?}", one);
            }
            // A gap ends the chain: what lies above it is not asked for.
            let reached = |path: &PathBuf| resolution.levels.iter().any(|level| path.starts_with(&level.path) && path.strip_prefix(&level.path).is_ok_and(|rel| !rel.starts_with("a")));
            let made: Vec<PathBuf> = files.keys().map(|(level, dotdir, file)| world.path(format!("r/{level}{dotdir}/rules/{file}"))).filter(reached).collect();
            prop_assert_eq!(made.len(), found.len() + resolution.dropped.len());
            let root = world.path("r");
            lists.push(found.iter().map(|path| path.strip_prefix(&root).unwrap().to_owned()).collect::<Vec<_>>());
        }
        prop_assert_eq!(&lists[0], &lists[1]);
    }
}

#[test]
fn a_text_that_somebody_else_writes_at_the_same_moment_wins() {
    use loci::sys::disk;
    let sandbox = Sandbox::new();
    let path = sandbox.dir("home").path("home/settings.json");
    fs::write(&path, "0").unwrap();
    // Something else stands there: nothing is touched.
    assert!(disk::replace_known(&path, b"new", None, b"old").is_err());
    assert!(disk::remove_known(&path, b"old").is_err());
    assert_eq!(fs::read(&path).unwrap(), b"0");
    let last = 400;
    let editor = {
        let (path, temp) = (path.clone(), sandbox.path("home/editor"));
        std::thread::spawn(move || {
            for n in 1..=last {
                fs::write(&temp, n.to_string()).unwrap();
                fs::rename(&temp, &path).unwrap();
            }
        })
    };
    let mut seen = 0;
    while !editor.is_finished() {
        let was = fs::read(&path).unwrap();
        let _ = disk::replace_known(&path, &[was.as_slice(), b"!"].concat(), None, &was);
        let number: u32 = String::from_utf8(fs::read(&path).unwrap()).unwrap().trim_end_matches('!').parse().unwrap();
        assert!(number >= seen, "an older text was put back: {number} after {seen}");
        seen = number;
    }
    editor.join().unwrap();
    let at_the_end = String::from_utf8(fs::read(&path).unwrap()).unwrap();
    assert_eq!(at_the_end.trim_end_matches('!'), last.to_string());
}
