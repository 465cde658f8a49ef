//! The verbs as people use them.

use serde_json::json;

use super::level;
use crate::sandbox::{Run, Sandbox};

#[test]
fn equip_and_unequip_lead_back() {
    let world = level();
    let before = world.snapshot("r");
    let plan = world.loci("r", ["equip", "s", "--dry-run", "--json"]).exits(0).json();
    assert_eq!((plan["count"].as_u64(), plan["dry_run"].as_bool()), (Some(5), Some(true)));
    assert_eq!(world.snapshot("r"), before);

    // From a directory below, and the later set wins.
    world.dir("r/deep/er");
    let before = world.snapshot("r");
    let run = world.loci("r/deep/er", ["equip", "s", "t", "--json"]).exits(0);
    let done = run.json();
    assert_eq!((done["count"].as_u64(), &done["overruled"], &done["unknown"]), (Some(4), &json!(["rules/a.md"]), &json!(["rules/nope"])));
    assert!(run.stderr.contains("rules/nope is not here"), "{}", run.stderr);
    assert_eq!(done["undo"]["skills"], json!({ "k": "on", "m": "off" }));
    assert!(world.path("r/.loci/skills/k/SKILL.md.inactive").exists());

    // A second time nothing is renamed, and there is nothing further to take back.
    assert_eq!(world.loci("r", ["equip", "s", "t", "--json"]).exits(0).json()["count"], 0);
    assert_eq!(world.loci("r", ["unequip", "--json"]).exits(0).json()["count"], 4);
    assert_eq!(world.snapshot("r"), before);
    world.loci("r", ["unequip"]).exits(1);
}

#[test]
fn what_somebody_switched_since_is_left_and_said() {
    let world = level();
    world.loci("r", ["equip", "s"]).exits(0);
    world.loci("r", ["toggle", "skills/k", "on"]).exits(0);
    let run = world.loci("r", ["unequip"]).exits(0);
    assert!(run.stderr.contains("switched it back already"), "{}", run.stderr);
    assert!(world.path("r/.loci/skills/k/SKILL.md").exists() && world.path("r/.loci/rules/a.md").exists());
}

#[test]
fn toggle_says_no_where_there_is_nothing_to_switch() {
    let world = level();
    world.loci("r", ["toggle", "rules/a", "off"]).exits(0);
    assert!(world.path("r/.loci/rules/a.md.inactive").exists());
    let none = world.loci("r", ["toggle", "rules/none", "off"]).exits(1);
    assert!(none.stderr.contains("no such item: rules/none\nhint: loci loadout status"), "{}", none.stderr);
    world.file("r/.loci/skills/inbox/SKILL.md", "i");
    let near = world.loci("r", ["toggle", "skills/inbx", "off"]).exits(1);
    assert!(near.stderr.contains("did you mean skills/inbox?\nhint: loci toggle skills/inbox off"), "{}", near.stderr);
    let word = world.loci("r", ["toggle", "inbox", "off"]).exits(2);
    assert!(word.stderr.contains("hint: loci toggle skills/inbox off"), "{}", word.stderr);
    world.file("r/.claude/rules/v.md", "v");
    let run = world.loci("r", ["toggle", "rules/v", "off"]).exits(1);
    assert!(run.stderr.contains("--vendor"), "{}", run.stderr);
    world.loci("r", ["toggle", ".claude/rules/v.md", "off", "--vendor"]).exits(0);
    assert!(world.path("r/.claude/rules/v.md.inactive").exists());
    assert!(world.loci("r", ["toggle", "nothing", "off"]).exits(2).stderr.contains("hint: "));
    assert!(world.loci("r", ["toggle", "rulez/a", "off"]).exits(2).stderr.contains("no section"));
}

#[test]
fn a_body_may_allow_its_vendor_dotdirs() {
    let world = level();
    world.file("r/.claude/rules/v.md", "v").file("r/.loci/agent.md", "---\nid: a\nvendor: true\n---\n");
    world.loci("r", ["toggle", "rules/v", "off"]).exits(0);
    assert!(world.path("r/.claude/rules/v.md.inactive").exists());
}

