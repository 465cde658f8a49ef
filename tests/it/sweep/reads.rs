//! Verbs that only read: they change nothing, as the seam sees it.

use super::custody::repo;
use super::engine::words;
use crate::sandbox::Sandbox;

/// The verbs, each with the words of one call.
pub(crate) fn rows() -> Vec<(&'static str, &'static str)> {
    vec![
        ("status", "status"),
        ("where", "where owned/a.txt"),
        ("tree", "tree ."),
        ("resolve", "resolve rules"),
        ("explain", "explain rules/a"),
        ("show", "show ."),
        ("doctor", "doctor ."),
        ("templates", "templates"),
        ("sets", "sets"),
        ("sets list", "sets list"),
        ("sets show", "sets show s"),
        ("sets diff", "sets diff s t"),
        ("loadout", "loadout"),
        ("loadout status", "loadout status"),
        ("loadout active", "loadout active"),
        ("loadout id", "loadout id"),
        ("loadout diff", "loadout diff one"),
        ("loadout list", "loadout list"),
        ("loadout show", "loadout show"),
        ("check", "check owned/a.txt --as alice"),
        ("trail", "trail"),
        ("inbox", "inbox"),
        ("inbox show", "inbox show 2026"),
        ("requests", "requests"),
        ("grants", "grants"),
        ("clock status", "clock status"),
        ("jobs", "jobs"),
        ("jobs list", "jobs list"),
        ("jobs show", "jobs show a"),
        ("jobs check", "jobs check .loci-clock/jobs/a.md"),
        ("jobs next", "jobs next a"),
        ("ledger", "ledger"),
        ("loop status", "loop status"),
        ("loop list", "loop list"),
        ("mirror screen", "mirror screen main"),
        ("mirror state", "mirror state main"),
        ("hooks status", "hooks status"),
        ("help", "help --all"),
        ("man", "man run"),
        ("completions", "completions bash"),
    ]
}

fn world() -> Sandbox {
    let world = repo();
    world
        .file("r/.loci/rules/a.md", "a rule")
        .file("r/.loci/sets/s.yaml", "rules: {a: off}\n")
        .file("r/.loci/sets/t.yaml", "rules: {a: on}\n")
        .file("r/.loci-clock/jobs/a.md", "---\nwhen: {every: 1m}\nrun: \"true\"\ndeliverables: [out/done]\n---\n");
    world
}

#[test]
fn who_reads_changes_nothing() {
    let world = world();
    let before = world.snapshot("");
    for (verb, line) in rows() {
        for json in [false, true] {
            let log = world.path("ops");
            let mut command = world.command("r");
            command.args(words(line)).args(json.then_some("--json")).env("LOCI_FAULT", format!("log:{}", log.display()));
            let run = crate::sandbox::Run::of(&mut command, None);
            assert!(matches!(run.code, Some(0..=2)), "{verb}: {run:?}");
            assert!(!log.exists(), "{verb}: {}", std::fs::read_to_string(&log).unwrap());
        }
    }
    assert_eq!(world.snapshot(""), before);
}
