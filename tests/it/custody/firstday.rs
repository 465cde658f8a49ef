//! What people meet on their first day: verbs about one thing that have to say the same, and words that help.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::verbs::filed;
use crate::cases::filetool::fixture;
use crate::sandbox::{Run, Sandbox};

/// One agent below `agents/`, and a directory that it owns.
fn owned(git: bool) -> Sandbox {
    let world = Sandbox::new();
    world.file("r/agents/al/.loci/agent.md", "---\nid: al\n---\n").file("r/docs/x", "x\n");
    if git {
        world.dir("r/.git");
    }
    world.loci("r", ["own", "docs", "--as", "al"]).exits(0);
    world
}

#[test]
fn own_finds_the_body_next_door_also_outside_of_a_repository() {
    for git in [true, false] {
        let world = owned(git);
        let text = world.read("r/docs/.loci/owner.md");
        assert!(text.contains("body: ../agents/al\n"), "{git}: {text}");
    }
}

#[test]
fn who_is_named_is_the_same_agent_to_each_verb() {
    let world = owned(true);
    world.loci("r", ["check", "--as", "al", "docs/x"]).exits(0);
    world.loci("r", ["check", "--as", "al", "--shell", "echo 1 > docs/x"]).exits(0);
    let dry = world.loci("r", ["exec", "--as", "al", "--dry-run", "--json", "--", "true"]).exits(0).json();
    let docs = world.path("r/docs").to_string_lossy().into_owned();
    let held =
        |dry: &Value| dry["mounts"].as_array().unwrap().iter().any(|mount| mount["path"] == json!(docs) && mount["is"] == "read-only");
    assert!(!held(&dry), "{dry}");
    // Two of one name: the name alone is nobody in particular, to exec as to check of a path that names none.
    world.file("r/fake/.loci/agent.md", "---\nid: al\n---\n");
    let dry = world.loci("r", ["exec", "--as", "al", "--dry-run", "--json", "--", "true"]).exits(0).json();
    assert!(held(&dry), "{dry}");
}

#[test]
fn a_broken_owner_file_is_broken_to_each_verb_with_its_line() {
    let world = Sandbox::new();
    let text = "---\nowner: al\ncommons: [\"[x\"]\n---\nAsk.\n";
    world.file("r/agents/al/.loci/agent.md", "---\nid: al\n---\n").file("r/docs/.loci/owner.md", text).dir("r/.git");
    let said = |args: &[&str], code: i32| {
        let run = world.loci("r", args).exits(code);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains("docs/.loci/owner.md:3") && said.contains("`[x`"), "{args:?}: {said}");
    };
    said(&["check", "--as", "al", "docs/x"], 1);
    said(&["where", "docs/x"], 0);
    said(&["own", "docs", "--as", "al"], 2);
    said(&["own", "docs", "--as", "al", "--note", "Other."], 2);
    said(&["doctor"], 1);
    assert_eq!(world.read("r/docs/.loci/owner.md"), text);
}

#[test]
fn what_is_inside_of_something_else_is_not_owned() {
    let world = Sandbox::new();
    world.dir("r/.git/hooks").dir("r/b/.loci-clock/jobs").file("r/b/.loci/agent.md", "---\nid: b\n---\n").dir("r/b/.loci/skills");
    for (dir, why) in [
        (".git", "git's own"),
        (".git/hooks", "git's own"),
        ("b/.loci", "what is said about"),
        ("b/.loci/skills", "what is said about"),
        ("b/.loci-clock", "what is said about"),
    ] {
        let run = world.loci("r", ["own", dir, "--as", "al"]).exits(2);
        assert!(run.stderr.contains(why) && run.stderr.contains("hint: "), "{dir}: {}", run.stderr);
        assert!(!world.path(format!("r/{dir}/.loci")).exists());
    }
    // A body that lives in a registry is a place like any.
    world.file("home/.loci/agents/c/.loci/agent.md", "---\nid: c\n---\n");
    world.loci("home/.loci/agents/c", ["own", ".", "--as", "c"]).exits(0);
    // The home is the human's, with its mail.
    let error = world.loci("home", ["own", ".", "--as", "bob"]).exits(2).stderr;
    assert!(error.contains("it is the home") && !world.path("home/.loci/owner.md").exists(), "{error}");
}

#[test]
fn an_owner_without_a_body_has_an_inbox_before_the_first_mail() {
    let world = Sandbox::new();
    world.dir("r/.git").dir("r/d");
    world.loci("r", ["own", "d", "--as", "ghosty"]).exits(0);
    let run = world.loci("r", ["inbox", "ghosty"]).exits(1);
    assert_eq!(run.stdout, "nothing for ghosty\n");
    world.loci("r", ["inbox", "gosty"]).exits(2);
}

