//! `loci tree`: one flat list of places, read five ways.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde_json::{Value, json};

use super::resolve::{diagnostic_json, say};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::{self, text_of};
use crate::cli::{Answer, Outcome};
use crate::sys::disk;
use crate::sys::env::LOCI_ROOT;
use crate::tree::climb;
use crate::tree::diagnostic::Diagnostic;
use crate::tree::dotdirs::{Dotdirs, RUNTIME};
use crate::tree::find::Budget;
use crate::tree::places::{self, Owner, Place, Prune};
use crate::tree::readings::{self, Reading};
use crate::tree::{card, real, settings};

/// What can be said to `loci tree`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  loci tree
  loci tree src --as scope
  loci tree --as roster --json

Without DIR: --root, else LOCI_ROOT, else the nearest directory up from here with a .loci-clock, else here.")]
pub struct Args {
    /// The directory to walk
    dir: Option<PathBuf>,
    // The same id as the global flag: here it says how to read the list.
    /// How to read the list: who rules writes, what a place looks like, who can be reached, what can be done there, who lives there
    #[arg(id = "asker", long = "as", value_name = "READING", value_parser = Reading::WORDS)]
    reading: Option<String>,
}

/// The directory that a sweep or a walk is about, real.
pub(super) fn root(context: &Context, dir: Option<&Path>) -> Result<PathBuf, Failure> {
    let named = dir.map(Path::to_owned).or_else(|| context.flags.root.clone()).or_else(|| context.env.get(LOCI_ROOT).map(PathBuf::from));
    let root = match named {
        Some(dir) => real::real(&context.absolute(&dir), true),
        None => {
            let here = real::real(&context.cwd, true);
            match climb::nearest(&here.path, |dir| disk::is_dir(&dir.join(RUNTIME))) {
                Some(dir) => return Ok(dir.to_owned()),
                None => here,
            }
        }
    };
    if let Some(trouble) = root.trouble {
        return Err(Failure::new("io", format!("failed to walk {}: {trouble}", crate::sys::shown::path(&root.path))).at(&root.path, None));
    }
    if !disk::is_dir(&root.path) {
        let what = if root.exists { "is no directory" } else { "does not exist" };
        return Err(Failure::new("path", format!("failed to walk it: it {what}")).at(&root.path, None));
    }
    Ok(root.path)
}

/// Whether a directory is the home, where nobody lives and nobody owns it. It carries the registry and what harnesses keep
/// there, for everything below; by that alone it is no place.
pub(super) fn is_bare_home(context: &Context, dir: &Path) -> bool {
    let user_home = context.env.user_home();
    let is_home = [Some(&context.home), user_home.as_ref()].into_iter().flatten().any(|home| real::real(home, true).path == dir);
    is_home && card::agent(dir).is_none() && card::owner(dir).is_none()
}

/// An owner in one word; a file that can't be read still says that there is one.
pub(super) fn owner_word(owner: &Owner) -> String {
    owner.id().map_or_else(|| "?".to_owned(), str::to_owned)
}

/// An owner for `--json`.
pub(super) fn owner_json(owner: &Owner) -> Value {
    let error = owner.file.as_ref().err().map(|error| json!({ "line": error.line, "text": error.why }));
    let line = owner.file.as_ref().ok().and_then(|file| file.owner.line);
    json!({ "id": owner.id(), "dir": text_of(&owner.dir), "file": text_of(owner.path()), "line": line, "error": error })
}

fn place_json(place: &Place) -> Value {
    let body = place.body.as_ref().map(|body| match body {
        Ok(body) => json!({ "id": body.id.value, "file": text_of(&body.path), "error": null }),
        Err(error) => json!({ "id": null, "file": text_of(&error.path), "error": { "line": error.line, "text": error.why } }),
    });
    json!({
        "path": text_of(&place.path),
        "name": place.name,
        "owner": place.owner.as_deref().map(owner_json),
        "dotdirs": place.dotdirs,
        "body": body,
    })
}

/// The rows for people and the objects for `--json`, of one reading.
struct Table {
    rows: Vec<Vec<String>>,
    objects: Vec<Value>,
}

