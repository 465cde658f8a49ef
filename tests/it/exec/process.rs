//! The command is a process like any other: streams, signals, exit code, group, terminal, background.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use super::{World, as_each, skipped, there};
use crate::sandbox::Run;

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap())
}

/// Starts a command that prints a line when it is ready, and waits for that line.
fn ready(mut command: Command) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (child, lines)
}

#[test]
fn exit_codes_are_the_commands_own() {
    as_each(|world| {
        let exec = |words: &[&str]| Run::of(&mut world.loci(["exec", "--as", "alice", "--"].iter().chain(words)), None);
        exec(&["bash", "-c", "exit 37"]).exits(37);
        exec(&["true"]).exits(0);
        let missing = exec(&["no-such-command"]).exits(127);
        assert!(missing.stderr.contains("failed to run no-such-command: it was not found"), "{}", missing.stderr);
        exec(&["/no/such/file"]).exits(127);
        exec(&["/etc/passwd"]).exits(126);
        exec(&["/"]).exits(126);
        for signal in [Signal::SIGTERM, Signal::SIGKILL, Signal::SIGINT, Signal::SIGPIPE] {
            let mut command = world.exec(&format!("kill -{} $$", signal as i32));
            let status = command.stderr(Stdio::null()).status().unwrap();
            assert_eq!(status.signal(), Some(signal as i32), "{signal}");
        }
    });
}

#[test]
fn who_and_where_are_as_outside() {
    as_each(|world| {
        let script = "id; pwd; umask; ulimit -n; echo $$ > /dev/null; ps -o tty= -p $$; ls -ln bob/x.txt; nice; env | grep -v -e ^LOCI_ -e ^_= | sort";
        let inside = world.run(script).exits(0);
        let outside = Run::of(&mut world.shell(script), None).exits(0);
        assert_eq!(inside.stdout, outside.stdout);
        // Started in a directory that is held, and in one reached by a link.
        for dir in ["bob", "bobalias", "bob/alice_inner", "deep/a/b"] {
            let mut command = world.exec("pwd -P; ls > /dev/null");
            let real = std::fs::canonicalize(world.repo().join(dir)).unwrap();
            assert_eq!(Run::of(command.current_dir(world.repo().join(dir)), None).exits(0).stdout, format!("{}\n", real.display()));
        }
    });
}

#[test]
fn streams_are_the_callers() {
    as_each(|world| {
        let run = Run::of(&mut world.exec("cat; echo err >&2; exit 3"), Some(b"in\n")).exits(3);
        assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("in\n", "err\n"));
        let loci = env!("CARGO_BIN_EXE_loci");
        // A pipeline that ends early, in both directions.
        let script = format!("yes | {loci} exec --as alice -- head -1; {loci} exec --as alice -- yes | head -2; echo ${{PIPESTATUS[@]}}");
        assert_eq!(Run::of(&mut world.shell(&script), None).exits(0).stdout, "y\ny\ny\n141 0\n");
    });
}

#[test]
fn the_process_group_is_the_callers() {
    as_each(|world| {
        let mut command = world.exec("cut -d' ' -f5 /proc/self/stat");
        let child = command.process_group(0).stdout(Stdio::piped()).spawn().unwrap();
        let group = child.id();
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{group}\n"));
    });
}

#[test]
fn signals_reach_the_command() {
    as_each(|world| {
        for (signal, code) in [(Signal::SIGTERM, 9), (Signal::SIGUSR1, 10), (Signal::SIGHUP, 11)] {
            let script = "trap 'exit 9' TERM; trap 'exit 10' USR1; trap 'exit 11' HUP; echo ready; read x <&0 & while :; do wait; done";
            let mut command = world.exec(script);
            command.stdin(Stdio::piped());
            let (mut child, _) = ready(command);
            kill(pid(&child), signal).unwrap();
            let stdin = child.stdin.take();
            assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
            drop(stdin);
        }
        // The whole group, as a terminal does it.
        let mut command = world.exec("echo ready; sleep 60");
        command.process_group(0);
        let (mut child, _) = ready(command);
        killpg(pid(&child), Signal::SIGINT).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::SIGINT as i32));
    });
}

/// What can't be handed on ends the command all the same: nothing of it goes on unheld or unwatched.
#[test]
fn a_kill_of_the_jail_ends_the_command() {
    as_each(|world| {
        let (mut child, mut lines) = ready(world.exec("echo ready; exec sleep 60"));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::SIGKILL as i32));
        // The pipe ends with the last process that has it.
        let mut rest = String::new();
        lines.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
    });
}

#[test]
fn a_stopped_command_stops_the_jail_and_goes_on_with_it() {
    let world = World::new(None);
    let (mut child, mut lines) = ready(world.exec("echo ready; kill -STOP $$; echo on"));
    let stopped = nix::sys::wait::waitpid(pid(&child), Some(nix::sys::wait::WaitPidFlag::WUNTRACED)).unwrap();
    assert!(matches!(stopped, nix::sys::wait::WaitStatus::Stopped(..)), "{stopped:?}");
    kill(pid(&child), Signal::SIGCONT).unwrap();
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), child.wait().unwrap().code()), ("on\n", Some(0)));
}

/// What stays in the background is named, goes on, and is held as before.
#[test]
fn what_goes_on_in_the_background_is_named_and_held() {
    as_each(|world| {
        let before = world.theirs();
        let go = world.repo().join("free/go");
        nix::unistd::mkfifo(&go, nix::sys::stat::Mode::S_IRWXU | nix::sys::stat::Mode::S_IRWXO).unwrap();
        world.own();
        let done_file = world.repo().join("free/done");
        nix::unistd::mkfifo(&done_file, nix::sys::stat::Mode::S_IRWXU | nix::sys::stat::Mode::S_IRWXO).unwrap();
        world.own();
        let script = "(cat free/go; echo late > free/late; echo z > bob/x.txt; echo z > bob/late; echo end > free/done) >/dev/null 2>&1 </dev/null & echo started";
        let run = world.run(script).exits(0);
        assert!(run.stdout == "started\n" && run.stderr.contains("still running, and still held: "), "{run:?}");
        std::fs::OpenOptions::new().write(true).open(&go).unwrap().write_all(b"x").unwrap();
        assert_eq!(std::fs::read_to_string(&done_file).unwrap(), "end\n");
        assert_eq!(world.world().read("home/repo/free/late"), "late\n");
        assert!(before == world.theirs());
    });
}

#[test]
fn a_program_that_asks_for_a_terminal_gets_it() {
    if !there("script") {
        return skipped("`script` is not there");
    }
    as_each(|world| {
        let loci = env!("CARGO_BIN_EXE_loci");
        let inner = "tty > /dev/null && read -r line < /dev/tty && echo got $line && stty size > /dev/null && echo sized";
        let line = format!("{loci} exec --as alice -- bash -c '{inner}'");
        let mut command = world.shell("exec script -qec \"$LINE\" /dev/null");
        let run = Run::of(command.env("LINE", line), Some(b"hello\n")).exits(0);
        assert!(run.stdout.contains("got hello") && run.stdout.contains("sized"), "{run:?}");
    });
}

/// A filter for calls costs a program nothing that it could notice: it can still be traced, and start
/// programs that become another user where it may.
#[test]
fn a_program_may_be_traced_inside() {
    if !there("strace") {
        return skipped("`strace` is not there");
    }
    as_each(|world| {
        world.run("strace -f -o /dev/null true").exits(0);
    });
}
