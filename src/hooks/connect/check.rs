//! Whether a harness that is connected really asks, as far as can be seen without starting it: its
//! configuration is read, and the command that stands in it is tried with a call that says nothing.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::relay::{self, List};
use super::{ConnectError, Ground, Reach, read, splice, text};
use crate::hooks::harness::{Adapter, Relay};
use crate::sys::disk;
use crate::sys::env::Env;
use crate::sys::program::Program;
use crate::text::digest;

/// How it stands with a harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The relays are there, and the gate answered.
    Connected,
    /// The relays are there, but the harness leaves them out or the gate does not answer.
    Silent(String),
    /// The relays are there in an older or a changed form.
    Differs,
    /// Somebody switched all hooks off.
    Tampered(String),
    /// No relay is there.
    NotConnected,
    /// The settings can't be read, for this reason: nobody knows.
    Broken(String),
}

impl Standing {
    /// The stable word in `--json`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Silent(_) => "silent",
            Self::Differs => "differs",
            Self::Tampered(_) => "tampered",
            Self::NotConnected => "not-connected",
            Self::Broken(_) => "broken",
        }
    }

    /// Why, in words.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Silent(why) | Self::Tampered(why) | Self::Broken(why) => Some(why),
            Self::Differs => Some("what stands there is not what this version of loci puts there"),
            Self::Connected | Self::NotConnected => None,
        }
    }
}

/// What the tried gate is given: it has to answer that there was nothing to check.
const PROBE: &[u8] = b"{\"hook_event_name\":\"PreToolUse\"}";

/// How its answer begins.
const ANSWER: &str = "loci: custody was not checked";

/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// How it stands with a harness: the file that was looked at, and what was found. `others` are
/// further configurations that this harness reads and that could switch the hooks off.
///
/// # Errors
/// Where the configuration can't be read.
pub fn standing(adapter: &Adapter, reach: &Reach, ground: &Ground<'_>, others: &[PathBuf]) -> Result<(PathBuf, Standing), ConnectError> {
    let file = ground.file(adapter, reach)?;
    let found = match read(&file)? {
        None => Standing::NotConnected,
        Some(now) => look(adapter, reach, ground, &file, &now, others)?,
    };
    Ok((file, found))
}

fn look(
    adapter: &Adapter,
    reach: &Reach,
    ground: &Ground<'_>,
    file: &std::path::Path,
    now: &[u8],
    others: &[PathBuf],
) -> Result<Standing, ConnectError> {
    let call = ground.call(adapter, reach)?;
    match adapter.wiring.relay {
        Relay::File(make) => {
            if !now.starts_with(super::OURS) {
                return Ok(Standing::NotConnected);
            }
            let tried = tried(&call.command());
            Ok(if now == make(&call).as_bytes() { tried } else { Standing::Differs })
        }
        Relay::Groups { event, groups, off, after, after_group } => {
            let unfit = |unfit| ConnectError::Unfit { path: file.to_owned(), unfit };
            let list = List { harness: adapter.name, event, groups: groups(&call) };
            let lists = relay::lists(adapter.name, &call, (event, groups), (after, after_group));
            let now = text(file, Some(now))?;
            if !list.called_in(now).map_err(unfit)? {
                return Ok(Standing::NotConnected);
            }
            if let Some((keys, value)) = off {
                for file in std::iter::once(&file.to_owned()).chain(others) {
                    if switched_off(file, keys, value) {
                        let why = format!("`{}` is {value} in {}", keys.join("."), crate::sys::shown::path(file));
                        return Ok(Standing::Tampered(why));
                    }
                }
            }
            if !relay::stand_in(&lists, now).map_err(unfit)? {
                return Ok(Standing::Differs);
            }
            if adapter.name == "codex"
                && let Some(why) = untrusted(ground, adapter, file, &list, now)
            {
                return Ok(Standing::Silent(why));
            }
            let command = list.command(now).map_err(unfit)?.unwrap_or_default();
            Ok(tried(&command))
        }
    }
}

/// Whether a configuration has the setting that switches all hooks off. One that can't be read says
/// nothing.
fn switched_off(file: &std::path::Path, keys: &[&str], value: bool) -> bool {
    let Some((first, rest)) = keys.split_first() else { return false };
    let Ok(Some(data)) = disk::read_if_there(file) else { return false };
    let Some(top) = std::str::from_utf8(&data).ok().and_then(|text| splice::top(text, first).ok().flatten()) else { return false };
    rest.iter().try_fold(&top, |at, key| at.get(*key)) == Some(&Value::Bool(value))
}

/// Codex runs a hook only after its user has said so, and keeps that in its `config.toml`: the place
/// of the hook, and a digest of it.
fn untrusted(ground: &Ground<'_>, adapter: &Adapter, file: &std::path::Path, list: &List<'_>, now: &str) -> Option<String> {
    let config = disk::read_if_there(&ground.folder(adapter).join("config.toml")).ok().flatten().unwrap_or_default();
    let config = String::from_utf8_lossy(&config).into_owned();
    let at = splice::elements(now, list.event).ok()?.iter().position(|group| list.groups.contains(group))?;
    let hook = list.groups.first()?.pointer("/hooks/0")?;
    let command = hook.get("command")?;
    let timeout = hook.get("timeout")?;
    let described = format!(
        "{{\"event_name\":\"pre_tool_use\",\"hooks\":[{{\"async\":false,\"command\":{command},\"timeout\":{timeout},\"type\":\"command\"}}]}}"
    );
    let key = format!("{}:pre_tool_use:{at}:0", file.display());
    let trusted = config.split(&key).nth(1).is_some_and(|rest| {
        let entry = rest.split("\n[").next().unwrap_or_default();
        entry.contains(&format!("sha256:{}", digest::sha256(described.as_bytes())))
    });
    (!trusted).then(|| "Codex has not been told to trust it: start `codex` and say yes when it shows the new hook".to_owned())
}

/// Tries a command as the harness would run it.
fn tried(command: &str) -> Standing {
    let program = Program {
        file: std::path::Path::new("/bin/sh"),
        args: vec!["-c".into(), command.into()],
        cwd: std::path::Path::new("/"),
        // As the harness would: with the environment that it was started in.
        env: Env::of_process().vars,
        stdin: PROBE,
        limit: PATIENCE,
        keep: 1 << 16,
    };
    match program.run() {
        Ok(said) if said.timed_out => Standing::Silent("the command in it does not end in time".to_owned()),
        Ok(said) if said.code == Some(0) && String::from_utf8_lossy(&said.stderr).starts_with(ANSWER) => Standing::Connected,
        Ok(said) if said.code == Some(0) => Standing::Silent("the command in it ends well, but no gate answers".to_owned()),
        Ok(said) => {
            let code = said.code.map_or_else(|| "no exit code".to_owned(), |code| format!("exit code {code}"));
            let words = String::from_utf8_lossy(&said.stderr);
            Standing::Silent(format!(
                "the command in it fails ({code}): {}",
                crate::sys::shown::text(words.lines().next().unwrap_or_default())
            ))
        }
        Err(error) => Standing::Silent(format!("the command in it can't be run: {error}")),
    }
}
