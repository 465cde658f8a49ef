//! What hooks cost: the gate as a whole process without any, with one script that does nothing, and that
//! script by itself.
//!
//! `cargo bench --bench hook` prints medians. What a script adds beyond its own process is to be 2 ms at
//! most. The programs run in turn, so that what else the machine does falls on all. It is no test.

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
    let program = env!("CARGO_BIN_EXE_loci");
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-hook");
    let _ = fs::remove_dir_all(&scratch);
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
    let gate = |home: &str| {
        let home = scratch.join(home);
        let mut command = Command::new(program);
        command.args(["gate", "--for", "claude"]).env_clear().env("HOME", &home);
        let cwd = home.join("repo/a/b/c");
        let payload = format!(
            r#"{{"session_id":"b","cwd":"{0}","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{{"file_path":"{0}/x","content":"x"}}}}"#,
            cwd.display()
        );
        once(command, &payload)
    };
    let alone = || once(Command::new(scratch.join("hooked/.loci/hooks/nothing")), "");
    let _ = (gate("bare"), gate("hooked"), alone());
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        times[0].push(gate("bare"));
        times[1].push(gate("hooked"));
        times[2].push(alone());
    }
    let [bare, hooked, alone] = times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e3
    });
    println!("gate without hooks     {bare:>7.2} ms\ngate with one script   {hooked:>7.2} ms\nthe script by itself   {alone:>7.2} ms");
    println!("added beyond it        {:>7.2} ms   (bar: 2 ms)", hooked - bare - alone);
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
