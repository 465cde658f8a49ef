//! What the verbs that equip have in common: which level, which sets, who may.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde_json::{Value, json};

use super::context::Context;
use super::failure::Failure;
use super::{Answer, grant, near};
use crate::loadout::algebra::{Decision, ReadOnly};
use crate::loadout::archive::Stores;
use crate::loadout::set::{Set, SetError};
use crate::loadout::{Level, LoadoutError, Settled, scope};
use crate::sys::{disk, journal, shown};
use crate::tree::dotdirs::{self, IDENTITY};
use crate::tree::resolve::{self, Request};
use crate::tree::{card, climb, settings};

/// Which level a verb is about.
#[derive(Debug, Clone, ClapArgs)]
pub struct LevelFlag {
    /// The directory whose dotdirs are meant (default: the nearest one up from here that has any)
    #[arg(long = "level", global = true, value_name = "DIR")]
    pub level: Option<PathBuf>,
}

impl From<SetError> for Failure {
    fn from(error: SetError) -> Self {
        match error {
            SetError::Disk(error) => error.into(),
            SetError::Bad { path, line, why } => Self::new("bad-set", format!("failed to read the set: {why}")).at(&path, line),
        }
    }
}

impl From<LoadoutError> for Failure {
    fn from(error: LoadoutError) -> Self {
        let kind = error.kind();
        let message = format!("failed to {error}");
        match error {
            LoadoutError::Set(error) => error.into(),
            LoadoutError::Journal(error) => error.into(),
            LoadoutError::Disk(error) => error.into(),
            LoadoutError::Conflict(_) => Self::new(kind, message).hint("loci loadout status"),
            LoadoutError::NoSuchArchive(_) | LoadoutError::NameTaken(_) => Self::new(kind, message).hint("loci loadout list"),
            LoadoutError::Empty(_) => Self::new(kind, message).hint("loci loadout show"),
            _ => Self::new(kind, message),
        }
    }
}

/// The level that is meant.
///
/// # Errors
/// Where no directory up from here carries a dotdir, or the one that is named can't be resolved.
pub fn level(context: &Context, flag: &LevelFlag) -> Result<Level, Failure> {
    let dotdirs = settings::load(&context.home)?.dotdirs;
    let carries = |dir: &Path| !dotdirs::at(dir, &dotdirs, &mut Vec::new()).is_empty();
    let dir = match &flag.level {
        Some(dir) => {
            let dir = disk::canonical(&context.absolute(dir))?;
            if !disk::is_dir(&dir) {
                return Err(Failure::new("level", "a level is a directory").at(&dir, None));
            }
            dir
        }
        None => {
            let start = disk::canonical(&context.flags.at.as_ref().map_or_else(|| context.cwd.clone(), |at| context.absolute(at)))?;
            let none = || Failure::new("level", "no directory up from here has anything to equip").hint("loci loadout status --level ~");
            let dir = climb::nearest(&start, carries).ok_or_else(none)?.to_owned();
            if dir != start && is_shared(context, &dir) {
                let what =
                    format!("the nearest directory up from here with anything to equip is {}, which is everybody's", shown::path(&dir));
                return Err(Failure::new("level", what).hint(format!("loci loadout status --level {}", near::word(&dir))));
            }
            if dir != start {
                context.say(&format!("note: this is about {}, the nearest level up from here", context.shown(&dir)));
            }
            dir
        }
    };
    Ok(Level { dir, dotdirs, state: context.state.clone() })
}

/// Whether what is worn in a directory is worn by all there is: the home, or what it lies in.
fn is_shared(context: &Context, dir: &Path) -> bool {
    let user_home = context.env.user_home().unwrap_or_else(|| context.home.clone());
    [&context.home, &user_home].into_iter().any(|home| disk::canonical(home).is_ok_and(|home| home.starts_with(dir)))
}

/// Where archives of a level are kept.
#[must_use]
pub fn stores(context: &Context, level: &Level) -> Stores {
    let home = context.home.join(IDENTITY).join("loadouts");
    let place = level.dir.join(IDENTITY).join("loadouts");
    Stores { place: (place != home).then_some(place), home }
}

/// Whether sets may write in the dotdirs of harnesses: the call or the body allows it.
///
/// # Errors
/// Where the body's file can't be read: what it says about this is not known.
pub fn vendor(level: &Level, flag: bool) -> Result<bool, Failure> {
    match card::agent(&level.dir) {
        _ if flag => Ok(true),
        None => Ok(false),
        Some(Ok(agent)) => Ok(agent.vendor),
        Some(Err(error)) => Err(Failure::from(error).hint("loci doctor")),
    }
}

