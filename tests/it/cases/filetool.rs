//! `filetool-*.jsonl`: inputs of file and patch tools, through the table of tools and the judge.
//!
//! The tree is the part of the published fixture that such tools can meet: everything but git's own
//! history, archives and patches.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use loci::custody::asker;
use loci::custody::{Surroundings, Verdict};
use loci::hooks::tools::{WRITE_WORDS, read_call};
use serde_json::Value;

use crate::sandbox::Sandbox;

/// The tree of the cases, below `home/`.
pub(crate) fn fixture() -> Sandbox {
    let world = Sandbox::new();
    for (path, text) in [
        ("owned/.loci/owner.md", "---\nowner: bob\n---\n"),
        ("owned/.loci/agent.md", "---\nid: bob\n---\n"),
        (".loci/agent.md", "---\nid: alice\n---\n"),
        ("owned/a.txt", "alpha\nbeta\ngamma\n"),
        ("owned/b.txt", "one 1\ntwo 2\nthree 3\nDIRTY 4\n"),
        ("owned/sub/c.txt", "sub c\n"),
        ("owned/src/lib.rs", "pub fn lib() -> u32 { 1 }\n// TODO: bob\n"),
        ("owned/data.json", "{\"name\":\"owned\",\"items\":[{\"n\":1},{\"n\":5}]}\n"),
        ("owned/untracked.txt", "untracked\n"),
        ("owned/ignored.tmp", "ignored\n"),
        ("free/x.txt", "x1\nx2\n"),
        ("free/y.txt", "y1\ny2\n"),
        ("free/d/z.txt", "z\n"),
        ("owned-notes.md", "# not owned: sibling whose name has the owned prefix\n"),
        ("owned2/q.txt", "q\n"),
        ("src/main.rs", "fn main() { println!(\"a -> b\"); }\n"),
        ("README.md", "# demo\nsee owned/a.txt\n"),
        ("notes.txt", "n1\nn2\nDIRTY\n"),
        (".gitignore", "target/\n*.tmp\n"),
        (".git/HEAD", "ref: refs/heads/main\n"),
    ] {
        world.file(Path::new("home/repo").join(path), text);
    }
    world.link("home/repo/link-to-owned", world.path("home/repo/owned"));
    world.link("home/repo/owned/link-out", "../free");
    world.link("home/repo/link-a.txt", "owned/a.txt");
    world
}

/// What loci knows of that world.
pub(crate) fn surroundings(world: &Sandbox) -> Surroundings {
    Surroundings {
        home: world.path("home"),
        user_home: world.path("home"),
        state: world.path("state/loci"),
        wall: Vec::new(),
        moved: Vec::new(),
        linked: Vec::new(),
        hops: 0,
    }
}

/// Puts the root of the case in the place of `{REPO}` in every text.
fn filled(value: &Value, repo: &str, home: &str) -> Value {
    match value {
        Value::String(text) => text.replace("{REPO}", repo).replace("{HOME}", home).into(),
        Value::Array(items) => items.iter().map(|item| filled(item, repo, home)).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), filled(value, repo, home))).collect(),
        other => other.clone(),
    }
}

/// The verdict on one case, in the words of the case files.
fn verdict(world: &Sandbox, case: &Value) -> &'static str {
    let home = world.path("home");
    let repo = home.join("repo");
    let input = filled(&case["input"], repo.to_str().unwrap(), home.to_str().unwrap());
    let cwd: PathBuf = home.join(case["cwd"].as_str().unwrap());
    let intent = read_call(case["tool"].as_str().unwrap(), &input, &cwd, Some(&home), WRITE_WORDS);
    let (asker, note) = asker::from_launch(&repo);
    assert_eq!((asker.name(), note), ("alice", None));
    match intent.deeds(BTreeMap::new, Some(&home)).rule(&asker, &surroundings(world)).verdict {
        Verdict::Refuse => "block",
        Verdict::Allow | Verdict::Unknown => "allow",
    }
}

#[test]
fn filetool_cases() {
    let world = fixture();
    let cases = super::load("filetool");
    assert!(!cases.is_empty());
    let before = world.snapshot("home");
    let mut failed = Vec::new();
    for case in &cases {
        let id = case["id"].as_str().unwrap();
        let (wanted, came) = (case["verdict"].as_str().unwrap(), verdict(&world, case));
        if wanted != came {
            failed.push(format!("{id}: wanted {wanted}, came {came}: {}", case["why"]));
        }
    }
    assert!(failed.is_empty(), "{} of {} failed\n{}", failed.len(), cases.len(), failed.join("\n"));
    assert_eq!(before, world.snapshot("home"), "asking changed the tree");
}

/// Whether the runner can see: with the owner file gone nothing is refused.
#[test]
fn the_runner_can_see() {
    let world = fixture();
    std::fs::remove_file(world.path("home/repo/owned/.loci/owner.md")).unwrap();
    let blocked = super::load("filetool").iter().filter(|case| verdict(&world, case) == "block").count();
    assert_eq!(blocked, 0);
}
