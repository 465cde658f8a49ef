//! `loci jobs`: what is scheduled, and what a person allows of it.

mod now;
mod show;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args as ClapArgs, Subcommand};
use serde_json::{Value, json};

use super::clock;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::table;
use crate::cli::{Answer, Outcome, grant};
use crate::clock::decide;
use crate::clock::engine::{Root, Why};
use crate::clock::job::{self, Action, Job, LoadError, Loop, Need};
use crate::clock::loops;
use crate::clock::record::Record;
use crate::clock::schedule::When;
use crate::clock::store::Store;
use crate::clock::trust::{self, Trust};
use crate::clock::wake;
use crate::custody::grants;
use crate::sys::disk::PathError;
use crate::sys::{disk, random, shown, time};
use crate::text::near;

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

/// The jobs of a root.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Those that were read.
    pub(super) jobs: Vec<Arc<Job>>,
    /// Those that are refused.
    pub(super) errors: Vec<LoadError>,
}

/// Reads every job of a root, in the order of their names.
pub(super) fn read_all(root: &Root) -> Result<Found, Failure> {
    let dir = root.dotdir().join("jobs");
    let mut found = Found::default();
    let entries = if disk::look_through(&dir)?.is_some() { disk::list(&dir)? } else { Vec::new() };
    let files = entries.iter().filter_map(|entry| entry.name.to_str()).filter(|name| name.ends_with(".md") && !name.starts_with('.'));
    let mut paths: Vec<PathBuf> = files.map(|name| dir.join(name)).collect();
    let heart = root.dotdir().join("heartbeat.md");
    if disk::look_through(&heart)?.is_some() {
        paths.push(heart);
    }
    for path in paths.into_iter().filter(|path| disk::is_file(path)) {
        match read_one(&path) {
            Ok(Ok(Some(job))) => found.jobs.push(Arc::new(job)),
            Ok(Ok(None)) => {}
            Ok(Err(error)) => found.errors.push(error),
            // One that can't be read hides no other.
            Err(error) => {
                let why = format!("it can't be read: {}", error.source);
                found.errors.push(LoadError { path, line: None, field: None, why });
            }
        }
    }
    let needs: BTreeMap<&str, &[Need]> = found.jobs.iter().map(|job| (&*job.name, &*job.needs)).collect();
    let broken = |name: &str| found.errors.iter().any(|error| error.path.file_stem().is_some_and(|stem| stem == name));
    let refused = job::refused(&needs, &|name| needs.contains_key(name) || broken(name));
    let path = |name: &str| dir.join(format!("{name}.md"));
    let refused: BTreeMap<String, String> = refused.into_iter().map(|(name, why)| (name.to_owned(), why)).collect();
    found.jobs.retain(|job| !refused.contains_key(&*job.name));
    let lacks = refused.into_iter().map(|(name, why)| LoadError { path: path(&name), line: None, field: Some("needs".to_owned()), why });
    found.errors.extend(lacks);
    Ok(found)
}

fn read_one(path: &Path) -> Result<Result<Option<Job>, LoadError>, PathError> {
    let bytes = disk::read_bounded(path, job::MAX_BYTES)?;
    let Some(bytes) = bytes else {
        let why = format!("it has more than {} bytes", job::MAX_BYTES);
        return Ok(Err(LoadError { path: path.to_owned(), line: None, field: None, why }));
    };
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let is_heart = path.file_name().is_some_and(|name| name == "heartbeat.md") && !path.parent().is_some_and(|dir| dir.ends_with("jobs"));
    let loaded = if is_heart { job::parse_beat(path, &bytes) } else { job::parse(&name, path, &bytes).map(Some) };
    Ok(loaded.map(|loaded| loaded.map(|loaded| loaded.job)))
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
        Some(What::Accept { names, dry_run }) => allow(context, "accept", &names, dry_run),
        Some(What::Arm { names, dry_run }) => allow(context, "arm", &names, dry_run),
        Some(What::Disarm { names, dry_run }) => disarm(context, &names, dry_run),
    }
}

/// Everything about the jobs of a root.
struct World {
    root: Root,
    found: Found,
    trust: Trust,
    records: BTreeMap<String, Record>,
}

