//! No way past the gate through loci itself: what a verb writes is judged like any other write.

use clap::Command;

use crate::sandbox::{Run, Sandbox};

/// Verbs that write into directories, with a call of each for a level that is not the asker's.
const JUDGED: &[(&str, &[&str])] = &[
    ("toggle", &["toggle", "rules/y", "off", "--level", "LEVEL"]),
    ("equip", &["equip", "LEVEL/.loci/sets/k.yaml", "--level", "LEVEL"]),
    ("equip", &["equip", "LEVEL/.loci/sets/k.yaml", "--level", "LEVEL", "--for", "--", "true"]),
    ("unequip", &["unequip", "--level", "LEVEL"]),
    ("sets save", &["sets", "save", "zz", "--level", "LEVEL"]),
    ("loadout archive", &["loadout", "archive", "q", "--here", "--level", "LEVEL"]),
    ("loadout inject", &["loadout", "inject", "old", "--level", "LEVEL"]),
    ("loadout restore", &["loadout", "restore", "--level", "LEVEL"]),
    ("loadout rm", &["loadout", "rm", "old", "--level", "LEVEL"]),
    ("loadout prune", &["loadout", "prune", "--keep", "0", "--level", "LEVEL"]),
    ("man", &["man", "--dir", "LEVEL/.loci/man"]),
    ("new", &["new", "LEVEL/sub"]),
    ("inherit", &["inherit", "../../agents/billing", "LEVEL/sub"]),
    ("own", &["own", "LEVEL/free", "--as", "alice"]),
    ("disown", &["disown", "LEVEL"]),
    ("extract", &["extract", "LEVEL/free", "--into", "LEVEL/other"]),
    ("permit", &["permit", "alice", "LEVEL", "--for", "30m"]),
    ("approve", &["approve", "20261130T"]),
    ("deny", &["deny", "20261130T", "--why", "no"]),
    ("trust", &["trust", "LEVEL", "--yes"]),
    ("hooks activate", &["hooks", "activate", "x", "--session", "s"]),
    ("hooks deactivate", &["hooks", "deactivate", "x", "--session", "s"]),
    ("hooks only", &["hooks", "only", "x", "--session", "s"]),
    ("connect", &["connect", "claude", "--project", "LEVEL"]),
    ("disconnect", &["disconnect", "claude", "--project", "LEVEL"]),
    ("init", &["init"]),
    ("clock enroll", &["clock", "enroll", "LEVEL"]),
    ("clock install", &["clock", "install"]),
    ("jobs run", &["jobs", "run", "x", "--root", "LEVEL"]),
    ("jobs accept", &["jobs", "accept", "x", "--root", "LEVEL"]),
    ("jobs arm", &["jobs", "arm", "x", "--root", "LEVEL"]),
    ("jobs disarm", &["jobs", "disarm", "x", "--root", "LEVEL"]),
    ("loop start", &["loop", "start", "x", "--root", "LEVEL"]),
    ("loop stop", &["loop", "stop", "--root", "LEVEL"]),
    ("mirror attach", &["mirror", "attach", "x"]),
    ("mirror detach", &["mirror", "detach", "x"]),
    ("mirror type", &["mirror", "type", "x", "y"]),
];

/// Verbs that write into inboxes only; they have tests of their own.
const MAIL: &[&str] = &["inbox take", "inbox apply", "inbox done", "inbox decline", "handover", "delegate", "exec"];

/// Verbs that only a person carries out, whatever they would write; they have tests of their own.
const PERSONS: &[&str] = &["run"];

fn writing(command: &Command, path: &str, found: &mut Vec<String>) {
    for verb in command.get_subcommands() {
        let path = format!("{path} {}", verb.get_name());
        if verb.get_arguments().any(|arg| arg.get_id() == "dry_run") {
            found.push(path.trim().to_owned());
        }
        writing(verb, &path, found);
    }
}

#[test]
fn every_verb_that_writes_is_in_the_list() {
    let mut found = Vec::new();
    writing(&loci::cli::help::command(), "", &mut found);
    let mut listed: Vec<&str> = JUDGED.iter().map(|(verb, _)| *verb).chain(MAIL.iter().chain(PERSONS).copied()).collect();
    listed.dedup();
    found.sort();
    listed.sort_unstable();
    assert_eq!(found, listed, "a verb that writes has to be judged: see `grant::unless_refused`");
}

