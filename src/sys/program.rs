//! Running a program to its end, within bounds of time and output.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

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
        let mut pipes = Pipes::of(&mut child, self)?;
        let deadline = Instant::now() + self.limit;
        let mut pause = Duration::from_micros(50);
        let (status, timed_out) = loop {
            if let Some(status) = child.try_wait()? {
                break (Some(status), false);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // The group, so that nothing it started goes on.
                let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
                child.wait()?;
                break (None, true);
            }
            if pipes.are_closed() {
                // It has said all; its end is near, or it goes on in silence.
                std::thread::sleep(pause.min(left));
                pause = (pause * 2).min(MOST_PAUSE);
            } else {
                pipes.wait_and_move(left.min(MOST_PAUSE));
            }
        };
        // What is in the pipes by now. Whatever it left running may hold them open for ever.
        pipes.drain();
        Ok(Finished { code: status.and_then(|status| status.code()), stdout: pipes.stdout.kept, stderr: pipes.stderr.kept, timed_out })
    }
}

/// The longest time in which the end of a program that holds its pipes is not looked for.
const MOST_PAUSE: Duration = Duration::from_millis(10);

/// How many blocks are taken from one pipe before the others get their turn.
const MOST_BLOCKS: usize = 256;

/// The pipes of a running program, none of which is ever waited for alone.
struct Pipes<'a> {
    stdin: Option<ChildStdin>,
    input: &'a [u8],
    stdout: Kept<ChildStdout>,
    stderr: Kept<ChildStderr>,
}

/// A pipe that is read, and the start of what came out of it.
struct Kept<R> {
    pipe: Option<R>,
    kept: Vec<u8>,
    keep: usize,
}

impl<'a> Pipes<'a> {
    fn of(child: &mut Child, program: &Program<'a>) -> io::Result<Self> {
        let kept = program.keep;
        let pipes = Self {
            stdin: child.stdin.take(),
            input: program.stdin,
            stdout: Kept { pipe: child.stdout.take(), kept: Vec::new(), keep: kept },
            stderr: Kept { pipe: child.stderr.take(), kept: Vec::new(), keep: kept },
        };
        for fd in pipes.fds().into_iter().flatten() {
            fcntl(fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        Ok(pipes)
    }

    fn fds(&self) -> [Option<BorrowedFd<'_>>; 3] {
        [self.stdin.as_ref().map(AsFd::as_fd), self.stdout.pipe.as_ref().map(AsFd::as_fd), self.stderr.pipe.as_ref().map(AsFd::as_fd)]
    }

    fn are_closed(&self) -> bool {
        self.stdout.pipe.is_none() && self.stderr.pipe.is_none()
    }

    /// Waits until one of them is ready, at most so long, and moves what can be moved.
    fn wait_and_move(&mut self, most: Duration) {
        let flags = [PollFlags::POLLOUT, PollFlags::POLLIN, PollFlags::POLLIN];
        let mut fds: Vec<PollFd<'_>> =
            self.fds().into_iter().zip(flags).filter_map(|(fd, flags)| fd.map(|fd| PollFd::new(fd, flags))).collect();
        // A little more than asked for, so that it does not come back at once for less than its unit.
        let millis = u16::try_from(most.as_millis()).unwrap_or(u16::MAX).saturating_add(1);
        let _ = poll(&mut fds, PollTimeout::from(millis));
        drop(fds);
        self.feed();
        self.drain();
    }

    /// A program that does not read its input is not at fault.
    fn feed(&mut self) {
        let Some(pipe) = &mut self.stdin else { return };
        while !self.input.is_empty() {
            match pipe.write(self.input) {
                Ok(count) => self.input = self.input.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => break,
            }
        }
        self.stdin = None;
    }

    fn drain(&mut self) {
        self.stdout.drain();
        self.stderr.drain();
    }
}

impl<R: Read> Kept<R> {
    /// Takes what is there now, at most so much that another pipe gets its turn.
    fn drain(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut block = [0_u8; 8192];
        for _ in 0..MOST_BLOCKS {
            match pipe.read(&mut block) {
                Ok(0) => {
                    self.pipe = None;
                    return;
                }
                Ok(count) => {
                    let room = self.keep.saturating_sub(self.kept.len());
                    self.kept.extend(block.iter().take(count.min(room)));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.pipe = None;
                    return;
                }
            }
        }
    }
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
    fn what_it_leaves_running_holds_nobody_up() {
        let done = sh("sleep 60 & echo done", Duration::from_secs(50)).run().unwrap();
        assert_eq!((done.code, done.stdout.as_slice(), done.timed_out), (Some(0), &b"done\n"[..], false));
        let silent = sh("exec >&- 2>&-; sleep 0.05; exit 4", Duration::from_secs(20)).run().unwrap();
        assert_eq!(silent.code, Some(4));
    }

    #[test]
    fn a_long_input_and_a_long_output_do_not_wait_for_each_other() {
        let input = vec![b'a'; 3 << 20];
        let mut cat = sh("cat; cat >/dev/null", Duration::from_secs(20));
        cat.stdin = &input;
        cat.keep = 4 << 20;
        assert_eq!(cat.run().unwrap().stdout.len(), input.len());
        let mut deaf = sh("exit 0", Duration::from_secs(20));
        deaf.stdin = &input;
        assert_eq!(deaf.run().unwrap().code, Some(0));
    }

    #[test]
    fn the_limit_ends_the_whole_group() {
        // The grandchild would hold the pipe for a minute.
        let done = sh("sleep 60 & sleep 60", Duration::from_millis(100)).run().unwrap();
        assert!(done.timed_out && done.code.is_none());
    }
}
