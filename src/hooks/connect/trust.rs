//! What a harness wants to be told before it runs a hook, and where it keeps that: each relay has an entry
//! of its own. Read for `connect --check`; written only when a person says so.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::file::{self, missing_above};
use super::receipt::{Named, Receipt};
use super::relay::List;
use super::splice::Unfit;
use super::strict::MARK;
use super::{ConnectError, Edit, Ground, Spot, tables};
use crate::hooks::harness::{Adapter, Relay, Whose, whose};
use crate::sys::plan::{Plan, Step};
use crate::sys::{disk, shown};
use crate::text::digest;
use crate::tree::climb;

/// One relay, as its harness names it where it keeps what is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    event: String,
    /// What names it.
    key: String,
    /// What has to stand there.
    value: String,
}

/// Why a harness leaves relays of ours out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lack {
    /// It has not been told to trust them, or can't read what it was told.
    Silent(String),
    /// They were switched off one by one.
    Off(String),
}

/// Why a harness leaves relays of ours out; `None` where it asks for no leave, or has it.
///
/// # Errors
/// Where the lists can't be read.
pub(super) fn missing(adapter: &Adapter, ground: &Ground<'_>, spot: &Spot, lists: &[List], now: &str) -> Result<Option<Lack>, Unfit> {
    let Some(kept) = kept(adapter, ground) else { return Ok(None) };
    let entries = entries(adapter, spot, lists, now)?;
    let said = disk::read_if_there(&kept).ok().flatten().unwrap_or_default();
    let said = String::from_utf8_lossy(&said).into_owned();
    if adapter.name == "codex" {
        let shown = shown::path(&kept);
        if let Err(unfit) = tables::kept(&said, "") {
            return Ok(Some(Lack::Silent(format!("{} does not start: line {} of {shown}: {}", adapter.title, unfit.line, unfit.why))));
        }
        let off = |entry: &&Entry| tables::kept(&said, &entry.key).ok().flatten().is_some_and(|kept| kept.off);
        if let Some(entry) = entries.iter().find(off) {
            return Ok(Some(Lack::Off(format!("`enabled` is false for the relay at {} in {shown}", entry.event))));
        }
    }
    let left: Vec<&str> = entries.iter().filter(|entry| !is_in(adapter, &said, entry)).map(|entry| entry.event.as_str()).collect();
    if left.is_empty() || (adapter.name == "hermes" && accepts_all(now)) {
        return Ok(None);
    }
    let how = match adapter.name {
        "codex" => "start `codex` there and say yes when it shows the new hooks",
        _ => "start it at a terminal and say yes to each one",
    };
    let name = &spot.name;
    let own = ground.folder(adapter).join(adapter.wiring.file) == *name;
    let project = adapter.wiring.shared.and_then(|shared| climb::up(name).find(|dir| dir.join(shared) == *name)).filter(|_| !own);
    let reach = project.map_or_else(String::new, |dir| format!(" --shared {}", shown::path(dir)));
    let mut events: Vec<&str> = Vec::new();
    left.into_iter().for_each(|event| {
        if !events.contains(&event) {
            events.push(event);
        }
    });
    Ok(Some(Lack::Silent(format!(
        "{} has not been told to trust the relays at {}: {how}, or run `loci connect {}{reach} --trust`",
        adapter.title,
        events.join(", "),
        adapter.name
    ))))
}

/// Whether a harness has such a file at all.
#[must_use]
pub fn is_kept(adapter: &Adapter) -> bool {
    matches!(adapter.name, "codex" | "hermes")
}

fn kept(adapter: &Adapter, ground: &Ground<'_>) -> Option<PathBuf> {
    let name = match adapter.name {
        "codex" => "config.toml",
        "hermes" => "shell-hooks-allowlist.json",
        _ => return None,
    };
    Some(ground.folder(adapter).join(name))
}

