//! What the clock knows, for whoever asks. Asking changes nothing.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Clock, Notice};
use crate::clock::runs::Processes;
use crate::sys::time::Moment;

/// Why a job does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// It does.
    Live,
    /// Nobody accepted it as it is.
    NotAccepted,
    /// It calls a model, and nobody armed it as it is.
    Dormant,
    /// Its file is refused.
    Refused,
    /// Its file is gone.
    Gone,
}

impl Why {
    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::NotAccepted => "not accepted",
            Self::Dormant => "dormant",
            Self::Refused => "refused",
            Self::Gone => "gone",
        }
    }
}

/// One job, as people see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JobView {
    /// Its name.
    pub name: String,
    /// Whether it runs.
    pub state: Why,
    /// What is wrong with its file, or with what it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When it is due next.
    #[serde(with = "crate::clock::instant::maybe")]
    pub next: Option<Timestamp>,
    /// The run that is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<String>,
}

impl<P: Processes> Clock<P> {
    /// A job as it stands.
    #[must_use]
    pub fn view(&self, name: &str) -> Option<JobView> {
        let slot = self.slots.get(name)?;
        let error = slot.refused.as_deref().or(slot.error.as_deref()).map(str::to_owned);
        let job = slot.live_job(name);
        let state = match job.as_deref() {
            _ if slot.record.gone.is_some() => Why::Gone,
            None => Why::Refused,
            Some(job) if !self.trust.is_accepted(job, &self.root.dir) => Why::NotAccepted,
            Some(job) if job.calls_model && !self.trust.is_armed(job, &self.root.dir) => Why::Dormant,
            Some(_) => Why::Live,
        };
        Some(JobView { name: name.to_owned(), state, error, next: slot.next, running: slot.record.past.running.clone() })
    }

    /// What goes into the status file.
    #[must_use]
    pub fn status(&self, now: Moment) -> Value {
        let jobs = self.slots.iter().filter(|(name, slot)| slot.record.gone.is_none() && !super::loops::is_ours(name)).count();
        let refused: Vec<Value> = self
            .slots
            .iter()
            .filter(|(_, slot)| slot.record.gone.is_none())
            .filter_map(|(name, slot)| Some(json!({ "job": &**name, "why": slot.refused.as_deref().or(slot.error.as_deref())? })))
            .take(1000)
            .collect();
        let running: Vec<Value> = self
            .flights
            .values()
            .map(|flight| json!({ "job": flight.run.job, "run": flight.run.id, "pid": flight.run.process.pid, "since": flight.run.started.to_string() }))
            .collect();
        let notices: Vec<&Notice> = self.voice.kept().collect();
        json!({
            "schema": 1, "at": now.wall.to_string(), "ticks": self.ticks, "jobs": jobs, "running": running, "refused": refused,
            "stuck": self.ledger.fold.open.keys().collect::<Vec<_>>(), "notices": notices,
        })
    }
}
