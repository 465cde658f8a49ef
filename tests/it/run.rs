//! `run`: a body is handed to a program; what it sees, who may, and that nothing is left of it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::sandbox::{Run, Sandbox};

/// A body, and a socket `x` whose program is this script.
fn world(script: &str) -> Sandbox {
    let world = Sandbox::new();
    world.dir("r/.git").file("r/a/.loci/agent.md", "---\nid: alice\nruntime: x\n---\n");
    program(&world, "x", script);
    world
}

/// A socket of that name with a script as its program.
fn program(world: &Sandbox, name: &str, script: &str) {
    world.exec(format!("bin/{name}"), format!("#!/bin/bash\n{script}\n"));
    let program = world.path(format!("bin/{name}"));
    world.file(
        format!("home/.loci/runtimes/{name}.md"),
        format!(
            "---\nprogram: {}\nheadless: [\"{{session}}\", \"{{model}}\"]\ninteractive: [talk]\nmodel: [-m, \"{{model}}\"]\nsession: [new, \"{{session}}\"]\nresume: [again, \"{{session}}\"]\ngrace: 1s\n---\n",
            program.display()
        ),
    );
}

/// Starts a run; returns when its program has said a line.
fn started(world: &Sandbox, args: &[&str]) -> (Child, String) {
    let mut command = world.command("r");
    let mut child = command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    // The pipe stays open, and is drained, as with a reader that is there.
    std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
    (child, line.trim().to_owned())
}

fn told(mut child: Child, signals: &[Signal]) -> (Option<i32>, String) {
    for signal in signals {
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), *signal).unwrap();
    }
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    (child.wait().unwrap().code(), stderr)
}

/// Whether anything lives that was started in this world.
fn living(world: &Sandbox) -> Vec<String> {
    let home = format!("HOME={}", world.path("home").display());
    let here = world.path("").display().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let dir = entry.path();
        let vars = fs::read(dir.join("environ")).unwrap_or_default();
        let line = String::from_utf8_lossy(&fs::read(dir.join("cmdline")).unwrap_or_default()).replace('\0', " ");
        let cwd = fs::read_link(dir.join("cwd")).unwrap_or_default();
        if vars.split(|byte| *byte == 0).any(|var| var == home.as_bytes()) || line.contains(&here) || cwd.starts_with(world.path("")) {
            found.push(format!("{} {line}", entry.file_name().to_string_lossy()));
        }
    }
    found
}

