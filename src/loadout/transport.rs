//! What of a loadout must not travel: the transport test on its files.
//!
//! What does not move when somebody downloads the directory (tokens, machine-local settings, process
//! ids, sockets) is not material for an archive that others get.

use std::path::{Path, PathBuf};

use super::surface::Surface;
use super::{LoadoutError, digest};
use crate::sys::disk::{self, Kind};

/// How much of a file is looked at, in bytes.
const LOOKED_AT: u64 = 1 << 18;

/// A file that fails the test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its path, relative to the directory.
    pub path: PathBuf,
    /// Why.
    pub why: &'static str,
}

/// The files of a surface that fail, sorted by path.
///
/// # Errors
/// Where they can't be read.
pub fn failing(base: &Path, surface: &Surface) -> Result<Vec<Finding>, LoadoutError> {
    let mut found = Vec::new();
    for seen in digest::walk(base, surface)?.into_iter().filter(|seen| seen.kind == Kind::File) {
        let name = seen.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let why = match of_name(&name) {
            Some(why) => Some(why),
            None => of_content(&disk::read_start(&base.join(&seen.path), LOOKED_AT)?.0),
        };
        found.extend(why.map(|why| Finding { path: seen.path, why }));
    }
    found.sort_by(|a, b| disk::by_bytes(a.path.as_os_str(), b.path.as_os_str()));
    Ok(found)
}

/// What the name alone says.
#[must_use]
pub fn of_name(name: &str) -> Option<&'static str> {
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if ends(&[".local.json", ".local.md", ".local.yaml", ".local.toml"]) {
        Some("settings of this machine")
    } else if name == ".env" || name.starts_with(".env.") && !ends(&[".example", ".sample", ".template"]) {
        Some("an environment file")
    } else if ends(&[".pid", ".sock", ".lock"]) {
        Some("belongs to a running process")
    } else if name == ".credentials.json"
        || name == "auth.json"
        || ends(&[".pem", ".key", ".p12"])
        || name.starts_with("id_rsa")
        || name.starts_with("id_ed25519") && !ends(&[".pub"])
    {
        Some("holds credentials")
    } else {
        None
    }
}

/// What tokens of well-known services start with, and how many characters of a token follow at least.
const PREFIXES: &[(&str, usize)] = &[
    ("sk-ant-", 20),
    ("sk-proj-", 20),
    ("sk-", 32),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghs_", 30),
    ("github_pat_", 30),
    ("glpat-", 18),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("AKIA", 16),
    ("AIza", 30),
    ("hf_", 30),
    ("npm_", 30),
];

/// Words in a key whose value is a secret.
const SECRET_KEYS: &[&str] = &["token", "secret", "password", "passwd", "api_key", "apikey", "api-key", "access_key", "private_key"];

/// What the content says: a token, a private key, or a key that is called a secret with a literal
/// value.
#[must_use]
pub fn of_content(data: &[u8]) -> Option<&'static str> {
    let text = String::from_utf8_lossy(data);
    if text.contains("-----BEGIN ") && text.contains("PRIVATE KEY-----") {
        return Some("holds a private key");
    }
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    for (prefix, least) in PREFIXES {
        for (at, _) in text.match_indices(prefix) {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let rest = text.get(at + prefix.len()..).unwrap_or_default();
            let length = rest.chars().take_while(|c| word(*c)).count();
            let mixed = rest.chars().take(length).any(|c| c.is_ascii_digit());
            if !before.is_some_and(word) && length >= *least && mixed {
                return Some("holds a token");
            }
        }
    }
    text.lines().any(names_a_secret).then_some("holds a token")
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
        for bad in [
            format!("{{\"env\": {{\"GITHUB_TOKEN\": \"ghp_{hex}\"}}}}"),
            format!("{{\"env\":{{\"SERVICE_TOKEN\":\"{hex}\"}}}}"),
            format!("API_KEY={hex}"),
            format!("key: sk-{}-{hex}", "ant"),
            format!("-----BEGIN OPENSSH {} KEY-----\nx", "PRIVATE"),
        ] {
            assert!(of_content(bad.as_bytes()).is_some(), "{bad}");
        }
        for good in [
            "{\"env\": {\"GITHUB_TOKEN\": \"${GITHUB_TOKEN}\"}}",
            "Never print a token: it is a secret that belongs to 12 people.",
            "max_tokens: 4096000000000000000",
            "secret: see the vault",
            "the task-runner sk-learn and risk-assessment-of-the-year-2024-and-beyond-all-others",
            "token_url=https://example.org/oauth2/token0123",
        ] {
            assert_eq!(of_content(good.as_bytes()), None, "{good}");
        }
        assert!(of_name("settings.local.json").is_some() && of_name("settings.json").is_none());
        assert!(of_name(".env").is_some() && of_name(".env.example").is_none() && of_name("id_ed25519.pub").is_none());
    }
}
