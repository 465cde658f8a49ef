//! Connecting: what is put into a harness's settings, and that every byte comes back.

mod own;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox};

const CLAUDE: &str = "home/.claude/settings.json";

/// Each harness, and its settings file.
const ALL: [(&str, &str); 9] = [
    ("claude", CLAUDE),
    ("cline", "home/.cline/hooks/PreToolUse.sh"),
    ("codex", "home/.codex/hooks.json"),
    ("copilot", "home/.copilot/hooks/loci.json"),
    ("gemini", "home/.gemini/settings.json"),
    ("hermes", HERMES),
    ("opencode", "home/.config/opencode/plugin/loci.js"),
    ("pi", "home/.pi/agent/extensions/loci.ts"),
    ("qwen", QWEN),
];

const HERMES: &str = "home/.hermes/config.yaml";

/// Qwen Code's settings: its own parser takes comments.
const QWEN: &str = "home/.qwen/settings.json";

/// How often Claude Code's settings call the gate: two relays before a tool call, and one at a change of settings.
const GATES: usize = 3;

fn world() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.dir("repo");
    sandbox
}

fn run(sandbox: &Sandbox, words: &str) -> Run {
    sandbox.loci("repo", words.split(' '))
}

/// The settings without white space: an empty list or table may come back as `[]` from `[ ]`.
fn solid(text: &str) -> String {
    text.replace(char::is_whitespace, "")
}

#[test]
fn what_is_there_keeps_every_byte_and_comes_back() {
    for text in [
        "{}",
        "{}\n",
        "{ }\n",
        "",
        "\n",
        "// nothing yet\n",
        "{\"model\":\"x\"}",
        "{\n  \"model\": \"x\",\n  \"permissions\": {\"deny\": []}\n}\n",
        "{\n\t\"model\": \"x\"\n}\n",
        "{\r\n  \"model\": \"x\"\r\n}\r\n",
        "\u{feff}{\n  \"model\": \"x\"\n}\n",
        "{\n  // why\n  \"model\": \"x\" /* inline */\n}\n// end",
        "{\"hooks\":{}}",
        "{\"hooks\":{\"PreToolUse\":[]}}",
        "{\"hooks\":{\"PreToolUse\":[ ]}}",
        "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]} // mine\n    ],\n    \"Stop\": []\n  }\n}\n",
        "{\"unknown\": {\"deep\": [1, 2.50, \"\\u00e9\"]}, \"hooks\": {\"Other\": [{}]}}",
        "{\"model\":\"first\",\"model\":\"second\"}",
        "{\"hooks\":{\"PreToolUse\":[1]},\"hooks\":{\"PreToolUse\":[2]}}",
    ] {
        let sandbox = world();
        let commented = text.contains("//") || text.contains("/*");
        let (harness, file, gates) = if commented { ("qwen", QWEN, 2) } else { ("claude", CLAUDE, GATES) };
        sandbox.file(file, text);
        run(&sandbox, &format!("connect {harness}")).exits(0);
        let there = sandbox.read(file);
        // Nothing but insertions: what stood there stands there in the same order.
        let mut rest = there.chars();
        assert!(text.chars().all(|c| rest.any(|other| other == c)), "{text:?} is not in {there}");
        assert!(there.matches(&format!("gate --for {harness}")).count() >= gates, "{there}");
        assert_eq!(there.matches("\"onFailure\": \"block\"").count(), usize::from(!commented));
        // Again: nothing to do.
        let again = run(&sandbox, &format!("connect {harness}")).exits(0);
        assert!(again.stdout.contains("already"), "{}", again.stdout);
        assert_eq!(sandbox.read(file), there);
        run(&sandbox, &format!("disconnect {harness}")).exits(0);
        assert_eq!(sandbox.read(file), text, "{there}");
        assert!(run(&sandbox, &format!("disconnect {harness}")).exits(0).stdout.contains("already"));
        assert!(!sandbox.path("home/.loci/bin").exists());
    }
}

#[test]
fn a_file_that_the_harness_itself_throws_away_is_refused_with_the_line() {
    let comma = "{\n  \"a\": 1,\n}\n";
    let comment = "{\n  // c\n  \"a\": 1\n}\n";
    let mark = "\u{feff}{\"a\": 1}\n";
    let control = "{\n  \"a\": \"\t\"\n}\n";
    for (harness, file, text, line) in [
        ("claude", CLAUDE, comma, 3),
        ("claude", CLAUDE, comment, 2),
        ("codex", "home/.codex/hooks.json", comment, 2),
        ("codex", "home/.codex/hooks.json", comma, 3),
        ("gemini", "home/.gemini/settings.json", comma, 3),
        ("qwen", QWEN, comma, 3),
        ("gemini", "home/.gemini/settings.json", mark, 1),
        ("codex", "home/.codex/hooks.json", mark, 1),
        ("gemini", "home/.gemini/settings.json", control, 2),
    ] {
        let sandbox = world();
        sandbox.file(file, text);
        let said = run(&sandbox, &format!("connect {harness}")).exits(2).stderr;
        let name = Path::new(file).file_name().unwrap().to_str().unwrap();
        assert!((text == comment) == said.contains("no comments") && (text == comma) == said.contains("no trailing"), "{said}");
        assert_eq!(text == mark, said.contains("no byte order mark"), "{said}");
        let near = (line - 1..=line + 1).any(|line| said.contains(&format!("{name}:{line}")));
        assert!(near && said.contains("leaves the whole file out"), "{harness}: {said}");
        assert_eq!(sandbox.read(file), text);
        // It was fine, and became so afterwards.
        sandbox.file(file, "{}");
        run(&sandbox, &format!("connect {harness}")).exits(0);
        let there = sandbox.read(file);
        let at = there.rfind('}').unwrap();
        if text == control {
            continue;
        }
        sandbox.file(
            file,
            if text == mark {
                format!("\u{feff}{there}")
            } else if text == comma {
                format!("{},\n}}", there[..at].trim_end())
            } else {
                format!("// c\n{there}")
            },
        );
        let said = run(&sandbox, &format!("connect {harness} --check")).exits(2).stderr;
        assert!(said.contains("leaves the whole file out"), "{harness}: {said}");
        assert!(run(&sandbox, "connect --check").exits(1).stdout.contains("broken"), "{harness}");
        run(&sandbox, &format!("disconnect {harness}")).exits(0);
        assert!(!sandbox.read(file).contains("loci"), "{harness}");
    }
}

#[test]
fn codex_s_own_switch_is_seen() {
    let sandbox = world();
    run(&sandbox, "connect codex --trust").exits(0);
    run(&sandbox, "connect codex --check").exits(0);
    let config = "home/.codex/config.toml";
    let there = sandbox.read(config);
    sandbox.file(config, format!("[features]\nhooks = false\n\n{there}"));
    let said = run(&sandbox, "connect codex --check").exits(1).stdout;
    assert!(said.contains("tampered") && said.contains("`features.hooks` is false"), "{said}");
    sandbox.file(config, there);
    sandbox.file("repo/.codex/config.toml", "features = { hooks = false }\n");
    run(&sandbox, "connect codex --check").exits(1);
    // Of one relay alone; and trusting it again leaves the switch as it was thrown.
    let sandbox = world();
    run(&sandbox, "connect codex --trust").exits(0);
    let off = sandbox.read(config).replacen("trusted_hash", "enabled = false\ntrusted_hash", 1);
    sandbox.file(config, &off);
    for _ in 0..2 {
        let said = run(&sandbox, "connect codex --check").exits(1).stdout;
        assert!(said.contains("tampered") && said.contains("`enabled` is false"), "{said}");
        run(&sandbox, "connect codex --trust").exits(0);
        assert_eq!(sandbox.read(config), off);
    }
    // A key of that name in a text is none.
    let sandbox = world();
    sandbox.file(config, "t = \"\"\"\n[features]\nhooks = false\n\"\"\"\n");
    run(&sandbox, "connect codex --trust").exits(0);
    run(&sandbox, "connect codex --check").exits(0);
    // Others' own switches.
    run(&sandbox, "connect gemini").exits(0);
    let file = "home/.gemini/settings.json";
    let now = sandbox.read(file);
    sandbox.file(file, now.replacen('{', "{\"hooksConfig\": {\"disabled\": [\"loci\"]}, ", 1));
    assert!(run(&sandbox, "connect gemini --check").exits(1).stdout.contains("tampered"));
    run(&sandbox, "connect copilot").exits(0);
    sandbox.file("home/.copilot/config.json", "{\"disableAllHooks\": true}");
    assert!(run(&sandbox, "connect copilot --check").exits(1).stdout.contains("tampered"));
    // A program that is none is made one again.
    run(&sandbox, "connect cline").exits(0);
    let hook = sandbox.path("home/.cline/hooks/PreToolUse.sh");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o644)).unwrap();
    run(&sandbox, "connect cline --check").exits(1);
    run(&sandbox, "connect cline").exits(0);
    run(&sandbox, "connect cline --check").exits(0);
}

