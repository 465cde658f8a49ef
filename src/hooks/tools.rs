//! The table of tools, the same for every harness: a tool call becomes acts and a captured change.
//!
//! [`read_call`] is pure: names and arguments in, acts out; what a path really is finds whoever rules on
//! the acts. What commands do is read by [`shell_acts`], which follows them on the disk as it is.
//! Names are compared without case and separators, so that `Write`, `write_file` and
//! `mcp__files__write_file` are one row. A tool nobody knows is looked at when its name says that
//! it writes.

mod loose;
mod paths;
mod shell;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub use shell::{Command, ShellCall, shell_acts};

use loose::{file_act, is_remote, relocates};
use paths::{absolute, readings};
use table::{BASE_KEYS, DIR_KEYS, Does, FILE_KEYS, MORE_KEYS, TABLE, WRAPPERS, plain_key, plain_name};

use crate::custody::act::{Act, ActKind};
use crate::custody::deeds::Deeds;
use crate::custody::delegation::Change;
use crate::custody::patch::{self, SectionKind};

/// Words in a tool's name that say that it writes, where the settings name none.
pub const WRITE_WORDS: &[&str] = &crate::tree::settings::WRITE_TOOLS;

/// How deep and how far arguments are looked through.
const MAX_DEPTH: usize = 8;
/// The most acts of a call that are judged; one that has more is not judged at all.
pub const MAX_ACTS: usize = 4_096;

/// What a tool call wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// What it would do, act by act.
    pub acts: Vec<Act>,
    /// What it would change, as far as the call says.
    pub change: Change,
    /// What kind of tool it is.
    pub class: Class,
}

/// The kind of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Class {
    /// Looks at files.
    FileRead,
    /// Changes files that its arguments name.
    FileWrite,
    /// Takes a patch.
    Patch,
    /// Runs commands.
    Shell(ShellCall),
    /// Not in the table, and nothing in its name or arguments says that it writes files.
    Unknown,
}

impl Intent {
    /// What the call would do: the acts that its arguments name, or those that are read out of its
    /// commands. `env` is asked for only where there are commands.
    #[must_use]
    pub fn deeds(&self, env: impl FnOnce() -> BTreeMap<String, String>, home: Option<&Path>) -> Deeds {
        match &self.class {
            Class::Shell(call) => shell_acts(call, &env(), home),
            _ => self.acts.clone().into(),
        }
    }
}

impl Class {
    /// Whether a call of this kind that can't be checked in time is refused: it surely writes.
    #[must_use]
    pub fn writes(&self) -> bool {
        matches!(self, Self::FileWrite | Self::Patch)
    }
}

/// Reads a call. `cwd` is the directory that the payload names, `home` what `~` stands for, `words`
/// the words of [`WRITE_WORDS`] or what the settings put in their place.
#[must_use]
pub fn read_call<S: AsRef<str>>(name: &str, input: &Value, cwd: &Path, home: Option<&Path>, words: &[S]) -> Intent {
    let wrapped = wrapped(name, input);
    let (name, input) = wrapped.as_ref().map_or((name, input), |(name, input)| (name.as_str(), input));
    let call = Call { input, cwd, home };
    let plain = plain_name(name);
    if is_remote(name, input) {
        return nothing();
    }
    match TABLE.iter().find(|(_, names)| names.contains(&plain.as_str())).map(|(does, _)| *does) {
        Some(Does::Read) => call.reads(),
        Some(Does::Write) => call.writes(name, &plain),
        Some(Does::Patch) => call.patches(&plain),
        Some(Does::Shell) => call.shell(name, false),
        Some(Does::Program) => call.shell(name, true),
        Some(Does::Nothing) => nothing(),
        None => call.unknown(name, words),
    }
}

/// The call that a tool makes of another one: its name, and its arguments.
fn wrapped(name: &str, input: &Value) -> Option<(String, Value)> {
    if !WRAPPERS.contains(&plain_name(name).as_str()) {
        return None;
    }
    let mut inner = text_of(input, &["tool_name", "toolName", "tool", "name"])?.to_owned();
    if let Some(server) = text_of(input, &["server_name", "serverName", "server"]) {
        inner = format!("mcp__{server}__{inner}");
    }
    let given = ["arguments", "args", "parameters", "params", "input"].iter().find_map(|key| input.get(*key))?;
    let parsed = given.as_str().and_then(|text| serde_json::from_str(text).ok());
    Some((inner, parsed.unwrap_or_else(|| given.clone())))
}

