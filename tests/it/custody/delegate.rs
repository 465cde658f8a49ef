//! `loci delegate`: asking an owner without having tried.

use std::fs;
use std::process::Command;

use crate::cases::filetool::fixture;
use crate::sandbox::{Run, Sandbox};

fn letters(world: &Sandbox, place: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(world.path(place).join(".loci/memory/inbox/new")) else { return Vec::new() };
    entries.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect()
}

#[test]
fn an_agent_asks_with_what_it_read_and_wants() {
    let world = fixture();
    let args = ["delegate", "bob", "--reads", "owned/a.txt:1-2", "--reads", "free/x.txt", "--idea", "Say beta once", "--json"];
    let mut command = world.command("home/repo");
    command.args(args).env("LOCI_AGENT", "alice").env("LOCI_BODY", world.path("home/repo"));
    let said = Run::of(&mut command, None).exits(0).json();
    assert_eq!((said["from"].as_str(), said["messages"][0]["again"].as_bool()), (Some("alice"), Some(false)));
    let letter = &letters(&world, "home/repo/owned")[0];
    let read = format!(
        "  - \"{}:1-2\"\n  - \"{}\"\n",
        world.path("home/repo/owned/a.txt").display(),
        world.path("home/repo/free/x.txt").display()
    );
    for part in ["kind: delegation", "from: \"alice\"", "tool: \"delegate\"", "change: \"none\"", "## Idea", "Say beta once", &read] {
        assert!(letter.contains(part), "{part}: {letter}");
    }
    // The same again is the same message; another idea is another.
    let mut command = world.command("home/repo");
    command.args(args).env("LOCI_AGENT", "alice").env("LOCI_BODY", world.path("home/repo"));
    assert_eq!(Run::of(&mut command, None).exits(0).json()["messages"][0]["again"], true);
    assert_eq!(letters(&world, "home/repo/owned").len(), 1);
}

#[test]
fn what_is_missing_or_not_the_owners_is_refused() {
    let world = fixture();
    for (args, code, part) in [
        (&["delegate", "bob", "--idea", "x"][..], 2, "--reads"),
        (&["delegate", "bob", "--reads", "owned/a.txt"], 2, "--idea"),
        (&["delegate", "bob", "--reads", "owned/a.txt", "free/x.txt", "--idea", "x"], 2, "free/x.txt"),
        (&["delegate", "bbo", "--reads", "owned/a.txt", "--idea", "x"], 2, "did you mean `bob`?"),
        (&["delegate", "bob", "--reads", "owned/a.txt", "--idea", " "], 2, "empty"),
        (&["delegate", "bob", "--reads", "nowhere", "--idea", "x"], 2, "not there"),
        (&["delegate", "bob", "--reads", "free/x.txt", "--idea", "x"], 2, "nothing of what you read"),
        (&["delegate", "bob", "--reads", "owned/a.txt", "--target", "free/x.txt", "--idea", "x"], 1, "not bob's"),
        (&["delegate", "carol", "--reads", "owned/a.txt", "--target", "owned/a.txt", "--idea", "x"], 1, "not carol's"),
        (&["delegate", "bob", "--reads", "owned/a.txt", "--target", "owned/.loci/owner.md", "--idea", "x"], 1, "not bob's"),
    ] {
        let run = world.loci("home/repo", args);
        assert_eq!(run.code, Some(code), "{args:?}: {run:?}");
        assert!(run.stderr.contains(part), "{args:?}: {}", run.stderr);
    }
    // A person who stands in the body is the owner, and is told so.
    world.file("home/repo/bobs/.loci/agent.md", "---\nid: bob\n---\n").file("home/repo/bobs/x.txt", "x\n");
    for args in [&["--reads", "x.txt"][..], &["--reads", "x.txt", "--target", "x.txt"], &["--reads", "x.txt", "--target", "../free/x.txt"]]
    {
        let all: Vec<&str> = ["delegate", "bob", "--idea", "x"].iter().chain(args).copied().collect();
        let said = world.loci("home/repo/bobs", all).exits(2).stderr;
        assert!(said.contains("whoever asks from here is bob") && said.contains("hint: cd "), "{args:?}: {said}");
    }
    // What was read takes one word: the owner may stand behind it.
    let dry = world.loci("home/repo", ["delegate", "--reads", "owned/a.txt", "bob", "--idea", "x", "--dry-run"]).exits(0);
    assert!(dry.stdout.contains("would be"));
    assert!(letters(&world, "home/repo/owned").is_empty());
}

