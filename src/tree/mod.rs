//! Where things are. It finds; others decide what finding means.

pub mod card;
pub mod climb;
pub mod diagnostic;
pub mod dotdirs;
pub mod find;
pub mod places;
pub mod real;
pub mod resolve;
pub mod settings;
pub mod slot;
mod uses;
