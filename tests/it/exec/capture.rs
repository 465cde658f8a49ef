//! `loci exec --capture`: what would have changed others' files becomes a patch for the owner, and the
//! files stay as they are.

use std::path::{Path, PathBuf};

use super::{World, as_each, skipped, there};
use crate::sandbox::Run;
use crate::waiting::until;

/// Changes that all go into one patch, and a check of what the command itself sees.
const CHANGES: &[(&str, &str)] = &[
    ("text", "echo z >> bob/x.txt; grep -q z bob/x.txt"),
    ("no line end", "printf 'no end' > bob/x.txt"),
    ("new", "echo new > bob/new.txt; mkdir -p bob/sub/deep; echo d > bob/sub/deep/f"),
    ("new, executable", "printf '#!/bin/sh\\n' > bob/new.sh; chmod +x bob/new.sh"),
    ("new and empty", ": > bob/empty"),
    ("removed", "rm bob/OWNER"),
    ("binary", "head -c 100000 /dev/zero | tr '\\0' '\\1' > bob/bin.dat; printf 'a\\0b' >> bob/bin.dat"),
    ("new binary", "printf '\\377\\376\\0x' > bob/bin2"),
    ("removed binary", "rm bob/bin.dat"),
    ("not UTF-8", "printf 'caf\\351\\n' > bob/latin1"),
    ("mode", "chmod -x bob/run.sh"),
    ("mode and text", "chmod +x bob/x.txt; echo q >> bob/x.txt"),
    ("a link leads elsewhere", "ln -sfn OWNER bob/lnk"),
    ("a new link", "ln -s /etc/passwd bob/abslink"),
    ("a removed link", "rm bob/lnk"),
    ("a link for a file", "rm bob/OWNER; ln -s x.txt bob/OWNER"),
    ("a file for a link", "rm bob/lnk; echo file > bob/lnk"),
    ("a directory for a file", "rm bob/OWNER; mkdir bob/OWNER; echo q > bob/OWNER/q"),
    ("a file for a directory", "rm -r bob/data; echo file > bob/data"),
    ("a directory removed and made anew", "rm -r bob/dir1; mkdir bob/dir1; echo 9 > bob/dir1/nine"),
    ("renamed", "mv bob/run.sh bob/run2.sh; mv bob/dir1 bob/dir9"),
    ("odd names", "echo 1 > 'bob/a b'; echo 2 > 'bob/\"q\"'; echo 3 > $'bob/t\\tt'; echo 4 > bob/ü"),
    ("in place", "sed -i 's/^/X/' bob/x.txt"),
];

fn capture(world: &World, script: &str) -> Run {
    Run::of(&mut world.loci(["exec", "--as", "alice", "--capture", "--", "bash", "-c", &world.filled(script)]), None)
}

/// The newest message in bob's inbox: its id, and the patch beside it.
fn message(run: &Run, world: &World) -> (String, PathBuf) {
    let line = run.stderr.lines().find(|line| line.contains("handed over to bob")).unwrap_or_else(|| panic!("{run:?}"));
    let id = line.rsplit(' ').next().unwrap().to_owned();
    let key = id.rsplit_once('-').unwrap().1;
    (id.clone(), world.repo().join(format!("bob/.loci/memory/inbox/held/{key}.patch")))
}

/// A copy of the tree to apply the patch to, and what the command would have left there without a jail.
fn copy(world: &World, to: &str) {
    let from = world.repo();
    assert!(world.plain("cp", ["-a", from.to_str().unwrap(), world.path(to).to_str().unwrap()]).status().unwrap().success());
}

fn files(world: &World, dir: &str) -> Vec<(PathBuf, String)> {
    let all = world.world().snapshot(Path::new(dir).join("bob"));
    all.into_iter().filter(|(path, what)| !path.starts_with(".loci") && !what.starts_with("dir ")).collect()
}

fn dirs(world: &World, dir: &str) -> Vec<PathBuf> {
    let all = world.world().snapshot(Path::new(dir).join("bob"));
    all.into_iter().filter(|(path, what)| !path.starts_with(".loci") && what.starts_with("dir ")).map(|(path, _)| path).collect()
}

