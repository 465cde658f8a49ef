//! Every environment variable that loci reads or sets, in one place.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Replaces `$HOME` for loci: the registry is `$LOCI_HOME/.loci`.
pub const LOCI_HOME: &str = "LOCI_HOME";
/// The root when none is named with `--root`.
pub const LOCI_ROOT: &str = "LOCI_ROOT";
/// Id of the agent that a process was started as.
pub const LOCI_AGENT: &str = "LOCI_AGENT";
/// Absolute directory of the body that a process was started as.
pub const LOCI_BODY: &str = "LOCI_BODY";
/// Unique id of one embodiment.
pub const LOCI_RUN: &str = "LOCI_RUN";
/// Set by `loci connect --check` for the call that it tries a relay with: nothing is kept of it.
pub const LOCI_PROBE: &str = "LOCI_PROBE";
/// Set for a hook: the file that it is; it may run from a copy.
pub const LOCI_HOOK: &str = "LOCI_HOOK";
/// Set by the clock for a turn of a loop: by it the session is known as the loop's.
pub const LOCI_LOOP: &str = "LOCI_LOOP";
/// Set for what runs in a jail, to the name of its mounts.
pub const LOCI_JAIL: &str = "LOCI_JAIL";
/// Set by the clock for all that a run of it starts: the run's id. Whoever is embodied below has another `LOCI_RUN`.
pub const LOCI_JOB: &str = "LOCI_JOB";
/// Set by the clock for a body that mail has woken: how many delegations led to this.
pub const LOCI_HOPS: &str = "LOCI_HOPS";
/// Set by the clock for a job that nobody has armed, to the job's name: below it no model is called.
pub const LOCI_UNARMED: &str = "LOCI_UNARMED";
/// Debug builds only: fault injection (see [`super::fault`]).
pub const LOCI_FAULT: &str = "LOCI_FAULT";
/// Debug builds only: replaces the programs above this one (names with colons between them), so that
/// tests say the same whoever starts them.
pub const LOCI_ANCESTORS: &str = "LOCI_ANCESTORS";
/// Debug builds only: a file that says what time it is (see [`super::time::Moment::now`]), because a test
/// can't wait for a night.
pub const LOCI_TEST_NOW: &str = "LOCI_TEST_NOW";
/// The user's home.
pub const HOME: &str = "HOME";
/// Where machine-local state lives; default `$HOME/.local/state`.
pub const XDG_STATE_HOME: &str = "XDG_STATE_HOME";
/// What moves the settings folders of harnesses elsewhere: the variable of each adapter (a test there holds it).
pub const HARNESS_FOLDERS: [&str; 9] = [
    "CLAUDE_CONFIG_DIR",
    "CLINE_DIR",
    "CODEX_HOME",
    "COPILOT_HOME",
    "GEMINI_CLI_HOME",
    "HERMES_HOME",
    "PI_CODING_AGENT_DIR",
    "QWEN_HOME",
    "XDG_CONFIG_HOME",
];
/// Where scratch folders go; default `/tmp`.
pub const TMPDIR: &str = "TMPDIR";
/// Where programs are looked for.
pub const PATH: &str = "PATH";
/// Set and not empty: no colours.
pub const NO_COLOR: &str = "NO_COLOR";
/// The user's shell.
pub const SHELL: &str = "SHELL";
/// Kind of terminal.
pub const TERM: &str = "TERM";

/// One variable; `None` where it is unset or empty.
#[must_use]
pub fn var(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The words that this program was called with, its own name left out.
#[must_use]
pub fn arguments() -> Vec<OsString> {
    std::env::args_os().skip(1).collect()
}

/// The directory that this process was started in; `None` where it no longer exists.
#[must_use]
pub fn working_directory() -> Option<PathBuf> {
    std::env::current_dir().ok()
}

/// The environment of this process as a value, taken once and handed down.
#[derive(Debug, Clone, Default)]
pub struct Env {
    /// The variables; the first of a name counts.
    pub vars: BTreeMap<OsString, OsString>,
    /// The working directory; `None` where it no longer exists.
    pub cwd: Option<PathBuf>,
}

impl Env {
    /// Reads the environment of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self { vars: std::env::vars_os().collect(), cwd: std::env::current_dir().ok() }
    }

    /// Reads only what the gate asks for: a copy of everything costs more than it saves. The working
    /// directory is left out; the gate has no business with its own.
    #[must_use]
    pub fn of_gate() -> Self {
        let names = [LOCI_HOME, LOCI_AGENT, LOCI_BODY, LOCI_RUN, LOCI_HOPS, LOCI_LOOP, LOCI_PROBE, HOME, XDG_STATE_HOME];
        let vars = names.into_iter().chain(HARNESS_FOLDERS).filter_map(|name| Some((OsString::from(name), var(name)?))).collect();
        Self { vars, cwd: None }
    }

    /// One variable; `None` where it is unset or empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// The variables that are text.
    #[must_use]
    pub fn texts(&self) -> BTreeMap<String, String> {
        self.vars.iter().filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()))).collect()
    }

    /// How many delegations led to this, as the clock said when it woke the body.
    #[must_use]
    pub fn hops(&self) -> usize {
        self.get(LOCI_HOPS).and_then(OsStr::to_str).and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// The home that loci uses: `LOCI_HOME`, else `HOME`; only absolute ones count.
    #[must_use]
    pub fn home(&self) -> Option<PathBuf> {
        [LOCI_HOME, HOME].iter().filter_map(|name| self.get(name)).map(PathBuf::from).find(|path| path.is_absolute())
    }

    /// The user's own home, which harnesses use: `HOME`; `LOCI_HOME` does not move it.
    #[must_use]
    pub fn user_home(&self) -> Option<PathBuf> {
        self.get(HOME).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// The state folder: `$XDG_STATE_HOME/loci`, else `~/.local/state/loci`.
    #[must_use]
    pub fn state(&self) -> Option<PathBuf> {
        let base = self.get(XDG_STATE_HOME).map(PathBuf::from).filter(|path| path.is_absolute());
        base.or_else(|| Some(self.home()?.join(".local/state"))).map(|base| base.join("loci"))
    }
}
