//! `loci inbox show`: one message, between marks that say where the words of others begin and end.

use std::path::Path;

use serde_json::{Value, json};

use super::list::Object;
use super::{Mail, one};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::{Answer, Outcome};
use crate::custody::fence;
use crate::custody::inbox::{self, Message, Shows};
use crate::sys::{random, shown};

pub(super) fn run(context: &Context, mail: &Mail, id: &str) -> Outcome {
    let (mailbox, message) = one(context, mail, id)?;
    let held: Vec<(String, String)> =
        message.standing.held.iter().filter_map(|name| Some((name.clone(), inbox::held_text(&mailbox, name).ok()?))).collect();
    let tag = random::hex20().map_err(|error| Failure::new("io", "failed to get a random tag").caused_by(&error))?;
    context.print(
        || {
            let applied = if message.standing.applied && message.standing.state.is_closed() { ", applied" } else { "" };
            let mut text = format!("{} for {}, {}{applied}\n", message.id, mail.name(), message.standing.word());
            let from = shown::text(message.text("from").unwrap_or("?")).to_string();
            text += &fence::for_reader(&from, &tag, &plain(context, &message));
            for (name, data) in &held {
                let request = inbox::parsed(name, data.as_bytes());
                text += &format!("\n{}\n", request.id);
                text += &fence::for_reader(&from, &tag, &plain(context, &request));
            }
            for added in &message.standing.added {
                text += &format!("\nadded {}\n", shown::text(&added.at));
                text += &fence::for_reader(&shown::text(&added.by).to_string(), &tag, &added.text);
                for read in &added.reads {
                    text += &format!("read since: {}\n", shown::text(read));
                }
            }
            if let Some(answer) = &message.standing.answer {
                text += &format!("\nanswered {}\n", shown::text(&answer.at));
                text += &fence::for_reader(&shown::text(&answer.by).to_string(), &tag, &answer.text);
            }
            text
        },
        || {
            let added = |one: &inbox::Added| json!({ "at": one.at, "by": one.by, "text": one.text, "reads": one.reads });
            let shows = Shows::of(&message);
            let mut object = json!(Object::of(&shows, &message.standing, message.path.to_string_lossy().into_owned(), false));
            object["schema"] = 1.into();
            object["header"] = message.header.object();
            object["body"] = message.body().into();
            object["held"] = held.iter().map(|(name, data)| json!({ "name": name, "text": data })).collect();
            object["added"] = message.standing.added.iter().map(added).collect();
            object["answer"] = message.standing.answer.as_ref().map_or(Value::Null, |answer| added(answer));
            object
        },
    )?;
    Ok(Answer::Yes)
}

/// A message in words: from whom and about what, then its text. All of it is the sender's, so all of it
/// stands between the marks.
fn plain(context: &Context, message: &Message) -> String {
    if context.flags.verbose || message.header.fields.is_empty() {
        return String::from_utf8_lossy(&message.data).into_owned();
    }
    let mut lines = Vec::new();
    let mut line = |name: &str, text: String| lines.push(format!("{name:<8}{text}\n"));
    let text = |name: &str| message.text(name).map(|text| shown::text(text).to_string());
    let with = |name: &str, word: &str| text(name).map(|text| format!("{word}{text}")).unwrap_or_default();
    let from = text("from").unwrap_or_else(|| "?".to_owned());
    line("from", format!("{from}{}{}{}", with("harness", ", under "), with("tool", ", with "), with("at", ", at ")));
    for target in message.list("targets") {
        line("about", context.shown(Path::new(&target)));
    }
    if let Some(re) = text("re") {
        line("re", format!("{re}{}", with("state", ", ")));
    }
    for read in message.list("reads") {
        line("read", shown::text(&read).to_string());
    }
    if let Some(change) = text("change") {
        line("change", change);
    }
    format!("{}\n{}", lines.concat(), message.body().trim_start_matches('\n'))
}
