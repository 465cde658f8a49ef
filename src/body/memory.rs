//! What of a directory is episodic memory, and stays behind when it is inherited: by path, as a table.
//! Pure.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::custody::judge;
use crate::sys::shown;
use crate::tree::card;

/// Whose memory, and where it keeps that in a directory. Each row counts at any depth, with all that lies
/// below, and also where it is switched off (`.inactive`).
const TABLE: &[(&str, &[&str])] = &[
    ("loci", &[".loci/memory", ".loci-clock/ledger.jsonl*", ".loci/loadouts/_backup-*"]),
    (
        "claude",
        &[
            ".claude/projects",
            ".claude/sessions",
            ".claude/history.jsonl*",
            ".claude/todos",
            ".claude/tasks",
            ".claude/teams",
            ".claude/jobs",
            ".claude/scheduled_tasks*",
            ".claude/stats-cache*",
            ".claude/telemetry",
            ".claude/ide",
            ".claude.json*",
            "CLAUDE.local.md",
            ".claude/plans",
            ".claude/shell-snapshots",
            ".claude/session-env",
            ".claude/file-history",
            ".claude/paste-cache",
            ".claude/image-cache",
            ".claude/statsig",
            ".claude/debug",
            ".claude/logs",
            ".claude/backups",
            ".claude/worktrees",
            ".claude/agent-memory",
            ".claude/agent-memory-local",
        ],
    ),
    (
        "codex",
        &[
            ".codex/sessions",
            ".codex/archived_sessions",
            ".codex/history.jsonl*",
            ".codex/session_index.jsonl",
            ".codex/shell_snapshots",
            ".codex/memories",
            ".codex/log",
            ".codex/*.sqlite*",
        ],
    ),
    ("gemini", &[".gemini/tmp", ".gemini/history", ".gemini/sessions", ".gemini/chats"]),
    (
        "qwen",
        &[
            ".qwen/tmp",
            ".qwen/history",
            ".qwen/sessions",
            ".qwen/chats",
            ".qwen/projects",
            ".qwen/worktrees",
            ".qwen/memory",
            ".qwen/todos",
        ],
    ),
    ("opencode", &[".opencode/storage", ".opencode/sessions", ".opencode/log", ".opencode/snapshot", ".opencode/*.db*"]),
    ("pi", &[".pi/sessions", ".pi/agent/sessions"]),
    (
        "copilot",
        &[".copilot/session-state", ".copilot/history-session-state", ".copilot/session-store*", ".copilot/logs", ".copilot/*history*"],
    ),
    (
        "hermes",
        &[
            ".hermes/sessions",
            ".hermes/memories",
            ".hermes/memory",
            ".hermes/MEMORY.md",
            ".hermes/USER.md",
            ".hermes/logs",
            ".hermes/state.db*",
            ".hermes/*history*",
        ],
    ),
    ("cline", &[".cline/data", ".cline/sessions", ".cline/tasks", ".cline/worktrees"]),
    ("aider", &[".aider.chat.history.md", ".aider.input.history", ".aider.llm.history", ".aider.tags.cache*"]),
    ("crush", &[".crush/*.db*", ".crush/logs", ".crush/sessions"]),
    ("goose", &[".goose/sessions", ".goose/logs"]),
    ("cursor", &[".cursor/chats", ".cursor/projects"]),
    ("a shell or a program", &[".*_history", ".lesshst", ".viminfo"]),
    ("specstory", &[".specstory/history"]),
];

/// Which paths are memory.
#[derive(Debug)]
pub struct Memory {
    table: GlobSet,
    /// Whose row each glob of the set is of.
    whose: Vec<&'static str>,
    own: Vec<String>,
}

impl Memory {
    /// What the table says, and the globs that the identity file names.
    ///
    /// # Errors
    /// What is wrong with a glob.
    pub fn new(own: &[String]) -> Result<Self, String> {
        for glob in own {
            card::check_glob(glob).map_err(|why| format!("`{}` is no glob: {why}", shown::text(glob)))?;
        }
        let (mut set, mut whose) = (GlobSetBuilder::new(), Vec::new());
        for (name, globs) in TABLE {
            for glob in *globs {
                for ending in ["", ".inactive"] {
                    let built = GlobBuilder::new(&format!("**/{glob}{ending}")).literal_separator(true).build();
                    set.add(built.map_err(|error| error.to_string())?);
                    whose.push(*name);
                }
            }
        }
        Ok(Self { table: set.build().map_err(|error| error.to_string())?, whose, own: own.to_vec() })
    }

    /// Whether any of the names that lead to a thing is one of memory; a folder that is switched off is what it was.
    #[must_use]
    pub fn of_any(&self, names: &[PathBuf]) -> Option<String> {
        names.iter().find_map(|rel| self.of(rel))
    }

    /// Whose memory a path is, relative to the directory; `None` where it is none. Of what lies below one
    /// that is, nobody asks.
    #[must_use]
    pub fn of(&self, rel: &Path) -> Option<String> {
        if let Some(whose) = self.table.matches(rel).first().and_then(|at| self.whose.get(*at)) {
            return Some(format!("memory of {whose}"));
        }
        self.own.iter().find(|glob| judge::names(glob, rel)).map(|glob| format!("memory: {}", shown::text(glob)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_found_wherever_it_hides() {
        let memory = Memory::new(&["notes/private".into(), "*.transcript".into()]).unwrap();
        let of = |rel: &str| memory.of(Path::new(rel));
        for rel in [
            ".loci/memory",
            "deep/down/.loci/memory",
            ".loci-clock/ledger.jsonl",
            ".loci-clock/ledger.jsonl.1",
            ".claude/projects",
            "sub/.claude/history.jsonl.inactive",
            ".codex/archived_sessions",
            ".codex/state_5.sqlite-wal",
            ".hermes/state.db",
            ".aider.chat.history.md",
            "notes/private",
            "x/y.transcript",
        ] {
            assert!(of(rel).is_some(), "{rel}");
        }
        for rel in [
            ".loci/memories.md",
            "memory",
            ".claude/skills",
            ".claude/projects.md",
            ".loci-clock/jobs",
            "ledger.jsonl",
            "x/notes/private",
            ".codex/config.toml",
        ] {
            assert_eq!(of(rel), None, "{rel}");
        }
        assert!(Memory::new(&["[".into()]).is_err());
    }
}
