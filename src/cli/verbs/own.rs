//! `loci own` and `loci disown`: who a directory belongs to.

mod mail;

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde_json::{Value, json};

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::near::{self, word};
use crate::cli::{Answer, Outcome, grant};
use crate::custody::find;
use crate::custody::own::{self, ASIDE, Ground};
use crate::sys::disk::{self, Kind};
use crate::sys::plan::{Plan, Step};
use crate::sys::{shown, time};
use crate::text::name::AgentId;
use crate::text::near::nearest;
use crate::tree::{card, climb, dotdirs, real};

/// Make an agent the owner of a directory
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Everybody else reads all of it; a write is refused and handed to the owner as work.\n\nExamples:\n  loci own services/billing --as billing\n  loci own . --as lead --note 'Ask before you touch the schema' --dry-run"
)]
pub struct OwnArgs {
    /// The directory
    dir: PathBuf,
    /// A note that goes along with each delegation
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// The owner's body (default: the one with this id in or around the directory)
    #[arg(long, value_name = "DIR")]
    body: Option<PathBuf>,
    /// Print what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Take the owner of a directory away
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  loci disown services/billing --dry-run")]
pub struct DisownArgs {
    /// The directory
    dir: PathBuf,
    /// Print what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
}

/// Makes an agent the owner.
///
/// # Errors
/// Where the directory has an owner already, or the file can't be written.
pub fn own(context: &Context, args: OwnArgs) -> Outcome {
    let Some(id) = &context.flags.asker else {
        let hint = format!("loci own {} --as AGENT", word(&args.dir));
        return Err(Failure::new("usage", "failed to own: --as names the agent that is to be the owner").hint(hint));
    };
    let owner = AgentId::new(id).map_err(|error| {
        let near = AgentId::nearest(id);
        let failure = Failure::from(error);
        near.map_or_else(
            || Failure::new("name", format!("`{id}` is no agent id")),
            |near| failure.hint(format!("loci own {} --as {near}", word(&args.dir))),
        )
    })?;
    let dir = directory(context, &args.dir).map_err(|failure| match disk::look_through(&context.absolute(&args.dir)) {
        Ok(None) => failure.hint(format!("mkdir -p {}", word(&args.dir))),
        Ok(Some(_)) => {
            let parent = args.dir.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            failure.hint(format!("loci own {} --as {owner}", word(parent)))
        }
        Err(_) => failure,
    })?;
    unless_inner(&dir, &args.dir)?;
    if [Some(context.home.clone()), context.env.user_home()].into_iter().flatten().any(|home| real::real(&home, true).path == dir) {
        let why = "it is the home, and what lies there is the human's, mail included";
        return Err(Failure::new("path", format!("failed to own {}: {why}", shown::path(&args.dir))));
    }
    let ground = own::ground(&dir)?;
    if let Some(answer) = already(context, &ground, &owner, &args)? {
        return Ok(answer);
    }
    let body = body(context, &owner, &dir, args.body.as_deref())?;
    let body_text = body.as_deref().and_then(|body| own::relative(&dir, body));
    let text = own::text(&owner, body_text.as_deref(), time::now(), args.note.as_deref());
    let plan = own::own(&ground, &text);
    if !args.dry_run {
        let command = format!("loci own {} --as {owner}", shown::path(&dir));
        if let Some(answer) = grant::or_request(context, &dir.join(".loci/owner.md"), &command)? {
            return Ok(answer);
        }
        let _lock = near::hold(context, "own", &dir)?;
        clear(&dir)?;
        plan.apply()?;
        disk::sync_dir(&dir.join(".loci"))?;
    }
    let waiting = mail::left_in(context, &dir);
    let facts = Said { owner: owner.as_str(), dir: &dir, body: body.as_deref(), plan: &plan, mail: &waiting, done: !args.dry_run };
    context.print(|| facts.words(context, &format!("{owner} owns {}", context.shown(&dir))), || facts.object())?;
    // In its own body lie its own messages.
    if !waiting.is_empty() && body.as_deref() != Some(&*dir) {
        let count = shown::count(waiting.len(), "message", "messages");
        context.say(&format!("note: {count} to an earlier owner of {} waited there: loci inbox {owner}", context.shown(&dir)));
    }
    if body.is_none() {
        let known: Vec<String> = near::agents(context).into_iter().filter(|one| one != owner.as_str()).collect();
        context.say(&format!(
            "note: there is no agent {owner} in or around {0}: until one is made, only a person may write in {0}, and messages wait there{1}",
            context.shown(&dir),
            near::meant(owner.as_str(), known.iter().map(String::as_str))
        ));
        match nearest(owner.as_str(), known.iter().map(String::as_str)) {
            Some(meant) if args.dry_run => context.say(&format!("hint: loci own {} --as {meant}", word(&args.dir))),
            Some(meant) => context.say(&format!("hint: loci disown {0} && loci own {0} --as {meant}", word(&args.dir))),
            None => context.say(&format!("hint: loci new agents/{owner}")),
        }
    }
    Ok(Answer::Yes)
}

/// Takes the owner away.
///
/// # Errors
/// Where the file can't be removed.
pub fn disown(context: &Context, args: DisownArgs) -> Outcome {
    let dir = directory(context, &args.dir)?;
    let ground = own::ground(&dir)?;
    let plan = own::disown(&ground);
    if plan.is_empty() {
        if ground.leftover && !args.dry_run {
            clear(&dir)?;
        }
        context.print(
            || format!("nobody owns {}\n", context.shown(&dir)),
            || json!({ "schema": 1, "done": false, "owner": Value::Null, "directory": dir.to_string_lossy(), "plan": [] }),
        )?;
        return Ok(Answer::No);
    }
    let owner = ground.owner_file.as_ref().and_then(|(data, _)| card::parse_owner(&dir.join(".loci/owner.md"), data).ok());
    let name = owner.as_ref().map_or("somebody", |owner| owner.owner.value.as_str());
    let pinned = owner.as_ref().and_then(|owner| owner.body.as_ref()).map(|body| dir.join(body));
    let waiting = mail::about(context, owner.as_ref().map(|owner| &owner.owner.value), pinned.as_deref(), &dir)?;
    if !args.dry_run {
        let command = format!("loci disown {}", shown::path(&dir));
        if let Some(answer) = grant::or_request(context, &dir.join(".loci/owner.md"), &command)? {
            return Ok(answer);
        }
        let _lock = near::hold(context, "own", &dir)?;
        clear(&dir)?;
        plan.apply()?;
        disk::sync_dir(&dir)?;
    }
    let facts = Said { owner: name, dir: &dir, body: None, plan: &plan, mail: &waiting, done: !args.dry_run };
    context.print(|| facts.words(context, &format!("nobody owns {} any more", context.shown(&dir))), || facts.object())?;
    mail::words(context, &waiting, name, &dir, !args.dry_run).iter().for_each(|line| context.say(line));
    Ok(Answer::Yes)
}

/// What both verbs tell.
struct Said<'a> {
    owner: &'a str,
    dir: &'a Path,
    body: Option<&'a Path>,
    plan: &'a Plan,
    mail: &'a [mail::Open],
    done: bool,
}

