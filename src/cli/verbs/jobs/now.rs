//! `loci jobs run`: a job now, judged like any run.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::world::World;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::verbs::clock;
use crate::cli::{Answer, Outcome, grant};
use crate::clock::daemon;
use crate::clock::engine::Why;
use crate::clock::record::{Outcome as Came, Record};
use crate::clock::runs::{self, Run};
use crate::clock::store::Store;
use crate::sys::time::{Moment, Timestamp};
use crate::sys::{shown, time};

/// How often the clock that runs is asked.
const PAUSE: Duration = Duration::from_millis(250);

/// Runs it.
///
/// # Errors
/// Where it may not run, or the clock that runs it ends.
pub(super) fn run(context: &Context, name: &str, dry_run: bool) -> Outcome {
    if !dry_run && let Some(answer) = grant::or_request(context, &context.state.join("clock"), &format!("loci jobs run {name}"))? {
        return Ok(answer);
    }
    let world = super::world::world(context)?;
    let folder = Store::folder(&world.root.state, &world.root.dir);
    let job = world.job(name)?;
    let shown_root = context.shown(&world.root.dir);
    let why = match world.state(job) {
        Why::Live => None,
        _ if !world.trust.enrolled => {
            Some((format!("{shown_root} is not enrolled: nothing of it may fire"), format!("loci clock enroll {shown_root}")))
        }
        Why::Dormant => Some((format!("{name} is not armed"), format!("loci jobs arm {name}"))),
        _ => Some((format!("{name} is not accepted as it is"), format!("loci jobs accept {name}"))),
    };
    if let Some((why, hint)) = why {
        return Err(Failure::new("job", format!("failed to run {name}: {why}")).hint(hint));
    }
    let runs = daemon::running(&world.root.state, &world.root.dir);
    if dry_run {
        let by = runs.as_ref().map_or_else(|| "here".to_owned(), |holder| format!("by the clock that runs (pid {})", holder.process.pid));
        context.print(|| format!("would run {name} now, {by}\n"), || json!({ "schema": 1, "done": false, "job": name, "by": by }))?;
        return Ok(Answer::Yes);
    }
    let (outcome, at) = if runs.is_some() {
        let at = Moment::now().wall;
        Store::wish(&folder, name, at)?;
        context.say(&format!("{name}: the clock that runs has it; this waits for it, and may be ended"));
        (wait(&world, &folder, name, at)?, Some(at))
    } else {
        let say = |_: &Path, notice: &crate::clock::engine::Notice| {
            context.say(&format!("{} {}", time::to_second(notice.at), shown::text(&notice.text)));
        };
        let env = clock::environment(context);
        (daemon::run_now(world.root.clone(), &env, name, say).map_err(clock::failed)?, None)
    };
    let Some(outcome) = outcome else { return Err(Failure::new("job", format!("failed to run {name}: it is not in force"))) };
    report(context, &folder, name, outcome, at)
}

fn report(context: &Context, folder: &Path, name: &str, outcome: Came, at: Option<Timestamp>) -> Outcome {
    let record = record(folder, name)?;
    let judged = record.as_ref().and_then(|record| record.past.judged.as_deref()).filter(|judged| at.is_none_or(|at| judged.instant == at));
    let run = judged.and_then(|judged| Run::read(&folder.join("runs").join(&judged.run)));
    context.print(
        || {
            let mut text = format!("{name}: {}\n", outcome.word());
            for lack in run.iter().flat_map(|run| &run.missing) {
                text.push_str(&format!("  {lack}\n"));
            }
            let failed = judged.filter(|judged| judged.lacks_and_failed());
            if let Some(said) = failed.and_then(|judged| runs::first_error(&folder.join("runs").join(&judged.run))) {
                text.push_str(&format!("  it said: {said}\n"));
            }
            text
        },
        || {
            json!({
                "schema": 1, "job": name, "outcome": outcome.word(), "run": judged.map(|judged| &judged.run),
                "exit": judged.and_then(|judged| judged.exit), "missing": run.as_ref().map(|run| &run.missing),
            })
        },
    )?;
    Ok(if matches!(outcome, Came::Success | Came::Unjudged) { Answer::Yes } else { Answer::No })
}

fn record(folder: &Path, name: &str) -> Result<Option<Record>, Failure> {
    let mut records: BTreeMap<String, Record> = Store::read(folder)?.0.records;
    Ok(records.remove(name))
}

/// Waits until the clock that runs has dealt with an instant.
fn wait(world: &World, folder: &Path, name: &str, at: Timestamp) -> Result<Option<Came>, Failure> {
    loop {
        if let Some(record) =
            record(folder, name)?.filter(|record| record.last >= Some(at) && record.past.running.is_none() && record.past.retry.is_none())
        {
            let judged = record.past.judged.as_deref().filter(|judged| judged.instant == at).map(|judged| judged.outcome);
            return Ok(judged.or(record.past.outcome));
        }
        if daemon::running(&world.root.state, &world.root.dir).is_none() {
            let what = format!("failed to wait for {name}: the clock has ended; the next one deals with it");
            return Err(Failure::new("clock", what).hint("loci clock status"));
        }
        std::thread::sleep(PAUSE);
    }
}
