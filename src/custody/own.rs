//! Owning: promotion writes one file. Deciders over what was found; a plan comes out.

use std::path::{Path, PathBuf};

use crate::sys::disk::{self, PathError};
use crate::sys::plan::{Plan, Step};
use crate::sys::time::{self, Timestamp};
use crate::text::name::AgentId;
use crate::text::yaml;
use crate::tree::card;

/// Where a new `.loci` is built before it gets its name; whoever is killed leaves at most this.
pub const ASIDE: &str = ".loci-tmp-own";

/// What stands in a directory that somebody is to own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    /// The directory (real).
    pub dir: PathBuf,
    /// The names in its `.loci`; `None` where there is none.
    pub dotdir: Option<Vec<std::ffi::OsString>>,
    /// The bytes and the mode of its owner file.
    pub owner_file: Option<(Vec<u8>, u32)>,
    /// What an `own` or `disown` that was killed left aside.
    pub leftover: bool,
}

/// Looks at a directory.
///
/// # Errors
/// Where the disk can't say.
pub fn ground(dir: &Path) -> Result<Ground, PathError> {
    let dotdir = dir.join(".loci");
    let names = match disk::look(&dotdir)? {
        None => None,
        Some(_) => Some(disk::list(&dotdir)?.into_iter().map(|entry| entry.name).collect()),
    };
    let file = dotdir.join("owner.md");
    let owner_file = match disk::look(&file)? {
        None => None,
        Some(meta) => Some((disk::read(&file)?, meta.mode)),
    };
    let leftover = disk::look(&dir.join(ASIDE))?.is_some();
    Ok(Ground { dir: dir.to_owned(), dotdir: names, owner_file, leftover })
}

/// The text of an owner file.
#[must_use]
pub fn text(owner: &AgentId, body: Option<&str>, since: Timestamp, note: Option<&str>) -> String {
    let mut text = format!("---\nowner: {owner}\n");
    if let Some(body) = body {
        text += &format!("body: {}\n", if plain(body) { body.to_owned() } else { yaml::scalar(body) });
    }
    text += &format!("since: {}\n---\n", time::to_second(since));
    if let Some(note) = note.map(str::trim).filter(|note| !note.is_empty()) {
        text += note;
        text.push('\n');
    }
    text
}

/// Whether a path can stand in YAML without quotes.
fn plain(text: &str) -> bool {
    let first = text.chars().next();
    first.is_some_and(|c| c.is_ascii_alphabetic() || c == '.')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '-' | '_'))
}

/// The plan that makes somebody the owner. A `.loci` that is not there is built aside and renamed,
/// so that it appears with its owner file or not at all.
#[must_use]
pub fn own(ground: &Ground, text: &str) -> Plan {
    let dotdir = ground.dir.join(".loci");
    let write = |path: PathBuf| Step::Write { path, data: text.as_bytes().to_vec(), mode: None, was: None };
    let steps = if ground.dotdir.is_some() {
        vec![write(dotdir.join("owner.md"))]
    } else {
        let aside = ground.dir.join(ASIDE);
        vec![Step::MakeDir { path: aside.clone() }, write(aside.join("owner.md")), Step::Rename { from: aside, to: dotdir }]
    };
    Plan { steps }
}

/// The plan that takes the owner file away, and a `.loci` that held nothing else with it. Empty
/// where there is no owner file.
#[must_use]
pub fn disown(ground: &Ground) -> Plan {
    let Some((was, mode)) = ground.owner_file.clone() else { return Plan::default() };
    let dotdir = ground.dir.join(".loci");
    let alone = ground.dotdir.as_ref().is_some_and(|names| names.len() == 1);
    let steps = if alone {
        let aside = ground.dir.join(ASIDE);
        vec![
            Step::Rename { from: dotdir, to: aside.clone() },
            Step::Remove { path: aside.join("owner.md"), was, mode },
            Step::RemoveDir { path: aside },
        ]
    } else {
        vec![Step::Remove { path: dotdir.join("owner.md"), was, mode }]
    };
    Plan { steps }
}

