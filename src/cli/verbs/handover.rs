//! `loci handover`: what only the sender knows, put to a message that was filed for it.

use clap::Args as ClapArgs;
use serde_json::json;

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::{Answer, Outcome};
use crate::custody::answer::{self, HandoverError};
use crate::custody::asker;
use crate::sys::time;

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
    let (asker, _) = asker::here(&context.env, &context.cwd)?;
    let sent = answer::sent(&asker, &context.state, &args.id).map_err(from_handover)?;
    if args.text.trim().is_empty() {
        return Err(Failure::new("usage", "failed to hand over: the text is empty"));
    }
    if args.text.len() > MAX_TEXT {
        let what = format!("failed to hand over: the text is {} bytes long, and {MAX_TEXT} is the most", args.text.len());
        return Err(Failure::new("usage", what));
    }
    if !args.dry_run {
        answer::hand_over(&sent, &asker, &args.text, time::now()).map_err(from_handover)?;
    }
    let would = if args.dry_run { "would be " } else { "" };
    context.print(
        || format!("{would}added to {} for {}\n", sent.id, sent.to),
        || json!({ "schema": 1, "id": sent.id, "to": sent.to, "done": !args.dry_run }),
    )?;
    Ok(Answer::Yes)
}

fn from_handover(error: HandoverError) -> Failure {
    match error {
        HandoverError::Mail(error) => error.into(),
        other => Failure::new("message", format!("failed to {other}")),
    }
}
