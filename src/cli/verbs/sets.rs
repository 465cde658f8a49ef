//! `loci sets`: which sets there are, and what is in them.

use std::path::Path;

use clap::{Args as ClapArgs, Subcommand};
use serde_json::{Value, json};

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output;
use crate::cli::wardrobe::{self, LevelFlag};
use crate::cli::{Answer, Outcome, grant, near};
use crate::loadout::set::{Scope, Set};
use crate::loadout::{Level, LoadoutError, Section, archive, find, wear};
use crate::sys::plan::{Plan, Step};
use crate::sys::{disk, shown};
use crate::tree::dotdirs::IDENTITY;

/// What about them; the list where nothing is said.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  loci sets save focus        what is on and off now, as a set\n  loci sets diff focus night")]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    level: LevelFlag,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List the sets that can be named from here
    List,
    /// Save what is on and off now as a set
    Save {
        /// Its name
        name: String,
        /// Also what lies in the dotdirs of harnesses
        #[arg(long)]
        vendor: bool,
        /// Only say what would be written
        #[arg(long)]
        dry_run: bool,
    },
    /// Print a set
    Show {
        /// Its name, or a file where there is a slash
        name: String,
    },
    /// Print what two sets say differently
    Diff {
        /// One
        one: String,
        /// The other
        two: String,
    },
}

/// Answers.
///
/// # Errors
/// Where a set can't be found, read or written.
pub(crate) fn run(context: &Context, args: Args) -> Outcome {
    let level = wardrobe::level(context, &args.level)?;
    match args.what.unwrap_or(What::List) {
        What::List => list(context, &level),
        What::Save { name, vendor, dry_run } => save(context, &level, &name, vendor, dry_run),
        What::Show { name } => {
            let path = wardrobe::set_path(context, &level, &name)?;
            let set = Set::read(&path)?;
            context.print(|| set.to_yaml(), || json!({ "schema": 1, "path": path.to_string_lossy(), "set": set }))?;
            Ok(Answer::Yes)
        }
        What::Diff { one, two } => diff(context, &level, &one, &two),
    }
}

fn list(context: &Context, level: &Level) -> Outcome {
    let known = wardrobe::known_sets(context, level)?;
    let words = || {
        let rows: Vec<Vec<String>> = known.iter().map(|set| vec![shown::text(&set.name).to_string(), context.shown(&set.path)]).collect();
        output::table(&rows)
    };
    let object = || {
        let sets: Vec<Value> = known
            .iter()
            .map(|set| json!({ "name": set.name, "path": set.path.to_string_lossy(), "level": set.level.to_string_lossy() }))
            .collect();
        json!({ "schema": 1, "level": level.dir.to_string_lossy(), "sets": sets })
    };
    context.print(words, object)?;
    if known.is_empty() {
        context.say("note: there is no set here; `loci sets save NAME` makes one");
    }
    Ok(if known.is_empty() { Answer::No } else { Answer::Yes })
}

