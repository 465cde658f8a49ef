//! The process outside: it starts the one that goes in, waits, and hands signals on.

use std::ffi::{CString, OsStr};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{self, SigHandler, SigSet, SigmaskHow, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};

use super::enter::{self, Way};
use super::handles;
use super::mounts::{self, Failed};
use super::watch::{self, Listener};
use super::{Ending, Event, Jailed, Outcome, STAGES, Stage, Trouble};

/// What names the mounts that a process sees.
pub(super) const MOUNTS: &str = "/proc/self/ns/mnt";
/// How long is waited before it is told that nothing has happened, in milliseconds.
const IDLE: u16 = 1_000;

/// What is meant for the command and not for us.
const FORWARDED: [Signal; 9] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
    Signal::SIGWINCH,
    Signal::SIGCONT,
];

fn start<E: Into<std::io::Error>>(error: E) -> Trouble {
    Trouble { stage: Stage::Start, path: None, errno: error.into().raw_os_error().unwrap_or(libc::EIO) }
}

/// Runs the command; see [`super::run()`].
pub(super) fn run(jailed: &Jailed<'_>, mut hear: Option<&mut dyn FnMut(Event)>) -> Result<Outcome, Trouble> {
    let mut held: SigSet = FORWARDED.into_iter().collect();
    held.add(Signal::SIGCHLD);
    let mut before = SigSet::empty();
    signal::sigprocmask(SigmaskHow::SIG_BLOCK, Some(&held), Some(&mut before)).map_err(start)?;
    let restore = || {
        let _ = signal::sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None);
    };
    let (mut report, told) = std::io::pipe().map_err(start)?;
    let sockets = match &hear {
        Some(_) => Some(socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::SOCK_CLOEXEC).map_err(start)?),
        None => None,
    };
    #[expect(unsafe_code, reason = "the child has to change what a started program can't be told to change")]
    // SAFETY: this program has one thread at this time, so the child may do whatever a program may.
    let forked = unsafe { fork() }.map_err(start)?;
    let child = match forked {
        ForkResult::Child => {
            drop(report);
            let ours = sockets.map(|(theirs, ours)| {
                drop(theirs);
                ours
            });
            let (stage, path, errno) = inside(jailed, &before, ours);
            tell(told, stage, path, errno)
        }
        ForkResult::Parent { child } => child,
    };
    drop(told);
    let listener = sockets.and_then(|(theirs, ours)| {
        drop(ours);
        filter_of(theirs, child)
    });
    let mut text = Vec::new();
    report.read_to_end(&mut text).map_err(start)?;
    if let Some(trouble) = trouble(&text) {
        let _ = waitpid(child, None);
        restore();
        return Err(trouble);
    }
    let unheard = match (&hear, &listener) {
        (Some(_), None) => Some(libc::ENOSYS),
        (Some(_), Some(Err(errno))) => Some(*errno),
        _ => None,
    };
    let listener = listener.and_then(Result::ok);
    let namespace = std::fs::metadata(format!("/proc/{child}/ns/mnt")).map(|meta| std::os::unix::fs::MetadataExt::ino(&meta)).ok();
    let ending = wait(child, &held, listener.as_ref(), &mut hear, jailed.idle).map_err(start)?;
    let mut survivors = Vec::new();
    if listener.as_ref().is_none_or(|listener| !listener.is_over()) {
        survivors = namespace.map(watch::living_in).unwrap_or_default();
        if let Some(listener) = &listener {
            hand_over(listener);
        }
    }
    restore();
    let cwd = listener.as_ref().and_then(Listener::ended_in);
    Ok(Outcome { ending, survivors, unheard, cwd })
}

/// Goes in and out again: whether it can be done.
pub(super) fn probe(mounts: &[super::Mount]) -> Result<(), Trouble> {
    let (mut report, told) = std::io::pipe().map_err(start)?;
    #[expect(unsafe_code, reason = "a namespace can't be left again")]
    // SAFETY: this program has one thread at this time, so the child may do whatever a program may.
    match unsafe { fork() }.map_err(start)? {
        ForkResult::Child => {
            drop(report);
            let failed = enter::namespaces().and_then(|_| mounts::mount_all(mounts));
            match failed {
                Err((stage, path, errno)) => tell(told, stage, path, errno),
                Ok(()) => super::super::process::end_here(0),
            }
        }
        ForkResult::Parent { child } => {
            drop(told);
            let mut text = Vec::new();
            report.read_to_end(&mut text).map_err(start)?;
            let _ = waitpid(child, None);
            trouble(&text).map_or(Ok(()), Err)
        }
    }
}

