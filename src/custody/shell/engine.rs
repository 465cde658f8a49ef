//! The one who follows: what is kept while a command is read, how acts are noted, and how both ways of an open question are
//! taken.

use super::super::act::{Act, ActKind};
use super::picture::{self, Left, Memory, Picture};
use super::syntax::Cmd;
use super::{Found, GitAnswer, Ground, Input, Kind, Reading, Unknown, Words, World, fuel, parse};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;

/// Stands for text that is not known, wherever text may stand.
pub(crate) const UNK: char = '\u{10FFFD}';
/// Stands in front of the name of a file whose content is no text, in a stream.
pub(crate) const BYTES: char = '\u{10FFFB}';
/// Stands in front of the names of an archive's members, one a line, in a stream.
pub(crate) const MEMBERS: char = '\u{10FFFA}';
/// Stands behind the name of a member, in front of the file that it is a copy of.
pub(crate) const SOURCE: char = '\u{10FFF9}';
/// What an unknown name is called in the path of an act.
const UNKNOWN_NAME: &str = "\u{FFFD}";

/// Most commands that are followed, over all ways.
const MAX_STEPS: u32 = 4_000;
/// Most ways that are taken through open questions.
const MAX_WAYS: usize = 48;
/// Most reasons that are noted.
const MAX_UNKNOWN: usize = 64;
/// The reason where the budget is used up.
const TOO_LONG: &str = "too long to follow";
/// Most acts that are noted.
const MAX_ACTS: usize = 4_096;
/// Longest text of a variable, a stream or a word.
pub(crate) const MAX_TEXT: usize = 128 * 1024;
/// Deepest nesting of scripts in scripts and calls in calls.
pub(crate) const MAX_DEPTH: u32 = 24;

/// What a command leaves the script with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Go on.
    Next,
    /// Leave loops.
    Break(u32),
    /// Next turn of a loop.
    Continue(u32),
    /// Leave the function.
    Return,
    /// Leave the shell.
    Exit,
}

/// The value of a variable.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// Text.
    Text(String),
    /// An indexed array.
    List(BTreeMap<i64, String>),
    /// An associative array.
    Map(Vec<(String, String)>),
    /// `unset`: hides what the environment has.
    Unset,
    /// `declare -n`
    Ref(String),
}

/// A variable.
#[derive(Clone, Debug)]
pub(crate) struct Var {
    /// Its value.
    pub(crate) value: Value,
    /// Programs get it too.
    pub(crate) exported: bool,
    /// `declare -i`, `-u`, `-l`
    pub(crate) shape: char,
}

/// Where a file descriptor leads.
#[derive(Clone, Debug)]
pub(crate) enum Fd {
    /// Where the shell's own leads: nothing comes in, nobody reads what goes out.
    Term,
    /// `/dev/null` or closed.
    Null,
    /// A text that is collected.
    Buf(usize),
    /// A text that is read.
    In(usize),
    /// A file or directory, by absolute path, that was opened to read: who opens the descriptor's own name gets it anew.
    Read(String, usize),
    /// A file, by absolute path.
    File(String),
    /// A file that is there, opened to read and write: nothing is written until somebody writes.
    Both(String, usize),
}

/// Switches of the shell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Opts {
    pub(crate) errexit: bool,
    pub(crate) noglob: bool,
    pub(crate) nullglob: bool,
    pub(crate) failglob: bool,
    pub(crate) dotglob: bool,
    pub(crate) globstar: bool,
    pub(crate) nocaseglob: bool,
    pub(crate) nocasematch: bool,
    pub(crate) lastpipe: bool,
    pub(crate) noexec: bool,
    pub(crate) aliases: bool,
    pub(crate) noclobber: bool,
    pub(crate) allexport: bool,
    pub(crate) nounset: bool,
    pub(crate) physical: bool,
    pub(crate) xtrace: bool,
    /// A plain `sh`: a failed special builtin or an alias behaves differently, braces are plain.
    pub(crate) posix: bool,
}

impl Opts {
    /// The option behind a letter of `set`, which a shell takes as an argument too.
    pub(crate) fn letter(&mut self, letter: char) -> Option<&mut bool> {
        self.named(match letter {
            'e' => "errexit",
            'f' => "noglob",
            'u' => "nounset",
            'n' => "noexec",
            'C' => "noclobber",
            'a' => "allexport",
            'P' => "physical",
            'x' => "xtrace",
            _ => return None,
        })
    }

