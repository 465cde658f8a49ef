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

/// A point in time after which nobody waits any more, by a clock that only goes forward.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(std::time::Instant);

impl Deadline {
    /// So long from now.
    #[must_use]
    pub fn after(patience: std::time::Duration) -> Self {
        Self(std::time::Instant::now() + patience)
    }

    /// What is left of it; zero when it has passed.
    #[must_use]
    pub fn left(&self) -> std::time::Duration {
        self.0.saturating_duration_since(std::time::Instant::now())
    }
}