/// Nothing of a run is left: no process, no record, no half-written file.
fn nothing_is_left(world: &Sandbox) {
    assert_eq!(living(world), Vec::<String>::new());
    let snapshot = world.snapshot("");
    let left = snapshot.into_keys().filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("run-") && name.ends_with(".json") || name.contains("tmp-")
    });
    assert_eq!(left.collect::<Vec<_>>(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn the_program_gets_three_variables_the_directory_and_the_message() {
    let world = world("pwd; env | grep -v '^\\(_\\|SHLVL\\|PWD\\|OLDPWD\\)=' | sort; echo \"args: $*\"; cat; echo words >&2; exit 7");
    let run = world.loci("r", ["run", "a", "do it\nnow", "--model", "m1"]).exits(7);
    let mut lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.remove(0), world.path("r/a").to_str().unwrap());
    assert_eq!(lines.split_off(lines.len() - 2), ["do it", "now"]);
    let args = lines.pop().unwrap();
    assert!(args.starts_with("args: new ") && args.ends_with(" -m m1"), "{args}");
    let outside = Run::of(world.command("r").arg("--version").env_remove("X"), None);
    assert!(outside.code == Some(0));
    let names: Vec<&str> = lines.iter().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    assert_eq!(names, ["HOME", "LANG", "LOCI_AGENT", "LOCI_ANCESTORS", "LOCI_BODY", "LOCI_RUN", "PATH", "TZ", "XDG_STATE_HOME"]);
    let value = |name: &str| lines.iter().find_map(|line| line.strip_prefix(&format!("{name}="))).unwrap();
    assert_eq!((value("LOCI_AGENT"), value("LOCI_BODY")), ("alice", world.path("r/a").to_str().unwrap()));
    assert_eq!(value("LOCI_RUN").len(), 20);
    assert_eq!(run.stderr, "words\n");
    nothing_is_left(&world);
}

#[test]
fn the_object_says_what_came_of_it() {
    let world = world("printf 'ok \\xff\\n'; exit 3");
    let object = world.loci("r", ["run", "a", "go", "--json"]).exits(3).json();
    let keys: Vec<&String> = object.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["schema", "agent", "body", "runtime", "run", "exit", "reply", "cut", "started", "ended", "session", "left"]);
    assert_eq!((object["agent"].as_str(), object["runtime"].as_str(), object["exit"].as_u64()), (Some("alice"), Some("x"), Some(3)));
    assert_eq!((object["reply"].as_str(), object["cut"].as_bool()), (Some("ok \u{fffd}\n"), Some(false)));
    assert_eq!(object["session"].as_str().map(str::len), Some(36));
    // A program's own end, whatever it is.
    for (script, code) in [("exit 137", 137), ("kill -9 $$", 137), ("kill -SEGV $$", 139), ("exit 0", 0)] {
        program(&world, "x", script);
        world.loci("r", ["run", "a", "go"]).exits(code);
    }
    // What it prints goes through as it is, where nobody wants an object.
    program(&world, "x", "printf '\\xff\\x00\\xfe'");
    let output = world.command("r").args(["run", "a", "go"]).output().unwrap();
    assert_eq!(output.stdout, b"\xff\x00\xfe");
    nothing_is_left(&world);
}

#[test]
fn a_flood_is_bounded_and_does_not_hold_up() {
    let world = world("head -c 1G /dev/zero | tr '\\0' x; head -c 1M /dev/zero >&2");
    let object = world.loci("r", ["run", "a", "go", "--json"]).exits(0).json();
    assert_eq!((object["reply"].as_str().map(str::len), object["cut"].as_bool()), (Some(8 << 20), Some(true)));
    // A reader that goes away ends it, as in any pipe.
    program(&world, "x", "yes");
    let line = format!("{} run a go | head -c 10", env!("CARGO_BIN_EXE_loci"));
    let mut shell = Command::new("bash");
    shell.args(["-c", &line]).current_dir(world.path("r")).env_clear();
    for (name, value) in world.command("r").get_envs() {
        shell.env(name, value.unwrap());
    }
    assert_eq!(Run::of(&mut shell, None).exits(0).stdout.len(), 10);
    nothing_is_left(&world);
}

#[test]
fn the_message_may_come_from_standard_input() {
    let world = world("cat");
    let given = |text: &[u8]| Run::of(world.command("r").args(["run", "a"]), Some(text));
    assert_eq!(given(b"from elsewhere").exits(0).stdout, "from elsewhere");
    assert!(given(b" \n").exits(2).stderr.contains("there is no message"));
    assert!(given(b"\xff").exits(2).stderr.contains("no UTF-8"));
    assert!(world.loci("r", ["run", "a"]).exits(2).stderr.contains("there is no message"));
    // Large ones pass on standard input, and are refused as a word before anything starts.
    let large = "x".repeat(200_000);
    assert_eq!(given(large.as_bytes()).exits(0).stdout.len(), 200_000);
    world.file("home/.loci/runtimes/w.md", "---\nprogram: /bin/echo\nheadless: [\"{message}\"]\n---\n");
    let run = Run::of(world.command("r").args(["run", "a", "--runtime", "w"]), Some(large.as_bytes())).exits(2);
    assert!(run.stderr.contains("too long for one") && run.stderr.contains("hint:"), "{}", run.stderr);
    assert_eq!(world.loci("r", ["run", "a", "--runtime", "w", "-x {model}"]).exits(2).code, Some(2), "a word that looks like a flag");
    assert_eq!(world.loci("r", ["run", "a", "--runtime", "w", "a {model} {message}"]).exits(0).stdout, "a {model} {message}\n");
}

