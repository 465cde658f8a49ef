//! `loci inbox`: the messages, oldest first. Thousands are written out as they are gone through; no row is
//! kept.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use serde::{Serialize, Serializer};

use super::filter::Filter;
use super::{Mail, logs, messages};
use crate::cli::context::Context;
use crate::cli::{Answer, Outcome, near};
use crate::custody::inbox::{Listed, Shows, Standing, Text};
use crate::sys::shown;
use crate::text::name::AgentId;

pub(super) fn run(context: &Context, mail: &Mail, filter: &Filter) -> Outcome {
    let logs = logs(mail)?;
    let mut all = messages(context, &logs)?;
    if !filter.is_all() {
        let meant = unheard(filter, &all);
        all.retain(filter.of(context));
        if all.is_empty() {
            context.say(&format!("note: no message fits{meant}"));
        }
    }
    let words = |out: &mut dyn Write| {
        if all.is_empty() {
            return writeln!(out, "nothing for {}", mail.name());
        }
        table(context, &all, out)
    };
    let object = List {
        schema: 1,
        agent: mail.agent.as_ref().map(AgentId::as_str),
        inboxes: mail.boxes.iter().map(|mailbox| mailbox.dir().to_string_lossy()).collect(),
        open: all.iter().filter(|message| !message.standing.state.is_closed()).count(),
        messages: Objects(&all),
    };
    context.stream(words, &object)?;
    Ok(if all.is_empty() { Answer::No } else { Answer::Yes })
}

/// Which sender may have been meant, where none has that name.
fn unheard(filter: &Filter, all: &[Listed<'_>]) -> String {
    let Some(from) = filter.from() else { return String::new() };
    let mut senders: Vec<&str> = all.iter().filter_map(|message| message.shows.from.as_deref()).collect();
    senders.sort_unstable();
    senders.dedup();
    if senders.contains(&from) { String::new() } else { near::meant(from, senders) }
}

/// The whole answer for `--json`.
#[derive(Serialize)]
struct List<'a> {
    schema: u32,
    agent: Option<&'a str>,
    inboxes: Vec<Cow<'a, str>>,
    open: usize,
    messages: Objects<'a>,
}

struct Objects<'a>(&'a [Listed<'a>]);

impl Serialize for Objects<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Object::of_listed))
    }
}

/// What a list says of a message, for `--json`.
#[derive(Serialize)]
pub(super) struct Object<'a> {
    id: &'a str,
    kind: Option<&'a str>,
    from: Option<&'a str>,
    to: Option<&'a str>,
    at: Option<&'a str>,
    state: &'static str,
    again: u64,
    requests: usize,
    targets: &'a [Text<'a>],
    change: Option<&'a str>,
    re: Option<&'a str>,
    path: String,
    shown_from: &'static str,
}

impl<'a> Object<'a> {
    pub(super) fn of(shows: &'a Shows<'a>, standing: &'a Standing, path: String, from_log: bool) -> Self {
        Self {
            id: &shows.id,
            kind: shows.kind.as_deref(),
            from: shows.from.as_deref(),
            to: shows.to.as_deref(),
            at: shows.at.as_deref(),
            state: standing.state.word(),
            again: standing.again,
            requests: standing.held.len(),
            targets: &shows.targets,
            change: shows.change.as_deref(),
            re: shows.re.as_deref(),
            path,
            shown_from: if from_log { "log" } else { "message" },
        }
    }

    pub(super) fn of_listed(message: &'a Listed<'a>) -> Self {
        Self::of(
            &message.shows,
            &message.standing,
            message.path().into_os_string().into_string().unwrap_or_else(|path| path.to_string_lossy().into_owned()),
            message.from_log,
        )
    }
}

/// The messages as a table, a row each.
pub(super) fn table(context: &Context, messages: &[Listed<'_>], out: &mut dyn Write) -> io::Result<()> {
    let width = |of: &dyn Fn(&Listed<'_>) -> usize| messages.iter().map(of).max().unwrap_or(0);
    let ids = width(&|message| message.shows.id.chars().count());
    let states = width(&|message| message.standing.word().len());
    let senders = width(&|message| sender(message).chars().count());
    for message in messages {
        let (id, state, from) = (&message.shows.id, message.standing.word(), sender(message));
        let about = about(context, message);
        let row = format_args!("{id:<ids$}  {state:<states$}  {from:<senders$}  {about}");
        if about.is_empty() { writeln!(out, "{}", row.to_string().trim_end())? } else { writeln!(out, "{row}")? }
    }
    Ok(())
}

fn sender<'a>(message: &'a Listed<'_>) -> Cow<'a, str> {
    shown::escaped(message.shows.from.as_deref().unwrap_or("?"))
}

/// What it is about, with what has been added since.
fn about(context: &Context, message: &Listed<'_>) -> String {
    let (shows, standing) = (&message.shows, &message.standing);
    let mut about = match shows.targets.as_slice() {
        [] => shows.re.as_deref().map(|re| format!("answer to {}", shown::text(re))).unwrap_or_default(),
        [one] => context.shown(Path::new(&**one)),
        [first, rest @ ..] => format!("{} (and {} more)", context.shown(Path::new(&**first)), rest.len()),
    };
    match standing.held.len() {
        0 => {}
        held => about.push_str(&shown::count(held, "request", "requests")),
    }
    if standing.again > 0 {
        about.push_str(&format!(" (tried {} times)", standing.again + 1));
    }
    about
}