impl Said<'_> {
    fn words(&self, context: &Context, done: &str) -> String {
        if self.done {
            return format!("{done}\n");
        }
        // That a `.loci` comes and goes by a rename aside is the way, not what people ask for.
        let file = context.shown(&self.dir.join(".loci/owner.md"));
        let verbs = self.plan.steps.iter().filter(|step| matches!(step, Step::Write { .. } | Step::Remove { .. }));
        verbs.map(|step| format!("{} {file}\n", step.verb())).collect()
    }

    fn object(&self) -> Value {
        let steps: Vec<Value> = self
            .plan
            .steps
            .iter()
            .map(|step| {
                let to = if let Step::Rename { to, .. } = step { Some(to.to_string_lossy()) } else { None };
                json!({ "do": step.verb(), "path": step.path().to_string_lossy(), "to": to })
            })
            .collect();
        json!({
            "schema": 1, "done": self.done, "owner": self.owner, "directory": self.dir.to_string_lossy(),
            "file": self.dir.join(".loci/owner.md").to_string_lossy(),
            "body": self.body.map(Path::to_string_lossy), "plan": steps,
            "open_mail": self.mail.iter().map(mail::Open::object).collect::<Vec<_>>(),
        })
    }
}

/// What lies in a `.git` is nobody's, and what lies in a dotdir of loci belongs to the place around it: an owner file
/// in there would take from others what is theirs, and no walk shows it. A body in the registry is a place of its own.
fn unless_inner(dir: &Path, named: &Path) -> Result<(), Failure> {
    const INNER: [&str; 5] = [".git", dotdirs::IDENTITY, dotdirs::RUNTIME, dotdirs::RENDER, dotdirs::GRAPH];
    let is_inner = |dir: &&Path| dir.file_name().is_some_and(|name| INNER.iter().any(|inner| name == *inner));
    let Some(inner) = climb::up(dir).find(is_inner) else { return Ok(()) };
    if find::body_around(dir).is_some_and(|(body, _)| body.starts_with(inner)) {
        return Ok(());
    }
    let around = inner.parent().unwrap_or(inner);
    let why = if inner.ends_with(".git") {
        "it is git's own, and that is nobody's".to_owned()
    } else {
        format!("it is a part of what is said about {}", shown::path(around))
    };
    Err(Failure::new("path", format!("failed to own {}: {why}", shown::path(named))).hint(format!("loci where {}", word(around))))
}

