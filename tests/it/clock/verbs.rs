//! What people do with the clock: a job now, the clock with the machine, hooks that hear of a block.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{World, daemon_is_there, until};
use crate::sandbox::Run;

const JOB: &str = "when: {cron: \"0 7 * * *\"}\nrun: \"echo x >> started; [ -e stop ] || echo $$ > out/done\"\ndeliverables: [out/done]";

#[test]
fn a_job_now_is_judged_like_any_run_and_leaves_the_others_alone() {
    let world = World::new(0);
    world.job("a", JOB, "").job("b", "when: {every: 1m}\nrun: \"echo x >> other\"", "").loci(&["clock", "enroll", "."]).exits(0);
    let dry = world.loci(&["jobs", "run", "a", "--dry-run"]).exits(0);
    assert!(dry.stdout.contains("would run a now") && !world.there("started"), "{}", dry.stdout);
    let ran = world.loci(&["jobs", "run", "a"]).exits(0);
    assert!(ran.stdout.contains("a: success"), "{}", ran.stdout);
    assert!(!world.there("other"), "what is due beside it is for the clock");
    world.sandbox.file("root/stop", "");
    world.time(1);
    let missing = world.loci(&["jobs", "run", "a", "--json"]).exits(1).json();
    assert_eq!((&missing["outcome"], &missing["missing"][0]["path"]), (&"missing".into(), &"out/done".into()));
    world.loci(&["ledger"]).exits(1);
    // All that holds for it holds now too.
    world.job("a", &JOB.replace("echo x", "echo y"), "");
    let refused = world.loci(&["jobs", "run", "a"]).exits(2);
    assert!(refused.stderr.contains("not accepted") && refused.stderr.contains("hint: loci jobs accept a"), "{}", refused.stderr);
    world.job("m", "when: {every: 1h}\nrun: claude -p x", "").loci(&["jobs", "accept", "m"]).exits(0);
    let dormant = world.loci(&["jobs", "run", "m"]).exits(2);
    assert!(dormant.stderr.contains("hint: loci jobs arm m"), "{}", dormant.stderr);
    let shown = world.loci(&["jobs", "show", "m"]).exits(0).stdout;
    for part in ["dormant", "loci jobs arm m", "24 runs a day", "1h, then 10s to end"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let armed = world.loci(&["jobs", "arm", "m"]).exits(0);
    assert!(!armed.stderr.contains("not accepted"), "{}", armed.stderr);
    world.job("m", "when: {every: 2h}\nrun: claude -p x", "");
    let armed = world.loci(&["jobs", "arm", "m"]).exits(0);
    assert!(armed.stderr.contains("note: m is not accepted yet: it does not run before that (loci jobs accept m)"), "{}", armed.stderr);
    let none = world.loci(&["jobs", "run", "ab"]).exits(2);
    assert!(none.stderr.contains("no job is called `ab`"), "{}", none.stderr);
}

#[test]
fn where_a_clock_runs_it_runs_the_job() {
    let world = World::new(0);
    world.job("a", JOB, "").loci(&["clock", "enroll", "."]).exits(0);
    let _daemon = world.daemon(None);
    until("the first look", || daemon_is_there(&world));
    let ran = world.loci(&["jobs", "run", "a"]).exits(0);
    assert!(ran.stdout.contains("a: success") && ran.stderr.contains("the clock that runs has it"), "{ran:?}");
    assert_eq!(world.lines("started"), 1);
    until("the wish is forgotten", || fs::read_dir(world.store().join("now")).unwrap().next().is_none().then_some(()));
}

/// Whoever is killed at any operation of a run that was asked for leaves one start at most.
#[test]
fn a_job_now_is_never_started_twice() {
    let count = {
        let world = World::new(0);
        world.job("a", JOB, "").loci(&["clock", "enroll", "."]).exits(0);
        let mut command = world.command(&["jobs", "run", "a"]);
        command.env("LOCI_FAULT", format!("log:{}", world.sandbox.path("ops").display()));
        Run::of(&mut command, None).exits(0);
        fs::read_to_string(world.sandbox.path("ops")).unwrap().lines().count()
    };
    assert!(count > 5, "{count}");
    for nth in 1..=count {
        let world = World::new(0);
        world.job("a", JOB, "").loci(&["clock", "enroll", "."]).exits(0);
        let mut command = world.command(&["jobs", "run", "a"]);
        command.env("LOCI_FAULT", format!("kill:{nth}"));
        Run::of(&mut command, None);
        world.time(5);
        until("its end", || {
            world.once().exits(0);
            world.record("a")["running"].is_null().then_some(())
        });
        assert!(world.lines("started") <= 1, "killed after operation {nth}");
    }
}

/// The hook hears once, with the report, while the set of the run is still on or at least its folder there.
#[test]
fn a_block_is_told_to_hooks_once() {
    let world = World::new(0);
    let hook = "#!/bin/sh\n# hook-events: on-block-report\ncat >> told.json\necho '{\"systemMessage\": \"the hook has heard\"}'\n";
    world.sandbox.exec("root/.loci/hooks/tell.sh", hook);
    world.loci(&["trust", ".", "--yes"]).exits(0);
    world.job("a", JOB, "").sandbox.file("root/stop", "");
    world.loci(&["clock", "enroll", "."]).exits(0);
    for second in [0, 1] {
        world.time(second);
        world.loci(&["jobs", "run", "a"]).exits(1);
    }
    let told = world.sandbox.read("root/told.json");
    assert_eq!(told.lines().count(), 1, "{told}");
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(
        (&told["seam"], &told["report"]["job"], &told["report"]["cause"]),
        (&"on-block-report".into(), &"a".into(), &"missing".into())
    );
    assert!(Path::new(told["report"]["folder"].as_str().unwrap()).join("run.json").is_file());
    assert!(told["text"].as_str().unwrap().starts_with("a is stuck: missing; out/done"), "{told}");
}

/// Whether a program is there; where not, one line says so.
#[expect(clippy::print_stdout, reason = "a test that can't run here says so")]
fn there(program: &str) -> bool {
    let there = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|dir| dir.join(program).exists());
    if !there {
        println!("skipped: {program} is not installed");
    }
    there
}

