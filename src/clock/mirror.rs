//! A terminal session of tmux that somebody has attached: it can be looked at and typed into, and nothing else.
//!
//! It is not owned: one that is not there is not started, one that has gone is not brought back. What was attached is
//! one pane of one session, known by the server's own ids: another session that took the name, or another
//! pane that came to the front, is not what a person had looked at.

pub mod route;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::instant;
use crate::sys::disk::{self, PathError};
use crate::sys::program::{Finished, Program};
use crate::sys::{random, shown};

/// How long tmux may take to answer.
const LIMIT: Duration = Duration::from_secs(5);
/// The most of a screen that is read, in bytes.
const MAX_SCREEN: usize = 1 << 20;
/// The most that is typed at once, in bytes.
pub const MAX_TEXT: usize = 256 << 10;
/// In how many modes a pane may be at once before it is left alone.
const MAX_MODES: usize = 5;
/// Programs that take what is typed for commands.
const SHELLS: [&str; 14] = ["sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "tcsh", "csh", "ash", "busybox", "nu", "pwsh", "elvish"];

/// What was attached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// Version of the format: 1.
    pub schema: u32,
    /// The session's name.
    pub name: String,
    /// The socket of its server.
    #[serde(with = "crate::sys::wire::path")]
    pub socket: PathBuf,
    /// The server's id of the session, and when it was made: two sessions of one name are told apart by them.
    pub session: String,
    /// Seconds since the epoch, as the server says them.
    pub created: String,
    /// The server's process.
    pub server: String,
    /// The server's id of the pane.
    pub pane: String,
    /// The program that was in it.
    pub program: String,
    /// When it was attached.
    #[serde(with = "instant")]
    pub at: Timestamp,
}

/// Why a terminal can't be used; reads on after "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// Nobody attached it.
    #[error("use the terminal {}: not attached", shown::text(.0))]
    NotAttached(String),
    /// The session is not there.
    #[error("use the terminal {}: not attached: no such session is there", shown::text(.0))]
    NotThere(String),
    /// Another one has its name.
    #[error("use the terminal {}: not attached: what has that name now is another session, or its pane is gone", shown::text(.0))]
    Another(String),
    /// A shell is in its place.
    #[error("type into the terminal {}: the program that was attached ({}) is gone, and a shell ({}) would run what is typed", shown::text(.0), shown::text(.1), shown::text(.2))]
    Shell(String, String, String),
    /// A text that can't be typed.
    #[error("type that: {0}")]
    Text(String),
    /// tmux does not do it.
    #[error("ask tmux: {0}")]
    Tmux(String),
    /// The disk.
    #[error(transparent)]
    Disk(#[from] PathError),
}

/// Whether a text does as the name of a session: what tmux takes, and what is safe as the name of a file.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let fine = |c: char| !c.is_control() && !c.is_whitespace() && !matches!(c, ':' | '.' | '/' | '\u{200e}'..='\u{202f}');
    (1..=100).contains(&name.len()) && name.chars().all(fine) && !name.starts_with(['-', '='])
}

/// Whether a text arrives as it is, and as one: a control character would end the paste or press a key.
///
/// # Errors
/// Why not.
pub fn is_typable(text: &str) -> Result<(), MirrorError> {
    if text.trim().is_empty() {
        return Err(MirrorError::Text("it is empty".to_owned()));
    }
    if text.len() > MAX_TEXT {
        return Err(MirrorError::Text(format!("it has more than {MAX_TEXT} bytes")));
    }
    match text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        Some(c) => Err(MirrorError::Text(format!("it holds the control character {}", c.escape_unicode()))),
        None => Ok(()),
    }
}

/// The file that says what is attached by a name.
#[must_use]
pub fn file(state: &Path, name: &str) -> PathBuf {
    state.join("mirror").join(format!("{name}.json"))
}

/// What is attached by a name; `None` where nothing is.
///
/// # Errors
/// Where the file is there and can't be read.
pub fn attached(state: &Path, name: &str) -> Result<Option<Attached>, MirrorError> {
    let path = file(state, name);
    if !is_name(name) || disk::look(&path)?.is_none() {
        return Ok(None);
    }
    Ok(disk::read_bounded(&path, 64 << 10)?.and_then(|text| serde_json::from_slice(&text).ok()))
}

/// Notes what a person has attached.
///
/// # Errors
/// Where the disk does not take it.
pub fn keep(state: &Path, found: &Attached) -> Result<(), MirrorError> {
    let path = file(state, &found.name);
    disk::make_dirs(&state.join("mirror"))?;
    Ok(disk::replace(&path, format!("{}\n", serde_json::json!(found)).as_bytes(), Some(0o600))?)
}

