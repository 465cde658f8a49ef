//! Verbs that agents ask for, shown and carried out for the person who approves.

use std::cell::RefCell;
use std::path::Path;

use clap::FromArgMatches as _;
use serde_json::Value;

use super::context::Context;
use super::near::word;
use super::verbs::{self, Verb};
use super::{Outcome, args, help};
use crate::custody::delegation;

/// The command line of a verb.
pub(super) fn called(argv: &[String]) -> String {
    std::iter::once("loci".to_owned()).chain(argv.iter().map(|one| word(Path::new(one)))).collect::<Vec<_>>().join(" ")
}

/// The verb that words mean, if it is one that agents may ask for.
fn parsed(argv: &[String]) -> Result<args::Args, String> {
    if argv.iter().any(|one| one == "--") {
        return Err("it would run another program".to_owned());
    }
    let words = std::iter::once("loci").chain(argv.iter().map(String::as_str));
    let matches = help::command().try_get_matches_from(words);
    let args = matches.and_then(|matches| args::Args::from_arg_matches(&matches));
    let args = args.map_err(|error| format!("its words are no call of loci: {}", error.to_string().lines().next().unwrap_or_default()))?;
    match &args.verb {
        // What lies in a folder may be another thing after it was looked at.
        Verb::New(args) if args.template().contains('/') => {
            Err("its template is a folder that an agent may change; look at it and run the command yourself".to_owned())
        }
        Verb::Run(args) if !args.has_message() => {
            Err("it has no message among its words: a session at a terminal is a person's to begin, and what comes on standard input is not kept".to_owned())
        }
        Verb::Own(_)
        | Verb::Disown(_)
        | Verb::Extract(_)
        | Verb::Permit(_)
        | Verb::Trust(_)
        | Verb::Hooks(_)
        | Verb::New(_)
        | Verb::Run(_)
        | Verb::Inherit(_)
        | Verb::Toggle(_)
        | Verb::Equip(_)
        | Verb::Unequip(_)
        | Verb::Sets(_)
        | Verb::Loadout(_)
        | Verb::Clock(_)
        | Verb::Jobs(_)
        | Verb::Loop(_)
        | Verb::Mirror(_)
        | Verb::Connect(_)
        | Verb::Disconnect(_)
        | Verb::Init(_) => Ok(args),
        _ => Err("that verb is none that agents ask for".to_owned()),
    }
}

/// Whether a person could approve these words later; else why not. To be asked before a request is filed.
pub(super) fn askable(argv: Option<&[String]>, cwd: &Path) -> Result<(), String> {
    delegation::kept_whole(argv, cwd)?;
    argv.map_or(Ok(()), |argv| parsed(argv).map(|_| ()))
}

/// Runs a verb as the person who approves, where the agent had called it. What it says is caught.
pub(super) fn carry_out(context: &Context, argv: &[String], cwd: &Path, json: bool) -> Result<(Outcome, String), String> {
    let parsed = parsed(argv)?;
    let inner = Context {
        flags: args::Global { json, ..parsed.global },
        env: context.env.clone(),
        cwd: cwd.to_owned(),
        home: context.home.clone(),
        state: context.state.clone(),
        colored: false,
        argv: argv.iter().map(Into::into).collect(),
        sink: Some(RefCell::default()),
    };
    let outcome = verbs::run(&inner, parsed.verb);
    Ok((outcome, inner.sink.map(RefCell::into_inner).unwrap_or_default()))
}

/// What a verb would do now, in words and as its object.
pub(super) fn preview(context: &Context, argv: &[String], cwd: &Path) -> Result<(String, String), String> {
    let mut dry = argv.to_vec();
    if !dry.iter().any(|one| one == "--dry-run") {
        dry.push("--dry-run".to_owned());
    }
    let run = |json: bool| -> Result<String, String> {
        let (outcome, said) = carry_out(context, &dry, cwd, json)?;
        outcome
            .map(|_| said)
            .map_err(|failure| format!("it can't be carried out: {}", failure.to_string().lines().next().unwrap_or_default()))
    };
    Ok((run(false)?, run(true)?))
}

/// Whether a verb's own plan is empty. One whose object has none is never done for nothing.
pub(super) fn nothing_left(object: &str) -> bool {
    let Ok(object) = serde_json::from_str::<Value>(object) else { return false };
    ["plan", "renames"].iter().any(|key| object.get(key).and_then(Value::as_array).is_some_and(Vec::is_empty))
}
