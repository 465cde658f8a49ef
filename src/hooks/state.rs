//! What a session remembers between events: the state that its hooks share, where the agent stands, its
//! persona, which rules it was told, what still waits to be told, and which hooks are switched on.
//!
//! One file a session beside the one that keeps who asks, so that the gate, which asks only that, does
//! not pay for it. It is written whole, under a lock, and only where it has changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::active::Active;
use crate::custody::asker;
use crate::sys::disk::{self, PathError};
use crate::sys::lock::{self, LockError};
use crate::sys::shown;

/// The most bytes of a session's file.
pub const MAX_FILE: u64 = 1 << 20;
/// The most bytes of the object that hooks share.
pub const MAX_SHARED: usize = 256 << 10;
/// The most pieces of text that wait.
pub const MAX_WAITING: usize = 32;
/// How long somebody else's change is waited for.
const PATIENCE: Duration = Duration::from_millis(1500);

/// What is remembered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// The version of the format: 1.
    pub schema: u32,
    /// The session's id.
    pub session: String,
    /// What its hooks share.
    pub state: Map<String, Value>,
    /// Which hooks are switched on.
    pub active: Active,
    /// What was switched on before a loop put its own on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before_loop: Option<Active>,
    /// Where the session was started.
    pub launch: Option<PathBuf>,
    /// Where the agent stands: what it last read from, or ran a command in.
    pub place: Option<PathBuf>,
    /// Who it is to be.
    pub persona: Option<Persona>,
    /// The rules that it was told, and their digests.
    pub rules: BTreeMap<PathBuf, String>,
    /// What was added to its system prompt by each hook, as digests.
    pub prompts: BTreeMap<String, String>,
    /// Whether it was said that the kernel can't hold its commands.
    pub unheld: bool,
    /// What waits for an event at which it can be told.
    pub waiting: Vec<Piece>,
}

/// A persona that was declared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Persona {
    /// Its name.
    pub name: String,
    /// Whether it switches the ambient rules off.
    pub absolute: bool,
    /// The file that declares it.
    pub declared_in: PathBuf,
    /// The file that it was read from; `None` where it was not found.
    pub path: Option<PathBuf>,
    /// The digest of what the model was told of it.
    pub told: Option<String>,
}

/// A text for the model, whole or not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Piece {
    /// What it is: named where it is left out.
    pub name: String,
    /// The text.
    pub text: String,
}

/// Why what is remembered can't be used; reads on after "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The file says what can't be.
    #[error("read what is remembered of this session in {}: {why}", shown::path(.path))]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// It would be more than is kept.
    #[error("keep the state of this session: it is larger than {} KiB", MAX_SHARED >> 10)]
    TooLarge,
    /// Somebody else holds it.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The disk.
    #[error(transparent)]
    Disk(#[from] PathError),
}

/// The file of a session.
#[must_use]
pub fn file(state: &Path, session: &str) -> PathBuf {
    // No plain name holds a point, so it is nobody else's file.
    state.join("sessions").join(format!("{}.state.json", asker::session_name(session)))
}

/// What is remembered of a session; `None` where nothing is.
///
/// # Errors
/// Where the file is there and can't be read.
pub fn read(state: &Path, session: &str) -> Result<Option<Memory>, StateError> {
    let path = file(state, session);
    if disk::look(&path)?.is_none() {
        return Ok(None);
    }
    let broken = |why: String| StateError::Broken { path: path.clone(), why };
    match disk::read_bounded(&path, MAX_FILE)? {
        Some(data) => serde_json::from_slice(&data).map(Some).map_err(|error| broken(error.to_string())),
        None => Err(broken("it is larger than 1 MiB".to_owned())),
    }
}

/// Changes what is remembered, alone: what others did at the same time is seen, and nothing of it lost.
/// A file that can't be read is set aside, and begun anew.
///
/// # Errors
/// Where it can't be locked or written.
pub fn change<T>(state: &Path, session: &str, what: impl FnOnce(&mut Memory) -> T) -> Result<T, StateError> {
    let path = file(state, session);
    let _held = lock::take(&path.with_extension("lock"), "hooks", PATIENCE)?;
    let before = match read(state, session) {
        Ok(before) => before,
        Err(StateError::Broken { .. }) => {
            disk::rename(&path, &path.with_extension("broken"))?;
            None
        }
        Err(error) => return Err(error),
    };
    let mut after = before.clone().unwrap_or_default();
    (after.schema, after.session) = (1, session.to_owned());
    let result = what(&mut after);
    if before.as_ref() != Some(&after) {
        if serde_json::to_vec(&after.state).map_or(usize::MAX, |text| text.len()) > MAX_SHARED {
            return Err(StateError::TooLarge);
        }
        let mut text = serde_json::to_vec(&after).unwrap_or_default();
        text.push(b'\n');
        if text.len() as u64 > MAX_FILE {
            return Err(StateError::TooLarge);
        }
        disk::replace(&path, &text, Some(0o600))?;
    }
    Ok(result)
}

impl Memory {
    /// Merges what a hook answered into the shared state: a key is replaced, `null` takes it away.
    pub fn merge(&mut self, answered: &Map<String, Value>) {
        merge(&mut self.state, answered);
    }

    /// Keeps a text for the next event at which it can be told; the oldest give way.
    pub fn wait(&mut self, piece: Piece) {
        if self.waiting.contains(&piece) {
            return;
        }
        self.waiting.push(piece);
        let over = self.waiting.len().saturating_sub(MAX_WAITING);
        self.waiting.drain(..over);
    }
}

/// Merges one object into another: a key is replaced, `null` takes it away.
pub fn merge(into: &mut Map<String, Value>, answered: &Map<String, Value>) {
    for (key, value) in answered {
        if value.is_null() {
            into.shift_remove(key);
        } else {
            into.insert(key.clone(), value.clone());
        }
    }
}