#[test]
fn what_disown_says_of_mail_is_so() {
    // The owner lives there: its inbox goes on.
    let world = fixture();
    filed(&world, "ALPHA\n");
    let dry = world.loci("home/repo", ["disown", "owned", "--dry-run"]).exits(0);
    assert!(dry.stderr.contains("# first"), "{}", dry.stderr);
    let run = world.loci("home/repo", ["disown", "owned"]).exits(0);
    assert!(!run.stderr.contains("# first"), "{}", run.stderr);
    let lives = world.path("home/repo/owned/.loci/agent.md").exists();
    assert_eq!(run.stderr.contains("no inbox lists"), !lives, "{}", run.stderr);
    if !lives {
        assert!(run.stderr.contains("hint: loci own owned --as bob") || run.stderr.contains("hint: loci own /"), "{}", run.stderr);
    }
}

#[test]
fn ones_own_answers_are_no_mail_of_an_earlier_owner() {
    let world = fixture();
    let id = filed(&world, "ALPHA\n");
    world.loci("home/repo/owned", ["inbox", "decline", &id, "--why", "no"]).exits(0);
    let run = world.loci("home/repo", ["own", ".", "--as", "alice"]).exits(0);
    assert!(!run.stderr.contains("earlier owner"), "{}", run.stderr);
}

#[test]
fn what_was_applied_is_shown_as_such() {
    let world = fixture();
    let id = filed(&world, "ALPHA\n");
    world.loci("home/repo/owned", ["inbox", "apply", &id]).exits(0);
    let list = world.loci("home/repo/owned", ["inbox"]).exits(0);
    assert!(list.stdout.contains("  applied  alice"), "{}", list.stdout);
    world.loci("home/repo/owned", ["inbox", "done", &id, "--reply", "in"]).exits(0);
    let shown = world.loci("home/repo/owned", ["inbox", "show", &id]).exits(0);
    assert!(shown.stdout.lines().next().unwrap().ends_with("done, applied"), "{}", shown.stdout);
}

#[test]
fn what_is_added_to_an_answered_message_is_said_to_be_late() {
    let world = fixture();
    let id = filed(&world, "ALPHA\n");
    let early = world.loci("home/repo", ["handover", &id, "because"]).exits(0);
    assert_eq!(early.stderr, "");
    world.loci("home/repo/owned", ["inbox", "decline", &id, "--why", "no"]).exits(0);
    let late = world.loci("home/repo", ["handover", &id, "but why"]).exits(0);
    assert!(late.stderr.contains("is declined already") && late.stderr.contains("hint: loci delegate bob"), "{}", late.stderr);
    let ask = ["delegate", "bob", "--reads", "owned/a.txt", "--idea", "Round it."];
    let first = world.loci("home/repo", ask).exits(0);
    let id = first.stdout.split(' ').next().unwrap();
    world.loci("home/repo/owned", ["inbox", "decline", id, "--why", "no"]).exits(0);
    let again = world.loci("home/repo", ask).exits(0);
    assert!(again.stderr.contains("is not told of it again"), "{}", again.stderr);
}

#[test]
fn an_answer_finds_a_sender_that_asked_from_outside_of_its_body() {
    let world = Sandbox::new();
    world.dir("r/.git").dir("r/free").file("r/agents/al/.loci/agent.md", "---\nid: al\n---\n");
    let ask = |who: Option<&str>| {
        let mut command = world.command("r");
        command.args(["own", "free", "--as", "al"]).env("LOCI_ANCESTORS", "bash:claude:sh");
        if let Some(who) = who {
            command.env("LOCI_AGENT", who);
        }
        Run::of(&mut command, None).exits(1).stdout.trim().to_owned()
    };
    let id = ask(Some("al"));
    let denied = world.loci("r", ["deny", &id, "--why", "no"]).exits(0);
    assert!(denied.stdout.contains("al has the answer"), "{}", denied.stdout);
    assert!(world.loci("r", ["inbox", "al"]).exits(0).stdout.contains("answer to"), "it lies in its inbox");
    let id = ask(None);
    let denied = world.loci("r", ["deny", &id, "--why", "no"]).exits(0);
    assert!(denied.stdout.contains("who asked is no agent"), "{}", denied.stdout);
}

