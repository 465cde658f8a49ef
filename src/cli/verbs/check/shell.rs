//! `loci check --shell` and `--stdin`: what commands would do, and whether that would pass.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{asker as who, object, words};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::grant::surroundings;
use crate::cli::{Answer, Outcome};
use crate::custody::asker::{self, Asker};
use crate::custody::shell::{Input, Words};
use crate::custody::world::Machine;
use crate::custody::{ActRuling, Deeds, Ruling, Surroundings, Verdict};
use crate::sys::{env, term};

/// The longest line that is read from standard input, in bytes.
const MAX_LINE: usize = 4 << 20;

/// What one command would do, ruled on. The same as the gate does for a shell tool.
fn ruled(
    command: &str,
    cwd: &Path,
    env: &BTreeMap<String, String>,
    home: Option<&Path>,
    asker: &Asker,
    named: bool,
    surroundings: &Surroundings,
) -> Ruling {
    let mut deeds = Deeds::default();
    deeds.read(&Input { command: Words::Script(command), cwd, env, home }, &Machine::new());
    let ruling = deeds.rule(asker, surroundings);
    // An agent that is only named may live up from what the command touches, as it may up from a path that is asked about.
    match (&asker.agent, &asker.body) {
        (Some(agent), None) if named => {
            let found = asker::named(agent.clone(), ruling.acts.iter().map(ActRuling::path));
            if found.body.is_some() { deeds.rule(&found, surroundings) } else { ruling }
        }
        _ => ruling,
    }
}

/// Whoever reads commands may fail at one; that is an answer and no words.
fn quiet() {
    std::panic::set_hook(Box::new(|_| {}));
}

/// `--shell`: one command.
pub(super) fn one(context: &Context, cwd: &Path, command: &str) -> Outcome {
    quiet();
    let asker = who(context, cwd, &[])?;
    let home = context.env.user_home();
    let ruling = ruled(command, cwd, &context.env.texts(), home.as_deref(), &asker, context.flags.asker.is_some(), &surroundings(context)?);
    for note in &ruling.notes {
        context.say(&format!("note: {note}"));
    }
    context.print(
        || if ruling.acts.is_empty() { "allow  writes nothing\n".to_owned() } else { words(context, &ruling, &asker) },
        || object(&ruling, &Value::Null),
    )?;
    Ok(if ruling.verdict == Verdict::Refuse { Answer::No } else { Answer::Yes })
}

/// `--stdin`: one command a line, one answer a line.
pub(super) fn lines(context: &Context, base: &Path) -> Outcome {
    quiet();
    let surroundings = surroundings(context)?;
    let texts = context.env.texts();
    let mut askers: BTreeMap<PathBuf, Asker> = BTreeMap::new();
    // Who asks without `--as` is who stands here, whatever directory a line names.
    let here = if context.flags.asker.is_none() { Some(who(context, base, &[])?) } else { None };
    let (mut erred, mut refused) = (false, false);
    let mut failed = None;
    let read = term::each_line(MAX_LINE, |line| {
        if line.as_ref().is_some_and(|line| line.trim_ascii().is_empty()) {
            return ControlFlow::Continue(());
        }
        let answer = match line.as_deref().ok_or_else(|| bad("the line is longer than 4 MiB")).and_then(|line| Question::of(line, base)) {
            Ok(question) => {
                let asker = match &here {
                    Some(asker) => Ok(asker),
                    None => match askers.get(&question.cwd) {
                        Some(known) => Ok(known),
                        None => who(context, &question.cwd, &[base.to_owned()])
                            .map(|found| &*askers.entry(question.cwd.clone()).or_insert(found)),
                    },
                };
                let asker = match asker {
                    Ok(asker) => asker,
                    Err(error) => {
                        failed = Some(error);
                        return ControlFlow::Break(());
                    }
                };
                let ruling = question.ruled(&texts, asker, here.is_none(), &surroundings);
                refused |= ruling.verdict == Verdict::Refuse;
                object(&ruling, &question.id)
            }
            Err((id, message)) => {
                erred = true;
                json!({ "schema": 1, "id": id, "error": { "kind": "input", "message": message } })
            }
        };
        match term::out(format!("{answer}\n").as_bytes()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(Failure::new("io", "failed to write to standard output").caused_by(&error));
                ControlFlow::Break(())
            }
        }
    });
    if let Some(failure) = failed {
        return Err(failure);
    }
    read.map_err(|error| Failure::new("io", "failed to read standard input").caused_by(&error))?;
    Ok(match (erred, refused) {
        (true, _) => Answer::Exit(2),
        (false, true) => Answer::No,
        (false, false) => Answer::Yes,
    })
}

/// A line that asks.
struct Question {
    id: Value,
    cwd: PathBuf,
    command: String,
    env: BTreeMap<String, String>,
}

fn bad(message: &str) -> (Value, String) {
    (Value::Null, message.to_owned())
}

impl Question {
    /// Reads a line; else its id, where it has one, and what is wrong.
    fn of(line: &[u8], base: &Path) -> Result<Self, (Value, String)> {
        let value: Value = serde_json::from_slice(line).map_err(|error| bad(&format!("not JSON: {error}")))?;
        let fields = value.as_object().ok_or_else(|| bad("not an object"))?;
        let id = fields.get("id").cloned().unwrap_or(Value::Null);
        let wrong = |message: &str| (id.clone(), message.to_owned());
        let command = fields.get("command").and_then(Value::as_str).ok_or_else(|| wrong("`command` is missing or no text"))?.to_owned();
        let cwd = match fields.get("cwd") {
            None | Some(Value::Null) => base.to_owned(),
            Some(Value::String(cwd)) => base.join(cwd),
            Some(_) => return Err(wrong("`cwd` is no text")),
        };
        let mut env = BTreeMap::new();
        match fields.get("env") {
            None | Some(Value::Null) => {}
            Some(Value::Object(given)) => {
                for (name, value) in given {
                    let value = value.as_str().ok_or_else(|| wrong("`env` holds something that is no text"))?;
                    env.insert(name.clone(), value.to_owned());
                }
            }
            Some(_) => return Err(wrong("`env` is no object")),
        }
        Ok(Self { id, cwd, command, env })
    }

    fn ruled(&self, texts: &BTreeMap<String, String>, asker: &Asker, named: bool, surroundings: &Surroundings) -> Ruling {
        let mut all = texts.clone();
        all.extend(self.env.iter().map(|(name, value)| (name.clone(), value.clone())));
        let home = all.get(env::HOME).map(PathBuf::from).filter(|home| home.is_absolute());
        ruled(&self.command, &self.cwd, &all, home.as_deref(), asker, named, surroundings)
    }
}
