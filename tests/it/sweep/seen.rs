//! What is looked at in a world: what counts of it, what it was, what lies between.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::sandbox::Sandbox;
use crate::waiting::until;

/// Content of a world by path, what differs from run to run (times, ids, process numbers) made equal.
pub(super) type Tree = BTreeMap<String, String>;

/// Replaces numbers, and keys, by `#`.
pub(super) fn same(text: &str) -> String {
    masked(text, |rest, hex, digits| {
        if is_uuid(rest) {
            36
        } else if hex >= 6 {
            hex
        } else {
            digits
        }
    })
}

/// Replaces by `#` what differs from run to run. `length` says how much of the rest of the text that is, from how many hex
/// digits and how many digits it begins with.
pub(crate) fn masked(text: &str, length: impl Fn(&str, usize, usize) -> usize) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let hex = rest.bytes().take_while(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte)).count();
        let skip = length(rest, hex, rest.bytes().take_while(u8::is_ascii_digit).count());
        if skip > 0 {
            out.push('#');
            rest = &rest[skip..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

fn is_uuid(text: &str) -> bool {
    let fits = |(at, byte): (usize, u8)| if matches!(at, 8 | 13 | 18 | 23) { byte == b'-' } else { byte.is_ascii_hexdigit() };
    text.len() >= 36 && text.bytes().take(36).enumerate().all(fits)
}

/// Names that loci uses for what is under way.
pub(super) fn is_leftover(path: &str) -> bool {
    [".loci-tmp-", ".loci-new-", ".loci-old-", ".loci-swap-"].iter().any(|start| path.contains(start)) || path.contains("inbox/tmp/")
}

/// What goes by itself: sessions are swept when the next one begins, a run's folder goes with the run, copies of hooks when
/// there are many, and what was captured is kept until somebody has it.
pub(super) fn is_transient(path: &str) -> bool {
    ["state/loci/sessions/.loci-tmp-", "state/loci/hook-copies/", "state/loci/captures/"].iter().any(|one| path.starts_with(one))
        || path.starts_with("state/loci/clock/") && path.contains("/runs/")
}

/// Whether a name is that of a capture under way, `PID.START`; what somebody was told to look at has another one.
pub(super) fn is_under_way(name: &str) -> bool {
    name.split_once('.').is_some_and(|(pid, start)| pid.parse::<u32>().is_ok() && start.parse::<u64>().is_ok())
}

/// What a machine keeps for itself, and no reader takes for anything: locks, and folders that are made on the way.
fn counts(path: &str, what: &str) -> bool {
    let own = path.starts_with("state/") || path.contains(".loci/memory");
    let mine = ["", "ops", "now", "state"].contains(&path) || path.ends_with(".lock") || path.contains("/locks/");
    !(mine || is_leftover(path) || is_transient(path) || is_journal(path) || own && what.starts_with("dir"))
}

fn is_journal(path: &str) -> bool {
    path.starts_with("state/loci/journal/") || path.starts_with("state/loci/scopes/")
}

/// What of a world counts, but logs.
pub(super) fn tree(world: &Sandbox, below: &str) -> Tree {
    let all = world.snapshot("").into_iter().map(|(path, what)| (same(&path.to_string_lossy()), same(&what)));
    all.filter(|(path, what)| counts(path, what) && path.starts_with(below) && !path.ends_with(".jsonl")).collect()
}

/// The lines of all logs. What is tried twice may be said twice.
pub(super) fn lines(world: &Sandbox) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (path, what) in world.snapshot("") {
        if path.extension().is_some_and(|end| end == "jsonl") && !path.ends_with("ops") {
            found.extend(content(&what).lines().map(|line| format!("{}: {line}", path.display())));
        }
    }
    found
}

/// The part that people and agents read: all but the state of this machine and the memory of agents.
pub(super) fn part(tree: &Tree) -> Tree {
    let mine = |path: &str| !path.starts_with("state/") && !path.contains(".loci/memory");
    tree.iter().filter(|(path, _)| mine(path)).map(|(path, what)| (path.clone(), what.clone())).collect()
}

/// Without folders that were made on the way to the new tree and hold nothing yet.
pub(super) fn without_empty(tree: Tree, old: &Tree, new: &Tree) -> Tree {
    let holds = |dir: &str| tree.iter().any(|(path, what)| !what.starts_with("dir") && path.starts_with(&format!("{dir}/")));
    let way = |path: &String, what: &String| what.starts_with("dir") && !old.contains_key(path) && new.contains_key(path) && !holds(path);
    tree.iter().filter(|(path, what)| !way(path, what)).map(|(path, what)| (path.clone(), what.clone())).collect()
}

/// Changes that are open: what lies between old and new is known to the next command.
pub(super) fn open(world: &Sandbox) -> Vec<PathBuf> {
    let files = ["state/loci/journal", "state/loci/scopes"].into_iter().flat_map(|dir| walkdir::WalkDir::new(world.path(dir)));
    let files = files.flatten().map(walkdir::DirEntry::into_path);
    files.filter(|path| path.extension().is_some_and(|end| end == "json") && !is_leftover(&path.to_string_lossy())).collect()
}

/// A world to go back to.
pub(super) struct Saved(Vec<(PathBuf, Piece)>);

enum Piece {
    Dir(u32),
    File(u32, Vec<u8>),
    Link(PathBuf),
}

impl Saved {
    pub(super) fn of(world: &Sandbox) -> Self {
        let entries = walkdir::WalkDir::new(world.path("")).min_depth(1).into_iter().map(Result::unwrap);
        Self(
            entries
                .map(|entry| {
                    let mode = entry.metadata().unwrap().permissions().mode();
                    let piece = if entry.path_is_symlink() {
                        Piece::Link(fs::read_link(entry.path()).unwrap())
                    } else if entry.file_type().is_dir() {
                        Piece::Dir(mode)
                    } else {
                        Piece::File(mode, fs::read(entry.path()).unwrap())
                    };
                    (entry.into_path(), piece)
                })
                .collect(),
        )
    }

    pub(super) fn restore(&self, world: &Sandbox) {
        for entry in fs::read_dir(world.path("")).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                fs::remove_dir_all(entry.path()).unwrap();
            } else {
                fs::remove_file(entry.path()).unwrap();
            }
        }
        for (path, piece) in &self.0 {
            match piece {
                Piece::Dir(mode) => {
                    fs::create_dir(path).unwrap();
                    fs::set_permissions(path, fs::Permissions::from_mode(*mode)).unwrap();
                }
                Piece::File(mode, data) => {
                    fs::write(path, data).unwrap();
                    fs::set_permissions(path, fs::Permissions::from_mode(*mode)).unwrap();
                }
                Piece::Link(target) => std::os::unix::fs::symlink(target, path).unwrap(),
            }
        }
    }
}

