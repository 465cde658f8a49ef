//! Everything at once on one repository: 64 gates, ten agents that switch sets, and a clock that runs. No message is lost,
//! no file is torn, nobody waits for ever.
//!
//! `tests/bench/load` runs it with more rounds on a release build, and prints how long the gates took.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::sandbox::{Run, Sandbox};
use crate::waiting::{Daemon, until};

/// Gates at once.
const GATES: usize = 64;
/// Agents that switch sets.
const AGENTS: usize = 10;
/// Directories that others own.
const OWNED: usize = 8;

struct World {
    sandbox: Sandbox,
    program: PathBuf,
}

/// How often each one acts: once in the suite, `LOCI_LOAD` times from the script.
fn rounds() -> usize {
    std::env::var("LOCI_LOAD").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

impl World {
    fn new() -> Self {
        let sandbox = Sandbox::in_memory();
        sandbox
            .file("home/.loci/agent.md", "---\nid: me\n---\n")
            .file("r/.git/HEAD", "ref: refs/heads/main\n")
            .file("r/.loci/agent.md", "---\nid: alice\n---\n")
            .file("r/.loci-clock/jobs/tick.md", "---\nwhen: {every: 1s}\nrun: \"echo x >> out/done\"\ndeliverables: [out/done]\n---\n")
            .dir("r/out");
        for nth in 0..OWNED {
            let owner = format!("---\nowner: bob-{nth}\n---\n");
            sandbox
                .file(format!("r/owned-{nth}/.loci/owner.md"), owner)
                .file(format!("r/owned-{nth}/.loci/agent.md"), format!("---\nid: bob-{nth}\n---\n"))
                .file(format!("r/owned-{nth}/a.txt"), "alpha\n");
        }
        for nth in 0..6 {
            sandbox.file(format!("r/.loci/rules/{nth}.md"), format!("rule {nth}"));
        }
        sandbox.file("r/.loci/sets/day.yaml", "rules: {0: on, 1: off, 2: on, 3: off}\n");
        sandbox.file("r/.loci/sets/night.yaml", "rules: {0: off, 1: on, 2: off, 3: on}\n");
        let program = std::env::var_os("LOCI_BIN").map_or_else(|| env!("CARGO_BIN_EXE_loci").into(), PathBuf::from);
        let world = Self { sandbox, program };
        Run::of(&mut world.command("r", &["clock", "enroll", "."]), None).exits(0);
        world
    }

    fn command(&self, cwd: &str, args: &[&str]) -> Command {
        let template = self.sandbox.command(cwd);
        let mut command = Command::new(&self.program);
        command.args(args).current_dir(self.sandbox.path(cwd)).env_clear().stdin(Stdio::null());
        command.envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    /// One call of the gate: a write of this text, and how long the answer took.
    fn gate(&self, session: usize, path: &str, text: &str) -> (Run, Duration) {
        let payload = json!({
            "session_id": format!("s-{session}"), "cwd": self.sandbox.path("r"), "hook_event_name": "PreToolUse", "tool_name": "Write",
            "tool_input": { "file_path": self.sandbox.path("r").join(path), "content": text }, "tool_use_id": text,
        });
        let mut command = self.command("r", &["gate", "--for", "claude"]);
        let start = Instant::now();
        let run = Run::of(&mut command, Some(payload.to_string().as_bytes()));
        (run, start.elapsed())
    }

    /// The messages in all inboxes of others.
    fn letters(&self) -> Vec<String> {
        let dirs =
            (0..OWNED).flat_map(|nth| ["new", "cur"].map(|dir| self.sandbox.path(format!("r/owned-{nth}/.loci/memory/inbox/{dir}"))));
        let paths = dirs.filter_map(|dir| fs::read_dir(dir).ok()).flatten().map(|entry| entry.unwrap().path());
        paths.map(|path| fs::read_to_string(path).unwrap()).collect()
    }
}

/// The text that somebody tries to write: nobody else does.
fn wanted(gate: usize, round: usize) -> String {
    format!("wanted by gate {gate} in round {round}\n")
}

#[derive(Default)]
struct Seen {
    took: Vec<Duration>,
    /// Refusals that say they were handed over.
    handed: BTreeSet<String>,
    /// Those that say they could not be.
    not_handed: Vec<(usize, usize)>,
    wrong: Vec<String>,
}

/// A gate that asks in each round about a write that passes and about one that does not.
fn asks(world: &World, gate: usize, seen: &Mutex<Seen>) {
    for round in 0..rounds() {
        let (passed, first) = world.gate(gate, "notes.txt", "a note\n");
        let text = wanted(gate, round);
        let (refused, second) = world.gate(gate, &format!("owned-{}/a.txt", gate % OWNED), &text);
        let mut seen = seen.lock().unwrap();
        seen.took.extend([first, second]);
        // A check whose call does not arrive in time, or that does not come to its end in time, closes, and says so.
        let late = ["longer than 2 s", "the payload did not come within"].iter().any(|words| passed.stderr.contains(words));
        if passed.code != Some(0) && !(passed.code == Some(2) && late) {
            seen.wrong.push(format!("gate {gate}: {passed:?}"));
        }
        if refused.code != Some(2) {
            seen.wrong.push(format!("gate {gate} let it pass: {refused:?}"));
        } else if is_handed(&refused) {
            seen.handed.insert(text);
        } else {
            seen.not_handed.push((gate, round));
        }
    }
}

/// Whether a refusal says that the owner has it. One that did not come to its end in time says that nobody may count on it.
fn is_handed(refused: &Run) -> bool {
    let says = |words: &str| refused.stderr.contains(words);
    (says("was handed over to") || says("filed already")) && !says("NOT")
}

/// An agent that switches: another one may be at it, and then it is named.
fn switches(world: &World, agent: usize, seen: &Mutex<Seen>) {
    for round in 0..rounds() * 3 {
        let line: &[&str] = match (agent + round) % 5 {
            0 => &["equip", "day"],
            1 => &["equip", "night"],
            2 => &["unequip"],
            3 => &["toggle", "rules/4", "off"],
            _ => &["toggle", "rules/4", "on"],
        };
        let run = Run::of(&mut world.command("r", line), None);
        if !matches!(run.code, Some(0 | 1)) && !run.stderr.contains("held by") {
            seen.lock().unwrap().wrong.push(format!("{line:?}: {run:?}"));
        }
    }
}

/// The one in the middle, and the one of a hundred.
fn percentiles(times: &[Duration]) -> [Duration; 2] {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    [50, 99].map(|percent| sorted[(sorted.len() - 1) * percent / 100])
}

#[test]
fn nothing_is_lost_torn_or_stuck_when_all_act_at_once() {
    let world = World::new();
    let alone: Vec<Duration> = (0..20).map(|_| world.gate(GATES, "notes.txt", "a note\n").1).collect();
    let log = fs::File::create(world.sandbox.path("daemon.log")).unwrap();
    let mut clock = Daemon(world.command("r", &["clock", "run", "."]).stdout(Stdio::null()).stderr(log).spawn().unwrap());
    let is_there = || Run::of(&mut world.command("r", &["clock", "status", "--json"]), None).code == Some(0);
    until("the clock", || is_there().then_some(()));

    let seen = Mutex::new(Seen::default());
    std::thread::scope(|scope| {
        for gate in 0..GATES {
            let (world, seen) = (&world, &seen);
            scope.spawn(move || asks(world, gate, seen));
        }
        for agent in 0..AGENTS {
            let (world, seen) = (&world, &seen);
            scope.spawn(move || switches(world, agent, seen));
        }
    });
    let mut seen = seen.into_inner().unwrap();
    let [[middle, _], [loaded, worst]] = [percentiles(&alone), percentiles(&seen.took)];
    println!(
        "{GATES} gates x {} calls, {AGENTS} agents, a clock: p50 alone {middle:?}, p50 under load {loaded:?}, p99 under load {worst:?}; {} handed over, {} not, and said so",
        rounds() * 2,
        seen.handed.len(),
        seen.not_handed.len()
    );
    // Who was told that nothing could be handed over asks once more.
    for (gate, round) in std::mem::take(&mut seen.not_handed) {
        until("an answer in time", || {
            let (again, _) = world.gate(gate, &format!("owned-{}/a.txt", gate % OWNED), &wanted(gate, round));
            assert_eq!(again.code, Some(2), "{again:?}");
            is_handed(&again).then_some(())
        });
        seen.handed.insert(wanted(gate, round));
    }
    assert!(seen.wrong.is_empty(), "{}", seen.wrong.join("\n"));
    assert_eq!(seen.handed.len(), GATES * rounds());
    whole(&world, &seen);

    assert!(is_there(), "{}", world.sandbox.read("daemon.log"));
    until("a job that ran", || world.sandbox.path("r/out/done").exists().then_some(()));
    let pid = nix::unistd::Pid::from_raw(i32::try_from(clock.0.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert_eq!(clock.0.wait().unwrap().code(), Some(0), "{}", world.sandbox.read("daemon.log"));
}

/// One whole message for each refusal, whole logs, and a tree of which each piece is there once.
fn whole(world: &World, seen: &Seen) {
    let letters = world.letters();
    for text in &seen.handed {
        let there = letters.iter().filter(|letter| letter.contains(&format!("+{text}"))).count();
        assert_eq!(there, 1, "{text:?} is there {there} times");
    }
    assert_eq!(letters.len(), seen.handed.len());
    assert!(letters.iter().all(|letter| letter.starts_with("---\n") && letter.ends_with("```\n")));
    for (path, what) in world.sandbox.snapshot("") {
        let name = path.to_string_lossy();
        if name.ends_with(".jsonl") {
            let text = what.splitn(3, ' ').nth(2).unwrap();
            let torn = text.lines().find(|line| serde_json::from_str::<serde_json::Value>(line).is_err());
            assert!(torn.is_none() && (text.is_empty() || text.ends_with('\n')), "{name}: {torn:?}");
        }
        let under_way = [".loci-tmp-", ".loci-swap-", "inbox/tmp/"].iter().any(|start| name.contains(start));
        assert!(!under_way || name.contains("/runs/") || name.starts_with("state/loci/clock"), "left: {name}");
        assert!(!(name.starts_with("state/loci/journal/") && name.ends_with(".json")), "open: {name}");
    }
    for nth in 0..6 {
        let there: Vec<PathBuf> = ["", ".inactive"]
            .iter()
            .map(|end| world.sandbox.path(format!("r/.loci/rules/{nth}.md{end}")))
            .filter(|path| path.exists())
            .collect();
        assert!(there.len() == 1 && fs::read_to_string(&there[0]).unwrap() == format!("rule {nth}"), "{there:?}");
        assert_eq!(world.sandbox.read("r/owned-0/a.txt"), "alpha\n");
    }
}
