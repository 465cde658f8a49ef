//! The skill for agents: what `loci init --skill` puts where.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::sandbox::{Run, Sandbox};

const FILE: &str = "home/.loci/skills/loci/SKILL.md";

fn init(sandbox: &Sandbox, args: &[&str]) -> Run {
    sandbox.loci("", [&["init", "--skill"], args].concat())
}

#[test]
fn it_is_put_where_harnesses_look_once() {
    let sandbox = Sandbox::new();
    let offer = "loci init --skill";
    assert!(sandbox.loci("", ["init", "--dry-run"]).exits(0).stdout.contains(offer));
    init(&sandbox, &["--dry-run"]).exits(0);
    assert!(!sandbox.path("home/.loci").exists() && !sandbox.path("home/.claude").exists());
    init(&sandbox, &[]).exits(0);
    let shipped = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/skill/loci/SKILL.md")).unwrap();
    assert_eq!(sandbox.read(FILE), shipped);
    for dotdir in [".claude", ".agents"] {
        assert_eq!(sandbox.read(format!("home/{dotdir}/skills/loci/SKILL.md")), shipped, "{dotdir}");
    }
    assert_eq!(init(&sandbox, &["--json"]).exits(0).json()["plan"], json!([]));
    assert!(!sandbox.loci("", ["init"]).exits(0).stdout.contains(offer));
    // It is one item, and found as one.
    let found = sandbox.dir("w").loci("w", ["resolve", "skills", "--json"]).exits(0).json();
    let files = found["files"].as_array().unwrap().iter().filter(|file| file["path"].as_str().unwrap().ends_with("loci/SKILL.md"));
    assert_eq!(files.count(), 1, "{found}");
}

#[test]
fn what_is_there_stays() {
    let sandbox = Sandbox::new();
    sandbox.file(FILE, "mine").file("home/.claude/skills/loci/SKILL.md", "mine too");
    let run = init(&sandbox, &[]).exits(0);
    assert!(
        run.stdout.contains("another one than comes with this loci") && run.stdout.contains("something else is there"),
        "{}",
        run.stdout
    );
    assert_eq!((sandbox.read(FILE).as_str(), sandbox.read("home/.claude/skills/loci/SKILL.md").as_str()), ("mine", "mine too"));
    // Skills that are ours as a whole already need no link in them.
    let other = Sandbox::new();
    other.dir("home/.loci/skills").dir("home/.claude").link("home/.claude/skills", "../.loci/skills");
    init(&other, &[]).exits(0);
    assert!(!other.path("home/.loci/skills/loci/loci").exists() && other.path("home/.claude/skills/loci/SKILL.md").exists());
    init(&other, &[]).exits(0);
    assert!(!other.path("home/.loci/skills/loci").is_symlink());
}

#[test]
fn an_agent_asks_for_it() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("");
    command.args(["init", "--skill"]).env("LOCI_AGENT", "alice");
    Run::of(&mut command, None).exits(1);
    assert!(!sandbox.path(FILE).exists());
    let requests = sandbox.loci("", ["requests"]).exits(0).stdout;
    assert!(requests.contains("loci init --skill"), "{requests}");
}
