//! `loci where PATH`: one path, all five readings.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde_json::json;

use super::resolve::{diagnostic_json, say};
use super::tree::{is_bare_home, owner_json, owner_word};
use crate::cli::context::Context;
use crate::cli::near;
use crate::cli::output::{self, text_of};
use crate::cli::{Answer, Outcome};
use crate::sys::disk;
use crate::tree::diagnostic::{Code, Diagnostic};
use crate::tree::find::Budget;
use crate::tree::places::{self, Prune};
use crate::tree::{card, climb, dotdirs, readings, real, settings};

/// What can be said to `loci where`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:
  loci where src/billing/rounding.rs")]
pub struct Args {
    /// The path; it need not exist (default: where the agent stands)
    path: Option<PathBuf>,
}

/// How many names of a list people see; the object has all.
const MAX_SHOWN: usize = 8;

/// The directory that is walked for who and what is near: the place, else the top of the repository,
/// else the directory itself. Never the home or what it lies in: that is everything there is.
fn bound(context: &Context, place: Option<&Path>, path: &Path) -> Option<PathBuf> {
    let home = real::real(&context.home, true).path;
    let inside = |dir: &&Path| !home.starts_with(dir) && disk::is_dir(dir);
    let top = || {
        let top = real::real(&near::top(context, path), true).path;
        Some(top).filter(|top| path.starts_with(top) && inside(&top.as_path()))
    };
    place.filter(inside).map(Path::to_owned).or_else(top).or_else(|| Some(path).filter(inside).map(Path::to_owned))
}

/// Runs `loci where`.
///
/// # Errors
/// Where the settings can't be read.
pub fn run(context: &Context, args: Args) -> Outcome {
    let settings = settings::load(&context.home)?;
    let at = context.flags.at.as_deref().map_or_else(|| context.cwd.clone(), |at| context.absolute(at));
    let asked = args.path.map_or_else(|| at.clone(), |path| at.join(path));
    let real = real::real(&asked, true);
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    if let Some(trouble) = &real.trouble {
        diagnostics.push(Diagnostic::new(Code::Unreadable, &asked, &trouble.to_string()));
    }
    let owner = places::owner_of(&real.path);
    let carries = |dir: &Path| !settings.dotdirs.names(dir) && !dotdirs::at(dir, &settings.dotdirs, &mut Vec::new()).is_empty();
    let place = climb::nearest(&real.path, |dir| carries(dir) && !is_bare_home(context, dir));
    let body = climb::up(&real.path).find_map(|dir| Some((dir.to_owned(), card::agent(dir)?)));
    let view = climb::nearest(&real.path, |dir| disk::is_dir(&dir.join(dotdirs::RENDER)));
    let image = view.and_then(readings::image);
    let skills =
        place.map(|place| readings::skills(place, &settings.dotdirs, &mut Budget::default(), &mut diagnostics)).unwrap_or_default();
    // What is below: of the place, or of the directory itself where it is in none.
    let bound = bound(context, place, &real.path);
    let below = bound.as_deref().unwrap_or(&real.path);
    let walked = if bound.is_some() { places::walk(below, &settings.dotdirs, Prune::Foreign) } else { places::Walked::default() };
    diagnostics.extend(walked.diagnostics);
    let places = places::describe(below, walked.spots);
    let contacts: Vec<&str> = readings::contacts(&places).into_keys().collect();
    let exits: Vec<PathBuf> = match places.first() {
        Some(first) if first.path == below => {
            let exits = readings::exits(&places).into_iter().next().unwrap_or_default();
            exits.iter().filter_map(|at| places.get(*at)).map(|place| place.path.clone()).collect()
        }
        _ => places.iter().map(|place| place.path.clone()).collect(),
    };
    say(context, &diagnostics);
    let none = || "-".to_owned();
    let words = || {
        let list = |mut list: Vec<String>| {
            let left = list.len().saturating_sub(MAX_SHOWN);
            list.truncate(MAX_SHOWN);
            match (list.is_empty(), left) {
                (true, _) => none(),
                (_, 0) => list.join(" "),
                (_, left) => format!("{} (and {left} more)", list.join(" ")),
            }
        };
        let mut rows = vec![vec!["path".to_owned(), context.shown(&real.path)]];
        if !real.exists {
            rows.push(vec!["".to_owned(), "(does not exist)".to_owned()]);
        }
        rows.push(match &owner {
            Some(owner) => {
                let line = owner.file.as_ref().map_or_else(|error| error.line, |file| file.owner.line).map(|line| format!(":{line}"));
                let why = owner.file.as_ref().err().map(|error| format!(" can't be used: {}", error.why)).unwrap_or_default();
                vec![
                    "owner".to_owned(),
                    format!("{} ({}{}{why})", owner_word(owner), context.shown(owner.path()), line.unwrap_or_default()),
                ]
            }
            None => vec!["owner".to_owned(), none()],
        });
        let shown = |path: Option<&Path>| path.map_or_else(none, |path| context.shown(path));
        rows.push(vec!["place".to_owned(), shown(place)]);
        rows.push(vec!["view".to_owned(), shown(image.as_deref().or(view))]);
        rows.push(vec!["contacts".to_owned(), list(contacts.iter().map(|id| (*id).to_owned()).collect())]);
        rows.push(vec!["skills".to_owned(), list(skills.iter().map(|name| crate::sys::shown::text(name).to_string()).collect())]);
        rows.push(vec!["exits".to_owned(), list(exits.iter().map(|exit| context.shown(exit)).collect())]);
        rows.push(match &body {
            Some((dir, Ok(body))) => vec!["body".to_owned(), format!("{} ({})", body.id.value, context.shown(dir))],
            Some((_, Err(error))) => {
                let line = error.line.map(|line| format!(":{line}")).unwrap_or_default();
                vec!["body".to_owned(), format!("? ({}{line} can't be used: {})", context.shown(&error.path), error.why)]
            }
            None => vec!["body".to_owned(), none()],
        });
        output::table(&rows)
    };
    let object = || {
        let body = body.as_ref().map(|(dir, body)| {
            let error = body.as_ref().err().map(|error| json!({ "path": text_of(&error.path), "line": error.line, "text": error.why }));
            json!({ "id": body.as_ref().ok().map(|body| body.id.value.as_str()), "dir": text_of(dir), "error": error })
        });
        json!({
            "schema": 1,
            "asked": text_of(&asked),
            "path": text_of(&real.path),
            "exists": real.exists,
            "gate": owner.as_ref().map(owner_json),
            "way": view.map(|view| json!({ "place": text_of(view), "image": image.as_deref().map(text_of) })),
            "scope": contacts,
            "learn": { "place": place.map(text_of), "skills": skills, "exits": exits.iter().map(|exit| text_of(exit)).collect::<Vec<_>>() },
            "roster": body,
            "diagnostics": diagnostics.iter().map(diagnostic_json).collect::<Vec<_>>(),
        })
    };
    context.print(words, object)?;
    Ok(Answer::Yes)
}
