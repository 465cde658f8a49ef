//! The gate: one tool call in, one verdict out, in the harness's language.
//!
//! One process start, no daemon. On the way of a call that passes nothing is written but, at the
//! first event of a session, who asks in it. **Evidence of ownership closes, absence of it opens,
//! neither is silent**: whatever keeps the gate from checking a call is said, and a call of a tool
//! that surely writes is refused where the check did not come to its end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::harness::{Adapter, Answer, Event, Verdict, tool_name};
use super::tools::{self, Class, Intent};
use crate::custody::asker::{self, Asker};
use crate::custody::delegation::{self, Attempt};
use crate::custody::{self, Surroundings, message};
use crate::sys::env::Env;
use crate::sys::time::{self, Deadline};
use crate::sys::{fault, shown, term};

/// The most of a payload that is read.
pub const MAX_PAYLOAD: u64 = 16 << 20;

/// How long the gate takes at most: shorter than the timeout of any harness.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// Answers one call: the payload comes on standard input.
///
/// The work is done on a thread of its own, so that a disk that hangs or a panic can't keep the
/// answer back. The caller ends the process with the answer, and the thread with it.
#[must_use]
pub fn answer(adapter: &'static Adapter, env: Env) -> Answer {
    let (say, hear) = mpsc::channel();
    let env = Arc::new(env);
    let deadline = Deadline::after(PATIENCE);
    let job = {
        let env = Arc::clone(&env);
        move || work(adapter, &env, &say)
    };
    let verdict = match thread::Builder::new().spawn(job) {
        Ok(_) => listen(&hear, &deadline),
        // No room for a thread: without the deadline then. A harness has one as well.
        Err(_) => {
            let (say, hear) = mpsc::channel();
            work(adapter, &env, &say);
            drop(say);
            listen(&hear, &deadline)
        }
    };
    (adapter.answer)(&verdict)
}

/// What the worker says, in this order.
#[derive(Debug)]
enum Word {
    /// What kind of call it is.
    Kind(Kind),
    /// The verdict.
    Done(Verdict),
}

/// What has to be known of a call to fail in the right direction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Kind {
    /// The tool, where it could be read.
    tool: Option<String>,
    /// Whether it surely writes.
    writes: bool,
}

fn listen(hear: &Receiver<Word>, deadline: &Deadline) -> Verdict {
    let mut kind = Kind::default();
    loop {
        match hear.recv_timeout(deadline.left()) {
            Ok(Word::Kind(known)) => kind = known,
            Ok(Word::Done(verdict)) => return verdict,
            Err(RecvTimeoutError::Timeout) => return unchecked(&kind, &format!("it took longer than {} s", PATIENCE.as_secs())),
            Err(RecvTimeoutError::Disconnected) => return unchecked(&kind, "the gate itself failed; please report it"),
        }
    }
}

/// The verdict on a call that could not be checked to the end.
fn unchecked(kind: &Kind, why: &str) -> Verdict {
    match &kind.tool {
        Some(tool) if kind.writes => Verdict::Refuse(format!(
            "Not done: whose the path of this `{}` call is could not be checked ({why}), and what surely writes does not go on unchecked. \
             Nothing was changed and nothing was handed over. Try it once more, smaller if it was large; if that fails too, tell your user \
             to run `loci connect --check`.",
            shown::text(tool)
        )),
        _ => not_checked(why),
    }
}

fn not_checked(why: &str) -> Verdict {
    Verdict::Note(format!("loci: custody was not checked for this call: {why}"))
}

fn work(adapter: &Adapter, env: &Env, say: &Sender<Word>) {
    // Nobody hears it any more after the deadline.
    let _ = say.send(Word::Done(judged(adapter, env, say)));
}

fn judged(adapter: &Adapter, env: &Env, say: &Sender<Word>) -> Verdict {
    let (payload, more) = match term::stdin(MAX_PAYLOAD) {
        Ok(read) => read,
        Err(error) => return not_checked(&format!("the payload can't be read: {error}")),
    };
    if more {
        let tool = tool_name(&payload);
        let writes = tool.as_deref().is_some_and(|tool| class(tool).writes());
        return unchecked(&Kind { tool, writes }, "the payload is larger than 16 MiB");
    }
    let event = match (adapter.read)(&payload) {
        Ok(event) => event,
        Err(error) => return not_checked(&format!("the payload {error}")),
    };
    drop(payload);
    let writes = class(&event.tool).writes();
    let _ = say.send(Word::Kind(Kind { tool: Some(event.tool.clone()), writes }));
    fault::point("gate");
    rule(adapter, env, &event)
}

