//! The roof: arguments, output, failure; one file per verb.
//!
//! [`main`] looks at the first word: what harnesses call on every tool call (`gate`, `hook`) has a
//! small parser of its own, since building the whole tree of verbs costs more than the rest of such
//! a call.

pub mod args;
pub mod context;
mod errand;
pub mod failure;
mod gate;
pub mod grant;
pub mod help;
pub mod near;
pub mod output;
pub mod verbs;
pub mod wardrobe;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches as _;
use clap::error::ErrorKind;

use crate::custody::asker;
use crate::hooks::connect;
use crate::sys::{env, process, shown, term};
use crate::text::name::AgentId;
use crate::text::near as near_words;
use context::Context;
use failure::Failure;

/// How a verb ended: the exit code in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// 0: yes, or done.
    Yes,
    /// 1: the answer is no (refused by a check, findings, nothing there).
    No,
    /// The exit code of the command that was run.
    Exit(u8),
}

/// What a verb returns: an answer, or why it could not be carried out (2).
pub type Outcome = Result<Answer, Failure>;

/// The whole program.
#[must_use]
pub fn main() -> ExitCode {
    if let Some(asked) = gate::selected(std::env::args_os()) {
        return gate::run(asked);
    }
    let words: Vec<OsString> = std::env::args_os().collect();
    let parsed = || help::command().try_get_matches_from(&words).and_then(|matches| args::Args::from_arg_matches(&matches));
    let args = match args::Args::of_exec(&words).map_or_else(parsed, Ok) {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    let json = args.global.json;
    let outcome = Context::new(args.global).and_then(|context| {
        connect::mend_link(&context.home, || process::own_program().ok());
        say_unused_asker(&context, &args.verb);
        verbs::run(&context, args.verb)
    });
    match outcome {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Ok(Answer::Exit(code)) => ExitCode::from(code),
        Err(failure) => {
            failure.show(json);
            ExitCode::from(2)
        }
    }
}

/// `--as` names who is asked about, or who is to be an owner; nobody becomes another by it. Where a verb has no use
/// for it, that is said: silence would look like consent.
fn say_unused_asker(context: &Context, verb: &verbs::Verb) {
    let Some(named) = context.flags.asker.as_deref().filter(|_| !verb.takes_asker()) else { return };
    let Ok((here, _)) = asker::here(&context.env, &context.cwd) else { return };
    if here.name() != named {
        let who = here.agent.as_ref().map_or("yourself", AgentId::as_str);
        context.say(&format!("note: --as {} changes nothing here: this verb acts as {who}", shown::text(named)));
    }
}

/// What the parser says over several lines, in one: what is wrong, and what it thinks was meant.
fn one_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut line = lines.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    let more: Vec<&str> = lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information")).collect();
    let (tips, what): (Vec<&str>, Vec<&str>) = more.into_iter().partition(|line| line.starts_with("tip: "));
    if !what.is_empty() {
        line.push_str(&format!(" {}", what.join(", ")));
    }
    for tip in tips {
        line.push_str(&format!("; {}", tip.trim_start_matches("tip: ")));
    }
    line
}

/// The command that somebody may have meant whose second word is no word of the verb: `loci inbox tkae`. A verb
/// that takes a name there lets the parser stumble over the word behind it.
fn meant(kind: ErrorKind, words: &[OsString]) -> Option<String> {
    if !matches!(kind, ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand | ErrorKind::ArgumentConflict) {
        return None;
    }
    let command = help::command();
    let mut words = words.iter().filter_map(|word| word.to_str()).filter(|word| !word.starts_with('-'));
    let verb = words.find_map(|word| command.find_subcommand(word))?;
    let word = words.next()?;
    let near = near_words::nearest(word, verb.get_subcommands().map(clap::Command::get_name))?;
    verb.find_subcommand(word).is_none().then(|| format!("loci {} {near}", verb.get_name()))
}

/// What is wrong where a verb with verbs of its own takes a name, and something stands behind that: `loci inbox tke ID`.
/// The parser would call what follows a verb.
fn odd_word(kind: ErrorKind, words: &[OsString]) -> Option<String> {
    if kind != ErrorKind::ArgumentConflict {
        return None;
    }
    let command = help::command();
    let mut words = words.iter().filter_map(|word| word.to_str()).filter(|word| !word.starts_with('-'));
    let verb = words.find_map(|word| command.find_subcommand(word))?;
    let word = words.next().filter(|word| verb.has_subcommands() && verb.find_subcommand(word).is_none())?;
    let more = words.next().filter(|more| verb.find_subcommand(more).is_none())?;
    let name = verb.get_name();
    Some(format!("`loci {name}` has no verb `{}`, and takes nothing behind a name (`{}`)", shown::text(word), shown::text(more)))
}

/// Help and version go to standard output and are an answer; a wrong word is exit 2.
fn usage(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        let json = std::env::args_os().any(|arg| arg == "--json");
        let meant = meant(error.kind(), &env::arguments());
        let text = error.to_string();
        if json {
            let missing = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
            let first = if missing {
                "a verb is missing".to_owned()
            } else {
                odd_word(error.kind(), &env::arguments()).unwrap_or_else(|| one_line(&text))
            };
            Failure::new("usage", first).hint(meant.unwrap_or_else(|| "loci --help".to_owned())).show(true);
        } else if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            term::err(&format!("error: a verb is missing\n\n{text}"));
        } else {
            let failure = Failure::new("usage", odd_word(error.kind(), &env::arguments()).unwrap_or_else(|| one_line(&text)));
            // A verb that is not there has no help either.
            let words: Vec<String> = env::arguments().iter().map(|word| word.to_string_lossy().into_owned()).collect();
            let known = !help::verbs(&words).is_empty();
            match meant.or_else(|| (!known).then(|| "loci --help".to_owned())) {
                Some(hint) => failure.hint(hint).show(false),
                None => failure.show(false),
            }
        }
        return ExitCode::from(2);
    }
    match term::out(error.to_string().as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            Failure::new("io", "failed to write to standard output").caused_by(&error).show(false);
            ExitCode::from(2)
        }
    }
}
