//! What the refused agent reads: an ordinary tool result that teaches instead of failing.
//!
//! The same words for every harness, at most [`MAX`] characters.

use std::path::Path;

use super::delegation::Delivery;
use super::inbox::State;
use super::ruling::{ActRuling, Ruling, Who, Why};
use crate::sys::shown;

/// The most characters a message has.
pub const MAX: usize = 1_200;

/// The most characters of one path in it.
const MAX_PATH: usize = 120;

/// How many owners a message speaks about at length.
const MAX_OWNERS: usize = 2;

/// The message for a ruling that refused, after its delegations were delivered.
#[must_use]
pub fn message(ruling: &Ruling, deliveries: &[Delivery]) -> String {
    let mut paragraphs = Vec::new();
    for delivery in deliveries.iter().take(MAX_OWNERS) {
        let act = ruling.refused().find(|act| act.owner.as_ref().is_some_and(|owner| owner.who == delivery.owner.who));
        paragraphs.push(about(delivery, act));
    }
    if let Some(way_out) = ruling.refused().find_map(|act| act.way_out.as_deref()) {
        paragraphs.push(format!("Way out: {}.", cut(way_out, 240)));
    }
    if let Some(left) = deliveries.len().checked_sub(MAX_OWNERS).filter(|left| *left > 0) {
        paragraphs.push(format!("The same was done for {}.", crate::sys::shown::count(left, "more owner", "more owners")));
    }
    if deliveries.is_empty() {
        paragraphs.push("Refused: it belongs to somebody else.".to_owned());
    }
    paragraphs.push(
        "Reading there stays free. Do not try this write by another tool or a shell command: what counts is the place, not the tool. \
         Go on with work that does not depend on it."
            .to_owned(),
    );
    fit(&paragraphs)
}

fn about(delivery: &Delivery, act: Option<&ActRuling>) -> String {
    let what = targets(delivery);
    match &delivery.owner.who {
        Who::Agent(id) => {
            let file = delivery.owner.file.as_deref().map(short).unwrap_or_default();
            let kept = if delivery.outcome.is_ok() { "Not done, and not lost" } else { "Not done, and NOT handed over" };
            let mut text = format!(
                "{kept}: {what} belongs to the agent `{id}`, who owns {} ({file} says so). {}",
                short(&delivery.owner.dir),
                handed_over(delivery, id.as_str())
            );
            if let Some(Why::Pinned(pinned)) = act.map(|act| &act.why) {
                let line = pinned.line.map(|line| format!(":{line}")).unwrap_or_default();
                let yours =
                    pinned.yours.as_deref().map_or_else(|| "none is known of you".to_owned(), |yours| format!("yours is {}", short(yours)));
                text += &format!(
                    "\nYou have its name, but {file}{line} pins the body {}, and {yours}: a person sets LOCI_BODY or starts you in it.",
                    short(&pinned.body)
                );
            }
            if let Ok(filed) = &delivery.outcome
                && !filed.state.is_closed()
            {
                text += &format!(
                    "\nTell it the two things only you know, what you read and what you want to change: \
                     loci handover {} \"I read …; my idea is …\"\n\
                     {id} will derive its own version from that, the same but better, check it and answer",
                    filed.id
                );
                text += &delivery.answer.as_deref().map_or_else(
                    || " (you act without a body, so no answer reaches you). ".to_owned(),
                    |answer| format!(" into {} (see `loci inbox`). ", short(answer)),
                );
                let (first, who) = if delivery.wakes { ("The clock", "the clock") } else { ("Nothing", "nothing") };
                text += &match &filed.last_worked {
                    Some(at) => format!("That inbox was last worked on at {at}, and {who}"),
                    // Of a repeat it is not looked up when.
                    None if filed.again => first.to_owned(),
                    None => format!("Nobody has worked on that inbox yet, and {who}"),
                };
                text += if delivery.wakes {
                    " wakes its owner for it, where one runs: go on meanwhile."
                } else {
                    " wakes its owner by itself: do not wait for it."
                };
            }
            text
        }
        Who::Human | Who::Unclear => {
            let why = match act.map(|act| (&act.why, act.decided_by.as_deref(), act.line)) {
                Some((Why::Wall(walled), ..)) => format!("is {}; only a person changes it", walled.what()),
                Some((Why::Broken(why), Some(file), line)) => {
                    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
                    format!("is owned by somebody, but {}{line} can't be used ({}); a person has to mend it", short(file), cut(why, 160))
                }
                Some((Why::Below(dir), ..)) => format!("would take along {}, the place of an agent; only a person does that", short(dir)),
                _ => "is a person's to change".to_owned(),
            };
            format!("Not done: {what} {why}. {}", handed_over(delivery, "the human"))
        }
    }
}

fn targets(delivery: &Delivery) -> String {
    match delivery.targets.as_slice() {
        [] => "it".to_owned(),
        [one] => short(one),
        [first, rest @ ..] => format!("{} (and {} more)", short(first), rest.len()),
    }
}

fn handed_over(delivery: &Delivery, to: &str) -> String {
    match &delivery.outcome {
        Err(why) => format!("It could NOT be handed over to {to}: {}. The refusal stands; tell your user.", cut(why, 200)),
        Ok(filed) => match (filed.again, filed.state) {
            (true, State::Done | State::Declined) => {
                format!(
                    "The same attempt was filed before as {} and is already {}: read the answer in your inbox.",
                    filed.id,
                    filed.state.word()
                )
            }
            (true, _) => format!("The same attempt is filed already as {}; it was noted that you tried again.", filed.id),
            (false, _) if matches!(delivery.owner.who, Who::Agent(_)) => {
                format!("Your attempt was handed over to {to} as {}, with {}.", filed.id, delivery.carries)
            }
            (false, _) if filed.counted => format!(
                "Your attempt was only counted, in {}: a hundred requests of this hour are kept already, and what this one carries was not. \
                 Tell your user what you need.",
                filed.id
            ),
            (false, _) => format!("Your attempt was filed as request {} for {to}, with {}.", filed.id, delivery.carries),
        },
    }
}

/// A path for a sentence: escaped, and cut in the middle where it is long.
fn short(path: &Path) -> String {
    let text = shown::path(path).to_string();
    let count = text.chars().count();
    if count <= MAX_PATH {
        return text;
    }
    let head: String = text.chars().take(MAX_PATH / 3).collect();
    let tail: String = text.chars().skip(count - (MAX_PATH - MAX_PATH / 3 - 1)).collect();
    format!("{head}…{tail}")
}

fn cut(text: &str, max: usize) -> String {
    let text = shown::text(text).to_string();
    if text.chars().count() <= max { text } else { text.chars().take(max - 1).chain(['…']).collect() }
}

/// Joins the paragraphs; the last one always stays, the ones before it give way.
fn fit(paragraphs: &[String]) -> String {
    let Some((last, before)) = paragraphs.split_last() else { return String::new() };
    let room = MAX.saturating_sub(last.chars().count() + 1);
    let text = before.join("\n");
    let text = if text.chars().count() <= room { text } else { text.chars().take(room.saturating_sub(1)).chain(['…']).collect() };
    format!("{text}\n{last}")
}
