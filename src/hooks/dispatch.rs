//! The hooks of an event, run one after the other: those that are there, trusted, switched on and
//! concerned. A block ends the row, texts add up, and whatever fails lets the turn go on and is said.

mod report;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

pub use report::block_report;

use super::answer::{Answer, MOST_CHARACTERS};
use super::event::{Event, Point, Seam, Take};
use super::find::{self, Hook};
use super::log::{self, Failure};
use super::place::{self, Ground};
use super::run::{self, Said};
use super::state::{self, Memory, Piece, compose};
use super::switches::Switches;
use super::trust::{self, Standing, Trust};
use crate::custody::act::ActKind;
use crate::custody::asker::Asker;
use crate::sys::disk;
use crate::sys::env::Env;
use crate::sys::shown;
use crate::sys::time::{self, Moment};
use crate::tree::dotdirs::Dotdirs;

/// How long all scripts of one event may take together: harnesses wait ten seconds for a relay, custody
/// takes two of them at most, and some harness blocks a call whose relay did not answer.
pub const BUDGET: Duration = Duration::from_millis(7_500);
/// Less than this is not worth a start.
const LEAST: Duration = Duration::from_millis(50);

/// Everything that is known when the hooks of an event are asked.
#[derive(Debug)]
pub struct Turn {
    /// The harness, by its name.
    pub harness: &'static str,
    /// The harness's event; `None` where it is none of a harness.
    pub point: Option<&'static Point>,
    /// What happened.
    pub event: Event,
    /// Who acts.
    pub asker: Asker,
    /// What the call does, as far as it could be read.
    pub acts: Vec<(ActKind, PathBuf)>,
    /// The state folder.
    pub state: PathBuf,
    /// The home that holds the registry.
    pub home: Option<PathBuf>,
    /// The dotdirs that count.
    pub dotdirs: Dotdirs,
    /// What is remembered of the session.
    pub memory: Memory,
    /// What is left of the time for all scripts.
    pub left: Duration,
}

impl Turn {
    /// What is looked at around it.
    #[must_use]
    pub fn ground<'a>(&'a self, trust: &'a Trust) -> Ground<'a> {
        Ground {
            home: self.home.as_deref(),
            launch: self.memory.launch.as_deref(),
            place: self.memory.place.as_deref(),
            dotdirs: &self.dotdirs,
            trust,
            harness: self.harness,
        }
    }

    /// Which hooks are on.
    #[must_use]
    pub fn switches(&self) -> Switches {
        Switches::of(&self.memory.active, &self.state, self.asker.body.as_deref())
    }

    /// Changes what is remembered of the session, and says where that is not possible.
    pub fn remember<T: Default>(&mut self, answer: &mut Answer, what: impl FnOnce(&mut Memory) -> T) -> T {
        let Some(session) = self.event.session.clone() else { return what(&mut self.memory) };
        let launch = self.memory.launch.clone();
        let changed = state::change(&self.state, &session, |memory| {
            if memory.launch.is_none() {
                memory.launch = launch;
            }
            let result = what(memory);
            (memory.clone(), result)
        });
        match changed {
            Ok((memory, result)) => {
                self.memory = memory;
                result
            }
            Err(error) => {
                answer.notes.push(format!("loci: failed to {error}"));
                T::default()
            }
        }
    }

    fn log(&self, hook: &str, seam: Seam, why: &str) {
        let failure = Failure {
            at: time::to_second(time::now()),
            session: self.event.session.clone(),
            hook: hook.to_owned(),
            seam: seam.word().to_owned(),
            why: why.to_owned(),
        };
        log::append(&self.state, &failure);
    }

    /// Runs the hooks of a seam, where there may be any.
    pub fn scripts(&mut self, seam: Seam, answer: &mut Answer, pieces: &mut Vec<Piece>) {
        if !find::may_be_there(self.home.as_deref(), self.memory.launch.as_deref(), self.memory.place.as_deref()) {
            return;
        }
        let work = AssertUnwindSafe(|| self.run_all(seam, answer, pieces));
        if catch_unwind(work).is_err() {
            answer.notes.push("loci: the hooks were not all asked: loci itself failed; please report it".to_owned());
        }
    }

