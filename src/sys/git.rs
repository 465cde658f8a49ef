//! Asking git without letting the repository run anything: the one place that starts git for a question.
//!
//! What a repository can name: a file system monitor, hooks, an external diff, text converters, clean
//! and smudge filters, a pager, aliases, ssh and credential helpers, gpg, a lazy fetch from a promisor
//! remote. All of them are switched off here, by the command line, which beats every configuration file.
//! Filters have free names, so these are read first, from the configuration, which runs nothing. Nothing
//! is written: no optional locks, and no question makes an object.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Most bytes of an answer.
const MAX_OUT: usize = 4 << 20;

/// Sub-commands that may be asked, none of which writes.
const QUESTIONS: &[&str] = &[
    "diff",
    "diff-tree",
    "diff-index",
    "diff-files",
    "status",
    "ls-files",
    "ls-tree",
    "rev-parse",
    "rev-list",
    "log",
    "show",
    "config",
    "merge-base",
    "grep",
    "branch",
    "symbolic-ref",
    "cat-file",
    "format-patch",
];

/// Settings that switch off what a repository can name.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.sshCommand=false",
    "core.askPass=false",
    "core.preloadIndex=false",
    "core.quotePath=false",
    "format.outputDirectory=",
    "credential.helper=",
    "diff.external=",
    "diff.ignoreSubmodules=all",
    "diff.renames=false",
    "log.showSignature=false",
    "log.showRoot=true",
    "gpg.program=false",
    "submodule.recurse=false",
    "status.submoduleSummary=false",
    "status.relativePaths=false",
    "status.showUntrackedFiles=normal",
    "maintenance.auto=false",
    "gc.auto=0",
    "protocol.allow=never",
    "uploadpack.packObjectsHook=",
];

/// What git said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitAnswer {
    /// Whether it ended with 0.
    pub ok: bool,
    /// What it printed.
    pub stdout: Vec<u8>,
}

/// A runner with a time budget for all questions of one command.
#[derive(Debug)]
pub struct Git {
    deadline: Instant,
    filters: Mutex<HashMap<PathBuf, Vec<String>>>,
    started: AtomicU32,
}

/// Whether it only asks: no sub-command and no option that writes or runs something.
fn asks(args: &[&str]) -> bool {
    let Some((verb, rest)) = args.split_first() else { return false };
    let plain = rest.iter().filter(|arg| !arg.starts_with('-')).count();
    let only_asks = match *verb {
        // `branch NAME` and `symbolic-ref A B` would write; only their listing forms are questions.
        "branch" => plain == 0,
        "symbolic-ref" => plain <= 1,
        "format-patch" => rest.contains(&"--stdout"),
        "config" => rest.iter().any(|arg| matches!(*arg, "--get" | "--get-regexp" | "--list" | "-l" | "--get-all")),
        verb => QUESTIONS.contains(&verb),
    };
    let runs = |arg: &&str| {
        ["--output", "--ext-diff", "--textconv", "--open-files", "--filters"].iter().any(|bad| arg.starts_with(bad))
            || (arg.starts_with("-O") && *verb == "grep")
    };
    only_asks && !rest.iter().any(runs)
}

impl Git {
    /// A runner that answers until `budget` is used up.
    #[must_use]
    pub fn new(budget: Duration) -> Self {
        Self { deadline: Instant::now() + budget, filters: Mutex::default(), started: AtomicU32::new(0) }
    }

    /// How many processes were started.
    #[must_use]
    pub fn started(&self) -> u32 {
        self.started.load(Ordering::Relaxed)
    }

    /// Asks; `None` where the question is not a question, git is missing, the time is up, or the answer
    /// is larger than 4 MiB.
    #[must_use]
    pub fn ask(&self, dir: &Path, args: &[&str], env: &[(String, String)]) -> Option<GitAnswer> {
        if !asks(args) {
            return None;
        }
        let reads_files = matches!(args.first(), Some(&("diff" | "diff-files" | "diff-index" | "status" | "ls-files" | "grep")));
        let filters = if reads_files { self.filters(dir, env)? } else { Vec::new() };
        self.run(dir, args, env, &filters)
    }