#[test]
fn a_unit_is_written_once_checked_and_taken_away() {
    let world = World::new(0);
    world.loci(&["clock", "enroll", "."]).exits(0);
    let before = world.sandbox.snapshot("home");
    let dry = world.loci(&["clock", "install", ".", "--systemd", "--dry-run"]).exits(0).stdout;
    assert!(dry.contains("KillMode=process") && dry.contains("then: systemctl --user daemon-reload"), "{dry}");
    assert_eq!(world.sandbox.snapshot("home"), before);
    world.loci(&["clock", "install", ".", "--systemd"]).exits(0);
    let unit = world.sandbox.path("home/.config/systemd/user/loci-clock.service");
    let text = fs::read_to_string(&unit).unwrap();
    assert!(text.contains(&format!(" \"clock\" \"run\" \"{}\"\n", world.sandbox.path("root").display())), "{text}");
    if there("systemd-analyze") {
        let said = Command::new("systemd-analyze").args(["--user", "verify"]).arg(&unit).output().unwrap();
        let words = String::from_utf8_lossy(&said.stderr).into_owned();
        // Where no user manager runs it can't look at all; what it says of the unit itself has its name in it.
        assert!(!words.contains("loci-clock.service:"), "{words}");
    }
    let after = world.sandbox.snapshot("home");
    assert!(world.loci(&["clock", "install", ".", "--systemd"]).exits(0).stdout.contains("is as it should be"));
    assert_eq!(world.sandbox.snapshot("home"), after);
    assert!(world.loci(&["clock", "install", "--systemd", "--remove"]).exits(0).stdout.contains("taken away"));
    assert!(!unit.exists());
    assert!(world.loci(&["clock", "install", "--systemd", "--remove"]).exits(0).stdout.contains("is not there"));
}

