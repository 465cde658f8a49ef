//! Saved loadouts as people use them.

use serde_json::json;

use crate::sandbox::{Run, Sandbox};

fn body() -> Sandbox {
    let world = Sandbox::new();
    world
        .file("r/.mcp.json", "{}")
        .file("r/.claude/settings.json", "{\"a\": 1}\n")
        .file("r/CLAUDE.md", "me")
        .file("r/.claude/rules/a.md", "A")
        .exec("r/.claude/hooks/h.sh", "h")
        .file("r/.claude/skills/k/SKILL.md", "k")
        .file("r/notes.txt", "not part of it");
    world
}

fn active(world: &Sandbox) -> serde_json::Value {
    world.loci("r", ["loadout", "active", "--json"]).json()
}

#[test]
fn there_and_back() {
    let world = body();
    assert_eq!(world.loci("r", ["loadout", "active", "--json"]).exits(1).json()["active"], json!(null));
    world.loci("r", ["loadout", "archive", "one", "--dry-run"]).exits(0);
    assert!(!world.path("home/.loci/loadouts").exists());
    let hash = world.loci("r", ["loadout", "archive", "one", "--json"]).exits(0).json()["hash"].clone();
    assert_eq!(world.loci("r", ["loadout", "id", "--json"]).exits(0).json()["hash"], hash);
    assert_eq!(active(&world)["active"], "one");
    world.file("r/CLAUDE.md", "other").file("r/.claude/rules/b.md", "B");
    let two = world.snapshot("r");
    let rows = world.loci("r", ["loadout", "diff", "one", "--json"]).exits(1).json();
    assert_eq!(rows["differences"], json!([{ "path": ".claude/rules/b.md", "how": "added" }, { "path": "CLAUDE.md", "how": "changed" }]));

    world.loci("r", ["loadout", "inject", "one", "--dry-run"]).exits(0);
    assert_eq!(world.snapshot("r"), two);
    let done = world.loci("r", ["loadout", "inject", "one", "--json"]).exits(0).json();
    let pieces: Vec<&str> = done["pieces"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap()).collect();
    assert_eq!(pieces, ["CLAUDE.md", ".claude/rules"]);
    assert!(done["was"].as_str().unwrap().starts_with("_backup-"));
    assert_eq!((active(&world)["active"].as_str(), active(&world)["matched_by"].as_str()), (Some("one"), Some("hash")));
    assert!(!world.path("r/.claude/rules/b.md").exists() && world.path("r/notes.txt").exists());
    world.loci("r", ["loadout", "diff"]).exits(0);
    // Once more: nothing changes, and the way back is the first one's still.
    let again = world.loci("r", ["loadout", "inject", "one", "--json"]).exits(0).json();
    assert_eq!((&again["was"], &again["pieces"]), (&done["was"], &json!([])));

    world.loci("r", ["loadout", "restore"]).exits(0);
    assert_eq!(world.snapshot("r"), two);
    // And back again: the restore saved what it replaced.
    world.loci("r", ["loadout", "restore"]).exits(0);
    assert_eq!(active(&world)["active"], "one");
    // A hand edit is said.
    world.file("r/CLAUDE.md", "by hand");
    let run = world.loci("r", ["loadout", "active", "--json"]).exits(1);
    assert_eq!(run.json()["matched_by"], "history");
    assert!(run.stderr.contains("match no archive"), "{}", run.stderr);
}

#[test]
fn an_empty_place_is_emptied_again() {
    let world = body();
    world.loci("r", ["loadout", "archive", "one"]).exits(0);
    world.dir("s/.loci/rules");
    let before = world.snapshot("s");
    let done = world.loci("s", ["loadout", "inject", "one", "--json"]).exits(0).json();
    assert_eq!(done["was"], "empty");
    assert_eq!(world.read("s/.claude/hooks/h.sh"), "h");
    let run = world.loci("s", ["loadout", "restore", "--json"]).exits(0).json();
    assert_eq!(run["name"], json!(null));
    let mut after = world.snapshot("s");
    // The dotdir that was made stays; it is no piece.
    after.remove(std::path::Path::new(".claude"));
    assert_eq!(after, before);
    world.loci("s", ["loadout", "archive", "none"]).exits(2);
}