fn read(context: &Context, reading: Option<Reading>, places: &[Place], dotdirs: &Dotdirs, diagnostics: &mut Vec<Diagnostic>) -> Table {
    let mut table = Table { rows: Vec::new(), objects: Vec::new() };
    let mut add = |row: Vec<String>, object: Value| {
        table.rows.push(row);
        table.objects.push(object);
    };
    match reading {
        None => {
            for place in places {
                let body = match &place.body {
                    None => "-".to_owned(),
                    Some(Ok(body)) => body.id.value.to_string(),
                    Some(Err(_)) => "?".to_owned(),
                };
                let owner = place.owner.as_deref().map_or_else(|| "-".to_owned(), owner_word);
                add(vec![context.shown(&place.path), owner, body, place.dotdirs.join(" ")], place_json(place));
            }
        }
        Some(Reading::Gate) => {
            for (place, owner) in readings::gates(places) {
                let row = vec![context.shown(&place.path), owner_word(owner), context.shown(owner.path())];
                add(row, json!({ "path": text_of(&place.path), "owner": owner_json(owner) }));
            }
        }
        Some(Reading::Way) => {
            for (place, image) in readings::ways(places) {
                let row = vec![context.shown(&place.path), image.as_deref().map_or_else(|| "-".to_owned(), |image| context.shown(image))];
                add(row, json!({ "path": text_of(&place.path), "name": place.name, "image": image.as_deref().map(text_of) }));
            }
        }
        Some(Reading::Scope) => {
            for (id, owned) in readings::contacts(places) {
                let paths: Vec<String> = owned.iter().map(|place| context.shown(&place.path)).collect();
                let object = json!({ "id": id, "owns": owned.iter().map(|place| text_of(&place.path)).collect::<Vec<_>>() });
                add(vec![id.to_owned(), paths.join(" ")], object);
            }
        }
        Some(Reading::Learn) => {
            let mut budget = Budget::default();
            for (place, exits) in places.iter().zip(readings::exits(places)) {
                let skills = readings::skills(&place.path, dotdirs, &mut budget, diagnostics);
                let exits: Vec<&Place> = exits.iter().filter_map(|at| places.get(*at)).collect();
                let names: Vec<String> = exits.iter().map(|exit| context.shown(&exit.path)).collect();
                let or_none = |list: &[String]| if list.is_empty() { "-".to_owned() } else { list.join(" ") };
                let skills_shown: Vec<String> = skills.iter().map(|skill| crate::sys::shown::text(skill).to_string()).collect();
                let object = json!({
                    "path": text_of(&place.path),
                    "skills": skills,
                    "exits": exits.iter().map(|exit| text_of(&exit.path)).collect::<Vec<_>>(),
                });
                add(vec![context.shown(&place.path), or_none(&skills_shown), or_none(&names)], object);
            }
        }
        Some(Reading::Roster) => {
            for place in places {
                let Some(body) = &place.body else { continue };
                let (id, text) = match body {
                    Ok(body) => (body.id.value.to_string(), body.description.clone().unwrap_or_default()),
                    Err(error) => ("?".to_owned(), error.why.clone()),
                };
                let object = json!({
                    "id": body.as_ref().ok().map(|body| body.id.value.as_str()),
                    "path": text_of(&place.path),
                    "description": body.as_ref().ok().map(|body| body.description.clone()),
                    "runtime": body.as_ref().ok().map(|body| body.runtime.clone()),
                    "error": body.as_ref().err().map(|error| json!({ "line": error.line, "text": error.why })),
                });
                add(vec![id, context.shown(&place.path), crate::sys::shown::text(&text).to_string()], object);
            }
        }
    }
    table
}

/// Runs `loci tree`.
///
/// # Errors
/// Where the directory is none, or the settings can't be read.
pub fn run(context: &Context, args: Args) -> Outcome {
    // Before the verb the flag is not checked by its parser.
    let reading = match args.reading.as_deref() {
        Some(word) => Some(Reading::of(word).ok_or_else(|| {
            Failure::new("usage", format!("`{word}` is no reading; there are {}", Reading::WORDS.join(", "))).hint("loci tree --as scope")
        })?),
        None => None,
    };
    let settings = settings::load(&context.home)?;
    let root = root(context, args.dir.as_deref())?;
    let walked = places::walk(&root, &settings.dotdirs, Prune::Foreign);
    let mut diagnostics = walked.diagnostics;
    let mut places = places::describe(&root, walked.spots);
    places.retain(|place| !is_bare_home(context, &place.path));
    let table = read(context, reading, &places, &settings.dotdirs, &mut diagnostics);
    say(context, &diagnostics);
    context.print(
        || output::table(&table.rows),
        || {
            json!({
                "schema": 1,
                "root": text_of(&root),
                "as": args.reading,
                if reading.is_none() { "places" } else { "entries" }: table.objects,
                "diagnostics": diagnostics.iter().map(diagnostic_json).collect::<Vec<_>>(),
            })
        },
    )?;
    if table.rows.is_empty() && !context.flags.json {
        let what = match reading {
            None | Some(Reading::Learn) => "no directory has a dotdir",
            Some(Reading::Gate) => "no directory has an owner of its own",
            Some(Reading::Way) => "no place has a .loci-view",
            Some(Reading::Scope) => "nobody owns anything",
            Some(Reading::Roster) => "no agent lives",
        };
        context.say(&format!("{what} in or below {}", context.shown(&root)));
    }
    Ok(if table.rows.is_empty() { Answer::No } else { Answer::Yes })
}
