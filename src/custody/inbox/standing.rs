//! What the log of an inbox says: where each message stands, and what a list shows of it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde_json::{Value, json};

use super::shows::Shows;
use crate::custody::letter;
use crate::sys::time::{self, Timestamp};

/// Where a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum State {
    /// Nobody has dealt with it.
    #[default]
    New,
    /// Somebody has begun.
    Taken,
    /// Answered.
    Done,
    /// Answered with no.
    Declined,
}

impl State {
    /// The word in lists and `--json`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Taken => "taken",
            Self::Done => "done",
            Self::Declined => "declined",
        }
    }

    /// Whether nothing more is to be done.
    #[must_use]
    pub fn is_closed(self) -> bool {
        matches!(self, Self::Done | Self::Declined)
    }
}

/// Something that was added to a message later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// When.
    pub at: String,
    /// By whom.
    pub by: String,
    /// What.
    pub text: String,
    /// What was read since the message was filed.
    pub reads: Vec<String>,
}

/// An answer that was begun: it may have gone out, and nothing says yet that it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// What the message becomes by it.
    pub state: State,
    /// By whom.
    pub by: String,
    /// What.
    pub text: String,
}

/// What the log says about one message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// Where it stands.
    pub state: State,
    /// How often the same attempt was made again.
    pub again: u64,
    /// Whether its change was applied.
    pub applied: bool,
    /// What the sender added: reads and ideas.
    pub added: Vec<Added>,
    /// The answer, where there is one: when, by whom, what.
    pub answer: Option<Box<Added>>,
    /// An answer that was begun and is not noted as given.
    pub begun: Option<Box<Begun>>,
    /// When it was closed, with an answer or without.
    pub closed: Option<String>,
    /// Files in `held/` that belong to it.
    pub held: Vec<String>,
    /// Requests of the same hour that were counted and not kept.
    pub unkept: u64,
}

impl Standing {
    /// Where it stands, in a word for people: of what is begun, that its change is in.
    #[must_use]
    pub fn word(&self) -> &'static str {
        if self.applied && !self.state.is_closed() { "applied" } else { self.state.word() }
    }

    /// What came in after the answer was not answered: it would hide behind the word `done`.
    fn reopen(&mut self) {
        if self.state.is_closed() {
            (self.state, self.closed) = (State::New, None);
        }
    }

    fn take(&mut self, line: Line<'_>) {
        let Line { at, by, text, times, reads, held, state, .. } = line;
        let times = times.unwrap_or(1).max(1);
        let added = |text: Option<String>, reads| Added { at: at.to_string(), by: by.into_owned(), text: text.unwrap_or_default(), reads };
        if is_answer(&line.event) {
            self.begun = None;
        }
        match &*line.event {
            "answering" => {
                let state = [State::Done, State::Declined].into_iter().find(|known| Some(known.word()) == state.as_deref());
                let Added { by, text, .. } = added(text, reads);
                self.begun = state.map(|state| Box::new(Begun { state, by, text }));
            }
            "again" => self.again = self.again.saturating_add(times),
            "added" => self.added.push(added(text, reads)),
            "taken" if !self.state.is_closed() => self.state = State::Taken,
            "applied" => {
                self.applied = true;
                if !self.state.is_closed() {
                    self.state = State::Taken;
                }
            }
            // It was finished and is gone; the same attempt begins anew.
            "pruned" => *self = Self::default(),
            "done" => {
                (self.state, self.closed) = (State::Done, Some(at.to_string()));
                // An answer that was read and closed has no answer of its own.
                self.answer = text.is_some().then(|| Box::new(added(text, reads)));
            }
            "declined" => {
                (self.state, self.closed, self.answer) = (State::Declined, Some(at.to_string()), Some(Box::new(added(text, reads))))
            }
            "held" => {
                let name = held.unwrap_or_default();
                if !self.held.contains(&name) {
                    self.held.push(name);
                    self.reopen();
                }
            }
            "unkept" => {
                self.unkept = self.unkept.saturating_add(times);
                self.reopen();
            }
            _ => {}
        }
    }
}

/// A record, as far as a fold looks at it.
#[derive(Deserialize)]
pub(super) struct Line<'a> {
    #[serde(borrow, default)]
    pub(super) at: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) key: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) event: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) by: Cow<'a, str>,
    text: Option<String>,
    state: Option<String>,
    pub(super) times: Option<u64>,
    pub(super) worked: Option<String>,
    pub(super) held: Option<String>,
    #[serde(default)]
    reads: Vec<String>,
    #[serde(borrow)]
    message: Option<Shows<'a>>,
}

impl<'a> Line<'a> {
    /// Whether nothing was lost by reading it in one go: whether there is an answer is told by the key alone.
    fn is_whole(&self, line: &[u8]) -> bool {
        line.starts_with(b"{") && (self.text.is_some() || self.event != "done")
    }

