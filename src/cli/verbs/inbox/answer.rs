//! `loci inbox take`, `done`, `decline`: what its owner, or a person, says to a message.

use std::path::Path;

use serde_json::{Value, json};

use super::{Mail, author, held, no_digest, one, prune};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::{Answer, Outcome};
use crate::custody::answer::{self, Answered};
use crate::custody::inbox::{self, Message, State};
use crate::custody::letter;
use crate::custody::outbox;
use crate::sys::time;

pub(super) fn take(context: &Context, mail: &Mail, id: &str, dry_run: bool) -> Outcome {
    let (mailbox, mut message) = one(context, mail, id)?;
    no_digest(&message)?;
    let Some(by) = author(context, mail)? else { return Ok(Answer::No) };
    let _lock = held(&mailbox, &mut message, dry_run)?;
    if message.standing.state.is_closed() {
        context.say(&format!("{} is {} already", message.id, message.standing.state.word()));
        return Ok(Answer::No);
    }
    if !dry_run {
        if message.standing.state != State::Taken {
            mailbox.log(&inbox::record(time::now(), &message.key, "taken", &by))?;
        }
        inbox::settle(&mailbox)?;
        prune(context, &mailbox)?;
    }
    said(context, &message, State::Taken, dry_run, None)
}

pub(super) fn answer(context: &Context, mail: &Mail, id: &str, state: State, text: Option<&str>, dry_run: bool) -> Outcome {
    let (mailbox, mut message) = one(context, mail, id)?;
    no_digest(&message)?;
    let Some(by) = author(context, mail)? else { return Ok(Answer::No) };
    let _lock = held(&mailbox, &mut message, dry_run)?;
    if message.standing.state.is_closed() {
        if !dry_run {
            inbox::settle(&mailbox)?;
        }
        context.say(&format!("{} is {} already", message.id, message.standing.state.word()));
        return Ok(Answer::No);
    }
    if text.is_none() && !message.is_answer() {
        return Err(Failure::new("usage", format!("failed to answer {}: its sender waits for what you changed", message.id))
            .hint(format!("loci inbox done {} --reply 'what changed, where, and how it was checked'", message.id)));
    }
    if text.is_some_and(|text| text.trim().is_empty()) {
        return Err(Failure::new("usage", "failed to answer: the text is empty"));
    }
    if let Some(first) = text.filter(|_| !dry_run).and_then(|text| answer::begun(&message, &by, state, text)) {
        match answer::answer(&mailbox, &context.home, &message, &first.by, first.state, &first.text, time::now()) {
            Err(error) if outbox::is_shut(&error) => {
                let waits = outbox::park_answer(&mail.asker, &context.state, &mailbox, &message, first.state, &first.text, time::now())?;
                return parked(context, &message, first.state, &waits);
            }
            finished => finished?,
        };
        inbox::settle(&mailbox)?;
        prune(context, &mailbox)?;
        context.say(&format!("{} is {} already: that answer was begun before, and is finished now", message.id, first.state.word()));
        return Ok(Answer::No);
    }
    let answered = match text {
        Some(_) if dry_run => Some(answer::where_to(&message, &context.home)),
        Some(text) => match answer::answer(&mailbox, &context.home, &message, &by, state, text, time::now()) {
            Err(error) if outbox::is_shut(&error) => {
                let waits = outbox::park_answer(&mail.asker, &context.state, &mailbox, &message, state, text, time::now())?;
                return parked(context, &message, state, &waits);
            }
            answered => Some(answered?),
        },
        // An answer is read and closed: answering it would go on for ever.
        None => None,
    };
    if !dry_run {
        if answered.is_none() {
            mailbox.log(&inbox::record(time::now(), &message.key, state.word(), &by))?;
        }
        inbox::settle(&mailbox)?;
        prune(context, &mailbox)?;
    }
    said(context, &message, state, dry_run, answered.as_ref())
}

/// From here, in a jail, the inbox of whoever waits is read-only: the answer goes when somebody outside looks.
fn parked(context: &Context, message: &Message, state: State, waits: &Path) -> Outcome {
    context.print(
        || format!("{}: the answer waits in {} and is delivered from outside in a moment\n", message.id, context.shown(waits)),
        || {
            let key = letter::key(&message.id);
            json!({ "schema": 1, "id": message.id, "state": state.word(), "done": true, "reply": null, "waits": waits.to_string_lossy(), "key": key })
        },
    )?;
    Ok(Answer::Yes)
}

fn said(context: &Context, message: &Message, state: State, dry_run: bool, answered: Option<&Answered>) -> Outcome {
    let would = if dry_run { "would be " } else { "" };
    let tail = match answered {
        None => String::new(),
        Some(Answered::To { to, inbox, .. }) => {
            format!("; the answer {} {to}'s inbox ({})", if dry_run { "goes to" } else { "is in" }, context.shown(inbox))
        }
        Some(Answered::Nobody(why)) => format!("; no answer could be delivered: {why}"),
    };
    context.print(
        || format!("{} {would}{}{tail}\n", message.id, state.word()),
        || {
            let reply = match answered {
                Some(Answered::To { id, to, inbox }) => json!({ "id": id, "to": to, "inbox": inbox.to_string_lossy() }),
                _ => Value::Null,
            };
            json!({ "schema": 1, "id": message.id, "state": state.word(), "done": !dry_run, "reply": reply, "key": letter::key(&message.id) })
        },
    )?;
    Ok(Answer::Yes)
}
