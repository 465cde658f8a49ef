//! `loci inbox --watch`: what is new, and what arrives.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Mail, object, row};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::table;
use crate::cli::{Answer, Outcome};
use crate::custody::inbox::{self, Listed};
use crate::sys::{disk, term};

/// How often is looked: one look at each inbox's directory.
const PAUSE: Duration = Duration::from_millis(500);

pub(super) fn run(context: &Context, mail: &Mail) -> Outcome {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut looked = vec![None; mail.boxes.len()];
    loop {
        for (mailbox, looked) in mail.boxes.iter().zip(&mut looked) {
            let new = mailbox.dir().join("new");
            let changed = disk::look(&new)?.map(|meta| (meta.id, meta.mtime_ns));
            // A directory that changed twice within one tick of the disk's clock is looked at again.
            if changed.is_none() || (*looked == changed && changed.is_some_and(|(_, at)| is_past(at))) {
                continue;
            }
            *looked = changed;
            let mut fresh = Vec::new();
            for lying in mailbox.lying()?.into_iter().filter(|lying| lying.new && !seen.contains(&lying.key)) {
                // Taken meanwhile: no longer new.
                if let Ok(message) = inbox::message(&new.join(format!("{}.md", lying.key)), &lying.key, true) {
                    fresh.push(Listed::of(&message));
                }
            }
            fresh.sort_by(|a, b| a.shows.id.cmp(&b.shows.id));
            for message in fresh {
                let text = if context.flags.json { format!("{}\n", object(&message)) } else { table(&[row(context, &message)]) };
                term::out(text.as_bytes()).map_err(|error| Failure::new("io", "failed to write to standard output").caused_by(&error))?;
                seen.insert(message.key);
            }
        }
        if term::reader_is_gone(PAUSE) {
            return Ok(Answer::Yes);
        }
    }
}

/// Whether an instant is so far back that the clock of the disk has moved on since.
fn is_past(at_ns: i128) -> bool {
    crate::sys::time::now().as_nanosecond() - at_ns > 50_000_000
}
