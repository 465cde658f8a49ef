//! `loci init`: the home level, and which harnesses are there.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde_json::{Value, json};

use super::connect;
use crate::body::home::{self, Setup};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::table;
use crate::cli::{Answer, Outcome, grant, near};
use crate::custody::person::Person;
use crate::hooks::connect::check::{self, Standing};
use crate::hooks::connect::{Ground, Reach};
use crate::hooks::harness::{self, Adapter};
use crate::sys::plan::{PlanError, Step};
use crate::sys::{disk, env, process, shown};

/// Set up the home level, and offer to connect the harnesses that are installed
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Makes ~/.loci, the state folder, and the link ~/.loci/bin/loci that hooks call; at a terminal it then\noffers to connect each harness that is installed, and shows what that would change. Elsewhere it connects none, unless\nyou say so with --yes. --skill tells every agent of yours, in its own harness, how to work where directories have owners.\nOnce more does no harm.\n\nExamples:\n  loci init --dry-run\n  loci init --yes --skill"
)]
pub struct Args {
    /// Connect every harness that is installed, without asking
    #[arg(long)]
    yes: bool,
    /// Put the skill for agents into ~/.loci/skills, and link it where harnesses look
    #[arg(long)]
    skill: bool,
    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    /// How it was called, but for what changes nothing.
    fn command(&self) -> String {
        let word = |said: bool, word: &'static str| if said { word } else { "" };
        format!("loci init{}{}", word(self.skill, " --skill"), word(self.yes, " --yes"))
    }
}

/// What is missing at the home level, with the skill where it is wanted.
fn missing(context: &Context, program: &Path, skill: bool) -> Result<Setup, Failure> {
    let mut setup = home::setup(&context.home, &context.state, program)?;
    if skill {
        let user_home = context.env.user_home().unwrap_or_else(|| context.home.clone());
        home::add_skill(&mut setup, &context.home, &user_home)?;
    }
    Ok(setup)
}

/// How often it is begun anew where somebody else sets up the same home.
const TRIES: usize = 32;

/// Runs it.
///
/// # Errors
/// Where the home level can't be set up; then nothing of it was done.
pub fn run(context: &Context, args: Args) -> Outcome {
    let program = process::own_program()
        .and_then(|program| program.is_absolute().then_some(program).ok_or_else(|| std::io::ErrorKind::NotFound.into()))
        .map_err(|error| Failure::new("environment", "failed to find out which program this is").caused_by(&error))?;
    let setup = missing(context, &program, args.skill)?;
    let connects = args.yes && harnesses(context).iter().any(Harness::to_connect);
    if !args.dry_run
        && (!setup.plan.is_empty() || connects)
        && let Some(answer) = grant::or_request(context, &home::link(&context.home), &args.command())?
    {
        return Ok(answer);
    }
    let setup = if args.dry_run { setup } else { set_up(context, setup, &program, args.skill)? };
    let connected = if args.yes && !args.dry_run { connect_all(context)? } else { Vec::new() };
    let harnesses = harnesses(context);
    context.print(
        || words(context, &setup, &harnesses, &connected, &args),
        || object(context, &setup, &harnesses, &connected, args.dry_run),
    )?;
    if !args.dry_run && !args.yes && !context.flags.json && context.asks() && grant::person(context) == Person::Yes {
        for adapter in harnesses.iter().filter(|one| one.to_connect()).filter_map(|one| one.adapter) {
            // Each one shows what it would change, and asks.
            connect::for_user(context, adapter)?;
        }
    }
    Ok(Answer::Yes)
}

/// Sets the home up. Of two at once, the one that comes second finds it done.
fn set_up(context: &Context, first: Setup, program: &Path, skill: bool) -> Result<Setup, Failure> {
    // Where there is no state folder yet there is no place for a lock, and nothing that could be half changed.
    let _lock = if !first.plan.is_empty() && disk::is_dir(&context.state) {
        Some(near::hold(context, "init", &context.home.join(".loci"))?)
    } else {
        None
    };
    let mut setup = first;
    for _ in 1..TRIES {
        match setup.plan.apply() {
            Ok(()) => return Ok(setup),
            // Somebody was quicker, and may use by now what we made, or has taken back what we counted on: what is
            // missing is looked for anew.
            Err(PlanError::Disk(error) | PlanError::Torn { failed: error, .. })
                if !matches!(error.source.kind(), std::io::ErrorKind::AlreadyExists | std::io::ErrorKind::NotFound) =>
            {
                return Err(error.into());
            }
            Err(_) => setup = missing(context, program, skill)?,
        }
    }
    setup.plan.apply()?;
    Ok(setup)
}

/// Connects every harness that is to be, as its own verb does; what that says is not said again.
fn connect_all(context: &Context) -> Result<Vec<&'static str>, Failure> {
    let quiet = context.quiet();
    let mut connected = Vec::new();
    for adapter in harnesses(context).iter().filter(|one| one.to_connect()).filter_map(|one| one.adapter) {
        if connect::for_user(&quiet, adapter)? == Answer::Yes {
            connected.push(adapter.name);
        }
    }
    Ok(connected)
}

