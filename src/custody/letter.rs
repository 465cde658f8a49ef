//! A message as a file: front matter that nobody can forge from inside, and a Markdown body.
//!
//! Every text that comes from a tool call is written as a double-quoted scalar with all control
//! characters escaped, so it can't open a line of its own.
use crate::sys::time::Timestamp;
use crate::text::yaml;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A refused write, handed to its owner.
    Delegation,
    /// A refused write into what is the human's.
    Request,
    /// A list of requests of one sender in one hour.
    Digest,
    /// An answer.
    Reply,
    /// Word that a call ended in somebody's directory after all.
    Slip,
}

impl Kind {
    /// The word in the front matter.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Delegation => "delegation",
            Self::Request => "request",
            Self::Digest => "digest",
            Self::Reply => "reply",
            Self::Slip => "slip",
        }
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// Sortable by time; the part behind the hyphen is the key that its file is named by.
    pub id: String,
    /// What it is.
    pub kind: Kind,
    /// The sender's id, or `nobody`, or `human`.
    pub from: String,
    /// The sender's body, where an answer goes.
    pub from_body: Option<String>,
    /// The recipient's id, or `human`.
    pub to: String,
    /// When, in whole seconds.
    pub at: String,
    /// Further fields that only some kinds have, in order.
    pub fields: Vec<(&'static str, Field)>,
    /// The text below the front matter.
    pub body: String,
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// One text.
    Text(String),
    /// Several.
    List(Vec<String>),
    /// A number.
    Count(usize),
}

/// An id for a key: the second it was made in, then the key.
#[must_use]
pub fn id(at: Timestamp, key: &str) -> String {
    let second = crate::sys::time::to_second(at).replace(['-', ':'], "");
    format!("{second}-{key}")
}

/// The key of an id, which names its file; `None` where it is no id.
#[must_use]
pub fn key(id: &str) -> Option<&str> {
    let (second, key) = id.rsplit_once('-')?;
    let plain = second.len() <= 20 && second.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (plain && is_key(key)).then_some(key)
}

/// Whether a text is a key: 16 hex digits. Nothing else becomes part of a file name.
#[must_use]
pub fn is_key(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// A key as the number that it writes: shorter to hold and to look up. Two keys never have one number.
#[must_use]
pub fn number(key: &str) -> Option<u64> {
    if is_key(key) { u64::from_str_radix(key, 16).ok() } else { None }
}

/// The key of a number.
#[must_use]
pub fn of_number(number: u64) -> String {
    format!("{number:016x}")
}

impl Letter {
    /// The file.
    #[must_use]
    pub fn render(&self) -> Vec<u8> {
        let mut out = String::from("---\nschema: 1\n");
        let text = |name: &str, text: &str| format!("{name}: {}\n", yaml::scalar(text));
        out += &text("id", &self.id);
        out += &format!("kind: {}\n", self.kind.word());
        out += &text("from", &self.from);
        if let Some(body) = &self.from_body {
            out += &text("from_body", body);
        }
        out += &text("to", &self.to);
        out += &text("at", &self.at);
        for (name, field) in &self.fields {
            match field {
                Field::Text(value) => out += &text(name, value),
                Field::Count(count) => out += &format!("{name}: {count}\n"),
                Field::List(items) if items.is_empty() => out += &format!("{name}: []\n"),
                Field::List(items) => {
                    out += &format!("{name}:\n");
                    items.iter().for_each(|item| out += &format!("  - {}\n", yaml::scalar(item)));
                }
            }
        }
        out += "---\n\n";
        out += &self.body;
        out.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::header;

    #[test]
    fn an_id_is_plain_and_names_a_file() {
        let id = id(Timestamp::UNIX_EPOCH, "0123456789abcdef");
        assert_eq!((id.as_str(), key(&id)), ("19700101T000000Z-0123456789abcdef", Some("0123456789abcdef")));
        for odd in ["0123456789abcdef", "x-0123456789ABCDEF", "\u{1b}[2J-0123456789abcdef", "../-0123456789abcdef", "x-../456789abcdef0"] {
            assert_eq!(key(odd), None, "{odd:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever stands in a field is read back as that field, and forges no other.
        #[test]
        fn what_is_written_is_read(from in any::<String>(), item in any::<String>(), body in any::<String>()) {
            let letter = Letter {
                id: "19700101T000000Z-0123456789abcdef".to_owned(),
                kind: Kind::Delegation,
                from: from.clone(),
                from_body: None,
                to: "bob".to_owned(),
                at: "1970-01-01T00:00:00Z".to_owned(),
                fields: vec![("targets", Field::List(vec![item.clone()])), ("cut", Field::Count(7))],
                body: body.clone(),
            };
            let data = letter.render();
            let head = header::parse(&data);
            prop_assert_eq!(head.status, header::Status::Ok);
            prop_assert_eq!(head.value("from").and_then(|value| value.as_str()), Some(from.as_str()));
            prop_assert_eq!(head.value("targets").and_then(|value| value[0].as_str()), Some(item.as_str()));
            prop_assert_eq!(head.fields.len(), 8);
            let wanted = format!("\n{body}");
            prop_assert_eq!(head.body_of(&data), wanted.as_bytes());
        }
    }
}
