//! The published tree that the shell cases are run in, with its history, archives, patches and stashes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::sandbox::Sandbox;

/// What the tree is made with.
const PROGRAMS: [&str; 4] = ["git", "tar", "zip", "gzip"];

/// Whether a program is there.
fn there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// The programs that the tree can't be made without, where they are missing.
pub(crate) fn missing() -> Vec<&'static str> {
    PROGRAMS.into_iter().filter(|program| !there(program)).collect()
}

/// The published tree, with its history, archives, patches and stashes.
pub(crate) fn fixture() -> Sandbox {
    let world = Sandbox::new();
    let repo = world.path("home/repo");
    let put = |path: &str, text: &str| {
        world.file(Path::new("home/repo").join(path), text);
    };
    for (path, text) in [
        ("owned/.loci/owner.md", "---\nowner: bob\n---\n"),
        ("owned/.loci/agent.md", "---\nid: bob\n---\n"),
        (".loci/agent.md", "---\nid: alice\n---\n"),
        ("owned/a.txt", "alpha\nbeta\ngamma\n"),
        ("owned/b.txt", "one 1\ntwo 2\nthree 3\n"),
        ("owned/sub/c.txt", "sub c\n"),
        ("owned/src/lib.rs", "pub fn lib() -> u32 { 1 }\n// TODO: bob\n"),
        ("owned/data.json", "{\"name\":\"owned\",\"items\":[{\"n\":1},{\"n\":5}]}\n"),
        ("free/x.txt", "x1\nx2\n"),
        ("free/y.txt", "y1\n"),
        ("free/d/z.txt", "z\n"),
        ("free/list-owned.txt", "owned/a.txt\nowned/b.txt\n"),
        ("free/list-free.txt", "free/x.txt\nfree/y.txt\n"),
        ("free/rename.sed", "s/alpha/ALPHA/w owned/sub/sed-out.txt\n"),
        ("free/writes-owned.py", "open('owned/a.txt','a').write('p\\n')\n"),
        ("free/reads-owned.py", "print(open('owned/a.txt').read())\n"),
        ("free/writes-owned.js", "require('fs').appendFileSync('owned/a.txt','p\\n')\n"),
        ("free/env.sh", "OUT=owned/a.txt\n"),
        ("owned-notes.md", "# not owned: sibling whose name has the owned prefix\n"),
        ("owned2/q.txt", "q\n"),
        ("src/main.rs", "fn main() { println!(\"a -> b\"); }\n"),
        ("README.md", "# demo\nsee owned/a.txt\n"),
        ("notes.txt", "n1\nn2\n"),
        ("Makefile", "build:\n\techo built >> owned/a.txt\ncheck:\n\twc -l owned/a.txt\nreport:\n\twc -l owned/a.txt > free/report.txt\n"),
        (
            "package.json",
            "{\"name\":\"demo\",\"version\":\"1.0.0\",\"scripts\":{\"gen\":\"node free/writes-owned.js\",\"lint\":\"node -e \\\"1\\\"\"}}\n",
        ),
        ("Cargo.toml", "[package]\nname=\"demo\"\nversion=\"0.1.0\"\nedition=\"2021\"\n"),
        (".gitignore", "target/\n*.tmp\n"),
    ] {
        put(path, text);
    }
    world.exec("home/repo/free/writes-owned.sh", "#!/bin/sh\necho patched >> owned/a.txt\n");
    world.exec("home/repo/free/reads-owned.sh", "#!/bin/sh\nwc -l owned/a.txt\n");
    world.link("home/repo/link-to-owned", repo.join("owned"));
    world.link("home/repo/owned/link-out", "../free");
    world.link("home/repo/link-a.txt", "owned/a.txt");
    let home = world.path("home");
    let out = |program: &str, dir: &Path, words: &[&str]| run(program, &home, dir, words);
    let git = |words: &str| drop(out("git", &repo, &words.split(' ').collect::<Vec<_>>()));
    git("init -q -b main");
    for setting in ["commit.gpgsign false", "core.fsmonitor false", "maintenance.auto false", "advice.detachedHead false"] {
        git(&format!("config {setting}"));
    }
    git("add -A");
    git("commit -q -m base");
    git("checkout -q -b touch-owned");
    put("owned/a.txt", "alpha\nBRANCH\ngamma\n");
    git("commit -qam owned");
    git("checkout -q main");
    git("checkout -q -b touch-free");
    put("free/x.txt", "x1\nBRANCH\n");
    git("commit -qam free");
    git("checkout -q main");
    put("free/y.txt", "y1\ny2\n");
    git("commit -qam second");
    put("free/owned.patch", &out("git", &repo, &["diff", "main...touch-owned"]));
    put("free/free.patch", &out("git", &repo, &["diff", "main...touch-free"]));
    put("free/owned.mbox", &out("git", &repo, &["format-patch", "--stdout", "main..touch-owned"]));
    let stage = world.path("stage");
    world
        .file("stage/owned/a.txt", "from archive\n")
        .file("stage/owned/new-from-tar.txt", "new\n")
        .file("stage/free/x.txt", "from archive\n");
    let free = repo.join("free");
    let name = |name: &str| free.join(name).to_str().unwrap().to_owned();
    out("tar", &stage, &["cf", &name("owned.tar"), "owned"]);
    out("tar", &stage, &["czf", &name("free.tgz"), "free"]);
    out("zip", &stage, &["-qr", &name("owned.zip"), "owned"]);
    out("zip", &stage, &["-qr", &name("free.zip"), "free"]);
    out("tar", &stage.join("owned"), &["cf", &name("flat.tar"), "a.txt"]);
    out("gzip", &free, &["-k", "y.txt"]);
    put("owned/sub/c.txt", "stashed\n");
    git("stash push -q -m owned");
    put("notes.txt", "stashed\n");
    git("stash push -q -m notes");
    for (path, text) in [
        ("owned/b.txt", "one 1\ntwo 2\nthree 3\nDIRTY 4\n"),
        ("notes.txt", "n1\nn2\nDIRTY\n"),
        ("owned/untracked.txt", "untracked\n"),
        ("free/untracked.txt", "untracked\n"),
        ("owned/ignored.tmp", "ignored\n"),
    ] {
        put(path, text);
    }
    age(&repo);
    git("update-index -q --refresh");
    world
}