/// Hooks run with a person's rights, so only a person decides which do. Where an agent asks, a request
/// is filed, and that is the answer; `file` is what would be changed.
///
/// # Errors
/// Where the request can't be filed.
pub fn unless_person(context: &Context, file: &Path, command: &str) -> Result<Option<Answer>, Failure> {
    grant::or_request(context, file, command)
}

/// Hands what sets would rename to the judge; `None`: go on.
///
/// # Errors
/// As [`grant::unless_refused`].
pub fn unless_refused(
    context: &Context,
    level: &Level,
    decision: &Decision,
    command: &str,
    dry_run: bool,
) -> Result<Option<Answer>, Failure> {
    let paths = decision.renames.iter().flat_map(|one| [&one.from, &one.to]);
    grant::unless_refused(context, &grant::changes(&level.dir, paths), command, dry_run)
}

/// Whether the judge lets a change happen as it is found under the lock.
#[must_use]
pub fn passes(context: &Context, level: &Level, decision: &Decision) -> bool {
    grant::passes(context, &grant::changes(&level.dir, decision.renames.iter().flat_map(|one| [&one.from, &one.to])))
}

/// What an interrupted change had left, said to people.
pub fn say_settled(context: &Context, settled: &Settled) {
    for sentence in settled.sentences() {
        context.say(&format!("note: {sentence}"));
    }
}

/// What is open at a level: for verbs that only read.
///
/// # Errors
/// Where the journal can't be read.
pub fn open(level: &Level) -> Result<Vec<String>, Failure> {
    let mut open = Vec::new();
    if let Some(entry) = journal::open(&level.state, &level.key())? {
        let (what, pid, since) = (shown::text(&entry.what), entry.process.pid, shown::text(&entry.since));
        open.push(if entry.process.is_alive() {
            format!("`{what}` is at work here (pid {pid}, since {since})")
        } else {
            format!("`{what}` was interrupted here (pid {pid}, {since}); the next change settles it")
        });
    }
    for scope in scope::open(level)? {
        let (what, pid, since) = (shown::text(&scope.what), scope.process.pid, shown::text(&scope.since));
        open.push(if scope.process.is_alive() {
            format!("a set is worn for `{what}` (pid {pid}, since {since})")
        } else {
            format!("a set is still worn for `{what}`, whose process (pid {pid}, {since}) is gone; the next change takes it back")
        });
    }
    Ok(open)
}

/// What a decision comes to, as JSON.
#[must_use]
pub fn object(level: &Level, decision: &Decision, dry: bool, settled: &Settled) -> Value {
    let renames: Vec<Value> = decision
        .renames
        .iter()
        .map(|one| json!({ "item": one.label, "state": one.state, "from": one.from.to_string_lossy(), "to": one.to.to_string_lossy() }))
        .collect();
    let read_only: Vec<Value> = decision.read_only.iter().map(|(item, why)| json!({ "item": item, "why": word(*why) })).collect();
    let already: Vec<Value> = decision.already.iter().map(|(item, state)| json!({ "item": item, "state": state })).collect();
    json!({
        "schema": 1, "level": level.dir.to_string_lossy(), "dry_run": dry, "changed": !dry && !renames.is_empty(),
        "count": renames.len(), "renames": renames, "already": already, "undo": decision.undo, "unknown": decision.unknown, "read_only": read_only, "both": decision.both,
        "overruled": decision.overruled, "recovered": settled.sentences(),
    })
}

fn word(why: ReadOnly) -> &'static str {
    match why {
        ReadOnly::Vendor => "vendor",
        ReadOnly::Outside => "outside",
    }
}

/// The renames as lines for people, and how many.
#[must_use]
pub fn lines(decision: &Decision, dry: bool) -> String {
    let mut text = String::new();
    for one in &decision.renames {
        text.push_str(&format!("{} {}\n", one.label, one.state));
    }
    let count = decision.renames.len();
    text.push_str(&match (count, decision.already.as_slice()) {
        (0, [(item, state)]) => format!("{item} is {state} already: nothing to change\n"),
        (0, [_, _, ..]) => format!("all {} are so already: nothing to change\n", decision.already.len()),
        _ => format!("{}{}\n", crate::sys::shown::count(count, "rename", "renames"), if dry { " would be done" } else { "" }),
    });
    text
}

