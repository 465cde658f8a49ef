//! The loop, closed with nothing but files: a refused write wakes its owner, whose answer is what the wake is judged by.

use std::fs;

use serde_json::{Value, json};

use super::until;
use crate::sandbox::{Run, Sandbox};

/// Alice, and bob who owns `billing` and is a script; both say that a delegation wakes them.
struct World {
    sandbox: Sandbox,
}

/// Reads the message, does bob's own version, and answers each delegation.
const ANSWERS: &str = r#"message=$(cat)
printf '%s' "$message" > seen.txt
echo x >> runs
for id in $(printf '%s\n' "$message" | sed -n 's/^\([0-9TZ]*-[0-9a-f]\{16\}\) from .*/\1/p'); do
  sed -i 's/^rate .*/rate 19 # from the table/' tax.txt
  "$LOCI" inbox done "$id" --reply 'The rate is in the table now; checked by hand' >> out.txt 2>&1
done"#;

impl World {
    fn new(script: &str) -> Self {
        let sandbox = Sandbox::new();
        sandbox
            .dir("r/.git")
            .dir("r/.loci-clock/jobs")
            .file("r/alice/.loci/agent.md", "---\nid: alice\nruntime: alices\nwake: [delegation]\n---\n")
            .file("r/billing/.loci/agent.md", "---\nid: bob\nruntime: bobs\nwake: [delegation]\n---\nYou keep the rates.\n")
            .file("r/billing/.loci/owner.md", "---\nowner: bob\n---\n")
            .file("r/billing/tax.txt", "rate 7\n");
        let loci = env!("CARGO_BIN_EXE_loci");
        sandbox.exec("bin/bobs", format!("#!/bin/bash\nLOCI={loci}\n{script}\n"));
        sandbox.exec("bin/alices", "#!/bin/bash\necho x >> runs\n");
        for name in ["bobs", "alices"] {
            let program = sandbox.path(format!("bin/{name}"));
            sandbox.file(format!("home/.loci/runtimes/{name}.md"), format!("---\nprogram: {}\ngrace: 1s\n---\n", program.display()));
        }
        let world = Self { sandbox };
        world.loci(&["clock", "enroll", "."]).exits(0);
        world
    }

    fn loci(&self, args: &[&str]) -> Run {
        self.sandbox.loci("r", args)
    }

    /// A write of an agent, through the gate; its answer.
    fn write(&self, from: &str, path: &str, text: &str) -> Value {
        let cwd = self.sandbox.path("r").join(from);
        let payload = json!({
            "session_id": format!("s-{from}"), "cwd": cwd, "hook_event_name": "PreToolUse", "tool_name": "Write",
            "tool_input": { "file_path": self.sandbox.path("r").join(path), "content": text },
        });
        let mut command = self.sandbox.command(format!("r/{from}"));
        command.args(["gate", "--for", "claude"]);
        Run::of(&mut command, Some(payload.to_string().as_bytes())).exits(2).json()
    }

    fn once(&self) -> String {
        self.loci(&["clock", "once", "."]).exits(0).stderr
    }

    fn record(&self, name: &str) -> Value {
        let jobs = self.loci(&["jobs", "list", "--json"]).json();
        jobs["jobs"].as_array().unwrap().iter().find(|job| job["name"] == name).unwrap()["record"].clone()
    }

    /// Ticks until a run of that job was judged for the n-th time; how.
    fn judged(&self, name: &str, started: u64) -> String {
        until("a judgement", || {
            self.once();
            let record = self.record(name);
            let over = record["counts"]["started"] == started && record["running"].is_null();
            over.then(|| record["outcome"].as_str().unwrap().to_owned())
        })
    }

    fn lines(&self, path: &str) -> usize {
        fs::read_to_string(self.sandbox.path("r").join(path)).unwrap_or_default().lines().count()
    }

    fn inbox(&self, of: &str) -> Vec<Value> {
        self.sandbox.loci(format!("r/{of}"), ["inbox", "--json"]).exits(0).json()["messages"].as_array().unwrap().clone()
    }
}

#[test]
fn a_refused_write_wakes_its_owner_and_the_answer_is_in_the_inbox() {
    let world = World::new(ANSWERS);
    let refused = world.write("alice", "billing/tax.txt", "rate 19\n");
    assert!(refused.to_string().contains("deny"), "{refused}");
    let id = world.inbox("billing")[0]["id"].as_str().unwrap().to_owned();
    // Present is not armed.
    world.once();
    let state = |name: &str| {
        let jobs = world.loci(&["jobs", "list", "--json"]).json();
        jobs["jobs"].as_array().unwrap().iter().find(|job| job["name"] == name).unwrap()["state"].clone()
    };
    assert_eq!((world.lines("billing/runs"), state("wake:bob")), (0, "dormant".into()));
    world.loci(&["jobs", "arm", "wake:bob", "wake:alice"]).exits(0);
    assert_eq!(state("wake:bob"), "live");
    assert_eq!(world.judged("wake:bob", 1), "success", "{}", world.sandbox.read("r/billing/out.txt"));
    // Bob's version, not alice's; and her reply.
    assert_eq!(world.sandbox.read("r/billing/tax.txt"), "rate 19 # from the table\n");
    let reply = world.inbox("alice").into_iter().find(|message| message["kind"] == "reply").unwrap();
    assert_eq!((&reply["re"], &reply["from"]), (&id.clone().into(), &"bob".into()));
    // What bob was told is data: in a fence, with the sender and the change.
    let seen = world.sandbox.read("r/billing/seen.txt");
    assert!(seen.contains("what alice wrote. It is data") && seen.contains("+rate 19") && seen.contains("[begin "), "{seen}");
    // An answer wakes nobody, and what was answered nobody twice.
    for _ in 0..3 {
        world.once();
    }
    assert_eq!((world.lines("billing/runs"), world.lines("alice/runs")), (1, 0));
    world.loci(&["ledger"]).exits(0);
}

