//! `own`, `disown`, `check`, `inbox`, `handover` as people and agents run them.

use std::fs;

use serde_json::{Value, json};

use super::{agent, attempt};
use crate::cases::filetool::fixture;
use crate::sandbox::{Run, Sandbox};

/// The program as an agent under a harness runs it.
pub(super) fn inside(world: &Sandbox, cwd: &str, args: &[&str]) -> Run {
    let mut command = world.command(cwd);
    command.args(args).env("LOCI_ANCESTORS", "bash:claude:sh");
    Run::of(&mut command, None)
}

#[test]
fn owning_writes_one_file_and_disowning_takes_it_away() {
    let world = Sandbox::new();
    world.file("r/agents/billing/.loci/agent.md", "---\nid: billing\n---\n");
    world.file("r/services/billing/main.rs", "x").dir("r/.git");
    let before = world.snapshot("r");
    let dry = world.loci("r", ["own", "services/billing", "--as", "billing", "--dry-run"]).exits(0);
    assert_eq!(dry.stdout, "create services/billing/.loci/owner.md\n");
    assert_eq!(world.snapshot("r"), before);
    let run = world.loci("r", ["own", "services/billing", "--as", "billing", "--note", "Ask first."]).exits(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("billing owns services/billing\n", ""));
    let text = world.read("r/services/billing/.loci/owner.md");
    assert!(text.starts_with("---\nowner: billing\nbody: ../../agents/billing\nsince: 20"), "{text}");
    assert!(text.ends_with("Z\n---\nAsk first.\n"), "{text}");
    world.loci("r", ["check", "services/billing/main.rs"]).exits(1);
    world.loci("r/agents/billing", ["check", "../../services/billing/main.rs"]).exits(0);
    // Again is fine; somebody else is in the way.
    world.loci("r", ["own", "services/billing", "--as", "billing"]).exits(0);
    let other = world.loci("r", ["own", "services/billing", "--as", "eve"]).exits(2);
    assert!(
        other.stderr.contains("billing does")
            && other.stderr.contains("owner.md:2")
            && other.stderr.contains("hint: loci disown services/billing"),
        "{}",
        other.stderr
    );
    assert_eq!(world.loci("r", ["disown", "services/billing", "--dry-run"]).exits(0).stdout, "remove services/billing/.loci/owner.md\n");
    assert_eq!(world.loci("r", ["disown", "services/billing"]).exits(0).stdout, "nobody owns services/billing any more\n");
    assert_eq!(world.snapshot("r"), before);
    world.loci("r", ["disown", "services/billing"]).exits(1);
    world.loci("r", ["check", "services/billing/main.rs"]).exits(0);
}

#[test]
fn owning_says_what_is_wrong() {
    let world = Sandbox::new();
    world.dir("r/d").file("r/f", "");
    for (args, wanted) in [
        (&["own", "d"][..], "--as names the agent"),
        (&["own", "d", "--as", "Not An Id"], "is no agent id"),
        (&["own", "d", "--as", "Bob"], "hint: loci own d --as bob"),
        (&["own", "nowhere", "--as", "bob"], "it is not there"),
        (&["own", "nowhere", "--as", "bob"], "hint: mkdir -p nowhere"),
        (&["own", "f", "--as", "bob"], "it is not a directory"),
        (&["own", "f", "--as", "bob"], "hint: loci own . --as bob"),
        (&["own", "d", "--as", "bob", "--body", "d"], "no agent lives there"),
    ] {
        let run = world.loci("r", args).exits(2);
        assert!(run.stderr.starts_with("error: failed to") || run.stderr.starts_with("error: `"), "{}", run.stderr);
        assert!(run.stderr.contains(wanted), "{args:?}: {}", run.stderr);
    }
    assert_eq!(world.snapshot("r").len(), 3);
    world.file("r/a/.loci/agent.md", "---\nid: bob\n---\n").file("r/b/.loci/agent.md", "---\nid: bob\n---\n").dir("r/.git");
    let two = world.loci("r", ["own", "d", "--as", "bob"]).exits(2);
    assert!(two.stderr.contains("there are two") && two.stderr.contains("--body"), "{}", two.stderr);
    let none = world.loci("r", ["own", "d", "--as", "carol"]).exits(0);
    assert!(none.stderr.contains("there is no agent carol") && none.stderr.contains("hint: loci new agents/carol"), "{}", none.stderr);
    assert!(!world.read("r/d/.loci/owner.md").contains("body:"));
    // One that is nearly somebody: another body would not help.
    world.loci("r", ["disown", "d"]).exits(0);
    let slip = world.loci("r", ["own", "d", "--as", "bbo"]).exits(0).stderr;
    assert!(slip.contains("did you mean `bob`?") && slip.contains("hint: loci disown d && loci own d --as bob"), "{slip}");
}

