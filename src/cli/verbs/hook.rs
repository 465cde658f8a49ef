//! `loci hook` as people meet it: its help, and what is wrong with a call.

use clap::Args as ClapArgs;
use clap::builder::PossibleValuesParser;

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::{Answer, Outcome, hook};
use crate::hooks::harness;

/// Take in what a harness says around a tool call (called by harnesses)
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "What happened comes on standard input in the harness's own words. `after-tool` puts the step into the trail (`loci trail`) and looks once\nmore where its paths ended. It never blocks anything: the exit code is 0.\n\nExample:\n  loci hook after-tool --for claude < payload.json"
)]
pub struct Args {
    /// The point of the turn
    #[arg(value_parser = PossibleValuesParser::new(["after-tool"]))]
    seam: String,
    /// The harness that tells
    #[arg(long = "for", value_name = "HARNESS", value_parser = PossibleValuesParser::new(harness::ALL.map(|adapter| adapter.name)))]
    harness: String,
}

/// Takes it in.
///
/// # Errors
/// Where there is no such harness.
pub fn run(_: &Context, args: Args) -> Outcome {
    let Some(adapter) = harness::named(&args.harness).filter(|_| args.seam == "after-tool") else {
        return Err(Failure::new("usage", "no such harness"));
    };
    let _ = hook::run(adapter);
    Ok(Answer::Yes)
}