fn directory(context: &Context, dir: &Path) -> Result<PathBuf, Failure> {
    let path = context.absolute(dir);
    match disk::look_through(&path)? {
        Some(meta) if meta.kind == Kind::Dir => Ok(disk::canonical(&path)?),
        Some(_) => Err(Failure::new("path", format!("failed to use {}: it is not a directory", shown::path(dir))).at(&path, None)),
        None => Err(Failure::new("path", format!("failed to use {}: it is not there", shown::path(dir))).at(&path, None)),
    }
}

/// Whether the directory has an owner already: the same one is an answer, another one is in the way.
fn already(context: &Context, ground: &Ground, owner: &AgentId, args: &OwnArgs) -> Result<Option<Answer>, Failure> {
    let Some((data, _)) = &ground.owner_file else { return Ok(None) };
    let file = ground.dir.join(".loci/owner.md");
    match card::parse_owner(&file, data) {
        Ok(there) if there.owner.value == *owner => {
            if let Some(answer) = correct(context, ground, owner, &there, args)? {
                return Ok(Some(answer));
            }
            context.print(
                || format!("{owner} owns {} already\n", context.shown(&ground.dir)),
                || Said { owner: owner.as_str(), dir: &ground.dir, body: None, plan: &Plan::default(), mail: &[], done: true }.object(),
            )?;
            Ok(Some(Answer::Yes))
        }
        Ok(there) => Err(Failure::new("owned", format!("failed to own {}: {} does", shown::path(&args.dir), there.owner.value))
            .at(&file, there.owner.line)
            .hint(format!("loci disown {}", word(&args.dir)))),
        Err(error) => Err(Failure::new("owner-file", format!("failed to {error}"))
            .at(&error.path, error.line)
            .hint(format!("loci disown {}", word(&args.dir)))),
    }
}

