//! What the command has left so far: where a file came from, what it has made, what it has changed.

use super::Kind;
use super::picture::{Left, Picture};
use std::collections::{BTreeMap, HashMap};

impl Picture<'_> {
    /// Moves what stands at one path to another.
    pub(crate) fn carry(&mut self, from: &str, to: &str, keep: bool) {
        let src = self.at(from, false);
        let what = match self.left.get(&src.path) {
            Some(l @ (Left::File(_) | Left::Link(_) | Left::Dir)) => l.clone(),
            _ => match src.kind {
                Some(Kind::Link) => match self.link(&src.path) {
                    Some((t, _)) => Left::Link(t),
                    None => return,
                },
                Some(_) => match self.origin(&src.path) {
                    Ok(o) => Left::From(o.into_owned()),
                    Err(()) => Left::Dir,
                },
                None => return,
            },
        };
        let time = self.times.get(&src.path).copied();
        if !keep {
            self.leave(&src.path, false, Left::Gone);
        }
        self.leave(to, false, what);
        let to = self.at(to, false).path;
        match time {
            // some bring the time along, some do not
            _ if keep => self.touched(&to, false),
            Some(time) => drop(self.times.insert(to, time)),
            None => drop(self.times.remove(&to)),
        }
    }

    /// Notes that one file has the content of another; it is read only where somebody asks.
    pub(crate) fn copy_of(&mut self, from: &str, to: &str) {
        let src = self.at(from, true);
        let what = match self.left.get(&src.path) {
            Some(l @ Left::File(_)) => l.clone(),
            _ => self.origin(&src.path).map_or(Left::File(None), |o| Left::From(o.into_owned())),
        };
        self.leave(to, true, what);
        let to = self.at(to, true).path;
        self.touched(&to, true);
    }

    /// The time for what the command changes now: after all that stands on the disk, and after what it has changed before.
    pub(super) fn next_time(&mut self) -> Option<i64> {
        self.turns += 1;
        // the way is long gone when the clock gets there
        Some((self.world().now() + 3_600).saturating_mul(super::picture::NANOS) + self.turns)
    }

    /// Notes that a file has got a new time; where not `now`, it may be any.
    pub(crate) fn touched(&mut self, path: &str, now: bool) {
        let time = if now { self.next_time() } else { None };
        self.times.insert(path.to_owned(), time);
    }

    /// Notes that a file has got a time that it was told, in seconds; it may be any where that is not known.
    pub(crate) fn dated(&mut self, path: &str, seconds: Option<i64>) {
        let there = self.at(path, true).path;
        self.times.insert(there, seconds.map(|seconds| seconds.saturating_mul(super::picture::NANOS)));
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

    /// For a path that leads to or through what the command has put where a link stood: where that stands.
    pub(crate) fn replaced(&self, path: &str, follow: bool) -> Option<String> {
        if self.replaced.is_empty() {
            return None;
        }
        let at = self.at(path, follow).path;
        let made =
            self.replaced.iter().find(|p| at.strip_prefix(p.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))?;
        (!matches!(self.left.get(made), Some(Left::Gone | Left::Link(_)))).then(|| made.clone())
    }

    /// Whether a file stands on the real disk, and the command has not changed it.
    pub(crate) fn untouched(&self, path: &str) -> bool {
        let at = self.at(path, true);
        at.kind == Some(Kind::File)
            && !at.ours
            && !self.left.contains_key(&at.path)
            && self.origin(&at.path).is_ok_and(|real| real == at.path)
    }

    /// Whether the command has put something at a path, links in its parents followed.
    pub(crate) fn made(&self, path: &str) -> bool {
        if self.left.is_empty() {
            return false;
        }
        let at = self.at(path, false).path;
        matches!(self.left.get(&at), Some(Left::File(_) | Left::Link(_) | Left::From(_)))
    }

    /// Where a file stood before the command has copied or moved it.
    pub(crate) fn came_from(&self, path: &str) -> Option<String> {
        match self.left.get(path) {
            Some(Left::From(from)) => Some(from.clone()),
            _ => None,
        }
    }

    /// Whether the command has put something of this name anywhere.
    pub(crate) fn made_named(&self, name: &str) -> bool {
        super::fuel::did(self.left.len());
        self.left.keys().any(|path| path.strip_suffix(name).is_some_and(|dir| dir.ends_with('/')))
    }

    /// Whether the command has changed anything below a directory, apart from one file.
    pub(crate) fn changed_below(&self, dir: &str, apart: Option<&str>) -> bool {
        let prefix = format!("{dir}/");
        self.left
            .range(prefix.clone()..)
            .take_while(|(path, _)| path.starts_with(&prefix))
            .any(|(path, _)| Some(path.as_str()) != apart && !path[prefix.len()..].starts_with(".git/") && &path[prefix.len()..] != ".git")
    }

    /// Notes that what lies below a directory may be one file with others elsewhere.
    pub(crate) fn doubt(&mut self, dir: &str) {
        let dir = self.at(dir, true).path;
        self.doubtful.push(dir);
    }

    /// Whether a file may be one with others elsewhere.
    pub(crate) fn doubted(&self, path: &str) -> bool {
        if self.doubtful.is_empty() {
            return false;
        }
        let at = self.at(path, true).path;
        self.doubtful.iter().any(|dir| at.strip_prefix(dir.as_str()).is_some_and(|rest| rest.starts_with('/')))
    }

    /// Notes that two paths are one file.
    pub(crate) fn tie(&mut self, a: &str, b: &str) {
        let (a, b) = (self.at(a, false).path, self.at(b, false).path);
        self.hard.push((a.clone(), b.clone()));
        self.hard.push((b, a.clone()));
    }

    /// The other names of a file that this command has made.
    pub(crate) fn twins(&self, path: &str) -> Vec<String> {
        if self.hard.is_empty() {
            return Vec::new();
        }
        let at = self.at(path, true).path;
        self.hard.iter().filter(|(a, _)| *a == at).map(|(_, b)| b.clone()).collect()
    }

    /// Whether the command itself has made links that a path may lead through.
    pub(crate) fn has_links(&self) -> bool {
        self.links
    }

    /// The picture as it is, to come back to.
    pub(crate) fn keep(&self) -> Kept {
        Kept {
            left: self.left.clone(),
            hard: self.hard.clone(),
            links: self.links,
            replaced: self.replaced.clone(),
            doubtful: self.doubtful.clone(),
            times: self.times.clone(),
        }
    }

    /// Back to how the picture was.
    pub(crate) fn back(&mut self, kept: Kept) {
        (self.left, self.hard, self.links) = (kept.left, kept.hard, kept.links);
        (self.replaced, self.doubtful, self.times) = (kept.replaced, kept.doubtful, kept.times);
        self.forget_plain();
    }
}

/// What the command had left at some moment.
#[derive(Debug)]
pub(crate) struct Kept {
    left: BTreeMap<String, Left>,
    hard: Vec<(String, String)>,
    links: bool,
    replaced: Vec<String>,
    doubtful: Vec<String>,
    times: HashMap<String, Option<i64>>,
}
