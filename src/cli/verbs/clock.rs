//! `loci clock`: run what is due.

mod install;

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};
use serde_json::{Map, Value, json};

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::{Answer, Outcome, grant};
use crate::clock::daemon::{self, DaemonError};
use crate::clock::engine::Root;
use crate::clock::job;
use crate::clock::trust::{self, Trust};
use crate::custody::grants;
use crate::sys::lock::LockError;
use crate::sys::{disk, random, shown, time};
use crate::tree::settings;

use super::jobs;

/// Run what is due
#[derive(Debug, ClapArgs)]
#[command(
    subcommand_required = true,
    after_help = "A job is a file: .loci-clock/jobs/NAME.md. It fires where a person enrolled the root, and succeeds where the files\nthat it names are there afterwards.\n\nExamples:\n  loci clock enroll .\n  loci clock run .\n  loci clock status"
)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Stay, and run what is due, until a signal ends it
    #[command(
        after_help = "Without ROOT: every root that is enrolled. Runs that are on when it ends go on; the next one takes them up.\n\nExample:\n  loci clock run ~/work"
    )]
    Run {
        /// Directories with a .loci-clock
        roots: Vec<PathBuf>,
    },
    /// Do one full tick, and end
    #[command(after_help = "For cron, and for trying a job out.\n\nExample:\n  loci clock once .")]
    Once {
        /// Directories with a .loci-clock; default: every root that is enrolled
        roots: Vec<PathBuf>,
    },
    /// Say whether a clock runs for a root, and how it is
    #[command(after_help = "Exit 1 where none runs.\n\nExample:\n  loci clock status --json")]
    Status {
        /// The root; default: the nearest directory up from here with a .loci-clock
        #[arg(id = "status_root", value_name = "ROOT")]
        root: Option<PathBuf>,
    },
    /// Start the clock with the machine: a user unit of systemd, an agent of launchd, or a line for cron
    #[command(
        after_help = "It writes one file, or one line into your crontab, and says what switches it on. Once more, it changes nothing; --remove takes it\naway again. Runs outlive the clock in each of them.\n\nExamples:\n  loci clock install --dry-run\n  loci clock install ~/work\n  loci clock install --cron\n  loci clock install --remove"
    )]
    Install(install::Args),
    /// Let what a root holds fire, with the jobs as they are now
    #[command(
        after_help = "A person does this. Jobs that come or change later wait for `loci jobs accept`; what calls a model waits for\n`loci jobs arm`.\n\nExamples:\n  loci clock enroll .\n  loci clock enroll . --live    # jobs that come later need no accepting"
    )]
    Enroll {
        /// The directory with the .loci-clock
        #[arg(id = "enroll_root", value_name = "ROOT")]
        root: PathBuf,
        /// Whatever job comes later is accepted too
        #[arg(long)]
        live: bool,
        /// Print what would be enrolled, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
}

/// Runs it.
///
/// # Errors
/// Where a root can't be used or kept.
pub fn run(context: &Context, args: Args) -> Outcome {
    match args.what {
        What::Run { roots } => keep(context, &roots, true),
        What::Once { roots } => keep(context, &roots, false),
        What::Install(args) => install::run(context, &args),
        What::Status { root } => status(context, root.as_deref()),
        What::Enroll { root, live, dry_run } => enroll(context, &root, live, dry_run),
    }
}

/// A root by its path.
pub(super) fn root_at(context: &Context, path: &Path) -> Result<Root, Failure> {
    let dir = disk::canonical(&context.absolute(path))?;
    if !disk::is_dir(&dir.join(".loci-clock")) {
        return Err(Failure::new("root", format!("{} holds no .loci-clock", context.shown(&dir))).hint("mkdir -p .loci-clock/jobs"));
    }
    if dir.to_str().is_none() {
        return Err(Failure::new("root", format!("the path of a root has to be UTF-8: {}", shown::path(&dir))));
    }
    let dotdirs = settings::load(&context.home)
        .map_err(|error| Failure::new("settings", format!("failed to {error}")).at(&error.path, error.line))?
        .dotdirs;
    Ok(Root {
        dir,
        state: context.state.clone(),
        home: context.home.clone(),
        user_home: context.env.user_home().unwrap_or_else(|| context.home.clone()),
        dotdirs,
    })
}

