//! `loci inbox --watch`: what is new, and what arrives.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Mail;
use super::filter::Filter;
use super::list::{self, Object};
use crate::cli::context::Context;
use crate::cli::{Answer, Outcome};
use crate::custody::inbox::{self, Listed, Shows};
use crate::sys::{disk, term};

/// How often is looked: one look at each inbox's directory.
const PAUSE: Duration = Duration::from_millis(500);

pub(super) fn run(context: &Context, mail: &Mail, filter: &Filter) -> Outcome {
    let fits = filter.of(context);
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
            for lying in mailbox.lying()?.lying.into_iter().filter(|lying| lying.new && !seen.contains(&lying.key)) {
                // Taken meanwhile: no longer new.
                if let Ok(message) = inbox::message(&mailbox.lies_at(&lying.key, true), &lying.key, true) {
                    let (shows, standing) = (Shows::of(&message), message.standing);
                    fresh.push(Listed { mailbox, key: lying.key, new: true, shows, from_log: false, standing });
                }
            }
            fresh.sort_by(|a, b| a.shows.id.cmp(&b.shows.id));
            for message in fresh {
                if fits(&message) {
                    context.stream(|out| list::table(context, std::slice::from_ref(&message), out), &Object::of_listed(&message))?;
                }
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
