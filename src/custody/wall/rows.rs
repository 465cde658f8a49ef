//! The names of what is walled off, as data: one row for each.

use super::Walled;

/// One row: names that follow each other in a path. With `all`, what lies below counts as well.
pub(super) struct Row {
    pub(super) names: &'static [&'static str],
    pub(super) all: bool,
    pub(super) what: Walled,
}

const fn file(names: &'static [&'static str], what: Walled) -> Row {
    Row { names, all: false, what }
}

const fn all(names: &'static [&'static str], what: Walled) -> Row {
    Row { names, all: true, what }
}

pub(super) const CLAUDE: Walled = Walled::Harness("Claude Code");
pub(super) const CODEX: Walled = Walled::Harness("Codex");
pub(super) const GEMINI: Walled = Walled::Harness("Gemini CLI");
pub(super) const QWEN: Walled = Walled::Harness("Qwen Code");
pub(super) const COPILOT: Walled = Walled::Harness("Copilot CLI");
pub(super) const OPENCODE: Walled = Walled::Harness("OpenCode");
pub(super) const PI: Walled = Walled::Harness("pi");
pub(super) const HERMES: Walled = Walled::Harness("Hermes");
pub(super) const CLINE: Walled = Walled::Harness("Cline");

/// The names, wherever they stand: a harness reads its project files in any directory it is started
/// in, and an agent can start one anywhere.
pub(super) const ROWS: &[Row] = &[
    file(&[".loci", "owner.md"], Walled::OwnerFile),
    file(&[".loci", "agent.md"], Walled::Identity),
    all(&[".loci", "hooks"], Walled::Hooks),
    all(&[".loci", "memory"], Walled::Memory),
    all(&[".loci-clock"], Walled::Clock),
    file(&[".claude", "settings.json"], CLAUDE),
    file(&[".claude", "settings.local.json"], CLAUDE),
    all(&[".claude", "hooks"], CLAUDE),
    all(&[".claude", "plugins"], CLAUDE),
    all(&["claude-code", "managed-settings.json"], CLAUDE),
    all(&["claude-code", "managed-settings.d"], CLAUDE),
    file(&[".codex", "config.toml"], CODEX),
    file(&[".codex", "hooks.json"], CODEX),
    file(&[".codex", "managed_config.toml"], CODEX),
    file(&[".codex", "requirements.toml"], CODEX),
    all(&[".codex", "hooks"], CODEX),
    all(&[".codex", "plugins"], CODEX),
    // Read into its environment at the start: it could name another home, or another agent.
    file(&[".codex", ".env"], CODEX),
    all(&[".codex", "rules"], CODEX),
    all(&["etc", "codex", "hooks.json"], CODEX),
    file(&["etc", "codex", "config.toml"], CODEX),
    file(&["etc", "codex", "managed_config.toml"], CODEX),
    file(&["etc", "codex", "requirements.toml"], CODEX),
    file(&[".gemini", "settings.json"], GEMINI),
    file(&[".gemini", "trustedFolders.json"], GEMINI),
    // It can name another settings file.
    file(&[".gemini", ".env"], GEMINI),
    file(&["gemini-cli", "settings.json"], GEMINI),
    file(&["gemini-cli", "system-defaults.json"], GEMINI),
    all(&[".gemini", "hooks"], GEMINI),
    all(&[".gemini", "extensions"], GEMINI),
    file(&[".gemini", "trusted_hooks.json"], GEMINI),
    all(&[".gemini", "policies"], GEMINI),
    all(&["gemini-cli", "policies"], GEMINI),
    file(&[".qwen", "settings.json"], QWEN),
    file(&[".qwen", "trustedFolders.json"], QWEN),
    file(&[".qwen", ".env"], QWEN),
    file(&["qwen-code", "settings.json"], QWEN),
    file(&["qwen-code", "system-defaults.json"], QWEN),
    all(&[".qwen", "hooks"], QWEN),
    all(&[".qwen", "extensions"], QWEN),
    file(&[".qwen", "trusted_hooks.json"], QWEN),
    all(&[".qwen", "policies"], QWEN),
    all(&[".github", "hooks"], COPILOT),
    file(&[".github", "copilot", "settings.json"], COPILOT),
    file(&[".github", "copilot", "settings.local.json"], COPILOT),
    all(&[".copilot", "hooks"], COPILOT),
    file(&[".copilot", "config.json"], COPILOT),
    file(&[".copilot", "settings.json"], COPILOT),
    file(&[".copilot", "mcp-config.json"], COPILOT),
    file(&[".copilot", "permissions-config.json"], COPILOT),
    all(&[".copilot", "plugins"], COPILOT),
    all(&[".copilot", "installed-plugins"], COPILOT),
    file(&["opencode.json"], OPENCODE),
    file(&["opencode.jsonc"], OPENCODE),
    all(&[".opencode", "plugin"], OPENCODE),
    all(&[".opencode", "plugins"], OPENCODE),
    file(&[".config", "opencode", "config.json"], OPENCODE),
    all(&[".config", "opencode", "plugin"], OPENCODE),
    all(&[".config", "opencode", "plugins"], OPENCODE),
    // Tools of its own are programs that run inside it, past every hook.
    all(&[".opencode", "tool"], OPENCODE),
    all(&[".opencode", "tools"], OPENCODE),
    all(&[".config", "opencode", "tool"], OPENCODE),
    all(&[".config", "opencode", "tools"], OPENCODE),
    all(&["etc", "opencode"], OPENCODE),
    file(&[".pi", "settings.json"], PI),
    all(&[".pi", "extensions"], PI),
    file(&[".pi", "agent", "settings.json"], PI),
    all(&[".pi", "agent", "extensions"], PI),
    file(&[".pi", "agent", "trust.json"], PI),
    // A key in it may be a command that is run.
    file(&[".pi", "agent", "models.json"], PI),
    file(&[".pi", "agent", "mcp.json"], PI),
    file(&[".pi", "mcp.json"], PI),
    all(&[".pi", "agent", "npm"], PI),
    all(&[".pi", "agent", "git"], PI),
    file(&[".hermes", "config.yaml"], HERMES),
    all(&[".hermes", "hooks"], HERMES),
    all(&[".hermes", "plugins"], HERMES),
    file(&[".hermes", "shell-hooks-allowlist.json"], HERMES),
    file(&[".hermes", "cli-config.yaml"], HERMES),
    file(&[".hermes", ".env"], HERMES),
    all(&[".hermes", "agent-hooks"], HERMES),
    all(&[".clinerules", "hooks"], CLINE),
    all(&[".cline", "hooks"], CLINE),
    all(&["Cline", "Hooks"], CLINE),
    file(&[".cline", "data", "globalState.json"], CLINE),
    all(&[".cline", "data", "settings"], CLINE),
    all(&[".cline", "plugins"], CLINE),
    all(&["Cline", "Plugins"], CLINE),
    all(&[".agents", "plugins"], CLINE),
];