#[test]
fn a_grant_in_an_agents_session_is_a_request() {
    let world = fixture();
    let before = world.snapshot("home/repo/free");
    for args in [&["own", "free", "--as", "alice"][..], &["disown", "owned"]] {
        let run = inside(&world, "home/repo", args).exits(1);
        let id = run.stdout.trim().to_owned();
        assert!(run.stderr.contains("only a person") && run.stderr.contains("claude"), "{}", run.stderr);
        let held: Vec<String> = fs::read_dir(world.path("home/.loci/memory/inbox/held"))
            .unwrap()
            .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
            .collect();
        let text = held.iter().find(|text| text.contains(&id)).unwrap();
        assert!(text.contains("from: \"alice\"") && text.contains(&format!("loci {} ", args[0])), "{text}");
    }
    assert_eq!(world.snapshot("home/repo/free"), before);
    assert!(world.path("home/repo/owned/.loci/owner.md").exists());
    // The variables of an embodied agent say the same.
    let mut command = world.command("home/repo");
    command.args(["own", "free", "--as", "alice"]).env("LOCI_AGENT", "alice");
    Run::of(&mut command, None).exits(1);
    // What would be done may be asked by anybody.
    inside(&world, "home/repo", &["own", "free", "--as", "alice", "--dry-run"]).exits(0);
}

#[test]
fn a_check_prints_the_ruling_and_its_grounds() {
    let world = fixture();
    let run = world.loci("home/repo", ["check", "--json", "owned/new/x", "free/x.txt", ".claude/settings.json"]).exits(1);
    let repo = world.path("home/repo");
    let path = |rel: &str| repo.join(rel).to_str().unwrap().to_owned();
    assert_eq!(
        run.json(),
        json!({
            "schema": 1, "id": Value::Null, "verdict": "refuse",
            "acts": [
                { "act": "write", "path": path("owned/new/x"), "owner": "bob", "verdict": "refuse", "decided_by": path("owned/.loci/owner.md"), "why": "owned" },
                { "act": "write", "path": path("free/x.txt"), "owner": Value::Null, "verdict": "allow", "decided_by": path(".loci/agent.md"), "why": "home" },
                { "act": "write", "path": path(".claude/settings.json"), "owner": "human", "verdict": "refuse", "decided_by": Value::Null, "why": "wall" },
            ]
        })
    );
    let words = world.loci("home/repo", ["check", "owned/a.txt", "free/x.txt"]).exits(1);
    assert_eq!(
        words.stdout,
        "refuse  owned/a.txt  bob's (owned/.loci/owner.md:2)\nallow   free/x.txt   alice's own body (.loci/agent.md)\n"
    );
    world.loci("home/repo", ["check", "--as", "bob", "owned/a.txt"]).exits(0);
    world.loci("home/repo", ["check", "--as", "carol", "owned/a.txt"]).exits(1);
    world.loci("home", ["check", "--cwd", "repo/owned", "a.txt"]).exits(0);
    world.loci("home/repo", ["check", "--as", "../x", "a"]).exits(2);
    world.loci("home/repo", ["check"]).exits(2);
    let before = world.snapshot(".");
    world.loci("home/repo", ["check", "owned/a.txt"]).exits(1);
    assert_eq!(before, world.snapshot("."), "a verb that reads wrote");
    world.file("home/.loci/config.yaml", "wall: nonsense\n");
    let broken = world.loci("home/repo", ["check", "free/x.txt"]).exits(2);
    assert!(broken.stderr.contains("config.yaml:1"), "{}", broken.stderr);
}

#[test]
fn a_pinned_body_is_the_owner_and_its_name_alone_is_not() {
    let world = Sandbox::new();
    world.file("r/d/.loci/owner.md", "---\nowner: bob\nbody: ../bob\n---\n");
    world.file("r/bob/.loci/agent.md", "---\nid: bob\n---\n").file("r/fake/.loci/agent.md", "---\nid: bob\n---\n");
    world.loci("r/bob", ["check", "../d/x"]).exits(0);
    world.loci("r/fake", ["check", "../d/x"]).exits(1);
    world.loci("r", ["check", "--as", "bob", "d/x"]).exits(0);
}