/// A world in which the level could be changed in each of these ways.
fn world() -> Sandbox {
    let world = Sandbox::new();
    world.file("home/r/agents/alice/.loci/agent.md", "---\nid: alice\n---\n").dir("home/r/.git");
    world.file("home/r/agents/billing/.loci/agent.md", "---\nid: billing\n---\n");
    world.file("home/r/services/billing/.loci/owner.md", "---\nowner: billing\nbody: ../../agents/billing\n---\n");
    world.dir("home/r/services/billing/free");
    for level in ["home", "home/r/services/billing", "home/r/agents/alice"] {
        world.file(format!("{level}/.loci/rules/y.md"), "y").file(format!("{level}/.loci/rules/z.md"), "z");
        world.file(format!("{level}/.loci/sets/k.yaml"), "rules: {y: off}\n").file(format!("{level}/CLAUDE.md"), "c");
        world.file(format!("{level}/.loci/sets/w.yaml"), "rules: {z: off}\n");
        world.file(format!("{level}/.claude/settings.json"), "{}").file(format!("{level}/.claude/rules/v.md"), "v");
        // By the person: something to take back, to put back and to remove.
        let here = |args: &[&str]| world.loci(level, args.iter().copied().chain(["--level", "."])).exits(0);
        here(&["loadout", "archive", "old", "--here"]);
        here(&["equip", "w"]);
        world.file(format!("{level}/CLAUDE.md"), "other");
        here(&["loadout", "inject", "old"]);
        if level != "home" {
            let _ = std::fs::remove_dir_all(world.path(format!("{level}/.loci/loadouts")));
            here(&["loadout", "archive", "old", "--here"]);
        }
    }
    world
}

fn alice(world: &Sandbox, cwd: &str, args: &[&str], level: &str) -> Run {
    let level = world.path(level);
    let args = args.iter().map(|arg| arg.replace("LEVEL", level.to_str().unwrap()));
    let mut command = world.command(cwd);
    command.args(args).env("LOCI_AGENT", "alice").env("LOCI_BODY", world.path("home/r/agents/alice")).env("CLAUDECODE", "1");
    Run::of(&mut command, None)
}

/// All but requests to the human, which are filed.
fn without_mail(world: &Sandbox) -> Vec<(std::path::PathBuf, String)> {
    let mail = |path: &std::path::Path| path.components().any(|part| part.as_os_str() == "memory" || part.as_os_str() == "inbox");
    world.snapshot("home").into_iter().filter(|(path, _)| !mail(path)).collect()
}

#[test]
fn an_agent_changes_no_level_of_somebody_else_and_nothing_in_the_wall() {
    let world = world();
    let before = without_mail(&world);
    for level in ["home/r/services/billing", "home"] {
        for (verb, args) in JUDGED {
            // Making an agent below the home is a write in nobody's directory.
            if level == "home" && matches!(*verb, "new" | "inherit" | "own" | "disown" | "extract") {
                continue;
            }
            for cwd in ["home/r/agents/alice", level] {
                let run = alice(&world, cwd, args, level);
                let nothing_to_do = run.code == Some(0) && matches!(*verb, "disconnect" | "init");
                assert!(run.code == Some(1) || nothing_to_do, "{args:?} in {cwd} on {level}: {run:?}");
                assert_eq!(without_mail(&world), before, "{args:?} in {cwd} on {level}");
            }
        }
    }
    alice(&world, "home/r/agents/alice", &["toggle", "rules/v", "off", "--level", "LEVEL", "--vendor"], "home").exits(1);
    // A dry run says it too, and files nothing.
    let mail = world.snapshot("home");
    let dry = alice(&world, "home", &["toggle", "rules/y", "off", "--dry-run"], "home").exits(0);
    assert!(dry.stderr.contains("only a person may do this"), "{}", dry.stderr);
    let refused =
        alice(&world, "home/r", &["toggle", "rules/y", "off", "--level", "LEVEL", "--dry-run"], "home/r/services/billing").exits(1);
    assert!(refused.stderr.contains("refused: ") && refused.stderr.contains("is billing's"), "{}", refused.stderr);
    assert_eq!(world.snapshot("home"), mail);
}

#[test]
fn an_agent_equips_itself_and_a_person_equips_everybody() {
    let world = world();
    let own = "home/r/agents/alice";
    for args in [&["toggle", "rules/y", "off"][..], &["toggle", "rules/y", "on"], &["equip", "k"], &["unequip"], &["sets", "save", "zz"]] {
        alice(&world, own, args, own).exits(0);
    }
    alice(&world, own, &["loadout", "archive", "q", "--here"], own).exits(0);
    alice(&world, own, &["loadout", "rm", "q"], own).exits(0);
    for level in ["home/r/services/billing", "home"] {
        world.loci(level, ["toggle", "rules/y", "off"]).exits(0);
        world.loci(level, ["loadout", "archive", "q", "--here"]).exits(0);
        world.loci(level, ["loadout", "rm", "q"]).exits(0);
    }
}

