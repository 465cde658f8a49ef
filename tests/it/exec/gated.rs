//! A shell call for which reading is not enough, as the gate and the relay after it take it: held where the
//! harness lets a hook rewrite it without standing in for its user, looked at afterwards where not.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::{World, as_each, skipped, there};
use crate::sandbox::Run;

/// A world with a program that nobody can read.
fn world(user: Option<u32>) -> World {
    let world = World::new(user);
    std::fs::copy("/bin/bash", world.repo().join("free/prog")).unwrap();
    world
        .world()
        .file("home/repo/free/hit.sh", "echo changed > bob/x.txt\ncd deep/a\n")
        .file("home/repo/free/calm.sh", "cd deep/a; exit 7\n");
    world.own();
    world
}

fn payload(world: &World, event: &str, command: &str, call: &str, mode: &str) -> Vec<u8> {
    json!({
        "hook_event_name": event, "session_id": "s-1", "cwd": world.repo(), "tool_name": "Bash", "tool_use_id": call,
        "tool_input": { "command": command, "timeout": 5000, "description": "d" }, "permission_mode": mode, "tool_response": { "stdout": "" },
    })
    .to_string()
    .into_bytes()
}

fn gate(world: &World, harness: &str, command: &str, call: &str, mode: &str) -> Run {
    Run::of(&mut world.loci(["gate", "--for", harness]), Some(&payload(world, "PreToolUse", command, call, mode)))
}

fn after(world: &World, harness: &str, command: &str, call: &str) -> Run {
    Run::of(&mut world.loci(["hook", "after-tool", "--for", harness]), Some(&payload(world, "PostToolUse", command, call, "default")))
}

fn policy(world: &World, text: &str) {
    world.world().file("home/.loci/config.yaml", text);
    world.own();
}

/// The input that the harness is to call its tool with instead.
fn input(run: &Run) -> Option<Value> {
    let said: Value = serde_json::from_str(&run.stdout).ok()?;
    said["hookSpecificOutput"].get("updatedInput").cloned()
}

/// What a shell does with the rewritten command, and where it stands then.
fn carried_out(world: &World, input: &Value) -> Run {
    let command = input["command"].as_str().unwrap();
    Run::of(&mut world.shell(&format!("{command}\necho \"code $?\"; pwd")), None)
}

