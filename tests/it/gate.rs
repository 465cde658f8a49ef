//! The gate as a harness meets it: a payload on standard input, an answer in its language.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox};

/// Alice's body, a directory in it that bob owns, and a link to that.
fn world() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .file("repo/.loci/agent.md", "---\nid: alice\n---\n")
        .file("repo/notes.txt", "first\n")
        .file("repo/owned/.loci/owner.md", "---\nowner: bob\n---\nAsk bob.\n")
        .file("repo/owned/.loci/agent.md", "---\nid: bob\n---\n")
        .file("repo/owned/a.txt", "alpha\nbeta\n")
        .link("repo/link", "owned");
    sandbox
}

fn payload(sandbox: &Sandbox, tool: &str, input: &Value) -> Value {
    json!({
        "session_id": "s-1", "cwd": sandbox.path("repo"), "hook_event_name": "PreToolUse",
        "tool_name": tool, "tool_input": input, "tool_use_id": "t-1",
    })
}

fn write(sandbox: &Sandbox, path: impl AsRef<Path>) -> Value {
    payload(sandbox, "Write", &json!({ "file_path": path.as_ref(), "content": "new\n" }))
}

fn gate(sandbox: &Sandbox, payload: impl AsRef<[u8]>) -> Run {
    asked(sandbox, payload, |_| {})
}

fn asked(sandbox: &Sandbox, payload: impl AsRef<[u8]>, change: impl FnOnce(&mut std::process::Command)) -> Run {
    let mut command = sandbox.command("repo");
    command.args(["gate", "--for", "claude"]);
    change(&mut command);
    Run::of(&mut command, Some(payload.as_ref()))
}

