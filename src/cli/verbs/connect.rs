//! `loci connect` and `loci disconnect`: putting the gate before a harness's tools, and taking it away.

mod standing;
mod words;

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use clap::builder::PossibleValuesParser;

use standing::checked;
pub(super) use standing::{installed, standings};
use words::{Doing, diff, object, steps};

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::near::{self, word};
use crate::cli::{Answer, Outcome, grant};
use crate::custody::person::Person;
use crate::hooks::connect::check;
use crate::hooks::connect::{self, Change, ConnectError, Ground, Reach, trust};
use crate::hooks::harness::{self, Adapter};
use crate::sys::journal::{self, Held};
use crate::sys::lock::Lock;
use crate::sys::plan::Step;
use crate::sys::{disk, process, shown, term, time};

/// Put the gate before a harness's tools
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Puts relays into the harness's own settings and nothing else: what stands there keeps every byte, is\nshown as a diff first, and comes back with `loci disconnect`.\n\nExamples:\n  loci connect claude --dry-run\n  loci connect codex\n  loci connect claude --shared .\n  loci connect --check"
)]
pub struct ConnectArgs {
    /// The harness
    #[arg(value_parser = PossibleValuesParser::new(harness::ALL.map(|adapter| adapter.name)), required_unless_present = "check")]
    harness: Option<String>,
    #[command(flatten)]
    reach: ReachArgs,
    /// Look whether what is connected really asks, and change nothing
    #[arg(long, conflicts_with = "dry_run")]
    check: bool,
    /// Only watch: nothing is asked before a call, nothing is said, and nobody waits
    #[arg(long, conflicts_with = "check")]
    observe: bool,
    /// Tell the harness as well that the relays are trusted, where it keeps that in a file
    #[arg(long, conflicts_with = "check")]
    trust: bool,
    /// Print what would be changed, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Take the gate away from a harness
#[derive(Debug, ClapArgs)]
#[command(after_help = "Takes out exactly what `loci connect` put in.\n\nExample:\n  loci disconnect claude")]
pub struct DisconnectArgs {
    /// The harness
    #[arg(value_parser = PossibleValuesParser::new(harness::ALL.map(|adapter| adapter.name)))]
    harness: String,
    #[command(flatten)]
    reach: ReachArgs,
    /// Print what would be changed, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Whose settings; the user's where nothing is said.
#[derive(Debug, ClapArgs)]
struct ReachArgs {
    /// Only in this project, in a file of yours that is not tracked with it
    #[arg(long, value_name = "DIR", conflicts_with = "shared")]
    project: Option<PathBuf>,
    /// In this project for everybody who has loci; others are let through
    #[arg(long, value_name = "DIR")]
    shared: Option<PathBuf>,
}

impl ReachArgs {
    fn reach(&self, context: &Context) -> Result<Reach, Failure> {
        let dir = |dir: &Path| {
            let path = context.absolute(dir);
            if disk::is_dir(&path) {
                Ok(disk::canonical(&path)?)
            } else {
                Err(Failure::new("path", format!("failed to use {}: it is not a directory", shown::path(dir))).at(&path, None))
            }
        };
        Ok(match (&self.project, &self.shared) {
            (Some(project), _) => Reach::Project(dir(project)?),
            (None, Some(project)) => Reach::Shared(dir(project)?),
            (None, None) => Reach::User,
        })
    }