    /// The option behind a name of `set -o`.
    pub(crate) fn named(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "errexit" => &mut self.errexit,
            "noglob" => &mut self.noglob,
            "nounset" => &mut self.nounset,
            "noexec" => &mut self.noexec,
            "noclobber" => &mut self.noclobber,
            "allexport" => &mut self.allexport,
            "physical" => &mut self.physical,
            "xtrace" => &mut self.xtrace,
            _ => return None,
        })
    }

    /// The option behind a name of `shopt`.
    pub(crate) fn shopted(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "nullglob" => &mut self.nullglob,
            "failglob" => &mut self.failglob,
            "dotglob" => &mut self.dotglob,
            "globstar" => &mut self.globstar,
            "nocaseglob" => &mut self.nocaseglob,
            "nocasematch" => &mut self.nocasematch,
            "lastpipe" => &mut self.lastpipe,
            "expand_aliases" => &mut self.aliases,
            _ => return None,
        })
    }
}

/// The state of one shell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shell {
    pub(crate) vars: HashMap<String, Var>,
    pub(crate) no_env: bool,
    pub(crate) funcs: HashMap<String, Rc<Cmd>>,
    pub(crate) aliases: HashMap<String, String>,
    pub(crate) new_aliases: Vec<(String, String)>,
    /// Logical; holds the marker where it is not known.
    pub(crate) cwd: String,
    pub(crate) oldpwd: Option<String>,
    pub(crate) dirs: Vec<String>,
    pub(crate) args: Vec<String>,
    pub(crate) arg0: String,
    pub(crate) fds: Vec<(i32, Fd)>,
    pub(crate) traps: Vec<(String, String)>,
    pub(crate) opts: Opts,
    /// `$?`; `None` where it is not known.
    pub(crate) status: Option<i32>,
    /// In a condition: `set -e` is off.
    pub(crate) tested: u32,
    /// Variables to put back when the function ends.
    pub(crate) locals: Vec<Vec<(String, Option<Var>)>>,
    /// Somebody said `kill`.
    pub(crate) killed: bool,
    /// How many loops are around.
    pub(crate) loops: u32,
    /// How many sourced scripts are around.
    pub(crate) sourced: u32,
    /// Functions that shells started from here have too.
    pub(crate) shared: HashSet<String>,
    /// Programs that `hash -p` has given a name.
    pub(crate) hashed: Vec<(String, String)>,
    pub(crate) getopts: usize,
}

/// Answers to open questions: the ones given by plan, and the ones made up on the way.
#[derive(Default)]
struct Fork {
    plan: Vec<bool>,
    taken: Vec<(bool, bool)>,
}

/// A text that is read bit by bit.
#[derive(Debug)]
pub(crate) struct Stream {
    /// All of it.
    pub(crate) text: Rc<str>,
    /// How far it has been read.
    pub(crate) pos: usize,
}

/// The one who follows.
pub(crate) struct Engine<'a> {
    pub(crate) input: &'a Input<'a>,
    pub(crate) fs: Picture<'a>,
    pub(crate) out: Reading,
    seen: HashSet<(ActKind, bool, bool, String)>,
    pub(crate) bufs: Vec<String>,
    pub(crate) ins: Vec<Stream>,
    fork: Fork,
    steps: u32,
    pub(crate) depth: u32,
    scripts: HashMap<String, Rc<Result<Cmd, String>>>,
    pub(crate) asked: HashMap<String, Option<Rc<GitAnswer>>>,
    /// Files that were followed as scripts, so that none follows itself forever.
    pub(crate) by: String,
    pub(crate) ground: Ground,
    /// Names that this command itself gives to commits.
    pub(crate) refs: HashMap<String, String>,
    /// Settings of git that this command itself makes.
    pub(crate) git_config: Vec<(String, String)>,
    /// Whether a git command of this line has changed what git goes by.
    pub(crate) git_moved: bool,
    /// Process substitutions that wait for their input: script, buffer, shell.
    pub(crate) waiting: Vec<(String, usize, Shell)>,
}

