//! Puts sets on and takes them back, under the lock and the journal of the level.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::algebra::{Decision, Rename, decide};
use super::set::Set;
use super::{Level, LoadoutError, Settled, find, scope};
use crate::sys::journal::{self, Held};
use crate::sys::pinned::Pins;
use crate::sys::plan::{Plan, Step};
use crate::sys::{disk, shown, time};

/// How many equips are remembered for `unequip`; the oldest are forgotten first.
const REMEMBERED: usize = 64;

/// What was done.
#[derive(Debug)]
pub struct Report {
    /// What followed from the sets.
    pub decision: Decision,
    /// What an earlier change had left.
    pub settled: Settled,
}

/// A rename that was done, for the way back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {
    /// The name before.
    #[serde(with = "crate::sys::wire::path")]
    pub from: PathBuf,
    /// The name after.
    #[serde(with = "crate::sys::wire::path")]
    pub to: PathBuf,
}

/// One equip that can be taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worn {
    /// The sets, as they were named.
    pub sets: Vec<String>,
    /// When (RFC 3339).
    pub at: String,
    /// Whether hooks are among what was renamed: then taking it back is for people.
    pub hooks: bool,
    /// What was renamed.
    pub renames: Vec<Done>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    schema: u32,
    #[serde(with = "crate::sys::wire::path")]
    level: PathBuf,
    worn: Vec<Worn>,
}

/// A rename that was not taken back, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The name it had.
    pub path: PathBuf,
    /// Why it was left.
    pub why: &'static str,
}

impl std::fmt::Display for Left {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", shown::path(&self.path), self.why)
    }
}

/// What was taken back.
#[derive(Debug)]
pub struct Returned {
    /// The equip it was; `None`: there was none.
    pub worn: Option<Worn>,
    /// The renames that were done for it.
    pub renames: Vec<Done>,
    /// What somebody changed since, and that was therefore left.
    pub left: Vec<Left>,
    /// What an earlier change had left.
    pub settled: Settled,
}

/// Takes the lock of a level, and settles what interrupted changes and dead scopes left there.
///
/// # Errors
/// Where somebody has the lock, or the rest can't be settled.
pub fn begin(level: &Level, what: &str) -> Result<(Held, Settled), LoadoutError> {
    let held = journal::take(&level.state, &level.key(), what)?;
    let change = held.recover(&super::inject::is_kept_elsewhere)?;
    let scopes = scope::restore_dead(level, &held)?;
    Ok((held, Settled { change, scopes }))
}

/// Works out what sets would do, and changes nothing.
///
/// # Errors
/// [`LoadoutError::Conflict`] where they do not fit.
pub fn plan(level: &Level, sets: &[&Set], vendor: bool) -> Result<Decision, LoadoutError> {
    /// The list of a folder in which somebody renames may show a file under both names: what is so stays so.
    const LOOKS: usize = 5;
    let mut decision = decide(&find::items(level).items, sets, vendor);
    for _ in 1..LOOKS {
        if decision.conflicts.is_empty() {
            break;
        }
        decision = decide(&find::items(level).items, sets, vendor);
    }
    if decision.conflicts.is_empty() { Ok(decision) } else { Err(LoadoutError::Conflict(decision.conflicts)) }
}

pub(super) fn steps(renames: &[Rename]) -> impl Iterator<Item = Step> {
    renames.iter().map(|rename| Step::Rename { from: rename.from.clone(), to: rename.to.clone() })
}

pub(super) fn done(renames: &[Rename]) -> Vec<Done> {
    renames.iter().map(|rename| Done { from: rename.from.clone(), to: rename.to.clone() }).collect()
}

/// Applies sets, later ones winning. `names` are remembered for `unequip`; without any, nothing is
/// (a toggle), and neither is the last equip once more that finds all of it done.
///
/// # Errors
/// [`LoadoutError::Conflict`] where they do not fit; then, as on every other error, nothing is
/// changed.
pub fn apply(level: &Level, what: &str, names: &[String], sets: &[&Set], vendor: bool) -> Result<Report, LoadoutError> {
    apply_if(level, what, names, sets, vendor, |_| true)
}

/// As [`apply`], where `judge` lets it: it is asked under the lock about what is there then. What was judged
/// before may lead elsewhere by now.
///
/// # Errors
/// As [`apply`], and [`LoadoutError::Elsewhere`] where it is not let.
pub fn apply_if(
    level: &Level,
    what: &str,
    names: &[String],
    sets: &[&Set],
    vendor: bool,
    judge: impl FnOnce(&Decision) -> bool,
) -> Result<Report, LoadoutError> {
    let (mut held, settled) = begin(level, what)?;
    let decision = plan(level, sets, vendor)?;
    pinned(level, &mut held, &decision, judge)?;
    let mut plan = Plan { steps: steps(&decision.renames).collect() };
    if !names.is_empty() {
        let (mut record, was) = read(level)?;
        // The same sets once more, and nothing to do for them: there is nothing further to take back.
        let again = decision.renames.is_empty() && record.worn.last().is_some_and(|worn| worn.sets == names);
        if !again {
            record.worn.push(Worn {
                sets: names.to_vec(),
                at: time::to_second(time::now()),
                hooks: decision.has_hooks(),
                renames: done(&decision.renames),
            });
            let extra = record.worn.len().saturating_sub(REMEMBERED);
            record.worn.drain(..extra);
            plan.steps.push(write(level, &record, was)?);
        }
    }
    held.apply(&plan)?;
    Ok(Report { decision, settled })
}

