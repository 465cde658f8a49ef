//! The resolver and the walk for places, as ratios against something everybody has.
//!
//! `cargo bench --bench tree` prints the ratios first (whole processes; the bars are in brackets),
//! then what single pieces cost. `LOCI_BENCH_SCALE=small` makes a hundredth of the tree.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench builds trees, starts programs and prints"
)]

mod forest;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use loci::text::header;
use loci::tree::dotdirs::Dotdirs;
use loci::tree::real;
use nix::sys::resource::{UsageWho, getrusage};

/// Set for a child of this bench that walks the plain way.
const BARE: &str = "LOCI_BENCH_BARE";

fn main() {
    if let Some(root) = std::env::var_os(BARE) {
        println!("{}", bare(Path::new(&root)));
        return;
    }
    if !std::env::args().any(|arg| arg == "--list" || arg == "--test") {
        ratios();
    }
    divan::main();
}

/// A scratch folder that is gone at the end; in memory where that is possible.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { PathBuf::from(env!("CARGO_TARGET_TMPDIR")) };
        let dir = base.join(format!("loci-bench-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The time and the processor time of one run of a program to its end.
fn run(command: &mut Command) -> (Duration, Duration) {
    let cpu = || {
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
        let of = |time: nix::sys::time::TimeVal| Duration::new(time.tv_sec().unsigned_abs(), u32::try_from(time.tv_usec()).unwrap() * 1000);
        of(usage.user_time()) + of(usage.system_time())
    };
    let (start, before) = (Instant::now(), cpu());
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    (start.elapsed(), cpu() - before)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Runs programs in turn, so that what else happens on the machine happens to all; the median time
/// and processor time of each.
fn compare(rounds: usize, commands: &mut [Command]) -> Vec<(Duration, Duration)> {
    let mut times: Vec<(Vec<Duration>, Vec<Duration>)> = commands.iter().map(|_| (Vec::new(), Vec::new())).collect();
    for _ in 0..rounds {
        for (command, (wall, cpu)) in commands.iter_mut().zip(&mut times) {
            let (one, two) = run(command);
            wall.push(one);
            cpu.push(two);
        }
    }
    times.into_iter().map(|(wall, cpu)| (median(wall), median(cpu))).collect()
}

fn loci(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loci"));
    command.env_clear().env("HOME", home).stdin(Stdio::null());
    command
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64().max(1e-9)
}

fn ratios() {
    let small = std::env::var_os("LOCI_BENCH_SCALE").is_some_and(|scale| scale == "small");
    resolve_ratio(if small { 20 } else { 200 });
    tree_ratio(if small { (1_000, 80) } else { (100_000, 2_000) }, if small { 3 } else { 9 });
}

fn resolve_ratio(rounds: usize) {
    let scratch = Scratch::new("resolve");
    let (home, mut dir) = (scratch.0.join("home"), scratch.0.clone());
    fs::create_dir(&home).unwrap();
    let mut files = Vec::new();
    for level in 0..12 {
        dir = dir.join(format!("level{level}"));
        for nth in 0..if level < 8 { 17 } else { 16 } {
            let file = dir.join(format!(".claude/rules/r{nth}.md"));
            let head = format!("---\nname: r{level}-{nth}\ndescription: Use this when the user asks for it\n---\n");
            forest::write(&file, &(head + &"A line of a rule, as people write them.\n".repeat(29)));
            files.push(file);
        }
    }
    let mut resolve = loci(&home);
    resolve.args(["resolve", "rules"]).current_dir(&dir);
    let mut cat = Command::new("cat");
    cat.args(&files);
    let mut none = Command::new("true");
    none.env_clear();
    let times = compare(rounds, &mut [resolve, cat, none]);
    let (loci, cat, none) = (times[0].0, times[1].0, times[2].0);
    println!("resolve rules, 12 levels, {} files: {loci:?}; cat {cat:?}; true {none:?}", files.len());
    println!("  resolve / cat = {:.2}  (bar: 2.0)", ratio(loci, cat));
}

fn tree_ratio((dirs, places): (usize, usize), rounds: usize) {
    let scratch = Scratch::new("tree");
    let root = forest::grow(&scratch.0, dirs, places);
    let mut tree = loci(&scratch.0);
    tree.arg("tree").arg(&root);
    let mut plain = Command::new(std::env::current_exe().unwrap());
    plain.env_clear().env(BARE, &root);
    let pattern: Vec<String> = Dotdirs::default().iter().map(|(name, _)| name.trim_start_matches('.').to_owned()).collect();
    let fd = ["fdfind", "fd"].into_iter().find(|name| Command::new(name).arg("--version").stdout(Stdio::null()).status().is_ok());
    let mut commands = vec![tree, plain];
    commands.extend(fd.map(|name| {
        let mut fd = Command::new(name);
        fd.args(["-H", "-I", "-t", "d", "--prune", "-E", ".git", "-E", "node_modules", "-E", ".venv"]);
        fd.arg(format!("^\\.({})$", pattern.join("|"))).arg(&root);
        fd
    }));
    let times = compare(rounds, &mut commands);
    let (tree, plain) = (times[0], times[1]);
    println!(
        "tree, {dirs} directories, {places} places: {:?} ({:?} CPU); plain read_dir {:?} ({:?} CPU)",
        tree.0, tree.1, plain.0, plain.1
    );
    println!("  tree / plain = {:.2}, CPU {:.2}  (bar: 1.1)", ratio(tree.0, plain.0), ratio(tree.1, plain.1));
    match times.get(2) {
        Some(fd) => println!("  tree / fd, CPU = {:.2}  (bar: 0.6; fd {:?}, {:?} CPU)", ratio(tree.1, fd.1), fd.0, fd.1),
        None => println!("  fd is not installed: no ratio"),
    }
}

/// The walk as one would write it: `read_dir`, one thread, the same passed by. How many places.
fn bare(root: &Path) -> usize {
    let dotdirs = Dotdirs::default();
    let mut open = vec![root.to_owned()];
    let mut places = 0;
    while let Some(dir) = open.pop() {
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        let (mut children, mut is_place, mut tagged) = (Vec::new(), false, false);
        for entry in entries.flatten() {
            let (name, kind) = (entry.file_name(), entry.file_type().unwrap());
            if kind.is_dir() {
                if name.to_str().is_some_and(|name| name.starts_with('.') && dotdirs.layer(name).is_some()) {
                    is_place = true;
                } else if name != ".git" && name != "node_modules" && name != ".venv" {
                    children.push(entry.path());
                }
            } else if name == "CACHEDIR.TAG" || name == "pyvenv.cfg" {
                tagged = true;
            }
        }
        if !tagged {
            places += usize::from(is_place);
            open.append(&mut children);
        }
    }
    places
}

const SIMPLE: &[u8] = b"---\nname: deploy\ndescription: Use this when the user asks for a deployment\n---\nbody\n";
const FULL: &[u8] = b"---\nname: deploy\ndescription: >-\n  Use this when\ntags: [a, b]\n---\nbody\n";

#[divan::bench]
fn header_simple() -> header::Header {
    header::parse(divan::black_box(SIMPLE))
}

#[divan::bench]
fn header_yaml() -> header::Header {
    header::parse(divan::black_box(FULL))
}

#[divan::bench]
fn real_path() -> real::Real {
    real::real(divan::black_box(Path::new(env!("CARGO_BIN_EXE_loci"))), true)
}
