//! What hooks cost: a call of a tool as a whole process without any, with one script that does nothing, and
//! that script by itself; by both names that the relay has, against `/bin/true` started the same way.
//!
//! `cargo bench --bench hook` prints medians. Without hooks a call is to take twice the time of `/bin/true` at
//! most; what a script adds beyond its own process, 2 ms. The programs run in turn, so that what else the
//! machine does falls on all. It is no test.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench builds its own trees and starts its own processes"
)]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 300;
const SCRIPT: &str = "#!/bin/true\n# hook-events: before-tool\n";

fn main() {
    // `cargo test --benches` asks whether it starts.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-hook");
    let _ = fs::remove_dir_all(&scratch);
    fs::create_dir_all(&scratch).unwrap();
    // A copy, as an installation makes one: tests/bench/gate.rs says why.
    let program = scratch.join("loci");
    fs::copy(env!("CARGO_BIN_EXE_loci"), &program).unwrap();
    for (home, hook) in [("bare", false), ("hooked", true)] {
        let dir = scratch.join(home);
        fs::create_dir_all(dir.join(".loci/hooks")).unwrap();
        fs::create_dir_all(dir.join("repo/a/b/c")).unwrap();
        if hook {
            let path = dir.join(".loci/hooks/nothing");
            fs::write(&path, SCRIPT).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        } else {
            fs::remove_dir(dir.join(".loci/hooks")).unwrap();
        }
    }
    let loci = |words: &[&str], home: &str| {
        let home = scratch.join(home);
        let mut command = Command::new(&program);
        command.args(words).args(["--for", "claude"]).env_clear().env("HOME", &home);
        let cwd = home.join("repo/a/b/c");
        let payload = format!(
            r#"{{"session_id":"b","cwd":"{0}","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{{"file_path":"{0}/x","content":"x"}}}}"#,
            cwd.display()
        );
        once(command, &payload)
    };
    let (gate, hook): (&[&str], &[&str]) = (&["gate"], &["hook", "before-tool"]);
    let script = scratch.join("hooked/.loci/hooks/nothing");
    let round = || {
        [
            once(Command::new("/bin/true"), ""),
            once(Command::new(&script), ""),
            loci(gate, "bare"),
            loci(hook, "bare"),
            loci(gate, "hooked"),
            loci(hook, "hooked"),
        ]
    };
    // The first call of a session keeps who asks: not what is measured.
    let _ = round();
    let rounds: Vec<_> = (0..ROUNDS).map(|_| round()).collect();
    let median = |at: usize| {
        let mut times: Vec<Duration> = rounds.iter().map(|round| round[at]).collect();
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e3
    };
    let (base, alone) = (median(0), median(1));
    println!("/bin/true                         {base:>7.2} ms\nthe script by itself              {alone:>7.2} ms");
    for (at, name) in [(2, "loci gate"), (3, "loci hook before-tool")] {
        let (bare, hooked) = (median(at), median(at + 2));
        println!("{name:<22} no hooks   {bare:>7.2} ms   {:>5.2}x (bar: 2.0)", bare / base);
        println!("{name:<22} one script {hooked:>7.2} ms   {:>5.2} ms beyond it (bar: 2)", hooked - bare - alone);
    }
    let _ = fs::remove_dir_all(&scratch);
}

fn once(mut command: Command, payload: &str) -> Duration {
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(payload.as_bytes());
    assert!(child.wait().unwrap().success());
    start.elapsed()
}