/// An owner file with another body pinned, another note, or both; every other byte stays. `None` where
/// it is written in a way in which that can't be done safely.
#[must_use]
pub fn corrected(path: &Path, data: &[u8], body: Option<&str>, note: Option<&str>) -> Option<Vec<u8>> {
    let there = card::parse_owner(path, data).ok()?;
    let head_len = data.len().checked_sub(there.note.len())?;
    let mut head = std::str::from_utf8(data.get(..head_len)?).ok()?.to_owned();
    let note = note.map_or_else(|| there.note.clone(), |note| format!("{}\n", note.trim()));
    if let Some(body) = body {
        let line = format!("body: {}\n", if plain(body) { body.to_owned() } else { yaml::scalar(body) });
        let after = there.body_line.or(there.owner.line)?;
        let mut lines: Vec<&str> = head.split_inclusive('\n').collect();
        if there.body_line.is_some() {
            *lines.get_mut(after.checked_sub(1)?)? = &line;
        } else {
            lines.insert(after.min(lines.len()), &line);
        }
        head = lines.concat();
    }
    let text = format!("{head}{note}");
    // Whatever the file looked like: only what reads as meant is written.
    let read = card::parse_owner(path, text.as_bytes()).ok()?;
    let body = body.map_or(there.body, |body| Some(PathBuf::from(body)));
    let same =
        read.owner.value == there.owner.value && read.commons == there.commons && read.since == there.since && read.extra == there.extra;
    (same && read.body == body && read.note == note).then(|| text.into_bytes())
}

/// The path from one real directory to another, relative; `None` where it is not UTF-8.
#[must_use]
pub fn relative(from: &Path, to: &Path) -> Option<String> {
    let (mut a, mut b) = (from.components().peekable(), to.components().peekable());
    while a.peek().is_some() && a.peek() == b.peek() {
        a.next();
        b.next();
    }
    let mut parts: Vec<String> = a.map(|_| "..".to_owned()).collect();
    for part in b {
        parts.push(part.as_os_str().to_str()?.to_owned());
    }
    Some(if parts.is_empty() { ".".to_owned() } else { parts.join("/") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_from_one_directory_to_another() {
        for (from, to, wanted) in [("/a/b", "/a/b", "."), ("/a/b", "/a/c/d", "../c/d"), ("/a", "/a/b", "b"), ("/a/b", "/", "../..")] {
            assert_eq!(relative(Path::new(from), Path::new(to)).as_deref(), Some(wanted));
        }
    }

    #[test]
    fn a_correction_keeps_every_other_byte() {
        let fix =
            |text: &str, body, note| corrected(Path::new("/x"), text.as_bytes(), body, note).map(|data| String::from_utf8(data).unwrap());
        let text = "---\n# mine\nowner: bob   # him\nbody: ../old\ncommons: [a, b]\nmine: 1\n---\nAsk.\n";
        assert_eq!(fix(text, Some("../new"), None).as_deref(), Some(&*text.replace("../old", "../new")));
        assert_eq!(fix(text, None, Some("Other.")).as_deref(), Some(&*text.replace("Ask.", "Other.")));
        assert_eq!(fix("---\nowner: bob\n---\n", Some("."), None).as_deref(), Some("---\nowner: bob\nbody: .\n---\n"));
        // A value over two lines is not cut in half.
        assert_eq!(fix("---\nowner: bob\nbody: >-\n  ../old\n---\n", Some("../new"), None), None);
    }

    #[test]
    fn what_is_written_is_read() {
        let id = AgentId::new("bob").unwrap();
        for body in [".", "../a b: c", "-x", "ünder \"q\"", "a\nb"] {
            let text = text(&id, Some(body), Timestamp::UNIX_EPOCH, Some("Ask me.\n---\nowner: eve\n"));
            let read = card::parse_owner(Path::new("/x"), text.as_bytes()).unwrap();
            assert_eq!(read.owner.value, id);
            assert_eq!(read.body.as_deref(), Some(Path::new(body)), "{text}");
            assert_eq!(read.note, "Ask me.\n---\nowner: eve\n");
            assert_eq!(read.since.as_deref(), Some("1970-01-01T00:00:00Z"));
        }
    }
}
