//! `loci loop`: a prompt that comes again until its predicate holds.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use serde_json::{Value, json};

use super::clock;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::table;
use crate::cli::{Answer, Outcome, grant};
use crate::clock::daemon;
use crate::clock::engine::Root;
use crate::clock::job::{self, LoadError, Loop};
use crate::clock::loops::seam;
use crate::clock::loops::{self, Active, Definition, How, LoopError, PREFIX, State};
use crate::clock::trust::{self, Trust};
use crate::sys::{disk, shown, time};
use crate::text::near;

/// Go on with a prompt until its predicate holds
#[derive(Debug, ClapArgs)]
#[command(
    subcommand_required = true,
    after_help = "A loop is a file: .loci-clock/loops/NAME.md, with `exit`, an expression in CEL over the state that its hooks leave, and the\nprompt as its text. The clock of the root delivers the prompt; each end of a turn is a round.\n\nExamples:\n  loci loop list\n  loci jobs arm loop:tests\n  loci loop start tests\n  loci loop status"
)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Put its hooks on, and deliver its prompt
    #[command(
        after_help = "One loop a root at a time. One that was interrupted goes on with the round it was in.\n\nExample:\n  loci loop start tests"
    )]
    Start {
        /// Its name
        name: String,
        /// From the first round, with an empty state
        #[arg(long)]
        anew: bool,
        /// Print what would be started, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// End the loop that goes on; its hooks leave
    #[command(after_help = "A turn that the clock started for it ends too; a terminal is left alone.\n\nExample:\n  loci loop stop")]
    Stop {
        /// Print what would be ended, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// The loop that goes on, and what came of the others
    #[command(after_help = "Exit 1 where none goes on.\n\nExample:\n  loci loop status --json")]
    Status,
    /// Every loop of the root, and whether it may be started
    #[command(after_help = "Exit 1 where there is none.\n\nExample:\n  loci loop list")]
    List,
}

/// Runs it.
///
/// # Errors
/// Where there is no such loop, or the root can't be read.
pub fn run(context: &Context, args: Args) -> Outcome {
    match args.what {
        What::Start { name, anew, dry_run } => start(context, &name, anew, dry_run),
        What::Stop { dry_run } => stop(context, dry_run),
        What::Status => status(context),
        What::List => list(context),
    }
}

fn failed(error: &LoopError) -> Failure {
    Failure::new("loop", format!("failed to {error}"))
}

/// The file of a loop, where it is there.
pub(super) fn file(root: &Root, name: &str) -> Option<PathBuf> {
    let path = root.dotdir().join("loops").join(format!("{name}.md"));
    (job::is_name(name) && disk::is_file(&path)).then_some(path)
}

/// Reads the loop of a name; `None` where there is no file of it.
pub(super) fn read(root: &Root, name: &str) -> Result<Option<Result<Loop, LoadError>>, Failure> {
    let Some(path) = file(root, name) else { return Ok(None) };
    let bytes = disk::read_bounded(&path, job::MAX_BYTES)?;
    let too_long = || LoadError { path: path.clone(), line: None, field: None, why: format!("it has more than {} bytes", job::MAX_BYTES) };
    Ok(Some(bytes.ok_or_else(too_long).and_then(|bytes| job::parse_loop(name, &path, &bytes))))
}

/// Reads every loop of a root, in the order of their names.
pub(super) fn read_all(root: &Root) -> Result<BTreeMap<String, Result<Loop, LoadError>>, Failure> {
    let dir = root.dotdir().join("loops");
    let mut found = BTreeMap::new();
    let entries = if disk::look_through(&dir)?.is_some() { disk::list(&dir)? } else { Vec::new() };
    for name in entries.iter().filter_map(|entry| entry.name.to_str()?.strip_suffix(".md")).filter(|name| !name.starts_with('.')) {
        let path = dir.join(format!("{name}.md"));
        if !disk::is_file(&path) {
            continue;
        }
        let one = match disk::read_bounded(&path, job::MAX_BYTES) {
            Ok(Some(bytes)) => job::parse_loop(name, &path, &bytes),
            Ok(None) => Err(LoadError { path, line: None, field: None, why: format!("it has more than {} bytes", job::MAX_BYTES) }),
            // One that can't be read hides no other.
            Err(error) => Err(LoadError { path, line: None, field: None, why: format!("it can't be read: {}", error.source) }),
        };
        found.insert(name.to_owned(), one);
    }
    Ok(found)
}

/// The loop of a name, or why there is none.
pub(super) fn named(root: &Root, name: &str) -> Result<Loop, Failure> {
    match read(root, name)? {
        Some(Ok(one)) => Ok(one),
        Some(Err(error)) => {
            Err(Failure::new("loop", format!("failed to read the loop {}: {}", shown::text(name), shown::text(&error.why)))
                .at(&error.path, error.line))
        }
        None => {
            let all = read_all(root)?;
            let near = near::nearest(name, all.keys().map(String::as_str));
            let failure = Failure::new("loop", format!("no loop is called `{}`", shown::text(name)));
            Err(failure.hint(near.map_or_else(|| "loci loop list".to_owned(), |near| format!("loci loop start {near}"))))
        }
    }
}

/// Why a loop may not be started, with what a person would do about it; `None`: it may.
fn barred(trust: &Trust, one: &Loop, root: &Root) -> Option<(&'static str, String)> {
    let (accept, arm) = trust::loop_hashes(one, &root.dir);
    let name = &one.job.name;
    if !trust.enrolled {
        Some(("not enrolled", "loci clock enroll .".to_owned()))
    } else if !trust.accepts(name, &accept) {
        Some(("not accepted", format!("loci jobs accept {name}")))
    } else if !trust.arms(name, &arm) {
        Some(("dormant", format!("loci jobs arm {name}")))
    } else {
        None
    }
}

fn start(context: &Context, name: &str, anew: bool, dry_run: bool) -> Outcome {
    if !dry_run && let Some(answer) = grant::or_request(context, &loops::folder(&context.state), "loci loop start")? {
        return Ok(answer);
    }
    let root = clock::root(context, None)?;
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    let one = named(&root, name)?;
    let trust = Trust::read(&root.state, &root.dir)?;
    if let Some((state, hint)) = barred(&trust, &one, &root) {
        return Err(Failure::new("loop", format!("failed to start the loop {name}: it is {state}")).hint(hint));
    }
    let hash = trust::loop_hashes(&one, &root.dir).1;
    let begin = |known: &State| -> Result<Active, String> {
        if let Some(active) = &known.active {
            return Err(active.definition.name.clone());
        }
        let goes_on = known.last.get(name).filter(|last| last.how == How::Interrupted && !anew && last.rounds < one.definition.max_rounds);
        Ok(Active {
            definition: one.definition.clone(),
            hash: hash.clone(),
            round: goes_on.map_or(0, |last| last.rounds),
            state: goes_on.map(|last| last.state.clone()).unwrap_or_default(),
            since: Some(time::now()),
            ..Active::default()
        })
    };
    let begun = if dry_run {
        begin(&loops::read(&loops::file(&root.state, &root.dir)).map_err(|error| failed(&error))?.unwrap_or_default())
    } else {
        let started = loops::change(&root.state, &root.dir, |known| {
            let active = begin(known)?;
            known.active = Some(active.clone());
            Ok(active)
        });
        started.map_err(|error| failed(&error))?
    };
    let active = begun.map_err(|other| {
        Failure::new("loop", format!("failed to start the loop {name}: {} goes on here", shown::text(&other))).hint("loci loop stop")
    })?;
    context.print(
        || {
            let word = if dry_run { "would be started" } else { "started" };
            let round = if active.round > 0 { format!(", and goes on after round {}", active.round) } else { String::new() };
            format!("{word}: the loop {name}{round}; at most {} rounds\n", active.definition.max_rounds)
        },
        || json!({ "schema": 1, "done": !dry_run, "root": root.dir.to_string_lossy(), "loop": name, "after_round": active.round, "max_rounds": active.definition.max_rounds }),
    )?;
    if daemon::running(&root.state, &root.dir).is_none() {
        context.say("note: no clock runs here, and its prompt is delivered by one (loci clock run .)");
    }
    Ok(Answer::Yes)
}

fn stop(context: &Context, dry_run: bool) -> Outcome {
    if !dry_run && let Some(answer) = grant::or_request(context, &loops::folder(&context.state), "loci loop stop")? {
        return Ok(answer);
    }
    let root = clock::root(context, None)?;
    let path = loops::file(&root.state, &root.dir);
    let known = loops::read(&path).map_err(|error| failed(&error))?.unwrap_or_default();
    let name = known.active.as_ref().map(|active| active.definition.name.clone());
    if !dry_run && name.is_some() {
        let ended = loops::change(&root.state, &root.dir, |known| known.end(How::Ended, "a person ended it", time::now()));
        if let Some((session, _)) = ended.map_err(|error| failed(&error))? {
            seam::leave(&root.state, &session).map_err(|error| Failure::new("loop", format!("failed to {error}")))?;
        }
    }
    context.print(
        || match &name {
            Some(name) => format!("{}: the loop {name}\n", if dry_run { "would be ended" } else { "ended" }),
            None => "no loop goes on here\n".to_owned(),
        },
        || json!({ "schema": 1, "done": !dry_run && name.is_some(), "root": root.dir.to_string_lossy(), "loop": name }),
    )?;
    Ok(if name.is_some() { Answer::Yes } else { Answer::No })
}

fn status(context: &Context) -> Outcome {
    let root = clock::root(context, None)?;
    let known = loops::read(&loops::file(&root.state, &root.dir)).map_err(|error| failed(&error))?.unwrap_or_default();
    let clock = daemon::running(&root.state, &root.dir).is_some();
    let today = seam::day(time::now());
    let phase = |active: &Active| match active.phase {
        loops::Phase::Due if clock => "its prompt is due",
        loops::Phase::Due => "its prompt is due, and no clock runs here",
        loops::Phase::Turn => "a turn is on",
        loops::Phase::Next => "done; the next one is chosen",
        loops::Phase::Asking => "done; a command says what comes next",
    };
    context.print(
        || {
            let mut text = match &known.active {
                None => "no loop goes on here\n".to_owned(),
                Some(active) => {
                    let Definition { name, max_rounds, exit, .. } = &active.definition;
                    let mut rows = vec![
                        vec!["loop".to_owned(), name.clone()],
                        vec!["round".to_owned(), format!("{} of {max_rounds}", active.round)],
                        vec!["now".to_owned(), phase(active).to_owned()],
                        vec!["exit".to_owned(), shown::text(exit).to_string()],
                        vec!["state".to_owned(), shown::text(&Value::Object(active.state.clone()).to_string()).to_string().chars().take(400).collect()],
                    ];
                    rows.extend(active.said.as_ref().map(|said| vec!["not yet".to_owned(), shown::text(said).to_string()]));
                    table(&rows)
                }
            };
            let row = |(name, last): (&String, &loops::Last)| {
                vec![name.clone(), last.how.word().to_owned(), format!("{} rounds", last.rounds), time::to_second(last.at), shown::text(&last.why).to_string()]
            };
            text.push_str(&table(&known.last.iter().map(row).collect::<Vec<_>>()));
            text
        },
        || {
            let active = known.active.as_ref().map(|active| {
                json!({
                    "name": active.definition.name, "round": active.round, "max_rounds": active.definition.max_rounds, "phase": active.phase,
                    "exit": active.definition.exit, "state": active.state, "session": active.session, "not_yet": active.said,
                    "since": active.since.map(|at| at.to_string()), "rounds_today": known.rounds_on(&active.definition.name, &today),
                })
            });
            let last: BTreeMap<&String, Value> = known
                .last
                .iter()
                .map(|(name, last)| (name, json!({ "state": last.how.word(), "why": last.why, "rounds": last.rounds, "at": last.at.to_string() })))
                .collect();
            json!({ "schema": 1, "root": root.dir.to_string_lossy(), "clock": clock, "active": active, "last": last })
        },
    )?;
    Ok(if known.active.is_some() { Answer::Yes } else { Answer::No })
}

fn list(context: &Context) -> Outcome {
    let root = clock::root(context, None)?;
    let all = read_all(&root)?;
    let trust = Trust::read(&root.state, &root.dir)?;
    let known = loops::read(&loops::file(&root.state, &root.dir)).map_err(|error| failed(&error))?.unwrap_or_default();
    let order = loops::order(&root.dir);
    if let Err(why) = &order {
        context.say(&format!("note: {why}"));
    }
    let state = |name: &str, one: &Result<Loop, LoadError>| match one {
        Err(_) => "refused".to_owned(),
        Ok(_) if known.active.as_ref().is_some_and(|active| active.definition.name == name) => "goes on".to_owned(),
        Ok(one) => barred(&trust, one, &root).map_or("armed", |(state, _)| state).to_owned(),
    };
    context.print(
        || {
            let row = |(name, one): (&String, &Result<Loop, LoadError>)| {
                let last = known.last.get(name).map_or("-", |last| last.how.word());
                let what = match one {
                    Ok(one) => shown::text(&one.definition.exit).to_string(),
                    Err(error) => error.to_string(),
                };
                vec![shown::text(name).to_string(), state(name, one), last.to_owned(), what]
            };
            if all.is_empty() { "no loops\n".to_owned() } else { table(&all.iter().map(row).collect::<Vec<_>>()) }
        },
        || {
            let object = |(name, one): (&String, &Result<Loop, LoadError>)| match one {
                Ok(Loop { definition, .. }) => json!({
                    "name": name, "state": state(name, one), "hooks": definition.hooks, "exit": definition.exit, "next": definition.next,
                    "max_rounds": definition.max_rounds, "max_per_day": definition.max_per_day, "terminal": definition.terminal,
                    "last": known.last.get(name).map(|last| last.how.word()),
                }),
                Err(error) => json!({
                    "name": name, "state": "refused", "path": error.path.to_string_lossy(), "line": error.line, "field": error.field, "why": error.why,
                }),
            };
            let order = order.as_ref().ok();
            json!({ "schema": 1, "root": root.dir.to_string_lossy(), "loops": all.iter().map(object).collect::<Vec<_>>(), "order": order })
        },
    )?;
    Ok(if all.is_empty() { Answer::No } else { Answer::Yes })
}