#[test]
fn every_grant_is_told_in_words_and_can_be_taken_back() {
    let world = Sandbox::new();
    world.file("r/.loci-clock/jobs/n.md", "---\nwhen: {every: 1h}\nrun: claude -p x\n---\n");
    world.loci("r", ["clock", "enroll", "."]).exits(0);
    world.loci("r", ["jobs", "accept", "n"]).exits(0);
    world.loci("r", ["jobs", "arm", "n"]).exits(0);
    let said = world.loci("r", ["grants"]).exits(0).stdout;
    for piece in ["the clock may fire in .: 1 job as it was", "n in . as it was", "n in . may call a model", "loci permit --revoke ID"] {
        assert!(said.contains(piece), "`{piece}`: {said}");
    }
    assert!(!said.contains('{'), "{said}");
    let list = world.loci("r", ["grants", "--json"]).exits(0).json();
    for grant in list["grants"].as_array().unwrap() {
        world.loci("r", ["permit", "--revoke", grant["id"].as_str().unwrap()]).exits(0);
    }
    world.loci("r", ["grants"]).exits(1);
    let refused = world.loci("r", ["jobs", "run", "n"]).exits(2);
    assert!(refused.stderr.contains("not enrolled"), "{}", refused.stderr);
}

#[test]
fn arming_says_what_is_still_to_be_accepted() {
    let world = Sandbox::new();
    world.dir("r/.loci-clock/jobs");
    world.loci("r", ["clock", "enroll", "."]).exits(0);
    world.file("r/.loci-clock/jobs/n.md", "---\nwhen: {every: 1h}\nrun: claude -p x\n---\n");
    world.file("r/.loci-clock/loops/t.md", "---\nexit: state.round >= 1\nnext: stop\n---\nGo.\n");
    for name in ["n", "loop:t"] {
        let run = world.loci("r", ["jobs", "arm", name]).exits(0);
        assert!(run.stderr.contains(&format!("loci jobs accept {name}")), "{}", run.stderr);
        world.loci("r", ["jobs", "accept", name]).exits(0);
        assert_eq!(world.loci("r", ["jobs", "arm", name]).exits(0).stderr, "");
    }
}

#[test]
fn a_job_that_failed_says_what_it_said() {
    let world = Sandbox::new();
    let job = "---\nwhen: {every: 1h}\nrun: \"echo no harness is there >&2; exit 2\"\ndeliverables: [out/done]\nsettle: 0s\n---\n";
    world.file("r/.loci-clock/jobs/n.md", job).dir("r/out");
    world.loci("r", ["clock", "enroll", "."]).exits(0);
    let run = world.loci("r", ["jobs", "run", "n"]).exits(1);
    assert!(run.stdout.contains("it said: no harness is there"), "{run:?}");
    assert!(run.stderr.contains("is stuck: missing") && run.stderr.contains("it said: no harness is there"), "{run:?}");
    let shown = world.loci("r", ["jobs", "show", "n"]).exits(0).stdout;
    assert!(shown.contains("said") && shown.contains("no harness is there"), "{shown}");
}

#[test]
fn a_hint_leads_to_what_is_there() {
    let world = owned(true);
    let said = |words: &str, code: i32| world.loci("r", words.split(' ')).exits(code).stderr;
    for (words, hint) in [
        ("inbox decline 20260101T000000Z-0000000000000000", "loci inbox decline --help"),
        ("inbox show", "loci inbox show --help"),
        ("--at . loadout prune", "loci loadout prune --help"),
        ("frob", "loci --help"),
        ("inbox tke 1", "loci inbox take"),
        ("tree nope", "ls -ld "),
    ] {
        let text = said(words, 2);
        assert!(text.contains(&format!("hint: {hint}")), "{words}: {text}");
    }
    let text = said("inbox tke 1", 2);
    assert!(text.contains("`loci inbox` has no verb `tke`") && !text.contains("subcommand"), "{text}");
    // What is named to look at is there.
    world.file("r/closed/x", "x\n");
    fs::set_permissions(world.path("r/closed"), fs::Permissions::from_mode(0o555)).unwrap();
    let run = world.loci("r", ["new", "closed/a"]);
    fs::set_permissions(world.path("r/closed"), fs::Permissions::from_mode(0o755)).unwrap();
    if run.code == Some(2) {
        let hint = run.stderr.lines().find_map(|line| line.strip_prefix("hint: ls -ld ")).unwrap_or_default();
        assert!(hint.ends_with("r/closed"), "{}", run.stderr);
    }
    // A set that is there is not written over, and what to do is said.
    world.file("r/agents/al/.loci/skills/k/SKILL.md", "---\nname: k\n---\n");
    let one = world.loci("r", ["sets", "save", "focus", "--level", "agents/al"]).exits(0).stdout;
    assert!(one.contains("(1 item)"), "{one}");
    let again = world.loci("r", ["sets", "save", "focus", "--level", "agents/al"]).exits(2).stderr;
    assert!(again.contains("something is there already") && again.contains("hint: rm ") && again.contains("focus.yaml"), "{again}");
}