/// Adds to a plan that the relays which will stand in `text` are trusted. `at` is the time, as the harness
/// writes it.
///
/// # Errors
/// Where what is kept can't be worked on.
pub(super) fn give(
    adapter: &Adapter,
    ground: &Ground<'_>,
    spot: &Spot,
    text: &str,
    plan: &mut Plan,
    at: &str,
) -> Result<Option<Edit>, ConnectError> {
    let Some(name) = kept(adapter, ground) else { return Ok(None) };
    // As with the settings themselves: through a link, and not where it is read-only or has a second name.
    let place = Spot::at(name)?;
    let path = place.file.clone();
    let lists = super::relay::every(adapter);
    let entries = entries(adapter, spot, &lists, text).map_err(|unfit| ConnectError::Unfit { path: spot.file.clone(), unfit })?;
    let before = file::read(&path)?;
    let said = file::text(&path, before.as_deref())?;
    if entries.iter().all(|entry| is_in(adapter, said, entry)) {
        return Ok(None);
    }
    file::may_write(&path)?;
    let kept = Receipt::read(ground.state, adapter.name, &place)?;
    let original = kept.as_ref().map(|kept| kept.original(ground.state, before.as_deref())).transpose()?.flatten();
    // What relays were given that stood there before goes with them.
    let bare = match &original {
        Some(original) if !for_others(adapter, ground, &path, spot) => original.clone(),
        _ => before.clone().map(|_| without(adapter, &path, said, &given(kept.as_ref(), Some(spot)))).transpose()?.map(String::into_bytes),
    };
    let after = with(adapter, &path, file::text(&path, bare.as_deref())?, &entries, at)?;
    // What stood there before any of it.
    let first = match original {
        Some(original) => original,
        None => before.clone().map(|_| without(adapter, &path, said, &given(kept.as_ref(), None))).transpose()?.map(String::into_bytes),
    };
    let mut receipt = Receipt::new(adapter.name, &place, Vec::new(), first.as_deref(), after.as_bytes(), Vec::new(), kept.as_ref());
    receipt.given.retain(|(key, _)| !is_of(key, spot));
    receipt.given.extend(entries.into_iter().map(|entry| (entry.key, entry.value)));
    if let Some(old) = kept.filter(|old| old.file != path) {
        old.remove(plan, ground.state)?;
    }
    receipt.write(plan, ground.state, first.as_deref())?;
    plan.steps.extend(missing_above(&path).into_iter().map(|path| Step::MakeDir { path }));
    let mode = before.is_none().then_some(0o600);
    let after = after.into_bytes();
    plan.steps.push(Step::Write { path: path.clone(), data: after.clone(), mode, was: before.clone() });
    Ok(Some(Edit { file: path, before, after: Some(after) }))
}

/// Adds to a plan that what was written by [`give`] is taken back, each time that it was. `text` is what stands in
/// the settings still. The change of that file, where there is one, and whether nothing is kept about it any more.
///
/// # Errors
/// As [`give`].
pub(super) fn take_back(
    adapter: &Adapter,
    ground: &Ground<'_>,
    spot: &Spot,
    text: &str,
    plan: &mut Plan,
) -> Result<(Option<Edit>, bool), ConnectError> {
    let Some(name) = kept(adapter, ground) else { return Ok((None, false)) };
    let place = Spot::at(name)?;
    let path = place.file.clone();
    let Some(mut receipt) = Receipt::read(ground.state, adapter.name, &place)? else { return Ok((None, false)) };
    let lists = super::relay::every(adapter);
    let mut ours = entries(adapter, spot, &lists, text).map_err(|unfit| ConnectError::Unfit { path: spot.file.clone(), unfit })?;
    ours.extend(given(Some(&receipt), Some(spot)));
    let before = file::read(&path)?;
    // Relays in other files of this harness are trusted there as well: they stay so, and what stood there before any of
    // them is not what is to stand there now.
    let others = for_others(adapter, ground, &path, spot);
    let original = receipt.original(ground.state, before.as_deref())?;
    let whole = original.is_some();
    let after = match (original.filter(|_| !others), before.as_deref()) {
        (Some(original), _) => original,
        (None, None) => None,
        (None, Some(now)) => Some(without(adapter, &path, file::text(&path, Some(now))?, &ours)?.into_bytes()),
    };
    if others {
        receipt.given.retain(|(key, _)| !is_of(key, spot));
        if let Some(after) = after.as_deref().filter(|_| whole) {
            receipt.after = digest::sha256(after);
        }
        receipt.write(plan, ground.state, None)?;
    }
    let mut edit = None;
    if let Some(was) = before.filter(|before| Some(before) != after.as_ref()) {
        file::may_write(&path)?;
        edit = Some(Edit { file: path.clone(), before: Some(was.clone()), after: after.clone() });
        plan.steps.push(match after {
            Some(data) => Step::Write { path, data, mode: None, was: Some(was) },
            None => Step::Remove { path, was, mode: 0o600 },
        });
    }
    if !others {
        receipt.remove(plan, ground.state)?;
    }
    Ok((edit, !others))
}

