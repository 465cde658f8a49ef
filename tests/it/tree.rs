//! The resolver and its verbs, end to end.

use std::fs;
use std::path::Path;

use loci::tree::dotdirs::Dotdirs;
use loci::tree::resolve::{self, Request};
use loci::tree::{diagnostic::Code, real, slot};
use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// Two levels of rules, an owner, two bodies.
fn world() -> Sandbox {
    let world = Sandbox::new();
    world
        .file("r/.claude/rules/x.md", "far")
        .file("r/.claude/rules/y.md.inactive", "off")
        .file("r/a/.loci/owner.md", "---\nowner: bob\n---\n")
        .file("r/a/.loci/agent.md", "---\nid: bob\ndescription: keeps a\n---\n")
        .file("r/a/.loci/rules/x.md", "near")
        .file("r/a/b/.claude/skills/k/SKILL.md", "---\nname: k\n---\n")
        .file("r/a/b/.claude/skills/off/SKILL.md.inactive", "---\nname: off\n---\n")
        .file("r/c/.loci-view/image.png", "")
        .dir("r/.loci-clock");
    world
}

fn paths(world: &Sandbox, list: &Value) -> Vec<String> {
    let root = world.path("r");
    let rel = |one: &Value| {
        let path = Path::new(one["path"].as_str().unwrap());
        path.strip_prefix(&root).unwrap_or(path).to_str().unwrap().to_owned()
    };
    list.as_array().unwrap().iter().map(rel).collect()
}

#[test]
fn resolve_prints_a_line_a_file_nearest_last() {
    let world = world();
    let run = world.loci("r/a", ["resolve", "rules"]).exits(0);
    let lines: Vec<Vec<&str>> = run.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[1], [".loci/rules/x.md", "launch", ".", ".loci"]);
    let json = world.loci("r/a", ["resolve", "rules", "--json", "--body"]).exits(0).json();
    assert_eq!(json["schema"], 1);
    assert_eq!(paths(&world, &json["files"]), [".claude/rules/x.md", "a/.loci/rules/x.md"]);
    assert_eq!(json["files"][1]["body"], "near");
    world.loci("r", ["resolve", "jobs"]).exits(1);
    let wrong = world.loci("r", ["resolve", "../x"]).exits(2);
    assert!(wrong.stderr.starts_with("error: "), "{}", wrong.stderr);
}

