//! Finding a template: built in, the user's own, or a directory; read whole before anything is made.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::builtin;
use super::{Node, What};
use crate::sys::disk::{self, Kind, PathError};
use crate::sys::shown;
use crate::text::header::{self, Status};

/// The file of a template that speaks about it and does not go into the body.
pub const ABOUT: &str = "template.md";

/// At most this many things in a template.
const MAX_NODES: usize = 4_096;
/// At most this many bytes in all of them.
const MAX_BYTES: u64 = 64 << 20;
/// At most this many directories deep.
const MAX_DEPTH: usize = 32;

/// Where a template comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It is part of the program.
    Builtin,
    /// It lies in `~/.loci/templates/`.
    User(PathBuf),
    /// It was named by its path.
    Path(PathBuf),
}

impl Origin {
    /// The word that people see.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Builtin => "built in",
            Self::User(_) => "user",
            Self::Path(_) => "path",
        }
    }

    /// Its directory, where it has one.
    #[must_use]
    pub fn dir(&self) -> Option<&Path> {
        match self {
            Self::Builtin => None,
            Self::User(dir) | Self::Path(dir) => Some(dir),
        }
    }
}

/// A template, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Its name: the last part of its path.
    pub name: String,
    /// Where it comes from.
    pub origin: Origin,
    /// One line about it, from its `template.md`.
    pub description: Option<String>,
    /// Values for variables that nobody sets, from its `template.md`.
    pub defaults: BTreeMap<String, String>,
    /// What is in it, sorted by path; names as stored.
    pub nodes: Vec<Node>,
}

/// Why a template can't be used.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// There is none of that name.
    #[error("find the template `{}`", shown::text(.name))]
    Unknown {
        /// The name.
        name: String,
    },
    /// Something in it does not fit.
    #[error("use the template: {why}")]
    Unfit {
        /// The file in it.
        path: PathBuf,
        /// The line, from 1.
        line: Option<usize>,
        /// What is wrong.
        why: String,
    },
    /// The disk does not give it.
    #[error(transparent)]
    Disk(#[from] PathError),
}

impl Template {
    /// The path of a file of this template as people find it.
    #[must_use]
    pub fn path(&self, rel: &Path) -> PathBuf {
        match self.origin.dir() {
            Some(dir) => dir.join(rel),
            None => Path::new("templates").join(&self.name).join(rel),
        }
    }

    /// The file of this template that gives `live`, a path inside the body; `live` itself where loci
    /// adds it.
    #[must_use]
    pub fn path_of(&self, live: &Path) -> PathBuf {
        let names = |rel: &Path| rel.iter().map(|part| part.to_str().map(|part| live_name(part).to_owned())).collect::<Option<PathBuf>>();
        self.nodes
            .iter()
            .find(|node| names(&node.rel).as_deref() == Some(live))
            .map_or_else(|| live.to_owned(), |node| self.path(&node.rel))
    }

    /// An error about one of its files.
    pub(super) fn unfit(&self, rel: &Path, line: Option<usize>, why: impl Into<String>) -> TemplateError {
        TemplateError::Unfit { path: self.path(rel), line, why: why.into() }
    }
}

/// The folder of the user's own templates.
#[must_use]
pub fn user_folder(home: &Path) -> PathBuf {
    home.join(".loci/templates")
}

/// Finds a template by name (the user's own first, then the built-in ones) or, where `name` has a
/// `/` or is `.` or `..`, by its path from `cwd`.
///
/// # Errors
/// As [`TemplateError`] says.
pub fn find(name: &str, home: &Path, cwd: &Path) -> Result<Template, TemplateError> {
    if name.contains('/') || matches!(name, "." | "..") {
        let dir = cwd.join(name);
        if !disk::is_dir(&dir) {
            return Err(TemplateError::Unknown { name: name.to_owned() });
        }
        let dir = disk::canonical(&dir)?;
        let name = dir.file_name().map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned());
        return load(name, Origin::Path(dir));
    }
    let dir = user_folder(home).join(name);
    if !name.is_empty() && disk::is_dir(&dir) {
        return load(name.to_owned(), Origin::User(dir));
    }
    let found = builtin::ALL.iter().find(|one| one.name == name).ok_or_else(|| TemplateError::Unknown { name: name.to_owned() })?;
    built_in(found)
}

