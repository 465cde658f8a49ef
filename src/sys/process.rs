//! Processes: who one is, and running one to its end within bounds.

use std::fs;
use std::io;
use std::path::Path;

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
