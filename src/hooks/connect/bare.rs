//! What stands in a harness's settings without us.

use std::path::Path;

use super::file::text;
use super::ground::Spot;
use super::receipt::Receipt;
use super::splice::Made;
use super::{ConnectError, relay, whole};
use crate::hooks::harness::{Adapter, Relay};

/// What stands in a configuration without our relays: what was kept, byte for byte, where nobody has
/// been at it since; `None` where nothing is left of what was made.
pub(super) fn bare(
    adapter: &Adapter,
    spot: &Spot,
    now: Option<&[u8]>,
    kept: Option<&Receipt>,
    state: &Path,
) -> Result<Option<Vec<u8>>, ConnectError> {
    if let Some(receipt) = kept
        && let Some(original) = receipt.original(state, now)?
    {
        return Ok(original);
    }
    let Some(now) = now else { return Ok(None) };
    if let Relay::Files(make) = adapter.wiring.relay {
        return whole::without_ours(adapter, make, spot, now, kept.is_some());
    }
    let lists = relay::every(adapter);
    let unfit = |unfit| ConnectError::Unfit { path: spot.file.clone(), unfit };
    let text = text(&spot.file, Some(now))?;
    if !relay::called_in(&lists, text).map_err(unfit)? {
        return Ok(Some(now.to_vec()));
    }
    // Without a receipt nobody knows what was made along; an empty list says nothing, so it goes.
    let made = |event: &str| kept.map_or(Made::Hooks, |receipt| receipt.made_for(event));
    let left = relay::taken_from(&lists, text, &made).map_err(unfit)?;
    let gone = left.trim().is_empty() && kept.is_some_and(|receipt| receipt.before.is_none());
    Ok((!gone).then(|| left.into_bytes()))
}
