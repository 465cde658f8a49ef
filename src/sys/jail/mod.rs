//! Running a command in a mount namespace of its own, in which some directories can't be written.
//!
//! Linux only, and without privileges where the kernel lets everybody make a user namespace. The
//! process that calls stays outside: it waits, hands signals on, and listens to what the command
//! tries. Only the child enters. Elsewhere every call says that the system has no such thing.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
mod enter;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod handles;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod watch;

mod facts;
pub mod layer;

pub use facts::{Facts, facts};

/// What a mount makes of its directory or file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// It stays as it is outside; being a mount, it can't be renamed or removed.
    Keep,
    /// Nothing below it can be changed.
    ReadOnly,
    /// What is changed below it lands in `upper`; the directory itself stays as it is.
    Overlay {
        /// Where changes land: an empty directory.
        upper: PathBuf,
        /// An empty directory on the same disk, for the kernel.
        work: PathBuf,
    },
    /// Another directory is seen in its place, and can be changed.
    Other {
        /// That one.
        from: PathBuf,
    },
}

/// One mount over a path that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Where: a real path.
    pub path: PathBuf,
    /// What it makes of it.
    pub access: Access,
}

/// A command and the mounts that it runs under.
#[derive(Debug, Clone)]
pub struct Jailed<'a> {
    /// The mounts, parents before what lies below them.
    pub mounts: &'a [Mount],
    /// The directory it runs in, looked up again below the mounts.
    pub cwd: &'a Path,
    /// The program: a file or, without a slash, a name to look for in `PATH`.
    pub program: &'a OsStr,
    /// Its arguments.
    pub args: &'a [OsString],
    /// Variables that are set for it, besides the environment of this process.
    pub vars: &'a [(&'static str, OsString)],
    /// Whether the directory that it ends in is wanted.
    pub keep_cwd: bool,
    /// Whether [`Event::Idle`] is wanted.
    pub idle: bool,
}

/// How far the way into the jail had been gone when it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The system has no mount namespaces.
    System,
    /// The process could not be started.
    Start,
    /// Making the namespaces.
    Namespace,
    /// Saying which user it is inside.
    Ids,
    /// Cutting the mounts off from those outside.
    Private,
    /// Taking a copy of a directory that is to be mounted.
    Clone,
    /// Making that copy read-only.
    ReadOnly,
    /// Mounting it.
    Mount,
    /// Mounting a layer that takes changes up.
    Overlay,
    /// Going to the working directory again.
    Directory,
    /// Opening once more what the command inherits.
    Handle,
    /// Giving up what could undo it.
    Capabilities,
    /// Starting the command itself: it can't be found, or not be run.
    Command,
}

#[cfg(target_os = "linux")]
const STAGES: [Stage; 13] = [
    Stage::System,
    Stage::Start,
    Stage::Namespace,
    Stage::Ids,
    Stage::Private,
    Stage::Clone,
    Stage::ReadOnly,
    Stage::Mount,
    Stage::Overlay,
    Stage::Directory,
    Stage::Handle,
    Stage::Capabilities,
    Stage::Command,
];

impl Stage {
    /// What was tried, after "failed to …".
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::System => "find mount namespaces on this system",
            Self::Start => "start a process",
            Self::Namespace => "make a user and a mount namespace",
            Self::Ids => "map the user into the namespace",
            Self::Private => "cut the mounts off from those outside",
            Self::Clone => "take a copy of",
            Self::ReadOnly => "make read-only",
            Self::Mount => "mount",
            Self::Overlay => "mount a layer over",
            Self::Directory => "go back to",
            Self::Handle => "open once more, for a handle that the command inherits,",
            Self::Capabilities => "give up the capabilities that could undo it",
            Self::Command => "run",
        }
    }

    /// Its stable name in `--json`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Start => "start",
            Self::Namespace => "namespace",
            Self::Ids => "ids",
            Self::Private => "private",
            Self::Clone => "clone",
            Self::ReadOnly => "read-only",
            Self::Mount => "mount",
            Self::Overlay => "overlay",
            Self::Directory => "directory",
            Self::Handle => "handle",
            Self::Capabilities => "capabilities",
            Self::Command => "command",
        }
    }
}

/// Why a command was not run. It never runs outside the jail instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What was tried.
    pub stage: Stage,
    /// On which path, where it was about one.
    pub path: Option<PathBuf>,
    /// What the kernel said.
    pub errno: i32,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With this exit code.
    Code(u8),
    /// By this signal.
    Signal(i32),
}

