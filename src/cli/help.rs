//! Help: the verbs grouped by what people want to do, and everything in one go for agents.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};

use super::args::{Args, EVERYWHERE};
use super::failure::Failure;
use super::near;

/// The groups of `loci --help`, and their verbs in the order in which they are met.
const GROUPS: &[(&str, &[&str])] = &[
    ("See where you are", &["status", "where", "tree", "resolve", "explain", "show", "doctor"]),
    ("Make and run agents", &["new", "templates", "run", "inherit"]),
    ("Equip them", &["toggle", "equip", "unequip", "sets", "loadout"]),
    ("Own directories", &["own", "disown", "extract", "permit", "check", "exec", "trail"]),
    ("Hand work over", &["inbox", "delegate", "handover"]),
    ("Run on a schedule", &["clock", "jobs", "ledger", "loop", "mirror"]),
    ("Grant (people only)", &["requests", "approve", "deny", "trust", "grants", "connect", "disconnect"]),
    ("Be asked (called by harnesses)", &["gate", "hook", "hooks"]),
    ("Help yourself", &["init", "demo", "completions", "man", "help"]),
];

/// The command with its verbs grouped.
#[must_use]
pub fn command() -> Command {
    // The flags are those of `connect`; what they are for is not.
    let command = Args::command().mut_subcommand("disconnect", |verb| {
        verb.mut_arg("project", |arg| arg.help("What was connected in this project, in a file of yours that is not tracked with it"))
            .mut_arg("shared", |arg| arg.help("What was connected in this project for everybody"))
    });
    let groups = grouped(&command);
    command.help_template(format!("{{about}}\n\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}\n{{after-help}}")).after_help(
        "Exit codes: 0 yes or done, 1 the answer is no, 2 it could not be carried out.\n\
         `loci VERB --help` says more; `loci help --all` prints everything.\n",
    )
}

fn grouped(command: &Command) -> String {
    let mut text = String::new();
    for (title, verbs) in GROUPS {
        let _ = writeln!(text, "{title}:");
        for verb in *verbs {
            let about = command.find_subcommand(verb).and_then(Command::get_about).map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {verb:<11}  {about}");
        }
        text.push('\n');
    }
    text
}

/// The command as the parser sees it: with all that its verbs inherit.
#[must_use]
pub fn built() -> Command {
    let mut root = command();
    root.build();
    root
}

/// The verb that some words name, or one of its own verbs.
///
/// # Errors
/// Where there is none of that name.
pub fn find<'a>(root: &'a mut Command, words: &[String]) -> Result<&'a mut Command, Failure> {
    let mut found = root;
    for word in words {
        let near = near::meant(word, found.get_subcommands().map(Command::get_name));
        let none = || Failure::new("usage", format!("there is no verb `{}`{near}", words.join(" "))).hint("loci --help");
        found = found.find_subcommand_mut(word).ok_or_else(none)?;
    }
    Ok(found)
}

/// The verb that a command line names, and the verb of that one behind it; without what stands between them.
#[must_use]
pub fn verbs(words: &[String]) -> Vec<String> {
    let root = command();
    let (mut at, mut found) = (&root, Vec::new());
    for word in words.iter().take_while(|word| *word != "--").filter(|word| !word.starts_with('-')) {
        match at.find_subcommand(word) {
            Some(next) => {
                found.push(next.get_name().to_owned());
                at = next;
            }
            // Before the verb it may be what a flag takes.
            None if found.is_empty() => {}
            None => break,
        }
    }
    found
}

/// The groups of verbs, each with its title, in the order in which they are met.
pub fn groups() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    GROUPS.iter().copied()
}

/// The help of everything, one verb after the other.
#[must_use]
pub fn all() -> String {
    let mut root = built();
    let mut text = root.render_help().to_string();
    describe(&mut text, &root, "loci");
    text
}

fn describe(text: &mut String, command: &Command, path: &str) {
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let path = format!("{path} {}", verb.get_name());
        let _ = write!(text, "\n---- {path}\n\n{}", own(verb));
        describe(text, verb, &path);
    }
}

/// The help of one verb without what holds for every verb.
#[must_use]
pub fn own(verb: &Command) -> String {
    let mut own = verb.clone().mut_args(|arg| {
        let everywhere = arg.get_help_heading() == Some(EVERYWHERE) || arg.get_id() == "help";
        if everywhere { arg.hide(true) } else { arg }
    });
    own.render_long_help().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_stands_in_one_group() {
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().copied()).collect();
        let command = Args::command();
        let mut known: Vec<&str> = command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(Command::get_name).collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
    }

    #[test]
    fn what_holds_everywhere_stands_behind_a_verbs_own_flags() {
        let mut root = command();
        root.build();
        let text = root.find_subcommand_mut("own").map(|verb| verb.render_long_help().to_string()).unwrap_or_default();
        let (own, everywhere) = text.split_once("\nEverywhere:\n").unwrap();
        assert!(own.contains("--note") && !own.contains("--json"), "{text}");
        assert!(everywhere.contains("--json") && everywhere.contains("--color <WHEN>") && !everywhere.contains("--note <TEXT>"), "{text}");
        assert!(!text.contains("Possible values"), "{text}");
        // All of it in one go says it once.
        let all = all();
        assert_eq!(all.matches("--color").count(), 1, "{all}");
        assert!(all.contains("--json") && all.contains("--note <TEXT>"));
        let text = root.find_subcommand_mut("disconnect").map(|verb| verb.render_help().to_string()).unwrap_or_default();
        assert!(text.contains("What was connected") && !text.contains("others are let through"), "{text}");
    }

    /// A verb that calls something of its own by the name of such a flag would lose it.
    #[test]
    fn what_holds_everywhere_can_be_said_everywhere() {
        fn visit(command: &Command, path: &str) {
            for flag in ["json", "color", "root", "at", "as", "verbose"] {
                assert!(command.get_arguments().any(|arg| arg.get_long() == Some(flag)), "{path} lacks --{flag}");
            }
            command.get_subcommands().for_each(|verb| visit(verb, &format!("{path} {}", verb.get_name())));
        }
        visit(&built(), "loci");
    }

    #[test]
    fn every_verb_says_what_it_does() {
        let command = Args::command();
        assert!(command.get_subcommands().all(|verb| verb.get_about().is_some()));
        Args::command().debug_assert();
    }
}
