//! Saved loadouts: made, listed, compared, taken away.

use std::path::Path;

use serde_json::{Value, json};

use super::{HARNESS, Pieces, nothing, say_untransportable, strings, surface};
use crate::cli::context::Context;
use crate::cli::near::word;
use crate::cli::{Answer, Outcome, grant, output, wardrobe};
use crate::loadout::archive::{self, Archive, Stores};
use crate::loadout::history::{self, MatchedBy};
use crate::loadout::{Level, digest, transport};
use crate::sys::{disk, shown};

pub(super) fn save(context: &Context, level: &Level, stores: &Stores, name: &str, pieces: &Pieces, here: bool, dry: bool) -> Outcome {
    archive::check_name(name)?;
    let surface = surface(level, pieces)?;
    let store = match (&stores.place, here) {
        (Some(place), true) => place,
        _ => &stores.home,
    };
    let findings = transport::failing(&level.dir, &surface)?;
    say_untransportable(context, &findings);
    for path in &surface.left_out {
        context.say(&format!("note: {} is left out", shown::path(path)));
    }
    let here = if here { " --here" } else { "" };
    let command = format!("loci loadout archive {}{here} --level {}", word(Path::new(name)), word(&level.dir));
    let dir = store.join(name);
    if let Some(answer) = grant::unless_refused(context, &grant::changes(&level.dir, [&dir]), &command, dry)? {
        return Ok(answer);
    }
    let hash = if dry {
        if disk::look(&store.join(name))?.is_some() {
            return Err(crate::loadout::LoadoutError::NameTaken(name.to_owned()).into());
        }
        digest::of(&level.dir, &surface)?
    } else {
        let passes = |dir: &Path| grant::passes(context, &grant::changes(&level.dir, [&dir.to_owned()]));
        let (archive, settled) = archive::save_if(level, store, name, HARNESS, &surface, passes)?;
        wardrobe::say_settled(context, &settled);
        archive.record.hash
    };
    let done = if dry { "would be saved" } else { "saved" };
    context.print(
        || format!("{done}: {}\n{hash}\n", context.shown(&dir)),
        || {
            json!({
                "schema": 1, "name": name, "path": dir.to_string_lossy(), "hash": hash, "dry_run": dry,
                "left_out": strings(&surface.left_out),
                "not_transportable": findings.iter().map(|one| json!({ "path": one.path.to_string_lossy(), "why": one.why.code() })).collect::<Vec<_>>(),
            })
        },
    )?;
    Ok(Answer::Yes)
}

pub(super) fn active(context: &Context, level: &Level, stores: &Stores) -> Outcome {
    for one in wardrobe::open(level)? {
        context.say(&format!("note: {one}"));
    }
    let Some(active) = history::active(level, stores)? else {
        return nothing(context, "none", json!({ "schema": 1, "level": level.dir.to_string_lossy(), "active": null }));
    };
    let by = match active.matched_by {
        MatchedBy::Hash => "hash",
        MatchedBy::History => "history",
    };
    if let Some(note) = &active.note {
        context.say(&format!("note: {note}"));
    }
    context.print(
        || {
            let also =
                if active.also.is_empty() { String::new() } else { format!("; the same as {}", shown::text(&active.also.join(", "))) };
            format!("{} (by {by}{also})\n", shown::text(&active.name))
        },
        || {
            json!({
                "schema": 1, "level": level.dir.to_string_lossy(), "active": active.name, "matched_by": by, "also": active.also,
                "note": active.note,
            })
        },
    )?;
    Ok(if active.matched_by == MatchedBy::Hash { Answer::Yes } else { Answer::No })
}

pub(super) fn diff(context: &Context, level: &Level, stores: &Stores, name: Option<String>) -> Outcome {
    let name = match name {
        Some(name) => name,
        None => match history::active(level, stores)? {
            Some(active) => active.name,
            None => return nothing(context, "no saved loadout is worn here", json!({ "schema": 1, "name": null, "differences": [] })),
        },
    };
    let archive = archive::find(stores, &name)?;
    let differences = archive::differences(&archive.verified()?, &digest::list(&level.dir, &archive.record.surface)?);
    context.print(
        || {
            if differences.is_empty() {
                return format!("no difference to {}\n", shown::text(&name));
            }
            differences.iter().map(|one| format!("{} {}\n", one.how, shown::path(&one.path))).collect()
        },
        || {
            let rows: Vec<Value> = differences.iter().map(|one| json!({ "path": one.path.to_string_lossy(), "how": one.how })).collect();
            json!({ "schema": 1, "name": name, "differences": rows })
        },
    )?;
    Ok(if differences.is_empty() { Answer::Yes } else { Answer::No })
}

pub(super) fn list(context: &Context, stores: &Stores) -> Outcome {
    let (archives, broken) = archive::all(stores)?;
    for error in &broken {
        context.say(&format!("note: failed to {error}"));
    }
    let words = || {
        let row = |one: &Archive| {
            let short: String = one.record.hash.chars().take(digest::VERSION.len() + 12).collect();
            vec![shown::text(&one.name).to_string(), short, shown::text(&one.record.made).to_string(), context.shown(&one.dir)]
        };
        if archives.is_empty() { "nothing is saved\n".to_owned() } else { output::table(&archives.iter().map(row).collect::<Vec<_>>()) }
    };
    let object = || {
        let rows: Vec<Value> = archives
            .iter()
            .map(|one| {
                json!({
                    "name": one.name, "hash": one.record.hash, "made": one.record.made, "harness": one.record.harness,
                    "path": one.dir.to_string_lossy(), "backup": one.is_backup(), "left_out": strings(&one.record.surface.left_out),
                })
            })
            .collect();
        json!({ "schema": 1, "archives": rows })
    };
    context.print(words, object)?;
    Ok(if archives.is_empty() { Answer::No } else { Answer::Yes })
}

pub(super) fn remove(
    context: &Context,
    level: &Level,
    stores: &Stores,
    archives: &[Archive],
    dry: bool,
    (what, which): (&str, &str),
) -> Outcome {
    let names: Vec<String> = archives.iter().map(|one| one.name.clone()).collect();
    let command = format!("{what} {which} --level {}", word(&level.dir));
    let acts = grant::changes(&level.dir, archives.iter().map(|one| &one.dir));
    if !archives.is_empty()
        && let Some(answer) = grant::unless_refused(context, &acts, &command, dry)?
    {
        return Ok(answer);
    }
    if !dry && !names.is_empty() {
        let passes = |dir: &Path| grant::passes(context, &grant::changes(&level.dir, [&dir.to_owned()]));
        let settled = archive::remove_if(level, stores, &names, what, passes)?;
        wardrobe::say_settled(context, &settled);
    }
    let done = if dry { "would be removed" } else { "removed" };
    context.print(
        || match names.as_slice() {
            [] => "nothing to remove\n".to_owned(),
            names => names.iter().map(|name| format!("{done}: {}\n", shown::text(name))).collect(),
        },
        || json!({ "schema": 1, "dry_run": dry, "removed": names }),
    )?;
    Ok(Answer::Yes)
}
