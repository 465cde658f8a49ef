//! When we are asked: the harness-neutral table of tools.

pub mod tools;
