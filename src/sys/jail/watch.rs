//! Hearing what a command tries: each call is read, told, and let go on.

use std::cell::RefCell;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::filter::{self, Heard, Names};
use super::{Call, Event, Op};

/// The longest path that the kernel takes.
const MAX_PATH: usize = 4096;
const PAGE: u64 = 4096;

/// The listening end of the filter.
pub(super) struct Listener {
    fd: OwnedFd,
    /// The command itself: what it stands in when it ends is kept.
    leader: i32,
    ended_in: RefCell<Option<PathBuf>>,
}

// The requests of the handle, by the kernel's numbers.
const RECEIVE: u32 = 0xc050_2100;
const SEND: u32 = 0xc018_2101;
const STILL_THERE: u32 = 0x4008_2102;
const SET_FLAGS: u32 = 0x4008_2104;

impl Listener {
    #[expect(unsafe_code, reason = "nix does not have the request")]
    pub(super) fn new(fd: OwnedFd, leader: i32) -> Self {
        // The one who answers is woken on the processor of the one who waits (6.6): faster, no more.
        // SAFETY: the request takes a number.
        unsafe {
            let _ = libc::ioctl(fd.as_raw_fd(), SET_FLAGS as _, 1_u64);
        }
        Self { fd, leader, ended_in: RefCell::default() }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.fd)
    }

    /// The directory that the command stood in when it ended, where that was heard.
    pub(super) fn ended_in(&self) -> Option<PathBuf> {
        self.ended_in.borrow().clone()
    }

    /// Whether nobody is left that could be heard.
    pub(super) fn is_over(&self) -> bool {
        let mut one = [PollFd::new(self.fd(), PollFlags::POLLIN)];
        let ready = poll(&mut one, PollTimeout::ZERO).unwrap_or(0) > 0;
        ready && one.iter().any(|fd| fd.revents().is_some_and(|events| events.contains(PollFlags::POLLHUP)))
    }

    /// Takes one call that waits, tells it, and lets it go on.
    #[expect(unsafe_code, reason = "nix does not have the requests")]
    pub(super) fn step(&self, mut hear: Option<&mut dyn FnMut(Event)>) {
        let fd = self.fd.as_raw_fd();
        // SAFETY: both are plain numbers throughout, for which zero is a value; the kernel fills them
        // within their size.
        unsafe {
            let mut call: libc::seccomp_notif = std::mem::zeroed();
            if libc::ioctl(fd, RECEIVE as _, &raw mut call) < 0 {
                // Whoever called is gone by now.
                return;
            }
            if filter::is_end(call.data.nr) {
                if i32::try_from(call.pid).is_ok_and(|pid| pid == self.leader) {
                    *self.ended_in.borrow_mut() = base(self.leader, u64::from(libc::AT_FDCWD.cast_unsigned()));
                }
            } else if let Some(hear) = hear.as_mut() {
                let told = told(&call);
                // A number of a process that has ended may be another's by now.
                if libc::ioctl(fd, STILL_THERE as _, &raw const call.id) == 0 {
                    told.into_iter().map(Event::Call).for_each(hear);
                }
            }
            let mut answer: libc::seccomp_notif_resp = std::mem::zeroed();
            answer.id = call.id;
            // Go on, as if nobody had listened.
            answer.flags = 1;
            let _ = libc::ioctl(fd, SEND as _, &raw mut answer);
        }
    }

    /// Lets go on what still runs when nobody is interested any more, until the last one has ended.
    pub(super) fn serve_to_the_end(&self) {
        loop {
            let mut one = [PollFd::new(self.fd(), PollFlags::POLLIN)];
            match poll(&mut one, PollTimeout::NONE) {
                Ok(_) => {}
                Err(Errno::EINTR) => continue,
                Err(_) => return,
            }
            let events = one.first().and_then(PollFd::revents).unwrap_or(PollFlags::empty());
            if events.contains(PollFlags::POLLIN) {
                self.step(None);
            } else if !events.is_empty() {
                return;
            }
        }
    }
}

/// What a call would do, to which paths. Empty where its memory can't be read.
fn told(call: &libc::seccomp_notif) -> Vec<Call> {
    let Some(heard) = filter::entry(call.data.nr) else { return Vec::new() };
    let Ok(pid) = i32::try_from(call.pid) else { return Vec::new() };
    let arg = |at: usize| call.data.args.get(at).copied().unwrap_or(0);
    let here = u64::from(libc::AT_FDCWD.cast_unsigned());
    let paths = match heard.names {
        Names::Path(at) => vec![path(pid, here, arg(at))],
        Names::At(dir, at) => vec![path(pid, arg(dir), arg(at))],
        Names::Handle(at) => vec![base(pid, arg(at))],
        Names::Both(from, to) => vec![path(pid, here, arg(from)), path(pid, here, arg(to))],
        Names::BothAt(a, from, b, to) => vec![path(pid, arg(a), arg(from)), path(pid, arg(b), arg(to))],
    };
    let (op, follow) = match kind(pid, heard, &arg) {
        Some(known) => known,
        None => return Vec::new(),
    };
    let program = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned();
    let one = |path: PathBuf| Call { pid, program: program.clone(), op, path, follow };
    paths.into_iter().flatten().map(one).collect()
}

