//! What is said at the end of a command, and what is handed over.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Ready;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::grant;
use crate::cli::near::word;
use crate::custody::act::{Act, ActKind};
use crate::custody::asker::Asker;
use crate::custody::changes::FileChange;
use crate::custody::delegation::{self, Attempt, Change};
use crate::custody::jail::harvest::{self, Harvest, Layer};
use crate::custody::jail::hear::{Hearer, Refused};
use crate::custody::person::Person;
use crate::custody::wall::Walled;
use crate::custody::{self, Verdict, Why, trail};
use crate::sys::jail::{Op, Outcome};
use crate::sys::{disk, shown, time};
use crate::text::name::AgentId;

/// What an agent is told to do about it.
const HOW_ON: &str = "loci: the owner derives its own version and answers; say what you want with `loci handover ID \"…\"`. Don't try by another way: go on with what does not depend on it";
/// How many refused paths are listed.
const MAX_LISTED: usize = 40;

/// Says what was refused and hands it over; says what goes on in the background, and what was not heard.
pub(super) fn report(
    context: &Context,
    ready: &Ready,
    command: &[OsString],
    hearer: Hearer,
    outcome: &Outcome,
) -> Result<Vec<String>, Failure> {
    if let Some(errno) = outcome.unheard {
        context.say(&format!("loci: note: refused writes were refused, and can't be listed ({})", shown::errno(errno)));
    }
    let (refused, more) = hearer.end();
    let act = |path: &PathBuf, op: Op| Act { kind: kind(op), path: path.clone(), follow: false, below: false };
    let acts: Vec<Act> = refused.iter().map(|(path, one)| act(path, one.op)).collect();
    let surroundings = grant::surroundings(context)?;
    let ruling = custody::rule(&acts, &ready.asker, &surroundings);
    for ((path, one), act) in refused.iter().zip(&ruling.acts).take(MAX_LISTED) {
        let whose = match (&act.owner, act.verdict) {
            (Some(owner), Verdict::Refuse) => format!("{}'s", owner.who.name()),
            _ if one.pinned => "held in its place for what lies below".to_owned(),
            _ => "it is left to everybody, but was not there when the command began: make it once outside".to_owned(),
        };
        let by = shown::text(&one.program);
        context.say(&format!("loci: refused: {} {} ({whose}), by {by}", one.op.word(), context.shown(path)));
    }
    let unlisted = refused.len().saturating_sub(MAX_LISTED) + more;
    if unlisted > 0 {
        context.say(&format!("loci: refused: {unlisted} more"));
    }
    for path in made(&ready.found.absent) {
        context.say(&format!("loci: note: {} was made meanwhile, and only a person makes it: look at it", context.shown(path)));
    }
    let mut filed = Vec::new();
    if ruling.verdict == Verdict::Refuse {
        let change = if ready.embodied {
            Change::Command(tried_by(&refused))
        } else if let Some(call) = &ready.call {
            Change::Command(call.command.clone())
        } else {
            Change::Command(command.iter().map(|one| word(Path::new(one))).collect::<Vec<_>>().join(" "))
        };
        let tried =
            |(path, one): (&PathBuf, &Refused)| format!("{} {}, by {}", one.op.word(), shown::path(path), shown::text(&one.program));
        let idea = ready.embodied.then(|| {
            let tried: Vec<String> = refused.iter().map(tried).take(MAX_LISTED).collect();
            format!("Programs that the session started were refused: {}.", tried.join("; "))
        });
        filed = deliver(context, ready, change, &not_its_own(ready, &ruling), idea.as_deref())?.ids;
        if !filed.is_empty() && (ready.call.is_some() || ready.asker.body.is_some()) {
            context.say(HOW_ON);
        }
    }
    if !outcome.survivors.is_empty() {
        let named: Vec<String> = outcome.survivors.iter().take(8).map(|(pid, name)| format!("{} ({pid})", shown::text(name))).collect();
        let rest = outcome.survivors.len().saturating_sub(8);
        let and = if rest == 0 { String::new() } else { format!(" and {rest} more") };
        context.say(&format!("loci: still running, and still held: {}{and}", named.join(", ")));
    }
    Ok(filed)
}