fn save(context: &Context, level: &Level, name: &str, vendor: bool, dry: bool) -> Outcome {
    archive::check_name(name)?;
    let mut set = Set::default();
    for item in find::items(level).items.iter().filter(|item| (vendor || !item.vendor) && !item.outside) {
        match item.name.to_str() {
            Some(name) => {
                let scope = Scope { section: item.section, dotdir: None };
                let known = set.sections.iter().any(|(one, items)| *one == scope && items.iter().any(|(one, _)| one == name));
                // Of one name in two dotdirs, the second has to say which.
                let scope = if known { Scope { dotdir: Some(item.dotdir.clone()), ..scope } } else { scope };
                set.push(scope, name.to_owned(), item.state());
            }
            None => context.say(&format!("note: {} can't be named in a set; it is not saved", item.label())),
        }
    }
    if set.entries().next().is_none() {
        return Err(Failure::new("empty", "there is nothing here that could be on or off").hint("loci loadout status"));
    }
    let folder = level.dir.join(IDENTITY).join("sets");
    let path = folder.join(format!("{name}.yaml"));
    // One that is there may be somebody's own work: it is not written over.
    let taken = |failure: Failure| match disk::look(&path) {
        Ok(Some(_)) => failure.hint(format!("rm {}   # and once more", near::word(&path))),
        _ => failure,
    };
    let mut plan = Plan::default();
    for dir in [level.dir.join(IDENTITY), folder] {
        if disk::look_through(&dir)?.is_none() {
            plan.steps.push(Step::MakeDir { path: dir });
        }
    }
    plan.steps.push(Step::Write { path: path.clone(), data: set.to_yaml().into_bytes(), mode: Some(0o644), was: None });
    let command = format!("loci sets save {} --level {}", near::word(Path::new(name)), near::word(&level.dir));
    if let Some(answer) = grant::unless_refused(context, &grant::changes(&level.dir, [&path]), &command, dry)? {
        return Ok(answer);
    }
    if dry {
        plan.check().map_err(|error| taken(error.into()))?;
    } else {
        let (held, settled) = wear::begin(level, "loci sets save")?;
        // What was judged before the lock may lead elsewhere by now.
        if !grant::passes(context, &grant::changes(&level.dir, [&path])) {
            return Err(LoadoutError::Elsewhere(level.dir.clone()).into());
        }
        wardrobe::say_settled(context, &settled);
        held.apply(&plan).map_err(|error| taken(error.into()))?;
    }
    let done = if dry { "would be saved" } else { "saved" };
    context.print(
        || format!("{done}: {} ({})\n", context.shown(&path), crate::sys::shown::count(set.entries().count(), "item", "items")),
        || json!({ "schema": 1, "path": path.to_string_lossy(), "dry_run": dry, "set": set }),
    )?;
    Ok(Answer::Yes)
}

fn diff(context: &Context, level: &Level, one: &str, two: &str) -> Outcome {
    let read = |name: &str| -> Result<Set, Failure> { Ok(Set::read(&wardrobe::set_path(context, level, name)?)?) };
    let (first, second) = (read(one)?, read(two)?);
    // One set may name `style.md` and the other `style`: that is one item.
    let whole: Vec<(&Scope, &str)> = first.entries().chain(second.entries()).map(|(scope, item, _)| (scope, item)).collect();
    let name = |scope: &Scope, item: &str| -> String {
        let is_it = |one: &&(&Scope, &str)| {
            let path = std::path::Path::new(one.1);
            scope.section != Section::Skills && one.0 == scope && path.extension().is_some() && path.with_extension("").as_os_str() == item
        };
        let mut longer: Vec<&str> = whole.iter().filter(is_it).map(|one| one.1).collect();
        longer.dedup();
        if let [one] = longer.as_slice() { format!("{scope}/{one}") } else { format!("{scope}/{item}") }
    };
    let flat = |set: &Set| -> std::collections::BTreeMap<String, &'static str> {
        set.entries().map(|(scope, item, state)| (name(scope, item), state.word())).collect()
    };
    let (first, second) = (flat(&first), flat(&second));
    let names: std::collections::BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let rows: Vec<(&String, Option<&str>, Option<&str>)> = names
        .into_iter()
        .map(|name| (name, first.get(name).copied(), second.get(name).copied()))
        .filter(|(_, one, two)| one != two)
        .collect();
    let words = || {
        let cell = |state: Option<&str>| state.unwrap_or("-").to_owned();
        let rows: Vec<Vec<String>> =
            rows.iter().map(|(name, one, two)| vec![shown::text(name).to_string(), cell(*one), cell(*two)]).collect();
        output::table(&rows)
    };
    let object = || {
        let rows: Vec<Value> = rows.iter().map(|(name, one, two)| json!({ "item": name, "one": one, "two": two })).collect();
        json!({ "schema": 1, "differences": rows })
    };
    context.print(words, object)?;
    Ok(if rows.is_empty() { Answer::Yes } else { Answer::No })
}
