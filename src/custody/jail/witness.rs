//! Where a command could not be held: what has changed, since it began, in what is others'. It holds nobody
//! up and takes nothing back; it tells.
//!
//! Nothing is looked at before: what has changed since a moment is known by the time that the disk itself
//! keeps of the last change of each file (`ctime`), which no program can set. What was removed shows as a
//! directory with changed entries, and by git's index where there is one.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::custody::act::{Act, ActKind};
use crate::sys::disk::{self, Kind};
use crate::sys::git::Git;
use crate::sys::time::Moment;
use crate::tree::climb;
use crate::tree::marks::{self, Go};

/// The most changed files that are told.
const MAX_CHANGED: usize = 1_000;

/// What was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// What has changed, as acts to be judged.
    pub acts: Vec<Act>,
    /// Whether the time was over, or there was more than is told, before all was looked at.
    pub incomplete: bool,
}

/// Looks at a tree: what has changed since a moment (nanoseconds since 1970). What git ignores is left out:
/// build output is nobody's work.
#[must_use]
pub fn look(root: &Path, since_ns: i128, budget: Duration) -> Seen {
    let begun = Moment::now().up;
    let over = || Moment::now().up.saturating_sub(begun) > budget;
    let mut seen = Seen::default();
    let (mut files, mut dirs) = (Vec::new(), Vec::new());
    let mut looked = 0_usize;
    let unread = marks::walk(root, &mut |dir, name, kind| {
        looked += 1;
        if files.len() > MAX_CHANGED || (looked % 64 == 1 && over()) {
            seen.incomplete = true;
            return Go::Stop;
        }
        // git's own, and mail, which loci itself delivers.
        if name == b".git" || (name == b"memory" && dir.ends_with(".loci")) {
            return Go::Past;
        }
        let path = dir.join(OsStr::from_bytes(name));
        if disk::changed_ns(&path).is_some_and(|at| at >= since_ns) {
            if kind == Kind::Dir { dirs.push(path) } else { files.push(path) }
        }
        Go::In
    });
    seen.incomplete |= !unread.unread.is_empty();
    if disk::changed_ns(root).is_some_and(|at| at >= since_ns) {
        dirs.push(root.to_owned());
    }
    if files.is_empty() && dirs.is_empty() {
        return seen;
    }
    // A name that is gone stands in no directory any more: git knows those that it had.
    let dirs: BTreeSet<PathBuf> = dirs.into_iter().collect();
    let git = Git::new(budget);
    let gone = named(&git, root, &["ls-files", "-z", "--deleted"]);
    let gone: Vec<PathBuf> =
        gone.into_iter().filter(|path| path.parent().is_some_and(|dir| dirs.contains(dir))).take(MAX_CHANGED).collect();
    let ignored: BTreeSet<PathBuf> =
        named(&git, root, &["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"]).into_iter().collect();
    files.retain(|path| !climb::up(path).take_while(|dir| dir.starts_with(root)).any(|dir| ignored.contains(dir)));
    let act = |kind, path: PathBuf| Act { kind, path, follow: false, below: false };
    seen.acts.extend(files.into_iter().map(|path| act(ActKind::Write, path)));
    seen.acts.extend(gone.into_iter().map(|path| act(ActKind::Remove, path)));
    seen
}

/// The paths of a listing of git; none where it does not answer, as where there is no repository.
fn named(git: &Git, root: &Path, question: &[&str]) -> Vec<PathBuf> {
    let answer = git.ask(root, question, &[]).filter(|answer| answer.ok).unwrap_or_default();
    let names = answer.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| root.join(OsStr::from_bytes(name.strip_suffix(b"/").unwrap_or(name)))).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests lay files out themselves")]

    use std::fs;

    use super::*;

    #[test]
    fn what_has_changed_since_is_seen_and_nothing_else() {
        let dir = std::env::temp_dir().join(format!("loci-witness-{}", std::process::id()));
        let _ = disk::remove_tree(&dir);
        fs::create_dir_all(dir.join("bob/deep")).unwrap();
        fs::create_dir_all(dir.join("bob/.loci/memory")).unwrap();
        for name in ["bob/a", "bob/deep/b", "bob/c"] {
            fs::write(dir.join(name), "x").unwrap();
        }
        let root = fs::canonicalize(&dir).unwrap();
        let latest =
            ["bob", "bob/deep", "bob/a", "bob/c", "bob/deep/b"].iter().filter_map(|name| disk::changed_ns(&root.join(name))).max().unwrap();
        // The clock of the disk goes in steps: wait for the next one.
        let since = loop {
            fs::write(root.join("mark"), "x").unwrap();
            match disk::changed_ns(&root.join("mark")) {
                Some(now) if now > latest => break now,
                _ => {}
            }
        };
        let all = Duration::from_secs(60);
        fs::remove_file(root.join("mark")).unwrap();
        assert_eq!(look(&root, since, all), Seen::default());
        fs::write(root.join("bob/deep/b"), "y").unwrap();
        fs::write(root.join("bob/.loci/memory/m"), "y").unwrap();
        // Nobody can set it back.
        let old = std::time::SystemTime::UNIX_EPOCH;
        fs::File::options().write(true).open(root.join("bob/deep/b")).unwrap().set_modified(old).unwrap();
        let seen = look(&root, since, all);
        assert_eq!(seen.acts.iter().map(|act| act.path.as_path()).collect::<Vec<_>>(), [root.join("bob/deep/b")]);
        assert!(!seen.incomplete && look(&root, since, Duration::ZERO) != seen);
        disk::remove_tree(&dir).unwrap();
    }
}
