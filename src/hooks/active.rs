//! Which hooks are switched on: data, and one pure decision.
//!
//! Nothing said: all that are present (present is active). A body may declare its set in `agent.md`, a
//! person sets it for a session or for a body on this machine, an armed loop for a session while it
//! goes on. Whoever writes the active set writes the behaviour, so nobody inside a session may.

use serde::{Deserialize, Serialize};

/// How the names of what is built in begin.
pub const BUILT_IN: &str = "loci:";

/// What was said about hooks by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Active {
    /// Only these of the scripts; `None`: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<String>>,
    /// Switched on, whatever else is said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<String>,
    /// Switched off, what is built in included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub off: Vec<String>,
    /// The loop that has set `only`: then the hooks of the home level stay on, and it goes with the loop.
    #[serde(rename = "loop", skip_serializing_if = "Option::is_none")]
    pub by_loop: Option<String>,
}

impl Active {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What a body declares in `agent.md`.
    #[must_use]
    pub fn declared(names: &[String]) -> Self {
        Self { only: Some(names.to_vec()), ..Self::default() }
    }

    /// What a loop installs: its own hooks besides those of the home level.
    #[must_use]
    pub fn of_loop(name: &str, hooks: &[String]) -> Self {
        Self { only: Some(hooks.to_vec()), by_loop: Some(name.to_owned()), ..Self::default() }
    }

    /// Switches by name.
    pub fn activate(&mut self, names: &[String]) {
        self.off.retain(|name| !names.contains(name));
        add(&mut self.on, names);
    }

    /// Switches off by name; without names everything that was said is forgotten.
    pub fn deactivate(&mut self, names: &[String]) {
        if names.is_empty() {
            *self = Self::default();
            return;
        }
        self.on.retain(|name| !names.contains(name));
        add(&mut self.off, names);
    }

    /// Only these of the scripts.
    pub fn only(&mut self, names: &[String]) {
        *self = Self { only: Some(names.to_vec()), ..Self::default() };
    }

    /// What is said here about a hook; `None`: nothing.
    fn says(&self, name: &str, home: bool) -> Option<bool> {
        let has = |names: &[String]| names.iter().any(|one| is(one, name));
        if has(&self.off) {
            return Some(false);
        }
        if has(&self.on) {
            return Some(true);
        }
        match &self.only {
            // What is built in is switched by its own name alone: "only the linter" does not mean "no trail".
            Some(_) if name.starts_with(BUILT_IN) => None,
            Some(only) => Some(has(only) || (home && self.by_loop.is_some())),
            None => None,
        }
    }
}

fn add(list: &mut Vec<String>, names: &[String]) {
    for name in names {
        if !list.contains(name) {
            list.push(name.clone());
        }
    }
}

/// Whether a name means a hook: its file's name, or that without its ending.
#[must_use]
pub fn is(name: &str, hook: &str) -> bool {
    name == hook || (!hook.starts_with('.') && hook.rsplit_once('.').is_some_and(|(stem, _)| stem == name))
}

/// Whether a hook is on. `said` is what was said, the nearest first: the session, the body on this
/// machine, the body's own file. The first that says anything about it holds.
#[must_use]
pub fn is_on(name: &str, home: bool, said: &[&Active]) -> bool {
    said.iter().find_map(|active| active.says(name, home)).unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn nothing_said_is_everything_on() {
        assert!(is_on("lint.sh", false, &[]) && is_on("loci:trail", true, &[&Active::default()]));
    }

    #[test]
    fn the_nearest_that_says_anything_holds() {
        let body = Active::declared(&own(&["lint"]));
        let mut session = Active::default();
        assert!(is_on("lint.sh", false, &[&session, &body]) && !is_on("other.py", false, &[&session, &body]));
        session.activate(&own(&["other"]));
        assert!(is_on("other.py", false, &[&session, &body]) && is_on("lint.sh", false, &[&session, &body]));
        session.deactivate(&own(&["lint.sh"]));
        assert!(!is_on("lint.sh", false, &[&session, &body]));
        session.only(&own(&["other.py"]));
        assert!(is_on("other.py", true, &[&session]) && !is_on("lint.sh", true, &[&session]));
        session.deactivate(&[]);
        assert!(session.is_empty());
    }

    #[test]
    fn what_is_built_in_is_switched_by_its_own_name_alone() {
        let mut active = Active::default();
        active.only(&own(&["lint"]));
        assert!(is_on("loci:trail", true, &[&active]));
        active.deactivate(&own(&["loci:trail"]));
        assert!(!is_on("loci:trail", true, &[&active]) && is_on("loci:place", true, &[&active]));
    }

    #[test]
    fn a_loop_never_switches_off_what_the_home_level_has() {
        let active = Active::of_loop("night", &own(&["count"]));
        assert!(is_on("guard.sh", true, &[&active]) && is_on("count.py", false, &[&active]) && !is_on("guard.sh", false, &[&active]));
    }

    #[test]
    fn a_name_is_a_file_or_its_stem() {
        assert!(is("a.b", "a.b.sh") && is("a", "a.sh") && is("a", "a") && !is("a", "b.sh") && !is("", ".sh") && !is("sh", "a.sh"));
    }
}
