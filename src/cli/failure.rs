//! What a person sees when something could not be carried out.
//!
//! The library's errors are mute fragments ("read /x"); kind, path, line and hint are put to them
//! here, where they are shown.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{help, near};
use crate::custody::asker::AskerError;
use crate::custody::maildir::MailError;
use crate::sys::disk::{self, PathError};
use crate::sys::journal::JournalError;
use crate::sys::lock::LockError;
use crate::sys::plan::PlanError;
use crate::sys::{env, shown, term};
use crate::text::name::NameError;
use crate::tree::card::CardError;
use crate::tree::climb;

/// A verb that could not be carried out: exit 2, one line, perhaps a hint.
#[derive(Debug)]
pub struct Failure {
    kind: &'static str,
    message: String,
    path: Option<PathBuf>,
    line: Option<usize>,
    /// The message names the path already.
    named: bool,
    causes: Vec<String>,
    hint: Option<String>,
}

impl Failure {
    /// `kind` is one of the stable words that docs/FORMATS lists.
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), path: None, line: None, named: false, causes: Vec::new(), hint: None }
    }

    /// Which file it is about.
    #[must_use]
    pub fn at(mut self, path: &Path, line: Option<usize>) -> Self {
        self.path = Some(path.to_owned());
        self.line = line;
        self
    }

    /// A command that would help.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Takes the errors below `error` along as causes.
    #[must_use]
    pub fn caused_by(mut self, error: &dyn Error) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            self.causes.push(error.to_string());
            next = error.source();
        }
        self
    }

    /// The command that helps where nothing better was said: to look at the file, to mend it, or to see how the
    /// verb is called. `words` are those of the command line.
    fn usual_hint(&self, words: &[String]) -> Option<String> {
        let help = || Some([vec!["loci".to_owned()], help::verbs(words), vec!["--help".to_owned()]].concat().join(" "));
        // What is not there, or is a name of our own that came to nothing, shows nothing: what it was to lie in does.
        let there = || self.path.as_deref().and_then(|path| climb::up(path).find(|one| matches!(disk::look(one), Ok(Some(_)))));
        let path = self.path.as_deref().map(near::word);
        match (self.kind, path) {
            (_, Some(path)) if self.line.is_some() => Some(format!("${{EDITOR:-vi}} {path}")),
            ("settings" | "file" | "bad-set" | "owner-file" | "journal", Some(path)) => Some(format!("${{EDITOR:-vi}} {path}")),
            ("usage" | "name", _) => help(),
            (_, Some(path)) => Some(format!("ls -ld {}", there().map_or(path, near::word))),
            ("locked", None) => {
                Some(format!("loci {}", words.iter().map(|word| near::word(Path::new(word))).collect::<Vec<_>>().join(" ")))
            }
            // What the system refuses without a file, no call of ours mends.
            ("io", None) => None,
            ("environment", None) => Some("cd && HOME=$(pwd) loci --help".to_owned()),
            ("git", None) => Some("git status".to_owned()),
            ("grant", None) => Some("loci grants".to_owned()),
            ("request", None) => Some("loci requests --all".to_owned()),
            _ => help(),
        }
    }

    /// Prints it: words on standard error, or with `--json` one object on standard output.
    pub fn show(mut self, json: bool) {
        if self.hint.is_none() {
            let words: Vec<String> = env::arguments().iter().map(|word| word.to_string_lossy().into_owned()).collect();
            self.hint = self.usual_hint(&words);
        }
        if json {
            let object = json!({ "schema": 1, "error": {
                "kind": self.kind, "message": self.message,
                "path": self.path.as_ref().map(|path| path.to_string_lossy()), "line": self.line,
                "causes": self.causes, "hint": self.hint,
            }});
            // Where standard output can't take it, it is said to people.
            if term::out(format!("{object}\n").as_bytes()).is_err() {
                term::err(&self.to_string());
            }
        } else {
            term::err(&self.to_string());
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = format!("error: {}", shown::text(&self.message));
        if let Some(path) = self.path.as_ref().filter(|_| !self.named) {
            write!(text, " ({}", shown::path(path))?;
            if let Some(line) = self.line {
                write!(text, ":{line}")?;
            }
            text.push(')');
        }
        text.push('\n');
        for cause in &self.causes {
            writeln!(text, "caused by: {}", shown::text(cause))?;
        }
        if let Some(hint) = &self.hint {
            writeln!(text, "hint: {}", shown::text(hint))?;
        }
        f.write_str(&text)
    }
}

