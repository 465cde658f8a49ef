//! A refusal becomes a message to the owner: what was tried, as a change against the file as it is
//! now, in the owner's inbox before the answer is given.

mod request;
mod sent;
mod written;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::act::Act;
use super::answer::HUMAN;
use super::asker::Asker;
use super::capture::{Captured, capture, cut_at};
pub use super::capture::{Change, MAX_CHANGE};
use super::changes;
use super::grants;
use super::inbox;
use super::letter::{self, Field, Kind, Letter};
use super::maildir::{MailError, Mailbox, Placed};
use super::mask;
use super::outbox;
use super::ruling::{ActRuling, Owner, Ruling, Surroundings, Who};
use crate::sys::shown;
use crate::sys::time::Timestamp;
use crate::text::digest;
use request::request;
use sent::remember;
pub use sent::sent_log;
pub(super) use written::bounded;
pub use written::kept_whole;
use written::write_letter;

/// The most of an idea, in bytes.
const MAX_IDEA: usize = 32 << 10;

/// A file that the sender read before, newest last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// Which.
    pub path: PathBuf,
    /// First and last line, where known.
    pub lines: Option<(u64, u64)>,
}

/// A refused call.
#[derive(Debug, Clone)]
pub struct Attempt<'a> {
    /// Who tried.
    pub asker: &'a Asker,
    /// Under which harness.
    pub harness: &'a str,
    /// In which session.
    pub session: Option<&'a str>,
    /// By which sub-agent, where the harness tells: it acts as its session's agent.
    pub sub_agent: Option<&'a str>,
    /// With which tool.
    pub tool: &'a str,
    /// What would have changed.
    pub change: Change,
    /// The ruling that refused it.
    pub ruling: &'a Ruling,
    /// What was read before.
    pub reads: Vec<Read>,
    /// When.
    pub at: Timestamp,
}

/// What became of the hand-over to one owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// To whom.
    pub owner: Owner,
    /// What it is about: real paths.
    pub targets: Vec<PathBuf>,
    /// What the message carries, in a few words.
    pub carries: String,
    /// Where an answer would arrive; `None` for an asker without a body.
    pub answer: Option<PathBuf>,
    /// Whether a person armed the clock to wake the owner for it.
    pub wakes: bool,
    /// How it went; a failure is said in words.
    pub outcome: Result<Filed, String>,
}

/// A message that was filed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filed {
    /// Its id.
    pub id: String,
    /// The inbox that it lies in.
    pub inbox: PathBuf,
    /// Whether the same attempt had been filed before; then only the log grew.
    pub again: bool,
    /// Whether it waits in the sender's outbox, since the inbox is read-only from here.
    pub parked: bool,
    /// Whether it was only counted: of a request, where as many of that hour are kept as may be.
    pub counted: bool,
    /// Where the earlier message stands by now.
    pub state: inbox::State,
    /// When anybody last dealt with a message of that inbox.
    pub last_worked: Option<String>,
}

/// The refused acts, by who is to be told and where.
pub(super) fn groups<'a>(ruling: &'a Ruling, surroundings: &Surroundings) -> BTreeMap<(Who, PathBuf), Vec<&'a ActRuling>> {
    let mut groups: BTreeMap<(Who, PathBuf), Vec<&ActRuling>> = BTreeMap::new();
    for act in ruling.refused() {
        let Some(owner) = &act.owner else { continue };
        let place = match owner.who {
            Who::Agent(_) => owner.body.clone().unwrap_or_else(|| owner.dir.clone()),
            // A broken owner file names nobody who could mend it; the human can.
            Who::Human | Who::Unclear => surroundings.home.clone(),
        };
        groups.entry((owner.who.clone(), place)).or_default().push(act);
    }
    groups
}

/// Files the refused acts of an attempt: one message for each owner, whatever the number of files.
#[must_use]
pub fn deliver(attempt: &Attempt<'_>, surroundings: &Surroundings) -> Vec<Delivery> {
    hand_in(attempt, None, surroundings, true)
}

