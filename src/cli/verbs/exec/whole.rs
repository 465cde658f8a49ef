//! A whole session in a jail: what it has to be able to write that a single command has not, and its mail,
//! which does not wait for its end.

use std::path::PathBuf;

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::{grant, verbs::delegate};
use crate::custody::asker::Asker;
use crate::custody::outbox::{self, Drained};
use crate::sys::disk;
use crate::text::digest;

/// What hooks remember of sessions is read-only for it, since it says who asks in them. It gets a folder
/// of its own in that place, which lasts as long as the body: that place, and its folder.
pub(super) fn memory_of_its_own(context: &Context, asker: &Asker) -> Result<(PathBuf, PathBuf), Failure> {
    let state = &context.state;
    let whose = asker.body.as_deref().unwrap_or(state);
    let (own, shown) = (state.join("jailed").join(digest::key("jailed", whose)), state.join("sessions"));
    disk::make_dirs(&own)?;
    disk::make_dirs(&shown)?;
    Ok((disk::canonical(&shown)?, disk::canonical(&own)?))
}

/// What was delivered while the session went on. The terminal is the session's: it is said at the end.
#[derive(Debug, Default)]
pub(super) struct Post {
    lines: Vec<String>,
}

impl Post {
    /// Delivers what waits, where something does.
    pub(super) fn deliver(&mut self, context: &Context, asker: &Asker) {
        let waits = disk::list_at_most(&outbox::dir(asker, &context.state), 0).is_ok_and(|none| none.is_none());
        let Some(surroundings) = waits.then(|| grant::surroundings(context).ok()).flatten() else { return };
        let told = outbox::drain(asker, &surroundings).into_iter().filter(|one| !matches!(one, Drained::Waits(_)));
        self.lines.extend(told.filter_map(|one| delegate::words(&one)));
    }

    /// Says it.
    pub(super) fn say(self, context: &Context) {
        self.lines.iter().for_each(|line| context.say(line));
    }
}
