//! `loci inherit`: a child of a body, with all that it grew and nothing that it remembers.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde_json::{Value, json};

use super::new;
use crate::body::build::BuildError;
use crate::body::inherit::{self, InheritError, Inheritance, What};
use crate::body::{embody, layout};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::near::{self, word};
use crate::cli::{Answer, Outcome, grant};
use crate::custody::act::{Act, ActKind};
use crate::custody::person::Person;
use crate::custody::ruling::{ActRuling, Why};
use crate::custody::wall::Walled;
use crate::sys::{disk, shown};
use crate::text::name::AgentId;
use crate::tree::{card, real, settings};

/// Make a child of an agent: its whole directory, without its memory
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Everything comes along byte for byte: equipment on and off, links, modes, empty directories, whatever it grew. Its inbox, its ledger, the sessions\nof harnesses and what `memory:` of its agent.md names stay behind, and so does what must not travel (secrets, settings of one machine); each is named.\nOf the child, the id and `parent` in agent.md are new, and the owner of its own directory.\n\nExamples:\n  loci inherit agents/billing agents/billing-eu\n  loci inherit agents/billing agents/next --id billing-2 --dry-run"
)]
pub struct Args {
    /// The directory of the agent that is inherited from
    parent: PathBuf,
    /// The directory of the child; nothing may be there
    child: PathBuf,
    /// The id of the child (default: the name of its directory)
    #[arg(long)]
    id: Option<String>,
    /// Print what would come along and what would stay, and make nothing
    #[arg(long)]
    dry_run: bool,
}

/// So many files of a child are judged one by one.
const MOST_JUDGED: usize = 10_000;

/// Runs it.
///
/// # Errors
/// Where there is nothing to inherit from, or the child can't be made; then nothing was changed.
pub fn run(context: &Context, args: Args) -> Outcome {
    let asked = context.absolute(&args.parent);
    if !disk::is_dir(&asked) {
        return Err(Failure::new("path", format!("failed to inherit from {}: it is no directory", shown::path(&asked))).at(&asked, None));
    }
    let parent = disk::canonical(&asked)?;
    let child = child(context, &parent, &args)?;
    let card = card::agent(&parent).ok_or_else(|| {
        let what = format!("failed to inherit from {}: no agent lives there", shown::path(&parent));
        Failure::new("body", what).at(&parent, None).hint(format!("loci new {} --into", word(&args.parent)))
    })??;
    let id = id(&args, &child)?;
    let dotdirs = settings::load(&context.home)?.dotdirs;
    let mut found = inherit::find(&card, &parent, &child, &id, &near::top(context, &child), &dotdirs).map_err(failed)?;
    let _lock = new::hold(context, &child, args.dry_run)?;
    free(&child)?;
    new::unique(context, &id, &child)
        .map_err(|failure| failure.hint(format!("loci inherit {} {} --id {id}-2", word(&args.parent), word(&args.child))))?;
    let (holders, _) = embody::holders(&context.state, &parent)?;
    if let Some(holder) = holders.first() {
        found.notes.push(format!(
            "{} is at work now ({}): what it changes while it is copied may come along in part",
            card.id.value, holder.run.runtime
        ));
    }
    if let Some(answer) = allowed(context, &found, &child, &args)? {
        return Ok(answer);
    }
    if !args.dry_run {
        if let Some(above) = child.parent() {
            new::clear(context, above)?;
        }
        inherit::make(&found, &child, &dotdirs).map_err(failed)?;
    }
    let made = Made { child: &child, id: &id, parent_id: &card.id.value, found: &found, dry_run: args.dry_run };
    context.print(|| words(context, &made), || object(&made))?;
    Ok(Answer::Yes)
}

/// Where the child will really lie; beside its parent, never in it.
fn child(context: &Context, parent: &Path, args: &Args) -> Result<PathBuf, Failure> {
    let asked = context.absolute(&args.child);
    let real = real::real(&asked, true);
    if let Some(trouble) = real.trouble {
        return Err(Failure::new("path", format!("failed to make {}: {trouble}", shown::path(&asked))).at(&asked, None));
    }
    let child = real.path;
    if child == parent {
        return Err(Failure::new("conflict", format!("failed to inherit: {} is parent and child", shown::path(parent))).at(&child, None));
    }
    if child.starts_with(parent) {
        let what = format!("failed to make {}: it lies in its parent {}", shown::path(&child), shown::path(parent));
        let beside = parent.with_file_name(child.file_name().unwrap_or_default());
        return Err(Failure::new("conflict", what).at(&child, None).hint(format!("loci inherit {} {}", word(parent), word(&beside))));
    }
    // Also a link that leads nowhere stands in the way.
    free(&asked)?;
    free(&child)?;
    new::target(context, &asked)?;
    Ok(child)
}

fn free(child: &Path) -> Result<(), Failure> {
    match disk::look(child)? {
        None => Ok(()),
        Some(_) => {
            Err(Failure::new("exists", format!("failed to make {}: something is there already", shown::path(child))).at(child, None))
        }
    }
}

fn id(args: &Args, child: &Path) -> Result<AgentId, Failure> {
    if let Some(asked) = &args.id {
        return Ok(AgentId::new(asked)?);
    }
    let name = child.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    AgentId::new(&name).map_err(|error| {
        let fitting = AgentId::nearest(&name).map_or_else(|| "NAME".to_owned(), |id| id.to_string());
        Failure::new("name", format!("failed to take the id from the name of the directory: {error}")).hint(format!(
            "loci inherit {} {} --id {fitting}",
            word(&args.parent),
            word(&args.child)
        ))
    })
}

