//! `loci status`: what needs somebody, and nothing else.

use std::fs;

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox};
use crate::waiting::until;

/// A repository with two agents, and a home whose PATH has no harness.
fn world() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.dir("r/.git").dir("bin").file("state/.keep", "");
    sandbox.loci("r", ["new", "billing", "--template", "custodian"]).exits(0);
    sandbox.loci("r", ["new", "agents/alice"]).exits(0);
    sandbox
}

fn run(sandbox: &Sandbox, cwd: &str, line: &str) -> Run {
    let mut command = sandbox.command(cwd);
    command.env("PATH", format!("{}:/usr/bin:/bin", sandbox.path("bin").display())).args(line.split_whitespace());
    Run::of(&mut command, None)
}

/// As alice in her session.
fn as_alice(sandbox: &Sandbox, line: &[&str]) -> Run {
    let mut command = sandbox.command("r/agents/alice");
    command.env("LOCI_AGENT", "alice").env("LOCI_BODY", sandbox.path("r/agents/alice")).env("PATH", "/usr/bin:/bin").args(line);
    Run::of(&mut command, None)
}

/// What stands in the list: kind, about, count.
fn needs(run: &Run) -> Vec<(String, String, u64)> {
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    let list = run.json()["needs"].as_array().unwrap().clone();
    list.iter().map(|one| (text(one, "kind"), text(one, "about"), one["count"].as_u64().unwrap())).collect()
}

fn need(kind: &str, about: &str, count: u64) -> (String, String, u64) {
    (kind.to_owned(), about.to_owned(), count)
}

#[test]
fn where_nothing_waits_the_answer_is_yes() {
    let sandbox = world();
    assert_eq!(run(&sandbox, "r", "status").exits(0).stdout, "nothing needs you\n");
    let object = run(&sandbox, "r", "status --json").exits(0).json();
    let at = sandbox.path("r");
    assert_eq!(object, json!({ "schema": 1, "at": at.to_str().unwrap(), "asker": "human", "root": null, "needs": [], "notes": [] }));
    // Where there is no repository at all.
    run(&sandbox, "home", "status").exits(0);
    let gone = run(&sandbox, "r", "status --at nowhere").exits(2);
    assert!(gone.stderr.contains("nowhere") && gone.stderr.contains("no directory"), "{gone:?}");
}

#[test]
fn mail_is_told_to_a_person_and_to_whom_it_is_for() {
    let sandbox = world();
    as_alice(&sandbox, &["delegate", "billing", "--reads", "../../billing/AGENTS.md", "--idea", "Round half to even"]).exits(0);
    let said = run(&sandbox, "r", "status").exits(1);
    assert!(said.stdout.contains("mail  billing  1 new  loci inbox billing --open\n"), "{said:?}");
    assert_eq!(needs(&run(&sandbox, "r", "status --json").exits(1)), [need("mail", "billing", 1)]);
    // From anywhere in it, and from outside.
    assert_eq!(needs(&run(&sandbox, "r/agents/alice", "status --json").exits(1)), [need("mail", "billing", 1)]);
    assert_eq!(needs(&run(&sandbox, "home", "status --json --at ../r/billing").exits(1)), [need("mail", "billing", 1)]);
    // It is nothing of alice's; of billing it is, and its own inbox needs no name.
    as_alice(&sandbox, &["status"]).exits(0);
    run(&sandbox, "r", "status --as alice").exits(0);
    let own = run(&sandbox, "r", "status --as billing").exits(1);
    assert!(own.stdout.contains("mail  billing  1 new  loci inbox --open\n"), "{own:?}");
    let id = run(&sandbox, "r", "inbox billing --json").json()["messages"][0]["id"].as_str().unwrap().to_owned();
    run(&sandbox, "r", &format!("inbox take {id} --as billing")).exits(0);
    assert!(run(&sandbox, "r", "status").exits(1).stdout.contains("1 taken"));
    run(&sandbox, "r", &format!("inbox done {id} --as billing --reply ok")).exits(0);
    // The answer is alice's to read.
    assert_eq!(needs(&run(&sandbox, "r", "status --json").exits(1)), [need("mail", "alice", 1)]);
    assert_eq!(needs(&as_alice(&sandbox, &["status", "--json"]).exits(1)), [need("mail", "alice", 1)]);
}

