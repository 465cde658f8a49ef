//! Whether there is a jail on this machine, as the gate has to know it: tried once in a child, and kept until
//! the machine is started again or something else is forbidden.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::cause;
use crate::sys::disk::{self, PathError};
use crate::sys::env::Env;
use crate::sys::jail::{self as kernel, Access, Mount};
use crate::sys::program::Program;
use crate::sys::{process, shown};

/// How long the try may take.
const PATIENCE: Duration = Duration::from_millis(1_000);

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    schema: u32,
    /// What it is true for.
    ground: String,
    /// Why there is none; `None`: there is one.
    missing: Option<String>,
    /// Whether layers can be laid over directories.
    captures: bool,
}

fn file(state: &Path) -> PathBuf {
    state.join("jail.json")
}

/// What the answer hangs on: the start of the machine, the user, what is forbidden to this process.
fn ground() -> String {
    let facts = kernel::facts();
    let profile = facts.profile.unwrap_or_default();
    format!("{} root={} nested={} filtered={} {profile}", process::boot(), facts.root, facts.nested, facts.filtered)
}

fn kept(state: &Path) -> Option<Kept> {
    let kept: Kept = serde_json::from_slice(&disk::read_bounded(&file(state), 16 << 10).ok()??).ok()?;
    (kept.schema == 1 && kept.ground == ground()).then_some(kept)
}

/// Whether there is one, tried now in a child where that is not known.
///
/// # Errors
/// Why there is none, for people.
pub fn known(state: &Path) -> Result<(), String> {
    let found = kept(state).or_else(|| {
        let own = process::own_program().ok()?;
        let probe = Program {
            file: &own,
            args: vec!["exec".into(), "--probe".into()],
            cwd: Path::new("/"),
            env: Env::of_process().vars.into_iter().collect::<BTreeMap<_, _>>(),
            stdin: b"",
            limit: PATIENCE,
            keep: 0,
        };
        probe.run().ok()?;
        kept(state)
    });
    match found {
        Some(Kept { missing: None, .. }) => Ok(()),
        Some(Kept { missing: Some(why), .. }) => Err(format!("there is no jail here: {why}")),
        None => Err("it could not be tried whether there is a jail here".to_owned()),
    }
}

/// Whether writes can be captured, as far as that is known.
#[must_use]
pub fn captures(state: &Path) -> bool {
    kept(state).is_some_and(|kept| kept.captures)
}

/// Tries it, and keeps what came of it. Makes namespaces in a child: the process has to have one thread.
///
/// # Errors
/// Where it can't be kept.
pub fn probe(state: &Path) -> Result<bool, PathError> {
    let base = state.join("captures").join("probe");
    let [lower, upper, work] = ["lower", "upper", "work"].map(|name| base.join(name));
    for dir in [&lower, &upper, &work] {
        disk::make_dirs(dir)?;
    }
    let lower = disk::canonical(&lower)?;
    let missing = kernel::probe(&[Mount { path: lower.clone(), access: Access::ReadOnly }]).err().map(|trouble| {
        let cause = cause::cause(&trouble, &kernel::facts()).map(|cause| format!("; {cause}")).unwrap_or_default();
        format!("failed to {}: {}{cause}", trouble.stage.word(), shown::errno(trouble.errno))
    });
    let there = missing.is_none();
    let captures = there && kernel::probe(&[Mount { path: lower, access: Access::Overlay { upper, work } }]).is_ok();
    let kept = Kept { schema: 1, ground: ground(), missing, captures };
    let text = serde_json::to_vec(&kept).map_err(|error| PathError::new("write", &file(state), error.into()))?;
    disk::replace(&file(state), &text, Some(0o600))?;
    Ok(there)
}