#[test]
fn what_codex_trusts_is_written_however_its_settings_are() {
    let config = "home/.codex/config.toml";
    for text in [
        "[hooks]\nstate = { \"a\" = { trusted_hash = \"q\" } }\n",
        "hooks = { state = {} }\n[z]\nx = 1\n",
        "model = \"x\"\r\n[features]\r\nweb = true\r\n",
        "[other]\nhooks = { x = 1 }\n",
    ] {
        let sandbox = world();
        sandbox.file(config, text);
        run(&sandbox, "connect codex --trust").exits(0);
        let there = sandbox.read(config);
        run(&sandbox, "connect codex --check").exits(0);
        // Somebody has been at it since: ours alone go.
        sandbox.file(config, format!("{there}\n# mine\n"));
        run(&sandbox, "disconnect codex").exits(0);
        let left = sandbox.read(config);
        assert_eq!(solid(&left), solid(&format!("{text}# mine")), "{there}");
    }
    let sandbox = world();
    sandbox.file(config, "x = 1\na=\n");
    let refused = run(&sandbox, "connect codex --trust").exits(2).stderr;
    assert!(refused.contains("config.toml:2") && refused.contains("not valid TOML"), "{refused}");
    assert!(!sandbox.path("home/.codex/hooks.json").exists());
    run(&sandbox, "connect codex").exits(0);
    let said = run(&sandbox, "connect codex --check").exits(1).stdout;
    assert!(said.contains("does not start: line 2"), "{said}");
}

#[test]
fn relays_of_a_project_are_trusted_where_a_person_says_so() {
    let sandbox = world();
    run(&sandbox, "connect codex --shared .").exits(0);
    let why = run(&sandbox, "connect codex --shared . --check").exits(1).stdout;
    assert!(why.contains("loci connect codex --shared ") && why.contains(" --trust"), "{why}");
    let before = sandbox.snapshot("repo");
    run(&sandbox, "connect codex --shared . --trust").exits(0);
    assert_eq!(sandbox.snapshot("repo"), before);
    run(&sandbox, "connect codex --shared . --check").exits(0);
    // The trust is in what stands there: a relay that somebody has changed is as strange as before.
    let file = "repo/.codex/hooks.json";
    sandbox.file(file, sandbox.read(file).replacen("\"timeout\": 35", "\"timeout\": 36", 1));
    run(&sandbox, "connect codex --shared . --check").exits(1);
}

#[test]
fn who_takes_one_file_s_trust_back_leaves_that_of_the_other() {
    let config = "home/.codex/config.toml";
    for [first, second] in [["", " --shared ."], [" --shared .", ""]] {
        let sandbox = world();
        sandbox.file(config, "model = \"x\"\n");
        for reach in ["", " --shared ."] {
            run(&sandbox, &format!("connect codex{reach} --trust")).exits(0);
        }
        run(&sandbox, &format!("disconnect codex{first}")).exits(0);
        run(&sandbox, &format!("connect codex{second} --check")).exits(0);
        run(&sandbox, &format!("disconnect codex{second}")).exits(0);
        assert_eq!(sandbox.read(config).trim_end(), "model = \"x\"");
        assert!(sandbox.snapshot("state/loci/connect").is_empty() || sandbox.snapshot("state/loci/connect").len() == 1, "no receipt stays");
    }
}

#[test]
fn a_file_with_a_second_name_is_left_alone() {
    let sandbox = world();
    sandbox.file(CLAUDE, "{}");
    fs::hard_link(sandbox.path(CLAUDE), sandbox.path("home/dots.json")).unwrap();
    let refused = run(&sandbox, "connect claude").exits(2).stderr;
    assert!(refused.contains("hard link") && refused.contains("hint: cp -p "), "{refused}");
    assert_eq!(sandbox.read(CLAUDE), "{}");
    let hint = refused.lines().find_map(|line| line.split_once("hint: ")).unwrap().1.to_owned();
    assert!(std::process::Command::new("sh").args(["-c", &hint]).status().unwrap().success());
    run(&sandbox, "connect claude").exits(0);
    assert_eq!(sandbox.read("home/dots.json"), "{}");
}

#[test]
fn what_was_added_to_a_file_of_ours_stays() {
    for (harness, file) in ALL.into_iter().filter(|(harness, _)| ["cline", "opencode", "pi"].contains(harness)) {
        let sandbox = world();
        run(&sandbox, &format!("connect {harness}")).exits(0);
        let there = sandbox.read(file);
        sandbox.file(file, format!("{there}# mine\n"));
        run(&sandbox, &format!("disconnect {harness}")).exits(0);
        assert_eq!(sandbox.read(file), "# mine\n", "{harness}");
        // Where our own text was changed, nobody knows what is whose.
        fs::remove_file(sandbox.path(file)).unwrap();
        run(&sandbox, &format!("connect {harness}")).exits(0);
        let changed = sandbox.read(file).replacen("loci gate", "loci  gate", 1).replacen("timeout: 30000", "timeout: 1", 1);
        assert_ne!(changed, there, "{harness}");
        sandbox.file(file, &changed);
        let said = run(&sandbox, &format!("disconnect {harness}")).exits(2).stderr;
        assert!(said.contains("somebody has changed it") && said.contains("hint: mv "), "{harness}: {said}");
        assert_eq!(sandbox.read(file), changed);
        // Nor where it no longer says whose it is: it calls the gate as before.
        let lines: Vec<&str> = there.lines().collect();
        let mark = lines.iter().position(|line| line.contains("Put here by")).unwrap();
        let headless = [&lines[..mark], &lines[mark + 1..]].concat().join("\n");
        for text in [headless.clone(), headless.replace('"', "'").replace("', '", "',\n  '")] {
            sandbox.file(file, &text);
            for verb in ["disconnect", "disconnect", "connect"] {
                let said = run(&sandbox, &format!("{verb} {harness}")).exits(2).stderr;
                assert!(said.contains("somebody has changed it"), "{verb} {harness}: {said}");
            }
            let standing = run(&sandbox, &format!("connect {harness} --check --json")).exits(1).json();
            assert_eq!(standing["harnesses"][0]["standing"], "differs", "{harness}");
            assert_eq!(sandbox.read(file), text);
        }
        // The receipt is there still: as it was put there, it goes.
        sandbox.file(file, &there);
        run(&sandbox, &format!("disconnect {harness}")).exits(0);
        assert!(!sandbox.path(file).exists(), "{harness}");
    }
    // Copilot's file is a list of hooks: theirs stay, ours go.
    let (sandbox, file) = (world(), "home/.copilot/hooks/loci.json");
    run(&sandbox, "connect copilot").exits(0);
    let mut hooks: Value = serde_json::from_str(&sandbox.read(file)).unwrap();
    hooks["hooks"]["preToolUse"].as_array_mut().unwrap().push(json!({ "type": "command", "bash": "mine" }));
    sandbox.file(file, hooks.to_string());
    assert_eq!(run(&sandbox, "connect copilot --check --json").exits(1).json()["harnesses"][0]["standing"], "differs");
    run(&sandbox, "disconnect copilot").exits(0);
    let left = sandbox.read(file);
    assert!(left.contains("mine") && !left.contains("loci"), "{left}");
}

#[test]
fn what_was_not_there_is_not_there_afterwards() {
    for (harness, file) in ALL {
        let sandbox = world();
        let before = sandbox.snapshot("home");
        run(&sandbox, &format!("connect {harness}")).exits(0);
        let mode = fs::metadata(sandbox.path(file)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if harness == "cline" { 0o755 } else { 0o600 }, "{file}");
        assert!(fs::read_link(sandbox.path("home/.loci/bin/loci")).unwrap().is_absolute());
        run(&sandbox, &format!("disconnect {harness}")).exits(0);
        let mut after = sandbox.snapshot("home");
        after.remove(&PathBuf::from(".loci"));
        assert_eq!(after, before, "{harness}");
    }
}

