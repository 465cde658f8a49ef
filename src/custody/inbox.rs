//! An inbox as it is read: messages, where they stand, and which one an id names.
//!
//! Where a message stands is a fold over the log, never a field of it.

pub(super) mod compact;
mod shows;
mod standing;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::letter::{self, Letter};
use super::maildir::{Found, Lying, MAX_LETTER, MailError, Mailbox, Odd, Placed};
use crate::sys::disk;
use crate::sys::shown;
use crate::sys::time::Timestamp;
use crate::text::header::{self, Header};

pub use shows::{Shows, Text};
pub use standing::{Added, Folded, Noted, Standing, State, fold, fold_bytes, last_worked, record};

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

/// A message as a list shows it.
#[derive(Debug, Clone)]
pub struct Listed<'a> {
    /// The inbox that it lies in.
    pub mailbox: &'a Mailbox,
    /// The key that its file is named by.
    pub key: String,
    /// Whether it is still in `new/`.
    pub new: bool,
    /// What is shown of it.
    pub shows: Shows<'a>,
    /// Whether that is what its delivery noted in the log; else it is what its file says.
    pub from_log: bool,
    /// Where it stands.
    pub standing: Standing,
}

impl Listed<'_> {
    /// The file.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.mailbox.lies_at(&self.key, self.new)
    }

    /// The message itself: whatever the log noted, here its whole file speaks.
    ///
    /// # Errors
    /// Where it can't be read.
    pub fn open(&self) -> Result<Message, MailError> {
        let mut message = message(&self.path(), &self.key, self.new)?.in_full()?;
        message.standing = self.standing.clone();
        Ok(message)
    }
}

/// What was found in an inbox.
#[derive(Debug, Default)]
pub struct Contents<'a> {
    /// The messages, oldest first.
    pub messages: Vec<Listed<'a>>,
    /// What people should be told: torn lines, files that can't be read.
    pub notes: Vec<String>,
}

/// The log of an inbox as it was read: what is listed stands in it, and is not copied out.
#[derive(Debug)]
pub struct Log<'a> {
    mailbox: &'a Mailbox,
    data: Vec<u8>,
    /// There is more of it than is read.
    cut: bool,
}

impl<'a> Log<'a> {
    /// Reads it. One that is not there is empty.
    ///
    /// # Errors
    /// Where the inbox can't be used.
    pub fn read(mailbox: &'a Mailbox) -> Result<Self, MailError> {
        let (data, cut) = mailbox.log_bytes()?;
        Ok(Self { mailbox, data, cut })
    }

    /// Lists the inbox. Which messages there are is what lies there; what is shown of one is what its
    /// delivery noted in the log for just this file, else it is read. Nothing is written.
    ///
    /// # Errors
    /// Where the inbox itself can't be used; one bad message is a note.
    pub fn list(&self) -> Result<Contents<'_>, MailError> {
        let (mut folded, notes) = self.folded();
        let Found { lying, odd } = self.mailbox.lying()?;
        let mut contents = Contents { messages: Vec::with_capacity(lying.len()), notes };
        contents.notes.extend(odd_notes(&odd));
        for Lying { key, new, inode } in lying {
            let Noted { standing, shows } = letter::number(&key).and_then(|number| folded.remove(&number)).unwrap_or_default();
            let from_log = shows.filter(|shows| shows.fits(&key, inode));
            let mut listed =
                Listed { mailbox: self.mailbox, key, new, from_log: from_log.is_some(), shows: from_log.unwrap_or_default(), standing };
            if !listed.from_log {
                let read = message(&listed.path(), &listed.key, new).or_else(|error| {
                    // Somebody has taken it since the look at `new/`.
                    listed.new = false;
                    message(&listed.path(), &listed.key, false).map_err(|_| error)
                });
                match read {
                    Ok(message) => listed.shows = Shows::of(&message),
                    Err(error) => {
                        contents.notes.push(format!("failed to {error}"));
                        continue;
                    }
                }
            }
            contents.messages.push(listed);
        }
        contents.messages.sort_unstable_by(|a, b| a.shows.id.cmp(&b.shows.id));
        Ok(contents)
    }

    fn folded(&self) -> (Folded<'_>, Vec<String>) {
        let (folded, skipped) = fold_bytes(&self.data);
        let skipped = skipped + usize::from(self.cut);
        let note = || format!("{skipped} lines of {} can't be read and were skipped", shown::path(&self.mailbox.log_file()));
        (folded, (skipped > 0).then(note).into_iter().collect())
    }
}

/// As [`Log::list`], kept apart from the log: for whoever goes on with single messages.
///
/// # Errors
/// As [`Log::list`].
pub fn list(mailbox: &Mailbox) -> Result<Contents<'_>, MailError> {
    let log = Log::read(mailbox)?;
    let Contents { messages, notes } = log.list()?;
    let apart = |one: Listed<'_>| Listed {
        mailbox,
        shows: one.shows.into_owned(),
        key: one.key,
        new: one.new,
        from_log: one.from_log,
        standing: one.standing,
    };
    Ok(Contents { messages: messages.into_iter().map(apart).collect(), notes })
}

