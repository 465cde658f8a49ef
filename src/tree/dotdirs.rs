//! The config dotdirs of a directory, and whose slot each one is.

use std::path::{Path, PathBuf};

use super::diagnostic::{Code, Diagnostic};
use super::real;
use crate::sys::disk::{self, Kind};

/// Who is here.
pub const IDENTITY: &str = ".loci";
/// What runs here.
pub const RUNTIME: &str = ".loci-clock";
/// What it looks like.
pub const RENDER: &str = ".loci-view";
/// The door to the graph.
pub const GRAPH: &str = ".loci-graph";
/// The vendor dotdirs when none are configured, in the order they are read.
pub const VENDORS: [&str; 6] = [".claude", ".agents", ".codex", ".gemini", ".opencode", ".pi"];

/// Whose slot a dotdir is. No layer reads another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// What a harness itself reads.
    Vendor,
    /// `.loci`.
    Identity,
    /// `.loci-clock`.
    Runtime,
    /// `.loci-view`.
    Render,
    /// `.loci-graph`.
    Graph,
}

impl Layer {
    /// The layer of a dotdir's name; every name that is none of ours is a vendor's.
    #[must_use]
    pub fn of(name: &str) -> Self {
        match name {
            IDENTITY => Self::Identity,
            RUNTIME => Self::Runtime,
            RENDER => Self::Render,
            GRAPH => Self::Graph,
            _ => Self::Vendor,
        }
    }

    /// The layer in words.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Vendor => "vendor",
            Self::Identity => "identity",
            Self::Runtime => "runtime",
            Self::Render => "render",
            Self::Graph => "graph",
        }
    }
}

/// The dotdirs that count, in the order they are read at one level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dotdirs(Vec<(String, Layer)>);

impl Default for Dotdirs {
    fn default() -> Self {
        Self::new(VENDORS)
    }
}

impl Dotdirs {
    /// These, in this order; those of our own layers that are not named come after them.
    pub fn new<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        let mut all: Vec<(String, Layer)> = Vec::new();
        for name in names.into_iter().map(Into::into).chain([IDENTITY, RUNTIME, RENDER, GRAPH].map(str::to_owned)) {
            if !all.iter().any(|(one, _)| *one == name) {
                let layer = Layer::of(&name);
                all.push((name, layer));
            }
        }
        Self(all)
    }

    /// Name and layer of each, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Layer)> {
        self.0.iter().map(|(name, layer)| (name.as_str(), *layer))
    }

    /// Whether a path ends in the name of a dotdir.
    #[must_use]
    pub fn is_one(&self, place: &Path) -> bool {
        place.file_name().and_then(|name| name.to_str()).is_some_and(|name| self.layer(name).is_some())
    }

    /// The layer of this name; `None` where it is no dotdir.
    #[must_use]
    pub fn layer(&self, name: &str) -> Option<Layer> {
        self.iter().find(|(one, _)| *one == name).map(|(_, layer)| layer)
    }

    /// Whether a path is itself a dotdir: a slot of its directory, not a place.
    #[must_use]
    pub fn names(&self, path: &Path) -> bool {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| self.layer(name).is_some())
    }
}

/// A dotdir that a directory carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dotdir {
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub layer: Layer,
    /// Where it lies as reached.
    pub path: PathBuf,
    /// Where it really lies.
    pub real: PathBuf,
}

/// The dotdirs that a real directory carries, in order. Only directories count, links to directories
/// included.
pub fn at(dir: &Path, dotdirs: &Dotdirs, diagnostics: &mut Vec<Diagnostic>) -> Vec<Dotdir> {
    let mut found = Vec::new();
    for (name, layer) in dotdirs.iter() {
        let path = dir.join(name);
        let mut carried = |real: PathBuf| found.push(Dotdir { name: name.to_owned(), layer, path: path.clone(), real });
        match disk::look(&path) {
            Ok(None) => {}
            Ok(Some(meta)) => match meta.kind {
                Kind::Dir => carried(path.clone()),
                Kind::Link => match follow(&path) {
                    Ok((real, Kind::Dir)) => carried(real),
                    Ok(_) => diagnostics.push(Diagnostic::new(Code::ConfigIsFile, &path, "is a link to a file, not to a directory")),
                    Err(diagnostic) => diagnostics.push(diagnostic),
                },
                _ => diagnostics.push(Diagnostic::new(Code::ConfigIsFile, &path, "is a file, not a directory")),
            },
            Err(error) => diagnostics.push(Diagnostic::unreadable(&path, &error)),
        }
    }
    found
}

/// Where a link leads and what is there.
///
/// # Errors
/// The diagnostic for a link that leads nowhere, in a circle, or where nobody may look.
pub fn follow(path: &Path) -> Result<(PathBuf, Kind), Diagnostic> {
    let real = real::real(path, true);
    match real.trouble {
        Some(real::Trouble::Loop(_)) => return Err(Diagnostic::new(Code::SymlinkLoop, path, "is a link that leads in a circle")),
        Some(trouble) => return Err(Diagnostic::new(Code::Unreadable, path, &trouble.to_string())),
        None => {}
    }
    match disk::look(&real.path) {
        Ok(Some(meta)) => Ok((real.path, meta.kind)),
        Ok(None) => Err(Diagnostic::new(Code::DanglingLink, path, "is a link that leads nowhere")),
        Err(error) => Err(Diagnostic::unreadable(path, &error)),
    }
}
