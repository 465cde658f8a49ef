//! Acts are noted: on which path, whether through a link, and what they leave in the picture of the disk.

use super::super::act::{Act, ActKind};
use super::engine::{Engine, MAX_TEXT, UNK};
use super::picture::{self, Left};
use super::state::Shell;
use super::{Found, Kind};
use std::path::PathBuf;

/// What an unknown name is called in the path of an act. People see it.
pub(super) const UNKNOWN_NAME: &str = "…";

/// Most acts that are noted.
pub(super) const MAX_ACTS: usize = 4_096;

/// The number of a path that names an open file descriptor.
pub(crate) fn fd_path(full: &str) -> Option<i32> {
    fd_name(full).filter(|(_, rest)| rest.is_empty()).map(|(n, _)| n)
}

/// The number of an open file descriptor in a path, and what stands behind it.
pub(super) fn fd_name(full: &str) -> Option<(i32, &str)> {
    for (name, n) in [("/dev/stdin", 0), ("/dev/stdout", 1), ("/dev/stderr", 2)] {
        if full == name {
            return Some((n, ""));
        }
    }
    let rest = full.strip_prefix("/dev/fd/").or_else(|| {
        // `/proc/$$/fd/3`: whose number it is, is not known, and it is mostly one's own
        let process = full.strip_prefix("/proc/")?;
        let (process, rest) = process.split_once('/')?;
        (process == "self" || process == "thread-self" || process.contains(UNK)).then_some(rest)?.strip_prefix("fd/")
    })?;
    let end = rest.find('/').unwrap_or(rest.len());
    Some((rest[..end].parse().ok()?, &rest[end..]))
}

/// Whether a path is a device that swallows or gives without changing anything on disk.
pub(crate) fn is_device(full: &str) -> bool {
    matches!(full, "/dev/null" | "/dev/zero" | "/dev/full" | "/dev/tty" | "/dev/random" | "/dev/urandom" | "/dev/ptmx")
        || fd_path(full).is_some()
        || full.starts_with("/dev/tcp/")
        || full.starts_with("/dev/udp/")
}

impl Engine<'_> {
    /// Notes an act on a path as the command names it.
    pub(crate) fn act(&mut self, sh: &Shell, kind: ActKind, name: &str, follow: bool, below: bool) {
        if name.is_empty() || !self.spend(1_500) {
            return;
        }
        if self.out.acts.len() >= MAX_ACTS {
            self.unknown("too many files", name);
            return;
        }
        let mut path = self.full(sh, name);
        if is_device(&path) || !follow && fd_path(&picture::join(&sh.cwd, name)).is_some() {
            // the name of a descriptor itself can't be changed
            return;
        }
        if !path.starts_with('/') {
            self.unknown("a path is not known", name);
            return;
        }
        if self.fs.has_links() {
            let at = self.fs.at(&path, follow);
            if at.ours {
                path = at.path;
            }
        }
        let (mut follow, mut below) = (follow, below);
        if let Some(made) = self.fs.replaced(&path, follow) {
            // what the command put where a link stood: nobody else can see that the link is gone
            (path, follow, below) = (made, false, false);
        }
        if path.contains(UNK) {
            self.unknown("part of a path is not known", name);
            let first = path[1..].split('/').next().unwrap_or("");
            if first.contains(UNK) {
                return;
            }
            path = path.replace(UNK, UNKNOWN_NAME);
        }
        let written = matches!(kind, ActKind::Write | ActKind::Mode | ActKind::Create) && follow;
        if self.fs.doubted(&path, written) {
            self.unknown("a file that may be one with another elsewhere", name);
        }
        if self.fs.overfull {
            self.unknown("too many files", name);
        }
        if written {
            let twins = if below { self.fs.twins_below(&path) } else { self.fs.twins(&path) };
            for twin in twins {
                self.note(kind, twin, true, false);
            }
        }
        self.note(kind, path, follow, below);
    }

    pub(super) fn note(&mut self, kind: ActKind, path: String, follow: bool, below: bool) {
        let key = (kind, follow, below, path);
        if self.seen.contains(&key) {
            return;
        }
        let act = Act { kind, path: PathBuf::from(&key.3), follow, below };
        self.out.acts.push(Found { act, ground: self.ground.clone(), by: self.by.clone() });
        self.seen.insert(key);
    }

    /// A file is opened for writing: through a link, created where it is missing.
    pub(crate) fn write(&mut self, sh: &Shell, name: &str) {
        let full = self.full(sh, name);
        if full.ends_with('/') || name.is_empty() {
            return;
        }
        let exists = if full.contains(UNK) { None } else { self.fs.what(&full) };
        if exists == Some(Kind::Dir) {
            return;
        }
        self.act(sh, if exists.is_some() { ActKind::Write } else { ActKind::Create }, name, true, false);
        if !is_device(&full) {
            self.fs.leave(&full, true, Left::File(None));
        }
    }

    /// A file gets new content that is known.
    pub(crate) fn write_text(&mut self, sh: &Shell, name: &str, text: &str) {
        self.write(sh, name);
        let full = self.full(sh, name);
        if let Some(fd) = fd_path(&full) {
            self.put(sh, fd, text);
        } else if !is_device(&full) && text.len() <= MAX_TEXT {
            self.fs.leave(&full, true, Left::File(Some(text.into())));
        }
    }

    /// An entry goes away; the link itself, where it is one.
    pub(crate) fn remove(&mut self, sh: &Shell, name: &str, below: bool) {
        let full = self.full(sh, name);
        if full.ends_with('/') && !below || fd_path(&picture::join(&sh.cwd, name)).is_some() {
            return;
        }
        let bare = name.trim_end_matches('/');
        let bare = if bare.is_empty() { name } else { bare };
        // `rm -r link/` does not remove what the link leads to
        self.act(sh, ActKind::Remove, bare, false, below);
        let full = self.full(sh, bare);
        self.fs.leave(&full, false, Left::Gone);
    }
}
