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

impl AgentId {
    /// Checks an id.
    ///
    /// # Errors
    /// Where it breaks the rule.
    pub fn new(name: &str) -> Result<Self, NameError> {
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
    fn slots() {
        assert!(slot("rules").is_ok());
        for bad in ["", ".", "..", "a/b", "a\\b", ".git", "a\0"] {
            assert!(slot(bad).is_err(), "{bad:?}");
        }
    }
}
