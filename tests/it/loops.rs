//! Loops, from file to end: what they deliver, whose hooks are on meanwhile, and what is left of them wherever they are
//! interrupted.

use std::fs;

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox};
use crate::waiting::{Daemon, set_time, start, until};

/// A harness of one turn after the other: it says what it reads, and asks the hooks at each stop.
const HARNESS: &str = r#"#!/bin/bash
session=$$-$RANDOM
say() { printf '{"session_id":"%s","cwd":"%s","hook_event_name":"%s","prompt":"go"}' "$session" "$PWD" "$1"; }
say SessionStart | "$LOCI_BIN" hook before-run --for claude >/dev/null
say UserPromptSubmit | "$LOCI_BIN" hook before-iteration --for claude >/dev/null
prompt="$1"
while :; do
    printf '%s\n' "$prompt" >>prompts
    answer=$(say Stop | "$LOCI_BIN" hook after-iteration --for claude 2>>said)
    case $answer in
        *'"decision":"block"'*) prompt="again: $(printf %s "$answer" | grep -o '"reason":"[^"]*"')" ;;
        *) break ;;
    esac
done
say SessionEnd | "$LOCI_BIN" hook after-run --for claude >/dev/null
"#;

/// Counts turns in the state that hooks share.
const COUNT: &str = "#!/bin/bash\n# hook-events: after-iteration\nread -r event\nn=$(printf %s \"$event\" | grep -o '\"state\":{\"n\":[0-9]*' | grep -o '[0-9]*$')\n\
                     printf '{\"state\":{\"n\":%d}}' $((${n:-0} + 1))\n";

/// A hook that is not the loop's.
const OTHER: &str = "#!/bin/bash\n# hook-events: after-iteration\necho x >>other\n";

struct World(Sandbox);

impl World {
    fn new(harness: &str) -> Self {
        let world = Sandbox::new();
        world.file("root/.loci/agent.md", "---\nid: a\nruntime: x\n---\n").dir("root/.loci-clock/loops").dir("root/.loci-clock/jobs");
        world.exec("bin/x", harness);
        world.file(
            "home/.loci/runtimes/x.md",
            format!("---\nprogram: {}\nheadless: [\"{{message}}\"]\n---\n", world.path("bin/x").display()),
        );
        world.exec("root/.loci/hooks/count.sh", COUNT).exec("root/.loci/hooks/other.sh", OTHER);
        let world = Self(world);
        world.loci(&["trust", ".", "--yes"]).exits(0);
        world.time(0);
        world
    }

    fn time(&self, second: u64) {
        set_time(&self.0, second);
    }

    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = self.0.command("root");
        command.args(args).env("LOCI_TEST_NOW", self.0.path("now")).env("LOCI_BIN", env!("CARGO_BIN_EXE_loci"));
        command
    }

    fn loci(&self, args: &[&str]) -> Run {
        Run::of(&mut self.command(args), None)
    }

    fn looped(&self, name: &str, header: &str, prompt: &str) -> &Self {
        self.0.file(format!("root/.loci-clock/loops/{name}.md"), format!("---\n{header}\n---\n{prompt}\n"));
        self
    }

    /// Enrols the root, and arms loops.
    fn arm(&self, names: &[&str]) -> &Self {
        self.loci(&["clock", "enroll", "."]).exits(0);
        for name in names {
            self.loci(&["jobs", "arm", name]).exits(0);
        }
        self
    }

    fn daemon(&self, fault: Option<&str>) -> Daemon {
        start(self.command(&["clock", "run", "."]), &self.0, fault)
    }

    fn lines(&self, path: &str) -> Vec<String> {
        fs::read_to_string(self.0.path("root").join(path)).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn status(&self) -> Value {
        self.loci(&["loop", "status", "--json"]).json()
    }

    /// Waits until no loop goes on, and nothing of one runs.
    fn over(&self) -> Value {
        until("the end of the loop", || {
            let status = self.status();
            status["active"].is_null().then_some(status)
        })
    }

    fn log(&self) -> String {
        fs::read_to_string(self.0.path("daemon.log")).unwrap_or_default()
    }

    /// What sessions remember.
    fn memories(&self) -> Vec<Value> {
        let Ok(entries) = fs::read_dir(self.0.path("state/loci/sessions")) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path()).filter(|path| path.to_str().unwrap().ends_with(".state.json"));
        paths.map(|path| serde_json::from_slice(&fs::read(path).unwrap()).unwrap()).collect()
    }
}

