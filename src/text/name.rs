//! Names that were checked once, so that nobody has to check them again.

use std::fmt;

/// The id of an agent: `[a-z0-9][a-z0-9-]{0,62}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct AgentId(String);

/// Why a name is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no {what}: {rule}", crate::sys::shown::text(.name))]
pub struct NameError {
    /// The name as given.
    pub name: String,
    /// What it should have been.
    pub what: &'static str,
    /// The rule it breaks.
    pub rule: &'static str,
}

/// How a person is named who asks by a verb.
pub const HUMAN: &str = "human";

/// Words that stand where an id could, in messages, owners and answers, and mean no agent.
const RESERVED: [&str; 6] = [HUMAN, "nobody", "somebody", "everybody", "anybody", "loci"];

impl AgentId {
    /// Checks an id.
    ///
    /// # Errors
    /// Where it breaks the rule, or is a word that loci says of others.
    pub fn new(name: &str) -> Result<Self, NameError> {
        if RESERVED.contains(&name) {
            let rule = "loci says that word of people and of whom it does not know; take another one";
            return Err(NameError { name: name.to_owned(), what: "agent id", rule });
        }
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let fits = (1..=63).contains(&name.len())
            && name.bytes().all(|byte| plain(byte) || byte == b'-')
            && name.bytes().next().is_some_and(plain);
        if fits {
            Ok(Self(name.to_owned()))
        } else {
            Err(NameError {
                name: name.to_owned(),
                what: "agent id",
                rule: "1 to 63 characters, lower-case letters, digits and hyphens, the first one a letter or a digit",
            })
        }
    }

    /// A person who asks by a verb: no agent has that id.
    #[must_use]
    pub fn human() -> Self {
        Self(HUMAN.to_owned())
    }

    /// The id that is nearest to some name: lower case, what does not fit is a hyphen. `None` where
    /// nothing of it fits.
    #[must_use]
    pub fn nearest(name: &str) -> Option<Self> {
        let mut id = String::new();
        for c in name.to_lowercase().chars() {
            match c {
                'a'..='z' | '0'..='9' => id.push(c),
                _ if id.is_empty() || id.ends_with('-') => {}
                _ => id.push('-'),
            }
        }
        let id: String = id.chars().take(63).collect();
        Self::new(id.trim_end_matches('-')).ok()
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Checks the name of a slot: one path component, not hidden.
///
/// # Errors
/// Where it would lead out of the dotdir or to a private name.
pub fn slot(name: &str) -> Result<&str, NameError> {
    let fits = !name.is_empty()
        && !name.starts_with('.')
        && name.len() <= 255
        && !name.chars().any(|c| matches!(c, '/' | '\\') || crate::sys::shown::hidden(c));
    if fits {
        Ok(name)
    } else {
        Err(NameError { name: name.to_owned(), what: "slot name", rule: "one path component that does not start with a dot" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_id_is_one_path_component_of_plain_letters(name in ".{0,70}") {
            if let Ok(id) = AgentId::new(&name) {
                let id = id.as_str();
                prop_assert!(id.len() <= 63 && id == name && !id.starts_with('-'));
                prop_assert!(id.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')));
            }
        }

        #[test]
        fn what_fits_the_rule_is_an_id_and_nearest_to_itself(id in "[a-z0-9]([a-z0-9]|-[a-z0-9]){0,30}") {
            prop_assume!(!RESERVED.contains(&id.as_str()));
            prop_assert_eq!(AgentId::new(&id).unwrap().to_string(), id.clone());
            prop_assert_eq!(AgentId::nearest(&id).unwrap().to_string(), id);
        }

        #[test]
        fn the_nearest_is_an_id(name in ".{0,80}") {
            let fits = name.to_lowercase().chars().any(|c| c.is_ascii_alphanumeric());
            prop_assert_eq!(AgentId::nearest(&name).is_some(), fits);
        }
    }

    #[test]
    fn ids() {
        for good in ["a", "billing", "x-1", "0", &"a".repeat(63)] {
            assert!(AgentId::new(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "A", "a b", "a/b", "..", "a\n", "é", &"a".repeat(64)] {
            assert!(AgentId::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn words_that_loci_says_of_others_are_no_ids() {
        for word in RESERVED {
            assert!(AgentId::new(word).unwrap_err().to_string().contains("take another one"), "{word}");
        }
        assert_eq!(AgentId::human().as_str(), HUMAN);
    }

    #[test]
    fn slots() {
        assert!(slot("rules").is_ok());
        for bad in ["", ".", "..", "a/b", "a\\b", ".git", "a\0"] {
            assert!(slot(bad).is_err(), "{bad:?}");
        }
    }
}
