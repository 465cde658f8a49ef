//! What takes away, links, sets a mode, and makes what was done last.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::super::fault::step;
use super::{Kind, Meta, Outcome, entries, list, look, look_through, open_own, tell};

/// Makes a file empty; it stays the same file.
///
/// # Errors
/// Where it is not there, or can't be written.
pub fn empty(path: &Path) -> Outcome {
    tell("empty", path, step("truncate", path, || open_own(OpenOptions::new().write(true), path)?.set_len(0)))
}

/// Removes a file or a link (never what it points to).
///
/// # Errors
/// Where nothing is there, or it is a directory.
pub fn remove_file(path: &Path) -> Outcome {
    tell("remove", path, step("unlink", path, || fs::remove_file(path)))
}

/// Removes an empty directory.
///
/// # Errors
/// Where it is not empty, or not there.
pub fn remove_dir(path: &Path) -> Outcome {
    tell("remove", path, step("rmdir", path, || fs::remove_dir(path)))
}

/// Removes everything at `path`; links in it are removed, not followed. Nothing there is fine.
///
/// # Errors
/// At the first thing that can't be removed; the rest stays.
pub fn remove_tree(path: &Path) -> Outcome {
    match look(path)? {
        None => Ok(()),
        Some(Meta { kind: Kind::Dir, .. }) => {
            for entry in list(path)? {
                remove_tree(&path.join(entry.name))?;
            }
            remove_dir(path)
        }
        Some(_) => remove_file(path),
    }
}

/// Makes a link at `path` with the text `target`.
///
/// # Errors
/// Where something is there already.
pub fn make_link(path: &Path, target: &Path) -> Outcome {
    tell("make the link", path, step("symlink", path, || std::os::unix::fs::symlink(target, path)))
}

/// Whether a named pipe stands at `path`; a link is not followed.
///
/// # Errors
/// Where that can't be looked at.
pub fn is_pipe(path: &Path) -> Outcome<bool> {
    use std::os::unix::fs::FileTypeExt as _;
    tell("look at", path, fs::symlink_metadata(path).map(|meta| meta.file_type().is_fifo()))
}

/// Makes a named pipe with these permission bits.
///
/// # Errors
/// Where something is there already, or the file system has none.
pub fn make_pipe(path: &Path, mode: u32) -> Outcome {
    let made = step("mkfifo", path, || {
        nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRUSR)?;
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    });
    tell("make the pipe", path, made)
}

/// Sets the permission bits.
///
/// # Errors
/// Where that is not allowed.
pub fn set_mode(path: &Path, mode: u32) -> Outcome {
    tell("set the mode of", path, step("chmod", path, || fs::set_permissions(path, fs::Permissions::from_mode(mode))))
}

/// The bits that a new file of this process does not get (its umask).
#[must_use]
#[cfg_attr(target_os = "linux", expect(clippy::useless_conversion, reason = "it is narrower on other systems"))]
pub fn mask() -> u32 {
    use nix::sys::stat::{Mode, umask};
    let mask = umask(Mode::empty());
    umask(mask);
    u32::from(mask.bits())
}

/// Syncs a directory, so that the names in it survive a crash.
///
/// # Errors
/// Where it can't be opened or synced.
pub fn sync_dir(path: &Path) -> Outcome {
    tell("sync", path, step("fsync", path, || File::open(path)?.sync_all()))
}

/// Syncs the directory that holds `path`.
///
/// # Errors
/// As [`sync_dir`].
pub fn sync_parent(path: &Path) -> Outcome {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_dir(parent),
        _ => Ok(()),
    }
}

/// How many files are synced one by one; for more, the whole file system is quicker.
const FEW: usize = 256;

/// Brings a tree that was just written to the disk, with the names in it.
///
/// # Errors
/// Where something can't be opened or synced.
pub fn sync_tree(path: &Path) -> Outcome {
    tell(
        "sync",
        path,
        step("fsync", path, || {
            let (mut all, mut next) = (Vec::new(), vec![path.to_owned()]);
            while let Some(one) = next.pop() {
                let kind = Kind::from(fs::symlink_metadata(&one)?.file_type());
                if kind == Kind::Dir {
                    next.extend(entries(&one)?.into_iter().map(|entry| one.join(entry.name)));
                }
                if matches!(kind, Kind::Dir | Kind::File) {
                    all.push(one);
                }
                if all.len() > FEW {
                    return sync_file_system(path);
                }
            }
            all.iter().try_for_each(|one| File::open(one)?.sync_all())
        }),
    )
}

/// Syncs directories, so that the names in them survive a crash; of many, their file systems.
///
/// # Errors
/// Where one can't be opened or synced.
pub fn sync_dirs(dirs: &[&Path]) -> Outcome {
    if dirs.len() <= FEW {
        return dirs.iter().try_for_each(|dir| sync_dir(dir));
    }
    let mut devices = Vec::new();
    for dir in dirs {
        let device = look_through(dir)?.map(|meta| meta.id.0);
        if !devices.contains(&device) {
            devices.push(device);
            tell("sync", dir, step("fsync", dir, || sync_file_system(dir)))?;
        }
    }
    Ok(())
}

fn sync_file_system(path: &Path) -> io::Result<()> {
    let dir = File::open(path)?;
    #[cfg(target_os = "linux")]
    nix::unistd::syncfs(&dir)?;
    #[cfg(not(target_os = "linux"))]
    nix::unistd::sync();
    dir.sync_all()
}
