//! A case in simulated time: its tree on disk, its clock, its steps.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use loci::clock::engine::{Knock, Notice, Root};
use loci::clock::loops::{self, Active, seam};
use loci::clock::store::Store;
use loci::clock::{daemon, job, trust};
use loci::custody::grants;
use loci::sys::lock::Lock;
use loci::sys::time::Moment;
use loci::tree::settings::Settings;
use serde_json::{Map, Value, json};

use super::SimClock;
use super::world::{Actors, World};
use crate::sandbox::Sandbox;

pub(super) struct Sim {
    sandbox: Sandbox,
    pub(super) world: Rc<RefCell<World>>,
    pub(super) clock: Option<SimClock>,
    lock: Option<Lock>,
    pub(super) notices: Vec<Notice>,
    jobs: BTreeMap<String, Value>,
    watching: bool,
    locked_until: Option<Timestamp>,
    pub(super) second: Option<String>,
    pub(super) ledgers: Vec<Vec<u8>>,
    pub(super) started: Timestamp,
    /// Whether the loops of the case were started.
    looping: bool,
}

/// Where a path of a case is.
pub(super) fn place(root: &Path, path: &str) -> PathBuf {
    let state = root.parent().unwrap().join("state/loci");
    match path {
        "human.lock" => state.join("human.lock"),
        "config" => state.join("config.yaml"),
        "ledger.jsonl" => root.join(".loci-clock/ledger.jsonl"),
        _ if path.starts_with("state.json") || path == "clock.lock" => Store::folder(&state, root).join(path),
        _ if path.starts_with("jobs/") => root.join(".loci-clock").join(format!("{path}.md")),
        // A skill is a folder with a SKILL.md.
        _ if path.starts_with("skills/") => root.join(".loci").join(path.replacen(".md", "/SKILL.md", 1)),
        _ if path.starts_with("rules/") => root.join(".loci").join(path),
        _ => root.join(path),
    }
}

/// What a job is called in the clock.
pub(super) fn name_of(job: &str) -> &str {
    if job == "hb" { "heartbeat" } else { job }
}

fn system(at: Timestamp) -> std::time::SystemTime {
    std::time::UNIX_EPOCH + Duration::from_secs(u64::try_from(at.as_second()).unwrap())
}

pub(super) fn at(value: &Value) -> Timestamp {
    value.as_str().unwrap().parse().unwrap()
}

impl Sim {
    pub(super) fn new(case: &Value) -> Self {
        let sandbox = Sandbox::in_memory();
        sandbox
            .file("root/.loci/agent.md", "---\nid: a\n---\n")
            .dir("root/.loci-clock/jobs")
            .dir("root/.loci-clock/loops")
            .dir("root/.loci/skills")
            .dir("root/.loci/rules")
            .dir("state/loci");
        let started = at(&case["timeline"][0]["at"]);
        let now = Moment { wall: started, boot: Duration::from_secs(100_000), up: Duration::from_secs(90_000) };
        let world = Rc::new(RefCell::new(World::new(now, sandbox.path("root"))));
        let mut sim = Self {
            sandbox,
            world,
            clock: None,
            lock: None,
            notices: Vec::new(),
            jobs: BTreeMap::new(),
            watching: true,
            locked_until: None,
            second: None,
            ledgers: Vec::new(),
            started,
            looping: false,
        };
        let (_, line) = trust::line("enrol", &sim.root(), &[("live", true.into())], now.wall, "");
        grants::append(&sim.state(), &[line]).unwrap();
        for (name, fields) in case["jobs"].as_object().unwrap() {
            sim.jobs.insert(name.clone(), fields.clone());
            sim.write_job(name);
        }
        for (name, fields) in case["jobs"].as_object().unwrap() {
            if fields.get("heartbeat").is_some() && fields["armed"] == true {
                sim.arm(name);
            }
        }
        for expected in case["expect"].as_array().unwrap() {
            for key in ["during_beat", "after"] {
                let files = expected[key].as_object().into_iter().flatten().map(|(path, _)| path.clone());
                sim.world.borrow_mut().watched.extend(files);
            }
        }
        sim
    }

    pub(super) fn root(&self) -> PathBuf {
        self.sandbox.path("root")
    }

    pub(super) fn state(&self) -> PathBuf {
        self.sandbox.path("state/loci")
    }

    pub(super) fn now(&self) -> Moment {
        self.world.borrow().now
    }

    fn file_of(&self, name: &str) -> PathBuf {
        if self.jobs.get(name).is_some_and(|fields| fields.get("loop").is_some()) {
            return self.root().join(format!(".loci-clock/loops/{name}.md"));
        }
        if name == "hb" { self.root().join(".loci-clock/heartbeat.md") } else { self.root().join(format!(".loci-clock/jobs/{name}.md")) }
    }

