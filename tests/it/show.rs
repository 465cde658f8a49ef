//! `show` and `init`.

use std::fs;
use std::path::Path;

use loci::custody::delegation::{self, Attempt, Change};
use loci::custody::{Act, ActKind, Asker, Surroundings};
use loci::text::name::AgentId;
use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox};

fn show(sandbox: &Sandbox, dir: &str) -> Value {
    sandbox.loci("", ["show", dir, "--json"]).exits(0).json()
}

fn reads<'a>(shown: &'a Value, runtime: &str) -> &'a Value {
    shown["reads"].as_array().unwrap().iter().find(|row| row["runtime"] == runtime).unwrap()
}

#[test]
fn a_fresh_custodian_is_shown_whole() {
    let sandbox = Sandbox::new();
    sandbox.loci("", ["new", "desk", "--template", "custodian"]).exits(0);
    sandbox.loci("", ["new", "desk/sub"]).exits(0);
    let shown = show(&sandbox, "desk");
    let keys: Vec<&String> = shown.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "schema",
            "dir",
            "id",
            "identity",
            "owner",
            "owns",
            "equipped",
            "loadout",
            "reads",
            "automations",
            "embodied",
            "requests",
            "inbox",
            "below",
            "notes"
        ]
    );
    let desk = sandbox.path("desk");
    assert_eq!(shown["dir"], desk.to_str().unwrap());
    assert_eq!(shown["id"], "desk");
    assert_eq!(shown["identity"]["description"], "Keeps this directory, and answers for all of it");
    assert_eq!(shown["owner"], json!({ "id": "desk", "path": desk.join(".loci/owner.md"), "line": 2, "why": null }));
    assert_eq!(
        shown["equipped"],
        json!({
            "skills": [{ "name": "inbox", "on": true, "why": null, "dotdir": ".loci", "path": desk.join(".loci/skills/inbox/SKILL.md") }],
            "rules": [], "agents": [], "hooks": [],
        })
    );
    assert_eq!(shown["inbox"], json!({ "new": 0, "taken": 0, "done": 0, "declined": 0 }));
    assert_eq!(shown["below"], json!([{ "dir": desk.join("sub"), "id": "sub", "owner": "desk" }]));
    assert_eq!(shown["notes"], json!([]));
    let names: Vec<&str> = shown["reads"].as_array().unwrap().iter().map(|row| row["runtime"].as_str().unwrap()).collect();
    assert_eq!(names, ["claude", "cline", "codex", "copilot", "gemini", "hermes", "opencode", "pi", "qwen"]);
    for name in names {
        let row = reads(&shown, name);
        assert_eq!(row["instructions"]["agents_md"], true, "{name}");
        let skills = !matches!(name, "cline" | "hermes");
        assert_eq!(!row["skills"]["native"].as_array().unwrap().is_empty(), skills, "{name}");
        let rules = matches!(name, "claude" | "copilot");
        assert_eq!(!row["rules"]["native"].as_array().unwrap().is_empty(), rules, "{name}");
        assert_eq!(!row["agents"]["native"].as_array().unwrap().is_empty(), rules, "{name}");
    }
    // For people, on one screen.
    let words = sandbox.loci("desk/.loci", ["show"]).exits(0).stdout;
    assert!(words.lines().count() < 30 && words.contains("inbox  empty") && words.contains("  skills  inbox    on"), "{words}");
}

#[test]
fn what_is_off_apart_or_not_read_is_said() {
    let sandbox = Sandbox::new();
    sandbox.loci("", ["new", "x", "--copy"]).exits(0);
    sandbox
        .file("x/.loci/skills/deploy/SKILL.md.inactive", "---\nname: deploy\ndescription: d\n---\n")
        .file("x/.loci/rules/team/style.md", "s");
    sandbox.file("x/CLAUDE.md", "my own");
    fs::remove_dir_all(sandbox.path("x/.agents")).unwrap();
    // What is no hook by its header is a helper of theirs.
    sandbox
        .file("x/.loci/hooks/lint.sh", "#!/bin/sh\n# hook-events: before-tool\n")
        .file("x/.loci/hooks/off.sh.inactive", "#!/bin/sh\n# hook-events: before-tool\n")
        .file("x/.loci/hooks/words.txt", "lint.sh reads it\n")
        .file("x/.loci/hooks/old.txt.inactive", "nobody reads it\n");
    let shown = show(&sandbox, "x");
    assert_eq!(shown["owner"], Value::Null);
    let hooks: Vec<(&str, bool)> =
        shown["equipped"]["hooks"].as_array().unwrap().iter().map(|one| (one["name"].as_str().unwrap(), one["on"] == true)).collect();
    assert_eq!(hooks, [("lint.sh", false), ("off.sh", false)], "nobody has trusted the one");
    let item = &shown["equipped"]["skills"][0];
    assert_eq!((item["name"].as_str(), item["on"].as_bool()), (Some("deploy"), Some(false)));
    assert_eq!(shown["equipped"]["rules"][0]["name"], "team/style.md");
    let claude = reads(&shown, "claude");
    assert_eq!(claude["instructions"], json!({ "files": [sandbox.path("x/CLAUDE.md")], "agents_md": false }));
    assert_eq!(claude["skills"], json!({ "native": [], "apart": [sandbox.path("x/.claude/skills")] }));
    assert_eq!(reads(&shown, "codex")["skills"], json!({ "native": [], "apart": [] }));
    let words = sandbox.loci("", ["show", "x"]).exits(0).stdout;
    assert!(words.contains("only CLAUDE.md") && words.contains("only .claude/skills") && words.contains("deploy         off"), "{words}");
}

