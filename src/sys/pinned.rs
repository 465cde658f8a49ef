//! Directories that have to stay those that were judged: a rename goes by the directory that was looked at, not by
//! what its path leads to by then.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::disk::{self, PathError};
use super::fault;

/// The directories of some paths, by what they are.
#[derive(Debug, Clone, Default)]
pub struct Pins {
    dirs: BTreeMap<PathBuf, Dir>,
}

#[derive(Debug, Clone)]
struct Dir {
    /// Device and inode.
    id: (u64, u64),
    /// Where it really is.
    real: PathBuf,
}

/// A directory that is open for nothing but to be named.
fn open(path: &Path) -> io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = nix::fcntl::OFlag::O_DIRECTORY | nix::fcntl::OFlag::O_CLOEXEC;
    #[cfg(target_os = "linux")]
    let flags = flags | nix::fcntl::OFlag::O_PATH;
    std::fs::OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)
}

fn id_of(dir: &std::fs::File) -> io::Result<(u64, u64)> {
    dir.metadata().map(|meta| (meta.dev(), meta.ino()))
}

/// Where an open directory really is.
#[cfg(target_os = "linux")]
fn place(dir: &std::fs::File, _: &Path) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd as _;
    std::fs::read_link(format!("/proc/self/fd/{}", dir.as_raw_fd()))
}

#[cfg(not(target_os = "linux"))]
fn place(_: &std::fs::File, path: &Path) -> io::Result<PathBuf> {
    std::fs::canonicalize(path)
}

impl Pins {
    /// Looks at the directories of these paths.
    ///
    /// # Errors
    /// Where one is not there, or where it is can't be said.
    pub fn of<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<Self, PathError> {
        let mut dirs = BTreeMap::new();
        for dir in paths.into_iter().filter_map(Path::parent) {
            if dirs.contains_key(dir) {
                continue;
            }
            let found = open(dir).and_then(|file| {
                let (id, real) = (id_of(&file)?, place(&file, dir)?);
                // A name that leads elsewhere by now (one that was moved, or taken away) is no place to judge.
                let there = std::fs::symlink_metadata(&real)?;
                if (there.dev(), there.ino()) == id { Ok(Dir { id, real }) } else { Err(elsewhere()) }
            });
            dirs.insert(dir.to_owned(), found.map_err(|source| PathError::new("look at", dir, source))?);
        }
        Ok(Self { dirs })
    }

    /// A path of one of the directories as it really is: what has to be judged.
    #[must_use]
    pub fn real(&self, path: &Path) -> PathBuf {
        let dir = path.parent().and_then(|dir| self.dirs.get(dir));
        match (dir, path.file_name()) {
            (Some(dir), Some(name)) => dir.real.join(name),
            _ => path.to_owned(),
        }
    }

    /// Renames to a name that is free, within the directories that were looked at. Paths of others go by their names.
    ///
    /// # Errors
    /// Where another directory stands there by now, the name is taken, or the kernel refuses.
    pub(super) fn rename(&self, from: &Path, to: &Path) -> Result<(), PathError> {
        let dir = |path: &Path| path.parent().and_then(|dir| Some((dir.to_owned(), self.dirs.get(dir)?.id)));
        let (Some(old), Some(new)) = (dir(from), dir(to)) else { return disk::rename_noreplace(from, to) };
        let renamed = fault::step("rename", from, || within(&old, &new, from, to));
        renamed.map_err(|source| PathError::new("rename", from, source))
    }
}

fn elsewhere() -> io::Error {
    io::Error::other("another directory stands there by now")
}

fn same(dir: &(PathBuf, (u64, u64))) -> io::Result<std::fs::File> {
    let file = open(&dir.0)?;
    if id_of(&file)? == dir.1 { Ok(file) } else { Err(elsewhere()) }
}

#[cfg(target_os = "linux")]
fn within(old: &(PathBuf, (u64, u64)), new: &(PathBuf, (u64, u64)), from: &Path, to: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;

    use nix::errno::Errno;
    use nix::fcntl::{RenameFlags, renameat2};
    let (old, new) = (same(old)?, same(new)?);
    let (Some(from), Some(to)) = (from.file_name(), to.file_name()) else { return Err(io::ErrorKind::InvalidInput.into()) };
    match renameat2(&old, from, &new, to, RenameFlags::RENAME_NOREPLACE) {
        // Some network file systems do not know the flag: by names below the open directories.
        Err(Errno::EINVAL | Errno::ENOSYS) => {
            let below = |dir: &std::fs::File, name| Path::new(&format!("/proc/self/fd/{}", dir.as_raw_fd())).join(name);
            disk::noreplace_by_look(&below(&old, from), &below(&new, to))
        }
        other => other.map_err(io::Error::from),
    }
}

#[cfg(not(target_os = "linux"))]
fn within(old: &(PathBuf, (u64, u64)), new: &(PathBuf, (u64, u64)), from: &Path, to: &Path) -> io::Result<()> {
    let _held = (same(old)?, same(new)?);
    disk::noreplace_by_look(from, to)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_that_was_swapped_for_a_link_is_not_followed() {
        let top = std::env::temp_dir().join(format!("pinned-{}", std::process::id()));
        let _ = fs::remove_dir_all(&top);
        for dir in ["mine", "theirs"] {
            fs::create_dir_all(top.join(dir)).unwrap();
            fs::write(top.join(dir).join("a"), dir).unwrap();
        }
        let top = fs::canonicalize(&top).unwrap();
        let (from, to) = (top.join("mine/a"), top.join("mine/b"));
        let pins = Pins::of([from.as_path(), to.as_path()]).unwrap();
        assert_eq!(pins.real(&from), from);
        fs::rename(top.join("mine"), top.join("aside")).unwrap();
        symlink("theirs", top.join("mine")).unwrap();
        assert!(pins.rename(&from, &to).unwrap_err().source.to_string().contains("another directory"));
        assert_eq!(fs::read_to_string(top.join("theirs/a")).unwrap(), "theirs");
        // What a link leads to is judged where it is.
        let through = Pins::of([from.as_path()]).unwrap();
        assert_eq!(through.real(&from), top.join("theirs/a"));
        fs::remove_file(top.join("mine")).unwrap();
        fs::rename(top.join("aside"), top.join("mine")).unwrap();
        pins.rename(&from, &to).unwrap();
        assert!(pins.rename(&from, &to).is_err() && fs::read_to_string(&to).unwrap() == "mine");
        fs::write(&from, "other").unwrap();
        assert_eq!(pins.rename(&from, &to).unwrap_err().source.kind(), io::ErrorKind::AlreadyExists);
        fs::remove_dir_all(top).unwrap();
    }
}