/// Notes in the log that a letter was delivered, with what a list shows of it.
///
/// # Errors
/// Where the log can't be written.
pub fn note_filed(mailbox: &Mailbox, key: &str, letter: &Letter, placed: &Placed, at: Timestamp, by: &str) -> Result<(), MailError> {
    let mut record = record(at, key, "filed", by);
    let shows = match placed {
        Placed::Fresh(_) => Some(Shows::of_letter(letter)),
        // What lies there counts: it may have been delivered at another second.
        Placed::Again(path) => message(path, key, true).ok().map(|message| Shows::of(&message)),
    };
    let (Placed::Fresh(path) | Placed::Again(path)) = placed;
    // Gone on to `cur/` already: then a list reads the file.
    if let Some(meta) = disk::look(path)?
        && let Some(noted) = shows.and_then(|shows| Shows { inode: meta.id.1, ..shows }.noted())
    {
        record["message"] = noted;
    }
    mailbox.log(&record)
}

/// Where each message stands that lies here; what people should be told. No message is opened.
///
/// # Errors
/// Where the inbox can't be used.
pub fn states(mailbox: &Mailbox) -> Result<(Vec<State>, Vec<String>), MailError> {
    let log = Log::read(mailbox)?;
    let (folded, mut notes) = log.folded();
    let Found { lying, odd } = mailbox.lying()?;
    notes.extend(odd_notes(&odd));
    Ok((lying.iter().map(|lying| state_of(&folded, &lying.key)).collect(), notes))
}

/// How many things that are no messages are named.
const MAX_NAMED: usize = 8;

fn odd_notes(odd: &[Odd]) -> Vec<String> {
    let left = odd.len().saturating_sub(MAX_NAMED);
    let rest = (left > 0).then(|| format!("and {left} more that are no messages"));
    odd.iter().take(MAX_NAMED).map(Odd::to_string).chain(rest).collect()
}

/// Where one message stands.
///
/// # Errors
/// Where the inbox can't be used.
pub fn standing(mailbox: &Mailbox, key: &str) -> Result<Standing, MailError> {
    let log = Log::read(mailbox)?;
    let (mut folded, _) = log.folded();
    Ok(letter::number(key).and_then(|number| folded.remove(&number)).unwrap_or_default().standing)
}

fn state_of(folded: &Folded<'_>, key: &str) -> State {
    letter::number(key).and_then(|number| folded.get(&number)).map(|noted| noted.standing.state).unwrap_or_default()
}

/// Moves every message on that the log knows and `new/` still holds: also those of a run that was
/// killed between the two.
///
/// # Errors
/// Where one can't be moved.
pub fn settle(mailbox: &Mailbox) -> Result<(), MailError> {
    let log = Log::read(mailbox)?;
    let (folded, _) = log.folded();
    for lying in mailbox.lying()?.lying.into_iter().filter(|lying| lying.new) {
        if state_of(&folded, &lying.key) != State::New {
            mailbox.settle(&lying.key)?;
        }
    }
    Ok(())
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
    let log = Log::read(mailbox)?;
    let (folded, _) = log.folded();
    let old = |closed: &str| closed.parse::<Timestamp>().is_ok_and(|at| at < before);
    let closed = folded.iter().filter(|(_, noted)| noted.standing.closed.as_deref().is_some_and(old));
    let mut keys: Vec<String> = closed.map(|(number, _)| letter::of_number(*number)).collect();
    keys.sort_unstable();
    let mut held = None;
    let mut gone = 0;
    for key in keys {
        if let Some(path) = mailbox.find(&key)? {
            disk::remove_file(&path)?;
            gone += 1;
        }
        if held.is_none() {
            held = Some(mailbox.held()?);
        }
        for name in held.iter().flatten().filter(|name| name.starts_with(&key)) {
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
pub fn named<'a, 'b>(messages: &'a [Listed<'b>], id: &str) -> Result<&'a Listed<'b>, NoMessage> {
    if id.is_empty() {
        return Err(NoMessage::None);
    }
    let found: Vec<&Listed<'_>> =
        messages.iter().filter(|message| message.shows.id.starts_with(id) || message.key.starts_with(id)).collect();
    match found.as_slice() {
        [] => Err(NoMessage::None),
        [one] => Ok(one),
        several => several
            .iter()
            .find(|message| message.shows.id == id || message.key == id)
            .copied()
            .ok_or_else(|| NoMessage::Several(several.iter().map(|message| message.shows.id.to_string()).collect())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "0123456789abcdef";

    /// Wherever the first look at a message ends, its front matter is read.
    #[test]
    fn a_cut_through_a_character_is_no_damage() {
        let dir = PathBuf::from("/tmp").join(format!("loci-inbox-cut-{}", std::process::id()));
        let mailbox = Mailbox::of(&dir);
        for pad in ["", "x"] {
            let _ = disk::remove_tree(&dir);
            let letter = format!("---\nid: \"20261130T100000Z-{KEY}\"\nfrom: alice\n---\n{pad}{}", "é".repeat(9000));
            mailbox.deliver(KEY, letter.as_bytes()).unwrap();
            let log = Log::read(&mailbox).unwrap();
            assert_eq!(log.list().unwrap().messages[0].shows.from.as_deref(), Some("alice"), "{pad}");
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
            let path = mailbox.find(KEY).unwrap().unwrap();
            let message = message(&path, KEY, true).unwrap();
            assert!(message.data.len() as u64 <= most, "{}", message.data.len());
            assert_eq!((message.list("targets").len(), message.id.len()), (lists, 33));
            assert!(message.in_full().unwrap().body().len() > 900_000);
        }
        disk::remove_tree(&dir).unwrap();
    }
}
