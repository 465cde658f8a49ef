//! Bodies: templates, `new`, `show`, `init`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::{Run, Sandbox};

/// Runs with a fault (see `sys::fault`).
fn faulty(sandbox: &Sandbox, fault: &str, args: &[&str]) -> Run {
    Run::of(sandbox.command("").args(args).env("LOCI_FAULT", fault), None)
}

/// How many operations that change the disk a run takes.
fn operations(sandbox: &Sandbox, args: &[&str]) -> usize {
    // The folder for locks stays; it is made once.
    sandbox.dir("state/loci/locks");
    let log = sandbox.path("home/log");
    faulty(sandbox, &format!("log:{}", log.display()), args).exits(0);
    let count = fs::read_to_string(&log).unwrap().lines().count();
    fs::remove_file(log).unwrap();
    count
}

/// Everything in the tree that is not the home: what a run may have changed.
fn tree(sandbox: &Sandbox) -> BTreeMap<PathBuf, String> {
    let all = sandbox.snapshot("");
    all.into_iter().filter(|(path, _)| !path.starts_with("home") && !path.starts_with("state")).collect()
}

#[test]
fn a_body_has_the_linked_layout() {
    let sandbox = Sandbox::new();
    sandbox.loci("", ["new", "agents/billing"]).exits(0);
    let links = [
        (".agents/skills", "../.loci/skills"),
        (".claude/agents", "../.loci/agents"),
        (".claude/rules", "../.loci/rules"),
        (".claude/skills", "../.loci/skills"),
    ];
    let body = sandbox.path("agents/billing");
    for (link, text) in links {
        assert_eq!(fs::read_link(body.join(link)).unwrap(), Path::new(text), "{link}");
        let target = body.join(text.trim_start_matches("../"));
        assert_eq!(fs::canonicalize(body.join(link)).unwrap(), fs::canonicalize(target).unwrap(), "{link}");
    }
    let files: Vec<String> = sandbox
        .snapshot("agents/billing")
        .into_iter()
        .filter(|(_, what)| what.starts_with("file"))
        .map(|(path, what)| format!("{} {}", path.display(), what.split(' ').nth(1).unwrap()))
        .collect();
    assert_eq!(
        files,
        [
            ".loci/.gitignore 644",
            ".loci/agent.md 644",
            ".loci/agents/.gitkeep 644",
            ".loci/rules/.gitkeep 644",
            ".loci/skills/.gitkeep 644",
            "AGENTS.md 644",
            "CLAUDE.md 644",
            "GEMINI.md 644",
            "README.md 644"
        ]
    );
    assert_eq!(sandbox.read("agents/billing/CLAUDE.md"), "@AGENTS.md\n");
    assert_eq!(sandbox.read("agents/billing/GEMINI.md"), "@AGENTS.md\n");
    assert_eq!(sandbox.read("agents/billing/.loci/.gitignore"), "memory/\n");
    assert!(sandbox.read("agents/billing/.loci/agent.md").starts_with("---\nid: billing\n"));
    assert_eq!(fs::read_dir(sandbox.path("agents")).unwrap().count(), 1, "something was left beside the body");
}

/// The id stands in the identity files alone, so that a child needs little changed.
#[test]
fn the_id_stands_in_the_identity_files_only() {
    let sandbox = Sandbox::new();
    for template in ["agent", "builder", "custodian", "reviewer", "watcher"] {
        let dir = format!("{template}/x");
        sandbox.loci("", ["new", &dir, "--id", "zq7", "--template", template]).exits(0);
        let with: Vec<PathBuf> = sandbox.snapshot(dir).into_iter().filter(|(_, what)| what.contains("zq7")).map(|(path, _)| path).collect();
        let identity = [".loci/agent.md", ".loci/owner.md"].map(PathBuf::from);
        assert!(!with.is_empty() && with.iter().all(|path| identity.contains(path)), "{with:?}");
    }
}

