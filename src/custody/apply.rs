//! Brings the change of a delegation in: three ways, where the file has gone on since.
//!
//! Each path is judged as an act of the owner, has to be one of the message's targets, and is never on
//! the wall. All of it is one plan, or none of it is done.

use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use super::act::{Act, ActKind};
use super::asker::Asker;
use super::changes::FileChange;
use super::diff::MAX_SIDE;
use super::gitpatch::LINK;
use super::merge;
use super::ruling::{Surroundings, Verdict, Why};
use crate::sys::disk::{self, Kind, PathError};
use crate::sys::plan::{Plan, Step};
use crate::sys::shown;
use crate::text::digest;
use crate::tree::climb;

/// What stands at a path now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Now {
    /// Nothing.
    Nothing,
    /// A file with this content and these permission bits.
    File(Vec<u8>, u32),
    /// A link with this text.
    Link(Vec<u8>),
    /// Something else, or a file that is too large.
    Other,
}

/// How a file gets what was wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It is made.
    Created,
    /// It gets just what was wanted.
    Changed,
    /// It had gone on; both are in it now.
    Merged,
    /// It goes.
    Removed,
    /// It is so already.
    Already,
}

impl How {
    /// The word for people and `--json`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Merged => "merged",
            Self::Removed => "removed",
            Self::Already => "already",
        }
    }
}

/// What applying a change takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Application {
    /// What is to be done; empty where there are conflicts.
    pub plan: Plan,
    /// File by file.
    pub files: Vec<(PathBuf, How)>,
    /// Why it can't be done, each with its file.
    pub conflicts: Vec<(PathBuf, String)>,
}

impl Application {
    /// What will stand in each file, by its digest, empty for one that goes: noted before anything is
    /// changed.
    #[must_use]
    pub fn results(&self) -> Vec<(String, String)> {
        let one = |step: &Step| match step {
            Step::Write { path, data, .. } => Some((shown::path(path).to_string(), digest::sha256(data))),
            Step::Remove { path, .. } => Some((shown::path(path).to_string(), String::new())),
            _ => None,
        };
        self.plan.steps.iter().filter_map(one).collect()
    }
}

/// Works it out, and changes nothing. `begun` are the results that an earlier try has noted: a file in
/// which one of them stands is done. Merging it once more could bring in the same line twice.
///
/// # Errors
/// Where the disk can't say what stands there.
pub fn work_out(
    files: &[FileChange],
    targets: &[String],
    begun: &[(String, String)],
    owner: &Asker,
    surroundings: &Surroundings,
) -> Result<Application, PathError> {
    let mut done = Application::default();
    let mut made: Vec<PathBuf> = Vec::new();
    // What is removed clears the place for what is made.
    let (going, coming): (Vec<&FileChange>, Vec<&FileChange>) = files.iter().partition(|file| file.will.is_none());
    let cleared: Vec<&Path> = going.iter().map(|file| file.path.as_path()).collect();
    for file in going.into_iter().chain(coming) {
        if let Some(why) = barred(file, targets, owner, surroundings) {
            done.conflicts.push((file.path.clone(), why));
            continue;
        }
        let mut now = now(&file.path)?;
        // A directory of which nothing is left gives its name away.
        if now == Now::Other
            && file.will.is_some()
            && let Some(dirs) = emptied(&file.path, &cleared)
        {
            done.plan.steps.extend(dirs.into_iter().map(|path| Step::RemoveDir { path }));
            now = Now::Nothing;
        }
        let name = shown::path(&file.path).to_string();
        if let Some((how, step)) = ended(file, &now, begun.iter().filter(|(path, _)| *path == name).map(|(_, result)| result.as_str())) {
            done.plan.steps.extend(step);
            done.files.push((file.path.clone(), how));
            continue;
        }
        match decide(file, &now) {
            Err(why) => done.conflicts.push((file.path.clone(), why)),
            Ok((how, step)) => {
                if how == How::Created {
                    let mut above: Vec<PathBuf> =
                        climb::up(&file.path).skip(1).take_while(|dir| absent(dir, &cleared)).map(Path::to_owned).collect();
                    above.reverse();
                    for dir in above.into_iter().filter(|dir| !made.contains(dir)).collect::<Vec<_>>() {
                        done.plan.steps.push(Step::MakeDir { path: dir.clone() });
                        made.push(dir);
                    }
                }
                done.plan.steps.extend(step);
                done.files.push((file.path.clone(), how));
            }
        }
    }
    let left = left_empty(&cleared, files);
    done.plan.steps.extend(left.into_iter().map(|path| Step::RemoveDir { path }));
    if !done.conflicts.is_empty() {
        done.plan = Plan::default();
    }
    Ok(done)
}

