//! What a list shows of a message: noted in the log when it is delivered, so that a long inbox is listed
//! without opening a file, and read from the file where the log does not say.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Message;
use crate::custody::letter::{self, Field, Letter};

/// The most that a record holds of it, in bytes: where it is more, a list opens the file.
const MAX: usize = 1 << 10;

/// What a list shows of a message.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Shows {
    /// Its id.
    pub id: String,
    /// What it is.
    pub kind: Option<String>,
    /// The sender.
    pub from: Option<String>,
    /// The recipient.
    pub to: Option<String>,
    /// When.
    pub at: Option<String>,
    /// What it is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// What it carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// What it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub re: Option<String>,
    /// The file that it was read from or delivered as: another one of that name is another message.
    pub inode: u64,
}

impl Shows {
    /// Of a message that was read.
    #[must_use]
    pub fn of(message: &Message) -> Self {
        let text = |key: &str| message.text(key).map(str::to_owned);
        Self {
            id: message.id.clone(),
            kind: text("kind"),
            from: text("from"),
            to: text("to"),
            at: text("at"),
            targets: message.list("targets"),
            change: text("change"),
            re: text("re"),
            inode: 0,
        }
    }

    /// Of a letter.
    #[must_use]
    pub fn of_letter(letter: &Letter) -> Self {
        let field = |name: &str| letter.fields.iter().find(|(key, _)| *key == name).map(|(_, field)| field);
        let text = |name: &str| if let Some(Field::Text(text)) = field(name) { Some(text.clone()) } else { None };
        Self {
            id: letter.id.clone(),
            kind: Some(letter.kind.word().to_owned()),
            from: Some(letter.from.clone()),
            to: Some(letter.to.clone()),
            at: Some(letter.at.clone()),
            targets: if let Some(Field::List(targets)) = field("targets") { targets.clone() } else { Vec::new() },
            change: text("change"),
            re: text("re"),
            inode: 0,
        }
    }

    /// As a part of a record; `None` where it is too long for one.
    #[must_use]
    pub fn noted(&self) -> Option<Value> {
        let value = serde_json::to_value(self).ok()?;
        (value.to_string().len() <= MAX).then_some(value)
    }

    /// Whether it can be what the message of this key shows that lies in this file.
    #[must_use]
    pub fn fits(&self, key: &str, inode: u64) -> bool {
        self.inode == inode && inode != 0 && letter::key(&self.id) == Some(key)
    }
}
