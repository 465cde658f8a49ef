//! Processes that are played: stand-in programs as the cases describe them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;
use loci::clock::job::Action;
use loci::clock::runs::{Life, Order, Processes, Run};
use loci::sys::lineage::{Member, Signal};
use loci::sys::process::Identity;
use loci::sys::time::Moment;
use serde_json::Value;

/// One played process.
#[derive(Debug, Clone)]
pub(super) struct Actor {
    pub(super) run: String,
    pub(super) job: String,
    pub(super) name: String,
    pub(super) identity: Identity,
    spec: Value,
    dir: PathBuf,
    ends: Option<Duration>,
    pub(super) gated: bool,
    pub(super) ended: Option<(Duration, Option<i32>)>,
    pub(super) ended_at: Option<Timestamp>,
    late: bool,
    reaped: bool,
}

/// One start.
#[derive(Debug, Clone)]
pub(super) struct Fire {
    pub(super) job: String,
    pub(super) run: String,
    pub(super) instant: Timestamp,
    pub(super) at: Timestamp,
    /// Whether each of the watched files was there.
    pub(super) files: BTreeMap<String, bool>,
}

/// Everything outside of the clock.
#[derive(Debug)]
pub(super) struct World {
    pub(super) now: Moment,
    pub(super) boot: String,
    pub(super) root: PathBuf,
    pub(super) specs: Vec<Value>,
    pub(super) beat: Value,
    pub(super) actors: Vec<Actor>,
    pub(super) fires: Vec<Fire>,
    pub(super) watched: Vec<String>,
    pub(super) typed: Vec<Timestamp>,
    pub(super) parallel: BTreeMap<String, usize>,
    pub(super) panics: Option<String>,
    next_pid: i32,
}

/// The processes of a simulated clock.
#[derive(Debug, Clone)]
pub(super) struct Actors(pub(super) Rc<RefCell<World>>);

/// Seconds of `90s`, `2h`.
pub(super) fn length(text: &str) -> Duration {
    loci::clock::schedule::duration::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

impl World {
    pub(super) fn new(now: Moment, root: PathBuf) -> Self {
        Self {
            now,
            boot: "boot-1".to_owned(),
            root,
            specs: Vec::new(),
            beat: Value::Null,
            actors: Vec::new(),
            fires: Vec::new(),
            watched: Vec::new(),
            typed: Vec::new(),
            parallel: BTreeMap::new(),
            panics: None,
            next_pid: 1000,
        }
    }

    fn identity(&mut self) -> Identity {
        self.next_pid += 1;
        Identity { pid: self.next_pid, start: u64::try_from(self.now.boot.as_millis() / 10).unwrap(), boot: self.boot.clone() }
    }

    fn actor(&mut self, name: &str, run: &str, job: &str, spec: Value, dir: PathBuf) -> Identity {
        let identity = self.identity();
        let (run, job, name) = (run.to_owned(), job.to_owned(), name.to_owned());
        let me = identity.clone();
        self.actors.push(Actor {
            run,
            job,
            name,
            identity: me,
            spec,
            dir,
            ends: None,
            gated: true,
            ended: None,
            ended_at: None,
            late: false,
            reaped: false,
        });
        identity
    }

    /// Somebody who has nothing to do with the clock.
    pub(super) fn stranger(&mut self, name: &str, identity: Identity) {
        let dir = self.root.clone();
        self.actor(name, "", "", Value::Null, dir);
        let stranger = self.actors.last_mut().unwrap();
        (stranger.identity, stranger.gated) = (identity, false);
    }

    pub(super) fn write(&self, dir: &std::path::Path, path: &str, text: &str, offset: Option<&str>) {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        if let Some(back) = offset {
            let at = std::time::SystemTime::now() - length(back.trim_start_matches('-'));
            fs::File::options().write(true).open(&path).unwrap().set_modified(at).unwrap();
        }
    }

    /// What processes do as time passes.
    pub(super) fn act(&mut self) {
        let now = self.now;
        for at in 0..self.actors.len() {
            let actor = self.actors[at].clone();
            if actor.gated {
                continue;
            }
            if actor.ended.is_none() && actor.ends.is_some_and(|ends| now.up >= ends) {
                self.end(at, Some(i32::try_from(actor.spec["exit"].as_i64().unwrap_or(0)).unwrap()), true);
            }
            if let Some((ended, _)) = self.actors[at].ended
                && !self.actors[at].late
                && let Some(late) = actor.spec["late_writes"].as_object()
                && now.up >= ended + length(late["after"].as_str().unwrap())
            {
                for (path, text) in late.iter().filter(|(key, _)| *key != "after") {
                    self.write(&actor.dir, path, text.as_str().unwrap(), None);
                }
                self.actors[at].late = true;
            }
        }
    }

    fn end(&mut self, at: usize, code: Option<i32>, works: bool) {
        let actor = self.actors[at].clone();
        if works {
            for (path, text) in actor.spec["writes"].as_object().into_iter().flatten() {
                self.write(&actor.dir, path, text.as_str().unwrap(), actor.spec["mtime_offset"].as_str());
            }
            if let Some(path) = actor.spec["temp_then_rename"].as_str() {
                fs::rename(actor.dir.join(format!("{path}.tmp")), actor.dir.join(path)).unwrap();
            }
        }
        self.actors[at].ended = Some((self.now.up, code));
        self.actors[at].ended_at = Some(self.now.wall);
    }

    pub(super) fn kill(&mut self, run_of: &str) {
        let at = self.actors.iter().rposition(|actor| actor.job == run_of && actor.ended.is_none()).unwrap();
        self.end(at, Some(137), false);
    }

    /// Everything that runs is gone with the machine.
    pub(super) fn reboot(&mut self, same_numbers: bool) {
        for at in 0..self.actors.len() {
            if self.actors[at].ended.is_none() {
                self.end(at, None, false);
                if same_numbers {
                    let identity = Identity { boot: "boot-2".to_owned(), ..self.actors[at].identity.clone() };
                    self.stranger("stranger", identity);
                }
            }
        }
        self.boot = "boot-2".to_owned();
    }

    /// Whether anything is still going on.
    pub(super) fn is_idle(&self) -> bool {
        self.actors
            .iter()
            .all(|actor| actor.run.is_empty() || (actor.ended.is_some() && (actor.late || actor.spec["late_writes"].is_null())))
    }

    /// Those that have ended and that nobody looked at.
    pub(super) fn zombies(&self) -> usize {
        // What ended within the last second is looked at by the next tick.
        let old = |ended: Duration| self.now.up.saturating_sub(ended) > Duration::from_secs(1);
        let ours = self.actors.iter().filter(|actor| !actor.run.is_empty() && actor.name == actor.job);
        ours.filter(|actor| actor.ended.is_some_and(|(ended, _)| old(ended)) && !actor.reaped).count()
    }

    fn of_run(&self, run: &str) -> impl Iterator<Item = usize> + '_ {
        let run = run.to_owned();
        (0..self.actors.len()).filter(move |at| self.actors[*at].run == run && self.actors[*at].ended.is_none())
    }

    fn members(&self, run: &str) -> Vec<Member> {
        self.of_run(run).map(|at| Member { identity: self.actors[at].identity.clone(), name: self.actors[at].name.clone() }).collect()
    }
}

