//! The trail: what a session did, step by step, in `trail/` of the state folder.
//!
//! It tells; nothing is decided by it. One JSON object a line, appended after each tool call by the
//! after-tool relay, and by the gate for what it refused. A trail that grows long is cut: the file
//! becomes the older half, and a new one begins.

mod read;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::act::{Act, ActKind};
use super::asker;
use super::delegation::{Delivery, Read};
use super::ruling::{Ruling, Why};
use crate::sys::disk::{self, PathError};
use crate::sys::lock::{self, LockError};
pub use read::{Trail, line, newest, read, read_named, reads, was_refused};

/// The length at which a trail's file becomes its older half, in bytes.
pub const MAX_FILE: u64 = 2 << 20;

/// The most acts of one step that are recorded; further ones are counted.
const MAX_ACTS: usize = 64;

/// The most reads that a delegation carries.
const MAX_READS: usize = 200;

/// The most of a trail that is looked through for them: somebody waits.
const MAX_TAIL: u64 = 128 << 10;

/// One step of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// When: RFC 3339, whole seconds.
    pub at: String,
    /// Who: the agent's id, or `nobody`.
    pub agent: String,
    /// Which sub-agent of it, where the harness tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_agent: Option<String>,
    /// Under which harness.
    pub harness: String,
    /// With which tool.
    pub tool: String,
    /// The id of the call, where the harness gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The nearest directory with a dotdir up from where the agent stood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// What it did, path by path.
    #[serde(default)]
    pub acts: Vec<Touched>,
    /// How many acts are not recorded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: usize,
    /// Custody let it, nothing says that it failed, and what it says it wrote is there.
    pub passed: bool,
    /// Why it was refused, act by act; empty where it was not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Grounds>,
    /// The messages that it became.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filed: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// What a step did to one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    /// What.
    pub act: ActKind,
    /// To which: the real path where that is known.
    pub path: String,
    /// First and last line of a read, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u64, u64)>,
    /// The digest of what stood there afterwards, of a write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// Why one act was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grounds {
    /// The path.
    pub path: String,
    /// Whose it is.
    pub owner: String,
    /// The word of the judge: `owned`, `wall`, …; of a hook `hook: ` and its reason.
    pub why: String,
    /// The file that decided, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// The line in it, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

impl Grounds {
    /// The grounds of a ruling, bounded.
    #[must_use]
    pub fn of(ruling: &Ruling) -> Vec<Self> {
        let one = |act: &super::ActRuling| Self {
            path: act.path().to_string_lossy().into_owned(),
            owner: act.owner.as_ref().map_or("somebody", |owner| owner.who.name()).to_owned(),
            why: match &act.why {
                Why::Broken(why) => format!("broken-owner-file: {why}"),
                other => other.word().to_owned(),
            },
            decided_by: act.decided_by.as_deref().map(|path| path.to_string_lossy().into_owned()),
            line: act.line,
        };
        ruling.refused().take(MAX_ACTS).map(one).collect()
    }
}

/// The recorded form of some acts, and how many were left out.
#[must_use]
pub fn touched(acts: &[Act], lines: Option<(u64, u64)>) -> (Vec<Touched>, usize) {
    let one = |act: &Act| Touched {
        act: act.kind,
        path: act.path.to_string_lossy().into_owned(),
        lines: lines.filter(|_| act.kind == ActKind::Read),
        sha256: None,
    };
    (acts.iter().take(MAX_ACTS).map(one).collect(), acts.len().saturating_sub(MAX_ACTS))
}

/// The ids of the messages that were filed.
#[must_use]
pub fn filed(deliveries: &[Delivery]) -> Vec<String> {
    deliveries.iter().filter_map(|delivery| Some(delivery.outcome.as_ref().ok()?.id.clone())).collect()
}

/// The file of a session's trail.
#[must_use]
pub fn file(state: &Path, session: &str) -> PathBuf {
    named(state, &asker::session_name(session))
}

fn named(state: &Path, name: &str) -> PathBuf {
    state.join("trail").join(format!("{name}.jsonl"))
}

/// Where a file's older half lies.
fn older(file: &Path) -> PathBuf {
    file.with_extension("jsonl.old")
}

/// Makes a file that has become long the older half of its trail. One process at a time, and each looks for itself: to
/// whoever comes second the file is short again, and renaming that one would throw away the half that was just kept.
fn rotate(file: &Path) -> Result<(), PathError> {
    let Some(folder) = file.parent() else { return Ok(()) };
    let _lock = match lock::of_dir(folder, Duration::ZERO) {
        Ok(lock) => lock,
        // Somebody does it now; else the next step finds the file long again.
        Err(LockError::Held { .. }) => return Ok(()),
        Err(LockError::Disk(error)) => return Err(error),
    };
    match disk::look(file)? {
        Some(meta) if meta.len >= MAX_FILE => disk::rename(file, &older(file)),
        _ => Ok(()),
    }
}

/// Appends a step. A file that has become long is renamed first: whoever appends to it at the same time
/// appends to the older half, and nothing is lost.
///
/// # Errors
/// Where it can't be written. The step happened all the same.
pub fn append(state: &Path, session: &str, step: &Step) -> Result<(), PathError> {
    let file = file(state, session);
    match disk::look(&file)? {
        None => {
            if let Some(folder) = file.parent() {
                disk::make_dirs(folder)?;
            }
        }
        Some(meta) if meta.len >= MAX_FILE => rotate(&file)?,
        Some(_) => {}
    }
    let Ok(mut line) = serde_json::to_vec(step) else { return Ok(()) };
    line.push(b'\n');
    disk::append_unsynced(&file, &line)
}

