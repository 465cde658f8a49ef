//! Listing an inbox of 10,000 messages as a whole process: `cargo bench --bench inbox` prints the median
//! and the bar (100 ms). It is no test: nothing fails when it is slow.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench builds its own trees and starts its own processes"
)]

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const MESSAGES: usize = 10_000;
const ROUNDS: usize = 15;

fn main() {
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-inbox");
    let _ = fs::remove_dir_all(&scratch);
    let body = scratch.join("bob");
    let inbox = body.join(".loci/memory/inbox");
    for dir in ["new", "cur", "tmp"] {
        fs::create_dir_all(inbox.join(dir)).unwrap();
    }
    fs::write(body.join(".loci/agent.md"), "---\nid: bob\n---\n").unwrap();
    // As deliveries note it, and as they did before lists were shown from the log.
    let (mut log, mut plain) = (String::new(), String::new());
    for n in 0..MESSAGES {
        // As deliveries make keys: with no order in them.
        let key = format!("{:016x}", (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let text = format!(
            "---\nschema: 1\nid: \"20261130T{:06}Z-{key}\"\nkind: delegation\nfrom: \"alice\"\nfrom_body: \"/home/ann/repo\"\nto: \"bob\"\nat: \"2026-11-30T10:00:00Z\"\nharness: \"claude\"\nsession: \"s-1\"\ntool: \"Write\"\ndirectory: \"/home/ann/repo/owned\"\ntargets:\n  - \"/home/ann/repo/owned/file-{n}.rs\"\nreads:\n  - \"/home/ann/repo/owned/lib.rs:1-40\"\n  - \"/home/ann/repo/README.md\"\nchange: \"patch\"\nhops: 0\n---\n\n{}",
            n % 240_000,
            "+a line of a change\n".repeat(500)
        );
        let path = inbox.join("new").join(format!("{key}.md"));
        fs::write(&path, text).unwrap();
        let message = loci::custody::inbox::message(&path, &key, true).unwrap();
        let shows = loci::custody::inbox::Shows { inode: fs::metadata(&path).unwrap().ino(), ..loci::custody::inbox::Shows::of(&message) };
        let head = format!("{{\"at\":\"2026-11-30T10:00:00Z\",\"key\":\"{key}\",\"event\":\"filed\",\"by\":\"alice\"");
        let _ = writeln!(plain, "{head}}}");
        let _ = writeln!(log, "{head},\"message\":{}}}", shows.noted().unwrap());
    }
    for (args, log) in [(&["inbox"][..], &log), (&["inbox", "--json"], &log), (&["inbox"], &plain)] {
        fs::write(inbox.join("log.jsonl"), log).unwrap();
        let mut times: Vec<Duration> = (0..ROUNDS)
            .map(|_| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_loci"));
                command.args(args).current_dir(&body).env_clear().env("HOME", &scratch).stdin(Stdio::null()).stdout(Stdio::null());
                let start = Instant::now();
                assert!(command.status().unwrap().success());
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        let bar = if log.len() == plain.len() { "noted by older versions: no bar" } else { "bar: 100 ms" };
        println!("loci {:<14} {MESSAGES} messages  {:>7.1} ms  ({bar})", args.join(" "), times[ROUNDS / 2].as_secs_f64() * 1e3);
    }
    let _ = fs::remove_dir_all(&scratch);
}
