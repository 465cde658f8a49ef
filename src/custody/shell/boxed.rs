//! Programs in a tree that is put together for them.

use super::engine::Engine;
use super::state::Shell;

/// Options of `bwrap` with two values, and those with one.
const BWRAP: [&[&str]; 2] = [
    &[
        "--bind",
        "--bind-try",
        "--dev-bind",
        "--dev-bind-try",
        "--ro-bind",
        "--ro-bind-try",
        "--symlink",
        "--setenv",
        "--file",
        "--bind-data",
        "--ro-bind-data",
        "--bind-fd",
        "--ro-bind-fd",
        "--chmod",
    ],
    &[
        "--dev",
        "--proc",
        "--tmpfs",
        "--mqueue",
        "--dir",
        "--chdir",
        "--unsetenv",
        "--hostname",
        "--uid",
        "--gid",
        "--lock-file",
        "--sync-fd",
        "--info-fd",
        "--seccomp",
        "--add-seccomp-fd",
        "--args",
        "--userns",
        "--userns2",
        "--pidns",
        "--json-status-fd",
        "--block-fd",
        "--userns-block-fd",
        "--exec-label",
        "--file-label",
        "--perms",
        "--size",
        "--cap-add",
        "--cap-drop",
        "--argv0",
        "--remount-ro",
        "--overlay-src",
        "--tmp-overlay",
        "--ro-overlay",
    ],
];

impl Engine<'_> {
    /// `bwrap`: a program in a tree that is put together. As long as all of it is where it was, it is followed.
    pub(super) fn bwrap(&mut self, sh: &mut Shell, argv: &[String]) {
        let mut sub = sh.clone();
        let (mut i, mut elsewhere) = (1, false);
        while let Some(option) = argv.get(i).filter(|word| word.starts_with('-')) {
            let values = if BWRAP[0].contains(&option.as_str()) { 2 } else { usize::from(BWRAP[1].contains(&option.as_str())) };
            match (option.as_str(), argv.get(i + 1), argv.get(i + 2)) {
                (name, Some(from), Some(to)) if name.contains("bind") && values == 2 => elsewhere |= from != to,
                ("--chdir", Some(to), _) => sub.cwd = self.full(sh, to),
                ("--setenv", Some(name), Some(value)) => {
                    let pair = format!("{name}={value}");
                    self.assignment(&mut sub, &pair, true, true);
                }
                ("--args" | "--symlink" | "--overlay-src", ..) => elsewhere = true,
                _ => {}
            }
            i += 1 + values;
            if option == "--" {
                break;
            }
        }
        if elsewhere {
            self.unknown("a program in another root", "bwrap");
        }
        if let Some(rest) = argv.get(i..).filter(|rest| !rest.is_empty()) {
            self.call(&mut sub, rest.to_vec(), false);
        }
    }
}
