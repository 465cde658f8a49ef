//! What a list shows of a message: noted in the log when it is delivered, so that a long inbox is listed
//! without opening a file, and read from the file where the log does not say.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Message;
use crate::custody::letter::{self, Field, Letter};

/// The most that a record holds of it, in bytes: where it is more, a list opens the file.
const MAX: usize = 1 << 10;

/// What a list shows of a message.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Shows<'a> {
    /// Its id.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// What it is.
    #[serde(borrow)]
    pub kind: Option<Text<'a>>,
    /// The sender.
    #[serde(borrow)]
    pub from: Option<Text<'a>>,
    /// The recipient.
    #[serde(borrow)]
    pub to: Option<Text<'a>>,
    /// When.
    #[serde(borrow)]
    pub at: Option<Text<'a>>,
    /// What it is about.
    #[serde(borrow, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Text<'a>>,
    /// What it carries.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub change: Option<Text<'a>>,
    /// What it answers.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub re: Option<Text<'a>>,
    /// The file that it was read from or delivered as: another one of that name is another message.
    pub inode: u64,
}

/// A text that stands in the bytes that it was read from, as far as nothing in it is escaped there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl Text<'_> {
    fn into_owned(self) -> Text<'static> {
        Text(Cow::Owned(self.0.into_owned()))
    }
}

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

fn owned(text: impl Into<String>) -> Text<'static> {
    Text(Cow::Owned(text.into()))
}

impl Shows<'_> {
    /// Of a message that was read.
    #[must_use]
    pub fn of(message: &Message) -> Shows<'static> {
        let text = |key: &str| message.text(key).map(owned);
        Shows {
            id: Cow::Owned(message.id.clone()),
            kind: text("kind"),
            from: text("from"),
            to: text("to"),
            at: text("at"),
            targets: message.list("targets").into_iter().map(owned).collect(),
            change: text("change"),
            re: text("re"),
            inode: 0,
        }
    }

    /// Of a letter.
    #[must_use]
    pub fn of_letter(letter: &Letter) -> Shows<'static> {
        let field = |name: &str| letter.fields.iter().find(|(key, _)| *key == name).map(|(_, field)| field);
        let text = |name: &str| if let Some(Field::Text(text)) = field(name) { Some(owned(text)) } else { None };
        Shows {
            id: Cow::Owned(letter.id.clone()),
            kind: Some(owned(letter.kind.word())),
            from: Some(owned(&letter.from)),
            to: Some(owned(&letter.to)),
            at: Some(owned(&letter.at)),
            targets: if let Some(Field::List(targets)) = field("targets") { targets.iter().map(owned).collect() } else { Vec::new() },
            change: text("change"),
            re: text("re"),
            inode: 0,
        }
    }

    /// The same, kept apart from the bytes that it was read from.
    #[must_use]
    pub fn into_owned(self) -> Shows<'static> {
        Shows {
            id: Cow::Owned(self.id.into_owned()),
            kind: self.kind.map(Text::into_owned),
            from: self.from.map(Text::into_owned),
            to: self.to.map(Text::into_owned),
            at: self.at.map(Text::into_owned),
            targets: self.targets.into_iter().map(Text::into_owned).collect(),
            change: self.change.map(Text::into_owned),
            re: self.re.map(Text::into_owned),
            inode: self.inode,
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