/// A pane as tmux sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pane {
    name: String,
    socket: PathBuf,
    session: String,
    created: String,
    server: String,
    pane: String,
    program: String,
    dead: bool,
    in_mode: bool,
    /// Where its program stands.
    pub cwd: PathBuf,
}

const FORMAT: &str = "#{session_id}\n#{session_created}\n#{pid}\n#{pane_id}\n#{pane_dead}\n#{pane_in_mode}\n#{socket_path}\n\
                      #{pane_current_command}\n#{session_name}\n#{pane_current_path}";

/// One tmux server.
#[derive(Debug, Clone, Copy)]
pub struct Tmux<'a> {
    /// Its socket: a path, or a name in tmux's own folder; `None`: the one that the environment means.
    pub socket: Option<&'a Path>,
    /// The environment that tmux is called with.
    pub env: &'a BTreeMap<OsString, OsString>,
}

impl Tmux<'_> {
    fn call(&self, args: &[&str], stdin: &[u8], keep: usize) -> Result<Finished, MirrorError> {
        let mut all: Vec<OsString> = Vec::new();
        if let Some(socket) = self.socket {
            let is_path = socket.components().count() > 1;
            all.push(if is_path { "-S" } else { "-L" }.into());
            all.push(socket.into());
        }
        // Never one that would be started with settings of its own, and text is text.
        all.push("-u".into());
        all.extend(args.iter().map(OsString::from));
        let mut env = self.env.clone();
        if self.socket.is_some() {
            env.remove(std::ffi::OsStr::new("TMUX"));
        }
        let program = Program { file: Path::new("tmux"), args: all, cwd: Path::new("/"), env, stdin, limit: LIMIT, keep };
        program.run().map_err(|error| MirrorError::Tmux(format!("it can't be started ({error})")))
    }

    /// Calls it, and takes anything but success for a failure.
    fn done(&self, args: &[&str], stdin: &[u8], keep: usize) -> Result<Vec<u8>, MirrorError> {
        let finished = self.call(args, stdin, keep)?;
        if finished.code == Some(0) {
            return Ok(finished.stdout);
        }
        let said = String::from_utf8_lossy(&finished.stderr).trim().chars().take(200).collect::<String>();
        Err(MirrorError::Tmux(if finished.timed_out { "it does not answer".to_owned() } else { shown::text(&said).to_string() }))
    }

    /// A pane; `None` where it, its session or its server is not there. Nothing is started by asking.
    fn pane(&self, target: &str) -> Result<Option<Pane>, MirrorError> {
        let finished = self.call(&["display-message", "-p", "-t", target, FORMAT], b"", 64 << 10)?;
        if finished.timed_out {
            return Err(MirrorError::Tmux("it does not answer".to_owned()));
        }
        let text = String::from_utf8_lossy(&finished.stdout).into_owned();
        let mut lines = text.splitn(10, '\n').map(str::to_owned);
        let mut next = || lines.next().unwrap_or_default();
        let (session, created, server, pane) = (next(), next(), next(), next());
        let (dead, in_mode) = (next() == "1", next() == "1");
        let (socket, program, name, cwd) = (PathBuf::from(next()), next(), next(), next());
        if finished.code != Some(0) || session.is_empty() || pane.is_empty() {
            return Ok(None);
        }
        let cwd = PathBuf::from(cwd.strip_suffix('\n').unwrap_or(&cwd));
        Ok(Some(Pane { name, socket, session, created, server, pane, program, dead, in_mode, cwd }))
    }

    /// Looks for the session of a name, and says what attaching it would bind to.
    ///
    /// # Errors
    /// [`MirrorError::NotThere`] where there is none.
    pub fn find(&self, name: &str, at: Timestamp) -> Result<Attached, MirrorError> {
        if !is_name(name) {
            return Err(MirrorError::NotThere(name.to_owned()));
        }
        let pane = self.pane(&format!("={name}:"))?.filter(|pane| pane.name == name && !pane.dead);
        let Some(pane) = pane else { return Err(MirrorError::NotThere(name.to_owned())) };
        Ok(Attached {
            schema: 1,
            name: name.to_owned(),
            socket: pane.socket,
            session: pane.session,
            created: pane.created,
            server: pane.server,
            pane: pane.pane,
            program: pane.program,
            at,
        })
    }
}

impl Attached {
    fn tmux<'a>(&'a self, env: &'a BTreeMap<OsString, OsString>) -> Tmux<'a> {
        Tmux { socket: Some(&self.socket), env }
    }