/// The directories, deepest first, of which nothing is left when these files are gone and nothing comes: as `git apply`
/// does, they go as well. A directory that was renamed would stay behind under its old name otherwise.
fn left_empty(cleared: &[&Path], files: &[FileChange]) -> Vec<PathBuf> {
    let comes = |dir: &Path| files.iter().any(|file| file.will.is_some() && file.path.starts_with(dir));
    let mut left: Vec<PathBuf> = Vec::new();
    for path in cleared {
        for dir in climb::above(path).take_while(|dir| !comes(dir)) {
            let Some(dirs) = emptied(dir, cleared) else { break };
            left.extend(dirs);
        }
    }
    left.sort_by_key(|dir| std::cmp::Reverse(dir.components().count()));
    let mut seen = std::collections::BTreeSet::new();
    left.retain(|dir| seen.insert(dir.clone()));
    left
}

/// How an earlier try has ended for this file, where what it noted stands there, and what is left of it: of a
/// change of the mode, the text that stands there says nothing.
fn ended<'a>(file: &FileChange, now: &Now, results: impl Iterator<Item = &'a str>) -> Option<(How, Option<Step>)> {
    let (stands, how) = match now {
        Now::Other | Now::Link(_) => return None,
        Now::Nothing => (String::new(), How::Removed),
        Now::File(data, _) if file.was.is_none() => (digest::sha256(data), How::Created),
        Now::File(data, _) if file.will.as_ref() == Some(data) => (digest::sha256(data), How::Changed),
        Now::File(data, _) => (digest::sha256(data), How::Merged),
    };
    let mut results = results;
    if !results.any(|result| result == stands) {
        return None;
    }
    let step = match (now, file.mode) {
        (Now::File(data, mode), Some(wanted)) if wanted != LINK && wanted != mode & 0o777 => {
            Some(Step::Write { path: file.path.clone(), data: data.clone(), mode: Some(wanted), was: Some(data.clone()) })
        }
        _ => None,
    };
    Some((how, step))
}

/// Why this path must not be touched, where that is so.
fn barred(file: &FileChange, targets: &[String], owner: &Asker, surroundings: &Surroundings) -> Option<String> {
    if !targets.contains(&shown::path(&file.path).to_string()) {
        return Some("it is not one of the message's targets: ask for a delegation that names it".to_owned());
    }
    let kind = match (&file.was, &file.will) {
        (_, None) => ActKind::Remove,
        (None, Some(_)) => ActKind::Create,
        (Some(_), Some(_)) => ActKind::Write,
    };
    let is_link = matches!(disk::look(&file.path), Ok(Some(meta)) if meta.kind == Kind::Link);
    let act = Act { kind, path: file.path.clone(), follow: !is_link, below: false };
    let ruling = super::rule(&[act], owner, surroundings);
    let ruled = ruling.acts.first()?;
    if ruling.verdict != Verdict::Allow {
        return Some(match &ruled.why {
            Why::Wall(walled) => format!("it is {}; only a person changes it", walled.what()),
            why => format!("it is not {}'s to change ({}): decline it, or delegate that file to its owner", owner.name(), why.word()),
        });
    }
    let mine = matches!(ruled.why, Why::Yours | Why::Home | Why::Commons(_));
    if !mine {
        return Some(format!("it is not {}'s any more: own its directory again, or decline it", owner.name()));
    }
    (ruled.real.as_deref() != Some(&file.path))
        .then(|| "a link on the way leads elsewhere by now: put the directory back, or decline it".to_owned())
}

fn now(path: &Path) -> Result<Now, PathError> {
    Ok(match disk::look(path)? {
        None => Now::Nothing,
        Some(meta) if meta.kind == Kind::File => {
            disk::read_bounded(path, MAX_SIDE as u64 * 2)?.map_or(Now::Other, |data| Now::File(data, meta.mode))
        }
        Some(meta) if meta.kind == Kind::Link => Now::Link(disk::read_link(path)?.into_os_string().into_vec()),
        Some(_) => Now::Other,
    })
}

/// Whether nothing stands there, or what stands there is removed before.
fn absent(path: &Path, cleared: &[&Path]) -> bool {
    cleared.contains(&path) || matches!(disk::look(path), Ok(None))
}

/// The directories at and below a path, deepest first, where all that is in them is removed.
fn emptied(dir: &Path, cleared: &[&Path]) -> Option<Vec<PathBuf>> {
    if disk::look(dir).ok()?.is_none_or(|meta| meta.kind != Kind::Dir) {
        return None;
    }
    let mut dirs = Vec::new();
    for entry in disk::list(dir).ok()? {
        let path = dir.join(entry.name);
        match entry.kind {
            Kind::Dir => dirs.extend(emptied(&path, cleared)?),
            _ if cleared.contains(&path.as_path()) => {}
            _ => return None,
        }
    }
    dirs.push(dir.to_owned());
    Some(dirs)
}

