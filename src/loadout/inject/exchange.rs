//! The new pieces are brought in beside the live ones, and exchanged.

use std::path::{Path, PathBuf};

use super::{Piece, Source, is_kept_elsewhere, name};
use crate::loadout::archive::{self, Archive, Stores};
use crate::loadout::history::{self, EMPTY, Line};
use crate::loadout::surface::Surface;
use crate::loadout::{Level, LoadoutError, digest, relay};
use crate::sys::disk::{self, Kind};
use crate::sys::journal::{self, Held, Made, Scratch};
use crate::sys::plan::{Plan, Step};
use crate::sys::{random, time};

pub(super) fn exchange(
    held: &Held,
    level: &Level,
    stores: &Stores,
    source: &Source<'_>,
    pieces: &[Piece],
    relays: &relay::Missing,
    backup: &Option<Archive>,
) -> Result<Made, LoadoutError> {
    let id = random::hex20().map_err(LoadoutError::Random)?;
    let stages: Vec<(&Piece, PathBuf)> = pieces
        .iter()
        .enumerate()
        .map(|(number, piece)| {
            let live = level.dir.join(&piece.path);
            let beside = live.parent().filter(|dir| disk::is_dir(dir)).unwrap_or(&level.dir);
            (piece, beside.join(format!(".loci-new-{id}-{number}")))
        })
        .collect();
    let empty: Vec<Scratch> = stages.iter().map(|(_, path)| Scratch { path: path.clone(), seal: None }).collect();
    held.prepare(&empty)?;
    let done = bring(level, source, relays, &stages, backup).and_then(|scratch| {
        let plan = steps(level, stores, source, &stages, backup)?;
        Ok(held.apply_with(&plan, &scratch, &is_kept_elsewhere)?)
    });
    if done.is_err() && journal::open(&level.state, &level.key()).ok().flatten().is_some_and(|entry| entry.plan.is_none()) {
        // Where even that fails, the next change does it.
        let _ = held.abandon();
    }
    done
}

/// Brings the new pieces in beside the live ones, and seals what will stand in their places.
fn bring(
    level: &Level,
    source: &Source<'_>,
    relays: &relay::Missing,
    stages: &[(&Piece, PathBuf)],
    backup: &Option<Archive>,
) -> Result<Vec<Scratch>, LoadoutError> {
    let mut scratch = Vec::new();
    for (piece, stage) in stages {
        let mut seals = Vec::new();
        if piece.how != "removed" {
            if let Source::Archive(archive) = source {
                let from = archive.files().join(&piece.path);
                if disk::look(&from)?.is_some() {
                    archive::copy_to(&from, stage, &[])?;
                }
                carry_over(level, &archive.record.surface, &piece.path, stage)?;
            }
            if relays.is_for(&piece.path) {
                relays.write(stage)?;
            }
            seals.push(of_thing(stage)?);
        }
        if piece.how != "added"
            && let Some(backup) = backup
        {
            seals.push(of_thing(&backup.files().join(&piece.path))?);
        }
        scratch.push(Scratch { path: stage.clone(), seal: Some(seals.join(",")) });
    }
    for (_, stage) in stages.iter().filter(|(piece, _)| piece.how != "removed") {
        if disk::look(stage)?.is_some_and(|meta| meta.kind != Kind::Link) {
            disk::sync_tree(stage)?;
        }
    }
    Ok(scratch)
}

/// What an archive leaves out because it must not travel stays where it is.
fn carry_over(level: &Level, surface: &Surface, piece: &Path, stage: &Path) -> Result<(), LoadoutError> {
    for path in &surface.left_out {
        let Ok(rest) = path.strip_prefix(piece) else { continue };
        let from = level.dir.join(path);
        if rest.as_os_str().is_empty() || disk::look(&from)?.is_none() {
            continue;
        }
        let to = stage.join(rest);
        if let Some(parent) = to.parent() {
            disk::make_dirs(parent)?;
        }
        archive::copy_to(&from, &to, &[])?;
    }
    Ok(())
}