/// A built-in template.
///
/// # Errors
/// Never for those that ship: a test reads all of them.
pub fn built_in(found: &builtin::Builtin) -> Result<Template, TemplateError> {
    let nodes =
        found.files.iter().map(|(rel, data)| Node { rel: rel.into(), what: What::File { data: data.to_vec(), mode: None } }).collect();
    about(Template { name: found.name.to_owned(), origin: Origin::Builtin, description: None, defaults: BTreeMap::new(), nodes })
}

/// The names of the user's own templates, sorted.
///
/// # Errors
/// Where the folder is there and can't be read.
pub fn user_names(home: &Path) -> Result<Vec<String>, PathError> {
    let folder = user_folder(home);
    if disk::look_through(&folder)?.is_none() {
        return Ok(Vec::new());
    }
    let entries = disk::list(&folder)?;
    let names = entries.into_iter().filter(|entry| disk::is_dir(&folder.join(&entry.name)));
    Ok(names.filter_map(|entry| entry.name.into_string().ok()).filter(|name| !name.starts_with('.')).collect())
}

fn load(name: String, origin: Origin) -> Result<Template, TemplateError> {
    let dir = origin.dir().map(Path::to_owned).unwrap_or_default();
    let mut template = Template { name, origin, description: None, defaults: BTreeMap::new(), nodes: Vec::new() };
    let mut bytes = 0_u64;
    let mut open = vec![PathBuf::new()];
    while let Some(rel) = open.pop() {
        if rel.components().count() > MAX_DEPTH {
            return Err(template.unfit(&rel, None, format!("it is more than {MAX_DEPTH} directories deep")));
        }
        for entry in disk::list(&dir.join(&rel))? {
            // A template may be a clone; its history is no part of it.
            if rel.as_os_str().is_empty() && entry.name == OsStr::new(".git") {
                continue;
            }
            let rel = rel.join(&entry.name);
            let path = dir.join(&rel);
            let what = match entry.kind {
                Kind::Dir => {
                    open.push(rel.clone());
                    What::Dir
                }
                Kind::Link => What::Link(disk::read_link(&path)?),
                Kind::File => {
                    let (data, more) = disk::read_start(&path, MAX_BYTES - bytes)?;
                    if more {
                        return Err(template.unfit(&rel, None, format!("it is larger than {} MiB in all", MAX_BYTES >> 20)));
                    }
                    bytes += data.len() as u64;
                    let mode = disk::look(&path)?.map(|meta| meta.mode & 0o777);
                    What::File { data, mode }
                }
                Kind::Other => return Err(template.unfit(&rel, None, "it is neither a file nor a directory nor a link")),
            };
            template.nodes.push(Node { rel, what });
            if template.nodes.len() > MAX_NODES {
                return Err(template.unfit(Path::new(""), None, format!("there are more than {MAX_NODES} files in it")));
            }
        }
    }
    template.nodes.sort_by(|a, b| disk::by_bytes(a.rel.as_os_str(), b.rel.as_os_str()));
    about(template)
}

/// Takes `template.md` out of the nodes and reads it.
fn about(mut template: Template) -> Result<Template, TemplateError> {
    let Some(at) = template.nodes.iter().position(|node| node.rel == Path::new(ABOUT)) else { return Ok(template) };
    let node = template.nodes.remove(at);
    let rel = node.rel;
    let What::File { data, .. } = node.what else { return Err(template.unfit(&rel, None, "it is no file")) };
    let header = header::parse(&data);
    if !matches!(header.status, Status::Ok | Status::None | Status::Empty | Status::Lenient) {
        let note = header.notes.first();
        let why = note.map_or_else(|| "its front matter can't be read".to_owned(), |note| note.text.clone());
        return Err(template.unfit(&rel, note.map(|note| note.line), why));
    }
    if let Some(field) = header.field("description") {
        let text = field.text().ok_or_else(|| template.unfit(&rel, Some(field.line), "`description` has to be text"))?;
        template.description = Some(text.to_owned());
    }
    if let Some(field) = header.field("defaults") {
        let pairs =
            field.value.as_object().ok_or_else(|| template.unfit(&rel, Some(field.line), "`defaults` has to be a list of `name: text`"))?;
        for (name, value) in pairs {
            let text = value.as_str().ok_or_else(|| {
                template.unfit(&rel, Some(field.line), format!("the default of `{}` has to be text: put it in quotes", shown::text(name)))
            })?;
            template.defaults.insert(name.clone(), text.to_owned());
        }
    }
    Ok(template)
}

