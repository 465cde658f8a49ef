//! Sockets: how a body is bound to a program, and what that program reads of a directory by itself.
//!
//! A socket is data, one Markdown file with front matter. Those that are built in lie in `src/body/runtimes/`; a user
//! adds one, or changes keys of a built-in one, with `~/.loci/runtimes/NAME.md`. What the built-in ones say
//! was observed with the real programs.

mod read;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use read::read;

use crate::sys::disk::{self, PathError};
use crate::sys::shown;
use crate::text::near;

/// The longest file of a socket, in bytes.
const MAX_FILE: u64 = 64 * 1024;
/// How many words a list of one may have.
const MAX_WORDS: usize = 64;
/// How many sockets a user may have.
const MAX_SOCKETS: usize = 256;
/// How many seconds a program may take to end once it was told to, where its socket says nothing.
const GRACE: u64 = 10;
/// The longest time that can be asked for, in seconds.
const MAX_GRACE: u64 = 600;

/// Those that are part of the program.
const BUILT_IN: [(&str, &str); 10] = [
    ("claude", include_str!("runtimes/claude.md")),
    ("cline", include_str!("runtimes/cline.md")),
    ("codex", include_str!("runtimes/codex.md")),
    ("command", include_str!("runtimes/command.md")),
    ("copilot", include_str!("runtimes/copilot.md")),
    ("gemini", include_str!("runtimes/gemini.md")),
    ("hermes", include_str!("runtimes/hermes.md")),
    ("opencode", include_str!("runtimes/opencode.md")),
    ("pi", include_str!("runtimes/pi.md")),
    ("qwen", include_str!("runtimes/qwen.md")),
];

/// The socket that takes its program from the call.
pub const COMMAND: &str = "command";

/// How a body is bound to a program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Socket {
    /// Its name.
    pub name: String,
    /// The user's own file, where there is one.
    pub file: Option<PathBuf>,
    /// One line about it.
    pub description: Option<String>,
    /// The program: a name to look for in `PATH`, or an absolute path.
    pub program: Option<String>,
    /// The words of one turn without a terminal. Where no word has `{message}`, the message goes to
    /// standard input. `None`: no word, unless it has sessions alone.
    pub headless: Option<Vec<String>>,
    /// The words of a session at a terminal; `None`: it has none.
    pub interactive: Option<Vec<String>>,
    /// What stands for `{model}` in the words, where a model is asked for.
    pub model: Option<Vec<String>>,
    /// What stands for `{session}` where a session begins and gets its id from us.
    pub session: Option<Vec<String>>,
    /// What stands for `{session}` where one is resumed by its id.
    pub resume: Option<Vec<String>>,
    /// What stands for `{session}` where the program's own last one in this directory is resumed.
    pub last: Option<Vec<String>>,
    /// The text on standard error behind which the program tells the id of its session.
    pub told: Option<String>,
    /// Variables of the environment that it can't do without.
    pub needs: Vec<String>,
    /// The harness whose gate it asks; the name of the socket where nothing is said.
    pub harness: Option<String>,
    /// How many seconds it may take to end once it was told to.
    pub grace: u64,
    /// Why it can't be run in a jail; `None`: it can.
    pub unjailed: Option<String>,
    /// Instruction files that it reads at the top of the directory.
    pub instructions: Vec<String>,
    /// Whether only the first of them that is there is read.
    pub first_only: bool,
    /// Whether a line `@FILE` in them brings that file in.
    pub imports: bool,
    /// Folders of rules that it reads.
    pub rules: Vec<String>,
    /// Folders of skills that it reads.
    pub skills: Vec<String>,
    /// Folders of sub-agents in Markdown that it reads.
    pub agents: Vec<String>,
}

/// Why a socket can't be used; reads on after "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// There is none of that name.
    #[error("find the runtime `{}`", shown::text(.name))]
    Unknown {
        /// The name.
        name: String,
        /// One that may have been meant.
        near: Option<String>,
    },
    /// Its file says what can't be.
    #[error("use the runtime: {why}")]
    Unfit {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: Option<usize>,
        /// What is wrong.
        why: String,
    },
    /// It does not take what was asked for.
    #[error("run {}: its socket {what}", shown::text(.name))]
    Lacks {
        /// The socket.
        name: String,
        /// What it lacks.
        what: String,
    },
    /// The disk.
    #[error(transparent)]
    Disk(#[from] PathError),
}

/// What a turn is to be.
#[derive(Debug, Clone, Copy, Default)]
pub struct Turn<'a> {
    /// The message; `None`: a session at a terminal.
    pub message: Option<&'a str>,
    /// The model, where one is asked for.
    pub model: Option<&'a str>,
    /// Which session.
    pub session: Session<'a>,
}

/// Which session a turn belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Session<'a> {
    /// A new one; the program gives it an id.
    #[default]
    New,
    /// A new one with this id.
    Named(&'a str),
    /// The one of this id.
    Resumed(&'a str),
    /// The program's own last one in this directory.
    Last,
}

/// How a program is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The words behind the program's name.
    pub args: Vec<OsString>,
    /// Whether the message goes to standard input.
    pub message_on_stdin: bool,
}

/// The folder of the user's own sockets.
#[must_use]
pub fn folder(home: &Path) -> PathBuf {
    home.join(".loci/runtimes")
}

