//! The daemon itself: killed at every operation of a fire, its clock set, its watcher deaf, its folder full.

use std::fs;

use super::{QUICK, SEVEN, World, daemon_is_there, until};

/// How a daemon that was killed at some point is told from one that went on.
struct Way {
    name: &'static str,
    /// The header of the job.
    header: &'static str,
    /// Operations that have to be among those of its fire.
    among: &'static [&'static str],
}

const WAYS: [Way; 2] = [
    Way { name: "a command", header: QUICK, among: &["claims", "run.json", "state"] },
    Way {
        name: "a command with a set",
        header: "when: {cron: \"0 7 * * *\"}\nrun: \"echo x >> started; [ -e .loci/rules/night.md ] && echo ok > out/done\"\n\
                 deliverables: [out/done]\nloadout: {rules: {night: on}}",
        among: &["claims", "night.md"],
    },
];

fn ready(way: &Way) -> World {
    let world = World::new(SEVEN - 10);
    world.sandbox.file("home/.loci/config.yaml", "custody: read\n").file("root/.loci/rules/night.md.inactive", "x");
    world.job("a", way.header, "").loci(&["clock", "enroll", "."]).exits(0);
    world
}

/// Waits until the clock has looked at everything at the time that it is now: a file that comes is counted in the status
/// of the tick that has seen it, and that tick fired what was due.
fn looks(world: &World) {
    let count = fs::read_dir(world.sandbox.path("root/.loci-clock/jobs")).unwrap().count() + 1;
    world.job(&format!("look-{count}"), "when: {cron: \"0 0 29 2 *\"}\nrun: x", "");
    let told = || world.loci(&["clock", "status", "--json"]).json()["last"]["jobs"].as_u64();
    until("a look", || (told() == Some(count as u64)).then_some(()));
}

/// What came of the one instant, once nothing of it is on.
fn came(world: &World) -> Option<String> {
    let record = world.record("a");
    record["running"].is_null().then(|| record["outcome"].as_str().map(str::to_owned))?
}

/// Killed after each operation of a fire and of its judging, and started again: no second start of an instant, none
/// that nothing came of, and the set is back.
#[test]
fn a_daemon_killed_at_any_operation_of_a_fire() {
    for way in &WAYS {
        let (first, last) = {
            let world = ready(way);
            let ops = world.sandbox.path("ops");
            let count = || fs::read_to_string(&ops).unwrap_or_default().lines().count();
            let _daemon = world.daemon(Some(format!("log:{}", ops.display())));
            until("the first look", || daemon_is_there(&world));
            let first = count();
            world.time(SEVEN);
            until("a success", || (came(&world)? == "success").then_some(()));
            let told = || world.loci(&["clock", "status", "--json"]).json()["last"]["running"].as_array().map(Vec::len);
            until("that it is told", || (told() == Some(0)).then_some(()));
            let log = fs::read_to_string(&ops).unwrap();
            for part in way.among {
                assert!(log.lines().skip(first).any(|line| line.contains(part)), "{}: no operation on {part}: {log}", way.name);
            }
            (first + 1, count())
        };
        let mut seen = std::collections::BTreeSet::new();
        for nth in first..=last {
            let world = ready(way);
            let mut daemon = world.daemon(Some(format!("kill:{nth}")));
            until("the first look", || daemon_is_there(&world));
            world.time(SEVEN);
            let status = until("its end", || {
                daemon.0.try_wait().unwrap().map(Some).or_else(|| (nth == last && came(&world).is_some()).then_some(None))
            });
            assert!(nth == last || status.is_some_and(|status| status.code().is_none()), "operation {nth}: {}", world.log());
            drop(daemon);
            // Its lock went with it, and the next one goes on by itself.
            world.time(SEVEN + 5);
            let _next = world.daemon(None);
            let outcome = until("an outcome", || came(&world));
            // Whatever was left to do is done: seconds pass, and nothing is started again.
            for second in 6..9 {
                world.time(SEVEN + second);
                looks(&world);
            }
            let (started, place) = (world.lines("started"), format!("{}: killed after operation {nth} of {first}..{last}", way.name));
            let fits = matches!((outcome.as_str(), started), ("success", 1) | ("interrupted", 0) | ("missing", 0..=1));
            assert!(fits, "{place}: {outcome}, started {started} times: {}", world.log());
            assert_eq!(world.record("a")["counts"]["interrupted"].as_u64().unwrap_or(0), u64::from(outcome == "interrupted"), "{place}");
            assert!(world.there(".loci/rules/night.md.inactive") && !world.there(".loci/rules/night.md"), "{place}: the set is on");
            seen.insert(outcome);
        }
        assert!(seen.contains("success") && seen.contains("interrupted"), "{}: {seen:?}", way.name);
    }
}

