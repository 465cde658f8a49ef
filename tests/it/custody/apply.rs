//! `loci inbox apply`: a change that comes in whole, merged, or not at all.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use loci::custody::delegation::Change;
use loci::custody::rule;
use serde_json::{Value, json};

use super::{agent, attempt, deliver_change, on_name, write};
use crate::cases::filetool::{fixture, surroundings};
use crate::sandbox::{Run, Sandbox};

const A: &str = "home/repo/owned/a.txt";

/// Alice's wish for `a.txt`, and the id of bob's message.
fn wished(world: &Sandbox, text: &str) -> String {
    let alice = agent("alice", world.path("home/repo"));
    let (_, deliveries) = attempt(world, &alice, &world.path(A), text);
    deliveries[0].outcome.as_ref().unwrap().id.clone()
}

fn apply(world: &Sandbox, id: &str, code: i32) -> Value {
    world.loci("home/repo/owned", ["inbox", "apply", id, "--json"]).exits(code).json()
}

fn patched(world: &Sandbox, paths: &[&str], patch: &str) -> String {
    let repo = world.path("home/repo");
    let acts: Vec<_> = paths.iter().map(|path| write(repo.join(path))).collect();
    let alice = agent("alice", &repo);
    let ruling = rule(&acts, &alice, &surroundings(world));
    let deliveries = deliver_change(world, &alice, &ruling, Change::Patch(patch.to_owned()), "2026-11-30T10:00:00Z");
    deliveries[0].outcome.as_ref().unwrap().id.clone()
}

#[test]
fn a_change_comes_in_as_it_was_shown() {
    let world = fixture();
    let id = wished(&world, "alpha\nBETA\ngamma\n");
    let dry = world.loci("home/repo/owned", ["inbox", "apply", &id, "--dry-run"]).exits(0);
    assert!(dry.stdout.contains("changed  a.txt") && dry.stdout.contains("would be applied"), "{}", dry.stdout);
    assert_eq!(world.read(A), "alpha\nbeta\ngamma\n");
    let said = apply(&world, &id, 0);
    assert_eq!((said["done"].as_bool(), said["files"][0]["how"].as_str()), (Some(true), Some("changed")));
    assert_eq!(world.read(A), "alpha\nBETA\ngamma\n");
    // Once is enough; and it is still to be answered.
    apply_again(&world, &id);
    let list = world.loci("home/repo/owned", ["inbox", "--json"]).exits(0).json();
    assert_eq!(list["messages"][0]["state"], "taken");
    world.loci("home/repo/owned", ["inbox", "done", &id, "--reply", "in"]).exits(0);
}

fn apply_again(world: &Sandbox, id: &str) {
    assert!(world.loci("home/repo/owned", ["inbox", "apply", id]).exits(1).stderr.contains("applied already"));
}

#[test]
fn what_has_gone_on_is_merged_and_what_is_at_odds_is_said_and_left() {
    let world = fixture();
    let id = wished(&world, "alpha\nbeta\nGAMMA\n");
    world.file(A, "ALPHA\nbeta\ngamma\n");
    assert_eq!(apply(&world, &id, 0)["files"][0]["how"], "merged");
    assert_eq!(world.read(A), "ALPHA\nbeta\nGAMMA\n");
    let world = fixture();
    let patch =
        "*** Begin Patch\n*** Update File: owned/b.txt\n@@\n-one 1\n+1\n*** Update File: owned/a.txt\n@@\n-beta\n+BETA\n*** End Patch\n";
    let b = world.read("home/repo/owned/b.txt");
    let id = patched(&world, &["owned/a.txt", "owned/b.txt"], patch);
    world.file(A, "alpha\nbother\ngamma\n");
    let said = apply(&world, &id, 1);
    assert_eq!(said["conflicts"].as_array().map(Vec::len), Some(1), "{said}");
    assert!(said["conflicts"][0]["why"].as_str().unwrap().contains("line 2"), "{said}");
    assert_eq!((world.read(A).as_str(), world.read("home/repo/owned/b.txt")), ("alpha\nbother\ngamma\n", b));
}

