//! Whose it is: owners, acts, the judge, delegations and inboxes.
//!
//! [`find`] reads the disk into [`judge::Facts`], [`judge`] decides over them and nothing else,
//! [`delegation`] turns a refusal into a message. The gate and `loci check` both call [`rule`].

pub mod act;
pub mod answer;
pub mod asker;
pub mod capture;
pub mod deeds;
pub mod delegation;
pub mod diff;
pub mod fence;
pub mod find;
pub mod inbox;
pub mod judge;
pub mod letter;
pub mod maildir;
pub mod mask;
pub mod message;
pub mod own;
pub mod patch;
pub mod person;
pub mod ruling;
pub mod shell;
pub mod wall;
pub mod worktree;
pub mod world;

pub use act::{Act, ActKind};
pub use asker::Asker;
pub use deeds::Deeds;
pub use ruling::{ActRuling, Owner, Ruling, Surroundings, Verdict, Who, Why};

/// Rules on acts: the one function behind the gate and `loci check`.
///
/// What decides is on the disk now: owner files, identity files and links are read for every call.
/// Nothing is written.
#[must_use]
pub fn rule(acts: &[Act], asker: &Asker, surroundings: &Surroundings) -> Ruling {
    let facts = find::facts(acts, asker, surroundings);
    let mut ruling = judge::judge(&facts, asker);
    find::bodies(&mut ruling);
    ruling
}
