//! Sub-commands of git that open an editor, as data, and which editor that is.

use super::engine::Engine;
use super::git::Global;
use super::options::Call;
use super::state::{Shell, Value};

/// When a sub-command opens an editor.
enum When {
    /// Where one of these stands.
    With(&'static [&'static str]),
    /// Where one of these stands, and something comes in to choose by.
    Chosen(&'static [&'static str]),
    /// Where one of the first stands, and none of the second.
    Without(&'static [&'static str], &'static [&'static str]),
    /// After this first word, without one of these.
    Word(&'static str, &'static [&'static str]),
    /// Unless one of these stands.
    Unless(&'static [&'static str]),
}

/// Options that bring a message along.
const MESSAGE: &[&str] = &["-m", "-F", "--message", "--file"];

/// Sub-commands, and when they open an editor: any row of one is enough.
const ROWS: &[(&str, When)] = &[
    ("commit", When::Unless(&["-m", "-F", "--no-edit", "-C", "--message", "--file", "--dry-run"])),
    ("commit", When::With(&["-e", "--edit", "-c", "--reedit-message"])),
    ("commit", When::Chosen(&["-p", "--patch", "--interactive"])),
    ("tag", When::Without(&["-a", "-s", "--annotate", "--sign", "-u", "--local-user"], MESSAGE)),
    ("tag", When::With(&["-e", "--edit"])),
    ("merge", When::With(&["-e", "--edit", "--continue"])),
    ("pull", When::With(&["-e", "--edit"])),
    ("revert", When::With(&["-e", "--edit", "--continue"])),
    ("cherry-pick", When::With(&["-e", "--edit", "--continue"])),
    ("rebase", When::With(&["--edit-todo", "--continue"])),
    ("branch", When::With(&["--edit-description"])),
    ("notes", When::Word("edit", &["-C"])),
    ("notes", When::Word("add", &["-m", "-F", "-C", "--message", "--file"])),
    ("notes", When::Word("append", &["-m", "-F", "-C", "--message", "--file"])),
    ("config", When::With(&["-e", "--edit"])),
    ("config", When::Word("edit", &[])),
    ("add", When::With(&["-e", "--edit"])),
    ("stage", When::With(&["-e", "--edit"])),
    ("add", When::Chosen(&["-p", "--patch", "-i", "--interactive"])),
    ("stage", When::Chosen(&["-p", "--patch", "-i", "--interactive"])),
    ("checkout", When::Chosen(&["-p", "--patch"])),
    ("restore", When::Chosen(&["-p", "--patch"])),
    ("reset", When::Chosen(&["-p", "--patch"])),
    ("stash", When::Chosen(&["-p", "--patch"])),
    ("am", When::Chosen(&["-i", "--interactive"])),
    ("replace", When::With(&["-e", "--edit"])),
    ("send-email", When::With(&["--compose", "--annotate"])),
    ("bugreport", When::Unless(&[])),
];

impl Engine<'_> {
    /// The editors that a sub-command opens, of those that the command itself names.
    pub(super) fn git_editors(&mut self, sh: &Shell, g: &Global, verb: &str, c: &Call) -> Vec<String> {
        let set = |name: &str| match sh.vars.get(name) {
            Some(var) if var.exported => match &var.value {
                Value::Text(text) if !text.is_empty() => Some(text.clone()),
                _ => None,
            },
            _ => None,
        };
        let conf = |name: &str| g.config.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        let chosen = self.has_input(sh);
        let word = c.args.first().map(String::as_str);
        let opens = ROWS.iter().filter(|(one, _)| *one == verb).any(|(_, when)| match when {
            When::With(options) => c.has(options),
            When::Chosen(options) => chosen && c.has(options),
            When::Without(some, none) => c.has(some) && !c.has(none),
            When::Word(first, none) => word == Some(first) && !c.has(none),
            When::Unless(none) => !c.has(none),
        });
        // a merge has a message ready, and asks only where somebody can answer, or where it is told so
        let told = matches!(verb, "merge" | "revert") && !c.has(&["--no-edit"]) && set("GIT_EDITOR").is_some();
        let planned = verb == "rebase" && c.has(&["-i", "--interactive"]) && {
            let r = self.repo(sh, &g.dir, g.git_dir.clone(), g.work_tree.clone());
            c.has(&["--autostash"]) || r.is_none_or(|r| self.dirty(&r).is_empty())
        };
        if !opens && !told && !planned {
            return Vec::new();
        }
        // one that was there before the command comes before what the command sets
        let inherited = self.var(sh, "GIT_EDITOR").is_some();
        let others = || conf("core.editor").or_else(|| set("VISUAL")).or_else(|| set("EDITOR"));
        let editor = set("GIT_EDITOR").or_else(|| if inherited { None } else { others() });
        let plan = (verb == "rebase").then(|| set("GIT_SEQUENCE_EDITOR").or_else(|| conf("sequence.editor"))).flatten();
        let file = format!("{}/.git/COMMIT_EDITMSG", g.dir);
        plan.into_iter().chain(editor).map(|editor| format!("{editor} {file}")).collect()
    }
}
