//! The mounts themselves, by the new interface of the kernel (5.12) or by the old one.

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::libc;
use nix::mount::{MsFlags, mount};
use nix::sys::stat::Mode;

use super::{Access, Mount, Stage};

/// Why it ended: the stage, the path, the errno.
pub(super) type Failed = (Stage, Option<PathBuf>, Errno);

/// Mounts all of them. All copies are taken before anything is mounted, so that each one shows the
/// tree as it was; where one can't be taken, nothing was mounted.
pub(super) fn mount_all(mounts: &[Mount]) -> Result<(), Failed> {
    match copies(mounts) {
        Ok(copies) => by_copies(mounts, copies),
        // Kernels before 5.12, and filters that don't know the calls.
        Err((.., Errno::ENOSYS | Errno::EPERM)) if !mounts.is_empty() => by_binding(mounts),
        Err(failed) => Err(failed),
    }
}

/// What is ready to be put in its place.
enum Ready {
    /// A detached copy of the tree.
    Copy(OwnedFd),
    /// A layer.
    Layer(Layer),
}

/// The directory that a layer goes over, where changes land, and the kernel's own: opened before
/// anything is mounted, or they would be seen through a mount that is read-only.
struct Layer {
    below: OwnedFd,
    upper: OwnedFd,
    work: OwnedFd,
}

impl Layer {
    fn open(path: &Path, upper: &Path, work: &Path) -> Result<Self, Failed> {
        let open = |path: &Path| handle(path).map_err(|errno| (Stage::Clone, Some(path.to_owned()), errno));
        Ok(Self { below: open(path)?, upper: open(upper)?, work: open(work)? })
    }
}

fn copies(mounts: &[Mount]) -> Result<Vec<Ready>, Failed> {
    let one = |mount: &Mount| {
        let failed = |stage: Stage| move |errno: Errno| (stage, Some(mount.path.clone()), errno);
        match &mount.access {
            Access::Overlay { upper, work } => Layer::open(&mount.path, upper, work).map(Ready::Layer),
            Access::Other { from } => open_tree(from).map(Ready::Copy).map_err(failed(Stage::Clone)),
            Access::Keep => open_tree(&mount.path).map(Ready::Copy).map_err(failed(Stage::Clone)),
            Access::ReadOnly => {
                let tree = open_tree(&mount.path).map_err(failed(Stage::Clone))?;
                set_read_only(tree.as_fd()).map_err(failed(Stage::ReadOnly))?;
                Ok(Ready::Copy(tree))
            }
        }
    };
    mounts.iter().map(one).collect()
}

fn by_copies(mounts: &[Mount], copies: Vec<Ready>) -> Result<(), Failed> {
    for (mount, ready) in mounts.iter().zip(copies) {
        match ready {
            Ready::Layer(layer) => overlay(&mount.path, &layer)?,
            Ready::Copy(tree) => {
                move_mount(tree.as_fd(), &mount.path).map_err(|errno| (Stage::Mount, Some(mount.path.clone()), errno))?;
            }
        }
    }
    Ok(())
}

/// The old way: bind, then change the flags of each mount that came along.
fn by_binding(mounts: &[Mount]) -> Result<(), Failed> {
    let layer = |mount: &Mount| match &mount.access {
        Access::Overlay { upper, work } => Layer::open(&mount.path, upper, work).map(Some),
        Access::Keep | Access::ReadOnly | Access::Other { .. } => Ok(None),
    };
    let layers = mounts.iter().map(layer).collect::<Result<Vec<_>, _>>()?;
    for (Mount { path, access }, layer) in mounts.iter().zip(layers) {
        let failed = |stage: Stage| move |errno: Errno| (stage, Some(path.clone()), errno);
        if let Some(layer) = layer {
            overlay(path, &layer)?;
            continue;
        }
        let from = if let Access::Other { from } = access { from } else { path };
        mount(Some(from), path, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>).map_err(failed(Stage::Mount))?;
        let read_only = *access == Access::ReadOnly;
        for (point, flags) in mounts_below(path).map_err(failed(Stage::ReadOnly))? {
            let all = MsFlags::MS_BIND | MsFlags::MS_REMOUNT;
            // The top one gets what is wanted; what it covers keeps its own state where nothing is closed.
            let flags = if read_only {
                flags | MsFlags::MS_RDONLY
            } else if point == *path {
                flags - MsFlags::MS_RDONLY
            } else {
                flags
            };
            match mount(None::<&str>, &point, None::<&str>, all | flags, None::<&str>) {
                // Read-only before we came: it stays so.
                Err(Errno::EPERM) if !read_only => {}
                other => other.map_err(failed(Stage::ReadOnly))?,
            }
        }
    }
    Ok(())
}

/// The mounts at and below a path, each with its flags, by the table of the kernel. Of several at one
/// place the last one is seen.
fn mounts_below(path: &Path) -> Result<Vec<(PathBuf, MsFlags)>, Errno> {
    let table = std::fs::read("/proc/self/mountinfo").map_err(|_| Errno::ENOSYS)?;
    let mut found: Vec<(PathBuf, MsFlags)> = Vec::new();
    for (point, options) in entries(&table) {
        if !point.starts_with(path) {
            continue;
        }
        let flags = options.split(|byte| *byte == b',').fold(MsFlags::empty(), |flags, option| {
            flags
                | match option {
                    b"ro" => MsFlags::MS_RDONLY,
                    b"nosuid" => MsFlags::MS_NOSUID,
                    b"nodev" => MsFlags::MS_NODEV,
                    b"noexec" => MsFlags::MS_NOEXEC,
                    b"noatime" => MsFlags::MS_NOATIME,
                    b"nodiratime" => MsFlags::MS_NODIRATIME,
                    b"relatime" => MsFlags::MS_RELATIME,
                    _ => MsFlags::empty(),
                }
        });
        found.retain(|(other, _)| *other != point);
        found.push((point, flags));
    }
    Ok(found)
}