/// Whether a tool is a harness's own, and not one of a server: those have the server's name before theirs.
fn is_own(name: &str) -> bool {
    !name.starts_with("mcp") && plain_key(name) == plain_name(name)
}

/// Whether arguments name a file by something that is no text: no harness takes that, or one does that
/// reads it in a way of its own.
#[must_use]
pub fn hides_its_file(input: &Value) -> bool {
    let Value::Object(fields) = input else { return !input.is_null() };
    let odd = |value: &Value| !value.is_string() && value.as_array().is_none_or(|items| !items.is_empty());
    fields.iter().any(|(key, value)| FILE_KEYS.contains(&plain_key(key).as_str()) && odd(value))
}

fn nothing() -> Intent {
    Intent { acts: Vec::new(), change: Change::None, class: Class::Unknown }
}

/// File tools write through a link; what takes away or renames acts on the link itself.
fn act(kind: ActKind, path: PathBuf) -> Act {
    let away = matches!(kind, ActKind::Remove | ActKind::Rename);
    Act { kind, path, follow: !away && kind != ActKind::Link, below: away }
}

struct Call<'a> {
    input: &'a Value,
    cwd: &'a Path,
    home: Option<&'a Path>,
}

impl Call<'_> {
    /// One of several arguments, as text.
    fn text(&self, keys: &[&str]) -> Option<&str> {
        text_of(self.input, keys)
    }

    /// The directory in force: the payload's, or the one that an argument names.
    fn dir(&self) -> PathBuf {
        self.text(DIR_KEYS).map_or_else(|| self.cwd.to_owned(), |dir| absolute(dir, self.cwd, self.home))
    }

    /// Every directory that a relative path may be meant from: the ones that arguments name, which a
    /// tool may obey or not look at, and the payload's.
    fn dirs(&self) -> Vec<PathBuf> {
        let named = DIR_KEYS.iter().chain(BASE_KEYS).filter_map(|key| self.text(&[key]));
        let mut dirs: Vec<PathBuf> = named.map(|dir| absolute(dir, self.cwd, self.home)).collect();
        dirs.push(self.cwd.to_owned());
        dirs
    }

    /// What stands behind keys that name files, at any depth.
    fn named(&self, keys: &[&[&str]]) -> Vec<(String, PathBuf)> {
        let mut found = Vec::new();
        let dirs = self.dirs();
        let known = |key: &str| keys.iter().any(|keys| keys.contains(&key));
        collect(self.input, None, 0, &mut |key, text| {
            if key.is_some_and(known) && !text.is_empty() && found.len() <= MAX_ACTS {
                let key = key.unwrap_or_default();
                found.extend(readings(text, &dirs, self.home).into_iter().map(|path| (key.to_owned(), path)));
            }
        });
        found.dedup();
        found
    }

    fn reads(&self) -> Intent {
        let acts = self.named(&[FILE_KEYS]).into_iter().map(|(_, path)| act(ActKind::Read, path)).collect();
        Intent { acts, change: Change::None, class: Class::FileRead }
    }

    /// `full` is the whole name of the tool, `name` what is compared of it.
    fn writes(&self, full: &str, name: &str) -> Intent {
        // Only these tools have commands; another one does not look at the argument.
        let commanded = matches!(name, "strreplaceeditor" | "strreplacebasededittool");
        if commanded && self.text(&["command"]).is_some_and(|command| command == "view") {
            return self.reads();
        }
        let mut named = self.named(&[FILE_KEYS]);
        if named.is_empty() {
            named = self.named(&[MORE_KEYS]);
        }
        let mut acts: Vec<Act> = named.into_iter().map(|(_, path)| file_act(name, path)).collect();
        // What arguments a server takes is not known, and two paths need two keys.
        if acts.is_empty() || !is_own(full) || relocates(name) {
            acts = self.loose(full);
        }
        let change = acts.first().map_or(Change::None, |first| self.change(&first.path));
        Intent { acts, change, class: Class::FileWrite }
    }

    /// The change of a file tool: replaced texts, whole content, or the arguments as they are.
    fn change(&self, path: &Path) -> Change {
        const OLD: &[&str] = &["old_string", "oldString", "old_str", "oldText", "old_text", "search"];
        const NEW: &[&str] = &["new_string", "newString", "new_str", "newText", "new_text", "replace"];
        let edit = |value: &Value| {
            let all = ["replace_all", "replaceAll", "all"].iter().any(|key| value.get(key) == Some(&Value::Bool(true)));
            Some((text_of(value, OLD)?.to_owned(), text_of(value, NEW)?.to_owned(), all))
        };
        if let Some(edits) = self.input.get("edits").and_then(Value::as_array)
            && let Some(edits) = edits.iter().map(edit).collect::<Option<Vec<_>>>()
            && !edits.is_empty()
        {
            return Change::Edits { path: path.to_owned(), edits };
        }
        if let Some(edit) = edit(self.input) {
            return Change::Edits { path: path.to_owned(), edits: vec![edit] };
        }
        let inserts = ["insert_line", "insertLine", "line", "cell_id", "edit_mode"].iter().any(|key| self.input.get(key).is_some());
        match self.text(&["content", "contents", "file_text", "fileText", "new_text", "text"]) {
            Some(text) if !inserts => Change::Content { path: path.to_owned(), bytes: text.as_bytes().to_vec() },
            _ => self.as_given(),
        }
    }

    fn as_given(&self) -> Change {
        Change::Input(serde_json::to_string_pretty(self.input).unwrap_or_default())
    }

    fn patches(&self, name: &str) -> Intent {
        let whole = self.input.as_str().or_else(|| self.text(&["input", "command", "patchText", "patch_text", "patch", "diff"]));
        let listed = self.input.get("command").and_then(Value::as_array).and_then(|words| words.last()).and_then(Value::as_str);
        let mut acts = Vec::new();
        if let Some(text) = whole.or(listed) {
            acts = patch_acts_in(text, &self.dirs(), self.home);
            let beside = self.named(&[FILE_KEYS]).into_iter().map(|(_, path)| file_act(name, path));
            acts.extend(beside);
            if acts.is_empty() {
                // No patch that anybody reads: whatever applies it may see one.
                acts.push(act(ActKind::Run, self.dir()));
            }
            return Intent { acts, change: Change::Patch(text.to_owned()), class: Class::Patch };
        }
        // A patch tool that was given old and new text.
        acts.extend(self.named(&[FILE_KEYS]).into_iter().map(|(_, path)| act(ActKind::Write, path)));
        let change = acts.first().map_or(Change::None, |first| self.change(&first.path));
        Intent { acts, change, class: Class::Patch }
    }
}

