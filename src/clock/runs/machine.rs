//! The processes of this machine: how a run is started, held, looked at and signalled.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use serde_json::{Map, Value};

use super::{Life, Order, Processes, Run, begun};
use crate::clock::job::Action;
use crate::clock::mirror;
use crate::hooks::dispatch;
use crate::sys::env::{self, Env};
use crate::sys::gated::{Gated, Start};
use crate::sys::lineage::{Member, Signal};
use crate::sys::process::{self, Identity};
use crate::sys::program::Program;
use crate::tree::settings::Custody;

/// How long a command that does nothing may take.
const PROBE: Duration = Duration::from_secs(20);

/// How what runs is held from what is others'.
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

/// It has to be held, and can't be.
fn unheld() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "custody is required, and the kernel can't hold it here")
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
            Held::Refused => Err(unheld()),
        }
    }

    /// The words that embody a body: where custody is required, the whole session is held. A turn of a loop is not: its
    /// relay says in the state folder that the turn is over, and nothing in a jail writes there.
    fn embody(&self, order: &Order<'_>, body: &Path, message: &str) -> io::Result<Vec<OsString>> {
        let mut argv: Vec<OsString> = vec![process::own_program()?.into(), "run".into()];
        match self.held {
            _ if order.ticket.is_some() => {}
            // What an owner does with its mail takes locks in the state folder (`inbox apply`), which nothing in a jail can.
            Held::No | Held::Kernel => {}
            Held::Always => argv.push("--jail".into()),
            Held::Refused => return Err(unheld()),
        }
        argv.push(order.dir.join(body).into());
        // A word of its own, whatever it begins with.
        let space = if message.starts_with('-') { " " } else { "" };
        argv.push(format!("{space}{message}").into());
        Ok(argv)
    }
}

impl Processes for Machine {
    fn start(&mut self, order: &Order<'_>) -> io::Result<Identity> {
        let argv = match &order.job.action {
            Action::Run(line) => self.command(line, order.armed)?,
            Action::Agent { body, message } => self.embody(order, body, message)?,
            Action::Wake { body, .. } => self.embody(order, body, order.message.unwrap_or_default())?,
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
        mirror::prompt(state, &self.env, terminal, text, may).map_err(|error| error.to_string())
    }
}
