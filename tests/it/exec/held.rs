//! What is held, and the ways around it.

use super::{World, as_each, skipped, there};
use crate::sandbox::Run;

/// Commands that would change what is somebody else's. Each one is refused by the kernel: nothing
/// changes, and its own exit code says so unless it hides that (`true` at the end).
const REFUSED: &[(&str, &str)] = &[
    ("write", "echo z > bob/x.txt"),
    ("append", "echo z >> bob/x.txt"),
    ("by a link to the directory", "echo z > bobalias/x.txt"),
    ("by a link in it", "echo z > bob/lnk"),
    ("by a link made now", "ln -s ../bob/x.txt free/l; echo 1 > free/l"),
    ("from inside of it", "cd bob && echo z > x.txt"),
    ("create", "echo z > bob/new"),
    ("what the owner owns inside of mine", "echo z > bob/alice_inner/bob_again/z.txt"),
    ("remove all of it", "rm -rf bob"),
    ("remove the inner one", "rm -rf bob/alice_inner/bob_again"),
    ("rename it", "mv bob bob2"),
    ("put something in its place", "mv -T free bob"),
    ("remove another one", "rm -r carol"),
    ("remove the directory of another", "rmdir deep/a/b/owned"),
    ("the owner file", "rm -f bob/.loci/owner.md"),
    ("the owner file of mine", "echo '---\nowner: alice\n---' > bob/alice_inner/.loci/owner.md"),
    ("a new name for a file of it", "ln bob/run.sh free/newlink"),
    ("mode", "chmod 600 bob/x.txt"),
    ("times", "touch bob/x.txt"),
    ("in place", "sed -i s/b/c/ bob/x.txt"),
    ("moved in", "mv free/f.txt bob/"),
    ("moved out", "mv bob/x.txt free/"),
    ("a pipe", "mkfifo bob/ff"),
    ("truncate", "truncate -s 0 bob/x.txt"),
    ("dd", "dd if=/dev/zero of=bob/x.txt bs=1 count=1 status=none"),
    ("mount it writable", "mount -o remount,rw,bind {REPO}/bob && echo z > bob/x.txt"),
    ("take the mount away", "umount {REPO}/bob && echo z > bob/x.txt"),
    ("lazily", "umount -l {REPO}/bob && echo z > bob/x.txt"),
    (
        "in namespaces of its own",
        "unshare -Urm sh -c 'mount -o remount,rw,bind {REPO}/bob; umount {REPO}/bob; umount -l {REPO}/bob; echo z > bob/x.txt'",
    ),
    (
        "the parent mounted elsewhere, with all in it",
        "mkdir -p free/z; unshare -Urm sh -c 'mount --rbind {REPO} free/z && echo z > free/z/bob/x.txt'",
    ),
    (
        "the parent mounted elsewhere, without",
        "mkdir -p free/z; unshare -Urm sh -c 'mount --bind {REPO} free/z && echo z > free/z/bob/x.txt'",
    ),
    ("a job", "echo x > .loci-clock/jobs/new.md"),
    ("the clock's folder renamed", "mv .loci-clock c2"),
    ("a harness's settings", "echo '{\"disableAllHooks\":true}' > .claude/settings.json"),
    ("their folder renamed", "mv .claude c2"),
    ("replaced by a rename", "echo x > .claude/new; mv .claude/new .claude/settings.json; code=$?; rm -f .claude/new; exit $code"),
    ("who I am", "echo '---\nid: bob\n---' > .loci/agent.md"),
    ("the folder with it renamed", "mv .loci l2"),
    ("loci's policy", "echo 'custody: read' > {HOME}/.loci/config.yaml"),
    ("its folder renamed", "mv {HOME}/.loci {HOME}/l2"),
    ("loci's state", "echo '{}' > {HOME}/../state/loci/sessions/s.json"),
    ("a grant", "echo '{}' >> {HOME}/../state/loci/grants.jsonl"),
    ("the state folder renamed", "mv {HOME}/../state/loci {HOME}/../state/l2"),
    ("a parent of it renamed", "mv deep deep2"),
    ("the whole tree renamed", "mv {REPO} {REPO}2"),
    ("and a false one put there", "mv {REPO} {HOME}/r3; mkdir -p {REPO}/bob && echo fake > {REPO}/bob/x.txt"),
    ("a jail inside as the owner", "{LOCI} exec --as bob -- bash -c 'echo z > bob/x.txt'"),
];

