//! The verbs, one file each.

pub mod check;
pub mod clock;
pub mod completions;
pub mod connect;
pub mod delegate;
pub mod demo;
pub mod doctor;
pub mod equip;
pub mod exec;
pub mod explain;
pub mod extract;
pub mod gate;
pub mod handover;
pub mod help;
pub mod hook;
pub mod hooks;
pub mod inbox;
pub mod inherit;
pub mod init;
pub mod jobs;
pub mod ledger;
pub mod loadout;
pub mod loops;
pub mod man;
pub mod mirror;
pub mod new;
pub mod own;
pub mod permit;
pub mod requests;
pub mod resolve;
pub mod run;
pub mod sets;
pub mod show;
pub mod status;
pub mod templates;
pub mod toggle;
pub mod trail;
pub mod tree;
pub mod trust;
pub mod unequip;
pub mod whose;

use std::path::Path;

use clap::Subcommand;

use super::context::Context;
use super::failure::Failure;
use super::{Outcome, near};

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Say what needs you here: mail, requests, what is stuck, gates that are silent
    Status(status::Args),
    /// Say about one path whose it is, which place it is in, who and what is near
    Where(whose::Args),
    /// List every place below a directory, read in one of five ways
    Tree(tree::Args),
    /// Find every file of a slot, nearest last
    Resolve(resolve::Args),
    /// Say which file wins a name, what it shadows and why, and what is off
    Explain(explain::Args),
    /// Show an agent: who, whose, what it is equipped with, who reads that, what waits
    Show(show::Args),
    /// Look for everything that is wrong below a directory, each with its fix
    Doctor(doctor::Args),
    /// Make a directory that is an agent
    New(new::Args),
    /// List what agents can be made from, or show one template
    Templates(templates::Args),
    /// Hand an agent's directory to a program: one turn with a message, else a session at the terminal
    Run(run::Args),
    /// Make a child of an agent: its whole directory, without its memory
    Inherit(inherit::Args),
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
    /// Move files down into a directory of their own, and leave links
    Extract(extract::Args),
    /// Let an agent write in what is somebody else's, for a time
    Permit(permit::PermitArgs),
    /// Ask whose paths are, and whether a write there would pass
    Check(check::Args),
    /// Run a command that can't write what is somebody else's
    Exec(exec::Args),
    /// Show what a session did, step by step, or why its last refused step was refused
    Trail(trail::Args),
    /// Read and answer what was handed over
    Inbox(inbox::Args),
    /// Ask an owner for a change, with what you read and what you want
    Delegate(delegate::Args),
    /// Tell an owner what you read and what you want, for a write that was refused
    Handover(handover::Args),
    /// List what agents ask of you
    Requests(requests::RequestsArgs),
    /// Do what an agent asked for, with the hash that was shown
    Approve(requests::ApproveArgs),
    /// Answer a request with no
    Deny(requests::DenyArgs),
    /// List every grant that stands
    Grants(permit::GrantsArgs),
    /// Let the hooks, rules and personas in a directory take effect, as they are now
    Trust(trust::Args),
    /// Put the gate before a harness's tools
    Connect(connect::ConnectArgs),
    /// Take the gate away from a harness
    Disconnect(connect::DisconnectArgs),
    /// Answer a harness before a tool call (called by harnesses)
    Gate(gate::Args),
    /// Take in what a harness says around a turn, and run the hooks that bind to it (called by harnesses)
    Hook(hook::Args),
    /// Run what is due
    Clock(clock::Args),
    /// List what is scheduled, and allow it
    Jobs(jobs::Args),
    /// Show what is stuck now
    Ledger(ledger::Args),
    /// Go on with a prompt until its predicate holds
    Loop(loops::Args),
    /// Look at a terminal session that runs already, and type into it
    Mirror(mirror::Args),
    /// List the hooks that bind to the seams of a turn, and switch them on and off by name
    Hooks(hooks::Args),
    /// Set up the home level, and offer to connect the harnesses that are installed
    Init(init::Args),
    /// Print what bash, zsh or fish need to complete a command line
    Completions(completions::Args),
    /// Print the manual's page of a verb, or write all of them
    Man(man::Args),
    /// Explain a verb, or print everything with --all
    Help(help::Args),
    /// Tell the whole story in a scratch folder, with the real pieces
    Demo(demo::Args),
}

