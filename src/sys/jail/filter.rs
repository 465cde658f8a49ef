//! The filter that lets the process outside hear each call that would write. It decides nothing.

use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};

use super::Op;

/// Where a call names its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// This argument is a path.
    Path(usize),
    /// A directory's handle and a path.
    At(usize, usize),
    /// A handle.
    Handle(usize),
    /// Two paths: both names of a rename.
    Both(usize, usize),
    /// The same with a directory's handle before each.
    BothAt(usize, usize, usize, usize),
}

/// A call that is heard.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heard {
    pub(super) number: libc::c_long,
    pub(super) op: Op,
    pub(super) names: Names,
    /// Whether a link at the end is followed.
    pub(super) follow: bool,
    /// The argument with flags of `open`, where it has one.
    pub(super) flags: Option<usize>,
}

const fn heard(number: libc::c_long, op: Op, names: Names, follow: bool) -> Heard {
    Heard { number, op, names, follow, flags: None }
}

const fn opens(number: libc::c_long, names: Names, flags: usize) -> Heard {
    Heard { number, op: Op::Write, names, follow: true, flags: Some(flags) }
}

/// `fchmodat2`, newer than the C library's list.
const FCHMODAT2: libc::c_long = 452;

/// The calls with a directory's handle: every machine has these.
const EVERYWHERE: &[Heard] = &[
    opens(libc::SYS_openat, Names::At(0, 1), 2),
    heard(libc::SYS_openat2, Op::Write, Names::At(0, 1), true),
    heard(libc::SYS_unlinkat, Op::Remove, Names::At(0, 1), false),
    heard(libc::SYS_mkdirat, Op::MakeDir, Names::At(0, 1), false),
    heard(libc::SYS_mknodat, Op::Create, Names::At(0, 1), false),
    heard(libc::SYS_renameat2, Op::Rename, Names::BothAt(0, 1, 2, 3), false),
    heard(libc::SYS_symlinkat, Op::Create, Names::At(1, 2), false),
    heard(libc::SYS_linkat, Op::Create, Names::At(2, 3), false),
    heard(libc::SYS_fchmodat, Op::Mode, Names::At(0, 1), true),
    heard(FCHMODAT2, Op::Mode, Names::At(0, 1), true),
    heard(libc::SYS_fchmod, Op::Mode, Names::Handle(0), true),
    heard(libc::SYS_fchownat, Op::Mode, Names::At(0, 1), true),
    heard(libc::SYS_fchown, Op::Mode, Names::Handle(0), true),
    heard(libc::SYS_truncate, Op::Write, Names::Path(0), true),
    heard(libc::SYS_utimensat, Op::Mode, Names::At(0, 1), true),
    heard(libc::SYS_setxattr, Op::Mode, Names::Path(0), true),
    heard(libc::SYS_lsetxattr, Op::Mode, Names::Path(0), false),
    heard(libc::SYS_fsetxattr, Op::Mode, Names::Handle(0), true),
    heard(libc::SYS_removexattr, Op::Mode, Names::Path(0), true),
    heard(libc::SYS_lremovexattr, Op::Mode, Names::Path(0), false),
];

/// The older calls without one.
#[cfg(target_arch = "x86_64")]
const OLDER: &[Heard] = &[
    opens(libc::SYS_open, Names::Path(0), 1),
    heard(libc::SYS_creat, Op::Write, Names::Path(0), true),
    heard(libc::SYS_unlink, Op::Remove, Names::Path(0), false),
    heard(libc::SYS_rmdir, Op::Remove, Names::Path(0), false),
    heard(libc::SYS_mkdir, Op::MakeDir, Names::Path(0), false),
    heard(libc::SYS_mknod, Op::Create, Names::Path(0), false),
    heard(libc::SYS_rename, Op::Rename, Names::Both(0, 1), false),
    heard(libc::SYS_renameat, Op::Rename, Names::BothAt(0, 1, 2, 3), false),
    heard(libc::SYS_symlink, Op::Create, Names::Path(1), false),
    heard(libc::SYS_link, Op::Create, Names::Path(1), false),
    heard(libc::SYS_chmod, Op::Mode, Names::Path(0), true),
    heard(libc::SYS_chown, Op::Mode, Names::Path(0), true),
    heard(libc::SYS_lchown, Op::Mode, Names::Path(0), false),
    heard(libc::SYS_utime, Op::Mode, Names::Path(0), true),
    heard(libc::SYS_utimes, Op::Mode, Names::Path(0), true),
    heard(libc::SYS_futimesat, Op::Mode, Names::At(0, 1), true),
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[Heard] = &[];

/// The kernel's number for the machine that the calls are numbered for.
#[cfg(target_arch = "x86_64")]
const MACHINE: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const MACHINE: Option<u32> = Some(0xc000_00b7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MACHINE: Option<u32> = None;

/// Flags of `open` with which something may change.
pub(super) const WRITES: u32 = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) as u32;

/// The entry of a call.
pub(super) fn entry(number: i32) -> Option<&'static Heard> {
    EVERYWHERE.iter().chain(OLDER).find(|heard| heard.number == libc::c_long::from(number))
}

