//! Renames, exchanges of two names, and what mends one that was cut off.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::super::fault::step;
use super::{Kind, Outcome, look, present, remove_file, tell};

/// Renames, replacing what stands at `to`.
///
/// # Errors
/// Where the kernel refuses.
pub fn rename(from: &Path, to: &Path) -> Outcome {
    tell("rename", from, step("rename", from, || fs::rename(from, to)))
}

/// Renames where nothing stands at `to`; a race can't overwrite either.
///
/// # Errors
/// `AlreadyExists` where something is there; else as [`rename`].
pub fn rename_noreplace(from: &Path, to: &Path) -> Outcome {
    tell("rename", from, step("rename", from, || noreplace(from, to)))
}

#[cfg(target_os = "linux")]
pub(super) fn noreplace(from: &Path, to: &Path) -> io::Result<()> {
    use nix::errno::Errno;
    use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
    match renameat2(AT_FDCWD, from, AT_FDCWD, to, RenameFlags::RENAME_NOREPLACE) {
        // Some network file systems do not know the flag.
        Err(Errno::EINVAL | Errno::ENOSYS) => noreplace_by_look(from, to),
        other => other.map_err(io::Error::from),
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn noreplace(from: &Path, to: &Path) -> io::Result<()> {
    noreplace_by_look(from, to)
}

/// The best that can be had without the flag: a hard link fails where the name is taken; what can't
/// be linked is looked at first, and a race stays possible there.
pub(in crate::sys) fn noreplace_by_look(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(from)?.is_file() {
        fs::hard_link(from, to)?;
        return fs::remove_file(from);
    }
    if present(fs::symlink_metadata(to))?.is_some() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

/// Exchanges what stands at two paths of one file system, in one step where the kernel can.
///
/// # Errors
/// Where one of them is not there, or the kernel refuses.
pub fn exchange(path: &Path, with: &Path) -> Outcome {
    tell("exchange", path, step("exchange", path, || swap(path, with)))
}

#[cfg(target_os = "linux")]
fn swap(path: &Path, with: &Path) -> io::Result<()> {
    use nix::errno::Errno;
    use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
    match renameat2(AT_FDCWD, path, AT_FDCWD, with, RenameFlags::RENAME_EXCHANGE) {
        Err(Errno::EINVAL | Errno::ENOSYS) => swap_by_renames(path, with),
        other => other.map_err(io::Error::from),
    }
}

#[cfg(not(target_os = "linux"))]
fn swap(path: &Path, with: &Path) -> io::Result<()> {
    swap_by_renames(path, with)
}

/// Where the first of two things is put while they change places: a name that recovery can compute.
fn aside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".loci-swap-");
    name.push(path.file_name().unwrap_or_default());
    path.with_file_name(name)
}

fn swap_by_renames(path: &Path, with: &Path) -> io::Result<()> {
    let aside = aside(path);
    noreplace(path, &aside)?;
    let put = |from: &Path, to: &Path| noreplace(from, to);
    if let Err(error) = put(with, path) {
        put(&aside, path)?;
        return Err(error);
    }
    if let Err(error) = put(&aside, with) {
        put(path, with)?;
        put(&aside, path)?;
        return Err(error);
    }
    Ok(())
}

/// Where an exchange without the kernel's help was cut off in the middle: puts things back to
/// before or after it. Says whether there was something to mend.
///
/// # Errors
/// Where a rename fails.
pub fn mend_exchange(path: &Path, with: &Path) -> Outcome<bool> {
    let aside = aside(path);
    if look(&aside)?.is_none() {
        return Ok(false);
    }
    let to = if look(path)?.is_none() { path } else { with };
    rename_noreplace(&aside, to).map(|()| true)
}

/// Where a rename that had to go by hard link was cut off between its two halves: takes the first
/// half back. Says whether there was something to mend.
///
/// # Errors
/// Where the disk can't be looked at, or the second name can't be removed.
pub fn mend_rename(from: &Path, to: &Path) -> Outcome<bool> {
    match (look(from)?, look(to)?) {
        (Some(one), Some(two)) if one.kind == Kind::File && one.id == two.id => remove_file(to).map(|()| true),
        _ => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("disk-rename-{}-{name}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn rename_never_overwrites() {
        let dir = scratch("rename");
        fs::write(dir.join("a"), "a").unwrap();
        fs::write(dir.join("b"), "b").unwrap();
        let error = rename_noreplace(&dir.join("a"), &dir.join("b")).unwrap_err();
        assert_eq!(error.source.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(noreplace_by_look(&dir.join("a"), &dir.join("b")).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(dir.join("b")).unwrap(), b"b");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn an_exchange_without_the_kernel_can_be_mended_anywhere() {
        let dir = scratch("swap");
        let (a, b) = (dir.join("a"), dir.join("b"));
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        fs::write(&a, "1").unwrap();
        fs::write(&b, "2").unwrap();
        exchange(&a, &b).unwrap();
        assert_eq!((read(&a), read(&b)), ("2".into(), "1".into()));
        swap_by_renames(&a, &b).unwrap();
        assert_eq!((read(&a), read(&b)), ("1".into(), "2".into()));
        assert!(!mend_exchange(&a, &b).unwrap());
        // Cut off after the first rename: taken back.
        fs::rename(&a, aside(&a)).unwrap();
        assert!(mend_exchange(&a, &b).unwrap());
        assert_eq!((read(&a), read(&b)), ("1".into(), "2".into()));
        // Cut off after the second: finished.
        fs::rename(&a, aside(&a)).unwrap();
        fs::rename(&b, &a).unwrap();
        assert!(mend_exchange(&a, &b).unwrap());
        assert_eq!((read(&a), read(&b)), ("2".into(), "1".into()));
        fs::remove_dir_all(dir).unwrap();
    }
}