#[test]
fn changes_of_others_in_between_are_kept() {
    let sandbox = world();
    sandbox.file(CLAUDE, "{\n  \"model\": \"x\"\n}\n");
    run(&sandbox, "connect claude").exits(0);
    // The harness writes its file anew, as it does: other spacing, one key more, a hook of the user more.
    let mut now: Value = serde_json::from_str(&sandbox.read(CLAUDE)).unwrap();
    now["theme"] = json!("dark");
    now["hooks"]["PreToolUse"].as_array_mut().unwrap().insert(1, json!({ "hooks": [{ "type": "command", "command": "mine" }] }));
    now["hooks"]["PreToolUse"][0]["hooks"].as_array_mut().unwrap().push(json!({ "type": "command", "command": "beside" }));
    sandbox.file(CLAUDE, serde_json::to_string(&now).unwrap());
    run(&sandbox, "disconnect claude").exits(0);
    let left: Value = serde_json::from_str(&sandbox.read(CLAUDE)).unwrap();
    assert_eq!(left["theme"], "dark");
    let commands: Vec<&Value> = left["hooks"]["PreToolUse"].as_array().unwrap().iter().map(|group| &group["hooks"][0]["command"]).collect();
    assert_eq!(commands, [&json!("beside"), &json!("mine")]);
    assert!(!sandbox.read(CLAUDE).contains("loci"));
}

#[test]
fn without_what_was_kept_the_relays_alone_go() {
    let sandbox = world();
    let text = "{\n  \"model\": \"x\", // fast\n  \"hooks\": {\n    \"Notification\": []\n  }\n}\n";
    sandbox.file(QWEN, text);
    run(&sandbox, "connect qwen").exits(0);
    fs::remove_dir_all(sandbox.path("state")).unwrap();
    run(&sandbox, "disconnect qwen").exits(0);
    assert_eq!(sandbox.read(QWEN), text);
}

#[test]
fn an_older_relay_is_replaced() {
    let sandbox = world();
    sandbox.file(
        CLAUDE,
        r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"/old/.loci/bin/loci gate --for claude"}]},{"x":1}]}}"#,
    );
    assert_eq!(run(&sandbox, "connect claude --check --json").exits(1).json()["harnesses"][0]["standing"], "differs");
    run(&sandbox, "connect claude").exits(0);
    let now = sandbox.read(CLAUDE);
    assert!(!now.contains("/old/") && now.contains("{\"x\":1}") && now.matches("gate --for claude").count() == GATES, "{now}");
    run(&sandbox, "disconnect claude").exits(0);
    assert_eq!(sandbox.read(CLAUDE), r#"{"hooks":{"PreToolUse":[{"x":1}]}}"#);
}

#[test]
fn what_can_not_be_worked_on_is_named_and_not_touched() {
    for (text, line, why) in [
        (&b"{\n  \"model\": ,\n}"[..], 2, "not valid JSON"),
        (b"[]", 1, "not a JSON object"),
        (b"{\n\"hooks\":\n 7}", 2, "`hooks` is not an object"),
        (b"{\"hooks\":{\n\n\"PreToolUse\":{}}}", 3, "is not a list"),
        (b"{\n\"a\": \"\xff\"}", 2, "not UTF-8"),
        (b"{'a':1}", 1, "not valid JSON"),
    ] {
        let sandbox = world();
        sandbox.file(CLAUDE, text);
        for verb in ["connect claude", "connect claude --dry-run", "disconnect claude", "connect claude --check"] {
            let run = run(&sandbox, verb).exits(2);
            assert!(run.stderr.contains(&format!("settings.json:{line}")) && run.stderr.contains(why), "{verb}: {}", run.stderr);
            assert!(run.stderr.contains("hint: "));
        }
        assert_eq!(fs::read(sandbox.path(CLAUDE)).unwrap(), text);
        assert!(!sandbox.path("home/.loci").exists() && !sandbox.path("state").exists());
    }
}

#[test]
fn links_are_followed_and_read_only_files_are_left_alone() {
    let sandbox = world();
    sandbox.file("dots/claude.json", "{}\n").link(CLAUDE, "../../dots/claude.json");
    run(&sandbox, "connect claude").exits(0);
    assert!(fs::symlink_metadata(sandbox.path(CLAUDE)).unwrap().is_symlink());
    assert!(sandbox.read("dots/claude.json").contains("gate --for claude"));
    run(&sandbox, "disconnect claude").exits(0);
    assert_eq!(sandbox.read("dots/claude.json"), "{}\n");

    fs::set_permissions(sandbox.path("dots/claude.json"), fs::Permissions::from_mode(0o444)).unwrap();
    let refused = run(&sandbox, "connect claude").exits(2);
    assert!(refused.stderr.contains("read-only") && refused.stderr.contains("hint: chmod"), "{}", refused.stderr);
    assert_eq!(sandbox.read("dots/claude.json"), "{}\n");

    fs::remove_file(sandbox.path("dots/claude.json")).unwrap();
    assert!(run(&sandbox, "connect claude").exits(2).stderr.contains("leads to no file"));
    fs::remove_file(sandbox.path(CLAUDE)).unwrap();
    sandbox.dir(CLAUDE);
    assert!(run(&sandbox, "connect claude").exits(2).stderr.contains("not a file"));
}

/// A harness reads what it finds under a name: where that is a link, what counts is the file it leads to, whatever that is
/// called, and nothing beside it.
#[test]
fn a_file_of_ours_counts_by_its_name_alone() {
    for (harness, file) in ALL.into_iter().filter(|(name, _)| ["cline", "copilot", "opencode", "pi"].contains(name)) {
        // Something else stands there, by another name.
        let sandbox = world();
        sandbox.file("home/dot/real", "export const mine = 1\n").link(file, sandbox.path("home/dot/real"));
        let before = sandbox.snapshot("home");
        let said = run(&sandbox, &format!("connect {harness}")).exits(2).stderr;
        assert!(said.contains("something that is not ours"), "{harness}: {said}");
        assert!(run(&sandbox, &format!("connect --check {harness}")).exits(1).stdout.contains("not connected"), "{harness}");
        run(&sandbox, &format!("disconnect {harness}")).exits(0);
        assert_eq!(sandbox.snapshot("home"), before, "{harness}");

        // It is connected, and somebody moves the file and links to it.
        let sandbox = world();
        sandbox.dir("home/dot");
        run(&sandbox, &format!("connect {harness}")).exits(0);
        let moved = sandbox.path("home/dot/moved");
        fs::rename(sandbox.path(file), &moved).unwrap();
        sandbox.link(file, &moved);
        assert!(run(&sandbox, &format!("connect --check {harness}")).exits(0).stdout.contains("connected"), "{harness}");
        let linked = sandbox.snapshot("home");
        assert!(run(&sandbox, &format!("connect {harness}")).exits(0).stdout.contains("already"), "{harness}");
        // In another form it is written where the link leads to.
        run(&sandbox, &format!("connect {harness} --observe")).exits(0);
        assert!(run(&sandbox, &format!("connect --check {harness}")).exits(0).stdout.contains("observed"), "{harness}");
        run(&sandbox, &format!("connect {harness}")).exits(0);
        // Of Cline's programs, one that only watches has no such one meanwhile: the link goes with it.
        assert!(harness == "cline" || sandbox.snapshot("home") == linked, "{harness}");
        assert!(run(&sandbox, &format!("disconnect {harness}")).exits(0).stdout.contains("is disconnected ("), "{harness}");
        assert!(!sandbox.path(file).is_symlink() && !moved.exists() && sandbox.path("home/dot").exists(), "{harness}");
        assert!(!sandbox.path("home/.loci/bin").exists() && !sandbox.path("state/loci/connect/link").exists(), "{harness}");
    }
}

