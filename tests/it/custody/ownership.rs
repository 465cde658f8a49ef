//! Whose is it: links, `..`, nesting, commons, the wall, hostile owner files.

use std::fs;
use std::path::Path;

use loci::custody::act::ActKind;
use loci::custody::asker::{self, Asker};
use loci::custody::{Verdict, Who, find, rule};
use loci::sys::env::Env;
use loci::sys::time::Timestamp;

use super::{agent, on_name, said, write};
use crate::cases::filetool::{fixture, surroundings};
use crate::sandbox::Sandbox;

use Verdict::{Allow, Refuse, Unknown};

#[test]
fn links_and_dots_lead_to_the_owner() {
    let world = fixture();
    let repo = world.path("home/repo");
    let alice = agent("alice", &repo);
    for (path, verdict, why) in [
        ("owned/a.txt", Refuse, "owned"),
        ("owned/new/deep/x", Refuse, "owned"),
        ("link-to-owned/a.txt", Refuse, "owned"),
        ("link-a.txt", Refuse, "owned"),
        ("free/../owned/a.txt", Refuse, "owned"),
        ("owned/../free/x.txt", Allow, "home"),
        ("owned/link-out/x.txt", Allow, "home"),
        ("owned2/q.txt", Allow, "home"),
        ("owned", Refuse, "owned"),
    ] {
        assert_eq!(said(&world, &alice, write(repo.join(path))), (verdict, why), "{path}");
    }
    world.link("home/repo/free/dangling", "../owned/not-yet");
    assert_eq!(said(&world, &alice, write(repo.join("free/dangling"))), (Refuse, "owned"));
}

#[test]
fn a_link_itself_belongs_to_where_it_stands() {
    let world = fixture();
    let repo = world.path("home/repo");
    let alice = agent("alice", &repo);
    let remove = |path: &str| said(&world, &alice, on_name(ActKind::Remove, repo.join(path)));
    assert_eq!(remove("link-to-owned"), (Allow, "home"));
    assert_eq!(remove("link-a.txt"), (Allow, "home"));
    assert_eq!(remove("owned/link-out"), (Refuse, "owned"));
    assert_eq!(remove("owned/a.txt"), (Refuse, "owned"));
    assert_eq!(said(&world, &alice, on_name(ActKind::Link, repo.join("owned/l"))), (Refuse, "owned"));
}

#[test]
fn taking_a_directory_away_asks_for_what_is_below() {
    let world = fixture();
    let repo = world.path("home/repo");
    world.file("home/repo/deep/er/place/.loci/owner.md", "---\nowner: bob\n---\n");
    world.file("home/repo/deep/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55");
    let alice = agent("alice", &repo);
    assert_eq!(said(&world, &alice, on_name(ActKind::Remove, repo.join("deep"))), (Refuse, "owned-below"));
    assert_eq!(said(&world, &alice, on_name(ActKind::Rename, repo.join("deep/er"))), (Refuse, "owned-below"));
    assert_eq!(said(&world, &alice, on_name(ActKind::Remove, repo.join("free"))), (Allow, "home"));
    // Her own body would take bob's directory and her identity file along.
    assert_eq!(said(&world, &alice, on_name(ActKind::Remove, repo.clone())).0, Refuse);
    // A write into the directory takes nothing along.
    assert_eq!(said(&world, &alice, write(repo.join("deep/x"))), (Allow, "home"));
}

