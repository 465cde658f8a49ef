//! What a call would do with its grounds: acts that a tool names, and those that are read out of commands.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use super::act::{Act, ActKind};
use super::asker::Asker;
use super::ruling::{ActRuling, Ruling, Surroundings, Verdict, Who, Why};
use super::shell::{self, Found, Ground, Input, World, gitout};
use super::wall::Walled;
use super::{judge, rule, worktree};
use crate::sys::{disk, shown};
use crate::tree::{climb, real};

/// How many reasons for "can't know" are kept for one command.
const MAX_UNKNOWN: usize = 8;

/// What a call would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deeds {
    /// Its acts. What can't be known is an act of the kind [`ActKind::Run`], and `by` says why.
    pub found: Vec<Found>,
    /// Uncommitted changes that it would take into git's index.
    pub staged: Vec<PathBuf>,
    /// What to do instead, where nothing is refused by path (a `git pull` of what was not fetched).
    pub way_out: Option<String>,
}

impl From<Vec<Act>> for Deeds {
    fn from(acts: Vec<Act>) -> Self {
        let found = acts.into_iter().map(|act| Found { act, ground: Ground::Plain, by: String::new() }).collect();
        Self { found, ..Self::default() }
    }
}

impl Deeds {
    /// Reads one command, and adds what it would do. Where the reader fails, that is something that
    /// can't be known.
    pub fn read(&mut self, input: &Input<'_>, world: &dyn World) {
        // A shell that is started somewhere stands in the directory, not in the name it was reached by.
        let cwd = real::real(input.cwd, true).path;
        let input = &Input { cwd: &cwd, ..*input };
        // After a panic nothing of what the reader had is looked at.
        let Ok(reading) = catch_unwind(AssertUnwindSafe(|| shell::read(input, world))) else {
            self.unknown(input.cwd, "the reader of commands failed at it; please report it".to_owned());
            return;
        };
        self.found.extend(reading.acts);
        self.staged.extend(reading.staged);
        self.way_out = self.way_out.take().or(reading.way_out);
        for unknown in reading.unknown.into_iter().take(MAX_UNKNOWN) {
            let word = if unknown.word.is_empty() { String::new() } else { format!(": {}", unknown.word) };
            self.unknown(input.cwd, format!("{}{word}", unknown.why));
        }
    }

    fn unknown(&mut self, cwd: &Path, why: String) {
        let act = Act { kind: ActKind::Run, path: cwd.to_owned(), follow: true, below: false };
        self.found.push(Found { act, ground: Ground::Plain, by: why });
    }

    /// Rules on all of it: as [`rule`], with what the grounds excuse, the words of the command that
    /// did it, and the way out.
    #[must_use]
    pub fn rule(&self, asker: &Asker, surroundings: &Surroundings) -> Ruling {
        let acts: Vec<Act> = self.found.iter().map(|found| found.act.clone()).collect();
        let mut ruling = rule(&acts, asker, surroundings);
        for (act, found) in ruling.acts.iter_mut().zip(&self.found) {
            act.by.clone_from(&found.by);
            excuse(act, &found.ground);
        }
        self.say_way_out(&mut ruling);
        ruling.verdict = judge::strictest(&ruling.acts);
        if let Some(way_out) = &self.way_out
            && self.staged.is_empty()
        {
            ruling.notes.push(format!("what would arrive can't be known before it is fetched; do instead: {way_out}"));
        }
        ruling.notes.extend(self.others_staged(asker, surroundings));
        ruling
    }

    /// Puts into the way out of a git command which directories it has to leave alone.
    fn say_way_out(&self, ruling: &mut Ruling) {
        let mut theirs: BTreeMap<&str, BTreeSet<PathBuf>> = BTreeMap::new();
        for (act, found) in ruling.acts.iter().zip(&self.found).filter(|(act, _)| act.way_out.is_some()) {
            if let Ground::Git { verb, .. } = &found.ground {
                theirs.entry(verb).or_default().insert(left_out(act));
            }
        }
        let specs: BTreeMap<&str, Option<String>> = theirs.into_iter().map(|(verb, dirs)| (verb, pathspecs(&dirs))).collect();
        for (act, found) in ruling.acts.iter_mut().zip(&self.found) {
            if let (Some(text), Ground::Git { verb, .. }) = (&act.way_out, &found.ground) {
                let owner = act.owner.as_ref().map_or("OWNER", |owner| owner.who.name());
                act.way_out = Some(named(text, specs.get(verb.as_str()).and_then(Option::as_deref), owner));
            }
        }
    }

    /// Somebody else's uncommitted changes are taken along in a commit, which changes no file of theirs:
    /// it is said, with the words that leave them out.
    fn others_staged(&self, asker: &Asker, surroundings: &Surroundings) -> Option<String> {
        if self.staged.is_empty() {
            return None;
        }
        let act = |path: &PathBuf| Act { kind: ActKind::Write, path: path.clone(), follow: false, below: false };
        let ruling = rule(&self.staged.iter().map(act).collect::<Vec<_>>(), asker, surroundings);
        let mut theirs = ruling.refused();
        let first = theirs.next()?;
        let more = theirs.count();
        let who = first.owner.as_ref().map_or("somebody", |owner| owner.who.name());
        let and = if more == 0 { String::new() } else { format!(" and {more} more") };
        let dir = first.owner.as_ref().map_or(first.path(), |owner| &owner.dir);
        Some(format!(
            "this stages {who}'s uncommitted {}{and}; stage only your own: git add -A -- . ':(exclude,top){}'",
            shown::path(first.path()),
            shown::path(below_root(dir))
        ))
    }
}

