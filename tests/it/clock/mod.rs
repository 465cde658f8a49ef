//! The clock as a program: real processes, real kills. What time it is, the test says.

mod daemon;
mod endings;
mod lost;
mod verbs;
mod wake;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::sandbox::{Run, Sandbox};
use crate::waiting::{Daemon, set_time, start, until};

/// A root with a clock whose time stands still until it is moved.
struct World {
    sandbox: Sandbox,
}

impl World {
    fn new(at: u64) -> Self {
        let sandbox = Sandbox::new();
        sandbox.file("root/.loci/agent.md", "---\nid: a\n---\n").dir("root/.loci-clock/jobs").dir("root/out");
        let world = Self { sandbox };
        world.time(at);
        world
    }

    /// Seconds of the 1st of June 2026, 00:00.
    fn time(&self, second: u64) {
        set_time(&self.sandbox, second);
    }

    /// Waits for something, a second passing with each look.
    #[track_caller]
    fn until_passing<T>(&self, what: &str, from: u64, mut look: impl FnMut() -> Option<T>) -> T {
        let mut second = from;
        until(what, || {
            second += 1;
            self.time(second);
            look()
        })
    }

    fn job(&self, name: &str, header: &str, body: &str) -> &Self {
        self.sandbox.file(format!("root/.loci-clock/jobs/{name}.md"), format!("---\n{header}\n---\n{body}"));
        self
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.command("root");
        command.args(args).env("LOCI_TEST_NOW", self.sandbox.path("now"));
        command
    }

    fn loci(&self, args: &[&str]) -> Run {
        Run::of(&mut self.command(args), None)
    }

    fn once(&self) -> Run {
        self.loci(&["clock", "once", "."])
    }

    fn daemon(&self, fault: Option<String>) -> Daemon {
        start(self.command(&["clock", "run", "."]), &self.sandbox, fault.as_deref())
    }

    fn there(&self, path: &str) -> bool {
        self.sandbox.path("root").join(path).exists()
    }

    fn lines(&self, path: &str) -> usize {
        fs::read_to_string(self.sandbox.path("root").join(path)).unwrap_or_default().lines().count()
    }

    fn jobs(&self) -> Value {
        self.loci(&["jobs", "list", "--json"]).json()
    }

    fn record(&self, name: &str) -> Value {
        let jobs = self.jobs();
        jobs["jobs"].as_array().unwrap().iter().find(|job| job["name"] == name).unwrap()["record"].clone()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.sandbox.path("daemon.log")).unwrap_or_default()
    }

    fn store(&self) -> PathBuf {
        let clock = self.sandbox.path("state/loci/clock");
        fs::read_dir(clock).unwrap().next().unwrap().unwrap().path()
    }
}

fn alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !matches!(rest.split_whitespace().next(), Some("Z" | "X")))
}

const QUICK: &str = "when: {cron: \"0 7 * * *\"}\nrun: \"echo x >> started; echo ok > out/done\"\ndeliverables: [out/done]";
const SEVEN: u64 = 7 * 3600;

#[test]
fn a_daemon_starts_a_job_and_judges_it_by_its_file() {
    let world = World::new(SEVEN - 1);
    world.job("a", QUICK, "").loci(&["clock", "enroll", "."]).exits(0);
    let daemon = world.daemon(None);
    until("the first look", || daemon_is_there(&world));
    assert!(!world.there("started"));
    world.time(SEVEN);
    until("a success", || (world.record("a")["outcome"] == "success").then_some(()));
    assert_eq!(world.lines("started"), 1);
    // One clock: the second one is refused, and names the first.
    let second = world.loci(&["clock", "run", "."]).exits(2);
    assert!(second.stderr.contains(&format!("pid {}", daemon.0.id())), "{}", second.stderr);
    // An edit is noticed through the watcher, while time stands still.
    world.job("b", "when: {every: 1h}\nrun: \"echo x > out/b\"\ndeliverables: [out/b]", "");
    until("the new job", || world.loci(&["clock", "status", "--json"]).json()["last"]["jobs"].eq(&2).then_some(()));
    world.time(SEVEN + 5);
    until("it is looked at", || (world.record("b")["outcome"] == "dormant").then_some(()));
    assert!(!world.there("out/b"), "nobody accepted it");
    let pid = i32::try_from(daemon.0.id()).unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM).unwrap();
    let mut daemon = daemon;
    assert_eq!(daemon.0.wait().unwrap().code(), Some(0), "{}", world.log());
}

fn daemon_is_there(world: &World) -> Option<()> {
    let status = world.loci(&["clock", "status", "--json"]);
    (status.code == Some(0) && status.json()["last"]["ticks"].as_u64() >= Some(1)).then_some(())
}

