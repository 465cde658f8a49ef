//! Applies one section of a patch to the text it is about: strictly, and only where it can mean one
//! place. What does not fit is no change that anybody could apply later.

use super::patch::SectionKind;

/// What a section makes of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patched {
    /// The new text; `None`: the file goes.
    pub text: Option<String>,
    /// The permission bits that it sets.
    pub mode: Option<u32>,
}

#[derive(Default)]
struct Hunk<'a> {
    /// The line it says it starts at, from 1.
    at: Option<usize>,
    /// A line that has to stand before it.
    anchor: Option<&'a str>,
    old: Vec<&'a str>,
    new: Vec<&'a str>,
}

/// Applies a section to the text of its file (`None`: not there); `None` where it does not fit, is about
/// a link, or is binary.
#[must_use]
pub fn apply(kind: SectionKind, section: &str, base: Option<&str>) -> Option<Patched> {
    let mut mode = None;
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    let mut counts: Option<(usize, usize)> = None;
    let mut last = ' ';
    let starred = section.trim_start().starts_with("*** ");
    for line in section.split_inclusive('\n') {
        let bare = line.trim_end_matches(['\n', '\r']);
        let inside = match counts {
            Some((old, new)) => old > 0 || new > 0,
            None => !hunks.is_empty(),
        };
        if let Some(note) = bare.strip_prefix('\\') {
            // `\ No newline at end of file`: what came before has no end.
            if note.starts_with(" No newline")
                && let Some(hunk) = hunks.last_mut()
            {
                let strip = |lines: &mut Vec<&str>| {
                    if let Some(end) = lines.last_mut() {
                        *end = end.trim_end_matches('\n');
                    }
                };
                if last != '+' {
                    strip(&mut hunk.old);
                }
                if last != '-' {
                    strip(&mut hunk.new);
                }
            }
            continue;
        }
        if bare.starts_with("@@") && !(inside && counts.is_some()) {
            let (at, found) = position(bare);
            counts = found;
            let anchor = (at.is_none()).then(|| bare.trim_start_matches('@').trim()).filter(|text| !text.is_empty());
            hunks.push(Hunk { at, anchor, ..Hunk::default() });
            continue;
        }
        if starred && bare.trim_start().starts_with("*** ") {
            // The header of the section, `Move to`, `End of File`.
            if kind == SectionKind::Add && hunks.is_empty() {
                hunks.push(Hunk::default());
            }
            continue;
        }
        if !inside {
            if bare.starts_with("GIT binary patch") || bare.starts_with("Binary files ") {
                return None;
            }
            if let Some(bits) = bare.strip_prefix("new file mode ").or_else(|| bare.strip_prefix("new mode ")) {
                mode = Some(bits_of(bits)?);
            }
            // A hunk may come before its header in a patch without `@@`.
            if starred && kind == SectionKind::Update && bare.starts_with([' ', '+', '-']) {
                hunks.push(Hunk::default());
            } else {
                continue;
            }
        }
        let hunk = hunks.last_mut()?;
        let rest = line.get(1..).unwrap_or_default();
        let sign = match line.chars().next() {
            Some(sign @ ('+' | '-' | ' ')) => sign,
            // An empty line of context that lost its blank.
            Some('\n' | '\r') => ' ',
            _ => return None,
        };
        last = sign;
        let text = if bare.is_empty() { line } else { rest };
        if sign != '+' {
            hunk.old.push(text);
        }
        if sign != '-' {
            hunk.new.push(text);
        }
        if let Some((old, new)) = counts.as_mut() {
            *old = old.saturating_sub(usize::from(sign != '+'));
            *new = new.saturating_sub(usize::from(sign != '-'));
        }
    }
    if counts.is_some_and(|(old, new)| old > 0 || new > 0) {
        return None;
    }
    match kind {
        SectionKind::Delete => base.map(|_| Patched { text: None, mode: None }),
        SectionKind::Add => Some(Patched { text: Some(hunks.iter().flat_map(|hunk| hunk.new.iter().copied()).collect()), mode }),
        SectionKind::Update => Some(Patched { text: Some(patched(base?, &hunks)?), mode }),
    }
}

/// `100755` as permission bits; only those of regular files.
fn bits_of(text: &str) -> Option<u32> {
    match text.trim() {
        "100644" => Some(0o644),
        "100755" => Some(0o755),
        _ => None,
    }
}

