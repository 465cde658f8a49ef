//! What follows a delivery: answers to the sender, and what the sender adds.

use std::path::{Path, PathBuf};

use super::asker::Asker;
use super::capture::cut_at;
use super::delegation::{Read, key, sent_log};
use super::fence;
use super::find;
use super::inbox::{self, Begun, Message};
use super::jail;
use super::letter::{self, Field, Kind, Letter};
use super::maildir::{MAX_LETTER, MailError, Mailbox, Placed};
use super::mask;
use super::trail;
use crate::sys::disk;
use crate::sys::shown;
use crate::sys::time::{self, Timestamp};
use crate::text::header;
use crate::text::name::AgentId;
use crate::tree::dotdirs::Dotdirs;

/// Where an answer went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// Into the sender's inbox.
    To {
        /// The id of the answer; empty where it was only asked where it would go.
        id: String,
        /// The sender.
        to: String,
        /// Its inbox.
        inbox: PathBuf,
    },
    /// Nowhere, for this reason; it stands in the log.
    Nobody(String),
}

pub use crate::text::name::HUMAN;

/// Where an answer to a message would go; `home` holds the human's inbox.
#[must_use]
pub fn where_to(message: &Message, home: &Path) -> Answered {
    let from = message.text("from").unwrap_or("nobody").to_owned();
    if from == HUMAN {
        return Answered::To { id: String::new(), to: from, inbox: Mailbox::of_human(home).dir().to_owned() };
    }
    if from == "nobody" {
        return Answered::Nobody("who asked is no agent, and has no inbox".to_owned());
    }
    let Ok(id) = AgentId::new(&from) else { return Answered::Nobody("the message names no sender".to_owned()) };
    match body_of_sender(message, &id, home) {
        Ok(body) => Answered::To { id: String::new(), to: from, inbox: Mailbox::of(&body).dir().to_owned() },
        Err(why) => Answered::Nobody(why),
    }
}

/// Where the sender lives. The message is data: that the body it names is the sender's is looked up, not believed. One
/// that was filed from outside of a body names none: then it is the only one of that id around where it was filed.
fn body_of_sender(message: &Message, id: &AgentId, home: &Path) -> Result<PathBuf, String> {
    if let Some(body) = message.text("from_body").map(PathBuf::from) {
        let lives = body.is_absolute() && find::lives(id, &body);
        return if lives { Ok(body) } else { Err(format!("{id} does not live in {} any more", shown::path(&body))) };
    }
    let filed = message.text("cwd").map(PathBuf::from).or_else(|| message.list("targets").first().map(PathBuf::from));
    let around = filed.filter(|dir| dir.is_absolute()).and_then(|dir| jail::top(&dir, home, &Dotdirs::new::<String>([])).ok());
    // The whole home is not looked through for one body.
    let places = around.filter(|top| !home.starts_with(top)).map(|top| find::places_below(&top)).unwrap_or_default();
    let mut bodies = places.into_iter().filter(|place| find::lives(id, place));
    match (bodies.next(), bodies.next()) {
        (Some(body), None) => Ok(body),
        _ => Err(format!("no body of {id} is known where it was filed")),
    }
}

/// The answer that was begun before, where it is another one than this: it may be with the sender already, and has to be
/// finished instead.
#[must_use]
pub fn begun(message: &Message, by: &str, state: inbox::State, text: &str) -> Option<Begun> {
    let first = message.standing.begun.as_deref()?;
    let same = first.state == state && first.by == by && first.text == mask::mask(text).0;
    (!same).then(|| first.clone())
}

