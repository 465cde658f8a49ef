//! Asking git without letting the repository run anything: the one place that starts git for a question.
//!
//! What a repository can name: a file system monitor, hooks, an external diff, text converters, clean
//! and smudge filters, a pager, aliases, ssh and credential helpers, gpg, a lazy fetch from a promisor
//! remote. All of them are switched off here, by the command line, which beats every configuration
//! file. Filters have free names, so these are read first, from the configuration, which runs nothing.
//! Nothing is written: no optional locks, and no question makes an object.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::program::Program;

/// The most bytes of an answer.
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

/// Beside a question: its pathspecs are those that somebody wrote for git, with patterns and magic.
pub const AS_WRITTEN: (&str, &str) = ("GIT_LITERAL_PATHSPECS", "0");

/// Sub-commands that look at the work tree, and would run filters for it.
const LOOKS: &[&str] = &["diff", "diff-files", "diff-index", "status", "ls-files", "grep"];

/// Settings that keep git from running programs and from writing.
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

/// Variables with the same purpose.
const VARIABLES: &[(&str, &str)] = &[
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_ASKPASS", "false"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "false"),
    ("LC_ALL", "C"),
];

/// What git said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Whether it exited with 0.
    pub ok: bool,
    /// What it printed, whole.
    pub stdout: Vec<u8>,
}

/// Asks git until a time is up.
#[derive(Debug)]
pub struct Git {
    deadline: Instant,
    env: BTreeMap<OsString, OsString>,
    filters: RefCell<HashMap<PathBuf, Option<Vec<String>>>>,
    started: Cell<u32>,
}

impl Git {
    /// One that answers until `budget` is used up.
    #[must_use]
    pub fn new(budget: Duration) -> Self {
        let other = |name: &OsString| {
            let name = name.to_string_lossy();
            !name.starts_with("GIT_") && !matches!(&*name, "PAGER" | "EDITOR" | "VISUAL" | "SSH_ASKPASS" | "LESS")
        };
        Self {
            deadline: Instant::now() + budget,
            env: std::env::vars_os().filter(|(name, _)| other(name)).collect(),
            filters: RefCell::default(),
            started: Cell::new(0),
        }
    }

    /// How many processes were started.
    #[must_use]
    pub fn started(&self) -> u32 {
        self.started.get()
    }

    /// Asks in a directory; `env` holds `GIT_DIR` and its like, which the question is about. `None`
    /// where the question is none that only asks, git is missing, the answer is too long, or the time
    /// is up.
    #[must_use]
    pub fn ask(&self, dir: &Path, args: &[&str], env: &[(String, String)]) -> Option<Answer> {
        let verb = args.first().filter(|_| only_asks(args))?;
        let filters = if LOOKS.contains(verb) { self.filters(dir, env)? } else { Vec::new() };
        self.run(dir, args, env, &filters)
    }

    /// Settings that switch off the filters which the configuration names.
    fn filters(&self, dir: &Path, env: &[(String, String)]) -> Option<Vec<String>> {
        if let Some(known) = self.filters.borrow().get(dir).filter(|_| env.is_empty()) {
            return known.clone();
        }
        let names = r"^(filter|diff|merge)\..*\.(clean|smudge|process|required|textconv|command|driver)$";
        let found = self.run(dir, &["config", "-z", "--get-regexp", names], env, &[]).and_then(|answer| switched_off(&answer.stdout));
        if env.is_empty() {
            self.filters.borrow_mut().insert(dir.to_owned(), found.clone());
        }
        found
    }

    fn run(&self, dir: &Path, args: &[&str], env: &[(String, String)], settings: &[String]) -> Option<Answer> {
        let limit = self.deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        let mut words: Vec<OsString> = vec!["--no-pager".into(), "--no-optional-locks".into()];
        // Pathspecs that begin with `:/` are ours, and the only ones of ours with magic.
        let as_written = env.iter().any(|(name, _)| name == AS_WRITTEN.0);
        if !as_written && !args.iter().any(|arg| arg.starts_with(":/")) {
            words.push("--literal-pathspecs".into());
        }
        for setting in SETTINGS.iter().copied().chain(settings.iter().map(String::as_str)) {
            words.extend(["-c".into(), setting.into()]);
        }
        words.extend(args.iter().map(OsString::from));
        let mut all = self.env.clone();
        all.extend(env.iter().map(|(name, value)| (name.into(), value.into())));
        all.extend(VARIABLES.iter().map(|(name, value)| (name.into(), value.into())));
        self.started.set(self.started.get() + 1);
        let program = Program { file: Path::new("git"), args: words, cwd: dir, env: all, stdin: b"", limit, keep: MAX_OUT + 1 };
        let done = program.run().ok()?;
        (!done.timed_out && done.stdout.len() <= MAX_OUT).then(|| Answer { ok: done.code == Some(0), stdout: done.stdout })
    }
}

/// Whether a sub-command with these words only asks.
fn only_asks(args: &[&str]) -> bool {
    let Some((verb, rest)) = args.split_first() else { return false };
    let operands = rest.iter().filter(|arg| !arg.starts_with('-')).count();
    let listing = match *verb {
        // `branch NAME` and `symbolic-ref A B` would write.
        "branch" => operands == 0,
        "symbolic-ref" => operands <= 1,
        "format-patch" => args.contains(&"--stdout"),
        "config" => rest.iter().any(|arg| matches!(*arg, "--get" | "--get-regexp" | "--list" | "-l" | "--get-all")),
        verb => QUESTIONS.contains(&verb),
    };
    let runs = |arg: &&str| {
        ["--output", "--ext-diff", "--textconv", "--open-files", "--filters"].iter().any(|flag| arg.starts_with(flag))
            || (*verb == "grep" && arg.starts_with("-O"))
    };
    listing && !rest.iter().any(runs)
}

/// Settings against the filters and drivers that a listing of the configuration names; `None` where a
/// name can't be set on the command line.
fn switched_off(listing: &[u8]) -> Option<Vec<String>> {
    let mut settings = Vec::new();
    for entry in listing.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let key = String::from_utf8_lossy(entry.split(|byte| *byte == b'\n').next().unwrap_or_default()).into_owned();
        if key.contains('=') {
            return None;
        }
        let setting = format!("{key}={}", if key.ends_with(".required") { "false" } else { "" });
        if !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    Some(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_write_or_run_is_no_question() {
        for words in ["diff --name-only", "branch --list", "symbolic-ref HEAD", "config --get x.y", "format-patch --stdout a..b"] {
            assert!(only_asks(&words.split(' ').collect::<Vec<_>>()), "{words}");
        }
        for words in [
            "checkout main",
            "branch new",
            "symbolic-ref HEAD refs/heads/x",
            "config x.y z",
            "format-patch a..b",
            "diff --output=x",
            "grep -Oless x",
            "show --textconv x",
            "cat-file --filters x",
        ] {
            assert!(!only_asks(&words.split(' ').collect::<Vec<_>>()), "{words}");
        }
    }

    #[test]
    fn a_filter_is_switched_off_by_its_name() {
        let listing = b"filter.a.clean\nsh -c x\0filter.a.required\ntrue\0";
        assert_eq!(switched_off(listing), Some(vec!["filter.a.clean=".to_owned(), "filter.a.required=false".to_owned()]));
        assert_eq!(switched_off(b"filter.a=b.clean\nx\0"), None);
    }
}