#[test]
fn links_between_dotdirs_are_one_item_and_other_links_are_renamed_themselves() {
    let world = level();
    world
        .link("r/.claude/skills", "../.loci/skills")
        .link("r/.agents/rules/a.md", "../../.loci/rules/a.md")
        .file("pool/p/SKILL.md", "pool skill")
        .file("pool/q.md", "pool rule")
        .file("pool/team/z.md", "pool team rule")
        .link("r/.loci/skills/p", "../../../pool/p")
        .link("r/.loci/rules/q.md", "../../../pool/q.md")
        .link("r/.loci/rules/far", "../../../pool/team");
    let labels = |run: Run| -> Vec<String> {
        run.json()["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| {
                format!("{}/{}/{}", one["dotdir"].as_str().unwrap(), one["section"].as_str().unwrap(), one["item"].as_str().unwrap())
            })
            .collect()
    };
    let items = labels(world.loci("r", ["loadout", "status", "--json"]).exits(0));
    assert_eq!(
        items,
        [
            ".loci/agents/x.md",
            ".loci/rules/a.md",
            ".loci/rules/far/z.md",
            ".loci/rules/q.md",
            ".loci/rules/team/b.md",
            ".loci/skills/k",
            ".loci/skills/m",
            ".loci/skills/p"
        ]
    );
    let pool = world.snapshot("pool");
    let run = world.loci("r", ["toggle", "skills/p", "off"]).exits(0);
    assert!(run.stderr.contains("linked folder"), "{}", run.stderr);
    world.loci("r", ["toggle", "rules/q", "off"]).exits(0);
    world.loci("r", ["toggle", "skills/k", "off"]).exits(0);
    let run = world.loci("r", ["toggle", "rules/far/z.md", "off"]).exits(1);
    assert!(run.stderr.contains("outside"), "{}", run.stderr);
    assert_eq!(world.snapshot("pool"), pool);
    for there in ["r/.loci/skills/p.inactive", "r/.loci/rules/q.md.inactive", "r/.loci/skills/k/SKILL.md.inactive"] {
        assert!(std::fs::symlink_metadata(world.path(there)).is_ok(), "{there}");
    }
    // Still the same items, now off; and back.
    assert_eq!(labels(world.loci("r", ["loadout", "status", "--json"]).exits(0)), items);
    for item in ["skills/p", "rules/q", "skills/k"] {
        world.loci("r", ["toggle", item, "on"]).exits(0);
    }
    assert!(world.path("r/.loci/skills/p").exists() && world.path("r/.claude/skills/k/SKILL.md").exists());
}

#[test]
fn a_set_that_is_none_is_refused_with_file_and_line() {
    let world = level();
    let before = world.snapshot("r");
    world.file("bad.yaml", "skills:\n  k: off\n  m: maybe\n");
    let run = world.loci("r", ["equip", "../bad.yaml"]).exits(2);
    assert!(run.stderr.contains("bad.yaml:3") && run.stderr.contains("maybe"), "{}", run.stderr);
    let error = world.loci("r", ["equip", "../bad.yaml", "--json"]).exits(2).json();
    assert_eq!((error["error"]["kind"].as_str(), error["error"]["line"].as_u64()), (Some("bad-set"), Some(3)));
    assert!(world.loci("r", ["equip", "nope"]).exits(2).stderr.contains("loci sets"));
    world.file("deep.json", "[".repeat(100_000));
    world.loci("r", ["equip", "../deep.json"]).exits(2);
    assert_eq!(world.snapshot("r"), before);
}

