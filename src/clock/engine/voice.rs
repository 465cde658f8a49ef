//! What the clock says: once, and again only when it changes.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use serde::Serialize;

use crate::clock::instant;

/// How many things are kept for whoever asks later.
const KEEP: usize = 100;

/// One thing that was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// When.
    #[serde(with = "instant")]
    pub at: Timestamp,
    /// What it is about.
    pub about: String,
    /// What was said.
    pub text: String,
}

/// Who says it.
#[derive(Debug, Default)]
pub(super) struct Voice {
    standing: BTreeMap<String, String>,
    new: Vec<Notice>,
    kept: VecDeque<Notice>,
    /// How much has been said.
    pub(super) count: u64,
}

impl Voice {
    pub(super) fn say(&mut self, about: &str, text: String, at: Timestamp) {
        if self.standing.get(about) == Some(&text) {
            return;
        }
        self.standing.insert(about.to_owned(), text.clone());
        let notice = Notice { at, about: about.to_owned(), text };
        if self.kept.len() >= KEEP {
            self.kept.pop_front();
        }
        self.kept.push_back(notice.clone());
        self.new.push(notice);
        self.count += 1;
    }

    /// Whether something has been said about it that still holds.
    pub(super) fn holds(&self, about: &str) -> bool {
        self.standing.contains_key(about)
    }

    /// It is no longer so: the next time it is said again.
    pub(super) fn over(&mut self, about: &str) {
        self.standing.remove(about);
    }

    pub(super) fn take(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.new)
    }

    pub(super) fn kept(&self) -> impl Iterator<Item = &Notice> {
        self.kept.iter()
    }
}
