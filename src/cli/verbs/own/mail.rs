//! Open mail about a directory whose owner changes: nobody answers it by itself, so it is said.

use std::path::Path;

use serde_json::{Value, json};

use super::body;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::near::word;
use crate::custody::find;
use crate::custody::inbox::Log;
use crate::custody::maildir::Mailbox;
use crate::sys::shown;
use crate::text::name::AgentId;

/// An open message, and the inbox that it lies in.
pub(super) struct Open {
    id: String,
    from: String,
    mailbox: Mailbox,
}

impl Open {
    /// For `--json`.
    pub(super) fn object(&self) -> Value {
        json!({ "id": self.id, "from": self.from, "inbox": self.mailbox.dir().to_string_lossy() })
    }
}

/// The open messages of one inbox that are about what lies in `dir`; all of them with `every`.
fn open(context: &Context, mailbox: &Mailbox, dir: &Path, every: bool) -> Vec<Open> {
    if !mailbox.exists() {
        return Vec::new();
    }
    // An inbox that can't be used keeps nobody from giving a directory up: it is said.
    let log = Log::read(mailbox);
    let listed = log.as_ref().map_err(ToString::to_string).and_then(|log| log.list().map_err(|error| error.to_string()));
    let contents = match listed {
        Ok(contents) => contents,
        Err(why) => {
            context.say(&format!("note: whether mail waits here can't be said: failed to {why}"));
            return Vec::new();
        }
    };
    let about = shown::path(dir).to_string();
    let waits = |state: crate::custody::inbox::State| !state.is_closed();
    let messages = contents.messages.into_iter().filter(|message| waits(message.standing.state));
    let ours = messages.filter(|message| every || message.shows.targets.iter().any(|target| Path::new(&**target).starts_with(&about)));
    let owned = |message: crate::custody::inbox::Listed<'_>| Open {
        id: message.shows.id.to_string(),
        from: message.shows.from.as_deref().unwrap_or("?").to_owned(),
        mailbox: mailbox.clone(),
    };
    ours.map(owned).collect()
}

/// The open messages that lie in a directory itself: of an owner whose body was not known.
pub(super) fn left_in(context: &Context, dir: &Path) -> Vec<Open> {
    open(context, &Mailbox::of(dir), dir, true)
}

/// The open messages about a directory, for its owner: in the owner's body, and in the directory itself.
///
/// # Errors
/// Never for want of a body.
pub(super) fn about(context: &Context, owner: Option<&AgentId>, pinned: Option<&Path>, dir: &Path) -> Result<Vec<Open>, Failure> {
    let mut found = left_in(context, dir);
    // Two bodies of one name are no reason to stop here.
    let lives = owner.and_then(|owner| body(context, owner, dir, pinned).ok().flatten());
    if let Some(lives) = lives.filter(|lives| lives != dir) {
        found.extend(open(context, &Mailbox::of(&lives), dir, false));
    }
    Ok(found)
}

/// What giving a directory up means for them; `None` where there are none.
pub(super) fn words(context: &Context, mail: &[Open], owner: &str, dir: &Path, done: bool) -> Vec<String> {
    let own = Mailbox::of(dir);
    // The inbox of whoever lives in the directory stays, whoever owns it.
    let lived_in = find::identity(dir).is_some();
    let (here, elsewhere): (Vec<&Open>, Vec<&Open>) = mail.iter().partition(|one| !lived_in && one.mailbox.dir() == own.dir());
    let count = |list: &[&Open]| match list {
        [_] => "1 open message".to_owned(),
        more => format!("{} open messages", more.len()),
    };
    let mut lines = Vec::new();
    if !elsewhere.is_empty() {
        lines.push(format!(
            "note: {} about {} in the inbox of {owner}: {owner} can answer there, but once somebody else owns it, or nobody, no longer apply",
            count(&elsewhere),
            context.shown(dir)
        ));
    }
    if !here.is_empty() {
        lines.push(format!(
            "note: {} to {owner} in {}: no inbox lists what lies there until somebody owns {} again",
            count(&here),
            context.shown(own.dir()),
            context.shown(dir)
        ));
    }
    if !lines.is_empty() {
        let inbox = format!("loci inbox {}", word(Path::new(owner)));
        lines.push(match (done, here.is_empty()) {
            (false, _) => format!("hint: {inbox}   # first"),
            (true, true) => format!("hint: {inbox}"),
            (true, false) => format!("hint: loci own {} --as {}   # then: {inbox}", word(dir), word(Path::new(owner))),
        });
    }
    lines
}
