//! When we are asked: the harness adapters, the gate and the connectors.

pub mod connect;
pub mod harness;
