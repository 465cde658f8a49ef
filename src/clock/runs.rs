//! Runs: what is started, how it is known again, and how it is ended.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::deliverable::{Deliverable, Lack, Stamps};
use super::instant;
use super::job::{Action, Job};
use super::record::Outcome;
use super::wake::Awaited;
use crate::hooks::dispatch;
use crate::sys::disk::{self, PathError};
use crate::sys::env::{self, Env};
use crate::sys::fault;
use crate::sys::gated::{Gated, Start};
use crate::sys::lineage::{Lineage, Member, Signal};
use crate::sys::process::{self, Identity};
use crate::sys::program::Program;
use crate::tree::settings::Custody;

/// What is on disk about a run, before it begins and after it ended: `runs/ID/run.json`. It holds all
/// that judging needs, so that a run is judged by the definition it began with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Version of the format.
    pub schema: u32,
    /// Its id; the value of `LOCI_JOB` in the environment of all that it starts.
    pub id: String,
    /// The job.
    pub job: String,
    /// For which instant.
    #[serde(with = "instant")]
    pub instant: Timestamp,
    /// Which try, from 0.
    pub attempt: u32,
    /// When it was started.
    #[serde(with = "instant")]
    pub started: Timestamp,
    /// The same by the clock that stops when the machine sleeps, in milliseconds.
    pub started_up_ms: u64,
    /// Whether it was started later than it was due.
    pub late: bool,
    /// The process: the one that was started, or the one that was handed back.
    pub process: Identity,
    /// Whether that is one that was handed back.
    #[serde(default)]
    pub handed: bool,
    /// The directory it runs in; its deliverables are relative to it.
    #[serde(with = "crate::sys::wire::path")]
    pub dir: PathBuf,
    /// Whether a person armed what it does.
    #[serde(default)]
    pub armed: bool,
    /// The messages that it has to answer.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub answers: Vec<Awaited>,
    /// What it must leave behind.
    pub deliverables: Vec<Deliverable>,
    /// What was there before.
    pub before: Stamps,
    /// How long it may take.
    pub timeout_s: u64,
    /// Between TERM and KILL.
    pub kill_grace_s: u64,
    /// How long files are waited for after the end.
    pub settle_s: u64,
    /// How many bytes of each output are kept.
    pub log_max: u64,
    /// Whether a block is told.
    pub notify: bool,
    /// What came of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub outcome: Option<Outcome>,
    /// When it had ended.
    #[serde(with = "instant::maybe", skip_serializing_if = "Option::is_none", default)]
    pub ended: Option<Timestamp>,
    /// Its exit status, where it is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exit: Option<i32>,
    /// What was missing.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub missing: Vec<Lack>,
}

impl Run {
    /// How long it has been running, in running time.
    #[must_use]
    pub fn age(&self, up: Duration) -> Duration {
        up.saturating_sub(Duration::from_millis(self.started_up_ms))
    }

    /// All that descends from it.
    #[must_use]
    pub fn lineage(&self) -> Lineage {
        Lineage { leader: self.process.clone(), mark: Some((env::LOCI_JOB.to_owned(), self.id.clone().into())), descent: false }
    }

    /// Writes it into its folder, synced.
    ///
    /// # Errors
    /// Where the disk does not take it.
    pub fn write(&self, folder: &Path) -> Result<(), PathError> {
        let path = folder.join("run.json");
        disk::replace(&path, &super::store::to_text(&path, self)?, Some(0o600))
    }

    /// Reads it out of its folder; `None` where nothing readable is there.
    #[must_use]
    pub fn read(folder: &Path) -> Option<Self> {
        let text = disk::read_bounded(&folder.join("run.json"), 64 << 20).ok()??;
        serde_json::from_slice(&text).ok()
    }
}

/// What is to be started.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// The id of the run.
    pub run: &'a str,
    /// The job.
    pub job: &'a Job,
    /// The real directory it runs in.
    pub dir: &'a Path,
    /// The folder of the run, for its output.
    pub folder: &'a Path,
    /// Of a turn of a loop: what tells its session.
    pub ticket: Option<&'a str>,
    /// Of a body that mail wakes: what it is told.
    pub message: Option<&'a str>,
    /// How many delegations led to it.
    pub hops: usize,
    /// Whether a person armed what it does.
    pub armed: bool,
}

/// Whether a process is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It is.
    Running,
    /// It is not; its exit status, where it is known.
    Ended(Option<i32>),
}