    fn text_of(&mut self, fields: &Value) -> Option<String> {
        let mut world = self.world.borrow_mut();
        let mut header = Map::new();
        let mut body = String::new();
        if let Some(raw) = fields["raw"].as_str() {
            return Some(raw.to_owned());
        }
        if fields.get("tick").is_some() {
            return None;
        }
        if let Some(fields) = fields["loop"].as_object() {
            header.extend(fields.iter().filter(|(key, _)| *key != "prompt").map(|(key, value)| (key.clone(), value.clone())));
            let exit = match fields["exit"].as_str().unwrap() {
                "throws" => "state.nothing.there",
                "never" => "false",
                text if text.contains("state.") => text,
                _ => "has(state.done) && state.done",
            };
            header.insert("exit".to_owned(), exit.into());
            let lines: String = header.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
            return Some(format!("---\n{lines}---\n{}\n", fields["prompt"].as_str().unwrap()));
        }
        if let Some(beat) = fields["heartbeat"].as_object() {
            header.extend(
                beat.iter().filter(|(key, _)| !matches!(key.as_str(), "prompt" | "takes")).map(|(key, value)| (key.clone(), value.clone())),
            );
            header.extend(fields.get("lock_fresh").map(|value| ("lock_fresh".to_owned(), value.clone())));
            body = beat["prompt"].as_str().unwrap().to_owned();
            world.beat = json!({ "takes": beat.get("takes").and_then(Value::as_str).unwrap_or("3s") });
        } else {
            for (key, value) in fields.as_object().unwrap() {
                if key == "run" {
                    world.specs.push(value.clone());
                    // The same stand-in has the same words: only another one is an edit.
                    let number = world.specs.iter().position(|spec| spec == value).unwrap();
                    let model = if fields["calls_model"] == true { " # loci run" } else { "" };
                    header.insert("run".to_owned(), format!("./standin {number}{model}").into());
                } else if key != "calls_model" {
                    header.insert(key.clone(), value.clone());
                }
            }
        }
        let lines: String = header.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
        Some(format!("---\n{lines}---\n{body}\n"))
    }

    fn write_job(&mut self, name: &str) {
        let fields = self.jobs[name].clone();
        if let Some(text) = self.text_of(&fields) {
            fs::write(self.file_of(name), text).unwrap();
        }
    }

    fn arm(&self, name: &str) {
        let path = self.file_of(name);
        let bytes = fs::read(&path).unwrap();
        let job =
            if name == "hb" { job::parse_beat(&path, &bytes).unwrap().unwrap().job } else { job::parse(name, &path, &bytes).unwrap().job };
        let more = [("job", Value::from(name_of(name))), ("hash", trust::arm_hash(&job, &self.root()).into())];
        let (_, line) = trust::line("arm", &self.root(), &more, self.now().wall, name);
        grants::append(&self.state(), &[line]).unwrap();
    }

    fn start(&mut self) {
        let root = Root {
            dir: self.root(),
            state: self.state(),
            home: self.sandbox.path("home"),
            user_home: self.sandbox.path("home"),
            dotdirs: Settings::default().dotdirs,
        };
        self.lock = Some(daemon::take_root(&root).unwrap());
        let now = self.now();
        self.clock = Some(SimClock::open(root, Actors(Rc::clone(&self.world)), now).unwrap());
        self.watching = true;
        self.tick();
        if !std::mem::replace(&mut self.looping, true) {
            self.start_loop();
            self.tick();
        }
    }

    /// Starts the first loop of the case that is armed, as a person would.
    fn start_loop(&self) {
        let name = self.jobs.iter().find(|(_, fields)| fields.get("loop").is_some() && fields["armed"] == true).map(|(name, _)| name);
        let Some(name) = name else { return };
        let path = self.file_of(name);
        let one = job::parse_loop(name, &path, &fs::read(&path).unwrap()).unwrap();
        let hash = trust::loop_hashes(&one, &self.root()).1;
        let more = [("job", Value::from(&*one.job.name)), ("hash", hash.clone().into())];
        let (_, line) = trust::line("arm", &self.root(), &more, self.now().wall, name);
        grants::append(&self.state(), &[line]).unwrap();
        let active = Active { definition: one.definition, hash, since: Some(self.now().wall), ..Active::default() };
        loops::change(&self.state(), &self.root(), |known| known.active = Some(active)).unwrap();
    }

