//! When we are asked: the seams of a turn (`event`, `answer`), the harness adapters, the table of tools, the gate, the
//! relay after a call, and the connectors.

pub mod after;
pub mod answer;
pub mod connect;
pub mod event;
pub mod gate;
pub mod harness;
pub mod tools;