/// The hooks of a loop write the state, its predicate reads it, a stop that comes too soon is blocked with the prompt, and
/// what comes next comes next. The others are silent meanwhile, and theirs leave with it.
#[test]
fn a_loop_goes_on_until_its_predicate_holds() {
    let world = World::new(HARNESS);
    world.looped("first", "hooks: [count]\nexit: state.n >= 3\nnext: second", "Go on.");
    world.looped("second", "hooks: [count]\nexit: state.n >= 4\nnext: stop", "Tidy up.");
    // Present is not armed.
    let refused = world.loci(&["loop", "start", "first"]).exits(2);
    assert!(refused.stderr.contains("not enrolled"), "{}", refused.stderr);
    world.loci(&["clock", "enroll", "."]).exits(0);
    let refused = world.loci(&["loop", "start", "first"]).exits(2);
    assert!(refused.stderr.contains("dormant") && refused.stderr.contains("loci jobs arm loop:first"), "{}", refused.stderr);
    assert!(world.loci(&["clock", "enroll", ".", "--dry-run"]).exits(0).stdout.contains("loop:first: dormant until"));
    world.arm(&["loop:first", "second"]);
    assert!(!world.loci(&["clock", "enroll", ".", "--dry-run"]).exits(0).stdout.contains("dormant"));
    world.loci(&["loop", "start", "first", "--dry-run"]).exits(0);
    assert!(world.status()["active"].is_null());
    world.loci(&["loop", "start", "first"]).exits(0);
    let twice = world.loci(&["loop", "start", "second"]).exits(2);
    assert!(twice.stderr.contains("first goes on here"), "{}", twice.stderr);
    let _daemon = world.daemon(None);
    let status = world.over();
    assert_eq!(
        status["last"]["first"],
        json!({ "state": "done", "why": "exit holds", "rounds": 3, "at": status["last"]["first"]["at"] }),
        "{}",
        world.log()
    );
    assert_eq!((&status["last"]["second"]["state"], &status["last"]["second"]["rounds"]), (&"done".into(), &1.into()), "{}", world.log());
    let prompts = world.lines("prompts");
    assert_eq!(prompts, ["Go on.", "again: \"reason\":\"Go on.\"", "again: \"reason\":\"Go on.\"", "Tidy up."], "{}", world.log());
    assert!(world.lines("other").is_empty(), "a hook that is not the loop's was asked");
    assert!(world.memories().iter().all(|memory| memory["active"] == json!({})), "{:?}", world.memories());
    world.loci(&["ledger"]).exits(0);
    // Whoever is none of the loop's has all hooks.
    let stop = json!({ "session_id": "s-9", "cwd": world.0.path("root"), "hook_event_name": "Stop" });
    Run::of(&mut world.command(&["hook", "after-iteration", "--for", "claude"]), Some(stop.to_string().as_bytes())).exits(0);
    assert_eq!(world.lines("other").len(), 1);
}

