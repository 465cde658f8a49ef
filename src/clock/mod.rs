//! What is due: jobs that say when, what, and what they must leave behind.

pub mod deliverable;
pub mod job;
pub mod schedule;