/// A job that comes with a pulled commit, and a script that does, wait for a person.
#[test]
fn what_nobody_accepted_does_not_run() {
    let world = World::new(0);
    world.sandbox.exec("root/work.sh", "#!/bin/sh\necho one >> started\necho ok > out/done\n");
    world.job("a", "when: {every: 1m}\nrun: ./work.sh\ndeliverables: [out/done]", "");
    let refused = world.once().exits(2);
    assert!(refused.stderr.contains("not enrolled"), "{}", refused.stderr);
    world.loci(&["clock", "enroll", "."]).exits(0);
    let ticks = |from: u64| {
        for second in from..from + 3 {
            world.time(second);
            world.once().exits(0);
            until("its end", || {
                (!world.record("a")["running"].is_string() || {
                    world.once();
                    false
                })
                .then_some(())
            });
        }
    };
    ticks(0);
    assert_eq!(world.lines("started"), 1);
    // The script is another one now: the same words would do something else.
    world.sandbox.exec("root/work.sh", "#!/bin/sh\necho two >> started\necho ok > out/done\n");
    ticks(60);
    assert_eq!((world.lines("started"), world.record("a")["outcome"].as_str()), (1, Some("dormant")));
    assert_eq!(world.jobs()["jobs"][0]["state"], "not accepted");
    world.loci(&["jobs", "accept", "a"]).exits(0);
    ticks(120);
    assert_eq!((world.lines("started"), world.record("a")["outcome"].as_str()), (2, Some("success")));
    // The file itself.
    world.job("a", "when: {every: 1m}\nrun: ./work.sh # more\ndeliverables: [out/done]", "");
    ticks(180);
    assert_eq!(world.lines("started"), 2);
}

/// Killed after each operation of a fire and started again: one start at most, and something came of it.
#[test]
fn a_kill_at_any_operation_neither_starts_twice_nor_loses_an_instant() {
    let count = {
        let world = World::new(SEVEN - 10);
        world.job("a", QUICK, "").loci(&["clock", "enroll", "."]).exits(0);
        world.once().exits(0);
        world.time(SEVEN);
        let mut command = world.command(&["clock", "once", "."]);
        command.env("LOCI_FAULT", format!("log:{}", world.sandbox.path("ops").display()));
        Run::of(&mut command, None).exits(0);
        fs::read_to_string(world.sandbox.path("ops")).unwrap().lines().count()
    };
    assert!(count > 5, "{count}");
    let mut seen = std::collections::BTreeSet::new();
    for nth in 1..=count {
        let world = World::new(SEVEN - 10);
        world.job("a", QUICK, "").loci(&["clock", "enroll", "."]).exits(0);
        world.once().exits(0);
        world.time(SEVEN);
        let mut command = world.command(&["clock", "once", "."]);
        command.env("LOCI_FAULT", format!("kill:{nth}"));
        Run::of(&mut command, None);
        world.time(SEVEN + 5);
        let outcome = until("an outcome", || {
            world.once().exits(0);
            let record = world.record("a");
            (record["running"].is_null()).then(|| record["outcome"].as_str().map(str::to_owned))?
        });
        let started = world.lines("started");
        assert!(started <= 1, "killed after operation {nth}: started {started} times");
        let fits = matches!((outcome.as_str(), started), ("success", 1) | ("interrupted", 0) | ("missing", 0));
        assert!(fits, "killed after operation {nth}: {outcome}, started {started} times");
        seen.insert(outcome);
    }
    assert!(seen.contains("success") && seen.contains("interrupted"), "{seen:?}");
}

/// Whatever the clock was killed at, and where the ledger took no line at the time: the ledger says in the end what the
/// state says, once.
#[test]
fn no_block_is_lost_between_the_state_and_the_ledger() {
    let job = "when: {cron: \"0 7 * * *\"}\nrun: \"true\"\ndeliverables: [out/never]\nsettle: 0s";
    let world = |fault: &str| {
        let world = World::new(SEVEN - 10);
        world.job("a", job, "").loci(&["clock", "enroll", "."]).exits(0);
        world.once().exits(0);
        world.time(SEVEN);
        let mut command = world.command(&["clock", "once", "."]);
        command.env("LOCI_FAULT", fault.replace("OPS", &world.sandbox.path("ops").display().to_string()));
        Run::of(&mut command, None);
        world
    };
    let count = fs::read_to_string(world("log:OPS").sandbox.path("ops")).unwrap().lines().count();
    let mut told = 0;
    for fault in (1..=count).flat_map(|nth| [format!("kill:{nth}"), format!("fail:{nth}:28")]) {
        let world = world(&fault);
        world.time(SEVEN + 5);
        let outcome = until("an outcome", || {
            world.once();
            let record = world.record("a");
            (record["running"].is_null()).then(|| record["outcome"].as_str().map(str::to_owned))?
        });
        world.once();
        world.once();
        let ledger = world.sandbox.path("root/.loci-clock/ledger.jsonl");
        let lines = fs::read_to_string(ledger).unwrap_or_default();
        let blocks = lines.lines().filter(|line| line.contains("\"event\":\"block\"")).count();
        assert_eq!((blocks, lines.lines().count()), (1, 1), "{fault}: {outcome}: {lines}");
        told += usize::from(outcome == "missing");
    }
    assert!(told > 5, "{told}");
}

