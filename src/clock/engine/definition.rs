//! The definition of a job that is in force, kept small: what it takes to know when it is due and what it has to do
//! with others, and its text. The rest is read out of the text again when it is due: there may be thousands
//! of jobs, and nearly all of them wait.

use std::path::Path;
use std::sync::Arc;

use crate::clock::job::{self, Action, HEARTBEAT, Job, Need};
use crate::clock::schedule::When;

/// A definition that is in force.
#[derive(Debug)]
pub(super) struct Definition {
    /// When it is due.
    pub(super) when: When,
    /// What must have succeeded first.
    pub(super) needs: Box<[Need]>,
    /// The directory of the body that it embodies, relative to the root.
    pub(super) body: Option<Box<Path>>,
    /// Whether a set is worn for its runs.
    pub(super) wears: bool,
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// What stands in its file, or stood there when it could last be read.
    Text(Box<[u8]>),
    /// What no file of its own says.
    Whole(Arc<Job>),
}

impl Definition {
    /// Out of the text of a file that was read as this job.
    pub(super) fn of_text(job: Job, text: &[u8]) -> Self {
        Self::new(job.when.clone(), &job, Source::Text(text.into()))
    }

    /// A job that has no file.
    pub(super) fn whole(job: Arc<Job>) -> Self {
        Self::new(job.when.clone(), &job, Source::Whole(Arc::clone(&job)))
    }

    fn new(when: When, job: &Job, source: Source) -> Self {
        let body = match &job.action {
            Action::Agent { body, .. } | Action::Wake { body, .. } => Some(body.as_path().into()),
            Action::Run(_) => None,
        };
        Self { when, needs: job.needs.clone(), body, wears: job.loadout.is_some(), source }
    }

    /// All of it. `None` where a text that could be read can't be any more: the zone that it names has gone.
    pub(super) fn job(&self, name: &str) -> Option<Arc<Job>> {
        let text = match &self.source {
            Source::Whole(job) => return Some(Arc::clone(job)),
            Source::Text(text) => text,
        };
        let path = Path::new(name);
        let loaded = if name == HEARTBEAT { job::parse_beat(path, text) } else { job::parse(name, path, text).map(Some) };
        loaded.ok().flatten().map(|loaded| Arc::new(loaded.job))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_the_whole_job() {
        let text = b"---\nwhen: {every: 1h}\nagent: a\nneeds: [b]\nloadout: night\ntimeout: 5m\n---\nhello\n";
        let job = job::parse("x", Path::new("/x.md"), text).unwrap().job;
        let kept = Definition::of_text(job.clone(), text);
        assert_eq!(kept.job("x").as_deref(), Some(&job));
        assert_eq!((&kept.when, &kept.needs, kept.body.as_deref(), kept.wears), (&job.when, &job.needs, Some(Path::new("a")), true));
        let beat = b"---\nevery: 1h\n---\ngo\n";
        let job = job::parse_beat(Path::new("/h.md"), beat).unwrap().unwrap().job;
        assert_eq!(Definition::of_text(job.clone(), beat).job(HEARTBEAT).as_deref(), Some(&job));
        assert_eq!(Definition::whole(Arc::new(job.clone())).job("wake:x").as_deref(), Some(&job));
    }

    #[cfg(target_pointer_width = "64")]
    #[test]
    fn it_is_small() {
        let (definition, slot) = (size_of::<Definition>(), size_of::<crate::clock::engine::Slot>());
        assert!(definition <= 112 && slot <= 368, "{definition} and {slot} bytes a job");
    }
}
