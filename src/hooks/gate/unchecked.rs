//! A call that could not be checked to the end: closed for what surely writes, open and said for the rest.

use std::path::Path;

use serde_json::Value;

use super::PATIENCE;
use crate::hooks::answer::{Answer, Reply};
use crate::hooks::event::Seam;
use crate::hooks::harness::Adapter;
use crate::hooks::tools;
use crate::sys::process::LastWords;
use crate::sys::shown;

/// What is said when the time is up.
pub(super) fn last_words(adapter: &Adapter, kind: Option<&Kind>) -> LastWords {
    let answer = unchecked(kind, &format!("it took longer than {PATIENCE} s"));
    let Reply { stdout, stderr, code } = adapter.reply(Seam::BeforeTool, None, &answer);
    LastWords { stdout: stdout.into_bytes(), stderr: stderr.into_bytes(), code }
}

/// How a line begins which says that a call went on unchecked.
pub(super) const UNCHECKED: &str = "loci: custody was not checked for this call: ";

/// What has to be known of a call to fail in the right direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kind {
    /// The tool.
    pub(super) tool: String,
    /// Whether it surely writes.
    pub(super) writes: bool,
}

impl Kind {
    /// Tells it by the name of the tool alone.
    pub(super) fn of(tool: &str) -> Self {
        let class = tools::read_call(tool, &Value::Null, Path::new("/"), None, tools::WRITE_WORDS).class;
        Self { tool: tool.to_owned(), writes: class.writes() }
    }

    /// A tool whose name could not be found: it may write.
    pub(super) fn unknown() -> Self {
        Self { tool: "unknown".to_owned(), writes: true }
    }
}

/// The answer to a call that could not be checked to the end.
pub(super) fn unchecked(kind: Option<&Kind>, why: &str) -> Answer {
    match kind {
        Some(Kind { tool, writes: true }) => Answer::block(format!(
            "Not done: whose the path of this `{}` call is could not be checked ({why}), and what surely writes does not go on unchecked. \
             Nothing was changed; do not count on it having been handed over. Try it once more, smaller if it was large; if that fails too, tell your user \
             to run `loci connect --check`.",
            shown::text(tool)
        )),
        _ => not_checked(why),
    }
}

pub(super) fn not_checked(why: &str) -> Answer {
    Answer::note(format!("{UNCHECKED}{why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_did_not_end_closes_for_what_surely_writes_and_is_said_for_the_rest() {
        for tool in ["Write", "Edit", "NotebookEdit", "apply_patch", "write_file", "replace", "write", "edit", "mcp__fs__write_file"] {
            let Some(text) = unchecked(Some(&Kind::of(tool)), "why").block else { panic!("{tool} went on") };
            assert!(text.contains("why") && text.contains(tool));
        }
        for tool in ["Bash", "run_shell_command", "Read", "read_file", "SomethingElse"] {
            let answer = unchecked(Some(&Kind::of(tool)), "why");
            assert!(answer.block.is_none() && answer.said().is_some(), "{tool}");
        }
        assert!(unchecked(None, "why").block.is_none());
    }
}
