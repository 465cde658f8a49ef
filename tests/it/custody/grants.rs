//! What people grant: requests and their answers, permits, ranges of commits.

use std::fs;
use std::process::Command;

use loci::custody::delegation::Change;
use loci::custody::{Why, rule, rule_at};
use serde_json::{Value, json};

use super::{agent, attempt, deliver_change, on_name, said, write};
use crate::cases::filetool::{fixture, surroundings};
use crate::sandbox::{Run, Sandbox};
use loci::custody::act::ActKind;

/// The program as alice under a harness runs it.
pub(super) fn inside(world: &Sandbox, cwd: &str, args: &[&str]) -> Run {
    let mut command = world.command(cwd);
    command.args(args).env("LOCI_ANCESTORS", "bash:claude:sh");
    Run::of(&mut command, None)
}

/// The hash that is shown for a request.
pub(super) fn hash(world: &Sandbox, id: &str) -> String {
    let shown = world.loci("home", ["approve", id, "--json"]).exits(1).json();
    shown["hash"].as_str().unwrap_or_else(|| panic!("{shown}")).to_owned()
}

fn asks_for_settings(world: &Sandbox, text: &str) -> String {
    let alice = agent("alice", world.path("home/repo"));
    let (_, deliveries) = attempt(world, &alice, &world.path("home/repo/.claude/settings.json"), text);
    deliveries[0].outcome.as_ref().unwrap().id.clone()
}

#[test]
fn an_agent_asks_to_own_and_a_person_approves() {
    let world = fixture();
    let id = inside(&world, "home/repo", &["own", "free", "--as", "alice", "--note", "Ask 'me' first"]).exits(1).stdout.trim().to_owned();
    let list = world.loci("home", ["requests", "--json"]).exits(0).json();
    let one = &list["requests"][0];
    assert_eq!((&one["id"], &one["from"], &one["state"], &one["change"]), (&json!(id), &json!("alice"), &json!("new"), &json!("verb")));
    assert_eq!(one["argv"], json!(["own", "free", "--as", "alice", "--note", "Ask 'me' first"]));
    assert!(world.loci("home", ["requests"]).exits(0).stdout.contains("loci own free --as alice"));
    // Shown, and nothing done without the hash; a wrong one does nothing either.
    let before = world.snapshot("home");
    let shown = world.loci("home", ["approve", &id]).exits(1);
    for piece in [
        "loci own free --as alice --note 'Ask '\\''me'\\'' first'",
        "create free/.loci/owner.md",
        world.path("home/repo").to_str().unwrap(),
    ] {
        assert!(shown.stdout.contains(piece), "`{piece}` is not in {}", shown.stdout);
    }
    let hash = hash(&world, &id);
    assert!(shown.stderr.contains(&format!("loci approve {id} --hash {hash}")), "{}", shown.stderr);
    world.loci("home", ["approve", &id, "--dry-run"]).exits(0);
    let wrong = world.loci("home", ["approve", &id, "--hash", &"0".repeat(32)]).exits(1);
    assert!(wrong.stderr.contains("nothing was done"), "{}", wrong.stderr);
    world.loci("home", ["approve", &id, "--hash", &hash, "--dry-run"]).exits(0);
    assert_eq!(world.snapshot("home"), before);
    // An agent's yes is none, and files nothing.
    let no = inside(&world, "home/repo", &["approve", &id, "--hash", &hash]).exits(1);
    assert!(no.stderr.contains("only a person"), "{}", no.stderr);
    inside(&world, "home/repo", &["deny", &id, "--why", "x"]).exits(1);
    assert_eq!(world.snapshot("home"), before);
    let done = world.loci("home", ["approve", &id, "--hash", &hash]).exits(0);
    assert!(done.stdout.contains("alice has the answer"), "{}", done.stdout);
    let text = world.read("home/repo/free/.loci/owner.md");
    assert!(text.contains("owner: alice") && text.ends_with("Ask 'me' first\n"), "{text}");
    let mail = world.loci("home/repo", ["inbox", "--json"]).exits(0).json();
    assert_eq!((&mail["messages"][0]["re"], &mail["messages"][0]["from"]), (&json!(id), &json!("human")));
    let reply = mail["messages"][0]["id"].as_str().unwrap();
    assert!(world.loci("home/repo", ["inbox", "show", reply]).exits(0).stdout.contains("is carried out"));
    // It is over: not listed, not done twice, and whoever asks again is told.
    assert_eq!(world.loci("home", ["requests", "--json"]).exits(1).json()["requests"], json!([]));
    assert_eq!(world.loci("home", ["requests", "--all", "--json"]).exits(0).json()["requests"][0]["state"], json!("done"));
    world.loci("home", ["approve", &id, "--hash", &hash]).exits(1);
    assert_eq!(world.loci("home", ["inbox", "--json"]).exits(0).json()["open"], json!(0));
}

