//! Whether a hook runs: every verb says what the relay does.

use serde_json::{Value, json};

use super::{tool, trusted, world};
use crate::sandbox::{Run, Sandbox};

/// A repository that is a body, with hooks that block.
fn body(hooks: &[&str]) -> Sandbox {
    let sandbox = world(&[]);
    sandbox.file("repo/.loci/agent.md", "---\nid: repo\n---\n");
    for name in hooks {
        sandbox.exec(format!("repo/.loci/hooks/{name}"), "#!/bin/sh\n# hook-events: before-tool\necho no >&2\nexit 2\n");
    }
    sandbox
}

fn call(sandbox: &Sandbox) -> Run {
    tool(sandbox, "Read", json!({ "file_path": "a" }))
}

/// What `show` and `hooks status` say of a hook: on, and why not.
fn said(sandbox: &Sandbox, name: &str) -> (bool, Value) {
    let shown = sandbox.loci("repo", ["show", "--json"]).exits(0).json()["equipped"]["hooks"].clone();
    let status = sandbox.loci("repo", ["hooks", "status", "--json"]).exits(0).json()["hooks"].clone();
    let of = |list: &Value| {
        let one = list.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap();
        (one["on"].as_bool().unwrap(), one["why"].clone())
    };
    assert_eq!(of(&shown), of(&status), "{name}");
    of(&shown)
}

#[test]
fn show_says_of_a_hook_what_the_relay_does() {
    let sandbox = body(&["guard.sh"]);
    assert_eq!(said(&sandbox, "guard.sh"), (false, json!("changed-since")));
    assert!(sandbox.loci("repo", ["show"]).exits(0).stdout.contains("guard.sh  does not run: changed-since"));
    sandbox.loci("", ["trust", "repo", "--revoke"]).exits(0);
    assert_eq!(said(&sandbox, "guard.sh"), (false, json!("untrusted")));
    call(&sandbox).exits(0);
    trusted(&sandbox);
    assert_eq!(said(&sandbox, "guard.sh"), (true, Value::Null));
    call(&sandbox).exits(2);
    sandbox.loci("repo", ["hooks", "deactivate", "guard", "--body", "."]).exits(0);
    assert_eq!(said(&sandbox, "guard.sh"), (false, json!("off-by-machine")));
    call(&sandbox).exits(0);
    sandbox.loci("repo", ["hooks", "deactivate", "--body", "."]).exits(0);
    call(&sandbox).exits(2);
    sandbox.exec("repo/.loci/hooks/guard.sh", "#!/bin/sh\n# hook-events: before-tool\nexit 0\n");
    assert_eq!(said(&sandbox, "guard.sh"), (false, json!("changed-since")));
}

#[test]
fn a_name_in_agent_md_that_no_hook_has_is_said() {
    let sandbox = body(&["guard.sh"]);
    sandbox.file("repo/.loci/agent.md", "---\nid: repo\nhooks: [guardd]\n---\n");
    trusted(&sandbox);
    call(&sandbox).exits(0);
    assert_eq!(said(&sandbox, "guard.sh"), (false, json!("off-by-agent.md")));
    let words = sandbox.loci("repo", ["hooks", "status"]).exits(0).stdout;
    assert!(words.contains("guard.sh") && words.contains("off (agent.md)"), "{words}");
    assert!(words.contains(".loci/agent.md:3: only guardd"), "{words}");
    for said in [words, sandbox.loci("repo", ["show"]).exits(0).stdout, sandbox.loci("repo", ["doctor"]).exits(1).stdout] {
        assert!(said.contains("agent.md:3") && said.contains("no hook here is called `guardd`; did you mean `guard`?"), "{said}");
    }
    sandbox.file("repo/.loci/agent.md", "---\nid: repo\nhooks: [guard, 'loci:place']\n---\n");
    trusted(&sandbox);
    call(&sandbox).exits(2);
    sandbox.loci("repo", ["doctor"]).exits(0);
    assert!(!sandbox.loci("repo", ["hooks", "status"]).exits(0).stdout.contains("no hook here is called"));
}

/// Where the program that a hook's first line names lies in the directory, it is trusted with it, and only as it was.
#[test]
fn what_runs_a_hook_is_part_of_what_is_trusted() {
    let sandbox = body(&[]);
    let program = sandbox.path("repo/tools/run");
    let script = "#!/bin/sh\necho no >&2\nexit 2\n";
    sandbox.exec("repo/tools/run", script);
    sandbox.exec("repo/.loci/hooks/guard.sh", format!("#!{}\n# hook-events: before-tool\n", program.display()));
    let dry = sandbox.loci("", ["trust", "repo", "--dry-run"]).exits(0).stdout;
    assert!(dry.contains("tools/run") && dry.contains("exit 2"), "{dry}");
    trusted(&sandbox);
    call(&sandbox).exits(2);
    sandbox.exec("repo/tools/run", "#!/bin/sh\nexit 0\n");
    assert_eq!(said(&sandbox, "guard.sh"), (false, json!("changed-since")));
    sandbox.exec("repo/tools/run", script);
    call(&sandbox).exits(2);
    // A link that leads out of it is trusted to lead there.
    std::fs::remove_file(&program).unwrap();
    sandbox.exec("one", script).exec("other", script).link("repo/tools/run", sandbox.path("one"));
    assert_eq!(said(&sandbox, "guard.sh"), (false, json!("changed-since")));
    trusted(&sandbox);
    call(&sandbox).exits(2);
    std::fs::remove_file(&program).unwrap();
    sandbox.link("repo/tools/run", sandbox.path("other"));
    assert_eq!(said(&sandbox, "guard.sh"), (false, json!("changed-since")));
}

/// What is trusted is a directory as a whole: a file says so, with the words that do.
#[test]
fn a_file_alone_is_not_trusted() {
    let sandbox = Sandbox::new();
    sandbox.exec("svc/.loci/hooks/a.sh", "#!/bin/sh\n").file("svc/notes.md", "");
    let hint = format!("loci trust {}", sandbox.path("svc").display());
    for file in ["svc/.loci/hooks/a.sh", "svc/notes.md"] {
        let error = sandbox.loci("", ["trust", file, "--yes", "--json"]).exits(2).json();
        assert_eq!(error["error"]["hint"].as_str(), Some(hint.as_str()), "{error}");
    }
}