#[test]
fn each_change_becomes_a_patch_that_applies_and_nothing_changes() {
    for (what, script) in CHANGES {
        let world = World::new(None);
        let before = world.theirs();
        let run = capture(&world, script).exits(0);
        assert!(before == world.theirs(), "{what}: {run:?}");
        assert!(run.stderr.contains("loci: captured, NOT applied: "), "{what}: {run:?}");
        let (id, patch) = message(&run, &world);
        // As it would have been without a jail.
        copy(&world, "home/free");
        assert!(world.plain("bash", ["-c", script]).current_dir(world.path("home/free")).status().unwrap().success(), "{what}");
        // With git, in a copy.
        copy(&world, "home/git");
        for words in [&["apply", "--check"][..], &["apply"]] {
            let mut git = world.plain("git", words.iter().copied().chain([patch.to_str().unwrap()]));
            let done = git.current_dir(world.path("home/git")).output().unwrap();
            assert!(
                done.status.success(),
                "{what}: {}\n{}",
                String::from_utf8_lossy(&done.stderr),
                std::fs::read_to_string(&patch).unwrap()
            );
        }
        assert_eq!(files(&world, "home/git"), files(&world, "home/free"), "{what}");
        // By the owner, with loci.
        let mut apply = world.loci(["inbox", "apply", &id, "--as", "bob"]);
        let done = Run::of(&mut apply, None);
        assert_eq!(done.code, Some(0), "{what}: {done:?}");
        assert_eq!(files(&world, "home/repo"), files(&world, "home/free"), "{what}");
        // As git does it: of a directory nothing is left when its last file has gone.
        assert_eq!(dirs(&world, "home/repo"), dirs(&world, "home/git"), "{what}");
    }
}

#[test]
fn one_run_is_one_message_for_each_owner_and_mine_is_really_written() {
    as_each(|world| {
        let before = world.theirs();
        let script = "echo z >> bob/x.txt; rm bob/OWNER; echo z > carol/c.txt; echo mine > bob/alice_inner/a.txt; echo lock2 > bob/Cargo.lock; echo w > free/w; cat bob/x.txt; ls bob; stat -c %U bob/x.txt > /dev/null";
        let run = capture(world, script).exits(0);
        assert!(run.stdout.starts_with("bob1\nz\n") && !run.stdout.contains("OWNER"), "{run:?}");
        assert!(before == world.theirs(), "{run:?}");
        assert_eq!(world.world().read("home/repo/bob/alice_inner/a.txt"), "mine\n");
        assert_eq!(world.world().read("home/repo/bob/Cargo.lock"), "lock2\n");
        assert_eq!(world.world().read("home/repo/free/w"), "w\n");
        let (_, patch) = message(&run, world);
        let patch = std::fs::read_to_string(patch).unwrap();
        assert!(
            patch.contains("bob/x.txt") && patch.contains("bob/OWNER") && !patch.contains("carol") && !patch.contains("Cargo.lock"),
            "{patch}"
        );
        assert!(run.stderr.contains("handed over to carol"), "{run:?}");
        // Nothing is left behind, and the same attempt is not filed twice.
        assert!(std::fs::read_dir(world.path("state/loci/captures")).unwrap().next().is_none());
        assert!(capture(world, script).exits(0).stderr.contains("handed over to bob before"));
    });
}

#[test]
fn what_writes_nothing_hands_nothing_over() {
    as_each(|world| {
        let run = capture(
            world,
            "grep -r . bob > /dev/null; touch bob/x.txt; cp bob/x.txt free/c; cat free/c > bob/x.txt; mkdir bob/one; rmdir bob/one",
        )
        .exits(0);
        assert!(!run.stderr.contains("handed over") && !run.stderr.contains("captured, NOT"), "{run:?}");
        // What is no change of a file is said, and kept.
        let run = capture(world, "mkfifo bob/ff; mkdir bob/emptydir").exits(0);
        assert!(
            run.stderr.contains("bob/ff: a pipe, a socket or a device") && run.stderr.contains("bob/emptydir: an empty directory"),
            "{run:?}"
        );
        // So is a mode that a patch has no words for, also where nothing else was changed; and a file that is too large by its name.
        let run =
            capture(world, "chmod 600 bob/x.txt; chmod 4755 bob/run.sh; chmod +x bob/OWNER; echo n > bob/n; truncate -s 17M bob/large")
                .exits(0);
        for line in ["bob/x.txt: its mode 600: ", "bob/run.sh: its mode 4755: ", "bob/large: larger than 16 MiB"] {
            assert!(run.stderr.contains(&format!("not captured: {}/{line}", world.repo().display())), "{line}: {run:?}");
        }
        assert!(!run.stderr.contains("OWNER: its mode") && !run.stderr.contains("bob/n: its mode"), "{run:?}");
    });
}

