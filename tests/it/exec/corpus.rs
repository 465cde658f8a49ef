//! The published shell cases, run for real: with `loci exec` what is refused by reading can't happen.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::skipped;
use crate::cases::shell::{filled, fixture, missing};
use crate::sandbox::Sandbox;

/// How many trees are worked on at once.
const WORKERS: usize = 3;

/// One tree, and its state at the beginning.
struct Tree {
    world: Sandbox,
}

type Shot = BTreeMap<PathBuf, String>;

impl Tree {
    fn new() -> Self {
        let world = fixture();
        let pristine = world.path("pristine");
        assert!(Command::new("cp").arg("-a").arg(world.path("home")).arg(pristine).status().unwrap().success());
        fs::create_dir_all(world.path("tmp")).unwrap();
        Self { world }
    }

    fn restore(&self) {
        let home = self.world.path("home");
        let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(&home).stderr(Stdio::null()).status();
        fs::remove_dir_all(&home).unwrap();
        assert!(Command::new("cp").arg("-a").arg(self.world.path("pristine")).arg(&home).status().unwrap().success());
        let _ = fs::remove_dir_all(self.world.path("state"));
        let _ = fs::remove_dir_all(self.world.path("tmp"));
        fs::create_dir_all(self.world.path("tmp")).unwrap();
    }

    /// Runs a case; what it printed, its exit code, and the files afterwards.
    fn run(&self, case: &Value, jailed: bool) -> (String, Option<i32>, Shot, Shot, String) {
        self.restore();
        let home = self.world.path("home");
        let (command, cwd) = filled(case, &home);
        let mut run = if jailed {
            let mut run = Command::new(env!("CARGO_BIN_EXE_loci"));
            run.args(["exec", "--as", "alice", "--root"]).arg(home.join("repo")).args(["--", "bash", "-c", &command]);
            run
        } else {
            let mut run = Command::new("bash");
            run.args(["-c", &command]);
            run
        };
        run.current_dir(cwd).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let repo = home.join("repo");
        for (name, value) in [("HOME", home.as_path()), ("REPO_ROOT", &repo), ("TMPDIR", &self.world.path("tmp"))] {
            run.env(name, value);
        }
        for (name, value) in [
            ("OWNED_DIR", "owned"),
            ("LANG", "C.UTF-8"),
            ("LC_ALL", "C.UTF-8"),
            ("TERM", "dumb"),
            ("GIT_EDITOR", "true"),
            ("EDITOR", "true"),
            ("PAGER", "cat"),
            ("GIT_PAGER", "cat"),
            ("GIT_AUTHOR_NAME", "alice"),
            ("GIT_AUTHOR_EMAIL", "a@example.invalid"),
            ("GIT_COMMITTER_NAME", "alice"),
            ("GIT_COMMITTER_EMAIL", "a@example.invalid"),
            ("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z"),
            ("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("LOCI_ANCESTORS", "sh"),
        ] {
            run.env(name, value);
        }
        run.env("XDG_STATE_HOME", self.world.path("state"));
        let output = run.stdin(Stdio::null()).process_group(0).output().unwrap();
        let all = self.world.snapshot("home/repo");
        let mail = |path: &Path| path.to_string_lossy().contains(".loci/memory");
        let (mut owned, mut rest) = (Shot::new(), Shot::new());
        for (path, what) in all {
            if mail(&path) || path.starts_with(".git") {
                continue;
            }
            if path.starts_with("owned") {
                owned.insert(path, what)
            } else {
                rest.insert(path, what)
            };
        }
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        (out, output.status.code(), owned, rest, String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn pristine(tree: &Tree) -> Shot {
    let all = tree.world.snapshot("pristine/repo");
    all.into_iter().filter(|(path, _)| path.starts_with("owned")).collect()
}

/// Runs cases on several trees; what is wrong with each.
fn over(cases: &[Value], check: impl Fn(&Tree, &Value) -> Option<String> + Sync) -> Vec<(String, String)> {
    let share = |at: usize| cases.iter().enumerate().filter(move |(nth, _)| nth % WORKERS == at).map(|(_, case)| case);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..WORKERS)
            .map(|at| {
                let check = &check;
                scope.spawn(move || {
                    let tree = Tree::new();
                    share(at).filter_map(|case| Some((case["id"].as_str().unwrap().to_owned(), check(&tree, case)?))).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

fn cases(verdicts: &[&str]) -> Vec<Value> {
    let files = crate::cases::files("shell").into_iter().filter(|(name, _)| name.contains("public"));
    files.flat_map(|(_, cases)| cases).filter(|case| verdicts.contains(&case["verdict"].as_str().unwrap())).collect()
}

#[test]
fn nothing_that_is_refused_can_happen() {
    if !missing().is_empty() {
        return skipped("the tree of the cases can't be made");
    }
    let wrong = over(&cases(&["block", "opaque"]), |tree, case| {
        let (_, _, owned, _, err) = tree.run(case, true);
        let before = pristine(tree);
        (owned != before).then(|| format!("{}: owned/ changed\n{err}", case["command"]))
    });
    assert!(wrong.is_empty(), "{} changed owned/: {wrong:#?}", wrong.len());
}

/// Whether the test can see: without a jail the refused ones do change it.
#[test]
fn without_a_jail_they_do() {
    if !missing().is_empty() {
        return skipped("the tree of the cases can't be made");
    }
    let tree = Tree::new();
    let case = serde_json::json!({ "id": "x", "command": "echo hi > owned/a.txt", "cwd": "repo" });
    assert!(tree.run(&case, false).2 != pristine(&tree));
    assert!(tree.run(&case, true).2 == pristine(&tree));
}
