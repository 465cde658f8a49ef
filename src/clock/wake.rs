//! Mail that wakes: a delegation in the inbox of an armed body becomes one run of that body, with the
//! delegation as its message, judged by what became of it.
//!
//! What stands in an inbox is data: it says who asks for what, and never whether a body is woken. That is the
//! identity file's `wake:`, and a person's arming of just that file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::deliverable::Lack;
use super::job::{Action, Job, MODEL_RUNS, Overlap, digest};
use super::schedule::When;
use crate::custody::fence;
use crate::custody::find;
use crate::custody::inbox::{self, Listed, State};
use crate::custody::letter::{self, Field, Kind, Letter};
use crate::custody::maildir::{MailError, Mailbox};
use crate::sys::shown;
use crate::sys::time::{self, Timestamp};
use crate::text::digest as sha;
use crate::tree::card::{self, AgentFile};

/// How the job of a body that mail wakes is called: this, and the agent's id. No file of a job can have such a name.
pub const PREFIX: &str = "wake:";

/// The word in `wake:` that a delegation answers to.
pub const DELEGATION: &str = "delegation";

/// A delegation that more than so many others led to goes to the human.
pub const MOST_HOPS: usize = 4;

/// How many delegations one wake carries.
const MOST_CARRIED: usize = 20;
/// How much of one delegation stands in the message, in bytes; the rest is read with `loci inbox show`.
const MOST_OF_ONE: usize = 24 << 10;
/// How long the message may be; a word of a command line has a bound of its own above it.
const MOST_OF_ALL: usize = 96 << 10;

/// The name of the job that wakes an agent.
#[must_use]
pub fn name_of(agent: &str) -> String {
    format!("{PREFIX}{agent}")
}

/// The job that wakes a body, where its identity file asks for one. `body` is relative to the root.
#[must_use]
pub fn job(body: &Path, card: &AgentFile, file: [u8; 32]) -> Option<Job> {
    if !card.wake.iter().any(|word| word == DELEGATION) {
        return None;
    }
    let agent = card.id.value.as_str();
    Some(Job {
        overlap: Overlap::Queue,
        max_per_day: Some(MODEL_RUNS),
        does: digest(&[&Value::from("wake"), &Value::from(agent), &Value::from(body.to_string_lossy())]),
        file,
        ..Job::of_body(&name_of(agent), When::Mail, Action::Wake { body: body.to_owned(), agent: agent.into() })
    })
}

/// The job that wakes the body in a directory below a real root; `None` where nothing does.
///
/// # Errors
/// Where its identity file can't be read.
pub fn read(root: &Path, dir: &Path) -> Result<Option<Job>, card::CardError> {
    let Some(card) = card::agent(dir).transpose()? else { return Ok(None) };
    let Ok(rel) = dir.strip_prefix(root) else { return Ok(None) };
    let rel = if rel.as_os_str().is_empty() { Path::new(".") } else { rel };
    Ok(job(rel, &card, identity_digest(dir)))
}

/// The digest of the identity file of a body: what it is told to be, and which program it is.
#[must_use]
pub fn identity_digest(dir: &Path) -> [u8; 32] {
    let data = crate::sys::disk::read_start(&dir.join(".loci/agent.md"), card::MAX_BYTES).map(|(data, _)| data).unwrap_or_default();
    sha::bytes_of_parts([data.as_slice()])
}

/// What is wrong with a file: where, in which line, and why.
pub type Wrong = (PathBuf, Option<usize>, String);

/// How the messages of an inbox stand, or why that can't be said.
type Folded = Result<std::collections::BTreeMap<String, inbox::Standing>, String>;

/// The jobs that wake bodies below a real root, in the order of their names, and what is wrong with the others.
#[must_use]
pub fn all(root: &Path) -> (Vec<Job>, Vec<Wrong>) {
    let (mut jobs, mut wrong): (Vec<(Job, PathBuf)>, Vec<_>) = (Vec::new(), Vec::new());
    for dir in find::places_below(root) {
        match read(root, &dir) {
            Ok(Some(job)) => jobs.push((job, dir)),
            Ok(None) => {}
            // One that wakes nothing is not our business; of one that can't be read nobody knows.
            Err(error) => wrong.push((error.path, error.line, error.why)),
        }
    }
    jobs.sort_by(|a, b| a.0.name.cmp(&b.0.name));
    let twice = |name: &str| jobs.iter().filter(|(job, _)| &*job.name == name).count() > 1;
    let (one, several): (Vec<_>, Vec<_>) = jobs.iter().cloned().partition(|(job, _)| !twice(&job.name));
    for (job, dir) in several {
        let others = jobs.iter().filter(|(other, at)| other.name == job.name && *at != dir);
        let others: Vec<String> = others.map(|(_, at)| shown::path(at).to_string()).collect();
        wrong.push((dir.join(".loci/agent.md"), None, format!("another body has the same id: {}", others.join(", "))));
    }
    (one.into_iter().map(|(job, _)| job).collect(), wrong)
}