/// A harness that is installed.
struct Harness {
    name: &'static str,
    program: PathBuf,
    /// How the gate is put before it; `None` where loci does not know that yet.
    adapter: Option<&'static Adapter>,
    /// How it stands with it, where that can be told.
    standing: Option<Result<Standing, String>>,
}

impl Harness {
    fn to_connect(&self) -> bool {
        matches!(self.standing, Some(Ok(Standing::NotConnected | Standing::Gone | Standing::Differs)))
    }

    fn command(&self) -> String {
        format!("loci connect {}", self.name)
    }
}

fn harnesses(context: &Context) -> Vec<Harness> {
    let user_home = context.env.user_home().unwrap_or_else(|| context.home.clone());
    let ground = Ground { env: &context.env, home: &context.home, user_home: &user_home, state: &context.state };
    let standing = |adapter| match check::standing(adapter, &Reach::User, &ground, &[]) {
        Ok((_, standing)) => Ok(standing),
        Err(error) => Err(format!("failed to {error}")),
    };
    let found = home::harnesses(context.env.get(env::PATH)).into_iter().map(|(name, program)| {
        let adapter = harness::named(name);
        Harness { name, program, adapter, standing: adapter.map(standing) }
    });
    found.collect()
}

fn step_words(step: &Step) -> String {
    match step {
        Step::Link { path, target } => format!("{} {} -> {}", step.verb(), shown::path(path), shown::path(target)),
        other => format!("{} {}", other.verb(), shown::path(other.path())),
    }
}

fn words(context: &Context, setup: &Setup, harnesses: &[Harness], connected: &[&str], args: &Args) -> String {
    let (mut text, dry_run) = (String::new(), args.dry_run);
    if setup.plan.is_empty() {
        text.push_str(&format!("{} is set up\n", shown::path(&context.home.join(".loci"))));
    }
    for step in &setup.plan.steps {
        text.push_str(&format!("{}{}\n", if dry_run { "would " } else { "" }, step_words(step)));
    }
    for (path, why) in &setup.kept {
        text.push_str(&format!("note: {}: {why}\n", shown::path(path)));
    }
    let skill = context.home.join(".loci/skills/loci/SKILL.md");
    if !args.skill && matches!(disk::look(&skill), Ok(None)) {
        text.push_str("the skill that tells agents how to work where directories have owners: loci init --skill\n");
    }
    if harnesses.is_empty() {
        text.push_str("no harness was found in PATH\n");
        return text;
    }
    text.push_str("\nharnesses in PATH\n");
    let stands = |one: &Harness| match &one.standing {
        None => "no connector".to_owned(),
        Some(Ok(standing)) if one.to_connect() => format!("{}: {}", standing.word().replace('-', " "), one.command()),
        Some(Ok(standing)) => standing.word().to_owned(),
        Some(Err(why)) => shown::text(why).to_string(),
    };
    let row = |one: &Harness| vec![format!("  {}", one.name), shown::path(&one.program).to_string(), stands(one)];
    text.push_str(&table(&harnesses.iter().map(row).collect::<Vec<_>>()));
    for one in harnesses.iter().filter(|one| connected.contains(&one.name)) {
        for need in one.adapter.iter().flat_map(|adapter| adapter.wiring.needs) {
            text.push_str(&format!("note: {}: {need}\n", one.name));
        }
    }
    let waiting: Vec<&str> = harnesses.iter().filter(|one| one.to_connect()).map(|one| one.name).collect();
    if args.dry_run && args.yes && !waiting.is_empty() {
        text.push_str(&format!("would connect {}\n", waiting.join(", ")));
    }
    text
}

fn object(context: &Context, setup: &Setup, harnesses: &[Harness], connected: &[&str], dry_run: bool) -> Value {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let steps: Vec<Value> = setup
        .plan
        .steps
        .iter()
        .map(|step| {
            let target = if let Step::Link { target, .. } = step { Some(text(target)) } else { None };
            json!({ "do": step.verb(), "path": text(step.path()), "target": target })
        })
        .collect();
    let link = home::link(&context.home);
    json!({
        "schema": 1, "dry_run": dry_run, "home": text(&context.home.join(".loci")), "state": text(&context.state),
        "link": { "path": text(&link), "target": disk::read_link(&link).ok().as_deref().map(text) },
        "plan": steps, "connected": connected,
        "kept": setup.kept.iter().map(|(path, why)| json!({ "path": text(path), "why": why })).collect::<Vec<_>>(),
        "harnesses": harnesses.iter().map(|one| json!({
            "name": one.name, "program": text(&one.program), "connector": one.adapter.is_some(),
            "standing": one.standing.as_ref().and_then(|standing| standing.as_ref().ok()).map(Standing::word),
            "why": one.standing.as_ref().and_then(|standing| standing.as_ref().err()),
            "command": one.to_connect().then(|| one.command()),
        })).collect::<Vec<_>>(),
    })
}
