//! What the gate leaves about a call of a shell for whoever comes after it: `loci exec`, where the call was
//! put in there, and the relay after the call, which looks whether it was, and what came of it.
//!
//! One small file a call, named by its session and id, in the state folder, which only loci writes.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::custody::asker::Asker;
use crate::custody::letter;
use crate::sys::disk::{self, PathError};
use crate::sys::time::{self, Timestamp};
use crate::text::digest;
use crate::text::name::{AgentId, NameError};

/// The largest file of one, in bytes.
const MAX_BYTES: u64 = 64 << 10;
/// How many are kept of calls of which nothing was heard again.
const MAX_KEPT: usize = 64;
/// How many ids of messages are kept.
const MAX_FILED: usize = 64;

/// How far a call has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// It runs as it was, and what changes meanwhile is looked at.
    Watched,
    /// It was put into `loci exec`, and has not begun there.
    Asked,
    /// It has begun there.
    Held,
    /// It has ended there.
    Ended,
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The version of the format: 1.
    pub schema: u32,
    /// When the gate saw it.
    pub at: String,
    /// The same, in nanoseconds since 1970 by the clock of the disk.
    #[serde(skip)]
    pub since_ns: i128,
    /// Who asks in its session.
    pub agent: Option<String>,
    /// And from which body.
    #[serde(with = "crate::sys::wire::maybe_path")]
    pub body: Option<PathBuf>,
    /// Where the session was started.
    #[serde(with = "crate::sys::wire::maybe_path")]
    pub launch: Option<PathBuf>,
    /// Where the call runs.
    #[serde(with = "crate::sys::wire::maybe_path")]
    pub cwd: Option<PathBuf>,
    /// The harness.
    pub harness: String,
    /// The session.
    pub session: String,
    /// The sub-agent that acts.
    pub sub_agent: Option<String>,
    /// The tool.
    pub tool: String,
    /// The command as it was.
    pub command: String,
    /// How far it has come.
    pub stage: Stage,
    /// The ids of the messages that it became.
    pub filed: Vec<String>,
}

impl Call {
    /// Who asks.
    ///
    /// # Errors
    /// Where what stands there is no agent's id.
    pub fn asker(&self) -> Result<Asker, NameError> {
        let agent = self.agent.as_deref().map(AgentId::new).transpose()?;
        Ok(Asker { agent, body: self.body.clone() })
    }
}

/// The name of a call. A harness that gives its calls no ids has one at a time, as far as is known.
#[must_use]
pub fn key(session: &str, call: Option<&str>) -> String {
    let hash = digest::sha256_of_parts([&b"call"[..], session.as_bytes(), call.unwrap_or_default().as_bytes()]);
    hash.chars().take(16).collect()
}

fn dir(state: &Path) -> PathBuf {
    state.join("calls")
}

fn file(state: &Path, key: &str) -> PathBuf {
    dir(state).join(format!("{key}.json"))
}

/// Leaves word of a call.
///
/// # Errors
/// Where it can't be written.
pub fn leave(state: &Path, key: &str, call: &Call) -> Result<(), PathError> {
    let dir = dir(state);
    disk::make_dirs(&dir)?;
    sweep(&dir);
    let path = file(state, key);
    let text = line(&path, call)?;
    if disk::look(&path)?.is_some() {
        disk::remove_file(&path)?;
    }
    // Somebody waits for it, and it only tells.
    disk::append_unsynced(&path, &text)
}

fn line(path: &Path, call: &Call) -> Result<Vec<u8>, PathError> {
    let mut text = serde_json::to_vec(call).map_err(|error| PathError::new("write", path, error.into()))?;
    text.push(b'\n');
    Ok(text)
}

fn write(path: &Path, call: &Call) -> Result<(), PathError> {
    disk::replace(path, &line(path, call)?, Some(0o600))
}

/// Takes away the oldest of what nobody came back for.
fn sweep(dir: &Path) {
    let Ok(entries) = disk::list_unsorted(dir) else { return };
    if entries.len() < MAX_KEPT {
        return;
    }
    let age = |name: &std::ffi::OsStr| disk::look(&dir.join(name)).ok().flatten().map_or(0, |meta| meta.mtime_ns);
    let mut all: Vec<_> = entries.into_iter().map(|entry| (age(&entry.name), entry.name)).collect();
    all.sort_unstable();
    for (_, name) in all.iter().take(all.len() - MAX_KEPT / 2) {
        let _ = disk::remove_file(&dir.join(name));
    }
}

