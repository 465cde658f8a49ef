//! `loci demo`: the whole story in a scratch folder, told by the real program.
//!
//! Nothing here knows how the verbs work: each step runs this very binary as a person or a harness
//! would, with a home of its own, and what is printed is what came back.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::{Answer, Outcome, grant};
use crate::custody::person::Person;
use crate::sys::process;
use crate::sys::program::{Finished, Program};
use crate::sys::{disk, env, random, shown, term};

/// Tells the whole story in a scratch folder
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Leave the scratch folder there, to look around in it
    #[arg(long)]
    keep: bool,
}

/// What the story is about: a file of the billing service, as it is and as somebody wants it.
const MONEY: &str = "pub fn cents(amount: f64) -> i64 {\n    (amount * 100.0) as i64\n}\n";
const MONEY_WANTED: &str = "pub fn cents(amount: f64) -> i64 {\n    (amount * 100.0).round() as i64\n}\n";
/// What she wants after that.
const MONEY_MORE: &str = "/// Rounded to the nearest.\npub fn cents(amount: f64) -> i64 {\n    (amount * 100.0).round() as i64\n}\n";
/// A job, the script that says it has done it, and the script that does it.
const JOB: &str = "---\nwhen: {cron: \"0 3 * * *\"}\nrun: ./report.sh\ndeliverables: [out/report.md]\n---\n";
const CLAIMS: &str = "#!/bin/sh\necho 'report written'\n";
const DOES: &str = "#!/bin/sh\nmkdir -p out && echo '42 invoices' > out/report.md\n";

/// Runs the verb.
///
/// # Errors
/// Inside an agent's session; where the scratch folder can't be made, or a step of the story does not end as it should.
pub fn run(context: &Context, args: Args) -> Outcome {
    if let Person::No(evidence) = grant::person(context) {
        let why = format!("the demo plays a person as well, who grants what only a person may, and none asks here: {evidence}");
        return Err(Failure::new("grant", why).hint("loci help --all"));
    }
    let scratch = make_scratch(context)?;
    let mut story = Story { context, repo: scratch.join("repo"), home: scratch.join("home"), told: Vec::new(), program: own_program()? };
    let told = story.tell();
    let steps = std::mem::take(&mut story.told);
    if args.keep {
        context.say(&format!("kept: {}", shown::path(&scratch)));
    } else {
        disk::remove_tree(&scratch)?;
    }
    told?;
    if context.flags.json {
        context.print(String::new, || json!({ "schema": 1, "steps": steps }))?;
    }
    Ok(Answer::Yes)
}

fn own_program() -> Result<PathBuf, Failure> {
    process::own_program().map_err(|error| Failure::new("io", "failed to find the running program").caused_by(&error))
}

fn make_scratch(context: &Context) -> Result<PathBuf, Failure> {
    let name = random::hex20().map_err(|error| Failure::new("io", "failed to get a random name").caused_by(&error))?;
    let base = context.env.get(env::TMPDIR).map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let scratch = base.join(format!("loci-demo-{name}"));
    for dir in ["home", "repo/services"] {
        disk::make_dirs(&scratch.join(dir))?;
    }
    Ok(disk::canonical(&scratch)?)
}

/// The telling: where it happens, and what was said so far.
struct Story<'a> {
    context: &'a Context,
    repo: PathBuf,
    home: PathBuf,
    told: Vec<Value>,
    program: PathBuf,
}

