//! Where a path really leads: links and `..` resolved by hand, also for what does not exist yet.
//!
//! Deciders compare real paths, or a link fools them. Nothing here fails: what the disk refuses to
//! tell is in the answer.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::sys::disk::{self, Step};

/// How many links are followed before it counts as a loop; the kernel's own bound.
pub const MAX_LINKS: usize = 40;
/// How many components are walked at most, links expanded.
const MAX_PARTS: usize = 8192;

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Real {
    /// Absolute, without links (but for a final one that was not to be followed), `.` and `..`.
    pub path: PathBuf,
    /// Whether something stands there.
    pub exists: bool,
    /// Whether the disk takes upper and lower case for the same; `path` has the names as listed.
    pub folds: bool,
    /// Each name that it went by: the path before each link on the way was followed.
    pub names: Vec<PathBuf>,
    /// Why it is not sure; the path is then the best that is known.
    pub trouble: Option<Trouble>,
}

/// Why a path could not be resolved to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// Links that lead in a circle, or too many of them.
    #[error("links lead in a circle at {}", crate::sys::shown::path(.0))]
    Loop(PathBuf),
    /// The disk does not tell what is there.
    #[error("can't look at {}: {reason}", crate::sys::shown::path(.path))]
    Unreadable {
        /// Where.
        path: PathBuf,
        /// What the system says.
        reason: String,
        /// Its kind.
        kind: io::ErrorKind,
    },
    /// It leads elsewhere in each process that follows it.
    #[error("{} is another place for each process", crate::sys::shown::path(.0))]
    OfAProcess(PathBuf),
    /// Not an absolute path.
    #[error("{} is not absolute", crate::sys::shown::path(.0))]
    Relative(PathBuf),
}

/// Resolves an absolute path. A link at its end is followed with `follow_final`, or where the path
/// ends in a slash. A dangling link leads to where a write through it would create.
#[must_use]
pub fn real(path: &Path, follow_final: bool) -> Real {
    Seen::default().real(path, follow_final)
}

/// What one look at the disk has learnt on the way, so that nothing is asked twice: for questions that belong
/// together and are answered as of one moment.
#[derive(Debug, Default)]
pub struct Seen {
    /// What is no link, and was gone through.
    plain: BTreeSet<OsString>,
    /// What [`as_listed`] said.
    listed: BTreeMap<PathBuf, Option<PathBuf>>,
}

impl Seen {
    /// As [`real`], with what is known already.
    #[must_use]
    pub fn real(&mut self, path: &Path, follow_final: bool) -> Real {
        walk(path, follow_final, self)
    }
}

fn walk(path: &Path, follow_final: bool, seen: &mut Seen) -> Real {
    let mut at = Walk { path: PathBuf::from("/"), missing: 0, links: 0, names: Vec::new(), trouble: None };
    if !path.is_absolute() {
        at.trouble = Some(Trouble::Relative(path.to_owned()));
    }
    let bytes = path.as_os_str().as_bytes();
    let follow_final = follow_final || bytes.ends_with(b"/") || bytes.ends_with(b"/.");
    let mut parts: VecDeque<OsString> = VecDeque::new();
    push_front(&mut parts, bytes);
    let mut walked = 0;
    while let Some(part) = parts.pop_front() {
        walked += 1;
        if walked > MAX_PARTS {
            at.trouble.get_or_insert_with(|| Trouble::Loop(path.to_owned()));
            break;
        }
        let last = parts.is_empty();
        if at.missing == 0 && (part == "self" || part == "thread-self") && at.path.as_os_str() == "/proc" {
            // What is open under a number is a stream, as `/dev/stdout`, unless the path goes on below it.
            let stream = parts.len() == 2 && parts.front().is_some_and(|part| part == "fd");
            at.path.push(&part);
            at.missing = 1;
            if !stream {
                at.trouble.get_or_insert_with(|| Trouble::OfAProcess(at.path.clone()));
            }
            continue;
        }
        if let Some(target) = at.step(&part, !last || follow_final, (!last).then_some(&mut *seen)) {
            at.names.push(named(at.path.join(&part), &parts));
            if target.is_absolute() {
                at.path = PathBuf::from("/");
            }
            push_front(&mut parts, target.as_os_str().as_bytes());
        }
    }
    at.done(seen)
}

/// A path with these components after it, each `..` struck out with the name before it.
fn named(mut path: PathBuf, rest: &VecDeque<OsString>) -> PathBuf {
    for part in rest {
        if part == ".." {
            path.pop();
        } else {
            path.push(part);
        }
    }
    path
}

