//! Whether a harness that is connected really asks, as far as can be seen without starting it: its
//! configuration is read, and the command that stands in it is tried with a call that says nothing.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::file::{read, text};
use super::ground::Spot;
use super::receipt::{Named, Receipt};
use super::trust::{self, Lack};
use super::whole::{Target, is_ours, targets};
use super::{ConnectError, Ground, Reach, put, relay, splice, tables};
use crate::hooks::harness::{Adapter, Call, Relay};
use crate::sys::disk;
use crate::sys::env::{self, Env};
use crate::sys::program::Program;

/// How it stands with a harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The relays are there, and the gate answered.
    Connected,
    /// Relays are there that only watch.
    Observed,
    /// The relays are there, but the harness leaves them out or the gate does not answer.
    Silent(String),
    /// The relays are there in an older or a changed form.
    Differs,
    /// Somebody switched all hooks off.
    Tampered(String),
    /// No relay is there.
    NotConnected,
    /// No relay is there any more, and nobody has disconnected it.
    Gone,
    /// The settings can't be read, for this reason: nobody knows.
    Broken(String),
}

impl Standing {
    /// The stable word in `--json`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Observed => "observed",
            Self::Silent(_) => "silent",
            Self::Differs => "differs",
            Self::Tampered(_) => "tampered",
            Self::NotConnected => "not-connected",
            Self::Gone => "gone",
            Self::Broken(_) => "broken",
        }
    }

    /// Why, in words.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Silent(why) | Self::Tampered(why) | Self::Broken(why) => Some(why),
            Self::Differs => Some("what stands there is not what this version of loci puts there"),
            Self::Gone => Some("the relays that `loci connect` put there are not there any more"),
            Self::Connected | Self::Observed | Self::NotConnected => None,
        }
    }
}

/// What the tried gate is given: it has to answer that there was nothing to check.
const PROBE: &[u8] = b"{\"hook_event_name\":\"PreToolUse\"}";

/// How its answer begins.
const ANSWER: &str = "loci: custody was not checked";

/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// How it stands with a harness: the file that was looked at, by the name that the harness reads it by, and what was found. `others` are
/// further configurations that this harness reads and that could switch the hooks off.
///
/// # Errors
/// Where the configuration can't be read.
pub fn standing(adapter: &Adapter, reach: &Reach, ground: &Ground<'_>, others: &[PathBuf]) -> Result<(PathBuf, Standing), ConnectError> {
    let spot = ground.spot(adapter, reach)?;
    let acts = ground.call(adapter, reach, false)?;
    let watches = ground.call(adapter, reach, true)?;
    let found = match adapter.wiring.relay {
        Relay::Files(_) => match whole(adapter, &spot, [&acts, &watches])? {
            Standing::NotConnected => Standing::NotConnected,
            found => off(adapter, ground, &spot.name, others).map_or(found, Standing::Tampered),
        },
        Relay::Groups { .. } | Relay::Yaml(_) => match read(&spot.file)? {
            None => Standing::NotConnected,
            Some(now) => look(adapter, ground, &spot, &now, others, [&acts, &watches])?,
        },
    };
    // A name of the file stands in a receipt as long as nobody has disconnected it.
    let is_named = |named: &Named| named.harness == adapter.name && named.names.iter().chain([&named.file]).any(|name| *name == spot.name);
    let gone = found == Standing::NotConnected && Receipt::files(ground.state).iter().any(is_named);
    Ok((spot.name, if gone { Standing::Gone } else { found }))
}

/// How it stands with a harness whose relays are files of ours.
fn whole(adapter: &Adapter, spot: &Spot, [acts, watches]: [&Call; 2]) -> Result<Standing, ConnectError> {
    let stands = |call: &Call| {
        let targets = targets(adapter, spot.clone(), Some(call))?;
        targets.iter().try_fold(true, |all, target| {
            let now = read(&target.spot.file)?.filter(|now| target.ours.is_some() || is_ours(adapter, now));
            Ok::<_, ConnectError>(all && now.as_deref() == target.ours.as_ref().map(|ours| ours.text.as_bytes()) && may_run(target))
        })
    };
    if stands(acts)? {
        return Ok(tried(&acts.command()));
    }
    if stands(watches)? {
        return Ok(Standing::Observed);
    }
    let any = targets(adapter, spot.clone(), Some(acts))?
        .iter()
        .try_fold(false, |any, target| Ok::<_, ConnectError>(any || read(&target.spot.file)?.is_some_and(|now| is_ours(adapter, &now))))?;
    Ok(if any { Standing::Differs } else { Standing::NotConnected })
}

/// Whether a file that is a program can be run as one.
fn may_run(target: &Target) -> bool {
    !target.ours.as_ref().is_some_and(|ours| ours.program)
        || disk::look_through(&target.spot.file).is_ok_and(|meta| meta.is_some_and(|meta| meta.mode & 0o100 != 0))
}

