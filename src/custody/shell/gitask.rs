//! Questions to git, and the answers as lists of files. Each is asked once for one command.

use super::engine::{Engine, UNK};
use super::picture::{self, join, split, tidy};
use super::state::Shell;
use super::{GitAnswer, Kind, pattern};
use crate::sys::git::AS_WRITTEN;
use std::borrow::Cow;
use std::rc::Rc;

/// The repository that a git command works on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repo {
    /// The root of the work tree.
    pub(crate) top: String,
    /// The directory that git runs in.
    pub(crate) dir: String,
    /// The repository's own directory.
    pub(crate) git_dir: String,
    /// `GIT_DIR` and its like, as the command sets them.
    pub(crate) env: Vec<(String, String)>,
    /// A linked work tree on this branch.
    pub(crate) own_branch: Option<String>,
    /// The sub-command, for the words of a refusal.
    pub(crate) verb: String,
}

impl Repo {
    /// For a question in the command's own words.
    pub(crate) fn as_written(&self) -> Self {
        let mut repo = self.clone();
        repo.env.push((AS_WRITTEN.0.to_owned(), AS_WRITTEN.1.to_owned()));
        repo
    }
}

/// One line of `git status`.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) index: char,
    pub(crate) work: char,
    pub(crate) path: String,
}

impl Line {
    /// A change to a tracked file.
    pub(crate) fn tracked(&self) -> bool {
        self.index != '?' && self.index != '!'
    }
}