/// The root that is meant where none is named.
pub(super) fn root(context: &Context, named: Option<&Path>) -> Result<Root, Failure> {
    if let Some(named) = named {
        return root_at(context, named);
    }
    let none = || Failure::new("root", "no directory up from here holds a .loci-clock").hint("mkdir -p .loci-clock/jobs");
    root_around(context, &disk::canonical(&context.cwd)?)?.ok_or_else(none)
}

/// The root that is named, else the nearest one up from a real directory; `None` where there is none.
pub(super) fn root_around(context: &Context, dir: &Path) -> Result<Option<Root>, Failure> {
    let named = context.flags.root.clone().or_else(|| context.env.get(crate::sys::env::LOCI_ROOT).map(PathBuf::from));
    let nearest = || crate::tree::climb::nearest(dir, |dir| disk::is_dir(&dir.join(".loci-clock"))).map(Path::to_owned);
    named.or_else(nearest).map(|dir| root_at(context, &dir)).transpose()
}

/// The roots that are named, else those that are enrolled.
pub(super) fn roots(context: &Context, named: &[PathBuf]) -> Result<Vec<Root>, Failure> {
    if !named.is_empty() {
        return named.iter().map(|path| root_at(context, path)).collect();
    }
    let mut dirs: Vec<PathBuf> = Vec::new();
    for grant in grants::read(&context.state)?.all.iter().filter(|grant| grant.kind == "enrol") {
        let dir = grant.record.get("root").and_then(Value::as_str).map(PathBuf::from);
        dirs.extend(dir.filter(|dir| !dirs.contains(dir)));
    }
    let mut roots = Vec::new();
    for dir in dirs {
        match root_at(context, &dir) {
            Ok(root) => roots.push(root),
            Err(_) => context.say(&format!("note: {} is enrolled, and holds no .loci-clock any more", context.shown(&dir))),
        }
    }
    Ok(roots)
}

fn keep(context: &Context, named: &[PathBuf], stay: bool) -> Outcome {
    let roots = roots(context, named)?;
    if roots.is_empty() {
        context.say("nothing to run: no root is named, and none is enrolled (loci clock enroll DIR)");
        return Ok(Answer::No);
    }
    for root in &roots {
        if !Trust::read(&root.state, &root.dir)?.enrolled {
            let shown = context.shown(&root.dir);
            return Err(
                Failure::new("root", format!("{shown} is not enrolled: nothing of it may fire")).hint(format!("loci clock enroll {shown}"))
            );
        }
    }
    if stay {
        for root in &roots {
            context.say(&format!("clock: keeps {}", context.shown(&root.dir)));
        }
    }
    let env = environment(context);
    let many = roots.len() > 1;
    let say = |root: &Path, notice: &crate::clock::engine::Notice| {
        let place = if many { format!("{}: ", context.shown(root)) } else { String::new() };
        context.say(&format!("{} {place}{}", time::to_second(notice.at), shown::text(&notice.text)));
    };
    let went = if stay { daemon::run(roots, &env, say) } else { daemon::once(roots, &env, say) };
    went.map(|()| Answer::Yes).map_err(failed)
}

/// The environment that runs inherit: what runs acts as whoever lives where it runs, not as whoever started the clock.
pub(super) fn environment(context: &Context) -> std::collections::BTreeMap<std::ffi::OsString, std::ffi::OsString> {
    use crate::sys::env::{LOCI_AGENT, LOCI_BODY, LOCI_FAULT, LOCI_HOPS, LOCI_JOB, LOCI_RUN, LOCI_UNARMED};
    let mut env = context.env.vars.clone();
    for name in [LOCI_AGENT, LOCI_BODY, LOCI_RUN, LOCI_JOB, LOCI_HOPS, LOCI_UNARMED, LOCI_FAULT] {
        env.remove(std::ffi::OsStr::new(name));
    }
    env
}

/// A failure of the clock itself.
pub(super) fn failed(error: DaemonError) -> Failure {
    match error {
        DaemonError::Lock(error) => held(error),
        DaemonError::Disk(error) => error.into(),
        DaemonError::Settings(error) => Failure::new("settings", format!("failed to {error}")).at(&error.path, error.line),
        DaemonError::Signals(error) => Failure::new("io", "failed to receive signals").caused_by(&error),
    }
}

fn held(error: LockError) -> Failure {
    Failure::from(error).hint("loci clock status")
}