/// Names that stand for a live name, so that a template can be kept in a repository without the
/// agents that work there obeying it: stored name, live name.
pub const STORED_NAMES: &[(&str, &str)] = &[
    ("_agents", ".agents"),
    ("_claude", ".claude"),
    ("_codex", ".codex"),
    ("_gemini", ".gemini"),
    ("_gitignore", ".gitignore"),
    ("_loci", ".loci"),
    ("_loci-clock", ".loci-clock"),
    ("_loci-view", ".loci-view"),
    ("_opencode", ".opencode"),
    ("_pi", ".pi"),
    ("_qwen", ".qwen"),
];

/// The live name of a stored one.
#[must_use]
pub fn live_name(stored: &str) -> &str {
    STORED_NAMES.iter().find(|(name, _)| *name == stored).map_or(stored, |(_, live)| live)
}

/// Files that take effect without being read by anybody first: in a template from outside they need
/// a person. The path is a live one, inside the body.
#[must_use]
pub fn needs_person(rel: &Path) -> Option<&'static str> {
    let parts: Vec<&str> =
        rel.components().filter_map(|part| if let Component::Normal(name) = part { name.to_str() } else { None }).collect();
    let name = parts.last().copied().unwrap_or_default();
    let name = name.strip_suffix(".inactive").unwrap_or(name);
    let within = |dir: &[&str]| parts.windows(dir.len()).any(|window| window == dir) && parts.len() > dir.len();
    let any = |dirs: &[&[&str]]| dirs.iter().any(|dir| within(dir));
    if within(&[".loci", "hooks"]) || within(&[".git", "hooks"]) || within(&[".git"]) {
        Some("hook")
    } else if within(&[".loci-clock"]) {
        Some("job")
    } else if name == "owner.md" && within(&[".loci"]) {
        Some("owner file")
    } else if any(&[
        &[".claude", "hooks"],
        &[".codex", "hooks"],
        &[".github", "hooks"],
        &[".opencode", "plugin"],
        &[".opencode", "plugins"],
        &[".pi", "extensions"],
        &[".clinerules", "hooks"],
        &[".cline", "hooks"],
    ]) {
        Some("vendor hook")
    } else if matches!(name, ".mcp.json" | "opencode.json" | "opencode.jsonc" | ".envrc")
        || (any(&[&[".claude"], &[".gemini"], &[".qwen"], &[".codex"], &[".opencode"], &[".pi"], &[".hermes"], &[".vscode"]])
            && Path::new(name).extension().is_some_and(|ending| ["json", "jsonc", "toml", "yaml", "yml"].iter().any(|one| ending == *one)))
    {
        Some("vendor setting")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_template_can_be_read() {
        for one in builtin::ALL {
            let template = built_in(one).unwrap();
            assert!(template.description.is_some(), "{}", one.name);
            assert!(template.nodes.iter().all(|node| node.rel != Path::new(ABOUT)));
        }
    }

    #[test]
    fn what_takes_effect_by_itself_is_seen() {
        for (rel, what) in [
            (".loci/hooks/a.sh", "hook"),
            ("sub/.loci/hooks/a.sh", "hook"),
            (".loci-clock/jobs/a.md", "job"),
            (".loci/owner.md", "owner file"),
            (".loci/owner.md.inactive", "owner file"),
            (".claude/settings.local.json", "vendor setting"),
            (".codex/config.toml", "vendor setting"),
            (".mcp.json", "vendor setting"),
            (".pi/extensions/x.ts", "vendor hook"),
            (".github/hooks/x.json", "vendor hook"),
            (".git/hooks/post-checkout", "hook"),
        ] {
            assert_eq!(needs_person(Path::new(rel)), Some(what), "{rel}");
        }
        for rel in
            ["AGENTS.md", ".loci/agent.md", ".loci/skills/owner.md/SKILL.md", ".claude/skills", "hooks/a.sh", "package.json", "owner.md"]
        {
            assert!(needs_person(Path::new(rel)).is_none() || rel.contains("owner.md/"), "{rel}");
        }
    }
}
