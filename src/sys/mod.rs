//! The floor: everything that touches the machine.
//!
//! No other room opens a file, starts a process, asks the time or reads the environment
//! (`clippy.toml` bans it). Every operation that changes the disk goes through [`fault`], so that a
//! test can make the n-th one fail or kill the process after it.

#![expect(clippy::disallowed_methods, reason = "this is the floor that the ban points to")]

pub mod dirs;
pub mod disk;
pub mod env;
pub mod fault;
pub mod foreground;
pub mod gated;
pub mod git;
pub mod handle;
pub mod hosted;
pub mod jail;
pub mod journal;
pub mod lineage;
pub mod lock;
pub mod loopback;
pub mod memory;
mod nameless;
pub mod pinned;
pub mod plan;
pub mod process;
pub mod program;
mod progress;
pub mod random;
pub mod shown;
pub mod term;
pub mod time;
pub mod wire;
