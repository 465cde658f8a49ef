//! An inbox as it is read: messages, where they stand, and which one an id names.
//!
//! Where a message stands is a fold over the log, never a field of it.

pub(super) mod compact;
mod list;
mod message;
mod shows;
mod standing;

use super::letter::{self, Letter};
use super::maildir::{Found, MailError, Mailbox, Odd, Placed};
use crate::sys::disk;
use crate::sys::time::Timestamp;

pub use list::{Contents, Listed, Log, NoMessage, list, named};
pub use message::{Message, held_text, id_of, message, parsed};
pub use shows::{Shows, Text};
pub use standing::{Added, Begun, Folded, Noted, Standing, State, fold, fold_bytes, last_worked, record};

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
    let rest =
        (left > 0).then(|| format!("and {} no message", crate::sys::shown::count(left, "more thing that is", "more things that are")));
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::message::START;
    use super::*;
    use crate::text::header;

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
