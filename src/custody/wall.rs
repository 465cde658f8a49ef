//! The wall: what only a person writes, whoever asks.
//!
//! A table of names, matched against real paths; pure. Two kinds of hits: a path *in* the wall, and
//! a path that *covers* it (renaming `.claude` away takes the settings in it along).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use globset::GlobBuilder;

use super::act::{Act, ActKind};

/// What part of the machinery a path belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Walled {
    /// `.loci/owner.md`.
    OwnerFile,
    /// `.loci/agent.md`.
    Identity,
    /// `.loci/hooks/`.
    Hooks,
    /// `.loci-clock/`.
    Clock,
    /// `.loci/memory/` of any body.
    Memory,
    /// A file that connects a harness to its hooks, or could switch them off.
    Harness(&'static str),
    /// `~/.loci/`.
    Policy,
    /// The state folder.
    State,
    /// A `wall:` glob of the settings file.
    Glob,
}

impl Walled {
    /// What it is, for a sentence that begins with the path: "… is WHAT".
    #[must_use]
    pub fn what(self) -> String {
        match self {
            Self::OwnerFile => "an owner file".to_owned(),
            Self::Identity => "the identity file of an agent".to_owned(),
            Self::Hooks => "a folder of hooks".to_owned(),
            Self::Clock => "part of the clock's files".to_owned(),
            Self::Memory => "an agent's memory, which only loci's own verbs write".to_owned(),
            Self::Harness(name) => format!("part of {name}'s settings, which connect its hooks"),
            Self::Policy => "loci's own policy".to_owned(),
            Self::State => "loci's own state".to_owned(),
            Self::Glob => "named by `wall:` in loci's settings".to_owned(),
        }
    }
}

/// One row: names that follow each other in a path. With `all`, what lies below counts as well.
struct Row {
    names: &'static [&'static str],
    all: bool,
    what: Walled,
}

const fn file(names: &'static [&'static str], what: Walled) -> Row {
    Row { names, all: false, what }
}

const fn all(names: &'static [&'static str], what: Walled) -> Row {
    Row { names, all: true, what }
}

const CLAUDE: Walled = Walled::Harness("Claude Code");
const CODEX: Walled = Walled::Harness("Codex");
const GEMINI: Walled = Walled::Harness("Gemini CLI");
const QWEN: Walled = Walled::Harness("Qwen Code");
const COPILOT: Walled = Walled::Harness("Copilot CLI");
const OPENCODE: Walled = Walled::Harness("OpenCode");
const PI: Walled = Walled::Harness("pi");
const HERMES: Walled = Walled::Harness("Hermes");
const CLINE: Walled = Walled::Harness("Cline");

/// The names, wherever they stand: a harness reads its project files in any directory it is started
/// in, and an agent can start one anywhere.
const ROWS: &[Row] = &[
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

/// What of `~/.loci/` stays walled off from the agent whose body the home is. To everybody else all
/// of it is.
pub(super) const POLICY: &[&str] = &["config.yaml", "bin", "runtimes", "templates", "loadouts", "sets", "human.lock", "config.yaml.lock"];

/// The rows: names that follow each other, and whether what lies below counts as well.
pub(super) fn rows() -> impl Iterator<Item = (&'static [&'static str], bool)> {
    ROWS.iter().map(|row| (row.names, row.all))
}

/// Where the machine's own folders are.
#[derive(Debug, Clone, Copy)]
pub struct Grounds<'a> {
    /// The home that holds the registry (real).
    pub home: &'a Path,
    /// The registry, `.loci` in that home, where it really is.
    pub registry: &'a Path,
    /// The user's own home (real).
    pub user_home: &'a Path,
    /// The state folder (real).
    pub state: &'a Path,
    /// `wall:` globs.
    pub globs: &'a [String],
    /// Whether the asker's body is the home itself.
    pub at_home: bool,
    /// Whether the disk folds case there.
    pub folds: bool,
}

fn same(a: &OsStr, b: &str, folds: bool) -> bool {
    if folds { a.to_str().is_some_and(|a| a.eq_ignore_ascii_case(b)) } else { a == b }
}

/// Whether `names` follow each other in `parts`, ending there or going on below where `all` is set.
fn in_row(row: &Row, parts: &[&OsStr], folds: bool) -> bool {
    let fits = |window: &[&OsStr]| window.iter().zip(row.names).all(|(part, name)| same(part, name, folds));
    if row.all {
        parts.windows(row.names.len()).any(fits)
    } else {
        parts.len().checked_sub(row.names.len()).and_then(|from| parts.get(from..)).is_some_and(fits)
    }
}