#[test]
fn a_verb_is_judged_anew_when_it_is_approved() {
    let world = fixture();
    let id = inside(&world, "home/repo", &["own", "free", "--as", "alice"]).exits(1).stdout.trim().to_owned();
    let hash = hash(&world, &id);
    // Somebody else owns it by then: the hash no longer stands for what would be done.
    world.file("home/repo/free/.loci/owner.md", "---\nowner: carol\n---\n");
    let run = world.loci("home", ["approve", &id, "--hash", &hash]).exits(1);
    assert!(run.stderr.contains("nothing was done"), "{}", run.stderr);
    assert!(world.read("home/repo/free/.loci/owner.md").contains("carol"));
    let shown = world.loci("home", ["approve", &id]).exits(1);
    assert!(shown.stderr.contains("carol does"), "{}", shown.stderr);
    world.loci("home", ["deny", &id, "--why", " "]).exits(2);
    world.loci("home", ["deny", &id, "--why", "carol has it", "--dry-run"]).exits(0);
    let denied = world.loci("home", ["deny", &id, "--why", "carol has it"]).exits(0);
    assert!(denied.stdout.contains("denied; alice has the answer"), "{}", denied.stdout);
    let mail = world.loci("home/repo", ["inbox", "--json"]).exits(0).json();
    let reply = mail["messages"][0]["id"].as_str().unwrap();
    assert!(world.loci("home/repo", ["inbox", "show", reply]).exits(0).stdout.contains("carol has it"));
    // Asked again in the same hour, the sender learns that there is an answer, and nobody is bothered twice.
    inside(&world, "home/repo", &["own", "free", "--as", "dave"]).exits(2);
    assert_eq!(world.loci("home", ["requests", "--json"]).exits(1).json()["requests"], json!([]));
}

#[test]
fn a_patch_is_applied_to_exactly_the_file_it_was_made_for() {
    let world = fixture();
    let settings = "home/repo/.claude/settings.json";
    let id = asks_for_settings(&world, "{\n  \"model\": \"\u{1b}[2Jx\"\n}\n");
    let shown = world.loci("home", ["approve", &id]).exits(1);
    assert!(shown.stdout.contains("+  \"model\": \"\\u{1b}[2Jx\"") && !shown.stdout.contains('\u{1b}'), "{}", shown.stdout);
    let first = hash(&world, &id);
    world.loci("home", ["approve", &id, "--hash", &first]).exits(0);
    assert_eq!(world.read(settings), "{\n  \"model\": \"\u{1b}[2Jx\"\n}\n");
    // Another request for it is another hash, and one whose file has changed since is refused.
    let id = asks_for_settings(&world, "{}\n");
    let second = hash(&world, &id);
    assert_ne!(first, second);
    world.loci("home", ["approve", &id, "--hash", &first]).exits(1);
    world.file(settings, "{\"mine\": 1}\n");
    let late = world.loci("home", ["approve", &id, "--hash", &second]).exits(1);
    assert!(late.stderr.contains("the file changed since"), "{}", late.stderr);
    assert_eq!(world.read(settings), "{\"mine\": 1}\n");
    assert_eq!(world.loci("home", ["requests", "--json"]).exits(0).json()["requests"].as_array().unwrap().len(), 1);
}

