//! Where messages stand: a fold over the log, never a field of the message.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::letter;
use super::maildir::{MAX_LETTER, MailError, Mailbox};
use crate::sys::disk;
use crate::sys::time::{self, Timestamp};
use crate::text::header::{self, Header};

/// Where a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum State {
    /// Nobody has dealt with it.
    #[default]
    New,
    /// Somebody has begun.
    Taken,
    /// Answered.
    Done,
    /// Answered with no.
    Declined,
}

impl State {
    /// The word in lists and `--json`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Taken => "taken",
            Self::Done => "done",
            Self::Declined => "declined",
        }
    }

    /// Whether nothing more is to be done.
    #[must_use]
    pub fn is_closed(self) -> bool {
        matches!(self, Self::Done | Self::Declined)
    }
}

/// Something that was added to a message later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// When.
    pub at: String,
    /// By whom.
    pub by: String,
    /// What.
    pub text: String,
    /// What was read since the message was filed.
    pub reads: Vec<String>,
}

/// What the log says about one message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// Where it stands.
    pub state: State,
    /// How often the same attempt was made again.
    pub again: u64,
    /// Whether its change was applied.
    pub applied: bool,
    /// What the sender added: reads and ideas.
    pub added: Vec<Added>,
    /// The answer, where there is one: when, by whom, what.
    pub answer: Option<Added>,
    /// Files in `held/` that belong to it.
    pub held: Vec<String>,
    /// Requests of the same hour that were counted and not kept.
    pub unkept: u64,
}

impl Standing {
    /// What came in after the answer was not answered: it would hide behind the word `done`.
    fn reopen(&mut self) {
        if self.state.is_closed() {
            self.state = State::New;
        }
    }
}

/// Folds the records of a log, in order. A record that says nothing known is passed over: an older
/// reader meets a newer writer.
#[must_use]
pub fn fold(records: &[Value]) -> BTreeMap<String, Standing> {
    let mut all: BTreeMap<String, Standing> = BTreeMap::new();
    for record in records {
        let text = |key: &str| record.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let key = text("key");
        if !letter::is_key(&key) {
            continue;
        }
        let one = all.entry(key).or_default();
        let reads =
            || record.get("reads").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        let added = |what: &str| Added { at: text("at"), by: text("by"), text: text(what), reads: reads() };
        match text("event").as_str() {
            "again" => one.again += 1,
            "added" => one.added.push(added("text")),
            "taken" if !one.state.is_closed() => one.state = State::Taken,
            "applied" => {
                one.applied = true;
                if !one.state.is_closed() {
                    one.state = State::Taken;
                }
            }
            // It was finished and is gone; the same attempt begins anew.
            "pruned" => *one = Standing::default(),
            "done" => {
                one.state = State::Done;
                // An answer that was read and closed has no answer of its own.
                one.answer = record.get("text").is_some().then(|| added("text"));
            }
            "declined" => (one.state, one.answer) = (State::Declined, Some(added("text"))),
            "held" => {
                let name = text("held");
                if !one.held.contains(&name) {
                    one.held.push(name);
                    one.reopen();
                }
            }
            "unkept" => {
                one.unkept += 1;
                one.reopen();
            }
            _ => {}
        }
    }
    all
}

/// When somebody last dealt with a message of this inbox.
#[must_use]
pub fn last_worked(records: &[Value]) -> Option<&str> {
    let works = |record: &&Value| matches!(record.get("event").and_then(Value::as_str), Some("taken" | "applied" | "done" | "declined"));
    records.iter().rev().find(works)?.get("at")?.as_str()
}

/// A record for the log.
#[must_use]
pub fn record(at: Timestamp, key: &str, event: &str, by: &str) -> Value {
    json!({ "at": time::to_second(at), "key": key, "event": event, "by": by })
}

/// A message as it lies in an inbox, with where it stands.
#[derive(Debug, Clone)]
pub struct Message {
    /// The key that its file is named by.
    pub key: String,
    /// The id; its key where the file does not say.
    pub id: String,
    /// The file.
    pub path: PathBuf,
    /// Whether it is still in `new/`.
    pub new: bool,
    /// The front matter.
    pub header: Header,
    /// The file, or the start of it with the front matter: see [`Message::in_full`].
    pub data: Vec<u8>,
    /// Where it stands.
    pub standing: Standing,
}

impl Message {
    /// A field of the front matter as text.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.header.text(key)
    }

    /// A field that is a list of texts.
    #[must_use]
    pub fn list(&self, key: &str) -> Vec<String> {
        let items = self.header.value(key).and_then(Value::as_array);
        items.map(|items| items.iter().filter_map(Value::as_str).map(str::to_owned).collect()).unwrap_or_default()
    }

    /// The same with the whole file read.
    ///
    /// # Errors
    /// Where it can't be read.
    pub fn in_full(&self) -> Result<Self, MailError> {
        let data = disk::read_start(&self.path, MAX_LETTER)?.0;
        Ok(Self { header: header::parse(&data), data, ..self.clone() })
    }

    /// Whether it answers a message: then nobody waits for an answer to it.
    #[must_use]
    pub fn is_answer(&self) -> bool {
        self.text("kind") == Some(letter::Kind::Reply.word())
    }

    /// The text below the front matter, as far as it was read.
    #[must_use]
    pub fn body(&self) -> String {
        String::from_utf8_lossy(self.header.body_of(&self.data)).into_owned()
    }
}

