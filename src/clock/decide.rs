//! What fires, and what does not: functions of plain values. No disk, no clock.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::job::{Beat, Job, Missed, Need, Overlap};
use super::record::{Outcome, Record};
use super::schedule::When;

/// An instant that is made up for less than this after it was due is on time.
pub const ON_TIME: SignedDuration = SignedDuration::from_secs(60);

/// Wall time that moves more than this against the time since boot was corrected: nothing is made up
/// for, and nothing waits until it is caught up with.
pub const CORRECTION: SignedDuration = SignedDuration::from_hours(3);

/// The most instants that are counted when the clock was off for long.
const MAX_INSTANTS: u64 = 10_000;

/// What the calendar says about a job now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Due {
    /// The instants to run for, in their order.
    pub run: Vec<Timestamp>,
    /// How many instants passed that nothing runs for.
    pub missed: u64,
    /// The last instant that is dealt with by this.
    pub last: Option<Timestamp>,
}

/// Which instants of a job are due. Up to `dealt` they have been handed out already.
#[must_use]
pub fn due(job: &Job, record: &Record, dealt: Option<Timestamp>, now: Timestamp) -> Due {
    let mut due = Due::default();
    let Some(mut after) = floor(record, dealt) else { return due };
    let window = SignedDuration::try_from(job.missed_window).unwrap_or(SignedDuration::MAX);
    let opens = now.checked_sub(window.max(ON_TIME)).unwrap_or(Timestamp::MIN);
    let mut instants: Vec<Timestamp> = Vec::new();
    let keep = if job.missed == Missed::All { usize::try_from(job.missed_max).unwrap_or(1) + 1 } else { 1 };
    let mut count = 0_u64;
    while let Some(next) = job.when.next(after, record.anchor).filter(|next| *next <= now) {
        count += 1;
        after = next;
        instants.push(next);
        if instants.len() > keep {
            instants.remove(0);
        }
        // Too many to go through one by one: what is older than the window is missed in any case.
        if count >= MAX_INSTANTS && after < opens {
            after = opens;
        } else if count >= 10 * MAX_INSTANTS {
            after = now.checked_sub(ON_TIME).unwrap_or(now).max(after);
        }
    }
    let Some(latest) = instants.last().copied() else { return due };
    due.last = Some(latest);
    let on_time = now.duration_since(latest) < ON_TIME;
    if job.beat.is_some() {
        // Beats are never caught up, and what was dropped is not counted either.
        due.run.extend(on_time.then_some(latest));
        return due;
    }
    instants.retain(|instant| *instant >= opens || (on_time && *instant == latest));
    due.run = match job.missed {
        Missed::Once => instants.last().copied().into_iter().collect(),
        Missed::Skip => on_time.then_some(latest).into_iter().collect(),
        Missed::All => {
            let most = usize::try_from(job.missed_max).unwrap_or(1) + usize::from(on_time);
            instants.split_off(instants.len().saturating_sub(most))
        }
    };
    due.missed = count - due.run.len() as u64;
    due
}

/// The next instant of a job by the calendar, whatever may hinder it then.
#[must_use]
pub fn next(when: &When, record: &Record, dealt: Option<Timestamp>) -> Option<Timestamp> {
    when.next(floor(record, dealt)?, record.anchor)
}

/// Instants up to here count no more: what was dealt with, and what was before the job was seen.
fn floor(record: &Record, dealt: Option<Timestamp>) -> Option<Timestamp> {
    let seen = record.seen?.checked_sub(SignedDuration::from_nanos(1)).ok()?;
    record.last.max(Some(seen)).max(dealt)
}

/// A schedule that is seen for the first time, or was edited: it never looks back. An interval that is
/// new begins now; of one that was edited, the last run counts.
pub fn begin(when: &When, record: &mut Record, now: Timestamp) {
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
    record.seen = Some(now);
    record.anchor = match when {
        When::Every(length) => {
            let since = |last: Timestamp| SignedDuration::try_from(*length).is_ok_and(|length| now.duration_since(last) < length);
            record.last.filter(|last| *last <= now && since(*last)).or(Some(now))
        }
        _ => None,
    };
}