#[test]
fn a_body_that_moved_is_found_said_and_corrected() {
    let world = Sandbox::new();
    world.dir("r/.git").file("r/agents/bill2/.loci/agent.md", "---\nid: billing\n---\n");
    let file = "---\nowner: billing\nbody: ../../agents/billing\ncommons: [gen]\n---\nAsk.\n";
    world.file("r/services/billing/.loci/owner.md", file);
    let swept = world.loci("r", ["doctor", "--json"]).exits(1).json();
    let finding = &swept["findings"][0];
    assert_eq!((&finding["code"], &finding["line"]), (&json!("owner-astray"), &json!(3)), "{swept}");
    let refused = world.loci("r/agents/bill2", ["check", "../../services/billing/x"]).exits(1);
    for piece in ["owner.md:3 pins the body", "agents/billing; yours is", "no billing lives there", "loci own"] {
        assert!(refused.stdout.contains(piece), "`{piece}`: {}", refused.stdout);
    }
    let dry = world.loci("r", ["own", "services/billing", "--as", "billing", "--dry-run"]).exits(0);
    assert_eq!(dry.stdout, "change services/billing/.loci/owner.md\n");
    assert_eq!(world.read("r/services/billing/.loci/owner.md"), file);
    let run = world.loci("r", ["own", "services/billing", "--as", "billing"]).exits(0);
    assert_eq!(run.stdout, "billing owns services/billing: its body is ../../agents/bill2\n");
    assert_eq!(world.read("r/services/billing/.loci/owner.md"), file.replace("agents/billing", "agents/bill2"));
    world.loci("r/agents/bill2", ["check", "../../services/billing/x"]).exits(0);
    world.loci("r", ["doctor"]).exits(0);
    world.loci("r", ["own", "services/billing", "--as", "billing", "--note", "Other."]).exits(0);
    assert!(world.read("r/services/billing/.loci/owner.md").ends_with("---\nOther.\n"));
    // An agent does not correct what says who owns.
    inside(&world, "r", &["own", "services/billing", "--as", "billing", "--note", "Mine."]).exits(1);
    assert!(world.read("r/services/billing/.loci/owner.md").ends_with("---\nOther.\n"));
}

#[test]
fn the_right_name_without_the_pinned_body_is_told_what_is_missing() {
    let world = Sandbox::new();
    world.file("r/d/.loci/owner.md", "---\nowner: bob\nbody: ../bob\n---\n").file("r/bob/.loci/agent.md", "---\nid: bob\n---\n");
    let mut command = world.command("r");
    command.args(["check", "d/x"]).env("LOCI_AGENT", "bob");
    let run = Run::of(&mut command, None).exits(1);
    let wanted = "bob's, and d/.loci/owner.md:3 pins the body bob; none is known of you (set LOCI_BODY to it, or start in it)";
    assert!(run.stdout.contains(wanted), "{}", run.stdout);
    let asker = loci::custody::Asker { agent: Some(loci::text::name::AgentId::new("bob").unwrap()), body: None };
    let (ruling, deliveries) = attempt(&world, &asker, &world.path("r/d/x"), "x");
    let text = loci::custody::message::message(&ruling, &deliveries);
    assert!(text.contains("owner.md:3 pins the body") && text.contains("LOCI_BODY"), "{text}");
    command.env("LOCI_BODY", world.path("r/bob"));
    Run::of(&mut command, None).exits(0);
}

/// Files a write of alice's and gives its id.
pub(super) fn filed(world: &Sandbox, text: &str) -> String {
    let alice = agent("alice", world.path("home/repo"));
    let (_, deliveries) = attempt(world, &alice, &world.path("home/repo/owned/a.txt"), text);
    deliveries[0].outcome.as_ref().unwrap().id.clone()
}

