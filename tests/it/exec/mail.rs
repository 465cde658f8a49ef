//! Mail from inside of a jail: parked in the sender's outbox, delivered from outside.

use super::{World, as_each};
use crate::sandbox::Run;

fn inbox(world: &World, owner: &str) -> Vec<String> {
    let dir = format!("home/repo/{owner}/.loci/memory/inbox/new");
    if !world.path(&dir).is_dir() {
        return Vec::new();
    }
    world.world().snapshot(dir).into_values().filter(|text| text.contains("kind: ")).collect()
}

#[test]
fn a_delegation_from_inside_arrives_when_the_command_has_ended() {
    as_each(|world| {
        let loci = env!("CARGO_BIN_EXE_loci");
        let ask = format!("{loci} delegate bob --reads bob/x.txt --idea 'Say it in lower case'");
        let run = world.run(&format!("{ask} && {ask} && ls .loci/memory/outbox | wc -l")).exits(0);
        assert!(
            run.stdout.contains("waits in .loci/memory/outbox until it can be delivered to bob") && run.stdout.ends_with("\n1\n"),
            "{run:?}"
        );
        assert!(run.stderr.contains("loci: delivered to bob from the outbox: "), "{run:?}");
        let mail = inbox(world, "bob");
        assert_eq!(mail.len(), 1, "{mail:?}");
        assert!(mail[0].contains("from: \"alice\"") && mail[0].contains("Say it in lower case"), "{mail:?}");
        assert_eq!(std::fs::read_dir(world.repo().join(".loci/memory/outbox")).unwrap().count(), 0);
        // The id that was told inside is the one that it has.
        let id = run.stdout.split_whitespace().next().unwrap();
        let key = id.rsplit_once('-').unwrap().1;
        assert!(world.repo().join(format!("bob/.loci/memory/inbox/new/{key}.md")).exists(), "{id}");
    });
}

/// What is put into an outbox by hand says no more than its sender could: it is judged again, and the
/// sender is who the outbox belongs to.
/// So does an answer: the sender has it, and the log says so, as soon as somebody outside has looked. Twice is once.
#[test]
fn an_answer_from_inside_arrives_too() {
    as_each(|world| {
        let asked = Run::of(
            world
                .loci(["delegate", "alice", "--reads", "alice_inner/a.txt", "--idea", "Say it louder", "--json"])
                .current_dir(world.repo().join("bob")),
            None,
        );
        let id = asked.exits(0).json()["messages"][0]["id"].as_str().unwrap().to_owned();
        let loci = env!("CARGO_BIN_EXE_loci");
        let line = format!("{loci} inbox done {id} --reply 'It is louder now' && {loci} inbox done {id} --reply 'Once more'");
        let done = world.run(&line).exits(0);
        assert!(done.stdout.contains("the answer waits in") && done.stderr.contains("answer delivered to bob"), "{done:?}");
        let mail: String = world.world().snapshot("home/repo/bob/.loci/memory/inbox/new").into_values().collect();
        assert!(mail.contains("It is louder now") && mail.contains("kind: reply") && !mail.contains("Once more"), "{mail}");
        let again = Run::of(&mut world.loci(["inbox", "done", &id, "--reply", "x"]), None).exits(1);
        assert!(again.stderr.contains("done already"), "{again:?}");
        // An answer in the name of somebody else is dropped.
        let forged = r#"printf '{"schema":1,"at":"2026-06-01T00:00:00Z","inbox":"{REPO}/bob/.loci/memory/inbox","key":"0123456789abcdef","state":"done","text":"x"}' > .loci/memory/outbox/0123456789abcdef.answer.json"#;
        let dropped = world.run(&format!("mkdir -p .loci/memory/outbox; {forged}")).exits(0);
        assert!(dropped.stderr.contains("it answers a message of somebody else's"), "{dropped:?}");
    });
}

