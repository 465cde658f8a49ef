//! `loci delegate --wait`: what becomes of what was handed over, event by event.

use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::{Answer, Outcome};
use crate::custody::delegation::Filed;
use crate::custody::maildir::Mailbox;
use crate::custody::{fence, letter};
use crate::sys::{disk, random, shown, term, time};
use crate::text::name::AgentId;

/// How often is looked: one look at each inbox's log.
const PAUSE: Duration = Duration::from_millis(300);

/// A message that is followed.
struct Followed<'a> {
    filed: &'a Filed,
    mailbox: Mailbox,
    /// How its log looked when it was last read.
    looked: Option<(u64, i128)>,
    /// How many of its events were told.
    told: usize,
    /// Whether the answer was a yes.
    answer: Option<bool>,
}

/// Follows the messages until each of them is answered, nobody reads on, or the time is over.
pub(super) fn run<'a>(context: &Context, owner: &AgentId, sent: impl Iterator<Item = &'a Filed>, seconds: i64) -> Outcome {
    let followed = sent.map(|filed| Some(Followed { filed, mailbox: Mailbox::at(&filed.inbox)?, looked: None, told: 0, answer: None }));
    let mut followed: Vec<Followed<'_>> = followed.flatten().collect();
    let end = time::now().as_second().saturating_add(seconds);
    loop {
        for one in followed.iter_mut().filter(|one| one.answer.is_none()) {
            let now = disk::look(&one.mailbox.log_file())?.map(|meta| (meta.len, meta.mtime_ns));
            if now.is_some() && now != one.looked {
                one.looked = now;
                one.tell(context, owner)?;
            }
        }
        if followed.iter().all(|one| one.answer.is_some()) {
            let yes = followed.iter().all(|one| one.answer == Some(true));
            return Ok(if yes { Answer::Yes } else { Answer::No });
        }
        if time::now().as_second() >= end {
            let open: Vec<&str> = followed.iter().filter(|one| one.answer.is_none()).map(|one| one.filed.id.as_str()).collect();
            let words = format!("failed to wait for an answer of {owner}: none came in {seconds} s; {} stays handed over", open.join(", "));
            return Err(Failure::new("timeout", words).hint("loci inbox"));
        }
        if term::reader_is_gone(PAUSE) {
            return Ok(Answer::No);
        }
    }
}

impl Followed<'_> {
    /// Tells the events that came since.
    fn tell(&mut self, context: &Context, owner: &AgentId) -> Result<(), Failure> {
        let (records, _) = self.mailbox.records()?;
        let events = letter::key(&self.filed.id).map(|key| events(&records, key)).unwrap_or_default();
        for (word, record) in events.into_iter().skip(self.told) {
            self.told += 1;
            let text =
                if context.flags.json { format!("{}\n", self.object(owner, word, record)) } else { self.words(owner, word, record)? };
            term::out(text.as_bytes()).map_err(|error| Failure::new("io", "failed to write to standard output").caused_by(&error))?;
            match word {
                "answered" => self.answer = Some(true),
                "declined" => self.answer = Some(false),
                _ => {}
            }
        }
        Ok(())
    }

    fn object(&self, owner: &AgentId, word: &str, record: &Value) -> Value {
        json!({
            "schema": 1, "type": "delegation", "event": word, "id": self.filed.id, "to": owner, "at": record["at"], "by": record["by"],
            "inbox": self.filed.inbox.to_string_lossy(), "text": record["text"], "reply": record["reply"], "files": record["files"],
        })
    }

    fn words(&self, owner: &AgentId, word: &str, record: &Value) -> Result<String, Failure> {
        let text = |key: &str| record.get(key).and_then(Value::as_str);
        let mut words = format!("{}  {}  {word}\n", shown::text(text("at").unwrap_or("?")), self.filed.id);
        if let Some(answer) = text("text").filter(|_| matches!(word, "answered" | "declined")) {
            let tag = random::hex20().map_err(|error| Failure::new("io", "failed to get a random tag").caused_by(&error))?;
            words += &fence::for_reader(&shown::text(text("by").unwrap_or(owner.as_str())).to_string(), &tag, answer);
        }
        Ok(words)
    }
}

/// The events of one message, each in the word that its sender is told.
fn events<'a>(records: &'a [Value], key: &str) -> Vec<(&'static str, &'a Value)> {
    let mut events = Vec::new();
    for record in records.iter().filter(|record| record["key"] == key) {
        match record["event"].as_str() {
            // It was finished and is gone: the same attempt has begun anew.
            Some("pruned") => events.clear(),
            Some("filed") => events.push(("filed", record)),
            Some("taken") => events.push(("taken", record)),
            Some("applied") => events.push(("applied", record)),
            Some("done") => events.push(("answered", record)),
            Some("declined") => events.push(("declined", record)),
            _ => {}
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_sender_is_told() {
        let record = |key: &str, event: &str| json!({ "key": key, "event": event });
        let log = [
            ("a", "filed"),
            ("b", "done"),
            ("a", "again"),
            ("a", "done"),
            ("a", "pruned"),
            ("a", "filed"),
            ("a", "added"),
            ("a", "taken"),
            ("a", "applied"),
            ("a", "declined"),
        ];
        let records: Vec<Value> =
            log.iter().map(|(key, event)| record(key, event)).chain([json!({}), json!({ "key": "a", "event": 7 })]).collect();
        let words: Vec<&str> = events(&records, "a").into_iter().map(|(word, _)| word).collect();
        assert_eq!(words, ["filed", "taken", "applied", "declined"]);
    }
}