#[test]
fn requests_are_a_person_s() {
    let sandbox = world();
    as_alice(&sandbox, &["permit", "alice", "../../billing", "--for", "1h"]).exits(1);
    let said = run(&sandbox, "r", "status").exits(1);
    assert!(said.stdout.contains("request  alice  1 for you to answer, since 20") && said.stdout.contains("loci requests\n"), "{said:?}");
    assert_eq!(needs(&run(&sandbox, "r", "status --json").exits(1)), [need("request", "alice", 1)]);
    as_alice(&sandbox, &["status"]).exits(0);
    let id = run(&sandbox, "r", "requests --json").json()["requests"][0]["id"].as_str().unwrap().to_owned();
    run(&sandbox, "r", &format!("deny {id} --why no")).exits(0);
    // What is left is the answer, which is alice's to read.
    assert_eq!(needs(&run(&sandbox, "r", "status --json").exits(1)), [need("mail", "alice", 1)]);
}

#[test]
fn what_the_clock_could_not_do_is_told() {
    let sandbox = world();
    let job = "---\nwhen: {every: 1h}\nrun: \"true\"\ndeliverables: [out/done]\n---\n";
    sandbox.file("r/.loci-clock/jobs/a.md", job);
    // What nobody enrolled is nobody's trouble.
    run(&sandbox, "r", "status").exits(0);
    run(&sandbox, "r", "clock enroll .").exits(0);
    assert!(run(&sandbox, "r", "status").exits(1).stdout.contains("enrolled, and never kept"));
    until("the job is judged", || {
        run(&sandbox, "r", "clock once .").exits(0);
        sandbox.path("r/.loci-clock/ledger.jsonl").exists().then_some(())
    });
    let said = run(&sandbox, "r", "status").exits(1);
    assert!(said.stdout.contains("stuck  a  1x since 20") && said.stdout.contains("out/done"), "{said:?}");
    // A person is told anywhere, with the root in the command; what changed since waits too.
    sandbox.file("r/.loci-clock/jobs/a.md", job.replace("1h", "2h")).file("r/.loci-clock/jobs/b.md", "no header\n");
    let found = needs(&run(&sandbox, "home", "status --json").exits(1));
    assert_eq!(found, [need("stuck", "a", 1), need("job", "a", 1), need("job", "b", 1)]);
    let said = run(&sandbox, "home", "status").exits(1).stdout;
    let root = sandbox.path("r");
    assert!(said.contains(&format!("loci jobs accept a --root {}", root.display())), "{said}");
    assert!(said.contains(&format!("loci ledger --root {}", root.display())), "{said}");
    // One bad ledger hides nothing else.
    fs::remove_file(sandbox.path("r/.loci-clock/ledger.jsonl")).unwrap();
    sandbox.dir("r/.loci-clock/ledger.jsonl");
    let broken = run(&sandbox, "home", "status");
    assert!(broken.stderr.contains("ledger.jsonl"), "{broken:?}");
}

#[test]
fn a_gate_that_does_not_ask_is_told() {
    let sandbox = world();
    sandbox.exec("bin/codex", "#!/bin/sh\n");
    let gates = |sandbox: &Sandbox| needs(&run(sandbox, "r", "status --json"));
    // Whose directories there are, and a harness that asks nobody.
    assert_eq!(gates(&sandbox), [need("gate", "codex", 1)]);
    assert!(run(&sandbox, "r", "status").exits(1).stdout.ends_with("installed, and asks nobody before it writes  loci connect codex\n"));
    // Without owners there is nothing to ask about.
    run(&sandbox, "home", "status").exits(0);
    run(&sandbox, "r", "connect claude").exits(0);
    assert_eq!(gates(&sandbox), [need("gate", "codex", 1)]);
    let settings = sandbox.read("home/.claude/settings.json");
    sandbox.file("home/.claude/settings.json", settings.replacen('{', "{\n  \"disableAllHooks\": true,", 1));
    assert_eq!(gates(&sandbox), [need("gate", "claude", 1), need("gate", "codex", 1)]);
    let said = run(&sandbox, "r", "status").exits(1).stdout;
    assert!(said.contains("gate  claude  tampered: `disableAllHooks` is true"), "{said}");
    assert!(said.contains("  loci connect claude --check\n"), "{said}");
    run(&sandbox, "r", "disconnect claude").exits(0);
    fs::remove_file(sandbox.path("bin/codex")).unwrap();
    run(&sandbox, "r", "connect gemini --shared .").exits(0);
    run(&sandbox, "r", "status").exits(0);
}
