//! A slip: word to an owner that a call has ended in its directory after all.
//!
//! It comes from the look after a call. The gate had let it through: a link was swapped in between, the
//! directory got its owner in between, or the gate was not asked.

use super::asker::Asker;
use super::delegation::{bounded, groups, key};
use super::fence;
use super::inbox;
use super::letter::{self, Field, Kind, Letter};
use super::maildir::{MailError, Mailbox, Placed};
use super::ruling::{ActRuling, Ruling, Surroundings, Who};
use super::worktree;
use crate::sys::shown;
use crate::sys::time::{self, Timestamp};

/// A call that has happened.
#[derive(Debug, Clone, Copy)]
pub struct Happened<'a> {
    /// Who made it.
    pub asker: &'a Asker,
    /// Under which harness.
    pub harness: &'a str,
    /// In which session.
    pub session: &'a str,
    /// The id of the call, where the harness gives one.
    pub call: Option<&'a str>,
    /// By which sub-agent, where the harness tells.
    pub sub_agent: Option<&'a str>,
    /// With which tool.
    pub tool: &'a str,
    /// When.
    pub at: Timestamp,
}

/// Tells every owner whose directory the acts ended in: the id of each slip, or why it could not be
/// delivered.
#[must_use]
pub fn send(happened: &Happened<'_>, ruling: &Ruling, surroundings: &Surroundings) -> Vec<Result<String, String>> {
    let groups = groups(ruling, surroundings);
    let one = |((who, place), acts): ((Who, std::path::PathBuf), Vec<&ActRuling>)| {
        let (mailbox, to) = match &who {
            Who::Agent(id) => (Mailbox::of(&place), id.as_str()),
            Who::Human | Who::Unclear => (Mailbox::of_human(&place), "human"),
        };
        to_one(happened, &mailbox, to, &acts).map_err(|error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
            format!("failed to {error}{cause}")
        })
    };
    groups.into_iter().map(one).collect()
}

fn to_one(happened: &Happened<'_>, mailbox: &Mailbox, to: &str, acts: &[&ActRuling]) -> Result<String, MailError> {
    let mut targets: Vec<String> = acts.iter().map(|act| shown::path(act.path()).to_string()).collect();
    targets.sort();
    targets.dedup();
    let mut parts: Vec<&[u8]> =
        vec![b"slip", happened.session.as_bytes(), happened.call.unwrap_or_default().as_bytes(), happened.tool.as_bytes(), to.as_bytes()];
    parts.extend(targets.iter().map(String::as_bytes));
    let key = key(&parts);
    let text = |text: &str| Field::Text(text.to_owned());
    let mut fields = vec![("harness", text(happened.harness)), ("session", text(happened.session))];
    fields.extend(happened.sub_agent.map(|agent| ("sub_agent", text(agent))));
    fields.push(("tool", text(happened.tool)));
    if let Some(owner) = acts.iter().find_map(|act| act.owner.as_ref()) {
        fields.push(("directory", Field::Text(shown::path(&owner.dir).to_string())));
    }
    let list = targets.join("\n");
    fields.push(("targets", Field::List(bounded(targets.into_iter()))));
    fields.push(("change", text("none")));
    let letter = Letter {
        id: letter::id(happened.at, &key),
        kind: Kind::Slip,
        from: happened.asker.name().to_owned(),
        from_body: happened.asker.body.as_deref().map(worktree::stays).and_then(|body| body.to_str().map(str::to_owned)),
        to: to.to_owned(),
        at: time::to_second(happened.at),
        fields,
        body: format!(
            "A call of {} has ended in what is {}, though it was let through before it ran. Nothing was taken back. Look at:\n\n{}",
            happened.asker.name(),
            if to == "human" { "the human's".to_owned() } else { format!("{to}'s") },
            fence::block("text", &list)
        ),
    };
    let placed = mailbox.deliver(&key, &letter.render())?;
    match &placed {
        Placed::Again(path) => inbox::id_of(path, &key),
        Placed::Fresh(_) => {
            inbox::note_filed(mailbox, &key, &letter, &placed, happened.at, happened.asker.name())?;
            Ok(letter.id)
        }
    }
}
