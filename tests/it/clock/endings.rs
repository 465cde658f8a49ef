//! How runs end, and what is left when everything else does: real processes, real kills.

use std::fs;
use std::process::Command;

use loci::clock::store::Store;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{QUICK, SEVEN, World, alive, daemon_is_there, until};
use crate::sandbox::Run;

/// What lives and was started by a clock of this world.
pub(super) fn started_by_the_clock(world: &World) -> Vec<String> {
    let home = format!("HOME={}", world.sandbox.path("home").display());
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let vars = fs::read(entry.path().join("environ")).unwrap_or_default();
        let vars: Vec<&[u8]> = vars.split(|byte| *byte == 0).collect();
        if vars.contains(&home.as_bytes()) && vars.iter().any(|var| var.starts_with(b"LOCI_JOB=")) {
            let line = String::from_utf8_lossy(&fs::read(entry.path().join("cmdline")).unwrap_or_default()).replace('\0', " ");
            found.push(format!("{} {line}", entry.file_name().to_string_lossy()));
        }
    }
    found
}

/// The children of a process that have ended and that nobody has looked at.
fn zombies_of(pid: u32) -> usize {
    let stat = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("stat")).ok();
    let is = |stat: &String| {
        let Some((_, rest)) = stat.rsplit_once(')') else { return false };
        let mut fields = rest.split_whitespace();
        fields.next() == Some("Z") && fields.next() == Some(&pid.to_string())
    };
    fs::read_dir("/proc").unwrap().flatten().filter_map(stat).filter(is).count()
}

/// Sixty runs, some of whose children nobody waits for: the clock has none of them lying around.
#[test]
fn no_zombie_stays_and_no_pipe_holds_the_clock() {
    let world = World::new(0);
    // A child that keeps what the run writes to open, in a session of its own and without any mark; the run ends when
    // that is so, since a child that still has its mark is waited for.
    let script = "#!/bin/bash\n(exit 3) &\nenv -i setsid /bin/bash -c 'echo > bare.$$; while [ -d out ] && [ ! -e stop ]; do sleep 0.05; done' &\nuntil [ -e bare.$! ]; do sleep 0.01; done\necho $! >> held\necho $$ > out/done\n";
    world.sandbox.exec("root/work.sh", script).file("home/.loci/config.yaml", "custody: read\n");
    world.job("a", "when: {every: 1s}\nrun: ./work.sh\ndeliverables: [out/done]", "").loci(&["clock", "enroll", "."]).exits(0);
    let daemon = world.daemon(None);
    for second in 0..20 {
        world.time(second);
        until("its success", || (world.record("a")["counts"]["succeeded"].as_u64() >= Some(second + 1)).then_some(()));
    }
    // Those that hold the pipe are there, and held up nobody.
    let held = world.sandbox.read("root/held");
    assert!(held.lines().all(alive), "{held}");
    until("no zombie", || (zombies_of(daemon.0.id()) == 0).then_some(()));
    world.sandbox.file("root/stop", "");
    until("their end", || (!held.lines().any(alive)).then_some(()));
}

/// Nobody can tell what was wiped of its mark; what carries it is ended, wherever it went.
#[test]
fn what_left_its_group_is_found_by_its_mark() {
    let world = World::new(SEVEN - 1);
    let script = "#!/bin/bash\nsetsid setsid bash -c 'trap \"\" TERM; echo $$ > out/child; while [ -d out ]; do sleep 0.05; done' < /dev/null > /dev/null 2>&1 &\nexit 0\n";
    world.sandbox.exec("root/fork.sh", script);
    world.job("a", "when: {cron: \"0 7 * * *\"}\nrun: ./fork.sh\ndeliverables: [out/done]\ntimeout: 20s\nkill_grace: 2s", "");
    world.loci(&["clock", "enroll", "."]).exits(0);
    let _daemon = world.daemon(None);
    until("the first look", || daemon_is_there(&world));
    world.time(SEVEN);
    let child = until("its child", || fs::read_to_string(world.sandbox.path("root/out/child")).ok().filter(|text| text.ends_with('\n')));
    // The program itself is long gone, and its child is what is waited for.
    assert!(world.record("a")["running"].is_string());
    world.until_passing("the outcome", SEVEN + 20, || (world.record("a")["outcome"] == "timeout").then_some(()));
    assert!(!alive(&child));
    assert_eq!(started_by_the_clock(&world), Vec::<String>::new());
}

