//! Tools that nobody knows, and those of tool servers: a word in the name says that they write, and what
//! they write is each path in their arguments that is not surely only read.

use std::path::PathBuf;

use serde_json::Value;

use super::paths::readings;
use super::table::{FILE_KEYS, MORE_KEYS, name_words, plain_name};
use super::{Call, Class, Intent, MAX_ACTS, act, collect, nothing, text_of};

use crate::custody::act::{Act, ActKind};
use crate::custody::delegation::Change;

/// Words that say that a tool writes where another one says that it is about files.
const FILE_VERBS: &[&str] = &["put", "set", "add", "touch", "update", "link", "symlink", "new", "generate", "make"];
/// Words that say that a tool starts what it is given as a command.
const RUN_WORDS: &[&str] = &["shell", "bash", "terminal", "command", "commands", "process", "exec", "execute", "run"];
/// Keys that name a link itself.
const LINK_KEYS: &[&str] =
    &["path", "link", "linkpath", "linkname", "symlink", "symlinkpath", "filepath", "newpath", "dest", "destination"];
const FILE_NOUNS: &[&str] = &["file", "files", "dir", "directory", "folder", "path", "content", "contents", "lines", "symlink"];
/// Keys that name what is copied where another key says where to.
const PLAIN_KEYS: &[&str] = &["path", "paths", "file", "files", "filepath", "filename", "absolutepath", "relativepath", "uri", "fileuri"];
/// How keys end that name a path, whatever stands before.
const PATH_ENDS: &[&str] = &["path", "file", "filename", "dir", "directory", "folder", "location", "dest", "destination", "target", "uri"];
/// Keys of what is written, or said about it: a path in it is no path of the call.
const CONTENT_KEYS: &[&str] = &[
    "content",
    "contents",
    "text",
    "body",
    "data",
    "value",
    "message",
    "description",
    "comment",
    "title",
    "prompt",
    "instruction",
    "instructions",
    "reason",
    "query",
    "pattern",
    "search",
    "replace",
    "replacement",
    "oldstring",
    "newstring",
    "oldstr",
    "newstr",
    "oldtext",
    "newtext",
    "oldcontent",
    "newcontent",
    "oldstrings",
    "newstrings",
    "newsource",
    "filetext",
    "filecontent",
    "insert",
    "code",
    "diff",
    "patch",
    "line",
    "lines",
    "url",
    "todos",
];

/// What a key says of the path behind it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    From,
    To,
    Other,
}

fn role(key: &str) -> Role {
    let starts = |words: &[&str]| words.iter().any(|word| key.starts_with(word));
    let ends = |rest: &str| rest.is_empty() || PATH_ENDS.iter().any(|end| rest.starts_with(end));
    if starts(&["source", "src", "old", "orig"]) || key.strip_prefix("from").is_some_and(ends) {
        Role::From
    } else if starts(&["dest", "dst", "new", "into", "copyto", "moveto", "out"]) || key.strip_prefix("to").is_some_and(ends) {
        Role::To
    } else {
        Role::Other
    }
}

/// Whether a key names a path by its own name.
fn names_path(key: &str) -> bool {
    FILE_KEYS.contains(&key) || MORE_KEYS.contains(&key) || PATH_ENDS.iter().any(|end| key.ends_with(end))
}

/// Whether a tool puts or takes files elsewhere: there is more than one path then, and each under a key of its
/// own.
pub(super) fn relocates(name: &str) -> bool {
    ["move", "rename", "copy", "link", "clone", "duplicate"].iter().any(|word| name.contains(word))
}

/// Whether a tool server's own name and the arguments say that the files are in a repository elsewhere.
/// The person who connects a server names it, not who calls the tool.
pub(super) fn is_remote(name: &str, input: &Value) -> bool {
    const SERVERS: &[&str] = &["github", "gitlab", "bitbucket", "gitea", "forgejo"];
    let Some((server, _)) = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) else { return false };
    let server = server.to_ascii_lowercase();
    let there = ["repo", "repository", "project_id", "projectId", "repo_slug"];
    if !SERVERS.iter().any(|word| server.contains(word)) || text_of(input, &there).is_none() {
        return false;
    }
    // An absolute path is one of this machine, whatever the server is called.
    let mut here = false;
    collect(input, None, 0, &mut |key, text| here |= key.is_some_and(names_path) && text.starts_with(['/', '~']));
    !here
}

/// What a file tool does to a path, by what its name says.
pub(super) fn file_act(name: &str, path: PathBuf) -> Act {
    let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let kind = if says(&["delete", "remove", "unlink", "rmdir"]) {
        ActKind::Remove
    } else if says(&["move", "rename"]) {
        ActKind::Rename
    } else if says(&["link"]) {
        ActKind::Link
    } else if says(&["copy"]) {
        // What is copied to the name of a dotdir brings what is in it.
        let dotdir = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        return Act { below: dotdir, ..act(ActKind::Create, path) };
    } else if says(&["mkdir", "createdirectory", "makedirectory"]) {
        ActKind::Create
    } else {
        ActKind::Write
    };
    act(kind, path)
}

