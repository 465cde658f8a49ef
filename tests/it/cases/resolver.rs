//! `resolver-*.jsonl`: the resolver and the walk for places against the case files.
//!
//! Every case is run; all that fail are reported at once, each with its id, what was wanted and what
//! came.

use loci::tree::diagnostic::Diagnostic;
use loci::tree::dotdirs::Dotdirs;
use loci::tree::places::{self, Prune};
use loci::tree::resolve::{self, Found, Request, Resolution};
use serde_json::{Map, Value, json};

use super::load;
use super::world::World;

/// The dotdirs of the cases that name none.
const NAMES: [&str; 2] = [".claude", ".loci"];

/// Operations of the same files that other tests run.
const ELSEWHERE: [&str; 7] = ["status", "apply", "scoped", "archive", "inject", "active", "hash"];

/// What one operation comes to: `Err` says what was wanted and what came.
pub(crate) type Check = Result<(), String>;

/// The operations of a case with what is expected of each.
pub(crate) fn operations(case: &Value) -> Vec<(String, Value, Value)> {
    let one = |op: &Value, expect: &Value| {
        let (name, args) = op.as_object().unwrap().iter().next().unwrap();
        (name.clone(), args.clone(), expect.clone())
    };
    match &case["op"] {
        Value::Array(ops) => ops.iter().zip(case["expect"].as_array().unwrap()).map(|(op, expect)| one(op, expect)).collect(),
        op => vec![one(op, &case["expect"])],
    }
}

/// Why a case can't be run here; `None` where it can.
pub(crate) fn unmet(case: &Value, world: &World) -> Option<String> {
    match case["requires"].as_str()? {
        "windows" => Some("not on this system".to_owned()),
        "case-insensitive" | "case-insensitive-fs" => {
            std::fs::write(world.path("Probe"), "").unwrap();
            let folds = world.path("pROBE").exists();
            std::fs::remove_file(world.path("Probe")).unwrap();
            (!folds).then(|| "the disk tells upper from lower case".to_owned())
        }
        "non-root" if cfg!(not(target_os = "linux")) && nix::unistd::geteuid().is_root() => Some("root may read everything".to_owned()),
        "non-root" => None,
        other => panic!("{}: nobody knows what `{other}` requires", case["id"]),
    }
}

/// Runs something as somebody whom permissions hold: root's own thread, for that time, as `nobody`.
fn as_nobody<T>(case: &Value, run: impl FnOnce() -> T) -> T {
    // Elsewhere than on Linux a thread has no identity of its own: such a case needs another user.
    #[cfg(target_os = "linux")]
    if case["requires"] == "non-root" && nix::unistd::geteuid().is_root() {
        nix::unistd::setfsuid(nix::unistd::Uid::from_raw(65534));
        let result = run();
        nix::unistd::setfsuid(nix::unistd::Uid::from_raw(0));
        return result;
    }
    let _ = case;
    run()
}

fn resolve_op(world: &World, case: &Value, args: &Value, expect: &Value) -> Check {
    let names: Vec<String> = match args.get("names") {
        Some(names) => serde_json::from_value(names.clone()).unwrap(),
        None => NAMES.map(str::to_owned).to_vec(),
    };
    let request = Request {
        home: world.optional(&case["home"]),
        launch: world.optional(&case["launch"]),
        active: world.optional(&case["cwd"]),
        slot: args["slot"].as_str().unwrap().to_owned(),
        dotdirs: Dotdirs::new(names),
    };
    let resolution = as_nobody(case, || resolve::resolve(&request));
    match (resolution, expect.get("error")) {
        (Err(_), Some(error)) => same("error", error, &json!("bad-slot")),
        (Err(error), None) => Err(format!("wanted files, got the error {error}")),
        (Ok(_), Some(error)) => Err(format!("wanted the error {error}, got files")),
        (Ok(resolution), None) => files(world, &resolution, expect).and_then(|()| diagnostics(world, &resolution.diagnostics, expect)),
    }
}

/// What is found above the tree of the case belongs to whoever runs the tests.
fn inside(world: &World, path: &std::path::Path) -> bool {
    path.starts_with(world.root())
}

