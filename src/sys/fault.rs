//! The seam for fault injection: every operation that changes the disk passes here.
//!
//! In debug builds `LOCI_FAULT` makes one operation fail or ends the process after it; a release
//! build has neither the variable nor the counter.
//!
//! | value | does |
//! |---|---|
//! | `fail:N:ERRNO` | the N-th operation (from 1) fails with that errno, and is not performed |
//! | `kill:N` | the process is killed (SIGKILL) right after the N-th operation |
//! | `full:FILE` | while FILE is there, every operation fails as on a full disk |
//! | `panic:POINT` | the program panics at the named point |
//! | `stall:POINT` | the program stops for a minute at the named point |
//! | `log:FILE` | each operation is appended to FILE as `N<TAB>name<TAB>path` |

use std::io;
use std::path::Path;

/// Performs one operation that changes the disk, through the seam.
pub(crate) fn step<T>(name: &'static str, path: &Path, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    #[cfg(debug_assertions)]
    {
        let number = armed::count(name, path)?;
        let result = act();
        armed::after(number);
        result
    }
    #[cfg(not(debug_assertions))]
    {
        let _ = (name, path);
        act()
    }
}

/// A named point in the program at which a test can make it panic or stall.
pub(crate) fn point(name: &str) {
    #[cfg(debug_assertions)]
    armed::point(name);
    #[cfg(not(debug_assertions))]
    let _ = name;
}

#[cfg(debug_assertions)]
mod armed {
    use std::io::{self, Write};
    use std::path::{Path, PathBuf};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    enum Mode {
        Off,
        Fail(u64, i32),
        Full(PathBuf),
        Kill(u64),
        Log(PathBuf),
        Panic(String),
        Stall(String),
    }

    static COUNT: AtomicU64 = AtomicU64::new(0);
    static MODE: OnceLock<Mode> = OnceLock::new();

    fn mode() -> &'static Mode {
        MODE.get_or_init(|| {
            let Some(value) = crate::sys::env::var(crate::sys::env::LOCI_FAULT) else { return Mode::Off };
            let value = value.to_string_lossy();
            let parts: Vec<&str> = value.splitn(3, ':').collect();
            match parts.as_slice() {
                ["fail", n, errno] => match (n.parse(), errno.parse()) {
                    (Ok(n), Ok(errno)) => Mode::Fail(n, errno),
                    _ => Mode::Off,
                },
                ["kill", n] => n.parse().map_or(Mode::Off, Mode::Kill),
                ["full", file] => Mode::Full(PathBuf::from(file)),
                ["panic", point] => Mode::Panic((*point).to_owned()),
                ["stall", point] => Mode::Stall((*point).to_owned()),
                ["log", file] => Mode::Log(PathBuf::from(file)),
                _ => Mode::Off,
            }
        })
    }

    pub(super) fn count(name: &str, path: &Path) -> io::Result<u64> {
        let number = COUNT.fetch_add(1, Ordering::SeqCst) + 1;
        match mode() {
            Mode::Fail(n, errno) if *n == number => Err(io::Error::from_raw_os_error(*errno)),
            Mode::Full(file) if file.exists() => Err(io::Error::from_raw_os_error(nix::libc::ENOSPC)),
            Mode::Log(file) => {
                // Not through the seam: the log of the seam is not one of its operations.
                let mut log = std::fs::OpenOptions::new().append(true).create(true).open(file)?;
                writeln!(log, "{number}\t{name}\t{}", crate::sys::shown::path(path))?;
                Ok(number)
            }
            _ => Ok(number),
        }
    }

    pub(super) fn point(name: &str) {
        match mode() {
            Mode::Stall(point) if point == name => std::thread::sleep(std::time::Duration::from_secs(60)),
            Mode::Panic(point) => assert!(point != name, "as the test asked"),
            _ => {}
        }
    }

    pub(super) fn after(number: u64) {
        if matches!(mode(), Mode::Kill(n) if *n == number) {
            let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
        }
    }
}
