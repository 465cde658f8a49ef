//! Where things are. It finds; others decide what finding means.

pub mod climb;
