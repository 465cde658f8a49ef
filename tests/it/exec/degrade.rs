//! Where there is no jail: nothing is run, and the cause is named. Jails inside of jails.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use loci::sys::jail::{Access, Jailed, Mount, Stage};

use super::{PATH, World, as_each, held, skipped, there};
use crate::sandbox::Run;

/// Lets calls of these numbers fail with an errno for a command and what it starts, as a container's
/// filter does.
pub(super) fn without(command: &mut Command, calls: &'static [i64], errno: i32) {
    use nix::libc;
    let filter = move || {
        let plain = |code: u16, k: u32| libc::sock_filter { code, jt: 0, jf: 0, k };
        let mut code = vec![plain(0x20, 0)];
        for call in calls {
            code.push(libc::sock_filter { code: 0x15, jt: 0, jf: 1, k: u32::try_from(*call).unwrap_or(u32::MAX) });
            code.push(plain(0x06, 0x0005_0000 | errno.cast_unsigned()));
        }
        code.push(plain(0x06, 0x7fff_0000));
        let program = libc::sock_fprog { len: u16::try_from(code.len()).unwrap_or(0), filter: code.as_mut_ptr() };
        #[expect(unsafe_code, reason = "only the child itself can put a filter on itself")]
        // SAFETY: the program lives for the call.
        let done = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            libc::prctl(libc::PR_SET_SECCOMP, 2, &raw const program)
        };
        if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    #[expect(unsafe_code, reason = "only the child itself can put a filter on itself")]
    // SAFETY: between fork and exec nothing is done but these two calls and a small allocation, and the
    // tests start one command at a time.
    unsafe {
        command.pre_exec(filter);
    }
}

/// Asserts that nothing was run and why.
fn not_run(world: &World, run: Run, words: &[&str]) {
    let run = run.exits(126);
    for word in words {
        assert!(run.stderr.contains(word), "{word}\n{}", run.stderr);
    }
    assert!(run.stderr.contains("the command was NOT run") && run.stdout.is_empty(), "{run:?}");
    assert!(!world.repo().join("free/ran").exists());
}

const RAN: &str = "echo x > free/ran; echo ran";

#[test]
fn a_containers_filter() {
    as_each(|world| {
        let mut command = world.exec(RAN);
        without(&mut command, &[nix::libc::SYS_unshare, nix::libc::SYS_clone3, nix::libc::SYS_mount], nix::libc::EPERM);
        not_run(world, Run::of(&mut command, None), &["failed to make a user and a mount namespace: EPERM", "seccomp filter"]);
    });
}

#[test]
fn mounts_that_are_forbidden() {
    as_each(|world| {
        let mut command = world.exec(RAN);
        without(&mut command, &[nix::libc::SYS_mount], nix::libc::EPERM);
        not_run(world, Run::of(&mut command, None), &["failed to cut the mounts off from those outside: EPERM", "Landlock"]);
    });
}

#[test]
fn no_user_namespaces_by_a_sysctl() {
    if !there("unshare") || !there("setpriv") {
        return skipped("`unshare` or `setpriv` is not there");
    }
    let world = World::new(None);
    let script = format!(
        "echo 0 > /proc/sys/user/max_user_namespaces || exit 77; exec setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin {} exec --as alice -- bash -c '{RAN}'",
        env!("CARGO_BIN_EXE_loci")
    );
    let mut command = world.plain("unshare", ["-Ur", "bash", "-c", &script]);
    command.env("XDG_STATE_HOME", world.path("state")).env("LOCI_ANCESTORS", "sh");
    let run = Run::of(&mut command, None);
    if run.code == Some(77) || run.stderr.contains("unshare failed") {
        return skipped("the sysctl can't be set here");
    }
    not_run(&world, run, &["failed to make a user and a mount namespace: ENOSPC", "user.max_user_namespaces is 0"]);
}

/// Kernels before 5.12, and filters that don't know the new calls.
#[test]
fn the_old_way_to_mount_holds_the_same() {
    as_each(|world| {
        for (calls, errno) in [
            (&[nix::libc::SYS_open_tree, nix::libc::SYS_move_mount, nix::libc::SYS_mount_setattr][..], nix::libc::ENOSYS),
            (&[nix::libc::SYS_mount_setattr][..], nix::libc::EPERM),
        ] {
            let run = |world: &World, script: &str| {
                let mut command = world.exec(script);
                without(&mut command, calls, errno);
                Run::of(&mut command, None)
            };
            held::refused(world, run);
        }
    });
}

/// Without somebody to hear, the mounts hold and the report says that it says less.
#[test]
fn without_the_observer_the_mounts_hold() {
    as_each(|world| {
        let before = world.theirs();
        let mut command = world.exec("echo z > bob/x.txt");
        without(&mut command, &[nix::libc::SYS_seccomp], nix::libc::ENOSYS);
        let run = Run::of(&mut command, None).exits(1);
        assert!(run.stderr.contains("refused writes were refused, and can't be listed (ENOSYS)"), "{}", run.stderr);
        assert!(before == world.theirs());
    });
}

