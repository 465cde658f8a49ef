//! `loci loadout`: what is worn, and saved loadouts.

mod look;
mod saved;

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::near::word;
use crate::cli::wardrobe::{self, LevelFlag};
use crate::cli::{Answer, Outcome};
use crate::loadout::archive::{self, Stores};
use crate::loadout::inject::{self, Report};
use crate::loadout::surface::Surface;
use crate::loadout::{Level, Section, transport, wear};
use crate::sys::{journal, shown};

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
    /// Print the hash of the loadout: of its settings, servers, instructions, rules and hooks. Skills and sub-agents
    /// count with --with only
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
        What::Status => look::status(context, &level),
        What::Archive { name, pieces, here, dry_run } => saved::save(context, &level, &stores, &name, &pieces, here, dry_run),
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
        What::Active => saved::active(context, &level, &stores),
        What::Id { pieces } => look::id(context, &level, &pieces),
        What::Diff { name } => saved::diff(context, &level, &stores, name),
        What::List => saved::list(context, &stores),
        What::Show { pieces } => look::show(context, &level, &pieces),
        What::Rm { name, dry_run } => {
            settle(context, &level, dry_run, "loci loadout rm")?;
            let archive = archive::find(&stores, &name)?;
            saved::remove(context, &level, &stores, &[archive], dry_run, ("loci loadout rm", &word(Path::new(&name))))
        }
        What::Prune { keep, dry_run } => {
            settle(context, &level, dry_run, "loci loadout prune")?;
            let old = archive::prunable(&stores, keep)?;
            saved::remove(context, &level, &stores, &old, dry_run, ("loci loadout prune", &format!("--keep {keep}")))
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

fn say_untransportable(context: &Context, findings: &[transport::Finding]) {
    for finding in findings {
        context.say(&format!("note: {} {}", shown::path(&finding.path), finding.why.text()));
    }
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