/// What a command has to leave alone for one refused act: the owner's directory, or the file alone where it is the
/// human's.
fn left_out(act: &ActRuling) -> PathBuf {
    act.owner.as_ref().filter(|owner| matches!(owner.who, Who::Agent(_))).map_or(act.path(), |owner| &owner.dir).to_owned()
}

/// How many directories a way out names.
const MAX_LEFT_OUT: usize = 4;

/// The pathspecs that leave directories out; `None` where one of them is the whole work tree.
fn pathspecs(dirs: &BTreeSet<PathBuf>) -> Option<String> {
    // What lies in a directory that is left out is left out with it.
    let outermost = dirs.iter().filter(|dir| climb::up(dir).skip(1).all(|above| !dirs.contains(above)));
    let named: Vec<&Path> = outermost.take(MAX_LEFT_OUT).map(|dir| below_root(dir)).collect();
    if named.iter().any(|dir| dir.is_absolute()) {
        return None;
    }
    let specs: Vec<String> = named.iter().map(|dir| format!("':(exclude,top){}'", shown::path(dir))).collect();
    Some(format!("{}{}", specs.join(" "), if dirs.len() > MAX_LEFT_OUT { " …" } else { "" }))
}

/// A way out with what it leaves alone. Where all of the work tree is somebody's, nothing is left to do oneself.
fn named(text: &str, specs: Option<&str>, owner: &str) -> String {
    match specs {
        None if text.contains(gitout::BUT) => format!("all of it is theirs: loci delegate {owner} --reads PATH --idea TEXT"),
        specs => text.replace(gitout::BUT, specs.unwrap_or_default()).replace("OWNER", owner),
    }
}

/// A directory as a pathspec from the top of its work tree names it, where that is known.
fn below_root(dir: &Path) -> &Path {
    let top = climb::nearest(dir, |dir| !matches!(disk::look(&dir.join(".git")), Ok(None)));
    top.and_then(|top| dir.strip_prefix(top).ok()).filter(|rest| !rest.as_os_str().is_empty()).unwrap_or(dir)
}

/// What the ground of an act makes of its ruling. The wall stands whatever brings a change; an agent's
/// place takes what arrives from upstream, and is a copy in a separate worktree.
fn excuse(act: &mut ActRuling, ground: &Ground) {
    let agents = act.verdict == Verdict::Refuse
        && matches!(act.why, Why::Owned | Why::Below(_))
        && act.owner.as_ref().is_some_and(|owner| matches!(owner.who, Who::Agent(_)));
    match ground {
        Ground::Git { way_out, .. } if act.verdict == Verdict::Refuse => act.way_out.clone_from(way_out),
        Ground::Arriving if agents => {
            act.verdict = Verdict::Allow;
            act.why = Why::Arriving;
        }
        Ground::OwnWorktree { .. }
            if agents && act.why == Why::Owned && act.owner.as_ref().is_some_and(|owner| worktree::is_copy(&owner.dir)) =>
        {
            act.verdict = Verdict::Allow;
            act.why = Why::Worktree;
        }
        // git takes the worktree away as a whole: bodies in it are copies as well
        Ground::OwnWorktree { .. }
            if act.verdict == Verdict::Refuse && matches!(act.why, Why::Below(_)) && worktree::only_copies(act.path()) =>
        {
            act.verdict = Verdict::Allow;
            act.why = Why::Worktree;
        }
        Ground::Copied { from } if act.verdict == Verdict::Refuse && comes_along(act, from) => {
            act.verdict = Verdict::Allow;
            act.why = Why::Copy;
        }
        Ground::Copied { .. } | Ground::Plain | Ground::Git { .. } | Ground::Arriving | Ground::OwnWorktree { .. } => {}
    }
}

/// Whether a copy of a whole place takes its machinery along, unchanged, into a directory that is not
/// there yet: that claims nothing which anybody had, and lets nobody be another.
fn comes_along(act: &ActRuling, from: &Path) -> bool {
    let named = matches!(
        act.why,
        Why::Wall(Walled::OwnerFile | Walled::Identity | Walled::Hooks | Walled::Clock | Walled::Memory | Walled::Harness(_))
    );
    let path = act.path();
    let absent = |dir: &&Path| matches!(disk::look(dir), Ok(None));
    // The topmost directory that the copy makes; the machinery has to stand below it.
    let Some(new) = climb::up(path).take_while(absent).last() else { return false };
    let Ok(below) = path.strip_prefix(new) else { return false };
    let tail: PathBuf = below.iter().skip_while(|name| !name.as_encoded_bytes().starts_with(b".")).collect();
    named && !tail.as_os_str().is_empty() && from.ends_with(&tail)
}
