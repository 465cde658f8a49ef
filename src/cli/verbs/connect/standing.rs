//! `loci connect --check`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{failed, ground, others, user_home};
use crate::body::home;
use crate::cli::context::Context;
use crate::cli::{Answer, Outcome};
use crate::hooks::connect::check::{self, Standing};
use crate::hooks::connect::{self, ConnectError, Ground, Reach};
use crate::hooks::harness::{self, Adapter};
use crate::sys::{disk, env};
use crate::tree::settings;

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
    let file = path.cloned().or_else(|| ground(context, &user_home).spot(adapter, reach).ok().map(|spot| spot.name));
    (file.unwrap_or_else(|| context.cwd.clone()), Standing::Broken(format!("{line}{why}")))
}

/// What else has to be known of how it stands: what a file of a project does not reach, and the relays of the
/// project here that were not asked about.
fn notes(context: &Context, rows: &[Row], reach: &Reach) -> Vec<String> {
    if *reach != Reach::User {
        let there = rows.iter().filter(|(_, (_, standing))| matches!(standing, Standing::Connected | Standing::Observed));
        return there.flat_map(|(adapter, _)| adapter.wiring.needs_shared).map(|need| (*need).to_owned()).collect();
    }
    let calls = |adapter: &Adapter, file: &Path| {
        let data = disk::read_bounded(file, 1 << 20).ok().flatten().unwrap_or_default();
        connect::calls_us(adapter, &String::from_utf8_lossy(&data))
    };
    let is_user_s = |file: &Path| rows.iter().any(|(_, (own, _))| own == file);
    let one = |(adapter, _): &Row| {
        let found: Vec<String> = others(context, adapter)
            .iter()
            .filter(|file| calls(adapter, file) && !is_user_s(file))
            .map(|file| context.shown(file))
            .collect();
        let local = adapter.wiring.local.filter(|local| found.iter().any(|file| Path::new(file) == Path::new(local)));
        let shared = adapter.wiring.shared.filter(|shared| found.iter().any(|file| Path::new(file) == Path::new(shared)));
        let ways: Vec<String> = [(shared, "shared"), (local, "project")]
            .into_iter()
            .filter(|(file, _)| file.is_some())
            .map(|(_, way)| format!("loci connect {} --check --{way} .", adapter.name))
            .collect();
        (!found.is_empty()).then(|| format!("relays of the project here stand in {}: {}", found.join(" and "), ways.join("; ")))
    };
    rows.iter().filter_map(one).collect()
}

/// A harness, the file of it that was looked at, and what was found.
type Row = (&'static Adapter, (PathBuf, Standing));

/// The harnesses in PATH that loci knows how to be asked by.
pub(in crate::cli::verbs) fn installed(context: &Context) -> Vec<&'static Adapter> {
    home::harnesses(context.env.get(env::PATH)).into_iter().filter_map(|(name, _)| harness::named(name)).collect()
}

/// How it stands with one harness, with what loci's own settings do to its gate.
fn stands(context: &Context, adapter: &Adapter, reach: &Reach, ground: &Ground<'_>) -> Result<(PathBuf, Standing), ConnectError> {
    let (file, found) = check::standing(adapter, reach, ground, &others(context, adapter))?;
    let broken = settings::load(&context.home).err().filter(|_| matches!(found, Standing::Connected | Standing::Observed));
    Ok(broken.map_or((file, found), |error| {
        let line = error.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        let why = format!("{line}{}; until that is right the gate refuses file tools and checks no command", error.why);
        (error.path, Standing::Broken(why))
    }))
}

/// How it stands with each harness that has settings of that reach; one that can't be read hides no other.
pub(in crate::cli::verbs) fn standings(context: &Context, reach: &Reach) -> Vec<Row> {
    let user_home = user_home(context);
    let ground = ground(context, &user_home);
    let reads = |adapter: &&Adapter| match reach {
        Reach::User => true,
        Reach::Shared(_) => adapter.wiring.shared.is_some(),
        Reach::Project(_) => adapter.wiring.local.is_some(),
    };
    let one = |adapter: &'static Adapter| {
        // What a project says counts for whoever starts there.
        let found = stands(context, adapter, reach, &ground);
        (adapter, found.unwrap_or_else(|error| broken(&error, adapter, reach, context)))
    };
    // One that reads no such file can't be connected there.
    harness::ALL.into_iter().filter(reads).map(one).collect()
}

/// How it stands with one harness, or with all of them.
pub(super) fn checked(context: &Context, only: Option<&'static Adapter>, reach: &Reach) -> Outcome {
    let rows: Vec<Row> = match only {
        Some(adapter) => {
            let user_home = user_home(context);
            let found = stands(context, adapter, reach, &ground(context, &user_home));
            vec![(adapter, found.map_err(|error| failed(error, adapter))?)]
        }
        None => standings(context, reach),
    };
    let good = |standing: &Standing| {
        matches!(standing, Standing::Connected | Standing::Observed) || (only.is_none() && *standing == Standing::NotConnected)
    };
    let all = rows.iter().all(|(_, (_, standing))| good(standing));
    for note in notes(context, &rows, reach) {
        context.say(&format!("note: {note}"));
    }
    context.print(
        || {
            let cells = |(adapter, (file, standing)): &Row| {
                let fix = matches!(standing, Standing::Differs | Standing::Gone)
                    .then(|| format!(": run `loci connect {}`", adapter.name))
                    .unwrap_or_default();
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
