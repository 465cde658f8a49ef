//! When we are asked: the harness adapters, the table of tools, the gate and the connectors.

pub mod connect;
pub mod gate;
pub mod harness;
pub mod tools;