fn steps(
    level: &Level,
    stores: &Stores,
    source: &Source<'_>,
    stages: &[(&Piece, PathBuf)],
    backup: &Option<Archive>,
) -> Result<Plan, LoadoutError> {
    let mut plan = Plan::default();
    for (piece, stage) in stages {
        let live = level.dir.join(&piece.path);
        match piece.how {
            "added" => {
                make_parents(&mut plan, &live)?;
                plan.steps.push(Step::Rename { from: stage.clone(), to: live });
            }
            "removed" => plan.steps.push(Step::Rename { from: live, to: stage.clone() }),
            _ => {
                let (Some(one), Some(two)) = (disk::look(&live)?, disk::look(stage)?) else {
                    return Err(LoadoutError::ChangedMeanwhile(live));
                };
                plan.steps.push(Step::Exchange { path: live, with: stage.clone(), id: one.id.1, with_id: two.id.1 });
            }
        }
    }
    let line = Line {
        schema: 1,
        at: time::to_second(time::now()),
        level: level.dir.clone(),
        name: name(source),
        hash: digest::hash(&coming(level, source, stages)?),
        was: backup.as_ref().map_or(EMPTY.to_owned(), |backup| backup.name.clone()),
        harness: source.harness().to_owned(),
        surface: source.surface().clone(),
    };
    disk::make_dirs(&stores.home)?;
    plan.steps.push(history::append(stores, &line)?);
    Ok(plan)
}

/// The directories above a piece that are not there yet, as steps.
fn make_parents(plan: &mut Plan, live: &Path) -> Result<(), LoadoutError> {
    let mut missing: Vec<PathBuf> = Vec::new();
    for dir in crate::tree::climb::up(live).skip(1) {
        let planned = plan.steps.iter().any(|step| matches!(step, Step::MakeDir { path } if path == dir));
        if planned || disk::look(dir)?.is_some() {
            break;
        }
        missing.push(dir.to_owned());
    }
    plan.steps.extend(missing.into_iter().rev().map(|path| Step::MakeDir { path }));
    Ok(())
}

/// The entries that the surface will have: those of the pieces that come in, and of those that stay.
fn coming(level: &Level, source: &Source<'_>, stages: &[(&Piece, PathBuf)]) -> Result<Vec<digest::Entry>, LoadoutError> {
    let surface = source.surface();
    let mut entries = Vec::new();
    for piece in surface.pieces() {
        match stages.iter().find(|(one, _)| one.path == piece) {
            None => entries.extend(digest::list(&level.dir, &surface.only(piece))?),
            Some((one, _)) if one.how == "removed" => {}
            Some((_, stage)) => {
                for mut entry in list_thing(stage)? {
                    entry.path = if entry.path.as_os_str().is_empty() { piece.to_owned() } else { piece.join(&entry.path) };
                    if !surface.left_out.contains(&entry.path) {
                        entries.push(entry);
                    }
                }
            }
        }
    }
    entries.sort_by(|a, b| {
        std::os::unix::ffi::OsStrExt::as_bytes(a.path.as_os_str()).cmp(std::os::unix::ffi::OsStrExt::as_bytes(b.path.as_os_str()))
    });
    Ok(entries)
}

/// The entries of one file, link or directory by itself; paths are relative to it.
fn list_thing(path: &Path) -> Result<Vec<digest::Entry>, LoadoutError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(Vec::new()) };
    let surface = Surface { files: vec![name.into()], ..Surface::default() };
    let mut entries = digest::list(parent, &surface)?;
    for entry in &mut entries {
        entry.path = entry.path.strip_prefix(name).map(Path::to_owned).unwrap_or_default();
    }
    Ok(entries)
}

/// The hash of one file, link or directory by itself, whatever its name.
pub(super) fn of_thing(path: &Path) -> Result<String, LoadoutError> {
    Ok(digest::hash(&list_thing(path)?))
}
