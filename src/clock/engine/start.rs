//! A start: claim, set, stamps, process, record, gate, in this order, so that a kill between two of them
//! never starts an instant twice and never loses one.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use super::{Clock, Flight, Pending, Phase};
use crate::clock::deliverable::{self, Lack};
use crate::clock::job::{Action, Job, Loadout};
use crate::clock::ledger::Failure;
use crate::clock::record::Outcome;
use crate::clock::runs::{Order, Processes, Run};
use crate::clock::store::Store;
use crate::loadout::set::Set;
use crate::loadout::{Level, scope, wear};
use crate::sys::time::Moment;
use crate::sys::{disk, process, random};
use crate::tree::resolve::{self, Request};

impl<P: Processes> Clock<P> {
    /// Starts an instant; `false`: it could not be claimed on disk, and goes on waiting.
    pub(super) fn start(&mut self, name: &str, job: &Arc<Job>, pending: &Pending, now: Moment) -> bool {
        let claim = Store::claim_name(name, pending.instant);
        if pending.attempt == 0 {
            match self.store.claim(name, pending.instant) {
                Ok(true) => self.voice.over("claim"),
                Ok(false) => {
                    self.claimed_before(name, &claim, pending.instant, now);
                    return true;
                }
                Err(error) => {
                    // The path is another one each time; what is wrong is not.
                    let why = format!("instants can't be claimed ({}); nothing is started", error.source);
                    self.say("claim", why, now);
                    return false;
                }
            }
        }
        if let Some(terminal) = job.beat.as_ref().and_then(|beat| beat.terminal.clone()) {
            return self.type_beat(name, job, &terminal, pending, &claim, now);
        }
        match self.launch(name, job, pending, &claim, now) {
            Ok(()) => true,
            Err(Refused::Disk(why)) => {
                self.say("claim", format!("{name}: nothing is started: {why}"), now);
                if pending.attempt == 0 {
                    // It was not started: whoever looks next may.
                    let _ = disk::remove_file(&self.store.dir().join("claims").join(&claim));
                }
                false
            }
            Err(Refused::Human) => {
                self.note(name, Outcome::SkippedHuman, pending.instant, &claim, now);
                true
            }
            Err(Refused::Idle) => {
                self.note(name, Outcome::SkippedIdle, pending.instant, &claim, now);
                true
            }
            Err(Refused::Failed(lack)) => {
                self.note(name, Outcome::Missing, pending.instant, &claim, now);
                let failure =
                    Failure { cause: Some(Outcome::Missing), missing: vec![lack], instant: Some(pending.instant), ..Failure::default() };
                self.block(name, failure, job.notify, now);
                true
            }
        }
    }

    /// A beat that is typed. It is counted before, so that one that was typed is never typed again.
    fn type_beat(&mut self, name: &str, job: &Arc<Job>, terminal: &str, pending: &Pending, claim: &str, now: Moment) -> bool {
        let Action::Agent { message, .. } = &job.action else { return true };
        let Some(slot) = self.slots.get_mut(name) else { return true };
        let was = slot.record.clone();
        slot.record.count_run(job.zone.to_datetime(now.wall).date());
        slot.record.last = slot.record.last.max(Some(pending.instant));
        slot.record.past.outcome = None;
        slot.record.past.claims.push(claim.to_owned());
        if !self.save(name, now) {
            if let Some(slot) = self.slots.get_mut(name) {
                slot.record = was;
            }
            let _ = disk::remove_file(&self.store.dir().join("claims").join(claim));
            return false;
        }
        let lock = self.root.state.join("human.lock");
        let touched = || disk::look_through(&lock).ok().flatten().map(|meta| meta.mtime_ns);
        let before = touched();
        let human = job.beat.as_ref().is_some_and(|beat| self.human(beat.lock_fresh, now));
        let state = self.root.state.clone();
        // Whoever comes between the check and the typing has touched the lock.
        let typed = if human { Ok(false) } else { self.procs.type_in(&state, terminal, message, &|| touched() == before) };
        if !matches!(typed, Ok(true))
            && let Some(slot) = self.slots.get_mut(name)
        {
            slot.record = was;
        }
        match typed {
            Ok(true) => {
                if let Some(slot) = self.slots.get_mut(name) {
                    slot.record.note(Outcome::Unjudged, pending.instant);
                    self.store.prune(&mut slot.record);
                }
                if let Some(entry) = self.ledger.fold.ended(name, crate::clock::ledger::Event::Resolved, None, now.wall) {
                    self.ledger.append(entry);
                    self.voice.over(&format!("block {name}"));
                }
                self.save(name, now);
            }
            Ok(false) => self.note(name, Outcome::SkippedHuman, pending.instant, claim, now),
            Err(why) => {
                self.note(name, Outcome::Missing, pending.instant, claim, now);
                let missing = vec![lack("target", why)];
                let failure = Failure { cause: Some(Outcome::Missing), missing, instant: Some(pending.instant), ..Failure::default() };
                self.block(name, failure, job.notify, now);
            }
        }
        true
    }