    /// The line of a record in which any value may have any type: what does not fit counts as missing.
    fn of(record: &'a Value) -> Self {
        let text = |key: &str| record.get(key).and_then(Value::as_str);
        let plain = |key: &str| Cow::Borrowed(text(key).unwrap_or_default());
        let reads = record.get("reads").and_then(Value::as_array).into_iter().flatten();
        Line {
            at: plain("at"),
            key: plain("key"),
            event: plain("event"),
            by: plain("by"),
            // Whether there is an answer is told by the key alone.
            text: record.get("text").map(|text| text.as_str().unwrap_or_default().to_owned()),
            state: text("state").map(str::to_owned),
            times: record.get("times").and_then(Value::as_u64),
            worked: text("worked").map(str::to_owned),
            held: text("held").map(str::to_owned),
            reads: reads.filter_map(Value::as_str).map(str::to_owned).collect(),
            message: record.get("message").and_then(|message| Shows::deserialize(message).ok()),
        }
    }
}

/// Folds the records of a log, in order. A record that says nothing known is passed over: an older
/// reader meets a newer writer.
#[must_use]
pub fn fold(records: &[Value]) -> BTreeMap<String, Standing> {
    let mut all = BTreeMap::new();
    for line in records.iter().map(Line::of).filter(|line| letter::is_key(&line.key)) {
        match all.get_mut(&*line.key) {
            Some(standing) => Standing::take(standing, line),
            None => all.entry(line.key.to_string()).or_default().take(line),
        }
    }
    all
}

/// What the log says about one message, and what its delivery noted for lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Noted<'a> {
    /// Where it stands.
    pub standing: Standing,
    /// What a list shows of it.
    pub shows: Option<Shows<'a>>,
}

/// What a log says of all messages, by the numbers of their keys.
pub type Folded<'a> = HashMap<u64, Noted<'a>>;

/// As [`fold`], of the bytes of a log; also how many lines could not be read (a torn one counts).
#[must_use]
pub fn fold_bytes(log: &[u8]) -> (Folded<'_>, usize) {
    let mut all = HashMap::new();
    let skipped = each(log, |line, shows| {
        let Some(number) = letter::number(&line.key) else { return };
        let noted: &mut Noted<'_> = all.entry(number).or_default();
        note(&mut noted.standing, line, shows, |shows| noted.shows = shows);
    });
    (all, skipped)
}

/// Hands over every line of a log with what its delivery noted for lists; says how many could not be read.
pub(super) fn each<'a>(log: &'a [u8], mut take: impl FnMut(Line<'_>, Option<Shows<'a>>)) -> usize {
    let mut skipped = 0;
    // Nearly every line is as it should be, and read in one go.
    let mut one = |line: &[u8], read: serde_json::Result<Line<'a>>| match read {
        Ok(mut known) if known.is_whole(line) => {
            let shows = known.message.take();
            take(known, shows);
        }
        _ => match serde_json::from_slice::<Value>(line) {
            Ok(record) if record.is_object() => {
                let mut line = Line::of(&record);
                let shows = line.message.take().map(Shows::into_owned);
                take(line, shows);
            }
            _ => skipped += 1,
        },
    };
    match std::str::from_utf8(log) {
        Ok(text) => text.split('\n').filter(|line| !line.is_empty()).for_each(|line| one(line.as_bytes(), serde_json::from_str(line))),
        Err(_) => {
            let lines = log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            lines.for_each(|line| one(line, serde_json::from_slice(line)));
        }
    }
    skipped
}

/// What a line says of a message: where it stands, and to `set` what a list shows of it from here on.
pub(super) fn note<'a>(standing: &mut Standing, line: Line<'_>, shows: Option<Shows<'a>>, set: impl FnOnce(Option<Shows<'a>>)) {
    match &*line.event {
        "filed" => set(shows),
        "pruned" => {
            *standing = Standing::default();
            set(None);
        }
        _ => standing.take(line),
    }
}

/// What `take` makes of a line; `None` where it can't be read.
pub(super) fn line_of<T>(line: &[u8], take: impl FnOnce(&Line<'_>) -> T) -> Option<T> {
    match serde_json::from_slice::<Line<'_>>(line) {
        Ok(known) if known.is_whole(line) => Some(take(&known)),
        _ => serde_json::from_slice::<Value>(line).ok().filter(Value::is_object).map(|record| take(&Line::of(&record))),
    }
}

/// Whether an event is an answer that was given.
fn is_answer(event: &str) -> bool {
    matches!(event, "done" | "declined")
}

/// Whether an event says that somebody dealt with a message.
pub(super) fn is_work(event: &str) -> bool {
    matches!(event, "taken" | "applied" | "done" | "declined")
}

/// When somebody last dealt with a message of this inbox.
#[must_use]
pub fn last_worked(records: &[Value]) -> Option<&str> {
    let works = |record: &&Value| record.get("event").and_then(Value::as_str).is_some_and(is_work);
    let newest = records.iter().rev().find(works).and_then(|record| record.get("at")?.as_str());
    // What said it may have been left out of the log since: then its first line does.
    let noted = records.first().filter(|first| first["event"] == "compacted").and_then(|first| first.get("worked")?.as_str());
    newest.max(noted)
}

/// A record for the log.
#[must_use]
pub fn record(at: Timestamp, key: &str, event: &str, by: &str) -> Value {
    json!({ "at": time::to_second(at), "key": key, "event": event, "by": by })
}

#[cfg(test)]
mod tests;