fn parts(path: &Path) -> Vec<&OsStr> {
    path.components().filter_map(|part| if let std::path::Component::Normal(name) = part { Some(name) } else { None }).collect()
}

/// Whether a real path is in the wall.
#[must_use]
pub fn inside(real: &Path, grounds: &Grounds<'_>) -> Option<Walled> {
    let parts = parts(real);
    if let Some(row) = ROWS.iter().find(|row| in_row(row, &parts, grounds.folds)) {
        return Some(row.what);
    }
    if real == grounds.user_home.join(".claude.json") {
        return Some(CLAUDE);
    }
    let registry = [&grounds.home.join(".loci"), grounds.registry].iter().find_map(|dir| real.strip_prefix(dir).ok());
    if let Some(rest) = registry {
        let first = rest.iter().next();
        let policy = first.is_some_and(|first| POLICY.iter().any(|name| same(first, name, grounds.folds)));
        if policy || (!grounds.at_home && first.is_some()) {
            return Some(Walled::Policy);
        }
    }
    if real.starts_with(grounds.state) {
        return Some(Walled::State);
    }
    let named = |glob: &String| {
        let matcher = GlobBuilder::new(glob).literal_separator(true).build();
        matcher.is_ok_and(|glob| glob.compile_matcher().is_match(real))
    };
    grounds.globs.iter().any(named).then_some(Walled::Glob)
}

