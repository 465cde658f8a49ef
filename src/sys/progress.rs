//! How far a plan got, told from the disk alone.
//!
//! Every step changes what stands at one or two paths. For each number of steps that may have been
//! done, the facts that must then hold are worked out; the greatest number whose facts all hold is
//! how far the plan got.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::disk::{self, Kind, PathError};
use super::plan::{Plan, Step, is_link_to};

/// What has to stand at a path.
#[derive(Debug, Clone, Copy)]
enum Fact<'a> {
    Absent,
    Dir,
    File(&'a [u8]),
    Link(&'a Path),
    Something,
    Inode(u64),
}

impl Fact<'_> {
    fn holds(self, path: &Path) -> Result<bool, PathError> {
        let meta = disk::look(path)?;
        Ok(match (self, meta) {
            (Self::Absent, meta) => meta.is_none(),
            (_, None) => false,
            (Self::Something, Some(_)) => true,
            (Self::Dir, Some(meta)) => meta.kind == Kind::Dir,
            (Self::File(data), Some(meta)) => {
                meta.kind == Kind::File && meta.len == data.len() as u64 && disk::read_if_there(path)?.is_some_and(|found| found == data)
            }
            (Self::Link(target), Some(_)) => is_link_to(path, target),
            (Self::Inode(id), Some(meta)) => meta.id.1 == id,
        })
    }
}

/// What a step needs to find.
fn before(step: &Step) -> Vec<(&Path, Fact<'_>)> {
    match step {
        Step::MakeDir { path } | Step::Write { path, was: None, .. } | Step::Link { path, .. } => vec![(path, Fact::Absent)],
        Step::RemoveDir { path } => vec![(path, Fact::Dir)],
        Step::Write { path, was: Some(was), .. } | Step::Remove { path, was, .. } => vec![(path, Fact::File(was))],
        Step::Rename { from, to } => vec![(from, Fact::Something), (to, Fact::Absent)],
        Step::Unlink { path, target } => vec![(path, Fact::Link(target))],
        Step::Exchange { path, with, id, with_id } => vec![(path, Fact::Inode(*id)), (with, Fact::Inode(*with_id))],
    }
}

/// What a step leaves; the content of what is renamed is `None`: as it was.
fn after(step: &Step) -> Vec<(&Path, Option<Fact<'_>>)> {
    match step {
        Step::MakeDir { path } => vec![(path, Some(Fact::Dir))],
        Step::RemoveDir { path } | Step::Remove { path, .. } | Step::Unlink { path, .. } => vec![(path, Some(Fact::Absent))],
        Step::Write { path, data, .. } => vec![(path, Some(Fact::File(data)))],
        Step::Link { path, target } => vec![(path, Some(Fact::Link(target)))],
        Step::Rename { from, to } => vec![(to, None), (from, Some(Fact::Absent))],
        Step::Exchange { path, with, id, with_id } => vec![(path, Some(Fact::Inode(*with_id))), (with, Some(Fact::Inode(*id)))],
    }
}

fn moved(path: &Path, from: &Path, to: &Path) -> Option<PathBuf> {
    let rest = path.strip_prefix(from).ok()?;
    Some(if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) })
}

/// Where something that stands below `path` after `step` stood before it.
fn carried_back(path: &Path, step: &Step) -> Option<PathBuf> {
    match step {
        Step::Rename { from, to } => moved(path, to, from),
        Step::Exchange { path: one, with: two, .. } => moved(path, one, two).or_else(|| moved(path, two, one)),
        _ => None,
    }
}