/// Runs a program that makes the tree, with nothing of the outside, and gives what it printed.
fn run(program: &str, home: &Path, dir: &Path, words: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(words).current_dir(dir).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", home).env("LC_ALL", "C.UTF-8").env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_EDITOR", "true");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "alice").env(format!("GIT_{who}_EMAIL"), "alice@example.invalid");
        command.env(format!("GIT_{who}_DATE"), "2026-01-01T00:00:00Z");
    }
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    // `update-index --refresh` says by its exit code that files differ.
    assert!(output.status.success() || words.contains(&"update-index"), "{program} {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Gives everything one old time, as the cases were run.
fn age(repo: &Path) {
    let ours = |path: &PathBuf| !path.strip_prefix(repo).unwrap().starts_with(".git");
    let paths = walkdir::WalkDir::new(repo).contents_first(true).into_iter().map(|entry| entry.unwrap().into_path()).filter(ours);
    assert!(Command::new("touch").args(["-h", "-d", "@1600000000"]).args(paths).status().unwrap().success());
}

/// The environment that the cases were run in.
pub(crate) fn environment(home: &Path) -> BTreeMap<String, String> {
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    [
        ("HOME", text(home)),
        ("PATH", std::env::var("PATH").unwrap_or_default()),
        ("REPO_ROOT", text(&home.join("repo"))),
        ("OWNED_DIR", "owned".to_owned()),
        ("LANG", "C.UTF-8".to_owned()),
        ("LC_ALL", "C.UTF-8".to_owned()),
        ("TERM", "dumb".to_owned()),
        ("GIT_EDITOR", "true".to_owned()),
        ("EDITOR", "true".to_owned()),
        ("PAGER", "cat".to_owned()),
        ("GIT_PAGER", "cat".to_owned()),
        ("TMPDIR", text(&home.with_file_name("tmp"))),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

/// The command and the directory of a case, in a tree.
pub(crate) fn filled(case: &Value, home: &Path) -> (String, PathBuf) {
    let repo = home.join("repo");
    let command = case["command"].as_str().unwrap();
    let command = command.replace("{REPO}", repo.to_str().unwrap()).replace("{HOME}", home.to_str().unwrap());
    (command, home.join(case["cwd"].as_str().unwrap_or("repo")))
}
