//! Moving files down: reads go on, writes go to the new owner, and nothing is lost on the way.

use std::fs;

use loci::custody::act::ActKind;
use loci::custody::{Verdict, Who, rule};

use super::{agent, on_name, said, write};
use crate::cases::filetool::{fixture, surroundings};
use crate::sandbox::{Run, Sandbox};

fn plain() -> Sandbox {
    let world = Sandbox::new();
    world.dir("r/.git").file("r/lib/tax.rs", "tax\n").file("r/lib/rates/a.toml", "a\n").file("r/lib/main.rs", "main\n");
    world.file("r/agents/billing/.loci/agent.md", "---\nid: billing\n---\n").file("r/.loci/agent.md", "---\nid: lead\n---\n");
    world
}

#[test]
fn reads_go_on_and_writes_go_to_the_new_owner() {
    let world = plain();
    let before = world.snapshot("r");
    let args = ["extract", "tax.rs", "rates", "--into", "billing", "--as", "billing"];
    let dry = world.loci("r/lib", args.iter().chain(&["--dry-run"])).exits(0);
    assert!(
        dry.stdout.starts_with("mkdir billing\nmkdir billing/.loci-tmp-own\n") && dry.stdout.contains("link tax.rs to billing/tax.rs\n"),
        "{}",
        dry.stdout
    );
    assert_eq!(world.snapshot("r"), before);
    let run = world.loci("r/lib", args).exits(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("moved 2 things into billing, which billing owns\n", ""));
    assert!(world.read("r/lib/billing/.loci/owner.md").starts_with("---\nowner: billing\nbody: ../../agents/billing\n"));
    assert_eq!(world.read("r/lib/tax.rs"), "tax\n");
    assert_eq!(fs::read_link(world.path("r/lib/rates")).unwrap().to_str(), Some("billing/rates"));
    assert_eq!(world.read("r/lib/rates/a.toml"), "a\n");
    let (lead, billing) = (agent("lead", world.path("r")), agent("billing", world.path("r/agents/billing")));
    let lib = world.path("r/lib");
    // Through the links: the new owner's.
    for path in ["tax.rs", "rates/a.toml", "rates/new", "billing/tax.rs"] {
        let ruling = rule(&[write(lib.join(path))], &lead, &surroundings(&world));
        assert_eq!(ruling.verdict, Verdict::Refuse, "{path}");
        assert!(matches!(&ruling.acts[0].owner.as_ref().unwrap().who, Who::Agent(id) if id.as_str() == "billing"), "{path}");
        assert_eq!(said(&world, &billing, write(lib.join(path))).1, "yours");
    }
    // The link itself: the parent's.
    for kind in [ActKind::Remove, ActKind::Rename, ActKind::Link] {
        assert_eq!(said(&world, &lead, on_name(kind, lib.join("tax.rs"))), (Verdict::Allow, "home"), "{kind:?}");
    }
    world.file("r/lib/.loci/owner.md", "---\nowner: lead\n---\n");
    assert_eq!(said(&world, &billing, on_name(ActKind::Remove, lib.join("tax.rs"))), (Verdict::Refuse, "owned"));
    // Once more does nothing; more of it goes to the same place.
    let again = world.loci("r/lib", args).exits(0);
    assert_eq!(again.stdout, "it is moved into billing already\n");
    world.loci("r/lib", ["extract", "main.rs", "--into", "billing", "--as", "billing"]).exits(0);
    assert_eq!(world.read("r/lib/main.rs"), "main\n");
    let other = world.loci("r/lib", ["extract", "main.rs", "--into", "billing", "--as", "eve"]).exits(2);
    assert!(other.stderr.starts_with("error: "), "{}", other.stderr);
}

#[test]
fn what_can_not_move_is_refused_in_words() {
    let world = plain();
    world.file("r/lib/child/tax.rs", "other").link("r/lib/link", "tax.rs").file("r/lib/p/deep/.loci/owner.md", "---\nowner: bob\n---\n");
    world.file("r/lib/theirs/.loci/owner.md", "---\nowner: bob\n---\n").file("r/lib/theirs/x", "x");
    let before = world.snapshot("r");
    for (args, code, wanted) in [
        (&["extract", "nowhere", "--into", "n"][..], 2, "it is not there"),
        (&["extract", "tax.rs", "--into", "../other"], 2, "does not lie below"),
        (&["extract", "../agents", "--into", "../agents/n"], 2, "would lie in it"),
        (&["extract", "tax.rs", "--into", "child"], 2, "something is there already"),
        (&["extract", "tax.rs", "--into", "."], 2, "already"),
        (&["extract", "tax.rs", "--into", "main.rs"], 2, "no directory"),
        (&["extract", "link", "--into", "n"], 2, "it is a link"),
        (&["extract", "..", "--into", "n"], 2, "does not name"),
        (&["extract", "../.git", "--into", "../n"], 2, "belongs"),
        (&["extract", "tax.rs", "./tax.rs", "--into", "n"], 2, "another one of that name"),
        (&["extract", "../.loci", "--into", "../n"], 1, "refused"),
        (&["extract", "p", "--into", "n"], 1, "bob's"),
        (&["extract", "theirs/x", "--into", "theirs/n/m"], 0, ""),
    ] {
        let mut args = args.to_vec();
        args.push("--dry-run");
        let run = world.loci("r/lib", &args).exits(code);
        assert!(run.stderr.contains(wanted), "{args:?}: {}", run.stderr);
    }
    world.loci("r/lib", ["extract", "p", "--into", "n"]).exits(1);
    world.loci("r/lib", ["extract", "tax.rs", "theirs/x", "--into", "theirs/n"]).exits(1);
    assert_eq!(world.snapshot("r"), before);
    // A link is no way down.
    world.dir("far").link("r/lib/far", world.path("far"));
    let run = world.loci("r/lib", ["extract", "tax.rs", "--into", "far/n"]).exits(2);
    assert!(run.stderr.contains("does not lie below"), "{}", run.stderr);
}

#[test]
fn an_agent_moves_its_own_and_asks_for_the_rest() {
    let world = fixture();
    let inside = |args: &[&str]| {
        let mut command = world.command("home/repo");
        command.args(args).env("LOCI_ANCESTORS", "claude");
        Run::of(&mut command, None)
    };
    inside(&["extract", "free/x.txt", "--into", "free/n"]).exits(0);
    assert_eq!(world.read("home/repo/free/x.txt"), "x1\nx2\n");
    let run = inside(&["extract", "owned/a.txt", "--into", "owned/n"]).exits(1);
    assert!(run.stderr.contains("bob's"), "{}", run.stderr);
    let run = inside(&["extract", "free/y.txt", "--into", "free/n", "--as", "alice"]).exits(1);
    assert!(run.stderr.contains("filed as a request"), "{}", run.stderr);
    assert!(!world.path("home/repo/free/n/.loci").exists());
}
