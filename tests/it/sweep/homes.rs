//! Bodies, harnesses, and the home level.

use std::fs;

use super::custody::repo;
use super::engine::{Row, words};
use crate::sandbox::Sandbox;

const PIECES: &str = "what is missing is added, piece by piece, and once more adds the rest";

fn bodies() -> Sandbox {
    let world = Sandbox::in_memory();
    world
        .file("home/.loci/agent.md", "---\nid: me\n---\n")
        .file("r/.git/HEAD", "ref: refs/heads/main\n")
        .file("r/a/.loci/agent.md", "---\nid: a\nruntime: x\n---\n")
        .file("r/a/.loci/memory/x", "a memory")
        .file("r/a/d/f", "a file")
        .link("r/a/l", "d/f")
        .file("r/plain/kept.txt", "kept");
    world.exec("bin/x", "#!/bin/sh\necho \"$1\" > started\n");
    let program = world.path("bin/x");
    world.file("home/.loci/runtimes/x.md", format!("---\nprogram: {}\nheadless: [\"{{message}}\"]\n---\n", program.display()));
    world
}

fn jailed() -> Sandbox {
    repo()
}

fn harnesses() -> Sandbox {
    let world = Sandbox::in_memory();
    world
        .dir("r")
        .file("home/.loci/agent.md", "---\nid: me\n---\n")
        .file("home/.claude/settings.json", "{\n  \"model\": \"x\"\n}\n")
        .file("home/.hermes/config.yaml", "model: x\n");
    world
}

fn connected(name: &str) -> Sandbox {
    let world = harnesses();
    world.loci("r", ["connect", name]).exits(0);
    world
}

fn empty() -> Sandbox {
    let world = Sandbox::in_memory();
    world.dir("r");
    world
}

/// Where all pages of the manual but a few lie already as they are.
fn manual() -> Sandbox {
    let world = empty();
    world.loci("r", ["man", "--dir", "man1"]).exits(0);
    world.file("r/man1/loci-run.1", "an older page").file("r/man1/mine.1", "somebody's own page");
    fs::remove_file(world.path("r/man1/loci-where.1")).unwrap();
    world
}

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row { again: 2, ..Row::new("new", bodies, "r", |_| words("new agents/billing --template custodian")) },
        Row {
            note: "--into",
            between: Some("what is missing is added, file by file"),
            ..Row::new("new", bodies, "r", |_| words("new plain --into"))
        },
        Row { again: 2, ..Row::new("inherit", bodies, "r", |_| words("inherit a deep/b")) },
        Row { between: Some("the program's own work"), ..Row::new("run", bodies, "r", |_| words("run a go")) },
        Row {
            note: "--capture",
            between: Some("the message to the owner"),
            ..Row::new("exec", jailed, "r", |_| words("exec --as alice --capture -- cp notes.txt owned/a.txt"))
        },
        Row { note: "claude", ..Row::new("connect", harnesses, "r", |_| words("connect claude")) },
        Row { note: "hermes", ..Row::new("connect", harnesses, "r", |_| words("connect hermes")) },
        Row { note: "pi", ..Row::new("connect", harnesses, "r", |_| words("connect pi")) },
        Row { note: "claude", ..Row::new("disconnect", || connected("claude"), "r", |_| words("disconnect claude")) },
        Row { note: "hermes", ..Row::new("disconnect", || connected("hermes"), "r", |_| words("disconnect hermes")) },
        Row { note: "pi", ..Row::new("disconnect", || connected("pi"), "r", |_| words("disconnect pi")) },
        Row::new("init", empty, "r", |_| words("init")),
        Row { note: "--skill", between: Some(PIECES), ..Row::new("init", harnesses, "r", |_| words("init --skill")) },
        Row { note: "--dir", between: Some(PIECES), ..Row::new("man", manual, "r", |_| words("man --dir man1")) },
    ]
}

#[test]
fn bodies_and_harnesses() {
    super::engine::sweep(&rows());
}
