//! The identity files of one place: who owns it (`.loci/owner.md`) and who lives there
//! (`.loci/agent.md`).
//!
//! A file that is there and can't be read, in whatever way, is an error with file and line, never
//! an absence: somebody meant something by it. A key nobody knows is kept; a known key of the wrong
//! type, twice, or unreadable is an error.

mod keys;

use std::path::{Path, PathBuf};

use globset::GlobBuilder;
use serde_json::{Map, Value};

use keys::{Keys, Rest};

use crate::sys::disk;
use crate::text::Sourced;
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
    /// The line that says so.
    pub hooks_line: Option<usize>,
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
    is_file: bool,
}

impl Dotdir {
    /// Looks once. What can't be looked at may hold an owner file.
    fn of(dir: &Path) -> Option<Self> {
        let path = dir.join(DOTDIR);
        let kind = match disk::look(&path) {
            Ok(None) => return None,
            Ok(Some(meta)) => Some(meta.kind),
            Err(_) => None,
        };
        Some(Self { path, is_link: kind == Some(disk::Kind::Link), is_file: kind == Some(disk::Kind::File) })
    }

    /// A `.loci` that is a link to nowhere closes: whoever made it meant something by it, perhaps an owner, and a
    /// directory must not become nobody's because what it links to is not mounted or was moved.
    fn owner(&self) -> Card<OwnerFile> {
        if self.is_link && matches!(disk::look_through(&self.path), Ok(None)) {
            return Some(Err(CardError { path: self.path.clone(), line: None, why: "it is a link that leads nowhere".to_owned() }));
        }
        // No file can stand below a file: that it can't be read there is no absence.
        if self.is_file || self.is_link && matches!(disk::look_through(&self.path), Ok(Some(meta)) if meta.kind == disk::Kind::File) {
            return Some(Err(CardError { path: self.path.clone(), line: None, why: "it is a file, and no directory".to_owned() }));
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
    let hooks_line = hooks.as_ref().and_then(|_| keys.header.line("hooks"));
    let memory = keys.list("memory")?.unwrap_or_default();
    let vendor = keys.flag("vendor")?.unwrap_or(false);
    let Rest { extra, remarks, text } = keys.rest();
    Ok(AgentFile {
        id,
        description,
        runtime,
        parent,
        wake,
        hooks,
        hooks_line,
        memory,
        vendor,
        prompt: text,
        extra,
        remarks,
        path: path.to_owned(),
    })
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
        let file = owner_of("---\nowner: bob\ncomons: [a]\nteam: x\n---\n").unwrap();
        assert_eq!((file.remarks.len(), file.remarks[0].line), (1, 3));
        assert!(file.remarks[0].text.ends_with("did you mean `commons`?"), "{}", file.remarks[0].text);
        assert_eq!(owner_of("---\nteam: x\nowenr: bob\n---\n").unwrap_err().line, Some(3));
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
        for there in ["dangling", "dir", "pipe", "loop", "lost", "plain"] {
            assert!(matches!(owner(&dir.join(there)), Some(Err(_))), "{there}");
            assert!(matches!(both(&dir.join(there)).0, Some(Err(_))), "{there}");
        }
        assert!(matches!(owner(&dir.join("linked")), Some(Ok(_))));
        assert!(agent(&dir.join("linked")).is_none());
        fs::remove_dir_all(dir).unwrap();
    }
}