/// Processes as the clock deals with them. The clock decides; this starts, looks and signals.
pub trait Processes {
    /// Starts a run, up to its gate: nothing of it runs yet.
    ///
    /// # Errors
    /// Where it can't be started.
    fn start(&mut self, order: &Order<'_>) -> io::Result<Identity>;

    /// Opens the gate of a run.
    ///
    /// # Errors
    /// Where it is no longer there.
    fn release(&mut self, run: &str) -> io::Result<()>;

    /// Takes back a run that is still at its gate.
    fn abandon(&mut self, run: &str);

    /// Whether the process of a run is there.
    fn life(&mut self, run: &Run) -> Life;

    /// Who else of a run is there.
    fn living(&mut self, run: &Run) -> Vec<Member>;

    /// Sends a signal to all of a run; who was there.
    fn signal(&mut self, run: &Run, signal: Signal) -> Vec<Member>;

    /// The process of a number that a run handed back.
    fn identify(&mut self, pid: i32) -> Option<Identity>;

    /// Tells the hooks of `on-block-report`; nothing waits for them.
    fn report(&mut self, _root: &Path, _report: Map<String, Value>, _text: &str) {}

    /// What those hooks have said since; with `patience`, those that are at it are waited for.
    fn heard(&mut self, _patience: Duration) -> Vec<String> {
        Vec::new()
    }

    /// Types a prompt into a terminal that is attached by a name, and submits it; `false` where `may`, which is
    /// asked last, said no.
    ///
    /// # Errors
    /// Why it can't be typed.
    fn type_in(&mut self, state: &Path, terminal: &str, text: &str, may: &dyn Fn() -> bool) -> Result<bool, String>;

    /// A named point of a tick, at which a test can make it panic.
    fn point(&mut self, tick: &str) {
        fault::point(tick);
    }
}

/// How long a command that does nothing may take.
const PROBE: Duration = Duration::from_secs(20);

/// How a command line is held from what is others'.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Held {
    /// Not at all.
    #[default]
    No,
    /// By the kernel: it runs by `loci exec`, unless a person armed it.
    Kernel,
    /// By the kernel, whoever armed it.
    Always,
    /// It has to be, and can't: it is not run.
    Refused,
}

impl Held {
    /// By what the settings say, and by whether a command that does nothing can be held here.
    #[must_use]
    pub fn of(custody: Custody, dir: &Path, env: &BTreeMap<OsString, OsString>) -> Self {
        let holds = || {
            let Ok(file) = process::own_program() else { return false };
            let args = ["exec", "--", "/bin/sh", "-c", ":"].map(OsString::from).to_vec();
            let call = Program { file: &file, args, cwd: dir, env: env.clone(), stdin: b"", limit: PROBE, keep: 1024 };
            call.run().is_ok_and(|done| done.code == Some(0))
        };
        match custody {
            Custody::Read => Self::No,
            Custody::Required if holds() => Self::Always,
            Custody::Required => Self::Refused,
            Custody::Auto if holds() => Self::Kernel,
            Custody::Auto => Self::No,
        }
    }
}

/// The processes of this machine.
#[derive(Debug, Default)]
pub struct Machine {
    children: BTreeMap<String, Gated>,
    env: BTreeMap<OsString, OsString>,
    held: Held,
    /// Hooks that are at it, each with where what they say comes in.
    reports: Vec<Receiver<Vec<String>>>,
}

impl Machine {
    /// With the environment that runs inherit, and how command lines are held.
    #[must_use]
    pub fn new(env: BTreeMap<OsString, OsString>, held: Held) -> Self {
        Self { env, held, ..Self::default() }
    }

    /// The words of a command line: where the kernel allows it, it can't write what is others'.
    fn command(&self, line: &str, armed: bool) -> io::Result<Vec<OsString>> {
        let shell = ["/bin/sh", "-c", line].into_iter().map(OsString::from);
        match self.held {
            Held::No => Ok(shell.collect()),
            // Below what a person armed bodies are embodied, which write in places of their own.
            Held::Kernel if armed => Ok(shell.collect()),
            Held::Kernel | Held::Always => {
                let exec = [process::own_program()?.into(), "exec".into(), "--".into()];
                Ok(exec.into_iter().chain(shell).collect())
            }
            Held::Refused => Err(io::Error::new(io::ErrorKind::Unsupported, "custody is required, and the kernel can't hold it here")),
        }
    }
}

impl Processes for Machine {
    fn start(&mut self, order: &Order<'_>) -> io::Result<Identity> {
        let argv = match &order.job.action {
            Action::Run(line) => self.command(line, order.armed)?,
            Action::Agent { .. } | Action::Wake { .. } => {
                let (body, message) = match &order.job.action {
                    Action::Agent { body, message } => (body, &**message),
                    Action::Wake { body, .. } => (body, order.message.unwrap_or_default()),
                    Action::Run(_) => return Err(io::ErrorKind::InvalidInput.into()),
                };
                let mut argv: Vec<OsString> = vec![process::own_program()?.into(), "run".into()];
                argv.push(order.dir.join(body).into());
                // A word of its own, whatever it begins with.
                let space = if message.starts_with('-') { " " } else { "" };
                argv.push(format!("{space}{message}").into());
                argv
            }
        };
        let mut env = self.env.clone();
        if let Some(ticket) = order.ticket {
            env.insert(env::LOCI_LOOP.into(), ticket.into());
        }
        for name in [env::LOCI_RUN, env::LOCI_JOB] {
            env.insert(name.into(), order.run.into());
        }
        if order.hops > 0 {
            env.insert(env::LOCI_HOPS.into(), order.hops.to_string().into());
        }
        if !order.armed {
            env.insert(env::LOCI_UNARMED.into(), (&*order.job.name).into());
        }
        let (out, err, begun) = (order.folder.join("out"), order.folder.join("err"), begun(order.folder));
        let gated = Start { argv, cwd: order.dir, env, begun: &begun, out: &out, err: &err }.start()?;
        let identity = gated.identity().clone();
        self.children.insert(order.run.to_owned(), gated);
        Ok(identity)
    }