/// The acts of a patch.
fn patch_acts(text: &str, cwd: &Path, home: Option<&Path>) -> Vec<Act> {
    patch_acts_in(text, &[cwd.to_owned()], home)
}

/// The acts of a patch that may be applied in any of these directories.
fn patch_acts_in(text: &str, dirs: &[PathBuf], home: Option<&Path>) -> Vec<Act> {
    let mut acts = Vec::new();
    for section in patch::sections(text) {
        let mut add = |kind, name: &str| acts.extend(readings(name, dirs, home).into_iter().map(|path| act(kind, path)));
        match (section.kind, section.to) {
            (_, Some(to)) => {
                add(ActKind::Rename, &section.path);
                add(ActKind::Write, &to);
            }
            (SectionKind::Add, None) => add(ActKind::Create, &section.path),
            (SectionKind::Update, None) => add(ActKind::Write, &section.path),
            (SectionKind::Delete, None) => add(ActKind::Remove, &section.path),
        }
        if acts.len() > MAX_ACTS {
            break;
        }
    }
    acts
}

fn text_of<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| value.get(key)?.as_str())
}

/// Every text in a value, with the key that it (or the list it is in) stands behind.
fn collect(value: &Value, key: Option<&str>, depth: usize, take: &mut impl FnMut(Option<&str>, &str)) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::String(text) => take(key, text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, key, depth + 1, take)),
        Value::Object(fields) => {
            let listed = matches!(key, Some("files" | "paths"));
            for (name, value) in fields {
                let plain = plain_key(name);
                // A path may be a key itself, with what goes into the file behind it.
                if name.contains('/') || (listed && !FILE_KEYS.contains(&plain.as_str()) && name.contains('.')) {
                    take(Some("path"), name);
                }
                collect(value, Some(&plain), depth + 1, take);
            }
        }
        _ => {}
    }
}