/// Puts pieces together into one text of at most so many characters. One that does not fit is left out
/// whole and named: half a rule is another rule.
#[must_use]
pub fn compose(pieces: &[Piece], most: usize) -> (String, Vec<String>) {
    /// Room for the line that names what was left out.
    const NAMES: usize = 400;
    let (mut text, mut used) = (String::new(), 0);
    let mut left_out: Vec<String> = Vec::new();
    let some = || pieces.iter().filter(|piece| !piece.text.trim().is_empty());
    let all: usize = some().map(|piece| piece.text.chars().count() + 2).sum::<usize>().saturating_sub(2);
    let room = if all <= most { most } else { most.saturating_sub(NAMES) };
    for piece in some() {
        let gap = if text.is_empty() { 0 } else { 2 };
        let length = piece.text.chars().count();
        if used + gap + length > room {
            left_out.push(piece.name.clone());
            continue;
        }
        if gap > 0 {
            text.push_str("\n\n");
        }
        text.push_str(&piece.text);
        used += gap + length;
    }
    if !left_out.is_empty() {
        let names: Vec<String> = left_out.iter().map(|name| shown::text(name).to_string()).collect();
        let line = format!("Too long to stand here, read it yourself where it matters: {}", names.join(", "));
        let gap = if text.is_empty() { "" } else { "\n\n" };
        let line: String = line.chars().take(most.saturating_sub(used + gap.len())).collect();
        text.push_str(gap);
        text.push_str(&line);
    }
    (text, left_out)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests lay files out themselves")]

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("loci-state-{}-{name}", std::process::id()));
        let _ = disk::remove_tree(&dir);
        dir
    }

    #[test]
    fn what_many_change_at_once_is_all_there() {
        let state = scratch("many");
        std::thread::scope(|scope| {
            for at in 0..8 {
                let state = &state;
                scope.spawn(move || {
                    for nth in 0..4 {
                        let added = json!({ format!("{at}-{nth}"): at });
                        // On a loaded machine somebody's turn may not come in time, which is said: nothing is lost by it.
                        loop {
                            match change(state, "s", |memory| memory.merge(added.as_object().unwrap())) {
                                Err(StateError::Lock(_)) => {}
                                done => break done.unwrap(),
                            }
                        }
                    }
                });
            }
        });
        assert_eq!(read(&state, "s").unwrap().unwrap().state.len(), 32);
        assert_eq!(read(&state, "other").unwrap(), None);
        disk::remove_tree(&state).unwrap();
    }

    #[test]
    fn what_is_too_large_or_broken_loses_nothing_else() {
        let state = scratch("large");
        change(&state, "s", |memory| memory.merge(json!({ "kept": 1 }).as_object().unwrap())).unwrap();
        let large = change(&state, "s", |memory| memory.merge(json!({ "x": "y".repeat(MAX_SHARED) }).as_object().unwrap()));
        assert!(matches!(large, Err(StateError::TooLarge)));
        assert_eq!(read(&state, "s").unwrap().unwrap().state["kept"], 1);
        let path = file(&state, "s");
        disk::replace(&path, b"{\"state\":7", None).unwrap();
        assert!(matches!(read(&state, "s"), Err(StateError::Broken { .. })));
        change(&state, "s", |memory| memory.place = Some("/x".into())).unwrap();
        assert_eq!(read(&state, "s").unwrap().unwrap().place.as_deref(), Some(Path::new("/x")));
        assert_eq!(disk::read(&path.with_extension("broken")).unwrap(), b"{\"state\":7");
        disk::remove_tree(&state).unwrap();
    }

    #[test]
    fn a_key_is_replaced_and_null_takes_it_away() {
        let mut memory = Memory::default();
        memory.merge(json!({ "a": { "b": 1 }, "c": 2 }).as_object().unwrap());
        memory.merge(json!({ "a": { "d": 1 }, "c": null }).as_object().unwrap());
        assert_eq!(Value::Object(memory.state), json!({ "a": { "d": 1 } }));
    }

    #[test]
    fn a_piece_is_whole_or_named() {
        let piece = |name: &str, text: String| Piece { name: name.to_owned(), text };
        let pieces = [piece("a", "A".repeat(400)), piece("b\n", "B".repeat(9_000)), piece("c", "C".repeat(400))];
        let (text, left_out) = compose(&pieces, 2_000);
        assert_eq!(left_out, ["b\n"]);
        assert!(text.contains(&"A".repeat(400)) && text.contains(&"C".repeat(400)) && !text.contains("BB"));
        assert!(text.ends_with("where it matters: b\\u{a}") && text.chars().count() <= 2_000, "{text}");
        let whole = vec![piece("one", "a".repeat(10_000)), piece("none", " ".to_owned())];
        assert_eq!(compose(&whole, 10_000), ("a".repeat(10_000), Vec::new()));
        assert_eq!(compose(&pieces, 10_000), (pieces.iter().map(|piece| piece.text.as_str()).collect::<Vec<_>>().join("\n\n"), Vec::new()));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn never_more_than_asked_for(lengths in proptest::collection::vec(0_usize..3_000, 0..12), most in 0_usize..5_000) {
            let pieces: Vec<Piece> = lengths.iter().enumerate().map(|(at, n)| Piece { name: format!("p{at}"), text: "é".repeat(*n) }).collect();
            let (text, left_out) = compose(&pieces, most);
            prop_assert!(text.chars().count() <= most);
            if lengths.iter().map(|n| n + 2).sum::<usize>() <= most {
                prop_assert!(left_out.is_empty());
            }
        }

        #[test]
        fn any_bytes_are_a_memory_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = serde_json::from_slice::<Memory>(&bytes);
        }
    }
}
