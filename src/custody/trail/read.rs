//! A trail as it is read: by people, by a delegation for what was read before, by the gate's relay.

use std::path::{Path, PathBuf};

use super::{MAX_FILE, MAX_READS, MAX_TAIL, Read, Step, file, named, older};
use crate::custody::act::ActKind;
use crate::sys::disk::{self, PathError};
use crate::sys::shown;

/// What a trail says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trail {
    /// The steps, oldest first.
    pub steps: Vec<Step>,
    /// How many lines can't be read, a torn last one among them.
    pub skipped: usize,
    /// Whether older steps were cut off.
    pub cut: bool,
}

/// Reads the trail of a session; `None` where there is none.
///
/// # Errors
/// Where it is there and can't be read.
pub fn read(state: &Path, session: &str) -> Result<Option<Trail>, PathError> {
    read_file(&file(state, session), MAX_FILE * 2, "")
}

/// `needle` is what a line has to hold to be looked at: reading JSON is what costs.
fn read_file(file: &Path, max: u64, needle: &str) -> Result<Option<Trail>, PathError> {
    let mut trail = Trail::default();
    let mut there = false;
    for half in [older(file), file.to_owned()] {
        if disk::look(&half)?.is_none() {
            continue;
        }
        let (data, more) = disk::read_end(&half, max)?;
        // A beginning that was cut off is no broken line.
        let skip = if more { data.iter().position(|byte| *byte == b'\n').map_or(data.len(), |at| at + 1) } else { 0 };
        trail.cut |= more;
        there = true;
        for line in data.get(skip..).unwrap_or_default().split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            if !needle.is_empty() && !std::str::from_utf8(line).is_ok_and(|line| line.contains(needle)) {
                continue;
            }
            match serde_json::from_slice(line) {
                Ok(step) => trail.steps.push(step),
                Err(_) => trail.skipped += 1,
            }
        }
    }
    Ok(there.then_some(trail))
}

/// The session whose trail was written last: the name of its file.
///
/// # Errors
/// Where the folder can't be read.
pub fn newest(state: &Path) -> Result<Option<String>, PathError> {
    let folder = state.join("trail");
    if disk::look(&folder)?.is_none() {
        return Ok(None);
    }
    let mut newest = None;
    for entry in disk::list(&folder)? {
        let Some(name) = entry.name.to_str().and_then(|name| name.strip_suffix(".jsonl")) else { continue };
        if let Some(meta) = disk::look(&folder.join(&entry.name))? {
            newest = newest.max(Some((meta.mtime_ns, name.to_owned())));
        }
    }
    Ok(newest.map(|(_, name)| name))
}

/// Reads the trail whose file has this name, as [`newest`] gives it.
///
/// # Errors
/// As [`read`].
pub fn read_named(state: &Path, name: &str) -> Result<Option<Trail>, PathError> {
    read_file(&named(state, name), MAX_FILE * 2, "")
}

/// What a session has read, newest last, each file and range once. What can't be read of the trail
/// says nothing.
#[must_use]
pub fn reads(state: &Path, session: &str) -> Vec<Read> {
    let Ok(Some(trail)) = read_file(&file(state, session), MAX_TAIL, "\"act\":\"read\"") else { return Vec::new() };
    let mut reads: Vec<Read> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for step in trail.steps.iter().rev() {
        for touched in step.acts.iter().rev().filter(|touched| touched.act == ActKind::Read) {
            if reads.len() < MAX_READS && seen.insert((touched.path.as_str(), touched.lines)) {
                reads.push(Read { path: PathBuf::from(&touched.path), lines: touched.lines });
            }
        }
    }
    reads.reverse();
    reads
}

/// Whether a call was refused by the gate in this session: then it did not happen, whatever is said
/// after it.
#[must_use]
pub fn was_refused(state: &Path, session: &str, call: &str) -> bool {
    let Ok(Some(trail)) = read_file(&file(state, session), MAX_TAIL, "\"refused\":") else { return false };
    trail.steps.iter().rev().any(|step| !step.refused.is_empty() && step.call.as_deref() == Some(call))
}

/// One step for people, on one line.
#[must_use]
pub fn line(step: &Step) -> Vec<String> {
    let acts = step.acts.iter().map(|touched| {
        let lines = touched.lines.map(|(first, last)| format!(":{first}-{last}")).unwrap_or_default();
        format!("{} {}{lines}", touched.act.word(), shown::text(&touched.path))
    });
    let mut acts: Vec<String> = acts.collect();
    if step.more > 0 {
        acts.push(format!("(and {} more)", step.more));
    }
    let who = step.sub_agent.as_ref().map_or_else(|| step.agent.clone(), |sub| format!("{}/{sub}", step.agent));
    let how = if !step.refused.is_empty() {
        "refused"
    } else if step.passed {
        "passed"
    } else {
        "failed"
    };
    vec![
        shown::text(&step.at).to_string(),
        shown::text(&who).to_string(),
        shown::text(&step.tool).to_string(),
        how.to_owned(),
        acts.join(", "),
    ]
}
