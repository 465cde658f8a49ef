//! What follows mail, and what takes it away when its time is over.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use super::{agent, attempt, attempt_at};
use crate::cases::filetool::fixture;
use crate::sandbox::Sandbox;

fn filed(world: &Sandbox, text: &str) -> String {
    let alice = agent("alice", world.path("home/repo"));
    let (_, deliveries) = attempt(world, &alice, &world.path("home/repo/owned/a.txt"), text);
    deliveries[0].outcome.as_ref().unwrap().id.clone()
}

#[test]
fn a_watcher_sees_what_is_there_and_what_arrives_and_ends_with_its_reader() {
    let world = fixture();
    let first = filed(&world, "one\n");
    let mut child = world.command("home/repo/owned").args(["inbox", "--watch", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<serde_json::Value>(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(next()["id"], first);
    let second = filed(&world, "two\n");
    assert_eq!(next()["id"], second);
    // The same attempt again is no new mail; another is.
    filed(&world, "two\n");
    let third = filed(&world, "three\n");
    assert_eq!(next()["id"], third);
    drop(lines);
    assert!(child.wait().unwrap().success());
    // And a signal ends it.
    let mut child = world.command("home/repo/owned").args(["inbox", "--watch"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("a.txt"));
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap()), nix::sys::signal::Signal::SIGINT).unwrap();
    assert!(!child.wait().unwrap().success());
}

#[test]
fn finished_mail_and_trails_go_when_their_time_is_over() {
    let world = fixture();
    world.file("home/.loci/config.yaml", "retention: 7d\n");
    let (old, open) = (filed(&world, "old\n"), filed(&world, "open\n"));
    world.loci("home/repo/owned", ["inbox", "done", &old, "--reply", "yes"]).exits(0);
    let inbox = world.path("home/repo/owned/.loci/memory/inbox");
    let log = fs::read_to_string(inbox.join("log.jsonl")).unwrap();
    // The answer was given long ago; so was the trail's last step.
    let key = old.rsplit('-').next().unwrap();
    let aged: String = log
        .lines()
        .map(|line| {
            let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
            if record["event"] == "done" {
                record["at"] = "2020-01-01T00:00:00Z".into();
            }
            format!("{record}\n")
        })
        .collect();
    fs::write(inbox.join("log.jsonl"), aged).unwrap();
    world.file("state/loci/trail/s-old.jsonl", "{}\n").file("state/loci/trail/s-new.jsonl", "{}\n");
    let before = SystemTime::now() - Duration::from_secs(8 * 86_400);
    fs::File::options().write(true).open(world.path("state/loci/trail/s-old.jsonl")).unwrap().set_modified(before).unwrap();
    // Reading takes nothing away; nor does a dry run.
    world.loci("home/repo/owned", ["inbox"]).exits(0);
    world.loci("home/repo/owned", ["inbox", "take", &open, "--dry-run"]).exits(0);
    assert!(inbox.join("cur").join(format!("{key}.md")).exists());
    let run = world.loci("home/repo/owned", ["inbox", "take", &open]).exits(0);
    assert!(run.stderr.contains("1 finished message and 1 trail"), "{}", run.stderr);
    let names: Vec<String> =
        walkdir::WalkDir::new(&inbox).into_iter().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(!names.iter().any(|name| name.starts_with(key)), "{names:?}");
    assert!(world.path("state/loci/trail/s-new.jsonl").exists() && !world.path("state/loci/trail/s-old.jsonl").exists());
    let list = world.loci("home/repo/owned", ["inbox", "--json"]).exits(0).json();
    assert_eq!((list["messages"].as_array().map(Vec::len), list["messages"][0]["id"].as_str()), (Some(1), Some(open.as_str())));
    // The same attempt begins anew.
    let alice = agent("alice", world.path("home/repo"));
    let (_, deliveries) = attempt_at(&world, &alice, &world.path("home/repo/owned/a.txt"), "old\n", "2026-12-30T10:00:00Z");
    assert!(!deliveries[0].outcome.as_ref().unwrap().again);
    let list = world.loci("home/repo/owned", ["inbox", "--json"]).exits(0).json();
    assert!(list["messages"].as_array().unwrap().iter().any(|message| message["state"] == "new"), "{list}");
    // `forever` keeps everything.
    world.file("home/.loci/config.yaml", "retention: forever\n");
    let other = deliveries[0].outcome.as_ref().unwrap().id.clone();
    assert!(!world.loci("home/repo/owned", ["inbox", "done", &other, "--reply", "no"]).exits(0).stderr.contains("gone"));
}
