//! A harness that looks for a file where a call does not say: Gemini CLI's `replace` takes a relative path
//! that is not there for the end of a longer one, searches the workspace, and changes the file it finds.

use std::collections::VecDeque;
use std::path::{Component, Path, PathBuf};

use super::event::Event;
use crate::custody::act::{Act, ActKind};
use crate::sys::disk::{self, Kind};

/// How many directories are looked through. Gemini CLI takes fifty, without those that git ignores.
const MOST: usize = 2_000;

/// What else the call may change; `None` where not everything could be looked through.
pub(super) fn acts(harness: &str, event: &Event) -> Option<Vec<Act>> {
    let Some(cwd) = event.cwd.as_deref().filter(|_| harness == "gemini" && event.tool == "replace") else { return Some(Vec::new()) };
    let Some(text) = event.input.get("file_path").and_then(serde_json::Value::as_str) else { return Some(Vec::new()) };
    let wanted: PathBuf = Path::new(text).components().filter(|part| *part != Component::CurDir).collect();
    let plain = wanted.components().all(|part| matches!(part, Component::Normal(_)));
    if !plain || wanted.as_os_str().is_empty() || !matches!(disk::look_through(&cwd.join(&wanted)), Ok(None)) {
        return Some(Vec::new());
    }
    let (mut queue, mut seen, mut found) = (VecDeque::from([cwd.to_owned()]), 0, Vec::new());
    while let Some(dir) = queue.pop_front() {
        seen += 1;
        if seen > MOST {
            return None;
        }
        let git = |name: &std::ffi::OsStr| name == ".git";
        // A directory that can't be read holds nothing for the harness either.
        for entry in disk::list(&dir).unwrap_or_default() {
            let path = dir.join(&entry.name);
            match entry.kind {
                Kind::Dir if !git(&entry.name) => queue.push_back(path),
                // It compares the text of the path, so that the first name may be the end of one.
                Kind::File
                    if Some(entry.name.as_os_str()) == wanted.file_name()
                        && path.to_string_lossy().ends_with(text.trim_start_matches("./")) =>
                {
                    found.push(path)
                }
                _ => {}
            }
        }
    }
    Some(found.into_iter().map(|path| Act { kind: ActKind::Write, path, follow: true, below: false }).collect())
}
