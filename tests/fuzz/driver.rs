//! Fuzzing without libFuzzer: the same targets, fed with mutations of their seeds. Knows nothing of coverage; keeps what
//! made a target fail.
//!
//! `cargo run --release --manifest-path tests/fuzz/Cargo.toml --example driver -- SECONDS [SEED [TARGET…]]`: so many seconds for each
//! target.
//! Prints executions for each, writes each input that made one panic to `target/fuzz/TARGET-N`, and exits with 1 then.

#[path = "../it/fuzz/rng.rs"]
mod rng;
#[path = "../it/fuzz/targets.rs"]
mod targets;
#[path = "../it/fuzz/toy.rs"]
mod toy;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rng::Rng;

/// Pieces that mean something to one parser or another.
const DICTIONARY: &[&str] = &[
    "---\n", "\n", "\r\n", "\r", "\0", "\u{feff}", "\u{2028}", ": ", "- ", "? ", "[", "]", "{", "}", "&a ", "*a", "<<: ", "!!str ", "|\n", ">-\n", "\"",
    "'", "\\", "\\u0000", "\\x", "#", "%", "@", "`", "~", "null", "true", "on", "off", "-1", "0x", "1e999", "99999999999999999999", "2026-11-30T10:00:00Z",
    "$(", ")", "${", "<<E\n", "|", "&&", ";", ">", "2>&1", "*", "**/", "?", "[!a]", "{a,b}", "*** Begin Patch\n", "*** Update File: a\n", "*** End Patch\n",
    "@@ -1,2 +1,2 @@\n", "--- a/a\n", "+++ b/a\n", "diff --git a/a b/a\n", "rename to ", "\\ No newline at end of file\n", "====\n", "GIT binary patch\n",
    "hook-events: before-tool", "when: {every: 1s}", "deliverables: [a]", "*/5 * * * *", "L", "7-3", "MON", "@daily", "state.n", "size(", ".map(x, ", " >= ", "? : ",
    "\"tool_name\":\"Write\"", "\"tool_input\":{", "\"hook_event_name\":\"PreToolUse\"", "{\"schema\":1,", "é", "\u{10FFFD}", "/", "..", "./", "\t",
];

/// The longest input.
const MAX: usize = 8 << 10;

fn mutated(rng: &mut Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut data = seeds[rng.below(seeds.len())].clone();
    for _ in 0..=rng.below(5) {
        let at = rng.below(data.len() + 1);
        let end = (at + rng.below(24)).min(data.len());
        match rng.below(9) {
            0 | 1 => drop(data.splice(at..at, DICTIONARY[rng.below(DICTIONARY.len())].bytes())),
            2 => drop(data.drain(at..end)),
            3 => {
                let other = &seeds[rng.below(seeds.len())];
                let from = rng.below(other.len() + 1);
                let to = (from + rng.below(200)).min(other.len());
                drop(data.splice(at..at, other[from..to].to_vec()));
            }
            4 => {
                let part = data[at..end].to_vec();
                for _ in 0..rng.below(40) {
                    drop(data.splice(at..at, part.clone()));
                }
            }
            5 if at < data.len() => data[at] = u8::try_from(rng.below(256)).unwrap_or(0),
            6 if at < data.len() => data[at] ^= 1 << rng.below(8),
            7 => drop(data.splice(at..at, DICTIONARY[rng.below(DICTIONARY.len())].repeat(rng.below(80)).bytes())),
            _ => drop(data.splice(at..end, DICTIONARY[rng.below(DICTIONARY.len())].bytes())),
        }
    }
    data.truncate(MAX);
    data
}

fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let read = |folder: &Path| -> Vec<Vec<u8>> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| fs::read(entry.path()).ok()).collect()
    };
    let mut all = read(&folder.join("fuzz").join(name));
    if name == "envelope" {
        let harnesses = fs::read_dir(folder.join("harness")).into_iter().flatten().flatten();
        all.extend(harnesses.flat_map(|harness| read(&harness.path())));
    }
    all
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let seconds: u64 = args.next().and_then(|text| text.parse().ok()).unwrap_or(10);
    let seed: u64 = args.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let only: Vec<String> = args.collect();
    // Panics are what is looked for: each is kept, and told once.
    std::panic::set_hook(Box::new(|_| {}));
    let mut failed = false;
    for (name, _) in targets::ALL.iter().filter(|(name, _)| only.is_empty() || only.iter().any(|one| one == name)) {
        let (seeds, mut rng) = (seeds(name), Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1));
        let (start, mut count, mut bad, mut slowest) = (Instant::now(), 0_u64, 0_u32, Duration::ZERO);
        while start.elapsed() < Duration::from_secs(seconds) {
            let data = mutated(&mut rng, &seeds);
            let begun = Instant::now();
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| targets::run(name, &data))) {
                bad += 1;
                if bad <= 8 {
                    let words = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
                    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/fuzz");
                    let path = kept.join(format!("{name}-{seed}-{bad}"));
                    let _ = fs::create_dir_all(&kept).and_then(|()| fs::write(&path, &data));
                    println!("{name}: {}: {}", path.display(), words.unwrap_or("it panicked").chars().take(300).collect::<String>());
                }
            }
            slowest = slowest.max(begun.elapsed());
            count += 1;
        }
        println!("{name:<14} {count:>10} executions, {bad} failed, the slowest took {slowest:?}");
        failed |= bad > 0;
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
