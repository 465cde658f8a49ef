//! The identity files of one place: who owns it (`.loci/owner.md`) and who lives there
//! (`.loci/agent.md`).
//!
//! A file that is there and can't be read, in whatever way, is an error with file and line, never
//! an absence: somebody meant something by it. A key nobody knows is kept; a known key of the wrong
//! type, twice, or unreadable is an error.

use std::path::{Path, PathBuf};

use globset::GlobBuilder;
use serde_json::{Map, Value};

use crate::sys::disk;
use crate::text::Sourced;
use crate::text::header::{self, Field, Header, Status};
use crate::text::name::AgentId;

/// The dotdir of the identity layer.
const DOTDIR: &str = ".loci";
/// The longest identity file that is read, in bytes.
pub const MAX_BYTES: u64 = 256 * 1024;
/// How many items a list in one may have.
const MAX_ITEMS: usize = 256;

/// An identity file that is there and can't be used; reads on after "failed to …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("read {}: {}", crate::sys::shown::path(.path), crate::sys::shown::text(.why))]
pub struct CardError {
    /// The file.
    pub path: PathBuf,
    /// The line in it, from 1; `None` where it is about the file as a whole.
    pub line: Option<usize>,
    /// What is wrong.
    pub why: String,
}

/// Something to say about a file that can be used all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The line in the file, from 1.
    pub line: usize,
    /// What.
    pub text: String,
}

/// Who owns a directory: `.loci/owner.md`.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnerFile {
    /// The owner.
    pub owner: Sourced<AgentId>,
    /// Where the owner's body is, relative to the owned directory, as written.
    pub body: Option<PathBuf>,
    /// The line that says so.
    pub body_line: Option<usize>,
    /// Globs below the directory that are nobody's.
    pub commons: Vec<String>,
    /// Since when, as written.
    pub since: Option<String>,
    /// The text below the header; it goes along with each delegation.
    pub note: String,
    /// Keys that loci does not know.
    pub extra: Map<String, Value>,
    /// What is to be said.
    pub remarks: Vec<Remark>,
    /// The file.
    pub path: PathBuf,
}

/// Who lives in a directory: `.loci/agent.md`.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentFile {
    /// The id.
    pub id: Sourced<AgentId>,
    /// What it is for.
    pub description: Option<String>,
    /// Its default socket.
    pub runtime: Option<String>,
    /// Whom it was inherited from: a relative path or an id.
    pub parent: Option<String>,
    /// What may wake it when armed: `delegation`, `mention`, `none`.
    pub wake: Vec<String>,
    /// Its active set of hooks; `None` where it declares none.
    pub hooks: Option<Vec<String>>,
    /// Globs of what is its memory, and stays behind when it is inherited.
    pub memory: Vec<String>,
    /// Whether sets may switch things in vendor dotdirs.
    pub vendor: bool,
    /// The text below the header: what this agent is.
    pub prompt: String,
    /// Keys that loci does not know.
    pub extra: Map<String, Value>,
    /// What is to be said.
    pub remarks: Vec<Remark>,
    /// The file.
    pub path: PathBuf,
}

/// What a place says about itself: `None` where it says nothing.
pub type Card<T> = Option<Result<T, CardError>>;

/// Reads who owns `dir`. A directory without `.loci` costs one look.
#[must_use]
pub fn owner(dir: &Path) -> Card<OwnerFile> {
    Dotdir::of(dir)?.owner()
}

/// Reads who lives in `dir`. A directory without `.loci` costs one look.
#[must_use]
pub fn agent(dir: &Path) -> Card<AgentFile> {
    Dotdir::of(dir)?.agent()
}

/// Reads both with one look where there is no `.loci`.
#[must_use]
pub fn both(dir: &Path) -> (Card<OwnerFile>, Card<AgentFile>) {
    Dotdir::of(dir).map_or((None, None), |dotdir| (dotdir.owner(), dotdir.agent()))
}

/// Something that stands at `.loci`.
struct Dotdir {
    path: PathBuf,
    is_link: bool,
}

impl Dotdir {
    /// Looks once. What can't be looked at may hold an owner file.
    fn of(dir: &Path) -> Option<Self> {
        let path = dir.join(DOTDIR);
        let is_link = match disk::look(&path) {
            Ok(None) => return None,
            Ok(Some(meta)) => meta.kind == disk::Kind::Link,
            Err(_) => false,
        };
        Some(Self { path, is_link })
    }