/// What was not done, or needs to be known, said to people.
pub fn say_notes(context: &Context, decision: &Decision) {
    for item in &decision.unknown {
        context.say(&format!("note: {item} is not here; its entry stays"));
    }
    for (item, why) in &decision.read_only {
        let why = match why {
            ReadOnly::Vendor => "it belongs to a harness (--vendor allows it)",
            ReadOnly::Outside => "it lies outside this level, behind a folder that is a link",
        };
        context.say(&format!("note: {item} was not switched: {why}"));
    }
    for item in &decision.both {
        context.say(&format!("note: {item} is on already, and has an inactive copy beside it"));
    }
    for item in &decision.overruled {
        context.say(&format!("note: a later set overrules what an earlier one says about {item}"));
    }
    for one in decision.renames.iter().filter(|one| one.linked_folder && one.state == crate::loadout::State::Off) {
        context.say(&format!("note: {} is a linked folder; its link was renamed, and some harnesses still list it", one.label));
    }
}

/// A set that was found: its name and its file.
#[derive(Debug, Clone)]
pub struct NamedSet {
    /// Its file name without the ending.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// The directory whose dotdir has it.
    pub level: PathBuf,
}

/// Every set that can be named from a level: home first, the nearest last.
///
/// # Errors
/// Never in practice: the name of the slot is fixed.
pub fn known_sets(context: &Context, level: &Level) -> Result<Vec<NamedSet>, Failure> {
    let request = Request {
        home: Some(context.home.clone()),
        launch: Some(level.dir.clone()),
        active: context.flags.at.as_ref().map(|at| context.absolute(at)),
        slot: "sets".to_owned(),
        dotdirs: level.dotdirs.clone(),
    };
    let resolution = resolve::resolve(&request)?;
    let rank = |path: &Path| resolution.levels.iter().position(|one| one.path == path);
    // Two sets of one content are two names.
    let found = resolution.files.iter().map(|file| (&file.path, &file.rel, &file.provenance));
    let dropped =
        resolution.dropped.iter().filter(|one| one.same == resolve::Same::Content).map(|one| (&one.path, &one.rel, &one.provenance));
    let mut sets: Vec<NamedSet> = found
        .chain(dropped)
        .map(|(path, rel, from)| NamedSet {
            name: rel.with_extension("").to_string_lossy().into_owned(),
            path: path.clone(),
            level: from.level.clone(),
        })
        .collect();
    sets.sort_by(|a, b| (rank(&a.level), &a.path).cmp(&(rank(&b.level), &b.path)));
    Ok(sets)
}

/// The file of a set: a path where it has a slash, else the nearest set of that name.
///
/// # Errors
/// Where there is none, or the nearest place has several.
pub fn set_path(context: &Context, level: &Level, name: &str) -> Result<PathBuf, Failure> {
    if name.contains('/') {
        return Ok(context.absolute(Path::new(name)));
    }
    let known = known_sets(context, level)?;
    let is = |set: &&NamedSet| set.name == name || set.path.file_name().is_some_and(|file| file == name);
    let Some(nearest) = known.iter().rev().find(is) else {
        let meant = near::meant(name, known.iter().map(|set| set.name.as_str()));
        return Err(Failure::new("no-such-set", format!("no set is called `{}`{meant}", shown::text(name))).hint("loci sets"));
    };
    let mut here = known.iter().filter(is).filter(|set| set.level == nearest.level);
    match (here.next(), here.next()) {
        (Some(one), Some(two)) if one.path.extension() != two.path.extension() && name == one.name => {
            let (one, two) = (context.shown(&one.path), context.shown(&two.path));
            let hint = format!("loci equip {}", near::word(&nearest.path));
            Err(Failure::new("ambiguous-set", format!("`{}` is two sets: {one} and {two}", shown::text(name))).hint(hint))
        }
        _ => Ok(nearest.path.clone()),
    }
}

/// Reads the sets that are named: files, or names that are found from here.
///
/// # Errors
/// Where one is not there, or is no set.
pub fn sets(context: &Context, level: &Level, names: &[String]) -> Result<Vec<(String, Set)>, Failure> {
    names.iter().map(|name| Ok((name.clone(), Set::read(&set_path(context, level, name)?)?))).collect()
}