/// The old position and the counts of `@@ -1,2 +3,4 @@`; both are nothing for other forms.
fn position(line: &str) -> (Option<usize>, Option<(usize, usize)>) {
    let mut words = line.trim_start_matches('@').split_whitespace();
    let mut side = |sign: char| {
        let word = words.next()?.strip_prefix(sign)?;
        let (at, count) = word.split_once(',').unwrap_or((word, "1"));
        Some((at.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
    };
    match (side('-'), side('+')) {
        (Some((at, old)), Some((_, new))) => (Some(at), Some((old, new))),
        _ => (None, None),
    }
}

fn patched(base: &str, hunks: &[Hunk<'_>]) -> Option<String> {
    let lines: Vec<&str> = base.split_inclusive('\n').collect();
    let mut out = String::with_capacity(base.len());
    let mut cursor = 0;
    for hunk in hunks {
        let mut from = cursor;
        if let Some(anchor) = hunk.anchor {
            from += lines.get(cursor..)?.iter().position(|line| line.trim() == anchor)? + 1;
        }
        let fits = |at: usize| {
            lines.get(at..at.checked_add(hunk.old.len())?).filter(|there| there.iter().zip(&hunk.old).all(|(a, b)| same(a, b))).map(|_| at)
        };
        let said = hunk.at.map(|at| if hunk.old.is_empty() { at } else { at.saturating_sub(1) }).filter(|at| *at >= from);
        let at = match said.and_then(fits) {
            Some(at) => at,
            // Nothing says where: at the end.
            None if hunk.old.is_empty() && hunk.at.is_none() => {
                if hunk.anchor.is_some() {
                    from
                } else {
                    lines.len()
                }
            }
            None if hunk.old.is_empty() => return None,
            None => (from..lines.len()).find_map(fits)?,
        };
        out.extend(lines.get(cursor..at)?.iter().copied());
        if out.len() > base.len() + (64 << 20) {
            return None;
        }
        // An end of file without a line end must not swallow what is put behind it.
        if !out.is_empty() && !out.ends_with('\n') && !hunk.new.is_empty() {
            out.push('\n');
        }
        out.extend(hunk.new.iter().copied());
        cursor = at + hunk.old.len();
    }
    out.extend(lines.get(cursor..)?.iter().copied());
    Some(out)
}

fn same(a: &str, b: &str) -> bool {
    a == b || a.strip_suffix('\n').unwrap_or(a) == b.strip_suffix('\n').unwrap_or(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::custody::{diff, patch};

    fn once(patch_text: &str, base: Option<&str>) -> Option<Patched> {
        let sections = patch::sections(patch_text);
        assert_eq!(sections.len(), 1, "{patch_text}");
        apply(sections[0].kind, &patch_text[sections[0].range.clone()], base)
    }

    fn text(patch_text: &str, base: &str) -> Option<String> {
        once(patch_text, Some(base)).and_then(|patched| patched.text)
    }

    #[test]
    fn starred_patches_apply_where_they_fit() {
        let patch = "*** Begin Patch\n*** Update File: a\n@@ fn two\n-x\n+y\n*** End Patch\n";
        assert_eq!(text(patch, "x\nfn two\nx\n").as_deref(), Some("x\nfn two\ny\n"));
        assert_eq!(text(patch, "x\nfn three\nx\n"), None);
        assert_eq!(text("*** Update File: a\n@@\n one\n-two\n+2\n", "one\ntwo").as_deref(), Some("one\n2\n"));
        assert_eq!(text("*** Update File: a\n@@\n+end\n", "one").as_deref(), Some("one\nend\n"));
        assert_eq!(once("*** Add File: a\n+one\n+two\n", None).unwrap().text.as_deref(), Some("one\ntwo\n"));
        assert_eq!(once("*** Delete File: a\n", Some("x")), Some(Patched { text: None, mode: None }));
        assert_eq!(once("*** Delete File: a\n", None), None);
    }

    #[test]
    fn modes_links_and_binaries() {
        let mode = "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n";
        assert_eq!(once(mode, Some("x\n")), Some(Patched { text: Some("x\n".into()), mode: Some(0o755) }));
        assert_eq!(once("diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc\n", None), None);
        assert_eq!(once("diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 3\n", Some("x")), None);
        assert_eq!(text("--- a/x\n+++ b/x\n@@ -1,5 +1,1 @@\n-x\n", "x\n"), None);
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

        /// Whatever is compared, its diff leads from the one to the other.
        #[test]
        fn our_own_diffs_apply(
            old in "([a-c\r\x0b\x0c\u{85}\u{2028}\u{2029}]{0,2}\n){0,12}[a-c\r\u{2028}]{0,2}",
            new in "([a-c\r\x0b\x0c\u{85}\u{2028}\u{2029}]{0,2}\n){0,12}[a-c\r\u{2028}]{0,2}",
        ) {
            if let diff::Difference::Text(patch) = diff::difference("x", Some(old.as_bytes()), Some(new.as_bytes())) {
                proptest::prop_assert_eq!(text(&patch, &old), Some(new), "{:?}", patch);
            }
        }

        /// Whatever comes: no panic.
        #[test]
        fn any_section(lines in proptest::collection::vec("(@@ ?(-[0-9]{1,20},?[0-9]{0,20} \\+[0-9]{1,3})?|\\*\\*\\* |[ +-]|\\\\ No newline)?[aé\\\\]{0,3}", 0..16), base in "[aé\n]{0,12}") {
            for kind in [SectionKind::Add, SectionKind::Update, SectionKind::Delete] {
                let _ = apply(kind, &lines.join("\n"), Some(&base));
                let _ = apply(kind, &format!("*** x\n{}", lines.join("\n")), Some(&base));
            }
        }
    }
}