    /// A `.loci` that is a link to nowhere closes: whoever made it meant something by it, perhaps an owner, and a
    /// directory must not become nobody's because what it links to is not mounted or was moved.
    fn owner(&self) -> Card<OwnerFile> {
        if self.is_link && matches!(disk::look_through(&self.path), Ok(None)) {
            return Some(Err(CardError { path: self.path.clone(), line: None, why: "it is a link that leads nowhere".to_owned() }));
        }
        let path = self.path.join("owner.md");
        bytes(&path).map(|bytes| parse_owner(&path, &bytes?))
    }

    fn agent(&self) -> Card<AgentFile> {
        let path = self.path.join("agent.md");
        bytes(&path).map(|bytes| parse_agent(&path, &bytes?))
    }
}

/// The bytes of an identity file; `None` where there is none. A link to nowhere is a file that can't
/// be read, not an absence.
fn bytes(path: &Path) -> Card<Vec<u8>> {
    let fail = |why: String| CardError { path: path.to_owned(), line: None, why };
    match disk::read_start(path, MAX_BYTES) {
        Ok((_, true)) => Some(Err(fail(format!("it is longer than {} KiB", MAX_BYTES / 1024)))),
        Ok((bytes, false)) => Some(Ok(bytes)),
        Err(error) if disk::is_absent(&error.source) => match disk::look(path) {
            Ok(None) => None,
            Ok(Some(_)) => Some(Err(fail("it is a link that leads nowhere".to_owned()))),
            Err(error) => Some(Err(fail(error.source.to_string()))),
        },
        Err(error) => Some(Err(fail(error.source.to_string()))),
    }
}

/// Reads an owner file out of its bytes.
///
/// # Errors
/// Where it does not say plainly who owns the directory.
pub fn parse_owner(path: &Path, bytes: &[u8]) -> Result<OwnerFile, CardError> {
    let mut keys = Keys::new(path, bytes, &["owner", "body", "commons", "since"])?;
    let owner = keys.id("owner")?;
    let body = keys.relative("body")?;
    let body_line = body.as_ref().and_then(|_| keys.header.line("body"));
    let commons = keys.list("commons")?.unwrap_or_default();
    if let Some((glob, why)) = commons.iter().find_map(|glob| Some((glob, check_glob(glob).err()?))) {
        return Err(keys.fail("commons", format!("`commons` holds `{glob}`: {why}")));
    }
    let since = keys.text("since")?;
    let Rest { extra, remarks, text } = keys.rest();
    Ok(OwnerFile { owner, body, body_line, commons, since, note: text, extra, remarks, path: path.to_owned() })
}

/// Whether a glob of an identity file can be used at all; an owner file with one that can't is broken.
///
/// # Errors
/// What is wrong with it.
pub fn check_glob(glob: &str) -> Result<(), String> {
    GlobBuilder::new(glob).literal_separator(true).build().map(drop).map_err(|error| error.kind().to_string())
}

/// Reads an agent file out of its bytes.
///
/// # Errors
/// Where it does not say plainly who lives there.
pub fn parse_agent(path: &Path, bytes: &[u8]) -> Result<AgentFile, CardError> {
    let known = ["id", "description", "runtime", "parent", "wake", "hooks", "memory", "vendor"];
    let mut keys = Keys::new(path, bytes, &known)?;
    let id = keys.id("id")?;
    let description = keys.text("description")?;
    let runtime = keys.text("runtime")?;
    let parent = keys.text("parent")?;
    let wake = keys.list("wake")?.unwrap_or_default();
    if let Some(odd) = wake.iter().find(|word| !["delegation", "mention", "none"].contains(&word.as_str())) {
        return Err(keys.fail("wake", format!("`wake` knows delegation, mention and none, not `{odd}`")));
    }
    let hooks = keys.list("hooks")?;
    let memory = keys.list("memory")?.unwrap_or_default();
    let vendor = keys.flag("vendor")?.unwrap_or(false);
    let Rest { extra, remarks, text } = keys.rest();
    Ok(AgentFile { id, description, runtime, parent, wake, hooks, memory, vendor, prompt: text, extra, remarks, path: path.to_owned() })
}

/// The keys of an identity file, taken one by one.
struct Keys<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    header: Header,
    known: &'a [&'a str],
    remarks: Vec<Remark>,
}

struct Rest {
    extra: Map<String, Value>,
    remarks: Vec<Remark>,
    text: String,
}