#[test]
fn a_patch_is_not_led_elsewhere() {
    let world = fixture();
    let id = asks_for_settings(&world, "{}\n");
    let hash = hash(&world, &id);
    world.dir("elsewhere").link("home/repo/.claude", world.path("elsewhere"));
    let run = world.loci("home", ["approve", &id, "--hash", &hash]).exits(1);
    assert!(run.stderr.contains("leads to"), "{}", run.stderr);
    assert!(!world.path("elsewhere/settings.json").exists());
}

#[test]
fn a_shell_command_is_never_run() {
    let world = fixture();
    let alice = agent("alice", world.path("home/repo"));
    let ruling = rule(&[write(world.path("home/repo/.claude/settings.json"))], &alice, &surroundings(&world));
    let command = format!("touch {}", world.path("ran").display());
    let deliveries = deliver_change(&world, &alice, &ruling, Change::Command(command), "2026-11-30T10:00:00Z");
    let id = deliveries[0].outcome.as_ref().unwrap().id.clone();
    let run = world.loci("home", ["approve", &id, "--hash", &"0".repeat(32)]).exits(1);
    assert!(run.stderr.contains("nothing was done"), "{}", run.stderr);
    let run = world.loci("home", ["approve", &id]).exits(1);
    assert!(run.stderr.contains("never runs"), "{}", run.stderr);
    assert!(!world.path("ran").exists());
    world.loci("home", ["approve", "nothing"]).exits(2);
    world.loci("home", ["deny", &id, "--why", "no"]).exits(0);
}