/// Follows a command in all its ways.
pub(crate) fn follow(input: &Input<'_>, world: &dyn World) -> Reading {
    fuel::start();
    let memory = Memory::default();
    let mut e = Engine {
        input,
        fs: Picture::new(world, &memory),
        out: Reading::default(),
        seen: HashSet::new(),
        bufs: Vec::new(),
        ins: Vec::new(),
        fork: Fork::default(),
        steps: 0,
        depth: 0,
        scripts: HashMap::new(),
        asked: HashMap::new(),
        by: String::new(),
        ground: Ground::Plain,
        refs: HashMap::new(),
        git_config: Vec::new(),
        git_moved: false,
        waiting: Vec::new(),
    };
    let mut plans: std::collections::VecDeque<Vec<bool>> = std::collections::VecDeque::from([Vec::new()]);
    let mut ways = 0;
    while let Some(plan) = plans.pop_front() {
        if ways == MAX_WAYS || e.steps > MAX_STEPS || fuel::empty() {
            e.unknown("too many ways through this command", "");
            break;
        }
        ways += 1;
        let given = plan.len();
        e.fork = Fork { plan, taken: Vec::new() };
        e.fs = Picture::new(world, &memory);
        e.bufs.clear();
        e.ins.clear();
        e.waiting.clear();
        e.refs.clear();
        e.git_config.clear();
        e.git_moved = false;
        e.depth = 0;
        let mut sh = e.first_shell();
        match input.command {
            Words::Script(text) => {
                let text = text.replace(UNK, "?");
                e.script(&mut sh, &text);
            }
            Words::Argv(argv) => {
                let argv: Vec<String> = argv.iter().map(|a| a.replace(UNK, "?")).collect();
                e.call(&mut sh, argv, false);
            }
        }
        e.end(&mut sh);
        if ways == 1 {
            e.out.cwd_after = (!sh.cwd.contains(UNK)).then(|| PathBuf::from(&sh.cwd));
        } else if e.out.cwd_after.as_ref().is_some_and(|c| c.as_os_str() != sh.cwd.as_str()) {
            e.out.cwd_after = None;
        }
        let taken = std::mem::take(&mut e.fork.taken);
        for (i, (answer, open)) in taken.iter().enumerate().skip(given) {
            if *open && plans.len() < MAX_WAYS {
                let mut next: Vec<bool> = taken[..i].iter().map(|t| t.0).collect();
                next.push(!answer);
                plans.push_back(next);
            }
        }
    }
    if fuel::empty() {
        // what did not fit is not known, whoever gave up on it
        e.out.unknown.truncate(MAX_UNKNOWN - 1);
        e.unknown(TOO_LONG, "");
        e.out.cwd_after = None;
    }
    if fuel::doubted() {
        e.out.unknown.truncate(MAX_UNKNOWN - 1);
        e.unknown("a pattern takes too long to match", "");
    }
    e.out.spent = fuel::used();
    e.out
}

