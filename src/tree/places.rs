//! The one walk over a tree for places. It gives a flat list; nesting is the reader's business.
//!
//! One thread, directories opened from their parent. Nothing is followed through a link, no dotdir
//! is descended into, and what other programs fill is passed by.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::card::{self, AgentFile, Card, CardError, OwnerFile};
use super::climb;
use super::diagnostic::{Code, Diagnostic};
use super::dotdirs::{self, Dotdirs, IDENTITY};
use super::worktree;
use crate::sys::dirs::{Buffer, OpenDir};
use crate::sys::disk::{self, Kind};

/// How many directories are open at once at most; deeper ones are opened by their path.
const MAX_OPEN: usize = 96;
/// The longest path that is walked to, in bytes: nobody can use a longer one.
const MAX_PATH: usize = 4095;
/// How a file must start for its directory to be a cache.
const CACHE_SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// What a walk passes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prune {
    /// `.git`, `node_modules`, virtual environments, tagged caches, and the inside of dotdirs.
    Foreign,
    /// `.git` only: where a tag dropped above somebody's directory must not hide it.
    Tags,
    /// `.git` only, and copies of places count too: for custody, which judges each path for itself.
    GitOnly,
}

/// A place as the walk finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// The directory, absolute.
    pub path: PathBuf,
    /// The dotdirs it carries, in the order they are read.
    pub dotdirs: Vec<String>,
}

/// What a walk came to.
#[derive(Debug, Default)]
pub struct Walked {
    /// The places, in the order of their paths.
    pub spots: Vec<Spot>,
    /// What could not be read.
    pub diagnostics: Vec<Diagnostic>,
    /// How many directories were read.
    pub dirs: usize,
    /// How many entries they had.
    pub entries: usize,
}

/// Walks a real directory. The root itself is never passed by.
#[must_use]
pub fn walk(root: &Path, dotdirs: &Dotdirs, prune: Prune) -> Walked {
    let names: Vec<(&[u8], &str)> = dotdirs.iter().map(|(name, _)| (name.as_bytes(), name)).collect();
    let mut walk = Walk {
        names,
        prune,
        buffer: Buffer::default(),
        path: root.as_os_str().as_bytes().to_vec(),
        children: Vec::new(),
        links: Vec::new(),
        files: Vec::new(),
        linked: Vec::new(),
        out: Walked::default(),
    };
    walk.run();
    let Walk { linked, mut out, .. } = walk;
    out.spots.sort_by(|a, b| a.path.cmp(&b.path));
    if prune != Prune::GitOnly {
        drop_copies(&mut out.spots, &linked);
    }
    out
}

/// A worktree inside its own checkout repeats the places around it: a copy of a place that was found is none of its own.
fn drop_copies(spots: &mut Vec<Spot>, linked: &[PathBuf]) {
    for copy in linked.iter().filter_map(|top| worktree::at(top)).filter(|linked| linked.top.starts_with(&linked.shared)) {
        let found: Vec<PathBuf> = spots.iter().map(|spot| spot.path.clone()).collect();
        let there = |path: PathBuf| found.binary_search(&path).is_ok();
        spots.retain(|spot| !copy.original(&spot.path).is_some_and(there));
    }
}

/// A directory whose children are still to be walked.
struct Frame {
    /// `None` where too many are open already.
    open: Option<OpenDir>,
    /// The length of its path.
    path: usize,
    /// Where its children's names start in the arena, and where the next one is.
    start: usize,
    next: usize,
    end: usize,
}

struct Walk<'a> {
    names: Vec<(&'a [u8], &'a str)>,
    prune: Prune,
    buffer: Buffer,
    path: Vec<u8>,
    /// The names of directories still to be walked, each with its NUL.
    children: Vec<u8>,
    /// Positions in `names` of dotdirs that are links, in the directory being read.
    links: Vec<usize>,
    /// The same of those that are files.
    files: Vec<usize>,
    /// Directories below the root with a file called `.git`.
    linked: Vec<PathBuf>,
    out: Walked,
}