    /// The turn of the loop that is on comes to its end, with what its hooks have left.
    fn hook_event(&mut self, sets: &Value) {
        let left = match sets {
            Value::Null => json!({}),
            Value::Object(_) => sets.clone(),
            sets => json!({ "done": sets }),
        };
        let at = self.now().wall;
        let ended = seam::Ended { state: left.as_object().unwrap(), can_block: true, session_over: false, human: false, at };
        let told = seam::turn_ended(&self.state(), &self.root(), &ended).unwrap();
        self.notices.extend(told.note.map(|text| Notice { at, about: "loop".to_owned(), text }));
        self.tick();
    }

    /// What is known of loops.
    pub(super) fn loops(&self) -> loops::State {
        loops::read(&loops::file(&self.state(), &self.root())).unwrap().unwrap_or_default()
    }

    fn stop(&mut self) {
        if let Some(mut clock) = self.clock.take() {
            self.notices.extend(clock.notices());
            // As a kill leaves it: nothing of it is put in order.
            std::mem::forget(clock);
            // The next one is another process.
            loops::change(&self.state(), &self.root(), |known| {
                if let Some(clock) = known.active.as_mut().and_then(|active| active.clock.as_mut()) {
                    clock.start += 1;
                }
            })
            .unwrap();
        }
        self.lock = None;
    }

    pub(super) fn tick(&mut self) {
        self.world.borrow_mut().act();
        let now = self.now();
        if self.locked_until.is_some_and(|until| now.wall <= until) {
            self.touch("human.lock", now.wall);
        }
        if let Some(clock) = &mut self.clock {
            clock.tick(now);
            self.notices.extend(clock.notices());
        }
    }

    fn touch(&self, path: &str, at: Timestamp) {
        let path = place(&self.root(), path);
        let file = fs::File::options().create(true).append(true).open(path).unwrap();
        file.set_modified(system(at)).unwrap();
    }

    fn pass(&self, by: Duration) {
        let mut world = self.world.borrow_mut();
        world.now.wall = world.now.wall.checked_add(by).unwrap();
        world.now.boot += by;
        world.now.up += by;
    }

    /// Ticks until nothing runs any more, for ten minutes at most.
    pub(super) fn let_it_end(&mut self) {
        for _ in 0..600 {
            if self.clock.as_ref().is_none_or(SimClock::is_quiet) {
                break;
            }
            self.pass(Duration::from_secs(1));
            self.tick();
        }
    }

    /// Ticks every second up to an instant.
    fn run_to(&mut self, to: Timestamp) {
        // What the last step left to be noticed is noticed by the first tick after it.
        let mut first = true;
        while self.now().wall < to {
            let now = self.now().wall;
            let left = Duration::try_from(to.duration_since(now)).unwrap();
            let quiet = self.world.borrow().is_idle() && self.clock.as_ref().is_none_or(|clock| clock.is_quiet());
            let mut step = Duration::from_secs(1);
            if quiet && self.locked_until.is_none() && !std::mem::take(&mut first) {
                // To the next second in which something is due, at most a minute.
                let due = self.clock.as_ref().and_then(SimClock::next_due);
                let free = due.map_or(SignedDuration::from_secs(60), |due| due.duration_since(now) - SignedDuration::from_secs(1));
                step = step.max(Duration::from_secs(u64::try_from(free.as_secs().clamp(1, 60)).unwrap()));
            }
            self.pass(step.min(left));
            self.tick();
        }
    }

    fn knock(&mut self) {
        if self.watching
            && let Some(clock) = &mut self.clock
        {
            clock.knock(Knock::All);
        }
    }

