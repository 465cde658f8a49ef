//! Reading a shell command: which paths would it write?
//!
//! The command is not run. It is *followed*: a small interpreter walks our syntax tree with the variables, the directory in
//! force, and a picture of the disk that holds what the command itself would have changed so far (`picture`). Where
//! something can't be known, a marker character stands for it, and where a condition can't be known, both ways are followed
//! (`fork`). Three answers come out: these acts, none, or *can't know* with the reasons. An act whose path is not known is
//! never guessed.
//!
//! | file | what it does |
//! |---|---|
//! | `parse`, `syntax`, `words`, `quotes` | text to our own tree; words taken apart |
//! | `expand`, `globs`, `param`, `trim`, `brace`, `arith`, `numbers`, `pattern` | what a word becomes |
//! | `assign` | variables get their values |
//! | `picture`, `traces`, `times`, `pipes` | the disk as the command sees it, and what the command has left there |
//! | `state`, `engine`, `deeds` | what one shell knows; the one who follows; acts noted |
//! | `flow`, `conditions`, `redirect` | lists, loops, tests, redirections |
//! | `builtin`, `traps`, `place`, `intake`, `settings`, `bracket` | what the shell does itself |
//! | `fuel` | how much work one reading may be |
//! | `runs`, `environs` | which program a name runs; variables that bring options, files and programs to it |
//! | `table`, `options`, `call` | commands that write, as data; their options; those that need more than a row |
//! | `copy`, `files`, `fetch`, `rsync`, `sqlite` | what these do |
//! | `wrap`, `wrappers`, `each`, `shells` | programs that run programs, and those that a row says all of; for each of a list; shells |
//! | `watch`, `compile` | programs that look on or reach for another machine; compilers |
//! | `seek`, `seekexpr` | `find` |
//! | `echo`, `prints`, `search`, `columns` | what well-known programs print |
//! | `git`, `gitwords`, `gitpaths`, `gitask`, `gitfiles`, `gitenv` | git: its words, questions to it, the files that it changes, what it is told beside |
//! | `gitgoto`, `gitmerge`, `gitmail`, `gitaside`, `gitclean`, `gitsays`, `gitruns`, `gitsettings`, `gitedits` | git's sub-commands, and programs that it runs |
//! | `loci` | loci's own verbs |
//! | `archive`, `zips`, `members`, `tar`, `pack`, `gzip`, `patchfile` | archives and packed files; targets of patches |
//! | `inline`, `modules`, `pymodules` | interpreters, and what they load |
//! | `lex`, `strings`, `scan`, `statement`, `operand`, `method`, `narrow` | a program in another language |
//! | `found`, `calls`, `opens`, `gives`, `launches`, `writers`, `reach` | what its calls do |
//! | `awk`, `awktext`, `awkprint`, `sed`, `sedscript`, `make`, `makefile`, `npm`, `edit` | other programs inside of a command |
//! | `regex` | a small matcher for the above |

mod archive;
mod arith;
mod assign;
mod awk;
mod awkprint;
mod awktext;
mod boxed;
mod brace;
mod bracket;
mod builtin;
mod call;
mod calls;
mod columns;
mod compile;
mod conditions;
mod copy;
mod deeds;
mod each;
mod echo;
mod edit;
mod engine;
mod environs;
mod expand;
mod fetch;
mod files;
mod flow;
mod found;
mod fuel;
mod git;
mod gitaside;
mod gitask;
mod gitclean;
mod gitedits;
mod gitenv;
mod gitfiles;
mod gitgoto;
mod gitmail;
mod gitmerge;
pub(super) mod gitout;
mod gitpaths;
mod gitruns;
mod gitsays;
mod gitsettings;
mod gitwords;
mod gives;
mod globs;
mod gzip;
mod inline;
mod intake;
mod launches;
mod lex;
mod loci;
mod make;
mod makefile;
mod marks;
mod members;
mod method;
mod modules;
mod narrow;
mod npm;
mod numbers;
mod opens;
mod operand;
mod options;
mod pack;
mod param;
mod parse;
mod patchfile;
mod pathtext;
mod pattern;
mod picture;
mod pipes;
mod place;
mod prints;
mod pymodules;
mod quotes;
mod reach;
mod redirect;
mod regex;
mod rsync;
mod runs;
mod scan;
mod search;
mod sed;
mod sedscript;
mod seek;
mod seekexpr;
mod settings;
mod shells;
mod sqlite;
mod state;
mod statement;
mod streams;
mod strings;
mod syntax;
mod table;
mod tar;
mod times;
mod traces;
mod traps;
mod trim;
mod watch;
mod words;
mod wrap;
mod wrappers;
mod writers;
mod zips;

