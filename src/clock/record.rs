//! What the clock knows of a job beside its file: what was fired, what came of it, what was skipped.

use std::ops::{Deref, DerefMut};

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::instant;

/// What came of one instant of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All deliverables were there.
    Success,
    /// Some were not.
    Missing,
    /// It took too long and was ended.
    Timeout,
    /// It was ended for a later instant.
    Replaced,
    /// The clock ended between the claim and the start: it is not started again.
    Interrupted,
    /// Its time passed while the clock was off.
    Missed,
    /// Another run of the job was on.
    SkippedOverlap,
    /// A person was active, or said no.
    SkippedHuman,
    /// The day's runs were used up.
    SkippedBudget,
    /// There was nothing to do.
    SkippedIdle,
    /// A job that it needs has not succeeded.
    Held,
    /// It is not accepted, or not armed.
    Dormant,
    /// It ended, and declares nothing that it must leave behind.
    Unjudged,
}

impl Outcome {
    /// Its word in files and output.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Missing => "missing",
            Self::Timeout => "timeout",
            Self::Replaced => "replaced",
            Self::Interrupted => "interrupted",
            Self::Missed => "missed",
            Self::SkippedOverlap => "skipped-overlap",
            Self::SkippedHuman => "skipped-human",
            Self::SkippedBudget => "skipped-budget",
            Self::SkippedIdle => "skipped-idle",
            Self::Held => "held",
            Self::Dormant => "dormant",
            Self::Unjudged => "unjudged",
        }
    }

    /// Whether it blocks: somebody has to look.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Missing | Self::Timeout | Self::Interrupted)
    }
}

/// How often each thing happened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Runs started, retries included.
    #[serde(skip_serializing_if = "is_zero")]
    pub started: u64,
    /// Runs that succeeded.
    #[serde(skip_serializing_if = "is_zero")]
    pub succeeded: u64,
    /// Instants that passed while the clock was off.
    #[serde(skip_serializing_if = "is_zero")]
    pub missed: u64,
    /// Skipped: another run was on.
    #[serde(skip_serializing_if = "is_zero")]
    pub skipped_overlap: u64,
    /// Skipped for a person.
    #[serde(skip_serializing_if = "is_zero")]
    pub skipped_human: u64,
    /// Skipped: the day's runs were used up.
    #[serde(skip_serializing_if = "is_zero")]
    pub skipped_budget: u64,
    /// Skipped: nothing to do.
    #[serde(skip_serializing_if = "is_zero")]
    pub skipped_idle: u64,
    /// Held by a need.
    #[serde(skip_serializing_if = "is_zero")]
    pub held: u64,
    /// Claimed and never started.
    #[serde(skip_serializing_if = "is_zero")]
    pub interrupted: u64,
    /// Due while not accepted or not armed.
    #[serde(skip_serializing_if = "is_zero")]
    pub dormant: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The last run that was judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// What came of it.
    pub outcome: Outcome,
    /// When that was.
    #[serde(with = "instant")]
    pub at: Timestamp,
    /// For which instant it ran.
    #[serde(with = "instant")]
    pub instant: Timestamp,
    /// The run.
    pub run: String,
    /// Its exit status, where there was one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exit: Option<i32>,
    /// Whether it ran later than it was due.
    #[serde(default)]
    pub late: bool,
}

impl Judged {
    /// Whether something is missing and the program itself said that it failed: then why stands in its output.
    #[must_use]
    pub fn lacks_and_failed(&self) -> bool {
        self.outcome == Outcome::Missing && self.exit.is_some_and(|code| code != 0)
    }
}

/// A try that is still to come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// For which instant.
    #[serde(with = "instant")]
    pub instant: Timestamp,
    /// Which try: 1 is the first one after the run itself.
    pub attempt: u32,
    /// Not before.
    #[serde(with = "instant")]
    pub due: Timestamp,
}

