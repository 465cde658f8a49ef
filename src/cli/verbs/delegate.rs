//! `loci delegate`: asks an owner for a change without having tried it.

mod branch;
mod wait;

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde_json::json;

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::{Answer, Outcome, grant, near};
use crate::custody::act::{Act, ActKind};
use crate::custody::asker::{self, Asker};
use crate::custody::delegation::{self, Attempt, Change, Read};
use crate::custody::grants;
use crate::custody::outbox::{self, Drained};
use crate::custody::person::Person;
use crate::custody::{self, Verdict, Who};
use crate::hooks::tools;
use crate::sys::{disk, shown, time};
use crate::text::name::AgentId;
use crate::tree::worktree;

/// The largest patch.
const MAX_PATCH: u64 = 4 << 20;

/// Ask an owner for a change, with what you read and what you want
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  loci delegate billing --reads services/billing/tax.rs:10-40 --reads docs/tax.md --idea 'Round once, at the end'\n  loci delegate billing --reads docs/tax.md --idea 'As the tests there say' --from-branch round-once\n  loci delegate billing --reads docs/tax.md --idea 'Round once' --wait --timeout 30m"
)]
pub struct Args {
    /// The owner
    owner: String,
    /// What you read, as PATH or PATH:FIRST-LAST; once for each
    #[arg(long, required = true, value_name = "PATH")]
    reads: Vec<PathBuf>,
    /// What should be different, and why
    #[arg(long, required = true, value_name = "TEXT")]
    idea: String,
    /// What it is about, once for each (default: the files of the change, else what you read of the owner's)
    #[arg(long, value_name = "PATH")]
    target: Vec<PathBuf>,
    /// A change as a patch; its paths count from here
    #[arg(long, value_name = "FILE", conflicts_with = "from_branch")]
    patch: Option<PathBuf>,
    /// A change as a branch of git: what it changes of the owner's since it left HEAD
    #[arg(long, value_name = "BRANCH")]
    from_branch: Option<String>,
    /// Then print what becomes of it, until it is answered: exit 0 with an answer, 1 with a no
    #[arg(long, conflicts_with = "dry_run")]
    wait: bool,
    /// How long to wait at most: a number and s, m, h or d
    #[arg(long, value_name = "TIME", requires = "wait", default_value = "10m", value_parser = grants::seconds)]
    timeout: i64,
    /// Say what would be handed over, and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// Whoever asks by a verb: the agent here, else a person.
///
/// # Errors
/// Where the environment names something that can't be true.
pub(super) fn sender(context: &Context) -> Result<Asker, Failure> {
    let (asker, _) = asker::here(&context.env, &context.cwd)?;
    if asker.agent.is_none() && grant::person(context) == Person::Yes {
        return Ok(Asker { agent: Some(AgentId::human()), body: None });
    }
    Ok(asker)
}

/// Runs it.
///
/// # Errors
/// Where what is asked for is not the owner's, or it can't be delivered.
pub fn run(context: &Context, args: Args) -> Outcome {
    let owner = AgentId::new(&args.owner)?;
    if args.idea.trim().is_empty() {
        return Err(Failure::new("usage", "failed to delegate: the idea is empty")
            .hint(format!("loci delegate {owner} --reads PATH --idea 'what should be different, and why'")));
    }
    let asker = sender(context)?;
    let surroundings = grant::surroundings(context)?;
    if !args.dry_run {
        drain(context, &asker)?;
    }
    let reads = args.reads.iter().map(|text| read(context, text)).collect::<Result<Vec<Read>, Failure>>()?;
    // Of a copy in a separate worktree, what it is the copy of is meant: that is what the owner keeps.
    let write = |path: &Path| Act { kind: ActKind::Write, path: worktree::shared(path), follow: true, below: false };
    let theirs = |act: &Act| {
        let ruling = custody::rule(std::slice::from_ref(act), &asker, &surroundings);
        ruling.verdict == Verdict::Refuse
            && ruling.acts.iter().all(|act| act.owner.as_ref().is_some_and(|known| known.who == Who::Agent(owner.clone())))
    };
    let itself = || asker.agent.as_ref() == Some(&owner);
    let mut acts: Vec<Act> = args.target.iter().map(|path| write(&context.absolute(path))).collect();
    let mut change = Change::None;
    if let Some(file) = &args.patch {
        let path = context.absolute(file);
        let data = disk::read_bounded(&path, MAX_PATCH)?
            .and_then(|data| String::from_utf8(data).ok())
            .ok_or_else(|| Failure::new("patch", "failed to read the patch: it is larger than 4 MiB or no text").at(&path, None))?;
        let words: &[&str] = &[];
        let intent = tools::read_call("apply_patch", &json!({ "input": data }), &context.cwd, context.env.user_home().as_deref(), words);
        let named: Vec<Act> = intent.acts.into_iter().filter(|act| act.kind != ActKind::Run).collect();
        if named.is_empty() {
            return Err(Failure::new("patch", "failed to read the patch: it names no file")
                .at(&path, None)
                .hint(format!("git apply --stat {}", near::word(file))));
        }
        acts.extend(named);
        change = Change::Patch(data);
    } else if let Some(name) = &args.from_branch {
        let found = branch::files(context, name)?;
        for left in &found.left {
            context.say(&format!("note: left out: {left}"));
        }
        let (ours, others): (Vec<_>, Vec<_>) = found.files.into_iter().partition(|file| theirs(&write(&file.path)));
        if !others.is_empty() {
            context.say(&format!("note: left out, not {owner}'s: {} of the branch", shown::count(others.len(), "file", "files")));
        }
        if ours.is_empty() && itself() {
            return Err(to_itself(context, &asker, &owner));
        }
        if ours.is_empty() {
            return Err(Failure::new("branch", format!("failed to delegate: `{}` changes nothing of {owner}'s", shown::text(name)))
                .hint(format!("loci check --diff HEAD..{}", near::word(Path::new(name)))));
        }
        acts.extend(ours.iter().map(|file| write(&file.path)));
        change = Change::Files(ours);
    } else if acts.is_empty() {
        acts.extend(reads.iter().map(|read| write(&read.path)).filter(|act| theirs(act)));
        if acts.is_empty() && itself() {
            return Err(to_itself(context, &asker, &owner));
        }
        if acts.is_empty() {
            let known = near::agents(context);
            let meant = if known.iter().any(|one| *one == owner.as_str()) {
                String::new()
            } else {
                near::meant(owner.as_str(), known.iter().map(String::as_str))
            };
            let what = format!("failed to tell what it is about: nothing of what you read is {owner}'s{meant}");
            return Err(Failure::new("target", what).hint(format!("loci delegate {owner} --target PATH --reads PATH --idea TEXT")));
        }
    }
    if let Some(other) = acts.iter().find(|act| !theirs(act)) {
        if itself() {
            return Err(to_itself(context, &asker, &owner));
        }
        context.say(&format!("{} is not {owner}'s; see: loci check {}", context.shown(&other.path), context.shown(&other.path)));
        return Ok(Answer::No);
    }
    let ruling = custody::rule(&acts, &asker, &surroundings);
    let targets: Vec<String> = ruling.acts.iter().map(|act| context.shown(act.path())).collect();
    if args.dry_run {
        context.print(
            || format!("would be handed over to {owner}: {}\n", targets.join(", ")),
            || json!({ "schema": 1, "done": false, "to": owner, "targets": ruling.acts.iter().map(|act| act.path().to_string_lossy()).collect::<Vec<_>>() }),
        )?;
        return Ok(Answer::Yes);
    }
    let attempt = Attempt {
        asker: &asker,
        harness: "loci",
        session: None,
        sub_agent: None,
        tool: "delegate",
        change,
        ruling: &ruling,
        reads,
        at: time::now(),
    };
    let mut sent = Vec::new();
    for delivery in delegation::ask(&attempt, &args.idea, &surroundings) {
        let filed = delivery.outcome.map_err(|why| Failure::new("delivery", format!("failed to hand it over to {owner}: {why}")))?;
        sent.push((filed, delivery.carries));
    }
    if args.wait && context.flags.json {
        // Every line is an event then, the first ones included.
        return wait::run(context, &owner, sent.iter().map(|(filed, _)| filed), args.timeout);
    }
    context.print(
        || {
            sent.iter()
                .map(|(filed, carries)| {
                    if filed.parked {
                        return format!(
                            "{} waits in {} until it can be delivered to {owner} from outside: {}\n",
                            filed.id,
                            context.shown(&filed.inbox),
                            targets.join(", ")
                        );
                    }
                    let again = if filed.again { format!("the same is filed already, {}", filed.state.word()) } else { format!("with {carries}") };
                    format!("{} handed over to {owner} ({again}): {}\n", filed.id, targets.join(", "))
                })
                .collect()
        },
        || {
            let one = |filed: &delegation::Filed| json!({ "id": filed.id, "inbox": filed.inbox.to_string_lossy(), "again": filed.again, "parked": filed.parked, "state": filed.state.word() });
            json!({ "schema": 1, "done": true, "to": owner, "from": asker.name(), "messages": sent.iter().map(|(filed, _)| one(filed)).collect::<Vec<_>>(),
                "targets": ruling.acts.iter().map(|act| act.path().to_string_lossy()).collect::<Vec<_>>() })
        },
    )?;
    for (filed, _) in sent.iter().filter(|(filed, _)| filed.again && filed.state.is_closed()) {
        context.say(&format!(
            "note: {owner} answered {} already, and is not told of it again; what is asked in other words is asked anew",
            filed.id
        ));
    }
    if args.wait {
        return wait::run(context, &owner, sent.iter().map(|(filed, _)| filed), args.timeout);
    }
    Ok(Answer::Yes)
}

/// Who asks here is the owner: what is its own, nobody hands over to it.
fn to_itself(context: &Context, asker: &Asker, owner: &AgentId) -> Failure {
    let what = format!("failed to delegate: whoever asks from here is {owner}, and hands nothing over to {owner}");
    let body = asker.body.as_deref().filter(|body| context.cwd.starts_with(body));
    match body.and_then(Path::parent) {
        Some(out) if grant::person(context) == Person::Yes => {
            Failure::new("asker", what).at(body.unwrap_or(out), None).hint(format!("cd {}   # and from there", near::word(out)))
        }
        _ => Failure::new("asker", what).hint(format!("loci inbox {owner}")),
    }
}

/// Delivers what the sender could not deliver from where it was, and says so.
///
/// # Errors
/// Where the settings can't be used.
pub(super) fn drain(context: &Context, asker: &Asker) -> Result<(), Failure> {
    let drained = outbox::drain(asker, &grant::surroundings(context)?);
    drained.iter().filter_map(words).for_each(|line| context.say(&line));
    Ok(())
}

/// What became of a message of the outbox, in a line; `None` where it waits on.
pub(super) fn words(drained: &Drained) -> Option<String> {
    match drained {
        Drained::Delivered(delivery) => {
            let filed = delivery.outcome.as_ref().ok()?;
            Some(format!("loci: delivered to {} from the outbox: {}", delivery.owner.who.name(), filed.id))
        }
        Drained::Answered { id, to } => Some(format!("loci: answer delivered to {to} from the outbox: {id}")),
        Drained::Dropped(why) => Some(format!("loci: a message in the outbox was dropped: {why}")),
        // In a jail it can't be delivered either.
        Drained::Waits(_) => None,
    }
}

/// `PATH` or `PATH:FIRST-LAST`. A file whose name looks like a range is taken for the file.
fn read(context: &Context, text: &Path) -> Result<Read, Failure> {
    let path = context.absolute(text);
    if disk::look_through(&path)?.is_some() {
        return Ok(Read { path, lines: None });
    }
    let ranged = text.to_str().and_then(|text| {
        let (file, range) = text.rsplit_once(':')?;
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let lines = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
        (lines.0 >= 1 && lines.0 <= lines.1).then(|| (context.absolute(Path::new(file)), lines))
    });
    match ranged {
        Some((path, lines)) if disk::look_through(&path)?.is_some() => Ok(Read { path, lines: Some(lines) }),
        _ => Err(Failure::new("reads", "failed to delegate: what you read is not there")
            .at(&path, None)
            .hint("loci delegate OWNER --reads PATH:FIRST-LAST --reads PATH --idea TEXT")),
    }
}
