//! Git and copies as a story: others' work arrives, a proposal stays apart until it comes back, and what
//! is refused says the way out.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::sandbox::Sandbox;

fn git(world: &Sandbox, dir: &str, args: &[&str]) {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "init.defaultBranch=main"];
    let mut command = Command::new("git");
    command.args(identity).args(args).current_dir(world.path(dir)).env("HOME", world.path("home")).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A clone of alice's with a directory of bob's, and another clone that can push. `None` without git.
#[expect(clippy::print_stdout, reason = "a test that can't run here says so")]
fn clones() -> Option<Sandbox> {
    if Command::new("git").arg("--version").output().is_err() {
        println!("skipped: git is not installed");
        return None;
    }
    let world = Sandbox::new();
    world.dir("origin").dir("repo").dir("other");
    git(&world, "origin", &["init", "-q", "--bare", "."]);
    git(&world, "repo", &["clone", "-q", "../origin", "."]);
    world
        .file("repo/.loci/agent.md", "---\nid: alice\n---\n")
        .file("repo/owned/.loci/owner.md", "---\nowner: bob\n---\n")
        .file("repo/owned/a.txt", "alpha\n")
        .file("repo/free.txt", "x\n");
    git(&world, "repo", &["add", "-A"]);
    git(&world, "repo", &["commit", "-qm", "one"]);
    git(&world, "repo", &["branch", "-M", "main"]);
    git(&world, "repo", &["push", "-q", "-u", "origin", "main"]);
    git(&world, "other", &["clone", "-q", "-b", "main", "../origin", "."]);
    Some(world)
}

fn check(world: &Sandbox, dir: &str, command: &str) -> Value {
    world.loci(dir, ["check", "--as", "alice", "--json", "--shell", command]).json()
}

/// What is said about one path of the repository: why, and the way out.
fn about<'a>(said: &'a Value, path: &Path) -> (&'a str, &'a str) {
    let act = said["acts"].as_array().unwrap().iter().find(|act| act["path"].as_str() == path.to_str());
    let act = act.unwrap_or_else(|| panic!("{} is not in {said}", path.display()));
    (act["why"].as_str().unwrap(), act["way_out"].as_str().unwrap_or_default())
}

#[test]
fn others_work_arrives_and_a_merge_of_ones_own_is_refused_by_name() {
    let Some(world) = clones() else { return };
    let owned = world.path("repo/owned/a.txt");
    world.file("other/owned/a.txt", "beta\n");
    git(&world, "other", &["commit", "-qam", "two"]);
    git(&world, "other", &["push", "-q"]);
    // What was not fetched can't be known; it is said what can.
    let pull = check(&world, "repo", "git pull");
    assert_eq!(pull["verdict"], "unknown");
    assert!(pull.to_string().contains("git merge --ff-only @{u}"), "{pull}");
    git(&world, "repo", &["fetch", "-q"]);
    let arrives = check(&world, "repo", "git merge --ff-only @{u}");
    assert_eq!((arrives["verdict"].as_str(), about(&arrives, &owned).0), (Some("allow"), "arriving"));
    // The same from a branch that is nobody's upstream is a write, and so is changing to it.
    git(&world, "repo", &["checkout", "-qb", "side"]);
    world.file("repo/owned/a.txt", "gamma\n").file("repo/free.txt", "y\n");
    git(&world, "repo", &["commit", "-qam", "three"]);
    git(&world, "repo", &["checkout", "-q", "main"]);
    for (command, way) in [("git merge side", "--from-branch side"), ("git checkout side", "-- :/ ':(exclude,top)owned'")] {
        let said = check(&world, "repo", command);
        assert_eq!(said["verdict"], "refuse", "{command}");
        let (why, way_out) = about(&said, &owned);
        assert!(why == "owned" && way_out.contains(way), "{command}: {said}");
        assert_eq!(about(&said, &world.path("repo/free.txt")).0, "home", "{command}");
    }
    // One that would lose an uncommitted change of the owner's does not pass as arriving.
    world.file("repo/owned/a.txt", "bob is at it\n");
    let said = check(&world, "repo", "git merge --ff-only @{u}");
    assert!(!said.to_string().contains("arriving"), "{said}");
    let forced = check(&world, "repo", "git reset --hard @{u}");
    assert_eq!((forced["verdict"].as_str(), about(&forced, &owned).0), (Some("refuse"), "owned"));
}

