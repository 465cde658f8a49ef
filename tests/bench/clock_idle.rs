//! What a clock with 10,000 jobs costs while nothing is due: processor time, memory and wake-ups of the
//! whole process over a minute, and how long it takes to start.
//!
//! `cargo bench --bench clock_idle`. Wanted: 10 ms, 15 MB, 65 wake-ups, a start within a second.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench builds its own trees and starts its own processes"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const JOBS: usize = 10_000;

fn main() {
    // `cargo test --benches` asks whether it starts.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let program = env!("CARGO_BIN_EXE_loci");
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-clock");
    let _ = fs::remove_dir_all(&scratch);
    let root = scratch.join("root");
    fs::create_dir_all(root.join(".loci-clock/jobs")).unwrap();
    fs::create_dir_all(scratch.join("home")).unwrap();
    for nth in 0..JOBS {
        // Each at a minute of a day that does not come while this runs.
        let text = format!(
            "---\nwhen: {{cron: \"{} {} 29 2 *\", tz: Europe/Berlin}}\nrun: ./scripts/report-{nth}.sh\ndeliverables: [out/{nth}.md]\n---\n",
            nth % 60,
            nth / 60 % 24
        );
        fs::write(root.join(format!(".loci-clock/jobs/job-{nth}.md")), text).unwrap();
    }
    let command = |args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).env("HOME", scratch.join("home")).env("XDG_STATE_HOME", scratch.join("state")).current_dir(&root);
        command.env("LOCI_ANCESTORS", "sh").stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null());
        command
    };
    assert!(command(&["clock", "enroll", ".", "--live"]).status().unwrap().success());
    for round in ["first start", "second start"] {
        let _ = fs::remove_file(status_file(&scratch));
        let begun = Instant::now();
        let mut clock = command(&["clock", "run", "."]).spawn().unwrap();
        while !status_file(&scratch).exists() {
            std::thread::sleep(Duration::from_millis(2));
        }
        println!("{round}: {} ms", begun.elapsed().as_millis());
        std::thread::sleep(Duration::from_secs(2));
        let before = look(clock.id());
        std::thread::sleep(Duration::from_secs(60));
        let after = look(clock.id());
        println!("a minute: {} ms of processor time, {} wake-ups; {} kB resident", after.0 - before.0, after.1 - before.1, after.2);
        clock.kill().unwrap();
        clock.wait().unwrap();
    }
    let _ = fs::remove_dir_all(&scratch);
}

fn status_file(scratch: &Path) -> std::path::PathBuf {
    let clock = scratch.join("state/loci/clock");
    let found = fs::read_dir(&clock).ok().and_then(|mut entries| entries.next()).and_then(Result::ok);
    found.map_or(clock, |entry| entry.path()).join("status.json")
}

/// Milliseconds of processor time, voluntary switches of all threads, resident kilobytes.
fn look(pid: u32) -> (u64, u64, u64) {
    let (mut nanos, mut switches) = (0, 0);
    for thread in fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten() {
        let schedule = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        nanos += schedule.split_whitespace().next().and_then(|first| first.parse::<u64>().ok()).unwrap_or(0);
        switches += field(&fs::read_to_string(thread.path().join("status")).unwrap_or_default(), "voluntary_ctxt_switches:");
    }
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    (nanos / 1_000_000, switches, field(&status, "VmRSS:"))
}

fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}
