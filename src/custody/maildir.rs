//! An inbox on the disk: `.loci/memory/inbox/{tmp,new,cur,held}` and its log.
//!
//! Delivery is a file in `tmp/`, synced, then renamed into `new/` where no message of that name may
//! stand yet: whoever is killed leaves either nothing that counts or a whole message, and two that
//! deliver at once lose nothing. A message goes from `new/` to `cur/` when somebody begins to deal
//! with it, never back.

mod log;
mod memory;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use memory::keep_out_of_git;
pub use memory::{its_own, of_memory};

use super::{letter, worktree};
use crate::sys::disk::{self, Kind, PathError};
use crate::sys::lock::{self, Lock, LockError};
use crate::sys::process::Identity;
use crate::sys::shown;

/// Why an inbox can't be used.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// Something stands where a directory or a file of the inbox belongs. A link there could lead a
    /// message anywhere.
    #[error("use the inbox: {} is not {expected}", shown::path(.path))]
    Odd {
        /// What is odd.
        path: PathBuf,
        /// What it should be.
        expected: &'static str,
    },
    /// The disk.
    #[error(transparent)]
    Disk(#[from] PathError),
}

/// How a delivery ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placed {
    /// It is in `new/`.
    Fresh(PathBuf),
    /// The same message was delivered before, and lies there.
    Again(PathBuf),
}

/// A message that lies in an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lying {
    /// The key that its file is named by.
    pub key: String,
    /// Whether it is still in `new/`.
    pub new: bool,
    /// Which file it is.
    pub inode: u64,
}

/// Something in `new/` or `cur/` that is no message: nothing that a delivery makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Odd {
    /// Where it lies.
    pub path: PathBuf,
    /// What it is.
    pub kind: Kind,
}

impl std::fmt::Display for Odd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.kind {
            Kind::File => "no message by its name",
            Kind::Dir => "a directory",
            Kind::Link => "a link",
            Kind::Other => "a pipe, a socket or a device",
        };
        write!(f, "{} is {what}: it was passed over", shown::path(&self.path))
    }
}

/// What lies in an inbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The messages, sorted by key.
    pub lying: Vec<Lying>,
    /// What else is there, sorted by name.
    pub odd: Vec<Odd>,
}

/// An inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailbox {
    /// The directory that it belongs to.
    place: PathBuf,
    /// The `.loci` that it is in.
    loci: PathBuf,
    dir: PathBuf,
}

/// The largest message file; what a letter carries is cut far below.
pub const MAX_LETTER: u64 = 1 << 20;

/// How many leftovers one delivery looks at.
const MAX_SWEPT: usize = 256;

impl Mailbox {
    /// The inbox of a body, or of an owned directory whose owner's body is not known. That of a copy in a separate
    /// worktree is the one of what it is the copy of: git takes a worktree away with all that is ignored in it.
    #[must_use]
    pub fn of(place: &Path) -> Self {
        let place = worktree::stays(place);
        Self::within(&place, place.join(".loci"))
    }

    /// The human's inbox. People keep `~/.loci` elsewhere and link to it; that link is theirs, and
    /// followed. One in a body may be a stranger's.
    #[must_use]
    pub fn of_human(home: &Path) -> Self {
        let loci = home.join(".loci");
        Self::within(home, disk::canonical(&loci).unwrap_or(loci))
    }

    /// The inbox that is this directory.
    #[must_use]
    pub fn at(dir: &Path) -> Option<Self> {
        let loci = dir.parent()?.parent()?;
        let found = Self::within(loci.parent()?, loci.to_owned());
        (found.dir == dir).then_some(found)
    }

    fn within(place: &Path, loci: PathBuf) -> Self {
        Self { place: place.to_owned(), dir: loci.join("memory/inbox"), loci }
    }

    /// Where it is.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The directory that it belongs to.
    #[must_use]
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Whether there is one.
    #[must_use]
    pub fn exists(&self) -> bool {
        matches!(disk::look(&self.dir), Ok(Some(meta)) if meta.kind == Kind::Dir)
    }

    /// Refuses links and oddities where the inbox's own directories and log belong. Nothing there
    /// yet is fine.
    fn check(&self) -> Result<(), MailError> {
        self.checked().map(|_| ())
    }