    fn release(&mut self, run: &str) -> io::Result<()> {
        self.children.get_mut(run).map_or(Ok(()), Gated::release)
    }

    fn abandon(&mut self, run: &str) {
        // Without its gate it ends by itself; the wait is for that.
        if let Some(gated) = self.children.remove(run) {
            gated.abandon();
        }
    }

    fn life(&mut self, run: &Run) -> Life {
        if !run.handed
            && let Some(child) = self.children.get_mut(&run.id)
        {
            return match child.ended() {
                Ok(None) => Life::Running,
                Ok(Some(code)) => {
                    self.children.remove(&run.id);
                    Life::Ended(Some(code))
                }
                Err(_) => Life::Ended(None),
            };
        }
        if run.process.is_alive() { Life::Running } else { Life::Ended(None) }
    }

    fn living(&mut self, run: &Run) -> Vec<Member> {
        run.lineage().living()
    }

    fn signal(&mut self, run: &Run, signal: Signal) -> Vec<Member> {
        run.lineage().signal(signal)
    }

    fn identify(&mut self, pid: i32) -> Option<Identity> {
        Identity::of(pid)
    }

    fn report(&mut self, root: &Path, report: Map<String, Value>, text: &str) {
        let env = Env { vars: self.env.clone(), cwd: None };
        let (root, text) = (root.to_owned(), text.to_owned());
        let (sender, receiver) = mpsc::channel();
        // A hook takes its time; the clock has none.
        std::thread::spawn(move || drop(sender.send(dispatch::block_report(&env, &root, report, &text))));
        self.reports.push(receiver);
    }

    fn heard(&mut self, patience: Duration) -> Vec<String> {
        let mut said = Vec::new();
        self.reports.retain(|one| match one.recv_timeout(patience) {
            Ok(words) => {
                said.extend(words);
                false
            }
            Err(RecvTimeoutError::Timeout) => true,
            Err(RecvTimeoutError::Disconnected) => false,
        });
        said
    }

    fn type_in(&mut self, state: &Path, terminal: &str, text: &str, may: &dyn Fn() -> bool) -> Result<bool, String> {
        super::mirror::prompt(state, &self.env, terminal, text, may).map_err(|error| error.to_string())
    }
}

/// The run of a clock of this machine that this very process belongs to, and that `id` names: it is on, and
/// this process descends from it. What stands in an environment alone proves nothing.
#[must_use]
pub fn of_this_process(state: &Path, id: &str) -> Option<Run> {
    let plain = !id.is_empty() && !id.starts_with('.') && !id.contains('/');
    let roots = disk::list(&state.join("clock")).ok().filter(|_| plain)?;
    let mut found = roots.iter().filter_map(|root| Run::read(&state.join("clock").join(&root.name).join("runs").join(id)));
    found.find(|run| run.id == id && run.outcome.is_none() && process::is_below(&run.process))
}

/// The file that is there as soon as the gate of a run was opened.
#[must_use]
pub fn begun(folder: &Path) -> PathBuf {
    folder.join("begun")
}

/// The number that a run handed back: a line `pid: N` among the first of its output.
#[must_use]
pub fn handed_back(folder: &Path) -> Option<i32> {
    let (start, _) = disk::read_start(&folder.join("out"), 4096).ok()?;
    let text = String::from_utf8_lossy(&start);
    let number = text.lines().find_map(|line| line.trim().strip_prefix("pid:")?.trim().parse::<i32>().ok())?;
    (number > 1).then_some(number)
}

/// Cuts an output that has grown too long: what is there goes to `NAME.1`, and the file begins anew.
pub fn rotate(folder: &Path, max: u64) {
    for name in ["out", "err"] {
        let path = folder.join(name);
        let long = matches!(disk::look(&path), Ok(Some(meta)) if meta.kind == disk::Kind::File && meta.len > max.max(1));
        if long && let Ok((end, _)) = disk::read_end(&path, max) {
            let _ = disk::replace(&folder.join(format!("{name}.1")), &end, Some(0o600));
            // The program goes on appending: the file has to stay the same one.
            let _ = disk::empty(&path);
        }
    }
}
