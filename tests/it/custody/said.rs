//! What verbs say that would else be silent: flags without use, open mail, lists in part, work for an owner.

use serde_json::json;

use super::verbs::{filed, inside};
use crate::cases::filetool::fixture;
use crate::sandbox::{Run, Sandbox};

/// `--as` makes nobody another: where a verb has no use for it, that is said.
#[test]
fn a_flag_that_changes_nothing_is_said() {
    let world = fixture();
    let asked = ["delegate", "bob", "--reads", "owned/a.txt", "--idea", "x", "--dry-run", "--as"];
    let run = |who: &str, world: &Sandbox| {
        let mut command = world.command("home/repo");
        Run::of(command.args(asked).arg(who).env("LOCI_AGENT", "alice"), None).exits(0).stderr
    };
    assert!(run("bob", &world).contains("--as bob changes nothing here: this verb acts as alice"));
    assert!(!run("alice", &world).contains("--as"));
    let outside = ["delegate", "bob", "--reads", "repo/owned/a.txt", "--idea", "x", "--dry-run", "--as", "bob"];
    let person = world.loci("home", outside).exits(0).stderr;
    assert!(person.contains("this verb acts as yourself"), "{person}");
    for args in [&["check", "owned/a.txt", "--as", "bob"][..], &["inbox", "--as", "bob"], &["tree", "--as", "gate"]] {
        assert!(!world.loci("home/repo", args).stderr.contains("changes nothing"), "{args:?}");
    }
}

/// Who gives a directory up is told of the mail about it, and who gets it as well.
#[test]
fn mail_is_not_orphaned_in_silence() {
    let world = fixture();
    let id = filed(&world, "x\n");
    for args in [&["disown", "owned", "--dry-run"][..], &["disown", "owned"]] {
        let run = world.loci("home/repo", args).exits(0);
        assert!(run.stderr.contains("1 open message"), "{args:?}: {}", run.stderr);
    }
    world.loci("home/repo", ["own", "owned", "--as", "bob"]).exits(0);
    let said = world.loci("home/repo", ["disown", "owned", "--dry-run", "--json"]).exits(0).json();
    assert_eq!((said["open_mail"].as_array().unwrap().len(), &said["open_mail"][0]["id"]), (1, &json!(id)));
    world.loci("home/repo", ["disown", "owned"]).exits(0);
    let run = world.loci("home/repo", ["own", "owned", "--as", "alice"]).exits(0);
    assert!(run.stderr.contains("1 message to an earlier owner"), "{}", run.stderr);
    world.loci("home/repo", ["inbox", "alice", "--path", "owned"]).exits(0);
    world.loci("home/repo", ["inbox", "decline", &id, "--why", "no"]).exits(0);
    let run = world.loci("home/repo", ["disown", "owned"]).exits(0);
    assert!(!run.stderr.contains("open message"), "{}", run.stderr);
}