#[test]
fn owners_nest_and_home_is_always_yours() {
    let world = Sandbox::new();
    world.file("r/.loci/owner.md", "---\nowner: lead\n---\n");
    world.file("r/a/.loci/owner.md", "---\nowner: alice\nbody: .\n---\n");
    world.file("r/a/.loci/agent.md", "---\nid: alice\n---\n");
    world.file("r/a/b/.loci/owner.md", "---\nowner: bob\n---\n");
    world.file("r/a/b/alice/.loci/owner.md", "---\nowner: alice\n---\n");
    world.file("r/guest/.loci/agent.md", "---\nid: guest\n---\n");
    let alice = agent("alice", world.path("r/a"));
    let guest = agent("guest", world.path("r/guest"));
    let at = |asker: &Asker, path: &str| said(&world, asker, write(world.path(path)));
    assert_eq!(at(&alice, "r/x"), (Refuse, "owned"));
    assert_eq!(at(&alice, "r/a/x"), (Allow, "home"));
    assert_eq!(at(&alice, "r/a/b/x"), (Refuse, "owned"));
    assert_eq!(at(&alice, "r/a/b/alice/x"), (Allow, "yours"));
    assert_eq!(at(&guest, "r/guest/deep/x"), (Allow, "home"));
    assert_eq!(at(&guest, "r/a/b/alice/x"), (Refuse, "owned"));
    assert_eq!(at(&Asker::default(), "r/guest/x"), (Refuse, "owned"));
    assert_eq!(at(&Asker::default(), "free"), (Allow, "nobodys"));
    // Another body that calls itself alice is not the one that the file means.
    let other = agent("alice", world.path("r/guest"));
    assert_eq!(at(&other, "r/a/x"), (Refuse, "owned"));
    assert_eq!(at(&other, "r/a/b/alice/x"), (Allow, "yours"));
}

#[test]
fn commons_and_plumbing_are_nobodys() {
    let world = Sandbox::new();
    world.file("o/.loci/owner.md", "---\nowner: bob\ncommons: ['*.lock', target, gen/**/*.rs, ./dist/]\n---\n");
    let alice = agent("alice", world.path("home"));
    for (path, verdict, why) in [
        ("o/Cargo.lock", Allow, "commons"),
        ("o/sub/x.lock", Allow, "commons"),
        ("o/target/debug/a", Allow, "commons"),
        ("o/sub/target/x", Allow, "commons"),
        ("o/gen/a/b.rs", Allow, "commons"),
        ("o/dist/x", Allow, "commons"),
        ("o/gen/a/b.txt", Refuse, "owned"),
        ("o/targets", Refuse, "owned"),
        ("o/.git/index", Allow, "plumbing"),
        ("o/.git", Refuse, "owned"),
        ("o/.gitignore", Refuse, "owned"),
        ("o/target/.loci/owner.md", Refuse, "wall"),
    ] {
        assert_eq!(said(&world, &alice, write(world.path(path))), (verdict, why), "{path}");
    }
}

#[test]
fn the_wall_stands_for_everybody() {
    let world = fixture();
    let owned = world.path("home/repo/owned");
    let bob = agent("bob", &owned);
    world.file("home/repo/owned/.claude/settings.json", "{}");
    world.file("home/repo/owned/.loci/skills/s/SKILL.md", "x");
    for path in [
        ".loci/owner.md",
        ".loci/agent.md",
        ".loci/hooks/a.sh",
        ".loci/memory/inbox/new/x.md",
        ".claude/settings.json",
        "../.loci-clock/jobs/a.md",
    ] {
        assert_eq!(said(&world, &bob, write(owned.join(path))), (Refuse, "wall"), "{path}");
    }
    assert_eq!(said(&world, &bob, write(owned.join(".loci/skills/s/SKILL.md"))), (Allow, "home"));
    assert_eq!(said(&world, &bob, write(world.path("state/loci/sessions/x.json"))), (Refuse, "wall"));
    assert_eq!(said(&world, &bob, write(world.path("home/.loci/config.yaml"))), (Refuse, "wall"));
    assert_eq!(said(&world, &bob, on_name(ActKind::Rename, owned.join(".claude"))), (Refuse, "wall"));
    assert_eq!(said(&world, &bob, on_name(ActKind::Remove, owned.join(".loci"))), (Refuse, "wall"));
    assert_eq!(said(&world, &bob, on_name(ActKind::Link, owned.join("sub/.loci"))), (Refuse, "wall"));
    assert_eq!(said(&world, &bob, on_name(ActKind::Remove, owned.join("sub"))), (Allow, "home"));
    // A harness reads its settings by name, also through a link.
    world.file("home/repo/owned/elsewhere/x", "").link("home/repo/owned/sub/.gemini", "../elsewhere");
    assert_eq!(said(&world, &bob, write(owned.join("sub/.gemini/settings.json"))), (Refuse, "wall"));
    let mut more = surroundings(&world);
    more.wall.push(format!("{}/sub/**", owned.display()));
    assert_eq!(rule(&[write(owned.join("sub/c.txt"))], &bob, &more).verdict, Refuse);
}