/// The names of those that are built in, sorted.
pub fn built_in() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// Finds a socket by name: the user's own file over what is built in.
///
/// # Errors
/// As [`SocketError`] says.
pub fn find(name: &str, home: &Path) -> Result<Socket, SocketError> {
    let plain =
        !name.is_empty() && name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    let unknown = || {
        let names = names(home).unwrap_or_else(|_| built_in().map(str::to_owned).collect());
        let near = near::nearest(name, names.iter().map(String::as_str)).map(str::to_owned);
        SocketError::Unknown { name: name.to_owned(), near }
    };
    if !plain || name.starts_with('.') {
        return Err(unknown());
    }
    let built_in = match BUILT_IN.iter().find(|(one, _)| *one == name) {
        None => None,
        Some((_, text)) => {
            let begun = Socket { name: name.to_owned(), grace: GRACE, ..Socket::default() };
            Some(read(begun, &Path::new("runtimes").join(format!("{name}.md")), text.as_bytes())?)
        }
    };
    let path = folder(home).join(format!("{name}.md"));
    let Some(text) = disk::look_through(&path)?.map(|_| disk::read_bounded(&path, MAX_FILE)).transpose()? else {
        return built_in.ok_or_else(unknown);
    };
    let unfit = |why: &str| SocketError::Unfit { path: path.clone(), line: None, why: why.to_owned() };
    let text = text.ok_or_else(|| unfit("its file is longer than 64 KiB"))?;
    let is_new = built_in.is_none();
    let begun = built_in.unwrap_or(Socket { name: name.to_owned(), grace: GRACE, ..Socket::default() });
    let socket = read(Socket { file: Some(path.clone()), ..begun }, &path, &text)?;
    if is_new && socket.program.is_none() {
        return Err(unfit("it names no `program`"));
    }
    Ok(socket)
}

/// The names of all of them, sorted.
///
/// # Errors
/// Where the user's folder is there and can't be read.
pub fn names(home: &Path) -> Result<Vec<String>, PathError> {
    let folder = folder(home);
    let mut names: Vec<String> = built_in().map(str::to_owned).collect();
    if disk::look_through(&folder)?.is_some() {
        let own = disk::list_at_most(&folder, MAX_SOCKETS)?.unwrap_or_default();
        names.extend(
            own.into_iter()
                .filter_map(|entry| Some(entry.name.to_str()?.strip_suffix(".md")?.to_owned()))
                .filter(|name| !name.starts_with('.')),
        );
    }
    names.sort();
    names.dedup();
    Ok(names)
}

impl Socket {
    /// The folders of one section.
    #[must_use]
    pub fn folders(&self, section: &str) -> &[String] {
        match section {
            "rules" => &self.rules,
            "skills" => &self.skills,
            "agents" => &self.agents,
            _ => &[],
        }
    }

    /// The harness whose gate it asks.
    #[must_use]
    pub fn harness(&self) -> &str {
        self.harness.as_deref().unwrap_or(&self.name)
    }

    fn lacks(&self, what: impl Into<String>) -> SocketError {
        SocketError::Lacks { name: self.name.clone(), what: what.into() }
    }

    /// How the program is called for a turn.
    ///
    /// # Errors
    /// Where the socket does not take what is asked for.
    pub fn call(&self, turn: &Turn<'_>) -> Result<Call, SocketError> {
        let words = match turn.message {
            Some(_) => match (&self.headless, &self.interactive) {
                (Some(words), _) => words,
                (None, None) => &Vec::new(),
                (None, Some(_)) => return Err(self.lacks("has no `headless`: it takes no message")),
            },
            None => self.interactive.as_ref().ok_or_else(|| self.lacks("has no `interactive`: give it a message"))?,
        };
        let has = |mark: &str| words.iter().any(|word| word == mark);
        let model = match (turn.model, &self.model) {
            (None, _) => Vec::new(),
            (Some(model), Some(list)) if has("{model}") => list.iter().map(|word| word.replace("{model}", model)).collect(),
            (Some(_), _) => return Err(self.lacks("takes no `model`")),
        };
        let given = |list: &Option<Vec<String>>, id: &str| -> Option<Vec<String>> {
            list.as_ref().filter(|_| has("{session}")).map(|list| list.iter().map(|word| word.replace("{session}", id)).collect())
        };
        let session = match turn.session {
            Session::New => Vec::new(),
            Session::Named(id) => given(&self.session, id).unwrap_or_default(),
            Session::Resumed(id) => given(&self.resume, id).ok_or_else(|| self.lacks("has no `resume`"))?,
            Session::Last => given(&self.last, "").ok_or_else(|| self.lacks("has no `last`"))?,
        };
        let mut args: Vec<OsString> = Vec::new();
        let mut message_on_stdin = turn.message.is_some();
        for word in words {
            match word.as_str() {
                "{model}" => args.extend(model.iter().map(OsString::from)),
                "{session}" => args.extend(session.iter().map(OsString::from)),
                word => match turn.message.filter(|_| word.contains("{message}")) {
                    Some(message) => {
                        message_on_stdin = false;
                        args.push(word.replace("{message}", message).into());
                    }
                    None => args.push(word.into()),
                },
            }
        }
        Ok(Call { args, message_on_stdin })
    }
}

#[cfg(test)]
mod tests;
