//! The verbs, one file each.

mod equip;
mod loadout;
mod sets;
mod toggle;
mod unequip;

use clap::Subcommand;

use super::Outcome;
use super::context::Context;

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Switch one skill, rule, sub-agent or hook on or off
    Toggle(toggle::Args),
    /// Put on saved sets, for good or while a command runs
    Equip(equip::Args),
    /// Take back the last equip
    Unequip(unequip::Args),
    /// List, save, print and compare sets
    Sets(sets::Args),
    /// What is worn; save, exchange and identify whole loadouts
    Loadout(loadout::Args),
}

/// Runs a verb.
///
/// # Errors
/// Whatever keeps the verb from being carried out.
pub fn run(context: &Context, verb: Verb) -> Outcome {
    match verb {
        Verb::Toggle(args) => toggle::run(context, args),
        Verb::Equip(args) => equip::run(context, args),
        Verb::Unequip(args) => unequip::run(context, args),
        Verb::Sets(args) => sets::run(context, args),
        Verb::Loadout(args) => loadout::run(context, args),
    }
}
