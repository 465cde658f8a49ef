//! What a case expects, looked up in what the clock did and wrote.

use std::fs;

use jiff::{SignedDuration, Timestamp};
use loci::clock::ledger;
use loci::clock::runs::Run;
use loci::clock::store::Store;
use serde_json::{Value, json};

use super::sim::{Sim, at, name_of, place};

type Said = Result<(), String>;

/// Compares a number with `3`, `">=3"`, `"<=1 a minute"`.
fn number(came: u64, wanted: &Value, minutes: u64) -> Said {
    let right = match wanted {
        Value::Number(number) => number.as_u64() == Some(came),
        Value::Bool(flag) => *flag == (came > 0),
        text => {
            let text = text.as_str().unwrap();
            let (text, per) = text.strip_suffix(" a minute").map_or((text, 1), |text| (text, minutes.max(1)));
            let digits = text.trim_start_matches(['<', '>', '=']);
            let number: u64 = digits.trim().parse().unwrap();
            match &text[..text.len() - digits.len()] {
                ">=" => came >= number,
                ">" => came > number,
                "<=" => came <= number * per,
                "<" => came < number * per,
                _ => came == number,
            }
        }
    };
    if right { Ok(()) } else { Err(came.to_string()) }
}

fn truth(came: bool, detail: impl FnOnce() -> String) -> Said {
    if came { Ok(()) } else { Err(detail()) }
}

