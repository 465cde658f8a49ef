//! The neutral vocabulary, first half: what is said to us. The nine seams of a turn, and an event at
//! one of them, whatever harness it comes from. [`super::answer`] is the other half.

use std::path::PathBuf;

use serde_json::{Map, Value};

/// A named point of a turn where outside code runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Seam {
    /// A session begins, or goes on after its context was made smaller.
    BeforeRun,
    /// A session has ended.
    AfterRun,
    /// A prompt was submitted.
    BeforeIteration,
    /// The agent has answered it, and would stop.
    AfterIteration,
    /// A tool call is about to happen: it can be blocked, and its input rewritten.
    BeforeTool,
    /// A tool call has happened, or failed.
    AfterTool,
    /// The system prompt is put together, or what stands for it: text can be added.
    BeforeSystemPrompt,
    /// A scheduled run left something undone. The clock's own; no harness has it.
    OnBlockReport,
    /// A tool call failed: [`Seam::AfterTool`] with a failure.
    OnError,
}

impl Seam {
    /// All of them, in the order of a turn.
    pub const ALL: [Self; 9] = [
        Self::BeforeRun,
        Self::AfterRun,
        Self::BeforeIteration,
        Self::AfterIteration,
        Self::BeforeTool,
        Self::AfterTool,
        Self::BeforeSystemPrompt,
        Self::OnBlockReport,
        Self::OnError,
    ];

    /// Its word, as on the command line and in hook headers.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::BeforeRun => "before-run",
            Self::AfterRun => "after-run",
            Self::BeforeIteration => "before-iteration",
            Self::AfterIteration => "after-iteration",
            Self::BeforeTool => "before-tool",
            Self::AfterTool => "after-tool",
            Self::BeforeSystemPrompt => "before-system-prompt",
            Self::OnBlockReport => "on-block-report",
            Self::OnError => "on-error",
        }
    }

    /// The seam of a word; case does not count, and `_` is as good as `-`.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        let same = |seam: &Self| {
            let wanted = seam.word();
            wanted.len() == word.len()
                && wanted.bytes().zip(word.bytes()).all(|(wanted, byte)| match byte {
                    b'_' => wanted == b'-',
                    byte => byte.to_ascii_lowercase() == wanted,
                })
        };
        Self::ALL.into_iter().find(same)
    }

    /// The name that Claude Code has for it: hook scripts written for it read it.
    #[must_use]
    pub fn claude(self) -> &'static str {
        match self {
            Self::BeforeRun | Self::BeforeSystemPrompt => "SessionStart",
            Self::AfterRun => "SessionEnd",
            Self::BeforeIteration => "UserPromptSubmit",
            Self::AfterIteration => "Stop",
            Self::BeforeTool => "PreToolUse",
            Self::AfterTool => "PostToolUse",
            Self::OnBlockReport => "Notification",
            Self::OnError => "PostToolUseFailure",
        }
    }
}

/// What happened, or is about to, as the harness describes it. What it does not say is empty: an
/// adapter never guesses.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Where in the turn.
    pub seam: Seam,
    /// The harness's own name of the event.
    pub native: String,
    /// The session, where the harness says so.
    pub session: Option<String>,
    /// Where the agent stands: absolute, never taken from our own process.
    pub cwd: Option<PathBuf>,
    /// The sub-agent that acts; `None` for the main one, and where the harness does not tell.
    pub agent_id: Option<String>,
    /// What kind of agent acts, where the harness says so.
    pub agent_type: Option<String>,
    /// The tool, by the harness's own name; empty where the event is about no tool call.
    pub tool: String,
    /// What it is called with.
    pub input: Value,
    /// The id of the call.
    pub call: Option<String>,
    /// After a call: what the tool gave back.
    pub response: Option<Value>,
    /// After a call: whether the harness says that it failed; not all of them say so.
    pub failed: bool,
    /// After a call: first and last line of what was read, where the harness or the arguments tell.
    pub lines: Option<(u64, u64)>,
    /// What the user submitted.
    pub prompt: Option<String>,
    /// What else the harness says, under its own names.
    pub rest: Map<String, Value>,
}

impl Event {
    /// The sub-agent that acts, as records name it: its id, and its kind where that is known.
    #[must_use]
    pub fn sub_agent(&self) -> Option<String> {
        let id = self.agent_id.as_deref()?;
        Some(self.agent_type.as_deref().map_or_else(|| id.to_owned(), |kind| format!("{id} ({kind})")))
    }

    /// Whether the context of the session was just made smaller: what was put into it may be gone.
    #[must_use]
    pub fn is_after_compaction(&self) -> bool {
        self.seam == Seam::BeforeRun && self.rest.get("source").and_then(Value::as_str) == Some("compact")
    }
}

/// One event of a harness: which seam it is, and what an answer can do there. What is not in an
/// adapter's list of them, the harness does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// The harness's own name of it.
    pub native: &'static str,
    /// The seam that it is. A seam may have several; the first one is meant where a payload names
    /// none.
    pub seam: Seam,
    /// What the harness does with an answer.
    pub takes: &'static [Take],
}

/// One thing that a harness can do with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// Keep from happening what is about to: a tool call, a prompt, the end of a turn.
    Block,
    /// Show text to the model.
    Context,
    /// Call the tool with another input.
    Input,
}

impl Point {
    /// Whether the harness can do that here.
    #[must_use]
    pub fn takes(&self, what: Take) -> bool {
        self.takes.contains(&what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seam_is_known_by_its_word_in_any_spelling() {
        for seam in Seam::ALL {
            let word = seam.word();
            for spelling in [word.to_owned(), word.replace('-', "_"), word.to_uppercase()] {
                assert_eq!(Seam::of(&spelling), Some(seam), "{spelling}");
            }
        }
        for odd in ["", "before", "before tool", "before-tools", "beforetool", "vor-tool-é"] {
            assert_eq!(Seam::of(odd), None, "{odd}");
        }
    }
}