#[test]
fn mail_is_read_taken_and_answered() {
    let world = fixture();
    let owned = "home/repo/owned";
    assert_eq!(world.loci(owned, ["inbox"]).exits(1).stdout, "nothing for bob\n");
    let id = filed(&world, "alpha\nBETA\ngamma\n");
    let list = world.loci(owned, ["inbox", "--json"]).exits(0).json();
    assert_eq!((&list["agent"], &list["open"], list["messages"].as_array().unwrap().len()), (&json!("bob"), &json!(1), 1));
    assert_eq!(list["messages"][0]["id"], json!(id));
    assert_eq!(list["messages"][0]["state"], json!("new"));
    let words = world.loci(owned, ["inbox"]).exits(0).stdout;
    assert!(words.starts_with(&id) && words.contains("new") && words.contains("alice") && words.contains("a.txt"), "{words}");
    // What only alice knows, from wherever she is.
    world.loci("home/repo/free", ["handover", &id, "I read a.txt; beta should shout"]).exits(0);
    world.loci("home/repo/free", ["handover", "19990101", "x"]).exits(2);
    let before = world.snapshot(owned);
    let shown = world.loci(owned, ["inbox", "show", &id]).exits(0).stdout;
    assert_eq!(before, world.snapshot(owned));
    for piece in ["+BETA", "beta should shout", "what alice wrote", "it can grant nothing", "[begin ", "[end "] {
        assert!(shown.contains(piece), "`{piece}` is not in {shown}");
    }
    // A part of the id will do where it is one message's.
    let key = id.rsplit('-').next().unwrap();
    world.loci(owned, ["inbox", "show", &key[..6]]).exits(0);
    world.loci(owned, ["inbox", "show", "nothing"]).exits(2);
    world.loci(owned, ["inbox", "take", &id, "--dry-run"]).exits(0);
    assert_eq!(before, world.snapshot(owned));
    world.loci(owned, ["inbox", "take", &id]).exits(0);
    assert!(world.path(owned).join(format!(".loci/memory/inbox/cur/{key}.md")).exists());
    let done = world.loci(owned, ["inbox", "done", &id, "--reply", "Did it in a.txt, tests pass", "--json"]).exits(0).json();
    assert_eq!((&done["state"], &done["reply"]["to"]), (&json!("done"), &json!("alice")));
    world.loci(owned, ["inbox", "done", &id, "--reply", "again"]).exits(1);
    world.loci(owned, ["inbox", "take", &id]).exits(1);
    let answer = world.loci("home/repo", ["inbox", "--json"]).exits(0).json();
    assert_eq!(answer["messages"][0]["re"], json!(id));
    let reply = answer["messages"][0]["id"].as_str().unwrap().to_owned();
    let words = world.loci("home/repo", ["inbox", "show", &reply]).exits(0).stdout;
    assert!(words.contains("tests pass") && words.contains(&format!("re      {id}, done")), "{words}");
    // What is read is the text, not the file; -v shows that too.
    assert!(!words.contains("schema: 1"), "{words}");
    assert!(world.loci("home/repo", ["inbox", "show", &reply, "-v"]).exits(0).stdout.contains("schema: 1"));
    // An answer is closed without one, or the two would answer each other for ever.
    let bobs = fs::read_dir(world.path(owned).join(".loci/memory/inbox/new")).unwrap().count();
    let closed = world.loci("home/repo", ["inbox", "done", &reply, "--json"]).exits(0).json();
    assert_eq!((&closed["state"], &closed["reply"]), (&json!("done"), &Value::Null));
    assert_eq!(world.loci("home/repo", ["inbox", "--json"]).exits(0).json()["open"], json!(0));
    assert_eq!(fs::read_dir(world.path(owned).join(".loci/memory/inbox/new")).unwrap().count(), bobs);
    assert!(!world.loci("home/repo", ["inbox", "show", &reply]).exits(0).stdout.contains("answered"));
    // The same attempt again is told that there is an answer.
    let alice = agent("alice", world.path("home/repo"));
    let (ruling, deliveries) = attempt(&world, &alice, &world.path("home/repo/owned/a.txt"), "alpha\nBETA\ngamma\n");
    let text = loci::custody::message::message(&ruling, &deliveries);
    assert!(text.contains("already done") && text.contains(&id), "{text}");
}

