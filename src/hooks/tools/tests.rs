//! One call of each tool of each harness, and what nobody should send.

use super::*;
use serde_json::json;

fn read(name: &str, input: Value) -> Intent {
    read_call(name, &input, Path::new("/w"), Some(Path::new("/home/u")), WRITE_WORDS)
}

/// Kinds and paths of the acts.
fn acts(name: &str, input: Value) -> Vec<(ActKind, String)> {
    read(name, input).acts.into_iter().map(|act| (act.kind, act.path.to_str().unwrap().to_owned())).collect()
}

fn one(kind: ActKind, path: &str) -> Vec<(ActKind, String)> {
    vec![(kind, path.to_owned())]
}

/// One call of each write tool of each harness, as recorded: name, input, path.
#[test]
fn write_tools_of_every_harness() {
    for (name, input, path) in [
        ("Write", json!({ "file_path": "/p/a", "content": "x" }), "/p/a"),
        ("Edit", json!({ "file_path": "/p/a", "old_string": "x", "new_string": "/etc/passwd" }), "/p/a"),
        ("NotebookEdit", json!({ "notebook_path": "/p/n.ipynb", "cell_id": "c", "new_source": "../x" }), "/p/n.ipynb"),
        ("write_file", json!({ "file_path": "rel/a", "content": "x" }), "/w/rel/a"),
        ("replace", json!({ "file_path": "/p/a", "instruction": "see /etc/x", "old_string": "a", "new_string": "b" }), "/p/a"),
        ("notebook_edit", json!({ "notebook_path": "/p/n.ipynb" }), "/p/n.ipynb"),
        ("create", json!({ "path": "/p/a", "file_text": "x" }), "/p/a"),
        ("edit", json!({ "path": "/p/a", "old_str": "x", "new_str": "y" }), "/p/a"),
        ("edit", json!({ "filePath": "b", "oldString": "x", "newString": "y" }), "/w/b"),
        ("write", json!({ "filePath": "~/b", "content": "x" }), "/home/u/b"),
        ("edit", json!({ "path": "b", "edits": [{ "oldText": "x", "newText": "y" }] }), "/w/b"),
        ("patch", json!({ "mode": "replace", "path": "b", "old_string": "x", "new_string": "y" }), "/w/b"),
        ("editor", json!({ "path": "/p/a", "new_text": "x" }), "/p/a"),
        ("str_replace_based_edit_tool", json!({ "command": "str_replace", "path": "/p/a", "old_str": "x" }), "/p/a"),
        ("mcp__files__write_file", json!({ "path": "file:///p/a%20b", "content": "x" }), "/p/a b"),
    ] {
        let intent = read(name, input.clone());
        // Other readings of the same text come after it.
        let first = acts(name, input).into_iter().next();
        assert_eq!(first, one(ActKind::Write, path).pop(), "{name}");
        assert!(intent.acts.len() == 1 || path.starts_with("/home") || path.contains(' '), "{name}");
        assert!(intent.class.writes() && intent.acts[0].follow, "{name}");
    }
}

#[test]
fn reading_tools_only_read() {
    for (name, input) in [
        ("Read", json!({ "file_path": "/p/a" })),
        ("read_file", json!({ "absolute_path": "/p/a" })),
        ("read_files", json!({ "files": [{ "path": "/p/a" }] })),
        ("Glob", json!({ "path": "/p", "pattern": "**" })),
        ("str_replace_based_edit_tool", json!({ "command": "view", "path": "/p/a" })),
        ("view_image", json!({ "path": "/p/a" })),
    ] {
        assert!(acts(name, input).iter().all(|(kind, _)| *kind == ActKind::Read), "{name}");
    }
    for name in ["TodoWrite", "todowrite", "Task", "spawn_agent", "WebFetch", "Something"] {
        let intent = read(name, json!({ "path": "/p/a", "todos": ["edit /p/a"], "url": "https://x/y" }));
        assert_eq!((intent.acts.len(), intent.class), (0, Class::Unknown), "{name}");
    }
}