/// What the first name of each row begins with, in lower case.
pub(super) const FIRST_LETTERS: &[u8] = b".cegoq";

/// What of `~/.loci/` stays walled off from the agent whose body the home is. To everybody else all
/// of it is.
pub(in crate::custody) const POLICY: &[&str] =
    &["config.yaml", "bin", "runtimes", "templates", "loadouts", "sets", "human.lock", "config.yaml.lock"];

/// The rows: names that follow each other, and whether what lies below counts as well.
pub(in crate::custody) fn rows() -> impl Iterator<Item = (&'static [&'static str], bool)> {
    ROWS.iter().map(|row| (row.names, row.all))
}

/// What harnesses and loci read below a home besides what has a row of its own there.
const BELOW_HOME: &[(&[&str], Walled)] = &[
    (&[".claude.json"], CLAUDE),
    (&[".config", "opencode", "opencode.json"], OPENCODE),
    (&[".config", "opencode", "opencode.jsonc"], OPENCODE),
];

/// The names that mean something right below a home.
pub(in crate::custody) fn below_home() -> impl Iterator<Item = (&'static [&'static str], Walled)> {
    let rows = ROWS.iter().filter(|row| row.names.first().is_some_and(|name| name.starts_with('.')));
    rows.map(|row| (row.names, row.what)).chain(BELOW_HOME.iter().copied())
}
