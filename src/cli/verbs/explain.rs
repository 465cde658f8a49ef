//! `loci explain SLOT/NAME`: why one name means what it means here.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde_json::{Value, json};

use super::resolve::{ask, diagnostic_json, origin, origin_json, say};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::{self, text_of};
use crate::cli::{Answer, Outcome};
use crate::tree::resolve::{Found, Provenance, Resolution, Same};
use crate::tree::slot::{self, Row};

/// What can be said to `loci explain`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:
  loci explain skills/deploy")]
pub struct Args {
    /// SLOT/NAME, as in rules/style.md, rules/style or skills/deploy
    name: String,
    /// Where the agent was started (default: here); `--at` adds where it stands
    #[arg(long, value_name = "DIR")]
    launch: Option<PathBuf>,
}

/// One file that the name could mean.
struct Line<'a> {
    state: &'static str,
    path: &'a Path,
    provenance: &'a Provenance,
    why: String,
}

/// Whether a file of a slot goes by this name.
fn is_called(row: &Row, rel: &Path, name: &str) -> bool {
    rel == Path::new(name)
        || if row.is_folder_item() { rel.parent() == Some(Path::new(name)) } else { rel.with_extension("") == Path::new(name) }
}

fn lines<'a>(context: &Context, resolution: &'a Resolution, row: &Row, name: &str) -> Vec<Line<'a>> {
    let called = |file: &&Found| is_called(row, &file.rel, name) || row.is_folder_item() && file.header.text("name") == Some(name);
    let mut lines = Vec::new();
    // Nearest first: that one refines the others.
    for file in resolution.files.iter().rev().filter(called) {
        let (state, why) = match lines.first().map(|first: &Line<'_>| (first.path, first.provenance)) {
            None => ("wins", "the nearest of this name".to_owned()),
            Some((winner, from)) if from.level == file.provenance.level => {
                ("shadowed", format!("{} comes later at the same level", context.shown(winner)))
            }
            Some((winner, _)) => ("shadowed", format!("{} is nearer", context.shown(winner))),
        };
        lines.push(Line { state, path: &file.path, provenance: &file.provenance, why });
    }
    for one in resolution.dropped.iter().rev().filter(|one| is_called(row, &one.rel, name)) {
        let why = match one.same {
            Same::File => format!("the same file as {}", context.shown(&one.kept)),
            Same::Content => format!("the same content as {}", context.shown(&one.kept)),
        };
        lines.push(Line { state: "dropped", path: &one.path, provenance: &one.provenance, why });
    }
    for one in resolution.off.iter().rev().filter(|one| is_called(row, &one.rel, name) || one.rel == Path::new(name)) {
        let why = match one.path.file_name() {
            Some(file) => format!("the name `{}` ends in {}", crate::sys::shown::path(Path::new(file)), slot::INACTIVE),
            None => String::new(),
        };
        lines.push(Line { state: "off", path: &one.path, provenance: &one.provenance, why });
    }
    lines
}

/// Runs `loci explain`.
///
/// # Errors
/// Where the name is not `SLOT/NAME`, or the settings can't be read.
pub fn run(context: &Context, args: Args) -> Outcome {
    let Some((slot_name, name)) = args.name.split_once('/').filter(|(_, name)| !name.is_empty()) else {
        let hint = format!("loci resolve {}", args.name);
        return Err(Failure::new("name", format!("`{}` is not SLOT/NAME", args.name)).hint(hint));
    };
    let resolution = ask(context, slot_name, args.launch.as_ref())?;
    let row = slot::row(slot_name);
    let name = name.strip_suffix("/SKILL.md").filter(|_| row.is_folder_item()).unwrap_or(name);
    let lines = lines(context, &resolution, &row, name);
    let paths: HashSet<&Path> = lines.iter().map(|line| line.path).collect();
    let about: Vec<_> = resolution.diagnostics.iter().filter(|one| paths.contains(one.path.as_path())).cloned().collect();
    say(context, &about);
    let words = || {
        let row = |line: &Line<'_>| {
            let [root, level, dotdir] = origin(context, line.provenance);
            vec![line.state.to_owned(), context.shown(line.path), root, level, dotdir, line.why.clone()]
        };
        output::table(&lines.iter().map(row).collect::<Vec<_>>())
    };
    let object = || {
        let line = |line: &Line<'_>| {
            let mut object = serde_json::Map::new();
            object.insert("state".to_owned(), json!(line.state));
            object.insert("path".to_owned(), json!(text_of(line.path)));
            object.extend(origin_json(line.provenance).map(|(key, value)| (key.to_owned(), value)));
            object.insert("why".to_owned(), json!(line.why));
            Value::Object(object)
        };
        json!({
            "schema": 1,
            "slot": slot_name,
            "name": name,
            "files": lines.iter().map(line).collect::<Vec<_>>(),
            "diagnostics": about.iter().map(diagnostic_json).collect::<Vec<_>>(),
        })
    };
    if lines.is_empty() && !context.flags.json {
        context.say(&format!(
            "nothing in `{}` goes by the name `{}` here",
            crate::sys::shown::text(slot_name),
            crate::sys::shown::text(name)
        ));
        return Ok(Answer::No);
    }
    context.print(words, object)?;
    Ok(if lines.iter().any(|line| line.state == "wins") { Answer::Yes } else { Answer::No })
}