/// What was put in under a name goes with it, wherever the name has led since.
#[test]
fn settings_may_be_moved_behind_a_link_and_back() {
    for (harness, file) in [("claude", CLAUDE), ("codex", "home/.codex/hooks.json"), ("hermes", HERMES)] {
        let flag = if harness == "claude" { "" } else { " --trust" };
        let text = if harness == "hermes" { "model: x\n" } else { "{\"a\": 1}\n" };
        let at = |sandbox: &Sandbox| sandbox.path(file);
        // Moved while it is connected; and the other way round.
        for first_a_link in [false, true] {
            let sandbox = world();
            let dots = sandbox.path("home/dots/kept");
            sandbox.dir("home/dots");
            let link = |sandbox: &Sandbox| {
                fs::rename(at(sandbox), &dots).unwrap();
                sandbox.link(file, &dots);
            };
            let back = |sandbox: &Sandbox| {
                fs::remove_file(at(sandbox)).unwrap();
                fs::rename(&dots, at(sandbox)).unwrap();
            };
            sandbox.file(file, text);
            if first_a_link {
                link(&sandbox);
            }
            run(&sandbox, &format!("connect {harness}{flag}")).exits(0);
            if first_a_link {
                back(&sandbox)
            } else {
                link(&sandbox)
            }
            let said = run(&sandbox, &format!("connect --check {harness} --json")).exits(0).json();
            assert_eq!(said["harnesses"][0]["file"], at(&sandbox).to_str().unwrap(), "{harness}");
            assert!(run(&sandbox, &format!("connect {harness}{flag}")).exits(0).stdout.contains("already"), "{harness}");
            run(&sandbox, &format!("disconnect {harness}")).exits(0);
            assert_eq!(sandbox.read(file), text, "{harness}");
            assert_eq!(at(&sandbox).is_symlink(), !first_a_link, "{harness}");
            assert!(!sandbox.path("home/.loci/bin").exists(), "{harness}: a receipt has stayed");
        }
        // The link is led to another file: both lose what is ours.
        let sandbox = world();
        sandbox.file("home/dots/a", text).file("home/dots/b", text).link(file, sandbox.path("home/dots/a"));
        run(&sandbox, &format!("connect {harness}{flag}")).exits(0);
        fs::remove_file(at(&sandbox)).unwrap();
        sandbox.link(file, sandbox.path("home/dots/b"));
        assert!(run(&sandbox, &format!("connect --check {harness}")).exits(1).stdout.contains("gone: "), "{harness}");
        run(&sandbox, &format!("connect {harness}{flag}")).exits(0);
        run(&sandbox, &format!("disconnect {harness}")).exits(0);
        assert_eq!((sandbox.read("home/dots/a").as_str(), sandbox.read("home/dots/b").as_str()), (text, text), "{harness}");
        assert!(!sandbox.path("home/.loci/bin").exists(), "{harness}: a receipt has stayed");
        assert!(["config.toml", "shell-hooks-allowlist.json"].iter().all(|name| !at(&sandbox).with_file_name(name).exists()), "{harness}");
    }
}

/// A folder of a harness that is a link.
#[test]
fn a_folder_that_is_a_link_stays_one() {
    let sandbox = world();
    sandbox.dir("home/dots/plugin").link("home/.config/opencode/plugin", sandbox.path("home/dots/plugin"));
    run(&sandbox, "connect opencode").exits(0);
    assert!(sandbox.path("home/dots/plugin/loci.js").exists());
    run(&sandbox, "disconnect opencode").exits(0);
    assert!(sandbox.path("home/.config/opencode/plugin").is_symlink() && !sandbox.path("home/dots/plugin/loci.js").exists());
    // One that became a link while it was connected is nobody's to take away.
    let sandbox = world();
    run(&sandbox, "connect opencode").exits(0);
    sandbox.dir("home/dots");
    fs::rename(sandbox.path("home/.config/opencode"), sandbox.path("home/dots/opencode")).unwrap();
    sandbox.link("home/.config/opencode", sandbox.path("home/dots/opencode"));
    run(&sandbox, "connect --check opencode").exits(0);
    run(&sandbox, "disconnect opencode").exits(0);
    assert!(sandbox.path("home/.config/opencode").is_symlink() && !sandbox.path("home/dots/opencode/plugin/loci.js").exists());
    // And one that leads nowhere is named.
    let sandbox = world();
    sandbox.link("home/.claude", sandbox.path("home/gone"));
    let said = run(&sandbox, "connect claude").exits(2).stderr;
    assert!(said.contains(".claude: it is a link that leads to no folder"), "{said}");
}

/// Each time that trust was given.
#[test]
fn all_trust_is_taken_back_however_often_it_was_given() {
    for harness in ["codex", "hermes"] {
        for forms in [&["--trust", "--observe --trust"][..], &["--observe --trust", "--trust"], &["--trust", "--observe", "--trust"]] {
            for text in [None, Some("# mine\n")] {
                let sandbox = world();
                if let Some(text) = text.filter(|_| harness == "codex") {
                    sandbox.file("home/.codex/config.toml", text);
                }
                let before = sandbox.snapshot("home");
                for form in forms {
                    run(&sandbox, &format!("connect {harness} {form}")).exits(0);
                }
                run(&sandbox, &format!("disconnect {harness}")).exits(0);
                let mut after = sandbox.snapshot("home");
                after.remove(&PathBuf::from(".loci"));
                assert_eq!(after, before, "{harness} {forms:?}");
            }
        }
    }
    // Also where somebody else has been at it, and where the relays of a project are trusted as well.
    let sandbox = world();
    let config = "home/.codex/config.toml";
    run(&sandbox, "connect codex --trust").exits(0);
    run(&sandbox, "connect codex --shared . --trust").exits(0);
    run(&sandbox, "connect codex --observe --trust").exits(0);
    sandbox.file(config, format!("{}\n# mine\n", sandbox.read(config)));
    run(&sandbox, "connect codex --trust").exits(0);
    run(&sandbox, "disconnect codex").exits(0);
    run(&sandbox, "connect codex --shared . --check").exits(0);
    assert!(!sandbox.read(config).contains("home/.codex/hooks.json"), "{}", sandbox.read(config));
    run(&sandbox, "disconnect codex --shared .").exits(0);
    assert_eq!(sandbox.read(config).trim(), "# mine");
}

#[test]
fn the_mode_of_a_file_is_kept() {
    let sandbox = world();
    sandbox.file(CLAUDE, "{}");
    for mode in [0o600, 0o640, 0o755] {
        fs::set_permissions(sandbox.path(CLAUDE), fs::Permissions::from_mode(mode)).unwrap();
        for verb in ["connect claude", "disconnect claude"] {
            run(&sandbox, verb).exits(0);
            assert_eq!(fs::metadata(sandbox.path(CLAUDE)).unwrap().permissions().mode() & 0o777, mode);
        }
    }
}

#[test]
fn what_is_kept_is_readable_for_nobody_else() {
    let sandbox = world();
    sandbox.file(CLAUDE, "{\"env\":{\"KEY\":\"secret\"}}");
    run(&sandbox, "connect claude").exits(0);
    let kept: Vec<_> = fs::read_dir(sandbox.path("state/loci/connect")).unwrap().map(|entry| entry.unwrap().path()).collect();
    // The receipt, what stood there, and that the link was made along.
    assert_eq!(kept.len(), 3);
    for path in &kept {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600, "{path:?}");
    }
    assert!(kept.iter().any(|path| fs::read_to_string(path).unwrap().contains("secret")));
}

#[test]
fn the_folder_of_a_harness_may_be_elsewhere() {
    for (variable, value, harness, file) in [
        ("CLAUDE_CONFIG_DIR", "elsewhere", "claude", "elsewhere/settings.json"),
        ("CODEX_HOME", "elsewhere", "codex", "elsewhere/hooks.json"),
        ("GEMINI_CLI_HOME", "elsewhere", "gemini", "elsewhere/.gemini/settings.json"),
        ("PI_CODING_AGENT_DIR", "elsewhere", "pi", "elsewhere/extensions/loci.ts"),
        ("QWEN_HOME", "elsewhere", "qwen", "elsewhere/settings.json"),
        ("COPILOT_HOME", "elsewhere", "copilot", "elsewhere/hooks/loci.json"),
        ("XDG_CONFIG_HOME", "elsewhere", "opencode", "elsewhere/opencode/plugin/loci.js"),
        ("HERMES_HOME", "elsewhere", "hermes", "elsewhere/config.yaml"),
        ("CLINE_DIR", "elsewhere", "cline", "elsewhere/hooks/PreToolUse.sh"),
    ] {
        let sandbox = world();
        let mut command = sandbox.command("repo");
        command.args(["connect", harness]).env(variable, sandbox.path(value));
        Run::of(&mut command, None).exits(0);
        assert!(sandbox.read(file).contains("loci"), "{file}");
    }
}

#[test]
fn a_dry_run_tells_and_touches_nothing() {
    let sandbox = world();
    // An introducer of sequences that JSON takes as it is.
    sandbox.file(CLAUDE, "{\n  \"model\": \"\u{9b}2J\"\n}\n");
    let before = (sandbox.snapshot("home"), sandbox.path("state").exists());
    let run = run(&sandbox, "connect claude --dry-run").exits(0);
    assert!(run.stdout.contains("link ") && run.stdout.contains("+  \"hooks\": {") && run.stdout.contains("change "), "{}", run.stdout);
    assert!(!run.stdout.contains('\u{9b}'));
    assert_eq!((sandbox.snapshot("home"), sandbox.path("state").exists()), before);
    let object = sandbox.loci("repo", ["connect", "claude", "--dry-run", "--json"]).exits(0).json();
    assert_eq!((object["schema"].as_i64(), object["done"].as_bool()), (Some(1), Some(false)));
    assert!(object["plan"].as_array().unwrap().len() >= 3 && object["diff"].as_str().unwrap().contains("gate --for claude"));
}

