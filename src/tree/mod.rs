//! Where things are. It finds; others decide what finding means.

pub mod card;
pub mod climb;
pub mod real;