const LOAD: u16 = 0x20;
const IF_EQUAL: u16 = 0x15;
const IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7fff_0000;
const NOTIFY: u32 = 0x7fc0_0000;
/// Where number, machine and arguments stand in what a filter looks at.
const NUMBER_AT: u32 = 0;
const MACHINE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

/// Whether a call is the end of a process.
pub(super) fn is_end(number: i32) -> bool {
    libc::c_long::from(number) == libc::SYS_exit_group
}

/// The program of the filter; with `ends`, the end of each process is heard as well.
fn program(machine: u32, ends: bool) -> Vec<libc::sock_filter> {
    let plain = |code: u16, k: u32| libc::sock_filter { code, jt: 0, jf: 0, k };
    let branch = |code: u16, k: u32, jt: u8, jf: u8| libc::sock_filter { code, jt, jf, k };
    // Calls of another machine (32 bits) pass unheard.
    let mut code = vec![plain(LOAD, MACHINE_AT), branch(IF_EQUAL, machine, 1, 0), plain(RETURN, ALLOW), plain(LOAD, NUMBER_AT)];
    for heard in EVERYWHERE.iter().chain(OLDER) {
        let number = u32::try_from(heard.number).unwrap_or(u32::MAX);
        match heard.flags.and_then(|flags| u32::try_from(flags).ok()) {
            Some(flags) => code.extend([
                branch(IF_EQUAL, number, 0, 4),
                // The lower half of an argument: little-endian machines only, as those above are.
                plain(LOAD, ARGUMENTS_AT + 8 * flags),
                branch(IF_ANY_BIT, WRITES, 0, 1),
                plain(RETURN, NOTIFY),
                plain(RETURN, ALLOW),
            ]),
            None => code.extend([branch(IF_EQUAL, number, 0, 1), plain(RETURN, NOTIFY)]),
        }
    }
    if ends {
        code.extend([branch(IF_EQUAL, u32::try_from(libc::SYS_exit_group).unwrap_or(u32::MAX), 0, 1), plain(RETURN, NOTIFY)]);
    }
    code.push(plain(RETURN, ALLOW));
    code
}

/// Puts the filter on this process; the handle that hears.
#[expect(unsafe_code, reason = "nix has no filters")]
pub(super) fn install(ends: bool) -> Result<OwnedFd, Errno> {
    const SET_MODE_FILTER: libc::c_long = 1;
    const NEW_LISTENER: libc::c_long = 1 << 3;
    /// Only a signal that kills ends the wait of a call that is being heard (5.19).
    const WAIT_KILLABLE: libc::c_long = 1 << 5;
    let mut code = program(MACHINE.ok_or(Errno::ENOSYS)?, ends);
    let length = u16::try_from(code.len()).map_err(|_| Errno::E2BIG)?;
    let program = libc::sock_fprog { len: length, filter: code.as_mut_ptr() };
    // SAFETY: the program lives for the call, and the length is its own; what comes back is a handle
    // that nobody else has.
    unsafe {
        let mut fd = libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, NEW_LISTENER | WAIT_KILLABLE, &raw const program);
        if fd < 0 && Errno::last() == Errno::EINVAL {
            fd = libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, NEW_LISTENER, &raw const program);
        }
        if fd < 0 {
            return Err(Errno::last());
        }
        Ok(OwnedFd::from_raw_fd(libc::c_int::try_from(fd).map_err(|_| Errno::EBADF)?))
    }
}

/// Hands a handle over.
pub(super) fn send(socket: BorrowedFd<'_>, fd: &OwnedFd) -> Result<(), Errno> {
    let fds = [fd.as_raw_fd()];
    let bytes = [std::io::IoSlice::new(b"h")];
    sendmsg::<()>(socket.as_raw_fd(), &bytes, &[ControlMessage::ScmRights(&fds)], MsgFlags::empty(), None).map(drop)
}

/// Takes a handle that was handed over; `None` where nobody sends one.
pub(super) fn receive(socket: BorrowedFd<'_>) -> Option<OwnedFd> {
    let mut byte = [0_u8; 1];
    let mut space = nix::cmsg_space!([std::os::fd::RawFd; 1]);
    let mut bytes = [std::io::IoSliceMut::new(&mut byte)];
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut bytes, Some(&mut space), MsgFlags::MSG_CMSG_CLOEXEC).ok()?;
    let fds = message.cmsgs().ok()?.find_map(|one| match one {
        ControlMessageOwned::ScmRights(fds) => Some(fds),
        _ => None,
    })?;
    let first = *fds.first()?;
    #[expect(unsafe_code, reason = "a handle comes as a number")]
    // SAFETY: the kernel has made it for this message, and nobody else has it.
    Some(unsafe { OwnedFd::from_raw_fd(first) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_fits_and_jumps_nowhere_outside() {
        let code = program(1, true);
        assert!(code.len() < 4096);
        for (at, one) in code.iter().enumerate() {
            assert!(at + 1 + usize::from(one.jt.max(one.jf)) < code.len() + usize::from(one.code == RETURN), "{at}");
        }
        let known = i32::try_from(libc::SYS_unlinkat).unwrap();
        assert!(matches!(entry(known), Some(heard) if heard.op == Op::Remove) && entry(-1).is_none());
    }
}