#[test]
fn relays_of_loci_are_put_back() {
    let world = body();
    world.loci("r", ["loadout", "archive", "bare"]).exits(0);
    let relay = json!({ "type": "command", "command": "/usr/bin/loci gate --for claude" });
    let settings = json!({ "hooks": { "PreToolUse": [{ "matcher": "Bash|Write", "hooks": [relay, { "command": "mine" }] }] } });
    world.file("r/.claude/settings.json", settings.to_string());
    world.loci("r", ["loadout", "archive", "tied"]).exits(0);
    let run = world.loci("r", ["loadout", "inject", "bare"]).exits(0);
    assert!(run.stderr.contains("relay was put back"), "{}", run.stderr);
    let now: serde_json::Value = serde_json::from_str(&world.read("r/.claude/settings.json")).unwrap();
    assert_eq!(now, json!({ "a": 1, "hooks": { "PreToolUse": [{ "matcher": "Bash|Write", "hooks": [relay] }] } }));
    let active = active(&world);
    assert_eq!((active["active"].as_str(), active["matched_by"].as_str()), (Some("bare"), Some("hash")));
    assert!(active["note"].as_str().unwrap().contains("relays"));
    // One that has them already is taken as it is.
    let run = world.loci("r", ["loadout", "inject", "tied"]).exits(0);
    assert!(!run.stderr.contains("relay"), "{}", run.stderr);
    assert_eq!(world.read("r/.claude/settings.json"), settings.to_string());
}

#[test]
fn what_must_not_travel_is_named_and_can_be_left_out() {
    let world = body();
    world.file("r/.claude/settings.local.json", "{\"env\": {\"SERVICE_TOKEN\": \"a8f5f167f44f4964e6c998dee827110c\"}}");
    world.file("r/.claude/hooks/key.txt", "ghp_0123456789abcdefghijABCDEFGHIJ0123");
    let run = world.loci("r", ["loadout", "archive", "all", "--json"]).exits(0);
    assert!(
        run.stderr.contains("settings.local.json holds settings of this machine") && run.stderr.contains("key.txt holds a secret"),
        "{}",
        run.stderr
    );
    assert_eq!(run.json()["not_transportable"].as_array().unwrap().len(), 2);
    world.loci("r", ["loadout", "archive", "light", "--portable"]).exits(0);
    let files = world.path("home/.loci/loadouts/light/files/.claude");
    assert!(!files.join("settings.local.json").exists() && !files.join("hooks/key.txt").exists() && files.join("hooks/h.sh").exists());
    assert_ne!(world.loci("r", ["loadout", "id"]).stdout, world.loci("r", ["loadout", "id", "--portable"]).stdout);
    assert_eq!(active(&world)["also"], json!(["light"]));
    // What was left out stays where it is.
    world.file("r/CLAUDE.md", "x").file("r/.claude/hooks/more.sh", "m");
    world.loci("r", ["loadout", "inject", "light"]).exits(0);
    assert!(world.read("r/.claude/settings.local.json").contains("SERVICE_TOKEN"));
    assert!(world.read("r/.claude/hooks/key.txt").starts_with("ghp_"));
    assert!(!world.path("r/.claude/hooks/more.sh").exists());
    assert_eq!(active(&world)["active"], "light");
}

#[test]
fn a_body_of_ours_takes_what_its_links_point_at() {
    let world = Sandbox::new();
    world
        .file("b/.loci/agent.md", "---\nid: b\n---\n")
        .file("b/AGENTS.md", "I am")
        .link("b/CLAUDE.md", "AGENTS.md")
        .file("b/.loci/rules/r.md", "rule")
        .file("b/.loci/skills/k/SKILL.md", "k")
        .link("b/.claude/rules", "../.loci/rules")
        .link("b/.claude/skills", "../.loci/skills");
    let before = world.snapshot("b");
    world.loci("b", ["loadout", "archive", "me", "--with", "skills"]).exits(0);
    world.file("b/AGENTS.md", "I was").file("b/.loci/rules/s.md", "more").file("b/.loci/skills/k/SKILL.md", "changed");
    world.loci("b", ["loadout", "inject", "me"]).exits(0);
    assert_eq!(world.snapshot("b"), before);
}