#[test]
fn a_permit_opens_for_a_time_and_never_the_wall() {
    let world = fixture();
    let alice = agent("alice", world.path("home/repo"));
    let at = |path: &str| write(world.path("home/repo").join(path));
    let none = world.loci("home/repo", ["grants"]).exits(1);
    assert_eq!(none.stdout, "nothing is granted\n");
    let before = world.snapshot(".");
    world.loci("home/repo", ["permit", "alice", "owned/a.txt", "--for", "30m", "--dry-run"]).exits(0);
    assert_eq!(before, world.snapshot("."));
    assert_eq!(said(&world, &alice, at("owned/a.txt")), (loci::custody::Verdict::Refuse, "owned"));
    let given = world.loci("home/repo", ["permit", "alice", "link-to-owned/a.txt", "owned/sub", "--for", "30m", "--json"]).exits(0).json();
    for (path, wanted) in [
        ("owned/a.txt", "permitted"),
        ("link-a.txt", "permitted"),
        ("owned/sub/new", "permitted"),
        ("owned/b.txt", "owned"),
        ("owned/.loci/owner.md", "wall"),
    ] {
        assert_eq!(said(&world, &alice, at(path)).1, wanted, "{path}");
    }
    let eve = agent("eve", world.path("home"));
    assert_eq!(said(&world, &eve, at("owned/a.txt")).1, "owned");
    // Who used it is told, and when it ends.
    let ruling = rule(&[at("owned/a.txt")], &alice, &surroundings(&world));
    let Why::Permitted { id, until } = &ruling.acts[0].why else { panic!("{ruling:?}") };
    assert_eq!((json!(id), json!(until)), (given["id"].clone(), given["until"].clone()));
    assert!(ruling.notes[0].contains(id.as_str()), "{:?}", ruling.notes);
    let check = world.loci("home/repo", ["check", "owned/a.txt", "--json"]).exits(0).json();
    assert_eq!((&check["acts"][0]["why"], &check["acts"][0]["until"]), (&json!("permitted"), &given["until"]));
    // Gone by itself.
    let ends = until.parse().unwrap();
    assert_eq!(rule_at(&[at("owned/a.txt")], &alice, &surroundings(&world), ends).acts[0].why.word(), "owned");
    // Standing custody down for everybody: the wall and what stands in it stay.
    world.loci("home/repo", ["permit", "--all", "--for", "1h"]).exits(0);
    assert_eq!(said(&world, &eve, at("owned/b.txt")).1, "permitted");
    assert_eq!(said(&world, &eve, on_name(ActKind::Rename, world.path("home/repo/owned"))).0, loci::custody::Verdict::Refuse);
    assert_eq!(said(&world, &eve, at(".claude/settings.json")).1, "wall");
    let list = world.loci("home/repo", ["grants", "--json"]).exits(0).json();
    assert_eq!(list["grants"].as_array().unwrap().len(), 2);
    let ids: Vec<&str> = list["grants"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    world.loci("home/repo", ["permit", "--revoke", ids[1], "--dry-run"]).exits(0);
    world.loci("home/repo", ["permit", "--revoke", ids[1]]).exits(0);
    assert_eq!(said(&world, &eve, at("owned/b.txt")).1, "owned");
    world.loci("home/repo", ["permit", "--revoke", ids[1]]).exits(2);
    // A line that is torn grants nothing, and is said.
    let log = world.path("state/loci/grants.jsonl");
    let whole = fs::read_to_string(&log).unwrap();
    fs::write(&log, format!("{whole}{{\"schema\":1,\"event\":\"gran")).unwrap();
    assert!(world.loci("home/repo", ["grants"]).exits(0).stderr.contains("1 line of"));
    let ruling = rule(&[at("owned/b.txt")], &alice, &surroundings(&world));
    assert!(ruling.notes.iter().any(|note| note.contains("can't be read")), "{:?}", ruling.notes);
    // The next line starts anew.
    world.loci("home/repo", ["permit", "alice", "owned/b.txt", "--for", "1m"]).exits(0);
    assert_eq!(said(&world, &alice, at("owned/b.txt")).1, "permitted");
    for args in [
        &["permit", "alice", "owned"][..],
        &["permit", "alice", "owned", "--for", "8d"],
        &["permit", "alice", "nowhere", "--for", "1h"],
        &["permit", "--for", "1h"],
    ] {
        world.loci("home/repo", args).exits(2);
    }
}

/// Whatever file the connectors write is on the wall, in a project and at home.
#[test]
fn what_connects_a_gate_is_on_the_wall() {
    let world = fixture();
    let alice = agent("alice", world.path("home/repo"));
    for adapter in loci::hooks::harness::ALL {
        let wiring = adapter.wiring;
        let mut files = vec![world.path("home").join(wiring.folder).join(wiring.file)];
        files.extend(wiring.shared.map(|file| world.path("home/repo").join(file)));
        files.extend(wiring.local.map(|local| world.path("home/repo").join(local)));
        for file in files {
            assert_eq!(said(&world, &alice, write(&file)), (loci::custody::Verdict::Refuse, "wall"), "{}", file.display());
        }
    }
}

/// Runs git, as nobody in particular.
fn git(world: &Sandbox, cwd: &str, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=x", "-c", "user.email=x@x", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false"])
        .args(args)
        .current_dir(world.path(cwd))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", world.path("home"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn repository() -> Sandbox {
    let world = Sandbox::new();
    world.file("r/owned/.loci/owner.md", "---\nowner: bob\n---\n").file("r/owned/a.txt", "a\n").file("r/free/x.txt", "one\ntwo\nthree\n");
    git(&world, "r", &["init", "-q"]);
    git(&world, "r", &["add", "."]);
    git(&world, "r", &["commit", "-qm", "base"]);
    world
}

