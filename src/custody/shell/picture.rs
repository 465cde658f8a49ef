//! The disk as the command sees it: the real one, under what the command itself has changed so far.

pub(crate) use super::pathtext::{join, split, tidy};
use super::{Kind, Meta, World, fuel};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;

/// What a question to the disk costs, in units of work.
const QUESTION: usize = 150;
/// Longest file whose content is looked at, in bytes.
pub(crate) const MAX_FILE: usize = 256 * 1024;
/// Most names of one directory.
pub(crate) const MAX_LIST: usize = 4096;
/// Most paths that the command has left something at.
const MAX_LEFT: usize = 8192;

/// Nanoseconds of a second.
pub(super) const NANOS: i64 = 1_000_000_000;

/// What the command has left at a path.
#[derive(Clone, Debug)]
pub(crate) enum Left {
    /// Nothing any more.
    Gone,
    /// A new directory.
    Dir,
    /// A file; its content where that is known.
    File(Option<Rc<str>>),
    /// A symbolic link.
    Link(String),
    /// What stood at another place before, and everything below it.
    From(String),
}

/// A path that has been followed through links and `..`.
#[derive(Clone, Debug)]
pub(crate) struct At {
    /// The path without links and `..`.
    pub(crate) path: String,
    /// What stands there.
    pub(crate) kind: Option<Kind>,
    /// The way there used something that only this command makes, so nobody else can follow it.
    pub(crate) ours: bool,
}

/// The names in a directory; `None` where it can't be read.
type Names = Option<Rc<Vec<(String, Kind)>>>;

/// Answers of the real disk, kept for one command over all its ways.
#[derive(Default)]
pub(crate) struct Memory {
    meta: RefCell<HashMap<String, Option<Meta>>>,
    lists: RefCell<HashMap<String, Names>>,
    pub(super) files: RefCell<HashMap<String, Option<Rc<[u8]>>>>,
}

/// The disk with the command's own changes on top.
pub(crate) struct Picture<'a> {
    world: &'a dyn World,
    memory: &'a Memory,
    pub(super) left: BTreeMap<String, Left>,
    /// Names of one file that the command has made: a write to one of them writes them all.
    pub(super) hard: Vec<Vec<String>>,
    pub(super) links: bool,
    /// Directories whose path holds no link, as the picture is now.
    plain: RefCell<HashSet<String>>,
    /// Where a link stands on the real disk, and the command has put something else.
    pub(super) replaced: Vec<String>,
    /// Where the command has put what may lead elsewhere, or may be one file with others: these paths and all below.
    pub(super) doubtful: Vec<String>,
    /// When the command has last changed files, by the order in which it does; none where it may be any time.
    pub(super) times: HashMap<String, Option<i64>>,
    /// How many changes have got a time.
    pub(super) turns: i64,
    /// The command has left more than is kept.
    pub(super) overfull: bool,
}

impl<'a> Picture<'a> {
    pub(crate) fn new(world: &'a dyn World, memory: &'a Memory) -> Self {
        Self {
            world,
            memory,
            left: BTreeMap::new(),
            hard: Vec::new(),
            links: false,
            plain: RefCell::default(),
            replaced: Vec::new(),
            doubtful: Vec::new(),
            times: HashMap::new(),
            turns: 0,
            overfull: false,
        }
    }

