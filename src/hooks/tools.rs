//! The table of tools, the same for every harness: a tool call becomes acts and a captured change.
//!
//! [`read_call`] is pure: names and arguments in, acts out; what a path really is finds whoever rules on
//! the acts. What commands do is read by [`shell_acts`], which follows them on the disk as it is.
//! Names are compared without case and separators, so that `Write`, `write_file` and
//! `mcp__files__write_file` are one row. A tool nobody knows is looked at when its name says that
//! it writes.

mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use table::{BASE_KEYS, DIR_KEYS, Does, FILE_KEYS, MORE_KEYS, TABLE, is_shell, name_words, plain_key, plain_name};

use crate::custody::act::{Act, ActKind};
use crate::custody::deeds::Deeds;
use crate::custody::delegation::Change;
use crate::custody::patch::{self, SectionKind};
use crate::custody::shell::{Found, Ground, Input, Words};
use crate::custody::world::Machine;

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

/// Commands that a tool would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCall {
    /// The commands, in order.
    pub commands: Vec<Command>,
    /// The directory that they start in.
    pub cwd: PathBuf,
}

/// One command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Text for a shell.
    Text(String),
    /// A program with its arguments, without a shell.
    Argv(Vec<String>),
    /// The text of a program in another language.
    Program(String),
}

impl ShellCall {
    /// The commands as text, for the message to an owner.
    #[must_use]
    pub fn text(&self) -> String {
        let one = |command: &Command| match command {
            Command::Text(text) | Command::Program(text) => text.clone(),
            Command::Argv(words) => words.join(" "),
        };
        self.commands.iter().map(one).collect::<Vec<_>>().join("\n")
    }
}

/// What is read out of commands, on the disk as it is now. `env` is the environment that they would run
/// in, `home` what `~` stands for.
#[must_use]
pub fn shell_acts(call: &ShellCall, env: &BTreeMap<String, String>, home: Option<&Path>) -> Deeds {
    let mut deeds = Deeds::default();
    for command in &call.commands {
        let python: Vec<String>;
        let words = match command {
            Command::Text(text) => Words::Script(text),
            Command::Argv(words) => Words::Argv(words),
            Command::Program(text) => {
                python = ["python3", "-c", text].map(str::to_owned).to_vec();
                Words::Argv(&python)
            }
        };
        // A harness that meets its own patch tool at the start of a command applies it by itself,
        // whether a shell could read it or not.
        if let Command::Text(text) = command
            && text.trim_start().starts_with("apply_patch")
        {
            let acts = patch_acts(text, &call.cwd, home);
            deeds.found.extend(acts.into_iter().map(|act| Found { act, ground: Ground::Plain, by: "apply_patch".to_owned() }));
        }
        deeds.read(&Input { command: words, cwd: &call.cwd, env, home }, &Machine::new());
    }
    if call.commands.is_empty() {
        // It runs something, and does not say what.
        deeds.found.extend(Deeds::from(vec![act(ActKind::Run, call.cwd.clone())]).found);
    }
    deeds
}

/// Reads a call. `cwd` is the directory that the payload names, `home` what `~` stands for, `words`
/// the words of [`WRITE_WORDS`] or what the settings put in their place.
#[must_use]
pub fn read_call<S: AsRef<str>>(name: &str, input: &Value, cwd: &Path, home: Option<&Path>, words: &[S]) -> Intent {
    let call = Call { input, cwd, home };
    let plain = plain_name(name);
    if is_remote(name, input) {
        return nothing();
    }
    match TABLE.iter().find(|(_, names)| names.contains(&plain.as_str())).map(|(does, _)| *does) {
        Some(Does::Read) => call.reads(),
        Some(Does::Write) => call.writes(&plain),
        Some(Does::Patch) => call.patches(&plain),
        Some(Does::Shell) => call.shell(false),
        Some(Does::Program) => call.shell(true),
        Some(Does::Nothing) => nothing(),
        None => call.unknown(name, words),
    }
}