/// Waits until nothing runs in a world.
pub(super) fn quiet(world: &Sandbox) {
    let dir = world.path("");
    let inside = |entry: fs::DirEntry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&dir));
    until("the end of what runs there", || (!fs::read_dir("/proc").unwrap().flatten().any(inside)).then_some(()));
}

/// What is neither as it was nor as it will be, each path by itself.
pub(super) fn strays(old: &Tree, new: &Tree, now: &Tree) -> Vec<String> {
    let paths: BTreeSet<&String> = old.keys().chain(new.keys()).chain(now.keys()).collect();
    let is_other = |path: &&String| ![old.get(*path), new.get(*path)].contains(&now.get(*path));
    paths.into_iter().filter(is_other).map(|path| format!("{path}: {:?}", now.get(path))).collect()
}

/// A file without its mode.
pub(super) fn content(what: &str) -> &str {
    what.splitn(3, ' ').nth(2).unwrap_or_default()
}

pub(super) fn differences(wanted: &Tree, got: &Tree) -> String {
    let mut text = String::new();
    for path in wanted.keys().chain(got.keys()).collect::<BTreeSet<_>>() {
        let short = |what: Option<&String>| what.map_or("-".to_owned(), |what| what.chars().take(300).collect());
        if wanted.get(path) != got.get(path) {
            let _ = write!(text, "\n        {path}: {:?} where {:?}", short(got.get(path)), short(wanted.get(path)));
        }
    }
    text
}

/// Whether words name a path. Names of what is built aside differ from run to run: there something in the folder that it
/// stands in will do, since people know the file by the name that it gets.
pub(super) fn names(text: &str, path: &Path, cwd: &Path) -> bool {
    let text = same(text);
    let said = |path: &Path, end: &str| {
        let from_here = path.strip_prefix(cwd).ok().filter(|rest| !rest.as_os_str().is_empty());
        [Some(path), from_here].into_iter().flatten().any(|path| {
            let wanted = format!("{}{end}", same(&path.to_string_lossy()));
            let whole =
                |at: usize| end == "/" || !text[at + wanted.len()..].starts_with(|c: char| c.is_alphanumeric() || "-_#".contains(c));
            text.match_indices(&wanted).any(|(at, _)| whole(at))
        })
    };
    let aside = path.iter().position(|part| is_leftover(&part.to_string_lossy()));
    let aside = aside.map(|at| path.iter().take(at).collect::<PathBuf>());
    let folder = path.parent().filter(|_| is_leftover(&path.to_string_lossy()));
    said(path, "") || [folder, aside.as_deref()].into_iter().flatten().any(|folder| said(folder, "/"))
}