impl Verb {
    /// Whether `--as` means something to it: whose inbox, who is to be an owner, who is asked about, as whom a
    /// command runs; of the tree, which reading.
    pub(super) fn takes_asker(&self) -> bool {
        matches!(
            self,
            Self::Status(_)
                | Self::Own(_)
                | Self::Extract(_)
                | Self::Inbox(_)
                | Self::Check(_)
                | Self::Exec(_)
                | Self::Tree(_)
                | Self::Help(_)
        )
    }
}

impl Verb {
    /// Whether it can be said of another directory where the agent stands. Words of the others are about where they
    /// are called, and a flag that is passed over would look like an answer about there.
    fn takes_at(&self) -> bool {
        matches!(
            self,
            Self::Status(_)
                | Self::Where(_)
                | Self::Resolve(_)
                | Self::Explain(_)
                | Self::Show(_)
                | Self::Toggle(_)
                | Self::Equip(_)
                | Self::Unequip(_)
                | Self::Sets(_)
                | Self::Loadout(_)
                | Self::Hooks(_)
                | Self::Help(_)
        )
    }
}

/// Runs a verb.
///
/// # Errors
/// Whatever keeps the verb from being carried out; `--at` with one that acts where it is called.
pub fn run(context: &Context, verb: Verb) -> Outcome {
    if let Some(at) = context.flags.at.as_deref().filter(|_| !verb.takes_at()) {
        let mut words = context.argv.iter().map(|word| word.to_string_lossy());
        let mut rest = String::new();
        while let Some(one) = words.next() {
            match &*one {
                "--at" => _ = words.next(),
                other if other.starts_with("--at=") => {}
                other => rest += &format!(" {}", near::word(Path::new(other))),
            }
        }
        return Err(Failure::new("usage", "failed to use --at: this verb acts where it is called")
            .hint(format!("cd {} && loci{rest}", near::word(at))));
    }
    match verb {
        Verb::Status(args) => status::run(context, args),
        Verb::Where(args) => whose::run(context, args),
        Verb::Tree(args) => tree::run(context, args),
        Verb::Resolve(args) => resolve::run(context, args),
        Verb::Explain(args) => explain::run(context, args),
        Verb::Show(args) => show::run(context, args),
        Verb::Doctor(args) => doctor::run(context, args),
        Verb::New(args) => new::run(context, args),
        Verb::Templates(args) => templates::run(context, args),
        Verb::Run(args) => run::run(context, args),
        Verb::Inherit(args) => inherit::run(context, args),
        Verb::Toggle(args) => toggle::run(context, args),
        Verb::Equip(args) => equip::run(context, args),
        Verb::Unequip(args) => unequip::run(context, args),
        Verb::Sets(args) => sets::run(context, args),
        Verb::Loadout(args) => loadout::run(context, args),
        Verb::Own(args) => own::own(context, args),
        Verb::Disown(args) => own::disown(context, args),
        Verb::Extract(args) => extract::run(context, args),
        Verb::Permit(args) => permit::permit(context, args),
        Verb::Check(args) => check::run(context, args),
        Verb::Exec(args) => exec::run(context, args),
        Verb::Trail(args) => trail::run(context, args),
        Verb::Inbox(args) => inbox::run(context, args),
        Verb::Delegate(args) => delegate::run(context, args),
        Verb::Handover(args) => handover::run(context, args),
        Verb::Requests(args) => requests::list(context, args),
        Verb::Approve(args) => requests::approve(context, args),
        Verb::Deny(args) => requests::deny(context, args),
        Verb::Grants(args) => permit::grants(context, args),
        Verb::Connect(args) => connect::connect(context, args),
        Verb::Disconnect(args) => connect::disconnect(context, args),
        Verb::Gate(args) => gate::run(context, args),
        Verb::Hook(args) => hook::run(context, args),
        Verb::Clock(args) => clock::run(context, args),
        Verb::Jobs(args) => jobs::run(context, args),
        Verb::Ledger(args) => ledger::run(context, args),
        Verb::Loop(args) => loops::run(context, args),
        Verb::Mirror(args) => mirror::run(context, args),
        Verb::Hooks(args) => hooks::run(context, args),
        Verb::Trust(args) => trust::run(context, args),
        Verb::Init(args) => init::run(context, args),
        Verb::Completions(args) => completions::run(context, args),
        Verb::Man(args) => man::run(context, args),
        Verb::Help(args) => help::run(context, args),
        Verb::Demo(args) => demo::run(context, args),
    }
}