#[test]
fn any_program_is_a_runtime() {
    let world = world("exit 1");
    assert_eq!(world.loci("r", ["run", "a", "one two", "--", "wc", "-w"]).exits(0).stdout.trim(), "2");
    let run = world.loci("r", ["run", "a", "x", "--", "nowhere-to-be-found"]).exits(2);
    assert!(run.stderr.contains("its program is `nowhere-to-be-found`, and no directory of PATH has it"), "{}", run.stderr);
    assert_eq!(world.loci("r", ["run", "a", "one two", "--runtime", "command", "--", "wc", "-w"]).exits(0).stdout.trim(), "2");
    // Two programs are one too many.
    for name in ["claude", "mine"] {
        let run = world.loci("r", ["run", "a", "x", "--runtime", name, "--", "cat"]).exits(2);
        assert!(run.stderr.contains("behind `--` stands cat") && run.stderr.contains(name), "{}", run.stderr);
    }
    // A shell that has sessions alone runs no message.
    world.file("home/.loci/runtimes/sh.md", "---\nprogram: /bin/sh\ninteractive: [-c, 'exec cat']\n---\n");
    let run = world.loci("r", ["run", "a", "echo pwned > here", "--runtime", "sh"]).exits(2);
    assert!(run.stderr.contains("no `headless`") && !world.path("r/a/here").exists(), "{}", run.stderr);
    world.file("home/.loci/runtimes/slip.md", "---\nprogram: /bin/echo\nheadless: [\"{message}\", \"{mesage}\"]\n---\n");
    let run = world.loci("r", ["run", "a", "x", "--runtime", "slip"]).exits(2);
    assert!(run.stderr.contains("slip.md:3") && run.stderr.contains("did you mean `{message}`?"), "{}", run.stderr);
    let run = world.loci("r", ["run", "a", "x", "--runtime", "command"]).exits(2);
    assert!(run.stderr.contains("names no program") && run.stderr.contains("runtimes/command.md"), "{}", run.stderr);
}

#[test]
fn what_is_missing_is_named_with_a_way_on() {
    let world = world("exit 0");
    let stderr = |args: &[&str]| world.loci("r", args.iter().copied()).exits(2).stderr;
    let said = stderr(&["run", "a", "x", "--runtime", "cluade"]);
    assert!(said.contains("find the runtime `cluade`") && said.contains("hint: loci run DIR --runtime claude"), "{said}");
    assert!(stderr(&["run", "a", "x", "--runtime", "../x"]).contains("find the runtime"));
    let mut alone = world.command("r");
    alone.args(["run", "a", "x", "--runtime", "claude"]).env("PATH", world.path("nowhere"));
    let run = Run::of(&mut alone, None).exits(2);
    assert!(run.stderr.contains("its program is `claude`") && run.stderr.contains(".loci/runtimes/claude.md"), "{}", run.stderr);
    assert!(stderr(&["run", "nowhere", "x"]).contains("it is no directory"));
    let said = stderr(&["run", ".", "x"]);
    assert!(said.contains("no agent lives there") && said.contains("--into"), "{said}");
    world.file("home/.loci/runtimes/bad.md", "---\nprogram: x\nheadlss: []\n---\n");
    let said = stderr(&["run", "a", "x", "--runtime", "bad"]);
    assert!(said.contains("runtimes/bad.md:3)") && said.contains("did you mean `headless`"), "{said}");
    assert!(world.loci("r", ["show", "a"]).exits(0).stdout.contains("bad.md:3: "));
    world.file("home/.loci/runtimes/key.md", "---\nprogram: cat\nneeds: [SOME_KEY]\n---\n");
    assert!(stderr(&["run", "a", "x", "--runtime", "key"]).contains("needs SOME_KEY"));
    // Of several harnesses none is guessed; the one that is there is taken.
    world.file("r/b/.loci/agent.md", "---\nid: bob\n---\n");
    world.exec("one/claude", "#!/bin/sh\necho claude $1\n").exec("two/claude", "").exec("two/pi", "");
    let with = |path: &str| {
        let mut command = world.command("r");
        command.args(["run", "b", "x"]).env("PATH", format!("{}:/usr/bin:/bin", world.path(path).display()));
        Run::of(&mut command, None)
    };
    assert_eq!(with("one").exits(0).stdout, "claude -p\n");
    let said = with("two").exits(2).stderr;
    assert!(said.contains("claude, pi are installed") && said.contains("hint: loci run b --runtime claude"), "{said}");
    assert!(with("nowhere").exits(2).stderr.contains("no harness is in PATH"));
    // A program that can't be started leaves nothing.
    world.exec("bin/x", "#!/nowhere/interpreter\n");
    assert!(stderr(&["run", "a", "x"]).contains("failed to "));
    nothing_is_left(&world);
}

