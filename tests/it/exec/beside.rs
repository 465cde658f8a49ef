//! Where agents lie in a folder that is no repository: what is beside is held all the same.

use super::World;
use crate::sandbox::{Run, Sandbox};

/// `a` and `b` side by side in a folder, `b` with an owner file; no repository anywhere.
fn pair(folder: &str) -> Sandbox {
    let world = Sandbox::new();
    for id in ["a", "b"] {
        world.file(format!("{folder}/{id}/.loci/agent.md"), format!("---\nid: {id}\n---\n"));
    }
    world.file(format!("{folder}/b/.loci/owner.md"), "---\nowner: b\n---\n").file(format!("{folder}/b/x"), "b\n");
    world
}

#[test]
fn a_sibling_is_held_without_a_repository_and_where_the_look_begins_is_said() {
    for folder in ["home/work", "home"] {
        let world = pair(folder);
        let at = format!("{folder}/a");
        let run = world.loci(&at, ["exec", "--", "sh", "-c", "echo z > ../b/x; echo z > mine"]);
        if run.stderr.contains("the command was NOT run") {
            super::skipped("there is no jail here");
            return;
        }
        assert_eq!(world.read(format!("{folder}/b/x")), "b\n", "{folder}: {run:?}");
        assert_eq!(world.read(format!("{folder}/a/mine")), "z\n", "{run:?}");
        assert!(run.stderr.contains("handed over to b"), "{folder}: {run:?}");
        assert!(run.stderr.contains("a down, and what is owned beside it; nothing above"), "{run:?}");
        // The owner's inbox is found from there too.
        let mail = world.loci(&at, ["inbox", "b"]).exits(0);
        assert!(mail.stdout.contains("from a") || mail.stdout.contains(" a "), "{mail:?}");
        let near = world.loci(&at, ["exec", "--as", "bb", "--", "true"]).exits(2);
        assert!(near.stderr.contains("no agent bb is known"), "{near:?}");
    }
}

/// Where only what is held goes on, a look that nothing bounds is not enough.
#[test]
fn required_wants_to_know_how_far_to_look() {
    let world = pair("home/work");
    world.dir("home/scratch").file("home/.loci/config.yaml", "custody: required\n");
    if world.loci("home/work/a", ["exec", "--", "true"]).code == Some(126) {
        super::skipped("there is no jail here");
        return;
    }
    let run = world.loci("home/scratch", ["exec", "--", "touch", "../work/b/y"]).exits(126);
    assert!(run.stderr.contains("the command was NOT run") && run.stderr.contains("--root"), "{run:?}");
    assert!(!world.path("home/work/b/y").exists());
    world.loci("home/scratch", ["exec", "--root", ".", "--", "true"]).exits(0);
    world.loci("home/scratch", ["exec", "--dry-run", "--", "true"]).exits(0);
    world.dir("home/scratch/.git").loci("home/scratch", ["exec", "--", "true"]).exits(0);
}

#[test]
fn who_runs_as_another_one_has_its_body() {
    let world = pair("home/work");
    world.dir("home/work/.git");
    let run = world.loci("home/work", ["exec", "--as", "a", "--", "sh", "-c", "echo $LOCI_AGENT $LOCI_BODY; echo z > b/x"]);
    if run.stderr.contains("the command was NOT run") {
        super::skipped("there is no jail here");
        return;
    }
    assert!(run.stdout.starts_with("a /") && run.stdout.trim_end().ends_with("work/a"), "{run:?}");
    let list = world.loci("home/work", ["inbox", "b", "--json"]).exits(0).json();
    let id = list["messages"][0]["id"].as_str().unwrap().to_owned();
    let shown = world.loci("home/work", ["inbox", "show", &id]).exits(0).stdout;
    assert!(shown.contains("The command stands below") && !shown.contains("was captured and is not applied"), "{shown}");
    let done = world.loci("home/work", ["inbox", "done", &id, "--reply", "ok"]).exits(0);
    assert!(!done.stdout.contains("no answer could be delivered"), "{done:?}");
    assert!(world.loci("home/work/a", ["inbox"]).exits(0).stdout.contains("answer to"), "the answer has arrived");
    let unknown = world.loci("home/work", ["exec", "--as", "human", "--", "true"]).exits(2);
    assert!(unknown.stderr.contains("take another one"), "{unknown:?}");
}

/// A program that writes by a temporary name tries the same thing each time.
#[test]
fn another_name_each_time_is_the_same_attempt() {
    let world = World::new(None);
    for _ in 0..3 {
        let run = world.run("sed -i s/b/c/ bob/x.txt");
        if run.stderr.contains("the command was NOT run") {
            super::skipped("there is no jail here");
            return;
        }
    }
    let list = Run::of(&mut world.loci(["inbox", "bob", "--json"]), None).exits(0).json();
    assert_eq!(list["messages"].as_array().unwrap().len(), 1, "{list}");
}