fn world(context: &Context) -> Result<World, Failure> {
    let root = clock::root(context, None)?;
    let mut found = read_all(&root)?;
    let (wakes, wrong) = wake::all(&root.dir);
    found.jobs.extend(wakes.into_iter().map(Arc::new));
    found.errors.extend(wrong.into_iter().map(|(path, line, why)| LoadError { path, line, field: None, why }));
    let trust = Trust::read(&root.state, &root.dir)?;
    let records = Store::read(&Store::folder(&root.state, &root.dir))?.0.records;
    Ok(World { root, found, trust, records })
}

/// How one job stands, for whoever shows an agent.
pub(super) struct Standing {
    /// Whether it may run, or why not.
    pub(super) state: String,
    /// What came of its last instant.
    pub(super) last: Option<&'static str>,
    /// Whether it stands in the ledger.
    pub(super) stuck: bool,
}

/// How the jobs of a root stand, by name; of the bodies that mail wakes, those that are handed in.
pub(super) fn standing(root: Root, wakes: Vec<Job>) -> Result<BTreeMap<String, Standing>, Failure> {
    let mut found = read_all(&root)?;
    found.jobs.extend(wakes.into_iter().map(Arc::new));
    let trust = Trust::read(&root.state, &root.dir)?;
    let records = Store::read(&Store::folder(&root.state, &root.dir))?.0.records;
    let ledger = crate::clock::ledger::read(&root.dir)?;
    let world = World { root, found, trust, records };
    let one = |name: &str, state: String| {
        let last = world.records.get(name).and_then(|record| record.outcome).map(|outcome| outcome.word());
        (name.to_owned(), Standing { state, last, stuck: ledger.open.contains_key(name) })
    };
    let refused = |error: &LoadError| {
        let name = error.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        one(&name, format!("refused: {}", shown::text(&error.why)))
    };
    let jobs = world.found.jobs.iter().map(|job| one(&job.name, world.state(job).word().to_owned()));
    Ok(jobs.chain(world.found.errors.iter().map(refused)).collect())
}

impl World {
    fn job(&self, name: &str) -> Result<&Arc<Job>, Failure> {
        if let Some(job) = self.found.jobs.iter().find(|job| &*job.name == name) {
            return Ok(job);
        }
        if let Some(error) = self.found.errors.iter().find(|error| error.path.file_stem().is_some_and(|stem| stem == name)) {
            return Err(Failure::new("job", format!("failed to read the job {}: {}", shown::text(name), shown::text(&error.why)))
                .at(&error.path, error.line));
        }
        let near = near::nearest(name, self.found.jobs.iter().map(|job| &*job.name));
        let failure = Failure::new("job", format!("no job is called `{}`", shown::text(name)));
        Err(failure.hint(near.map_or_else(|| "loci jobs".to_owned(), |near| format!("loci jobs show {near}"))))
    }

    /// The loop that a name means: `loop:NAME`, or plain NAME where no job has it.
    fn looped(&self, name: &str) -> Result<Option<Loop>, Failure> {
        match name.strip_prefix(loops::PREFIX) {
            Some(name) => super::loops::named(&self.root, name).map(Some),
            None if self.found.jobs.iter().any(|job| &*job.name == name) => Ok(None),
            None if super::loops::file(&self.root, name).is_some() => super::loops::named(&self.root, name).map(Some),
            None => Ok(None),
        }
    }

    /// The line that grants something of a name.
    fn line(&self, kind: &str, name: &str, hash: String, body: Option<Value>) -> Result<Value, Failure> {
        let salt = random::hex20().map_err(|error| Failure::new("io", "failed to get a random id").caused_by(&error))?;
        let mut more = vec![("job", Value::from(name)), ("hash", hash.into())];
        more.extend(body.map(|body| ("body", body)));
        Ok(trust::line(kind, &self.root.dir, &more, time::now(), &salt).1)
    }

    fn state(&self, job: &Job) -> Why {
        if !self.trust.enrolled || !self.trust.is_accepted(job, &self.root.dir) {
            Why::NotAccepted
        } else if job.calls_model && !self.trust.is_armed(job, &self.root.dir) {
            Why::Dormant
        } else {
            Why::Live
        }
    }

