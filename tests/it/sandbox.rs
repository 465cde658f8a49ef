//! A scratch world for one test: its own home, state folder and tree; gone when the test ends.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

/// The scratch world.
pub(crate) struct Sandbox {
    dir: PathBuf,
}

/// How a run of the program ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    /// An empty world with a `home`.
    pub(crate) fn new() -> Self {
        Self::below(Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    /// The same in memory where the system has such a folder: for worlds of very many files.
    pub(crate) fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { Self::below(memory) } else { Self::new() }
    }

    fn below(base: &Path) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst));
        let dir = base.join("loci-sandbox").join(name);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join("home")).unwrap();
        Self { dir: fs::canonicalize(dir).unwrap() }
    }

    /// A path in this world.
    pub(crate) fn path(&self, rel: impl AsRef<Path>) -> PathBuf {
        self.dir.join(rel)
    }

    /// Writes a file, with the directories above it.
    pub(crate) fn file(&self, rel: impl AsRef<Path>, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path(rel);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Writes an executable file.
    pub(crate) fn exec(&self, rel: impl AsRef<Path>, text: impl AsRef<[u8]>) -> &Self {
        self.file(&rel, text);
        fs::set_permissions(self.path(rel), fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    /// Makes a directory.
    pub(crate) fn dir(&self, rel: impl AsRef<Path>) -> &Self {
        fs::create_dir_all(self.path(rel)).unwrap();
        self
    }

    /// Makes a link with this text.
    pub(crate) fn link(&self, rel: impl AsRef<Path>, target: impl AsRef<Path>) -> &Self {
        let path = self.path(rel);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
        self
    }

    /// The text of a file.
    pub(crate) fn read(&self, rel: impl AsRef<Path>) -> String {
        fs::read_to_string(self.path(rel)).unwrap()
    }

    /// Everything below `rel`: path → content, link text or `dir`, with the mode.
    pub(crate) fn snapshot(&self, rel: impl AsRef<Path>) -> BTreeMap<PathBuf, String> {
        let root = self.path(rel);
        walkdir::WalkDir::new(&root)
            .into_iter()
            .map(Result::unwrap)
            .map(|entry| {
                let mode = entry.metadata().unwrap().permissions().mode() & 0o7777;
                let what = if entry.path_is_symlink() {
                    format!("link {}", fs::read_link(entry.path()).unwrap().display())
                } else if entry.file_type().is_dir() {
                    format!("dir {mode:o}")
                } else if entry.file_type().is_file() {
                    format!("file {mode:o} {}", String::from_utf8_lossy(&fs::read(entry.path()).unwrap()))
                } else {
                    "other".to_owned()
                };
                (entry.path().strip_prefix(&root).unwrap().to_owned(), what)
            })
            .collect()
    }

    /// The program, ready to run in directory `cwd` of this world with nothing of the outside but
    /// `PATH`.
    pub(crate) fn command(&self, cwd: impl AsRef<Path>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loci"));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("TZ", "UTC")
            .env("LANG", "C.UTF-8")
            // Whoever runs the tests: a person, to the program.
            .env("LOCI_ANCESTORS", "sh")
            .current_dir(self.path(cwd))
            .stdin(Stdio::null());
        command
    }

    /// Runs the program in `cwd`.
    pub(crate) fn loci<S: AsRef<OsStr>>(&self, cwd: impl AsRef<Path>, args: impl IntoIterator<Item = S>) -> Run {
        let mut command = self.command(cwd);
        command.args(args);
        Run::of(&mut command, None)
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Directories without permissions would bar their own removal.
        for entry in walkdir::WalkDir::new(&self.dir).into_iter().flatten().filter(|entry| entry.file_type().is_dir()) {
            let _ = fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o755));
        }
        let _ = fs::remove_dir_all(&self.dir);
    }
}

impl Run {
    /// Runs a command to its end, with something on its standard input.
    pub(crate) fn of(command: &mut Command, stdin: Option<&[u8]>) -> Self {
        let output = match stdin {
            None => command.output().unwrap(),
            Some(data) => {
                let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
                let mut pipe = child.stdin.take().unwrap();
                // Beside the reading, or both would wait for each other. A program that does not read all
                // of it is no fault of the test.
                std::thread::scope(|scope| {
                    scope.spawn(move || drop(pipe.write_all(data)));
                    child.wait_with_output().unwrap()
                })
            }
        };
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Asserts the exit code, and shows everything where it differs.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Standard output as one JSON value.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }
}
