//! `inherit`: the whole directory comes along, and nothing that it remembers.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::{Run, Sandbox};

/// A custodian that has lived for a while.
fn world() -> Sandbox {
    let world = Sandbox::new();
    world.dir("r/.git");
    world.loci("r", ["new", "a", "--template", "custodian"]).exits(0);
    world
        .file("r/a/.loci/skills/deploy/SKILL.md.inactive", "---\nname: deploy\ndescription: d\n---\n")
        .file("r/a/.loci/rules/team/style.md", "s")
        .exec("r/a/.loci/hooks/check.sh", "#!/bin/sh\n")
        .exec("r/a/grown/off script/run \n it", "#!/bin/sh\n")
        .file(Path::new("r/a/grown").join(OsStr::from_bytes(b"odd-\xff")), b"\x00\xff\n")
        .file("r/a/.hidden/deep/x", "")
        .dir("r/a/empty/in/empty")
        .dir("r/a/closed")
        .link("r/a/current", "grown/off script")
        .link("r/a/dangling", "nowhere")
        .link("r/a/beside", "../shared/x")
        .file("r/a/.git/HEAD", "ref: refs/heads/main\n");
    nix::unistd::mkfifo(&world.path("r/a/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    for (rel, mode) in
        [("closed", 0o500), ("grown", 0o2750), (".hidden/deep/x", 0o400), ("pipe", 0o620), (".loci/agent.md", 0o640), ("", 0o711)]
    {
        fs::set_permissions(world.path("r/a").join(rel), fs::Permissions::from_mode(mode)).unwrap();
    }
    world
}

/// What it remembers, and what must not travel.
fn remember(world: &Sandbox) -> Vec<&'static str> {
    let memory = [
        ".loci/memory/inbox/new/x.md",
        ".loci/memory/notes.md",
        ".loci-clock/ledger.jsonl",
        ".claude/projects/x/session.jsonl",
        ".claude/history.jsonl",
        ".codex/sessions/2026/rollout.jsonl",
        ".codex/archived_sessions/old.jsonl",
        ".gemini/tmp/abc/logs.json",
        ".pi/sessions/s.jsonl",
        ".aider.chat.history.md",
        "deep/down/.loci/memory/inbox/new/y.md",
        "deep/.claude/projects/y.jsonl.inactive",
        "notes/private/diary.md",
        "talk.transcript",
        ".loci/loadouts/_backup-0123456789ab/files/CLAUDE.md",
        ".claude.inactive/projects/z.jsonl",
        ".claude/teams/t",
        ".claude/scheduled_tasks.json",
        ".claude.json",
        "CLAUDE.local.md",
        ".qwen/memory/m",
        ".qwen/todos/t",
        ".hermes/MEMORY.md",
        ".bash_history",
        "sub2/.python_history",
        // These fail the transport test.
        ".claude/settings.local.json",
        ".codex/auth.json",
        // Secrets, wherever they lie.
        ".env",
        "deep/.env.local",
        ".ssh/known_hosts",
        ".aws/credentials",
        ".netrc",
        ".git-credentials",
        ".npmrc",
        "keys/server.pem",
        "keys/server.p12",
        "token.txt",
    ];
    for rel in memory {
        world.file(Path::new("r/a").join(rel), "SECRET-MEMORY");
    }
    world.file("r/a/.mcp.json", "{\"note\": \"SECRET-MEMORY\", \"env\": {\"API_KEY\": \"a8f5f167f44f4964e6c998dee827110c\"}}");
    let card = world.read("r/a/.loci/agent.md").replacen("---\n", "---\nmemory: [notes/private, '*.transcript']\n", 1);
    world.file("r/a/.loci/agent.md", card);
    memory.to_vec()
}

fn everything(world: &Sandbox) -> BTreeMap<PathBuf, String> {
    let all = world.snapshot("");
    all.into_iter().filter(|(path, _)| !path.starts_with("state/loci/locks") && !path.starts_with("home/log")).collect()
}

/// An agent that is its own parent would be gone where the old one is removed before the new one is made.
#[test]
fn nobody_is_its_own_child() {
    let world = world();
    world.link("r/same", "a");
    let before = everything(&world);
    for (parent, child) in [("a", "a"), ("a", "./a"), ("a", "same"), ("same", "a"), ("a", "x/../a"), ("a", "a/"), ("same", "same")] {
        let run = world.loci("r", ["inherit", parent, child]).exits(2);
        assert!(run.stderr.starts_with("error: failed to "), "{}", run.stderr);
        assert_eq!(everything(&world), before, "{parent} {child}");
    }
    let run = world.loci("r", ["inherit", "a", "a", "--id", "other"]).exits(2);
    assert!(run.stderr.contains("is parent and child"), "{}", run.stderr);
    assert_eq!(everything(&world), before);
}

#[test]
fn what_can_be_no_child_is_refused_and_nothing_changes() {
    let world = world();
    world.file("r/full/x", "x").dir("r/empty").file("r/file", "").link("r/lost", "nowhere/at/all").link("r/into", "a/grown");
    world.file("r/b/.loci/agent.md", "---\nid: bob\n---\n").dir("r/plain").dir("r/shut");
    fs::set_permissions(world.path("r/shut"), fs::Permissions::from_mode(0o500)).unwrap();
    let before = everything(&world);
    for (parent, child, word) in [
        ("a", "a/child", "it lies in its parent"),
        ("a", "a/deep/er/child", "it lies in its parent"),
        ("a", "into/child", "it lies in its parent"),
        ("a", "into/new/child", "it lies in its parent"),
        ("a", "full", "something is there already"),
        ("a", "empty", "something is there already"),
        ("a", "file", "something is there already"),
        ("a", "lost", "something is there already"),
        ("a", ".", "something is there already"),
        ("a", "file/below", ""),
        ("a", "Not An Id", "--id not-an-id"),
        ("a", "b2", "is that already"),
        ("plain", "c", "no agent lives there"),
        ("nowhere", "c", "it is no directory"),
    ] {
        let id = if child == "b2" { vec!["--id", "bob"] } else { vec![] };
        let run = world.loci("r", ["inherit", parent, child].into_iter().chain(id)).exits(2);
        assert!(run.stderr.starts_with("error: failed to ") && run.stderr.contains(word), "{parent} {child}: {}", run.stderr);
        assert_eq!(everything(&world), before, "{parent} {child}");
    }
    if !nix::unistd::geteuid().is_root() {
        world.loci("r", ["inherit", "a", "shut/c"]).exits(2);
        assert_eq!(everything(&world), before);
    }
}

#[test]
fn everything_comes_along_but_two_lines() {
    let world = world();
    let parent = world.snapshot("r/a");
    let hash = |dir: &str, flags: &[&str]| {
        let run = world.loci(format!("r/{dir}"), ["loadout", "id"].into_iter().chain(flags.iter().copied())).exits(0);
        run.stdout.trim().to_owned()
    };
    let dry = world.loci("r", ["inherit", "a", "b", "--dry-run", "--json"]).exits(0).json();
    assert!(!world.path("r/b").exists());
    let made = world.loci("r", ["inherit", "a", "b", "--json"]).exits(0).json();
    let strip = |mut value: Value| {
        value["dry_run"] = Value::Null;
        value
    };
    assert_eq!(strip(dry), strip(made.clone()));
    assert_eq!(made["left_out"], serde_json::json!([]));
    let child = world.snapshot("r/b");
    let identity = [".loci/agent.md", ".loci/owner.md"].map(PathBuf::from);
    for (path, what) in &parent {
        let (theirs, changed) = (child.get(path).cloned().unwrap_or_default(), identity.contains(path));
        assert_eq!(theirs == *what, !changed, "{}: {what} {theirs}", path.display());
        if changed {
            assert_eq!(theirs.split_once(' ').unwrap().1.split(' ').next(), what.split_once(' ').unwrap().1.split(' ').next(), "the mode");
        }
    }
    assert_eq!(child.len(), parent.len());
    assert_eq!(world.read("r/b/.loci/agent.md"), world.read("r/a/.loci/agent.md").replacen("id: a\n", "id: b\nparent: ../a\n", 1));
    assert_eq!(world.read("r/b/.loci/owner.md"), world.read("r/a/.loci/owner.md").replacen("owner: a\n", "owner: b\n", 1));
    assert_eq!(world.snapshot("r/a"), parent);
    assert_eq!((hash("b", &[]), hash("b", &["--portable"])), (hash("a", &["--portable"]), hash("a", &["--portable"])));
    assert_eq!(made["loadout"].as_str().unwrap(), hash("b", &[]));
    // It is an agent like any other, and owns its directory.
    let shown = world.loci("r", ["show", "b", "--json"]).exits(0).json();
    assert_eq!(
        (shown["id"].as_str(), shown["identity"]["parent"].as_str(), shown["owner"]["id"].as_str()),
        (Some("b"), Some("../a"), Some("b"))
    );
    // A link beside the body means the same to a child beside it, and is refused to one that is elsewhere.
    let said = world.loci("r", ["inherit", "a", "c"]).exits(0).stdout;
    assert!(said.starts_with("c is the agent c, a child of a\n") && said.contains("  ~ .loci/agent.md\n"), "{said}");
}

#[test]
fn a_link_that_would_lead_elsewhere_is_refused() {
    let world = world();
    world.loci("r", ["inherit", "a", "b"]).exits(0);
    assert_eq!(fs::read_link(world.path("r/b/beside")).unwrap(), Path::new("../shared/x"));
    let before = everything(&world);
    let run = world.loci("r", ["inherit", "a", "far/away/c"]).exits(2);
    assert!(run.stderr.contains("its link beside leads out of it") && run.stderr.contains("a/beside)"), "{}", run.stderr);
    assert_eq!(everything(&world), before);
    fs::remove_file(world.path("r/a/beside")).unwrap();
    // Out and in again is the parent's, not the child's.
    world.link("r/a/round", "../a/grown");
    world.loci("r", ["inherit", "a", "c"]).exits(2);
    fs::remove_file(world.path("r/a/round")).unwrap();
    // By a path of this machine: into the parent it stays behind, elsewhere it is what it is.
    world.link("r/a/own", world.path("r/a/grown")).link("r/a/system", "/usr/bin/env");
    let made = world.loci("r", ["inherit", "a", "far/away/c", "--json"]).exits(0).json();
    let left: Vec<&str> = made["left_out"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap()).collect();
    assert_eq!(left, [world.path("r/a/own").to_str().unwrap()]);
    assert!(world.path("r/far/away/c/system").is_symlink() && !world.path("r/far/away/c/own").is_symlink());
}

#[test]
fn nothing_of_the_memory_comes_along_wherever_it_hides() {
    let world = world();
    let rels = remember(&world);
    world.file("r/a/sub/.loci/agent.md", "---\nid: other\n---\n").file("r/a/sub/SECRET", "SECRET-MEMORY");
    world.file("r/a/module/.git", "gitdir: ../.git/modules/m\n").file("r/a/tree/.git", "gitdir: /elsewhere/.git/worktrees/t\n");
    // Words of its own about a key that lies in a file of any name.
    world.file("r/a/notes/key", "-----BEGIN OPENSSH PRIVATE KEY-----\nSECRET-MEMORY\n").file("r/a/.env.example", "TOKEN=\n");
    let socket = std::os::unix::net::UnixListener::bind(world.path("r/a/.loci/s")).unwrap();
    let portable = world.loci("r/a", ["loadout", "id", "--portable"]).exits(0).stdout;
    let made = world.loci("r", ["inherit", "a", "b", "--json"]).exits(0).json();
    drop(socket);
    let child = world.snapshot("r/b");
    for (path, what) in &child {
        assert!(!what.contains("SECRET-MEMORY"), "{}", path.display());
    }
    let left: Vec<PathBuf> = made["left_out"].as_array().unwrap().iter().map(|one| PathBuf::from(one["path"].as_str().unwrap())).collect();
    let others = [".mcp.json", "sub", "tree/.git", ".loci/s", "notes/key"];
    assert!(world.path("r/b/.env.example").is_file());
    for rel in rels.iter().chain(&others) {
        let path = world.path("r/a").join(rel);
        assert!(left.iter().any(|one| path.starts_with(one)), "{rel} is not named: {left:?}");
        assert!(!world.path("r/b").join(rel).exists(), "{rel}");
    }
    assert!(world.path("r/b/module/.git").is_file());
    assert_eq!(world.loci("r/b", ["loadout", "id"]).exits(0).stdout, portable);
    assert_eq!(made["loadout"].as_str().unwrap(), portable.trim());
    let doctor = world.loci("r", ["doctor", "b"]).stdout;
    assert!(!doctor.contains("/b/"), "{doctor}");
}

#[test]
fn no_secret_comes_along_wherever_it_stands_and_whatever_it_is_called() {
    let world = world();
    let token = format!("ghp_{}", "a1".repeat(20));
    let deep = |at: usize| format!("{}\nkey {token}\n", "x".repeat(at));
    let line = |at: usize| format!("{} {token}", "x".repeat(at));
    let mut secrets = vec![
        "prod.env",
        ".ENV",
        "ENV.TXT",
        ".docker/config.json",
        ".SSH/known_hosts",
        "Id_Rsa",
        ".htpasswd",
        "service-account.json",
        "conf/.env",
        "conf/second-name",
    ];
    for name in &secrets {
        world.file(Path::new("r/a").join(name), "x\n");
    }
    fs::remove_file(world.path("r/a/conf/second-name")).unwrap();
    fs::hard_link(world.path("r/a/conf/.env"), world.path("r/a/conf/second-name")).unwrap();
    // At any depth of a file, across whatever it is read in, in one line or in many.
    let depths: Vec<String> = [262_000, 262_130, 262_144, 262_200, 524_280, 2_000_000].iter().map(|at| format!("long-{at}.txt")).collect();
    for (name, at) in depths.iter().zip([262_000, 262_130, 262_144, 262_200, 524_280, 2_000_000]) {
        world.file(Path::new("r/a").join(name), deep(at)).file(Path::new("r/a").join(format!("line-{name}")), line(at));
    }
    let lines: Vec<String> = depths.iter().map(|name| format!("line-{name}")).collect();
    secrets.extend(depths.iter().chain(&lines).map(String::as_str));
    world.file("r/a/long.txt", format!("{}\nkey ghp_short\n", "x".repeat(600_000)));
    let made = world.loci("r", ["inherit", "a", "b"]).exits(0);
    for name in secrets {
        assert!(world.path("r/a").join(name).exists() && !world.path("r/b").join(name).exists(), "{name} came along");
    }
    assert!(world.path("r/b/long.txt").exists(), "{}", made.stdout);
}

#[test]
fn a_place_of_memory_that_is_a_link_makes_memory_of_what_it_leads_to() {
    let world = world();
    fs::remove_dir_all(world.path("r/a/.loci/memory")).ok();
    fs::remove_dir_all(world.path("r/a/.codex")).ok();
    for rel in ["mem/note.md", "dotcodex/sessions/s.jsonl", "dotcodex/auth.json", "far/p/x.jsonl", "dotqwen/projects/y"] {
        world.file(Path::new("r/a").join(rel), "SECRET-MEMORY");
    }
    world.file("r/a/dotcodex/skills/x.md", "kept").file("r/a/kept.md", "kept");
    world.link("r/a/.loci/memory", "../mem").link("r/a/.codex", "dotcodex").link("r/a/sub3", "dotqwen").link("r/a/.qwen", "sub3");
    world.dir("r/a/.gemini").link("r/a/.gemini/tmp", "../far/p");
    fs::hard_link(world.path("r/a/mem/note.md"), world.path("r/a/other-name.md")).unwrap();
    let made = world.loci("r", ["inherit", "a", "b", "--json"]).exits(0).json();
    for (path, what) in world.snapshot("r/b") {
        assert!(!what.contains("SECRET-MEMORY"), "{}", path.display());
    }
    let left = made["left_out"].to_string();
    for rel in ["a/mem", "dotcodex/sessions", "dotcodex/auth.json", "far/p", "dotqwen/projects", "other-name.md"] {
        assert!(left.contains(rel), "{rel} is not named: {left}");
    }
    assert_eq!(world.read("r/b/dotcodex/skills/x.md"), "kept");
    assert_eq!(world.read("r/b/kept.md"), "kept");
}

#[test]
fn an_identity_that_is_not_written_plainly_is_refused_with_its_line() {
    let world = Sandbox::new();
    world.file("r/x/y", "");
    for (text, line) in [
        ("---\nid: >-\n  alice\n---\n", ":2)"),
        ("---\n{id: alice, description: alice}\n---\n", ""),
        ("---\ndescription: d\nid: [a]\n---\n", ":3)"),
        ("---\nid: alice\nmemory: ['[']\n---\n", "is no glob"),
    ] {
        world.file("r/a/.loci/agent.md", text);
        let before = everything(&world);
        let run = world.loci("r", ["inherit", "a", "b"]);
        if run.code == Some(0) {
            // Where it can be changed, it says what it should.
            assert!(world.read("r/b/.loci/agent.md").contains("id: b"), "{}", world.read("r/b/.loci/agent.md"));
            fs::remove_dir_all(world.path("r/b")).unwrap();
            continue;
        }
        assert!(run.code == Some(2) && run.stderr.contains(line), "{text}: {}", run.stderr);
        assert_eq!(everything(&world), before);
    }
    // Behind a link there is nothing to give a new name to.
    fs::remove_dir_all(world.path("r/a/.loci")).unwrap();
    world.file("r/elsewhere/agent.md", "---\nid: alice\n---\n").link("r/a/.loci", "../elsewhere");
    let before = everything(&world);
    world.loci("r", ["inherit", "a", "b"]).exits(2);
    assert_eq!(everything(&world), before);
}

#[test]
fn somebody_elses_owner_file_comes_along_as_it_is_and_is_said() {
    let world = Sandbox::new();
    world
        .dir("r/.git")
        .file("r/a/.loci/agent.md", "---\nid: alice\nparent: old\n---\n")
        .file("r/a/.loci/owner.md", "---\nowner: lead\n---\n");
    world.file("r/a/sub/.loci/owner.md", "---\nowner: alice\n---\n");
    let made = world.loci("r", ["inherit", "a", "b", "--json"]).exits(0).json();
    assert_eq!(world.read("r/b/.loci/owner.md"), "---\nowner: lead\n---\n");
    assert_eq!(world.read("r/b/.loci/agent.md"), "---\nid: b\nparent: ../a\n---\n");
    let notes = made["notes"].to_string();
    assert!(
        notes.contains("it names lead, not alice") && notes.contains("sub/.loci/owner.md comes along as it is: it still names alice"),
        "{notes}"
    );
}

fn faulty(world: &Sandbox, fault: &str, args: &[&str]) -> Run {
    Run::of(world.command("r").args(args).env("LOCI_FAULT", fault), None)
}

#[test]
fn a_full_disk_leaves_nothing_and_a_kill_nothing_or_all_of_it() {
    let world = Sandbox::new();
    world
        .dir("r/.git")
        .file("r/a/.loci/agent.md", "---\nid: a\n---\n")
        .file("r/a/.loci/memory/x", "m")
        .file("r/a/d/f", "f")
        .link("r/a/l", "d/f");
    world.dir("r/a/shut");
    fs::set_permissions(world.path("r/a/shut"), fs::Permissions::from_mode(0o500)).unwrap();
    world.dir("state/loci/locks");
    let args = ["inherit", "a", "deep/b"];
    faulty(&world, &format!("log:{}", world.path("home/log").display()), &args).exits(0);
    let count = world.read("home/log").lines().count();
    let whole = world.snapshot("r/deep/b");
    assert!(count > 10, "{count}");
    let reset = || drop(fs::remove_dir_all(world.path("r/deep")));
    for n in 1..=count {
        for errno in [28, 5] {
            reset();
            let before = everything(&world);
            let run = faulty(&world, &format!("fail:{n}:{errno}"), &args).exits(2);
            assert!(
                run.stderr.starts_with("error: failed to ") && run.stderr.contains(&format!("os error {errno}")),
                "{n}: {}",
                run.stderr
            );
            assert_eq!(everything(&world), before, "fail:{n}:{errno}");
        }
        reset();
        assert_eq!(faulty(&world, &format!("kill:{n}"), &args).code, None, "{n}");
        let made = world.path("r/deep/b").exists();
        if made {
            assert_eq!(world.snapshot("r/deep/b"), whole, "killed after operation {n}");
            fs::remove_dir_all(world.path("r/deep/b")).unwrap();
        }
        let next = world.loci("r", args).exits(0);
        assert_eq!(world.snapshot("r/deep").len(), whole.len() + 1, "killed after operation {n}: {}", next.stderr);
        assert_eq!(world.snapshot("r/deep/b"), whole);
    }
}

#[test]
fn an_agent_makes_no_child_that_acts_by_itself() {
    let world = world();
    let agent = |args: &[&str]| {
        let mut command = world.command("r/a");
        command.args(args).env("LOCI_AGENT", "a").env("LOCI_BODY", world.path("r/a"));
        Run::of(&mut command, None)
    };
    let run = agent(&["inherit", ".", "../b"]).exits(1);
    assert!(run.stderr.contains("filed as a request") && !world.path("r/b").exists(), "{}", run.stderr);
    world.file("r/p/.loci/agent.md", "---\nid: plain\n---\n").file("r/p/AGENTS.md", "x");
    agent(&["inherit", "../p", "../q"]).exits(0);
    world.file("r/o/.loci/owner.md", "---\nowner: bob\n---\n");
    assert!(agent(&["inherit", "../p", "../o/c"]).exits(1).stderr.contains("is bob's"));
}
