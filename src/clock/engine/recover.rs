//! What runs and claims say where the state does not: a state that is lost is put together again from them, and
//! folders of runs that no record knows are taken away.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::{Clock, Slot};
use crate::clock::record::{Judged, Record};
use crate::clock::runs::{Processes, Run};
use crate::sys::disk;
use crate::sys::process;
use crate::sys::time::Moment;

impl<P: Processes> Clock<P> {
    /// The state is lost. What it had of jobs that ran stands in the folders of their runs and in their claims: without it
    /// an instant would be run for once more.
    pub(super) fn recover(&mut self) {
        let mut runs: BTreeMap<String, Vec<Run>> = BTreeMap::new();
        for run in self.store.run_ids().iter().filter_map(|id| Run::read(&self.store.run_dir(id))) {
            if !self.slots.contains_key(&*run.job) {
                runs.entry(run.job.clone()).or_default().push(run);
            }
        }
        let mut claims: BTreeMap<String, Vec<(Timestamp, String)>> = BTreeMap::new();
        for (file, claim) in self.store.claims().unwrap_or_default() {
            let Some(claim) = claim.filter(|claim| claim.host == process::host()) else { continue };
            if !self.slots.contains_key(&*claim.job) {
                claims.entry(claim.job).or_default().push((claim.instant, file));
            }
        }
        let jobs: BTreeSet<String> = runs.keys().chain(claims.keys()).cloned().collect();
        for job in jobs {
            let record = record_of(runs.remove(&job).unwrap_or_default(), claims.remove(&job).unwrap_or_default());
            self.slots.insert(job.into(), Box::new(Slot { record, ..Slot::default() }));
        }
    }

    /// The day's budget goes on: what was started today counts, by the day of the job.
    pub(super) fn recover_budgets(&mut self, now: Moment) {
        let names: Vec<Arc<str>> =
            self.slots.iter().filter(|(_, slot)| !slot.record.past.runs.is_empty()).map(|(name, _)| Arc::clone(name)).collect();
        for name in names {
            let Some(slot) = self.slots.get(&name) else { continue };
            let Some(job) = slot.live_job(&name).filter(|_| slot.record.past.day.is_none()) else { continue };
            let today = job.zone.to_datetime(now.wall).date();
            let runs = slot.record.past.runs.iter().filter_map(|id| Run::read(&self.store.run_dir(id)));
            let count = runs.filter(|run| job.zone.to_datetime(run.started).date() == today).count();
            if let Some(slot) = self.slots.get_mut(&name) {
                slot.record.past.day = Some((today.to_string(), u32::try_from(count).unwrap_or(u32::MAX)));
            }
        }
    }

    /// Folders of runs that no record knows: a clock that was killed had made them, and started nothing in them.
    pub(super) fn sweep_runs(&self) {
        let known: BTreeSet<&str> = self
            .slots
            .values()
            .flat_map(|slot| {
                let past = &slot.record.past;
                past.runs.iter().chain(&past.running).chain(past.judged.as_ref().map(|judged| &judged.run))
            })
            .map(String::as_str)
            .collect();
        for id in self.store.run_ids().iter().filter(|id| !known.contains(&***id) && !self.flights.contains_key(&**id)) {
            let _ = disk::remove_tree(&self.store.run_dir(id));
        }
    }
}

/// What a job's runs and claims say of it. A claim that is newer than each of its runs is left out: nothing says that
/// anything came of it.
fn record_of(mut runs: Vec<Run>, mut claims: Vec<(Timestamp, String)>) -> Record {
    runs.sort_by_key(|run| run.started);
    claims.sort();
    let last = runs.iter().map(|run| run.instant).max();
    let open = claims.last().is_some_and(|(instant, _)| last.is_none_or(|last| *instant > last));
    if open {
        claims.pop();
    }
    let mut record = Record { last: last.max(claims.last().map(|(instant, _)| *instant)), ..Record::default() };
    let past = &mut record.past;
    past.claims = claims.into_iter().map(|(_, file)| file).collect();
    past.counts.started = runs.len() as u64;
    past.runs = runs.iter().map(|run| run.id.clone()).collect();
    if let Some(run) = runs.last() {
        past.outcome = run.outcome;
        past.running = run.outcome.is_none().then(|| run.id.clone());
    }
    past.judged = runs.iter().rev().find_map(|run| {
        let (outcome, at) = (run.outcome?, run.ended.unwrap_or(run.started));
        Some(Box::new(Judged { outcome, at, instant: run.instant, run: run.id.clone(), exit: run.exit, late: run.late }))
    });
    record
}
