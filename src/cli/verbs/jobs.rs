//! `loci jobs`: what is scheduled, and what a person allows of it.

mod allow;
mod now;
mod show;
mod world;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args as ClapArgs, Subcommand};
use serde_json::{Value, json};

pub(super) use world::{Standing, read_all, standing};

use crate::cli::context::Context;
use crate::cli::output::table;
use crate::cli::{Answer, Outcome};
use crate::clock::decide;
use crate::clock::job::{self, Job, LoadError};
use crate::sys::{disk, shown, time};
use world::{read_one, world};

/// List what is scheduled, and allow it
#[derive(Debug, ClapArgs)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Without a verb: every job, when it is due next, what came of it last, and whether it may run.\n\nExamples:\n  loci jobs\n  loci jobs show report\n  loci jobs next report --count 5\n  loci jobs accept report"
)]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Every job: when it is due, what came of it, whether it may run
    #[command(after_help = "Exit 1 where there is none.\n\nExample:\n  loci jobs list --json")]
    List,
    /// One job, with what the clock knows of it
    #[command(after_help = "Example:\n  loci jobs show report")]
    Show {
        /// Its name
        name: String,
    },
    /// Say whether a file is a job or a loop, without doing anything
    #[command(after_help = "Exit 1 where it is none.\n\nExample:\n  loci jobs check .loci-clock/jobs/report.md")]
    Check {
        /// The file
        file: PathBuf,
    },
    /// The next instants of a job, by the calendar
    #[command(after_help = "Example:\n  loci jobs next report --count 5")]
    Next {
        /// Its name
        name: String,
        /// How many
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
        count: u16,
    },
    /// Run a job now, judged like any run
    #[command(
        after_help = "The calendar alone is passed over: what it needs, its budget and a run that is on count as ever. Where a clock runs, that one\nruns it. It may be ended while it waits; the run goes on.\n\nExit 1 where what it must leave behind is not there.\n\nExample:\n  loci jobs run report"
    )]
    Run {
        /// Its name
        name: String,
        /// Say what would be run, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Let a job run as it is now
    #[command(
        after_help = "Bound to the file and to the scripts in the tree that it names. A loop is named `loop:NAME`.\n\nExample:\n  loci jobs accept report"
    )]
    Accept {
        /// Their names
        #[arg(required = true)]
        names: Vec<String>,
        /// Print what would be accepted, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Let a job call a model as it is now, or mail wake a body
    #[command(
        after_help = "Bound to what the job does; an edit of that makes it dormant again. A body with `wake: [delegation]` in its agent.md is the job\nwake:ID: armed, each new delegation in its inbox is one run of it. A loop is loop:NAME.\n\nExamples:\n  loci jobs arm triage\n  loci jobs arm wake:billing"
    )]
    Arm {
        /// Their names
        #[arg(required = true)]
        names: Vec<String>,
        /// Print what would be armed, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Take that back
    #[command(after_help = "Example:\n  loci jobs disarm triage")]
    Disarm {
        /// Their names
        #[arg(required = true)]
        names: Vec<String>,
        /// Print what would be disarmed, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
}

/// Runs it.
///
/// # Errors
/// Where there is no such job, or the root can't be read.
pub fn run(context: &Context, args: Args) -> Outcome {
    match args.what {
        None | Some(What::List) => list(context),
        Some(What::Show { name }) => show::run(context, &name),
        Some(What::Check { file }) => check(context, &file),
        Some(What::Next { name, count }) => next(context, &name, count),
        Some(What::Run { name, dry_run }) => now::run(context, &name, dry_run),
        Some(What::Accept { names, dry_run }) => allow::allow(context, "accept", &names, dry_run),
        Some(What::Arm { names, dry_run }) => allow::allow(context, "arm", &names, dry_run),
        Some(What::Disarm { names, dry_run }) => allow::disarm(context, &names, dry_run),
    }
}

fn list(context: &Context) -> Outcome {
    let world = world(context)?;
    if !world.trust.enrolled {
        let shown = context.shown(&world.root.dir);
        context.say(&format!("note: {shown} is not enrolled: nothing fires (loci clock enroll {shown})"));
    }
    context.print(
        || {
            let row = |job: &Arc<Job>| {
                let record = world.records.get(&*job.name);
                let last = record.and_then(|record| record.past.outcome).map_or("-", |outcome| outcome.word());
                let next = world.next_word(job);
                vec![job.name.to_string(), next, last.to_owned(), world.state(job).word().to_owned()]
            };
            let mut rows: Vec<Vec<String>> = world.found.jobs.iter().map(row).collect();
            for error in &world.found.errors {
                // A body that can't be woken is no job by the name of its file.
                let is_body = error.path.file_name().is_some_and(|name| name == "agent.md");
                let name = if is_body { context.shown(&error.path) } else { shown::path(Path::new(error.path.file_stem().unwrap_or_default())).to_string() };
                rows.push(vec![name, "-".to_owned(), "-".to_owned(), format!("refused: {}", shown::text(&error.why))]);
            }
            if rows.is_empty() { "no jobs\n".to_owned() } else { table(&rows) }
        },
        || {
            let jobs: Vec<Value> = world.found.jobs.iter().map(|job| world.object(job)).collect();
            let refused: Vec<Value> = world.found.errors.iter().map(refusal).collect();
            json!({ "schema": 1, "root": world.root.dir.to_string_lossy(), "enrolled": world.trust.enrolled, "jobs": jobs, "refused": refused })
        },
    )?;
    Ok(if world.found.jobs.is_empty() && world.found.errors.is_empty() { Answer::No } else { Answer::Yes })
}

fn refusal(error: &LoadError) -> Value {
    json!({ "path": error.path.to_string_lossy(), "line": error.line, "field": error.field, "why": error.why })
}

fn check(context: &Context, file: &Path) -> Outcome {
    let path = context.absolute(file);
    if path.parent().is_some_and(|dir| dir.ends_with(".loci-clock/loops")) {
        return check_loop(context, &path);
    }
    let read = read_one(&path)?;
    context.print(
        || match &read {
            Ok(Some(job)) => format!("{} is a job{}\n", job.name, if job.calls_model { " that calls a model" } else { "" }),
            Ok(None) => "its text is empty: no beat\n".to_owned(),
            Err(error) => format!("{error}\n"),
        },
        || json!({ "schema": 1, "ok": read.is_ok(), "refused": read.as_ref().err().map(refusal) }),
    )?;
    Ok(if read.is_ok() { Answer::Yes } else { Answer::No })
}

fn check_loop(context: &Context, path: &Path) -> Outcome {
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let bytes = disk::read_bounded(path, job::MAX_BYTES)?.unwrap_or_default();
    let read = job::parse_loop(&name, path, &bytes);
    context.print(
        || match &read {
            Ok(one) => format!("{} is a loop of at most {} rounds\n", one.definition.name, one.definition.max_rounds),
            Err(error) => format!("{error}\n"),
        },
        || json!({ "schema": 1, "ok": read.is_ok(), "refused": read.as_ref().err().map(refusal) }),
    )?;
    Ok(if read.is_ok() { Answer::Yes } else { Answer::No })
}

fn next(context: &Context, name: &str, count: u16) -> Outcome {
    let world = world(context)?;
    let job = world.job(name)?;
    let mut record =
        world.records.get(name).filter(|record| record.when == job.schedule && record.seen.is_some()).cloned().unwrap_or_default();
    if record.seen.is_none() {
        decide::begin(&job.when, &mut record, time::now());
    }
    let mut found: Vec<time::Timestamp> = Vec::new();
    for _ in 0..count {
        let Some(next) = decide::next(&job.when, &record, found.last().copied()) else { break };
        found.push(next);
    }
    context.print(
        || {
            let line =
                |at: &time::Timestamp| format!("{}\n", job.zone.to_datetime(*at).to_string() + &format!(" {}", job.zone.to_offset(*at)));
            found.iter().map(line).collect()
        },
        || json!({ "schema": 1, "job": name, "next": found.iter().map(ToString::to_string).collect::<Vec<_>>() }),
    )?;
    Ok(if found.is_empty() { Answer::No } else { Answer::Yes })
}
