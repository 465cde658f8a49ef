//! One message: its file, read as far as is needed.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Standing;
use crate::custody::letter;
use crate::custody::maildir::{MAX_LETTER, MailError, Mailbox};
use crate::sys::disk;
use crate::text::header::{self, Header};

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

/// How much of a message is read at first: front matter is seldom longer.
pub(super) const START: u64 = 4 << 10;

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
