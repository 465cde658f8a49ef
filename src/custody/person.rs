//! Whether a person asks: grants are a person's.
//!
//! The facts are what harnesses leave behind: variables that they set for the programs they start,
//! and their own processes above this one. A missing terminal alone says nothing: scripts of people
//! have none, and an agent gets itself one with a single command.

use crate::sys::env::{self, Env};
use crate::sys::process;

/// What is known about who started this program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Variables that are set and that harnesses, or loci for an embodied agent, set.
    pub markers: Vec<String>,
    /// The programs above this one, nearest first.
    pub ancestors: Vec<String>,
}

/// Whether it is a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Person {
    /// Nothing speaks against it.
    Yes,
    /// This does.
    No(String),
}

/// Variables that harnesses set for what they start.
const MARKERS: &[&str] = &[
    env::LOCI_AGENT,
    env::LOCI_BODY,
    env::LOCI_RUN,
    env::LOCI_JOB,
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "GEMINI_CLI",
    "QWEN_CODE",
    "QWEN_CODE_AGENT_ID",
    "OPENCODE",
    "PI_CODING_AGENT",
    "COPILOT_CLI",
    "COPILOT_AGENT_SESSION_ID",
    "HERMES_SESSION_ID",
    "CLINE_ACTIVE",
];

/// Programs that are harnesses: who has one above it is no person, and who calls one calls a model.
pub const HARNESSES: &[&str] = &[
    "claude",
    "codex",
    "gemini",
    "qwen",
    "copilot",
    "opencode",
    "pi",
    "hermes",
    "cline",
    "amp",
    "auggie",
    "goose",
    "aider",
    "crush",
    "droid",
    "cursor-agent",
];

/// Collects the facts.
#[must_use]
pub fn facts(env: &Env) -> Facts {
    Facts {
        markers: MARKERS.iter().filter(|name| env.get(name).is_some()).map(|name| (*name).to_owned()).collect(),
        ancestors: process::ancestors(),
    }
}

/// Decides over the facts.
#[must_use]
pub fn decide(facts: &Facts) -> Person {
    if let Some(marker) = facts.markers.first() {
        return Person::No(format!("{marker} is set"));
    }
    let harness = facts.ancestors.iter().find(|name| {
        let plain = name.trim_end_matches(".js").trim_end_matches(".mjs").trim_end_matches(".exe");
        HARNESSES.contains(&plain)
    });
    harness.map_or(Person::Yes, |name| Person::No(format!("`{name}` is among the programs that started this one")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(markers: &[&str], ancestors: &[&str]) -> Person {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        decide(&Facts { markers: own(markers), ancestors: own(ancestors) })
    }

    #[test]
    fn marks_and_ancestors_tell() {
        assert_eq!(said(&[], &["bash", "sshd", "systemd"]), Person::Yes);
        assert_eq!(said(&[], &["make", "sh", "cron"]), Person::Yes);
        assert!(matches!(said(&["LOCI_AGENT"], &["bash"]), Person::No(_)));
        assert!(matches!(said(&[], &["sh", "node", "codex.js", "bash"]), Person::No(_)));
        assert!(matches!(said(&[], &["bash", "claude"]), Person::No(_)));
        // A name that only looks like one.
        assert_eq!(said(&[], &["claudette", "pip", "pi.sh"]), Person::Yes);
    }
}
