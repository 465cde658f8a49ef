//! `loci run --jail`: a whole session inside, with a program that stands for a harness.

use super::{World, as_each};
use crate::sandbox::Run;

/// A socket `x` whose program is this script.
fn socket(world: &World, script: &str) {
    world.world().exec("home/bin/x", format!("#!/bin/bash\n{}\n", world.filled(script)));
    world
        .world()
        .file("home/.loci/runtimes/x.md", format!("---\nprogram: {}\nheadless: []\ngrace: 1s\n---\n", world.path("home/bin/x").display()));
    world.own();
}

fn run(world: &World, words: &[&str]) -> Run {
    Run::of(&mut world.loci(["run", ".", "do it", "--runtime", "x"].iter().chain(words)), None)
}

#[test]
fn a_session_works_and_what_is_others_is_held() {
    as_each(|world| {
        let before = world.theirs();
        socket(
            world,
            "cat; echo $LOCI_AGENT $LOCI_BODY; test -n \"$LOCI_RUN\" && echo run; echo z > bob/x.txt; echo w > free/w; mkdir -p $HOME/.x/sessions && \
             echo s > $HOME/.x/sessions/1; (exec 2>/dev/null; echo x > .claude/settings.json); exit 5",
        );
        let done = run(world, &["--jail"]).exits(5);
        assert_eq!(done.stdout, format!("do italice {}\nrun\n", world.repo().display()));
        assert!(before == world.theirs() && world.world().read("home/repo/free/w") == "w\n", "{done:?}");
        assert_eq!(world.world().read("home/.x/sessions/1"), "s\n");
        for line in
            ["loci: refused: write bob/x.txt (bob's), by x", "loci: handed over to bob", "write .claude/settings.json (the human's)"]
        {
            assert!(done.stderr.contains(line), "{line}: {done:?}");
        }
        // What tried it goes along, as it was called.
        let mail: String = world.world().snapshot("home/repo/bob/.loci/memory/inbox/new").into_values().collect();
        assert!(mail.contains("change: \"command\"") && mail.contains("/bin/bash") && mail.contains("home/bin/x"), "{mail}");
        // Whether the test can see: without it the same session changes them.
        assert!(run(world, &[]).exits(5).stderr.find("refused").is_none());
        assert!(before != world.theirs());
    });
}

/// With layers the writes of its programs happen for it, and are a patch at the end.
#[test]
fn what_its_programs_write_is_captured_where_that_is_wanted() {
    as_each(|world| {
        let before = world.theirs();
        socket(world, "echo z >> bob/x.txt; cat bob/x.txt");
        let done = run(world, &["--jail", "--capture"]).exits(0);
        assert_eq!(done.stdout, "bob1\nz\n");
        assert!(before == world.theirs() && done.stderr.contains("captured, NOT applied: write bob/x.txt (bob's)"), "{done:?}");
        let mail: String = world.world().snapshot("home/repo/bob/.loci/memory/inbox/new").into_values().collect();
        assert!(mail.contains("+z") && mail.contains("tool: \"run\""), "{mail}");
        run(world, &["--capture"]).exits(2);
    });
}

/// Its mail does not wait for its end: here it waits for its own answer.
#[test]
fn mail_goes_out_while_it_goes_on() {
    as_each(|world| {
        let loci = env!("CARGO_BIN_EXE_loci");
        socket(
            world,
            &format!(
                "{loci} delegate bob --reads bob/x.txt --idea 'Say it in lower case' > /dev/null || exit 9; \
                 for i in $(seq 600); do grep -qs 'lower case' bob/.loci/memory/inbox/new/*.md && exec echo arrived; sleep 0.1; done; exit 8"
            ),
        );
        let done = run(world, &["--jail"]).exits(0);
        assert_eq!(done.stdout, "arrived\n", "{done:?}");
        assert!(done.stderr.contains("loci: delivered to bob from the outbox: "), "{done:?}");
    });
}

/// What hooks remember of its sessions is its own: they can write it, and nobody else's is touched.
#[test]
fn hooks_remember_inside_and_say_who_asks_to_nobody_outside() {
    as_each(|world| {
        let loci = env!("CARGO_BIN_EXE_loci");
        let payload = r#"{"hook_event_name":"PreToolUse","session_id":"s-9","cwd":"{REPO}","tool_name":"Write","tool_input":{"file_path":"bob/x.txt","content":"new\n"},"tool_use_id":"c-1"}"#;
        world.world().file("home/repo/free/payload", world.filled(payload));
        let forge = r#"echo '{"asker":{"agent":"bob","body":null}}' > {HOME}/../state/loci/sessions/s-8.json && echo forged"#;
        socket(world, &format!("{loci} gate --for claude < free/payload > free/answer; ls {{HOME}}/../state/loci/sessions; {forge}"));
        let before = world.world().snapshot("state/loci/sessions");
        let done = run(world, &["--jail"]).exits(0);
        // Its own folder is seen in that place, with the session of the gate in it.
        assert_eq!(done.stdout, "s-9.json\nforged\n", "{done:?}");
        assert!(!done.stderr.contains("could not be kept"), "{done:?}");
        assert!(before == world.world().snapshot("state/loci/sessions"), "{done:?}");
        // What the gate refuses there is mail with the change.
        let mail: String = world.world().snapshot("home/repo/bob/.loci/memory/inbox/new").into_values().collect();
        assert!(mail.contains("session: \"s-9\"") && mail.contains("+new") && mail.contains("from: \"alice\""), "{mail} {done:?}");
        // The next run of the same body remembers.
        socket(world, "ls {HOME}/../state/loci/sessions");
        assert_eq!(run(world, &["--jail"]).exits(0).stdout, "s-8.json\ns-9.json\n");
    });
}

/// Nothing runs unheld.
#[test]
fn where_there_is_no_jail_nothing_runs() {
    let world = World::new(None);
    socket(&world, "echo ran > free/ran");
    let mut command = world.loci(["run", ".", "do it", "--runtime", "x", "--jail"]);
    super::degrade::without(&mut command, &[nix::libc::SYS_unshare, nix::libc::SYS_mount], nix::libc::EPERM);
    let done = Run::of(&mut command, None).exits(126);
    assert!(done.stderr.contains("failed to make a user and a mount namespace: EPERM; the command was NOT run"), "{done:?}");
    assert!(!world.repo().join("free/ran").exists());
    let plan = run(&world, &["--jail", "--dry-run"]).exits(0);
    assert!(plan.stdout.contains("held   by the kernel"), "{plan:?}");
}