    fn words(&self) -> String {
        match (&self.project, &self.shared) {
            (Some(project), _) => format!(" --project {}", word(project)),
            (None, Some(project)) => format!(" --shared {}", word(project)),
            (None, None) => String::new(),
        }
    }
}

/// Connects a harness.
///
/// # Errors
/// Where its settings can't be worked on; then nothing was changed.
pub fn connect(context: &Context, args: ConnectArgs) -> Outcome {
    let reach = args.reach.reach(context)?;
    let adapter = args.harness.as_deref().and_then(harness::named);
    let Some(adapter) = adapter.filter(|_| !args.check) else { return checked(context, adapter, &reach) };
    let user_home = user_home(context);
    let ground = ground(context, &user_home);
    let program = program()?;
    if args.trust && !trust::is_kept(adapter) {
        let message = format!("failed to give trust: {} runs hooks without", adapter.title);
        return Err(Failure::new("usage", message).hint(format!("loci connect {}{}", adapter.name, args.reach.words())));
    }
    let at = time::to_second(time::now());
    let plan = || {
        let mut change = connect::connect(adapter, &reach, &ground, &program, args.observe).map_err(|error| failed(error, adapter))?;
        if args.trust {
            change.trust(adapter, &ground, &at).map_err(|error| failed(error, adapter))?;
        }
        Ok(change)
    };
    let (change, lock) = held(context, &ground, args.dry_run, plan)?;
    let flags = [(args.observe, " --observe"), (args.trust, " --trust")].into_iter().filter(|(set, _)| *set).map(|(_, flag)| flag);
    let command = format!("loci connect {}{}{}", adapter.name, args.reach.words(), flags.collect::<String>());
    let shared: &[_] = if reach == Reach::User { &[] } else { adapter.wiring.needs_shared };
    // The first need of a harness that keeps such a file is to be told.
    let told = args.trust || (trust::is_kept(adapter) && change.is_trusted(adapter, &ground));
    let mut needs: Vec<String> = adapter.wiring.needs.iter().skip(usize::from(told)).chain(shared).map(|need| (*need).to_owned()).collect();
    if let Reach::Project(dir) = &reach {
        let rel = change.name.strip_prefix(dir).unwrap_or(&change.name);
        needs.push(format!(
            "it names this home, and nothing keeps git from taking it along: write {} into .git/info/exclude",
            shown::path(rel)
        ));
    }
    let others = others(context, adapter);
    needs.extend(check::off(adapter, &ground, &change.name, &others).map(|why| format!("{} asks nobody: {why}", adapter.title)));
    if change.plan.is_empty() {
        // What was said when it was connected is long forgotten, or not true any more.
        needs = silence(adapter, &reach, &ground, &others).into_iter().collect();
    }
    needs.extend(foreign(&change));
    let done = if args.observe { "observed" } else { "connected" };
    finish(context, adapter, &change, lock.as_ref(), &Doing { verb: "connect", done, command: &command, dry_run: args.dry_run, needs })
}

/// Why nobody is asked though the relays stand where they should.
fn silence(adapter: &Adapter, reach: &Reach, ground: &Ground<'_>, others: &[PathBuf]) -> Option<String> {
    let (_, standing) = check::standing(adapter, reach, ground, others).ok()?;
    let why = standing.why()?;
    Some(format!("{} asks nobody: {}", adapter.title, shown::text(why)))
}

/// What is said of the commands that were left alone.
fn foreign(change: &Change) -> impl Iterator<Item = String> {
    change.foreign.iter().map(|command| format!("another loci is called there, and was left alone: {}", shown::text(command)))
}

/// Connects a harness for the user, as `loci connect NAME` does.
///
/// # Errors
/// As [`connect()`].
pub(super) fn for_user(context: &Context, adapter: &Adapter) -> Outcome {
    let reach = ReachArgs { project: None, shared: None };
    connect(
        context,
        ConnectArgs { harness: Some(adapter.name.to_owned()), reach, check: false, observe: false, trust: false, dry_run: false },
    )
}

/// Disconnects a harness.
///
/// # Errors
/// As [`connect()`].
pub fn disconnect(context: &Context, args: DisconnectArgs) -> Outcome {
    let reach = args.reach.reach(context)?;
    let Some(adapter) = harness::named(&args.harness) else { return Err(Failure::new("usage", "no such harness")) };
    let user_home = user_home(context);
    let ground = ground(context, &user_home);
    let plan = || connect::disconnect(adapter, &reach, &ground).map_err(|error| failed(error, adapter));
    let (change, lock) = held(context, &ground, args.dry_run, plan)?;
    let command = format!("loci disconnect {}{}", adapter.name, args.reach.words());
    let link = ground.link();
    let unlinks = change.plan.steps.iter().any(|step| matches!(step, Step::Unlink { path, .. } if *path == link));
    let gone = || {
        format!(
            "{} is gone as well, which nothing on this machine called any more: relays that are part of a project ask nobody until `loci init` puts it back",
            context.shown(&link)
        )
    };
    let still = |edit: &connect::Edit| {
        let calls = String::from_utf8_lossy(edit.after.as_deref().unwrap_or_default()).contains("/.loci/bin/loci");
        calls.then(|| {
            format!("{} names {} still: that is not what `loci connect` puts there", context.shown(&edit.file), context.shown(&link))
        })
    };
    let needs = unlinks.then(gone).into_iter().chain(change.edits.iter().filter_map(still)).collect();
    let doing = Doing { verb: "disconnect", done: "disconnected", command: &command, dry_run: args.dry_run, needs };
    finish(context, adapter, &change, lock.as_ref(), &doing)
}

/// The change, and the lock that keeps others from changing anything between our look and it. There is
/// one lock for all settings: the link that every relay calls goes with the last of them. Where nothing
/// is to be done, nothing is locked. What a run that was killed had begun is settled first.
fn held(
    context: &Context,
    ground: &Ground<'_>,
    dry_run: bool,
    plan: impl Fn() -> Result<Change, Failure>,
) -> Result<(Change, Option<(Lock, Held)>), Failure> {
    let first = plan();
    let idle = match &first {
        Ok(change) => change.plan.is_empty() && journal::open(&context.state, JOURNAL)?.is_none(),
        // Somebody may be in the middle of a change.
        Err(_) => !disk::is_dir(&context.state.join("locks")),
    };
    if dry_run || idle || grant::person(context) != Person::Yes {
        return Ok((first?, None));
    }
    let lock = near::hold(context, "connect", &ground.link())?;
    let (held, recovered) = journal::begin(&context.state, JOURNAL, "loci connect")?;
    if let Some(recovered) = recovered {
        context.say(&format!("note: {recovered}"));
    }
    let change = plan()?;
    if let Some(folder) = change.file.parent() {
        disk::sweep_temps(folder)?;
    }
    Ok((change, Some((lock, held))))
}

/// The journal of changes of settings.
const JOURNAL: &str = "connect";

fn finish(context: &Context, adapter: &Adapter, change: &Change, lock: Option<&(Lock, Held)>, doing: &Doing<'_>) -> Outcome {
    let Doing { verb, done, command, .. } = *doing;
    let file = context.shown(&change.file);
    let title = adapter.title;
    if change.plan.is_empty() {
        let said = || format!("{title} is {done} already ({file})\n{}", notes(&doing.needs));
        context.print(said, || object(adapter, change, doing, false))?;
        return Ok(Answer::Yes);
    }
    if doing.dry_run {
        context.print(
            || format!("{}{}", steps(context, change), diff(change, |path| context.shown(path))),
            || object(adapter, change, doing, false),
        )?;
        return Ok(Answer::Yes);
    }
    if let Some(answer) = grant::or_request(context, &change.file, command)? {
        return Ok(answer);
    }
    if context.asks() {
        context.say(diff(change, |path| context.shown(path)).trim_end());
        let asked = term::ask(&format!("{verb} {title} ({file})? [y/N] "));
        let said = asked.map_err(|error| Failure::new("io", "failed to ask").caused_by(&error))?;
        if !said.is_some_and(|said| ["y", "yes"].contains(&said.to_lowercase().as_str())) {
            context.say("nothing was changed");
            return Ok(Answer::No);
        }
    }
    match lock {
        Some((_, held)) => held.apply(&change.plan)?,
        None => change.plan.apply()?,
    }
    context.print(
        || {
            let others = change
                .edits
                .iter()
                .filter(|edit| edit.file != change.file && edit.before != edit.after)
                .map(|edit| context.shown(&edit.file));
            let files = std::iter::once(file.clone()).chain(others).collect::<Vec<_>>().join(", ");
            format!("{title} is {done} ({files})\n{}", notes(&doing.needs))
        },
        || object(adapter, change, doing, true),
    )?;
    Ok(Answer::Yes)
}

fn notes(needs: &[String]) -> String {
    needs.iter().map(|need| format!("note: {need}\n")).collect()
}

fn user_home(context: &Context) -> PathBuf {
    context.env.user_home().unwrap_or_else(|| context.home.clone())
}

fn ground<'a>(context: &'a Context, user_home: &'a Path) -> Ground<'a> {
    Ground { env: &context.env, home: &context.home, user_home, state: &context.state }
}

/// The program that relays are to call: this one.
fn program() -> Result<PathBuf, Failure> {
    process::own_program().map_err(|error| Failure::new("environment", "failed to find out which program this is").caused_by(&error))
}

fn failed(error: ConnectError, adapter: &Adapter) -> Failure {
    let message = format!("failed to {error}");
    match error {
        ConnectError::Unfit { path, unfit } => {
            Failure::new("settings", message).at(&path, Some(unfit.line)).hint(format!("{} {}", "${EDITOR:-vi}", word(&path)))
        }
        ConnectError::File { path, why } => {
            let failure = Failure::new("settings", message).at(&path, None);
            match why {
                "it is read-only" => failure.hint(format!("chmod u+w {}", word(&path))),
                connect::SEVERAL => failure.hint(format!("cp -p {0} {0}.own && mv {0}.own {0}", word(&path))),
                // A person's own part is theirs to keep.
                connect::TAKEN | connect::CHANGED => failure.hint(format!("mv {0} {0}.mine", word(&path))),
                _ => failure,
            }
        }
        ConnectError::NoLocal { .. } if adapter.wiring.shared.is_some() => {
            Failure::new("usage", message).hint(format!("loci connect {} --shared DIR", adapter.name))
        }
        ConnectError::NoLocal { .. } => Failure::new("usage", message).hint(format!("loci connect {}", adapter.name)),
        ConnectError::NoShared { .. } => Failure::new("usage", message).hint(format!("loci connect {}", adapter.name)),
        ConnectError::Disk(error) => error.into(),
    }
}

/// The files of the project here that a harness reads besides.
fn others(context: &Context, adapter: &Adapter) -> Vec<PathBuf> {
    [adapter.wiring.shared, adapter.wiring.local].into_iter().flatten().map(|file| context.cwd.join(file)).collect()
}
