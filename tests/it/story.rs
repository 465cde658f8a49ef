//! `loci demo` tells what README says, with the real program; the cast in the docs is such a telling.

use std::fs;
use std::path::Path;

use regex::Regex;
use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox};

const CAST: &str = "docs/demo.cast";

/// A telling, in a scratch folder of this world.
fn told(sandbox: &Sandbox, args: &[&str]) -> Run {
    let mut command = sandbox.command("home");
    command.env("TMPDIR", sandbox.dir("tmp").path("tmp")).args(args);
    let run = Run::of(&mut command, None).exits(0);
    assert_eq!(fs::read_dir(sandbox.path("tmp")).unwrap().count(), 0, "it cleans up");
    run
}

/// Everything that is another one each time.
fn same(text: &str) -> String {
    let rules = [
        (r"\S*/loci-demo-[0-9a-f]+", "/tmp/loci-demo"),
        (r"\d{8}T\d{6}Z-[0-9a-f]{16}", "20261130T101522Z-6f3a9c2e71d04b58"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "2026-11-30T10:15:22Z"),
        (r"\[(begin|end) [0-9a-f]{20}\]", "[$1 0664e221bb30433f9c38]"),
    ];
    rules.iter().fold(text.to_owned(), |text, (from, to)| Regex::new(from).unwrap().replace_all(&text, *to).into_owned())
}

#[test]
fn the_demo_tells_the_whole_loop() {
    let sandbox = Sandbox::new();
    let told = told(&sandbox, &["demo", "--json"]).json();
    let steps = told["steps"].as_array().unwrap();
    let ran = |what: &'static str| steps.iter().filter(move |step| step["run"].as_str().is_some_and(|run| run.starts_with(what)));
    let first = |what: &'static str| ran(what).next().unwrap_or_else(|| panic!("{what} is not told"));
    // A read that passes, a write that is refused, and the delegation as the owner sees it.
    assert_eq!(first("gate: Read")["exit"], 0);
    assert_eq!(first("gate: Write")["exit"], 2);
    assert!(first("gate: Write")["stderr"].as_str().unwrap().contains("belongs to the agent `billing`"));
    let shown = first("loci inbox show")["stdout"].as_str().unwrap();
    assert!(shown.contains("from    alice") && shown.contains("+    (amount * 100.0).round() as i64"), "{shown}");
    for verb in ["loci handover", "loci inbox take", "loci inbox apply", "loci inbox done"] {
        assert_eq!(first(verb)["exit"], 0, "{verb}");
    }
    // A set that is put on and taken back leaves the hash as it was.
    let ids: Vec<&str> = ran("loci loadout id").map(|step| step["stdout"].as_str().unwrap()).collect();
    assert!(ids.len() == 3 && ids[0] == ids[2] && ids[0] != ids[1], "{ids:?}");
    // A job that exits with zero and leaves nothing, the ledger, the same job doing its work.
    let jobs: Vec<i64> = ran("loci jobs run report").map(|step| step["exit"].as_i64().unwrap()).collect();
    let ledger: Vec<i64> = ran("loci ledger").map(|step| step["exit"].as_i64().unwrap()).collect();
    assert_eq!((jobs, ledger), (vec![1, 0], vec![1, 0]));
    // Mail wakes its owner, whose answer arrives.
    assert_eq!(first("loci jobs run wake:billing")["stdout"], "wake:billing: success\n");
    assert_eq!(ran("loci inbox alice").next_back().unwrap()["stdout"].as_str().unwrap().lines().count(), 2);
}

#[test]
fn the_demo_plays_a_person_and_says_so_to_an_agent() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("home");
    command.env("TMPDIR", sandbox.path("home")).env("CLAUDECODE", "1").arg("demo");
    let run = Run::of(&mut command, None).exits(2);
    assert!(run.stderr.contains("only a person") && run.stderr.contains("CLAUDECODE"), "{}", run.stderr);
    assert_eq!(fs::read_dir(sandbox.path("home")).unwrap().count(), 0);
}

/// The words of a cast, without its times.
fn words(cast: &str) -> String {
    let event = |line: &str| serde_json::from_str::<Value>(line).unwrap()[2].as_str().unwrap().to_owned();
    cast.lines().skip(1).map(event).collect::<String>().replace("\r\n", "\n")
}

/// A telling as an asciinema cast: a line at a time, commands and words at the pace of a reader.
fn cast(text: &str) -> String {
    let header =
        json!({ "version": 2, "width": 120, "height": 36, "title": "loci demo", "env": { "TERM": "xterm-256color", "SHELL": "/bin/sh" } });
    let mut cast = format!("{header}\n");
    let mut at = 0.5;
    for line in format!("$ loci demo\n{text}").lines() {
        let pause = match line {
            line if line.starts_with("# ") => 1.6,
            line if line.contains("$ loci") => 0.9,
            _ => 0.05,
        };
        at += pause;
        cast.push_str(&format!("{}\n", json!([(at * 1000.0_f64).round() / 1000.0, "o", format!("{line}\r\n")])));
    }
    cast
}

#[test]
fn the_cast_in_the_docs_is_what_the_demo_tells() {
    let sandbox = Sandbox::new();
    let now = same(&told(&sandbox, &["demo"]).stdout);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(CAST);
    if std::env::var_os("LOCI_WRITE_DOCS").is_some() {
        fs::write(&file, cast(&now)).unwrap();
    }
    let was = words(&fs::read_to_string(&file).unwrap());
    let now = format!("$ loci demo\n{now}");
    let differs = was.lines().zip(now.lines()).find(|(was, now)| was != now);
    assert!(was == now, "{CAST} is another telling: {differs:?}\nto record it anew: LOCI_WRITE_DOCS=1 cargo test --test it the_cast");
}
