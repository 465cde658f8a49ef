//! The way in: namespaces, and what is given up.

use std::fs;

use nix::errno::Errno;
use nix::libc;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

use super::Stage;
use super::mounts::Failed;

/// Capabilities that could undo the mounts, by the kernel's numbers: what a root inside loses.
const DANGEROUS: &[u32] = &[
    2,  // DAC_READ_SEARCH: handles by number lead past every mount
    16, // SYS_MODULE
    17, // SYS_RAWIO
    18, // SYS_CHROOT
    19, // SYS_PTRACE: the memory of processes outside
    21, // SYS_ADMIN: the mounts themselves
    27, // MKNOD: the disk below the file system
    38, // PERFMON
    39, // BPF
    40, // CHECKPOINT_RESTORE
];

/// Which way was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// As root: a mount namespace only.
    Root,
    /// A user namespace in which the user is the same.
    User,
}

/// Makes the namespaces, and cuts the mounts off from those outside.
pub(super) fn namespaces() -> Result<Way, Failed> {
    let failed = |stage: Stage| move |errno: Errno| (stage, None, errno);
    let root = geteuid().is_root() && unshare(CloneFlags::CLONE_NEWNS).is_ok();
    if !root {
        let (uid, gid) = (geteuid(), getegid());
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS).map_err(failed(Stage::Namespace))?;
        let write = |file: &str, text: &str| {
            fs::write(file, text).map_err(|error| (Stage::Ids, None, Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO))))
        };
        // Kernels before 3.19 have no such file, and no such rule either.
        let _ = fs::write("/proc/self/setgroups", "deny");
        write("/proc/self/uid_map", &format!("{uid} {uid} 1"))?;
        write("/proc/self/gid_map", &format!("{gid} {gid} 1"))?;
    }
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>).map_err(failed(Stage::Private))?;
    Ok(if root { Way::Root } else { Way::User })
}

/// Gives up for good, as root, what could undo the mounts.
pub(super) fn drop_capabilities() -> Result<(), Errno> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    #[repr(C)]
    #[derive(Clone, Copy, Default)]
    struct Set {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    let mut header = Header { version: VERSION_3, pid: 0 };
    let mut sets = [Set::default(); 2];
    #[expect(unsafe_code, reason = "nix has no capabilities")]
    // SAFETY: header and sets have the shape that this version of the call reads and writes.
    unsafe {
        for capability in DANGEROUS {
            // A kernel that does not know the newest ones has none of them to give up.
            if libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(*capability), 0, 0, 0) < 0 && Errno::last() != Errno::EINVAL {
                return Err(Errno::last());
            }
        }
        let _ = libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        if libc::syscall(libc::SYS_capget, &raw mut header, sets.as_mut_ptr()) < 0 {
            return Err(Errno::last());
        }
        for capability in DANGEROUS {
            let keep = !(1_u32 << (capability % 32));
            if let Some(set) = sets.get_mut(usize::from(*capability >= 32)) {
                set.effective &= keep;
                set.permitted &= keep;
                set.inheritable &= keep;
            }
        }
        if libc::syscall(libc::SYS_capset, &raw mut header, sets.as_ptr()) < 0 {
            return Err(Errno::last());
        }
    }
    Ok(())
}