#[test]
fn an_agent_of_launchd_is_a_property_list() {
    let world = World::new(0);
    world.loci(&["clock", "install", "--launchd"]).exits(0);
    let agent = world.sandbox.path("home/Library/LaunchAgents/dev.loci.clock.plist");
    if there("python3") {
        let look = "import plistlib,sys; p=plistlib.load(open(sys.argv[1],'rb')); print(p['Label'], p['ProgramArguments'][1:], p['RunAtLoad'], p['AbandonProcessGroup'])";
        let said = Command::new("python3").args(["-c", look]).arg(&agent).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), "dev.loci.clock ['clock', 'run'] True True", "{said:?}");
    }
    world.loci(&["clock", "install", "--launchd", "--remove"]).exits(0);
    assert!(!agent.exists());
}

#[test]
fn a_line_for_cron_comes_and_goes_beside_those_of_others() {
    let world = World::new(0);
    let table = world.sandbox.path("table");
    world.sandbox.exec(
        "bin/crontab",
        format!(
            "#!/bin/sh\ncase $1 in\n-l) [ -e {0} ] || {{ echo 'no crontab for x' >&2; exit 1; }}; cat {0} ;;\n-) cat > {0} ;;\nesac\n",
            table.display()
        ),
    );
    let cron = |args: &[&str]| {
        let mut command = world.command(&["clock", "install", "--cron"]);
        let path = format!("{}:{}", world.sandbox.path("bin").display(), std::env::var("PATH").unwrap());
        command.args(args).env("PATH", path);
        Run::of(&mut command, None).exits(0).stdout
    };
    assert!(cron(&["--dry-run"]).contains("@reboot ") && !table.exists());
    cron(&[]);
    let ours = fs::read_to_string(&table).unwrap();
    assert!(ours.starts_with("@reboot ") && ours.ends_with(" clock run >/dev/null 2>&1 # loci clock\n"), "{ours}");
    fs::write(&table, format!("0 5 * * * true\n{ours}")).unwrap();
    assert!(cron(&[]).contains("is as it should be"));
    cron(&["--remove"]);
    assert_eq!(fs::read_to_string(&table).unwrap(), "0 5 * * * true\n");
}

/// A command line runs as whoever lives where it runs: what is others' it can't write, and they hear of it.
#[test]
fn a_command_writes_nothing_of_others_where_the_kernel_holds_it() {
    let world = World::new(0);
    world.sandbox.file("root/bob/.loci/owner.md", "---\nowner: bob\n---\n").file("root/bob/.loci/agent.md", "---\nid: bob\n---\n");
    world.sandbox.exec("root/work.sh", "#!/bin/sh\necho mine > out/done\necho x > bob/x.txt\n");
    if Run::of(&mut world.command(&["exec", "--", "true"]), None).code != Some(0) {
        crate::exec::skipped("there is no jail here");
        return;
    }
    world.job("a", "when: {every: 1h}\nrun: ./work.sh\ndeliverables: [out/done]", "").loci(&["clock", "enroll", "."]).exits(0);
    world.loci(&["jobs", "run", "a"]).exits(0);
    assert!(world.there("out/done") && !world.there("bob/x.txt"));
    let mail = world.sandbox.loci("root/bob", ["inbox", "--json"]).exits(0).json();
    assert_eq!(mail["messages"][0]["from"], "a", "{mail}");
    // Who wants no kernel has none.
    world.sandbox.file("home/.loci/config.yaml", "custody: read\n");
    world.time(1);
    world.loci(&["jobs", "run", "a"]).exits(0);
    assert!(world.there("bob/x.txt"));
}

