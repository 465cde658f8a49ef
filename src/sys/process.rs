//! Processes: who one is, and running one to its end within bounds.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;

use nix::sys::signal::{SigSet, SigmaskHow, Signal};

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

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// The fields of `/proc/PID/stat` behind the name: a name may hold spaces and brackets, so they are
/// counted from the *last* `)`.
fn stat_fields(pid: i32) -> Option<Vec<String>> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (_, rest) = stat.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

fn start_ticks(pid: i32) -> Option<u64> {
    let fields = stat_fields(pid)?;
    // A zombie has ended; its parent has not looked yet.
    if fields.first().is_some_and(|state| state == "Z" || state == "X") {
        return None;
    }
    fields.get(19)?.parse().ok()
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

/// Does something after a while on a thread of its own, unless the process has ended by then. Where
/// there is no room for a thread, it is not done.
pub fn after(patience: std::time::Duration, act: impl FnOnce() + Send + 'static) {
    let wait = move || {
        std::thread::sleep(patience);
        act();
    };
    // It only waits: the smallest stack will do until then, and for a few words after.
    let _ = std::thread::Builder::new().stack_size(128 << 10).spawn(wait);
}

/// Ends the process at once, whatever its other threads do.
pub fn end(code: u8) -> ! {
    #[expect(clippy::exit, reason = "the main thread may hang, and can't return")]
    std::process::exit(i32::from(code))
}

/// What a program that was asked said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Its exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
}

/// Runs a program that answers with a few words, hands it `input`, and ends it when it takes longer
/// than `patience`.
///
/// # Errors
/// Where it can't be started, or did not end in time (`TimedOut`).
pub fn ask(program: &str, args: &[&str], input: &[u8], patience: std::time::Duration) -> io::Result<Said> {
    use std::io::{Read as _, Write as _};
    use std::process::{Command, Stdio};
    let mut child = Command::new(program).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (mut stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    if let Some(stdin) = &mut stdin {
        // A program that does not read all of it may answer all the same.
        let _ = stdin.write_all(input);
    }
    drop(stdin);
    fn listen(stream: Option<impl io::Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
        std::thread::spawn(move || {
            let mut words = Vec::new();
            let _ = stream.map(|stream| stream.take(1 << 20).read_to_end(&mut words));
            words
        })
    }
    let (stdout, stderr) = (listen(stdout), listen(stderr));
    let deadline = std::time::Instant::now() + patience;
    let code = loop {
        if let Some(status) = child.try_wait()? {
            break status.code();
        }
        if std::time::Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it did not end in time"));
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    };
    Ok(Said { code, stdout: stdout.join().unwrap_or_default(), stderr: stderr.join().unwrap_or_default() })
}

/// The signals that end a process or that it may use for itself: while a command runs in our place,
/// they are meant for it.
const FORWARDED: [Signal; 7] =
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGUSR1, Signal::SIGUSR2, Signal::SIGALRM];

/// Signals are held back while this value lives, so that none ends this process between a change
/// and the way back; [`run_in_our_place`] hands them to the command.
#[derive(Debug)]
pub struct Deaf {
    before: SigSet,
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
    let mut command = std::process::Command::new(program);
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
fn wait_for_signal(set: &SigSet) -> io::Result<(Signal, bool)> {
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
fn wait_for_signal(set: &SigSet) -> io::Result<(Signal, bool)> {
    let signal = set.wait()?;
    // Not told who sent it: these two come from the terminal as a rule.
    Ok((signal, matches!(signal, Signal::SIGINT | Signal::SIGQUIT)))
}