impl<'a> Keys<'a> {
    fn new(path: &'a Path, bytes: &'a [u8], known: &'a [&'a str]) -> Result<Self, CardError> {
        let header = header::parse(bytes);
        let note = header.notes.first();
        let fail = |line: Option<usize>, why: String| CardError { path: path.to_owned(), line, why };
        match header.status {
            Status::Ok | Status::Lenient => {}
            Status::None => return Err(fail(Some(1), "it has no front matter (the first line is not `---`)".to_owned())),
            Status::Empty => return Err(fail(Some(1), "its front matter is empty".to_owned())),
            _ => {
                let why = note.map_or_else(|| "its front matter can't be read".to_owned(), |note| note.text.clone());
                return Err(fail(note.map(|note| note.line), why));
            }
        }
        // Half of what was meant is not enough where it is about who may write.
        if let Some(note) = header.notes.iter().find(|note| note.key.as_deref().is_some_and(|key| known.contains(&key))) {
            return Err(fail(Some(note.line), note.text.clone()));
        }
        let mut remarks: Vec<Remark> = header.notes.iter().map(|note| Remark { line: note.line, text: note.text.clone() }).collect();
        for field in &header.fields {
            if let Some(meant) = known.iter().find(|key| **key != field.key && key.eq_ignore_ascii_case(&field.key)) {
                remarks.push(Remark { line: field.line, text: format!("`{}` is not read; the key is `{meant}`", field.key) });
            }
        }
        Ok(Self { path, bytes, header, known, remarks })
    }

    fn fail(&self, key: &str, why: String) -> CardError {
        CardError { path: self.path.to_owned(), line: self.header.line(key).or(Some(1)), why }
    }

    /// A field; `null` counts as not given.
    fn field(&self, key: &str) -> Option<&Field> {
        self.header.field(key).filter(|field| !field.value.is_null())
    }

    fn text(&mut self, key: &str) -> Result<Option<String>, CardError> {
        let Some(field) = self.field(key) else { return Ok(None) };
        match field.text() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(self.fail(key, format!("`{key}` must be text"))),
        }
    }

    fn id(&mut self, key: &str) -> Result<Sourced<AgentId>, CardError> {
        let Some(text) = self.text(key)? else {
            let near = self.remarks.iter().find(|remark| remark.text.ends_with(&format!("the key is `{key}`")));
            let line = near.map_or(1, |remark| remark.line);
            return Err(CardError { path: self.path.to_owned(), line: Some(line), why: format!("`{key}` is missing") });
        };
        let value = AgentId::new(&text).map_err(|error| self.fail(key, error.to_string()))?;
        Ok(Sourced { value, path: self.path.to_owned(), line: self.header.line(key) })
    }

    fn relative(&mut self, key: &str) -> Result<Option<PathBuf>, CardError> {
        match self.text(key)? {
            Some(text) if text.is_empty() || text.starts_with('/') || text.starts_with('~') || text.contains('\0') => {
                Err(self.fail(key, format!("`{key}` must be a relative path: an absolute one does not travel")))
            }
            other => Ok(other.map(PathBuf::from)),
        }
    }

    /// A list of texts; a single text is a list of one.
    fn list(&mut self, key: &str) -> Result<Option<Vec<String>>, CardError> {
        let Some(field) = self.field(key) else { return Ok(None) };
        let items: Option<Vec<String>> = match &field.value {
            Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
            Value::String(text) => Some(vec![text.clone()]),
            _ => None,
        };
        match items {
            Some(items) if items.len() <= MAX_ITEMS => Ok(Some(items)),
            Some(_) => Err(self.fail(key, format!("`{key}` has more than {MAX_ITEMS} items"))),
            None => Err(self.fail(key, format!("`{key}` must be a list of texts"))),
        }
    }

    fn flag(&mut self, key: &str) -> Result<Option<bool>, CardError> {
        match self.field(key).map(|field| &field.value) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(self.fail(key, format!("`{key}` must be true or false"))),
        }
    }

    fn rest(self) -> Rest {
        let text = String::from_utf8_lossy(self.header.body_of(self.bytes)).into_owned();
        let extra = self.header.fields.into_iter().filter(|field| !self.known.contains(&field.key.as_str()));
        Rest { extra: extra.map(|field| (field.key, field.value)).collect(), remarks: self.remarks, text }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests build trees themselves")]

    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn owner_of(text: &str) -> Result<OwnerFile, CardError> {
        parse_owner(Path::new("/p/.loci/owner.md"), text.as_bytes())
    }

    #[test]
    fn an_owner_file_says_who_and_where_it_says_so() {
        let file =
            owner_of("---\nsince: 2026-11-30\nowner: bob\nbody: ../bob\ncommons: [Cargo.lock, 'target/**']\nteam: x\n---\nAsk first.\n")
                .unwrap();
        assert_eq!((file.owner.value.as_str(), file.owner.line), ("bob", Some(3)));
        assert_eq!(file.body.as_deref(), Some(Path::new("../bob")));
        assert_eq!(file.commons, ["Cargo.lock", "target/**"]);
        assert_eq!(file.since.as_deref(), Some("2026-11-30"));
        assert_eq!((file.note.as_str(), file.extra.len()), ("Ask first.\n", 1));
        assert_eq!(owner_of("---\nowner: 12306\n---\n").unwrap().owner.value.as_str(), "12306");
    }

    #[test]
    fn what_is_not_plain_is_an_error_with_its_line() {
        for (text, line) in [
            ("owner: bob\n", Some(1)),
            ("---\n---\n", Some(1)),
            ("---\nowner: bob\n", Some(1)),
            ("---\nteam: x\nowner:\n---\n", Some(1)),
            ("---\nOwner: bob\n---\n", Some(2)),
            ("---\nowner: Bob Smith\n---\n", Some(2)),
            ("---\nowner: [bob]\n---\n", Some(2)),
            ("---\nowner: bob\nowner: eve\n---\n", Some(3)),
            ("---\nowner: bob\nbody: /abs\n---\n", Some(3)),
            ("---\nowner: bob\nbody:\n\tx: y\n---\n", Some(3)),
            ("---\nowner: bob\ncommons: {a: 1}\n---\n", Some(3)),
            ("---\nowner: bob\ncommons: ['*.lock', '[x']\n---\n", Some(3)),
        ] {
            assert_eq!(owner_of(text).unwrap_err().line, line, "{text:?}");
        }
        // What can be told plainly is read, and said.
        let file = owner_of("---\nowner: bob\nnote: see: this\nBody: x\n---\n").unwrap();
        assert_eq!(file.remarks.len(), 2);
    }

    #[test]
    fn an_agent_file() {
        let parse = |text: &str| parse_agent(Path::new("/p/.loci/agent.md"), text.as_bytes());
        let file = parse("---\nid: billing\nwake: delegation\nhooks: [a]\nvendor: true\nmine: 1\n---\nYou keep it.\n").unwrap();
        assert_eq!((file.id.value.as_str(), file.wake.as_slice(), file.vendor), ("billing", &["delegation".to_owned()][..], true));
        assert_eq!((file.hooks.as_deref(), file.prompt.as_str()), (Some(&["a".to_owned()][..]), "You keep it.\n"));
        assert_eq!(parse("---\nid: a\nvendor: yes\n---\n").unwrap_err().line, Some(3));
        assert_eq!(parse("---\nid: a\nwake: [now]\n---\n").unwrap_err().line, Some(3));
        assert!(parse("---\ndescription: x\n---\n").is_err());
    }

    #[test]
    fn what_is_there_and_unreadable_is_no_absence() {
        let dir = std::env::temp_dir().join(format!("card-{}", std::process::id()));
        fs::create_dir_all(dir.join("none")).unwrap();
        fs::create_dir_all(dir.join("dangling/.loci")).unwrap();
        fs::create_dir_all(dir.join("dir/.loci/owner.md")).unwrap();
        fs::create_dir_all(dir.join("pipe/.loci")).unwrap();
        fs::create_dir_all(dir.join("linked")).unwrap();
        fs::create_dir_all(dir.join("real")).unwrap();
        symlink("nowhere", dir.join("dangling/.loci/owner.md")).unwrap();
        nix::unistd::mkfifo(&dir.join("pipe/.loci/owner.md"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        symlink("../real", dir.join("linked/.loci")).unwrap();
        fs::write(dir.join("real/owner.md"), "---\nowner: bob\n---\n").unwrap();
        fs::write(dir.join("file"), "").unwrap();
        symlink("loop", dir.join("loop")).unwrap();
        fs::create_dir_all(dir.join("lost")).unwrap();
        symlink("/nowhere/at/all", dir.join("lost/.loci")).unwrap();
        fs::create_dir_all(dir.join("plain")).unwrap();
        fs::write(dir.join("plain/.loci"), "").unwrap();
        assert!(owner(&dir.join("none")).is_none());
        assert!(owner(&dir.join("file")).is_none());
        assert!(owner(&dir.join("plain")).is_none() && both(&dir.join("plain")).0.is_none());
        for there in ["dangling", "dir", "pipe", "loop", "lost"] {
            assert!(matches!(owner(&dir.join(there)), Some(Err(_))), "{there}");
            assert!(matches!(both(&dir.join(there)).0, Some(Err(_))), "{there}");
        }
        assert!(matches!(owner(&dir.join("linked")), Some(Ok(_))));
        assert!(agent(&dir.join("linked")).is_none());
        fs::remove_dir_all(dir).unwrap();
    }
}
