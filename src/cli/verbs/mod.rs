//! The verbs, one file each.

pub mod new;
pub mod templates;

use clap::Subcommand;

use super::Outcome;
use super::context::Context;

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Make a directory that is an agent
    New(new::Args),
    /// List what agents can be made from, or show one template
    Templates(templates::Args),
}

/// Runs a verb.
///
/// # Errors
/// Whatever keeps the verb from being carried out.
pub fn run(context: &Context, verb: Verb) -> Outcome {
    match verb {
        Verb::New(args) => new::run(context, args),
        Verb::Templates(args) => templates::run(context, args),
    }
}