    fn run_all(&mut self, seam: Seam, answer: &mut Answer, pieces: &mut Vec<Piece>) {
        let trust = trust::load(&self.state);
        let hooks = find::hooks(&self.ground(&trust));
        let switches = self.switches();
        let kinds: Vec<ActKind> = self.acts.iter().map(|(kind, _)| *kind).collect();
        let wanted = |hook: &Hook| {
            hook.declared.seams.contains(&seam)
                && hook.standing.is_trusted()
                && switches.are_on(&hook.name, hook.is_home())
                && hook.declared.concerns(&self.event.tool, &kinds)
        };
        let off: Vec<PathBuf> = hooks
            .all
            .iter()
            .filter(|hook| hook.standing == Standing::Changed && hook.declared.seams.contains(&seam))
            .map(|hook| hook.found.path.clone())
            .collect();
        let row: Vec<Hook> = hooks.all.into_iter().filter(wanted).collect();
        self.tell_off(&off, answer);
        if row.is_empty() {
            return;
        }
        let env = self.environment();
        let cwd = [self.event.cwd.as_deref(), self.memory.launch.as_deref()].into_iter().flatten().find(|dir| disk::is_dir(dir));
        let cwd = cwd.unwrap_or(Path::new("/")).to_owned();
        for hook in row {
            let path = shown::path(&hook.found.path).to_string();
            let input = self.payload(seam, &answer.data);
            let began = Moment::now().up;
            let said = match limit(hook.declared.timeout, self.left) {
                Some(limit) => run::run(&hook, seam, &input, &cwd, &env, limit, &self.state),
                None => Err("the time for all hooks of one event was over".to_owned()),
            };
            self.left = self.left.saturating_sub(Moment::now().up.saturating_sub(began));
            match said {
                Ok(said) => {
                    if self.take(&hook, seam, said, answer, pieces) {
                        return;
                    }
                }
                Err(why) => {
                    self.log(&path, seam, &why);
                    answer.notes.push(format!("loci: the hook {path} gave no answer, and nothing was held up by it: {why}"));
                }
            }
        }
    }

    /// Says of each hook that somebody trusted once and that runs no longer, once in a session: a guard that is
    /// off must not be missed in silence.
    fn tell_off(&mut self, off: &[PathBuf], answer: &mut Answer) {
        for path in off {
            let key = format!("changed:{}", shown::path(path));
            if self.memory.prompts.contains_key(&key) {
                continue;
            }
            answer.notes.push(format!(
                "loci: the hook {} does not run: it, or what lies beside it, has changed since it was trusted; a person looks at it with `loci trust`",
                shown::path(path)
            ));
            self.remember(answer, |memory| memory.prompts.insert(key, String::new()));
        }
    }

    /// Takes in what a hook has answered; whether it ends the row.
    fn take(&mut self, hook: &Hook, seam: Seam, said: Said, answer: &mut Answer, pieces: &mut Vec<Piece>) -> bool {
        let path = shown::path(&hook.found.path).to_string();
        for why in said.remarks {
            self.log(&path, seam, &why);
            answer.notes.push(format!("loci: of the answer of the hook {path}: {why}"));
        }
        answer.notes.extend(said.message);
        state::merge(&mut answer.data, &said.data);
        if !said.state.is_empty() {
            self.remember(answer, |memory| memory.merge(&said.state));
        }
        if !said.context.is_empty() && !self.was_added(&path, seam, &said.context, answer) {
            pieces.push(Piece { name: format!("what the hook {path} said"), text: said.context });
        }
        if let Some(input) = said.input.filter(|_| seam == Seam::BeforeTool) {
            if self.point.is_some_and(|point| point.takes(Take::Input)) {
                self.event.input = input.clone();
                answer.input = Some(input);
            } else {
                let why = format!("{} can't call a tool with another input", self.harness);
                self.log(&path, seam, &why);
                answer.notes.push(format!("loci: of the answer of the hook {path}: {why}"));
            }
        }
        let Some(reason) = said.block else { return false };
        let reason = if reason.trim().is_empty() { format!("The hook {path} says no.") } else { reason };
        if self.point.is_some_and(|point| point.takes(Take::Block)) {
            answer.block = Some(reason);
            answer.by = Some(hook.found.path.clone());
            return true;
        }
        match seam {
            // Too late to keep it from happening; the model hears of it.
            Seam::AfterTool | Seam::OnError => pieces.push(Piece { name: path, text: reason }),
            _ => answer.notes.push(format!("loci: the hook {path} says: {}", reason.trim())),
        }
        false
    }

    /// Whether a text for the system prompt stands in the context already. What is put together anew for
    /// each call of the model is said anew.
    fn was_added(&mut self, hook: &str, seam: Seam, text: &str, answer: &mut Answer) -> bool {
        if seam != Seam::BeforeSystemPrompt || self.event.seam == Seam::BeforeSystemPrompt {
            return false;
        }
        let mark = place::mark(text);
        if self.memory.prompts.get(hook) == Some(&mark) {
            return true;
        }
        self.remember(answer, |memory| memory.prompts.insert(hook.to_owned(), mark));
        false
    }

