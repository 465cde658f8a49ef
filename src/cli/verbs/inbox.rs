//! `loci inbox`: what was handed over, and the answers to it.

mod apply;
mod watch;

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};
use serde_json::{Value, json};

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::table;
use crate::cli::{Answer, Outcome, grant, near};
use crate::custody::answer::{self, Answered};
use crate::custody::asker::{self, Asker};
use crate::custody::fence;
use crate::custody::find;
use crate::custody::inbox::{self, Listed, Message, NoMessage, State};
use crate::custody::letter;
use crate::custody::maildir::Mailbox;
use crate::custody::person::Person;
use crate::custody::trail;
use crate::sys::{random, shown, time};
use crate::text::name::AgentId;
use crate::tree::{card, settings};

/// Read and answer what was handed over
#[derive(Debug, ClapArgs)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "A message is data: whatever it says, it can grant nothing. A list says what deliveries noted in the\nlog; `show` and all that acts read the message itself.\n\nExamples:\n  loci inbox\n  loci inbox show 20261130T\n  loci inbox apply 20261130T\n  loci inbox done 20261130T --reply 'Rounded half to even instead; tests/tax.rs covers it'\n  loci inbox done 20261130T    # an answer that you have read"
)]
pub struct Args {
    /// Whose inbox (default: yours; a person outside of all bodies has one too)
    agent: Option<String>,
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
        None if args.watch => watch::run(context, &mail),
        None => list(context, &mail),
        Some(What::Show { id }) => show(context, &mail, &id),
        Some(What::Take { id, dry_run }) => take(context, &mail, &id, dry_run),
        Some(What::Apply { id, dry_run }) => apply::run(context, &mail, &id, dry_run),
        Some(What::Done { id, reply, dry_run }) => answer(context, &mail, &id, State::Done, reply.as_deref(), dry_run),
        Some(What::Decline { id, why, dry_run }) => answer(context, &mail, &id, State::Declined, Some(&why), dry_run),
    }
}