#[test]
fn a_range_of_commits_is_judged_by_what_it_touches() {
    let world = repository();
    let check = |range: &str, who: &str| {
        let run = world.loci("r", ["check", "--diff", range, "--as", who, "--json"]);
        let json = run.json();
        let refused: Vec<String> = json["acts"]
            .as_array()
            .map(|acts| {
                let refused = acts.iter().filter(|act| act["verdict"] == "refuse");
                let name = |act: &Value| act["path"].as_str().unwrap().strip_prefix(world.path("r/").to_str().unwrap()).unwrap().to_owned();
                refused.map(name).collect()
            })
            .unwrap_or_default();
        (run.code, refused)
    };
    let commit = |message: &str| {
        git(&world, "r", &["add", "-A"]);
        git(&world, "r", &["commit", "-qm", message]);
    };
    assert_eq!(check("HEAD..HEAD", "alice"), (Some(0), vec![]));
    world.file("r/free/x.txt", "one\ntwo\nthree\nfour\n");
    commit("free");
    assert_eq!(check("HEAD~1..HEAD", "alice"), (Some(0), vec![]));
    // A rename counts at both ends, an odd name is a name, and what was taken back was touched.
    git(&world, "r", &["mv", "free/x.txt", "owned/x.txt"]);
    commit("in");
    assert_eq!(check("HEAD~1..HEAD", "alice"), (Some(1), vec!["owned/x.txt".to_owned()]));
    git(&world, "r", &["mv", "owned/x.txt", "free/x.txt"]);
    commit("out");
    assert_eq!(check("HEAD~2..HEAD", "alice").0, Some(1));
    assert_eq!(check("HEAD~2..HEAD", "bob").0, Some(0));
    world.file("r/owned/\n\"é\t", "x");
    commit("odd");
    assert_eq!(check("HEAD~1..HEAD", "alice").1, ["owned/\n\"é\t"]);
    // Taking the owner file away opens nothing.
    git(&world, "r", &["rm", "-q", "owned/.loci/owner.md"]);
    world.file("r/owned/a.txt", "b\n");
    commit("coup");
    assert_eq!(check("HEAD~1..HEAD", "alice"), (Some(1), vec!["owned/.loci/owner.md".to_owned()]));
    git(&world, "r", &["reset", "-q", "--hard", "HEAD~1"]);
    // A merge that drops what came in.
    git(&world, "r", &["checkout", "-qb", "side", "HEAD~1"]);
    world.file("r/free/s.txt", "s");
    commit("side");
    git(&world, "r", &["merge", "-q", "-s", "ours", "--no-edit", "main"]);
    assert_eq!(check("main..side", "alice").1, ["owned/\n\"é\t"]);
    // What others did meanwhile is not in the range.
    git(&world, "r", &["checkout", "-q", "main"]);
    git(&world, "r", &["checkout", "-qb", "late", "HEAD~1"]);
    world.file("r/free/l.txt", "l");
    commit("late");
    assert_eq!(check("main..late", "alice"), (Some(0), vec![]));
    for (range, wanted) in
        [("main", "BASE..HEAD"), ("--output=x..HEAD", "BASE..HEAD"), ("nowhere..HEAD", "find the commit"), ("..HEAD", "BASE..HEAD")]
    {
        let run = world.loci("r", ["check", &format!("--diff={range}"), "--as", "alice"]).exits(2);
        assert!(run.stderr.contains(wanted), "{range}: {}", run.stderr);
    }
    world.dir("bare");
    world.loci("bare", ["check", "--diff", "a..b", "--as", "alice"]).exits(2);
}

#[test]
fn a_separate_worktree_excuses_nothing_when_it_comes_back() {
    let world = repository();
    git(&world, "r", &["worktree", "add", "-q", "../wt", "-b", "idea"]);
    world.file("wt/owned/a.txt", "idea\n");
    git(&world, "wt", &["commit", "-qam", "idea"]);
    world.loci("wt", ["check", "owned/a.txt", "--as", "alice"]).exits(0);
    world.loci("wt", ["check", "--diff", "main..idea", "--as", "alice"]).exits(1);
    world.loci("wt", ["check", "--diff", "main..idea", "--as", "bob"]).exits(0);
}

#[test]
fn asking_git_runs_nothing_that_the_repository_names_and_leaves_nothing() {
    let world = repository();
    world.file("r/.gitattributes", "* filter=f diff=d\n").file("r/owned/a.txt", "b\n");
    git(&world, "r", &["add", "-A"]);
    git(&world, "r", &["commit", "-qm", "b"]);
    let ran = world.path("ran");
    let trap = format!("touch {}; cat", ran.display());
    world.exec("r/trap", format!("#!/bin/sh\n{trap}\n"));
    let script = world.path("r/trap");
    for (key, value) in [
        ("core.fsmonitor", script.to_str().unwrap()),
        ("core.pager", &trap),
        ("pager.log", &trap),
        ("diff.external", script.to_str().unwrap()),
        ("diff.d.textconv", script.to_str().unwrap()),
        ("diff.d.command", script.to_str().unwrap()),
        ("filter.f.clean", &trap),
        ("filter.f.smudge", &trap),
        ("filter.f.required", "true"),
        ("gpg.program", script.to_str().unwrap()),
        ("log.showSignature", "true"),
        ("alias.diff-tree", &format!("!{trap}")),
        ("diff.relative", "true"),
        ("diff.orderFile", "/dev/null"),
        ("diff.ignoreSubmodules", "all"),
    ] {
        git(&world, "r", &["config", key, value]);
    }
    for hook in ["post-index-change", "reference-transaction", "pre-auto-gc"] {
        world.exec(format!("r/.git/hooks/{hook}"), format!("#!/bin/sh\n{trap}\n"));
    }
    let _ = fs::remove_file(&ran);
    let before = world.snapshot("r");
    world.loci("r/free", ["check", "--diff", "HEAD~1..HEAD", "--as", "alice"]).exits(1);
    assert!(!ran.exists(), "something of the repository ran");
    assert_eq!(world.snapshot("r"), before);
    // Settings that put the work tree elsewhere, where nobody owns anything, are found out.
    world.dir("empty");
    git(&world, "r", &["config", "core.worktree", world.path("empty").to_str().unwrap()]);
    let run = world.loci("r", ["check", "--diff", "HEAD~1..HEAD", "--as", "alice"]).exits(2);
    assert!(run.stderr.contains("work tree"), "{}", run.stderr);
}

