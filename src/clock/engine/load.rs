//! Job definitions from disk: on a knock of whoever watches, and in a sweep, whoever watched.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::definition::Definition;
use super::{Clock, SWEEP};
use crate::clock::decide;
use crate::clock::job::{self, HEARTBEAT, Loaded, Need};
use crate::clock::runs::Processes;
use crate::clock::wake;
use crate::sys::disk::{self, Kind};
use crate::sys::time::Moment;

/// In how many sweeps one lists the folder, whatever its time says.
const LIST: u64 = 10;

/// How many files a sweep looks at in turn. Only what was changed in place while the watcher was deaf is found by this.
const SLICE: usize = 500;

/// The most jobs of one root.
const MAX_JOBS: usize = 100_000;

/// What may have changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Knock {
    /// One job.
    Job(String),
    /// Anything.
    All,
}

#[derive(Debug, Default)]
pub(super) struct Knocked {
    all: bool,
    jobs: BTreeSet<String>,
}

/// How far sweeps have come.
#[derive(Debug, Default)]
pub(super) struct Sweeps {
    count: u64,
    /// When the folder of jobs last changed, as it was last listed.
    folder: Option<i128>,
    /// The last job that was looked at in turn.
    cursor: Option<Arc<str>>,
}

/// By what a changed file is told without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    inode: u64,
    len: u64,
    mtime_ns: i64,
}

impl<P: Processes> Clock<P> {
    /// Somebody says that files may have changed. The next tick looks.
    pub fn knock(&mut self, knock: Knock) {
        match knock {
            Knock::All => self.knocked.all = true,
            Knock::Job(name) => _ = self.knocked.jobs.insert(name),
        }
    }

    pub(super) fn reload(&mut self, now: Moment) {
        let due = self.swept.is_none_or(|last| now.boot.saturating_sub(last) >= SWEEP);
        let folder = if due { disk::look_through(&self.root.dotdir().join("jobs")).ok().flatten().map(|meta| meta.mtime_ns) } else { None };
        self.sweeps.count += u64::from(due);
        if self.knocked.all {
            self.knocked = Knocked::default();
            self.sweep(true, now);
        } else if due {
            if folder != self.sweeps.folder || self.sweeps.count.is_multiple_of(LIST) {
                self.sweep(false, now);
            }
            self.look_in_turn(now);
        } else if !self.knocked.jobs.is_empty() {
            let mut changed = false;
            for name in std::mem::take(&mut self.knocked.jobs) {
                changed |= self.look_at(&name, now);
            }
            if changed {
                self.check_needs(now);
            }
        }
    }

    /// What a list of the folder does not show are files that were changed in place and that nobody knocked
    /// for: some of them are looked at each time, so that a sweep costs the same however many there are.
    fn look_in_turn(&mut self, now: Moment) {
        use std::ops::Bound;
        self.swept = Some(now.boot);
        let cursor = self.sweeps.cursor.take();
        let from = cursor.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let range = self.slots.range::<str, _>((from, Bound::Unbounded));
        let mut names: Vec<Arc<str>> = range
            .filter(|(name, _)| !name.starts_with(wake::PREFIX) && !super::loops::is_ours(name))
            .take(SLICE)
            .map(|(name, _)| name.clone())
            .collect();
        if names.len() == SLICE {
            self.sweeps.cursor = names.last().cloned();
        }
        names.push(HEARTBEAT.into());
        names.extend(std::mem::take(&mut self.knocked.jobs).into_iter().map(Arc::from));
        let mut changed = false;
        for name in names {
            changed |= self.look_at(&name, now);
        }
        if changed {
            self.check_needs(now);
        }
    }

