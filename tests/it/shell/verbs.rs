//! `loci check --shell`, `--stdin`, and the gate on shell tools.

use std::fs;

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox};

/// Alice's body, and a directory in it that bob owns.
fn world() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .file("repo/.loci/agent.md", "---\nid: alice\n---\n")
        .file("repo/free/x.txt", "x\n")
        .file("repo/owned/.loci/owner.md", "---\nowner: bob\n---\n")
        .file("repo/owned/.loci/agent.md", "---\nid: bob\n---\n")
        .file("repo/owned/a.txt", "alpha\n");
    sandbox
}

fn stdin(sandbox: &Sandbox, args: &[&str], lines: &str) -> (Run, Vec<Value>) {
    let mut command = sandbox.command("repo");
    command.args(["check", "--stdin"]).args(args).env("OUT", "owned/a.txt");
    let run = Run::of(&mut command, Some(lines.as_bytes()));
    let answers = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (run, answers)
}

#[test]
fn one_command_is_told_act_by_act() {
    let world = world();
    let run = world.loci("repo", ["check", "--shell", "cd owned && sed -i s/a/b/ a.txt; echo y > ../free/x.txt", "--json"]).exits(1);
    let said = run.json();
    assert_eq!((said["schema"].as_i64(), said["verdict"].as_str()), (Some(1), Some("refuse")));
    let of = |path: &str| {
        let path = world.path(path);
        said["acts"].as_array().unwrap().iter().find(|act| act["path"] == path.to_str().unwrap()).unwrap().clone()
    };
    let act = of("repo/owned/a.txt");
    let file = world.path("repo/owned/.loci/owner.md");
    assert_eq!((&act["owner"], &act["verdict"], &act["by"]), (&json!("bob"), &json!("refuse"), &json!("sed")));
    assert_eq!(act["decided_by"], json!(file.to_str().unwrap()));
    assert_eq!(of("repo/free/x.txt")["verdict"], json!("allow"));
    let words = world.loci("repo", ["check", "--shell", "sed -i s/a/b/ owned/a.txt"]).exits(1).stdout;
    assert!(words.contains("owned/a.txt") && words.contains("by sed") && words.contains("owner.md:2"), "{words}");
}

#[test]
fn what_writes_nothing_and_what_can_not_be_known_passes() {
    let world = world();
    assert_eq!(world.loci("repo", ["check", "--shell", "cat owned/a.txt"]).exits(0).stdout, "allow  writes nothing\n");
    let said = world.loci("repo", ["check", "--shell", "./unheard-of owned/a.txt", "--json"]).exits(0).json();
    assert_eq!(said["verdict"], json!("unknown"));
    assert_eq!(said["acts"][0]["why"], json!("cannot-know"));
    assert!(said["acts"][0]["by"].is_string(), "{said}");
    world.loci("repo", ["check", "--as", "bob", "--shell", "echo x > owned/a.txt"]).exits(0);
    world.loci("repo", ["check"]).exits(2);
    world.loci("repo", ["check", "x", "--shell", "y"]).exits(2);
}

#[test]
fn many_commands_are_answered_in_order() {
    let world = world();
    let absolute = world.path("repo/owned");
    let lines = [
        json!({ "id": 1, "cwd": ".", "command": "echo x > owned/a.txt" }).to_string(),
        json!({ "id": "two", "command": "cat owned/a.txt" }).to_string(),
        "{\"id\": 3".to_owned(),
        json!({ "id": 4, "cwd": "free" }).to_string(),
        json!({ "id": 5, "cwd": absolute, "command": "echo x > b.txt" }).to_string(),
        json!({ "id": 6, "command": "echo x > $OUT" }).to_string(),
        json!({ "id": 7, "command": "echo x > $OUT", "env": { "OUT": "free/y" } }).to_string(),
        json!({ "id": 8, "cwd": "free", "command": "echo x > ../owned/b.txt" }).to_string(),
        json!({ "id": 9, "command": "true", "env": { "OUT": 1 } }).to_string(),
    ]
    .join("\n");
    let (run, answers) = stdin(&world, &[], &lines);
    run.exits(2);
    let short: Vec<(Value, Value)> = answers
        .iter()
        .map(|answer| (answer["id"].clone(), if answer["error"].is_null() { answer["verdict"].clone() } else { json!("error") }))
        .collect();
    let wanted = [
        (json!(1), "refuse"),
        (json!("two"), "allow"),
        (Value::Null, "error"),
        (json!(4), "error"),
        (json!(5), "refuse"),
        (json!(6), "refuse"),
        (json!(7), "allow"),
        (json!(8), "refuse"),
        (json!(9), "error"),
    ];
    assert_eq!(short, wanted.map(|(id, verdict)| (id, json!(verdict))));
    let (run, _) = stdin(&world, &[], lines.lines().next().unwrap());
    run.exits(1);
    let (run, _) = stdin(&world, &["--as", "bob"], lines.lines().next().unwrap());
    run.exits(0);
}

