//! The time. Deciders get it as an argument; only the roof and `apply` ask here.

/// An instant, printed as RFC 3339 in UTC.
pub use jiff::Timestamp;

/// Now, by the wall clock.
#[must_use]
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// Whole seconds, as `2026-11-30T10:00:00Z`: what goes into files that people read.
#[must_use]
pub fn to_second(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap_or(at).to_string()
}

/// So many days before an instant; `None` where that is before all time.
#[must_use]
pub fn days_before(at: Timestamp, days: u32) -> Option<Timestamp> {
    Timestamp::from_second(at.as_second().checked_sub(i64::from(days) * 86_400)?).ok()
}

/// The zone of an IANA name; `None` where the machine and this program know none of that name.
#[must_use]
pub fn zone(name: &str) -> Option<jiff::tz::TimeZone> {
    jiff::tz::TimeZone::get(name).ok()
}

/// The names of all zones.
#[must_use]
pub fn zones() -> Vec<String> {
    jiff::tz::db().available().map(|name| name.to_string()).collect()
}