/// TERM is ignored, and a grandchild has a session of its own: both are gone in the end.
#[test]
fn what_takes_too_long_is_ended_with_all_that_it_started() {
    let world = World::new(SEVEN - 1);
    let script = "#!/bin/bash\ntrap '' TERM\nsetsid bash -c 'trap \"\" TERM; echo $$ > out/child; while [ -d out ]; do sleep 0.05; done' &\necho $$ > out/pid\nwhile [ -d out ]; do sleep 0.05; done\n";
    world.sandbox.exec("root/stay.sh", script);
    world.job("a", "when: {cron: \"0 7 * * *\"}\nrun: ./stay.sh\ndeliverables: [out/done]\ntimeout: 20s\nkill_grace: 2s", "");
    world.loci(&["clock", "enroll", "."]).exits(0);
    let _daemon = world.daemon(None);
    until("the first look", || daemon_is_there(&world));
    world.time(SEVEN);
    let pid = |name: &str| fs::read_to_string(world.sandbox.path("root/out").join(name)).ok().filter(|text| text.ends_with('\n'));
    let (parent, child) = (until("the run", || pid("pid")), until("its child", || pid("child")));
    assert!(alive(&parent) && alive(&child));
    world.time(SEVEN + 20);
    // Told to go, and given its grace.
    until("the end that is due", || world.store().join("status.json").exists().then_some(()));
    world.until_passing("the outcome", SEVEN + 20, || (world.record("a")["outcome"] == "timeout").then_some(()));
    assert!(!alive(&parent) && !alive(&child));
    let ledger = world.loci(&["ledger", "--json"]).exits(1).json();
    assert_eq!((&ledger["entries"][0]["cause"], &ledger["entries"][0]["attested"]), (&"timeout".into(), &true.into()));
}

/// A run outlives its clock, and the next clock takes it up by its identity and judges it.
#[test]
fn a_run_goes_on_without_the_clock_and_is_taken_up_again() {
    let world = World::new(SEVEN - 1);
    world.sandbox.exec(
        "root/wait.sh",
        "#!/bin/bash\necho $$ > out/pid\nwhile [ -e out/pid ] && [ ! -e go ]; do sleep 0.02; done\necho ok > out/done\n",
    );
    let header = "when: {cron: \"0 7 * * *\"}\nrun: ./wait.sh\ndeliverables: [out/done]\nloadout: {rules: {night: on}}";
    world.sandbox.file("root/.loci/rules/night.md.inactive", "x");
    world.job("a", header, "").loci(&["clock", "enroll", "."]).exits(0);
    let mut daemon = world.daemon(None);
    until("the first look", || daemon_is_there(&world));
    world.time(SEVEN);
    let pid = until("the run", || fs::read_to_string(world.sandbox.path("root/out/pid")).ok().filter(|text| text.ends_with('\n')));
    assert!(world.there(".loci/rules/night.md"), "its set is worn");
    daemon.0.kill().unwrap();
    daemon.0.wait().unwrap();
    assert!(alive(&pid));
    // The next start puts the set back before anything else, and finds the run.
    world.time(SEVEN + 30);
    let said = world.once().exits(0).stderr;
    assert!(world.there(".loci/rules/night.md.inactive") && !world.there(".loci/rules/night.md"), "{said}");
    assert!(world.record("a")["running"].is_string());
    world.sandbox.file("root/go", "");
    until("the judgement", || {
        world.once().exits(0);
        (world.record("a")["outcome"] == "success").then_some(())
    });
}

/// A fire that can't be claimed on disk is not done; when there is room again, it goes on.
#[test]
fn a_full_disk_starts_nothing_and_ends_nothing() {
    let world = World::new(0);
    world.job("a", "when: {every: 10s}\nrun: \"echo x >> started; echo $$ > out/done\"\ndeliverables: [out/done]", "");
    world.loci(&["clock", "enroll", "."]).exits(0);
    let full = world.sandbox.path("full");
    let mut daemon = world.daemon(Some(format!("full:{}", full.display())));
    until("the first run", || (world.record("a")["outcome"] == "success").then_some(()));
    fs::write(&full, "").unwrap();
    let started = world.lines("started");
    for second in (12..60).step_by(4) {
        world.time(second);
        std::thread::sleep(Duration::from_millis(20));
    }
    until("it is said", || world.log().contains("nothing is started").then_some(()));
    assert_eq!(world.lines("started"), started);
    assert!(daemon.0.try_wait().unwrap().is_none(), "{}", world.log());
    fs::remove_file(&full).unwrap();
    world.time(70);
    until("a further run", || (world.lines("started") > started).then_some(()));
    assert!(world.log().matches("nothing is started").count() <= 4, "{}", world.log());
}