/// The kind of a tool by its name alone.
fn class(tool: &str) -> Class {
    tools::read_call(tool, &Value::Null, Path::new("/"), None, tools::WRITE_WORDS).class
}

fn rule(adapter: &Adapter, env: &Env, event: &Event) -> Verdict {
    let home = env.user_home();
    let cwd = event.cwd.clone().unwrap_or_default();
    let Intent { acts, change, class } = tools::read_call(&event.tool, &event.input, &cwd, home.as_deref(), tools::WRITE_WORDS);
    if acts.iter().any(|act| act.path.is_relative()) {
        return not_checked("the payload names no working directory, and the call a path that is relative to it");
    }
    if acts.is_empty() && class.writes() {
        return not_checked("it writes, and names no path that can be read");
    }
    let surroundings = surroundings(env);
    let mut notes = Vec::new();
    let asker = asker(env, event, &surroundings, &mut notes);
    let ruling = custody::rule(&acts, &asker, &surroundings);
    if ruling.verdict == custody::Verdict::Refuse {
        let attempt = Attempt {
            asker: &asker,
            harness: adapter.name,
            session: event.session.as_deref(),
            tool: &event.tool,
            change,
            ruling: &ruling,
            reads: Vec::new(),
            at: time::now(),
        };
        let deliveries = delegation::deliver(&attempt, &surroundings);
        return Verdict::Refuse(message::message(&ruling, &deliveries));
    }
    notes.extend(ruling.notes);
    if notes.is_empty() { Verdict::Pass } else { Verdict::Note(format!("loci: {}", notes.join("; "))) }
}

/// Who asks in this session: fixed at its first event.
fn asker(env: &Env, event: &Event, surroundings: &Surroundings, notes: &mut Vec<String>) -> Asker {
    let session = event.session.as_deref().filter(|_| env.state().is_some());
    if env.state().is_none() {
        notes.push("who asks can't be kept for this session, since neither HOME nor LOCI_HOME is set".to_owned());
    }
    // Where the payload does not say where the agent stands, it stands in nobody's place.
    let cwd = event.cwd.as_deref().unwrap_or(Path::new("/"));
    match asker::of_session(&surroundings.state, session, env, cwd, time::now()) {
        Ok((asker, note)) => {
            notes.extend(note.map(|note| note.0));
            asker
        }
        Err(error) => {
            notes.push(format!("you are taken for nobody: failed to {error}"));
            Asker::default()
        }
    }
}

/// Where things are on this machine. Without a home there is no registry and no state: a directory
/// that is never there stands for it.
fn surroundings(env: &Env) -> Surroundings {
    let nowhere = || PathBuf::from("/nonexistent");
    let home = env.home().unwrap_or_else(nowhere);
    Surroundings {
        user_home: env.user_home().unwrap_or_else(|| home.clone()),
        state: env.state().unwrap_or_else(|| nowhere().join("loci")),
        home,
        wall: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_did_not_end_closes_for_what_surely_writes_and_is_said_for_the_rest() {
        let kind = |tool: &str| Kind { tool: Some(tool.to_owned()), writes: class(tool).writes() };
        for tool in ["Write", "Edit", "NotebookEdit", "apply_patch", "write_file", "replace", "write", "edit", "mcp__fs__write_file"] {
            let Verdict::Refuse(text) = unchecked(&kind(tool), "why") else { panic!("{tool} went on") };
            assert!(text.contains("why") && text.contains(tool));
        }
        for tool in ["Bash", "run_shell_command", "Read", "read_file", "SomethingElse"] {
            assert!(matches!(unchecked(&kind(tool), "why"), Verdict::Note(_)), "{tool}");
        }
        assert!(matches!(unchecked(&Kind::default(), "why"), Verdict::Note(_)));
    }

    #[test]
    fn silence_and_failure_of_the_worker_are_heard() {
        let writes = Kind { tool: Some("Write".to_owned()), writes: true };
        let (say, hear) = mpsc::channel();
        say.send(Word::Kind(writes.clone())).unwrap();
        assert!(matches!(listen(&hear, &Deadline::after(Duration::ZERO)), Verdict::Refuse(text) if text.contains("longer than 2 s")));
        say.send(Word::Kind(writes)).unwrap();
        drop(say);
        assert!(matches!(listen(&hear, &Deadline::after(PATIENCE)), Verdict::Refuse(text) if text.contains("itself failed")));
    }
}
