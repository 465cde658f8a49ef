use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn read(header: &str, body: &str) -> Result<Loaded, LoadError> {
    parse("a", Path::new("/r/.loci-clock/jobs/a.md"), format!("---\n{header}\n---\n{body}").as_bytes())
}

fn said(header: &str) -> String {
    read(header, "").unwrap_err().to_string()
}

#[test]
fn every_field_of_a_job() {
    let job = read(
        "when: {cron: \"0 7 * * 1-5\", tz: Europe/Berlin}\nrun: ./scripts/report.sh\ndeliverables:\n  - out/report.md\n  \
         - {path: \"out/*.png\", count: \">=3\"}\n  - {path: out/r.json, json: true, min_bytes: 200, match: \"\\\"total\\\":\", changed: true}\n\
         needs: [fetch, {job: index, within: 12h}]\ntimeout: 30m\nretry: {max: 3, wait: [30s, 60s, 120s]}\noverlap: queue\n\
         missed: all\nmissed_max: 7\nmax_per_day: 4\nloadout: night\nonly_if: inbox/*\nnotify: false\nlog_max: 2MB\nsettle: 5s\nnote: x",
        "",
    )
    .unwrap()
    .job;
    assert_eq!((job.deliverables.len(), job.needs.len(), job.retry, job.retry_wait.len()), (3, 2, 3, 3));
    assert_eq!((job.timeout, job.settle, job.log_max), (Duration::from_secs(1800), Duration::from_secs(5), 2_000_000));
    assert_eq!((job.overlap, job.missed, job.missed_max, job.max_per_day), (Overlap::Queue, Missed::All, 7, Some(4)));
    assert!(!job.calls_model && !job.notify && job.zone.iana_name() == Some("Europe/Berlin"));
    let agent = read("when: {every: 15m}\nagent: ./agents/bob", "Look around.\n").unwrap().job;
    assert!(agent.calls_model && agent.max_per_day == Some(24));
    assert_eq!(agent.action, Action::Agent { body: "./agents/bob".into(), message: "Look around.".into() });
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_field() {
    for (header, words) in [
        ("when: {every: 1m}\nrun: x\ndeliverable: [out/x]", &["a.md:4", "deliverable", "`deliverables`"][..]),
        ("when: {cron: \"61 * * * *\"}\nrun: x", &["a.md:2: when", "minute", "`61`", "0-59"]),
        ("when: {cron: \"0 0 31 2 *\"}\nrun: x", &["0 0 31 2 *", "never"]),
        ("when: {every: 1m, cron: \"* * * * *\"}\nrun: x", &["exactly one"]),
        ("when: {evry: 1m}\nrun: x", &["`evry`", "`every`"]),
        ("when: 5m\nrun: x", &["{every: …}"]),
        ("when: {at: 2026-12-24T18:00:00}\nrun: x", &["zone"]),
        ("when: {every: 1m}\nrun: x\nagent: .", &["exclude"]),
        ("when: {every: 1m}", &["run", "missing"]),
        ("run: x", &["when", "missing"]),
        ("when: {every: 1m}\nagent: .", &["message"]),
        ("when: {every: 1m}\nagent: ../other", &["below"]),
        ("when: {every: 1m}\nrun: x\ndeliverables: [/etc/x]", &["deliverables", "/etc/x", "below"]),
        ("when: {every: 1m}\nrun: x\ndeliverables: [{path: out/x, count: 2}]", &["count"]),
        ("when: {every: 1m}\nrun: x\ndeliverables: [{path: out/x, match: \"(\"}]", &["match", "unclosed"]),
        ("when: {every: 1m}\nrun: x\noverlap: drop", &["`drop`", "skip, queue, replace"]),
        ("when: {every: 1m}\nrun: x\ntimeout: soon", &["timeout", "`soon`"]),
        ("when: {every: 1m}\nrun: x\ntimeout: 0", &["timeout"]),
        ("when: {every: 1m}\nrun: x\nmax_per_day: 0", &["max_per_day", "`0`"]),
        ("when: {every: 1m}\nrun: x\nwhen: {every: 2m}", &["when"]),
        ("when: {every: 1m}\nrun: x\ntz: Europe/Berln", &["Europe/Berlin"]),
        ("when: {every: 1m}\nrun: x\nloadout: {skill: {a: on}}", &["loadout"]),
        ("- a", &["a.md"]),
    ] {
        let said = said(header);
        for word in words {
            assert!(said.contains(word), "{header}\n{said}");
        }
    }
    let empty = parse("a", Path::new("/a.md"), b"").unwrap_err().to_string();
    assert!(empty.contains("empty"), "{empty}");
    for name in ["", ".a", "-a", "a b", "a/b", "é", "heartbeat"] {
        assert!(parse(name, Path::new("/a.md"), b"---\nwhen: {every: 1m}\nrun: x\n---\n").is_err(), "{name}");
    }
}

#[test]
fn nothing_in_a_file_arms() {
    let loaded = read("when: {every: 1m}\nagent: .\narmed: true", "Think.").unwrap();
    assert!(loaded.notices[0].contains("armed") && loaded.notices[0].contains("machine-local"), "{:?}", loaded.notices);
}

#[test]
fn arming_is_bound_to_what_a_job_does() {
    let does = |header: &str, body: &str| read(header, body).unwrap().job.does;
    let one = does("when: {every: 1m}\nagent: .", "Think.");
    assert_eq!(one, does("when: {every: 1h}\nagent: .\nnote: x\ndeliverables: [a]", "Think.\n"));
    assert_ne!(one, does("when: {every: 1m}\nagent: .", "Spend."));
    assert_ne!(one, does("when: {every: 1m}\nagent: b", "Think."));
    assert_ne!(one, does("when: {every: 1m}\nagent: .\nmax_per_day: 900", "Think."));
}

#[test]
fn words_that_reach_a_model() {
    for line in [
        "claude -p hi",
        "cd x && ./node_modules/.bin/codex exec x",
        "npx gemini-cli@1.2 -p x",
        "loci run . 'do it'",
        "A=1 loci --root . run agents/b",
        "cl\\aude -p",
    ] {
        assert!(names_a_runtime(line), "{line}");
    }
    for line in ["./scripts/report.sh", "make run", "loci tree", "echo claudette", "npm run build", "pip install x"] {
        assert!(!names_a_runtime(line), "{line}");
    }
}

#[test]
fn needs_that_can_not_be_met() {
    let need = |job: &str| Need { job: job.into(), within: None };
    let lists: Vec<(&str, Vec<Need>)> = vec![
        ("a", vec![need("c")]),
        ("b", vec![need("a")]),
        ("c", vec![need("b")]),
        ("d", vec![need("a"), need("f")]),
        ("e", vec![need("fetch-mial")]),
        ("f", vec![]),
        ("fetch-mail", vec![need("f")]),
        ("g", vec![need("g")]),
        ("h", vec![need("broken")]),
    ];
    let jobs: BTreeMap<&str, &[Need]> = lists.iter().map(|(name, needs)| (*name, needs.as_slice())).collect();
    let refused = refused(&jobs, &|name| jobs.contains_key(name) || name == "broken");
    let names: Vec<&str> = refused.keys().copied().collect();
    assert_eq!(names, ["a", "b", "c", "e", "g"]);
    assert!(["a", "b", "c"].iter().all(|name| refused["a"].contains(name)), "{}", refused["a"]);
    assert!(refused["e"].contains("`fetch-mial`") && refused["e"].contains("`fetch-mail`"), "{}", refused["e"]);
    // A chain of any length is looked through without a stack of calls.
    let long: Vec<(String, Vec<Need>)> = (0..50_000).map(|at| (format!("j{at}"), vec![need(&format!("j{}", (at + 1) % 50_000))])).collect();
    let jobs: BTreeMap<&str, &[Need]> = long.iter().map(|(name, needs)| (name.as_str(), needs.as_slice())).collect();
    assert!(!super::refused(&jobs, &|name| jobs.contains_key(name)).is_empty());
    // Each is told what is wrong; what was meant is not looked for without end.
    let many: Vec<(String, Vec<Need>)> = (0..2_000).map(|at| (format!("j{at}"), vec![need(&format!("k{at}"))])).collect();
    let jobs: BTreeMap<&str, &[Need]> = many.iter().map(|(name, needs)| (name.as_str(), needs.as_slice())).collect();
    let refused = super::refused(&jobs, &|name| jobs.contains_key(name));
    let meant = refused.values().filter(|why| why.contains("did you mean")).count();
    assert!(refused.len() == 2_000 && (1..=50).contains(&meant), "{meant} of {}", refused.len());
}

#[test]
fn a_heartbeat() {
    let read = |text: &str| parse_beat(Path::new("/r/.loci-clock/heartbeat.md"), text.as_bytes());
    let beat = read("---\nevery: 30m\nactive: 08:00-20:00\ntz: Europe/Berlin\ntarget: runtime\nlock_fresh: 90s\n---\nLook around.\n")
        .unwrap()
        .unwrap()
        .job;
    let own = beat.beat.unwrap();
    assert_eq!((own.lock_fresh.as_secs(), own.active.is_some()), (90, true));
    assert!(beat.calls_model);
    assert_eq!(read("---\nevery: 30m\n---\n\n").unwrap(), None, "an empty text is no beat");
    for (header, word) in [
        ("active: 8-20\nevery: 1m", "08:00-20:00"),
        ("evry: 1m", "every"),
        ("note: x", "missing"),
        ("every: 1m\ntarget: me", "runtime"),
        ("every: 1m\ntarget: {terminal: a.b}", "terminal session"),
        ("every: 1m\ntarget: {terminl: a}", "`terminal`"),
        ("every: 1m\ntarget: {terminal: main}\nloadout: night", "taken back"),
    ] {
        let said = read(&format!("---\n{header}\n---\nx")).unwrap_err().to_string();
        assert!(said.contains(word), "{said}");
    }
    let typed = read("---\nevery: 1m\ntarget: {terminal: main}\n---\nx").unwrap().unwrap().job;
    assert_eq!(typed.beat.unwrap().terminal.as_deref(), Some("main"));
    assert!(read("---\nevery: 1m\ntarget: {terminal: main}\n---\na\u{1b}b").unwrap_err().to_string().contains("typed"));
}

#[test]
fn a_loop() {
    let read = |header: &str, body: &str| {
        parse_loop("a", Path::new("/r/.loci-clock/loops/a.md"), format!("---\n{header}\n---\n{body}").as_bytes())
    };
    let one = read(
        "hooks: [count]\nexit: state.tests_pass && state.round >= 2\nnext: {run: ./next.sh}\nmax_rounds: 40\ntarget: {terminal: main}\n\
         deliverables: [out/x]\nnote: x",
        "Go on.\n",
    )
    .unwrap();
    let definition = one.definition;
    assert_eq!((definition.max_rounds, definition.max_per_day, definition.terminal.as_deref()), (40, 40, Some("main")));
    assert_eq!((definition.prompt.as_str(), definition.hooks.len(), definition.deliverables.len()), ("Go on.", 1, 1));
    assert!(one.job.calls_model && &*one.job.name == "loop:a");
    let plain = read("exit: false", "x").unwrap().definition;
    assert_eq!((plain.max_rounds, plain.max_per_day, plain.next), (20, 24, crate::clock::loops::Next::Stop));
    for (header, body, words) in [
        ("next: stop", "x", &["exit", "missing"][..]),
        ("exit: state.", "x", &["a.md:2: exit"]),
        ("exit: nope()", "x", &["exit", "`nope`"]),
        ("exit: 'true'", " ", &["prompt", "missing"]),
        ("exit: 'true'\nmax_rounds: 0", "x", &["max_rounds", "`0`"]),
        ("exit: 'true'\nmax_round: 5", "x", &["`max_round`", "`max_rounds`"]),
        ("exit: 'true'\nnext: a b", "x", &["next", "`a b`"]),
        ("exit: 'true'\nnext: {rum: x}", "x", &["`rum`", "`run`"]),
        ("exit: 'true'\nhooks: a", "x", &["hooks", "list"]),
        ("exit: 'true'\nagent: ../x", "x", &["agent", "below"]),
        ("exit: 'true'\ntarget: me", "x", &["target", "`runtime`"]),
    ] {
        let said = read(header, body).unwrap_err().to_string();
        assert!(words.iter().all(|word| said.contains(word)), "{header}: {said}");
    }
    assert!(parse_loop("cycle", Path::new("/c.md"), b"---\nexit: 'true'\n---\nx").is_err());
    // Arming is bound to what it does.
    let does = |header: &str, body: &str| read(header, body).unwrap().job.does;
    assert_eq!(does("exit: 'true'\nnote: a", "x"), does("exit: 'true'\nnote: b", "x\n"));
    assert_ne!(does("exit: 'true'", "x"), does("exit: 'false'", "x"));
    assert_ne!(does("exit: 'true'", "x"), does("exit: 'true'\nmax_rounds: 90", "x"));
    assert_ne!(does("exit: 'true'", "x"), does("exit: 'true'", "y"));
}

/// A piece of a job file, or something like one.
fn piece() -> impl Strategy<Value = String> {
    let known =
        ["when", "run", "agent", "deliverables", "needs", "timeout", "retry", "overlap", "missed", "loadout", "only_if", "log_max", "tz"];
    let key = prop_oneof![prop::sample::select(known.to_vec()).prop_map(str::to_owned), "[a-z_é]{0,6}"];
    let value = prop_oneof![
        prop::sample::select(vec![
            "{cron: \"0 7 * * *\", tz: Europe/Berlin}",
            "{every: 15m}",
            "{every: 99999999999999999999d}",
            "{at: 2026-12-24T18:00:00+01:00}",
            "{at: 9999-12-31T23:59:59Z}",
            "[out/a, {path: \"out/*.png\", count: \">=3\"}]",
            "{max: 3, wait: [30s, 1m]}",
            "&x [*x]",
            "{rules: {night: on}}",
            "..",
            "99999999999",
            "-1",
        ])
        .prop_map(str::to_owned),
        ".{0,12}",
        "[0-9]{1,3}[smhd]",
        "[\\[{\"'*/.,: -]{0,8}",
    ];
    (key, value).prop_map(|(key, value)| format!("{key}: {value}\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever stands in a file: a job, or a reason that names the file; never a panic. What is a job can be asked for
    /// its next instant, and its file read again is the same job.
    #[test]
    fn any_file_is_a_job_or_says_why_not(pieces in prop::collection::vec(piece(), 0..6), body in ".{0,40}", raw in prop::collection::vec(any::<u8>(), 0..64), whole in any::<bool>()) {
        let text = format!("---\n{}---\n{body}", pieces.concat());
        let bytes = if whole { text.into_bytes() } else { raw };
        let path = Path::new("/r/.loci-clock/jobs/a.md");
        match parse("a", path, &bytes) {
            Ok(loaded) => {
                let job = loaded.job;
                prop_assert_eq!(parse("a", path, &bytes).map(|again| again.job), Ok(job.clone()));
                let at: jiff::Timestamp = "2026-06-01T00:00:00Z".parse().unwrap();
                if let Some(next) = job.when.next(at, Some(at)) {
                    prop_assert!(next > at);
                }
            }
            Err(error) => prop_assert!(error.path == path && !error.why.is_empty() && !error.to_string().contains('\n')),
        }
        if let Err(error) = parse_beat(path, &bytes) {
            prop_assert!(error.path == path && !error.why.is_empty());
        }
    }
}