/// Hands a write of `other` over to the owner, as the gate does.
fn hand_over(sandbox: &Sandbox, path: &Path) {
    let asker = Asker { agent: Some(AgentId::new("other").unwrap()), body: Some(sandbox.path("other")) };
    let (home, state) = (sandbox.path("home"), sandbox.path("state/loci"));
    let surroundings =
        Surroundings { home: home.clone(), user_home: home, state, wall: Vec::new(), moved: Vec::new(), linked: Vec::new(), hops: 0 };
    let act = Act { kind: ActKind::Create, path: path.to_owned(), follow: false, below: false };
    let ruling = loci::custody::rule(&[act], &asker, &surroundings);
    let change = Change::Command("touch".to_owned());
    let at = loci::sys::time::now();
    let attempt =
        Attempt { asker: &asker, harness: "t", session: None, sub_agent: None, tool: "t", change, ruling: &ruling, reads: Vec::new(), at };
    let delivered = delegation::deliver(&attempt, &surroundings);
    assert!(delivered.len() == 1 && delivered[0].outcome.is_ok());
}

#[test]
fn what_waits_is_counted() {
    let sandbox = Sandbox::new();
    sandbox.dir(".git");
    sandbox.loci("", ["new", "desk", "--template", "custodian"]).exits(0);
    sandbox.loci("", ["new", "other"]).exits(0);
    for (file, answer) in [("a", None), ("b", Some("take")), ("c", Some("done"))] {
        hand_over(&sandbox, &sandbox.path("desk").join(file));
        let list = sandbox.loci("desk", ["inbox", "--json"]).exits(0).json();
        let id = list["messages"].as_array().unwrap().iter().rfind(|one| one["state"] == "new").unwrap()["id"].as_str().unwrap().to_owned();
        match answer {
            Some("done") => _ = sandbox.loci("desk", ["inbox", "done", &id, "--reply", "r"]).exits(0),
            Some(verb) => _ = sandbox.loci("desk", ["inbox", verb, &id]).exits(0),
            None => {}
        }
    }
    assert_eq!(show(&sandbox, "desk")["inbox"]["done"], 1);
    let words = sandbox.loci("", ["show", "desk"]).exits(0).stdout;
    assert!(words.contains("inbox  1 new, 1 taken, 1 done"), "{words}");
}

#[test]
fn where_nobody_lives_the_answer_is_no() {
    let sandbox = Sandbox::new();
    sandbox.dir("plain").file("broken/.loci/agent.md", "---\ndescription: x\nid: Not An Id\n---\n");
    sandbox.file("owned/.loci/agent.md", "---\nid: o\n---\n").file("owned/.loci/owner.md", "---\nowner: [\n---\n");
    let run = sandbox.loci("", ["show", "plain"]).exits(1);
    assert!(run.stdout.is_empty() && run.stderr.contains("no agent lives in plain"), "{}", run.stderr);
    assert_eq!(sandbox.loci("", ["show", "plain", "--json"]).exits(1).json()["id"], Value::Null);
    let run = sandbox.loci("", ["show", "broken"]).exits(2);
    assert!(run.stderr.contains("broken/.loci/agent.md:3)"), "{}", run.stderr);
    sandbox.loci("", ["show", "nowhere"]).exits(2);
    let owner = &show(&sandbox, "owned")["owner"];
    assert!(owner["id"].is_null() && owner["why"].is_string() && owner["path"] == sandbox.path("owned/.loci/owner.md").to_str().unwrap());
}