impl Engine<'_> {
    fn first_shell(&self) -> Shell {
        let cwd = self.input.cwd.to_string_lossy().into_owned();
        let cwd = match self.input.env.get("PWD") {
            // a shell keeps the logical name that it was started with, where that is the same place
            Some(p) if p.starts_with('/') && *p != cwd && self.fs.at(p, true).path == self.fs.at(&cwd, true).path => p.clone(),
            _ => cwd,
        };
        Shell { cwd, arg0: "bash".into(), status: Some(0), ..Shell::default() }
    }

    /// Answers an open question. Where `open`, the other answer is followed as well, later.
    pub(crate) fn decide(&mut self, answer: bool, open: bool) -> bool {
        let i = self.fork.taken.len();
        let a = self.fork.plan.get(i).copied().unwrap_or(answer);
        self.fork.taken.push((a, open));
        a
    }

    /// Counts one step; false where there have been too many.
    pub(crate) fn step(&mut self) -> bool {
        self.steps += 1;
        if self.steps > MAX_STEPS || fuel::empty() {
            self.unknown(TOO_LONG, "");
            return false;
        }
        true
    }

    /// Counts work that is done; false where the budget is used up, which is noted at the end.
    pub(crate) fn spend(&self, n: usize) -> bool {
        fuel::spend(n)
    }

    /// Notes that something can't be known.
    pub(crate) fn unknown(&mut self, why: &str, word: &str) {
        let word: String = word.chars().take(200).map(|c| if c == UNK { '?' } else { c }).collect();
        let u = Unknown { why: why.to_owned(), word };
        if self.out.unknown.len() < MAX_UNKNOWN && !self.out.unknown.contains(&u) {
            self.out.unknown.push(u);
        }
    }

    /// Parses a script once.
    pub(crate) fn parsed(&mut self, text: &str) -> Rc<Result<Cmd, String>> {
        if let Some(p) = self.scripts.get(text) {
            return Rc::clone(p);
        }
        // a script that is too much as a whole may begin with lines that are not
        let cost = parse::cost(text);
        let p = Rc::new(if fuel::has(cost) && self.spend(cost) { parse::parse(text) } else { Err(TOO_LONG.into()) });
        self.scripts.insert(text.to_owned(), Rc::clone(&p));
        p
    }

    /// Follows the text of a script in a shell.
    pub(crate) fn script(&mut self, sh: &mut Shell, text: &str) -> Flow {
        if text.contains(UNK) {
            self.unknown("part of a script is not known", text);
            // what is known of it is still followed
        }
        if self.depth >= MAX_DEPTH {
            self.unknown("nested too deep", "");
            return Flow::Next;
        }
        self.depth += 1;
        let p = self.parsed(text);
        let flow = match &*p {
            Ok(c) => self.run(sh, c),
            Err(why) => {
                let flow = self.first_lines(sh, text);
                self.unknown(why, "");
                flow
            }
        };
        self.depth -= 1;
        flow
    }

    /// A shell runs what stands before a syntax error: the longest run of whole lines that parses.
    fn first_lines(&mut self, sh: &mut Shell, text: &str) -> Flow {
        let mut ends: Vec<usize> = text.match_indices('\n').map(|(i, _)| i).collect();
        ends.truncate(40);
        while let Some(end) = ends.pop() {
            let p = self.parsed(&text[..end]);
            if let Ok(c) = &*p {
                return self.run(sh, c);
            }
        }
        Flow::Next
    }

    /// What a shell does when it ends.
    pub(crate) fn end(&mut self, sh: &mut Shell) {
        let traps = std::mem::take(&mut sh.traps);
        for (signal, body) in traps {
            let runs = matches!(signal.as_str(), "EXIT" | "ERR" | "DEBUG" | "RETURN") || sh.killed;
            if runs && !body.is_empty() {
                self.script(sh, &body);
            }
        }
        self.drain();
    }

    /// Runs process substitutions that wait for their input.
    pub(crate) fn drain(&mut self) {
        while let Some((script, buf, mut sub)) = self.waiting.pop() {
            let text = self.bufs.get(buf).cloned().unwrap_or_default();
            let id = self.stream(text);
            sub.set_fd(0, Fd::In(id));
            self.script(&mut sub, &script);
        }
    }

    /// Opens a text for reading.
    pub(crate) fn stream(&mut self, text: String) -> usize {
        self.ins.push(Stream { text: text.into(), pos: 0 });
        self.ins.len() - 1
    }

    /// Opens a text for collecting.
    pub(crate) fn buffer(&mut self) -> usize {
        self.bufs.push(String::new());
        self.bufs.len() - 1
    }

    /// Writes to a file descriptor.
    pub(crate) fn put(&mut self, sh: &Shell, fd: i32, text: &str) {
        if text.is_empty() || !self.spend(text.len()) {
            return;
        }
        match sh.fd(fd) {
            Fd::Buf(b) => {
                if let Some(b) = self.bufs.get_mut(b) {
                    if b.len() + text.len() > MAX_TEXT {
                        if !b.ends_with(UNK) {
                            b.push(UNK);
                        }
                    } else {
                        b.push_str(text);
                    }
                }
            }
            Fd::File(p) => {
                let old = self.fs.text(&p).unwrap_or_default();
                if old.len() + text.len() <= MAX_TEXT {
                    self.fs.leave(&p, true, Left::File(Some(format!("{old}{text}").into())));
                } else {
                    self.fs.leave(&p, true, Left::File(None));
                }
            }
            Fd::Term | Fd::Null | Fd::In(_) | Fd::Read(..) | Fd::Both(..) => {}
        }
    }

    /// All that is left to read from a file descriptor.
    pub(crate) fn take(&mut self, sh: &Shell, fd: i32) -> String {
        match sh.fd(fd) {
            Fd::In(i) | Fd::Read(_, i) | Fd::Both(_, i) => match self.ins.get_mut(i) {
                Some(s) => {
                    let rest = s.text[s.pos..].to_owned();
                    s.pos = s.text.len();
                    rest
                }
                None => UNK.to_string(),
            },
            Fd::File(p) => self.fs.text(&p).unwrap_or_else(|| UNK.to_string()),
            Fd::Buf(_) => UNK.to_string(),
            Fd::Term | Fd::Null => String::new(),
        }
    }

    /// One line from a file descriptor, without its end; `None` at the end.
    pub(crate) fn line(&mut self, sh: &Shell, fd: i32, delim: char) -> Option<String> {
        let (Fd::In(i) | Fd::Read(_, i) | Fd::Both(_, i)) = sh.fd(fd) else { return None };
        let s = self.ins.get_mut(i)?;
        let rest = &s.text[s.pos..];
        if rest.is_empty() {
            return None;
        }
        let (line, used) = match rest.find(delim) {
            Some(n) => (&rest[..n], n + delim.len_utf8()),
            None => (rest, rest.len()),
        };
        s.pos += used;
        Some(line.to_owned())
    }

    /// The content of a file as the command names it; a marker where it is not known. `-` is not special here.
    pub(crate) fn content(&mut self, sh: &Shell, name: &str) -> String {
        let full = self.full(sh, name);
        if full == "/dev/null" {
            return String::new();
        }
        if let Some(fd) = fd_path(&full) {
            return self.take(sh, fd);
        }
        if !full.starts_with('/') {
            return UNK.to_string();
        }
        if let Some(t) = self.fs.text(&full) {
            return t;
        }
        if full.contains(UNK) {
            return UNK.to_string();
        }
        match self.fs.what(&full) {
            Some(Kind::Dir) | None => String::new(),
            // no text: whoever can read bytes finds the file by its name
            _ => format!("{BYTES}{full}{UNK}"),
        }
    }

    /// The absolute path of a name in the directory in force.
    pub(crate) fn full(&self, sh: &Shell, name: &str) -> String {
        let p = picture::join(&sh.cwd, name);
        if !p.starts_with("/proc/") && !p.starts_with("/dev/") {
            return p;
        }
        if let Some((n, rest)) = fd_name(&p) {
            // opened by the descriptor's name, a file is opened anew, whatever it was opened for
            return match sh.fd(n) {
                Fd::Read(file, _) | Fd::Both(file, _) => format!("{file}{rest}"),
                _ => p,
            };
        }
        for own in ["/proc/self/cwd", "/proc/thread-self/cwd", &format!("/proc/{UNK}/cwd")] {
            if let Some(rest) = p.strip_prefix(own)
                && (rest.is_empty() || rest.starts_with('/'))
            {
                return format!("{}{rest}", sh.cwd);
            }
        }
        if let Some(rest) = p.strip_prefix("/proc/self/root")
            && rest.starts_with('/')
        {
            return rest.to_owned();
        }
        p
    }

    /// Notes an act on a path as the command names it.
    pub(crate) fn act(&mut self, sh: &Shell, kind: ActKind, name: &str, follow: bool, below: bool) {
        if name.is_empty() || !self.spend(1_500) {
            return;
        }
        if self.out.acts.len() >= MAX_ACTS {
            self.unknown("too many files", name);
            return;
        }
        let mut path = self.full(sh, name);
        if is_device(&path) || !follow && fd_path(&picture::join(&sh.cwd, name)).is_some() {
            // the name of a descriptor itself can't be changed
            return;
        }
        if !path.starts_with('/') {
            self.unknown("a path is not known", name);
            return;
        }
        if self.fs.has_links() {
            let at = self.fs.at(&path, follow);
            if at.ours {
                path = at.path;
            }
        }
        let (mut follow, mut below) = (follow, below);
        if let Some(made) = self.fs.replaced(&path, follow) {
            // what the command put where a link stood: nobody else can see that the link is gone
            (path, follow, below) = (made, false, false);
        }
        if path.contains(UNK) {
            self.unknown("part of a path is not known", name);
            let first = path[1..].split('/').next().unwrap_or("");
            if first.contains(UNK) {
                return;
            }
            path = path.replace(UNK, UNKNOWN_NAME);
        }
        if matches!(kind, ActKind::Write | ActKind::Mode) && follow {
            for twin in self.fs.twins(&path) {
                self.note(kind, twin, true, below);
            }
        }
        self.note(kind, path, follow, below);
    }

    fn note(&mut self, kind: ActKind, path: String, follow: bool, below: bool) {
        let key = (kind, follow, below, path);
        if self.seen.contains(&key) {
            return;
        }
        let act = Act { kind, path: PathBuf::from(&key.3), follow, below };
        self.out.acts.push(Found { act, ground: self.ground.clone(), by: self.by.clone() });
        self.seen.insert(key);
    }

    /// A file is opened for writing: through a link, created where it is missing.
    pub(crate) fn write(&mut self, sh: &Shell, name: &str) {
        let full = self.full(sh, name);
        if full.ends_with('/') || name.is_empty() {
            return;
        }
        let exists = if full.contains(UNK) { None } else { self.fs.what(&full) };
        if exists == Some(Kind::Dir) {
            return;
        }
        self.act(sh, if exists.is_some() { ActKind::Write } else { ActKind::Create }, name, true, false);
        if !is_device(&full) {
            self.fs.leave(&full, true, Left::File(None));
        }
    }

    /// A file gets new content that is known.
    pub(crate) fn write_text(&mut self, sh: &Shell, name: &str, text: &str) {
        self.write(sh, name);
        let full = self.full(sh, name);
        if let Some(fd) = fd_path(&full) {
            self.put(sh, fd, text);
        } else if !is_device(&full) && text.len() <= MAX_TEXT {
            self.fs.leave(&full, true, Left::File(Some(text.into())));
        }
    }

    /// An entry goes away; the link itself, where it is one.
    pub(crate) fn remove(&mut self, sh: &Shell, name: &str, below: bool) {
        let full = self.full(sh, name);
        if full.ends_with('/') && !below || fd_path(&picture::join(&sh.cwd, name)).is_some() {
            return;
        }
        let bare = name.trim_end_matches('/');
        let bare = if bare.is_empty() { name } else { bare };
        // `rm -r link/` does not remove what the link leads to
        self.act(sh, ActKind::Remove, bare, false, below);
        let full = self.full(sh, bare);
        self.fs.leave(&full, false, Left::Gone);
    }
}

