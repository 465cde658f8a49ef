//! `loci exec --keep-cwd`: a shell goes on where the command has ended.

use super::{World, as_each};
use crate::sandbox::Run;

const LOCI: &str = env!("CARGO_BIN_EXE_loci");

/// Where the command ended, as it is handed back, and the whole run.
fn ended(world: &World, script: &str) -> (String, Run) {
    let line = format!("dir=$({LOCI} exec --as alice --keep-cwd 3 -- bash -c \"$SCRIPT\" 3>&1 >&2); code=$?; echo \"$dir\"; exit $code");
    let run = Run::of(world.shell(&line).env("SCRIPT", world.filled(script)), None);
    (run.stdout.trim_end().to_owned(), run)
}

#[test]
fn the_directory_that_a_command_ends_in_is_handed_back() {
    as_each(|world| {
        std::fs::create_dir(world.repo().join("free/line\n")).unwrap();
        world.own();
        for (script, dir) in [
            ("cd deep/a", "deep/a/."),
            ("cd bob && cat x.txt", "bob/."),
            ("cd deep && exec env -C a true", "deep/a/."),
            ("(cd deep)", "."),
            ("cd deep; exit 3", "deep/."),
            ("cd bobalias", "bob/."),
            ("cd deep | cat", "."),
            ("cd $'free/line\\n'", "free/line\n/."),
        ] {
            let (ended, run) = ended(world, script);
            assert_eq!(ended, world.repo().join(dir).display().to_string(), "{script}: {run:?}");
            assert_eq!(run.code, Some(if script.contains("exit 3") { 3 } else { 0 }), "{script}: {run:?}");
        }
        // One that a signal has ended says nothing, and goes on nowhere.
        let (ended, run) = ended(world, "cd deep; kill -9 $$");
        assert!(ended.is_empty() && run.stderr.contains("could not be heard"), "{run:?}");
    });
}

/// What goes on in the background does not keep the shell waiting that reads the directory.
#[test]
fn who_stays_behind_holds_nobody_up() {
    as_each(|world| {
        let go = world.repo().join("free/go");
        nix::unistd::mkfifo(&go, nix::sys::stat::Mode::S_IRWXU | nix::sys::stat::Mode::S_IRWXO).unwrap();
        world.own();
        let (ended, run) = ended(world, "cd deep; (cat ../free/go; echo late > ../free/late) >/dev/null 2>&1 </dev/null & ");
        assert!(ended.ends_with("/deep/.") && run.stderr.contains("still running"), "{run:?}");
        assert!(!world.repo().join("free/late").exists());
        std::fs::write(&go, "x").unwrap();
    });
}

#[test]
fn a_handle_that_is_not_open_is_refused_before_anything_runs() {
    let world = World::new(None);
    for number in ["-1", "77"] {
        let run = Run::of(&mut world.loci(["exec", &format!("--keep-cwd={number}"), "--", "touch", "free/ran"]), None).exits(2);
        assert!(run.stderr.contains("no open handle"), "{run:?}");
    }
    assert!(!world.repo().join("free/ran").exists());
}
