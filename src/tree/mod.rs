//! Where things are. It finds; others decide what finding means.
//!
//! [`resolve`](resolve::resolve) is the one loader of the program and [`climb`] the one upward walk;
//! [`places`] is the walk down for places, [`marks`] the one that asks about every name. Everything here reads and nothing writes.

pub mod card;
pub mod climb;
pub mod diagnostic;
pub mod doctor;
pub mod dotdirs;
mod duplicates;
pub mod find;
mod gather;
pub mod marks;
pub mod places;
pub mod readings;
pub mod real;
pub mod resolve;
pub mod secrets;
pub mod settings;
pub mod slot;
pub mod transport;
mod uses;
pub mod worktree;