#[test]
fn patches() {
    let text = "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n@@\n+x\n*** Delete File: d\n*** End Patch";
    let wanted: Vec<(ActKind, String)> =
        [(ActKind::Create, "/w/a"), (ActKind::Rename, "/w/b"), (ActKind::Write, "/w/c"), (ActKind::Remove, "/w/d")]
            .map(|(kind, path)| (kind, path.to_owned()))
            .to_vec();
    for input in [
        json!({ "input": text }),
        json!({ "command": text }),
        json!({ "patchText": text }),
        json!(text),
        json!({ "command": ["apply_patch", text] }),
    ] {
        assert_eq!(acts("apply_patch", input.clone()), wanted, "{input}");
    }
    assert_eq!(acts("shell", json!({ "command": ["apply_patch", text] })), wanted);
    assert_eq!(acts("patch", json!({ "mode": "patch", "patch": text })), wanted);
    assert_eq!(
        acts("apply_patch", json!({ "patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "workdir": "sub" })),
        [(ActKind::Write, "/w/sub/x".to_owned()), (ActKind::Write, "/w/x".to_owned())]
    );
    // A patch in the text of a command is the shell reader's to read.
    let heredoc = read("Bash", json!({ "command": format!("apply_patch <<'EOF'\n{text}\nEOF") }));
    assert!(matches!(heredoc.class, Class::Shell(_)));
    assert_eq!(acts("apply_patch", json!({ "input": "nothing" })), one(ActKind::Run, "/w"));
}

#[test]
fn shells_cannot_be_known_here() {
    for (name, input, text, cwd) in [
        ("Bash", json!({ "command": "rm x" }), "rm x", "/w"),
        ("run_shell_command", json!({ "command": "rm x", "dir_path": "sub" }), "rm x", "/w/sub"),
        ("run_commands", json!({ "commands": ["a", "b"] }), "a\nb", "/w"),
        ("run_commands", json!({ "commands": "[\"a\",\"b\"]" }), "[\"a\",\"b\"]\na\nb", "/w"),
        ("run_commands", json!({ "commands": [{ "command": "tee", "args": ["x"] }, { "command": "rm y" }] }), "tee x\nrm y", "/w"),
        ("run_commands", json!({ "commands": { "command": "tee", "args": ["x"] } }), "tee x", "/w"),
        ("run_commands", json!({ "command": "tee", "args": ["x"] }), "tee\ntee x", "/w"),
        ("run_commands", json!({ "commands": [["tee", "x"], "a"] }), "tee x\ntee\nx\na", "/w"),
        ("write_bash", json!({ "shellId": "1", "input": "a{enter}b" }), "a{enter}b\na\nb", "/w"),
        ("mcp__x__execute_script", json!({ "script": "rm x" }), "rm x", "/w"),
        ("run_commands", json!([{ "command": "tee", "args": ["x"] }]), "tee x", "/w"),
        ("run_commands", json!({ "command": "tee", "args": ["x"] }), "tee\ntee x", "/w"),
        ("run_commands", json!(["a", "b"]), "a\nb", "/w"),
        ("run_commands", json!("a"), "a", "/w"),
        ("run_commands", json!({ "commands": ["cat <<E", "x", "E"] }), "cat <<E\nx\nE\ncat <<E\nx\nE", "/w"),
        ("Bash", json!({ "command": "[\"a\"]" }), "[\"a\"]", "/w"),
        ("run_shell_command", json!({ "command": "rm x", "directory": "/o" }), "rm x", "/o"),
        ("monitor", json!({ "command": "rm x", "directory": "/o" }), "rm x", "/o"),
        ("tool_call", json!({ "name": "monitor", "arguments": { "command": "rm x", "directory": "/o" } }), "rm x", "/o"),
        ("process", json!({ "action": "write", "session_id": "p", "data": "rm x" }), "rm x", "/w"),
        ("mcp__x__shell", json!({ "command": ["rm", "x"] }), "rm\nx\nrm x", "/w"),
        ("execute_code", json!({ "language": "bash", "code": "rm x" }), "rm x\nrm x", "/w"),
        ("shell", json!({ "command": ["bash", "-lc", "rm x"], "workdir": "/o" }), "rm x", "/o"),
        ("shell", json!({ "command": ["rm", "x"] }), "rm x", "/w"),
        ("execute_code", json!({ "code": "open('x','w')" }), "open('x','w')", "/w"),
        ("exec_command", json!({ "cmd": "ls" }), "ls", "/w"),
    ] {
        let intent = read(name, input);
        assert_eq!(intent.acts, [act(ActKind::Run, cwd.into())], "{name}");
        assert_eq!(intent.change, Change::Command(text.to_owned()));
        assert!(matches!(intent.class, Class::Shell(_)) && !intent.class.writes());
    }
}

#[test]
fn a_command_is_read_in_every_directory_that_it_may_run_in() {
    let call = |name: &str, input: Value| match read(name, input).class {
        Class::Shell(call) => call,
        class => panic!("{class:?}"),
    };
    let others = |name, input: Value| call(name, input).others.into_iter().map(|dir| dir.to_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(others("bash", json!({ "command": "x", "description": "list it" })), [""; 0]);
    assert_eq!(others("bash", json!({ "command": "x", "workdir": "/o" })), ["/w"]);
    assert_eq!(others("bash", json!({ "command": "x", "in": "/o", "startPath": "sub", "n": 1 })), ["/o", "/w/sub"]);
    assert_eq!(others("run_shell_command", json!({ "command": "x", "dir_path": "/a", "directory": "/o" })), ["/o", "/w"]);
    // One that is known to be obeyed leaves the session's directory out, and no other.
    let obeyed = |name: &str, input: Value| {
        let mut intent = read(name, input.clone());
        intent.obey("dir_path", name, &input, Path::new("/w"), None);
        let Class::Shell(call) = intent.class else { panic!() };
        (call.cwd, call.others)
    };
    let both = json!({ "command": "x", "workdir": "/b", "dir_path": "/a", "directory": "/o" });
    assert_eq!(obeyed("run_shell_command", both.clone()), ("/a".into(), vec!["/o".into(), "/b".into()]));
    assert!(obeyed("mcp__x__run_shell_command", both).1.contains(&"/w".into()));
    assert_eq!(obeyed("run_shell_command", json!({ "command": "x", "directory": "/o" })), ("/o".into(), vec!["/w".into()]));
}

#[test]
fn where_something_goes_is_written_whatever_its_key_is() {
    let written =
        |name: &str, input: Value, path: &str| acts(name, input.clone()).iter().any(|(_, act)| act == path) || panic!("{name} {input}");
    for to in [
        "to",
        "dest",
        "dst",
        "destination",
        "destination_path",
        "target_path",
        "new_location",
        "newPath",
        "into",
        "toFile",
        "outputPath",
        "whatever",
    ] {
        for from in ["path", "source", "src", "source_path", "oldPath", "from", "file"] {
            for name in ["mcp__fs__move_file", "move_file", "mcp__fs__rename", "mcp__fs__copy_file", "copy_file"] {
                written(name, json!({ from: "/p/a", to: "/o/b" }), "/o/b");
                if name.contains("mo") || name.contains("re") {
                    written(name, json!({ from: "/p/a", to: "/o/b" }), "/p/a");
                }
            }
        }
    }
    for input in [
        json!({ "source": "/p/a", "dst": "/o/b" }),
        json!({ "source_path": "/p/a", "destination_path": "/o/b" }),
        json!({ "path": "/p/a", "to": "/o/b" }),
    ] {
        assert_eq!(acts("copy_file", input), one(ActKind::Create, "/o/b"));
    }
    written("edit_file", json!({ "target_path": "/o/b", "old_string": "x", "new_string": "y" }), "/o/b");
    written("mcp__fs__write_file", json!({ "path": "/p/a", "target_path": "/o/b" }), "/o/b");
    assert_eq!(acts("mcp__fs__write_file", json!({ "path": "/p/a", "content": "/o/b" })), one(ActKind::Write, "/p/a"));
    assert_eq!(acts("copy_file", json!({ "source": "/o/b" })), one(ActKind::Create, "/o/b"));
}

#[test]
fn tools_nobody_knows_are_looked_at_when_their_name_says_write() {
    use ActKind::{Create, Link, Remove, Rename, Write};
    assert_eq!(acts("mcp__x__deleteThing", json!({ "path": "a" })), one(Remove, "/w/a"));
    assert_eq!(
        acts("mcp__fs__move_it", json!({ "source": "a/b", "destination": "c/d" })),
        [(Rename, "/w/a/b".to_owned()), (Rename, "/w/c/d".to_owned()), (Write, "/w/c/d".to_owned())]
    );
    assert_eq!(acts("mcp__fs__copy_it", json!({ "source": "a/b", "destination": "c/d" })), one(Create, "/w/c/d"));
    let dotdir = read("mcp__fs__copy_directory", json!({ "source": "x", "destination": "/r/.claude" })).acts;
    assert!(dotdir.len() == 1 && dotdir[0].below && dotdir[0].kind == Create);
    assert_eq!(acts("mcp__fs__create_symlink", json!({ "path": "/r/.loci", "source": "x/y" })), one(Link, "/r/.loci"));
    // What a link leads to is read; where nothing else names the link, it is looked at.
    assert_eq!(acts("mcp__fs__create_symlink", json!({ "path": "/r/l", "target": "/r/owned/a" })), one(Link, "/r/l"));
    assert_eq!(acts("mcp__fs__create_symlink", json!({ "link": "/r/l", "target": "/r/owned/a" })), one(Link, "/r/l"));
    assert_eq!(acts("mcp__fs__create_symlink", json!({ "source": "/r/owned/a", "target": "/r/l" })), one(Link, "/r/l"));
    let files = acts("write_files", json!({ "files": { "/o/tax.rs": "a", "b.rs": "c/d", "Makefile": "x" } }));
    assert!(["/o/tax.rs", "/w/b.rs"].iter().all(|path| files.contains(&(Write, (*path).to_owned()))), "{files:?}");
    for (name, input) in [
        ("mcp__github__create_or_update_file", json!({ "owner": "o", "repo": "r", "path": "src/a.rs", "content": "x" })),
        ("mcp__github__delete_file", json!({ "owner": "o", "repo": "r", "path": "src/a.rs" })),
        ("mcp__jira__edit_ticket", json!({ "status": "N/A", "branch": "feature/x" })),
        ("mcp__jira__add_comment", json!({ "path": "src/a.rs" })),
    ] {
        assert_eq!(acts(name, input), [], "{name}");
    }
    assert_eq!(acts("mcp__fs__copy", json!({ "path": "/o/a", "to": "/w/b" })), one(Create, "/w/b"));
    assert_eq!(acts("mcp__fs__delete_directory", json!({ "target": "services" })), one(Remove, "/w/services"));
    for name in ["mcp__fs__modify_it", "mcp__fs__truncate", "mcp__fs__put_file", "mcp__fs__set_file_content", "mcp__fs__touch_file"] {
        assert_eq!(acts(name, json!({ "path": "/o/a" })), one(Write, "/o/a"), "{name}");
    }
    // What a server far away takes for an address, one on this machine does not look at.
    assert_eq!(acts("mcp__fs__write_file", json!({ "owner": "o", "repo": "r", "path": "/o/a" })), one(Write, "/o/a"));
    let based = acts("edit_file", json!({ "base_path": "/o", "path": "x" }));
    assert_eq!(based, [(Write, "/o/x".to_owned()), (Write, "/w/x".to_owned())]);
    assert_eq!(acts("create_file", json!({ "folder": "/o", "name": "x" })), one(Write, "/o"));
    assert_eq!(
        acts("save_diagram", json!({ "where": { "out": ["x/y.svg"] }, "title": "a b/c", "url": "https://e/x" })),
        one(Write, "/w/x/y.svg")
    );
    assert_eq!(acts("saveable", json!({ "path": "a" })), []);
    assert_eq!(acts("describe", json!({ "path": "a" })), []);
    let words = ["scribble"];
    assert_eq!(read_call("mcp__x__scribble", &json!({ "path": "a" }), Path::new("/w"), None, &words).acts.len(), 1);
}

#[test]
fn changes_are_captured() {
    let path = PathBuf::from("/w/a");
    let change = |input: Value| read("edit", input).change;
    let edits = |all| Change::Edits { path: path.clone(), edits: vec![("x".to_owned(), "y".to_owned(), all)] };
    assert_eq!(change(json!({ "path": "a", "old_string": "x", "new_string": "y" })), edits(false));
    assert_eq!(change(json!({ "path": "a", "edits": [{ "oldText": "x", "newText": "y", "replaceAll": true }] })), edits(true));
    assert_eq!(change(json!({ "path": "a", "content": "x" })), Change::Content { path, bytes: b"x".to_vec() });
    assert!(matches!(change(json!({ "path": "a", "insert_line": 3, "new_str": "y" })), Change::Input(_)));
}

#[test]
fn a_tool_server_that_says_what_it_runs_or_removes_is_read() {
    for name in ["mcp__serena__execute_shell_command", "mcp__x__run_shell", "mcp__desktop-commander__start_process"] {
        assert!(matches!(read(name, json!({ "command": "touch b" })).class, Class::Shell(_)), "{name}");
    }
    assert_eq!(read("mcp__git__git_apply", json!({ "patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n" })).class, Class::Patch);
    for name in ["mcp__x__rm", "mcp__x__mv", "mcp__x__new_file", "mcp__x__generate_file", "mcp__github-local__write_file"] {
        assert!(!acts(name, json!({ "path": "/w/b", "repo": "x", "content": "y" })).is_empty(), "{name}");
    }
    assert_eq!(acts("mcp__github__write_file", json!({ "path": "src/b", "repo": "x", "content": "y" })), []);
    assert_eq!(acts("mcp__x__run_report", json!({ "name": "a/b" })), []);
}

#[test]
fn arguments_without_end_are_bounded() {
    let mut deep = json!({ "path": "/p/a" });
    for _ in 0..64 {
        deep = json!({ "x": deep });
    }
    assert_eq!(acts("write", deep), []);
    let many: Vec<Value> = (0..10_000).map(|at| json!({ "path": format!("/p/{at}") })).collect();
    assert_eq!(acts("write", json!({ "files": many })).len(), MAX_ACTS + 1);
    let sections: String = (0..10_000).map(|at| format!("*** Delete File: {at}\n")).collect();
    assert!(acts("apply_patch", json!(format!("*** Begin Patch\n{sections}"))).len() > MAX_ACTS);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Whatever a harness or a model sends: no panic, absolute paths, bounded.
    #[test]
    fn any_call(name in "[A-Za-z_.:/-]{0,20}", key in "(path|file_path|command|commands|input|patch|edits|content|workdir|x)", texts in proptest::collection::vec(proptest::prelude::any::<String>(), 0..4)) {
        for input in [json!(texts), json!({ &key: texts }), json!({ &key: texts.first(), "path": texts.last() }), json!({ &key: { "path": texts } })] {
            for name in [name.as_str(), "write", "edit", "apply_patch", "shell", "mcp__x__save"] {
                let intent = read(name, input.clone());
                proptest::prop_assert!(intent.acts.len() <= 2 * MAX_ACTS + 1);
                proptest::prop_assert!(intent.acts.iter().all(|act| act.path.is_absolute()));
            }
        }
    }
}