/// Commands that pass as they do without a jail, and print `ok`.
const FREE: &[(&str, &str)] = &[
    ("read", "cat bob/x.txt > /dev/null && ls -R bob > /dev/null && grep -rq bob bob && echo ok"),
    ("mine inside of another's", "echo z > bob/alice_inner/a.txt && echo n > bob/alice_inner/new && rm bob/alice_inner/new && echo ok"),
    ("nobody's", "echo z > free/new && mkdir -p free/d/e && mv free/new free/d/e && rm -r free/d && echo ok"),
    ("commons", "echo z > bob/Cargo.lock && touch bob/target/new && mkdir bob/target/d && rm -r bob/target/new bob/target/d && echo ok"),
    ("git", "echo z >> free/f.txt && git commit -qam x && git log --oneline > /dev/null && git tag t && git gc -q && echo ok"),
    ("my own rules", "echo z > .loci/rules/r.md && echo n > .loci/rules/new.md && rm .loci/rules/new.md && echo ok"),
    ("what was there is not made", "mkdir -p bob/dir1 && rm -f bob/nothing && echo ok"),
    (
        "devices, shared memory, scratch files",
        "echo > /dev/null && echo q > /dev/shm/jq$$ && rm /dev/shm/jq$$ && rm $(mktemp -p free) && echo ok",
    ),
    ("across a pinned directory", "mv deep/q q2 && mv q2 deep/q && echo ok"),
    ("a bystander's name", "mkdir bob2 && echo z > bob2/x && rm -r bob2 && echo ok"),
    ("renames in mine", "mv free free2 && mv free2 free && echo ok"),
    ("/proc", "test -r /proc/self/mounts && ls /proc/self/ns > /dev/null && echo ok"),
];

fn filled(script: &str) -> String {
    script.replace("{LOCI}", env!("CARGO_BIN_EXE_loci"))
}

pub(super) fn refused(world: &World, run: impl Fn(&World, &str) -> Run) {
    let before = world.theirs();
    for (what, script) in REFUSED {
        let done = run(world, &filled(script));
        assert!(before == world.theirs(), "{what}: {script}\n{done:?}");
        assert!(done.code.is_some_and(|code| code != 0), "{what}: {script}\n{done:?}");
        // Back to where it began, so that each stands alone.
        let _ = world.plain("bash", ["-c", "rm -rf free/z free/l .claude/new; mkdir -p free; echo f > free/f.txt"]).status();
    }
}

pub(super) fn free(world: &World, run: impl Fn(&World, &str) -> Run) {
    for (what, script) in FREE {
        let done = run(world, &filled(script));
        assert_eq!((done.code, done.stdout.as_str()), (Some(0), "ok\n"), "{what}: {script}\n{}", done.stderr);
        assert!(!done.stderr.contains("refused"), "{what}: {script}\n{}", done.stderr);
    }
}

#[test]
fn what_is_others_is_held_and_nothing_else() {
    as_each(|world| {
        refused(world, World::run);
        free(world, World::run);
    });
}

/// What is read through a link in a place of others decides about them: where it leads is held, wherever that is.
#[test]
fn what_a_link_in_anothers_place_leads_to_is_held() {
    as_each(|world| {
        let links = "mkdir -p free/hooks free/kept/hooks; ln -s ../../free/hooks carol/.loci/hooks; echo x > free/agent; ln -s ../../../../../free/agent deep/a/b/owned/.loci/agent.md; mkdir -p far; ln -s ../free/kept far/.loci; printf -- '---\\nowner: carol\\n---\\n' > free/kept/owner.md";
        assert!(world.plain("bash", ["-c", links]).status().unwrap().success());
        for script in ["echo x > free/hooks/h.sh", "echo y > free/agent", "echo y > free/kept/owner.md", "echo x > free/kept/hooks/h.sh"] {
            let run = world.run(script);
            assert!(run.code != Some(0) && run.stderr.contains("Read-only"), "{script}: {run:?}");
        }
        assert_eq!(world.run("echo x > free/kept/other && echo ok").stdout, "ok\n");
    });
}

