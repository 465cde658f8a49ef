//! The one upward walk of the program: resolver, gate and wayfinding are the same climb.

use std::path::{Path, PathBuf};

/// A real, absolute directory and everything above it, nearest first, up to `/`.
pub fn up(start: &Path) -> impl Iterator<Item = &Path> {
    start.ancestors()
}

/// Everything above a real, absolute directory, nearest first.
pub fn above(start: &Path) -> impl Iterator<Item = &Path> {
    up(start).skip(1)
}

/// The nearest directory, from `start` up, that `is` the one.
pub fn nearest(start: &Path, mut is: impl FnMut(&Path) -> bool) -> Option<&Path> {
    up(start).find(|dir| is(dir))
}

/// A walk in two phases. **Enter**: up to the nearest directory that `carries` something, over a
/// gap of any length. **Climb**: on while the parent carries something too. Nearest first, each
/// with what it carries; a gap above the entry ends the chain.
pub fn chain<T>(start: &Path, mut carries: impl FnMut(&Path) -> Option<T>) -> Vec<(PathBuf, T)> {
    let mut chain = Vec::new();
    for dir in up(start) {
        match carries(dir) {
            Some(what) => chain.push((dir.to_owned(), what)),
            None if chain.is_empty() => {}
            None => break,
        }
    }
    chain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_above_the_entry_ends_the_chain() {
        let carries = |dir: &Path| ["/a", "/a/g/m", "/a/g/m/n"].iter().any(|one| Path::new(one) == dir).then_some(());
        let levels: Vec<PathBuf> = chain(Path::new("/a/g/m/n/o/p"), carries).into_iter().map(|(dir, ())| dir).collect();
        assert_eq!(levels, [Path::new("/a/g/m/n"), Path::new("/a/g/m")]);
    }
}