    /// As [`Mailbox::check`]; with the length of the log, 0 where there is none.
    fn checked(&self) -> Result<u64, MailError> {
        for dir in [
            self.loci.clone(),
            self.loci.join("memory"),
            self.dir.clone(),
            self.dir.join("tmp"),
            self.dir.join("new"),
            self.dir.join("cur"),
            self.dir.join("held"),
        ] {
            if disk::look(&dir)?.is_some_and(|meta| meta.kind != Kind::Dir) {
                return Err(MailError::Odd { path: dir, expected: "a directory" });
            }
        }
        let log = self.log_file();
        match disk::look(&log)? {
            Some(meta) if meta.kind != Kind::File => Err(MailError::Odd { path: log, expected: "a regular file" }),
            meta => Ok(meta.map_or(0, |meta| meta.len)),
        }
    }

    /// Makes what is missing; whoever makes the memory of a body keeps it out of git.
    ///
    /// # Errors
    /// Where something else stands there, or it can't be made.
    pub fn prepare(&self) -> Result<(), MailError> {
        self.check()?;
        for dir in ["tmp", "new", "cur"] {
            disk::make_dirs(&self.dir.join(dir))?;
        }
        keep_out_of_git(&self.loci.join("memory"))?;
        Ok(())
    }

    /// Where the message of a key lies, `new/` looked at first: messages only move from there to
    /// `cur/`, so none is missed between the two looks.
    ///
    /// # Errors
    /// Where the disk can't say.
    pub fn find(&self, key: &str) -> Result<Option<PathBuf>, MailError> {
        for dir in ["new", "cur"] {
            let path = self.lies_at(key, dir == "new");
            if disk::look(&path)?.is_some_and(|meta| meta.kind == Kind::File) {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// The file of a message.
    #[must_use]
    pub fn lies_at(&self, key: &str, new: bool) -> PathBuf {
        let mut path = self.dir.join(if new { "new" } else { "cur" });
        path.push(format!("{key}.md"));
        path
    }

    /// Delivers a message under its key, unless one of that key is there.
    ///
    /// # Errors
    /// Where the inbox can't be used or written; then nothing was delivered.
    pub fn deliver(&self, key: &str, data: &[u8]) -> Result<Placed, MailError> {
        self.prepare()?;
        if let Some(path) = self.find(key)? {
            return Ok(Placed::Again(path));
        }
        let path = self.dir.join("new").join(format!("{key}.md"));
        self.place_at(key, &path, data)
    }

    /// Keeps a file beside the messages under a name of its own.
    ///
    /// # Errors
    /// As [`Mailbox::deliver`].
    pub fn hold(&self, name: &str, data: &[u8]) -> Result<Placed, MailError> {
        self.prepare()?;
        disk::make_dirs(&self.dir.join("held"))?;
        let path = self.dir.join("held").join(name);
        if disk::look(&path)?.is_some() {
            return Ok(Placed::Again(path));
        }
        self.place_at(name, &path, data)
    }

    /// Whether a file of that name is kept beside the messages.
    ///
    /// # Errors
    /// Where the directory can't be read.
    pub fn holds(&self, name: &str) -> Result<bool, MailError> {
        Ok(disk::look(&self.dir.join("held").join(name))?.is_some())
    }

    /// Takes something that is held away again.
    ///
    /// # Errors
    /// Where it can't be taken away.
    pub fn unhold(&self, name: &str) -> Result<(), MailError> {
        Ok(disk::remove_file(&self.dir.join("held").join(name))?)
    }

    /// Lets one process at a time deal with messages, from the look at where one stands to the record of what
    /// became of it; `None` where others had it for too long.
    ///
    /// # Errors
    /// Where the directory can't be used.
    pub fn lock(&self, patience: Duration) -> Result<Option<Lock>, MailError> {
        self.prepare()?;
        match lock::of_dir(&self.dir, patience) {
            Ok(lock) => Ok(Some(lock)),
            Err(LockError::Held { .. }) => Ok(None),
            Err(LockError::Disk(error)) => Err(error.into()),
        }
    }

    fn place_at(&self, name: &str, path: &Path, data: &[u8]) -> Result<Placed, MailError> {
        let me = Identity::of_self();
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let temp = self.dir.join("tmp").join(format!("{name}.{count}.{}.{}", me.pid, me.start));
        self.sweep();
        let mut tries = 2;
        loop {
            disk::write_new(&temp, data, 0o600)?;
            let Err(error) = disk::rename_noreplace(&temp, path) else { break };
            tries -= 1;
            match error.source.kind() {
                std::io::ErrorKind::AlreadyExists => {
                    let _ = disk::remove_file(&temp);
                    return Ok(Placed::Again(path.to_owned()));
                }
                // Swept away by somebody who can't see this process (another namespace).
                std::io::ErrorKind::NotFound if tries > 0 => {}
                _ => {
                    let _ = disk::remove_file(&temp);
                    return Err(error.into());
                }
            }
        }
        if let Some(parent) = path.parent() {
            disk::sync_dir(parent)?;
        }
        Ok(Placed::Fresh(path.to_owned()))
    }

    /// Takes away what processes that were killed left in `tmp/`. What can't be taken away is no
    /// message and does no harm.
    fn sweep(&self) {
        let Ok(entries) = disk::list_unsorted(&self.dir.join("tmp")) else { return };
        let boot = Identity::of_self().boot;
        let mut looked = 0;
        for entry in entries {
            let Some(name) = entry.name.to_str() else { continue };
            let mut parts = name.rsplit('.');
            let (start, pid) = (parts.next().and_then(|text| text.parse().ok()), parts.next().and_then(|text| text.parse().ok()));
            // A delivery is on a tool call's time: what is left over is for the next one.
            if looked >= MAX_SWEPT {
                return;
            }
            looked += usize::from(start.is_some());
            if let (Some(start), Some(pid)) = (start, pid)
                && !(Identity { pid, start, boot: boot.clone() }).is_alive()
            {
                let _ = disk::remove_file(&self.dir.join("tmp").join(name));
            }
        }
    }

    /// Moves a message on to `cur/`; one that is there already stays.
    ///
    /// # Errors
    /// Where it can't be moved.
    pub fn settle(&self, key: &str) -> Result<(), MailError> {
        let name = format!("{key}.md");
        let (new, cur) = (self.dir.join("new").join(&name), self.dir.join("cur").join(&name));
        if disk::look(&new)?.is_some() {
            disk::make_dirs(&self.dir.join("cur"))?;
            disk::rename(&new, &cur)?;
            disk::sync_dir(&self.dir.join("cur"))?;
        }
        Ok(())
    }

    /// All that lies here.
    ///
    /// # Errors
    /// Where a directory can't be read.
    pub fn lying(&self) -> Result<Found, MailError> {
        self.check()?;
        let mut found = Found::default();
        for (dir, new) in [("new", true), ("cur", false)] {
            let path = self.dir.join(dir);
            if disk::look(&path)?.is_none() {
                continue;
            }
            for entry in disk::list_unsorted(&path)? {
                let key = entry.name.to_str().and_then(|name| name.strip_suffix(".md")).filter(|key| letter::is_key(key));
                match key.filter(|_| entry.kind == Kind::File) {
                    Some(key) => found.lying.push(Lying { key: key.to_owned(), new, inode: entry.inode }),
                    None => found.odd.push(Odd { path: path.join(&entry.name), kind: entry.kind }),
                }
            }
        }
        found.lying.sort_unstable_by(|a, b| (&a.key, a.new).cmp(&(&b.key, b.new)));
        found.lying.dedup_by(|a, b| a.key == b.key);
        found.odd.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// The names of what is held beside the messages, sorted.
    ///
    /// # Errors
    /// Where the directory can't be read.
    pub fn held(&self) -> Result<Vec<String>, MailError> {
        let dir = self.dir.join("held");
        if disk::look(&dir)?.is_none() {
            return Ok(Vec::new());
        }
        let entries = disk::list(&dir)?;
        Ok(entries.into_iter().filter(|entry| entry.kind == Kind::File).filter_map(|entry| entry.name.into_string().ok()).collect())
    }
}
