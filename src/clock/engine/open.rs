//! A clock begins: what was left half done is settled first.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::{Clock, Root, Slot, load, loops, voice};
use crate::clock::ledger::Ledger;
use crate::clock::runs::Processes;
use crate::clock::store::Store;
use crate::clock::trust::Trust;
use crate::sys::disk::PathError;
use crate::sys::process;
use crate::sys::time::Moment;

impl<P: Processes> Clock<P> {
    /// Opens the clock of a root: what was left half done is settled, the jobs are read, runs that are
    /// still on are taken up again. Nothing fires before the first tick.
    ///
    /// # Errors
    /// Where the state folder can't be used.
    pub fn open(root: Root, procs: P, now: Moment) -> Result<Self, PathError> {
        let (store, found) = Store::open(&root.state, &root.dir, now)?;
        let (ledger, said, ledger_is_read) = Ledger::open(&root.dir);
        let mut clock = Self {
            trust: Trust::default(),
            store,
            ledger,
            procs,
            slots: BTreeMap::new(),
            embodied: None,
            heap: BinaryHeap::new(),
            busy: BTreeSet::new(),
            flights: BTreeMap::new(),
            voice: voice::Voice::default(),
            reference: now,
            knocked: load::Knocked::default(),
            swept: None,
            sweeps: load::Sweeps::default(),
            future_lock: None,
            posts: BTreeMap::new(),
            wished: None,
            only: None,
            perceived: None,
            polls: 0,
            looked: loops::Looked::default(),
            ticket: None,
            ticks: 0,
            loads: 0,
            saves: 0,
            root,
        };
        for notice in found.notices {
            clock.say("state", notice, now);
        }
        if let Some(said) = said {
            clock.say("ledger", said, now);
        }
        for (job, record) in found.records {
            clock.slots.insert(job.into(), Box::new(Slot { record, ..Slot::default() }));
        }
        if found.lost {
            clock.recover();
        }
        clock.take_up(now);
        clock.sweep(true, now);
        if found.lost {
            clock.recover_budgets(now);
        }
        // Of one that can't be read nobody knows what it has not heard of.
        if ledger_is_read {
            clock.make_up(now);
        }
        if let Some((at, boot, id)) = found.clocks
            && id == process::boot()
        {
            // A correction while nobody looked.
            clock.reference = Moment { wall: at, boot, ..now };
            clock.compare_clocks(now);
            clock.reference = now;
        }
        clock.restore_sets(now);
        clock.settle_claims(now);
        clock.sweep_runs();
        clock.fold(now, true);
        Ok(clock)
    }
}
