//! The verbs, one file each.

pub mod check;
pub mod connect;
pub mod doctor;
mod equip;
pub mod explain;
pub mod gate;
pub mod handover;
pub mod inbox;
mod loadout;
pub mod own;
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
    /// Make an agent the owner of a directory
    Own(own::OwnArgs),
    /// Take the owner of a directory away
    Disown(own::DisownArgs),
    /// Put the gate before a harness's tools
    Connect(connect::ConnectArgs),
    /// Take the gate away from a harness
    Disconnect(connect::DisconnectArgs),
    /// Answer a harness before a tool call (called by harnesses)
    Gate(gate::Args),
    /// Ask whose paths are, and whether a write there would pass
    Check(check::Args),
    /// Read and answer what was handed over
    Inbox(inbox::Args),
    /// Tell an owner what you read and what you want, for a write that was refused
    Handover(handover::Args),
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
        Verb::Own(args) => own::own(context, args),
        Verb::Disown(args) => own::disown(context, args),
        Verb::Connect(args) => connect::connect(context, args),
        Verb::Disconnect(args) => connect::disconnect(context, args),
        Verb::Gate(args) => gate::run(context, args),
        Verb::Check(args) => check::run(context, args),
        Verb::Inbox(args) => inbox::run(context, args),
        Verb::Handover(args) => handover::run(context, args),
        Verb::Resolve(args) => resolve::run(context, args),
        Verb::Explain(args) => explain::run(context, args),
        Verb::Tree(args) => tree::run(context, args),
        Verb::Where(args) => whose::run(context, args),
        Verb::Doctor(args) => doctor::run(context, args),
    }
}
