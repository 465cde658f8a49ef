//! What was put into a file, so that every byte can be given back: kept in the state folder, readable
//! for nobody else, since a user's settings may hold secrets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file::missing_above;
use super::ground::Spot;
use super::splice::Made;
use crate::sys::disk::{self, PathError};
use crate::sys::plan::{Plan, Step};
use crate::text::digest;

/// The most receipts that are looked through; there is one for each file that was connected.
const MAX_READ: usize = 64;

/// The receipt for one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Receipt {
    schema: u32,
    harness: String,
    pub(super) file: PathBuf,
    /// The names that lead to it by a link, by which the harness reads it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    names: Vec<PathBuf>,
    /// What the harness was told to trust, as it names it: of a file in which it keeps that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) given: Vec<(String, String)>,
    /// What of the way to the relays was made along with them, by the names of the events.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    lists: BTreeMap<String, Made>,
    /// What older versions kept in its place.
    #[serde(default, skip_serializing)]
    made: Option<Made>,
    #[serde(default, skip_serializing)]
    made_after: Vec<Made>,
    /// The digest of what stood there before; `None` where the file was not there.
    pub(super) before: Option<String>,
    /// The digest of what stood there afterwards.
    pub(super) after: String,
    /// The folders that were made for the file, outermost first.
    pub(super) folders: Vec<PathBuf>,
}

/// What a receipt says of where things are.
#[derive(Debug, Deserialize)]
pub(super) struct Named {
    pub(super) harness: String,
    pub(super) file: PathBuf,
    #[serde(default)]
    pub(super) names: Vec<PathBuf>,
}

impl Receipt {
    pub(super) fn new(
        harness: &str,
        spot: &Spot,
        made: Vec<(&str, Made)>,
        before: Option<&[u8]>,
        after: &[u8],
        folders: Vec<PathBuf>,
        kept: Option<&Self>,
    ) -> Self {
        let folders = if folders.is_empty() { kept.map(|kept| kept.folders.clone()).unwrap_or_default() } else { folders };
        let mut names: Vec<PathBuf> = kept.filter(|kept| kept.file == spot.file).map(|kept| kept.names.clone()).unwrap_or_default();
        if spot.is_link() && !names.contains(&spot.name) {
            names.push(spot.name.clone());
        }
        Self {
            schema: 1,
            harness: harness.to_owned(),
            file: spot.file.clone(),
            names,
            given: kept.map(|kept| kept.given.clone()).unwrap_or_default(),
            lists: made.into_iter().map(|(event, made)| (event.to_owned(), made)).collect(),
            made: None,
            made_after: Vec::new(),
            before: before.map(digest::sha256),
            after: digest::sha256(after),
            folders,
        }
    }

    /// What was made along with the relays of one list. A list that another version put in is ours as a
    /// whole.
    pub(super) fn made_for(&self, event: &str) -> Made {
        let most = self.lists.values().copied().chain(self.made).chain(self.made_after.iter().copied()).max();
        self.lists.get(event).copied().unwrap_or_else(|| most.unwrap_or(Made::Hooks).max(Made::List))
    }

    fn folder(state: &Path) -> PathBuf {
        state.join("connect")
    }

    fn path(state: &Path, harness: &str, file: &Path) -> PathBuf {
        let name = digest::sha256(file.as_os_str().as_encoded_bytes());
        Self::folder(state).join(format!("{harness}-{}.json", &name[..16]))
    }

    /// Where what stood there before is kept.
    fn backup(&self, state: &Path) -> PathBuf {
        Self::path(state, &self.harness, &self.file).with_extension("before")
    }

    /// The receipt for a file; `None` where there is none that can be read: then what was put in is
    /// recognised by what it says. A file that has been moved since, and is linked to from where it was, is
    /// the same still; so is one that has come back in the place of the link to it.
    pub(super) fn read(state: &Path, harness: &str, spot: &Spot) -> Result<Option<Self>, PathError> {
        if let Some(receipt) = Self::of(&Self::path(state, harness, &spot.file))? {
            return Ok(Some(receipt));
        }
        if spot.is_link() {
            return Self::of(&Self::path(state, harness, &spot.name));
        }
        let gone = |receipt: &Self| receipt.names.contains(&spot.name) && matches!(disk::look(&receipt.file), Ok(None));
        Ok(Self::each::<Self>(state).into_iter().find(|receipt| receipt.harness == harness && gone(receipt)))
    }