#[test]
fn explain_says_who_wins_and_what_is_off() {
    let world = world();
    let json = world.loci("r/a", ["explain", "rules/x", "--json"]).exits(0).json();
    let states: Vec<&str> = json["files"].as_array().unwrap().iter().map(|file| file["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["wins", "shadowed"]);
    assert_eq!(paths(&world, &json["files"]), ["a/.loci/rules/x.md", ".claude/rules/x.md"]);
    let off = world.loci("r/a", ["explain", "rules/y.md"]).exits(1);
    assert!(off.stdout.contains("y.md.inactive"), "{}", off.stdout);
    let skill = world.loci("r/a/b", ["explain", "skills/off", "--json"]).exits(1).json();
    assert_eq!(skill["files"][0]["state"], "off");
    // The same content near and far: the near one stays.
    world.file("r/a/.loci/rules/x.md", "far");
    let json = world.loci("r/a", ["explain", "rules/x", "--json"]).exits(0).json();
    assert_eq!(json["files"][1]["state"], "dropped");
    world.loci("r", ["explain", "rules"]).exits(2);
    world.loci("r", ["explain", "rules/none"]).exits(1);
}

#[test]
fn tree_reads_one_list_in_five_ways() {
    let world = world();
    let json = |args: &[&str]| world.loci("r/a", args.iter().copied().chain(["--json"])).exits(0).json();
    let tree = json(&["tree"]);
    // The root is the nearest directory up with a clock.
    assert_eq!(paths(&world, &tree["places"]), ["", "a", "a/b", "c"]);
    assert_eq!(tree["places"][2]["owner"]["id"], "bob");
    assert_eq!(tree["places"][2]["owner"]["file"], json!(world.path("r/a/.loci/owner.md").to_str()));
    assert_eq!(tree["places"][1]["body"]["id"], "bob");
    assert_eq!(paths(&world, &json(&["tree", "--as", "gate"])["entries"]), ["a"]);
    assert_eq!(json(&["tree", "--as", "way"])["entries"][0]["image"], json!(world.path("r/c/.loci-view/image.png").to_str()));
    assert_eq!(json(&["tree", "--as", "scope"])["entries"][0]["id"], "bob");
    let learn = json(&["tree", "--as", "learn"]);
    assert_eq!(learn["entries"][2]["skills"], json!(["k"]));
    assert_eq!(learn["entries"][0]["exits"], json!([world.path("r/a").to_str(), world.path("r/c").to_str()]));
    assert_eq!(json(&["tree", "--as", "roster"])["entries"][0]["description"], "keeps a");
    assert_eq!(paths(&world, &json(&["tree", "b"])["places"]), ["a/b"]);
    world.loci("r", ["tree", "--as", "bob"]).exits(2);
    world.loci("r", ["tree", "none"]).exits(2);
    assert_eq!(world.loci("r", ["--as", "gate", "tree", "--json"]).exits(0).json()["as"], "gate");
    world.loci("r", ["--as", "bob", "tree"]).exits(2);
}

#[test]
fn where_gives_all_readings_of_a_path() {
    let world = world();
    let json = world.loci("r", ["where", "a/b/new/file", "--json"]).exits(0).json();
    assert_eq!((json["exists"].clone(), json["gate"]["id"].clone(), json["gate"]["line"].clone()), (json!(false), json!("bob"), json!(2)));
    assert_eq!(json["learn"]["place"], json!(world.path("r/a/b").to_str()));
    assert_eq!(json["learn"]["skills"], json!(["k"]));
    assert_eq!(json["roster"]["id"], "bob");
    let json = world.loci("r", ["where", "c/x", "--json"]).exits(0).json();
    assert_eq!(json["way"]["place"], json!(world.path("r/c").to_str()));
    let json = world.loci("r", ["where", ".", "--json"]).exits(0).json();
    assert_eq!(json["scope"], json!(["bob"]));
    // A link is followed to whose it is.
    world.link("r/c/in", "../a/b");
    assert_eq!(world.loci("r", ["where", "c/in/f", "--json"]).exits(0).json()["gate"]["id"], "bob");
    // A file that can't be read is an owner all the same.
    world.file("r/a/.loci/owner.md", "broken");
    let json = world.loci("r", ["where", "a", "--json"]).exits(0).json();
    assert_eq!(json["gate"]["error"]["line"], 1);
}

#[test]
fn doctor_finds_what_is_planted_and_nothing_else() {
    let world = world();
    let found = |world: &Sandbox, code: i32| -> Vec<(String, String)> {
        let json = world.loci("r", ["doctor", "--json"]).exits(code).json();
        let codes = json["findings"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap().to_owned());
        codes.zip(paths(world, &json["findings"])).map(|(code, path)| (path, code)).collect()
    };
    assert_eq!(found(&world, 0), []);
    let secret = format!("token: ghp_{}\n", "a1".repeat(20));
    world
        .file("r/.claude/jobs/j.md", "")
        .file("r/.claude/hooks/mine.sh", "")
        .file("r/.claude/settings.local.json", "{}")
        .file("r/.claude/skills/flat.md", "")
        .file("r/.claude/skills/g/k/SKILL.md", "")
        .file("r/.claude/skills/l/skill.md", "")
        .file("r/.claude/skills/m.inactive/SKILL.md", "")
        .file("r/.claude/rules/fm.md", "---\na: b: c\n---\n")
        .file("r/.loci-clock/jobs/j.md", "---\narmed: true\n---\n")
        .file("r/.loci-clock/jobs/k.md", "---\nwhen: {every: 1h}\nrun: x\nneeds: [nope]\n---\n")
        .file("r/.loci-clock/loops/l.md", "no header\n")
        .file("r/a/.loci/hooks/lint.sh", "#!/bin/sh\n# hook-events: before-tol\n")
        .file("r/a/.loci/hooks/helper.sh", "#!/bin/sh\n")
        .file("r/a/.loci/notes.md", &secret)
        .file("r/a/.loci/memory/notes.md", &secret)
        .file("r/a/.loci/run.pid", "1")
        .file("r/a/.loci/heartbeat.md", "")
        .file("r/c/.loci-view/things.json", "[{\"x\": 1}]")
        .file("r/d/.loci/agent.md", "---\nid: bob\n---\n")
        .file("r/e/.loci/agent.md", "---\nname: bob\n---\n")
        .file("r/f/.codex", "")
        .link("r/d/.loci/abs", "/tmp")
        .link("r/.claude/rules/gone.md", "nowhere")
        .file("r/.claude/rules/_use.yaml", "- none.md\n");
    let wanted = [
        (".claude/jobs", "foreign-slot"),
        (".claude/rules/_use.yaml", "use-dangling"),
        (".claude/rules/fm.md", "fm-lenient"),
        (".claude/rules/gone.md", "dangling-link"),
        (".claude/settings.local.json", "transport-local"),
        (".claude/skills/flat.md", "flat-skill-ignored"),
        (".claude/skills/g/k/SKILL.md", "nested-skill-ignored"),
        (".claude/skills/l/skill.md", "skill-wrong-case"),
        (".claude/skills/m.inactive", "inactive-dir-still-live"),
        (".loci-clock/jobs/j.md", "job-refused"),
        (".loci-clock/jobs/j.md", "transport-armed"),
        (".loci-clock/jobs/k.md", "job-refused"),
        (".loci-clock/loops/l.md", "loop-refused"),
        ("a/.loci/agent.md", "duplicate-id"),
        ("a/.loci/heartbeat.md", "foreign-slot"),
        ("a/.loci/hooks/lint.sh", "hook-broken"),
        ("a/.loci/notes.md", "transport-token"),
        ("a/.loci/run.pid", "transport-process"),
        ("c/.loci-view/things.json", "view-list"),
        ("d/.loci/abs", "transport-link"),
        ("d/.loci/agent.md", "duplicate-id"),
        ("e/.loci/agent.md", "agent-broken"),
        ("f/.codex", "config-is-file"),
    ];
    assert_eq!(found(&world, 1), wanted.map(|(path, code)| (path.to_owned(), code.to_owned())));
    for (file, text) in [
        ("g/.loci/agent.md", "---\nid: gil\nruntime: cluade\nhook: [x]\n---\n"),
        ("g/AGENTS.md", "x\n"),
        ("g/CLAUDE.md", "y\n"),
        ("h/.loci/agent.md", "---\nid: hal\nruntime: mine\n---\n"),
        ("h/AGENTS.md", "x\n"),
        ("h/CLAUDE.md", "z\n@AGENTS.md\n"),
        ("o/.loci/owner.md", "---\nowner: gli\ncomons: [x]\n---\n"),
        ("p/.loci/owner.md", "---\nowner: hal\n---\n"),
    ] {
        world.file(format!("r/{file}"), text);
    }
    world.file("home/.loci/runtimes/mine.md", "---\nprogramm: x\n---\n");
    let more = [
        ("g/.loci/agent.md", "agent-broken"),
        ("g/.loci/agent.md", "runtime-unknown"),
        ("g/CLAUDE.md", "import-missing"),
        ("o/.loci/owner.md", "owner-broken"),
        ("o/.loci/owner.md", "owner-unknown"),
    ];
    let now = found(&world, 1);
    for (path, code) in more {
        assert!(now.contains(&(path.to_owned(), code.to_owned())), "{path} {code}: {now:?}");
    }
    assert!(now.iter().any(|(path, code)| path.ends_with("runtimes/mine.md") && code == "runtime-broken"), "{now:?}");
    assert_eq!(now.len(), wanted.len() + more.len() + 1, "{now:?}");
    let said = world.loci("r", ["doctor"]).exits(1).stdout;
    for piece in
        ["did you mean `claude`?", "did you mean `commons`?", "did you mean `hooks`?", "did you mean `gil`?", "did you mean `program`?"]
    {
        assert!(said.contains(piece), "{piece}: {said}");
    }
    let wanted = &now;
    // Every finding says what to do.
    let words = world.loci("r", ["doctor"]).exits(1).stdout;
    assert_eq!(words.matches("\n  fix: ").count(), wanted.len(), "{words}");
}

pub(crate) fn rules(world: &Sandbox, home: &str, launch: &str) -> resolve::Resolution {
    let request = Request {
        home: Some(world.path(home)),
        launch: Some(world.path(launch)),
        active: None,
        slot: "rules".to_owned(),
        dotdirs: Dotdirs::default(),
    };
    resolve::resolve(&request).unwrap()
}

fn found(world: &Sandbox, resolution: &resolve::Resolution) -> Vec<String> {
    resolution
        .files
        .iter()
        .map(|file| file.path.strip_prefix(world.path(".")).unwrap_or(&file.path).to_string_lossy().into_owned())
        .collect()
}

#[test]
fn a_slot_uses_what_its_file_names() {
    let world = Sandbox::new();
    world
        .file("home/.loci/rules/style.md", "style")
        .file("home/.loci/rules/off.md.inactive", "off")
        .file("pool/team/one.md", "one")
        .file("pool/lone.md", "lone")
        .file("r/.loci/rules/own.md", "own")
        .file(
            "r/.loci/rules/_use.yaml",
            "# what we use\n- style\n- ../../../pool/team\n- ../../../pool/lone.md\n- off\n- ../../../pool/none.md\n",
        );
    let resolution = rules(&world, "home", "r");
    // Found as if it stood at this level, so the copy at home is the same file, farther away.
    assert_eq!(found(&world, &resolution), ["pool/lone.md", "pool/team/one.md", "r/.loci/rules/own.md", "home/.loci/rules/style.md"]);
    let used = &resolution.files[0];
    assert_eq!((used.provenance.level.clone(), used.provenance.dotdir.as_str()), (world.path("r"), ".loci"));
    assert_eq!(used.provenance.via.as_ref().map(|via| via.line), Some(4));
    let said: Vec<(Code, Option<usize>)> = resolution.diagnostics.iter().map(|one| (one.code, one.line)).collect();
    assert_eq!(said, [(Code::UseDangling, Some(5)), (Code::UseDangling, Some(6))]);
}

#[test]
fn references_that_lead_back_are_said() {
    let world = Sandbox::new();
    world
        .file("a/.loci/rules/a.md", "a")
        .file("a/.loci/rules/_use.yaml", "- ../../../b/.loci/rules\n")
        .file("b/.loci/rules/b.md", "b")
        .file("b/.loci/rules/_use.yaml", "- ../../../a/.loci/rules\n- ../..\n");
    let resolution = rules(&world, "home", "a");
    assert_eq!(resolution.files.len(), 2);
    let codes: Vec<Code> = resolution.diagnostics.iter().map(|one| one.code).collect();
    assert_eq!(codes, [Code::UseCycle, Code::UseCycle]);
}

#[test]
fn the_vendor_links_of_a_body_are_read_once_where_they_lie() {
    let world = Sandbox::new();
    world
        .file("r/.loci/rules/a.md", "a")
        .file("r/.loci/skills/k/SKILL.md", "k")
        .link("r/.claude/rules", "../.loci/rules")
        .link("r/.claude/skills", "../.loci/skills")
        .link("r/.agents/skills", "../.loci/skills");
    let resolution = rules(&world, "home", "r");
    assert_eq!(resolution.files.len(), 1);
    assert_eq!(resolution.files[0].provenance.dotdir, ".loci");
    assert!(resolution.dropped.is_empty() && resolution.diagnostics.is_empty(), "{resolution:?}");
    let json = world.loci("r", ["resolve", "skills", "--json"]).exits(0).json();
    assert_eq!(json["files"][0]["dotdir"], ".loci");
    assert_eq!(json["files"].as_array().unwrap().len(), 1);
}

#[test]
fn a_dotdir_that_is_a_link_to_its_neighbour_is_read_once() {
    let world = Sandbox::new();
    world.file("r/.loci/rules/a.md", "a").file("r/.loci/AGENTS.md", "b").link("r/.claude", ".loci");
    assert_eq!(rules(&world, "home", "r").files[0].provenance.dotdir, ".loci");
    let json = world.loci("r", ["resolve", "instructions", "--json"]).exits(0).json();
    assert_eq!(json["files"].as_array().unwrap().len(), 1);
    assert_eq!(json["files"][0]["real"], json!(world.path("r/.loci/AGENTS.md").to_str()));
}

#[test]
fn settings_hold_for_every_verb_and_break_aloud() {
    let world = world();
    world.file("home/.loci/config.yaml", "dotdirs: [.mine]\n").file("r/.mine/rules/m.md", "m");
    let json = world.loci("r", ["resolve", "rules", "--json"]).exits(0).json();
    assert_eq!(paths(&world, &json["files"]), [".mine/rules/m.md"]);
    world.file("home/.loci/config.yaml", "dotdirs: [.mine]\ncustody: maybe\n");
    for verb in [&["resolve", "rules"][..], &["tree"], &["where"], &["explain", "rules/x"], &["doctor"]] {
        let run = world.loci("r", verb.iter().copied()).exits(2);
        assert!(run.stderr.contains("config.yaml:2"), "{verb:?}: {}", run.stderr);
    }
    let run = world.loci("home", ["doctor", "."]).exits(1);
    assert!(run.stdout.contains("[settings-broken]"), "{}", run.stdout);
}

#[test]
fn a_verb_that_reads_never_writes() {
    let world = world();
    let before = world.snapshot(".");
    for verb in [&["resolve", "rules"][..], &["tree"], &["tree", "--as", "learn"], &["where"], &["explain", "rules/x"], &["doctor"]] {
        world.loci("r/a", verb.iter().copied());
    }
    assert_eq!(world.snapshot("."), before);
}

#[test]
fn the_docs_name_every_slot_and_every_code() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide/tree.md")).unwrap();
    for row in slot::TABLE.iter().filter(|row| !row.name.is_empty()) {
        assert!(page.contains(&format!("| `{}` |", row.name)), "{}", row.name);
    }
    for code in Code::ALL {
        assert!(page.contains(&format!("| `{}` |", code.word())), "{}", code.word());
        assert!(page.contains(code.fix()), "{}", code.fix());
    }
}

/// Every `console` block of the page is what the program prints; `LOCI_DOCS=write` writes it anew.
#[test]
fn the_transcripts_of_the_docs_are_true() {
    let world = Sandbox::new();
    world
        .file("r/.claude/rules/style.md", "Plain words.\n")
        .file("r/.claude/rules/old.md.inactive", "Old words.\n")
        .file("r/.claude/skills/deploy/SKILL.md", "---\nname: deploy\ndescription: Use when: asked\n---\n")
        .file("r/billing/.loci/agent.md", "---\nid: billing\n---\n")
        .file("r/billing/.loci/owner.md", "---\nowner: billing\n---\n")
        .file("r/billing/.loci/rules/style.md", "Short words.\n");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide/tree.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut anew = String::new();
    let mut inside = false;
    for line in page.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ => {}
        }
        match line.strip_prefix("$ loci ").filter(|_| inside) {
            Some(args) => {
                let run = world.loci("r", args.split_whitespace());
                anew += &format!("{line}\n{}{}", run.stdout, run.stderr);
            }
            None if inside && line != "```console" => {}
            None => anew += &format!("{line}\n"),
        }
    }
    if std::env::var_os("LOCI_DOCS").is_some_and(|what| what == "write") {
        fs::write(&path, &anew).unwrap();
    }
    assert_eq!(page, anew);
    assert!(page.matches("\n$ loci ").count() >= 5);
}

