use std::str::FromStr as _;

use jiff::Timestamp;

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn when(cron: &str, tz: &str) -> When {
    When::Cron { cron: Cron::parse(cron).unwrap(), zone: zone(tz).unwrap() }
}

/// The instants of a schedule after one and up to another, as UTC.
fn between(cron: &str, tz: &str, from: &str, to: &str) -> Vec<String> {
    let (when, to) = (when(cron, tz), at(to));
    let mut last = at(from);
    let mut found = Vec::new();
    while let Some(next) = when.next(last, None).filter(|next| *next <= to) {
        assert!(next > last, "{cron}: {next} after {last}");
        found.push(next.to_string());
        last = next;
    }
    found
}

fn said(cron: &str) -> String {
    Cron::parse(cron).unwrap_err().to_string()
}

#[test]
fn a_bad_field_is_named_with_its_value_and_range() {
    for (cron, words) in [
        ("60 * * * *", &["minute", "`60`", "out of range", "0-59"][..]),
        ("* 24 * * *", &["hour", "`24`", "0-23"]),
        ("* * 0 * *", &["day of month", "`0`", "1-31"]),
        ("* * * 13 *", &["month", "`13`", "1-12 or jan-dec"]),
        ("* * * * 8", &["day of week", "`8`", "0-7 or sun-sat"]),
        ("* * * foo *", &["month", "`foo`", "no value"]),
        ("5-1 * * * *", &["minute", "`5-1`", "backwards"]),
        ("*/0 * * * *", &["minute", "`*/0`", "step"]),
        ("1,,2 * * * *", &["minute", "lacks a value"]),
        ("-5 * * * *", &["minute", "`-5`"]),
        ("* * * * fri#6", &["day of week", "`fri#6`", "1-5"]),
        ("+5 * * * *", &["minute", "`+5`"]),
        ("* * * *", &["4 fields", "five"]),
        ("0 0 * * * *", &["6 fields"]),
        ("@reboot", &["`@reboot`", "@daily"]),
        ("", &["0 fields"]),
        ("* * 1é * *", &["day of month", "`1é`"]),
    ] {
        let said = said(cron);
        for word in words {
            assert!(said.contains(word), "{cron}: {said}");
        }
    }
    assert!(said(&"1,".repeat(2000)).contains("1024 bytes"));
}

#[test]
fn what_never_comes_is_refused() {
    for cron in ["0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 */15 * mon#2", "0 0 31 2 */2"] {
        assert!(said(cron).contains("never"), "{cron}");
    }
    for cron in ["0 0 29 2 *", "0 0 31 2 mon", "0 0 L 2 *", "0 0 */10 * mon#2", "* * 29 2 */7", "0 0 31 2,3 *"] {
        Cron::parse(cron).unwrap();
    }
}

