//! What is somebody's own beside the relays, or in them: it stays, or is said.

use serde_json::{Value, json};

use super::{CLAUDE, HERMES, QWEN, run, world};

#[test]
fn what_somebody_wrote_into_an_entry_of_ours_is_left_to_them() {
    let sandbox = world();
    run(&sandbox, "connect claude").exits(0);
    let there = sandbox.read(CLAUDE);
    let with = |change: &dyn Fn(&mut Value)| {
        let mut now: Value = serde_json::from_str(&there).unwrap();
        change(&mut now["hooks"]["PreToolUse"][0]);
        serde_json::to_string_pretty(&now).unwrap()
    };
    let line = |text: &str, word: &str| text.lines().position(|line| line.contains(word)).unwrap() + 1;
    for (text, word) in [
        (with(&|group| group["description"] = json!("asks loci")), "description"),
        (with(&|group| group["hooks"][0]["statusMessage"] = json!("who owns it?")), "statusMessage"),
    ] {
        sandbox.file(CLAUDE, &text);
        for verb in ["connect", "disconnect"] {
            let said = run(&sandbox, &format!("{verb} claude")).exits(2).stderr;
            assert!(said.contains(&format!("`{word}` in the relay at `hooks.PreToolUse`")), "{said}");
            assert!(said.contains(&format!("settings.json:{}", line(&text, word))), "{said}");
            assert_eq!(sandbox.read(CLAUDE), text);
        }
    }
    // Another time for it is a change of ours, not something of theirs.
    sandbox.file(CLAUDE, with(&|group| group["hooks"][0]["timeout"] = json!(7)));
    run(&sandbox, "disconnect claude").exits(0);

    run(&sandbox, "connect qwen").exits(0);
    let there = sandbox.read(QWEN);
    let (before, after) = there.split_once("\"command\"").unwrap();
    let text = format!("{before}// mine\n\"command\"{after}");
    sandbox.file(QWEN, &text);
    let said = run(&sandbox, "disconnect qwen").exits(2).stderr;
    assert!(said.contains("a comment in the relay at") && said.contains(&format!("settings.json:{}", line(&text, "// mine"))), "{said}");
    // Beside the entries it stays.
    sandbox.file(QWEN, there.replacen("\"hooks\"", "// mine\n\"hooks\"", 1));
    run(&sandbox, "disconnect qwen").exits(0);
    assert!(!sandbox.read(QWEN).contains("loci") && sandbox.read(QWEN).contains("// mine"), "{}", sandbox.read(QWEN));
    std::fs::remove_file(sandbox.path(QWEN)).unwrap();
    run(&sandbox, "connect qwen").exits(0);
    sandbox.file(QWEN, format!("// mine\n{there}"));
    run(&sandbox, "disconnect qwen").exits(0);
    assert!(!sandbox.read(QWEN).contains("loci") && sandbox.read(QWEN).contains("// mine"));

    run(&sandbox, "connect hermes").exits(0);
    let there = sandbox.read(HERMES);
    for own in ["      # mine\n", "      note: mine\n"] {
        let at = there.find("      timeout:").unwrap();
        let text = format!("{}{own}{}", &there[..at], &there[at..]);
        sandbox.file(HERMES, &text);
        let said = run(&sandbox, "disconnect hermes").exits(2).stderr;
        assert!(said.contains("relay") && said.contains(&format!("config.yaml:{}", line(&text, "mine"))), "{said}");
    }
    sandbox.file(HERMES, there);
    run(&sandbox, "disconnect hermes").exits(0);
}

#[test]
fn a_folder_that_was_made_goes_with_the_last_of_its_files() {
    for [first, second] in [["--shared", "--project"], ["--project", "--shared"]] {
        for [one, other] in [[first, second], [second, first]] {
            let sandbox = world();
            run(&sandbox, &format!("connect claude {first} .")).exits(0);
            run(&sandbox, &format!("connect claude {second} .")).exits(0);
            run(&sandbox, &format!("disconnect claude {one} .")).exits(0);
            assert!(sandbox.path("repo/.claude").is_dir());
            run(&sandbox, &format!("disconnect claude {other} .")).exits(0);
            assert!(!sandbox.path("repo/.claude").exists(), "{first} {second}, {one} {other}");
            // One that was there before stays.
            sandbox.dir("repo/.claude");
            run(&sandbox, &format!("connect claude {first} .")).exits(0);
            run(&sandbox, &format!("disconnect claude {first} .")).exits(0);
            assert!(sandbox.path("repo/.claude").is_dir());
        }
    }
}

#[test]
fn every_file_that_changes_is_named() {
    let sandbox = world();
    let config = "home/.codex/config.toml";
    sandbox.file(config, "model = \"x\"\n");
    run(&sandbox, "connect codex --trust").exits(0);
    let dry = run(&sandbox, "disconnect codex --dry-run").exits(0).stdout;
    assert!(dry.contains("config.toml") && dry.contains("-[hooks.state"), "{dry}");
    let said = run(&sandbox, "disconnect codex").exits(0).stdout;
    assert!(said.contains("hooks.json, ") && said.contains("config.toml)"), "{said}");
    assert_eq!(sandbox.read(config), "model = \"x\"\n");
}

#[test]
fn a_comment_in_a_list_of_ours_stays_where_no_receipt_is_left() {
    for text in ["{\"hooks\": {\"PreToolUse\": [ /* none */ ]}}", "{\"hooks\": {\"PreToolUse\": [ /* none */ ]}, // c\n\"model\": \"x\"}"] {
        let sandbox = world();
        sandbox.file(QWEN, text);
        run(&sandbox, "connect qwen").exits(0);
        std::fs::remove_dir_all(sandbox.path("state")).unwrap();
        run(&sandbox, "disconnect qwen").exits(0);
        assert_eq!(super::solid(&sandbox.read(QWEN)), super::solid(text));
    }
}