#[test]
fn a_worktree_of_its_own_is_open_and_judged_when_it_comes_back() {
    let Some(world) = clones() else { return };
    git(&world, "repo", &["worktree", "add", "-q", "-b", "proposal", "../tree"]);
    let said = check(&world, "tree", "echo delta > owned/a.txt");
    assert_eq!((said["verdict"].as_str(), about(&said, &world.path("tree/owned/a.txt")).0), (Some("allow"), "worktree"));
    assert_eq!(check(&world, "repo", "echo delta > owned/a.txt")["verdict"], "refuse");
    world.file("tree/owned/a.txt", "delta\n");
    git(&world, "tree", &["commit", "-qam", "a proposal"]);
    let back = check(&world, "repo", "git merge proposal");
    assert_eq!((back["verdict"].as_str(), about(&back, &world.path("repo/owned/a.txt")).0), (Some("refuse"), "owned"));
    // As mail it goes to the owner.
    let args = ["delegate", "bob", "--reads", "owned/a.txt", "--idea", "Delta", "--from-branch", "proposal"];
    world.loci("repo", args).exits(0);
    let list = world.loci("repo/owned", ["inbox", "bob", "--json"]).exits(0).json();
    assert_eq!(list["messages"][0]["targets"][0].as_str(), world.path("repo/owned/a.txt").to_str());
    // From within the worktree the same is meant: the owner's file, and what the branch has that the shared tree hasn't.
    for args in [
        &["delegate", "bob", "--reads", "owned/a.txt", "--idea", "Delta, please", "--from-branch", "proposal", "--json"][..],
        &["delegate", "bob", "--reads", "owned/a.txt", "--idea", "What about delta?", "--json"],
    ] {
        world.loci("tree", args).exits(0);
    }
    let list = world.loci("tree", ["inbox", "bob", "--json"]).exits(0).json();
    let targets: Vec<_> = list["messages"].as_array().unwrap().iter().map(|one| one["targets"][0].as_str()).collect();
    assert_eq!(targets, [world.path("repo/owned/a.txt").to_str(); 3]);
}

#[test]
fn what_an_earlier_command_of_the_line_moves_is_in_no_answer_of_git() {
    let Some(world) = clones() else { return };
    git(&world, "repo", &["checkout", "-qb", "side"]);
    world.file("repo/owned/a.txt", "gamma\n");
    git(&world, "repo", &["commit", "-qam", "three"]);
    git(&world, "repo", &["checkout", "-q", "main"]);
    for line in [
        "git fetch -q origin main && git merge FETCH_HEAD",
        "git reset -q side -- owned; git checkout -- owned",
        "git restore --staged -s side owned && git restore owned",
        "git reset --soft side; git reset --hard",
        "git read-tree side; git checkout -- .",
        "git symbolic-ref HEAD refs/heads/side; git reset --hard",
        "git rm -rq --cached owned; git clean -fdq",
        "git config core.worktree owned && git reset --hard",
    ] {
        assert_ne!(check(&world, "repo", line)["verdict"], "allow", "{line}");
    }
    // Alone, each is answered; and what only reads is, wherever it stands.
    for line in ["git fetch -q origin main", "git reset -q side -- free.txt", "git commit -qm x --allow-empty && git log -1 && git status"]
    {
        assert_eq!(check(&world, "repo", line)["verdict"], "allow", "{line}");
    }
}

#[test]
fn the_words_and_places_of_git_are_its_own() {
    let Some(world) = clones() else { return };
    git(&world, "repo", &["worktree", "add", "-q", "-b", "proposal", "../tree"]);
    git(&world, "repo", &["checkout", "-qb", "side"]);
    world.file("repo/owned/a.txt", "gamma\n");
    git(&world, "repo", &["commit", "-qam", "three"]);
    git(&world, "repo", &["checkout", "-q", "main"]);
    // A pathspec has patterns and magic of its own.
    for line in [
        "rm $(git ls-files '*.txt')",
        "git ls-files -z ':(glob)owned/**' | xargs -0 rm -f",
        "for f in $(git ls-files 'owned/*'); do echo x >> $f; done",
    ] {
        assert_eq!(check(&world, "repo", line)["verdict"], "refuse", "{line}");
    }
    // The first commit, undone, takes everything along.
    assert_eq!(check(&world, "repo", "git revert -n HEAD")["verdict"], "refuse");
    // The records of a worktree, with the shared tree to write into.
    for line in ["git --work-tree=../repo checkout side -- owned", "GIT_WORK_TREE=../repo git checkout side -- owned"] {
        assert_eq!(check(&world, "tree", line)["verdict"], "refuse", "{line}");
    }
    assert_eq!(check(&world, "tree", "git checkout side -- owned")["verdict"], "allow");
    // Words behind an alias are handed to its command.
    let line = "git -c alias.t='!f(){ touch \"$1\"; }; f' t owned/new.txt";
    assert_eq!(check(&world, "repo", line)["verdict"], "refuse");
}