    /// When it is due next, by what the clock knows of it; without a clock, from now on.
    fn next(&self, job: &Job) -> Option<time::Timestamp> {
        let now = time::now();
        let known = self.records.get(&*job.name).filter(|record| record.when == job.schedule && record.seen.is_some());
        match known {
            Some(record) => decide::next(job, record, None),
            None => match &job.when {
                When::Every(_) => Some(now),
                when => when.next(now, None),
            },
        }
    }

    fn next_word(&self, job: &Job) -> String {
        match self.next(job) {
            Some(next) => time::to_second(next),
            None if job.when == When::Mail => "with mail".to_owned(),
            None => "never".to_owned(),
        }
    }

    fn object(&self, job: &Job) -> Value {
        let record = self.records.get(&*job.name);
        json!({
            "name": &*job.name, "state": self.state(job).word(), "next": self.next(job).map(|next| next.to_string()),
            "calls_model": job.calls_model, "record": record,
        })
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
                let last = record.and_then(|record| record.outcome).map_or("-", |outcome| outcome.word());
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
        let Some(next) = decide::next(job, &record, found.last().copied()) else { break };
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

fn allow(context: &Context, kind: &str, names: &[String], dry_run: bool) -> Outcome {
    if !dry_run && let Some(answer) = grant::or_request(context, &grants::file(&context.state), &format!("loci jobs {kind}"))? {
        return Ok(answer);
    }
    let world = world(context)?;
    let mut lines = Vec::new();
    for name in names {
        if let Some(one) = world.looped(name)? {
            let (accept, arm) = trust::loop_hashes(&one, &world.root.dir);
            lines.push(world.line(kind, &one.job.name, if kind == "arm" { arm } else { accept }, None)?);
            continue;
        }
        let job = world.job(name)?;
        let body = match &job.action {
            Action::Wake { body, .. } if kind == "arm" => body.to_str().map(Value::from),
            Action::Wake { .. } => {
                let what = format!("{} stands in no file that could be accepted: a person arms it", job.name);
                return Err(Failure::new("job", what).hint(format!("loci jobs arm {name}")));
            }
            Action::Run(_) | Action::Agent { .. } => None,
        };
        let hash = if kind == "arm" { trust::arm_hash(job, &world.root.dir) } else { trust::accept_hash(job, &world.root.dir) };
        lines.push(world.line(kind, name, hash, body)?);
    }
    if !dry_run {
        grants::append(&context.state, &lines)?;
    }
    let word = match (kind, dry_run) {
        ("arm", false) => "armed",
        ("arm", true) => "would be armed",
        (_, false) => "accepted",
        (_, true) => "would be accepted",
    };
    context.print(
        || format!("{word}: {}\n", names.join(" ")),
        || json!({ "schema": 1, "done": !dry_run, "root": world.root.dir.to_string_lossy(), "grants": lines }),
    )?;
    if !world.trust.enrolled {
        context.say(&format!("note: the root is not enrolled: nothing fires (loci clock enroll {})", context.shown(&world.root.dir)));
    }
    Ok(Answer::Yes)
}

fn disarm(context: &Context, names: &[String], dry_run: bool) -> Outcome {
    if !dry_run && let Some(answer) = grant::or_request(context, &grants::file(&context.state), "loci jobs disarm")? {
        return Ok(answer);
    }
    let world = world(context)?;
    let mut ids = Vec::new();
    for name in names {
        let one = world.looped(name)?;
        ids.extend(world.trust.arms_of(one.as_ref().map_or(name.as_str(), |one| &one.job.name)));
    }
    if !dry_run {
        let lines: Vec<Value> = ids.iter().map(|id| grants::revoke_line(id, time::now())).collect();
        if !lines.is_empty() {
            grants::append(&context.state, &lines)?;
        }
    }
    let word = if dry_run { "would be disarmed" } else { "disarmed" };
    context.print(
        || if ids.is_empty() { "none of them is armed\n".to_owned() } else { format!("{word}: {}\n", names.join(" ")) },
        || json!({ "schema": 1, "done": !dry_run, "revoked": ids }),
    )?;
    Ok(if ids.is_empty() { Answer::No } else { Answer::Yes })
}