/// Answers a message: the log says that it is begun, the answer goes into the sender's inbox, then the log says that it is
/// given. Run again after it was killed in between, it files nothing twice; whoever says something else then is told by
/// [`begun`].
///
/// # Errors
/// Where the answer or the log can't be written.
pub fn answer(
    mailbox: &Mailbox,
    home: &Path,
    message: &Message,
    by: &str,
    state: inbox::State,
    text: &str,
    at: Timestamp,
) -> Result<Answered, MailError> {
    let (text, _) = mask::mask(text);
    let mut answered = where_to(message, home);
    // Requests that are held beside the messages share their keys.
    let held = message.path.parent().is_some_and(|dir| dir.ends_with("held"));
    if matches!(answered, Answered::To { .. }) && !held && message.standing.begun.is_none() {
        let mut record = inbox::record(at, &message.key, "answering", by);
        record["state"] = state.word().into();
        record["text"] = text.as_str().into();
        mailbox.log(&record)?;
    }
    if let Answered::To { id, to, inbox } = &mut answered {
        // A digest that was opened again by a further request is answered anew, though in the same words.
        let held = message.standing.held.len().to_string();
        let mut parts: Vec<&[u8]> = vec![b"reply", message.id.as_bytes(), by.as_bytes(), state.word().as_bytes(), text.as_bytes()];
        if !message.standing.held.is_empty() {
            parts.push(held.as_bytes());
        }
        let key = key(&parts);
        let reply = Letter {
            id: letter::id(at, &key),
            kind: Kind::Reply,
            from: by.to_owned(),
            from_body: Some(mailbox.place()).and_then(Path::to_str).map(str::to_owned),
            to: to.clone(),
            at: time::to_second(at),
            fields: vec![("re", Field::Text(message.id.clone())), ("state", Field::Text(state.word().to_owned()))],
            body: fence::block("markdown", &text),
        };
        let human = Mailbox::of_human(home);
        let theirs = if to == HUMAN { human } else { Mailbox::at(inbox).unwrap_or(human) };
        let placed = theirs.deliver(&key, &reply.render())?;
        // Delivered by a run that was killed before it noted that: this one does.
        let noted = || theirs.newest_records().is_ok_and(|records| records.iter().any(|one| one["key"] == key && one["event"] == "filed"));
        if matches!(placed, Placed::Fresh(_)) || !noted() {
            inbox::note_filed(&theirs, &key, &reply, &placed, at, by)?;
        }
        *id = match placed {
            Placed::Fresh(_) => reply.id,
            Placed::Again(path) => inbox::id_of(&path, &key)?,
        };
    }
    let mut record = inbox::record(at, &message.key, state.word(), by);
    record["text"] = text.into();
    // Requests that are held beside the messages are told apart by their file: the same one may be asked
    // in another hour again.
    if let Some(name) =
        message.path.file_name().and_then(|name| name.to_str()).filter(|_| message.path.parent().is_some_and(|dir| dir.ends_with("held")))
    {
        record["held"] = name.into();
    }
    if let Answered::To { id, .. } = &answered {
        record["reply"] = id.clone().into();
    }
    mailbox.log(&record)?;
    Ok(answered)
}

/// The most of a text that is added later.
const MAX_ADDED: usize = 32 << 10;

/// Why nothing could be added to a message.
#[derive(Debug, thiserror::Error)]
pub enum HandoverError {
    /// Whoever asks filed nothing under that id.
    #[error("find what you filed as `{}`", shown::text(.0))]
    Unknown(String),
    /// The beginning of an id that fits several.
    #[error("tell which one you mean: {}", .0.iter().map(|sent| sent.id.as_str()).collect::<Vec<_>>().join(", "))]
    Several(Vec<Sent>),
    /// The message is no longer where it was filed.
    #[error("find {0} in the inbox that it was filed in")]
    Gone(String),
    /// The inbox.
    #[error(transparent)]
    Mail(#[from] MailError),
}

/// A message that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Its id.
    pub id: String,
    /// To whom.
    pub to: String,
    /// The inbox that it lies in.
    pub inbox: PathBuf,
    /// When, as written.
    pub at: String,
}

