//! What is said instead of guessed: near misses and what could not be read.

use std::path::{Path, PathBuf};

use crate::sys::disk::PathError;
use crate::text::header::Status;

/// The kinds of diagnostics: a closed list, whose words are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// A skill inside a skill folder is not found.
    NestedSkillIgnored,
    /// A file directly in `skills/` is no skill.
    FlatSkillIgnored,
    /// `skill.md` is not `SKILL.md`.
    SkillWrongCase,
    /// A renamed skill *folder* is off here, but other programs still list the skill in it.
    InactiveDirStillLive,
    /// The same content a second time; the nearest copy stays.
    DuplicateContent,
    /// One name for two things at one level.
    DuplicateName,
    /// A link that leads nowhere.
    DanglingLink,
    /// Links that lead in a circle, or back up.
    SymlinkLoop,
    /// A slot that is a file.
    SlotIsFile,
    /// A dotdir that is a file.
    ConfigIsFile,
    /// A slot in a dotdir whose layer does not read it.
    ForeignSlot,
    /// Something that could not be read.
    Unreadable,
    /// A reference in `_use.yaml` to what is not there.
    UseDangling,
    /// References that lead back to themselves.
    UseCycle,
    /// Front matter that is not YAML, read line by line.
    FmLenient,
    /// Front matter that can't be read.
    FmMalformed,
    /// Front matter without its second fence.
    FmUnterminated,
    /// Front matter that is no `key: value`.
    FmNonMapping,
    /// A file that is not UTF-8.
    FmNotUtf8,
    /// Front matter beyond the bounds.
    FmTooLarge,
}

impl Code {
    /// Every code, in the order of the list.
    pub const ALL: [Self; 20] = [
        Self::NestedSkillIgnored,
        Self::FlatSkillIgnored,
        Self::SkillWrongCase,
        Self::InactiveDirStillLive,
        Self::DuplicateContent,
        Self::DuplicateName,
        Self::DanglingLink,
        Self::SymlinkLoop,
        Self::SlotIsFile,
        Self::ConfigIsFile,
        Self::ForeignSlot,
        Self::Unreadable,
        Self::UseDangling,
        Self::UseCycle,
        Self::FmLenient,
        Self::FmMalformed,
        Self::FmUnterminated,
        Self::FmNonMapping,
        Self::FmNotUtf8,
        Self::FmTooLarge,
    ];

    /// The stable word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::NestedSkillIgnored => "nested-skill-ignored",
            Self::FlatSkillIgnored => "flat-skill-ignored",
            Self::SkillWrongCase => "skill-wrong-case",
            Self::InactiveDirStillLive => "inactive-dir-still-live",
            Self::DuplicateContent => "duplicate-content",
            Self::DuplicateName => "duplicate-name",
            Self::DanglingLink => "dangling-link",
            Self::SymlinkLoop => "symlink-loop",
            Self::SlotIsFile => "slot-is-file",
            Self::ConfigIsFile => "config-is-file",
            Self::ForeignSlot => "foreign-slot",
            Self::Unreadable => "unreadable",
            Self::UseDangling => "use-dangling",
            Self::UseCycle => "use-cycle",
            Self::FmLenient => "fm-lenient",
            Self::FmMalformed => "fm-malformed",
            Self::FmUnterminated => "fm-unterminated",
            Self::FmNonMapping => "fm-non-mapping",
            Self::FmNotUtf8 => "fm-not-utf8",
            Self::FmTooLarge => "fm-too-large",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn fix(self) -> &'static str {
        match self {
            Self::NestedSkillIgnored => "move the skill's folder directly into `skills/`",
            Self::FlatSkillIgnored => "move it to `skills/NAME/SKILL.md`",
            Self::SkillWrongCase => "rename it to `SKILL.md`",
            Self::InactiveDirStillLive => "rename the folder back, and the SKILL.md in it to `SKILL.md.inactive`",
            Self::DuplicateContent => "remove one of the two, or name it in `_use.yaml`",
            Self::DuplicateName => "rename one of the two",
            Self::DanglingLink => "remove the link, or make what it points to",
            Self::SymlinkLoop => "remove the link",
            Self::SlotIsFile | Self::ConfigIsFile => "make it a directory",
            Self::ForeignSlot => "move it into a dotdir that reads it",
            Self::Unreadable => "make it readable, or remove it",
            Self::UseDangling => "correct the name, or take the line out",
            Self::UseCycle => "take out one of the references",
            Self::FmLenient => "put the value into quotes, or correct the line",
            Self::FmMalformed => "correct the front matter",
            Self::FmUnterminated => "close the front matter with a line `---`",
            Self::FmNonMapping => "write the front matter as `key: value`",
            Self::FmNotUtf8 => "save the file as UTF-8",
            Self::FmTooLarge => "shorten the front matter",
        }
    }

    /// The code of an irregular front matter; `None` where all is well.
    #[must_use]
    pub fn of_status(status: Status) -> Option<Self> {
        match status {
            Status::Ok | Status::None | Status::Empty => None,
            Status::Lenient => Some(Self::FmLenient),
            Status::Malformed => Some(Self::FmMalformed),
            Status::Unterminated => Some(Self::FmUnterminated),
            Status::NonMapping => Some(Self::FmNonMapping),
            Status::NotUtf8 => Some(Self::FmNotUtf8),
            Status::TooLarge => Some(Self::FmTooLarge),
        }
    }
}

/// One thing to say about one path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
    /// About which path, as reached.
    pub path: PathBuf,
    /// The line in it, from 1; `None` where it is about the whole.
    pub line: Option<usize>,
    /// What kind.
    pub code: Code,
    /// In words; reads on after the path.
    pub text: String,
}

impl Diagnostic {
    /// About a path as a whole.
    #[must_use]
    pub fn new(code: Code, path: &Path, text: &str) -> Self {
        Self { path: path.to_owned(), line: None, code, text: text.to_owned() }
    }

    /// About one line.
    #[must_use]
    pub fn on(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    /// What the disk refused.
    #[must_use]
    pub fn unreadable(path: &Path, error: &PathError) -> Self {
        Self::new(Code::Unreadable, path, &format!("can't be read: {}", error.source))
    }
}