/// Whether the test can see: without the jail the same commands change something.
#[test]
fn without_a_jail_they_would_change_it() {
    let world = World::new(None);
    let before = world.theirs();
    for script in ["echo z > bob/x.txt", "mv bob bob2; mkdir bob", "echo x > .loci-clock/jobs/new.md"] {
        assert!(world.plain("bash", ["-c", script]).status().unwrap().success());
        assert!(before != world.theirs(), "{script}");
    }
}

/// The files of processes outside lead to the tree without mounts; the kernel lets nobody through.
#[test]
fn no_way_leads_through_a_process_outside() {
    as_each(|world| {
        let before = world.theirs();
        let mut outside = world.plain("sleep", ["60"]).spawn().unwrap();
        let pid = outside.id();
        for script in [
            format!("echo z > /proc/{pid}/root{{REPO}}/bob/x.txt"),
            format!("echo z > /proc/{pid}/cwd/bob/x.txt"),
            "echo z > /proc/1/root{REPO}/bob/x.txt".to_owned(),
            format!("nsenter -t {pid} -m sh -c 'echo z > {{REPO}}/bob/x.txt'"),
            format!("nsenter -t {pid} -U -m sh -c 'echo z > {{REPO}}/bob/x.txt'"),
        ] {
            let done = world.run(&script);
            assert!(done.code != Some(0) && before == world.theirs(), "{script}: {done:?}");
        }
        outside.kill().unwrap();
        outside.wait().unwrap();
    });
}

/// Handles of directories that a shell has opened lead below the mounts: the command has none of them.
#[test]
fn a_handle_from_outside_leads_nowhere() {
    as_each(|world| {
        let before = world.theirs();
        let loci = env!("CARGO_BIN_EXE_loci");
        for (redirection, number) in [("7<bob", 7), ("7<.", 7), ("0<bob", 0)] {
            let path = if redirection.ends_with('.') { "bob/x.txt" } else { "x.txt" };
            let script = format!("exec {redirection}; {loci} exec --as alice -- bash -c 'echo z > /proc/self/fd/{number}/{path}'");
            let done = Run::of(&mut world.shell(&script), None);
            assert!(done.code != Some(0) && before == world.theirs(), "{redirection}: {done:?}");
        }
        // Pipes and files that the shell has opened stay.
        let script =
            format!("echo in | {loci} exec --as alice -- bash -c 'cat; cat <&8; echo out >&9' 8<bob/x.txt 9>free/nine; cat free/nine");
        assert_eq!(Run::of(&mut world.shell(&script), None).exits(0).stdout, "in\nbob1\nout\n");
    });
}

