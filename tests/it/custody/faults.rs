//! Every operation on the disk fails once, and the program is killed after every one: nothing is
//! lost, and one more run ends where an undisturbed one does.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{agent, attempt};
use crate::cases::filetool::fixture;
use crate::sandbox::{Run, Sandbox};
use crate::sweep::seen::masked;

/// A tree with what differs from run to run (times, ids, places) made equal.
type Tree = BTreeMap<String, String>;

/// Replaces runs of digits, and keys, by `#`.
fn same(text: &str) -> String {
    masked(text, |_, hex, digits| if hex >= 16 { hex } else { digits })
}

fn tree(world: &Sandbox, rel: &str) -> Tree {
    world.snapshot(rel).into_iter().map(|(path, what)| (same(&path.to_string_lossy()), same(&what))).collect()
}

/// Leftovers that a killed run may leave: built aside, never read as anything.
fn without_aside(tree: &Tree) -> Tree {
    tree.iter()
        .filter(|(path, _)| !path.contains(".loci-tmp") && !path.contains("inbox/tmp/"))
        .map(|(path, what)| (path.clone(), what.clone()))
        .collect()
}

struct Story<'a> {
    /// Makes the world.
    setup: &'a dyn Fn() -> (Sandbox, Vec<String>),
    /// Where the program runs.
    cwd: &'a str,
    /// Whether an agent runs it.
    inside: bool,
    /// What of the world counts.
    what: &'a str,
}

impl Story<'_> {
    fn run(&self, world: &Sandbox, args: &[String], fault: Option<&str>) -> Run {
        let mut command: Command = world.command(self.cwd);
        command.args(args);
        if self.inside {
            command.env("LOCI_ANCESTORS", "claude");
        }
        if let Some(fault) = fault {
            command.env("LOCI_FAULT", fault);
        }
        Run::of(&mut command, None)
    }

    /// Tells the story with every fault. `between` looks at the world after the fault; old and new
    /// tree are given.
    fn tell(&self, between: &dyn Fn(&Sandbox, &Tree, &Tree, &str)) {
        let (world, args) = (self.setup)();
        let old = tree(&world, self.what);
        let log = world.path("ops");
        let clean = self.run(&world, &args, Some(&format!("log:{}", log.display())));
        assert!(matches!(clean.code, Some(0 | 1)), "{} {}", clean.stdout, clean.stderr);
        let new = tree(&world, self.what);
        assert_ne!(old, new);
        let count = fs::read_to_string(&log).unwrap().lines().count();
        assert!(count >= 1);
        for n in 1..=count {
            for fault in [format!("fail:{n}:28"), format!("fail:{n}:13"), format!("kill:{n}")] {
                let (world, args) = (self.setup)();
                let run = self.run(&world, &args, Some(&fault));
                if fault.starts_with("kill") {
                    assert_eq!(run.code, None, "{fault}");
                } else if run.code == Some(2) {
                    assert!(run.stderr.starts_with("error: "), "{fault}: {}", run.stderr);
                }
                between(&world, &old, &new, &fault);
                let again = self.run(&world, &args, None);
                assert!(matches!(again.code, Some(0 | 1)), "{fault}, again: {}{}", again.stdout, again.stderr);
                assert_eq!(tree(&world, self.what), new, "{fault}: one more run does not repair it");
            }
        }
    }
}

fn strings(args: &[&str]) -> Vec<String> {
    args.iter().map(|arg| (*arg).to_owned()).collect()
}

fn old_or_new(world: &Sandbox, old: &Tree, new: &Tree, fault: &str) {
    let now = without_aside(&tree(world, "r"));
    assert!(now == *old || now == *new, "{fault}: neither the old tree nor the new one: {now:#?}");
}

#[test]
fn own_and_disown() {
    let bare = || {
        let world = Sandbox::new();
        world.dir("r/d").file("r/a/.loci/agent.md", "---\nid: bob\n---\n");
        (world, strings(&["own", "d", "--as", "bob"]))
    };
    Story { setup: &bare, cwd: "r", inside: false, what: "r" }.tell(&old_or_new);
    let with_dotdir = || {
        let (world, args) = bare();
        world.file("r/d/.loci/rules/a.md", "x");
        (world, args)
    };
    Story { setup: &with_dotdir, cwd: "r", inside: false, what: "r" }.tell(&old_or_new);
    let owned = || {
        let world = Sandbox::new();
        world.file("r/d/.loci/owner.md", "---\nowner: bob\n---\n");
        (world, strings(&["disown", "d"]))
    };
    Story { setup: &owned, cwd: "r", inside: false, what: "r" }.tell(&old_or_new);
    let owned_with_more = || {
        let (world, args) = owned();
        world.file("r/d/.loci/rules/a.md", "x");
        (world, args)
    };
    Story { setup: &owned_with_more, cwd: "r", inside: false, what: "r" }.tell(&old_or_new);
}