#[test]
fn a_body_is_embodied_once_unless_it_is_joined() {
    let world = world("echo $LOCI_RUN; trap 'exit 9' TERM; while :; do sleep 0.02; done");
    let (first, id) = started(&world, &["run", "a", "go"]);
    let object = world.loci("r", ["run", "a", "go", "--json"]).exits(2).json();
    let message = object["error"]["message"].as_str().unwrap();
    assert_eq!(object["error"]["kind"], "locked");
    assert!(message.contains("a is embodied already: x since 20") && message.contains(&format!("pid {}", first.id())), "{message}");
    assert!(object["error"]["hint"].as_str().unwrap().ends_with("--join"));
    let (second, other) = started(&world, &["run", "a", "go", "--join"]);
    assert_ne!(id, other);
    assert_eq!(told(first, &[Signal::SIGTERM]).0, Some(9));
    world.loci("r", ["run", "a", "go"]).exits(2);
    assert_eq!(told(second, &[Signal::SIGTERM]).0, Some(9));
    program(&world, "x", "exit 0");
    world.loci("r", ["run", "a", "go"]).exits(0);
    nothing_is_left(&world);
}

/// The records of a body.
fn record(world: &Sandbox, change: impl Fn(&mut Value)) -> std::path::PathBuf {
    let (first, _) = started(world, &["run", "a", "go"]);
    let paths = world.snapshot("state/loci/bodies");
    let path = paths.keys().find(|path| path.to_string_lossy().contains("run-")).unwrap();
    let path = world.path("state/loci/bodies").join(path);
    let mut value: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(told(first, &[Signal::SIGTERM]).0, Some(9));
    assert!(!path.exists());
    change(&mut value);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, value.to_string()).unwrap();
    path
}

#[test]
fn a_record_is_believed_by_identity_never_by_age() {
    let world = world("trap 'exit 9' TERM; echo; while :; do sleep 0.02; done");
    let me = std::process::id();
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let start: u64 = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse().unwrap();
    // Somebody who lives, since long ago.
    let path = record(&world, |value| {
        value["process"]["pid"] = me.into();
        value["process"]["start"] = start.into();
        value["since"] = "2001-01-01T00:00:00Z".into();
    });
    let run = world.loci("r", ["run", "a", "go"]).exits(2);
    assert!(run.stderr.contains(&format!("since 2001-01-01T00:00:00Z, pid {me}")), "{}", run.stderr);
    fs::remove_file(path).unwrap();
    // The same number, another process; a process of another boot; one that is gone; no record at all.
    let changes: [&dyn Fn(&mut Value); 4] = [
        &|value| (value["process"]["pid"], value["process"]["start"]) = (me.into(), (start + 1).into()),
        &|value| (value["process"]["pid"], value["process"]["start"], value["process"]["boot"]) = (me.into(), start.into(), "other".into()),
        &|_| {},
        &|value| *value = Value::Null,
    ];
    for change in changes {
        let path = record(&world, change);
        let (run, _) = started(&world, &["run", "a", "go"]);
        assert!(!path.exists());
        assert_eq!(told(run, &[Signal::SIGTERM]).0, Some(9));
    }
    nothing_is_left(&world);
}

