//! `loci gate` as people meet it: its help, and what is wrong with a call. A relay's own call is
//! answered before the verbs are looked at.

use clap::Args as ClapArgs;
use clap::builder::PossibleValuesParser;

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::{Outcome, gate};
use crate::hooks::event::Seam;
use crate::hooks::harness;

/// Answer a harness before a tool call (called by harnesses)
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "The tool call comes on standard input in the harness's own words, and is answered in them: exit code 0 lets it\nhappen, 2 keeps it from happening.\n\nExample:\n  loci gate --for claude < payload.json"
)]
pub struct Args {
    /// The harness that asks
    #[arg(long = "for", value_name = "HARNESS", value_parser = PossibleValuesParser::new(harness::ALL.map(|adapter| adapter.name)))]
    harness: String,
}

/// Answers, and ends with the harness's exit code.
///
/// # Errors
/// Where there is no such harness.
pub fn run(_: &Context, args: Args) -> Outcome {
    let Some(adapter) = harness::named(&args.harness) else { return Err(Failure::new("usage", "no such harness")) };
    gate::end((Seam::BeforeTool, adapter))
}
