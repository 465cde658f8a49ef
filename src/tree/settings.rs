//! `~/.loci/config.yaml`: what a person sets for this machine. Every setting has a default, and a
//! value that is none is an error with file and line: a policy with a typo must not pass for none.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::card::CardError;
use super::dotdirs::{Dotdirs, GRAPH, IDENTITY, RENDER, RUNTIME, VENDORS};
use crate::sys::disk;
use crate::text::header::{self, Field, Status};

/// How many dotdirs may be named.
const MAX_DOTDIRS: usize = 32;
/// How many globs or words a list may have.
const MAX_ITEMS: usize = 256;
/// Parts of a tool's name that say that it writes.
pub const WRITE_TOOLS: [&str; 25] = [
    "write", "edit", "create", "delete", "remove", "move", "rename", "copy", "patch", "apply", "save", "append", "replace", "insert",
    "modify", "truncate", "mkdir", "rmdir", "unlink", "rm", "mv", "cp", "erase", "unzip", "untar",
];
/// How long finished mail and trails are kept, in days.
pub const RETENTION_DAYS: u32 = 30;

/// What the kernel is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Custody {
    /// The kernel where it can, else reading the command.
    #[default]
    Auto,
    /// What reading can't clear is refused where the kernel can't hold it.
    Required,
    /// Reading only.
    Read,
}

/// The harnesses in which a hook can rewrite a call.
pub const REWRITE: [&str; 6] = ["claude", "codex", "copilot", "gemini", "opencode", "pi"];

/// The settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `dotdirs`: the vendor dotdirs, in the order they are read. Default: [`VENDORS`].
    pub dotdirs: Dotdirs,
    /// `custody`: `auto` (default), `required`, `read`.
    pub custody: Custody,
    /// `rewrite`: harnesses whose shell calls may be put into `loci exec` though that goes past the approval or the
    /// allow-lists of their user, out of [`REWRITE`]. Default: none.
    pub rewrite: Vec<String>,
    /// `wall`: globs of what only a person writes, besides what is built in. Default: none.
    pub wall: Vec<String>,
    /// `write_tools`: parts of the name of a tool nobody knows that say that it writes. Default:
    /// [`WRITE_TOOLS`].
    pub write_tools: Vec<String>,
    /// `retention`: how many days finished mail and trails are kept, as `30d` or `30`; `forever`
    /// is `None`. Default: [`RETENTION_DAYS`].
    pub retention_days: Option<u32>,
    /// The file, where there is one.
    pub path: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            dotdirs: Dotdirs::new(VENDORS),
            custody: Custody::default(),
            rewrite: Vec::new(),
            wall: Vec::new(),
            write_tools: WRITE_TOOLS.map(str::to_owned).to_vec(),
            retention_days: Some(RETENTION_DAYS),
            path: None,
        }
    }
}

/// Where the settings of a home are.
#[must_use]
pub fn path(home: &Path) -> PathBuf {
    home.join(IDENTITY).join("config.yaml")
}

/// Reads the settings of a home; without a file, the defaults.
///
/// # Errors
/// Where the file can't be read, or says what can't be.
pub fn load(home: &Path) -> Result<Settings, CardError> {
    let path = path(home);
    let fail = |why: String| CardError { path: path.clone(), line: None, why };
    match disk::read_start(&path, header::MAX_BYTES as u64) {
        Ok((bytes, false)) => parse(&path, &bytes),
        Ok((_, true)) => Err(fail(format!("it is longer than {} KiB", header::MAX_BYTES / 1024))),
        Err(error) if disk::is_absent(&error.source) => Ok(Settings::default()),
        Err(error) => Err(fail(error.source.to_string())),
    }
}

/// Reads settings out of a file's bytes.
///
/// # Errors
/// Where it says what can't be.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Settings, CardError> {
    let header = header::parse_yaml(bytes);
    let fail = |line: usize, why: String| CardError { path: path.to_owned(), line: Some(line), why };
    if let Some(note) = header.notes.first() {
        return Err(fail(note.line, note.text.clone()));
    }
    let mut settings = Settings { path: Some(path.to_owned()), ..Settings::default() };
    if header.status == Status::Empty {
        return Ok(settings);
    }
    for field in &header.fields {
        set(&mut settings, field).map_err(|why| fail(field.line, why))?;
    }
    Ok(settings)
}