/// A beat at the start of the clock: the first one comes after a whole interval.
pub fn begin_beat(record: &mut Record, now: Timestamp) {
    (record.seen, record.anchor, record.last) = (Some(now), Some(now), Some(now));
}

/// The wall clock was set: it moved by `by` against the time since boot. Intervals go on as if nothing
/// had been; after a correction the calendar begins anew.
pub fn set_clock(when: &When, record: &mut Record, by: SignedDuration, now: Timestamp) {
    let moved = |at: Option<Timestamp>| at.and_then(|at| at.checked_add(by).ok());
    // Asked first: a past that is written to takes room.
    if record.past.retry.is_some()
        && let Some(retry) = &mut record.past.retry
    {
        retry.due = moved(Some(retry.due)).unwrap_or(now);
    }
    match when {
        When::Every(_) => (record.seen, record.anchor, record.last) = (moved(record.seen), moved(record.anchor), moved(record.last)),
        When::Cron { .. } if by.abs() > CORRECTION => {
            record.seen = Timestamp::from_second(now.as_second()).ok();
            record.last = record.last.map(|last| last.min(now));
        }
        When::Cron { .. } | When::At(_) | When::Mail => {}
    }
}

/// What is known at the moment of an instant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// A person accepted what the job does.
    pub accepted: bool,
    /// A person armed it.
    pub armed: bool,
    /// A run of it is on.
    pub running: bool,
    /// A person is active, or said no.
    pub human: bool,
    /// Its span of the day is on.
    pub active: bool,
    /// What it waits for is there.
    pub has_work: bool,
    /// The first job that it needs and that has not succeeded.
    pub held_by: Option<String>,
    /// How long the instant has been waiting for that.
    pub waited: Duration,
    /// How many runs there were today.
    pub runs_today: u32,
    /// It is a try after a failed one.
    pub retry: bool,
}

/// What happens to an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It runs.
    Start,
    /// It does not, and that is recorded.
    Skip(Outcome),
    /// It waits: for the run that is on, or for a need.
    Wait,
    /// The run that is on is ended for it.
    Replace,
}

/// Decides over an instant that is due.
#[must_use]
pub fn fire(job: &Job, facts: &Facts) -> Verdict {
    if !facts.accepted || (job.calls_model && !facts.armed) {
        return Verdict::Skip(Outcome::Dormant);
    }
    if facts.running {
        return match job.overlap {
            Overlap::Skip => Verdict::Skip(Outcome::SkippedOverlap),
            Overlap::Queue => Verdict::Wait,
            Overlap::Replace => Verdict::Replace,
        };
    }
    if facts.human {
        return Verdict::Skip(Outcome::SkippedHuman);
    }
    if !facts.active || !facts.has_work {
        return Verdict::Skip(Outcome::SkippedIdle);
    }
    if facts.held_by.is_some() && !facts.retry {
        return if facts.waited < job.wait_for_needs { Verdict::Wait } else { Verdict::Skip(Outcome::Held) };
    }
    if job.max_per_day.is_some_and(|most| facts.runs_today >= most) {
        return Verdict::Skip(Outcome::SkippedBudget);
    }
    Verdict::Start
}

/// Whether a need is met, by the record of the job that is needed.
#[must_use]
pub fn is_met(need: &Need, record: Option<&Record>, now: Timestamp) -> bool {
    let Some(judged) = record.and_then(|record| record.past.judged.as_ref()) else { return false };
    let within = need.within.and_then(|within| SignedDuration::try_from(within).ok());
    judged.outcome == Outcome::Success && within.is_none_or(|within| now.duration_since(judged.at) <= within)
}

/// How long to wait before a try; `None`: there is no further one.
#[must_use]
pub fn retry_after(job: &Job, outcome: Outcome, attempt: u32) -> Option<Duration> {
    if !matches!(outcome, Outcome::Missing | Outcome::Timeout) || attempt >= job.retry {
        return None;
    }
    let at = usize::try_from(attempt).unwrap_or(usize::MAX);
    job.retry_wait.get(at).or(job.retry_wait.last()).copied().or(Some(Duration::ZERO))
}