fn read(path: &Path) -> Option<Call> {
    let meta = disk::look(path).ok()??;
    let call: Call = serde_json::from_slice(&disk::read_bounded(path, MAX_BYTES).ok()??).ok()?;
    (call.schema == 1).then_some(Call { since_ns: meta.mtime_ns, ..call })
}

/// The call of that name, where the gate has put it into `loci exec` and it has not begun.
#[must_use]
pub fn asked(state: &Path, key: &str) -> Option<Call> {
    let call = letter::is_key(key).then(|| read(&file(state, key))).flatten()?;
    (call.stage == Stage::Asked).then_some(call)
}

/// It begins.
///
/// # Errors
/// Where that can't be written.
pub fn begin(state: &Path, key: &str) -> Result<(), PathError> {
    step(state, key, |call| call.stage = Stage::Held)
}

/// It has ended, and became these messages.
///
/// # Errors
/// Where that can't be written.
pub fn end(state: &Path, key: &str, mut filed: Vec<String>) -> Result<(), PathError> {
    filed.truncate(MAX_FILED);
    step(state, key, |call| {
        call.stage = Stage::Ended;
        call.filed = filed;
    })
}

fn step(state: &Path, key: &str, what: impl FnOnce(&mut Call)) -> Result<(), PathError> {
    let path = file(state, key);
    // One that was swept away meanwhile is nobody's any more.
    let Some(mut call) = read(&path) else { return Ok(()) };
    what(&mut call);
    write(&path, &call)
}

/// Takes what was left about a call. One that still runs in the background stays.
#[must_use]
pub fn take(state: &Path, key: &str) -> Option<Call> {
    let path = file(state, key);
    let call = read(&path)?;
    if call.stage != Stage::Held {
        let _ = disk::remove_file(&path);
    }
    Some(call)
}

/// A new one.
#[must_use]
pub fn new(asker: &Asker, harness: &str, session: &str, tool: &str, stage: Stage, now: Timestamp) -> Call {
    Call {
        schema: 1,
        at: time::to_second(now),
        since_ns: 0,
        agent: asker.agent.as_ref().map(|agent| agent.as_str().to_owned()),
        body: asker.body.clone(),
        launch: None,
        cwd: None,
        harness: harness.to_owned(),
        session: session.to_owned(),
        sub_agent: None,
        tool: tool.to_owned(),
        command: String::new(),
        stage,
        filed: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests build their own folders")]

    use super::*;

    #[test]
    fn word_of_a_call_is_left_taken_and_swept() {
        let state = std::env::temp_dir().join(format!("loci-calls-{}", std::process::id()));
        let _ = disk::remove_tree(&state);
        let left = |stage| new(&Asker::default(), "claude", "s", "Bash", stage, time::now());
        let one = key("s", Some("1"));
        assert!(one != key("s", Some("2")) && one != key("s1", None) && letter::is_key(&one));
        leave(&state, &one, &left(Stage::Watched)).unwrap();
        // It was not put in there, so nobody can say that it was.
        assert!(asked(&state, &one).is_none() && asked(&state, "../x").is_none());
        leave(&state, &one, &left(Stage::Asked)).unwrap();
        assert_eq!(asked(&state, &one).unwrap().session, "s");
        begin(&state, &one).unwrap();
        assert!(asked(&state, &one).is_none());
        assert_eq!(take(&state, &one).unwrap().stage, Stage::Held);
        end(&state, &one, vec!["id".to_owned()]).unwrap();
        let taken = take(&state, &one).unwrap();
        assert!(taken.filed == ["id"] && taken.since_ns > 0 && take(&state, &one).is_none());
        begin(&state, &one).unwrap();
        assert!(take(&state, &one).is_none());
        for nth in 0..200 {
            leave(&state, &key("s", Some(&nth.to_string())), &left(Stage::Watched)).unwrap();
        }
        let kept = disk::list_unsorted(&dir(&state)).unwrap().len();
        assert!(kept <= MAX_KEPT, "{kept}");
        disk::remove_tree(&state).unwrap();
    }
}