/// There is no layer inside of a jail, and loci's own business there is nobody's request.
#[test]
fn inside_of_a_jail_nothing_is_captured_and_nothing_run() {
    as_each(|world| {
        let script = format!("{} exec --capture -- touch free/ran", env!("CARGO_BIN_EXE_loci"));
        let run = world.run(&script).exits(126);
        assert!(
            run.stderr.contains("the command was NOT run")
                && run.stderr.contains("caused by: Read-only")
                && run.stderr.contains("hint: inside of a jail"),
            "{run:?}"
        );
        assert!(!run.stderr.contains("refused: ") && !run.stderr.contains("handed over to"), "{run:?}");
        assert!(!world.repo().join("free/ran").exists());
    });
}

/// The wall is no owner's: it stays shut while the rest is captured.
#[test]
fn the_wall_is_not_captured() {
    as_each(|world| {
        let before = world.theirs();
        for script in [
            "echo x > bob/.loci/owner.md",
            "rm bob/.loci/agent.md",
            "echo x > .loci-clock/jobs/a.md",
            "mv bob bob2",
            "echo x > bob/.loci/memory/inbox/new/x.md",
        ] {
            let run = capture(world, script);
            assert!(run.code != Some(0) && before == world.theirs(), "{script}: {run:?}");
        }
    });
}

/// What the owner does meanwhile is its own: the patch is against the files as they are at the end.
#[test]
fn a_mount_in_an_owned_directory_stays_visible() {
    if !nix::unistd::geteuid().is_root() || !there("unshare") {
        return skipped("only root can mount something there");
    }
    let world = World::new(None);
    std::fs::create_dir_all(world.repo().join("bob/mnt")).unwrap();
    let script = format!(
        "mount -t tmpfs t bob/mnt && echo sub > bob/mnt/f && {} exec --as alice --capture -- bash -c 'cat bob/mnt/f; echo z > bob/mnt/f; echo z > bob/x.txt'; cat bob/mnt/f bob/x.txt",
        env!("CARGO_BIN_EXE_loci")
    );
    let mut command = world.plain("unshare", ["-m", "bash", "-c", &script]);
    command.env("XDG_STATE_HOME", world.path("state")).env("LOCI_ANCESTORS", "sh");
    let run = Run::of(&mut command, None);
    assert_eq!(run.stdout, "sub\nsub\nbob1\n", "{run:?}");
    assert!(run.stderr.contains("captured, NOT applied: write bob/x.txt"), "{run:?}");
}

/// A layer is another file system, and git stops at those when it looks for its repository.
#[test]
fn git_finds_its_repository_from_inside_of_a_layer() {
    let world = World::new(None);
    let run =
        capture(&world, "git init -q . 2>/dev/null; cd bob && git rev-parse --show-toplevel && git status --short . | head -1").exits(0);
    assert!(run.stdout.starts_with(&format!("{}\n", world.repo().display())), "{run:?}");
}

/// What a program in the background writes after the command has ended stays where the user was told to look.
#[test]
fn what_comes_late_is_not_thrown_away() {
    let world = World::new(None);
    let late = "(while [ -d free ] && [ ! -e free/go ]; do sleep 0.02; done; echo late > bob/late.txt; echo > free/done) >/dev/null 2>&1 </dev/null &";
    let run = capture(&world, &format!("{late} echo now > bob/now.txt")).exits(0);
    let kept = run.stderr.lines().find_map(|line| line.split_once("what was not handed over lies in ")).unwrap().1.to_owned();
    std::fs::write(world.repo().join("free/go"), "").unwrap();
    until("what comes late", || world.repo().join("free/done").exists().then_some(()));
    capture(&world, "true").exits(0);
    let left: Vec<_> = walkdir::WalkDir::new(&kept).into_iter().flatten().filter(|entry| entry.file_name() == "late.txt").collect();
    assert_eq!(left.len(), 1, "{run:?}");
    assert!(!world.repo().join("bob/late.txt").exists());
}
