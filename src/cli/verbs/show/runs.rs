//! What runs by itself in an agent's directory, and how it stands with the clock.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::body::portrait::{Automation, Portrait};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::verbs::clock;
use crate::cli::verbs::jobs::{self, Standing};
use crate::clock::wake;
use crate::sys::{disk, shown};
use crate::tree::climb;

/// How its jobs stand, by name: those of its own directory, and whether mail wakes it, which is a matter of the
/// root around it.
pub(super) fn of(context: &Context, portrait: &Portrait) -> Result<BTreeMap<String, Standing>, Failure> {
    let is_root = |dir: &std::path::Path| disk::is_dir(&dir.join(".loci-clock"));
    let mut all = BTreeMap::new();
    if is_root(&portrait.dir) {
        all = jobs::standing(clock::root_at(context, &portrait.dir)?, Vec::new())?;
    }
    if portrait.card.wake.iter().any(|word| word == wake::DELEGATION)
        && let Some(root) = climb::nearest(&portrait.dir, is_root)
        && let Ok(Some(job)) = wake::read(root, &portrait.dir)
    {
        let name = job.name.to_string();
        let around = jobs::standing(clock::root_at(context, root)?, vec![job])?;
        all.extend(around.into_iter().filter(|(one, _)| *one == name));
    }
    Ok(all)
}

/// Those that lie there as files, then the wake, each with how it stands.
fn each<'a>(
    portrait: &'a Portrait,
    jobs: &'a BTreeMap<String, Standing>,
) -> impl Iterator<Item = (&'static str, &'a str, Option<&'a Automation>, Option<&'a Standing>)> {
    // A loop of the same name is none of the clock's jobs.
    let files = portrait.automations.iter().map(|one| {
        let stands = jobs.get(&one.name).filter(|_| one.on && one.kind != "loop");
        (one.kind, one.name.as_str(), Some(one), stands)
    });
    let wakes = jobs.iter().filter(|(name, _)| name.starts_with(wake::PREFIX));
    files.chain(wakes.map(|(name, stands)| ("wake", name.as_str(), None, Some(stands))))
}

/// For people.
pub(super) fn rows(portrait: &Portrait, jobs: &BTreeMap<String, Standing>) -> Vec<Vec<String>> {
    each(portrait, jobs)
        .map(|(kind, name, file, stands)| {
            let state = match stands {
                _ if file.is_some_and(|file| !file.on) => "off".to_owned(),
                Some(stands) => stands.state.clone(),
                None => String::new(),
            };
            let last = stands.and_then(|stands| stands.last).map(|last| format!("last: {last}")).unwrap_or_default();
            let stuck = if stands.is_some_and(|stands| stands.stuck) { "stuck: loci ledger" } else { "" };
            vec![format!("  {kind}"), shown::text(name).to_string(), state, last, stuck.to_owned()]
        })
        .collect()
}

/// For programs.
pub(super) fn objects(portrait: &Portrait, jobs: &BTreeMap<String, Standing>) -> Vec<Value> {
    each(portrait, jobs)
        .map(|(kind, name, file, stands)| {
            json!({
                "kind": kind, "name": name, "on": file.is_none_or(|file| file.on),
                "path": file.map_or_else(|| portrait.card.path.to_string_lossy(), |file| file.path.to_string_lossy()),
                "state": stands.map(|stands| &stands.state), "last": stands.and_then(|stands| stands.last),
                "stuck": stands.map(|stands| stands.stuck),
            })
        })
        .collect()
}