/// Puts the components of a path before those that are left.
fn push_front(parts: &mut VecDeque<OsString>, path: &[u8]) {
    for part in path.split(|byte| *byte == b'/').rev().filter(|part| !part.is_empty() && *part != b".") {
        parts.push_front(OsString::from_vec(part.to_vec()));
    }
}

struct Walk {
    path: PathBuf,
    /// How many of the last components do not exist.
    missing: usize,
    links: usize,
    names: Vec<PathBuf>,
    trouble: Option<Trouble>,
}

impl Walk {
    /// Goes one component on; a link that is to be followed is handed back.
    fn step(&mut self, part: &OsStr, follow: bool, seen: Option<&mut Seen>) -> Option<PathBuf> {
        if part == ".." {
            // Physical: everything before is resolved. Below what exists: lexical.
            self.path.pop();
            self.missing = self.missing.saturating_sub(1);
            return None;
        }
        self.path.push(part);
        if self.missing > 0 {
            self.missing += 1;
            return None;
        }
        if seen.as_ref().is_some_and(|seen| seen.plain.contains(self.path.as_os_str())) {
            return None;
        }
        match disk::step_at(&self.path) {
            Ok(Step::Solid) => {
                if let Some(seen) = seen {
                    seen.plain.insert(self.path.clone().into_os_string());
                }
                None
            }
            Ok(Step::Absent) => {
                self.missing = 1;
                None
            }
            Ok(Step::Link(_)) if !follow => None,
            Ok(Step::Link(target)) => {
                self.links += 1;
                if self.links > MAX_LINKS {
                    self.trouble.get_or_insert_with(|| Trouble::Loop(self.path.clone()));
                    self.missing = 1;
                    return None;
                }
                self.path.pop();
                Some(target)
            }
            Err(error) => {
                let (kind, reason) = (error.source.kind(), error.source.to_string());
                self.trouble.get_or_insert(Trouble::Unreadable { path: error.path, reason, kind });
                self.missing = 1;
                None
            }
        }
    }

    fn done(self, seen: &mut Seen) -> Real {
        let Self { path, missing, names, trouble, .. } = self;
        let exists = missing == 0 && trouble.is_none();
        let (there, rest) = split_last(&path, missing);
        let listed = seen.listed.entry(there).or_insert_with_key(|there| as_listed(there));
        match listed.clone() {
            Some(listed) => Real { path: rest.iter().fold(listed, |path, part| path.join(part)), exists, folds: true, names, trouble },
            None => Real { path, exists, folds: false, names, trouble },
        }
    }
}

/// A path without its last `count` components, and those.
fn split_last(path: &Path, count: usize) -> (PathBuf, Vec<OsString>) {
    let parts: Vec<&OsStr> = path.iter().collect();
    let (there, rest) = parts.split_at(parts.len().saturating_sub(count));
    (there.iter().collect(), rest.iter().map(|part| (*part).to_owned()).collect())
}

/// The path with its names as the directories list them, where the disk folds case; `None` where it
/// does not. Whether it does is asked once, of the last component with a letter in it.
fn as_listed(path: &Path) -> Option<PathBuf> {
    let other = swapped(path.file_name()?)?;
    let here = disk::look(path).ok()??;
    let there = disk::look(&path.with_file_name(other)).ok()??;
    if here.id != there.id {
        return None;
    }
    let mut listed = PathBuf::from("/");
    for part in path.iter().skip(1) {
        let name = disk::list(&listed).ok().and_then(|entries| {
            let mut names = entries.into_iter().map(|entry| entry.name).filter(|name| name.eq_ignore_ascii_case(part)).collect::<Vec<_>>();
            let exact = names.iter().position(|name| name == part);
            match exact {
                Some(at) => Some(names.swap_remove(at)),
                None => names.into_iter().next(),
            }
        });
        listed.push(name.as_deref().unwrap_or(part));
    }
    Some(listed)
}

