//! The verbs, one file each.

pub mod doctor;
mod equip;
pub mod explain;
mod loadout;
pub mod resolve;
mod sets;
mod toggle;
pub mod tree;
mod unequip;
pub mod whose;

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
    /// Find every file of a slot, nearest last
    Resolve(resolve::Args),
    /// Say which file wins a name, what it shadows and why, and what is off
    Explain(explain::Args),
    /// List every place below a directory, read in one of five ways
    Tree(tree::Args),
    /// Say about one path whose it is, which place it is in, who and what is near
    Where(whose::Args),
    /// Look for everything that is wrong below a directory, each with its fix
    Doctor(doctor::Args),
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
        Verb::Resolve(args) => resolve::run(context, args),
        Verb::Explain(args) => explain::run(context, args),
        Verb::Tree(args) => tree::run(context, args),
        Verb::Where(args) => whose::run(context, args),
        Verb::Doctor(args) => doctor::run(context, args),
    }
}
