//! Taking the relays out.

use std::path::{Path, PathBuf};

use super::bare::bare;
use super::file::{may_write, read, text};
use super::receipt::Receipt;
use super::whole::targets;
use super::{Change, ConnectError, Edit, Ground, Reach, link, trust};
use crate::hooks::harness::Adapter;
use crate::sys::disk;
use crate::sys::plan::{Plan, Step};

/// What taking the relays out takes.
///
/// # Errors
/// As [`connect`](super::connect).
pub fn disconnect(adapter: &Adapter, reach: &Reach, ground: &Ground<'_>) -> Result<Change, ConnectError> {
    let file = ground.file(adapter, reach)?;
    let mut change =
        Change { file: file.clone(), edits: Vec::new(), foreign: Vec::new(), trusted: 0, folders: Vec::new(), plan: Plan::default() };
    let mut let_go = 0;
    let mut targets = targets(adapter, file, None)?;
    // The folder goes with the file that it came with, which was the first one.
    targets.reverse();
    for target in targets {
        let_go += usize::from(take_out(adapter, &target.file, ground, &mut change)?);
    }
    let_go += change.trusted;
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
pub(super) fn take_out(adapter: &Adapter, file: &Path, ground: &Ground<'_>, change: &mut Change) -> Result<bool, ConnectError> {
    let before = read(file)?;
    let kept = Receipt::read(ground.state, adapter.name, file)?;
    let after = bare(adapter, file, before.as_deref(), kept.as_ref(), ground.state)?;
    let mut trusted = None;
    if let (Some(_), Some(now)) = (&kept, &before) {
        let (edit, gone) = trust::take_back(adapter, ground, file, text(file, Some(now))?, &mut change.plan)?;
        change.trusted += usize::from(gone);
        trusted = edit;
    }
    if let Some(was) = before.clone().filter(|_| before != after) {
        may_write(file)?;
        match after.clone() {
            Some(data) => change.plan.steps.push(Step::Write { path: file.to_owned(), data, mode: None, was: Some(was) }),
            None => {
                let mode = disk::look(file)?.map_or(0o644, |meta| meta.mode);
                change.plan.steps.push(Step::Remove { path: file.to_owned(), was, mode });
                // The folders that came with it go with the last of the files, from the innermost on, as far as they
                // are empty.
                for folder in kept.iter().flat_map(|receipt| &receipt.folders) {
                    if !change.folders.contains(folder) {
                        change.folders.push(folder.clone());
                    }
                }
                change.folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
                let going = |step: &Step| matches!(step, Step::Remove { .. } | Step::RemoveDir { .. }).then(|| step.path().to_owned());
                let mut inner: Vec<PathBuf> = change.plan.steps.iter().filter_map(going).collect();
                for folder in &change.folders {
                    let alone = disk::list(folder).is_ok_and(|there| there.iter().all(|entry| inner.contains(&folder.join(&entry.name))));
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
    if before.is_some() || file == change.file {
        change.edits.push(Edit { file: file.to_owned(), before, after });
    }
    change.edits.extend(trusted);
    Ok(kept.is_some())
}
