//! What makes a change of several steps survive a kill between two of them.
//!
//! One journal a key (a level of the tree, a directory that gets an owner, …) in the state folder:
//! the plan is written there and synced before its first step, and removed after its last. Whoever
//! changes the same thing next takes the lock of the key, finds what an interrupted process left,
//! tells from the disk how far it got, and finishes it (where only the journal was left) or takes it
//! back. Whoever only reads reports the open journal and changes nothing.

mod mend;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::disk::{self, PathError};
use super::lock::{self, Lock, LockError};
use super::pinned::Pins;
use super::plan::{Plan, PlanError};
use super::process::Identity;
use super::{shown, time};
pub use mend::Recovered;
use mend::{release, settle, sync};

/// How long a second process waits for the first before it gives up and says who has the lock.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// A change that was begun: what stands in a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Version of the format.
    pub schema: u32,
    /// What is done, as people say it: `loci equip`.
    pub what: String,
    /// By which process.
    pub process: Identity,
    /// Since when (RFC 3339).
    pub since: String,
    /// Places that only this change uses; they are removed when it is over, either way.
    pub scratch: Vec<Scratch>,
    /// The steps; `None` while things are still being prepared in the scratch places, and after the
    /// steps were taken back.
    pub plan: Option<Plan>,
    /// Whether all steps are done, and only the scratch places are left to be removed: from there on
    /// the disk alone no longer tells how far it got.
    pub done: bool,
}

/// What came of a change that was made.
#[derive(Debug, Default)]
pub struct Made {
    /// Scratch places that were kept because their content is known nowhere else.
    pub kept: Vec<PathBuf>,
    /// What kept the scratch places from being removed: the next change does it.
    pub unfinished: Option<JournalError>,
}