    /// Looks at every file, or at those that the list of the folder shows to be others than they were: what came, what
    /// is gone, what was replaced.
    pub(super) fn sweep(&mut self, every: bool, now: Moment) {
        self.swept = Some(now.boot);
        self.loads += 1;
        let first = self.ticks == 0;
        let dir = self.root.dotdir().join("jobs");
        // Before it is listed: what changes in between makes the next sweep a full one.
        self.sweeps.folder = disk::look_through(&dir).ok().flatten().map(|meta| meta.mtime_ns);
        let mut present: BTreeMap<String, u64> = BTreeMap::new();
        match disk::list_unsorted(&dir) {
            Ok(entries) => {
                self.voice.over("jobs folder");
                let files = entries.iter().filter(|entry| entry.kind != Kind::Dir);
                let names = files.filter_map(|entry| Some((entry.name.to_str()?.strip_suffix(".md")?, entry.inode)));
                let names = names.filter(|(name, _)| !name.starts_with('.')).take(MAX_JOBS);
                present.extend(names.map(|(name, inode)| (name.to_owned(), inode)));
            }
            Err(error) if disk::is_absent(&error.source) => {}
            Err(error) => {
                // What can't be looked at is not gone.
                self.say(
                    "jobs folder",
                    format!("the jobs can't be read (failed to {error}: {}); they stay as they were", error.source),
                    now,
                );
                return;
            }
        }
        let mut changed = first;
        let is_file = |name: &str| !name.starts_with(wake::PREFIX) && !super::loops::is_ours(name);
        let known: Vec<Arc<str>> =
            self.slots.iter().filter(|(name, slot)| slot.record.gone.is_none() && is_file(name)).map(|(name, _)| name.clone()).collect();
        for name in known.iter().filter(|name| !present.contains_key(&***name)) {
            changed |= self.look_at(name, now);
        }
        present.insert(HEARTBEAT.to_owned(), 0);
        for (name, inode) in present {
            // A link shows an inode of its own, and is looked at.
            let same = self.slots.get(&*name).is_some_and(|slot| slot.is_there() && slot.stamp.is_some_and(|stamp| stamp.inode == inode));
            if every || !same {
                changed |= self.look_at(&name, now);
            }
        }
        if changed {
            self.check_needs(now);
        }
    }

    fn path_of(&self, name: &str) -> PathBuf {
        if name == HEARTBEAT { self.root.dotdir().join("heartbeat.md") } else { self.root.dotdir().join("jobs").join(format!("{name}.md")) }
    }

