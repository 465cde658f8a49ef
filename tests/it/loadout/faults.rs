//! Killed after each single operation, and the repair killed as well: the next change repairs it and says so, and the
//! tree is the old one or the new one. What fails at each operation is tried in tests/it/sweep.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;

use loci::loadout::archive::{self, Stores};
use loci::loadout::set::Set;
use loci::loadout::surface::Surface;
use loci::loadout::{Level, inject, scope, wear};
use loci::sys::journal;
use loci::tree::dotdirs::Dotdirs;

use super::level;
use crate::sandbox::{Run, Sandbox};

type Tree = BTreeMap<PathBuf, String>;

/// What is tried: how the world looks, the command, and which parts may differ afterwards.
struct Trial {
    build: fn() -> Sandbox,
    args: &'static [&'static str],
}

fn faulty(world: &Sandbox, args: &[&str], fault: &str) -> Run {
    let mut command = world.command("r");
    command.args(args).env("LOCI_FAULT", fault);
    Run::of(&mut command, None)
}

/// A change that renames nothing and settles what is open.
fn settle(world: &Sandbox, fault: Option<usize>) -> Run {
    let mut command = world.command("r");
    command.args(["toggle", "rules/none", "on"]);
    if let Some(n) = fault {
        command.env("LOCI_FAULT", format!("kill:{n}"));
    }
    Run::of(&mut command, None)
}

fn the_level(world: &Sandbox) -> Level {
    Level { dir: world.path("r"), dotdirs: Dotdirs::default(), state: world.path("state/loci") }
}

fn is_open(world: &Sandbox) -> bool {
    let level = the_level(world);
    journal::open(&level.state, &level.key()).unwrap().is_some() || !scope::open(&level).unwrap().is_empty()
}

/// Every name that loci uses for what is under way.
fn leftovers(world: &Sandbox) -> Vec<PathBuf> {
    let all = world.snapshot("");
    let mine = |path: &PathBuf| {
        path.file_name().is_some_and(|name| {
            [".loci-tmp-", ".loci-new-", ".loci-old-", ".loci-swap-"].iter().any(|start| name.to_string_lossy().starts_with(start))
        })
    };
    all.into_keys().filter(mine).collect()
}

impl Trial {
    /// The tree before and after, and how many operations it takes.
    fn measure(&self) -> (Tree, Tree, usize) {
        let world = (self.build)();
        let old = world.snapshot("r");
        let log = world.path("log");
        faulty(&world, self.args, &format!("log:{}", log.display())).exits(0);
        let new = world.snapshot("r");
        let count = std::fs::read_to_string(log).unwrap().lines().count();
        assert!(count > 4, "the seam saw {count} operations");
        assert_eq!(leftovers(&world), Vec::<PathBuf>::new());
        (old, new, count)
    }

    fn check(&self, world: &Sandbox, old: &Tree, new: &Tree, what: &str) {
        let open = is_open(world);
        let run = settle(world, None).exits(1);
        assert!(!open || run.stderr.contains("interrupted") || run.stderr.contains("had not been taken back"), "{what}: {}", run.stderr);
        assert!(!is_open(world), "{what}: still open");
        let now = world.snapshot("r");
        let differs = |tree: &Tree| -> Vec<PathBuf> {
            tree.keys().chain(now.keys()).filter(|path| tree.get(*path) != now.get(*path)).cloned().collect()
        };
        assert!(now == *old || now == *new, "{what}: neither old nor new\n  to old {:?}\n  to new {:?}", differs(old), differs(new));
        assert_eq!(leftovers(world), Vec::<PathBuf>::new(), "{what}");
    }

    fn kill_everywhere(&self) {
        let (old, new, count) = self.measure();
        for n in 1..=count {
            let world = (self.build)();
            let run = faulty(&world, self.args, &format!("kill:{n}"));
            assert_eq!(run.code, None, "operation {n} of {count} did not kill: {}", run.stderr);
            let mut what = format!("{:?} killed after operation {n} of {count}", self.args);
            // Every second time the repair is killed as well.
            if n % 2 == 1 {
                let second = 1 + n % 11;
                settle(&world, Some(second));
                what = format!("{what}, the repair after {second}");
            }
            self.check(&world, &old, &new, &what);
        }
    }
}

fn equip() -> Trial {
    Trial { build: level, args: &["equip", "s"] }
}

fn unequip() -> Trial {
    fn build() -> Sandbox {
        let world = level();
        let set = Set::read(&world.path("r/.loci/sets/s.yaml")).unwrap();
        wear::apply(&the_level(&world), "test", &["s".to_owned()], &[&set], false).unwrap();
        world
    }
    Trial { build, args: &["unequip"] }
}

fn scoped() -> Trial {
    fn build() -> Sandbox {
        let world = level();
        world.file("r/.loci/sets/s.yaml", "skills: {k: off, m: on}\nrules: {a: off}\n");
        world
    }
    Trial { build, args: &["equip", "s", "--for", "--", "true"] }
}