impl Sent {
    /// What it is about, where its message can still be read: its first target.
    #[must_use]
    pub fn about(&self) -> Option<String> {
        let mailbox = Mailbox::at(&self.inbox)?;
        let path = mailbox.find(letter::key(&self.id)?).ok()??;
        let (data, _) = disk::read_start(&path, MAX_LETTER).ok()?;
        inbox::parsed(&self.id, &data).list("targets").into_iter().next()
    }
}

/// What an asker sent under an id or the beginning of one.
///
/// # Errors
/// Where that names none or several.
pub fn sent(asker: &Asker, state: &Path, id: &str) -> Result<Sent, HandoverError> {
    let unknown = || HandoverError::Unknown(id.to_owned());
    let log = sent_log(asker, state);
    let (data, _) = disk::read_start(&log, 16 << 20).map_err(|_| unknown())?;
    let mut found: Vec<Sent> = Vec::new();
    for line in data.split(|byte| *byte == b'\n') {
        let Ok(record) = serde_json::from_slice::<serde_json::Value>(line) else { continue };
        let text = |key: &str| record.get(key).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
        let sent = Sent { id: text("id"), to: text("to"), inbox: PathBuf::from(text("inbox")), at: text("at") };
        let fits = !id.is_empty() && (sent.id.starts_with(id) || letter::key(&sent.id).is_some_and(|key| key.starts_with(id)));
        if fits && !found.iter().any(|other| other.id == sent.id) {
            found.push(sent);
        }
    }
    match found.len() {
        0 => Err(unknown()),
        1 => found.pop().ok_or_else(unknown),
        _ => Err(HandoverError::Several(found)),
    }
}

/// Adds what only the sender knows to a message, through the inbox's log. The same text again adds
/// nothing.
///
/// # Errors
/// Where the message is gone or the log can't be written.
pub fn hand_over(sent: &Sent, asker: &Asker, text: &str, state: &Path, at: Timestamp) -> Result<(), HandoverError> {
    let gone = || HandoverError::Gone(sent.id.clone());
    let mailbox = Mailbox::at(&sent.inbox).ok_or_else(gone)?;
    let key = letter::key(&sent.id).ok_or_else(gone)?;
    let held = || Ok::<bool, MailError>(mailbox.held()?.iter().any(|name| name.ends_with(&format!(".{key}.md"))));
    let letter = mailbox.find(key)?;
    if letter.is_none() && !held()? {
        return Err(gone());
    }
    let (text, _) = mask::mask(text.get(..cut_at(text, MAX_ADDED)).unwrap_or_default());
    let (records, _) = mailbox.records()?;
    let known = inbox::fold(&records).remove(key).unwrap_or_default().added;
    if known.iter().any(|added| added.by == asker.name() && added.text == text) {
        return Ok(());
    }
    let mut record = inbox::record(at, key, "added", asker.name());
    record["text"] = text.into();
    if let Some(letter) = letter {
        let reads = read_since(&letter, state)?;
        if !reads.is_empty() {
            record["reads"] = reads.into();
        }
    }
    Ok(mailbox.log(&record)?)
}

/// What the session of a message has read beyond what the message says, newest last.
fn read_since(letter: &Path, state: &Path) -> Result<Vec<String>, MailError> {
    let (data, _) = disk::read_start(letter, header::MAX_BYTES as u64)?;
    let head = header::parse(&data);
    let Some(session) = head.text("session") else { return Ok(Vec::new()) };
    let known: Vec<&str> =
        head.value("reads").and_then(serde_json::Value::as_array).into_iter().flatten().filter_map(serde_json::Value::as_str).collect();
    let reads = trail::reads(state, session).iter().map(Read::shown).filter(|read| !known.contains(&read.as_str())).collect();
    Ok(bounded(reads))
}

/// The newest that fit into a line of the log.
fn bounded(mut reads: Vec<String>) -> Vec<String> {
    let mut room = 4 << 10;
    let fit = reads
        .iter()
        .rev()
        .take_while(|read| {
            room > read.len() && {
                room -= read.len();
                true
            }
        })
        .count();
    reads.split_off(reads.len() - fit)
}