/// The number of a path that names an open file descriptor.
pub(crate) fn fd_path(full: &str) -> Option<i32> {
    fd_name(full).filter(|(_, rest)| rest.is_empty()).map(|(n, _)| n)
}

/// The number of an open file descriptor in a path, and what stands behind it.
fn fd_name(full: &str) -> Option<(i32, &str)> {
    for (name, n) in [("/dev/stdin", 0), ("/dev/stdout", 1), ("/dev/stderr", 2)] {
        if full == name {
            return Some((n, ""));
        }
    }
    let rest = full.strip_prefix("/dev/fd/").or_else(|| {
        // `/proc/$$/fd/3`: whose number it is, is not known, and it is mostly one's own
        let process = full.strip_prefix("/proc/")?;
        let (process, rest) = process.split_once('/')?;
        (process == "self" || process == "thread-self" || process.contains(UNK)).then_some(rest)?.strip_prefix("fd/")
    })?;
    let end = rest.find('/').unwrap_or(rest.len());
    Some((rest[..end].parse().ok()?, &rest[end..]))
}

/// Whether a path is a device that swallows or gives without changing anything on disk.
pub(crate) fn is_device(full: &str) -> bool {
    matches!(full, "/dev/null" | "/dev/zero" | "/dev/full" | "/dev/tty" | "/dev/random" | "/dev/urandom" | "/dev/ptmx")
        || fd_path(full).is_some()
        || full.starts_with("/dev/tcp/")
        || full.starts_with("/dev/udp/")
}

impl Shell {
    /// Where a file descriptor leads.
    pub(crate) fn fd(&self, n: i32) -> Fd {
        self.fds.iter().rev().find(|(k, _)| *k == n).map_or(Fd::Term, |(_, f)| f.clone())
    }

    /// Lets a file descriptor lead elsewhere.
    pub(crate) fn set_fd(&mut self, n: i32, f: Fd) {
        match self.fds.iter_mut().find(|(k, _)| *k == n) {
            Some(slot) => slot.1 = f,
            None => self.fds.push((n, f)),
        }
    }
}