#[test]
fn a_patch_goes_along_and_can_be_applied() {
    let world = fixture();
    world.file("p.diff", "--- a/owned/a.txt\n+++ b/owned/a.txt\n@@ -1,3 +1,3 @@\n alpha\n-beta\n+BETA\n gamma\n");
    world.loci("home/repo", ["delegate", "bob", "--reads", "owned/a.txt", "--idea", "x", "--patch", "../../p.diff"]).exits(0);
    assert!(letters(&world, "home/repo/owned")[0].contains("+BETA"));
    let list = world.loci("home/repo/owned", ["inbox", "--json"]).exits(0).json();
    world.loci("home/repo/owned", ["inbox", "apply", list["messages"][0]["id"].as_str().unwrap()]).exits(0);
    assert_eq!(world.read("home/repo/owned/a.txt"), "alpha\nBETA\ngamma\n");
    // One that touches more than the owner's is refused as a whole.
    world.file(
        "p.diff",
        "--- a/owned/a.txt\n+++ b/owned/a.txt\n@@ -1 +1 @@\n-alpha\n+A\n--- a/free/x.txt\n+++ b/free/x.txt\n@@ -1 +1 @@\n-x1\n+x\n",
    );
    assert!(
        world
            .loci("home/repo", ["delegate", "bob", "--reads", "owned/a.txt", "--idea", "x", "--patch", "../../p.diff"])
            .exits(1)
            .stderr
            .contains("free/x.txt")
    );
    world.file("p.diff", "no patch\n");
    world.loci("home/repo", ["delegate", "bob", "--reads", "owned/a.txt", "--idea", "x", "--patch", "../../p.diff"]).exits(2);
}

#[test]
fn a_person_asks_and_is_answered() {
    let world = Sandbox::new();
    world.file("repo/owned/.loci/owner.md", "---\nowner: bob\n---\n").file("repo/owned/a.txt", "alpha\n");
    world.loci("repo", ["delegate", "bob", "--reads", "owned/a.txt", "--idea", "Louder"]).exits(0);
    let letter = &letters(&world, "repo/owned")[0];
    assert!(letter.contains("from: \"human\""), "{letter}");
    let id = letter.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().trim_matches('"').to_owned();
    world.loci("repo", ["handover", &id, "By a lot"]).exits(0);
    let done = world.loci("repo/owned", ["inbox", "done", &id, "--reply", "ALPHA it is"]).exits(0);
    assert!(done.stdout.contains("human's inbox"), "{}", done.stdout);
    assert!(letters(&world, "home")[0].contains("ALPHA it is"));
}

#[test]
fn a_sender_that_waits_is_told_each_step_and_ends_with_the_answer() {
    use std::io::{BufRead as _, BufReader};
    use std::process::Stdio;
    for (verb, text, code) in [("done", "--reply", 0), ("decline", "--why", 1)] {
        let world = fixture();
        world.file("p.diff", "--- a/owned/a.txt\n+++ b/owned/a.txt\n@@ -1,3 +1,3 @@\n alpha\n-beta\n+BETA\n gamma\n");
        let args = ["delegate", "bob", "--reads", "owned/a.txt", "--idea", "x", "--patch", "../../p.diff", "--wait", "--json"];
        let mut child = world.command("home/repo").args(args).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut next = || serde_json::from_str::<serde_json::Value>(&lines.next().unwrap().unwrap()).unwrap();
        let filed = next();
        assert_eq!(
            (filed["type"].as_str(), filed["event"].as_str(), filed["to"].as_str()),
            (Some("delegation"), Some("filed"), Some("bob"))
        );
        let id = filed["id"].as_str().unwrap().to_owned();
        world.loci("home/repo/owned", ["inbox", "take", &id]).exits(0);
        assert_eq!(next()["event"], "taken");
        world.loci("home/repo/owned", ["inbox", "apply", &id]).exits(0);
        assert_eq!(next()["event"], "applied");
        world.loci("home/repo/owned", ["inbox", verb, &id, text, "see a.txt"]).exits(0);
        let last = next();
        assert_eq!(
            (last["event"].as_str(), last["text"].as_str()),
            (Some(if code == 0 { "answered" } else { "declined" }), Some("see a.txt"))
        );
        assert_eq!((last["id"].as_str(), lines.next().is_none()), (Some(id.as_str()), true));
        assert_eq!(child.wait().unwrap().code(), Some(code));
        // Asked once more, it is answered already: in words, with the text set apart.
        let again = world.loci("home/repo", &args[..args.len() - 1]).exits(code);
        assert!(
            again.stdout.contains("  applied\n") && again.stdout.contains("what bob wrote") && again.stdout.contains("see a.txt"),
            "{}",
            again.stdout
        );
    }
}

