//! What is due: jobs that say when, what, and what they must leave behind.

pub mod daemon;
pub mod decide;
pub mod deliverable;
pub mod engine;
mod instant;
pub mod job;
pub mod ledger;
pub mod loops;
pub mod mirror;
pub mod record;
pub mod runs;
pub mod schedule;
pub mod store;
pub mod trust;
pub mod unit;
pub mod wake;
