//! A set for the time of one action, taken back in every case.
//!
//! Before the first rename a scope file is written (which process, since when, which renames); it is
//! removed together with the last rename of the way back. The lock of the level is not held in
//! between, so that the action may itself switch things. A scope whose process has died is restored
//! by the next change of the level.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::algebra::Decision;
use super::set::Set;
use super::wear::{self, Done, Left};
use super::{Level, LoadoutError, Settled};
use crate::sys::journal::Held;
use crate::sys::pinned::Pins;
use crate::sys::plan::{Plan, Step};
use crate::sys::process::Identity;
use crate::sys::{disk, random, shown, time};

/// A scope file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// Version of the format.
    pub schema: u32,
    /// What the set is worn for, as people see it.
    pub what: String,
    /// The process that will take it back.
    pub process: Identity,
    /// Since when (RFC 3339).
    pub since: String,
    /// What was renamed for it.
    pub renames: Vec<Done>,
}

/// A scope that came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// The scope.
    pub scope: Open,
    /// How many renames took it back.
    pub renamed: usize,
    /// What somebody changed in the meantime, and that was left.
    pub left: Vec<Left>,
    /// What else was settled on the way back.
    pub also: Vec<String>,
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scope, renamed, left, .. } = self;
        write!(
            f,
            "a set worn for `{}` (pid {}, {}) had not been taken back: {renamed} renamed now",
            shown::text(&scope.what),
            scope.process.pid,
            shown::text(&scope.since)
        )?;
        for left in left {
            write!(f, "; left as it is: {left}")?;
        }
        Ok(())
    }
}

/// A set that is worn until [`Worn::take_back`], or until this value is dropped.
#[derive(Debug)]
pub struct Worn {
    level: Level,
    path: PathBuf,
    /// What followed from the sets.
    pub decision: Decision,
    /// What an earlier change had left.
    pub settled: Settled,
    /// The directories that were judged: the way back goes by them as well.
    pins: Pins,
    open: bool,
}

fn folder(level: &Level) -> PathBuf {
    level.state.join("scopes")
}

/// Puts sets on for a time. `what` says for what.
///
/// # Errors
/// As [`wear::apply`]; then nothing is changed.
pub fn put_on(level: &Level, what: &str, sets: &[&Set], vendor: bool) -> Result<Worn, LoadoutError> {
    put_on_if(level, what, sets, vendor, |_| true)
}

/// As [`put_on`], where `judge` lets it: see [`wear::apply_if`].
///
/// # Errors
/// As [`wear::apply_if`].
pub fn put_on_if(
    level: &Level,
    what: &str,
    sets: &[&Set],
    vendor: bool,
    judge: impl FnOnce(&Decision) -> bool,
) -> Result<Worn, LoadoutError> {
    let (mut held, settled) = wear::begin(level, what)?;
    let decision = wear::plan(level, sets, vendor)?;
    let pins = wear::pinned(level, &mut held, &decision, judge)?;
    let now = time::now();
    let name = format!("{}-{:020}-{}.json", level.key(), now.as_nanosecond(), random::hex20().map_err(LoadoutError::Random)?);
    let path = folder(level).join(name);
    disk::make_dirs(&folder(level))?;
    let scope = Open {
        schema: 1,
        what: what.to_owned(),
        process: Identity::of_self(),
        since: time::to_second(now),
        renames: wear::done(&decision.renames),
    };
    let mut plan =
        Plan { steps: vec![Step::Write { path: path.clone(), data: wear::to_text(&path, &scope)?, mode: Some(0o600), was: None }] };
    plan.steps.extend(wear::steps(&decision.renames));
    held.apply(&plan)?;
    Ok(Worn { level: level.clone(), path, decision, settled, pins, open: true })
}

impl Worn {
    /// Takes the set back, as far as nobody changed its items in the meantime.
    ///
    /// # Errors
    /// Where the level is locked or the change fails: the scope stays open, and the next change of
    /// the level after the end of this process restores it.
    pub fn take_back(mut self) -> Result<Closed, LoadoutError> {
        self.close()
    }

    fn close(&mut self) -> Result<Closed, LoadoutError> {
        self.open = false;
        let (mut held, settled) = wear::begin(&self.level, "the way back of a set worn for a time")?;
        held.pin(std::mem::take(&mut self.pins));
        let closed = close(&held, &self.path)?;
        Ok(Closed { also: settled.sentences(), ..closed })
    }
}

impl Drop for Worn {
    fn drop(&mut self) {
        if self.open {
            // A panic, or an early return of the caller; what fails here the next change restores.
            let _ = self.close();
        }
    }
}

/// Wears sets while `action` runs.
///
/// # Errors
/// Where they can't be put on (the action is not run) or not taken back.
pub fn during<T>(level: &Level, what: &str, sets: &[&Set], vendor: bool, action: impl FnOnce() -> T) -> Result<(T, Closed), LoadoutError> {
    let worn = put_on(level, what, sets, vendor)?;
    let result = action();
    Ok((result, worn.take_back()?))
}

fn read(path: &Path) -> Result<Option<(Open, Vec<u8>)>, LoadoutError> {
    let Some(text) = disk::read_if_there(path)? else { return Ok(None) };
    Ok(Some((wear::parse(path, &text)?, text)))
}

fn close(held: &Held, path: &Path) -> Result<Closed, LoadoutError> {
    let Some((scope, text)) = read(path)? else {
        let why = "the scope file is gone: somebody else took the set back".to_owned();
        return Err(LoadoutError::Record { path: path.to_owned(), why });
    };
    let (renames, left) = wear::back(&scope.renames)?;
    let mut plan = Plan { steps: renames.iter().map(|one| Step::Rename { from: one.from.clone(), to: one.to.clone() }).collect() };
    plan.steps.push(Step::Remove { path: path.to_owned(), was: text, mode: 0o600 });
    held.apply(&plan)?;
    Ok(Closed { scope, renamed: renames.len(), left, also: Vec::new() })
}

fn files(level: &Level) -> Result<Vec<PathBuf>, LoadoutError> {
    let dir = folder(level);
    if disk::look_through(&dir)?.is_none() {
        return Ok(Vec::new());
    }
    let key = format!("{}-", level.key());
    let ours = |name: &std::ffi::OsStr| name.to_str().is_some_and(|name| name.starts_with(&key) && name.ends_with(".json"));
    Ok(disk::list(&dir)?.into_iter().filter(|entry| ours(&entry.name)).map(|entry| dir.join(entry.name)).collect())
}

/// The scopes that are open at a level, oldest first; those of dead processes wait for the next
/// change.
///
/// # Errors
/// Where they can't be read.
pub fn open(level: &Level) -> Result<Vec<Open>, LoadoutError> {
    let mut scopes = Vec::new();
    for path in files(level)? {
        scopes.extend(read(&path)?.map(|(scope, _)| scope));
    }
    Ok(scopes)
}

/// Takes back the scopes whose process has died, newest first.
pub(super) fn restore_dead(level: &Level, held: &Held) -> Result<Vec<Closed>, LoadoutError> {
    let mut closed = Vec::new();
    for path in files(level)?.into_iter().rev() {
        if read(&path)?.is_some_and(|(scope, _)| !scope.process.is_alive()) {
            closed.push(close(held, &path)?);
        }
    }
    Ok(closed)
}
