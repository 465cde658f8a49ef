//! When the command has changed files, and the picture of the disk as it was at some moment.

use super::picture::{Left, NANOS, Picture};
use std::collections::{BTreeMap, HashMap};

/// What the command had left at some moment.
#[derive(Debug)]
pub(crate) struct Kept {
    left: BTreeMap<String, Left>,
    hard: Vec<Vec<String>>,
    links: bool,
    replaced: Vec<String>,
    doubtful: Vec<String>,
    overfull: bool,
    times: HashMap<String, Option<i64>>,
}

impl Picture<'_> {
    /// The time for what the command changes now: after all that stands on the disk, and after what it has changed before.
    pub(super) fn next_time(&mut self) -> Option<i64> {
        self.turns += 1;
        // the way is long gone when the clock gets there
        Some((self.world().now() + 3_600).saturating_mul(NANOS) + self.turns)
    }

    /// Notes that a file has got a new time; where not `now`, it may be any.
    pub(crate) fn touched(&mut self, path: &str, now: bool) {
        let time = if now { self.next_time() } else { None };
        self.times.insert(path.to_owned(), time);
    }

    /// Notes that a file has got a time that it was told, in seconds; it may be any where that is not known.
    pub(crate) fn dated(&mut self, path: &str, seconds: Option<i64>) {
        let there = self.at(path, true).path;
        self.times.insert(there, seconds.map(|seconds| seconds.saturating_mul(NANOS)));
    }

    /// The time of a file: of itself, or of the directory that was brought along with it.
    fn time(&self, path: &str) -> Option<i64> {
        if let Some(time) = self.times.get(path) {
            return *time;
        }
        if !self.times.is_empty() {
            let above = path.match_indices('/').map(|(at, _)| &path[..at]).rfind(|dir| matches!(self.left.get(*dir), Some(Left::From(_))));
            if let Some(time) = above.and_then(|dir| self.times.get(dir)) {
                return *time;
            }
        }
        self.meta(path).map(|meta| meta.mtime)
    }

    /// Whether one file is newer than another; `None` where that is not known.
    pub(crate) fn newer(&self, path: &str, other: &str) -> Option<bool> {
        Some(self.time(path)? > self.time(other)?)
    }

    /// Takes the time of one file, which may be moved away, over to another.
    fn same_time(&mut self, from: &str, to: &str) {
        let time = self.time(from);
        self.times.insert(to.to_owned(), time);
    }

    /// Notes that a copy has got the time of what it was made from.
    pub(crate) fn kept_time(&mut self, from: &str, to: &str) {
        let (from, to) = (self.at(from, true).path, self.at(to, true).path);
        self.same_time(&from, &to);
    }

    /// The picture as it is, to come back to.
    pub(crate) fn keep(&self) -> Kept {
        Kept {
            left: self.left.clone(),
            hard: self.hard.clone(),
            links: self.links,
            replaced: self.replaced.clone(),
            doubtful: self.doubtful.clone(),
            overfull: self.overfull,
            times: self.times.clone(),
        }
    }

    /// Back to how the picture was.
    pub(crate) fn back(&mut self, kept: Kept) {
        (self.left, self.hard, self.links) = (kept.left, kept.hard, kept.links);
        (self.replaced, self.doubtful, self.times) = (kept.replaced, kept.doubtful, kept.times);
        self.overfull = kept.overfull;
        self.forget_plain();
    }
}
