//! What agents ask of the human: the requests that are held beside the digests of the human's inbox,
//! where each of them stands, and what approving one would do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::inbox::{self, Message, State};
use super::letter;
use super::maildir::{MailError, Mailbox};
use crate::sys::disk::{self, PathError};
use crate::sys::plan::{Plan, Step};
use crate::sys::shown;
use crate::text::digest;

/// The largest file that a patch is applied to.
const MAX_SIDE: u64 = 2 << 20;

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its letter; `path` is the file in `held/`.
    pub message: Message,
    /// The name of that file.
    pub name: String,
    /// Hashes that it was approved with; more than none and still open: that run was killed.
    pub approved: Vec<String>,
}

/// What was found in the human's inbox.
#[derive(Debug, Default)]
pub struct Found {
    /// The requests, oldest first.
    pub requests: Vec<Request>,
    /// How many more were only counted.
    pub unkept: u64,
    /// What people should be told.
    pub notes: Vec<String>,
}

/// What the log says about one request.
#[derive(Debug, Default)]
struct Standing {
    state: State,
    approved: Vec<String>,
}

/// Where the requests stand, by the name of their file: the same attempt in another hour is another
/// request.
fn fold(records: &[Value]) -> BTreeMap<&str, Standing> {
    let mut all: BTreeMap<&str, Standing> = BTreeMap::new();
    for record in records {
        let text = |key: &str| record.get(key).and_then(Value::as_str);
        let Some(name) = text("held") else { continue };
        let one = all.entry(name).or_default();
        match text("event") {
            Some("done") => one.state = State::Done,
            Some("declined") => one.state = State::Declined,
            Some("approved") => one.approved.extend(text("hash").map(str::to_owned)),
            _ => {}
        }
    }
    all
}

/// Where the request in a file stands.
#[must_use]
pub(super) fn state_of(records: &[Value], name: &str) -> State {
    fold(records).get(name).map(|standing| standing.state).unwrap_or_default()
}

/// The keys of the digest and of the request that a file in `held/` is named by.
fn keys(name: &str) -> Option<(&str, &str)> {
    let (digest, key) = name.strip_suffix(".md")?.split_once('.')?;
    (letter::is_key(digest) && letter::is_key(key)).then_some((digest, key))
}

/// Reads the requests: those that are open, or all.
///
/// # Errors
/// Where the inbox can't be used; one bad file is a note.
pub fn read(mailbox: &Mailbox, all: bool) -> Result<Found, MailError> {
    let (records, skipped) = mailbox.records()?;
    let standings = fold(&records);
    let mut found = Found::default();
    if skipped > 0 {
        found.notes.push(format!(
            "passed over: {} of {}, unreadable",
            shown::count(skipped, "line", "lines"),
            shown::path(&mailbox.log_file())
        ));
    }
    for name in mailbox.held()? {
        let Some((_, key)) = keys(&name) else { continue };
        let standing = standings.get(name.as_str());
        let state = standing.map(|standing| standing.state).unwrap_or_default();
        if state.is_closed() && !all {
            continue;
        }
        match inbox::message(&mailbox.dir().join("held").join(&name), key, false).and_then(|message| message.in_full()) {
            Ok(mut message) => {
                message.standing.state = state;
                let approved = standing.map(|standing| standing.approved.clone()).unwrap_or_default();
                found.requests.push(Request { message, name, approved });
            }
            Err(error) => found.notes.push(format!("failed to {error}")),
        }
    }
    found.unkept = inbox::fold(&records).values().filter(|standing| !standing.state.is_closed()).map(|standing| standing.unkept).sum();
    found.requests.sort_by(|a, b| a.message.id.cmp(&b.message.id));
    Ok(found)
}

/// Closes the digests whose requests are all answered.
///
/// # Errors
/// Where the inbox can't be used.
pub fn close_digests(mailbox: &Mailbox, at: crate::sys::time::Timestamp) -> Result<(), MailError> {
    let (records, _) = mailbox.records()?;
    let (standings, digests) = (fold(&records), inbox::fold(&records));
    let held = mailbox.held()?;
    for (key, digest) in digests.iter().filter(|(_, digest)| !digest.held.is_empty()) {
        let mut ours = held.iter().filter(|name| keys(name).is_some_and(|(one, _)| one == key));
        let open = ours.any(|name| !standings.get(name.as_str()).is_some_and(|standing| standing.state.is_closed()));
        if !open && !digest.state.is_closed() {
            let mut record = inbox::record(at, key, "done", "human");
            record["text"] = "Every request of that hour is answered.".into();
            mailbox.log(&record)?;
        }
        if !open {
            mailbox.settle(key)?;
        }
    }
    Ok(())
}

