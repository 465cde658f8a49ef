//! `loci connect --check`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{failed, ground, others, user_home};
use crate::cli::context::Context;
use crate::cli::{Answer, Outcome};
use crate::hooks::connect::check::{self, Standing};
use crate::hooks::connect::{ConnectError, Reach};
use crate::hooks::harness::{self, Adapter};
use crate::sys::disk;

/// A harness whose settings can't be read: which file, and what is wrong with it.
fn broken(error: &ConnectError, adapter: &Adapter, reach: &Reach, context: &Context) -> (PathBuf, Standing) {
    let (path, line) = match error {
        ConnectError::Unfit { path, unfit } => (Some(path), Some(unfit.line)),
        ConnectError::File { path, .. } => (Some(path), None),
        ConnectError::Disk(error) => (Some(&error.path), None),
        ConnectError::NoLocal { .. } | ConnectError::NoShared { .. } => (None, None),
    };
    let why = match error {
        ConnectError::Unfit { unfit, .. } => unfit.why.to_string(),
        ConnectError::File { why, .. } => (*why).to_owned(),
        error => error.to_string(),
    };
    let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
    let user_home = user_home(context);
    let file = path.cloned().or_else(|| ground(context, &user_home).file(adapter, reach).ok());
    (file.unwrap_or_else(|| context.cwd.clone()), Standing::Broken(format!("{line}{why}")))
}

/// What else has to be known of how it stands: what a file of a project does not reach, and the relays of the
/// project here that were not asked about.
fn notes(context: &Context, rows: &[(&'static Adapter, (PathBuf, Standing))], reach: &Reach) -> Vec<String> {
    if *reach != Reach::User {
        let there = rows.iter().filter(|(_, (_, standing))| matches!(standing, Standing::Connected | Standing::Observed));
        return there.flat_map(|(adapter, _)| adapter.wiring.needs_shared).map(|need| (*need).to_owned()).collect();
    }
    let calls = |file: &Path| {
        let data = disk::read_bounded(file, 1 << 20).ok().flatten().unwrap_or_default();
        String::from_utf8_lossy(&data).contains("/.loci/bin/loci")
    };
    let is_user_s = |file: &Path| rows.iter().any(|(_, (own, _))| own == file);
    let one = |(adapter, _): &(&'static Adapter, (PathBuf, Standing))| {
        let found: Vec<String> =
            others(context, adapter).iter().filter(|file| calls(file) && !is_user_s(file)).map(|file| context.shown(file)).collect();
        (!found.is_empty()).then(|| {
            format!("relays of the project here stand in {}: loci connect {} --check --shared .", found.join(" and "), adapter.name)
        })
    };
    rows.iter().filter_map(one).collect()
}

/// How it stands with one harness, or with all of them.
pub(super) fn checked(context: &Context, only: Option<&'static Adapter>, reach: &Reach) -> Outcome {
    let user_home = user_home(context);
    let ground = ground(context, &user_home);
    let mut rows = Vec::new();
    let reads = |adapter: &Adapter| match reach {
        Reach::User => true,
        Reach::Shared(_) => adapter.wiring.shared.is_some(),
        Reach::Project(_) => adapter.wiring.local.is_some(),
    };
    // One that reads no such file can't be connected there.
    let asked = |adapter: &&Adapter| only.map_or_else(|| reads(adapter), |only| only.name == adapter.name);
    for adapter in harness::ALL.into_iter().filter(asked) {
        // What a project says counts for whoever starts there.
        let others = others(context, adapter);
        let found = check::standing(adapter, reach, &ground, &others).or_else(|error| match error {
            error if only.is_some() => Err(failed(error, adapter)),
            // One that can't be read must not hide how it stands with the others.
            error => Ok(broken(&error, adapter, reach, context)),
        })?;
        rows.push((adapter, found));
    }
    let good = |standing: &Standing| {
        matches!(standing, Standing::Connected | Standing::Observed) || (only.is_none() && *standing == Standing::NotConnected)
    };
    let all = rows.iter().all(|(_, (_, standing))| good(standing));
    for note in notes(context, &rows, reach) {
        context.say(&format!("note: {note}"));
    }
    context.print(
        || {
            let cells = |(adapter, (file, standing)): &(&Adapter, (PathBuf, Standing))| {
                let fix =
                    matches!(standing, Standing::Differs).then(|| format!(": run `loci connect {}`", adapter.name)).unwrap_or_default();
                let why = standing.why().map(|why| format!(": {why}{fix}")).unwrap_or_default();
                vec![adapter.name.to_owned(), format!("{}{why}", standing.word().replace('-', " ")), context.shown(file)]
            };
            let rows: Vec<Vec<String>> = rows
                .iter()
                .map(cells)
                .map(|mut row| {
                    row.swap(1, 2);
                    row
                })
                .collect();
            crate::cli::output::table(&rows)
        },
        || {
            let rows: Vec<Value> = rows
                .iter()
                .map(|(adapter, (file, standing))| {
                    json!({ "harness": adapter.name, "file": file.to_string_lossy(), "standing": standing.word(), "why": standing.why() })
                })
                .collect();
            json!({ "schema": 1, "harnesses": rows })
        },
    )?;
    Ok(if all { Answer::Yes } else { Answer::No })
}
