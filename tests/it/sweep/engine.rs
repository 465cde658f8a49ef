//! What is done with a row: the faults, and what has to hold after each.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::seen::{
    Saved, Tree, content, differences, is_leftover, is_transient, is_under_way, lines, names, open, part, quiet, same, strays, tree,
    without_empty,
};
use crate::sandbox::{Run, Sandbox};

/// What has to hold of a world; why it does not.
type Check = fn(&Sandbox) -> Result<(), String>;

/// One verb in one world.
#[derive(Clone)]
pub(super) struct Row {
    /// The verb as the parser knows it.
    pub(super) verb: &'static str,
    /// What is special about this row.
    pub(super) note: &'static str,
    /// Makes the world.
    pub(super) world: fn() -> Sandbox,
    /// Where the program runs.
    pub(super) cwd: &'static str,
    /// The words of the command.
    pub(super) args: fn(&Sandbox) -> Vec<String>,
    /// What comes on standard input.
    pub(super) stdin: Option<fn(&Sandbox) -> String>,
    /// More of the environment.
    pub(super) env: &'static [(&'static str, &'static str)],
    /// The exit code of an undisturbed run.
    pub(super) code: i32,
    /// The exit code of one more run where it is done already.
    pub(super) again: i32,
    /// Why what lies between the old tree and the new one may be seen although no journal is open, each file being whole.
    pub(super) between: Option<&'static str>,
    /// What counts, where not all of the world does.
    pub(super) below: &'static str,
    /// The words of the next command, and its exit code, where it is not the same once more: after it the tree is the old
    /// one or the new one.
    pub(super) next: Option<(&'static str, i32)>,
    /// What has to hold in the end, where that depends on the moment.
    pub(super) end: Option<Check>,
}

impl Row {
    pub(super) fn new(verb: &'static str, world: fn() -> Sandbox, cwd: &'static str, args: fn(&Sandbox) -> Vec<String>) -> Self {
        Self { verb, note: "", world, cwd, args, stdin: None, env: &[], code: 0, again: 0, between: None, below: "", next: None, end: None }
    }

    /// Whether it starts programs, which go on where it is killed.
    fn starts(&self) -> bool {
        self.end.is_some() || ["run", "exec"].contains(&self.verb)
    }
}

/// The words of a line.
pub(super) fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// What came of a row.
#[derive(Debug, Default)]
struct Counts {
    operations: usize,
    /// Failures that ended the run with exit 2, and those that did not matter to what was asked for.
    refused: usize,
    done: usize,
    /// Kills after which the old tree stood there, the new one, and a whole one between.
    old: usize,
    new: usize,
    between: usize,
}

/// A row under way.
struct Trial<'a> {
    row: &'a Row,
    world: Sandbox,
    saved: Saved,
    args: Vec<String>,
    /// Each operation of an undisturbed run: its name and its path.
    operations: Vec<(String, PathBuf)>,
    old: Tree,
    new: Tree,
    /// The lines of logs before.
    said: BTreeSet<String>,
    counts: Counts,
}

impl<'a> Trial<'a> {
    fn of(row: &'a Row) -> Self {
        let world = (row.world)();
        let args = (row.args)(&world);
        let (saved, old, said) = (Saved::of(&world), tree(&world, row.below), lines(&world));
        let mut trial = Self { row, world, saved, args, operations: Vec::new(), old, new: Tree::new(), said, counts: Counts::default() };
        let log = trial.world.path("ops");
        trial.run(Some(&format!("log:{}", log.display()))).exits(row.code);
        if row.starts() {
            quiet(&trial.world);
        }
        let text = fs::read_to_string(&log).unwrap_or_default();
        let operation = |line: &str| {
            let mut fields = line.splitn(3, '\t').skip(1);
            (fields.next().unwrap().to_owned(), PathBuf::from(fields.next().unwrap()))
        };
        trial.operations = text.lines().map(operation).collect();
        assert!(!trial.operations.is_empty(), "{}: the seam saw no operation", row.verb);
        trial.counts.operations = trial.operations.len();
        trial.new = tree(&trial.world, row.below);
        assert!(trial.old != trial.new || lines(&trial.world) != trial.said || row.verb == "equip", "{}: it changes nothing", row.verb);
        trial
    }

    fn run(&self, fault: Option<&str>) -> Run {
        self.run_words(&self.args, fault)
    }

    fn run_words(&self, words: &[String], fault: Option<&str>) -> Run {
        let mut command = self.world.command(self.row.cwd);
        command.args(words).envs(self.row.env.iter().copied());
        command.env("LOCI_TEST_NOW", self.world.path("now"));
        command.envs(fault.map(|fault| ("LOCI_FAULT", fault)));
        let stdin = self.row.stdin.map(|stdin| stdin(&self.world));
        Run::of(&mut command, stdin.as_deref().map(str::as_bytes))
    }

