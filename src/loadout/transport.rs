//! What of a loadout must not travel: the transport test on its files.
//!
//! What does not move when somebody downloads the directory (tokens, machine-local settings, process
//! ids, sockets) is not material for an archive that others get.

use std::path::{Path, PathBuf};

use super::surface::Surface;
use super::{LoadoutError, digest};
use crate::sys::disk::{self, Kind, PathError};
use crate::tree::secrets;
use crate::tree::transport::{self, Why};

/// A file that fails the test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its path, relative to the directory.
    pub path: PathBuf,
    /// Why.
    pub why: Why,
}

/// The files of a surface that fail, sorted by path.
///
/// # Errors
/// Where they can't be read.
pub fn failing(base: &Path, surface: &Surface) -> Result<Vec<Finding>, LoadoutError> {
    let mut found = Vec::new();
    for seen in digest::walk(base, surface)? {
        let why = of(base, &seen.path, seen.kind)?;
        found.extend(why.map(|why| Finding { path: seen.path, why }));
    }
    found.sort_by(|a, b| disk::by_bytes(a.path.as_os_str(), b.path.as_os_str()));
    found.dedup();
    Ok(found)
}

/// Why one thing fails; `rel` is its path in the directory.
///
/// # Errors
/// Where it can't be read.
pub fn of(base: &Path, rel: &Path, kind: Kind) -> Result<Option<Why>, PathError> {
    let full = base.join(rel);
    Ok(match kind {
        Kind::File => match transport::by_name(rel) {
            Some(why) => Some(why),
            None => {
                let holds = disk::any_piece(&full, |piece| secrets::line(piece).is_some() || sets_a_secret(piece))?;
                holds.then_some(Why::Token)
            }
        },
        Kind::Link => disk::read_link(&full)?.is_absolute().then_some(Why::Link),
        Kind::Dir | Kind::Other => None,
    })
}

/// Words in a key whose value is a secret.
const SECRET_KEYS: &[&str] = &["token", "secret", "password", "passwd", "api_key", "apikey", "api-key", "access_key", "private_key"];

/// Whether a key that is called a secret has a literal value: tokens of services that nobody has
/// listed look like nothing, but the settings that hold them say what they are.
#[must_use]
pub fn sets_a_secret(data: &[u8]) -> bool {
    String::from_utf8_lossy(data).lines().any(names_a_secret)
}

/// A line `SOME_TOKEN: value` or `"api_key": "value"` whose value is no reference to elsewhere.
fn names_a_secret(line: &str) -> bool {
    line.split([',', '{', ';']).any(|part| {
        let Some((key, value)) = part.split_once([':', '=']) else { return false };
        let key = key.trim().trim_matches(['"', '\'', ' ']).to_ascii_lowercase();
        let value = value.trim().trim_end_matches(['}', ']', ' ']).trim_matches(['"', '\'']);
        let literal = value.len() >= 16
            && value.chars().all(|c| c.is_ascii_graphic() && !"$<>(){}%".contains(c))
            && value.chars().any(|c| c.is_ascii_digit())
            && value.chars().any(|c| c.is_ascii_alphabetic())
            && !value.contains("://")
            && !value.starts_with(['/', '~', '.']);
        key.len() <= 64 && !key.contains(' ') && SECRET_KEYS.iter().any(|word| key.ends_with(word)) && literal
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_seen_and_words_about_them_are_not() {
        let hex = "a8f5f167f44f4964e6c998dee827110c";
        for bad in [format!("{{\"env\":{{\"SERVICE_TOKEN\":\"{hex}\"}}}}"), format!("API_KEY={hex}"), format!("password: '{hex}'")] {
            assert!(sets_a_secret(bad.as_bytes()), "{bad}");
        }
        for good in [
            "{\"env\": {\"GITHUB_TOKEN\": \"${GITHUB_TOKEN}\"}}",
            "Never print a token: it is a secret that belongs to 12 people.",
            "max_tokens: 4096000000000000000",
            "secret: see the vault",
            "the task-runner sk-learn and risk-assessment-of-the-year-2024-and-beyond-all-others",
            "token_url=https://example.org/oauth2/token0123",
        ] {
            assert!(!sets_a_secret(good.as_bytes()), "{good}");
        }
    }
}