#[test]
fn a_signal_reaches_all_of_it_and_daemons_are_found() {
    // A child, one in a session of its own, and one that has wiped its environment besides.
    let script = "sleep 71 & setsid sleep 72 & (setsid env -i bash -c 'cd /; exec sleep 73' &) ; sleep 0.1; echo up; wait";
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let world = world(script);
        let (run, _) = started(&world, &["run", "a", "go"]);
        let (code, stderr) = told(run, &[signal]);
        assert_eq!(code, Some(128 + signal as i32), "{stderr}");
        nothing_is_left(&world);
    }
    // What stays behind a program that ends by itself is ended too, and said.
    let world = world("setsid sleep 72 >&- 2>&- & (setsid env -i bash -c 'cd /; exec sleep 7373' >&- 2>&- &) ; sleep 0.1; echo up");
    let run = world.loci("r", ["run", "a", "go"]).exits(0);
    assert!(
        run.stderr.starts_with("note: ended what it left running: pid ") && run.stderr.matches("(sleep)").count() == 2,
        "{}",
        run.stderr
    );
    assert!(!living_line("sleep 7373"));
    nothing_is_left(&world);
}

fn living_line(line: &str) -> bool {
    fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).replace('\0', " ").trim() == line
    })
}

#[test]
fn who_does_not_listen_is_killed_after_the_grace_or_at_a_second_word() {
    let script = "trap '' TERM INT HUP; echo up; while :; do sleep 0.05; done";
    let world = world(script);
    let (run, _) = started(&world, &["run", "a", "go"]);
    assert_eq!(told(run, &[Signal::SIGTERM]).0, Some(137));
    nothing_is_left(&world);
    let socket = world.read("home/.loci/runtimes/x.md").replace("grace: 1s", "grace: 600s");
    world.file("home/.loci/runtimes/x.md", socket);
    let (run, _) = started(&world, &["run", "a", "go"]);
    assert_eq!(told(run, &[Signal::SIGINT, Signal::SIGTERM]).0, Some(137));
    nothing_is_left(&world);
    // Stopped, it hears all the same.
    program(&world, "x", "trap 'exit 5' TERM; echo up; kill -STOP $$; while :; do sleep 0.05; done");
    let (run, _) = started(&world, &["run", "a", "go"]);
    assert_eq!(told(run, &[Signal::SIGTERM]).0, Some(5));
    nothing_is_left(&world);
}

#[test]
fn killed_itself_it_takes_its_program_along_and_bars_nobody() {
    let world = world("trap 'exit 9' TERM; echo up; while :; do sleep 0.02; done");
    let (mut run, _) = started(&world, &["run", "a", "go"]);
    kill(Pid::from_raw(i32::try_from(run.id()).unwrap()), Signal::SIGKILL).unwrap();
    assert_eq!(run.wait().unwrap().signal(), Some(9));
    program(&world, "y", "exit 0");
    // It may take a moment to go; until then it holds the body, and is named.
    let mut tries = 0;
    loop {
        let next = world.loci("r", ["run", "a", "go", "--runtime", "y"]);
        if next.code == Some(0) {
            break;
        }
        assert!(next.code == Some(2) && next.stderr.contains("which outlived the run that started it"), "{}", next.stderr);
        tries += 1;
        assert!(tries < 1000);
    }
    nothing_is_left(&world);
}