/// What it does, and whether it follows a link at the end; `None` for an `open` that only reads.
fn kind(pid: i32, heard: &Heard, arg: &impl Fn(usize) -> u64) -> Option<(Op, bool)> {
    let flags = match heard.flags {
        Some(at) => arg(at),
        // Its flags are the first number of a structure.
        None if heard.number == libc::SYS_openat2 => {
            let bytes = memory(pid, arg(2), 8)?;
            bytes.try_into().map(u64::from_ne_bytes).ok()?
        }
        None => {
            let no_follow = u64::from(libc::AT_SYMLINK_NOFOLLOW.cast_unsigned());
            let at_call = matches!(heard.number, libc::SYS_utimensat | libc::SYS_fchownat);
            let flags = if heard.number == libc::SYS_utimensat { arg(3) } else { arg(4) };
            return Some((heard.op, heard.follow && !(at_call && flags & no_follow != 0)));
        }
    };
    let flags = u32::try_from(flags & 0xffff_ffff).unwrap_or(0);
    if flags & filter::WRITES == 0 {
        return None;
    }
    let has = |flag: libc::c_int| flags & flag.cast_unsigned() != 0;
    let reads = flags & libc::O_ACCMODE.cast_unsigned() == libc::O_RDONLY.cast_unsigned() && !has(libc::O_TRUNC);
    let op = if has(libc::O_CREAT) && has(libc::O_EXCL) {
        Op::Create
    } else if reads {
        Op::Touch
    } else {
        Op::Write
    };
    Some((op, !has(libc::O_NOFOLLOW) && op != Op::Create))
}

/// The path that an argument names, from the directory of a handle.
fn path(pid: i32, dir: u64, at: u64) -> Option<PathBuf> {
    if at == 0 {
        return base(pid, dir);
    }
    let text = text(pid, at)?;
    if text.is_absolute() {
        return Some(text);
    }
    let base = base(pid, dir)?;
    // An empty name means the handle itself.
    Some(if text.as_os_str().is_empty() { base } else { base.join(text) })
}

fn base(pid: i32, dir: u64) -> Option<PathBuf> {
    let number = u32::try_from(dir & 0xffff_ffff).ok()?.cast_signed();
    let link = if number == libc::AT_FDCWD { format!("/proc/{pid}/cwd") } else { format!("/proc/{pid}/fd/{number}") };
    std::fs::read_link(link).ok().filter(|path| path.is_absolute())
}

/// A text in the memory of a process, up to its NUL.
fn text(pid: i32, at: u64) -> Option<PathBuf> {
    let mut out = Vec::new();
    let mut from = at;
    while out.len() < MAX_PATH {
        // Never across the end of a page: the next one may not be there.
        let length = usize::try_from(PAGE - from % PAGE).ok()?;
        let piece = memory(pid, from, length)?;
        if let Some(end) = piece.iter().position(|byte| *byte == 0) {
            out.extend(piece.iter().take(end));
            return Some(PathBuf::from(std::ffi::OsString::from_vec(out)));
        }
        from = from.checked_add(u64::try_from(piece.len()).ok()?)?;
        out.extend(piece);
    }
    None
}

fn memory(pid: i32, at: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0_u8; length];
    let remote = nix::sys::uio::RemoteIoVec { base: usize::try_from(at).ok()?, len: length };
    let mut local = [std::io::IoSliceMut::new(&mut bytes)];
    let got = nix::sys::uio::process_vm_readv(nix::unistd::Pid::from_raw(pid), &mut local, &[remote]).ok()?;
    bytes.truncate(got);
    (got > 0).then_some(bytes)
}

/// Number and name of each process whose mounts are those of a namespace.
pub(super) fn living_in(namespace: u64) -> Vec<(i32, String)> {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let inside =
        |pid: &i32| std::fs::metadata(Path::new("/proc").join(pid.to_string()).join("ns/mnt")).is_ok_and(|meta| meta.ino() == namespace);
    let named = |pid: i32| (pid, std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned());
    numbers.filter(inside).map(named).collect()
}
