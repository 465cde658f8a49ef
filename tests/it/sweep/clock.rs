//! What is due.

use super::engine::{Row, words};
use crate::sandbox::Sandbox;
use crate::waiting::set_time;

const JOB: &str = "---\nwhen: {every: 1m}\nrun: \"echo x >> started; echo ok > out/done\"\ndeliverables: [out/done]\n---\n";

fn root() -> Sandbox {
    let world = Sandbox::in_memory();
    world
        .file("home/.loci/agent.md", "---\nid: me\n---\n")
        .file("r/.loci/agent.md", "---\nid: a\n---\n")
        .file("r/.loci-clock/jobs/a.md", JOB)
        .file("r/.loci-clock/jobs/model.md", "---\nwhen: {every: 1h}\nrun: claude -p x\n---\n")
        .file("r/.loci-clock/loops/l.md", "---\nhooks: []\nexit: state.n >= 3\n---\nGo on.\n")
        .dir("r/out");
    set_time(&world, 0);
    world
}

fn loci(world: &Sandbox, args: &[&str]) {
    let mut command = world.command("r");
    command.args(args).env("LOCI_TEST_NOW", world.path("now"));
    crate::sandbox::Run::of(&mut command, None).exits(0);
}

fn enrolled() -> Sandbox {
    let world = root();
    loci(&world, &["clock", "enroll", "."]);
    world
}

fn later() -> Sandbox {
    let world = enrolled();
    world.file("r/.loci-clock/jobs/b.md", JOB);
    world
}

fn armed() -> Sandbox {
    let world = enrolled();
    loci(&world, &["jobs", "arm", "model", "loop:l"]);
    world
}

fn looping() -> Sandbox {
    let world = armed();
    loci(&world, &["loop", "start", "l"]);
    world
}

/// What a job has left, however often it was asked for: started twice at most, and nothing of it is half.
fn ran(world: &Sandbox) -> Result<(), String> {
    let text = |path: &str| std::fs::read_to_string(world.path(path)).unwrap_or_default();
    let (started, done) = (text("r/started").lines().count(), text("r/out/done"));
    if started > 2 {
        Err(format!("started {started} times"))
    } else if done.is_empty() || done == "ok\n" {
        Ok(())
    } else {
        Err(done)
    }
}

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row::new("clock enroll", root, "r", |_| words("clock enroll .")),
        Row { note: "systemd", ..Row::new("clock install", enrolled, "r", |_| words("clock install --systemd")) },
        Row::new("jobs accept", later, "r", |_| words("jobs accept b")),
        Row::new("jobs arm", enrolled, "r", |_| words("jobs arm model")),
        Row { again: 1, ..Row::new("jobs disarm", armed, "r", |_| words("jobs disarm model")) },
        Row { again: 2, ..Row::new("loop start", armed, "r", |_| words("loop start l")) },
        Row { again: 1, ..Row::new("loop stop", looping, "r", |_| words("loop stop")) },
        Row { again: 1, end: Some(ran), ..Row::new("jobs run", enrolled, "r", |_| words("jobs run a")) },
        Row { again: 1, end: Some(ran), ..Row::new("clock once", enrolled, "r", |_| words("clock once .")) },
    ]
}

#[test]
fn what_is_due() {
    super::engine::sweep(&rows());
}
