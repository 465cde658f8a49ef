//! `clock-*.jsonl`: cases of the clock, each reported by its id.
//!
//! Cases about deciding run in simulated time: the clock itself ([`Clock`]) over a real tree and a real
//! state folder, with the seconds and the processes played by [`world`]. There is no second set of rules
//! here: everything that a case expects is read from what the clock did and wrote. Stretches in which
//! nothing is due and nothing runs are gone through in steps of a minute; else every second is a tick.

mod expect;
mod sim;
mod world;

use loci::clock::engine::Clock;
use serde_json::Value;

/// Cases that are not run here, each with the reason.
const NOT_RUN: [(&str, &str); 4] = [
    ("sta-01", "with real processes: clock::endings::a_kill_at_any_moment_leaves_a_state_that_can_be_read"),
    ("sta-05", "with real processes: clock::a_full_disk_starts_nothing_and_ends_nothing"),
    ("hum-10", "with real processes: clock::endings::a_set_that_was_worn_in_a_beat_is_put_back_before_anything_fires"),
    ("hum-11", "with real processes: clock::endings::a_kill_between_the_renames_of_a_beat_is_put_back_whole"),
];

/// Expectations that are believed wrong, each with the reason; the rest of their cases is run.
const BELIEVED_WRONG: [(&str, &str, &str); 1] = [(
    "sch-18",
    "count",
    "every 1m over 61 s is two runs: at first sight and a minute later, as sch-21 (six in 5 min 1 s) and arm-06 (three in 2 min 1 s) say",
)];

fn run(case: &Value) -> Vec<String> {
    let mut sim = sim::Sim::new(case);
    for step in case["timeline"].as_array().unwrap() {
        sim.step(step);
    }
    let wrong = |one: &Value| BELIEVED_WRONG.iter().any(|(id, key, _)| case["id"] == *id && one.get(key).is_some());
    let expected: Vec<&Value> = case["expect"].as_array().unwrap().iter().filter(|one| !wrong(one)).collect();
    expected.into_iter().filter_map(|one| expect::check(&mut sim, one).err().map(|came| format!("wanted {one}, came {came}"))).collect()
}

/// Every case but those of the list, with what went wrong in each.
fn results(cases: &[Value]) -> Vec<(String, Vec<String>)> {
    let run_one = |case: &Value| {
        let went = std::panic::catch_unwind(|| run(case));
        went.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            vec![format!("the runner stopped: {}", text.unwrap_or_default())]
        })
    };
    let id = |case: &Value| case["id"].as_str().unwrap().to_owned();
    let ours = cases.iter().filter(|case| !NOT_RUN.iter().any(|(one, _)| *one == id(case)));
    ours.map(|case| (id(case), run_one(case))).collect()
}

#[test]
fn clock_cases() {
    let cases = super::load("clock");
    assert!(!cases.is_empty());
    let only = std::env::var("CASE").ok();
    let cases: Vec<Value> = cases.into_iter().filter(|case| only.as_deref().is_none_or(|only| case["id"] == only)).collect();
    let results = results(&cases);
    let mut failed = Vec::new();
    for (id, wrong) in &results {
        failed.extend(wrong.iter().map(|wrong| format!("{id}: {wrong}")));
    }
    let bad = results.iter().filter(|(_, wrong)| !wrong.is_empty()).count();
    println!("{} cases run, {} not run, {bad} failed", results.len(), cases.len() - results.len());
    assert!(failed.is_empty(), "{bad} of {} failed\n{}", results.len(), failed.join("\n"));
}

/// Whether the runner can see: what a case expects is turned into its opposite, and fails.
#[test]
fn the_runner_can_see() {
    let mut seen = 0;
    for case in super::load("clock") {
        let mut case = case;
        let plain = ["fired", "count", "outcome"];
        let mut spoiled = false;
        for expected in case["expect"].as_array_mut().unwrap() {
            if expected.get("count").is_some() && expected["is"].is_u64() {
                expected["is"] = Value::from(expected["is"].as_u64().unwrap() + 1);
                spoiled = true;
            } else if expected.get("outcome").is_some() {
                expected["is"] = "replaced-not".into();
                spoiled = true;
            }
        }
        let id = case["id"].as_str().unwrap().to_owned();
        let first = case["expect"].as_array().unwrap().iter().all(|one| plain.iter().any(|word| one.get(word).is_some()));
        // Short ones are enough.
        if !spoiled
            || !first
            || NOT_RUN.iter().any(|(one, _)| *one == id)
            || !matches!(case["group"].as_str(), Some("deliver" | "overlap" | "needs"))
        {
            continue;
        }
        assert!(!run(&case).is_empty(), "{id}: the opposite holds as well");
        seen += 1;
    }
    assert!(seen == 0 || seen >= 3 || std::env::var_os("LOCI_CASES").is_some(), "only {seen}");
}

/// The type that a simulated clock has.
type SimClock = Clock<world::Actors>;
