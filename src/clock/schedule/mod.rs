//! When: a cron expression in a zone, an interval, or one instant.
//!
//! The evaluator is our own, over the zones of `jiff`: what it is asked over a change of a zone is
//! what this program is for.

mod cron;
pub mod duration;
mod field;
#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;

pub use cron::Cron;

use crate::sys::time;
use crate::text::near;

/// When a job is due.
#[derive(Debug, Clone, PartialEq)]
pub enum When {
    /// By the calendar of a zone.
    Cron {
        /// The expression.
        cron: Cron,
        /// In which zone.
        zone: TimeZone,
    },
    /// At first sight, then after each interval.
    Every(Duration),
    /// Once.
    At(Timestamp),
    /// Not by the calendar: when mail comes.
    Mail,
}

/// What is wrong with a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// A field of a cron expression.
    #[error("{field}: `{value}` {why} ({range})")]
    Field {
        /// Its name.
        field: String,
        /// The item of it.
        value: String,
        /// What is wrong.
        why: String,
        /// What would do.
        range: String,
    },
    /// Not five fields.
    #[error("`{text}` has {count} fields; five are wanted: minute, hour, day of month, month, day of week")]
    Count {
        /// The expression.
        text: String,
        /// How many it has.
        count: usize,
    },
    /// An unknown `@name`.
    #[error("`{0}` is none of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly")]
    Nickname(String),
    /// More text than any expression needs.
    #[error("the expression has more than {0} bytes")]
    TooLong(usize),
    /// No day is such.
    #[error("`{0}` never comes: no month named has such a day")]
    Never(String),
    /// An unknown zone.
    #[error("`{name}` is no IANA zone{}", .near.as_ref().map_or_else(String::new, |near| format!("; did you mean {near}?")))]
    Zone {
        /// What was written.
        name: String,
        /// The one that is nearest.
        near: Option<String>,
    },
    /// Not a length of time.
    #[error("`{0}` is no length of time like 30s, 15m, 1h30m or 2d")]
    Duration(String),
    /// An interval below a second.
    #[error("`{0}` is shorter than 1s")]
    TooShort(String),
    /// An instant without its zone.
    #[error("`{0}` does not say its zone; write 2026-12-24T18:00:00+01:00 or …Z")]
    NoZone(String),
    /// Not an instant.
    #[error("`{0}` is no instant like 2026-12-24T18:00:00+01:00")]
    Instant(String),
}

/// The zone of a name.
///
/// # Errors
/// Where there is none of that name; the nearest is named.
pub fn zone(name: &str) -> Result<TimeZone, ScheduleError> {
    time::zone(name).ok_or_else(|| {
        let names = time::zones();
        let near = near::nearest(name, names.iter().map(String::as_str)).map(str::to_owned);
        ScheduleError::Zone { name: name.to_owned(), near }
    })
}

/// An interval: a length of time of a second or more.
///
/// # Errors
/// What is wrong with it.
pub fn every(text: &str) -> Result<Duration, ScheduleError> {
    let length = duration::parse(text)?;
    if length < Duration::from_secs(1) { Err(ScheduleError::TooShort(text.to_owned())) } else { Ok(length) }
}

/// One instant, with its zone.
///
/// # Errors
/// What is wrong with it.
pub fn at(text: &str) -> Result<Timestamp, ScheduleError> {
    text.parse::<Timestamp>().map_err(|_| {
        if text.parse::<jiff::civil::DateTime>().is_ok() {
            ScheduleError::NoZone(text.to_owned())
        } else {
            ScheduleError::Instant(text.to_owned())
        }
    })
}

impl When {
    /// The first instant after `after`, by the wall clock. Of an interval, counted from `anchor`.
    #[must_use]
    pub fn next(&self, after: Timestamp, anchor: Option<Timestamp>) -> Option<Timestamp> {
        match self {
            Self::Cron { cron, zone } => cron.next(after, zone),
            Self::At(at) => (*at > after).then_some(*at),
            Self::Mail => None,
            Self::Every(length) => {
                let Some(anchor) = anchor.filter(|anchor| *anchor <= after) else { return anchor };
                let step = i128::try_from(length.as_nanos()).ok()?.max(1);
                let passed = after.as_nanosecond() - anchor.as_nanosecond();
                Timestamp::from_nanosecond(anchor.as_nanosecond() + (passed / step + 1) * step).ok()
            }
        }
    }
}
