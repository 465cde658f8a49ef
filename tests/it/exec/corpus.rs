//! The published shell cases, run for real: with `loci exec` what is refused by reading can't happen.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
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
    /// Its state then, with the times of its files.
    before: Vec<(PathBuf, String, i128)>,
}

type Shot = BTreeMap<PathBuf, String>;

impl Tree {
    fn new() -> Self {
        let world = fixture();
        let pristine = world.path("pristine");
        assert!(Command::new("cp").arg("-a").arg(world.path("home")).arg(pristine).status().unwrap().success());
        fs::create_dir_all(world.path("tmp")).unwrap();
        let before = stamped(&world);
        Self { world, before }
    }

    /// Back to the beginning. Most commands only read, and leave nothing to be done.
    fn restore(&self) {
        let home = self.world.path("home");
        let _ = fs::remove_dir_all(self.world.path("state"));
        let _ = fs::remove_dir_all(self.world.path("tmp"));
        fs::create_dir_all(self.world.path("tmp")).unwrap();
        if stamped(&self.world) == self.before {
            return;
        }
        let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(&home).stderr(Stdio::null()).status();
        fs::remove_dir_all(&home).unwrap();
        assert!(Command::new("cp").arg("-a").arg(self.world.path("pristine")).arg(&home).status().unwrap().success());
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

fn stamped(world: &Sandbox) -> Vec<(PathBuf, String, i128)> {
    let time = |path: &Path| {
        let meta = fs::symlink_metadata(world.path("home").join(path)).unwrap();
        i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec())
    };
    world.snapshot("home").into_iter().map(|(path, what)| (path.clone(), what, time(&path))).collect()
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

/// Cases that come out otherwise in a jail, with the reason. None of them may come out the same unnoticed.
const OTHERWISE: &[(&str, &str)] = &[
    ("ln-011", "a second name for an owned file outside would be a way around: the kernel makes none across mounts"),
    ("read-only-083", "`patch` says of a file that it only reads that it is read-only, and goes on"),
];

/// Cases that come out otherwise from one time to the next without a jail as well, with the reason: they are
/// not compared.
const MOODY: &[(&str, &str)] = &[
    ("rsync-007", "it prints how fast it was"),
    ("writer-062", "the trace has process ids and addresses"),
    ("redirect-064", "it writes the time down"),
];

/// What is allowed comes out as it does without a jail: output, exit code, files.
#[test]
fn what_is_allowed_comes_out_the_same() {
    if !missing().is_empty() {
        return skipped("the tree of the cases can't be made");
    }
    let listed = |list: &[(&str, &str)], id: &str| list.iter().any(|(name, _)| *name == id);
    let cases: Vec<Value> = cases(&["allow"]).into_iter().filter(|case| !listed(MOODY, case["id"].as_str().unwrap())).collect();
    assert!(cases.len() > 200);
    let wrong = over(&cases, |tree, case| {
        let free = tree.run(case, false);
        let held = tree.run(case, true);
        let same = (&free.0, free.1, &free.2, &free.3) == (&held.0, held.1, &held.2, &held.3);
        if same != listed(OTHERWISE, case["id"].as_str().unwrap()) {
            return None;
        }
        let files = |shot: &Shot, other: &Shot| {
            shot.iter()
                .filter(|(path, what)| other.get(*path) != Some(what))
                .map(|(path, what)| format!("{path:?} {what:?}"))
                .collect::<Vec<_>>()
        };
        Some(format!(
            "{}\nfree: {:?} {:?}\nheld: {:?} {:?}\nonly free: {:?}\nonly held: {:?}\n{}",
            case["command"],
            free.1,
            free.0,
            held.1,
            held.0,
            [files(&free.2, &held.2), files(&free.3, &held.3)],
            [files(&held.2, &free.2), files(&held.3, &free.3)],
            held.4
        ))
    });
    assert!(
        wrong.is_empty(),
        "{} come out otherwise: {}",
        wrong.len(),
        wrong.iter().map(|(id, why)| format!("\n== {id}: {why}")).collect::<String>()
    );
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
