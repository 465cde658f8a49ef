//! What the clock keeps on disk, in the state folder of the machine: records of jobs, claims, runs.
//!
//! The records are a snapshot (`state.json`) and a log of what changed since (`state.log`), so that a
//! fire costs one line whatever else there is. A claim is a file that is made exclusively and synced
//! before anything starts; who finds it made leaves the instant alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::instant;
use super::record::Record;
use crate::sys::disk::{self, PathError};
use crate::sys::process::{self, Identity};
use crate::sys::time::Moment;

/// The log is folded into a snapshot when it has this many lines more than there are records.
const FOLD_AFTER: usize = 1_000;
/// How many claims of a job are kept.
const KEEP_CLAIMS: usize = 8;
/// How many runs of a job are kept.
const KEEP_RUNS: usize = 10;
/// How many jobs can be asked for at once.
const MAX_WISHES: usize = 1_000;
/// The most of a state file that is read.
const MAX_BYTES: u64 = 256 << 20;

/// The state of one root.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    lines: usize,
}

/// What was on disk.
#[derive(Debug, Default)]
pub struct Found {
    /// The records, by job.
    pub records: BTreeMap<String, Record>,
    /// When the last of them was written, by both clocks, and in which boot.
    pub clocks: Option<(Timestamp, Duration, String)>,
    /// Whether there is no snapshot that can be read: what it said, if there ever was one, is lost.
    pub lost: bool,
    /// What is to be said.
    pub notices: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Snapshot {
    schema: u32,
    #[serde(with = "instant")]
    at: Timestamp,
    boot_ms: u64,
    boot: String,
    records: BTreeMap<String, Record>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(with = "instant")]
    at: Timestamp,
    boot_ms: u64,
    boot: String,
    job: String,
    /// `None`: it is forgotten.
    record: Option<Record>,
}

/// A claim.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Claim {
    /// Version of the format.
    pub schema: u32,
    /// The job.
    pub job: String,
    /// The instant.
    #[serde(with = "instant")]
    pub instant: Timestamp,
    /// Who made it.
    pub process: Identity,
    /// On which machine.
    pub host: String,
}

/// A job that is to be run now.
#[derive(Debug, Serialize, Deserialize)]
struct Wish {
    schema: u32,
    job: String,
    #[serde(with = "instant")]
    at: Timestamp,
}

impl Store {
    /// Where the state of a root is. `root` is its real path.
    #[must_use]
    pub fn folder(state: &Path, root: &Path) -> PathBuf {
        state.join("clock").join(crate::text::digest::key("root", root))
    }

    /// The file that its one daemon locks.
    #[must_use]
    pub fn lock(state: &Path, root: &Path) -> PathBuf {
        Self::folder(state, root).join("clock.lock")
    }

    /// The folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Opens the state of a root and reads it. A file that can't be read is kept aside, and said: what
    /// jobs are stands in their own files.
    ///
    /// # Errors
    /// Where the folder can't be used at all.
    pub fn open(state: &Path, root: &Path, now: Moment) -> Result<(Self, Found), PathError> {
        let dir = Self::folder(state, root);
        for folder in ["runs", "claims", "now"] {
            disk::make_dirs(&dir.join(folder))?;
        }
        disk::sweep_temps(&dir)?;
        let mut store = Self { dir, lines: 0 };
        let absent = disk::look(&store.dir.join("state.json"))?.is_none();
        let mut found = Self::read(&store.dir)?;
        found.0.lost = absent || found.1.is_some();
        if let Some(why) = found.1 {
            let aside = store.dir.join(format!("state.json.corrupt-{}", now.wall.as_second()));
            disk::rename(&store.dir.join("state.json"), &aside)?;
            found.0.notices.push(format!("state.json {why}; it is kept as {}, and the jobs go on", aside.display()));
        }
        store.lines = FOLD_AFTER;
        Ok((store, found.0))
    }

    /// Reads the state without changing it; the second value says what is wrong with the snapshot.
    ///
    /// # Errors
    /// Where it is there and can't be read.
    pub fn read(dir: &Path) -> Result<(Found, Option<String>), PathError> {
        let mut found = Found::default();
        let mut wrong = None;
        if disk::look(&dir.join("state.json"))?.is_some() {
            match disk::read_bounded(&dir.join("state.json"), MAX_BYTES)?.as_deref().map(serde_json::from_slice::<Snapshot>) {
                Some(Ok(snapshot)) if snapshot.schema == 1 => {
                    found.records = snapshot.records;
                    found.clocks = Some((snapshot.at, Duration::from_millis(snapshot.boot_ms), snapshot.boot));
                }
                Some(Ok(_)) => wrong = Some("is of another version".to_owned()),
                Some(Err(error)) => wrong = Some(format!("can't be read ({error})")),
                None => wrong = Some("is too large".to_owned()),
            }
        }
        if disk::look(&dir.join("state.log"))?.is_some() {
            let log = disk::read_bounded(&dir.join("state.log"), MAX_BYTES)?.unwrap_or_default();
            let mut torn = 0;
            for text in log.split(|byte| *byte == b'\n').filter(|text| !text.is_empty()) {
                let Ok(line) = serde_json::from_slice::<Line>(text) else {
                    torn += 1;
                    continue;
                };
                found.clocks = Some((line.at, Duration::from_millis(line.boot_ms), line.boot));
                match line.record {
                    Some(record) => found.records.insert(line.job, record),
                    None => found.records.remove(&line.job),
                };
            }
            // One line at the end is torn where the machine lost power within a write: it was not acted on.
            if torn > 0 {
                found.notices.push(format!("state.log: {torn} torn line(s) passed over"));
            }
        }
        Ok((found, wrong))
    }

