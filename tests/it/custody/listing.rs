//! A list is shown from the log: it says what the messages say, and no log can fool more than a list.

use std::fs;
use std::path::PathBuf;

use loci::custody::delegation::Change;
use loci::custody::inbox::{self, State};
use loci::custody::maildir::Mailbox;
use loci::custody::rule;
use serde_json::{Value, json};

use super::{agent, attempt, attempt_at, deliver_change, write};
use crate::cases::filetool::{fixture, surroundings};
use crate::sandbox::Sandbox;

const PLACE: &str = "home/repo/owned";

fn log(world: &Sandbox, place: &str) -> PathBuf {
    world.path(place).join(".loci/memory/inbox/log.jsonl")
}

/// What is listed, without what says where it comes from; and whether all of it comes from the log.
fn listed(world: &Sandbox, place: &str) -> (Vec<Value>, bool) {
    let list = world.loci(place, ["inbox", "--json"]).exits(0).json();
    let mut messages = list["messages"].as_array().unwrap().clone();
    let from_log = messages.iter().all(|message| message["shown_from"] == "log");
    messages.iter_mut().for_each(|message| drop(message.as_object_mut().unwrap().remove("shown_from")));
    (messages, from_log)
}

/// A world with a delegation, a repeat, an answer, a decline, a request and a slip's worth of odd names.
fn busy() -> Sandbox {
    let world = fixture();
    let alice = agent("alice", world.path("home/repo"));
    let mut ids = Vec::new();
    for (name, text) in [("a.txt", "one\n"), ("b \"\\\n\u{1b}.txt", "two\n"), ("c.txt", "three\n"), ("a.txt", "one\n")] {
        let (_, deliveries) = attempt(&world, &alice, &world.path(PLACE).join(name), text);
        ids.push(deliveries[0].outcome.as_ref().unwrap().id.clone());
    }
    world.loci(PLACE, ["inbox", "done", &ids[0], "--reply", "yes"]).exits(0);
    world.loci(PLACE, ["inbox", "decline", &ids[1], "--why", "no"]).exits(0);
    attempt(&world, &alice, &world.path(PLACE).join(".loci/owner.md"), "x\n");
    world
}

#[test]
fn the_log_shows_what_the_messages_say() {
    let world = busy();
    for (place, count) in [(PLACE, 3), ("home/repo", 2), ("home", 1)] {
        let (messages, from_log) = listed(&world, place);
        assert!(from_log && messages.len() == count, "{place}: {messages:#?}");
        // As older versions have noted it, each file is opened, and says the same.
        let text = fs::read_to_string(log(&world, place)).unwrap();
        let without = |line: &str| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            record.as_object_mut().unwrap().remove("message");
            format!("{record}\n")
        };
        fs::write(log(&world, place), text.lines().map(without).collect::<String>()).unwrap();
        let (again, from_log) = listed(&world, place);
        assert!(!from_log, "{place}");
        assert_eq!(again, messages, "{place}");
        // Without any log all is new, and all is there.
        fs::remove_file(log(&world, place)).unwrap();
        let (bare, _) = listed(&world, place);
        assert_eq!(bare.len(), count, "{place}");
        assert!(bare.iter().all(|message| message["state"] == "new"), "{place}");
    }
}