pub(super) fn git(dir: &Path, args: &[&str]) {
    let mut command = std::process::Command::new("git");
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", dir).env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "a").env(format!("GIT_{who}_EMAIL"), "a@example.invalid");
    }
    let output = command.arg("-C").arg(dir).args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The fixture's tree as a real repository with one commit.
pub(super) fn committed(repo: &Path) {
    fs::remove_dir_all(repo.join(".git")).unwrap();
    git(repo, &["init", "-q", "-b", "main"]);
    git(repo, &["add", "-A"]);
    git(repo, &["commit", "-qm", "base"]);
}

#[test]
fn a_separate_worktree_holds_proposals() {
    let world = fixture();
    let repo = world.path("home/repo");
    committed(&repo);
    git(&repo, &["worktree", "add", "-q", "../wt", "-b", "proposal"]);
    git(&repo, &["worktree", "add", "-q", "--detach", "../loose"]);
    let alice = agent("alice", &repo);
    let at = |path: &str| said(&world, &alice, write(world.path("home").join(path)));
    assert_eq!(at("wt/owned/a.txt"), (Allow, "worktree"));
    assert_eq!(at("wt/owned/.loci/owner.md"), (Refuse, "wall"));
    assert_eq!(at("repo/owned/a.txt"), (Refuse, "owned"));
    assert_eq!(at("loose/owned/a.txt"), (Refuse, "owned"));
    // A `.git` file alone opens nothing: git's records name another place.
    world.file("home/fake/owned/.loci/owner.md", "---\nowner: bob\n---\n");
    world.file("home/fake/.git", world.read("home/wt/.git"));
    assert_eq!(at("fake/owned/a.txt"), (Refuse, "owned"));
    // Where the shared tree has no such owner, the copy is the place itself.
    fs::remove_file(repo.join("owned/.loci/owner.md")).unwrap();
    assert_eq!(at("wt/owned/a.txt"), (Refuse, "owned"));
}

#[test]
fn reads_are_never_intercepted() {
    let world = fixture();
    let alice = agent("alice", world.path("home/repo"));
    for path in ["owned/a.txt", "owned/.loci/owner.md", ".claude/settings.json"] {
        assert_eq!(said(&world, &alice, on_name(ActKind::Read, world.path("home/repo").join(path))), (Allow, "reads"));
    }
}