/// Asks the judge about the renames where their directories really are, and binds them to just those.
pub(super) fn pinned(
    level: &Level,
    held: &mut Held,
    decision: &Decision,
    judge: impl FnOnce(&Decision) -> bool,
) -> Result<Pins, LoadoutError> {
    let pins = Pins::of(decision.renames.iter().flat_map(|one| [one.from.as_path(), one.to.as_path()]))?;
    let really = |one: &Rename| Rename { from: pins.real(&one.from), to: pins.real(&one.to), ..one.clone() };
    let judged = Decision { renames: decision.renames.iter().map(really).collect(), ..decision.clone() };
    if !judge(&judged) {
        return Err(LoadoutError::Elsewhere(level.dir.clone()));
    }
    held.pin(pins.clone());
    Ok(pins)
}

/// The equip that `unequip` would take back, with what it would rename and leave; changes nothing.
///
/// # Errors
/// Where the record or the disk can't be read.
pub fn last(level: &Level) -> Result<Returned, LoadoutError> {
    let (mut record, _) = read(level)?;
    let worn = record.worn.pop();
    let (renames, left) = match &worn {
        Some(worn) => back(&worn.renames)?,
        None => (Vec::new(), Vec::new()),
    };
    Ok(Returned { worn, renames, left, settled: Settled::default() })
}

/// Takes back the last equip, as far as nobody changed its items since.
///
/// # Errors
/// Where the level is locked or the change fails; then nothing is changed.
pub fn unequip(level: &Level) -> Result<Returned, LoadoutError> {
    unequip_if(level, |_| true)
}

/// As [`unequip`], where `judge` lets it: see [`apply_if`].
///
/// # Errors
/// As [`apply_if`].
pub fn unequip_if(level: &Level, judge: impl FnOnce(&[Done]) -> bool) -> Result<Returned, LoadoutError> {
    let (mut held, settled) = begin(level, "loci unequip")?;
    let (mut record, was) = read(level)?;
    let Some(worn) = record.worn.pop() else {
        return Ok(Returned { worn: None, renames: Vec::new(), left: Vec::new(), settled });
    };
    let (renames, left) = back(&worn.renames)?;
    let pins = Pins::of(renames.iter().flat_map(|one| [one.from.as_path(), one.to.as_path()]))?;
    let really: Vec<Done> = renames.iter().map(|one| Done { from: pins.real(&one.from), to: pins.real(&one.to) }).collect();
    if !judge(&really) {
        return Err(LoadoutError::Elsewhere(level.dir.clone()));
    }
    held.pin(pins);
    let mut plan = Plan { steps: renames.iter().map(|one| Step::Rename { from: one.from.clone(), to: one.to.clone() }).collect() };
    plan.steps.push(write(level, &record, was)?);
    held.apply(&plan)?;
    Ok(Returned { worn: Some(worn), renames, left, settled })
}

/// The renames that take others back, in reverse, as far as things are still as those left them.
pub(super) fn back(done: &[Done]) -> Result<(Vec<Done>, Vec<Left>), LoadoutError> {
    let (mut renames, mut left) = (Vec::new(), Vec::new());
    for Done { from, to } in done.iter().rev() {
        let leave = |why| Left { path: from.clone(), why };
        match (disk::look(from)?.is_some(), disk::look(to)?.is_some()) {
            (false, true) => renames.push(Done { from: to.clone(), to: from.clone() }),
            (true, false) => left.push(leave("somebody has switched it back already")),
            (true, true) => left.push(leave("it is there under both names")),
            (false, false) => left.push(leave("it is no longer there")),
        }
    }
    Ok((renames, left))
}

fn record_path(level: &Level) -> PathBuf {
    level.state.join("worn").join(format!("{}.json", level.key()))
}

fn read(level: &Level) -> Result<(Record, Option<Vec<u8>>), LoadoutError> {
    let path = record_path(level);
    let Some(text) = disk::read_if_there(&path)? else {
        return Ok((Record { schema: 1, level: level.dir.clone(), worn: Vec::new() }, None));
    };
    let record: Record = parse(&path, &text)?;
    if record.schema != 1 {
        let why = format!("its version is {}, this program knows 1", record.schema);
        return Err(LoadoutError::Record { path, why });
    }
    Ok((record, Some(text)))
}

pub(super) fn parse<T: serde::de::DeserializeOwned>(path: &Path, text: &[u8]) -> Result<T, LoadoutError> {
    serde_json::from_slice(text).map_err(|error| LoadoutError::Record { path: path.to_owned(), why: error.to_string() })
}

pub(super) fn to_text<T: Serialize>(path: &Path, value: &T) -> Result<Vec<u8>, LoadoutError> {
    let mut text = serde_json::to_vec(value).map_err(|error| LoadoutError::Record { path: path.to_owned(), why: error.to_string() })?;
    text.push(b'\n');
    Ok(text)
}

fn write(level: &Level, record: &Record, was: Option<Vec<u8>>) -> Result<Step, LoadoutError> {
    let path = record_path(level);
    if let Some(dir) = path.parent() {
        disk::make_dirs(dir)?;
    }
    let data = to_text(&path, record)?;
    Ok(Step::Write { path, data, mode: Some(0o600), was })
}
