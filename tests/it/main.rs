//! All integration tests, one binary.

#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests build trees, look at the disk themselves and fail by panic")]

mod body;
mod cases;
mod clock;
mod connect;
mod custody;
mod exec;
mod fuzz;
mod gate;
mod hooks;
mod hostile;
mod inherit;
mod judged;
mod layers;
mod licenses;
mod load;
mod loadout;
mod loops;
mod mirror;
mod order;
mod pages;
mod reference;
mod run;
mod sandbox;
mod shell;
mod show;
mod skill;
mod status;
mod story;
mod sweep;
mod templates;
mod trail;
mod tree;
mod waiting;
