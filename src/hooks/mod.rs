//! When we are asked: the harness adapters, the table of tools, the gate, the
//! relay after a call, and the connectors.

pub mod after;
pub mod connect;
pub mod gate;
pub mod harness;
pub mod tools;