    pub(crate) fn world(&self) -> &'a dyn World {
        self.world
    }

    /// Where a path really stands after the command's own moves, for a path without links.
    pub(super) fn origin<'p>(&self, path: &'p str) -> Result<Cow<'p, str>, ()> {
        if self.left.is_empty() {
            return Ok(path.into());
        }
        let mut here = path;
        loop {
            match self.left.get(here) {
                Some(Left::Gone) => return Err(()),
                Some(Left::Dir) if here.len() < path.len() => return Err(()),
                Some(Left::From(src)) => return Ok(format!("{src}{}", &path[here.len()..]).into()),
                _ => {}
            }
            match here.rfind('/') {
                Some(0) | None => return Ok(path.into()),
                Some(i) => here = &here[..i],
            }
        }
    }

    /// `lstat` of a path whose parents hold no links.
    pub(crate) fn meta(&self, path: &str) -> Option<Meta> {
        let made = |kind| Meta { kind, len: 0, mtime: self.world.now().saturating_mul(NANOS), mode: 0o755 };
        match self.left.get(path) {
            Some(Left::Gone) => return None,
            Some(Left::Dir) => return Some(made(Kind::Dir)),
            Some(Left::File(c)) => {
                return Some(Meta { len: c.as_ref().map_or(1, |c| c.len() as u64), ..made(Kind::File) });
            }
            Some(Left::Link(_)) => return Some(made(Kind::Link)),
            Some(Left::From(_)) | None => {}
        }
        let real = self.origin(path).ok()?;
        if real.contains(super::engine::UNK) {
            return None;
        }
        if let Some(m) = self.memory.meta.borrow().get(&*real) {
            return *m;
        }
        if !fuel::spend(QUESTION) {
            return None;
        }
        let m = self.world.meta(Path::new(&*real));
        self.memory.meta.borrow_mut().insert(real.into_owned(), m);
        m
    }

    /// What stands at a path whose parents hold no links. A list of the directory that is at hand spares the question.
    fn kind(&self, path: &str) -> Option<Kind> {
        match self.left.get(path) {
            Some(Left::Gone) => return None,
            Some(Left::Dir) => return Some(Kind::Dir),
            Some(Left::File(_)) => return Some(Kind::File),
            Some(Left::Link(_)) => return Some(Kind::Link),
            Some(Left::From(_)) | None => {}
        }
        let real = self.origin(path).ok()?;
        if let Some(i) = real.rfind('/') {
            let dir = if i == 0 { "/" } else { &real[..i] };
            if let Some(Some(l)) = self.memory.lists.borrow().get(dir) {
                let name = &real[i + 1..];
                return l.binary_search_by(|(n, _)| n.as_str().cmp(name)).ok().map(|k| l[k].1);
            }
        }
        self.meta(path).map(|m| m.kind)
    }

    pub(super) fn link(&self, path: &str) -> Option<(String, bool)> {
        if let Some(Left::Link(t)) = self.left.get(path) {
            return Some((t.clone(), true));
        }
        let real = self.origin(path).ok()?;
        if !fuel::spend(QUESTION) {
            return None;
        }
        let target = self.world.read_link(Path::new(&*real))?;
        Some((target.to_str()?.to_owned(), real != path))
    }

    /// Follows an absolute path through links and `..`; the last link only where `follow`.
    pub(crate) fn at(&self, path: &str, follow: bool) -> At {
        // a slash at the end follows the last link
        let follow = follow || path.ends_with('/');
        // the way begins behind the longest part that is known to be plain
        let known = {
            let plain = self.plain.borrow();
            path.rmatch_indices('/').map(|(i, _)| i).find(|i| plain.contains(&path[..*i])).unwrap_or(0)
        };
        let mut out = path[..known].to_owned();
        let mut todo: Vec<Cow<'_, str>> = path[known..].split('/').rev().filter(|p| !p.is_empty()).map(Cow::Borrowed).collect();
        let mut hops = 0;
        let mut ours = false;
        let mut kind = Some(Kind::Dir);
        while let Some(part) = todo.pop() {
            match &*part {
                "." => continue,
                ".." => {
                    out.truncate(out.rfind('/').unwrap_or(0));
                    kind = Some(Kind::Dir);
                    continue;
                }
                _ => {}
            }
            let before = out.len();
            out.push('/');
            out.push_str(&part);
            kind = self.kind(&out);
            if kind == Some(Kind::Dir) && !self.plain.borrow().contains(&out) {
                self.plain.borrow_mut().insert(out.clone());
            }
            if kind == Some(Kind::Link) && (follow || !todo.is_empty()) {
                hops += 1;
                if hops > 40 {
                    return At { path: out, kind: None, ours };
                }
                if let Some((target, mine)) = self.link(&out) {
                    ours |= mine;
                    if target.starts_with('/') {
                        out.clear();
                    } else {
                        out.truncate(before);
                    }
                    todo.extend(target.split('/').rev().filter(|p| !p.is_empty()).map(|p| Cow::Owned(p.to_owned())));
                    kind = Some(Kind::Dir);
                }
            }
        }
        if out.is_empty() {
            out.push('/');
        }
        At { path: out, kind, ours: ours && self.links }
    }

    /// What stands at an absolute path, links followed.
    pub(crate) fn what(&self, path: &str) -> Option<Kind> {
        self.at(path, true).kind
    }

    /// Whether a directory stands at an absolute path, links followed.
    pub(crate) fn is_dir(&self, path: &str) -> bool {
        self.what(path) == Some(Kind::Dir)
    }

    /// The names in a directory, sorted.
    pub(crate) fn list(&self, path: &str) -> Option<Rc<Vec<(String, Kind)>>> {
        let at = self.at(path, true);
        if at.kind != Some(Kind::Dir) {
            return None;
        }
        let real = self.origin(&at.path).ok();
        let fresh = matches!(self.left.get(&at.path), Some(Left::Dir));
        let base = match real {
            Some(r) if !fresh => {
                let kept = self.memory.lists.borrow().get(&*r).cloned();
                match kept {
                    Some(l) => l,
                    None if !fuel::spend(4 * QUESTION) => None,
                    None => {
                        let l = self.world.list(Path::new(&*r), MAX_LIST).map(|mut l| {
                            fuel::did(l.len() * 8);
                            l.sort_by(|a, b| a.0.cmp(&b.0));
                            Rc::new(l)
                        });
                        self.memory.lists.borrow_mut().insert(r.into_owned(), l.clone());
                        l
                    }
                }
            }
            _ => None,
        };
        if self.left.is_empty() {
            return base;
        }
        let mut map: BTreeMap<String, Kind> = base.iter().flat_map(|b| b.iter().cloned()).collect();
        let prefix = if at.path == "/" { "/".to_owned() } else { format!("{}/", at.path) };
        for (p, l) in self.left.range(prefix.clone()..).take_while(|(p, _)| p.starts_with(&prefix)) {
            let name = &p[prefix.len()..];
            if name.contains('/') {
                continue;
            }
            match l {
                Left::Gone => {
                    map.remove(name);
                }
                _ => {
                    if let Some(k) = self.kind(p) {
                        map.insert(name.to_owned(), k);
                    }
                }
            }
        }
        Some(Rc::new(map.into_iter().collect()))
    }

    /// The bytes of a file, links followed.
    pub(crate) fn bytes(&self, path: &str, max: usize) -> Option<Vec<u8>> {
        let at = self.at(path, true);
        if at.kind != Some(Kind::File) {
            return None;
        }
        if let Some(Left::File(c)) = self.left.get(&at.path) {
            return c.as_ref().map(|c| c.as_bytes().to_vec());
        }
        let real = self.origin(&at.path).ok()?;
        if let Some(b) = self.memory.files.borrow().get(&*real) {
            return b.as_ref().map(|b| b.to_vec());
        }
        if !fuel::spend(2 * QUESTION) {
            return None;
        }
        let b = self.world.read(Path::new(&*real), max);
        fuel::did(b.as_ref().map_or(0, |b| b.len() / 8));
        // a second way through the command asks again
        if b.as_ref().is_none_or(|b| b.len() < 16_384) && max >= MAX_FILE {
            self.memory.files.borrow_mut().insert(real.into_owned(), b.as_deref().map(Rc::from));
        }
        b
    }

    /// The text of a file, links followed.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let b = self.bytes(path, MAX_FILE)?;
        if b.contains(&0) {
            return None;
        }
        Some(String::from_utf8_lossy(&b).into_owned())
    }

    /// Directories are looked at anew.
    pub(super) fn forget_plain(&self) {
        self.plain.borrow_mut().clear();
    }

    /// Notes what the command leaves at a path (links in its parents are followed).
    pub(crate) fn leave(&mut self, path: &str, follow: bool, what: Left) {
        if self.left.len() > MAX_LEFT {
            self.overfull = true;
            return;
        }
        let at = self.at(path, follow);
        self.links |= matches!(what, Left::Link(_)) || matches!(&what, Left::From(src) if self.kind(src) == Some(Kind::Dir));
        if let Left::Gone = what {
            let prefix = format!("{}/", at.path);
            let below: Vec<String> =
                self.left.range(prefix.clone()..).take_while(|(p, _)| p.starts_with(&prefix)).map(|(p, _)| p.clone()).collect();
            for p in below {
                self.left.remove(&p);
            }
            self.untie(&at.path);
        }
        let was_link = match self.left.get(&at.path) {
            Some(Left::Gone) => {
                self.memory.meta.borrow().get(&at.path).is_none_or(|m| m.is_some_and(|m| m.kind == Kind::Link))
                    && self.world.read_link(Path::new(&at.path)).is_some()
            }
            None => at.kind == Some(Kind::Link) && self.origin(&at.path).is_ok_and(|real| real == at.path),
            Some(_) => false,
        };
        if matches!(what, Left::Dir | Left::File(_) | Left::From(_)) && was_link {
            self.replaced.push(at.path.clone());
        }
        self.plain.borrow_mut().retain(|dir| !dir.strip_prefix(&at.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
        match what {
            // its time is the one of what it was before
            Left::From(_) | Left::Gone => self.times.remove(&at.path),
            _ => {
                let now = self.next_time();
                self.times.insert(at.path.clone(), now)
            }
        };
        self.left.insert(at.path, what);
    }
}
