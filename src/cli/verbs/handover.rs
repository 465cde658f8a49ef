//! `loci handover`: what only the sender knows, put to a message that was filed for it.

use std::path::Path;

use clap::Args as ClapArgs;
use serde_json::json;

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::near::{self, word};
use crate::cli::output::table;
use crate::cli::{Answer, Outcome};
use crate::custody::answer::{self, HandoverError};
use crate::custody::asker::Asker;
use crate::custody::maildir::Mailbox;
use crate::custody::{inbox, letter};
use crate::sys::{disk, shown, time};

/// Tell an owner what you read and what you want, for a write that was refused
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  loci handover 20261130T101522Z-6f3a9c2e71d04b58 'I read tax.rs and its tests; the sum is rounded twice, it should be rounded once at the end'"
)]
pub struct Args {
    /// The id that the refusal named, or the beginning of it
    id: String,
    /// What you read, and what should be different
    text: String,
    /// Say what would be added, and add nothing
    #[arg(long)]
    dry_run: bool,
}

/// The longest text, in bytes: it is read by a model, as a whole.
const MAX_TEXT: usize = 16 * 1024;

/// Runs it.
///
/// # Errors
/// Where nothing was filed under that id by whoever asks.
pub fn run(context: &Context, args: Args) -> Outcome {
    let asker = super::delegate::sender(context)?;
    let sent = answer::sent(&asker, &context.state, &args.id).map_err(|error| help(context, &asker, error))?;
    if args.text.trim().is_empty() {
        return Err(Failure::new("usage", "failed to hand over: the text is empty"));
    }
    if args.text.len() > MAX_TEXT {
        let what = format!("failed to hand over: the text is {} bytes long, and {MAX_TEXT} is the most", args.text.len());
        return Err(Failure::new("usage", what));
    }
    if !args.dry_run {
        answer::hand_over(&sent, &asker, &args.text, &context.state, time::now()).map_err(from_handover)?;
    }
    let would = if args.dry_run { "would be " } else { "" };
    context.print(
        || format!("{would}added to {} for {}\n", sent.id, sent.to),
        || json!({ "schema": 1, "id": sent.id, "to": sent.to, "done": !args.dry_run }),
    )?;
    // What is added to an answered message lies there, and nobody looks at it again.
    let standing = match (Mailbox::at(&sent.inbox), letter::key(&sent.id)) {
        (Some(mailbox), Some(key)) => inbox::standing(&mailbox, key)?,
        _ => inbox::Standing::default(),
    };
    if standing.state.is_closed() {
        context.say(&format!("note: {} is {} already: {} is not told of what is added now", sent.id, standing.state.word(), sent.to));
        let about = sent.about().map_or_else(|| "PATH".to_owned(), |path| word(Path::new(&path)));
        context.say(&format!("hint: loci delegate {} --target {about} --idea TEXT   # asks anew", shown::text(&sent.to)));
    }
    Ok(Answer::Yes)
}

/// What helps to name the right one: what there is to choose from, or whose it is.
fn help(context: &Context, asker: &Asker, error: HandoverError) -> Failure {
    match error {
        HandoverError::Several(several) => {
            let rows = several.iter().map(|sent| {
                let about = sent.about().map(|path| context.shown(Path::new(&path))).unwrap_or_default();
                vec![sent.id.clone(), format!("for {}", shown::text(&sent.to)), age(&sent.at), about]
            });
            if !context.flags.json {
                context.say(table(&rows.collect::<Vec<_>>()).trim_end());
            }
            let newest = several.iter().max_by(|a, b| a.id.cmp(&b.id)).map(|sent| sent.id.clone()).unwrap_or_default();
            from_handover(HandoverError::Several(several)).hint(format!("loci handover {newest} TEXT"))
        }
        HandoverError::Unknown(id) => {
            let filed = filed_by(context, &id);
            let failure = from_handover(HandoverError::Unknown(id.clone()));
            match filed {
                Some((from, body)) if from != asker.name() => {
                    let what = format!("failed to hand over {}: {from} filed it, so it is {from}'s to say what it read", shown::text(&id));
                    let failure = Failure::new("message", what);
                    match body {
                        Some(body) => failure.hint(format!("cd {} && loci handover {} TEXT", word(Path::new(&body)), word(Path::new(&id)))),
                        None => failure,
                    }
                }
                _ => failure,
            }
        }
        other => from_handover(other),
    }
}

/// Who filed a message that lies in an inbox around here, and in which body.
fn filed_by(context: &Context, id: &str) -> Option<(String, Option<String>)> {
    let top = near::top(context, &context.cwd);
    let home = disk::canonical(&context.home).ok()?;
    // The whole home is not looked through for one message.
    let places = if home.starts_with(&top) { Vec::new() } else { near::places(context, &context.cwd) };
    let boxes = places.iter().map(|place| Mailbox::of(place)).chain(std::iter::once(Mailbox::of_human(&context.home)));
    boxes.filter(Mailbox::exists).find_map(|mailbox| {
        let log = inbox::Log::read(&mailbox).ok()?;
        let messages = log.list().ok()?.messages;
        let message = inbox::named(&messages, id).ok()?.open().ok()?;
        Some((shown::text(message.text("from")?).to_string(), message.text("from_body").map(str::to_owned)))
    })
}

/// How long ago, in the largest unit that fits.
fn age(at: &str) -> String {
    let Ok(at) = at.parse::<time::Timestamp>() else { return String::new() };
    let seconds = time::now().as_second().saturating_sub(at.as_second()).max(0);
    let (count, unit) = match seconds {
        0..60 => (seconds, "s"),
        60..3_600 => (seconds / 60, "min"),
        3_600..86_400 => (seconds / 3_600, "h"),
        _ => (seconds / 86_400, "days"),
    };
    format!("{count} {unit} ago")
}

fn from_handover(error: HandoverError) -> Failure {
    match error {
        HandoverError::Mail(error) => error.into(),
        other => Failure::new("message", format!("failed to {other}")),
    }
}
