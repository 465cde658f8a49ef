//! What git is told beside its words: settings from the environment and from files that the command names, and the files that
//! variables make it write.

use super::engine::{Engine, UNK};
use super::git::Global;
use super::gitask::Repo;
use super::gitsettings::key;
use super::gitwords::moves;
use super::options::Call;
use super::picture::join;
use super::state::{Fd, Shell, Value};

/// Most settings that are read from one file.
const MAX_SETTINGS: usize = 200;

impl Engine<'_> {
    /// `--config-env=NAME=VARIABLE`
    pub(super) fn git_from_variable(&mut self, sh: &Shell, word: &str) -> Option<(String, String)> {
        let (name, variable) = word.rsplit_once('=')?;
        let value = self.var(sh, variable)?;
        Some((key(name), value))
    }

    /// Settings that variables of the command give.
    pub(super) fn git_given(&mut self, sh: &Shell) -> Vec<(String, String)> {
        let mut all = Vec::new();
        let own = |name: &str| sh.vars.get(name).is_some_and(|var| var.exported);
        for file in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"] {
            if own(file)
                && let Some(file) = self.var(sh, file)
            {
                let text = self.content(sh, &file);
                all.extend(settings(&text));
            }
        }
        if own("GIT_CONFIG_PARAMETERS") {
            // `'name'='value'` or `'name=value'`, quoted as for a shell
            let text = self.var(sh, "GIT_CONFIG_PARAMETERS").unwrap_or_default();
            for part in text.split("' '") {
                let bare = part.replace('\'', "");
                if let Some((name, value)) = bare.split_once('=') {
                    all.push((key(name), value.to_owned()));
                }
            }
        }
        if own("GIT_CONFIG_COUNT") {
            let count = self.var(sh, "GIT_CONFIG_COUNT").and_then(|n| n.parse::<usize>().ok()).unwrap_or(0);
            for n in 0..count.min(MAX_SETTINGS) {
                if let (Some(name), Some(value)) =
                    (self.var(sh, &format!("GIT_CONFIG_KEY_{n}")), self.var(sh, &format!("GIT_CONFIG_VALUE_{n}")))
                {
                    all.push((key(&name), value));
                }
            }
        }
        all
    }

    /// Settings of files that this command itself has written or moved to: the repository's own, and those of another home.
    pub(super) fn git_settings_here(&mut self, sh: &Shell, g: &mut Global) {
        let mut files: Vec<String> = Vec::new();
        let own = |name: &str| sh.vars.get(name).is_some_and(|var| var.exported);
        if own("HOME")
            && let Some(home) = self.var(sh, "HOME")
        {
            files.push(join(&home, ".gitconfig"));
            files.push(join(&home, ".config/git/config"));
        }
        if own("XDG_CONFIG_HOME")
            && let Some(dir) = self.var(sh, "XDG_CONFIG_HOME")
        {
            files.push(join(&dir, "git/config"));
        }
        if ["config", "config.worktree", ".gitconfig"].iter().any(|name| self.fs.made_named(name)) {
            let home = self.var(sh, "HOME").unwrap_or_default();
            let mut theirs = vec![join(&home, ".gitconfig"), join(&home, ".config/git/config")];
            if let Some(r) = self.repo(sh, &g.dir, g.git_dir.clone(), g.work_tree.clone()) {
                theirs.extend([join(&r.git_dir, "config"), join(&r.git_dir, "config.worktree")]);
            }
            files.extend(theirs.into_iter().filter(|file| self.fs.made(file)));
        }
        for file in files {
            if self.what(sh, &file).is_none() {
                continue;
            }
            let text = self.content(sh, &file);
            if text.contains(UNK) {
                self.unknown("a file of git's settings is not known", &file);
            }
            // what the command line says comes after, and counts
            g.config.splice(0..0, settings(&text));
        }
    }

    /// Settings of files that settings name.
    pub(super) fn git_included(&mut self, sh: &Shell, config: &mut Vec<(String, String)>) {
        let named = |(key, _): &&(String, String)| key == "include.path" || key.starts_with("includeif.") && key.ends_with(".path");
        let files: Vec<String> = config.iter().filter(named).map(|(_, file)| file.clone()).take(8).collect();
        // a path in a file of settings begins where that file stands
        let here = self.repo(sh, &sh.cwd, None, None).map(|r| r.git_dir);
        for file in files {
            let beside = here.as_ref().filter(|_| !file.starts_with(['/', '~'])).map(|dir| join(dir, &file));
            for file in std::iter::once(file).chain(beside) {
                let text = self.content(sh, &file);
                config.extend(settings(&text));
            }
        }
    }

    /// Files that variables make git write: its traces, an index and objects of its own.
    pub(super) fn git_traces(&mut self, sh: &mut Shell, g: &Global, verb: &str, c: &Call) {
        let set: Vec<(String, String)> = sh
            .vars
            .iter()
            .filter(|(name, var)| var.exported && name.starts_with("GIT_"))
            .filter_map(|(name, var)| if let Value::Text(text) = &var.value { Some((name.clone(), text.clone())) } else { None })
            .collect();
        let mut here = sh.clone();
        here.cwd.clone_from(&g.dir);
        for (name, value) in set {
            let by = std::mem::replace(&mut self.by, name.clone());
            match name.as_str() {
                "GIT_INDEX_FILE" if moves(verb, c) || matches!(verb, "add" | "stage") => self.effect(&mut here, 'W', &value, false),
                "GIT_OBJECT_DIRECTORY"
                    if moves(verb, c) || matches!(verb, "add" | "hash-object" | "write-tree" | "mktree" | "commit-tree") =>
                {
                    self.effect(&mut here, 'd', &value, false);
                }
                // only whole paths are files; a directory gets one for each process
                trace if trace.starts_with("GIT_TRACE") && value.starts_with('/') => {
                    let directory = self.fs.is_dir(&value);
                    self.effect(&mut here, if directory { 'd' } else { 'W' }, &value, false);
                }
                _ => {}
            }
            self.by = by;
        }
    }

    /// Whether a question about the work tree would be answered from before what this command itself has changed there. Files
    /// that are new and the one that the answer goes to are in no difference.
    pub(super) fn asks_too_late(&mut self, sh: &Shell, verb: &str, rest: &[String], r: &Repo) -> bool {
        if !matches!(verb, "diff" | "status" | "diff-files" | "diff-index" | "ls-files" | "grep" | "stash") {
            return false;
        }
        let words = || rest.iter().take_while(|word| *word != "--").map(String::as_str);
        let revisions = words().filter(|word| !word.starts_with('-')).count();
        let commits = verb == "diff" && (revisions > 1 || words().any(|word| word.contains("..")));
        let index = verb == "ls-files" && !words().any(|word| word.starts_with('-') && word.contains(['m', 'o', 'd']));
        let index = index || verb == "diff" && words().any(|word| matches!(word, "--cached" | "--staged"));
        let to = match sh.fd(1) {
            Fd::File(path) => Some(self.fs.at(&path, true).path),
            _ => None,
        };
        !commits && !index && self.fs.changed_below(&r.top, to.as_deref())
    }
}

/// The settings of a file: `[section]`, `[section "name"]`, `key = value`.
fn settings(text: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut section = String::new();
    let text = text.replace("\\\n", " ");
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        let mut line = line;
        if let Some((head, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            section = match head.split_once(' ') {
                Some((name, sub)) => format!("{}.{}", name.to_lowercase(), sub.trim().trim_matches('"')),
                None => head.to_lowercase(),
            };
            // a setting may follow on the same line
            line = rest.trim();
        }
        if line.is_empty() || line.contains(UNK) || all.len() >= MAX_SETTINGS {
            continue;
        }
        let (name, value) = line.split_once('=').unwrap_or((line, "true"));
        all.push((format!("{section}.{}", name.trim().to_lowercase()), value.trim().trim_matches('"').to_owned()));
    }
    all
}
