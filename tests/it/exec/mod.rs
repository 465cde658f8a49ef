//! `loci exec` with real programs: what is held, every way around it that was thought of, and that all
//! else is as without. As the user who runs the tests and, where that is root, as a plain user too.

#![cfg(target_os = "linux")]

mod beside;
mod capture;
mod corpus;
mod degrade;
mod gated;
mod handles;
mod held;
mod keep;
mod machine;
mod mail;
mod process;
mod session;
mod shared;
mod whole;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::sandbox::{Run, Sandbox};

/// A user number that nobody has.
const PLAIN: u32 = 54_321;

/// What the tree needs no program of a home for.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// A tree of alice's, in which bob and carol own directories, and who looks at it.
pub(crate) struct World {
    sandbox: Sandbox,
    /// The user it runs as; `None`: whoever runs the tests.
    user: Option<u32>,
}

/// Says on the test's own output why something was not run.
#[expect(clippy::print_stderr, reason = "what is skipped is said")]
pub(crate) fn skipped(why: &str) {
    eprintln!("not run: {why}");
}

/// Whether a program is there for everybody.
pub(crate) fn there(program: &str) -> bool {
    std::env::split_paths(PATH).any(|dir| dir.join(program).is_file())
}

/// Runs a test as each user.
pub(crate) fn as_each(test: impl Fn(&World)) {
    for user in users() {
        test(&World::new(user));
    }
}

fn users() -> Vec<Option<u32>> {
    let probe = World::bare(None);
    if !nix::unistd::geteuid().is_root() {
        skipped("the same as another user, since only root can become one");
        return vec![None];
    }
    // Whether another user reaches the tree at all.
    let mut look = Command::new("/bin/ls");
    look.arg(probe.sandbox.path("home")).uid(PLAIN).gid(PLAIN).stdout(Stdio::null()).stderr(Stdio::null());
    if !look.status().is_ok_and(|status| status.success()) {
        skipped("the same as a plain user, since the folder of the tests is closed to others");
        return vec![None];
    }
    vec![None, Some(PLAIN)]
}

impl World {
    fn bare(user: Option<u32>) -> Self {
        Self { sandbox: Sandbox::new(), user }
    }

    pub(crate) fn new(user: Option<u32>) -> Self {
        let world = Self::bare(user);
        let put = |path: &str, text: &str| {
            world.sandbox.file(Path::new("home/repo").join(path), text);
        };
        for (path, text) in [
            (".loci/agent.md", "---\nid: alice\n---\n"),
            (".loci/rules/r.md", "rule\n"),
            (".claude/settings.json", "{}\n"),
            (".loci-clock/jobs/nightly.md", "---\nwhen: daily\n---\n"),
            ("bob/.loci/owner.md", "---\nowner: bob\ncommons: [Cargo.lock, target/]\n---\n"),
            ("bob/.loci/agent.md", "---\nid: bob\n---\n"),
            ("bob/x.txt", "bob1\n"),
            ("bob/OWNER", "secret\n"),
            ("bob/Cargo.lock", "lock\n"),
            ("bob/target/out", "out\n"),
            ("bob/dir1/one", "1\n"),
            ("bob/dir1/two", "2\n"),
            ("bob/data/keep", "k\n"),
            ("bob/alice_inner/.loci/owner.md", "---\nowner: alice\n---\n"),
            ("bob/alice_inner/a.txt", "a\n"),
            ("bob/alice_inner/bob_again/.loci/owner.md", "---\nowner: bob\n---\n"),
            ("bob/alice_inner/bob_again/z.txt", "z\n"),
            ("carol/.loci/owner.md", "---\nowner: carol\n---\n"),
            ("carol/c.txt", "c\n"),
            ("deep/a/b/owned/.loci/owner.md", "---\nowner: bob\n---\n"),
            ("deep/a/b/owned/q.txt", "q\n"),
            ("deep/q", "q\n"),
            ("free/f.txt", "f\n"),
        ] {
            put(path, text);
        }
        world.sandbox.exec("home/repo/bob/run.sh", "#!/bin/sh\necho hi\n");
        world.sandbox.file("home/repo/bob/bin.dat", (0..3000_u32).map(|n| (n * 7 % 251) as u8).collect::<Vec<u8>>());
        world.sandbox.link("home/repo/bob/lnk", "x.txt").link("home/repo/bobalias", "bob");
        world.sandbox.file("home/.loci/config.yaml", "custody: auto\n").file("state/loci/sessions/s.json", "{}\n");
        world.sandbox.file("home/.gitconfig", "[user]\n\tname = t\n\temail = t@t\n[init]\n\tdefaultBranch = main\n");
        world.own();
        for words in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "base"]] {
            let done = world.plain("git", words).output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        }
        world
    }

    /// Hands the whole world to its user.
    pub(crate) fn own(&self) {
        if let Some(user) = self.user {
            let owner = format!("{user}:{user}");
            assert!(Command::new("chown").args(["-hR", &owner]).arg(self.sandbox.path("")).status().unwrap().success());
        }
    }

    pub(crate) fn path(&self, rel: impl AsRef<Path>) -> PathBuf {
        self.sandbox.path(rel)
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.sandbox.path("home/repo")
    }

    pub(crate) fn world(&self) -> &Sandbox {
        &self.sandbox
    }

    /// A program as the user, without a jail.
    pub(crate) fn plain<S: AsRef<OsStr>>(&self, program: &str, words: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(program);
        command.args(words).env_clear().env("PATH", PATH).env("HOME", self.path("home")).env("LC_ALL", "C.UTF-8");
        command.env("GIT_CONFIG_NOSYSTEM", "1").current_dir(self.repo()).stdin(Stdio::null());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    /// The program, as the user.
    pub(crate) fn loci<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        self.at_home(self.plain(env!("CARGO_BIN_EXE_loci"), words))
    }

    /// A shell that can call the program.
    pub(crate) fn shell(&self, script: &str) -> Command {
        self.at_home(self.plain("bash", ["-c", &self.filled(script)]))
    }

    fn at_home(&self, mut command: Command) -> Command {
        command.env("XDG_STATE_HOME", self.path("state")).env("LOCI_ANCESTORS", "sh").env("TZ", "UTC");
        command
    }

    /// A command line under `loci exec --as alice`.
    pub(crate) fn exec(&self, script: &str) -> Command {
        self.loci(["exec", "--as", "alice", "--", "bash", "-c", &self.filled(script)])
    }

    /// `{REPO}` and `{HOME}` in a script.
    pub(crate) fn filled(&self, script: &str) -> String {
        script.replace("{REPO}", self.repo().to_str().unwrap()).replace("{HOME}", self.path("home").to_str().unwrap())
    }

    pub(crate) fn run(&self, script: &str) -> Run {
        Run::of(&mut self.exec(script), None)
    }

    /// What belongs to others, and the wall: mail left out, which arrives by right.
    pub(crate) fn theirs(&self) -> BTreeMap<PathBuf, String> {
        let mut all = BTreeMap::new();
        for dir in ["home/repo/bob", "home/repo/carol", "home/repo/deep/a/b/owned", "home/repo/.claude", "home/repo/.loci-clock"] {
            all.extend(self.sandbox.snapshot(dir).into_iter().map(|(path, what)| (Path::new(dir).join(path), what)));
        }
        let ours = |path: &Path| {
            let text = path.to_string_lossy();
            text.contains("/memory")
                || text.contains("bob/target/")
                || text.ends_with("bob/Cargo.lock")
                || (text.contains("alice_inner") && !text.contains("bob_again"))
        };
        all.retain(|path, _| !ours(path));
        all
    }
}