#[test]
fn two_spellings_of_a_start_are_one_level() {
    let world = world();
    world.link("r/to-a", "a").link("home2", "r/a");
    let twice = rules(&world, "home2", "r/to-a/b/..");
    assert_eq!(twice.levels.iter().map(|level| level.root.word()).collect::<Vec<_>>(), ["home", "launch"]);
    assert_eq!(real::real(&world.path("home2"), true).path, world.path("r/a"));
}

#[test]
fn where_never_walks_the_home() {
    let world = Sandbox::new();
    world.file("home/.claude/CLAUDE.md", "c").dir("home/p/q").file("home/other/.loci/owner.md", "---\nowner: carol\n---\n");
    let json = world.loci("home/p/q", ["where", "--json"]).exits(0).json();
    assert_eq!((&json["scope"], &json["learn"]["exits"]), (&json!([]), &json!([])), "{json}");
    // The top of the repository is the bound where there is one.
    world.dir("home/p/.git");
    for at in 0..12 {
        world.file(format!("home/p/s{at:02}/.loci/owner.md"), format!("---\nowner: a{at:02}\n---\n"));
    }
    let json = world.loci("home/p/q", ["where", "--json"]).exits(0).json();
    assert_eq!((json["scope"].as_array().unwrap().len(), json["learn"]["exits"].as_array().unwrap().len()), (12, 12));
    let words = world.loci("home/p/q", ["where"]).exits(0).stdout;
    assert!(words.contains("a07 (and 4 more)") && !words.contains("a08"), "{words}");
}

