//! Tools that run commands: what a call says in any of the forms that a harness takes, and what is read
//! out of it.
//!
//! Where it can't be told which of several forms or directories a tool obeys, each of them is read, and the
//! strictest ruling holds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::paths::readings;
use super::table::{DIR_KEYS, is_shell, plain_key, plain_name};
use super::{Call, Class, Intent, MAX_DEPTH, act, collect, is_own, nothing, patch_acts, patch_acts_in, text_of};

use crate::custody::act::ActKind;
use crate::custody::deeds::Deeds;
use crate::custody::delegation::Change;
use crate::custody::shell::{Found, Ground, Input, Words};
use crate::custody::world::Machine;

/// Keys that hold commands, without case and separators.
const COMMAND_KEYS: &[&str] =
    &["command", "cmd", "commands", "cmds", "commandline", "shellcommand", "bashcommand", "code", "script", "input", "chars", "data"];
/// Those of them that hold several.
const LIST_KEYS: &[&str] = &["commands", "cmds"];
/// Keys of the program in one command that is an object, and of its arguments.
const PROGRAM_KEYS: &[&str] = &["command", "cmd", "executable", "program"];
const ARGS_KEYS: &[&str] = &["args", "arguments", "argv"];
/// Parts of keys that say that a directory stands behind them.
const DIR_PARTS: &[&str] = &["dir", "cwd", "pwd", "folder", "root", "workspace", "location", "path", "base", "repo", "project", "where"];
/// The most directories of keys that nobody knows.
const MAX_DIRS: usize = 16;

/// Commands that a tool would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCall {
    /// The commands, in order.
    pub commands: Vec<Command>,
    /// The directory that they start in, as far as the arguments tell.
    pub cwd: PathBuf,
    /// Further directories that they may start in: a tool may not look at the argument that names one.
    pub others: Vec<PathBuf>,
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

impl Intent {
    /// Says that a harness's own shell tools run in the directory that the argument `key` names: then they do
    /// not run where the session is. `cwd` and `home` as for [`super::read_call`].
    pub fn obey(&mut self, key: &str, tool: &str, input: &Value, cwd: &Path, home: Option<&Path>) {
        let Class::Shell(call) = &mut self.class else { return };
        let Some(dir) = text_of(input, &[key]).filter(|dir| !dir.is_empty() && is_own(tool)) else { return };
        let mut readings = readings(dir, &[cwd.to_owned()], home).into_iter();
        let Some(first) = readings.next() else { return };
        call.others.push(std::mem::replace(&mut call.cwd, first));
        call.others.extend(readings);
        call.others.retain(|other| other != cwd && *other != call.cwd);
        self.acts = vec![act(ActKind::Run, call.cwd.clone())];
    }
}

/// What is read out of commands, on the disk as it is now. `env` is the environment that they would run
/// in, `home` what `~` stands for.
#[must_use]
pub fn shell_acts(call: &ShellCall, env: &BTreeMap<String, String>, home: Option<&Path>) -> Deeds {
    let mut deeds = Deeds::default();
    for cwd in std::iter::once(&call.cwd).chain(&call.others) {
        for command in &call.commands {
            read(command, cwd, env, home, &mut deeds);
        }
    }
    if call.commands.is_empty() {
        // It runs something, and does not say what.
        deeds.found.extend(Deeds::from(vec![act(ActKind::Run, call.cwd.clone())]).found);
    }
    deeds
}

fn read(command: &Command, cwd: &Path, env: &BTreeMap<String, String>, home: Option<&Path>, deeds: &mut Deeds) {
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
        let acts = patch_acts(text, cwd, home);
        deeds.found.extend(acts.into_iter().map(|act| Found { act, ground: Ground::Plain, by: "apply_patch".to_owned() }));
    }
    deeds.read(&Input { command: words, cwd, env, home }, &Machine::new());
}

/// What commands are collected into.
struct Taker {
    /// Whether text is a program in another language.
    program: bool,
    /// Whether nobody knows the tool: a list may then be one command or several.
    foreign: bool,
    commands: Vec<Command>,
    /// A patch that is handed over as an argument, and never sees a shell.
    patch: Option<String>,
}

impl Taker {
    fn take(&mut self, value: &Value, list: bool, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match value {
            Value::String(text) => self.text(text, list),
            Value::Array(items) => self.list(items, list, depth),
            Value::Object(fields) => self.one(fields, list, depth),
            _ => {}
        }
    }

    fn text(&mut self, text: &str, list: bool) {
        if self.program {
            self.commands.push(Command::Program(text.to_owned()));
            return;
        }
        self.commands.push(Command::Text(text.to_owned()));
        // What is typed into a shell that runs has a name for the key.
        if text.contains("{enter}") {
            self.commands.push(Command::Text(text.replace("{enter}", "\n")));
        }
        // Some take a list that is written as text, and others run that very text.
        if list
            && text.trim_start().starts_with('[')
            && let Ok(Value::Array(items)) = serde_json::from_str(text)
        {
            self.list(&items, true, 1);
        }
    }