/// A number that was given to somebody else: the run is over, and the stranger is left alone. Made to happen in a
/// namespace of processes of its own, where the next number can be said.
#[test]
fn a_stranger_with_the_number_of_a_run_is_left_alone() {
    let world = World::new(SEVEN);
    world.sandbox.file("home/.loci/config.yaml", "custody: read\n");
    world.job("a", "when: {every: 1h}\nrun: \"exec sleep 1000\"\ndeliverables: [out/done]\ntimeout: 60s\nkill_grace: 1s", "");
    world.loci(&["clock", "enroll", "."]).exits(0);
    let moment = |second: u64| {
        let wall = jiff::Timestamp::from_second(1_780_272_000 + i64::try_from(SEVEN + second).unwrap()).unwrap();
        let millis = (100_000 + SEVEN + second) * 1000;
        format!("{wall} {millis} {millis}")
    };
    let script = format!(
        r#"
loci={loci}
now={now}
"$loci" clock once . || exit 3
run=$(ls -d {state}/loci/clock/*/runs/*/run.json)
pid=$(sed -n 's/.*"process":{{"pid":\([0-9]*\).*/\1/p' "$run")
kill -0 "$pid" || {{ echo "no run: $pid"; exit 3; }}
# It stands behind the gate until it is told to go; what is killed there was interrupted.
until [ -e "${{run%run.json}}begun" ] || ! kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
kill -9 "$pid"
while kill -0 "$pid" 2>/dev/null; do wait; sleep 0.01; done
for try in $(seq 200); do
  echo $((pid - 1)) > /proc/sys/kernel/ns_last_pid || {{ echo unable; exit 77; }}
  sleep 1000 &
  stranger=$!
  [ "$stranger" = "$pid" ] && break
  kill -9 "$stranger"; wait "$stranger" 2>/dev/null
done
[ "$stranger" = "$pid" ] || {{ echo "the number was not given again"; exit 77; }}
echo '{soon}' > "$now"; "$loci" clock once .
"$loci" jobs list --json > {out}
echo '{late}' > "$now"; "$loci" clock once .; "$loci" clock once .
kill -0 "$stranger" && echo "the stranger lives"
"#,
        loci = env!("CARGO_BIN_EXE_loci"),
        now = world.sandbox.path("now").display(),
        state = world.sandbox.path("state").display(),
        out = world.sandbox.path("list").display(),
        soon = moment(5),
        late = moment(120),
    );
    let template = world.command(&[]);
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc", "/bin/bash", "-c", &script]).current_dir(world.sandbox.path("root")).env_clear();
    command.envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let Ok(said) = command.output() else { return crate::exec::skipped("there is no `unshare`") };
    let said = Run {
        code: said.status.code(),
        stdout: String::from_utf8_lossy(&said.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&said.stderr).into_owned(),
    };
    if said.code == Some(77) || said.stderr.contains("unshare") {
        return crate::exec::skipped(&format!("the number of a process can't be given away here: {}{}", said.stdout, said.stderr));
    }
    assert!(said.stdout.contains("the stranger lives"), "{said:?}");
    let list: serde_json::Value = serde_json::from_str(&world.sandbox.read("list")).unwrap();
    let record = &list["jobs"][0]["record"];
    assert!(record["outcome"] == "missing" && record["running"].is_null(), "{list}");
}

