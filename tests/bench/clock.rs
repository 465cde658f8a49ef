//! Reading a cron expression, and its next instant.
//!
//! `cargo bench --bench clock`. Wanted: at most 5 µs for the one, 1 µs for the other.

use divan::{Bencher, black_box};
use jiff::Timestamp;
use loci::clock::schedule::{Cron, zone};

const EXPRESSIONS: [&str; 5] = ["0 7 * * 1-5", "*/5 * * * *", "30 2 * * *", "0 9 L * fri#2", "15,45 8-18/2 1-7 jan-jun mon"];

fn main() {
    divan::main();
}

#[divan::bench(args = EXPRESSIONS)]
fn parse(bencher: Bencher<'_, '_>, text: &str) {
    bencher.bench(|| Cron::parse(black_box(text)));
}

#[divan::bench(args = EXPRESSIONS)]
fn next(bencher: Bencher<'_, '_>, text: &str) {
    let (Ok(cron), Ok(zone), Ok(start)) = (Cron::parse(text), zone("Europe/Berlin"), Timestamp::from_second(1_796_000_000)) else { return };
    bencher.bench(|| cron.next(black_box(start), &zone));
}
