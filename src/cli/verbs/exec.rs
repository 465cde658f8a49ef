//! `loci exec`: a command under mounts in which what is others' and the wall can't be written.

mod report;
mod whole;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde_json::json;

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::table;
use crate::cli::{Answer, Outcome, grant, near};
use crate::custody::asker::{self, Asker};
use crate::custody::find;
use crate::custody::jail::harvest::{self, Layer};
use crate::custody::jail::{self, Found, Planned, Point, Use, Zone, calls};
use crate::custody::person::Person;
use crate::sys::disk::PathError;
use crate::sys::handle::Handle;
use crate::sys::jail::{Access, Ending, Event, Jailed, Mount, Stage, Trouble};
use crate::sys::{disk, env, process, shown, time};
use crate::text::name::AgentId;
use crate::tree::dotdirs::Dotdirs;
use crate::tree::settings::{self, Custody};

/// Run a command that can't write what is somebody else's
///
/// The kernel holds it: the directories of others and what only a person changes are read-only for the
/// command and all that it starts; everything else is as without. What was refused is listed at the end
/// and handed over to the owners.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Exit code: the command's own. 126: there is no jail here, and nothing was run; or the command can't be run. 127: it was not found.\n\nExamples:\n  loci exec -- make -j8\n  loci exec --as alice -- python3 scripts/migrate.py\n  loci exec --as alice --capture -- sed -i s/7/19/ billing/tax.rs   # the owner gets the patch\n  loci exec --as alice --dry-run -- true      # what would be held\n  cd \"$(loci exec --keep-cwd 3 -- sh -c 'cd src && make >&2' 3>&1 >&2)\""
)]
pub struct Args {
    /// Let writes into what is others' happen in a layer, and hand them over as a patch: captured, NOT applied
    #[arg(long)]
    capture: bool,
    /// Print what would be held, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// Write the directory that the command ends in to this open handle, with `/.` behind it: for a shell that goes there
    #[arg(long, value_name = "HANDLE")]
    keep_cwd: Option<i32>,
    /// The call that the gate has put in here
    #[arg(long, value_name = "KEY", hide = true, conflicts_with_all = ["dry_run"])]
    call: Option<String>,
    /// It is a whole session: of `loci run --jail`
    #[arg(long, hide = true, conflicts_with_all = ["call", "dry_run"])]
    embodied: bool,
    /// Try whether there is a jail here, and keep what came of it for the gate
    #[arg(long, hide = true)]
    probe: bool,
    /// The command
    #[arg(required_unless_present = "probe", trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// What the command runs under.
struct Ready {
    asker: Asker,
    /// The call of a harness that it is.
    call: Option<calls::Call>,
    /// Whether it is a whole session.
    embodied: bool,
    /// Folders of the state that it sees as its own.
    own: Vec<whole::Own>,
    root: PathBuf,
    found: Found,
    mounts: Vec<Planned>,
}

/// Runs it.
///
/// # Errors
/// Where it can't be said who asks, or the settings can't be used.
pub fn run(context: &Context, args: Args) -> Outcome {
    if args.probe {
        return Ok(if jail::standing::probe(&context.state)? { Answer::Yes } else { Answer::Exit(126) });
    }
    let Some((program, rest)) = args.command.split_first() else {
        return Err(Failure::new("usage", "failed to run: there is no command").hint("loci exec -- COMMAND"));
    };
    if context.flags.json && !args.dry_run {
        return Err(Failure::new("usage", "--json needs --dry-run here: standard output is the command's"));
    }
    if !args.dry_run {
        // Where the mail of a sender without a body waits: it has to be there to stay writable.
        disk::make_dirs(&context.state.join("outbox"))?;
        disk::make_dirs(&context.state.join("trail"))?;
    }
    let handle = args.keep_cwd.map(Handle::take).transpose();
    let handle =
        handle.map_err(|error| Failure::new("usage", "failed to use what --keep-cwd names: it is no open handle").caused_by(&error))?;
    let ready = ready(context, &args)?;
    if args.dry_run {
        return planned(context, &ready);
    }
    if let Some(answer) = boundless(context, &ready.root) {
        return Ok(answer);
    }
    for note in &ready.found.notes {
        context.say(&format!("loci: note: {note}"));
    }
    for path in &ready.found.linked {
        context.say(&format!("loci: note: {} has another name somewhere; through that one it can be written", context.shown(path)));
    }
    let over: Vec<PathBuf> = ready.mounts.iter().filter(|mount| mount.what == Use::Layer).map(|mount| mount.path.clone()).collect();
    let scratch = match (!over.is_empty()).then(|| harvest::prepare(&context.state, &over)).transpose() {
        Ok(made) => made,
        Err(error) => return Ok(no_layer(context, &error)),
    };
    let layers: &[Layer] = scratch.as_ref().map_or(&[], |(_, layers)| layers.as_slice());
    let mut mounts: Vec<Mount> = ready.mounts.iter().map(|planned| mount(planned, layers)).collect();
    for own in &ready.own {
        mounts.iter_mut().filter(|mount| mount.path == own.shown).for_each(|mount| mount.access = Access::Other { from: own.from.clone() });
    }
    let mut vars = Vec::new();
    if context.flags.asker.is_some() || ready.call.is_some() {
        vars.extend(ready.asker.agent.as_ref().map(|agent| (env::LOCI_AGENT, OsString::from(agent.as_str()))));
        vars.extend(ready.asker.body.as_ref().map(|body| (env::LOCI_BODY, body.clone().into_os_string())));
    }
    if !over.is_empty() {
        // A layer is a file system of its own, and git would not look above it for its repository.
        vars.push(("GIT_DISCOVERY_ACROSS_FILESYSTEM", OsString::from("1")));
    }
    let mut hearer = jail::hear::Hearer::new(&ready.mounts, &context.state);
    let jailed =
        Jailed { mounts: &mounts, cwd: &context.cwd, program, args: rest, vars: &vars, keep_cwd: handle.is_some(), idle: args.embodied };
    if let Some(key) = &args.call {
        calls::begin(&context.state, key)?;
    }
    let mut post = whole::Post::default();
    let mut attend = |event| match event {
        Event::Call(call) => hearer.hear(&call),
        Event::Idle => post.deliver(context, &ready.asker),
    };
    let outcome = match crate::sys::jail::run(&jailed, Some(&mut attend)) {
        Ok(outcome) => outcome,
        Err(trouble) => {
            if let Some((base, _)) = &scratch {
                harvest::remove(base)?;
            }
            return Ok(not_run(context, &trouble));
        }
    };
    if let Some(handle) = handle {
        hand_back(context, handle, outcome.cwd.as_deref());
    }
    // What the command has sent by loci's verbs.
    post.say(context);
    super::delegate::drain(context, &ready.asker)?;
    super::delegate::drain(context, &report::sender(context, &ready.asker)?)?;
    let mut filed = report::report(context, &ready, &args.command, hearer, &outcome)?;
    if let Some((base, layers)) = &scratch {
        filed.extend(report::captured(context, &ready, base, layers, outcome.survivors.is_empty())?);
    }
    if let Some(key) = &args.call {
        calls::end(&context.state, key, filed)?;
    }
    match outcome.ending {
        Ending::Code(code) => Ok(Answer::Exit(code)),
        Ending::Signal(signal) => crate::sys::jail::end_by(signal),
    }
}

/// Tells whoever started us where the command has ended: a shell goes there as if it had run it itself.
fn hand_back(context: &Context, handle: Handle, cwd: Option<&Path>) {
    let Some(cwd) = cwd else { return context.say("loci: note: which directory the command ended in could not be heard") };
    // A shell takes line ends off the end of what it reads.
    if let Err(error) = handle.write(cwd.join(".").as_os_str()) {
        context.say(&format!("loci: note: the directory could not be handed back: {error}"));
    }
}

fn mount(planned: &Planned, layers: &[Layer]) -> Mount {
    let layer = layers.iter().find(|layer| planned.what == Use::Layer && layer.over == planned.path);
    let access = match (planned.what, layer) {
        (Use::Layer, Some(layer)) => Access::Overlay { upper: layer.upper.clone(), work: layer.work.clone() },
        (Use::Shut | Use::Layer, _) => Access::ReadOnly,
        (Use::Opened | Use::Pinned, _) => Access::Keep,
    };
    Mount { path: planned.path.clone(), access }
}

/// Finds out who asks, and what is to be held.
fn ready(context: &Context, args: &Args) -> Result<Ready, Failure> {
    let root = top(context, &context.cwd)?;
    let call = match &args.call {
        None => None,
        Some(key) => Some(
            calls::asked(&context.state, key)
                .ok_or_else(|| Failure::new("usage", "--call names no call that the gate has put in here").hint("loci exec -- COMMAND"))?,
        ),
    };
    let asker = match &call {
        Some(call) => call.asker()?,
        None => asker(context, &root)?,
    };
    let surroundings = grant::surroundings(context)?;
    let beside = beside(context, &root);
    let mut found = jail::scan(&root, &beside, &asker, &surroundings, time::now(), args.capture);
    // A call may have gone anywhere; what belongs to the session's own tree is held all the same.
    if let Some(launch) = call.as_ref().and_then(|call| call.launch.as_deref()).filter(|dir| disk::is_dir(dir)) {
        let launch = top(context, launch)?;
        if !root.starts_with(&launch) {
            found.add(jail::scan(&launch, &self::beside(context, &launch), &asker, &surroundings, time::now(), args.capture));
        }
    }
    if named_root(context).is_none() && call.is_none() && !disk::is_dir(&root.join(".git")) && !disk::is_file(&root.join(".git")) {
        let and = if beside.is_empty() { "" } else { ", and what is owned beside it" };
        let dir = shown::path(&root);
        found.notes.push(format!("held from {dir} down{and}; nothing above, since it is in no repository (--root DIR names another one)"));
    }
    let own = whole::of_its_own(context, &asker, args.embodied, args.dry_run)?;
    for one in &own {
        found.points.insert(one.shown.clone(), Point { zone: Zone::Open, whose: String::new() });
    }
    let capture = args.capture;
    let theirs = found.points.iter().filter(|(_, point)| capture && point.zone == Zone::Theirs);
    let submounts = crate::sys::jail::mounts_below(&theirs.map(|(path, _)| path.as_path()).collect::<Vec<_>>());
    let mounts = jail::plan(&found.points, &found.above, &submounts, capture);
    Ok(Ready { asker, call, embodied: args.embodied, own, root, found, mounts })
}

/// Who asks. Inside an agent's session nobody becomes another by a flag.
fn asker(context: &Context, root: &Path) -> Result<Asker, Failure> {
    let (here, note) = asker::here(&context.env, &context.cwd)?;
    let Some(id) = &context.flags.asker else {
        if let Some(note) = note {
            context.say(&format!("loci: note: {}", note.0));
        }
        return Ok(here);
    };
    let id = AgentId::new(id)?;
    if here.agent.as_ref() == Some(&id) {
        return Ok(here);
    }
    if let Person::No(evidence) = grant::person(context) {
        let message = format!("failed to run as {id}: only a person may run as another agent ({evidence})");
        return Err(Failure::new("asker", message).hint("loci exec -- COMMAND"));
    }
    let named = near::named(context, id.clone(), &context.cwd, &[root.to_owned()]);
    if named.body.is_none() {
        near::known(context, id.as_str(), "run")?;
    }
    Ok(named)
}

fn named_root(context: &Context) -> Option<PathBuf> {
    context.flags.root.clone().or_else(|| context.env.get(env::LOCI_ROOT).map(PathBuf::from))
}

/// What lies beside the top; nothing where that was named.
fn beside(context: &Context, top: &Path) -> Vec<PathBuf> {
    if named_root(context).is_some() { Vec::new() } else { find::beside(top, &context.home) }
}

/// How far is looked: the root that was named, else the outermost directory up from here, below the
/// home, that is the top of a repository or carries a dotdir.
fn top(context: &Context, from: &Path) -> Result<PathBuf, Failure> {
    if let Some(root) = named_root(context) {
        return Ok(disk::canonical(&context.absolute(&root))?);
    }
    let dotdirs: Dotdirs = settings::load(&context.home).map(|settings| settings.dotdirs).unwrap_or_default();
    Ok(jail::top(from, &context.home, &dotdirs)?)
}

/// `--dry-run`: what would be held.
fn planned(context: &Context, ready: &Ready) -> Outcome {
    context.print(
        || {
            let row = |mount: &Planned| {
                let whose = if mount.whose.is_empty() { String::new() } else { format!("{}'s", mount.whose) };
                vec![mount.what.word().to_owned(), context.shown(&mount.path), whose]
            };
            let rows: Vec<Vec<String>> = ready.mounts.iter().map(row).collect();
            if rows.is_empty() { format!("nothing below {} has to be held\n", context.shown(&ready.root)) } else { table(&rows) }
        },
        || {
            let one = |mount: &Planned| {
                let owner = (!mount.whose.is_empty()).then_some(&mount.whose);
                json!({ "path": mount.path.to_string_lossy(), "is": mount.what.word(), "owner": owner })
            };
            json!({
                "schema": 1, "done": false, "asker": ready.asker.agent, "root": ready.root.to_string_lossy(),
                "mounts": ready.mounts.iter().map(one).collect::<Vec<_>>(), "notes": ready.found.notes,
                "linked": ready.found.linked.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
            })
        },
    )?;
    for note in &ready.found.notes {
        context.say(&format!("note: {note}"));
    }
    for path in &ready.found.linked {
        context.say(&format!("note: {} has another name somewhere; through that one it can be written", context.shown(path)));
    }
    Ok(Answer::Yes)
}

/// Where only what is held goes on (`custody: required`), a look that nothing bounds is not enough: what is owned above or
/// beside it would not be held.
fn boundless(context: &Context, root: &Path) -> Option<Answer> {
    let settings = settings::load(&context.home).ok().filter(|settings| settings.custody == Custody::Required)?;
    let there = |name: &str| matches!(disk::look(&root.join(name)), Ok(Some(_)));
    let marked = || settings.dotdirs.iter().any(|(name, _)| there(name));
    if named_root(context).is_some() || there(".git") || marked() {
        return None;
    }
    let dir = shown::path(root);
    context.say(&format!(
        "error: failed to hold all there is to hold: {dir} is in no repository and in no place, so how far to look is not known, and `custody: required` wants it; the command was NOT run"
    ));
    context.say("hint: say how far: loci exec --root DIR -- COMMAND, or LOCI_ROOT=DIR");
    Some(Answer::Exit(126))
}

/// Says why there is no layer to capture in, and that nothing was run.
fn no_layer(context: &Context, error: &PathError) -> Answer {
    context.say(&format!("error: failed to make a layer to capture in: failed to {error}; the command was NOT run"));
    context.say(&format!("caused by: {}", error.source));
    if crate::sys::jail::is_inside() {
        context.say("hint: inside of a jail there is none: run it without --capture. What it is refused is handed over all the same");
    }
    Answer::Exit(126)
}

/// Says why nothing was run.
fn not_run(context: &Context, trouble: &Trouble) -> Answer {
    let on = trouble.path.as_deref().map(|path| format!(" {}", shown::path(path))).unwrap_or_default();
    let errno = shown::errno(trouble.errno);
    if trouble.stage == Stage::Command {
        let name = trouble.path.as_deref().unwrap_or(Path::new(""));
        // A directory of `PATH` that may not be looked into hides nothing that could be run.
        let found = || process::find_program(&name.to_string_lossy(), context.env.get(env::PATH).unwrap_or_default());
        let missing = errno == "ENOENT" || (errno == "EACCES" && !name.to_string_lossy().contains('/') && found().is_none());
        context.say(&format!("error: failed to run{on}: {}", if missing { "it was not found" } else { errno }));
        return Answer::Exit(if missing { 127 } else { 126 });
    }
    context.say(&format!("error: failed to {}{on}: {errno}; the command was NOT run", trouble.stage.word()));
    if let Some(cause) = jail::cause::cause(trouble, &crate::sys::jail::facts()) {
        context.say(&format!("caused by: {cause}"));
    }
    Answer::Exit(126)
}