/// What becomes of a path where a link stands, or where one is wanted.
fn linked(file: &FileChange, now: &Now) -> Result<(How, Vec<Step>), String> {
    let path = || file.path.clone();
    let target = |text: &[u8]| PathBuf::from(std::ffi::OsString::from_vec(text.to_vec()));
    let wants_link = file.mode == Some(LINK);
    let make = |will: &[u8]| {
        if wants_link {
            Step::Link { path: path(), target: target(will) }
        } else {
            Step::Write { path: path(), data: will.to_vec(), mode: file.mode, was: None }
        }
    };
    let clear = match (now, &file.was) {
        (Now::Nothing, _) => None,
        (Now::Link(text), Some(was)) if text == was => Some(Step::Unlink { path: path(), target: target(text) }),
        (Now::File(data, mode), Some(was)) if data == was => Some(Step::Remove { path: path(), was: data.clone(), mode: *mode }),
        (Now::Link(text), _) if wants_link && file.will.as_ref() == Some(text) => return Ok((How::Already, Vec::new())),
        (Now::Other, _) => return Err("what stands there is no regular file, or one over 4 MiB: bring it in by hand".to_owned()),
        _ => return Err("another file or link stands there by now: move it away and apply again, or bring it in by hand".to_owned()),
    };
    Ok(match (&file.will, clear) {
        (None, None) => (How::Already, Vec::new()),
        (None, Some(clear)) => (How::Removed, vec![clear]),
        (Some(_), None) if file.was.is_some() => return Err("it was removed since: put it back and apply again, or decline it".to_owned()),
        (Some(will), None) => (How::Created, vec![make(will)]),
        (Some(will), Some(clear)) => (How::Changed, vec![clear, make(will)]),
    })
}

/// What becomes of one path, and the steps for it.
fn decide(file: &FileChange, now: &Now) -> Result<(How, Vec<Step>), String> {
    if file.mode == Some(LINK) || matches!(now, Now::Link(_)) {
        return linked(file, now);
    }
    in_place(file, now).map(|(how, step)| (how, step.into_iter().collect()))
}

/// What becomes of a file, and the step for it.
fn in_place(file: &FileChange, now: &Now) -> Result<(How, Option<Step>), String> {
    let path = file.path.clone();
    let write = |data: Vec<u8>, was: &[u8], mode: u32| {
        let mode = file.mode.filter(|wanted| *wanted != mode & 0o777);
        (data != was || mode.is_some()).then(|| Step::Write { path: path.clone(), data, mode, was: Some(was.to_vec()) })
    };
    match (&file.was, &file.will, now) {
        (.., Now::Other | Now::Link(_)) => Err("what stands there is no regular file, or one over 4 MiB: bring it in by hand".to_owned()),
        (_, None, Now::Nothing) => Ok((How::Already, None)),
        (Some(was), None, Now::File(data, mode)) if data == was => {
            Ok((How::Removed, Some(Step::Remove { path, was: data.clone(), mode: *mode })))
        }
        (_, None, Now::File(..)) => {
            Err("it was to be removed, and has changed since: look at it, and remove it yourself where that is still right".to_owned())
        }
        (None, Some(will), Now::Nothing) => Ok((How::Created, Some(Step::Write { path, data: will.clone(), mode: file.mode, was: None }))),
        (Some(_), Some(_), Now::Nothing) => Err("it was removed since: put it back and apply again, or decline it".to_owned()),
        (_, Some(will), Now::File(data, mode)) if data == will => {
            let step = write(will.clone(), data, *mode);
            Ok((if step.is_some() { How::Changed } else { How::Already }, step))
        }
        (None, Some(_), Now::File(..)) => Err("another file of that name was made since: merge the two by hand".to_owned()),
        (Some(was), Some(will), Now::File(data, mode)) if data == was => Ok((How::Changed, write(will.clone(), data, *mode))),
        (Some(was), Some(will), Now::File(data, mode)) => {
            let text = |side: &[u8]| std::str::from_utf8(side).ok().filter(|_| !side.contains(&0)).map(str::to_owned);
            let (Some(base), Some(wanted), Some(is)) = (text(was), text(will), text(data)) else {
                return Err("it has changed since, and is no text that could be merged: bring it in by hand".to_owned());
            };
            let merged = merge::merge(&base, &is, &wanted).map_err(|conflicts| {
                let lines: Vec<String> = conflicts.iter().map(|conflict| range(conflict.lines)).collect();
                format!("it has changed since in the same place, {}: merge it by hand", lines.join(", "))
            })?;
            let step = write(merged.into_bytes(), data, *mode);
            Ok((if step.is_some() { How::Merged } else { How::Already }, step))
        }
    }
}

fn range((first, last): (usize, usize)) -> String {
    if first == last { format!("line {first}") } else { format!("lines {first}-{last}") }
}

#[cfg(test)]
mod tests;