/// A delegation that a run has to answer, as it stands in the record of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awaited {
    /// Its id.
    pub id: String,
    /// The key that its file is named by.
    pub key: String,
    /// The inbox that it lies in.
    #[serde(with = "crate::sys::wire::path")]
    pub inbox: PathBuf,
    /// Who has to answer.
    pub agent: String,
    /// Who waits for the answer.
    pub from: String,
    /// The body of whoever waits, where the answer arrives.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from_body: Option<String>,
}

/// What a wake hands over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// The message.
    pub message: String,
    /// What has to be answered.
    pub awaited: Vec<Awaited>,
    /// How many delegations led to the run.
    pub hops: usize,
    /// The keys of all that waits, carried or not.
    pub waiting: Vec<String>,
}

/// The inboxes of an agent below a root: that of its body, and those of directories that it owns whose mail had
/// no body to go to.
#[must_use]
pub fn boxes(root: &Path, body: &Path, agent: &str) -> Vec<Mailbox> {
    let owns = |dir: &PathBuf| matches!(card::owner(dir), Some(Ok(owner)) if owner.owner.value.as_str() == agent);
    let owned = find::places_below(root).into_iter().filter(|dir| dir != body && owns(dir));
    std::iter::once(body.to_owned()).chain(owned).map(|dir| Mailbox::of(&dir)).collect()
}