fn set(settings: &mut Settings, field: &Field) -> Result<(), String> {
    match field.key.as_str() {
        "dotdirs" => settings.dotdirs = dotdirs(texts(field)?)?,
        "custody" => {
            settings.custody = match field.text() {
                Some("auto") => Custody::Auto,
                Some("required") => Custody::Required,
                Some("read") => Custody::Read,
                _ => return Err("`custody` is auto, required or read".to_owned()),
            };
        }
        "rewrite" => settings.rewrite = rewrite(texts(field)?)?,
        "wall" => settings.wall = globs(texts(field)?)?,
        "write_tools" => settings.write_tools = texts(field)?,
        "retention" => settings.retention_days = retention(field.text())?,
        other => {
            return Err(format!("nobody knows the setting `{other}`; there are dotdirs, custody, rewrite, wall, write_tools, retention"));
        }
    }
    Ok(())
}

fn rewrite(names: Vec<String>) -> Result<Vec<String>, String> {
    match names.iter().find(|name| !REWRITE.contains(&name.as_str())) {
        Some(name) => Err(format!("`rewrite` names `{name}`; a hook can rewrite a call only in {}", REWRITE.join(", "))),
        None => Ok(names),
    }
}

fn texts(field: &Field) -> Result<Vec<String>, String> {
    let Value::Array(items) = &field.value else { return Err(format!("`{}` must be a list of texts", field.key)) };
    if items.len() > MAX_ITEMS {
        return Err(format!("`{}` has more than {MAX_ITEMS} items", field.key));
    }
    let text = |item: &Value| item.as_str().map(str::to_owned).ok_or_else(|| format!("`{}` must be a list of texts", field.key));
    items.iter().map(text).collect()
}

fn dotdirs(names: Vec<String>) -> Result<Dotdirs, String> {
    let ours = [IDENTITY, RUNTIME, RENDER, GRAPH];
    let odd = names.iter().find(|name| {
        let part = name.strip_prefix('.').unwrap_or_default();
        part.is_empty()
            || part.starts_with('.')
            || name.len() > 64
            || part == "git"
            || part.chars().any(|c| c == '/' || crate::sys::shown::hidden(c))
    });
    if let Some(odd) = odd {
        return Err(format!("`{odd}` is no dotdir: one name that starts with a dot"));
    }
    if let Some(ours) = names.iter().find(|name| ours.contains(&name.as_str())) {
        return Err(format!("`{ours}` is always read; `dotdirs` names those of vendors"));
    }
    if names.len() > MAX_DOTDIRS {
        return Err(format!("`dotdirs` has more than {MAX_DOTDIRS} names"));
    }
    Ok(Dotdirs::new(names))
}

fn globs(globs: Vec<String>) -> Result<Vec<String>, String> {
    for glob in &globs {
        globset::Glob::new(glob).map_err(|error| format!("`{glob}` is no glob: {}", error.kind()))?;
    }
    Ok(globs)
}

fn retention(text: Option<&str>) -> Result<Option<u32>, String> {
    let wrong = || "`retention` is a number of days, as `30d`, or `forever`".to_owned();
    match text {
        Some("forever") => Ok(None),
        Some(text) => {
            let days: u32 = text.strip_suffix('d').unwrap_or(text).parse().map_err(|_| wrong())?;
            if days == 0 || days > 36_500 { Err(wrong()) } else { Ok(Some(days)) }
        }
        None => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Settings, CardError> {
        parse(Path::new("/h/.loci/config.yaml"), text.as_bytes())
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let settings = read("# nothing\n").unwrap();
        assert_eq!(Settings { path: None, ..settings }, Settings::default());
        let settings = read("custody: required\nretention: 7d\ndotdirs:\n  - .claude\nwall: ['secrets/**']\n").unwrap();
        assert_eq!((settings.custody, settings.retention_days), (Custody::Required, Some(7)));
        assert_eq!(
            settings.dotdirs.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            [".claude", ".loci", ".loci-clock", ".loci-view", ".loci-graph"]
        );
        assert_eq!(settings.wall, ["secrets/**"]);
    }

    #[test]
    fn what_can_not_be_is_an_error_with_its_line() {
        assert_eq!(read("rewrite: [codex, pi]\n").unwrap().rewrite, ["codex", "pi"]);
        for (text, line) in [
            ("custody: maybe\n", 1),
            ("custody: auto\nrewrite: [qwen]\n", 2),
            ("# c\n\ncustdy: auto\n", 3),
            ("wall: secrets\n", 1),
            ("custody: auto\nwall: ['[']\n", 2),
            ("dotdirs: [claude]\n", 1),
            ("dotdirs: [.loci]\n", 1),
            ("dotdirs: [..]\n", 1),
            ("retention: soon\n", 1),
            ("custody: auto\ncustody: read\n", 2),
            ("- a\n", 1),
            ("custody: a: b\n", 1),
        ] {
            assert_eq!(read(text).unwrap_err().line, Some(line), "{text:?}");
        }
    }
}