impl Story<'_> {
    fn tell(&mut self) -> Result<(), Failure> {
        self.say("Two agents. Each is a directory, made from a template.")?;
        self.briefly(&["new", "agents/alice"])?;
        self.briefly(&["new", "services/billing", "--template", "custodian"])?;
        let file = self.repo.join("services/billing/money.rs");
        disk::write_new(&file, MONEY.as_bytes(), 0o644)?;

        self.say("Whose is what? The tree says it, and names the file that does.")?;
        self.loci(0, &["where", "services/billing/money.rs"])?;

        self.say("Alice, inside a coding agent, reads a file of billing. The gate lets her: nothing is printed.")?;
        let read = json!({ "file_path": file });
        self.asks(0, "Read", &read)?;

        self.say("She writes to it. The write does not happen; this is what her model reads instead.")?;
        let write = json!({ "file_path": file, "content": MONEY_WANTED });
        self.asks(2, "Write", &write)?;
        self.holds(&file, MONEY)?;

        self.say("The same attempt again is no second message. Billing finds one piece of work in its inbox.")?;
        self.asks_quietly("Write", &write)?;
        self.loci(0, &["inbox", "billing"])?;
        let id = self.first_message()?;
        self.loci(0, &["inbox", "show", &id])?;

        self.say("What only she knows goes along: what she has read, and what she wants.")?;
        let words = "I read money.rs; a fraction of a cent is cut off, my idea is to round";
        self.loci_in(&self.repo.join("agents/alice"), 0, &["handover", &id, words])?;

        self.say("Billing takes it, brings the change in, and answers. It is its directory: the gate says yes.")?;
        self.loci(0, &["check", "--as", "billing", "services/billing/money.rs"])?;
        self.loci(0, &["inbox", "take", &id, "--as", "billing"])?;
        self.loci(0, &["inbox", "apply", &id, "--as", "billing"])?;
        self.holds(&file, MONEY_WANTED)?;
        self.loci(0, &["inbox", "done", &id, "--as", "billing", "--reply", "rounded, in the one place that knows how"])?;
        self.loci(0, &["inbox", "alice"])?;

        self.equips()?;
        self.keeps_time()?;
        self.wakes(&file)?;

        self.say("All of it is files. Nothing runs in the background, and the tree is the only register.")?;
        self.loci(0, &["tree"])?;
        self.say("Now yours: `loci init`, then `loci new DIR`, `loci connect claude`, and start the agent in DIR.")
    }

    /// A set is put on and taken off; the hash tells that all is as before.
    fn equips(&mut self) -> Result<(), Failure> {
        let billing = self.repo.join("services/billing");
        let id = ["loadout", "id", "--with", "skills,agents"];
        self.say("Equipment is renaming. Billing puts a skill aside, and keeps how things are now as a set.")?;
        self.loci_in(&billing, 0, &id)?;
        self.loci_in(&billing, 0, &["toggle", "skills/inbox", "off"])?;
        self.loci_in(&billing, 0, &["sets", "save", "focus"])?;
        self.loci_in(&billing, 0, &["toggle", "skills/inbox", "on"])?;
        self.say("The set is put on and taken back. The hash of what the files are says that nothing is left of it.")?;
        self.loci_in(&billing, 0, &["equip", "focus"])?;
        self.loci_in(&billing, 0, &id)?;
        self.loci_in(&billing, 0, &["unequip"])?;
        self.loci_in(&billing, 0, &id)
    }

    /// A job that ends with zero and leaves nothing, and the same job doing its work.
    fn keeps_time(&mut self) -> Result<(), Failure> {
        self.say("A job says when, what, and what must be left behind. A person lets it run.")?;
        disk::make_dirs(&self.repo.join(".loci-clock/jobs"))?;
        self.writes(".loci-clock/jobs/report.md", JOB, 0o644)?;
        self.writes("report.sh", CLAIMS, 0o755)?;
        self.loci(0, &["clock", "enroll", "."])?;
        self.say("It exits with zero and leaves nothing. Success is the file, so this is none, and it stays in the ledger.")?;
        self.loci(1, &["jobs", "run", "report"])?;
        self.loci(1, &["ledger"])?;
        self.say("The script is mended, and looked at again by a person, since what runs has changed.")?;
        self.writes("report.sh", DOES, 0o755)?;
        self.loci(0, &["jobs", "accept", "report"])?;
        self.loci(0, &["jobs", "run", "report"])?;
        self.loci(0, &["ledger"])
    }

    /// Mail wakes its owner, who is judged by the answer.
    fn wakes(&mut self, file: &Path) -> Result<(), Failure> {
        self.say("Both together: mail may wake its owner, once a person has armed that. A script plays the model here.")?;
        let model = format!(
            "#!/bin/sh\ncat > /dev/null    # what woke it\nid=$('{0}' inbox | grep ' new ' | cut -d ' ' -f 1)\n\
             '{0}' inbox apply \"$id\" && '{0}' inbox done \"$id\" --reply 'brought in as it was'\n",
            self.program.to_string_lossy().replace('\'', "'\\''")
        );
        disk::make_dirs(&self.home.join(".loci/runtimes"))?;
        let script = self.home.join("model.sh");
        disk::write_new(&script, model.as_bytes(), 0o755)?;
        let socket = format!("---\nprogram: {}\n---\n", Value::from(script.to_string_lossy()));
        disk::write_new(&self.home.join(".loci/runtimes/script.md"), socket.as_bytes(), 0o644)?;
        let identity = "---\nid: billing\nruntime: script\nwake: [delegation]\n---\n";
        self.writes("services/billing/.loci/agent.md", identity, 0o644)?;
        self.loci(0, &["jobs", "arm", "wake:billing"])?;
        self.asks_quietly("Write", &json!({ "file_path": file, "content": MONEY_MORE }))?;
        self.say("Alice has tried to write again. The clock would see it within seconds; here it is told to look now.")?;
        self.loci(0, &["jobs", "run", "wake:billing"])?;
        self.holds(file, MONEY_MORE)?;
        self.loci(0, &["inbox", "billing"])?;
        self.loci(0, &["inbox", "alice"])
    }

    /// Writes a file of the repository, and shows it.
    fn writes(&mut self, path: &str, text: &str, mode: u32) -> Result<(), Failure> {
        disk::replace(&self.repo.join(path), text.as_bytes(), Some(mode))?;
        self.told.push(json!({ "file": path, "text": text }));
        let lines: String = text.lines().map(|line| format!("  {line}\n")).collect();
        self.print(&format!("{path}:\n{lines}"))
    }

    /// What the narrator says.
    fn say(&mut self, words: &str) -> Result<(), Failure> {
        self.told.push(json!({ "say": words }));
        self.print(&format!("\n# {words}\n"))
    }

    fn print(&self, text: &str) -> Result<(), Failure> {
        if self.context.flags.json {
            return Ok(());
        }
        term::out(text.as_bytes()).map_err(|error| Failure::new("io", "failed to write to standard output").caused_by(&error))
    }

    /// A verb, run in the repository.
    fn loci(&mut self, exit: i32, args: &[&str]) -> Result<(), Failure> {
        let repo = self.repo.clone();
        self.loci_in(&repo, exit, args)
    }

    /// A verb whose first line says enough.
    fn briefly(&mut self, args: &[&str]) -> Result<(), Failure> {
        let shown = args.join(" ");
        self.print(&format!("$ loci {shown}\n"))?;
        let mut done = self.start(&self.repo, args, &[], None)?;
        if let Some(end) = done.stdout.iter().position(|byte| *byte == b'\n') {
            let more = done.stdout.iter().skip(end + 1).filter(|byte| **byte == b'\n').count();
            done.stdout.truncate(end + 1);
            done.stdout.extend_from_slice(format!("  … and {more} files and links, listed one by one\n").as_bytes());
        }
        self.show(&format!("loci {shown}"), 0, &done)
    }

    fn loci_in(&mut self, cwd: &Path, exit: i32, args: &[&str]) -> Result<(), Failure> {
        let shown = args.iter().map(|arg| quoted(arg)).collect::<Vec<_>>().join(" ");
        let place = cwd.strip_prefix(&self.repo).ok().filter(|rest| !rest.as_os_str().is_empty());
        let prompt = place.map_or_else(String::new, |place| format!("{} ", shown::path(place)));
        self.print(&format!("{prompt}$ loci {shown}\n"))?;
        let done = self.start(cwd, args, &[], None)?;
        self.show(&format!("loci {shown}"), exit, &done)
    }

    /// A tool call of alice's, as the harness hands it to the gate before it runs.
    fn asks(&mut self, exit: i32, tool: &str, input: &Value) -> Result<(), Failure> {
        self.print(&format!("alice: {tool} services/billing/money.rs\n"))?;
        let done = self.gate(tool, input)?;
        self.show(&format!("gate: {tool}"), exit, &done)
    }

    fn asks_quietly(&mut self, tool: &str, input: &Value) -> Result<(), Failure> {
        let done = self.gate(tool, input)?;
        self.told.push(json!({ "run": format!("gate: {tool}"), "exit": done.code }));
        Ok(())
    }

    fn gate(&self, tool: &str, input: &Value) -> Result<Finished, Failure> {
        let alice = self.repo.join("agents/alice");
        let payload = json!({
            "session_id": "demo", "hook_event_name": "PreToolUse", "cwd": alice, "tool_name": tool, "tool_input": input,
        });
        self.start(&alice, &["gate", "--for", "claude"], payload.to_string().as_bytes(), Some("alice"))
    }

    fn start(&self, cwd: &Path, args: &[&str], stdin: &[u8], agent: Option<&str>) -> Result<Finished, Failure> {
        let mut env: BTreeMap<OsString, OsString> = [(env::HOME.into(), self.home.clone().into())].into();
        if let Some(path) = self.context.env.get(env::PATH) {
            env.insert(env::PATH.into(), path.to_owned());
        }
        if let Some(agent) = agent {
            env.insert(env::LOCI_AGENT.into(), agent.into());
        }
        let args = args.iter().map(OsString::from).collect();
        let program = Program { file: &self.program, args, cwd, env, stdin, limit: Duration::from_secs(30), keep: 1 << 20 };
        program.run().map_err(|error| Failure::new("io", "failed to start the running program again").caused_by(&error))
    }

    /// Shows what a step printed, and stops the story where it did not end as it should.
    fn show(&mut self, what: &str, exit: i32, done: &Finished) -> Result<(), Failure> {
        let (stdout, stderr) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        self.told.push(json!({ "run": what, "exit": done.code, "stdout": stdout, "stderr": stderr }));
        // The gate says the same on both streams, once for programs and once for people.
        let text = if exit == 2 { stderr.into_owned() } else { format!("{stdout}{stderr}") };
        for line in text.lines() {
            self.print(&format!("  {line}\n"))?;
        }
        if done.code == Some(exit) { Ok(()) } else { Err(Failure::new("demo", format!("`{what}` ended with {:?}, not {exit}", done.code))) }
    }

    /// Holds the story to its word: what stands in the file is what was said.
    fn holds(&self, file: &Path, text: &str) -> Result<(), Failure> {
        if disk::read(file)? == text.as_bytes() {
            Ok(())
        } else {
            Err(Failure::new("demo", "the file does not have what was told").at(file, None))
        }
    }

    /// The id of the one message that billing has.
    fn first_message(&self) -> Result<String, Failure> {
        let done = self.start(&self.repo, &["inbox", "billing", "--json"], &[], None)?;
        let list: Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
        let messages = list.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        match messages {
            [one] => Ok(one.get("id").and_then(Value::as_str).unwrap_or_default().to_owned()),
            other => Err(Failure::new("demo", format!("billing has {} messages, not one", other.len()))),
        }
    }
}

/// A word as a person would type it.
fn quoted(arg: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,=:".contains(c);
    if !arg.is_empty() && arg.chars().all(plain) { arg.to_owned() } else { format!("'{}'", arg.replace('\'', "'\\''")) }
}