    /// The pane that was attached, as it is now.
    ///
    /// # Errors
    /// Where it is no longer there, or is not the one.
    pub fn look(&self, env: &BTreeMap<OsString, OsString>) -> Result<Pane, MirrorError> {
        let tmux = self.tmux(env);
        let Some(pane) = tmux.pane(&self.pane)? else {
            // Another session may have been started by that name since.
            let named = tmux.pane(&format!("={}:", self.name))?.is_some_and(|pane| pane.name == self.name);
            return Err(if named { MirrorError::Another(self.name.clone()) } else { MirrorError::NotThere(self.name.clone()) });
        };
        let same = pane.session == self.session && pane.created == self.created && pane.server == self.server && pane.pane == self.pane;
        if same && !pane.dead { Ok(pane) } else { Err(MirrorError::Another(self.name.clone())) }
    }

    /// What stands on its screen.
    ///
    /// # Errors
    /// Where it is no longer there.
    pub fn screen(&self, env: &BTreeMap<OsString, OsString>) -> Result<String, MirrorError> {
        self.look(env)?;
        let bytes = self.tmux(env).done(&["capture-pane", "-p", "-t", &self.pane], b"", MAX_SCREEN)?;
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned())
    }

    /// Types a text as one paste, and submits it. `may` is asked last, right before: a person may have come.
    /// `false`: it said no, and nothing was typed.
    ///
    /// # Errors
    /// Where the text or the pane does not do, or tmux does not answer.
    pub fn type_in(&self, env: &BTreeMap<OsString, OsString>, text: &str, may: impl FnOnce() -> bool) -> Result<bool, MirrorError> {
        is_typable(text)?;
        let mut pane = self.look(env)?;
        let is_shell = |program: &str| SHELLS.contains(&program.trim_start_matches('-'));
        if is_shell(&pane.program) && pane.program != self.program {
            return Err(MirrorError::Shell(self.name.clone(), self.program.clone(), pane.program));
        }
        let tmux = self.tmux(env);
        // Where somebody scrolls, keys move the view and reach nobody.
        for _ in 0..MAX_MODES {
            if !pane.in_mode {
                break;
            }
            tmux.done(&["send-keys", "-t", &self.pane, "-X", "cancel"], b"", 1024)?;
            pane = self.look(env)?;
        }
        if pane.in_mode {
            return Err(MirrorError::Tmux("the pane does not leave its mode".to_owned()));
        }
        let salt = random::hex20().map_err(|error| MirrorError::Tmux(error.to_string()))?;
        let buffer = format!("loci-{salt}");
        tmux.done(&["load-buffer", "-b", &buffer, "-"], text.as_bytes(), 1024)?;
        if !may() {
            tmux.done(&["delete-buffer", "-b", &buffer], b"", 1024)?;
            return Ok(false);
        }
        let pasted = tmux.done(&["paste-buffer", "-d", "-p", "-r", "-b", &buffer, "-t", &self.pane], b"", 1024);
        if pasted.is_err() {
            let _ = tmux.done(&["delete-buffer", "-b", &buffer], b"", 1024);
        }
        pasted?;
        tmux.done(&["send-keys", "-t", &self.pane, "Enter"], b"", 1024)?;
        Ok(true)
    }
}

/// Types a prompt of the clock into a terminal that is attached by a name; its mark is left before, so that
/// nobody takes it for a person's.
///
/// # Errors
/// Where it is not attached, or can't be typed into.
pub fn prompt(
    state: &Path,
    env: &BTreeMap<OsString, OsString>,
    name: &str,
    text: &str,
    may: impl FnOnce() -> bool,
) -> Result<bool, MirrorError> {
    let Some(attached) = attached(state, name)? else { return Err(MirrorError::NotAttached(name.to_owned())) };
    is_typable(text)?;
    attached.look(env)?;
    crate::hooks::typed::mark(state, text)?;
    attached.type_in(env, text, may)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts() {
        for name in ["main", "claude-1", "ä", "a_b", "$1", "%0", "{last}"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "a b", "a:b", "a.b", "../x", "a/b", "-x", "=x", "a\nb", "a\u{202e}b"] {
            assert!(!is_name(name), "{name:?}");
        }
        assert!(is_typable("a\n\t\"`$x`\" é 日本").is_ok());
        for text in ["", " \n", "a\u{1b}[201~\rrm -rf", "a\rb", "a\u{7f}", "a\u{9b}201~"] {
            assert!(is_typable(text).is_err(), "{text:?}");
        }
        assert!(is_typable(&"x".repeat(MAX_TEXT + 1)).is_err());
    }
}