#[test]
fn sets_are_listed_saved_shown_and_compared() {
    let world = level();
    world.file("home/.loci/sets/far.yml", "rules: {a: off}\n");
    let names = |run: Run| -> Vec<String> {
        run.json()["sets"].as_array().unwrap().iter().map(|set| set["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(world.loci("r", ["sets", "--json"]).exits(0)), ["far", "s", "t"]);
    world.loci("r", ["sets", "save", "now", "--dry-run"]).exits(0);
    assert!(!world.path("r/.loci/sets/now.yaml").exists());
    world.loci("r", ["sets", "save", "now"]).exits(0);
    world.loci("r", ["sets", "save", "now"]).exits(2);
    world.loci("r", ["sets", "save", "../x"]).exits(2);
    let shown = world.loci("r", ["sets", "show", "now", "--json"]).exits(0).json();
    assert_eq!(shown["set"]["skills"], json!({ "k": "on", "m": "off" }));
    let before = world.snapshot("r");
    assert_eq!(world.loci("r", ["equip", "now", "--json"]).exits(0).json()["count"], 0);
    world.loci("r", ["equip", "s"]).exits(0);
    world.loci("r", ["equip", "now"]).exits(0);
    assert_eq!(world.snapshot("r"), before);
    world.loci("r", ["sets", "diff", "now", "now"]).exits(0);
    let rows = world.loci("r", ["sets", "diff", "s", "t", "--json"]).exits(1).json();
    assert!(rows["differences"].as_array().unwrap().contains(&json!({ "item": "rules/nope", "one": null, "two": "off" })));
}

#[test]
fn hooks_are_for_people() {
    let world = level();
    world.exec("r/.loci/hooks/h.sh", "h").file("r/.loci/sets/h.yaml", "hooks: {h: off}\n");
    let before = world.snapshot("r");
    let agent = |args: &[&str]| {
        let mut command = world.command("r");
        command.args(args).env("CLAUDECODE", "1");
        Run::of(&mut command, None)
    };
    for args in [
        &["equip", "h"][..],
        &["toggle", "hooks/h", "off"],
        &["equip", "h", "--for", "--", "true"],
        &["loadout", "inject", "x"],
        &["loadout", "restore"],
    ] {
        let run = agent(args);
        assert!(run.code != Some(0) && run.stderr.contains("only a person may do this"), "{args:?}: {run:?}");
    }
    agent(&["equip", "h", "--dry-run"]).exits(0);
    assert_eq!(world.snapshot("r"), before);
}

#[test]
fn a_scope_gives_back_the_exit_code_and_everything_else() {
    let world = level();
    let before = world.snapshot("r");
    for (script, code) in
        [("test -f .loci/skills/m/SKILL.md && exit 7", 7), ("kill -TERM $$", 143), ("test ! -e .loci/skills/k/SKILL.md", 0)]
    {
        let run = world.loci("r", ["equip", "s", "--for", "--", "sh", "-c", script]);
        run.exits(code);
        assert_eq!(world.snapshot("r"), before, "{script}");
    }
    // A command that is not there.
    world.loci("r", ["equip", "s", "--for", "--", "/nowhere/at/all"]).exits(2);
    assert_eq!(world.snapshot("r"), before);
    world.loci("r", ["equip", "s", "--for"]).exits(2);
    assert!(std::fs::read_dir(world.path("state/loci/scopes")).unwrap().next().is_none());
}

#[test]
fn what_is_switched_inside_a_scope_stays() {
    let world = level();
    let before = world.snapshot("r");
    let script = format!("{0} toggle skills/k on && {0} equip t --for -- {0} toggle agents/x on", env!("CARGO_BIN_EXE_loci"));
    let run = world.loci("r", ["equip", "s", "--for", "--", "sh", "-c", &script]).exits(0);
    assert!(run.stderr.contains("not taken back") && run.stderr.contains("skills/k/SKILL.md"), "{}", run.stderr);
    assert_eq!(world.snapshot("r"), before);
}

/// Reads lines of a child until one is `wanted`.
fn wait_for(child: &mut std::process::Child, wanted: &str) {
    use std::io::BufRead as _;
    let stdout = child.stdout.as_mut().unwrap();
    for line in std::io::BufReader::new(stdout).lines() {
        if line.unwrap() == wanted {
            return;
        }
    }
    panic!("the command never said {wanted}");
}

fn scope(world: &Sandbox, script: &str) -> std::process::Child {
    let mut command = world.command("r");
    command.args(["equip", "s", "--for", "--", "sh", "-c", script]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap()
}

fn signal(child: &std::process::Child, signal: nix::sys::signal::Signal) {
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
}

#[test]
fn a_signal_to_loci_reaches_the_command() {
    let world = level();
    let before = world.snapshot("r");
    // The trap answers only the signal itself; `read` waits for it.
    let mut child = scope(&world, "trap 'exit 9' TERM; echo ready; while :; do sleep 0.02; done");
    wait_for(&mut child, "ready");
    assert_ne!(world.snapshot("r"), before);
    signal(&child, nix::sys::signal::Signal::SIGTERM);
    assert_eq!(child.wait().unwrap().code(), Some(9));
    assert_eq!(world.snapshot("r"), before);
}

#[test]
fn when_loci_itself_is_killed_the_next_change_takes_the_scope_back() {
    let world = level();
    let before = world.snapshot("r");
    let mut child = scope(&world, "echo ready; read _");
    wait_for(&mut child, "ready");
    signal(&child, nix::sys::signal::Signal::SIGKILL);
    // Closes the input as well, with which what is left of the command ends.
    child.wait().unwrap();
    assert_ne!(world.snapshot("r"), before);
    let killed = world.snapshot("r");
    let open = world.loci("r", ["loadout", "status", "--json"]).exits(0).json();
    assert_eq!(world.snapshot("r"), killed, "a verb that reads has written");
    assert!(open["open"][0].as_str().unwrap().contains("is gone"), "{open}");
    let run = world.loci("r", ["toggle", "rules/none", "on"]).exits(1);
    assert!(run.stderr.contains("had not been taken back"), "{}", run.stderr);
    assert_eq!(world.snapshot("r"), before);
}

#[test]
fn two_at_once_do_not_interleave() {
    let world = level();
    // Somebody holds the lock: the second waits, then says who.
    let state = world.path("state/loci");
    let dir = world.path("r");
    let key = loci::text::digest::key("level", &dir);
    let held = loci::sys::journal::take(&state, &key, "a long equip").unwrap();
    let run = world.loci("r", ["equip", "s"]).exits(2);
    assert!(run.stderr.contains("a long equip") && run.stderr.contains(&format!("pid {}", std::process::id())), "{}", run.stderr);
    drop(held);
    // Many at once: each is done as a whole, or refused as a whole.
    let before = world.snapshot("r");
    world.file("off.yaml", "skills: {k: off, m: off}\nrules: {a: off, team/b.md: off}\nagents: {x: off}\n");
    world.file("on.yaml", "skills: {k: on, m: on}\nrules: {a: on, team/b.md: on}\nagents: {x: on}\n");
    let children: Vec<_> = (0..8)
        .map(|n| {
            let mut command = world.command("r");
            command.args(["equip", if n % 2 == 0 { "../off.yaml" } else { "../on.yaml" }]);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        child.wait().unwrap();
    }
    let status = world.loci("r", ["loadout", "status", "--json"]).exits(0).json();
    let states: std::collections::BTreeSet<&str> =
        status["items"].as_array().unwrap().iter().map(|one| one["state"].as_str().unwrap()).collect();
    assert_eq!(states.len(), 1, "{status}");
    while world.loci("r", ["unequip"]).code == Some(0) {}
    assert_eq!(world.snapshot("r"), before);
}

#[test]
fn the_home_is_not_switched_by_accident() {
    let world = level();
    world.file("home/.loci/rules/h.md", "h").dir("home/p/q").dir("r/sub");
    let before = world.snapshot("home");
    for args in [&["toggle", "rules/h", "off"][..], &["sets", "save", "x"], &["loadout", "archive", "x"]] {
        let run = world.loci("home/p/q", args.iter().copied()).exits(2);
        assert!(run.stderr.contains("which is everybody's") && run.stderr.contains("hint: loci loadout status --level "), "{}", run.stderr);
    }
    assert_eq!(world.snapshot("home"), before);
    // Who names it, or stands in it, means it.
    world.loci("home/p/q", ["toggle", "rules/h", "off", "--level", "../.."]).exits(0);
    world.loci("home", ["toggle", "rules/h", "on"]).exits(0);
    assert_eq!(world.snapshot("home"), before);
    // Another level than the directory one is in is named.
    let run = world.loci("r/sub", ["toggle", "rules/a", "off"]).exits(0);
    assert!(run.stderr.contains("note: this is about ") && run.stderr.contains("/r, the nearest level"), "{}", run.stderr);
    assert!(!world.loci("r", ["toggle", "rules/a", "on"]).exits(0).stderr.contains("note"));
}

#[test]
fn one_item_by_two_names_is_no_difference() {
    let world = level();
    world
        .file("r/.loci/sets/u.yaml", "rules: {a.md: off}\n")
        .file("r/.loci/sets/v.yaml", "rules: {a: off}\n")
        .file("r/.loci/sets/w.yaml", "rules: {a: on}\n");
    world.loci("r", ["sets", "diff", "u", "v"]).exits(0);
    assert_eq!(world.loci("r", ["sets", "diff", "u", "w"]).exits(1).stdout, "rules/a.md  off  on\n");
}
