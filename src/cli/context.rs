//! What every verb knows: flags resolved to intent, the environment, the way out.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::args::{Global, When};
use super::failure::Failure;
use crate::sys::env::{self, Env};
use crate::sys::{shown, term};

/// The surroundings of a verb.
#[derive(Debug)]
pub struct Context {
    /// The flags as given.
    pub flags: Global,
    /// The environment, read once.
    pub env: Env,
    /// The working directory.
    pub cwd: PathBuf,
    /// The home that holds the registry (`LOCI_HOME`, else `HOME`).
    pub home: PathBuf,
    /// The machine-local state folder.
    pub state: PathBuf,
    /// Whether standard output takes colours.
    pub colored: bool,
    /// The words of the command line, the name of the program left out.
    pub argv: Vec<OsString>,
    /// Where what a verb says goes instead of the standard streams, when another verb runs it.
    pub sink: Option<RefCell<String>>,
}

impl Context {
    /// Resolves the flags against the environment.
    ///
    /// # Errors
    /// Where there is no home or no working directory to start from.
    pub fn new(flags: Global) -> Result<Self, Failure> {
        let env = Env::of_process();
        let home = env.home().ok_or_else(|| Failure::new("environment", "neither LOCI_HOME nor HOME names an absolute directory"))?;
        let state = env.state().unwrap_or_else(|| home.join(".local/state/loci"));
        let cwd = env.cwd.clone().ok_or_else(|| Failure::new("environment", "the working directory no longer exists"))?;
        let colored = match flags.color {
            When::Always => true,
            When::Never => false,
            When::Auto => {
                env.get(env::NO_COLOR).is_none() && term::stdout_is_terminal() && env.get(env::TERM).is_some_and(|term| term != "dumb")
            }
        };
        Ok(Self { flags, env, cwd, home, state, colored, argv: env::arguments(), sink: None })
    }

    /// The same, for a verb that another one calls: what it says is caught, and it asks nobody.
    #[must_use]
    pub fn quiet(&self) -> Self {
        Self {
            flags: self.flags.clone(),
            env: self.env.clone(),
            cwd: self.cwd.clone(),
            home: self.home.clone(),
            state: self.state.clone(),
            colored: false,
            argv: self.argv.clone(),
            sink: Some(RefCell::default()),
        }
    }

    /// A path from the command line, made absolute; links and `..` stay as they are.
    #[must_use]
    pub fn absolute(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }

    /// A path as people see it: relative to where they are where it lies below, control characters
    /// escaped.
    #[must_use]
    pub fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.cwd) {
            Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
            Ok(rest) => shown::path(rest).to_string(),
            Err(_) => shown::path(path).to_string(),
        }
    }

    /// Prints words, or the object with `--json`. Only the one that is asked for is made.
    ///
    /// # Errors
    /// Where standard output can't be written (a full disk behind a redirection).
    pub fn print(&self, words: impl FnOnce() -> String, object: impl FnOnce() -> Value) -> Result<(), Failure> {
        let text = if self.flags.json { format!("{}\n", object()) } else { words() };
        if let Some(sink) = &self.sink {
            sink.borrow_mut().push_str(&text);
            return Ok(());
        }
        term::out(text.as_bytes()).map_err(|error| Failure::new("io", "failed to write to standard output").caused_by(&error))
    }

    /// As [`Context::print`], for what is long: it is written out while it is made.
    ///
    /// # Errors
    /// As [`Context::print`].
    pub fn stream(&self, words: impl FnOnce(&mut dyn Write) -> io::Result<()>, object: &impl Serialize) -> Result<(), Failure> {
        let write = |out: &mut dyn Write| {
            if !self.flags.json {
                return words(out);
            }
            // An object is written in very many small pieces.
            let mut out = BufWriter::with_capacity(1 << 16, out);
            serde_json::to_writer(&mut out, object)?;
            out.write_all(b"\n")?;
            out.flush()
        };
        let written = match &self.sink {
            Some(sink) => {
                let mut text = Vec::new();
                write(&mut text).map(|()| sink.borrow_mut().push_str(&String::from_utf8_lossy(&text)))
            }
            None => term::stream(write),
        };
        written.map_err(|error| Failure::new("io", "failed to write to standard output").caused_by(&error))
    }

    /// Whether somebody is there to be asked: at a terminal, and not through another verb.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.sink.is_none() && term::somebody_is_there()
    }

    /// Says something to people, on standard error.
    pub fn say(&self, words: &str) {
        if let Some(sink) = &self.sink {
            if !self.flags.json {
                sink.borrow_mut().push_str(&format!("{words}\n"));
            }
            return;
        }
        term::err(&format!("{words}\n"));
    }
}
