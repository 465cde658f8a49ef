//! What the machine says about namespaces, for whoever has to tell why there are none.

use std::fs;

/// What is set on this machine. `None`: the system does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// `user.max_user_namespaces`: how many user namespaces there may be.
    pub max_user_namespaces: Option<u64>,
    /// `kernel.unprivileged_userns_clone`: whether everybody may make one (Debian and its kin).
    pub unprivileged_userns: Option<u64>,
    /// `kernel.apparmor_restrict_unprivileged_userns`: whether a profile is needed for it.
    pub apparmor_restricts: Option<u64>,
    /// Whether a seccomp filter sits on this process.
    pub filtered: bool,
    /// The AppArmor profile of this process.
    pub profile: Option<String>,
    /// Whether this process is inside a user namespace already.
    pub nested: bool,
    /// Whether it runs as root.
    pub root: bool,
    /// The file this program runs from.
    pub program: Option<std::path::PathBuf>,
}

/// Reads them.
#[must_use]
pub fn facts() -> Facts {
    let number = |path: &str| fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok());
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let filtered = status.lines().any(|line| line.strip_prefix("Seccomp:").is_some_and(|mode| mode.trim() == "2"));
    let profile = fs::read_to_string("/proc/self/attr/current").ok().map(|text| text.trim_end_matches(['\0', '\n']).to_owned());
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let whole = map.split_whitespace().eq(["0", "0", "4294967295"]);
    Facts {
        max_user_namespaces: number("/proc/sys/user/max_user_namespaces"),
        unprivileged_userns: number("/proc/sys/kernel/unprivileged_userns_clone"),
        apparmor_restricts: number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
        filtered,
        profile: profile.filter(|profile| !profile.is_empty() && !profile.starts_with("unconfined")),
        nested: !map.is_empty() && !whole,
        root: nix::unistd::geteuid().is_root(),
        program: std::env::current_exe().ok(),
    }
}
