//! Which messages a list shows.

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, ValueEnum};

use crate::cli::context::Context;
use crate::custody::grants;
use crate::custody::inbox::Listed;
use crate::custody::letter;
use crate::sys::shown;
use crate::sys::time::{self, Timestamp};
use crate::tree::real;

/// Only some of the messages.
#[derive(Debug, Clone, Default, ClapArgs)]
#[command(next_help_heading = "Only messages")]
pub(super) struct Filter {
    /// … of this sender
    #[arg(long, value_name = "AGENT")]
    from: Option<String>,
    /// … of this kind
    #[arg(long, value_enum, value_name = "KIND", hide_possible_values = false)]
    kind: Option<Kind>,
    /// … sent since: an instant or a day (2026-11-30), or how long ago at most (90m, 2d)
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<String>,
    /// … about this file, or what lies in this directory
    #[arg(long, value_name = "PATH")]
    path: Option<PathBuf>,
    /// … that wait for an answer
    #[arg(long, conflicts_with = "done")]
    open: bool,
    /// … that are answered, with yes or no
    #[arg(long)]
    done: bool,
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A write that was refused, or an idea.
    Delegation,
    /// An answer.
    Reply,
    /// What a sender asked of the human in one hour.
    Digest,
    /// Word that a call ended in an owned directory after all.
    Slip,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Delegation => letter::Kind::Delegation.word(),
            Self::Reply => letter::Kind::Reply.word(),
            Self::Digest => letter::Kind::Digest.word(),
            Self::Slip => letter::Kind::Slip.word(),
        }
    }
}

/// The instant as messages write it, so that the two compare as texts.
fn since(text: &str) -> Result<String, String> {
    let instant = match grants::seconds(text) {
        Ok(seconds) => Timestamp::from_second(time::now().as_second().saturating_sub(seconds)).ok(),
        Err(_) => text.parse().or_else(|_| format!("{text}T00:00:00Z").parse()).ok(),
    };
    instant
        .map(time::to_second)
        .ok_or_else(|| "it has to be a day (2026-11-30), an instant (2026-11-30T10:00:00Z), or a time up to 7d back (90m, 2d)".to_owned())
}

impl Filter {
    /// Whether all messages are meant.
    pub(super) fn is_all(&self) -> bool {
        let Self { from, kind, since, path, open, done } = self;
        from.is_none() && kind.is_none() && since.is_none() && path.is_none() && !open && !done
    }

    /// The sender that is meant.
    pub(super) fn from(&self) -> Option<&str> {
        self.from.as_deref()
    }

    /// Which of the messages are meant.
    pub(super) fn of(&self, context: &Context) -> impl Fn(&Listed<'_>) -> bool {
        // As messages write paths: real ones, control characters escaped.
        let path = self.path.as_deref().map(|path| shown::path(&real::real(&context.absolute(path), true).path).to_string());
        move |message| {
            let shows = &message.shows;
            let closed = message.standing.state.is_closed();
            self.from.as_deref().is_none_or(|from| shows.from.as_deref() == Some(from))
                && self.kind.is_none_or(|kind| shows.kind.as_deref() == Some(kind.word()))
                && self.since.as_deref().is_none_or(|since| shows.at.as_deref().is_some_and(|at| at >= since))
                && path.as_deref().is_none_or(|path| shows.targets.iter().any(|target| Path::new(&**target).starts_with(path)))
                && !(self.open && closed)
                && (closed || !self.done)
        }
    }
}