    fn list(&mut self, items: &[Value], list: bool, depth: usize) {
        let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
        if texts.is_empty() || texts.len() < items.len() || list {
            for item in items {
                // A list in a list is one command, or several once more.
                if let Value::Array(inner) = item
                    && list
                    && depth < MAX_DEPTH
                {
                    self.list(inner, false, depth + 1);
                }
                self.take(item, list, depth + 1);
            }
            // Lines of a document that begins in one of them belong to it.
            if texts.len() > 1 && texts.iter().any(|text| text.contains("<<")) {
                self.commands.push(Command::Text(texts.join("\n")));
            }
            return;
        }
        if self.foreign {
            texts.iter().for_each(|text| self.text(text, false));
        }
        self.argv(texts.into_iter().map(str::to_owned).collect());
    }

    /// One command that is an object: a program with arguments, or one that holds the command.
    fn one(&mut self, fields: &serde_json::Map<String, Value>, list: bool, depth: usize) {
        let behind = |keys: &[&str]| keys.iter().find_map(|key| fields.get(*key).filter(|value| !value.is_null()));
        if let Some(several) = behind(LIST_KEYS) {
            self.take(several, true, depth + 1);
        }
        let Some(program) = behind(PROGRAM_KEYS) else { return };
        match (program.as_str(), behind(ARGS_KEYS)) {
            (Some(program), Some(Value::Array(args))) => {
                let text = |arg: &Value| arg.as_str().map_or_else(|| arg.to_string(), str::to_owned);
                self.argv(std::iter::once(program.to_owned()).chain(args.iter().map(text)).collect());
            }
            (Some(program), Some(Value::String(args))) => self.text(&format!("{program} {args}"), list),
            _ => self.take(program, false, depth + 1),
        }
    }

    fn argv(&mut self, words: Vec<String>) {
        match words.as_slice() {
            [] => {}
            [tool, text] if plain_name(tool) == "applypatch" => self.patch = Some(text.clone()),
            [shell, flag, text] if is_shell(shell) && matches!(flag.as_str(), "-c" | "-lc") => {
                self.commands.push(Command::Text(text.clone()))
            }
            _ => self.commands.push(Command::Argv(words)),
        }
    }
}

impl Call<'_> {
    /// A call of a tool that runs commands, or with `program` the text of one in another language.
    pub(super) fn shell(&self, name: &str, program: bool) -> Intent {
        let mut taker = Taker { program, foreign: !is_own(name), commands: Vec::new(), patch: None };
        match self.input {
            Value::Object(fields) => {
                for (key, value) in fields {
                    let plain = plain_key(key);
                    if COMMAND_KEYS.contains(&plain.as_str()) {
                        taker.take(value, LIST_KEYS.contains(&plain.as_str()), 0);
                    }
                }
                if ARGS_KEYS.iter().any(|key| fields.contains_key(*key)) {
                    taker.one(fields, false, 0);
                }
                // The language of a program may be a shell's.
                let shell = text_of(self.input, &["language", "lang", "interpreter"]).is_some_and(is_shell);
                if program && shell {
                    let texts: Vec<Command> = taker.commands.iter().map(as_text).collect();
                    taker.commands.extend(texts);
                }
            }
            bare => taker.take(bare, true, 0),
        }
        let cwd = self.dir();
        let others = self.other_dirs(&cwd);
        if let Some(text) = taker.patch {
            let dirs: Vec<PathBuf> = std::iter::once(cwd).chain(others).collect();
            return Intent { acts: patch_acts_in(&text, &dirs, self.home), change: Change::Patch(text), class: Class::Patch };
        }
        if taker.commands.is_empty() && plain_name(name) == "process" {
            // It looks at what runs, or ends it.
            return nothing();
        }
        let call = ShellCall { commands: taker.commands, cwd, others };
        // What they do is read by [`shell_acts`]; until then it can't be known.
        let acts = vec![act(ActKind::Run, call.cwd.clone())];
        Intent { acts, change: Change::Command(call.text()), class: Class::Shell(call) }
    }

    /// The directories that the arguments may name besides, and the payload's.
    fn other_dirs(&self, first: &Path) -> Vec<PathBuf> {
        let here = [self.cwd.to_owned()];
        let mut found: Vec<PathBuf> = Vec::new();
        let mut unknown = 0;
        collect(self.input, None, 0, &mut |key, text| {
            let Some(key) = key.filter(|key| !COMMAND_KEYS.contains(key) && !ARGS_KEYS.contains(key)) else { return };
            let known = DIR_KEYS.iter().any(|known| plain_key(known) == key);
            let rooted = text == "~" || text == ".." || ["/", "./", "../", "~/", "file:"].iter().any(|start| text.starts_with(start));
            let names = known || rooted || DIR_PARTS.iter().any(|part| key.contains(part));
            if !names || text.is_empty() || text.len() > 4_096 || text.contains(['\n', '\0']) || (!known && unknown >= MAX_DIRS) {
                return;
            }
            unknown += usize::from(!known);
            found.extend(readings(text, &here, self.home));
        });
        found.push(self.cwd.to_owned());
        found.retain(|dir| dir.is_absolute() && dir != first);
        let mut seen = Vec::new();
        found.retain(|dir| {
            let new = !seen.contains(dir);
            seen.push(dir.clone());
            new
        });
        found
    }
}

fn as_text(command: &Command) -> Command {
    match command {
        Command::Program(text) => Command::Text(text.clone()),
        other => other.clone(),
    }
}
