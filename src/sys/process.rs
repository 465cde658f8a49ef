//! Processes: who one is, and running one to its end within bounds.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The identity of a process: a number alone is given to somebody else later.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Identity {
    /// Process id.
    pub pid: i32,
    /// Start time in clock ticks since boot (field 22 of `/proc/PID/stat`).
    pub start: u64,
    /// Which boot that was; empty where the system does not say.
    pub boot: String,
}

impl Identity {
    /// This process.
    #[must_use]
    pub fn of_self() -> Self {
        let pid = nix::unistd::getpid().as_raw();
        Self { pid, start: start_ticks(pid).unwrap_or(0), boot: boot_id() }
    }

    /// Whether that very process is still alive. Where the system has no `/proc`, the number alone
    /// has to do.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        if self.boot != boot_id() {
            return false;
        }
        if !Path::new("/proc/self/stat").exists() {
            return nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.pid), None).is_ok();
        }
        start_ticks(self.pid) == Some(self.start)
    }
}

/// Which boot of this machine this is; empty where the system does not say.
#[must_use]
pub fn boot() -> String {
    boot_id()
}

/// The name of this machine, as the kernel has it.
#[must_use]
pub fn host() -> String {
    nix::sys::utsname::uname().map(|name| name.nodename().to_string_lossy().into_owned()).unwrap_or_default()
}

pub(super) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// The fields of `/proc/PID/stat` behind the name: a name may hold spaces and brackets, so they are
/// counted from the *last* `)`.
pub(super) fn stat_fields(pid: i32) -> Option<Vec<String>> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (_, rest) = stat.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

pub(super) fn start_ticks(pid: i32) -> Option<u64> {
    let fields = stat_fields(pid)?;
    // A zombie has ended; its parent has not looked yet.
    if fields.first().is_some_and(|state| state == "Z" || state == "X") {
        return None;
    }
    fields.get(19)?.parse().ok()
}

/// Whether this process is that one, or was started below it.
#[must_use]
pub fn is_below(other: &Identity) -> bool {
    let mut pid = nix::unistd::getpid().as_raw();
    // A chain of parents is short; the bound is for a system that lies.
    for _ in 0..64 {
        if pid == other.pid {
            return other.is_alive();
        }
        match stat_fields(pid).and_then(|fields| fields.get(1)?.parse().ok()) {
            Some(parent) if parent > 0 => pid = parent,
            _ => return false,
        }
    }
    false
}

/// The words that a process was started with, `max` bytes of them at most; none where it is gone or the system does
/// not say.
#[must_use]
pub fn words_of(pid: i32, max: u64) -> Vec<String> {
    use std::io::Read as _;
    let mut line = Vec::new();
    let read = fs::File::open(format!("/proc/{pid}/cmdline")).and_then(|file| file.take(max).read_to_end(&mut line));
    if read.is_err() || line.is_empty() {
        return Vec::new();
    }
    let line = line.strip_suffix(b"\0").unwrap_or(&line);
    line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The programs this process was started by, nearest first: the file name of each one's first
/// argument and of its executable. Empty where the system does not say.
#[must_use]
pub fn ancestors() -> Vec<String> {
    #[cfg(debug_assertions)]
    if let Some(names) = super::env::var(super::env::LOCI_ANCESTORS) {
        return names.to_string_lossy().split(':').map(str::to_owned).collect();
    }
    let mut names = Vec::new();
    let mut pid = nix::unistd::getppid().as_raw();
    // A chain of parents is short; the bound is for a system that lies.
    for _ in 0..64 {
        if pid <= 1 {
            break;
        }
        if let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) {
            for word in line.split(|byte| *byte == 0).take(2) {
                let word = String::from_utf8_lossy(word);
                if let Some(name) = word.rsplit('/').next().filter(|name| !name.is_empty()) {
                    names.push(name.to_owned());
                }
            }
        }
        let Some(parent) = stat_fields(pid).and_then(|fields| fields.get(1)?.parse().ok()) else { break };
        pid = parent;
    }
    names
}

/// Looks for a program in the directories of a `PATH`, as a shell would. Relative directories in it
/// are left out: what stands there depends on where one is.
#[must_use]
pub fn find_program(name: &str, path: &std::ffi::OsStr) -> Option<std::path::PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let runs = |file: &Path| fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
    std::env::split_paths(path).filter(|dir| dir.is_absolute()).map(|dir| dir.join(name)).find(|file| runs(file))
}

/// The file that this process runs from.
///
/// # Errors
/// Where the system does not say.
pub fn own_program() -> io::Result<std::path::PathBuf> {
    std::env::current_exe()
}

/// What a process says when its time is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastWords {
    /// For standard output.
    pub stdout: Vec<u8>,
    /// For standard error.
    pub stderr: Vec<u8>,
    /// The exit code.
    pub code: u8,
}

static LAST_WORDS: AtomicPtr<LastWords> = AtomicPtr::new(std::ptr::null_mut());

/// From now on these are the last words. The ones before are never freed: the alarm may go off while
/// they are replaced.
pub fn set_last_words(words: LastWords) {
    LAST_WORDS.store(Box::into_raw(Box::new(words)), Ordering::SeqCst);
}

/// Ends the process after so many seconds with its last words, wherever it is then. A thread that
/// waits would do it too, but costs more than all else that such a process does: on a busy machine
/// its end has to wait for a turn of its own. What a signal can't end is a wait that only a kill ends
/// (a network disk that hangs).
pub fn end_after(seconds: u32) {
    use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
    let action = SigAction::new(SigHandler::Handler(speak_and_end), SaFlags::empty(), SigSet::empty());
    // SAFETY: `speak_and_end` does nothing but what is allowed in a signal handler.
    #[expect(unsafe_code, reason = "a handler can only be set so")]
    let set = unsafe { sigaction(Signal::SIGALRM, &action) };
    if set.is_ok() {
        // Whoever started us may have blocked it.
        let _ = SigSet::from(Signal::SIGALRM).thread_unblock();
        nix::unistd::alarm::set(seconds);
    }
}

/// Calls it off.
pub fn end_not() {
    nix::unistd::alarm::cancel();
}

extern "C" fn speak_and_end(_: nix::libc::c_int) {
    let words = LAST_WORDS.load(Ordering::SeqCst);
    // SAFETY: the pointer is null or came from a box that is never freed; `write` and `_exit` are
    // allowed in a signal handler, and nothing is allocated.
    #[expect(unsafe_code, reason = "only raw calls are allowed here")]
    unsafe {
        let mut code = 1;
        if let Some(words) = words.as_ref() {
            for (stream, text) in [(1, &words.stdout), (2, &words.stderr)] {
                nix::libc::write(stream, text.as_ptr().cast(), text.len());
            }
            code = i32::from(words.code);
        }
        nix::libc::_exit(code)
    }
}

/// Ends a process that was forked, at once: nothing of what the one it came from has set up for its own
/// end is done twice.
#[cfg(target_os = "linux")]
pub(super) fn end_here(code: i32) -> ! {
    #[expect(unsafe_code, reason = "the ordinary way out runs what belongs to the other process")]
    // SAFETY: the call takes a number and does not come back.
    unsafe {
        nix::libc::_exit(code)
    }
}

/// Ends the process at once, whatever its other threads do.
pub fn end(code: u8) -> ! {
    #[expect(clippy::exit, reason = "the main thread may hang, and can't return")]
    std::process::exit(i32::from(code))
}