/// Whether arguments name a file by something that is no text: no harness takes that, or one does that
/// reads it in a way of its own.
#[must_use]
pub fn hides_its_file(input: &Value) -> bool {
    let Value::Object(fields) = input else { return !input.is_null() };
    let odd = |value: &Value| !matches!(value, Value::Null | Value::String(_)) && value.as_array().is_none_or(|items| !items.is_empty());
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

    fn writes(&self, name: &str) -> Intent {
        // Only these tools have commands; another one does not look at the argument.
        let commanded = matches!(name, "strreplaceeditor" | "strreplacebasededittool");
        if commanded && self.text(&["command"]).is_some_and(|command| command == "view") {
            return self.reads();
        }
        let mut named = self.named(&[FILE_KEYS]);
        if named.is_empty() {
            named = self.named(&[MORE_KEYS]);
        }
        let acts: Vec<Act> = named.into_iter().filter_map(|(key, path)| file_act(name, &key, path)).collect();
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
            let beside = self.named(&[FILE_KEYS]).into_iter().filter_map(|(key, path)| file_act(name, &key, path));
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

    fn shell(&self, program: bool) -> Intent {
        let cwd = self.dir();
        let mut commands = Vec::new();
        for key in ["command", "cmd", "commands", "code", "script", "input", "chars"] {
            match self.input.get(key) {
                Some(Value::String(text)) if program => commands.push(Command::Program(text.clone())),
                Some(Value::String(text)) => commands.extend(listed(text)),
                Some(Value::Array(words)) if key == "commands" => {
                    let text = |word: &Value| Some(word.as_str().or_else(|| text_of(word, &["command", "cmd"]))?.to_owned());
                    commands.extend(words.iter().filter_map(text).map(Command::Text));
                }
                Some(Value::Array(words)) => {
                    let words: Vec<String> = words.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                    match words.as_slice() {
                        // A patch handed over as an argument never sees a shell.
                        [tool, text] if plain_name(tool) == "applypatch" => {
                            return Intent {
                                acts: patch_acts(text, &cwd, self.home),
                                change: Change::Patch(text.clone()),
                                class: Class::Patch,
                            };
                        }
                        [shell, flag, text] if is_shell(shell) && matches!(flag.as_str(), "-c" | "-lc") => {
                            commands.push(Command::Text(text.clone()))
                        }
                        [] => {}
                        _ => commands.push(Command::Argv(words)),
                    }
                }
                _ => {}
            }
        }
        let call = ShellCall { commands, cwd };
        // What they do is read by [`shell_acts`]; until then it can't be known.
        let acts = vec![act(ActKind::Run, call.cwd.clone())];
        Intent { acts, change: Change::Command(call.text()), class: Class::Shell(call) }
    }

    fn unknown<S: AsRef<str>>(&self, name: &str, words: &[S]) -> Intent {
        let parts = name_words(name);
        let says = |word: &str| parts.iter().any(|part| part == word);
        // These say it only of files: one may set a status, and add a comment.
        let of_files = FILE_VERBS.iter().any(|word| says(word)) && FILE_NOUNS.iter().any(|word| says(word));
        // What a tool server calls a shell, and what it starts by a command.
        let runs = RUN_WORDS.iter().any(|word| says(word)) && text_of(self.input, &["command", "cmd"]).is_some();
        if runs {
            return self.shell(false);
        }
        if says("apply") && text_of(self.input, &["patch", "diff"]).is_some() {
            return self.patches(&plain_name(name));
        }
        if !words.iter().any(|word| says(word.as_ref())) && !of_files {
            return nothing();
        }
        let about_files = FILE_NOUNS.iter().any(|word| says(word));
        let brought = ["destination", "dest", "dst", "to", "newpath"];
        let to = |fields: &serde_json::Map<String, Value>| fields.keys().any(|key| brought.contains(&plain_key(key).as_str()));
        let copied_to = says("copy") && self.input.as_object().is_some_and(to);
        // What a link leads to is not written; its own name stands behind another key then.
        let own_name = |fields: &serde_json::Map<String, Value>| fields.keys().any(|key| LINK_KEYS.contains(&plain_key(key).as_str()));
        let leads_to = (says("link") || says("symlink")) && self.input.as_object().is_some_and(own_name);
        let dirs = self.dirs();
        let name = plain_name(name);
        let mut acts = Vec::new();
        collect(self.input, None, 0, &mut |key, text| {
            let named = key.is_some_and(|key| FILE_KEYS.contains(&key) || MORE_KEYS.contains(&key));
            let looks = text.len() <= 4_096 && !text.contains(['\n', '\0']) && (text.contains('/') || text == "~") && !text.contains("://");
            // Behind a key that says nothing: a status is `N/A`, a branch `feature/x`.
            let rooted = ["/", "./", "../", "~/", "@/"].iter().any(|start| text.starts_with(start));
            let shaped = rooted || text.ends_with('/') || text.rsplit('/').next().is_some_and(|last| last.contains('.'));
            let file_key = key.is_some_and(|key| FILE_KEYS.contains(&key));
            let path_like = (named && (looks || file_key || about_files)) || (looks && shaped && !text.contains(' '));
            if copied_to && !key.is_some_and(|key| brought.contains(&key)) {
                return;
            }
            if leads_to && key.is_some_and(|key| matches!(key, "target" | "targetpath" | "existingpath")) {
                return;
            }
            if path_like && !text.is_empty() && text.len() <= 4_096 && acts.len() <= MAX_ACTS {
                let readings = readings(text, &dirs, self.home).into_iter();
                acts.extend(readings.filter_map(|path| file_act(&name, key.unwrap_or_default(), path)));
            }
        });
        let class = if acts.is_empty() { Class::Unknown } else { Class::FileWrite };
        let change = if acts.is_empty() { Change::None } else { self.as_given() };
        Intent { acts, change, class }
    }
}

/// Words that say that a tool writes where another one says that it is about files.
const FILE_VERBS: &[&str] = &["put", "set", "add", "touch", "update", "link", "symlink", "new", "generate", "make"];
/// Words that say that a tool starts what it is given as a command.
const RUN_WORDS: &[&str] = &["shell", "bash", "terminal", "command", "process", "exec", "execute", "run"];
/// Keys that name a link itself.
const LINK_KEYS: &[&str] =
    &["path", "link", "linkpath", "linkname", "symlink", "symlinkpath", "filepath", "newpath", "dest", "destination"];
const FILE_NOUNS: &[&str] = &["file", "files", "dir", "directory", "folder", "path", "content", "contents", "lines", "symlink"];

/// Whether a tool server's own name and the arguments say that the files are in a repository elsewhere.
/// The person who connects a server names it, not who calls the tool.
fn is_remote(name: &str, input: &Value) -> bool {
    const SERVERS: &[&str] = &["github", "gitlab", "bitbucket", "gitea", "forgejo"];
    let Some((server, _)) = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) else { return false };
    let server = server.to_ascii_lowercase();
    let there = ["repo", "repository", "project_id", "projectId", "repo_slug"];
    // An absolute path is one of this machine, whatever the server is called.
    let here = text_of(input, &["path", "file_path", "filePath", "file"]).is_some_and(|path| path.starts_with(['/', '~']));
    SERVERS.iter().any(|word| server.contains(word)) && text_of(input, &there).is_some() && !here
}

