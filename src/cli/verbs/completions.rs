//! `loci completions`: what a shell needs to complete the words of the command line.

use clap::{Arg, Command};
use clap_complete::shells::{Bash, Fish, Zsh};
use serde_json::json;

use crate::cli::context::Context;
use crate::cli::{Answer, Outcome, help};

/// What `loci completions` takes.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "They know verbs, flags, harnesses and paths. Put them where the shell looks:\n  loci completions bash > ~/.local/share/bash-completion/completions/loci\n  loci completions zsh > ~/.zfunc/_loci        with `fpath+=~/.zfunc` before compinit in ~/.zshrc\n  loci completions fish > ~/.config/fish/completions/loci.fish"
)]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// The shells that are known.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Runs the verb.
///
/// # Errors
/// Where standard output can't be written.
pub fn run(context: &Context, args: Args) -> Outcome {
    let script = script(args.shell);
    context.print(|| script.clone(), || json!({ "schema": 1, "script": script }))?;
    Ok(Answer::Yes)
}

fn script(shell: Shell) -> String {
    let mut command = help::command();
    let mut script = Vec::new();
    match shell {
        Shell::Bash => clap_complete::generate(Bash, &mut command, "loci", &mut script),
        Shell::Zsh => clap_complete::generate(Zsh, &mut command, "loci", &mut script),
        Shell::Fish => clap_complete::generate(Fish, &mut command, "loci", &mut script),
    }
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if let Shell::Fish = shell {
        script.extend(command.get_subcommands().filter_map(words));
    }
    script
}

/// The words that a verb takes as its own, where those are known: what is made for fish leaves them out.
fn words(verb: &Command) -> Option<String> {
    let known: Vec<String> = verb
        .get_positionals()
        .flat_map(Arg::get_possible_values)
        .filter(|one| !one.is_hide_set())
        .map(|one| one.get_name().to_owned())
        .collect();
    let verb = verb.get_name();
    let line = || format!("complete -c loci -n \"__fish_loci_using_subcommand {verb}\" -f -a \"{}\"\n", known.join(" "));
    (!known.is_empty()).then(line)
}
