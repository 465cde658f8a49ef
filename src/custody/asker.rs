//! Who asks: fixed at the first event of a session, kept by session id.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::find;
use crate::sys::disk::{self, PathError};
use crate::sys::env::{self, Env};
use crate::sys::shown;
use crate::sys::time::{self, Timestamp};
use crate::text::digest;
use crate::text::name::{AgentId, NameError};

/// Who asks. Nobody in particular has neither: nobody owns nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asker {
    /// The agent's id.
    pub agent: Option<AgentId>,
    /// Its body (real).
    pub body: Option<PathBuf>,
}

/// Something a person should see about how the asker was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note(pub String);

/// Why it can't be said who asks.
#[derive(Debug, thiserror::Error)]
pub enum AskerError {
    /// `LOCI_AGENT` is no id.
    #[error("take the asker from {}: {source}", env::LOCI_AGENT)]
    Agent {
        /// What is wrong with it.
        source: NameError,
    },
    /// `LOCI_BODY` is no directory that can be reached.
    #[error("take the asker from {}: it is not an absolute path to a directory: {}", env::LOCI_BODY, shown::path(.0))]
    Body(PathBuf),
    /// What was kept of the session can't be read.
    #[error("read who asks in this session from {}: {why}", shown::path(.path))]
    Session {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The disk.
    #[error(transparent)]
    Disk(#[from] PathError),
}

impl Asker {
    /// How messages and front matter name it.
    #[must_use]
    pub fn name(&self) -> &str {
        self.agent.as_ref().map_or("nobody", AgentId::as_str)
    }
}

/// The asker that `LOCI_AGENT` and `LOCI_BODY` name; `None` where neither is set.
///
/// # Errors
/// Where one of them is set to something that can't be true.
pub fn from_environment(env: &Env) -> Result<Option<Asker>, AskerError> {
    let agent = match env.get(env::LOCI_AGENT) {
        Some(id) => Some(AgentId::new(&id.to_string_lossy()).map_err(|source| AskerError::Agent { source })?),
        None => None,
    };
    let body = match env.get(env::LOCI_BODY).map(Path::new) {
        Some(path) if path.is_absolute() && disk::is_dir(path) => Some(disk::canonical(path)?),
        Some(path) => return Err(AskerError::Body(path.to_owned())),
        None => None,
    };
    Ok(match (agent, body) {
        (None, None) => None,
        (None, Some(body)) => Some(Asker { agent: find::identity(&body).and_then(Result::ok).map(|card| card.id), body: Some(body) }),
        (agent, body) => Some(Asker { agent, body }),
    })
}

/// The body that a directory is in: the nearest identity file up from it.
#[must_use]
pub fn from_launch(dir: &Path) -> (Asker, Option<Note>) {
    match find::body_around(dir) {
        None => (Asker::default(), None),
        Some((body, Ok(card))) => (Asker { agent: Some(card.id), body: Some(body) }, None),
        Some((_, Err(error))) => {
            let line = error.line.map(|line| format!(" (line {line})")).unwrap_or_default();
            (Asker::default(), Some(Note(format!("you are taken for nobody: failed to {error}{line}"))))
        }
    }
}

/// Who asks here and now: the asker of the environment, completed by the directory (a named agent
/// without a body gets the one around `cwd` if that carries its id), else the body around `cwd`.
///
/// # Errors
/// Where the environment names something that can't be true.
pub fn here(env: &Env, cwd: &Path) -> Result<(Asker, Option<Note>), AskerError> {
    let (around, note) = from_launch(cwd);
    Ok(match from_environment(env)? {
        None => (around, note),
        Some(Asker { agent, body: None }) if agent == around.agent => (around, None),
        Some(asker) => (asker, None),
    })
}

/// The asker of a session. The first event fixes it in `state/sessions/`; later ones read it there,
/// whatever the environment, the working directory or `agent.md` say by then. Without a session id
/// it is found anew each time.
///
/// # Errors
/// Where the environment contradicts itself, or what was kept can't be read. Who asks is then
/// unknown: take [`Asker::default`], and say it.
pub fn of_session(state: &Path, session: Option<&str>, env: &Env, cwd: &Path, now: Timestamp) -> Result<(Asker, Option<Note>), AskerError> {
    let Some(session) = session else { return here(env, cwd) };
    let path = session_file(state, session);
    if let Some(asker) = kept(&path)? {
        return Ok((asker, None));
    }
    let (asker, note) = here(env, cwd)?;
    match keep(&path, session, &asker, now) {
        Ok(None) => Ok((asker, note)),
        // Another event of the session was quicker; what it wrote holds.
        Ok(Some(theirs)) => Ok((theirs, None)),
        Err(AskerError::Disk(error)) => {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
            Ok((
                asker,
                Some(Note(format!(
                    "who asks could not be kept for this session (failed to {error}{cause}), so it is found anew each time"
                ))),
            ))
        }
        Err(other) => Err(other),
    }
}

/// A named agent, for a question about it: its body is the one of that id up from the directories
/// given, nearest first, or the one that an owner file there names for it.
#[must_use]
pub fn named<'a>(agent: AgentId, dirs: impl IntoIterator<Item = &'a Path>) -> Asker {
    let body = dirs.into_iter().find_map(|dir| find::body_of(&agent, dir));
    Asker { agent: Some(agent), body }
}

/// The file that keeps what is fixed for a session.
#[must_use]
pub fn session_file(state: &Path, session: &str) -> PathBuf {
    state.join("sessions").join(format!("{}.json", session_name(session)))
}

/// The name of a session's files: its id where that is harmless, and a digest of it elsewhere; no two
/// ids share one.
#[must_use]
pub fn session_name(session: &str) -> String {
    let plain =
        (1..=80).contains(&session.len()) && session.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if plain { session.to_owned() } else { format!("x.{}", &digest::sha256(session.as_bytes())[..40]) }
}

/// Reads the asker that a session file keeps; `None` where there is no file yet.
fn kept(path: &Path) -> Result<Option<Asker>, AskerError> {
    /// What hooks keep beside the asker is bounded by the same limit.
    const MAX: u64 = 1 << 20;
    let broken = |why: &str| AskerError::Session { path: path.to_owned(), why: why.to_owned() };
    let (data, more) = match disk::read_start(path, MAX) {
        Ok(read) => read,
        // A link to nowhere is something that can't be read, not an absence.
        Err(error) if disk::is_absent(&error.source) && disk::look(path)?.is_none() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if more {
        return Err(broken("it is larger than 1 MiB"));
    }
    let value: Value = serde_json::from_slice(&data).map_err(|error| broken(&error.to_string()))?;
    let asker = value.get("asker").and_then(Value::as_object).ok_or_else(|| broken("it names no asker"))?;
    let text = |key: &str| match asker.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(broken("the asker is not written as text")),
    };
    let agent = match text("agent")? {
        Some(id) => Some(AgentId::new(id).map_err(|error| broken(&error.to_string()))?),
        None => None,
    };
    Ok(Some(Asker { agent, body: text("body")?.map(PathBuf::from) }))
}

/// Keeps the asker, where nobody has done so before; else says who was kept.
fn keep(path: &Path, session: &str, asker: &Asker, now: Timestamp) -> Result<Option<Asker>, AskerError> {
    let mut kept_asker = Map::new();
    kept_asker.insert("agent".to_owned(), json!(asker.agent));
    // A body whose name is not UTF-8 can't stand in JSON; its agent is found by id then.
    kept_asker.insert("body".to_owned(), json!(asker.body.as_deref().and_then(Path::to_str)));
    let record = json!({ "schema": 1, "session": session, "since": time::to_second(now), "asker": kept_asker });
    if let Some(parent) = path.parent() {
        disk::make_dirs(parent)?;
        // Once a session: what killed runs left. Nothing hangs on it.
        let _ = disk::sweep_temps(parent);
    }
    match disk::write_new(path, format!("{record}\n").as_bytes(), 0o600) {
        Ok(()) => Ok(None),
        Err(error) if error.source.kind() == std::io::ErrorKind::AlreadyExists => kept(path),
        Err(error) => Err(error.into()),
    }
}