impl Walk<'_> {
    fn here(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path))
    }

    fn run(&mut self) {
        let mut stack: Vec<Frame> = Vec::new();
        match OpenDir::open(self.here()) {
            Ok(open) => stack.extend(self.read(open, true, true)),
            Err(error) => self.refused(&error),
        }
        while let Some(frame) = stack.last_mut() {
            self.path.truncate(frame.path);
            if frame.next >= frame.end {
                self.children.truncate(frame.start);
                stack.pop();
                continue;
            }
            let rest = self.children.get(frame.next..frame.end).unwrap_or_default();
            let Ok(name) = CStr::from_bytes_until_nul(rest) else {
                frame.next = frame.end;
                continue;
            };
            frame.next += name.to_bytes_with_nul().len();
            if self.path.last() != Some(&b'/') {
                self.path.push(b'/');
            }
            self.path.extend_from_slice(name.to_bytes());
            if self.path.len() > MAX_PATH {
                self.refused(&io::Error::from(io::ErrorKind::InvalidFilename));
                continue;
            }
            let opened = match &frame.open {
                Some(parent) => parent.child(name),
                None => OpenDir::open(Path::new(OsStr::from_bytes(&self.path))),
            };
            let keep = stack.len() < MAX_OPEN;
            match opened {
                Ok(open) => stack.extend(self.read(open, keep, false)),
                Err(error) => self.refused(&error),
            }
        }
    }

    fn refused(&mut self, error: &io::Error) {
        // Gone since it was listed: nothing to say.
        if !disk::is_absent(error) {
            let text = format!("can't be read: {error}; not walked");
            let one = Diagnostic::new(Code::Unreadable, self.here(), &text);
            self.out.diagnostics.push(one);
        }
    }

    /// Reads the directory at `self.path`; its frame, where there is something to walk below it.
    fn read(&mut self, open: OpenDir, keep: bool, root: bool) -> Option<Frame> {
        let Self { names, prune, buffer, children, links, files, .. } = self;
        let start = children.len();
        links.clear();
        files.clear();
        let (mut carried, mut tagged, mut foreign, mut linked, mut entries) = (0_u64, false, false, false, 0);
        let read = open.each(buffer, |name, kind| {
            entries += 1;
            let bytes = name.to_bytes();
            let dotdir = if bytes.first() == Some(&b'.') { names.iter().position(|(one, _)| *one == bytes) } else { None };
            match (kind, dotdir) {
                (Kind::Dir, Some(at)) => {
                    carried |= 1_u64.checked_shl(u32::try_from(at).unwrap_or(u32::MAX)).unwrap_or(0);
                    if *prune != Prune::Foreign {
                        children.extend_from_slice(name.to_bytes_with_nul());
                    }
                }
                (Kind::Dir, None) => {
                    let passed = bytes == b".git" || *prune == Prune::Foreign && matches!(bytes, b"node_modules" | b".venv");
                    if !passed {
                        children.extend_from_slice(name.to_bytes_with_nul());
                    }
                }
                (Kind::Link, Some(at)) => links.push(at),
                (Kind::File | Kind::Other, Some(at)) => files.push(at),
                (Kind::File, _) => {
                    tagged |= bytes == b"CACHEDIR.TAG";
                    foreign |= bytes == b"pyvenv.cfg";
                    linked |= bytes == b".git";
                }
                _ => {}
            }
        });
        self.out.dirs += 1;
        self.out.entries += entries;
        if let Err(error) = read {
            self.refused(&error);
        }
        if self.prune == Prune::Foreign && !root && (foreign || tagged && self.is_cache()) {
            self.children.truncate(start);
            return None;
        }
        if linked && !root {
            self.linked.push(self.here().to_owned());
        }
        if !self.links.is_empty() || !self.files.is_empty() {
            carried |= self.odd_dotdirs();
        }
        if carried != 0 {
            let dotdirs = self.names.iter().enumerate().filter(|(at, _)| carried >> at & 1 == 1).map(|(_, (_, name))| (*name).to_owned());
            let dotdirs = dotdirs.collect();
            self.out.spots.push(Spot { path: self.here().to_owned(), dotdirs });
        }
        let end = self.children.len();
        (end > start).then_some(Frame { open: keep.then_some(open), path: self.path.len(), start, next: start, end })
    }

    /// Dotdirs that are no plain directories: a link to one counts, anything else is said. The bits
    /// of those that count.
    fn odd_dotdirs(&mut self) -> u64 {
        let mut carried = 0;
        for at in std::mem::take(&mut self.links) {
            let Some((_, name)) = self.names.get(at) else { continue };
            let path = self.here().join(name);
            match dotdirs::follow(&path) {
                Ok((_, Kind::Dir)) => carried |= 1_u64.checked_shl(u32::try_from(at).unwrap_or(u32::MAX)).unwrap_or(0),
                Ok(_) => self.out.diagnostics.push(Diagnostic::new(Code::ConfigIsFile, &path, "is a link to a file, not to a directory")),
                Err(diagnostic) => self.out.diagnostics.push(diagnostic),
            }
        }
        for at in std::mem::take(&mut self.files) {
            let Some((_, name)) = self.names.get(at) else { continue };
            let path = self.here().join(name);
            self.out.diagnostics.push(Diagnostic::new(Code::ConfigIsFile, &path, "is a file, not a directory"));
        }
        carried
    }

    fn is_cache(&self) -> bool {
        disk::read_start(&self.here().join("CACHEDIR.TAG"), CACHE_SIGNATURE.len() as u64).is_ok_and(|(start, _)| start == CACHE_SIGNATURE)
    }
}

/// Who owns a place: the nearest owner file, from the place up.
#[derive(Debug, Clone, PartialEq)]
pub struct Owner {
    /// The directory with the owner file.
    pub dir: PathBuf,
    /// What it says; an error still says that somebody owns it.
    pub file: Result<OwnerFile, CardError>,
}