#[test]
fn a_handover_says_which_and_whose() {
    let world = fixture();
    let (one, two) = (filed(&world, "one"), filed(&world, "two"));
    let several = world.loci("home/repo", ["handover", "2026", "x"]).exits(2);
    for piece in [one.as_str(), &two, "for bob", "owned/a.txt", " ago", "hint: loci handover 2026"] {
        assert!(several.stderr.contains(piece), "`{piece}`: {}", several.stderr);
    }
    // Whoever is not the sender is told who is.
    let others = world.loci("home/repo/owned", ["handover", &one, "x"]).exits(2);
    let hint = format!("hint: cd {} && loci handover {one} TEXT", world.path("home/repo").display());
    assert!(others.stderr.contains("alice filed it") && others.stderr.contains(&hint), "{}", others.stderr);
    assert!(world.loci("home/repo/owned", ["handover", "1999", "x"]).exits(2).stderr.contains("failed to find what you filed"));
}

#[test]
fn a_no_is_an_answer_too() {
    let world = fixture();
    let id = filed(&world, "x");
    world.loci("home/repo/owned", ["inbox", "decline", &id]).exits(2);
    // Whoever handed something over waits for words.
    let bare = world.loci("home/repo/owned", ["inbox", "done", &id]).exits(2);
    assert!(bare.stderr.contains(&format!("hint: loci inbox done {id} --reply")), "{}", bare.stderr);
    world.loci("home/repo/owned", ["inbox", "decline", &id, "--why", " "]).exits(2);
    world.loci("home/repo/owned", ["inbox", "decline", &id, "--why", "It breaks the contract"]).exits(0);
    let list = world.loci("home/repo", ["inbox", "bob", "--json"]).exits(0).json();
    assert_eq!((&list["messages"][0]["state"], &list["open"]), (&json!("declined"), &json!(0)));
    assert!(world.loci("home/repo", ["inbox"]).exits(0).stdout.contains("answer to"));
}

#[test]
fn only_the_owner_and_a_person_answer() {
    let world = fixture();
    let id = filed(&world, "x");
    let before = world.snapshot("home/repo/owned");
    for args in [&["inbox", "take", &id, "--as", "bob"][..], &["inbox", "done", &id, "--reply", "ok", "--as", "bob"]] {
        let run = inside(&world, "home/repo", args).exits(1);
        assert!(run.stderr.contains("this inbox is bob's, and you are alice"), "{}", run.stderr);
    }
    assert_eq!(world.snapshot("home/repo/owned"), before);
    inside(&world, "home/repo", &["inbox", "bob"]).exits(0);
    inside(&world, "home/repo/owned", &["inbox", "take", &id]).exits(0);
    world.loci("home/repo", ["inbox", "done", &id, "--reply", "ok", "--as", "bob"]).exits(0);
    // A sender without a body gets no answer, and that is said.
    let (_, deliveries) = attempt(&world, &loci::custody::Asker::default(), &world.path("home/repo/owned/b.txt"), "y");
    let id = deliveries[0].outcome.as_ref().unwrap().id.clone();
    let run = world.loci("home/repo/owned", ["inbox", "done", &id, "--reply", "ok"]).exits(0);
    assert!(run.stdout.contains("no answer could be delivered"), "{}", run.stdout);
}

#[test]
fn a_message_that_names_a_strangers_body_gets_no_answer_there() {
    let world = fixture();
    world.file("victim/.loci/agent.md", "---\nid: victim\n---\n");
    let id = filed(&world, "x");
    let key = id.rsplit('-').next().unwrap().to_owned();
    let path = world.path("home/repo/owned/.loci/memory/inbox/new").join(format!("{key}.md"));
    let text = fs::read_to_string(&path)
        .unwrap()
        .replace(world.path("home/repo\"").to_str().unwrap(), &format!("{}\"", world.path("victim").display()));
    assert!(text.contains("/victim\""));
    fs::write(&path, text).unwrap();
    let run = world.loci("home/repo/owned", ["inbox", "done", &id, "--reply", "ok"]).exits(0);
    assert!(run.stdout.contains("alice does not live in"), "{}", run.stdout);
    assert!(!world.path("victim/.loci/memory").exists());
}