/// Takes away trails whose last step is older than this instant (nanoseconds since 1970); says how
/// many.
///
/// # Errors
/// Where the folder can't be read or one can't be taken away.
pub fn prune(state: &Path, before_ns: i128) -> Result<usize, PathError> {
    let folder = state.join("trail");
    if disk::look(&folder)?.is_none() {
        return Ok(0);
    }
    let mut gone = 0;
    for entry in disk::list(&folder)? {
        let path = folder.join(&entry.name);
        let ours = entry.name.to_str().is_some_and(|name| name.ends_with(".jsonl") || name.ends_with(".jsonl.old"));
        if ours && disk::look(&path)?.is_some_and(|meta| meta.kind == disk::Kind::File && meta.mtime_ns < before_ns) {
            disk::remove_file(&path)?;
            gone += 1;
        }
    }
    Ok(gone)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests lay files out themselves")]

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("loci-trail-{}-{name}", std::process::id()));
        let _ = disk::remove_tree(&dir);
        dir
    }

    fn step(path: &str, lines: Option<(u64, u64)>) -> Step {
        let act = Act { kind: ActKind::Read, path: path.into(), follow: true, below: false };
        let (acts, more) = touched(&[act], lines);
        Step {
            at: "t".into(),
            agent: "alice".into(),
            sub_agent: None,
            harness: "claude".into(),
            tool: "Read".into(),
            call: Some("c".into()),
            place: None,
            acts,
            more,
            passed: true,
            refused: Vec::new(),
            filed: Vec::new(),
        }
    }

    #[test]
    fn reads_come_newest_last_and_once() {
        let state = scratch("reads");
        for (path, lines) in [("/a", None), ("/b", Some((1, 9))), ("/a", None), ("/b", Some((5, 9))), ("/c\n\u{1b}", None)] {
            append(&state, "s", &step(path, lines)).unwrap();
        }
        let reads: Vec<(String, Option<(u64, u64)>)> =
            reads(&state, "s").into_iter().map(|read| (read.path.to_string_lossy().into_owned(), read.lines)).collect();
        assert_eq!(reads, [("/b".into(), Some((1, 9))), ("/a".into(), None), ("/b".into(), Some((5, 9))), ("/c\n\u{1b}".into(), None)]);
        assert!(!line(&step("/c\n\u{1b}", None)).concat().contains(['\n', '\u{1b}']));
        disk::remove_tree(&state).unwrap();
    }

    #[test]
    fn a_trail_is_cut_and_hostile_lines_are_counted() {
        let state = scratch("cut");
        let long = format!("/{}", "x".repeat(60_000));
        for _ in 0..120 {
            append(&state, "s", &step(&long, None)).unwrap();
        }
        let file = file(&state, "s");
        let len = |path: &Path| disk::look(path).unwrap().unwrap().len;
        assert!(len(&file) <= MAX_FILE + 70_000 && len(&older(&file)) <= MAX_FILE + 70_000);
        for odd in ["{\"at\":7}\n", "[]\n", "\u{0}\u{0}\n", "{\"acts\":[{\"act\":\"fly\",\"path\":\"/\"}]}\n", "{\"at\":\"torn"] {
            disk::append_unsynced(&file, odd.as_bytes()).unwrap();
        }
        append(&state, "s", &step("/last", None)).unwrap();
        let trail = read(&state, "s").unwrap().unwrap();
        assert_eq!((trail.skipped, trail.steps.last().unwrap().acts[0].path.as_str()), (5, "/last"));
        assert!(trail.steps.len() > 30 && trail.steps.len() < 121);
        assert_eq!(read(&state, "other").unwrap(), None);
        disk::remove_tree(&state).unwrap();
    }

    /// Two find the file long at the same time: the second must not put the few new steps over the older half.
    #[test]
    fn who_comes_second_leaves_the_older_half() {
        let state = scratch("second");
        let long = format!("/{}", "x".repeat(60_000));
        let mut count = 0;
        while disk::look(&file(&state, "s")).unwrap().is_none_or(|meta| meta.len < MAX_FILE) {
            append(&state, "s", &step(&long, None)).unwrap();
            count += 1;
        }
        rotate(&file(&state, "s")).unwrap();
        append(&state, "s", &step("/new", None)).unwrap();
        rotate(&file(&state, "s")).unwrap();
        let held = lock::of_dir(&state.join("trail"), Duration::ZERO).unwrap();
        rotate(&file(&state, "s")).unwrap();
        drop(held);
        assert_eq!(read(&state, "s").unwrap().unwrap().steps.len(), count + 1);
        disk::remove_tree(&state).unwrap();
    }

    #[test]
    fn a_trail_that_many_write_loses_no_step_where_it_becomes_long() {
        let state = scratch("many");
        let long = format!("/{}", "x".repeat(60_000));
        let mut count = 0;
        while disk::look(&file(&state, "s")).unwrap().is_none_or(|meta| meta.len < MAX_FILE) {
            append(&state, "s", &step(&long, None)).unwrap();
            count += 1;
        }
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| append(&state, "s", &step("/new", None)).unwrap());
            }
        });
        assert_eq!(read(&state, "s").unwrap().unwrap().steps.len(), count + 16);
        disk::remove_tree(&state).unwrap();
    }

    #[test]
    fn a_step_with_very_many_acts_is_bounded() {
        let act = Act { kind: ActKind::Write, path: "/a".into(), follow: true, below: false };
        let (acts, more) = touched(&vec![act; 1_000], Some((1, 2)));
        assert_eq!((acts.len(), more, acts[0].lines), (64, 936, None));
    }
}