fn files(world: &World, resolution: &Resolution, expect: &Value) -> Check {
    let Some(wanted) = expect["files"].as_array() else { return Ok(()) };
    let found: Vec<&Found> = resolution.files.iter().filter(|file| inside(world, &file.provenance.level)).collect();
    let paths = |list: Vec<Value>| Value::Array(list);
    same(
        "paths",
        &paths(wanted.iter().map(|file| file["path"].clone()).collect()),
        &paths(found.iter().map(|file| json!(world.spelled(&file.path))).collect()),
    )?;
    for (file, wanted) in found.iter().zip(wanted) {
        let came = facts(world, file, wanted.as_object().unwrap());
        same(&format!("{}", wanted["path"]), wanted, &came)?;
    }
    Ok(())
}

/// Of a found file what the case asks about.
fn facts(world: &World, file: &Found, wanted: &Map<String, Value>) -> Value {
    let text = |path| json!(world.spelled(path));
    let fact = |key: &str| match key {
        "path" => text(&file.path),
        "real" => text(&file.real),
        "level" => text(&file.provenance.level),
        "root" => json!(file.provenance.root.word()),
        "dotdir" => json!(file.provenance.dotdir),
        "via" => json!(file.provenance.via.as_ref().map(|via| world.spelled(&via.path))),
        "fm" => file.header.object(),
        "fm_status" => json!(file.header.status.word()),
        "fm_text" => wanted["fm_text"].as_object().unwrap().keys().map(|key| (key.clone(), json!(file.header.text(key)))).collect(),
        "body" => json!(String::from_utf8_lossy(file.body())),
        "len" => json!(file.bytes.len()),
        other => panic!("nobody knows what `{other}` is"),
    };
    wanted.keys().map(|key| (key.clone(), fact(key))).collect()
}

fn diagnostics(world: &World, diagnostics: &[Diagnostic], expect: &Value) -> Check {
    let codes: Vec<&str> = diagnostics.iter().filter(|one| inside(world, &one.path)).map(|one| one.code.word()).collect();
    for wanted in expect["diag"].as_array().into_iter().flatten() {
        if !codes.contains(&wanted.as_str().unwrap()) {
            return Err(format!("wanted the diagnostic {wanted}, got {codes:?}"));
        }
    }
    if expect["no_diag"] == true && !codes.is_empty() {
        return Err(format!("wanted no diagnostic, got {codes:?}"));
    }
    Ok(())
}

fn same(what: &str, wanted: &Value, came: &Value) -> Check {
    if wanted == came { Ok(()) } else { Err(format!("{what}\n    wanted {wanted}\n    got    {came}")) }
}

fn scan(world: &World, case: &Value, args: &Value, expect: &Value) -> Check {
    let root = world.path(args["root"].as_str().unwrap());
    let walked = as_nobody(case, || places::walk(&root, &Dotdirs::new(NAMES), Prune::Foreign));
    same("places", expect, &walked.spots.iter().map(|spot| json!(world.spelled(&spot.path))).collect())
}

/// Runs one operation; `None` for those of other tests.
fn run(world: &World, case: &Value, name: &str, args: &Value, expect: &Value) -> Option<Check> {
    match name {
        "resolve" => Some(resolve_op(world, case, args, expect)),
        "scan" => Some(scan(world, case, args, expect)),
        "edit" => {
            world.edit(args.as_object().unwrap());
            Some(Ok(()))
        }
        other => {
            assert!(ELSEWHERE.contains(&other), "{}: nobody knows the operation `{other}`", case["id"]);
            None
        }
    }
}

#[test]
fn resolver_cases() {
    let (mut failed, mut ran, mut elsewhere) = (Vec::new(), 0, 0);
    let cases = load("resolver");
    for case in &cases {
        let id = case["id"].as_str().unwrap();
        let world = World::build(case);
        if let Some(why) = unmet(case, &world) {
            println!("{id}: not run: {why}");
            continue;
        }
        let mut mine = true;
        for (nth, (name, args, expect)) in operations(case).iter().enumerate() {
            match run(&world, case, name, args, expect) {
                None => mine = false,
                Some(Ok(())) => {}
                Some(Err(why)) => {
                    failed.push(format!("{id} ({}), operation {}: {why}", case["title"].as_str().unwrap_or_default(), nth + 1))
                }
            }
        }
        if mine { ran += 1 } else { elsewhere += 1 }
    }
    println!("{ran} of {} cases run, {elsewhere} of other tests", cases.len());
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}
