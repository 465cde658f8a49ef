//! The switches of the harnesses' own that turn hooks off: a relay that stands where it should says nothing while
//! one of them is thrown.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Ground, splice, tables};
use crate::hooks::harness::{Adapter, Relay};
use crate::sys::{disk, shown};

/// Why a harness runs none of the relays in `file`, or not all; `None` where nothing keeps it from that. `others` are
/// further settings that it reads.
pub(super) fn thrown(adapter: &Adapter, ground: &Ground<'_>, file: &Path, others: &[PathBuf]) -> Option<String> {
    let folder = ground.folder(adapter);
    let files = || std::iter::once(file.to_owned()).chain(others.iter().cloned());
    let said = |keys: &[&str], value: bool, file: &Path| format!("`{}` is {value} in {}", keys.join("."), shown::path(file));
    if let Relay::Groups { off: Some((keys, value)), .. } = adapter.wiring.relay
        && let Some(file) = files().find(|file| switched_off(file, keys, value))
    {
        return Some(said(keys, value, &file));
    }
    match adapter.name {
        "codex" => {
            let file = folder.join("config.toml");
            let text = disk::read_if_there(&file).ok().flatten()?;
            let key = tables::switched_off(&String::from_utf8_lossy(&text)).ok()??;
            Some(format!("`{key}` is false in {}", shown::path(&file)))
        }
        "gemini" => files().find_map(|file| {
            let text = disk::read_if_there(&file).ok().flatten()?;
            let top = splice::top(std::str::from_utf8(&text).ok()?, "hooksConfig").ok()??;
            let listed = top.get("disabled")?.as_array()?;
            // By its name, or by the command where it has none.
            let ours = |one: &Value| one.as_str().is_some_and(|name| name == "loci" || name.contains("/.loci/bin/loci"));
            listed.iter().any(ours).then(|| format!("`hooksConfig.disabled` names the relays in {}", shown::path(&file)))
        }),
        "copilot" => {
            let own = ["settings.json", "config.json"].map(|name| folder.join(name));
            let project = others.iter().filter_map(|other| {
                // `.github/hooks/loci.json` stands beside `.github/copilot/`.
                let github = other.parent()?.parent()?;
                Some(["settings.json", "settings.local.json"].map(|name| github.join("copilot").join(name)))
            });
            let keys = ["disableAllHooks"];
            let file = own.into_iter().chain(project.flatten()).find(|file| switched_off(file, &keys, true))?;
            Some(said(&keys, true, &file))
        }
        _ => None,
    }
}

/// Whether a configuration has the setting that switches all hooks off. One that can't be read says
/// nothing.
pub(super) fn switched_off(file: &Path, keys: &[&str], value: bool) -> bool {
    let Some((first, rest)) = keys.split_first() else { return false };
    let Ok(Some(data)) = disk::read_if_there(file) else { return false };
    let Some(top) = std::str::from_utf8(&data).ok().and_then(|text| splice::top(text, first).ok().flatten()) else { return false };
    rest.iter().try_fold(&top, |at, key| at.get(*key)) == Some(&Value::Bool(value))
}