#[test]
fn dry_run_says_what_would_be_and_does_nothing() {
    let sandbox = Sandbox::new();
    let before = tree(&sandbox);
    let dry = sandbox.loci("", ["new", "a/b", "--dry-run", "--json"]).exits(0).json();
    assert_eq!(tree(&sandbox), before);
    let made = sandbox.loci("", ["new", "a/b", "--json"]).exits(0).json();
    assert_eq!((dry["dry_run"].as_bool(), made["dry_run"].as_bool()), (Some(true), Some(false)));
    assert_eq!(dry["made"], made["made"]);
    for one in made["made"].as_array().unwrap() {
        let path = Path::new(one["path"].as_str().unwrap());
        assert_eq!(one["link"].as_str(), fs::read_link(path).ok().as_ref().and_then(|text| text.to_str()));
        assert!(fs::symlink_metadata(path).is_ok(), "{}", path.display());
    }
    let mut keys: Vec<&String> = made.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["dir", "dry_run", "id", "kept", "made", "schema", "template"]);
}

#[test]
fn what_is_there_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.file("full/x", "x").file("file", "x").dir("empty").link("dangling", "nowhere");
    let before = tree(&sandbox);
    let run = sandbox.loci("", ["new", "full"]).exits(2);
    assert!(run.stderr.contains("full: it is not empty") && run.stderr.contains("hint: loci new full --into"), "{}", run.stderr);
    // What was asked for is not dropped from the hint.
    let run = sandbox.loci("", ["new", "full", "--template", "custodian", "--set", "description=Keeps it"]).exits(2);
    assert!(run.stderr.contains("hint: loci new full --template custodian --set 'description=Keeps it' --into"), "{}", run.stderr);
    sandbox.loci("", ["new", "file"]).exits(2);
    sandbox.loci("", ["new", "dangling"]).exits(2);
    sandbox.loci("", ["new", "file/below"]).exits(2);
    sandbox.loci("", ["new", "file", "--into"]).exits(2);
    sandbox.loci("", ["new", "nowhere/../up"]).exits(2);
    let run = sandbox.loci("empty", ["new", "."]).exits(2);
    assert!(run.stderr.contains("hint: loci new . --into"), "{}", run.stderr);
    assert_eq!(tree(&sandbox), before);
    // An empty directory is as good as none, and keeps its mode.
    fs::set_permissions(sandbox.path("empty"), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    sandbox.loci("", ["new", "empty"]).exits(0);
    assert_eq!(sandbox.snapshot("empty")[Path::new("")], "dir 700");
    assert!(sandbox.path("empty/.loci/agent.md").is_file());
}

#[test]
fn a_name_that_is_no_id_is_refused_with_one_that_is() {
    let sandbox = Sandbox::new();
    let before = tree(&sandbox);
    let run = sandbox.loci("", ["new", "Big Desk"]).exits(2);
    assert!(run.stderr.contains("hint: loci new 'Big Desk' --id big-desk"), "{}", run.stderr);
    for id in ["", "-a", "A", "a/b", "..", "a\nb", "é"] {
        let error = sandbox.loci("", ["new", "x", "--json", &format!("--id={id}")]).exits(2).json();
        assert_eq!(error["error"]["kind"], "name", "{id:?}");
    }
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn into_adds_what_is_missing_and_nothing_else() {
    let sandbox = Sandbox::new();
    sandbox
        .file("repo/AGENTS.md", "mine")
        .file("repo/CLAUDE.md", "mine too")
        .file("repo/.claude/skills/own/SKILL.md", "real")
        .link("repo/.agents", "elsewhere")
        .dir("repo/elsewhere")
        .file("repo/.loci/rules/style.md", "x");
    let before = tree(&sandbox);
    let dry = sandbox.loci("", ["new", "repo", "--into", "--dry-run", "--json"]).exits(0).json();
    assert_eq!(tree(&sandbox), before);
    let run = sandbox.loci("", ["new", "repo", "--into", "--json"]).exits(0).json();
    assert_eq!(run["made"], dry["made"]);
    let after = tree(&sandbox);
    for (path, what) in &before {
        assert_eq!(after.get(path), Some(what), "{}", path.display());
    }
    let top = format!("{}/", sandbox.path("repo").display());
    let made: Vec<&str> =
        run["made"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap().strip_prefix(&top).unwrap()).collect();
    assert_eq!(
        made,
        [
            ".claude/agents",
            ".claude/rules",
            ".loci/.gitignore",
            ".loci/agent.md",
            ".loci/agents/.gitkeep",
            ".loci/skills/.gitkeep",
            "GEMINI.md",
            "README.md"
        ]
    );
    let notes: BTreeMap<&str, Option<&str>> = run["kept"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["path"].as_str().unwrap().strip_prefix(&top).unwrap(), one["note"].as_str()))
        .collect();
    assert_eq!(notes.keys().copied().collect::<Vec<_>>(), [".agents", ".claude/skills", "AGENTS.md", "CLAUDE.md"]);
    assert_eq!(notes["AGENTS.md"], None);
    assert!(notes["CLAUDE.md"].unwrap().contains("@AGENTS.md"));
    assert!(notes[".claude/skills"].unwrap().contains("no link"));
    assert!(notes[".agents"].unwrap().contains("link"));
    assert!(sandbox.snapshot("repo/elsewhere").len() == 1, "something went through a link");
    // Once more: nothing is missing.
    let again = sandbox.loci("", ["new", "repo", "--into", "--json"]).exits(0).json();
    assert_eq!(again["made"].as_array().unwrap().len(), 0);
    assert_eq!(tree(&sandbox), after);
}

