//! The real machine behind the reader of shell commands: its disk, git, the programs that unpack, and
//! the time of day.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::shell::{GitAnswer, Kind, Meta, Packed, World};
use crate::sys::git::Git;
use crate::sys::program::Program;
use crate::sys::{disk, env, time};

/// How long git is asked in all for one command: less than the gate has.
const GIT_PATIENCE: Duration = Duration::from_millis(1_200);

/// How long one archive is unpacked at most.
const UNPACK_PATIENCE: Duration = Duration::from_millis(400);

/// The most bytes of an unpacked archive that are looked at.
const MAX_UNPACKED: usize = 8 << 20;

/// The machine, for one command.
#[derive(Debug)]
pub struct Machine {
    git: std::cell::OnceCell<Git>,
    patience: Duration,
}

impl Machine {
    /// The machine as it is. Nothing is asked yet.
    #[must_use]
    pub fn new() -> Self {
        Self::patient(GIT_PATIENCE)
    }

    /// One that gives git so long in all.
    #[must_use]
    pub fn patient(patience: Duration) -> Self {
        Self { git: std::cell::OnceCell::new(), patience }
    }

    /// How many times git was started.
    #[must_use]
    pub fn asked(&self) -> u32 {
        self.git.get().map_or(0, Git::started)
    }
}

impl Default for Machine {
    fn default() -> Self {
        Self::new()
    }
}

impl World for Machine {
    fn meta(&self, path: &Path) -> Option<Meta> {
        let meta = disk::look(path).ok()??;
        let mtime = i64::try_from(meta.mtime_ns).unwrap_or(0);
        Some(Meta { kind: meta.kind, len: meta.len, mtime, mode: meta.mode })
    }

    fn read_link(&self, path: &Path) -> Option<PathBuf> {
        disk::read_link(path).ok()
    }

    fn list(&self, dir: &Path, max: usize) -> Option<Vec<(String, Kind)>> {
        let entries = disk::list_at_most(dir, max).ok()??;
        Some(entries.into_iter().filter_map(|entry| Some((entry.name.into_string().ok()?, entry.kind))).collect())
    }

    fn read(&self, path: &Path, max: usize) -> Option<Vec<u8>> {
        disk::read_bounded(path, max as u64).ok()?
    }

    fn unpack(&self, bytes: &[u8], how: Packed) -> Option<Vec<u8>> {
        let file = Path::new(match how {
            Packed::Xz => "xz",
            Packed::Bzip2 => "bzip2",
            Packed::Zstd => "zstd",
        });
        let env = env::var(env::PATH).map(|path| (env::PATH.into(), path)).into_iter().collect();
        let args = vec!["-d".into(), "-c".into()];
        let program = Program { file, args, cwd: Path::new("/"), env, stdin: bytes, limit: UNPACK_PATIENCE, keep: MAX_UNPACKED };
        Some(program.run().ok()?.stdout).filter(|unpacked| !unpacked.is_empty())
    }

    fn git(&self, dir: &Path, args: &[&str], env: &[(String, String)]) -> Option<GitAnswer> {
        self.git.get_or_init(|| Git::new(self.patience)).ask(dir, args, env)
    }

    fn now(&self) -> i64 {
        time::now().as_second()
    }
}
