//! What lies around where people are: how far a search goes, and how a path is written in a hint.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::context::Context;
use super::failure::Failure;
use crate::custody::asker::{self, Asker};
use crate::custody::find;
use crate::sys::lock::{self, Lock, LockError};
use crate::sys::{disk, env, shown};
use crate::text::name::AgentId;
use crate::text::{digest, near};
use crate::tree::{card, climb};

/// How long a change waits for another one of its kind.
const PATIENCE: Duration = Duration::from_secs(10);

/// What bounds the search for a body: the root that was named, else the outermost directory up from
/// here, below the home, that is the top of a repository or carries a `.loci`.
#[must_use]
pub fn top(context: &Context, dir: &Path) -> PathBuf {
    if let Some(root) = named_root(context) {
        return context.absolute(&root);
    }
    let home = disk::canonical(&context.home).unwrap_or_else(|_| context.home.clone());
    let inside = |dir: &&Path| **dir != home && !home.starts_with(dir);
    let has = |dir: &Path, name: &str| matches!(disk::look(&dir.join(name)), Ok(Some(_)));
    let marked = climb::up(dir).take_while(inside).filter(|dir| has(dir, ".git") || has(dir, ".loci")).last();
    // Without a repository, people stand in what belongs together: what lies next to a directory below here is near it.
    let here = disk::canonical(&context.cwd).unwrap_or_else(|_| context.cwd.clone());
    let loose = marked.is_none_or(|top| top != here && top.starts_with(&here) && !has(top, ".git"));
    if loose && dir.starts_with(&here) && inside(&&*here) {
        return here;
    }
    marked.unwrap_or(dir).to_owned()
}

fn named_root(context: &Context) -> Option<PathBuf> {
    context.flags.root.clone().or_else(|| context.env.get(env::LOCI_ROOT).map(PathBuf::from))
}

/// The places in and around a directory: below its [`top`], and beside that where it stands in no repository.
#[must_use]
pub fn places(context: &Context, dir: &Path) -> Vec<PathBuf> {
    let top = top(context, dir);
    let mut places = find::places_below(&top);
    if named_root(context).is_none() {
        places.extend(find::beside(&top, &context.home).iter().flat_map(|dir| find::places_below(dir)));
    }
    places
}

/// The lock for changes of one kind about one path: who comes second waits, a while.
///
/// # Errors
/// Where somebody keeps it, or it can't be made.
pub fn hold(context: &Context, what: &str, about: &Path) -> Result<Lock, LockError> {
    use std::os::unix::ffi::OsStrExt as _;
    let name: String = digest::sha256(about.as_os_str().as_bytes()).chars().take(16).collect();
    lock::take(&context.state.join("locks").join(format!("{what}-{name}")), what, PATIENCE)
}

/// The agents that are known in and around here: who lives somewhere, and who owns something. Sorted.
#[must_use]
pub fn agents(context: &Context) -> Vec<String> {
    let of = |place: PathBuf| {
        let lives = find::identity(&place).and_then(Result::ok).map(|card| card.id.to_string());
        let owns = card::owner(&place).and_then(Result::ok).map(|owner| owner.owner.value.to_string());
        lives.into_iter().chain(owns)
    };
    let mut ids: Vec<String> = places(context, &context.cwd).into_iter().flat_map(of).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The agent that a person asks or runs as: its body is the one up from here or that an owner file there names, else
/// the only one of that id in or around here, else the one up from the paths that are asked about. Each verb that takes
/// `--as` for this goes by here: what one of them allows no other refuses.
#[must_use]
pub fn named(context: &Context, agent: AgentId, cwd: &Path, paths: &[PathBuf]) -> Asker {
    let named = asker::named(agent.clone(), [cwd]);
    if named.body.is_some() {
        return named;
    }
    let bound = top(context, cwd);
    let home = disk::canonical(&context.home).unwrap_or_else(|_| context.home.clone());
    // The whole home is not looked through for one body.
    let places = if home.starts_with(&bound) { Vec::new() } else { self::places(context, cwd) };
    let mut bodies = places.into_iter().filter(|place| find::lives(&agent, place));
    match (bodies.next(), bodies.next()) {
        (Some(body), None) => Asker { agent: Some(agent), body: Some(body) },
        _ => asker::named(agent, paths.iter().map(PathBuf::as_path)),
    }
}

/// Says so where an agent that is named is known nowhere around here: it may be mistyped. Nothing is held
/// up by it.
pub fn say_unknown(context: &Context, agent: &str) {
    let known = agents(context);
    if known.iter().all(|one| one != agent) {
        let meant = meant(agent, known.iter().map(String::as_str));
        context.say(&format!("note: no agent {agent} is known in or around here{meant}"));
    }
}

/// An agent that is named has to be known in or around here.
///
/// # Errors
/// Where it lives nowhere here and owns nothing.
pub fn known(context: &Context, agent: &str, what: &str) -> Result<(), Failure> {
    let known = agents(context);
    if known.iter().any(|one| one == agent) {
        return Ok(());
    }
    let meant = meant(agent, known.iter().map(String::as_str));
    Err(Failure::new("asker", format!("failed to {what} as {agent}: no agent {agent} is known in or around here{meant}"))
        .hint("loci tree   # who is"))
}

/// "; did you mean `…`?" where one of some words is near to one that is none of them.
#[must_use]
pub fn meant<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> String {
    near::nearest(word, words).map(|near| format!("; did you mean `{}`?", shown::text(near))).unwrap_or_default()
}

/// A path as a word of a command that somebody will run.
#[must_use]
pub fn word(path: &Path) -> String {
    let text = shown::path(path).to_string();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | ',' | '@' | '%' | ':');
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