#[test]
fn what_was_done_may_be_asked_for_again() {
    let world = fixture();
    let ask = || inside(&world, "home/repo", &["own", "free", "--as", "alice"]).exits(1);
    let open = || -> Vec<String> {
        let run = world.loci("home", ["requests", "--json"]);
        run.json()["requests"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    let first = ask();
    let id = first.stdout.trim().to_owned();
    // While it waits it is the same one, under the id that it has.
    let again = ask();
    assert_eq!(again.stdout.trim(), id);
    assert!(again.stderr.contains("filed already, and waits"), "{}", again.stderr);
    let hash_of = |id: &str| hash(&world, id);
    world.loci("home", ["approve", &id, "--hash", &hash_of(&id)]).exits(0);
    world.loci("home/repo", ["disown", "free"]).exits(0);
    // What was done is another request by now, and it waits.
    let second = ask().stdout.trim().to_owned();
    assert_ne!(second, id);
    assert_eq!(open(), std::slice::from_ref(&second));
    world.loci("home", ["approve", &second, "--hash", &hash_of(&second)]).exits(0);
    world.loci("home/repo", ["disown", "free"]).exits(0);
    let third = ask().stdout.trim().to_owned();
    assert_eq!(open(), std::slice::from_ref(&third));
    // The message that lists them answers none of them.
    let digest = world.loci("home", ["inbox", "--json"]).exits(0).json()["messages"][0]["id"].as_str().unwrap().to_owned();
    for words in [&["done", &digest, "--reply", "x"][..], &["decline", &digest, "--why", "x"], &["take", &digest]] {
        let refused = world.loci("home", [&["inbox"], words].concat()).exits(2);
        assert!(
            refused.stderr.contains("approved or denied by itself") && refused.stderr.contains("hint: loci requests"),
            "{}",
            refused.stderr
        );
    }
    assert_eq!(open(), std::slice::from_ref(&third));
    // A no stands for that hour, and whoever asks again is told.
    world.loci("home", ["deny", &third, "--why", "not now"]).exits(0);
    let refused = ask();
    assert!(refused.stdout.trim() == third && refused.stderr.contains("was declined within this hour"), "{refused:?}");
    assert!(open().is_empty());
}

#[test]
fn a_cut_id_has_to_be_unique_among_all_inboxes() {
    let world = fixture();
    inside(&world, "home/repo", &["own", "free", "--as", "alice"]).exits(1);
    let mail = world.loci("home/repo", ["delegate", "bob", "--reads", "owned/a.txt", "--idea", "one", "--json"]);
    let id = mail.exits(0).json()["messages"][0]["id"].as_str().unwrap().to_owned();
    let before = world.snapshot("home");
    let refused = world.loci("home", ["inbox", "decline", &id[..4], "--why", "x"]).exits(2);
    assert!(refused.stderr.contains("failed to tell which message") && refused.stderr.contains(&id), "{}", refused.stderr);
    assert_eq!(world.snapshot("home"), before);
    world.loci("home", ["inbox", "show", &id]).exits(0);
}