    pub(super) fn step(&mut self, step: &Value) {
        let when = at(&step["at"]);
        let what = step["do"].as_str().unwrap();
        let text = |key: &str| step[key].as_str().unwrap_or_else(|| panic!("{key} is missing in {step}")).to_owned();
        if when > self.now().wall {
            // The last second is the step's own.
            if step["before_tick"] == true {
                self.run_to(when.checked_sub(SignedDuration::from_secs(1)).unwrap());
                self.pass(Duration::try_from(when.duration_since(self.now().wall)).unwrap());
            } else {
                self.run_to(when);
            }
        }
        match what {
            "start daemon" => self.start(),
            "restart daemon" => {
                self.stop();
                self.start();
            }
            "kill daemon" => self.stop(),
            "start second daemon" => {
                let root = Root {
                    dir: self.root(),
                    state: self.state(),
                    home: self.sandbox.path("home"),
                    user_home: self.sandbox.path("home"),
                    dotdirs: Settings::default().dotdirs,
                };
                self.second = daemon::take_root(&root).err().map(|error| error.to_string());
            }
            "run to" => {}
            "tick" => self.tick(),
            "query status" => {
                let now = self.now();
                let clock = self.clock.as_ref().unwrap();
                assert!(clock.status(now)["schema"] == 1 && self.jobs.keys().all(|job| clock.view(name_of(job)).is_some()));
                self.tick();
            }
            "sleep machine" => {
                let until = at(&step["until"]);
                let mut world = self.world.borrow_mut();
                let slept = Duration::try_from(until.duration_since(world.now.wall)).unwrap();
                world.now.boot += slept;
                world.now.wall = until;
                drop(world);
                self.tick();
            }
            "step clock" => {
                self.world.borrow_mut().now.wall = at(&step["to"]);
                self.tick();
            }
            "reboot" => {
                self.stop();
                self.world.borrow_mut().reboot(step["pid_and_ticks_repeat"] == true);
            }
            "edit job" => {
                let name = text("job");
                let fields = self.jobs.get_mut(&name).unwrap().as_object_mut().unwrap();
                fields.extend(step["set"].as_object().unwrap().iter().map(|(key, value)| (key.clone(), value.clone())));
                let fields = self.jobs[&name].clone();
                let new = self.text_of(&fields).unwrap();
                let path = self.file_of(&name);
                if step["how"].as_str().is_some_and(|how| how.contains("rename")) {
                    let aside = path.with_file_name(".swap.tmp");
                    fs::write(&aside, new).unwrap();
                    fs::rename(aside, path).unwrap();
                } else {
                    fs::write(path, new).unwrap();
                }
                self.knock();
            }
            "rename job" => {
                let (from, to) = (text("job"), text("to"));
                fs::rename(self.file_of(&from), self.file_of(&to)).unwrap();
                let fields = self.jobs[&from].clone();
                self.jobs.insert(to, fields);
                self.knock();
            }
            "remove job" => {
                fs::remove_file(self.file_of(&text("job"))).unwrap();
                self.knock();
            }
            "drop watcher events" => self.watching = false,
            "write file" => {
                let path = place(&self.root(), &text("path"));
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, text("text")).unwrap();
                if let Some(mtime) = step["mtime"].as_str() {
                    fs::File::options().write(true).open(&path).unwrap().set_modified(system(mtime.parse().unwrap())).unwrap();
                }
                self.knock();
            }
            "touch file" => {
                let mtime = step["mtime"].as_str().map_or(self.now().wall, |mtime| mtime.parse().unwrap());
                self.touch(&text("path"), mtime);
            }
            "make dir" => fs::create_dir_all(place(&self.root(), &text("path"))).unwrap(),
            "remove" => {
                let path = place(&self.root(), &text("path"));
                let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
                self.knock();
            }
            "link" => {
                let path = place(&self.root(), &text("path"));
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::os::unix::fs::symlink(text("to"), path).unwrap();
            }
            // Whatever it is: everything in the clock is absolute, and nothing of it asks.
            "change daemon cwd" => {}
            "kill pid" => {
                let job = text("of");
                self.world.borrow_mut().kill(name_of(&job));
                self.tick();
            }
            "reuse pid" => {
                let job = text("of");
                let mut world = self.world.borrow_mut();
                let was = world.actors.iter().rfind(|actor| actor.job == job).unwrap().identity.clone();
                let start = u64::try_from(world.now.boot.as_millis() / 10).unwrap();
                world.stranger(&text("by"), loci::sys::process::Identity { start, ..was });
            }
            "make unwritable" => {
                // A directory in its place bars everybody, the superuser too.
                fs::create_dir_all(place(&self.root(), &text("path"))).unwrap();
            }
            "panic in tick" => self.world.borrow_mut().panics = Some(text("tick")),
            "call perception" => {
                let now = self.now();
                for _ in 0..step["times"].as_u64().unwrap() {
                    self.clock.as_mut().unwrap().perceive(now);
                }
            }
            "hook event" => {
                for _ in 0..step["times"].as_u64().unwrap_or(1) {
                    self.hook_event(&step["sets"]);
                }
            }
            "arm" => self.arm(&text("job")),
            "disarm" => {
                let ids = trust::Trust::read(&self.state(), &self.root()).unwrap().arms_of(name_of(&text("job")));
                let lines: Vec<Value> = ids.iter().map(|id| grants::revoke_line(id, self.now().wall)).collect();
                grants::append(&self.state(), &lines).unwrap();
            }
            "run now" => {
                let now = self.now();
                self.clock.as_mut().unwrap().run_now(name_of(&text("job")), now.wall, now);
                self.tick();
            }
            "hold lock fresh" => self.locked_until = Some(at(&step["until"])),
            other => panic!("no word of these cases: {other}"),
        }
        let ledger = place(&self.root(), "ledger.jsonl");
        self.ledgers.push(fs::read(ledger).unwrap_or_default());
    }
}