impl Owner {
    /// The owner's id, where the file can be read.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.file.as_ref().ok().map(|file| file.owner.value.as_str())
    }

    /// The file that says so.
    #[must_use]
    pub fn path(&self) -> &Path {
        match &self.file {
            Ok(file) => &file.path,
            Err(error) => &error.path,
        }
    }
}

/// A place with who is there.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The directory, absolute.
    pub path: PathBuf,
    /// The name of the directory.
    pub name: String,
    /// The dotdirs it carries, in the order they are read.
    pub dotdirs: Vec<String>,
    /// Who owns it.
    pub owner: Option<Arc<Owner>>,
    /// Who lives there.
    pub body: Card<AgentFile>,
}

/// The nearest owner file, from a real directory up.
#[must_use]
pub fn owner_of(dir: &Path) -> Option<Owner> {
    climb::up(dir).find_map(owner_at)
}

/// The owner file of one directory.
fn owner_at(dir: &Path) -> Option<Owner> {
    Some(Owner { dir: dir.to_owned(), file: card::owner(dir)? })
}

/// Puts to each spot who is there. The spots are those of a walk from `root`, in its order.
#[must_use]
pub fn describe(root: &Path, spots: Vec<Spot>) -> Vec<Place> {
    // The owners on the way down to the current spot; the first comes from above the root.
    let mut owners: Vec<Arc<Owner>> = climb::above(root).find_map(owner_at).map(Arc::new).into_iter().collect();
    let above = owners.len();
    let mut places = Vec::with_capacity(spots.len());
    for Spot { path, dotdirs } in spots {
        let (own, body) = if dotdirs.iter().any(|name| name == IDENTITY) { card::both(&path) } else { (None, None) };
        while owners.len() > above && owners.last().is_some_and(|owner| !path.starts_with(&owner.dir)) {
            owners.pop();
        }
        owners.extend(own.map(|file| Arc::new(Owner { dir: path.clone(), file })));
        let name = path.file_name().map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned());
        places.push(Place { owner: owners.last().cloned(), path, name, dotdirs, body });
    }
    places
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests build trees themselves")]

    use super::*;
    use std::fs;

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("places-{}-{name}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        fs::canonicalize(dir).unwrap()
    }

    #[test]
    fn what_is_passed_by() {
        let dir = scratch("prune");
        for made in ["a/.loci", "t/x/.loci", "t/.claude", "v/.loci", ".git/x/.loci", "n/node_modules/p/.loci", "b/.claude/w/.loci"] {
            fs::create_dir_all(dir.join(made)).unwrap();
        }
        fs::write(dir.join("t/CACHEDIR.TAG"), [CACHE_SIGNATURE, b"\n# x"].concat()).unwrap();
        fs::write(dir.join("v/pyvenv.cfg"), "").unwrap();
        // Not a tag: nothing but a name.
        fs::write(dir.join("a/CACHEDIR.TAG"), "x").unwrap();
        let found = |prune| -> Vec<String> {
            let spots = walk(&dir, &Dotdirs::default(), prune).spots;
            spots.iter().map(|spot| spot.path.strip_prefix(&dir).unwrap().to_string_lossy().into_owned()).collect()
        };
        assert_eq!(found(Prune::Foreign), ["a", "b"]);
        assert_eq!(found(Prune::GitOnly), ["a", "b", "b/.claude/w", "n/node_modules/p", "t", "t/x", "v"]);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn deeper_than_what_may_be_open() {
        let dir = scratch("deep");
        let deep = (0..400).fold(dir.clone(), |path, _| path.join("d"));
        fs::create_dir_all(deep.join(".loci")).unwrap();
        let walked = walk(&dir, &Dotdirs::default(), Prune::Foreign);
        assert_eq!(walked.spots.len(), 1);
        assert_eq!((walked.spots[0].path.as_path(), walked.dirs), (deep.as_path(), 401));
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn owners_hold_below_them() {
        let dir = scratch("owners");
        for made in ["a/.loci", "a/b/.loci", "a/c/.claude", "d/.loci"] {
            fs::create_dir_all(dir.join(made)).unwrap();
        }
        fs::write(dir.join("a/.loci/owner.md"), "---\nowner: bob\n---\n").unwrap();
        fs::write(dir.join("a/b/.loci/owner.md"), "broken").unwrap();
        fs::write(dir.join("d/.loci/agent.md"), "---\nid: eve\n---\n").unwrap();
        let places = describe(&dir, walk(&dir, &Dotdirs::default(), Prune::Foreign).spots);
        let owners: Vec<Option<Option<&str>>> = places.iter().map(|place| place.owner.as_ref().map(|owner| owner.id())).collect();
        assert_eq!(owners, [Some(Some("bob")), Some(None), Some(Some("bob")), None]);
        assert!(matches!(&places[3].body, Some(Ok(body)) if body.id.value.as_str() == "eve"));
        fs::remove_dir_all(dir).unwrap();
    }
}
