//! What is worn, looked at: item by item, piece by piece, as a hash.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{HARNESS, Pieces, With, say_untransportable, surface};
use crate::cli::context::Context;
use crate::cli::{Answer, Outcome, output, wardrobe};
use crate::loadout::{Level, Section, digest, find, transport};
use crate::sys::shown;

/// Prints the hash.
pub(super) fn id(context: &Context, level: &Level, pieces: &Pieces) -> Outcome {
    let surface = surface(level, pieces)?;
    let hash = digest::of(&level.dir, &surface)?;
    let left = uncounted(level, pieces);
    context
        .print(|| format!("{hash}\n"), || json!({ "schema": 1, "level": level.dir.to_string_lossy(), "hash": hash, "uncounted": left }))?;
    if !left.is_empty() {
        let (names, flag) = (left.join(" and "), left.join(","));
        context.say(&format!("note: {names} are not counted in it; with them: loci loadout id --with {flag}"));
    }
    Ok(Answer::Yes)
}

/// The sections that are there and are not counted, since nobody asked for them.
fn uncounted(level: &Level, pieces: &Pieces) -> Vec<&'static str> {
    let items = find::items(level).items;
    let there = |section: Section, with: With| !pieces.with.contains(&with) && items.iter().any(|item| item.section == section);
    let sections = [("skills", Section::Skills, With::Skills), ("agents", Section::Agents, With::Agents)];
    sections.into_iter().filter(|(_, section, with)| there(*section, *with)).map(|(name, ..)| name).collect()
}

pub(super) fn status(context: &Context, level: &Level) -> Outcome {
    let found = find::items(level);
    for one in wardrobe::open(level)? {
        context.say(&format!("note: {one}"));
    }
    for one in &found.diagnostics {
        context.say(&format!("note: {}: {}", shown::path(&one.path), one.text));
    }
    let words = || {
        let rows: Vec<Vec<String>> = found
            .items
            .iter()
            .map(|item| {
                let remark = match (item.is_both(), item.vendor, item.outside) {
                    (true, ..) => "an inactive copy beside it",
                    (_, true, _) => "read-only",
                    (.., true) => "read-only: outside",
                    _ => "",
                };
                vec![item.state().word().to_owned(), item.label(), item.dotdir.clone(), remark.to_owned()]
            })
            .collect();
        if rows.is_empty() { "nothing here could be on or off\n".to_owned() } else { output::table(&rows) }
    };
    let object = || {
        let items: Vec<Value> = found
            .items
            .iter()
            .map(|item| {
                json!({
                    "section": item.section, "item": item.name.to_string_lossy(), "dotdir": item.dotdir, "state": item.state(),
                    "both": item.is_both(), "vendor": item.vendor, "outside": item.outside,
                    "path": if item.is_on { &item.active } else { &item.inactive }.to_string_lossy(),
                })
            })
            .collect();
        json!({ "schema": 1, "level": level.dir.to_string_lossy(), "items": items, "open": wardrobe::open(level).unwrap_or_default() })
    };
    context.print(words, object)?;
    Ok(if found.items.is_empty() { Answer::No } else { Answer::Yes })
}

pub(super) fn show(context: &Context, level: &Level, pieces: &Pieces) -> Outcome {
    let surface = surface(level, pieces)?;
    let entries = digest::list(&level.dir, &surface)?;
    let findings = transport::failing(&level.dir, &surface)?;
    let mut counts: BTreeMap<PathBuf, (u64, u64)> = BTreeMap::new();
    for piece in surface.pieces() {
        let here = entries.iter().filter(|entry| entry.path.starts_with(piece));
        counts.insert(piece.to_owned(), here.fold((0, 0), |(count, bytes), entry| (count + 1, bytes + entry.len)));
    }
    say_untransportable(context, &findings);
    let count = |piece| counts.get(piece).copied().unwrap_or_default();
    context.print(
        || {
            let rows: Vec<Vec<String>> = surface
                .pieces()
                .map(|piece| {
                    let (files, bytes) = count(piece);
                    let what = if files == 0 { "-".to_owned() } else { format!("{}, {}", shown::count(files, "file", "files"), shown::count(bytes, "byte", "bytes")) };
                    vec![shown::path(piece).to_string(), what]
                })
                .collect();
            output::table(&rows)
        },
        || {
            let rows: Vec<Value> = surface
                .pieces()
                .map(|piece| {
                    let (files, bytes) = count(piece);
                    json!({ "path": piece.to_string_lossy(), "files": files, "bytes": bytes })
                })
                .collect();
            json!({
                "schema": 1, "level": level.dir.to_string_lossy(), "harness": HARNESS, "hash": digest::hash(&entries), "pieces": rows,
                "not_transportable": findings.iter().map(|one| json!({ "path": one.path.to_string_lossy(), "why": one.why.code() })).collect::<Vec<_>>(),
            })
        },
    )?;
    Ok(Answer::Yes)
}
