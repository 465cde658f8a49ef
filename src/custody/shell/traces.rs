//! What the command has left so far: where a file came from, what it has made, what it has changed.

use super::Kind;
use super::picture::{Left, Picture};

impl Picture<'_> {
    /// Moves what stands at one path to another.
    pub(crate) fn carry(&mut self, from: &str, to: &str, keep: bool) {
        let src = self.at(from, false);
        let what = match self.left.get(&src.path) {
            Some(l @ (Left::File(_) | Left::Link(_) | Left::Dir)) => l.clone(),
            _ => match src.kind {
                Some(Kind::Link) => match self.link(&src.path) {
                    Some((t, _)) => Left::Link(t),
                    None => return,
                },
                Some(_) => match self.origin(&src.path) {
                    Ok(o) => Left::From(o.into_owned()),
                    Err(()) => Left::Dir,
                },
                None => return,
            },
        };
        if !keep {
            self.leave(&src.path, false, Left::Gone);
        }
        self.leave(to, false, what);
    }

    /// Notes that one file has the content of another; it is read only where somebody asks.
    pub(crate) fn copy_of(&mut self, from: &str, to: &str) {
        let src = self.at(from, true);
        let what = match self.left.get(&src.path) {
            Some(l @ Left::File(_)) => l.clone(),
            _ => self.origin(&src.path).map_or(Left::File(None), |o| Left::From(o.into_owned())),
        };
        self.leave(to, true, what);
    }

    /// For a path that leads to or through what the command has put where a link stood: where that stands.
    pub(crate) fn replaced(&self, path: &str, follow: bool) -> Option<String> {
        if self.replaced.is_empty() {
            return None;
        }
        let at = self.at(path, follow).path;
        let made =
            self.replaced.iter().find(|p| at.strip_prefix(p.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))?;
        (!matches!(self.left.get(made), Some(Left::Gone | Left::Link(_)))).then(|| made.clone())
    }

    /// Whether a file stands on the real disk, and the command has not changed it.
    pub(crate) fn untouched(&self, path: &str) -> bool {
        let at = self.at(path, true);
        at.kind == Some(Kind::File)
            && !at.ours
            && !self.left.contains_key(&at.path)
            && self.origin(&at.path).is_ok_and(|real| real == at.path)
    }

    /// Whether the command has put something at a path, links in its parents followed.
    pub(crate) fn made(&self, path: &str) -> bool {
        if self.left.is_empty() {
            return false;
        }
        let at = self.at(path, false).path;
        matches!(self.left.get(&at), Some(Left::File(_) | Left::Link(_) | Left::From(_)))
    }

    /// Where a file stood before the command has copied or moved it.
    pub(crate) fn came_from(&self, path: &str) -> Option<String> {
        match self.left.get(path) {
            Some(Left::From(from)) => Some(from.clone()),
            _ => None,
        }
    }

    /// Whether the command has put something of this name anywhere.
    pub(crate) fn made_named(&self, name: &str) -> bool {
        super::fuel::did(self.left.len());
        self.left.keys().any(|path| path.strip_suffix(name).is_some_and(|dir| dir.ends_with('/')))
    }

    /// Whether the command has changed anything below a directory, apart from one file.
    pub(crate) fn changed_below(&self, dir: &str, apart: Option<&str>) -> bool {
        let prefix = format!("{dir}/");
        self.left
            .range(prefix.clone()..)
            .take_while(|(path, _)| path.starts_with(&prefix))
            .any(|(path, _)| Some(path.as_str()) != apart && !path[prefix.len()..].starts_with(".git/") && &path[prefix.len()..] != ".git")
    }

    /// Notes that what lies below a directory may be one file with others elsewhere.
    pub(crate) fn doubt(&mut self, dir: &str) {
        let dir = self.at(dir, true).path;
        self.doubtful.push(dir);
    }

    /// Whether a file may be one with others elsewhere.
    pub(crate) fn doubted(&self, path: &str) -> bool {
        if self.doubtful.is_empty() {
            return false;
        }
        let at = self.at(path, true).path;
        self.doubtful.iter().any(|dir| at.strip_prefix(dir.as_str()).is_some_and(|rest| rest.starts_with('/')))
    }

    /// Notes that two paths are one file.
    pub(crate) fn tie(&mut self, a: &str, b: &str) {
        let (a, b) = (self.at(a, false).path, self.at(b, false).path);
        self.hard.push((a.clone(), b.clone()));
        self.hard.push((b, a.clone()));
    }

    /// The other names of a file that this command has made.
    pub(crate) fn twins(&self, path: &str) -> Vec<String> {
        if self.hard.is_empty() {
            return Vec::new();
        }
        let at = self.at(path, true).path;
        self.hard.iter().filter(|(a, _)| *a == at).map(|(_, b)| b.clone()).collect()
    }

    /// Whether the command itself has made links that a path may lead through.
    pub(crate) fn has_links(&self) -> bool {
        self.links
    }
}