#[test]
fn new_deleted_moved_binary_and_executable() {
    let world = fixture();
    let patch = "*** Begin Patch\n*** Add File: owned/deep/er/new.txt\n+new\n*** Delete File: owned/b.txt\n*** Update File: owned/a.txt\n*** Move to: owned/c.txt\n@@\n-beta\n+BETA\n*** End Patch\n";
    let repo = world.path("home/repo");
    let alice = agent("alice", &repo);
    let acts = [
        write(repo.join("owned/deep/er/new.txt")),
        on_name(loci::custody::ActKind::Remove, repo.join("owned/b.txt")),
        on_name(loci::custody::ActKind::Rename, repo.join("owned/a.txt")),
        write(repo.join("owned/c.txt")),
    ];
    let ruling = rule(&acts, &alice, &surroundings(&world));
    let deliveries = deliver_change(&world, &alice, &ruling, Change::Patch(patch.to_owned()), "2026-11-30T10:00:00Z");
    let id = deliveries[0].outcome.as_ref().unwrap().id.clone();
    apply(&world, &id, 0);
    assert_eq!(world.read("home/repo/owned/deep/er/new.txt"), "new\n");
    assert_eq!(world.read("home/repo/owned/c.txt"), "alpha\nBETA\ngamma\n");
    assert!(!world.path(A).exists() && !world.path("home/repo/owned/b.txt").exists());

    let world = fixture();
    let repo = world.path("home/repo");
    let path = repo.join("owned/x.bin");
    let ruling = rule(&[write(&path)], &alice, &surroundings(&world));
    let bytes = vec![0, 159, 146, 150, 10];
    let deliveries = deliver_change(
        &world,
        &agent("alice", &repo),
        &ruling,
        Change::Content { path: path.clone(), bytes: bytes.clone() },
        "2026-11-30T10:00:00Z",
    );
    apply(&world, &deliveries[0].outcome.as_ref().unwrap().id, 0);
    assert_eq!(fs::read(&path).unwrap(), bytes);

    let world = fixture();
    let id = patched(&world, &["owned/a.txt"], "diff --git a/owned/a.txt b/owned/a.txt\nold mode 100644\nnew mode 100755\n");
    apply(&world, &id, 0);
    assert_eq!(fs::metadata(world.path(A)).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(world.read(A), "alpha\nbeta\ngamma\n");
}

#[test]
fn only_the_owner_and_a_person_apply() {
    let world = fixture();
    let id = wished(&world, "x\n");
    let as_agent = |cwd: &str| {
        let mut command = world.command(cwd);
        command.args(["inbox", "apply", &id]).env("LOCI_ANCESTORS", "claude");
        Run::of(&mut command, None)
    };
    let run = as_agent("home/repo");
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(world.read(A), "alpha\nbeta\ngamma\n");
    // A person may, from wherever the message is found.
    world.loci("home/repo", ["inbox", "apply", &id]).exits(0);
    assert_eq!(world.read(A), "x\n");
}

/// Whatever stands in the files of an inbox: nothing outside the targets, nothing on the wall, nothing
/// through a link, and nothing that is not as it was kept.
#[test]
fn hostile_changes_bring_nothing_in() {
    let kept = |world: &Sandbox| {
        let held = world.path("home/repo/owned/.loci/memory/inbox/held");
        fs::read_dir(held)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.extension().is_some_and(|end| end == "json"))
            .unwrap()
    };
    let letter =
        |world: &Sandbox| fs::read_dir(world.path("home/repo/owned/.loci/memory/inbox/new")).unwrap().next().unwrap().unwrap().path();
    // Altered where it lies: the digest in its name tells.
    let world = fixture();
    let id = wished(&world, "x\n");
    let path = kept(&world);
    let text = fs::read_to_string(&path).unwrap();
    for odd in [text.replace("\"x\\n\"", "\"evil\\n\""), String::new(), "[]".to_owned(), text[..text.len() / 2].to_owned()] {
        fs::write(&path, odd).unwrap();
        let run = world.loci("home/repo/owned", ["inbox", "apply", &id]).exits(2);
        assert!(run.stderr.contains("not what was kept"), "{}", run.stderr);
    }
    // Somebody forges both: then the judge and the targets hold.
    for (forged, why) in [
        ("home/repo/free/x.txt", "not one of the message's targets"),
        ("home/repo/owned/.loci/owner.md", "not one of the message's targets"),
    ] {
        let world = fixture();
        let id = wished(&world, "x\n");
        let change = json!({ "schema": 1, "files": [{ "path": world.path(forged), "was": null, "will": "evil\n" }] }).to_string();
        let old = kept(&world);
        let key = id.rsplit('-').next().unwrap();
        let name = format!("{key}.{}.json", &loci::text::digest::sha256(change.as_bytes())[..16]);
        fs::write(old.with_file_name(&name), &change).unwrap();
        let path = letter(&world);
        let text = fs::read_to_string(&path).unwrap();
        let forged_letter = text.replace(old.file_name().unwrap().to_str().unwrap(), &name);
        fs::write(&path, &forged_letter).unwrap();
        let before = world.snapshot("home/repo/free");
        let said = apply(&world, &id, 1);
        assert!(said["conflicts"][0]["why"].as_str().unwrap().contains(why), "{said}");
        // And where the targets are forged along, the judge.
        let target = world.path(A).display().to_string();
        fs::write(&path, forged_letter.replace(&format!("  - \"{target}\""), &format!("  - \"{}\"", world.path(forged).display())))
            .unwrap();
        let said = apply(&world, &id, 1);
        let why = said["conflicts"][0]["why"].as_str().unwrap();
        assert!(why.contains("only a person") || why.contains("not bob's"), "{said}");
        assert_eq!(world.snapshot("home/repo/free"), before);
        assert!(world.read("home/repo/owned/.loci/owner.md").contains("bob"));
    }
    // A link that was put in the way leads nowhere.
    let world = fixture();
    let id = wished(&world, "x\n");
    world.file("elsewhere/a.txt", "alpha\nbeta\ngamma\n");
    fs::remove_file(world.path(A)).unwrap();
    world.link(A, world.path("elsewhere/a.txt"));
    apply(&world, &id, 1);
    assert_eq!(world.read("elsewhere/a.txt"), "alpha\nbeta\ngamma\n");
    // A path out of the inbox as a name.
    let world = fixture();
    let id = wished(&world, "x\n");
    let path = letter(&world);
    let text = fs::read_to_string(&path).unwrap();
    let name = kept(&world).file_name().unwrap().to_str().unwrap().to_owned();
    fs::write(&path, text.replace(&name, "../../../../evil.json")).unwrap();
    world.loci("home/repo/owned", ["inbox", "apply", &id]).exits(2);
}

#[test]
fn what_was_masked_or_does_not_fit_is_said() {
    let world = fixture();
    let token = format!("ghp_{}", "a1B2c3D4".repeat(5));
    let id = wished(&world, &format!("KEY={token}\n"));
    let run = world.loci("home/repo/owned", ["inbox", "apply", &id]).exits(2);
    assert!(run.stderr.contains("masked") && run.stderr.contains("hint: loci inbox show"), "{}", run.stderr);
    let held = world.path("home/repo/owned/.loci/memory/inbox");
    for entry in walkdir::WalkDir::new(held).into_iter().flatten().filter(|entry| entry.file_type().is_file()) {
        assert!(!fs::read_to_string(entry.path()).unwrap().contains(&token), "{:?}", entry.path());
    }
    let id = patched(&world, &["owned/a.txt"], "*** Begin Patch\n*** Update File: owned/a.txt\n@@\n-nowhere\n+x\n*** End Patch\n");
    world.loci("home/repo/owned", ["inbox", "apply", &id]).exits(2);
    assert_eq!(world.read(A), "alpha\nbeta\ngamma\n");
}
