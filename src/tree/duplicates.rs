//! What was found a second time: dropped, or said.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::diagnostic::{Code, Diagnostic};
use super::find::Item;
use super::resolve::{Dropped, Found, Provenance, Same};
use super::slot::{Grammar, Row};
use crate::text::header::Header;

/// A file that may be handed out.
pub(super) struct Candidate {
    /// The position of its level on the ladder.
    pub(super) level: usize,
    pub(super) provenance: Provenance,
    pub(super) item: Item,
    pub(super) header: Header,
    pub(super) bytes: Vec<u8>,
}

/// Keeps of equal files the one at the nearest level, and within one level the first.
pub(super) fn drop_them(candidates: Vec<Candidate>, row: &Row, diagnostics: &mut Vec<Diagnostic>) -> (Vec<Found>, Vec<Dropped>) {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|at| candidates.get(*at).map(|one| (std::cmp::Reverse(one.level), *at)));
    let mut files: HashMap<&Path, usize> = HashMap::new();
    let mut contents: HashMap<(&[u8], Option<&std::ffi::OsStr>), usize> = HashMap::new();
    let mut gone: HashMap<usize, (usize, Same)> = HashMap::new();
    for at in order {
        let Some(one) = candidates.get(at) else { continue };
        if let Some(kept) = files.get(one.item.real.as_path()) {
            gone.insert(at, (*kept, Same::File));
            continue;
        }
        // A skill counts with the name of its folder.
        let folder = if row.is_folder_item() { one.item.rel.parent().and_then(Path::file_name) } else { None };
        if let Some(kept) = contents.get(&(one.bytes.as_slice(), folder)) {
            gone.insert(at, (*kept, Same::Content));
            continue;
        }
        contents.insert((&one.bytes, folder), at);
        files.insert(&one.item.real, at);
    }
    let paths: Vec<PathBuf> = candidates.iter().map(|one| one.item.path.clone()).collect();
    let (mut found, mut dropped) = (Vec::new(), Vec::new());
    for (at, one) in candidates.into_iter().enumerate() {
        let Candidate { provenance, item: Item { rel, path, real }, header, bytes, .. } = one;
        match gone.get(&at) {
            None => found.push(Found { path, real, rel, provenance, header, bytes }),
            Some((kept, same)) => {
                let kept = paths.get(*kept).cloned().unwrap_or_default();
                if *same == Same::Content {
                    let text = format!("has the same content as {}, which stays", crate::sys::shown::path(&kept));
                    diagnostics.push(Diagnostic::new(Code::DuplicateContent, &path, &text));
                }
                dropped.push(Dropped { path, rel, provenance, kept, same: *same });
            }
        }
    }
    (found, dropped)
}

/// Says where one level has two things of one name.
pub(super) fn say_names(files: &[Found], row: &Row, diagnostics: &mut Vec<Diagnostic>) {
    if matches!(row.grammar, Grammar::Named { .. }) {
        return;
    }
    let mut paths: HashMap<(&Path, &Path), &Path> = HashMap::new();
    let mut names: HashMap<(&Path, &str), &Path> = HashMap::new();
    for file in files {
        let level = file.provenance.level.as_path();
        let by_path = paths.insert((level, &file.rel), &file.path);
        let by_name = file.header.text("name").filter(|_| row.is_folder_item()).and_then(|name| names.insert((level, name), &file.path));
        if let Some(first) = by_path.or(by_name) {
            let text = format!("has the same name as {}", crate::sys::shown::path(first));
            diagnostics.push(Diagnostic::new(Code::DuplicateName, &file.path, &text));
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::text::header;
    use crate::tree::resolve::RootKind;
    use crate::tree::slot;

    #[test]
    fn many_files_of_one_length_are_told_apart_in_one_go() {
        let candidate = |at: usize| {
            let path = PathBuf::from(format!("/r/.loci/rules/{at}.md"));
            let provenance = Provenance { root: RootKind::Launch, level: "/r".into(), dotdir: ".loci".to_owned(), via: None };
            // Alike up to the last bytes, so that each comparison goes to the end; every hundredth is a twin.
            let bytes = format!("{}{:08}", "x".repeat(512), if at.is_multiple_of(100) { 0 } else { at }).into_bytes();
            let item = Item { rel: format!("{at}.md").into(), real: path.clone(), path };
            Candidate { level: 0, provenance, item, header: header::parse(b""), bytes }
        };
        // Each with each would be 800 million comparisons: then this does not end.
        let candidates: Vec<Candidate> = (0..40_000).map(candidate).collect();
        let (found, dropped) = drop_them(candidates, &slot::row("rules"), &mut Vec::new());
        assert_eq!((found.len(), dropped.len()), (39_601, 399));
    }
}
