//! What a jail shares with the world outside, and what root keeps and loses in it. The rest of what was ever
//! tried on such a jail; not tried: `sudo`, `ping` and the like, which differ by machine (they don't become
//! root inside), package managers, and watching files, which is reading.

use std::os::unix::process::CommandExt as _;

use super::{PLAIN, World, as_each, skipped, there};
use crate::sandbox::Run;

const LOCI: &str = env!("CARGO_BIN_EXE_loci");

/// Opens a file by its number on the disk, below a directory that can be written: past every mount.
const BY_NUMBER: &str = "
import ctypes, os, struct
l = ctypes.CDLL(None, use_errno=True)
handle = ctypes.create_string_buffer(struct.pack(\"Ii\", 128, 0) + bytes(128))
mount = ctypes.c_int()
if l.name_to_handle_at(-100, b\"bob/x.txt\", handle, ctypes.byref(mount), 0) == 0:
    fd = l.open_by_handle_at(os.open(\"free\", os.O_RDONLY), handle, os.O_WRONLY)
    if fd >= 0:
        os.write(fd, b\"by number\")
        raise SystemExit(0)
raise SystemExit(1)
";

/// What root may still do, and what could undo the mounts.
#[test]
fn root_keeps_what_does_no_harm() {
    if !nix::unistd::geteuid().is_root() {
        return skipped("only root has what it could lose");
    }
    let world = World::new(None);
    let before = world.theirs();
    let python = |text: &str| format!("python3 -c '{text}'");
    for (what, script) in [
        ("a port below 1024", python("import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 83)); print(\"ok\")")),
        ("a raw socket", python("import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print(\"ok\")")),
        (
            "a file for another user",
            "chown 1234:1234 free/f.txt && stat -c %u free/f.txt | grep -q 1234 && chown 0:0 free/f.txt && echo ok".to_owned(),
        ),
        ("another priority", "nice -n -5 true && echo ok".to_owned()),
        ("another user", format!("setpriv --reuid {PLAIN} --regid {PLAIN} --clear-groups id -u | grep -q {PLAIN} && echo ok")),
    ] {
        let program = script.split(' ').next().unwrap_or_default();
        if !there(program) && program != "chown" {
            skipped(&format!("{what}, since `{program}` is not there"));
            continue;
        }
        // What the machine's own root may not do, it may not do inside either.
        if Run::of(world.plain("bash", ["-c", &script]).current_dir(world.repo()), None).stdout == "ok\n" {
            assert_eq!(world.run(&script).stdout, "ok\n", "{what}");
        }
    }
    for (what, script) in [
        ("a device of the disk", "mknod free/nn b 8 1"),
        ("a mount", "mkdir -p free/mm; mount -t tmpfs t free/mm"),
        ("a mount made writable", "mount -o remount,bind,rw {REPO}/bob"),
        ("a mount taken away", "umount {REPO}/bob"),
        ("another root", "chroot /proc/1/root true"),
        ("the mounts outside", "nsenter -t 1 -m true"),
        ("the memory of a process outside", "head -c 1 /proc/1/mem"),
        ("a handle by number", "python3 -c '{BY_NUMBER}'"),
    ] {
        let done = world.run(&script.replace("{BY_NUMBER}", BY_NUMBER));
        assert!(done.code.is_some_and(|code| code != 0) && before == world.theirs(), "{what}: {done:?}");
    }
}

/// The owner goes on working while a command runs in the jail: it sees that at once.
#[test]
fn what_the_owner_does_meanwhile_is_seen() {
    as_each(|world| {
        for name in ["free/ready", "free/go"] {
            nix::unistd::mkfifo(&world.repo().join(name), nix::sys::stat::Mode::S_IRWXU | nix::sys::stat::Mode::S_IRWXO).unwrap();
        }
        world.own();
        let script = format!(
            "{LOCI} exec --as alice -- bash -c 'cat bob/x.txt; echo > free/ready; cat free/go; cat bob/x.txt bob/added' & \
             cat free/ready > /dev/null; echo changed > bob/x.txt; echo a > bob/added; : > free/go; wait"
        );
        let run = Run::of(&mut world.shell(&script), None);
        assert_eq!(run.stdout, "bob1\nchanged\na\n", "{run:?}");
        // A lock of the owner's is one for the command, too.
        if there("flock") {
            let script = format!("exec 9< bob/OWNER; flock 9; {LOCI} exec --as alice -- flock -n bob/OWNER echo taken; echo $?");
            assert_eq!(Run::of(&mut world.shell(&script), None).stdout, "1\n");
        }
    });
}

/// A group that the user is in besides its own counts inside as well.
#[test]
fn other_groups_of_the_user_count() {
    if !nix::unistd::geteuid().is_root() || !there("setpriv") {
        return skipped("only root can give somebody another group");
    }
    let world = World::new(Some(PLAIN));
    let group = PLAIN + 5;
    let dir = world.repo().join("group");
    std::fs::create_dir(&dir).unwrap();
    assert!(std::process::Command::new("chown").arg(format!("0:{group}")).arg(&dir).status().unwrap().success());
    assert!(std::process::Command::new("chmod").arg("775").arg(&dir).status().unwrap().success());
    let groups = format!("{PLAIN},{group}");
    let mut command = world.plain(
        "setpriv",
        [
            "--reuid",
            &PLAIN.to_string(),
            "--regid",
            &PLAIN.to_string(),
            "--groups",
            &groups,
            LOCI,
            "exec",
            "--as",
            "alice",
            "--",
            "bash",
            "-c",
            "echo z > group/f && echo ok; echo z > bob/x.txt",
        ],
    );
    command.uid(0).gid(0).env("XDG_STATE_HOME", world.path("state")).env("LOCI_ANCESTORS", "sh");
    let run = Run::of(&mut command, None);
    assert!(run.stdout == "ok\n" && world.world().read("home/repo/bob/x.txt") == "bob1\n", "{run:?}");
}

/// A repository of another user is as foreign to git inside as outside.
#[test]
fn a_repository_of_another_user_is_as_outside() {
    if !nix::unistd::geteuid().is_root() {
        return skipped("only root can make one");
    }
    let world = World::new(Some(PLAIN));
    let other = world.path("home/other");
    assert!(std::process::Command::new("git").args(["init", "-q"]).arg(&other).env("GIT_CONFIG_NOSYSTEM", "1").status().unwrap().success());
    for script in ["git -C {HOME}/other status -s", "git -c safe.directory={HOME}/other -C {HOME}/other status -s && echo ok"] {
        let (inside, outside) = (world.run(script), Run::of(&mut world.shell(script), None));
        assert_eq!((inside.code, &inside.stdout), (outside.code, &outside.stdout), "{script}: {inside:?} {outside:?}");
    }
}

/// A sandbox of Landlock that somebody was started in lets nobody mount anything: nothing is run.
#[test]
fn below_landlock_nothing_is_run() {
    let world = World::new(None);
    let mut command = world.exec("echo x > free/ran; echo ran");
    let restrict = || {
        /// What may be done below a directory.
        #[repr(C, packed)]
        struct Beneath {
            access: u64,
            dir: i32,
        }
        // Handles writes to files (1 << 1), and allows them everywhere: only mounts are forbidden then.
        let rules = [1_u64 << 1];
        #[expect(unsafe_code, reason = "only the child itself can put itself into such a sandbox")]
        // SAFETY: the numbers live for the calls, and their size is said.
        let done = unsafe {
            let set = nix::libc::syscall(444, rules.as_ptr(), size_of_val(&rules), 0);
            let root = nix::libc::open(c"/".as_ptr(), nix::libc::O_PATH | nix::libc::O_CLOEXEC);
            let beneath = Beneath { access: 1 << 1, dir: root };
            nix::libc::syscall(445, set, 1, &raw const beneath, 0);
            nix::libc::prctl(nix::libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            if set < 0 { -1 } else { nix::libc::syscall(446, set, 0) }
        };
        if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    #[expect(unsafe_code, reason = "only the child itself can put itself into such a sandbox")]
    // SAFETY: between fork and exec nothing is done but these calls.
    unsafe {
        command.pre_exec(restrict);
    }
    match command.output() {
        Err(error) => skipped(&format!("this kernel has no Landlock: {error}")),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.code() == Some(126) && said.contains("Landlock") && said.contains("the command was NOT run"), "{said}");
            assert!(output.stdout.is_empty() && !world.repo().join("free/ran").exists());
        }
    }
}
