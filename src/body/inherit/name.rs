//! The lines of a child's identity files that are its own: id, parent and owner. Nothing else in them changes.

use std::path::Path;

use super::{InheritError, Inheritance, What, unfit};
use crate::body::layout;
use crate::sys::{disk, shown};
use crate::text::header;
use crate::text::name::AgentId;
use crate::text::yaml;
use crate::tree::card::{self, AgentFile};

/// Gives the child its id and its parent, and its own directory to itself.
pub(super) fn rename(found: &mut Inheritance, card: &AgentFile, id: &AgentId) -> Result<(), InheritError> {
    let parent = card.id.value.clone();
    for rel in [layout::CARD, layout::OWNER] {
        let Some(item) = found.items.iter_mut().find(|item| item.rel == Path::new(rel)) else {
            if rel == layout::CARD {
                return Err(unfit(&card.path, None, "its identity file is not in it: it is reached through a link, or counts as memory"));
            }
            continue;
        };
        let path = found.parent.join(rel);
        if item.what != What::File {
            return Err(unfit(&path, None, "it is no regular file"));
        }
        let (text, _) = disk::read_start(&path, card::MAX_BYTES)?;
        let mode = disk::look(&path)?.map_or(0o644, |meta| meta.mode & 0o7777);
        let edited = if rel == layout::CARD {
            with_parent(&path, &with_value(&path, &text, "id", parent.as_str(), id.as_str())?, &found.named)?
        } else {
            let owner = card::parse_owner(&path, &text).map_err(|error| unfit(&path, error.line, error.why))?;
            if owner.owner.value != parent {
                found.notes.push(format!("{rel} comes along as it is: it names {}, not {parent}", owner.owner.value));
                continue;
            }
            with_value(&path, &text, "owner", parent.as_str(), id.as_str())?
        };
        let same = if rel == layout::CARD {
            let before = card::parse_agent(&path, &text);
            let after = card::parse_agent(&path, &edited);
            let named = found.named.clone();
            before.is_ok_and(|before| {
                after.is_ok_and(|after| {
                    let Some(id) = Some(after.id.value.clone()).filter(|one| one == id) else { return false };
                    let changed = AgentFile {
                        parent: Some(named),
                        remarks: after.remarks.clone(),
                        id: after.id.clone(),
                        hooks_line: after.hooks_line,
                        ..before
                    };
                    id == changed.id.value && changed == after
                })
            })
        } else {
            card::parse_owner(&path, &edited).is_ok_and(|after| after.owner.value == *id)
        };
        if !same {
            return Err(unfit(
                &path,
                None,
                "its front matter is written in a way that can't be changed line by line: write `key: value`, one a line",
            ));
        }
        item.what = What::Edited(edited, mode);
    }
    for item in &found.items {
        let nested = item.rel.ends_with(layout::OWNER) && item.rel != Path::new(layout::OWNER) && item.what == What::File;
        let theirs = nested
            && disk::read_start(&found.parent.join(&item.rel), card::MAX_BYTES)
                .is_ok_and(|(text, _)| card::parse_owner(&item.rel, &text).is_ok_and(|owner| owner.owner.value == parent));
        if theirs {
            found.notes.push(format!("{} comes along as it is: it still names {parent}", shown::path(&item.rel)));
        }
    }
    Ok(())
}

/// The bytes of line `number`, from 1, with where they begin.
fn line(text: &[u8], number: usize) -> Option<(usize, &[u8])> {
    let mut start = 0;
    for (at, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        if at + 1 == number {
            return Some((start, line));
        }
        start += line.len();
    }
    None
}

/// The text with one value changed in the line where it stands; quotes and comments stay.
fn with_value(path: &Path, text: &[u8], key: &str, old: &str, new: &str) -> Result<Vec<u8>, InheritError> {
    let number = header::parse(text).line(key);
    let odd =
        || unfit(path, number, format!("`{key}` is written in a way that can't be changed: write `{key}: {old}` on a line of its own"));
    let (start, line) = number.and_then(|number| line(text, number)).ok_or_else(odd)?;
    let colon = line.iter().position(|byte| *byte == b':').ok_or_else(odd)?;
    let value = line.get(colon..).and_then(|rest| rest.windows(old.len()).position(|window| window == old.as_bytes())).ok_or_else(odd)?;
    let at = start + colon + value;
    let mut out = text.get(..at).unwrap_or_default().to_vec();
    out.extend_from_slice(new.as_bytes());
    out.extend_from_slice(text.get(at + old.len()..).unwrap_or_default());
    Ok(out)
}

/// The text with the line that names the parent: in place of the one that is there, else behind the id.
fn with_parent(path: &Path, text: &[u8], parent: &str) -> Result<Vec<u8>, InheritError> {
    let header = header::parse(text);
    let there = header.line("parent");
    let odd = || unfit(path, there, "its front matter can't be changed line by line".to_owned());
    let plain = !parent.is_empty() && parent.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c)) && !parent.starts_with('-');
    // A name of digits alone would be read as a number.
    let plain = plain && parent.chars().any(|c| c.is_ascii_alphabetic());
    let value = if plain { parent.to_owned() } else { yaml::scalar(parent) };
    let (start, found) = line(text, there.or_else(|| header.line("id")).ok_or_else(odd)?).ok_or_else(odd)?;
    let ending: &[u8] = if found.ends_with(b"\r\n") { b"\r\n" } else { b"\n" };
    let (head, tail) = if there.is_some() { (start, start + found.len()) } else { (start + found.len(), start + found.len()) };
    let mut out = text.get(..head).unwrap_or_default().to_vec();
    out.extend_from_slice(format!("parent: {value}").as_bytes());
    out.extend_from_slice(ending);
    out.extend_from_slice(text.get(tail..).unwrap_or_default());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str, parent: &str) -> String {
        let path = Path::new("/p/.loci/agent.md");
        let text = with_value(path, text.as_bytes(), "id", "old", "new").unwrap();
        String::from_utf8(with_parent(path, &text, parent).unwrap()).unwrap()
    }

    #[test]
    fn two_lines_change_and_nothing_else() {
        assert_eq!(changed("---\nid: old\nx: old\n---\nold\n", "../old"), "---\nid: new\nparent: ../old\nx: old\n---\nold\n");
        assert_eq!(
            changed("---\r\nx: 1\r\nid: \"old\"  # old\r\n---\r\n", "old"),
            "---\r\nx: 1\r\nid: \"new\"  # old\r\nparent: old\r\n---\r\n"
        );
        assert_eq!(changed("---\nparent: ../a\nid: old\n---\n", "../b c"), "---\nparent: \"../b c\"\nid: new\n---\n");
        assert_eq!(changed("---\nid: old\n---\n", "12"), "---\nid: new\nparent: \"12\"\n---\n");
    }

    #[test]
    fn a_value_that_is_not_written_plainly_is_refused() {
        for text in ["---\nid: >-\n  old\n---\n", "---\nid: \"\\x6fld\"\n---\n"] {
            assert!(with_value(Path::new("x"), text.as_bytes(), "id", "old", "new").is_err(), "{text}");
        }
    }
}