impl Engine<'_> {
    /// Finds the repository of a directory.
    pub(crate) fn repo(&mut self, sh: &Shell, dir: &str, git_dir: Option<String>, work_tree: Option<String>) -> Option<Repo> {
        let mut env = Vec::new();
        for n in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_CEILING_DIRECTORIES"] {
            if let Some(v) = self.var(sh, n).filter(|v| !v.is_empty() && !v.contains(UNK)) {
                env.push((n.to_owned(), v));
            }
        }
        let git_dir = git_dir.or_else(|| env.iter().find(|e| e.0 == "GIT_DIR").map(|e| e.1.clone())).map(|g| join(dir, &g));
        let work_tree = work_tree.or_else(|| env.iter().find(|e| e.0 == "GIT_WORK_TREE").map(|e| e.1.clone())).map(|w| join(dir, &w));
        if let Some(g) = git_dir {
            env.retain(|e| e.0 != "GIT_DIR" && e.0 != "GIT_WORK_TREE");
            env.push(("GIT_DIR".into(), g.clone()));
            let top = work_tree.unwrap_or_else(|| dir.to_owned());
            env.push(("GIT_WORK_TREE".into(), top.clone()));
            let top = self.fs.at(&top, true).path;
            return Some(Repo { top, dir: dir.to_owned(), git_dir: g, env, ..Repo::default() });
        }
        env.retain(|e| e.0 != "GIT_WORK_TREE");
        let at = self.fs.at(dir, true);
        let mut here = at.path;
        loop {
            let g = join(&here, ".git");
            match self.fs.what(&g) {
                Some(Kind::Dir) => {
                    env.extend(work_tree.iter().map(|tree| ("GIT_WORK_TREE".to_owned(), tree.clone())));
                    return Some(Repo {
                        top: work_tree.map_or(here, |w| self.fs.at(&w, true).path),
                        dir: dir.to_owned(),
                        git_dir: g,
                        env,
                        ..Repo::default()
                    });
                }
                Some(Kind::File) => {
                    let t = self.fs.text(&g)?;
                    let real = join(&here, t.trim().strip_prefix("gitdir:")?.trim());
                    let real = tidy(&real);
                    let own_branch = if real.contains("/worktrees/") {
                        self.fs.text(&join(&real, "HEAD")).and_then(|h| h.trim().strip_prefix("ref: refs/heads/").map(str::to_owned))
                    } else {
                        None
                    };
                    env.extend(work_tree.iter().map(|tree| ("GIT_WORK_TREE".to_owned(), tree.clone())));
                    let top = work_tree.map_or_else(|| here.clone(), |tree| self.fs.at(&tree, true).path);
                    // The records of a worktree over another tree write into that one.
                    let own_branch = own_branch.filter(|_| top == here);
                    return Some(Repo { top, dir: dir.to_owned(), git_dir: real, env, own_branch, ..Repo::default() });
                }
                _ => {}
            }
            // a bare repository has no work tree
            if self.fs.what(&join(&here, "HEAD")) == Some(Kind::File) && self.fs.is_dir(&join(&here, "objects")) {
                return Some(Repo { top: String::new(), dir: dir.to_owned(), git_dir: here, env, ..Repo::default() });
            }
            if here.len() <= 1 {
                return None;
            }
            here = split(&here).0.to_owned();
        }
    }

    /// A revision with the names that this command itself has given put back to what they stand for.
    fn renamed(&self, word: &str) -> String {
        if word.starts_with('-') {
            return word.to_owned();
        }
        let one = |w: &str| {
            let end = w.find(['^', '~', '@', ':']).unwrap_or(w.len());
            match self.refs.get(&w[..end]) {
                Some(t) => format!("{t}{}", &w[end..]),
                None => w.to_owned(),
            }
        };
        for sep in ["...", ".."] {
            if let Some((a, b)) = word.split_once(sep) {
                return format!("{}{sep}{}", one(a), one(b));
            }
        }
        one(word)
    }

    /// Asks git.
    pub(crate) fn ask(&mut self, r: &Repo, args: &[&str]) -> Option<Rc<GitAnswer>> {
        if args.iter().any(|a| a.contains(UNK)) || r.dir.contains(UNK) {
            return None;
        }
        let own: Vec<String>;
        let mut args_own: Vec<&str> = Vec::new();
        let args = if self.refs.is_empty() {
            args
        } else {
            own = args.iter().map(|a| self.renamed(a)).collect();
            args_own.extend(own.iter().map(String::as_str));
            &args_own[..]
        };
        let dir = self.fs.at(&r.dir, true);
        if dir.kind != Some(Kind::Dir) {
            return None;
        }
        let key = format!("{}\0{}\0{:?}", dir.path, args.join("\0"), r.env);
        if let Some(a) = self.asked.get(&key) {
            return a.clone();
        }
        let a = self.fs.world().git(std::path::Path::new(&dir.path), args, &r.env).map(Rc::new);
        if a.is_none() {
            // no answer is not the answer that nothing changes, whatever the caller makes of it
            self.unknown("git did not answer", &r.verb);
        }
        self.asked.insert(key, a.clone());
        a
    }

    /// The names of an answer of the `-z` kind.
    pub(crate) fn names(&mut self, r: &Repo, args: &[&str]) -> Option<Vec<String>> {
        let a = self.ask(r, args)?;
        if !a.ok {
            return None;
        }
        Some(
            a.stdout
                .split(|b| *b == 0)
                .filter(|n| !n.is_empty())
                .map(|n| String::from_utf8_lossy(n).trim_start_matches('\n').to_owned())
                .filter(|n| !n.is_empty())
                .collect(),
        )
    }

    /// One line of text.
    pub(crate) fn word(&mut self, r: &Repo, args: &[&str]) -> Option<String> {
        let a = self.ask(r, args)?;
        a.ok.then(|| String::from_utf8_lossy(&a.stdout).trim().to_owned()).filter(|t| !t.is_empty())
    }

    /// The commit that a word names.
    pub(crate) fn commit(&mut self, r: &Repo, rev: &str) -> Option<String> {
        if rev.starts_with('-') {
            return None;
        }
        // a search for text takes all that follows for the text, and finds a commit anyway
        let rev = if rev.starts_with(":/") { rev.to_owned() } else { format!("{rev}^{{commit}}") };
        self.word(r, &["rev-parse", "--verify", "-q", &rev])
    }

    /// `git status`: what is changed; where `others`, also what is untracked and ignored, folded into directories.
    pub(crate) fn status(&mut self, r: &Repo, others: bool) -> Option<Vec<Line>> {
        let args: &[&str] = if others {
            &["status", "--porcelain", "-z", "--untracked-files=normal", "--ignored=traditional", "--ignore-submodules=all", "--no-renames"]
        } else {
            &["status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=all", "--no-renames"]
        };
        let all = self.names(r, args);
        let all = self.told(r, all)?;
        Some(
            all.into_iter()
                .filter_map(|l| {
                    let mut c = l.chars();
                    let (index, work) = (c.next()?, c.next()?);
                    Some(Line { index, work, path: l.get(3..)?.to_owned() })
                })
                .collect(),
        )
    }

    /// Whether git could say at all; notes it where not.
    pub(crate) fn told<T>(&mut self, r: &Repo, answer: Option<T>) -> Option<T> {
        if answer.is_none() {
            self.unknown("git could not say which files change", &r.verb);
        }
        answer
    }
}

/// Pathspecs of a command.
pub(crate) struct Specs {
    yes: Vec<Spec>,
    no: Vec<Spec>,
}

/// One pathspec.
struct Spec {
    /// The path from the root of the work tree, or a pattern.
    path: String,
    /// Whether it is a pattern.
    glob: bool,
    /// Whether large and small letters are the same to it.
    icase: bool,
}

