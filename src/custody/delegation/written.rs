//! What a message says, from the attempt and what was captured of it.

use std::path::{Path, PathBuf};

use super::{Attempt, Change, MAX_CHANGE, Read};
use crate::custody::capture::{Captured, cut_at};
use crate::custody::letter::{self, Field, Kind, Letter};
use crate::custody::ruling::Owner;
use crate::custody::{fence, mask, worktree};
use crate::sys::{shown, time};

/// The most of paths that a list in the front matter holds, in bytes.
const MAX_LIST: usize = 16 << 10;

/// A list that fits into the front matter; what does not is counted.
pub(in crate::custody) fn bounded(items: impl Iterator<Item = String>) -> Vec<String> {
    let (mut list, mut size, mut left) = (Vec::new(), 0, 0_usize);
    for item in items {
        if left == 0 && size + item.len() <= MAX_LIST {
            size += item.len();
            list.push(item);
        } else {
            left += 1;
        }
    }
    if left > 0 {
        list.push(format!("(and {left} more)"));
    }
    list
}

#[expect(clippy::too_many_arguments, reason = "one place where all that a message says comes together")]
pub(super) fn write_letter(
    attempt: &Attempt<'_>,
    kind: Kind,
    key: &str,
    to: &str,
    owner: &Owner,
    targets: &[PathBuf],
    captured: &Captured,
    hops: usize,
    more: &[(&'static str, Field)],
) -> Letter {
    let text = |text: &str| Field::Text(text.to_owned());
    let mut fields = vec![("harness", text(attempt.harness))];
    fields.extend(attempt.session.map(|session| ("session", text(session))));
    fields.extend(attempt.sub_agent.map(|agent| ("sub_agent", text(agent))));
    fields.push(("tool", text(attempt.tool)));
    fields.push(("directory", Field::Text(shown::path(&owner.dir).to_string())));
    fields.push(("targets", Field::List(bounded(targets.iter().map(|path| shown::path(path).to_string())))));
    // The newest reads matter most: the oldest are left out first.
    let mut reads = bounded(attempt.reads.iter().rev().map(Read::shown));
    reads.reverse();
    fields.push(("reads", Field::List(reads)));
    fields.push(("change", text(captured.word)));
    let (masked, count) = mask::mask(&captured.text);
    let cut = cut_at(&masked, MAX_CHANGE);
    if count > 0 {
        fields.push(("masked", Field::Count(count)));
    }
    if cut < masked.len() {
        fields.push(("cut", Field::Count(masked.len() - cut)));
    }
    if let Some((base, result)) = &captured.sides {
        fields.push(("base", Field::Text(base.clone())));
        fields.push(("result", Field::Text(result.clone())));
    }
    fields.extend(verb_fields(&attempt.change));
    fields.push(("hops", Field::Count(hops)));
    fields.extend(more.iter().cloned());
    let whose = if to == "human" { "the human's".to_owned() } else { format!("{to}'s") };
    let from = attempt.asker.name();
    let mut body = match &captured.idea {
        None => {
            let what = match captured.word {
                "none" => "",
                "command" => " The command stands below; what it would have changed was not captured.",
                _ => " What it changes was captured and is not applied.",
            };
            format!("{from} tried to change what is {whose}, and was refused.{what}\n")
        }
        Some(idea) => format!("{from} asks for a change of what is {whose}.\n\n## Idea\n\n{}", fence::block("markdown", idea)),
    };
    if let Some(note) = &owner.note {
        body += "\n## Your note for each delegation\n\n";
        body += &fence::block("text", note);
    }
    body += "\n## Change\n\n";
    if count > 0 {
        let secrets = crate::sys::shown::count(count, "place looks like a secret and is", "places look like secrets and are");
        body += &format!("{secrets} masked, so it can't be applied as it stands.\n\n");
    }
    match captured.word {
        "none" if captured.idea.is_some() => body += "None was given: the idea is all there is.\n",
        "none" => body += "Nothing of it could be captured.\n",
        _ => body += &fence::block(captured.language, masked.get(..cut).unwrap_or_default()),
    }
    if cut < masked.len() {
        body += &format!(
            "\nCut: {} of {} bytes are shown. The full text lies in the inbox as `held/`, named by {key} with `.txt`.\n",
            cut,
            masked.len()
        );
    }
    Letter {
        id: letter::id(attempt.at, key),
        kind,
        from: attempt.asker.name().to_owned(),
        from_body: attempt.asker.body.as_deref().map(worktree::stays).and_then(|body| body.to_str().map(str::to_owned)),
        to: to.to_owned(),
        at: time::to_second(attempt.at),
        fields,
        body,
    }
}

/// Whether the words of a verb can be written down whole, so that a person can approve just them.
///
/// # Errors
/// Why not.
pub fn kept_whole(argv: Option<&[String]>, cwd: &Path) -> Result<(), &'static str> {
    match argv {
        None => Err("a word of it is no UTF-8 text"),
        Some(argv) if argv.iter().map(String::len).sum::<usize>() > MAX_LIST => Err("its words are longer than 16 KiB"),
        Some(argv) if argv.iter().any(|word| mask::mask(word).1 > 0) => {
            Err("a word of it looks like a secret, and what looks like one is not written down")
        }
        Some(_) if cwd.to_str().is_none() => Err("the name of the directory that it was called in is no UTF-8 text"),
        Some(_) => Ok(()),
    }
}

/// The words of a verb that is asked for, where they can be written down whole and hold no secret.
fn verb_fields(change: &Change) -> Vec<(&'static str, Field)> {
    let Change::Verb { argv: Some(argv), cwd, .. } = change else { return Vec::new() };
    match cwd.to_str().filter(|_| kept_whole(Some(argv), cwd).is_ok()) {
        Some(cwd) => vec![("argv", Field::List(argv.clone())), ("cwd", Field::Text(cwd.to_owned()))],
        None => Vec::new(),
    }
}
