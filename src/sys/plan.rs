//! One kind of plan for every verb that changes files, and for every `--dry-run`.
//!
//! A plan is a value: it can be shown, checked, inverted and performed. It is checked in full before
//! its first step; where a step fails, the ones before it are taken back. What has several steps and
//! has to survive a kill between two of them goes through [`super::journal`].

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::disk::{self, Kind, PathError};
use super::pinned::Pins;
use super::shown;

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// Makes a directory that is not there.
    MakeDir {
        /// Where.
        #[serde(with = "super::wire::path")]
        path: PathBuf,
    },
    /// Removes a directory that is empty.
    RemoveDir {
        /// Which.
        #[serde(with = "super::wire::path")]
        path: PathBuf,
    },
    /// Writes a file as a whole.
    Write {
        /// Which.
        #[serde(with = "super::wire::path")]
        path: PathBuf,
        /// What will stand in it.
        #[serde(with = "super::wire::bytes")]
        data: Vec<u8>,
        /// Permission bits; `None` keeps those of the file that is there, `0o644` for a new one.
        mode: Option<u32>,
        /// What has to stand in it before; `None`: nothing may be there.
        #[serde(with = "super::wire::maybe_bytes")]
        was: Option<Vec<u8>>,
    },
    /// Removes a file.
    Remove {
        /// Which.
        #[serde(with = "super::wire::path")]
        path: PathBuf,
        /// What has to stand in it.
        #[serde(with = "super::wire::bytes")]
        was: Vec<u8>,
        /// Its permission bits, for the way back.
        mode: u32,
    },
    /// Renames something to a name that is free.
    Rename {
        /// From.
        #[serde(with = "super::wire::path")]
        from: PathBuf,
        /// To.
        #[serde(with = "super::wire::path")]
        to: PathBuf,
    },
    /// Makes a link.
    Link {
        /// Where.
        #[serde(with = "super::wire::path")]
        path: PathBuf,
        /// Its text.
        #[serde(with = "super::wire::path")]
        target: PathBuf,
    },
    /// Exchanges what stands at two paths in one step.
    Exchange {
        /// One.
        #[serde(with = "super::wire::path")]
        path: PathBuf,
        /// The other.
        #[serde(with = "super::wire::path")]
        with: PathBuf,
        /// Inode of what stands at `path` before.
        id: u64,
        /// Inode of what stands at `with` before.
        with_id: u64,
    },
    /// Removes a link that has this text.
    Unlink {
        /// Which.
        #[serde(with = "super::wire::path")]
        path: PathBuf,
        /// Its text.
        #[serde(with = "super::wire::path")]
        target: PathBuf,
    },
}

/// What is to be done, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The steps.
    pub steps: Vec<Step>,
}

/// Why a plan was not performed.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The disk is not as the plan needs it; nothing was touched.
    #[error("{what} {}: {why}", shown::path(.path))]
    Conflict {
        /// The verb of the step.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// What is in the way.
        why: &'static str,
    },
    /// A step failed; the ones before it were taken back.
    #[error(transparent)]
    Disk(#[from] PathError),
    /// A step failed and so did the way back.
    #[error("{failed}; and the way back stopped at {} of {total} steps: {undo}", total - left)]
    Torn {
        /// The step that failed.
        failed: PathError,
        /// How many steps had been done.
        total: usize,
        /// How many of them are still done.
        left: usize,
        /// What stopped the way back.
        undo: Box<PlanError>,
    },
}

