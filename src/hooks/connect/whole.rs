//! Files that are ours as a whole: of a harness that reads no settings of hooks, but programs.

use super::ground::Spot;
use super::{ConnectError, relay};
use crate::hooks::harness::{Adapter, Call, Ours, Relay};

/// Why a file of ours is not touched.
pub const CHANGED: &str = "somebody has changed it since it was put there";

/// Why a file that we would put there is not.
pub const TAKEN: &str = "something that is not ours stands there";

/// What stands near the top of a file that is ours as a whole.
const OURS: &str = "Put here by `loci connect ";

/// One of the files of a harness, and what is to stand in it.
pub(super) struct Target {
    /// Where it lies.
    pub(super) spot: Spot,
    /// `None`: nothing of ours.
    pub(super) ours: Option<Ours>,
}

/// The files of a harness: the one that holds its settings, or those that are ours as a whole. The
/// latter that are not wanted this time are named as well.
pub(super) fn targets(adapter: &Adapter, first: Spot, call: Option<&Call>) -> Result<Vec<Target>, ConnectError> {
    let Relay::Files(make) = adapter.wiring.relay else { return Ok(vec![Target { spot: first, ours: None }]) };
    let wanted = call.map(make).unwrap_or_default();
    let every = |observe| make(&Call { program: None, harness: adapter.name, observe });
    let mut names: Vec<String> = wanted.iter().map(|ours| ours.name.clone()).collect();
    for ours in [every(false), every(true)].into_iter().flatten() {
        if !names.contains(&ours.name) {
            names.push(ours.name);
        }
    }
    let named = |name: String| {
        let own = first.name.file_name().is_some_and(|own| own == name.as_str());
        let spot = if own { first.clone() } else { first.beside(&name)? };
        Ok(Target { spot, ours: wanted.iter().find(|ours| ours.name == name).cloned() })
    };
    names.into_iter().map(named).collect()
}

/// What is left of a file that is ours as a whole: nothing, in this or an older form; what somebody has added
/// to it.
pub(super) fn without_ours(
    adapter: &Adapter,
    make: fn(&Call) -> Vec<Ours>,
    spot: &Spot,
    now: &[u8],
    kept: bool,
) -> Result<Option<Vec<u8>>, ConnectError> {
    if !is_ours(adapter, now) {
        return Ok(Some(now.to_vec()));
    }
    // One that still calls us is not let go as if it did not, whatever else was changed in it.
    let changed = ConnectError::File { path: spot.file.clone(), why: CHANGED };
    let Ok(text) = std::str::from_utf8(now) else { return Err(changed) };
    if let Some(left) = relay::without_hooks(adapter, text) {
        return Ok(left.map(String::into_bytes));
    }
    // Which program it calls stands in it, and the rest of it as well: it is looked for as it would be written for that.
    let name = spot.name.file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
    let program = programs(text);
    let forms =
        program.iter().flat_map(|program| [false, true].map(|observe| Call { program: program.clone(), harness: adapter.name, observe }));
    let texts = forms.flat_map(|call| make(&call)).filter(|ours| ours.name == name).map(|ours| ours.text);
    for ours in texts {
        if let Some((before, after)) = text.split_once(&ours) {
            let left = format!("{before}{after}");
            return Ok((!left.trim().is_empty()).then(|| left.into_bytes()));
        }
    }
    // Without a receipt it may be of a version that wrote other words below the same first line.
    if kept || !says_ours(now) { Err(changed) } else { Ok(None) }
}

/// The programs that a file of ours may call.
fn programs(text: &str) -> Vec<Option<String>> {
    let links = text.match_indices("/.loci/bin/loci").filter_map(|(at, found)| {
        let before = text.get(..at)?;
        let start = before.rfind(['"', '\'', ' ', '\n']).map_or(0, |at| at + 1);
        let path = text.get(start..at + found.len())?;
        path.starts_with('/').then(|| Some(path.to_owned()))
    });
    let mut all: Vec<Option<String>> = links.chain([None]).collect();
    all.sort();
    all.dedup();
    all
}

/// Whether a file is one that is ours as a whole: it says so near its top, each command in it is, or it calls
/// loci as ours do.
pub(super) fn is_ours(adapter: &Adapter, now: &[u8]) -> bool {
    let text = String::from_utf8_lossy(now);
    says_ours(now) || calls_us(adapter, &text) || relay::without_hooks(adapter, &text).is_some()
}

/// Whether a file says near its top that it is ours.
fn says_ours(now: &[u8]) -> bool {
    let top = now.get(..now.len().min(200)).unwrap_or_default();
    String::from_utf8_lossy(top).contains(OURS)
}

/// Whether a program calls the link that relays call, for this harness: in a shell or in a list of words, however
/// somebody has laid it out since.
#[must_use]
pub fn calls_us(adapter: &Adapter, text: &str) -> bool {
    let words: String = text.chars().filter(|one| !one.is_whitespace() && !matches!(one, '"' | '\'' | '`' | ',')).collect();
    let link = words.contains("/.loci/bin/loci") || words.contains(".locibinloci");
    link && words.contains(&format!("--for{}", adapter.name))
}