#[test]
fn show_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.loci("", ["new", "x", "--template", "custodian"]).exits(0);
    let before = sandbox.snapshot("");
    sandbox.loci("", ["show", "x"]).exits(0);
    sandbox.loci("x", ["templates"]).exits(0);
    sandbox.loci("x", ["init", "--dry-run"]).exits(0);
    assert_eq!(sandbox.snapshot(""), before);
}

#[test]
fn init_sets_up_the_home_once() {
    let sandbox = Sandbox::new();
    let bin = sandbox.path("bin");
    sandbox.exec("bin/claude", "#!/bin/sh\n").file("bin/gemini", "not a program").dir("bin/pi").exec("bin/qwen", "#!/bin/sh\n");
    let init = |args: &[&str]| Run::of(sandbox.command("").arg("init").args(args).env("PATH", &bin), None);
    let dry = init(&["--dry-run", "--json"]).exits(0).json();
    assert!(!sandbox.path("home/.loci").exists() && !sandbox.path("state").exists());
    let done = init(&["--json"]).exits(0).json();
    assert_eq!(dry["plan"], done["plan"]);
    let link = sandbox.path("home/.loci/bin/loci");
    assert_eq!(fs::read_link(&link).unwrap(), Path::new(env!("CARGO_BIN_EXE_loci")));
    assert_eq!(done["link"], json!({ "path": link, "target": env!("CARGO_BIN_EXE_loci") }));
    assert!(sandbox.path("state/loci").is_dir());
    let names: Vec<&str> = done["harnesses"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["claude", "qwen"]);
    let claude = &done["harnesses"][0];
    assert_eq!((claude["standing"].as_str(), claude["command"].as_str()), (Some("not-connected"), Some("loci connect claude")));
    let before = sandbox.snapshot("");
    assert_eq!(init(&["--json"]).exits(0).json()["plan"], json!([]));
    assert_eq!(sandbox.snapshot(""), before);
    // What it says can be done, and then it says that it is done.
    sandbox.loci("", ["connect", "claude"]).exits(0);
    let after = init(&["--json"]).exits(0).json();
    assert_eq!((after["harnesses"][0]["standing"].as_str(), after["harnesses"][0]["command"].as_str()), (Some("connected"), None));
    // A link to another program is set right; a file in its place stays, and that is said.
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("/nowhere/loci", &link).unwrap();
    init(&[]).exits(0);
    assert_eq!(fs::read_link(&link).unwrap(), Path::new(env!("CARGO_BIN_EXE_loci")));
    fs::remove_file(&link).unwrap();
    sandbox.file("home/.loci/bin/loci", "mine");
    assert!(init(&[]).exits(0).stdout.contains("it is no link"));
    assert_eq!(sandbox.read("home/.loci/bin/loci"), "mine");
}

#[test]
fn an_agent_does_not_set_up_the_home() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("");
    command.arg("init").env("LOCI_AGENT", "alice");
    Run::of(&mut command, None).exits(1);
    assert!(!sandbox.path("home/.loci/bin").exists());
}

#[test]
fn init_on_a_disk_that_refuses_leaves_nothing() {
    let sandbox = Sandbox::new();
    for n in 1..20 {
        let mut command = sandbox.command("");
        command.arg("init").env("LOCI_FAULT", format!("fail:{n}:28"));
        let run = Run::of(&mut command, None);
        if run.code == Some(0) {
            assert!(n > 3, "{n}");
            return;
        }
        assert_eq!(sandbox.snapshot("").len(), 2, "{n}: {:?}", sandbox.snapshot(""));
    }
    panic!("it never got through");
}

#[test]
fn what_an_agent_owns_is_on_the_screen() {
    let world = Sandbox::new();
    world.dir("r/.git").file("r/agents/billing/.loci/agent.md", "---\nid: billing\n---\n");
    world.file("r/services/billing/.loci/owner.md", "---\nowner: billing\nbody: ../../agents/billing\n---\n");
    world.file("r/other/.loci/owner.md", "---\nowner: billing\nbody: ../elsewhere\n---\n");
    let words = world.loci("r", ["show", "agents/billing"]).exits(0).stdout;
    assert!(words.contains("owns   services/billing\n"), "{words}");
    let object = world.loci("r", ["show", "agents/billing", "--json"]).exits(0).json();
    assert_eq!(object["owns"], serde_json::json!([world.path("r/services/billing").to_str()]));
}

