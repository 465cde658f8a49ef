//! What lies in an inbox, and where each of it stands.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use super::standing::{self, Folded, Standing, fold_bytes};
use super::{Message, Shows, message, odd_notes};
use crate::custody::letter;
use crate::custody::maildir::{Found, Lying, MailError, Mailbox};
use crate::sys::shown;

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

    /// Reads the file, in `cur/` where somebody has taken it since the look at `new/`.
    fn read(&self) -> Result<(Message, bool), MailError> {
        match message(&self.path(), &self.key, self.new) {
            Ok(read) => Ok((read, self.new)),
            Err(error) => match message(&self.mailbox.lies_at(&self.key, false), &self.key, false) {
                Ok(read) => Ok((read, false)),
                Err(_) => Err(error),
            },
        }
    }

    /// Takes what is shown from the file.
    fn look(&mut self) -> Result<(), MailError> {
        let (read, new) = self.read()?;
        (self.shows, self.new) = (Shows::of(&read), new);
        Ok(())
    }

    /// The message itself: whatever the log noted, here its whole file speaks.
    ///
    /// # Errors
    /// Where it can't be read.
    pub fn open(&self) -> Result<Message, MailError> {
        let mut message = self.read()?.0.in_full()?;
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
        let Found { lying, odd } = self.mailbox.lying()?;
        let files: Vec<u64> = lying.iter().map(|lying| lying.inode).collect();
        let slots: HashMap<u64, usize> =
            lying.iter().enumerate().filter_map(|(at, lying)| Some((letter::number(&lying.key)?, at))).collect();
        let unread = |Lying { key, new, .. }| Listed {
            mailbox: self.mailbox,
            key,
            new,
            shows: Shows::default(),
            from_log: false,
            standing: Standing::default(),
        };
        let mut messages: Vec<Listed<'_>> = lying.into_iter().map(unread).collect();
        // What the log says goes to where it is shown from, and is not held twice.
        let skipped = standing::each(&self.data, |line, shows| {
            let at = letter::number(&line.key).and_then(|number| slots.get(&number));
            let Some(listed) = at.and_then(|at| messages.get_mut(*at)) else { return };
            standing::note(&mut listed.standing, line, shows, |shows| {
                listed.from_log = shows.is_some();
                listed.shows = shows.unwrap_or_default();
            });
        });
        let mut notes: Vec<String> = self.skipped(skipped).into_iter().chain(odd_notes(&odd)).collect();
        let mut gone = HashSet::new();
        for (listed, inode) in messages.iter_mut().zip(files) {
            listed.from_log = listed.from_log && listed.shows.fits(&listed.key, inode);
            if !listed.from_log
                && let Err(error) = listed.look()
            {
                notes.push(format!("failed to {error}"));
                gone.insert(listed.key.clone());
            }
        }
        if !gone.is_empty() {
            messages.retain(|listed| !gone.contains(&listed.key));
        }
        // What is moved is large, and what is compared is not: each goes to its place once.
        messages.sort_by_cached_key(|listed| listed.shows.id.clone());
        Ok(Contents { messages, notes })
    }

    pub(super) fn folded(&self) -> (Folded<'_>, Vec<String>) {
        let (folded, skipped) = fold_bytes(&self.data);
        (folded, self.skipped(skipped).into_iter().collect())
    }

    /// How many lines could not be read, in words.
    fn skipped(&self, lines: usize) -> Option<String> {
        let skipped = lines + usize::from(self.cut);
        (skipped > 0).then(|| {
            format!("passed over: {} of {}, unreadable", shown::count(skipped, "line", "lines"), shown::path(&self.mailbox.log_file()))
        })
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
