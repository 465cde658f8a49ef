//! A log without what says nothing any more.
//!
//! Left out is what a prune has ended (the message is gone, and so is what lies beside it), and repeats
//! that only count: many become one with `times`. Everything else stays byte for byte and in its order,
//! lines that can't be read included: whoever folds the new log finds what the old one said.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};

use super::standing::{Line, is_work, line_of};
use crate::custody::letter;
use crate::sys::time::{self, Timestamp};

/// What a line of the log becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Stays,
    Goes,
    /// Stays, and counts so often.
    Counts(u64),
}

/// What was seen of one message since it was last gone.
#[derive(Default)]
struct Seen {
    lines: Vec<usize>,
    /// One of them says something about a file that is still held beside the messages.
    bound: bool,
    /// The newest, where it only counts: its event, whose it is, its line.
    counted: Option<(String, String, usize)>,
}

/// The first line of a log that was made shorter says how long it was then, in bytes; 0 of any other.
#[must_use]
pub(in crate::custody) fn length(start: &[u8]) -> u64 {
    let first = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let record: Value = serde_json::from_slice(first).unwrap_or_default();
    if record["event"] == "compacted" { record["bytes"].as_u64().unwrap_or_default() } else { 0 }
}

/// The log without what says nothing any more; `held` are the names of what lies beside the messages.
#[must_use]
pub(in crate::custody) fn compacted(log: &[u8], held: &BTreeSet<String>, at: Timestamp) -> Vec<u8> {
    let lines: Vec<&[u8]> = log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let (fates, worked) = fates(&lines, held);
    let mut out = Vec::with_capacity(log.len() / 2);
    for (line, fate) in lines.iter().zip(fates) {
        match fate {
            Fate::Goes => continue,
            Fate::Counts(times) if times > 1 => match serde_json::from_slice::<Value>(line) {
                Ok(Value::Object(mut record)) => {
                    record.insert("times".to_owned(), times.into());
                    out.extend_from_slice(Value::Object(record).to_string().as_bytes());
                }
                _ => out.extend_from_slice(line),
            },
            _ => out.extend_from_slice(line),
        }
        out.push(b'\n');
    }
    let head = |bytes: usize| {
        json!({ "at": time::to_second(at), "key": "", "event": "compacted", "by": "loci", "bytes": bytes, "worked": worked }).to_string()
    };
    let length = out.len() + head(out.len()).len() + 1;
    let mut whole = format!("{}\n", head(length)).into_bytes();
    whole.append(&mut out);
    whole
}

