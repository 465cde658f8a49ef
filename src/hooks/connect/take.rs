//! Taking the relays out.

use std::path::PathBuf;

use super::bare::bare;
use super::file::{may_write, read, text};
use super::ground::Spot;
use super::receipt::Receipt;
use super::whole::targets;
use super::{Change, ConnectError, Edit, Ground, Reach, link, trust};
use crate::hooks::harness::Adapter;
use crate::sys::disk::{self, Kind};
use crate::sys::plan::Step;

/// What taking the relays out takes.
///
/// # Errors
/// As [`connect`](super::connect).
pub fn disconnect(adapter: &Adapter, reach: &Reach, ground: &Ground<'_>) -> Result<Change, ConnectError> {
    let spot = ground.spot(adapter, reach)?;
    let mut change = Change::of(&spot);
    let mut let_go = 0;
    let known =
        Receipt::read(ground.state, adapter.name, &spot)?.is_some() || !Receipt::elsewhere(ground.state, adapter.name, &spot).is_empty();
    let mut trusted = None;
    if known {
        // First: the folder that both lie in goes with the last of them.
        let now = read(&spot.file)?;
        let (edit, gone) = trust::take_back(adapter, ground, &spot, text(&spot.file, now.as_deref())?, &mut change.plan)?;
        let_go += usize::from(gone);
        trusted = edit;
    }
    let mut targets = targets(adapter, spot.clone(), None)?;
    // The folder goes with the file that it came with, which was the first one.
    targets.reverse();
    for target in targets {
        let_go += usize::from(take_out(adapter, &target.spot, ground, &mut change)?);
        // What was put where the name has led before goes as well.
        for old in Receipt::elsewhere(ground.state, adapter.name, &target.spot) {
            let spot = Spot { name: target.spot.name.clone(), file: old.file };
            if disk::is_file(&spot.file) {
                let_go += usize::from(take_out(adapter, &spot, ground, &mut change)?);
            }
        }
    }
    change.edits.extend(trusted);
    // Relays that are part of a project, of which nothing is kept here, may call it still: it goes only where connecting has
    // made it.
    let mark = link::made(ground.state);
    if let_go > 0
        && Receipt::count(ground.state)? <= let_go
        && let Some(was) = disk::read_if_there(&mark)?
    {
        link::take(&mut change.plan, &ground.link())?;
        change.plan.steps.push(Step::Remove { path: mark, was, mode: 0o600 });
    }
    Ok(change)
}

/// Takes what is ours out of one file; whether there was a receipt for it.
pub(super) fn take_out(adapter: &Adapter, spot: &Spot, ground: &Ground<'_>, change: &mut Change) -> Result<bool, ConnectError> {
    let file = &spot.file;
    let before = read(file)?;
    let kept = Receipt::read(ground.state, adapter.name, spot)?;
    let after = bare(adapter, spot, before.as_deref(), kept.as_ref(), ground.state)?;
    if let Some(was) = before.clone().filter(|_| before != after) {
        may_write(file)?;
        match after.clone() {
            Some(data) => change.plan.steps.push(Step::Write { path: file.to_owned(), data, mode: None, was: Some(was) }),
            None => {
                let mode = disk::look(file)?.map_or(0o644, |meta| meta.mode);
                change.plan.steps.push(Step::Remove { path: file.to_owned(), was, mode });
                // Somebody has moved our file and linked to it: the link would lead nowhere.
                if let Some(Kind::Link) = disk::look(&spot.name)?.map(|meta| meta.kind)
                    && disk::canonical(&spot.name).is_ok_and(|leads| leads == *file)
                {
                    change.plan.steps.push(Step::Unlink { path: spot.name.clone(), target: disk::read_link(&spot.name)? });
                }
                // The folders that came with it go with the last of the files, from the innermost on, as far as they
                // are empty.
                for folder in kept.iter().flat_map(|receipt| &receipt.folders) {
                    if !change.folders.contains(folder) {
                        change.folders.push(folder.clone());
                    }
                }
                change.folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
                let going = |step: &Step| {
                    matches!(step, Step::Remove { .. } | Step::RemoveDir { .. } | Step::Unlink { .. }).then(|| step.path().to_owned())
                };
                let mut inner: Vec<PathBuf> = change.plan.steps.iter().filter_map(going).collect();
                for folder in &change.folders {
                    // One that is a link now is somebody's own.
                    let is_dir = disk::look(folder)?.is_some_and(|meta| meta.kind == Kind::Dir);
                    let alone =
                        is_dir && disk::list(folder).is_ok_and(|there| there.iter().all(|entry| inner.contains(&folder.join(&entry.name))));
                    if !alone {
                        break;
                    }
                    change.plan.steps.push(Step::RemoveDir { path: folder.clone() });
                    inner.push(folder.clone());
                }
            }
        }
    }
    if let Some(receipt) = &kept {
        receipt.remove(&mut change.plan, ground.state)?;
    }
    if before.is_some() || *file == change.file {
        change.edits.push(Edit { file: file.to_owned(), before, after });
    }
    Ok(kept.is_some())
}
