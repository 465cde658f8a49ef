//! `loci inbox`: what was handed over, and the answers to it.

mod answer;
mod apply;
mod filter;
mod list;
mod show;
mod watch;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::{Outcome, grant, near};
use crate::custody::asker::{self, Asker};
use crate::custody::find;
use crate::custody::inbox::{self, Listed, Log, Message, NoMessage, State};
use crate::custody::letter;
use crate::custody::maildir::Mailbox;
use crate::custody::person::Person;
use crate::custody::trail;
use crate::sys::lock::Lock;
use crate::sys::{shown, time};
use crate::text::name::{AgentId, HUMAN};
use crate::text::near as text_near;
use crate::tree::{card, settings};

/// Read and answer what was handed over
#[derive(Debug, ClapArgs)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "A message is data: whatever it says, it can grant nothing. A list says what deliveries noted in the\nlog; `show` and all that acts read the message itself.\n\nExamples:\n  loci inbox\n  loci inbox --open --from alice --since 2d\n  loci inbox show 20261130T\n  loci inbox apply 20261130T\n  loci inbox done 20261130T --reply 'Rounded half to even instead; tests/tax.rs covers it'\n  loci inbox done 20261130T    # an answer that you have read"
)]
pub struct Args {
    /// Whose inbox (default: yours; a person outside of all bodies has one too)
    agent: Option<String>,
    #[command(flatten)]
    filter: filter::Filter,
    /// Go on: print what is new, and each message that arrives, until nobody reads on
    #[arg(long)]
    watch: bool,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show one message
    Show {
        /// Its id, or the beginning of it
        id: String,
    },
    /// Say that you work on it
    Take {
        /// Its id, or the beginning of it
        id: String,
        /// Say what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Bring the change of a message in, merged with what has changed since
    Apply {
        /// Its id, or the beginning of it
        id: String,
        /// Say what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Answer it: it is done. An answer to you needs none
    Done {
        /// Its id, or the beginning of it
        id: String,
        /// What you changed, where, and how it was checked
        #[arg(long, value_name = "TEXT")]
        reply: Option<String>,
        /// Say what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Answer it: it will not be done
    Decline {
        /// Its id, or the beginning of it
        id: String,
        /// Why, and what would be fine instead
        #[arg(long, value_name = "TEXT")]
        why: String,
        /// Say what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
}

impl What {
    fn id(&self) -> &str {
        match self {
            Self::Show { id } | Self::Take { id, .. } | Self::Apply { id, .. } | Self::Done { id, .. } | Self::Decline { id, .. } => id,
        }
    }
}

/// Whose inbox it is, and where its messages lie.
struct Mail {
    /// `None`: the human's.
    agent: Option<AgentId>,
    boxes: Vec<Mailbox>,
    /// Who asks.
    asker: Asker,
}

/// Runs it.
///
/// # Errors
/// Where the inbox can't be read, or the answer can't be delivered.
pub fn run(context: &Context, args: Args) -> Outcome {
    let mut mail = mail(context, args.agent.as_deref())?;
    if let Some(id) = args.what.as_ref().map(What::id)
        && context.flags.asker.is_none()
    {
        mail = holder(context, mail, id)?;
    }
    match args.what {
        None if args.watch => watch::run(context, &mail, &args.filter),
        None => list::run(context, &mail, &args.filter),
        Some(What::Show { id }) => show::run(context, &mail, &id),
        Some(What::Take { id, dry_run }) => answer::take(context, &mail, &id, dry_run),
        Some(What::Apply { id, dry_run }) => apply::run(context, &mail, &id, dry_run),
        Some(What::Done { id, reply, dry_run }) => answer::answer(context, &mail, &id, State::Done, reply.as_deref(), dry_run),
        Some(What::Decline { id, why, dry_run }) => answer::answer(context, &mail, &id, State::Declined, Some(&why), dry_run),
    }
}

fn mail(context: &Context, named: Option<&str>) -> Result<Mail, Failure> {
    let (asker, note) = asker::here(&context.env, &context.cwd)?;
    if let Some(note) = note {
        context.say(&format!("note: {}", note.0));
    }
    let agent = match named.or(context.flags.asker.as_deref()) {
        Some(HUMAN) => return Err(Failure::new("name", "failed to find the inbox of human: that is no agent").hint("cd && loci inbox")),
        Some(id) => Some(AgentId::new(id)?),
        None => asker.agent.clone(),
    };
    let Some(agent) = agent else {
        return Ok(Mail { agent: None, boxes: vec![Mailbox::of_human(&context.home)], asker });
    };
    let boxes = boxes(context, &agent, &asker)?;
    Ok(Mail { agent: Some(agent), boxes, asker })
}

/// The inboxes of an agent: its body's, and those of directories that it owns whose messages had no
/// body to go to.
fn boxes(context: &Context, agent: &AgentId, asker: &Asker) -> Result<Vec<Mailbox>, Failure> {
    let places = near::places(context, &context.cwd);
    let own = asker.body.clone().filter(|_| asker.agent.as_ref() == Some(agent));
    let body =
        own.or_else(|| find::body_of(agent, &context.cwd)).or_else(|| places.iter().find(|place| find::lives(agent, place)).cloned());
    let owns = |place: &PathBuf| matches!(card::owner(place), Some(Ok(owner)) if owner.owner.value == *agent);
    let mut owned: Vec<PathBuf> = places.into_iter().filter(owns).chain(find::owned_around(agent, &context.cwd)).collect();
    let mut found: Vec<PathBuf> = body.into_iter().collect();
    for dir in &owned {
        if !found.contains(dir) && Mailbox::of(dir).exists() {
            found.push(dir.clone());
        }
    }
    if found.is_empty() {
        // Where its first message will lie.
        owned.truncate(1);
        found = owned;
    }
    if found.is_empty() {
        return Err(Failure::new(
            "body",
            format!("failed to find the inbox of {agent}: no body and no directory of its own in or around here{}", meant(context, agent)),
        )
        .hint(match near_verb(agent.as_str()) {
            Some(verb) => format!("loci inbox {verb} ID"),
            None => format!("loci new agents/{agent}"),
        }));
    }
    Ok(found.iter().map(|dir| Mailbox::of(dir)).collect())
}

/// A word for a verb of this one that was mistyped is taken for an agent.
fn near_verb(word: &str) -> Option<&'static str> {
    text_near::nearest(word, ["show", "take", "apply", "done", "decline"])
}

fn meant(context: &Context, agent: &AgentId) -> String {
    match near_verb(agent.as_str()) {
        Some(verb) => format!("; did you mean `inbox {verb}`?"),
        None => near::meant(agent.as_str(), near::agents(context).iter().map(String::as_str)),
    }
}

/// The inbox that holds a message: one's own, else whichever one around here does. An id says which
/// message is meant; whose it is need not be said again, so one that is cut has to stay unique among all of them. Who
/// may answer it is asked later.
fn holder(context: &Context, own: Mail, id: &str) -> Result<Mail, Failure> {
    let held = |mailbox: &Mailbox| -> Result<Vec<String>, Failure> {
        let log = Log::read(mailbox)?;
        let contents = log.list()?;
        Ok(match inbox::named(&contents.messages, id) {
            Ok(one) => vec![one.shows.id.to_string()],
            Err(NoMessage::Several(ids)) => ids,
            Err(NoMessage::None) => Vec::new(),
        })
    };
    let mut ours = Vec::new();
    for mailbox in &own.boxes {
        ours.extend(held(mailbox)?);
    }
    if ours.iter().any(|one| one == id) || letter::is_key(id) && !ours.is_empty() {
        return Ok(own);
    }
    let mut theirs: Option<AgentId> = None;
    let mut found = ours.clone();
    for place in near::places(context, &context.cwd) {
        let mailbox = Mailbox::of(&place);
        if own.boxes.iter().any(|one| one.dir() == mailbox.dir()) || !mailbox.exists() {
            continue;
        }
        let ids = held(&mailbox)?;
        if ids.is_empty() {
            continue;
        }
        let lives_here = find::identity(&place).and_then(Result::ok).map(|card| card.id);
        if let Some(agent) = lives_here.or_else(|| card::owner(&place)?.ok().map(|owner| owner.owner.value)) {
            found.extend(ids);
            theirs = theirs.or(Some(agent));
        }
    }
    found.sort();
    found.dedup();
    if found.len() > 1 && found.len() > ours.len() {
        return Err(Failure::new("message", format!("failed to tell which message `{id}` is: {}", found.join(", ")))
            .hint("say more of the id, or whose inbox it is in: loci inbox AGENT"));
    }
    match theirs {
        Some(agent) if ours.is_empty() => Ok(Mail { boxes: boxes(context, &agent, &own.asker)?, agent: Some(agent), asker: own.asker }),
        _ => Ok(own),
    }
}

/// A digest of requests is no message that can be answered: each of its requests is, by the person whom it asks.
///
/// # Errors
/// Where the message is one.
fn no_digest(message: &Message) -> Result<(), Failure> {
    if message.text("kind") != Some("digest") {
        return Ok(());
    }
    let why = format!("failed to answer {}: it lists requests, and each of them is approved or denied by itself", message.id);
    Err(Failure::new("message", why).hint("loci requests"))
}

/// The logs of all inboxes: what is listed stands in them.
fn logs(mail: &Mail) -> Result<Vec<Log<'_>>, Failure> {
    mail.boxes.iter().map(|mailbox| Ok(Log::read(mailbox)?)).collect()
}

/// All messages, oldest first.
fn messages<'a>(context: &Context, logs: &'a [Log<'a>]) -> Result<Vec<Listed<'a>>, Failure> {
    let mut all = Vec::new();
    for log in logs {
        let contents = log.list()?;
        for note in &contents.notes {
            context.say(&format!("note: {note}"));
        }
        all.extend(contents.messages);
    }
    // Each inbox is in order already.
    if logs.len() > 1 {
        all.sort_by(|a, b| a.shows.id.cmp(&b.shows.id));
    }
    Ok(all)
}

impl Mail {
    fn name(&self) -> &str {
        self.agent.as_ref().map_or("the human", AgentId::as_str)
    }
}

fn one(context: &Context, mail: &Mail, id: &str) -> Result<(Mailbox, Message), Failure> {
    let logs = logs(mail)?;
    let all = messages(context, &logs)?;
    match inbox::named(&all, id) {
        Ok(message) => Ok((message.mailbox.clone(), message.open()?)),
        Err(NoMessage::None) => {
            Err(Failure::new("message", format!("failed to find a message of {} that begins with `{id}`", mail.name())).hint("loci inbox"))
        }
        Err(NoMessage::Several(ids)) => {
            Err(Failure::new("message", format!("failed to tell which message `{id}` is: {}", ids.join(", "))).hint("loci inbox"))
        }
    }
}

/// Whose answer it would be: the owner's or a person's. Anybody else only reads.
fn author(context: &Context, mail: &Mail) -> Result<Option<String>, Failure> {
    if let Some(agent) = mail.agent.as_ref().filter(|agent| mail.asker.agent.as_ref() == Some(agent)) {
        return Ok(Some(agent.to_string()));
    }
    match grant::person(context) {
        Person::Yes => Ok(Some(mail.agent.as_ref().map_or("human", AgentId::as_str).to_owned())),
        Person::No(evidence) => {
            context.say(&format!("this inbox is {}'s, and you are {} ({evidence})", mail.name(), mail.asker.name()));
            Ok(None)
        }
    }
}

/// How long one waits for another who deals with a message of the same inbox.
const PATIENCE: Duration = Duration::from_secs(10);

/// Keeps others from dealing with the messages of an inbox, and looks once more where this one stands: somebody
/// may have answered it since. A dry run locks nothing.
fn held(mailbox: &Mailbox, message: &mut Message, dry_run: bool) -> Result<Option<Lock>, Failure> {
    if dry_run {
        return Ok(None);
    }
    let locked = || Failure::new("locked", format!("failed to use the inbox {}: another process is at it", shown::path(mailbox.dir())));
    let lock = mailbox.lock(PATIENCE)?.ok_or_else(locked)?;
    message.standing = inbox::standing(mailbox, &message.key)?;
    Ok(Some(lock))
}

/// Takes away what is older than the settings keep it: finished mail of this inbox, and trails.
fn prune(context: &Context, mailbox: &Mailbox) -> Result<(), Failure> {
    let Some(days) = settings::load(&context.home)?.retention_days else { return Ok(()) };
    let now = time::now();
    let Some(before) = time::days_before(now, days) else { return Ok(()) };
    let mail = inbox::prune(mailbox, before, now)?;
    let trails = trail::prune(&context.state, before.as_nanosecond())?;
    if mail + trails > 0 {
        let (mail, trails) = (shown::count(mail, "finished message", "finished messages"), shown::count(trails, "trail", "trails"));
        context.say(&format!("note: gone, since older than {}: {mail} and {trails}", shown::count(days, "day", "days")));
    }
    Ok(())
}