#[test]
fn by_other_languages_and_calls() {
    as_each(|world| {
        let before = world.theirs();
        if there("python3") {
            let script = r#"python3 - <<'E'
import os, socket
d = os.open("bob", os.O_RDONLY)
def tmp(): os.open("bob", os.O_TMPFILE | os.O_WRONLY)
calls = [("append", lambda: open("bob/x.txt", "a")), ("rw", lambda: os.open("bob/x.txt", os.O_RDWR)), ("tmpfile", tmp),
 ("xattr", lambda: os.setxattr("bob/x.txt", "user.a", b"1")), ("fchmod", lambda: os.fchmod(os.open("bob/x.txt", 0), 0o600)),
 ("utime", lambda: os.utime(os.open("bob/x.txt", 0))), ("reopen", lambda: os.open("/proc/self/fd/%d" % os.open("bob/x.txt", 0), os.O_WRONLY)),
 ("at", lambda: os.open("x.txt", os.O_WRONLY, dir_fd=d)), ("unlinkat", lambda: os.unlink("x.txt", dir_fd=d)),
 ("mkdirat", lambda: os.mkdir("m", dir_fd=d)), ("rename", lambda: os.rename("bob/x.txt", "bob/y.txt")), ("symlink", lambda: os.symlink("a", "bob/s")),
 ("truncate", lambda: os.truncate("bob/x.txt", 0)), ("socket", lambda: socket.socket(socket.AF_UNIX).bind("bob/s")), ("chown", lambda: os.chown("bob/x.txt", os.getuid(), os.getgid()))]
for name, call in calls:
    try: call(); print("ALLOWED", name)
    except OSError: pass
print("end")
E"#;
            let done = world.run(script);
            assert_eq!(done.stdout, "end\n", "{done:?}");
        } else {
            skipped("calls by Python, which is not there");
        }
        if there("node") {
            let done =
                world.run(r#"node -e 'try{require("fs").writeFileSync("bob/n","x");console.log("ALLOWED")}catch(e){console.log(e.code)}'"#);
            assert_eq!(done.stdout, "EROFS\n", "{done:?}");
        }
        assert!(before == world.theirs());
    });
}

/// What was refused is named though the program hides it; what passes is not.
#[test]
fn each_refused_path_is_named_once() {
    as_each(|world| {
        for (script, wanted) in [
            ("echo z > bob/x.txt 2>/dev/null; true", &["write bob/x.txt (bob's), by bash"][..]),
            ("for i in 1 2 3; do echo z > bob/x.txt; done 2>/dev/null; true", &["write bob/x.txt (bob's), by bash"]),
            ("echo z > bobalias/x.txt; true", &["write bob/x.txt (bob's)"]),
            ("rm -rf bob/dir1; true", &["remove bob/dir1/one (bob's), by rm", "remove bob/dir1/two (bob's), by rm"]),
            ("chmod 600 bob/x.txt; true", &["change the mode or times of bob/x.txt (bob's), by chmod"]),
            ("mv free/f.txt bob/; true", &["rename bob/f.txt (bob's), by mv"]),
            ("mkdir bob/new carol/new; true", &["mkdir bob/new (bob's), by mkdir", "mkdir carol/new (carol's), by mkdir"]),
            ("mv deep deep2; true", &["rename deep (held in its place for what lies below), by mv"]),
            ("echo x > .claude/settings.json; true", &["write .claude/settings.json (the human's), by bash"]),
            (
                "printf 'all:\\n\\t@echo gen > bob/gen.txt\\n' > free/Makefile; make -s -f free/Makefile; true",
                &["write bob/gen.txt (bob's)"],
            ),
        ] {
            let done = world.run(script).exits(0);
            let lines: Vec<&str> = done.stderr.lines().filter_map(|line| line.strip_prefix("loci: refused: ")).collect();
            for one in wanted {
                assert_eq!(lines.iter().filter(|line| line.starts_with(one)).count(), 1, "{script}: {one}\n{}", done.stderr);
            }
            assert!(lines.len() <= wanted.len() + 2, "{script}\n{}", done.stderr);
        }
        let done = world.run("cat bob/x.txt; ls -R bob; grep -r bob .; mkdir -p bob/dir1; rm -f bob/nothing; echo k > free/k").exits(0);
        assert!(!done.stderr.contains("loci: refused"), "{}", done.stderr);
    });
}

/// A refused write is work for its owner: the message carries the command, one for each owner, and the
/// same attempt is not filed twice.
#[test]
fn what_was_refused_is_handed_over() {
    as_each(|world| {
        let script = "echo z > bob/x.txt; echo z > carol/c.txt; true";
        let done = world.run(script).exits(0);
        assert!(
            done.stderr.contains("handed over to bob with your command") && done.stderr.contains("handed over to carol"),
            "{}",
            done.stderr
        );
        assert!(world.run(script).exits(0).stderr.contains("handed over to bob before"));
        let mail = world.world().snapshot("home/repo/bob/.loci/memory/inbox/new");
        let text = mail.values().find(|text| text.contains("kind: delegation")).unwrap();
        assert!(text.contains("from: \"alice\"") && text.contains("bob/x.txt") && text.contains("echo z"), "{text}");
        assert_eq!(mail.len(), 2, "{mail:?}");
        // What is the human's is a request.
        let done = world.run("echo x > .loci-clock/jobs/new.md; true").exits(0);
        assert!(done.stderr.contains("handed over to the human"), "{}", done.stderr);
    });
}

#[test]
fn a_dry_run_says_what_would_be_held_and_runs_nothing() {
    let world = World::new(None);
    let run = |words: &[&str]| Run::of(&mut world.loci(["exec", "--as", "alice", "--dry-run"].iter().chain(words)), None);
    let before = world.world().snapshot("");
    let done = run(&["--json", "--", "touch", "free/made"]).exits(0).json();
    let mounts: Vec<(String, String)> = done["mounts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mount| (mount["path"].as_str().unwrap().to_owned(), mount["is"].as_str().unwrap().to_owned()))
        .collect();
    let is = |path: &str| mounts.iter().find(|(mount, _)| *mount == world.repo().join(path).to_str().unwrap()).map(|(_, is)| is.as_str());
    for (path, wanted) in [
        ("bob", Some("read-only")),
        ("bob/alice_inner", Some("writable")),
        ("bob/alice_inner/bob_again", Some("read-only")),
        ("bob/Cargo.lock", Some("writable")),
        ("bob/target", Some("writable")),
        ("deep/a", Some("pinned")),
        ("deep/a/b/owned", Some("read-only")),
        (".claude/settings.json", Some("read-only")),
        ("free", None),
        ("bob/dir1", None),
    ] {
        assert_eq!(is(path), wanted, "{path} {mounts:?}");
    }
    assert!(run(&["--", "true"]).exits(0).stdout.contains("read-only  bob "));
    assert!(before == world.world().snapshot(""));
}

/// Another name of a file leads past the mount: that is said, since it can't be held.
#[test]
fn hard_links_are_warned_about() {
    let world = World::new(None);
    std::fs::hard_link(world.repo().join("bob/x.txt"), world.repo().join("free/hard")).unwrap();
    let done = world.run("true").exits(0);
    assert!(done.stderr.contains("bob/x.txt has another name somewhere"), "{}", done.stderr);
}

/// Inside a session nobody becomes another by a flag, and the owner itself is not shut out.
#[test]
fn who_asks_decides() {
    let world = World::new(None);
    let exec = |agent: &str, body: &str, words: &[&str]| {
        let mut command = world.loci(words);
        command.env("LOCI_AGENT", agent).env("LOCI_BODY", world.repo().join(body));
        Run::of(&mut command, None)
    };
    let write = ["exec", "--", "bash", "-c", "echo b2 > bob/x.txt"];
    exec("bob", "bob", &write).exits(0);
    assert_eq!(world.world().read("home/repo/bob/x.txt"), "b2\n");
    exec("alice", "", &write).exits(1);
    let other = exec("alice", "", &["exec", "--as", "bob", "--", "bash", "-c", "echo b3 > bob/x.txt"]).exits(2);
    assert!(other.stderr.contains("only a person may run as another agent"), "{}", other.stderr);
    assert_eq!(world.world().read("home/repo/bob/x.txt"), "b2\n");
    // What a person has permitted is open, and nothing beside it.
    Run::of(&mut world.loci(["permit", "alice", "bob/x.txt", "--for", "30m"]), None).exits(0);
    exec("alice", "", &write).exits(0);
    exec("alice", "", &["exec", "--", "bash", "-c", "echo b2 > bob/OWNER"]).exits(1);
}

/// The root is somebody else's and a crate in it is mine: builds go on through what is common.
#[test]
fn a_crate_of_mine_in_a_tree_of_others() {
    let world = World::new(None);
    let put = |path: &str, text: &str| {
        world.world().file(std::path::Path::new("home/mono").join(path), text);
    };
    put(".loci/owner.md", "---\nowner: lead\ncommons: [Cargo.lock, target/]\n---\n");
    put("Cargo.lock", "lock\n");
    put("target/x", "x\n");
    put("src/lib.rs", "x\n");
    put(".loci-clock/jobs/a.md", "x\n");
    put(".claude/settings.json", "{}\n");
    put("crates/mine/.loci/owner.md", "---\nowner: alice\n---\n");
    put("crates/mine/.loci/agent.md", "---\nid: alice\n---\n");
    let git = |words: &[&str]| assert!(world.plain("git", words).current_dir(world.path("home/mono")).status().unwrap().success());
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "base"]);
    let run = |script: &str| Run::of(world.exec(script).current_dir(world.path("home/mono/crates/mine")), None);
    let build =
        "echo y > lib.rs && echo lock2 > ../../Cargo.lock && echo o > ../../target/o && git add . && git commit -qm mine && echo ok";
    assert_eq!(run(build).exits(0).stdout, "ok\n");
    for script in [
        "echo z > ../../src/lib.rs",
        "echo z > ../../.loci-clock/jobs/b.md",
        "echo z > ../../.claude/settings.json",
        "echo z > ../../.loci/owner.md",
        "echo z > .loci/owner.md",
        "echo z > .loci/agent.md",
    ] {
        let done = run(script).exits(1);
        assert!(done.stderr.contains("Read-only file system") && done.stderr.contains("loci: refused"), "{script}: {done:?}");
    }
}
