//! What agents ask for that only a person carries out: done once it is approved, or refused at once.

use std::fs;

use super::grants::{hash, inside};
use crate::cases::filetool::fixture;

/// What only a person carries out is asked for by an agent, approved with the hash that was shown, done, and answered.
#[test]
fn every_verb_that_can_be_asked_for_can_be_done() {
    let world = fixture();
    world.file("home/repo/bodies/carl/.loci/agent.md", "---\nid: carl\n---\n");
    world.file("home/.loci/runtimes/reader.md", "---\nprogram: /bin/sh\nheadless: [-c, 'cat > ran']\n---\n");
    world.file("home/repo/.loci/hooks/h.sh", "#!/bin/sh\n").file("home/repo/.loci/sets/s.yaml", "hooks: { h: off }\n");
    world.file("home/repo/.claude/settings.json", "{}\n");
    world.file("home/repo/.loci-clock/jobs/j.md", "---\nschedule: every 1h\nrun: 'true'\ndeliverables: []\n---\n");
    let mut answers = 0;
    let mut done = |args: &[&str]| {
        let asked = inside(&world, "home/repo", args).exits(1);
        let id = asked.stdout.trim().to_owned();
        assert!(!id.is_empty(), "{args:?}: {}", asked.stderr);
        let hash = hash(&world, &id);
        let run = world.loci("home", ["approve", &id, "--hash", &hash]);
        assert_eq!(run.code, Some(0), "{args:?}: {run:?}");
        answers += 1;
    };
    let gone = |path: &str| !world.path(path).exists();
    done(&["own", "free", "--as", "alice"]);
    assert!(!gone("home/repo/free/.loci/owner.md"));
    done(&["disown", "free"]);
    assert!(gone("home/repo/free/.loci/owner.md"));
    done(&["new", "agents/dora", "--template", "custodian"]);
    assert!(!gone("home/repo/agents/dora/.loci/owner.md"));
    done(&["inherit", "agents/dora", "agents/eve"]);
    assert!(world.read("home/repo/agents/eve/.loci/agent.md").contains("eve"));
    done(&["extract", "free/x.txt", "--into", "free/deep", "--as", "alice"]);
    assert!(fs::symlink_metadata(world.path("home/repo/free/x.txt")).unwrap().is_symlink());
    done(&["run", "bodies/carl", "work", "--runtime", "reader"]);
    assert_eq!(world.read("home/repo/bodies/carl/ran"), "work");
    done(&["permit", "alice", "owned", "--for", "30m"]);
    let permit = world.loci("home", ["grants", "--json"]).exits(0).json()["grants"][0]["id"].as_str().unwrap().to_owned();
    done(&["permit", "--revoke", &permit]);
    world.loci("home", ["grants"]).exits(1);
    done(&["trust", "agents/dora", "--yes"]);
    done(&["toggle", "hooks/h", "off"]);
    assert!(gone("home/repo/.loci/hooks/h.sh"));
    done(&["toggle", "hooks/h", "on"]);
    done(&["equip", "s"]);
    assert!(gone("home/repo/.loci/hooks/h.sh"));
    done(&["unequip"]);
    assert!(!gone("home/repo/.loci/hooks/h.sh"));
    world.loci("home/repo", ["loadout", "archive", "calm"]).exits(0);
    world.file("home/repo/.claude/settings.json", "{ }\n");
    done(&["loadout", "inject", "calm"]);
    assert_eq!(world.read("home/repo/.claude/settings.json"), "{}\n");
    done(&["loadout", "restore"]);
    assert_eq!(world.read("home/repo/.claude/settings.json"), "{ }\n");
    done(&["clock", "enroll", "."]);
    done(&["connect", "claude"]);
    done(&["disconnect", "claude"]);
    done(&["init"]);
    let arrived = inside(&world, "home/repo", &["inbox", "alice", "--kind", "reply", "--json"]).exits(0).json();
    assert_eq!(arrived["messages"].as_array().unwrap().len(), answers, "{arrived}");
}

/// A request that nobody could approve as it is would wait for ever: the agent is told at once, and why.
#[test]
fn what_nobody_could_approve_is_refused_at_once() {
    let world = fixture();
    world.file("home/repo/bodies/carl/.loci/agent.md", "---\nid: carl\n---\n");
    // A template that the agent can change after it was looked at.
    world.file("home/repo/tpl/template.md", "---\ndescription: x\n---\n").file("home/repo/tpl/_loci/agent.md", "---\nid: {{ id }}\n---\n");
    world.file("home/repo/tpl/_loci/hooks/x.sh", "#!/bin/sh\n");
    // Sets with hooks, for the time of a command.
    world.file("home/repo/.loci/sets/s.yaml", "hooks: { h: on }\n").file("home/repo/.loci/hooks/h.sh", "#!/bin/sh\n");
    let ran = world.path("ran");
    for (args, why) in [
        (&["new", "agents/eve", "--template", "./tpl"][..], "template is a folder"),
        (&["new", "agents/eve", "--template=./tpl"], "template is a folder"),
        (&["new", "agents/eve", "-vt./tpl"], "template is a folder"),
        (&["equip", "s", "--for", "--", "touch", ran.to_str().unwrap()], "another program"),
        (&["run", "bodies/carl", "go", "--", "touch", ran.to_str().unwrap()], "another program"),
        (&["run", "bodies/carl"], "no message among its words"),
        (
            &["own", "free", "--as", "alice", "--note", "sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"],
            "looks like a secret",
        ),
        (&["own", "free", "--as", "alice", "--note", &"x".repeat(17 << 10)], "longer than 16 KiB"),
    ] {
        let run = inside(&world, "home/repo", args).exits(1);
        assert!(
            run.stdout.is_empty() && run.stderr.contains(why) && run.stderr.contains("hint: tell your user to run it: loci "),
            "{args:?}: {run:?}"
        );
        let args: Vec<&str> = std::iter::once("--json").chain(args.iter().copied()).collect();
        let said = inside(&world, "home/repo", &args).exits(1).json();
        assert!(said["request"].is_null() && said["why"].as_str().unwrap().contains(why), "{said}");
    }
    assert!(!ran.exists());
    world.loci("home", ["requests"]).exits(1);
}
