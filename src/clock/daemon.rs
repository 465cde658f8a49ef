//! The daemon of a root: one of them, and one thread in it that decides.
//!
//! It wakes once a second, or when somebody knocks: the watcher of the job folder, which brings a thread
//! of its own and decides nothing. What the watcher misses a sweep finds.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use serde_json::Value;

use super::engine::{Clock, Knock, Notice, Root};
use super::job::HEARTBEAT;
use super::record::Outcome;
use super::runs::{Held, Machine};
use super::store::Store;
use crate::sys::disk::{self, PathError};
use crate::sys::env;
use crate::sys::lock::{self, Holder, Lock, LockError};
use crate::sys::memory;
use crate::sys::time::Moment;
use crate::tree::card::CardError;
use crate::tree::settings;

/// How often the status file is written where nothing happens.
const STATUS: Duration = Duration::from_secs(60);
/// How long hooks that were told of a block may take when the clock ends.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often one is looked at that somebody waits for.
const QUICK: Duration = Duration::from_millis(200);

/// Why a daemon does not run.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// Another one has the root.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The state folder can't be used.
    #[error(transparent)]
    Disk(#[from] PathError),
    /// The settings can't be used.
    #[error(transparent)]
    Settings(CardError),
    /// The signals that end it can't be received.
    #[error("receive signals")]
    Signals(#[source] std::io::Error),
}

/// Takes the lock of a root: its one daemon holds it. It is the kernel's, and goes with its holder.
///
/// # Errors
/// [`LockError::Held`] names the daemon that is there.
pub fn take_root(root: &Root) -> Result<Lock, LockError> {
    lock::take(&Store::lock(&root.state, &root.dir), "loci clock run", Duration::ZERO)
}

/// The daemon of a root, where one runs.
#[must_use]
pub fn running(state: &Path, root: &Path) -> Option<Holder> {
    let text = disk::read_bounded(&Store::lock(state, root), 4096).ok()??;
    serde_json::from_slice::<Holder>(&text).ok().filter(|holder| holder.process.is_alive())
}

/// What the last tick said of a root; `None` where there never was one.
///
/// # Errors
/// Where it is there and can't be read.
pub fn status(state: &Path, root: &Path) -> Result<Option<Value>, PathError> {
    let path = Store::folder(state, root).join("status.json");
    if disk::look(&path)?.is_none() {
        return Ok(None);
    }
    Ok(disk::read_bounded(&path, 64 << 20)?.and_then(|text| serde_json::from_slice(&text).ok()))
}

/// One root that is kept.
struct Kept {
    clock: Clock<Machine>,
    path: PathBuf,
    told: Option<(u64, Duration)>,
    _lock: Lock,
    _watcher: Option<RecommendedWatcher>,
}

/// Keeps roots until a signal ends it. Runs that are on go on, and the next daemon takes them up.
///
/// # Errors
/// Where one of them can't be kept.
pub fn run(roots: Vec<Root>, env: &BTreeMap<OsString, OsString>, mut say: impl FnMut(&Path, &Notice)) -> Result<(), DaemonError> {
    let over = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&over)).map_err(DaemonError::Signals)?;
    }
    let (knock, knocks) = mpsc::channel();
    let mut kept = open(roots, env, Some(&knock))?;
    let mut loaded = None;
    while !over.load(Ordering::SeqCst) {
        tick(&mut kept, &mut say);
        // What reading thousands of files has taken is not needed until there is as much to read again.
        let loads: u64 = kept.iter().map(|one| one.clock.loads()).sum();
        if loaded.replace(loads) != Some(loads) {
            memory::give_back();
        }
        let now = Moment::now();
        let pause = kept.iter().map(|one| one.clock.pause(now)).min().unwrap_or(Duration::from_secs(1));
        match knocks.recv_timeout(if is_test() { Duration::from_millis(3) } else { pause }) {
            Ok((at, knock)) => {
                // Whatever else came with it: a save is several events.
                let more: Vec<(usize, Knock)> = knocks.try_iter().take(10_000).collect();
                for (at, knock) in std::iter::once((at, knock)).chain(more) {
                    if let Some(one) = kept.get_mut(at) {
                        one.clock.knock(knock);
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            // This side holds one end itself; should it be so, the pause is all that is left.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(pause),
        }
    }
    for one in &mut kept {
        one.clock.end_loops(Moment::now());
    }
    let_hooks_end(&mut kept, &mut say);
    Ok(())
}

/// One full tick over roots, and the end. What it starts goes on by itself.
///
/// # Errors
/// Where one of them can't be kept.
pub fn once(roots: Vec<Root>, env: &BTreeMap<OsString, OsString>, mut say: impl FnMut(&Path, &Notice)) -> Result<(), DaemonError> {
    let mut kept = open(roots, env, None)?;
    kept.iter_mut().for_each(|one| one.clock.without_loops());
    tick(&mut kept, &mut say);
    let_hooks_end(&mut kept, &mut say);
    Ok(())
}

/// Hooks that were told of a block come to their end, within bounds.
fn let_hooks_end(kept: &mut [Kept], say: &mut impl FnMut(&Path, &Notice)) {
    for one in kept {
        one.clock.hear(Moment::now(), PATIENCE);
        for notice in one.clock.notices() {
            say(&one.path, &notice);
        }
    }
}

/// Runs one job of a root now, and stays until it is over; nothing else of the root is touched. What came of it;
/// `None` where there is no such job.
///
/// # Errors
/// Where a clock keeps the root already, or it can't be kept.
pub fn run_now(
    root: Root,
    env: &BTreeMap<OsString, OsString>,
    job: &str,
    mut say: impl FnMut(&Path, &Notice),
) -> Result<Option<Outcome>, DaemonError> {
    let mut kept = open(vec![root], env, None)?;
    let Some(one) = kept.first_mut() else { return Ok(None) };
    one.clock.only(job);
    let mut now = Moment::now();
    // Mail is looked for first: a body that it wakes is known from then on.
    one.clock.perceive(now);
    if !one.clock.run_now(job, now.wall, now) {
        return Ok(None);
    }
    loop {
        tick(&mut kept, &mut say);
        let Some(one) = kept.first().filter(|one| !one.clock.is_done(job)) else { break };
        std::thread::sleep(if is_test() { Duration::from_millis(3) } else { one.clock.pause(now).min(QUICK) });
        now = Moment::now();
    }
    let_hooks_end(&mut kept, &mut say);
    Ok(kept.first().and_then(|one| one.clock.record(job)?.past.outcome))
}

/// Whether a test says what time it is: then it is looked at more often.
fn is_test() -> bool {
    cfg!(debug_assertions) && env::var(env::LOCI_TEST_NOW).is_some()
}

fn open(roots: Vec<Root>, env: &BTreeMap<OsString, OsString>, knock: Option<&Sender<(usize, Knock)>>) -> Result<Vec<Kept>, DaemonError> {
    let mut kept = Vec::new();
    let held = match roots.first() {
        // A policy with a typo must not pass for none.
        Some(root) => Held::of(settings::load(&root.home).map_err(DaemonError::Settings)?.custody, &root.dir, env),
        None => Held::No,
    };
    for (at, root) in roots.into_iter().enumerate() {
        let lock = take_root(&root)?;
        let path = root.dir.clone();
        // Watched before it is read: what changes in between knocks.
        let watcher = knock.and_then(|knock| watch(at, &root, knock.clone()));
        let clock = Clock::open(root, Machine::new(env.clone(), held), Moment::now())?;
        kept.push(Kept { clock, path, told: None, _lock: lock, _watcher: watcher });
    }
    Ok(kept)
}

fn tick(kept: &mut [Kept], say: &mut impl FnMut(&Path, &Notice)) {
    for one in kept {
        let now = Moment::now();
        one.clock.tick(now);
        for notice in one.clock.notices() {
            say(&one.path, &notice);
        }
        let revision = one.clock.revision();
        let due = one.told.is_none_or(|(told, at)| told != revision || now.boot.saturating_sub(at) >= STATUS);
        if due {
            one.told = Some((revision, now.boot));
            one.clock.write_status(now);
        }
    }
}

/// Watches the job folder of a root; `None` where the system does not let us: the sweep remains.
fn watch(at: usize, root: &Root, knock: Sender<(usize, Knock)>) -> Option<RecommendedWatcher> {
    let dotdir = root.dotdir();
    let jobs = dotdir.join("jobs");
    let heart = dotdir.join("heartbeat.md");
    let handler = move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else {
            let _ = knock.send((at, Knock::All));
            return;
        };
        if matches!(event.kind, EventKind::Access(_)) && !event.need_rescan() {
            return;
        }
        for path in &event.paths {
            let stem = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".md"));
            let what = match stem {
                Some(name) if path.parent().is_some_and(|dir| dir.ends_with("jobs")) && !name.starts_with('.') => {
                    Knock::Job(name.to_owned())
                }
                _ if *path == heart => Knock::Job(HEARTBEAT.to_owned()),
                // The folder itself came or went; the ledger beside it is our own.
                _ if path.file_name().is_some_and(|name| name == "jobs") => Knock::All,
                _ => continue,
            };
            let _ = knock.send((at, what));
        }
        if event.need_rescan() {
            let _ = knock.send((at, Knock::All));
        }
    };
    let mut watcher = notify::recommended_watcher(handler).ok()?;
    watcher.watch(&dotdir, RecursiveMode::NonRecursive).ok()?;
    // Where it is not there yet, it is found by the sweep, and watched from the next start on.
    let _ = watcher.watch(&jobs, RecursiveMode::NonRecursive);
    Some(watcher)
}