/// Corrects an owner file of the same owner: the pinned body where it is named anew or leads to where
/// the owner does not live, the note where one is given. `None`: there is nothing to correct.
fn correct(
    context: &Context,
    ground: &Ground,
    owner: &AgentId,
    there: &card::OwnerFile,
    args: &OwnArgs,
) -> Result<Option<Answer>, Failure> {
    let Some((data, mode)) = &ground.owner_file else { return Ok(None) };
    let astray = there.body.as_ref().is_some_and(|body| !find::lives(owner, &ground.dir.join(body)));
    let found = if astray || args.body.is_some() { body(context, owner, &ground.dir, args.body.as_deref())? } else { None };
    if astray && found.is_none() {
        let what = format!("failed to correct the owner file: the body that it pins is gone, and no other {owner} was found");
        return Err(Failure::new("body", what)
            .at(&there.path, there.body_line)
            .hint(format!("loci own {} --as {owner} --body DIR", word(&args.dir))));
    }
    let pinned =
        found.as_deref().and_then(|body| own::relative(&ground.dir, body)).filter(|text| there.body.as_deref() != Some(Path::new(text)));
    let note = args.note.as_deref().filter(|note| !note.trim().is_empty() && note.trim() != there.note.trim());
    if pinned.is_none() && note.is_none() {
        return Ok(None);
    }
    let Some(text) = own::corrected(&there.path, data, pinned.as_deref(), note) else {
        return Err(Failure::new("owner-file", "failed to correct the owner file: it is written in a way that only a person changes")
            .at(&there.path, there.body_line)
            .hint(format!("{} {}", "${EDITOR:-vi}", word(&there.path))));
    };
    let plan = Plan { steps: vec![Step::Write { path: there.path.clone(), data: text, mode: Some(*mode), was: Some(data.clone()) }] };
    if !args.dry_run {
        let mut command = format!("loci own {} --as {owner}", word(&ground.dir));
        if let Some(body) = &found {
            command += &format!(" --body {}", word(body));
        }
        if let Some(note) = note {
            command += &format!(" --note {}", word(Path::new(note)));
        }
        if let Some(answer) = grant::or_request(context, &there.path, &command)? {
            return Ok(Some(answer));
        }
        let _lock = near::hold(context, "own", &ground.dir)?;
        plan.apply()?;
    }
    let what = match (&pinned, note) {
        (Some(body), None) => format!("its body is {}", shown::text(body)),
        (None, _) => "with another note".to_owned(),
        (Some(body), Some(_)) => format!("its body is {}, with another note", shown::text(body)),
    };
    let facts = Said { owner: owner.as_str(), dir: &ground.dir, body: found.as_deref(), plan: &plan, mail: &[], done: !args.dry_run };
    context.print(|| facts.words(context, &format!("{owner} owns {}: {what}", context.shown(&ground.dir))), || facts.object())?;
    Ok(Some(Answer::Yes))
}

/// The owner's body: as named, else the one with its id in, around or below the directory.
pub(super) fn body(context: &Context, owner: &AgentId, dir: &Path, named: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    if let Some(named) = named {
        let body = directory(context, named)?;
        return match find::identity(&body) {
            Some(Ok(found)) if found.id == *owner => Ok(Some(body)),
            Some(Ok(found)) => {
                Err(Failure::new("body", format!("failed to take {} for the body of {owner}: it is {}'s", shown::path(named), found.id))
                    .at(&found.file, None))
            }
            Some(Err(error)) => Err(Failure::new("body", format!("failed to {error}")).at(&error.path, error.line)),
            None => {
                Err(Failure::new("body", format!("failed to take {} for the body of {owner}: no agent lives there", shown::path(named)))
                    .hint(format!("loci new {} --id {owner} --into", word(named))))
            }
        };
    }
    if let Some(body) = find::body_of(owner, dir) {
        return Ok(Some(body));
    }
    let places = near::places(context, dir);
    let bodies: Vec<PathBuf> = places.into_iter().filter(|place| find::lives(owner, place)).collect();
    match bodies.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        [first, second, ..] => Err(Failure::new(
            "body",
            format!("failed to find the body of {owner}: there are two, {} and {}", shown::path(first), shown::path(second)),
        )
        .hint(format!("loci own {} --as {owner} --body {}", word(dir), word(first)))),
    }
}

/// Takes away what a run that was killed left aside.
pub(super) fn clear(dir: &Path) -> Result<(), Failure> {
    let aside = dir.join(ASIDE);
    match disk::look(&aside)? {
        Some(meta) if meta.kind == Kind::Dir => Ok(disk::remove_tree(&aside)?),
        _ => Ok(()),
    }
}
