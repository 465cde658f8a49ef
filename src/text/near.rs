//! The word that somebody may have meant.

/// The longest word that is compared, in characters.
const MAX: usize = 64;

/// The nearest of some words to one that is none of them: at most a third of it differs. Of several
/// equally near the first.
#[must_use]
pub fn nearest<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    let limit = (length / 3).max(1);
    // Each character that one has more than the other has to be put in.
    let near = |other: &&str| {
        let count = other.chars().count();
        length <= MAX && count <= MAX && count.abs_diff(length) <= limit && at_least(word, other) <= limit
    };
    let distances = words.into_iter().filter(near).map(|other| (distance(word, other), other));
    distances.filter(|(distance, _)| (1..=limit).contains(distance)).min_by_key(|(distance, _)| *distance).map(|(_, other)| other)
}

/// A bound from below for [`distance`], at a fraction of its cost: each step puts in at most one character that the other
/// word lacks, and takes out at most one that it has not.
fn at_least(one: &str, other: &str) -> usize {
    let mut more = [0_i32; 64];
    let mut count = |word: &str, by: i32| {
        for c in word.chars() {
            // Characters that share a place count for one: the bound gets lower, and stays one.
            if let Some(place) = more.get_mut(c as usize % 64) {
                *place += by;
            }
        }
    };
    count(one, 1);
    count(other, -1);
    let (over, under) = more.iter().fold((0, 0), |(over, under), n| (over + (*n).max(0), under + (-*n).max(0)));
    usize::try_from(over.max(under)).unwrap_or_default()
}

/// How many characters have to be put in, taken out or exchanged, or swapped with their neighbour, to get from one
/// to the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    // The row before that, and its character: for two that changed places.
    let mut before: Option<(Vec<usize>, char)> = None;
    for (at, a) in one.chars().enumerate() {
        let mut next = vec![at + 1];
        for (column, ((b, above), corner)) in other.iter().zip(row.iter().skip(1)).zip(&row).enumerate() {
            let left = next.last().copied().unwrap_or_default();
            let mut least = (corner + usize::from(a != *b)).min(above + 1).min(left + 1);
            if let (Some((before, c)), Some(column)) = (&before, column.checked_sub(1))
                && (*c, Some(&a)) == (*b, other.get(column))
                && let Some(swapped) = before.get(column)
            {
                least = least.min(swapped + 1);
            }
            next.push(least);
        }
        before = Some((std::mem::replace(&mut row, next), a));
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_near_and_another_word_is_not() {
        let slots = ["rules", "skills", "agents", "hooks"];
        for (word, wanted) in
            [("ruls", Some("rules")), ("skils", Some("skills")), ("hoks", Some("hooks")), ("prompts", None), ("rules", None), ("", None)]
        {
            assert_eq!(nearest(word, slots), wanted, "{word}");
        }
        assert_eq!(nearest(&"x".repeat(10_000), slots), None);
        assert_eq!((distance("", "abc"), distance("kitten", "sitting")), (3, 3));
        assert_eq!((distance("tkae", "take"), distance("bbo", "bob"), distance("abcd", "badc"), distance("aa", "aa")), (1, 1, 2, 0));
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]
        #[test]
        fn the_bound_is_one(one in "[a-c!é]{0,9}", other in "[a-c!é]{0,9}") {
            proptest::prop_assert!(at_least(&one, &other) <= distance(&one, &other));
            proptest::prop_assert_eq!(at_least(&one, &one.chars().rev().collect::<String>()), 0);
        }
    }
}