/// What an act would have to leave alone if it takes away, moves or replaces a whole path: wall
/// items that would go with it. Whoever calls looks which of them exist; with `true` the item counts
/// whether it exists or not (what is moved or linked in under such a name brings its own).
#[must_use]
pub fn covered(real: &Path, act: &Act, grounds: &Grounds<'_>) -> Vec<(PathBuf, Walled, bool)> {
    let takes = act.below || matches!(act.kind, ActKind::Remove | ActKind::Rename | ActKind::Link);
    if !takes {
        return Vec::new();
    }
    let mut found: Vec<(PathBuf, Walled, bool)> = Vec::new();
    let registry = grounds.registry.to_owned();
    for (path, what) in
        [(grounds.home.join(".loci"), Walled::Policy), (registry, Walled::Policy), (grounds.state.to_owned(), Walled::State)]
    {
        if path.starts_with(real) {
            found.push((path, what, false));
        }
    }
    let parts = parts(real);
    for row in ROWS {
        for taken in 1..row.names.len() {
            let (head, rest) = row.names.split_at(taken);
            let ends = parts
                .len()
                .checked_sub(taken)
                .and_then(|from| parts.get(from..))
                .is_some_and(|window| window.iter().zip(head).all(|(part, name)| same(part, name, grounds.folds)));
            if ends {
                let item = rest.iter().fold(real.to_owned(), |path, name| path.join(name));
                let own_name = head.first().is_some_and(|name| name.starts_with('.') && !matches!(*name, ".github" | ".config"));
                // To create a path with all that is below is to copy it there.
                let brings = own_name && matches!(act.kind, ActKind::Link | ActKind::Rename | ActKind::Create);
                found.push((item, row.what, brings));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grounds() -> Grounds<'static> {
        Grounds {
            home: Path::new("/h"),
            registry: Path::new("/dotfiles/loci"),
            user_home: Path::new("/h"),
            state: Path::new("/h/.local/state/loci"),
            globs: &[],
            at_home: false,
            folds: false,
        }
    }

    fn act(kind: ActKind, path: &str) -> Act {
        Act { kind, path: path.into(), follow: false, below: matches!(kind, ActKind::Remove) }
    }

    #[test]
    fn the_machinery_is_inside() {
        for (path, what) in [
            ("/r/.loci/owner.md", Walled::OwnerFile),
            ("/r/a/b/.loci/agent.md", Walled::Identity),
            ("/r/.loci/hooks", Walled::Hooks),
            ("/r/.loci/hooks/x/y.sh", Walled::Hooks),
            ("/r/.loci-clock", Walled::Clock),
            ("/r/.loci-clock/jobs/a.md", Walled::Clock),
            ("/r/.loci/memory/inbox/new/forged.md", Walled::Memory),
            ("/r/.claude/settings.local.json", CLAUDE),
            ("/h/.claude.json", CLAUDE),
            ("/etc/claude-code/managed-settings.json", CLAUDE),
            ("/r/.codex/config.toml", CODEX),
            ("/r/.gemini/settings.json", GEMINI),
            ("/r/.qwen/settings.json", QWEN),
            ("/r/.github/hooks/x.json", COPILOT),
            ("/r/opencode.json", OPENCODE),
            ("/r/.opencode/plugin/a.js", OPENCODE),
            ("/r/.pi/extensions/a.ts", PI),
            ("/h/.hermes/config.yaml", HERMES),
            ("/r/.clinerules/hooks/PreToolUse", CLINE),
            ("/h/.loci/config.yaml", Walled::Policy),
            ("/h/.loci/rules/all.md", Walled::Policy),
            ("/dotfiles/loci/config.yaml", Walled::Policy),
            ("/h/.local/state/loci/sessions/a.json", Walled::State),
        ] {
            assert_eq!(inside(Path::new(path), &grounds()), Some(what), "{path}");
        }
    }

    /// Every file with which a harness could be told to run no hooks, or others: `disableAllHooks` and
    /// its like, hooks themselves, plugins that bring some, and files that name other settings.
    #[test]
    fn no_harness_is_unhooked() {
        for (harness, files) in [
            (
                CLAUDE,
                &[
                    "/r/.claude/settings.json",
                    "/r/.claude/settings.local.json",
                    "/h/.claude/settings.json",
                    "/h/.claude.json",
                    "/r/.claude/hooks/gate.sh",
                    "/h/.claude/plugins/p/hooks/hooks.json",
                    "/etc/claude-code/managed-settings.json",
                    "/etc/claude-code/managed-settings.d/x.json",
                ][..],
            ),
            (
                CODEX,
                &[
                    "/r/.codex/config.toml",
                    "/h/.codex/config.toml",
                    "/r/.codex/hooks.json",
                    "/h/.codex/managed_config.toml",
                    "/h/.codex/requirements.toml",
                    "/h/.codex/.env",
                    "/h/.codex/rules/default.rules",
                    "/etc/codex/config.toml",
                    "/etc/codex/requirements.toml",
                    "/etc/codex/managed_config.toml",
                    "/etc/codex/hooks.json",
                ],
            ),
            (
                GEMINI,
                &[
                    "/r/.gemini/settings.json",
                    "/h/.gemini/settings.json",
                    "/h/.gemini/trustedFolders.json",
                    "/r/.gemini/.env",
                    "/h/.gemini/extensions/x/hooks/hooks.json",
                    "/h/.gemini/trusted_hooks.json",
                    "/h/.gemini/policies/allow.toml",
                    "/etc/gemini-cli/policies/allow.toml",
                    "/etc/gemini-cli/settings.json",
                ],
            ),
            (
                QWEN,
                &[
                    "/r/.qwen/settings.json",
                    "/h/.qwen/settings.json",
                    "/h/.qwen/trustedFolders.json",
                    "/r/.qwen/.env",
                    "/h/.qwen/trusted_hooks.json",
                    "/etc/qwen-code/settings.json",
                ],
            ),
            (
                COPILOT,
                &[
                    "/r/.github/hooks/loci.json",
                    "/r/.github/copilot/settings.json",
                    "/r/.github/copilot/settings.local.json",
                    "/h/.copilot/config.json",
                    "/h/.copilot/settings.json",
                    "/h/.copilot/hooks/x.json",
                    "/h/.copilot/mcp-config.json",
                    "/h/.copilot/plugins/p/hooks.json",
                ],
            ),
            (
                OPENCODE,
                &[
                    "/r/opencode.json",
                    "/r/opencode.jsonc",
                    "/h/.config/opencode/opencode.json",
                    "/h/.config/opencode/config.json",
                    "/r/.opencode/plugins/loci.js",
                    "/h/.config/opencode/plugin/loci.js",
                    "/r/.opencode/tool/x.ts",
                    "/h/.config/opencode/tools/x.ts",
                    "/etc/opencode/opencode.json",
                ],
            ),
            (
                PI,
                &[
                    "/r/.pi/settings.json",
                    "/r/.pi/mcp.json",
                    "/h/.pi/agent/settings.json",
                    "/h/.pi/agent/trust.json",
                    "/h/.pi/agent/models.json",
                    "/h/.pi/agent/mcp.json",
                    "/r/.pi/extensions/loci.ts",
                    "/h/.pi/agent/extensions/loci.ts",
                    "/h/.pi/agent/npm/node_modules/x/index.js",
                ],
            ),
            (
                HERMES,
                &[
                    "/h/.hermes/config.yaml",
                    "/h/.hermes/shell-hooks-allowlist.json",
                    "/h/.hermes/.env",
                    "/h/.hermes/hooks/x/handler.py",
                    "/h/.hermes/plugins/x/plugin.yaml",
                ],
            ),
            (
                CLINE,
                &[
                    "/r/.clinerules/hooks/PreToolUse",
                    "/h/.cline/hooks/PreToolUse",
                    "/h/Documents/Cline/Hooks/PreToolUse",
                    "/h/.cline/data/globalState.json",
                    "/h/.cline/data/settings/global-settings.json",
                    "/r/.cline/plugins/p/index.ts",
                    "/h/Documents/Cline/Plugins/p/index.ts",
                ],
            ),
        ] {
            for file in files {
                assert_eq!(inside(Path::new(file), &grounds()), Some(harness), "{file}");
                // With the folder it stands in taken away or exchanged it would go along.
                let dir = Path::new(file).parent().unwrap();
                let gone = covered(dir, &act(ActKind::Rename, dir.to_str().unwrap()), &grounds());
                let named = inside(dir, &grounds()).is_some() || gone.iter().any(|(item, ..)| item == Path::new(file));
                let anywhere = ["/r", "/h", "/etc/claude-code/managed-settings.d", "/h/.config/opencode"].contains(&dir.to_str().unwrap());
                assert!(named || anywhere, "{file}");
            }
        }
    }

    #[test]
    fn what_an_agent_may_shape_is_not() {
        for path in [
            "/r/.loci/rules/a.md",
            "/r/.loci/skills/s/SKILL.md",
            "/r/.loci/notes.md",
            "/r/.claude/skills/s/SKILL.md",
            "/r/.github/workflows/ci.yml",
            "/r/owner.md",
            "/r/agent.md",
            "/r/xloci/owner.md",
            "/r/.loci-clock2/x",
            "/r/settings.json",
            "/r/.clinerules/style.md",
            "/h/.loci",
        ] {
            assert_eq!(inside(Path::new(path), &grounds()), None, "{path}");
        }
    }

    #[test]
    fn the_agent_of_the_home_shapes_its_rules_but_not_the_policy() {
        let home = Grounds { at_home: true, ..grounds() };
        assert_eq!(inside(Path::new("/h/.loci/rules/a.md"), &home), None);
        assert_eq!(inside(Path::new("/h/.loci/config.yaml"), &home), Some(Walled::Policy));
        assert_eq!(inside(Path::new("/h/.loci/hooks/a.sh"), &home), Some(Walled::Hooks));
    }

    #[test]
    fn folded_case_is_no_way_around() {
        let folding = Grounds { folds: true, ..grounds() };
        assert_eq!(inside(Path::new("/r/.LOCI/Owner.MD"), &folding), Some(Walled::OwnerFile));
        assert_eq!(inside(Path::new("/r/.LOCI/Owner.MD"), &grounds()), None);
    }

    #[test]
    fn globs_add_to_it() {
        let globs = ["/r/ci/**".to_owned(), "[".to_owned()];
        let more = Grounds { globs: &globs, ..grounds() };
        assert_eq!(inside(Path::new("/r/ci/a/b"), &more), Some(Walled::Glob));
        assert_eq!(inside(Path::new("/r/src/a"), &more), None);
    }

    #[test]
    fn taking_a_dotdir_away_takes_what_is_in_it() {
        let has = |kind, path: &str, item: &str| {
            covered(Path::new(path), &act(kind, path), &grounds()).iter().any(|(found, ..)| found == Path::new(item))
        };
        assert!(has(ActKind::Rename, "/r/.claude", "/r/.claude/settings.json"));
        assert!(has(ActKind::Remove, "/r/.loci", "/r/.loci/agent.md"));
        assert!(has(ActKind::Remove, "/h", "/h/.loci"));
        assert!(has(ActKind::Rename, "/h/.local", "/h/.local/state/loci"));
        assert!(covered(Path::new("/r/.claude"), &act(ActKind::Create, "/r/.claude"), &grounds()).is_empty());
        let copied = Act { below: true, ..act(ActKind::Create, "/r/.claude") };
        assert!(covered(Path::new("/r/.claude"), &copied, &grounds()).iter().any(|(.., brings)| *brings));
        assert!(covered(Path::new("/r/.claude/skills"), &act(ActKind::Remove, "/r/.claude/skills"), &grounds()).is_empty());
        let link = covered(Path::new("/r/.loci"), &act(ActKind::Link, "/r/.loci"), &grounds());
        assert!(link.iter().any(|(_, what, brings)| *what == Walled::Identity && *brings));
        assert!(covered(Path::new("/r/.github"), &act(ActKind::Link, "/r/.github"), &grounds()).iter().all(|(.., brings)| !brings));
    }
}
