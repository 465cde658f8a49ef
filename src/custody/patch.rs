//! Which files a patch touches: the section headers of the patch formats that agents write.
//!
//! Two grammars: the one with `*** Update File:` lines, and unified diffs with or without git's
//! headers. Only headers are read; what stands in a hunk is data. In the first one counts mean nothing
//! and a header is one wherever it stands alone on a line, as whoever applies it reads it: what looks
//! like the other grammar never hides a section.

mod names;

use std::ops::Range;

use names::{both_names, file_name, unquoted};

/// What a section does to its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionKind {
    /// Makes it.
    Add,
    /// Changes it.
    Update,
    /// Takes it away.
    Delete,
}

/// The part of a patch that is about one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// What it does.
    pub kind: SectionKind,
    /// The file, as the patch names it; git's `a/` and `b/` are taken off.
    pub path: String,
    /// The name it gets, where the section renames it.
    pub to: Option<String>,
    /// Where the section stands in the text.
    pub range: Range<usize>,
}

/// The sections of a patch, in order. Text that is no patch has none.
#[must_use]
pub fn sections(text: &str) -> Vec<Section> {
    let begins = |line: &str| starred(line).is_some_and(|rest| word(rest, "Begin Patch").is_some_and(|rest| rest.trim().is_empty()));
    if text.lines().find(|line| !line.trim().is_empty()).is_some_and(begins) {
        return read(text, true);
    }
    let mut found = read(text, false);
    if text.lines().any(begins) {
        // Which of the two it is depends on who applies it.
        found.extend(read(text, true));
        found.sort_by_key(|section| section.range.start);
        found.dedup_by(|a, b| a.range.start == b.range.start && a.path == b.path && a.to == b.to && a.kind == b.kind);
    }
    found
}

fn read(text: &str, stars: bool) -> Vec<Section> {
    let mut reader = Reader {
        sections: Vec::new(),
        open: None,
        hunk: Hunk::Outside,
        minus: None,
        star: None,
        only_stars: stars,
        in_stars: stars,
        copied: false,
    };
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        reader.line(line.trim_end_matches(['\n', '\r']), at);
        at += line.len();
    }
    reader.close(at);
    reader.sections
}

/// What the next lines are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hunk {
    /// Headers.
    Outside,
    /// Lines of a hunk that has no counts: those that begin with a blank, `+` or `-`.
    Open,
    /// So many old and new lines of a hunk with counts.
    Counted(u64, u64),
}

struct Reader {
    sections: Vec<Section>,
    open: Option<Section>,
    hunk: Hunk,
    /// The old name of a unified diff, and where its line stands.
    minus: Option<(Option<String>, usize)>,
    /// The old name of a context diff, and where its line stands.
    star: Option<(Option<String>, usize)>,
    /// Whether the other grammar is left out.
    only_stars: bool,
    /// Whether a line with stars began what is open.
    in_stars: bool,
    /// Whether git says that the section makes a copy: the old name is only read.
    copied: bool,
}

impl Reader {
    fn close(&mut self, at: usize) {
        if let Some(mut section) = self.open.take() {
            section.range.end = at;
            // A `diff --git` line whose names could not be told apart, and nothing after it did.
            if !section.path.is_empty() {
                self.sections.push(section);
            }
        }
    }

    fn begin(&mut self, kind: SectionKind, path: String, at: usize) {
        self.close(at);
        self.hunk = Hunk::Outside;
        self.in_stars = self.only_stars;
        self.copied = false;
        self.open = Some(Section { kind, path, to: None, range: at..at });
    }

    fn line(&mut self, line: &str, at: usize) {
        if self.in_stars {
            if let Some(rest) = starred(line) {
                self.starred(rest, at);
                return;
            }
            if self.only_stars || !line.starts_with("diff --git ") {
                return;
            }
        }
        match self.hunk {
            Hunk::Counted(old, new) if old > 0 || new > 0 => {
                match line.bytes().next() {
                    Some(b'-') => self.hunk = Hunk::Counted(old.saturating_sub(1), new),
                    Some(b'+') => self.hunk = Hunk::Counted(old, new.saturating_sub(1)),
                    Some(b'\\') => {}
                    _ => self.hunk = Hunk::Counted(old.saturating_sub(1), new.saturating_sub(1)),
                }
                return;
            }
            Hunk::Open if line.starts_with([' ', '+', '-']) => return,
            _ => {}
        }
        if let Some(rest) = starred(line) {
            self.starred(rest, at);
            // `*** 1,4 ****` stands over the old lines of a context diff.
            let lines = rest.trim().trim_end_matches('*').trim().bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
            if !self.in_stars && !lines {
                self.star = Some((file_name(rest, "a/"), at));
            }
        } else if let Some(counts) = line.strip_prefix("@@") {
            self.hunk = counted(counts).unwrap_or(Hunk::Open);
        } else {
            self.unified(line, at);
        }
    }

