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

/// One moment, by three clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// By the wall clock, which people set.
    pub wall: Timestamp,
    /// Since the machine was started, its sleep included.
    pub boot: std::time::Duration,
    /// Since the machine was started, its sleep left out: time in which something could run.
    pub up: std::time::Duration,
}

impl Moment {
    /// This one. In debug builds a test says it (see [`super::env::LOCI_TEST_NOW`]).
    #[must_use]
    pub fn now() -> Self {
        #[cfg(debug_assertions)]
        if let Some(file) = super::env::var(super::env::LOCI_TEST_NOW)
            && let Some(said) = Self::read(std::path::Path::new(&file))
        {
            return said;
        }
        Self { wall: now(), boot: since_boot(BOOTTIME), up: since_boot(nix::libc::CLOCK_MONOTONIC) }
    }

    /// `WALL BOOT UP`: an instant and two counts of milliseconds.
    #[cfg(debug_assertions)]
    fn read(file: &std::path::Path) -> Option<Self> {
        let text = std::fs::read_to_string(file).ok()?;
        let mut words = text.split_whitespace();
        let wall = words.next()?.parse().ok()?;
        let mut millis = || Some(std::time::Duration::from_millis(words.next()?.parse().ok()?));
        Some(Self { wall, boot: millis()?, up: millis()? })
    }
}

#[cfg(target_os = "linux")]
const BOOTTIME: nix::libc::clockid_t = nix::libc::CLOCK_BOOTTIME;
/// Elsewhere this one counts sleep already.
#[cfg(not(target_os = "linux"))]
const BOOTTIME: nix::libc::clockid_t = nix::libc::CLOCK_MONOTONIC;

fn since_boot(clock: nix::libc::clockid_t) -> std::time::Duration {
    let mut at = nix::libc::timespec { tv_sec: 0, tv_nsec: 0 };
    #[expect(unsafe_code, reason = "the standard library has no clock that counts sleep")]
    // SAFETY: the kernel writes one `timespec` to where `at` lies.
    let told = unsafe { nix::libc::clock_gettime(clock, &raw mut at) };
    if told != 0 {
        return std::time::Duration::ZERO;
    }
    std::time::Duration::new(u64::try_from(at.tv_sec).unwrap_or(0), u32::try_from(at.tv_nsec).unwrap_or(0))
}
