//! The home level: what `loci init` sets up, and which harnesses are there.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::sockets;
use crate::sys::disk::{self, Kind, PathError};
use crate::sys::plan::{Plan, Step};
use crate::sys::process;

/// The link in the home level that hooks call: it stays where it is when the program moves.
#[must_use]
pub fn link(home: &Path) -> PathBuf {
    home.join(".loci/bin/loci")
}

/// What has to be done at the home level, and what can't.
#[derive(Debug, Default)]
pub struct Setup {
    /// What is missing.
    pub plan: Plan,
    /// Things that are in the way, and stay: path and what it means.
    pub kept: Vec<(PathBuf, &'static str)>,
}

/// Finds what is missing at the home level: `~/.loci`, the state folder, and the link to `program`.
///
/// # Errors
/// Where the disk can't say what is there.
pub fn setup(home: &Path, state: &Path, program: &Path) -> Result<Setup, PathError> {
    let mut setup = Setup::default();
    let link = link(home);
    if let Some(bin) = link.parent() {
        missing_dirs(bin, &mut setup.plan)?;
    }
    missing_dirs(state, &mut setup.plan)?;
    let target = program.to_owned();
    match disk::look(&link)? {
        None => setup.plan.steps.push(Step::Link { path: link, target }),
        Some(meta) if meta.kind == Kind::Link => {
            let now = disk::read_link(&link)?;
            if now != target {
                setup.plan.steps.push(Step::Unlink { path: link.clone(), target: now });
                setup.plan.steps.push(Step::Link { path: link, target });
            }
        }
        Some(_) => setup.kept.push((link, "it is no link: it stays, and hooks will run whatever it is")),
    }
    Ok(setup)
}

/// The skill that tells agents how to work where directories have owners, as it ships.
pub const SKILL: &str = include_str!("../../docs/skill/loci/SKILL.md");

/// Adds to a setup what puts the skill into the home level: the file in `~/.loci/skills`, and a link to its folder
/// where harnesses look for skills of their user.
///
/// # Errors
/// Where the disk can't say what is there.
pub fn add_skill(setup: &mut Setup, home: &Path, user_home: &Path) -> Result<(), PathError> {
    let folder = home.join(".loci/skills/loci");
    let file = folder.join("SKILL.md");
    match disk::read_if_there(&file)? {
        None => {
            missing_dirs(&folder, &mut setup.plan)?;
            setup.plan.steps.push(Step::Write { path: file, data: SKILL.into(), mode: None, was: None });
        }
        Some(text) if text == SKILL.as_bytes() => {}
        Some(_) => setup.kept.push((file, "it is another one than comes with this loci: it stays; take it away to have that one")),
    }
    for dotdir in [".claude", ".agents"] {
        let link = user_home.join(dotdir).join("skills/loci");
        // Where the folder is ours already, by whatever link, there is nothing to do.
        let leads = disk::canonical(&link).ok();
        if leads.is_some() && leads == disk::canonical(&folder).ok() {
            continue;
        }
        let through = link.parent().and_then(|skills| disk::canonical(skills).ok());
        if through.is_some() && through == disk::canonical(&home.join(".loci/skills")).ok() {
            continue;
        }
        if disk::look(&link)?.is_some() {
            setup.kept.push((link, "something else is there: it stays"));
        } else {
            if let Some(skills) = link.parent() {
                missing_dirs(skills, &mut setup.plan)?;
            }
            setup.plan.steps.push(Step::Link { path: link, target: folder.clone() });
        }
    }
    Ok(())
}

/// Adds the directories that are missing up to `dir` to a plan.
///
/// # Errors
/// Where the disk can't say what is there.
pub fn missing_dirs(dir: &Path, plan: &mut Plan) -> Result<(), PathError> {
    let mut path = PathBuf::new();
    let mut missing = false;
    for part in dir.components() {
        path.push(part);
        missing = missing || disk::look_through(&path)?.is_none();
        let planned = plan.steps.iter().any(|step| step.path() == path);
        if missing && !planned {
            plan.steps.push(Step::MakeDir { path: path.clone() });
        }
    }
    Ok(())
}

/// The harnesses that are installed: name and program.
#[must_use]
pub fn harnesses(path: Option<&OsStr>) -> Vec<(&'static str, PathBuf)> {
    let Some(path) = path else { return Vec::new() };
    // `command` stands for any program, and is the name of one that is everywhere.
    let names = sockets::built_in().filter(|name| *name != sockets::COMMAND);
    names.filter_map(|name| Some((name, process::find_program(name, path)?))).collect()
}