    /// Notes what came of a claimed instant that nothing was started for.
    fn note(&mut self, name: &str, outcome: Outcome, instant: Timestamp, claim: &str, now: Moment) {
        if let Some(slot) = self.slots.get_mut(name) {
            slot.record.note(outcome, instant);
            self.store.keep_claim(&mut slot.record, claim.to_owned());
        }
        self.save(name, now);
    }

    fn launch(&mut self, name: &str, job: &Arc<Job>, pending: &Pending, claim: &str, now: Moment) -> Result<(), Refused> {
        let unguessable = random::hex20().map_err(|error| Refused::Disk(error.to_string()))?;
        let id = format!("{name}-{}-{}-{}", pending.instant.as_millisecond(), pending.attempt, unguessable.get(..6).unwrap_or("0"));
        let folder = self.store.run_dir(&id);
        disk::make_dirs(&folder).map_err(|error| Refused::Disk(error.source.to_string()))?;
        let dir = self.work_dir(job);
        if let Action::Agent { body, .. } | Action::Wake { body, .. } = &job.action
            && super::fire::below(&self.root.dir, body).is_none()
        {
            return Err(Refused::Failed(lack("agent", format!("{} is no directory below the root", body.display()))));
        }
        let carried = match &job.action {
            Action::Wake { agent, .. } => match self.carried(name, agent, &dir).map_err(Refused::Disk)? {
                Some(carried) => Some(carried),
                None => return Err(Refused::Idle),
            },
            _ => None,
        };
        // A loop is armed as one: its transition is no part of a turn.
        let armed = self.ticket.is_some() || self.trust.is_armed(job, &self.root.dir);
        let worn = match &job.loadout {
            None => None,
            Some(loadout) => Some(self.put_on(name, loadout, &dir, now).map_err(|why| Refused::Failed(lack("loadout", why)))?),
        };
        let before = deliverable::take(&dir, &job.deliverables);
        let run_dir = self.root.dir.clone();
        let order = Order {
            run: &id,
            job,
            dir: &run_dir,
            folder: &folder,
            message: carried.as_ref().map(|carried| carried.message.as_str()),
            hops: carried.as_ref().map_or(0, |carried| carried.hops),
            armed,
            ticket: self.ticket.as_deref(),
        };
        let process = match self.procs.start(&order) {
            Ok(process) => process,
            Err(error) => {
                let why = format!("it can't be started: {error}");
                let full = matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::ReadOnlyFilesystem);
                return Err(if full { Refused::Disk(why) } else { Refused::Failed(lack("run", why)) });
            }
        };
        let run = Run {
            schema: 1,
            id: id.clone(),
            job: name.to_owned(),
            instant: pending.instant,
            attempt: pending.attempt,
            started: now.wall,
            started_up_ms: u64::try_from(now.up.as_millis()).unwrap_or(u64::MAX),
            late: pending.late,
            process,
            handed: false,
            armed,
            answers: carried.as_ref().map(|carried| carried.awaited.clone()).unwrap_or_default(),
            dir,
            deliverables: job.deliverables.to_vec(),
            before,
            timeout_s: job.timeout.as_secs(),
            kill_grace_s: job.kill_grace.as_secs(),
            settle_s: job.settle.as_secs(),
            log_max: job.log_max,
            notify: job.notify,
            outcome: None,
            ended: None,
            exit: None,
            missing: Vec::new(),
        };
        if let Err(error) = run.write(&folder) {
            self.procs.abandon(&id);
            return Err(Refused::Disk(error.source.to_string()));
        }
        let Some(slot) = self.slots.get_mut(name) else { return Err(Refused::Disk("the job is gone".to_owned())) };
        let was = slot.record.clone();
        let day = job.zone.to_datetime(now.wall).date();
        slot.record.count_run(day);
        slot.record.last = slot.record.last.max(Some(pending.instant));
        slot.record.past.running = Some(id.clone());
        slot.record.past.outcome = None;
        if let Some(carried) = &carried {
            slot.record.past.woken.retain(|key| carried.waiting.contains(key));
            let new = carried.awaited.iter().filter(|one| !was.past.woken.contains(&one.key)).map(|one| one.key.clone());
            slot.record.past.woken.extend(new);
        }
        if pending.attempt == 0 {
            slot.record.past.claims.push(claim.to_owned());
        }
        slot.record.past.runs.push(id.clone());
        if !self.save(name, now) {
            self.procs.abandon(&id);
            if let Some(slot) = self.slots.get_mut(name) {
                slot.record = was;
            }
            return Err(Refused::Disk("the state can't be written".to_owned()));
        }
        // Between the check and the first word a person may have come.
        if let Some(beat) = &job.beat
            && self.human(beat.lock_fresh, now)
        {
            self.procs.abandon(&id);
            if let Some(slot) = self.slots.get_mut(name) {
                slot.record = was;
            }
            return Err(Refused::Human);
        }
        if let Some(slot) = self.slots.get_mut(name) {
            self.store.prune(&mut slot.record);
        }
        // Where the gate is gone the program is too: the next look finds it ended.
        let _ = self.procs.release(&id);
        self.flights.insert(id, Flight { run, phase: Phase::Running, job: Some(Arc::clone(job)), worn });
        Ok(())
    }

    /// An instant that is claimed already: by this clock, which then was killed before it started
    /// anything; by one on another machine; or dealt with long ago, and the wall clock was set back.
    fn claimed_before(&mut self, name: &str, claim: &str, instant: Timestamp, now: Moment) {
        let known = self.slots.get(name).is_some_and(|slot| slot.record.past.claims.iter().any(|one| one == claim));
        let host = self.store.claim_of(claim).map(|claim| claim.host);
        if !known && host.as_ref().is_none_or(|host| *host == process::host()) {
            self.interrupted(name, claim, instant, now);
            return;
        }
        if let Some(host) = host.filter(|_| !known) {
            self.say(&format!("claim {name}"), format!("{name}: the clock on {} has this instant", crate::sys::shown::text(&host)), now);
        }
        if let Some(slot) = self.slots.get_mut(name) {
            slot.record.last = slot.record.last.max(Some(instant));
        }
        self.save(name, now);
    }

    /// A claim that nothing was started for: the instant is over.
    pub(super) fn interrupted(&mut self, name: &str, claim: &str, instant: Timestamp, now: Moment) {
        self.note(name, Outcome::Interrupted, instant, claim, now);
        let job = self.slots.get(name).and_then(|slot| slot.job.as_ref()?.job(name));
        let notify = job.is_none_or(|job| job.notify);
        let failure = Failure { cause: Some(Outcome::Interrupted), instant: Some(instant), ..Failure::default() };
        self.block(name, failure, notify, now);
    }

    /// Claims of this machine that no record knows: a kill between the claim and the start.
    pub(super) fn settle_claims(&mut self, now: Moment) {
        let claims = match self.store.claims() {
            Ok(claims) => claims,
            Err(error) => {
                self.say("claims", format!("the claims can't be read: failed to {error}: {}", error.source), now);
                return;
            }
        };
        let known: std::collections::BTreeSet<String> =
            self.slots.values().flat_map(|slot| slot.record.past.claims.iter().cloned()).collect();
        for (file, claim) in claims.into_iter().filter(|(file, _)| !known.contains(file)) {
            let Some(claim) = claim.filter(|claim| claim.host == process::host()) else { continue };
            if !self.slots.contains_key(&*claim.job) {
                self.slots.insert(claim.job.clone().into(), Box::default());
            }
            self.interrupted(&claim.job, &file, claim.instant, now);
        }
    }

    /// The level whose items a set of a job switches.
    fn level(&self, dir: &Path) -> Level {
        Level { dir: dir.to_owned(), dotdirs: self.root.dotdirs.clone(), state: self.root.state.clone() }
    }

    fn put_on(&mut self, name: &str, loadout: &Loadout, dir: &Path, now: Moment) -> Result<scope::Worn, String> {
        let level = self.level(dir);
        let set = match loadout {
            Loadout::Inline(text) => Set::parse(text, true).map_err(|(_, why)| why)?,
            Loadout::Named(saved) => self.saved_set(&level, saved)?,
        };
        if set.has_hooks() {
            return Err("a set of a job can't switch hooks: that is for people".to_owned());
        }
        let worn = scope::put_on(&level, &format!("the clock: {name}"), &[&set], false).map_err(|error| error.to_string())?;
        for sentence in worn.settled.sentences() {
            self.say("loadout", sentence, now);
        }
        Ok(worn)
    }

    /// The nearest saved set of a name, as `loci equip` finds it.
    fn saved_set(&self, level: &Level, name: &str) -> Result<Set, String> {
        let request = Request {
            home: Some(self.root.home.clone()),
            launch: Some(level.dir.clone()),
            active: None,
            slot: "sets".to_owned(),
            dotdirs: level.dotdirs.clone(),
        };
        let found = resolve::resolve(&request).map_err(|error| error.to_string())?;
        let is = |rel: &Path| rel.with_extension("").as_os_str() == name;
        let file = found.files.iter().rev().find(|file| is(&file.rel)).ok_or_else(|| format!("no set is called `{name}`"))?;
        Set::read(&file.path).map_err(|error| error.to_string())
    }

    /// Sets that a clock which was killed had put on are taken back, before anything fires.
    pub(super) fn restore_sets(&mut self, now: Moment) {
        let jobs = self.slots.values().filter_map(|slot| slot.job.as_ref()).filter(|job| job.wears);
        let mut dirs: std::collections::BTreeSet<std::path::PathBuf> = jobs.map(|job| self.dir_of(job.body.as_deref())).collect();
        dirs.extend(self.flights.values().map(|flight| flight.run.dir.clone()));
        dirs.insert(self.root.dir.clone());
        for dir in dirs {
            let level = self.level(&dir);
            let open = crate::sys::journal::open(&level.state, &level.key()).is_ok_and(|open| open.is_none());
            if open && scope::open(&level).is_ok_and(|scopes| scopes.is_empty()) {
                continue;
            }
            match wear::begin(&level, "loci clock").map(|(_, settled)| settled.sentences()) {
                Ok(sentences) => sentences.into_iter().for_each(|sentence| self.say(&format!("loadout {}", dir.display()), sentence, now)),
                Err(error) => self.say("loadout", format!("a set that was worn can't be taken back: {error}"), now),
            }
        }
    }
}

/// Why nothing was started.
enum Refused {
    /// The disk does not take it: later perhaps.
    Disk(String),
    /// A person came.
    Human,
    /// Nothing is left to be done.
    Idle,
    /// It can't be.
    Failed(Lack),
}

fn lack(path: &str, why: String) -> Lack {
    Lack { path: path.to_owned(), why }
}
