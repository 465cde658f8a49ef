//! Claude Code reads its settings live, and asks before it takes a change of them over. What would take the
//! gate away from the running session is refused; every other change is none of our business.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Ground, Reach, Spot, check, receipt::Receipt, relay};
use crate::hooks::harness::{Adapter, Call, Relay, event_name};
use crate::sys::disk;
use crate::sys::env::Env;

/// The event.
const EVENT: &str = "ConfigChange";

/// What is to be said about a payload that is about a change of settings: `Some(None)` lets it through, with a
/// text it is refused. `None` where the payload is about something else.
#[must_use]
pub fn change(adapter: &Adapter, env: &Env, payload: &[u8]) -> Option<Option<String>> {
    let Relay::Groups { more, off: Some((keys, value)), .. } = adapter.wiring.relay else { return None };
    if !more.iter().any(|(event, _)| *event == EVENT) || event_name(payload).as_deref() != Some(EVENT) {
        return None;
    }
    let said: Value = serde_json::from_slice(payload).ok()?;
    let text = |key: &str| said.get(key).and_then(Value::as_str);
    if text("hook_event_name") != Some(EVENT) {
        return None;
    }
    let (Some(home), Some(user_home), Some(state)) = (env.home(), env.user_home(), env.state()) else { return Some(None) };
    let ground = Ground { env, home: &home, user_home: &user_home, state: &state };
    let of_project = [adapter.wiring.shared, adapter.wiring.local].into_iter().flatten();
    let mut files: Vec<PathBuf> =
        text("cwd").into_iter().flat_map(|cwd| of_project.clone().map(|file| Path::new(cwd).join(file))).collect();
    files.extend(text("file_path").map(PathBuf::from));
    files.extend(ground.spot(adapter, &Reach::User).ok().map(|spot| spot.name));
    files.retain(|file| file.is_absolute());
    Some(files.iter().find_map(|file| why(adapter, &ground, file, keys, value)))
}

/// Why a file takes the gate away.
fn why(adapter: &Adapter, ground: &Ground<'_>, file: &Path, keys: &[&str], value: bool) -> Option<String> {
    let shown = crate::sys::shown::path(file);
    let tell = "Not taken over: what connects an agent's hooks is changed by a person alone, who starts the session anew for it.";
    if check::switched_off(file, keys, value) {
        return Some(format!("{tell} `{}` is {value} in {shown}.", keys.join(".")));
    }
    // Whoever disconnects takes the receipt away as well.
    Receipt::read(ground.state, adapter.name, &Spot::at(file.to_owned()).ok()?).ok().flatten()?;
    let now = disk::read_if_there(file).ok().flatten().unwrap_or_default();
    let text = std::str::from_utf8(&now).unwrap_or_default();
    // In the form in which they are put there: a matcher that is cut, or a limit of no time, takes the gate away as well.
    let reaches = [Reach::User, Reach::Shared(PathBuf::new())];
    let whole = reaches.iter().any(|reach| {
        let stands = |call: Call| relay::stand_in(&relay::all(adapter, &call), text).unwrap_or(false);
        ground.call(adapter, reach, false).is_ok_and(stands)
    });
    (!whole).then(|| format!("{tell} The relays that `loci connect` has put into {shown} are gone, or not what they were."))
}