/// Where custody is required a body is embodied as itself, held by the kernel: what is others' it can't write, its own it can, and they hear of it.
#[test]
fn a_body_is_embodied_in_a_jail_where_custody_is_required() {
    let world = World::new(0);
    world.sandbox.exec(
        "bin/x",
        "#!/bin/sh\necho mine >> done\n(echo x > ../bob/x.txt) 2> /dev/null\n[ -n \"$LOCI_JAIL\" ] && echo held >> done\nexit 0\n",
    );
    world.sandbox.file("home/.loci/runtimes/x.md", format!("---\nprogram: {}\ngrace: 1s\n---\n", world.sandbox.path("bin/x").display()));
    world.sandbox.file("root/bob/.loci/owner.md", "---\nowner: bob\n---\n").file("root/bob/.loci/agent.md", "---\nid: bob\n---\n");
    world.sandbox.file("root/b/.loci/agent.md", "---\nid: b\nruntime: x\n---\n").dir("root/.git");
    if Run::of(&mut world.command(&["exec", "--", "true"]), None).code != Some(0) {
        crate::exec::skipped("there is no jail here");
        return;
    }
    world.sandbox.file("home/.loci/config.yaml", "custody: required\n");
    world.job("a", "when: {every: 1h}\nagent: b\ndeliverables: [done]", "Go.").loci(&["clock", "enroll", "."]).exits(0);
    world.loci(&["jobs", "arm", "a"]).exits(0);
    world.loci(&["jobs", "run", "a"]).exits(0);
    assert_eq!(world.sandbox.read("root/b/done"), "mine\nheld\n");
    assert!(!world.there("bob/x.txt"));
    let mail = world.sandbox.loci("root/bob", ["inbox", "--json"]).exits(0).json();
    assert_eq!((&mail["messages"][0]["from"], &mail["messages"][0]["change"]), (&"b".into(), &"command".into()), "{mail}");
    // Who wants no kernel has none.
    world.sandbox.file("home/.loci/config.yaml", "custody: read\n");
    world.time(1);
    world.loci(&["jobs", "run", "a"]).exits(0);
    assert_eq!(world.sandbox.read("root/b/done"), "mine\nheld\nmine\n");
    assert!(world.there("bob/x.txt"), "whether the test can see");
}

/// What nobody armed reaches no model, whatever its script calls.
#[test]
fn below_a_job_that_nobody_armed_no_body_is_embodied() {
    let world = World::new(0);
    let program = world.sandbox.path("bin/x");
    world.sandbox.exec("bin/x", "#!/bin/sh\necho x >> runs\n");
    world.sandbox.file("home/.loci/runtimes/x.md", format!("---\nprogram: {}\n---\n", program.display()));
    world.sandbox.file("root/b/.loci/agent.md", "---\nid: b\nruntime: x\n---\n");
    let loci = env!("CARGO_BIN_EXE_loci");
    world.sandbox.exec("root/work.sh", format!("#!/bin/sh\n\"{loci}\" run b hello > said 2>&1\n"));
    world.job("a", "when: {every: 1h}\nrun: ./work.sh", "").loci(&["clock", "enroll", "."]).exits(0);
    world.loci(&["jobs", "run", "a"]).exits(0);
    let said = world.sandbox.read("root/said");
    assert!(said.contains("the job a is not armed") && !world.there("b/runs"), "{said}");
    world.loci(&["jobs", "arm", "a"]).exits(0);
    world.time(1);
    world.loci(&["jobs", "run", "a"]).exits(0);
    assert_eq!(world.lines("b/runs"), 1, "{}", world.sandbox.read("root/said"));
    // A body by itself, with a message.
    world.job("c", "when: {every: 1h}\nagent: b", "do it").loci(&["jobs", "accept", "c"]).exits(0);
    world.loci(&["jobs", "arm", "c"]).exits(0);
    world.time(2);
    world.loci(&["jobs", "run", "c"]).exits(0);
    assert_eq!(world.lines("b/runs"), 2);
}