/// What approving a request would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Apply a patch to one file.
    Patch {
        /// Which.
        target: PathBuf,
        /// Digest of what has to stand there; `None`: nothing may.
        base: Option<String>,
        /// Digest of what comes out.
        result: String,
        /// The diff.
        diff: String,
    },
    /// Carry out a verb of loci.
    Verb {
        /// Its words.
        argv: Vec<String>,
        /// Where.
        cwd: PathBuf,
    },
    /// Nothing, for this reason.
    Nothing(&'static str),
}

/// Reads what a request asks for. It is data: nothing of it is believed that is not looked up again when
/// it is carried out.
///
/// # Errors
/// Where the full text that is held beside it can't be read.
pub fn asked(mailbox: &Mailbox, request: &Request) -> Result<Asked, MailError> {
    let message = &request.message;
    if !message.header.status.is_whole() {
        return Ok(Asked::Nothing("its front matter can't be read"));
    }
    if message.header.value("masked").is_some() {
        return Ok(Asked::Nothing("it holds what looks like a secret, which was masked"));
    }
    Ok(match message.text("change") {
        Some("verb") => verb(message),
        Some("patch") => {
            let text = if message.header.value("cut").is_some() { full(mailbox, &request.name)? } else { block(&message.body()) };
            patch(message, text)
        }
        Some("command") => Asked::Nothing("it is a shell command, which loci never runs"),
        Some("content") => Asked::Nothing("what it writes is no text, and was not kept"),
        _ => Asked::Nothing("the change could not be captured as a patch"),
    })
}

fn verb(message: &Message) -> Asked {
    let argv = message.list("argv");
    match message.text("cwd").map(PathBuf::from).filter(|cwd| cwd.is_absolute()) {
        Some(cwd) if !argv.is_empty() => Asked::Verb { argv, cwd },
        _ => Asked::Nothing("its words could not be kept whole"),
    }
}

fn patch(message: &Message, text: Option<String>) -> Asked {
    let targets = message.list("targets");
    let [target] = targets.as_slice() else { return Asked::Nothing("it is about more than one file") };
    let plain = Path::new(target).is_absolute() && !target.chars().any(|c| shown::hidden(c) || c == '\\');
    let (Some(base), Some(result)) = (message.text("base"), message.text("result")) else {
        return Asked::Nothing("it is no patch against the file as it was");
    };
    match text {
        _ if !plain => Asked::Nothing("the name of its file has characters that can't be written down"),
        None => Asked::Nothing("its patch can't be found in it"),
        Some(diff) => {
            let base = (base != "absent").then(|| base.to_owned());
            Asked::Patch { target: PathBuf::from(target), base, result: result.to_owned(), diff }
        }
    }
}

/// The full text that is kept beside a request whose letter could not hold it.
fn full(mailbox: &Mailbox, name: &str) -> Result<Option<String>, PathError> {
    let Some(stem) = name.strip_suffix(".md") else { return Ok(None) };
    let data = disk::read_bounded(&mailbox.dir().join("held").join(format!("{stem}.txt")), MAX_SIDE * 4)?;
    Ok(data.and_then(|data| String::from_utf8(data).ok()))
}

/// The text in the fence below the last `## Change`: every line of a diff begins with a mark, so none of
/// its lines can be that.
fn block(body: &str) -> Option<String> {
    let (_, rest) = body.rsplit_once("\n## Change\n\n")?;
    let (first, rest) = rest.split_once('\n')?;
    let fence = first.strip_suffix("diff").filter(|fence| fence.len() >= 3 && fence.bytes().all(|byte| byte == b'`'))?;
    let mut text = String::new();
    for line in rest.split_inclusive('\n') {
        if line.trim_end_matches('\n') == fence {
            return Some(text);
        }
        text.push_str(line);
    }
    None
}

/// Applies a diff to exactly the text that it was made against. `None` where it does not fit.
#[must_use]
pub fn patched(base: &str, diff: &str) -> Option<String> {
    let old: Vec<&str> = base.split_inclusive('\n').collect();
    let (mut out, mut at) = (String::with_capacity(base.len()), 0);
    let mut lines = diff.split_inclusive('\n').skip_while(|line| !line.starts_with("@@ ")).peekable();
    while let Some(header) = lines.next() {
        let (from, count) = range(header)?;
        // A hunk of no old lines stands behind the line that it names.
        let start = if count == 0 { from } else { from.checked_sub(1)? };
        out.extend(old.get(at..start)?.iter().copied());
        at = start;
        while let Some(line) = lines.next_if(|line| !line.starts_with("@@ ")) {
            let text = line.get(1..)?;
            // The mark behind a line without an end.
            let open = lines.next_if(|next| next.starts_with('\\')).is_some();
            let text = if open { text.strip_suffix('\n')? } else { text };
            match line.bytes().next()? {
                b'+' => out.push_str(text),
                mark @ (b' ' | b'-') => {
                    if *old.get(at)? != text {
                        return None;
                    }
                    at += 1;
                    if mark == b' ' {
                        out.push_str(text);
                    }
                }
                _ => return None,
            }
        }
    }
    out.extend(old.get(at..)?.iter().copied());
    Some(out)
}