#[test]
fn thousands_of_commands_take_one_process() {
    let world = world();
    let lines: String =
        (0..3_000).map(|id| format!("{}\n", json!({ "id": id, "command": format!("echo {id} > owned/{id}.txt") }))).collect();
    let (run, answers) = stdin(&world, &[], &lines);
    run.exits(1);
    assert_eq!(answers.len(), 3_000);
    assert!(answers.iter().enumerate().all(|(id, answer)| answer["id"] == id && answer["verdict"] == "refuse"));
}

fn gate(world: &Sandbox, tool: &str, input: &Value) -> Run {
    let payload = json!({
        "session_id": "s-1", "cwd": world.path("repo"), "hook_event_name": "PreToolUse",
        "tool_name": tool, "tool_input": input, "tool_use_id": "t-1",
    });
    let mut command = world.command("repo");
    Run::of(command.args(["gate", "--for", "claude"]), Some(payload.to_string().as_bytes()))
}

#[test]
fn the_gate_reads_commands_and_hands_them_over_masked() {
    let world = world();
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    gate(&world, "Bash", &json!({ "command": format!("echo {secret} > owned/new.txt") })).exits(2);
    let folder = world.path("repo/owned/.loci/memory/inbox/new");
    let mail: Vec<String> = fs::read_dir(folder).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    assert_eq!(mail.len(), 1);
    assert!(mail[0].contains("change: \"command\"") && mail[0].contains("owned/new.txt") && !mail[0].contains(secret), "{}", mail[0]);
    for input in [
        json!({ "command": ["bash", "-lc", "rm owned/a.txt"] }),
        json!({ "command": ["rm", "owned/a.txt"] }),
        json!({ "command": "rm a.txt", "workdir": "owned" }),
        json!({ "command": "cd owned && apply_patch <<'EOP'\n*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\nEOP" }),
        json!({ "command": "apply_patch <<'EOP'\n*** Begin Patch\n*** Delete File: owned/a.txt\n*** End Patch\nEOP" }),
    ] {
        gate(&world, "Bash", &input).exits(2);
    }
    gate(&world, "Monitor", &json!({ "command": "tail -f x > owned/log" })).exits(2);
    gate(&world, "execute_code", &json!({ "code": "open('owned/a.txt', 'w').write('x')" })).exits(2);
    for command in ["cat owned/a.txt", "echo x > free/x.txt", "grep -r alpha owned | sort", "make all"] {
        let run = gate(&world, "Bash", &json!({ "command": command })).exits(0);
        assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""), "{command}");
    }
}

#[test]
fn settings_do_not_come_in_under_a_name_that_was_taken_away_before() {
    let world = world();
    world.file("repo/.claude/commands/x.md", "x\n").file("repo/spare/settings.json", "{}\n").file("repo/free/settings.txt", "{}\n");
    for line in [
        "mv .claude old; mv spare .claude",
        "mv .claude old && mv -T spare .claude",
        "rm -r .claude; ln -s spare .claude",
        "mkdir c2; printf '{}' > c2/settings.json; mv .claude old; mv c2 .claude",
    ] {
        let said = world.loci("repo", ["check", "--shell", line, "--json"]).json();
        assert_eq!(said["verdict"], json!("refuse"), "{line}: {said}");
    }
    world.loci("repo", ["check", "--shell", "mkdir c2; mv c2 .cache; mv free/settings.txt .hidden"]).exits(0);
}
