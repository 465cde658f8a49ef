//! What of the wall is a link: settings, hooks and their folders below the homes are read by their names, and are
//! changed where those lead.
//!
//! Looked at only where something is about to be written, and by name: a look for each name below a folder that is
//! there. The one folder that is listed is that of the home's hooks, which run without trust.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::wall::{self, Walled};
use crate::sys::disk::{self, Kind};
use crate::tree::dotdirs::IDENTITY;
use crate::tree::real;

/// The names below the homes that lead elsewhere: where to, and what each is. What lies below counts as well.
/// Both homes are real paths.
pub(super) fn of_homes(home: &Path, user_home: &Path) -> Vec<(PathBuf, Walled)> {
    let mut found = Vec::new();
    for dir in if home == user_home { vec![home] } else { vec![home, user_home] } {
        let mut kinds: BTreeMap<&'static [&'static str], Option<Kind>> = BTreeMap::new();
        for (names, what) in wall::below_home() {
            found.extend(lead(dir, names, &mut kinds).map(|real| (real, what)));
        }
    }
    let hooks = home.join(IDENTITY).join("hooks");
    let entries = if disk::is_dir(&hooks) { disk::list_unsorted(&hooks).ok() } else { None };
    let links = entries.into_iter().flatten().filter(|entry| entry.kind == Kind::Link);
    found.extend(links.map(|entry| (real::real(&hooks.join(entry.name), true).path, Walled::Hooks)));
    found
}

/// Where names lead, where one of them is a link.
fn lead(dir: &Path, names: &'static [&'static str], kinds: &mut BTreeMap<&'static [&'static str], Option<Kind>>) -> Option<PathBuf> {
    for count in 1..=names.len() {
        let head = names.get(..count)?;
        let path = || head.iter().fold(dir.to_owned(), |path, name| path.join(name));
        match kinds.entry(head).or_insert_with(|| disk::look(&path()).ok().flatten().map(|meta| meta.kind)) {
            None => return None,
            Some(Kind::Link) => return Some(real::real(&names.iter().fold(dir.to_owned(), |path, name| path.join(name)), true).path),
            Some(_) => {}
        }
    }
    None
}
