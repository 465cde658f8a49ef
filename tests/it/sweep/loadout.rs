//! What is worn: switches, sets, archives.

use super::engine::{Row, words};
use crate::loadout::in_every_section;
use crate::sandbox::Sandbox;

/// As the tests of loadouts have it, in memory, with somebody in the home.
fn level() -> Sandbox {
    let world = in_every_section(Sandbox::in_memory());
    world.file("home/.loci/agent.md", "---\nid: me\n---\n");
    world
}

fn equipped() -> Sandbox {
    let world = level();
    world.loci("r", ["equip", "s"]).exits(0);
    world
}

/// A place with a saved loadout that differs in every way a piece can.
fn archived() -> Sandbox {
    let world = level();
    world
        .file("r/.mcp.json", "{}")
        .file("r/.claude/settings.json", "{}\n")
        .file("r/CLAUDE.md", "saved")
        .file("r/.claude/rules/a.md", "saved rule")
        .file("r/.claude/rules/deep/er.md", "saved deeper");
    world.loci("r", ["loadout", "archive", "one"]).exits(0);
    std::fs::remove_file(world.path("r/.mcp.json")).unwrap();
    world.file("r/CLAUDE.md", "live").file("r/.claude/rules/b.md", "live rule").exec("r/.claude/hooks/h.sh", "live hook");
    world
}

fn injected() -> Sandbox {
    let world = archived();
    world.loci("r", ["loadout", "inject", "one"]).exits(0);
    world
}

pub(super) fn rows() -> Vec<Row> {
    // Once more would be another exchange; any change of the level settles what is open.
    const SETTLE: Option<(&str, i32)> = Some(("toggle rules/none on", 1));
    vec![
        Row { again: 1, ..Row::new("toggle", level, "r", |_| words("toggle rules/a off")) },
        Row { again: 1, ..Row::new("equip", level, "r", |_| words("equip s")) },
        Row { note: "--for", ..Row::new("equip", level, "r", |_| words("equip s --for -- true")) },
        Row { again: 1, ..Row::new("unequip", equipped, "r", |_| words("unequip")) },
        Row { again: 2, ..Row::new("sets save", level, "r", |_| words("sets save focus")) },
        Row { again: 2, ..Row::new("loadout archive", archived, "r", |_| words("loadout archive two")) },
        Row { note: "--here", again: 2, ..Row::new("loadout archive", archived, "r", |_| words("loadout archive two --here")) },
        Row { below: "r", next: SETTLE, ..Row::new("loadout inject", archived, "r", |_| words("loadout inject one")) },
        Row { below: "r", next: SETTLE, ..Row::new("loadout restore", injected, "r", |_| words("loadout restore")) },
        Row { again: 2, ..Row::new("loadout rm", archived, "r", |_| words("loadout rm one")) },
        Row::new("loadout prune", injected, "r", |_| words("loadout prune --keep 0")),
    ]
}

#[test]
fn what_is_worn() {
    super::engine::sweep(&rows());
}
