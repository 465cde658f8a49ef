//! What the command has left so far: where a file came from, what it has made, what it has changed.

use super::Kind;
use super::picture::{Left, Picture};

/// What of a path is below another one, with its slash; empty where they are the same, none where it is elsewhere.
fn under<'p>(path: &'p str, dir: &str) -> Option<&'p str> {
    path.strip_prefix(dir).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Picture<'_> {
    /// Moves what stands at one path to another, with all that the command has left below; where `keep`, it stays as well.
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
        let time = self.times.get(&src.path).copied();
        let dst = self.at(to, false).path;
        let dir = matches!(src.kind, Some(Kind::Dir));
        let below = if dir { self.below(&src.path) } else { Vec::new() };
        let doubtful: Vec<String> = self.doubtful.iter().filter_map(|path| Some(format!("{dst}{}", under(path, &src.path)?))).collect();
        if dir && src.path != dst {
            for (path, _) in self.below(&dst) {
                self.left.remove(&path);
            }
        }
        if !keep {
            self.untie(&dst);
            self.retie(&src.path, &dst);
            self.leave(&src.path, false, Left::Gone);
        }
        self.leave(&dst, false, what);
        for (path, what) in below {
            self.leave(&format!("{dst}{}", &path[src.path.len()..]), false, what);
        }
        for path in doubtful {
            self.doubt(&path);
        }
        match time {
            // some bring the time along, some do not
            _ if keep => self.touched(&dst, false),
            Some(time) => drop(self.times.insert(dst, time)),
            None => drop(self.times.remove(&dst)),
        }
    }

    /// What the command has left below a directory.
    fn below(&self, dir: &str) -> Vec<(String, Left)> {
        let prefix = format!("{dir}/");
        let all = self.left.range(prefix.clone()..).take_while(|(path, _)| path.starts_with(&prefix));
        all.map(|(path, what)| (path.clone(), what.clone())).collect()
    }

    /// Notes that one file has the content of another; it is read only where somebody asks.
    pub(crate) fn copy_of(&mut self, from: &str, to: &str) {
        let src = self.at(from, true);
        let what = match self.left.get(&src.path) {
            Some(l @ Left::File(_)) => l.clone(),
            _ => self.origin(&src.path).map_or(Left::File(None), |o| Left::From(o.into_owned())),
        };
        self.leave(to, true, what);
        let to = self.at(to, true).path;
        self.touched(&to, true);
    }

    /// The same where the file at the destination is replaced.
    pub(crate) fn copy_over(&mut self, from: &str, to: &str) {
        let src = self.at(from, true).path;
        self.carry(&src, to, true);
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
        at.kind == Some(Kind::File) && !self.left.contains_key(&at.path) && self.origin(&at.path).is_ok_and(|real| real == at.path)
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

    /// Notes that what stands at a path, or below it, may be one file with others elsewhere or lead elsewhere.
    pub(crate) fn doubt(&mut self, path: &str) {
        let path = self.at(path, false).path;
        if !self.doubtful.contains(&path) {
            self.doubtful.push(path);
        }
    }

    /// Whether a path may lead elsewhere, or be one file with others: by what is below a doubtful place, and where the last
    /// name is `follow`ed, by that place as well.
    pub(crate) fn doubted(&self, path: &str, follow: bool) -> bool {
        if self.doubtful.is_empty() {
            return false;
        }
        let at = self.at(path, follow).path;
        self.doubtful.iter().any(|place| under(&at, place).is_some_and(|rest| follow || rest[1.min(rest.len())..].contains('/')))
    }

    /// Notes that two paths are one file.
    pub(crate) fn tie(&mut self, a: &str, b: &str) {
        let names = [self.at(a, false).path, self.at(b, false).path];
        let (mut one, apart): (Vec<Vec<String>>, Vec<Vec<String>>) =
            std::mem::take(&mut self.hard).into_iter().partition(|group| names.iter().any(|name| group.contains(name)));
        one.push(names.to_vec());
        let mut group = one.concat();
        group.sort_unstable();
        group.dedup();
        self.hard = apart;
        self.hard.push(group);
    }

    /// The names at a path and below go away; the file that they had stays under its other ones.
    pub(crate) fn untie(&mut self, path: &str) {
        for group in &mut self.hard {
            group.retain(|name| under(name, path).is_none());
        }
    }

    /// The names at a path and below become others.
    fn retie(&mut self, from: &str, to: &str) {
        for name in self.hard.iter_mut().flatten() {
            if let Some(rest) = under(name, from) {
                *name = format!("{to}{rest}");
            }
        }
    }

    /// The other names of a file that this command has made.
    pub(crate) fn twins(&self, path: &str) -> Vec<String> {
        if self.hard.is_empty() {
            return Vec::new();
        }
        let at = self.at(path, true).path;
        self.hard.iter().filter(|group| group.contains(&at)).flatten().filter(|name| **name != at).cloned().collect()
    }

    /// The other names of the files at a path and below.
    pub(crate) fn twins_below(&self, path: &str) -> Vec<String> {
        if self.hard.is_empty() {
            return Vec::new();
        }
        let at = self.at(path, true).path;
        let here = |group: &&Vec<String>| group.iter().any(|name| under(name, &at).is_some());
        self.hard.iter().filter(here).flatten().filter(|name| under(name, &at).is_none()).cloned().collect()
    }

    /// Whether the command itself has made links that a path may lead through.
    pub(crate) fn has_links(&self) -> bool {
        self.links
    }
}
