//! `loci toggle`: one thing on or off.

use clap::{Args as ClapArgs, ValueEnum};

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::wardrobe::{self, LevelFlag};
use crate::cli::{Answer, Outcome, near};
use crate::loadout::algebra::Decision;
use crate::loadout::set::Set;
use crate::loadout::{Item, Level, Settled, State, find, wear};
use crate::text::near::nearest;

/// What is switched, and to what.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  loci toggle skills/deploy off\n  loci toggle rules/team/review.md on --dry-run")]
pub struct Args {
    /// What: a section (skills, rules, agents, hooks) and a name in it; the name without its ending will do
    #[arg(value_name = "SECTION/ITEM")]
    item: String,
    /// What it shall be
    state: To,
    #[command(flatten)]
    level: LevelFlag,
    /// Also in the dotdirs of harnesses
    #[arg(long)]
    vendor: bool,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
}

/// On or off.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum To {
    /// The file gets its own name.
    On,
    /// The file gets `.inactive` at the end of its name.
    Off,
}

/// The set with the one entry.
fn set(level: &Level, item: &str, state: State) -> Result<Set, Failure> {
    let bad = || {
        let found = find::items(level)
            .items
            .into_iter()
            .find(|one| one.name.as_os_str() == item || one.name.with_extension("").as_os_str() == item);
        let label = found.map_or_else(|| "skills/NAME".to_owned(), |one| one.label());
        Failure::new("usage", format!("`{item}` does not say which section")).hint(format!("loci toggle {label} {state}"))
    };
    let (first, rest) = item.split_once('/').ok_or_else(bad)?;
    // A dotdir may stand before the section.
    let (scope, name) = if first.starts_with('.') {
        let (section, name) = rest.split_once('/').ok_or_else(bad)?;
        (format!("{first}/{section}"), name)
    } else {
        (first.to_owned(), rest)
    };
    let text = serde_json::json!({ scope: { name: state } }).to_string();
    Set::parse(&text, true).map_err(|(_, why)| Failure::new("usage", why).hint("loci loadout status"))
}

/// Switches it.
///
/// # Errors
/// Where the item can't be told, or the rename fails.
pub(crate) fn run(context: &Context, args: Args) -> Outcome {
    let level = wardrobe::level(context, &args.level)?;
    let state = match args.state {
        To::On => State::On,
        To::Off => State::Off,
    };
    let set = set(&level, &args.item, state)?;
    let vendor = wardrobe::vendor(&level, args.vendor)?;
    let command = format!("loci toggle {} {state} --level {}", args.item, near::word(&level.dir));
    let planned = wear::plan(&level, &[&set], vendor)?;
    if !args.dry_run
        && set.has_hooks()
        && let Some(answer) = wardrobe::unless_person(context, &level.dir.join(".loci/hooks"), &command)?
    {
        return Ok(answer);
    }
    if let Some(answer) = wardrobe::unless_refused(context, &level, &planned, &command, args.dry_run)? {
        return Ok(answer);
    }
    let (decision, settled) = if args.dry_run {
        (planned, Settled::default())
    } else {
        let report = wear::apply_if(&level, "loci toggle", &[], &[&set], vendor, |decision| wardrobe::passes(context, &level, decision))?;
        (report.decision, report.settled)
    };
    wardrobe::say_settled(context, &settled);
    for item in &decision.unknown {
        let labels: Vec<String> = find::items(&level).items.iter().map(Item::label).collect();
        // The name without its ending will do, so it is compared like that too.
        let stems = labels.iter().map(|label| label.strip_suffix(".md").unwrap_or(label));
        let meant = nearest(item, labels.iter().map(String::as_str).chain(stems));
        context.say(&format!("no such item: {item}{}", meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default()));
        context.say(&match meant {
            Some(meant) => format!("hint: loci toggle {meant} {state}"),
            None => "hint: loci loadout status".to_owned(),
        });
    }
    wardrobe::say_notes(context, &Decision { unknown: Vec::new(), ..decision.clone() });
    context.print(|| wardrobe::lines(&decision, args.dry_run), || wardrobe::object(&level, &decision, args.dry_run, &settled))?;
    let refused = !decision.unknown.is_empty() || !decision.read_only.is_empty();
    Ok(if refused && decision.renames.is_empty() { Answer::No } else { Answer::Yes })
}
