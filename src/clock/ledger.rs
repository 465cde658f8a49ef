//! The ledger: `.loci-clock/ledger.jsonl`, append-only, and what it says now as a fold.
//!
//! A failure appends a block; the same again counts; a later success of the job resolves it; a job that
//! is removed withdraws it. Nothing in loci decides by the ledger: it is for people.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::deliverable::Lack;
use super::instant;
use super::record::Outcome;
use crate::sys::disk::{self, PathError};
use crate::text::digest;

/// The most of a ledger that is folded: its end.
const MAX_BYTES: u64 = 64 << 20;
/// How many lines are kept in memory while the file can't be written.
const MAX_WAITING: usize = 10_000;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// A job is stuck.
    Block,
    /// In the same way once more.
    Again,
    /// In another way.
    Changed,
    /// It succeeded.
    Resolved,
    /// Its file is gone.
    Withdrawn,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Version of the format.
    pub schema: u32,
    /// When.
    #[serde(with = "instant")]
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
    /// Of which block; the id of a new one.
    pub block: String,
    /// Of which job.
    pub job: String,
    /// How it is stuck.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cause: Option<Outcome>,
    /// What is missing.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub missing: Vec<Lack>,
    /// What was left running.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub left_running: Vec<String>,
    /// The run; `None` where none was started.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run: Option<String>,
    /// For which instant.
    #[serde(with = "instant::maybe", skip_serializing_if = "Option::is_none", default)]
    pub instant: Option<Timestamp>,
    /// How often by now.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub times: Option<u64>,
}

/// A job that is stuck.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Block {
    /// The line that says how, newest.
    #[serde(flatten)]
    pub entry: Entry,
    /// Since when.
    #[serde(with = "instant")]
    pub since: Timestamp,
    /// How often.
    pub times: u64,
}

/// What a failure is like.
#[derive(Debug, Clone, Default)]
pub struct Failure {
    /// How the job is stuck.
    pub cause: Option<Outcome>,
    /// What is missing.
    pub missing: Vec<Lack>,
    /// What was left running.
    pub left_running: Vec<String>,
    /// The run.
    pub run: Option<String>,
    /// For which instant.
    pub instant: Option<Timestamp>,
}

/// The ledger, folded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fold {
    /// What is stuck, by job.
    pub open: BTreeMap<String, Block>,
    /// How many blocks were resolved, by job.
    pub resolved: BTreeMap<String, u64>,
    /// How many were withdrawn, by job.
    pub withdrawn: BTreeMap<String, u64>,
    /// Lines that can't be read.
    pub torn: usize,
    /// The newest run that a line tells of, by job.
    told: BTreeMap<String, String>,
}

impl Fold {
    /// Folds the lines of a file.
    #[must_use]
    pub fn of(data: &[u8]) -> Self {
        let mut fold = Self::default();
        for line in data.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice::<Entry>(line) {
                Ok(entry) => fold.add(entry),
                Err(_) => fold.torn += 1,
            }
        }
        fold
    }

    /// Whether a run is the newest that the ledger tells of a job.
    #[must_use]
    pub fn knows(&self, job: &str, run: &str) -> bool {
        self.told.get(job).is_some_and(|told| told == run)
    }

    /// Adds one line.
    pub fn add(&mut self, entry: Entry) {
        let job = entry.job.clone();
        if let Some(run) = &entry.run {
            self.told.insert(job.clone(), run.clone());
        }
        match entry.event {
            Event::Block => {
                self.open.insert(job, Block { since: entry.at, times: 1, entry });
            }
            Event::Again | Event::Changed => {
                if let Some(block) = self.open.get_mut(&job).filter(|block| block.entry.block == entry.block) {
                    block.times += 1;
                    if entry.event == Event::Changed {
                        block.entry = entry;
                    } else {
                        (block.entry.at, block.entry.run, block.entry.instant) = (entry.at, entry.run, entry.instant);
                    }
                }
            }
            Event::Resolved | Event::Withdrawn => {
                if self.open.get(&job).is_some_and(|block| block.entry.block == entry.block) {
                    self.open.remove(&job);
                    let counts = if entry.event == Event::Resolved { &mut self.resolved } else { &mut self.withdrawn };
                    *counts.entry(job).or_default() += 1;
                }
            }
        }
    }

    /// The line that a failure appends.
    #[must_use]
    pub fn failed(&self, job: &str, failure: Failure, at: Timestamp) -> Entry {
        let open = self.open.get(job);
        let same = open.is_some_and(|block| {
            let paths = |lacks: &[Lack]| lacks.iter().map(|lack| lack.path.clone()).collect::<Vec<_>>();
            block.entry.cause == failure.cause
                && paths(&block.entry.missing) == paths(&failure.missing)
                && block.entry.left_running == failure.left_running
        });
        let event = match (open, same) {
            (None, _) => Event::Block,
            (Some(_), true) => Event::Again,
            (Some(_), false) => Event::Changed,
        };
        let id = || {
            let parts = [job.as_bytes(), &at.as_nanosecond().to_be_bytes(), failure.run.as_deref().unwrap_or_default().as_bytes()];
            digest::sha256_of_parts(parts).chars().take(12).collect()
        };
        Entry {
            schema: 1,
            at,
            event,
            block: open.map_or_else(id, |block| block.entry.block.clone()),
            job: job.to_owned(),
            cause: failure.cause,
            missing: failure.missing,
            left_running: failure.left_running,
            run: failure.run,
            instant: failure.instant,
            times: Some(open.map_or(1, |block| block.times + 1)),
        }
    }

    /// The line that ends the block of a job, if there is one.
    #[must_use]
    pub fn ended(&self, job: &str, event: Event, run: Option<&str>, at: Timestamp) -> Option<Entry> {
        let block = self.open.get(job)?;
        Some(Entry {
            schema: 1,
            at,
            event,
            block: block.entry.block.clone(),
            job: job.to_owned(),
            cause: None,
            missing: Vec::new(),
            left_running: Vec::new(),
            run: run.map(str::to_owned),
            instant: None,
            times: None,
        })
    }
}

