//! What the clock knows again after its state is gone, and what it takes away that it does not know.

use std::fs;

use super::World;

/// Both files of the state are emptied: what ran is not run again, and what was judged is not told once more.
#[test]
fn a_state_that_is_emptied_runs_nothing_twice() {
    let world = World::new(0);
    world
        .job("a", "when: {every: 1h}\nrun: \"echo x >> a; echo ok > out/a\"\ndeliverables: [out/a]", "")
        .job("b", "when: {every: 1h}\nrun: \"echo x >> b\"\ndeliverables: [out/b]", "")
        .job("c", "when: {every: 10m}\nrun: \"echo x >> c\"\nmax_per_day: 1", "");
    world.loci(&["clock", "enroll", ".", "--live"]).exits(0);
    let settle = |from: u64| {
        for second in from..from + 40 {
            world.time(second);
            world.once().exits(0);
            let over = |name: &str| world.record(name)["outcome"].is_string();
            if ["a", "b", "c"].into_iter().all(over) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    settle(0);
    let ledger = || fs::read_to_string(world.sandbox.path("root/.loci-clock/ledger.jsonl")).unwrap_or_default();
    let told = ledger();
    assert_eq!((told.lines().count(), ["a", "b", "c"].map(|name| world.lines(name))), (1, [1, 1, 1]), "{told}");
    for emptied in [true, false] {
        for file in ["state.json", "state.log"] {
            let path = world.store().join(file);
            if emptied {
                fs::write(path, "").unwrap();
            } else {
                let _ = fs::remove_file(path);
            }
        }
        settle(60);
        assert_eq!(["a", "b", "c"].map(|name| world.lines(name)), [1, 1, 1], "within the hour, {emptied}");
        assert_eq!(ledger(), told, "it was told, {emptied}");
        assert_eq!(world.record("b")["outcome"], "missing");
    }
    world.time(900);
    world.once().exits(0);
    assert_eq!(world.lines("c"), 1, "its budget of the day is used up");
    world.time(3600);
    for _ in 0..2 {
        world.once().exits(0);
    }
    crate::waiting::until("the hour after", || (world.lines("a") == 2 && world.lines("b") == 2).then_some(()));
}

/// Folders of runs that were never started are taken away; those of runs stay.
#[test]
fn folders_of_runs_that_no_record_knows_are_swept() {
    let world = World::new(0);
    world.job("a", "when: {every: 1h}\nrun: \"echo x >> a\"", "").loci(&["clock", "enroll", ".", "--live"]).exits(0);
    world.once().exits(0);
    let runs = || -> Vec<_> { fs::read_dir(world.store().join("runs")).unwrap().map(|entry| entry.unwrap().file_name()).collect() };
    let kept = runs();
    assert_eq!(kept.len(), 1);
    for stray in ["a-1796076068000-0-0d8e6d", "gone-1-0-000000"] {
        fs::create_dir_all(world.store().join("runs").join(stray)).unwrap();
    }
    world.time(2);
    world.once().exits(0);
    assert_eq!(runs(), kept);
}

/// A job that is gone for long is forgotten whole: no claim of it is taken for one that was interrupted.
#[test]
fn a_job_that_is_gone_for_long_leaves_nothing() {
    let world = World::new(0);
    world.job("a", "when: {every: 1h}\nrun: \"echo x >> a\"", "").loci(&["clock", "enroll", ".", "--live"]).exits(0);
    world.once().exits(0);
    crate::waiting::until("its run", || (world.lines("a") == 1).then_some(()));
    world.until_passing("its end", 1, || {
        world.once();
        world.record("a")["outcome"].is_string().then_some(())
    });
    fs::remove_file(world.sandbox.path("root/.loci-clock/jobs/a.md")).unwrap();
    for day in [1, 9, 10] {
        world.time(day * 86_400);
        world.once().exits(0);
    }
    for folder in ["claims", "runs"] {
        assert_eq!(fs::read_dir(world.store().join(folder)).unwrap().count(), 0, "{folder}");
    }
    assert!(!world.sandbox.path("root/.loci-clock/ledger.jsonl").exists());
}