/// The handle that hears, or why there is none; nothing where the child ended before.
fn filter_of(socket: OwnedFd, child: Pid) -> Option<Result<Listener, i32>> {
    if let Some(fd) = super::filter::receive(socket.as_fd()) {
        return Some(Ok(Listener::new(fd, child.as_raw())));
    }
    let mut number = [0_u8; 4];
    std::os::unix::net::UnixStream::from(socket).read_exact(&mut number).ok()?;
    Some(Err(i32::from_ne_bytes(number)))
}

/// All that the child does; it comes back only where it fails.
fn inside(jailed: &Jailed<'_>, before: &SigSet, socket: Option<OwnedFd>) -> Failed {
    match entered(jailed, before, socket) {
        Err(failed) => failed,
        Ok(errno) => (Stage::Command, Some(PathBuf::from(jailed.program)), errno),
    }
}

fn entered(jailed: &Jailed<'_>, before: &SigSet, socket: Option<OwnedFd>) -> Result<Errno, Failed> {
    let parent = nix::unistd::getppid();
    let limit = getrlimit(Resource::RLIMIT_NOFILE).ok();
    if let Some((_, hard)) = limit {
        // A handle for each mount, for a moment.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
    let way = enter::namespaces()?;
    mounts::mount_all(jailed.mounts)?;
    if let Some((soft, hard)) = limit {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, soft, hard);
    }
    // Where we stand is still below the mounts.
    nix::unistd::chdir(jailed.cwd).map_err(|errno| (Stage::Directory, Some(jailed.cwd.to_owned()), errno))?;
    handles::inherit(jailed.mounts)?;
    let (program, args) = words(jailed.program, jailed.args).map_err(|errno| (Stage::Command, None, errno))?;
    let mounts = std::fs::read_link(MOUNTS).map(PathBuf::into_os_string).unwrap_or_default();
    for (name, value) in jailed.vars.iter().chain([&(super::super::env::LOCI_JAIL, mounts)]) {
        #[expect(unsafe_code, reason = "the environment of this process is what the command gets")]
        // SAFETY: one thread.
        unsafe {
            std::env::set_var(name, value);
        }
    }
    #[expect(unsafe_code, reason = "handlers and the wish to die with the parent are only set so")]
    // SAFETY: the default handler is no code of ours, and the call takes numbers.
    unsafe {
        // Rust ignores it for itself; commands expect to end by it.
        let _ = signal::signal(Signal::SIGPIPE, SigHandler::SigDfl);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
    }
    if nix::unistd::getppid() != parent {
        // It has ended before we could wish that.
        super::super::process::end_here(1);
    }
    if let Some(socket) = socket {
        let sent = super::filter::install(jailed.keep_cwd).and_then(|listener| super::filter::send(socket.as_fd(), &listener));
        if let Err(errno) = sent {
            // A byte without a handle, then the number.
            let mut stream = std::os::unix::net::UnixStream::from(socket);
            let _ = stream.write_all(b"n").and_then(|()| stream.write_all(&(errno as i32).to_ne_bytes()));
        }
    }
    if way == Way::Root {
        enter::drop_capabilities().map_err(|errno| (Stage::Capabilities, None, errno))?;
    }
    let _ = signal::sigprocmask(SigmaskHow::SIG_SETMASK, Some(before), None);
    let Err(errno) = nix::unistd::execvp(&program, &args);
    Ok(errno)
}

fn words(program: &OsStr, args: &[std::ffi::OsString]) -> Result<(CString, Vec<CString>), Errno> {
    let word = |text: &OsStr| CString::new(text.as_bytes()).map_err(|_| Errno::EINVAL);
    let name = word(program)?;
    let all = std::iter::once(Ok(name.clone())).chain(args.iter().map(|arg| word(arg))).collect::<Result<_, _>>()?;
    Ok((name, all))
}

/// Says through the pipe what failed, and ends the child.
fn tell(mut pipe: std::io::PipeWriter, stage: Stage, path: Option<PathBuf>, errno: Errno) -> ! {
    let at = STAGES.iter().position(|one| *one == stage).and_then(|at| u8::try_from(at).ok()).unwrap_or(1);
    let mut text = vec![at];
    text.extend((errno as i32).to_ne_bytes());
    text.extend(path.map(|path| path.into_os_string().into_vec()).unwrap_or_default());
    let _ = pipe.write_all(&text);
    super::super::process::end_here(126)
}

/// What the child has said; nothing where the command was started.
fn trouble(text: &[u8]) -> Option<Trouble> {
    let (at, rest) = text.split_first()?;
    let (errno, path) = rest.split_first_chunk::<4>()?;
    let stage = STAGES.get(usize::from(*at)).copied().unwrap_or(Stage::Start);
    let path = (!path.is_empty()).then(|| PathBuf::from(std::ffi::OsString::from_vec(path.to_vec())));
    Some(Trouble { stage, path, errno: i32::from_ne_bytes(*errno) })
}

