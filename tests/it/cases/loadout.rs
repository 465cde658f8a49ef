//! `resolver-*.jsonl`: what is worn, and saved loadouts, against the case files.
//!
//! The library is called as the verbs call it; the trees are compared on disk.

use std::collections::BTreeMap;
use std::path::PathBuf;

use loci::loadout::archive::{self, Stores};
use loci::loadout::history::{self, MatchedBy};
use loci::loadout::set::Set;
use loci::loadout::surface::Surface;
use loci::loadout::{Level, LoadoutError, algebra::Decision, digest, find, inject, scope, wear};
use loci::tree::dotdirs::Dotdirs;
use serde_json::{Map, Value, json};

use super::load;
use super::resolver::{Check, operations, unmet};
use super::world::World;

/// What this file runs; `edit` comes in between.
const MINE: [&str; 7] = ["status", "apply", "scoped", "archive", "inject", "active", "hash"];

type Tree = BTreeMap<PathBuf, String>;

fn level(world: &World, args: &Value) -> Level {
    Level {
        dir: std::fs::canonicalize(world.path(args["level"].as_str().unwrap_or("r"))).unwrap(),
        dotdirs: Dotdirs::new([".claude", ".loci"]),
        state: world.state(),
    }
}

fn stores(world: &World, args: &Value) -> Stores {
    Stores { home: world.path(args["store"].as_str().unwrap()), place: None }
}

fn status(world: &World, args: &Value) -> Value {
    let row = |item: &loci::loadout::Item| json!({ "section": item.section, "item": item.name.to_str(), "dotdir": item.dotdir, "state": item.state(), "both": item.is_both() });
    find::items(&level(world, args)).items.iter().map(row).collect()
}

/// What an error is called, with what goes along.
fn failed(error: &LoadoutError) -> Map<String, Value> {
    let mut came = Map::new();
    came.insert("ok".into(), json!(false));
    came.insert("error".into(), json!(error.kind()));
    if let LoadoutError::Conflict(conflicts) = error {
        let rows = conflicts.iter().map(|one| json!([format!("{}/{}", one.section, one.name), one.why.word()])).collect();
        came.insert("conflicts".into(), rows);
    }
    came
}

fn decided(world: &World, decision: &Decision) -> Map<String, Value> {
    let mut came = Map::new();
    came.insert("count".into(), json!(decision.renames.len()));
    let renames = decision.renames.iter().map(|one| json!([world.spelled(&one.from), world.spelled(&one.to)])).collect();
    came.insert("renames".into(), renames);
    came.insert("undo".into(), json!(decision.undo));
    came.insert("unknown".into(), json!(decision.unknown));
    came.insert("read_only".into(), decision.read_only.iter().map(|(item, _)| json!(item)).collect());
    came.insert("both".into(), json!(decision.both));
    came.insert("conflicts".into(), json!([]));
    came
}

fn the_set(world: &World, args: &Value) -> Result<Set, LoadoutError> {
    match args["file"].as_str() {
        Some(file) => Ok(Set::read(&world.path(file))?),
        None => {
            // As a file would say it.
            let path = world.state().join("case.json");
            std::fs::create_dir_all(world.state()).unwrap();
            std::fs::write(&path, args["set"].to_string()).unwrap();
            Ok(Set::read(&path)?)
        }
    }
}

fn writable(args: &Value) -> bool {
    match &args["writable"] {
        Value::Bool(flag) => *flag,
        Value::Array(names) => names.iter().any(|name| name == ".claude"),
        Value::String(name) => name == ".claude",
        _ => false,
    }
}

fn apply(world: &World, args: &Value) -> Map<String, Value> {
    let report =
        the_set(world, args).and_then(|set| wear::apply(&level(world, args), "case", &["case".to_owned()], &[&set], writable(args)));
    match report {
        Ok(report) => decided(world, &report.decision),
        Err(error) => failed(&error),
    }
}

fn scoped(world: &World, args: &Value) -> Map<String, Value> {
    let level = level(world, args);
    // An inner action that fails: by its result, and by a panic.
    let run = |set: &Set| -> Result<bool, LoadoutError> {
        let changed = !wear::plan(&level, &[set], writable(args))?.renames.is_empty();
        let before = find::items(&level).items;
        let (result, _) = scope::during(&level, "case", &[set], writable(args), || {
            assert_eq!(find::items(&level).items != before, changed, "the set was not worn");
            Err::<(), &str>("fails")
        })?;
        assert!(result.is_err());
        let panicked = std::panic::catch_unwind(|| scope::during(&level, "case", &[set], writable(args), || panic!("on purpose")));
        assert!(panicked.is_err());
        Ok(true)
    };
    match the_set(world, args).and_then(|set| run(&set)) {
        Ok(ok) => Map::from_iter([("ok".to_owned(), json!(ok))]),
        Err(error) => failed(&error),
    }
}

