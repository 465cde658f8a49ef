//! When we are asked: the seams of a turn (`event`, `answer`), the harness adapters, the table of tools, the gate, the
//! relays around a turn with what is built in, the hooks that are found, trusted and run, and the connectors.

pub mod active;
mod after;
pub mod answer;
pub mod connect;
pub mod declare;
pub mod dispatch;
mod elsewhere;
pub mod event;
pub mod find;
pub mod gate;
pub mod harness;
mod hold;
pub mod kept;
pub mod log;
pub mod persona;
pub mod place;
pub mod relay;
pub mod run;
pub mod state;
pub mod switches;
pub mod tools;
pub mod trust;
pub mod typed;
