//! Whose code runs and whose words enter a context: those of the home level, what `loci new` itself wrote for a
//! person, and what a person has trusted as it was then.
//!
//! What a directory brings along is code and instructions of a stranger. Trust is in content, never in a place: what
//! is trusted is a list of files with their digests. One that is new or has changed since is as strange as before.

mod inside;
mod interpreter;
mod made;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};

pub use inside::{Seen, TrustError, inside};
use made::made;
pub use made::{remember_made, written};

use super::kept::Folder;
use crate::custody::diff::{self, Difference};
use crate::custody::grants;
use crate::sys::disk::{self, PathError};
use crate::sys::shown;
use crate::sys::time::{self, Timestamp};
use crate::text::digest;
use crate::tree::resolve::{Found, RootKind};
use crate::tree::slot::INACTIVE;

/// The kind of the grant in the log.
pub const KIND: &str = "trust";
/// The folders of a dotdir that are code or words for a context.
const SLOTS: [&str; 3] = ["hooks", "rules", "personas"];
/// The files beside them that can declare a persona.
const SURFACES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "CLAUDE.local.md"];
/// The most files that one grant is about.
pub const MAX_FILES: usize = 5_000;
/// The largest file that can be trusted, and run, in bytes.
pub const MAX_FILE: u64 = 8 << 20;

/// The most of the list of bodies that is read.
const MAX_LIST: u64 = 4 << 20;

/// Why something is, or is not, trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is the person's own: the home level.
    Home,
    /// `loci new` wrote it on this machine, just so.
    Made,
    /// A person has trusted it, as it is.
    Granted,
    /// A person has trusted the directory, and this is new or has changed since.
    Changed,
    /// Nobody has said anything about it.
    Unknown,
}

impl Standing {
    /// Whether it runs, or is read to a model.
    #[must_use]
    pub fn is_trusted(self) -> bool {
        matches!(self, Self::Home | Self::Made | Self::Granted)
    }

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Home => "home",
            Self::Made => "made-here",
            Self::Granted => "trusted",
            Self::Changed => "changed-since",
            Self::Unknown => "untrusted",
        }
    }
}

/// A directory that was trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// The grant.
    pub id: String,
    /// The directory, real.
    pub path: PathBuf,
    /// Its files, relative, with their digests.
    pub files: BTreeMap<PathBuf, String>,
    /// The texts of those that are short, to show what has changed.
    pub texts: BTreeMap<PathBuf, String>,
}

impl Root {
    /// Whether it says something of what lies in a directory.
    #[must_use]
    pub fn reaches(&self, dir: &Path) -> bool {
        self.files.keys().any(|file| self.path.join(file).starts_with(dir))
    }
}

/// Everything that is trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    /// By grants.
    pub roots: Vec<Root>,
    /// What was written into bodies that were made here, by body.
    made: Vec<Root>,
    /// The machine-local state folder.
    pub state: PathBuf,
    /// What can't be used, for people.
    pub notes: Vec<String>,
}

/// Reads what is trusted. What can't be read trusts nothing.
#[must_use]
pub fn load(state: &Path) -> Trust {
    let mut trust = Trust { state: state.to_owned(), ..Trust::default() };
    match grants::read(state) {
        Ok(grants) => {
            for grant in grants.all.iter().filter(|grant| grant.kind == KIND) {
                match root(state, &grant.id, &grant.record) {
                    Ok(root) => trust.roots.push(root),
                    Err(why) => trust.notes.push(format!("the grant {} trusts nothing: {why}", shown::text(&grant.id))),
                }
            }
        }
        Err(error) => trust.notes.push(format!("nothing is taken for trusted by a grant: failed to {error}")),
    }
    match made(state) {
        Ok(made) => trust.made = made,
        Err(error) => trust.notes.push(format!("no body is taken for made here: failed to {error}")),
    }
    trust
}

/// A grant with the list that belongs to it; the list is believed only where its digest is the granted one.
fn root(state: &Path, id: &str, record: &Value) -> Result<Root, String> {
    let text = |key: &str| record.get(key).and_then(Value::as_str).ok_or_else(|| format!("it has no `{key}`"));
    let path = PathBuf::from(text("root")?);
    let wanted = text("content")?;
    let list = disk::read_bounded(&list_file(state, id), MAX_LIST * 4).map_err(|error| format!("failed to {error}"))?;
    let list: Value = serde_json::from_slice(&list.ok_or("its list is too large")?).map_err(|error| error.to_string())?;
    let entries = list.get("files").and_then(Value::as_object).ok_or("its list names no files")?;
    let (mut files, mut texts) = (BTreeMap::new(), BTreeMap::new());
    for (name, entry) in entries {
        let sha = entry.get("sha256").and_then(Value::as_str).ok_or("its list has an entry without a digest")?;
        files.insert(PathBuf::from(name), sha.to_owned());
        if let Some(text) = entry.get("text").and_then(Value::as_str) {
            texts.insert(PathBuf::from(name), text.to_owned());
        }
    }
    if content(&files) != wanted {
        return Err("its list is not the one that was granted".to_owned());
    }
    Ok(Root { id: id.to_owned(), path, files, texts })
}