#[test]
fn what_it_wears_what_is_present_and_what_it_asks_is_shown() {
    let world = Sandbox::new();
    world.dir("r/.git");
    world.loci("r", ["new", "w", "--template", "watcher"]).exits(0);
    world
        .file("r/w/.loci-clock/loops/fix.md.inactive", "x")
        .file("r/w/.loci-clock/jobs/notes.txt", "no job")
        .dir("r/w/.loci-clock/jobs/d.md");
    let object = |world: &Sandbox| show(world, "r/w");
    let first = object(&world);
    let names: Vec<(&str, &str, bool)> = first["automations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["kind"].as_str().unwrap(), one["name"].as_str().unwrap(), one["on"].as_bool().unwrap()))
        .collect();
    assert_eq!(names, [("job", "look", true), ("loop", "fix", false), ("heartbeat", "heartbeat", true)]);
    let id = world.loci("r/w", ["loadout", "id"]).exits(0).stdout;
    assert_eq!((first["loadout"]["hash"].as_str(), &first["loadout"]["active"]), (Some(id.trim()), &Value::Null));
    // An archive that it is, and then no longer is.
    world.loci("r/w", ["loadout", "archive", "day"]).exits(0);
    world.loci("r/w", ["loadout", "inject", "day"]).exits(0);
    assert_eq!((&object(&world)["loadout"]["active"], &object(&world)["loadout"]["matched_by"]), (&json!("day"), &json!("hash")));
    world.file("r/w/CLAUDE.md", "changed by hand");
    let changed = object(&world);
    assert_eq!((&changed["loadout"]["active"], &changed["loadout"]["matched_by"]), (&json!("day"), &json!("history")));
    assert!(changed["loadout"]["note"].is_string());
    // A request of its own, and none of somebody else's.
    for (agent, count) in [("other", 0), ("w", 1)] {
        let mut command = world.command("r/w");
        command.args(["init"]).env("LOCI_AGENT", agent);
        Run::of(&mut command, None).exits(1);
        assert_eq!(object(&world)["requests"], count, "{agent}");
    }
    let words = world.loci("r", ["show", "w"]).exits(0).stdout;
    for line in ["asks", "which no archive is; the last one put in was day", "runs here\n  job        look", "  loop       fix        off"]
    {
        assert!(words.contains(line), "{line}: {words}");
    }
}

#[test]
fn init_connects_where_it_is_told_to_and_once_more_does_no_harm() {
    let world = Sandbox::new();
    world.exec("tools/claude", "#!/bin/sh\n").exec("tools/codex", "#!/bin/sh\n");
    let init = |args: &[&str]| {
        let mut command = world.command("");
        command.arg("init").args(args).env("PATH", format!("{}:/usr/bin:/bin", world.path("tools").display()));
        Run::of(&mut command, None)
    };
    let before = world.snapshot("");
    let dry = init(&["--yes", "--dry-run"]).exits(0).stdout;
    assert!(dry.contains("would connect claude, codex"), "{dry}");
    assert_eq!(world.snapshot(""), before);
    // Nobody is there to be asked, so nothing is connected.
    init(&[]).exits(0);
    assert!(!world.path("home/.claude").exists());
    let object = init(&["--yes", "--json"]).exits(0).json();
    assert_eq!(object["connected"], json!(["claude", "codex"]));
    assert!(world.read("home/.claude/settings.json").contains("gate --for claude"));
    let after = world.snapshot("home");
    let again = init(&["--yes", "--json"]).exits(0).json();
    assert_eq!((&again["connected"], &again["plan"]), (&json!([]), &json!([])));
    assert_eq!(world.snapshot("home"), after);
    // An agent is no person.
    let mut command = world.command("");
    command.args(["init", "--yes"]).env("LOCI_AGENT", "alice").env("PATH", format!("{}:/usr/bin:/bin", world.path("tools").display()));
    world.loci("", ["disconnect", "codex"]).exits(0);
    Run::of(&mut command, None).exits(1);
    assert!(!world.path("home/.codex/hooks.json").exists());
}

#[test]
fn of_many_that_set_up_one_home_all_are_content() {
    let world = Sandbox::new();
    for round in 0..4 {
        let calls: Vec<_> = (0..6)
            .map(|_| {
                let mut call = world.command("");
                call.arg("init").stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
            })
            .collect();
        for call in calls {
            let output = call.wait_with_output().unwrap();
            assert!(output.status.success(), "{round}: {}", String::from_utf8_lossy(&output.stderr));
        }
        assert_eq!(fs::read_link(world.path("home/.loci/bin/loci")).unwrap(), Path::new(env!("CARGO_BIN_EXE_loci")));
        fs::remove_dir_all(world.path("home/.loci")).unwrap();
        if round % 2 == 0 {
            fs::remove_dir_all(world.path("state")).unwrap();
        }
    }
}