#[test]
fn an_agent_files_a_request() {
    let sandbox = world();
    sandbox.file(CLAUDE, "{}").dir("home/.loci");
    for (verb, marks) in [("connect", ("CLAUDECODE", "1")), ("disconnect", ("LOCI_ANCESTORS", "bash:codex"))] {
        if verb == "disconnect" {
            run(&sandbox, "connect claude").exits(0);
        }
        let before = sandbox.read(CLAUDE);
        let mut command = sandbox.command("repo");
        command.args([verb, "claude"]).env(marks.0, marks.1);
        let run = Run::of(&mut command, None).exits(1);
        assert!(run.stderr.contains("only a person") && !run.stdout.trim().is_empty(), "{run:?}");
        assert_eq!(sandbox.read(CLAUDE), before);
    }
}

#[test]
fn a_project_has_a_file_of_ones_own_and_a_shared_one() {
    let sandbox = world();
    let said = run(&sandbox, "connect claude --project .").exits(0).stdout;
    assert!(said.contains("write .claude/settings.local.json into .git/info/exclude"), "{said}");
    run(&sandbox, "connect claude --shared .").exits(0);
    let (own, shared) = (sandbox.read("repo/.claude/settings.local.json"), sandbox.read("repo/.claude/settings.json"));
    let home = sandbox.path("home").display().to_string();
    assert!(own.contains(&home) && !shared.contains(&home) && shared.contains("exit 0"), "{own}\n{shared}");
    // Where loci is not installed the shared one lets the call through; where it is, it asks.
    let command =
        serde_json::from_str::<Value>(&shared).unwrap()["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap().to_owned();
    let asked = |home: PathBuf| {
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", &command]).env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin");
        Run::of(&mut shell, Some(b"{}")).exits(0)
    };
    assert_eq!(asked(sandbox.path("repo")).stderr, "");
    assert!(asked(sandbox.path("home")).stderr.contains("not checked"));
    run(&sandbox, "disconnect claude --shared .").exits(0);
    run(&sandbox, "disconnect claude --project .").exits(0);
    assert!(!sandbox.path("repo/.claude").exists());
    for harness in ["cline", "codex", "copilot", "gemini", "opencode", "pi", "qwen"] {
        assert!(run(&sandbox, &format!("connect {harness} --project .")).exits(2).stderr.contains("--shared"));
        run(&sandbox, &format!("connect {harness} --shared .")).exits(0);
        // Whoever asks for the user's is told of these.
        let said = run(&sandbox, "connect --check").stderr;
        assert!(said.contains(&format!("loci connect {harness} --check --shared .")), "{said}");
        run(&sandbox, &format!("disconnect {harness} --shared .")).exits(0);
    }
    assert!(run(&sandbox, "connect hermes --shared .").exits(2).stderr.contains("reads no hooks there"));
    assert!(run(&sandbox, "connect claude --shared nowhere").exits(2).stderr.contains("not a directory"));
}

#[test]
fn the_link_stays_while_anything_calls_it_and_is_set_right() {
    let sandbox = world();
    let link = sandbox.path("home/.loci/bin/loci");
    run(&sandbox, "connect claude").exits(0);
    run(&sandbox, "connect gemini").exits(0);
    run(&sandbox, "disconnect claude").exits(0);
    assert!(link.exists());
    // An upgrade took the old program away: the next start of any verb sets it right.
    let program = fs::read_link(&link).unwrap();
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("/gone/loci", &link).unwrap();
    assert_eq!(run(&sandbox, "connect gemini --check --json").exits(0).json()["harnesses"][0]["standing"], "connected");
    assert_eq!(fs::read_link(&link).unwrap(), program);
    // One that leads to another program is a choice, until somebody connects anew.
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("/bin/true", &link).unwrap();
    assert_eq!(run(&sandbox, "connect gemini --check --json").exits(1).json()["harnesses"][0]["standing"], "silent");
    run(&sandbox, "connect gemini").exits(0);
    assert_eq!(fs::read_link(&link).unwrap(), program);
    run(&sandbox, "disconnect gemini").exits(0);
    assert!(fs::symlink_metadata(&link).is_err());
}

#[test]
fn one_broken_file_does_not_hide_the_others() {
    let sandbox = world();
    run(&sandbox, "connect claude").exits(0);
    sandbox.file("home/.gemini/settings.json", "{\n  \"hooks\": 7\n}\n").dir("home/.codex/hooks.json");
    let rows = run(&sandbox, "connect --check --json").exits(1).json()["harnesses"].clone();
    let standings: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["standing"].as_str().unwrap()).collect();
    assert_eq!(
        standings,
        [
            "connected",
            "not-connected",
            "broken",
            "not-connected",
            "broken",
            "not-connected",
            "not-connected",
            "not-connected",
            "not-connected",
        ],
        "{rows}"
    );
    let words = run(&sandbox, "connect --check").exits(1).stdout;
    assert!(words.contains("broken: line 2: ") && words.contains("broken: it is not a file"), "{words}");
}

#[test]
fn a_gate_that_is_gone_or_can_not_judge_is_said() {
    let sandbox = world();
    run(&sandbox, "connect claude").exits(0);
    let kept = sandbox.read(CLAUDE);
    // Somebody has put an older file back.
    sandbox.file(CLAUDE, "{}\n");
    for asked in ["connect --check", "connect claude --check"] {
        let said = run(&sandbox, asked).exits(1).stdout;
        assert!(said.contains("gone: ") && said.contains("run `loci connect claude`"), "{said}");
    }
    assert!(run(&sandbox, "status").exits(1).stdout.contains("loci connect claude"));
    sandbox.file(CLAUDE, &kept).file("home/.loci/config.yaml", "custody: required\nretenton: 5\n");
    let rows = run(&sandbox, "connect claude --check --json").exits(1).json()["harnesses"].clone();
    assert_eq!(rows[0]["standing"], "broken", "{rows}");
    assert!(rows[0]["why"].as_str().unwrap().starts_with("line 2: "), "{rows}");
    std::fs::remove_file(sandbox.path("home/.loci/config.yaml")).unwrap();
    run(&sandbox, "connect claude --check").exits(0);
    run(&sandbox, "disconnect claude").exits(0);
    assert!(run(&sandbox, "connect claude --check").exits(1).stdout.contains("not connected"));
}

#[test]
fn a_check_says_how_it_stands_and_changes_nothing() {
    let sandbox = world();
    let standing = |harness: &str, code: i32| {
        let object = run(&sandbox, &format!("connect {harness} --check --json")).exits(code).json();
        let row = &object["harnesses"][0];
        assert_eq!(row["harness"], harness);
        (row["standing"].as_str().unwrap().to_owned(), row["why"].as_str().unwrap_or_default().to_owned())
    };
    for (harness, file) in ALL {
        assert_eq!(standing(harness, 1).0, "not-connected");
        run(&sandbox, &format!("connect {harness}")).exits(0);
        assert!(sandbox.path(file).exists());
    }
    let before = (sandbox.snapshot("home"), sandbox.snapshot("state"));
    for (harness, _) in ALL.into_iter().filter(|(harness, _)| !["codex", "hermes"].contains(harness)) {
        assert_eq!(standing(harness, 0), ("connected".to_owned(), String::new()));
    }
    for harness in ["codex", "hermes"] {
        let (word, why) = standing(harness, 1);
        assert!(word == "silent" && why.contains("trust"), "{word}: {why}");
    }
    assert_eq!((sandbox.snapshot("home"), sandbox.snapshot("state")), before);
    assert!(run(&sandbox, "connect --check").exits(1).stdout.contains("codex"));

    // Relays of a project are asked about by the way that looks at them.
    run(&sandbox, "connect claude --project .").exits(0);
    let notes = run(&sandbox, "connect --check").stderr;
    assert!(notes.contains("loci connect claude --check --project .") && !notes.contains("claude --check --shared"), "{notes}");
    run(&sandbox, "connect claude --check --project .").exits(0);
    run(&sandbox, "disconnect claude --project .").exits(0);

    // Switched off: by the user's settings, or by the project's.
    sandbox.file("repo/.claude/settings.local.json", "{\"disableAllHooks\": true}");
    let (word, why) = standing("claude", 1);
    assert!(word == "tampered" && why.contains("settings.local.json"), "{word}: {why}");
    // Who connects once more hears it as well.
    for (harness, why) in [("claude", "settings.local.json"), ("codex", "--trust")] {
        let said = run(&sandbox, &format!("connect {harness}")).exits(0).stdout;
        assert!(said.contains("already") && said.contains("asks nobody") && said.contains(why), "{said}");
    }
    sandbox.file("repo/.gemini/settings.json", "{\"hooksConfig\": {\"enabled\": false}}");
    assert_eq!(standing("gemini", 1).0, "tampered");

    // The gate is gone.
    fs::remove_file(sandbox.path("home/.loci/bin/loci")).unwrap();
    let (word, why) = standing("pi", 1);
    assert!(word == "silent" && why.contains("127"), "{word}: {why}");
}