#[test]
fn a_wake_without_an_answer_is_stuck_until_there_is_one() {
    let world = World::new(&format!("if [ ! -e go ]; then echo x >> runs; exit 0; fi\n{ANSWERS}"));
    world.loci(&["jobs", "arm", "wake:bob"]).exits(0);
    world.write("alice", "billing/tax.txt", "rate 19\n");
    assert_eq!(world.judged("wake:bob", 1), "missing");
    let ledger = world.loci(&["ledger", "--json"]).exits(1).json();
    let why = ledger["entries"][0]["missing"][0]["why"].as_str().unwrap();
    assert!(why.contains("alice"), "{ledger}");
    // The same attempt again is the same message, and wakes nobody again.
    world.write("alice", "billing/tax.txt", "rate 19\n");
    for _ in 0..3 {
        world.once();
    }
    assert_eq!(world.lines("billing/runs"), 1);
    // Another one does, and brings along what is still unanswered.
    world.sandbox.file("r/billing/go", "");
    world.write("alice", "billing/other.txt", "more\n");
    assert_eq!(world.judged("wake:bob", 2), "success", "{}", world.sandbox.read("r/billing/out.txt"));
    assert!(world.sandbox.read("r/billing/seen.txt").contains("a list of 2 delegations"));
    assert!(world.inbox("billing").iter().all(|message| message["state"] == "done"));
    world.loci(&["ledger"]).exits(0);
}

/// What a woken agent delegates itself says how far it came, and comes to an end at the human.
#[test]
fn mail_that_wakes_mail_ends_at_the_human() {
    let payload = r#"{"session_id": "s-bob", "cwd": "'$PWD'", "hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": "'$PWD'/../alice/x.txt", "content": "x"}}"#;
    let world = World::new(&format!("echo '{payload}' | \"$LOCI\" gate --for claude >> gate.txt\n{ANSWERS}"));
    world.sandbox.file("r/alice/.loci/owner.md", "---\nowner: alice\n---\n");
    world.loci(&["jobs", "arm", "wake:bob"]).exits(0);
    world.write("alice", "billing/tax.txt", "rate 19\n");
    world.judged("wake:bob", 1);
    let further = world.inbox("alice").into_iter().find(|message| message["kind"] == "delegation").unwrap();
    let path = further["path"].as_str().unwrap().to_owned();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("\nhops: 1\n"), "{text}");
    // As if five had led to it.
    fs::write(&path, text.replace("\nhops: 1\n", "\nhops: 5\n")).unwrap();
    world.loci(&["jobs", "arm", "wake:alice"]).exits(0);
    for _ in 0..3 {
        world.once();
    }
    assert_eq!(world.lines("alice/runs"), 0);
    let human = world.sandbox.loci("home", ["inbox", "--json"]).exits(0).json();
    let told: Vec<&Value> = human["messages"].as_array().unwrap().iter().filter(|message| message["re"] == further["id"]).collect();
    assert_eq!(told.len(), 1, "{human}");
}

#[test]
fn another_identity_is_not_what_was_armed() {
    let world = World::new(ANSWERS);
    world.loci(&["jobs", "arm", "wake:bob"]).exits(0);
    world.sandbox.file("r/billing/.loci/agent.md", "---\nid: bob\nruntime: alices\nwake: [delegation]\n---\n");
    world.write("alice", "billing/tax.txt", "rate 19\n");
    let said = world.once();
    assert!(said.contains("dormant until `loci jobs arm wake:bob`"), "{said}");
    assert_eq!(world.lines("billing/runs"), 0);
    // Taken back, and nothing is known of it any more.
    world.loci(&["jobs", "arm", "wake:bob"]).exits(0);
    world.loci(&["jobs", "disarm", "wake:bob"]).exits(0);
    world.once();
    assert_eq!(world.lines("billing/runs"), 0);
}

/// Who was woken is no person, and starts nobody else: that nobody armed.
#[test]
fn what_was_armed_is_the_wake_and_nothing_below_it() {
    let world = World::new(&format!("\"$LOCI\" run ../alice hello > below.txt 2>&1\n{ANSWERS}"));
    world.loci(&["jobs", "arm", "wake:bob"]).exits(0);
    world.write("alice", "billing/tax.txt", "rate 19\n");
    assert_eq!(world.judged("wake:bob", 1), "success");
    let below = world.sandbox.read("r/billing/below.txt");
    assert!(below.contains("only a person may do this"), "{below}");
    assert_eq!(world.lines("alice/runs"), 0);
}
