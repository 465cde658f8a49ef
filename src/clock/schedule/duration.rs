//! Lengths of time as people write them: `90s`, `15m`, `1h30m`, `2d`.

use std::time::Duration;

use super::ScheduleError;

/// The longest one: ten years.
pub const MAX: Duration = Duration::from_secs(10 * 366 * 86_400);

/// Reads a length of time: numbers with `s`, `m`, `h` or `d`, the larger unit first; `0` alone is none.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &str) -> Result<Duration, ScheduleError> {
    let odd = || ScheduleError::Duration(text.to_owned());
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let (mut seconds, mut rest, mut last) = (0_u64, text, u64::MAX);
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = rest.get(..digits).and_then(|number| number.parse().ok()).ok_or_else(odd)?;
        let unit = match rest.get(digits..=digits) {
            Some("s") => 1,
            Some("m") => 60,
            Some("h") => 3600,
            Some("d") => 86_400,
            _ => return Err(odd()),
        };
        if unit >= last {
            return Err(odd());
        }
        last = unit;
        seconds = number.checked_mul(unit).and_then(|more| seconds.checked_add(more)).ok_or_else(odd)?;
        rest = rest.get(digits + 1..).unwrap_or_default();
    }
    let length = Duration::from_secs(seconds);
    if text.is_empty() || length > MAX { Err(odd()) } else { Ok(length) }
}

/// Writes it as it is read.
#[must_use]
pub fn show(length: Duration) -> String {
    let mut rest = length.as_secs();
    let mut text = String::new();
    for (unit, letter) in [(86_400, 'd'), (3600, 'h'), (60, 'm'), (1, 's')] {
        if rest >= unit {
            text.push_str(&(rest / unit).to_string());
            text.push(letter);
            rest %= unit;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}