#[test]
fn evidence_of_ownership_closes() {
    let world = Sandbox::new();
    let alice = agent("alice", world.path("home"));
    let broken = [
        ("empty", ""),
        ("none", "just text\n"),
        ("open", "---\nowner: bob\n"),
        ("nobody", "---\nteam: x\n---\n"),
        ("bad-id", "---\nowner: ../../etc\n---\n"),
        ("list", "---\n- bob\n---\n"),
        ("absolute", "---\nowner: bob\nbody: /etc\n---\n"),
        ("glob", "---\nowner: bob\ncommons: ['[']\n---\n"),
        ("huge", &format!("---\nowner: bob\n---\n{}", "x".repeat(300_000))),
        (
            "bomb",
            "---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\nowner: bob\n---\n",
        ),
    ];
    for (name, text) in broken {
        world.file(format!("{name}/.loci/owner.md"), text);
    }
    world.file("latin/.loci/owner.md", b"---\nowner: b\xf6b\n---\n");
    world.dir("dir/.loci/owner.md");
    world.link("dangling/.loci/owner.md", "nowhere");
    world.link("loop/.loci/owner.md", "owner.md");
    world.link("looped/.loci", ".loci");
    world.dir("pipe/.loci");
    nix::unistd::mkfifo(&world.path("pipe/.loci/owner.md"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let odd = ["latin", "dir", "dangling", "loop", "looped", "pipe"];
    for name in broken.iter().map(|(name, _)| *name).chain(odd) {
        let ruling = rule(&[write(world.path(name).join("sub/x"))], &alice, &surroundings(&world));
        let act = &ruling.acts[0];
        assert_eq!((act.verdict, act.why.word()), (Refuse, "broken-owner-file"), "{name}");
        assert_eq!(act.owner.as_ref().unwrap().who, Who::Unclear);
        assert!(act.decided_by.as_ref().unwrap().starts_with(world.path(name)), "{name}");
    }
    let line = rule(&[write(world.path("bad-id/x"))], &alice, &surroundings(&world)).acts[0].line;
    assert_eq!(line, Some(2));
    // A folder without an owner file is nobody's.
    world.dir("plain/.loci/rules");
    assert_eq!(said(&world, &alice, write(world.path("plain/x"))), (Allow, "nobodys"));
}

#[test]
fn what_cannot_be_resolved_is_said_and_passes() {
    let world = fixture();
    let alice = agent("alice", world.path("home/repo"));
    world.link("out/loop", "loop");
    assert_eq!(said(&world, &alice, write(world.path("out/loop"))), (Unknown, "unresolved"));
    let long = world.path("out").join("d/".repeat(2_100));
    assert!(matches!(said(&world, &alice, write(long)).0, Unknown | Allow));
    let owned = world.path("home/repo/owned").join("n".repeat(300));
    assert_eq!(said(&world, &alice, write(owned)), (Refuse, "owned"));
}

#[test]
fn names_that_are_no_text_are_paths_all_the_same() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = Sandbox::new();
    let name = std::ffi::OsStr::from_bytes(b"-o\n\xff");
    let dir = world.path("home").join(name);
    fs::create_dir_all(dir.join(".loci")).unwrap();
    fs::write(dir.join(".loci/owner.md"), "---\nowner: bob\n---\n").unwrap();
    assert_eq!(said(&world, &Asker::default(), write(dir.join(name))), (Refuse, "owned"));
}

#[test]
fn the_asker_is_fixed_at_the_first_event() {
    let world = fixture();
    let state = world.path("state/loci");
    let repo = world.path("home/repo");
    let now = Timestamp::UNIX_EPOCH;
    let env = Env::default();
    let (first, _) = asker::of_session(&state, Some("s-1"), &env, &repo, now).unwrap();
    assert_eq!(first, agent("alice", &repo));
    // Walking into bob's body, another environment and another identity file change nothing.
    let mut bobs = Env::default();
    bobs.vars.insert("LOCI_AGENT".into(), "bob".into());
    world.file("home/repo/.loci/agent.md", "---\nid: bob\n---\n");
    let (later, _) = asker::of_session(&state, Some("s-1"), &bobs, &repo.join("owned"), now).unwrap();
    assert_eq!(later, first);
    // A session that is not known asks anew, whatever its id looks like.
    for id in ["s-2", "../../escape", "", &"x".repeat(5_000), "a/b", "."] {
        let (other, _) = asker::of_session(&state, Some(id), &env, &repo.join("owned"), now).unwrap();
        assert_eq!(other.name(), "bob", "{id}");
    }
    let files = fs::read_dir(state.join("sessions")).unwrap().count();
    assert_eq!(files, 7);
    assert!(!world.path("state/escape.json").exists());
    // What was kept and can't be read is an error, never somebody.
    fs::write(asker::session_file(&state, "s-1"), "{\"asker\":").unwrap();
    assert!(asker::of_session(&state, Some("s-1"), &env, &repo, now).is_err());
}

#[test]
fn the_environment_of_the_harness_comes_first() {
    let world = fixture();
    let owned = world.path("home/repo/owned");
    let env = |pairs: &[(&str, &Path)]| {
        let mut env = Env::default();
        env.vars.extend(pairs.iter().map(|(name, value)| ((*name).into(), value.as_os_str().to_owned())));
        env
    };
    let here = |env: &Env| asker::here(env, &world.path("home/repo")).map(|(asker, _)| asker);
    assert_eq!(here(&env(&[("LOCI_BODY", &owned)])).unwrap(), agent("bob", &owned));
    assert_eq!(here(&env(&[("LOCI_AGENT", Path::new("carol")), ("LOCI_BODY", &owned)])).unwrap(), agent("carol", &owned));
    assert_eq!(here(&env(&[("LOCI_AGENT", Path::new("alice"))])).unwrap(), agent("alice", world.path("home/repo")));
    assert_eq!(here(&env(&[("LOCI_AGENT", Path::new("carol"))])).unwrap().body, None);
    assert!(here(&env(&[("LOCI_AGENT", Path::new("../x"))])).is_err());
    assert!(here(&env(&[("LOCI_BODY", Path::new("relative"))])).is_err());
    assert!(here(&env(&[("LOCI_BODY", Path::new("/nowhere/at/all"))])).is_err());
}

mod through_links {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

        /// Whatever links and dots are on the way: a path is judged as the real path it leads to.
        #[test]
        fn as_the_real_path(
            links in prop::collection::vec(("[ab]", "(a|b|o|f|\\.\\.)(/(a|b|o|f|\\.\\.)){0,3}"), 0..6),
            paths in prop::collection::vec("(a|b|o|f|\\.\\.|\\.)(/(a|b|o|f|n|\\.\\.)){0,4}", 1..10),
        ) {
            let world = Sandbox::new();
            world.file("r/o/.loci/owner.md", "---\nowner: bob\n---\n").dir("r/f/o").file("r/f/f/.loci/owner.md", "---\nowner: carol\n---\n");
            for (at, (name, target)) in links.iter().enumerate() {
                let _ = symlink(target, world.path(["r", "r/f", "r/o"][at % 3]).join(name));
            }
            let alice = agent("alice", world.path("home"));
            let judged = |path: PathBuf| {
                let ruling = rule(&[write(path)], &alice, &surroundings(&world));
                (ruling.verdict, ruling.acts[0].owner.clone(), ruling.acts[0].real.clone())
            };
            for path in &paths {
                let path = world.path("r").join(path);
                if let Ok(real) = fs::canonicalize(&path) {
                    let (verdict, owner, found) = judged(path.clone());
                    prop_assert_eq!(found.as_deref(), Some(real.as_path()));
                    prop_assert_eq!((verdict, owner, found), judged(real.clone()));
                    let owned = ["r/o", "r/f/f"].iter().any(|dir| real.starts_with(world.path(dir)));
                    prop_assert_eq!(verdict == Refuse, owned, "{}", real.display());
                }
            }
        }
    }
}