use super::act::Act;
pub use crate::sys::disk::Kind;
pub use crate::sys::git::Answer as GitAnswer;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The command as it comes from a harness.
#[derive(Clone, Copy, Debug)]
pub enum Words<'a> {
    /// The text of a script, for `bash -c`.
    Script(&'a str),
    /// A program and its arguments, no shell in between.
    Argv(&'a [String]),
}

/// What is to be read.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The command.
    pub command: Words<'a>,
    /// The directory that it would run in, absolute.
    pub cwd: &'a Path,
    /// Its environment.
    pub env: &'a BTreeMap<String, String>,
    /// The home directory, for `~`.
    pub home: Option<&'a Path>,
}

/// What is known about a path, links not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// What it is.
    pub kind: Kind,
    /// Length in bytes.
    pub len: u64,
    /// Time of last change, nanoseconds since 1970.
    pub mtime: i64,
    /// Permission bits.
    pub mode: u32,
}

/// How a file is packed, beyond gzip, which is read here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packed {
    /// `.xz`
    Xz,
    /// `.bz2`
    Bzip2,
    /// `.zst`
    Zstd,
}

/// The disk, git and the time of day: everything the reader asks of the outside. Every method answers in bounded time.
pub trait World {
    /// `lstat`.
    fn meta(&self, path: &Path) -> Option<Meta>;
    /// The target of a link, as it stands.
    fn read_link(&self, path: &Path) -> Option<PathBuf>;
    /// The names in a directory with their kinds, at most `max`; `None` where it can't be read or has more.
    fn list(&self, dir: &Path, max: usize) -> Option<Vec<(String, Kind)>>;
    /// The content of a regular file; `None` where it can't be read or is longer than `max`.
    fn read(&self, path: &Path, max: usize) -> Option<Vec<u8>>;
    /// Unpacks bytes; `None` where that can't be done.
    fn unpack(&self, bytes: &[u8], how: Packed) -> Option<Vec<u8>>;
    /// Asks git in `dir`. Must run nothing that the repository names and leave nothing behind. `env` holds the `GIT_DIR`
    /// and its like that the command sets.
    fn git(&self, dir: &Path, args: &[&str], env: &[(String, String)]) -> Option<GitAnswer>;
    /// Seconds since 1970.
    fn now(&self) -> i64;
}

/// On what an act rests, for the judge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ground {
    /// A plain act of the command.
    #[default]
    Plain,
    /// git would change this file.
    Git {
        /// The sub-command.
        verb: String,
        /// What to do instead, where there is something.
        way_out: Option<String>,
    },
    /// The file becomes a copy of this one, as it is.
    Copied {
        /// The other one.
        from: PathBuf,
    },
    /// A fast-forward to the tracked upstream brings this file, and loses no uncommitted change to it: others' work arriving.
    Arriving,
    /// git would change this file in a linked worktree that is on a branch of its own.
    OwnWorktree {
        /// The branch.
        branch: String,
    },
}

/// An act, and on what it rests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The act.
    pub act: Act,
    /// On what it rests.
    pub ground: Ground,
    /// The program or operator that does it.
    pub by: String,
}

/// Something that can't be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Why.
    pub why: String,
    /// The word it is about.
    pub word: String,
}

/// What reading a command found.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// What it would do; reads are not listed.
    pub acts: Vec<Found>,
    /// What can't be known; empty means that `acts` is all.
    pub unknown: Vec<Unknown>,
    /// The directory in force afterwards, where that is known.
    pub cwd_after: Option<PathBuf>,
    /// Uncommitted changes that a `git add -A` or `git commit -a` would take in.
    pub staged: Vec<PathBuf>,
    /// What to do instead, where nothing is refused by path (an unfetched `git pull`).
    pub way_out: Option<String>,
    /// How much of the work budget was used, in the units of [`BUDGET`].
    pub spent: u64,
}

/// The work that one reading may be; a unit is about ten nanoseconds of a release build. When it is used up the answer is
/// can't-know, with the acts found until then.
pub const BUDGET: u64 = fuel::BUDGET;

/// Follows a command.
pub fn read(input: &Input<'_>, world: &dyn World) -> Reading {
    engine::follow(input, world)
}