/// A world with one message of alice's to bob, and its id.
fn with_mail() -> (Sandbox, String) {
    let world = fixture();
    let alice = agent("alice", world.path("home/repo"));
    let (_, deliveries) = attempt(&world, &alice, &world.path("home/repo/owned/a.txt"), "x\n");
    let id = deliveries[0].outcome.as_ref().unwrap().id.clone();
    (world, id)
}

/// The files in `new/` and `cur/` of an inbox.
fn letters(world: &Sandbox, place: &str) -> Vec<PathBuf> {
    ["new", "cur"]
        .iter()
        .filter_map(|dir| fs::read_dir(world.path(place).join(".loci/memory/inbox").join(dir)).ok())
        .flat_map(|entries| entries.map(|entry| entry.unwrap().path()))
        .collect()
}

/// Bob's message is there once and whole; the answer at most once and whole.
fn nothing_lost(world: &Sandbox, _: &Tree, _: &Tree, fault: &str) {
    let whole = |path: &Path| fs::read_to_string(path).unwrap().ends_with("```\n");
    let bobs = letters(world, "home/repo/owned");
    assert!(bobs.len() == 1 && whole(&bobs[0]), "{fault}: {bobs:?}");
    let answers = letters(world, "home/repo");
    assert!(answers.len() <= 1 && answers.iter().all(|path| whole(path)), "{fault}: {answers:?}");
    world.loci("home/repo/owned", ["inbox", "--json"]).exits(0);
}

#[test]
fn take_done_and_decline() {
    for verb in [&["take"][..], &["done", "--reply", "It is done"], &["decline", "--why", "It is not"]] {
        let setup = || {
            let (world, id) = with_mail();
            let mut args = strings(&["inbox"]);
            args.extend(strings(verb));
            args.insert(2, id);
            (world, args)
        };
        Story { setup: &setup, cwd: "home/repo/owned", inside: false, what: "home/repo" }.tell(&nothing_lost);
    }
}