#[test]
fn archives_are_checked_listed_removed_and_pruned() {
    let world = body();
    for name in ["", ".", "..", ".hid", "a/b", "_mine", "-x", "a\nb"] {
        let run = world.loci("r", ["loadout", "archive", "--", name]).exits(2);
        assert!(run.stderr.contains("error: "), "{name}: {}", run.stderr);
    }
    world.loci("r", ["loadout", "archive", "one"]).exits(0);
    world.loci("r", ["loadout", "archive", "one"]).exits(2);
    world.loci("r", ["loadout", "archive", "team", "--here"]).exits(0);
    assert!(world.path("r/.loci/loadouts/team/loadout.json").exists());
    world.file("r/CLAUDE.md", "x");
    let before = world.snapshot("r");
    world.loci("r", ["loadout", "inject", "nope"]).exits(2);
    // Somebody changed the archive.
    world.file("home/.loci/loadouts/one/files/CLAUDE.md", "forged");
    let run = world.loci("r", ["loadout", "inject", "one"]).exits(2);
    assert!(run.stderr.contains("no longer those that were saved"), "{}", run.stderr);
    // A record that names what lies outside, or what is no piece.
    let record = world.read("home/.loci/loadouts/one/loadout.json");
    for foreign in [".git/hooks", "/etc", "CLAUDE.md/../.git"] {
        world.file("home/.loci/loadouts/one/loadout.json", record.replace("\"CLAUDE.md\"", &format!("{foreign:?}")));
        let run = world.loci("r", ["loadout", "inject", "one"]).exits(2);
        assert!(run.stderr.contains("no piece of a loadout"), "{}", run.stderr);
    }
    // Two directories above, by the usual way.
    world.file("home/.loci/loadouts/one/loadout.json", record.replace("\"CLAUDE.md\"", "\"../../etc\""));
    world.loci("r", ["loadout", "inject", "one"]).exits(2);
    assert_eq!(world.snapshot("r"), before);
    for n in 0..3 {
        world.file("r/CLAUDE.md", format!("{n}"));
        world.loci("r", ["loadout", "inject", "team"]).exits(0);
    }
    let names = |run: Run| -> Vec<String> {
        run.json()["archives"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    let run = world.loci("r", ["loadout", "list", "--json"]).exits(0);
    assert!(run.stderr.contains("no piece of a loadout"), "{}", run.stderr);
    assert_eq!(names(run).iter().filter(|name| name.starts_with('_')).count(), 3);
    world.loci("r", ["loadout", "prune", "--keep", "1"]).exits(0);
    let left = names(world.loci("r", ["loadout", "list", "--json"]).exits(0));
    assert_eq!(left.len(), 2, "{left:?}");
    // The one that is kept is the one that `restore` needs.
    world.loci("r", ["loadout", "restore"]).exits(0);
    assert_eq!(world.read("r/CLAUDE.md"), "2");
    world.loci("r", ["loadout", "rm", "team"]).exits(0);
    assert!(!world.path("r/.loci/loadouts/team").exists());
}

#[test]
fn hostile_pieces_are_refused_and_nothing_is_lost() {
    let world = body();
    world.loci("r", ["loadout", "archive", "one"]).exits(0);
    nix::unistd::mkfifo(&world.path("r/.claude/rules/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let run = world.loci("r", ["loadout", "inject", "one"]).exits(2);
    assert!(run.stderr.contains("pipe"), "{}", run.stderr);
    assert!(world.path("r/.claude/rules/pipe").exists());
    // A dotdir that leads elsewhere: nothing is replaced through it.
    world.file("else/rules/own.md", "own").file("l/.loci/rules/x.md", "x").link("l/.claude", "../else");
    let before = (world.snapshot("else"), world.snapshot("l"));
    world.loci("l", ["loadout", "inject", "one"]).exits(2);
    assert_eq!((world.snapshot("else"), world.snapshot("l")), before);
}
