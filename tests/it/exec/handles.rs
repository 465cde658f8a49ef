//! Handles that a command inherits: what was opened outside leads past the mounts no more than a name does.

use std::os::unix::fs::OpenOptionsExt as _;
use std::process::Stdio;

use super::{World, as_each};
use crate::sandbox::Run;

/// A script of a shell outside, in which `{EXEC}` is `loci exec --as alice`.
fn outside(world: &World, script: &str) -> Run {
    let exec = format!("{} exec --as alice", env!("CARGO_BIN_EXE_loci"));
    Run::of(&mut world.shell(&script.replace("{EXEC}", &exec)), None)
}

#[test]
fn a_handle_for_reading_is_no_way_to_write() {
    as_each(|world| {
        let before = world.theirs();
        for script in [
            "{EXEC} -- bash -c 'cat; echo z > /dev/stdin' < bob/x.txt",
            "{EXEC} -- bash -c 'cat <&7; echo z > /proc/self/fd/7' 7< bob/x.txt",
            "{EXEC} -- bash -c 'cat <&7; echo z >> /dev/fd/7' 7< bob/x.txt",
            "{EXEC} -- bash -c 'cat; bash -c \"echo z > /proc/$$/fd/0\"' < bobalias/lnk",
            "mv bob/x.txt bob/y.txt; exec 7< bob/y.txt; mv bob/y.txt bob/x.txt; {EXEC} -- bash -c 'cat <&7; echo z > /proc/self/fd/7'",
        ] {
            let run = outside(world, script);
            assert!(before == world.theirs(), "{script}: {run:?}");
            assert_eq!(run.stdout, "bob1\n", "{script}: {run:?}");
            assert!(run.code != Some(0) && run.stderr.contains("Read-only file system"), "{script}: {run:?}");
        }
        // A handle that stands for a name only.
        let named = std::fs::OpenOptions::new().read(true).custom_flags(nix::libc::O_PATH).open(world.repo().join("bob/x.txt")).unwrap();
        let mut command = world.exec("cat /proc/self/fd/0; echo z > /proc/self/fd/0");
        let run = Run::of(command.stdin(Stdio::from(named)), None);
        assert!(before == world.theirs() && run.stdout == "bob1\n", "{run:?}");
    });
}

/// Whether the test can see: without the jail the same writes.
#[test]
fn without_a_jail_it_would_be_one() {
    let world = World::new(None);
    let before = world.theirs();
    outside(&world, "bash -c 'cat; echo z > /dev/stdin' < bob/x.txt");
    assert!(before != world.theirs());
}

#[test]
fn it_stands_where_it_stood_and_what_is_nobodys_stays_as_it_is() {
    as_each(|world| {
        for (script, out) in [
            ("exec < bob/x.txt; read -r -N 2; {EXEC} -- cat", "b1\n"),
            ("{EXEC} -- bash -c 'cat; echo z > /dev/stdin' < free/f.txt; cat free/f.txt", "f\nz\n"),
            ("{EXEC} -- bash -c 'cat; echo z > /dev/stdin' < bob/Cargo.lock; cat bob/Cargo.lock", "lock\nz\n"),
            ("{ {EXEC} -- bash -c 'read -r line; echo $line'; cat; } < free/two", "1\n2\n"),
            ("cat <<< text | {EXEC} -- cat; {EXEC} -- cat <<< here", "text\nhere\n"),
        ] {
            std::fs::write(world.repo().join("free/two"), "1\n2\n").unwrap();
            let run = outside(world, script);
            assert_eq!((run.code, run.stdout.as_str()), (Some(0), out), "{script}: {run:?}");
        }
        // A shell that is told to write there does so itself, before anything is held.
        outside(world, "{EXEC} -- echo mine > bob/OWNER").exits(0);
        assert_eq!(world.world().read("home/repo/bob/OWNER"), "mine\n");
    });
}

#[test]
fn what_can_not_be_opened_once_more_is_not_passed_on() {
    let world = World::new(None);
    // Its name is gone, and it has another one.
    let run = outside(&world, "ln bob/x.txt bob/second; exec < bob/x.txt; rm bob/x.txt; {EXEC} -- touch free/ran").exits(126);
    assert!(
        run.stderr.contains("failed to open once more, for a handle that the command inherits, ") && run.stderr.contains("NOT run"),
        "{run:?}"
    );
    assert!(!world.repo().join("free/ran").exists());
    let run = outside(&world, "exec 7< bob/second; ln bob/second bob/third; rm bob/second; {EXEC} -- test ! -e /proc/self/fd/7").exits(0);
    assert!(run.stderr.is_empty(), "{run:?}");
}

#[test]
fn in_a_layer_it_leads_into_the_layer() {
    let world = World::new(None);
    let before = world.theirs();
    let run = outside(&world, "{EXEC} --capture -- bash -c 'cat; echo z > /dev/stdin' < bob/x.txt").exits(0);
    assert!(before == world.theirs() && run.stdout == "bob1\n", "{run:?}");
    assert!(run.stderr.contains("captured, NOT applied: write bob/x.txt"), "{run:?}");
}
