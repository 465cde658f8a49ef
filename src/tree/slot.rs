//! The slot table. Adding a slot is adding a row.

use super::dotdirs::Layer;

/// The end of a name that is switched off. It is excluded by the grammar itself, so no loader has
/// to know about it.
pub const INACTIVE: &str = ".inactive";
/// The file of a slot that names what is used from elsewhere.
pub const USE: &str = "_use.yaml";

/// Which files of a folder belong to a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// Those that end so.
    Ending(&'static [&'static str]),
    /// Those of this name.
    Named(&'static str),
    /// All of them.
    Any,
}

/// How the files of a slot lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grammar {
    /// In `DOTDIR/SLOT/`, between `min` and `max` levels down.
    Folder {
        /// At least so deep; 1 is directly in the folder.
        min: usize,
        /// At most so deep.
        max: usize,
        /// Which files.
        take: Take,
        /// Whether names that start with `_` or `.` are left out.
        private: bool,
    },
    /// At the level itself and in its dotdirs, by name.
    Named {
        /// At the level, under the first dotdir present; not at home.
        level: &'static [&'static str],
        /// In each dotdir.
        dotdir: &'static [&'static str],
    },
}

/// One kind of thing that a dotdir holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The slot; empty for the last row, which stands for every other name.
    pub name: &'static str,
    /// How its files lie.
    pub grammar: Grammar,
    /// The layers that read it.
    pub layers: &'static [Layer],
}

const BOTH: &[Layer] = &[Layer::Vendor, Layer::Identity];
const ENDLESS: usize = usize::MAX;

const fn folder(min: usize, max: usize, take: Take, private: bool) -> Grammar {
    Grammar::Folder { min, max, take, private }
}

/// The table.
pub const TABLE: &[Row] = &[
    Row { name: "rules", grammar: folder(1, ENDLESS, Take::Ending(&[".md"]), false), layers: BOTH },
    Row { name: "skills", grammar: folder(2, 2, Take::Named("SKILL.md"), false), layers: BOTH },
    Row { name: "agents", grammar: folder(1, 1, Take::Ending(&[".md"]), false), layers: BOTH },
    Row { name: "hooks", grammar: folder(1, 1, Take::Any, true), layers: &[Layer::Identity, Layer::Runtime] },
    Row { name: "sets", grammar: folder(1, 1, Take::Ending(&[".json", ".yaml", ".yml"]), false), layers: BOTH },
    Row {
        name: "instructions",
        grammar: Grammar::Named { level: &["AGENTS.md", "CLAUDE.md", "CLAUDE.local.md"], dotdir: &["AGENTS.md", "CLAUDE.md"] },
        layers: BOTH,
    },
    Row { name: "jobs", grammar: folder(1, 1, Take::Ending(&[".md"]), false), layers: &[Layer::Runtime] },
    Row { name: "loops", grammar: folder(1, 1, Take::Ending(&[".md"]), false), layers: &[Layer::Runtime] },
    OTHER,
];

/// The row for a slot that nobody has written down yet.
pub const OTHER: Row = Row { name: "", grammar: folder(1, 2, Take::Any, true), layers: BOTH };

/// The row of a slot.
#[must_use]
pub fn row(slot: &str) -> Row {
    TABLE.iter().find(|row| row.name == slot && !slot.is_empty()).copied().unwrap_or(OTHER)
}

impl Take {
    /// Whether a file of this name belongs to the slot.
    #[must_use]
    pub fn takes(self, name: &str) -> bool {
        match self {
            Self::Ending(endings) => endings.iter().any(|ending| name.ends_with(ending)),
            Self::Named(wanted) => name == wanted,
            Self::Any => true,
        }
    }
}

impl Row {
    /// Whether dotdirs of this layer are read for the slot.
    #[must_use]
    pub fn reads(&self, layer: Layer) -> bool {
        self.layers.contains(&layer)
    }

    /// Whether a thing of this slot is a folder with one file that stands for it.
    #[must_use]
    pub fn is_folder_item(&self) -> bool {
        matches!(self.grammar, Grammar::Folder { take: Take::Named(_), .. })
    }
}

/// Folders that other programs fill; what lies in them is nobody's configuration.
#[must_use]
pub fn is_foreign_folder(name: &str) -> bool {
    matches!(name, "node_modules" | ".git" | ".venv")
}
