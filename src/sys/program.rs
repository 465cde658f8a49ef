//! Running a program to its end, within bounds of time and output.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

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
}