/// As [`deliver`], for somebody who has not tried but asks, with what is wanted.
#[must_use]
pub fn ask(attempt: &Attempt<'_>, idea: &str, surroundings: &Surroundings) -> Vec<Delivery> {
    hand_in(attempt, Some(idea), surroundings, true)
}

/// As both, without a second way: what can't be delivered is an error.
pub(super) fn deliver_now(attempt: &Attempt<'_>, idea: Option<&str>, surroundings: &Surroundings) -> Vec<Delivery> {
    hand_in(attempt, idea, surroundings, false)
}

/// Where an inbox is read-only from here, the attempt waits in the sender's outbox, with `parks`.
fn hand_in(attempt: &Attempt<'_>, idea: Option<&str>, surroundings: &Surroundings, parks: bool) -> Vec<Delivery> {
    let groups = groups(attempt.ruling, surroundings);
    groups.into_iter().map(|((who, place), acts)| to_one(attempt, idea, surroundings, &who, &place, &acts, parks)).collect()
}

fn to_one(
    attempt: &Attempt<'_>,
    idea: Option<&str>,
    surroundings: &Surroundings,
    who: &Who,
    place: &Path,
    acts: &[&ActRuling],
    parks: bool,
) -> Delivery {
    let mut targets: Vec<PathBuf> = acts.iter().map(|act| act.path().to_owned()).collect();
    targets.sort();
    targets.dedup();
    let owner = acts.iter().find_map(|act| act.owner.clone());
    let owner = owner.unwrap_or_else(|| Owner { who: who.clone(), dir: place.to_owned(), file: None, body: None, note: None });
    let mut captured = capture(&attempt.change, acts, &owner.dir);
    if let Some(idea) = idea {
        captured.raw = format!("{idea}\n{}", captured.raw);
        captured.idea = Some(mask::mask(idea.get(..cut_at(idea, MAX_IDEA)).unwrap_or_default()).0);
    }
    let carries = captured.carries();
    let outcome = match who {
        Who::Agent(id) => delegate(attempt, id.as_str(), place, &owner, &targets, &captured, surroundings.hops),
        Who::Human | Who::Unclear => request(attempt, place, &owner, &targets, &captured, surroundings.hops),
    };
    let outcome = match outcome {
        Err(error) if parks && outbox::is_shut(&error) => {
            let to = if let Who::Agent(id) = who { id.as_str() } else { HUMAN };
            let key = attempt_key(attempt, to, &targets, &captured);
            let acts: Vec<Act> = acts.iter().map(|act| act.act.clone()).collect();
            let parked = outbox::park(attempt, idea, &acts, surroundings);
            parked.map_err(MailError::from).map(|dir| Filed {
                id: letter::id(attempt.at, &key),
                inbox: dir,
                again: false,
                parked: true,
                counted: false,
                state: inbox::State::New,
                last_worked: None,
            })
        }
        other => other,
    };
    let outcome = outcome.map_err(|error| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        format!("failed to {error}{cause}")
    });
    if let Some(filed) = outcome.as_ref().ok().filter(|filed| !filed.parked) {
        // What was sent is a convenience for the sender; the message stands without it.
        let _ = remember(attempt, surroundings, filed, who);
    }
    let answer = attempt.asker.body.as_deref().map(|body| Mailbox::of(body).dir().to_owned());
    let wakes = matches!(who, Who::Agent(id) if outcome.is_ok() && grants::wakes(&surroundings.state, id.as_str(), place));
    Delivery { owner, targets, carries, answer, wakes, outcome }
}

/// The name of a message: the same attempt has the same one.
pub(super) fn key(parts: &[&[u8]]) -> String {
    digest::sha256_of_parts(parts.iter().copied()).chars().take(16).collect()
}

