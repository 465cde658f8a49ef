//! The loadout against the tools that do the same work: prints times and ratios, fails on nothing.
//!
//! `cargo bench --bench loadout`; a surface of 200 MB in 20,000 files, and a set of 500 items.

#![expect(clippy::disallowed_methods, clippy::unwrap_used, clippy::print_stdout, reason = "a bench builds its trees itself and prints")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use loci::loadout::set::{Scope, Set};
use loci::loadout::surface::Surface;
use loci::loadout::{Level, Section, State, archive, digest, wear};
use loci::tree::dotdirs::Dotdirs;

const FILES: usize = 20_000;
const BYTES: usize = 10_000;
const ITEMS: usize = 500;
const ROUNDS: usize = 5;

/// The quickest of some rounds.
fn best(mut run: impl FnMut()) -> Duration {
    let once = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..ROUNDS).map(|_| once(&mut run)).min().unwrap()
}

fn shell(dir: &Path, script: &str) {
    assert!(Command::new("sh").args(["-c", script]).current_dir(dir).stdout(Stdio::null()).status().unwrap().success());
}

fn surface(dir: &Path) {
    let mut seed = 1_u64;
    for n in 0..FILES {
        let folder = dir.join(format!(".claude/rules/{:03}", n % 200));
        fs::create_dir_all(&folder).unwrap();
        let data: Vec<u8> = (0..BYTES / 8)
            .flat_map(|_| {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                seed.to_le_bytes()
            })
            .collect();
        fs::write(folder.join(format!("{n}.md")), data).unwrap();
    }
}

fn print(what: &str, ours: Duration, theirs: Duration, tool: &str) {
    println!("{what}: {ours:.2?}, {tool}: {theirs:.2?}, ratio {:.2}", ours.as_secs_f64() / theirs.as_secs_f64());
}

fn main() {
    let scratch: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-loadout-{}", std::process::id()));
    let _ = fs::remove_dir_all(&scratch);
    let big = scratch.join("big");
    surface(&big);
    let level = |dir: &str| Level { dir: scratch.join(dir), dotdirs: Dotdirs::default(), state: scratch.join("state") };
    let pieces = Surface::of(&level("big"), "claude", &[]).unwrap();

    let ours = best(|| _ = digest::of(&big, &pieces).unwrap());
    let theirs = best(|| shell(&big, "find .claude -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum"));
    print("hash of 200 MB in 20,000 files", ours, theirs, "sha256sum");

    let mut nth = 0;
    let ours = best(|| {
        nth += 1;
        archive::save(&level("big"), &scratch.join("store"), &format!("a{nth}"), "claude", &pieces).unwrap();
    });
    let theirs = best(|| {
        nth += 1;
        shell(&scratch, &format!("cp -a big copy{nth} && sync -f copy{nth}"));
    });
    print("archive of the same, hashed twice and synced", ours, theirs, "cp -a and sync");
    let theirs = best(|| {
        nth += 1;
        shell(&scratch, &format!("cp -a big copy{nth}"));
    });
    println!("(cp -a alone, not synced: {theirs:.2?})");

    let items = scratch.join("items/.loci/rules");
    fs::create_dir_all(&items).unwrap();
    let mut sets = [State::Off, State::On].map(|_| Set::default());
    for n in 0..ITEMS {
        fs::write(items.join(format!("{n}.md")), "rule").unwrap();
        for (set, state) in sets.iter_mut().zip([State::Off, State::On]) {
            set.push(Scope { section: Section::Rules, dotdir: None }, format!("{n}.md"), state);
        }
    }
    let mut turn = 0;
    let ours = best(|| {
        let report = wear::apply(&level("items"), "bench", &["bench".to_owned()], &[&sets[turn % 2]], false).unwrap();
        assert_eq!(report.decision.renames.len(), ITEMS);
        turn += 1;
    });
    let theirs = best(|| {
        shell(&items, "for f in *; do mv \"$f\" \"$f.x\"; done; for f in *; do mv \"$f\" \"${f%.x}\"; done");
    });
    print("equip of 500 items", ours, theirs / 2, "500 mv");
    fs::remove_dir_all(&scratch).unwrap();
}
