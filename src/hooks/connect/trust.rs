//! What a harness wants to be told before it runs a hook, and where it keeps that: each relay has an entry
//! of its own. Read for `connect --check`; written only when a person says so.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::receipt::Receipt;
use super::relay::List;
use super::splice::Unfit;
use super::{ConnectError, Edit, Ground, missing_above};
use crate::hooks::harness::{Adapter, Relay, Whose, whose};
use crate::sys::disk;
use crate::sys::plan::{Plan, Step};
use crate::text::digest;

/// One relay, as its harness names it where it keeps what is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    event: String,
    /// What names it.
    key: String,
    /// What has to stand there.
    value: String,
}

/// Why a harness leaves relays of ours out; `None` where it asks for no leave, or has it.
///
/// # Errors
/// Where the lists can't be read.
pub(super) fn missing(adapter: &Adapter, ground: &Ground<'_>, file: &Path, lists: &[List], now: &str) -> Result<Option<String>, Unfit> {
    let Some(kept) = kept(adapter, ground) else { return Ok(None) };
    let entries = entries(adapter, file, lists, now)?;
    let said = disk::read_if_there(&kept).ok().flatten().unwrap_or_default();
    let said = String::from_utf8_lossy(&said).into_owned();
    let left: Vec<&str> = entries.iter().filter(|entry| !is_in(adapter, &said, entry)).map(|entry| entry.event.as_str()).collect();
    if left.is_empty() || (adapter.name == "hermes" && accepts_all(now)) {
        return Ok(None);
    }
    let how = match adapter.name {
        "codex" => "start `codex` there and say yes when it shows the new hooks",
        _ => "start it at a terminal and say yes to each one",
    };
    // What a project's file says is not loci's to vouch for.
    let own = super::real(ground.folder(adapter).join(adapter.wiring.file)).is_ok_and(|own| own == file);
    let or = if own { format!(", or run `loci connect {} --trust`", adapter.name) } else { String::new() };
    let mut events: Vec<&str> = Vec::new();
    left.into_iter().for_each(|event| {
        if !events.contains(&event) {
            events.push(event);
        }
    });
    Ok(Some(format!("{} has not been told to trust the relays at {}: {how}{or}", adapter.title, events.join(", "))))
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
    file: &Path,
    text: &str,
    plan: &mut Plan,
    at: &str,
) -> Result<Option<Edit>, ConnectError> {
    let Some(path) = kept(adapter, ground) else { return Ok(None) };
    let lists = super::relay::every(adapter);
    let entries = entries(adapter, file, &lists, text).map_err(|unfit| ConnectError::Unfit { path: file.to_owned(), unfit })?;
    let before = super::read(&path)?;
    let said = super::text(&path, before.as_deref())?;
    let new: Vec<&Entry> = entries.iter().filter(|entry| !is_in(adapter, said, entry)).collect();
    if new.is_empty() {
        return Ok(None);
    }
    let unfit = |why: &str| ConnectError::Unfit { path: path.clone(), unfit: Unfit { line: 1, why: why.to_owned() } };
    if adapter.name == "codex" && written_inline(said) {
        return Err(unfit("`hooks`, or its `state`, is written in one line: write it as tables"));
    }
    let after = if adapter.name == "codex" {
        let mut text = new.iter().fold(said.to_owned(), |text, entry| without(&text, &entry.key));
        for entry in &new {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!("\n[hooks.state.{}]\ntrusted_hash = \"{}\"\n", json!(entry.key), entry.value));
        }
        text
    } else {
        let mut root: Value = if said.trim().is_empty() {
            json!({ "approvals": [] })
        } else {
            serde_json::from_str(said).map_err(|_| unfit("it is not valid JSON"))?
        };
        let list = root.get_mut("approvals").and_then(Value::as_array_mut).ok_or_else(|| unfit("it has no list `approvals`"))?;
        for entry in &new {
            list.push(json!({ "event": entry.key, "command": entry.value, "approved_at": at, "script_mtime_at_approval": null }));
        }
        serde_json::to_string_pretty(&root).unwrap_or_default() + "\n"
    };
    let kept = Receipt::read(ground.state, adapter.name, &path)?;
    let receipt = Receipt::new(adapter.name, &path, Vec::new(), before.as_deref(), after.as_bytes(), Vec::new(), kept.as_ref());
    receipt.write(plan, ground.state, before.as_deref())?;
    plan.steps.extend(missing_above(&path).into_iter().map(|path| Step::MakeDir { path }));
    let mode = before.is_none().then_some(0o600);
    let after = after.into_bytes();
    plan.steps.push(Step::Write { path: path.clone(), data: after.clone(), mode, was: before.clone() });
    Ok(Some(Edit { file: path, before, after: Some(after) }))
}