fn attempt_key(attempt: &Attempt<'_>, to: &str, targets: &[PathBuf], captured: &Captured) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let body = attempt.asker.body.as_deref().unwrap_or(Path::new(""));
    let mut parts: Vec<&[u8]> =
        vec![b"attempt", attempt.asker.name().as_bytes(), body.as_os_str().as_bytes(), to.as_bytes(), captured.raw.as_bytes()];
    let targets: Vec<&Path> = targets.iter().map(|path| if captured.word == "command" { steady(path) } else { path }).collect();
    parts.extend(targets.iter().map(|path| path.as_os_str().as_bytes()));
    key(&parts)
}

/// What `sed -i` writes has another name each time (`sed` and six characters): then its folder is what stays the same.
fn steady(path: &Path) -> &Path {
    let random =
        |name: &str| name.strip_prefix("sed").is_some_and(|rest| rest.len() == 6 && rest.bytes().all(|b| b.is_ascii_alphanumeric()));
    let name = path.file_name().and_then(|name| name.to_str());
    path.parent().filter(|_| name.is_some_and(random)).unwrap_or(path)
}

fn delegate(
    attempt: &Attempt<'_>,
    to: &str,
    place: &Path,
    owner: &Owner,
    targets: &[PathBuf],
    captured: &Captured,
    hops: usize,
) -> Result<Filed, MailError> {
    let mailbox = Mailbox::of(place);
    let key = attempt_key(attempt, to, targets, captured);
    let mut more = Vec::new();
    let before = mailbox.find(&key)?;
    if before.is_none()
        && mask::mask(&captured.text).1 == 0
        && let Some((name, text)) = changes::kept(&key, &captured.files)
    {
        mailbox.hold(&name, &text)?;
        more.push(("applies", Field::Text(name)));
    }
    // Whole, as a file that git reads.
    if captured.word == "captured" && before.is_none() && mask::mask(&captured.text).1 == 0 {
        let name = format!("{key}.patch");
        mailbox.hold(&name, captured.text.as_bytes())?;
        more.push(("patch", Field::Text(name)));
    }
    let letter = write_letter(attempt, Kind::Delegation, &key, to, owner, targets, captured, hops, &more);
    if let Some(full) = captured.full().filter(|_| before.is_none()) {
        mailbox.hold(&format!("{key}.txt"), full.as_bytes())?;
    }
    let placed = mailbox.deliver(&key, &letter.render())?;
    filed(attempt, &mailbox, &key, &letter, placed)
}

/// The record of a delivery, and what the log said before. Only its end is read, and only where it
/// can say something: not for a message that nobody has dealt with. So a thousand repeats cost no
/// more each than the first, and a long log no more than a short one.
fn filed(attempt: &Attempt<'_>, mailbox: &Mailbox, key: &str, letter: &Letter, placed: Placed) -> Result<Filed, MailError> {
    let (again, id, new) = match &placed {
        Placed::Fresh(_) => (false, letter.id.clone(), true),
        Placed::Again(path) => (true, inbox::id_of(path, key)?, path.parent().is_some_and(|dir| dir.ends_with("new"))),
    };
    let (state, last_worked) = if again && new {
        (inbox::State::New, None)
    } else {
        let records = mailbox.newest_records().unwrap_or_default();
        let state = inbox::fold(&records).remove(key).unwrap_or_default().state;
        (state, inbox::last_worked(&records).map(str::to_owned))
    };
    if again {
        mailbox.log(&inbox::record(attempt.at, key, "again", attempt.asker.name()))?;
    } else {
        inbox::note_filed(mailbox, key, letter, &placed, attempt.at, attempt.asker.name())?;
    }
    Ok(Filed { id, inbox: mailbox.dir().to_owned(), again, parked: false, counted: false, state, last_worked })
}

impl Read {
    /// As it stands in a message.
    #[must_use]
    pub fn shown(&self) -> String {
        match self.lines {
            Some((first, last)) => format!("{}:{first}-{last}", shown::path(&self.path)),
            None => shown::path(&self.path).to_string(),
        }
    }
}
