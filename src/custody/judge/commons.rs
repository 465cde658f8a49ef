//! What in an owned directory is nobody's.

use std::path::Path;

use globset::GlobBuilder;

use super::Why;

/// What in an owned directory is nobody's: commons, and what lies *in* a `.git` (taking the `.git`
/// itself away is an act on the directory).
pub(super) fn nobodys(dir: &Path, real: &Path, commons: &[String]) -> Option<Why> {
    let rest = real.strip_prefix(dir).ok()?;
    let mut parts: Vec<_> = rest.iter().collect();
    parts.pop();
    if parts.iter().any(|part| *part == ".git") {
        return Some(Why::Plumbing);
    }
    commons.iter().find(|glob| names(glob, rest)).map(|glob| Why::Commons(glob.clone()))
}

/// Whether a glob of an identity file names a path below its directory: one without a slash names files at
/// any depth, one with a slash is anchored; what it names goes with all that lies below.
#[must_use]
pub fn names(glob: &str, rest: &Path) -> bool {
    let glob = glob.trim_start_matches("./").trim_matches('/');
    if glob.is_empty() || rest.as_os_str().is_empty() {
        return false;
    }
    let anchored = if glob.contains('/') { glob.to_owned() } else { format!("**/{glob}") };
    [anchored.clone(), format!("{anchored}/**")].iter().any(|glob| {
        let glob = GlobBuilder::new(glob).literal_separator(true).build();
        glob.is_ok_and(|glob| glob.compile_matcher().is_match(rest))
    })
}

/// The globs of a `commons:` list as one matcher for paths relative to the owned directory.
#[must_use]
pub fn commons_set(globs: &[String]) -> globset::GlobSet {
    let mut set = globset::GlobSetBuilder::new();
    for glob in globs {
        let glob = glob.trim_start_matches("./").trim_matches('/');
        let anchored = if glob.contains('/') { glob.to_owned() } else { format!("**/{glob}") };
        if let Ok(glob) = GlobBuilder::new(&anchored).literal_separator(true).build()
            && !anchored.trim_start_matches("**/").is_empty()
        {
            set.add(glob);
        }
    }
    set.build().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_name_what_is_common() {
        for (glob, path, wanted) in [
            ("Cargo.lock", "Cargo.lock", true),
            ("Cargo.lock", "sub/Cargo.lock", true),
            ("target/", "target/debug/x", true),
            ("./gen/*.rs", "gen/a.rs", true),
            ("./gen/*.rs", "gen/sub/a.rs", false),
            ("gen/*.rs", "sub/gen/a.rs", false),
            ("*.lock", "a.lock/b", true),
            ("", "x", false),
            ("/", "x", false),
            ("target", "targets", false),
        ] {
            assert_eq!(names(glob, Path::new(path)), wanted, "{glob} {path}");
        }
    }
}