#[test]
fn what_is_there_is_what_lies_there() {
    let world = busy();
    let inbox = world.path(PLACE).join(".loci/memory/inbox");
    let (before, _) = listed(&world, PLACE);
    let path = |message: &Value| PathBuf::from(message["path"].as_str().unwrap());
    // One is gone, one was put there by hand, one was replaced by another file of its name.
    fs::remove_file(path(&before[0])).unwrap();
    let by_hand = "---\nid: \"20261130T110000Z-00000000000000aa\"\nkind: delegation\nfrom: \"carol\"\n---\n\nx\n";
    fs::write(inbox.join("new/00000000000000aa.md"), by_hand).unwrap();
    let text = fs::read_to_string(path(&before[1])).unwrap();
    fs::write(inbox.join("other"), text.replace("from: \"alice\"", "from: \"mallory\"")).unwrap();
    fs::rename(inbox.join("other"), path(&before[1])).unwrap();
    let (after, _) = listed(&world, PLACE);
    let ids = |messages: &[Value]| messages.iter().map(|message| message["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert!(!ids(&after).contains(&ids(&before)[0]) && after.len() == 3, "{after:#?}");
    let from = |id: &str| after.iter().find(|message| message["id"] == id).map(|message| message["from"].clone());
    assert_eq!(from("20261130T110000Z-00000000000000aa"), Some(json!("carol")));
    assert_eq!(from(&ids(&before)[1]), Some(json!("mallory")));
}

/// A log that somebody forged changes what a list says, and says so; what acts reads the message.
#[test]
fn a_log_that_lies_fools_no_act() {
    let world = fixture();
    let alice = agent("alice", world.path("home/repo"));
    let (_, deliveries) = attempt(&world, &alice, &world.path(PLACE).join("a.txt"), "one\n");
    let id = deliveries[0].outcome.as_ref().unwrap().id.clone();
    let text = fs::read_to_string(log(&world, PLACE)).unwrap();
    let lie = |change: &dyn Fn(&mut Value)| {
        let mut record: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        change(&mut record["message"]);
        fs::write(log(&world, PLACE), format!("{text}{record}\n")).unwrap();
        world.loci(PLACE, ["inbox", "--json"]).exits(0).json()["messages"][0].clone()
    };
    let told = lie(&|message| (message["from"], message["targets"]) = (json!("human"), json!(["/etc/passwd"])));
    assert_eq!((told["from"].as_str(), told["shown_from"].as_str()), (Some("human"), Some("log")));
    let shown = world.loci(PLACE, ["inbox", "show", &id]).exits(0).stdout;
    assert!(shown.contains("alice") && !shown.contains("passwd"), "{shown}");
    let applied = world.loci(PLACE, ["inbox", "apply", &id, "--json"]).exits(0).json();
    assert_eq!(applied["files"][0]["path"].as_str(), world.path(PLACE).join("a.txt").to_str());
    let done = world.loci(PLACE, ["inbox", "done", &id, "--reply", "yes", "--json"]).exits(0).json();
    assert_eq!(done["reply"]["to"], "alice");
    // What can't be this message's is not believed at all.
    let lies: [&dyn Fn(&mut Value); 6] = [
        &|message| message["id"] = json!("20261130T100000Z-00000000000000aa"),
        &|message| message["id"] = json!("\u{1b}[2J-0123456789abcdef"),
        &|message| message["inode"] = json!(1),
        &|message| message["inode"] = json!("x"),
        &|message| message["targets"] = json!({}),
        &|message| *message = json!(["x"]),
    ];
    for change in lies {
        let told = lie(change);
        assert_eq!(
            (told["id"].as_str(), told["from"].as_str(), told["shown_from"].as_str()),
            (Some(id.as_str()), Some("alice"), Some("message"))
        );
    }
    // Nor is a line that was cut off: what stood there before counts.
    fs::write(log(&world, PLACE), format!("{text}{}", &text[..text.len() / 2])).unwrap();
    let run = world.loci(PLACE, ["inbox", "--json"]).exits(0);
    assert!(run.stderr.contains("unreadable") && run.json()["messages"][0]["shown_from"] == "log", "{}", run.stderr);
}

#[test]
fn what_is_too_long_for_the_log_is_read_from_the_message() {
    let world = fixture();
    let alice = agent("alice", world.path("home/repo"));
    let acts: Vec<_> = (0..200).map(|n| write(world.path(PLACE).join(format!("a-long-name-{n}")))).collect();
    let ruling = rule(&acts, &alice, &surroundings(&world));
    let deliveries = deliver_change(&world, &alice, &ruling, Change::Command("touch".into()), "2026-11-30T10:00:00Z");
    assert!(deliveries.len() == 1 && deliveries[0].outcome.is_ok());
    assert!(fs::metadata(log(&world, PLACE)).unwrap().len() < 512);
    let (messages, from_log) = listed(&world, PLACE);
    // One run that hits many files of one owner is one message.
    assert!(!from_log && messages.len() == 1 && messages[0]["targets"].as_array().unwrap().len() > 100, "{messages:?}");
}

/// An answer that needs none is closed without a text, and goes like all that is finished.
#[test]
fn an_answer_that_was_read_goes_when_its_time_is_over() {
    let world = fixture();
    let alice = agent("alice", world.path("home/repo"));
    world.file("home/.loci/config.yaml", "retention: 7d\n");
    let id = attempt_at(&world, &alice, &world.path(PLACE).join("a.txt"), "one\n", "2026-11-30T10:00:00Z").1[0].outcome.clone().unwrap().id;
    world.loci(PLACE, ["inbox", "done", &id, "--reply", "yes"]).exits(0);
    let alices = Mailbox::of(&world.path("home/repo"));
    let answer = inbox::Log::read(&alices).unwrap().list().unwrap().messages.remove(0).open().unwrap();
    world.loci("home/repo", ["inbox", "done", &answer.id]).exits(0);
    assert_eq!(inbox::states(&alices).unwrap().0, [State::Done]);
    let text = fs::read_to_string(alices.log_file()).unwrap();
    let aged: String = text
        .lines()
        .map(|line| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            record["at"] = "2020-01-01T00:00:00Z".into();
            format!("{record}\n")
        })
        .collect();
    fs::write(alices.log_file(), aged).unwrap();
    let second =
        attempt_at(&world, &alice, &world.path(PLACE).join("a.txt"), "two\n", "2026-11-30T10:00:00Z").1[0].outcome.clone().unwrap().id;
    world.loci(PLACE, ["inbox", "decline", &second, "--why", "no"]).exits(0);
    let second =
        inbox::Log::read(&alices).unwrap().list().unwrap().messages.into_iter().find(|message| message.new).unwrap().open().unwrap();
    let run = world.loci("home/repo", ["inbox", "done", &second.id]).exits(0);
    assert!(run.stderr.contains("1 finished message"), "{}", run.stderr);
    assert!(alices.find(&answer.key).unwrap().is_none() && alices.find(&second.key).unwrap().is_some());
}

/// What no delivery has put there is named, and keeps nothing else from being listed.
#[test]
fn what_is_no_message_is_named() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let world = busy();
    let new = world.path(PLACE).join(".loci/memory/inbox/new");
    let (before, _) = listed(&world, PLACE);
    nix::unistd::mkfifo(&new.join("00000000000000aa.md"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    fs::create_dir(new.join("00000000000000bb.md")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", new.join("00000000000000cc.md")).unwrap();
    fs::write(new.join(OsStr::from_bytes(b"\xff.md")), "x").unwrap();
    fs::write(new.join("note.txt"), "x").unwrap();
    let run = world.loci(PLACE, ["inbox", "--json"]).exits(0);
    assert_eq!(run.json()["messages"].as_array().unwrap().len(), before.len());
    for part in ["aa.md is a pipe", "bb.md is a directory", "cc.md is a link", "new/\\xff.md is no message", "note.txt is no message"] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    // However many there are, a few are named.
    (0..100).for_each(|n| fs::write(new.join(format!("x{n}")), "").unwrap());
    let run = world.loci(PLACE, ["inbox"]).exits(0);
    assert!(run.stderr.lines().count() < 20 && run.stderr.contains("97 more"), "{}", run.stderr);
}

/// A log from which a lot can be left out: repeats that are as long as records may be.
fn long_log(world: &Sandbox, key: &str) -> String {
    let log = fs::read_to_string(log(world, PLACE)).unwrap();
    let again = json!({ "at": "2026-11-30T10:00:00Z", "key": key, "event": "again", "by": "alice", "pad": "x".repeat(700 << 10) });
    format!("{log}{}", format!("{again}\n").repeat(13))
}

#[test]
fn a_long_log_is_made_shorter_and_says_the_same() {
    let world = busy();
    let (before, _) = listed(&world, PLACE);
    let id = prepared(&world);
    world.loci(PLACE, ["inbox", "take", &id]).exits(0);
    let text = fs::read_to_string(log(&world, PLACE)).unwrap();
    assert!(text.len() < 1 << 20 && text.starts_with("{\"at\":") && text.contains("\"event\":\"compacted\""), "{}", text.len());
    let (mut after, from_log) = listed(&world, PLACE);
    let taken = after.iter().position(|message| message["id"] == id).unwrap();
    assert!(from_log && after[taken]["state"] == "taken" && after[taken]["again"] == 13);
    for field in ["state", "again", "path"] {
        after[taken][field] = before[taken][field].clone();
    }
    assert_eq!(after, before);
}

/// Killed after each of its steps, the log is the old one or the new one; the next run ends it.
#[test]
fn a_log_that_is_made_shorter_survives_every_crash() {
    let count = {
        let world = busy();
        let id = prepared(&world);
        let ops = world.path("ops");
        let mut command = world.command(PLACE);
        command.args(["inbox", "take", &id]).env("LOCI_FAULT", format!("log:{}", ops.display()));
        crate::sandbox::Run::of(&mut command, None).exits(0);
        fs::read_to_string(ops).unwrap().lines().count()
    };
    assert!(count >= 4, "{count}");
    for n in 1..=count {
        for fault in [format!("kill:{n}"), format!("fail:{n}:28")] {
            let world = busy();
            let id = prepared(&world);
            let mut command = world.command(PLACE);
            command.args(["inbox", "take", &id]).env("LOCI_FAULT", &fault);
            crate::sandbox::Run::of(&mut command, None);
            let state = |world: &Sandbox| {
                let (messages, from_log) = listed(world, PLACE);
                let one = messages.iter().find(|message| message["id"] == id).unwrap().clone();
                (messages.len(), from_log, one["again"].clone(), one["state"].as_str().unwrap().to_owned())
            };
            let (messages, from_log, again, _) = state(&world);
            assert_eq!((messages, from_log, again), (3, true, json!(13)), "{fault}");
            world.loci(PLACE, ["inbox", "take", &id]).exits(0);
            assert_eq!(state(&world), (3, true, json!(13), "taken".to_owned()), "{fault}");
        }
    }
}

/// Makes the log long with repeats of the message that nobody has dealt with; its id.
fn prepared(world: &Sandbox) -> String {
    let (messages, _) = listed(world, PLACE);
    let id = messages.iter().find(|message| message["state"] == "new").unwrap()["id"].as_str().unwrap().to_owned();
    fs::write(log(world, PLACE), long_log(world, id.rsplit('-').next().unwrap())).unwrap();
    id
}

/// Whoever appends while others make the log shorter loses nothing.
#[test]
fn several_at_once_make_a_log_shorter() {
    let world = fixture();
    let alice = agent("alice", world.path("home/repo"));
    let ids: Vec<String> = (0..6)
        .map(|n| attempt(&world, &alice, &world.path(PLACE).join(format!("{n}.txt")), "x\n").1[0].outcome.as_ref().unwrap().id.clone())
        .collect();
    fs::write(log(&world, PLACE), long_log(&world, ids[0].rsplit('-').next().unwrap())).unwrap();
    let mut running: Vec<_> = ids
        .iter()
        .map(|id| world.command(PLACE).args(["inbox", "take", id]).stdout(std::process::Stdio::null()).spawn().unwrap())
        .collect();
    assert!(running.iter_mut().all(|child| child.wait().unwrap().success()));
    assert!(fs::metadata(log(&world, PLACE)).unwrap().len() < 1 << 20);
    let (messages, from_log) = listed(&world, PLACE);
    assert!(from_log && messages.len() == 6 && messages.iter().all(|message| message["state"] == "taken"), "{messages:#?}");
}

/// Of several who answer a message at once, one does; the others are told that it is done.
#[test]
fn one_answer_is_given() {
    let world = fixture();
    let alice = agent("alice", world.path("home/repo"));
    let id = attempt(&world, &alice, &world.path(PLACE).join("a.txt"), "x\n").1[0].outcome.as_ref().unwrap().id.clone();
    let mut running: Vec<_> = (0..6)
        .map(|n| {
            let mut command = world.command(PLACE);
            command.args(["inbox", "done", &id, "--reply", &format!("answer {n}")]);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    let mut codes: Vec<_> = running.iter_mut().map(|child| child.wait().unwrap().code().unwrap()).collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 1, 1, 1, 1, 1]);
    // What is done is done, whatever is said or left out.
    let run = world.loci(PLACE, ["inbox", "done", &id]).exits(1);
    assert!(run.stderr.contains("is done already"), "{run:?}");
    assert_eq!(listed(&world, "home/repo").0.len(), 1);
}
