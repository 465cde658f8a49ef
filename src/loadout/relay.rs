//! The hooks that `loci connect` put into a harness's settings: an inject puts them back.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{Level, LoadoutError, inject};
use crate::sys::disk;

/// What a command of ours contains, one of these.
const MARKS: [&str; 2] = ["loci gate --for", "loci hook after-tool --for"];

/// The relays that an inject would take away.
#[derive(Debug, Default)]
pub(super) struct Missing {
    /// The settings file, relative to the level.
    file: PathBuf,
    /// Event, matcher group without its hooks, hook.
    relays: Vec<(String, Map<String, Value>, Value)>,
    /// The settings that come in.
    coming: Value,
    /// Mode of the file that has them.
    mode: u32,
}

impl Missing {
    /// Whether the piece is the file they have to be put into.
    pub(super) fn is_for(&self, piece: &Path) -> bool {
        !self.relays.is_empty() && piece == self.file
    }

    /// `event: command` of each.
    pub(super) fn labels(&self) -> Vec<String> {
        self.relays.iter().map(|(event, _, hook)| format!("{event}: {}", command(hook).unwrap_or_default())).collect()
    }

    /// Writes the incoming settings with the relays in them.
    pub(super) fn write(&self, path: &Path) -> Result<(), LoadoutError> {
        let mut settings = self.coming.clone();
        for (event, group, hook) in &self.relays {
            let Some(groups) = settings.as_object_mut().and_then(|object| {
                let hooks = object.entry("hooks").or_insert_with(|| Value::Object(Map::new()));
                hooks.as_object_mut()?.entry(event.clone()).or_insert_with(|| Value::Array(Vec::new())).as_array_mut()
            }) else {
                return Err(LoadoutError::Settings { path: self.file.clone(), why: "its `hooks` have another shape".to_owned() });
            };
            let mut group = group.clone();
            group.insert("hooks".to_owned(), Value::Array(vec![hook.clone()]));
            groups.push(Value::Object(group));
        }
        let mut text = serde_json::to_vec_pretty(&settings)
            .map_err(|error| LoadoutError::Settings { path: self.file.clone(), why: error.to_string() })?;
        text.push(b'\n');
        Ok(disk::replace(path, &text, Some(self.mode))?)
    }
}

fn command(hook: &Value) -> Option<&str> {
    hook.get("command")?.as_str()
}

/// Every relay of ours in some settings.
fn relays(settings: &Value) -> Vec<(String, Map<String, Value>, Value)> {
    let mut found = Vec::new();
    for (event, groups) in settings.get("hooks").and_then(Value::as_object).into_iter().flatten() {
        for group in groups.as_array().into_iter().flatten().filter_map(Value::as_object) {
            for hook in group.get("hooks").and_then(Value::as_array).into_iter().flatten() {
                if command(hook).is_some_and(|command| MARKS.iter().any(|mark| command.contains(mark))) {
                    let bare = group.iter().filter(|(key, _)| *key != "hooks").map(|(key, value)| (key.clone(), value.clone())).collect();
                    found.push((event.clone(), bare, hook.clone()));
                }
            }
        }
    }
    found
}

fn read(path: &Path) -> Result<Option<Value>, LoadoutError> {
    let Some(text) = disk::read_if_there(path)? else { return Ok(None) };
    serde_json::from_slice(&text).map(Some).map_err(|error| LoadoutError::Settings { path: path.to_owned(), why: error.to_string() })
}

/// The relays that stand in a level's settings and not in the files that come in.
pub(super) fn missing(level: &Level, harness: &str, coming: Option<PathBuf>) -> Result<Missing, LoadoutError> {
    let Some(row) = inject::row(harness) else { return Ok(Missing::default()) };
    let live_path = level.dir.join(row.relays);
    // Settings that are broken hold no relay that could work.
    let Ok(Some(live)) = read(&live_path) else { return Ok(Missing::default()) };
    let mut relays = relays(&live);
    if relays.is_empty() {
        return Ok(Missing::default());
    }
    let coming_path = coming.map(|base| base.join(row.relays));
    let settings = match &coming_path {
        Some(path) => read(path)?,
        None => None,
    };
    let there = settings.as_ref().map(self::relays).unwrap_or_default();
    relays.retain(|(event, _, hook)| !there.iter().any(|(other, _, one)| other == event && command(one) == command(hook)));
    let mode = match coming_path.as_deref().map(disk::look).transpose()?.flatten().or(disk::look(&live_path)?) {
        Some(meta) => meta.mode & 0o777,
        None => 0o644,
    };
    Ok(Missing { file: row.relays.into(), relays, coming: settings.unwrap_or_else(|| Value::Object(Map::new())), mode })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_relays_of_ours_are_found() {
        let settings = json!({ "hooks": {
            "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "loci gate --for claude" }, { "type": "command", "command": "mine" }] }],
            "Stop": [{ "hooks": [{ "command": "/usr/bin/loci gate --for claude" }] }, 3, { "hooks": 4 }],
            "Other": "x",
        }});
        let found = relays(&settings);
        assert_eq!(found.iter().map(|(event, ..)| event.as_str()).collect::<Vec<_>>(), ["PreToolUse", "Stop"]);
        assert_eq!(found[0].1, *json!({ "matcher": "Bash" }).as_object().unwrap());
    }
}