/// Waits for the end of the command. What it tries is heard, what is sent to us is handed on.
fn wait(
    child: Pid,
    held: &SigSet,
    listener: Option<&Listener>,
    hear: &mut Option<&mut dyn FnMut(Event)>,
    idle: bool,
) -> Result<Ending, Errno> {
    let signals = SignalFd::with_flags(held, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    let process = handle_of(child)?;
    let mut listener = listener;
    loop {
        let mut watched = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN), PollFd::new(process.as_fd(), PollFlags::POLLIN)];
        watched.extend(listener.map(|listener| PollFd::new(listener.fd(), PollFlags::POLLIN)));
        match poll(&mut watched, if idle { PollTimeout::from(IDLE) } else { PollTimeout::NONE }) {
            Ok(0) => {
                if let Some(hear) = hear {
                    hear(Event::Idle);
                }
                continue;
            }
            Ok(_) => {}
            Err(Errno::EINTR) => continue,
            Err(errno) => return Err(errno),
        }
        let came = |at: usize| watched.get(at).and_then(PollFd::revents).unwrap_or(PollFlags::empty());
        let [signalled, ended, called] = [0, 1, 2].map(|at| came(at).contains(PollFlags::POLLIN));
        // Nobody is left that could be heard: from now on it would be ready for ever, and the command takes its time to
        // end, since its mounts end with it.
        let over = !called && !came(2).is_empty();
        if let Some(listener) = listener.filter(|_| called) {
            match hear {
                Some(hear) => listener.step(Some(&mut **hear)),
                None => listener.step(None),
            }
        }
        if over {
            listener = None;
        }
        if !signalled && !ended {
            continue;
        }
        while let Some(info) = signals.read_signal()? {
            let Some(signal) = i32::try_from(info.ssi_signo).ok().and_then(|number| Signal::try_from(number).ok()) else { continue };
            let from_terminal = info.ssi_code == libc::SI_KERNEL;
            // What the terminal sends, it sends to the whole group: the command has it already.
            if signal != Signal::SIGCHLD && !from_terminal {
                let _ = signal::kill(child, signal);
            }
        }
        match waitpid(child, Some(WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED)) {
            Ok(WaitStatus::Exited(_, code)) => return Ok(Ending::Code(u8::try_from(code & 0xff).unwrap_or(u8::MAX))),
            Ok(WaitStatus::Signaled(_, signal, _)) => return Ok(Ending::Signal(signal as i32)),
            Ok(WaitStatus::Stopped(..)) => {
                // Whoever waits for us sees us stopped, and wakes us.
                let _ = signal::raise(Signal::SIGSTOP);
                let _ = signal::kill(child, Signal::SIGCONT);
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// A handle of a process, which tells its end whatever becomes of the signal.
fn handle_of(child: Pid) -> Result<OwnedFd, Errno> {
    #[expect(unsafe_code, reason = "nix does not have the call")]
    // SAFETY: the call takes numbers; what comes back is a handle that nobody else has.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, child.as_raw(), 0);
        if fd < 0 {
            return Err(Errno::last());
        }
        Ok(std::os::fd::FromRawFd::from_raw_fd(libc::c_int::try_from(fd).map_err(|_| Errno::EBADF)?))
    }
}

/// What goes on in the background still has to be let go on: a process of its own does that, and ends
/// with the last of them.
fn hand_over(listener: &Listener) {
    #[expect(unsafe_code, reason = "it has to outlive us")]
    // SAFETY: this program has one thread at this time, so the child may do whatever a program may.
    if let Ok(ForkResult::Child) = unsafe { fork() } {
        let _ = nix::unistd::setsid();
        let _ = nix::unistd::chdir("/");
        if let Ok(nothing) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") {
            for stream in 0..3 {
                #[expect(unsafe_code, reason = "nix wants the target as an owned handle, and these three belong to nobody")]
                // SAFETY: each standard stream is replaced in one step.
                unsafe {
                    libc::dup2(nothing.as_raw_fd(), stream);
                }
            }
        }
        // What somebody waits for the end of is not ours to keep open.
        close_but(listener.fd().as_raw_fd());
        listener.serve_to_the_end();
        super::super::process::end_here(0)
    }
}

/// Closes every handle but the standard streams and this one.
fn close_but(kept: RawFd) {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    let numbers: Vec<RawFd> = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2 && *number != kept) {
        #[expect(unsafe_code, reason = "numbers out of the kernel's own list, which this process uses no more")]
        // SAFETY: nothing that owns one of them is used or dropped before this process ends.
        unsafe {
            libc::close(number);
        }
    }
}