/// The wall clock is set, by an hour and by a year, forth and back, while the daemon runs: an interval goes on as if
/// nothing had been, and a fixed time is neither made up for a year nor waited for one.
#[test]
fn a_clock_that_is_set_neither_floods_nor_starves() {
    let world = World::new(0);
    world.sandbox.file("home/.loci/config.yaml", "custody: read\n");
    world.job("every", "when: {every: 60s}\nrun: \"echo x >> every; echo $$ > out/every\"\ndeliverables: [out/every]", "");
    world.job("fixed", "when: {cron: \"0 7 * * *\"}\nrun: \"echo x >> fixed; echo $$ > out/fixed\"\ndeliverables: [out/fixed]", "");
    world.loci(&["clock", "enroll", "."]).exits(0);
    let daemon = world.daemon(None);
    let ran = |name: &str| world.record(name)["counts"]["succeeded"].as_u64().unwrap_or(0);
    until("the first run", || (ran("every") == 1).then_some(()));
    let (hour, year) = (3600_i64, 365 * 86_400_i64);
    let (mut up, mut off) = (0_u64, 0_i64);
    let set = |up: u64, off: i64| {
        let wall = jiff::Timestamp::from_second(1_780_272_000 + i64::try_from(up).unwrap() + off).unwrap();
        let millis = (100_000 + up) * 1000;
        fs::write(world.sandbox.path("now.new"), format!("{wall} {millis} {millis}")).unwrap();
        fs::rename(world.sandbox.path("now.new"), world.sandbox.path("now")).unwrap();
    };
    let mut runs = 1;
    for step in [hour, -hour, -hour, hour, year, -year, -year, year] {
        off += step;
        up += 1;
        set(up, off);
        looks(&world);
        // The rest of the minute: the interval is due once, at its own time.
        up += 58;
        set(up, off);
        looks(&world);
        assert_eq!(ran("every"), runs, "not before its time, after a step of {step} s: {}", world.log());
        up += 1;
        set(up, off);
        runs += 1;
        until("the next run", || (ran("every") >= runs).then_some(()));
        looks(&world);
        assert_eq!(ran("every"), runs, "once, after a step of {step} s: {}", world.log());
    }
    assert_eq!(world.lines("fixed"), 0, "seven o'clock did not come: {}", world.log());
    // It does now, by the clock as it is.
    let seven = i64::try_from(SEVEN).unwrap() - i64::try_from(up).unwrap();
    set(up, seven - 1);
    looks(&world);
    set(up + 1, seven - 1);
    until("the fixed one", || (ran("fixed") == 1).then_some(()));
    assert!(world.log().contains("the wall clock was set by"), "{}", world.log());
    drop(daemon);
}

/// The folder is taken away and another one is in its place: nobody knocks any more, and the sweep finds what is there.
/// Files saved in place and by a rename are found alike.
#[test]
fn what_nobody_knocked_for_is_found_within_a_minute() {
    let world = World::new(0);
    world.job("a", "when: {every: 1h}\nrun: \"echo x >> a\"", "").loci(&["clock", "enroll", ".", "--live"]).exits(0);
    let _daemon = world.daemon(None);
    let told = |key: &str| world.loci(&["clock", "status", "--json"]).json()["last"][key].clone();
    until("the first run", || (world.lines("a") == 1).then_some(()));
    let folder = world.sandbox.path("root/.loci-clock");
    fs::rename(folder.join("jobs"), folder.join("old")).unwrap();
    until("that it is gone", || (told("jobs") == 0).then_some(()));
    // Outside of what is watched, then brought in as a whole.
    world.sandbox.file("root/.loci-clock/new/b.md", "---\nwhen: {every: 1h}\nrun: \"echo x >> b\"\n---\n");
    fs::rename(folder.join("new"), folder.join("jobs")).unwrap();
    until("its first run", || {
        // The minute of a sweep passes, should nobody have knocked.
        world.time(61);
        (world.lines("b") == 1).then_some(())
    });
    // In place, and by a rename, in a folder that nobody watches.
    world.sandbox.file("root/.loci-clock/jobs/c.md", "---\nwhen: {every: 1h}\nrun: \"echo x >> c\"\n---\n");
    world.sandbox.file("aside", "---\nwhen: {every: 1h}\nrun: \"echo y >> b\"\n---\n");
    fs::rename(world.sandbox.path("aside"), folder.join("jobs/b.md")).unwrap();
    world.time(125);
    until("the new one", || (world.lines("c") == 1).then_some(()));
    world.time(3700);
    until("the edited one", || world.sandbox.read("root/b").contains('y').then_some(()));
}

/// Ten thousand files, one of them broken: the others are there, and the one that is due runs.
#[test]
fn one_broken_file_among_ten_thousand() {
    let world = World::new(SEVEN - 1);
    for nth in 0..9_998 {
        let text = format!("---\nwhen: {{cron: \"{} {} 29 2 *\"}}\nrun: ./work-{nth}.sh\n---\n", nth % 60, nth / 60 % 24);
        fs::write(world.sandbox.path(format!("root/.loci-clock/jobs/j{nth}.md")), text).unwrap();
    }
    world.job("broken", "when: {cron: \"0 7 * *\"}\nrun: x", "").job("due", QUICK, "").loci(&["clock", "enroll", "."]).exits(0);
    let _daemon = world.daemon(None);
    until("the first look", || daemon_is_there(&world));
    let last = world.loci(&["clock", "status", "--json"]).exits(0).json()["last"].clone();
    assert_eq!((&last["jobs"], last["refused"].as_array().map(Vec::len)), (&10_000.into(), Some(1)), "{last}");
    assert!(world.log().contains("broken.md:2"), "{}", world.log());
    world.time(SEVEN);
    until("its success", || world.there("out/done").then_some(()));
    assert_eq!(world.lines("started"), 1);
}