#[test]
fn an_empty_answer_is_said() {
    let world = Sandbox::new();
    world.dir("r");
    for (args, wanted) in [
        (&["resolve", "ruls"][..], "nothing in the slot `ruls` here\nhint: loci resolve rules\n"),
        (&["resolve", "rules"], "nothing in the slot `rules` here\n"),
        (&["tree"], "no directory has a dotdir in or below .\n"),
        (&["tree", "--as", "way"], "no place has a .loci-view in or below .\n"),
    ] {
        let run = world.loci("r", args.iter().copied()).exits(1);
        assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", wanted), "{args:?}");
    }
}

/// What harnesses and the registry keep in the home makes it no place of all that lies below; a body that lives there does.
#[test]
fn the_home_is_no_place_by_what_is_kept_there() {
    let world = Sandbox::new();
    world.file("home/.claude/settings.json", "{}\n").file("home/.loci/config.yaml", "{}\n").dir("home/p/sub");
    let place = || world.loci("home/p/sub", ["where", "--json"]).exits(0).json()["learn"]["place"].clone();
    assert_eq!(place(), Value::Null);
    world.loci("home", ["tree"]).exits(1);
    // The registry's link to the program, which `connect` makes, is no finding.
    world.dir("home/.loci/bin").link("home/.loci/bin/loci", "/usr/bin/true");
    world.loci("home", ["doctor"]).exits(0);
    world.file("home/.loci/agent.md", "---\nid: ann\n---\n");
    assert_eq!(place(), json!(world.path("home")));
    world.loci("home", ["tree"]).exits(0);
}
