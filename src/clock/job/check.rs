//! What jobs need of each other.

use std::collections::BTreeMap;

use super::Need;
use crate::text::near;

/// How much of a cycle is shown.
const SHOWN: usize = 20;

/// How many names are compared in all for the one that was meant: thousands of jobs that each need one that is not there
/// would otherwise be compared each with each.
const COMPARED: usize = 50_000;

/// The jobs whose needs can't be met, each with the reason: a need that is no job, or a cycle.
///
/// `jobs` are those that were read; `present` tells whether a name has a file at all, readable or not.
#[must_use]
pub fn refused<'a>(jobs: &BTreeMap<&'a str, &'a [Need]>, present: &dyn Fn(&str) -> bool) -> BTreeMap<&'a str, String> {
    let mut refused = BTreeMap::new();
    let mut left = COMPARED;
    for (name, needs) in jobs {
        if let Some(need) = needs.iter().find(|need| !present(&need.job)) {
            let affordable = left.checked_sub(jobs.len());
            left = affordable.unwrap_or(left);
            let near = affordable.and_then(|_| near::nearest(&need.job, jobs.keys().copied()));
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            refused.insert(*name, format!("there is no job `{}`{near}", need.job));
        }
    }
    let (paths, cycles) = cycles(jobs);
    for (name, at) in cycles {
        let path = paths.get(at).map(Vec::as_slice).unwrap_or_default();
        let (start, more) = (path.iter().take(SHOWN).copied().collect::<Vec<_>>(), path.len() > SHOWN);
        refused.entry(name).or_insert_with(|| format!("a cycle: {}{}", start.join(" needs "), if more { " …" } else { "" }));
    }
    refused
}

/// The jobs that need themselves, through whatever others, with the way round.
fn cycles<'a>(jobs: &BTreeMap<&'a str, &'a [Need]>) -> (Vec<Vec<&'a str>>, BTreeMap<&'a str, usize>) {
    let (mut paths, mut found) = (Vec::new(), BTreeMap::new());
    // 0: not looked at, 1: on the way, 2: done.
    let mut colour: BTreeMap<&str, u8> = BTreeMap::new();
    for start in jobs.keys() {
        if jobs.get(start).is_some_and(|needs| needs.is_empty()) || colour.get(start) == Some(&2) {
            continue;
        }
        // An own stack: a chain may be as long as there are jobs.
        let mut stack: Vec<(&'a str, usize)> = vec![(start, 0)];
        while let Some((name, at)) = stack.last().copied() {
            colour.insert(name, 1);
            let next = jobs.get(name).and_then(|needs| needs.get(at)).and_then(|need| jobs.get_key_value(&*need.job));
            let more = jobs.get(name).is_some_and(|needs| at < needs.len());
            if let Some(last) = stack.last_mut() {
                last.1 += 1;
            }
            match next.map(|(next, _)| *next) {
                Some(next) if colour.get(next) == Some(&1) => {
                    let from = stack.iter().position(|(one, _)| *one == next).unwrap_or(0);
                    let mut path: Vec<&str> = stack.iter().skip(from).map(|(one, _)| *one).collect();
                    path.push(next);
                    for one in &path {
                        found.entry(*one).or_insert(paths.len());
                    }
                    paths.push(path);
                }
                Some(next) if !colour.contains_key(next) => stack.push((next, 0)),
                _ if more => {}
                _ => {
                    colour.insert(name, 2);
                    stack.pop();
                }
            }
        }
    }
    (paths, found)
}