/// The delegations that nobody has dealt with, oldest first, each with its inbox. One that can't be listed is
/// passed over with the reason.
#[must_use]
pub fn new_mail(boxes: &[Mailbox]) -> (Vec<(Mailbox, Listed<'_>)>, Vec<String>) {
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    for mailbox in boxes.iter().filter(|mailbox| mailbox.exists()) {
        match inbox::list(mailbox) {
            Ok(contents) => {
                notes.extend(contents.notes);
                let waits =
                    |one: &Listed<'_>| one.shows.kind.as_deref() == Some(Kind::Delegation.word()) && one.standing.state == State::New;
                found.extend(contents.messages.into_iter().filter(waits).map(|one| (mailbox.clone(), one)));
            }
            Err(error) => notes.push(format!("failed to {error}")),
        }
    }
    found.sort_by(|a, b| a.1.shows.id.cmp(&b.1.shows.id));
    (found, notes)
}

/// How many delegations led to a message.
fn hops_of(message: &inbox::Message) -> usize {
    message.header.value("hops").and_then(Value::as_u64).and_then(|hops| usize::try_from(hops).ok()).unwrap_or(0)
}

/// What has gone through too many hands goes to the human: a copy, filed once. Says of which messages that is so.
///
/// # Errors
/// Where the human's inbox can't be written.
pub fn to_human(mail: &[(Mailbox, Listed<'_>)], home: &Path, at: Timestamp) -> Result<Vec<String>, MailError> {
    let human = Mailbox::of_human(home);
    let mut keys = Vec::new();
    for (mailbox, listed) in mail {
        let Ok(message) = listed.open() else { continue };
        let hops = hops_of(&message);
        if hops <= MOST_HOPS {
            continue;
        }
        keys.push(message.key.clone());
        let key: String = sha::sha256_of_parts([&b"hops"[..], message.id.as_bytes()]).chars().take(16).collect();
        if human.find(&key)?.is_some() {
            continue;
        }
        let text = |key: &str| message.text(key).unwrap_or("?").to_owned();
        let letter = Letter {
            id: letter::id(at, &key),
            kind: Kind::Delegation,
            from: text("from"),
            from_body: message.text("from_body").map(str::to_owned),
            to: crate::custody::answer::HUMAN.to_owned(),
            at: time::to_second(at),
            fields: vec![
                ("re", Field::Text(message.id.clone())),
                ("directory", Field::Text(text("directory"))),
                ("targets", Field::List(message.list("targets"))),
                ("hops", Field::Count(hops)),
            ],
            body: format!(
                "This is for {}, who is not woken for it: {hops} delegations led to it. It lies in {}.\n\n{}",
                shown::text(&text("to")),
                shown::path(mailbox.dir()),
                fence::block("markdown", &message.body())
            ),
        };
        let placed = human.deliver(&key, &letter.render())?;
        inbox::note_filed(&human, &key, &letter, &placed, at, "loci")?;
    }
    Ok(keys)
}

/// Puts together what a wake hands over: of what waits (`mail`) those first that nobody was woken for yet.
/// `tag` is random: what stands in the mail can't know it. `None` where nothing is to be handed over.
#[must_use]
pub fn carry(mail: &[(Mailbox, Listed<'_>)], woken: &[String], agent: &str, tag: &str) -> Option<Carried> {
    let (fresh, old): (Vec<_>, Vec<_>) = mail.iter().partition(|(_, one)| !woken.contains(&one.key));
    let mut all = fresh.into_iter().chain(old);
    let (mut carried, mut texts) = (Carried { message: String::new(), awaited: Vec::new(), hops: 0, waiting: Vec::new() }, Vec::new());
    let mut size = 0;
    for (mailbox, listed) in all.by_ref() {
        // Its own file speaks here, whatever the log noted of it.
        let Ok(message) = listed.open() else { continue };
        let hops = hops_of(&message);
        if message.text("kind") != Some(Kind::Delegation.word()) || hops > MOST_HOPS {
            continue;
        }
        carried.waiting.push(message.key.clone());
        let from = message.text("from").unwrap_or("?").to_owned();
        let added: String = message.standing.added.iter().map(|added| format!("\nadded later: {}\n", added.text)).collect();
        let whole = format!("{}{added}", message.body());
        let cut = (0..=MOST_OF_ONE.min(whole.len())).rev().find(|at| whole.is_char_boundary(*at)).unwrap_or(0);
        let part = whole.get(..cut).unwrap_or_default();
        if carried.awaited.len() >= MOST_CARRIED || size + part.len() > MOST_OF_ALL {
            continue;
        }
        size += part.len();
        let shown_from = shown::text(&from).to_string();
        let mut text = format!("\n{} from {shown_from}, about {}\n", message.id, targets(&message));
        text += &fence::for_reader(&shown_from, tag, part);
        if cut < whole.len() {
            text += &format!("Cut: `loci inbox show {}` has all of it.\n", message.id);
        }
        texts.push(text);
        carried.hops = carried.hops.max(hops + 1);
        carried.awaited.push(Awaited {
            id: message.id.clone(),
            key: message.key.clone(),
            inbox: mailbox.dir().to_owned(),
            agent: agent.to_owned(),
            from,
            from_body: message.text("from_body").map(str::to_owned),
        });
    }
    if carried.awaited.is_empty() {
        return None;
    }
    let left = carried.waiting.len() - carried.awaited.len();
    carried.message = format!(
        "The clock has woken you: {} waits in your inbox. Deal with each: look at what it is about, derive your own version of what \
         is asked for, the same but better, check it, and answer:\n\
         \x20 loci inbox done ID --reply 'what you changed, where, and how it was checked'\n\
         \x20 loci inbox decline ID --why 'why not, and what would be fine instead'\n\
         `loci inbox apply ID` brings a proposed change in as it stands. You are judged by the answers: each needs one.\n{}",
        match carried.awaited.len() {
            1 => "a delegation".to_owned(),
            several => format!("a list of {several} delegations"),
        },
        texts.concat()
    );
    if left > 0 {
        carried.message.push_str(&format!("\n{}: `loci inbox`.\n", shown::count(left, "more waits", "more wait")));
    }
    Some(carried)
}

fn targets(message: &inbox::Message) -> String {
    let targets = message.list("targets");
    let first = targets.iter().take(5).map(|target| shown::text(target).to_string()).collect::<Vec<_>>().join(", ");
    match targets.len().saturating_sub(5) {
        0 if first.is_empty() => "nothing that it names".to_owned(),
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// What has no answer yet. The log of the inbox says what was answered; where whoever answered was killed before it
/// said so, the answer in the sender's inbox does.
#[must_use]
pub fn unanswered(awaited: &[Awaited]) -> Vec<Lack> {
    let mut lacks = Vec::new();
    let mut logs: Vec<(&Path, Folded)> = Vec::new();
    for one in awaited {
        if !logs.iter().any(|(dir, _)| *dir == one.inbox) {
            let folded = Mailbox::at(&one.inbox)
                .ok_or_else(|| "its inbox is gone".to_owned())
                .and_then(|mailbox| mailbox.log_bytes().map_err(|error| format!("failed to {error}")))
                .map(|(log, _)| {
                    let folded = inbox::fold_bytes(&log).0;
                    folded.into_iter().map(|(number, noted)| (letter::of_number(number), noted.standing)).collect()
                });
            logs.push((&one.inbox, folded));
        }
        let why = match logs.iter().find(|(dir, _)| *dir == one.inbox).map(|(_, folded)| folded) {
            Some(Ok(standings)) if standings.get(&one.key).is_some_and(|standing| standing.state.is_closed()) => continue,
            _ if arrived(one) => continue,
            Some(Err(why)) => why.clone(),
            _ => format!("{} has no answer to it", shown::text(&one.from)),
        };
        lacks.push(Lack { path: format!("answer to {}", one.id), why });
    }
    lacks
}

/// Whether an answer lies in the inbox of whoever waits for it.
fn arrived(one: &Awaited) -> bool {
    let Some(body) = one.from_body.as_deref().map(Path::new).filter(|body| body.is_absolute()) else { return false };
    let answers = |listed: &Listed<'_>| {
        let shows = &listed.shows;
        shows.kind.as_deref() == Some(Kind::Reply.word())
            && shows.re.as_deref() == Some(one.id.as_str())
            && shows.from.as_deref() == Some(one.agent.as_str())
    };
    inbox::list(&Mailbox::of(body)).is_ok_and(|contents| contents.messages.iter().any(answers))
}

/// Who lives in a directory, for sending what waits in its outbox.
#[must_use]
pub fn sender(dir: &Path) -> Option<crate::custody::Asker> {
    let card = find::identity(dir)?.ok()?;
    Some(crate::custody::Asker { agent: Some(card.id), body: Some(dir.to_owned()) })
}