    /// Looks at the file of one job; whether anything changed.
    fn look_at(&mut self, name: &str, now: Moment) -> bool {
        let path = self.path_of(name);
        let meta = match disk::look_through(&path) {
            Ok(meta) => meta.filter(|meta| meta.kind == Kind::File),
            Err(_) => return false,
        };
        let Some(meta) = meta else { return self.remove(name, now) };
        let stamp = FileStamp { inode: meta.id.1, len: meta.len, mtime_ns: i64::try_from(meta.mtime_ns).unwrap_or(i64::MIN) };
        let known = self.slots.get(name);
        if known.is_some_and(|slot| slot.stamp == Some(stamp) && slot.record.gone.is_none()) {
            return false;
        }
        let bytes = match disk::read_bounded(&path, job::MAX_BYTES) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => vec![0; usize::try_from(job::MAX_BYTES).unwrap_or(usize::MAX).saturating_add(1)],
            Err(error) if disk::is_absent(&error.source) => return self.remove(name, now),
            Err(error) => {
                self.say(&format!("job {name}"), format!("{name}: failed to {error}: {}", error.source), now);
                return false;
            }
        };
        let parsed = if name == HEARTBEAT { job::parse_beat(&path, &bytes) } else { job::parse(name, &path, &bytes).map(Some) };
        if !self.slots.contains_key(name) {
            self.slots.insert(name.into(), Box::default());
        }
        let key = format!("job {name}");
        match parsed {
            Ok(Some(loaded)) => {
                self.voice.over(&key);
                self.put(name, stamp, loaded, &bytes, now);
            }
            Ok(None) => return self.remove(name, now),
            Err(error) => {
                let kept = self.slots.get(name).is_some_and(|slot| slot.job.is_some());
                let kept = if kept { "; the definition before stays in force" } else { "" };
                self.say(&key, format!("{error}{kept}"), now);
                if let Some(slot) = self.slots.get_mut(name) {
                    (slot.stamp, slot.error) = (Some(stamp), Some(error.to_string().into()));
                }
            }
        }
        true
    }

    /// A definition comes into force.
    fn put(&mut self, name: &str, stamp: FileStamp, loaded: Loaded, text: &[u8], now: Moment) {
        let mut notices = loaded.notices;
        let job = loaded.job;
        let schedule = job.schedule;
        let Some(slot) = self.slots.get_mut(name) else { return };
        self.embodied = None;
        let calls_model = job.calls_model;
        let edited = calls_model && slot.job.as_ref().and_then(|old| old.job(name)).is_some_and(|old| old.does != job.does);
        if job.beat.is_some() {
            if slot.job.is_none() || slot.record.when != schedule {
                decide::begin_beat(&mut slot.record, now.wall);
                slot.dealt = None;
            }
        } else if slot.record.seen.is_none() || slot.record.when != schedule || slot.record.gone.is_some() {
            decide::begin(&job.when, &mut slot.record, now.wall);
            slot.dealt = None;
        }
        slot.record.when = schedule;
        slot.record.gone = None;
        (slot.stamp, slot.error) = (Some(stamp), None);
        slot.job = Some(Definition::of_text(job, text));
        if edited {
            notices.push(format!("{name}: what it does was edited; it is dormant until `loci jobs arm {name}`"));
        }
        for notice in notices {
            self.say(&format!("job {name} notice"), notice, now);
        }
        self.schedule(name);
        if self.ticks > 0 {
            self.save(name, now);
        }
        if self.slots.get(name).is_some_and(|slot| slot.record.past.retry.is_some()) {
            self.busy.insert(name.into());
        }
    }

    /// Its file is gone.
    pub(super) fn remove(&mut self, name: &str, now: Moment) -> bool {
        let Some(slot) = self.slots.get_mut(name).filter(|slot| slot.record.gone.is_none()) else { return false };
        (slot.job, slot.error, slot.refused, slot.stamp, slot.next) = (None, None, None, None, None);
        slot.record.gone = Some(now.wall);
        self.embodied = None;
        if slot.record.past.retry.is_some() {
            slot.record.past.retry = None;
        }
        slot.waiting.clear();
        self.busy.remove(name);
        for key in [format!("job {name}"), format!("job {name} notice"), format!("block {name}")] {
            self.voice.over(&key);
        }
        if let Some(entry) = self.ledger.fold.ended(name, crate::clock::ledger::Event::Withdrawn, None, now.wall) {
            self.ledger.append(entry);
        }
        self.save(name, now);
        true
    }

    /// What jobs need of each other, after any of them changed.
    fn check_needs(&mut self, now: Moment) {
        let jobs = || self.slots.iter().filter_map(|(name, slot)| Some((name, slot.job.as_ref()?)));
        let names: Vec<Arc<str>> = jobs().map(|(name, _)| Arc::clone(name)).collect();
        let needs: BTreeMap<&str, &[Need]> = jobs().map(|(name, job)| (&**name, &*job.needs)).collect();
        let slots = &self.slots;
        let present = |name: &str| slots.get(name).is_some_and(|slot| slot.stamp.is_some() && slot.record.gone.is_none());
        let mut refused: BTreeMap<String, String> =
            job::refused(&needs, &present).into_iter().map(|(name, why)| (name.to_owned(), why)).collect();
        for name in &names {
            let why = refused.remove(&**name);
            let path = self.path_of(name);
            let was = self.slots.get(name).and_then(|slot| slot.refused.clone());
            let why = why.map(|why| format!("{}: needs: {why}", crate::sys::shown::path(&path)));
            if was.as_deref() == why.as_deref() {
                continue;
            }
            match &why {
                Some(why) => self.say(&format!("needs {name}"), why.clone(), now),
                None => self.voice.over(&format!("needs {name}")),
            }
            if let Some(slot) = self.slots.get_mut(name) {
                slot.refused = why.map(Into::into);
                self.embodied = None;
                if slot.refused.is_none() {
                    // It was not in force: nothing before counts.
                    slot.dealt = Some(now.wall);
                }
                slot.waiting.clear();
            }
            self.schedule(name);
        }
    }
}