/// Whether relays in another file of this harness may be trusted in the same one.
fn for_others(adapter: &Adapter, ground: &Ground<'_>, path: &Path, spot: &Spot) -> bool {
    let own = |named: &Named| [&spot.file, &spot.name].contains(&&named.file) || named.names.contains(&spot.name);
    let other = |named: &Named| named.harness == adapter.name && named.file != path && !own(named);
    Receipt::files(ground.state).iter().any(other)
}

/// What the relays in one file, or in any, were given so far.
fn given(kept: Option<&Receipt>, spot: Option<&Spot>) -> Vec<Entry> {
    let of = kept.into_iter().flat_map(|kept| &kept.given).filter(|(key, _)| spot.is_none_or(|spot| is_of(key, spot)));
    of.map(|(key, value)| Entry { event: key.clone(), key: key.clone(), value: value.clone() }).collect()
}

/// Whether what is named so is a relay in that file: Codex names the file, and the one of Hermes is the only one.
fn is_of(key: &str, spot: &Spot) -> bool {
    let file = |path: &Path| key.strip_prefix(&*path.to_string_lossy()).is_some_and(|rest| rest.starts_with(':'));
    !key.starts_with('/') || file(&spot.name) || file(&spot.file)
}

/// What is kept, with these.
fn with(adapter: &Adapter, path: &Path, said: &str, entries: &[Entry], at: &str) -> Result<String, ConnectError> {
    let new: Vec<&Entry> = entries.iter().filter(|entry| !is_in(adapter, said, entry)).collect();
    let unfit = |unfit| ConnectError::Unfit { path: path.to_owned(), unfit };
    let why = |why: &str| unfit(Unfit { line: 1, why: why.to_owned() });
    if adapter.name == "codex" {
        let wanted: Vec<(&str, &str)> = new.iter().map(|entry| (entry.key.as_str(), entry.value.as_str())).collect();
        return tables::with(said, &wanted).map_err(unfit);
    }
    let mut root: Value = if said.trim().is_empty() {
        json!({ "approvals": [] })
    } else {
        serde_json::from_str(said).map_err(|_| why("it is not valid JSON"))?
    };
    let list = root.get_mut("approvals").and_then(Value::as_array_mut).ok_or_else(|| why("it has no list `approvals`"))?;
    for entry in &new {
        list.push(json!({ "event": entry.key, "command": entry.value, "approved_at": at, "script_mtime_at_approval": null }));
    }
    Ok(serde_json::to_string_pretty(&root).unwrap_or_default() + "\n")
}

/// What is kept, without these.
fn without(adapter: &Adapter, path: &Path, said: &str, ours: &[Entry]) -> Result<String, ConnectError> {
    let ours: Vec<&Entry> = ours.iter().filter(|entry| is_in(adapter, said, entry)).collect();
    if ours.is_empty() {
        return Ok(said.to_owned());
    }
    if adapter.name == "codex" {
        let keys: Vec<&str> = ours.iter().map(|entry| entry.key.as_str()).collect();
        return tables::without(said, &keys).map_err(|unfit| ConnectError::Unfit { path: path.to_owned(), unfit });
    }
    Ok(disapproved(said, &ours).unwrap_or_else(|| said.to_owned()))
}

/// What Hermes keeps, without these.
fn disapproved(said: &str, ours: &[&Entry]) -> Option<String> {
    let mut root: Value = serde_json::from_str(said).ok()?;
    let is = |item: &Value, entry: &Entry| {
        item.get("event").and_then(Value::as_str) == Some(&entry.key) && item.get("command").and_then(Value::as_str) == Some(&entry.value)
    };
    root.get_mut("approvals")?.as_array_mut()?.retain(|item| !ours.iter().any(|entry| is(item, entry)));
    Some(serde_json::to_string_pretty(&root).ok()? + "\n")
}

