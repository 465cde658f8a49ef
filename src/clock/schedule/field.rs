//! One field of a cron expression, read into a set of bits.

use std::fmt;

use super::ScheduleError;

/// Which field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Minute,
    Hour,
    DayOfMonth,
    Month,
    DayOfWeek,
}

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// What stands in a field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Set {
    /// Bit N: the value N.
    pub(super) bits: u64,
    /// Whether the field starts with `*`: of day fields, and of minutes and hours over a change of
    /// the zone, that decides the rule.
    pub(super) star: bool,
    /// `L` of a day of the month.
    pub(super) last_day: bool,
    /// Of a day of the week: byte N has bit K for "the K-th day N of the month" (from 1), bit 6 for
    /// the last one.
    pub(super) nth: [u8; 7],
}

/// The bit of [`Set::nth`] for the last such day of a month.
pub(super) const LAST: u8 = 1 << 6;

impl Field {
    pub(super) const ALL: [Self; 5] = [Self::Minute, Self::Hour, Self::DayOfMonth, Self::Month, Self::DayOfWeek];

    fn bounds(self) -> (u8, u8) {
        match self {
            Self::Minute => (0, 59),
            Self::Hour => (0, 23),
            Self::DayOfMonth => (1, 31),
            Self::Month => (1, 12),
            Self::DayOfWeek => (0, 7),
        }
    }

    fn names(self) -> (&'static [&'static str], u8) {
        match self {
            Self::Month => (&MONTHS, 1),
            Self::DayOfWeek => (&DAYS, 0),
            _ => (&[], 0),
        }
    }

    fn error(self, value: &str, why: &str) -> ScheduleError {
        let (low, high) = self.bounds();
        let names = match self {
            Self::Month => " or jan-dec",
            Self::DayOfWeek => " or sun-sat",
            _ => "",
        };
        ScheduleError::Field {
            field: self.to_string(),
            value: value.to_owned(),
            why: why.to_owned(),
            range: format!("{low}-{high}{names}"),
        }
    }

    fn number(self, text: &str) -> Option<u8> {
        let (names, first) = self.names();
        if let Some(at) = names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
            return Some(u8::try_from(at).ok()? + first);
        }
        let digits = !text.is_empty() && text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten()
    }

    fn value(self, text: &str, item: &str) -> Result<u8, ScheduleError> {
        let (low, high) = self.bounds();
        match self.number(text) {
            Some(number) if (low..=high).contains(&number) => Ok(number),
            Some(_) => Err(self.error(item, "is out of range")),
            None if text.is_empty() => Err(self.error(item, "lacks a value")),
            None => Err(self.error(item, "is no value of it")),
        }
    }

    /// Reads a field.
    pub(super) fn parse(self, text: &str) -> Result<Set, ScheduleError> {
        let mut set = Set { star: text.starts_with('*'), ..Set::default() };
        for item in text.split(',') {
            self.item(item, &mut set)?;
        }
        if self == Self::DayOfWeek && set.bits & (1 << 7) != 0 {
            set.bits = (set.bits & !(1 << 7)) | 1;
        }
        Ok(set)
    }

    fn item(self, item: &str, set: &mut Set) -> Result<(), ScheduleError> {
        if item.is_empty() {
            return Err(self.error(item, "lacks a value"));
        }
        if self == Self::DayOfMonth && item.eq_ignore_ascii_case("l") {
            set.last_day = true;
            return Ok(());
        }
        if self == Self::DayOfWeek
            && let Some((day, mark)) = nth_of(item)
        {
            let day = self.value(day, item)? % 7;
            let bit = match mark {
                Some("1" | "2" | "3" | "4" | "5") => 1 << mark.and_then(|mark| mark.parse::<u8>().ok()).unwrap_or(1),
                None => LAST,
                Some(mark) if mark.eq_ignore_ascii_case("l") => LAST,
                Some(_) => return Err(self.error(item, "has no number of 1-5 behind its #")),
            };
            if let Some(days) = set.nth.get_mut(usize::from(day)) {
                *days |= bit;
            }
            return Ok(());
        }
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (item, None),
        };
        let (low, high) = self.bounds();
        let (from, to) = if range == "*" {
            // 7 is Sunday once more: a star counts it once.
            (low, if self == Self::DayOfWeek { 6 } else { high })
        } else if let Some((from, to)) = range.split_once('-') {
            let (from, to) = (self.value(from, item)?, self.value(to, item)?);
            // `fri-sun`: the Sunday at the end of the week.
            let to = if self == Self::DayOfWeek && to == 0 && from > 0 { 7 } else { to };
            if from > to {
                return Err(self.error(item, "runs backwards"));
            }
            (from, to)
        } else {
            let value = self.value(range, item)?;
            // `5/10`: from 5 on.
            (value, if step.is_some() { high } else { value })
        };
        let step = match step {
            None => 1,
            Some(step) => match step.parse::<u8>() {
                Ok(number) if number > 0 && step.bytes().all(|byte| byte.is_ascii_digit()) => number,
                _ => return Err(self.error(item, "has no step of 1 or more behind its /")),
            },
        };
        for value in (from..=to).step_by(usize::from(step)) {
            set.bits |= 1 << value;
        }
        Ok(())
    }
}

/// `fri#2`, `fri#l`, `fril` and `5l`, taken apart: the day, and what is behind the `#`.
fn nth_of(item: &str) -> Option<(&str, Option<&str>)> {
    if let Some((day, mark)) = item.split_once('#') {
        return Some((day, Some(mark)));
    }
    let day = item.strip_suffix(['l', 'L']).filter(|day| !day.is_empty())?;
    (day.len() == 3 || day.len() == 1).then_some((day, None))
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::DayOfMonth => "day of month",
            Self::Month => "month",
            Self::DayOfWeek => "day of week",
        })
    }
}