fn list_file(state: &Path, id: &str) -> PathBuf {
    state.join("trust").join(format!("{id}.json"))
}

/// The name of the same file where it is switched the other way: off is the file with one more ending. Trust is in what
/// it says, whichever of the two it is, and a set that switches one hook off leaves those beside it trusted.
fn switched(rel: &Path) -> Option<PathBuf> {
    let name = rel.file_name()?.to_str()?;
    Some(rel.with_file_name(name.strip_suffix(INACTIVE).map_or_else(|| format!("{name}{INACTIVE}"), str::to_owned)))
}

/// The digest over a list of files.
#[must_use]
pub fn content(files: &BTreeMap<PathBuf, String>) -> String {
    let lines: Vec<String> = files.iter().map(|(path, sha)| format!("{sha}  {}\n", shown::path(path))).collect();
    digest::sha256(lines.concat().as_bytes())
}

impl Trust {
    /// How a found file stands.
    #[must_use]
    pub fn of(&self, found: &Found) -> Standing {
        if found.provenance.root == RootKind::Home && found.provenance.via.is_none() {
            return Standing::Home;
        }
        self.of_bytes(&found.path, &found.real, &found.bytes)
    }

    /// How a file stands that has these bytes, by the name it was reached by and where it really lies.
    #[must_use]
    pub fn of_bytes(&self, path: &Path, real: &Path, bytes: &[u8]) -> Standing {
        self.of_digest(&[path, real], &digest::sha256(bytes))
    }

    /// The same for a file whose digest is known.
    #[must_use]
    pub fn of_digest(&self, names: &[&Path], sha256: &str) -> Standing {
        let named = |root: &Root| {
            let below = names.iter().filter_map(|path| path.strip_prefix(&root.path).ok());
            below.flat_map(|rel| [Some(rel.to_owned()), switched(rel)]).flatten().collect::<Vec<PathBuf>>()
        };
        let is = |root: &Root| named(root).iter().any(|rel| root.files.get(rel).is_some_and(|sha| sha == sha256));
        if self.made.iter().any(is) {
            return Standing::Made;
        }
        if self.roots.iter().any(is) {
            return Standing::Granted;
        }
        let was = |root: &Root| named(root).iter().any(|rel| root.files.contains_key(rel));
        if self.roots.iter().any(|root| !named(root).is_empty()) || self.made.iter().any(was) {
            return Standing::Changed;
        }
        Standing::Unknown
    }

    /// How a hook stands, and what it is run from. It can call whatever lies beside it, so all of its folder has to be
    /// as it was; what was compared is what runs. `folders` holds what was read of them before.
    #[must_use]
    pub fn of_hook(&self, found: &Found, folders: &mut BTreeMap<PathBuf, Option<Arc<Folder>>>) -> (Standing, Option<Arc<Folder>>) {
        let standing = self.of(found);
        if !matches!(standing, Standing::Granted | Standing::Made) {
            return (standing, None);
        }
        let (Some(folder), Some(name)) = (found.path.parent(), found.path.file_name()) else { return (Standing::Unknown, None) };
        if !self.knows_interpreters(found) {
            return (Standing::Changed, None);
        }
        let read = folders.entry(folder.to_owned()).or_insert_with(|| self.known(folder).map(Arc::new));
        let same = |whole: &&mut Arc<Folder>| whole.files.get(Path::new(name)).is_some_and(|piece| piece.bytes == found.bytes);
        match read.as_mut().filter(same) {
            Some(whole) => (standing, Some(Arc::clone(whole))),
            None => (Standing::Changed, None),
        }
    }

    /// Whether what runs a hook is as it was, where it lies in a directory that the trust in the hook is about.
    fn knows_interpreters(&self, found: &Found) -> bool {
        interpreter::named(&found.bytes).all(|program| {
            let around = self.roots.iter().chain(&self.made);
            let mut around = around.filter(|root| found.path.starts_with(&root.path) || found.real.starts_with(&root.path));
            around.all(|root| match interpreter::seen(&root.path, &program) {
                Ok(None) => true,
                Ok(Some((path, bytes))) => self.of_digest(&[&path], &digest::sha256(&bytes)).is_trusted(),
                Err(_) => false,
            })
        })
    }

    /// A folder as it is, where all of it is trusted.
    fn known(&self, folder: &Path) -> Option<Folder> {
        let whole = Folder::read(folder).ok()?;
        let really = disk::canonical(folder).ok()?;
        let trusted = whole.files.iter().all(|(rel, piece)| self.of_bytes(&folder.join(rel), &really.join(rel), &piece.bytes).is_trusted());
        trusted.then_some(whole)
    }
}