impl Call<'_> {
    /// A call of a tool that is not in the table.
    pub(super) fn unknown<S: AsRef<str>>(&self, name: &str, words: &[S]) -> Intent {
        let parts = name_words(name);
        let says = |word: &str| parts.iter().any(|part| part == word);
        let has = |keys: &[&str]| keys.iter().any(|key| self.input.get(*key).is_some_and(|value| !value.is_null()));
        // What a tool server calls a shell, and what it starts by a command.
        if RUN_WORDS.iter().any(|word| says(word)) && has(&["command", "cmd", "commands", "script"]) {
            return self.shell(name, false);
        }
        if says("apply") && text_of(self.input, &["patch", "diff"]).is_some() {
            return self.patches(&plain_name(name));
        }
        // These say it only of files: one may set a status, and add a comment.
        let about_files = FILE_NOUNS.iter().any(|word| says(word));
        let of_files = FILE_VERBS.iter().any(|word| says(word)) && about_files;
        if !words.iter().any(|word| says(word.as_ref())) && !of_files {
            return nothing();
        }
        let acts = self.loose(name);
        let class = if acts.is_empty() { Class::Unknown } else { Class::FileWrite };
        let change = if acts.is_empty() { Change::None } else { self.as_given() };
        Intent { acts, change, class }
    }

    /// Every path in the arguments, as what the tool's name says that it does to it; without those that are
    /// surely only read.
    pub(super) fn loose(&self, name: &str) -> Vec<Act> {
        let parts = name_words(name);
        let says = |word: &str| parts.iter().any(|part| part == word);
        let about_files = FILE_NOUNS.iter().any(|word| says(word));
        let mut found = self.paths(about_files, false);
        if found.is_empty() {
            found = self.paths(about_files, true);
        }
        let plain = plain_name(name);
        let copies = plain.contains("copy") || plain.contains("duplicate") || plain.contains("clone") || says("cp");
        let links = plain.contains("link") && !plain.contains("hard") && !plain.contains("unlink");
        let moves = plain.contains("move") || plain.contains("rename") || says("mv");
        let any = |wanted: Role| found.iter().any(|(key, _)| role(key) == wanted);
        let (comes, goes) = (any(Role::From), any(Role::To));
        let only_from = found.iter().all(|(key, _)| role(key) == Role::From);
        let named_link = found.iter().any(|(key, _)| LINK_KEYS.contains(&key.as_str()));
        let only_read = |key: &str| {
            let source = role(key) == Role::From && !only_from;
            // Where something goes is said by another key.
            let copied = copies && (source || (goes && PLAIN_KEYS.contains(&key)));
            // What a link leads to is not written; its own name stands behind another key then.
            let led_to = links
                && ((source && !key.starts_with("from")) || (named_link && (key.starts_with("target") || key.starts_with("existing"))));
            copied || led_to
        };
        let dirs = self.dirs();
        let mut acts = Vec::new();
        for (key, text) in found.iter().filter(|(key, _)| !only_read(key)) {
            for path in readings(text, &dirs, self.home) {
                // A directory, or a link to one, takes what is moved into it.
                let into =
                    (moves && (role(key) == Role::To || (comes && role(key) == Role::Other))).then(|| act(ActKind::Write, path.clone()));
                acts.push(file_act(&plain, path));
                acts.extend(into);
            }
            if acts.len() > MAX_ACTS {
                break;
            }
        }
        acts
    }

    /// The texts in the arguments that look like paths, each with its key; with `content` also those behind
    /// keys of what is written.
    fn paths(&self, about_files: bool, content: bool) -> Vec<(String, String)> {
        let mut found: Vec<(String, String)> = Vec::new();
        collect(self.input, None, 0, &mut |key, text| {
            if found.len() > MAX_ACTS || text.is_empty() || text.len() > 4_096 || text.contains('\0') {
                return;
            }
            if !content && key.is_some_and(|key| CONTENT_KEYS.contains(&key)) {
                return;
            }
            let named = key.is_some_and(names_path);
            let looks = !text.contains('\n') && (text.contains('/') || text == "~") && !text.contains("://");
            // Behind a key that says nothing: a status is `N/A`, a branch `feature/x`.
            let rooted = ["/", "./", "../", "~/", "@/"].iter().any(|start| text.starts_with(start));
            let shaped = text.ends_with('/') || text.rsplit('/').next().is_some_and(|last| last.contains('.'));
            let file_key = key.is_some_and(|key| FILE_KEYS.contains(&key) || (named && role(key) != Role::Other));
            if (named && (looks || file_key || about_files))
                || (looks && (rooted || (shaped && !text.contains(' '))))
                || text.starts_with("file:")
            {
                found.push((key.unwrap_or_default().to_owned(), text.to_owned()));
            }
        });
        found
    }
}
