//! What is there after a run, and what is missing.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::stamp::{Stamp, Stamps, members};
use super::{Count, Deliverable, regex};
use crate::sys::disk::{self, Kind};
use crate::sys::shown;

/// The longest file that is looked into.
const MAX_READ: u64 = 64 << 20;

/// A deliverable that is not there as it has to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lack {
    /// The deliverable, as the job names it.
    pub path: String,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", shown::text(&self.path), shown::text(&self.why))
    }
}

/// Looks at every deliverable. Nothing missing: the run succeeded. `dir` is the real directory of the
/// job, `before` what stood there when the run began.
#[must_use]
pub fn judge(dir: &Path, deliverables: &[Deliverable], before: &Stamps) -> Vec<Lack> {
    deliverables
        .iter()
        .filter_map(|one| {
            let why = if one.is_glob() { many(dir, one, before) } else { single(dir, one, &one.path, before) }?;
            Some(Lack { path: one.path.to_string(), why })
        })
        .collect()
}

/// What a pattern lacks.
fn many(dir: &Path, one: &Deliverable, before: &Stamps) -> Option<String> {
    let members = match members(dir, &one.path) {
        Ok(members) => members,
        Err(error) => return Some(format!("it can't be looked at: {error}")),
    };
    let count = one.count.unwrap_or(Count { low: 1, high: u64::MAX });
    let mut wrong = None;
    let mut fresh = 0;
    for path in &members {
        match single(dir, one, path, before) {
            None => fresh += 1,
            Some(why) => wrong = wrong.or_else(|| Some(format!("; {path} {why}"))),
        }
    }
    if count.holds(fresh) {
        return None;
    }
    Some(format!("{fresh} fresh of {} there, {count} wanted{}", members.len(), wrong.unwrap_or_default()))
}

/// What one file lacks.
fn single(dir: &Path, one: &Deliverable, path: &str, before: &Stamps) -> Option<String> {
    let full = dir.join(path);
    match disk::look(&full) {
        Ok(None) => return Some("is not there".to_owned()),
        Err(error) => return Some(format!("can't be looked at: {error}")),
        Ok(Some(_)) => {}
    }
    let real = match disk::canonical(&full) {
        Ok(real) => real,
        Err(_) => return Some("is a link that leads nowhere".to_owned()),
    };
    if !real.starts_with(dir) {
        return Some("leads out of the directory of the job".to_owned());
    }
    if !matches!(disk::look(&real), Ok(Some(meta)) if meta.kind == Kind::File) {
        return Some("is no regular file".to_owned());
    }
    let Some((stamp, real)) = Stamp::of(dir, &full) else { return Some("is no file that can be read".to_owned()) };
    if let Some(was) = before.0.get(path) {
        if *was == stamp {
            return Some("is older than the run: nothing of it has changed since before".to_owned());
        }
        if one.changed && was.sha256.is_some() && was.sha256 == stamp.sha256 {
            return Some("has the same content as before the run".to_owned());
        }
    }
    if stamp.size < one.min_bytes {
        return Some(match stamp.size {
            0 => "is empty".to_owned(),
            size => format!("has {size} bytes, {} wanted", one.min_bytes),
        });
    }
    content(one, &real)
}

fn content(one: &Deliverable, real: &Path) -> Option<String> {
    if !one.json && one.matches.is_none() {
        return None;
    }
    let data = match disk::read_bounded(real, MAX_READ) {
        Ok(Some(data)) => data,
        Ok(None) => return Some(format!("is longer than {MAX_READ} bytes, too long to look into")),
        Err(error) => return Some(format!("can't be read: {error}")),
    };
    if one.json
        && let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(&data)
    {
        return Some(format!("is not JSON: {error}"));
    }
    let text = one.matches.as_ref()?;
    match regex(text) {
        Ok(regex) if regex.is_match(&data) => None,
        Ok(_) => Some(format!("has nothing that matches `{text}`")),
        Err(why) => Some(format!("can't be matched: {why}")),
    }
}