impl Step {
    /// The path it is about; for a rename, the one that is there now.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::MakeDir { path }
            | Self::RemoveDir { path }
            | Self::Write { path, .. }
            | Self::Remove { path, .. }
            | Self::Rename { from: path, .. }
            | Self::Link { path, .. }
            | Self::Exchange { path, .. }
            | Self::Unlink { path, .. } => path,
        }
    }

    /// The verb that people see.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match self {
            Self::MakeDir { .. } => "mkdir",
            Self::RemoveDir { .. } => "rmdir",
            Self::Write { was: None, .. } => "create",
            Self::Write { .. } => "change",
            Self::Remove { .. } => "remove",
            Self::Rename { .. } => "rename",
            Self::Link { .. } => "link",
            Self::Exchange { .. } => "exchange",
            Self::Unlink { .. } => "unlink",
        }
    }

    /// The step that takes this one back. A mode that was kept is kept on the way back too.
    #[must_use]
    pub fn inverse(&self) -> Self {
        match self.clone() {
            Self::MakeDir { path } => Self::RemoveDir { path },
            Self::RemoveDir { path } => Self::MakeDir { path },
            Self::Write { path, data, mode, was: None } => Self::Remove { path, was: data, mode: mode.unwrap_or(0o644) },
            Self::Write { path, data, mode, was: Some(was) } => Self::Write { path, data: was, mode, was: Some(data) },
            Self::Remove { path, was, mode } => Self::Write { path, data: was, mode: Some(mode), was: None },
            Self::Rename { from, to } => Self::Rename { from: to, to: from },
            Self::Link { path, target } => Self::Unlink { path, target },
            Self::Unlink { path, target } => Self::Link { path, target },
            Self::Exchange { path, with, id, with_id } => Self::Exchange { path, with, id: with_id, with_id: id },
        }
    }

    fn conflict(&self, why: &'static str) -> PlanError {
        PlanError::Conflict { what: self.verb(), path: self.path().to_owned(), why }
    }

    /// Whether the disk is as this step needs it, given what earlier steps will have made
    /// (`coming`) or taken away (`going`).
    fn check(&self, coming: &[PathBuf], going: &[PathBuf]) -> Result<(), PlanError> {
        let gone = |path: &Path| going.iter().any(|one| one == path);
        let free = |path: &Path| -> Result<bool, PlanError> {
            Ok(gone(path) || (disk::look(path)?.is_none() && !coming.iter().any(|one| one == path)))
        };
        let will_be = |path: &Path| coming.iter().any(|one| path.starts_with(one));
        match self {
            Self::MakeDir { path } | Self::Write { path, was: None, .. } | Self::Link { path, .. } if !free(path)? => {
                Err(self.conflict("something is there already"))
            }
            Self::Write { path, was: Some(was), .. } | Self::Remove { path, was, .. }
                if !will_be(path) && disk::read_if_there(path)?.as_ref() != Some(was) =>
            {
                Err(self.conflict("it changed in the meantime"))
            }
            Self::Rename { from, to } => {
                if !will_be(from) && disk::look(from)?.is_none() {
                    Err(self.conflict("it is not there"))
                } else if !free(to)? {
                    Err(PlanError::Conflict { what: self.verb(), path: to.clone(), why: "something is there already" })
                } else {
                    Ok(())
                }
            }
            Self::Unlink { path, target } if !will_be(path) && !is_link_to(path, target) => Err(self.conflict("it is no longer that link")),
            Self::Exchange { path, with, id, with_id } => {
                for (path, id) in [(path, id), (with, with_id)] {
                    if !will_be(path) && disk::look(path)?.is_none_or(|meta| meta.id.1 != *id) {
                        return Err(PlanError::Conflict { what: self.verb(), path: path.clone(), why: "it was replaced in the meantime" });
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Whether a step that failed has replaced its file nevertheless.
    fn took_effect(&self) -> bool {
        matches!(self, Self::Write { path, data, was: Some(was), .. }
            if was != data && disk::read_if_there(path).is_ok_and(|now| now.as_ref() == Some(data)))
    }

    pub(super) fn perform(&self, pins: &Pins) -> Result<(), PathError> {
        match self {
            Self::MakeDir { path } => disk::make_dir(path),
            Self::RemoveDir { path } => disk::remove_dir(path),
            Self::Write { path, data, mode, was: None } => disk::write_new(path, data, mode.unwrap_or(0o644)),
            Self::Write { path, data, mode, was: Some(was) } => disk::replace_known(path, data, *mode, was),
            Self::Remove { path, was, .. } => disk::remove_known(path, was),
            Self::Unlink { path, .. } => disk::remove_file(path),
            Self::Rename { from, to } => pins.rename(from, to),
            Self::Link { path, target } => disk::make_link(path, target),
            Self::Exchange { path, with, .. } => disk::exchange(path, with),
        }
    }
}

pub(super) fn is_link_to(path: &Path, target: &Path) -> bool {
    matches!(disk::look(path), Ok(Some(meta)) if meta.kind == Kind::Link) && disk::read_link(path).is_ok_and(|text| text == target)
}

impl Plan {
    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The plan that takes this one back.
    #[must_use]
    pub fn inverse(&self) -> Self {
        Self { steps: self.steps.iter().rev().map(Step::inverse).collect() }
    }

    /// Looks whether every step can be done, and touches nothing.
    ///
    /// # Errors
    /// [`PlanError::Conflict`] for the first that can't.
    pub fn check(&self) -> Result<(), PlanError> {
        let (mut coming, mut going) = (Vec::new(), Vec::new());
        for step in &self.steps {
            step.check(&coming, &going)?;
            match step {
                Step::Rename { from, to } => {
                    going.push(from.clone());
                    coming.retain(|one| one != from);
                    going.retain(|one| one != to);
                    coming.push(to.clone());
                }
                Step::RemoveDir { path } | Step::Remove { path, .. } | Step::Unlink { path, .. } => {
                    coming.retain(|one| one != path);
                    going.push(path.clone());
                }
                Step::MakeDir { path } | Step::Write { path, .. } | Step::Link { path, .. } => {
                    going.retain(|one| one != path);
                    coming.push(path.clone());
                }
                Step::Exchange { .. } => {}
            }
        }
        Ok(())
    }

    /// Checks the whole plan, then performs it. Where a step fails, those before it are taken back.
    ///
    /// # Errors
    /// As [`PlanError`] says; in all but [`PlanError::Torn`] the disk is as it was.
    pub fn apply(&self) -> Result<(), PlanError> {
        self.check()?;
        self.perform(&Pins::default())
    }

    /// Performs a plan that was checked; renames within directories that are pinned go by those.
    pub(super) fn perform(&self, pins: &Pins) -> Result<(), PlanError> {
        for (done, step) in self.steps.iter().enumerate() {
            if let Err(failed) = step.perform(pins) {
                // One that failed at its very end (the sync of a directory) took effect all the same.
                let done = done + usize::from(step.took_effect());
                for (undone, back) in self.steps.iter().take(done).rev().map(Step::inverse).enumerate() {
                    if let Err(undo) = back.perform(pins) {
                        return Err(PlanError::Torn { failed, total: done, left: done - undone, undo: Box::new(undo.into()) });
                    }
                }
                return Err(failed.into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("plan-{}-{name}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn a_failed_step_takes_the_others_back() {
        let dir = scratch("back");
        let plan = Plan {
            steps: vec![
                Step::MakeDir { path: dir.join("d") },
                Step::Write { path: dir.join("d/f"), data: b"x".to_vec(), mode: None, was: None },
                // Fails when it is performed: the parent is a file, which `check` can't know before.
                Step::Write { path: dir.join("d/f/g"), data: b"y".to_vec(), mode: None, was: None },
            ],
        };
        assert!(matches!(plan.apply(), Err(PlanError::Disk(_))));
        assert!(!dir.join("d").exists());
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_conflict_touches_nothing() {
        let dir = scratch("conflict");
        fs::write(dir.join("a"), "1").unwrap();
        fs::write(dir.join("b"), "2").unwrap();
        let plan = Plan { steps: vec![Step::MakeDir { path: dir.join("d") }, Step::Rename { from: dir.join("a"), to: dir.join("b") }] };
        assert!(matches!(plan.apply(), Err(PlanError::Conflict { .. })));
        assert!(!dir.join("d").exists());
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn plan_and_inverse_are_the_identity() {
        let dir = scratch("inverse");
        fs::write(dir.join("a"), "1").unwrap();
        let plan = Plan {
            steps: vec![
                Step::Rename { from: dir.join("a"), to: dir.join("b") },
                Step::Write { path: dir.join("b"), data: b"2".to_vec(), mode: None, was: Some(b"1".to_vec()) },
                Step::Link { path: dir.join("a"), target: "b".into() },
            ],
        };
        plan.apply().unwrap();
        assert_eq!(fs::read(dir.join("a")).unwrap(), b"2");
        plan.inverse().apply().unwrap();
        assert_eq!(fs::read(dir.join("a")).unwrap(), b"1");
        assert!(!dir.join("b").exists());
        fs::remove_dir_all(dir).unwrap();
    }
}