#[test]
fn days_follow_the_rule_of_vixie() {
    let utc = |cron, from, to| between(cron, "UTC", from, to);
    assert_eq!(utc("0 0 13 * 5", "2026-02-01T00:00:00Z", "2026-02-14T00:00:00Z"), ["2026-02-06T00:00:00Z", "2026-02-13T00:00:00Z"]);
    assert_eq!(utc("0 0 */10 11 6", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"), ["2026-11-21T00:00:00Z"]);
    assert_eq!(utc("0 0 L * *", "2028-01-31T00:00:00Z", "2028-03-31T00:00:00Z"), ["2028-02-29T00:00:00Z", "2028-03-31T00:00:00Z"]);
    assert_eq!(utc("0 9 * * mon#2", "2026-06-01T00:00:00Z", "2026-07-31T00:00:00Z"), ["2026-06-08T09:00:00Z", "2026-07-13T09:00:00Z"]);
    for last in ["0 9 * * fri#L", "0 9 * * 5L", "0 9 * * friL"] {
        assert_eq!(utc(last, "2026-06-01T00:00:00Z", "2026-07-31T12:00:00Z"), ["2026-06-26T09:00:00Z", "2026-07-31T09:00:00Z"], "{last}");
    }
    assert_eq!(
        utc("0 0 * * fri-sun", "2026-06-04T00:00:00Z", "2026-06-08T00:00:00Z"),
        ["2026-06-05T00:00:00Z", "2026-06-06T00:00:00Z", "2026-06-07T00:00:00Z"]
    );
    assert_eq!(utc("0 0 * * 7", "2026-06-04T00:00:00Z", "2026-06-08T00:00:00Z"), ["2026-06-07T00:00:00Z"]);
    assert_eq!(utc("50/5 23 * * *", "2026-06-04T23:49:00Z", "2026-06-05T00:00:00Z"), ["2026-06-04T23:50:00Z", "2026-06-04T23:55:00Z"]);
    assert_eq!(utc("0 0 29 2 5", "2026-03-01T00:00:00Z", "2026-03-06T00:00:00Z").len(), 0, "february only");
    // A 29th of February that is a Friday, over the year 2100.
    assert_eq!(when("0 0 29 2 */5", "UTC").next(at("2097-01-01T00:00:00Z"), None).unwrap().to_string(), "2104-02-29T00:00:00Z");
}

/// Gaps and folds of seven zones: of half an hour, at midnight, of a whole day.
#[test]
fn changes_of_zones() {
    for (cron, tz, from, to, wanted) in [
        // Europe/Berlin, forward 02:00 to 03:00: once, and the next day at its own time.
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-03-28T12:00:00Z",
            "2026-03-30T12:00:00Z",
            &["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"][..],
        ),
        ("15,45 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z", &["2026-03-29T01:00:00Z"]),
        ("0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z", &["2026-03-29T01:00:00Z"]),
        ("0 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T02:00:00Z", &["2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"]),
        ("*/30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z", &[]),
        // Back 03:00 to 02:00.
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z", &["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]),
        (
            "*/30 2 * * *",
            "Europe/Berlin",
            "2026-10-24T12:00:00Z",
            "2026-10-25T12:00:00Z",
            &["2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z"],
        ),
        ("0 3 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z", &["2026-10-25T02:00:00Z"]),
        // Europe/London.
        ("0 0 * * *", "Europe/London", "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z", &["2026-03-29T00:00:00Z"]),
        ("30 1 * * *", "Europe/London", "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z", &["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]),
        // America/New_York.
        (
            "30 2 * * *",
            "America/New_York",
            "2026-03-08T05:00:00Z",
            "2026-03-09T12:00:00Z",
            &["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"],
        ),
        (
            "30 1 * * *",
            "America/New_York",
            "2026-11-01T04:00:00Z",
            "2026-11-02T12:00:00Z",
            &["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"],
        ),
        // Asia/Beirut: the hour from midnight is left out.
        ("0 0 * * *", "Asia/Beirut", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z", &["2026-03-28T22:00:00Z", "2026-03-29T21:00:00Z"]),
        // Australia/Lord_Howe: half an hour.
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", "2026-10-04T12:00:00Z", &["2026-10-03T15:30:00Z"]),
        ("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00Z", "2026-04-05T12:00:00Z", &["2026-04-04T14:45:00Z"]),
        (
            "*/15 * * * *",
            "Australia/Lord_Howe",
            "2026-10-03T15:15:00Z",
            "2026-10-03T15:45:00Z",
            &["2026-10-03T15:30:00Z", "2026-10-03T15:45:00Z"],
        ),
        // America/Sao_Paulo as it was: a gap at midnight.
        ("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00Z", "2018-11-04T12:00:00Z", &["2018-11-04T03:00:00Z"]),
        // Pacific/Apia left out the whole 30th of December 2011.
        ("0 12 30 12 *", "Pacific/Apia", "2011-12-29T00:00:00Z", "2011-12-31T12:00:00Z", &["2011-12-30T10:00:00Z"]),
        (
            "*/30 12 * * *",
            "Pacific/Apia",
            "2011-12-29T00:00:00Z",
            "2011-12-31T11:00:00Z",
            &["2011-12-29T22:00:00Z", "2011-12-29T22:30:00Z", "2011-12-30T22:00:00Z", "2011-12-30T22:30:00Z"],
        ),
    ] {
        assert_eq!(between(cron, tz, from, to), wanted, "{cron} in {tz}");
    }
}

#[test]
fn a_start_inside_a_fold_or_a_gap() {
    // In the second pass the fixed time is over.
    assert_eq!(between("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", "2026-10-25T12:00:00Z"), [""; 0]);
    assert_eq!(between("30 2 * * *", "Europe/Berlin", "2026-10-25T00:10:00Z", "2026-10-25T12:00:00Z"), ["2026-10-25T00:30:00Z"]);
    assert_eq!(between("30 2 * * *", "Europe/Berlin", "2026-03-29T00:59:59Z", "2026-03-29T12:00:00Z"), ["2026-03-29T01:00:00Z"]);
    assert_eq!(between("30 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29T12:00:00Z"), [""; 0]);
}

/// Away from changes of the zone an independent implementation says the same, for some thousands of
/// expressions and starts. Left out is what the two mean differently: a step over a star in a day
/// field (a star to us, a limit to it), and a zone change itself.
#[test]
fn another_implementation_agrees() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    let parser = croner::parser::CronParser::builder().seconds(croner::parser::Seconds::Disallowed).build();
    let mut compared = 0;
    for _ in 0..3000 {
        let mut field = |low: u64, high: u64, day: bool| {
            let value = |random: &mut dyn FnMut(u64) -> u64| low + random(high - low + 1);
            match random(6) {
                0 | 1 => "*".to_owned(),
                2 if !day => format!("*/{}", 1 + random(high)),
                3 => {
                    let (a, b) = (value(&mut random), value(&mut random));
                    format!("{}-{}", a.min(b), a.max(b))
                }
                4 => {
                    let (a, b) = (value(&mut random), value(&mut random));
                    format!("{}-{}/{}", a.min(b), a.max(b), 1 + random(5))
                }
                _ => format!("{},{}", value(&mut random), value(&mut random)),
            }
        };
        let text = [field(0, 59, false), field(0, 23, false), field(1, 31, true), field(1, 12, false), field(0, 6, true)].join(" ");
        let Ok(ours) = Cron::parse(&text) else { continue };
        let theirs = parser.parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let start = 1_735_689_600 + i64::try_from(random(4 * 365 * 86_400)).unwrap();
        let (mut mine, mut other) = (Timestamp::from_second(start).unwrap(), chrono::DateTime::from_timestamp(start, 0).unwrap());
        for _ in 0..5 {
            let Ok(next) = theirs.find_next_occurrence(&other, false) else { break };
            other = next;
            mine = ours.next(mine, &jiff::tz::TimeZone::UTC).unwrap();
            assert_eq!(mine.as_second(), other.timestamp(), "{text} from {start}");
            compared += 1;
        }
    }
    assert!(compared > 10_000, "only {compared}");
}

#[test]
fn the_comparison_can_see() {
    let theirs = croner::Cron::from_str("0 0 */10 11 6").unwrap();
    let start = chrono::DateTime::from_timestamp(1_793_491_200, 0).unwrap();
    let other = theirs.find_next_occurrence(&start, false).unwrap().timestamp();
    let mine =
        Cron::parse("0 0 */10 11 6").unwrap().next(Timestamp::from_second(1_793_491_200).unwrap(), &jiff::tz::TimeZone::UTC).unwrap();
    assert_ne!(other, mine.as_second(), "a step over a star is where they differ");
}

#[test]
fn intervals_and_instants() {
    let hours = When::Every(every("2h").unwrap());
    let anchor = Some(at("2026-04-01T07:00:00Z"));
    assert_eq!(hours.next(at("2026-04-01T08:40:00Z"), anchor), Some(at("2026-04-01T09:00:00Z")));
    assert_eq!(hours.next(at("2026-04-01T09:00:00Z"), anchor), Some(at("2026-04-01T11:00:00Z")));
    let once = When::At(super::at("2026-05-01T14:00:00+02:00").unwrap());
    assert_eq!(once.next(at("2026-05-01T11:59:59Z"), None), Some(at("2026-05-01T12:00:00Z")));
    assert_eq!(once.next(at("2026-05-01T12:00:00Z"), None), None);
    for (text, word) in
        [("2026-05-01T14:00:00", "zone"), ("2026-05-01", "zone"), ("tomorrow", "no instant"), ("2026-02-30T00:00:00Z", "no instant")]
    {
        let said = super::at(text).unwrap_err().to_string();
        assert!(said.contains(word), "{said}");
    }
    assert!(zone("Europe/Berln").unwrap_err().to_string().contains("Europe/Berlin"));
}

#[test]
fn lengths_of_time() {
    let seconds = |text| duration::parse(text).map(|length| length.as_secs());
    assert_eq!(
        [seconds("90s"), seconds("15m"), seconds("1h30m"), seconds("2d"), seconds("0")],
        [Ok(90), Ok(900), Ok(5400), Ok(172_800), Ok(0)]
    );
    for odd in ["", "5", "m", "30m1h", "1h1h", "1.5h", "-1s", " 1s", "1é", "99999999999999999999s", "4000d"] {
        assert!(duration::parse(odd).is_err(), "{odd}");
    }
    assert!(every("0s").is_err() && every("0").is_err() && every("1s").is_ok());
    for text in ["1h30m", "45s", "2d"] {
        assert_eq!(duration::show(duration::parse(text).unwrap()), text);
    }
}
