//! Processes: who one is, and running one to its end within bounds.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

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

/// The file that this process runs from.
///
/// # Errors
/// Where the system does not say.
pub fn own_program() -> io::Result<std::path::PathBuf> {
    std::env::current_exe()
}

/// A program to be run to its end.
#[derive(Debug, Clone)]
pub struct Program<'a> {
    /// The file or, without a slash, the name to look for in `PATH`.
    pub file: &'a Path,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Where it runs.
    pub cwd: &'a Path,
    /// Its whole environment; nothing is inherited.
    pub env: BTreeMap<OsString, OsString>,
    /// What it reads.
    pub stdin: &'a [u8],
    /// How long it may take; then its process group is killed.
    pub limit: Duration,
    /// How many bytes of each output are kept.
    pub keep: usize,
}

/// How a program ended.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Its exit code; `None` where a signal or the limit ended it.
    pub code: Option<i32>,
    /// The start of its output.
    pub stdout: Vec<u8>,
    /// The start of its words.
    pub stderr: Vec<u8>,
    /// Whether the limit ended it.
    pub timed_out: bool,
}

impl Program<'_> {
    /// Runs it in a process group of its own, and waits.
    ///
    /// # Errors
    /// Where it can't be started.
    pub fn run(&self) -> io::Result<Finished> {
        let mut child = Command::new(self.file)
            .args(&self.args)
            .current_dir(self.cwd)
            .env_clear()
            .envs(&self.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let group = i32::try_from(child.id()).map(nix::unistd::Pid::from_raw).map_err(io::Error::other)?;
        let stdin = child.stdin.take();
        let streams = (child.stdout.take(), child.stderr.take());
        std::thread::scope(|scope| {
            // A program that does not read its input is not at fault.
            scope.spawn(move || stdin.map(|mut pipe| pipe.write_all(self.stdin)));
            let stdout = scope.spawn(move || streams.0.map(|pipe| start_of(pipe, self.keep)));
            let stderr = scope.spawn(move || streams.1.map(|pipe| start_of(pipe, self.keep)));
            let (status, timed_out) = wait(&mut child, self.limit)?;
            if timed_out {
                // The group, so that nothing it started keeps the pipes open.
                let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
                child.wait()?;
            }
            let text = |thread: std::thread::ScopedJoinHandle<'_, Option<Vec<u8>>>| thread.join().ok().flatten().unwrap_or_default();
            Ok(Finished { code: status.and_then(|status| status.code()), stdout: text(stdout), stderr: text(stderr), timed_out })
        })
    }
}

/// Waits until a child has ended or the limit is over; the pauses grow, so that a short program costs
/// little and a long one costs nothing.
fn wait(child: &mut Child, limit: Duration) -> io::Result<(Option<ExitStatus>, bool)> {
    let deadline = Instant::now() + limit;
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((Some(status), false));
        }
        if Instant::now() >= deadline {
            return Ok((None, true));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Reads a pipe to its end and keeps the start.
fn start_of(mut pipe: impl Read, keep: usize) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut block = [0_u8; 8192];
    while let Ok(count @ 1..) = pipe.read(&mut block) {
        let room = keep.saturating_sub(kept.len());
        kept.extend(block.iter().take(count.min(room)));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh<'a>(script: &str, limit: Duration) -> Program<'a> {
        let env = [("PATH".into(), "/usr/bin:/bin".into())].into();
        Program {
            file: Path::new("/bin/sh"),
            args: vec!["-c".into(), script.into()],
            cwd: Path::new("/"),
            env,
            stdin: b"in",
            limit,
            keep: 10,
        }
    }

    #[test]
    fn output_is_kept_up_to_its_bound() {
        let done = sh("cat; echo; yes | head -c 100000; echo words >&2; exit 3", Duration::from_secs(20)).run().unwrap();
        assert_eq!(
            (done.code, done.stdout.as_slice(), done.stderr.as_slice(), done.timed_out),
            (Some(3), &b"in\ny\ny\ny\ny"[..10], &b"words\n"[..], false)
        );
    }

    #[test]
    fn the_limit_ends_the_whole_group() {
        // The grandchild would hold the pipe for a minute.
        let done = sh("sleep 60 & sleep 60", Duration::from_millis(100)).run().unwrap();
        assert!(done.timed_out && done.code.is_none());
    }

    #[test]
    fn a_process_knows_itself() {
        assert!(Identity::of_self().is_alive());
        assert!(!Identity { start: 1, ..Identity::of_self() }.is_alive());
    }
}