/// Two hundred kills at points that nobody chose: what is on disk can be read each time, and no instant ran twice.
#[test]
fn a_kill_at_any_moment_leaves_a_state_that_can_be_read() {
    let world = World::new(0);
    world.sandbox.file("home/.loci/config.yaml", "custody: read\n");
    world.job("a", "when: {every: 1s}\nrun: \"echo $LOCI_JOB >> started; echo $$ > out/done\"\ndeliverables: [out/done]", "");
    world.loci(&["clock", "enroll", "."]).exits(0);
    world.once().exits(0);
    let mut random = 12_345_u64;
    let mut killed = 0;
    for round in 0..200 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut command = world.command(&["clock", "once", "."]);
        command.env("LOCI_FAULT", format!("kill:{}", 1 + (random >> 33) % 24));
        world.time(round + 1);
        killed += usize::from(Run::of(&mut command, None).code.is_none());
        let (found, wrong) = Store::read(&world.store()).unwrap();
        assert_eq!((wrong, found.records.keys().collect::<Vec<_>>()), (None, vec![&"a".to_owned()]), "round {round}");
    }
    assert!(killed > 100, "only {killed} kills hit");
    world.time(300);
    until("its end", || {
        world.once().exits(0);
        world.record("a")["running"].is_null().then_some(())
    });
    // `a-INSTANT-ATTEMPT-RANDOM`: of one instant there is one start.
    let started = world.sandbox.read("root/started");
    let mut instants: Vec<&str> = started.lines().filter_map(|run| run.split('-').nth(1)).collect();
    let count = instants.len();
    instants.sort_unstable();
    instants.dedup();
    assert_eq!(instants.len(), count, "{started}");
}

/// Where the clock is killed around a start nothing is left that runs and that nobody knows.
#[test]
fn a_kill_around_a_start_leaves_no_orphan() {
    let job = "when: {cron: \"0 7 * * *\"}\nrun: \"echo x >> started; while [ -e started ] && [ ! -e go ]; do sleep 0.02; done; echo ok > out/done\"\ndeliverables: [out/done]";
    for nth in 1..=24 {
        let world = World::new(SEVEN - 10);
        world.job("a", job, "").loci(&["clock", "enroll", "."]).exits(0);
        world.once().exits(0);
        world.time(SEVEN);
        let mut command = world.command(&["clock", "once", "."]);
        command.env("LOCI_FAULT", format!("kill:{nth}"));
        Run::of(&mut command, None);
        world.time(SEVEN + 5);
        world.once().exits(0);
        // It is on, and known; or it is not on.
        let known = world.record("a")["running"].is_string();
        if !known {
            until("that nothing runs", || started_by_the_clock(&world).is_empty().then_some(()));
        }
        world.sandbox.file("root/go", "");
        until("its end", || {
            world.once().exits(0);
            world.record("a")["running"].is_null().then_some(())
        });
        until("that nothing is left", || started_by_the_clock(&world).is_empty().then_some(()));
        assert!(world.lines("started") <= 1, "killed after operation {nth}");
    }
}

/// A beat is worn by a body below the root; the clock is killed in it, and the next one puts it back first.
#[test]
fn a_set_that_was_worn_in_a_beat_is_put_back_before_anything_fires() {
    let world = beating();
    let mut daemon = world.daemon(None);
    until("the first look", || daemon_is_there(&world));
    world.time(60);
    until("the beat", || world.there("b/beats").then_some(()));
    assert!(world.there("b/.loci/skills/write/SKILL.md.inactive") && world.there("b/.loci/rules/night.md"));
    daemon.0.kill().unwrap();
    daemon.0.wait().unwrap();
    let _ = fs::remove_file(world.sandbox.path("root/saw"));
    world.time(300);
    let said = world.once().exits(0).stderr;
    until("a run", || {
        world.once();
        world.there("saw").then_some(())
    });
    assert_eq!(world.sandbox.read("root/saw").lines().next(), Some("on"), "{said}");
    put_back(&world, &said);
    world.sandbox.file("root/b/go", "");
    until("the end of the beat", || started_by_the_clock(&world).is_empty().then_some(()));
}

/// A body below the root whose beat wears a set and goes on until it is told, and a job that says how it finds it.
fn beating() -> World {
    let world = World::new(0);
    let program = world.sandbox.path("bin/x");
    world.sandbox.exec("bin/x", "#!/bin/bash\necho x >> beats\nwhile [ -e beats ] && [ ! -e go ]; do sleep 0.02; done\n");
    world
        .sandbox
        .file("home/.loci/runtimes/x.md", format!("---\nprogram: {}\ngrace: 1s\n---\n", program.display()))
        .file("home/.loci/config.yaml", "custody: read\n")
        .file("root/b/.loci/agent.md", "---\nid: b\nruntime: x\n---\n")
        .file("root/b/.loci/skills/write/SKILL.md", "---\nname: write\ndescription: d\n---\n")
        .file("root/b/.loci/rules/night.md.inactive", "x")
        .file(
            "root/.loci-clock/heartbeat.md",
            "---\nevery: 1m\nagent: b\nloadout: {skills: {write: off}, rules: {night: on}}\n---\nGo on.\n",
        );
    let look = "when: {every: 1s}\nrun: \"[ -e b/.loci/skills/write/SKILL.md ] && echo on >> saw || echo off >> saw\"";
    world.job("a", look, "").loci(&["clock", "enroll", "."]).exits(0);
    world.loci(&["jobs", "arm", "heartbeat"]).exits(0);
    world
}

