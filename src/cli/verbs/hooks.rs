//! `loci hooks`: which hooks there are, which of them run, and what went wrong with them.

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};
use serde_json::{Value, json};

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::near::{self, word};
use crate::cli::output::table;
use crate::cli::{Answer, Outcome, grant};
use crate::custody::asker;
use crate::hooks::active::{self, Active};
use crate::hooks::dispatch::{self, Switches};
use crate::hooks::event::{Seam, Take};
use crate::hooks::find::{self, Hook};
use crate::hooks::harness::{self, Adapter};
use crate::hooks::place::Ground;
use crate::hooks::relay::BUILT_IN;
use crate::hooks::state::{self, Memory, StateError};
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
        Target::Body(body) => (dispatch::body_file(&context.state, body), context.shown(body), format!("--body {}", word(body))),
    };
    if !whom.dry_run {
        let command: Vec<String> = names.iter().map(|name| word(Path::new(name))).collect();
        let command = format!("loci hooks {verb} {} {flag}", command.join(" "));
        if let Some(answer) = grant::or_request(context, &file, &command)? {
            return Ok(answer);
        }
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
            let mut active = dispatch::of_body(&context.state, body).unwrap_or_default();
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
    if parts.is_empty() { "all that are present are on".to_owned() } else { parts.join("; ") }
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
    let said = seen.body.as_deref().and_then(|body| dispatch::of_body(&context.state, body));
    context.print(|| report(context, &args, &seen, said.as_ref(), &failures), || object(&args, &seen, said.as_ref(), &failures))?;
    Ok(Answer::Yes)
}

fn how(hook: &Hook, switches: &Switches) -> &'static str {
    match (hook.standing.is_trusted(), switches.are_on(&hook.name, hook.is_home())) {
        (true, true) => "on",
        (true, false) => "off",
        (false, _) => "does not run",
    }
}

fn seams(hook: &Hook) -> String {
    hook.declared.seams.iter().map(|seam| seam.word()).collect::<Vec<_>>().join(",")
}

fn report(context: &Context, args: &Status, seen: &Seen, body: Option<&Active>, failures: &[log::Failure]) -> String {
    let mut text = String::new();
    let rows: Vec<Vec<String>> = seen
        .hooks
        .all
        .iter()
        .map(|hook| {
            let name = shown::text(&hook.name).to_string();
            vec![name, how(hook, &seen.switches).to_owned(), hook.standing.word().to_owned(), seams(hook), context.shown(&hook.found.path)]
        })
        .chain(BUILT_IN.iter().map(|(name, what)| {
            let on = if seen.switches.are_on(name, true) { "on" } else { "off" };
            vec![(*name).to_owned(), on.to_owned(), "built-in".to_owned(), String::new(), (*what).to_owned()]
        }))
        .collect();
    text.push_str(&table(&rows));
    let strange: std::collections::BTreeSet<&Path> =
        seen.hooks.all.iter().filter(|hook| !hook.standing.is_trusted()).map(|hook| hook.found.provenance.level.as_path()).collect();
    for level in strange {
        text.push_str(&format!(
            "note: what does not run in {} has not been trusted as it is now: loci trust {}\n",
            context.shown(level),
            word(level)
        ));
    }
    for hook in &seen.hooks.all {
        for remark in &hook.declared.remarks {
            text.push_str(&format!("note: {}: {remark}\n", context.shown(&hook.found.path)));
        }
    }
    for (path, remarks) in &seen.hooks.bad {
        text.push_str(&format!("note: {} is no hook: {}\n", context.shown(path), remarks.join("; ")));
    }
    if let Some(session) = &args.session {
        text.push_str(&format!("\nsession {}: {}\n", shown::text(session), words(&seen.memory.active)));
        let path = |path: &Option<PathBuf>| path.as_deref().map_or_else(|| "-".to_owned(), |path| context.shown(path));
        text.push_str(&format!("  started in {}, stands in {}\n", path(&seen.memory.launch), path(&seen.memory.place)));
        if let Some(persona) = &seen.memory.persona {
            text.push_str(&format!("  persona {} (declared in {})\n", shown::text(&persona.name), context.shown(&persona.declared_in)));
        }
        text.push_str(&format!("  state {}\n", shown::text(&Value::Object(seen.memory.state.clone()).to_string())));
    }
    if let (Some(dir), Some(active)) = (&seen.body, body) {
        text.push_str(&format!("\nbody {}: {}\n", context.shown(dir), words(active)));
    }
    text.push_str("\nwhat each harness has\n");
    let rows: Vec<Vec<String>> =
        harness::ALL.iter().map(|adapter| vec![format!("  {}", adapter.name), has(adapter), lacks(adapter)]).collect();
    text.push_str(&table(&rows));
    text.push_str("\nwhat a hook can do there\n");
    let rows: Vec<Vec<String>> = harness::ALL
        .iter()
        .map(|adapter| {
            let rewrites =
                if takes(adapter, Take::Input).is_empty() { "can't rewrite the input of a call" } else { "rewrites the input of a call" };
            let texts = format!("adds text at {}", takes(adapter, Take::Context));
            vec![format!("  {}", adapter.name), format!("blocks at {}", takes(adapter, Take::Block)), texts, rewrites.to_owned()]
        })
        .collect();
    text.push_str(&table(&rows));
    text.push_str(&format!("  {}: the clock calls it; no harness has it\n", Seam::OnBlockReport.word()));
    if !failures.is_empty() {
        text.push_str("\nwhat went wrong last; nothing was held up by it\n");
        let rows: Vec<Vec<String>> = failures
            .iter()
            .map(|failure| [&failure.at, &failure.seam, &failure.hook, &failure.why].map(|part| shown::text(part).to_string()).to_vec())
            .collect();
        text.push_str(&table(&rows));
    }
    text
}

