//! What somebody has written into an entry of ours: it would go with it.

use std::collections::BTreeSet;

use jsonc_parser::ast::{Object, Value};

use super::{Doc, Unfit};
use crate::hooks::connect::jsonc::{last, line_of};
use crate::hooks::connect::strict::uncommented;

/// The keys that stand in entries of ours: of a group, and of a hook in it.
pub struct Known<'a> {
    /// Of a group.
    pub group: BTreeSet<&'a str>,
    /// Of a hook.
    pub hook: BTreeSet<&'a str>,
}

/// A key in the element at `at` of `hooks.EVENT` that is none of ours: its line, and what it is. Of a group that
/// holds others' hooks too, only the hooks at the positions that are given are looked at.
///
/// # Errors
/// As [`elements`](super::elements).
pub fn own_words(text: &str, event: &str, at: usize, only: Option<&[usize]>, known: &Known<'_>) -> Result<Option<(usize, String)>, Unfit> {
    let doc = Doc::read(text)?;
    let Some(element) = doc.list(event)?.and_then(|list| list.elements.get(at)) else { return Ok(None) };
    let Some(group) = element.as_object() else { return Ok(None) };
    let inner = last(group, "hooks").and_then(|found| found.value.as_array());
    let hooks = || inner.into_iter().flat_map(|inner| inner.elements.iter().enumerate());
    let ours = |at: &usize| only.is_none_or(|only| only.contains(at));
    let strange = |object: &Object<'_>, known: &BTreeSet<&str>| {
        let odd = object.properties.iter().find(|one| !known.contains(one.name.as_str()))?;
        Some((line_of(doc.body, odd.range.start), format!("`{}`", odd.name.as_str())))
    };
    if only.is_none()
        && let Some(found) = strange(group, &known.group)
    {
        return Ok(Some(found));
    }
    let hook = |(at, hook): (usize, &Value<'_>)| ours(&at).then(|| strange(hook.as_object()?, &known.hook)).flatten();
    Ok(hooks().find_map(hook))
}

/// The line of a comment that stands in one text and no more in the other. Which lines they share, and how
/// those end, does not matter.
#[must_use]
pub fn lost_comment(before: &str, after: &str) -> Option<usize> {
    let comments = |text: &str| {
        let bare = uncommented(text);
        let lines = text.split('\n').zip(bare.split('\n')).enumerate();
        let of_line = |(at, (line, bare)): (usize, (&str, &str))| {
            let letters = line
                .bytes()
                .zip(bare.bytes())
                .filter(|(one, other)| one != other && !one.is_ascii_whitespace())
                .map(|(one, _)| (at + 1, one));
            letters.collect::<Vec<_>>()
        };
        lines.flat_map(of_line).collect::<Vec<_>>()
    };
    let mut left = comments(after).into_iter();
    comments(before).into_iter().find(|(_, letter)| left.next().is_none_or(|(_, other)| other != *letter)).map(|(line, _)| line)
}