#[test]
fn codex_is_connected_when_its_user_has_said_so_of_every_relay() {
    let sandbox = world();
    run(&sandbox, "connect codex").exits(0);
    let file = sandbox.path("home/.codex/hooks.json");
    let hooks: Value = serde_json::from_str(&sandbox.read("home/.codex/hooks.json")).unwrap();
    let trust = |event: &str, name: &str| {
        let command = &hooks["hooks"][event][0]["hooks"][0]["command"];
        let described =
            format!(r#"{{"event_name":"{name}","hooks":[{{"async":false,"command":{command},"timeout":35,"type":"command"}}]}}"#);
        let hash = loci::text::digest::sha256(described.as_bytes());
        format!("[hooks.state.\"{}:{name}:0:0\"]\ntrusted_hash = \"sha256:{hash}\"\n", file.display())
    };
    let snake = |event: &str| {
        event.chars().enumerate().fold(String::new(), |name, (at, c)| match c.is_ascii_uppercase() && at > 0 {
            true => format!("{name}_{}", c.to_ascii_lowercase()),
            false => format!("{name}{}", c.to_ascii_lowercase()),
        })
    };
    let all: Vec<String> = hooks["hooks"].as_object().unwrap().keys().map(|event| trust(event, &snake(event))).collect();
    let check = |code: i32| {
        let row = run(&sandbox, "connect codex --check --json").exits(code).json()["harnesses"][0].clone();
        (row["standing"].as_str().unwrap().to_owned(), row["why"].as_str().unwrap_or_default().to_owned())
    };
    // The gate alone: the relay after a call is left out, and that is said.
    sandbox.file("home/.codex/config.toml", trust("PreToolUse", "pre_tool_use"));
    let (word, why) = check(1);
    assert!(word == "silent" && why.contains("PostToolUse") && !why.contains("PreToolUse"), "{word}: {why}");
    sandbox.file("home/.codex/config.toml", all.concat().replace("sha256:", "sha256:0"));
    assert_eq!(check(1).0, "silent");
    sandbox.file("home/.codex/config.toml", all.concat());
    assert_eq!(check(0).0, "connected");
}

#[test]
fn trust_is_written_where_somebody_says_so_and_goes_with_the_relays() {
    for (harness, file, text) in [
        ("codex", "home/.codex/config.toml", "model = \"x\" # mine\n"),
        ("hermes", "home/.hermes/shell-hooks-allowlist.json", "{\"approvals\": [{\"event\": \"pre_tool_call\", \"command\": \"mine\"}]}"),
    ] {
        for changed in [false, true] {
            let sandbox = world();
            sandbox.file(file, text);
            let before = sandbox.snapshot("home");
            let said = run(&sandbox, &format!("connect {harness} --trust")).exits(0).stdout;
            assert!(!said.contains("only after you have"), "{said}");
            assert!(sandbox.read(file).contains(text.trim_end_matches([']', '}', '\n', ' ', '"'])) || harness == "hermes");
            assert_eq!(
                run(&sandbox, &format!("connect {harness} --check --json")).exits(0).json()["harnesses"][0]["standing"],
                "connected"
            );
            assert!(run(&sandbox, &format!("connect {harness} --trust")).exits(0).stdout.contains("already"));
            if changed {
                let more = if harness == "codex" { "\n[more]\na = 1\n" } else { "\n" };
                sandbox.file(file, sandbox.read(file) + more);
            }
            run(&sandbox, &format!("disconnect {harness}")).exits(0);
            if changed {
                assert!(!sandbox.read(file).contains("loci") && sandbox.read(file).contains("mine"), "{}", sandbox.read(file));
            } else {
                let mut after = sandbox.snapshot("home");
                after.remove(&PathBuf::from(".loci"));
                assert_eq!(after, before, "{harness}");
            }
        }
    }
    let sandbox = world();
    assert!(run(&sandbox, "connect claude --trust").exits(2).stderr.contains("hint: loci connect claude"));
}

/// As with the settings themselves.
#[test]
fn what_is_trusted_is_written_through_a_link_and_never_into_two_names() {
    for (harness, file, text) in [
        ("codex", "home/.codex/config.toml", "model = \"x\" # mine\n"),
        ("hermes", "home/.hermes/shell-hooks-allowlist.json", "{\"approvals\": []}\n"),
    ] {
        let sandbox = world();
        sandbox.file("home/dots/kept", text).link(file, sandbox.path("home/dots/kept"));
        let before = sandbox.snapshot("home");
        run(&sandbox, &format!("connect {harness} --trust")).exits(0);
        assert!(sandbox.path(file).is_symlink() && sandbox.read("home/dots/kept").len() > text.len(), "{harness}");
        run(&sandbox, &format!("disconnect {harness}")).exits(0);
        let mut after = sandbox.snapshot("home");
        after.remove(&PathBuf::from(".loci"));
        assert_eq!(after, before, "{harness}");

        let sandbox = world();
        sandbox.file(file, text);
        fs::hard_link(sandbox.path(file), sandbox.path("home/second")).unwrap();
        let before = sandbox.snapshot("home");
        let refused = run(&sandbox, &format!("connect {harness} --trust")).exits(2).stderr;
        assert!(refused.contains("hard link") && refused.contains(file.rsplit('/').next().unwrap()), "{refused}");
        fs::remove_file(sandbox.path("home/second")).unwrap();
        fs::set_permissions(sandbox.path(file), fs::Permissions::from_mode(0o444)).unwrap();
        let refused = run(&sandbox, &format!("connect {harness} --trust")).exits(2).stderr;
        assert!(refused.contains("read-only"), "{refused}");
        fs::set_permissions(sandbox.path(file), fs::Permissions::from_mode(0o644)).unwrap();
        fs::hard_link(sandbox.path(file), sandbox.path("home/second")).unwrap();
        let mut after = sandbox.snapshot("home");
        after.remove(&PathBuf::from(".loci"));
        assert_eq!(after, before, "{harness}");
    }
}

#[test]
fn settings_in_yaml_keep_every_byte_and_come_back() {
    for text in [
        "",
        "\u{feff}model: x\n",
        "\u{feff}hooks:\n  pre_tool_call:\n    - command: mine\n",
        "model:\n  default: x # mine\n\n# end\n",
        "hooks: {}\nmodel: x\n",
        "hooks:\n  pre_tool_call:\n  - command: mine # first\n    timeout: 3\n  # about\n  other: []\nlast: |\n  hooks:\n",
        "model: x\r\nhooks:\r\n    pre_tool_call:\r\n        - {command: mine}\r\n",
        "model: x",
    ] {
        let sandbox = world();
        sandbox.file(HERMES, text);
        run(&sandbox, "connect hermes").exits(0);
        let there = sandbox.read(HERMES);
        assert!(there.contains("gate --for hermes") && there.contains("hook after-tool --for hermes"), "{there}");
        assert!(run(&sandbox, "connect hermes").exits(0).stdout.contains("already"));
        // Somebody adds something: ours alone goes.
        sandbox.file(HERMES, format!("{there}theme: dark\n"));
        run(&sandbox, "disconnect hermes").exits(0);
        let left = sandbox.read(HERMES);
        assert!(!left.contains("loci") && left.ends_with("theme: dark\n"), "{left}");
        let shortened = text.replace("hooks: {}", "hooks:");
        assert!(text.lines().all(|line| left.contains(line)) || shortened.lines().all(|line| left.contains(line)), "{text}\n{left}");
        sandbox.file(HERMES, text);
        run(&sandbox, "connect hermes").exits(0);
        run(&sandbox, "disconnect hermes").exits(0);
        assert_eq!(sandbox.read(HERMES), text);
    }
    let sandbox = world();
    sandbox.file(HERMES, "a: 1\nhooks: {pre_tool_call: [{command: x}]}\n");
    let refused = run(&sandbox, "connect hermes").exits(2);
    assert!(refused.stderr.contains("config.yaml:2") && refused.stderr.contains("in brackets"), "{}", refused.stderr);
}

#[test]
fn hooks_of_others_beside_ours_stay() {
    let sandbox = world();
    sandbox.exec("home/.cline/hooks/PreToolUse", "#!/bin/sh\nexit 0\n").file("home/.copilot/hooks/mine.json", "{}");
    let before = sandbox.snapshot("home");
    for harness in ["cline", "copilot"] {
        run(&sandbox, &format!("connect {harness}")).exits(0);
        assert_eq!(run(&sandbox, &format!("connect {harness} --check --json")).exits(0).json()["harnesses"][0]["standing"], "connected");
    }
    // A file that is not ours any more is left.
    sandbox.file("home/.cline/hooks/PostToolUse.sh", "#!/bin/sh\necho mine\n");
    assert!(run(&sandbox, "connect cline").exits(2).stderr.contains("not ours"));
    run(&sandbox, "disconnect cline").exits(0);
    run(&sandbox, "disconnect copilot").exits(0);
    assert_eq!(sandbox.read("home/.cline/hooks/PostToolUse.sh"), "#!/bin/sh\necho mine\n");
    fs::remove_file(sandbox.path("home/.cline/hooks/PostToolUse.sh")).unwrap();
    let mut after = sandbox.snapshot("home");
    after.remove(&PathBuf::from(".loci"));
    assert_eq!(after, before);
}

#[test]
fn another_loci_in_the_settings_is_left_alone_and_named() {
    let sandbox = world();
    let text = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"/x/loci gate --for claude"}]}]}}"#;
    sandbox.file(CLAUDE, text);
    let said = run(&sandbox, "connect claude").exits(0).stdout;
    assert!(said.contains("/x/loci gate --for claude") && said.contains("left alone"), "{said}");
    assert!(sandbox.read(CLAUDE).contains("/x/loci gate --for claude"));
    sandbox.file(CLAUDE, sandbox.read(CLAUDE) + "\n");
    run(&sandbox, "disconnect claude").exits(0);
    assert_eq!(sandbox.read(CLAUDE), format!("{text}\n"));
}