#[test]
fn staging_somebodys_changes_is_answered_with_a_pathspec_that_works() {
    let Some(world) = clones() else { return };
    world.file("repo/owned/a.txt", "bobs\n").file("repo/free.txt", "mine\n");
    let said = check(&world, "repo", "git add -A");
    let note = said["notes"][0].as_str().unwrap_or_default();
    let (_, instead) = note.split_once("stage only your own: ").unwrap_or_else(|| panic!("{said}"));
    assert!(instead.starts_with("git add -A -- ") && instead.contains("owned"), "{instead}");
    assert!(check(&world, "repo", instead)["notes"].as_array().is_none_or(Vec::is_empty));
    // It does what it says.
    let run = Command::new("sh").args(["-c", instead]).current_dir(world.path("repo")).env("HOME", world.path("home")).status().unwrap();
    assert!(run.success());
    let staged = Command::new("git").args(["diff", "--cached", "--name-only"]).current_dir(world.path("repo")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&staged.stdout), "free.txt\n");
}

#[test]
fn a_copy_takes_its_owner_along_and_is_no_write_to_the_wall() {
    let Some(world) = clones() else { return };
    let said = check(&world, "repo", "cp -r owned copy");
    assert_eq!((said["verdict"].as_str(), about(&said, &world.path("repo/copy/.loci/owner.md")).0), (Some("allow"), "copy"));
    // Over one that is there, it would change who owns it.
    world.file("repo/there/.loci/owner.md", "---\nowner: carol\n---\n");
    assert_eq!(check(&world, "repo", "cp -rT owned there")["verdict"], "refuse");
    world.dir("repo/fresh/.loci");
    assert_eq!(check(&world, "repo", "cp free.txt fresh/.loci/owner.md")["verdict"], "refuse");
}

#[test]
fn a_worktree_with_copies_of_others_files_can_be_taken_away() {
    let Some(world) = clones() else { return };
    git(&world, "repo", &["worktree", "add", "-q", "-b", "proposal", "../tree"]);
    git(&world, "repo", &["worktree", "add", "-q", "--detach", "../loose"]);
    let verdict = |command: &str| check(&world, "repo", command)["verdict"].as_str().unwrap().to_owned();
    assert_eq!(verdict("git worktree remove --force ../tree"), "allow");
    // on no branch of its own it holds no proposals
    assert_eq!(verdict("git worktree remove --force ../loose"), "refuse");
    // what only the worktree has is nobody's copy
    world.file("tree/new/.loci/owner.md", "---\nowner: bob\n---\n");
    assert_eq!(verdict("git worktree remove --force ../tree"), "refuse");
}

#[test]
fn what_git_brings_may_be_a_link_or_another_script() {
    let Some(world) = clones() else { return };
    let run = |script: &str| {
        let done = Command::new("sh").args(["-ec", script]).current_dir(world.path("repo")).status().unwrap();
        assert!(done.success());
    };
    run("echo true > run.sh");
    git(&world, "repo", &["add", "-A"]);
    git(&world, "repo", &["commit", "-qm", "two"]);
    git(&world, "repo", &["checkout", "-qb", "links"]);
    run("ln -s owned l; echo 'touch owned/q' > run.sh; echo y > free.txt");
    git(&world, "repo", &["add", "-A"]);
    git(&world, "repo", &["commit", "-qm", "three"]);
    git(&world, "repo", &["checkout", "-q", "main"]);
    let verdict = |command: &str| check(&world, "repo", command)["verdict"].as_str().unwrap().to_owned();
    assert_eq!(verdict("git checkout -q links"), "allow");
    assert_eq!(verdict("git checkout -q links && touch l/q"), "unknown");
    assert_eq!(verdict("git checkout -q links && sh run.sh"), "unknown");
    assert_eq!(verdict("git checkout -q links && echo z > free.txt"), "allow");
    assert_eq!(verdict("git worktree add -q ../w links && touch ../w/l/q"), "unknown");
    assert_eq!(verdict("git worktree add -q ../w && echo z > ../w/free.txt"), "allow");
    assert_eq!(verdict("git clone -q https://h.invalid/x.git x && touch x/y/z"), "unknown");
    // what is refused still is
    assert_eq!(verdict("git checkout -q links && echo z > owned/a.txt"), "refuse");
}