fn look(
    adapter: &Adapter,
    ground: &Ground<'_>,
    spot: &Spot,
    now: &[u8],
    others: &[PathBuf],
    [acts, watches]: [&Call; 2],
) -> Result<Standing, ConnectError> {
    let unfit = |unfit| ConnectError::Unfit { path: spot.file.clone(), unfit };
    let now = text(&spot.file, Some(now))?;
    let lists = relay::all(adapter, acts);
    if !relay::called_in(&lists, now).map_err(unfit)? {
        return Ok(Standing::NotConnected);
    }
    put::readable(adapter, &spot.file, now)?;
    if let Some(why) = off(adapter, ground, &spot.name, others) {
        return Ok(Standing::Tampered(why));
    }
    let watching = relay::stand_in(&relay::all(adapter, watches), now).map_err(unfit)?;
    if !watching && !relay::stand_in(&lists, now).map_err(unfit)? {
        return Ok(Standing::Differs);
    }
    let lists = if watching { relay::all(adapter, watches) } else { lists };
    if let Some(why) = trust::missing(adapter, ground, spot, &lists, now).map_err(unfit)? {
        return Ok(match why {
            Lack::Silent(why) => Standing::Silent(why),
            Lack::Off(why) => Standing::Tampered(why),
        });
    }
    if watching {
        return Ok(Standing::Observed);
    }
    let command = lists.first().map(|list| list.command(now)).transpose().map_err(unfit)?.flatten().unwrap_or_default();
    Ok(tried(&command))
}

/// What switches all hooks off, in words; `None` where nothing does. `file`, by the name that the harness reads it by, and `others` are as for
/// [`standing`].
#[must_use]
pub fn off(adapter: &Adapter, ground: &Ground<'_>, file: &std::path::Path, others: &[PathBuf]) -> Option<String> {
    let said =
        |setting: String, value: bool, file: &std::path::Path| format!("`{setting}` is {value} in {}", crate::sys::shown::path(file));
    if let Relay::Groups { off: Some((keys, value)), .. } = adapter.wiring.relay
        && let Some(file) = std::iter::once(file).chain(others.iter().map(PathBuf::as_path)).find(|file| switched_off(file, keys, value))
    {
        return Some(said(keys.join("."), value, file));
    }
    let folder = ground.folder(adapter);
    if adapter.name == "gemini"
        && let Some(file) = std::iter::once(file).chain(others.iter().map(PathBuf::as_path)).find(|file| names_ours(file))
    {
        return Some(format!("`hooksConfig.disabled` names our hook in {}", crate::sys::shown::path(file)));
    }
    if adapter.name == "copilot" {
        let files = ["settings.json", "config.json"].map(|name| folder.join(name));
        let off = files.iter().find(|file| switched_off(file, &["disableAllHooks"], true))?;
        return Some(said("disableAllHooks".to_owned(), true, off));
    }
    if adapter.name != "codex" {
        return None;
    }
    // Codex has its switch in the other file of its folder.
    let beside = |file: &std::path::Path| file.with_file_name("config.toml");
    let files = [folder.join("config.toml"), beside(file)].into_iter().chain(others.iter().map(|file| beside(file)));
    files.into_iter().find_map(|file| {
        let data = disk::read_bounded(&file, 4 << 20).ok()??;
        // One that is no TOML keeps Codex from starting; that is said where its trust is looked at.
        tables::switched_off(&String::from_utf8_lossy(&data)).ok().flatten().map(|key| said(key, false, &file))
    })
}

/// Whether Gemini CLI has been told to leave out the hook that is called as ours are.
fn names_ours(file: &std::path::Path) -> bool {
    let Ok(Some(data)) = disk::read_if_there(file) else { return false };
    let config = std::str::from_utf8(&data).ok().and_then(|text| splice::top(text, "hooksConfig").ok().flatten());
    let names = config.as_ref().and_then(|config| config.get("disabled")?.as_array());
    names.is_some_and(|names| names.iter().any(|name| name.as_str().is_some_and(|name| name == "loci" || name.contains("/.loci/bin/loci"))))
}

/// Whether a configuration has the setting that switches all hooks off. One that can't be read says
/// nothing.
pub(super) fn switched_off(file: &std::path::Path, keys: &[&str], value: bool) -> bool {
    let Some((first, rest)) = keys.split_first() else { return false };
    let Ok(Some(data)) = disk::read_if_there(file) else { return false };
    let Some(top) = std::str::from_utf8(&data).ok().and_then(|text| splice::top(text, first).ok().flatten()) else { return false };
    rest.iter().try_fold(&top, |at, key| at.get(*key)) == Some(&Value::Bool(value))
}

/// Tries a command as the harness would run it.
fn tried(command: &str) -> Standing {
    let mut env = Env::of_process().vars;
    env.insert(env::LOCI_PROBE.into(), "1".into());
    let program = Program {
        file: std::path::Path::new("/bin/sh"),
        args: vec!["-c".into(), command.into()],
        cwd: std::path::Path::new("/"),
        // As the harness would: with the environment that it was started in.
        env,
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
            let gone = if said.code == Some(127) { "; `loci init` makes the link to it again" } else { "" };
            Standing::Silent(format!(
                "the command in it fails ({code}): {}{gone}",
                crate::sys::shown::text(words.lines().next().unwrap_or_default())
            ))
        }
        Err(error) => Standing::Silent(format!("the command in it can't be run: {error}")),
    }
}
