//! What a secret looks like, as one table: names of folders and files, and what stands in a file.
//!
//! | by | what |
//! |---|---|
//! | a folder of credentials | `.ssh`, `.aws`, `.gnupg`, `.azure`, `.gcloud`, `.kube`, and below `.config`: `gcloud`, `op`, `sops` |
//! | a file's name | those in `FILES` and `IN_FOLDERS`, the endings in `ENDINGS`, `.env` and its kin |
//! | a key in a file | PEM of every kind, PGP and SSH2 blocks, PuTTY, age |
//! | a token in a file | those in `TOKENS`, which are known by how they begin |
//! | a named value | those in `VALUES`, where more stands behind them than a place to put it |
//!
//! Text in UTF-16 is read as what it says.

use std::ffi::OsStr;
use std::path::Path;

/// Folders that hold credentials and nothing else.
const FOLDERS: [&str; 6] = [".ssh", ".aws", ".gnupg", ".azure", ".gcloud", ".kube"];

/// The same, right below a folder that holds other things as well.
const FOLDERS_IN: [(&str, &str); 3] = [(".config", "gcloud"), (".config", "op"), (".config", "sops")];

/// Files, in lower case.
const FILES: &[&str] = &[
    ".credentials.json",
    "credentials.json",
    "credentials",
    "credentials.db",
    "access_tokens.db",
    "accesstokens.json",
    "msal_token_cache.json",
    "application_default_credentials.json",
    "auth.json",
    "oauth_creds.json",
    "token",
    "token.txt",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    ".netrc",
    "_netrc",
    ".authinfo",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".s3cfg",
    ".boto",
    ".dockercfg",
    ".dockerconfigjson",
    ".vault-token",
    "kubeconfig",
    ".kubeconfig",
    "secring.gpg",
    "secrets.json",
    "secrets.yaml",
    "secrets.yml",
    "secrets.toml",
    ".htpasswd",
    "service-account.json",
    "service_account.json",
    "terraform.tfstate",
    "terraform.tfstate.backup",
];

/// Files in a folder of that name, in lower case.
const IN_FOLDERS: &[(&str, &str)] = &[
    (".docker", "config.json"),
    (".copilot", "config.json"),
    ("gh", "hosts.yml"),
    ("rclone", "rclone.conf"),
    (".cargo", "credentials.toml"),
    (".m2", "settings.xml"),
];

/// Endings of files, in lower case.
const ENDINGS: &[&str] = &[".token", ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".agekey", ".kubeconfig"];

/// Beginnings of tokens that nothing else begins with, each with how many more characters make it one.
pub const TOKENS: &[(&str, usize)] = &[
    ("sk-ant-", 20),
    ("sk-proj-", 20),
    ("sk-svcacct-", 20),
    ("sk-or-v1-", 20),
    ("sk_live_", 16),
    ("rk_live_", 16),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghu_", 30),
    ("ghs_", 30),
    ("ghr_", 30),
    ("github_pat_", 30),
    ("glpat-", 18),
    ("xoxa-", 20),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("xoxs-", 20),
    ("xapp-", 20),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("ya29.", 20),
    ("1//0", 30),
    ("hf_", 30),
    ("npm_", 30),
    ("pypi-Ag", 30),
    ("dckr_pat_", 20),
    ("glsa_", 30),
    ("dop_v1_", 30),
    ("AGE-SECRET-KEY-1", 40),
    ("AGE-PLUGIN-", 40),
];

/// Names whose value is a secret; how many characters make one.
const VALUES: &[&str] = &["_authToken", "npmAuthToken", "client-key-data", "\"refresh_token\"", "aws_secret_access_key", "AccountKey"];

/// How many characters of a value are more than a word that stands for it.
const VALUE: usize = 16;

/// Whether a path is that of a folder which holds credentials, or lies in one.
#[must_use]
pub fn in_folder(rel: &Path) -> bool {
    let is = |part: &OsStr, name: &str| part.eq_ignore_ascii_case(name);
    let parts: Vec<&OsStr> = rel.iter().collect();
    parts.iter().any(|part| FOLDERS.iter().any(|name| is(part, name)))
        || parts.windows(2).any(|pair| matches!(pair, [above, below] if FOLDERS_IN.iter().any(|(a, b)| is(above, a) && is(below, b))))
}

/// Whether a file holds secrets by its name.
#[must_use]
pub fn is_named(rel: &Path) -> bool {
    // A disk that folds case has one file under all spellings, and who copies from one may have any.
    let Some(name) = rel.file_name().and_then(OsStr::to_str).map(str::to_ascii_lowercase) else { return in_folder(rel) };
    let folder = rel.parent().and_then(Path::file_name);
    FILES.contains(&name.as_str())
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || IN_FOLDERS.iter().any(|(above, file)| name == *file && folder.is_some_and(|folder| folder.eq_ignore_ascii_case(above)))
        || is_env(&name)
        || in_folder(rel)
}

/// `.env` and its kin (`prod.env`, `env.txt`), but for those that show what one looks like. In lower case.
fn is_env(name: &str) -> bool {
    let shows = |rest: &str| {
        let words = ["example", "sample", "template", "dist", "defaults"];
        words.iter().any(|word| rest.split(['.', '-', '_']).any(|part| part == *word))
    };
    match name.strip_prefix(".env") {
        Some(rest) => (rest.is_empty() || rest.starts_with('.') || rest == "rc") && !shows(rest),
        None => matches!(name, "env" | "env.txt") || name.strip_suffix(".env").is_some_and(|stem| !shows(stem)),
    }
}

