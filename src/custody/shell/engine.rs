//! The one who follows: what is kept while a command is read, how acts are noted, and how both ways of an open question are
//! taken.

use super::super::act::ActKind;
use super::deeds::{fd_name, fd_path};
pub(crate) use super::marks::{BYTES, MEMBERS, SOURCE, UNK};
use super::picture::{self, Memory, Picture};
use super::pipes::Pipes;
use super::state::{Fd, Flow, Shell};
use super::streams::Stream;
use super::syntax::Cmd;
use super::{GitAnswer, Ground, Input, Kind, Reading, Unknown, Words, World, fuel, parse};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;

/// Most commands that are followed, over all ways.
const MAX_STEPS: u32 = 4_000;
/// Most ways that are taken through open questions.
const MAX_WAYS: usize = 48;
/// Most reasons that are noted.
const MAX_UNKNOWN: usize = 64;
/// The reason where the budget is used up.
const TOO_LONG: &str = "too long to follow";
/// Longest text of a variable, a stream or a word.
pub(crate) const MAX_TEXT: usize = 128 * 1024;
/// Deepest nesting of scripts in scripts and calls in calls.
pub(crate) const MAX_DEPTH: u32 = 24;

/// Answers to open questions: the ones given by plan, and the ones made up on the way.
#[derive(Default)]
struct Fork {
    plan: Vec<bool>,
    taken: Vec<(bool, bool)>,
}

/// The one who follows.
pub(crate) struct Engine<'a> {
    pub(crate) input: &'a Input<'a>,
    pub(crate) fs: Picture<'a>,
    pub(crate) out: Reading,
    pub(super) seen: HashSet<(ActKind, bool, bool, String)>,
    pub(crate) bufs: Vec<String>,
    pub(crate) ins: Vec<Stream>,
    fork: Fork,
    pub(super) steps: u32,
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
    /// Whether the line has made patches under names that are not known.
    pub(crate) patches_unknown: bool,
    /// Whether something on this line may send a signal.
    pub(crate) signalled: bool,
    /// Whether a git command of this line has changed what git goes by.
    pub(crate) git_moved: bool,
    /// Files that git was asked about, and that stay plain files whatever it does.
    pub(crate) git_plain: HashSet<String>,
    /// Whether large and small letters are the same in the pathspecs of the git command that is followed.
    pub(crate) git_icase: bool,
    /// Process substitutions that wait for their input: script, buffer, shell.
    pub(crate) waiting: Vec<(String, usize, Shell)>,
    /// Named pipes that the command makes.
    pub(super) pipes: Pipes,
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
        signalled: false,
        patches_unknown: false,
        git_moved: false,
        git_plain: HashSet::new(),
        git_icase: false,
        waiting: Vec::new(),
        pipes: Pipes::default(),
    };
    let mut plans: std::collections::VecDeque<Vec<bool>> = std::collections::VecDeque::from([Vec::new()]);
    let mut ways = 0;
    let mut again = false;
    while let Some(plan) = plans.pop_front() {
        if ways == MAX_WAYS || e.steps > MAX_STEPS || fuel::empty() {
            e.unknown("too many ways through this command", "");
            break;
        }
        ways += 1;
        let given = plan.len();
        let same = plan.clone();
        e.pipes.begin(std::mem::take(&mut again));
        e.fork = Fork { plan, taken: Vec::new() };
        e.fs = Picture::new(world, &memory);
        e.bufs.clear();
        e.ins.clear();
        e.waiting.clear();
        e.refs.clear();
        e.git_config.clear();
        e.signalled = false;
        e.patches_unknown = false;
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
        match e.pipes.changed(&e.fs) {
            Some(false) => {}
            Some(true) => {
                again = true;
                ways -= 1;
                plans.push_front(same);
                continue;
            }
            None => e.unknown("what goes through a named pipe", ""),
        }
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
        let word: String = word.chars().take(200).map(|c| if c == UNK { '…' } else { c }).collect();
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
        // what is read anew knows the aliases that were set before
        for (name, value) in std::mem::take(&mut sh.new_aliases) {
            sh.aliases.insert(name, value);
        }
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
        let mut traps = std::mem::take(&mut sh.traps);
        traps.extend(super::traps::functions(sh));
        for (signal, body) in traps {
            let runs = matches!(signal.as_str(), "EXIT" | "ERR" | "DEBUG" | "RETURN") || self.may_arrive(sh, &signal);
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
}