#[test]
fn who_only_watches_is_asked_nothing_and_says_nothing() {
    for (harness, file) in ALL {
        let sandbox = world();
        run(&sandbox, &format!("connect {harness}")).exits(0);
        run(&sandbox, &format!("connect {harness} --observe{}", if ["codex", "hermes"].contains(&harness) { " --trust" } else { "" }))
            .exits(0);
        let path = sandbox.path(file);
        let there = fs::read_to_string(if harness == "cline" { path.with_file_name("PostToolUse.sh") } else { path }).unwrap();
        assert!(!there.contains("gate --for") || ["pi", "opencode"].contains(&harness), "{harness}: {there}");
        assert!(there.contains("after-tool"), "{harness}: {there}");
        assert!(harness != "cline" || !sandbox.path(file).exists());
        assert_eq!(run(&sandbox, &format!("connect {harness} --check --json")).exits(0).json()["harnesses"][0]["standing"], "observed");
        run(&sandbox, &format!("connect {harness}")).exits(0);
        run(&sandbox, &format!("disconnect {harness}")).exits(0);
        let left: Vec<_> = sandbox.snapshot("home").into_keys().filter(|path| !["", ".loci"].contains(&path.to_str().unwrap())).collect();
        assert!(left.is_empty(), "{harness}: {left:?}");
    }
}

#[test]
fn a_relay_that_watches_ends_well_at_once_whatever_it_is_given() {
    let sandbox = world();
    run(&sandbox, "connect claude --observe").exits(0);
    let settings: Value = serde_json::from_str(&sandbox.read(CLAUDE)).unwrap();
    let command = settings["hooks"]["PostToolUse"][0]["hooks"][0]["command"].as_str().unwrap().to_owned();
    let told = |payload: &[u8]| {
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", &command]).env_clear().env("HOME", sandbox.path("home")).env("XDG_STATE_HOME", sandbox.path("state"));
        shell.env("PATH", "/usr/bin:/bin");
        let run = Run::of(&mut shell, Some(payload)).exits(0);
        assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    };
    // A program that never ends keeps nobody waiting.
    fs::remove_file(sandbox.path("home/.loci/bin/loci")).unwrap();
    sandbox.exec("home/.loci/bin/loci", "#!/bin/sh\ncat > \"$HOME/seen\"\nexec sleep 30\n");
    let started = std::time::Instant::now();
    told(b"{\"a\": 1}");
    assert!(started.elapsed() < std::time::Duration::from_secs(10));
    fs::remove_file(sandbox.path("home/.loci/bin/loci")).unwrap();
    told(b"\0 no JSON");
}

#[test]
fn something_else_in_the_place_of_the_shim_is_left_alone() {
    let sandbox = world();
    sandbox.file("home/.pi/agent/extensions/loci.ts", "export default function () {}\n");
    assert!(run(&sandbox, "connect pi").exits(2).stderr.contains("not ours"));
    run(&sandbox, "disconnect pi").exits(0);
    assert_eq!(sandbox.read("home/.pi/agent/extensions/loci.ts"), "export default function () {}\n");
}

#[test]
fn wherever_it_fails_or_is_killed_the_settings_are_whole_and_once_more_does_it() {
    let text = "{\n  \"model\": \"x\"\n}\n";
    for (verb, back) in [("connect", "disconnect"), ("disconnect", "connect")] {
        for fault in ["fail:N:28", "kill:N"] {
            let mut done = false;
            for n in 1..200 {
                let sandbox = world();
                sandbox.file(CLAUDE, text);
                if verb == "disconnect" {
                    run(&sandbox, "connect claude").exits(0);
                }
                let before = sandbox.read(CLAUDE);
                let home = sandbox.snapshot("home");
                let mut command = sandbox.command("repo");
                command.args([verb, "claude"]).env("LOCI_FAULT", fault.replace('N', &n.to_string()));
                let run_out = Run::of(&mut command, None);
                let now = sandbox.read(CLAUDE);
                if run_out.code == Some(0) {
                    done = true;
                    break;
                }
                if run_out.code == Some(2) && verb == "connect" {
                    assert!(sandbox.snapshot("home") == home, "{verb} {fault} {n}: {run_out:?}");
                }
                // The old one or the new one, never half of either.
                let relays = now.matches("gate --for claude").count();
                assert!(now == before || relays == if verb == "connect" { GATES } else { 0 }, "{verb} {fault} {n}: {now}");
                run(&sandbox, &format!("{verb} claude")).exits(0);
                let relays = sandbox.read(CLAUDE).matches("gate --for claude").count();
                assert_eq!(relays, if verb == "connect" { GATES } else { 0 }, "{verb} {fault} {n}");
                run(&sandbox, &format!("{back} claude")).exits(0);
                run(&sandbox, "disconnect claude").exits(0);
                assert_eq!(sandbox.read(CLAUDE), text, "{verb} {fault} {n}");
            }
            assert!(done, "{verb} {fault}: more than 200 steps");
        }
    }
}