    /// Those of files that a name has led to before it was led elsewhere.
    pub(super) fn elsewhere(state: &Path, harness: &str, spot: &Spot) -> Vec<Self> {
        let mut all: Vec<Self> = Self::each(state);
        all.retain(|receipt| receipt.harness == harness && receipt.file != spot.file && receipt.names.contains(&spot.name));
        all
    }

    fn of(path: &Path) -> Result<Option<Self>, PathError> {
        let Some(data) = disk::read_if_there(path)? else { return Ok(None) };
        let receipt: Option<Self> = serde_json::from_slice(&data).ok();
        Ok(receipt.filter(|receipt| receipt.schema == 1))
    }

    /// How many there are.
    pub(super) fn count(state: &Path) -> Result<usize, PathError> {
        let folder = Self::folder(state);
        if !disk::is_dir(&folder) {
            return Ok(0);
        }
        Ok(disk::list(&folder)?.iter().filter(|entry| entry.name.as_encoded_bytes().ends_with(b".json")).count())
    }

    /// What can be read of each receipt.
    fn each<T: serde::de::DeserializeOwned>(state: &Path) -> Vec<T> {
        let folder = Self::folder(state);
        let entries = disk::list_at_most(&folder, 2 * MAX_READ).ok().flatten().unwrap_or_default();
        let receipts = entries.into_iter().filter(|entry| entry.name.as_encoded_bytes().ends_with(b".json"));
        let read = |entry: disk::Entry| disk::read_bounded(&folder.join(entry.name), 64 << 10).ok().flatten();
        receipts.filter_map(read).filter_map(|data| serde_json::from_slice(&data).ok()).collect()
    }

    /// Of each receipt the harness and the file. One that can't be read says nothing: what the table of names
    /// walls off is walled off without it.
    pub(super) fn files(state: &Path) -> Vec<Named> {
        Self::each(state)
    }

    /// The folders above a file that were made for other files of ours, outermost first.
    pub(super) fn folders_above(state: &Path, file: &Path) -> Vec<PathBuf> {
        #[derive(Deserialize)]
        struct Made {
            folders: Vec<PathBuf>,
        }
        let made = Self::each::<Made>(state);
        let mut above: Vec<PathBuf> = made.into_iter().flat_map(|made| made.folders).filter(|folder| file.starts_with(folder)).collect();
        above.sort_by_key(|folder| folder.components().count());
        above.dedup();
        above
    }

    /// What stood in the file before, where nothing but the relays has come since (`now` is what
    /// stands there) and what was kept is whole. The inner `None` says that there was no file.
    pub(super) fn original(&self, state: &Path, now: Option<&[u8]>) -> Result<Option<Option<Vec<u8>>>, PathError> {
        if now.map(digest::sha256).as_ref() != Some(&self.after) {
            return Ok(None);
        }
        let Some(digest) = &self.before else { return Ok(Some(None)) };
        let kept = disk::read_if_there(&self.backup(state))?;
        Ok(kept.filter(|kept| digest::sha256(kept) == *digest).map(Some))
    }

    /// Keeps the receipt, and what stood in the file.
    pub(super) fn write(&self, plan: &mut Plan, state: &Path, before: Option<&[u8]>) -> Result<(), PathError> {
        let path = Self::path(state, &self.harness, &self.file);
        plan.steps.extend(missing_above(&path).into_iter().map(|path| Step::MakeDir { path }));
        if let Some(data) = before {
            keep(plan, self.backup(state), data.to_vec())?;
        }
        keep(plan, path, serde_json::to_vec_pretty(self).unwrap_or_default())
    }

    /// Lets both go.
    pub(super) fn remove(&self, plan: &mut Plan, state: &Path) -> Result<(), PathError> {
        for path in [self.backup(state), Self::path(state, &self.harness, &self.file)] {
            if let Some(was) = disk::read_if_there(&path)? {
                plan.steps.push(Step::Remove { path, was, mode: 0o600 });
            }
        }
        Ok(())
    }
}

/// Writes a file of ours, unless it says so already.
fn keep(plan: &mut Plan, path: PathBuf, data: Vec<u8>) -> Result<(), PathError> {
    let was = disk::read_if_there(&path)?;
    if was.as_ref() != Some(&data) {
        plan.steps.push(Step::Write { path, data, mode: Some(0o600), was });
    }
    Ok(())
}