/// Whatever stopped the first answer: another one after it does not reach the sender beside it.
#[test]
fn an_answer_that_was_begun_is_the_only_one() {
    for n in 1..40 {
        let (world, id) = with_mail();
        let first = Story { setup: &|| unreachable!(), cwd: "home/repo/owned", inside: false, what: "home/repo" };
        let run = first.run(&world, &strings(&["inbox", "done", &id, "--reply", "It is done"]), Some(&format!("kill:{n}")));
        let second = world.loci("home/repo/owned", ["inbox", "decline", &id, "--why", "It is not"]);
        let answers = letters(&world, "home/repo");
        assert_eq!(answers.len(), 1, "kill:{n}: {answers:?} {}", second.stderr);
        let said = fs::read_to_string(&answers[0]).unwrap();
        let state = world.loci("home/repo/owned", ["inbox", "--json"]).exits(0).json()["messages"][0]["state"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert_eq!(state == "done", said.contains("It is done"), "kill:{n}: {state}, {said}");
        if run.code == Some(0) {
            return;
        }
    }
    panic!("never through");
}

#[test]
fn handover() {
    let setup = || {
        let (world, id) = with_mail();
        (world, strings(&["handover", &id, "I read it"]))
    };
    Story { setup: &setup, cwd: "home/repo", inside: false, what: "home/repo" }.tell(&nothing_lost);
}

/// The file is the old one or the new one, whole; the message is there.
#[test]
fn apply() {
    let setup = || {
        let (world, id) = with_mail();
        (world, strings(&["inbox", "apply", &id]))
    };
    let old_or_new = |world: &Sandbox, old: &Tree, new: &Tree, fault: &str| {
        let text = world.read("home/repo/owned/a.txt");
        assert!(text == "alpha\nbeta\ngamma\n" || text == "x\n", "{fault}: {text}");
        nothing_lost(world, old, new, fault);
    };
    Story { setup: &setup, cwd: "home/repo/owned", inside: false, what: "home/repo" }.tell(&old_or_new);
}

#[test]
fn delegate() {
    let setup = || (fixture(), strings(&["delegate", "bob", "--reads", "owned/a.txt", "--idea", "Once, at the end"]));
    let at_most_one = |world: &Sandbox, _: &Tree, _: &Tree, fault: &str| {
        let bobs = letters(world, "home/repo/owned");
        assert!(bobs.len() <= 1 && bobs.iter().all(|path| fs::read_to_string(path).unwrap().ends_with("there is.\n")), "{fault}: {bobs:?}");
    };
    let quiet =
        |tree: &Tree| tree.iter().filter(|(path, _)| !path.ends_with("log.jsonl")).map(|(a, b)| (a.clone(), b.clone())).collect::<Tree>();
    let (world, args) = setup();
    let log = world.path("ops");
    let story = Story { setup: &setup, cwd: "home/repo", inside: false, what: "home/repo" };
    story.run(&world, &args, Some(&format!("log:{}", log.display()))).exits(0);
    let new = quiet(&tree(&world, "home/repo"));
    let count = fs::read_to_string(&log).unwrap().lines().count();
    for n in 1..=count {
        for fault in [format!("fail:{n}:28"), format!("kill:{n}")] {
            let (world, args) = setup();
            story.run(&world, &args, Some(&fault));
            at_most_one(&world, &new, &new, &fault);
            story.run(&world, &args, None).exits(0);
            // The log may say that it was tried again.
            assert_eq!(quiet(&tree(&world, "home/repo")), new, "{fault}");
        }
    }
}

#[test]
fn a_request() {
    let setup = || (fixture(), strings(&["own", "free", "--as", "alice"]));
    // The log may say twice that a request is held; what it says is the same.
    let world_without_log = |world: &Sandbox, _: &Tree, _: &Tree, fault: &str| {
        let log = world.path("home/.loci/memory/inbox/log.jsonl");
        let letters = letters(world, "home");
        assert!(letters.len() <= 1, "{fault}");
        if log.exists() {
            assert_eq!(letters.len(), 1, "{fault}: the log knows a message that is not there");
        }
        assert!(!world.path("home/repo/free/.loci").exists());
    };
    Story { setup: &setup, cwd: "home/repo", inside: true, what: "home/.loci/memory/inbox/held" }.tell_when_made(&world_without_log);
}

/// The answer comes once, and only for what is done; half of it is never there.
fn one_answer(world: &Sandbox, _: &Tree, _: &Tree, fault: &str) {
    let answers = letters(world, "home/repo");
    let owner = world.path("home/repo/free/.loci/owner.md").exists();
    let settings = world.path("home/repo/.claude/settings.json");
    assert!(answers.len() <= 1, "{fault}: {answers:?}");
    assert!(answers.is_empty() || owner || settings.exists(), "{fault}: answered, and not done");
    assert!(owner || !world.path("home/repo/free/.loci").exists(), "{fault}: half an owner");
    assert!(!settings.exists() || fs::read_to_string(settings).unwrap() == "{}\n", "{fault}: half a file");
}

fn approval(world: &Sandbox, id: &str) -> Vec<String> {
    strings(&["approve", id, "--hash", &super::grants::hash(world, id)])
}

#[test]
fn approving_a_verb() {
    let setup = || {
        let world = fixture();
        let mut command = world.command("home/repo");
        command.args(["own", "free", "--as", "alice"]).env("LOCI_ANCESTORS", "claude");
        let id = Run::of(&mut command, None).exits(1).stdout.trim().to_owned();
        let args = approval(&world, &id);
        (world, args)
    };
    Story { setup: &setup, cwd: "home", inside: false, what: "home/repo" }.tell(&one_answer);
}

#[test]
fn approving_a_patch() {
    let setup = || {
        let world = fixture();
        let alice = agent("alice", world.path("home/repo"));
        let (_, deliveries) = attempt(&world, &alice, &world.path("home/repo/.claude/settings.json"), "{}\n");
        let id = deliveries[0].outcome.as_ref().unwrap().id.clone();
        let args = approval(&world, &id);
        (world, args)
    };
    Story { setup: &setup, cwd: "home", inside: false, what: "home/repo" }.tell(&one_answer);
}

/// Moving down is done, or it is not: whoever reads finds every file all the time after one more run,
/// and no byte is lost in between.
#[test]
fn extracting() {
    let setup = || {
        let world = Sandbox::new();
        world.file("r/.loci/agent.md", "---\nid: bob\n---\n").file("r/a.txt", "alpha\n").file("r/d/b.txt", "beta\n");
        (world, strings(&["extract", "a.txt", "d", "--into", "deep/child", "--as", "bob"]))
    };
    let nothing_lost = |world: &Sandbox, _: &Tree, _: &Tree, fault: &str| {
        for (name, text) in [("a.txt", "alpha\n"), ("d/b.txt", "beta\n")] {
            let here = fs::read_to_string(world.path("r").join(name));
            let there = fs::read_to_string(world.path("r/deep/child").join(name));
            assert!(here.or(there).is_ok_and(|found| found == text), "{fault}: {name} is lost");
        }
    };
    Story { setup: &setup, cwd: "r", inside: false, what: "r" }.tell(&nothing_lost);
}

#[test]
fn permitting() {
    let setup = || {
        let world = fixture();
        world.dir("state");
        (world, strings(&["permit", "alice", "owned", "--for", "1h"]))
    };
    let whole = |world: &Sandbox, _: &Tree, _: &Tree, fault: &str| {
        let text = fs::read_to_string(world.path("state/loci/grants.jsonl")).unwrap_or_default();
        assert!(text.is_empty() || text.ends_with("}\n"), "{fault}: {text}");
    };
    Story { setup: &setup, cwd: "home/repo", inside: false, what: "home/repo" }.tell_once(&whole);
}

/// The gate refuses whatever fails on its way, and says when nothing could be filed; asked once more
/// it has filed one message.
#[test]
fn a_refusal_at_the_gate() {
    let ask = |world: &Sandbox, fault: Option<&str>| {
        let repo = world.path("home/repo");
        let payload = serde_json::json!({
            "session_id": "s-1", "cwd": repo, "hook_event_name": "PreToolUse", "tool_name": "Write",
            "tool_input": { "file_path": repo.join("owned/a.txt"), "content": "x\n" },
        });
        let mut command = world.command("home/repo");
        command.args(["gate", "--for", "claude"]);
        if let Some(fault) = fault {
            command.env("LOCI_FAULT", fault);
        }
        Run::of(&mut command, Some(payload.to_string().as_bytes()))
    };
    let world = fixture();
    let log = world.path("ops");
    ask(&world, Some(&format!("log:{}", log.display()))).exits(2);
    let clean = tree(&world, "home/repo");
    let count = fs::read_to_string(&log).unwrap().lines().count();
    assert!(count >= 10, "{count}");
    for n in 1..=count {
        for fault in [format!("fail:{n}:28"), format!("kill:{n}")] {
            let world = fixture();
            let run = ask(&world, Some(&fault));
            let filed = letters(&world, "home/repo/owned");
            assert!(filed.len() <= 1, "{fault}");
            if fault.starts_with("fail") {
                assert_eq!(run.code, Some(2), "{fault}: {}{}", run.stdout, run.stderr);
                assert!(run.stderr.contains("handed over"), "{fault}: {}", run.stderr);
                assert!(!filed.is_empty() || run.stderr.contains("could NOT be handed over"), "{fault}: {}", run.stderr);
            }
            let again = ask(&world, None).exits(2);
            assert!(again.stderr.contains("handed over") || again.stderr.contains("filed already"), "{fault}: {}", again.stderr);
            let now = tree(&world, "home/repo");
            let same = |tree: &Tree| {
                tree.iter()
                    .filter(|(path, _)| !path.ends_with("log.jsonl"))
                    .map(|(path, what)| (path.clone(), what.clone()))
                    .collect::<Tree>()
            };
            assert_eq!(same(&now), same(&clean), "{fault}");
            assert_eq!(world.read("home/repo/owned/a.txt"), "alpha\nbeta\ngamma\n");
        }
    }
}

impl Story<'_> {
    /// As [`Story::tell`] for what adds a line to a log each time: only what lies between counts.
    fn tell_once(&self, between: &dyn Fn(&Sandbox, &Tree, &Tree, &str)) {
        let (world, args) = (self.setup)();
        let log = world.path("ops");
        self.run(&world, &args, Some(&format!("log:{}", log.display()))).exits(0);
        let count = fs::read_to_string(&log).unwrap().lines().count();
        assert!(count >= 1);
        for n in 1..=count {
            for fault in [format!("fail:{n}:28"), format!("kill:{n}")] {
                let (world, args) = (self.setup)();
                self.run(&world, &args, Some(&fault));
                between(&world, &Tree::new(), &Tree::new(), &fault);
                self.run(&world, &args, None).exits(0);
            }
        }
    }

    /// As [`Story::tell`] where what counts does not exist before.
    fn tell_when_made(&self, between: &dyn Fn(&Sandbox, &Tree, &Tree, &str)) {
        let with_dir = || {
            let (world, args) = (self.setup)();
            world.dir(self.what);
            (world, args)
        };
        Story { setup: &with_dir, ..*self }.tell(between);
    }
}
