//! The verbs, one file each.

use clap::Subcommand;

use super::Outcome;
use super::context::Context;

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Verb {}

/// Runs a verb.
///
/// # Errors
/// Whatever keeps the verb from being carried out.
pub fn run(context: &Context, verb: Verb) -> Outcome {
    let _ = context;
    match verb {}
}
