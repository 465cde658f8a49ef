//! `loci jobs show`: one job in full, with what the clock knows of it.

use serde_json::json;

use super::world::World;
use crate::cli::context::Context;
use crate::cli::output::table;
use crate::cli::{Answer, Outcome};
use crate::clock::engine::Why;
use crate::clock::job::{Action, Job, Loadout};
use crate::clock::record::Outcome as Came;
use crate::clock::runs::{self, Run};
use crate::clock::schedule::{When, duration};
use crate::clock::store::Store;
use crate::sys::{shown, time};

/// Shows it.
///
/// # Errors
/// Where there is no such job, or the root can't be read.
pub(super) fn run(context: &Context, name: &str) -> Outcome {
    let world = super::world::world(context)?;
    let job = world.job(name)?;
    let what = match &job.action {
        Action::Run(line) => format!("run {}", shown::text(line)),
        Action::Agent { body, .. } => format!("agent {}", shown::path(body)),
        Action::Wake { body, agent } => format!("wakes {agent} in {} when a delegation comes", shown::path(body)),
    };
    let rows: Vec<(&str, String)> = details(&world, job, &what);
    context.print(
        || table(&rows.iter().map(|(key, value)| vec![(*key).to_owned(), value.clone()]).collect::<Vec<_>>()),
        || {
            let mut object = world.object(job);
            if let Some(fields) = object.as_object_mut() {
                fields.insert("schema".to_owned(), 1.into());
                fields.insert("does".to_owned(), what.clone().into());
                fields.insert("deliverables".to_owned(), json!(job.deliverables));
                fields.insert("needs".to_owned(), json!(job.needs.iter().map(|need| &*need.job).collect::<Vec<_>>()));
                fields.insert("timeout_s".to_owned(), job.timeout.as_secs().into());
                fields.insert("kill_grace_s".to_owned(), job.kill_grace.as_secs().into());
                fields.insert("retry".to_owned(), job.retry.into());
                fields.insert("max_per_day".to_owned(), json!(job.max_per_day));
                fields.insert("only_if".to_owned(), json!(job.only_if));
            }
            object
        },
    )?;
    Ok(Answer::Yes)
}

/// A job in full, in the order that people ask in.
fn details(world: &World, job: &Job, what: &str) -> Vec<(&'static str, String)> {
    let mut rows = vec![("job", job.name.to_string()), ("does", what.to_owned()), ("state", world.state(job).word().to_owned())];
    match world.state(job) {
        Why::NotAccepted if world.trust.enrolled => rows.push(("", format!("loci jobs accept {}", job.name))),
        Why::Dormant => rows.push(("", format!("loci jobs arm {}", job.name))),
        _ => {}
    }
    rows.push(("next", world.next_word(job)));
    for one in &job.deliverables {
        rows.push(("leaves", shown::text(&one.path).to_string()));
    }
    match &job.action {
        Action::Wake { .. } => rows.push(("leaves", "an answer to each delegation".to_owned())),
        _ if job.deliverables.is_empty() => rows.push(("leaves", "nothing that it is judged by".to_owned())),
        _ => {}
    }
    for need in &job.needs {
        let within = need.within.map(|within| format!(" within {}", duration::show(within))).unwrap_or_default();
        rows.push(("needs", format!("{}{within}", need.job)));
    }
    rows.extend(job.only_if.as_ref().map(|glob| ("only if", shown::text(glob).to_string())));
    rows.push(("timeout", format!("{}, then {} to end", duration::show(job.timeout), duration::show(job.kill_grace))));
    if job.retry > 0 {
        let waits: Vec<String> = job.retry_wait.iter().map(|wait| duration::show(*wait)).collect();
        rows.push(("retry", format!("{}, after {}", shown::count(job.retry, "time", "times"), waits.join(", "))));
    }
    rows.push(("overlap", format!("{:?}", job.overlap).to_lowercase()));
    if job.beat.is_none() && job.when != When::Mail {
        rows.push(("missed", format!("{:?}, within {}", job.missed, duration::show(job.missed_window)).to_lowercase()));
    }
    rows.extend(job.max_per_day.map(|most| ("budget", shown::count(most, "run a day", "runs a day"))));
    rows.extend(job.loadout.as_deref().map(|loadout| match loadout {
        Loadout::Named(name) => ("wears", shown::text(name).to_string()),
        Loadout::Inline(text) => ("wears", shown::text(text).to_string()),
    }));
    let Some(record) = world.records.get(&*job.name) else { return rows };
    if let Some(running) = &record.past.running {
        rows.push(("running", shown::text(running).to_string()));
    }
    if let Some(outcome) = record.past.outcome {
        let at = record.last.map(|last| format!(" for {}", time::to_second(last))).unwrap_or_default();
        let held = record.past.held_by.as_deref().filter(|_| outcome == Came::Held);
        let held = held.map(|by| format!(", by {}", shown::text(by))).unwrap_or_default();
        rows.push(("last", format!("{}{at}{held}", outcome.word())));
    }
    let folder = Store::folder(&world.root.state, &world.root.dir).join("runs");
    if let Some(judged) = &record.past.judged {
        let exit = judged.exit.map(|code| format!(", exit {code}")).unwrap_or_default();
        rows.push(("last run", format!("{} for {}{exit}", judged.outcome.word(), time::to_second(judged.instant))));
        let run = Run::read(&folder.join(&judged.run));
        rows.extend(run.iter().flat_map(|run| &run.missing).map(|lack| ("missing", lack.to_string())));
        let said = Some(folder.join(&judged.run)).filter(|_| judged.lacks_and_failed()).and_then(|folder| runs::first_error(&folder));
        rows.extend(said.map(|said| ("said", said)));
        rows.push(("output", shown::path(&folder.join(&judged.run)).to_string()));
    }
    let counts = serde_json::to_value(&record.past.counts).unwrap_or_default();
    let counts: Vec<String> =
        counts.as_object().into_iter().flatten().map(|(name, count)| format!("{} {count}", name.replace('_', "-"))).collect();
    if !counts.is_empty() {
        rows.push(("so far", counts.join(", ")));
    }
    rows
}
