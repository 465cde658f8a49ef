//! What of a command's calls the kernel refuses: told from the mounts that it runs under.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::plan::{Planned, Use};
use crate::sys::disk::{self, Kind};
use crate::sys::jail::{Call, Op};
use crate::sys::process;
use crate::tree::{climb, real};

/// How many refused paths are remembered; further ones are counted.
const MAX: usize = 1_000;
/// How much of the words of a program is kept, in bytes.
const MAX_WORDS: u64 = 4096;

/// A refused path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// What was tried first.
    pub op: Op,
    /// The program that tried it.
    pub program: String,
    /// The words that this program was started with, as it had them then.
    pub words: Vec<String>,
    /// Whether the path is only held in its place: nobody owns it.
    pub pinned: bool,
}

/// Listens, and remembers each refused path once.
#[derive(Debug, Default)]
pub struct Hearer {
    mounts: HashMap<PathBuf, Use>,
    state: PathBuf,
    refused: BTreeMap<PathBuf, Refused>,
    more: usize,
}

impl Hearer {
    /// One for a command under these mounts; `state` is loci's own folder.
    #[must_use]
    pub fn new(mounts: &[Planned], state: &Path) -> Self {
        let state = real::real(state, true).path;
        Self { mounts: mounts.iter().map(|mount| (mount.path.clone(), mount.what)).collect(), state, ..Self::default() }
    }

    /// Hears one call, before it is carried out.
    pub fn hear(&mut self, call: &Call) {
        let found = real::real(&call.path, call.follow);
        if found.trouble.is_some() || self.refused.contains_key(&found.path) || self.is_own(call, &found.path) {
            return;
        }
        let Some(pinned) = self.refuses(call.op, &found.path) else { return };
        if quiet(call.op, &found.path) {
            return;
        }
        if self.refused.len() >= MAX {
            self.more += 1;
            return;
        }
        // It waits until this is over: the words are those of who calls.
        let words = process::words_of(call.pid, MAX_WORDS);
        self.refused.insert(found.path, Refused { op: call.op, program: call.program.clone(), words, pinned });
    }

    /// Whether it is loci's own business, which nobody can be asked for: it tries to deliver, and has another way where it can't;
    /// or it keeps house in its state, and says itself what did not come about.
    fn is_own(&self, call: &Call, path: &Path) -> bool {
        let mail = || climb::up(path).any(|dir| dir.ends_with(".loci/memory"));
        call.program == "loci" && (path.starts_with(&self.state) || mail())
    }

    /// Whether the mounts refuse this, and only because the path is held in its place.
    fn refuses(&self, op: Op, path: &Path) -> Option<bool> {
        let (at, what) = climb::up(path).find_map(|dir| Some((dir, *self.mounts.get(dir)?)))?;
        match what {
            Use::Shut => Some(false),
            // A name that something is mounted on can't be taken away.
            Use::Pinned | Use::Opened | Use::Layer if at == path && matches!(op, Op::Remove | Op::Rename) => Some(true),
            Use::Pinned | Use::Opened | Use::Layer => None,
        }
    }

    /// The refused paths, and how many more there were.
    #[must_use]
    pub fn end(self) -> (BTreeMap<PathBuf, Refused>, usize) {
        (self.refused, self.more)
    }
}

/// Whether the call comes to nothing whoever owns the path: what is there already is not made, what is
/// not there is not removed, and a device or a pipe takes what is written to it.
fn quiet(op: Op, path: &Path) -> bool {
    let there = disk::look(path).ok().flatten().map(|meta| meta.kind);
    let parent = || path.parent().is_some_and(disk::is_dir);
    match op {
        Op::Touch | Op::Create | Op::MakeDir => there.is_some() || !parent(),
        Op::Write => there == Some(Kind::Other) || there == Some(Kind::Dir) || (there.is_none() && !parent()),
        Op::Remove | Op::Mode => there.is_none(),
        Op::Rename => !parent(),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests build trees themselves")]

    use super::*;
    use std::fs;

    #[test]
    fn what_is_refused_is_told_once_and_nothing_else() {
        let dir = std::env::temp_dir().join(format!("hear-{}", std::process::id()));
        fs::create_dir_all(dir.join("r/bob/alice")).unwrap();
        fs::write(dir.join("r/bob/x"), "x").unwrap();
        let dir = fs::canonicalize(dir).unwrap();
        std::os::unix::fs::symlink("bob/x", dir.join("r/link")).unwrap();
        let mount = |path: &str, what| Planned { path: dir.join(path), what, whose: String::new() };
        let mut hearer =
            Hearer::new(&[mount("r", Use::Pinned), mount("r/bob", Use::Shut), mount("r/bob/alice", Use::Opened)], Path::new("/none"));
        let mut call = |op, path: &str, follow| {
            hearer.hear(&Call { pid: 1, program: "sh".to_owned(), op, path: dir.join(path), follow });
        };
        for (op, path, follow) in [
            (Op::Write, "r/bob/x", true),
            (Op::Write, "r/link", true),
            (Op::Remove, "r/link", false),
            (Op::MakeDir, "r/bob", false),
            (Op::MakeDir, "r/bob/new", false),
            (Op::Create, "r/bob/none/new", false),
            (Op::Remove, "r/bob/nothing", false),
            (Op::Touch, "r/bob/x", true),
            (Op::Write, "r/bob/alice/y", true),
            (Op::Remove, "r/bob/alice", false),
            (Op::Rename, "r", false),
            (Op::Write, "r/free", true),
        ] {
            call(op, path, follow);
        }
        let (refused, more) = hearer.end();
        let told: Vec<(String, bool)> =
            refused.iter().map(|(path, one)| (path.strip_prefix(&dir).unwrap().display().to_string(), one.pinned)).collect();
        assert_eq!(more, 0);
        let wanted = [("r", true), ("r/bob/alice", true), ("r/bob/new", false), ("r/bob/x", false)];
        assert_eq!(told, wanted.map(|(path, pinned)| (path.to_owned(), pinned)));
        fs::remove_dir_all(dir).unwrap();
    }
}