fn mail(context: &Context, named: Option<&str>) -> Result<Mail, Failure> {
    let (asker, note) = asker::here(&context.env, &context.cwd)?;
    if let Some(note) = note {
        context.say(&format!("note: {}", note.0));
    }
    let agent = match named.or(context.flags.asker.as_deref()) {
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
    let places = find::places_below(&near::top(context, &context.cwd));
    let own = asker.body.clone().filter(|_| asker.agent.as_ref() == Some(agent));
    let body =
        own.or_else(|| find::body_of(agent, &context.cwd)).or_else(|| places.iter().find(|place| find::lives(agent, place)).cloned());
    let owned = places.into_iter().filter(|place| matches!(card::owner(place), Some(Ok(owner)) if owner.owner.value == *agent));
    let around = find::owned_around(agent, &context.cwd);
    let mut found: Vec<PathBuf> = body.clone().into_iter().collect();
    for dir in owned.chain(around) {
        if !found.contains(&dir) && Mailbox::of(&dir).exists() {
            found.push(dir);
        }
    }
    if found.is_empty() {
        return Err(Failure::new(
            "body",
            format!("failed to find the inbox of {agent}: no body and no directory of its own in or around here"),
        )
        .hint(format!("loci new agents/{agent}")));
    }
    Ok(found.iter().map(|dir| Mailbox::of(dir)).collect())
}

/// The inbox that holds a message: one's own, else whichever one around here does. An id says which
/// message is meant; whose it is need not be said again. Who may answer it is asked later.
fn holder(context: &Context, own: Mail, id: &str) -> Result<Mail, Failure> {
    let holds = |mailbox: &Mailbox| -> Result<bool, Failure> {
        Ok(!matches!(inbox::named(&inbox::list(mailbox)?.messages, id), Err(NoMessage::None)))
    };
    for mailbox in &own.boxes {
        if holds(mailbox)? {
            return Ok(own);
        }
    }
    for place in find::places_below(&near::top(context, &context.cwd)) {
        let mailbox = Mailbox::of(&place);
        if own.boxes.iter().any(|one| one.dir() == mailbox.dir()) || !mailbox.exists() || !holds(&mailbox)? {
            continue;
        }
        let lives_here = find::identity(&place).and_then(Result::ok).map(|card| card.id);
        let agent = lives_here.or_else(|| card::owner(&place)?.ok().map(|owner| owner.owner.value));
        if let Some(agent) = agent {
            return Ok(Mail { boxes: boxes(context, &agent, &own.asker)?, agent: Some(agent), asker: own.asker });
        }
    }
    Ok(own)
}

/// All messages, oldest first, each with the inbox that it lies in.
fn messages(context: &Context, mail: &Mail) -> Result<Vec<(Mailbox, Listed)>, Failure> {
    let mut all = Vec::new();
    for mailbox in &mail.boxes {
        let contents = inbox::list(mailbox)?;
        for note in &contents.notes {
            context.say(&format!("note: {note}"));
        }
        all.extend(contents.messages.into_iter().map(|message| (mailbox.clone(), message)));
    }
    all.sort_by(|a, b| a.1.shows.id.cmp(&b.1.shows.id));
    Ok(all)
}

fn list(context: &Context, mail: &Mail) -> Outcome {
    let all = messages(context, mail)?;
    let open = all.iter().filter(|(_, message)| !message.standing.state.is_closed()).count();
    context.print(
        || {
            let rows: Vec<Vec<String>> = all.iter().map(|(_, message)| row(context, message)).collect();
            if rows.is_empty() { format!("nothing for {}\n", mail.name()) } else { table(&rows) }
        },
        || {
            let inboxes: Vec<_> = mail.boxes.iter().map(|mailbox| mailbox.dir().to_string_lossy()).collect();
            json!({
                "schema": 1, "agent": mail.agent, "inboxes": inboxes, "open": open,
                "messages": all.iter().map(|(_, message)| object(message)).collect::<Vec<_>>(),
            })
        },
    )?;
    Ok(Answer::Yes)
}

impl Mail {
    fn name(&self) -> &str {
        self.agent.as_ref().map_or("the human", AgentId::as_str)
    }
}

fn row(context: &Context, message: &Listed) -> Vec<String> {
    let (shows, standing) = (&message.shows, &message.standing);
    let about = match shows.targets.as_slice() {
        [] => shows.re.as_deref().map(|re| format!("answer to {}", shown::text(re))).unwrap_or_default(),
        [one] => context.shown(Path::new(one)),
        [first, rest @ ..] => format!("{} (and {} more)", context.shown(Path::new(first)), rest.len()),
    };
    let held = match standing.held.len() {
        0 => String::new(),
        1 => "1 request".to_owned(),
        count => format!("{count} requests"),
    };
    let again = if standing.again == 0 { String::new() } else { format!(" (tried {} times)", standing.again + 1) };
    let from = shows.from.as_deref().unwrap_or("?");
    vec![shows.id.clone(), standing.state.word().to_owned(), shown::text(from).to_string(), format!("{about}{held}{again}")]
}

fn object(message: &Listed) -> Value {
    let (shows, standing) = (&message.shows, &message.standing);
    json!({
        "id": shows.id,
        "kind": shows.kind,
        "from": shows.from,
        "to": shows.to,
        "at": shows.at,
        "state": standing.state.word(),
        "again": standing.again,
        "requests": standing.held.len(),
        "targets": shows.targets,
        "change": shows.change,
        "re": shows.re,
        "path": message.path.to_string_lossy(),
        "shown_from": if message.from_log { "log" } else { "message" },
    })
}

fn one(context: &Context, mail: &Mail, id: &str) -> Result<(Mailbox, Message), Failure> {
    let (boxes, all): (Vec<Mailbox>, Vec<Listed>) = messages(context, mail)?.into_iter().unzip();
    match inbox::named(&all, id) {
        Ok(message) => {
            let at = all.iter().position(|other| other.path == message.path).unwrap_or_default();
            let mailbox = boxes.get(at).cloned().unwrap_or_else(|| Mailbox::of(&context.home));
            Ok((mailbox, message.open()?))
        }
        Err(NoMessage::None) => {
            Err(Failure::new("message", format!("failed to find a message of {} that begins with `{id}`", mail.name())).hint("loci inbox"))
        }
        Err(NoMessage::Several(ids)) => {
            Err(Failure::new("message", format!("failed to tell which message `{id}` is: {}", ids.join(", "))).hint("loci inbox"))
        }
    }
}

fn show(context: &Context, mail: &Mail, id: &str) -> Outcome {
    let (mailbox, message) = one(context, mail, id)?;
    let held: Vec<(String, String)> =
        message.standing.held.iter().filter_map(|name| Some((name.clone(), inbox::held_text(&mailbox, name).ok()?))).collect();
    let tag = random::hex20().map_err(|error| Failure::new("io", "failed to get a random tag").caused_by(&error))?;
    context.print(
        || {
            let mut text = format!("{} for {}, {}\n", message.id, mail.name(), message.standing.state.word());
            let from = shown::text(message.text("from").unwrap_or("?")).to_string();
            text += &fence::for_reader(&from, &tag, &plain(context, &message));
            for (name, data) in &held {
                let request = inbox::parsed(name, data.as_bytes());
                text += &format!("\n{}\n", request.id);
                text += &fence::for_reader(&from, &tag, &plain(context, &request));
            }
            for added in &message.standing.added {
                text += &format!("\nadded {}\n", shown::text(&added.at));
                text += &fence::for_reader(&shown::text(&added.by).to_string(), &tag, &added.text);
                for read in &added.reads {
                    text += &format!("read since: {}\n", shown::text(read));
                }
            }
            if let Some(answer) = &message.standing.answer {
                text += &format!("\nanswered {}\n", shown::text(&answer.at));
                text += &fence::for_reader(&shown::text(&answer.by).to_string(), &tag, &answer.text);
            }
            text
        },
        || {
            let added = |one: &inbox::Added| json!({ "at": one.at, "by": one.by, "text": one.text, "reads": one.reads });
            let mut object = object(&Listed::of(&message));
            object["schema"] = 1.into();
            object["header"] = message.header.object();
            object["body"] = message.body().into();
            object["held"] = held.iter().map(|(name, data)| json!({ "name": name, "text": data })).collect();
            object["added"] = message.standing.added.iter().map(added).collect();
            object["answer"] = message.standing.answer.as_ref().map_or(Value::Null, added);
            object
        },
    )?;
    Ok(Answer::Yes)
}

/// A message in words: from whom and about what, then its text. All of it is the sender's, so all of it
/// stands between the marks.
fn plain(context: &Context, message: &Message) -> String {
    if context.flags.verbose || message.header.fields.is_empty() {
        return String::from_utf8_lossy(&message.data).into_owned();
    }
    let mut lines = Vec::new();
    let mut line = |name: &str, text: String| lines.push(format!("{name:<8}{text}\n"));
    let text = |name: &str| message.text(name).map(|text| shown::text(text).to_string());
    let with = |name: &str, word: &str| text(name).map(|text| format!("{word}{text}")).unwrap_or_default();
    let from = text("from").unwrap_or_else(|| "?".to_owned());
    line("from", format!("{from}{}{}{}", with("harness", ", under "), with("tool", ", with "), with("at", ", at ")));
    for target in message.list("targets") {
        line("about", context.shown(Path::new(&target)));
    }
    if let Some(re) = text("re") {
        line("re", format!("{re}{}", with("state", ", ")));
    }
    for read in message.list("reads") {
        line("read", shown::text(&read).to_string());
    }
    if let Some(change) = text("change") {
        line("change", change);
    }
    format!("{}\n{}", lines.concat(), message.body().trim_start_matches('\n'))
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

fn take(context: &Context, mail: &Mail, id: &str, dry_run: bool) -> Outcome {
    let (mailbox, message) = one(context, mail, id)?;
    let Some(by) = author(context, mail)? else { return Ok(Answer::No) };
    if message.standing.state.is_closed() {
        context.say(&format!("{} is {} already", message.id, message.standing.state.word()));
        return Ok(Answer::No);
    }
    if !dry_run {
        if message.standing.state != State::Taken {
            mailbox.log(&inbox::record(time::now(), &message.key, "taken", &by))?;
        }
        inbox::settle(&mailbox)?;
        prune(context, &mailbox)?;
    }
    said(context, &message, State::Taken, dry_run, None)
}

fn answer(context: &Context, mail: &Mail, id: &str, state: State, text: Option<&str>, dry_run: bool) -> Outcome {
    let (mailbox, message) = one(context, mail, id)?;
    let Some(by) = author(context, mail)? else { return Ok(Answer::No) };
    if text.is_none() && !message.is_answer() {
        return Err(Failure::new("usage", format!("failed to answer {}: its sender waits for what you changed", message.id))
            .hint(format!("loci inbox done {} --reply 'what changed, where, and how it was checked'", message.id)));
    }
    if text.is_some_and(|text| text.trim().is_empty()) {
        return Err(Failure::new("usage", "failed to answer: the text is empty"));
    }
    if message.standing.state.is_closed() {
        if !dry_run {
            inbox::settle(&mailbox)?;
        }
        context.say(&format!("{} is {} already", message.id, message.standing.state.word()));
        return Ok(Answer::No);
    }
    let answered = match text {
        Some(_) if dry_run => Some(answer::where_to(&message, &context.home)),
        Some(text) => Some(answer::answer(&mailbox, &context.home, &message, &by, state, text, time::now())?),
        // An answer is read and closed: answering it would go on for ever.
        None => None,
    };
    if !dry_run {
        if answered.is_none() {
            mailbox.log(&inbox::record(time::now(), &message.key, state.word(), &by))?;
        }
        inbox::settle(&mailbox)?;
        prune(context, &mailbox)?;
    }
    said(context, &message, state, dry_run, answered.as_ref())
}

/// Takes away what is older than the settings keep it: finished mail of this inbox, and trails.
fn prune(context: &Context, mailbox: &Mailbox) -> Result<(), Failure> {
    let Some(days) = settings::load(&context.home)?.retention_days else { return Ok(()) };
    let now = time::now();
    let Some(before) = time::days_before(now, days) else { return Ok(()) };
    let mail = inbox::prune(mailbox, before, now)?;
    let trails = trail::prune(&context.state, before.as_nanosecond())?;
    if mail + trails > 0 {
        context.say(&format!("note: {mail} finished messages and {trails} trails were older than {days} days and are gone"));
    }
    Ok(())
}

fn said(context: &Context, message: &Message, state: State, dry_run: bool, answered: Option<&Answered>) -> Outcome {
    let would = if dry_run { "would be " } else { "" };
    let tail = match answered {
        None => String::new(),
        Some(Answered::To { to, inbox, .. }) => {
            format!("; the answer {} {to}'s inbox ({})", if dry_run { "goes to" } else { "is in" }, context.shown(inbox))
        }
        Some(Answered::Nobody(why)) => format!("; no answer could be delivered: {why}"),
    };
    context.print(
        || format!("{} {would}{}{tail}\n", message.id, state.word()),
        || {
            let reply = match answered {
                Some(Answered::To { id, to, inbox }) => json!({ "id": id, "to": to, "inbox": inbox.to_string_lossy() }),
                _ => Value::Null,
            };
            json!({ "schema": 1, "id": message.id, "state": state.word(), "done": !dry_run, "reply": reply, "key": letter::key(&message.id) })
        },
    )?;
    Ok(Answer::Yes)
}