/// What was found in an inbox.
#[derive(Debug, Default)]
pub struct Contents {
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// What people should be told: torn lines, files that can't be read.
    pub notes: Vec<String>,
}

/// Reads an inbox: of each message no more than its start. Nothing is written.
///
/// # Errors
/// Where the inbox itself can't be used; one bad message is a note.
pub fn read(mailbox: &Mailbox) -> Result<Contents, MailError> {
    let (records, skipped) = mailbox.records()?;
    let mut standings = fold(&records);
    let mut contents = Contents::default();
    if skipped > 0 {
        contents.notes.push(format!("{skipped} lines of {} can't be read and were skipped", crate::sys::shown::path(&mailbox.log_file())));
    }
    for (key, new) in mailbox.keys()? {
        let path = mailbox.dir().join(if new { "new" } else { "cur" }).join(format!("{key}.md"));
        match message(&path, &key, new) {
            Ok(mut message) => {
                message.standing = standings.remove(&key).unwrap_or_default();
                contents.messages.push(message);
            }
            Err(error) => contents.notes.push(format!("failed to {error}")),
        }
    }
    contents.messages.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(contents)
}

/// How much of a message is read at first: front matter is seldom longer.
const START: u64 = 4 << 10;

/// The start of a message, as far as its front matter goes.
///
/// # Errors
/// Where the file can't be read.
pub fn message(path: &Path, key: &str, new: bool) -> Result<Message, MailError> {
    let (mut data, more) = disk::read_start(path, START)?;
    if more && !data.windows(5).any(|bytes| bytes == b"\n---\n") {
        data = disk::read_start(path, header::MAX_BYTES as u64 + START)?.0;
    }
    // The cut may go through a character; half of one would make all of it no text.
    if more
        && let Err(error) = std::str::from_utf8(&data)
        && error.error_len().is_none()
    {
        data.truncate(error.valid_up_to());
    }
    let header = header::parse(&data);
    // A file whose id does not belong to its name was not put there by a delivery.
    let id = header.text("id").filter(|id| letter::key(id) == Some(key)).unwrap_or(key).to_owned();
    Ok(Message { key: key.to_owned(), id, path: path.to_owned(), new, header, data, standing: Standing::default() })
}

/// Takes away messages that were finished before this instant, with what is held beside them; how
/// many. Whoever is killed in between leaves nothing that the next time does not take along.
///
/// # Errors
/// Where one can't be taken away.
pub fn prune(mailbox: &Mailbox, before: Timestamp, now: Timestamp) -> Result<usize, MailError> {
    let (records, _) = mailbox.records()?;
    let mut gone = 0;
    for (key, standing) in fold(&records) {
        let old = |answer: &Added| answer.at.parse::<Timestamp>().is_ok_and(|at| at < before);
        if !standing.state.is_closed() || !standing.answer.as_ref().is_some_and(old) {
            continue;
        }
        if let Some(path) = mailbox.find(&key)? {
            disk::remove_file(&path)?;
            gone += 1;
        }
        for name in mailbox.held()?.iter().filter(|name| name.starts_with(&key)) {
            disk::remove_file(&mailbox.dir().join("held").join(name))?;
        }
        mailbox.log(&record(now, &key, "pruned", "loci"))?;
    }
    Ok(gone)
}

/// A message that is held beside the others, by its name there and its text.
#[must_use]
pub fn parsed(name: &str, data: &[u8]) -> Message {
    let header = header::parse(data);
    let key = name.split('.').rfind(|part| letter::is_key(part)).unwrap_or(name).to_owned();
    let id = header.text("id").filter(|id| letter::key(id) == Some(&key)).unwrap_or(&key).to_owned();
    Message { id, key, path: PathBuf::new(), new: false, header, data: data.to_owned(), standing: Standing::default() }
}

/// The text of a file that is held beside the messages. The name comes from the log: only one that a
/// delivery makes is read.
///
/// # Errors
/// Where it can't be read.
pub fn held_text(mailbox: &Mailbox, name: &str) -> Result<String, MailError> {
    let made = name.split('.').filter(|part| !matches!(*part, "md" | "txt")).all(letter::is_key);
    let path = mailbox.dir().join("held").join(name);
    if !made {
        return Err(MailError::Odd { path, expected: "the name of a message" });
    }
    Ok(String::from_utf8_lossy(&disk::read_start(&path, MAX_LETTER)?.0).into_owned())
}

/// The id in a message file, without reading more of it than that.
///
/// # Errors
/// Where the file can't be read.
pub fn id_of(path: &Path, key: &str) -> Result<String, MailError> {
    let (data, _) = disk::read_start(path, 512)?;
    let text = String::from_utf8_lossy(&data);
    let id = text.lines().take(8).find_map(|line| line.strip_prefix("id: \"")?.strip_suffix('"'));
    Ok(id.filter(|id| letter::key(id) == Some(key)).unwrap_or(key).to_owned())
}

