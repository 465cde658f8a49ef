//! What a clock with 10,000 jobs costs while nothing is due: processor time, memory and wake-ups of the
//! whole process over a minute, and how long it takes to start.
//!
//! `cargo bench --bench clock_idle`. Wanted: 10 ms, 15 MB, 65 wake-ups, a start within a second, no tick over 50 ms.
//! With `LOCI_BENCH_CRON` the same is asked of Debian's cron in the same minute.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench builds its own trees and starts its own processes"
)]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
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
        let mut cron = (round == "second start").then(|| other(&scratch)).flatten();
        if cron.is_some() {
            std::thread::sleep(Duration::from_secs(2));
        }
        minute("loci", clock.id(), cron.as_ref().map(|cron| cron.id()));
        // A file that comes makes the next tick list the folder.
        fs::write(root.join(".loci-clock/jobs/late.md"), "---\nwhen: {cron: \"0 0 29 2 *\"}\nrun: ./late.sh\n---\n").unwrap();
        let longest = longest_tick(clock.id(), Duration::from_secs(5));
        println!("the longest tick after a file came: at most {longest:.1} ms");
        for child in [Some(&mut clock), cron.as_mut()].into_iter().flatten() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
    let _ = fs::remove_dir_all(&scratch);
}

/// Debian's cron with as many lines, in a mount namespace of its own, where the environment names it:
/// `LOCI_BENCH_CRON=/usr/sbin/cron` (for root only).
fn other(scratch: &Path) -> Option<Child> {
    let program = std::env::var_os("LOCI_BENCH_CRON")?;
    let lines: String = (0..JOBS).map(|nth| format!("{} {} 29 2 * true\n", nth % 60, nth / 60 % 24)).collect();
    fs::write(scratch.join("tab"), lines).unwrap();
    let script = "mount -t tmpfs t /var/spool && mkdir -p /var/spool/cron/crontabs && cp tab /var/spool/cron/crontabs/root && \
                  chmod 600 /var/spool/cron/crontabs/root && mount -t tmpfs t /run && exec \"$0\" -f";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script]).arg(program).current_dir(scratch).stdin(Stdio::null()).stdout(Stdio::null());
    command.spawn().ok()
}

/// What programs cost over a minute, side by side.
fn minute(name: &str, clock: u32, cron: Option<u32>) {
    let before = (look(clock), cron.map(look));
    let longest = longest_tick(clock, Duration::from_secs(60));
    let after = (look(clock), cron.map(look));
    let told = |name: &str, before: Cost, after: Cost| {
        let millis = (after.nanos - before.nanos) as f64 / 1e6;
        println!(
            "{name}, a minute: {millis:.1} ms of processor time, {} wake-ups; {} kB resident",
            after.switches - before.switches,
            after.resident
        );
    };
    told(name, before.0, after.0);
    println!("{name}, the longest tick: at most {longest:.1} ms");
    if let (Some(before), Some(after)) = (before.1, after.1) {
        told("cron", before, after);
    }
}

/// The most processor time in any half second: no tick is longer. In milliseconds.
fn longest_tick(pid: u32, span: Duration) -> f64 {
    let (end, mut longest, mut last) = (Instant::now() + span, 0, look(pid).nanos);
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(500));
        let now = look(pid).nanos;
        (longest, last) = (longest.max(now - last), now);
    }
    longest as f64 / 1e6
}

fn status_file(scratch: &Path) -> std::path::PathBuf {
    let clock = scratch.join("state/loci/clock");
    let found = fs::read_dir(&clock).ok().and_then(|mut entries| entries.next()).and_then(Result::ok);
    found.map_or(clock, |entry| entry.path()).join("status.json")
}

/// What a process has cost so far.
#[derive(Clone, Copy)]
struct Cost {
    /// Processor time of all threads.
    nanos: u64,
    /// Voluntary switches of all threads.
    switches: u64,
    /// Kilobytes.
    resident: u64,
}

fn look(pid: u32) -> Cost {
    let (mut nanos, mut switches) = (0, 0);
    for thread in fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten() {
        let schedule = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        nanos += schedule.split_whitespace().next().and_then(|first| first.parse::<u64>().ok()).unwrap_or(0);
        switches += field(&fs::read_to_string(thread.path().join("status")).unwrap_or_default(), "voluntary_ctxt_switches:");
    }
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    Cost { nanos, switches, resident: field(&status, "VmRSS:") }
}

fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}