/// What a file tool does to the path behind a key, by what its name says.
fn file_act(name: &str, key: &str, path: PathBuf) -> Option<Act> {
    let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let source = matches!(key, "source" | "src" | "from" | "oldpath");
    let kind = if says(&["delete", "remove", "unlink", "rmdir"]) {
        ActKind::Remove
    } else if says(&["move", "rename"]) {
        ActKind::Rename
    } else if says(&["copy", "link"]) && source {
        return None;
    } else if says(&["link"]) {
        ActKind::Link
    } else if says(&["copy"]) {
        // What is copied to the name of a dotdir brings what is in it.
        let dotdir = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        return Some(Act { below: dotdir, ..act(ActKind::Create, path) });
    } else if says(&["mkdir", "createdirectory", "makedirectory"]) {
        ActKind::Create
    } else {
        ActKind::Write
    };
    Some(act(kind, path))
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

/// A command that is text, or a list of commands written as text.
fn listed(text: &str) -> Vec<Command> {
    if text.starts_with('[')
        && let Ok(Value::Array(items)) = serde_json::from_str::<Value>(text)
        && let Some(items) = items.iter().map(|item| item.as_str().map(|text| Command::Text(text.to_owned()))).collect::<Option<Vec<_>>>()
        && !items.is_empty()
    {
        return items;
    }
    vec![Command::Text(text.to_owned())]
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

/// A path as a tool means it: `~` is the home, `file://` is taken off, what is relative stands in
/// `cwd`. Links and `..` stay.
fn absolute(text: &str, cwd: &Path, home: Option<&Path>) -> PathBuf {
    let text = text.strip_prefix("file://").map_or_else(|| text.to_owned(), percent_decoded);
    match (text.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => cwd.join(text),
    }
}

/// Every path that a tool may mean by a text, the likeliest first. Tools differ: one takes blanks, an
/// `@`, `~` or `file://` off and the next one makes a file of that name; one lets the disk resolve `..`
/// and the next one strikes it out before. Most texts have one reading.
fn readings(text: &str, dirs: &[PathBuf], home: Option<&Path>) -> Vec<PathBuf> {
    let mut texts = vec![text.to_owned()];
    if text.starts_with('@') || text.starts_with(char::is_whitespace) || text.ends_with(char::is_whitespace) || !text.is_ascii() {
        let blank = |c: char| if c.is_whitespace() && !matches!(c, '\n' | '\t') { ' ' } else { c };
        let spaced: String = text.chars().map(blank).collect();
        let trimmed = spaced.trim().to_owned();
        let bare = trimmed.strip_prefix('@').map(str::to_owned);
        texts.extend([text.trim().to_owned(), spaced, trimmed].into_iter().chain(bare).filter(|text| !text.is_empty()));
    }
    let mut found: Vec<PathBuf> = Vec::new();
    let mut add = |path: PathBuf| {
        if !found.contains(&path) {
            found.push(path);
        }
    };
    for text in &texts {
        for dir in dirs {
            let literal = (text.starts_with('~') || text.starts_with("file:")).then(|| dir.join(text));
            for path in [Some(absolute(text, dir, home)), literal].into_iter().flatten() {
                let struck = path.components().any(|part| part == Component::ParentDir).then(|| without_dots(&path));
                add(path);
                struck.into_iter().for_each(&mut add);
            }
        }
    }
    // Where the payload names no directory, what can be judged is.
    if found.iter().any(|path| path.is_absolute()) {
        found.retain(|path| path.is_absolute());
    }
    found
}

/// A path with each `..` struck out together with the name before it, links or not.
fn without_dots(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = out.pop(),
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code =
            (*first == b'%').then(|| std::str::from_utf8(after.get(..2)?).ok().and_then(|hex| u8::from_str_radix(hex, 16).ok())).flatten();
        bytes.push(code.unwrap_or(*first));
        rest = after.get(if code.is_some() { 2 } else { 0 }..).unwrap_or_default();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
