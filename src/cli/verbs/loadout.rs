//! `loci loadout`: what is worn, and saved loadouts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::near::word;
use crate::cli::output;
use crate::cli::wardrobe::{self, LevelFlag};
use crate::cli::{Answer, Outcome, grant};
use crate::loadout::archive::{self, Archive, Stores};
use crate::loadout::history::{self, MatchedBy};
use crate::loadout::inject::{self, Report};
use crate::loadout::surface::Surface;
use crate::loadout::{Level, Section, digest, find, transport, wear};
use crate::sys::{disk, journal, shown};

/// What about it; the status where nothing is said.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  loci loadout archive calm\n  loci loadout inject calm --dry-run\n  loci loadout active\n  loci loadout restore"
)]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    level: LevelFlag,
}

/// Which pieces count.
#[derive(Debug, Clone, ClapArgs)]
struct Pieces {
    /// Also these sections of both layers
    #[arg(long, value_enum, value_delimiter = ',', value_name = "SECTIONS")]
    with: Vec<With>,
    /// Without the files that must not travel
    #[arg(long)]
    portable: bool,
}

/// Sections that can be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum With {
    /// Skills.
    Skills,
    /// Sub-agents.
    Agents,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List everything that can be switched, on or off
    Status,
    /// Save the loadout under a name
    Archive {
        /// The name; one that is taken is refused
        name: String,
        #[command(flatten)]
        pieces: Pieces,
        /// In the place's own `.loci/loadouts`, for a team
        #[arg(long)]
        here: bool,
        /// Only say what would be saved
        #[arg(long)]
        dry_run: bool,
    },
    /// Exchange the loadout for a saved one; what is there is saved first
    Inject {
        /// The saved one
        name: String,
        /// Only say what would be exchanged
        #[arg(long)]
        dry_run: bool,
    },
    /// Say which saved loadout is worn, by what the files are
    Active,
    /// Print the hash of the loadout
    Id {
        #[command(flatten)]
        pieces: Pieces,
    },
    /// Say how the files differ from a saved loadout (default: the one that is worn)
    Diff {
        /// The saved one
        name: Option<String>,
    },
    /// Put back what the last inject replaced
    Restore {
        /// Only say what would be exchanged
        #[arg(long)]
        dry_run: bool,
    },
    /// List the saved loadouts
    List,
    /// Print the pieces of the loadout with what is there
    Show {
        #[command(flatten)]
        pieces: Pieces,
    },
    /// Remove a saved loadout
    Rm {
        /// Which
        name: String,
        /// Only say what would be removed
        #[arg(long)]
        dry_run: bool,
    },
    /// Remove old backups
    Prune {
        /// How many of the newest stay
        #[arg(long, value_name = "N")]
        keep: usize,
        /// Only say what would be removed
        #[arg(long)]
        dry_run: bool,
    },
}

const HARNESS: &str = "claude";

/// Answers.
///
/// # Errors
/// Where files can't be read, or a change can't be made; then nothing is changed.
pub(crate) fn run(context: &Context, args: Args) -> Outcome {
    let level = wardrobe::level(context, &args.level)?;
    let stores = wardrobe::stores(context, &level);
    match args.what.unwrap_or(What::Status) {
        What::Status => status(context, &level),
        What::Archive { name, pieces, here, dry_run } => save(context, &level, &stores, &name, &pieces, here, dry_run),
        What::Inject { name, dry_run } => {
            let command = format!("loci loadout inject {} --level {}", word(Path::new(&name)), word(&level.dir));
            if !dry_run && let Some(answer) = wardrobe::unless_person(context, &level.dir.join(".claude/settings.json"), &command)? {
                return Ok(answer);
            }
            let report = inject::inject(&level, &stores, &name, dry_run)?;
            injected(context, &level, &stores, &report, dry_run)
        }
        What::Restore { dry_run } => {
            let command = format!("loci loadout restore --level {}", word(&level.dir));
            if !dry_run && let Some(answer) = wardrobe::unless_person(context, &level.dir.join(".claude/settings.json"), &command)? {
                return Ok(answer);
            }
            match inject::restore(&level, &stores, dry_run)? {
                Some(report) => injected(context, &level, &stores, &report, dry_run),
                None => nothing(context, "nothing was ever injected here", json!({ "schema": 1, "name": null })),
            }
        }
        What::Active => active(context, &level, &stores),
        What::Id { pieces } => {
            let surface = surface(&level, &pieces)?;
            let hash = digest::of(&level.dir, &surface)?;
            context.print(|| format!("{hash}\n"), || json!({ "schema": 1, "level": level.dir.to_string_lossy(), "hash": hash }))?;
            Ok(Answer::Yes)
        }
        What::Diff { name } => diff(context, &level, &stores, name),
        What::List => list(context, &stores),
        What::Show { pieces } => show(context, &level, &pieces),
        What::Rm { name, dry_run } => {
            settle(context, &level, dry_run, "loci loadout rm")?;
            let archive = archive::find(&stores, &name)?;
            remove(context, &level, &stores, &[archive], dry_run, ("loci loadout rm", &word(Path::new(&name))))
        }
        What::Prune { keep, dry_run } => {
            settle(context, &level, dry_run, "loci loadout prune")?;
            let old = archive::prunable(&stores, keep)?;
            remove(context, &level, &stores, &old, dry_run, ("loci loadout prune", &format!("--keep {keep}")))
        }
    }
}

