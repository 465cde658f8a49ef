//! What can be said on the command line.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, ValueEnum, ValueHint};

use super::verbs::Verb;

/// A filesystem-native agent runtime: an agent is a directory.
#[derive(Debug, Parser)]
#[command(name = "loci", version, disable_help_subcommand = true, max_term_width = 100)]
pub struct Args {
    /// What holds for every verb.
    #[command(flatten)]
    pub global: Global,
    /// What is to be done.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The heading of these flags in the help of a verb, behind its own.
pub const EVERYWHERE: &str = "Everywhere";

/// Flags that every verb takes.
#[derive(Debug, Clone, ClapArgs)]
pub struct Global {
    /// Print one JSON object instead of words
    #[arg(long, global = true, help_heading = EVERYWHERE, display_order = 900)]
    pub json: bool,
    /// When to use colours: auto, always or never
    #[arg(long, hide_possible_values = true, hide_default_value = true, global = true, help_heading = EVERYWHERE, display_order = 900, value_enum, value_name = "WHEN", default_value = "auto")]
    pub color: When,
    /// The directory that bounds `tree` and the clock
    #[arg(long, global = true, help_heading = EVERYWHERE, display_order = 900, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub root: Option<PathBuf>,
    /// Where the agent stands (default: here)
    #[arg(long, global = true, help_heading = EVERYWHERE, display_order = 900, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub at: Option<PathBuf>,
    /// Who asks (default: LOCI_AGENT, else the body you are in)
    #[arg(long = "as", global = true, help_heading = EVERYWHERE, display_order = 900, value_name = "AGENT")]
    pub asker: Option<String>,
    /// Say more
    #[arg(short, long, global = true, help_heading = EVERYWHERE, display_order = 900)]
    pub verbose: bool,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
