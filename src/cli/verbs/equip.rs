//! `loci equip`: sets on, for good or for the time of a command.

use std::ffi::OsString;

use clap::Args as ClapArgs;

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::wardrobe::{self, LevelFlag};
use crate::cli::{Answer, Outcome, near};
use crate::loadout::set::Set;
use crate::loadout::{Level, Settled, scope, wear};
use crate::sys::foreground;

/// Which sets, and for how long.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  loci equip focus --dry-run\n  loci equip focus night        the later set wins\n  loci equip focus --for -- claude -p \"review this\""
)]
pub struct Args {
    /// Sets by name, or files where there is a slash; of several the later wins
    #[arg(required = true, value_name = "SET")]
    sets: Vec<String>,
    /// Only while the command behind `--` runs; everything is taken back in every case
    #[arg(long = "for", requires = "command", conflicts_with = "dry_run")]
    scoped: bool,
    #[command(flatten)]
    level: LevelFlag,
    /// Also in the dotdirs of harnesses
    #[arg(long)]
    vendor: bool,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// The command
    #[arg(last = true, requires = "scoped")]
    command: Vec<OsString>,
}

/// Equips them.
///
/// # Errors
/// Where a set is none, does not fit, or a rename fails; then nothing is changed.
pub(crate) fn run(context: &Context, args: Args) -> Outcome {
    let level = wardrobe::level(context, &args.level)?;
    let named = wardrobe::sets(context, &level, &args.sets)?;
    let sets: Vec<&Set> = named.iter().map(|(_, set)| set).collect();
    let vendor = wardrobe::vendor(&level, args.vendor)?;
    let command = format!("loci equip {} --level {}", args.sets.join(" "), near::word(&level.dir));
    let planned = wear::plan(&level, &sets, vendor)?;
    if !args.dry_run
        && sets.iter().any(|set| set.has_hooks())
        && let Some(answer) = wardrobe::unless_person(context, &level.dir.join(".loci/hooks"), &command)?
    {
        return Ok(answer);
    }
    if let Some(answer) = wardrobe::unless_refused(context, &level, &planned, &command, args.dry_run)? {
        return Ok(answer);
    }
    if args.scoped {
        return scoped(context, &level, &sets, vendor, &args.command);
    }
    let (decision, settled) = if args.dry_run {
        (planned, Settled::default())
    } else {
        let names: Vec<String> = named.iter().map(|(name, _)| name.clone()).collect();
        let report = wear::apply_if(&level, "loci equip", &names, &sets, vendor, |decision| wardrobe::passes(context, &level, decision))?;
        (report.decision, report.settled)
    };
    wardrobe::say_settled(context, &settled);
    wardrobe::say_notes(context, &decision);
    context.print(|| wardrobe::lines(&decision, args.dry_run), || wardrobe::object(&level, &decision, args.dry_run, &settled))?;
    Ok(Answer::Yes)
}

fn scoped(context: &Context, level: &Level, sets: &[&Set], vendor: bool, command: &[OsString]) -> Outcome {
    if context.flags.json {
        return Err(Failure::new("usage", "--json and --for can't be used together: standard output is the command's"));
    }
    let Some((program, rest)) = command.split_first() else {
        return Err(Failure::new("usage", "--for needs a command behind `--`").hint("loci equip SET --for -- COMMAND"));
    };
    // From here on no signal ends this process between the renames and the way back.
    let held = foreground::hold_signals().map_err(|error| Failure::new("io", "failed to hold the signals").caused_by(&error))?;
    let what = command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    let worn = scope::put_on_if(level, &what, sets, vendor, |decision| wardrobe::passes(context, level, decision))?;
    wardrobe::say_settled(context, &worn.settled);
    wardrobe::say_notes(context, &worn.decision);
    let ran = foreground::run_in_our_place(&held, program, rest, &context.cwd);
    let closed = worn.take_back()?;
    for sentence in &closed.also {
        context.say(&format!("note: {sentence}"));
    }
    for left in &closed.left {
        context.say(&format!("note: not taken back: {left}"));
    }
    let code = ran.map_err(|error| Failure::new("run", format!("failed to run `{what}`")).caused_by(&error))?;
    Ok(Answer::Exit(code))
}
