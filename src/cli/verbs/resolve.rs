//! `loci resolve SLOT`: the resolver, as it is.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use serde_json::{Value, json};

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::{self, text_of};
use crate::cli::{Answer, Outcome};
use crate::text::near::nearest;
use crate::tree::diagnostic::Diagnostic;
use crate::tree::resolve::{self, Found, Provenance, Request, Resolution};
use crate::tree::{settings, slot};

/// What can be said to `loci resolve`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  loci resolve rules
  loci resolve skills --launch agents/billing --at src/api --json

Files come home first, then far to near: read them from the end, and the nearest refines.")]
pub struct Args {
    /// The slot: rules, skills, agents, hooks, sets, instructions, jobs, loops, or any other name
    slot: String,
    /// Where the agent was started (default: here); `--at` adds where it stands
    #[arg(long, value_name = "DIR")]
    launch: Option<PathBuf>,
    /// Print what stands below the front matter too
    #[arg(long)]
    body: bool,
}

/// Asks the resolver what the flags say.
pub(super) fn ask(context: &Context, slot: &str, launch: Option<&PathBuf>) -> Result<Resolution, Failure> {
    let settings = settings::load(&context.home)?;
    let request = Request {
        home: Some(context.home.clone()),
        launch: Some(launch.map_or_else(|| context.cwd.clone(), |dir| context.absolute(dir))),
        active: context.flags.at.as_ref().map(|dir| context.absolute(dir)),
        slot: slot.to_owned(),
        dotdirs: settings.dotdirs,
    };
    Ok(resolve::resolve(&request)?)
}

/// Says the diagnostics to people; with `--json` they are in the object.
pub(super) fn say(context: &Context, diagnostics: &[Diagnostic]) {
    if context.flags.json || diagnostics.is_empty() {
        return;
    }
    let mut words = String::new();
    for one in diagnostics {
        let line = one.line.map(|line| format!(":{line}")).unwrap_or_default();
        let text = crate::sys::shown::text(&one.text);
        let _ = writeln!(words, "note: {}{line} {text} [{}]", context.shown(&one.path), one.code.word());
    }
    context.say(words.trim_end());
}

/// Where a file came from, for people.
pub(super) fn origin(context: &Context, provenance: &Provenance) -> [String; 3] {
    let dotdir = match &provenance.via {
        Some(via) => format!("{} via {}:{}", provenance.dotdir, context.shown(&via.path), via.line),
        None => provenance.dotdir.clone(),
    };
    [provenance.root.word().to_owned(), context.shown(&provenance.level), dotdir]
}

/// Where a file came from, for `--json`.
pub(super) fn origin_json(provenance: &Provenance) -> [(&'static str, Value); 4] {
    let via = provenance.via.as_ref().map(|via| json!({ "path": text_of(&via.path), "line": via.line }));
    [
        ("root", json!(provenance.root.word())),
        ("level", json!(text_of(&provenance.level))),
        ("dotdir", json!(provenance.dotdir)),
        ("via", json!(via)),
    ]
}

/// A diagnostic for `--json`.
pub(super) fn diagnostic_json(one: &Diagnostic) -> Value {
    json!({ "code": one.code.word(), "path": text_of(&one.path), "line": one.line, "text": one.text, "fix": one.code.fix() })
}

fn file_json(file: &Found, body: bool) -> Value {
    let mut object = serde_json::Map::new();
    object.insert("path".to_owned(), json!(text_of(&file.path)));
    object.insert("real".to_owned(), json!(text_of(&file.real)));
    object.insert("rel".to_owned(), json!(text_of(&file.rel)));
    object.extend(origin_json(&file.provenance).map(|(key, value)| (key.to_owned(), value)));
    object.insert("fm".to_owned(), file.header.object());
    object.insert("fm_status".to_owned(), json!(file.header.status.word()));
    object.insert("len".to_owned(), json!(file.bytes.len()));
    object.insert("digest".to_owned(), json!(file.digest()));
    if body {
        object.insert("body".to_owned(), json!(String::from_utf8_lossy(file.body())));
    }
    Value::Object(object)
}

/// Runs `loci resolve`.
///
/// # Errors
/// Where the slot's name is none, or the settings can't be read.
pub fn run(context: &Context, args: Args) -> Outcome {
    let resolution = ask(context, &args.slot, args.launch.as_ref())?;
    say(context, &resolution.diagnostics);
    let words = || {
        if args.body {
            let mut text = String::new();
            for file in &resolution.files {
                let _ = writeln!(text, "==> {} ({})", context.shown(&file.path), origin(context, &file.provenance).join(" "));
                text.push_str(&String::from_utf8_lossy(file.body()));
                if !text.ends_with('\n') {
                    text.push('\n');
                }
            }
            return text;
        }
        let row = |file: &Found| std::iter::once(context.shown(&file.path)).chain(origin(context, &file.provenance)).collect();
        output::table(&resolution.files.iter().map(row).collect::<Vec<_>>())
    };
    let object = || {
        let levels: Vec<Value> = resolution
            .levels
            .iter()
            .map(|level| {
                let dotdirs: Vec<&str> = level.dotdirs.iter().map(|dotdir| dotdir.name.as_str()).collect();
                json!({ "root": level.root.word(), "path": text_of(&level.path), "dotdirs": dotdirs })
            })
            .collect();
        json!({
            "schema": 1,
            "slot": args.slot,
            "levels": levels,
            "files": resolution.files.iter().map(|file| file_json(file, args.body)).collect::<Vec<_>>(),
            "diagnostics": resolution.diagnostics.iter().map(diagnostic_json).collect::<Vec<_>>(),
        })
    };
    context.print(words, object)?;
    if resolution.files.is_empty() && !context.flags.json {
        context.say(&format!("nothing in the slot `{}` here", crate::sys::shown::text(&args.slot)));
        // Any name is a slot; one that was mistyped is empty for ever.
        if let Some(meant) = nearest(&args.slot, slot::TABLE.iter().map(|row| row.name)) {
            context.say(&format!("hint: loci resolve {meant}"));
        }
    }
    Ok(if resolution.files.is_empty() { Answer::No } else { Answer::Yes })
}