#[test]
fn odd_places_are_refused_in_one_line() {
    use std::os::unix::ffi::OsStrExt as _;
    let sandbox = Sandbox::new();
    nix::unistd::mkfifo(&sandbox.path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    sandbox.link("loop", "loop");
    let before = tree(&sandbox);
    let long = "d/".repeat(2_500) + "x";
    let wide = "w".repeat(300);
    let cases = [long.as_bytes(), wide.as_bytes(), b"pipe", b"pipe/x", b"loop", b"loop/x", b"-x\n\xff", b"/", b"\xff/../x"];
    for dir in cases.map(std::ffi::OsStr::from_bytes) {
        let args = [std::ffi::OsStr::new("new"), "--id".as_ref(), "x".as_ref(), "--".as_ref(), dir];
        // With an id of its own, an odd name is just a name.
        if dir.as_bytes() == b"-x\n\xff" {
            sandbox.loci("", args).exits(0);
            fs::remove_dir_all(sandbox.path(dir)).unwrap();
            continue;
        }
        let run = sandbox.loci("", args).exits(2);
        assert!(run.stderr.starts_with("error: failed to "), "{dir:?}: {}", run.stderr);
        assert_eq!(tree(&sandbox), before, "{dir:?}");
    }
}

#[test]
fn an_identity_is_not_put_behind_a_link() {
    let sandbox = Sandbox::new();
    sandbox.dir("elsewhere").link("linked/.loci", "../elsewhere").file("barred/.loci", "a file").link("loop/.loci", ".loci");
    let before = tree(&sandbox);
    for dir in ["linked", "barred", "loop"] {
        let run = sandbox.loci("", ["new", dir, "--into"]).exits(2);
        assert!(run.stderr.contains(&format!("{dir}/.loci/agent.md)")), "{}", run.stderr);
    }
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn copies_where_links_are_not_wanted() {
    let sandbox = Sandbox::new();
    sandbox.loci("", ["new", "c", "--template", "custodian", "--copy"]).exits(0);
    assert!(sandbox.snapshot("c").values().all(|what| !what.starts_with("link")));
    let skill = sandbox.read("c/.loci/skills/inbox/SKILL.md");
    for folder in [".claude", ".agents"] {
        assert_eq!(sandbox.read(format!("c/{folder}/skills/inbox/SKILL.md")), skill);
    }
    assert!(sandbox.path("c/.claude/rules").is_dir());
}

#[test]
fn killed_anywhere_there_is_no_body_or_a_whole_one() {
    let sandbox = Sandbox::new();
    let count = operations(&sandbox, &["new", "whole/x"]);
    let whole = sandbox.snapshot("whole/x");
    assert!(count > 20, "{count}");
    for n in 1..=count {
        let place = format!("k{n}");
        let run = faulty(&sandbox, &format!("kill:{n}"), &["new", &format!("{place}/x")]);
        assert_eq!(run.code, None, "operation {n} did not come");
        let made = sandbox.path(format!("{place}/x")).exists();
        if made {
            assert_eq!(sandbox.snapshot(format!("{place}/x")), whole, "killed after operation {n}");
        }
        // The next run clears away what is left, and says so.
        let name = if made { "y" } else { "x" };
        let next = sandbox.loci("", ["new", &format!("{place}/{name}")]).exits(0);
        let mut names: Vec<String> =
            fs::read_dir(sandbox.path(&place)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, if made { vec!["x", "y"] } else { vec!["x"] }, "killed after operation {n}");
        // The first says in the state folder that a body is made here; the second makes the folder it is built in.
        let left = n > 2 && !made;
        assert_eq!(next.stderr.contains("which a killed run left behind"), left, "killed after operation {n}: {}", next.stderr);
        fs::remove_dir_all(sandbox.path(&place)).unwrap();
    }
}

#[test]
fn what_a_living_run_builds_is_not_cleared_away() {
    let sandbox = Sandbox::new();
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let start = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_owned();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().trim().to_owned();
    let pid = std::process::id();
    let living = format!(".loci-new-{pid}-{start}-{boot}");
    let dead = format!(".loci-new-{pid}-1-{boot}");
    sandbox.dir(&living).dir(&dead).file(format!("{dead}/sub/f"), "x").file(".loci-new-notes", "mine").link(".loci-new-1-1-b", "home");
    sandbox.loci("", ["new", "x"]).exits(0);
    assert!(sandbox.path(&living).is_dir() && !sandbox.path(&dead).exists());
    assert!(sandbox.path(".loci-new-notes").is_file() && sandbox.path(".loci-new-1-1-b").is_symlink() && sandbox.path("home").is_dir());
}

#[test]
fn a_disk_that_refuses_leaves_nothing() {
    for args in [&["new", "deep/er/x"][..], &["new", "there"][..], &["new", "repo", "--into"][..]] {
        let sandbox = Sandbox::new();
        let prepare = |sandbox: &Sandbox| {
            for name in ["deep", "there", "repo"] {
                let _ = fs::remove_dir_all(sandbox.path(name));
            }
            sandbox.dir("there").file("repo/README.md", "mine").dir("repo/.loci");
        };
        prepare(&sandbox);
        let count = operations(&sandbox, args);
        for errno in [28, 5, 13] {
            for n in 1..=count {
                prepare(&sandbox);
                let before = tree(&sandbox);
                let run = faulty(&sandbox, &format!("fail:{n}:{errno}"), args).exits(2);
                assert!(run.stderr.starts_with("error: failed to "), "{}", run.stderr);
                assert!(run.stderr.contains(&format!("os error {errno}")), "{n}: {}", run.stderr);
                assert_eq!(tree(&sandbox), before, "{args:?} fail:{n}:{errno}");
            }
        }
    }
}

/// Killed in the middle of `--into`, one more run completes it; no file is ever torn or changed.
#[test]
fn an_interrupted_into_is_completed_by_the_next() {
    let sandbox = Sandbox::new();
    let args = ["new", "repo", "--into"];
    sandbox.file("repo/README.md", "mine");
    let count = operations(&sandbox, &args);
    let whole = sandbox.snapshot("repo");
    for n in 1..=count {
        fs::remove_dir_all(sandbox.path("repo")).unwrap();
        sandbox.file("repo/README.md", "mine");
        assert_eq!(faulty(&sandbox, &format!("kill:{n}"), &args).code, None);
        for (path, what) in sandbox.snapshot("repo") {
            let aside = path.to_string_lossy().starts_with(".loci-new-");
            assert!(aside || whole.get(&path) == Some(&what), "{}: {what}", path.display());
        }
        sandbox.loci("", args).exits(0);
        assert_eq!(sandbox.snapshot("repo"), whole, "killed after operation {n}");
    }
}

#[test]
fn of_two_at_once_one_wins() {
    let sandbox = Sandbox::new();
    for round in 0..8 {
        let dir = format!("race{round}/x");
        let mut children: Vec<_> = (0..4)
            .map(|_| {
                let mut command = sandbox.command("");
                command.args(["new", &dir, "--id", &format!("x{round}")]);
                command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
            })
            .collect();
        let codes: Vec<Option<i32>> = children.iter_mut().map(|child| child.wait().unwrap().code()).collect();
        assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
        assert!(codes.iter().all(|code| matches!(code, Some(0 | 2))), "{codes:?}");
        assert_eq!(fs::read_dir(sandbox.path(format!("race{round}"))).unwrap().count(), 1);
        assert!(sandbox.path(&dir).join("README.md").is_file());
    }
}

#[test]
fn an_id_names_one_agent() {
    let sandbox = Sandbox::new();
    // Neighbours, where nothing bounds a search.
    sandbox.loci("", ["new", "plain/a", "--id", "one"]).exits(0);
    let before = tree(&sandbox);
    let error = sandbox.loci("", ["new", "plain/b", "--id", "one", "--json"]).exits(2).json();
    let (message, path) = (error["error"]["message"].as_str().unwrap(), error["error"]["path"].as_str().unwrap());
    assert!(message.contains("plain/a") && message.contains("plain/b"), "{message}");
    assert_eq!((path, error["error"]["line"].as_u64()), (sandbox.path("plain/a/.loci/agent.md").to_str().unwrap(), Some(2)));
    assert_eq!(error["error"]["hint"], format!("loci new {} --id one-2", sandbox.path("plain/b").display()));
    assert_eq!(tree(&sandbox), before);
    // Anywhere in a repository.
    sandbox.dir("repo/.git").dir("repo/far/away");
    sandbox.loci("repo", ["new", "deep/down/x"]).exits(0);
    sandbox.loci("repo/far", ["new", "away/x"]).exits(2);
    sandbox.loci("repo/far", ["new", "away/y"]).exits(0);
}

#[test]
fn an_agent_is_made_where_it_is_found() {
    let sandbox = Sandbox::new();
    sandbox.dir("repo/.git").dir("repo/.claude/worktrees/one/.git");
    for (dir, hint) in
        [("v/.loci/x", "repo/v/x"), ("v/.claude/deep/x", "repo/v/x"), (".git/x", "repo/x"), ("v/node_modules/x", "repo/v/x"), (".loci", "")]
    {
        let error = sandbox.loci("repo", ["new", dir, "--id", "x", "--json"]).exits(2).json();
        assert!(error["error"]["message"].as_str().unwrap().contains("where nobody looks for agents"), "{error}");
        let said = error["error"]["hint"].as_str().unwrap_or_default();
        assert!(hint.is_empty() || said == format!("loci new {}", sandbox.path(hint).display()), "{error}");
        assert!(!sandbox.path("repo").join(dir).exists());
    }
    // A worktree that a harness keeps there is a repository of its own.
    sandbox.loci("repo/.claude/worktrees/one", ["new", "agents/y"]).exits(0);
}

#[test]
fn a_body_that_is_there_keeps_its_id() {
    let sandbox = Sandbox::new();
    sandbox.file("x/.loci/agent.md", "---\ndescription: d\nid: real\n---\n");
    let run = sandbox.loci("", ["new", "x", "--into", "--id", "other"]).exits(2);
    assert!(run.stderr.contains("it is real already") && run.stderr.contains("agent.md:3)"), "{}", run.stderr);
    let made = sandbox.loci("", ["new", "x", "--into", "--json"]).exits(0).json();
    assert_eq!(made["id"], "real");
    sandbox.file("y/.loci/agent.md", "---\nid: [a]\n---\n");
    let run = sandbox.loci("", ["new", "y", "--into"]).exits(2);
    assert!(run.stderr.contains("agent.md:2)"), "{}", run.stderr);
    assert_eq!(sandbox.snapshot("y").len(), 3);
}

/// Runs as an agent: in a session of its own.
fn as_agent(sandbox: &Sandbox, agent: &str, body: &str, args: &[&str]) -> Run {
    let mut command = sandbox.command(body);
    command.args(args).env("LOCI_AGENT", agent).env("LOCI_BODY", sandbox.path(body));
    Run::of(&mut command, None)
}

#[test]
fn an_agent_makes_agents_where_it_may_write() {
    let sandbox = Sandbox::new();
    sandbox.dir(".git");
    sandbox.loci("", ["new", "alice"]).exits(0);
    sandbox.loci("", ["new", "bob", "--template", "custodian"]).exits(0);
    as_agent(&sandbox, "alice", "alice", &["new", "helper"]).exits(0);
    let before = tree(&sandbox);
    let run = as_agent(&sandbox, "alice", "alice", &["new", "../bob/mine", "--json"]).exits(1);
    assert_eq!((run.json()["owner"].as_str(), run.json()["why"].as_str()), (Some("bob"), Some("owned")));
    assert!(run.stderr.contains("refused:") && run.stderr.contains("bob/.loci/owner.md"), "{}", run.stderr);
    as_agent(&sandbox, "alice", "alice", &["new", "../bob", "--into", "--template", "agent"]).exits(0);
    assert_eq!(tree(&sandbox), before, "nothing was missing, so nothing was asked");
    // What only a person does becomes a request.
    let run = as_agent(&sandbox, "alice", "alice", &["new", "mine", "--template", "custodian", "--json"]).exits(1);
    assert!(run.json()["request"].is_string(), "{}", run.stdout);
    assert!(!sandbox.path("alice/mine").exists());
    let memory = |path: &Path| path.starts_with("alice/.loci/memory");
    assert!(tree(&sandbox).into_iter().filter(|(path, _)| !memory(path)).eq(before), "more was written than that the request was sent");
    let mail: Vec<String> = sandbox.snapshot("home/.loci/memory/inbox").into_values().collect();
    let command = format!("loci new {} --template custodian", sandbox.path("alice/mine").display());
    assert!(mail.iter().any(|text| text.contains(&command)), "{mail:?}");
    // A template with a hook in it, too.
    sandbox.exec("alice/t/_loci/hooks/x.sh", "#!/bin/sh\n");
    as_agent(&sandbox, "alice", "alice", &["new", "hooked", "--template", "./t"]).exits(1);
    assert!(!sandbox.path("alice/hooked").exists());
    sandbox.loci("alice", ["new", "hooked", "--template", "./t"]).exits(0);
}

#[test]
fn a_template_writes_nothing_for_an_agent_that_a_tool_of_it_may_not_write() {
    let sandbox = Sandbox::new();
    sandbox.dir(".git").loci("", ["new", "alice"]).exits(0);
    for (at, rel) in [
        ".gemini/.env",
        ".qwen/.env",
        ".opencode/tools/x.ts",
        ".copilot/config.json",
        ".copilot/hooks/x.json",
        "sub/.codex/.env",
        "sub/.loci/owner.md",
        ".loci/memory/x.md",
    ]
    .iter()
    .enumerate()
    {
        let (template, dir) = (format!("alice/t{at}"), format!("made{at}"));
        sandbox.file(Path::new(&template).join(rel), "---\nowner: x\n---\n");
        let run = as_agent(&sandbox, "alice", "alice", &["new", &dir, "--template", &format!("./t{at}")]).exits(1);
        // What a person would be shown is not what they would get: it can't be asked for.
        let why = "it can't be asked for: its template is a folder that an agent may change";
        assert!(run.stderr.contains(why) && !sandbox.path("alice").join(&dir).exists(), "{rel}: {run:?}");
        sandbox.loci("alice", ["new", &dir, "--template", &format!("./t{at}")]).exits(0);
        // Into one that is there it is no other way.
        let into = as_agent(&sandbox, "alice", "alice", &["new", "helper", "--into", "--template", &format!("./t{at}")]).exits(1);
        assert!(into.stderr.contains(why), "{rel}: {into:?}");
    }
    as_agent(&sandbox, "alice", "alice", &["new", "plain", "--template", "agent"]).exits(0);
}