fn words(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

impl Sim {
    fn said(&self, about: &dyn Fn(&str) -> bool) -> Vec<String> {
        self.notices.iter().filter(|notice| about(&notice.about)).map(|notice| notice.text.clone()).collect()
    }

    fn errors_of(&self, job: &str) -> Vec<String> {
        let (file, needs) = (format!("job {job}"), format!("needs {job}"));
        self.said(&|about| about == file || about == needs)
    }

    fn minutes(&self) -> u64 {
        u64::try_from(self.now().wall.duration_since(self.started).as_secs() / 60).unwrap_or(0)
    }

    /// The newest line of the ledger that tells of a block, as it stands in the file or waits.
    fn newest_block(&self) -> String {
        let text = fs::read_to_string(place(&self.root(), "ledger.jsonl")).unwrap_or_default();
        text.lines().rfind(|line| line.contains("\"cause\"")).unwrap_or_default().to_owned()
    }

    fn runs_of(&self, job: &str) -> Vec<Run> {
        let store = Store::folder(&self.state(), &self.root());
        let world = self.world.borrow();
        let runs = world.fires.iter().filter(|fire| fire.job == job);
        runs.filter_map(|fire| Run::read(&store.join("runs").join(&fire.run))).collect()
    }
}

pub(super) fn check(sim: &mut Sim, one: &Value) -> Said {
    let text = |key: &str| one[key].as_str().map(name_of);
    let fires = |job: &str| -> Vec<(Timestamp, Timestamp)> {
        let world = sim.world.borrow();
        world.fires.iter().filter(|fire| fire.job == job).map(|fire| (fire.instant, fire.at)).collect()
    };
    let is = |came: &str| truth(one["is"] == came, || came.to_owned());
    if let Some(job) = text("fired") {
        let wanted: Vec<Timestamp> = one["at"].as_array().unwrap().iter().map(at).collect();
        let came = fires(job);
        let shown = format!("{:?}", came.iter().map(|(instant, at)| format!("{instant} (at {at})")).collect::<Vec<_>>());
        let within = one["within"].as_str().map(|within| SignedDuration::try_from(super::world::length(within)).unwrap());
        let near = came.len() == wanted.len()
            && came.iter().zip(&wanted).all(|((instant, at), wanted)| match within {
                Some(within) => at.duration_since(*wanted).abs() <= within,
                None => instant == wanted,
            });
        return truth(near, || shown);
    }
    if let Some(job) = text("count") {
        return number(fires(job).len() as u64, &one["is"], 1).map_err(|came| format!("{came}: {:?}", fires(job)));
    }
    if let Some(job) = text("outcome") {
        let runs = sim.runs_of(job);
        let run = match one["run"].as_u64() {
            Some(number) => runs.get(usize::try_from(number).unwrap() - 1).cloned(),
            None => runs.last().cloned(),
        };
        let came = run.and_then(|run| run.outcome).or_else(|| sim.clock.as_ref()?.record(job)?.past.outcome);
        return is(came.map_or("nothing", |outcome| outcome.word()));
    }
    if let Some(job) = text("record") {
        let clock = sim.clock.as_ref().unwrap();
        let Some(record) = clock.record(job) else { return Err("no record".to_owned()) };
        let judged = record.past.judged.as_deref();
        for (key, wanted) in one.as_object().unwrap().iter().filter(|(key, _)| *key != "record") {
            let counts = &record.past.counts;
            match key.as_str() {
                "missed" => number(counts.missed, wanted, 1),
                "skipped_overlap" => number(counts.skipped_overlap, wanted, 1),
                "skipped_human" => number(counts.skipped_human, wanted, 1),
                "skipped_budget" => number(counts.skipped_budget, wanted, 1),
                "skipped_idle" => number(counts.skipped_idle, wanted, 1),
                "interrupted" => number(counts.interrupted, wanted, 1),
                "held" => number(counts.held, wanted, 1),
                "held_by" => truth(
                    wanted.as_str() == record.past.held_by.as_deref()
                        || words(wanted).contains(&record.past.held_by.as_deref().unwrap_or("")),
                    || format!("{:?}", record.past.held_by),
                ),
                "exit" => truth(judged.and_then(|judged| judged.exit).map(i64::from) == wanted.as_i64(), || format!("{judged:?}")),
                "scheduled" => truth(judged.is_some_and(|judged| judged.instant == at(wanted)), || format!("{judged:?}")),
                "late" => truth(judged.map(|judged| judged.late) == wanted.as_bool(), || format!("{judged:?}")),
                other => panic!("no word of a record: {other}"),
            }
            .map_err(|came| format!("{key}: {came}"))?;
        }
        return Ok(());
    }
    if let Some(job) = text("load_error") {
        let errors = sim.errors_of(job);
        if let Some(most) = one.get("at_most") {
            return number(errors.len() as u64, &json!(format!("<={most}")), 1).map_err(|_| format!("{errors:?}"));
        }
        return truth(errors.iter().any(|error| words(&one["says"]).iter().all(|word| error.contains(word))), || format!("{errors:?}"));
    }
    if let Some(job) = text("load_notice") {
        let key = format!("job {job} notice");
        let said = sim.said(&|about| about == key);
        return truth(said.iter().any(|said| words(&one["says"]).iter().all(|word| said.contains(word))), || format!("{said:?}"));
    }
    if one.get("load_errors").is_some() {
        let count = sim
            .notices
            .iter()
            .filter(|notice| notice.about.starts_with("job ") && !notice.about.ends_with(" notice") || notice.about.starts_with("needs "))
            .count();
        return number(count as u64, &one["load_errors"], 1);
    }
    if let Some(job) = text("ledger") {
        let fold = match ledger::read(&sim.root()) {
            Ok(fold) => fold,
            Err(_) => sim.clock.as_ref().unwrap().ledger().clone(),
        };
        let open = fold.open.get(job);
        for (key, wanted) in one.as_object().unwrap().iter().filter(|(key, _)| *key != "ledger") {
            let came = match key.as_str() {
                "open" => u64::from(open.is_some()),
                "times" => open.map_or(0, |block| block.times),
                "resolved" => fold.resolved.get(job).copied().unwrap_or(0),
                "withdrawn" => fold.withdrawn.get(job).copied().unwrap_or(0),
                other => panic!("no word of a ledger: {other}"),
            };
            number(came, wanted, 1).map_err(|came| format!("{key}: {came}"))?;
        }
        return Ok(());
    }
    if one.get("ledger_says").is_some() {
        let newest = sim.newest_block();
        return truth(words(&one["ledger_says"]).iter().all(|word| newest.contains(word)), || newest.clone());
    }
    if one.get("ledger_append_only").is_some() {
        return truth(sim.ledgers.windows(2).all(|two| two[1].starts_with(&two[0])), || "an earlier byte changed".to_owned());
    }
    if one.get("ledger_lines_readable").is_some() {
        let fold = ledger::read(&sim.root()).map_err(|error| error.to_string())?;
        return number(u64::from(fold.torn == 0), &one["ledger_lines_readable"], 1);
    }
    if one.get("notice").is_some() {
        let wanted = words(&one["notice"]);
        let all: Vec<String> = sim.notices.iter().map(|notice| format!("{}: {}", notice.about, notice.text)).collect();
        return truth(all.iter().any(|said| wanted.iter().all(|word| said.contains(word))), || format!("{all:?}"));
    }
    if let Some(about) = one["notices_about"].as_str() {
        let count = sim.notices.iter().filter(|notice| notice.about.contains(about) || notice.text.contains(about)).count();
        return number(count as u64, &one["is"], sim.minutes());
    }
    if one.get("notice_count").is_some() {
        return number(sim.notices.len() as u64, &one["notice_count"], 1);
    }
    if let Some(name) = text("loop") {
        let known = sim.loops();
        let active = known.active.as_ref().filter(|active| active.definition.name == name);
        let last = known.last.get(name);
        let came = active.map_or_else(|| last.map_or("nothing", |last| last.how.word()), |_| "active");
        truth(one["state"].as_str().is_none_or(|wanted| wanted == came), || came.to_owned())?;
        // What came of it stands in the ledger as well.
        let why = last.map(|last| last.why.clone()).unwrap_or_default();
        let block = sim.newest_block();
        return truth(words(&one["says"]).iter().all(|word| why.contains(word) && block.contains(word)), || format!("{why}; {block}"));
    }
    if one.get("rounds").is_some() {
        let known = sim.loops();
        let rounds = known.active.as_ref().map(|active| active.round).or_else(|| known.last.values().map(|last| last.rounds).max());
        return number(u64::from(rounds.unwrap_or(0)), &one["rounds"], 1);
    }
    if let Some(wanted) = one["active_hooks"].as_array() {
        let on: Vec<Value> = sim.loops().active.iter().flat_map(|active| active.definition.hooks.clone()).map(Value::from).collect();
        return truth(on == *wanted, || format!("{on:?}"));
    }
    if let Some(job) = text("notifications") {
        let key = format!("block {job}");
        return number(sim.said(&|about| about == key).len() as u64, &one["is"], 1);
    }
    if let Some(job) = text("status") {
        let view = sim.clock.as_ref().unwrap().view(job);
        return is(view.map_or("unknown", |view| view.state.word()));
    }
    if let Some(job) = text("max_parallel") {
        return number(sim.world.borrow().parallel.get(job).copied().unwrap_or(0) as u64, &one["is"], 1);
    }
    if one.get("zombies").is_some() {
        return number(sim.world.borrow().zombies() as u64, &one["zombies"], 1);
    }
    let living = |name: &str| sim.world.borrow().actors.iter().any(|actor| actor.name == name && actor.ended.is_none());
    if one.get("alive").is_some() {
        let names = if one["alive"].is_array() { words(&one["alive"]) } else { vec![one["alive"].as_str().unwrap()] };
        return truth(names.iter().all(|name| living(name)), || "dead".to_owned());
    }
    if one.get("dead").is_some() {
        return truth(words(&one["dead"]).iter().all(|name| !living(name)), || "alive".to_owned());
    }
    if one.get("killed_between").is_some() {
        let (from, to) = (at(&one["killed_between"][0]), at(&one["killed_between"][1]));
        let world = sim.world.borrow();
        let ended: Vec<Timestamp> = world.actors.iter().filter_map(|actor| actor.ended_at).collect();
        return truth(ended.iter().any(|at| (from..=to).contains(at)), || format!("{ended:?}"));
    }
    if one.get("clock_alive").is_some() {
        return truth(sim.clock.is_some(), || "it is not".to_owned());
    }
    if one.get("no_fire_between").is_some() {
        let (from, to) = (at(&one["no_fire_between"][0]), at(&one["no_fire_between"][1]));
        let world = sim.world.borrow();
        let between: Vec<Timestamp> = world.fires.iter().map(|fire| fire.at).filter(|at| (from..=to).contains(at)).collect();
        return truth(between.is_empty(), || format!("{between:?}"));
    }
    if one.get("fires_after").is_some() {
        let after = at(&one["fires_after"]);
        return truth(sim.world.borrow().fires.iter().any(|fire| fire.at > after), || "none".to_owned());
    }
    if one.get("typed").is_some() {
        let world = sim.world.borrow();
        if let Some(before) = one.get("not_before") {
            let early = world.typed.iter().any(|typed| *typed < at(before));
            truth(!early, || format!("{:?}", world.typed))?;
        }
        return number(world.typed.len() as u64, &one["typed"], 1);
    }
    if let Some(files) = one["during_beat"].as_object() {
        let world = sim.world.borrow();
        let beats: Vec<_> = world.fires.iter().filter(|fire| fire.job == "heartbeat").collect();
        let held = beats.iter().all(|beat| files.iter().all(|(path, wanted)| beat.files.get(path).copied() == wanted.as_bool()));
        return truth(!beats.is_empty() && held, || format!("{beats:?}"));
    }
    if let Some(files) = one["after"].as_object() {
        // After the beat: one that is still on comes to its end first.
        sim.let_it_end();
        let root = sim.root();
        let wrong: Vec<&String> =
            files.iter().filter(|(path, wanted)| Some(place(&root, path).exists()) != wanted.as_bool()).map(|(path, _)| path).collect();
        return truth(wrong.is_empty(), || format!("{wrong:?}"));
    }
    if one.get("outward_polls").is_some() {
        return number(sim.clock.as_ref().unwrap().polls(), &one["outward_polls"], 1);
    }
    if one.get("second_daemon").is_some() {
        let said = sim.second.clone();
        let right = said.as_ref().is_some_and(|said| words(&one["says"]).iter().all(|word| said.contains(word)));
        return truth(right, || format!("{said:?}"));
    }
    if let Some(path) = one["file"].as_str() {
        let full = place(&sim.root(), path);
        let there = match path.strip_suffix('*') {
            None => full.exists(),
            Some(start) => {
                fs::read_dir(full.parent().unwrap()).unwrap().any(|entry| entry.unwrap().file_name().to_string_lossy().starts_with(start))
            }
        };
        if let Some(wanted) = one["text"].as_str() {
            return truth(fs::read_to_string(&full).is_ok_and(|text| text.contains(wanted)), || "another text".to_owned());
        }
        return truth(Some(there) == one["exists"].as_bool(), || there.to_string());
    }
    if let Some(path) = one["bytes"].as_str() {
        let length = fs::metadata(place(&sim.root(), path)).map_or(0, |meta| meta.len());
        return number(length, &one["is"], 1);
    }
    if let Some(choices) = one["any_of"].as_array() {
        let said: Vec<String> = choices.iter().filter_map(|choice| check(sim, choice).err()).collect();
        return truth(said.len() < choices.len(), || format!("{said:?}"));
    }
    if one.get("jobs").is_some() {
        let jobs = sim.clock.as_ref().unwrap().status(sim.now())["jobs"].as_u64().unwrap();
        return number(jobs, &one["jobs"], 1);
    }
    if one.get("state").is_some() {
        let store = Store::folder(&sim.state(), &sim.root());
        return Store::read(&store).map_err(|error| error.to_string()).and_then(|(_, wrong)| wrong.map_or(Ok(()), Err));
    }
    panic!("no word of what is expected: {one}");
}