/// What the clock knows of one job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// Of its schedule: another one begins anew.
    pub when: u64,
    /// Since when this schedule is known: nothing before counts.
    #[serde(with = "instant::maybe", skip_serializing_if = "Option::is_none")]
    pub seen: Option<Timestamp>,
    /// Of an interval: what it is counted from.
    #[serde(with = "instant::maybe", skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Timestamp>,
    /// The last instant that something came of.
    #[serde(with = "instant::maybe", skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
    /// Since when its file is gone.
    #[serde(with = "instant::maybe", skip_serializing_if = "Option::is_none")]
    pub gone: Option<Timestamp>,
    /// What came of it so far.
    #[serde(flatten)]
    pub past: Past,
}

/// What came of a job so far. Of one that was never due there is nothing, and that takes no room: where
/// there are thousands of jobs, most of them are such. Whoever writes to it gives it room.
#[derive(Debug, Clone, Default)]
pub struct Past(Option<Box<Deeds>>);

impl Deref for Past {
    type Target = Deeds;

    fn deref(&self) -> &Deeds {
        self.0.as_deref().unwrap_or(&NOTHING)
    }
}

impl DerefMut for Past {
    fn deref_mut(&mut self) -> &mut Deeds {
        self.0.get_or_insert_default()
    }
}

impl PartialEq for Past {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Past {}

impl Serialize for Past {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Past {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let deeds = Deeds::deserialize(deserializer)?;
        Ok(Self((deeds != NOTHING).then(|| Box::new(deeds))))
    }
}

/// What came of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Deeds {
    /// How often what happened.
    pub counts: Counts,
    /// The day that runs are counted for, and how many there were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<(String, u32)>,
    /// What came of the last instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The last run that was judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged: Option<Box<Judged>>,
    /// Which job held the last instant that was held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_by: Option<String>,
    /// The run that is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<String>,
    /// A try that is still to come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Box<Retry>>,
    /// Of a body that mail wakes: the messages that it was woken for and that lay there then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub woken: Vec<String>,
    /// The last runs, whose folders are kept; the newest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<String>,
    /// The last claims, whose files are kept; the newest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
}

/// What stands for a past in which nothing was.
static NOTHING: Deeds = Deeds {
    counts: Counts {
        started: 0,
        succeeded: 0,
        missed: 0,
        skipped_overlap: 0,
        skipped_human: 0,
        skipped_budget: 0,
        skipped_idle: 0,
        held: 0,
        interrupted: 0,
        dormant: 0,
    },
    day: None,
    outcome: None,
    judged: None,
    held_by: None,
    running: None,
    retry: None,
    woken: Vec::new(),
    runs: Vec::new(),
    claims: Vec::new(),
};

impl Record {
    /// How many runs there were on a day.
    #[must_use]
    pub fn runs_on(&self, day: Date) -> u32 {
        self.past.day.as_ref().filter(|(one, _)| *one == day.to_string()).map_or(0, |(_, count)| *count)
    }

    /// Counts one run on a day.
    pub fn count_run(&mut self, day: Date) {
        self.past.day = Some((day.to_string(), self.runs_on(day) + 1));
        self.past.counts.started += 1;
    }

    /// Notes what came of an instant without a run.
    pub fn note(&mut self, outcome: Outcome, instant: Timestamp) {
        let counts = &mut self.past.counts;
        let counter = match outcome {
            Outcome::Missed => &mut counts.missed,
            Outcome::SkippedOverlap => &mut counts.skipped_overlap,
            Outcome::SkippedHuman => &mut counts.skipped_human,
            Outcome::SkippedBudget => &mut counts.skipped_budget,
            Outcome::SkippedIdle => &mut counts.skipped_idle,
            Outcome::Held => &mut counts.held,
            Outcome::Interrupted => &mut counts.interrupted,
            Outcome::Dormant => &mut counts.dormant,
            Outcome::Success => &mut counts.succeeded,
            Outcome::Missing | Outcome::Timeout | Outcome::Replaced | Outcome::Unjudged => return self.close(outcome, instant),
        };
        *counter += 1;
        self.close(outcome, instant);
    }

    fn close(&mut self, outcome: Outcome, instant: Timestamp) {
        self.past.outcome = Some(outcome);
        self.last = self.last.max(Some(instant));
    }
}