    /// What does not hold after a fault.
    fn faults(&mut self, n: usize, fault: &str) -> Vec<String> {
        let mut found = Vec::new();
        self.saved.restore(&self.world);
        let run = self.run(Some(fault));
        if self.row.starts() {
            quiet(&self.world);
        }
        let now = tree(&self.world, self.row.below);
        if !fault.starts_with("kill") {
            self.told(n, &run, &now, &mut found);
        } else if run.code.is_some() {
            found.push(format!("it was not killed: {run:?}"));
        }
        self.whole(&now, fault, &mut found);
        let again = match self.row.next {
            Some((line, _)) => self.run_words(&words(line), None),
            None => self.run(None),
        };
        let codes = self.row.next.map_or([self.row.code, self.row.again], |(_, code)| [code, code]);
        if !codes.iter().any(|code| again.code == Some(*code)) {
            found.push(format!("the next command ends with {:?}: {}{}", again.code, again.stdout, again.stderr));
        }
        if self.row.starts() {
            quiet(&self.world);
        }
        self.repaired(&again, &mut found);
        found
    }

    fn repaired(&self, again: &Run, found: &mut Vec<String>) {
        let then = tree(&self.world, self.row.below);
        let settled = self.row.end.is_some() || then == self.new || (self.row.next.is_some() && then == self.old);
        if !settled {
            let from_new = differences(&self.new, &then);
            found.push(format!("the next command does not repair it: {from_new}\n      it said {}{}", again.stdout, again.stderr));
        }
        if let Some(Err(why)) = self.row.end.map(|end| end(&self.world)) {
            found.push(format!("in the end: {why}"));
        }
        let left: Vec<String> = self.world.snapshot("").into_keys().map(|path| path.to_string_lossy().into_owned()).collect();
        let left: Vec<String> = left.into_iter().filter(|path| is_leftover(path) && !is_transient(path)).collect();
        if !left.is_empty() {
            found.push(format!("what was under way is left: {left:?}"));
        }
        // The next capture takes away what a run that was killed had under way.
        let layers = fs::read_dir(self.world.path("state/loci/captures")).into_iter().flatten().flatten();
        let layers: Vec<_> = layers.map(|entry| entry.file_name()).filter(|name| is_under_way(&name.to_string_lossy())).collect();
        if !layers.is_empty() && self.args.iter().any(|word| word == "--capture") {
            found.push(format!("layers of runs that are over are left: {layers:?}"));
        }
        let open = open(&self.world);
        if !open.is_empty() {
            found.push(format!("a change is open: {open:?}"));
        }
        for line in lines(&self.world) {
            let text = line.split_once(": ").map_or("", |(_, text)| text);
            if serde_json::from_str::<serde_json::Value>(text).is_err() {
                found.push(format!("a torn line: {line}"));
            }
        }
    }

    /// What is said about a failure: the path, where it ends the run; anything, where not all is done.
    fn told(&mut self, n: usize, run: &Run, now: &Tree, found: &mut Vec<String>) {
        let (name, path) = &self.operations[n - 1];
        // Who runs a program for somebody says by 126 that it was not run.
        let nothing_done = if self.row.verb == "exec" { [2, 126] } else { [2, 2] };
        if run.code.is_some_and(|code| nothing_done.contains(&code)) && self.row.code != 2 {
            self.counts.refused += 1;
            if !run.stderr.starts_with("error: ") && !run.stderr.contains("\nerror: ") {
                found.push(format!("no error: {}", run.stderr));
            }
            if !names(&run.stderr, path, &self.world.path(self.row.cwd)) {
                found.push(format!("the error does not name {}: {}", path.display(), run.stderr));
            }
            return;
        }
        self.counts.done += 1;
        if run.code != Some(self.row.code) && self.row.end.is_none() {
            found.push(format!("{name} fails, and it ends with {:?}: {}", run.code, run.stderr));
        }
        let (now, new) = (part(now), part(&self.new));
        if now != new && run.stderr.is_empty() && self.row.end.is_none() {
            found.push(format!("{name} of {} fails, and nobody says so: {}", path.display(), differences(&new, &now)));
        }
    }

    /// Old or new, or between them with an open journal; nothing lost, nothing torn.
    fn whole(&mut self, now: &Tree, fault: &str, found: &mut Vec<String>) {
        let [old, new, mut current] = [&self.old, &self.new, now].map(part);
        if fault.starts_with("kill") {
            current = without_empty(current, &old, &new);
        }
        let place = if current == old {
            &mut self.counts.old
        } else if current == new {
            &mut self.counts.new
        } else {
            let closed = self.row.end.is_none() && open(&self.world).is_empty();
            if closed && self.row.between.is_none() {
                let (to_old, to_new) = (differences(&old, &current), differences(&new, &current));
                found.push(format!("neither old nor new\n      to old: {to_old}\n      to new: {to_new}"));
            }
            let strays = strays(&old, &new, &current);
            if closed && !strays.is_empty() {
                found.push(format!("neither their old selves nor their new ones: {strays:?}"));
            }
            &mut self.counts.between
        };
        *place += usize::from(fault.starts_with("kill"));
        let texts = |tree: &Tree| {
            tree.values().filter(|what| what.starts_with("file")).map(|what| content(what).to_owned()).collect::<BTreeSet<_>>()
        };
        let [before, after, there] = [&self.old, &self.new, now].map(texts);
        // What is put aside under way is not lost.
        let aside: BTreeSet<String> = self.world.snapshot("").values().map(|what| same(content(what))).collect();
        let kept = |text: &String| there.contains(text) || aside.contains(text);
        let lost: Vec<&String> = before.intersection(&after).filter(|text| !kept(text)).collect();
        if !lost.is_empty() {
            found.push(format!("lost: {lost:?}"));
        }
        for (path, what) in part(now).iter().filter(|(_, what)| what.starts_with("file")) {
            if !before.contains(content(what)) && !after.contains(content(what)) && self.row.end.is_none() {
                found.push(format!("torn, or from nowhere: {path}: {what:?}"));
            }
        }
        let missing: Vec<&String> = self.said.iter().filter(|line| !lines(&self.world).contains(*line)).collect();
        if !missing.is_empty() && self.row.end.is_none() {
            found.push(format!("lines of a log are lost: {missing:?}"));
        }
    }
}

