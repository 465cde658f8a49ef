//! Whose it is: owners, acts, the judge, delegations and inboxes.
//!
//! [`find`] reads the disk into [`judge::Facts`], [`judge`] decides over them and nothing else,
//! [`delegation`] turns a refusal into a message. The gate and `loci check` both call [`rule`].

pub mod act;
pub mod answer;
pub mod apply;
pub mod asker;
pub mod capture;
pub mod changes;
pub mod deeds;
pub mod delegation;
pub mod diff;
pub mod extract;
pub mod fence;
pub mod find;
pub mod gitpatch;
pub mod grants;
pub mod hunk;
pub mod inbox;
pub mod jail;
pub mod judge;
pub mod letter;
mod linked;
pub mod maildir;
pub mod mask;
pub mod merge;
pub mod message;
pub mod outbox;
pub mod own;
pub mod patch;
pub mod person;
pub mod range;
pub mod requests;
pub mod ruling;
pub mod shell;
pub mod slip;
pub mod trail;
pub mod wall;
pub mod worktree;
pub mod world;

pub use act::{Act, ActKind};
pub use asker::Asker;
pub use deeds::Deeds;
pub use ruling::{ActRuling, Owner, Ruling, Surroundings, Verdict, Who, Why};

use crate::sys::time::{self, Timestamp};

/// Rules on acts: the one function behind the gate and `loci check`.
///
/// What decides is on the disk now: owner files, identity files and links are read for every call.
/// Nothing is written.
#[must_use]
pub fn rule(acts: &[Act], asker: &Asker, surroundings: &Surroundings) -> Ruling {
    rule_at(acts, asker, surroundings, time::now())
}

/// As [`rule`], at a time: permits are over some day.
#[must_use]
pub fn rule_at(acts: &[Act], asker: &Asker, surroundings: &Surroundings, now: Timestamp) -> Ruling {
    let facts = find::facts(acts, asker, surroundings, now);
    judged(&facts, asker)
}

/// Rules on what comes back into the shared tree: that it was made in a separate worktree, where it was
/// a proposal, excuses nothing here.
#[must_use]
pub fn rule_on_return(acts: &[Act], asker: &Asker, surroundings: &Surroundings, now: Timestamp) -> Ruling {
    let mut facts = find::facts(acts, asker, surroundings, now);
    facts.acts.iter_mut().flat_map(|act| &mut act.up).for_each(|station| station.copy = false);
    judged(&facts, asker)
}

fn judged(facts: &judge::Facts, asker: &Asker) -> Ruling {
    let mut ruling = judge::judge(facts, asker);
    find::bodies(&mut ruling);
    ruling
}
