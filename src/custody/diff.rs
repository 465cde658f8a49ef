//! The captured change, as a unified diff against the file as it is now.

use std::fmt::Write as _;
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use crate::text::digest;

/// A side that is longer is not compared, only named by its digest.
pub const MAX_SIDE: usize = 2 << 20;

/// How long the comparison may look for the shortest diff before it takes a longer one.
const PATIENCE: Duration = Duration::from_millis(250);

/// The difference between two contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// A diff that `git apply` and `patch -p1` take.
    Text(String),
    /// No text, or too much of it: what was, what would be.
    Digest(String),
    /// The two are the same.
    None,
}

/// Compares. `name` is the path in the headers, relative to the owned directory; `None` for a side
/// means that the file is not there.
#[must_use]
pub fn difference(name: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Difference {
    if old == new {
        return Difference::None;
    }
    let text = |side: Option<&[u8]>| -> Option<String> {
        let data = side.unwrap_or_default();
        (data.len() <= MAX_SIDE && !data.contains(&0)).then(|| std::str::from_utf8(data).ok().map(str::to_owned)).flatten()
    };
    let (Some(was), Some(will)) = (text(old), text(new)) else {
        return Difference::Digest(format!("{name}\nold: {}\nnew: {}\n", side(old), side(new)));
    };
    let (from, to) = (quoted(&format!("a/{name}")), quoted(&format!("b/{name}")));
    let mut out = format!("diff --git {from} {to}\n");
    match (old, new) {
        (None, _) => out.push_str("new file mode 100644\n"),
        (_, None) => out.push_str("deleted file mode 100644\n"),
        _ => {}
    }
    let names = (if old.is_none() { "/dev/null" } else { &from }, if new.is_none() { "/dev/null" } else { &to });
    out.push_str(&unified(&was, &will, names, 3));
    Difference::Text(out)
}

/// What leads from one text to another: the lines of names and the hunks of a unified diff, with so many lines of
/// context. Empty where the two are the same. A line ends with `\n` and with nothing else, as for git and for
/// [`super::hunk`]: a `\r`, or what Unicode calls a line end, is a character of its line.
#[must_use]
pub fn unified(old: &str, new: &str, names: (&str, &str), context: usize) -> String {
    let lines = |text| str::split_inclusive(text, '\n').collect::<Vec<_>>();
    let (was, will) = (lines(old), lines(new));
    let diff = TextDiff::configure().timeout(PATIENCE).diff_slices(&was, &will);
    let mut out = String::new();
    for hunk in diff.unified_diff().context_radius(context).iter_hunks() {
        // Writing to a string can't fail.
        if out.is_empty() {
            let _ = writeln!(out, "--- {}\n+++ {}", names.0, names.1);
        }
        let _ = writeln!(out, "{}", hunk.header());
        for change in hunk.iter_changes() {
            out.push(match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            });
            out.push_str(change.value());
            if !change.value().ends_with('\n') {
                out.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    out
}

fn side(data: Option<&[u8]>) -> String {
    data.map_or_else(|| "not there".to_owned(), |data| format!("{} bytes, sha256 {}", data.len(), digest::sha256(data)))
}

/// A name as git writes it in headers: C-style quotes where it has to.
fn quoted(name: &str) -> String {
    if name.bytes().all(|byte| (b' '..0x7f).contains(&byte) && byte != b'"' && byte != b'\\') {
        return name.to_owned();
    }
    let mut out = String::from("\"");
    for byte in name.bytes() {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            b' '..0x7f => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\{byte:03o}")),
        }
    }
    out.push('"');
    out
}

/// Applies edits in order: the first place of each old text, or all. `None` where one does not
/// stand in the text.
#[must_use]
pub fn edited(text: &str, edits: &[(String, String, bool)]) -> Option<String> {
    let mut text = text.to_owned();
    for (old, new, all) in edits {
        if old.is_empty() {
            // An empty old text means a new file, or one that is written anew.
            text = new.clone();
        } else if !text.contains(old.as_str()) {
            return None;
        } else if *all {
            text = text.replace(old.as_str(), new);
        } else {
            text = text.replacen(old.as_str(), new, 1);
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(difference: Difference) -> String {
        match difference {
            Difference::Text(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn text_is_compared() {
        assert_eq!(
            text(difference("a.txt", Some(b"alpha\nbeta\n"), Some(b"alpha\nBETA"))),
            "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n alpha\n-beta\n+BETA\n\\ No newline at end of file\n"
        );
        assert!(
            text(difference("n", None, Some(b"x\n")))
                .starts_with("diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1")
        );
        assert!(text(difference("n", Some(b"x\n"), None)).contains("deleted file mode 100644\n--- a/n\n+++ /dev/null\n"));
        assert_eq!(difference("n", Some(b"x"), Some(b"x")), Difference::None);
    }

    #[test]
    fn what_is_no_text_is_named_by_digest() {
        for odd in [&b"a\0b"[..], b"\xff\xfe", &vec![b'a'; MAX_SIDE + 1]] {
            let Difference::Digest(text) = difference("n", Some(b"x"), Some(odd)) else { panic!() };
            assert!(text.contains(&crate::text::digest::sha256(odd)), "{text}");
        }
    }

    #[test]
    fn a_name_cannot_forge_a_header() {
        let diff = text(difference("a\n+++ b/evil", Some(b"x\n"), Some(b"y\n")));
        assert!(diff.starts_with("diff --git \"a/a\\012+++ b/evil\" \"b/a\\012+++ b/evil\"\n"), "{diff}");
    }

    #[test]
    fn edits_apply_in_order() {
        let edit = |old: &str, new: &str, all| (old.to_owned(), new.to_owned(), all);
        assert_eq!(edited("a b a", &[edit("a", "c", false), edit("c b", "x", false)]).as_deref(), Some("x a"));
        assert_eq!(edited("a b a", &[edit("a", "c", true)]).as_deref(), Some("c b c"));
        assert_eq!(edited("a", &[edit("z", "c", false)]), None);
        assert_eq!(edited("", &[edit("", "new", false)]).as_deref(), Some("new"));
    }
}