    /// Writes what is known of a job, synced: what it says may be acted on afterwards.
    ///
    /// # Errors
    /// Where the disk does not take it.
    pub fn write(&mut self, job: &str, record: Option<&Record>, now: Moment) -> Result<(), PathError> {
        let line = Line { at: now.wall, boot_ms: millis(now.boot), boot: process::boot(), job: job.to_owned(), record: record.cloned() };
        let path = self.dir.join("state.log");
        let text = to_text(&path, &line)?;
        disk::append(&path, &text)?;
        self.lines += 1;
        Ok(())
    }

    /// Whether it is time to fold.
    #[must_use]
    pub fn is_long(&self, records: usize) -> bool {
        self.lines >= FOLD_AFTER + records
    }

    /// Writes all records as a snapshot; the log begins anew.
    ///
    /// # Errors
    /// Where the disk does not take it; then the log stays.
    pub fn fold<'a>(&mut self, records: impl Iterator<Item = (&'a str, &'a Record)>, now: Moment) -> Result<(), PathError> {
        let records = records.map(|(job, record)| (job.to_owned(), record.clone())).collect();
        let snapshot = Snapshot { schema: 1, at: now.wall, boot_ms: millis(now.boot), boot: process::boot(), records };
        let path = self.dir.join("state.json");
        let text = to_text(&path, &snapshot)?;
        disk::replace(&path, &text, Some(0o600))?;
        // A log that stays after a kill here says again what the snapshot says.
        if disk::look(&self.dir.join("state.log"))?.is_some() {
            disk::remove_file(&self.dir.join("state.log"))?;
        }
        self.lines = 0;
        Ok(())
    }

    /// The name of the claim of an instant.
    #[must_use]
    pub fn claim_name(job: &str, instant: Timestamp) -> String {
        format!("{job}@{:020}", instant.as_millisecond())
    }

    /// Claims an instant: `false` where somebody has it already.
    ///
    /// # Errors
    /// Where the disk does not take it: then nothing may be started.
    pub fn claim(&self, job: &str, instant: Timestamp) -> Result<bool, PathError> {
        let path = self.dir.join("claims").join(Self::claim_name(job, instant));
        if disk::look(&path)?.is_some() {
            return Ok(false);
        }
        let claim = Claim { schema: 1, job: job.to_owned(), instant, process: Identity::of_self(), host: process::host() };
        match disk::write_new(&path, &to_text(&path, &claim)?, 0o600) {
            Ok(()) => Ok(true),
            Err(error) if error.source.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The claims that are there; what can't be read has no content.
    ///
    /// # Errors
    /// Where the folder can't be read.
    pub fn claims(&self) -> Result<Vec<(String, Option<Claim>)>, PathError> {
        let dir = self.dir.join("claims");
        let entries = disk::list(&dir)?;
        let names = entries.iter().filter_map(|entry| entry.name.to_str()).filter(|name| name.contains('@'));
        Ok(names.map(|name| (name.to_owned(), self.claim_of(name))).collect())
    }

    /// Adds a claim to a record, and removes those that are old.
    pub fn keep_claim(&self, record: &mut Record, name: String) {
        record.past.claims.push(name);
        self.prune(record);
    }

    /// Removes the claims and the runs that a record has had for longest.
    pub fn prune(&self, record: &mut Record) {
        while record.past.claims.len() > KEEP_CLAIMS {
            let old = record.past.claims.remove(0);
            let _ = disk::remove_file(&self.dir.join("claims").join(old));
        }
        while record.past.runs.len() > KEEP_RUNS {
            let old = record.past.runs.remove(0);
            let _ = disk::remove_tree(&self.run_dir(&old));
        }
    }

    /// Removes all that is kept for a record.
    pub fn forget(&self, record: &Record) {
        for claim in &record.past.claims {
            let _ = disk::remove_file(&self.dir.join("claims").join(claim));
        }
        for run in &record.past.runs {
            let _ = disk::remove_tree(&self.run_dir(run));
        }
    }

    /// What stands in a claim; `None` where it can't be read.
    #[must_use]
    pub fn claim_of(&self, name: &str) -> Option<Claim> {
        let text = disk::read_bounded(&self.dir.join("claims").join(name), 64 * 1024).ok()??;
        serde_json::from_slice(&text).ok()
    }

    /// Asks the clock that runs for a root to run a job now. The instant that it runs for is the answer.
    ///
    /// # Errors
    /// Where it can't be written.
    pub fn wish(dir: &Path, job: &str, at: Timestamp) -> Result<(), PathError> {
        disk::make_dirs(&dir.join("now"))?;
        let path = dir.join("now").join(Self::claim_name(job, at));
        disk::write_new(&path, &to_text(&path, &Wish { schema: 1, job: job.to_owned(), at })?, 0o600)
    }

    /// When the folder of what is to be run now last changed.
    #[must_use]
    pub fn wished(&self) -> Option<i128> {
        disk::look_through(&self.dir.join("now")).ok().flatten().map(|meta| meta.mtime_ns)
    }

    /// What is to be run now: file, job, instant. What can't be read is taken away.
    pub fn wishes(&self) -> Vec<(String, String, Timestamp)> {
        let dir = self.dir.join("now");
        let Ok(Some(entries)) = disk::list_at_most(&dir, MAX_WISHES) else { return Vec::new() };
        let mut found = Vec::new();
        for name in entries.iter().filter_map(|entry| entry.name.to_str()).filter(|name| !name.starts_with('.')) {
            let wish = disk::read_bounded(&dir.join(name), 64 * 1024).ok().flatten();
            match wish.and_then(|text| serde_json::from_slice::<Wish>(&text).ok()) {
                Some(wish) => found.push((name.to_owned(), wish.job, wish.at)),
                None => self.forget_wish(name),
            }
        }
        found
    }

    /// It was dealt with.
    pub fn forget_wish(&self, file: &str) {
        let _ = disk::remove_file(&self.dir.join("now").join(file));
    }

    /// The runs that have a folder.
    #[must_use]
    pub fn run_ids(&self) -> Vec<String> {
        let entries = disk::list(&self.dir.join("runs")).unwrap_or_default();
        entries.into_iter().filter_map(|entry| entry.name.into_string().ok()).collect()
    }

    /// The folder of a run.
    #[must_use]
    pub fn run_dir(&self, run: &str) -> PathBuf {
        self.dir.join("runs").join(run)
    }
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn to_text<T: Serialize>(path: &Path, value: &T) -> Result<Vec<u8>, PathError> {
    let mut text = serde_json::to_vec(value).map_err(|error| PathError::new("write", path, error.into()))?;
    text.push(b'\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn moment() -> Moment {
        Moment { wall: Timestamp::UNIX_EPOCH, boot: Duration::ZERO, up: Duration::ZERO }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever stands in claims, wishes, snapshot and log: it is read or passed over, and an instant is still claimed
        /// by one alone.
        #[test]
        fn a_state_of_rubbish_is_opened(
            snapshot in prop_oneof![Just(Vec::new()), prop::collection::vec(any::<u8>(), 0..80), Just(b"{\"schema\":1}".to_vec())],
            log in prop::collection::vec(any::<u8>(), 0..80),
            claim in prop::collection::vec(any::<u8>(), 0..80),
            name in "[a-z@:.]{1,12}",
        ) {
            let dir = PathBuf::from("/tmp").join(format!("loci-store-{}-{:?}", std::process::id(), std::thread::current().id()));
            let _ = disk::remove_tree(&dir);
            let folder = Store::folder(&dir, Path::new("/r"));
            for one in ["claims", "now"] {
                disk::make_dirs(&folder.join(one)).unwrap();
                if !matches!(name.as_str(), "." | "..") {
                    disk::write_new(&folder.join(one).join(&name), &claim, 0o600).unwrap();
                }
            }
            disk::write_new(&folder.join("state.json"), &snapshot, 0o600).unwrap();
            disk::write_new(&folder.join("state.log"), &log, 0o600).unwrap();
            let (store, found) = Store::open(&dir, Path::new("/r"), moment()).unwrap();
            prop_assert!(!found.notices.is_empty());
            prop_assert!(store.wishes().is_empty());
            prop_assert!(store.claims().unwrap().iter().all(|(_, claim)| claim.is_none()));
            prop_assert!(store.claim("job", Timestamp::UNIX_EPOCH).unwrap());
            prop_assert!(!store.claim("job", Timestamp::UNIX_EPOCH).unwrap());
            prop_assert_eq!(store.claim_of(&Store::claim_name("job", Timestamp::UNIX_EPOCH)).unwrap().job, "job");
            disk::remove_tree(&dir).unwrap();
        }
    }
}
