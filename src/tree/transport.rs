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

/// What the name of a file says. `rel` is relative to the dotdir.
#[must_use]
pub fn by_name(rel: &Path) -> Option<Why> {
    // A disk that folds case has one file under all spellings, and who copies from one may have any.
    let name = &*rel.file_name()?.to_str()?.to_ascii_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    let is = |names: &[&str]| names.contains(&name);
    let in_cache = rel.iter().any(|part| ["cache", ".cache", "__pycache__", "CACHEDIR.TAG"].iter().any(|one| part == *one));
    if super::secrets::is_named(rel) {
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
}
