//! `loci help`: what the program can do.

use serde_json::json;

use crate::cli::context::Context;
use crate::cli::{Answer, Outcome, help};

/// What `loci help` takes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The verb to explain
    verb: Vec<String>,
    /// Print the help of every verb, for agents
    #[arg(long)]
    all: bool,
}

/// Runs the verb.
///
/// # Errors
/// Where there is no such verb.
pub fn run(context: &Context, args: Args) -> Outcome {
    let text = if args.all {
        help::all()
    } else if args.verb.is_empty() {
        help::command().render_help().to_string()
    } else {
        help::find(&mut help::built(), &args.verb)?.render_long_help().to_string()
    };
    context.print(|| text.clone(), || json!({ "schema": 1, "help": text }))?;
    Ok(Answer::Yes)
}
