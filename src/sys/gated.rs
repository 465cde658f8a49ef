//! A program that is started behind a gate: it is there, with a process id that can be written down, and
//! runs nothing of its own before it is told to. Where whoever started it dies first, it never runs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use super::disk;
use super::fault;
use super::process::Identity;
use super::shown;

/// What the gate ends with where nobody opened it.
pub const NEVER_RUN: i32 = 125;

/// Waits for a word, leaves a mark that it came, then becomes the program.
const GATE: &str = "read -r go && [ \"$go\" = go ] && : >\"$0\" || exit 125; exec \"$@\" </dev/null";

/// A program to be started behind a gate.
#[derive(Debug, Clone)]
pub struct Start<'a> {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// Where it runs.
    pub cwd: &'a Path,
    /// Its whole environment; nothing is inherited.
    pub env: BTreeMap<OsString, OsString>,
    /// A file that is there as soon as the gate was opened.
    pub begun: &'a Path,
    /// What its output is appended to.
    pub out: &'a Path,
    /// What its words are appended to.
    pub err: &'a Path,
}

/// One that was started.
#[derive(Debug)]
pub struct Gated {
    child: Child,
    gate: Option<ChildStdin>,
    identity: Identity,
}

impl Start<'_> {
    /// Starts it in a session of its own, and leaves it at the gate.
    ///
    /// # Errors
    /// Where it can't be started.
    pub fn start(&self) -> io::Result<Gated> {
        let open = |path: &Path| -> io::Result<File> {
            let opened = fault::step("open", path, || disk::open_own(OpenOptions::new().append(true).create(true).mode(0o600), path));
            opened.map_err(|error| io::Error::new(error.kind(), format!("open {}: {error}", shown::path(path))))
        };
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", GATE])
            .arg(self.begun)
            .args(&self.argv)
            .current_dir(self.cwd)
            .env_clear()
            .envs(&self.env)
            .stdin(Stdio::piped())
            .stdout(open(self.out)?)
            .stderr(open(self.err)?);
        // SAFETY: between fork and exec only `setsid` is called, which is allowed there.
        #[expect(unsafe_code, reason = "the standard library can't start a session")]
        unsafe {
            command.pre_exec(|| nix::unistd::setsid().map(|_| ()).map_err(io::Error::from));
        }
        let mut child = command.spawn()?;
        let gate = child.stdin.take();
        let identity = i32::try_from(child.id()).ok().and_then(Identity::of);
        match identity {
            Some(identity) => Ok(Gated { child, gate, identity }),
            None => {
                drop(gate);
                let _ = child.wait();
                Err(io::Error::other("it ended at once"))
            }
        }
    }
}

impl Gated {
    /// Which process it is.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Opens the gate.
    ///
    /// # Errors
    /// Where it is no longer there.
    pub fn release(&mut self) -> io::Result<()> {
        match self.gate.take() {
            Some(mut gate) => gate.write_all(b"go\n"),
            None => Ok(()),
        }
    }

    /// Whether it has ended: its exit status, a signal as 128 and its number. Asking is what keeps it
    /// from staying as a zombie.
    ///
    /// # Errors
    /// Where the system does not say.
    pub fn ended(&mut self) -> io::Result<Option<i32>> {
        let status = self.child.try_wait()?;
        Ok(status.map(|status| status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))))
    }
}

impl Gated {
    /// Takes it back while it is still at the gate: it ends without having run.
    pub fn abandon(mut self) {
        drop(self.gate.take());
        let _ = self.child.wait();
    }
}
