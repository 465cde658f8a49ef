//! A command that runs in our place: same terminal, same streams, its signals and its exit code.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::Command;

use nix::sys::signal::{SigSet, SigmaskHow, Signal};

/// The signals that end a process or that it may use for itself: while a command runs in our place,
/// they are meant for it.
pub(super) const FORWARDED: [Signal; 7] =
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGUSR1, Signal::SIGUSR2, Signal::SIGALRM];

/// Signals are held back while this value lives, so that none ends this process between a change
/// and the way back; [`run_in_our_place`] hands them to the command.
#[derive(Debug)]
pub struct Deaf {
    pub(super) before: SigSet,
}

impl Deaf {
    /// Whether somebody asks this process to end, again, while that is held back.
    #[must_use]
    pub fn is_asked_to_end(&self) -> bool {
        let mut pending = std::mem::MaybeUninit::<nix::libc::sigset_t>::uninit();
        #[expect(unsafe_code, reason = "nix does not tell which signals wait")]
        // SAFETY: the pointer is valid for the call, and the set is read only where the kernel has filled it.
        let pending =
            unsafe { (nix::libc::sigpending(pending.as_mut_ptr()) == 0).then(|| SigSet::from_sigset_t_unchecked(pending.assume_init())) };
        pending.is_some_and(|set| [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT].iter().any(|one| set.contains(*one)))
    }
}

/// Holds back the signals that would end this process.
///
/// # Errors
/// Where the kernel refuses.
pub fn hold_signals() -> io::Result<Deaf> {
    let mut before = SigSet::empty();
    let mut held: SigSet = FORWARDED.into_iter().collect();
    held.add(Signal::SIGCHLD);
    nix::sys::signal::sigprocmask(SigmaskHow::SIG_BLOCK, Some(&held), Some(&mut before))?;
    Ok(Deaf { before })
}

impl Drop for Deaf {
    fn drop(&mut self) {
        let _ = nix::sys::signal::sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.before), None);
    }
}

/// Runs a command in our place: same terminal, same streams; signals sent to us are handed to it.
/// Returns what a shell would: its exit code, or 128 and the number of the signal that ended it.
/// Needs the signals held, so that none is lost between the start and the first wait.
///
/// # Errors
/// Where it can't be started or waited for.
pub fn run_in_our_place(held: &Deaf, program: &OsStr, args: &[impl AsRef<OsStr>], dir: &Path) -> io::Result<u8> {
    let mut command = Command::new(program);
    command.args(args).current_dir(dir);
    let before = held.before;
    #[expect(unsafe_code, reason = "a command would inherit the signals we hold back; only the child itself can take that off")]
    // SAFETY: between fork and exec only one async-signal-safe call is made, on a value that was copied before.
    unsafe {
        command.pre_exec(move || Ok(nix::sys::signal::sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None)?));
    }
    let mut child = command.spawn()?;
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
    let mut waited: SigSet = FORWARDED.into_iter().collect();
    waited.add(Signal::SIGCHLD);
    loop {
        if let Some(status) = child.try_wait()? {
            let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
            return Ok(u8::try_from(code).unwrap_or(u8::MAX));
        }
        let (signal, from_terminal) = wait_for_signal(&waited)?;
        // What the terminal sends, it sends to the whole group: the command has it already.
        if signal != Signal::SIGCHLD && !from_terminal {
            // It may have ended just now.
            let _ = nix::sys::signal::kill(pid, signal);
        }
    }
}

#[cfg(target_os = "linux")]
pub(super) fn wait_for_signal(set: &SigSet) -> io::Result<(Signal, bool)> {
    loop {
        let mut info = std::mem::MaybeUninit::<nix::libc::siginfo_t>::uninit();
        #[expect(unsafe_code, reason = "nix has no sigwaitinfo; who sent a signal is only told there")]
        // SAFETY: both pointers are valid for the call; the kernel fills `info` before it returns a number.
        let (number, code) = unsafe {
            let number = nix::libc::sigwaitinfo(set.as_ref(), info.as_mut_ptr());
            (number, if number > 0 { info.assume_init().si_code } else { 0 })
        };
        if number > 0 {
            return Ok((Signal::try_from(number)?, code == nix::libc::SI_KERNEL));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn wait_for_signal(set: &SigSet) -> io::Result<(Signal, bool)> {
    let signal = set.wait()?;
    // Not told who sent it: these two come from the terminal as a rule.
    Ok((signal, matches!(signal, Signal::SIGINT | Signal::SIGQUIT)))
}