/// The faults of an operation. All three errors at each one where `LOCI_SWEEP=all` says so, else they take turns.
fn faults_of(n: usize) -> Vec<String> {
    let errnos = [nix::libc::ENOSPC, nix::libc::EIO, nix::libc::EACCES];
    let all = std::env::var_os("LOCI_SWEEP").is_some_and(|value| value == "all");
    let chosen = errnos.iter().enumerate().filter(|(at, _)| all || n % 3 == *at);
    chosen.map(|(_, errno)| format!("fail:{n}:{errno}")).chain([format!("kill:{n}")]).collect()
}

/// Sweeps rows, prints the table, and fails with all that was found.
#[expect(clippy::print_stdout, reason = "the table is what this test is for")]
pub(super) fn sweep(rows: &[Row]) {
    let mut found = Vec::new();
    let only = std::env::var("LOCI_SWEEP_VERB").ok();
    println!(
        "{:<18} {:<26} {:>4} {:>8} {:>5} {:>9} {:>4} {:>4} {:>8}",
        "verb", "", "ops", "refused", "done", "kills:old", "new", "mid", "findings"
    );
    for row in rows.iter().filter(|row| only.as_deref().is_none_or(|only| row.verb.starts_with(only))) {
        let mut trial = Trial::of(row);
        let before = found.len();
        for n in 1..=trial.operations.len() {
            for fault in faults_of(n) {
                for one in trial.faults(n, &fault) {
                    let (name, path) = &trial.operations[n - 1];
                    found.push(format!("{} {}: {fault} ({name} {}): {one}", row.verb, row.note, path.display()));
                }
            }
        }
        let Counts { operations, refused, done, old, new, between } = trial.counts;
        println!(
            "{:<18} {:<26} {operations:>4} {refused:>8} {done:>5} {old:>9} {new:>4} {between:>4} {:>8}",
            row.verb,
            row.note,
            found.len() - before
        );
    }
    assert!(found.is_empty(), "{} findings:\n{}", found.len(), found.join("\n"));
}

/// A planted fault is seen: by what was left, by what was lost, by what was not said.
#[test]
fn the_sweep_can_see() {
    let rows = super::loadout::rows();
    let row = rows.iter().find(|row| row.verb == "toggle").unwrap();
    let mut trial = Trial::of(row);
    let last = format!("kill:{}", trial.operations.len());
    assert_eq!(trial.faults(trial.operations.len(), &last), Vec::<String>::new());
    // Somebody who expects another end, or another beginning, is told so.
    let new = std::mem::take(&mut trial.new);
    assert!(trial.faults(1, "kill:1").iter().any(|one| one.starts_with("the next command does not repair it")));
    trial.new = new;
    let mut text = trial.old.clone();
    text.insert("r/gone".to_owned(), "file 644 a text of nobody".to_owned());
    (trial.old, trial.new) = (text.clone(), text.into_iter().chain(std::mem::take(&mut trial.new)).collect());
    let found = trial.faults(1, "kill:1");
    assert!(
        found.iter().any(|one| one.starts_with("lost: ")) && found.iter().any(|one| one.starts_with("neither old nor new")),
        "{found:?}"
    );
    // A reason for what lies between is none for what is neither.
    let lenient = Row { between: Some("file by file"), ..row.clone() };
    trial.row = &lenient;
    let found = trial.faults(1, "kill:1");
    assert!(found.iter().any(|one| one.starts_with("neither their old selves") && one.contains("r/gone")), "{found:?}");
    assert!(names("failed to write d/.loci-tmp-1-2", Path::new("/r/d/.loci-tmp-33-4"), Path::new("/r")));
    assert!(is_under_way("4711.123456") && !is_under_way("probe") && !is_under_way("4711"));
    for other in ["failed to write it: no space", "failed to write d/y", "failed to write d/xy", "failed to write d/x-1"] {
        assert!(!names(other, Path::new("/r/d/x"), Path::new("/r")), "{other}");
    }
    assert!(names("failed to write /r/d/x: no space", Path::new("/r/d/x"), Path::new("/r")));
}