/// Adds to a plan that what was written by [`give`] is taken back. `text` is what stands in the settings
/// still.
///
/// # Errors
/// As [`give`].
pub(super) fn take_back(adapter: &Adapter, ground: &Ground<'_>, file: &Path, text: &str, plan: &mut Plan) -> Result<bool, ConnectError> {
    let Some(path) = kept(adapter, ground) else { return Ok(false) };
    let Some(receipt) = Receipt::read(ground.state, adapter.name, &path)? else { return Ok(false) };
    let lists = super::relay::every(adapter);
    let entries = entries(adapter, file, &lists, text).map_err(|unfit| ConnectError::Unfit { path: file.to_owned(), unfit })?;
    let before = super::read(&path)?;
    let after = match (receipt.original(ground.state, before.as_deref())?, before.as_deref()) {
        (Some(original), _) => original,
        (None, None) => None,
        (None, Some(now)) => {
            let said = super::text(&path, Some(now))?;
            let ours = entries.iter().filter(|entry| is_in(adapter, said, entry));
            let left = if adapter.name == "codex" {
                ours.fold(said.to_owned(), |text, entry| without(&text, &entry.key))
            } else {
                disapproved(said, &ours.collect::<Vec<_>>()).unwrap_or_else(|| said.to_owned())
            };
            Some(left.into_bytes())
        }
    };
    if let Some(was) = before.filter(|before| Some(before) != after.as_ref()) {
        plan.steps.push(match after {
            Some(data) => Step::Write { path, data, mode: None, was: Some(was) },
            None => Step::Remove { path, was, mode: 0o600 },
        });
    }
    receipt.remove(plan, ground.state)?;
    Ok(true)
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
fn entries(adapter: &Adapter, file: &Path, lists: &[List], text: &str) -> Result<Vec<Entry>, Unfit> {
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
                    let key = format!("{}:{event}:{at}:{nth}", file.display());
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

/// Whether Codex's settings switch its hooks off: `hooks = false` among the features, in any of the ways in which
/// TOML can say so.
pub(super) fn feature_off(text: &str) -> bool {
    settings(text).iter().any(|setting| {
        let inner = setting.strip_prefix("features={").map(|inner| inner.trim_end_matches('}'));
        ["hooks=false", "codex_hooks=false"].iter().any(|off| {
            setting.strip_prefix("features.") == Some(*off) || inner.is_some_and(|inner| inner.split(',').any(|one| one == *off))
        })
    })
}

/// Whether a table for a hook's state can't be added, since what it would stand in is a value on one line.
fn written_inline(text: &str) -> bool {
    settings(text).iter().any(|setting| setting.starts_with("hooks=") || setting.starts_with("hooks.state="))
}

/// The settings of a TOML text, one a line, with the name of the table before each; without blanks and quotes.
fn settings(text: &str) -> Vec<String> {
    let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'')).collect::<String>();
    let mut table = String::new();
    let mut found = Vec::new();
    for line in text.lines() {
        let line = bare(line.split('#').next().unwrap_or(line));
        if let Some(name) = line.strip_prefix('[') {
            table = format!("{}.", name.trim_end_matches(']'));
        } else {
            found.push(format!("{table}{line}"));
        }
    }
    found
}

/// Whether what is kept holds the entry.
fn is_in(adapter: &Adapter, said: &str, entry: &Entry) -> bool {
    if adapter.name == "codex" {
        return table(said, &entry.key).is_some_and(|(from, to)| {
            said.get(from..to).is_some_and(|table| {
                let off =
                    table.lines().any(|line| line.chars().filter(|c| !c.is_whitespace()).collect::<String>().starts_with("enabled=false"));
                table.contains(&entry.value) && !off
            })
        });
    }
    let approvals = serde_json::from_str::<Value>(said).ok();
    let approvals = approvals.as_ref().and_then(|root| root.get("approvals")?.as_array());
    approvals.is_some_and(|list| {
        let is = |item: &Value, key: &str, wanted: &str| item.get(key).and_then(Value::as_str) == Some(wanted);
        list.iter().any(|item| is(item, "event", &entry.key) && is(item, "command", &entry.value))
    })
}

/// Where the table of a hook's state stands in Codex's settings.
fn table(text: &str, key: &str) -> Option<(usize, usize)> {
    let heads = [format!("[hooks.state.{}]", json!(key)), format!("[hooks.state.'{key}']")];
    let mut at = 0;
    let mut from = None;
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        if let Some(from) = from.filter(|_| bare.starts_with('[')) {
            return Some((from, at));
        }
        if from.is_none() && heads.iter().any(|head| bare == head) {
            from = Some(at);
        }
        at += line.len();
    }
    from.map(|from| (from, text.len()))
}

/// The settings without what an older relay at that place was trusted by.
fn without(text: &str, key: &str) -> String {
    match table(text, key) {
        Some((from, to)) => [text.get(..from), text.get(to..)].into_iter().flatten().collect(),
        None => text.to_owned(),
    }
}

/// Whether Hermes runs every hook, agreed to or not.
fn accepts_all(config: &str) -> bool {
    let root: Option<Value> = serde_yaml::from_str(config).ok();
    root.and_then(|root| root.get("hooks_auto_accept")?.as_bool()) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codex_s_switch_is_seen_in_every_way_of_writing_it() {
        for off in [
            "[features]\nhooks = false",
            "a=1\n[ \"features\" ] # x\nx = 1\nhooks=false # y",
            "features.hooks = false",
            "features = { x = true, hooks = false }",
        ] {
            assert!(feature_off(off), "{off}");
        }
        assert!(written_inline("[hooks]\nstate = {}") && written_inline("hooks = {}") && !written_inline("[features]\nhooks = false"));
        for on in ["", "[features]\nhooks = true", "[other]\nhooks = false", "# features.hooks = false", "[features]\n[x]\nhooks = false"] {
            assert!(!feature_off(on), "{on}");
        }
    }

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

    #[test]
    fn a_table_is_found_by_its_whole_key_and_taken_out_alone() {
        let text = "a = 1\n\n[hooks.state.\"/h:x:0:0\"]\ntrusted_hash = \"sha256:1\"\n\n[b]\nc = \"[hooks.state.\\\"/h:x:0:0\\\"]\"\n";
        let (from, to) = table(text, "/h:x:0:0").unwrap();
        assert!(text[from..to].contains("sha256:1") && !text[from..to].contains("[b]"));
        assert_eq!(table(text, "/h:x:0:1"), None);
        assert_eq!(without(text, "/h:x:0:0"), "a = 1\n\n[b]\nc = \"[hooks.state.\\\"/h:x:0:0\\\"]\"\n");
    }
}
