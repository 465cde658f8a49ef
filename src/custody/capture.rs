//! What a call would have changed, captured before anybody forgets it: as a diff against the disk as
//! it is now where that can be had, else as it came.

use std::path::{Path, PathBuf};

use super::changes::FileChange;
use super::diff::{self, Difference};
use super::gitpatch;
use super::hunk;
use super::mask;
use super::patch::{self, Section};
use super::ruling::ActRuling;
use crate::sys::disk;
use crate::text::digest;
use crate::tree::climb;

/// The most of a captured change that stands in a message; the rest is cut, said, and kept beside.
pub const MAX_CHANGE: usize = 256 << 10;

/// What a call would have changed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// The file would be as given.
    Content {
        /// Which file: as in the act.
        #[serde(with = "crate::sys::wire::path")]
        path: PathBuf,
        /// What would stand in it.
        #[serde(with = "crate::sys::wire::bytes")]
        bytes: Vec<u8>,
    },
    /// Texts in the file would be replaced, in order.
    Edits {
        /// Which file: as in the act.
        #[serde(with = "crate::sys::wire::path")]
        path: PathBuf,
        /// Old text, new text, and whether all places are meant.
        edits: Vec<(String, String, bool)>,
    },
    /// A patch, as the tool got it.
    Patch(String),
    /// Files as they were and as they would be.
    Files(Vec<FileChange>),
    /// The same, taken up in a layer while a command ran: not applied.
    Captured(Vec<FileChange>),
    /// A shell command. Never executed by loci.
    Command(String),
    /// A verb of loci that only a person carries out; `approve` can.
    Verb {
        /// Its words, the name of the program left out; `None` where they are not UTF-8.
        argv: Option<Vec<String>>,
        /// Where it was called.
        #[serde(with = "crate::sys::wire::path")]
        cwd: PathBuf,
        /// How a person would call it.
        command: String,
    },
    /// What a tool was given that has no closer form.
    Input(String),
    /// Nothing was captured.
    None,
}

