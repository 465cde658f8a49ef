//! Where git would change somebody's files, the refusal names a form that passes; and that form does what it says.

use std::fs;
use std::process::Command;

use crate::sandbox::Sandbox;

fn shell(world: &Sandbox, line: &str) -> bool {
    let mut command = Command::new("bash");
    command.args(["-ec", line]).current_dir(world.path("r")).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", world.path("home")).status().unwrap().success()
}

/// A repository of two commits in which bob's file and a free one change, and the second is on a branch too.
fn repository() -> Sandbox {
    let world = Sandbox::new();
    world.file("r/owned/.loci/owner.md", "---\nowner: bob\n---\n");
    let made = shell(
        &world,
        "git init -q -b main . && git config user.email a@example.com && git config user.name a && mkdir -p free owned && \
         echo 1 >owned/a.txt && echo 1 >free/x.txt && git add -A && git commit -qm 1 && \
         echo 2 >owned/a.txt && echo 2 >free/x.txt && git commit -qam 2 && git branch other && git tag two && \
         git checkout -q -b side HEAD~1 && echo s >free/s.txt && git add -A && git commit -qm s && git checkout -q main",
    );
    assert!(made);
    world
}

/// The verdict of the check on a command, and the way out of its first refused act.
fn said(world: &Sandbox, line: &str) -> (String, String) {
    let mut command = world.command("r");
    let run = crate::sandbox::Run::of(command.args(["check", "--as", "alice", "--json", "--shell", line]), None).json();
    let way_out = run["acts"].as_array().unwrap().iter().find_map(|act| act["way_out"].as_str()).unwrap_or_default();
    (run["verdict"].as_str().unwrap().to_owned(), way_out.to_owned())
}

#[test]
fn each_refusal_of_git_names_a_form_that_passes() {
    const BUT: &str = "':(exclude,top)owned'";
    for (before, refused, way_out, instead, free) in [
        ("", "git reset --hard HEAD~1", "git reset HEAD~1, then git restore -- :/ {}", "git reset -q HEAD~1; git restore -- :/ {}", "1\n"),
        (
            "echo 3 >owned/a.txt; echo 3 >free/x.txt",
            "git reset --hard",
            "git restore --staged --worktree -- :/ {}",
            "git restore --staged --worktree -- :/ {}",
            "2\n",
        ),
        ("", "git reset --keep HEAD~1", "git reset HEAD~1, which moves the branch", "git reset -q HEAD~1", "2\n"),
        ("", "git checkout HEAD~1", "git restore --source=HEAD~1 -- :/ {}", "git restore --source=HEAD~1 -- :/ {}", "1\n"),
        ("", "git switch side", "git worktree add DIR side", "git worktree add -q ../side side", "2\n"),
        ("", "git checkout HEAD~1 -- .", "the same command with {} behind its paths", "git checkout -q HEAD~1 -- . {}", "1\n"),
        ("", "git restore --source=HEAD~1 -- .", "the same command with {} behind its paths", "git restore --source=HEAD~1 -- . {}", "1\n"),
        ("", "git rm -rq .", "the same command with {} behind its paths", "git rm -rq . {} ; git reset -q; git checkout -q -- free", "2\n"),
        ("echo 3 >owned/a.txt; echo 3 >free/x.txt", "git stash", "git stash push -- :/ {}", "git stash push -q -- :/ {}", "2\n"),
        ("echo 3 >owned/new.txt", "git clean -fd", "git clean -f -d -- :/ {}", "git clean -qf -d -- :/ {}", "2\n"),
        (
            "git checkout -q side",
            "git merge two",
            "--from-branch two, and git restore --source=two -- YOUR-PATHS",
            "git restore --source=two -- free/x.txt",
            "2\n",
        ),
        (
            "git checkout -q side",
            "git cherry-pick two",
            "git restore --source=two -- YOUR-PATHS",
            "git restore --source=two -- free/x.txt",
            "2\n",
        ),
        ("", "git revert --no-edit HEAD", "--patch FILE", "git restore --source=HEAD~1 -- free/x.txt", "1\n"),
        ("git checkout -q side", "git rebase two", "loci delegate bob --reads PATH", "git restore --source=two -- free/x.txt", "2\n"),
    ] {
        let world = repository();
        assert!(before.is_empty() || shell(&world, before), "{refused}");
        let theirs = |world: &Sandbox| (world.read("r/owned/a.txt"), world.path("r/owned/new.txt").exists());
        let was = theirs(&world);
        let (verdict, says) = said(&world, refused);
        assert_eq!(verdict, "refuse", "{refused}");
        assert!(says.contains(&way_out.replace("{}", BUT)), "{refused}: {says}");
        let instead = instead.replace("{}", BUT);
        for line in instead.split("; ") {
            let (verdict, why) = said(&world, line);
            assert_ne!(verdict, "refuse", "{refused}: {line}: {why}");
            assert!(shell(&world, line), "{refused}: {line}");
        }
        assert_eq!(theirs(&world), was, "{refused}: {instead}");
        assert_eq!(fs::read_to_string(world.path("r/free/x.txt")).unwrap(), free, "{refused}: {instead}");
    }
}

/// Where the whole work tree is somebody's, nothing of it is left to do oneself.
#[test]
fn a_work_tree_that_is_all_theirs_is_asked_for() {
    let world = repository();
    world.file("r/.loci/owner.md", "---\nowner: bob\n---\n");
    let (verdict, says) = said(&world, "git reset --hard HEAD~1");
    assert_eq!((verdict.as_str(), says.as_str()), ("refuse", "all of it is theirs: loci delegate bob --reads PATH --idea TEXT"));
}
