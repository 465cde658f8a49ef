//! **loci** — a filesystem-native agent runtime: an agent *is* a directory.
//!
//! This page is the map of the house. One floor, one roof, imports point down
//! (`tests/it/layers.rs` holds that):
//!
//! | room | what is in it |
//! |---|---|
//! | [`sys`] | the only input and output: disk, locks, processes, time, environment |
//! | [`text`] | front matter, validated names, digests |
//! | [`tree`] | where things are: the one climb, the resolver, the walk for places |
//! | [`loadout`] | what is worn: switching by renaming, sets, archives and their hash |
//! | [`custody`] | whose it is: owners, acts, the judge, delegations, inboxes |
//! | [`hooks`] | when we are asked: the harness adapters, the gate, the connectors |
//! | [`body`] | the agent as a directory: identity, templates, sockets, inheritance |
//! | [`body`] | the agent as a directory: identity, templates |
//! | [`clock`] | what is due: schedules, jobs, what they must leave behind |
//! | [`cli`] | arguments, output, failure; one file per verb |
//!
//! In every room **find** reads the disk into plain values, **decide** is a pure function of values
//! (time and environment are arguments), **apply** performs a [`sys::plan::Plan`].

pub mod body;
pub mod cli;
pub mod clock;
pub mod custody;
pub mod hooks;
pub mod loadout;
pub mod sys;
pub mod text;
pub mod tree;
