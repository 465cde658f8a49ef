//! What to do instead, where git would change somebody's files: for each form one that passes.
//!
//! `{but}` in a text stands for the pathspecs that leave the owners' directories out; who rules on the files knows
//! them, and puts them in.

use super::options::Call;

/// Where the pathspecs go that leave the owners' directories out.
pub(in crate::custody) const BUT: &str = "{but}";

/// The files that go to another commit, without moving to it.
pub(super) fn goto(target: &str) -> String {
    format!("git worktree add DIR {target} to work there, or git restore --source={target} -- :/ {BUT}")
}

/// `reset --hard` (or `--merge`, `--keep`): the branch moves without the files, and the files that are one's own after it.
pub(super) fn reset(target: &str, hard: bool) -> String {
    match (target, hard) {
        ("HEAD", true) => format!("git restore --staged --worktree -- :/ {BUT}"),
        (_, true) => format!("git reset {target}, then git restore -- :/ {BUT}"),
        (_, false) => format!("git reset {target}, which moves the branch and leaves all files"),
    }
}

/// Paths that are taken from a commit or the index, or are taken away: the same, without theirs.
pub(super) fn paths() -> String {
    format!("the same command with {BUT} behind its paths")
}

/// `read-tree -u`: the index without the files.
pub(super) fn read_tree(tree: &str) -> String {
    format!("git read-tree {tree} without -u, then git restore -- :/ {BUT}")
}

/// What empties the work tree.
pub(super) fn orphan() -> String {
    "git worktree add --detach DIR, and the same there".to_owned()
}

/// Other people's lines of history.
pub(super) fn bring(target: &str) -> String {
    format!("loci delegate OWNER --reads PATH --idea TEXT --from-branch {target}, and git restore --source={target} -- YOUR-PATHS")
}

/// Single commits, or their opposites.
pub(super) fn pick(commit: &str) -> String {
    format!("git restore --source={commit} -- YOUR-PATHS; the rest as loci delegate OWNER --reads PATH --idea TEXT --patch FILE")
}

/// Changes that were laid aside.
pub(super) fn unstash(stash: &str) -> String {
    format!("git checkout {stash} -- YOUR-PATHS")
}

/// Changes that are laid aside.
pub(super) fn stash() -> String {
    format!("git stash push -- :/ {BUT}")
}

/// A patch.
pub(super) fn patch(verb: &str) -> String {
    format!("{verb} with --exclude='THEIR-PATH' for each of theirs, and loci delegate OWNER --reads PATH --idea TEXT --patch FILE")
}

/// Something that was begun and is given up.
pub(super) fn abort(verb: &str) -> String {
    format!("{verb} --quit, which leaves all files, then git restore --staged --worktree -- :/ {BUT}")
}

/// Uncommitted changes that git lays aside by itself.
pub(super) fn autostash() -> String {
    format!("without --autostash: first git stash push -- :/ {BUT}")
}

/// `clean`, with the flags it was called with.
pub(super) fn clean(call: &Call) -> String {
    let flags: Vec<&str> = call.opts.iter().map(|(name, _)| name.as_str()).filter(|name| name.len() == 2).collect();
    format!("git clean {} -- :/ {BUT}", flags.join(" "))
}
