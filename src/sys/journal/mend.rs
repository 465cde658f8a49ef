//! What becomes of a change that was cut off.

use std::fmt;
use std::path::{Path, PathBuf};

use super::{Identity, JournalError, Scratch, shown};
use crate::sys::disk::{self, PathError};
use crate::sys::plan::{Plan, PlanError, Step};

/// What was done about an interrupted change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// What it was.
    pub what: String,
    /// Which process had begun it.
    pub process: Identity,
    /// When.
    pub since: String,
    /// How many steps had been done.
    pub done: usize,
    /// Of how many.
    pub total: usize,
    /// Whether it was complete; else it was taken back.
    pub finished: bool,
    /// What could not be taken back because somebody changed it since, or was kept because its
    /// content is known nowhere else.
    pub left: Vec<PathBuf>,
}

impl fmt::Display for Recovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, process, since, done, total, .. } = self;
        write!(f, "an interrupted `{}` (pid {}, {}) ", shown::text(what), process.pid, shown::text(since))?;
        if self.finished {
            f.write_str("was complete; its journal is closed")?;
        } else {
            write!(f, "was taken back ({done} of {total} steps had been done)")?;
        }
        for path in &self.left {
            write!(f, "; left as it is: {}", shown::path(path))?;
        }
        Ok(())
    }
}

/// Opens the seals of what is known elsewhere, or not there. Before the first of them is removed:
/// half a directory is known nowhere.
pub(super) fn release(scratch: &mut [Scratch], sealed: &dyn Fn(&Path, &str) -> bool) -> Result<(), PathError> {
    for place in scratch {
        let known = match &place.seal {
            None => true,
            Some(seal) => disk::look(&place.path)?.is_none() || sealed(&place.path, seal),
        };
        if known {
            place.seal = None;
        }
    }
    Ok(())
}

/// Puts a plan that was cut off to one of its ends. Returns how many steps had been done, and
/// whether that was all of them.
pub(super) fn settle(plan: &Plan, left: &mut Vec<PathBuf>) -> Result<(usize, bool), JournalError> {
    for step in &plan.steps {
        match step {
            Step::Rename { from, to } => _ = disk::mend_rename(from, to)?,
            Step::Exchange { path, with, .. } => _ = disk::mend_exchange(path, with)?,
            Step::Write { path, .. } => {
                if let Some(dir) = path.parent() {
                    disk::sweep_temps(dir)?;
                }
            }
            _ => {}
        }
    }
    match plan.progress()? {
        Some(done) if done == plan.steps.len() => Ok((done, true)),
        Some(done) => {
            for step in plan.steps.iter().take(done).rev() {
                take_back(step, left)?;
            }
            Ok((done, false))
        }
        // Somebody was here in the meantime: each step by itself, as far as it is still as it was left.
        None => {
            let mut done = 0;
            for step in plan.steps.iter().rev() {
                if Plan::shows(step)? {
                    done += 1;
                    take_back(step, left)?;
                } else if !Plan::awaits(step)? {
                    left.push(step.path().to_owned());
                }
            }
            Ok((done, false))
        }
    }
}

/// Takes one step back. What somebody put in the way since is left: an open journal must not bar
/// every later change.
fn take_back(step: &Step, left: &mut Vec<PathBuf>) -> Result<(), JournalError> {
    use std::io::ErrorKind;
    let back = Plan { steps: vec![step.inverse()] };
    match back.apply() {
        Ok(()) => Ok(()),
        Err(PlanError::Conflict { path, .. }) => {
            left.push(path);
            Ok(())
        }
        Err(PlanError::Disk(error)) if matches!(error.source.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists) => {
            left.push(error.path);
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Makes the names that a plan changed survive a crash of the machine.
pub(super) fn sync(plan: &Plan) -> Result<(), PathError> {
    let mut dirs: Vec<&Path> = Vec::new();
    for step in &plan.steps {
        let other = match step {
            Step::Rename { to, .. } => Some(to.as_path()),
            Step::Exchange { with, .. } => Some(with.as_path()),
            _ => None,
        };
        dirs.extend([Some(step.path()), other].into_iter().flatten().filter_map(Path::parent));
    }
    dirs.sort_unstable();
    dirs.dedup();
    dirs.retain(|dir| disk::is_dir(dir));
    disk::sync_dirs(&dirs)
}
