//! The three-way merge: two versions that come from one base become one, line by line, or the lines
//! are named where they can't.

use std::ops::Range;
use std::time::Duration;

use similar::{DiffTag, TextDiff};

/// How long one comparison may look for the shortest way.
const PATIENCE: Duration = Duration::from_millis(250);

/// Lines that both have changed, each in another way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The first and the last of them as they are now, from 1.
    pub lines: (usize, usize),
}

/// A stretch of the base and what one side made of it.
type Change<'a> = (Range<usize>, Vec<&'a str>);

/// Merges what stands there now and what is wanted, both made from `base`.
///
/// # Errors
/// The places where both changed the same or touching lines in different ways.
pub fn merge(base: &str, now: &str, wanted: &str) -> Result<String, Vec<Conflict>> {
    let lines: Vec<&str> = base.split_inclusive('\n').collect();
    let (ours, theirs) = (changes(&lines, now), changes(&lines, wanted));
    let (mut ours, mut theirs) = (ours.as_slice(), theirs.as_slice());
    let mut out = String::with_capacity(now.len().max(wanted.len()));
    let (mut at, mut line_now) = (0, 1);
    let mut conflicts = Vec::new();
    loop {
        let first = match (ours.first(), theirs.first()) {
            (None, None) => break,
            (Some(one), None) | (None, Some(one)) => one.0.clone(),
            (Some(one), Some(other)) => {
                if one.0.start <= other.0.start {
                    one.0.clone()
                } else {
                    other.0.clone()
                }
            }
        };
        // Everything that touches it is one piece with it.
        let (mut taken, mut end) = ((0, 0), first.end);
        loop {
            let more = |side: &[Change<'_>], from: usize| side.get(from).is_some_and(|change| change.0.start <= end);
            if more(ours, taken.0) {
                end = end.max(ours.get(taken.0).map_or(end, |change| change.0.end));
                taken.0 += 1;
            } else if more(theirs, taken.1) {
                end = end.max(theirs.get(taken.1).map_or(end, |change| change.0.end));
                taken.1 += 1;
            } else {
                break;
            }
        }
        let (mine, rest) = ours.split_at_checked(taken.0).unwrap_or((ours, &[]));
        ours = rest;
        let (other, rest) = theirs.split_at_checked(taken.1).unwrap_or((theirs, &[]));
        theirs = rest;
        let same = lines.get(at..first.start).unwrap_or_default();
        out.extend(same.iter().copied());
        line_now += same.len();
        let (is, would) = (made(&lines, first.start..end, mine), made(&lines, first.start..end, other));
        if other.is_empty() || is == would {
            out.extend(is.iter().copied());
        } else if mine.is_empty() {
            out.extend(would.iter().copied());
        } else {
            conflicts.push(Conflict { lines: (line_now, line_now + is.len().max(1) - 1) });
        }
        line_now += is.len();
        at = end;
    }
    out.extend(lines.get(at..).unwrap_or_default().iter().copied());
    if conflicts.is_empty() { Ok(out) } else { Err(conflicts) }
}

fn changes<'a>(base: &[&'a str], side: &'a str) -> Vec<Change<'a>> {
    let lines: Vec<&str> = side.split_inclusive('\n').collect();
    let diff = TextDiff::configure().timeout(PATIENCE).diff_slices(base, &lines);
    let mut changes: Vec<Change<'a>> = Vec::new();
    for op in diff.ops() {
        let (tag, old, new) = op.as_tag_tuple();
        if tag == DiffTag::Equal {
            continue;
        }
        let new = lines.get(new).unwrap_or_default();
        match changes.last_mut() {
            Some(last) if last.0.end == old.start => {
                last.0.end = old.end;
                last.1.extend(new);
            }
            _ => changes.push((old, new.to_vec())),
        }
    }
    changes
}

/// What a side made of a stretch of the base.
fn made<'a>(base: &[&'a str], stretch: Range<usize>, changes: &[Change<'a>]) -> Vec<&'a str> {
    let mut out = Vec::new();
    let mut at = stretch.start;
    for (old, new) in changes {
        out.extend(base.get(at..old.start).unwrap_or_default());
        out.extend(new);
        at = old.end;
    }
    out.extend(base.get(at..stretch.end).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

    #[test]
    fn what_is_apart_goes_together() {
        assert_eq!(
            merge(BASE, "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n").unwrap(),
            "0\n1\n2\n3\n4\n5\n6\n7\n8\nnine\n"
        );
        assert_eq!(merge(BASE, BASE, "x").unwrap(), "x");
        assert_eq!(merge(BASE, "x", BASE).unwrap(), "x");
        assert_eq!(merge(BASE, "same\n", "same\n").unwrap(), "same\n");
        assert_eq!(merge("a\nb\nc\nd", "a\nb\nc\nD", "A\nb\nc\nd").unwrap(), "A\nb\nc\nD");
    }

    #[test]
    fn what_is_at_odds_is_named() {
        assert_eq!(
            merge(BASE, "0\n1\ntwo\n3\n4\n5\n6\n7\n8\n9\n", "1\nzwei\n3\n4\n5\n6\n7\n8\n9\n"),
            Err(vec![Conflict { lines: (3, 3) }])
        );
        assert!(merge("", "a\n", "b\n").is_err());
        assert!(merge(BASE, "1\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\nthree\n4\n5\n6\n7\n8\n9\n").is_err());
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

        /// One side alone wins whole; both the same is that; and which side is which makes no difference.
        #[test]
        fn laws(base in "([a-c\r]\n){0,8}[a-c\r]?", one in "([a-c\r]\n){0,8}[a-c\r]?", other in "([a-c\r]\n){0,8}[a-c\r]?") {
            proptest::prop_assert_eq!(merge(&base, &one, &base), Ok(one.clone()));
            proptest::prop_assert_eq!(merge(&base, &base, &one), Ok(one.clone()));
            proptest::prop_assert_eq!(merge(&base, &one, &one), Ok(one.clone()));
            let (a, b) = (merge(&base, &one, &other), merge(&base, &other, &one));
            proptest::prop_assert_eq!(a.as_ref().ok(), b.as_ref().ok());
        }
    }
}
