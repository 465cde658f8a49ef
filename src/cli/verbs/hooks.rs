//! `loci hooks`: which hooks there are, which of them run, and what went wrong with them.

mod status;

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};
use serde_json::json;

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::near::{self, word};
use crate::cli::{Answer, Outcome, grant};
use crate::custody::asker;
use crate::hooks::active::{self, Active};
use crate::hooks::find;
use crate::hooks::place::Ground;
use crate::hooks::relay::BUILT_IN;
use crate::hooks::state::{self, Memory, StateError};
use crate::hooks::switches::{self, Switches};
use crate::hooks::{log, trust};
use crate::sys::{disk, shown};
use crate::text::near::nearest;
use crate::tree::{real, settings};

/// How many failures are listed.
const FAILURES: usize = 10;

/// List the hooks that bind to the seams of a turn, and switch them on and off by name
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "A hook is a file in a `hooks` folder of `.loci` or `.loci-clock` with a line such as `# hook-events: before-tool` near its top.\nWithout a word said, all that are present and trusted are on.\n\nExamples:\n  loci hooks status\n  loci hooks only lint tests --body agents/billing\n  loci hooks deactivate loci:place --session 3a1c"
)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List them, what is on, what each harness has, and what went wrong
    Status(Status),
    /// Switch hooks on
    Activate(Some_),
    /// Switch hooks off; without names, forget all that was said
    Deactivate(Any),
    /// Switch these on, and all other scripts off
    Only(Some_),
}