/// A name with the case of its letters turned; `None` where it has none.
fn swapped(name: &OsStr) -> Option<OsString> {
    let turned: Vec<u8> = name
        .as_bytes()
        .iter()
        .map(|byte| if byte.is_ascii_lowercase() { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() })
        .collect();
    (turned != name.as_bytes()).then(|| OsString::from_vec(turned))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests build trees themselves")]

    use super::*;
    use proptest::prelude::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicU32, Ordering};

    struct Scratch(PathBuf);

    impl Scratch {
        fn new() -> Self {
            static COUNT: AtomicU32 = AtomicU32::new(0);
            let dir = std::env::temp_dir().join(format!("real-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst)));
            fs::create_dir_all(&dir).unwrap();
            Self(fs::canonicalize(dir).unwrap())
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn check(dir: &Path, path: &str, follow: bool, wanted: &str, exists: bool) {
        let real = real(&dir.join(path), follow);
        assert_eq!((real.path.as_path(), real.exists, &real.trouble), (dir.join(wanted).as_path(), exists, &None), "{path}");
    }

    #[test]
    fn links_and_dots() {
        let scratch = Scratch::new();
        let dir = &scratch.0;
        fs::create_dir_all(dir.join("a/b/c")).unwrap();
        fs::write(dir.join("a/f"), "").unwrap();
        symlink("a/b", dir.join("to-b")).unwrap();
        symlink(dir.join("a"), dir.join("a/b/abs")).unwrap();
        symlink("../new/file", dir.join("a/dangling")).unwrap();
        symlink("f", dir.join("a/to-f")).unwrap();
        check(dir, "a/./b/../f", true, "a/f", true);
        // `..` after a link is that of where the link leads.
        check(dir, "to-b/../f", true, "a/f", true);
        check(dir, "to-b/abs/to-f", true, "a/f", true);
        check(dir, "to-b/abs/to-f", false, "a/to-f", true);
        check(dir, "to-b", false, "to-b", true);
        check(dir, "to-b/", false, "a/b", true);
        check(dir, "a/dangling", true, "new/file", false);
        check(dir, "a/dangling", false, "a/dangling", true);
        check(dir, "a/none/x/../y", true, "a/none/y", false);
        // Below what does not exist `..` is lexical; back where things exist, links count again.
        check(dir, "none/../to-b/c", true, "a/b/c", true);
        check(dir, "none/x/../../to-b/z", true, "a/b/z", false);
        check(dir, "a/f/x", true, "a/f/x", false);
        assert_eq!(real(Path::new("/../.."), true).path, Path::new("/"));
    }

    #[test]
    fn what_can_not_be_told_is_said() {
        let scratch = Scratch::new();
        let dir = &scratch.0;
        symlink("loop", dir.join("loop")).unwrap();
        symlink("q", dir.join("p")).unwrap();
        symlink("p", dir.join("q")).unwrap();
        assert!(matches!(real(&dir.join("loop"), true).trouble, Some(Trouble::Loop(_))));
        assert!(matches!(real(&dir.join("p/x"), true).trouble, Some(Trouble::Loop(_))));
        assert_eq!(real(&dir.join("loop"), false).trouble, None);
        for (path, trouble) in [
            ("/proc/self/cwd/x", true),
            ("/proc/thread-self/root/x", true),
            ("/dev/fd/7/x", true),
            ("/dev/stdout", false),
            ("/dev/null", false),
        ] {
            assert_eq!(matches!(real(Path::new(path), true).trouble, Some(Trouble::OfAProcess(_))), trouble, "{path}");
        }
        assert!(matches!(real(Path::new("a/b"), true).trouble, Some(Trouble::Relative(_))));
        let long = real(&dir.join("n".repeat(300)), true);
        assert!(matches!(long.trouble, Some(Trouble::Unreadable { .. })) && !long.exists);
        assert!(!real(&dir.join("d/".repeat(3000)), true).exists);
    }

    #[test]
    fn names_with_case_turned() {
        assert_eq!(swapped(OsStr::new("aB.1")), Some(OsString::from("Ab.1")));
        assert_eq!(swapped(OsStr::new("1.2")), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

        /// For what exists it is what the kernel says, whatever links and dots are on the way.
        #[test]
        fn agrees_with_the_kernel(
            links in prop::collection::vec(("[ab]", "(a|b|c|\\.\\.|\\.){1}(/(a|b|\\.\\.)){0,3}"), 0..6),
            paths in prop::collection::vec("(a|b|c|\\.\\.|\\.)(/(a|b|c|\\.\\.|\\.)){0,5}", 1..8),
        ) {
            let scratch = Scratch::new();
            let dir = &scratch.0;
            fs::create_dir_all(dir.join("r/c/c/c")).unwrap();
            for (at, (name, target)) in links.iter().enumerate() {
                let _ = symlink(target, dir.join(["r", "r/c", "r/c/c"][at % 3]).join(name));
            }
            for path in &paths {
                let path = dir.join("r").join(path);
                let ours = real(&path, true);
                match fs::canonicalize(&path) {
                    Ok(theirs) => prop_assert_eq!((ours.path, ours.exists), (theirs, true)),
                    // The kernel gives up at what is missing; ours may come back out of it by `..`.
                    Err(_) => prop_assert!(!ours.exists || path.iter().any(|part| part == "..") || links.iter().any(|(_, to)| to.contains(".."))),
                }
            }
        }
    }
}
