//! The agent as a directory: templates, how one becomes a body, how a body becomes a process, and what a
//! child inherits.
//!
//! [`template`] finds a template, [`render`] makes nodes of it (pure), [`layout`] completes them to a
//! linked loadout (pure), [`build`] puts them on the disk. [`sockets`] says how a program is called and what
//! it reads, [`embody`] who is a body now. [`memory`] tells what stays when [`inherit`] makes a child.

pub mod build;
pub mod builtin;
pub mod embody;
pub mod home;
pub mod identity;
pub mod inherit;
pub mod language;
pub mod layout;
pub mod memory;
pub mod portrait;
pub mod render;
pub mod sockets;
pub mod template;

use std::path::PathBuf;

/// One thing of a body or of a template, at a path inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The path, relative, of plain components.
    pub rel: PathBuf,
    /// What stands there.
    pub what: What,
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A directory.
    Dir,
    /// A file.
    File {
        /// Its bytes.
        data: Vec<u8>,
        /// Its permission bits; `None`: what the umask leaves of `0o666`.
        mode: Option<u32>,
    },
    /// A link with this text.
    Link(PathBuf),
}

impl Node {
    /// A plain file.
    #[must_use]
    pub fn file(rel: &str, text: &str) -> Self {
        Self { rel: rel.into(), what: What::File { data: text.as_bytes().to_vec(), mode: None } }
    }
}