/// Why an id names no message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoMessage {
    /// None begins like that.
    None,
    /// Several do; these.
    Several(Vec<String>),
}

/// The message that an id, a key, or a beginning of one names.
///
/// # Errors
/// Where it names none or several.
pub fn named<'a>(messages: &'a [Message], id: &str) -> Result<&'a Message, NoMessage> {
    if id.is_empty() {
        return Err(NoMessage::None);
    }
    let found: Vec<&Message> = messages.iter().filter(|message| message.id.starts_with(id) || message.key.starts_with(id)).collect();
    match found.as_slice() {
        [] => Err(NoMessage::None),
        [one] => Ok(one),
        several => several
            .iter()
            .find(|message| message.id == id || message.key == id)
            .copied()
            .ok_or_else(|| NoMessage::Several(several.iter().map(|message| message.id.clone()).collect())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "0123456789abcdef";

    fn log(lines: &[(&str, &str)]) -> Vec<Value> {
        lines.iter().map(|(event, text)| json!({ "at": "t", "key": KEY, "event": event, "by": "b", "text": text, "held": text })).collect()
    }

    /// Wherever the first look at a message ends, its front matter is read.
    #[test]
    fn a_cut_through_a_character_is_no_damage() {
        let dir = PathBuf::from("/tmp").join(format!("loci-inbox-cut-{}", std::process::id()));
        let mailbox = Mailbox::of(&dir);
        for pad in ["", "x"] {
            let _ = disk::remove_tree(&dir);
            let letter = format!("---\nid: \"20261130T100000Z-{KEY}\"\nfrom: alice\n---\n{pad}{}", "é".repeat(9000));
            mailbox.deliver(KEY, letter.as_bytes()).unwrap();
            assert_eq!(read(&mailbox).unwrap().messages[0].text("from"), Some("alice"), "{pad}");
        }
        disk::remove_tree(&dir).unwrap();
    }

    /// What a list costs does not grow with what the messages carry.
    #[test]
    fn no_more_is_read_than_the_front_matter() {
        let dir = PathBuf::from("/tmp").join(format!("loci-inbox-{}", std::process::id()));
        let mailbox = Mailbox::of(&dir);
        let front = |lists: usize| {
            let item = format!("  - \"/{}\"\n", "t".repeat(60));
            format!("---\nschema: 1\nid: \"20261130T100000Z-{KEY}\"\nkind: delegation\ntargets:\n{}---\n\n", item.repeat(lists))
        };
        for (lists, most) in [(1, START), (200, header::MAX_BYTES as u64 + START)] {
            let _ = disk::remove_tree(&dir);
            mailbox.deliver(KEY, format!("{}{}", front(lists), "x".repeat(900_000)).as_bytes()).unwrap();
            let contents = read(&mailbox).unwrap();
            let message = &contents.messages[0];
            assert!(message.data.len() as u64 <= most, "{}", message.data.len());
            assert_eq!((message.list("targets").len(), message.id.len()), (lists, 33));
            assert!(message.in_full().unwrap().body().len() > 900_000);
        }
        disk::remove_tree(&dir).unwrap();
    }

    #[test]
    fn the_log_says_where_a_message_stands() {
        let one = |lines: &[(&str, &str)]| fold(&log(lines)).remove(KEY).unwrap_or_default();
        assert_eq!(one(&[]).state, State::New);
        assert_eq!(one(&[("filed", ""), ("again", ""), ("again", "")]).again, 2);
        assert_eq!(one(&[("taken", ""), ("again", "")]).state, State::Taken);
        let done = one(&[("taken", ""), ("added", "idea"), ("done", "yes"), ("taken", "")]);
        assert_eq!((done.state, done.answer.map(|answer| answer.text).as_deref()), (State::Done, Some("yes")));
        assert_eq!(done.added.len(), 1);
        assert_eq!(one(&[("declined", "no")]).state, State::Declined);
        let applied = one(&[("applied", ""), ("again", "")]);
        assert_eq!((applied.state, applied.applied), (State::Taken, true));
        assert_eq!(one(&[("done", "yes"), ("pruned", "")]), Standing::default());
        assert_eq!(one(&[("held", "x"), ("held", "x"), ("held", "y")]).held, ["x", "y"]);
        // A further request opens a digest again; the same one once more does not.
        assert_eq!(one(&[("held", "x"), ("done", "ok"), ("held", "x")]).state, State::Done);
        let further = one(&[("held", "x"), ("done", "ok"), ("held", "y")]);
        assert_eq!((further.state, further.answer.is_some()), (State::New, true));
        assert_eq!(one(&[("held", "x"), ("declined", "no"), ("unkept", "")]).state, State::New);
        assert_eq!(one(&[("from-the-future", "")]).state, State::New);
        assert!(fold(&[json!({ "key": "../../x", "event": "done" }), json!({})]).is_empty());
    }
}
