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

/// Adds the directories that are missing up to `dir`.
fn missing_dirs(dir: &Path, plan: &mut Plan) -> Result<(), PathError> {
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
