//! Connectors: putting the relays into a harness's own configuration, and taking them out.

pub mod splice;