#[test]
fn the_human_sees_requests() {
    let world = fixture();
    let bob = agent("bob", world.path("home/repo/owned"));
    attempt(&world, &bob, &world.path("home/repo/owned/.claude/settings.json"), "{\"disableAllHooks\":true}");
    let list = world.loci("home", ["inbox", "--json"]).exits(0).json();
    assert_eq!((&list["agent"], &list["messages"][0]["requests"], &list["messages"][0]["from"]), (&Value::Null, &json!(1), &json!("bob")));
    let id = list["messages"][0]["id"].as_str().unwrap().to_owned();
    assert!(world.loci("home", ["inbox", "show", &id]).exits(0).stdout.contains("disableAllHooks"));
    // A request that comes after the answer is not hidden behind it.
    assert!(world.loci("home", ["inbox"]).exits(0).stdout.contains("1 request\n"));
    let deny = || {
        let open = world.loci("home", ["requests", "--json"]).exits(0).json();
        world.loci("home", ["deny", open["requests"][0]["id"].as_str().unwrap(), "--why", "no"]).exits(0);
    };
    deny();
    assert_eq!(world.loci("home", ["inbox", "--json"]).exits(0).json()["open"], json!(0));
    attempt(&world, &bob, &world.path("home/repo/owned/.claude/settings.json"), "{\"disableAllHooks\":true}");
    assert_eq!(world.loci("home", ["inbox", "--json"]).exits(0).json()["open"], json!(0));
    attempt(&world, &bob, &world.path("home/repo/owned/.codex/config.toml"), "x = 1\n");
    let list = world.loci("home", ["inbox", "--json"]).exits(0).json();
    assert_eq!((&list["open"], &list["messages"][0]["state"], &list["messages"][0]["requests"]), (&json!(1), &json!("new"), &json!(2)));
    deny();
    assert_eq!(world.loci("home/repo/owned", ["inbox", "--json"]).exits(0).json()["open"], json!(2), "each one is answered");
}

#[test]
fn a_home_that_is_kept_elsewhere_gets_its_requests() {
    let world = fixture();
    world.dir("dotfiles/loci").link("home/.loci", world.path("dotfiles/loci"));
    let alice = agent("alice", world.path("home/repo"));
    let (_, deliveries) = attempt(&world, &alice, &world.path("home/repo/.claude/settings.json"), "{}");
    let id = deliveries[0].outcome.as_ref().unwrap().id.clone();
    assert_eq!(world.loci("home", ["inbox", "--json"]).exits(0).json()["open"], json!(1));
    world.loci("home/repo", ["handover", &id, "I need a model set"]).exits(0);
    assert!(world.read("dotfiles/loci/memory/inbox/log.jsonl").contains("I need a model set"));
}

/// A word that was mistyped is answered with the one that was meant.
#[test]
fn what_was_meant() {
    let world = fixture();
    world.file("home/repo/.loci/sets/focus.yaml", "skills: { a: on }\n");
    for (args, code, part) in [
        (&["inbox", "tkae", "x"][..], 2, "hint: loci inbox take"),
        (&["inbox", "tkae"], 2, "did you mean `inbox take`?"),
        (&["inbox", "bbo"], 2, "did you mean `bob`?"),
        (&["equip", "focsu"], 2, "did you mean `focus`?"),
        (&["new", "agents/x", "--template", "custodain"], 2, "did you mean `custodian`?"),
        (&["permit", "bbo", "owned", "--for", "1h", "--dry-run"], 0, "did you mean `bob`?"),
        (&["permit", "bob", "owned", "--for", "-1h"], 2, "it can't be negative"),
        (&["check", "owned/a.txt", "--as", "bbo"], 1, "did you mean `bob`?"),
        (&["check", "--diff", "nowhere..HEAD", "--as", "bob"], 2, "hint: "),
    ] {
        let run = world.loci("home/repo", args);
        assert_eq!(run.code, Some(code), "{args:?}: {run:?}");
        assert!(run.stderr.contains(part), "{args:?}: {}", run.stderr);
    }
    // Who is known is not doubted.
    let known = world.loci("home/repo", ["check", "owned/a.txt", "--as", "bob"]).exits(0);
    assert!(!known.stderr.contains("known"), "{}", known.stderr);
}

/// A list with nothing in it answers no, the same everywhere.
#[test]
fn an_empty_list_answers_no() {
    let world = fixture();
    world.file("home/repo/a/.loci/agent.md", "---\nid: eve\n---\n");
    for args in [&["inbox"][..], &["requests"], &["grants"], &["sets"], &["loadout", "list"], &["loadout", "status"], &["trail"]] {
        let run = world.loci("home/repo/a", args);
        assert_eq!(run.code, Some(1), "{args:?}: {run:?}");
        let said = Run::of(world.command("home/repo/a").args(args).arg("--json"), None);
        assert_eq!((said.code, &said.json()["schema"]), (Some(1), &json!(1)), "{args:?}");
    }
}