impl Plan {
    /// The facts when the first `done` steps have been performed.
    fn facts(&self, done: usize) -> BTreeMap<PathBuf, Fact<'_>> {
        let mut facts: BTreeMap<PathBuf, Fact<'_>> = BTreeMap::new();
        for step in self.steps.iter().take(done) {
            // What lies below a path that moves, moves along.
            if let Step::Rename { from, .. } | Step::Exchange { path: from, .. } = step {
                let below: Vec<PathBuf> = facts.keys().filter(|path| carried_on(path, step).is_some() && *path != from).cloned().collect();
                let taken: Vec<_> = below.into_iter().filter_map(|path| Some((carried_on(&path, step)?, facts.remove(&path)?))).collect();
                facts.extend(taken);
            }
            let mut fresh = Vec::new();
            for (path, fact) in after(step) {
                let fact = match (fact, step) {
                    (Some(fact), _) => fact,
                    (None, Step::Rename { from, .. }) => facts.get(from).copied().unwrap_or(Fact::Something),
                    (None, _) => Fact::Something,
                };
                fresh.push((path.to_owned(), fact));
            }
            facts.extend(fresh);
        }
        for (index, step) in self.steps.iter().enumerate().skip(done) {
            for (path, fact) in before(step) {
                // What an earlier step that was not done would have moved, is still where it was.
                let mut path = path.to_owned();
                for earlier in self.steps.iter().take(index).skip(done).rev() {
                    if let Some(back) = carried_back(&path, earlier) {
                        path = back;
                    }
                }
                // What an earlier step that was not done would have made, is not there yet.
                let made = self.steps.iter().take(index).skip(done).any(|earlier| touches(earlier, &path));
                if !made {
                    facts.entry(path).or_insert(fact);
                }
            }
        }
        facts
    }

    /// How many of the steps the disk shows as done; `None` where it is in no state that the plan
    /// passes through.
    ///
    /// # Errors
    /// Where the disk can't be looked at.
    pub(super) fn progress(&self) -> Result<Option<usize>, PathError> {
        if self.is_disjoint() {
            return self.progress_of_disjoint();
        }
        'count: for done in (0..=self.steps.len()).rev() {
            for (path, fact) in self.facts(done) {
                if !fact.holds(&path)? {
                    continue 'count;
                }
            }
            return Ok(Some(done));
        }
        Ok(None)
    }

    /// Whether no two steps have to do with the same path or with one below the other: then each
    /// step's facts are its own, and a plan of many hundred renames is told in one pass.
    fn is_disjoint(&self) -> bool {
        let mut paths: Vec<&Path> = self.steps.iter().flat_map(before).map(|(path, _)| path).collect();
        paths.sort_unstable();
        paths.iter().zip(paths.iter().skip(1)).all(|(one, next)| !next.starts_with(one))
    }

    fn progress_of_disjoint(&self) -> Result<Option<usize>, PathError> {
        let mut done = 0;
        for step in &self.steps {
            if !Self::shows(step)? {
                break;
            }
            done += 1;
        }
        for step in self.steps.iter().skip(done) {
            if !Self::awaits(step)? {
                return Ok(None);
            }
        }
        Ok(Some(done))
    }

    /// Whether the disk is as the single step needs it.
    pub(super) fn awaits(step: &Step) -> Result<bool, PathError> {
        for (path, fact) in before(step) {
            if !fact.holds(path)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the disk is as the single step left it.
    pub(super) fn shows(step: &Step) -> Result<bool, PathError> {
        for (path, fact) in after(step) {
            if !fact.unwrap_or(Fact::Something).holds(path)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn carried_on(path: &Path, step: &Step) -> Option<PathBuf> {
    match step {
        Step::Rename { from, to } => moved(path, from, to),
        Step::Exchange { path: one, with: two, .. } => moved(path, one, two).or_else(|| moved(path, two, one)),
        _ => None,
    }
}

fn touches(step: &Step, path: &Path) -> bool {
    after(step).iter().any(|(one, _)| *one == path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("progress-{}-{name}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn every_prefix_is_recognised() {
        let dir = scratch("prefix");
        fs::create_dir_all(dir.join("old")).unwrap();
        fs::write(dir.join("old/in"), "in").unwrap();
        fs::write(dir.join("a"), "1").unwrap();
        fs::write(dir.join("x"), "x").unwrap();
        fs::write(dir.join("y"), "y").unwrap();
        let id = |name: &str| disk::look(&dir.join(name)).unwrap().unwrap().id.1;
        let plan = Plan {
            steps: vec![
                Step::MakeDir { path: dir.join("d") },
                Step::Write { path: dir.join("d/f"), data: b"2".to_vec(), mode: None, was: None },
                Step::Rename { from: dir.join("old"), to: dir.join("new") },
                Step::Write { path: dir.join("new/in"), data: b"out".to_vec(), mode: None, was: Some(b"in".to_vec()) },
                Step::Write { path: dir.join("a"), data: b"2".to_vec(), mode: None, was: Some(b"1".to_vec()) },
                Step::Rename { from: dir.join("a"), to: dir.join("b") },
                Step::Link { path: dir.join("a"), target: "b".into() },
                Step::Exchange { path: dir.join("x"), with: dir.join("y"), id: id("x"), with_id: id("y") },
                Step::Remove { path: dir.join("b"), was: b"2".to_vec(), mode: 0o644 },
                Step::Unlink { path: dir.join("a"), target: "b".into() },
            ],
        };
        plan.check().unwrap();
        for done in 0..plan.steps.len() {
            assert_eq!(plan.progress().unwrap(), Some(done));
            plan.steps[done].perform(&crate::sys::pinned::Pins::default()).unwrap();
        }
        assert_eq!(plan.progress().unwrap(), Some(plan.steps.len()));
        let back = plan.inverse();
        for done in 0..back.steps.len() {
            assert_eq!(back.progress().unwrap(), Some(done), "on the way back");
            back.steps[done].perform(&crate::sys::pinned::Pins::default()).unwrap();
        }
        fs::write(dir.join("d"), "in the way").unwrap();
        assert_eq!(plan.progress().unwrap(), None);
        fs::remove_dir_all(dir).unwrap();
    }
}