/// Whether a harness has a seam: by an event of its own, or along with another one.
fn has_seam(adapter: &Adapter, seam: Seam) -> bool {
    let own = |seam: Seam| adapter.point(seam, None).is_some();
    match seam {
        // A failed call comes with the event after a call.
        Seam::OnError => own(seam) || own(Seam::AfterTool),
        // Text is added where a session or a prompt begins, if the model is shown it there.
        Seam::BeforeSystemPrompt => {
            let shows = |seam| adapter.point(seam, None).is_some_and(|point| point.takes(Take::Context));
            own(seam) || shows(Seam::BeforeRun) || shows(Seam::BeforeIteration)
        }
        seam => own(seam),
    }
}

fn has(adapter: &Adapter) -> String {
    Seam::ALL.iter().filter(|seam| has_seam(adapter, **seam)).map(|seam| seam.word()).collect::<Vec<_>>().join(" ")
}

/// The seams at which a hook can do that; empty where there is none.
fn takes(adapter: &Adapter, take: Take) -> String {
    let can = |seam: &&Seam| adapter.points.iter().any(|point| point.seam == **seam && point.takes(take));
    Seam::ALL.iter().filter(can).map(|seam| seam.word()).collect::<Vec<_>>().join(" ")
}

fn lacks(adapter: &Adapter) -> String {
    let missing = Seam::ALL.iter().filter(|seam| !has_seam(adapter, **seam) && **seam != Seam::OnBlockReport);
    let missing: Vec<&str> = missing.map(|seam| seam.word()).collect();
    if missing.is_empty() { String::new() } else { format!("lacks {}", missing.join(" ")) }
}

fn object(args: &Status, seen: &Seen, body: Option<&Active>, failures: &[log::Failure]) -> Value {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let hooks: Vec<Value> = seen
        .hooks
        .all
        .iter()
        .map(|hook| {
            json!({
                "name": hook.name, "path": text(&hook.found.path), "root": hook.found.provenance.root.word(),
                "level": text(&hook.found.provenance.level), "seams": hook.declared.seams.iter().map(|seam| seam.word()).collect::<Vec<_>>(),
                "timeout": hook.declared.timeout.as_secs_f64(),
                "tools": hook.declared.tools.iter().map(|pattern| pattern.text.as_str()).collect::<Vec<_>>(),
                "standing": hook.standing.word(), "trusted": hook.standing.is_trusted(),
                "on": hook.standing.is_trusted() && seen.switches.are_on(&hook.name, hook.is_home()), "remarks": hook.declared.remarks,
            })
        })
        .collect();
    let bad: Vec<Value> = seen.hooks.bad.iter().map(|(path, why)| json!({ "path": text(path), "remarks": why })).collect();
    let built_in: Vec<Value> =
        BUILT_IN.iter().map(|(name, what)| json!({ "name": name, "does": what, "on": seen.switches.are_on(name, true) })).collect();
    let harnesses: Vec<Value> = harness::ALL
        .iter()
        .map(|adapter| {
            let points: Vec<Value> = adapter
                .points
                .iter()
                .map(|point| {
                    json!({
                        "event": point.native, "seam": point.seam.word(), "blocks": point.takes(Take::Block),
                        "context": point.takes(Take::Context), "rewrites": point.takes(Take::Input),
                    })
                })
                .collect();
            let lacks: Vec<&str> = Seam::ALL.iter().filter(|seam| !has_seam(adapter, **seam)).map(|seam| seam.word()).collect();
            json!({ "name": adapter.name, "events": points, "lacks": lacks })
        })
        .collect();
    json!({
        "schema": 1, "hooks": hooks, "not_hooks": bad, "built_in": built_in,
        "body": seen.body.as_deref().map(|dir| json!({ "path": text(dir), "active": body })),
        "session": args.session.as_ref().map(|_| &seen.memory), "harnesses": harnesses, "failures": failures,
    })
}