/// Where the ledger of a root is.
#[must_use]
pub fn file(root: &Path) -> PathBuf {
    root.join(".loci-clock/ledger.jsonl")
}

/// Reads and folds a ledger; nothing where there is none.
///
/// # Errors
/// Where it is there and can't be read.
pub fn read(root: &Path) -> Result<Fold, PathError> {
    let path = file(root);
    if disk::look(&path)?.is_none() {
        return Ok(Fold::default());
    }
    let (data, more) = disk::read_end(&path, MAX_BYTES)?;
    // Where the start is left out, the first line is half a line.
    let start = if more { data.iter().position(|byte| *byte == b'\n').map_or(data.len(), |at| at + 1) } else { 0 };
    Ok(Fold::of(data.get(start..).unwrap_or_default()))
}

/// The ledger as the clock writes it: lines that can't be written wait.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    /// What it says.
    pub fold: Fold,
    waiting: VecDeque<Entry>,
}

impl Ledger {
    /// Opens the ledger of a root. What can't be read is passed over, with the reason; and whether it could be read
    /// at all.
    #[must_use]
    pub fn open(root: &Path) -> (Self, Option<String>, bool) {
        let (fold, said, is_read) = match read(root) {
            Ok(fold) if fold.torn > 0 => {
                let said = format!("ledger.jsonl: {} line(s) can't be read and are passed over", fold.torn);
                (fold, Some(said), true)
            }
            Ok(fold) => (fold, None, true),
            Err(error) => (Fold::default(), Some(format!("ledger.jsonl can't be read: failed to {error}: {}", error.source)), false),
        };
        (Self { path: file(root), fold, waiting: VecDeque::new() }, said, is_read)
    }

    /// Appends a line: at once, or when the file can be written again.
    pub fn append(&mut self, entry: Entry) {
        self.fold.add(entry.clone());
        if self.waiting.len() >= MAX_WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back(entry);
    }

    /// Whether lines wait.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Writes what waits, oldest first.
    ///
    /// # Errors
    /// Where the file does not take it; the lines stay.
    pub fn flush(&mut self) -> Result<(), PathError> {
        while let Some(entry) = self.waiting.front() {
            let text = super::store::to_text(&self.path, entry)?;
            disk::append(&self.path, &text)?;
            self.waiting.pop_front();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line() -> impl Strategy<Value = String> {
        let entry = (prop::sample::select(vec!["block", "again", "changed", "resolved", "withdrawn", "other"]), 0..3_u8, 0..3_u8).prop_map(
            |(event, job, block)| {
                format!("{{\"schema\":1,\"at\":\"2026-06-01T00:00:00Z\",\"event\":\"{event}\",\"block\":\"b{block}\",\"job\":\"j{job}\"}}")
            },
        );
        prop_oneof![4 => entry.clone(), 1 => (entry, 0..60_usize).prop_map(|(text, at)| text.chars().take(at).collect()), 1 => ".{0,30}"]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever the lines are: each is read or counted as torn, a torn one changes nothing, and what is stuck is stuck
        /// for a line that says so.
        #[test]
        fn any_ledger_can_be_folded(lines in prop::collection::vec(line(), 0..12)) {
            let text = lines.join("\n");
            let fold = Fold::of(text.as_bytes());
            let is = |line: &&str| serde_json::from_str::<Entry>(line).is_ok();
            let all: Vec<&str> = text.split('\n').filter(|line| !line.is_empty()).collect();
            let good: Vec<&str> = all.iter().copied().filter(is).collect();
            prop_assert_eq!(fold.torn, all.len() - good.len());
            let clean = Fold::of(good.join("\n").as_bytes());
            prop_assert_eq!((&clean.open, &clean.resolved, &clean.withdrawn), (&fold.open, &fold.resolved, &fold.withdrawn));
            for (job, block) in &fold.open {
                let said = format!("\"block\":\"{}\",\"job\":\"{job}\"", block.entry.block);
                prop_assert!(good.iter().any(|line| line.contains(&said) && line.contains("\"event\":\"block\"")));
            }
        }

        /// What the clock appends is what it reads again.
        #[test]
        fn a_line_that_is_written_is_read(job in ".{0,20}", why in ".{0,40}", run in "[a-z0-9-]{1,20}") {
            let failure = Failure { cause: Some(Outcome::Missing), missing: vec![Lack { path: "p".to_owned(), why }], run: Some(run), ..Failure::default() };
            let entry = Fold::default().failed(&job, failure, Timestamp::UNIX_EPOCH);
            let text = crate::clock::store::to_text(Path::new("x"), &entry).unwrap();
            prop_assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 1);
            let fold = Fold::of(&text);
            prop_assert_eq!(fold.torn, 0);
            prop_assert_eq!(&fold.open[&job].entry, &entry);
        }
    }
}