fn put_back(world: &World, said: &str) {
    for (path, there) in [
        ("b/.loci/skills/write/SKILL.md", true),
        ("b/.loci/skills/write/SKILL.md.inactive", false),
        ("b/.loci/rules/night.md", false),
        ("b/.loci/rules/night.md.inactive", true),
    ] {
        assert_eq!(world.there(path), there, "{path}: {said}");
    }
}

/// The same wherever between the renames the kill comes.
#[test]
fn a_kill_between_the_renames_of_a_beat_is_put_back_whole() {
    let alone = || {
        let world = beating();
        // So that the operations come in one order.
        fs::remove_file(world.sandbox.path("root/.loci-clock/jobs/a.md")).unwrap();
        world
    };
    let renames = {
        let world = alone();
        let mut daemon = world.daemon(Some(format!("log:{}", world.sandbox.path("ops").display())));
        until("the first look", || daemon_is_there(&world));
        world.time(60);
        until("the beat", || world.there("b/beats").then_some(()));
        kill(Pid::from_raw(i32::try_from(daemon.0.id()).unwrap()), Signal::SIGKILL).unwrap();
        daemon.0.wait().unwrap();
        world.sandbox.file("root/b/go", "");
        let ops = world.sandbox.read("ops");
        let lines: Vec<&str> = ops.lines().collect();
        let is = |line: &&&str| line.contains("rename") && (line.contains("SKILL.md") || line.contains("night.md"));
        let found: Vec<usize> = lines.iter().filter(is).map(|line| line.split('\t').next().unwrap().parse().unwrap()).collect();
        assert_eq!(found.len(), 2, "{ops}");
        found
    };
    for nth in renames[0].saturating_sub(2)..=renames[1] + 2 {
        let world = alone();
        let mut daemon = world.daemon(Some(format!("kill:{nth}")));
        until("the first look, or the end", || daemon_is_there(&world).or_else(|| daemon.0.try_wait().unwrap().map(|_| ())));
        world.time(60);
        daemon.0.wait().unwrap();
        world.time(300);
        let said = world.once().exits(0).stderr;
        put_back(&world, &format!("killed after operation {nth}: {said}"));
        world.sandbox.file("root/b/go", "");
    }
}

/// A state of nothing, a state of rubbish, a ledger that is a directory: the clock lives, and says so.
#[test]
fn what_the_clock_wrote_may_be_lost() {
    let world = World::new(SEVEN - 10);
    world.job("a", QUICK, "").loci(&["clock", "enroll", "."]).exits(0);
    world.once().exits(0);
    let state = world.store().join("state.json");
    for (at, rubbish) in [(0, &b""[..]), (1, b"{\"schema\": 1, \"at\""), (2, b"\xff\xfe\0"), (3, b"{\"schema\": 7}")] {
        fs::write(&state, rubbish).unwrap();
        world.time(SEVEN - 9 + at);
        let said = world.once().exits(0).stderr;
        assert!(said.contains("it is kept as") && said.contains("the jobs go on"), "{said}");
        assert_eq!(world.loci(&["jobs"]).exits(0).stdout.lines().count(), 1);
    }
    let _ = fs::remove_file(world.sandbox.path("root/.loci-clock/ledger.jsonl"));
    world.sandbox.dir("root/.loci-clock/ledger.jsonl/x");
    world.time(SEVEN);
    until("its success", || {
        world.once().exits(0);
        (world.record("a")["outcome"] == "success").then_some(())
    });
    // As a kill in the middle of a claim leaves it.
    fs::write(world.store().join("claims/a@00000000000000000001"), "").unwrap();
    fs::write(world.store().join("now/zz"), "no wish").unwrap();
    world.once().exits(0);
    assert!(!world.store().join("now/zz").exists());
}