impl Spec {
    /// The path, and another one as this compares them.
    fn pair<'s>(&'s self, path: &'s str) -> (Cow<'s, str>, Cow<'s, str>) {
        if self.icase { (self.path.to_lowercase().into(), path.to_lowercase().into()) } else { ((&self.path).into(), path.into()) }
    }

    /// Whether it names something inside of a folded entry, or the entry itself.
    fn inside(&self, folded: &str) -> bool {
        let (s, folded) = self.pair(folded);
        s == folded || s.strip_prefix(&*folded).is_some_and(|rest| rest.starts_with('/'))
    }
}

impl Specs {
    /// From the words of the command; they are relative to the directory that git runs in.
    pub(crate) fn new(engine: &Engine<'_>, r: &Repo, words: &[String]) -> Self {
        let mut s = Self { yes: Vec::new(), no: Vec::new() };
        let mut left_out = false;
        let mut here = engine.fs.at(&r.dir, true).path;
        if here != r.top && !here.starts_with(&format!("{}/", r.top)) {
            here.clone_from(&r.top);
        }
        for w in words {
            let (mut exclude, mut top, mut literal, mut t) = (false, false, false, w.as_str());
            let (mut icase, mut some) = (engine.git_icase, false);
            if let Some(m) = t.strip_prefix(":(") {
                if let Some((magic, rest)) = m.split_once(')') {
                    exclude = magic.contains("exclude");
                    top = magic.contains("top");
                    literal = magic.contains("literal");
                    icase |= magic.contains("icase");
                    some = magic.contains("attr");
                    t = rest;
                }
            } else {
                while let Some(m) = t.strip_prefix([':', '!', '^']).filter(|_| t.starts_with(':') || exclude) {
                    exclude |= t.starts_with(['!', '^']) || m.starts_with(['!', '^']);
                    t = m;
                    if let Some(m) = t.strip_prefix('/') {
                        top = true;
                        t = m;
                    }
                    if !t.starts_with(['!', '^', ':']) {
                        break;
                    }
                }
            }
            let full = if top { join(&r.top, t) } else { join(&here, t) };
            let tidy_full = tidy(&full);
            // a name through links is the real one
            let real = if pattern::alive(t) || literal { tidy_full } else { engine.fs.at(&tidy_full, false).path };
            let rel = if real == r.top {
                String::new()
            } else {
                real.strip_prefix(&format!("{}/", r.top)).map_or("\0".to_owned(), str::to_owned)
            };
            let item = Spec { path: rel, glob: pattern::alive(t) && !literal, icase };
            match exclude {
                true if some => {} // what has an attribute is not known: it may all stay in
                true => s.no.push(item),
                false => s.yes.push(item),
            }
            left_out |= exclude;
        }
        if s.yes.is_empty() && left_out {
            s.yes.push(Spec { path: String::new(), glob: false, icase: false });
        }
        s
    }

    /// No pathspec was given.
    pub(crate) fn empty(&self) -> bool {
        self.yes.is_empty()
    }

    fn one(spec: &Spec, path: &str) -> bool {
        let (s, path) = spec.pair(path);
        s.is_empty()
            || path == s
            || path.strip_prefix(&*s).is_some_and(|r| r.starts_with('/'))
            || spec.glob && (pattern::matches(&s, &path) || path.match_indices('/').any(|(i, _)| pattern::matches(&s, &path[..i])))
    }

    /// Whether a path is among them.
    pub(crate) fn has(&self, path: &str) -> bool {
        let p = path.trim_end_matches('/');
        (self.yes.is_empty() || self.yes.iter().any(|s| Self::one(s, p))) && !self.no.iter().any(|s| Self::one(s, p))
    }

    /// Those that name one file and no directory or pattern.
    pub(crate) fn exact(&self, engine: &Engine<'_>, r: &Repo) -> Vec<String> {
        self.yes
            .iter()
            .filter(|s| !s.glob && !s.icase && !s.path.is_empty())
            .filter(|s| engine.fs.at(&join(&r.top, &s.path), false).kind != Some(Kind::Dir))
            .map(|s| s.path.clone())
            .filter(|p| self.has(p))
            .collect()
    }

    /// Whether one of them names the folded entry itself or something inside of it.
    pub(crate) fn yes_inside(&self, folded: &str) -> bool {
        let f = folded.trim_end_matches('/');
        self.yes.iter().any(|s| s.inside(f))
    }

    /// Whether one of them names a directory above or at a folded entry, or something inside of it.
    pub(crate) fn touches(&self, folded: &str) -> bool {
        let f = folded.trim_end_matches('/');
        self.has(folded) || self.yes.iter().any(|s| s.inside(f))
    }
}

/// The last name of an address, as `git clone` takes it for the directory.
pub(crate) fn clone_name(url: &str) -> String {
    let u = url.trim_end_matches('/').trim_end_matches("/.git");
    let n = picture::split(u).1;
    let n = n.rsplit(':').next().unwrap_or(n);
    n.trim_end_matches(".git").trim_end_matches(".bundle").to_owned()
}