#[test]
fn a_worktree_inside_its_checkout_makes_no_second_place() {
    let world = fixture();
    let repo = world.path("home/repo");
    committed(&repo);
    let before = find::places_below(&repo);
    assert!(before.contains(&repo.join("owned")), "{before:?}");
    git(&repo, &["worktree", "add", "-q", "trees/one", "-b", "one"]);
    // What only the worktree has is a place like any other.
    world.file("home/repo/trees/one/extra/.loci/agent.md", "---\nid: extra\n---\n");
    let mut with = before.clone();
    with.push(repo.join("trees/one/extra"));
    with.sort();
    assert_eq!(find::places_below(&repo), with);
    // The judge looks at the copy itself, since it is somebody's where it is on no branch.
    git(&repo.join("trees/one"), &["checkout", "-q", "--detach"]);
    let alice = agent("alice", &repo);
    assert_eq!(said(&world, &alice, write(repo.join("trees/one/owned/a.txt"))), (Refuse, "owned"));
    assert_eq!(said(&world, &alice, on_name(ActKind::Remove, repo.join("trees"))).0, Refuse);
    // A `.git` file that git's records know nothing of hides no place.
    world.file("home/repo/fake/owned/.loci/owner.md", "---\nowner: bob\n---\n");
    world.file("home/repo/fake/.git", world.read("home/repo/trees/one/.git"));
    assert!(find::places_below(&repo).contains(&repo.join("fake/owned")));
}