    /// Settings that switch off the filters which the configuration names.
    fn filters(&self, dir: &Path, env: &[(String, String)]) -> Option<Vec<String>> {
        if let Ok(known) = self.filters.lock()
            && let Some(found) = known.get(dir)
        {
            return Some(found.clone());
        }
        let pattern = r"^(filter|diff|merge)\..*\.(clean|smudge|process|required|textconv|command|driver)$";
        let answer = self.run(dir, &["config", "-z", "--get-regexp", pattern], env, &[])?;
        let mut off: Vec<String> = Vec::new();
        for entry in answer.stdout.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
            let key = String::from_utf8_lossy(entry.split(|byte| *byte == b'\n').next().unwrap_or(&[])).into_owned();
            if key.contains('=') {
                // Such a name can't be overridden on the command line; nothing is asked here.
                return None;
            }
            let setting = format!("{key}={}", if key.ends_with(".required") { "false" } else { "" });
            if !off.contains(&setting) {
                off.push(setting);
            }
        }
        if let Ok(mut known) = self.filters.lock() {
            known.insert(dir.to_path_buf(), off.clone());
        }
        Some(off)
    }

    fn run(&self, dir: &Path, args: &[&str], env: &[(String, String)], settings: &[String]) -> Option<GitAnswer> {
        let left = self.deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        let mut command = Command::new("git");
        command.current_dir(dir);
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("GIT_") || matches!(&*name, "PAGER" | "EDITOR" | "VISUAL" | "SSH_ASKPASS" | "LESS") {
                command.env_remove(&*name);
            }
        }
        command
            .envs(env.iter().map(|(name, value)| (name, value)))
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_ALLOW_PROTOCOL", "none")
            .env("GIT_SSH_COMMAND", "false")
            .env("GIT_ASKPASS", "false")
            .env("GIT_PAGER", "cat")
            .env("GIT_EDITOR", "false")
            .env("LC_ALL", "C")
            .args(["--no-pager", "--no-optional-locks"]);
        // Pathspecs of ours begin with `:/`; they are the only ones with magic.
        if !args.iter().any(|arg| arg.starts_with(":/")) {
            command.arg("--literal-pathspecs");
        }
        for setting in SETTINGS.iter().copied().chain(settings.iter().map(String::as_str)) {
            command.args(["-c", setting]);
        }
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        self.started.fetch_add(1, Ordering::Relaxed);
        let mut child = command.spawn().ok()?;
        let mut pipe = child.stdout.take()?;
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut out = Vec::new();
            let whole = pipe.by_ref().take(MAX_OUT as u64 + 1).read_to_end(&mut out).is_ok() && out.len() <= MAX_OUT;
            let _ = sender.send(whole.then_some(out));
        });
        let got = receiver.recv_timeout(left).ok().flatten();
        if got.is_none() {
            let _ = child.kill();
        }
        let status = child.wait().ok()?;
        got.map(|stdout| GitAnswer { ok: status.success(), stdout })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_questions_are_asked() {
        for question in [
            &["status"][..],
            &["config", "--get", "x"],
            &["branch", "--list"],
            &["symbolic-ref", "HEAD"],
            &["format-patch", "--stdout", "a"],
        ] {
            assert!(asks(question), "{question:?}");
        }
        for other in [
            &[][..],
            &["commit"],
            &["config", "x", "y"],
            &["branch", "new"],
            &["symbolic-ref", "HEAD", "x"],
            &["format-patch", "a"],
            &["diff", "--output=x"],
            &["diff", "--ext-diff"],
            &["log", "--textconv"],
            &["grep", "-Oless", "x"],
            &["cat-file", "--filters", "x"],
        ] {
            assert!(!asks(other), "{other:?}");
        }
        assert_eq!(Git::new(Duration::ZERO).ask(Path::new("/"), &["status"], &[]), None, "the time is up");
    }
}