/// A directory that has vanished since the tree was looked at ends it before anything is run.
#[test]
fn a_directory_that_vanished_stops_it() {
    let world = World::new(None);
    let dir = world.repo();
    let mounts: Vec<Mount> = ["bob", "gone", "carol"].iter().map(|name| Mount { path: dir.join(name), access: Access::ReadOnly }).collect();
    let args = ["free/ran".into()];
    let jailed = Jailed { mounts: &mounts, cwd: &dir, program: "touch".as_ref(), args: &args, vars: &[], keep_cwd: false, idle: false };
    let trouble = loci::sys::jail::run(&jailed, None).unwrap_err();
    assert_eq!(
        (trouble.stage, trouble.path.as_deref(), trouble.errno),
        (Stage::Clone, Some(dir.join("gone").as_path()), nix::libc::ENOENT)
    );
    assert!(!dir.join("free/ran").exists() && !dir.join("gone").exists());
    // Whether the test can see: without it the command runs.
    let mounts: Vec<Mount> = mounts.iter().filter(|mount| mount.path.exists()).cloned().collect();
    let outcome = loci::sys::jail::run(&Jailed { mounts: &mounts, ..jailed }, None).unwrap();
    assert_eq!(outcome.ending, loci::sys::jail::Ending::Code(0));
    assert!(dir.join("free/ran").exists());
}

/// One jail in another: what the outer one holds stays held whoever asks inside.
#[test]
fn a_jail_in_a_jail() {
    as_each(|world| {
        let before = world.theirs();
        let loci = env!("CARGO_BIN_EXE_loci");
        for agent in ["alice", "bob"] {
            let run = world.run(&format!("{loci} exec -- bash -c 'echo z > bob/x.txt; echo ok > free/n && cat free/n'"));
            assert!(run.stdout == "ok\n" && before == world.theirs(), "{agent} {run:?}");
        }
    });
}

#[test]
fn with_bubblewrap_around_it_and_in_it() {
    if !there("bwrap") {
        return skipped("`bwrap` is not there");
    }
    as_each(|world| {
        let before = world.theirs();
        let loci = format!("{} exec --as alice --", env!("CARGO_BIN_EXE_loci"));
        let inner = "bash -c 'echo z > bob/x.txt; echo ok > free/n && cat free/n'";
        let repo = world.repo();
        let (repo, state) = (repo.display(), world.path("state"));
        std::fs::create_dir_all(&state).unwrap();
        world.own();
        for (what, script) in [
            ("around, all of it bound", format!("bwrap --dev-bind / / {loci} {inner}")),
            (
                "around, with namespaces of its own",
                format!(
                    "bwrap --unshare-user --unshare-pid --unshare-net --ro-bind / / --bind {repo} {repo} --dev /dev --proc /proc {loci} {inner}"
                ),
            ),
            ("inside", format!("{loci} bwrap --unshare-user --ro-bind / / --bind {repo} {repo} {inner}")),
        ] {
            let run = Run::of(&mut world.shell(&script), None);
            assert!(run.stdout.contains("ok\n") && before == world.theirs(), "{what}: {run:?}");
        }
        // One that forbids further namespaces is told from the others.
        let script = format!("bwrap --unshare-user --disable-userns --dev-bind / / {loci} bash -c '{RAN}'");
        let run = Run::of(&mut world.shell(&script), None);
        if run.code == Some(0) {
            // Root inside needs no further user namespace.
            assert!(world.repo().join("free/ran").exists() && before == world.theirs());
        } else if !run.stderr.contains("bwrap:") {
            not_run(world, run, &["failed to make a user and a mount namespace: ENOSPC"]);
        }
    });
}

/// Places that are mounted below an owned directory are held with it, as they are.
#[test]
fn a_mount_in_an_owned_directory_is_held_with_it() {
    if !nix::unistd::geteuid().is_root() || !there("unshare") {
        return skipped("only root can mount something there");
    }
    let world = World::new(None);
    std::fs::create_dir_all(world.repo().join("bob/mnt")).unwrap();
    let script = format!(
        "mount -t tmpfs t bob/mnt && echo sub > bob/mnt/f && {} exec --as alice -- bash -c 'cat bob/mnt/f; echo z > bob/mnt/f'; cat bob/mnt/f",
        env!("CARGO_BIN_EXE_loci")
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "bash", "-c", &script]).env_clear().env("PATH", PATH).env("HOME", world.path("home"));
    command.env("XDG_STATE_HOME", world.path("state")).env("LOCI_ANCESTORS", "sh").current_dir(Path::new(&world.repo()));
    let run = Run::of(&mut command, None);
    assert_eq!(run.stdout, "sub\nsub\n", "{run:?}");
}
