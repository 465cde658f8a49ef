use super::rows::{CLINE, CODEX, COPILOT, GEMINI, HERMES, OPENCODE, PI, QWEN};
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
fn no_row_begins_with_a_letter_that_is_not_looked_for() {
    let begins =
        |letter: u8| ROWS.iter().any(|row| row.names.first().is_some_and(|name| name.to_ascii_lowercase().as_bytes()[0] == letter));
    for letter in u8::MIN..=u8::MAX {
        assert_eq!(begins(letter), FIRST_LETTERS.contains(&letter), "{letter}");
    }
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