    /// `*** Update File: path` and its kin; other lines with stars mean nothing.
    fn starred(&mut self, rest: &str, at: usize) {
        let named = |header: &str| word(rest, header).map(|path| path.trim().to_owned());
        if let Some(path) = named("Add File:") {
            self.begin(SectionKind::Add, path, at);
            self.in_stars = true;
        } else if let Some(path) = named("Update File:") {
            self.begin(SectionKind::Update, path, at);
            self.in_stars = true;
        } else if let Some(path) = named("Delete File:") {
            self.begin(SectionKind::Delete, path, at);
            self.in_stars = true;
        } else if let Some(both) = named("Move File:") {
            let (from, to) = both.split_once("->").unwrap_or((&both, ""));
            self.begin(SectionKind::Update, from.trim().to_owned(), at);
            self.in_stars = true;
            self.renamed(to.trim().to_owned());
        } else if let Some(path) = named("Move to:") {
            self.renamed(path);
        } else if word(rest, "End Patch").is_some_and(|rest| rest.trim().is_empty()) {
            self.close(at);
            self.hunk = Hunk::Outside;
            self.in_stars = self.only_stars;
        }
    }

    fn renamed(&mut self, to: String) {
        if let Some(section) = self.open.as_mut().filter(|_| !to.is_empty()) {
            section.to = Some(to);
        }
    }

    fn unified(&mut self, line: &str, at: usize) {
        if let Some(names) = line.strip_prefix("diff --git ") {
            let (old, new) = both_names(names).unwrap_or_default();
            self.begin(SectionKind::Update, old.clone(), at);
            if new != old {
                self.renamed(new);
            }
        } else if line.starts_with("new file mode") {
            self.set_kind(SectionKind::Add);
        } else if line.starts_with("deleted file mode") {
            self.set_kind(SectionKind::Delete);
        } else if let Some(path) = line.strip_prefix("rename from ") {
            if let Some(section) = self.open.as_mut() {
                section.path = unquoted(path);
            }
        } else if let Some(path) = line.strip_prefix("rename to ") {
            self.renamed(unquoted(path));
        } else if let Some(path) = line.strip_prefix("copy to ") {
            if let Some(section) = self.open.as_mut() {
                (section.kind, section.path, section.to) = (SectionKind::Add, unquoted(path), None);
                self.copied = true;
            }
        } else if let Some(path) = line.strip_prefix("Index: ") {
            self.begin(SectionKind::Update, path.trim().to_owned(), at);
        } else if let Some(path) = line.strip_prefix("--- ") {
            if let Some((old, from)) = self.star.take() {
                self.pair(old, file_name(path, "b/"), from);
                return;
            }
            self.minus = Some((file_name(path, "a/"), at));
        } else if let Some(path) = line.strip_prefix("+++ ") {
            let Some((old, from)) = self.minus.take() else { return };
            self.pair(old, file_name(path, "b/"), from);
        }
    }

    fn set_kind(&mut self, kind: SectionKind) {
        if let Some(section) = self.open.as_mut() {
            section.kind = kind;
        }
    }

    /// The two name lines: they begin a section, or say more about the one that git's line began.
    fn pair(&mut self, old: Option<String>, new: Option<String>, at: usize) {
        let (kind, path) = match (&old, &new) {
            (None, Some(new)) => (SectionKind::Add, new.clone()),
            (Some(old), None) => (SectionKind::Delete, old.clone()),
            (Some(old), Some(_)) => (SectionKind::Update, old.clone()),
            (None, None) => return,
        };
        let (kind, path) = if self.copied { (SectionKind::Add, new.clone().unwrap_or(path)) } else { (kind, path) };
        let fresh = self.open.as_ref().is_none_or(|section| section.range.start < at && self.hunk != Hunk::Outside);
        if fresh {
            self.begin(kind, path, at);
        } else if let Some(section) = self.open.as_mut() {
            section.kind = kind;
            section.path = path;
        }
        if let (Some(old), Some(new)) = (old, new)
            && old != new
            && !self.copied
        {
            self.renamed(new);
        }
    }
}

/// What stands behind the stars of a line. Those who apply a patch differ in how many blanks they want there.
fn starred(line: &str) -> Option<&str> {
    line.trim().strip_prefix("***").filter(|rest| !rest.starts_with('*')).map(str::trim_start)
}

/// What stands behind a header, whatever blanks are between its words and before its colon.
fn word<'a>(rest: &'a str, header: &str) -> Option<&'a str> {
    let colon = header.ends_with(':');
    let mut left = rest;
    for part in header.trim_end_matches(':').split(' ') {
        left = left.trim_start().strip_prefix(part)?;
    }
    if colon { left.trim_start().strip_prefix(':') } else { Some(left) }
}

