//! `shell-*.jsonl`: commands whose verdict was established by running them, through the function that
//! `loci check --shell` and the gate use. They are read, not run, so one tree serves all.

use std::fs;
use std::sync::LazyLock;
use std::time::Duration;

use loci::custody::asker;
use loci::custody::shell::{Input, Words};
use loci::custody::world::Machine;
use loci::custody::{Deeds, Verdict};
use serde_json::Value;

use super::filetool::surroundings;
pub(crate) use super::forest::{environment, filled, fixture, missing};
use crate::sandbox::Sandbox;

/// Cases that come out wrong, with the reason. None of them may come out right unnoticed.
const REASONS: &[(&str, &str)] = &[
    ("own-rm-025", MACHINERY),
    ("own-rsync-002", MACHINERY),
    ("own-rsync-006", MACHINERY),
    ("own-git-078", CLAIMS),
    ("o3-git-020", CLAIMS),
    ("o5-coreutils-066", CLAIMS),
    ("o5-archives-018", CLAIMS),
    ("o5-git-002", CLAIMS),
    ("o5-git-040", CLAIMS),
    ("o5-git-107", MACHINERY),
    ("o5-side-078", LITERAL),
    ("o5-side-100", LITERAL),
    ("o5-others-077", MACHINERY),
];

/// The case is about `owned/` alone.
const MACHINERY: &str = "it takes away or changes the asker's own `.loci`, which only a person does";
const CLAIMS: &str = "it brings an owner file into a place: by a copy into what is there, by git's index, by an archive";
const LITERAL: &str = "a list as the first word without brackets, and a division that is called by name, are not read";

/// How long git may take for one case: what is scored is the reading, on a busy machine as well.
const PATIENCE: Duration = Duration::from_secs(120);

/// The tree of the cases, made once for a run.
static TREE: LazyLock<Sandbox> = LazyLock::new(fixture);

/// The verdict on one case, in the words of the case files, with what decided it.
fn verdict(world: &Sandbox, case: &Value) -> (&'static str, String) {
    let home = world.path("home");
    let (command, cwd) = filled(case, &home);
    let env = environment(&home);
    let mut deeds = Deeds::default();
    deeds.read(&Input { command: Words::Script(&command), cwd: &cwd, env: &env, home: Some(&home) }, &Machine::patient(PATIENCE));
    let (asker, note) = asker::from_launch(&home.join("repo"));
    assert_eq!((asker.name(), note), ("alice", None));
    let ruling = deeds.rule(&asker, &surroundings(world));
    let grounds = ruling.acts.iter().filter(|act| act.verdict == ruling.verdict).take(2);
    let grounds = grounds.map(|act| format!("{:?} {} ({}) by {}", act.act.kind, act.path().display(), act.why.word(), act.by));
    let word = match ruling.verdict {
        Verdict::Refuse => "block",
        Verdict::Unknown => "unknown",
        Verdict::Allow => "allow",
    };
    (word, grounds.collect::<Vec<_>>().join("; "))
}

/// What was right of what was asked.
#[derive(Default)]
struct Score {
    right: usize,
    all: usize,
}

impl Score {
    fn count(&mut self, right: bool) {
        self.all += 1;
        self.right += usize::from(right);
    }

    fn percent(&self) -> f64 {
        if self.all == 0 {
            100.0
        } else {
            100.0 * f64::from(u32::try_from(self.right).unwrap()) / f64::from(u32::try_from(self.all).unwrap())
        }
    }
}

/// Reads all cases of a file; what came out wrong, and whether the bar is met.
#[expect(clippy::print_stderr, reason = "the score is what people read the test for")]
fn score(world: &Sandbox, name: &str, cases: &[Value]) -> (Vec<(String, String)>, bool) {
    let (mut recall, mut clean, mut decidable, mut opaque) = (Score::default(), Score::default(), Score::default(), Score::default());
    let mut wrong = Vec::new();
    for case in cases.iter().filter(|case| case["soft"] != true) {
        let (id, wanted) = (case["id"].as_str().unwrap(), case["verdict"].as_str().unwrap());
        let (came, grounds) = verdict(world, case);
        let right = match wanted {
            "block" => came == "block",
            "allow" => came != "block",
            _ => {
                let by = case["resolvable_by"].as_str().unwrap_or_default();
                let known = ["git", "archive", "patch"].iter().any(|word| by.starts_with(word));
                let right = case["truth"] == came || (came == "unknown" && !known);
                if known {
                    decidable.count(right);
                }
                right
            }
        };
        match wanted {
            "block" => recall.count(right),
            "allow" => clean.count(right),
            _ => opaque.count(right),
        }
        if !right {
            wrong
                .push((id.to_owned(), format!("{id}: wanted {wanted} {}, came {came}: {}\n    {grounds}", case["truth"], case["command"])));
        }
    }
    let alarms = 100.0 - clean.percent();
    eprintln!(
        "{name}: recall {}/{} = {:.2} %, false alarms {}/{} = {alarms:.2} %, opaque {}/{} (git, archive, patch {}/{})",
        recall.right,
        recall.all,
        recall.percent(),
        clean.all - clean.right,
        clean.all,
        opaque.right,
        opaque.all,
        decidable.right,
        decidable.all
    );
    // The bar holds for what is not on the list; the scores above leave nothing out.
    let new = |word: &str| wrong.iter().filter(|(id, text)| !listed_id(id) && text.contains(&format!("wanted {word}"))).count();
    let share = |count: usize, all: usize| if all == 0 { 0.0 } else { 100.0 * count as f64 / all as f64 };
    let met = share(new("block"), recall.all) <= 1.0 && share(new("allow"), clean.all) <= 0.5 && decidable.percent() >= 90.0;
    (wrong, met)
}

fn listed_id(id: &str) -> bool {
    REASONS.iter().any(|(known, _)| *known == id)
}

fn listed(wrong: &[(String, String)]) -> String {
    wrong.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn shell_cases() {
    if !missing().is_empty() {
        eprintln!("not run: the tree of the cases needs {}", missing().join(", "));
        return;
    }
    let world = &*TREE;
    let before = world.snapshot("home");
    let files = super::files("shell");
    assert!(!files.is_empty());
    let mut wrong = Vec::new();
    let mut under = Vec::new();
    for (name, cases) in &files {
        let (more, met) = score(world, name, cases);
        wrong.extend(more);
        under.extend((!met).then_some(name));
    }
    assert!(before == world.snapshot("home"), "reading changed the tree");
    let new: Vec<(String, String)> = wrong.iter().filter(|(id, _)| !listed_id(id)).cloned().collect();
    assert!(new.is_empty(), "{} wrong\n{}", new.len(), listed(&new));
    assert!(under.is_empty(), "under the bar: {under:?}");
    let here = |id: &str| files.iter().flat_map(|(_, cases)| cases).any(|case| case["id"] == id);
    for (id, why) in REASONS {
        assert!(!here(id) || wrong.iter().any(|(wrong, _)| wrong == id), "{id} comes out right now: take it from the list ({why})");
    }
}

/// Whether the runner can see: with the owner file gone nothing that is bob's is refused.
#[test]
fn the_runner_can_see() {
    if !missing().is_empty() {
        eprintln!("not run: the tree of the cases needs {}", missing().join(", "));
        return;
    }
    let world = fixture();
    let case = serde_json::json!({ "command": "echo x > owned/a.txt", "cwd": "repo" });
    assert_eq!(verdict(&world, &case).0, "block");
    fs::remove_file(world.path("home/repo/owned/.loci/owner.md")).unwrap();
    assert_eq!(verdict(&world, &case).0, "allow");
}