/// Asks custody, as for a new agent: what takes effect by itself needs a person.
fn allowed(context: &Context, found: &Inheritance, child: &Path, args: &Args) -> Result<Option<Answer>, Failure> {
    if grant::person(context) == Person::Yes {
        return Ok(None);
    }
    let id = args.id.as_ref().map(|id| format!(" --id {}", word(Path::new(id)))).unwrap_or_default();
    let command = format!("loci inherit {} {}{id}", word(&found.parent), word(child));
    let act = |path: &Path| Act { kind: ActKind::Create, path: path.to_owned(), follow: false, below: false };
    // More than anybody judges one by one is a person's to copy.
    if found.items.len() > MOST_JUDGED && !args.dry_run {
        return grant::or_request(context, &child.join(layout::CARD), &command);
    }
    let files = found.items.iter().filter(|item| !matches!(item.what, What::Dir(_))).map(|item| act(&child.join(&item.rel)));
    let acts: Vec<Act> = std::iter::once(act(child)).chain(files.take(MOST_JUDGED)).collect();
    // The child is not the one that asks, so its identity file is no matter. All else that is walled off is.
    let own_card = child.join(layout::CARD);
    let mine = |one: &ActRuling| matches!(one.why, Why::Wall(Walled::Identity)) && one.path() == own_card;
    let ruling = grant::ruled(context, &acts)?;
    if let Some(refused) = ruling.refused().find(|refused| !mine(refused)) {
        return match refused.why {
            Why::Wall(wall) if args.dry_run => {
                context.say(&format!("note: {} is {}: only a person adds it", context.shown(refused.path()), wall.what()));
                Ok(None)
            }
            Why::Wall(wall) if !matches!(wall, Walled::Policy | Walled::State) => grant::or_request(context, refused.path(), &command),
            _ => grant::refused(context, refused).map(Some),
        };
    }
    let Some(rel) = inherit::needs_person(found) else { return Ok(None) };
    if args.dry_run {
        context.say(&format!("note: {} is a kind of file that only a person adds", shown::path(rel)));
        return Ok(None);
    }
    grant::or_request(context, &own_card, &command)
}

fn failed(error: InheritError) -> Failure {
    match error {
        InheritError::Unfit { ref path, line, .. } => {
            let path = path.clone();
            Failure::new("body", format!("failed to {error}")).at(&path, line)
        }
        InheritError::Loadout(error) => error.into(),
        InheritError::Build(BuildError::Taken { path }) => {
            Failure::new("exists", format!("failed to make {}: something is there already", shown::path(&path))).at(&path, None)
        }
        InheritError::Build(BuildError::Plan(error)) => error.into(),
        InheritError::Build(BuildError::NoLinks(error) | BuildError::Disk(error)) | InheritError::Disk(error) => error.into(),
    }
}

struct Made<'a> {
    child: &'a Path,
    id: &'a AgentId,
    parent_id: &'a AgentId,
    found: &'a Inheritance,
    dry_run: bool,
}

impl Made<'_> {
    fn count(&self, which: impl Fn(&What) -> bool) -> usize {
        self.found.items.iter().filter(|item| which(&item.what)).count()
    }

    fn files(&self) -> usize {
        self.count(|what| matches!(what, What::File | What::Edited(..) | What::Pipe(_)))
    }

    fn edited(&self) -> impl Iterator<Item = &Path> {
        self.found.items.iter().filter(|item| matches!(item.what, What::Edited(..))).map(|item| item.rel.as_path())
    }
}

fn words(context: &Context, made: &Made<'_>) -> String {
    let found = made.found;
    let verb = if made.dry_run { "would become" } else { "is" };
    let mut text = format!("{} {verb} the agent {}, a child of {}\n", context.shown(made.child), made.id, made.parent_id);
    let (links, dirs) = (made.count(|what| matches!(what, What::Link(_))), made.count(|what| matches!(what, What::Dir(_))));
    text.push_str(&format!(
        "  + {}, {}, {}\n",
        shown::count(made.files(), "file", "files"),
        shown::count(links, "link", "links"),
        shown::count(dirs, "directory", "directories")
    ));
    for rel in made.edited() {
        text.push_str(&format!("  ~ {}\n", shown::path(rel)));
    }
    for left in &found.left_out {
        text.push_str(&format!("  - {}: {}\n", shown::path(&left.rel), left.why));
    }
    for note in &found.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    text.push_str(&format!("{}\n", found.loadout));
    text
}

fn object(made: &Made<'_>) -> Value {
    let found = made.found;
    json!({
        "schema": 1, "dir": made.child.to_string_lossy(), "id": made.id, "parent": found.parent.to_string_lossy(), "parent_id": made.parent_id,
        "named": found.named, "dry_run": made.dry_run, "loadout": found.loadout,
        "files": made.files(), "links": made.count(|what| matches!(what, What::Link(_))), "dirs": made.count(|what| matches!(what, What::Dir(_))),
        "changed": made.edited().map(|rel| made.child.join(rel).to_string_lossy().into_owned()).collect::<Vec<_>>(),
        "left_out": found.left_out.iter().map(|left| json!({
            "path": found.parent.join(&left.rel).to_string_lossy(), "why": left.why,
        })).collect::<Vec<_>>(),
        "notes": found.notes,
    })
}
