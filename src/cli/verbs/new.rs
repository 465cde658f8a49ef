//! `loci new`: a directory becomes an agent.

mod words;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use clap::Args as ClapArgs;

use crate::body::build::{self, BuildError};
use crate::body::template::{self, Template, TemplateError};
use crate::body::{Node, What, builtin, identity, layout, render};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::near::{self, word};
use crate::cli::{Answer, Outcome, grant};
use crate::custody::act::{Act, ActKind};
use crate::custody::person::Person;
use crate::custody::ruling::{ActRuling, Why};
use crate::custody::wall::Walled;
use crate::hooks::trust;
use crate::sys::disk::{self, Kind};
use crate::sys::lock::{Lock, LockError};
use crate::sys::{shown, time};
use crate::text::name::AgentId;
use crate::tree::dotdirs::Dotdirs;
use crate::tree::slot::is_foreign_folder;
use crate::tree::{card, climb, real, settings};

/// The variables that loci sets itself.
pub(super) const GIVEN: [&str; 2] = ["date", "id"];

/// The template where none is named.
const DEFAULT: &str = "agent";

/// Make a directory that is an agent
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  loci new agents/billing\n  loci new services/billing --template custodian --set description='Keeps the billing service'\n  loci new . --into        # make the directory you are in an agent; nothing is overwritten"
)]
pub struct Args {
    /// The directory
    dir: PathBuf,
    /// Which template: a name that `loci templates` lists, or a path with a `/`
    #[arg(long, short, value_name = "TEMPLATE", default_value = DEFAULT)]
    template: String,
    /// The id of the agent (default: the name of the directory)
    #[arg(long)]
    id: Option<String>,
    /// Gives a variable of the template a value
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
    /// Add what is missing to a directory that is there; overwrites nothing
    #[arg(long)]
    into: bool,
    /// Copy the loadout into the folders of the vendors where links can't be made
    #[arg(long)]
    copy: bool,
    /// Print what would be made, and make nothing
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    /// The template that is meant: a name, or a path where it has a slash.
    #[must_use]
    pub fn template(&self) -> &str {
        &self.template
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("it has to be NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Runs it.
///
/// # Errors
/// Where the body can't be made; then nothing of it is there.
pub fn run(context: &Context, args: Args) -> Outcome {
    let dir = target(context, &args.dir)?;
    // One that lives there already may be added to.
    let lives = matches!(disk::look(&dir.join(".loci/agent.md")), Ok(Some(_)));
    if let Some(dotdir) = in_dotdir(&dir, &settings::load(&context.home)?.dotdirs).filter(|_| !lives) {
        let message = format!("failed to make {}: it lies in {}, where nobody looks for agents", shown::path(&dir), shown::path(dotdir));
        let failure = Failure::new("place", message);
        let beside = dotdir.parent().zip(dir.file_name().filter(|_| dotdir != dir));
        return Err(match beside {
            Some((parent, name)) => failure.hint(format!("loci new {}", word(&parent.join(name)))),
            None => failure,
        });
    }
    let template = template::find(&args.template, &context.home, &context.cwd).map_err(|error| {
        let failure = from_template(error, &args.template);
        // A path is one with a slash.
        let beside = !args.template.contains('/') && disk::is_dir(&context.cwd.join(&args.template));
        if beside {
            failure.hint(format!("loci new {} --template ./{}", word(&args.dir), word(Path::new(&args.template))))
        } else {
            failure
        }
    })?;
    let id = id(&args, &dir)?;
    let values = values(&template, &id, &args)?;
    let nodes = render::render(&template, &values).map_err(|error| from_template(error, &args.template))?;
    let nodes = layout::complete(nodes, &id, args.copy);
    identity::check(&template, &nodes, &id).map_err(|error| from_template(error, &args.template))?;
    let _lock = hold(context, &dir, args.dry_run)?;
    let there = disk::look(&dir)?;
    let occupied = match there {
        None => false,
        Some(meta) if meta.kind == Kind::Dir => !disk::list(&dir)?.is_empty(),
        Some(_) => return Err(taken(context, &dir, &args)),
    };
    if occupied && !args.into {
        return Err(taken(context, &dir, &args));
    }
    let (missing, kept) = if args.into && there.is_some() {
        let build::Missing { nodes, kept } = build::missing(&nodes, &dir)?;
        (nodes, kept)
    } else {
        (nodes, Vec::new())
    };
    if !missing.iter().any(|node| node.rel == Path::new(layout::CARD)) && card::agent(&dir).is_none() {
        let file = dir.join(layout::CARD);
        let what = format!("failed to make {} an agent: something is in the way of its identity file", shown::path(&dir));
        return Err(Failure::new("conflict", what).at(&file, None));
    }
    unique(context, &id, &dir)?;
    if let Some(answer) = allowed(context, &missing, &dir, &args)? {
        return Ok(answer);
    }
    if !args.dry_run {
        // What is written here for a person is this machine's own; what an agent has a template say is not, and neither
        // is what was there before. Said first, and taken back where nothing comes of it: a body that was made must
        // not be a stranger.
        let place = real::real(&dir, true).path;
        let own = if grant::person(context) == Person::Yes { written(&missing) } else { BTreeMap::new() };
        trust::remember_made(&context.state, &place, &own, true, time::now())?;
        if let Err(error) = make(context, &missing, &dir, &args, there.is_some()) {
            let _ = trust::remember_made(&context.state, &place, &own, false, time::now());
            return Err(error);
        }
    }
    if occupied {
        strangers(context, &dir, &missing);
    }
    let made = words::Made { paths: words::shown_nodes(&dir, &missing), kept };
    context.print(
        || words::words(context, &dir, &id, &template, &made, args.dry_run),
        || words::object(&dir, &id, &template, &made, args.dry_run),
    )?;
    Ok(Answer::Yes)
}

/// What of the files is trusted once they are written.
fn written(nodes: &[Node]) -> BTreeMap<PathBuf, String> {
    let files = nodes.iter().filter_map(|node| match &node.what {
        What::File { data, .. } => Some((node.rel.as_path(), data.as_slice())),
        What::Dir | What::Link(_) => None,
    });
    trust::written(files)
}

/// Says that the hooks and rules which were there before are no more trusted than they were.
fn strangers(context: &Context, dir: &Path, nodes: &[Node]) {
    let Ok(settings) = settings::load(&context.home) else { return };
    let ours = written(nodes);
    let known = trust::load(&context.state);
    let there = trust::inside(dir, &settings.dotdirs).unwrap_or_default();
    let strange = there.iter().filter(|(rel, seen)| {
        // What is reached through a link of the layout is the file that it leads to.
        let path = dir.join(rel);
        let real = disk::canonical(&path).unwrap_or_else(|_| path.clone());
        ours.get(*rel) != Some(&seen.sha256) && !known.of_digest(&[&path, &real], &seen.sha256).is_trusted()
    });
    let count = strange.count();
    if count > 0 {
        let what = shown::count(count, "file", "files");
        context.say(&format!(
            "note: {what} of hooks, rules or personas that lay there before take no effect by this: look at them with `loci trust {}`",
            word(dir)
        ));
    }
}

/// One agent is made at a time below one top, or two would get the same id. Where no lock can be made
/// (a state folder that is read-only) it goes without.
pub(super) fn hold(context: &Context, dir: &Path, dry_run: bool) -> Result<Option<Lock>, Failure> {
    if dry_run {
        return Ok(None);
    }
    match near::hold(context, "new", &near::top(context, dir)) {
        Ok(lock) => Ok(Some(lock)),
        Err(LockError::Disk(_)) => Ok(None),
        Err(held) => Err(held.into()),
    }
}

/// The directory that is meant: absolute, real as far as it exists.
pub(super) fn target(context: &Context, dir: &Path) -> Result<PathBuf, Failure> {
    let dir = context.absolute(dir);
    if disk::is_dir(&dir) {
        return Ok(disk::canonical(&dir)?);
    }
    let parent = dir.parent().map(Path::to_owned).unwrap_or_default();
    match dir.file_name() {
        Some(name) if disk::is_dir(&parent) => Ok(disk::canonical(&parent)?.join(name)),
        // What `..` means where nothing exists yet is anybody's guess.
        Some(_) if !dir.components().any(|part| part == Component::ParentDir) => Ok(dir),
        _ => Err(Failure::new("name", "failed to make the directory: its path goes up from a directory that is not there").at(&dir, None)),
    }
}

/// The dotdir, or the folder of another program, that a directory lies in or is, unless a repository of its own begins in between, as a harness keeps
/// worktrees there.
fn in_dotdir<'a>(dir: &'a Path, dotdirs: &Dotdirs) -> Option<&'a Path> {
    climb::up(dir)
        .take_while(|place| !matches!(disk::look(&place.join(".git")), Ok(Some(_))))
        .find(|place| dotdirs.is_one(place) || place.file_name().and_then(|name| name.to_str()).is_some_and(is_foreign_folder))
}

fn taken(context: &Context, dir: &Path, args: &Args) -> Failure {
    let what = if disk::is_dir(dir) { "it is not empty" } else { "something else is there" };
    let failure = Failure::new("exists", format!("failed to make {}: {what}", shown::path(dir)));
    if disk::is_dir(dir) { failure.hint(command(context, &args.dir, args, &["--into"])) } else { failure }
}

/// The id: that of the body that is there, else as asked, else the name of the directory.
fn id(args: &Args, dir: &Path) -> Result<AgentId, Failure> {
    let asked = args.id.as_deref().map(AgentId::new).transpose()?;
    if args.into
        && let Some(there) = card::agent(dir)
    {
        let there = there?;
        return match asked {
            Some(asked) if asked != there.id.value => {
                let what = format!("failed to make {} the agent {asked}: it is {} already", shown::path(dir), there.id.value);
                Err(Failure::new("exists", what).at(&there.path, there.id.line))
            }
            _ => Ok(there.id.value),
        };
    }
    if let Some(asked) = asked {
        return Ok(asked);
    }
    let name = dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    AgentId::new(&name).map_err(|error| {
        let fitting = AgentId::nearest(&name).map_or_else(|| "NAME".to_owned(), |id| id.to_string());
        Failure::new("name", format!("failed to take the id from the name of the directory: {error}"))
            .hint(format!("loci new {} --id {fitting}", word(&args.dir)))
    })
}

/// The values that a template is rendered with.
fn values(template: &Template, id: &AgentId, args: &Args) -> Result<BTreeMap<String, String>, Failure> {
    let variables = render::variables(template, &GIVEN).map_err(|error| from_template(error, &args.template))?;
    let mut values = template.defaults.clone();
    for (name, value) in &args.set {
        if GIVEN.contains(&name.as_str()) {
            let failure = Failure::new("usage", format!("failed to set `{name}`: loci sets it itself"));
            return Err(if name == "id" { failure.hint("loci new DIR --id ID") } else { failure });
        }
        if !variables.iter().any(|one| one.name == *name) {
            return Err(Failure::new(
                "usage",
                format!("failed to set `{}`: the template {} has no such variable", shown::text(name), template.name),
            )
            .hint(format!("loci templates {}", word(Path::new(&args.template)))));
        }
        values.insert(name.clone(), value.clone());
    }
    values.insert("id".to_owned(), id.to_string());
    values.insert("date".to_owned(), time::to_second(time::now()).chars().take(10).collect());
    Ok(values)
}

/// A failure about a template.
pub(super) fn from_template(error: TemplateError, name: &str) -> Failure {
    match error {
        TemplateError::Unknown { .. } => {
            let meant = near::meant(name, builtin::ALL.iter().map(|one| one.name));
            Failure::new("not-found", format!("failed to {error}{meant}")).hint("loci templates")
        }
        TemplateError::Unfit { ref path, line, .. } => {
            let (path, unset) = (path.clone(), error.to_string().ends_with(" is not set"));
            let failure = Failure::new("template", format!("failed to {error}")).at(&path, line);
            match unset {
                true => failure.hint(format!("loci templates {}", word(Path::new(name)))),
                false => failure.hint(format!("${{EDITOR:-vi}} {}", word(&path))),
            }
        }
        TemplateError::Disk(error) => error.into(),
    }
}

/// Removes what killed runs left in a directory, and says so.
pub(super) fn clear(context: &Context, dir: &Path) -> Result<(), Failure> {
    for left in build::leftovers(dir)? {
        disk::remove_tree(&left)?;
        context.say(&format!("note: removed {}, which a killed run left behind", shown::path(&left)));
    }
    Ok(())
}

fn make(context: &Context, nodes: &[Node], dir: &Path, args: &Args, there: bool) -> Result<(), Failure> {
    if args.into && there {
        clear(context, dir)?;
        return build::add(nodes, dir).map_err(|error| from_build(context, error, dir, args));
    }
    if let Some(parent) = dir.parent() {
        clear(context, parent)?;
    }
    // Its inode would be exchanged under whoever stands in it.
    if disk::canonical(&context.cwd).is_ok_and(|cwd| cwd == dir) {
        return Err(Failure::new("conflict", "failed to replace the directory you are in").at(dir, None).hint(command(
            context,
            Path::new("."),
            args,
            &["--into"],
        )));
    }
    build::fresh(nodes, dir).map_err(|error| from_build(context, error, dir, args))
}

/// An id names one agent: the place that has it already is an error that names both.
pub(super) fn unique(context: &Context, id: &AgentId, dir: &Path) -> Result<(), Failure> {
    let top = near::top(context, dir);
    let Some((place, there)) = identity::bearer(id, dir, &top)? else { return Ok(()) };
    let what = format!("failed to make {} the agent {id}: {} is that already", shown::path(dir), shown::path(&place));
    Err(Failure::new("exists", what).at(&there.path, there.line).hint(format!("loci new {} --id {id}-2", word(dir))))
}

/// Asks custody. What takes effect by itself needs a person; of the rest, an agent makes what it may
/// write. `None`: go on.
fn allowed(context: &Context, nodes: &[Node], dir: &Path, args: &Args) -> Result<Option<Answer>, Failure> {
    if nodes.is_empty() || grant::person(context) == Person::Yes {
        return Ok(None);
    }
    let act = |path: &Path| Act { kind: ActKind::Create, path: path.to_owned(), follow: false, below: false };
    let acts: Vec<Act> = std::iter::once(act(dir)).chain(nodes.iter().map(|node| act(&dir.join(&node.rel)))).collect();
    let ruling = grant::ruled(context, &acts)?;
    // A new agent is not the one that asks, so its identity file is no matter. All else that is walled off is, file by
    // file: what a tool may not write is not written by a template either.
    let own_card = dir.join(layout::CARD);
    let mine = |one: &ActRuling| matches!(one.why, Why::Wall(Walled::Identity)) && one.path() == own_card;
    if let Some(refused) = ruling.refused().find(|refused| !mine(refused)) {
        let Why::Wall(wall) = refused.why else { return grant::refused(context, refused).map(Some) };
        if matches!(wall, Walled::Policy | Walled::State) {
            return grant::refused(context, refused).map(Some);
        }
        if args.dry_run {
            context.say(&format!("note: {} is {}: only a person adds it", context.shown(refused.path()), wall.what()));
            return Ok(None);
        }
        return grant::or_request(context, refused.path(), &command(context, dir, args, &[]));
    }
    let Some((node, what)) = nodes.iter().find_map(|node| Some((node, template::needs_person(&node.rel)?))) else { return Ok(None) };
    if args.dry_run {
        context.say(&format!("note: {} is a kind of file ({what}) that only a person adds", shown::path(&node.rel)));
        return Ok(None);
    }
    grant::or_request(context, &dir.join(&node.rel), &command(context, dir, args, &[]))
}

/// The command that a person would run for this, with further flags.
fn command(context: &Context, dir: &Path, args: &Args, more: &[&str]) -> String {
    let template = if args.template.contains('/') { context.absolute(Path::new(&args.template)) } else { PathBuf::from(&args.template) };
    let mut words = vec!["loci".to_owned(), "new".to_owned(), word(dir)];
    if args.template != DEFAULT {
        words.extend(["--template".to_owned(), word(&template)]);
    }
    if let Some(id) = &args.id {
        words.push(format!("--id {}", word(Path::new(id))));
    }
    words.extend(args.set.iter().map(|(name, value)| format!("--set {}", word(Path::new(&format!("{name}={value}"))))));
    words.extend(args.into.then(|| "--into".to_owned()));
    words.extend(args.copy.then(|| "--copy".to_owned()));
    words.extend(more.iter().map(|flag| (*flag).to_owned()));
    words.join(" ")
}

fn from_build(context: &Context, error: BuildError, dir: &Path, args: &Args) -> Failure {
    match error {
        BuildError::Taken { .. } => taken(context, dir, args),
        BuildError::NoLinks(error) => Failure::from(error).hint(command(context, &args.dir, args, &["--copy"])),
        BuildError::Disk(error) => error.into(),
        BuildError::Plan(error) => error.into(),
    }
}