fn status(context: &Context, named: Option<&Path>) -> Outcome {
    let root = root(context, named)?;
    let holder = daemon::running(&root.state, &root.dir);
    let status = daemon::status(&root.state, &root.dir)?;
    let enrolled = Trust::read(&root.state, &root.dir)?.enrolled;
    context.print(
        || {
            let mut text = match &holder {
                Some(holder) => format!("a clock runs here: pid {} since {}\n", holder.process.pid, shown::text(&holder.since)),
                None if enrolled => "no clock runs here\n".to_owned(),
                None => "no clock runs here, and the root is not enrolled\n".to_owned(),
            };
            if let Some(status) = &status {
                let count = |key: &str| status.get(key).and_then(Value::as_array).map_or(0, Vec::len);
                let jobs = status.get("jobs").and_then(Value::as_u64).unwrap_or(0);
                text.push_str(&format!(
                    "{}, {} running, {} refused, {} stuck\n",
                    shown::count(jobs, "job", "jobs"),
                    count("running"),
                    count("refused"),
                    count("stuck")
                ));
                let notices = status.get("notices").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                for notice in notices.iter().skip(notices.len().saturating_sub(10)) {
                    let part = |key: &str| notice.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
                    text.push_str(&format!("  {} {}\n", part("at"), shown::text(&part("text"))));
                }
            }
            text
        },
        || {
            let holder = holder.as_ref().map(|holder| json!({ "pid": holder.process.pid, "since": holder.since }));
            json!({ "schema": 1, "root": root.dir.to_string_lossy(), "enrolled": enrolled, "clock": holder, "last": status })
        },
    )?;
    Ok(if holder.is_some() { Answer::Yes } else { Answer::No })
}

fn enroll(context: &Context, path: &Path, live: bool, dry_run: bool) -> Outcome {
    if !dry_run && let Some(answer) = grant::or_request(context, &grants::file(&context.state), "loci clock enroll")? {
        return Ok(answer);
    }
    let root = root_at(context, path)?;
    let found = jobs::read_all(&root)?;
    let mut accepted: Map<String, Value> =
        found.jobs.iter().map(|job| (job.name.to_string(), Value::from(trust::accept_hash(job, &root.dir)))).collect();
    let loops = super::loops::read_all(&root)?;
    let read = loops.values().filter_map(|one| one.as_ref().ok());
    accepted.extend(read.clone().map(|one| (one.job.name.to_string(), Value::from(trust::loop_hashes(one, &root.dir).0))));
    let trust = Trust::read(&root.state, &root.dir)?;
    let dormant = found.jobs.iter().filter(|job| job.calls_model && !trust.is_armed(job, &root.dir)).map(|job| &*job.name);
    let unarmed = read.filter(|one| !trust.arms(&one.job.name, &trust::loop_hashes(one, &root.dir).1));
    let models: Vec<&str> = dormant.chain(unarmed.map(|one| &*one.job.name)).collect();
    let refused: Vec<&job::LoadError> = found.errors.iter().chain(loops.values().filter_map(|one| one.as_ref().err())).collect();
    if !dry_run {
        let salt = random::hex20().map_err(|error| Failure::new("io", "failed to get a random id").caused_by(&error))?;
        let more = [("live", Value::from(live)), ("accepted", Value::from(accepted.clone()))];
        let (_, line) = trust::line("enrol", &root.dir, &more, time::now(), &salt);
        grants::append(&context.state, &[line])?;
    }
    context.print(
        || {
            let word = if dry_run { "would be enrolled" } else { "enrolled" };
            let mut text = format!("{word}: {} with {} job(s) as they are\n", context.shown(&root.dir), accepted.len());
            for name in accepted.keys() {
                text.push_str(&format!(
                    "  {name}{}\n",
                    if models.contains(&name.as_str()) { ": dormant until `loci jobs arm`" } else { "" }
                ));
            }
            for error in &refused {
                text.push_str(&format!("  refused: {error}\n"));
            }
            text
        },
        || {
            json!({
                "schema": 1, "done": !dry_run, "root": root.dir.to_string_lossy(), "live": live, "accepted": accepted, "dormant": models,
                "refused": refused.iter().map(ToString::to_string).collect::<Vec<_>>(),
            })
        },
    )?;
    Ok(Answer::Yes)
}
