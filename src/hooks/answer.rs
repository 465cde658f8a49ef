//! The neutral vocabulary, second half: what is said back. An [`Answer`] is the same for every
//! harness; an adapter turns it into a [`Reply`], bytes and an exit code.

use serde_json::{Map, Value};

/// The most characters of a text that a model reads: the least that any of the harnesses takes.
pub const MOST_CHARACTERS: usize = 10_000;

/// What is said about an event. Empty: it goes on as it is, and nothing is said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// What is about to happen does not happen; the text is what the model reads instead.
    pub block: Option<String>,
    /// The hook that says so, where one does.
    pub by: Option<std::path::PathBuf>,
    /// Text for the model, beside what it reads anyway.
    pub context: String,
    /// What the tool is called with instead.
    pub input: Option<Value>,
    /// Whether that stands in for the approval of the user, who has said so in the settings: a harness that
    /// takes no other input without it is told so.
    pub leave: bool,
    /// Lines for the user.
    pub notes: Vec<String>,
    /// What hooks have left for the turn: only shims of ours, inside a harness, can read it.
    pub data: Map<String, Value>,
}

impl Answer {
    /// It goes on, with a line for the user.
    #[must_use]
    pub fn note(text: impl Into<String>) -> Self {
        Self { notes: vec![text.into()], ..Self::default() }
    }

    /// It does not happen, for this reason.
    #[must_use]
    pub fn block(reason: impl Into<String>) -> Self {
        Self { block: Some(reason.into()), ..Self::default() }
    }

    /// The lines for the user as one text; `None` where there are none.
    #[must_use]
    pub fn said(&self) -> Option<String> {
        (!self.notes.is_empty()).then(|| cut(&self.notes.join("\n")))
    }

    /// The reason of a block, within what is read; never empty: a harness may let a silent one through.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        let text = cut(self.block.as_deref()?.trim());
        Some(if text.is_empty() { "Refused by loci: this path belongs to another agent.".to_owned() } else { text })
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MOST_CHARACTERS).collect()
}

/// An answer in a harness's language.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// For standard output.
    pub stdout: String,
    /// For standard error.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}