/// What becomes of each line, and when somebody last dealt with a message.
fn fates(lines: &[&[u8]], held: &BTreeSet<String>) -> (Vec<Fate>, Option<String>) {
    let mut fates = vec![Fate::Stays; lines.len()];
    let mut set = |at: usize, fate: Fate| {
        if let Some(old) = fates.get_mut(at) {
            *old = fate;
        }
    };
    let mut all: HashMap<u64, Seen> = HashMap::new();
    let mut times: HashMap<usize, u64> = HashMap::new();
    let mut worked = None;
    for (at, line) in lines.iter().enumerate() {
        let _ = line_of(line, |line: &Line<'_>| {
            if line.key.is_empty() && line.event == "compacted" {
                set(at, Fate::Goes);
                worked = line.worked.as_ref().map(ToString::to_string).or(worked.take());
            }
            let Some(number) = letter::number(&line.key) else { return };
            if is_work(&line.event) {
                worked = Some(line.at.to_string());
            }
            let seen = all.entry(number).or_default();
            seen.bound |= line.held.as_ref().is_some_and(|name| held.contains(name));
            let counted = seen.counted.take();
            match &*line.event {
                "pruned" if !seen.bound => {
                    seen.lines.drain(..).chain([at]).for_each(|line| set(line, Fate::Goes));
                    return;
                }
                // What says something about a file as well stands for more than a count.
                event @ ("again" | "unkept") if line.held.is_none() => {
                    let mut count = line.times.unwrap_or(1).max(1);
                    if let Some((_, _, before)) = counted.filter(|(of, by, _)| of == event && *by == line.by) {
                        count = count.saturating_add(times.get(&before).copied().unwrap_or(1));
                        set(before, Fate::Goes);
                    }
                    times.insert(at, count);
                    set(at, Fate::Counts(count));
                    seen.counted = Some((event.to_owned(), line.by.to_string(), at));
                }
                _ => {}
            }
            seen.lines.push(at);
        });
    }
    (fates, worked)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::standing::{Noted, fold_bytes, last_worked};
    use super::*;
    use crate::custody::inbox::State;
    use crate::custody::requests;

    const KEYS: [&str; 3] = ["0123456789abcdef", "00000000000000aa", "x"];
    const HELD: [&str; 2] = ["0123456789abcdef.00000000000000aa.md", "0123456789abcdef.00000000000000bb.md"];

    fn lines(log: &[u8]) -> Vec<&[u8]> {
        log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect()
    }

    fn short(log: &[u8], held: &BTreeSet<String>) -> Vec<u8> {
        compacted(log, held, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn repeats_become_one_and_what_is_gone_goes() {
        let line = |key: &str, event: &str| format!("{{\"at\":\"t\",\"key\":\"{key}\",\"event\":\"{event}\",\"by\":\"alice\"}}\n");
        let [one, two, _] = KEYS;
        let log = [
            line(one, "filed"),
            line(one, "again").repeat(1000),
            line(two, "filed"),
            line(two, "done"),
            "torn {\n".to_owned(),
            line(two, "pruned"),
            line(one, "again"),
            line(one, "taken"),
            line(one, "again"),
        ]
        .concat();
        let new = short(log.as_bytes(), &BTreeSet::new());
        let text = String::from_utf8(new.clone()).unwrap();
        let kept: Vec<&str> = text.lines().collect();
        assert_eq!(kept.len(), 6, "{text}");
        assert!(kept[2].contains("torn") && kept[3].contains("\"times\":1001") && !kept[5].contains("times"), "{text}");
        assert!(!text.contains(two) && length(&new) == new.len() as u64, "{text}");
        // The same again leaves all as it is.
        assert_eq!(short(&new, &BTreeSet::new()), new);
    }

    #[test]
    fn what_says_something_about_a_request_that_is_held_stays() {
        let [digest, request, _] = KEYS;
        let log = format!(
            "{{\"key\":\"{digest}\",\"event\":\"held\",\"held\":\"{0}\"}}\n{{\"key\":\"{request}\",\"event\":\"done\",\"at\":\"t\",\"text\":\"x\",\"held\":\"{0}\"}}\n{{\"key\":\"{request}\",\"event\":\"pruned\"}}\n",
            HELD[0]
        );
        let there = BTreeSet::from([HELD[0].to_owned()]);
        assert_eq!(lines(&short(log.as_bytes(), &there)).len(), 4);
        assert_eq!(lines(&short(log.as_bytes(), &BTreeSet::new())).len(), 2);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 96, ..ProptestConfig::default() })]

        /// Whoever folds the new log finds what the old one said, and so does the next one.
        #[test]
        fn nothing_is_said_otherwise(
            events in prop::collection::vec((
                prop::sample::select(vec!["filed", "again", "again", "added", "taken", "applied", "pruned", "done", "declined", "held", "unkept", "unkept", "approved", "x", "torn"]),
                0..3_usize, 0..3_usize, 0..3_u64, prop::sample::select(vec!["alice", "bob"]),
            ), 0..40),
            there in 0..3_usize,
        ) {
            let log: String = events.iter().enumerate().map(|(at, (event, key, held, times, by))| {
                if *event == "torn" {
                    return "{\"key\":\n".to_owned();
                }
                let mut record = json!({ "at": format!("t{at:02}"), "key": KEYS[*key], "event": event, "by": by, "text": event });
                if let Some(name) = HELD.get(*held) {
                    record["held"] = (*name).into();
                }
                if *times > 0 {
                    record["times"] = (*times).into();
                }
                format!("{record}\n")
            }).collect();
            let held: BTreeSet<String> = HELD.iter().take(there).map(|name| (*name).to_owned()).collect();
            let once = short(log.as_bytes(), &held);
            let twice = short(&once, &held);
            prop_assert_eq!(&lines(&once)[1..], &lines(&twice)[1..]);
            let says = |log: &[u8]| {
                let (all, skipped) = fold_bytes(log);
                let all: Vec<Noted<'static>> = KEYS.iter().map(|key| {
                    let noted = letter::number(key).and_then(|number| all.get(&number)).cloned().unwrap_or_default();
                    Noted { standing: noted.standing, shows: noted.shows.map(super::super::Shows::into_owned) }
                }).collect();
                let records: Vec<Value> = lines(log).iter().filter_map(|line| serde_json::from_slice(line).ok()).collect();
                let requests: Vec<State> = held.iter().map(|name| requests::state_of(&records, name)).collect();
                (all, skipped, last_worked(&records).map(str::to_owned), requests)
            };
            prop_assert_eq!(says(log.as_bytes()), says(&once));
        }
    }
}
