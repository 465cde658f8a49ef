//! What tests with real processes share: waiting for something, a daemon that ends with its test, and the time that a
//! clock is told.

use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::sandbox::Sandbox;

/// How long anything is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A daemon that is ended when the test is over.
pub(crate) struct Daemon(pub(crate) Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until there is something.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain for: {what}");
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// Tells clocks that read `now` in the sandbox that it is this second of the 1st of June 2026.
pub(crate) fn set_time(sandbox: &Sandbox, second: u64) {
    let wall = jiff::Timestamp::from_second(1_780_272_000 + i64::try_from(second).unwrap()).unwrap();
    let millis = (100_000 + second) * 1000;
    let aside = sandbox.path("now.new");
    fs::write(&aside, format!("{wall} {millis} {millis}")).unwrap();
    fs::rename(aside, sandbox.path("now")).unwrap();
}

/// Starts the clock of `command`, which writes to the log that is given.
pub(crate) fn start(mut command: std::process::Command, sandbox: &Sandbox, fault: Option<&str>) -> Daemon {
    let log = fs::File::options().append(true).create(true).open(sandbox.path("daemon.log")).unwrap();
    command.stdout(std::process::Stdio::null()).stderr(log).envs(fault.map(|fault| ("LOCI_FAULT", fault)));
    Daemon(command.spawn().unwrap())
}