impl Processes for Actors {
    fn start(&mut self, order: &Order<'_>) -> io::Result<Identity> {
        let mut world = self.0.borrow_mut();
        let job = order.job.name.to_string();
        let spec = match &order.job.action {
            Action::Run(line) => {
                let number: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
                world.specs[number].clone()
            }
            Action::Agent { .. } if job.starts_with("loop:") => serde_json::json!({ "takes": "10d" }),
            Action::Agent { .. } | Action::Wake { .. } => world.beat.clone(),
        };
        fs::write(loci::clock::runs::begun(order.folder), "").unwrap();
        let mut parts = order.run.rsplit('-');
        let instant: i64 = parts.nth(2).unwrap().parse().unwrap();
        let files = world.watched.iter().map(|path| (path.clone(), super::sim::place(&world.root, path).exists())).collect();
        let fire = Fire {
            job: job.clone(),
            run: order.run.to_owned(),
            instant: Timestamp::from_millisecond(instant).unwrap(),
            at: world.now.wall,
            files,
        };
        world.fires.push(fire);
        let dir = order.dir.to_owned();
        let identity = world.actor(&job.clone(), order.run, &job, spec, dir);
        let running = world.actors.iter().filter(|actor| actor.job == job && actor.name == job && actor.ended.is_none()).count();
        let most = world.parallel.entry(job).or_default();
        *most = (*most).max(running);
        Ok(identity)
    }

    fn release(&mut self, run: &str) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        let at = world.actors.iter().position(|actor| actor.run == run).unwrap();
        let takes = world.actors[at].spec["takes"].as_str().map_or(Duration::ZERO, length);
        let up = world.now.up;
        world.actors[at].gated = false;
        world.actors[at].ends = Some(up + takes);
        let actor = world.actors[at].clone();
        if actor.job == "heartbeat" {
            let now = world.now.wall;
            world.typed.push(now);
        }
        if let Some(path) = actor.spec["temp_then_rename"].as_str() {
            world.write(&actor.dir, &format!("{path}.tmp"), "half", None);
        }
        for (name, _) in actor.spec["spawns"].as_object().into_iter().flatten() {
            world.actor(name, run, &actor.job, Value::Null, actor.dir.clone());
            world.actors.last_mut().unwrap().gated = false;
        }
        world.act();
        Ok(())
    }

    fn abandon(&mut self, run: &str) {
        let mut world = self.0.borrow_mut();
        world.actors.retain(|actor| actor.run != run);
        world.fires.retain(|fire| fire.run != run);
    }

    fn life(&mut self, run: &Run) -> Life {
        let mut world = self.0.borrow_mut();
        let known = world.actors.iter_mut().find(|actor| actor.run == run.id && actor.identity == run.process);
        match known {
            Some(actor) => match actor.ended {
                None => Life::Running,
                Some((_, code)) => {
                    actor.reaped = true;
                    Life::Ended(code)
                }
            },
            None => Life::Ended(None),
        }
    }

    fn living(&mut self, run: &Run) -> Vec<Member> {
        self.0.borrow().members(&run.id)
    }

    fn signal(&mut self, run: &Run, signal: Signal) -> Vec<Member> {
        let mut world = self.0.borrow_mut();
        let members = world.members(&run.id);
        let all: Vec<usize> = world.of_run(&run.id).collect();
        for at in all {
            if signal == Signal::SIGKILL || world.actors[at].spec["ignores_term"] != true {
                world.end(at, Some(128 + signal as i32), false);
            }
        }
        members
    }

    fn identify(&mut self, pid: i32) -> Option<Identity> {
        self.0.borrow().actors.iter().find(|actor| actor.identity.pid == pid && actor.ended.is_none()).map(|actor| actor.identity.clone())
    }

    fn type_in(&mut self, _: &Path, _: &str, _: &str, may: &dyn Fn() -> bool) -> Result<bool, String> {
        let mut world = self.0.borrow_mut();
        let now = world.now.wall;
        let typed = may();
        world.typed.extend(typed.then_some(now));
        Ok(typed)
    }

    fn point(&mut self, tick: &str) {
        let panics = self.0.borrow().panics.as_deref() == Some(tick);
        assert!(!panics, "as the case asked");
    }
}
