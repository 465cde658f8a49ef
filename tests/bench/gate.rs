//! The gate as a whole process, against `/bin/true` started the same way: a write that passes, twelve
//! levels deep, in a repository with 1, 100 and 1,000 owned places; and a refusal beside it.
//!
//! `cargo bench --bench gate` prints medians and ratios. The two programs run in turn, so that what
//! else the machine does falls on both. It is no test: nothing fails when it is slow.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench builds its own trees and starts its own processes"
)]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 400;
const LEVELS: usize = 12;

fn main() {
    // `cargo test --benches` asks whether it starts.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-gate");
    let copy = installed(env!("CARGO_BIN_EXE_loci"));
    let program = copy.to_str().unwrap();
    println!("{:<34} {:>10} {:>10} {:>7}", "", "/bin/true", "loci gate", "ratio");
    for places in [1, 100, 1_000] {
        let _ = fs::remove_dir_all(&scratch);
        let (deep, owned) = tree(&scratch, places);
        let pass = payload(&scratch, &deep.join("new.txt"));
        report(&format!("passes, {places} owned places"), &compare(program, &scratch, &pass, 0));
        let refuse = payload(&scratch, &owned.join("new.txt"));
        report(&format!("refused, {places} owned places"), &compare(program, &scratch, &refuse, 2));
        if places == 1_000 {
            report("passes, 1000, as the linker left it", &compare(env!("CARGO_BIN_EXE_loci"), &scratch, &pass, 0));
        }
    }
    let _ = fs::remove_dir_all(&scratch);
    let _ = fs::remove_file(copy);
}

/// A copy, as an installation makes one. What a linker has just written, or a start has brought in page by page, lies
/// in the page cache in single pages, and each start from there takes a fifth as long again or more.
fn installed(built: &str) -> PathBuf {
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-gate-loci");
    fs::copy(built, &copy).unwrap();
    copy
}

/// A body with a directory twelve levels down and so many places of others beside it; the deep
/// directory, and one that is owned.
fn tree(scratch: &Path, places: usize) -> (PathBuf, PathBuf) {
    let repo = scratch.join("repo");
    put(&repo.join(".loci/agent.md"), "---\nid: alice\n---\n");
    let owned = |n: usize| repo.join(format!("part-{}/place-{n}", n % 30));
    for n in 0..places {
        put(&owned(n).join(".loci/owner.md"), &format!("---\nowner: agent-{n}\n---\nAsk first.\n"));
        put(&owned(n).join(".loci/agent.md"), &format!("---\nid: agent-{n}\n---\n"));
    }
    let deep = (0..LEVELS).fold(repo.clone(), |dir, level| dir.join(format!("level-{level}")));
    fs::create_dir_all(&deep).unwrap();
    fs::create_dir_all(scratch.join("home")).unwrap();
    (deep, owned(places / 2))
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn payload(scratch: &Path, path: &Path) -> String {
    let content = "a line of what is written\\n".repeat(80);
    format!(
        r#"{{"session_id":"bench","cwd":"{}","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{{"file_path":"{}","content":"{content}"}},"tool_use_id":"t"}}"#,
        scratch.join("repo").display(),
        path.display()
    )
}

/// Medians of both, in turn.
fn compare(program: &str, scratch: &Path, payload: &str, code: i32) -> [Duration; 2] {
    let gate = || {
        let mut command = Command::new(program);
        command.args(["gate", "--for", "claude"]);
        command
    };
    // The first call of a session keeps who asks: not what is measured.
    once(gate(), scratch, payload, code);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        times[0].push(once(Command::new("/bin/true"), scratch, payload, 0));
        times[1].push(once(gate(), scratch, payload, code));
    }
    times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    })
}

fn once(mut command: Command, scratch: &Path, payload: &str, code: i32) -> Duration {
    command.env_clear().env("HOME", scratch.join("home")).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().unwrap();
    // `/bin/true` reads nothing, and may be gone.
    let _ = child.stdin.take().unwrap().write_all(payload.as_bytes());
    let status = child.wait().unwrap();
    let took = start.elapsed();
    assert_eq!(status.code(), Some(code));
    took
}

fn report(what: &str, [base, gate]: &[Duration; 2]) {
    let micros = |time: &Duration| time.as_secs_f64() * 1e6;
    println!("{what:<34} {:>8.0}us {:>8.0}us {:>6.2}x", micros(base), micros(gate), micros(gate) / micros(base));
}
