//! Every verb that changes something, times every operation on the disk: each one fails once, and the program is killed
//! after each one. Afterwards the tree is the old one or the new one, nothing is lost and nothing is torn, the error names
//! the path, and the next command ends where an undisturbed one does.
//!
//! The verbs are those that the parser knows: one that has no row here makes [`every_verb_has_a_row`] fail.

mod clock;
mod custody;
mod engine;
mod homes;
mod loadout;
mod mail;
pub(crate) mod reads;
pub(crate) mod seen;

use std::collections::BTreeSet;

use engine::Row;

/// All rows, by the files that they stand in.
fn rows() -> Vec<Row> {
    [loadout::rows(), custody::rows(), mail::rows(), homes::rows(), clock::rows()].into_iter().flatten().collect()
}

/// What changes something and has no row, with the reason.
const ELSEWHERE: &[(&str, &str)] = &[
    ("clock run", "a daemon: what it does is `clock once`, and tests/it/clock kills it at every operation"),
    ("demo", "a scratch folder, and verbs that have rows of their own"),
    ("mirror attach", "needs a terminal session: tests/it/mirror.rs"),
    ("mirror detach", "needs a terminal session: tests/it/mirror.rs"),
    ("mirror serve", "a server that stays, and offers the verbs beside it: tests/it/mirror"),
    ("mirror type", "changes nothing on the disk"),
];

/// Every verb as people type it: `inbox take`; what has no words of its own is left out.
fn verbs() -> BTreeSet<String> {
    fn below(command: &clap::Command, path: &str, found: &mut BTreeSet<String>) {
        let words: Vec<&clap::Command> = command.get_subcommands().collect();
        if !path.is_empty() && !command.is_subcommand_required_set() {
            found.insert(path.to_owned());
        }
        for word in words {
            below(word, format!("{path} {}", word.get_name()).trim_start(), found);
        }
    }
    let mut found = BTreeSet::new();
    below(&loci::cli::help::command(), "", &mut found);
    found
}

#[test]
fn every_verb_has_a_row() {
    let mut known: BTreeSet<String> = rows().into_iter().map(|row| row.verb.to_owned()).collect();
    known.extend(ELSEWHERE.iter().map(|(verb, _)| (*verb).to_owned()));
    known.extend(reads::rows().into_iter().map(|(verb, _)| verb.to_owned()));
    assert_eq!(verbs(), known);
}