/// The line of the first thing in a file that looks like a secret, from 1.
#[must_use]
pub fn line(bytes: &[u8]) -> Option<usize> {
    let found = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        // Of most files nothing has to be looked at line by line.
        if may_be(&text) { text.lines().position(is_one).map(|at| at + 1) } else { None }
    };
    found(bytes).or_else(|| is_wide(bytes).then(|| found(&narrow(bytes))).flatten())
}

/// Whether it looks like UTF-16 with letters that need one byte: every second one is zero. A piece of a file may begin
/// anywhere in it.
fn is_wide(bytes: &[u8]) -> bool {
    let start = bytes.get(..bytes.len().min(4096)).unwrap_or_default();
    start.iter().filter(|byte| **byte == 0).count() * 3 > start.len()
}

/// Without the bytes that are zero.
fn narrow(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().filter(|byte| *byte != 0).collect()
}

/// Words of keys: in one line with the beginning of a block, and by themselves.
const BLOCK: (&str, [&str; 2]) = ("PRIVATE KEY", ["-----BEGIN ", "---- BEGIN "]);
const PUTTY: &str = "PuTTY-User-Key-File-";

fn may_be(text: &str) -> bool {
    let tokens = TOKENS.iter().map(|(start, _)| *start);
    [BLOCK.0, PUTTY].into_iter().chain(tokens).chain(VALUES.iter().copied()).any(|word| text.contains(word))
}

fn is_one(line: &str) -> bool {
    if line.contains(BLOCK.0) && BLOCK.1.iter().any(|begin| line.contains(begin)) || line.contains(PUTTY) {
        return true;
    }
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let token = |(start, more): &(&str, usize)| {
        line.match_indices(start).any(|(at, _)| {
            let (before, rest) = line.split_at(at);
            // In the middle of a word it is no beginning.
            !before.ends_with(part) && rest.chars().skip(start.len()).take_while(|c| part(*c)).count() >= *more
        })
    };
    let value = |name: &&str| {
        line.match_indices(*name).any(|(at, _)| {
            let rest = line.get(at + name.len()..).unwrap_or_default().trim_start().strip_prefix([':', '=']).unwrap_or_default();
            let value = rest.trim_start().trim_start_matches(['"', '\'']);
            // A place to put it begins with a sign: `${TOKEN}`, `<token>`.
            value.chars().take_while(|c| c.is_ascii_alphanumeric() || "_-+/=.".contains(*c)).count() >= VALUE
        })
    };
    TOKENS.iter().any(token) || VALUES.iter().any(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_a_file() {
        let long = "a1".repeat(40);
        assert_eq!(line(format!("x\nkey: \"ghp_{long}\"\n").as_bytes()), Some(2));
        for secret in [
            "-----BEGIN OPENSSH PRIVATE KEY-----".to_owned(),
            "-----BEGIN PGP PRIVATE KEY BLOCK-----".to_owned(),
            "-----BEGIN ENCRYPTED PRIVATE KEY-----".to_owned(),
            "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----".to_owned(),
            "PuTTY-User-Key-File-3: ssh-ed25519".to_owned(),
            format!("AGE-SECRET-KEY-1{}", long.to_uppercase()),
            format!("//registry.example/:_authToken={long}"),
            format!("    client-key-data: {long}"),
            format!("  \"refresh_token\": \"{long}\","),
            format!("aws_secret_access_key = {long}"),
            format!("AccountKey={long}==;EndpointSuffix=x"),
            format!("password = pypi-Ag{long}"),
        ] {
            assert_eq!(line(secret.as_bytes()), Some(1), "{secret}");
            let wide: Vec<u16> = format!("\u{feff}a\n{secret}\r\n").encode_utf16().collect();
            for bytes in [
                wide.iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<_>>(),
                wide.iter().flat_map(|unit| unit.to_be_bytes()).collect(),
            ] {
                assert_eq!(line(&bytes), Some(2), "{secret}");
                assert_eq!(line(&bytes[1..]), Some(2), "{secret}");
            }
        }
        for fine in [
            "ghp_ is how they begin",
            "risk-ant-ology",
            "sk-ant-...",
            "AKIA",
            "-----BEGIN PGP PUBLIC KEY BLOCK-----",
            "_authToken=${NPM_TOKEN}",
            "\"refresh_token\": \"<yours>\"",
            "aws_secret_access_key is what you need",
        ] {
            assert_eq!(line(fine.as_bytes()), None, "{fine}");
        }
        assert_eq!(line(format!("xghp_{long}").as_bytes()), None);
    }

    #[test]
    fn names_and_folders() {
        for name in [
            ".config/gcloud/x.json",
            ".Config/GCloud",
            ".copilot/config.json",
            ".kube/config",
            "a/kubeconfig",
            "x.ppk",
            ".netrc",
            ".npmrc",
            "deep/.config/gh/hosts.yml",
            ".azure/msal_token_cache.json",
        ] {
            assert!(is_named(Path::new(name)), "{name}");
        }
        for name in [".config/git/config", "gcloud/notes.md", "config.json", "hosts.yml", "skills/op/SKILL.md"] {
            assert!(!is_named(Path::new(name)), "{name}");
        }
    }
}
