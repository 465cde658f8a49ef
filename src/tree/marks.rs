//! A walk over a whole tree that asks about each name: for whoever looks for more than places.
//!
//! One thread, directories opened from their parent, no link followed, no bound but the tree's own.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::sys::dirs::{Buffer, OpenDir};
use crate::sys::disk::{self, Kind};

/// How many directories are open at once at most; deeper ones are opened by their path.
const MAX_OPEN: usize = 96;
/// The longest path that is walked to, in bytes: nobody can use a longer one.
const MAX_PATH: usize = 4095;

/// What a walk came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// How many directories were read.
    pub dirs: usize,
    /// Directories that could not be read.
    pub unread: Vec<PathBuf>,
}

/// What a visitor wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Go {
    /// Into it, where it is a directory.
    In,
    /// Past it.
    Past,
    /// No further at all.
    Stop,
}

struct Frame {
    open: Option<OpenDir>,
    path: usize,
    children: Vec<CString>,
}

/// Walks a real directory; `visit` gets the directory, a name in it, and its kind.
pub fn walk(root: &Path, visit: &mut dyn FnMut(&Path, &[u8], Kind) -> Go) -> Seen {
    let mut seen = Seen::default();
    let mut buffer = Buffer::default();
    let mut path = root.as_os_str().as_bytes().to_vec();
    let mut stack: Vec<Frame> = Vec::new();
    let mut next = Some(OpenDir::open(root));
    loop {
        if let Some(opened) = next.take() {
            let here = Path::new(OsStr::from_bytes(&path));
            let mut children = Vec::new();
            let mut stop = false;
            let read = opened.and_then(|open| {
                open.each(&mut buffer, |name, kind| {
                    if stop {
                        return;
                    }
                    match visit(here, name.to_bytes(), kind) {
                        Go::In if kind == Kind::Dir => children.push(name.to_owned()),
                        Go::In | Go::Past => {}
                        Go::Stop => stop = true,
                    }
                })?;
                Ok(open)
            });
            if stop {
                return seen;
            }
            match read {
                Ok(open) => {
                    seen.dirs += 1;
                    let open = (stack.len() < MAX_OPEN).then_some(open);
                    stack.push(Frame { open, path: path.len(), children });
                }
                // Gone since it was listed: nothing to say.
                Err(error) if disk::is_absent(&error) && !stack.is_empty() => {}
                Err(_) => seen.unread.push(here.to_owned()),
            }
        }
        let Some(frame) = stack.last_mut() else { return seen };
        path.truncate(frame.path);
        let Some(child) = frame.children.pop() else {
            stack.pop();
            continue;
        };
        if path.last() != Some(&b'/') {
            path.push(b'/');
        }
        path.extend_from_slice(child.to_bytes());
        let here = Path::new(OsStr::from_bytes(&path));
        if path.len() > MAX_PATH {
            seen.unread.push(here.to_owned());
            continue;
        }
        next = Some(match &frame.open {
            Some(parent) => parent.child(&child),
            None => OpenDir::open(here),
        });
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests build trees themselves")]

    use super::*;
    use std::fs;

    #[test]
    fn every_name_is_asked_about_once() {
        let dir = std::env::temp_dir().join(format!("marks-{}", std::process::id()));
        let deep = (0..200).fold(dir.join("deep"), |path, _| path.join("d"));
        fs::create_dir_all(&deep).unwrap();
        fs::create_dir_all(dir.join("shut/in")).unwrap();
        fs::write(deep.join("file"), "").unwrap();
        std::os::unix::fs::symlink("deep", dir.join("link")).unwrap();
        let mut names = Vec::new();
        let seen = walk(&dir, &mut |at, name, kind| {
            names.push((at.strip_prefix(&dir).unwrap().join(OsStr::from_bytes(name)), kind));
            if name == b"shut" { Go::Past } else { Go::In }
        });
        assert_eq!((seen.dirs, seen.unread.len(), names.len()), (202, 0, 204));
        assert!(names.contains(&("link".into(), Kind::Link)) && names.iter().any(|(path, _)| path.ends_with("d/file")));
        let mut count = 0;
        walk(&dir, &mut |_, _, _| {
            count += 1;
            Go::Stop
        });
        assert_eq!(count, 1);
        fs::remove_dir_all(dir).unwrap();
    }
}
