//! `loci exec true` as a whole process, beside `true` alone and `true` under bubblewrap with the same
//! binds, with 1, 10, 100 and 1,000 owned directories.
//!
//! `cargo bench --bench exec` prints the medians that are added to plain. They run in turn, so that what
//! else the machine does falls on all. It is no test: nothing fails when it is slow.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench builds its own trees and starts its own processes"
)]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn main() {
    // `cargo test --benches` asks whether it starts.
    if std::env::args().any(|arg| arg == "--test") || !cfg!(target_os = "linux") {
        return;
    }
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-exec");
    let _ = fs::create_dir_all(env!("CARGO_TARGET_TMPDIR"));
    // A copy, as an installation makes one: what a linker has just written is mapped in smaller pieces.
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-exec-loci");
    fs::copy(env!("CARGO_BIN_EXE_loci"), &copy).unwrap();
    let bwrap = Command::new("bwrap").args(["--dev-bind", "/", "/", "true"]).status().is_ok_and(|status| status.success());
    println!("{:<26} {:>12} {:>14} {:>14}", "added to plain, median", "plain", "loci exec", "bubblewrap");
    for owned in [1, 10, 100, 1_000] {
        let _ = fs::remove_dir_all(&scratch);
        let dirs = tree(&scratch, owned);
        let rounds = if owned > 100 { 15 } else { 60 };
        let mut times: [Vec<Duration>; 3] = Default::default();
        let binds: Vec<OsString> = dirs.iter().flat_map(|dir| ["--ro-bind".into(), dir.into(), dir.into()]).collect();
        for round in 0..rounds {
            times[0].push(once(&scratch, "true", &[]));
            times[1].push(once(&scratch, &copy, &["exec".into(), "--as".into(), "alice".into(), "--".into(), "true".into()]));
            // It takes seconds with many: a few times will do.
            if bwrap && (owned <= 100 || round < 3) {
                let all: Vec<OsString> =
                    ["--dev-bind".into(), "/".into(), "/".into()].into_iter().chain(binds.clone()).chain(["true".into()]).collect();
                times[2].push(once(&scratch, "bwrap", &all));
            }
        }
        let [plain, ours, theirs] = times.map(median);
        let added = |time: Option<Duration>| match (time, plain) {
            (Some(time), Some(plain)) => format!("{:.1} ms", (time.as_secs_f64() - plain.as_secs_f64()) * 1e3),
            _ => "not there".to_owned(),
        };
        let base = plain.unwrap_or_default().as_secs_f64() * 1e3;
        println!("{:<26} {base:>9.1} ms {:>14} {:>14}", format!("{owned} owned directories"), added(ours), added(theirs));
    }
    let _ = fs::remove_dir_all(&scratch);
    let _ = fs::remove_file(copy);
}

/// A body with so many directories of others below it.
fn tree(scratch: &Path, owned: usize) -> Vec<PathBuf> {
    let repo = scratch.join("home/repo");
    put(&repo.join(".loci/agent.md"), "---\nid: alice\n---\n");
    let dir = |n: usize| repo.join(format!("part-{}/place-{n}", n % 30));
    for n in 0..owned {
        put(&dir(n).join(".loci/owner.md"), &format!("---\nowner: agent-{n}\n---\n"));
        put(&dir(n).join("file.txt"), "x\n");
    }
    (0..owned).map(dir).collect()
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn once(scratch: &Path, program: impl AsRef<OsStr>, words: &[OsString]) -> Duration {
    let mut command = Command::new(program);
    command.args(words).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", scratch.join("home")).current_dir(scratch.join("home/repo"));
    command.env("LOCI_ANCESTORS", "sh").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    assert!(command.status().unwrap().success());
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}