#[test]
fn what_does_not_go_with_a_killed_run_holds_the_body_until_a_person_ends_it() {
    let world = world("trap '' TERM INT HUP; echo up; while :; do sleep 0.02; done");
    let (mut run, _) = started(&world, &["run", "a", "go"]);
    kill(Pid::from_raw(i32::try_from(run.id()).unwrap()), Signal::SIGKILL).unwrap();
    run.wait().unwrap();
    program(&world, "y", "exit 0");
    let refused = world.loci("r", ["run", "a", "go", "--runtime", "y"]).exits(2).stderr;
    assert!(refused.contains("which outlived the run that started it"), "{refused}");
    let pid = refused.split_once("hint: kill -9 ").unwrap().1.split(' ').next().unwrap().parse().unwrap();
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    let mut tries = 0;
    while world.loci("r", ["run", "a", "go", "--runtime", "y"]).code != Some(0) {
        tries += 1;
        assert!(tries < 1000);
    }
    nothing_is_left(&world);
}

#[test]
fn of_many_that_start_at_once_one_embodies_it() {
    let world = world("echo up; while [ -d ../../r ] && [ ! -e ../../gate ]; do sleep 0.02; done");
    let (tell, told) = std::sync::mpsc::channel();
    for _ in 0..6 {
        let run = world.command("r").args(["run", "a", "go"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let tell = tell.clone();
        std::thread::spawn(move || tell.send(run.wait_with_output().unwrap()));
    }
    // Those that were refused end by themselves; the one that runs waits for this file.
    let mut ended: Vec<_> = (0..5).map(|_| told.recv_timeout(Duration::from_secs(60)).unwrap()).collect();
    world.file("gate", "");
    ended.push(told.recv_timeout(Duration::from_secs(60)).unwrap());
    assert_eq!(ended.iter().filter(|one| one.status.code() == Some(0) && one.stdout == b"up\n").count(), 1, "{ended:?}");
    assert_eq!(ended.iter().filter(|one| one.status.code() == Some(2) && one.stdout.is_empty()).count(), 5, "{ended:?}");
    nothing_is_left(&world);
}

#[test]
fn the_last_session_is_resumed() {
    let world = world("echo \"$1 $2\"");
    let first = world.loci("r", ["run", "a", "go", "--json"]).exits(0).json();
    let id = first["session"].as_str().unwrap();
    assert_eq!(first["reply"], format!("new {id}\n"));
    assert_eq!(world.loci("r", ["run", "a", "go on", "--resume"]).exits(0).stdout, format!("again {id}\n"));
    let third = world.loci("r", ["run", "a", "go", "--json"]).exits(0).json();
    assert_ne!(third["session"].as_str(), Some(id));
    // One that failed has begun nothing that could be resumed.
    program(&world, "x", "echo \"$1 $2\"; [ \"$1\" = again ]");
    world.loci("r", ["run", "a", "go"]).exits(1);
    let resumed = world.loci("r", ["run", "a", "go", "--resume", "--json"]).exits(0).json();
    assert_eq!(
        (&resumed["session"], &resumed["reply"]),
        (&third["session"], &Value::from(format!("again {}\n", third["session"].as_str().unwrap())))
    );
    // By runtime and by body.
    program(&world, "y", "exit 0");
    let run = world.loci("r", ["run", "a", "go", "--resume", "--runtime", "y"]).exits(2);
    assert!(run.stderr.contains("alice had no session with y yet"), "{}", run.stderr);
    // One that tells its id itself, and one that only knows its own last one.
    world.exec(
        "bin/t",
        "#!/bin/sh\necho \"$*\"; head -c 300000 /dev/zero | tr '\\0' w >&2; printf '\\nsession id: s-42\\n' >&2; cat >/dev/null\n",
    );
    let t = world.path("bin/t");
    world.file(
        "home/.loci/runtimes/t.md",
        format!("---\nprogram: {}\nheadless: [\"{{session}}\"]\nresume: [re, \"{{session}}\"]\ntold: \"session id: \"\n---\n", t.display()),
    );
    let told = world.loci("r", ["run", "a", "go", "--runtime", "t"]).exits(0);
    assert!(told.stderr.contains("session id: s-42"), "{}", told.stderr);
    assert_eq!(world.loci("r", ["run", "a", "go", "--runtime", "t", "--resume"]).exits(0).stdout, "re s-42\n");
    world
        .file("home/.loci/runtimes/l.md", format!("---\nprogram: {}\nheadless: [\"{{session}}\"]\nlast: [--continue]\n---\n", t.display()));
    assert_eq!(world.loci("r", ["run", "a", "go", "--runtime", "l", "--resume"]).exits(0).stdout, "--continue\n");
    let run = world.loci("r", ["run", "a", "go", "--resume", "--", "cat"]).exits(2);
    assert!(run.stderr.contains("has no `resume`"), "{}", run.stderr);
}

#[test]
fn a_dry_run_says_how_and_starts_nothing() {
    let world = world("touch started");
    let before = world.snapshot("");
    let run = world.loci("r", ["run", "a", "go", "--dry-run"]).exits(0);
    for word in [format!("in     {}", world.path("r/a").display()), "set    LOCI_AGENT=alice".to_owned(), "stdin  the message".to_owned()] {
        assert!(run.stdout.contains(&word), "{}", run.stdout);
    }
    let object = world.loci("r", ["run", "a", "go", "--dry-run", "--json", "--runtime", "x"]).exits(0).json();
    assert_eq!(object["program"], world.path("bin/x").to_str().unwrap());
    assert_eq!((object["interactive"].as_bool(), object["env"]["LOCI_AGENT"].as_str()), (Some(false), Some("alice")));
    assert_eq!(world.snapshot(""), before);
}

#[test]
fn an_agent_asks_a_person_to_run_another() {
    let world = world("touch started; echo ran");
    world.file("r/b/.loci/agent.md", "---\nid: bob\n---\n");
    let mut command = world.command("r/b");
    command.args(["run", "../a", "go"]).env("LOCI_AGENT", "bob").env("LOCI_BODY", world.path("r/b"));
    let run = Run::of(&mut command, None).exits(1);
    assert!(run.stderr.contains("filed as a request"), "{}", run.stderr);
    assert!(!world.path("r/a/started").exists());
    let listed = world.loci("r", ["requests", "--json"]).exits(0).json();
    let id = listed["requests"][0]["id"].as_str().unwrap();
    let shown = world.loci("r", ["approve", id, "--json"]).exits(1).json();
    assert!(shown["shown"].to_string().contains("set    LOCI_AGENT=alice"), "{shown}");
    let done = world.loci("r", ["approve", id, "--hash", shown["hash"].as_str().unwrap()]).exits(0);
    assert!(world.path("r/a/started").exists(), "{done:?}");
    nothing_is_left(&world);
}

#[test]
fn what_is_not_armed_runs_no_agent() {
    let world = world("touch started");
    let mut command = world.command("r");
    command.args(["run", "a", "go"]).env("LOCI_UNARMED", "nightly");
    let run = Run::of(&mut command, None).exits(1);
    assert!(run.stderr.contains("the job nightly is not armed"), "{}", run.stderr);
    assert!(!world.path("r/a/started").exists());
}

#[test]
fn a_gate_that_is_not_connected_is_said() {
    let world = world("exit 0");
    world.exec("tools/claude", "#!/bin/sh\ncat >/dev/null\n").exec("tools/cline", "#!/bin/sh\nexit 0\n");
    let run = |runtime: &str| {
        let mut command = world.command("r");
        command.args(["run", "a", "go", "--runtime", runtime]);
        command.env("PATH", format!("{}:/usr/bin:/bin", world.path("tools").display()));
        Run::of(&mut command, None).exits(0).stderr
    };
    assert!(run("claude").starts_with("warning: the gate of claude is not connected"), "{}", run("claude"));
    assert!(run("claude").contains("loci connect claude"));
    assert_eq!(run("x"), "");
    world.loci("r", ["connect", "claude"]).exits(0);
    assert_eq!(run("claude"), "");
}

#[test]
fn a_disk_that_refuses_starts_nothing_and_a_kill_bars_nobody() {
    let world = world("touch started");
    let log = world.path("home/log");
    world.loci("r", ["run", "a", "go"]).exits(0);
    let faulty = |fault: String| Run::of(world.command("r").args(["run", "a", "go"]).env("LOCI_FAULT", fault), None);
    let _ = fs::remove_dir_all(world.path("state/loci/bodies"));
    faulty(format!("log:{}", log.display())).exits(0);
    let lines = fs::read_to_string(&log).unwrap();
    let begun = lines.lines().position(|line| line.contains("run-")).unwrap() + 1;
    for n in 1..=lines.lines().count() {
        let _ = (fs::remove_dir_all(world.path("state/loci/bodies")), fs::remove_file(world.path("r/a/started")));
        let run = faulty(format!("fail:{n}:28"));
        assert!(run.code == Some(2) || n > begun, "{n}: {run:?}");
        assert!(n > begun || !world.path("r/a/started").exists(), "{n}");
        world.loci("r", ["run", "a", "go"]).exits(0);
        faulty(format!("kill:{n}"));
        let mut tries = 0;
        // What it had started may take a moment to go.
        while world.loci("r", ["run", "a", "go"]).code != Some(0) {
            tries += 1;
            assert!(tries < 1000, "{n}");
        }
        nothing_is_left(&world);
    }
}

/// A person's terminal, by `script`.
#[expect(clippy::print_stdout, reason = "a test that can't run here says so")]
fn at_terminal(world: &Sandbox, line: &str, typed: &str) -> Option<(Option<i32>, String)> {
    if !Path::new("/usr/bin/script").exists() {
        println!("skipped: no /usr/bin/script to make a terminal with");
        return None;
    }
    let mut command = Command::new("/usr/bin/script");
    command.args(["-qec", line, "/dev/null"]).current_dir(world.path("r")).env_clear();
    for (name, value) in world.command("r").get_envs() {
        command.env(name, value.unwrap());
    }
    command.env("SHELL", "/bin/bash").env("TERM", "dumb");
    let run = Run::of(&mut command, Some(typed.as_bytes()));
    Some((run.code, run.stdout))
}

#[test]
fn a_session_has_the_terminal_and_gives_it_back() {
    let script = "[ -t 0 ] && [ -t 1 ] && echo \"args $*\"\nset -- $(cut -d')' -f2 /proc/$$/stat)\n[ \"$3\" = \"$6\" ] && echo foreground\nstty -echo; read -r line; echo \"got $line\"; exit 4";
    let world = world(script);
    let loci = env!("CARGO_BIN_EXE_loci");
    let line = format!("{loci} run a; echo code $?; stty -a | grep -o -- '-\\?echo ' | head -1; read -r more; echo then $more");
    let Some((_, said)) = at_terminal(&world, &line, "hello\nafter\n") else { return };
    for word in ["args talk", "foreground", "got hello", "code 4", "then after"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert!(!said.contains("-echo "), "the terminal is as it was: {said}");
    nothing_is_left(&world);
}

#[test]
fn at_the_terminal_an_interrupt_is_the_programs_own() {
    // It lives on after one: what the terminal sends is not for us.
    let world = world("trap 'echo interrupted; exit 6' INT; kill -INT 0; sleep 0.2; echo lived");
    let line = format!("{} run a; echo code $?", env!("CARGO_BIN_EXE_loci"));
    let Some((_, said)) = at_terminal(&world, &line, "") else { return };
    assert!(said.contains("interrupted") && said.contains("code 6"), "{said}");
    nothing_is_left(&world);
}