/// A list can be asked for some of its messages.
#[test]
fn an_inbox_is_listed_in_part() {
    let world = fixture();
    let id = filed(&world, "x\n");
    let other = filed(&world, "y\n");
    world.loci("home/repo", ["inbox", "decline", &other, "--why", "no"]).exits(0);
    let ids = |args: &[&str], code: i32| -> Vec<String> {
        let args = ["inbox", "bob", "--json"].into_iter().chain(args.iter().copied());
        let all = world.loci("home/repo", args).exits(code).json();
        let mut ids: Vec<String> = all["messages"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    };
    let mut both = vec![id.clone(), other.clone()];
    both.sort();
    let at = world.path("home/repo/owned");
    for (args, wanted) in [
        (&[][..], &both),
        (&["--open"], &vec![id.clone()]),
        (&["--done"], &vec![other.clone()]),
        (&["--from", "alice", "--kind", "delegation"], &both),
        (&["--from", "carol"], &Vec::new()),
        (&["--kind", "reply"], &Vec::new()),
        (&["--since", "2000-01-01"], &both),
        (&["--since", "2999-01-01T00:00:00Z"], &Vec::new()),
        (&["--path", at.to_str().unwrap()], &both),
        (&["--path", "owned/a.txt"], &both),
        (&["--path", "free"], &Vec::new()),
    ] {
        assert_eq!(&ids(args, i32::from(wanted.is_empty())), wanted, "{args:?}");
    }
    let run = world.loci("home/repo", ["inbox", "bob", "--from", "alcie"]).exits(1);
    assert!(run.stderr.contains("did you mean `alice`?"), "{}", run.stderr);
    world.loci("home/repo", ["inbox", "--since", "soon"]).exits(2);
    world.loci("home/repo", ["inbox", "--open", "--done"]).exits(2);
}

/// A toggle, a set or a saved loadout in somebody's directory is refused like a write, and becomes work for the owner.
#[test]
fn what_is_worn_in_anothers_directory_is_handed_over() {
    let world = fixture();
    world.file("home/repo/owned/.loci/rules/r.md", "x\n").file("home/repo/owned/CLAUDE.md", "x\n");
    for args in [
        &["toggle", "rules/r", "off", "--level", "owned"][..],
        &["sets", "save", "s", "--level", "owned"],
        &["loadout", "archive", "calm", "--here", "--level", "owned"],
    ] {
        let run = inside(&world, "home/repo", args).exits(1);
        assert!(run.stderr.contains("refused: ") && run.stderr.contains("handed over to bob as "), "{args:?}: {run:?}");
        // The same once more is not filed again; a dry run files nothing.
        let before = world.snapshot("home/repo/owned/.loci/memory/inbox/new").len();
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let said = inside(&world, "home/repo", &args).exits(1).json();
        assert_eq!(said["filed"].as_array().unwrap().len(), 1, "{said}");
        let dry: Vec<&str> = args.iter().copied().chain(["--dry-run"]).collect();
        assert_eq!(inside(&world, "home/repo", &dry).exits(1).json()["filed"], json!([]));
        assert_eq!(world.snapshot("home/repo/owned/.loci/memory/inbox/new").len(), before);
    }
    let all = world.loci("home/repo", ["inbox", "bob", "--json"]).exits(0).json();
    let changes: Vec<&str> = all["messages"].as_array().unwrap().iter().map(|one| one["change"].as_str().unwrap()).collect();
    assert_eq!(changes, ["command", "command", "command"]);
    assert!(world.path("home/repo/owned/.loci/rules/r.md").exists());
}

/// `--at` is obeyed or refused, by each verb.
#[test]
fn where_the_agent_stands_is_obeyed_or_refused() {
    let world = Sandbox::new();
    world.file("home/repo/bob/.loci/agent.md", "---\nid: bob\n---\n").file("home/repo/bob/README.md", "x\n");
    world.file("home/repo/alice/.loci/agent.md", "---\nid: alice\n---\n").dir("home/repo/.git");
    let refusing: &[&[&str]] = &[
        &["inbox"],
        &["jobs"],
        &["ledger"],
        &["trail"],
        &["run", "bob", "hi"],
        &["exec", "--", "true"],
        &["tree"],
        &["doctor"],
        &["check", "x"],
        &["own", "x", "--as", "bob"],
        &["disown", "x"],
        &["new", "x"],
        &["inherit", "bob", "x"],
        &["permit", "bob", "x", "--for", "1m"],
        &["delegate", "bob", "--reads", "x", "--idea", "y"],
        &["handover", "1", "x"],
        &["requests"],
        &["approve", "1"],
        &["deny", "1", "--why", "x"],
        &["grants"],
        &["trust", "x"],
        &["connect", "claude"],
        &["disconnect", "claude"],
        &["clock", "status"],
        &["loop", "list"],
        &["mirror", "attach", "x"],
        &["templates"],
        &["init"],
    ];
    for words in refusing {
        let run = world.loci("home/repo/alice", ["--at", "../bob"].iter().chain(words.iter()));
        assert!(run.stderr.contains("failed to use --at"), "{words:?}: {}", run.stderr);
        run.exits(2);
    }
    let hinted = world.loci("home/repo/alice", ["inbox", "--open", "--at", "../bob"]).exits(2);
    assert!(hinted.stderr.contains("hint: cd ../bob && loci inbox --open"), "{}", hinted.stderr);
    let found = world.loci("home", ["where", "--at", "repo/bob", "README.md"]).exits(0);
    assert!(!found.stdout.contains("does not exist"), "{}", found.stdout);
    for words in [&["show"][..], &["resolve", "skills"], &["hooks"], &["where"], &["sets"]] {
        let run = world.loci("home/repo/alice", words.iter().chain(["--at", "../bob"].iter()));
        assert!(!run.stderr.contains("failed to use --at"), "{words:?}: {}", run.stderr);
    }
}