/// Mount point and options of each line of a `mountinfo`.
fn entries(table: &[u8]) -> impl Iterator<Item = (PathBuf, &[u8])> {
    table.split(|byte| *byte == b'\n').filter_map(|line| {
        let mut fields = line.split(|byte| *byte == b' ').skip(4);
        Some((PathBuf::from(std::ffi::OsString::from_vec(plain(fields.next()?))), fields.next()?))
    })
}

/// A path of that table: blanks, tabs, line ends and backslashes stand there as three octal digits.
fn plain(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, more)) = rest.split_first() {
        let digits = more.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            out.push(byte);
            rest = more.get(3..).unwrap_or_default();
        } else {
            out.push(*first);
            rest = more;
        }
    }
    out
}

/// Where something is mounted below these directories by now.
pub(super) fn points_below(dirs: &[&Path]) -> Vec<PathBuf> {
    let Ok(table) = std::fs::read("/proc/self/mountinfo") else { return Vec::new() };
    let mut points: Vec<PathBuf> =
        entries(&table).map(|(point, _)| point).filter(|point| dirs.iter().any(|dir| point.starts_with(dir) && point != dir)).collect();
    points.sort();
    points.dedup();
    points
}

/// A layer over a directory. The kernel is told the directories by their handles: their names may be
/// longer than what it takes, or hold what it would read as punctuation.
fn overlay(path: &Path, layer: &Layer) -> Result<(), Failed> {
    let name = |fd: &OwnedFd| format!("/proc/self/fd/{}", fd.as_raw_fd());
    let plain = format!("lowerdir={},upperdir={},workdir={},userxattr", name(&layer.below), name(&layer.upper), name(&layer.work));
    // It is read once, right after: nothing has to reach the disk for that (5.10).
    let fast = format!("{plain},volatile");
    let with = |data: &str| mount(Some("overlay"), path, Some("overlay"), MsFlags::empty(), Some(data));
    with(&fast).or_else(|_| with(&plain)).map_err(|errno| (Stage::Overlay, Some(path.to_owned()), errno))
}

fn handle(path: &Path) -> Result<OwnedFd, Errno> {
    nix::fcntl::open(path, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())
}

fn name(path: &Path) -> Result<CString, Errno> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::EINVAL)
}

/// The number of a call that nix has no name for; `-1` is an error.
fn checked(result: libc::c_long) -> Result<libc::c_long, Errno> {
    if result < 0 { Err(Errno::last()) } else { Ok(result) }
}

const OPEN_TREE_CLONE: libc::c_int = 1;
const AT_RECURSIVE: libc::c_int = 0x8000;
const MOVE_MOUNT_F_EMPTY_PATH: libc::c_int = 4;
const MOUNT_ATTR_RDONLY: u64 = 1;

/// A detached copy of the tree at a path, with all that is mounted in it: without that the kernel
/// refuses where somebody else has mounted something there.
#[expect(unsafe_code, reason = "nix does not have the call")]
fn open_tree(path: &Path) -> Result<OwnedFd, Errno> {
    let name = name(path)?;
    let flags = OPEN_TREE_CLONE | AT_RECURSIVE | libc::O_CLOEXEC;
    // SAFETY: the name ends in a NUL and lives for the call; the number that comes back is a handle
    // that nobody else has.
    unsafe {
        let fd = checked(libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, name.as_ptr(), flags))?;
        Ok(OwnedFd::from_raw_fd(libc::c_int::try_from(fd).map_err(|_| Errno::EBADF)?))
    }
}

#[expect(unsafe_code, reason = "nix does not have the call")]
fn set_read_only(tree: BorrowedFd<'_>) -> Result<(), Errno> {
    let attributes = libc::mount_attr { attr_set: MOUNT_ATTR_RDONLY, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = libc::AT_EMPTY_PATH | AT_RECURSIVE;
    // SAFETY: name and attributes live for the call, and the size is that of the attributes.
    let done = unsafe {
        libc::syscall(libc::SYS_mount_setattr, tree.as_raw_fd(), c"".as_ptr(), flags, &attributes, size_of::<libc::mount_attr>())
    };
    checked(done).map(drop)
}

#[expect(unsafe_code, reason = "nix does not have the call")]
fn move_mount(tree: BorrowedFd<'_>, to: &Path) -> Result<(), Errno> {
    let to = name(to)?;
    // SAFETY: both names end in a NUL and live for the call.
    let done = unsafe {
        libc::syscall(libc::SYS_move_mount, tree.as_raw_fd(), c"".as_ptr(), libc::AT_FDCWD, to.as_ptr(), MOVE_MOUNT_F_EMPTY_PATH)
    };
    checked(done).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_kernel_is_read_by_its_rules() {
        let table = b"22 1 0:20 / /a\\040b\\134c rw,nosuid,relatime shared:1 - ext4 /dev/x rw\n23 22 0:21 / /a\\040b\\134c/d ro - tmpfs t ro\nodd\n";
        let found: Vec<(PathBuf, Vec<u8>)> = entries(table).map(|(point, options)| (point, options.to_vec())).collect();
        assert_eq!(found, [(PathBuf::from("/a b\\c"), b"rw,nosuid,relatime".to_vec()), (PathBuf::from("/a b\\c/d"), b"ro".to_vec())]);
        assert_eq!(plain(b"\\04"), b"\\04");
    }
}
