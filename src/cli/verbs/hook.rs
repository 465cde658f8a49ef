//! `loci hook` as people meet it: its help, and what is wrong with a call.

use clap::Args as ClapArgs;
use clap::builder::PossibleValuesParser;

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::{Outcome, gate};
use crate::hooks::event::Seam;
use crate::hooks::harness;

/// Take in what a harness says around a turn, and run the hooks that bind to it (called by harnesses)
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "What happened comes on standard input in the harness's own words, and is answered in them. `before-tool` is the gate. The others\nhold nobody up: the exit code is 0, unless a hook blocks what the harness lets be blocked. `loci hooks status` says what each harness has.\n\nExample:\n  loci hook after-tool --for claude < payload.json"
)]
pub struct Args {
    /// The point of the turn
    #[arg(value_parser = PossibleValuesParser::new(Seam::ALL.map(Seam::word)))]
    seam: String,
    /// The harness that tells
    #[arg(long = "for", value_name = "HARNESS", value_parser = PossibleValuesParser::new(harness::ALL.map(|adapter| adapter.name)))]
    harness: String,
}

/// Takes it in, and ends with the harness's exit code.
///
/// # Errors
/// Where there is no such harness or seam.
pub fn run(_: &Context, args: Args) -> Outcome {
    match (Seam::of(&args.seam), harness::named(&args.harness)) {
        (Some(seam), Some(adapter)) => gate::end((seam, adapter)),
        _ => Err(Failure::new("usage", "no such harness")),
    }
}