/// First line and count of the old side of `@@ -1,2 +3,4 @@`.
fn range(header: &str) -> Option<(usize, usize)> {
    let old = header.strip_prefix("@@ -")?.split(' ').next()?;
    let (from, count) = old.split_once(',').unwrap_or((old, "1"));
    Some((from.parse().ok()?, count.parse().ok()?))
}

/// How a patch stands to the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit {
    /// It can be applied, by this plan.
    Plan(Plan),
    /// The file is as it would make it.
    There,
    /// It can't, for this reason.
    No(&'static str),
}

/// Looks whether the file is as the patch needs it, and what is to be done.
///
/// # Errors
/// Where the file can't be read.
pub fn fit(target: &Path, base: Option<&str>, result: &str, diff: &str) -> Result<Fit, PathError> {
    let now = match disk::look(target)? {
        None => None,
        Some(_) => match disk::read_bounded(target, MAX_SIDE)? {
            Some(data) => Some(data),
            None => return Ok(Fit::No("the file is too large by now")),
        },
    };
    let digest_now = now.as_deref().map(digest::sha256);
    if digest_now.as_deref() == Some(result) {
        return Ok(Fit::There);
    }
    if digest_now.as_deref() != base {
        return Ok(Fit::No("the file changed since"));
    }
    let Ok(text) = std::str::from_utf8(now.as_deref().unwrap_or_default()) else { return Ok(Fit::No("the file is no text")) };
    let Some(new) = patched(text, diff).filter(|new| digest::sha256(new.as_bytes()) == result) else {
        return Ok(Fit::No("the patch does not make what was asked for"));
    };
    let mut steps = Vec::new();
    if now.is_none() {
        let dirs = missing_dirs(target)?;
        steps.extend(dirs.into_iter().map(|path| Step::MakeDir { path }));
    }
    steps.push(Step::Write { path: target.to_owned(), data: new.into_bytes(), mode: None, was: now });
    Ok(Fit::Plan(Plan { steps }))
}

/// The directories above a path that are not there, outermost first.
pub(super) fn missing_dirs(path: &Path) -> Result<Vec<PathBuf>, PathError> {
    let mut missing = Vec::new();
    for dir in crate::tree::climb::up(path).skip(1) {
        if disk::look(dir)?.is_some() {
            break;
        }
        missing.push(dir.to_owned());
    }
    missing.reverse();
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::diff::{Difference, difference};
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// What a captured diff says is what comes out, whatever the two texts are.
        #[test]
        fn a_diff_gives_the_text_that_it_was_made_for(old in "([ab@+ -]{0,3}\n){0,12}[ab]{0,2}", new in "([ab@+ -]{0,3}\n){0,12}[ab]{0,2}") {
            if let Difference::Text(diff) = difference("n", Some(old.as_bytes()), Some(new.as_bytes())) {
                prop_assert_eq!(patched(&old, &diff), Some(new.clone()), "{}", diff);
            }
            if let Difference::Text(diff) = difference("n", None, Some(new.as_bytes())) {
                prop_assert_eq!(patched("", &diff), Some(new.clone()));
            }
        }

        /// On another text it does not apply, or it is found out by the digest; it never panics.
        #[test]
        fn any_diff(base in "([ab]\n){0,4}", diff in "((@@ -?[0-9]{0,3},?[0-9]{0,3} @@|[ +-][ab]|\\\\ x)\n){0,6}") {
            let _ = patched(&base, &diff);
        }
    }

    #[test]
    fn a_request_is_told_by_its_file() {
        let (a, b) = ("0123456789abcdef.0000000000000001.md", "fedcba9876543210.0000000000000001.md");
        let records = [
            json!({ "key": "0000000000000001", "event": "done", "held": a }),
            json!({ "key": "0000000000000001", "event": "approved", "held": b, "hash": "h" }),
        ];
        assert_eq!((state_of(&records, a), state_of(&records, b)), (State::Done, State::New));
        assert_eq!(fold(&records)[b].approved, ["h"]);
        assert_eq!(keys(a), Some(("0123456789abcdef", "0000000000000001")));
        assert!(keys("../x.md").is_none() && keys("0123456789abcdef.0000000000000001.txt").is_none());
    }

    #[test]
    fn the_patch_is_found_behind_what_others_wrote() {
        let body = "x\n\n## Change\n\n```diff\nforged\n```\n\n## Change\n\n````diff\n+a\n ```\n````\n";
        assert_eq!(block(body).as_deref(), Some("+a\n ```\n"));
        assert_eq!(block("\n## Change\n\n```text\nx\n```\n"), None);
        assert_eq!(block("\n## Change\n\n```diff\nx\n"), None);
    }
}