/// A place that only an open change uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scratch {
    /// Where.
    #[serde(with = "super::wire::path")]
    pub path: PathBuf,
    /// What the content has to be recognised by before it may go; `None`: it may.
    pub seal: Option<String>,
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Somebody else is at it.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The plan does not fit the disk, or failed.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] PathError),
    /// The journal was not written by this program.
    #[error("read the journal {}: {why}", shown::path(.path))]
    Corrupt {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// The right to change what a key stands for, until it is dropped.
#[derive(Debug)]
pub struct Held {
    path: PathBuf,
    what: String,
    pins: Pins,
    _lock: Lock,
}

fn entry_path(state: &Path, key: &str) -> PathBuf {
    state.join("journal").join(format!("{key}.json"))
}

/// The change that is open for a key: in progress where its process lives, else interrupted.
///
/// # Errors
/// Where the journal can't be read.
pub fn open(state: &Path, key: &str) -> Result<Option<Entry>, JournalError> {
    read(&entry_path(state, key))
}

fn read(path: &Path) -> Result<Option<Entry>, JournalError> {
    let Some(text) = disk::read_if_there(path)? else { return Ok(None) };
    match serde_json::from_slice::<Entry>(&text) {
        Ok(entry) if entry.schema == 1 => Ok(Some(entry)),
        Ok(entry) => {
            Err(JournalError::Corrupt { path: path.to_owned(), why: format!("its version is {}, this program knows 1", entry.schema) })
        }
        Err(error) => Err(JournalError::Corrupt { path: path.to_owned(), why: error.to_string() }),
    }
}

/// Takes the lock of a key and settles what an interrupted process left there.
///
/// # Errors
/// Where somebody has the lock ([`JournalError::Lock`] names him), or the rest can't be settled.
pub fn begin(state: &Path, key: &str, what: &str) -> Result<(Held, Option<Recovered>), JournalError> {
    let held = take(state, key, what)?;
    let recovered = held.recover(&|_, _| true)?;
    Ok((held, recovered))
}

/// Takes the lock of a key only; [`Held::recover`] has to come before any change.
///
/// # Errors
/// Where somebody has the lock.
pub fn take(state: &Path, key: &str, what: &str) -> Result<Held, JournalError> {
    let path = entry_path(state, key);
    let lock = lock::take(&path.with_extension("lock"), what, PATIENCE)?;
    Ok(Held { path, what: what.to_owned(), pins: Pins::default(), _lock: lock })
}

impl Held {
    /// Settles what an interrupted process left: complete is closed, anything else is taken back.
    /// `sealed` says whether what stands in a scratch place is known elsewhere by its seal; where
    /// it is not, it is kept and named.
    ///
    /// # Errors
    /// Where the disk fails; the journal stays open, and the next try goes on from there.
    pub fn recover(&self, sealed: &dyn Fn(&Path, &str) -> bool) -> Result<Option<Recovered>, JournalError> {
        if let Some(dir) = self.path.parent() {
            disk::sweep_temps(dir)?;
        }
        let Some(mut entry) = read(&self.path)? else { return Ok(None) };
        let mut left = Vec::new();
        let (mut steps, total) = (0, entry.plan.as_ref().map_or(0, |plan| plan.steps.len()));
        if entry.done {
            steps = total;
        } else if let Some(plan) = entry.plan.take() {
            (steps, entry.done) = settle(&plan, &mut left)?;
            sync(&plan)?;
            if !entry.scratch.is_empty() {
                // Whatever comes between here and the end must not be told from the scratch places.
                entry.plan = entry.done.then_some(plan);
                release(&mut entry.scratch, sealed)?;
                self.write(&entry)?;
            }
        }
        self.close(&entry.scratch, &mut left)?;
        let Entry { what, process, since, done: finished, .. } = entry;
        Ok(Some(Recovered { what, process, since, done: steps, total, finished, left }))
    }

    fn entry(&self, scratch: &[Scratch], plan: Option<&Plan>) -> Entry {
        Entry {
            schema: 1,
            what: self.what.clone(),
            process: Identity::of_self(),
            since: time::to_second(time::now()),
            scratch: scratch.to_vec(),
            plan: plan.cloned(),
            done: false,
        }
    }

    fn write(&self, entry: &Entry) -> Result<(), JournalError> {
        let text = serde_json::to_vec(entry).map_err(|error| JournalError::Corrupt { path: self.path.clone(), why: error.to_string() })?;
        Ok(disk::replace(&self.path, &text, Some(0o600))?)
    }

    /// Removes the scratch places that were released, then the journal.
    fn close(&self, scratch: &[Scratch], left: &mut Vec<PathBuf>) -> Result<(), JournalError> {
        for Scratch { path, seal } in scratch {
            if seal.is_none() {
                disk::remove_tree(path)?;
            } else {
                left.push(path.clone());
            }
        }
        disk::remove_file(&self.path)?;
        Ok(disk::sync_parent(&self.path)?)
    }

    /// From here on, renames within these directories go by what was looked at, whatever their paths lead to by then.
    pub fn pin(&mut self, pins: Pins) {
        self.pins = pins;
    }

    /// Checks a plan and performs it under the journal. Where a step fails, those before it are
    /// taken back.
    ///
    /// # Errors
    /// As [`PlanError`] says. After [`PlanError::Torn`] the journal stays open, and the next change
    /// of this key goes on taking back.
    pub fn apply(&self, plan: &Plan) -> Result<(), JournalError> {
        self.apply_with(plan, &[], &|_, _| true).map(|_| ())
    }

    /// Notes places that are about to be filled, before the first byte is written there.
    ///
    /// # Errors
    /// Where the journal can't be written.
    pub fn prepare(&self, scratch: &[Scratch]) -> Result<(), JournalError> {
        self.write(&self.entry(scratch, None))
    }

    /// As [`Held::apply`], with scratch places that are removed in the end, as far as `sealed` knows
    /// their content.
    ///
    /// # Errors
    /// As [`Held::apply`].
    pub fn apply_with(&self, plan: &Plan, scratch: &[Scratch], sealed: &dyn Fn(&Path, &str) -> bool) -> Result<Made, JournalError> {
        plan.check()?;
        if plan.is_empty() && scratch.is_empty() {
            return Ok(Made::default());
        }
        let mut entry = self.entry(scratch, Some(plan));
        let performed = self.write(&entry).and_then(|()| {
            plan.perform(&self.pins)?;
            let safe = sync(plan).map_err(JournalError::from).and_then(|()| {
                entry.done = true;
                release(&mut entry.scratch, sealed)?;
                if scratch.is_empty() { Ok(()) } else { self.write(&entry) }
            });
            if let Err(failed) = safe {
                // Done, but not known to be safe: as if a step had failed.
                plan.inverse().perform(&self.pins)?;
                return Err(failed);
            }
            Ok(())
        });
        match performed {
            Ok(()) => {
                // All is done: what fails from here on is settled by the next change of this key.
                let mut kept = Vec::new();
                let unfinished = self.close(&entry.scratch, &mut kept).err();
                Ok(Made { kept, unfinished })
            }
            Err(error @ JournalError::Plan(PlanError::Torn { .. })) => Err(error),
            Err(error) => {
                if read(&self.path)?.is_some() {
                    self.recover(sealed)?;
                }
                Err(error)
            }
        }
    }

    /// Takes back what [`Held::prepare`] announced: nothing came of it.
    ///
    /// # Errors
    /// As [`Held::recover`].
    pub fn abandon(&self) -> Result<(), JournalError> {
        self.recover(&|_, _| true).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::plan::Step;
    use std::fs;

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("journal-{}-{name}", std::process::id()));
        fs::create_dir_all(dir.join("t")).unwrap();
        dir
    }

    fn renames(dir: &Path) -> Plan {
        Plan {
            steps: ["a", "b", "c"]
                .map(|name| Step::Rename { from: dir.join("t").join(name), to: dir.join(format!("t/{name}.off")) })
                .to_vec(),
        }
    }

    #[test]
    fn what_was_cut_off_is_taken_back_and_what_was_complete_is_closed() {
        let dir = scratch("cut");
        for done in 0..=3 {
            for name in ["a", "b", "c"] {
                let _ = fs::remove_file(dir.join(format!("t/{name}.off")));
                fs::write(dir.join("t").join(name), name).unwrap();
            }
            let plan = renames(&dir);
            {
                let (held, recovered) = begin(&dir, "k", "test").unwrap();
                assert_eq!(recovered, None);
                held.write(&held.entry(&[], Some(&plan))).unwrap();
                for step in &plan.steps[..done] {
                    step.perform(&Pins::default()).unwrap();
                }
            }
            assert_eq!(open(&dir, "k").unwrap().unwrap().what, "test");
            let (_, recovered) = begin(&dir, "k", "next").unwrap();
            let recovered = recovered.unwrap();
            assert_eq!((recovered.done, recovered.finished, recovered.left.len()), (done, done == 3, 0));
            assert_eq!(dir.join("t/a").exists(), done < 3);
            assert_eq!(open(&dir, "k").unwrap(), None);
        }
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn what_somebody_changed_since_is_left_and_named() {
        let dir = scratch("changed");
        for name in ["a", "b", "c"] {
            fs::write(dir.join("t").join(name), name).unwrap();
        }
        let plan = renames(&dir);
        {
            let held = take(&dir, "k", "test").unwrap();
            held.write(&held.entry(&[], Some(&plan))).unwrap();
            plan.steps[0].perform(&Pins::default()).unwrap();
            plan.steps[1].perform(&Pins::default()).unwrap();
        }
        // Somebody writes a new `a` meanwhile: taking back would overwrite it.
        fs::write(dir.join("t/a"), "new").unwrap();
        let (_, recovered) = begin(&dir, "k", "next").unwrap();
        assert_eq!(recovered.unwrap().left, [dir.join("t/a")]);
        assert_eq!(fs::read(dir.join("t/a")).unwrap(), b"new");
        assert_eq!(fs::read(dir.join("t/a.off")).unwrap(), b"a");
        assert_eq!(fs::read(dir.join("t/b")).unwrap(), b"b");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_directory_that_somebody_uses_now_is_left_and_bars_nobody() {
        let dir = scratch("used");
        fs::write(dir.join("t/a"), "a").unwrap();
        let plan = Plan {
            steps: vec![
                Step::MakeDir { path: dir.join("t/new") },
                Step::Rename { from: dir.join("t/a"), to: dir.join("t/new/a") },
                Step::Write { path: dir.join("t/b"), data: b"b".to_vec(), mode: None, was: None },
            ],
        };
        {
            let held = take(&dir, "k", "test").unwrap();
            held.write(&held.entry(&[], Some(&plan))).unwrap();
            plan.steps[0].perform(&Pins::default()).unwrap();
            plan.steps[1].perform(&Pins::default()).unwrap();
        }
        fs::write(dir.join("t/new/theirs"), "theirs").unwrap();
        let (held, recovered) = begin(&dir, "k", "next").unwrap();
        assert_eq!(recovered.unwrap().left, [dir.join("t/new")]);
        assert_eq!(fs::read(dir.join("t/a")).unwrap(), b"a");
        assert!(dir.join("t/new/theirs").exists());
        drop(held);
        assert_eq!(begin(&dir, "k", "next").unwrap().1, None);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_journal_of_another_version_is_not_guessed_at() {
        let dir = scratch("version");
        fs::create_dir_all(dir.join("journal")).unwrap();
        fs::write(dir.join("journal/k.json"), "{\"schema\":2}").unwrap();
        assert!(matches!(begin(&dir, "k", "next"), Err(JournalError::Corrupt { .. })));
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_plan_with_names_and_bytes_of_any_kind_survives_the_journal() {
        use std::os::unix::ffi::OsStrExt as _;
        let path = Path::new(std::ffi::OsStr::from_bytes(b"/x/\xff\n")).to_owned();
        let plan = Plan { steps: vec![Step::Remove { path, was: vec![0, 159, 146, 150], mode: 0o600 }] };
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    }
}
