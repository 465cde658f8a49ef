//! Reading shell commands in process, over the public corpus in its tree: median, 99th percentile, the
//! longest, and the slowest ids.
//!
//! `cargo bench --bench shell` prints them; `LOCI_CASES` names another folder of cases. Each command is read
//! afresh, with nothing kept from the one before. On a machine that is busy with other things it measures these as
//! well; `chrt -f 50` in front of the program keeps them out. What asked git is counted apart: there the time is git's.

#![expect(clippy::disallowed_methods, clippy::print_stdout, clippy::unwrap_used, reason = "a bench builds its own tree and prints")]

#[expect(dead_code, reason = "shared with the tests")]
#[path = "../it/cases/forest.rs"]
mod forest;
#[expect(dead_code, reason = "shared with the tests")]
#[path = "../it/sandbox.rs"]
mod sandbox;

use std::path::Path;
use std::time::{Duration, Instant};

use loci::custody::shell::{self, Input, Words};
use loci::custody::world::Machine;
use serde_json::Value;

const ROUNDS: usize = 21;
/// The bar for the 99th percentile of what asks git nothing.
const BAR: Duration = Duration::from_micros(200);

fn main() {
    // `cargo test --benches` asks whether it starts.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let folder = std::env::var_os("LOCI_CASES").map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases"), Into::into);
    let text = std::fs::read_to_string(folder.join("shell-public.jsonl")).unwrap();
    let world = forest::fixture();
    let home = world.path("home");
    let env = forest::environment(&home);
    let (mut plain, mut asking) = (Vec::new(), Vec::new());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line).unwrap();
        let (command, cwd) = forest::filled(&case, &home);
        let input = Input { command: Words::Script(&command), cwd: &cwd, env: &env, home: Some(&home) };
        let (mut times, mut questions) = (Vec::new(), 0);
        for _ in 0..ROUNDS {
            let machine = Machine::new();
            let start = Instant::now();
            std::hint::black_box(shell::read(&input, &machine));
            times.push(start.elapsed());
            questions = machine.asked();
        }
        times.sort_unstable();
        let row = (times[ROUNDS / 2], case["id"].as_str().unwrap().to_owned(), questions);
        if questions == 0 { plain.push(row) } else { asking.push(row) }
    }
    report("no question to git", &mut plain);
    report("with questions to git", &mut asking);
    let p99 = plain.get(plain.len() * 99 / 100).map_or(Duration::ZERO, |row| row.0);
    println!("p99 {:.2} of the bar of {} us", p99.as_secs_f64() / BAR.as_secs_f64(), BAR.as_micros());
}

fn report(what: &str, rows: &mut [(Duration, String, u32)]) {
    rows.sort_unstable();
    let at = |share: usize| rows.get(rows.len() * share / 100).map_or(0, |row| row.0.as_micros());
    println!(
        "{what}: {} commands, median {} us, p99 {} us, max {} us",
        rows.len(),
        at(50),
        at(99),
        rows.last().map_or(0, |row| row.0.as_micros())
    );
    for (time, id, questions) in rows.iter().rev().take(12) {
        println!(
            "  {:>8} us  {id}{}",
            time.as_micros(),
            if *questions == 0 { String::new() } else { format!("  ({questions} questions)") }
        );
    }
}
