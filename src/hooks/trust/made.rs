//! What `loci new` itself wrote for a person on this machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{MAX_LIST, Root, SLOTS, SURFACES};
use crate::sys::disk::{self, PathError};
use crate::sys::time::{self, Timestamp};
use crate::text::digest;

fn made_file(state: &Path) -> PathBuf {
    state.join("bodies.jsonl")
}

/// What of the files that `loci new` writes is trusted for it, with their digests: what [`inside`](fn@super::inside) would find.
#[must_use]
pub fn written<'a>(files: impl Iterator<Item = (&'a Path, &'a [u8])>) -> BTreeMap<PathBuf, String> {
    let concerned = |rel: &Path| {
        let last = rel.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        last == "agent.md" || SURFACES.contains(&last) || rel.iter().any(|part| SLOTS.iter().any(|slot| part == *slot))
    };
    files.filter(|(rel, _)| concerned(rel)).map(|(rel, data)| (rel.to_owned(), digest::sha256(data))).collect()
}

/// Remembers what is written into a body (real) that is made here; or, with `is` unset, that nothing came of it.
///
/// # Errors
/// Where it can't be written.
pub fn remember_made(state: &Path, body: &Path, files: &BTreeMap<PathBuf, String>, is: bool, at: Timestamp) -> Result<(), PathError> {
    let Some(name) = body.to_str() else { return Ok(()) };
    let files: Map<String, Value> = files.iter().filter_map(|(rel, sha)| Some((rel.to_str()?.to_owned(), json!(sha)))).collect();
    disk::make_dirs(state)?;
    let line = json!({ "schema": 1, "at": time::to_second(at), "body": name, "made": is, "files": files });
    disk::append(&made_file(state), format!("{line}\n").as_bytes())
}

/// What was written into bodies that were made here. A line without files, of an older version, trusts nothing: it
/// says only that something was made at that path once.
pub(super) fn made(state: &Path) -> Result<Vec<Root>, PathError> {
    let path = made_file(state);
    if disk::look(&path)?.is_none() {
        return Ok(Vec::new());
    }
    let (data, _) = disk::read_end(&path, MAX_LIST)?;
    let mut made: BTreeMap<PathBuf, BTreeMap<PathBuf, String>> = BTreeMap::new();
    for line in data.split(|byte| *byte == b'\n') {
        let Ok(record) = serde_json::from_slice::<Value>(line) else { continue };
        let Some(body) = record.get("body").and_then(Value::as_str).map(PathBuf::from) else { continue };
        let said = record.get("files").and_then(Value::as_object);
        let files = said.into_iter().flatten().filter_map(|(rel, sha)| Some((PathBuf::from(rel), sha.as_str()?.to_owned())));
        let known = made.entry(body).or_default();
        if record.get("made") == Some(&Value::Bool(true)) {
            known.extend(files);
        } else {
            for (rel, sha) in files {
                if known.get(&rel) == Some(&sha) {
                    known.remove(&rel);
                }
            }
        }
    }
    let root = |(path, files)| Root { id: String::new(), path, files, texts: BTreeMap::new() };
    Ok(made.into_iter().filter(|(_, files)| !files.is_empty()).map(root).collect())
}