/// Settles what an interrupted change has left, before anybody looks for what it may have been about: whoever finds
/// nothing to do would leave it open.
fn settle(context: &Context, level: &Level, dry_run: bool, what: &str) -> Result<(), Failure> {
    if !dry_run && journal::open(&level.state, &level.key())?.is_some() {
        let (_held, settled) = wear::begin(level, what)?;
        wardrobe::say_settled(context, &settled);
    }
    Ok(())
}

fn nothing(context: &Context, words: &str, object: Value) -> Outcome {
    context.print(|| format!("{words}\n"), || object)?;
    Ok(Answer::No)
}

fn surface(level: &Level, pieces: &Pieces) -> Result<Surface, Failure> {
    let with: Vec<Section> = pieces
        .with
        .iter()
        .map(|one| match one {
            With::Skills => Section::Skills,
            With::Agents => Section::Agents,
        })
        .collect();
    let mut surface = Surface::of(level, HARNESS, &with).ok_or_else(|| Failure::new("harness", "no row for the harness"))?;
    if pieces.portable {
        surface.left_out = transport::failing(&level.dir, &surface)?.into_iter().map(|finding| finding.path).collect();
    }
    Ok(surface)
}

fn status(context: &Context, level: &Level) -> Outcome {
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
        output::table(&rows)
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
    Ok(Answer::Yes)
}

fn say_untransportable(context: &Context, findings: &[transport::Finding]) {
    for finding in findings {
        context.say(&format!("note: {} {}", shown::path(&finding.path), finding.why.text()));
    }
}

fn save(context: &Context, level: &Level, stores: &Stores, name: &str, pieces: &Pieces, here: bool, dry: bool) -> Outcome {
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
        let (archive, settled) = archive::save(level, store, name, HARNESS, &surface)?;
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

fn strings(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

fn injected(context: &Context, level: &Level, stores: &Stores, report: &Report, dry: bool) -> Outcome {
    wardrobe::say_settled(context, &report.settled);
    for relay in &report.relays {
        let done = if dry { "would be put back" } else { "was put back" };
        context.say(&format!("note: loci's own relay {done}: {}", shown::text(relay)));
    }
    for path in &report.kept {
        context.say(&format!("note: changed while it was exchanged, and kept: {}", context.shown(path)));
    }
    if let Some(why) = &report.unfinished {
        context.say(&format!("note: what was replaced is still beside it, the next change removes it: failed to {why}"));
    }
    say_untransportable(context, &transport::failing(&level.dir, &report.surface)?);
    let name = report.name.as_deref().unwrap_or("nothing");
    // What is approved is this content, whatever is saved under the name by then.
    let hash = report.name.as_deref().and_then(|name| archive::find(stores, name).ok()).map(|archive| archive.record.hash);
    let words = || {
        let mut text: String = report
            .pieces
            .iter()
            .map(|piece| format!("{}{} {}\n", if dry { "would be " } else { "" }, piece.how, shown::path(&piece.path)))
            .collect();
        let done = if dry { "would be worn" } else { "is worn" };
        text.push_str(&format!("{} {done}; before: {}\n", shown::text(name), shown::text(&report.was)));
        text
    };
    let object = || {
        let pieces: Vec<Value> = report.pieces.iter().map(|one| json!({ "path": one.path.to_string_lossy(), "how": one.how })).collect();
        json!({
            "schema": 1, "level": level.dir.to_string_lossy(), "dry_run": dry, "name": report.name, "hash": hash, "was": report.was, "pieces": pieces,
            "relays": report.relays, "kept": strings(&report.kept), "recovered": report.settled.sentences(),
        })
    };
    context.print(words, object)?;
    Ok(Answer::Yes)
}

fn active(context: &Context, level: &Level, stores: &Stores) -> Outcome {
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

fn diff(context: &Context, level: &Level, stores: &Stores, name: Option<String>) -> Outcome {
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

fn list(context: &Context, stores: &Stores) -> Outcome {
    let (archives, broken) = archive::all(stores)?;
    for error in &broken {
        context.say(&format!("note: failed to {error}"));
    }
    let words = || {
        let row = |one: &Archive| {
            let short: String = one.record.hash.chars().take(digest::VERSION.len() + 12).collect();
            vec![shown::text(&one.name).to_string(), short, shown::text(&one.record.made).to_string(), context.shown(&one.dir)]
        };
        output::table(&archives.iter().map(row).collect::<Vec<_>>())
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

fn show(context: &Context, level: &Level, pieces: &Pieces) -> Outcome {
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
                    let what = if files == 0 { "-".to_owned() } else { format!("{files} {}, {bytes} bytes", if files == 1 { "file" } else { "files" }) };
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

fn remove(context: &Context, level: &Level, stores: &Stores, archives: &[Archive], dry: bool, (what, which): (&str, &str)) -> Outcome {
    let names: Vec<String> = archives.iter().map(|one| one.name.clone()).collect();
    let command = format!("{what} {which} --level {}", word(&level.dir));
    let acts = grant::changes(&level.dir, archives.iter().map(|one| &one.dir));
    if !archives.is_empty()
        && let Some(answer) = grant::unless_refused(context, &acts, &command, dry)?
    {
        return Ok(answer);
    }
    if !dry && !names.is_empty() {
        let settled = archive::remove(level, stores, &names, what)?;
        wardrobe::say_settled(context, &settled);
    }
    let done = if dry { "would be removed" } else { "removed" };
    context.print(
        || names.iter().map(|name| format!("{done}: {}\n", shown::text(name))).collect(),
        || json!({ "schema": 1, "dry_run": dry, "removed": names }),
    )?;
    Ok(Answer::Yes)
}