/// The command lines of the programs of a session that were refused, each once: what they would have done stands in
/// none of them alone, and is the most that is known without a layer.
fn tried_by(refused: &BTreeMap<PathBuf, Refused>) -> String {
    let line = |one: &Refused| one.words.iter().map(|one| word(Path::new(one))).collect::<Vec<_>>().join(" ");
    let mut lines: Vec<String> = Vec::new();
    for line in refused.values().map(line).filter(|line| !line.is_empty()) {
        if lines.len() < MAX_LISTED && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.join("\n")
}

fn kind(op: Op) -> ActKind {
    match op {
        Op::Write => ActKind::Write,
        Op::Touch | Op::Create | Op::MakeDir => ActKind::Create,
        Op::Remove => ActKind::Remove,
        Op::Rename => ActKind::Rename,
        Op::Mode => ActKind::Mode,
    }
}

/// What of the wall was not there before and is now.
fn made(absent: &[PathBuf]) -> impl Iterator<Item = &Path> {
    // Mail makes the folder that it lies in.
    let absent: BTreeSet<&Path> = absent.iter().map(PathBuf::as_path).filter(|path| !path.ends_with(".loci/memory")).collect();
    absent.into_iter().filter(|path| matches!(disk::look(path), Ok(Some(_))))
}

/// Who the mail is from: a person who is in no body is the human.
pub(super) fn sender(context: &Context, asker: &Asker) -> Result<Asker, Failure> {
    if asker.agent.is_none() && grant::person(context) == Person::Yes {
        return Ok(Asker { agent: Some(AgentId::human()), body: None });
    }
    Ok(asker.clone())
}

/// Says what landed in the layers, and hands it to the owners as patches. Nothing of it is applied.
pub(super) fn captured(context: &Context, ready: &Ready, base: &Path, layers: &[Layer], ended: bool) -> Result<Vec<String>, Failure> {
    let mut harvest = Harvest::default();
    layers.iter().for_each(|layer| harvest::harvest(layer, &mut harvest));
    let act = |file: &FileChange| {
        let kind = match (&file.was, &file.will) {
            (_, None) => ActKind::Remove,
            (None, Some(_)) => ActKind::Create,
            (Some(_), Some(_)) => ActKind::Write,
        };
        Act { kind, path: file.path.clone(), follow: false, below: false }
    };
    let acts: Vec<Act> = harvest.files.iter().map(act).collect();
    let ruling = custody::rule(&acts, &ready.asker, &grant::surroundings(context)?);
    for act in ruling.acts.iter().take(MAX_LISTED) {
        let whose = act
            .owner
            .as_ref()
            .filter(|_| act.verdict == Verdict::Refuse)
            .map_or("everybody".to_owned(), |owner| owner.who.name().to_owned());
        context.say(&format!("loci: captured, NOT applied: {} {} ({whose}'s)", act.act.kind.word(), context.shown(act.path())));
    }
    if ruling.acts.len() > MAX_LISTED {
        context.say(&format!("loci: captured, NOT applied: {} more", ruling.acts.len() - MAX_LISTED));
    }
    for left in harvest.left_out().take(MAX_LISTED) {
        context.say(&format!("loci: not captured: {left}"));
    }
    let told = if ruling.verdict == Verdict::Refuse {
        deliver(context, ready, Change::Captured(harvest.files.clone()), &ruling, None)?
    } else {
        Told { ids: Vec::new(), all: true }
    };
    if !told.ids.is_empty() && (ready.call.is_some() || ready.asker.body.is_some()) {
        context.say(HOW_ON);
    }
    // What nobody was handed is not thrown away.
    let unfiled = ruling.acts.iter().any(|act| act.verdict != Verdict::Refuse) || !harvest.left.is_empty();
    if told.all && !unfiled && ended {
        harvest::remove(base)?;
    } else {
        let kept = harvest::leave(base, ended)?;
        context.say(&format!("loci: note: what was not handed over lies in {}", shown::path(&kept)));
    }
    Ok(told.ids)
}

/// What came of a hand-over.
struct Told {
    /// The ids of the messages.
    ids: Vec<String>,
    /// Whether every owner has one.
    all: bool,
}

/// A harness keeps house in its own settings: in a whole session that is no wish of the agent's, and nobody
/// is asked for it.
fn not_its_own(ready: &Ready, ruling: &custody::Ruling) -> custody::Ruling {
    let mut ruling = ruling.clone();
    ruling.acts.retain(|act| !(ready.embodied && matches!(act.why, Why::Wall(Walled::Harness(_)))));
    ruling
}

/// Hands a change to the owners of what was refused.
fn deliver(context: &Context, ready: &Ready, change: Change, ruling: &custody::Ruling, idea: Option<&str>) -> Result<Told, Failure> {
    let sender = sender(context, &ready.asker)?;
    let call = ready.call.as_ref();
    let session = call.map(|call| call.session.as_str());
    let attempt = Attempt {
        asker: &sender,
        harness: call.map_or("loci", |call| &call.harness),
        session,
        sub_agent: call.and_then(|call| call.sub_agent.as_deref()),
        tool: call.map_or(if ready.embodied { "run" } else { "exec" }, |call| &call.tool),
        change,
        ruling,
        reads: session.map(|session| trail::reads(&context.state, session)).unwrap_or_default(),
        at: time::now(),
    };
    let mut told = Told { ids: Vec::new(), all: true };
    let surroundings = grant::surroundings(context)?;
    let deliveries = match idea {
        Some(idea) => delegation::ask(&attempt, idea, &surroundings),
        None => delegation::deliver(&attempt, &surroundings),
    };
    for delivery in deliveries {
        let to = delivery.owner.who.name();
        told.ids.extend(delivery.outcome.as_ref().ok().map(|filed| filed.id.clone()));
        match delivery.outcome {
            Ok(filed) if filed.parked => {
                context.say(&format!("loci: waits in {} until it can be delivered to {to}: {}", context.shown(&filed.inbox), filed.id));
            }
            Ok(filed) if filed.again => context.say(&format!("loci: handed over to {to} before: {}", filed.id)),
            Ok(filed) => context.say(&format!("loci: handed over to {to} with {}: {}", delivery.carries, filed.id)),
            Err(why) => {
                told.all = false;
                context.say(&format!("loci: could not be handed over to {to}: {why}"));
            }
        }
    }
    Ok(told)
}