/// Our relays as the harness names them.
fn entries(adapter: &Adapter, spot: &Spot, lists: &[List], text: &str) -> Result<Vec<Entry>, Unfit> {
    let mut found = Vec::new();
    for list in lists {
        for (at, group) in list.elements(text)?.iter().enumerate() {
            let hooks = match adapter.wiring.relay {
                Relay::Yaml(_) => std::slice::from_ref(group),
                _ => group.get("hooks").and_then(Value::as_array).map_or(&[][..], Vec::as_slice),
            };
            for (nth, hook) in hooks.iter().enumerate() {
                let Some(command) =
                    hook.get("command").and_then(Value::as_str).filter(|command| whose(command, adapter.name) == Whose::Ours)
                else {
                    continue;
                };
                let entry = if adapter.name == "codex" {
                    let event = snake(list.event);
                    let key = format!("{}:{event}:{at}:{nth}", spot.name.display());
                    Entry {
                        event: list.event.to_owned(),
                        key,
                        value: format!("sha256:{}", digest::sha256(described(&event, group, hook).as_bytes())),
                    }
                } else {
                    Entry { event: list.event.to_owned(), key: list.event.to_owned(), value: command.to_owned() }
                };
                found.push(entry);
            }
        }
    }
    Ok(found)
}

/// What Codex takes the digest of: the hook, with its keys in order and what it takes for granted.
fn described(event: &str, group: &Value, hook: &Value) -> String {
    let null = Value::Null;
    let field = |key: &str| hook.get(key).unwrap_or(&null);
    let timeout = if field("timeout").is_null() { json!(600) } else { field("timeout").clone() };
    let matcher =
        group.get("matcher").filter(|matcher| !matcher.is_null()).map(|matcher| format!(",\"matcher\":{matcher}")).unwrap_or_default();
    format!(
        "{{\"event_name\":\"{event}\",\"hooks\":[{{\"async\":false,\"command\":{},\"timeout\":{timeout},\"type\":\"command\"}}]{matcher}}}",
        field("command")
    )
}

/// `PreToolUse` as `pre_tool_use`.
fn snake(event: &str) -> String {
    event.chars().enumerate().fold(String::new(), |mut name, (at, c)| {
        if at > 0 && c.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(c.to_ascii_lowercase());
        name
    })
}

/// Whether what is kept holds the entry.
fn is_in(adapter: &Adapter, said: &str, entry: &Entry) -> bool {
    if adapter.name == "codex" {
        return tables::kept(said, &entry.key).ok().flatten().is_some_and(|kept| kept.hash.as_deref() == Some(&entry.value));
    }
    let approvals = serde_json::from_str::<Value>(said).ok();
    let approvals = approvals.as_ref().and_then(|root| root.get("approvals")?.as_array());
    approvals.is_some_and(|list| {
        let is = |item: &Value, key: &str, wanted: &str| item.get(key).and_then(Value::as_str) == Some(wanted);
        list.iter().any(|item| is(item, "event", &entry.key) && is(item, "command", &entry.value))
    })
}

/// Whether Hermes runs every hook, agreed to or not.
fn accepts_all(config: &str) -> bool {
    let root: Option<Value> = serde_yaml::from_str(config.trim_start_matches(MARK)).ok();
    root.and_then(|root| root.get("hooks_auto_accept")?.as_bool()) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_event_in_codex() {
        assert_eq!(snake("PreToolUse"), "pre_tool_use");
        assert_eq!(snake("Stop"), "stop");
    }

    #[test]
    fn a_digest_of_codex_is_computed_as_it_does() {
        let hook = json!({ "type": "command", "command": "x \"y\"", "timeout": 10 });
        assert_eq!(
            described("pre_tool_use", &json!({ "hooks": [hook] }), &hook),
            "{\"event_name\":\"pre_tool_use\",\"hooks\":[{\"async\":false,\"command\":\"x \\\"y\\\"\",\"timeout\":10,\"type\":\"command\"}]}"
        );
    }
}