/// The last boundary of a character at or before `max`.
pub(super) fn cut_at(text: &str, max: usize) -> usize {
    if text.len() <= max {
        return text.len();
    }
    (0..=max).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// What was captured for one owner.
pub(super) struct Captured {
    /// The word in the front matter.
    pub(super) word: &'static str,
    /// The language of the block it stands in.
    pub(super) language: &'static str,
    /// What it says.
    pub(super) text: String,
    /// What tells one attempt from another.
    pub(super) raw: String,
    /// Digests of the file that a patch is against, and of what comes out; `absent` for none.
    pub(super) sides: Option<(String, String)>,
    /// The files before and after, where all of the change is known so.
    pub(super) files: Vec<FileChange>,
    /// What the sender wants, where it said so.
    pub(super) idea: Option<String>,
}

impl Captured {
    fn new(word: &'static str, language: &'static str, text: String) -> Self {
        Self { word, language, raw: format!("{word}\n{text}"), text, sides: None, files: Vec::new(), idea: None }
    }

    pub(super) fn carries(&self) -> String {
        match self.word {
            "patch" => "your change as a patch",
            "content" => "the digest of your content",
            "captured" => "what it changed, captured as a patch and NOT applied",
            "command" => "your command (it will not be run)",
            "verb" => "the command that a person may approve",
            "input" => "what the tool was given",
            _ => "which file it was, and nothing of the change",
        }
        .to_owned()
    }

    /// The full text, masked, where a message can't hold it.
    pub(super) fn full(&self) -> Option<String> {
        (self.text.len() > MAX_CHANGE).then(|| mask::mask(&self.text).0)
    }
}

/// The part of a change that is about these acts, against the disk as it is now.
pub(super) fn capture(change: &Change, acts: &[&ActRuling], dir: &Path) -> Captured {
    match change {
        Change::None => Captured::new("none", "", String::new()),
        Change::Command(text) => Captured::new("command", "text", text.clone()),
        Change::Verb { argv, cwd, command } => {
            let raw = format!("verb\n{command}\n{argv:?}\n{}", cwd.display());
            Captured { raw, ..Captured::new("verb", "text", command.clone()) }
        }
        Change::Input(text) => Captured::new("input", "text", text.clone()),
        Change::Patch(text) => patched(text, acts, dir),
        Change::Files(files) => {
            let ours = |file: &FileChange| {
                let act = acts.iter().find(|act| act.act.path == file.path)?;
                Some(FileChange { path: act.path().to_owned(), ..file.clone() })
            };
            let files: Vec<FileChange> = files.iter().filter_map(ours).collect();
            let text = shown(&files, dir);
            let captured = Captured::new("patch", "diff", text);
            Captured { files, ..captured }
        }
        Change::Captured(files) => {
            let ours = |file: &&FileChange| acts.iter().any(|act| act.path() == file.path || act.act.path == file.path);
            let files: Vec<FileChange> = files.iter().filter(ours).cloned().collect();
            let top = climb::nearest(dir, |dir| !matches!(disk::look(&dir.join(".git")), Ok(None))).unwrap_or(dir);
            let text = files.iter().map(|file| as_git(file, top)).collect();
            let captured = Captured::new("captured", "diff", text);
            Captured { files, ..captured }
        }
        Change::Content { path, bytes } => {
            compared(path, acts, dir, |_| Some(bytes.clone()), || String::from_utf8_lossy(bytes).into_owned())
        }
        Change::Edits { path, edits } => {
            let apply = |old: Option<&[u8]>| {
                let text = std::str::from_utf8(old.unwrap_or_default()).ok()?;
                diff::edited(text, edits).map(String::into_bytes)
            };
            let as_text = || edits.iter().map(|(old, new, _)| format!("replace:\n{old}\nby:\n{new}\n")).collect::<Vec<_>>().join("\n");
            compared(path, acts, dir, apply, as_text)
        }
    }
}

/// One file as a part of a git patch.
fn as_git(file: &FileChange, top: &Path) -> String {
    let now = disk::look(&file.path).ok().flatten();
    let was = now.map_or(0o644, |meta| if meta.kind == disk::Kind::Link { gitpatch::LINK } else { meta.mode });
    let old = file.was.as_deref().map(|data| gitpatch::Side { mode: gitpatch::mode(was), data });
    let new = file.will.as_deref().map(|data| gitpatch::Side { mode: gitpatch::mode(file.mode.unwrap_or(was)), data });
    gitpatch::file(file.path.strip_prefix(top).unwrap_or(&file.path), old.as_ref(), new.as_ref())
}

fn compared(
    path: &Path,
    acts: &[&ActRuling],
    dir: &Path,
    apply: impl Fn(Option<&[u8]>) -> Option<Vec<u8>>,
    as_text: impl Fn() -> String,
) -> Captured {
    let real = acts.iter().find(|act| act.act.path == path).map_or(path, |act| act.path());
    let name = real.strip_prefix(dir).unwrap_or(real).to_string_lossy().into_owned();
    let old = match disk::look_through(real) {
        Ok(None) => None,
        _ => match disk::read_start(real, diff::MAX_SIDE as u64 + 1) {
            Ok((data, _)) => Some(data),
            // It can't be read, so there is nothing to compare with: the text as it came.
            Err(_) => return Captured::new("input", "text", as_text()),
        },
    };
    let Some(new) = apply(old.as_deref()) else { return Captured::new("input", "text", as_text()) };
    let captured = match diff::difference(&name, old.as_deref(), Some(&new)) {
        Difference::Text(text) => {
            let digest = |side: Option<&[u8]>| side.map_or_else(|| "absent".to_owned(), digest::sha256);
            Captured { sides: Some((digest(old.as_deref()), digest(Some(&new)))), ..Captured::new("patch", "diff", text) }
        }
        Difference::Digest(text) => Captured::new("content", "text", text),
        Difference::None => Captured::new("patch", "diff", String::new()),
    };
    let whole = old.as_ref().is_none_or(|old| old.len() <= diff::MAX_SIDE);
    let file = FileChange { path: real.to_owned(), mode: None, was: old, will: Some(new) };
    // The same attempt is the same attempt though the file went on in the meantime.
    Captured { raw: format!("{}\n{}", captured.word, as_text()), files: if whole { vec![file] } else { Vec::new() }, ..captured }
}

/// A patch against the disk as it is now; as it came where it does not fit there.
fn patched(text: &str, acts: &[&ActRuling], dir: &Path) -> Captured {
    let part = part_of(text, acts);
    let sections = patch::sections(&part);
    let mut files: Vec<FileChange> = Vec::new();
    let fits = !sections.is_empty() && sections.iter().all(|section| worked_out(section, &part, acts, &mut files).is_some());
    if !fits {
        return Captured::new("patch", "diff", part);
    }
    let captured = Captured::new("patch", "diff", part);
    Captured { text: shown(&files, dir), files, ..captured }
}

/// What one section makes of its file, or of its two.
fn worked_out(section: &Section, patch: &str, acts: &[&ActRuling], files: &mut Vec<FileChange>) -> Option<()> {
    let real = |name: &str| {
        let name = name.trim_start_matches("./");
        Some(acts.iter().find(|act| act.act.path.ends_with(name))?.path().to_owned())
    };
    let path = real(&section.path)?;
    let base = |path: &Path| match disk::look_through(path) {
        Ok(None) => Some(None),
        Ok(Some(_)) => disk::read_bounded(path, diff::MAX_SIDE as u64).ok()?.map(Some),
        Err(_) => None,
    };
    // A file that comes twice is worked out on what the first made of it: too clever for a message.
    if files.iter().any(|file| file.path == path) {
        return None;
    }
    let was = base(&path)?;
    let text = was.as_deref().map(std::str::from_utf8).transpose().ok()?;
    let patched = hunk::apply(section.kind, patch.get(section.range.clone())?, text)?;
    let will = patched.text.map(String::into_bytes);
    match &section.to {
        None => files.push(FileChange { path, mode: patched.mode, was, will }),
        Some(to) => {
            let to = real(to)?;
            let there = base(&to)?;
            files.push(FileChange { path, mode: None, was, will: None });
            files.push(FileChange { path: to, mode: patched.mode, was: there, will });
        }
    }
    Some(())
}

/// Files before and after as one diff.
fn shown(files: &[FileChange], dir: &Path) -> String {
    let one = |file: &FileChange| {
        let name = file.path.strip_prefix(dir).unwrap_or(&file.path).to_string_lossy().into_owned();
        let mode = file.mode.map(|mode| format!("{name}: mode {mode:o}\n")).unwrap_or_default();
        match diff::difference(&name, file.was.as_deref(), file.will.as_deref()) {
            Difference::Text(text) => format!("{mode}{text}"),
            Difference::Digest(text) => format!("{mode}{text}"),
            Difference::None => mode,
        }
    };
    files.iter().map(one).collect()
}

/// The sections of a patch that are about these acts; all of it where none can be told apart.
fn part_of(text: &str, acts: &[&ActRuling]) -> String {
    let ours = |name: &str| acts.iter().any(|act| act.act.path.ends_with(name.trim_start_matches("./")));
    let sections = patch::sections(text);
    let part: String = sections
        .iter()
        .filter(|section| ours(&section.path) || section.to.as_deref().is_some_and(ours))
        .filter_map(|section| text.get(section.range.clone()))
        .collect();
    if part.is_empty() { text.to_owned() } else { part }
}
