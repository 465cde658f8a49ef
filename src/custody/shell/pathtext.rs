//! Paths as texts, as a shell has them.

/// Joins a path to a directory, without touching `.` or `..`.
pub(crate) fn join(dir: &str, path: &str) -> String {
    if path.starts_with('/') {
        return path.to_owned();
    }
    if dir.ends_with('/') { format!("{dir}{path}") } else { format!("{dir}/{path}") }
}

/// Takes `.`, `..` and double slashes out by text alone, as `cd` does.
pub(crate) fn tidy(path: &str) -> String {
    let mut out: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                out.pop();
            }
            p => out.push(p),
        }
    }
    format!("/{}", out.join("/"))
}

/// The directory part and the last name.
pub(crate) fn split(path: &str) -> (&str, &str) {
    let p = path.trim_end_matches('/');
    match p.rfind('/') {
        Some(0) => ("/", &p[1..]),
        Some(i) => (&p[..i], &p[i + 1..]),
        None => (".", p),
    }
}