/// A place with a saved loadout that differs in every way a piece can.
fn place() -> Sandbox {
    let world = level();
    world
        .file("r/.mcp.json", "{}")
        .file("r/.claude/settings.json", "{}\n")
        .file("r/CLAUDE.md", "saved")
        .file("r/.claude/rules/a.md", "saved")
        .file("r/.claude/rules/deep/er.md", "saved");
    let level = the_level(&world);
    let surface = Surface::of(&level, "claude", &[]).unwrap();
    archive::save(&level, &world.path("home/.loci/loadouts"), "one", "claude", &surface).unwrap();
    std::fs::remove_file(world.path("r/.mcp.json")).unwrap();
    world.file("r/CLAUDE.md", "live").file("r/.claude/rules/b.md", "live").exec("r/.claude/hooks/h.sh", "live");
    world
}

fn injecting() -> Trial {
    Trial { build: place, args: &["loadout", "inject", "one"] }
}

fn restore() -> Trial {
    fn build() -> Sandbox {
        let world = place();
        let stores = Stores { home: world.path("home/.loci/loadouts"), place: None };
        inject::inject(&the_level(&world), &stores, "one", false).unwrap();
        world
    }
    Trial { build, args: &["loadout", "restore"] }
}

fn archive() -> Trial {
    Trial { build: place, args: &["loadout", "archive", "two"] }
}

#[test]
fn equip_survives_a_kill_after_each_operation() {
    equip().kill_everywhere();
    unequip().kill_everywhere();
}

#[test]
fn a_scope_survives_a_kill_after_each_operation() {
    scoped().kill_everywhere();
}

#[test]
fn inject_survives_a_kill_after_each_operation() {
    injecting().kill_everywhere();
}

#[test]
fn restore_survives_a_kill_after_each_operation() {
    restore().kill_everywhere();
}

#[test]
fn archive_survives_a_kill_after_each_operation() {
    archive().kill_everywhere();
}

/// Kills for real, at times nobody chose.
fn kill_at_random(trial: &Trial, times: u64) {
    let (old, new, _) = trial.measure();
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut killed = 0;
    let mut world = (trial.build)();
    for round in 0..times {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut command = world.command("r");
        let mut child = command.args(trial.args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Not waiting for anything: the time of the kill is what is tried.
        std::thread::sleep(std::time::Duration::from_micros(2_000 + (seed >> 33) % 30_000));
        let _ = child.kill();
        killed += usize::from(child.wait().unwrap().code().is_none());
        trial.check(&world, &old, &new, &format!("{:?}, round {round}", trial.args));
        if world.snapshot("r") != old {
            world = (trial.build)();
        }
    }
    assert!(killed > 0, "nothing was killed in {times} rounds");
}

#[test]
fn real_kills_at_random_times() {
    kill_at_random(&equip(), 80);
    kill_at_random(&scoped(), 80);
    kill_at_random(&injecting(), 80);
}

#[test]
fn the_check_can_see() {
    let trial = equip();
    let (old, new, _) = trial.measure();
    let world = level();
    std::fs::rename(world.path("r/.loci/rules/a.md"), world.path("r/.loci/rules/a.md.inactive")).unwrap();
    let caught = std::panic::catch_unwind(|| trial.check(&world, &old, &new, "planted"));
    assert!(caught.is_err());
}

/// The judge is asked once more under the lock: a folder that was swapped since is seen, and nothing is changed.
#[test]
fn what_leads_elsewhere_under_the_lock_is_left() {
    let world = level();
    let (the_level, set) = (the_level(&world), Set::read(&world.path("r/.loci/sets/s.yaml")).unwrap());
    let before = world.snapshot("r");
    let asked = |decision: &loci::loadout::algebra::Decision| {
        assert!(!decision.renames.is_empty());
        // Nobody else gets in between this answer and the change.
        assert!(journal::take(&the_level.state, &the_level.key(), "other").is_err());
        false
    };
    let names = ["s".to_owned()];
    let elsewhere = |error: loci::loadout::LoadoutError| assert!(matches!(error, loci::loadout::LoadoutError::Elsewhere(_)), "{error}");
    elsewhere(wear::apply_if(&the_level, "test", &names, &[&set], false, asked).unwrap_err());
    elsewhere(scope::put_on_if(&the_level, "test", &[&set], false, asked).unwrap_err());
    assert_eq!(world.snapshot("r"), before);
    wear::apply(&the_level, "test", &names, &[&set], false).unwrap();
    let worn = world.snapshot("r");
    elsewhere(wear::unequip_if(&the_level, |renames| renames.is_empty()).unwrap_err());
    assert_eq!(world.snapshot("r"), worn);
    wear::unequip(&the_level).unwrap();
    assert_eq!(world.snapshot("r"), before);
}
