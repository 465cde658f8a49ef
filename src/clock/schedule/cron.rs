//! A cron expression: five fields, and the next instant of it in a zone.
//!
//! Days follow the rule of vixie cron: where both day fields are limited, either is enough; where one
//! starts with `*`, both have to hold. Over a change of a zone the rules are cronie's. A **fixed** job
//! (neither minutes nor hours start with `*`) whose time is left out runs once, at the first instant
//! after the gap; one whose time comes twice runs once, the first time. All others follow real time.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use super::ScheduleError;
use super::field::{Field, LAST, Set};

/// How far ahead an instant is looked for. The longest wait there is, a 29th of February on a given
/// day of the week over the year 2100, is 40 years.
const YEARS: i16 = 41;

/// The longest expression that is read.
const MAX_BYTES: usize = 1024;

/// An expression that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    minutes: u64,
    hours: u32,
    days: u32,
    months: u16,
    week: u8,
    last_day: bool,
    nth: Option<Box<[u8; 7]>>,
    /// Both day fields have to hold.
    both: bool,
    fixed: bool,
}

impl Cron {
    /// Reads an expression: five fields, or one of `@yearly`, `@annually`, `@monthly`, `@weekly`,
    /// `@daily`, `@midnight`, `@hourly`.
    ///
    /// # Errors
    /// Which field has which value, what is wrong with it and what would do; or that no day is such.
    pub fn parse(text: &str) -> Result<Self, ScheduleError> {
        let text = text.trim();
        if text.len() > MAX_BYTES {
            return Err(ScheduleError::TooLong(MAX_BYTES));
        }
        let fields = if text.starts_with('@') { nickname(text)? } else { text };
        let mut sets: [Set; 5] = Default::default();
        let mut count = 0;
        for word in fields.split_ascii_whitespace() {
            if let (Some(set), Some(field)) = (sets.get_mut(count), Field::ALL.get(count)) {
                *set = field.parse(word)?;
            }
            count += 1;
        }
        if count != 5 {
            return Err(ScheduleError::Count { text: text.to_owned(), count });
        }
        let [minute, hour, day, month, week] = sets;
        let nth = week.nth.iter().any(|days| *days != 0).then(|| Box::new(week.nth));
        let cron = Self {
            minutes: minute.bits,
            hours: u32::try_from(hour.bits).unwrap_or_default(),
            days: u32::try_from(day.bits).unwrap_or_default(),
            months: u16::try_from(month.bits).unwrap_or_default(),
            week: u8::try_from(week.bits).unwrap_or_default(),
            last_day: day.last_day,
            nth,
            both: day.star || week.star,
            fixed: !minute.star && !hour.star,
        };
        if cron.is_possible() { Ok(cron) } else { Err(ScheduleError::Never(text.to_owned())) }
    }

    /// Whether some day is such. Only days that don't exist in the months named, and a numbered day
    /// of the week that has to fall on certain days of the month, can rule all of them out.
    fn is_possible(&self) -> bool {
        if self.last_day || (!self.both && (self.week != 0 || self.nth.is_some())) {
            return true;
        }
        let longest = |month: u8| match month {
            2 => 29,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let exists = (1..=12).any(|month| self.months & (1 << month) != 0 && self.days & ones(longest(month)) != 0);
        if !exists || self.nth.is_none() {
            return exists;
        }
        let first = Date::constant(2000, 1, 1);
        self.next_day(first, first.year() + YEARS).is_some()
    }

    /// The first instant after `after`; `None` where time ends before it.
    #[must_use]
    pub fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        if self.fixed { self.next_fixed(after, zone) } else { self.next_wild(after, zone) }
    }

    /// Fixed jobs: the local times in their order, each at the first instant it stands for.
    fn next_fixed(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let mut local = minute_of(zone.to_datetime(after));
        let last = local.year().saturating_add(YEARS);
        loop {
            let found = self.next_local(local, last)?;
            let instant = match zone.to_ambiguous_timestamp(found).offset() {
                AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(found).ok()?,
                AmbiguousOffset::Fold { before, .. } => before.to_timestamp(found).ok()?,
                // The offset before the gap shows an instant behind its start; the start is the last
                // change up to there.
                AmbiguousOffset::Gap { before, .. } => {
                    let behind = before.to_timestamp(found).ok()?;
                    let just = behind.checked_add(jiff::SignedDuration::from_nanos(1)).ok()?;
                    zone.preceding(just).next()?.timestamp()
                }
            };
            if instant > after {
                return Some(instant);
            }
            local = found.checked_add(jiff::SignedDuration::from_mins(1)).ok()?;
        }
    }

