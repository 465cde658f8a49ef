//! Which hooks really run: what was said about them by name, by whom, and whether they are trusted. The relay, `loci
//! hooks status`, `loci show` and `loci doctor` ask here, so that none of them says something else.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::active::{self, Active};
use super::find::Hook;
use super::trust::Standing;
use crate::sys::{disk, shown};
use crate::tree::card::{self, AgentFile};

/// Who has said something about hooks by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Somebody in this session.
    Session,
    /// A person, for the body on this machine.
    Machine,
    /// The body's own file.
    Body,
}

impl By {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Machine => "machine",
            Self::Body => "agent.md",
        }
    }
}

/// Why a hook that is there does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silent {
    /// Nobody trusted it, as it is.
    Standing(Standing),
    /// It is switched off by name, or not among those that are on.
    Off(By),
}

impl Silent {
    /// The stable word in `--json`.
    #[must_use]
    pub fn word(self) -> String {
        match self {
            Self::Standing(standing) => standing.word().to_owned(),
            Self::Off(by) => format!("off-by-{}", by.word()),
        }
    }
}

/// What was said about hooks by name, the nearest first.
#[derive(Debug)]
pub struct Switches(Vec<(By, Active)>);

impl Switches {
    /// Collects it: the session's, the body's on this machine, and the body's own file.
    #[must_use]
    pub fn of(session: &Active, state: &Path, body: Option<&Path>) -> Self {
        let mut said = vec![(By::Session, session.clone())];
        if let Some(body) = body {
            said.extend(of_body(state, body).map(|active| (By::Machine, active)));
            let declared = card::agent(body).and_then(Result::ok).and_then(|card| card.hooks);
            said.extend(declared.map(|names| (By::Body, Active::declared(&names))));
        }
        Self(said)
    }

    /// Whether a hook is on.
    #[must_use]
    pub fn are_on(&self, name: &str, home: bool) -> bool {
        active::is_on(name, home, &self.0.iter().map(|(_, active)| active).collect::<Vec<_>>())
    }

    /// Who says that a hook is off; `None` where it is on.
    #[must_use]
    pub fn off_by(&self, name: &str, home: bool) -> Option<By> {
        if self.are_on(name, home) {
            return None;
        }
        // The nearest that says anything about it holds: the first with which it is off.
        let off = |(_, active): &&(By, Active)| !active::is_on(name, home, &[active]);
        self.0.iter().find(off).map(|(by, _)| *by)
    }

    /// Why a hook does not run; `None` where it does.
    #[must_use]
    pub fn silence(&self, hook: &Hook) -> Option<Silent> {
        if !hook.standing.is_trusted() {
            return Some(Silent::Standing(hook.standing));
        }
        self.off_by(&hook.name, hook.is_home()).map(Silent::Off)
    }
}

/// The file of a body's active set on this machine.
#[must_use]
pub fn body_file(state: &Path, body: &Path) -> PathBuf {
    state.join("hooks").join(format!("{}.json", crate::text::digest::key("hooks", body)))
}

/// The active set of a body on this machine, where somebody has set one.
#[must_use]
pub fn of_body(state: &Path, body: &Path) -> Option<Active> {
    let data = disk::read_bounded(&body_file(state, body), 1 << 20).ok()??;
    let record: Value = serde_json::from_slice(&data).ok()?;
    serde_json::from_value(record.get("active")?.clone()).ok()
}

/// The names in the set of an identity file that no hook around it has: whoever meant one of them has it switched
/// off without knowing. Each comes with the hook that may have been meant.
#[must_use]
pub fn unknown<'a>(card: &'a AgentFile, hooks: &'a [Hook]) -> Vec<(&'a str, Option<&'a str>)> {
    let stem = |hook: &'a Hook| hook.name.rsplit_once('.').map_or(&*hook.name, |(stem, _)| stem);
    let strange = |name: &&String| !name.starts_with(active::BUILT_IN) && !hooks.iter().any(|hook| active::is(name, &hook.name));
    let names = card.hooks.iter().flatten().filter(strange);
    names.map(|name| (name.as_str(), crate::text::near::nearest(name, hooks.iter().map(stem)))).collect()
}

/// What is to be said of such a name.
#[must_use]
pub fn unknown_words(name: &str, near: Option<&str>) -> String {
    let near = near.map(|near| format!("; did you mean `{}`?", shown::text(near))).unwrap_or_default();
    format!("no hook here is called `{}`{near}", shown::text(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_switched_it_off_is_the_nearest_that_says_anything() {
        let active = |on: &[&str], off: &[&str], only: Option<&[&str]>| {
            let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            Active { on: own(on), off: own(off), only: only.map(own), by_loop: None }
        };
        let said = |session: Active, machine: Active, body: Active| {
            Switches(vec![(By::Session, session), (By::Machine, machine), (By::Body, body)])
        };
        let none = Active::default;
        let declared = active(&[], &[], Some(&["lint"]));
        assert_eq!(said(none(), none(), none()).off_by("guard.sh", false), None);
        assert_eq!(said(none(), none(), declared.clone()).off_by("guard.sh", false), Some(By::Body));
        assert_eq!(said(none(), none(), declared.clone()).off_by("lint.sh", false), None);
        assert_eq!(said(none(), active(&["guard"], &[], None), declared.clone()).off_by("guard.sh", false), None);
        assert_eq!(said(none(), active(&[], &["lint"], None), declared.clone()).off_by("lint.sh", false), Some(By::Machine));
        assert_eq!(said(active(&[], &["guard"], None), active(&["guard"], &[], None), none()).off_by("guard.sh", false), Some(By::Session));
        // What is built in is not left out by a list of scripts.
        assert_eq!(said(none(), none(), declared).off_by("loci:trail", true), None);
    }
}