/// The counts of `@@ -1,2 +3,4 @@`.
fn counted(rest: &str) -> Option<Hunk> {
    let mut words = rest.split_whitespace();
    let count = |word: &str, sign: char| {
        let word = word.strip_prefix(sign)?;
        word.split_once(',').map_or(Some(1), |(_, count)| count.parse::<u64>().ok())
    };
    Some(Hunk::Counted(count(words.next()?, '-')?, count(words.next()?, '+')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Vec<(SectionKind, String, Option<String>)> {
        sections(text).into_iter().map(|section| (section.kind, section.path, section.to)).collect()
    }

    fn plain(kind: SectionKind, path: &str) -> (SectionKind, String, Option<String>) {
        (kind, path.to_owned(), None)
    }

    #[test]
    fn starred_patches() {
        use SectionKind::{Add, Delete, Update};
        let text = "*** Begin Patch\n*** Add File: a b.txt\n+*** Add File: data\n*** Update File: u.txt\n*** Move to: v.txt\n@@ fn x\n \
                    *** Delete File: data\n-one\n+two\n*** Delete File: d.txt\n   *** Update File: e.txt\n@@\n+x\n*** End Patch\n";
        assert_eq!(
            named(text),
            [
                plain(Add, "a b.txt"),
                (Update, "u.txt".to_owned(), Some("v.txt".to_owned())),
                // A blank before it makes no data of a header.
                plain(Delete, "data"),
                plain(Delete, "d.txt"),
                plain(Update, "e.txt"),
            ]
        );
        let found = sections(text);
        assert!(text[found[1].range.clone()].starts_with("*** Update File: u.txt\n"));
        assert!(text[found[1].range.clone()].ends_with("@@ fn x\n"));
        assert_eq!(named("*** Move File: a -> b/c"), [(Update, "a".to_owned(), Some("b/c".to_owned()))]);
    }

    #[test]
    fn neither_grammar_hides_a_section_of_the_other() {
        use SectionKind::{Add, Delete, Update};
        for (text, wanted) in [
            (
                "*** Begin Patch\n*** Update File: a\n@@ -1,999 +1,999 @@\n x\n*** Update File: o\n@@\n+x\n*** End Patch\n",
                vec![plain(Update, "a"), plain(Update, "o")],
            ),
            ("*** Update File: a\n@@ -1,999 +1,999 @@\n*** Update File: o\n", vec![plain(Update, "a"), plain(Update, "o")]),
            ("\n*** Begin Patch\n*** Add File: a\n+x\n *** Update File: o\n@@\n", vec![plain(Add, "a"), plain(Update, "o")]),
            ("*** Begin Patch\n*** Update File: o\n--- a/x\n+++ b/x\n*** End Patch", vec![plain(Update, "o")]),
            ("*** Begin Patch\n*** Delete File: o\ndiff --git a/x b/x\n", vec![plain(Delete, "o")]),
            // A diff with such a line in its context is still a diff.
            ("--- a/o\n+++ b/o\n@@ -1,2 +1,2 @@\n *** Begin Patch\n-x\n+y\n", vec![plain(Update, "o")]),
            (
                "diff --git a/o b/n\nsimilarity index 90%\ncopy from o\ncopy to n\n--- a/o\n+++ b/n\n@@ -1 +1 @@\n-a\n+b\n",
                vec![plain(Add, "n")],
            ),
            ("Index: o\n=====\n--- o\t(revision 1)\n+++ o\t(working copy)\n@@ -1 +1 @@\n-a\n+b\n", vec![plain(Update, "o")]),
            ("*** a/o\t2026\n--- b/o\t2026\n***************\n*** 1,2 ****\n! a\n--- 1,2 ----\n! b\n", vec![plain(Update, "o")]),
        ] {
            let found: Vec<_> = named(text);
            assert!(
                wanted.iter().all(|section| found.contains(section)) && found.iter().all(|(_, path, to)| to.is_none() && path != "x"),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn unified_diffs() {
        use SectionKind::{Add, Delete, Update};
        let text = "--- a/x.txt\t2026\n+++ b/x.txt\n@@ -1,2 +1,2 @@\n--- y\n+++ z\n same\n--- /dev/null\n+++ b/new file\n@@ -0,0 +1 @@\n+n\n\
                    diff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-o\n\
                    diff --git a/p b/q\nsimilarity index 100%\nrename from p\nrename to q\n\
                    diff --git \"a/t\\303\\244\\tb\" \"b/t\\303\\244\\tb\"\nold mode 100644\nnew mode 100755\n";
        assert_eq!(
            named(text),
            [
                plain(Update, "x.txt"),
                plain(Add, "new file"),
                plain(Delete, "old"),
                (Update, "p".to_owned(), Some("q".to_owned())),
                plain(Update, "tä\tb"),
            ]
        );
        assert!(named("just text\n--- a rule\nand more\n").is_empty());
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

        /// Whatever comes: no panic, and sections that lie in the text in order.
        #[test]
        fn any_text(lines in proptest::collection::vec("(\\*\\*\\* (Add|Update|Delete|Move) (File|to): ?|--- |\\+\\+\\+ |diff --git |@@ ?|rename (from|to) |[ +-])?[ab/\"\\\\0-9 ,é→-]{0,12}", 0..24)) {
            let text = lines.join("\n");
            let mut end = 0;
            for section in sections(&text) {
                proptest::prop_assert!(section.range.start >= end && text.get(section.range.clone()).is_some());
                end = section.range.end;
            }
        }
    }
}
