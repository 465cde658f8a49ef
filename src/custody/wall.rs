//! The wall: what only a person writes, whoever asks.
//!
//! The table of names in `rows.rs`, matched against real paths; pure. Two kinds of hits: a path *in* the wall, and
//! a path that *covers* it (renaming `.claude` away takes the settings in it along).

mod rows;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use globset::GlobBuilder;

use super::act::{Act, ActKind};
use rows::{CLAUDE, FIRST_LETTERS, ROWS, Row};
pub(super) use rows::{POLICY, below_home, rows};

/// What part of the machinery a path belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Walled {
    /// `.loci/owner.md`.
    OwnerFile,
    /// `.loci/agent.md`.
    Identity,
    /// `.loci/hooks/`.
    Hooks,
    /// `.loci-clock/`.
    Clock,
    /// `.loci/memory/` of any body.
    Memory,
    /// A file that connects a harness to its hooks, or could switch them off.
    Harness(&'static str),
    /// `~/.loci/`.
    Policy,
    /// The state folder.
    State,
    /// A `wall:` glob of the settings file.
    Glob,
}

impl Walled {
    /// What it is, for a sentence that begins with the path: "… is WHAT".
    #[must_use]
    pub fn what(self) -> String {
        match self {
            Self::OwnerFile => "an owner file".to_owned(),
            Self::Identity => "the identity file of an agent".to_owned(),
            Self::Hooks => "a folder of hooks".to_owned(),
            Self::Clock => "part of the clock's files".to_owned(),
            Self::Memory => "an agent's memory, which only loci's own verbs write".to_owned(),
            Self::Harness(name) => format!("part of {name}'s settings, which connect its hooks"),
            Self::Policy => "loci's own policy".to_owned(),
            Self::State => "loci's own state".to_owned(),
            Self::Glob => "named by `wall:` in loci's settings".to_owned(),
        }
    }
}

/// Where the machine's own folders are.
#[derive(Debug, Clone, Copy)]
pub struct Grounds<'a> {
    /// The home that holds the registry (real).
    pub home: &'a Path,
    /// The registry, `.loci` in that home, where it really is.
    pub registry: &'a Path,
    /// The user's own home (real).
    pub user_home: &'a Path,
    /// The state folder (real).
    pub state: &'a Path,
    /// `wall:` globs.
    pub globs: &'a [String],
    /// Whether the asker's body is the home itself.
    pub at_home: bool,
    /// Whether the disk folds case there.
    pub folds: bool,
}

fn same(a: &OsStr, b: &str, folds: bool) -> bool {
    if folds { a.to_str().is_some_and(|a| a.eq_ignore_ascii_case(b)) } else { a == b }
}

/// Whether `names` follow each other in `parts`, ending there or going on below where `all` is set.
fn in_row(row: &Row, parts: &[&OsStr], folds: bool) -> bool {
    let fits = |window: &[&OsStr]| window.iter().zip(row.names).all(|(part, name)| same(part, name, folds));
    if row.all {
        parts.windows(row.names.len()).any(fits)
    } else {
        parts.len().checked_sub(row.names.len()).and_then(|from| parts.get(from..)).is_some_and(fits)
    }
}

fn parts(path: &Path) -> Vec<&OsStr> {
    path.components().filter_map(|part| if let std::path::Component::Normal(name) = part { Some(name) } else { None }).collect()
}

/// Whether a row of the wall may fit a path at all, by the first letters of its names alone: most paths have none of them.
fn may_fit(parts: &[&OsStr]) -> bool {
    let begins = |part: &&OsStr| part.as_encoded_bytes().first().is_some_and(|first| FIRST_LETTERS.contains(&first.to_ascii_lowercase()));
    parts.iter().any(begins)
}

/// Whether a real path is in the wall.
#[must_use]
pub fn inside(real: &Path, grounds: &Grounds<'_>) -> Option<Walled> {
    let parts = parts(real);
    if may_fit(&parts)
        && let Some(row) = ROWS.iter().find(|row| in_row(row, &parts, grounds.folds))
    {
        return Some(row.what);
    }
    if real == grounds.user_home.join(".claude.json") {
        return Some(CLAUDE);
    }
    let registry = [&grounds.home.join(".loci"), grounds.registry].iter().find_map(|dir| real.strip_prefix(dir).ok());
    if let Some(rest) = registry {
        let first = rest.iter().next();
        let policy = first.is_some_and(|first| POLICY.iter().any(|name| same(first, name, grounds.folds)));
        if policy || (!grounds.at_home && first.is_some()) {
            return Some(Walled::Policy);
        }
    }
    if real.starts_with(grounds.state) {
        return Some(Walled::State);
    }
    let named = |glob: &String| {
        let matcher = GlobBuilder::new(glob).literal_separator(true).build();
        matcher.is_ok_and(|glob| glob.compile_matcher().is_match(real))
    };
    grounds.globs.iter().any(named).then_some(Walled::Glob)
}

/// Whether an act takes away, moves or replaces a whole path.
#[must_use]
pub fn takes(act: &Act) -> bool {
    act.below || matches!(act.kind, ActKind::Remove | ActKind::Rename | ActKind::Link)
}

/// What an act would have to leave alone if it takes away, moves or replaces a whole path: wall
/// items that would go with it. Whoever calls looks which of them exist; with `true` the item counts
/// whether it exists or not (what is moved or linked in under such a name brings its own).
#[must_use]
pub fn covered(real: &Path, act: &Act, grounds: &Grounds<'_>) -> Vec<(PathBuf, Walled, bool)> {
    if !takes(act) {
        return Vec::new();
    }
    let mut found: Vec<(PathBuf, Walled, bool)> = Vec::new();
    let registry = grounds.registry.to_owned();
    for (path, what) in
        [(grounds.home.join(".loci"), Walled::Policy), (registry, Walled::Policy), (grounds.state.to_owned(), Walled::State)]
    {
        if path.starts_with(real) {
            found.push((path, what, false));
        }
    }
    let parts = parts(real);
    for row in ROWS {
        for taken in 1..row.names.len() {
            let (head, rest) = row.names.split_at(taken);
            let ends = parts
                .len()
                .checked_sub(taken)
                .and_then(|from| parts.get(from..))
                .is_some_and(|window| window.iter().zip(head).all(|(part, name)| same(part, name, grounds.folds)));
            if ends {
                let item = rest.iter().fold(real.to_owned(), |path, name| path.join(name));
                let own_name = head.first().is_some_and(|name| name.starts_with('.') && !matches!(*name, ".github" | ".config"));
                // To create a path with all that is below is to copy it there.
                let brings = own_name && matches!(act.kind, ActKind::Link | ActKind::Rename | ActKind::Create);
                found.push((item, row.what, brings));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
