//! What a branch of git changes, file by file. Only objects are asked for: no program that a repository
//! names is run by that (no external diff, no filter, no hook, no file system monitor).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::custody::changes::FileChange;
use crate::sys::process;
use crate::sys::program::Program;
use crate::sys::{env, shown};
use crate::tree::worktree;

/// How many files a branch may change.
const MAX_FILES: usize = 500;

/// The largest file.
const MAX_FILE: usize = 2 << 20;

/// How long one question may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What was found.
pub(super) struct Found {
    pub(super) files: Vec<FileChange>,
    /// What can't be handed over, in words.
    pub(super) left: Vec<String>,
}

struct Git<'a> {
    program: PathBuf,
    cwd: &'a Path,
    env: BTreeMap<OsString, OsString>,
}

impl Git<'_> {
    fn ask(&self, args: &[&str], what: &str) -> Result<Vec<u8>, Failure> {
        let fixed = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-pager", "--no-replace-objects"];
        let program = Program {
            file: &self.program,
            args: fixed.iter().chain(args).map(OsString::from).collect(),
            cwd: self.cwd,
            env: self.env.clone(),
            stdin: b"",
            limit: PATIENCE,
            keep: 16 << 20,
        };
        let failed = |why: String| Failure::new("git", format!("failed to {what}: {why}"));
        let done = program.run().map_err(|error| failed(error.to_string()))?;
        if done.code != Some(0) {
            let words = String::from_utf8_lossy(&done.stderr).lines().next().unwrap_or("git said nothing").to_owned();
            return Err(failed(if done.timed_out { "git took too long".to_owned() } else { words }));
        }
        Ok(done.stdout)
    }

    fn line(&self, args: &[&str], what: &str) -> Result<String, Failure> {
        Ok(String::from_utf8_lossy(&self.ask(args, what)?).trim_end().to_owned())
    }
}

/// The files that a branch changes since it and HEAD were one.
pub(super) fn files(context: &Context, branch: &str) -> Result<Found, Failure> {
    let path = context.env.get(env::PATH).unwrap_or(OsStr::new("/usr/bin:/bin"));
    let program = process::find_program("git", path).ok_or_else(|| Failure::new("git", "failed to find git in PATH"))?;
    let mut vars = BTreeMap::new();
    for (name, value) in [("GIT_OPTIONAL_LOCKS", "0"), ("GIT_NO_LAZY_FETCH", "1"), ("GIT_TERMINAL_PROMPT", "0"), ("LC_ALL", "C")] {
        vars.insert(name.into(), value.into());
    }
    vars.insert(env::PATH.into(), path.to_owned());
    vars.extend(context.env.get(env::HOME).map(|home| (env::HOME.into(), home.to_owned())));
    // A branch that a separate worktree is on leaves the HEAD of the shared checkout, and is about the files there.
    let shared = worktree::around(&context.cwd).map(|linked| linked.shared);
    let git = Git { program, cwd: shared.as_deref().unwrap_or(&context.cwd), env: vars };
    let name = shown::text(branch).to_string();
    let top = git.ask(&["rev-parse", "--show-toplevel"], "find the work tree")?;
    let top = PathBuf::from(OsStr::from_bytes(top.strip_suffix(b"\n").unwrap_or(&top)));
    let tip = git.line(
        &["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{branch}^{{commit}}")],
        &format!("find the branch `{name}`"),
    )?;
    let base = git.line(&["merge-base", "HEAD", &tip], &format!("find where `{name}` left HEAD"))?;
    let raw = git.ask(&["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", &base, &tip], "compare")?;
    let mut found = Found { files: Vec::new(), left: Vec::new() };
    let mut fields = raw.split(|byte| *byte == 0);
    while let (Some(head), Some(file)) = (fields.next().filter(|head| !head.is_empty()), fields.next()) {
        let head = String::from_utf8_lossy(head).into_owned();
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let &[was_mode, will_mode, was, will, _] = words.as_slice() else {
            return Err(Failure::new("git", "failed to read what git said"));
        };
        let path = top.join(OsStr::from_bytes(file));
        if found.files.len() >= MAX_FILES {
            return Err(Failure::new("branch", format!("failed to delegate: `{name}` changes more than {MAX_FILES} files")));
        }
        let regular = |mode: &str| matches!(mode, "000000" | "100644" | "100755");
        if !regular(was_mode) || !regular(will_mode) {
            found.left.push(format!("{} (a link or a submodule)", context.shown(&path)));
            continue;
        }
        let content = |id: &str, mode: &str| -> Result<Option<Vec<u8>>, Failure> {
            if mode == "000000" { Ok(None) } else { git.ask(&["cat-file", "blob", id], "read a file of the branch").map(Some) }
        };
        let (old, new) = (content(was, was_mode)?, content(will, will_mode)?);
        if [&old, &new].iter().any(|side| side.as_ref().is_some_and(|data| data.len() > MAX_FILE)) {
            found.left.push(format!("{} (larger than 2 MiB)", context.shown(&path)));
            continue;
        }
        let mode = (was_mode != will_mode && new.is_some()).then_some(if will_mode == "100755" { 0o755 } else { 0o644 });
        found.files.push(FileChange { path, mode, was: old, will: new });
    }
    Ok(found)
}
