//! The link that relays call: a name of the program that stays true over upgrades.

use std::path::{Path, PathBuf};

use super::ConnectError;
use super::file::missing_above;
use super::receipt::{Named, Receipt};
use crate::custody::wall::Walled;
use crate::hooks::harness;
use crate::sys::disk::{self, Kind};
use crate::sys::env::Env;
use crate::sys::plan::{Plan, Step};
use crate::tree::real;

/// Makes the link that relays call, or sets it right; whether it was not there.
pub(super) fn put(plan: &mut Plan, link: &Path, program: &Path) -> Result<bool, ConnectError> {
    let kind = disk::look(link)?.map(|meta| meta.kind);
    match kind {
        None => plan.steps.extend(missing_above(link).into_iter().map(|path| Step::MakeDir { path })),
        Some(Kind::Link) => {
            let target = disk::read_link(link)?;
            if target == program || disk::canonical(link).is_ok_and(|leads| leads == program) {
                return Ok(false);
            }
            plan.steps.push(Step::Unlink { path: link.to_owned(), target });
        }
        // Somebody put the program itself there: as good as a link.
        Some(Kind::File) => return Ok(false),
        Some(_) => return Err(ConnectError::File { path: link.to_owned(), why: "it is neither a link nor a program" }),
    }
    plan.steps.push(Step::Link { path: link.to_owned(), target: program.to_owned() });
    Ok(kind.is_none())
}

/// The file that says that the link was made by connecting: one that was there before stays.
pub(super) fn made(state: &Path) -> PathBuf {
    state.join("connect/link")
}

pub(super) fn mark(plan: &mut Plan, state: &Path) -> Result<(), ConnectError> {
    let path = made(state);
    if disk::look(&path)?.is_none() {
        plan.steps.extend(missing_above(&path).into_iter().map(|path| Step::MakeDir { path }));
        plan.steps.push(Step::Write { path, data: b"made by loci connect\n".to_vec(), mode: Some(0o600), was: None });
    }
    Ok(())
}

/// Takes the link away, and its folder where nothing else is in it.
pub(super) fn take(plan: &mut Plan, link: &Path) -> Result<(), ConnectError> {
    if disk::look(link)?.is_some_and(|meta| meta.kind == Kind::Link) {
        plan.steps.push(Step::Unlink { path: link.to_owned(), target: disk::read_link(link)? });
        if let Some(folder) = link.parent().filter(|folder| disk::list(folder).is_ok_and(|entries| entries.len() == 1)) {
            plan.steps.push(Step::RemoveDir { path: folder.to_owned() });
        }
    }
    Ok(())
}

/// What custody has to know of where the settings of harnesses are on this machine.
#[derive(Debug, Default)]
pub struct Settings {
    /// The folders that do not have their harness's usual name (real), each with the name that it stands for.
    pub moved: Vec<(PathBuf, PathBuf)>,
    /// The files that were connected, where their names really lead.
    pub linked: Vec<(PathBuf, Walled)>,
}

/// Where the settings of harnesses are: as the environment moves them, and as they were connected. Whoever calls may have
/// another environment than who connected.
#[must_use]
pub fn settings(env: &Env, state: &Path) -> Settings {
    let mut found = Settings::default();
    for adapter in harness::ALL {
        let (variable, below) = adapter.wiring.moved_by;
        if let Some(folder) = env.get(variable).map(Path::new).filter(|folder| folder.is_absolute()) {
            found.moved.push((real::real(&folder.join(below), true).path, PathBuf::from(adapter.wiring.folder)));
        }
    }
    for Named { harness, file, names } in Receipt::files(state) {
        let Some(adapter) = harness::named(&harness) else { continue };
        // The receipt has the names that it was connected by; the judge has real ones.
        for name in names.iter().chain([&file]).filter(|name| name.is_absolute()) {
            let leads = real::real(name, true).path;
            if leads != *name || !names.is_empty() {
                found.linked.push((leads, Walled::Harness(adapter.title)));
            }
        }
        // What a link leads to may lie among any others: it is the folder of the names that counts.
        for name in if names.is_empty() { std::slice::from_ref(&file) } else { &names } {
            let Some(folder) = name.parent().filter(|folder| folder.is_absolute()) else { continue };
            let forms = [adapter.wiring.shared, adapter.wiring.local].into_iter().flatten().filter_map(|form| Path::new(form).parent());
            let of_project = forms.filter(|form| folder.ends_with(form)).map(|form| (folder, form.to_owned())).next();
            // Of a user's, the whole folder counts: what switches hooks off lies beside them.
            let own = Path::new(adapter.wiring.file).parent().unwrap_or(Path::new(""));
            let whole = own.components().try_fold(folder, |at, _| at.parent()).filter(|_| folder.ends_with(own));
            let of_user = || match whole {
                Some(whole) => (whole, PathBuf::from(adapter.wiring.folder)),
                None => (folder, Path::new(adapter.wiring.folder).join(own)),
            };
            let (folder, stands_for) = of_project.unwrap_or_else(of_user);
            let real = real::real(folder, true).path;
            if !real.ends_with(&stands_for) {
                found.moved.push((real, stands_for));
            }
        }
    }
    found
}

/// Sets the link right where it leads nowhere any more: an upgrade may have moved the program. Every
/// start of the program but the gate's comes by here; it costs one look.
pub fn mend_link(home: &Path, program: impl FnOnce() -> Option<PathBuf>) {
    let link = home.join(".loci/bin/loci");
    let dangles = matches!(disk::look(&link), Ok(Some(meta)) if meta.kind == Kind::Link) && matches!(disk::look_through(&link), Ok(None));
    if dangles && let (Ok(target), Some(program)) = (disk::read_link(&link), program()) {
        let steps = vec![Step::Unlink { path: link.clone(), target }, Step::Link { path: link, target: program }];
        // Whoever can't mend it finds out by `loci connect --check`.
        let _ = Plan { steps }.apply();
    }
}
