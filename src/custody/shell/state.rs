//! What one shell knows: variables, descriptors, options, and what it has been told.

use super::syntax::Cmd;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

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
    /// Subshells and functions have the traps for `DEBUG` and `RETURN` as well.
    pub(crate) functrace: bool,
    /// And the one for `ERR`.
    pub(crate) errtrace: bool,
    /// A plain `sh`: a failed special builtin or an alias behaves differently, braces are plain.
    pub(crate) posix: bool,
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
    /// Traps of the shell around are set; they are shown here, and not run.
    pub(crate) trapped: bool,
    /// A trap is running.
    pub(crate) trapping: bool,
    /// How often traps have run.
    pub(crate) fired: u32,
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
            'T' => "functrace",
            'E' => "errtrace",
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
            "functrace" => &mut self.functrace,
            "errtrace" => &mut self.errtrace,
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
