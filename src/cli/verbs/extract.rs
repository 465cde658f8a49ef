//! `loci extract`: files move down into a directory of their own, and links stay.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde_json::{Value, json};

use super::own;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::near::word;
use crate::cli::{Answer, Outcome, grant};
use crate::custody::act::{Act, ActKind};
use crate::custody::extract::{self, Child, Item};
use crate::custody::person::Person;
use crate::custody::{self, ActRuling, Why, asker, own as owning};
use crate::sys::plan::{Plan, Step};
use crate::sys::{journal, shown, time};
use crate::text::digest;
use crate::text::name::AgentId;
use crate::tree::real;

/// Move files down into a directory of their own, and leave links
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "What reads them goes on reading through the links; a write through a link is a write in the new\ndirectory, and its owner's. With --as the directory gets that owner.\n\nExamples:\n  loci extract tax.rs rates.toml --into billing --as billing --dry-run\n  loci extract src/tax.rs --into src/billing --as billing"
)]
pub struct Args {
    /// Files and directories
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The directory that they move into, below the one that they stand in; made where it is missing
    #[arg(long, value_name = "CHILD")]
    into: PathBuf,
    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// Runs it.
///
/// # Errors
/// Where something is in the way; then nothing was moved.
pub fn run(context: &Context, args: Args) -> Outcome {
    let owner = context.flags.asker.as_deref().map(AgentId::new).transpose()?;
    let dir = real::real(&context.absolute(&args.into), true);
    if let Some(trouble) = dir.trouble {
        return Err(Failure::new("path", format!("failed to extract into {}: {trouble}", shown::path(&args.into))).at(&dir.path, None));
    }
    let dir = dir.path;
    // An interrupted run is settled before anything is looked at: half of the things are elsewhere.
    let key =
        format!("extract-{}", digest::sha256(std::os::unix::ffi::OsStrExt::as_bytes(dir.as_os_str())).chars().take(16).collect::<String>());
    let held = if args.dry_run {
        if let Some(entry) = journal::open(&context.state, &key)? {
            context.say(&format!("note: an interrupted `{}` is settled first", shown::text(&entry.what)));
        }
        None
    } else {
        let (held, recovered) = journal::begin(&context.state, &key, "loci extract")?;
        if let Some(recovered) = recovered {
            context.say(&format!("note: {recovered}"));
        }
        Some(held)
    };
    let child = extract::child(&dir)?;
    let items = items(context, &args.paths, &child)?;
    extract::check(&items, &child).map_err(|unfit| Failure::new("conflict", format!("failed to {unfit}")).at(&unfit.path, None))?;
    if let Some(refused) = refused(context, &items, &child)? {
        return not_yours(context, &refused);
    }
    let Some(plan) = plan(context, &items, &child, owner.as_ref(), args.dry_run)? else {
        return Err(Failure::new("owned", format!("failed to extract into {}: it has another owner", shown::path(&dir)))
            .at(&dir.join(".loci/owner.md"), None)
            .hint(format!("loci where {}", word(&dir))));
    };
    if plan.is_empty() {
        context.print(
            || format!("it is moved into {} already\n", context.shown(&dir)),
            || object(&items, &plan, &dir, owner.as_ref(), true),
        )?;
        return Ok(Answer::Yes);
    }
    if let Some(held) = held {
        if owner.is_some()
            && let Some(answer) = grant::or_request(context, &dir.join(".loci/owner.md"), "loci extract")?
        {
            return Ok(answer);
        }
        held.apply(&plan)?;
    }
    let done = !args.dry_run;
    context.print(|| words(context, &items, &plan, &dir, owner.as_ref(), done), || object(&items, &plan, &dir, owner.as_ref(), done))?;
    Ok(Answer::Yes)
}

fn items(context: &Context, paths: &[PathBuf], child: &Child) -> Result<Vec<Item>, Failure> {
    let mut items = Vec::new();
    for path in paths {
        let absolute = context.absolute(path);
        let named = matches!(absolute.components().next_back(), Some(std::path::Component::Normal(_)));
        let found = real::real(&absolute, false);
        if let Some(trouble) = found.trouble.filter(|_| named) {
            return Err(Failure::new("path", format!("failed to extract {}: {trouble}", shown::path(path))).at(&found.path, None));
        }
        if !named {
            return Err(Failure::new("path", format!("failed to extract {}: it does not name a thing in a directory", shown::path(path))));
        }
        let item = extract::item(&found.path, child)?;
        items.push(item.map_err(|unfit| Failure::new("path", format!("failed to {unfit}")).at(&unfit.path, None))?);
    }
    Ok(items)
}

/// The first act that is not for whoever asks. A person may do what the owner could; nobody takes
/// machinery along, or hands out what belongs to somebody in between.
fn refused(context: &Context, items: &[Item], child: &Child) -> Result<Option<ActRuling>, Failure> {
    let act = |kind: ActKind, path: PathBuf| Act { kind, path, follow: false, below: kind == ActKind::Rename };
    let acts: Vec<Act> = items
        .iter()
        .filter(|item| !item.moved)
        .flat_map(|item| {
            [
                act(ActKind::Rename, item.path.clone()),
                act(ActKind::Link, item.path.clone()),
                act(ActKind::Create, child.dir.join(&item.name)),
            ]
        })
        .chain(child.missing.iter().map(|dir| act(ActKind::Create, dir.clone())))
        .collect();
    let (asker, _) = asker::here(&context.env, &context.cwd)?;
    let ruling = custody::rule(&acts, &asker, &grant::surroundings(context)?);
    let person = grant::person(context) == Person::Yes;
    let above = child.missing.first().and_then(|first| first.parent()).unwrap_or(&child.dir);
    let of_one = |act: &ActRuling| {
        let place = extract::owned_by(above);
        items.iter().all(|item| {
            let owner = extract::owned_by(&item.path);
            owner == place || (child.missing.is_empty() && owner == child.dir.parent().and_then(extract::owned_by))
        }) && !matches!(act.why, Why::Wall(_) | Why::Below(_) | Why::Broken(_))
    };
    Ok(ruling.refused().find(|act| !person || !of_one(act)).cloned())
}

fn not_yours(context: &Context, refused: &ActRuling) -> Outcome {
    let owner = refused.owner.as_ref().map_or("somebody", |owner| owner.who.name());
    let by = refused.decided_by.as_deref().map(|file| format!(" ({})", context.shown(file))).unwrap_or_default();
    let what = match &refused.why {
        Why::Below(dir) if dir == refused.path() => format!("it is {owner}'s"),
        Why::Below(dir) => format!("{} lies below it and is {owner}'s", context.shown(dir)),
        Why::Wall(what) => format!("it is {}", what.what()),
        _ => format!("it is {owner}'s"),
    };
    context.say(&format!("refused: {}: {what}{by}", context.shown(refused.path())));
    context.print(String::new, || {
        json!({
            "schema": 1, "done": false, "refused": refused.path().to_string_lossy(), "owner": owner,
            "decided_by": refused.decided_by.as_deref().map(Path::to_string_lossy), "why": refused.why.word(),
        })
    })?;
    Ok(Answer::No)
}

/// The whole plan; `None` where the directory is another one's already.
fn plan(context: &Context, items: &[Item], child: &Child, owner: Option<&AgentId>, dry_run: bool) -> Result<Option<Plan>, Failure> {
    let Some(owner) = owner else { return Ok(Some(extract::plan(items, child, None))) };
    let ground = if child.kind.is_some() { owning::ground(&child.dir)? } else { extract::bare_ground(&child.dir) };
    if let Some((data, _)) = &ground.owner_file {
        let there = crate::tree::card::parse_owner(&child.dir.join(".loci/owner.md"), data);
        let same = there.is_ok_and(|there| there.owner.value == *owner);
        return Ok(same.then(|| extract::plan(items, child, None)));
    }
    if ground.leftover && !dry_run {
        own::clear(&child.dir)?;
    }
    let body = own::body(context, owner, &child.dir, None)?;
    let body_text = body.as_deref().and_then(|body| owning::relative(&child.dir, body));
    let text = owning::text(owner, body_text.as_deref(), time::now(), None);
    if body.is_none() {
        context.say(&format!("note: no body of {owner} was found in or around here; messages wait in the directory itself"));
        context.say(&format!("hint: loci new agents/{owner}"));
    }
    Ok(Some(extract::plan(items, child, Some((&ground, &text)))))
}

fn words(context: &Context, items: &[Item], plan: &Plan, dir: &Path, owner: Option<&AgentId>, done: bool) -> String {
    if done {
        let owned = owner.map(|owner| format!(", which {owner} owns")).unwrap_or_default();
        return format!("moved {} into {}{owned}\n", crate::sys::shown::count(items.len(), "thing", "things"), context.shown(dir));
    }
    let line = |step: &Step| match step {
        Step::Rename { from, to } => format!("rename {} to {}\n", context.shown(from), context.shown(to)),
        Step::Link { path, target } => format!("link {} to {}\n", context.shown(path), shown::path(target)),
        step => format!("{} {}\n", step.verb(), context.shown(step.path())),
    };
    plan.steps.iter().map(line).collect()
}

fn object(items: &[Item], plan: &Plan, dir: &Path, owner: Option<&AgentId>, done: bool) -> Value {
    let steps: Vec<Value> = plan
        .steps
        .iter()
        .map(|step| {
            let to = match step {
                Step::Rename { to, .. } => Some(to.to_string_lossy()),
                Step::Link { target, .. } => Some(target.to_string_lossy()),
                _ => None,
            };
            json!({ "do": step.verb(), "path": step.path().to_string_lossy(), "to": to })
        })
        .collect();
    json!({
        "schema": 1, "done": done, "into": dir.to_string_lossy(), "owner": owner,
        "moved": items.iter().map(|item| json!({ "from": item.path.to_string_lossy(), "to": dir.join(&item.name).to_string_lossy() })).collect::<Vec<_>>(),
        "plan": steps,
    })
}