fn steps(world: &World) -> Vec<Value> {
    let text = world.world().read("state/loci/trail/s-1.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn mail(world: &World) -> Vec<String> {
    let dir: PathBuf = "home/repo/bob/.loci/memory/inbox/new".into();
    if !world.path(&dir).is_dir() {
        return Vec::new();
    }
    world.world().snapshot(dir).into_values().filter(|text| text.contains("kind: ")).collect()
}

/// Nobody is asked anyway: the command runs in a jail, with a layer; the shell goes on where it ended, and
/// the owner has the patch.
#[test]
fn a_call_that_nobody_is_asked_about_is_held() {
    as_each(|plain| {
        let world = world(plain.user);
        let before = world.theirs();
        let run = gate(&world, "claude", "free/prog free/calm.sh; . free/hit.sh", "c-0", "bypassPermissions");
        assert!(run.code == Some(2), "what reading refuses is refused before: {run:?}");
        for (nth, (command, code, dir)) in [
            ("free/prog free/hit.sh; cd deep; false", 1, "deep"),
            ("free/prog -c 'exit 3'", 3, ""),
            ("cd deep/a && ../../free/prog -c 'exit 4'", 4, "deep/a"),
            ("free/prog free/hit.sh & wait", 0, ""),
            ("echo 'a  b' \"$HOME\" | cat; free/prog -c :", 0, ""),
        ]
        .into_iter()
        .enumerate()
        {
            let call = format!("c-{}", nth + 1);
            let run = gate(&world, "claude", command, &call, "bypassPermissions").exits(0);
            let input = input(&run).unwrap_or_else(|| panic!("{command}: {run:?}"));
            // The whole input comes back, and no leave with it: what its user says still counts.
            assert_eq!((input["timeout"].as_i64(), input["description"].as_str()), (Some(5000), Some("d")));
            assert!(!run.stdout.contains("permissionDecision"), "{run:?}");
            let done = carried_out(&world, &input);
            let wanted = format!("code {code}\n{}\n", world.repo().join(dir).display());
            assert!(done.stdout.ends_with(&wanted.replace("/\n", "\n")), "{command}: {done:?}");
            assert!(before == world.theirs(), "{command}: {done:?}");
            let hits = command.contains("hit");
            assert_eq!(done.stderr.contains("loci: captured, NOT applied: write bob/x.txt"), hits, "{command}: {done:?}");
            assert_eq!(done.stderr.contains("go on with what does not depend on it"), hits, "{command}: {done:?}");
            let after = after(&world, "claude", command, &call).exits(0);
            assert!(!after.stdout.contains("has changed") && !after.stderr.contains("outside custody"), "{after:?}");
            let step = steps(&world).pop().unwrap();
            assert_eq!((step["passed"].as_bool(), step["filed"].is_array()), (Some(!hits), hits), "{step}");
        }
        // Some of the session's are commands that went on by themselves; what was captured is in the others.
        let all: Vec<String> = mail(&world).into_iter().filter(|text| text.contains("session: \"s-1\"")).collect();
        let captured =
            |text: &String| text.contains("from: \"alice\"") && text.contains("harness: \"claude\"") && text.contains("+changed");
        assert!(all.iter().any(captured), "{all:?}");
        assert!(std::fs::read_dir(world.path("state/loci/calls")).unwrap().next().is_none());
    });
}

/// Where its user is asked, the call stays as it is: it is said once a session, and what has changed is told
/// to the owner and to the model.
#[test]
fn a_call_that_its_user_is_asked_about_is_looked_at_afterwards() {
    let world = world(None);
    let command = "free/prog free/hit.sh";
    let run = gate(&world, "claude", command, "c-1", "default").exits(0);
    assert!(input(&run).is_none() && run.stderr.contains("is not held in this session: a rewritten call would go past"), "{run:?}");
    assert!(run.stderr.contains("`loci run --jail` holds it") && run.stderr.contains("`rewrite: [claude]`"), "{run:?}");
    assert!(world.plain("bash", ["-c", command]).status().unwrap().success());
    let run = after(&world, "claude", command, "c-1").exits(0);
    let told = run.json()["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned();
    assert!(told.contains("bob/x.txt (bob's)") && told.contains("Nothing was taken back"), "{told}");
    let slip = mail(&world).pop().unwrap();
    assert!(slip.contains("kind: slip") && slip.contains("bob/x.txt"), "{slip}");
    assert_eq!(steps(&world).pop().unwrap()["passed"], false);
    // The second time it goes without saying; what has not changed is not told.
    let run = gate(&world, "claude", "free/prog -c true", "c-2", "default").exits(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    let run = after(&world, "claude", "free/prog -c true", "c-2").exits(0);
    assert!(!run.stdout.contains("has changed") && mail(&world).len() == 1, "{run:?}");
    // What was removed is told from git's index, what git ignores is nobody's work.
    world.world().file("home/repo/.gitignore", "*.o\n");
    gate(&world, "claude", "free/prog -c x", "c-3", "default").exits(0);
    std::fs::remove_file(world.repo().join("bob/dir1/one")).unwrap();
    world.world().file("home/repo/carol/c.o", "x\n");
    let run = after(&world, "claude", "free/prog -c x", "c-3").exits(0);
    assert!(run.stdout.contains("bob/dir1/one (bob's, removed)") && !run.stdout.contains("c.o"), "{run:?}");
}

/// A harness that takes another input only with leave to run it gets none, unless its user has said so.
#[test]
fn leave_is_given_only_where_the_user_has_said_so() {
    let world = world(None);
    let unreadable = "free/prog free/hit.sh";
    let run = gate(&world, "codex", unreadable, "c-1", "default").exits(0);
    assert!(input(&run).is_none() && !run.stdout.contains("allow\""), "{run:?}");
    policy(&world, "rewrite: [codex]\n");
    let before = world.theirs();
    let run = gate(&world, "codex", unreadable, "c-2", "default").exits(0);
    assert_eq!(run.json()["hookSpecificOutput"]["permissionDecision"], "allow");
    let done = carried_out(&world, &input(&run).unwrap());
    assert!(done.stderr.contains("captured, NOT applied: write bob/x.txt") && before == world.theirs(), "{done:?}");
    // What is typed into a shell later asks nobody, so the shell is held whatever it begins with.
    let run = gate(&world, "codex", "bash -i", "c-3", "default").exits(0);
    let held = input(&run).unwrap()["command"].as_str().unwrap().to_owned();
    let mut shell = world.shell(&held);
    let done = Run::of(&mut shell, Some(b"echo typed > bob/x.txt\necho mine > free/typed\nexit\n"));
    assert!(before == world.theirs() && world.world().read("home/repo/free/typed") == "mine\n", "{done:?}");
    // A patch is taken out of a command by Codex itself.
    let patch = "apply_patch <<'E'\n*** Begin Patch\n*** Add File: free/p\n+x\n*** End Patch\nE";
    assert!(input(&gate(&world, "codex", patch, "c-4", "default").exits(0)).is_none());
}

#[test]
fn what_can_neither_be_read_nor_held_is_refused_where_that_is_required() {
    let world = world(None);
    policy(&world, "custody: required\n");
    let refused = gate(&world, "claude", "free/prog free/hit.sh", "c-1", "default").exits(2);
    let text = refused.json()["reason"].as_str().unwrap().to_owned();
    assert!(text.contains("custody: required") && text.contains("loci exec -- COMMAND"), "{text}");
    assert!(mail(&world).is_empty());
    // What it says works; nothing else that looks like it does.
    gate(&world, "claude", "loci exec -- free/prog free/hit.sh", "c-2", "default").exits(0);
    for other in [
        "loci exec --root /tmp -- free/prog free/hit.sh",
        "LOCI_ROOT=/tmp loci exec -- free/prog free/hit.sh",
        "loci exec -- true; free/prog free/hit.sh",
        "loci exec --as bob -- free/prog free/hit.sh",
    ] {
        gate(&world, "claude", other, "c-3", "default").exits(2);
    }
    gate(&world, "claude", "cat bob/x.txt && git status", "c-4", "default").exits(0);
    assert!(input(&gate(&world, "claude", "free/prog -c true", "c-5", "bypassPermissions").exits(0)).is_some());
    // Without the kernel nothing is tried.
    policy(&world, "custody: read\n");
    let run = gate(&world, "claude", "free/prog free/hit.sh", "c-6", "bypassPermissions").exits(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
}

/// A harness whose hooks can't rewrite anything says once what is not held.
#[test]
fn a_harness_that_rewrites_nothing_says_so() {
    let world = world(None);
    let run = gate(&world, "qwen", "free/prog free/hit.sh", "c-1", "default").exits(0);
    assert!(run.stderr.contains("Qwen Code lets no hook rewrite a call") && !run.stderr.contains("rewrite: ["), "{run:?}");
    assert_eq!(gate(&world, "qwen", "free/prog free/hit.sh", "c-2", "default").exits(0).stderr, "");
}

/// A rewritten call that never came to where it was put.
#[test]
fn what_ran_outside_custody_is_said() {
    let world = world(None);
    gate(&world, "claude", "free/prog free/hit.sh", "c-1", "bypassPermissions").exits(0);
    assert!(world.plain("bash", ["-c", "free/prog free/hit.sh"]).status().unwrap().success());
    let run = after(&world, "claude", "free/prog free/hit.sh", "c-1").exits(0);
    assert!(run.stderr.contains("ran outside custody") && run.stdout.contains("bob/x.txt (bob's)"), "{run:?}");
    // Its key is good for one call, and for no other.
    let loci = env!("CARGO_BIN_EXE_loci");
    for key in ["0123456789abcdef", "../../../x", ""] {
        let run = Run::of(&mut world.shell(&format!("{loci} exec --call '{key}' -- touch free/ran")), None).exits(2);
        assert!(run.stderr.contains("names no call"), "{run:?}");
    }
    assert!(!world.repo().join("free/ran").exists());
}

/// Tried once and kept, and tried again where something else is forbidden.
#[test]
fn whether_there_is_a_jail_is_tried_once() {
    let world = world(None);
    gate(&world, "claude", "free/prog -c true", "c-1", "bypassPermissions").exits(0);
    let kept: Value = serde_json::from_str(&world.world().read("state/loci/jail.json")).unwrap();
    assert_eq!((kept["missing"].is_null(), kept["captures"].as_bool()), (true, Some(true)));
    let ground = kept["ground"].as_str().unwrap();
    let none = json!({ "schema": 1, "ground": ground, "missing": "nobody tried", "captures": false });
    world.world().file("state/loci/jail.json", none.to_string());
    let run = gate(&world, "claude", "free/prog -c true", "c-2", "bypassPermissions").exits(0);
    assert!(
        input(&run).is_none() && run.stderr.contains("there is no jail here: nobody tried") && !run.stderr.contains("--jail"),
        "{run:?}"
    );
    let other = json!({ "schema": 1, "ground": "another start of the machine", "missing": "nobody tried", "captures": false });
    world.world().file("state/loci/jail.json", other.to_string());
    assert!(input(&gate(&world, "claude", "free/prog -c true", "c-3", "bypassPermissions").exits(0)).is_some());
    // A filter that a container would have is another ground, and the cause is named.
    let mut command: Command = world.loci(["gate", "--for", "claude"]);
    super::degrade::without(&mut command, &[nix::libc::SYS_unshare, nix::libc::SYS_mount], nix::libc::EPERM);
    world.world().file("state/loci/sessions/s-1.state.json", "{}\n");
    let run = Run::of(&mut command, Some(&payload(&world, "PreToolUse", "free/prog -c true", "c-4", "bypassPermissions"))).exits(0);
    assert!(run.stderr.contains("failed to make a user and a mount namespace: EPERM; a seccomp filter"), "{run:?}");
}

/// Inside of a jail nothing has to be rewritten or looked at; that it is one can't be claimed.
#[test]
fn inside_a_jail_the_gate_leaves_calls_as_they_are() {
    if !there("python3") {
        return skipped("`python3` is not there");
    }
    let world = world(None);
    let text = String::from_utf8(payload(&world, "PreToolUse", "free/prog free/hit.sh", "c-1", "bypassPermissions")).unwrap();
    world.world().file("home/repo/free/payload", text);
    let loci = env!("CARGO_BIN_EXE_loci");
    let ask = format!("{loci} gate --for claude < free/payload");
    let run = world.run(&ask).exits(0);
    assert!(input(&run).is_none() && !run.stderr.contains("is not held"), "{run:?}");
    let run = Run::of(world.shell(&ask).env("LOCI_JAIL", "mnt:[1]"), None).exits(0);
    assert!(input(&run).is_some(), "{run:?}");
}