/// Asserts a refusal in every spelling, and gives its text.
#[track_caller]
fn refused(run: Run) -> String {
    let run = run.exits(2);
    let said = run.json();
    assert_eq!(said["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!((said["decision"].as_str(), said["permissionDecision"].as_str()), (Some("block"), Some("deny")));
    let text = said["reason"].as_str().unwrap().to_owned();
    assert_eq!(run.stderr.trim_end(), text);
    assert!(!text.is_empty());
    text
}

/// Asserts a pass without a word.
#[track_caller]
fn passed(run: Run) {
    let run = run.exits(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
}

/// Asserts a pass with a line that a user sees, and gives the line.
#[track_caller]
fn noted(run: Run) -> String {
    let run = run.exits(0);
    let line = run.json()["systemMessage"].as_str().unwrap().to_owned();
    assert_eq!(run.stderr.trim_end(), line);
    line
}

fn mail(sandbox: &Sandbox, place: &str) -> Vec<String> {
    let folder = sandbox.path(place).join(".loci/memory/inbox/new");
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect()
}

#[test]
fn a_write_into_somebodys_directory_is_refused_and_handed_over() {
    let sandbox = world();
    let text = refused(gate(&sandbox, write(&sandbox, sandbox.path("repo/owned/new.txt")).to_string()));
    assert!(text.contains("`bob`") && text.contains("owned") && text.contains("owner.md"), "{text}");
    let letters = mail(&sandbox, "repo/owned");
    assert_eq!(letters.len(), 1);
    for part in ["from: \"alice\"", "to: \"bob\"", "tool: \"Write\"", "session: \"s-1\"", "harness: \"claude\"", "+new"] {
        assert!(letters[0].contains(part), "{part}: {}", letters[0]);
    }
    let id = letters[0].lines().find_map(|line| line.strip_prefix("id: ")).unwrap().trim_matches('"');
    assert!(text.contains(id), "{id}: {text}");
    assert!(!sandbox.path("repo/owned/new.txt").exists());
}

#[test]
fn edits_patches_and_notebooks_are_refused_too() {
    let sandbox = world();
    let owned = sandbox.path("repo/owned/a.txt");
    for (tool, input) in [
        ("Edit", json!({ "file_path": owned, "old_string": "beta", "new_string": "BETA" })),
        ("NotebookEdit", json!({ "notebook_path": sandbox.path("repo/owned/n.ipynb"), "new_source": "1", "cell_id": "c" })),
        ("apply_patch", json!({ "command": "*** Begin Patch\n*** Update File: owned/a.txt\n@@\n-beta\n+BETA\n*** End Patch" })),
        ("mcp__files__write_file", json!({ "path": "owned/x", "content": "x" })),
    ] {
        refused(gate(&sandbox, payload(&sandbox, tool, &input).to_string()));
    }
    assert_eq!(sandbox.read("repo/owned/a.txt"), "alpha\nbeta\n");
}

#[test]
fn what_is_ones_own_and_what_only_reads_passes_without_a_word() {
    let sandbox = world();
    for call in [
        write(&sandbox, sandbox.path("repo/notes.txt")),
        write(&sandbox, sandbox.path("outside.txt")),
        payload(&sandbox, "Read", &json!({ "file_path": sandbox.path("repo/owned/a.txt") })),
        payload(&sandbox, "Grep", &json!({ "pattern": "alpha", "path": sandbox.path("repo/owned") })),
        payload(&sandbox, "Bash", &json!({ "command": "cat owned/a.txt" })),
        payload(&sandbox, "TodoWrite", &json!({ "todos": [] })),
        payload(&sandbox, "WebFetch", &json!({ "url": "https://example.invalid/owned/a.txt" })),
    ] {
        passed(gate(&sandbox, call.to_string()));
    }
    assert!(mail(&sandbox, "repo/owned").is_empty());
}

#[test]
fn links_dots_and_the_directory_of_the_payload_are_followed() {
    let sandbox = world();
    for path in ["link/new.txt", "notes/../owned/new.txt", "./owned/deep/er/new.txt"] {
        refused(gate(&sandbox, write(&sandbox, path).to_string()));
    }
    // The process stands in `repo`; the agent says that it stands elsewhere.
    let mut call = write(&sandbox, "new.txt");
    call["cwd"] = json!(sandbox.path("repo/owned"));
    refused(gate(&sandbox, call.to_string()));
    call["cwd"] = json!(sandbox.path("repo"));
    passed(gate(&sandbox, call.to_string()));
}

#[test]
fn a_sub_agent_acts_as_its_session() {
    let sandbox = world();
    let mut call = write(&sandbox, sandbox.path("repo/owned/new.txt"));
    call["agent_id"] = json!("a7");
    call["agent_type"] = json!("bob");
    refused(gate(&sandbox, call.to_string()));
    let letter = &mail(&sandbox, "repo/owned")[0];
    assert!(letter.contains("from: \"alice\"") && letter.contains("sub_agent: \"a7 (bob)\""), "{letter}");
}

#[test]
fn nobody_owns_nothing() {
    let sandbox = world();
    fs::remove_file(sandbox.path("repo/.loci/agent.md")).unwrap();
    refused(gate(&sandbox, write(&sandbox, "owned/new.txt").to_string()));
    passed(gate(&sandbox, write(&sandbox, "notes.txt").to_string()));
}

#[test]
fn a_broken_owner_file_closes_and_names_its_line() {
    let sandbox = world();
    sandbox.file("repo/owned/.loci/owner.md", "---\nowner: [bob\n---\n");
    let text = refused(gate(&sandbox, write(&sandbox, "owned/new.txt").to_string()));
    assert!(text.contains("owner.md:"), "{text}");
    passed(gate(&sandbox, payload(&sandbox, "Read", &json!({ "file_path": "owned/a.txt" })).to_string()));
}

#[test]
fn the_settings_of_this_machine_count_and_close_where_they_are_broken() {
    let sandbox = world();
    let save = payload(&sandbox, "zap_thing", &json!({ "path": "owned/x" })).to_string();
    passed(gate(&sandbox, &save));
    sandbox.file("home/.loci/config.yaml", "write_tools: [zap]\nwall: ['**/walled/**']\n");
    refused(gate(&sandbox, &save));
    refused(gate(&sandbox, write(&sandbox, "walled/x").to_string()));
    sandbox.file("home/.loci/config.yaml", "wall: ['**/walled/**']\nwal: 7\n");
    let text = refused(gate(&sandbox, write(&sandbox, "notes.txt").to_string()));
    assert!(text.contains("config.yaml:2") && text.contains("`wal`"), "{text}");
    let read = payload(&sandbox, "Read", &json!({ "file_path": "notes.txt" }));
    assert!(noted(gate(&sandbox, read.to_string())).contains("config.yaml:2"));
}

#[test]
fn what_switches_the_gate_off_is_behind_the_wall() {
    let sandbox = world();
    for path in [".claude/settings.local.json", ".claude/settings.json", "owned/.loci/owner.md", ".loci/agent.md"] {
        refused(gate(&sandbox, write(&sandbox, path).to_string()));
    }
}

#[test]
fn an_unreadable_payload_opens_and_says_so() {
    let sandbox = world();
    let half = &write(&sandbox, "owned/new.txt").to_string()[..40];
    for (payload, why) in [
        ("", "is not one JSON object"),
        (half, "is not one JSON object"),
        ("\0\u{1}\u{fffd}", "is not one JSON object"),
        ("{}", "has no tool name"),
        (r#"{"tool_name":"Read","cwd":"/"}"#, "has no tool input"),
        (r#"{"tool_name":"Write","cwd":"/","tool_input":{}}"#, "names no path"),
        (r#"{"hook_event_name":"PostToolUse","tool_name":"Write","tool_input":{}}"#, "is about the event"),
    ] {
        let line = noted(gate(&sandbox, payload));
        assert!(line.starts_with("loci: custody was not checked for this call: ") && line.contains(why), "{payload}: {line}");
    }
    // Several harnesses show that to nobody: it is kept.
    let status = sandbox.loci("repo", ["hooks", "status", "--json"]).exits(0).json();
    let kept: Vec<String> = status["failures"].as_array().unwrap().iter().map(|one| one["why"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kept.len(), 7, "{kept:?}");
    assert!(kept.iter().all(|why| why.starts_with("custody was not checked: ")), "{kept:?}");
}

#[test]
fn what_surely_writes_does_not_pass_unread() {
    let sandbox = world();
    let owned = sandbox.path("repo/owned/new.txt");
    let call = |input: &str| format!(r#"{{"tool_name":"Write","cwd":"/","tool_input":{input}}}"#);
    let input = json!({ "file_path": owned }).to_string();
    let open = input.trim_end_matches('}');
    for payload in [
        call(&format!(r#"{open},"content":"x \ud83d y"}}"#)),
        call(&format!(r#"{open},"x":{}{}}}"#, "[".repeat(500), "]".repeat(500))),
        call(&json!(input).to_string()),
        call(&json!({ "file_path": { "path": "x", "y": owned } }).to_string().replace("\"path\"", "\"p\"")),
        call(r#"{"file_path":7}"#),
        r#"{"tool_name":"Write","cwd":"/"}"#.to_owned(),
        r#"{"tool_name":"Write","cwd":"/","tool_input":{"#.to_owned(),
        format!(r#"{{"tool_input":{{"content":"{}"}},"tool_name":"Write"}}"#, "x".repeat(17 << 20)),
    ] {
        refused(gate(&sandbox, &payload));
    }
}

#[test]
fn every_reading_of_a_path_is_judged() {
    let sandbox = world();
    sandbox.file("elsewhere/x", "").link("repo/lnk", "../elsewhere");
    let up = format!("{}owned/new.txt", "x/../".repeat(4_200));
    for path in [
        "lnk/../owned/new.txt",
        up.as_str(),
        "file://../owned/x",
        "~/../owned/x",
        "@owned/x",
        " owned/x",
        "/proc/self/cwd/owned/x",
        "/dev/fd/3/x",
        "/dev/fd/3",
        "/dev/stdout",
        "/proc/self/fd/3",
    ] {
        refused(gate(&sandbox, write(&sandbox, path).to_string()));
    }
    // Both readings are one path: one letter, with its diff.
    refused(gate(&sandbox, write(&sandbox, "owned/sub/../once.txt").to_string()));
    assert_eq!(mail(&sandbox, "repo/owned").iter().filter(|letter| letter.contains("once.txt") && letter.contains("+new")).count(), 1);
    let mut call =
        payload(&sandbox, "write_file", &json!({ "file_path": "owned/a.txt", "content": "x", "command": "view", "cwd": "/tmp" }));
    refused(gate(&sandbox, call.to_string()));
    call["tool_input"]["file_path"] = json!("notes.txt");
    passed(gate(&sandbox, call.to_string()));
    let owned = sandbox.path("repo/owned").to_str().unwrap().to_owned();
    for path in [
        format!("file://localhost{owned}/x"),
        format!("@file://localhost{owned}/x"),
        format!("FILE://{owned}/x"),
        format!("file://{}\t{}/x", &owned[..5], &owned[5..]),
        format!("file://{owned}/x#/../../notes.txt"),
        format!("file://{owned}/x?/../../notes.txt"),
        format!("file://{}\\owned\\x", sandbox.path("repo").display()),
        format!("file://{owned}%2Fx"),
        format!("{}/ow\\ned/x", sandbox.path("repo").display()),
        format!("~root/../{owned}/x"),
        format!("~nobody/../../../..{owned}/x"),
    ] {
        refused(gate(&sandbox, write(&sandbox, &path).to_string()));
    }
    for path in ["lnk/../free.txt", "@types/x", "a/../notes.txt", "~/x", "file:///tmp/x", "/dev/null"] {
        passed(gate(&sandbox, write(&sandbox, path).to_string()));
    }
}

/// One call of another harness than Claude Code, as it is told.
fn told(sandbox: &Sandbox, harness: &str, tool: &str, input: &Value) -> Run {
    let mut call = payload(sandbox, tool, input);
    call["hook_event_name"] = match harness {
        "gemini" => json!("BeforeTool"),
        "hermes" => json!("pre_tool_call"),
        "pi" => json!("tool_call"),
        _ => json!("PreToolUse"),
    };
    if harness == "cline" {
        call = json!({ "hookName": "tool_call", "taskId": "s-1", "workspaceRoots": [sandbox.path("repo")], "tool_call": { "id": "c", "name": tool, "input": input } });
    }
    let mut command = sandbox.command("repo");
    command.args(["gate", "--for", harness]);
    Run::of(&mut command, Some(call.to_string().as_bytes()))
}

#[test]
fn a_command_is_judged_as_the_harness_runs_it() {
    let sandbox = world();
    let owned = sandbox.path("repo/owned").to_str().unwrap().to_owned();
    let file = format!("{owned}/a.txt");
    let argv = json!({ "command": "tee", "args": [&file] });
    for (harness, tool, input) in [
        ("claude", "Bash", json!({ "command": format!("[\"'$(echo x > {file})'\"]") })),
        ("qwen", "run_shell_command", json!({ "command": "echo x > a.txt", "directory": &owned })),
        ("qwen", "monitor", json!({ "command": "echo x > a.txt", "directory": &owned })),
        ("qwen", "tool_call", json!({ "name": "write_file", "arguments": { "file_path": &file, "content": "x" } })),
        ("gemini", "run_shell_command", json!({ "command": "echo x > a.txt", "dir_path": &owned })),
        ("gemini", "run_shell_command", json!({ "command": "echo x > a.txt", "directory": &owned })),
        ("hermes", "terminal", json!({ "command": "echo x > a.txt", "workdir": &owned })),
        ("hermes", "terminal", json!({ "command": "echo x > a.txt", "workdir": format!("~root/..{owned}") })),
        (
            "hermes",
            "patch",
            json!({ "mode": "patch", "patch": "*** Begin Patch\n*** Add File: ok.txt\n+x\n***Delete File: owned/a.txt\n*** End Patch" }),
        ),
        ("hermes", "patch", json!({ "mode": "patch", "patch": "***\tUpdate  File : owned/a.txt\n@@\n-alpha\n+x\n" })),
        ("hermes", "process", json!({ "action": "submit", "session_id": "1", "data": format!("rm {file}") })),
        ("cline", "run_commands", json!({ "commands": [&argv] })),
        ("cline", "run_commands", json!({ "commands": [{ "command": "bash", "args": ["-c", format!("echo x > {file}")] }] })),
        ("cline", "run_commands", json!({ "commands": &argv })),
        ("cline", "run_commands", json!([&argv])),
        ("cline", "run_commands", argv.clone()),
        ("cline", "run_commands", json!([format!("echo x > {file}")])),
        ("cline", "run_commands", json!(format!("echo x > {file}"))),
        ("cline", "run_commands", json!(format!("{{\"a\":\"$(echo x > {file})\"}}"))),
        ("claude", "mcp__fs__move_file", json!({ "path": "notes.txt", "to": format!("{owned}/new") })),
        ("claude", "mcp__fs__move_file", json!({ "oldPath": "notes.txt", "new_location": format!("{owned}/new") })),
        ("claude", "mcp__fs__copy_file", json!({ "source": "notes.txt", "dst": format!("{owned}/new") })),
        ("claude", "mcp__shell__shell_execute", json!({ "command": ["tee", &file], "directory": "/" })),
        ("claude", "mcp__shell__run_command", json!({ "command": "echo x > a.txt", "path": &owned })),
    ] {
        let run = told(&sandbox, harness, tool, &input);
        let said = run.stdout.clone() + &run.stderr;
        assert!(
            said.contains("`bob`") && run.stdout.contains(if harness == "cline" { "overrideInput" } else { "deny" }),
            "{harness} {tool} {input}: {said}"
        );
    }
    for (harness, tool, input) in [
        ("claude", "Bash", json!({ "command": "[ -e notes.txt ] && cat notes.txt > more.txt" })),
        ("qwen", "run_shell_command", json!({ "command": "echo x > a.txt", "directory": sandbox.path("repo") })),
        ("cline", "run_commands", json!({ "commands": [{ "command": "tee", "args": ["notes.txt"] }] })),
        ("claude", "mcp__fs__copy_file", json!({ "source": &file, "destination": "copy.txt" })),
    ] {
        let run = told(&sandbox, harness, tool, &input).exits(0);
        assert!(!(run.stdout + &run.stderr).contains("bob"), "{harness} {tool} {input}");
    }
    // What the harness is known to obey is the directory that counts.
    let mut call = payload(&sandbox, "run_shell_command", &json!({ "command": "echo x > b.txt", "dir_path": sandbox.path("repo") }));
    call["hook_event_name"] = json!("BeforeTool");
    call["cwd"] = json!(&owned);
    let mut command = sandbox.command("repo");
    command.args(["gate", "--for", "gemini"]).env("LOCI_AGENT", "alice");
    assert_eq!(Run::of(&mut command, Some(call.to_string().as_bytes())).exits(0).stdout, "");
}

#[test]
fn a_large_call_that_writes_is_refused_or_judged_and_never_passes() {
    let sandbox = world();
    let cline = |text: &str| json!({ "hookName": "tool_call", "taskId": "s", "workspaceRoots": ["/"], "tool_call": { "id": "c", "name": "editor", "input": { "path": sandbox.path("repo/owned/a.txt"), "new_text": text } } });
    for text in ["x".repeat(15_000_000), "\n".repeat(7_000_000)] {
        let call = payload(&sandbox, "Write", &json!({ "file_path": sandbox.path("repo/owned/a.txt"), "content": text }));
        refused(gate(&sandbox, call.to_string()));
        let mut command = sandbox.command("repo");
        command.args(["gate", "--for", "cline"]);
        let run = Run::of(&mut command, Some(cline(&text).to_string().as_bytes()));
        assert!(run.stdout.contains("overrideInput"), "{}", run.stderr);
    }
    assert_eq!(sandbox.read("repo/owned/a.txt"), "alpha\nbeta\n");
}

#[test]
fn settings_behind_a_link_are_walled_by_every_name() {
    let sandbox = world();
    sandbox.file("repo/dots/settings.json", "{}").file("repo/src/x", "").link("repo/.claude", "dots").link("repo/cl2", ".claude");
    for path in [".claude/settings.json", "src/../.claude/settings.json", "cl2/settings.json"] {
        refused(gate(&sandbox, write(&sandbox, path).to_string()));
    }
    refused(gate(
        &sandbox,
        payload(&sandbox, "mcp__fs__copy_directory", &json!({ "source": "dots", "destination": "src/.codex" })).to_string(),
    ));
    for path in ["cl2/skills/a.md", "cl2/../settings.json"] {
        passed(gate(&sandbox, write(&sandbox, path).to_string()));
    }
}

/// What a home reads through links is walled off where those lead: for tools that write files, in a shell, and where a
/// person asks.
#[test]
fn what_the_home_reads_through_links_is_walled_where_it_lies() {
    let dots = |sandbox: &Sandbox, name: &str| sandbox.path("home/dots").join(name);
    let make = |links: &[(&str, &str)], connected: &[&str]| {
        let sandbox = world();
        sandbox.dir("home/dots/folder/plugin");
        for (name, target) in links {
            if target.contains('.') {
                sandbox.file(dots(&sandbox, target), "{}");
            }
            sandbox.link(name, dots(&sandbox, target));
        }
        for words in connected {
            Run::of(sandbox.command("repo").args(words.split(' ')), None).exits(0);
        }
        sandbox
    };
    let is = |sandbox: &Sandbox, path: &Path, walled: bool| {
        let checked = Run::of(sandbox.command("repo").args(["check", "--as", "alice"]).arg(path), None).exits(i32::from(walled)).stdout;
        assert_eq!(walled, checked.contains("only a person"), "{checked}");
        let shell = payload(sandbox, "Bash", &json!({ "command": format!("echo x > {}", path.display()) }));
        let away = payload(sandbox, "Bash", &json!({ "command": format!("mv {} elsewhere", path.display()) }));
        // What is not there is not moved.
        for call in [write(sandbox, path), shell].into_iter().chain(path.exists().then_some(away)) {
            let said = gate(sandbox, call.to_string());
            if walled { _ = refused(said) } else { passed(said) }
        }
    };
    for (name, target, inside) in [
        ("home/.claude/settings.json", "set.json", ""),
        ("home/.claude/settings.local.json", "set.json", ""),
        ("home/.claude.json", "set.json", ""),
        ("home/.claude", "folder", "settings.json"),
        ("home/.claude/hooks", "folder", "x.sh"),
        ("home/.cline/hooks", "folder", "PreToolUse.sh"),
        ("home/.config/opencode", "folder", "plugin/mine.js"),
        ("home/.config/opencode/opencode.json", "set.json", ""),
        ("home/.pi/agent/extensions", "folder", "a.ts"),
        ("home/.loci/hooks", "folder", "x.sh"),
        ("home/.loci/hooks/x.sh", "real.sh", ""),
    ] {
        let sandbox = make(&[(name, target)], &[]);
        let path = dots(&sandbox, target);
        is(&sandbox, &if inside.is_empty() { path } else { path.join(inside) }, true);
        is(&sandbox, &dots(&sandbox, "other"), false);
    }
    // As they are connected: a folder of programs, a file of ours that was moved, and settings of a project.
    let sandbox = make(&[("home/.cline/hooks", "folder")], &["connect cline"]);
    is(&sandbox, &dots(&sandbox, "folder/PreToolUse.sh"), true);
    let sandbox = make(&[], &["connect opencode"]);
    let plugin = sandbox.path("home/.config/opencode/plugin/loci.js");
    fs::rename(&plugin, dots(&sandbox, "moved.js")).unwrap();
    sandbox.link(&plugin, dots(&sandbox, "moved.js"));
    is(&sandbox, &dots(&sandbox, "moved.js"), true);
    is(&sandbox, &dots(&sandbox, "beside.js"), false);
    let sandbox = make(&[("repo/.claude", "folder")], &["connect claude --shared ."]);
    is(&sandbox, &dots(&sandbox, "folder/settings.json"), true);
    is(&sandbox, &dots(&sandbox, "folder/settings.local.json"), true);
    is(&sandbox, &dots(&sandbox, "folder/notes.md"), false);
    let sandbox = make(&[("repo/.claude/settings.json", "set.json")], &["connect claude --shared ."]);
    is(&sandbox, &dots(&sandbox, "set.json"), true);
    is(&sandbox, &dots(&sandbox, "settings.local.json"), false);
}

#[test]
fn settings_folders_that_are_moved_are_walled_where_they_are() {
    let sandbox = world();
    // What switches hooks off or runs beside them, where the variable has moved it.
    for (variable, harness, file) in [
        ("CLAUDE_CONFIG_DIR", "claude", "settings.json"),
        ("CLINE_DIR", "cline", "plugins/x.js"),
        ("CODEX_HOME", "codex", "config.toml"),
        ("COPILOT_HOME", "copilot", "settings.json"),
        ("GEMINI_CLI_HOME", "gemini", ".gemini/trustedFolders.json"),
        ("HERMES_HOME", "hermes", "shell-hooks-allowlist.json"),
        ("PI_CODING_AGENT_DIR", "pi", "extensions/loci.ts"),
        ("QWEN_HOME", "qwen", "trustedFolders.json"),
        ("XDG_CONFIG_HOME", "opencode", "opencode/tool/x.ts"),
    ] {
        let folder = sandbox.path(format!("moved-{harness}"));
        let call = write(&sandbox, folder.join(file)).to_string();
        if !file.starts_with('.') {
            passed(gate(&sandbox, &call));
        }
        refused(asked(&sandbox, &call, |command| _ = command.env(variable, &folder)));
        let skill = write(&sandbox, folder.join("skills/a.md")).to_string();
        passed(asked(&sandbox, &skill, |command| _ = command.env(variable, &folder)));
        // What was connected there stays so for a harness that is started without the variable.
        let mut connect = sandbox.command("repo");
        Run::of(connect.args(["connect", harness]).env(variable, &folder), None).exits(0);
        refused(gate(&sandbox, &call));
        passed(gate(&sandbox, &skill));
    }
    let folder = sandbox.path("moved-claude");
    let call = write(&sandbox, folder.join("settings.json")).to_string();
    assert!(refused(gate(&sandbox, &call)).contains("Claude Code's settings"));
    sandbox.file("state/loci/connect/odd.json", "{").dir("state/loci/connect/dir.json");
    refused(gate(&sandbox, &call));
    passed(gate(&sandbox, write(&sandbox, folder.join("skills/a.md")).to_string()));
}

#[test]
fn codex_does_not_say_who_asks_by_where_a_command_runs() {
    let sandbox = world();
    let mut call = write(&sandbox, sandbox.path("repo/owned/new.txt"));
    call["cwd"] = json!(sandbox.path("repo/owned"));
    let mut command = sandbox.command("repo");
    command.args(["gate", "--for", "codex"]);
    refused(Run::of(&mut command, Some(call.to_string().as_bytes())));
    assert!(mail(&sandbox, "repo/owned")[0].contains("from: \"alice\""));
}

#[test]
fn a_payload_without_a_working_directory_is_judged_by_its_absolute_path() {
    let sandbox = world();
    let mut call = write(&sandbox, sandbox.path("repo/owned/new.txt"));
    call.as_object_mut().unwrap().remove("cwd");
    refused(gate(&sandbox, call.to_string()));
    assert!(mail(&sandbox, "repo/owned")[0].contains("from: \"nobody\""));
}

#[test]
fn a_payload_that_is_too_large_closes_for_what_surely_writes() {
    let sandbox = world();
    let big = "x".repeat(20 << 20);
    let call = |tool: &str| format!(r#"{{"tool_name":"{tool}","cwd":"/","tool_input":{{"content":"{big}"}}}}"#);
    let text = refused(gate(&sandbox, call("Write")));
    assert!(text.contains("16 MiB") && text.contains("Write"), "{text}");
    for tool in ["Bash", "Read", "Unheard"] {
        assert!(noted(gate(&sandbox, call(tool))).contains("16 MiB"), "{tool}");
    }
}

#[test]
fn a_panic_and_a_stall_close_for_what_surely_writes() {
    let sandbox = world();
    let read = payload(&sandbox, "Read", &json!({ "file_path": "notes.txt" })).to_string();
    let own = write(&sandbox, "notes.txt").to_string();
    let at = |fault: &'static str| move |command: &mut std::process::Command| _ = command.env("LOCI_FAULT", fault);
    assert!(refused(asked(&sandbox, &own, at("panic:gate"))).contains("failed"));
    assert!(noted(asked(&sandbox, &read, at("panic:gate"))).contains("failed"));
    let start = Instant::now();
    assert!(refused(asked(&sandbox, &own, at("stall:gate"))).contains("longer than 2 s"));
    assert!(noted(asked(&sandbox, &read, at("stall:gate"))).contains("longer than 2 s"));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn a_payload_that_does_not_come_in_time_closes_for_what_writes_or_can_not_be_told() {
    use std::io::Write as _;
    let sandbox = world();
    let begun = [("", 2), (r#"{"tool_name":"Write","tool_in"#, 2), (r#"{"tool_name":"Read","tool_in"#, 0), (r#"{"tool_name":"Bash","#, 0)];
    let asked = begun.map(|(text, code)| {
        let mut command = sandbox.command("repo");
        command.args(["gate", "--for", "claude"]).stdin(std::process::Stdio::piped());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut open = child.stdin.take().unwrap();
        open.write_all(text.as_bytes()).unwrap();
        (open, child, code)
    });
    for (open, child, code) in asked {
        let output = child.wait_with_output().unwrap();
        drop(open);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains("did not come within 4 s"), "{said}");
    }
}

#[test]
fn a_payload_that_comes_late_is_judged_all_the_same() {
    use std::io::Write as _;
    let sandbox = world();
    let mut command = sandbox.command("repo");
    command.args(["gate", "--for", "claude"]).stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut open = child.stdin.take().unwrap();
    let call = write(&sandbox, sandbox.path("repo/owned/new.txt")).to_string();
    let (first, rest) = call.split_at(20);
    open.write_all(first.as_bytes()).unwrap();
    // Longer than what the work itself may take.
    std::thread::sleep(Duration::from_millis(2_300));
    open.write_all(rest.as_bytes()).unwrap();
    drop(open);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(2));
    assert_eq!(mail(&sandbox, "repo/owned").len(), 1);
}

#[test]
fn a_relative_path_without_a_working_directory_closes_for_what_surely_writes() {
    let sandbox = world();
    let mut call = write(&sandbox, "owned/new.txt");
    call["tool_input"]["file_path"] = json!("owned/new.txt");
    call.as_object_mut().unwrap().remove("cwd");
    assert!(refused(gate(&sandbox, call.to_string())).contains("no working directory"));
    call["tool_name"] = json!("Read");
    gate(&sandbox, call.to_string());
    assert!(mail(&sandbox, "repo/owned").is_empty());
}

#[test]
fn who_asks_is_fixed_at_the_first_event_of_a_session() {
    let sandbox = world();
    passed(gate(&sandbox, write(&sandbox, "notes.txt").to_string()));
    // Whatever is said later: environment, directory, an edited identity.
    let mut call = write(&sandbox, sandbox.path("repo/owned/new.txt"));
    call["cwd"] = json!(sandbox.path("repo/owned"));
    sandbox.file("repo/.loci/agent.md", "---\nid: bob\n---\n");
    refused(asked(&sandbox, call.to_string(), |command| _ = command.env("LOCI_AGENT", "bob")));
    assert!(mail(&sandbox, "repo/owned")[0].contains("from: \"alice\""));
    // Another session is another asker.
    call["session_id"] = json!("s-2");
    passed(asked(&sandbox, call.to_string(), |command| _ = command.env("LOCI_AGENT", "bob")));
}

#[test]
fn a_session_id_names_no_other_file() {
    let sandbox = world();
    let mut call = write(&sandbox, "notes.txt");
    for id in ["../../../escaped", "/etc/x", "a\0b", &"x".repeat(5000), "."] {
        call["session_id"] = json!(id);
        passed(gate(&sandbox, call.to_string()));
    }
    assert!(!sandbox.path("escaped.json").exists());
    assert_eq!(fs::read_dir(sandbox.path("state/loci/sessions")).unwrap().count(), 5);
}

#[test]
fn without_a_state_folder_it_judges_all_the_same() {
    let sandbox = world();
    sandbox.file("state", "not a folder");
    let line = noted(gate(&sandbox, write(&sandbox, "notes.txt").to_string()));
    assert!(line.contains("could not be kept"), "{line}");
    refused(gate(&sandbox, write(&sandbox, "owned/new.txt").to_string()));
}

#[test]
fn a_session_file_that_is_broken_makes_nobody_of_the_asker() {
    let sandbox = world();
    sandbox.file("state/loci/sessions/s-1.json", "{");
    let line = noted(gate(&sandbox, write(&sandbox, "notes.txt").to_string()));
    assert!(line.contains("taken for nobody") && line.contains("s-1.json"), "{line}");
    let text = refused(gate(&sandbox, write(&sandbox, "owned/new.txt").to_string()));
    assert!(text.contains("taken for nobody"), "{text}");
}

#[test]
fn without_a_home_it_judges_all_the_same() {
    let sandbox = world();
    let bare = |command: &mut std::process::Command| _ = command.env_remove("HOME").env_remove("XDG_STATE_HOME");
    refused(asked(&sandbox, write(&sandbox, "owned/new.txt").to_string(), bare));
    let line = noted(asked(&sandbox, write(&sandbox, "notes.txt").to_string(), bare));
    assert!(line.contains("HOME"), "{line}");
}

#[test]
fn a_refusal_stands_where_it_can_not_be_handed_over() {
    let sandbox = world();
    // A file where the inbox should be: nobody can make it a folder, root included.
    sandbox.file("repo/owned/.loci/memory", "in the way");
    let text = refused(gate(&sandbox, write(&sandbox, "owned/new.txt").to_string()));
    assert!(text.contains("could NOT be handed over") && !text.contains("not lost"), "{text}");
}

#[test]
fn the_same_attempt_is_one_message_however_often() {
    let sandbox = world();
    let call = write(&sandbox, "owned/new.txt").to_string();
    for _ in 0..1000 {
        refused(gate(&sandbox, &call));
    }
    assert_eq!(mail(&sandbox, "repo/owned").len(), 1);
}

#[test]
fn many_gates_at_once_lose_nothing() {
    let sandbox = world();
    let handed = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for n in 0..16 {
            let (sandbox, handed) = (&sandbox, &handed);
            scope.spawn(move || {
                for m in 0..20 {
                    let call = write(sandbox, format!("owned/{n}-{m}.txt"));
                    let text = refused(gate(sandbox, call.to_string()));
                    // On a machine that is busy enough a gate may come to its deadline first, and says so.
                    match text.split_once("handed over to bob as ").and_then(|(_, rest)| rest.split_once(',')) {
                        Some((id, _)) => handed.lock().unwrap().push((format!("/{n}-{m}.txt"), id.to_owned())),
                        None => assert!(text.contains("took longer than"), "{text}"),
                    }
                }
            });
        }
    });
    let handed = handed.into_inner().unwrap();
    assert!(!handed.is_empty());
    let letters = mail(&sandbox, "repo/owned");
    let log = sandbox.read("repo/owned/.loci/memory/inbox/log.jsonl");
    let filed: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).filter(|line: &Value| line["event"] == "filed").collect();
    for (name, id) in &handed {
        assert!(letters.iter().any(|letter| letter.contains(name) && letter.contains(id)), "{name} {id}");
        assert!(filed.iter().any(|line| id.ends_with(line["key"].as_str().unwrap())), "{name} {id}");
    }
    // What a gate delivered that did not come to its end is listed all the same.
    let list = sandbox.loci("repo/owned", ["inbox", "--json"]).exits(0).json();
    assert_eq!(list["messages"].as_array().unwrap().len(), letters.len());
}

#[test]
fn a_pass_leaves_nothing_but_who_asks() {
    let sandbox = world();
    let before = sandbox.snapshot("repo");
    passed(gate(&sandbox, write(&sandbox, "notes.txt").to_string()));
    let sessions = sandbox.snapshot("state");
    passed(gate(&sandbox, write(&sandbox, "notes.txt").to_string()));
    assert_eq!(sandbox.snapshot("repo"), before);
    assert_eq!(sandbox.snapshot("state"), sessions);
    assert!(sandbox.snapshot("home").len() == 1, "{:?}", sandbox.snapshot("home"));
}

#[test]
fn an_answer_that_can_not_be_written_is_an_answer_all_the_same() {
    let sandbox = world();
    let gate = sandbox.command("repo");
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", "\"$1\" gate --for claude > /dev/full", "sh"]).arg(gate.get_program()).current_dir(sandbox.path("repo"));
    shell.env_clear().envs(gate.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let run = Run::of(&mut shell, Some(write(&sandbox, "owned/other.txt").to_string().as_bytes())).exits(2);
    assert!(run.stderr.contains("`bob`"));
}

#[test]
fn every_harness_is_answered_in_its_language() {
    let sandbox = world();
    for (harness, event, tool, input) in [
        ("claude", "PreToolUse", "Write", json!({ "file_path": "owned/1", "content": "x" })),
        ("codex", "PreToolUse", "apply_patch", json!({ "command": "*** Begin Patch\n*** Add File: owned/2\n+x\n*** End Patch" })),
        ("gemini", "BeforeTool", "write_file", json!({ "file_path": "owned/3", "content": "x" })),
        ("pi", "tool_call", "write", json!({ "path": "owned/4", "content": "x" })),
        ("qwen", "PreToolUse", "edit", json!({ "file_path": "owned/5", "old_string": "", "new_string": "x" })),
        ("copilot", "preToolUse", "apply_patch", json!("*** Begin Patch\n*** Add File: owned/6\n+x\n*** End Patch")),
        ("opencode", "tool.execute.before", "bash", json!({ "command": "echo x > 7", "workdir": "owned" })),
        (
            "hermes",
            "pre_tool_call",
            "patch",
            json!({ "mode": "patch", "patch": "*** Begin Patch\n*** Add File: owned/8\n+x\n*** End Patch" }),
        ),
    ] {
        let mut call = payload(&sandbox, tool, &input);
        call["hook_event_name"] = json!(event);
        if harness == "copilot" {
            let cwd = call["cwd"].clone();
            call = json!({ "sessionId": "s-1", "cwd": cwd, "toolName": tool, "toolArgs": input });
        }
        let run = asked(&sandbox, call.to_string(), |command| {
            *command = sandbox.command("repo");
            command.args(["gate", "--for", harness]);
        });
        assert!(refused(run).contains("`bob`"));
    }
    assert_eq!(mail(&sandbox, "repo/owned").len(), 8);
    // Cline has no denial that a model could read: the call gets an input that fails, and the reason stands beside it.
    let call = json!({
        "hookName": "tool_call", "taskId": "t", "workspaceRoots": [sandbox.path("repo")], "agent_id": "a", "parent_agent_id": "p",
        "tool_call": { "id": "c", "name": "editor", "input": { "path": "owned/9", "new_text": "x" } },
    });
    let cline = |call: String| {
        asked(&sandbox, call, |command| {
            *command = sandbox.command("repo");
            command.args(["gate", "--for", "cline"]);
        })
        .exits(0)
    };
    let said = cline(call.to_string()).json();
    assert!(
        said["context"].as_str().unwrap().contains("`bob`") && said["overrideInput"]["path"].as_str().unwrap().starts_with("/dev/null/")
    );
    let mail = mail(&sandbox, "repo/owned");
    assert!(mail.len() == 9 && mail.iter().any(|message| message.contains("harness: \"cline\"")), "{mail:?}");
    assert_eq!(cline(call.to_string().replace("owned/9", "notes/9")).stdout, "");
    assert!(cline("{\"tool".to_owned()).stderr.contains("not checked"));
}

#[test]
fn a_relative_file_that_gemini_would_look_for_is_judged_where_it_finds_it() {
    let sandbox = world();
    sandbox.file("repo/src/b.txt", "b\n").file("repo/owned/deep/c.txt", "c\n");
    let replace = |path: &str| {
        let mut call = payload(&sandbox, "replace", &json!({ "file_path": path, "old_string": "b", "new_string": "x" }));
        call["hook_event_name"] = json!("BeforeTool");
        asked(&sandbox, call.to_string(), |command| {
            *command = sandbox.command("repo");
            command.args(["gate", "--for", "gemini"]);
        })
    };
    for path in ["a.txt", "c.txt", "deep/c.txt", "./c.txt", "ep/c.txt"] {
        assert!(refused(replace(path)).contains("`bob`"), "{path}");
    }
    for path in ["b.txt", "notes.txt", "nowhere.txt", "xc.txt", "src/a.txt"] {
        assert_eq!(replace(path).exits(0).stderr, "", "{path}");
    }
}

#[test]
fn claude_does_not_take_over_settings_that_would_switch_the_gate_off() {
    let sandbox = world();
    sandbox.loci("repo", ["connect", "claude"]).exits(0);
    let settings = "home/.claude/settings.json";
    let told = |file: &str| {
        let payload = json!({
            "session_id": "s-1", "cwd": sandbox.path("repo"), "hook_event_name": "ConfigChange", "source": "local_settings",
            "file_path": sandbox.path(file),
        });
        gate(&sandbox, payload.to_string())
    };
    sandbox.file("repo/.claude/settings.local.json", "{\"model\": \"x\"}");
    assert_eq!(told("repo/.claude/settings.local.json").exits(0).stderr, "");
    sandbox.file("repo/.claude/settings.local.json", "{\"disableAllHooks\": true}");
    assert!(told("repo/.claude/settings.local.json").exits(2).stderr.contains("`disableAllHooks` is true"));
    fs::remove_file(sandbox.path("repo/.claude/settings.local.json")).unwrap();
    // The relays are gone, and nobody has disconnected.
    let there = sandbox.read(settings);
    sandbox.file(settings, there.replace("gate --for claude", "true"));
    assert!(told(settings).exits(2).stderr.contains("are gone"));
    // They are there, and ask nobody any more.
    let link = sandbox.path("home/.loci/bin/loci").to_str().unwrap().to_owned();
    let gate = format!("\"{link} gate --for claude\"");
    assert!(there.contains(&gate), "{there}");
    for changed in [
        there.replace(&gate, &format!("\"true {link} gate --for claude\"")),
        there.replace(&gate, &format!("{gate}, \"async\": true")),
        there.replace("\"timeout\": 35", "\"timeout\": 0.01"),
        there.replace("\"Write|Edit|MultiEdit|NotebookEdit|Bash|Monitor\"", "\"Write\""),
    ] {
        assert_ne!(changed, there);
        sandbox.file(settings, changed);
        assert!(told(settings).exits(2).stderr.contains("not what they were"));
    }
    sandbox.file(settings, there.replacen('{', "{\"model\": \"x\", ", 1));
    assert_eq!(told(settings).exits(0).stderr, "");
    sandbox.file(settings, there);
    assert_eq!(told(settings).exits(0).stderr, "");
    sandbox.loci("repo", ["disconnect", "claude"]).exits(0);
    assert_eq!(told(settings).exits(0).stderr, "");
}

#[test]
fn a_name_that_is_no_harness_is_an_error_that_lists_them() {
    let sandbox = world();
    let run = sandbox.loci("repo", ["gate", "--for", "nobody"]).exits(2);
    for name in ["claude", "cline", "codex", "copilot", "gemini", "hermes", "opencode", "pi", "qwen"] {
        assert!(run.stderr.contains(name), "{}", run.stderr);
    }
    let help = sandbox.loci("repo", ["gate", "--help"]).exits(0);
    assert!(help.stdout.contains("loci gate --for claude"));
    // The parser of all verbs answers as the short one does.
    let run = asked(&sandbox, write(&sandbox, "owned/new.txt").to_string(), |command| {
        *command = sandbox.command("repo");
        command.args(["--color", "never", "gate", "--for", "claude"]);
    });
    refused(run);
}

#[test]
fn an_unreadable_directory_on_the_way_is_no_way_through() {
    let sandbox = world();
    let dir = sandbox.path("repo/owned");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o000)).unwrap();
    let run = gate(&sandbox, write(&sandbox, "owned/new.txt").to_string());
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    // Root reads it all the same; for anybody else it can't be known, and the write fails by itself.
    assert!(run.code == Some(2) || !run.stderr.is_empty() || nix::unistd::geteuid().as_raw() != 0, "{run:?}");
}