/// Starts calls at the same time, and waits for all of them.
fn at_once(calls: Vec<std::process::Command>) -> Vec<Run> {
    let threads: Vec<_> = calls.into_iter().map(|mut call| std::thread::spawn(move || Run::of(&mut call, None))).collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

#[test]
fn of_many_that_make_one_id_one_does() {
    let world = Sandbox::new();
    world.dir("r/.git");
    let call = |at: usize| {
        let mut call = world.command("r");
        call.args(["new", &format!("y{at}"), "--id", "same"]);
        call
    };
    let runs = at_once((0..8).map(call).collect());
    let made = (0..8).filter(|at| world.path(format!("r/y{at}")).exists()).count();
    assert_eq!((runs.iter().filter(|run| run.code == Some(0)).count(), made), (1, 1), "{runs:?}");
    assert!(runs.iter().all(|run| run.code == Some(0) || run.stderr.contains("is that already")), "{runs:?}");
}

#[test]
fn of_many_that_connect_or_disconnect_all_are_content() {
    let world = Sandbox::new();
    world.dir("r").file("home/.claude/settings.json", "{\n  \"model\": \"x\"\n}\n");
    let before = world.snapshot("home");
    let temp = "home/.claude/.loci-tmp-2147483000-0";
    world.file(temp, "left by a run that was killed");
    for verb in ["connect", "disconnect"] {
        let call = |harness: &str| {
            let mut call = world.command("r");
            call.args([verb, harness]);
            call
        };
        let runs = at_once((0..8).map(|at| call(if at % 2 == 0 { "claude" } else { "codex" })).collect());
        assert!(runs.iter().all(|run| run.code == Some(0)), "{verb}: {runs:?}");
        assert_eq!(world.read("home/.claude/settings.json").contains("gate --for claude"), verb == "connect");
        assert!(!world.path(temp).exists());
    }
    assert_eq!(world.read("home/.claude/settings.json"), "{\n  \"model\": \"x\"\n}\n");
    let mut after = world.snapshot("home");
    after.retain(|path, _| !path.starts_with(".loci"));
    assert_eq!(after, before);
}

#[test]
fn a_directory_whose_dotdir_is_lost_is_closed_and_a_file_of_that_name_is_said() {
    let world = Sandbox::new();
    world.dir("r/.git").file("r/agents/alice/.loci/agent.md", "---\nid: alice\n---\n");
    world.link("r/lost/.loci", "/nowhere/at/all").file("r/plain/.loci", "");
    let run = world.loci("r/agents/alice", ["check", "../../lost/x.rs"]).exits(1);
    assert!(run.stdout.contains("lost/.loci") || run.stderr.contains("lost/.loci"), "{run:?}");
    let found = world.loci("r", ["doctor"]).exits(1);
    for path in ["lost/.loci", "plain/.loci"] {
        assert!(found.stdout.contains(path), "{path}: {}", found.stdout);
    }
}

#[test]
fn a_foreign_file_behind_a_set_is_not_quoted() {
    let world = Sandbox::new();
    world.file("r/.loci/rules/a.md", "a").file("secret.yaml", "api: s3cr3t-value\nother: x\n").dir("r/.loci/sets");
    world.link("r/.loci/sets/s.yaml", "../../../secret.yaml");
    for args in [&["equip", "s"][..], &["sets", "show", "s"], &["equip", "s", "--json"]] {
        let run = world.loci("r", args).exits(2);
        assert!(!run.stderr.contains("api") && !run.stdout.contains("api") && !run.stderr.contains("s3cr3t"), "{run:?}");
    }
    world.file("r/.loci/sets/long.yaml", format!("{}: {{}}\n", "x".repeat(5000)));
    let run = world.loci("r", ["equip", "long"]).exits(2);
    assert!(run.stderr.len() < 600, "{}", run.stderr.len());
}

#[test]
fn a_text_without_end_is_not_handed_over() {
    let world = Sandbox::new();
    world.file("r/owned/.loci/owner.md", "---\nowner: bob\n---\n").file("r/alice/.loci/agent.md", "---\nid: alice\n---\n");
    let target = world.path("r/owned/x");
    let payload = serde_json::json!({
        "session_id": "s", "hook_event_name": "PreToolUse", "cwd": world.path("r/alice"), "tool_name": "Write",
        "tool_input": { "file_path": target, "content": "x" },
    });
    let mut gate = world.command("r/alice");
    gate.args(["gate", "--for", "claude"]);
    Run::of(&mut gate, Some(payload.to_string().as_bytes())).exits(2);
    let sent = world.read("r/alice/.loci/memory/sent/log.jsonl");
    let id = serde_json::from_str::<serde_json::Value>(sent.lines().next().unwrap()).unwrap()["id"].as_str().unwrap().to_owned();
    let before = world.snapshot("r");
    let run = world.loci("r/alice", ["handover", &id, &"x".repeat(16 * 1024 + 1)]).exits(2);
    assert!(run.stderr.starts_with("error: ") && run.stderr.contains("16384"), "{}", run.stderr);
    assert_eq!(world.snapshot("r"), before);
    world.loci("r/alice", ["handover", &id, &"x".repeat(16 * 1024)]).exits(0);
}

#[test]
fn whoever_gets_exit_2_reads_why() {
    let world = Sandbox::new();
    world.file("r/.loci/rules/a.md", "a");
    let full = |args: &[&str]| {
        let out = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let done = world.command("r").args(args).stdout(out).output().unwrap();
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    if std::path::Path::new("/dev/full").exists() {
        for args in [&["--help"][..], &["equip", "--json"], &["nonsense", "--json"], &["sets", "show", "nowhere", "--json"]] {
            let (code, stderr) = full(args);
            assert!(code == Some(2) && stderr.starts_with("error: "), "{args:?}: {code:?} {stderr}");
        }
    }
    let bare = world.loci("r", [] as [&str; 0]).exits(2);
    assert!(bare.stderr.starts_with("error: a verb is missing\n") && bare.stderr.contains("Usage"), "{}", bare.stderr);
}