/// A predicate that never holds ends by the ceiling, which the ledger says; one that raises is not yet, and is said once.
#[test]
fn a_loop_has_a_ceiling() {
    let world = World::new(HARNESS);
    world.looped("first", "hooks: [count]\nexit: state.nothing.there\nmax_rounds: 4", "Go on.").arm(&["loop:first"]);
    world.loci(&["loop", "start", "first"]).exits(0);
    let _daemon = world.daemon(None);
    let status = world.over();
    assert_eq!((&status["last"]["first"]["state"], &status["last"]["first"]["rounds"]), (&"stopped".into(), &4.into()), "{}", world.log());
    assert_eq!(world.lines("prompts").len(), 4);
    let said = world.lines("said").iter().filter(|line| line.contains("as far as can be said")).count();
    assert_eq!(said, 1, "{:?}", world.lines("said"));
    let ledger = until("the ledger", || {
        let ledger = world.loci(&["ledger", "--json"]).json();
        (ledger["stuck"] == 1).then_some(ledger)
    });
    assert_eq!(ledger["entries"][0]["job"], "loop:first");
    assert!(ledger["entries"][0]["missing"][0]["why"].as_str().unwrap().contains("max_rounds"), "{ledger}");
    // An edit makes it dormant; what can't be is refused where it is listed.
    world.looped("first", "hooks: [count]\nexit: 'true'\nmax_rounds: 4", "Go on.");
    assert!(world.loci(&["loop", "start", "first"]).exits(2).stderr.contains("not accepted"));
    world.looped("bad", "exit: state.\nmax_rounds: 0", "x");
    assert!(world.loci(&["jobs", "check", ".loci-clock/loops/bad.md"]).exits(1).stdout.contains("bad.md:2: exit"));
    world.loci(&["jobs", "check", ".loci-clock/loops/first.md"]).exits(0);
    let list = world.loci(&["loop", "list", "--json"]).exits(0).json();
    assert_eq!((&list["loops"][0]["state"], &list["loops"][0]["line"]), (&"refused".into(), &2.into()), "{list}");
}

/// A loop whose turns say nothing of themselves: the end of each run is the end of a turn.
const DEAF: &str = "#!/bin/bash\nprintf '%s\\n' \"$1\" >>prompts\n[ \"$(wc -l <prompts)\" -lt 3 ] || echo ok >out\n";

/// What has to be left behind counts: it has to have changed since the loop was started.
#[test]
fn a_loop_is_judged_by_what_it_leaves() {
    let world = World::new(DEAF);
    world.0.file("root/out", "from yesterday\n");
    world.looped("first", "exit: 'true'\ndeliverables: [out]\nnext: {run: 'echo second'}\nmax_rounds: 9", "Go on.");
    world.looped("second", "exit: 'true'\nnext: {run: 'exit 3'}", "Tidy up.").arm(&["loop:first", "loop:second"]);
    world.loci(&["loop", "start", "first"]).exits(0);
    let _daemon = world.daemon(None);
    let status = world.over();
    assert_eq!((&status["last"]["first"]["state"], &status["last"]["first"]["rounds"]), (&"done".into(), &3.into()), "{}", world.log());
    // A transition that fails stops all of it.
    let second = &status["last"]["second"];
    assert_eq!(second["state"], "stopped", "{}", world.log());
    assert!(second["why"].as_str().unwrap().contains("ended with 3"), "{second}");
    assert_eq!(world.lines("prompts"), ["Go on.", "Go on.", "Go on.", "Tidy up."]);
}

/// A person ends it: its turn ends, its hooks leave, nothing more is delivered. Within a session that is asked for only.
#[test]
fn a_person_ends_a_loop() {
    let world = World::new("#!/bin/bash\nprintf '%s\\n' \"$1\" >>prompts\necho $$ >pid\nexec sleep 600\n");
    world.looped("first", "exit: 'false'", "Go on.").arm(&["loop:first"]);
    world.loci(&["loop", "start", "first"]).exits(0);
    let _daemon = world.daemon(None);
    let pid = until("its turn", || fs::read_to_string(world.0.path("root/pid")).ok().filter(|text| text.ends_with('\n')));
    let mut asked = world.command(&["loop", "stop"]);
    asked.env("CLAUDECODE", "1");
    Run::of(&mut asked, None).exits(1);
    assert_eq!(world.status()["active"]["round"], 1, "an agent's wish is a request");
    world.loci(&["loop", "stop"]).exits(0);
    let mut second = 0;
    until("the end of its turn", || {
        // Its grace is time that passes; whoever is ended takes some of the machine's own for it.
        std::thread::sleep(std::time::Duration::from_millis(50));
        second += 1;
        world.time(second);
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with(['Z', 'X'])).then_some(())
    });
    let status = world.status();
    assert_eq!((&status["active"], &status["last"]["first"]["state"]), (&Value::Null, &"ended".into()));
    assert_eq!(world.lines("prompts").len(), 1);
    world.loci(&["loop", "stop"]).exits(1);
    world.loci(&["ledger"]).exits(0);
}