/// What has changed since, file by file, as a diff; all of it where nothing was trusted before.
#[must_use]
pub fn difference(before: Option<&Root>, now: &BTreeMap<PathBuf, Seen>) -> Vec<(PathBuf, String)> {
    let none = BTreeMap::new();
    let (old, texts) = before.map_or((&none, None), |root| (&root.files, Some(&root.texts)));
    let mut all: Vec<&PathBuf> = old.keys().chain(now.keys()).collect();
    all.sort();
    all.dedup();
    let mut found = Vec::new();
    for path in all {
        if old.get(path) == now.get(path).map(|seen| &seen.sha256) {
            continue;
        }
        let was = texts.and_then(|texts| texts.get(path));
        let is = now.get(path).and_then(|seen| seen.text.as_ref());
        let unknown = (was.is_none() && old.contains_key(path)) || (is.is_none() && now.contains_key(path));
        let text = if unknown {
            let (was, is) = (old.get(path).map_or("none", String::as_str), now.get(path).map_or("none", |seen| seen.sha256.as_str()));
            format!("{}\nold: {was}\nnew: {is}\n", shown::path(path))
        } else {
            match diff::difference(&path.to_string_lossy(), was.map(String::as_bytes), is.map(String::as_bytes)) {
                Difference::Text(text) | Difference::Digest(text) => text,
                Difference::None => continue,
            }
        };
        found.push((path.clone(), text));
    }
    found
}

/// Grants trust in a directory as it is; the grants of the same directory before it are taken back.
///
/// # Errors
/// Where it can't be written.
pub fn grant(
    state: &Path,
    root: &Path,
    files: &BTreeMap<PathBuf, Seen>,
    before: &[String],
    at: Timestamp,
    salt: &str,
) -> Result<String, TrustError> {
    let name = root.to_str().ok_or_else(|| TrustError::Name(root.to_owned()))?;
    let digests: BTreeMap<PathBuf, String> = files.iter().map(|(path, seen)| (path.clone(), seen.sha256.clone())).collect();
    let content = content(&digests);
    let stamp = time::to_second(at);
    let parts = [b"trust".as_slice(), stamp.as_bytes(), salt.as_bytes()];
    let id: String = digest::sha256_of_parts(parts.iter().copied()).chars().take(12).collect();
    let entry = |(path, seen): (&PathBuf, &Seen)| {
        let mut entry = Map::from_iter([("sha256".to_owned(), json!(seen.sha256))]);
        entry.extend(seen.text.as_ref().map(|text| ("text".to_owned(), json!(text))));
        (path.to_string_lossy().into_owned(), Value::Object(entry))
    };
    let list = json!({ "schema": 1, "root": name, "files": files.iter().map(entry).collect::<Map<_, _>>() });
    let path = list_file(state, &id);
    if let Some(folder) = path.parent() {
        disk::make_dirs(folder)?;
    }
    // The list first: a grant without one trusts nothing.
    disk::write_new(&path, format!("{list}\n").as_bytes(), 0o600)?;
    let line = json!({
        "schema": 1, "at": stamp, "event": "granted", "id": id, "kind": KIND, "root": name, "content": content, "files": files.len(),
    });
    let mut lines: Vec<Value> = before.iter().map(|id| grants::revoke_line(id, at)).collect();
    lines.push(line);
    grants::append(state, &lines)?;
    let_go(state, root);
    Ok(id)
}

/// Removes the lists of a directory that no grant names any more: of those taken back, and of runs that were killed
/// between the list and its grant. One that stays says nothing.
pub fn let_go(state: &Path, root: &Path) {
    let Ok(standing) = grants::read(state) else { return };
    for entry in disk::list(&state.join("trust")).unwrap_or_default() {
        let path = state.join("trust").join(&entry.name);
        let is_named = standing.all.iter().any(|grant| list_file(state, &grant.id) == path);
        if is_named {
            continue;
        }
        let list = disk::read_bounded(&path, MAX_LIST * 4).ok().flatten().unwrap_or_default();
        let list = serde_json::from_slice::<Value>(&list).unwrap_or_default();
        if list.get("root").and_then(Value::as_str).is_some_and(|name| Path::new(name) == root) {
            let _ = disk::remove_file(&path);
        }
    }
}

/// Takes the grants of a directory back.
///
/// # Errors
/// Where it can't be written.
pub fn revoke(state: &Path, root: &Path, ids: &[String], at: Timestamp) -> Result<(), PathError> {
    let lines: Vec<Value> = ids.iter().map(|id| grants::revoke_line(id, at)).collect();
    grants::append(state, &lines)?;
    let_go(state, root);
    Ok(())
}