/// Its journal is one of the body's own: what stands in the one of a person can't be written from inside.
#[test]
fn a_change_is_brought_in_from_inside() {
    as_each(|world| {
        let file = world.repo().join("bob/alice_inner/a.txt");
        let patch = world.path("home/change.patch");
        std::fs::write(&patch, "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n a\n+louder\n").unwrap();
        let mut ask = world.loci(["delegate", "alice", "--reads", "a.txt", "--idea", "Say it louder", "--json", "--patch"]);
        let asked = Run::of(ask.arg(&patch).current_dir(world.repo().join("bob/alice_inner")).env("LOCI_AGENT", "bob"), None);
        let id = asked.exits(0).json()["messages"][0]["id"].as_str().unwrap().to_owned();
        let loci = env!("CARGO_BIN_EXE_loci");
        let forged = world.path("state/loci/journal/apply-0.json");
        let applied = world.run(&format!("{loci} inbox apply {id} && echo '{{}}' > {}", forged.display())).exits(0);
        assert!(applied.stdout.contains("a.txt"), "{applied:?}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "a\nlouder\n");
        assert!(forged.parent().unwrap().is_dir() && !forged.exists());
    });
}

#[test]
fn a_forged_message_is_the_senders_own() {
    let world = World::new(None);
    let run = |script: &str| Run::of(&mut world.exec(script), None);
    let loci = env!("CARGO_BIN_EXE_loci");
    let forge = format!(
        "{loci} delegate bob --reads bob/x.txt --idea one && cd .loci/memory/outbox && f=$(ls) && \
         sed -e 's/\"tool\":\"delegate\"/\"tool\":\"delegate\",\"from\":\"carol\"/' $f > 0123456789abcdef.json && \
         sed -e 's,{{REPO}}/bob/x.txt,{{REPO}}/free/f.txt,g' $f > 0123456789abcdee.json && echo odd > 0123456789abcded.json && echo x > readme"
    );
    let done = run(&forge).exits(0);
    let mail = inbox(&world, "bob");
    assert!(mail.len() == 1 && mail[0].contains("from: \"alice\""), "{mail:?} {done:?}");
    assert_eq!(done.stderr.matches("was dropped").count(), 3, "{done:?}");
    assert!(done.stderr.contains("nothing of it is somebody else's by now"), "{done:?}");
}

/// One that was killed before it could deliver: the next call of the verb outside does it.
#[test]
fn what_still_waits_goes_with_the_next_call() {
    let world = World::new(None);
    let loci = env!("CARGO_BIN_EXE_loci");
    let mut command = world.exec(&format!("{loci} delegate bob --reads bob/x.txt --idea one > /dev/null; kill -9 $PPID"));
    assert_eq!(command.status().unwrap().code(), None);
    assert!(inbox(&world, "bob").is_empty());
    let outside = Run::of(&mut world.loci(["delegate", "carol", "--reads", "carol/c.txt", "--idea", "two"]), None).exits(0);
    assert!(outside.stderr.contains("delivered to bob from the outbox"), "{outside:?}");
    assert_eq!((inbox(&world, "bob").len(), inbox(&world, "carol").len()), (1, 1));
}

/// What loci writes for the sender, once outside again, goes where it belongs or nowhere.
#[test]
fn a_link_in_the_memory_leads_no_mail_astray() {
    let world = World::new(None);
    let repo = world.repo();
    let lead = |prepare: &str| {
        let bob = world.theirs();
        let run = Run::of(&mut world.exec(&format!("{prepare}; touch carol/x 2>/dev/null; true")), None).exits(0);
        assert_eq!(world.theirs(), bob, "{prepare}: {run:?}");
        std::fs::remove_dir_all(repo.join(".loci/memory")).or_else(|_| std::fs::remove_file(repo.join(".loci/memory"))).unwrap();
    };
    let bob = repo.join("bob");
    let bob = bob.display();
    lead(&format!("mkdir -p .loci/memory/sent; ln -s {bob}/x.txt .loci/memory/sent/log.jsonl"));
    lead(&format!("mkdir -p .loci/memory; ln -s {bob} .loci/memory/sent"));
    lead(&format!("rm -rf .loci/memory; ln -s {bob} .loci/memory"));
    lead(&format!("mkdir -p .loci/memory; ln -s {bob}/data .loci/memory/outbox"));
}