/// What a command did before it ended, as far as it was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// What it left running: number and name of each process.
    pub survivors: Vec<(i32, String)>,
    /// Why nobody listened to it, where that is so: the errno.
    pub unheard: Option<i32>,
    /// The directory that it stood in when it ended, where that was wanted and could be heard.
    pub cwd: Option<PathBuf>,
}

/// What is told while a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It is about to write.
    Call(Call),
    /// A second or so has gone by.
    Idle,
}

/// What a system call would do to its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    /// Opens it for writing; it may make it.
    Write,
    /// Opens what has to be there for reading, and would make it.
    Touch,
    /// Makes something under a name that must be free.
    Create,
    /// Makes a directory.
    MakeDir,
    /// Removes it.
    Remove,
    /// Renames it, or brings something in under this name.
    Rename,
    /// Changes its mode, owner, times or attributes.
    Mode,
}

impl Op {
    /// The word for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Touch | Self::Create => "create",
            Self::MakeDir => "mkdir",
            Self::Remove => "remove",
            Self::Rename => "rename",
            Self::Mode => "change the mode or times of",
        }
    }
}

/// A system call that would write, seen before it is carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The process.
    pub pid: i32,
    /// The name of its program.
    pub program: String,
    /// What it would do.
    pub op: Op,
    /// To which path: absolute, links not resolved.
    pub path: PathBuf,
    /// Whether a link at the end is followed.
    pub follow: bool,
}

/// Runs a command in a jail and waits for it. `hear` gets each call that would write, before the
/// kernel carries it out or refuses it; it can't change that. The command finds [`env::LOCI_JAIL`] set.
///
/// [`env::LOCI_JAIL`]: super::env::LOCI_JAIL
///
/// # Errors
/// Where the jail can't be set up, or the command not be started: nothing was run.
#[cfg(target_os = "linux")]
pub fn run(jailed: &Jailed<'_>, hear: Option<&mut dyn FnMut(Event)>) -> Result<Outcome, Trouble> {
    run::run(jailed, hear)
}

/// There is no such thing on this system.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn run(_: &Jailed<'_>, _: Option<&mut dyn FnMut(Event)>) -> Result<Outcome, Trouble> {
    Err(Trouble { stage: Stage::System, path: None, errno: nix::libc::ENOSYS })
}

/// Sets up a jail with these mounts in a child, and ends it there: what the kernel lets us do here.
///
/// # Errors
/// As [`run()`].
#[cfg(target_os = "linux")]
pub fn probe(mounts: &[Mount]) -> Result<(), Trouble> {
    run::probe(mounts)
}

/// As elsewhere.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn probe(_: &[Mount]) -> Result<(), Trouble> {
    Err(Trouble { stage: Stage::System, path: None, errno: nix::libc::ENOSYS })
}

/// Whether this process runs in a jail: what [`run()`] has set names the very mounts that it sees.
#[cfg(target_os = "linux")]
#[must_use]
pub fn is_inside() -> bool {
    super::env::var(super::env::LOCI_JAIL).is_some_and(|name| std::fs::read_link(run::MOUNTS).is_ok_and(|mine| mine.as_os_str() == name))
}

/// There is none to be in.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn is_inside() -> bool {
    false
}

/// Where something is mounted below these directories by now.
#[cfg(target_os = "linux")]
#[must_use]
pub fn mounts_below(dirs: &[&Path]) -> Vec<PathBuf> {
    mounts::points_below(dirs)
}

/// Nothing is looked for where nothing can be mounted.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn mounts_below(_: &[&Path]) -> Vec<PathBuf> {
    Vec::new()
}

/// Ends this process the way its command ended, so that whoever waits for it sees no difference.
pub fn end_by(signal: i32) -> ! {
    if let Ok(signal) = nix::sys::signal::Signal::try_from(signal) {
        use nix::sys::signal::{SigHandler, SigSet};
        // Its core, not ours.
        let _ = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0);
        #[expect(unsafe_code, reason = "the default handler can only be set so")]
        // SAFETY: the default handler is no code of ours.
        let _ = unsafe { nix::sys::signal::signal(signal, SigHandler::SigDfl) };
        let _ = SigSet::from(signal).thread_unblock();
        let _ = nix::sys::signal::raise(signal);
    }
    super::process::end(u8::try_from(128 + signal).unwrap_or(u8::MAX))
}