#[derive(Debug, ClapArgs)]
struct Status {
    /// As this session has it
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

#[derive(Debug, ClapArgs)]
struct Some_ {
    /// Names of hook files, with or without their endings; `loci:…` for what is built in
    #[arg(required = true)]
    names: Vec<String>,
    #[command(flatten)]
    whom: Whom,
}

#[derive(Debug, ClapArgs)]
struct Any {
    /// Names of hook files, with or without their endings; `loci:…` for what is built in
    names: Vec<String>,
    #[command(flatten)]
    whom: Whom,
}

#[derive(Debug, ClapArgs)]
struct Whom {
    /// For this session
    #[arg(long, value_name = "ID", conflicts_with = "body")]
    session: Option<String>,
    /// For every session of this body, on this machine (default: the body around here)
    #[arg(long, value_name = "DIR")]
    body: Option<PathBuf>,
    /// Print what would be set, and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// Runs it.
///
/// # Errors
/// Where something can't be read or written.
pub fn run(context: &Context, args: Args) -> Outcome {
    match args.what {
        What::Status(args) => status(context, args),
        What::Activate(args) => change(context, "activate", &args.names, &args.whom, Active::activate),
        What::Deactivate(args) => change(context, "deactivate", &args.names, &args.whom, Active::deactivate),
        What::Only(args) => change(context, "only", &args.names, &args.whom, Active::only),
    }
}

/// Whose active set.
enum Target {
    Session(String),
    Body(PathBuf),
}

fn target(context: &Context, whom: &Whom) -> Result<Target, Failure> {
    if let Some(session) = &whom.session {
        return Ok(Target::Session(session.clone()));
    }
    if let Some(body) = whom.body.as_deref().map(|dir| context.absolute(dir)).filter(|dir| !disk::is_dir(dir)) {
        return Err(Failure::new("path", format!("failed to find the body {}: it is no directory", shown::path(&body))).at(&body, None));
    }
    let from = whom.body.as_deref().map_or_else(|| context.cwd.clone(), |dir| context.absolute(dir));
    let (around, _) = asker::from_launch(&real::real(&from, true).path);
    around.body.map(Target::Body).ok_or_else(|| {
        Failure::new("not-found", format!("failed to find a body up from {}", shown::path(&from)))
            .hint("loci hooks status   # then: --session ID, or --body DIR")
    })
}

fn change(context: &Context, verb: &str, names: &[String], whom: &Whom, edit: fn(&mut Active, &[String])) -> Outcome {
    let target = target(context, whom)?;
    let (file, whose, flag) = match &target {
        Target::Session(session) => (
            state::file(&context.state, session),
            format!("session {}", shown::text(session)),
            format!("--session {}", word(Path::new(session))),
        ),
        Target::Body(body) => (switches::body_file(&context.state, body), context.shown(body), format!("--body {}", word(body))),
    };
    if !whom.dry_run {
        let command: Vec<String> = names.iter().map(|name| word(Path::new(name))).collect();
        let command = format!("loci hooks {verb} {} {flag}", command.join(" "));
        if let Some(answer) = grant::or_request(context, &file, &command)? {
            return Ok(answer);
        }
    }
    if let Target::Session(session) = &target
        && state::read(&context.state, session).map_err(failure)?.is_none()
    {
        context.say(&format!("note: no session {} is known yet; an id counts whole", shown::text(session)));
    }
    known(context, names, &target)?;
    let after = match &target {
        Target::Session(session) if whom.dry_run => {
            let mut active = state::read(&context.state, session).map_err(failure)?.unwrap_or_default().active;
            edit(&mut active, names);
            active
        }
        Target::Session(session) => state::change(&context.state, session, |memory| {
            edit(&mut memory.active, names);
            memory.active.clone()
        })
        .map_err(failure)?,
        Target::Body(body) => {
            // Two at once would each take back what the other has said.
            let _held = if whom.dry_run { None } else { Some(near::hold(context, "hooks", &file)?) };
            let mut active = switches::of_body(&context.state, body).unwrap_or_default();
            edit(&mut active, names);
            if !whom.dry_run {
                let record = json!({ "schema": 1, "body": body.to_string_lossy(), "active": active });
                if let Some(folder) = file.parent() {
                    disk::make_dirs(folder)?;
                    disk::sweep_temps(folder)?;
                }
                disk::replace(&file, format!("{record}\n").as_bytes(), Some(0o600))?;
            }
            active
        }
    };
    let would = if whom.dry_run { "would be: " } else { "" };
    context.print(
        || format!("{would}{whose}: {}\n", words(&after)),
        || json!({ "schema": 1, "done": !whom.dry_run, "file": file.to_string_lossy(), "active": after }),
    )?;
    Ok(Answer::Yes)
}

/// A name that no hook has would switch off, or leave off, what is meant to stand guard.
fn known(context: &Context, names: &[String], target: &Target) -> Result<(), Failure> {
    let seen = match target {
        Target::Session(session) if state::read(&context.state, session).map_err(failure)?.is_none() => look(context, None, None)?,
        Target::Session(session) => look(context, Some(session), None)?,
        Target::Body(body) => look(context, None, Some(body))?,
    };
    let all = || seen.hooks.all.iter().map(|hook| hook.name.as_str()).chain(BUILT_IN.iter().map(|(name, _)| *name));
    for name in names {
        if !all().any(|hook| active::is(name, hook)) {
            let stems = all().map(|hook| hook.rsplit_once('.').map_or(hook, |(stem, _)| stem));
            let hint = nearest(name, stems)
                .map_or_else(|| "loci hooks status".to_owned(), |near| format!("loci hooks status   # did you mean {near}?"));
            return Err(Failure::new("not-found", format!("failed to find a hook that is called {}", shown::text(name))).hint(hint));
        }
    }
    Ok(())
}

fn words(active: &Active) -> String {
    let list = |names: &[String]| names.iter().map(|name| shown::text(name).to_string()).collect::<Vec<_>>().join(" ");
    let mut parts = Vec::new();
    if let Some(only) = &active.only {
        let who = active.by_loop.as_ref().map(|name| format!(" (of the loop {})", shown::text(name))).unwrap_or_default();
        parts.push(format!("only {}{who}", list(only)));
    }
    if !active.on.is_empty() {
        parts.push(format!("on {}", list(&active.on)));
    }
    if !active.off.is_empty() {
        parts.push(format!("off {}", list(&active.off)));
    }
    if parts.is_empty() { "nothing is said of any".to_owned() } else { parts.join("; ") }
}

fn failure(error: StateError) -> Failure {
    Failure::new("state", format!("failed to {error}"))
}

/// What stands around a session, or around here.
struct Seen {
    memory: Memory,
    body: Option<PathBuf>,
    hooks: find::Hooks,
    switches: Switches,
}

fn look(context: &Context, session: Option<&str>, body: Option<&Path>) -> Result<Seen, Failure> {
    let settings = settings::load(&context.home)?;
    let mut memory = Memory::default();
    if let Some(session) = session {
        memory = state::read(&context.state, session).map_err(failure)?.ok_or_else(|| {
            Failure::new("not-found", format!("failed to find anything about the session {}", shown::text(session))).hint("loci trail")
        })?;
    }
    let here = body.or(context.flags.at.as_deref()).map_or_else(|| context.cwd.clone(), |dir| context.absolute(dir));
    let launch = memory.launch.clone().unwrap_or(here);
    let trust = trust::load(&context.state);
    for note in &trust.notes {
        context.say(&format!("note: {note}"));
    }
    let ground = Ground {
        home: Some(&context.home),
        launch: Some(&launch),
        place: memory.place.as_deref(),
        dotdirs: &settings.dotdirs,
        trust: &trust,
        harness: "",
    };
    let hooks = find::hooks(&ground);
    let body = asker::from_launch(&real::real(&launch, true).path).0.body;
    let switches = Switches::of(&memory.active, &context.state, body.as_deref());
    Ok(Seen { memory, body, hooks, switches })
}

fn status(context: &Context, args: Status) -> Outcome {
    let seen = look(context, args.session.as_deref(), None)?;
    let failures = log::newest(&context.state, FAILURES)?;
    let said = seen.body.as_deref().and_then(|body| switches::of_body(&context.state, body));
    context.print(
        || status::report(context, &args, &seen, said.as_ref(), &failures),
        || status::object(&args, &seen, said.as_ref(), &failures),
    )?;
    Ok(Answer::Yes)
}
