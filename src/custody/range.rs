//! Which files a range of commits touches: git is asked, and nothing that the repository names is run.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::sys::disk;
use crate::sys::git::Git;
use crate::sys::shown;
use crate::tree::climb;

/// How long git may take for all questions.
const BUDGET: Duration = Duration::from_secs(60);

/// The longest name of a commit.
const MAX_NAME: usize = 1024;

/// A range of commits, and what it touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    /// The top of the work tree (real).
    pub top: PathBuf,
    /// Where the range begins: the commit, exclusive.
    pub base: String,
    /// Where it ends.
    pub head: String,
    /// The files, sorted; of a renamed one both names.
    pub paths: Vec<PathBuf>,
}

/// Why it can't be said.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// The words are no range.
    #[error("read `{}` as a range: it has to be BASE..HEAD", shown::text(.0))]
    Words(String),
    /// There is no repository.
    #[error("find a repository up from {}", shown::path(.0))]
    NoRepository(PathBuf),
    /// Git's settings move the work tree elsewhere, where other owners are.
    #[error("judge the range: git takes {} for the work tree, not {}", shown::path(.0), shown::path(.1))]
    Elsewhere(PathBuf, PathBuf),
    /// No such commit here.
    #[error("find the commit `{}`", shown::text(.0))]
    NoCommit(String),
    /// The two have no history in common, as far as it is here.
    #[error("find where the two branched off: the history that is here does not reach so far")]
    NoBase,
    /// Git is missing, failed, took too long, or said too much.
    #[error("get the answer of `git {0}`: it is missing, failed, took longer than a minute or said more than 4 MiB")]
    Git(&'static str),
}

/// What the commits in `BASE..HEAD` touch, seen from a directory: each of them by itself, and all of them
/// together against the place where they branched off (a merge that drops what came in shows only there).
///
/// # Errors
/// As [`RangeError`] says.
pub fn touched(dir: &Path, range: &str) -> Result<Touched, RangeError> {
    let words = || RangeError::Words(range.to_owned());
    let (base, head) = range.split_once("...").or_else(|| range.split_once("..")).ok_or_else(words)?;
    let name = |name: &str| name.len() <= MAX_NAME && !name.starts_with('-') && !name.contains("..") && !name.contains('\0');
    if base.is_empty() || !name(base) || !name(head) {
        return Err(words());
    }
    let head = if head.is_empty() { "HEAD" } else { head };
    let nowhere = || RangeError::NoRepository(dir.to_owned());
    let dir = disk::canonical(dir).map_err(|_| nowhere())?;
    let top = climb::nearest(&dir, |dir| !matches!(disk::look(&dir.join(".git")), Ok(None))).ok_or_else(nowhere)?.to_owned();
    let asking = Asking { git: Git::new(BUDGET), top };
    let said = asking.line("rev-parse", &["rev-parse", "--show-toplevel"])?.ok_or_else(nowhere)?;
    let said = PathBuf::from(std::ffi::OsStr::from_bytes(&said));
    if disk::canonical(&said).ok().as_ref() != Some(&asking.top) {
        return Err(RangeError::Elsewhere(said, asking.top));
    }
    let (base, head) = (asking.commit(base)?, asking.commit(head)?);
    let fork = asking.line("merge-base", &["merge-base", &base, &head])?.ok_or(RangeError::NoBase)?;
    let fork = String::from_utf8_lossy(&fork).into_owned();
    const HOW: [&str; 5] = ["-z", "--name-only", "--no-renames", "--no-relative", "--ignore-submodules=none"];
    let mut paths = BTreeSet::new();
    let together = [&["diff-tree", "-r"], HOW.as_slice(), &[fork.as_str(), head.as_str()]].concat();
    asking.names("diff-tree", &together, &mut paths)?;
    let commits = format!("{base}..{head}");
    // `-c`: of a merge, what is as it is on none of its sides.
    let each = [&["log", "-c", "--format="], HOW.as_slice(), &[commits.as_str()]].concat();
    asking.names("log", &each, &mut paths)?;
    let paths = paths.into_iter().map(|name| asking.top.join(std::ffi::OsStr::from_bytes(&name))).collect();
    Ok(Touched { top: asking.top, base, head, paths })
}

struct Asking {
    git: Git,
    top: PathBuf,
}

impl Asking {
    fn ask(&self, what: &'static str, args: &[&str]) -> Result<(bool, Vec<u8>), RangeError> {
        // Grafts would let a file in `.git` say what the history is.
        let env = [("GIT_GRAFT_FILE".to_owned(), "/dev/null".to_owned())];
        let answer = self.git.ask(&self.top, args, &env).ok_or(RangeError::Git(what))?;
        Ok((answer.ok, answer.stdout))
    }

    /// One line; `None` where git says no.
    fn line(&self, what: &'static str, args: &[&str]) -> Result<Option<Vec<u8>>, RangeError> {
        let (ok, mut text) = self.ask(what, args)?;
        if text.ends_with(b"\n") {
            text.pop();
        }
        Ok((ok && !text.is_empty()).then_some(text))
    }

    fn commit(&self, name: &str) -> Result<String, RangeError> {
        let peeled = format!("{name}^{{commit}}");
        let found = self.line("rev-parse", &["rev-parse", "--verify", "--quiet", "--end-of-options", &peeled])?;
        let found = found.and_then(|found| String::from_utf8(found).ok());
        found
            .filter(|id| id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .ok_or_else(|| RangeError::NoCommit(name.to_owned()))
    }

    fn names(&self, what: &'static str, args: &[&str], into: &mut BTreeSet<Vec<u8>>) -> Result<(), RangeError> {
        let (ok, text) = self.ask(what, args)?;
        if !ok {
            return Err(RangeError::Git(what));
        }
        into.extend(text.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec));
        Ok(())
    }
}
