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

/// A folder of the state that is read-only in a jail, and what stands in its place there.
pub(super) struct Own {
    /// The folder.
    pub(super) shown: PathBuf,
    /// What is put there: it lasts as long as the body.
    pub(super) from: PathBuf,
}

/// What gets a folder of its own: the journals of what loci's verbs change from inside, since one that another loci
/// outside would go on with could make it change anything; and for a whole session what hooks remember of it, since
/// that says who asks. A journal that a kill leaves there is found by the next verb in a jail of that body; from outside
/// `inbox apply` knows by the inbox what was begun.
///
/// A dry run makes none of them.
pub(super) fn of_its_own(context: &Context, asker: &Asker, session: bool, dry_run: bool) -> Result<Vec<Own>, Failure> {
    let state = &context.state;
    let whose = digest::key("jailed", asker.body.as_deref().unwrap_or(state));
    let own = |name: &str, from: PathBuf| {
        let shown = state.join(name);
        if !dry_run {
            disk::make_dirs(&from)?;
            disk::make_dirs(&shown)?;
        } else if !disk::is_dir(&from) || !disk::is_dir(&shown) {
            return Ok(None);
        }
        Ok::<_, Failure>(Some(Own { shown: disk::canonical(&shown)?, from: disk::canonical(&from)? }))
    };
    let mut folders = vec![own("journal", state.join("jailed").join(format!("{whose}.journal")))?];
    if session {
        folders.push(own("sessions", state.join("jailed").join(whose))?);
    }
    Ok(folders.into_iter().flatten().collect())
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
