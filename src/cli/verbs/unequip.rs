//! `loci unequip`: the last equip, taken back.

use clap::Args as ClapArgs;
use serde_json::{Value, json};

use crate::cli::context::Context;
use crate::cli::near;
use crate::cli::wardrobe::{self, LevelFlag};
use crate::cli::{Answer, Outcome, grant};
use crate::loadout::wear::{self, Returned};

/// Where, and whether for real.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  loci unequip --dry-run")]
pub struct Args {
    #[command(flatten)]
    level: LevelFlag,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
}

/// Takes it back.
///
/// # Errors
/// Where the level is locked or a rename fails; then nothing is changed.
pub(crate) fn run(context: &Context, args: Args) -> Outcome {
    let level = wardrobe::level(context, &args.level)?;
    let mut returned = wear::last(&level)?;
    let command = format!("loci unequip --level {}", near::word(&level.dir));
    let acts = grant::changes(&level.dir, returned.renames.iter().flat_map(|one| [&one.from, &one.to]));
    if !args.dry_run
        && returned.worn.as_ref().is_some_and(|worn| worn.hooks)
        && let Some(answer) = wardrobe::unless_person(context, &level.dir.join(".loci/hooks"), &command)?
    {
        return Ok(answer);
    }
    if let Some(answer) = grant::unless_refused(context, &acts, &command, args.dry_run)? {
        return Ok(answer);
    }
    if !args.dry_run {
        returned = wear::unequip_if(&level, |renames| {
            grant::passes(context, &grant::changes(&level.dir, renames.iter().flat_map(|one| [&one.from, &one.to])))
        })?;
    }
    let Returned { worn, renames, left, settled } = returned;
    wardrobe::say_settled(context, &settled);
    for left in &left {
        context.say(&format!("note: not taken back: {left}"));
    }
    let Some(worn) = worn else {
        context.print(
            || "nothing is equipped\n".to_owned(),
            || json!({ "schema": 1, "level": level.dir.to_string_lossy(), "dry_run": args.dry_run, "sets": null, "recovered": settled.sentences() }),
        )?;
        return Ok(Answer::No);
    };
    let words = || {
        let mut text: String = renames.iter().map(|one| format!("{}\n", context.shown(&one.to))).collect();
        let count = renames.len();
        let sets = crate::sys::shown::text(&worn.sets.join(" ")).to_string();
        let done = if args.dry_run { "would be taken back" } else { "taken back" };
        text.push_str(&format!("{sets}: {} {done}\n", crate::sys::shown::count(count, "rename", "renames")));
        text
    };
    let object = || {
        let renames: Vec<Value> =
            renames.iter().map(|one| json!({ "from": one.from.to_string_lossy(), "to": one.to.to_string_lossy() })).collect();
        let left: Vec<Value> = left.iter().map(|one| json!({ "path": one.path.to_string_lossy(), "why": one.why })).collect();
        json!({
            "schema": 1, "level": level.dir.to_string_lossy(), "dry_run": args.dry_run, "sets": worn.sets, "at": worn.at,
            "count": renames.len(), "renames": renames, "left": left, "recovered": settled.sentences(),
        })
    };
    context.print(words, object)?;
    Ok(Answer::Yes)
}