/// The hooks of a loop leave with the clock that kept it; a person goes on with it, and its rounds count on.
#[test]
fn a_clock_that_ends_ends_its_loop() {
    let world = World::new("#!/bin/bash\nprintf '%s\\n' \"$1\" >>prompts\nwhile [ -e prompts ] && [ ! -e go ]; do sleep 0.02; done\n");
    world.looped("first", "exit: 'false'\nmax_rounds: 3", "Go on.").arm(&["loop:first"]);
    world.loci(&["loop", "start", "first"]).exits(0);
    let daemon = world.daemon(None);
    until("its turn", || (world.lines("prompts").len() == 1).then_some(()));
    drop(daemon);
    assert_eq!(world.status()["active"]["round"], 1);
    let _daemon = world.daemon(None);
    let status = world.over();
    assert_eq!(status["last"]["first"]["state"], "interrupted");
    until("the ledger", || (world.loci(&["ledger", "--json"]).json()["entries"][0]["cause"] == "interrupted").then_some(()));
    world.0.file("root/go", "");
    let said = world.loci(&["loop", "start", "first"]).exits(0).stdout;
    assert!(said.contains("after round 1"), "{said}");
    let status = world.over();
    assert_eq!((&status["last"]["first"]["state"], &status["last"]["first"]["rounds"]), (&"stopped".into(), &3.into()), "{}", world.log());
    assert_eq!(world.lines("prompts").len(), 3, "{}", world.log());
    // Anew is anew.
    world.loci(&["loop", "start", "first", "--anew"]).exits(0);
    assert_eq!(world.over()["last"]["first"]["rounds"], 3);
}

/// Killed after each operation of the clock and started again: no prompt is delivered twice for one round, no loop goes on
/// without a clock that delivers it, and what became of it is said.
#[test]
fn a_kill_at_any_operation_delivers_no_round_twice() {
    let begun = |fault: Option<&str>| {
        let world = World::new(DEAF);
        world.looped("first", "exit: 'false'\nmax_rounds: 2", "Go on.").arm(&["loop:first"]);
        world.loci(&["loop", "start", "first"]).exits(0);
        let daemon = world.daemon(fault);
        (world, daemon)
    };
    let count = {
        let ops = Sandbox::new();
        let log = ops.path("ops");
        let (world, daemon) = begun(Some(&format!("log:{}", log.display())));
        world.over();
        until("the ledger", || (world.loci(&["ledger", "--json"]).json()["stuck"] == 1).then_some(()));
        drop(daemon);
        fs::read_to_string(log).unwrap().lines().count()
    };
    assert!(count > 20, "{count}");
    let killed = |nth: usize| {
        let (world, mut daemon) = begun(Some(&format!("kill:{nth}")));
        until("the kill", || daemon.0.try_wait().unwrap().map(|_| ()).or_else(|| world.status()["active"].is_null().then_some(())));
        drop(daemon);
        let _daemon = world.daemon(None);
        let status = world.over();
        let last = &status["last"]["first"];
        let (state, rounds) = (last["state"].as_str().unwrap().to_owned(), last["rounds"].as_u64().unwrap());
        let delivered = world.lines("prompts").len() as u64;
        assert!(delivered <= rounds && rounds <= 2, "killed after operation {nth}: {delivered} prompts in {rounds} rounds");
        assert!(["stopped", "interrupted"].contains(&state.as_str()), "killed after operation {nth}: {state}");
        assert!(state == "interrupted" || delivered == 2, "killed after operation {nth}: {state} after {delivered} prompts");
        let ledger = until(&format!("the ledger after a kill after operation {nth}"), || {
            let ledger = world.loci(&["ledger", "--json"]).json();
            (ledger["stuck"] == 1).then_some(ledger)
        });
        assert_eq!(ledger["torn"], 0, "killed after operation {nth}");
        state
    };
    // Several at a time: most of it is waiting.
    let next = std::sync::atomic::AtomicUsize::new(1);
    let mut seen = std::collections::BTreeSet::new();
    std::thread::scope(|scope| {
        let one = || {
            let mut seen = Vec::new();
            loop {
                let nth = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                if nth > count {
                    return seen;
                }
                seen.push(killed(nth));
            }
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
        for thread in threads {
            seen.extend(thread.join().unwrap());
        }
    });
    assert_eq!(seen.len(), 2, "{seen:?}");
}