    /// What a hook reads: the neutral event, and the same by the names that Claude Code's own hooks know.
    fn payload(&self, seam: Seam, data: &Map<String, Value>) -> Vec<u8> {
        let event = &self.event;
        let text = |path: Option<&Path>| path.map(|path| path.to_string_lossy().into_owned());
        let mut object = event.rest.clone();
        let native = if self.harness == "claude" && event.seam == seam { event.native.as_str() } else { seam.claude() };
        let mut put = |key: &str, value: Value| {
            object.insert(key.to_owned(), value);
        };
        put("hook_event_name", json!(native));
        put("session_id", json!(event.session));
        put("cwd", json!(text(event.cwd.as_deref())));
        if !event.tool.is_empty() {
            put("tool_name", json!(event.tool));
            put("tool_input", event.input.clone());
            put("tool_use_id", json!(event.call));
        }
        if let Some(response) = &event.response {
            put("tool_response", response.clone());
        }
        for (key, value) in [("prompt", &event.prompt), ("agent_id", &event.agent_id), ("agent_type", &event.agent_type)] {
            if let Some(value) = value {
                put(key, json!(value));
            }
        }
        let acts: Vec<Value> = self.acts.iter().map(|(kind, path)| json!({ "act": kind.word(), "path": path.to_string_lossy() })).collect();
        put("schema", json!(1));
        put("seam", json!(seam.word()));
        put("harness", json!(self.harness));
        put("event", json!(event.native));
        put("agent", json!(self.asker.agent));
        put("body", json!(text(self.asker.body.as_deref())));
        put("sub_agent", json!(event.sub_agent()));
        put("launch", json!(text(self.memory.launch.as_deref())));
        put("place", json!(text(self.memory.place.as_deref())));
        put("acts", Value::Array(acts));
        put("failed", json!(event.failed));
        put("data", Value::Object(data.clone()));
        put("state", Value::Object(self.memory.state.clone()));
        let mut bytes = serde_json::to_vec(&object).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    fn environment(&self) -> BTreeMap<OsString, OsString> {
        let mut env = Env::of_process().vars;
        // A helper that is imported must not leave files beside the hook: they would be new, and untrusted.
        env.insert("PYTHONDONTWRITEBYTECODE".into(), "1".into());
        if let Some(launch) = &self.memory.launch {
            env.entry("CLAUDE_PROJECT_DIR".into()).or_insert_with(|| launch.clone().into());
        }
        env
    }

    /// Brings the texts for the model to where it reads them: into this answer, or into what waits for
    /// the next event that has a channel.
    pub fn flush(&mut self, answer: &mut Answer, pieces: Vec<Piece>) {
        let channel = self.point.is_some_and(|point| point.takes(Take::Context)) && answer.block.is_none();
        if channel {
            let mut all = Vec::new();
            if self.event.seam == Seam::BeforeSystemPrompt {
                // A system prompt that a harness puts together for each call of a model, of the one that names the session
                // among them, keeps nothing: what waits is said in each, until it goes to where it stays.
                all.clone_from(&self.memory.waiting);
            } else if !self.memory.waiting.is_empty() {
                all = self.remember(answer, |memory| std::mem::take(&mut memory.waiting));
            }
            all.extend(pieces);
            let (text, left_out) = compose(&all, MOST_CHARACTERS);
            answer.context = text;
            if !left_out.is_empty() {
                answer.notes.push(format!("loci: too long for the model, left out whole: {}", left_out.join(", ")));
            }
        } else if !pieces.is_empty() && self.event.seam != Seam::AfterRun {
            self.remember(answer, |memory| pieces.into_iter().for_each(|piece| memory.wait(piece)));
        }
    }
}

/// How long a hook may take; `None` where nothing is left for it.
fn limit(own: Duration, left: Duration) -> Option<Duration> {
    (left >= LEAST).then(|| own.min(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_hook_takes_longer_than_the_harness_waits() {
        let seconds = Duration::from_secs;
        assert_eq!(limit(seconds(5), BUDGET), Some(seconds(5)));
        assert_eq!(limit(seconds(600), BUDGET), Some(BUDGET));
        assert_eq!(limit(seconds(600), Duration::from_millis(10)), None);
        assert!(BUDGET + seconds(u64::from(super::super::gate::PATIENCE)) < seconds(10));
    }
}