#[test]
fn waiting_ends_by_its_time_and_with_its_reader() {
    use std::process::Stdio;
    let world = fixture();
    let args = ["delegate", "bob", "--reads", "owned/a.txt", "--idea", "x", "--wait", "--timeout"];
    let run = world.loci("home/repo", args.iter().chain(&["1s"])).exits(2);
    assert!(
        run.stderr.contains("none came in 1 s") && run.stderr.contains("hint: loci inbox") && run.stdout.contains("  filed\n"),
        "{run:?}"
    );
    let mut child = world.command("home/repo").args(args).arg("1h").stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_ne!(child.wait().unwrap().code(), Some(0));
    for odd in ["0s", "x", "1"] {
        world.loci("home/repo", args.iter().chain(&[odd])).exits(2);
    }
    world.loci("home/repo", ["delegate", "bob", "--reads", "owned/a.txt", "--idea", "x", "--timeout", "1m"]).exits(2);
}

#[test]
fn a_branch_is_handed_over_without_running_what_the_repository_names() {
    let world = Sandbox::new();
    world
        .file("repo/owned/.loci/owner.md", "---\nowner: bob\n---\n")
        .file("repo/owned/a.txt", "alpha\nbeta\n")
        .file("repo/free.txt", "x\n");
    let git = |args: &[&str]| {
        let run = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "init.defaultBranch=main"])
            .args(args)
            .current_dir(world.path("repo"))
            .env("HOME", world.path("home"))
            .output();
        let Ok(output) = run else { return false };
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        true
    };
    if !git(&["init", "-q"]) {
        println!("skipped: git is not installed");
        return;
    }
    git(&["add", "-A"]);
    git(&["commit", "-qm", "one"]);
    git(&["checkout", "-qb", "louder"]);
    world.file("repo/owned/a.txt", "ALPHA\nbeta\n").file("repo/owned/n.bin", [0_u8, 255, 1]).file("repo/free.txt", "y\n");
    git(&["add", "-A"]);
    git(&["commit", "-qm", "two"]);
    git(&["checkout", "-q", "main"]);
    // main goes on in the same file; and the repository names programs.
    world.file("repo/owned/a.txt", "alpha\nBETA\n").file("repo/.gitattributes", "* diff=evil filter=evil\n");
    world.exec("evil", format!("#!/bin/sh\ntouch {}\ncat\n", world.path("ran").display()));
    let evil = world.path("evil").display().to_string();
    for key in ["diff.evil.command", "diff.evil.textconv", "filter.evil.smudge", "core.fsmonitor", "diff.external", "core.pager"] {
        git(&["config", key, &evil]);
    }
    let _ = fs::remove_file(world.path("ran"));
    let run = world.loci("repo", ["delegate", "bob", "--reads", "owned/a.txt", "--idea", "Louder", "--from-branch", "louder"]);
    let run = run.exits(0);
    assert!(run.stderr.contains("left out, not bob's: 1 file of the branch"), "{}", run.stderr);
    assert!(!world.path("ran").exists());
    let list = world.loci("repo/owned", ["inbox", "bob", "--json"]).exits(0).json();
    world.loci("repo", ["inbox", "apply", list["messages"][0]["id"].as_str().unwrap()]).exits(1);
    // `alpha` and `beta` touch each other: at odds. Apart from each other they merge.
    world.file("repo/owned/a.txt", "alpha\nbeta\nmore\nlines\n");
    world.loci("repo", ["inbox", "apply", list["messages"][0]["id"].as_str().unwrap()]).exits(0);
    assert_eq!(world.read("repo/owned/a.txt"), "ALPHA\nbeta\nmore\nlines\n");
    assert_eq!(fs::read(world.path("repo/owned/n.bin")).unwrap(), [0, 255, 1]);
    for odd in ["nowhere", "--output=x", ""] {
        let run = world.loci("repo", ["delegate", "bob", "--reads", "owned/a.txt", "--idea", "x", &format!("--from-branch={odd}")]);
        assert_eq!(run.code, Some(2), "{odd}: {run:?}");
    }
    assert!(!world.path("repo/x").exists());
}
