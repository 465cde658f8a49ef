//! Named pipes that the command makes: what is read from one is what the command writes into it, before or after.
//!
//! Who reads may stand in front of who writes, so a way through the command is followed again with what was written on it.

use super::engine::{Engine, UNK};
use super::picture::{Left, Picture};
use super::state::Shell;
use std::collections::BTreeMap;

/// Most times that one way is followed for its pipes.
pub(super) const MAX_ROUNDS: u32 = 4;

/// Named pipes of one way.
#[derive(Default)]
pub(crate) struct Pipes {
    /// What has been written into each.
    now: BTreeMap<String, String>,
    /// What each held when this way was last followed.
    before: BTreeMap<String, String>,
    /// How often the way has been followed.
    rounds: u32,
}

impl Pipes {
    /// A new way; `again` where it is the same one.
    pub(super) fn begin(&mut self, again: bool) {
        if again {
            self.rounds += 1;
            self.before = std::mem::take(&mut self.now);
        } else {
            *self = Self::default();
        }
    }

    /// Adds what is in a pipe by other ways than a redirection.
    fn look(&mut self, fs: &Picture<'_>) {
        for (path, text) in &mut self.now {
            let held = self.before.get(path).map_or("", String::as_str);
            match fs.text(path) {
                Some(other) if other == held => {}
                Some(other) => text.push_str(&other),
                None => text.push(UNK),
            }
        }
    }

    /// Whether the way has to be followed once more; `None` where that has been done too often.
    pub(super) fn changed(&mut self, fs: &Picture<'_>) -> Option<bool> {
        if self.now.is_empty() {
            return Some(false);
        }
        self.look(fs);
        let written = |texts: &BTreeMap<String, String>| texts.values().any(|text| !text.is_empty());
        if self.now == self.before || !written(&self.now) && !written(&self.before) {
            return Some(false);
        }
        (self.rounds < MAX_ROUNDS).then_some(true)
    }
}

impl Engine<'_> {
    /// A named pipe is made.
    pub(super) fn make_pipe(&mut self, sh: &Shell, path: &str) {
        self.act(sh, super::super::act::ActKind::Link, path, false, false);
        let full = self.full(sh, path);
        if full.contains(UNK) {
            return;
        }
        let at = self.fs.at(&full, false).path;
        let held = self.pipes.before.get(&at).cloned().unwrap_or_default();
        self.fs.leave(&at, false, Left::File(Some(held.into())));
        self.pipes.now.insert(at, String::new());
    }

    /// Whether a path is a named pipe of the command.
    pub(super) fn is_pipe(&self, path: &str) -> bool {
        !self.pipes.now.is_empty() && self.pipes.now.contains_key(&self.fs.at(path, true).path)
    }

    /// Writes into a named pipe; false where the path is none.
    pub(super) fn feeds_pipe(&mut self, path: &str, text: &str) -> bool {
        if self.pipes.now.is_empty() {
            return false;
        }
        let at = self.fs.at(path, true).path;
        let Some(held) = self.pipes.now.get_mut(&at) else { return false };
        if held.len() + text.len() <= super::engine::MAX_TEXT {
            held.push_str(text);
        } else if !held.ends_with(UNK) {
            held.push(UNK);
        }
        true
    }
}