fn loadout(world: &World, name: &str, args: &Value) -> Map<String, Value> {
    let (level, stores) = (level(world, args), stores(world, args));
    let archive = args["name"].as_str().unwrap_or_default();
    let done = match name {
        "archive" => {
            let surface = Surface::of(&level, "claude", &[]).unwrap();
            archive::save(&level, &stores.home, archive, "claude", &surface)
                .map(|(saved, _)| json!({ "ok": true, "hash": saved.record.hash }))
        }
        "inject" => inject::inject(&level, &stores, archive, false).map(|report| json!({ "ok": true, "was": report.was })),
        _ => history::active(&level, &stores).map(|active| match active {
            None => json!({ "active": null }),
            Some(active) => {
                let by = if active.matched_by == MatchedBy::Hash { "hash" } else { "history" };
                json!({ "active": active.name, "matched_by": by, "also": active.also, "note": active.note.is_some() })
            }
        }),
    };
    match done {
        Ok(value) => value.as_object().unwrap().clone(),
        Err(error) => failed(&error),
    }
}

fn hash(world: &World, args: &Value) -> Map<String, Value> {
    let list = |key: &str| args["components"][key].as_array().unwrap().iter().map(|name| name.as_str().unwrap().into()).collect();
    let surface = Surface { files: list("files"), dirs: list("dirs"), left_out: Vec::new() };
    let of = |key: &str| digest::of(&world.path(args[key].as_str().unwrap()), &surface).unwrap();
    Map::from_iter([("equal".to_owned(), json!(of("a") == of("b")))])
}

/// Compares what is asked for; `tree` and `tree_unchanged` with the disk.
fn compare(world: &World, before: &Tree, came: &Map<String, Value>, expect: &Value) -> Check {
    for (key, wanted) in expect.as_object().into_iter().flatten() {
        let got = match key.as_str() {
            "tree" => {
                for (rel, wanted) in wanted.as_object().unwrap() {
                    let path = world.path(rel);
                    let got = match std::fs::read_link(&path) {
                        Ok(target) => json!(format!("-> {}", target.display())),
                        Err(_) => std::fs::read_to_string(&path).map_or(Value::Null, Value::from),
                    };
                    if got != *wanted {
                        return Err(format!("{rel}: wanted {wanted}, got {got}"));
                    }
                }
                continue;
            }
            "tree_unchanged" => {
                let now = world.snapshot();
                if (now == *before) != (wanted == true) {
                    return Err(format!("the tree: before {before:?}\n    now {now:?}"));
                }
                continue;
            }
            key => came.get(key).cloned().unwrap_or(Value::Null),
        };
        // "None is active" is written both ways.
        let none = |value: &Value| key == "active" && (value.is_null() || value == "none");
        if got != *wanted && !(none(&got) && none(wanted)) {
            return Err(format!("{key}: wanted {wanted}, got {got}; all of it: {came:?}"));
        }
    }
    if came.contains_key("error") && expect.get("error").is_none() {
        return Err(format!("an error nobody wanted: {came:?}"));
    }
    Ok(())
}

fn run(world: &World, before: &Tree, name: &str, args: &Value, expect: &Value) -> Check {
    let came = match name {
        "edit" => {
            world.edit(args.as_object().unwrap());
            return Ok(());
        }
        "status" => {
            let came = status(world, args);
            return if came == *expect { Ok(()) } else { Err(format!("wanted {expect}, got {came}")) };
        }
        "apply" => apply(world, args),
        "scoped" => scoped(world, args),
        "archive" | "inject" | "active" => loadout(world, name, args),
        "hash" => hash(world, args),
        other => panic!("nobody knows the operation `{other}`"),
    };
    compare(world, before, &came, expect)
}

#[test]
fn loadout_cases() {
    let (mut failed, mut ran) = (Vec::new(), 0);
    for case in &load("resolver") {
        let operations = operations(case);
        if !operations.iter().any(|(name, ..)| MINE.contains(&name.as_str())) {
            continue;
        }
        let id = case["id"].as_str().unwrap();
        let world = World::build(case);
        if let Some(why) = unmet(case, &world) {
            println!("{id}: not run: {why}");
            continue;
        }
        ran += 1;
        // What stood there in the beginning: an undo has to lead back to it.
        let before = world.snapshot();
        for (nth, (name, args, expect)) in operations.iter().enumerate() {
            if let Err(why) = run(&world, &before, name, args, expect) {
                failed.push(format!("{id} ({}), operation {}: {why}", case["title"].as_str().unwrap_or_default(), nth + 1));
            }
        }
    }
    println!("{ran} cases run");
    assert!(ran > 0 && failed.is_empty(), "{} of {ran} failed:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn the_comparison_can_see() {
    let world = World::build(&json!({ "tree": { "r/a": "1" } }));
    let before = world.snapshot();
    let came = Map::from_iter([("count".to_owned(), json!(2))]);
    assert!(compare(&world, &before, &came, &json!({ "count": 1 })).is_err());
    assert!(compare(&world, &before, &came, &json!({ "count": 2, "tree": { "r/a": "1" }, "tree_unchanged": true })).is_ok());
    assert!(compare(&world, &before, &came, &json!({ "tree": { "r/a": null } })).is_err());
    world.edit(json!({ "r/a": "2" }).as_object().unwrap());
    assert!(compare(&world, &before, &came, &json!({ "tree_unchanged": true })).is_err());
    assert!(compare(&world, &before, &Map::from_iter([("error".to_owned(), json!("io"))]), &json!({})).is_err());
}
