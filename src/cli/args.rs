//! What can be said on the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Command, FromArgMatches as _, Parser, ValueEnum, ValueHint};

use super::verbs::{Verb, exec};

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

impl Args {
    /// Reads a command line of `loci exec`, which agents call for every command, by a parser that knows this verb alone: to
    /// build that of all verbs takes longer than the jail. Whatever it can't read goes to that one, which says what is wrong.
    pub(super) fn of_exec(words: &[OsString]) -> Option<Self> {
        let name = words.get(1).filter(|word| *word == "exec")?.to_str()?;
        let parser = Global::augment_args(Command::new("loci")).subcommand(exec::Args::augment_args(Command::new("exec")));
        let found = parser.try_get_matches_from(words).ok()?;
        let verb = exec::Args::from_arg_matches(found.subcommand_matches(name)?).ok()?;
        Some(Self { global: Global::from_arg_matches(&found).ok()?, verb: Verb::Exec(verb) })
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::help;

    #[test]
    fn exec_is_read_as_by_the_parser_of_all_verbs() {
        for line in [
            "loci exec true",
            "loci exec --as alice --capture -- sed -i s/a/b/ x --json",
            "loci exec --json --root /r --dry-run --as=alice -v -- true -v",
            "loci exec --keep-cwd 3 --color never -- sh -c x",
            "loci exec --probe",
            "loci exec",
            "loci exec --capture=x -- true",
            "loci exec --help",
            "loci exec --what -- true",
            "loci --json exec -- true",
            "loci where",
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let all = help::command().try_get_matches_from(&words).and_then(|found| Args::from_arg_matches(&found)).ok();
            let mine = Args::of_exec(&words);
            assert_eq!(mine.is_some(), all.is_some() && words[1] == "exec", "{line}");
            if let Some(mine) = mine {
                assert_eq!(format!("{mine:?}"), format!("{:?}", all.unwrap()), "{line}");
            }
        }
    }
}
