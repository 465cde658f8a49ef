//! A refusal at the wall becomes a request in the human's inbox.

use std::path::{Path, PathBuf};

use super::written::write_letter;
use super::{Attempt, Filed, attempt_key, key};
use crate::custody::capture::Captured;
use crate::custody::letter::{self, Field, Kind, Letter};
use crate::custody::maildir::{MailError, Mailbox, Placed};
use crate::custody::ruling::Owner;
use crate::custody::{inbox, requests};
use crate::sys::{shown, time};

/// How many requests of one sender and hour are kept in full; further ones are counted.
const MAX_HELD: usize = 100;

/// A request goes into the human's inbox: one digest for each sender and hour, each request whole
/// beside it.
pub(super) fn request(
    attempt: &Attempt<'_>,
    home: &Path,
    owner: &Owner,
    targets: &[PathBuf],
    captured: &Captured,
    hops: usize,
) -> Result<Filed, MailError> {
    let mailbox = Mailbox::of_human(home);
    let hour: String = time::to_second(attempt.at).chars().take(13).collect();
    let digest_key = key(&[b"digest", attempt.asker.name().as_bytes(), hour.as_bytes()]);
    let key = unanswered(&mailbox, &digest_key, attempt_key(attempt, "human", targets, captured))?;
    let name = held_name(&digest_key, &key);
    let letter =
        write_letter(attempt, Kind::Request, &key, "human", owner, targets, captured, hops, &[("digest", Field::Text(digest_key.clone()))]);
    let placed =
        keep(&mailbox, &digest_key, &name, &letter.render(), captured.full().map(|full| (format!("{digest_key}.{key}.txt"), full)))?;
    let digest = Letter {
        id: letter::id(attempt.at, &digest_key),
        kind: Kind::Digest,
        body: format!(
            "Requests of {} in the hour from {hour}:00Z. Each one stands in `held/`, named {digest_key}.KEY.md.\n",
            attempt.asker.name()
        ),
        fields: Vec::new(),
        ..letter.clone()
    };
    let digest_placed = mailbox.deliver(&digest_key, &digest.render())?;
    if matches!(digest_placed, Placed::Fresh(_)) {
        inbox::note_filed(&mailbox, &digest_key, &digest, &digest_placed, attempt.at, attempt.asker.name())?;
    }
    let mut record = inbox::record(attempt.at, &digest_key, if placed.is_some() { "held" } else { "unkept" }, attempt.asker.name());
    if placed.is_some() {
        record["held"] = name.clone().into();
    }
    record["targets"] = targets.iter().take(8).map(|path| shown::path(path).to_string()).collect::<Vec<_>>().into();
    record["tool"] = attempt.tool.into();
    mailbox.log(&record)?;
    let again = matches!(placed, Some(Placed::Again(_)));
    let state = if again { requests::state_of(&mailbox.newest_records().unwrap_or_default(), &name) } else { inbox::State::New };
    let counted = placed.is_none();
    // Of what was filed before, the id is the one that it got then.
    let id = match (&placed, &digest_placed) {
        (Some(Placed::Again(path)), _) => inbox::id_of(path, &key)?,
        (Some(Placed::Fresh(_)), _) => letter.id,
        (None, Placed::Again(path)) => inbox::id_of(path, &digest_key)?,
        (None, Placed::Fresh(_)) => digest.id,
    };
    Ok(Filed { id, inbox: mailbox.dir().to_owned(), again, parked: false, counted, state, last_worked: None })
}

fn held_name(digest_key: &str, key: &str) -> String {
    format!("{digest_key}.{key}.md")
}

/// The key that a request goes by: that of the attempt. What was asked for and done may be needed once more, so after
/// that it is another request. One that was declined stays declined for that hour: asking again is no way to a yes.
fn unanswered(mailbox: &Mailbox, digest_key: &str, first: String) -> Result<String, MailError> {
    if !mailbox.holds(&held_name(digest_key, &first))? {
        return Ok(first);
    }
    let records = mailbox.newest_records().unwrap_or_default();
    let mut key = first.clone();
    for round in 1..=MAX_HELD {
        if requests::state_of(&records, &held_name(digest_key, &key)) != inbox::State::Done {
            break;
        }
        key = super::key(&[b"once more", first.as_bytes(), round.to_string().as_bytes()]);
    }
    Ok(key)
}

/// Keeps a request beside its digest; `None` where as many are kept as may be: then it is only counted.
///
/// Nobody waits for anybody: each puts its own down, looks, and takes it away again where there are too many.
/// Whoever looks last sees all that stay, so that no more than may be are left; and where there are not too many,
/// none goes.
fn keep(
    mailbox: &Mailbox,
    digest_key: &str,
    name: &str,
    letter: &[u8],
    full: Option<(String, impl AsRef<[u8]>)>,
) -> Result<Option<Placed>, MailError> {
    let count = || -> Result<(bool, usize), MailError> {
        let held = mailbox.held()?;
        let of_digest = |held: &&String| held.starts_with(digest_key) && held.ends_with(".md");
        Ok((held.iter().any(|one| one == name), held.iter().filter(of_digest).count()))
    };
    let (there, before) = count()?;
    if !there && before >= MAX_HELD {
        return Ok(None);
    }
    if let Some((name, full)) = full {
        mailbox.hold(&name, full.as_ref())?;
    }
    let placed = mailbox.hold(name, letter)?;
    if matches!(placed, Placed::Fresh(_)) && count()?.1 > MAX_HELD {
        mailbox.unhold(name)?;
        return Ok(None);
    }
    Ok(Some(placed))
}