/// Settings as they may be: keys in any order, hooks of others, comments, any spacing.
fn settings() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\"model\": \"x\"".to_owned()),
        Just("\"env\": {\"A\": \"}\"}".to_owned()),
        Just("\"list\": [1, // one\n 2]".to_owned()),
        Just("\"hooks\": {\"PreToolUse\": [{\"matcher\": \"*\", \"hooks\": []}], \"Stop\": [ ]}".to_owned()),
        Just("\"hooks\": {\"PreToolUse\": [ /* none */ ]}".to_owned()),
        Just("\"hooks\": { }".to_owned()),
    ];
    let gap = prop_oneof![Just(""), Just(" "), Just("\n"), Just("\r\n\t"), Just(" // c\n"), Just("/* c */")];
    (proptest::collection::vec((gap.clone(), piece), 0..4), gap).prop_map(|(pieces, end)| {
        let body: Vec<String> = pieces.iter().map(|(gap, piece)| format!("{gap}{piece}")).collect();
        format!("{{{}{end}}}", body.join(","))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn connect_and_disconnect_are_the_identity(text in settings(), lost in any::<bool>()) {
        let sandbox = world();
        sandbox.file(QWEN, &text);
        run(&sandbox, "connect qwen").exits(0);
        prop_assert!(sandbox.read(QWEN).matches("gate --for qwen").count() >= 2);
        if lost {
            fs::remove_dir_all(sandbox.path("state")).unwrap();
        }
        run(&sandbox, "disconnect qwen").exits(0);
        let back = sandbox.read(QWEN);
        if lost {
            // Without the receipt nobody knows that a list was there and empty: it says nothing.
            let empty = |text: &str| solid(text).replace("\"PreToolUse\":[]", "").replace("\"hooks\":{}", "");
            prop_assert!(empty(&back).len() <= empty(&text).len() && !back.contains("gate"), "{} → {}", text, back);
        } else {
            prop_assert_eq!(back, text);
        }
    }
}

/// What a shim says to some calls, run by Node with a stand-in for its harness. A call of the tool `after` is
/// one that has happened.
fn shim(node: &Path, sandbox: &Sandbox, harness: &str, calls: &[(&str, Value)]) -> Vec<Value> {
    let driver = "const shim = await import(process.argv[2]);\n\
                  const [calls, cwd] = JSON.parse(process.argv[3]);\n\
                  let ask, tell;\n\
                  if (shim.default) {\n\
                    const on = {}; shim.default({ on: (event, hook) => { on[event] = hook; } });\n\
                    const ctx = { cwd, hasUI: false, sessionManager: { getSessionId: () => 's' } };\n\
                    ask = async (toolName, input) => (await on.tool_call({ toolName, toolCallId: 'c', input }, ctx)) ?? null;\n\
                    tell = async (input) => (await on.tool_result({ toolName: 'write', toolCallId: 'd', input, content: [{ type: 'text', text: 'done' }] }, ctx)) ?? null;\n\
                  } else {\n\
                    const hooks = await shim.Loci({ directory: cwd });\n\
                    await hooks.event({ event: { type: 'session.created', properties: { info: { id: 'child', parentID: 's', agent: 'general' } } } });\n\
                    ask = async (tool, args) => {\n\
                      try { await hooks['tool.execute.before']({ tool, sessionID: 'child', callID: 'c' }, { args }); return null; }\n\
                      catch (error) { return { block: true, reason: error.message }; }\n\
                    };\n\
                    tell = async (args) => {\n\
                      const output = { output: 'done', metadata: {} };\n\
                      await hooks['tool.execute.after']({ tool: 'write', sessionID: 'child', callID: 'd', args }, output);\n\
                      return output.output === 'done' ? null : output;\n\
                    };\n\
                  }\n\
                  for (const [tool, input] of calls) console.log(JSON.stringify(tool === 'after' ? await tell(input) : await ask(tool, input)));\n";
    let file = ALL.iter().find(|(name, _)| *name == harness).unwrap().1;
    sandbox.file("driver.mjs", driver);
    let mut command = std::process::Command::new(node);
    command
        .args(["--experimental-strip-types", "--experimental-detect-module", "--no-warnings"])
        .arg(sandbox.path("driver.mjs"))
        .arg(sandbox.path(file))
        .arg(json!([calls, sandbox.path("repo")]).to_string())
        .env_clear()
        .env("HOME", sandbox.path("home"))
        .env("XDG_STATE_HOME", sandbox.path("state"))
        .env("PATH", std::env::var_os("PATH").unwrap());
    let run = Run::of(&mut command, None).exits(0);
    let said: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(said.len(), calls.len(), "{run:?}");
    said
}

/// A Node that reads TypeScript (22.6 or newer): the one in the path, or the one that the rig of
/// `tests/harness` has installed.
fn node() -> Option<PathBuf> {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let cache = std::env::var_os("LOCI_RIG_CACHE").map_or_else(|| home.join(".cache/loci-rig"), PathBuf::from);
    let installed = fs::read_dir(cache).into_iter().flatten().flatten().map(|entry| entry.path().join("node_modules"));
    let installed =
        installed.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten()).map(|entry| entry.path().join("bin/node"));
    let reads = |node: &PathBuf| {
        let said = std::process::Command::new(node).args(["--experimental-strip-types", "--version"]).output();
        said.is_ok_and(|said| said.status.success())
    };
    std::iter::once(PathBuf::from("node")).chain(installed).find(reads)
}

#[test]
fn a_relay_without_a_gate_is_not_talked_into_letting_a_write_through() {
    for (harness, file) in [("copilot", "home/.copilot/hooks/loci.json"), ("cline", "home/.cline/hooks/PreToolUse.sh")] {
        let sandbox = world();
        run(&sandbox, &format!("connect {harness}")).exits(0);
        let text = sandbox.read(file);
        let script = match serde_json::from_str::<Value>(&text) {
            Ok(file) => file["hooks"]["preToolUse"][0]["bash"].as_str().unwrap().to_owned(),
            Err(_) => text,
        };
        fs::remove_file(sandbox.path("home/.loci/bin/loci")).unwrap();
        sandbox.exec("home/.loci/bin/loci", "#!/bin/sh\nkill -9 $$\n");
        let ask = |tool: &str, input: Value| {
            let payload = if harness == "copilot" {
                json!({ "sessionId": "s", "timestamp": 1, "cwd": "/", "toolName": tool, "toolArgs": input })
            } else {
                json!({ "hookName": "tool_call", "tool_call": { "id": "c", "name": tool, "input": input }, "preToolUse": { "toolName": tool, "parameters": input } })
            };
            let mut command = std::process::Command::new("/bin/sh");
            command.arg("-c").arg(&script).env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", sandbox.path("home"));
            let done = Run::of(&mut command, Some(payload.to_string().as_bytes()));
            done.stdout.contains(if harness == "copilot" { "\"deny\"" } else { "overrideInput" })
        };
        let (writes, reads) = if harness == "copilot" { ("create", "view") } else { ("editor", "read_files") };
        assert!(!ask(reads, json!({ "path": "/x" })), "{harness}");
        for input in [
            json!({ "path": "/x" }),
            json!({ "path": "/x", "toolName": reads }),
            json!({ "path": "/x", "name": reads }),
            json!({ "input": { "name": reads, "toolName": reads }, "x": format!("\"toolName\":\"{reads}\"") }),
        ] {
            assert!(ask(writes, input.clone()), "{harness} {input}");
        }
    }
}

#[test]
fn the_shims_ask_and_fall_closed_for_all_but_reading() {
    let Some(node) = node() else {
        println!("skipped: no Node that reads TypeScript (22.6 or newer)");
        return;
    };
    for (harness, key) in [("pi", "path"), ("opencode", "filePath")] {
        let sandbox = world();
        sandbox
            .file("repo/.loci/agent.md", "---\nid: alice\n---\n")
            .file("repo/owned/.loci/owner.md", "---\nowner: bob\n---\n")
            .link("repo/link", "owned");
        run(&sandbox, &format!("connect {harness}")).exits(0);
        let write = |path: &str| ("write", json!({ key: path, "content": "x" }));
        let bash = |command: &str| ("bash", json!({ "command": command }));
        let read = || ("read", json!({ key: "owned/a" }));
        let patch = || ("apply_patch", json!({ "patchText": "*** Begin Patch\n*** Add File: owned/p\n+x\n*** End Patch" }));
        let shim = |calls: &[(&str, Value)]| shim(&node, &sandbox, harness, calls);
        let said = shim(&[write("owned/new.txt"), patch(), write("notes.txt"), read()]);
        for said in &said[..2] {
            assert!(said["block"] == json!(true) && said["reason"].as_str().unwrap().contains("`bob`"), "{harness}: {said:?}");
        }
        assert_eq!(said[2..], [Value::Null, Value::Null]);

        // What has happened is told, and is in the trail: of the session, with the sub-agent where there is one.
        sandbox.file("repo/notes.txt", "x");
        assert_eq!(shim(&[("after", json!({ key: "notes.txt", "content": "x" }))]), [Value::Null]);
        let trail = sandbox.loci("repo", ["trail", "--json"]).exits(0).stdout;
        assert!(trail.contains("notes.txt") && trail.contains(&format!("\"{harness}\"")), "{trail}");
        assert_eq!(trail.contains("child (general)"), harness == "opencode", "{trail}");

        // The gate is gone, dies, or says something else: open for what reads, closed for the rest.
        fs::remove_file(sandbox.path("home/.loci/bin/loci")).unwrap();
        for gate in [None, Some("#!/bin/sh\nkill -9 $$\n"), Some("#!/bin/sh\nexit 1\n")] {
            if let Some(text) = gate {
                sandbox.exec("home/.loci/bin/loci", text);
            }
            let closed = [
                write("owned/new.txt"),
                write("link/deep/new.txt"),
                bash("echo x > owned/y"),
                bash("cd owned && echo x > y"),
                bash("ls"),
                patch(),
                write("notes.txt"),
            ];
            for said in shim(&closed) {
                assert!(said["block"] == json!(true) && said["reason"].as_str().unwrap().contains("did not answer"), "{harness}: {said}");
            }
            let open = [read(), ("grep", json!({ "pattern": "x" })), ("after", json!({ key: "notes.txt" }))];
            assert_eq!(shim(&open), [Value::Null, Value::Null, Value::Null]);
        }

        // What loci says after a call reaches the model with the result.
        sandbox.exec("home/.loci/bin/loci", "#!/bin/sh\ncat > /dev/null\necho '{\"context\": \"Read this.\"}'\n");
        let said = shim(&[("after", json!({ key: "notes.txt" }))])[0].to_string();
        assert!(said.contains("Read this.") && said.contains("done"), "{harness}: {said}");
    }
}