/// Whether the span of the day of a beat is on.
#[must_use]
pub fn is_active(beat: &Beat, job: &Job, now: Timestamp) -> bool {
    let Some((from, to)) = beat.active else { return true };
    let time = job.zone.to_datetime(now).time();
    if from <= to { (from..to).contains(&time) } else { time >= from || time < to }
}

/// Whether a lock of this age bars a beat. One from the future counts from when it was first seen.
#[must_use]
pub fn is_fresh(age: SignedDuration, fresh: Duration) -> bool {
    SignedDuration::try_from(fresh).is_ok_and(|fresh| age < fresh)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::clock::job;

    fn at(text: &str) -> Timestamp {
        format!("2026-07-{text}Z").parse().unwrap()
    }

    fn job(header: &str) -> Job {
        job::parse("a", Path::new("/a.md"), format!("---\nrun: x\n{header}\n---\n").as_bytes()).unwrap().job
    }

    /// The instants to run for and how many were missed, for a job that was first seen on the 10th.
    fn asked(header: &str, last: Option<&str>, now: &str) -> (Vec<String>, u64) {
        let job = job(header);
        let mut record = Record::default();
        begin(&job.when, &mut record, at("10T00:00:00"));
        record.last = last.map(at);
        let due = due(&job, &record, None, at(now));
        (due.run.iter().map(ToString::to_string).collect(), due.missed)
    }

    #[test]
    fn what_was_missed_is_made_up_for_as_the_job_says() {
        let daily = "when: {cron: \"0 3 * * *\"}";
        let last = Some("12T03:00:00");
        let one = |text: &str| vec![format!("2026-07-{text}Z")];
        assert_eq!(asked(daily, last, "12T09:00:00"), (vec![], 0));
        assert_eq!(asked(daily, last, "13T03:00:01"), (one("13T03:00:00"), 0));
        // Three days off: one run, for the last of them.
        assert_eq!(asked(daily, last, "15T09:00:00"), (one("15T03:00:00"), 2));
        assert_eq!(asked(&format!("{daily}\nmissed: skip"), last, "15T09:00:00"), (vec![], 3));
        assert_eq!(asked(&format!("{daily}\nmissed: skip"), last, "15T03:00:30"), (one("15T03:00:00"), 2));
        let all = format!("{daily}\nmissed: all\nmissed_max: 2\nmissed_window: 7d");
        assert_eq!(asked(&all, last, "15T09:00:00"), (vec!["2026-07-14T03:00:00Z".to_owned(), "2026-07-15T03:00:00Z".to_owned()], 1));
        // Older than the window.
        assert_eq!(asked(&format!("{daily}\nmissed_window: 2h"), last, "15T09:00:00"), (vec![], 3));
        // Not before it was seen, and not twice.
        assert_eq!(asked("when: {at: 2026-07-09T00:00:00Z}", None, "15T09:00:00"), (vec![], 0));
        assert_eq!(asked("when: {at: 2026-07-12T00:00:00Z}", Some("12T00:00:00"), "12T09:00:00"), (vec![], 0));
    }

    #[test]
    fn a_year_off_costs_no_more_than_a_day() {
        let job = job("when: {every: 1s}");
        let mut record = Record::default();
        begin(&job.when, &mut record, "2025-01-01T00:00:00Z".parse().unwrap());
        let due = due(&job, &record, None, at("10T00:00:00"));
        assert_eq!(due.run, [at("10T00:00:00")]);
        assert!(due.missed > 1000);
    }

    #[test]
    fn an_edit_counts_from_the_last_run() {
        let (hourly, quick) = (job("when: {every: 1h}"), job("when: {every: 5s}"));
        let mut record = Record::default();
        begin(&hourly.when, &mut record, at("10T00:00:00"));
        record.last = Some(at("10T00:00:00"));
        begin(&quick.when, &mut record, at("10T00:00:11"));
        assert_eq!(next(&quick.when, &record, None), Some(at("10T00:00:11")), "it is long due");
        begin(&hourly.when, &mut record, at("10T00:00:20"));
        assert_eq!(next(&hourly.when, &record, None), Some(at("10T01:00:00")));
    }

    #[test]
    fn a_clock_that_was_set() {
        let (hourly, cron) = (job("when: {every: 1h}"), job("when: {cron: \"0 3 * * *\"}"));
        let mut record =
            Record { seen: Some(at("10T00:00:00")), anchor: Some(at("10T00:00:00")), last: Some(at("10T05:00:00")), ..Record::default() };
        set_clock(&hourly.when, &mut record, SignedDuration::from_hours(-12), at("09T17:30:00"));
        assert_eq!(next(&hourly.when, &record, None), Some(at("09T18:00:00")), "an interval goes on");
        // A year ahead and back again: it neither makes up for a year nor waits for one.
        let mut record = Record { seen: Some(at("10T00:00:00")), last: Some(at("10T03:00:00")), ..Record::default() };
        let ahead: Timestamp = "2027-07-10T12:00:00Z".parse().unwrap();
        set_clock(&cron.when, &mut record, SignedDuration::from_hours(365 * 24), ahead);
        assert!(due(&cron, &record, None, ahead).run.is_empty());
        set_clock(&cron.when, &mut record, SignedDuration::from_hours(-365 * 24), at("10T12:01:00"));
        assert_eq!(next(&cron.when, &record, None), Some(at("11T03:00:00")));
        // A small step back: what was done is not done again.
        let mut record = Record { seen: Some(at("10T00:00:00")), last: Some(at("10T03:00:00")), ..Record::default() };
        set_clock(&cron.when, &mut record, SignedDuration::from_mins(-30), at("10T02:31:00"));
        assert_eq!(next(&cron.when, &record, None), Some(at("11T03:00:00")));
    }

    #[test]
    fn each_gate_holds_by_itself() {
        let plain = job("when: {every: 1m}\nneeds: [b]\nmax_per_day: 3\nwait_for_needs: 1m");
        let fine = Facts { accepted: true, armed: true, active: true, has_work: true, ..Facts::default() };
        assert_eq!(fire(&plain, &fine), Verdict::Start);
        for (facts, wanted) in [
            (Facts { accepted: false, ..fine.clone() }, Verdict::Skip(Outcome::Dormant)),
            (Facts { running: true, ..fine.clone() }, Verdict::Skip(Outcome::SkippedOverlap)),
            (Facts { human: true, ..fine.clone() }, Verdict::Skip(Outcome::SkippedHuman)),
            (Facts { has_work: false, ..fine.clone() }, Verdict::Skip(Outcome::SkippedIdle)),
            (Facts { active: false, ..fine.clone() }, Verdict::Skip(Outcome::SkippedIdle)),
            (Facts { runs_today: 3, ..fine.clone() }, Verdict::Skip(Outcome::SkippedBudget)),
            (Facts { held_by: Some("b".into()), ..fine.clone() }, Verdict::Wait),
            (Facts { held_by: Some("b".into()), waited: Duration::from_secs(60), ..fine.clone() }, Verdict::Skip(Outcome::Held)),
        ] {
            assert_eq!(fire(&plain, &facts), wanted, "{facts:?}");
        }
        let model = job::parse("a", Path::new("/a.md"), b"---\nrun: claude -p x\nwhen: {every: 1m}\n---\n").unwrap().job;
        assert_eq!(fire(&model, &fine), Verdict::Start);
        assert_eq!(fire(&model, &Facts { armed: false, ..fine.clone() }), Verdict::Skip(Outcome::Dormant));
        for (overlap, wanted) in [("queue", Verdict::Wait), ("replace", Verdict::Replace)] {
            let job = job(&format!("when: {{every: 1m}}\noverlap: {overlap}"));
            assert_eq!(fire(&job, &Facts { running: true, ..fine.clone() }), wanted);
        }
    }

    #[test]
    fn tries_wait_longer_and_end() {
        let job = job("when: {every: 1h}\nretry: {max: 3, wait: [30s, 60s]}");
        let waits: Vec<Option<u64>> =
            (0..4).map(|attempt| retry_after(&job, Outcome::Missing, attempt).map(|wait| wait.as_secs())).collect();
        assert_eq!(waits, [Some(30), Some(60), Some(60), None]);
        assert_eq!(retry_after(&job, Outcome::Success, 0), None);
        assert_eq!(retry_after(&job, Outcome::Replaced, 0), None);
    }
}
