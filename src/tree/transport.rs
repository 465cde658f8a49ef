//! The transport test: what does not move when somebody downloads the directory is no dotdir
//! material. Applied mechanically, by name and by content; `.loci/memory/` is exempt by name.

use std::path::Path;

/// Why a file fails the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// It is, or holds, a secret.
    Token,
    /// Settings of one machine.
    Local,
    /// The number of a process, its lock or its socket.
    Process,
    /// How far somebody has read.
    Cursor,
    /// What can be made again.
    Cache,
    /// What is armed here.
    Armed,
    /// A link with an absolute target.
    Link,
}

impl Why {
    /// The stable word.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Token => "transport-token",
            Self::Local => "transport-local",
            Self::Process => "transport-process",
            Self::Cursor => "transport-cursor",
            Self::Cache => "transport-cache",
            Self::Armed => "transport-armed",
            Self::Link => "transport-link",
        }
    }

    /// In words; reads on after the path.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Token => "holds a secret; it must not travel",
            Self::Local => "holds settings of this machine",
            Self::Process => "belongs to a process that runs here",
            Self::Cursor => "says how far somebody has read here",
            Self::Cache => "is a cache",
            Self::Armed => "says what is armed here",
            Self::Link => "is a link with an absolute path, which is another one elsewhere",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn fix(self) -> &'static str {
        match self {
            Self::Token => "move it out of the dotdir, and replace the secret if the directory was shared",
            Self::Local => "move it out, or leave it out of what you share (.gitignore)",
            Self::Process | Self::Cursor | Self::Cache | Self::Armed => "keep it under $XDG_STATE_HOME/loci instead",
            Self::Link => "make the link relative",
        }
    }
}

/// Folders that hold credentials and nothing else.
const HOLD_SECRETS: [&str; 6] = [".ssh", ".aws", ".gnupg", ".azure", ".gcloud", ".kube"];

/// Whether a directory is one that holds credentials.
#[must_use]
pub fn holds_secrets(name: &std::ffi::OsStr) -> bool {
    HOLD_SECRETS.iter().any(|one| name.eq_ignore_ascii_case(one))
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

/// What the name of a file says. `rel` is relative to the dotdir.
#[must_use]
pub fn by_name(rel: &Path) -> Option<Why> {
    // A disk that folds case has one file under all spellings, and who copies from one may have any.
    let name = &*rel.file_name()?.to_str()?.to_ascii_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    let is = |names: &[&str]| names.contains(&name);
    let in_cache = rel.iter().any(|part| ["cache", ".cache", "__pycache__", "CACHEDIR.TAG"].iter().any(|one| part == *one));
    if is(&[
        ".credentials.json",
        "credentials.json",
        "credentials",
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
        ".git-credentials",
        ".npmrc",
        ".pypirc",
        ".pgpass",
        ".my.cnf",
        ".vault-token",
        "secrets.json",
        "secrets.yaml",
        "secrets.yml",
        "secrets.toml",
        ".htpasswd",
        "service-account.json",
        "service_account.json",
        "terraform.tfstate",
        "terraform.tfstate.backup",
    ]) || ends(&[".token", ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk"])
        || is_env(name)
        || rel.iter().any(holds_secrets)
        || (name == "config.json" && rel.parent().and_then(Path::file_name).is_some_and(|folder| folder == ".docker"))
    {
        Some(Why::Token)
    } else if ends(&[".local.json", ".local.yaml", ".local.yml", ".local.toml"]) {
        Some(Why::Local)
    } else if is(&["pid", "lock"]) || ends(&[".pid", ".sock", ".lock"]) {
        Some(Why::Process)
    } else if is(&["cursor", "offset", "cursor.json"]) || ends(&[".cursor", ".offset"]) {
        Some(Why::Cursor)
    } else if in_cache || ends(&[".cache"]) {
        Some(Why::Cache)
    } else if is(&["armed", "armed.json", "armed.yaml", "armed.yml"]) || ends(&[".armed"]) {
        Some(Why::Armed)
    } else {
        None
    }
}

/// Beginnings of secrets, each with how many more characters make it one.
const SECRETS: [(&str, usize); 12] = [
    ("sk-ant-", 20),
    ("sk-proj-", 20),
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
];

/// The line of the first thing in a file that looks like a secret, from 1.
#[must_use]
pub fn secret_line(bytes: &[u8]) -> Option<usize> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().position(has_secret).map(|at| at + 1)
}

fn has_secret(line: &str) -> bool {
    if line.contains("-----BEGIN ") && line.contains("PRIVATE KEY-----") {
        return true;
    }
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    SECRETS.iter().any(|(start, more)| {
        line.match_indices(start).any(|(at, _)| {
            let (before, rest) = line.split_at(at);
            // In the middle of a word it is no beginning.
            !before.ends_with(part) && rest.chars().skip(start.len()).take_while(|c| part(*c)).count() >= *more
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, why) in [
            ("settings.local.json", Some(Why::Local)),
            ("auth.json", Some(Why::Token)),
            ("hooks/run.pid", Some(Why::Process)),
            ("x.cursor", Some(Why::Cursor)),
            ("cache/a", Some(Why::Cache)),
            ("armed.json", Some(Why::Armed)),
            (".env", Some(Why::Token)),
            (".env.local", Some(Why::Token)),
            (".envrc", Some(Why::Token)),
            (".env.example", None),
            (".envoy.yaml", None),
            ("deep/.ssh/config", Some(Why::Token)),
            (".aws/x", Some(Why::Token)),
            (".npmrc", Some(Why::Token)),
            (".ENV", Some(Why::Token)),
            ("prod.env", Some(Why::Token)),
            ("ENV.TXT", Some(Why::Token)),
            ("Id_Rsa", Some(Why::Token)),
            (".SSH/config", Some(Why::Token)),
            (".docker/config.json", Some(Why::Token)),
            ("config.json", None),
            ("sample.env", None),
            ("environment.md", None),
            ("settings.json", None),
            ("rules/token.md", None),
            ("skills/cursor/SKILL.md", None),
            ("skills/caching/SKILL.md", None),
        ] {
            assert_eq!(by_name(Path::new(name)), why, "{name}");
        }
    }

    #[test]
    fn secrets() {
        let long = "a1".repeat(20);
        assert_eq!(secret_line(format!("x\nkey: \"ghp_{long}\"\n").as_bytes()), Some(2));
        assert_eq!(secret_line(b"-----BEGIN OPENSSH PRIVATE KEY-----\n"), Some(1));
        for fine in ["ghp_ is how they begin", "risk-ant-ology", "sk-ant-...", "AKIA"] {
            assert_eq!(secret_line(fine.as_bytes()), None, "{fine}");
        }
        assert_eq!(secret_line(format!("xghp_{long}").as_bytes()), None);
    }
}