    /// Jobs with a star in minutes or hours: real time, one stretch of a constant offset after the
    /// other.
    fn next_wild(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        const DAY: i64 = 86_400;
        let last = zone.to_datetime(after).year().saturating_add(YEARS);
        let mut from = Timestamp::from_second(after.as_second().checked_add(1)?).ok()?;
        loop {
            let offset = zone.to_offset(from);
            let found = self.next_local(minute_at_or_after(offset.to_datetime(from))?, last)?;
            let instant = offset.to_timestamp(found).ok()?;
            // Two changes within one day don't happen: the same offset at both ends is the same stretch.
            if instant.as_second() - from.as_second() < DAY && zone.to_offset(instant) == offset {
                return Some(instant);
            }
            match next_change(zone, from, offset) {
                Some(change) if change <= instant => from = change,
                _ => return Some(instant),
            }
        }
    }

    /// The first local time at or after `from` that the fields allow.
    fn next_local(&self, from: DateTime, last: i16) -> Option<DateTime> {
        let mut date = from.date();
        if self.allows(date) {
            let hour = u32::from(from.hour().unsigned_abs());
            let minute = u32::from(from.minute().unsigned_abs());
            if self.hours & (1 << hour) != 0
                && let Some(minute) = first_from(self.minutes, minute)
            {
                return time(date, hour, minute);
            }
            if let Some(hour) = first_from(u64::from(self.hours), hour + 1) {
                return time(date, hour, self.minutes.trailing_zeros());
            }
        }
        date = self.next_day(date.tomorrow().ok()?, last)?;
        time(date, self.hours.trailing_zeros(), self.minutes.trailing_zeros())
    }

    /// The first day at or after `from` that the fields allow.
    fn next_day(&self, from: Date, last: i16) -> Option<Date> {
        let mut date = from;
        while date.year() <= last {
            if self.months & (1 << date.month()) == 0 {
                let month = first_from(u64::from(self.months), u32::from(date.month().unsigned_abs()));
                let (year, month) = match month {
                    Some(month) => (date.year(), month),
                    None => (date.year().checked_add(1)?, self.months.trailing_zeros()),
                };
                date = Date::new(year, i8::try_from(month).ok()?, 1).ok()?;
                continue;
            }
            let length = date.days_in_month();
            let mut weekday = date.weekday().to_sunday_zero_offset().unsigned_abs();
            for day in date.day()..=length {
                if self.fits(day.unsigned_abs(), length.unsigned_abs(), weekday) {
                    return Date::new(date.year(), date.month(), day).ok();
                }
                weekday = if weekday == 6 { 0 } else { weekday + 1 };
            }
            date = date.last_of_month().tomorrow().ok()?;
        }
        None
    }

    fn allows(&self, date: Date) -> bool {
        let weekday = date.weekday().to_sunday_zero_offset().unsigned_abs();
        self.months & (1 << date.month()) != 0 && self.fits(date.day().unsigned_abs(), date.days_in_month().unsigned_abs(), weekday)
    }

    fn fits(&self, day: u8, length: u8, weekday: u8) -> bool {
        let by_day = self.days & (1 << day) != 0 || (self.last_day && day == length);
        let by_week = self.week & (1 << weekday) != 0
            || self.nth.as_ref().and_then(|nth| nth.get(usize::from(weekday))).is_some_and(|nth| {
                let which = (day - 1) / 7 + 1;
                nth & (1 << which) != 0 || (nth & LAST != 0 && day + 7 > length)
            });
        if self.both { by_day && by_week } else { by_day || by_week }
    }
}

/// The next change of the offset itself (a zone's table also lists changes of the name alone).
fn next_change(zone: &TimeZone, from: Timestamp, offset: Offset) -> Option<Timestamp> {
    // A zone without further changes may list many that change nothing; a bound is a bound.
    zone.following(from).take(256).find(|change| change.offset() != offset).map(|change| change.timestamp())
}

fn nickname(text: &str) -> Result<&'static str, ScheduleError> {
    Ok(match text.to_ascii_lowercase().as_str() {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        _ => return Err(ScheduleError::Nickname(text.to_owned())),
    })
}

/// The lowest bit set at or above `from`.
fn first_from(bits: u64, from: u32) -> Option<u32> {
    let rest = bits.checked_shr(from).filter(|rest| *rest != 0)?;
    Some(from + rest.trailing_zeros())
}

/// Bits 1 to `high`.
fn ones(high: u32) -> u32 {
    (u32::MAX >> (31 - high)) & !1
}

fn time(date: Date, hour: u32, minute: u32) -> Option<DateTime> {
    Some(date.to_datetime(Time::new(i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, 0, 0).ok()?))
}

fn minute_of(at: DateTime) -> DateTime {
    at.date().at(at.hour(), at.minute(), 0, 0)
}

fn minute_at_or_after(at: DateTime) -> Option<DateTime> {
    let minute = minute_of(at);
    if minute == at { Some(at) } else { minute.checked_add(jiff::SignedDuration::from_mins(1)).ok() }
}
