//! Programs that deal with the whole machine: package managers, those that become another user, watchers of files, and
//! a server outside that does as it is told.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use super::{as_each, skipped, there};
use crate::sandbox::Run;

/// Sees what the owner does outside, while it is held.
const WATCH: &str = r#"
import ctypes, os, select, struct
c = ctypes.CDLL(None, use_errno=True)
fd = c.inotify_init1(0)
assert c.inotify_add_watch(fd, b"bob", 0x2 | 0x100) >= 0, ctypes.get_errno()
print("ready", flush=True)
names = set()
while names != {"x.txt", "made"}:
    assert select.select([fd], [], [], 30)[0], names
    data = os.read(fd, 4096)
    while data:
        length = struct.unpack("iIII", data[:16])[3]
        names.add(data[16:16 + length].rstrip(b"\0").decode())
        data = data[16 + length:]
print("seen", flush=True)
"#;

#[test]
fn a_watcher_sees_what_the_owner_does() {
    if !there("python3") {
        return skipped("`python3` is not there");
    }
    as_each(|world| {
        world.world().file("home/repo/free/watch.py", WATCH);
        world.own();
        let mut child = world.exec("exec python3 free/watch.py").stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        assert!(world.plain("bash", ["-c", "echo more >> bob/x.txt; echo made > bob/made"]).status().unwrap().success());
        let mut rest = String::new();
        lines.read_to_string(&mut rest).unwrap();
        assert_eq!((rest.as_str(), child.wait().unwrap().code()), ("seen\n", Some(0)));
    });
}

/// `sudo`, `su` and the like are programs that become root by their mode. Inside only the caller exists, so they stay who
/// they are; one that root runs there becomes root without what undoes mounts. Neither writes what is others'.
#[test]
fn a_program_that_becomes_another_user_is_held_too() {
    if !nix::unistd::geteuid().is_root() {
        return skipped("programs that become root are made by root");
    }
    as_each(|world| {
        let program = world.path("bin/become");
        world.world().dir("bin");
        std::fs::copy("/bin/dd", &program).unwrap();
        let who = world.path("bin/who");
        std::fs::copy("/usr/bin/id", &who).unwrap();
        for path in [&program, &who] {
            assert!(Command::new("chown").arg("0:0").arg(path).status().unwrap().success());
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o4755)).unwrap();
        }
        let before = world.theirs();
        let id = format!("{} -u", who.display());
        let outside = Run::of(&mut world.plain("bash", ["-c", &id]), None).exits(0).stdout;
        // The mode counts outside, where the disk of the tests takes it.
        if outside != "0\n" {
            return skipped("the disk of the tests takes no program that becomes root");
        }
        let wanted = world.user.map_or("0\n".to_owned(), |user| format!("{user}\n"));
        assert_eq!(world.run(&id).exits(0).stdout, wanted);
        let write = format!("{} if=/dev/zero of=bob/x.txt bs=1 count=1 status=none", program.display());
        let done = world.run(&write);
        assert!(done.code.is_some_and(|code| code != 0) && before == world.theirs(), "{done:?}");
        // Whether the test can see: without a jail the same program does it.
        assert!(Run::of(&mut world.plain("bash", ["-c", &write]), None).code == Some(0) && before != world.theirs());
        if there("sudo") {
            let done = world.run("sudo -n sh -c 'echo z > bob/run.sh'");
            assert!(done.code.is_some_and(|code| code != 0), "{done:?}");
        }
    });
}

/// Package managers of the system and of languages install what lies here, as without.
#[test]
fn package_managers_work() {
    as_each(|world| {
        let before = world.theirs();
        if there("dpkg-deb") && there("dpkg") {
            let script = "set -e; umask 022; mkdir -p free/p/DEBIAN free/p/usr/share/thing free/r/var/lib/dpkg/updates free/r/var/lib/dpkg/info; \
                 printf 'Package: thing\\nVersion: 1\\nArchitecture: all\\nMaintainer: t\\nDescription: t\\n' > free/p/DEBIAN/control; \
                 echo it > free/p/usr/share/thing/file; touch free/r/var/lib/dpkg/status free/r/var/lib/dpkg/available; \
                 dpkg-deb --root-owner-group -b free/p free/thing.deb > /dev/null; ";
            // Who is not root can't give files to root, here as outside: it takes the package out.
            let install = match world.user {
                None => {
                    "dpkg --log=/dev/null --root=free/r -i free/thing.deb > /dev/null; cat free/r/usr/share/thing/file; \
                     dpkg --log=/dev/null --root=free/r -P thing > /dev/null; ! test -e free/r/usr/share/thing/file"
                }
                Some(_) => "dpkg-deb -x free/thing.deb free/r; cat free/r/usr/share/thing/file",
            };
            assert_eq!(world.run(&format!("{script}{install}")).exits(0).stdout, "it\n");
        } else {
            skipped("`dpkg` is not there");
        }
        if there("npm") {
            let script = "set -e; mkdir -p free/lib free/app; echo '{\"name\":\"lib\",\"version\":\"1.0.0\"}' > free/lib/package.json; \
                 echo 'module.exports=7' > free/lib/index.js; echo '{\"name\":\"app\",\"version\":\"1.0.0\"}' > free/app/package.json; \
                 (cd free/lib && npm pack --silent --offline > /dev/null); \
                 cd free/app && npm install --offline --no-audit --no-fund --silent ../lib/lib-1.0.0.tgz && node -p 'require(\"lib\")'";
            assert_eq!(world.run(script).exits(0).stdout, "7\n");
        } else {
            skipped("`npm` is not there");
        }
        assert!(before == world.theirs());
    });
}

/// A bound that is documented: what runs outside, docker's server among it, does as it is told from inside. Its socket is
/// reached as without a jail, and nothing is held of what the server does.
#[test]
fn a_server_outside_is_reached_and_not_held() {
    if !there("python3") {
        return skipped("`python3` is not there");
    }
    as_each(|world| {
        let server = "import socket\ns=socket.socket(socket.AF_UNIX)\ns.bind('free/s')\ns.listen()\nprint('ready', flush=True)\nc,_=s.accept()\n\
                      open(c.recv(99).decode(),'w').write('served')\nc.sendall(b'done')\n";
        let client =
            "import socket; c=socket.socket(socket.AF_UNIX); c.connect('free/s'); c.sendall(b'bob/x.txt'); print(c.recv(9).decode())";
        let mut child = world.plain("python3", ["-c", server]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let done = world.run(&format!("python3 -c \"{client}\"")).exits(0);
        assert_eq!((done.stdout.as_str(), child.wait().unwrap().code()), ("done\n", Some(0)), "{done:?}");
        assert_eq!(world.world().read("home/repo/bob/x.txt"), "served", "held: then docs/guide/kernel-custody.md has to say so");
    });
}