impl From<PathError> for Failure {
    fn from(error: PathError) -> Self {
        let mut failure = Self::new("io", format!("failed to {error}"));
        if let Some(cause) = error.source() {
            failure = failure.caused_by(cause);
        }
        // The message names the path; the field is for `--json`.
        failure.named = true;
        failure.path = Some(error.path);
        failure
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::Conflict { ref path, .. } => {
                let path = path.clone();
                Self { path: Some(path), named: true, ..Self::new("conflict", format!("failed to {error}")) }
            }
            PlanError::Disk(error) => error.into(),
            torn @ PlanError::Torn { .. } => Self::new("torn", format!("failed to {torn}")),
        }
    }
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        match error {
            LockError::Held { .. } => Self::new("locked", format!("failed to {error}")),
            LockError::Disk(error) => error.into(),
        }
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Lock(error) => error.into(),
            JournalError::Plan(error) => error.into(),
            JournalError::Disk(error) => error.into(),
            JournalError::Corrupt { ref path, .. } => {
                let path = path.clone();
                Self { path: Some(path), named: true, ..Self::new("journal", format!("failed to {error}")) }
            }
        }
    }
}

impl From<CardError> for Failure {
    fn from(error: CardError) -> Self {
        Self::new("file", error.why).at(&error.path, error.line)
    }
}

impl From<NameError> for Failure {
    fn from(error: NameError) -> Self {
        Self::new("name", error.to_string())
    }
}

impl From<AskerError> for Failure {
    fn from(error: AskerError) -> Self {
        match error {
            AskerError::Disk(error) => error.into(),
            AskerError::Session { ref path, .. } => {
                let path = path.clone();
                Self { path: Some(path), named: true, ..Self::new("asker", format!("failed to {error}")) }
            }
            other => Self::new("asker", format!("failed to {other}")),
        }
    }
}

impl From<MailError> for Failure {
    fn from(error: MailError) -> Self {
        match error {
            MailError::Disk(error) => error.into(),
            MailError::Odd { ref path, .. } => {
                let path = path.clone();
                Self { path: Some(path), named: true, ..Self::new("inbox", format!("failed to {error}")) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each error ends with a command that can be run.
    #[test]
    fn there_is_a_hint_where_nothing_better_was_said() {
        let words = ["--json", "inbox", "show it"].map(str::to_owned);
        let hint = |failure: Failure| failure.usual_hint(&words);
        assert_eq!(hint(Failure::new("usage", "x")).as_deref(), Some("loci inbox --help"));
        assert_eq!(hint(Failure::new("path", "x").at(Path::new("/a b/.loci-new-1"), None)).as_deref(), Some("ls -ld /"));
        assert_eq!(hint(Failure::new("runtime", "x").at(Path::new("/a b"), Some(3))).as_deref(), Some("${EDITOR:-vi} '/a b'"));
        let deeper = ["--json", "inbox", "decline", "ID"].map(str::to_owned);
        assert_eq!(Failure::new("usage", "x").usual_hint(&deeper).as_deref(), Some("loci inbox decline --help"));
        assert_eq!(hint(Failure::new("settings", "x").at(Path::new("/a"), Some(3))).as_deref(), Some("${EDITOR:-vi} /a"));
        assert_eq!(hint(Failure::new("locked", "x")).as_deref(), Some("loci --json inbox 'show it'"));
        assert_eq!(hint(Failure::new("io", "x")), None);
        assert_eq!(Failure::new("usage", "x").usual_hint(&[]).as_deref(), Some("loci --help"));
    }
}
